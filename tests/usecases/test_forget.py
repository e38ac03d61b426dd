"""What is erased is erased in every room, and what stays is named."""

from typing import Any

import pytest

from holdfast.ground.settings import Owner
from holdfast.scope import Scope
from holdfast.usecases.forget import Erasable, ToForget, erase, find_erasable

pytestmark = pytest.mark.own_database

SECRET = "key sk-4711"


@pytest.fixture
def scope(database: Any) -> Scope:
    return Scope(database, Owner("local", "ada"))


async def store_everywhere(scope: Scope) -> tuple[str, str, str]:
    """The secret as an event, a memory and a document, each beside a harmless one."""
    session = await scope.sessions.create_session("m", "u1")
    ids = []
    for text in ("harmless", SECRET):
        event = await scope.sessions.append_event(session.id, "user_message", "user", text)
        stored = await scope.memories.remember(text)
        entry = await scope.journal.add("receipt", ["x"], {"text": text})
        ids.append((event.id, stored.memory.id, entry.id))
    return ids[-1]


def list_ids(found: Erasable) -> list[str]:
    documents = [entry_id for entry_id, _ in found.documents]
    return [
        *(event.id for event in found.events),
        *(memory.id for memory in found.memories),
        *documents,
    ]


async def test_entries_are_found_by_their_ids_whatever_they_are(scope: Scope):
    ids = await store_everywhere(scope)

    found = await find_erasable(scope, ToForget(ids=ids))

    assert list_ids(found) == [*ids]
    assert found.documents == ((ids[-1], "receipt"),)


async def test_a_text_is_found_in_every_room(scope: Scope):
    ids = await store_everywhere(scope)

    assert list_ids(await find_erasable(scope, ToForget(match="sk-4711"))) == [*ids]


async def test_what_was_erased_is_not_found_again_and_the_rest_stays(scope: Scope):
    ids = await store_everywhere(scope)
    by_id, by_text = ToForget(ids=ids), ToForget(match="sk-4711")
    found = await find_erasable(scope, by_id)

    assert await erase(scope, by_id, found) == 1

    assert (await find_erasable(scope, ToForget(ids=ids[:2]))).is_empty
    assert (await find_erasable(scope, by_text)).is_empty
    assert len(list_ids(await find_erasable(scope, ToForget(match="harmless")))) == 3


async def test_a_session_is_erased_with_its_scratchpad_and_no_other(scope: Scope):
    kept = await scope.sessions.create_session("m", "u1")
    session = await scope.sessions.create_session("m", "u1", name="secret work")
    for each in (kept, session):
        await scope.sessions.append_event(each.id, "user_message", "user", "a")
    wanted = ToForget(session_id=session.id)

    found = await find_erasable(scope, wanted)
    assert await erase(scope, wanted, found) == 1

    assert [event.session_id for event in found.events] == [session.id]
    assert (await scope.sessions.get_session(session.id)).name != "secret work"
    assert not (await find_erasable(scope, ToForget(session_id=kept.id))).is_empty


@pytest.mark.parametrize("room", ["events", "memories", "documents"])
def test_nothing_is_found_only_where_no_room_holds_anything(room: str):
    empty: dict[str, Any] = {"events": (), "memories": (), "documents": ()}

    assert Erasable(**empty).is_empty
    assert not Erasable(**{**empty, room: ("x",)}).is_empty
