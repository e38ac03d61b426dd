"""What a run leaves behind: any state is understood or refused, nothing is doubled, and failures
are reported and ended.
"""

import dataclasses
from types import SimpleNamespace
from typing import Any

import pytest
from langgraph.checkpoint.memory import MemorySaver
from langgraph.graph import START, StateGraph
from pydantic import BaseModel

from holdfast.langgraph import ContextLoadNode, ContextWriteNode, ValidationNode, add_shared_context
from tests.surfaces.langgraph.graphs import State, builder, on, read_context, run
from tests.workstreams.repos import RETRY, Repo

LEARNED = {
    "decisions": [
        {"text": "Redis streams", "status": "rejected", "because": "ops"},
        "a table?",
        {"id": "D7", "text": "c"},
    ],
    "claims": [{"text": "It is done.", "evidence": ["src/retry.py#schedule"]}],
    "checklist": ["409 counts as success"],
    "file_pointers": ["README.md"],
    "summary": "Retries.",
    "feature_request": "webhook retry",
}
ACCEPTED = {"id": "D1", "text": "a table", "status": "accepted"}
REJECTED = {"id": "D1", "text": "a table", "status": "rejected", "because": "slow"}
TIMES = ("updated_at", "claimed_at", "at", "id", "uid")


def write(repo: Repo, **context: Any) -> dict[str, Any]:
    """Only the last node, in a graph of its own."""
    graph = StateGraph(State)
    graph.add_node("write", ContextWriteNode())
    graph.add_edge(START, "write")
    plan = context.pop("plan", None)
    result = graph.compile().invoke({"context": on(repo, **context), "plan": plan})
    told = dict(result["context"]["context_write"])
    told.pop("done")
    return told


def write_again(state: dict[str, Any], **context: Any) -> dict[str, Any]:
    """A run on the state that the one before has left, with some of it changed."""
    changed = {**state, "context": {**state["context"], **context}}
    return {**changed, **ContextWriteNode()(changed)}


def without_times(value: Any) -> Any:
    """Without what tells when, and by which number."""
    if isinstance(value, dict):
        return {name: without_times(inner) for name, inner in value.items() if name not in TIMES}
    return [without_times(inner) for inner in value] if isinstance(value, list) else value


# --- what is understood ---------------------------------------------------------------------------


def test_a_single_value_is_accepted_in_place_of_a_list(repo: Repo):
    done = write(
        repo,
        decisions="use a table",
        claims={"text": "It is done.", "evidence": "src/retry.py#schedule"},
        checklist="finish",
        file_pointers="README.md",
    )

    assert done == {"written": ["decision", "claim", "checklist", "file_pointers"], "refused": []}
    found = read_context(repo)
    assert [decision["text"] for decision in found["open_decisions"]] == ["use a table"]
    assert found["evidence_ledger"][0]["files"][0]["symbol"] == "schedule"
    assert (found["checklist"], found["file_pointers"]) == (["finish"], ["README.md"])


def test_a_ledger_as_the_file_has_it_is_understood(repo: Repo):
    claim = {
        "claim": "The schedule is implemented.",
        "files": [{"path": "src/retry.py", "lines": "L1-L2"}],
    }

    assert write(repo, claims=[claim]) == {"written": ["claim"], "refused": []}
    (kept,) = read_context(repo)["evidence_ledger"]
    assert (kept["claim"], kept["files"][0]["lines"]) == (claim["claim"], "L1-L2")

    repo.write("src/retry.py", "# moved\n" + RETRY)
    kept["files"][0]["lines"] = "L2-L3"
    assert write(repo, claims=[kept])["refused"] == []
    assert read_context(repo)["evidence_ledger"][0]["files"][0]["lines"] == "L2-L3"


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("context", "what"),
    [
        ({"checklist": 5}, "checklist"),
        ({"checklist": ["fine", 5]}, "checklist"),
        ({"checklist": {"a"}}, "checklist"),
        ({"file_pointers": [5]}, "file_pointers"),
        ({"file_pointers": 5}, "file_pointers"),
        ({"file_pointers": [None]}, "file_pointers"),
        ({"decisions": 5}, "decision"),
        ({"decisions": [5]}, "decision"),
        ({"decisions": [{"text": "x", "status": ["open"]}]}, "decision"),
        ({"decisions": [{"text": "x", "id": 5}]}, "decision"),
        ({"decisions": [{}]}, "decision"),
        ({"claims": 5}, "claim"),
        ({"claims": [5]}, "claim"),
        ({"claims": [None]}, "claim"),
        ({"claims": [{"text": "It is done.", "evidence": 5}]}, "claim"),
        ({"claims": [{"text": "It is done.", "evidence": [5]}]}, "claim"),
        ({"claims": [{"text": "It is done.", "files": [{"lines": "L1"}]}]}, "claim"),
        ({"claims": [{"text": "It is done.", "files": [5]}]}, "claim"),
        ({"claims": [{"text": "It is done.", "commands": [{"proof": 5}]}]}, "claim"),
        ({"claims": [{"text": "A text.", "kind": {}}]}, "claim"),
        ({"summary": 5}, "summary"),
        ({"summary": ["a", "b"]}, "summary"),
        ({"summary": "Retries.", "feature_request": 5}, "summary"),
        ({"plan": {"metadata": {"cli_sessions": ["codex"]}}}, "cli_session"),
        ({"plan": {"metadata": {"cli_sessions": "codex"}}}, "cli_session"),
        ({"plan": {"metadata": {"cli_sessions": {5: "n-1"}}}}, "cli_session"),
        ({"plan": {"metadata": {"cli_sessions": {"codex": 5}}}}, "cli_session"),
        (
            {"plan": {"metadata": {"cli_sessions": {"codex": {"id": "n", "local_path": 5}}}}},
            "cli_session",
        ),
    ],
    ids=str,
)
def test_a_wrong_type_is_refused_by_name_and_nothing_of_it_is_stored(
    repo: Repo, context: dict[str, Any], what: str
):
    done = run(repo, **context)

    (refused,) = done["context"]["context_write"]["refused"]
    assert refused["what"] == what
    assert refused["code"] != "bug"
    assert refused["message"]
    assert done["context"]["context_write"]["written"] == []
    assert done["seen"][-1] == "memory"
    assert not (repo.folder / "data/context/implementation_context.json").exists()


def test_valid_entries_are_written_although_others_are_refused(repo: Repo):
    done = write(repo, checklist=5, decisions=["a table", 5], file_pointers=["README.md"])

    assert done["written"] == ["decision", "file_pointers"]
    assert [refusal["what"] for refusal in done["refused"]] == ["decision", "checklist"]


@pytest.mark.parametrize("odd", [{5: 1, "text": "x"}, {("a",): 1, "text": "x"}], ids=repr)
def test_names_that_are_not_texts_stop_no_entry(repo: Repo, odd: dict[Any, Any]):
    state = write_again({"context": on(repo)}, decisions=[odd, "a table"])

    assert state["context"]["context_write"]["written"] == ["decision", "decision"]
    assert write_again(state)["context"]["context_write"]["written"] == []


@pytest.mark.parametrize(
    "said",
    [
        {"repo_path": 5},
        {"repo_path": "a\0b"},
        {"phase": 5},
        {"phase": "doing"},
        {"workstream_id": ["x"]},
    ],
    ids=repr,
)
def test_an_invalid_repository_phase_or_workstream_is_reported_and_stops_nothing(
    repo: Repo, said: dict[str, Any]
):
    result = run(repo, decisions=["a table"], **said)

    assert result["context"]["shared_context_error"]["code"] == "invalid_value"
    assert "context_write" not in result["context"]
    assert result["seen"][-1] == "memory"
    assert not (repo.folder / "data").exists()


# --- whatever kind of object a state is made of ---------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Context:
    share_session: bool
    repo_path: str
    decisions: tuple[str, ...] = ("a table",)
    context_write: Any = None
    context_bundle: str = ""


class ContextModel(BaseModel):
    share_session: bool
    repo_path: str
    decisions: list[str] = ["a table"]
    context_write: Any = None
    context_bundle: str = ""


@pytest.mark.parametrize(
    "kind", [Context, ContextModel, lambda **said: SimpleNamespace(decisions=["a table"], **said)]
)
def test_a_context_stays_the_kind_of_object_that_it_is(repo: Repo, kind: Any):
    given = kind(share_session=True, repo_path=str(repo.folder))

    found = add_shared_context(builder()).compile().invoke({"context": given})["context"]

    assert type(found) is type(given)
    assert found.context_bundle.startswith("HOLDFAST")
    assert (found.context_write["written"], found.context_write["refused"]) == (["decision"], [])
    assert given.share_session
    assert not getattr(given, "context_write", None)  # the one that came in is as it was


@pytest.mark.parametrize("context", ["a text", 5, ["a", "list"], State], ids=repr)
def test_a_context_that_takes_no_names_is_left_alone(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, context: Any
):
    monkeypatch.setenv("SHARED_CONTEXT_ENABLED", "true")

    result = (
        add_shared_context(builder(), folder=str(repo.folder))
        .compile()
        .invoke({"context": context})
    )

    assert result["context"] is context or result["context"] == context
    assert result["seen"][-1] == "memory"


def test_a_plan_that_is_a_plain_object_is_given_metadata_in_a_copy(repo: Repo):
    plan = SimpleNamespace(steps=3, metadata={"a": 1})

    found = run(repo, plan=plan)["plan"]

    assert (found.steps, found.metadata["a"], found.metadata["stale"]) == (3, 1, False)
    assert plan.metadata == {"a": 1}


@pytest.mark.parametrize("plan", ["three steps", 3, ["one"], SimpleNamespace(steps=3)], ids=repr)
def test_a_plan_without_room_for_metadata_is_left_alone(repo: Repo, plan: Any):
    result = run(repo, plan=plan)

    assert result["plan"] == plan
    assert "shared_context_error" not in result["context"]


@pytest.mark.parametrize("metadata", [["a"], "text", 5], ids=repr)
def test_metadata_that_is_not_an_object_is_reported_and_left_unchanged(repo: Repo, metadata: Any):
    result = run(repo, plan={"metadata": metadata}, checklist=["x"])

    assert result["plan"] == {"metadata": metadata}
    assert "plan.metadata" in result["context"]["shared_context_error"]["message"]
    assert result["context"]["context_bundle"].startswith("HOLDFAST")
    assert read_context(repo)["checklist"] == ["x"]


# --- again ----------------------------------------------------------------------------------------


def test_a_node_that_is_run_again_on_the_same_state_doubles_nothing(repo: Repo):
    """As LangGraph does when a process died after the node had written and before
    the checkpoint.
    """
    plan = {"metadata": {"cli_sessions": {"codex": "n-1"}}}
    first = write(repo, plan=plan, **LEARNED)
    once = read_context(repo)

    second = write(repo, plan=plan, **LEARNED)

    assert first == second
    assert second["refused"] == []
    assert without_times(read_context(repo)) == without_times(once)


def test_entries_of_an_earlier_run_are_not_written_again(repo: Repo):
    """A state that is kept from run to run still holds it; a person may have changed a decision
    since, or the code.
    """
    graph = add_shared_context(builder()).compile(checkpointer=MemorySaver())
    thread: Any = {"configurable": {"thread_id": "1"}}
    learned = {
        "decisions": ["use a table"],
        "claims": [{"text": "It is done.", "evidence": "src/retry.py#schedule"}],
    }
    graph.invoke({"context": on(repo, summary="It stands.", **learned)}, thread)
    once = read_context(repo)
    repo.write("src/retry.py", RETRY.replace("30", "60"))
    repo.commit("another schedule")

    again = graph.invoke({"seen": ["another turn"]}, thread)

    assert again["context"]["context_write"]["written"] == []
    assert again["context"]["stale"] is True
    assert read_context(repo) == once
    more = {**again["context"], "decisions": ["use a table", "and a queue"]}
    third = graph.invoke({"context": more}, thread)
    assert third["context"]["context_write"]["written"] == ["decision"]


def test_a_checklist_and_a_summary_that_return_to_an_earlier_value_are_written(repo: Repo):
    state = {"context": on(repo)}
    first = {"checklist": ["write", "test"], "summary": "In pieces."}
    for values in (first, {"checklist": ["test"], "summary": "Whole."}, first):
        state = write_again(state, **values)
        assert state["context"]["context_write"]["written"] == ["checklist", "summary"]

    found = read_context(repo)
    assert found["checklist"] == ["write", "test"]
    assert found["working_summary"]["text"] == "In pieces."


@pytest.mark.parametrize(
    "turns",
    [
        [[ACCEPTED], [REJECTED], [ACCEPTED]],
        [[ACCEPTED], [ACCEPTED, REJECTED], [ACCEPTED, REJECTED, ACCEPTED]],
        [[REJECTED], [ACCEPTED, REJECTED], [REJECTED, ACCEPTED]],
        [[ACCEPTED], [REJECTED], [{"text": "a table", "status": "accepted"}]],
        [[ACCEPTED], [{"id": "D1", "text": "a queue"}], [ACCEPTED]],
    ],
)
def test_a_decision_that_returns_to_an_earlier_value_is_written(
    repo: Repo, turns: list[list[dict[str, str]]]
):
    state = {"context": on(repo)}
    for decisions in turns:
        state = write_again(state, decisions=decisions)
        assert "decision" in state["context"]["context_write"]["written"]

    (kept,) = read_context(repo)["open_decisions"]
    assert (kept["text"], kept["status"]) == ("a table", "accepted")


def test_a_value_that_was_refused_does_not_replace_a_later_one(repo: Repo):
    early = {"id": "c-1", "text": "It is done.", "evidence": ["src/new.py#begin"]}
    late = {**early, "evidence": ["src/retry.py#schedule"]}
    state = write_again({"context": on(repo)}, claims=[early, late])
    assert state["context"]["context_write"]["written"] == ["claim"]
    repo.write("src/new.py", "def begin():\n    return 1\n")

    write_again(state)

    (kept,) = read_context(repo)["evidence_ledger"]
    assert kept["files"][0]["symbol"] == "schedule"


def test_a_claim_that_is_made_again_is_checked_again(repo: Repo):
    claim = {"text": "It is done.", "evidence": ["src/retry.py#schedule"]}
    state = write_again({"context": on(repo)}, claims=[claim])
    repo.write("src/retry.py", RETRY.replace("30", "60"))
    state = write_again(state, claims=[])

    write_again(state, claims=[claim])

    loaded = ContextLoadNode()(state)["context"]["shared_context"]
    assert [kept["holds"] for kept in loaded["claims"]] == [True]


def test_the_same_entries_in_a_list_that_holds_earlier_values_are_not_written_again(repo: Repo):
    """A list that a graph only appends to holds each value that a decision has had."""
    state = write_again({"context": on(repo)}, decisions=[ACCEPTED, REJECTED])
    once = read_context(repo)

    state = write_again(state)

    assert state["context"]["context_write"]["written"] == []
    assert read_context(repo) == once
    state = write_again(state, decisions=[ACCEPTED, REJECTED, ACCEPTED])
    assert state["context"]["context_write"]["written"] == ["decision"]
    (kept,) = read_context(repo)["open_decisions"]
    assert kept["status"] == "accepted"


@pytest.mark.parametrize("other", [{"phase": "planning"}, {"workstream_id": "another"}], ids=str)
def test_a_state_that_is_kept_is_written_to_each_phase_and_workstream_once(
    repo: Repo, other: dict[str, str]
):
    learned = {name: value for name, value in LEARNED.items() if name != "feature_request"}
    first = {"phase": "implementation", "workstream_id": "first"}
    state = write_again({"context": on(repo)}, **first, **learned)
    written = state["context"]["context_write"]["written"]

    state = write_again(state, **other)

    assert state["context"]["context_write"]["written"] == written
    for target in (first, {**first, **other}):
        state = write_again(state, **target)
        assert state["context"]["context_write"]["written"] == []


def test_a_failed_run_between_two_others_forgets_nothing_that_was_written(repo: Repo):
    state = write_again({"context": on(repo)}, decisions=["a table"])
    state = write_again(state, error="assert 9 == 8")

    state = write_again(state, error=None)

    assert state["context"]["context_write"]["written"] == ["last_run"]


def test_the_note_of_what_was_written_is_as_large_as_the_state_after_any_number_of_runs(repo: Repo):
    state = {"context": on(repo)}
    for turn in range(4):
        decisions = [f"decision {turn}.{number}" for number in range(3)]
        state = write_again(state, decisions=decisions, checklist=[f"step {turn}"])

        (marks,) = state["context"]["context_write"]["done"].values()
        assert len(marks) == 4


@pytest.mark.parametrize("done", [5, ["a"], {"a": 5}, {5: ["a"]}], ids=repr)
def test_a_note_of_what_was_written_that_is_not_ours_is_ignored(repo: Repo, done: Any):
    state = {"context": on(repo, context_write={"done": done})}

    state = write_again(state, decisions=["a table"])

    assert state["context"]["context_write"]["written"] == ["decision"]


@pytest.mark.parametrize("error", [["a"], {"code": 5}, 7])
def test_an_error_of_any_type_is_recorded_as_a_failed_run(repo: Repo, error: Any):
    write(repo, error=error, failed_step=5, next_action=["look"])

    assert read_context(repo)["last_run"]["error"] == str(error)


def test_a_failure_that_is_written_again_is_one_failure(repo: Repo):
    failed = {"error": "assert 9 == 8", "failed_step": "pytest", "next_action": "look"}
    write(repo, **failed)
    once = read_context(repo)

    write(repo, **failed)

    assert without_times(read_context(repo)) == without_times(once)
    assert len(read_context(repo)["last_errors"]) == 1
    write(repo, error="another", failed_step="pytest")
    assert [failure["error"] for failure in read_context(repo)["last_errors"]] == [
        "assert 9 == 8",
        "another",
    ]


def test_loading_and_validating_write_nothing_into_the_repository(repo: Repo):
    for node in (ContextLoadNode(), ValidationNode()):
        assert node({"context": on(repo)})

    assert not (repo.folder / "data").exists()


# --- a run that failed ----------------------------------------------------------------------------


def test_a_long_traceback_is_cut_with_a_visible_mark(repo: Repo):
    traceback = "Traceback\n" + "  File x, line 1\n" * 1_000 + "KeyError: 'the \0 end'"

    assert write(repo, error=traceback, failed_step="s" * 5_000, next_action="n\0")["written"] == [
        "last_run"
    ]

    kept = read_context(repo)["last_run"]
    assert kept["error"].startswith("Traceback")
    assert kept["error"].endswith("KeyError: 'the \\x00 end'")
    assert "left out" in kept["error"]
    assert len(kept["error"]) <= 4_000
    assert kept["failed_step"].endswith("…")


def test_an_exception_without_a_message_is_recorded_by_its_type(repo: Repo):
    write(repo, error=AssertionError())

    assert read_context(repo)["last_run"]["error"] == "AssertionError"


@pytest.mark.parametrize(
    "learned", [{}, {"decisions": ["a table"]}, {"summary": "Retries."}], ids=repr
)
def test_a_run_that_got_through_ends_the_failure_of_an_earlier_one(
    repo: Repo, learned: dict[str, Any]
):
    run(repo, error="assert 9 == 8", failed_step="pytest")
    assert (
        "assert 9 == 8"
        in run(repo, error="assert 9 == 8", failed_step="pytest")["context"]["context_bundle"]
    )

    done = run(repo, **learned)["context"]["context_write"]

    assert done["refused"] == []
    assert "last_run" in done["written"]
    assert read_context(repo)["last_run"]["status"] == "ok"
    assert [failure["error"] for failure in read_context(repo)["last_errors"]] == ["assert 9 == 8"]
    assert "LAST RUN" not in run(repo)["context"]["context_bundle"]


def test_a_run_that_learned_nothing_writes_nothing(repo: Repo):
    assert write(repo) == {"written": [], "refused": []}
    assert not (repo.folder / "data").exists()
