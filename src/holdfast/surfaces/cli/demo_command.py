"""`holdfast demo`: a first story, played for real on a store in a temporary folder.

Nothing is pretended: every line comes from a command or a hook that runs as a process of its own,
and steps that replay what an agent program would send are marked `replayed`.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import click

from holdfast.errors import ExtraMissingError, HoldfastError
from holdfast.ground.frozen import dataclass, replace
from holdfast.ground.text import term_safe
from holdfast.surfaces.cli.demo_transcript import SESSION
from holdfast.surfaces.cli.errors import StoppedError
from holdfast.surfaces.cli.running import Command, Output, show

LINE_CHARS = 74
DEVELOPER = "demo"
ACKNOWLEDGED = 40  # before the kill
GIT_SETTINGS = ("user.name=Demo", "user.email=demo@example.org", "init.defaultBranch=main")
WRITER = """
from holdfast.app import App
with App() as app:
    session = app.run(app.scope.sessions.find_session({name!r}))
    while True:
        verb = app.scope.sessions.append_event(session.id, "model_message", "assistant", "…")
        event = app.run(verb)
        print(event.sequence, flush=True)
"""


@click.command("demo", cls=Command)
@click.option("--serve", is_flag=True, help="Then show the example in the browser, until Ctrl-C")
@click.pass_context
def command(context: click.Context, serve: bool) -> int:
    """Play a short example on a temporary store"""
    if serve and find_spec("fastapi") is None:
        raise ExtraMissingError("holdfast demo --serve", "server")
    folder = tempfile.mkdtemp(prefix="holdfast-demo-")
    try:
        stage = Stage(folder, quiet=context.meta["json"])
        from holdfast.surfaces.cli import demo_story

        facts = demo_story.play(stage)
        if not serve:
            stage.say(
                "\nNext: holdfast demo --serve (or make demo ARGS=--serve) shows it in the browser",
                bold=True,
            )
        show(Output(facts, ""), as_json=context.meta["json"])
        if serve:
            return stage.serve()
        return 0
    except KeyboardInterrupt:
        raise StoppedError(
            "Stopped. The story and its folder are gone; your own store was not touched."
        ) from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True)
class Stage:
    """A store and a working tree of its own, and a way to speak."""

    folder: str
    quiet: bool
    developer: str = DEVELOPER
    place: str = "payouts"

    @property
    def repository(self) -> str:
        """Where the story keeps its code, once there is any."""
        return os.path.join(self.folder, self.place)

    def turn_to(self, developer: str, place: str) -> Stage:
        """The same story on the screen of another developer."""
        return replace(self, developer=developer, place=place)

    @property
    def _who(self) -> str:
        return "" if self.developer == DEVELOPER else f"{self.developer} "

    def say(self, text: str, **style: Any) -> None:
        if not self.quiet:
            click.echo(click.style(term_safe(text), **style))

    def chapter(self, title: str) -> None:
        self.say(f"\n{title}", bold=True)

    def run(self, *arguments: str, expect: int = 0, folder: str = "") -> dict[str, Any]:
        """One real command; shown as typed, answered as JSON."""
        typed = shlex.join(("holdfast", *arguments))
        self._show_typed(f"{self._who}$", typed)
        done = self._start(_with_json(arguments), None, folder)
        answer: dict[str, Any] = json.loads(done.stdout)
        if done.returncode != expect:
            raise HoldfastError(f"`{typed}` exited with {done.returncode}: {answer}")
        return answer

    def replay(self, client: str, event: str, **payload: Any) -> str:
        """One real hook process with the payload that this program sends.

        Returns what its model would read.
        """
        shown = f"{self._who}{client} → holdfast hook {client} {event}   [replayed]"
        self.say(f"  {shown}", fg="cyan")
        full = {
            "hook_event_name": event,
            "cwd": self.repository,
            "session_id": SESSION,
            **payload,
        }
        answer = self._start(["hook", client, event], json.dumps(full)).stdout
        if not answer:
            return ""
        text: str = json.loads(answer)["hookSpecificOutput"]["additionalContext"]
        return text

    def call_tool(self, name: str, **arguments: Any) -> dict[str, Any]:
        """What one call to a real `holdfast mcp` process answers, over its pipes."""
        self._show_typed(f"{self._who}agent →", f"{name} {json.dumps(arguments)}")
        client = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "demo", "version": "1"},
        }
        messages: list[dict[str, Any]] = [
            {"id": 1, "method": "initialize", "params": client},
            {"method": "notifications/initialized"},
            {"id": 2, "method": "tools/call", "params": {"name": name, "arguments": arguments}},
        ]
        with subprocess.Popen(
            [sys.executable, "-m", "holdfast", "mcp"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # what it prints at a Ctrl-C is not part of the story
            text=True,
            cwd=self.repository if os.path.isdir(self.repository) else self.folder,
            env=self._environment(),
        ) as server:
            assert server.stdin is not None
            assert server.stdout is not None
            for message in messages:
                server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            server.stdin.flush()
            answers = map(json.loads, server.stdout)
            answer: dict[str, Any] = next(found for found in answers if found.get("id") == 2)
            server.stdin.close()
        result: dict[str, Any] = answer["result"]
        return result

    def serve(self) -> int:
        """The console on this store, in the foreground."""
        command = [sys.executable, "-m", "holdfast", "serve", "--port", "0"]
        for root in (self.repository, self.folder):
            if os.path.isdir(root):
                command += ["--root", root]
        server = subprocess.Popen(command, cwd=self.folder, env=self._environment())
        # Ctrl-C reaches both; another signal is passed on, so that the server does not stay.
        signal.signal(signal.SIGTERM, lambda *_: server.terminate())
        try:
            return server.wait()
        except KeyboardInterrupt:  # it was meant for the server, which is ending
            return server.wait()

    def kill_writer(self, session: str) -> int:
        """The last number that was acknowledged to a process before it was killed."""
        code = WRITER.format(name=session)
        self.say("  a process appends as fast as it can … kill -9", fg="cyan")
        with subprocess.Popen(
            [sys.executable, "-c", code],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=self.folder,
            env=self._environment(),
        ) as writer:
            assert writer.stdout is not None
            numbers = [int(writer.stdout.readline()) for _ in range(ACKNOWLEDGED)]
            writer.kill()
            numbers += [int(line) for line in writer.stdout if line.endswith("\n")]
        return numbers[-1]

    def _show_typed(self, prompt: str, text: str) -> None:
        lines = textwrap.wrap(text, LINE_CHARS, break_long_words=False, break_on_hyphens=False)
        typed = "\n      ".join(lines)
        self.say(f"  {prompt} {typed}", fg="cyan")

    def note(self, text: str) -> None:
        self.say(f"    {text}")

    def git(self, folder: str, *arguments: str) -> None:
        """In a repository of the story; the person's own settings of git are left out of it."""
        self._show_typed("$", shlex.join(("git", *arguments)))
        settings = [part for setting in GIT_SETTINGS for part in ("-c", setting)]
        environment = {
            **self._environment(),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_SYSTEM": os.devnull,
        }
        done = subprocess.run(
            ["git", *settings, *arguments],
            cwd=folder,
            env=environment,
            capture_output=True,
            check=False,
        )
        if done.returncode:
            raise HoldfastError(
                f"git {arguments[0]} exited with {done.returncode}: {done.stderr.decode()}"
            )

    def _start(
        self, arguments: list[str], stdin: str | None, folder: str = ""
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "holdfast", *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            cwd=os.path.join(self.folder, folder),
            env=self._environment(),
            check=False,
        )

    def _environment(self) -> dict[str, str]:
        """The person's own, without settings of ours, and without events that wait for a store."""
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST_")
        }
        return kept | {
            "HOLDFAST_HOME": os.path.join(self.folder, "home"),
            "HOLDFAST_DEVELOPER": self.developer,
            "XDG_RUNTIME_DIR": self.folder,
            "TMPDIR": self.folder,
            "SHARED_CONTEXT_ENABLED": "true",
            "PYTHONWARNINGS": "ignore",
        }


def _with_json(arguments: Sequence[str]) -> list[str]:
    """What follows `--` belongs to the command that is run, so our option stands before it."""
    own = list(arguments)
    if "--" not in own:
        return [*own, "--json"]
    end = own.index("--")
    return [*own[:end], "--json", *own[end:]]
