"""The forms in which an event is sent: whole, or shortened with a note of what is missing.

Of a tool, its name, what it was given, its outcome and the end of its output are left. Of a message
its beginning and its end are left: a request often says only at its end what is wanted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from holdfast.ground.text import ELLIPSIS, cut, find_cut, find_space
from holdfast.observations import grading, rules
from holdfast.observations import parts as known_parts
from holdfast.surfaces.mcp import wording
from holdfast.surfaces.mcp.answer import count_chars

if TYPE_CHECKING:
    from holdfast.sessions.model import SessionEvent

MESSAGES = ("user_message", "model_message")
TOOLS = ("tool_call", "tool_result")
TOOL_SHARE = 48  # the end of an output has this part of the room
TOOL_CHARS = 100  # and at least so many characters
GIVEN_CHARS = 120
NAME_CHARS = 60
FACTS = 8
NOTE_CHARS = 8  # by which the number of what is left out may become longer


class EventForms:
    """One event, with no more of its text than an answer of this size could hold."""

    def __init__(self, event: SessionEvent, fields: dict[str, Any], room: int):
        self.sequence = event.sequence
        self.is_message = event.type in MESSAGES
        self.is_tool = event.type in TOOLS
        self.chars = len(event.content)
        self.whole_cost = count_event(fields)
        self.is_sendable = self.whole_cost <= room
        self.fields = fields
        self._content = event.content
        self._tool_chars = max(TOOL_CHARS, room // TOOL_SHARE)
        self._short_parts = _shorten_parts(event)
        self._outcome = _find_outcome(event)
        self._output = None
        if event.type == "tool_result":
            self._output = _find_output(event.content)[-room:]
        if not self.is_sendable:
            self._content = _drop_middle(event.content, room)
            self.fields = _with_parts({**fields, "content": ""}, self._short_parts)

    def is_whole(self, form: Mapping[str, Any]) -> bool:
        return form is self.fields and self.is_sendable

    def find_form(self, room: int) -> dict[str, Any] | None:
        """Whole, or as much as fits; None where not even the facts about it do."""
        if self.whole_cost <= room:
            return self.fields
        if self.is_message:
            return self._cut_message(room)
        form = self.make_brief()
        return form if count_event(form) <= room else self._make_briefer(room)

    def make_brief(self) -> dict[str, Any]:
        """What is sent of a tool while a message needs the room."""
        brief = self._cut_output(self._tool_chars, self._short_parts)
        is_longer = self.is_sendable and count_event(brief) >= self.whole_cost
        return self.fields if is_longer else brief

    @property
    def least_cost(self) -> int:
        """Of its shortest form."""
        return min(self.whole_cost, count_event(self._make_least()))

    def _make_least(self) -> dict[str, Any]:
        content = self._cut_middle(2) if self.is_message else ELLIPSIS
        form = _with_parts(self.fields, _drop_parts(self._short_parts))
        return {**form, "content": content, "chars": self.chars}

    def _make_briefer(self, room: int) -> dict[str, Any] | None:
        for form in (self._cut_output(TOOL_CHARS, self._short_parts), self._make_least()):
            if count_event(form) <= room:
                return form
        return None

    def _cut_output(self, chars: int, parts: dict[str, Any] | None) -> dict[str, Any]:
        form = _with_parts(self.fields, parts)
        if self.chars <= chars:
            return {**form, "content": self._content}
        text = cut(self._content, chars)
        if self._output is not None:
            text = f"{ELLIPSIS}{self._output[-chars:]}"
        outcome = {"outcome": self._outcome} if self._outcome else {}
        return {**form, "content": text, **outcome, "chars": self.chars}

    def _cut_message(self, room: int) -> dict[str, Any] | None:
        whole_text = {**_with_parts(self.fields, self._short_parts), "content": self._content}
        if len(self._content) == self.chars and count_event(whole_text) <= room:
            return whole_text
        for parts in (self._short_parts, _drop_parts(self._short_parts)):
            form = {**_with_parts(self.fields, parts), "chars": self.chars}
            kept = self._count_fitting(form, room - NOTE_CHARS)
            if kept:
                return {**form, "content": self._cut_middle(kept, at_words=True)}
        return None

    def _count_fitting(self, form: dict[str, Any], room: int) -> int:
        """How many characters of the message fit, its note included."""
        least, most = 0, min(len(self._content), self.chars - 1, room)
        while least < most:
            middle = (least + most + 1) // 2
            cost = count_event({**form, "content": self._cut_middle(middle)})
            if cost <= room:
                least = middle
            else:
                most = middle - 1
        return least

    def _cut_middle(self, kept: int, *, at_words: bool = False) -> str:
        text = self._content
        end, start = kept - kept // 2, len(text) - kept // 2
        if at_words:
            end = find_cut(text, end)
            space = find_space(text, start)
            start = space if space - start <= kept // 8 else start
        beginning, rest = text[:end].rstrip(), text[start:].lstrip()
        left_out = self.chars - len(beginning) - len(rest)
        return f"{beginning}\n[{ELLIPSIS} {left_out:,} characters left out {ELLIPSIS}]\n{rest}"


def count_event(event: Mapping[str, Any]) -> int:
    return max(count_chars(event), len(wording.write_event(event))) + 2


def _drop_middle(text: str, room: int) -> str:
    return text if len(text) <= 2 * room else text[:room] + text[-room:]


def _find_output(content: str) -> str:
    """What a tool printed; some clients keep it in an object."""
    return known_parts.find_printed(content) or content


def _shorten_parts(event: SessionEvent) -> dict[str, Any] | None:
    """The tool, what it was given, and short facts, such as an exit code."""
    parts = event.parts
    if parts is None or count_chars(parts) <= 2 * GIVEN_CHARS:
        return parts
    given = known_parts.get_input(parts)
    facts: dict[str, Any] = {
        "tool": cut(known_parts.get_tool(parts), NAME_CHARS),
        "input": cut(known_parts.as_line(_choose_given(given)), GIVEN_CHARS),
    }
    shown = {name: value for name, value in facts.items() if value}
    described = (*known_parts.TOOL_KEYS, *known_parts.INPUT_KEYS)
    others = {name: value for name, value in parts.items() if name not in described}
    short = {name: value for name, value in others.items() if _is_fact(name, value)}
    return {**shown, **dict(list(short.items())[:FACTS]), "cut": True}


def _choose_given(given: object) -> str:
    """The command, the file, else the first text."""
    return (
        known_parts.get_command(given)
        or known_parts.get_path(given)
        or known_parts.get_first_text(given)
    )


def _find_outcome(event: SessionEvent) -> str:
    """Whether it worked, where its client says so."""
    if event.type != "tool_result":
        return ""
    if rules.is_refused(event):
        return "failed"
    command = known_parts.get_command(known_parts.get_input(event.parts))
    if not command:
        return ""
    grade = grading.grade_command(command, event)
    if grade.verdict == "unknown":
        return ""
    return f"{grade.verdict}, {cut(grade.because, NAME_CHARS)}"


def _is_fact(name: str, value: object) -> bool:
    is_short = not isinstance(value, Mapping | list) and len(str(value)) <= NAME_CHARS
    return is_short and len(name) <= NAME_CHARS


def _drop_parts(parts: dict[str, Any] | None) -> dict[str, Any] | None:
    return {"cut": True} if parts else parts


def _with_parts(fields: dict[str, Any], parts: dict[str, Any] | None) -> dict[str, Any]:
    """A brief event without parts has no such field."""
    if "parts" not in fields:
        return fields
    if parts is None:
        return {name: value for name, value in fields.items() if name != "parts"}
    return {**fields, "parts": parts}
