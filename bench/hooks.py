"""What an agent waits for at each of its hooks, as multiples of `python -c pass`.

Processes as the client starts them, over transcripts as it writes them. The end of a turn is
measured twice: at the end of a short transcript and at the end of a long one, because a session may
last for days and each of its turns should cost the same.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import subprocess
import sys
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from bench.measure import Block, Lane
from bench.staleness import make_repository, note_something, settings_in
from bench.startup import BARE_PYTHON, compile_package, installed_command, process_run, run_process
from holdfast.app import App
from holdfast.clients import find_client, shim
from holdfast.ground.off_loop import run_in_thread
from holdfast.sessions.store import SessionStore
from holdfast.storage.enrolment import Enrolment
from holdfast.usecases import catching_up, transcripts

FILES = 20_000
LONG_BYTES = 50_000_000
QUICK_LONG_BYTES = 5_000_000
RECORDS_PER_TURN = 6

PROCESS = "a hook's process"
PROMPT = "a prompt of one line: appends one event"
LONG_PROMPT = "a prompt of two lines: also looks for secrets over their end"
TURN = f"the end of a turn: reads the transcript, redacts, stores {RECORDS_PER_TURN} records"
LONG_TURN = f"the same at the end of a transcript of {LONG_BYTES // 1_000_000} MB"
START = f"the start of a session: a full bundle in a repository of {FILES:,} files"
STATUS = "`git status --untracked-files=no` there"
NOTED_PROMPT = "a prompt where notes are shared: also looks for a notice"
NOTED_EDIT = "an edit there: looks for a notice, and stores nothing"
NOT_ENROLLED = "in a folder that is not enrolled"

REQUEST = "Stop the retry after eight attempts, and name the last error in the log.\nKeep the API."
ANSWER = (
    "The retry in `src/retry.py` stops after eight attempts. The tests pass.\n\n- key: attempts"
)
CODE = "\n".join(f"{n}\tdef attempt_{n}(self, last_error): ..." for n in range(50))
SUITE = "\n".join(f"tests/test_retry.py::test_attempt_{n} PASSED [{n:3}%]" for n in range(100))


class Claude:
    """One session of the client: what it writes to its transcript and sends to our hooks."""

    def __init__(self, person: Path, project: Path):
        self.project = project
        self.session_id = str(uuid.uuid4())
        name = "".join(char if char.isalnum() else "-" for char in str(project))
        self.path = person / ".claude" / "projects" / name / f"{self.session_id}.jsonl"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.last: str | None = None

    def make_payload(self, event: str, **fields: Any) -> dict[str, Any]:
        return {
            "session_id": self.session_id,
            "transcript_path": str(self.path),
            "cwd": str(self.project),
            "hook_event_name": event,
            **fields,
        }

    def write(self, kind: str, content: object, **fields: Any) -> None:
        record = {
            "parentUuid": self.last,
            "isSidechain": False,
            "type": kind,
            "message": {"role": kind, "content": content},
            "uuid": str(uuid.uuid4()),
            "cwd": str(self.project),
            "sessionId": self.session_id,
            **fields,
        }
        with self.path.open("a") as file:
            file.write(json.dumps(record, separators=(",", ":")) + "\n")
        self.last = record["uuid"]

    def call_tool(self, tool: str, given: dict[str, str], output: str) -> None:
        call_id = f"toolu_{uuid.uuid4().hex[:24]}"
        self.write("assistant", [{"type": "tool_use", "id": call_id, "name": tool, "input": given}])
        self.write("user", [{"type": "tool_result", "tool_use_id": call_id, "content": output}])


class Person:
    """Someone's own folder with our data folder in it, and the project that one works on."""

    def __init__(self, folder: Path, project: Path | None = None):
        self.folder = folder
        self.project = project or folder / "project"
        (self.project / ".git").mkdir(parents=True, exist_ok=True)
        self.environment = os.environ | {
            "HOME": str(folder),
            "HOLDFAST_HOME": settings_in(folder).home,
            "HOLDFAST_DEVELOPER": settings_in(folder).developer,
        }
        self.settings = settings_in(folder)
        Enrolment(self.settings.home).add(str(self.project))
        self.command = install_command(self.settings.home)
        self.numbers = itertools.count(1)

    def open_session(self) -> Claude:
        return Claude(self.folder, self.project)

    def fire(self, payload: dict[str, Any]) -> Block:
        argv = [self.command, "hook", "claude", payload["hook_event_name"]]
        return run_process(argv, self.environment, payload)

    def submit(self, claude: Claude, request: str = REQUEST) -> Block:
        """A prompt of a new turn, which the transcript does not have yet."""
        prompt = f"{next(self.numbers)}. {request}"
        return self.fire(
            claude.make_payload("UserPromptSubmit", prompt=prompt, prompt_id=prompt[:9])
        )

    def edit(self, claude: Claude) -> Block:
        given = {"file_path": f"{claude.project}/retry.py", "old_string": "10", "new_string": CODE}
        return self.fire(claude.make_payload("PreToolUse", tool_name="Edit", tool_input=given))

    def end_turn(self, claude: Claude) -> Block:
        """The hook after a turn that began with a prompt of its own."""
        prompt_id = f"turn {next(self.numbers)}"
        self.fire(claude.make_payload("UserPromptSubmit", prompt=REQUEST, prompt_id=prompt_id))
        write_turn(claude, prompt_id, SUITE)
        return self.fire(
            claude.make_payload("Stop", prompt_id=prompt_id, last_assistant_message=ANSWER)
        )

    def start(self) -> Block:
        return self.fire(self.open_session().make_payload("SessionStart", source="startup"))

    def catch_up(self, claude: Claude) -> int:
        """Read a transcript to its end, and say how many events the store has then."""
        with App(self.settings) as app:
            client = find_client("claude")
            assert client
            session = catching_up.make_captured(app, client, claude.session_id, str(claude.project))
            store = SessionStore(app.database, self.settings.owner)
            app.run(transcripts.capture_all(store, session, str(claude.path), float("inf")))
            return app.count().stored


def install_command(home: str) -> str:
    """What `init` writes into the data folder and names in the client's settings."""
    program = installed_command()[0]
    shim.write_shim(home, program, {}, shim.find_python(program))
    return shim.find_shim(home)


def write_turn(claude: Claude, prompt_id: str, output: str) -> None:
    """What the client writes down: the request, four calls of tools with results, the answer."""
    claude.write("user", REQUEST, promptId=prompt_id, promptSource="typed")
    claude.call_tool("Grep", {"pattern": "attempts"}, "src/retry.py:12: ATTEMPTS = 10")
    claude.call_tool("Read", {"file_path": f"{claude.project}/src/retry.py"}, CODE)
    edit = {"file_path": f"{claude.project}/src/retry.py", "old_string": "10", "new_string": "8"}
    claude.call_tool("Edit", edit, "The file has been updated.")
    claude.call_tool("Bash", {"command": "make test"}, output)
    claude.write("assistant", [{"type": "text", "text": ANSWER}])


def hook_lanes(folder: Path, long_bytes: int) -> list[Lane]:
    compile_package()
    person, long_person = Person(folder / "short"), Person(folder / "long")
    check_turn(person)
    claude, long_claude = person.open_session(), long_person.open_session()
    write_long_transcript(long_person, long_claude, long_bytes)
    (folder / "outside" / ".git").mkdir(parents=True)
    outside = Claude(person.folder, folder / "outside")
    sharing = share_repository(folder / "sharing")
    noting = sharing.open_session()
    runs = {
        BARE_PYTHON: process_run([sys.executable, "-c", "pass"], {}),
        PROMPT: once(lambda: person.submit(claude, REQUEST.partition("\n")[0])),
        LONG_PROMPT: once(lambda: person.submit(claude)),
        TURN: once(lambda: person.end_turn(claude)),
        LONG_TURN: once(lambda: long_person.end_turn(long_claude)),
        NOTED_PROMPT: once(lambda: sharing.submit(noting)),
        NOTED_EDIT: once(lambda: sharing.edit(noting)),
        START: once(sharing.start),
        STATUS: process_run(list_status_command(sharing.project), {}),
        NOT_ENROLLED: once(lambda: person.submit(outside)),
    }
    return [Lane(name, "process", PROCESS, run, most=1) for name, run in runs.items()]


def check_turn(person: Person) -> None:
    """That a turn is stored as it is meant to be: a hook never says that it is not."""
    claude = person.open_session()
    for turns in (1, 2):
        person.end_turn(claude)
        stored = run_in_thread(person.catch_up, claude)
        if stored != turns * RECORDS_PER_TURN:
            raise ValueError(f"{stored} events were stored of {turns} turns")


def write_long_transcript(person: Person, claude: Claude, long_bytes: int) -> None:
    """All of it is in the store already, as after a long day."""
    number = 0
    while not claude.path.exists() or claude.path.stat().st_size < long_bytes:
        number += 1
        write_turn(claude, f"before {number}", SUITE * 10)
    run_in_thread(person.catch_up, claude)


def share_repository(folder: Path) -> Person:
    """One with a summary, decisions and evidence, and with a session that came before."""
    sharing = Person(folder, make_repository(folder / "repository", FILES, 0))
    Path(sharing.settings.home, "settings.json").write_text('{"shared_context": true}')
    run_in_thread(note_something, str(sharing.project), folder)
    sharing.end_turn(sharing.open_session())
    payload = sharing.open_session().make_payload("SessionStart", source="startup")
    answer = subprocess.run(
        [sharing.command, "hook", "claude", "SessionStart"],
        env=sharing.environment,
        input=json.dumps(payload),
        capture_output=True,
        text=True,
        check=True,
    )
    if "CLAIMS" not in answer.stdout or REQUEST.splitlines()[0] not in answer.stdout:
        raise ValueError("the bundle is not what it should be")
    return sharing


def list_status_command(project: Path) -> list[str]:
    command = "--no-optional-locks status --porcelain --untracked-files=no"
    return ["git", "-C", str(project), *command.split()]


def once(call: Callable[[], Block]) -> Callable[[int], Awaitable[Block]]:
    async def run(_calls: int) -> Block:
        return await asyncio.to_thread(call)

    return run
