"""CONTRACT's rule, case by case: who calls, and which session that means."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from holdfast.ground import process_tree
from holdfast.ground.settings import Settings
from holdfast.scope import Scope
from holdfast.sessions.errors import SessionNotFoundError, SessionNotNamedError
from holdfast.sessions.model import Session
from holdfast.sessions.service import SessionService
from holdfast.storage.processes import Processes
from holdfast.usecases.which_session import (
    Caller,
    Callers,
    OwnSessions,
    as_label,
    find_client_name,
    find_latest,
    find_session,
    find_session_to_read,
    start_session,
    write_in_session,
)
from holdfast.write import Request


def scope_of(sessions: SessionService) -> Scope:
    return Scope(sessions.db, sessions.owner)


CODEX = {"x-codex-turn-metadata": {"session_id": "c-1", "thread_id": "c-1", "turn_id": "t-1"}}
HERE = {"workspace": "local", "developer": "ana"}
# Two that run: the files of any other are removed.
NEAR, FAR = str(process_tree.find_own_process()), process_tree.list_ancestors()[0]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=str(tmp_path / "home"), database="sqlite:///x.db", **HERE)


@pytest.fixture
def processes(settings: Settings) -> Processes:
    return Processes(settings.home)


@pytest.mark.parametrize(
    ("introduced_as", "name"),
    [
        ("claude-code", "claude"),
        ("codex-mcp-client", "codex"),
        ("gemini-cli-mcp-client", "gemini"),
        ("opencode", "opencode"),
        ("Codex", "codex"),
        ("claude-ai", "claude-ai"),
        ("my\nagent \x1b[31m", "my agent [31m"),
        ("x" * 500, "x" * 100),
        ("  ", None),
        (None, None),
        (5, None),
    ],
)
def test_clients_have_our_names_and_strangers_their_own(introduced_as: object, name: str | None):
    """What a stranger calls itself becomes one short line."""
    assert find_client_name(introduced_as) == name


def test_half_a_surrogate_pair_gives_no_label():
    assert as_label("\ud800") is None


def test_a_native_id_comes_from_claudes_environment():
    callers = Callers(environment={"CLAUDE_CODE_SESSION_ID": "n-1"})

    assert callers.identify("claude-code").to_list() == ["claude", "n-1", None]


@pytest.mark.parametrize("meta", [CODEX, {"sessionId": "c-1"}])
def test_a_native_id_comes_from_what_codex_adds_to_a_call(meta: dict[str, Any]):
    """From no other program: a name as plain as `sessionId` may mean anything there."""
    assert Callers().identify("codex-mcp-client", meta=meta).to_list() == ["codex", "c-1", None]
    assert Callers().identify("some-agent", meta=meta).native_id is None


@pytest.mark.parametrize("turn", [None, 5, "{}", [], {}, {"session_id": 5}, {"session_id": ""}])
def test_invalid_turn_metadata_gives_no_native_id(turn: Any):
    meta = {"x-codex-turn-metadata": turn}

    assert Callers().identify("codex-mcp-client", meta=meta).native_id is None


@pytest.mark.parametrize("name", ["codex-mcp-client", "gemini-cli-mcp-client", "opencode"])
def test_another_client_inside_claudes_shell_is_not_claude(name: str, tmp_path: Path):
    """It inherits the environment; its calls are its own."""
    env = {"CLAUDE_CODE_SESSION_ID": "n-1", "CLAUDE_PROJECT_DIR": "/elsewhere"}

    caller = Callers(environment=env, folder=str(tmp_path)).identify(name)

    assert caller.to_list() == [find_client_name(name), None, str(tmp_path)]


def test_a_worktree_is_the_project_that_claude_names(tmp_path: Path):
    """Else the folder that the process was started in, up to where git begins."""
    inner = tmp_path / "project" / "src"
    inner.mkdir(parents=True)
    (tmp_path / "project" / ".git").mkdir()

    named = Callers(environment={"CLAUDE_PROJECT_DIR": str(inner)}, folder="/")

    assert named.identify("claude-code").worktree == str(tmp_path / "project")
    assert Callers(folder=str(inner)).identify("x").worktree == str(tmp_path / "project")


def test_the_nearest_program_that_fired_a_hook_says_which_session_it_is_in(
    settings: Settings, processes: Processes
):
    """Its latest hook counts, and not what its environment said at the start."""
    callers = Callers(
        environment={"CLAUDE_CODE_SESSION_ID": "stale"}, ancestors=["boot_1.30.5", NEAR, FAR]
    )
    processes.register(FAR, {**HERE, "client": "claude", "native_id": "outer"})
    processes.register(NEAR, {**HERE, "client": "claude", "native_id": "before"})
    processes.register(NEAR, {**HERE, "client": "claude", "native_id": "now"})

    caller = callers.identify("claude-code", settings=settings)

    assert (caller.native_id, caller.is_of_server) == ("now", False)


@pytest.mark.parametrize(
    "other",
    [
        {"client": "gemini"},
        {"developer": "bo"},
        {"workspace": "elsewhere"},
        {"native_id": 5},
        {"native_id": ""},
    ],
)
def test_what_another_program_or_person_has_said_is_not_meant(
    other: dict[str, Any], settings: Settings, processes: Processes
):
    """Nor is anything behind it: that is the program in whose shell this one runs."""
    processes.register(FAR, {**HERE, "client": "claude", "native_id": "outer"})
    processes.register(NEAR, {**HERE, "client": "claude", "native_id": "n-1", **other})

    caller = Callers(ancestors=[NEAR, FAR]).identify("claude-code", settings=settings)

    assert (caller.native_id, caller.is_of_server) == (None, True)


def test_a_call_that_a_hook_announced_belongs_to_the_session_of_that_hook(
    settings: Settings, processes: Processes
):
    """Whatever the latest hook of the process was about."""
    processes.register(NEAR, {**HERE, "client": "claude", "native_id": "latest"})
    processes.record_call("toolu_1", {**HERE, "client": "claude", "native_id": "n-1"})
    callers = Callers(ancestors=[NEAR])

    def identify(call_id: object) -> str | None:
        meta = {"claudecode/toolUseId": call_id}
        return callers.identify("claude-code", settings=settings, meta=meta).native_id

    assert [identify("toolu_1"), identify("toolu_2"), identify(5)] == ["n-1", "latest", "latest"]


def test_any_number_of_introductions_is_remembered_within_bounds():
    callers = Callers()

    for number in range(1000):
        assert callers.identify(f"agent {number}").client == f"agent {number}"

    assert len(callers._known) <= 100


async def test_a_session_that_is_named_is_meant_by_id_or_by_name(sessions: SessionService):
    """For any caller, from any place."""
    session = await sessions.create_session("debug", "u1", name="login")
    await sessions.create_session("debug", "u1", client="a", worktree="/w")
    caller = Caller("a", "n-1", "/w")

    assert (await find_session(scope_of(sessions), session.id, caller)).session == session
    assert (await find_session(scope_of(sessions), "login", caller)).session == session
    with pytest.raises(SessionNotFoundError):
        await find_session(scope_of(sessions), "logout", caller)


async def test_a_native_id_decides_alone(sessions: SessionService):
    """A new one finds nothing, though a neighbour's session is open in the same worktree."""
    mine = await sessions.create_session(
        "a", "u1", client="a", native_id="n-1", worktree="/elsewhere"
    )
    await sessions.create_session("a", "u1", client="a", worktree="/w")

    assert (await find_session(scope_of(sessions), None, Caller("a", "n-1", "/w"))).session == mine
    assert (await find_session(scope_of(sessions), None, Caller("a", "n-2", "/w"))).session is None
    assert (await find_session(scope_of(sessions), None, Caller("b", "n-1", "/w"))).session is None


async def test_a_server_means_what_it_has_opened_and_no_neighbour(
    sessions: SessionService, settings: Settings
):
    """Until that has ended; and what it has opened is never another server's."""
    mine = await sessions.create_session("a", "u1", client="a", worktree="/w")
    await sessions.create_session("a", "u1", client="a", worktree="/w")
    own, other = OwnSessions(), OwnSessions()
    own.bind(mine, settings, is_opened=True)

    async def find(of: OwnSessions | None) -> Session | None:
        choice = await find_session(scope_of(sessions), None, Caller("a", None, "/w", of))
        return choice.session

    assert [await find(own), await find(other), await find(None)] == [mine, None, None]
    await sessions.end_session(mine.id)
    assert await find(own) is None


async def test_a_native_id_comes_before_what_the_server_has_opened(
    sessions: SessionService, settings: Settings
):
    opened = await sessions.create_session("a", "u1", client="a", worktree="/w")
    native = await sessions.create_session("a", "u1", client="a", native_id="n-1")
    own = OwnSessions()
    own.bind(opened, settings, is_opened=True)

    choice = await find_session(scope_of(sessions), None, Caller("a", "n-1", "/w", own))

    assert choice.session == native


async def test_a_read_without_a_session_is_of_the_newest_in_the_worktree(
    sessions: SessionService,
):
    """And says so; a session of another worktree is never read."""
    await sessions.create_session("b", "u1", client="b", worktree="/w")
    newest = await sessions.create_session("b", "u1", client="b", native_id="n", worktree="/w")
    await sessions.end_session(newest.id)

    async def read(caller: Caller) -> tuple[str | None, bool]:
        choice = await find_session_to_read(scope_of(sessions), None, caller)
        return choice.session_id, choice.is_borrowed

    assert await read(Caller("a", "n-1", "/w", OwnSessions())) == (newest.id, True)
    assert await read(Caller("a", None, "/w", OwnSessions())) == (newest.id, True)
    assert await read(Caller("b", "n", "/w", OwnSessions())) == (newest.id, True)
    assert await read(Caller("a", None, "/v", OwnSessions())) == (None, False)
    assert await read(Caller("a")) == (None, False)


async def test_a_person_means_the_newest_session_of_the_worktree(sessions: SessionService):
    """To write, the newest open one; a note says which where there are several."""
    older = await sessions.create_session("a", "u1", client="a", worktree="/w")
    opened = await sessions.create_session("b", "u1", client="b", worktree="/w")
    ended = await sessions.create_session("c", "u1", client="c", worktree="/w")
    await sessions.end_session(ended.id)
    person = Caller(worktree="/w", is_person=True)

    written = await find_session(scope_of(sessions), None, person)
    read = await find_session_to_read(scope_of(sessions), None, person)

    assert (written.session, read.session_id) == (opened, ended.id)
    assert written.describe("Name another") == (
        f"Several sessions are open here; the newest is used: {opened.id}. Name another.",
    )
    assert read.describe("Name another") == (
        (
            "Several sessions of this working tree are known; the newest is used: "
            f"{ended.id}. Name another."
        ),
    )
    await sessions.end_session(older.id)
    assert (await find_session(scope_of(sessions), None, person)).describe("Name another") == ()


async def test_the_latest_session_is_one_that_says_something(sessions: SessionService):
    """A client's own session, just begun by its hooks, is not what a user wants to continue."""
    previous = await sessions.create_session("a", "u1", worktree="/w")
    await sessions.set_relevant_context(previous.id, "files", ["/r/a"])
    await sessions.end_session(previous.id)
    own = await sessions.create_session("a", "u1", client="a", native_id="n-1", worktree="/w")
    await sessions.append_event(own.id, "user_message", "user", "/workspace-resume")
    caller = Caller("a", "n-1", "/w")

    found = await find_latest(scope_of(sessions), caller)
    assert found is not None
    assert found.id == previous.id
    assert await find_latest(scope_of(sessions), Caller("a", "n-1", "/v")) is None


async def test_a_session_is_found_behind_any_number_of_other_sessions(sessions: SessionService):
    """What is looked for is older than 300 sessions of others, elsewhere, ended, or
    without a word.
    """
    mine = await sessions.create_session("a", "u1", client="a")
    previous = await sessions.create_session(
        "a", "u1", client="a", native_id="n-0", worktree="/w", name="Old one"
    )
    await sessions.append_event(previous.id, "user_message", "user", "hello")
    for number in range(100):
        await sessions.create_session("b", "u1", client="b", name=f"b {number}")
        await sessions.create_session(
            "a", "u1", client="a", native_id=f"n-{number + 1}", worktree="/w"
        )
        ended = await sessions.create_session("a", "u1", client="a")
        await sessions.append_event(ended.id, "user_message", "user", "hello")
        await sessions.end_session(ended.id)

    found = await find_latest(scope_of(sessions), Caller("b", None, "/w"))
    assert found is not None
    assert found.id == previous.id
    assert await find_latest(scope_of(sessions), Caller("a", "n-0", "/w")) is None
    await sessions.update_metadata(mine.id, {"envHint": "staging"})
    found = await find_latest(scope_of(sessions), Caller("a"))
    assert found is not None
    assert found.id == ended.id, "the one written last, anywhere"
    found = await sessions.find_session_with_context()
    assert found is not None
    assert found.id == mine.id
    assert await sessions.list_names("OLD") == ["Old one"]


# --- writing in the session that is meant ---------------------------------------------------------


async def get_id(scope: Scope, session: Session) -> str:
    return session.id


async def test_a_write_starts_a_missing_session_under_a_lock_and_the_next_finds_it(
    sessions: SessionService, settings: Settings
):
    lock, was_locked, own = asyncio.Lock(), [], OwnSessions()

    async def verb(scope: Scope, session: Session) -> str:
        was_locked.append(lock.locked())
        return session.id

    async def write() -> Any:
        return await write_in_session(
            scope_of(sessions),
            Request("note"),
            verb,
            session_id=None,
            caller=Caller("codex", None, "/w", own, is_of_server=True),
            settings=settings,
            starting=lock,
        )

    (first, before), (again, after) = await write(), await write()

    assert was_locked == [True, False]
    assert (before.session, after.session.id) == (None, first.result)
    assert again.result == first.result
    session = await sessions.get_session(first.result)
    assert (session.client, session.chatmode, session.user_id) == ("codex", "codex", "ana")
    assert session.worktree == "/w"
    assert own.opened == [session.id]


async def test_a_session_that_another_call_starts_meanwhile_is_used(
    sessions: SessionService, settings: Settings
):
    caller = Caller("codex", "c-1", "/w", OwnSessions())
    others = []

    @asynccontextmanager
    async def starting() -> AsyncIterator[None]:
        others.append(await start_session(scope_of(sessions), caller, "u1"))
        yield

    done, _ = await write_in_session(
        scope_of(sessions),
        Request("note"),
        get_id,
        session_id=None,
        caller=caller,
        settings=settings,
        starting=starting(),
    )

    assert [session.id for session in others] == [done.result]


async def test_a_session_that_hooks_know_does_not_end_with_the_server(
    sessions: SessionService, settings: Settings
):
    """The server may be the first to write to it, but its client ends it."""
    own = OwnSessions()

    async def write(caller: Caller) -> str:
        done, _ = await write_in_session(
            scope_of(sessions),
            Request("note"),
            get_id,
            session_id=None,
            caller=caller,
            settings=settings,
        )
        return done.result

    await write(Caller("claude", "n-1", "/w", own))
    assert own.opened == []
    unknown_to_hooks = await write(Caller("claude", "n-2", "/w", own, is_of_server=True))
    assert own.opened == [unknown_to_hooks]


async def test_a_person_starts_a_session_of_the_command_line(
    sessions: SessionService, settings: Settings
):
    done, _ = await write_in_session(
        scope_of(sessions),
        Request("note"),
        get_id,
        session_id=None,
        caller=Caller(worktree="/w", is_person=True),
        settings=settings,
    )

    assert (await sessions.get_session(done.result)).client == "cli"


async def test_a_write_of_a_caller_without_any_session_is_refused(
    sessions: SessionService, settings: Settings
):
    """As over HTTP, where no process and no connection says whose it is."""
    with pytest.raises(SessionNotNamedError):
        await write_in_session(
            scope_of(sessions),
            Request("note"),
            get_id,
            session_id=None,
            caller=Caller("codex"),
            settings=settings,
        )

    assert await sessions.list_sessions() == []
