"""What teammates share is not kept: they may withdraw it from every store, and a log keeps what it
has.

The tools of the exchange are known by their names, and a command that reads it by what it calls:
then nothing of the answer is kept, because a pipe may have taken the words out of their fence, and
JSON has none. Elsewhere the fences are left out. How a command ended is found out before that, from
all that was printed, so that no check passes because its failure was left out.

Pure, and one pass over a text.
"""

from __future__ import annotations

from holdfast.clients.contract import TEAM_TOOLS, make_storable
from holdfast.ground import light_json as json
from holdfast.ground.patterns import compile_later
from holdfast.observations import parts as event_parts

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from typing import Any

NOT_KEPT = "[what teammates share is not kept]"
ADDRESS_KEYS = ("url", "prompt", "uri")  # of tools that fetch a page, or read a resource

# Nothing in these is repeated without a limit, unless it cannot match what follows it.
_BETWEEN = r"[\"'\s\\,]{1,50}+"
_OPTIONS = rf"(?:--?[\w-]{{1,40}}(?:=[^\s]{{0,200}})?{_BETWEEN}){{0,4}}"
_VARIABLE = r"[${]\{?\w{1,60}\}?"
_CALL = compile_later(
    rf"(?:holdfast(?:\.exe)?|{_VARIABLE}){_BETWEEN}{_OPTIONS}(?:team|publish|admin|mcp)(?![\w./=-])"
)
_HOST = rf"(?:localhost|127(?:\.\d{{1,3}}){{3}}|0\.0\.0\.0|\[::1?\]|{_VARIABLE})"
_PLACE = (
    r"/(?:api/(?:state|contexts|claims|handoffs|events)\b|(?:console/)?coordination\b"
    r"|mcp(?![\w./-]))"
)
_RESOURCE = r"holdfast://contexts\b"
_ADDRESS = compile_later(rf"{_HOST}(?::[\w${{}}]{{1,60}})?{_PLACE}|{_RESOURCE}")
# A fence of words of another developer begins and ends with a number; notes of the repository have
# a shorter one.
_MARKER = compile_later(
    r"\[(?:end of untrusted text (?P<end>[0-9a-f]{32})\]"
    r"|untrusted text (?P<begin>[0-9a-f]{32}) author=\\{0,8}\")"
)
_TORN = compile_later(r"[^\n]*+(?:\n\|(?: [^\n]*+)?(?![^\n]))*+")


class _Answer:
    """What a tool answered, for those who grade it."""

    __slots__ = ("content", "parts")

    def __init__(self, content: str, parts: dict[str, Any]):
        self.content = content
        self.parts = parts


def withhold(content: str, parts: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """What is kept of a tool's answer, and of what is known of it."""
    tool, given = event_parts.get_tool(parts), event_parts.get_input(parts)
    command = event_parts.get_command(given)
    if isinstance(given, str):  # too long to be kept as it was
        command = given
    addresses = (event_parts.as_text(event_parts.find_value(given, [key])) for key in ADDRESS_KEYS)
    is_shared = tool.endswith(TEAM_TOOLS) or reads_exchange(command)
    if is_shared or any(_ADDRESS.search(address) for address in addresses):
        kept = NOT_KEPT
    else:
        kept = leave_out_fences(content)
    if kept == content or not command:
        return kept, parts
    from holdfast.observations import grading  # where something is left out of a command's output

    return kept, {**parts, **grading.note_grade(command, _Answer(content, parts))}


def reads_exchange(command: str) -> bool:
    """Whether a shell's command shows what teammates share, as far as it can be seen in it."""
    is_call = "holdfast" in command and _CALL.search(command)
    return bool(is_call or _ADDRESS.search(command))


def leave_out_fences(content: str) -> str:
    """Also those in the texts of an object, in which ends of lines are written otherwise."""
    answer = event_parts.parse_object(content)
    if answer is not None:
        try:
            left = _leave_out_inside(answer)
        except RecursionError:
            return _leave_out_marked(content)
        return content if left == answer else make_storable(json.dumps(left, ensure_ascii=False))
    return _leave_out_marked(content)


def _leave_out_inside(value: Any) -> Any:
    if isinstance(value, str):
        return _leave_out_marked(value)
    if isinstance(value, dict):
        return {key: _leave_out_inside(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_leave_out_inside(item) for item in value]
    return value


def _leave_out_marked(text: str) -> str:
    """From the first marker of a fence to the last one. One whose end is missing, because a program
    has cut the output, reaches to the last of the lines that are marked as its own.
    """
    begins: list[tuple[re.Match[str], int | None]] = []
    ends: dict[str, int] = {}
    for marker in reversed(list(_MARKER.finditer(text))):
        if marker["end"]:
            ends[marker["end"]] = marker.end()
        else:
            begins.append((marker, ends.get(marker["begin"])))
    kept: list[str] = []
    at = 0
    for marker, end in reversed(begins):
        if marker.start() >= at:
            kept += [text[at : marker.start()], NOT_KEPT]
            at = end or _find_torn_end(text, marker.end())
    return "".join([*kept, text[at:]])


def _find_torn_end(text: str, at: int) -> int:
    torn = _TORN.match(text, at)
    return torn.end() if torn else at
