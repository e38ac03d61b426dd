"""`/api/workstreams` and `/api/bundle` of a server that was started in a repository, and of those
that were not.
"""

import ast
import asyncio
import html
import json
import threading
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import hypothesis
import pytest
import schemathesis
from schemathesis.specs.openapi.checks import negative_data_rejection

from holdfast.app import App
from tests.rig.commands import run_process
from tests.surfaces.http.server import DEVELOPER, Server, is_problem, run_server
from tests.surfaces.http.test_app import client_of
from tests.surfaces.http.test_late_mcp import message, open_transport
from tests.surfaces.http.test_late_mcp import tool as call_tool
from tests.surfaces.http.test_schema import CHECKS, EXAMPLES, IN_A_CHECKOUT
from tests.surfaces.mcp import doors
from tests.workstreams import many
from tests.workstreams.repos import RETRY, Repo, with_code

FILE = "data/context/implementation_context.json"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return with_code(tmp_path / "payouts")


@pytest.fixture
def here(repo: Repo, tmp_path: Path) -> Iterator[httpx.Client]:
    """A client with the token of a server in the repository."""
    root = "--root", str(repo.folder)
    with (
        run_server(tmp_path / "served", None, *root, SHARED_CONTEXT_ENABLED="true") as running,
        running.client() as client,
    ):
        yield client


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """The same in a repository of their own, for all requests that note nothing in it."""
    folder = tmp_path_factory.mktemp("unchanged")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(folder))  # no settings of the person who runs the tests
        repo = with_code(folder / "payouts")
    root = "--root", str(repo.folder)
    with (
        run_server(folder / "served", None, *root, SHARED_CONTEXT_ENABLED="true") as running,
        running.client() as client,
    ):
        yield client


def run_workstream(repo: Repo, tmp_path: Path, *words: str) -> Any:
    env = {"SHARED_CONTEXT_ENABLED": "true", "HOLDFAST_DEVELOPER": DEVELOPER}
    answer = run_process(
        "workstream",
        *words,
        "--json",
        cwd=repo.folder,
        HOLDFAST_HOME=str(tmp_path / "served"),
        **env,
    )
    assert answer.code == 0, answer
    return answer.document


def test_workstreams_are_listed_with_their_verdicts(repo: Repo, tmp_path: Path, here: httpx.Client):
    run_workstream(repo, tmp_path, "claim", "It doubles", "--evidence", "src/retry.py#schedule")
    run_workstream(repo, tmp_path, "save", "--summary", "Retries double.")
    run_workstream(repo, tmp_path, "decide", "a plan", "--phase", "planning")
    repo.git("checkout", "-q", "-b", "feat")
    run_workstream(repo, tmp_path, "decide", "on a branch")
    repo.git("checkout", "-q", "main")
    repo.write("src/retry.py", RETRY.replace("30", "60"))

    answer = here.get("/api/workstreams")

    found = {
        (workstream["key"]["branch"], workstream["phase"]): workstream["context"]
        for workstream in answer.json()["workstreams"]
    }
    assert answer.status_code == 200
    assert set(found) == {
        ("main", "planning"),
        ("main", "implementation"),
        ("feat", "implementation"),
    }
    assert found["feat", "implementation"] is None, "only what is checked out can be judged"
    main = found["main", "implementation"]
    assert (main["stale"], [claim["verdict"] for claim in main["claims"]]) == (True, ["changed"])


def test_a_bundle_has_the_members_of_the_contract(repo: Repo, tmp_path: Path, here: httpx.Client):
    run_workstream(repo, tmp_path, "decide", "a plan", "--phase", "planning")

    found = here.get(
        "/api/bundle", params={"phase": "planning", "limit": 900, "client": "claude"}
    ).json()

    assert set(found) == {"id", "text", "phase", "chars", "tokens", "sections", "cut"}
    assert (found["phase"], found["chars"]) == ("planning", len(found["text"]))
    assert "a plan" in found["text"]
    assert found["chars"] <= 900
    assert here.get("/api/bundle").json()["phase"] == "implementation"


def test_every_door_of_a_server_in_a_checkout_hands_over_the_same_document(
    repo: Repo, tmp_path: Path, here: httpx.Client
):
    """Whatever an agent names of itself, and though a request brings no working tree."""
    run_workstream(repo, tmp_path, "decide", "Double the delay", "--status", "accepted")
    worktree = {"chatmode": "debug", "worktree": str(repo.folder)}
    earlier = here.post("/api/sessions", json=worktree).json()
    asked = {"type": "user_message", "role": "user", "content": "Count to three"}
    here.post(f"/api/sessions/{earlier['id']}/events", json=asked)
    held = open_transport(here)
    prompt = message("prompts/get", {"name": "workspace-resume", "arguments": {}})
    resumed = here.post("/mcp", json=prompt, headers=held).json()["result"]["messages"][0]

    documents = [
        here.get("/api/bundle").json()["text"],
        here.post("/api/sessions", json={"chatmode": "debug"}).json()["resume"],
        call_tool(here, "repo_context", operation="bundle")["data"]["bundle"]["text"],
        resumed["content"]["text"],
        call_tool(here, "session", operation="start", chatmode="debug")["data"]["resume_text"],
    ]

    first, *others = [document.partition("REPO HEAD")[2] for document in documents]
    assert "> Count to three" in first
    assert "Double the delay" in first
    assert all(other.startswith(first) for other in others)


@pytest.mark.parametrize(
    "query",
    [
        "phase=testing",
        "phase=",
        "limit=5",
        "limit=-1",
        "limit=many",
        "limit=1.5",
        "client=nobody",
        "workstream_id=",
        f"workstream_id={'x' * 201}",
        "workstream_id=%00",
        "unknown=1",
    ],
)
def test_an_invalid_query_is_refused(unchanged: httpx.Client, query: str):
    assert is_problem(unchanged.get(f"/api/bundle?{query}"), 400)


@pytest.mark.parametrize("operation", IN_A_CHECKOUT)
def test_no_generated_request_breaks_it(
    unchanged: httpx.Client, scale: Callable[[int], int], operation: str
):
    method, path = operation.split(" ")
    schema: Any = schemathesis.openapi.from_dict(unchanged.get("/openapi.json").json())
    modes = schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE
    strategy = hypothesis.strategies.one_of(
        [schema[path][method].as_strategy(generation_mode=mode) for mode in modes]
    )
    statuses = Counter[int]()

    @hypothesis.seed(zlib.crc32(operation.encode()))
    @hypothesis.settings(
        max_examples=scale(EXAMPLES),
        database=None,
        deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(case=strategy)
    def ask(case: Any) -> None:
        answer = case.call(
            base_url=str(unchanged.base_url),
            headers={"Authorization": unchanged.headers["Authorization"]},
        )
        statuses[answer.status_code] += 1
        # In an address every value is a text, so one of a wrong type may be right; the list above
        # has the wrong ones.
        case.validate_response(
            answer, checks=[check for check in CHECKS if check is not negative_data_rejection]
        )

    ask()
    assert statuses[200], statuses


def test_without_the_token_there_is_nothing(unchanged: httpx.Client):
    for path in ("/api/workstreams", "/api/bundle"):
        assert is_problem(unchanged.get(path, headers={"Authorization": "Bearer nothing"}), 401)


def test_an_unreadable_file_and_an_author_that_is_not_utf8_cause_no_server_error(
    repo: Repo, tmp_path: Path, here: httpx.Client
):
    run_workstream(repo, tmp_path, "claim", "It doubles", "--evidence", "src/retry.py#schedule")
    run_workstream(repo, tmp_path, "save", "--summary", "Retries double.")
    repo.write("src/retry.py", RETRY.replace("30", "60"))
    repo.git("add", "-A")
    repo.git("-c", b"user.name=J\xf6rg".decode(errors="surrogateescape"), "commit", "-qm", "x")

    answer = here.get("/api/workstreams")
    (changed,) = answer.json()["workstreams"][0]["context"]["staleness"]["changed"]
    assert changed["author"] in ("J\\xf6rg", "Jörg")
    for content in (
        "{",
        '{"schema_version": 1, "contexts": [], "x": "\\ud800"}',
        '{"schema_version": 9}',
    ):
        repo.write(FILE, content)
        assert here.get("/api/workstreams").status_code == 200
        assert here.get("/api/bundle").status_code == 200


def test_workstreams_are_refused_without_consent_and_on_a_team_server(
    api: httpx.Client, server: Server
):
    code = "shared_context_off" if server.database_url is None else "no_working_tree"

    assert is_problem(api.get("/api/workstreams"), 422, code)
    if server.database_url is None:
        assert "not checked against any checkout" in api.get("/api/bundle").json()["text"]
    else:
        assert is_problem(api.get("/api/bundle"), 422, code)


def test_a_server_in_no_repository_says_so(tmp_path: Path):
    (tmp_path / "plain").mkdir()
    root = "--root", str(tmp_path / "plain")
    with (
        run_server(tmp_path / "served", None, *root, SHARED_CONTEXT_ENABLED="true") as running,
        running.client() as client,
    ):
        assert is_problem(client.get("/api/workstreams"), 404, "no_repository")


def test_many_workstreams_in_a_file_are_listed_and_only_the_newest_are_judged(
    repo: Repo, tmp_path: Path, here: httpx.Client
):
    """Each verdict costs git processes, and the author of the file decides how many there are."""
    key = run_workstream(repo, tmp_path, "show")["key"]
    contexts = [
        {
            "key": {**key, "workstream_id": f"w{number:04}"},
            "updated_at": f"2026-01-01T00:00:00.{number:06}Z",
        }
        for number in range(300)
    ]
    repo.write(FILE, json.dumps({"schema_version": 1, "revision": 1, "contexts": contexts}))

    found = here.get("/api/workstreams").json()["workstreams"]

    assert len(found) == 300
    assert [
        workstream["key"]["workstream_id"] for workstream in found if workstream["context"]
    ] == [f"w{n:04}" for n in range(250, 300)]


async def test_another_request_is_answered_while_claims_are_judged(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SHARED_CONTEXT_ENABLED", "true")
    claim = many.make_symbol_claim(1, "src/retry.py", "schedule")
    many.write_contexts(repo, many.make_context(evidence_ledger=[claim]))
    has_begun, may_end = threading.Event(), threading.Event()
    parse = ast.parse

    def wait_and_parse(source: str) -> ast.Module:
        has_begun.set()
        assert may_end.wait(60), "the loop was blocked by the judgement"
        return parse(source)

    async with App(folder=str(repo.folder)) as app, client_of(app) as client:
        monkeypatch.setattr(ast, "parse", wait_and_parse)
        listing = asyncio.create_task(client.get("/api/workstreams"))
        await asyncio.to_thread(has_begun.wait)
        health = await client.get("/api/health")
        is_still_judging = not listing.done()
        may_end.set()
        listed = await listing

    assert (health.status_code, is_still_judging, listed.status_code) == (200, True, 200)


async def test_an_answer_that_was_cut_says_so_at_every_door(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SHARED_CONTEXT_ENABLED", "true")
    ledger = [many.make_claim(number, files=[]) for number in range(1_001)]
    many.write_contexts(repo, many.make_context(evidence_ledger=ledger))
    note = "The notes have 1,001 claims: only the newest 1,000 are shown."

    async with App(folder=str(repo.folder)) as app, client_of(app) as client:
        listed = (await client.get("/api/workstreams")).json()["workstreams"]
        bundle = (await client.get("/api/bundle")).json()["text"]
        page = (await client.get("/workstreams", headers={"accept": "text/html"})).text
    async with doors.over_stdio(repo.folder) as mcp:
        loaded = await doors.call(mcp, "repo_context", operation="load")
    shown = run_process("workstream", "show", cwd=repo.folder)

    assert listed[0]["context"]["notes"] == [note]
    assert (len(listed[0]["context"]["claims"]), listed[0]["context"]["claims"][0]["id"]) == (
        1_000,
        "c-1",
    )
    assert note in bundle
    assert note in html.unescape(page)
    assert note in loaded["warnings"]
    assert note in shown.err
