"""What only the hook and the accounts ask for, and the tables with the seed's columns."""

import apsw
import pytest

from holdfast import SessionService, open_database
from holdfast.sessions.store import QUERIES
from tests.rig.postgres import execute
from tests.sessions.tables import in_schema

SEED_COLUMNS = {
    "sessions": "id user_id chatmode workflow skill git_branch started_at ended_at metadata",
    "session_events": "id session_id sequence type role content parts created_at",
    "session_state": "session_id scratchpad updated_at",
}


async def test_a_session_is_found_by_its_native_id_while_it_is_open(sessions):
    s = await sessions.create_session("codex", "u1", client="codex", native_id="n1")

    assert (await sessions.store.find_native("codex", "n1"))[0] == s.id
    assert await sessions.store.find_native("gemini", "n1") is None
    await sessions.end_session(s.id)
    assert await sessions.store.find_native("codex", "n1") is None


async def test_the_accounts_count_numbers_rows_and_sessions(sessions):
    assert tuple(await sessions.store.count_events(9, 9)) == (0, 0, 0, False)
    for number in range(3):
        s = await sessions.create_session("architect", "u1")
        for _ in range(number):
            event = await sessions.append_event(s.id, "user_message", "user", "hi")
    await sessions.forget_events([event.id])

    assert tuple(await sessions.store.count_events(9, 9)) == (3, 3, 3, False)


async def test_the_accounts_are_about_the_newest_sessions(sessions):
    """And say when there are older ones."""
    for number in (4, 2, 1):
        s = await sessions.create_session("architect", "u1")
        for _ in range(number):
            await sessions.append_event(s.id, "user_message", "user", "hi")

    assert tuple(await sessions.store.count_events(3, 9)) == (7, 7, 3, False)
    assert tuple(await sessions.store.count_events(2, 9)) == (3, 3, 2, True)


@pytest.mark.own_database
@pytest.mark.parametrize(
    ("sequence", "max_rows", "stored"),
    [
        pytest.param(2, 5, 4, id="a hole where rows are counted"),
        pytest.param(3, 5, 4, id="the end where rows are counted"),
        pytest.param(2, 4, 5, id="a hole beyond"),
        pytest.param(3, 4, 4, id="the end beyond"),
    ],
)
async def test_a_lost_event_shows_in_the_accounts(sessions, request, sequence, max_rows, stored):
    """Of the newest rows every one is counted; of the sessions before these, the end of the log."""
    ids = []
    for number in (3, 2):
        s = await sessions.create_session("architect", "u1")
        ids.append(s.id)
        for _ in range(number):
            await sessions.append_event(s.id, "user_message", "user", "hi")

    lose_event(sessions.db, request, ids[0], sequence)

    numbered, found, *_ = await sessions.store.count_events(2, max_rows)
    assert (numbered, found) == (5, stored)


def lose_event(database, request, session_id, sequence):
    lost = f"session_id = '{session_id}' and sequence = {sequence}"
    if database.engine == "sqlite":
        connection = apsw.Connection(database.path)
        connection.execute("drop trigger session_events_are_not_deleted")
        connection.execute(f"delete from session_events where {lost}")
        connection.close()
    else:
        server = request.getfixturevalue("postgres")
        url = server.dsn(request.getfixturevalue("postgres_database"))
        replica = "set session_replication_role = replica"
        execute(url, replica, f"delete from context.session_events where {lost}")


async def test_counting_costs_the_same_for_longer_logs_and_for_more_sessions(tmp_path):
    """By SQLite's own count of steps; the laws of the house count what the other engine reads."""
    path = str(tmp_path / "test.db")
    async with open_database(f"sqlite:///{path}") as database:
        sessions = SessionService(database)
        owner = sessions.store.owner
        steps = []
        for events in (10, 10, 500):
            for _ in range(20):
                s = await sessions.create_session("architect", "u1")
                event = {"type": "user_message", "role": "user", "content": "hi"}
                await sessions.append_events(s.id, [event] * events)
            counting = QUERIES["count_events"].statements[0]
            steps.append(steps_of(path, counting, (*owner, 10, 40)))

        assert tuple(await sessions.store.count_events(10, 40)) == (5000, 5000, 10, True)
    assert steps[0] == steps[1] >= steps[2]


async def test_listing_names_costs_the_same_for_more_sessions(tmp_path):
    """By SQLite's own count of steps; the laws of the house count what the other engine reads."""
    path = str(tmp_path / "test.db")
    listing = QUERIES["session_names"].statements[0]
    steps = []
    async with open_database(f"sqlite:///{path}") as database:
        sessions = SessionService(database)
        for _ in range(3):
            for number in range(40):
                await sessions.create_session("architect", "u1", name=f"work {number % 20:02}")
                await sessions.create_session("architect", "u1")
            steps.append(steps_of(path, listing, (*sessions.store.owner, "WORK 1", 50, 4)))

    assert steps[1] == steps[2]


def steps_of(path, statement, values):
    counted = []
    connection = apsw.Connection(path)
    connection.set_progress_handler(lambda: counted.append(1) or False, 1)
    connection.execute(statement, values).fetchall()
    connection.close()
    return len(counted)


async def test_the_tables_have_the_seed_s_names_and_columns(sessions):
    """A program that was written against the seed reads them as they are."""
    database = sessions.db
    for table, names in SEED_COLUMNS.items():
        if database.engine == "sqlite":
            connection = apsw.Connection(database.path)
            # The extended list: a generated column is a column too.
            columns = {
                row[1] for row in connection.execute(f"select * from pragma_table_xinfo('{table}')")
            }
            connection.close()
        else:
            rows = await database.pool.fetch(
                (
                    "select attname from pg_attribute where attrelid = $1::text::regclass and "
                    "attnum > 0"
                ),
                in_schema(table),
            )
            columns = {row[0] for row in rows}
        assert set(names.split()) <= columns


async def test_the_last_session_of_a_client_s_own_id_is_found_open_or_not(sessions):
    first = await sessions.create_session("claude", "u1", client="claude", native_id="n-1")
    await sessions.end_session(first.id)

    assert await sessions.store.find_last_native_id("claude", "n-1") == first.id
    assert await sessions.store.find_last_native_id("claude", "n-2") is None
