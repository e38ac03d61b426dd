"""What a tool is: its name, what may be given to it, and the verb behind each of its operations.

Schemas are written by hand. Models see them flat, because not every client understands
alternatives; which argument belongs to which operation is in the description and checked here, by
the same tables.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

from holdfast.errors import InvalidValueError
from holdfast.surfaces.mcp.prose import prose

if TYPE_CHECKING:
    from holdfast.surfaces.mcp.answer import Answer
    from holdfast.surfaces.mcp.call import Call

Schema = dict[str, Any]

# Without a description: a model pays for each one in every request, and few are called for. What
# is rarely used is explained where it is needed, in the error about it.
TEXT: Schema = {"type": "string"}
TEXTS: Schema = {"type": "array", "items": TEXT}
DETAIL: Schema = {"type": "boolean"}
IDEMPOTENCY_KEY: Schema = {"type": "string", "maxLength": 200}


class Operation:
    """One verb: what it needs, what it takes besides, and whether it changes anything."""

    def __init__(
        self,
        name: str,
        run: Callable[[Call], Awaitable[Answer]],
        *,
        needs: Collection[str] = (),
        takes: Collection[str] = (),
        writes: bool = False,
        explained: str = "",
        is_in_session: bool = True,
    ):
        self.name = name
        self.run = run
        self.needs = tuple(needs)
        self.explained = explained  # for a caller that left out what is needed
        self.writes = writes
        self.known = (*needs, *takes)
        if is_in_session:
            self.known += ("session_id",)
        if writes:
            self.known += ("idempotency_key",)


class Tool:
    """A tool with one verb, or with several that an `operation` argument chooses from."""

    def __init__(
        self,
        name: str,
        title: str,
        operations: Collection[Operation],
        properties: Callable[[], Mapping[str, Schema]],
        hints: Mapping[str, bool],
        *,
        is_of_team: bool = False,
    ):
        self.name = name
        self.is_of_team = is_of_team  # offered where the exchange is on; its calls are counted
        self.title = title
        self.hints = dict(hints)
        self.operations = {operation.name: operation for operation in operations}
        self._properties = properties

    @property
    def has_operations(self) -> bool:
        return list(self.operations) != [self.name]

    def name_call(self, operation: str) -> str:
        return f"{self.name}.{operation}" if self.has_operations else self.name

    def find_scope(self, operation: Operation) -> str:
        """What a token must be allowed to do for this call."""
        from holdfast.identity.scopes import PUBLISH, READ, WRITE

        if not operation.writes:
            return READ
        return PUBLISH if self.is_of_team else WRITE

    @property
    def description(self) -> str:
        return prose(self.name)

    def input_schema(self) -> Schema:
        """Built for the first list, and not before: the known values come from the rooms."""
        properties = dict(self._properties())
        if not self.has_operations:
            needed = self.operations[self.name].needs
            return _make_object_schema(properties, required=needed)
        operation = {"type": "string", "enum": list(self.operations)}
        return _make_object_schema({"operation": operation, **properties}, required=["operation"])

    def parse(self, given: Mapping[str, Any]) -> tuple[Operation, dict[str, Any]]:
        """Which verb, with which arguments; a null is an argument that was not given."""
        arguments = {name: value for name, value in given.items() if value is not None}
        operation = self._choose_operation(arguments)
        known = operation.known
        if self.has_operations:
            known = ("operation", *known)
        for name in arguments:
            if name not in known:
                raise _make_unknown_argument_error(name, known)
        missing = [name for name in operation.needs if name not in arguments]
        if missing:
            subject = "Operation" if self.has_operations else "Tool"
            problem = f"needs {', '.join(missing)}"
            if operation.explained:
                problem += f". {operation.explained}"
            raise InvalidValueError(subject, operation.name, problem)
        detail = arguments.get("detail", False)
        if not isinstance(detail, bool):  # before the verb: a write is not undone by its answer
            raise InvalidValueError("detail", detail, "is not true or false")
        arguments.pop("operation", None)
        return operation, arguments

    def _choose_operation(self, arguments: Mapping[str, Any]) -> Operation:
        if not self.has_operations:
            return self.operations[self.name]
        if "operation" not in arguments:
            raise InvalidValueError("Tool", self.name, "needs an operation", known=self.operations)
        chosen = arguments["operation"]
        if not isinstance(chosen, str) or chosen not in self.operations:
            problem = f"is unknown{_suggest_nearest(chosen, self.operations)}"
            raise InvalidValueError("operation", chosen, problem, known=self.operations)
        return self.operations[chosen]


def _make_unknown_argument_error(name: str, known: Collection[str]) -> InvalidValueError:
    suggestion = _suggest_nearest(name, known)
    return InvalidValueError("Argument", name, f"is unknown here{suggestion}", known=known)


def _suggest_nearest(given: object, known: Collection[str]) -> str:
    from difflib import get_close_matches

    beginning = str(given)[:100]
    for nearest in get_close_matches(beginning, list(known), n=1):
        return f"; the nearest is {nearest!r}"
    return ""


def make_text_schema(description: str) -> Schema:
    return {**TEXT, "description": description}


def make_list_schema(description: str) -> Schema:
    return {**TEXTS, "description": description}


def _make_object_schema(
    properties: Mapping[str, Schema], *, required: Collection[str] = ()
) -> Schema:
    schema = {"type": "object", "properties": dict(properties), "additionalProperties": False}
    if required:
        schema["required"] = list(required)
    return schema
