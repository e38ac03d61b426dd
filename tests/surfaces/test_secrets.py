"""TH15: what a command, a tool or a request brings is stored without the secrets in it."""

import json
from pathlib import Path

import pytest

from holdfast import SessionService
from holdfast.ground.masking import Mask
from holdfast.memories.service import MemoryService
from tests.rig.commands import Call, run_process
from tests.surfaces.http.server import run_server
from tests.surfaces.mcp import doors
from tests.surfaces.mcp.doors import data

SECRET = "ghp_" + "a1B2" * 9
TEXT = f"Push with {SECRET} from now on."
URL = f"https://build:{SECRET}@ci.example/run"


def list_files_with_secret(folder: Path) -> list[str]:
    """Of a whole data folder, SQLite's own files included."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path.name for path in files if SECRET.encode() in path.read_bytes()]


def test_commands_store_no_secret(project: Path, home: Path, tmp_path: Path):
    def holdfast(*arguments: str) -> None:
        assert run_process(*arguments, cwd=project).code == 0

    lines = tmp_path / "memories.jsonl"
    lines.write_text(json.dumps({"content": f"Another program wrote {SECRET}"}) + "\n")
    holdfast("session", "start", "--chatmode", "architect", "--name", f"with {SECRET}")
    session = json.loads(run_process("session", "list", "--json", cwd=project).out)["sessions"][0]
    parts = json.dumps({"input": {"command": f"curl -H 'X-Token: {SECRET}'"}, "tool": "Bash"})
    said = "--type", "user_message", "--role", "user", "--content", TEXT, "--parts", parts
    holdfast("session", "append", session["id"], *said)
    holdfast("session", "state", session["id"], "--set", json.dumps({"blockers": [TEXT]}))
    holdfast("context", "set", "endpoints", URL)
    holdfast("memory", "remember", TEXT)
    holdfast("memory", "import", str(lines))
    left = home / ".caco" / "sessions" / "abc"
    left.mkdir(parents=True)
    meta = {"name": "old", "envHint": TEXT, "context": {"endpoints": [URL], "files": ["/r/a.py"]}}
    (left / "meta.json").write_text(json.dumps(meta))
    holdfast("import")

    assert list_files_with_secret(tmp_path / "holdfast") == []


async def test_tools_store_no_secret(project: Path, tmp_path: Path):
    async with doors.inside(project) as client:
        await data(client, "session", operation="start", chatmode="x", name=f"with {SECRET}")
        message = {"event_type": "user_message", "role": "user", "content": TEXT}
        await data(client, "session", operation="append", parts={"token": SECRET}, **message)
        await data(client, "session", operation="update_state", scratchpad={"current_task": TEXT})
        await data(client, "set_relevant_context", setName="endpoints", items=[URL])
        await data(client, "memory", operation="remember", content=TEXT)

        assert list_files_with_secret(tmp_path / "holdfast") == []


def test_requests_store_no_secret(tmp_path: Path):
    home = tmp_path / "served"
    with run_server(home, None) as server, server.client() as api:
        session = api.post("/api/sessions", json={"chatmode": "x", "name": TEXT}).json()["id"]
        message = {"type": "user_message", "role": "user", "content": TEXT, "parts": {"said": URL}}
        answers = [
            api.post(f"/api/sessions/{session}/events", json=message),
            api.patch(f"/api/sessions/{session}/state", json={"scratchpad": {"blockers": TEXT}}),
            api.patch(
                f"/api/sessions/{session}",
                json={"envHint": TEXT, "context": {"endpoints": [URL], "ports": ["8080"]}},
            ),
            api.post("/api/memories", json={"content": TEXT}),
        ]

        assert [answer.status_code for answer in answers] == [201, 200, 200, 201]
        assert list_files_with_secret(home) == []


def test_a_repeated_request_finds_what_was_masked(cli: Call):
    session = cli("session", "start", "--chatmode", "architect", "--json").document["id"]
    event_id = "0192f5a0-0000-7000-8000-000000000001"
    said = "--type", "user_message", "--role", "user", "--content", TEXT, "--event-id", event_id

    first = cli("session", "append", session, *said, "--json").document
    again = cli("session", "append", session, *said, "--json").document

    assert "[REDACTED:github" in first["content"]
    assert (again["id"], again["sequence"]) == (event_id, first["sequence"])


async def test_a_memory_that_was_forgotten_stays_so_although_it_was_masked(
    database, tmp_path: Path
):
    memories = MemoryService(database, mask=Mask(str(tmp_path)))
    stored = await memories.remember(TEXT)
    await memories.forget(stored.memory.id)

    assert await memories.was_forgotten(TEXT)


async def test_paths_and_clean_texts_are_stored_as_they_are(database, tmp_path: Path):
    sessions = SessionService(database, mask=Mask(str(tmp_path)))
    session = await sessions.create_session("architect", "u1", name="retry")
    path = f"/repo/token={SECRET}/a.py"
    parts = {"session_id": SECRET, "count": 3}
    event = await sessions.append_event(session.id, "tool_result", "tool", "3 passed", parts)
    change = await sessions.set_relevant_context(session.id, "files", [path])

    assert (event.content, event.parts, session.name) == ("3 passed", parts, "retry")
    assert change.items == (path,)
    assert not (tmp_path / "fence.key").exists()


@pytest.mark.parametrize("is_masked", [False, True])
async def test_a_program_with_its_own_service_has_what_it_stored(
    database, is_masked: bool, tmp_path: Path
):
    """The library is the program's store; the doors of Holdfast are those of agents."""
    mask = Mask(str(tmp_path)) if is_masked else None
    sessions = SessionService(database, mask=mask)
    session = await sessions.create_session("architect", "u1")

    [event] = await sessions.append_events(
        session.id, [{"type": "user_message", "role": "user", "content": TEXT}]
    )

    assert (SECRET in event.content) != is_masked
