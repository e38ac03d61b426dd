"""Put the three nodes into a graph that is not compiled yet.

Each stands before a node that is there already: whatever led to that node leads to ours now, and from ours to it.
Edges, waiting edges and conditional ones are bent; a node that jumps by `Command(goto=…)` or `Send` goes where it says.
"""

from __future__ import annotations

from typing import Any

from langgraph.graph import StateGraph

from holdfast.errors import InvalidValueError
from holdfast.ground.settings import Settings
from holdfast.surfaces.langgraph.nodes import ContextLoadNode, ContextWriteNode, ValidationNode

LOAD, VALIDATE, WRITE = "context_load", "context_validation", "context_write"


def add_shared_context(
    builder: StateGraph[Any, Any, Any, Any],
    *,
    load_before: str = "workflow_selector",
    validate_before: str = "langchain_agent",
    write_before: str = "memory_write",
    folder: str | None = None,
    phase: str = "implementation",
    settings: Settings | None = None,
) -> StateGraph[Any, Any, Any, Any]:
    """Load before the workflow is chosen, validate before the agent, write before memory is written."""
    places = {load_before: LOAD, validate_before: VALIDATE, write_before: WRITE}
    for place in places:
        if place not in builder.nodes:
            raise InvalidValueError("Node", place, "is not in this graph", known=builder.nodes)
    if len(places) < 3:
        raise InvalidValueError("Node", load_before, "cannot have two of the three before it")
    about: dict[str, Any] = {"folder": folder, "phase": phase, "settings": settings}
    nodes = {LOAD: ContextLoadNode(**about), VALIDATE: ValidationNode(**about), WRITE: ContextWriteNode(**about)}
    for place, name in places.items():
        _insert_before(builder, place, name, nodes[name])
    return builder


def _insert_before(builder: StateGraph[Any, Any, Any, Any], place: str, name: str, node: Any) -> None:
    builder.edges = {(start, name if end == place else end) for start, end in builder.edges}
    builder.waiting_edges = {(starts, name if end == place else end) for starts, end in builder.waiting_edges}
    for branches in builder.branches.values():
        for label, branch in branches.items():
            branches[label] = branch._replace(ends=_bent(branch.ends, place, name))
    builder.add_node(name, node)
    builder.add_edge(name, place)


def _bent(ends: dict[Any, str] | None, place: str, name: str) -> dict[Any, str]:
    if ends is None:
        return _Named({place: name})
    if isinstance(ends, _Named):
        return _Named({**ends, place: name})
    return {result: name if end == place else end for result, end in ends.items()}


class _Named(dict[Any, str]):
    """The ends of a router that returns names of nodes: each is its own end, but for those that were bent."""

    def __missing__(self, key: str) -> str:
        return key
