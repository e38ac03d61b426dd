"""A person's first day with the command line: an empty home, and nothing else than what the help
says.
"""

import os
from pathlib import Path

import pytest

from tests.rig.commands import Answer, Call


def test_from_an_empty_home_to_the_next_morning(
    run: Call, home: Path, project: Path, monkeypatch: pytest.MonkeyPatch
):
    """Start, talk, set a reminder, end; find it by its name, go on, erase a slip, and see that
    nothing is lost.
    """
    monkeypatch.delenv("HOLDFAST_HOME")
    (home / ".gitconfig").write_text("[user]\n\temail = Ana.Lee@example.org\n")
    notes = project / "retry.md"
    notes.write_text("8 attempts\n")

    def holdfast(*arguments: str) -> Answer:
        answer = run(*arguments)
        assert (answer.code, answer.err) == (0, ""), answer
        return answer

    assert "holdfast session start" in holdfast("session", "list").out

    first = holdfast(
        "session", "start", "--chatmode", "architect", "--name", "webhook retry"
    ).out.strip()
    say = (
        "session",
        "append",
        "webhook retry",
        "--type",
        "user_message",
        "--role",
        "user",
        "--content",
    )
    holdfast(*say, "retry failed webhooks, 8 attempts")
    holdfast(*say, "the key is sk-live-4711")
    holdfast("session", "state", "webhook retry", "--set", '{"current_task": "retry.py"}')
    reminded = run("context", "set", "files", str(notes), "/gone.md")
    assert (reminded.code, reminded.err) == (0, "Note: Kept, and not there now: /gone.md\n")
    holdfast("session", "end", "webhook retry")

    resumed = holdfast("session", "resume", "webhook retry").out
    second = resumed.split()[1]
    assert resumed.startswith(f"Session {second}\ncontinues {first}\n")
    assert f"- {notes}\n(1 file not found)" in resumed
    assert "\n> the key is sk-live-4711\n" in resumed
    assert "\nNEXT now: retry.py\n" in resumed
    assert "retry.py" in holdfast("session", "state", "webhook retry").out
    thread = holdfast("session", "thread", "webhook retry").out
    _, *lines = thread.partition("\n\n")[0].splitlines()
    assert [line.split()[0] for line in lines] == [first[:13], second[:13]]

    assert (
        "the key is sk-live-4711" in holdfast("forget", "--match", "sk-live-4711", "--dry-run").out
    )
    erased = holdfast("forget", "--match", "sk-live-4711", "--yes").out
    assert erased.startswith("Erased 1 event and 1 receipt.")  # of what the second was handed
    _, *events = holdfast("session", "events", first).out.splitlines()
    assert (events[0].endswith("8 attempts"), events[1].endswith("(erased)")) == (True, True)

    assert holdfast("session", "verify").out == "Sound: 2 events in 2 sessions\n"
    status = holdfast("status").out
    assert "Developer  ana.lee in workspace local" in status
    assert "stored 2 · spooled 0 · lost 0" in status

    everything = [path for path in home.rglob("*") if path.is_file() and path.name != ".gitconfig"]
    assert {path.parent for path in everything} == {home / ".local" / "share" / "holdfast"}
    assert not [path for path in everything if b"sk-live-4711" in path.read_bytes()]
    assert sorted(os.listdir(project)) == [".git", "retry.md"]
