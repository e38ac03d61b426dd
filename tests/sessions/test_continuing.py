"""What a session that continues needs of those before it: the last one, its request, its notes."""

import time

import pytest


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
