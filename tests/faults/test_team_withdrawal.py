"""R18 and T4 on all surfaces: what another process has withdrawn is in no answer that begins after.

The reader keeps its programs open, as people and agents do, so that nothing of an earlier answer
may be left in them. Tests of the races themselves are in test_team_races.py.
"""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from holdfast.usecases.events import Events
from tests.faults import team_writers
from tests.rig.nursery import Child, Nursery
from tests.surfaces import exchange_doors
from tests.surfaces.exchange_doors import (
    CLI,
    HTTP,
    MCP_HTTP,
    PLACE,
    HttpDoor,
    McpDoor,
    Team,
)
from tests.surfaces.test_hook import fire, payload
from tests.surfaces.test_hook_notices import describe_edit

pytestmark = pytest.mark.own_database

WRITER, READER = "dev-a", "dev-b"
WAYS = ("revoke", "supersede", "private")
# Whole programs, and each but the hook's block is one that nothing of the exchange may be in.
COMMANDS = (
    ("team", "contexts"),
    ("team", "contexts", WRITER, "--json"),
    ("team", "state"),
    ("team", "state", "--json"),
    ("status",),
    ("status", "--json"),
    ("bundle", "show"),
    ("why",),
    ("search", "retry"),
    ("resume", "--print"),
)
SHOWING = {"team contexts", f"team contexts {WRITER} --json", "team state", "team state --json"}
SHOWING |= {"hook at the start"}
Read = Callable[[], Awaitable[str]]


class Reader:
    """One developer at every surface, each by its name."""

    def __init__(self, team: Team, doors: dict[str, Any], app: Any, project: Path):
        self.team, self.doors, self.app, self.project = team, doors, app, project
        self.windows = 0

    def list_fast(self) -> dict[str, Read]:
        mcp, http = self.doors[MCP_HTTP], self.doors[HTTP]
        found: dict[str, Read] = {}
        for name in ("get_context", "state"):
            found[f"mcp {name}"] = lambda name=name: _read_told(mcp, name)  # type: ignore[misc]
        found["mcp resource"] = lambda: _read_resource(mcp)
        for path in ("/api/contexts", "/api/state", "/api/handoffs"):
            found[path] = lambda path=path: _read_path(http, path)  # type: ignore[misc]
        return found

    async def read_slow(self) -> dict[str, str]:
        """Commands, and hooks of a window that is new each time."""
        cli = self.doors[CLI]
        found = {}
        for words in COMMANDS:
            answer = await cli.run(*words)
            assert "Traceback" not in answer.err
            asked = WRITER if WRITER in words else ""
            found[" ".join(words)] = (answer.out + answer.err).replace(f"'{asked}'", "ASKED")
        self.windows += 1
        given = {"cwd": str(self.project), "session_id": f"window-{self.windows}"}
        start = payload("claude", "SessionStart", source="startup", **given)
        found["hook at the start"] = fire("claude", "SessionStart", start).out
        edit = describe_edit("claude", self.project / "src/retry.py", "x = 1\n")
        asked = payload("claude", "PreToolUse", **{**edit, **given})
        found["hook at an edit"] = fire("claude", "PreToolUse", asked).out
        return found


async def _read_told(door: McpDoor, name: str) -> str:
    return (await door.ask(name)).text


async def _read_resource(door: McpDoor) -> str:
    read = await door.client.read_resource("holdfast://contexts")
    assert (read.ttl_ms, read.cache_scope) == (0, "private")
    return str(read.contents[0].text)


async def _read_path(door: HttpDoor, path: str) -> str:
    """A reader who has an answer already is not told that it still holds."""
    answer = await door.client.get(path, headers={"If-None-Match": "*"})
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")
    assert "etag" not in answer.headers
    found = answer.json()
    found.pop("workEvents", None)  # that something was published stays true of who is public
    return json.dumps(found)


@asynccontextmanager
async def open_reader(
    folder: Path, monkeypatch: pytest.MonkeyPatch, database_url: str
) -> AsyncIterator[Reader]:
    monkeypatch.setenv("HOLDFAST_DATABASE", database_url)
    monkeypatch.setenv("HOLDFAST_DEVELOPER", READER)
    project = exchange_doors.make_project(folder / "project", monkeypatch)
    team = Team(HTTP, project, monkeypatch)
    async with AsyncExitStack() as stack:
        doors = {}
        for name in (MCP_HTTP, HTTP, CLI):
            at = Team(name, project, monkeypatch)
            [doors[name]] = await stack.enter_async_context(at.enter(READER))
        app = await stack.enter_async_context(team.inside(READER))
        yield Reader(team, doors, app, project)


async def test_what_was_withdrawn_is_in_no_answer_of_any_surface(
    nursery: Nursery,
    database_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    scale: Callable[[int], int],
):
    """More than 1,000 reads in 180 rounds: revoke, supersede and private in turn; a sixth of the
    rounds with whole programs.
    """
    rounds = scale(180)
    child = nursery.start(team_writers.publish_and_withdraw_when_told, database_url, WRITER)
    assert child.hear() == "open"
    async with open_reader(tmp_path, monkeypatch, database_url) as reader:
        for number in range(rounds):
            words = {"title": f"WORDS-{number}", "summary": f"WORDS-{number} of a summary", **PLACE}
            way, is_slow = WAYS[number % len(WAYS)], number < rounds // 6
            cursor = await Events(reader.app.scope).end()
            context_id = tell(child, "publish", words)
            before = await read_all(reader, is_slow=is_slow)
            tell(child, way, words)
            after = await read_all(reader, is_slow=is_slow)

            traces = [f"WORDS-{number}", context_id]
            if way == "private":
                traces.append(WRITER)
                assert await Events(reader.app.scope).read(cursor) == []
            shown = {name for name, text in before.items() if context_id in text}
            assert shown == {*reader.list_fast(), *(SHOWING if is_slow else ())}
            left = {name for name, text in after.items() for each in traces if each in text}
            assert left == set(), (number, way)
    child.say(None)
    assert child.wait() == 0


def tell(child: Child, way: str, words: dict[str, Any]) -> str:
    child.say([way, words])
    heard: str = child.hear()
    return heard


async def read_all(reader: Reader, *, is_slow: bool) -> dict[str, str]:
    found = {name: await read() for name, read in reader.list_fast().items()}
    return {**found, **(await reader.read_slow() if is_slow else {})}
