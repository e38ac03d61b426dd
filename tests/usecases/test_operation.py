"""Retention: what ended before a date is emptied, for all developers of a workspace."""

import subprocess
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from holdfast.app import App
from holdfast.ground import clock, ids
from holdfast.ground.settings import load_settings, owner_of
from holdfast.scope import Scope
from holdfast.storage.errors import OwnerNeededError
from holdfast.usecases import operation
from tests.rig.commands import Answer, run_process
from tests.rig.restoring import Backups, PostgresBackups, backups, programs

__all__ = ["backups", "programs"]

pytestmark = pytest.mark.own_database

SECRET = "xyzzyplugh"
MINUTE = timedelta(minutes=1)
INVALID = 2
REFUSED = r"append-only|keep|only|policy"


@pytest.fixture
def owner_url(database_url: str, request: pytest.FixtureRequest) -> str:
    """Who may prune: on PostgreSQL the owner of the tables."""
    if database_url.startswith("sqlite"):
        return database_url
    url: str = request.getfixturevalue("postgres_owner_url")
    return url


@pytest.fixture
async def app(owner_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[App]:
    monkeypatch.setenv("HOLDFAST_DATABASE", owner_url)
    async with App(load_settings()) as opened:
        yield opened


@dataclass
class Filled:
    ended: str  # a session
    open: str
    context: str


async def fill(app: App, handle: str, *, visibility: str = "public") -> Filled:
    """Whatever has words, ended and not."""
    scope = Scope(app.database, owner_of("local", handle))
    await scope.team.enter(visibility)
    ids = []
    for number in range(2):
        session = await scope.sessions.create_session("architect", "u1", name=f"{SECRET} session")
        await scope.sessions.append_event(
            session.id, "user_message", "user", f"say {SECRET}", {"told": SECRET}
        )
        await scope.sessions.update_state(session.id, {"note": f"{SECRET} {number}"})
        await scope.sessions.set_relevant_context(session.id, "files", [f"/r/{SECRET}.py"])
        ids.append(session.id)
    await scope.sessions.end_session(ids[0])
    await scope.journal.add("receipt", ["x"], {"text": SECRET})
    context = await scope.team.publish_context(
        title=f"title {SECRET}", summary=f"sum {SECRET}", files_touched=[f"{SECRET}.py"]
    )
    await scope.team.revoke_context(context.id)
    claim = await scope.team.claim([f"{SECRET}/a.py"], f"reason {SECRET}")
    if visibility == "public":
        handoff = await scope.team.handoff(claim.id, note=f"note {SECRET}")
        await scope.team.cancel(handoff.id)
    await scope.team.release(claim.id)
    return Filled(*ids, context.id)


def soon() -> datetime:
    return clock.now() + MINUTE


async def test_contents_of_what_ended_go_and_logs_still_verify(app: App):
    filled = await fill(app, "ana")
    scope = Scope(app.database, owner_of("local", "ana"))
    found = await operation.find_prunable(app, soon())

    done = await operation.prune(app, soon())

    assert done == found == operation.Prunable(1, 1, 1, 1, 1)
    assert await operation.find_prunable(app, soon()) == operation.Prunable()
    events = [event async for event in scope.sessions.read_events(filled.ended)]
    assert [(event.sequence, event.content, event.parts) for event in events] == [(1, "", None)]
    session = await scope.sessions.get_session(filled.ended)
    assert (session.name, dict(session.context)) == (None, {})
    assert (await scope.sessions.get_state(filled.ended)).scratchpad == {}
    for session_id in (filled.ended, filled.open):
        assert (await scope.sessions.verify_session(session_id)).damage == ()
    [context] = await scope.team.list_stored_contexts(10)
    assert (context.id, context.title, context.summary) == (filled.context, "", "")


LEFT = {
    "sqlite": "select paths, branch from presence order by began_at",
    "postgres": "select paths::text, branch from team.presence order by began_at",
}
LAST_SEEN = "update {} set seen_at = '2026-01-01T00:00:00.000000Z'"
SHOWN = {"client": "claude", "repo": "r", "branch": SECRET}


async def test_a_session_that_is_not_shown_any_more_keeps_no_path_and_no_branch(app: App):
    scope = Scope(app.database, owner_of("local", "ana"))
    session = await scope.sessions.create_session("architect", "u1")
    shown = [session.id, ids.new_id(), ids.new_id()]
    for session_id in shown:
        await scope.own_team.show_presence(session_id, [f"{SECRET}.py"], **SHOWN)
    left = []

    await scope.sessions.end_session(session.id)
    left.append(await read_rows(app, LEFT[app.database.engine]))
    await scope.own_team.end_presence(shown[1])
    left.append(await read_rows(app, LEFT[app.database.engine]))
    await scope.own_team.leave()
    left.append(await read_rows(app, LEFT[app.database.engine]))

    assert [rows.count(("[]", None)) for rows in left] == [1, 2, 3]
    await scope.own_team.show_presence(shown[2], ["a.py"], client="claude", repo="r", branch="b")
    assert [claim.paths for claim in await scope.own_team.list_claims()] == [("a.py",)]


async def test_what_has_faded_keeps_none_when_the_next_session_is_shown(app: App):
    """Its program was killed. What others have left is theirs to end."""
    for handle in ("bea", "ana"):
        scope = Scope(app.database, owner_of("local", handle))
        await scope.own_team.show_presence(ids.new_id(), [f"{SECRET}.py"], **SHOWN)
        await change(app, "presence", LAST_SEEN, handle)

    await scope.own_team.show_presence(
        ids.new_id(), ["a.py"], client="claude", repo="r", branch="b"
    )

    rows = await read_rows(app, LEFT[app.database.engine])
    assert [branch for _, branch in rows] == [SECRET, None, "b"]


async def test_what_has_faded_is_pruned(app: App):
    scope = Scope(app.database, owner_of("local", "ana"))
    await scope.own_team.show_presence(ids.new_id(), [f"{SECRET}.py"], **SHOWN)
    live = await operation.find_prunable(app, soon())
    await change(app, "presence", LAST_SEEN)

    done = await operation.prune(app, soon())

    assert (live, done) == (operation.Prunable(), operation.Prunable(presences=1))
    assert await read_rows(app, LEFT[app.database.engine]) == [("[]", None)]


@pytest.mark.parametrize("year", ["0001", "0226", "0999"])
async def test_a_year_below_1000_is_long_ago(year: str, app: App, owner_url: str):
    await fill(app, "ana")
    words = ("admin", "prune", "--before", f"{year}-01-01")

    for word in ("--dry-run", "--yes"):
        done = run_process(*words, word, HOLDFAST_DATABASE=owner_url)
        told = f"Nothing that ended before {year}-01-01T00:00:00 has contents."
        assert (done.code, done.out.strip()) == (0, told)


async def test_what_will_end_is_not_counted(app: App):
    await fill(app, "ana")
    scope = Scope(app.database, owner_of("local", "ana"))
    await scope.team.publish_context(title="t", summary="s")
    await scope.team.claim(["a.py"], "work")
    in_a_year = clock.now() + timedelta(days=365)

    found = await operation.find_prunable(app, in_a_year)

    assert found == await operation.prune(app, in_a_year) == operation.Prunable(1, 1, 1, 1, 1)


async def test_what_is_open_or_ended_later_stays(app: App):
    before = clock.now()
    filled = await fill(app, "ana")
    scope = Scope(app.database, owner_of("local", "ana"))

    assert await operation.find_prunable(app, before) == operation.Prunable()
    assert await operation.prune(app, before) == operation.Prunable()
    await operation.prune(app, soon())

    state = await scope.sessions.get_state(filled.open)
    events = [event async for event in scope.sessions.read_events(filled.open)]
    assert state.scratchpad == {"note": f"{SECRET} 1"}
    assert events[0].content == f"say {SECRET}"


async def test_private_developers_are_pruned_too(app: App):
    await fill(app, "ana")
    filled = await fill(app, "bea", visibility="private")
    bea = Scope(app.database, owner_of("local", "bea"))

    done = await operation.prune(app, soon())

    assert (done.sessions, done.contexts, done.claims) == (2, 2, 2)
    events = [event async for event in bea.sessions.read_events(filled.ended)]
    assert events[0].content == ""


async def test_a_handoff_to_a_developer_who_is_private_by_now_is_pruned(app: App):
    """It is hidden from its giver."""
    giver = Scope(app.database, owner_of("local", "ana"))
    taker = Scope(app.database, owner_of("local", "bea"))
    await taker.team.enter("public")
    claim = await giver.team.claim(["a.py"], "work")
    handoff = await giver.team.handoff(claim.id, to="bea", note=SECRET)
    await giver.team.cancel(handoff.id)
    await taker.team.set_visibility("private")

    assert (await operation.prune(app, soon())).handoffs == 1


async def test_another_workspace_is_left_alone(app: App, owner_url: str):
    await fill(app, "ana")
    app.settings.workspace = "other"

    assert await operation.prune(app, soon()) == operation.Prunable()


async def test_each_pruning_has_an_audit_row(app: App):
    await fill(app, "ana")
    await operation.prune(app, soon())
    await operation.prune(app, soon())

    table = "prunings" if app.database.engine == "sqlite" else "holdfast.prunings"
    rows = await read_rows(app, f"select developer_id, found from {table}")

    [(developer_id, found)] = rows
    assert developer_id == owner_of("local", "ana").developer_id
    assert '"sessions": 1' in found


async def read_rows(app: App, sql: str) -> list[tuple[Any, ...]]:
    if app.database.engine == "sqlite":
        connection: Any = app.database.connection  # type: ignore[attr-defined]
        return list(connection.execute(sql))
    pool: Any = app.database.pool  # type: ignore[attr-defined]
    owner = owner_of("local", "ana")
    async with pool.acquire() as connection, connection.transaction():
        await connection.execute("select holdfast.act_for('local', $1)", owner.developer_id)
        return [tuple(row) for row in await connection.fetch(sql)]


async def test_only_the_owner_of_the_tables_prunes(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HOLDFAST_DATABASE", postgres_url)
    async with App(load_settings()) as app:
        with pytest.raises(OwnerNeededError):
            await operation.prune(app, soon())


# --- the walls ------------------------------------------------------------------------------------

EMPTY_CONTEXT = """
update {} set title = '', summary = '', files_touched = '[]', next_actions = '[]',
    blockers = '[]', task_ids = '[]', basis = null, erased_at = {}
"""
EMPTY_CLAIM = "update {} set paths = '[]', reason = '', erased_at = {}"
EMPTY_HANDOFF = "update {} set paths = '[]', reason = '', note = '', erased_at = {}"
EMPTYING = {
    "session_contexts": EMPTY_CONTEXT,
    "reservations": EMPTY_CLAIM,
    "handoffs": EMPTY_HANDOFF,
}


@pytest.mark.parametrize("table", EMPTYING)
async def test_without_an_audit_row_nothing_is_emptied(table: str, app: App):
    await fill(app, "ana")

    with pytest.raises(Exception, match=REFUSED):
        await change(app, table, EMPTYING[table])


@pytest.mark.parametrize("table", EMPTYING)
@pytest.mark.parametrize(
    "more", ["repo = 'other'", "developer_id = 'other'", "expires_at = {moment}"]
)
async def test_with_an_audit_row_nothing_else_changes(table: str, more: str, app: App):
    await fill(app, "ana")
    await allow(app)

    with pytest.raises(Exception, match=REFUSED):
        await change(app, table, f"{EMPTYING[table]}, {more}")


@pytest.mark.parametrize("table", EMPTYING)
async def test_what_has_not_ended_is_not_emptied(table: str, app: App):
    """A published context, a claim and an offer that are active."""
    scope = Scope(app.database, owner_of("local", "ana"))
    await scope.team.enter("public")
    await scope.team.publish_context(title="t", summary="s")
    claim = await scope.team.claim(["a.py"], "work")
    await scope.team.handoff(claim.id)
    await allow(app)

    with pytest.raises(Exception, match=REFUSED):
        await change(app, table, EMPTYING[table])


@pytest.mark.parametrize("table", EMPTYING)
async def test_what_was_emptied_stays_as_it_is(table: str, app: App):
    await fill(app, "ana")
    await operation.prune(app, soon())
    column = "reason" if table != "session_contexts" else "title"

    for changed in ("erased_at = null", f"{column} = 'back'", "erased_at = {moment}"):
        with pytest.raises(Exception, match=REFUSED):
            await change(app, table, "update {} set " + changed.replace("{moment}", "{}"))


async def allow(app: App) -> None:
    from holdfast.storage.prunings import Prunings

    await Prunings(app.database, owner_of("local", "ana")).keep(clock.now(), {})


async def change(app: App, table: str, statement: str, handle: str = "ana") -> None:
    """As the owner of the tables, in the place of the developer whose row it is."""
    if app.database.engine == "sqlite":
        connection: Any = app.database.connection  # type: ignore[attr-defined]
        moment = f"'{clock.to_text(clock.now())}'"
        connection.execute(statement.replace("{moment}", moment).format(table, moment))
        return
    pool: Any = app.database.pool  # type: ignore[attr-defined]
    owner = owner_of("local", handle)
    async with pool.acquire() as connection, connection.transaction():
        await connection.execute("select holdfast.act_for('local', $1)", owner.developer_id)
        await connection.execute(
            statement.replace("{moment}", "now()").format(f"team.{table}", "now()")
        )


# --- what is left of a text -----------------------------------------------------------------------


async def end_all(app: App, handle: str) -> None:
    scope = Scope(app.database, owner_of("local", handle))
    for session in await scope.sessions.list_sessions():
        if session.ended_at is None:
            await scope.sessions.end_session(session.id)


def read_backup(backups: Backups, folder: Path) -> bytes:
    """A copy that is made now, as bytes that can be searched."""
    file = folder / "backup"
    made = backups.make(file)
    assert made.code == 0, made
    if isinstance(backups, PostgresBackups):
        text = folder / "backup.sql"
        restore = [str(backups.programs / "pg_restore"), f"--file={text}", str(file)]
        subprocess.run(restore, check=True)
        file = text
    return file.read_bytes()


def read_files(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


async def test_a_pruned_text_is_in_no_table_file_or_new_backup(
    app: App, backups: Backups, disk_path: Path, tmp_path: Path
):
    await fill(app, "ana")
    await fill(app, "bea", visibility="private")
    for handle in ("ana", "bea"):
        await end_all(app, handle)
    (disk_path / "before").mkdir()
    assert SECRET.encode() in read_backup(backups, disk_path / "before")

    await operation.prune(app, soon())

    assert SECRET.encode() not in read_backup(backups, disk_path)
    assert SECRET.encode() not in read_files(tmp_path)


async def fill_team(scope: Scope) -> None:
    await scope.own_team.publish_context(title=SECRET, summary="s", files_touched=[f"{SECRET}.py"])
    claim = await scope.own_team.claim([f"{SECRET}.py"], "work")
    await scope.own_team.handoff(claim.id, note=SECRET)
    await scope.own_team.show_presence(ids.new_id(), [f"{SECRET}.py"], **SHOWN)


async def test_a_forgotten_text_is_in_no_table_file_or_new_backup(
    app: App, owner_url: str, backups: Backups, disk_path: Path, tmp_path: Path
):
    scope = app.scope
    session = await scope.sessions.create_session("architect", "u1", name=f"{SECRET} session")
    await scope.sessions.append_event(session.id, "user_message", "user", f"say {SECRET}")
    await scope.sessions.update_state(session.id, {"note": SECRET, f"{SECRET}-open": 1})
    await scope.sessions.update_state(session.id, {f"{SECRET}-open": None})
    await scope.memories.remember(f"remember {SECRET}")
    await scope.journal.add("receipt", ["x"], {"text": SECRET})
    await fill_team(scope)

    done = run_process("forget", "--match", SECRET, "--yes", HOLDFAST_DATABASE=owner_url)

    assert done.code == 0, done
    assert SECRET.encode() not in read_backup(backups, disk_path)
    assert SECRET.encode() not in read_files(tmp_path)


# --- the command ----------------------------------------------------------------------------------


async def test_the_command_asks_counts_and_erases(app: App, owner_url: str):
    await fill(app, "ana")
    day = f"{soon():%Y-%m-%dT%H:%M:%S}"

    def call(*words: str) -> Answer:
        return run_process("admin", "prune", "--before", day, *words, HOLDFAST_DATABASE=owner_url)

    counts = {"sessions": 1, "receipts": 1, "contexts": 1, "claims": 1, "handoffs": 1}
    counts["presences"] = 0
    looked = call("--dry-run", "--json").document
    asked = call()
    erased = call("--yes", "--json").document
    again = call("--yes")

    assert looked == erased | {"dry_run": True}
    assert counts.items() <= looked.items()
    assert (asked.code, "--yes" in asked.err) == (1, True)
    assert again.out.startswith("Nothing that ended before ")


@pytest.mark.parametrize("day", ["", "yesterday", "2026-13-01", "2026-01-01 or 1=1"])
def test_a_date_that_is_none_is_refused(day: str):
    assert run_process("admin", "prune", "--before", day, "--yes").code == INVALID
