"""Every kind of write, with what is there before and after it, so that states
between the two are detected.
"""

import os
import shutil
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw

import holdfast
from holdfast.ground.ids import named_id
from holdfast.sessions.service import SessionService
from holdfast.storage import migrate
from holdfast.storage.database import drive
from tests.faults.audit import OWNER

OLD_IDS = [named_id("old event", str(number)) for number in range(5)]
NEW_IDS = [named_id("new event", str(number)) for number in range(3)]
LONG = "y" * 20_000

Verb = Callable[[SessionService, str], Coroutine[Any, Any, object]]


@dataclass(frozen=True)
class Operation:
    """What is done, how to see it, and what is seen before and after."""

    do: Verb
    see: Verb
    old: object
    new: object


async def create(sessions: SessionService, session_id: str) -> None:
    await sessions.create_session("tester", "u1", client="editor", native_id="n1")


async def see_sessions(sessions: SessionService, session_id: str) -> list[str]:
    """Newest first, of this user; a session without its scratchpad would raise."""
    found = [session for session in await sessions.list_sessions() if session.user_id == "u1"]
    for session in found:
        await sessions.get_state(session.id)
    return [session.chatmode for session in found]


async def append_one(sessions: SessionService, session_id: str) -> None:
    await sessions.append_event(session_id, "user_message", "user", "new", event_id=NEW_IDS[0])


async def append_several(sessions: SessionService, session_id: str) -> None:
    events = [
        {"type": "tool_result", "role": "tool", "content": LONG, "event_id": event_id}
        for event_id in NEW_IDS
    ]
    await sessions.append_events(session_id, events)


async def see_events(sessions: SessionService, session_id: str) -> list[str]:
    return [event.id async for event in sessions.read_events(session_id)]


async def update_state(sessions: SessionService, session_id: str) -> None:
    await sessions.update_state(session_id, {"task": None, "next": LONG})


async def see_state(sessions: SessionService, session_id: str) -> dict[str, Any]:
    return (await sessions.get_state(session_id)).scratchpad


async def set_context(sessions: SessionService, session_id: str) -> None:
    await sessions.set_relevant_context(session_id, "files", ["/r/new"], mode="merge")


async def see_context(sessions: SessionService, session_id: str) -> object:
    """The set, and the last event for listeners about it."""
    connection = sessions.db.connection  # type: ignore[attr-defined]
    told = connection.execute(
        "select json_extract(data, '$.context.files') from outbox where topic = "
        "'caco.context' order by id desc limit 1"
    ).get
    return await sessions.get_relevant_context(session_id, "files"), told


async def end(sessions: SessionService, session_id: str) -> None:
    await sessions.end_session(session_id)


async def see_end(sessions: SessionService, session_id: str) -> object:
    connection = sessions.db.connection  # type: ignore[attr-defined]
    told = connection.execute("select count(*) from outbox where topic = 'session.ended'").get
    return (await sessions.get_session(session_id)).ended_at is not None, told


async def forget(sessions: SessionService, session_id: str) -> None:
    await sessions.forget_events(OLD_IDS[1:3])


async def see_contents(sessions: SessionService, session_id: str) -> list[str]:
    return [event.content async for event in sessions.read_events(session_id)]


async def nothing(sessions: SessionService, session_id: str = "") -> None:
    """To open is enough."""


OPERATIONS = {
    "create": Operation(create, see_sessions, ["coder"], ["tester", "coder"]),
    "append one": Operation(append_one, see_events, OLD_IDS, [*OLD_IDS, NEW_IDS[0]]),
    "append several": Operation(append_several, see_events, OLD_IDS, [*OLD_IDS, *NEW_IDS]),
    "update state": Operation(update_state, see_state, {"task": "old"}, {"next": LONG}),
    "set context": Operation(
        set_context,
        see_context,
        ({"files": ["/r/old"]}, '["/r/old"]'),
        ({"files": ["/r/old", "/r/new"]}, '["/r/old","/r/new"]'),
    ),
    "end": Operation(end, see_end, (False, 0), (True, 1)),
    "forget": Operation(forget, see_contents, ["0", "1", "2", "3", "4"], ["0", "", "", "3", "4"]),
}


def prepare(folder: Path) -> str:
    """A store with a little of everything; answers with its session."""
    return with_store(folder, fill)


async def fill(sessions: SessionService) -> str:
    session = await sessions.create_session("coder", "u1")
    for number, event_id in enumerate(OLD_IDS):
        await sessions.append_event(
            session.id, "user_message", "user", str(number), event_id=event_id
        )
    await sessions.update_state(session.id, {"task": "old"})
    await sessions.set_relevant_context(session.id, "files", ["/r/old"])
    return session.id


def with_store(folder: Path, verb: Callable[[SessionService], Coroutine[Any, Any, Any]]) -> Any:
    """As a command does it: without a loop."""

    async def work() -> Any:
        async with holdfast.open_database(f"sqlite:///{folder / 'test.db'}") as database:
            return await verb(SessionService(database, owner=OWNER))

    return drive(work())


def prepare_older(folder: Path) -> None:
    """A store of this version, with one row."""
    folder.mkdir()
    with_store(folder, nothing)
    connection = apsw.Connection(os.fspath(folder / "test.db"))
    connection.execute(
        "insert into outbox (workspace_id, developer_id, id, topic, data, created_at)"
        " values ('w', 'd', 1, 'old', '{}', '2026')"
    )
    connection.close()


def prepare_newer_program(folder: Path) -> str:
    """The migrations of a made-up next version: ours and one more."""
    shutil.copytree(migrate.FOLDER, folder)
    notes = "create table notes (note text) strict;\ninsert into notes values ('new');\n"
    (folder / "sqlite" / "9999_notes.sql").write_text(notes)
    return str(folder)


def copy(start: Path, folder: Path) -> Path:
    return Path(shutil.copytree(start, folder))
