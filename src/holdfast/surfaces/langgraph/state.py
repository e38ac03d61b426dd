"""How the nodes read a graph's state and give back what changed, whatever kind of object it is.

A state, its `context` and its `plan` are dictionaries, dataclasses, models or plain objects, and
stay what they are. Nothing is changed in place: a checkpoint that was written before stays what it
was. A dataclass has room for the names that it has fields for, and an object that takes no names
for none.
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
    return thing.get(name) if isinstance(thing, Mapping) else getattr(thing, name, None)


def find_in_context(state: object, name: str) -> Any:
    """What stands under a name in the state's context."""
    return find_field(find_field(state, "context"), name)


def make_update(
    state: object, context: Mapping[str, Any], metadata: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """What a node returns: the context with additions, and the plan with its metadata where there
    is one.
    """
    changed = {}
    plan = find_field(state, "plan")
    if metadata and (isinstance(plan, Mapping) or hasattr(plan, "metadata")):
        known = find_field(plan, "metadata")
        if known is None or isinstance(known, Mapping):
            changed["plan"] = _copy_with(plan, {"metadata": {**(known or {}), **metadata}})
        else:
            error = InvalidValueError(
                "plan.metadata", known, "is no object, so nothing was added to it"
            )
            context = {**context, ERROR: describe_refusal(error)}
    return {"context": _copy_with(find_field(state, "context"), context), **changed}


def to_list(name: str, given: object) -> list[Any]:
    """Where several may stand, one alone will do; anything else has no order, or no parts."""
    if given is None:
        return []
    if isinstance(given, str | Mapping):
        return [given]
    if not isinstance(given, list | tuple):
        raise InvalidValueError(name, given, "is no list")
    return list(given)


def describe_refusal(error: Exception) -> dict[str, Any]:
    """Why something was not done. A mistake of ours is told too: it must not cost a run its work."""
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
        return dataclasses.replace(
            thing, **{name: changes[name] for name in known & changes.keys()}
        )
    if hasattr(thing, "model_copy"):
        return thing.model_copy(update=dict(changes))
    copied = copy.copy(thing)
    if copied is thing:  # a text, a class: there is no other one to change
        return thing
    for name, value in changes.items():
        with suppress(AttributeError, TypeError, ValueError):
            setattr(copied, name, value)
    return copied
