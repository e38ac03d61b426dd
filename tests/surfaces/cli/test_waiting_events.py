"""What waits in the spool, as commands and `status` tell of it."""

import re
import subprocess
from pathlib import Path

import pytest

from holdfast.app import App
from holdfast.errors import StoreUnreachableError
from holdfast.ground import ids
from holdfast.storage.spool import Spool
from tests.rig.commands import Call


def test_status_names_events_for_another_store_and_what_to_do(cli: Call):
    """And what it says works."""
    with App() as app:
        event = {
            "id": ids.new_id(),
            "type": "user_message",
            "role": "user",
            "content": "hello",
            "parts": None,
        }
        whose = {"workspace_id": None, "developer_id": None, "user_id": None}
        where = {"client": "claude", "native_id": "n1", "worktree": None}
        app.spool.add({"store": "aaaa", **whose, **where, "event": event})

    answer = cli("status", "--json")

    aside = Path(app.spool.folder) / "other-aaaa.jsonl"
    assert (answer.code, answer.document["spooled"], answer.document["lost"]) == (0, 1, 0)
    assert answer.err.startswith(
        f"Note: 1 event waits for another store in {aside}. To store them there, set HOLD"
    )
    [command] = re.findall(r"`(touch [^`]*)`", answer.err)
    subprocess.run(command, shell=True, check=True)
    again = cli("status", "--json")
    assert (again.document["stored"], again.document["spooled"], again.err) == (1, 0, "")


def test_an_unreadable_spool_file_stops_no_command_and_status_reports_it(cli: Call, tmp_path: Path):
    spool = tmp_path / "holdfast" / "spool"
    (spool / "pending.jsonl").mkdir(parents=True)

    assert [
        cli(*command).code for command in (("session", "list"), ("forget", "--match", "x", "--yes"))
    ] == [0, 0]
    answer = cli("status", "--json")

    [aside] = spool.glob("unreadable-*")
    assert (answer.code, answer.document["spooled"]) == (0, 0)
    assert answer.err == (
        f"Note: {aside} is not a regular file; events may be in it. Fix it, then rename it to "
        f"{spool}/pending-1.jsonl (pieces: pending-2.jsonl and so on); or move it away.\n"
    )
    aside.rmdir()
    (spool / "rejected.jsonl").mkdir()
    assert cli("status").err == (
        f"Note: {spool}/rejected.jsonl is not a regular file; events may be in it. Fix it, "
        "or move it away.\n"
    )


def test_a_spool_that_cannot_even_be_counted_stops_no_command(
    cli: Call, monkeypatch: pytest.MonkeyPatch
):
    def refused(*_: object) -> int:
        raise StoreUnreachableError("spool", "permission denied")

    monkeypatch.setattr(App, "drain_spool", refused)
    monkeypatch.setattr(Spool, "count_spooled", refused)

    answer = cli("session", "list")

    assert answer.code == 0
    assert answer.err.startswith("Note: Whatever waits stays in ")
