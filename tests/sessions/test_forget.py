"""Forgetting: the content goes, the hashes and a tombstone stay, and nothing brings it back."""

import asyncio
import json
import uuid
from pathlib import Path

import pytest

import holdfast
from holdfast.errors import InvalidValueError
from holdfast.sessions import rules
from holdfast.sessions.errors import EventConflictError, EventNotFoundError, SessionNotFoundError
from holdfast.storage.outbox import Outbox
from tests.sessions.tables import all_rows, nothing_changes

UNKNOWN = "01890a5d-ac96-774b-bcce-b302099a8057"


async def log(sessions, *contents):
    s = await sessions.create_session("architect", "u1", name="login")
    events = await sessions.append_events(
        s.id, [{"type": "user_message", "role": "user", "content": content} for content in contents]
    )
    return s, events


async def is_stored(sessions, text):
    """Whether a piece of text is anywhere in any row."""
    return text in repr(await all_rows(sessions))


async def test_a_forgotten_event_keeps_its_number_its_hashes_and_its_place(sessions):
    s, events = await log(sessions, "a", "the password is hunter2", "c")

    assert await sessions.forget_events([events[1].id], reason="a secret") == 1

    first, erased, third = [event async for event in sessions.read_events(s.id)]
    assert (first, third) == (events[0], events[2])
    assert (erased.id, erased.sequence, erased.created_at) == (
        events[1].id,
        2,
        events[1].created_at,
    )
    assert (erased.content_hash, erased.chain_hash) == (
        events[1].content_hash,
        events[1].chain_hash,
    )
    assert (erased.content, erased.parts) == ("", None)
    assert erased.erased_at >= erased.created_at
    verification = await sessions.verify_session(s.id)
    assert (verification.ok, verification.checked, verification.erased) == (True, 3, 1)
    assert not await is_stored(sessions, "hunter2")


async def test_on_sqlite_nothing_of_it_is_left_in_the_files(sqlite_url):
    """Neither in free pages nor in the write-ahead log, for events and for a whole session."""
    async with holdfast.open_database(sqlite_url) as database:
        sessions = holdfast.SessionService(database)
        s, events = await log(sessions, "the password is hunter2", "and Tr0ub4dor&3")
        await sessions.update_state(s.id, {"password": "correct horse"})
        folder = Path(database.path).parent
        assert b"hunter2" in b"".join(path.read_bytes() for path in folder.glob("test.db*"))

        await sessions.forget_events([events[0].id])
        assert b"hunter2" not in b"".join(path.read_bytes() for path in folder.glob("test.db*"))
        await sessions.forget_session(s.id)

        left = b"".join(path.read_bytes() for path in folder.glob("test.db*"))
        assert [secret for secret in (b"Tr0ub4dor", b"correct horse") if secret in left] == []


async def test_an_erasure_leaves_an_audit_row_with_its_reason(sessions):
    _, events = await log(sessions, "secret")

    await sessions.forget_events([events[0].id], reason="a token was pasted")

    [row] = (await all_rows(sessions))["erasures"]
    assert {"a token was pasted", events[0].id} <= {str(value) for value in row}
    assert bytes.fromhex(events[0].content_hash) in row


async def test_parts_are_forgotten_too(sessions):
    s = await sessions.create_session("architect", "u1")
    event = await sessions.append_event(
        s.id, "tool_call", "tool", "run", {"env": {"TOKEN": "hunter2"}}
    )

    await sessions.forget_events([event.id])

    assert not await is_stored(sessions, "hunter2")
    assert (await sessions.verify_session(s.id)).ok


async def test_forgetting_again_changes_nothing(sessions):
    s, events = await log(sessions, "a", "b")
    await sessions.forget_events([events[0].id, events[0].id.upper()])

    async with nothing_changes(sessions):
        await sessions.forget_events([events[0].id], reason="again")
        assert await sessions.forget_events([]) == 0

    assert (await sessions.verify_session(s.id)).erased == 1


async def test_a_repeated_request_does_not_bring_the_content_back(sessions):
    """A client that imports its transcript again sends the same ids with the same content."""
    s, events = await log(sessions, "secret")
    await sessions.forget_events([events[0].id])

    async with nothing_changes(sessions):
        again = await sessions.append_event(
            s.id, "user_message", "user", "secret", event_id=events[0].id
        )
        with pytest.raises(EventConflictError):
            await sessions.append_event(
                s.id, "user_message", "user", "other", event_id=events[0].id
            )

    assert (again.sequence, again.content, again.parts) == (1, "", None)
    assert again.erased_at is not None


async def test_events_to_forget_are_found_by_id_session_and_words(sessions):
    """The dry run: what would go, each once, and nothing goes."""
    s, events = await log(sessions, "alpha", "beta secret", "gamma")
    other, [secret] = await log(sessions, "another secret")
    with_parts = await sessions.append_event(
        other.id, "tool_call", "tool", "run", {"say": 'a "secret"\\n'}
    )

    async with nothing_changes(sessions):
        by_id = await sessions.find_events_to_forget(event_ids=[events[0].id, events[0].id])
        by_session = await sessions.find_events_to_forget(session_id=s.id)
        by_words = await sessions.find_events_to_forget(match="secret")
        together = await sessions.find_events_to_forget(
            event_ids=[secret.id], session_id=s.id, match="alpha"
        )
        by_quoted_words = await sessions.find_events_to_forget(match='"secret"\\n')
        nothing = await sessions.find_events_to_forget(match="SECRET")

    assert by_id == events[:1]
    assert by_session == events
    assert {event.id for event in by_words} == {events[1].id, secret.id, with_parts.id}
    assert together == [secret, *events]
    assert by_quoted_words == [with_parts]
    assert nothing == []
    assert await sessions.find_events_to_forget() == []


async def test_words_are_taken_as_they_are_written(sessions):
    """No wildcard, no pattern: forgetting `100%` forgets exactly that."""
    s, _ = await log(sessions, "100% sure", "100 sure", "a_b", "aXb", "(", "naïve")

    for words, count in (("100%", 1), ("a_b", 1), ("(", 1), ("ï", 1), ("%", 1), ("sure", 2)):
        assert len(await sessions.find_events_to_forget(match=words)) == count
    assert len(await sessions.find_events_to_forget(session_id=s.id)) == 6


async def test_an_erased_event_is_not_found_again(sessions):
    s, events = await log(sessions, "secret", "more")
    await sessions.forget_events([events[0].id])

    assert await sessions.find_events_to_forget(event_ids=[events[0].id]) == []
    assert await sessions.find_events_to_forget(session_id=s.id) == [events[1]]


async def test_an_unknown_event_id_forgets_nothing(sessions):
    _, events = await log(sessions, "a", "b")

    async with nothing_changes(sessions):
        for event_ids in ([UNKNOWN], [events[0].id, UNKNOWN], [UNKNOWN, events[0].id]):
            with pytest.raises(EventNotFoundError) as refusal:
                await sessions.forget_events(event_ids)
        with pytest.raises(EventNotFoundError):
            await sessions.find_events_to_forget(event_ids=[UNKNOWN])

    assert refusal.value.event_id == UNKNOWN
    assert (refusal.value.code, refusal.value.exit_code, refusal.value.http_status) == (
        "event_not_found",
        3,
        404,
    )


async def test_the_refusal_names_the_event_that_is_missing(sessions):
    _, [event] = await log(sessions, "a")

    with pytest.raises(EventNotFoundError) as refusal:
        await sessions.forget_events([event.id, UNKNOWN])

    assert refusal.value.event_id == UNKNOWN


async def test_an_unknown_event_id_among_several_transactions_forgets_nothing(sessions):
    s = await sessions.create_session("architect", "u1")
    message = {"type": "user_message", "role": "user", "content": "kept"}
    events = await sessions.append_events(s.id, [message] * rules.EVENTS_PER_CALL)

    async with nothing_changes(sessions):
        with pytest.raises(EventNotFoundError):
            await sessions.forget_events([*(event.id for event in events), UNKNOWN])


async def test_a_session_of_more_than_one_transaction_is_forgotten_whole(sessions):
    s = await sessions.create_session("architect", "u1")
    message = {"type": "user_message", "role": "user", "content": "secret"}
    for _ in range(2):
        await sessions.append_events(s.id, [message] * (rules.EVENTS_PER_CALL // 2 + 1))

    assert await sessions.forget_session(s.id) == rules.EVENTS_PER_CALL + 2

    verification = await sessions.verify_session(s.id)
    assert (verification.ok, verification.erased) == (True, rules.EVENTS_PER_CALL + 2)
    assert not await is_stored(sessions, "secret")


async def test_invalid_arguments_are_refused_and_change_nothing(sessions):
    s, events = await log(sessions, "a")

    async with nothing_changes(sessions):
        for call in (
            sessions.forget_events(["nonsense"]),
            sessions.forget_events([events[0].id, None]),
            sessions.forget_events([events[0].id], reason=""),
            sessions.forget_events([events[0].id], reason="a\x00b"),
            sessions.forget_session(s.id, reason="two\nlines"),
            sessions.find_events_to_forget(match=""),
            sessions.find_events_to_forget(match="  \n"),
            sessions.find_events_to_forget(match="a\x00"),
            sessions.find_events_to_forget(match=7),
            sessions.find_events_to_forget(event_ids=["nonsense"]),
        ):
            with pytest.raises(InvalidValueError):
                await call
        for session_id in (UNKNOWN, "nonsense"):
            with pytest.raises(SessionNotFoundError):
                await sessions.forget_session(session_id)
            with pytest.raises(SessionNotFoundError):
                await sessions.find_events_to_forget(session_id=session_id)


async def test_a_forgotten_session_keeps_none_of_its_content(sessions):
    s, _ = await log(sessions, "a secret", "another secret")
    await sessions.update_state(s.id, {"current_task": "secret"})
    await sessions.set_relevant_context(s.id, "files", ["/secret.md"])
    await sessions.update_metadata(s.id, {"envHint": "secret"})
    await sessions.set_relevant_context(s.id, "files", [])

    assert await sessions.forget_session(s.id, reason="asked for") == 2

    assert not await is_stored(sessions, "secret")
    forgotten = await sessions.get_session(s.id)
    assert (forgotten.name, forgotten.metadata, forgotten.last_sequence) == (None, {}, 2)
    assert (await sessions.get_state(s.id)).scratchpad == {}
    assert (await sessions.verify_session(s.id)).ok


async def test_listeners_get_the_removal_of_context_and_name(sessions):
    s, _ = await log(sessions, "a secret")
    await sessions.set_relevant_context(s.id, "files", ["/secret.md"])
    outbox = Outbox(sessions.db, sessions.owner)
    behind = await outbox.end()

    for _ in range(2):  # the second time takes the words of the first one with it
        await sessions.forget_session(s.id)

        assert [(event.topic, event.data) for event in await outbox.read(behind)] == [
            ("caco.context", {"reason": "changed", "session_id": s.id, "context": {}}),
            ("session.renamed", {"session_id": s.id, "name": None}),
        ]


async def test_a_forgotten_session_s_name_is_forgotten_by_listeners_too(sessions):
    s, _ = await log(sessions, "a")
    await sessions.rename_session(s.id, "the secret project")

    await sessions.forget_session(s.id)

    assert not await is_stored(sessions, "secret project")


async def test_a_forgotten_session_accepts_events_and_can_be_ended(sessions):
    s, _ = await log(sessions, "secret")
    await sessions.forget_session(s.id)

    event = await sessions.append_event(s.id, "user_message", "user", "afterwards")
    await sessions.end_session(s.id)

    assert event.sequence == 2
    assert (await sessions.verify_session(s.id)).ok
    assert await sessions.forget_session(s.id) == 1


async def test_forgetting_one_session_leaves_the_others_alone(sessions):
    s, _ = await log(sessions, "mine")
    other, kept = await log(sessions, "kept")
    await sessions.set_relevant_context(other.id, "files", ["/kept.md"])

    await sessions.forget_session(s.id)

    assert [event async for event in sessions.read_events(other.id)] == kept
    assert (await sessions.get_session(other.id)).context == {"files": ["/kept.md"]}
    told = [
        event.topic
        for event in await Outbox(sessions.db, sessions.owner).read()
        if other.id in repr(event.data)
    ]
    assert told == ["session.started", "caco.context"]


async def test_forgetting_while_others_write_and_verify_raises_no_alarm(sessions):
    s, events = await log(sessions, *("x" for _ in range(20)))

    async def verify():
        return [(await sessions.verify_session(s.id)).damage for _ in range(10)]

    damage, *_ = await asyncio.gather(
        verify(),
        *(sessions.forget_events([event.id]) for event in events),
        *(
            sessions.append_event(s.id, "user_message", "user", "new", event_id=str(uuid.uuid4()))
            for _ in range(20)
        ),
    )

    assert damage == [()] * 10
    final = await sessions.verify_session(s.id)
    assert (final.ok, final.checked, final.erased) == (True, 40, 20)


async def test_a_text_that_events_do_not_hold_is_found_in_scratchpads_and_context_sets(sessions):
    noted = await sessions.create_session("architect", "u1")
    await sessions.update_state(noted.id, {"key": 'sk-"live"\n1'})
    reminded = await sessions.create_session("architect", "u1")
    await sessions.set_relevant_context(reminded.id, "ports", ['sk-"live"'])
    await sessions.create_session("architect", "u1", name="clean")

    assert await list_with_text(sessions, 'sk-"live"') == sorted([noted.id, reminded.id])
    assert await list_with_text(sessions, 'sk-"live"\n1') == [noted.id]
    await sessions.forget_session(noted.id)
    assert await list_with_text(sessions, 'sk-"live"') == [reminded.id]
    with pytest.raises(InvalidValueError):
        await list_with_text(sessions, " ")


async def list_with_text(sessions, text):
    return [session_id async for session_id in sessions.read_sessions_with_text(text)]


async def test_a_text_is_found_in_content_that_is_json_itself(sessions):
    """A tool's answer is often kept as the JSON it came in."""
    s = await sessions.create_session("architect", "u1")
    answer = json.dumps({"stdout": 'KEY-LINE-1\nKEY-LINE-2 "quoted"'})
    event = await sessions.append_event(s.id, "tool_result", "tool", answer)

    found = await sessions.find_events_to_forget(match='KEY-LINE-1\nKEY-LINE-2 "quoted"')

    assert [session.id for session in found] == [event.id]


async def test_forgetting_a_session_while_it_is_resumed_copies_all_of_it_or_nothing(sessions):
    """Both hold the old session's lock: the new one copies all of it, or what is left after it was
    forgotten.
    """
    for _ in range(10):
        old = await sessions.create_session("architect", "u1", name="secret")
        await sessions.update_state(old.id, {"secret": True})
        await sessions.end_session(old.id)

        resumed, _ = await asyncio.gather(
            sessions.resume_session(old.id), sessions.forget_session(old.id)
        )

        copied = (resumed.name, (await sessions.get_state(resumed.id)).scratchpad)
        assert copied in [("secret", {"secret": True}), (None, {})]
