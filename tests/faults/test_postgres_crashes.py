"""PostgreSQL that crashes, and a network that loses its answers: R10 and R11."""

import asyncio
import random
from collections.abc import Callable
from typing import Any

import pytest

import holdfast
from holdfast.errors import Unavailable
from holdfast.ground.ids import new_id
from holdfast.ground.settings import owner_of
from holdfast.sessions.errors import EventConflictError
from holdfast.sessions.service import SessionService
from tests.faults import writers
from tests.faults.audit import OWNER, audit, audit_open, new_session
from tests.faults.proxy import LossyProxy
from tests.rig import postgres as rig
from tests.rig.nursery import Nursery, hear_as_it_comes, hear_from_all, say_to_all

pytestmark = pytest.mark.own_database

Scale = Callable[[int], int]


def test_no_acknowledged_event_is_lost_when_the_server_crashes(
    nursery: Nursery, own_postgres: rig.Server, own_postgres_url: str, scale: Scale
) -> None:
    """R10: 8 writers that repeat what was not acknowledged, under the same id, while the server is
    killed 20 times.
    """
    crashes, seed = scale(20), random.randrange(1 << 32)
    chance, session_id = random.Random(seed), new_session(own_postgres_url)
    children = [
        nursery.start(writers.append_through_crashes, own_postgres_url, session_id)
        for _ in range(8)
    ]
    acked, failures = list[str](), 0
    for _ in range(crashes):
        for child in children:
            acked += [child.hear() for _ in range(chance.randrange(2, 12))]
        own_postgres.restart(immediate=True)
    say_to_all(children, "stop")

    for _, value in hear_as_it_comes(children):
        if isinstance(value, str):
            acked.append(value)
        else:
            failures += value["failures"]

    assert [child.wait() for child in children] == [0] * 8
    events = audit(own_postgres_url, session_id, acked)
    assert sorted(event.id for event in events) == sorted(acked)
    print(
        f"R10: {crashes} crashes, {len(acked)} acknowledged, {failures} attempts failed, "
        f"seed {seed}"
    )


async def test_a_lost_answer_is_repeated_and_has_one_effect(
    postgres_url: str, scale: Scale
) -> None:
    """R11: the answer to every third statement is lost after its commit; the caller repeats with
    the same id.
    """
    writes, seed = scale(1_000), random.randrange(1 << 32)
    chance = random.Random(seed)
    proxy = LossyProxy(postgres_url, chance)
    async with proxy.listening() as url, holdfast.open_database(url) as database:
        sessions = SessionService(database, owner=OWNER)
        session = await sessions.create_session("coder", "u1")
        proxy.loss, sent, scratchpad = 1 / 3, list[str](), dict[str, int]()
        gate = asyncio.Semaphore(4)

        async def write(number: int) -> None:
            async with gate:
                match chance.randrange(4):
                    case 0:
                        ids = [new_id() for _ in range(chance.randrange(1, 5))]
                        events = [
                            {"type": "user_message", "role": "user", "content": i, "event_id": i}
                            for i in ids
                        ]
                        await repeat(lambda: sessions.append_events(session.id, events))
                        sent.extend(ids)
                    case 1:
                        await repeat(
                            lambda: sessions.update_state(session.id, {f"key {number}": number})
                        )
                        scratchpad[f"key {number}"] = number
                    case 2:
                        create = {"client": "editor", "native_id": str(number)}
                        await repeat(lambda: sessions.create_session("tester", "u1", **create))
                    case _:
                        event_id = new_id()
                        await repeat(
                            lambda: sessions.append_event(
                                session.id, "user_message", "user", "…", event_id=event_id
                            )
                        )
                        sent.append(event_id)

        await asyncio.gather(*(write(number) for number in range(writes)))
        proxy.loss = 0.0

        events = await audit_open(sessions, session.id, sent)
        assert sorted(event.id for event in events) == sorted(sent)
        assert (await sessions.get_state(session.id)).scratchpad == scratchpad
        natives = [
            listed.native_id for listed in await sessions.list_sessions(10_000) if listed.native_id
        ]
        assert len(natives) == len(set(natives))
    print(f"R11: {writes} writes, {proxy.lost} answers lost, seed {seed}")


async def repeat(attempt: Callable[[], Any]) -> Any:
    """What a careful caller does when it cannot know."""
    while True:
        try:
            return await attempt()
        except Unavailable:
            continue


def test_two_processes_that_submit_the_same_event_write_it_once(
    nursery: Nursery, database_url: str, scale: Scale
) -> None:
    """R11: 500 double submits at the same time; both get the same number."""
    count, session_id = scale(500), new_session(database_url)
    ids = [new_id() for _ in range(count)]
    children = [nursery.start(writers.append_ids, database_url, session_id, ids) for _ in range(2)]
    assert hear_from_all(children) == ["open"] * 2
    say_to_all(children)

    first, second = hear_from_all(children)

    assert [child.wait() for child in children] == [0, 0]
    assert (
        first
        == second
        == [[event.id, event.sequence] for event in audit(database_url, session_id, ids)]
    )


async def test_tasks_that_submit_the_same_event_write_it_once(
    sessions_of: Any, scale: Scale
) -> None:
    """R11 in one process, where calls are committed in groups: four tasks, the same ids in another
    order each.
    """
    sessions, count = sessions_of(OWNER), scale(500)
    session = await sessions.create_session("coder", "u1")
    ids = [new_id() for _ in range(count)]

    async def submit(seed: int) -> dict[str, int]:
        mine = random.Random(seed).sample(ids, count)
        append = sessions.append_event
        events = await asyncio.gather(
            *(
                append(session.id, "user_message", "user", event_id, event_id=event_id)
                for event_id in mine
            )
        )
        return {event.id: event.sequence for event in events}

    answers = await asyncio.gather(*(submit(seed) for seed in range(4)))

    stored = {event.id: event.sequence for event in await audit_open(sessions, session.id, ids)}
    assert answers == [stored] * 4


async def test_the_same_event_for_two_sessions_goes_to_one_of_them(
    sessions_of: Any, scale: Scale
) -> None:
    """R11: the second gets an error that the id is taken, however close they are."""
    sessions, count = sessions_of(OWNER), scale(200)
    session, other = [await sessions.create_session("coder", "u1") for _ in range(2)]
    for _ in range(count):
        event_id = new_id()
        outcomes = await asyncio.gather(
            *(
                sessions.append_event(s.id, "user_message", "user", "…", event_id=event_id)
                for s in (session, other)
            ),
            return_exceptions=True,
        )
        assert sorted(type(outcome).__name__ for outcome in outcomes) == [
            "EventConflictError",
            "SessionEvent",
        ]

    stored = await audit_open(sessions, session.id) + await audit_open(sessions, other.id)
    assert len(stored) == count


async def test_an_id_with_other_content_is_a_conflict_and_changes_nothing(sessions_of: Any) -> None:
    """R11: alone, in the middle of several, and at the same time as others."""
    sessions = sessions_of(OWNER)
    session = await sessions.create_session("coder", "u1")
    known = await sessions.append_event(
        session.id, "user_message", "user", "first", event_id=new_id()
    )
    fresh = [
        {"type": "user_message", "role": "user", "content": "fresh", "event_id": new_id()}
        for _ in range(2)
    ]

    with pytest.raises(EventConflictError):
        await sessions.append_event(session.id, "user_message", "user", "second", event_id=known.id)
    with pytest.raises(EventConflictError):
        await sessions.append_events(
            session.id, [fresh[0], {**fresh[1], "event_id": known.id}, fresh[1]]
        )
    outcomes = await asyncio.gather(
        *(
            sessions.append_event(
                session.id,
                "user_message",
                "user",
                f"at once {n}",
                event_id=known.id if n % 2 else None,
            )
            for n in range(10)
        ),
        return_exceptions=True,
    )

    assert [isinstance(outcome, EventConflictError) for outcome in outcomes] == [False, True] * 5
    stored = await audit_open(sessions, session.id)
    assert stored[0].content == "first"
    assert len(stored) == 6


async def test_the_same_id_in_another_workspace_is_another_event(sessions_of: Any) -> None:
    """R11: another developer's key neither answers for ours nor blocks it, and no caller learns of
    the other's.
    """
    ours, theirs = sessions_of(OWNER), sessions_of(owner_of("elsewhere", "fault-tester"))
    event_id, here, there = (
        new_id(),
        await ours.create_session("a", "u1"),
        await theirs.create_session("b", "u1"),
    )

    mine = await ours.append_event(here.id, "user_message", "user", "mine", event_id=event_id)
    other = await theirs.append_event(there.id, "user_message", "user", "theirs", event_id=event_id)
    again = await ours.append_event(here.id, "user_message", "user", "mine", event_id=event_id)

    assert (mine.content, other.content) == ("mine", "theirs")
    assert again == mine
    assert [event.content for event in await audit_open(ours, here.id)] == ["mine"]
    assert [event.content for event in await audit_open(theirs, there.id)] == ["theirs"]


@pytest.fixture
def sessions_of(database: Any) -> Callable[[Any], SessionService]:
    """Sessions as one owner or another, on both engines."""
    return lambda owner: SessionService(database, owner=owner)
