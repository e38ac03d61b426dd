"""Insert the three nodes into a graph that is not compiled yet.

Each is inserted before an existing node: all edges to that node lead to ours now, and from ours to
it. Edges, waiting edges and conditional ones are redirected; a node that jumps by
`Command(goto=…)` or `Send` goes to the node that it names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langgraph._internal._runnable import RunnableCallable  # the one kind that is called both ways
from langgraph.errors import GraphBubbleUp
from langgraph.graph import StateGraph

from holdfast.errors import InvalidValueError
from holdfast.ground.off_loop import off_loop
from holdfast.ground.settings import Settings
from holdfast.surfaces.langgraph.nodes import ContextLoadNode, ContextWriteNode, ValidationNode
from holdfast.workstreams.rules import check_phase

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

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
    """Load before the workflow is chosen, validate before the agent, write before memory.

    An agent that raises ends the run before anything could be written, so its exception is noted as
    a failed run before it is raised again. LangGraph has no such place for its own time limit, for
    a cancelled run and for other nodes: those end a run without a note. A refusal leaves the
    builder unchanged.
    """
    places = {load_before: LOAD, validate_before: VALIDATE, write_before: WRITE}
    _check(builder, places)
    about: dict[str, Any] = {"folder": folder, "phase": check_phase(phase), "settings": settings}
    load = ContextLoadNode(**about)
    validate = ValidationNode(**about)
    write = ContextWriteNode(**about)
    nodes = {LOAD: load, VALIDATE: validate, WRITE: write}
    for place, name in places.items():
        _insert_before(builder, place, name, nodes[name])
    agent = builder.nodes[validate_before]
    agent.runnable = _note_failures(validate_before, agent.runnable, write)
    return builder


def _check(builder: StateGraph[Any, Any, Any, Any], places: dict[str, str]) -> None:
    for place in places:
        if place not in builder.nodes:
            raise InvalidValueError("Node", place, "is not in this graph", known=builder.nodes)
    if len(places) < 3:
        place = next(iter(places))
        raise InvalidValueError("Node", place, "cannot have two of the three before it")
    for name in places.values():
        if name in builder.nodes:
            problem = "is in this graph already; shared context is added once"
            raise InvalidValueError("Node", name, problem)
        if name in builder.channels:
            problem = "cannot be added: the state of this graph has a key of that name"
            raise InvalidValueError("Node", name, problem)


def _note_failures(step: str, node: Any, write: ContextWriteNode) -> Any:
    """The same node, with its exceptions noted and raised again; an interrupt is not a failure."""

    def invoke(state: Any, config: RunnableConfig) -> Any:
        try:
            return node.invoke(state, config)
        except GraphBubbleUp:
            raise
        except Exception as error:
            write.note_failure(state, step, error)
            raise

    async def ainvoke(state: Any, config: RunnableConfig) -> Any:
        try:
            return await node.ainvoke(state, config)
        except GraphBubbleUp:
            raise
        except Exception as error:
            await off_loop(write.note_failure, state, step, error)
            raise

    return RunnableCallable(invoke, ainvoke, name=step, trace=False)


def _insert_before(
    builder: StateGraph[Any, Any, Any, Any], place: str, name: str, node: Any
) -> None:
    redirected = {place: name}
    builder.edges = {(start, redirected.get(end, end)) for start, end in builder.edges}
    builder.waiting_edges = {
        (starts, redirected.get(end, end)) for starts, end in builder.waiting_edges
    }
    for branches in builder.branches.values():
        for label, branch in branches.items():
            ends = _redirect_ends(branch.ends, place, name)
            branches[label] = branch._replace(ends=ends)
    builder.add_node(name, node)
    builder.add_edge(name, place)


def _redirect_ends(ends: dict[Any, str] | None, place: str, name: str) -> dict[Any, str]:
    if ends is None:
        return _RouterEnds({place: name})
    if isinstance(ends, _RouterEnds):
        return _RouterEnds({**ends, place: name})
    redirected = {place: name}
    return {result: redirected.get(end, end) for result, end in ends.items()}


class _RouterEnds(dict[Any, str]):
    """The ends of a router that returns names of nodes: each is its own end unless redirected."""

    def __missing__(self, key: str) -> str:
        return key
