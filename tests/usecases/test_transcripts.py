"""What a client has written down itself becomes events of its session, each once."""

import json
import random
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from holdfast import clients
from holdfast.ground.settings import Settings, owner_of
from holdfast.sessions.service import SessionService
from holdfast.usecases import capture, transcripts
from tests.clients.golden import FOLDER, HOOKS, find_expected

RUNS = sorted(path for path in FOLDER.glob(f"*/*{HOOKS}") if "fork" not in path.name)


def name_run(path: Path) -> str:
    return f"{path.parent.name}-{path.name.removesuffix(HOOKS)}"


@pytest.fixture
def sessions_of_ana(database: Any, workspace: str) -> SessionService:
    return SessionService(database, owner=owner_of(workspace, "ana"))


class RecordedRun:
    """A real session: its hooks, and its transcript, which grows as in the client."""

    def __init__(self, hooks: Path, folder: Path, sessions: SessionService):
        self.client = clients.find_client(hooks.parent.name)
        assert self.client is not None
        self.sessions = sessions
        self.payloads = [json.loads(line) for line in hooks.read_text().splitlines()]
        source = hooks.with_name(hooks.name.replace(HOOKS, ".jsonl"))
        self.lines = source.read_bytes().splitlines(keepends=True)
        self.expected = json.loads(find_expected(source).read_text())
        self.path = folder / source.name
        self.path.touch()
        self.home = str(folder)
        self.native_id = str(self.payloads[0]["session_id"])

    def write(self, lines: int) -> None:
        with self.path.open("ab") as file:
            file.write(b"".join(self.lines[:lines]))
        del self.lines[:lines]

    def lose_end(self, size: int) -> None:
        """As after a crash; the lines of which something is gone are written again later."""
        data = self.path.read_bytes()
        left = data[: max(0, len(data) - size)]
        whole = left.rfind(b"\n") + 1
        self.lines[:0] = data[whole:].splitlines(keepends=True)
        self.path.write_bytes(data[:whole])

    async def fire(self, payload: dict[str, Any]) -> None:
        assert self.client is not None
        event = self.client.parse(payload["hook_event_name"], payload)
        if event is None:
            return
        settings = Settings(
            home=self.home,
            database="sqlite:///x.db",
            workspace=self.sessions.store.owner[0],
            developer="ana",
        )
        record = capture.make_record(event, settings)
        await capture.store_record(self.sessions.db, settings.owner, record)

    async def read(self) -> None:
        assert self.client is not None
        fields = {
            "chatmode": self.client.NAME,
            "user_id": "ana",
            "client": self.client.NAME,
            "native_id": self.native_id,
            "worktree": None,
            "git_branch": None,
        }
        session = transcripts.CapturedSession(
            self.client, clients.get_reader(self.client), self.native_id, fields, self.home
        )
        until = time.monotonic() + 60
        store = self.sessions.store
        await transcripts.capture_source(store, session, str(self.path), until)

    async def list_stored(self) -> list[tuple[str, str]]:
        [session] = await self.sessions.list_sessions()
        events = await self.sessions.get_recent_events(session.id, 1000)
        return [(event.type, event.content.strip()) for event in events]

    def count_said(self) -> Counter[tuple[str, str]]:
        """The messages that the transcript has, and those that only hooks have told."""
        assert self.client is not None
        read = [(record["type"], record["content"].strip()) for record in self.expected]
        parsed = [self.client.parse(hook["hook_event_name"], hook) for hook in self.payloads]
        keys = {record["key"] for record in self.expected}
        told = [
            (event.event_type, event.content.strip())
            for event in parsed
            if event and event.key not in keys
        ]
        return Counter(only_said(read)) | Counter(only_said(told))


@pytest.fixture(params=RUNS, ids=name_run)
def run(
    request: pytest.FixtureRequest, tmp_path: Path, sessions_of_ana: SessionService
) -> RecordedRun:
    return RecordedRun(request.param, tmp_path, sessions_of_ana)


def only_said(stored: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return [event for event in stored if event[0] in ("user_message", "model_message")]


async def test_a_transcript_alone_is_kept_in_its_order(run: RecordedRun):
    run.write(len(run.lines))

    await run.read()
    await run.read()

    expected = [(record["type"], record["content"].strip()) for record in run.expected]
    assert await run.list_stored() == expected


@pytest.mark.parametrize("seed", range(2))
async def test_hooks_and_transcript_in_any_order_keep_each_message_once(
    run: RecordedRun, seed: int
):
    chance = random.Random(seed)
    payloads = list(run.payloads)
    while payloads or run.lines:
        if run.lines and chance.random() < 0.5:
            run.write(chance.randint(1, len(run.lines)))
        if payloads and chance.random() < 0.7:
            await run.fire(payloads.pop(0))
        if chance.random() < 0.5:
            await run.read()
    await run.read()

    said = only_said(await run.list_stored())

    assert Counter(said) == run.count_said()


@pytest.mark.parametrize("seed", range(2))
async def test_hooks_that_fire_twice_and_a_transcript_that_is_read_anew_add_nothing(
    run: RecordedRun, seed: int
):
    """A hook may be set up twice; a file that has lost its end is read from its start."""
    chance = random.Random(seed)
    payloads = [payload for payload in run.payloads for _ in range(2)]
    while payloads or run.lines:
        if run.lines and chance.random() < 0.5:
            run.write(chance.randint(1, len(run.lines)))
        if payloads and chance.random() < 0.7:
            await run.fire(payloads.pop(0))
        if chance.random() < 0.5:
            await run.read()
        if chance.random() < 0.3:
            run.lose_end(chance.randint(1, 300))
    await run.read()

    said = only_said(await run.list_stored())

    assert Counter(said) == run.count_said()


async def test_a_store_that_was_away_for_long_keeps_each_message_once(
    sessions_of_ana: SessionService,
):
    """Many turns were spooled, all hooks are stored before the transcript is read."""
    store = sessions_of_ana.store
    native = "claude", "n1"
    marks = [transcripts.mark_event("model_message", f"Answer {n}.", None) for n in range(60)]

    async def note(way: str, name: str) -> list[bool]:
        return [
            await transcripts.note_text(store, native, mark, f"{name}-{n:04}", way)
            for n, mark in enumerate(marks)
        ]

    assert not any(await note(transcripts.TOLD, "hook-of-a-turn"))
    assert all(await note(transcripts.READ, "record-of-a-turn"))
    assert all(await note(transcripts.TOLD, "hook-of-a-turn"))
    assert all(await note(transcripts.READ, "record-of-a-turn"))
    assert not any(await note(transcripts.TOLD, "later-answer"))


# --- forks and what was taken back ----------------------------------------------------------------


async def test_a_fork_continues_the_session_that_it_is_a_copy_of(
    tmp_path: Path, sessions_of_ana: SessionService
):
    run = RecordedRun(FOLDER / "codex" / f"fork{HOOKS}", tmp_path, sessions_of_ana)
    header = json.loads(run.lines[0])["payload"]
    origin = await sessions_of_ana.create_session(
        "codex", "ana", client="codex", native_id=header["forked_from_id"]
    )
    await sessions_of_ana.update_state(origin.id, {"plan": "Log each try."})
    run.write(len(run.lines))

    await run.read()
    await run.read()

    fork = (await sessions_of_ana.list_sessions())[0]
    assert (fork.native_id, fork.resumed_from) == (header["id"], origin.id)
    assert (await sessions_of_ana.get_state(fork.id)).scratchpad == {"plan": "Log each try."}


async def test_a_request_that_only_a_hook_told_is_taken_back(
    tmp_path: Path, sessions_of_ana: SessionService
):
    run = RecordedRun(FOLDER / "gemini" / f"rewind{HOOKS}", tmp_path, sessions_of_ana)
    for payload in run.payloads:
        await run.fire(payload)
    run.write(len(run.lines))

    await run.read()

    [session] = await sessions_of_ana.list_sessions()
    requests = await sessions_of_ana.list_requests(session.id, 10)
    keys = [record["key"] for record in run.expected if (record["parts"] or {}).get("rewound")]
    assert keys
    events = await sessions_of_ana.get_recent_events(session.id, 1000)
    known = {event.id for event in events}
    assert known.issuperset(session.metadata["rewound"])
    assert not {request.id for request in requests} & set(session.metadata["rewound"])


async def test_a_request_is_taken_back_in_the_session_before_the_end_too(
    tmp_path: Path, sessions_of_ana: SessionService
):
    run = RecordedRun(FOLDER / "gemini" / f"rewind{HOOKS}", tmp_path, sessions_of_ana)
    rewinds = [number for number, line in enumerate(run.lines) if b"$rewindTo" in line]
    run.write(rewinds[0])
    await run.read()
    [before] = await sessions_of_ana.list_sessions()
    await sessions_of_ana.end_session(before.id)
    run.write(1)

    await run.read()

    newest, oldest = await sessions_of_ana.list_sessions()
    assert newest.resumed_from == oldest.id == before.id
    assert oldest.metadata["rewound"] == newest.metadata["rewound"] != []
    requests = await sessions_of_ana.list_requests(oldest.id, 10)
    assert not {request.id for request in requests} & set(oldest.metadata["rewound"])
