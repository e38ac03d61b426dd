"""Claude Code, checked against 2.1.325."""

from __future__ import annotations

from holdfast.clients.contract import (
    CALL,
    END,
    PROMPT,
    START,
    SUBAGENT_END,
    TURN_END,
    HookEvent,
    parse_common,
    reply_in_common,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

NAME = "claude"
TITLE = "Claude Code"
MESSAGES = {
    "UserPromptSubmit": ("user_message", "user", "prompt"),
    "Stop": ("model_message", "assistant", "last_assistant_message"),
}
TOOLS = {"PostToolUse": "tool_response", "PostToolUseFailure": "error"}
EVENTS = (*MESSAGES, *TOOLS)
MOMENTS = {
    "SessionStart": START,
    "UserPromptSubmit": PROMPT,
    "PreToolUse": CALL,
    "Stop": TURN_END,
    "SubagentStop": SUBAGENT_END,
    "SessionEnd": END,
}
TEXT_EVENT = "SessionStart"
TELLS_OF_COMPACTION = True
TEXT_CHARS = 9_500  # more than 10,000 arrive as a file's name and a preview
INTRODUCED_AS = "claude-code"
NATIVE_ID_META = ()
CALL_ID_META = "claudecode/toolUseId"
CALL_EVENT = "PreToolUse"
NATIVE_ID_VARIABLE = "CLAUDE_CODE_SESSION_ID"
RESUMES_SILENTLY = False
PROJECT_VARIABLE = "CLAUDE_PROJECT_DIR"


def parse(event_name: str, payload: Mapping[str, Any]) -> HookEvent | None:
    return parse_common(NAME, event_name, payload, messages=MESSAGES, tools=TOOLS)


def reply(event_name: str, text: str) -> str:
    return reply_in_common(event_name, text)
