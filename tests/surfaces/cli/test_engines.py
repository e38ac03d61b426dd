"""The same commands on SQLite and on PostgreSQL: a walk through all of them, with
the same answers.
"""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.rig.commands import Call

DIFFERS = re.compile(r" \S+ \d\d:\d\dZ · receipt b-[0-9a-f]{4}| \d\d:\d\d(?=[).:])| session_id=\S+")
DOCUMENT = """HOLDFAST implementation ·
Kept on this machine; not checked against any checkout. Last session: architect, ended.

LAST REQUEST (user,)
> harmless
ASKED BEFORE
-: key sk-4711

SCRATCHPAD
| n: 100

More: session operation=recent"""

CONTENT = ("--type", "user_message", "--role", "user", "--content")


@pytest.fixture(autouse=True)
def store(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On both engines."""
    monkeypatch.setenv("HOLDFAST_DATABASE", database_url)


def test_every_command_answers_the_same_on_both_engines(cli: Call, project: Path):
    def ask(*arguments: str) -> Any:
        answer = cli(*arguments, "--json")
        assert answer.code == 0, answer
        return answer.document

    session = ask("session", "start", "--chatmode", "architect", "--name", "work")["id"]
    appended = ask(
        "session", "append", "work", *CONTENT, "key sk-4711", "--parts", '{"a": 1.0, "b": "ü"}'
    )
    again = ask(
        "session",
        "append",
        session,
        *CONTENT,
        "key sk-4711",
        "--parts",
        '{"a": 1.0, "b": "ü"}',
        "--event-id",
        appended["id"],
    )
    ask("session", "append", "work", *CONTENT, "harmless")
    state = ask("session", "state", "work", "--set", '{"n": 1e2, "gone": null}')
    change = ask("context", "set", "files", "a.md", "b.md")
    ask("context", "set", "files", "--merge", "c.md")
    ask("session", "end", "work")
    resumed = ask("session", "resume", "work")
    thread = ask("session", "thread", resumed["id"])["sessions"]
    forgotten = ask("forget", "--match", "sk-4711", "--yes")
    events = ask("session", "events", session)["events"]
    verified = ask("session", "verify")
    status = ask("status")

    assert appended == again
    assert (appended["sequence"], appended["parts"]) == (1, {"a": 1, "b": "ü"})
    assert state["scratchpad"] == {"n": 100}
    files = [f"{project}/{name}.md" for name in "abc"]
    assert (change["session_id"], change["added"]) == (session, files[:2])
    assert resumed["metadata"]["context"] == {"files": files}
    document, sets = resumed["resume_text"].rsplit("\n\n", 1)
    assert sets == "Relevant files:\n(3 files not found)"
    assert DIFFERS.sub("", document) == DOCUMENT
    assert [listed["id"] for listed in thread] == [session, resumed["id"]]
    assert (forgotten["erased"], forgotten["event_ids"]) == (1, [appended["id"]])
    assert [(event["content"], event["sequence"]) for event in events] == [("", 1), ("harmless", 2)]
    assert (verified["ok"], sum(listed["erased"] for listed in verified["sessions"])) == (True, 1)
    assert [
        status[key] for key in ("accepted", "stored", "spooled", "rejected", "lost", "sessions")
    ] == [
        2,
        2,
        0,
        0,
        0,
        2,
    ]


@pytest.mark.parametrize(
    ("arguments", "code", "name"),
    [
        (("session", "show", "nobody"), 3, "session_not_found"),
        (("session", "append", "done", *CONTENT, "x"), 4, "session_ended"),
        (
            ("session", "append", "work", *CONTENT, "x", "--expected-sequence", "7"),
            4,
            "sequence_conflict",
        ),
        (("session", "append", "work", *CONTENT, "a\udcff"), 2, "invalid_value"),
        (("session", "state", "work", "--set", "[]"), 2, "invalid_value"),
        (("forget", "01a1e0aa-0000-7000-8000-000000000001", "--yes"), 3, "event_not_found"),
    ],
)
def test_every_error_is_the_same_on_both_engines(
    cli: Call, arguments: tuple[str, ...], code: int, name: str
):
    cli("session", "start", "--chatmode", "coder", "--name", "work")
    cli("session", "start", "--chatmode", "coder", "--name", "done")
    cli("session", "end", "done")

    answer = cli(*arguments, "--json")

    assert (answer.code, answer.document["code"]) == (code, name)


def test_a_process_of_its_own_finds_what_another_one_kept(run: Call):
    run("session", "start", "--chatmode", "coder", "--name", "work")

    appended = run("session", "append", "work", *CONTENT, "hello", "--json")
    listed = run("session", "list")

    assert (appended.code, appended.err, listed.err) == (0, "", "")
    assert listed.out.endswith("live   -         work\n")
