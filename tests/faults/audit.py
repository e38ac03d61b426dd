"""What must be true of a store after whatever was done to it."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

import holdfast
from holdfast.ground import settings
from holdfast.sessions.model import Session, SessionEvent
from holdfast.sessions.service import SessionService
from holdfast.storage.outbox import Outbox, OutboxEvent

# Named here and not read from the environment, so that every process of a test is the same person.
OWNER = settings.owner_of("local", "fault-tester")
# More sessions and events than any test makes: the accounts of a program are about the newest.
MANY = 10**9


def with_sessions(url: str, verb: Callable[[SessionService], Coroutine[Any, Any, Any]]) -> Any:
    """Open the store, do one thing with its sessions, and close it."""

    async def work() -> Any:
        async with holdfast.open_database(url) as database:
            return await verb(SessionService(database, owner=OWNER))

    return asyncio.run(work())


def new_session(url: str) -> str:
    """The id of a new session; the store is created when it is missing."""
    session: Session = with_sessions(url, lambda sessions: sessions.create_session("coder", "u1"))
    return session.id


def audit(url: str, session_id: str, acked: Iterable[str] = ()) -> list[SessionEvent]:
    """Answers with what is stored, after everything that can be checked without knowing what was
    done.

    No gap, no number and no id twice, nothing lost that was acknowledged, the chain and the
    accounts fit, and on SQLite the file is whole.
    """
    events: list[SessionEvent] = with_sessions(
        url, lambda sessions: audit_open(sessions, session_id, acked)
    )
    return events


async def audit_open(
    sessions: SessionService, session_id: str, acked: Iterable[str] = ()
) -> list[SessionEvent]:
    """The same, on a store that is open."""
    events = [event async for event in sessions.read_events(session_id)]
    stored = [event.id for event in events]
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))
    assert len(set(stored)) == len(stored)
    assert set(acked) - set(stored) == set()
    verification = await sessions.verify_session(session_id)
    assert verification.damage == ()
    # A server may still commit what a killed client had sent, between our two looks; a file has no
    # such server.
    late = verification.checked - len(events)
    assert late == 0 or (late > 0 and sessions.db.engine == "postgres")
    numbered, rows, *_ = await sessions.store.count_events(MANY, MANY)
    assert numbered == rows
    if sessions.db.engine == "sqlite":
        connection = sessions.db.connection  # type: ignore[attr-defined]
        assert connection.execute("pragma integrity_check").fetchall() == [("ok",)]
        assert connection.execute("pragma foreign_key_check").fetchall() == []
    return events


async def read_outbox(sessions: SessionService) -> list[OutboxEvent]:
    """All events for listeners, from the beginning."""
    outbox, told = Outbox(sessions.db, OWNER), list[OutboxEvent]()
    while events := await outbox.read(told[-1].cursor if told else None, 1_000):
        told += events
    return told
