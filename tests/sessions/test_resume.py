"""Going on with a session: open ones as they are, ended ones in a new session, and all of them as
one thread.
"""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.sessions import changing, context_sets
from holdfast.sessions.errors import SessionNotFoundError
from holdfast.storage.outbox import Outbox
from tests.sessions.tables import nothing_changes

UNKNOWN = "01890a5d-ac96-774b-bcce-b302099a8057"


async def test_an_open_session_is_resumed_as_it_is(sessions):
    s = await sessions.create_session("architect", "u1", name="spec")
    await sessions.append_event(s.id, "user_message", "user", "hi")

    resumed = await sessions.resume_session(s.id)

    assert (resumed.id, resumed.resumed_from, resumed.last_sequence) == (s.id, None, 1)
    assert resumed.metadata["lastObservedAt"] >= "2026"
    assert len(await sessions.list_sessions()) == 1


async def test_an_ended_session_continues_in_a_new_one_with_its_state(sessions):
    s = await sessions.create_session(
        "architect",
        "u1",
        "flow",
        "skill",
        "main",
        name="spec",
        client="codex",
        native_id="n1",
        repo="r",
        worktree="/w",
    )
    await sessions.set_relevant_context(s.id, "files", ["/a.md"])
    await sessions.update_metadata(s.id, {"envHint": "conda"})
    await sessions.update_state(s.id, {"current_task": "x"})
    await sessions.append_event(s.id, "user_message", "user", "hi")
    await sessions.end_session(s.id)
    old = await sessions.get_session(s.id)

    new = await sessions.resume_session(s.id)

    assert new.id != s.id
    assert (new.resumed_from, new.ended_at, new.last_sequence) == (s.id, None, 0)
    for field in (
        "chatmode",
        "user_id",
        "workflow",
        "skill",
        "git_branch",
        "client",
        "repo",
        "worktree",
        "name",
    ):
        assert getattr(new, field) == getattr(old, field)
    assert new.native_id is None
    assert new.context == {"files": ["/a.md"]}
    assert new.metadata["envHint"] == "conda"
    assert (await sessions.get_state(new.id)).scratchpad == {"current_task": "x"}
    assert await sessions.get_session(s.id) == old


async def test_a_resume_sends_the_context_of_the_session_to_listeners(sessions):
    s = await sessions.create_session("architect", "u1")
    await sessions.set_relevant_context(s.id, "files", ["/a.md"])

    await sessions.resume_session(s.id)

    last = (await Outbox(sessions.db, sessions.owner).read())[-1]
    assert last.topic == "caco.context"
    assert last.data == {
        "reason": "resume",
        "session_id": s.id,
        "context": {"files": ["/a.md"]},
        "files": ["/a.md"],
    }


async def test_a_scratchpad_larger_than_one_update_is_copied_on_resume(sessions):
    """A scratchpad is limited by the update, not in all, and numbers of any size come along."""
    s = await sessions.create_session("architect", "u1")
    for key in ("a", "b"):
        await sessions.update_state(s.id, {key: "x" * 900_000, f"{key}_number": 1.7e308})
    await sessions.end_session(s.id)

    new = await sessions.resume_session(s.id)

    assert (await sessions.get_state(new.id)).scratchpad == (
        await sessions.get_state(s.id)
    ).scratchpad


async def test_a_session_that_lives_for_months_is_resumed_any_number_of_times(sessions):
    """Each end and each resume adds one to the thread, and the thread reads as one."""
    current = await sessions.create_session("architect", "u1", name="ticket 7")
    thread = [current.id]
    for number in range(5):
        await sessions.append_event(current.id, "user_message", "user", f"day {number}")
        await sessions.end_session(current.id)
        current = await sessions.resume_session(current.id)
        thread.append(current.id)
    await sessions.append_event(current.id, "user_message", "user", "day 5")
    await sessions.create_session("architect", "u1", name="another ticket")

    for member in (thread[0], thread[3], thread[-1].upper()):
        assert [s.id for s in await sessions.list_thread(member)] == thread
        contents = [event.content async for event in sessions.read_thread(member)]
        assert contents == [f"day {number}" for number in range(6)]
    assert (await sessions.find_session("ticket 7")).id == thread[-1]


async def test_resuming_a_session_twice_makes_two_threads_that_do_not_mix(sessions):
    root = await sessions.create_session("architect", "u1")
    await sessions.append_event(root.id, "user_message", "user", "before")
    await sessions.end_session(root.id)

    first, second = await asyncio.gather(
        sessions.resume_session(root.id), sessions.resume_session(root.id)
    )
    for session in (first, second):
        await sessions.append_event(session.id, "user_message", "user", session.id)
    await sessions.end_session(first.id)
    third = await sessions.resume_session(first.id)

    async def list_ids(session_id):
        return [session.id for session in await sessions.list_thread(session_id)]

    assert first.id != second.id
    assert await list_ids(second.id) == [root.id, second.id]
    for member in (first.id, third.id):
        assert await list_ids(member) == [root.id, first.id, third.id]
    contents = [event.content for event in await sessions.list_thread_events(third.id)]
    assert contents == ["before", first.id]
    assert await list_ids(root.id) in ([root.id, second.id], [root.id, first.id, third.id])
    related = await sessions.list_related_sessions(third.id)
    assert {session.id for session in related} == {root.id, first.id, second.id, third.id}


async def test_a_session_that_does_not_exist_is_not_resumed(sessions):
    async with nothing_changes(sessions):
        for session_id in (UNKNOWN, "nonsense", None, 7):
            for call in (sessions.resume_session, sessions.list_thread, sessions.get_resume_text):
                with pytest.raises(SessionNotFoundError):
                    await call(session_id)


# --- what the next session gets -------------------------------------------------------------------


async def test_the_resume_text_names_what_is_still_there(sessions, tmp_path):
    spec, gone = tmp_path / "spec.md", tmp_path / "gone.md"
    spec.touch()
    s = await sessions.create_session("architect", "u1")
    await sessions.update_metadata(s.id, {"envHint": "conda activate x"})
    await sessions.set_relevant_context(s.id, "zz", ["last"])
    await sessions.set_relevant_context(s.id, "ports", ["8080", "5432"])
    await sessions.set_relevant_context(s.id, "endpoints", ["https://a/b"])
    await sessions.set_relevant_context(s.id, "applet", ["git-diff", "path=/my repo", "base=main"])
    await sessions.set_relevant_context(s.id, "files", [str(spec), str(gone)])

    text = await sessions.get_resume_text(s.id)

    assert text == (
        "Environment: conda activate x\n\n"
        f"Relevant files:\n- {spec}\n(1 file not found)\n\n"
        "Last applet: git-diff (path=/my repo, base=main). "
        "It can be opened again at /?applet=git-diff&path=%2Fmy+repo&base=main\n\n"
        "endpoints: https://a/b\n\n"
        "ports: 8080, 5432\n\n"
        "zz: last"
    )


async def test_a_session_without_content_has_an_empty_resume_text(sessions):
    s = await sessions.create_session("architect", "u1", name="spec")

    assert await sessions.get_resume_text(s.id) == ""


def test_files_that_are_all_gone_are_counted():
    text = context_sets.make_resume_text({"context": {"files": ["/a", "/b"]}}, lambda path: False)

    assert text == "Relevant files:\n(2 files not found)"


def test_files_that_are_all_there_need_no_count():
    assert (
        context_sets.make_resume_text({"context": {"files": ["/a"]}}, lambda path: True)
        == "Relevant files:\n- /a"
    )


def test_an_applet_without_parameters_is_offered_by_its_name():
    text = context_sets.make_resume_text({"context": {"applet": ["notes"]}}, lambda path: True)

    assert text == "Last applet: notes. It can be opened again at /?applet=notes"


def test_a_parameter_cannot_make_the_offer_open_another_applet():
    text = context_sets.make_resume_text(
        {"context": {"applet": ["notes", "applet=shell", "path=/a&applet=x"]}}, bool
    )

    assert text.endswith("at /?applet=notes&path=%2Fa%26applet%3Dx")


async def test_a_thread_is_read_as_one_and_its_end_is_found_over_several_sessions(sessions):
    first = await sessions.create_session("architect", "u1")
    for number in range(3):
        await sessions.append_event(first.id, "user_message", "user", f"first {number}")
    await sessions.end_session(first.id)
    second = await sessions.resume_session(first.id)
    await sessions.append_event(second.id, "user_message", "user", "second 0")

    everything = await sessions.list_thread_events(second.id)
    assert [event.content for event in everything] == ["first 0", "first 1", "first 2", "second 0"]
    for limit in range(6):
        assert (
            await sessions.get_recent_thread_events(second.id, limit)
            == everything[max(4 - limit, 0) :]
        )


async def test_sessions_of_one_name_are_listed_newest_first(sessions):
    older = await sessions.create_session("architect", "u1", name="webhook retry")
    newer = await sessions.create_session("architect", "u1", name="webhook retry")
    await sessions.create_session("architect", "u1", name="another")

    assert [session.id for session in await sessions.list_named("webhook retry")] == [
        newer.id,
        older.id,
    ]
    assert [session.id for session in await sessions.list_named("webhook retry", 1)] == [newer.id]
    assert await sessions.list_named("nobody") == []


async def test_a_relative_file_is_looked_for_in_the_session_s_working_tree(sessions, tmp_path):
    (tmp_path / "notes.md").write_text("8 attempts")
    s = await sessions.create_session("architect", "u1", worktree=str(tmp_path))
    await sessions.set_relevant_context(s.id, "files", ["notes.md", "gone.md"])

    assert await sessions.get_resume_text(s.id) == "Relevant files:\n- notes.md\n(1 file not found)"


async def test_a_client_that_goes_on_continues_the_last_session_of_its_native_id(sessions):
    native = {"client": "claude", "native_id": "n1"}
    await changing.resume_native(sessions.store, "claude", "n1")
    assert await sessions.list_sessions() == [], "one that was never seen is not begun"
    first = await sessions.create_session("m", "u1", **native)

    await changing.resume_native(sessions.store, "claude", "n1")
    assert [session.id for session in await sessions.list_sessions()] == [first.id]
    await sessions.end_session(first.id)
    await changing.resume_native(sessions.store, "claude", "n1")

    following = await sessions.find_native_session("claude", "n1")
    assert (following.resumed_from, following.native_id) == (first.id, "n1")


async def test_the_open_session_of_another_is_continued_apart_and_keeps_its_name(sessions):
    s = await sessions.create_session("architect", "u1", name="spec", client="gemini")

    apart = await sessions.resume_session(s.id, client="codex", native_id="n2", apart=True)

    assert (apart.resumed_from, apart.client, apart.native_id) == (s.id, "codex", "n2")
    assert apart.name is None
    assert (await sessions.get_session(s.id)).name == "spec"


async def test_the_request_of_a_turn_is_found_from_any_event_of_it(sessions):
    s = await sessions.create_session("architect", "u1")
    first = await sessions.append_event(s.id, "system_event", "system", "begun")
    request = await sessions.append_event(s.id, "user_message", "user", "hi")
    last = await sessions.append_event(s.id, "tool_result", "tool", "ok")

    found = await sessions.find_turn_start(s.id, last.sequence)

    assert found is not None
    assert found.id == request.id
    assert await sessions.find_turn_start(s.id, first.sequence) is None


async def test_an_open_session_goes_on_with_what_another_left(sessions):
    """Its own sets and scratchpad stay; empty ones are filled, and listeners hear of a resume."""
    left = await sessions.create_session("codex", "u1")
    await sessions.set_relevant_context(left.id, "ports", ["80"])
    await sessions.update_state(left.id, {"current_task": "count"})
    await sessions.end_session(left.id)
    empty = await sessions.create_session("claude", "u1")
    filled = await sessions.create_session("gemini", "u1")
    await sessions.set_relevant_context(filled.id, "files", ["/a.py"])
    await sessions.update_state(filled.id, {"current_task": "stop"})

    for own, sets, task in ((empty, {"ports": ["80"]}, "count"), (filled, None, "stop")):
        continued = await sessions.continue_in(own.id, left.id)
        state = await sessions.get_state(own.id)
        expected = sets or {"files": ["/a.py"]}
        assert (continued.id, continued.context) == (own.id, expected)
        assert await sessions.get_relevant_context(own.id) == expected
        assert state.scratchpad == {"current_task": task}
        message = (await Outbox(sessions.db, sessions.owner).read())[-1]
        assert (message.topic, message.data["reason"]) == ("caco.context", "resume")
        assert (message.data["session_id"], message.data["context"]) == (own.id, expected)
    assert (await sessions.get_session(left.id)).context == {"ports": ["80"]}


def test_a_resume_text_with_a_limit_keeps_the_short_sets_and_counts_what_it_leaves_out():
    sets = {
        "files": ["/a.py"],
        "applet": ["git-diff", "path=/r"],
        "endpoints": [f"https://example.org/{number}/{'x' * 1000}" for number in range(10)],
        "ports": ["8080", "9090"],
    }

    text, left_out = context_sets.fit_resume_text({"context": sets}, lambda path: True, 3_500)

    assert len(text) <= 3_500
    assert text.count("https://") == 10 - left_out == 3
    assert "- /a.py" in text
    assert "Last applet: git-diff" in text
    assert text.endswith("ports: 8080, 9090")


@given(
    sets=st.dictionaries(
        st.sampled_from(["files", "applet", "ports", "docs"]),
        st.lists(st.text("ab ", min_size=1, max_size=40), min_size=1, max_size=10),
    ),
    environment=st.text("xy", max_size=60),
    max_chars=st.integers(1, 400),
)
def test_a_resume_text_never_exceeds_its_limit(sets, environment, max_chars):
    metadata = {"context": sets, "envHint": environment}

    text, left_out = context_sets.fit_resume_text(metadata, lambda path: True, max_chars)

    assert len(text) <= max_chars
    whole = context_sets.make_resume_text(metadata, lambda path: True)
    assert (text == whole) == (len(whole) <= max_chars)
    assert left_out <= sum(map(len, sets.values()))


def test_an_applet_that_does_not_fit_is_left_out_whole():
    metadata = {"context": {"applet": ["git-diff", f"path=/{'a' * 300}"], "ports": ["9231"]}}

    text, left_out = context_sets.fit_resume_text(metadata, lambda path: True, max_chars=200)

    assert left_out == 2
    assert "git-diff" not in text
    assert "9231" in text


async def test_a_session_that_continues_belongs_to_the_same_conversation(sessions):
    first = await sessions.create_session("architect", "u1")
    linked = await sessions.link_conversation(first.id, "2026-11-18/001-debug-retry")
    await sessions.end_session(first.id)
    second = await sessions.resume_session(first.id)

    assert linked.metadata["conversation"] == "2026-11-18/001-debug-retry"
    assert second.metadata["conversation"] == "2026-11-18/001-debug-retry"


async def test_what_is_known_of_saving_is_kept_by_one_and_goes_on_with_the_session(sessions):
    first = await sessions.create_session("architect", "u1")
    offered = {"conversation": "c", "pause_at": "2026-11-18T09:04:00.000000Z"}

    kept = [await sessions.note_saving(first.id, None, offered) for _ in range(2)]
    await sessions.end_session(first.id)
    saved = await sessions.note_saving(first.id, offered, {"conversation": "c"})
    second = await sessions.resume_session(first.id)

    assert (kept, saved) == ([True, False], True)
    assert second.metadata["conversation_saving"] == {"conversation": "c"}


async def test_the_metadata_of_a_clients_last_session_is_found_open_or_ended(sessions):
    assert await sessions.store.find_last_metadata("claude", "n1") is None
    first = await sessions.create_session("coder", "u1", client="claude", native_id="n1")
    assert "conversation" not in str(await sessions.store.find_last_metadata("claude", "n1"))

    await sessions.link_conversation(first.id, "2026-11-18/001-debug-retry")
    await sessions.end_session(first.id)

    found = await sessions.store.find_last_metadata("claude", "n1")
    assert '"conversation":"2026-11-18/001-debug-retry"' in str(found).replace(": ", ":")
