"""Bad input through the command line: each has its own clear message and exit code, and changes
nothing.
"""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from holdfast.app import App
from holdfast.storage.migrate import migrations
from tests.rig.commands import Call
from tests.rig.ordinary import give, open_folder, run_as_ordinary

CONTENT = ("--type", "user_message", "--role", "user", "--content")
UNKNOWN = "01a1e0aa-0000-7000-8000-000000000001"
DEEP_LIST = "[" * 200 + "]" * 200
DEEPER = "[" * 50_000
TOO_DEEP = json.dumps({"a": json.loads(DEEP_LIST)})
NEWEST = migrations("sqlite")[-1].number
LARGEST_ARGUMENT = 131_071  # what Linux takes as one argument, without its end


@pytest.fixture
def work(cli: Call) -> str:
    """A session `work` with one event and something in its scratchpad, and an ended
    session `done`.
    """
    cli("session", "start", "--chatmode", "coder", "--name", "done")
    cli("session", "end", "done")
    session = cli("session", "start", "--chatmode", "coder", "--name", "work").out.strip()
    cli("session", "append", "work", *CONTENT, "hello", "--event-id", UNKNOWN[:-1] + "2")
    cli("session", "state", "work", "--set", '{"task": "retry"}')
    return session


def everything() -> str:
    """A hash over what the store holds: unchanged means the same."""
    with App() as app:
        connection = app.database.connection  # type: ignore[attr-defined]
        tables = [
            row[0]
            for row in connection.execute("select name from sqlite_schema where type = 'table'")
        ]
        rows = [
            (table, sorted(map(repr, connection.execute(f"select * from {table}"))))
            for table in sorted(tables)
        ]
    return hashlib.sha256(repr(rows).encode()).hexdigest()


# --- what a person types --------------------------------------------------------------------------

WRONG = {
    "an unknown session": (("session", "show", UNKNOWN), 3, "session_not_found", "does not exist."),
    "a malformed session": (
        ("session", "append", "01a1e", *CONTENT, "x"),
        3,
        "session_not_found",
        "'01a1e'",
    ),
    "no session": (("session", "show", ""), 3, "session_not_found", "Session '' does not exist"),
    "an ended session": (
        ("session", "append", "done", *CONTENT, "x"),
        4,
        "session_ended",
        "Session ",
    ),
    "an ended scratchpad": (
        ("session", "state", "done", "--set", "{}"),
        4,
        "session_ended",
        "ended at",
    ),
    "an unknown type": (
        ("session", "append", "work", "--type", "shout", "--role", "user", "--content", "x"),
        2,
        "invalid_value",
        "Event type 'shout' is unknown. Known: user_message, model_message,",
    ),
    "an unknown role": (
        ("session", "append", "work", "--type", "user_message", "--role", "king", "--content", "x"),
        2,
        "invalid_value",
        "Role 'king' is unknown. Known: user, assistant, tool, system.",
    ),
    "a taken event id": (
        ("session", "append", "work", *CONTENT, "other", "--event-id", UNKNOWN[:-1] + "2"),
        4,
        "event_conflict",
        "is taken by an event with other content",
    ),
    "a malformed event id": (
        ("session", "append", "work", *CONTENT, "x", "--event-id", "7"),
        2,
        "invalid_value",
        "event_id '7' is not a UUID",
    ),
    "half a surrogate pair": (
        ("session", "append", "work", *CONTENT, "x", "--parts", '{"a": "a\\ud83d"}'),
        2,
        "invalid_value",
        "contains half of a surrogate pair at character 1",
    ),
    "a number of many digits": (
        ("session", "append", "work", *CONTENT, "x", "--parts", '{"a": ' + "1" * 5000 + "}"),
        2,
        "invalid_value",
        "holds a number of too many digits; keep it as a text",
    ),
    "parts that are no JSON": (
        ("session", "append", "work", *CONTENT, "x", "--parts", "{"),
        2,
        "invalid_value",
        "--parts '{' is not JSON",
    ),
    "parts that are a list": (
        ("session", "append", "work", *CONTENT, "x", "--parts", "[1]"),
        2,
        "invalid_value",
        "parts [1] is not a JSON object",
    ),
    "parts that are too deep": (
        ("session", "append", "work", *CONTENT, "x", "--parts", TOO_DEEP),
        2,
        "invalid_value",
        "is nested deeper than 64 levels",
    ),
    "parts that no parser survives": (
        ("session", "append", "work", *CONTENT, "x", "--parts", DEEPER),
        2,
        "invalid_value",
        "is nested deeper than 64 levels",
    ),
    "parts with NUL": (
        ("session", "append", "work", *CONTENT, "x", "--parts", '{"a": "\\u0000"}'),
        2,
        "invalid_value",
        "contains a NUL character at character 0",
    ),
    "parts with NaN": (
        ("session", "append", "work", *CONTENT, "x", "--parts", '{"a": NaN}'),
        2,
        "invalid_value",
        "is not a finite number",
    ),
    "a scratchpad that is no object": (
        ("session", "state", "work", "--set", "[]"),
        2,
        "invalid_value",
        "JSON object",
    ),
    "a scratchpad that is a text": (
        ("session", "state", "work", "--set", '"x"'),
        2,
        "invalid_value",
        "JSON object",
    ),
    "a scratchpad that is too deep": (
        ("session", "state", "work", "--set", TOO_DEEP),
        2,
        "invalid_value",
        "is nested deeper than 64 levels",
    ),
    "a scratchpad that is no JSON": (
        ("session", "state", "work", "--set", ""),
        2,
        "invalid_value",
        "is not JSON",
    ),
    "a negative limit": (
        ("session", "list", "--limit", "-1"),
        2,
        "invalid_value",
        "--limit -1 is not between 1 and",
    ),
    "a huge limit": (
        ("session", "list", "--limit", str(10**12)),
        2,
        "invalid_value",
        "is not between 1 and",
    ),
    "negative turns": (
        ("session", "events", "work", "--turns", "-1"),
        2,
        "invalid_value",
        "--turns -1",
    ),
    "negative tokens": (
        ("session", "events", "work", "--tokens", "-5"),
        2,
        "invalid_value",
        "--tokens -5",
    ),
    "a negative number": (
        ("session", "append", "work", *CONTENT, "x", "--expected-sequence", "-1"),
        2,
        "invalid_value",
        "--expected-sequence -1",
    ),
    "a limit that is no number": (
        ("session", "list", "--limit", "1.5"),
        2,
        "usage",
        "'1.5' is not a valid integer",
    ),
    "no chatmode": (("session", "start"), 2, "usage", "Missing option '--chatmode'"),
    "an empty chatmode": (
        ("session", "start", "--chatmode", " "),
        2,
        "invalid_value",
        "chatmode ' ' is empty",
    ),
    "an empty user": (
        ("session", "start", "--chatmode", "a", "--user", ""),
        2,
        "invalid_value",
        "user_id '' is empty",
    ),
    "a name of two lines": (
        ("session", "rename", "work", "a\nb"),
        2,
        "invalid_value",
        "contains a line break or another control character",
    ),
    "a long name": (
        ("session", "rename", "work", "n" * 401),
        2,
        "invalid_value",
        "is longer than 400 bytes",
    ),
    "eleven items": (
        ("context", "set", "files", *"abcdefghijk"),
        2,
        "invalid_value",
        "items 11 is more than the 10",
    ),
    "an empty item": (("context", "set", "files", ""), 2, "invalid_value", "Item '' is empty"),
    "a set without a name": (("context", "set", ""), 2, "invalid_value", "setName '' is empty"),
    "context of nobody": (
        ("context", "set", "files", "a", "--session", "nobody"),
        3,
        "session_not_found",
        "'nobody'",
    ),
    "the wrong page": (
        ("session", "list", "--below", "nobody"),
        3,
        "session_not_found",
        "'nobody'",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_wrong_input_is_explained_and_changes_nothing(cli: Call, work: str, what: str):
    arguments, code, name, words = WRONG[what]
    before = everything()

    text, document = cli(*arguments), cli(*arguments, "--json")

    assert (text.code, text.out, document.code, document.err) == (code, "", code, "")
    assert (document.document["code"], words in document.document["message"]) == (name, True), (
        document
    )
    assert len(document.document["message"]) < 500
    assert "please" not in document.document["message"].lower()
    assert everything() == before


def test_a_full_context_is_refused_with_what_to_do(cli: Call, work: str):
    for name in ("a", "b", "c", "d", "e"):
        cli("context", "set", name, *map(str, range(10)))
    before = everything()

    answer = cli("context", "set", "f", "one too many", "--json")

    assert (answer.code, answer.document["code"]) == (5, "context_full")
    assert answer.document["next_actions"] == ["holdfast context set NAME", "holdfast context show"]
    assert everything() == before


def test_an_argument_that_is_not_utf8_is_refused_by_a_real_process(run: Call):
    """An argument cannot hold NUL, but any other byte."""
    session = run("session", "start", "--chatmode", "coder").out.strip()

    answer = run("session", "append", session, *CONTENT, b"a\xff\xfe", "--json")

    assert (answer.code, answer.document["code"], answer.err) == (2, "invalid_value", "")
    assert answer.document["message"] == r"content 'a\udcff\udcfe' is not UTF-8 at character 1."
    assert run("session", "events", session, "--json").document == {"events": []}


def test_the_largest_argument_goes_in_whole(run: Call):
    session = run("session", "start", "--chatmode", "coder").out.strip()
    content = "ü" * (LARGEST_ARGUMENT // 2)

    event = run("session", "append", session, *CONTENT, content, "--json").document

    assert event["content"] == content


# --- what a person's machine is like --------------------------------------------------------------


@pytest.mark.parametrize(
    "content", [b"not a database, but notes " * 100, b"SQLite format 3\x00" + b"\xff" * 5000]
)
def test_a_file_that_is_not_a_database_is_refused_and_left_unchanged(
    run: Call, tmp_path: Path, content: bytes
):
    file = tmp_path / "notes.txt"
    file.write_bytes(content)

    answer = run("session", "list", "--json", HOLDFAST_DATABASE=f"sqlite:///{file}")

    assert (answer.code, answer.document["code"]) == (2, "not_a_database")
    assert str(file) in answer.document["message"]
    assert file.read_bytes() == content
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home", "notes.txt", "project"]


def test_another_programs_database_is_left_as_it_is(
    cli: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    connection = apsw.Connection(str(tmp_path / "theirs.db"))
    connection.execute("create table theirs (a); insert into theirs values (1)")
    connection.close()
    before = (tmp_path / "theirs.db").read_bytes()
    monkeypatch.setenv("HOLDFAST_DATABASE", f"sqlite:///{tmp_path}/theirs.db")

    answer = cli("session", "start", "--chatmode", "coder", "--json")

    assert (answer.code, answer.document["code"]) == (2, "not_a_database")
    assert (tmp_path / "theirs.db").read_bytes() == before


def test_a_newer_schema_is_left_as_it_is(cli: Call, work: str, tmp_path: Path):
    path = tmp_path / "holdfast" / "holdfast.db"
    connection = apsw.Connection(str(path))
    connection.execute("pragma user_version=99")
    connection.close()
    before = path.read_bytes()

    answer = cli("session", "append", work, *CONTENT, "x", "--json")

    assert (answer.code, answer.document["code"]) == (5, "newer_schema")
    assert (
        f"has schema 99; this version of Holdfast knows {NEWEST}. Nothing was changed."
        in answer.document["message"]
    )
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HOLDFAST_DATABASE", "mysql://ana:secret@db/x"),
        ("HOLDFAST_DATABASE", "sqlite://"),
        ("HOLDFAST_DATABASE", "postgresql://ana:sec/ret@db:port/x"),
        ("HOLDFAST_DATABASE", "postgresql://ana:secret@127.0.0.1:1/x?sslmode=foo"),
        ("HOLDFAST_WORKSPACE", "Not A Slug"),
        ("HOLDFAST_DEVELOPER", "ana@example.org"),
    ],
)
def test_a_setting_that_is_wrong_is_named(
    cli: Call, name: str, value: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setenv(name, value)

    answer = cli("session", "start", "--chatmode", "coder", "--json")

    assert (answer.code, answer.document["code"]) == (2, "invalid_value")
    assert answer.document["message"].startswith(f"{name} ")
    assert "sec" not in answer.document["message"]
    assert not (tmp_path / "holdfast").exists()


@pytest.mark.parametrize("below", ["", "/a/b"])
def test_a_home_that_is_a_file_is_refused_with_the_setting_named(
    cli: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, below: str
):
    (tmp_path / "file").touch()
    monkeypatch.setenv("HOLDFAST_HOME", f"{tmp_path}/file{below}")

    answer = cli("status", "--json")

    assert (answer.code, answer.document["code"]) == (2, "invalid_value")
    assert answer.document["message"].startswith("HOLDFAST_HOME ")
    assert "is not a folder; set it to one" in answer.document["message"]
    assert "HOLDFAST_DATABASE" not in answer.document["message"]


def test_a_hook_whose_home_is_a_file_loses_nothing(run: Call, tmp_path: Path):
    """It cannot know which folder was meant; the default one is where a person looks next."""
    (tmp_path / "file").touch()
    said = {
        "hook_event_name": "Stop",
        "session_id": "c-1",
        "cwd": str(tmp_path),
        "last_assistant_message": "Done.",
    }

    answer = run(
        "hook", "claude", "Stop", stdin=json.dumps(said), HOLDFAST_HOME=str(tmp_path / "file")
    )

    assert (answer.code, answer.out, answer.err) == (0, "", "")
    assert run("status", "--json", HOLDFAST_HOME="").document["stored"] == 1


def test_a_read_only_home_is_reported():
    with open_folder() as home:
        home.chmod(0o500)

        answer = run_as_ordinary("session", "start", "--chatmode", "coder", "--json", home=home)

        assert (answer.code, answer.document["code"], answer.err) == (6, "store_read_only", "")
        assert (
            "Make it writable, or set HOLDFAST_HOME to another folder."
            in answer.document["message"]
        )
        assert list(home.iterdir()) == []


def test_a_read_only_store_is_reported_and_stays_unchanged():
    with open_folder() as home:
        run_as_ordinary("session", "start", "--chatmode", "coder", "--name", "work", home=home)
        store = home / "holdfast.db"
        before = store.read_bytes()
        store.chmod(0o400)

        answer = run_as_ordinary("session", "append", "work", *CONTENT, "x", "--json", home=home)

        assert (answer.code, answer.document["code"]) == (6, "store_read_only")
        assert store.read_bytes() == before


@pytest.mark.skipif(
    not Path("/proc/self").exists(),
    reason="this system has no folder that takes nothing from anybody",
)
@pytest.mark.parametrize(
    "setting",
    [{"HOLDFAST_HOME": "/proc/holdfast"}, {"HOLDFAST_DATABASE": "sqlite:////proc/holdfast/x.db"}],
)
def test_a_data_folder_that_cannot_be_made_names_the_setting(run: Call, setting: dict[str, str]):
    """It looks right until it is used; and the advice is not about a server that should run."""
    answer = run("status", **setting)

    assert (answer.code, answer.out) == (6, "Events     spooled 0 · dropped 0\n")
    assert answer.err == (
        "Error: /proc/holdfast cannot be reached: no such file or directory. "
        "Set HOLDFAST_HOME, or HOLDFAST_DATABASE where that is set, to a place that can be used.\n"
    )


def test_a_folder_that_cannot_be_listed_is_named():
    """Nothing that a person typed is wrong here, and nothing is wrong with the store."""
    with open_folder() as home:
        (home / ".caco" / "sessions").mkdir(parents=True)
        for folder in (home / ".caco" / "sessions", home / ".caco"):
            give(folder)
        (home / ".caco" / "sessions").chmod(0)

        answer = run_as_ordinary("import", "--json", home=home)

        assert (answer.code, answer.document["code"]) == (6, "unavailable")
        assert (
            f"'{home}/.caco/sessions' cannot be used: permission denied."
            == answer.document["message"]
        )


def test_a_full_disk_is_reported_and_nothing_is_acknowledged(
    run: Call, project: Path, tmp_path: Path
):
    """The limit on a file's size stands for the disk: the write-ahead log cannot grow any more."""
    session = run("session", "start", "--chatmode", "coder").out.strip()
    append = 'session append "$1" --type user_message --role user --content "$2" --json'
    script = f'ulimit -f 8; exec "$0" -m holdfast {append}'
    done = subprocess.run(
        ["sh", "-c", script, sys.executable, session, "x" * 100_000],
        env={name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")},
        capture_output=True,
        cwd=project,
    )

    assert (done.returncode, json.loads(done.stdout)["code"]) == (6, "store_full")
    assert run("session", "events", session, "--json").document == {"events": []}
    assert run("session", "verify").code == 0


def test_a_postgres_server_that_is_down_is_reported(cli: Call, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOLDFAST_DATABASE", "postgresql://ana:secret@127.0.0.1:1/holdfast")

    answer = cli("session", "start", "--chatmode", "coder")

    assert (answer.code, answer.out) == (6, "")
    assert answer.err.startswith(
        "Error: postgresql://ana:…@127.0.0.1:1/holdfast cannot be reached: "
    )
    assert answer.err.endswith("Check that it runs and that HOLDFAST_DATABASE is right.\n")


def test_an_unknown_postgres_user_is_reported(
    cli: Call, postgres_url: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HOLDFAST_DATABASE", postgres_url.replace("holdfast_app:", "nobody:x"))

    answer = cli("status", "--json")

    assert (answer.code, answer.document["code"]) == (6, "store_unreachable")
    assert 'password authentication failed for user "nobody"' in answer.document["message"]
