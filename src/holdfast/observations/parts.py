"""Looking into the structured parts of an event.

What parts hold is up to the program that wrote them: agent programs and frameworks keep the same
thing under different names, and any value may be of any type. So no function here fails: it finds
nothing instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from holdfast.ground import light_json as json
from holdfast.ground.patterns import compile_later

LEFT_OUT = "left_out"  # in an event: how much stood here that cannot be read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

TOOL_KEYS = ("tool", "tool_name", "toolName", "name", "function")
INPUT_KEYS = ("input", "tool_input", "toolInput", "arguments", "args", "params")
CALL_KEYS = ("tool_use_id", "tool_call_id", "toolCallId", "call_id", "callId", "id")
PATH_KEYS = (
    "file_path",
    "filePath",
    "notebook_path",
    "absolute_path",
    "target_file",
    "path",
    "file",
    "filename",
)
# What a tool has answered in an object: what a person would look at first.
ANSWER_KEYS = (
    "error",
    "message",
    "summary",
    "status",
    "type",
    *PATH_KEYS,
    "result",
    "output",
    "text",
)
# Several files that a tool reads at once, and those that a client says a command has read.
READ_KEYS = ("include", "paths", "read")
COMMAND_KEYS = ("command", "cmd", "script", "commands")
SHELLS = (["bash", "-lc"], ["bash", "-c"], ["sh", "-c"])
LINE_CHARS = 2000
# The output of a command in an object of which the end is missing, without an unfinished escape.
_PATTERN = compile_later(r"[*?\[{]")
_CUT_OUTPUT = compile_later(r'\{"stdout": ?"((?:[^"\\]|\\u[0-9a-fA-F]{4}|\\[^u])*)')


def get_tool(parts: object) -> str:
    return as_text(find_value(parts, TOOL_KEYS))


def get_call_id(parts: object) -> str:
    return as_text(find_value(parts, CALL_KEYS))


def get_agent(parts: object) -> str:
    """The subagent that an event is of, by its name, else by its id; nothing for the agent."""
    agent_id = get_agent_id(parts)
    if not agent_id:
        return ""
    return as_text(find_value(parts, ["agent"])) or agent_id


def get_agent_id(parts: object) -> str:
    return as_text(find_value(parts, ["agent_id"]))


def get_input(parts: object) -> object:
    """What a tool was given; a JSON object where it was written as text."""
    given = find_value(parts, INPUT_KEYS)
    if isinstance(given, str):
        return parse_object(given) or given
    return given


def get_path(given: object) -> str:
    return as_text(find_value(given, PATH_KEYS))


def list_read_paths(given: object) -> list[str]:
    """Patterns are not files."""
    values = _as_list(find_value(given, READ_KEYS))
    return [path for path in values if isinstance(path, str) and not _PATTERN.search(path)]


def get_command(given: object) -> str:
    """What was run, as a person would type it; a list is a program and its arguments."""
    value = find_value(given, COMMAND_KEYS)
    if isinstance(value, list):
        value = _join_words(value)
    return as_text(value).strip()


def _join_words(values: list[object]) -> str:
    words = [word for word in values if isinstance(word, str)]
    if words[:2] in SHELLS:
        return words[-1]
    return " ".join(words)


def list_texts(given: object) -> list[str]:
    if isinstance(given, str):
        return [given]
    return [value for value in list_values(given) if isinstance(value, str)]


def get_first_text(given: object) -> str:
    return next(iter(list_texts(given)), "")


def find_value(value: object, keys: Sequence[str]) -> Any:
    """The first of these keys that an object has; None of anything else."""
    if not isinstance(value, Mapping):
        return None
    for key in keys:
        found = value.get(key)
        if found is not None:
            return found
    return None


def list_values(value: object) -> list[object]:
    if not isinstance(value, Mapping):
        return []
    return list(value.values())


def find_printed(content: str) -> str | None:
    """What a tool printed or read, where its client keeps that in an object; also of one that is
    cut, as far as it goes. None where the content is the text itself.
    """
    answer = parse_object(content) or _parse_cut(content)
    if answer is None:
        return None
    if "stdout" in answer:
        printed = [as_text(answer.get(name)) for name in ("stdout", "stderr")]
        return "\n".join(text for text in printed if text)
    read = find_value(answer.get("file"), ["content"])
    return read if isinstance(read, str) else None


def find_answer(content: str) -> str | None:
    """A few words of what a tool answered, where that is an object of which nothing was printed."""
    answer = parse_object(content)
    if answer is None:
        return None
    known = [as_text(answer.get(name)).strip() for name in ANSWER_KEYS]
    texts = [as_text(find_value(item, ["text"])) for item in _as_list(answer.get("content"))]
    return next((text for text in (*known, *texts) if text), None)


def _as_list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _parse_cut(content: str) -> Mapping[str, Any] | None:
    begun = _CUT_OUTPUT.match(content)
    if begun is None:
        return None
    return {"stdout": json.loads(f'"{begun[1]}"', strict=False)}


def as_text(value: object) -> str:
    if not isinstance(value, str):
        return ""
    return value


def as_line(text: str) -> str:
    return " ".join(text[:LINE_CHARS].split())


def parse_object(text: str) -> Mapping[str, Any] | None:
    if not text.startswith("{"):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    return value
