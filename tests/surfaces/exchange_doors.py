"""Every way into the team exchange, asked with the same words and answering in the same form.

An operation has the name and the arguments that the design gives it. What a door calls a thing is
known here alone, so that one story is told to all of them.
"""

import asyncio
import io
import json
import os
from collections.abc import AsyncIterator
from contextlib import (
    AsyncExitStack,
    asynccontextmanager,
    redirect_stderr,
    redirect_stdout,
)
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import httpx
import pytest
from mcp import Client

from holdfast.app import App
from holdfast.ground.settings import load_settings
from holdfast.surfaces.cli import main
from tests.ground.repositories import PERSON, make_filled
from tests.rig.commands import Answer
from tests.surfaces.http.test_engines_agree import client_of
from tests.surfaces.mcp import doors as mcp_doors

MCP_STDIO, MCP_HTTP, HTTP, CLI = "mcp-stdio", "mcp-http", "http-api", "cli"
DOORS = (MCP_STDIO, MCP_HTTP, HTTP, CLI)
SESSION, TEAM, COORDINATION = "covibe_session", "covibe_team", "covibe_coordination"
TOOLS = {
    **dict.fromkeys(("publish_context", "get_context", "revoke_context"), SESSION),
    "state": TEAM,
    **dict.fromkeys(
        ("claim", "release", "handoff", "accept", "decline", "complete", "cancel"), COORDINATION
    ),
}
RESULT = {"publish_context": "context", "revoke_context": "context"}
RESULT |= dict.fromkeys(("claim", "release"), "claim")
RESULT |= dict.fromkeys(("handoff", "accept", "decline", "complete", "cancel"), "handoff")


PLACE = {"repo": "github.com/acme/payouts", "branch": "retry"}


def make_project(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout at the place that the tests name, which is the current one from now on."""
    for name, value in PERSON.items():
        monkeypatch.setenv(name, value)
    work = make_filled(folder)
    work.git("remote", "add", "origin", f"https://{PLACE['repo']}.git")
    work.git("checkout", "--quiet", "-b", PLACE["branch"])
    monkeypatch.chdir(work.root)
    return work.root


@dataclass(frozen=True)
class Told:
    """What a door answered: the code of an error, or data; and all that its caller received."""

    code: str | None
    data: dict[str, Any]
    received: tuple[str, ...]

    @property
    def text(self) -> str:
        return "\n".join(self.received)


class Door(Protocol):
    """One developer at one way in."""

    async def ask(self, operation: str, **given: Any) -> Told: ...


# --- MCP ------------------------------------------------------------------------------------------


class McpDoor:
    def __init__(self, client: Client):
        self.client = client

    async def ask(self, operation: str, **given: Any) -> Told:
        answer = await self.client.call_tool(TOOLS[operation], {"operation": operation, **given})
        [content] = answer.content
        envelope = answer.structured_content
        assert envelope["status"] == ("error" if answer.is_error else envelope["status"])
        received = (str(answer.is_error), content.text, json.dumps(envelope))
        return Told(envelope.get("code"), envelope["data"], received)


# --- HTTP -----------------------------------------------------------------------------------------

ROUTES = {
    "publish_context": ("POST", "/api/contexts"),
    "get_context": ("GET", "/api/contexts"),
    "revoke_context": ("DELETE", "/api/contexts/{context_id}"),
    "state": ("GET", "/api/state"),
    "claim": ("POST", "/api/claims"),
    "release": ("DELETE", "/api/claims/{claim_id}"),
    "handoff": ("POST", "/api/handoffs"),
    **{
        name: ("POST", f"/api/handoffs/{{handoff_id}}/{name}")
        for name in ("accept", "decline", "complete", "cancel")
    },
}


class HttpDoor:
    def __init__(self, client: httpx.AsyncClient):
        self.client = client

    async def ask(self, operation: str, **given: Any) -> Told:
        method, path = ROUTES[operation]
        in_path = {name for name in given if f"{{{name}}}" in path}
        rest = {name: value for name, value in given.items() if name not in in_path}
        sent: dict[str, Any] = {"params": rest} if method == "GET" else {}
        if method == "POST":
            sent = {"json": rest}
        answer = await self.client.request(method, path.format(**given), **sent)
        assert answer.headers["cache-control"] == "no-store"
        headers = [f"{name}: {value}" for name, value in answer.headers.items() if name != "date"]
        received = (str(answer.status_code), "\n".join(headers), answer.text)
        found = answer.json()
        if answer.is_error:
            return Told(found["code"], {}, received)
        return Told(None, _name_as_the_tools(operation, found), received)


def _name_as_the_tools(operation: str, found: dict[str, Any]) -> dict[str, Any]:
    if operation in RESULT:
        return {RESULT[operation]: found}
    if operation == "state":
        return {**found, "published_contexts": found["sessionContexts"]}
    return found


# --- the command line -----------------------------------------------------------------------------

VERBS = {"publish_context": "publish", "get_context": "contexts", "revoke_context": "revoke"}
POSITIONAL = ("developer", "context_id", "claim_id", "handoff_id", "paths")
OPTIONS = {
    "files_touched": "--file",
    "next_actions": "--next",
    "blockers": "--blocker",
    "task_ids": "--task",
}


class CliDoor:
    """In this process; each call is a program of its own otherwise."""

    def __init__(self, handle: str, monkeypatch: pytest.MonkeyPatch):
        self.handle = handle
        self.monkeypatch = monkeypatch

    async def ask(self, operation: str, **given: Any) -> Told:
        answer = await self.run(*_write_words(operation, given), "--json")
        found = answer.document
        return Told(found.get("code"), found, (str(answer.code), answer.out, answer.err))

    async def ask_as_person(self, operation: str, **given: Any) -> Told:
        """The same in words."""
        answer = await self.run(*_write_words(operation, given))
        return Told(None, {}, (str(answer.code), answer.out, answer.err))

    async def run(self, *words: str) -> Answer:
        self.monkeypatch.setenv("HOLDFAST_DEVELOPER", self.handle)
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            code = await asyncio.to_thread(main, list(words))
        return Answer(code, out.getvalue(), err.getvalue())


def _write_words(operation: str, given: dict[str, Any]) -> list[str]:
    words = ["team", VERBS.get(operation, operation)]
    for name, value in given.items():
        if operation == "claim" and name in ("repo", "branch"):
            continue  # its place is that of the checkout
        values = value if isinstance(value, list) else [value]
        option = OPTIONS.get(name, "--" + name.replace("_", "-"))
        for each in values:
            words += [str(each)] if name in POSITIONAL else [option, str(each)]
    return [*words, "--yes"] if operation == "publish_context" else words


# --- all of them ----------------------------------------------------------------------------------


class Team:
    """The developers of one store, each at the same way in."""

    def __init__(self, door: str, folder: Path, monkeypatch: pytest.MonkeyPatch):
        self.door = door
        self.folder = folder
        self.monkeypatch = monkeypatch
        self.workspace = load_settings().workspace

    @asynccontextmanager
    async def enter(self, *handles: str) -> AsyncIterator[list[Door]]:
        """Doors for these developers, who are known to the team from now on.

        Over stdio the first has a process, as all of them would; starting it takes the time.
        """
        async with AsyncExitStack() as stack:
            found = []
            for handle in handles:
                await self.become(handle, "public")
                is_first = handle == handles[0]
                opened = self._open(handle, is_first=is_first)
                found.append(await stack.enter_async_context(opened))
            yield found

    @asynccontextmanager
    async def _open(self, handle: str, *, is_first: bool) -> AsyncIterator[Door]:
        if self.door == CLI:
            yield CliDoor(handle, self.monkeypatch)
        elif self.door == MCP_HTTP:
            self.monkeypatch.setenv("HOLDFAST_DEVELOPER", handle)
            async with mcp_doors.over_http(era=mcp_doors.HANDSHAKE) as client:
                yield McpDoor(client)
        elif self.door == MCP_STDIO and is_first:
            async with mcp_doors.over_stdio(self.folder, HOLDFAST_DEVELOPER=handle) as client:
                yield McpDoor(client)
        elif self.door == MCP_STDIO:
            async with self.inside(handle) as app, mcp_doors.on_app(app, self.folder) as client:
                yield McpDoor(client)
        else:
            async with self.inside(handle) as app, client_of(app) as http_client:
                yield HttpDoor(http_client)

    @asynccontextmanager
    async def inside(self, handle: str, workspace: str | None = None) -> AsyncIterator[App]:
        """The program of one developer, past every door."""
        chosen = {
            "HOLDFAST_DEVELOPER": handle,
            "HOLDFAST_WORKSPACE": workspace or self.workspace,
        }
        settings = load_settings({**os.environ, **chosen})
        async with App(settings) as app:
            yield app

    async def become(self, handle: str, visibility: str) -> None:
        async with self.inside(handle) as app:
            await app.scope.team.set_visibility(visibility)

    async def list_usage(self, handle: str) -> list[tuple[str, str]]:
        """The calls of one developer and how they ended, oldest first."""
        async with self.inside(handle) as app:
            found = await app.scope.team.list_usage(1000)
            own = app.settings.owner.developer_id
        return [(each.operation, each.outcome) for each in found if each.developer_id == own][::-1]

    async def list_work(self, handle: str) -> list[tuple[str, str, str]]:
        """What the team did, as one developer sees it, oldest first: type, who, and what about."""
        async with self.inside(handle) as app:
            found = await app.scope.team.store.list_newest_events(50)
        return [(each.type, each.developer.handle, each.subject) for each in found][::-1]
