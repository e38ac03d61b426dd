"""Looking at sessions: only what came since is read, and what was seen survives no erasure."""

from typing import Any

import pytest

from holdfast.errors import StoreBusyError
from holdfast.observations.digest import from_dict
from holdfast.usecases import observing
from holdfast.usecases.observing import observe

ASKED = "user_message"


@pytest.fixture
async def session(sessions: Any) -> Any:
    return await sessions.create_session("claude", "u1", worktree="/w", git_branch="main")


async def add(sessions: Any, session: Any, *texts: str) -> Any:
    for text in texts:
        await sessions.append_event(session.id, ASKED, "user", text)
    return await sessions.get_session(session.id)


async def read_said(sessions: Any, session: Any) -> list[str]:
    [digest] = await observe(sessions, [session])
    return [each.saying.text for each in digest.said]


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many events each page had."""
    pages: list[int] = []
    folded = observing.fold

    def count(digest: Any, events: Any, *more: Any) -> Any:
        pages.append(len(events))
        return folded(digest, events, *more)

    monkeypatch.setattr(observing, "fold", count)
    return pages


async def test_what_was_seen_is_kept_and_only_what_came_since_is_read(
    sessions: Any, session: Any, read: list[int]
):
    assert await read_said(sessions, await add(sessions, session, "No Redis.")) == ["No Redis."]
    read.clear()

    longer = await add(sessions, session, "No Kafka.")

    assert await read_said(sessions, longer) == ["No Redis.", "No Kafka."]
    assert await read_said(sessions, longer) == ["No Redis.", "No Kafka."]
    assert read == [1]


async def test_of_a_long_log_the_newest_events_are_looked_at_first(
    sessions: Any, session: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(observing, "EVENTS_IN_A_LOOK", 2)
    monkeypatch.setattr(observing, "PAGE", 1)
    longer = await add(sessions, session, "No Redis.", "No Kafka.", "No Mongo.")

    assert await read_said(sessions, longer) == ["No Kafka.", "No Mongo."]


async def test_what_is_erased_is_seen_no_longer(sessions: Any, session: Any):
    longer = await add(sessions, session, "No Redis.", "No Kafka.")
    await read_said(sessions, longer)
    [first, _] = await sessions.list_events(session.id)

    await sessions.forget_events([first.id])

    kept = await sessions.store.list_observed([session.id])
    assert from_dict(kept[session.id][0]).sequence == 0
    assert await read_said(sessions, longer) == ["No Kafka."]


async def test_what_was_seen_before_an_erasure_is_not_kept_after_it(sessions: Any, session: Any):
    """One process looks while another one erases: the first was too slow."""
    longer = await add(sessions, session, "No Redis.")
    [digest] = await observe(sessions, [longer])
    _, revision = (await sessions.store.list_observed([session.id]))[session.id]
    [event] = await sessions.list_events(session.id)
    await sessions.forget_events([event.id])

    stored = observing.to_dict(digest)
    assert not await sessions.store.save_observed(session.id, stored, revision)
    assert await read_said(sessions, longer) == []


async def test_two_that_look_at_once_keep_one(sessions: Any, session: Any):
    assert await sessions.store.save_observed(session.id, {"rules": 0}, 0)
    assert not await sessions.store.save_observed(session.id, {"rules": 0}, 0)
    assert await sessions.store.save_observed(session.id, {"rules": 0}, 1)
    assert await sessions.store.list_observed([]) == {}


async def test_a_store_that_is_busy_is_looked_at_all_the_same(
    sessions: Any, session: Any, monkeypatch: pytest.MonkeyPatch
):
    longer = await add(sessions, session, "No Redis.")

    async def refuse(*_: Any) -> bool:
        raise StoreBusyError("The store")

    monkeypatch.setattr(type(sessions.store), "save_observed", refuse)

    assert await read_said(sessions, longer) == ["No Redis."]


# --- how much is read -----------------------------------------------------------------------------


async def test_of_a_log_that_went_on_for_long_no_more_is_read_than_of_a_new_one(
    sessions: Any, session: Any, read: list[int], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(observing, "EVENTS_IN_A_LOOK", 2)
    assert await read_said(sessions, await add(sessions, session, "No Redis.")) == ["No Redis."]
    texts = [f"Step {number}" for number in range(20)]
    longer = await add(sessions, session, *texts, "No Kafka.")

    assert await read_said(sessions, longer) == ["No Redis.", "No Kafka."]
    assert sum(read) == 3


async def test_a_pass_says_nothing_once_events_after_it_were_not_read(
    sessions: Any, session: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(observing, "EVENTS_IN_A_LOOK", 2)
    ran = {"tool": "Bash", "exit_code": 0, "input": {"command": "pytest -q"}}
    await sessions.append_event(session.id, "tool_result", "tool", "1 passed in 0.1s", ran)
    [before] = await observe(sessions, [await sessions.get_session(session.id)])

    [after] = await observe(sessions, [await add(sessions, session, "One.", "Two.", "Three.")])

    assert [run.command for run in before.list_working()] == ["pytest -q"]
    assert after.list_working() == []


async def test_many_logs_are_looked_at_one_after_the_other_the_newest_first(
    sessions: Any, read: list[int], monkeypatch: pytest.MonkeyPatch
):
    """An agent waits for each look: it may not grow with the number of sessions."""
    monkeypatch.setattr(observing, "EVENTS_IN_A_LOOK", 4)
    places = [await sessions.create_session("claude", "u1", worktree="/w") for _ in range(3)]
    wanted = [
        await add(sessions, place, f"No Redis {number}.", "One.", "Two.")
        for number, place in enumerate(places)
    ]

    looks = [await observe(sessions, wanted) for _ in range(4)]

    said = [[bool(digest.said) for digest in look] for look in looks]
    assert said == [
        [False, False, True],
        [False, True, True],
        [True, True, True],
        [True, True, True],
    ]
    assert read == [3, 3, 3]


async def test_what_there_was_no_time_for_is_looked_at_the_next_time(
    sessions: Any, session: Any, monkeypatch: pytest.MonkeyPatch
):
    """However long its events are: an agent is told the rest rather than nothing."""
    monkeypatch.setattr(observing, "SECONDS_IN_A_LOOK", 0.0)
    monkeypatch.setattr(observing, "PAGE", 2)
    longer = await add(sessions, session, "No Redis.", "One.", "Two.", "No Kafka.")

    looks = [await read_said(sessions, longer) for _ in range(2)]

    assert looks == [[], ["No Redis.", "No Kafka."]]
