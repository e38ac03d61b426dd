"""Whatever a model sends: a clear refusal as an answer, and nothing changed."""

import asyncio
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp import Client, MCPError

from holdfast.app import App
from holdfast.ground.settings import load_settings, owner_of
from holdfast.sessions.service import SessionService
from holdfast.surfaces.mcp.server import make_server
from tests.surfaces.mcp import doors
from tests.surfaces.mcp.doors import call, call_refused, data

MESSAGE = {"event_type": "user_message", "role": "user", "content": "Hello"}
UNKNOWN = "01890000-0000-7000-8000-000000000000"
DEEP: Any = "x"
for _ in range(70):
    DEEP = {"a": DEEP}

REFUSED = [
    (
        "session",
        {},
        (
            "Tool 'session' needs an operation. Known: start, append, recent, state, "
            "update_state, end."
        ),
    ),
    (
        "session",
        {"operation": "strt"},
        "operation 'strt' is unknown; the nearest is 'start'. Known: start, append,",
    ),
    ("session", {"operation": 5}, "operation 5 is unknown"),
    ("session", {"operation": ["start"]}, "operation ['start'] is unknown"),
    ("session", {"operation": "start"}, "Operation 'start' needs chatmode"),
    ("session", {"operation": "start", "chatmode": ""}, "chatmode '' is empty"),
    ("session", {"operation": "start", "chatmode": "a\nb"}, "contains a line break"),
    ("session", {"operation": "start", "chatmode": 5}, "chatmode 5 is not a text"),
    ("session", {"operation": "start", "chatmode": "a", "user_id": ""}, "user_id '' is empty"),
    ("session", {"operation": "append"}, "Operation 'append' needs event_type, role, content"),
    (
        "session",
        {"operation": "append", **MESSAGE, "contnt": "x"},
        "Argument 'contnt' is unknown here; the nearest is",
    ),
    (
        "session",
        {"operation": "append", **MESSAGE, "max_turns": 1},
        "Argument 'max_turns' is unknown here",
    ),
    (
        "session",
        {"operation": "append", **MESSAGE, "event_type": "chat"},
        "Known: user_message, model_message",
    ),
    (
        "session",
        {"operation": "append", **MESSAGE, "role": "boss"},
        "Role 'boss' is unknown. Known: user, assistant",
    ),
    (
        "session",
        {"operation": "append", **MESSAGE, "content": {"a": 1}},
        "content {'a': 1} is not a text",
    ),
    (
        "session",
        {"operation": "append", **MESSAGE, "content": "a\x00b"},
        "NUL character at character 1",
    ),
    ("session", {"operation": "append", **MESSAGE, "parts": [1]}, "parts [1] is not a JSON object"),
    ("session", {"operation": "append", **MESSAGE, "parts": DEEP}, "nested deeper than 64 levels"),
    ("session", {"operation": "append", **MESSAGE, "event_id": "7"}, "event_id '7' is not a UUID"),
    (
        "session",
        {"operation": "append", **MESSAGE, "expected_sequence": "1"},
        "expected_sequence '1' is not a whole",
    ),
    (
        "session",
        {"operation": "append", **MESSAGE, "idempotency_key": ""},
        "idempotency key '' is not a line",
    ),
    (
        "session",
        {"operation": "append", **MESSAGE, "idempotency_key": 7},
        "idempotency key 7 is not a text",
    ),
    ("session", {"operation": "append", **MESSAGE, "session_id": 7}, "Session 7 is not a text"),
    (
        "session",
        {"operation": "recent", "idempotency_key": "k"},
        "Argument 'idempotency_key' is unknown here",
    ),
    ("session", {"operation": "recent", "max_turns": "3"}, "max_turns '3' is not a whole number"),
    (
        "session",
        {"operation": "recent", "max_tokens": True},
        "max_tokens True is not a whole number",
    ),
    ("session", {"operation": "recent", "max_turns": -1}, "max_turns -1 is not between 0 and"),
    ("get_relevant_context", {"setName": 5}, "setName 5 is not a text"),
    ("get_relevant_context", {"setName": ""}, "setName '' is empty"),
    (
        "session",
        {"operation": "update_state", "scratchpad": "x"},
        "scratchpad 'x' is not a JSON object",
    ),
    ("set_relevant_context", {}, "Tool 'set_relevant_context' needs setName, items"),
    (
        "set_relevant_context",
        {"setName": "files", "items": "/a"},
        "items '/a' is not a list of texts",
    ),
    ("set_relevant_context", {"setName": "files", "items": {"a": 1}}, "is not a list of texts"),
    ("set_relevant_context", {"setName": "files", "items": [1]}, "Item 1 is not a text"),
    (
        "set_relevant_context",
        {"setName": "files", "items": ["/r"] * 11},
        "items 11 is more than the 10",
    ),
    ("set_relevant_context", {"setName": 5, "items": []}, "setName 5 is not a text"),
    (
        "set_relevant_context",
        {"setName": "files", "items": [], "mode": "union"},
        "mode 'union' is unknown. Known: replace",
    ),
    (
        "set_relevant_context",
        {"setName": "files", "items": [], "operation": "x"},
        "Argument 'operation' is unknown",
    ),
    (
        "set_relevant_context",
        {"setname": "files", "items": []},
        "Argument 'setname' is unknown here; the nearest is",
    ),
]


async def test_every_bad_call_gets_the_reason_and_starts_no_session(project: Path, store: str):
    """The thing, its value, what is wrong; and no session is left over from a write that was
    refused.
    """
    async with doors.inside(project) as client:
        for tool, arguments, words in REFUSED:
            assert words in (await call_refused(client, tool, **arguments))["message"], arguments

    async with App() as app:
        assert await app.scope.sessions.list_sessions() == []


async def test_every_bad_call_changes_nothing_in_an_existing_session(project: Path, store: str):
    """The same calls with a session to hit."""
    async with doors.inside(project) as client:
        await call(client, "session", operation="append", **MESSAGE)
        await call(client, "set_relevant_context", setName="ports", items=["1"])
        for tool, arguments, _ in REFUSED:
            await call_refused(client, tool, **arguments)

    async with App() as app:
        [session] = await app.scope.sessions.list_sessions()
    assert (session.last_sequence, session.context, session.revision) == (1, {"ports": ["1"]}, 2)


async def test_bad_calls_are_answers_on_every_way_in(connect: doors.Connect):
    """Neither transport and neither era makes a protocol error of a refusal."""
    async with connect() as client:
        for tool, arguments, words in REFUSED[:3] + REFUSED[-2:]:
            assert words in (await call_refused(client, tool, **arguments))["message"]


async def test_the_51st_item_is_refused(project: Path, store: str):
    """Fifty items in all sets together."""
    async with doors.inside(project) as client:
        for name in "abcde":
            await call(
                client,
                "set_relevant_context",
                setName=name,
                items=[f"{name}{i}" for i in range(10)],
            )
        answer = await call_refused(
            client, "set_relevant_context", setName="files", items=["/r/one"], mode="merge"
        )
        kept = await data(client, "get_relevant_context")

    assert answer["code"] == "context_full"
    assert "files" not in kept["context"]


async def test_refusals_of_the_rooms_keep_their_codes(project: Path, store: str):
    """Ended, raced and repeated with other content are different things to an agent."""
    async with doors.inside(project) as client:
        event = (await data(client, "session", operation="append", **MESSAGE))["event"]
        session_id = event["session_id"]
        late = await call_refused(
            client, "session", operation="append", **MESSAGE, expected_sequence=0
        )
        other = await call_refused(
            client,
            "session",
            operation="append",
            **{**MESSAGE, "content": "x"},
            event_id=event["id"],
        )
        same = await data(client, "session", operation="append", **MESSAGE, event_id=event["id"])
        await call(client, "session", operation="end")
        ended = await call_refused(
            client, "session", operation="append", **MESSAGE, session_id=session_id
        )
        state = await call_refused(
            client, "session", operation="update_state", scratchpad={}, session_id=session_id
        )

    assert (late["code"], other["code"]) == ("sequence_conflict", "event_conflict")
    assert same["event"] == event
    assert ended["code"] == state["code"] == "session_ended"
    assert ended["next_actions"] == [f"session operation=start session_id={session_id}"]


async def test_a_session_of_another_developer_is_answered_like_an_unknown_one(
    project: Path, store: str
):
    """An id is a name and not a right: word for word the same, in every operation."""
    async with App() as app:
        stranger = SessionService(
            app.database, owner=owner_of(load_settings().workspace, "stranger")
        )
        theirs = await stranger.create_session("debug", "stranger", name="theirs")

    calls = [
        ("session", {"operation": "start"}),
        ("session", {"operation": "append", **MESSAGE}),
        ("session", {"operation": "recent"}),
        ("session", {"operation": "state"}),
        ("session", {"operation": "update_state", "scratchpad": {"a": 1}}),
        ("session", {"operation": "end"}),
        ("set_relevant_context", {"setName": "files", "items": ["/a"]}),
        ("get_relevant_context", {}),
    ]
    async with doors.inside(project) as client:
        for tool, arguments in calls:
            foreign = await call_refused(client, tool, **arguments, session_id=theirs.id)
            unknown = await call_refused(client, tool, **arguments, session_id=UNKNOWN)
            named = await call_refused(client, tool, **arguments, session_id="theirs")
            assert foreign["code"] == unknown["code"] == named["code"] == "session_not_found"
            assert foreign["message"] == unknown["message"].replace(UNKNOWN, theirs.id)


async def test_an_unknown_tool_is_refused_with_the_known_ones(connect: doors.Connect):
    """As the protocol has it: there is no tool that could answer."""
    async with connect() as client:
        with pytest.raises(
            MCPError, match="Known: session, set_relevant_context, get_relevant_context"
        ) as error:
            await client.call_tool("sesion", {})

    assert error.value.error.code == -32602


async def test_a_bug_is_reported_by_its_place_without_any_content(
    project: Path, capsys: pytest.CaptureFixture[str]
):
    """Neither to the agent nor on stderr; a file that cannot be used is not a bug."""

    async def app_for(error: Exception) -> App:
        raise error

    for error, code, words in (
        (
            ZeroDivisionError("secret words"),
            "bug",
            "This is a bug in Holdfast: ZeroDivisionError at test_bad_input.py:",
        ),
        (
            PermissionError(13, "Permission denied", "/r/x"),
            "unavailable",
            "'/r/x' cannot be used: Permission denied.",
        ),
    ):
        async with Client(
            make_server(lambda _, error=error: app_for(error)), mode=doors.HANDSHAKE
        ) as client:
            answer = await call_refused(client, "get_relevant_context")
            with pytest.raises(MCPError, match=re.escape(words)):
                await client.get_prompt("workspace-resume")
        assert (answer["code"], answer["message"].startswith(words)) == (code, True)
        assert "secret" not in str(answer)
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 2
    assert all(
        line.startswith("holdfast mcp: This is a bug in Holdfast: ZeroDivisionError at ")
        for line in told
    )


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=8,
)
NAMES = st.sampled_from(
    [
        *(
            "operation",
            "session_id",
            "chatmode",
            "content",
            "event_type",
            "role",
            "parts",
            "items",
            "setName",
            "mode",
        ),
        *(
            "scratchpad",
            "idempotency_key",
            "max_turns",
            "max_tokens",
            "expected_sequence",
            "event_id",
            "name",
        ),
    ]
)
VALUES = JSON | st.sampled_from(
    ["start", "append", "recent", "state", "update_state", "end", "files", "merge", "user"]
)
CALLS = st.lists(
    st.tuples(
        st.sampled_from(["session", "set_relevant_context", "get_relevant_context"]),
        st.dictionaries(NAMES | st.text(max_size=6), VALUES, max_size=6),
    ),
    max_size=12,
)


def test_any_calls_get_the_same_answers_on_both_engines(
    project: Path, sqlite_url: str, postgres_url: str, scale: Callable[[int], int]
):
    """Any JSON in any place: an answer in the envelope, the same verdict on both engines, and never
    a bug.
    """

    @given(calls=CALLS)
    @settings(max_examples=scale(1000), suppress_health_check=[HealthCheck.too_slow], database=None)
    def sent(calls: list[tuple[str, dict[str, Any]]]) -> None:
        on_sqlite, on_postgres = runner.run(answers(calls))
        assert on_sqlite == on_postgres
        assert "bug" not in [code for _, code in on_sqlite]

    async def answers(
        calls: list[tuple[str, dict[str, Any]]],
    ) -> list[list[tuple[str, str | None]]]:
        found: list[list[tuple[str, str | None]]] = []
        for app in apps:
            async with doors.on_app(app, project) as client:
                envelopes = [
                    (await client.call_tool(tool, given)).structured_content
                    for tool, given in calls
                ]
            found.append([(envelope["status"], envelope.get("code")) for envelope in envelopes])
        return found

    apps = [
        App(load_settings({**os.environ, "HOLDFAST_DATABASE": url}))
        for url in (sqlite_url, postgres_url)
    ]
    with asyncio.Runner() as runner:
        for app in apps:
            runner.run(app.__aenter__())
        sent()
        for app in apps:
            runner.run(app.__aexit__())
