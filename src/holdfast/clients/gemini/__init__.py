"""Gemini CLI, checked against 0.61.0."""

from __future__ import annotations

from holdfast.clients.contract import (
    CALL,
    END,
    PROMPT,
    START,
    TURN_END,
    HookEvent,
    parse_common,
    reply_in_common,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

NAME = "gemini"
TITLE = "Gemini CLI"
MESSAGES = {
    "BeforeAgent": ("user_message", "user", "prompt"),
    "AfterAgent": ("model_message", "assistant", "prompt_response"),
}
TOOLS = {"AfterTool": "tool_response"}
EVENTS = (*MESSAGES, *TOOLS)
MOMENTS = {
    "SessionStart": START,
    "BeforeAgent": PROMPT,
    "AfterTool": CALL,
    "AfterAgent": TURN_END,
    "SessionEnd": END,
}
TEXT_EVENT = "BeforeAgent"  # what it is given at the start, it puts before the person's words
TELLS_OF_COMPACTION = False
TEXT_CHARS = None
INTRODUCED_AS = "gemini-cli"
NATIVE_ID_META = ()
CALL_ID_META = None
CALL_EVENT = None
NATIVE_ID_VARIABLE = None
RESUMES_SILENTLY = True
PROJECT_VARIABLE = None


def parse(event_name: str, payload: Mapping[str, Any]) -> HookEvent | None:
    return parse_common(NAME, event_name, payload, messages=MESSAGES, tools=TOOLS)


def reply(event_name: str, text: str) -> str:
    return reply_in_common(event_name, text)
