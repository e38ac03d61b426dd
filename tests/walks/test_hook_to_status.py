"""A hook finds the store busy and spools; the next command brings everything in, and status says
so.
"""

import json
from pathlib import Path
from typing import Any

import apsw

from tests.rig.commands import Answer, Call

SILENT = Answer(0, "", "")
ACCOUNTS = ("accepted", "stored", "spooled", "rejected", "lost")


def prompt(number: int, project: Path) -> str:
    fields: dict[str, Any] = {
        "hook_event_name": "UserPromptSubmit",
        "session_id": "s1",
        "cwd": str(project),
    }
    return json.dumps({**fields, "prompt_id": f"p{number}", "prompt": f"request {number}"})


def test_hook_to_spool_to_drain_to_status(run: Call, project: Path, tmp_path: Path):
    hook = ("hook", "claude", "UserPromptSubmit")
    assert run(*hook, stdin=prompt(1, project)) == SILENT
    other = apsw.Connection(str(tmp_path / "holdfast" / "holdfast.db"))
    other.execute("begin immediate")
    for number in (2, 2):
        assert run(*hook, stdin=prompt(number, project)) == SILENT
    waiting = "".join(
        path.read_text() for path in (tmp_path / "holdfast" / "spool").glob("*.jsonl")
    )
    other.close()

    status = run("status", "--json").document

    assert waiting.count("\n") == 2
    assert [status[key] for key in ACCOUNTS] == [2, 2, 0, 0, 0]
    [session] = run("session", "list", "--json").document["sessions"]
    events = run("session", "events", session["id"], "--json").document["events"]
    assert [event["content"] for event in events] == ["request 1", "request 2"]
    assert run("context", "set", "files", "a.md", "--json").document["session_id"] == session["id"]
    assert run("session", "verify").code == 0


def test_any_command_brings_in_what_waits(run: Call, project: Path, tmp_path: Path):
    (tmp_path / "in the way").touch()
    down = f"sqlite:///{tmp_path}/in the way/holdfast.db"
    assert (
        run("hook", "claude", "UserPromptSubmit", stdin=prompt(1, project), HOLDFAST_DATABASE=down)
        == SILENT
    )
    refused = run("session", "list", HOLDFAST_DATABASE=down)
    elsewhere = run("session", "list", "--json").document["sessions"]
    (tmp_path / "in the way").unlink()

    [session] = run("session", "list", "--json", HOLDFAST_DATABASE=down).document["sessions"]

    assert (refused.code, elsewhere) == (6, [])
    spool = tmp_path / "holdfast" / "spool"
    assert refused.err.startswith(
        f"Note: 1 event waits in {spool} until the store can be used\nError: "
    )
    assert (session["native_id"], session["last_sequence"]) == ("s1", 1)


def test_status_reports_records_removed_from_the_spool_as_lost(
    run: Call, project: Path, tmp_path: Path
):
    hook = ("hook", "claude", "UserPromptSubmit")
    assert run(*hook, stdin=prompt(1, project)) == SILENT
    other = apsw.Connection(str(tmp_path / "holdfast" / "holdfast.db"))
    other.execute("begin immediate")
    assert run(*hook, stdin=prompt(2, project)) == SILENT
    other.close()
    (tmp_path / "holdfast" / "spool" / "pending.jsonl").unlink()

    status = run("status", "--json")

    assert [status.document[key] for key in ACCOUNTS] == [2, 1, 0, 0, 1]
    assert status.code == 5
