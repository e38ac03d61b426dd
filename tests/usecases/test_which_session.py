"""CONTRACT's rule, case by case: who calls, and which session that means."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from holdfast.scope import Scope
from holdfast.sessions.errors import SessionNotFoundError
from holdfast.sessions.model import Session
from holdfast.sessions.service import SessionService
from holdfast.usecases.which_session import (
    Caller,
    as_label,
    find_client_name,
    find_latest,
    find_session,
    identify_caller,
    start_session,
    write_in_session,
)
from holdfast.write import Request


def scope_of(sessions: SessionService) -> Scope:
    return Scope(sessions.db, sessions.owner)


CODEX = {"x-codex-turn-metadata": {"session_id": "c-1", "thread_id": "c-1", "turn_id": "t-1"}}


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
    caller = identify_caller("claude-code", environment={"CLAUDE_CODE_SESSION_ID": "n-1"})

    assert caller.to_list() == ["claude", "n-1", None]


def test_a_native_id_comes_from_what_codex_adds_to_a_call():
    assert identify_caller("codex-mcp-client", meta=CODEX).to_list() == ["codex", "c-1", None]


@pytest.mark.parametrize("turn", [None, 5, "{}", [], {}, {"session_id": 5}, {"session_id": ""}])
def test_invalid_turn_metadata_gives_no_native_id(turn: Any):
    assert (
        identify_caller("codex-mcp-client", meta={"x-codex-turn-metadata": turn}).native_id is None
    )


@pytest.mark.parametrize("name", ["codex-mcp-client", "gemini-cli-mcp-client", "opencode"])
def test_another_client_inside_claudes_shell_is_not_claude(name: str, tmp_path: Path):
    """It inherits the environment; its calls are its own."""
    env = {"CLAUDE_CODE_SESSION_ID": "n-1", "CLAUDE_PROJECT_DIR": "/elsewhere"}

    caller = identify_caller(name, environment=env, folder=str(tmp_path))

    assert caller.to_list() == [find_client_name(name), None, str(tmp_path)]


def test_a_worktree_is_the_project_that_claude_names(tmp_path: Path):
    """Else the folder that the process was started in, up to where git begins."""
    inner = tmp_path / "project" / "src"
    inner.mkdir(parents=True)
    (tmp_path / "project" / ".git").mkdir()

    named = identify_caller(
        "claude-code", environment={"CLAUDE_PROJECT_DIR": str(inner)}, folder="/"
    )

    assert named.worktree == str(tmp_path / "project")
    assert identify_caller("x", folder=str(inner)).worktree == str(tmp_path / "project")


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


async def test_the_clients_own_session_comes_before_a_newer_one_of_another(
    sessions: SessionService,
):
    """Then that of any client in this worktree, and never one of another worktree or one that has
    ended.
    """
    mine = await sessions.create_session("a", "u1", client="a", worktree="/w")
    theirs = await sessions.create_session("b", "u1", client="b", worktree="/w")
    ended = await sessions.create_session("c", "u1", client="c", worktree="/w")
    await sessions.end_session(ended.id)

    assert (await find_session(scope_of(sessions), None, Caller("a", None, "/w"))).session == mine
    assert (await find_session(scope_of(sessions), None, Caller("c", None, "/w"))).session == theirs
    assert (
        await find_session(scope_of(sessions), None, Caller(None, None, "/w"))
    ).session == theirs
    assert (await find_session(scope_of(sessions), None, Caller("a", None, "/v"))).session is None


async def test_several_matching_sessions_give_a_warning(sessions: SessionService):
    await sessions.create_session("a", "u1", client="a", worktree="/w")
    newest = await sessions.create_session("a", "u1", client="a", worktree="/w")

    choice = await find_session(scope_of(sessions), None, Caller("a", None, "/w"))

    assert choice.session == newest
    assert choice.describe("Name another with session_id") == (
        (
            f"Several sessions are open here; the newest is used: {newest.id}. Name another "
            "with session_id."
        ),
    )


async def test_without_a_worktree_only_the_clients_own_session_is_meant(sessions: SessionService):
    """As on a server, where the folder of a user is unknown."""
    mine = await sessions.create_session("a", "u1", client="a")
    await sessions.create_session("a", "u1", client="a", worktree="/w")
    await sessions.create_session("a", "u1", client="a", native_id="n-1")
    await sessions.create_session("b", "u1", client="b")

    assert (await find_session(scope_of(sessions), None, Caller("a"))).session == mine
    assert (await find_session(scope_of(sessions), None, Caller("c"))).session is None
    assert (await find_session(scope_of(sessions), None, Caller())).session is None


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

    assert (await find_session(scope_of(sessions), None, Caller("a"))).session == mine
    found = await find_latest(scope_of(sessions), Caller("b", None, "/w"))
    assert found is not None
    assert found.id == previous.id
    assert await find_latest(scope_of(sessions), Caller("a", "n-0", "/w")) is None
    await sessions.update_metadata(mine.id, {"envHint": "staging"})
    found = await find_latest(scope_of(sessions), Caller("a"))
    assert found is not None
    assert found.id == mine.id
    assert await sessions.list_names("OLD") == ["Old one"]


# --- writing in the session that is meant ---------------------------------------------------------


async def get_id(scope: Scope, session: Session) -> str:
    return session.id


async def test_a_write_starts_a_missing_session_under_a_lock_and_the_next_finds_it(
    sessions: SessionService,
):
    lock, was_locked = asyncio.Lock(), []

    async def verb(scope: Scope, session: Session) -> str:
        was_locked.append(lock.locked())
        return session.id

    async def write() -> Any:
        return await write_in_session(
            scope_of(sessions),
            Request("note"),
            verb,
            session_id=None,
            caller=Caller("codex", None, "/w"),
            user_id="u1",
            starting=lock,
        )

    (first, before), (again, after) = await write(), await write()

    assert was_locked == [True, False]
    assert (before.session, after.session.id) == (None, first.result)
    assert again.result == first.result
    session = await sessions.get_session(first.result)
    assert (session.client, session.chatmode, session.user_id) == ("codex", "codex", "u1")
    assert session.worktree == "/w"


async def test_a_session_that_another_call_starts_meanwhile_is_used(sessions: SessionService):
    caller = Caller("codex", None, "/w")
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
        user_id="u1",
        starting=starting(),
    )

    assert [session.id for session in others] == [done.result]


async def test_a_caller_without_a_client_starts_a_session_of_the_command_line(
    sessions: SessionService,
):
    done, _ = await write_in_session(
        scope_of(sessions),
        Request("note"),
        get_id,
        session_id=None,
        caller=Caller(),
        user_id="u1",
    )

    assert (await sessions.get_session(done.result)).client == "cli"
