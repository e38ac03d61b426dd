"""Real graphs for the tests: the one that the seed speaks of, wired or not, and what a run of it
gives.
"""

import json
from typing import Any, TypedDict

from langgraph.graph import END, START, StateGraph

from holdfast.langgraph import add_shared_context
from tests.workstreams.repos import Repo


class State(TypedDict, total=False):
    context: Any
    plan: Any
    seen: list[str]


def on(repo: Repo, **context: Any) -> dict[str, Any]:
    return {"share_session": True, "repo_path": str(repo.folder), **context}


def builder(agent: Any = None) -> StateGraph[Any, Any, Any, Any]:
    """A selector, an agent, memory."""
    graph = StateGraph(State)
    graph.add_node("workflow_selector", lambda state: {"seen": ["selector"]})
    graph.add_node("langchain_agent", agent or (lambda state: {"seen": [*state["seen"], "agent"]}))
    graph.add_node("memory_write", lambda state: {"seen": [*state["seen"], "memory"]})
    graph.add_edge(START, "workflow_selector")
    graph.add_conditional_edges("workflow_selector", lambda state: "langchain_agent")
    graph.add_edge("langchain_agent", "memory_write")
    graph.add_edge("memory_write", END)
    return graph


def run(repo: Repo, *, agent: Any = None, plan: Any = None, **context: Any) -> dict[str, Any]:
    graph = add_shared_context(builder(agent)).compile()
    result: dict[str, Any] = graph.invoke({"context": on(repo, **context), "plan": plan})
    return result


def read_context(repo: Repo, phase: str = "implementation") -> dict[str, Any]:
    """The one context that stands in the repository's file, or nothing."""
    path = repo.folder / f"data/context/{phase}_context.json"
    if not path.exists():
        return {}
    (found,) = json.loads(path.read_text())["contexts"]
    return dict(found)
