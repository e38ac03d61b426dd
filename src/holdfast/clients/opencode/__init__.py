"""OpenCode, checked against 1.18.33.

It runs no commands at its hooks, so `plugin.js` does: the events keep OpenCode's own names, and
their payloads have the shape that the other programs share.
"""

from __future__ import annotations

from holdfast.clients.contract import (
    CALL,
    END,
    PROMPT,
    START,
    TURN_END,
    HookEvent,
    parse_common,
)
from holdfast.ground import light_json as json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

NAME = "opencode"
TITLE = "OpenCode"
MESSAGES = {
    "chat.message": ("user_message", "user", "prompt"),
    "session.idle": ("model_message", "assistant", "last_assistant_message"),
}
TOOLS = {"tool.execute.after": "tool_response"}
KEYS = {"chat.message": ("prompt", "prompt_id"), "session.idle": ("answer", "turn_id")}
EVENTS = (*MESSAGES, *TOOLS)
MOMENTS = {
    "session.created": START,
    "session.compacted": START,
    "chat.message": PROMPT,
    "tool.execute.before": CALL,
    "session.idle": TURN_END,
    "dispose": END,
}
EDIT_TOOLS = ("edit", "write", "multiedit", "apply_patch", "patch")
TEXT_EVENT = "chat.message"  # nothing fires when a session is resumed
TELLS_OF_COMPACTION = False
TEXT_CHARS = None
COUNTS_BYTES = False
NEWS = ()  # its database says nothing by its size
NAMES_TOOLS = False
INTRODUCED_AS = "opencode"
NATIVE_ID_META = ()
CALL_ID_META = None
CALL_EVENT = None
NATIVE_ID_VARIABLE = None
RESUMES_SILENTLY = True
STOP_COMMAND = "/workspace.stop-conversation"
PROJECT_VARIABLE = None


def parse(event_name: str, payload: Mapping[str, Any]) -> HookEvent | None:
    return parse_common(NAME, event_name, payload, messages=MESSAGES, tools=TOOLS, keys=KEYS)


def is_headless(payload: Mapping[str, Any], environment: Mapping[str, str]) -> bool:
    """It does not say."""
    return False


def reply(
    event_name: str,
    text: str,
    notice: str = "",
    offer: str = "",
    session_id: str | None = None,
) -> str:
    """What the plugin reads: what is for the model, and the session that calls of ours mean."""
    answer = {"text": text}
    if notice:
        answer["notice"] = notice
    if offer:
        answer["offer"] = offer
    if session_id is not None:
        answer["session_id"] = session_id
    return json.dumps(answer, ensure_ascii=False)
