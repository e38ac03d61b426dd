"""What every tool answers with: one envelope for a program, one short text for a model."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from holdfast.errors import HoldfastError, bug_message
from holdfast.surfaces.mcp.actions import word_actions


class Answer:
    """Data with what to look at and what to do next; with a code it is a refusal."""

    def __init__(
        self,
        data: Mapping[str, Any] | None = None,
        warnings: Sequence[str] = (),
        next_actions: Sequence[str] = (),
        *,
        code: str | None = None,
        message: str = "",
    ):
        self.data = dict(data or {})
        self.warnings = list(warnings)
        self.next_actions = list(next_actions)
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
        content = self.message if self.is_error else format_json(self.data)
        return "\n".join([*notes, content, *steps])


def format_json(data: object) -> str:
    """One line of JSON; escaped throughout where it holds what a reader could not see."""
    from holdfast.ground.text import term_safe

    text = json.dumps(data, ensure_ascii=False)
    if text == term_safe(text):
        return text
    return json.dumps(data)


def make_refusal(error: Exception) -> Answer:
    """Every way in which a call can go wrong, without a stack trace and without stored text."""
    if isinstance(error, HoldfastError):
        actions = word_actions(error.next_actions)
        return Answer(next_actions=actions, code=error.code, message=error.message)
    if isinstance(error, OSError) and error.filename is not None:
        message = f"{error.filename!a} cannot be used: {error.strerror}."
        return Answer(code="unavailable", message=message)
    return Answer(code="bug", message=bug_message(error))
