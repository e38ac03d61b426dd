"""C9, TH23: a client and its hooks are killed at any moment, and `handoff show` has the last
message that the transcript has.

What is written is what real clients wrote. The log has every message of the whole lines, each once,
and nothing of the line that was cut.
"""

import json
import random
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import clients
from holdfast.clients.contract import START, TURN_END
from holdfast.clients.transcript import Record
from holdfast.sessions.requests import is_request, name_speaker
from tests.clients.golden import FOLDER, HOOKS, read_all
from tests.faults import transcript_writers
from tests.rig.claude_program import stored
from tests.rig.commands import HOLDFAST, run_process
from tests.rig.nursery import Nursery
from tests.rig.opencode_program import DATA, Database

if TYPE_CHECKING:
    from holdfast.clients.contract import Client

Statement = tuple[str, list[Any]]

RECORDED_IN = "/home/dev/project"
WAYS = ("prompt", "last_assistant_message", "prompt_response", "tool_use_id")
RECORDED = [
    *("claude/resume", "claude/subagents", "claude/plan-1", "claude/queued"),
    *("codex/resume", "codex/subagents", "codex/steered", "codex/tools"),
    *("gemini/resume", "gemini/subagents", "gemini/hook-context", "gemini/references"),
]
MESSAGES = ("user_message", "model_message")
ADD_SESSION = (
    "insert into session (id, project_id, parent_id, slug, directory, title, version, time_created,"
    " time_updated) values (?, 'p', ?, '', ?, '', '1.18.33', ?, ?)"
)
ADD_MESSAGE = "insert into message values (?, ?, ?, ?, ?)"
FINISH_MESSAGE = "update message set time_updated = ?, data = ? where id = ?"
ADD_PART = "insert into part values (?, ?, ?, ?, ?, ?)"
STEPS = 4  # in which a transcript grows, with hooks in between
KILLED = 0.6  # of the hooks
LONGEST_HOOK_SECONDS = 0.25
QUOTED_CHARS = 200  # at the beginning and at the end of a message that is longer than a document


class Recording:
    """A transcript as it lies on one machine, and the hooks that fired beside it."""

    def __init__(self, name: str, home: Path, project: Path):
        self.client = find_client(name.partition("/")[0])
        self.project = project
        source = FOLDER / f"{name}.jsonl"
        self.data = source.read_bytes().replace(RECORDED_IN.encode(), str(project).encode())
        self.native_id = find_native_id(self.data)
        self.path = home / self._find_place()
        self.path.parent.mkdir(parents=True)
        if self.client.NAME == "gemini":
            (self.path.parents[1] / ".project_root").write_text(str(project))
        hooks = source.with_suffix(HOOKS)
        lines = hooks.read_text().splitlines() if hooks.exists() else []
        self.hooks = [self._aim(json.loads(line)) for line in lines]

    def _find_place(self) -> str:
        if self.client.NAME == "claude":
            name = "".join(char if char.isalnum() else "-" for char in str(self.project))
            return f".claude/projects/{name}/{self.native_id}.jsonl"
        if self.client.NAME == "codex":
            today = time.strftime("%Y-%m-%d")  # a folder of long ago is not looked into
            name = f"rollout-{today}T16-25-22-{self.native_id}.jsonl"
            return f".codex/sessions/{today.replace('-', '/')}/{name}"
        return f".gemini/tmp/project/chats/session-2026-11-17T16-25-{self.native_id[:8]}.jsonl"

    def _aim(self, payload: dict[str, Any]) -> dict[str, Any]:
        return {**payload, "cwd": str(self.project), "transcript_path": str(self.path)}

    def make_payload(self, moment: str) -> dict[str, Any]:
        names = [name for name, found in self.client.MOMENTS.items() if found == moment]
        payload = {"session_id": self.native_id, "hook_event_name": names[0], "source": "startup"}
        return self._aim(payload)

    def take_hooks(self, written: bytes) -> list[dict[str, Any]]:
        """Those that report what is written by now, and not before; then the end of a turn."""
        due = []
        while self.hooks and is_about(self.hooks[0], written):
            due.append(self.hooks.pop(0))
        return [*due, self.make_payload(TURN_END)]

    def read(self, data: bytes, folder: Path) -> list[Record]:
        """What was checked to be in a transcript, of whole lines only."""
        whole = folder / "whole" / self.path.name
        whole.parent.mkdir(exist_ok=True)
        whole.write_bytes(data[: data.rfind(b"\n") + 1])
        records, _ = read_all(clients.get_reader(self.client), whole, {})
        return records


def find_client(name: str) -> "Client":
    client = clients.find_client(name)
    assert client is not None
    return client


def find_native_id(data: bytes) -> str:
    first = json.loads(data.partition(b"\n")[0])
    native_id: str = first.get("sessionId") or first["payload"]["id"]
    return native_id


def is_about(payload: dict[str, Any], written: bytes) -> bool:
    texts = [payload[name] for name in WAYS if isinstance(payload.get(name), str)]
    return all(json.dumps(text)[1:-1].encode() in written for text in texts)


def fire_and_kill(client: "Client", payload: dict[str, Any], chance: random.Random) -> None:
    """A hook that is killed at any moment of its work, or ends by itself."""
    command = [*HOLDFAST, "hook", client.NAME, payload["hook_event_name"]]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        assert process.stdin is not None
        process.stdin.write(json.dumps(payload).encode())
        process.stdin.close()
        is_killed = chance.random() < KILLED
        try:
            process.wait(chance.uniform(0, LONGEST_HOOK_SECONDS) if is_killed else None)
        except subprocess.TimeoutExpired:
            process.kill()


def start(recording: "Recording | RecordedDatabase") -> None:
    """The one hook that is left alone, so that the client is known here."""
    payload = recording.make_payload(START)
    event = payload["hook_event_name"]
    assert run_process("hook", recording.client.NAME, event, stdin=json.dumps(payload)).code == 0


def list_said(records: Sequence[Any]) -> list[tuple[str, str]]:
    kinds = [(each.event_type if isinstance(each, Record) else each.type) for each in records]
    return [
        (kind, record.content)
        for kind, record in zip(kinds, records, strict=True)
        if kind in MESSAGES
    ]


def find_last(records: Sequence[Record]) -> str | None:
    """What the person or the agent said last; not a subagent, and no notice of the client."""
    said = [
        record.content
        for record in records
        if not name_speaker(record.event_type, record.role, record.parts)
        and (record.event_type == "model_message" or is_request(record.content, record.parts))
        and record.event_type in MESSAGES
    ]
    return said[-1] if said else None


def assert_shown(project: Path, message: str | None, why: str) -> None:
    """By a new process, as text and as a document of JSON."""
    shown = run_process("handoff", "show", cwd=project)
    document = run_process("handoff", "show", "--json", cwd=project)

    assert (shown.code, shown.err, document.code, document.err) == (0, "", 0, ""), why
    if message is None:
        assert "LAST REQUEST" not in shown.out, why
        return
    for text in (shown.out, document.document["text"]):
        quoted = read_quoted(text)
        flat = " ".join(message.split())
        assert flat[:QUOTED_CHARS] in quoted, f"{why}: {text}"
        assert flat[-QUOTED_CHARS:] in quoted, f"{why}: {text}"


def read_quoted(text: str) -> str:
    """Without the marks of lines that were broken."""
    whole = ""
    for line in text.splitlines():
        if line.startswith(("> ", "| ")):
            whole += " " + line[2:]
        elif line.startswith(">+ "):
            whole += line[3:]
    return " ".join(whole.split())


@pytest.mark.parametrize("name", RECORDED)
def test_the_handoff_has_the_last_message_of_a_killed_client(
    name: str,
    tmp_path: Path,
    nursery: Nursery,
    scale: Callable[[int], int],
    monkeypatch: pytest.MonkeyPatch,
):
    seed = random.randrange(1 << 32)
    chance = random.Random(seed)
    for number in range(scale(20)):
        folder = tmp_path / f"run-{number}"
        project = folder / "project"
        (project / ".git").mkdir(parents=True)
        monkeypatch.setenv("HOME", str(folder))
        monkeypatch.setenv("HOLDFAST_HOME", str(folder / "holdfast"))
        recording = Recording(name, folder, project)
        kill_while_writing(recording, folder, nursery, chance)

        written = recording.path.read_bytes()
        records = recording.read(written, folder)
        why = f"{name}, seed {seed}, run {number}, {len(written)} bytes"
        assert_shown(project, find_last(records), why)
        kept = Counter(list_said(stored(recording.native_id)))
        assert kept == Counter(list_said(records)), why


def kill_while_writing(
    recording: Recording, folder: Path, nursery: Nursery, chance: random.Random
) -> None:
    source = folder / "source.jsonl"
    source.write_bytes(recording.data)
    ends = sorted(chance.randrange(1, len(recording.data) + 1) for _ in range(STEPS))
    writer = nursery.start(transcript_writers.append_bytes, str(recording.path), str(source))
    start(recording)
    written = 0
    for end in ends[:-1]:
        due = recording.take_hooks(recording.data[:written])
        writer.say(end)
        for payload in due:
            fire_and_kill(recording.client, payload, chance)
        written = writer.hear()
    writer.say(-ends[-1])
    assert writer.hear() is None
    fire_and_kill(recording.client, recording.make_payload(TURN_END), chance)


# --- OpenCode -------------------------------------------------------------------------------------


class RecordedDatabase:
    """OpenCode's database, and the statements that filled it, a row each."""

    def __init__(self, name: str, home: Path, project: Path):
        self.client = find_client("opencode")
        self.project = project
        self.path = home / ".local" / "share" / "opencode" / "opencode.db"
        self.path.parent.mkdir(parents=True)
        Database(self.path).connection.close()
        rows = [json.loads(line) for line in (DATA / name).read_text().splitlines()]
        self.native_id: str = rows[0]["session"]
        self.statements = list(self._list_statements(rows))

    def _list_statements(self, rows: list[dict[str, Any]]) -> Iterator[Statement]:
        """As the program does it: an answer is finished once all its parts are there. With the
        times of now, so that they count as news.
        """
        session_id = message_id = ""
        finish: list[Statement] = []
        now = int(time.time() * 1000)
        for row in rows:
            now += 1
            if "part" in row:
                data = self._write(row["data"])
                yield ADD_PART, [row["part"], message_id, session_id, now, now, data]
                continue
            yield from finish
            finish = []
            if "session" in row:
                session_id = row["session"]
                yield ADD_SESSION, [session_id, row["parent_id"], str(self.project), now, now]
                continue
            message_id, data = row["message"], row["data"]
            if data["role"] == "assistant":
                finish = [(FINISH_MESSAGE, [now, self._write(data), message_id])]
                data = {**data, "time": {"created": now}, "error": None}
            yield ADD_MESSAGE, [message_id, session_id, now, now, self._write(data)]
        yield from finish

    def _write(self, data: dict[str, Any]) -> str:
        return json.dumps(data).replace(RECORDED_IN, str(self.project))

    def make_payload(self, moment: str) -> dict[str, Any]:
        names = [name for name, found in self.client.MOMENTS.items() if found == moment]
        return {
            "session_id": self.native_id,
            "hook_event_name": names[0],
            "transcript_path": str(self.path),
            "cwd": str(self.project),
        }

    def read(self) -> list[Record]:
        source = Path(f"{self.path}#{self.native_id}")
        records, _ = read_all(clients.get_reader(self.client), source, {})
        return records


@pytest.mark.parametrize("name", ["apply_patch.jsonl", "compaction.jsonl"])
def test_the_handoff_has_the_last_message_of_a_killed_opencode(
    name: str,
    tmp_path: Path,
    nursery: Nursery,
    scale: Callable[[int], int],
    monkeypatch: pytest.MonkeyPatch,
):
    """It commits a row at a time, and is killed between two or within a transaction."""
    seed = random.randrange(1 << 32)
    chance = random.Random(seed)
    for number in range(scale(20)):
        folder = tmp_path / f"run-{number}"
        project = folder / "project"
        (project / ".git").mkdir(parents=True)
        monkeypatch.setenv("HOME", str(folder))
        monkeypatch.setenv("HOLDFAST_HOME", str(folder / "holdfast"))
        recorded = RecordedDatabase(name, folder, project)
        source = folder / "source.json"
        source.write_text(json.dumps(recorded.statements))
        ends = sorted(chance.randrange(len(recorded.statements)) for _ in range(STEPS))
        writer = nursery.start(transcript_writers.run_statements, str(recorded.path), str(source))
        start(recorded)
        for end in ends[:-1]:
            writer.say(end)
            fire_and_kill(recorded.client, recorded.make_payload(TURN_END), chance)
            writer.hear()
        writer.say(-ends[-1])
        assert writer.hear() is None

        records = recorded.read()
        why = f"{name}, seed {seed}, run {number}, {ends[-1]} rows"
        assert_shown(project, find_last(records), why)
        kept = Counter(list_said(stored(recorded.native_id)))
        assert kept == Counter(list_said(records)), why
