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
EDIT_TOOLS = ("replace", "write_file")
TEXT_EVENT = "BeforeAgent"  # what it is given at the start, it puts before the person's words
TELLS_OF_COMPACTION = False
TEXT_CHARS = None
COUNTS_BYTES = False
NEWS = (b'"type":"user"', b'"type":"gemini"', b'"$rewindTo"')
NAMES_TOOLS = False
INTRODUCED_AS = "gemini-cli"
NATIVE_ID_META = ()
CALL_ID_META = None
CALL_EVENT = None
NATIVE_ID_VARIABLE = None
RESUMES_SILENTLY = True
STOP_COMMAND = "/workspace.stop-conversation"
PROJECT_VARIABLE = None


SHELL = "run_shell_command"
# What hooks have added: at the start of a prompt, in a part of its own, and behind a tool's answer.
HOOK_CONTEXT, HOOK_CONTEXT_END = "<hook_context>", "</hook_context>"
SESSION_CONTEXT, SESSION_CONTEXT_END = "<session_context>", "</session_context>"
# What follows a request that names files (`@path`), and what comes next there.
REFERENCES = (
    "\n--- Content from referenced files ---",
    "\n--- Content from referenced context ---",
)
REFERENCED = ("\nContent from @", "\n--- End of content ---")
CHOSEN_AGENT = "\n<system_note>\nThe user has explicitly selected the following agent(s): "
QUOTATION = "»"
EXIT_LINE = "Exit Code: "
EXIT_DIGITS = 3


def parse(event_name: str, payload: Mapping[str, Any]) -> HookEvent | None:
    """A prompt as it was typed, and a tool's answer as the model read it."""
    seen = dict(payload)
    if isinstance(payload.get("prompt"), str):
        seen["prompt"] = find_typed(payload["prompt"])
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


def find_typed(content: object) -> str:
    """What a person has typed of a message, which the hook has as one text and the transcript in
    parts. The files that it names are in the repository and are not words of that person.
    """
    texts = [text for text in _list_texts(content) if not _is_added(text)]
    text = "".join(texts)
    while text.startswith(HOOK_CONTEXT) and f"{HOOK_CONTEXT_END}\n\n" in text:
        text = text.partition(f"{HOOK_CONTEXT_END}\n\n")[2]
    ends = [_find_references(text, heading) for heading in REFERENCES]
    ends.append(text.find(CHOSEN_AGENT))
    found = [end for end in ends if end >= 0]
    return text[: min(found, default=len(text))].rstrip("\n")


def _find_references(text: str, heading: str) -> int:
    """Where the client goes on in a text; -1 where it does not, or no file is named before."""
    name_at = text.find("@")
    if name_at < 0:
        return -1
    at = text.find(heading, name_at)
    while at >= 0:
        end = at + len(heading)
        if end == len(text) or text.startswith(REFERENCED, end):
            return at
        at = text.find(heading, end)
    return -1


def _is_added(part: str) -> bool:
    """Whether all of a part is a context; what a hook says has no tags in it there."""
    text = part.strip()
    if text.startswith(SESSION_CONTEXT):
        return text.endswith(SESSION_CONTEXT_END)
    inside = text.removeprefix(HOOK_CONTEXT).removesuffix(HOOK_CONTEXT_END)
    return f"{HOOK_CONTEXT}{inside}{HOOK_CONTEXT_END}" == text and "<" not in inside


def join_text(content: object) -> str:
    """The text of an answer, which is one or a list of parts; nothing that hooks added to it."""
    stripped = [_strip_context(text) for text in _list_texts(content)]
    return "\n".join(filter(None, stripped))


def _list_texts(content: object) -> list[str]:
    if not isinstance(content, list):
        return [as_text(content)]
    texts = [part.get("text") for part in content if isinstance(part, dict)]
    return [text for text in texts if isinstance(text, str)]


def _strip_context(text: str) -> str:
    """Without the last thing in it, where that is of a hook."""
    before, found, context = text.rpartition(f"\n\n{HOOK_CONTEXT}")
    if found and context.endswith(HOOK_CONTEXT_END):
        text = before
    return text.rstrip("\n")


def reply(event_name: str, text: str, notice: str = "", offer: str = "") -> str:
    lines = [_mark_quotation(line) for line in text.split("\n")]
    return reply_in_common(event_name, "\n".join(lines), notice, offer)


def is_headless(payload: Mapping[str, Any], environment: Mapping[str, str]) -> bool:
    """It does not say."""
    return False


def _mark_quotation(line: str) -> str:
    """It hands every `>` to its model as `&gt;`, so a quotation begins with another mark."""
    words = line.lstrip(" ")
    if not words.startswith(">"):
        return line
    indent = line[: len(line) - len(words)]
    return f"{indent}{QUOTATION}{words[1:]}"
