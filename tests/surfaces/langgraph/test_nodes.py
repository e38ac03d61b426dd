"""The three nodes in real, compiled LangGraph graphs, with checkpoints and on the paths where
things go wrong.
"""

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from pydantic import BaseModel

from holdfast.errors import InvalidValueError
from holdfast.langgraph import (
    ContextLoadNode,
    ContextWriteNode,
    ValidationNode,
    add_shared_context,
    role_round,
)
from tests.surfaces.langgraph.graphs import State, builder, on, run
from tests.workstreams.repos import RETRY, Repo


def test_the_next_run_gets_what_an_earlier_run_learned(repo: Repo):
    def learns(state: State) -> State:
        learned = {
            "summary": "Goal: failed webhooks are retried.",
            "decisions": [
                {"text": "Redis streams", "status": "rejected", "because": "ops"},
                "a table?",
            ],
            "claims": [
                {"text": "The pause doubles; it is done.", "evidence": ["src/retry.py#schedule"]}
            ],
            "checklist": ["409 counts as success"],
            "file_pointers": [str(repo.folder / "README.md")],
        }
        return {"context": {**state["context"], **learned}}

    first = run(repo, agent=learns, feature_request="webhook retry")
    assert first["context"]["context_write"]["refused"] == []
    assert first["seen"] == ["selector", "memory"]

    second = run(repo)

    loaded = second["context"]["shared_context"]
    assert loaded["working_summary"]["text"] == "Goal: failed webhooks are retried."
    assert [decision["text"] for decision in loaded["open_decisions"]] == [
        "Redis streams",
        "a table?",
    ]
    assert second["context"]["stale"] is False
    assert "409 counts as success" in second["context"]["context_bundle"]
    assert second["context"]["context_receipt"]


def test_changed_files_are_listed_for_a_rescan(repo: Repo):
    run(
        repo,
        agent=_claims,
    )
    repo.write("src/retry.py", RETRY.replace("30", "60"))

    result = run(repo)

    context = result["context"]
    assert context["stale"] is True
    assert context["validation"]["rescan"] == ["src/retry.py"]
    assert [claim["verdict"] for claim in context["validation"]["unproven"]] == ["changed"]
    bundle = context["context_bundle"]
    assert "src/retry.py" in bundle
    assert "[changed]" in bundle


def _claims(state: State) -> State:
    claims = [{"text": "It is done.", "evidence": ["src/retry.py#schedule"]}]
    return {"context": {**state["context"], "claims": claims, "summary": "Retries."}}


def test_files_that_change_between_loading_and_the_agent_are_noticed(repo: Repo):
    run(repo, agent=_claims)
    graph = StateGraph(State)
    graph.add_node("load", ContextLoadNode())
    graph.add_node("edit", lambda state: repo.write("src/retry.py", "x = 1\n") or {})
    graph.add_node("validate", ValidationNode())
    graph.add_edge(START, "load")
    graph.add_edge("load", "edit")
    graph.add_edge("edit", "validate")
    result = graph.compile().invoke({"context": on(repo)})

    assert result["context"]["shared_context"]["stale"] is False
    assert result["context"]["validation"]["stale"] is True


def test_a_failed_run_keeps_only_what_stopped_it(repo: Repo):
    run(repo, agent=_claims)
    before = json.loads((repo.folder / "data/context/implementation_context.json").read_text())

    def fails(state: State) -> State:
        said = {
            "error": "assert 9 == 8",
            "failed_step": "pytest",
            "next_action": "next_attempt()",
            "summary": "Done!",
        }
        return {"context": {**state["context"], **said, "decisions": ["never kept"]}}

    result = run(repo, agent=fails)

    assert result["context"]["context_write"]["written"] == ["last_run"]
    after = json.loads((repo.folder / "data/context/implementation_context.json").read_text())
    assert after["contexts"][0]["last_run"]["failed_step"] == "pytest"
    for name in ("working_summary", "checkpoint", "evidence_ledger"):
        assert after["contexts"][0][name] == before["contexts"][0][name]
    assert "open_decisions" not in after["contexts"][0]


def test_refusals_by_rules_are_in_the_state_and_stop_nothing(repo: Repo):
    def boasts(state: State) -> State:
        repo.write("src/retry.py", "edited = True\n")
        claims = ["Everything is done.", {"text": "It works.", "evidence": ["gone.py"]}]
        return {
            "context": {
                **state["context"],
                "claims": claims,
                "summary": "All done.",
                "decisions": ["kept"],
            }
        }

    result = run(repo, agent=boasts)

    written = result["context"]["context_write"]
    assert written["written"] == ["decision"]
    assert [refusal["code"] for refusal in written["refused"]] == [
        "evidence_missing",
        "evidence_not_there",
        "not_verified",
    ]
    assert all(refusal["message"] for refusal in written["refused"])
    assert result["seen"][-1] == "memory"


def test_when_the_flag_is_off_nothing_happens(repo: Repo, monkeypatch: pytest.MonkeyPatch):
    graph = add_shared_context(builder()).compile()
    monkeypatch.setenv("PATH", "/nonexistent")  # a git process could not even be found

    for context in (
        {"repo_path": str(repo.folder)},
        {"repo_path": str(repo.folder), "share_session": False},
    ):
        result = graph.invoke({"context": context, "plan": {"metadata": {}}})
        assert result == {
            "context": context,
            "plan": {"metadata": {}},
            "seen": ["selector", "agent", "memory"],
        }
    assert not (repo.folder / "data").exists()


def test_the_environment_decides_where_the_state_says_nothing(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SHARED_CONTEXT_ENABLED", "true")
    graph = add_shared_context(builder(), folder=str(repo.folder)).compile()

    assert "shared_context" in graph.invoke({"context": {}})["context"]
    assert "shared_context" not in graph.invoke({"context": {"share_session": False}})["context"]


def test_a_store_that_cannot_be_used_does_not_stop_the_graph(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    (tmp_path / "file").write_text("x")
    monkeypatch.setenv("HOLDFAST_DATABASE", f"sqlite:///{tmp_path}/file/x.db")

    result = run(repo)

    assert result["context"]["shared_context_error"]["code"]
    assert result["seen"][-1] == "memory"


@dataclasses.dataclass(frozen=True)
class Plan:
    steps: int
    metadata: dict[str, Any]


class Model(BaseModel):
    metadata: dict[str, Any] = {}


@pytest.mark.parametrize(
    "plan", [{"metadata": {"a": 1}}, Plan(3, {"a": 1}), Model(metadata={"a": 1})], ids=repr
)
def test_metadata_is_added_to_a_plan_of_any_type_without_changing_the_original(
    repo: Repo, plan: Any
):
    before = json.dumps(plan if isinstance(plan, dict) else plan.metadata)

    found = run(repo, plan=plan)["plan"]

    metadata = found["metadata"] if isinstance(found, dict) else found.metadata
    assert metadata["a"] == 1
    assert metadata["stale"] is False
    assert metadata["shared_context"]["key"]["branch"] == "main"
    assert json.dumps(plan if isinstance(plan, dict) else plan.metadata) == before


def test_sessions_of_clients_come_back_with_the_next_plan(repo: Repo):
    plan = {
        "metadata": {
            "cli_sessions": {"codex": {"id": "n-1", "local_path": "/x"}, "gemini": "n-2", "bad": {}}
        }
    }
    run(repo, plan=plan)

    metadata = run(repo, plan={"metadata": {}})["plan"]["metadata"]

    assert metadata["cli_sessions"] == {
        "codex": {"id": "n-1", "local_path": "/x"},
        "gemini": {"id": "n-2"},
    }


def test_a_graph_that_was_interrupted_continues_from_its_checkpoint(repo: Repo):
    graph = add_shared_context(builder(_claims)).compile(
        checkpointer=InMemorySaver(), interrupt_before=["langchain_agent"]
    )
    config: Any = {"configurable": {"thread_id": "t"}}
    graph.invoke({"context": on(repo)}, config)
    stopped = graph.get_state(config)
    assert stopped.next == ("langchain_agent",)
    assert "context_bundle" in stopped.values["context"]

    result = graph.invoke(None, config)

    assert result["context"]["context_write"]["written"] == ["claim", "summary"]
    assert (
        len(
            json.loads((repo.folder / "data/context/implementation_context.json").read_text())[
                "contexts"
            ]
        )
        == 1
    )


async def test_the_same_graph_runs_on_a_loop(repo: Repo):
    graph = add_shared_context(builder(_claims)).compile()

    result = await graph.ainvoke({"context": on(repo)})

    assert result["context"]["context_write"]["refused"] == []


async def test_a_graph_that_is_called_plainly_on_a_loop_works_too(repo: Repo):
    """As in a notebook, where a loop runs already."""
    assert run(repo, agent=_claims)["context"]["context_write"]["refused"] == []


def test_every_edge_to_a_wrapped_node_passes_through_our_node(repo: Repo):
    """Edges, waiting edges, routers with a map and without one."""
    graph = StateGraph(State)
    for name in ("a", "b", "workflow_selector", "langchain_agent", "memory_write"):
        graph.add_node(name, lambda state: {})
    graph.add_edge(START, "a")
    graph.add_edge(START, "b")
    graph.add_edge(["a", "b"], "workflow_selector")
    graph.add_conditional_edges(
        "workflow_selector", lambda state: "yes", {"yes": "langchain_agent", "no": END}
    )
    graph.add_conditional_edges("langchain_agent", lambda state: "memory_write")
    compiled = add_shared_context(graph).compile()

    order = [name for step in compiled.stream({"context": on(repo)}) for name in step]

    assert sorted(order[:2]) == ["a", "b"]
    assert order[2:] == [
        *("context_load", "workflow_selector", "context_validation", "langchain_agent"),
        *("context_write", "memory_write"),
    ]


def test_a_graph_without_these_nodes_is_named(repo: Repo):
    graph = StateGraph(State)
    graph.add_node("agent", lambda state: {})
    with pytest.raises(InvalidValueError, match="'workflow_selector' is not in this graph"):
        add_shared_context(graph)
    with pytest.raises(InvalidValueError, match="two of the three"):
        add_shared_context(
            graph, load_before="agent", validate_before="agent", write_before="agent"
        )


def test_other_names_can_be_given(repo: Repo):
    graph = StateGraph(State)
    graph.add_node("plan", lambda state: {})
    graph.add_node("agent", _claims)
    graph.add_node("done", lambda state: {})
    graph.add_edge(START, "plan")
    graph.add_edge("plan", "agent")
    graph.add_edge("agent", "done")
    places = {"load_before": "plan", "validate_before": "agent", "write_before": "done"}
    compiled = add_shared_context(
        graph, **places, folder=str(repo.folder), phase="planning"
    ).compile()
    compiled.invoke({"context": {"share_session": True}})

    assert (repo.folder / "data/context/planning_context.json").exists()


def test_a_round_of_roles_is_a_graph(repo: Repo):
    heard: list[tuple[str, str]] = []

    def speak(role: str, instruction: str) -> tuple[str, list[str]]:
        heard.append((role, instruction))
        return f"{role} thinks that src/retry.py is the place.", ["repo:src/retry.py"]

    def conclude(instruction: str) -> tuple[list[str], list[str]]:
        assert "Validator thinks" in instruction
        return ["retry in a table"], ["who pays?"]

    graph = role_round(speak, conclude, folder=str(repo.folder), share=True)
    result = graph.invoke({"topic": "webhook retry"})

    assert [role for role, _ in heard] == ["Product Owner", "Architect", "Developer", "Validator"]
    assert len({instruction.split("\n")[0] for _, instruction in heard}) == 1  # the same bundle
    assert (result["decisions"], result["questions"]) == (["retry in a table"], ["who pays?"])
    found = json.loads((repo.folder / "data/context/planning_context.json").read_text())[
        "contexts"
    ][0]
    assert [(decision["text"], decision["status"]) for decision in found["open_decisions"]] == [
        ("retry in a table", "accepted"),
        ("who pays?", "open"),
    ]


def test_a_node_alone_writes_what_it_is_given(repo: Repo):
    update = ContextWriteNode(folder=str(repo.folder))(
        {"context": {"share_session": True, "checklist": ["one"]}}
    )

    assert update["context"]["context_write"]["written"] == ["checklist"]
    assert os.path.exists(repo.folder / "data/context/implementation_context.json")
