"""How the nodes read a graph's state and return what changed, whatever kind of object it is.

A state, its `context` and its `plan` are dictionaries, dataclasses, models or plain objects, and
keep their kind. Nothing is changed in place, so that earlier checkpoints stay as they were. A
dataclass takes only the names of its fields, and an object without attributes takes none.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from holdfast.errors import HoldfastError, InvalidValueError, bug_message
from holdfast.surfaces.cli.actions import word_actions

ERROR = "shared_context_error"


def find_field(thing: object, name: str) -> Any:
    if isinstance(thing, Mapping):
        return thing.get(name)
    return getattr(thing, name, None)


def find_in_context(state: object, name: str) -> Any:
    """The value of a name in the state's context."""
    return find_field(find_field(state, "context"), name)


def make_update(
    state: object, context: Mapping[str, Any], metadata: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """What a node returns: the context with additions, and the plan, if any, with its metadata."""
    changed = {}
    plan = find_field(state, "plan")
    if metadata and (isinstance(plan, Mapping) or hasattr(plan, "metadata")):
        known = find_field(plan, "metadata")
        if known is None or isinstance(known, Mapping):
            merged = {**(known or {}), **metadata}
            changed["plan"] = _copy_with(plan, {"metadata": merged})
        else:
            problem = "is not an object, so nothing was added to it"
            error = InvalidValueError("plan.metadata", known, problem)
            context = {**context, ERROR: describe_refusal(error)}
    before = find_field(state, "context")
    return {"context": _copy_with(before, context), **changed}


def to_list(name: str, given: object) -> list[Any]:
    """A list as it is, and a single text or object as a list; anything else is refused."""
    if given is None:
        return []
    if isinstance(given, str | Mapping):
        return [given]
    if not isinstance(given, list | tuple):
        raise InvalidValueError(name, given, "is not a list")
    return list(given)


def describe_refusal(error: Exception) -> dict[str, Any]:
    """Why something was not done; also for a bug of ours, which must not stop the graph."""
    if isinstance(error, HoldfastError):
        return {
            "code": error.code,
            "message": error.message,
            "next_actions": word_actions(error.next_actions),
        }
    return {"code": "bug", "message": bug_message(error), "next_actions": []}


def _copy_with(thing: Any, changes: Mapping[str, Any]) -> Any:
    """A copy of the same kind with other values."""
    if thing is None or isinstance(thing, Mapping):
        return {**(thing or {}), **changes}
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        known = {each.name for each in dataclasses.fields(thing) if each.init}
        taken = {name: changes[name] for name in known & changes.keys()}
        return dataclasses.replace(thing, **taken)
    if hasattr(thing, "model_copy"):
        return thing.model_copy(update=dict(changes))
    copied = copy.copy(thing)
    if copied is thing:  # a text or a class cannot be copied
        return thing
    for name, value in changes.items():
        with suppress(AttributeError, TypeError, ValueError):
            setattr(copied, name, value)
    return copied
