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
