"""Requests that come twice have one effect, whoever else asks at the same time."""

import asyncio

import pytest

import holdfast
from holdfast.errors import InvalidValueError, KeyReusedError
from holdfast.ground.settings import Owner
from holdfast.sessions.errors import EventConflictError, SessionEndedError, SessionNotFoundError
from holdfast.storage.idempotency import Idempotency

ADA, BOB = Owner("local", "ada"), Owner("local", "bob")


def append(session_id, content="hi"):
    async def effect(database):
        service = holdfast.SessionService(database, owner=ADA)
        return (await service.append_event(session_id, "user_message", "user", content)).id

    return effect


@pytest.fixture
def once(database):
    return Idempotency(database, ADA)


@pytest.fixture
def ada(database):
    return holdfast.SessionService(database, owner=ADA)


async def contents(ada, session_id):
    return [event.content async for event in ada.read_events(session_id)]


async def test_a_repeated_request_is_done_once_and_answers_the_same(once, ada):
    s = await ada.create_session("m", "u1")

    first = await once.do_once("append", "k1", {"content": "hi"}, append(s.id))
    again = await once.do_once("append", "k1", {"content": "hi"}, append(s.id))

    assert (first[1], again) == (True, (first[0], False))
    assert await contents(ada, s.id) == ["hi"]


async def test_the_same_key_for_another_request_is_a_conflict(once, ada):
    s = await ada.create_session("m", "u1")
    await once.do_once("append", "k1", {"content": "hi"}, append(s.id))

    with pytest.raises(KeyReusedError, match="was used for another request"):
        await once.do_once("append", "k1", {"content": "bye"}, append(s.id, "bye"))

    assert await contents(ada, s.id) == ["hi"]


async def test_a_key_is_one_developers_and_one_operations(once, ada, database):
    s = await ada.create_session("m", "u1")
    await once.do_once("append", "k1", {"content": "hi"}, append(s.id))

    assert (await once.do_once("other", "k1", {"content": "hi"}, append(s.id)))[1]
    with pytest.raises(SessionNotFoundError):  # nobody else finds the key, nor the session
        await Idempotency(database, BOB).do_once("append", "k1", {"content": "hi"}, foreign(s.id))


def foreign(session_id):
    async def effect(database):
        return (await holdfast.SessionService(database, owner=BOB).get_session(session_id)).id

    return effect


async def test_what_is_refused_leaves_its_key_free(once, ada):
    s = await ada.create_session("m", "u1")
    await ada.end_session(s.id)
    with pytest.raises(SessionEndedError):
        await once.do_once("append", "k1", {"content": "hi"}, append(s.id))
    other = await ada.create_session("m", "u1")

    assert (await once.do_once("append", "k1", {"content": "hi"}, append(other.id)))[1]


async def test_several_events_are_all_or_none_inside_somebody_elses_transaction(once, ada):
    s = await ada.create_session("m", "u1")
    taken = await ada.append_event(s.id, "user_message", "user", "first")

    async def effect(database):
        events = [
            {"type": "user_message", "role": "user", "content": "a"},
            {"type": "user_message", "role": "user", "content": "b", "event_id": taken.id},
        ]
        await holdfast.SessionService(database, owner=ADA).append_events(s.id, events)
        return s.id

    with pytest.raises(EventConflictError, match="is taken"):
        await once.do_once("append", "k1", {}, effect)
    assert await contents(ada, s.id) == ["first"]


async def test_one_key_from_many_at_once_has_one_effect(once, ada):
    s = await ada.create_session("m", "u1")

    answers = await asyncio.gather(
        *(once.do_once("append", f"k{n}", {"n": n}, append(s.id, str(n))) for _ in range(8) for n in range(5))
    )

    assert sorted(await contents(ada, s.id)) == ["0", "1", "2", "3", "4"]
    assert sum(is_first for _, is_first in answers) == 5
    assert len({subject for subject, _ in answers}) == 5


@pytest.mark.parametrize("key", ["", "a\nb", "ü", "x" * 201, None, 7])
async def test_a_key_is_a_short_line_of_ascii(once, key):
    with pytest.raises(InvalidValueError):
        await once.do_once("append", key, {}, append("nobody"))
