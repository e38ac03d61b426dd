"""Gemini CLI, checked against 0.61.0."""

from __future__ import annotations

from holdfast.clients.contract import HookEvent, parse_common

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
