"""The flag comes first: where it is off there is no store, no git, no file, and the state is what
it was.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from holdfast.errors import InvalidValueError
from holdfast.langgraph import add_shared_context, prefix_instruction, role_round
from tests.surfaces.langgraph.graphs import builder, on, read_context, run
from tests.workstreams.repos import Repo

DEAD = "postgresql://nobody@127.0.0.1:1/none"
WRONG = {"HOLDFAST_DATABASE": DEAD, "HOLDFAST_DEVELOPER": "no handle!", "HOLDFAST_WORKSPACE": "/"}


@pytest.fixture
def data_folder(tmp_path: Path) -> Path:
    return tmp_path / "holdfast"


@pytest.fixture
def nothing_works(monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that cannot be reached, settings that are refused, and no git to be found."""
    for name, value in {**WRONG, "PATH": "/nonexistent"}.items():
        monkeypatch.setenv(name, value)


def check_nothing_happened(context: dict[str, Any]) -> None:
    given = {"context": context, "plan": {"metadata": {}}}
    result = add_shared_context(builder()).compile().invoke(given)
    assert result == {**given, "seen": ["selector", "agent", "memory"]}


@pytest.mark.parametrize("said", [{}, {"share_session": False}, {"share_session": None}], ids=repr)
def test_without_consent_nothing_is_opened_created_or_reported(
    repo: Repo, data_folder: Path, nothing_works: None, said: dict[str, Any]
):
    check_nothing_happened(
        {"repo_path": str(repo.folder), "decisions": ["a table"], "error": "boom", **said}
    )

    assert not data_folder.exists()
    assert not (repo.folder / "data").exists()


def test_a_plain_no_reads_no_settings(
    repo: Repo, data_folder: Path, nothing_works: None, monkeypatch: pytest.MonkeyPatch
):
    """The state's word and the environment's, over settings that cannot be read."""
    data_folder.mkdir()
    (data_folder / "settings.json").write_text("{broken")
    check_nothing_happened({"repo_path": str(repo.folder), "share_session": False})
    check_nothing_happened({"repo_path": 5, "phase": 5, "share_session": False})

    monkeypatch.setenv("SHARED_CONTEXT_ENABLED", "false")
    check_nothing_happened({"repo_path": str(repo.folder)})

    assert [path.name for path in data_folder.iterdir()] == ["settings.json"]


def test_consent_for_another_repository_opens_no_store_here(
    repo: Repo, data_folder: Path, monkeypatch: pytest.MonkeyPatch
):
    data_folder.mkdir()
    (data_folder / "settings.json").write_text(
        json.dumps({"repositories": {"github.com/acme/x": {"shared_context": True}}})
    )
    monkeypatch.setenv("HOLDFAST_DATABASE", DEAD)

    check_nothing_happened({"repo_path": str(repo.folder)})

    assert [path.name for path in data_folder.iterdir()] == ["settings.json"]


def test_unreadable_settings_are_reported_where_they_would_decide(repo: Repo, data_folder: Path):
    data_folder.mkdir()
    (data_folder / "settings.json").write_text("{broken")

    result = (
        add_shared_context(builder()).compile().invoke({"context": {"repo_path": str(repo.folder)}})
    )

    assert "fix or remove it" in result["context"]["shared_context_error"]["message"]
    assert "shared_context" not in result["context"]
    assert not (data_folder / "holdfast.db").exists()


@pytest.mark.parametrize("word", [False, 0, "false", "False", " off ", "0", "no"], ids=repr)
def test_a_no_in_any_spelling_is_a_no(
    repo: Repo, data_folder: Path, monkeypatch: pytest.MonkeyPatch, word: Any
):
    monkeypatch.setenv("SHARED_CONTEXT_ENABLED", "true")

    check_nothing_happened({"repo_path": str(repo.folder), "share_session": word})

    assert not data_folder.exists()


@pytest.mark.parametrize("word", [1, "true", "YES", "on"], ids=repr)
def test_a_yes_in_any_spelling_is_a_yes(repo: Repo, word: Any):
    assert "shared_context" in run(repo, share_session=word)["context"]


@pytest.mark.parametrize(
    "word", ["maybe", "", 2, -1, 0.0, [], ["true"], {"on": True}, {1, 2}], ids=repr
)
def test_a_flag_that_is_neither_yes_nor_no_is_refused_and_nothing_is_shared(
    repo: Repo, data_folder: Path, monkeypatch: pytest.MonkeyPatch, word: Any
):
    monkeypatch.setenv("SHARED_CONTEXT_ENABLED", "true")

    result = run(repo, share_session=word, decisions=["a table"])

    assert "is neither true nor false" in result["context"]["shared_context_error"]["message"]
    assert "context_bundle" not in result["context"]
    assert result["seen"][-1] == "memory"
    assert not data_folder.exists()


def test_without_sharing_an_instruction_stays_as_it_was(
    repo: Repo, data_folder: Path, nothing_works: None, monkeypatch: pytest.MonkeyPatch
):
    assert prefix_instruction("Fix it.", folder=str(repo.folder), share=False) == "Fix it."
    assert prefix_instruction("Fix it.", folder=str(repo.folder)) == "Fix it."
    monkeypatch.setenv("SHARED_CONTEXT_ENABLED", "true")
    no: Any = "false"
    assert prefix_instruction("Fix it.", folder=str(repo.folder), share=no) == "Fix it."
    assert not data_folder.exists()


def test_without_sharing_a_round_calls_no_speaker(
    repo: Repo, data_folder: Path, nothing_works: None
):
    def speak(*words: str) -> Any:
        raise AssertionError(words)

    for share in (False, None):
        graph = role_round(speak, speak, folder=str(repo.folder), share=share)
        assert graph.invoke({"topic": "retry"}) == {"topic": "retry"}

    assert not data_folder.exists()
    maybe: Any = "maybe"
    with pytest.raises(InvalidValueError):
        role_round(speak, speak, share=maybe)


def test_a_folder_outside_of_any_repository_makes_nothing(tmp_path: Path, data_folder: Path):
    check_nothing_happened({"repo_path": str(tmp_path), "share_session": True})

    assert not data_folder.exists()


def test_a_folder_may_be_a_path(repo: Repo):
    result = (
        add_shared_context(builder())
        .compile()
        .invoke({"context": on(repo, repo_path=repo.folder, checklist=["x"])})
    )

    assert result["context"]["context_write"]["refused"] == []
    assert read_context(repo)["checklist"] == ["x"]
