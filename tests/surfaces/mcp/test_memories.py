"""The `memory` tool on every way in."""

from pathlib import Path
from typing import Any

import pytest

from holdfast.app import App
from tests.surfaces.mcp import doors
from tests.surfaces.mcp.doors import call, call_refused, data

TEXT = "The staging database listens on port 6543"


async def test_every_operation_works_on_every_way_in(connect: doors.Connect, store: str):
    async with connect() as client:
        kept = (await data(client, "memory", operation="remember", content=TEXT, category="setup"))[
            "memory"
        ]
        again = await call(client, "memory", operation="remember", content=f" {TEXT}")
        found = (
            await data(
                client, "memory", operation="recall", query="which port has staging?", limit=3
            )
        )["memories"]
        nothing = await call(
            client, "memory", operation="recall", query="who owns the cafeteria?", min_relevance=0.4
        )
        more = (await data(client, "memory", operation="corroborate", memory_id=kept["id"]))[
            "memory"
        ]
        less = (await data(client, "memory", operation="contradict", memory_id=kept["id"]))[
            "memory"
        ]
        gone = (await data(client, "memory", operation="forget", memory_id=kept["id"]))["memory"]
        back = await call_refused(client, "memory", operation="remember", content=TEXT)

    assert (kept["content"], kept["category"], kept["source_type"]) == (TEXT, "setup", "explicit")
    assert again["data"]["memory"]["id"] == kept["id"]
    assert "not kept twice" in again["warnings"][0]
    assert [memory["id"] for memory in found] == [kept["id"]]
    assert found[0]["relevance"] > 0.7
    assert nothing["data"] == {"memories": []}
    assert "Do not guess" in nothing["next_actions"][0]
    assert more["confidence"] > kept["confidence"] > less["confidence"]
    assert (gone["content"], gone["erased_at"] is not None) == ("", True)
    assert back["code"] == "memory_forgotten"


async def test_memories_are_listed_and_filtered(connect: doors.Connect, store: str):
    async with connect() as client:
        for number, category in enumerate(("setup", "rule", "setup")):
            await call(
                client,
                "memory",
                operation="remember",
                content=f"port {number}",
                category=category,
            )

        async def ask(**arguments: Any) -> list[str]:
            found = await data(client, "memory", **arguments)
            return [memory["content"] for memory in found["memories"]]

        assert await ask(operation="list") == ["port 2", "port 1", "port 0"]
        assert await ask(operation="list", limit=1) == ["port 2"]
        page = await call(client, "memory", operation="list", limit=2)
        last = page["data"]["memories"][-1]["id"]
        assert page["warnings"] == ["Only 2 are shown, and there are more."]
        assert page["next_actions"] == [f"memory operation=list limit=2 below={last}"]
        assert await ask(operation="list", limit=2, below=last) == ["port 0"]
        assert await ask(operation="list", category="setup") == ["port 2", "port 0"]
        assert await ask(operation="recall", query="port", category="rule") == ["port 1"]
        assert await ask(operation="list", namespace="another") == []
        assert await ask(operation="recall", query="port", namespace="another") == []


async def test_the_session_that_is_meant_is_the_witness(project: Path, store: str):
    """The caller's own, if one is open; none is started for a memory."""
    async with doors.inside(project) as client:
        alone = (
            await data(
                client,
                "memory",
                operation="remember",
                content="said without a session",
                detail=True,
            )
        )["memory"]
        session = (await data(client, "session", operation="start", chatmode="debug"))["session"]
        kept = (await data(client, "memory", operation="remember", content=TEXT, detail=True))[
            "memory"
        ]
        named = await data(
            client,
            "memory",
            operation="corroborate",
            memory_id=alone["id"],
            session_id=session["id"],
            detail=True,
        )
        unknown = await call_refused(
            client, "memory", operation="remember", content="x", session_id="nobody"
        )

    assert alone["lineage"] == []
    assert kept["lineage"] == named["memory"]["lineage"] == [session["id"]]
    assert unknown["code"] == "session_not_found"
    async with App() as app:
        assert len(await app.scope.sessions.list_sessions()) == 1


async def test_a_repeated_key_is_done_once(project: Path, store: str):
    async with doors.inside(project) as client:
        kept = (
            await data(client, "memory", operation="remember", content=TEXT, idempotency_key="k1")
        )["memory"]
        again = await call(
            client, "memory", operation="remember", content=TEXT, idempotency_key="k1"
        )
        less = [
            (
                await data(
                    client,
                    "memory",
                    operation="contradict",
                    memory_id=kept["id"],
                    idempotency_key="k2",
                )
            )["memory"]
            for _ in range(3)
        ]
        gone = [
            (
                await data(
                    client, "memory", operation="forget", memory_id=kept["id"], idempotency_key="k3"
                )
            )["memory"]
            for _ in range(2)
        ]
        reused = await call_refused(
            client, "memory", operation="remember", content="other", idempotency_key="k1"
        )

    assert again["data"]["memory"] == kept
    assert {memory["confidence"] for memory in less} == {0.4}
    assert gone[0] == gone[1]
    assert reused["code"] == "idempotency_key_reused"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"operation": "remember"}, "invalid_value"),
        ({"operation": "remember", "content": ""}, "invalid_value"),
        ({"operation": "remember", "content": "a", "source_type": "rumour"}, "invalid_value"),
        ({"operation": "remember", "content": "a", "ttl_days": -1}, "invalid_value"),
        ({"operation": "remember", "content": "a", "query": "b"}, "invalid_value"),
        ({"operation": "recall", "query": " "}, "invalid_value"),
        ({"operation": "recall", "query": "a", "limit": 0}, "invalid_value"),
        ({"operation": "recall", "query": "a", "min_relevance": 2}, "invalid_value"),
        ({"operation": "corroborate", "memory_id": "nothing"}, "memory_not_found"),
        ({"operation": "forget", "memory_id": ""}, "memory_not_found"),
        ({"operation": "expire", "memory_id": "x"}, "invalid_value"),
    ],
)
async def test_bad_input_has_a_clear_answer(
    project: Path, store: str, arguments: dict[str, Any], code: str
):
    async with doors.inside(project) as client:
        answer = await call_refused(client, "memory", **arguments)

    assert answer["code"] == code
    async with App() as app:
        assert list(await app.scope.memories.list_memories()) == []
