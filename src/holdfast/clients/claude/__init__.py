"""Claude Code, checked against 2.1.325."""

from __future__ import annotations

from holdfast.clients.contract import (
    CALL,
    END,
    PROMPT,
    START,
    SUBAGENT_END,
    TURN,
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
KEYS = {
    "UserPromptSubmit": (TURN, "prompt_id"),
    "PostToolUse": ("tool", "tool_use_id"),
    "PostToolUseFailure": ("tool", "tool_use_id"),
}
EVENTS = (*MESSAGES, *TOOLS)
MOMENTS = {
    "SessionStart": START,
    "UserPromptSubmit": PROMPT,
    "PreToolUse": CALL,
    "Stop": TURN_END,
    "SubagentStop": SUBAGENT_END,
    "SessionEnd": END,
}
EDIT_TOOLS = ("Edit", "Write", "MultiEdit", "NotebookEdit")
TEXT_EVENT = "SessionStart"
TELLS_OF_COMPACTION = True
TEXT_CHARS = 9_500  # more than 10,000 arrive as a file's name and a preview
COUNTS_BYTES = False
NEWS = (b'"type":"user"', b'"type":"assistant"', b'"queued_command"')
NAMES_TOOLS = True
INTRODUCED_AS = "claude-code"
NATIVE_ID_META = ()
CALL_ID_META = "claudecode/toolUseId"
CALL_EVENT = "PreToolUse"
NATIVE_ID_VARIABLE = "CLAUDE_CODE_SESSION_ID"
RESUMES_SILENTLY = False
STOP_COMMAND = "/workspace.stop-conversation"
PROJECT_VARIABLE = "CLAUDE_PROJECT_DIR"


ENTRYPOINT, HEADLESS = "CLAUDE_CODE_ENTRYPOINT", "sdk-cli"
NOTIFICATION = "task-notification"  # a command in the background has ended; no person wrote it
# With any of these a command that is not reported as an error may have ended with any code.
UNKNOWN_OUTCOME = ("returnCodeInterpretation", "backgroundTaskId", "interrupted")


def parse(event_name: str, payload: Mapping[str, Any]) -> HookEvent | None:
    event = parse_common(NAME, event_name, payload, messages=MESSAGES, tools=TOOLS, keys=KEYS)
    if event is None:
        return None
    noted: dict[str, Any] = {}
    if event_name == "PostToolUse":
        noted = describe_outcome(payload.get("tool_name"), payload.get("tool_response"))
    elif event_name == "PostToolUseFailure":
        noted = {"is_error": True}
    elif event.role == "user" and event.content.startswith(f"<{NOTIFICATION}>"):
        noted = {"origin": NOTIFICATION}
    if noted:
        event.parts = {**(event.parts or {}), **noted}
    return event


def describe_outcome(tool: object, response: object) -> dict[str, Any]:
    """The exit code of a command that was not reported as an error, where it follows from that."""
    if tool != "Bash" or not isinstance(response, dict):
        return {}
    if any(response.get(name) for name in UNKNOWN_OUTCOME):
        return {}
    return {"exit_code": 0}


def is_headless(payload: Mapping[str, Any], environment: Mapping[str, str]) -> bool:
    """It names how it was started to every hook."""
    return environment.get(ENTRYPOINT) == HEADLESS


def reply(event_name: str, text: str, notice: str = "", offer: str = "") -> str:
    return reply_in_common(event_name, text, notice, offer)


def name_project(folder: str) -> str:
    """As the client does: a dash for each unit of UTF-16 that is no letter or digit of ASCII."""
    chars = []
    for char in folder:
        is_kept = char.isascii() and char.isalnum()
        units = len(char.encode("utf-16-le", "surrogatepass")) // 2
        chars.append(char if is_kept else "-" * units)
    return "".join(chars)
