"""What listeners get: everything after their cursor, in the order of the commits, and nothing of
another owner.
"""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any

import pytest

from holdfast.errors import InvalidValueError
from holdfast.ground.settings import Owner, owner_of
from holdfast.sessions.service import SessionService
from holdfast.storage.outbox import Outbox


@pytest.fixture
def ana(workspace: str) -> Owner:
    return owner_of(workspace, "ana")


@pytest.fixture
def bo(workspace: str) -> Owner:
    return owner_of(workspace, "bo")


@pytest.fixture
def outbox(database: Any, ana: Owner) -> Outbox:
    return Outbox(database, ana)


@pytest.fixture
def sessions_of_ana(database: Any, ana: Owner) -> SessionService:
    return SessionService(database, owner=ana)


async def test_an_empty_outbox_has_an_end(outbox: Outbox):
    assert await outbox.read() == []
    assert await outbox.read(await outbox.end()) == []


async def test_changes_are_read_in_order(outbox: Outbox, sessions_of_ana: SessionService):
    session = await sessions_of_ana.create_session("coder", "u1", name="one")
    await sessions_of_ana.rename_session(session.id, "two")
    await sessions_of_ana.set_relevant_context(session.id, "files", ["a.md"])
    await sessions_of_ana.end_session(session.id)

    events = await outbox.read()

    assert [event.topic for event in events] == [
        "session.started",
        "session.renamed",
        "caco.context",
        "session.ended",
    ]
    assert {event.data["session_id"] for event in events} == {session.id}
    assert events[2].data["addedFile"] == "a.md"
    assert [event.created_at for event in events] == sorted(event.created_at for event in events)
    assert json.loads(json.dumps(events[0].to_dict()))["topic"] == "session.started"


async def test_a_reader_continues_where_it_stopped(outbox: Outbox, sessions_of_ana: SessionService):
    for _ in range(5):
        await sessions_of_ana.create_session("coder", "u1")

    seen, cursor = [], None
    while page := await outbox.read(cursor, limit=2):
        seen += page
        cursor = page[-1].cursor

    assert [event.cursor for event in seen] == [event.cursor for event in await outbox.read()]
    assert len({event.cursor for event in seen}) == 5
    assert cursor == await outbox.end()


async def test_a_reader_that_starts_at_the_end_gets_only_later_changes(
    outbox: Outbox, sessions_of_ana: SessionService
):
    await sessions_of_ana.create_session("coder", "u1")
    end = await outbox.end()
    session = await sessions_of_ana.create_session("coder", "u1")

    assert [event.data["session_id"] for event in await outbox.read(end)] == [session.id]


async def test_changes_of_another_developer_are_not_read(outbox: Outbox, database: Any, bo: Owner):
    await SessionService(database, owner=bo).create_session("coder", "u1")

    assert await outbox.read() == []
    assert await outbox.end() == await Outbox(database, owner_of("other", "ana")).end()


async def test_a_cursor_does_not_show_how_much_others_do(
    outbox: Outbox, sessions_of_ana: SessionService, database: Any, bo: Owner
):
    await SessionService(database, owner=bo).create_session("coder", "u1")
    await sessions_of_ana.create_session("coder", "u1")
    await SessionService(database, owner=bo).create_session("coder", "u1")
    await sessions_of_ana.create_session("coder", "u1")

    cursors = [event.cursor for event in await outbox.read()]

    assert [urlsafe_b64decode(cursor + "==") for cursor in cursors] == [b"o1.1", b"o1.2"]


async def test_events_of_a_forgotten_session_carry_none_of_its_content(
    outbox: Outbox, sessions_of_ana: SessionService
):
    session = await sessions_of_ana.create_session("coder", "u1")
    await sessions_of_ana.set_relevant_context(session.id, "files", ["secret.md"])
    await sessions_of_ana.forget_session(session.id)

    events = await outbox.read()
    assert [event.topic for event in events] == [
        "session.started",
        "caco.context",
        "session.renamed",
    ]
    assert "secret" not in repr(events)


@pytest.mark.parametrize(
    "cursor",
    ["", "0", "o1.1", "!!!", "ü", "x" * 10_000, 7, b"bzEuMQ", ["bzEuMQ"]]
    + [
        urlsafe_b64encode(text.encode()).decode()
        for text in ("o2.1", "o1.", "o1.-1", "o1.1.0", "o1." + "9" * 19, "o1")
    ],
)
async def test_a_cursor_that_was_never_handed_out_is_refused(outbox: Outbox, cursor: Any):
    with pytest.raises(InvalidValueError, match="is not one that this store handed out"):
        await outbox.read(cursor)


async def test_a_cursor_beyond_the_end_is_refused(
    outbox: Outbox, sessions_of_ana: SessionService, database: Any, bo: Owner
):
    """As it is after an older copy of the store came back; a listener with such a cursor would get
    nothing, and not know it.
    """
    await sessions_of_ana.create_session("coder", "u1")
    end = await outbox.end()
    for _ in range(2):
        await SessionService(database, owner=bo).create_session("coder", "u1")
    beyond = await Outbox(database, bo).end()

    assert await outbox.read(end) == []
    with pytest.raises(InvalidValueError, match="is not one that this store handed out"):
        await outbox.read(beyond)


@pytest.mark.parametrize("limit", [0, -1, 10_001])
async def test_a_limit_out_of_range_is_refused(outbox: Outbox, limit: int):
    with pytest.raises(InvalidValueError, match="limit"):
        await outbox.read(limit=limit)
