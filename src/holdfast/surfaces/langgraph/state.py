"""How the nodes read a graph's state and give back what changed, whatever kind of object it is.

A state is a dictionary, a dataclass or a model; only `context` and, where there is one, `plan` are used. Nothing is
changed in place: a checkpoint that was written before stays what it was.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any


def field(state: object, name: str) -> Any:
    return state.get(name) if isinstance(state, Mapping) else getattr(state, name, None)


def context_of(state: object) -> dict[str, Any]:
    return dict(field(state, "context") or {})


def update(state: object, context: Mapping[str, Any], metadata: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What a node returns: the context with additions, and the plan with its metadata where there is a plan."""
    changed: dict[str, Any] = {"context": {**context_of(state), **context}}
    plan = field(state, "plan")
    if metadata and plan is not None:
        changed["plan"] = _with_metadata(plan, {**(field(plan, "metadata") or {}), **metadata})
    return changed


def _with_metadata(plan: Any, metadata: dict[str, Any]) -> Any:
    if isinstance(plan, Mapping):
        return {**plan, "metadata": metadata}
    if dataclasses.is_dataclass(plan) and not isinstance(plan, type):
        return dataclasses.replace(plan, metadata=metadata)
    return plan.model_copy(update={"metadata": metadata})
