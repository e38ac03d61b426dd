"""Codex CLI, checked against 0.166.0."""

from __future__ import annotations

from holdfast.clients.contract import HookEvent, parse_common

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

NAME = "codex"
TITLE = "Codex"
MESSAGES = {
    "UserPromptSubmit": ("user_message", "user", "prompt"),
    "Stop": ("model_message", "assistant", "last_assistant_message"),
}
TOOLS = {"PostToolUse": "tool_response"}
EVENTS = (*MESSAGES, *TOOLS)
TEXT_CHARS = 9_500  # at about 2,500 tokens the middle is cut out
INTRODUCED_AS = "codex"
NATIVE_ID_META = (("sessionId",), ("x-codex-turn-metadata", "session_id"))
CALL_ID_META = None
CALL_EVENT = None
NATIVE_ID_VARIABLE = None
RESUMES_SILENTLY = False
PROJECT_VARIABLE = None


def parse(event_name: str, payload: Mapping[str, Any]) -> HookEvent | None:
    return parse_common(NAME, event_name, payload, messages=MESSAGES, tools=TOOLS)
