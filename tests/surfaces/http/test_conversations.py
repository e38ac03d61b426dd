"""`/api/conversations` of a server that was started in a repository, and of one that was not."""

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.rig.commands import run_process
from tests.surfaces.http.server import is_problem, run_server
from tests.workstreams.repos import Repo, with_code


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return with_code(tmp_path / "payouts")


@pytest.fixture
def here(repo: Repo, tmp_path: Path) -> Iterator[httpx.Client]:
    root = "--root", str(repo.folder)
    with run_server(tmp_path / "served", None, *root) as running, running.client() as client:
        yield client


def begin(repo: Repo, tmp_path: Path, type_: str, title: str) -> None:
    home = str(tmp_path / "served")
    made = run_process(*("conversation", "new", type_, title), cwd=repo.folder, HOLDFAST_HOME=home)
    assert made.code == 0, made


def test_conversations_are_listed_and_found(here: httpx.Client, repo: Repo, tmp_path: Path):
    begin(repo, tmp_path, "debug", "Webhook retry")
    begin(repo, tmp_path, "plan", "Invoices")

    everything = here.get("/api/conversations").json()["conversations"]
    found = here.get("/api/conversations", params={"query": "webhook"}).json()["conversations"]
    paused = here.get("/api/conversations", params={"status": "paused"}).json()["conversations"]
    one = here.get("/api/conversations", params={"limit": 1}).json()["conversations"]
    both = here.get("/api/conversations", params={"query": "retry", "status": "completed"})

    assert {each["title"] for each in everything} == {"Webhook retry", "Invoices"}
    assert [each["title"] for each in found] == ["Webhook retry"]
    assert (paused, len(one), both.json()["conversations"]) == ([], 1, [])


@pytest.mark.parametrize(
    "query",
    [{"status": "gone"}, {"limit": "0"}, {"limit": "x"}, {"limit": "100000"}, {"unknown": "1"}],
    ids=str,
)
def test_a_bad_query_is_a_problem(here: httpx.Client, query: dict[str, str]):
    answer = here.get("/api/conversations", params=query)

    assert is_problem(answer, 400)


@pytest.mark.parametrize(
    "words",
    ['"', "a AND", "-x", "(", "*", "🙂", "x" * 5_000, "%00", "a\0b", "NEAR("],
    ids=range(10),
)
def test_any_words_are_looked_for(here: httpx.Client, words: str):
    assert here.get("/api/conversations", params={"query": words}).status_code == 200


def test_a_folder_without_git_has_none_until_one_begins(tmp_path: Path):
    folder = tmp_path / "bare"
    folder.mkdir()
    root = "--root", str(folder)
    with run_server(tmp_path / "served", None, *root) as running, running.client() as client:
        answer = client.get("/api/conversations")

    assert answer.json() == {"conversations": []}


def test_a_folder_that_anyone_could_have_written_is_listed(here: httpx.Client, repo: Repo):
    """And half a sign in an address is looked for like any other text."""
    session = repo.folder / "conversations/2026-11-18/001-debug-evil/.session"
    session.mkdir(parents=True)
    wrong = {"title": "\ud800", "client": "\ud800", "files": ["../x", "\0"], "status": [1]}
    line = {"id": 5, "role": "user", "content": "half \ud800"}
    (session / "session.json").write_text(json.dumps(wrong))
    (session / "messages.jsonl").write_text(f"<<<<<<< a\n{json.dumps(line)}\n")

    (found,) = here.get("/api/conversations", params={"query": "half"}).json()["conversations"]

    assert (found["title"], found["files"], found["status"]) == ("?", [], "active")
    assert here.get("/api/conversations?query=%ED%A0%80").status_code == 200
