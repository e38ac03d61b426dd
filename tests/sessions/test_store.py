"""What only the hook and the accounts ask for, and the tables with the seed's columns."""

import apsw

from holdfast import SessionService, open_database
from holdfast.sessions.store import QUERIES
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
    assert tuple(await sessions.store.count_events()) == (0, 0, 0)
    for number in range(3):
        s = await sessions.create_session("architect", "u1")
        for _ in range(number):
            event = await sessions.append_event(s.id, "user_message", "user", "hi")
    await sessions.forget_events([event.id])

    assert tuple(await sessions.store.count_events()) == (3, 3, 3)


async def test_the_ends_of_the_logs_are_counted_without_their_rows(sessions):
    """The same as all rows, where nothing is missing; one's own only."""
    assert tuple(await sessions.store.count_ends()) == (0, 0, 0)
    for number in range(3):
        s = await sessions.create_session("architect", "u1")
        for _ in range(number):
            await sessions.append_event(s.id, "user_message", "user", "hi")

    assert (
        tuple(await sessions.store.count_ends())
        == tuple(await sessions.store.count_events())
        == (3, 3, 3)
    )


async def test_counting_the_ends_costs_the_same_for_longer_logs(tmp_path):
    """By SQLite's own count of steps; on the other engine it is the same look into
    the same index.
    """
    path = str(tmp_path / "test.db")
    async with open_database(f"sqlite:///{path}") as database:
        sessions = SessionService(database)
        s = await sessions.create_session("architect", "u1")
        steps = []
        for _ in range(2):
            event = {"type": "user_message", "role": "user", "content": "hi"}
            await sessions.append_events(s.id, [event] * 500)
            steps.append(steps_of(path, QUERIES["count_ends"].statements[0], sessions.store.owner))

        assert await sessions.store.count_ends() == (1000, 1000, 1)
    assert steps[0] == steps[1]


def steps_of(path, statement, owner):
    counted = []
    connection = apsw.Connection(path)
    connection.set_progress_handler(lambda: counted.append(1) or False, 1)
    connection.execute(statement, owner).fetchall()
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
