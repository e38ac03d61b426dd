"""Whether a command worked and a gate passed, as far as the log shows it.

Nothing is guessed: a command whose outcome the log does not hold is unknown, and so is one whose
exit code belongs to another program (`pytest | tail`).
"""

from __future__ import annotations

import re

from holdfast.ground.patterns import compile_later
from holdfast.observations import parts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.observations.model import LoggedEvent, Verdict

CODE_KEYS = ("exit_code", "exitCode", "returncode", "return_code", "exit_status", "code")
FLAG_KEYS = ("is_error", "isError", "interrupted", "error", "failed")
REFUSED_KEYS = ("is_error", "isError", "denied")
RESULT_KEYS = ("result", "output", "response", "metadata")
PASSED_KEYS = ("passed", "ok", "success", "valid")
STATUS_KEYS = ("status", "result", "verdict")
PASSED_WORDS = ("passed", "pass", "ok", "success")
ENDED_WORDS = (*PASSED_WORDS, "completed")
FAILED_WORDS = ("failed", "fail", "error", "rejected")
NO_FLAG: tuple[Any, ...] = (None, False, "", 0, [], {})
EDGE_LINES = 4

_EXIT = compile_later(
    r"^\W*(?:process )?(?:exit(?:ed)?(?: with)?)[ _-]?(?:code|status):? *(-?\d{1,3})\b",
    re.IGNORECASE,
)
# A pipe, or a second command that always succeeds: the exit code then belongs to another program.
_HIDES = compile_later(
    r"(?<!\|)\|(?!\|)|\|\|\s*(?:true|:|echo)\b|;\s*(?:true|:|echo|exit 0)\b|&\s*$"
)


def grade_command(command: str, result: LoggedEvent) -> tuple[Verdict, str]:
    """Whether it worked, and how that is known: by an exit code, a flag of the client, or not."""
    answer = parts.parse_object(result.content)
    places = [answer, result.parts, parts.find_value(result.parts, RESULT_KEYS)]
    code = _find_exit_code(places)
    if code is None:
        code = _find_exit_in_text(result.content, answer)
    if code is None:
        return _grade_by_flags(places)
    if code != 0:
        return "failed", f"exit {code}"
    if _HIDES.search(command) and "pipefail" not in command:
        return "unknown", "exit 0, but of the last program in the line only"
    return "passed", "exit 0"


def is_refused(result: LoggedEvent) -> bool:
    """Whether a tool has done nothing, by its client's word: it failed, or was not allowed."""
    return bool(parts.find_value(result.parts, REFUSED_KEYS))


def is_cut_off(result: LoggedEvent) -> bool:
    """Whether a tool was stopped, or has not ended, by its client's word."""
    status = parts.find_value(result.parts, ["status"])
    return status is not None and parts.as_text(status).casefold() not in ENDED_WORDS


def grade_gate(event: LoggedEvent) -> Verdict:
    passed = parts.find_value(event.parts, PASSED_KEYS)
    if passed is True:
        return "passed"
    if passed is False:
        return "failed"
    found = parts.find_value(event.parts, STATUS_KEYS)
    status = parts.as_text(found).casefold()
    if status in PASSED_WORDS:
        return "passed"
    if status in FAILED_WORDS:
        return "failed"
    return "unknown"


def _find_exit_code(places: list[Any]) -> int | None:
    for place in places:
        code = parts.find_value(place, CODE_KEYS)
        if isinstance(code, int) and not isinstance(code, bool):
            return code
    return None


def _find_exit_in_text(content: str, answer: object) -> int | None:
    """On a line of its own near the beginning or the end, where clients write it."""
    text = content
    if answer:
        text = parts.get_first_text(answer)
    lines = text.strip().split("\n")
    for line in [*lines[:EDGE_LINES], *lines[-EDGE_LINES:]]:
        found = _EXIT.match(line.strip())
        if found:
            return int(found[1])
    return None


def _grade_by_flags(places: list[Any]) -> tuple[Verdict, str]:
    for place in places:
        for key in FLAG_KEYS:
            flag = parts.find_value(place, (key,))
            if flag not in NO_FLAG:
                return "failed", "the client reported an error"
    return "unknown", "no exit code is in the log"
