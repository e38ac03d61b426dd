"""`holdfast demo`: a first story, played for real on a store in a temporary folder.

Nothing is pretended: every line comes from a command or a hook that runs as a process of its own, and steps that
replay what an agent program would send are marked `replayed`.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import textwrap
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import click

from holdfast.errors import ExtraMissingError, HoldfastError
from holdfast.ground.text import term_safe
from holdfast.surfaces.cli.running import Command, show
from holdfast.surfaces.cli.running import Output as Answer

STORY = "A webhook has to be retried, and must never pay twice."
WORK = "webhook retry"
LINE_CHARS = 74
ACKNOWLEDGED = 40  # before the kill
WRITER = """
from holdfast.app import App
with App() as app:
    session = app.run(app.sessions.find_session({name!r}))
    while True:
        print(app.run(app.sessions.append_event(session.id, "model_message", "assistant", "…")).sequence, flush=True)
"""


@click.command("demo", cls=Command)
@click.option("--serve", is_flag=True, help="Then show the story in the browser, until Ctrl-C")
@click.pass_context
def command(context: click.Context, serve: bool) -> int:
    """Play a short story on a store of its own"""
    if serve and find_spec("fastapi") is None:
        raise ExtraMissingError("holdfast demo --serve", "server")
    folder = tempfile.mkdtemp(prefix="holdfast-demo-")
    try:
        stage = Stage(folder, quiet=context.meta["json"])
        facts = play(stage)
        if not serve:
            stage.say("\nNext: holdfast demo --serve (or make demo ARGS=--serve) shows it in the browser", bold=True)
        show(Answer(facts, ""), as_json=context.meta["json"])
        return stage.serve() if serve else 0
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True)
class Stage:
    """A store and a working tree of its own, and a way to speak."""

    folder: str
    quiet: bool

    def say(self, text: str, **style: Any) -> None:
        if not self.quiet:
            click.echo(click.style(term_safe(text), **style))

    def chapter(self, title: str) -> None:
        self.say(f"\n{title}", bold=True)

    def run(self, *arguments: str, expect: int = 0) -> dict[str, Any]:
        """One real command; shown as typed, answered as JSON."""
        shown = shlex.join(("holdfast", *arguments))
        self._typed("$", shown)
        done = self._start([*arguments, "--json"], None)
        answer: dict[str, Any] = json.loads(done.stdout)
        if done.returncode != expect:
            raise HoldfastError(f"`{shown}` exited with {done.returncode}: {answer}")
        return answer

    def replay(self, client: str, event: str, **payload: Any) -> None:
        """One real hook process with the payload that this program sends."""
        self.say(f"  {client} → holdfast hook {client} {event}   [replayed]", fg="cyan")
        full = {"hook_event_name": event, "cwd": self.folder, "session_id": "demo-session", **payload}
        self._start(["hook", client, event], json.dumps(full))

    def call_tool(self, name: str, **arguments: Any) -> dict[str, Any]:
        """One call to a real `holdfast mcp` process, over its pipes, as an agent program makes it."""
        self._typed("agent →", f"{name} {json.dumps(arguments)}")
        client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "demo", "version": "1"}}
        messages: list[dict[str, Any]] = [
            {"id": 1, "method": "initialize", "params": client},
            {"method": "notifications/initialized"},
            {"id": 2, "method": "tools/call", "params": {"name": name, "arguments": arguments}},
        ]
        with subprocess.Popen(
            [sys.executable, "-m", "holdfast", "mcp"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            env=self._environment(),
        ) as server:
            assert server.stdin is not None
            assert server.stdout is not None
            for message in messages:
                server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            server.stdin.flush()
            answers = map(json.loads, server.stdout)
            answer: dict[str, Any] = next(one for one in answers if one.get("id") == 2)
            server.stdin.close()
        structured: dict[str, Any] = answer["result"]["structuredContent"]
        return structured

    def serve(self) -> int:
        """The console on this store, in the foreground."""
        command = [sys.executable, "-m", "holdfast", "serve", "--port", "0", "--root", self.folder]
        try:
            return subprocess.run(command, cwd=self.folder, env=self._environment(), check=False).returncode
        except KeyboardInterrupt:  # it was meant for the server, which has ended by now
            return 0

    def kill_writer(self) -> int:
        """The last number that a process was told before it died; it never had the time to clean up."""
        code = WRITER.format(name=WORK)
        self.say("  a process appends as fast as it can … kill -9", fg="cyan")
        with subprocess.Popen(
            [sys.executable, "-c", code],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # Ctrl-C reaches it too, and its last words are no part of the story
            text=True,
            cwd=self.folder,
            env=self._environment(),
        ) as writer:
            assert writer.stdout is not None
            numbers = [int(writer.stdout.readline()) for _ in range(ACKNOWLEDGED)]
            writer.kill()
            numbers += [int(line) for line in writer.stdout if line.endswith("\n")]
        return numbers[-1]

    def _typed(self, prompt: str, text: str) -> None:
        lines = textwrap.wrap(text, LINE_CHARS, break_long_words=False, break_on_hyphens=False)
        self.say(f"  {prompt} " + "\n      ".join(lines), fg="cyan")

    def note(self, text: str) -> None:
        self.say(f"    {text}")

    def _start(self, arguments: list[str], stdin: str | None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "holdfast", *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            cwd=self.folder,
            env=self._environment(),
            check=False,
        )

    def _environment(self) -> dict[str, str]:
        """The person's own, without settings of ours."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST_")}
        return kept | {
            "HOLDFAST_HOME": os.path.join(self.folder, "home"),
            "HOLDFAST_DEVELOPER": "demo",
            "PYTHONWARNINGS": "ignore",
        }


def play(stage: Stage) -> dict[str, Any]:
    stage.say(STORY, bold=True)
    stage.say(f"Everything happens in {stage.folder}, which is removed at the end.", dim=True)
    session = monday(stage)
    night(stage)
    friday(stage)
    resumed = tuesday(stage)
    wednesday(stage)
    return reckoning(stage, session, resumed)


def monday(stage: Stage) -> str:
    stage.chapter("Monday. A session is started, and what happens is kept.")
    session = stage.run("session", "start", "--chatmode", "architect", "--name", WORK)["id"]
    for kind, role, content in (
        ("user_message", "user", "Retry failed webhooks: 8 attempts over 24 h, and never pay twice."),
        ("model_message", "assistant", "Idempotency key = event id + attempt. Redis streams or a table?"),
        ("user_message", "user", "No Redis: ops will not run another one."),
    ):
        event = stage.run("session", "append", WORK, "--type", kind, "--role", role, "--content", content)
        stage.note(f"number {event['sequence']}, hash {event['chain_hash'][:12]}…")
    stage.run("session", "state", WORK, "--set", '{"current_task": "retry.py", "blockers": ["schedule open"]}')
    notes = os.path.join(stage.folder, "retry-notes.md")
    with open(notes, "w", encoding="utf-8") as file:
        file.write("8 attempts, base 30 s, jitter 20 %\n")
    change = stage.run("context", "set", "files", notes, os.path.join(stage.folder, "gone.md"))
    stage.note(f"the next session will be reminded of {len(change['added'])} files")
    return str(session)


def night(stage: Stage) -> None:
    stage.chapter("Monday night. A writer is killed in the middle of its work.")
    acknowledged = stage.kill_writer()
    stored = stage.run("session", "show", WORK)["last_sequence"]
    lost = max(acknowledged - stored, 0)
    stage.note(f"kill -9 after number {acknowledged} was acknowledged: number {stored} is stored, {lost} lost")


def friday(stage: Stage) -> None:
    stage.chapter("Friday. An agent program reports by hook; the same hook twice is stored once.")
    for _ in range(2):
        stage.replay("claude", "UserPromptSubmit", prompt="give up after 8", prompt_id="p1")
    stage.replay("claude", "Stop", last_assistant_message="next_attempt() now stops at 8.", prompt_id="p1")
    sessions = stage.run("session", "list")["sessions"]
    for one in sessions:
        stage.note(f"{one['name'] or one['chatmode']:<14} {one['last_sequence']} events")
    stage.run("session", "end", WORK)
    refused = stage.run(
        "session", "append", WORK, "--type", "user_message", "--role", "user", "--content", "late", expect=4
    )
    stage.note(f"refused: {refused['message'].partition('. ')[0]}")


def tuesday(stage: Stage) -> str:
    stage.chapter("Tuesday, weeks later. It is found by its name and goes on where it stopped.")
    resumed = stage.run("session", "resume", WORK)
    for line in resumed["resume_text"].splitlines():
        stage.note(line)
    stage.note(json.dumps(stage.run("session", "state", WORK)["scratchpad"]))
    thread = stage.run("session", "thread", WORK)["sessions"]
    stage.note(f"one line of work, {len(thread)} sessions")
    secret = "sk-demo-4711"
    stage.run("session", "append", WORK, "--type", "tool_result", "--role", "tool", "--content", f"key {secret}")
    forgotten = stage.run("forget", "--match", secret, "--yes")
    stage.note(f"{forgotten['erased']} event erased; its number and its hash stay")
    return str(resumed["id"])


def wednesday(stage: Stage) -> None:
    stage.chapter("Wednesday. An agent notes its own files, by a tool, and asks for them again.")
    if find_spec("mcp") is None:
        stage.note("left out: it needs the package's extra, pip install '.[mcp]'")
        return
    answer = stage.call_tool("set_relevant_context", setName="files", items=["retry.py"], mode="merge", session_id=WORK)
    stage.note(f"{answer['status']}: added {', '.join(answer['data']['added'])}")
    answer = stage.call_tool("get_relevant_context", session_id=WORK)
    for name, items in answer["data"]["context"].items():
        stage.note(f"{name}: {', '.join(map(os.path.basename, items))}")


def reckoning(stage: Stage, session: str, resumed: str) -> dict[str, Any]:
    stage.chapter("The check.")
    verified = stage.run("session", "verify")
    status = stage.run("status")
    checked = sum(one["checked"] for one in verified["sessions"])
    verdict = "sound" if verified["ok"] else "damaged"
    stage.note(f"the chain of {checked} events in {len(verified['sessions'])} sessions is {verdict}")
    stage.note(f"stored {status['stored']} · spooled {status['spooled']} · lost {status['lost']}")
    return {"ok": verified["ok"], "checked": checked, "lost": status["lost"], "sessions": [session, resumed]}
