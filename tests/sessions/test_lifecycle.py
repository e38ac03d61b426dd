"""A session from its start to its end: found by id, name, chatmode, worktree and native id, and
never removed.
"""

import asyncio
import time
from dataclasses import replace
from datetime import UTC, datetime

import pytest

import holdfast
from holdfast.errors import Action, InvalidValueError
from holdfast.ground import settings
from holdfast.sessions import service
from holdfast.sessions.errors import RevisionConflictError, SessionEndedError, SessionNotFoundError
from holdfast.sessions.reading import PAGE
from holdfast.storage.outbox import Outbox
from tests.sessions.tables import nothing_changes

UNKNOWN = "01890a5d-ac96-774b-bcce-b302099a8057"


async def topics(sessions):
    """The events for listeners, oldest first."""
    return [event.topic for event in await Outbox(sessions.db, sessions.owner).read()]


# --- start ----------------------------------------------------------------------------------------


async def test_a_session_starts_with_what_the_seed_names(sessions):
    before = datetime.now(UTC)

    s = await sessions.create_session("architect", "u1", "create-service", "builder", "feat/x")

    assert (s.chatmode, s.user_id, s.workflow, s.skill, s.git_branch) == (
        "architect",
        "u1",
        "create-service",
        "builder",
        "feat/x",
    )
    assert before <= s.started_at <= datetime.now(UTC)
    assert (s.ended_at, s.metadata, s.last_sequence, s.revision) == (None, {}, 0, 1)
    assert await sessions.get_session(s.id) == s
    assert (await sessions.get_state(s.id)).scratchpad == {}
    assert await sessions.get_recent_events(s.id) == []
    assert await topics(sessions) == ["session.started"]


async def test_a_session_knows_its_client_and_its_place(sessions):
    s = await sessions.create_session(
        "codex",
        "u1",
        name="fix login",
        client="codex",
        native_id="n1",
        repo="github.com/a/b",
        worktree="/w",
    )

    assert (s.name, s.client, s.native_id, s.repo, s.worktree) == (
        "fix login",
        "codex",
        "n1",
        "github.com/a/b",
        "/w",
    )
    assert s.metadata == {"name": "fix login"}


async def test_labels_keep_any_language_as_it_was_written(sessions):
    s = await sessions.create_session(
        "größe", "用户", name="Ангел \U0001f9f5 'quoted' \"too\" \\ %s $1"
    )

    assert (await sessions.find_session(s.name)).id == s.id
    assert (s.chatmode, s.user_id) == ("größe", "用户")


async def test_an_open_session_of_the_same_native_id_is_found_instead_of_started(sessions):
    first = await sessions.create_session("codex", "u1", client="codex", native_id="n1")

    again = await sessions.create_session("codex", "u1", client="codex", native_id="n1")
    other = await sessions.create_session("gemini", "u1", client="gemini", native_id="n1")
    await sessions.end_session(first.id)
    after_the_end = await sessions.create_session("codex", "u1", client="codex", native_id="n1")

    assert again == first
    assert len({first.id, other.id, after_the_end.id}) == 3


async def test_many_tasks_that_start_one_native_session_start_one(sessions):
    started = await asyncio.gather(
        *(sessions.create_session("codex", "u1", client="codex", native_id="n1") for _ in range(20))
    )

    assert len({s.id for s in started}) == 1
    assert await topics(sessions) == ["session.started"]
    assert len(await sessions.list_sessions()) == 1


# --- find -----------------------------------------------------------------------------------------


async def test_an_id_is_found_whatever_its_case(sessions):
    s = await sessions.create_session("architect", "u1")

    assert await sessions.get_session(s.id.upper()) == s
    event = await sessions.append_event(s.id.upper(), "user_message", "user", "hi")
    assert event.session_id == s.id


async def test_a_session_is_found_by_its_name_the_newest_first(sessions):
    await sessions.create_session("architect", "u1", name="login")
    newer = await sessions.create_session("architect", "u1", name="login")
    await sessions.create_session("architect", "u1", name="logout")

    assert await sessions.find_session("login") == newer
    assert await sessions.find_session(newer.id) == newer


async def test_an_unknown_session_name_is_not_found(sessions):
    await sessions.create_session("architect", "u1", name="login")

    for nothing in ("log", "login ", "", UNKNOWN, "%"):
        with pytest.raises(SessionNotFoundError) as refusal:
            await sessions.find_session(nothing)
        assert refusal.value.session_id == nothing


async def test_the_newest_open_session_of_a_chatmode_is_the_active_one(sessions):
    await sessions.create_session("architect", "u1")
    second = await sessions.create_session("architect", "u1")
    third = await sessions.create_session("architect", "u1")
    await sessions.create_session("architect", "u2")
    await sessions.create_session("engineer", "u1")

    assert await sessions.get_active_session("architect", "u1") == third
    await sessions.end_session(third.id)
    assert await sessions.get_active_session("architect", "u1") == second
    assert await sessions.get_active_session("nobody", "u1") is None


async def test_the_current_session_of_a_worktree_is_the_newest_open_one(sessions):
    first = await sessions.create_session("codex", "u1", client="codex", worktree="/w")
    second = await sessions.create_session("gemini", "u1", client="gemini", worktree="/w")
    third = await sessions.create_session("gemini", "u1", client="gemini", worktree="/w")
    await sessions.create_session("gemini", "u1", client="gemini", worktree="/w2")

    assert await sessions.find_current_sessions("/w") == [third, second]
    assert await sessions.find_current_sessions("/nowhere") == []
    await sessions.end_session(third.id)
    assert await sessions.find_current_sessions("/w") == [second, first]


async def test_the_newest_session_of_a_worktree_may_have_ended(sessions):
    first = await sessions.create_session("codex", "u1", client="codex", worktree="/w")
    second = await sessions.create_session("gemini", "u1", client="gemini", worktree="/w")
    await sessions.create_session("gemini", "u1", client="gemini", worktree="/w2")
    await sessions.end_session(second.id)

    found = await sessions.find_newest_sessions("/w")

    assert [session.id for session in found] == [second.id, first.id]
    assert await sessions.find_newest_sessions("/nowhere") == []


async def test_a_native_id_after_its_end_continues_its_newest_session(sessions):
    """With its name, context and scratchpad, and listeners are told; for its client alone."""
    native = {"client": "claude", "native_id": "n-1"}
    first = await sessions.create_session("claude", "u1", name="login", **native)
    await sessions.set_relevant_context(first.id, "files", ["/r/a"])
    await sessions.update_state(first.id, {"current_task": "login"})
    await sessions.end_session(first.id)

    second = await sessions.create_session("architect", "u1", **native)
    again = await sessions.create_session("debug", "u1", **native)
    other = await sessions.create_session("codex", "u1", client="codex", native_id="n-1")

    assert (second.resumed_from, second.native_id, second.chatmode) == (
        first.id,
        "n-1",
        "architect",
    )
    assert (second.name, second.context) == ("login", {"files": ["/r/a"]})
    assert (await sessions.get_state(second.id)).scratchpad == {"current_task": "login"}
    assert again == second
    assert (other.resumed_from, other.context) == (None, {})
    await sessions.end_session(second.id)
    third = await sessions.create_session("claude", "u1", **native)
    assert third.resumed_from == second.id


async def test_when_something_last_happened_is_an_event_or_the_start(sessions):
    with_events = await sessions.create_session("a", "u1")
    await sessions.append_event(with_events.id, "user_message", "user", "first")
    last = await sessions.append_event(with_events.id, "user_message", "user", "second")
    without = await sessions.create_session("a", "u1")

    found = await sessions.find_last_moments([with_events, without])

    assert found == {with_events.id: last.created_at, without.id: without.started_at}
    assert await sessions.find_last_moments([]) == {}


async def test_sessions_are_listed_newest_first_page_by_page(sessions):
    made = [await sessions.create_session("architect", "u1") for _ in range(7)]
    newest_first = [s.id for s in reversed(made)]

    first = await sessions.list_sessions(3)
    second = await sessions.list_sessions(3, below=first[-1].id.upper())
    third = await sessions.list_sessions(3, below=second[-1].id)

    assert [s.id for s in first + second + third] == newest_first
    assert await sessions.list_sessions(3, below=third[-1].id) == []
    assert [s.id for s in await sessions.list_all_sessions()] == newest_first
    assert [s.id for s in await sessions.list_sessions(2**31 - 1)] == newest_first


async def test_listing_all_sessions_reads_every_page(sessions):
    started = [sessions.create_session("architect", "u1") for _ in range(PAGE + 1)]

    made = {s.id for s in await asyncio.gather(*started)}

    listed = [s.id for s in await sessions.list_all_sessions()]
    assert len(listed) == PAGE + 1
    assert set(listed) == made


# --- end ------------------------------------------------------------------------------------------


async def test_ending_a_session_removes_nothing(sessions):
    s = await sessions.create_session("architect", "u1", name="kept")
    await sessions.append_event(s.id, "user_message", "user", "hi")
    await sessions.update_state(s.id, {"current_task": "x"})

    assert await sessions.end_session(s.id) is None

    ended = await sessions.get_session(s.id)
    assert ended.ended_at >= s.started_at
    assert (ended.name, ended.last_sequence) == ("kept", 1)
    assert [event.content for event in await sessions.get_recent_events(s.id)] == ["hi"]
    assert (await sessions.get_state(s.id)).scratchpad == {"current_task": "x"}


async def test_ending_a_session_again_changes_nothing_and_sends_no_event(sessions):
    s = await sessions.create_session("architect", "u1")
    await sessions.end_session(s.id)

    async with nothing_changes(sessions):
        assert await sessions.end_session(s.id) is None

    assert await topics(sessions) == ["session.started", "session.ended"]


async def test_an_ended_session_takes_no_event_and_no_state(sessions):
    s = await sessions.create_session("architect", "u1")
    await sessions.end_session(s.id)
    ended_at = (await sessions.get_session(s.id)).ended_at

    async with nothing_changes(sessions):
        for call in (
            sessions.append_event(s.id, "user_message", "user", "late"),
            sessions.append_events(
                s.id, [{"type": "user_message", "role": "user", "content": "late"}]
            ),
            sessions.update_state(s.id, {"a": 1}),
        ):
            with pytest.raises(SessionEndedError) as refusal:
                await call
            assert (refusal.value.session_id, refusal.value.ended_at) == (s.id, ended_at)
            assert (refusal.value.code, refusal.value.exit_code, refusal.value.http_status) == (
                "session_ended",
                4,
                409,
            )
            assert refusal.value.next_actions == (Action("session.resume", session_id=s.id),)


async def test_concurrent_ends_send_one_event_to_listeners(sessions):
    s = await sessions.create_session("architect", "u1")

    await asyncio.gather(*(sessions.end_session(s.id) for _ in range(20)))

    assert (await topics(sessions)).count("session.ended") == 1


# --- metadata -------------------------------------------------------------------------------------


async def test_metadata_changes_field_by_field_and_none_removes_one(sessions):
    s = await sessions.create_session("architect", "u1", name="old")

    await sessions.update_metadata(s.id, {"envHint": "conda activate x", "currentIntent": "fix"})
    changed = await sessions.update_metadata(
        s.id, {"currentIntent": None, "lastIdleAt": "2026-11-16T09:04:00Z"}
    )

    assert changed.metadata == {
        "name": "old",
        "envHint": "conda activate x",
        "lastIdleAt": "2026-11-16T09:04:00Z",
    }
    assert changed.revision == 3
    assert await sessions.get_session(s.id) == changed


async def test_a_rename_is_stored_and_sent_to_listeners(sessions):
    s = await sessions.create_session("architect", "u1", name="old")

    renamed = await sessions.rename_session(s.id, "new")
    unnamed = await sessions.update_metadata(s.id, {"name": None})

    assert (renamed.name, unnamed.name) == ("new", None)
    events = await Outbox(sessions.db, sessions.owner).read()
    assert [event.data for event in events if event.topic == "session.renamed"] == [
        {"session_id": s.id, "name": "new"},
        {"session_id": s.id, "name": None},
    ]


async def test_metadata_is_replaced_as_a_whole_by_an_import(sessions):
    s = await sessions.create_session("architect", "u1", name="old")

    replaced = await sessions.replace_metadata(s.id, {"name": "new", "context": {"files": ["/a"]}})

    assert (replaced.name, replaced.context) == ("new", {"files": ["/a"]})


async def test_a_change_against_an_old_revision_is_refused(sessions):
    s = await sessions.create_session("architect", "u1")
    await sessions.update_metadata(s.id, {"name": "first"}, expected_revision=1)

    async with nothing_changes(sessions):
        with pytest.raises(RevisionConflictError) as refusal:
            await sessions.update_metadata(s.id, {"name": "second"}, expected_revision=1)

    assert (refusal.value.session_id, refusal.value.expected, refusal.value.actual) == (s.id, 1, 2)
    assert (refusal.value.code, refusal.value.exit_code, refusal.value.http_status) == (
        "revision_conflict",
        4,
        412,
    )


async def test_only_one_of_many_changes_against_one_revision_succeeds(sessions):
    s = await sessions.create_session("architect", "u1")

    results = await asyncio.gather(
        *(
            sessions.update_metadata(s.id, {"name": f"n{number}"}, expected_revision=1)
            for number in range(10)
        ),
        return_exceptions=True,
    )

    assert sum(isinstance(result, RevisionConflictError) for result in results) == 9
    assert (await sessions.get_session(s.id)).revision == 2


async def test_metadata_changes_of_many_tasks_lose_no_field(sessions):
    s = await sessions.create_session("architect", "u1")
    at = "2026-11-16T09:04:00Z"
    changes = {
        "name": "n",
        "lastObservedAt": at,
        "lastIdleAt": at,
        "currentIntent": "i",
        "envHint": "e",
    }

    await asyncio.gather(
        *(sessions.update_metadata(s.id, {field: value}) for field, value in changes.items())
    )

    assert (await sessions.get_session(s.id)).metadata == changes


# --- who ------------------------------------------------------------------------------------------


async def test_the_owner_comes_from_the_settings_when_none_is_given(database, monkeypatch):
    monkeypatch.setenv("HOLDFAST_WORKSPACE", "acme")
    monkeypatch.setenv("HOLDFAST_DEVELOPER", "Ada")

    service = holdfast.SessionService(database)

    assert service.owner.workspace_id == "acme"
    assert service.owner.developer_id == settings.owner_of("acme", "ada").developer_id


async def test_a_service_without_a_right_workspace_is_refused(database, monkeypatch):
    monkeypatch.setenv("HOLDFAST_WORKSPACE", "Not A Slug")

    with pytest.raises(InvalidValueError, match="HOLDFAST_WORKSPACE"):
        holdfast.SessionService(database)


@pytest.mark.parametrize("nothing", [None, object(), "sqlite:///x.db"])
def test_a_service_takes_nothing_but_a_database_or_a_pool(nothing):
    with pytest.raises(InvalidValueError, match="is neither an open database nor an asyncpg"):
        holdfast.SessionService(nothing)


async def test_names_are_found_by_how_they_begin(sessions):
    """That of the newest session first, each once, however its ASCII letters are written."""
    for name in ("Login", "logout", "100%", "ärger", "Login", "billing"):
        await sessions.create_session("architect", "u1", name=name)
    await sessions.create_session("architect", "u1")

    assert await sessions.list_names() == ["billing", "Login", "ärger", "100%", "logout"]
    assert await sessions.list_names("LOG") == ["Login", "logout"]
    assert await sessions.list_names("ä") == ["ärger"]
    assert await sessions.list_names("%") == await sessions.list_names("login ") == []
    assert await sessions.list_names(limit=2) == ["billing", "Login"]
    for wrong in ("\x00", "x" * 401, 5):
        with pytest.raises(InvalidValueError):
            await sessions.list_names(wrong)


async def test_names_are_looked_for_among_the_newest_and_the_first_in_the_alphabet(sessions):
    for name in ("login 2", "Login 1", "login 3", "login 4", "other", "login 5"):
        await sessions.create_session("architect", "u1", name=name)
    list_names = sessions.store.list_names

    assert await list_names("LOG", 9, 2) == ["login 5", "Login 1", "login 2"]
    assert await list_names("login 2", 9, 1) == ["login 2"]
    assert await list_names("login 1 ", 9, 2) == []


async def test_an_old_name_is_found_whatever_its_case_and_the_nearest_is_offered(
    sessions, monkeypatch
):
    """Without reading all names."""
    monkeypatch.setattr(service, "NAMES_COMPARED", 2)
    old = await sessions.create_session("architect", "u1", name="LOGIN")
    for name in ("billing", "zoo", "zoo", "login a", "login b"):
        await sessions.create_session("architect", "u1", name=name)

    assert (await sessions.find_session("login")).id == old.id
    for mistyped, offered in (("logi", "LOGIN"), ("zo", "zoo")):
        with pytest.raises(SessionNotFoundError, match=offered):
            await sessions.find_session(mistyped)


async def test_a_name_is_found_whatever_its_case(sessions):
    for name in ("Login", "ÄRGER", "login page"):
        await sessions.create_session("architect", "u1", name=name)
    upper = await sessions.create_session("architect", "u1", name="LOGIN")

    assert [s.name for s in await sessions.list_named("Login")] == ["Login"]
    assert (await sessions.find_session("Login")).name == "Login", "as it is written, first"
    assert (await sessions.find_session("login")).id == upper.id, "else the newest"
    assert (await sessions.find_session("ärger")).name == "ÄRGER"


async def test_a_name_that_does_not_exist_is_refused_with_the_nearest(sessions):
    await sessions.create_session("architect", "u1", name="Web Hook")

    with pytest.raises(SessionNotFoundError) as mistyped:
        await sessions.find_session("web hok")
    with pytest.raises(SessionNotFoundError) as unlike:
        await sessions.find_session("payouts")

    assert mistyped.value.message == "Session 'web hok' does not exist. Did you mean 'Web Hook'?"
    assert unlike.value.message == "Session 'payouts' does not exist."


async def test_the_session_written_last_is_continued_and_not_the_one_started_last(sessions):
    older = await sessions.create_session("a", "u1", worktree="/w")
    newer = await sessions.create_session("a", "u1", worktree="/w")
    await sessions.append_event(newer.id, "user_message", "user", "hi")
    await sessions.append_event(older.id, "user_message", "user", "go on after months")
    await sessions.create_session("a", "u1", worktree="/w")

    for place in ("/w", None):
        assert (await sessions.find_last_session(place)).id == older.id
        assert (await sessions.find_last_session(place, older.id)).id == newer.id
        assert (await sessions.find_last_session(place, newer.id)).id == older.id
    await sessions.end_session(older.id)
    assert (await sessions.find_last_session("/w")).id == older.id, "open or ended"
    assert await sessions.find_last_session("/v") is None


async def test_events_come_before_context_sets_however_new_those_are(sessions):
    eventful = await sessions.create_session("a", "u1", worktree="/w")
    await sessions.append_event(eventful.id, "user_message", "user", "hi")
    silent = await sessions.create_session("a", "u1", worktree="/w")
    await sessions.set_relevant_context(silent.id, "ports", ["80"])

    assert (await sessions.find_last_session("/w")).id == eventful.id
    assert (await sessions.find_session_with_context("/w")).id == silent.id


async def test_where_no_session_has_events_the_newest_with_context_or_hint_is_continued(sessions):
    """Cleared sets say nothing, and the session of the caller does not count."""
    cleared = await sessions.create_session("a", "u1", worktree="/w")
    await sessions.set_relevant_context(cleared.id, "ports", ["80"])
    await sessions.set_relevant_context(cleared.id, "ports", [])
    assert await sessions.find_last_session("/w") is None
    assert await sessions.find_last_session() is None

    hinted = await sessions.create_session("a", "u1", worktree="/v")
    await sessions.update_metadata(hinted.id, {"envHint": "staging"})
    await sessions.set_relevant_context(cleared.id, "ports", ["81"])

    assert (await sessions.find_last_session("/w")).id == cleared.id
    assert (await sessions.find_last_session()).id == hinted.id
    assert (await sessions.find_session_with_context("/v")).id == hinted.id
    assert await sessions.find_last_session("/w", cleared.id) is None


async def test_a_session_started_by_a_clock_before_1970_is_found(sessions, monkeypatch):
    """As on a device without a battery for its clock."""
    monkeypatch.setattr(time, "time_ns", lambda: -86_400 * 10**9)

    session = await sessions.create_session("architect", "u1")
    event = await sessions.append_event(session.id, "user_message", "user", "hi")

    assert await sessions.get_session(session.id) == replace(
        session, last_sequence=1, head_hash=event.chain_hash
    )
    assert [each.id for each in await sessions.list_sessions()] == [session.id]
    assert [each.id for each in await sessions.get_recent_events(session.id)] == [event.id]
    assert (await sessions.verify_session(session.id)).ok
