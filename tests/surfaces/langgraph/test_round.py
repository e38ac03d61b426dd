"""A round as a graph, when those who speak fail, wait, or are interrupted."""

from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from holdfast.app import App
from holdfast.bundles.errors import RoundOpenError, SourceMissingError
from holdfast.errors import InvalidValueError
from holdfast.langgraph import role_round
from tests.surfaces.langgraph.graphs import read_context
from tests.workstreams.repos import Repo

ROLES = ["Product Owner", "Architect", "Developer", "Validator"]


def speak(role: str, instruction: str) -> tuple[str, list[str]]:
    return f"{role} thinks that src/retry.py is the place.", ["repo:src/retry.py"]


def conclude(instruction: str) -> tuple[list[str], list[str]]:
    return ["retry in a table"], ["who pays?"]


async def speak_async(role: str, instruction: str) -> tuple[str, list[str]]:
    return speak(role, instruction)


async def conclude_async(instruction: str) -> tuple[list[str], list[str]]:
    return conclude(instruction)


def a_round(repo: Repo, speaker: Any = speak, chair: Any = conclude) -> Any:
    return role_round(speaker, chair, folder=str(repo.folder), share=True)


def list_decisions(repo: Repo) -> list[str]:
    return [
        decision["text"] for decision in read_context(repo, "planning").get("open_decisions", [])
    ]


@pytest.mark.parametrize("failing", [*ROLES, "Chair"])
def test_a_round_whose_speaker_fails_is_over_and_the_next_one_begins(repo: Repo, failing: str):
    def fails(role: str, instruction: str) -> tuple[str, list[str]]:
        if role == failing:
            raise ValueError("no model")
        return speak(role, instruction)

    def fails_to_conclude(instruction: str) -> tuple[list[str], list[str]]:
        if failing == "Chair":
            raise ValueError("no model")
        return conclude(instruction)

    with pytest.raises(ValueError, match="no model"):
        a_round(repo, fails, fails_to_conclude).invoke({"topic": "retry"})
    assert list_decisions(repo) == []

    assert a_round(repo).invoke({"topic": "retry"})["decisions"] == ["retry in a table"]
    assert list_decisions(repo) == ["retry in a table", "who pays?"]


@pytest.mark.parametrize(
    "answer", [("A new fact.", []), ("A fact.", 5), (5, ["user:him"]), None, "it"], ids=repr
)
def test_a_round_whose_speaker_says_what_is_refused_is_over_too(repo: Repo, answer: Any):
    with pytest.raises((SourceMissingError, InvalidValueError)):
        a_round(repo, lambda role, instruction: answer).invoke({"topic": "retry"})

    assert a_round(repo).invoke({"topic": "retry"})["questions"] == ["who pays?"]


def test_a_decision_that_is_not_in_a_list_is_recorded_once(repo: Repo):
    a_round(repo, chair=lambda instruction: ("retry in a table", [])).invoke({"topic": "retry"})

    assert list_decisions(repo) == ["retry in a table"]


@pytest.mark.parametrize(
    ("speaker", "chair"),
    [(speak_async, conclude_async), (speak_async, conclude), (speak, conclude)],
)
async def test_speakers_and_chair_may_be_coroutines(repo: Repo, speaker: Any, chair: Any):
    result = await a_round(repo, speaker, chair).ainvoke({"topic": "retry"})

    assert len(result["submissions"]) == 4
    assert list_decisions(repo) == ["retry in a table", "who pays?"]


def test_coroutines_work_where_no_loop_runs(repo: Repo):
    assert a_round(repo, speak_async, conclude_async).invoke({"topic": "retry"})["decisions"] == [
        "retry in a table"
    ]


async def test_a_coroutine_that_fails_ends_its_round(repo: Repo):
    async def fails(role: str, instruction: str) -> tuple[str, list[str]]:
        raise ValueError("no model")

    with pytest.raises(ValueError, match="no model"):
        await a_round(repo, fails).ainvoke({"topic": "retry"})

    assert (await a_round(repo).ainvoke({"topic": "retry"}))["decisions"] == ["retry in a table"]


def test_a_graph_does_not_end_a_round_that_it_did_not_start(repo: Repo):
    with App() as app:
        rounds = app.rounds(app.workstreams(str(repo.folder), share=True))
        app.run(rounds.start("theirs"))

        with pytest.raises(RoundOpenError, match="theirs"):
            a_round(repo).invoke({"topic": "ours"})

        assert app.run(rounds.next()).topic == "theirs"


def test_a_role_that_is_interrupted_can_answer_later(repo: Repo):
    """A person may be one of the four: the round stays open, and goes on where it stopped."""

    def asks(role: str, instruction: str) -> tuple[str, list[str]]:
        return (interrupt(role), ["user:him"]) if role == "Architect" else speak(role, instruction)

    graph = a_round(repo, asks)
    graph.checkpointer = InMemorySaver()
    config: Any = {"configurable": {"thread_id": "t"}}
    graph.invoke({"topic": "retry"}, config)
    assert list_decisions(repo) == []

    result = graph.invoke(Command(resume="In the worker."), config)

    assert result["submissions"][1] == "In the worker."
    assert result["decisions"] == ["retry in a table"]
