"""The builder is wired once and whole or not at all, and an agent that raises leaves a failed run
behind.
"""

import copy
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, RetryPolicy, interrupt

from holdfast.errors import InvalidValueError
from holdfast.langgraph import add_shared_context
from tests.surfaces.langgraph.graphs import State, builder, on, read_context, run
from tests.workstreams.repos import Repo


def shape(graph: StateGraph[Any, Any, Any, Any]) -> Any:
    branches = {
        start: {label: branch.ends for label, branch in found.items()}
        for start, found in graph.branches.items()
    }
    return copy.deepcopy(
        (sorted(graph.edges), sorted(graph.waiting_edges), branches, sorted(graph.nodes))
    )


def check_refused_whole(graph: StateGraph[Any, Any, Any, Any], match: str, **places: Any) -> None:
    before, runnables = shape(graph), {name: spec.runnable for name, spec in graph.nodes.items()}
    with pytest.raises(InvalidValueError, match=match):
        add_shared_context(graph, **places)
    assert shape(graph) == before
    assert {name: spec.runnable for name, spec in graph.nodes.items()} == runnables


def test_adding_shared_context_twice_is_refused_and_the_graph_still_runs(repo: Repo):
    graph = add_shared_context(builder())

    check_refused_whole(graph, "'context_load' is in this graph already")

    order = [name for step in graph.compile().stream({"context": on(repo)}) for name in step]
    assert order == [
        *("context_load", "workflow_selector", "context_validation", "langchain_agent"),
        *("context_write", "memory_write"),
    ]


@pytest.mark.parametrize("name", ["context_load", "context_validation", "context_write"])
def test_a_name_that_is_taken_is_refused_before_anything_is_touched(repo: Repo, name: str):
    graph = builder()
    graph.add_node(name, lambda state: {})
    graph.add_edge("memory_write", name)

    check_refused_whole(graph, f"'{name}' is in this graph already")

    assert graph.compile().invoke({"context": {}})["seen"] == ["selector", "agent", "memory"]


def test_a_name_that_the_state_uses_is_refused_before_anything_is_touched():
    class Taken(TypedDict, total=False):
        context: dict[str, Any]
        context_write: str

    graph = StateGraph(Taken)
    for name in ("workflow_selector", "langchain_agent", "memory_write"):
        graph.add_node(name, lambda state: {})
    graph.add_edge(START, "workflow_selector")

    check_refused_whole(graph, "a key of that name")


def test_unknown_places_and_phases_are_refused_before_anything_is_touched():
    check_refused_whole(builder(), "'agent' is not in this graph", validate_before="agent")
    check_refused_whole(builder(), "two of the three", validate_before="memory_write")
    check_refused_whole(builder(), "'doing' is unknown", phase="doing")


# --- an agent that raises -------------------------------------------------------------------------


def raises(state: State) -> State:
    raise KeyError("no such event")


async def raises_async(state: State) -> State:
    raise KeyError("no such event")


def check_failure_is_noted(repo: Repo) -> None:
    found = read_context(repo)
    assert (found["last_run"]["failed_step"], found["last_run"]["error"]) == (
        "langchain_agent",
        "KeyError: 'no such event'",
    )
    assert len(found["last_errors"]) == 1
    assert "open_decisions" not in found
    assert "KeyError: 'no such event'" in run(repo)["context"]["context_bundle"]


def test_an_agent_that_raises_leaves_a_failed_run_and_nothing_else(repo: Repo):
    graph = add_shared_context(builder(raises)).compile()
    given = {
        "context": on(repo, decisions=["never kept"]),
        "plan": {"metadata": {"cli_sessions": {"codex": "n-1"}}},
    }

    with pytest.raises(KeyError, match="no such event"):
        graph.invoke(given)

    check_failure_is_noted(repo)
    assert run(repo, plan={"metadata": {}})["plan"]["metadata"]["cli_sessions"] == {
        "codex": {"id": "n-1"}
    }


@pytest.mark.parametrize("agent", [raises, raises_async])
async def test_an_agent_that_raises_on_a_loop_leaves_a_failed_run(repo: Repo, agent: Any):
    graph = add_shared_context(builder(agent)).compile()

    with pytest.raises(KeyError):
        await graph.ainvoke({"context": on(repo)})

    check_failure_is_noted(repo)


def test_an_agent_that_raises_without_sharing_writes_nothing(repo: Repo):
    graph = add_shared_context(builder(raises), folder=str(repo.folder)).compile()

    with pytest.raises(KeyError):
        graph.invoke({"context": {}})

    assert not (repo.folder / "data").exists()


def test_a_run_that_failed_continues_from_its_checkpoint(repo: Repo):
    """The exception is passed on as it was, so LangGraph runs the agent once more and nothing
    before it.
    """
    tried: list[int] = []

    def second_time(state: State) -> State:
        tried.append(1)
        if len(tried) == 1:
            raise KeyError("no such event")
        return {"seen": [*state["seen"], "agent"]}

    graph = add_shared_context(builder(second_time)).compile(checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t"}}
    with pytest.raises(KeyError):
        graph.invoke({"context": on(repo)}, config)
    assert read_context(repo)["last_run"]["status"] == "failed"

    assert graph.invoke(None, config)["seen"] == ["selector", "agent", "memory"]

    assert read_context(repo)["last_run"]["status"] == "ok"


def test_an_agent_that_is_tried_again_has_failed_once_at_most(repo: Repo):
    graph = builder()
    tried: list[int] = []

    def fails(state: State) -> State:
        tried.append(1)
        raise KeyError("no such event")

    graph.nodes.pop("langchain_agent")
    policy = RetryPolicy(max_attempts=2, initial_interval=0, jitter=False, retry_on=KeyError)
    graph.add_node("langchain_agent", fails, retry_policy=policy)
    with pytest.raises(KeyError):
        add_shared_context(graph).compile().invoke({"context": on(repo)})

    assert len(tried) == 2
    check_failure_is_noted(repo)


def test_an_interrupt_is_not_recorded_as_a_failure(repo: Repo):
    def asks(state: State) -> State:
        return {"seen": [*state["seen"], interrupt("go on?")]}

    graph = add_shared_context(builder(asks)).compile(checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t"}}
    graph.invoke({"context": on(repo)}, config)

    result = graph.invoke(Command(resume="yes"), config)

    assert result["seen"] == ["selector", "yes", "memory"]
    assert read_context(repo) == {}


def test_an_agent_is_called_as_it_was(repo: Repo):
    """With its config and its writer; a graph inside it is still seen from outside."""

    class Inner(TypedDict, total=False):
        context: dict[str, Any]
        seen: Annotated[list[str], lambda old, new: [*(old or []), *new]]

    inner = StateGraph(Inner)
    inner.add_node("think", lambda state: {"seen": ["thought"]})
    inner.add_edge(START, "think")

    def agent(state: State, config: Any, *, writer: Any) -> State:
        writer(config["configurable"]["thread_id"])
        return {"seen": [*state["seen"], "agent"]}

    agent.__annotations__.clear()
    config: Any = {"configurable": {"thread_id": "t"}}
    graph = add_shared_context(builder(agent)).compile(checkpointer=InMemorySaver())
    assert list(graph.stream({"context": on(repo)}, config, stream_mode="custom")) == ["t"]

    nested = add_shared_context(builder(inner.compile())).compile()
    assert [name for name, _ in nested.get_subgraphs()] == ["langchain_agent"]
    assert "thought" in nested.invoke({"context": on(repo)})["seen"]
