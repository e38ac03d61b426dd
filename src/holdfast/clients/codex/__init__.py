"""Codex CLI, checked against 0.166.0."""

from __future__ import annotations

import os

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
from holdfast.errors import HoldfastError

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
KEYS = {
    "UserPromptSubmit": (TURN, "turn_id"),
    "PostToolUse": ("tool", "tool_use_id"),
}
EVENTS = (*MESSAGES, *TOOLS)
MOMENTS = {
    "SessionStart": START,
    "UserPromptSubmit": PROMPT,
    "PreToolUse": CALL,
    "Stop": TURN_END,
    "Interrupt": TURN_END,
    "SubagentStop": SUBAGENT_END,
    "SessionEnd": END,
}
EDIT_TOOLS = ("apply_patch",)
TEXT_EVENT = "SessionStart"
TELLS_OF_COMPACTION = True
TEXT_CHARS = 9_500  # at about 2,500 tokens the middle is cut out
COUNTS_BYTES = True
NEWS = (
    b'"item_completed"',
    b'"type":"compacted"',
    b'"update_plan"',
    b'"function_call_output"',
)
NAMES_TOOLS = True
INTRODUCED_AS = "codex"
NATIVE_ID_META = (("sessionId",), ("x-codex-turn-metadata", "session_id"))
CALL_ID_META = None
CALL_EVENT = None
NATIVE_ID_VARIABLE = None
RESUMES_SILENTLY = False
STOP_COMMAND = "$workspace-stop"
PROJECT_VARIABLE = None


PATCH_TOOL, PATCH = "apply_patch", "patch"
HEADLESS = b'"source":"exec"'
FIRST_BYTES = 4096  # of a transcript, which says at once how it was begun


# What an editor puts above the words of the person: open files, a selection, attachments.
REQUEST_MARK = "\n## My request for Codex:"


def parse(event_name: str, payload: Mapping[str, Any]) -> HookEvent | None:
    prompt = payload.get("prompt")
    if isinstance(prompt, str):
        payload = {**payload, "prompt": find_own_words(prompt)}
    event = parse_common(NAME, event_name, payload, messages=MESSAGES, tools=TOOLS, keys=KEYS)
    if event and event.parts and event.parts.get("tool") == PATCH_TOOL:
        _name_patch(event.parts)
    return event


def find_own_words(prompt: str) -> str:
    """Without what an editor has put above them; all of it where there are no others."""
    if not prompt.startswith("# "):
        return prompt
    own = prompt.partition(REQUEST_MARK)[2].strip()
    return own or prompt


def _name_patch(parts: dict[str, Any]) -> None:
    """It hands a patch over as a command, which it is not: nothing was run."""
    given = parts.get("input")
    if isinstance(given, dict) and "command" in given:
        rest = {name: value for name, value in given.items() if name != "command"}
        parts["input"] = {**rest, PATCH: given["command"]}


def is_headless(payload: Mapping[str, Any], environment: Mapping[str, str]) -> bool:
    """Its transcript names how the session was begun."""
    from holdfast.ground import files  # not with every hook

    path = payload.get("transcript_path")
    try:
        fd = files.open_regular(str(path), os.O_RDONLY)
        try:
            return HEADLESS in os.read(fd, FIRST_BYTES).replace(b": ", b":")
        finally:
            os.close(fd)
    except (OSError, ValueError, HoldfastError):
        return False


def reply(event_name: str, text: str, notice: str = "", offer: str = "") -> str:
    return reply_in_common(event_name, text, notice, offer)
