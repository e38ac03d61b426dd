"""What every tool answers with: an envelope for a program and prose for a model, of the same facts.

Some clients hand the model only the one, some only the other. So each is complete by itself, and
each keeps within the limit: what is too long is shortened in the data first, and the prose is then
written from the shortened data.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from holdfast.errors import HoldfastError, bug_message
from holdfast.ground.text import cut, term_safe
from holdfast.surfaces.mcp.actions import word_actions

Describe = Callable[[Mapping[str, Any]], str]

READ_CHARS = 8_000
RESUME_CHARS = 6_000  # of what is handed over, beside the session and the warnings
WRITE_CHARS = 700
WRITTEN_TEXT_CHARS = 300
MESSAGE_CHARS = 2_000
DEPTH = 6
RECORD_FIELDS = 14
# How long a text and how many entries of a list, from mild to severe; an id always stays whole.
SHORTER = (
    (2_000, 50),
    (1_000, 50),
    (WRITTEN_TEXT_CHARS, 50),
    (WRITTEN_TEXT_CHARS, 10),
    (200, 10),
    (120, 8),
    (80, 5),
    (60, 4),
    (40, 3),
    (40, 2),
    (40, 1),
)


class Answer:
    """Data with what to look at and what to do next; with a code it is a refusal."""

    def __init__(
        self,
        data: Mapping[str, Any] | None = None,
        warnings: Sequence[str] = (),
        next_actions: Sequence[str] = (),
        *,
        text: str = "",
        code: str | None = None,
        message: str = "",
    ):
        self.data = dict(data or {})
        self.warnings = list(warnings)
        self.next_actions = list(next_actions)
        self.text = text  # the data as prose
        self.code = code
        self.message = message

    @property
    def is_error(self) -> bool:
        return self.code is not None

    @property
    def status(self) -> str:
        if self.is_error:
            return "error"
        return "warning" if self.warnings else "ok"

    @property
    def chars(self) -> int:
        """Of the longer of the two, as it is sent."""
        return max(count_chars(self.to_dict()), len(self.to_text()))

    def to_dict(self) -> dict[str, Any]:
        envelope: dict[str, Any] = {
            "status": self.status,
            "data": self.data,
            "warnings": self.warnings,
            "next_actions": self.next_actions,
        }
        if self.is_error:
            envelope |= {"code": self.code, "message": self.message}
        return envelope

    def to_text(self) -> str:
        """What a model reads: the refusal or the data, with the notes before it."""
        notes = [f"Note: {warning}" for warning in self.warnings]
        steps = [f"Next: {action}" for action in self.next_actions]
        content = f"{self.message} ({self.code})" if self.is_error else self.text
        return term_safe("\n".join([*notes, content, *steps]))


def make_answer(
    data: Mapping[str, Any],
    describe: Describe,
    warnings: Sequence[str] = (),
    next_actions: Sequence[str] = (),
    *,
    limit: int | None = READ_CHARS,
) -> Answer:
    """Whole where it fits; else with texts and lists shortened as far as is needed."""
    answer = Answer(data, warnings, next_actions, text=describe(data))
    if limit is None:
        return answer
    for text_chars, entries in SHORTER:
        if answer.chars <= limit:
            break
        answer = _shorten_answer(data, describe, warnings, next_actions, text_chars, entries)
    return answer


def make_write_answer(
    data: Mapping[str, Any],
    describe: Describe,
    warnings: Sequence[str] = (),
    next_actions: Sequence[str] = (),
    *,
    detail: bool = False,
) -> Answer:
    """What was written, in few characters however much is stored; whole with `detail`."""
    if detail:
        return make_answer(data, describe, warnings, next_actions, limit=None)
    brief = shorten(data, WRITTEN_TEXT_CHARS, entries=50)
    return make_answer(brief, describe, warnings, next_actions, limit=WRITE_CHARS)


def _shorten_answer(
    data: Mapping[str, Any],
    describe: Describe,
    warnings: Sequence[str],
    next_actions: Sequence[str],
    text_chars: int,
    entries: int,
) -> Answer:
    brief = shorten(data, text_chars, entries)
    notes = shorten(warnings, max(text_chars, 80), entries)
    return Answer(brief, notes, next_actions, text=describe(brief))


def shorten(value: Any, text_chars: int, entries: int, depth: int = 0) -> Any:
    """A JSON value with long texts cut, and with the number of what is left out of long lists.

    The fields of a record stay: only what a caller filled in is deeper, and may have any size.
    """
    if isinstance(value, str):
        return cut(value, text_chars)
    if not isinstance(value, Mapping | list | tuple):
        return value
    if depth == DEPTH:
        return "…"
    if isinstance(value, Mapping):
        most = max(entries, RECORD_FIELDS) if depth < 2 else entries
        pairs = list(value.items())[:most]
        short = {
            cut(str(name), text_chars): shorten(inner, text_chars, entries, depth + 1)
            for name, inner in pairs
        }
        return {**short, "…": _describe_more(value, most)} if len(value) > most else short
    items = [shorten(inner, text_chars, entries, depth + 1) for inner in value[:entries]]
    if len(value) > entries:
        more = _describe_more(value, entries)
        items.append({"text": more} if isinstance(value[0], Mapping) else more)
    return items


def _describe_more(value: Collection[Any], shown: int) -> str:
    return f"+{len(value) - shown:,} more"


def count_chars(value: object) -> int:
    """Of a value as JSON, with its escapes, and with the spaces that some clients put in."""
    return len(json.dumps(value, ensure_ascii=False, default=str))


def count_fitting(costs: Iterable[int], room: int) -> int:
    """How many fit, from the first on; at least one."""
    count = used = 0
    for cost in costs:
        used += cost
        if count and used > room:
            break
        count += 1
    return count


def make_refusal(error: Exception) -> Answer:
    """Every way in which a call can go wrong, without a stack trace and without stored text."""
    if isinstance(error, HoldfastError) and error.exit_code == 0:
        # Kept, or taken back: what the caller asked for is on its way.
        receipt = {"receipt": getattr(error, "receipt", None), "code": error.code}
        return Answer({"waiting": receipt}, [error.message], text=error.message)
    if isinstance(error, HoldfastError):
        actions = word_actions(error.next_actions)
        message = cut(error.message, MESSAGE_CHARS)
        return Answer(next_actions=actions, code=error.code, message=message)
    if isinstance(error, OSError) and error.filename is not None:
        message = f"{error.filename!a} cannot be used: {error.strerror}."
        return Answer(code="unavailable", message=message)
    return Answer(code="bug", message=bug_message(error))
