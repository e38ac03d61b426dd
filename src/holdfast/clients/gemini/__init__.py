"""Gemini CLI, checked against 0.61.0."""

from __future__ import annotations

from holdfast.clients.contract import (
    CALL,
    END,
    PROMPT,
    START,
    TURN_END,
    HookEvent,
    as_text,
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
KEEPS_REQUESTS = False
TEXT_CHARS = None
NEWS = (b'"type":"user"', b'"type":"gemini"', b'"$rewindTo"')
NAMES_TOOLS = False
INTRODUCED_AS = "gemini-cli"
NATIVE_ID_META = ()
CALL_ID_META = None
CALL_EVENT = None
NATIVE_ID_VARIABLE = None
RESUMES_SILENTLY = True
PROJECT_VARIABLE = None


SHELL = "run_shell_command"
CONTEXT_TAGS = ("hook_context", "session_context")
QUOTATION = "»"
EXIT_LINE = "Exit Code: "
EXIT_DIGITS = 3


def parse(event_name: str, payload: Mapping[str, Any]) -> HookEvent | None:
    """Without what hooks have put into a prompt, and with a tool's answer as the model read it."""
    seen = dict(payload)
    if isinstance(payload.get("prompt"), str):
        seen["prompt"] = strip_context(payload["prompt"])
    response = payload.get("tool_response")
    if isinstance(response, dict) and "llmContent" in response:
        seen["tool_response"] = join_text(response["llmContent"])
    # It has no id that the transcript has, too.
    event = parse_common(NAME, event_name, seen, messages=MESSAGES, tools=TOOLS, keys={})
    if event is None or event_name not in TOOLS or event.parts is None:
        return event
    if isinstance(response, dict) and response.get("error"):
        event.parts["is_error"] = True
    else:
        event.parts.update(describe_outcome(payload.get("tool_name"), event.content))
    return event


def describe_outcome(tool: object, output: str) -> dict[str, Any]:
    """The exit code of a command: a line of its own where it is not 0; none if it was stopped."""
    text = output.removeprefix("<untrusted_context>").lstrip()
    if tool != SHELL or not text.startswith("Output: "):
        return {}
    code = "0"
    for line in text.split("\n"):
        if line.startswith(EXIT_LINE):
            code = line.removeprefix(EXIT_LINE)
    if not code.isdecimal() or len(code) > EXIT_DIGITS:
        return {}
    return {"exit_code": int(code)}


def join_text(content: object) -> str:
    """The text of a content, which is one or a list of parts; nothing that hooks added to it."""
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, dict)]
        stripped = [strip_context(text) for text in texts if isinstance(text, str)]
        return "\n".join(filter(None, stripped))
    return strip_context(as_text(content))


def strip_context(text: str) -> str:
    """A text without what stands before or after it in the tags of a context."""
    for tag in CONTEXT_TAGS:
        opening, closing = f"<{tag}>", f"</{tag}>"
        while text.startswith(opening):
            text = text.partition(closing)[2].lstrip()
        if opening in text and text.rstrip().endswith(closing):
            text = text[: text.rindex(opening)]
    return text.rstrip("\n")


def reply(event_name: str, text: str) -> str:
    lines = [_mark_quotation(line) for line in text.split("\n")]
    return reply_in_common(event_name, "\n".join(lines))


def _mark_quotation(line: str) -> str:
    """It hands every `>` to its model as `&gt;`, so a quotation begins with another mark."""
    words = line.lstrip(" ")
    if not words.startswith(">"):
        return line
    indent = line[: len(line) - len(words)]
    return f"{indent}{QUOTATION}{words[1:]}"
