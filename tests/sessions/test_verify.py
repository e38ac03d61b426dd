"""Verifying: a change of a stored log without computing its chain anew is detected, and a
clean log is never reported.
"""

import asyncio
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import holdfast
from holdfast.sessions.errors import SessionNotFoundError
from holdfast.sessions.reading import PAGE
from holdfast.storage.errors import StoreDamagedError
from tests.sessions.generated import TEXT
from tests.sessions.tables import nothing_changes
from tests.sessions.tampering import PostgresTampering, SqliteTampering, TamperedLog

pytestmark = pytest.mark.own_database

UNKNOWN = "01890a5d-ac96-774b-bcce-b302099a8057"
EVENTS = 7
ERASED = 3  # its number; what type and role it had is gone with its content

# --- every way to change a log that is tried ------------------------------------------------------

NUMBERS = st.integers(1, EVENTS)
HASHES = st.binary(min_size=32, max_size=32)
MOMENTS = st.datetimes(datetime(1950, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC))
WRITTEN = NUMBERS.filter(lambda number: number != ERASED)
TAMPERINGS = st.one_of(
    st.tuples(st.just("edit"), NUMBERS, st.just("content"), TEXT),
    st.tuples(
        st.just("edit"),
        NUMBERS,
        st.just("parts"),
        st.sampled_from([None, "{}", '{"a":1}', '{"a": 1}', '{"a":2}']),
    ),
    st.tuples(
        st.just("edit"),
        WRITTEN,
        st.just("type"),
        st.sampled_from(["user_message", "tool_call", "system_event"]),
    ),
    st.tuples(
        st.just("edit"),
        WRITTEN,
        st.just("role"),
        st.sampled_from(["user", "assistant", "tool", "system"]),
    ),
    st.tuples(st.just("edit"), NUMBERS, st.just("id"), st.uuids().map(str)),
    st.tuples(st.just("edit"), NUMBERS, st.just("created_at"), MOMENTS),
    st.tuples(
        st.just("edit"),
        NUMBERS,
        st.sampled_from(["content_hash", "chain_hash"]),
        HASHES | st.just(b""),
    ),
    st.tuples(st.just("edit"), WRITTEN, st.just("erased_at"), MOMENTS),
    st.tuples(st.just("edit"), st.just(ERASED), st.just("erased_at"), st.none()),
    st.tuples(st.just("edit"), NUMBERS, st.just("sequence"), st.integers(EVENTS + 1, 2000)),
    st.tuples(st.just("edit"), NUMBERS, st.just("developer_id"), st.just("somebody")),
    st.tuples(st.just("edit"), NUMBERS, st.just("session_id"), st.just(UNKNOWN)),
    st.tuples(st.just("edit_with_its_hash"), WRITTEN, TEXT),
    st.tuples(st.just("erase_without_a_tombstone"), WRITTEN),
    st.tuples(st.just("shift_in_time"), NUMBERS, st.integers(-1, 1)),
    st.tuples(st.just("delete"), NUMBERS),
    st.tuples(st.just("delete_and_close_the_gap"), st.integers(1, EVENTS - 1)),
    st.tuples(st.just("truncate"), NUMBERS),
    st.tuples(st.just("swap"), NUMBERS, NUMBERS),
    st.tuples(st.just("copy"), NUMBERS, st.uuids().map(str), st.integers(EVENTS + 1, 2000)),
    st.tuples(st.just("set_session"), st.just("last_sequence"), st.integers(0, 20)),
    st.tuples(st.just("set_session"), st.just("head_hash"), HASHES),
    st.tuples(st.just("edit_tombstones"), st.none() | HASHES),
)


async def write_log(sessions):
    """Events of several kinds, and one that was forgotten as it should be."""
    s = await sessions.create_session("architect", "u1")
    for number in range(EVENTS):
        event_type = ("user_message", "model_message", "tool_call")[number % 3]
        parts = {"a": 1} if event_type == "tool_call" else None
        event = await sessions.append_event(s.id, event_type, "user", f"event {number}", parts)
        if number + 1 == ERASED:
            await sessions.forget_events([event.id])
    return s


@pytest.fixture
async def tampering(sessions, request):
    """The same database, as its owner."""
    if sessions.db.engine == "sqlite":
        opened = SqliteTampering(sessions.db.path)
    else:
        cluster, name = (
            request.getfixturevalue("postgres"),
            request.getfixturevalue("postgres_database"),
        )
        opened = await PostgresTampering.open(cluster.dsn(name))
    yield opened
    await opened.close()


def test_every_direct_change_of_a_log_is_found_and_a_clean_log_has_no_damage(
    both, scale, postgres, postgres_database
):
    """Tampered with and restored, again and again: damage each time, and none before and after."""

    async def prepare():
        stores = [
            SqliteTampering(both.sqlite.db.path),
            await PostgresTampering.open(postgres.dsn(postgres_database)),
        ]
        return [
            (sessions, TamperedLog(store, (await write_log(sessions)).id))
            for sessions, store in zip(both.services, stores, strict=True)
        ]

    logs = both.run(prepare())
    clean = [both.run(log.rows()) for _, log in logs]

    async def check(sessions, log, rows, tampering):
        await log.store.run("begin")
        verb, *how = tampering
        await getattr(log, verb)(*how)
        await log.store.run("commit")
        changed = await log.rows() != rows
        found = await sessions.verify_session(log.session_id)
        await log.restore(rows)
        assert found.ok != changed
        assert (await sessions.verify_session(log.session_id)).damage == ()

    @settings(max_examples=scale(1000))
    @given(TAMPERINGS)
    def holds(tampering):
        for (sessions, log), rows in zip(logs, clean, strict=True):
            both.run(check(sessions, log, rows, tampering))

    holds()
    for _, log in logs:
        both.run(log.store.close())


async def test_a_clean_session_verifies_from_its_first_event_on(sessions):
    s = await sessions.create_session("architect", "u1")

    empty = await sessions.verify_session(s.id)
    await sessions.append_event(s.id, "user_message", "user", "hi")
    single = await sessions.verify_session(s.id.upper())

    assert (empty.ok, empty.checked, empty.erased, empty.damage) == (True, 0, 0, ())
    assert (single.session_id, single.ok, single.checked) == (s.id, True, 1)


async def test_each_damage_is_named_by_its_number(sessions, tampering):
    s = await write_log(sessions)
    log = TamperedLog(tampering, s.id)
    await log.edit(2, "content", "another word")
    await log.delete(5)

    found = await sessions.verify_session(s.id)

    assert not found.ok
    assert found.damage == (
        "number 2 was edited: its content does not match its hash",
        "number 5 is missing before number 6",
        "number 6 does not follow the one before it",
    )


async def test_an_event_that_was_inserted_after_the_last_one_is_named(sessions, tampering):
    """Not in the chain, not in the count, but a reader would see it."""
    s = await write_log(sessions)
    await TamperedLog(tampering, s.id).copy(1, UNKNOWN, EVENTS + 1)

    found = await sessions.verify_session(s.id)

    assert found.damage == (
        f"number {EVENTS + 1} was not appended: the session counts {EVENTS} events",
    )


async def test_values_that_no_event_ever_had_are_damage_and_not_a_crash(sessions, tampering):
    s = await write_log(sessions)
    log = TamperedLog(tampering, s.id)
    before_1970 = datetime(1960, 1, 1, tzinfo=UTC)
    values = [("created_at", before_1970)]
    if sessions.db.engine == "sqlite":
        values += [("created_at", "yesterday"), ("id", "no uuid"), ("created_at", "")]
    rows = await log.rows()

    for column, value in values:
        await log.edit(4, column, value)
        assert (
            "number 4 does not follow the one before it"
            in (await sessions.verify_session(s.id)).damage
        )
        await log.restore(rows)

    assert (await sessions.verify_session(s.id)).ok


async def test_a_content_that_is_not_utf8_is_reported_as_a_damaged_store(sqlite_url):
    """SQLite keeps any bytes as text when a program writes to the file directly."""
    async with holdfast.open_database(sqlite_url) as database:
        sessions = holdfast.SessionService(database)
        s = await write_log(sessions)
        tampering = SqliteTampering(database.path)
        await tampering.run(
            "update session_events set content = cast(x'ff' as text) where sequence = 4"
        )

        with pytest.raises(StoreDamagedError):
            await sessions.verify_session(s.id)
        await tampering.close()


async def test_a_log_that_was_moved_to_another_session_is_found_out(sessions, tampering):
    s = await write_log(sessions)
    other = await sessions.create_session("architect", "u1")
    head = (await sessions.get_session(s.id)).head_hash
    for number in range(1, EVENTS + 1):
        await TamperedLog(tampering, s.id).edit(number, "session_id", other.id)
    await TamperedLog(tampering, other.id).set_session("last_sequence", EVENTS)
    await TamperedLog(tampering, other.id).set_session("head_hash", bytes.fromhex(head))

    assert len((await sessions.verify_session(other.id)).damage) >= EVENTS
    assert (await sessions.verify_session(s.id)).damage == (
        f"the session counts {EVENTS} events, its last one is number 0",
    )


async def test_a_session_longer_than_a_page_is_walked_to_its_end(sessions, tampering):
    s = await sessions.create_session("architect", "u1")
    message = {"type": "user_message", "role": "user", "content": "x"}
    await sessions.append_events(s.id, [message] * PAGE)
    await sessions.append_events(s.id, [message] * 5)

    clean = await sessions.verify_session(s.id)
    await TamperedLog(tampering, s.id).edit(PAGE + 3, "content", "y")
    edited = await sessions.verify_session(s.id)

    assert (clean.ok, clean.checked) == (True, PAGE + 5)
    assert edited.damage == (f"number {PAGE + 3} was edited: its content does not match its hash",)


async def test_events_appended_during_a_verification_are_not_reported_as_damage(sessions):
    """More comes in than one page holds, between the look at the session and the last of its
    events.
    """
    s = await sessions.create_session("architect", "u1")
    message = {"type": "user_message", "role": "user", "content": "x"}
    await sessions.append_events(s.id, [message] * (PAGE // 2))

    results = await asyncio.gather(
        sessions.verify_session(s.id),
        *(sessions.append_events(s.id, [message] * PAGE) for _ in range(3)),
        sessions.verify_session(s.id),
        sessions.verify_session(s.id),
    )

    for found in (results[0], *results[-2:]):
        assert found.damage == ()
        assert PAGE // 2 <= found.checked <= 3 * PAGE + PAGE // 2
    assert (await sessions.verify_session(s.id)).checked == 3 * PAGE + PAGE // 2


async def test_verifying_changes_nothing(sessions):
    s = await write_log(sessions)

    async with nothing_changes(sessions):
        await sessions.verify_session(s.id)
        for session_id in (UNKNOWN, "nonsense", None):
            with pytest.raises(SessionNotFoundError):
                await sessions.verify_session(session_id)
