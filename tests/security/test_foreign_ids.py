"""TS4: naming another developer's id reveals nothing and reaches nothing.

Keys, foreign keys and unique indexes are checked by the engine without regard to any policy, so
they are the classic way to find out what exists on the other side of a wall. Here every try is made
twice, with an id that exists over there and with one that exists nowhere, and both must give the
same answer.
"""

import random
import re
from collections.abc import Awaitable, Callable
from typing import Any

import asyncpg
import pytest

import holdfast
from holdfast.errors import HoldfastError
from holdfast.ground import ids
from holdfast.ground.settings import Owner

pytestmark = pytest.mark.own_database

ANA, BO, CY = Owner("north", "ana"), Owner("south", "bo"), Owner("north", "cy")
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
MOMENT = re.compile(r"datetime\.datetime\([^)]*\)")
HASH = re.compile(r"\b[0-9a-f]{64}\b")

Verb = Callable[[holdfast.SessionService, str], Awaitable[object]]

SESSION_VERBS: dict[str, Verb] = {
    "get_session": lambda s, id_: s.get_session(id_),
    "find_session": lambda s, id_: s.find_session(id_),
    "append_event": lambda s, id_: s.append_event(id_, "user_message", "user", "mine"),
    "append_event at": lambda s, id_: s.append_event(
        id_, "user_message", "user", "mine", expected_sequence=2
    ),
    "append_events": lambda s, id_: s.append_events(
        id_, [{"type": "tool_call", "role": "tool", "content": "x"}] * 2
    ),
    "get_recent_events": lambda s, id_: s.get_recent_events(id_),
    "get_recent_events by tokens": lambda s, id_: s.get_recent_events(id_, 5, 1000),
    "get_state": lambda s, id_: s.get_state(id_),
    "update_state": lambda s, id_: s.update_state(id_, {"a": 1}),
    "end_session": lambda s, id_: s.end_session(id_),
    "resume_session": lambda s, id_: s.resume_session(id_),
    "rename_session": lambda s, id_: s.rename_session(id_, "mine"),
    "list_thread": lambda s, id_: s.list_thread(id_),
    "list_related_sessions": lambda s, id_: s.list_related_sessions(id_),
    "list_sessions below": lambda s, id_: s.list_sessions(5, below=id_),
    "set_relevant_context": lambda s, id_: s.set_relevant_context(id_, "files", ["/mine"]),
    "get_relevant_context": lambda s, id_: s.get_relevant_context(id_),
    "get_resume_text": lambda s, id_: s.get_resume_text(id_),
    "verify_session": lambda s, id_: s.verify_session(id_),
    "forget_session": lambda s, id_: s.forget_session(id_),
}
EVENT_VERBS: dict[str, Verb] = {
    "forget_events": lambda s, id_: s.forget_events([id_]),
    "find_events_to_forget": lambda s, id_: s.find_events_to_forget(event_ids=[id_]),
}


async def answer(verb: Verb, service: holdfast.SessionService, id_: str) -> str:
    """What a caller can tell from a call, without the parts that differ from call
    to call anyway.
    """
    try:
        said = repr(await verb(service, id_))
    except HoldfastError as error:
        said = f"{type(error).__name__} {error.code} {error.message} {error.next_actions}"
    return MOMENT.sub("THEN", HASH.sub("HASH", UUID.sub("ID", said)))


async def rows_of(service: holdfast.SessionService) -> list[object]:
    """Everything that a developer has."""
    sessions = await service.list_sessions(1000)
    return [
        (
            session,
            await service.get_state(session.id),
            [event async for event in service.read_events(session.id)],
        )
        for session in sessions
    ]


async def test_a_foreign_id_is_answered_like_one_that_does_not_exist(
    database: Any, scale: Callable[[int], int]
):
    """Every verb, with ids of another workspace and of a colleague, against ids that do not exist;
    and nothing moves.
    """
    people = {
        owner.developer_id: holdfast.SessionService(database, owner=owner)
        for owner in (ANA, BO, CY)
    }
    existing: dict[str, list[str]] = {"session": [], "event": []}
    for name in ("bo", "cy"):
        for n in range(5):
            session = await people[name].create_session(
                "architect", "u1", client="claude", native_id=f"n-{n}"
            )
            event = await people[name].append_event(
                session.id, "user_message", "user", "private words"
            )
            existing["session"].append(session.id)
            existing["event"].append(event.id)
            if n == 4:
                await people[name].end_session(session.id)
    before = [await rows_of(people[name]) for name in ("bo", "cy")]
    dice = random.Random(4)
    verbs = [("session", name, verb) for name, verb in SESSION_VERBS.items()]
    verbs += [("event", name, verb) for name, verb in EVENT_VERBS.items()]

    for number in range(scale(300)):
        kind, name, verb = verbs[number % len(verbs)]
        foreign = await answer(verb, people["ana"], dice.choice(existing[kind]))
        nobodys = await answer(verb, people["ana"], ids.new_id())
        assert foreign == nobodys, name
        assert "private" not in foreign

    assert [await rows_of(people[name]) for name in ("bo", "cy")] == before
    assert await rows_of(people["ana"]) == []


async def test_an_event_id_of_another_workspace_is_free(database: Any):
    """Ids begin with the workspace, so the same one is simply another event here."""
    ana, bo = (holdfast.SessionService(database, owner=owner) for owner in (ANA, BO))
    mine, theirs = await ana.create_session("m", "u1"), await bo.create_session("m", "u1")
    taken = await bo.append_event(theirs.id, "user_message", "user", "theirs")

    event = await ana.append_event(mine.id, "user_message", "user", "mine", event_id=taken.id)

    assert (event.sequence, event.content) == (1, "mine")
    assert [event.content async for event in bo.read_events(theirs.id)] == ["theirs"]


async def test_an_event_id_of_a_colleague_is_a_conflict(database: Any):
    """Within a workspace an id is taken once; the second caller gets an error that does not name
    the first.
    """
    ana, cy = (holdfast.SessionService(database, owner=owner) for owner in (ANA, CY))
    mine, theirs = await ana.create_session("m", "u1"), await cy.create_session("m", "u1")
    taken = await cy.append_event(theirs.id, "user_message", "user", "theirs")

    with pytest.raises(HoldfastError) as refused:
        await ana.append_event(mine.id, "user_message", "user", "theirs", event_id=taken.id)

    assert refused.value.code == "event_conflict"


async def test_a_native_id_belongs_to_one_developer(database: Any):
    """Two people whose clients count alike do not end up in one session."""
    people = [holdfast.SessionService(database, owner=owner) for owner in (ANA, BO, CY)]

    sessions = [
        await person.create_session("m", "u1", client="claude", native_id="n-1")
        for person in people
    ]

    assert len({session.id for session in sessions}) == 3


# --- with SQL -------------------------------------------------------------------------------------

EVENT = """
insert into context.session_events (workspace_id, developer_id, id, session_id, sequence, type,
    role, content,
                                    created_at, content_hash, chain_hash)
values ('north', 'ana', gen_random_uuid(), $1, 1, 'user_message', 'user', '', now(), '', '')
"""
STATE = """
insert into context.session_state (workspace_id, developer_id, session_id, updated_at)
values ('north', 'ana', $1, now())
"""
RESUMED = """
insert into context.sessions (workspace_id, developer_id, id, user_id, chatmode, started_at,
    head_hash, resumed_from)
values ('north', 'ana', gen_random_uuid(), 'u1', 'm', now(), '', $1)
"""
ERASURE = """
insert into context.erasures (workspace_id, developer_id, event_id, session_id, content_hash,
    reason, created_at)
values ('north', 'ana', $1, $1, '', 'x', now())
"""
THERE = """
insert into context.sessions (workspace_id, developer_id, id, user_id, chatmode, started_at,
    head_hash)
values ('south', 'bo', $1, 'u1', 'm', now(), '')
"""


async def refusal(connection: Any, statement: str, id_: str) -> tuple[str, str]:
    """The whole of what PostgreSQL says, without the id itself."""
    try:
        async with connection.transaction():
            await connection.execute("select holdfast.act_for('north', 'ana')")
            await connection.execute(statement, id_)
    except asyncpg.PostgresError as error:
        return type(error).__name__, UUID.sub("ID", f"{error} {error.detail} {error.hint}")
    return "went through", ""


@pytest.mark.parametrize("whose", [BO, CY], ids=["another workspace", "a colleague"])
@pytest.mark.parametrize(
    "table",
    [EVENT, STATE, RESUMED, ERASURE, THERE],
    ids=["event", "state", "resumed", "erasure", "there"],
)
async def test_no_row_refers_across_a_wall(table: str, whose: Owner, postgres_url: str):
    """Keys carry workspace and developer: no reference goes across, and across workspaces an oracle
    is silent.

    Within one workspace a session's numbers are taken once, and the engine says so; but only the
    application sends SQL, and its verbs ask by owner first (see above).
    """
    async with holdfast.open_database(postgres_url) as database:
        service = holdfast.SessionService(database, owner=whose)
        session = await service.create_session("m", "u1")
        event = await service.append_event(session.id, "user_message", "user", "theirs")
    existing = event.id if table == ERASURE else session.id
    connection = await asyncpg.connect(postgres_url)
    try:
        foreign = await refusal(connection, table, existing)
        nobodys = await refusal(connection, table, ids.new_id())
    finally:
        await connection.close()

    assert nobodys[0] in ("ForeignKeyViolationError", "InsufficientPrivilegeError")
    if whose is CY and table in (EVENT, STATE):
        assert foreign[0] == "UniqueViolationError"
    else:
        assert foreign == nobodys
