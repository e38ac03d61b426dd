"""What grows with history: the same questions to a store of a thousand sessions and to one of a
hundred thousand, with twelve events each.

One session is written through the service and cloned by SQL in our own tables, triggers included:
so many single appends would take minutes. The clones have ended, are named, and have no context
sets, so that the search for a session to continue meets nothing that would end it early.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from bench.doors import Doors, Wire, run_server, turn
from bench.measure import Lane
from bench.staleness import time_calls
from holdfast.app import App
from holdfast.ground.settings import Settings, load_settings, sqlite_path
from holdfast.storage.sqlite import connect

SMALL, LARGE, QUICK_LARGE = 1_000, 100_000, 10_000
EVENTS = 12
FOLDER = "/projects/payouts"
LIST, SHOW, TURNS = "list of sessions", "one session", "its last turns"
LAST, LAST_HERE = "last session anywhere", "last session of a folder"
STATUS, HEALTH, STATE = "counts of `holdfast status`", "`GET /api/health`", "`GET /api/state`"
CONSOLE_LIST, CONSOLE_SESSION = "console: list", "console: one session"
NAMES = "names that begin with a text"
PROMISED = (
    *(LIST, SHOW, TURNS, LAST, LAST_HERE, STATUS, HEALTH, STATE),
    *(CONSOLE_LIST, CONSOLE_SESSION),
)

CLONES = (
    """
with recursive clone (i) as (select 1 union all select i + 1 from clone where i < $count)
insert into sessions (workspace_id, developer_id, id, user_id, chatmode, started_at, ended_at,
                      metadata, worktree, last_sequence, head_hash, active_at)
select workspace_id, developer_id, printf('%08x-0000-7000-8000-000000000000', i), user_id, chatmode,
       strftime('%Y-%m-%dT%H:%M:%S.000000Z', started_at, '-' || i || ' minutes'), started_at,
       json_object('name', 'work ' || i), worktree, last_sequence, head_hash,
       strftime('%Y-%m-%dT%H:%M:%S.000000Z', active_at, '-' || i || ' minutes')
from clone cross join sessions where id = $id
""",
    """
with recursive clone (i) as (select 1 union all select i + 1 from clone where i < $count)
insert into session_state (workspace_id, developer_id, session_id, scratchpad, updated_at)
select workspace_id, developer_id, printf('%08x-0000-7000-8000-000000000000', i), scratchpad,
       updated_at
from clone cross join session_state where session_id = $id
""",
    """
with recursive clone (i) as (select 1 union all select i + 1 from clone where i < $count)
insert into session_events (workspace_id, developer_id, id, session_id, sequence, type, role,
                            content, created_at, content_hash, chain_hash)
select workspace_id, developer_id, printf('%08x-%04x-7000-8000-000000000000', i, sequence),
       printf('%08x-0000-7000-8000-000000000000', i), sequence, type, role, content, created_at,
       content_hash, chain_hash
from clone cross join session_events where session_id = $id
order by i, sequence
""",
)


def name_size(sessions: int) -> str:
    return f"{sessions:,} sessions"


@asynccontextmanager
async def scaling_lanes(folder: Path, large: int) -> AsyncIterator[list[Lane]]:
    """The questions in their order, each to the small store and then to the large one."""
    async with AsyncExitStack() as stack:
        small = await stack.enter_async_context(open_questions(folder, SMALL))
        many = await stack.enter_async_context(open_questions(folder, large))
        yield [
            Lane(name_size(size), "scaling", question, time_calls(calls[question]), most=200)
            for question in small
            for size, calls in ((SMALL, small), (large, many))
        ]


@asynccontextmanager
async def open_questions(
    folder: Path, sessions: int
) -> AsyncIterator[dict[str, Callable[[], Any]]]:
    """A store of that size, open in this process and in a server."""
    environment = Doors(folder).environment(f"{sessions}-sessions")
    settings = load_settings(environment)
    await asyncio.to_thread(fill, settings, sessions)
    async with run_server(environment) as wire:
        with App(settings) as app:
            yield list_questions(app, wire, f"{sessions // 2:08x}-0000-7000-8000-000000000000")


def fill(settings: Settings, sessions: int) -> None:
    with App(settings) as app:
        service = app.scope.sessions
        first = app.run(service.create_session("bench", "u", worktree=FOLDER))
        app.run(service.append_events(first.id, [turn(number) for number in range(EVENTS)]))
    path = sqlite_path(settings.database)
    assert path
    with connect(path) as connection:
        for statement in CLONES:
            connection.execute(statement, {"count": sessions - 1, "id": first.id})
    connection.close()


def list_questions(app: App, wire: Wire, session_id: str) -> dict[str, Callable[[], Any]]:
    """What people and health checks wait for."""
    service = app.scope.sessions
    return {
        LIST: lambda: app.run(service.list_sessions()),
        SHOW: lambda: app.run(service.get_session(session_id)),
        TURNS: lambda: app.run(service.list_turn_events(session_id)),
        LAST: lambda: app.run(service.find_last_session()),
        LAST_HERE: lambda: app.run(service.find_last_session(FOLDER)),
        NAMES: lambda: app.run(service.list_names("work 7")),
        STATUS: app.count,
        HEALTH: lambda: wire.get("/api/health"),
        STATE: lambda: wire.get("/api/state"),
        CONSOLE_LIST: lambda: wire.get("/sessions"),
        CONSOLE_SESSION: lambda: wire.get(f"/sessions/{session_id}"),
    }
