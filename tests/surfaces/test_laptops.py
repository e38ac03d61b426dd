"""Laptops of a team: real commands, hooks and MCP servers, one server, and the network between."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from holdfast.app import App
from holdfast.ground import ids
from holdfast.ground.settings import owner_of
from holdfast.ground.user_settings import load_user_settings
from holdfast.scope import Scope
from holdfast.storage.database import drive
from holdfast.team import joined as places
from holdfast.team.errors import ChangeWaitsError, TokenRefusedError
from holdfast.team.remote import RemoteTeam
from holdfast.usecases import administration
from tests.house.test_hook_imports import count_ours, find_expensive, loaded_modules
from tests.rig import http_proxy as network
from tests.rig.commands import HOLDFAST, PATIENCE_SECONDS, Answer
from tests.rig.laptops import OTHER_REPO, Laptop, Office, open_office
from tests.surfaces.team import REPO
from tests.workstreams.repos import Repo

pytestmark = pytest.mark.measures_processes

PUBLISH = ("team", "publish", "--yes", "--title", "Retry queue", "--summary", "Jobs are retried.")
EDIT = {"tool_name": "Edit", "tool_use_id": "t-1"}
CHANGE = {"old_string": "a", "new_string": "b"}
HOOKED = ("SessionStart", "UserPromptSubmit", "PreToolUse", "Stop", "SessionEnd")


@pytest.fixture
def office(tmp_path: Path, postgres_url: str) -> Iterator[Office]:
    with open_office(tmp_path / "server", postgres_url) as found:
        yield found


@pytest.fixture
def laptop(office: Office, tmp_path: Path) -> Laptop:
    return Laptop(tmp_path / "ana", office, "ana", office.add("ana"))


@pytest.fixture
def other(office: Office, tmp_path: Path) -> Laptop:
    return Laptop(tmp_path / "bo", office, "bo", office.add("bo"))


@pytest.fixture
def repo(laptop: Laptop) -> Repo:
    return laptop.make_repo()


def enrol(laptop: Laptop, *folders: Path) -> None:
    from holdfast.storage.enrolment import Enrolment

    for folder in folders:
        Enrolment(str(laptop.data)).add(str(folder))


def start_session(laptop: Laptop, repo: Path) -> str:
    """What an agent is handed at a start, after a first prompt has made the session."""
    laptop.hook("UserPromptSubmit", repo, prompt="Retry.", prompt_id="p-0")
    return laptop.hook("SessionStart", repo, source="startup").out


# --- commands -------------------------------------------------------------------------------------


def test_what_one_laptop_publishes_the_other_shows_as_its_own_store_would(
    laptop: Laptop, other: Laptop, repo: Repo
):
    there = other.make_repo()
    done = laptop.run(*PUBLISH, "--file", "README.md", "--json", cwd=repo.folder)
    published = done.document["context"]

    shown = other.run("team", "contexts", "--json", cwd=there.folder).document
    [context] = shown["contexts"]
    assert (context["id"], context["developer"]["handle"]) == (published["id"], "ana")
    assert context["basis"]["files"].keys() == {"README.md"}
    assert shown["freshness"][context["id"]]["files"] == {"README.md": "same"}
    claimed = other.run(
        "team", "claim", "README.md", "--reason", "Words", "--json", cwd=there.folder
    )
    seen = laptop.run("team", "state", cwd=repo.folder).out
    assert "bo" in seen
    assert claimed.document["claim"]["repo"] == REPO
    assert laptop.run("team", "revoke", published["id"]).code == 0
    assert other.run("team", "contexts").out == "No active context can be seen here.\n"


def test_nothing_of_the_exchange_is_kept_in_the_store_of_a_laptop(laptop: Laptop, repo: Repo):
    laptop.run(*PUBLISH, cwd=repo.folder)
    laptop.run("team", "claim", "a.py", "--reason", "Because", cwd=repo.folder)
    laptop.run("team", "state")
    start_session(laptop, repo.folder)

    import apsw

    store = apsw.Connection(str(laptop.data / "holdfast.db"))
    for table in ("contexts", "reservations", "presence", "usage_events", "developers"):
        names = [name for (name,) in store.execute("select name from sqlite_master")]
        if table in names:
            assert list(store.execute(f"select * from {table}")) == []
    store.close()


def test_a_repository_that_is_not_listed_stays_here(laptop: Laptop, office: Office):
    secret = laptop.make_repo("unlisted", OTHER_REPO)
    enrol(laptop, secret.folder)
    (secret.folder / "unlisted-file.py").write_text("x = 1\n")

    refused = laptop.run(*PUBLISH, cwd=secret.folder)
    assert (refused.code, "stays on this machine" in refused.err) == (5, True)
    named = laptop.run(*PUBLISH, "--repo", REPO, cwd=secret.folder)
    assert named.code == 5
    assert laptop.run("team", "claim", "a", "--reason", "R", cwd=secret.folder).code == 5
    start_session(laptop, secret.folder)
    given = {**CHANGE, "file_path": str(secret.folder / "unlisted-file.py")}
    edit = {**EDIT, "tool_input": given}
    laptop.hook("PreToolUse", secret.folder, **edit)
    laptop.hook("Stop", secret.folder, last_assistant_message="Done unlisted.")
    laptop.hook("SessionEnd", secret.folder, reason="exit")

    assert b"unlisted" not in office.proxy.sent
    assert b"PUT /api/team/presence" not in office.proxy.sent


def test_prompts_code_and_commands_are_not_on_the_wire(laptop: Laptop, office: Office, repo: Repo):
    enrol(laptop, repo.folder)
    (repo.folder / "queue.py").write_text("CODEWORD_OF_CODE = 1\n")
    laptop.hook("UserPromptSubmit", repo.folder, prompt="CODEWORD_OF_A_PROMPT", prompt_id="p-0")
    laptop.hook("SessionStart", repo.folder, source="startup")
    path = str(repo.folder / "queue.py")
    given = {"file_path": path, "old_string": "CODEWORD_OLD", "new_string": "CODEWORD_NEW"}
    laptop.hook("PreToolUse", repo.folder, **EDIT, tool_input=given)
    laptop.hook("Stop", repo.folder, last_assistant_message="CODEWORD_OF_AN_ANSWER")

    sent = office.proxy.sent
    assert b"queue.py" in sent
    assert b"CODEWORD" not in sent
    assert str(laptop.home).encode() not in sent


# --- offline --------------------------------------------------------------------------------------


def test_offline_a_publication_waits_and_status_says_so(laptop: Laptop, office: Office, repo: Repo):
    laptop.run("team", "state")
    office.proxy.behave = network.cut_before

    kept = laptop.run(*PUBLISH, "--json", cwd=repo.folder)
    assert (kept.code, kept.document["waiting"]["code"]) == (0, "change_waits")
    state = laptop.run("team", "state")
    assert (state.code, "Waiting to be sent" in state.out, "Retry queue" in state.out) == (
        6,
        True,
        True,
    )
    found = laptop.run("status", "--json").document["team_server"]
    assert [each["what"] for each in found["waiting"]] == ["The publication"]
    assert "cannot be reached" in found["problem"]
    assert "waiting to be sent" in laptop.run("status").out
    assert laptop.run("team", "contexts").code == 6

    office.proxy.behave = network.pass_on
    assert "Retry queue" in laptop.run("team", "contexts", cwd=repo.folder).out
    assert laptop.run("status", "--json").document["team_server"]["waiting"] == []


def test_what_was_not_taken_is_reported_by_status_and_once_by_the_next_command(
    laptop: Laptop, office: Office
):
    laptop.run("team", "state")
    office.proxy.behave = network.cut_before
    laptop.run("team", "revoke", ids.new_id())
    office.proxy.behave = network.pass_on
    drive(laptop.team.get_state())

    assert "was not taken" in laptop.run("status").err
    assert "was not taken" in laptop.run("team", "state").err
    assert "was not taken" not in laptop.run("team", "state").err


SEND = """
import sys
from holdfast.ground.settings import load_settings
from holdfast.usecases.exchange import send_waiting
print("ready", flush=True)
sys.stdin.readline()
send_waiting(load_settings())
"""


def start_sending(laptop: Laptop, code: str = SEND) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=laptop.environment,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def finish(*processes: subprocess.Popen[str]) -> None:
    for process in processes:
        process.communicate(timeout=PATIENCE_SECONDS)


def keep_offline(laptop: Laptop, count: int) -> None:
    drive(laptop.team.get_me())
    laptop.office.proxy.behave = network.cut_before
    for number in range(count):
        with pytest.raises(ChangeWaitsError):
            publish(laptop.team, number)
    laptop.office.proxy.behave = network.pass_on
    laptop.office.proxy.requests.clear()


def publish(team: RemoteTeam, number: int) -> Any:
    fields = {"title": f"Part {number}", "summary": "S.", "repo": REPO, "branch": f"b{number}"}
    return drive(team.publish_context(**fields))


def test_two_processes_that_send_at_once_send_each_change_once_and_in_order(
    laptop: Laptop, office: Office
):
    keep_offline(laptop, 8)
    processes = [start_sending(laptop) for _ in range(2)]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    finish(*processes)
    laptop.team.send_waiting()

    titles = re.findall(rb'"title": ?"(Part \d)"', office.proxy.sent)
    assert titles == [f"Part {number}".encode() for number in range(8)]
    shown = [each.title for each in drive(laptop.team.list_own_contexts())]
    assert shown == [f"Part {number}" for number in reversed(range(8))]


def test_a_process_that_is_killed_before_the_acknowledgement_leaves_one_effect(
    laptop: Laptop, office: Office
):
    keep_offline(laptop, 2)
    process = start_sending(laptop)

    def kill(upstream: network.Upstream, request: bytes) -> bytes | None:
        answer = upstream.ask(request)  # the effect is there
        process.send_signal(signal.SIGKILL)
        return answer

    office.proxy.behave = kill
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()
    process.wait(PATIENCE_SECONDS)
    office.proxy.behave = network.pass_on
    assert [entry.was_tried for entry in laptop.team.outbox.list_all()] == [True, False]

    laptop.team.send_waiting()

    contexts = drive(laptop.team.list_own_contexts())
    assert [each.title for each in contexts] == ["Part 1", "Part 0"]
    assert all(each.superseded_by is None for each in contexts)
    process.communicate()


def test_a_full_disk_is_said_and_nothing_is_half_kept(
    laptop: Laptop, office: Office, monkeypatch: pytest.MonkeyPatch
):
    drive(laptop.team.get_me())
    office.proxy.behave = network.cut_before
    publish_waiting = pytest.raises(ChangeWaitsError)
    with publish_waiting:
        publish(laptop.team, 0)

    def fail(fd: int, data: bytes) -> None:
        raise OSError(28, "No space left on device")

    from holdfast.errors import StoreFullError
    from holdfast.ground import files

    monkeypatch.setattr(files, "write_all", fail)
    with pytest.raises(StoreFullError):
        publish(laptop.team, 1)
    monkeypatch.undo()

    [entry] = laptop.team.outbox.list_all()
    assert entry.body is not None
    assert entry.body["title"] == "Part 0"
    assert [path.name for path in Path(laptop.team.outbox.folder).glob("*.tmp")] == []


def test_an_mcp_server_sends_at_its_start_what_waited(laptop: Laptop, office: Office, repo: Repo):
    keep_offline(laptop, 1)
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}}
    hello["clientInfo"] = {"name": "claude-code", "version": "2"}  # type: ignore[assignment]
    lines = [
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        call(2, "covibe_team", operation="state"),
        call(3, "covibe_session", operation="publish_context", title="By MCP", summary="S."),
        call(4, "covibe_session", operation="get_context"),
    ]
    text = "".join(json.dumps({"jsonrpc": "2.0", **line}) + "\n" for line in lines)

    done = laptop.run("mcp", cwd=repo.folder, stdin=text)

    answers = {found["id"]: found for found in map(json.loads, done.out.splitlines())}
    shown = answers[4]["result"]["structuredContent"]["data"]
    assert {each["title"] for each in shown["contexts"]} >= {"Part 0"}
    assert answers[3]["result"]["structuredContent"]["data"]["context"]["repo"] == REPO
    assert laptop.team.outbox.is_empty()


def call(number: int, tool: str, **arguments: object) -> dict[str, Any]:
    return {"id": number, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


def test_an_agent_is_told_that_its_publication_waits(laptop: Laptop, office: Office, repo: Repo):
    drive(laptop.team.get_me())
    office.proxy.behave = network.cut_before
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}}
    hello["clientInfo"] = {"name": "claude-code", "version": "2"}  # type: ignore[assignment]
    lines = [
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        call(2, "covibe_session", operation="publish_context", title="T", summary="S."),
        call(3, "covibe_team", operation="state"),
    ]
    text = "".join(json.dumps({"jsonrpc": "2.0", **line}) + "\n" for line in lines)

    done = laptop.run("mcp", cwd=repo.folder, stdin=text)

    answers = {found["id"]: found["result"] for found in map(json.loads, done.out.splitlines())}
    kept = answers[2]["structuredContent"]
    assert (kept["status"], kept["data"]["waiting"]["code"]) == ("warning", "change_waits")
    failed = answers[3]["structuredContent"]
    assert (failed["status"], failed["code"]) == ("error", "server_unreachable")


# --- hooks ----------------------------------------------------------------------------------------


def test_a_session_is_told_of_a_teammate_and_shown_to_the_team(
    laptop: Laptop, other: Laptop, office: Office, repo: Repo
):
    enrol(laptop, repo.folder)
    (repo.folder / "README.md").write_text("changed\n")
    drive(
        other.team.publish_context(
            title="WORDS", summary="WORDS", repo=REPO, branch="b", files_touched=["README.md"]
        )
    )

    text = start_session(laptop, repo.folder)

    assert "bo" in text
    assert "WORDS" not in text
    [soft] = drive(other.team.list_claims())
    assert (soft.is_soft, soft.developer.handle, list(soft.paths)) == (True, "ana", ["README.md"])
    laptop.hook("SessionEnd", repo.folder, reason="exit")
    assert drive(other.team.list_claims()) == []


def test_an_edit_asks_the_server_only_where_the_copy_says_so(
    laptop: Laptop, other: Laptop, office: Office, repo: Repo
):
    enrol(laptop, repo.folder)
    claim = drive(other.team.claim(["README.md"], "WORDS", repo=REPO))
    start_session(laptop, repo.folder)
    asked = len(office.proxy.requests)

    def edit(name: str) -> str:
        given = {**CHANGE, "file_path": str(repo.folder / name)}
        return laptop.hook("PreToolUse", repo.folder, **EDIT, tool_input=given).out

    assert edit("other.py") == ""
    assert len(office.proxy.requests) == asked
    told = edit("README.md")
    assert "bo reserved README.md" in told
    assert "WORDS" not in told
    assert office.proxy.list_lines()[asked:][:1] == ["GET /api/team/near"]
    drive(other.team.release(claim.id))
    for path in (laptop.data / "told").glob("*"):
        path.unlink()
    assert edit("README.md") == ""


def test_a_handoff_is_told_at_the_next_prompt(laptop: Laptop, other: Laptop, repo: Repo):
    enrol(laptop, repo.folder)
    laptop.hook("SessionStart", repo.folder, source="startup")
    claim = drive(other.team.claim(["a.py"], "WORDS", repo=REPO))
    drive(other.team.handoff(claim.id, to="ana"))
    for path in (laptop.data / "team-copies").glob("*"):
        path.unlink()  # a minute later

    told = laptop.hook("UserPromptSubmit", repo.folder, prompt="Go on.", prompt_id="p-1").out

    assert "handoffs offered to this user: 1 (bo)" in told


def test_hooks_ask_a_server_that_does_not_answer_once_a_minute(
    laptop: Laptop, office: Office, repo: Repo
):
    enrol(laptop, repo.folder)
    drive(laptop.team.get_me())
    office.proxy.behave = network.delay(60)
    office.proxy.requests.clear()

    for event in HOOKED:
        fields = {"prompt": "Go.", "prompt_id": "p", "source": "startup", "reason": "exit"}
        fields |= {"last_assistant_message": "Done.", **EDIT}
        given = {**CHANGE, "file_path": str(repo.folder / "README.md")}
        done = laptop.hook(event, repo.folder, is_patient=False, **fields, tool_input=given)
        assert (done.code, done.err) == (0, "")

    assert len(office.proxy.requests) <= 1
    assert (laptop.data / "team-pause").stat().st_mode & 0o777 == 0o600
    status = json.loads(laptop.run("status", "--json").out)
    assert status["stored"] > 0


def test_the_calls_of_hooks_are_bounded(monkeypatch: pytest.MonkeyPatch, laptop: Laptop):
    """Half a second at a start and less elsewhere, for all that one hook asks."""
    from holdfast.usecases import remote_at_hooks

    assert (remote_at_hooks.START_SECONDS, remote_at_hooks.BRIEF_SECONDS) == (0.5, 0.3)
    given: list[float] = []

    def ask(*_: Any, seconds: float, **__: Any) -> Any:
        given.append(seconds)
        raise AssertionError

    monkeypatch.setattr("holdfast.team.remote.ask", ask)
    team = RemoteTeam(laptop.team.joined, seconds=0.3)
    for _ in range(2):
        with pytest.raises(AssertionError):
            drive(team.look_near(REPO))
    assert 0 < given[1] < given[0] <= 0.3


def test_a_hook_of_a_machine_without_a_server_loads_nothing_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    payload = {"hook_event_name": "Stop", "session_id": "c-1", "cwd": str(tmp_path)}
    os.environ["HOLDFAST_DEVELOPER"] = "ana"
    try:
        modules = loaded_modules(
            "-m", "holdfast", "hook", "claude", "Stop", stdin=json.dumps(payload)
        )
    finally:
        del os.environ["HOLDFAST_DEVELOPER"]

    ours = {name for name in modules if name.startswith("holdfast.")}
    loaded = ("remote", "joined", "waiting", "wire", "https", "origin", "remote_at_hooks")
    assert not [name for name in ours if name.rpartition(".")[2] in loaded]
    assert not [name for name in find_expensive(modules) if name in ("ssl", "http.client")]
    assert count_ours(modules)


def test_no_token_is_in_a_log_an_error_or_an_argument(laptop: Laptop, office: Office, repo: Repo):
    enrol(laptop, repo.folder)
    outputs: list[Answer] = [laptop.run(*PUBLISH, cwd=repo.folder)]
    outputs += [laptop.hook("SessionStart", repo.folder, source="startup")]
    office.proxy.behave = network.answer_with(b"{}", "500 Internal Server Error")
    outputs += [laptop.run("team", "state"), laptop.run("status"), laptop.run("team", "contexts")]
    office.revoke(laptop.token)
    office.proxy.behave = network.pass_on
    outputs += [laptop.run("team", "state"), laptop.run(*PUBLISH, cwd=repo.folder)]
    outputs += [laptop.hook("Stop", repo.folder, last_assistant_message="Done.")]

    assert outputs[-2].code == 5
    assert "holdfast team join" in outputs[-2].err
    secret = laptop.token.text.partition(".")[0]
    assert not [done for done in outputs if secret in done.out + done.err]
    for folder in (laptop.data, office.server.home):
        files = [path for path in folder.rglob("*") if path.is_file()]
        holding = [path.name for path in files if secret.encode() in path.read_bytes()]
        assert holding in ([], ["team-token"])


# --- joining and leaving --------------------------------------------------------------------------


class Joining:
    """`holdfast team join` as a process; a developer approves it at the server."""

    def __init__(self, laptop: Laptop, folder: Path, *options: str, at_terminal: bool = False):
        self.office = laptop.office
        self.said = ""
        self.terminal, child = pty.openpty()
        stdin = child if at_terminal else subprocess.DEVNULL
        self.process = subprocess.Popen(
            [*HOLDFAST, "team", "join", self.office.proxy.url, *options],
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=child,
            cwd=folder,
            env=laptop.environment,
        )
        os.close(child)

    def read_until(self, pattern: str) -> str:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not (found := re.search(pattern, self.said)):
            assert time.monotonic() < deadline, self.said
            try:
                self.said += os.read(self.terminal, 4096).decode()
            except OSError:  # the process has ended
                assert re.search(pattern, self.said), self.said
        return found[0]

    def decide(self, handle: str, verb: str = "approve_login") -> None:
        code = self.read_until(r"[B-Z]{4}-[B-Z]{4}")
        with App(self.office.settings) as app:
            owner = owner_of(self.office.settings.workspace, handle)
            scope = Scope(app.database, owner)
            app.run(getattr(scope.identity, verb)(code))

    def answer(self, pattern: str, text: str) -> None:
        self.read_until(pattern)
        self.said = ""
        os.write(self.terminal, f"{text}\n".encode())

    def end_by(self, number: int) -> None:
        """Again where it came in a moment in which Python lets none through."""
        while self.process.poll() is None:
            self.process.send_signal(number)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(2.0)

    def finish(self) -> tuple[int, str]:
        out, _ = self.process.communicate(timeout=PATIENCE_SECONDS)
        os.close(self.terminal)
        return self.process.returncode, out.decode()


@pytest.fixture
def newcomer(laptop: Laptop) -> Laptop:
    """A laptop that has not joined, of a developer who is known at the server."""
    (laptop.data / "settings.json").unlink()
    (laptop.data / "team-token").unlink()
    return laptop


def test_joining_says_what_leaves_and_asks_before_anything_does(
    newcomer: Laptop, other: Laptop, office: Office
):
    repo = newcomer.make_repo()
    (repo.folder / "README.md").write_text("changed\n")
    joining = Joining(newcomer, repo.folder, at_terminal=True)
    joining.decide("ana")
    question = r"Let the server know of github.com/acme/payouts\? \[y/N\]"
    joining.read_until(question)
    assert "README.md" in joining.said
    assert "feat/409" in joining.said
    assert "git's ids of its files" in joining.said
    joining.answer(question, "y")
    assert joining.read_until(r"Visible to the team\? \[y/N\]")
    assert b"README.md" not in office.proxy.sent
    assert drive(other.team.get_state()).developers[0].handle
    os.write(joining.terminal, b"y\n")
    code, out = joining.finish()

    assert (code, "visible to the team" in out) == (0, True)
    chosen = load_user_settings(str(newcomer.data))
    assert (chosen.server, chosen.remotes, chosen.team) == (office.proxy.url, (REPO,), True)
    assert (newcomer.data / "team-token").stat().st_mode & 0o777 == 0o600
    done = newcomer.run(*PUBLISH, cwd=repo.folder)
    assert done.code == 0
    assert [each.title for each in drive(other.team.get_contexts())] == ["Retry queue"]

    again = newcomer.make_repo("second", OTHER_REPO)
    added = newcomer.run("team", "join", office.proxy.url, "--yes", "--json", cwd=again.folder)
    assert added.document["remotes"] == [REPO, OTHER_REPO]

    left = newcomer.run("team", "leave")
    assert (left.code, "Stays until" in left.out) == (0, True)
    chosen = load_user_settings(str(newcomer.data))
    assert (chosen.server, chosen.remotes, chosen.team) == (None, (), False)
    assert not (newcomer.data / "team-token").exists()
    assert newcomer.run("team", "contexts").out == "No active context can be seen here.\n"


def test_without_a_terminal_the_safe_answers_count(newcomer: Laptop, other: Laptop):
    repo = newcomer.make_repo()
    joining = Joining(newcomer, repo.folder)
    joining.decide("ana")
    code, out = joining.finish()

    assert (code, "not visible to the team" in out) == (0, True)
    assert load_user_settings(str(newcomer.data)).remotes == ()
    assert "ana" not in [each.handle for each in drive(other.team.get_state()).developers]


def test_a_login_that_is_denied_leaves_nothing(newcomer: Laptop, office: Office):
    joining = Joining(newcomer, newcomer.home)
    joining.decide("ana", "deny_login")
    code, _ = joining.finish()

    assert code == 5
    assert not (newcomer.data / "settings.json").exists()
    assert not (newcomer.data / "team-token").exists()


def test_a_person_who_stops_before_the_answer_has_not_joined(newcomer: Laptop, office: Office):
    repo = newcomer.make_repo()
    joining = Joining(newcomer, repo.folder, at_terminal=True)
    joining.decide("ana")
    joining.read_until(r"Let the server know")
    joining.end_by(signal.SIGINT)
    code, _ = joining.finish()

    assert code == 1
    assert not (newcomer.data / "team-token").exists()
    assert office.proxy.list_lines()[-1] == "DELETE /api/me/token"


@pytest.mark.parametrize("way", ["SIGTERM", "the terminal is closed"])
def test_a_join_that_is_ended_at_a_question_leaves_no_token(
    way: str, newcomer: Laptop, office: Office
):
    repo = newcomer.make_repo()
    joining = Joining(newcomer, repo.folder, at_terminal=True)
    joining.decide("ana")
    joining.read_until(r"Let the server know")
    joining.end_by(signal.SIGTERM if way == "SIGTERM" else signal.SIGHUP)
    joining.finish()

    with App(office.settings) as app:
        tokens = app.run(administration.list_tokens(app, "ana"))
    assert [each.agent for each in tokens if each.revoked_at is None] == ["agent"]
    assert not list(newcomer.data.glob("team-*.json"))


def test_a_second_machine_leaves_visibility_as_it_is(newcomer: Laptop, other: Laptop):
    repo = newcomer.make_repo()
    first = Joining(newcomer, repo.folder, "--yes")
    first.decide("ana")
    assert "not visible" in first.finish()[1]
    shown = newcomer.run("team", "visibility", "public").out
    assert newcomer.run(*PUBLISH, cwd=repo.folder).code == 0
    newcomer.data = newcomer.home / "second"
    second = Joining(newcomer, repo.folder, "--yes")
    second.decide("ana")
    code, out = second.finish()

    assert shown.startswith("ana is public")
    assert (code, "visible to the team" in out, "not visible" in out) == (0, True, False)
    assert [each.title for each in drive(other.team.get_contexts())] == ["Retry queue"]


def test_becoming_visible_says_what_is_seen_now(laptop: Laptop, repo: Repo):
    laptop.run("team", "visibility", "private")
    laptop.run(*PUBLISH, cwd=repo.folder)

    said = laptop.run("team", "visibility", "public").out

    assert "Others see now:\n  'Retry queue', withdrawn by: holdfast team revoke" in said


def test_status_says_who_this_machine_is_at_its_server(laptop: Laptop, office: Office):
    said = laptop.run("status").out

    workspace = office.settings.workspace
    assert f"{office.proxy.url} · ana in {workspace} · github.com/acme/payouts" in said


def test_a_draft_without_the_server_says_that_its_readers_may_be_others(
    laptop: Laptop, office: Office, repo: Repo
):
    drive(laptop.team.get_me())
    office.proxy.behave = network.cut_before

    said = laptop.run("publish", cwd=repo.folder).out

    assert "as it was when the server was reached last" in said


def test_leaving_sends_what_withdraws_and_not_what_publishes(
    laptop: Laptop, other: Laptop, office: Office, repo: Repo
):
    published = laptop.run(*PUBLISH, "--json", cwd=repo.folder).document["context"]
    office.proxy.behave = network.cut_before
    assert "waits" in laptop.run("team", "revoke", published["id"]).out
    waiting = ("team", "publish", "--yes", "--title", "Late", "--summary", "S.", "--branch", "late")
    assert "waits" in laptop.run(*waiting, cwd=repo.folder).out
    office.proxy.behave = network.pass_on

    left = laptop.run("team", "leave")

    assert (left.code, "1 change that waited here will not be sent" in left.err) == (0, True)
    assert drive(other.team.get_contexts()) == []
    with pytest.raises(TokenRefusedError):
        drive(laptop.team.get_state())


def test_leaving_ends_a_token_that_may_not_read(laptop: Laptop, office: Office):
    laptop.token = office.add_token("ana", "context:publish")
    places.keep_token(str(laptop.data), laptop.token.text)

    left = laptop.run("team", "leave")

    assert (left.code, "does not take the token of this machine any more" in left.out) == (0, True)
    with pytest.raises(TokenRefusedError):
        drive(laptop.team.get_state())


def test_leaving_with_a_revoked_token_says_it_once(laptop: Laptop, office: Office):
    drive(laptop.team.get_me())
    office.revoke(laptop.token)

    left = laptop.run("team", "leave")

    assert left.code == 0
    assert left.err.count("token") == 1


def test_leaving_ends_the_token_and_what_is_shown(laptop: Laptop, other: Laptop, repo: Repo):
    enrol(laptop, repo.folder)
    (repo.folder / "README.md").write_text("changed\n")
    start_session(laptop, repo.folder)
    assert len(drive(other.team.list_claims())) == 1

    assert laptop.run("team", "leave").code == 0

    assert drive(other.team.list_claims()) == []
    with pytest.raises(TokenRefusedError):
        drive(laptop.team.get_state())


def test_leaving_offline_names_the_token_that_may_still_count(laptop: Laptop, office: Office):
    drive(laptop.team.get_me())
    office.proxy.behave = network.cut_before

    left = laptop.run("team", "leave")

    assert (left.code, laptop.token.token.id in left.err) == (0, True)
    assert not (laptop.data / "team-token").exists()


def test_another_server_is_not_joined_beside_the_first(laptop: Laptop):
    done = laptop.run("team", "join", "https://other.example", "--json")

    assert (done.code, done.document["code"]) == (4, "other_server")


def test_a_token_is_sent_to_its_own_server_only(laptop: Laptop, office: Office):
    done = laptop.run("team", "state", "--json", HOLDFAST_SERVER="https://127.0.0.1:1")

    assert (done.code, done.document["code"]) == (5, "no_token")


def test_doctor_names_a_server_that_does_not_take_the_token(laptop: Laptop, office: Office):
    assert laptop.run("doctor", "--json").document["problems"] == [
        "No client is set up. Run `holdfast init` in a repository."
    ]
    office.revoke(laptop.token)

    problems = laptop.run("doctor", "--json").document["problems"]

    assert any("does not take the token" in problem for problem in problems)
