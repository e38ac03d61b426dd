"""Every write of a door: done once for each key, on a state that the caller has seen, or not at
all.
"""

import asyncio
from dataclasses import dataclass

import pytest

from holdfast.errors import InvalidValueError, KeyReusedError
from holdfast.ground import clock
from holdfast.ground.settings import Owner
from holdfast.scope import Scope
from holdfast.sessions.errors import (
    EventConflictError,
    RevisionConflictError,
    SessionEndedError,
    SessionNotFoundError,
)
from holdfast.storage.errors import IdTakenError
from holdfast.storage.in_transaction import InTransaction
from holdfast.write import Request, write

pytestmark = pytest.mark.own_database

ADA, BOB = Owner("local", "ada"), Owner("local", "bob")


@dataclass(frozen=True)
class Note:
    subject: str


@pytest.fixture
def scope(database):
    return Scope(database, ADA)


def append(session_id, content="hi"):
    async def verb(scope):
        return await scope.sessions.append_event(session_id, "user_message", "user", content)

    return verb


async def get_event(scope, event_id):
    return await scope.sessions.get_event(event_id)


def make_request(key="k1", operation="append", arguments=None, **fields):
    given = {"content": "hi"} if arguments is None else arguments
    return Request(operation, given, key=key, read_again=get_event, **fields)


async def contents(scope, session_id):
    return [event.content async for event in scope.sessions.read_events(session_id)]


# --- where a transaction is opened ----------------------------------------------------------------


async def test_a_plain_write_runs_on_the_plain_database(scope):
    """One round trip, and its commit is grouped with others."""
    seen = []

    async def verb(inside):
        seen.append(inside.database)
        return Note("x")

    done = await write(scope, Request("note"), verb)

    assert (done.result, done.is_first) == (Note("x"), True)
    assert seen == [scope.database]


@pytest.mark.parametrize(
    "request_",
    [make_request(), Request("note", is_whole=True), Request("note", condition=get_event)],
)
async def test_a_key_a_condition_and_several_verbs_run_in_a_transaction(scope, request_):
    async def accept(inside):
        assert isinstance(inside.database, InTransaction)

    async def verb(inside):
        assert isinstance(inside.database, InTransaction)
        return Note("x")

    given = request_ if request_.condition is None else Request("note", condition=accept)
    assert (await write(scope, given, verb)).result == Note("x")


async def test_several_verbs_take_effect_together_or_not_at_all(scope):
    s = await scope.sessions.create_session("m", "u1")

    async def verb(inside):
        await inside.sessions.append_event(s.id, "user_message", "user", "a")
        await inside.sessions.append_event(
            "01890a5d-ac96-774b-bcce-b302099a8057", "user_message", "user", "b"
        )

    with pytest.raises(SessionNotFoundError):
        await write(scope, Request("append", is_whole=True), verb)

    assert await contents(scope, s.id) == []


async def test_a_condition_that_does_not_hold_keeps_the_verb_from_running(scope):
    s = await scope.sessions.create_session("m", "u1")

    async def refuse(inside):
        raise InvalidValueError("tag", "3", "is old")

    with pytest.raises(InvalidValueError):
        await write(scope, Request("append", condition=refuse), append(s.id))
    with pytest.raises(InvalidValueError):
        await write(scope, make_request(condition=refuse), append(s.id))

    assert await contents(scope, s.id) == []
    assert (await write(scope, make_request(), append(s.id))).is_first


# --- requests that come twice ---------------------------------------------------------------------


async def test_a_repeated_request_is_done_once_and_answers_the_same(scope):
    s = await scope.sessions.create_session("m", "u1")

    first = await write(scope, make_request(), append(s.id))
    again = await write(scope, make_request(), append(s.id))

    assert (first.is_first, again.is_first) == (True, False)
    assert again.result == first.result
    assert await contents(scope, s.id) == ["hi"]


async def test_the_same_key_for_another_request_is_a_conflict(scope):
    s = await scope.sessions.create_session("m", "u1")
    await write(scope, make_request(), append(s.id))

    with pytest.raises(KeyReusedError, match="was used for another request"):
        await write(scope, make_request(arguments={"content": "bye"}), append(s.id, "bye"))

    assert await contents(scope, s.id) == ["hi"]


async def test_a_key_belongs_to_one_developer_one_operation_and_one_target(scope, database):
    s = await scope.sessions.create_session("m", "u1")
    await write(scope, make_request(), append(s.id))

    assert (await write(scope, make_request(operation="other"), append(s.id))).is_first
    assert (await write(scope, make_request(target="elsewhere"), append(s.id))).is_first
    with pytest.raises(
        SessionNotFoundError
    ):  # another developer finds neither the key nor the session
        await write(Scope(database, BOB), make_request(), append(s.id))


async def test_a_refused_request_leaves_its_key_free(scope):
    s = await scope.sessions.create_session("m", "u1")
    await scope.sessions.end_session(s.id)
    with pytest.raises(SessionEndedError):
        await write(scope, make_request(), append(s.id))
    other = await scope.sessions.create_session("m", "u1")

    assert (await write(scope, make_request(), append(other.id))).is_first


async def test_several_events_are_all_or_none_inside_a_transaction(scope):
    s = await scope.sessions.create_session("m", "u1")
    taken = await scope.sessions.append_event(s.id, "user_message", "user", "first")
    events = [
        {"type": "user_message", "role": "user", "content": "a"},
        {"type": "user_message", "role": "user", "content": "b", "event_id": taken.id},
    ]

    with pytest.raises(EventConflictError, match="is taken"):
        await write(
            scope, make_request(), lambda inside: inside.sessions.append_events(s.id, events)
        )

    assert await contents(scope, s.id) == ["first"]


async def test_one_key_from_many_at_once_has_one_effect(scope):
    s = await scope.sessions.create_session("m", "u1")

    answers = await asyncio.gather(
        *(
            write(scope, make_request(f"k{n}", arguments={"n": n}), append(s.id, str(n)))
            for _ in range(8)
            for n in range(5)
        )
    )

    assert sorted(await contents(scope, s.id)) == ["0", "1", "2", "3", "4"]
    assert sum(done.is_first for done in answers) == 5
    assert len({done.result.id for done in answers}) == 5


async def test_one_key_with_a_condition_from_many_at_once_is_answered_alike(scope):
    """All but the first meet a changed session, and then the key: the change was their own."""
    session = await scope.sessions.create_session("m", "u1")

    async def is_unchanged(inside):
        current = await inside.sessions.lock_session(session.id)
        if current.revision != session.revision:
            raise RevisionConflictError(session.id, session.revision, current.revision)

    async def rename(inside):
        renamed = await inside.sessions.rename_session(session.id, "b")
        return Note(renamed.id)

    request = Request("rename", {}, key="k1", condition=is_unchanged, read_again=get_note)

    answers = await asyncio.gather(*(write(scope, request, rename) for _ in range(8)))

    assert {done.result for done in answers} == {Note(session.id)}
    assert sum(done.is_first for done in answers) == 1


@pytest.mark.parametrize("failures", [2, 3])
async def test_a_request_whose_id_is_taken_is_tried_three_times(scope, failures):
    tries = []

    async def verb(inside):
        tries.append(inside)
        if len(tries) <= failures:
            raise IdTakenError
        return Note("n1")

    if failures < 3:
        assert (await write(scope, make_request(), verb)).is_first
    else:
        with pytest.raises(IdTakenError):
            await write(scope, make_request(), verb)

    assert len(tries) == 3


@pytest.mark.parametrize("key", ["", "a\nb", "ü", "x" * 201, 7])
async def test_a_key_is_a_short_line_of_ascii(scope, key):
    with pytest.raises(InvalidValueError):
        await write(scope, make_request(key), append("nobody"))


# --- effects on files -----------------------------------------------------------------------------


async def get_note(scope, subject):
    return Note(subject)


def on_files(key="k1"):
    return Request("note", {"text": "a"}, key=key, read_again=get_note, effect="files")


async def test_an_effect_on_files_happens_before_its_key_is_stored(scope):
    """A program that dies between the two does it again, and the verb finds its own entry."""
    effects = []

    async def verb(inside):
        assert inside.database is scope.database
        effects.append("written")
        return Note("n1")

    async def die(inside):
        effects.append("died")
        raise InterruptedError

    with pytest.raises(InterruptedError):
        await write(scope, on_files(), die)
    first = await write(scope, on_files(), verb)
    again = await write(scope, on_files(), verb)

    assert effects == ["died", "written"]
    assert (first.is_first, again.is_first) == (True, False)
    assert again.result == first.result == Note("n1")


async def test_two_effects_on_files_with_one_key_answer_with_the_same_subject(scope):
    """Both may be had, because no transaction covers a file; the second to finish answers as a
    repetition.
    """

    async def verb(inside):
        await asyncio.sleep(0)
        return Note("n1")

    answers = await asyncio.gather(*(write(scope, on_files(), verb) for _ in range(4)))

    assert {done.result for done in answers} == {Note("n1")}
    assert sum(done.is_first for done in answers) == 1


async def test_a_caller_that_meets_the_file_of_the_same_request_gets_its_result(scope):
    """Three of four meet the file before the key of the first is kept."""
    refused: list[str] = []
    all_refused = asyncio.Event()
    is_written = False

    async def verb(inside):
        nonlocal is_written
        if is_written:
            refused.append("refused")
            if len(refused) == 3:
                all_refused.set()
            raise SessionEndedError("s1", clock.now())
        is_written = True
        await all_refused.wait()
        return Note("n1")

    answers = await asyncio.gather(*(write(scope, on_files(), verb) for _ in range(4)))

    assert {done.result for done in answers} == {Note("n1")}
    assert sum(done.is_first for done in answers) == 1


async def test_a_conflict_with_another_request_is_raised(scope):
    async def verb(inside):
        raise SessionEndedError("s1", clock.now())

    with pytest.raises(SessionEndedError):
        await write(scope, on_files(), verb)
