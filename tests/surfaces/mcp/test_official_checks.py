"""The official programs: the Inspector as a client of every way in, and the conformance runner
against the real door.

What the runner cannot pass here is listed in `conformance_expected_failures.yml`, with the reason
for each. The runner itself fails when something else fails, and when something on the list passes.
"""

import asyncio
import json
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
import yaml

from holdfast.app import App
from holdfast.surfaces.http.app import make_http_app
from holdfast.surfaces.http.guard import Site
from holdfast.surfaces.http.token import Keys
from tests.surfaces.mcp import doors, node

EXPECTED_FAILURES = Path(__file__).with_name("conformance_expected_failures.yml")
PATIENCE_SECONDS = 280.0
REVISIONS = ("2025-11-25", "2026-07-28")


@asynccontextmanager
async def run_server(*, lets_in: bool = False) -> AsyncIterator[tuple[str, str]]:
    """The URL and the token of the real HTTP door; it `lets_in` a program that
    cannot send a token.
    """
    async with App(folder=os.getcwd()) as app:
        keys = Keys(app.settings.home)
        with socket.socket(proto=socket.IPPROTO_TCP) as listening:
            listening.bind(("127.0.0.1", 0))
            port = listening.getsockname()[1]
            door = make_http_app(app, site=Site(port=port), keys=keys)
            host = with_token(door, keys.token) if lets_in else door
            server = uvicorn.Server(uvicorn.Config(host, log_level="critical"))
            serving = asyncio.create_task(server.serve(sockets=[listening]))
            while not server.started:
                await asyncio.sleep(0.01)
            try:
                yield f"http://127.0.0.1:{port}/mcp", keys.token
            finally:
                server.should_exit = server.force_exit = True
                await serving


def with_token(door: Any, token: str) -> Any:
    async def let_in(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            scope = {
                **scope,
                "headers": [*scope["headers"], (b"authorization", f"Bearer {token}".encode())],
            }
        await door(scope, receive, send)

    return let_in


async def run(*command: str, cwd: Path) -> tuple[int, str, str]:
    process = await asyncio.create_subprocess_exec(
        *command,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=node.environment(),
        cwd=cwd,
    )
    out, err = await asyncio.wait_for(process.communicate(), PATIENCE_SECONDS)
    return process.returncode or 0, out.decode(), err.decode()


@pytest.mark.parametrize("revision", REVISIONS)
async def test_the_conformance_runner_finds_only_what_is_expected(revision: str, tmp_path: Path):
    """Everything that a revision requires of a server, through Host, Origin and token checks."""
    conformance = node.program("conformance")
    async with run_server(lets_in=True) as (url, _):
        code, out, err = await run(
            *conformance,
            *("server", "--url", url, "--requirements", revision),
            *(
                "--expected-failures",
                str(EXPECTED_FAILURES),
                "--output-dir",
                str(tmp_path / "results"),
            ),
            cwd=tmp_path,
        )

    assert code == 0, out[-6000:] + err[-2000:]


def test_every_expected_failure_has_its_reason():
    """A list without reasons is a list that no reader questions."""
    listed = yaml.safe_load(EXPECTED_FAILURES.read_text())["server"]
    lines = [
        line for line in EXPECTED_FAILURES.read_text().splitlines() if line.strip().startswith("- ")
    ]

    assert len(listed) == len(set(listed)) == len(lines)
    assert all(line.partition("#")[2].strip() for line in lines)


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_the_inspector_works_over_stdio(era: str, project: Path, tmp_path: Path):
    """Lists, a call, a prompt; and no client stumbles over our schemas."""
    inspector = [*node.program("mcp-inspector"), "--cli", *doors.COMMAND, "--protocol-era", era]
    home = ["-e", f"HOLDFAST_HOME={os.environ['HOLDFAST_HOME']}", "--cwd", str(project)]
    await check_inspector([*inspector, *home], tmp_path)


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_the_inspector_works_over_http(era: str, tmp_path: Path):
    """Through the real door, with its token."""
    inspector = [*node.program("mcp-inspector"), "--cli"]
    async with run_server() as (url, token):
        key = ["--header", f"Authorization: Bearer {token}"]
        await check_inspector(
            [*inspector, url, "--transport", "http", "--protocol-era", era, *key],
            tmp_path,
            names_session=True,
        )


async def check_inspector(inspector: list[str], cwd: Path, *, names_session: bool = False) -> None:
    """Over HTTP each call is a connection of its own, or none, so it names its session."""

    async def asked(method: str, *options: str) -> Any:
        code, out, err = await run(*inspector, "--method", method, *options, cwd=cwd)
        assert code == 0, (out, err)
        return json.loads(out)

    tools = await asked("tools/list", "--strict")
    named: list[str] = []
    if names_session:
        start = ["--tool-name", "session", "--tool-arg", "operation=start", "chatmode=debug"]
        started = await asked("tools/call", *start)
        named = [f"session_id={started['structuredContent']['data']['session']['id']}"]
    called = await asked(
        "tools/call",
        "--tool-name",
        "set_relevant_context",
        "--tool-arg",
        "setName=files",
        'items=["/r/a"]',
        *named,
    )
    prompt = await asked("prompts/get", "--prompt-name", "workspace-resume")

    assert [tool["name"] for tool in tools["tools"]] == [
        *("session", "set_relevant_context", "get_relevant_context", "memory", "repo_context"),
        "conversation",
    ]
    assert called["structuredContent"]["data"]["context"] == {"files": ["/r/a"]}
    assert "Continue earlier work" in prompt["messages"][0]["content"]["text"]
