"""`session operation=recent` as an agent reads it that continues the work of another."""

import re
from pathlib import Path
from typing import Any

from mcp import Client

from holdfast.app import App
from tests.surfaces.mcp import doors
from tests.surfaces.mcp.test_answers import Delivered, deliver

NEXT = re.compile(
    r"session operation=recent session_id=(\S+) max_tokens=(\d+) max_turns=(\d+)( detail=true)?"
)
OPTIONS = "Three ways are open: 1. a queue, 2. a table with a lock, 3. a cron job. Which one?"


def write_request(chars: int) -> str:
    words = " ".join(f"word{number}" for number in range(chars))
    return f"BEGIN {words}"[: chars - 4] + " END"


def make_results(count: int, chars: int = 3_000) -> list[dict[str, Any]]:
    return [
        {
            "type": "tool_result",
            "role": "tool",
            "content": f"output {number} " + "x" * chars + f" last line {number}",
            "parts": {"tool": "Bash", "input": {"command": f"make part{number}"}, "exit_code": 1},
        }
        for number in range(count)
    ]


async def append(app: App, *events: dict[str, Any]) -> str:
    session = await app.scope.sessions.create_session("a", "u1")
    await app.scope.sessions.append_events(session.id, events)
    return str(session.id)


def say(text: str, *, is_user: bool = True) -> dict[str, Any]:
    if is_user:
        return {"type": "user_message", "role": "user", "content": text}
    return {"type": "model_message", "role": "assistant", "content": text}


async def read(client: Client, session_id: str, **limits: Any) -> Delivered:
    return await deliver(client, "session", operation="recent", session_id=session_id, **limits)


async def follow(client: Client, answer: Delivered) -> Delivered:
    """Make exactly the call that the answer names."""
    [action] = answer.envelope["next_actions"]
    named = NEXT.fullmatch(action)
    assert named, action
    assert f"Next: {action}" in answer.text
    session_id, tokens, turns, detail = named.groups()
    limits: dict[str, Any] = {"max_tokens": int(tokens), "max_turns": int(turns)}
    if detail:
        limits["detail"] = True
    return await read(client, session_id, **limits)


def get_contents(answer: Delivered) -> list[str]:
    return [event["content"] for event in answer.envelope["data"]["events"]]


async def test_a_request_that_does_not_fit_has_its_beginning_its_end_and_a_call_for_the_whole(
    project: Path, store: str
):
    request = write_request(8_201)
    async with App() as app, doors.inside(project) as client:
        session_id = await append(app, say(request))
        answer = await read(client, session_id)
        more = await follow(client, answer)

    [shown] = answer.envelope["data"]["events"]
    left_out = re.search(r"\n\[… ([\d,]+) characters left out …\]\n", shown["content"])
    assert left_out
    beginning, end = shown["content"].split(left_out[0])
    assert request.startswith(beginning)
    assert request.endswith(end)
    assert len(beginning) + len(end) + int(left_out[1].replace(",", "")) == 8_201
    assert len(beginning) > 3_000
    assert len(end) > 3_000
    assert "(cut: the whole event has 8,201 characters)" in answer.text
    assert answer.chars <= 8_000
    assert get_contents(more) == [request]
    assert more.envelope["next_actions"] == []


async def test_a_long_request_is_whole_before_what_tools_printed_after_it(
    project: Path, store: str
):
    request = write_request(6_000)
    async with App() as app, doors.inside(project) as client:
        session_id = await append(app, say(request), *make_results(12))
        answer = await read(client, session_id)

    first, *_, last = answer.envelope["data"]["events"]
    assert first["content"] == request
    assert last["content"].endswith("last line 11")
    assert last["chars"] > 3_000
    assert "make part11" in answer.text
    assert answer.chars <= 8_000


async def test_the_call_for_more_shows_a_request_whole_that_tools_followed(
    project: Path, store: str
):
    request = write_request(60_000)
    async with App() as app, doors.inside(project) as client:
        offer = say("z" * 9_000, is_user=False)
        session_id = await append(app, say("hello"), offer, say(request), *make_results(12))
        answer = await read(client, session_id)
        more = await follow(client, answer)

    assert any("word0 " in text and text.endswith(" END") for text in get_contents(answer))
    assert answer.chars <= 8_000
    assert request in get_contents(more)
    assert offer["content"] in get_contents(more)


async def test_a_short_request_stands_behind_what_the_agent_offered(project: Path, store: str):
    for results in (12, 300):
        async with App() as app, doors.inside(project) as client:
            said = [say("Retry the payouts"), say(OPTIONS, is_user=False), say("2")]
            session_id = await append(app, *said, *make_results(results))
            answer = await read(client, session_id)
            more = await read(client, session_id, max_tokens=8_000)

        for shown in (answer, more):
            events = shown.envelope["data"]["events"]
            messages = [event["content"] for event in events if "parts" not in event]
            assert messages[-2:] == [OPTIONS, "2"]
            numbers = [event["sequence"] for event in events]
            assert numbers == sorted(numbers)
            assert numbers[-1] == results + 3
        assert answer.envelope["next_actions"]


async def test_a_tool_is_shortened_to_its_name_its_input_its_outcome_and_its_end(
    project: Path, store: str
):
    printed = "collected 40 items\n" + "." * 5_000 + "\n3 failed"
    answer_of_tool = '{"stdout": ' + f'"{printed}"'.replace("\n", "\\n") + ', "stderr": ""}'
    result = {
        "type": "tool_result",
        "role": "tool",
        "content": answer_of_tool,
        "parts": {"tool": "Bash", "input": {"command": "make test", "why": "y" * 900}, "code": 2},
    }
    async with App() as app, doors.inside(project) as client:
        session_id = await append(app, say(write_request(6_000)), result)
        answer = await read(client, session_id)
        whole = await read(client, session_id, max_tokens=8_000)
        detail = await read(client, session_id, max_tokens=8_000, detail=True)

    shown = answer.envelope["data"]["events"][-1]
    assert shown["content"].endswith("..\n3 failed")
    assert shown["parts"] == {"tool": "Bash", "input": "make test", "code": 2, "cut": True}
    assert shown["outcome"] == "failed, exit 2"
    assert shown["chars"] == len(answer_of_tool)
    assert "\n  outcome: failed, exit 2" in answer.text
    for wider in (whole, detail):
        event = wider.envelope["data"]["events"][-1]
        assert (event["content"], event["parts"]) == (answer_of_tool, result["parts"])
        assert wider.envelope["next_actions"] == []
    assert detail.envelope["data"]["events"][-1]["chain_hash"]


async def test_a_request_stays_behind_what_a_client_wrote_later(project: Path, store: str):
    note = {**say("<task-notification>"), "parts": {"origin": "task-notification"}}
    async with App() as app, doors.inside(project) as client:
        session_id = await append(app, say("Fix it"), *make_results(100), note, *make_results(100))
        answer = await read(client, session_id)
        single = await read(client, session_id, max_turns=1)

    said = [text for text in get_contents(answer) if not text.startswith("…")]
    assert said == ["Fix it", "<task-notification>"]
    assert "Fix it" not in get_contents(single)


async def test_an_answer_that_holds_everything_names_no_call(project: Path, store: str):
    async with App() as app, doors.inside(project) as client:
        session_id = await append(app, say("Fix it"), *make_results(2, chars=1_000))
        answer = await read(client, session_id)

    assert not any("chars" in event for event in answer.envelope["data"]["events"])
    assert answer.envelope["next_actions"] == []
