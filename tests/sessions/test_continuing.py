"""What a session that continues needs of those before it: the last one, its request, its notes."""

import time

import pytest

from holdfast.clients.commands import make_resume_text, make_stop_text
from holdfast.errors import InvalidValueError
from holdfast.ground import clock
from holdfast.sessions.reading import MESSAGES_PER_PAGE, MOST_MESSAGES
from holdfast.sessions.requests import has_substance, is_request, is_stop
from holdfast.sessions.service import SESSIONS_WITH_NOTES, THREAD_LOOKED_BACK


async def start(sessions, *requests: str, worktree: str = "/w", **more):
    session = await sessions.create_session("codex", "u1", worktree=worktree, **more)
    for request in requests:
        await sessions.append_event(session.id, "user_message", "user", request)
    return session


async def find_last(sessions, excluded=None) -> str:
    found = await sessions.find_last_session("/w", excluded)
    assert found == await sessions.find_last_session(None, excluded)
    return found.id


def use_clock(monkeypatch, seconds: int) -> None:
    """SQLite's writes get their time from this process."""
    monkeypatch.setattr(time, "time_ns", lambda: seconds * 10**9)


# --- the last session -----------------------------------------------------------------------------


async def test_the_session_written_last_is_found_among_any_number_of_newer_ones(sessions):
    old = await start(sessions, "months ago")
    for number in range(40):
        await start(sessions, f"other {number}")
    await sessions.append_event(old.id, "tool_result", "tool", "today")

    assert await find_last(sessions) == old.id


async def test_what_is_read_later_counts_when_it_happened(sessions):
    """A transcript of last week that is read today is not what was done last."""
    now = await start(sessions, "today")
    late = await start(sessions)
    parts = {"happened_at": "2026-01-02T03:04:05.000000Z"}
    event = await sessions.append_event(late.id, "user_message", "user", "last week", parts)
    await sessions.store.mark_active(late.id, parts["happened_at"])

    assert await find_last(sessions) == now.id
    moments = await sessions.find_last_moments([late])
    [sample] = await sessions.sample_events(late.id)
    assert moments[late.id] == sample.happened_at == event.happened_at
    assert f"{event.happened_at:%Y-%m-%d %H:%M:%S}" == "2026-01-02 03:04:05"


async def test_within_a_minute_too_what_is_read_later_counts_when_it_happened(sessions):
    """A client was killed, another went on, and the first one's transcript is read after that."""
    killed = await start(sessions)
    request = await sessions.append_event(killed.id, "user_message", "user", "rename it")
    went_on = await start(sessions, "keep the name")
    moment = clock.to_text(request.created_at)
    parts = {"happened_at": moment}
    await sessions.append_event(killed.id, "model_message", "assistant", "I begin.", parts)
    await sessions.store.mark_active(killed.id, moment)

    assert await find_last(sessions) == went_on.id


@pytest.mark.parametrize("happened_at", ["soon", "2999-01-01T00:00:00Z", 7, None])
async def test_a_time_that_cannot_be_is_not_believed(sessions, happened_at):
    session = await start(sessions)
    parts = {"happened_at": happened_at}
    event = await sessions.append_event(session.id, "user_message", "user", "x", parts)

    moments = await sessions.find_last_moments([session])
    assert event.happened_at == event.created_at == moments[session.id]
    assert await find_last(sessions) == session.id


async def test_a_session_that_began_later_is_neither_the_last_one_nor_read_for_notes(sessions):
    before = await start(sessions, "first")
    await sessions.update_state(before.id, {"current_task": "apple"})
    own = await start(sessions, "second")
    beside = await start(sessions, "third")
    await sessions.update_state(beside.id, {"current_task": "banana"})
    await sessions.set_relevant_context(beside.id, "ports", ["80"])
    until = own.started_at

    for place in ("/w", None):
        found = await sessions.find_last_session(place, own.id, until=until)
        assert found.id == before.id
        assert await sessions.find_last_session(place, before.id, until=before.started_at) is None
    notes = await sessions.list_notes("/w", [own.id], until=until)
    assert [noted.session_id for noted in notes] == [own.id, before.id]
    named = await sessions.list_notes("/w", [beside.id], until=until)
    assert [noted.session_id for noted in named] == [beside.id, before.id]


@pytest.mark.parametrize("seconds", [1, 59, 61, 86_400])
async def test_the_order_of_writes_counts_within_a_minute_and_beyond(
    sqlite_sessions, monkeypatch, seconds
):
    """A minute is what the index knows; the rest is compared."""
    sessions = sqlite_sessions
    begin = 1_800_000_000
    use_clock(monkeypatch, begin)
    first = await start(sessions, "first")
    second = await start(sessions, "second")
    use_clock(monkeypatch, begin + seconds)
    await sessions.append_event(first.id, "tool_result", "tool", "later")
    assert await find_last(sessions) == first.id
    use_clock(monkeypatch, begin + 2 * seconds)
    await sessions.append_event(second.id, "tool_result", "tool", "even later")

    assert await find_last(sessions) == second.id
    assert await find_last(sessions, second.id) == first.id


async def test_the_sessions_of_a_worktree_come_in_the_order_of_their_activity(
    sqlite_sessions, monkeypatch
):
    sessions = sqlite_sessions
    use_clock(monkeypatch, 1_800_000_000)
    first, second, _silent = [await start(sessions, *words) for words in (["a"], ["b"], [])]
    use_clock(monkeypatch, 1_800_000_060)
    await sessions.append_event(first.id, "tool_result", "tool", "later")

    found = await sessions.list_active_sessions("/w")
    [newest] = await sessions.list_active_sessions("/w", 1)

    assert [session.id for session in found] == [first.id, second.id]
    assert newest.id == first.id


async def test_a_note_on_the_scratchpad_counts_as_something_that_happened(sessions):
    eventful = await start(sessions, "yesterday")
    noting = await start(sessions)
    await sessions.update_state(noting.id, {"current_task": "the retry"})
    assert await find_last(sessions) == noting.id

    await sessions.append_event(eventful.id, "user_message", "user", "go on")
    assert await find_last(sessions) == eventful.id
    await sessions.update_state(noting.id, {"blockers": ["finance"]})
    assert await find_last(sessions) == noting.id


async def test_an_empty_note_and_one_to_an_ended_session_count_for_nothing(sessions):
    eventful = await start(sessions, "yesterday")
    silent = await start(sessions)
    await sessions.update_state(silent.id, {})

    assert await find_last(sessions) == eventful.id


@pytest.mark.parametrize("is_ended", [True, False])
async def test_the_session_that_was_resumed_is_continued(sessions, is_ended):
    old = await start(sessions, "stop after 3")
    await start(sessions, "something else")
    if is_ended:
        await sessions.end_session(old.id)
    resumed = await sessions.resume_session(old.id)

    assert await find_last(sessions) == resumed.id
    request = await sessions.find_last_request(resumed.id)
    assert request.content == "stop after 3"


async def test_an_event_within_the_minute_writes_no_index_of_the_activity(sqlite_sessions):
    """The time of activity moves once a minute, so that an append costs what it did."""
    session = await start(sqlite_sessions, "first")
    connection = sqlite_sessions.db.connection
    read = "select active_at from sessions where id = ?"
    [(before,)] = connection.execute(read, [session.id]).fetchall()
    moved = []
    for _ in range(20):
        await sqlite_sessions.append_event(session.id, "tool_result", "tool", "x")
        [(after,)] = connection.execute(read, [session.id]).fetchall()
        moved.append(after)

    minutes = {moment[:16] for moment in (before, *moved)}
    assert len({before, *moved}) == len(minutes)


# --- the last request -----------------------------------------------------------------------------


async def test_the_last_request_is_found_behind_a_turn_of_any_length(sessions):
    session = await start(sessions, "an older one", "stop after 3")
    events = [{"type": "tool_result", "role": "tool", "content": "x"}] * 1_500
    await sessions.append_events(session.id, events[:750])
    await sessions.append_events(session.id, events[750:])

    found = await sessions.list_requests(session.id, 5)

    assert [event.content for event in found] == ["stop after 3", "an older one"]
    assert (await sessions.find_last_request(session.id, 4)).content == "stop"


async def test_what_no_person_wrote_is_passed_over(sessions):
    session = await start(sessions, "stop after 3", *["/clear"] * (MESSAGES_PER_PAGE + 1))
    await sessions.append_event(
        session.id, "user_message", "user", "look for the caller", {"agent_id": "a1"}
    )

    assert (await sessions.find_last_request(session.id)).content == "stop after 3"
    assert len(await sessions.list_events(session.id)) == MESSAGES_PER_PAGE + 3, "it is kept"


async def test_a_session_without_requests_has_none_however_many_messages_it_has(sessions):
    session = await start(sessions)
    events = [{"type": "user_message", "role": "user", "content": "/clear"}] * (MOST_MESSAGES + 5)
    await sessions.append_events(session.id, events)

    assert await sessions.find_last_request(session.id) is None
    assert await sessions.find_first_request(session.id) is None


async def test_an_erased_request_is_none(sessions):
    session = await start(sessions, "stop after 3", "a secret")
    *_, secret = await sessions.list_events(session.id)
    await sessions.forget_events([secret.id])

    assert (await sessions.find_last_request(session.id)).content == "stop after 3"


async def test_the_request_of_a_thread_is_looked_for_in_so_many_sessions(sessions):
    session = await start(sessions, "stop after 3")
    await sessions.end_session(session.id)
    first = await sessions.get_session(session.id)
    for _ in range(THREAD_LOOKED_BACK - 1):
        await sessions.end_session(session.id)
        session = await sessions.resume_session(session.id)
    assert (await sessions.find_last_request(session.id)).content == "stop after 3"

    await sessions.end_session(session.id)
    resumed = await sessions.resume_session(session.id)
    assert await sessions.find_last_request(resumed.id) is None
    assert await sessions.find_session_with_events(resumed.id) is None
    assert await sessions.find_session_with_events(session.id) == first


async def test_the_title_of_a_session_is_the_first_thing_that_a_person_asked_for(sessions):
    ours = f"Continue earlier work: {'x' * 200} (started 2026-11-17T13:24:53.2Z, still open)."
    session = await start(sessions, ours, "stop after 3", "go on")

    assert await sessions.find_first_request(session.id) == "stop after 3"


async def test_a_request_is_looked_for_with_a_limit_that_is_a_number(sessions):
    session = await start(sessions)
    with pytest.raises(InvalidValueError):
        await sessions.list_requests(session.id, 0)


@pytest.mark.parametrize(
    "content",
    [
        "/mcp__holdfast__workspace-stop",
        "/mcp__holdfast__workspace-stop we are finished for today",
        "/mcp__my_server__workspace-resume webhook retry",
        "/holdfast:workspace-stop",
        "/workspace-resume --session_id=s-1",
        "/workspace.stop now",
        "$workspace-stop and $workspace-resume",
        '"We stop here. Record what the next session will need; it is handed exactly this:\\n\\n1.',
        "We stop here. Record what the next session will need; it is handed exactly this:\n\n1.",
        "Continue earlier work: a (started 2026-11-17T13:24:53.269939Z, still open).\n\nHOLDFAST",
        "/clear",
        "/EXIT",
        " /login \n",
        "<task-notification>\n<task-id>b1</task-id>",
        "<command-name>/clear</command-name>\n<command-message>clear</command-message>",
        "<command-message>mcp__holdfast__workspace-stop</command-message>",
        "<local-command-stdout></local-command-stdout>",
        "<turn_aborted>\nThe user interrupted the previous turn",
        "<system-reminder>a</system-reminder>\n<command-name>/clear</command-name>",
        "HOLDFAST planning · main · 2026-11-17\n\nRULES\n- x\n\nMore: session operation=recent",
        "",
        " \n",
    ],
)
def test_what_a_client_sends_for_itself_or_for_us_is_no_request(content):
    assert not is_request(content)


@pytest.mark.parametrize(
    "content",
    [
        "stop after 3",
        "/fix-issue 42",
        "/etc/hosts is wrong, repair it",
        "/clearing the cache takes too long",
        "/login returns 500 since the deploy: find out why and fix it.",
        "/new endpoint for payouts please, with tests",
        "/status page shows yesterday's numbers",
        "<system-reminder>Today is Monday.</system-reminder>\nPlease rename foo to bar.",
        "HOLDFAST planning · main\nRULES\n- x\n\nMore: session operation=recent\n\nFinish it.",
        "HOLDFAST planning · main\nRULES\n- x\n\nThis is what it got. Finish it.",
        "We stop here. Tell me what is left",
        "Continue earlier work: finish the migration",
        "Why does /clear not work?",
        "workspace-stop prints nothing",
        "<button> needs a label",
        "<hook_context>x</hook_context>\n\nstop after 3",
        "/workspace-stopper is a bad name",
    ],
)
def test_what_a_person_writes_is_a_request(content):
    assert is_request(content, None)
    assert is_request(content, {"tool": "x"})
    assert not is_request(content, {"agent_id": "a1"})


@pytest.mark.parametrize(
    ("content", "is_one"),
    [
        ("/workspace.stop-conversation", True),
        ("/workspace.stop-conversation we are finished", True),
        ("$workspace-stop", True),
        ("/mcp__holdfast__workspace-stop", True),
        ("/workspace.resume", False),
        ("/workspace-stopper is a bad name", False),
        ("We stop here. Tell me what is left", False),
        ("type /workspace.stop-conversation", False),
        ("", False),
    ],
)
def test_our_command_to_stop_is_recognised(content: str, is_one: bool):
    assert is_stop(content) == is_one


def test_our_text_to_stop_is_recognised():
    assert is_stop(make_stop_text())
    assert is_stop(f"<!-- Written by holdfast init; -->\n{make_stop_text()}")
    assert not is_stop(make_resume_text(""))


# --- notes ----------------------------------------------------------------------------------------


async def test_notes_come_from_the_named_sessions_and_then_from_the_newest(sessions):
    ids = []
    for number in range(SESSIONS_WITH_NOTES + 2):
        session = await start(sessions, git_branch=f"b{number}")
        await sessions.update_state(session.id, {"current_task": f"task {number}"})
        ids.append(session.id)
    await start(sessions, "without notes")
    elsewhere = await start(sessions, worktree="/v")
    await sessions.update_state(elsewhere.id, {"current_task": "elsewhere"})

    here = await sessions.list_notes("/w", [ids[0], ids[-1]])
    named = await sessions.list_notes(None, [ids[3]])

    rest = reversed(ids[2:-1])
    assert [notes.session_id for notes in here] == [ids[0], ids[-1], *rest]
    assert here[0].git_branch == "b0"
    assert here[0].scratchpad == {"current_task": "task 0"}
    assert [notes.session_id for notes in named] == [ids[3]]


async def test_a_session_that_was_hidden_for_a_time_is_as_old_as_it_was(sessions):
    old = await start(sessions, "the retry", client="claude", native_id="n1")
    await sessions.update_state(old.id, {"current_task": "the retry"})
    newer = await start(sessions, "the docs")
    await sessions.update_state(newer.id, {"current_task": "the docs"})

    for _ in range(2):
        await sessions.store.hide_session("claude", "n1")
    assert [notes.session_id for notes in await sessions.list_notes("/w")] == [newer.id]
    assert [found.id for found in await sessions.list_active_sessions("/w")] == [newer.id]

    for _ in range(2):
        await sessions.store.show_session("claude", "n1")
    assert await find_last(sessions) == newer.id
    assert [notes.session_id for notes in await sessions.list_notes("/w")] == [newer.id, old.id]


async def test_a_field_that_was_set_to_null_is_recorded_as_cleared(sessions):
    session = await start(sessions)
    await sessions.update_state(session.id, {"blockers": ["finance"], "mine": 1})
    await sessions.update_state(session.id, {"blockers": None, "mine": None})
    await sessions.update_state(session.id, {"spec_file": None, "current_task": "the retry"})

    [notes] = await sessions.list_notes("/w")

    assert notes.scratchpad == {"current_task": "the retry"}
    assert notes.cleared == {"blockers", "spec_file"}
    assert notes.has_recorded(["blockers"])
    assert notes.has_recorded(["current_task"])
    assert not notes.has_recorded(["next_steps"])


@pytest.mark.parametrize("text", ["yes", "2", "go on", "looks good, commit it", "好的", "続けて"])
def test_a_few_words_have_no_substance_in_any_script(text: str):
    assert not has_substance(text)


@pytest.mark.parametrize(
    "text",
    [
        "把重试次数改成八次，第一次投递算第一次",
        "Stop after the first step, please",
        "src/payouts/webhooks/deliver_with_retries.py",
    ],
)
def test_a_request_that_is_understood_alone_has_substance_in_any_script(text: str):
    assert has_substance(text)
