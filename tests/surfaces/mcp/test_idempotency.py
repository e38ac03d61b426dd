"""A key that comes twice: one effect, whichever client lost the answer."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast.app import App
from tests.surfaces.mcp import doors
from tests.surfaces.mcp.doors import call, call_refused, data

MESSAGE = {"event_type": "user_message", "role": "user", "content": "Hello"}
WRITES = [
    ("session", {"operation": "start", "chatmode": "debug"}),
    ("session", {"operation": "append", **MESSAGE}),
    ("session", {"operation": "update_state", "scratchpad": {"a": 1}}),
    ("session", {"operation": "end"}),
    ("set_relevant_context", {"setName": "files", "items": ["/a"], "mode": "merge"}),
]
OTHER = [
    ("session", {"operation": "start", "chatmode": "other"}),
    ("session", {"operation": "append", **MESSAGE, "content": "other"}),
    ("session", {"operation": "update_state", "scratchpad": {"a": 2}}),
    ("session", {"operation": "end", "session_id": "login"}),
    ("set_relevant_context", {"setName": "files", "items": ["/b"], "mode": "merge"}),
]


async def count_all() -> tuple[int, int, list[dict[str, Any]]]:
    async with App() as app:
        sessions = await app.scope.sessions.list_all_sessions()
        accounts = await app.take_stock()
        return len(sessions), accounts.accepted, [session.to_dict() for session in sessions]


@pytest.mark.parametrize("which", range(len(WRITES)))
async def test_the_same_key_again_changes_nothing_and_gives_the_same_answer(
    project: Path, store: str, which: int
):
    """Also when nothing was there and the first call started the session."""
    tool, arguments = WRITES[which]
    async with doors.inside(project) as client:
        first = await data(client, tool, **arguments, idempotency_key="k1")
        after_first = await count_all()
        again = await data(client, tool, **arguments, idempotency_key="k1")

    assert await count_all() == after_first
    if tool == "session":
        assert again == first
    else:
        assert again == {**first, "added": [], "removed": []}


@pytest.mark.parametrize("which", range(len(WRITES)))
async def test_the_same_key_with_another_request_is_a_conflict(
    project: Path, store: str, which: int
):
    """Nothing of the second request is done."""
    tool, arguments = WRITES[which]
    async with doors.inside(project) as client:
        await call(client, "session", operation="start", chatmode="debug", name="login")
        await call(client, tool, **arguments, idempotency_key="k1")
        before = await count_all()
        answer = await call_refused(
            client, OTHER[which][0], **OTHER[which][1], idempotency_key="k1"
        )

    assert answer["code"] == "idempotency_key_reused"
    assert await count_all() == before


async def test_keys_of_two_operations_do_not_meet(project: Path, store: str):
    """An agent that counts its calls per operation is understood."""
    async with doors.inside(project) as client:
        await call(client, "session", operation="append", **MESSAGE, idempotency_key="1")
        await call(
            client, "session", operation="update_state", scratchpad={"a": 1}, idempotency_key="1"
        )
        await call(
            client, "set_relevant_context", setName="ports", items=["1"], idempotency_key="1"
        )

    sessions, events, _ = await count_all()
    assert (sessions, events) == (1, 1)


async def test_a_key_that_another_agent_used_is_a_conflict_and_not_its_answer(
    project: Path, store: str
):
    """Two agents that both count from one: the second gets an error, instead of losing its event
    without a word.
    """
    async with doors.inside(project, name="one") as client:
        await call(client, "session", operation="append", **MESSAGE, idempotency_key="1")
    async with doors.inside(project, name="two") as client:
        answer = await call_refused(
            client, "session", operation="append", **MESSAGE, idempotency_key="1"
        )

    assert answer["code"] == "idempotency_key_reused"


async def test_a_key_of_a_call_that_was_refused_can_be_used(project: Path, store: str):
    """A refusal is not an effect."""
    async with doors.inside(project) as client:
        await call_refused(
            client,
            "session",
            operation="append",
            **{**MESSAGE, "role": "boss"},
            idempotency_key="k1",
        )
        await call(client, "session", operation="append", **MESSAGE, idempotency_key="k1")

    assert (await count_all())[:2] == (1, 1)


async def test_a_repeated_end_does_not_end_the_next_session(project: Path, store: str):
    """The repeated call means the session that it ended, not the one that was started since."""
    async with doors.inside(project) as client:
        first = (await data(client, "session", operation="start", chatmode="debug"))["session"]
        await call(client, "session", operation="end", idempotency_key="k1")
        await call(client, "session", operation="start", chatmode="debug")
        again = (await data(client, "session", operation="end", idempotency_key="k1"))["session"]
        still = await data(client, "session", operation="state")

    assert again["id"] == first["id"]
    assert still["state"]["session_id"] != first["id"]


async def test_doubles_at_the_same_time_have_one_effect(
    project: Path, store: str, scale: Callable[[int], int]
):
    """Each write sent four times at once, from two connections."""
    async with doors.inside(project) as one, doors.inside(project) as two:
        started = await data(one, "session", operation="start", chatmode="debug")
        message = {**MESSAGE, "session_id": started["session"]["id"]}
        for number in range(scale(100)):
            event = {**message, "content": str(number), "idempotency_key": f"k{number}"}
            answers = await asyncio.gather(
                *(
                    data(client, "session", operation="append", **event)
                    for client in (one, two, one, two)
                )
            )
            assert len({answer["event"]["id"] for answer in answers}) == 1

    sessions, events, _ = await count_all()
    assert (sessions, events) == (1, number + 1)


async def test_first_writes_at_the_same_time_start_one_session(project: Path, store: str):
    """An agent calls several tools at once."""
    async with doors.inside(project) as client:
        await asyncio.gather(
            call(client, "session", operation="append", **MESSAGE),
            call(client, "session", operation="append", **MESSAGE, idempotency_key="k"),
            call(client, "session", operation="update_state", scratchpad={"a": 1}),
            call(client, "set_relevant_context", setName="ports", items=["1"]),
        )

    sessions, events, [session] = await count_all()
    assert (sessions, events, session["metadata"]["context"]) == (1, 2, {"ports": ["1"]})


async def test_keys_hold_over_processes(project: Path, store: str):
    """A client that died and came back repeats its call in another process."""
    answers = []
    for _ in range(2):
        async with doors.over_stdio(project) as client:
            answers.append(
                await data(client, "session", operation="append", **MESSAGE, idempotency_key="k1")
            )

    assert answers[0] == answers[1]
    assert (await count_all())[:2] == (1, 1)
