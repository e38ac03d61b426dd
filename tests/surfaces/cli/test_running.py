"""How every command runs: one JSON document or none, data on stdout, notes on stderr, an exit code
for each kind.
"""

import json
import os
import signal
import subprocess
from pathlib import Path

import apsw
import pytest

from holdfast.app import App
from tests.rig.commands import HOLDFAST, PATIENCE_SECONDS, Call

CONTENT = ("--type", "user_message", "--role", "user", "--content")

# Every command that answers, in an order in which each finds what it needs.
COMMANDS = [
    ("session", "start", "--chatmode", "architect", "--name", "work"),
    ("session", "append", "work", *CONTENT, "hello"),
    ("session", "show", "work"),
    ("session", "events", "work"),
    ("session", "state", "work"),
    ("session", "state", "work", "--set", "{}"),
    ("session", "list"),
    ("session", "rename", "work", "work"),
    ("session", "resume", "work"),
    ("session", "thread", "work"),
    ("session", "verify"),
    ("context", "set", "files", "."),
    ("context", "show"),
    ("forget", "--match", "no such words"),
    ("status",),
    ("import",),
    ("admin", "migrate"),
    ("completion", "fish"),
    ("help",),
    ("help", "all"),
    ("session", "end", "work"),
]


def test_every_command_prints_one_json_document_and_nothing_else(cli: Call):
    for command in COMMANDS:
        answer = cli(*command, "--json")

        assert (command, answer.code) == (command, 0)
        assert isinstance(answer.document, dict)
        assert answer.err == ""


def test_every_command_prints_text_without_a_note(cli: Call):
    for command in COMMANDS:
        answer = cli(*command)

        assert (command, answer.code, answer.err) == (command, 0, "")
        assert answer.out.strip()
        assert not answer.out.startswith('{"')


def test_json_may_stand_anywhere_before_two_dashes(cli: Call):
    assert cli("session", "--json", "list").document == {"sessions": []}
    assert cli("--json", "session", "list").document == {"sessions": []}
    assert cli("session", "list", "--json").document == {"sessions": []}
    assert cli("session", "show", "--json", "nobody").document["code"] == "session_not_found"
    assert cli("session", "show", "--", "--json").err.startswith(
        "Error: Session '--json' does not exist."
    )


# --- exit codes, through real processes -----------------------------------------------------------


@pytest.mark.measures_processes
@pytest.mark.parametrize(
    ("arguments", "code", "name"),
    [
        (("session", "list"), 0, None),
        (("session", "list", "--limit", "many"), 2, "usage"),
        (("session", "list", "--limit", "0"), 2, "invalid_value"),
        (("session", "show", "nobody"), 3, "session_not_found"),
    ],
)
def test_each_kind_of_error_has_its_exit_code(
    run: Call, arguments: tuple[str, ...], code: int, name: str | None
):
    answer, document = run(*arguments), run(*arguments, "--json")

    assert (answer.code, document.code) == (code, code)
    assert document.document.get("code") == name
    assert document.err == ""
    if name:
        assert set(document.document) == {"code", "message", "next_actions"}
        assert answer.out == ""
        assert answer.err.startswith(f"Error: {document.document['message']}")
        assert all(f"`{action}`" in answer.err for action in document.document["next_actions"])


def test_a_conflict_exits_with_4_and_says_what_to_do_next(run: Call):
    session = run("session", "start", "--chatmode", "coder").out.strip()
    run("session", "end", session)

    answer = run("session", "append", session, *CONTENT, "late", "--json")

    assert answer.code == 4
    assert answer.document["code"] == "session_ended"
    assert answer.document["next_actions"] == [f"holdfast session resume {session}"]


def test_a_refusal_exits_with_5(run: Call, tmp_path: Path):
    run("status")
    connection = apsw.Connection(str(tmp_path / "holdfast" / "holdfast.db"))
    connection.execute("pragma user_version=99")
    connection.close()

    answer = run("status", "--json")

    assert (answer.code, answer.document["code"]) == (5, "newer_schema")
    assert answer.document["next_actions"] == ["pipx upgrade holdfast"]


def test_an_unreachable_store_exits_with_6(run: Call):
    answer = run(
        "status", "--json", HOLDFAST_DATABASE="postgresql://ana:secret@127.0.0.1:1/holdfast"
    )

    assert (answer.code, answer.document["code"], answer.err) == (6, "store_unreachable", "")
    assert "ana:…@127.0.0.1:1" in answer.document["message"]
    assert "secret" not in answer.out


@pytest.mark.measures_processes
def test_a_bug_exits_with_1_and_says_where_without_a_stack_trace(run: Call, tmp_path: Path):
    """A store with an invalid time is an error that we did not foresee."""
    run("session", "start", "--chatmode", "coder", "--name", "my own words")
    connection = apsw.Connection(str(tmp_path / "holdfast" / "holdfast.db"))
    for (trigger,) in connection.execute(
        "select name from sqlite_schema where type = 'trigger'"
    ).fetchall():
        connection.execute(f"drop trigger {trigger}")
    connection.execute("update sessions set started_at = 'my own words'")
    connection.close()

    answer, document = (
        run("session", "show", "my own words"),
        run("session", "show", "my own words", "--json"),
    )

    assert (answer.code, document.code, document.document["code"]) == (1, 1, "bug")
    assert answer.err.startswith("Error: This is a bug in Holdfast: ValueError at clock.py:")
    assert (answer.err.count("\n"), "my own words" in answer.err) == (1, False)


# --- odd surroundings -----------------------------------------------------------------------------


def test_a_reader_that_closes_the_pipe_early_is_not_an_error(run: Call, project: Path):
    """`holdfast session events work | head -1`, with more behind it than a pipe holds."""
    with App() as app:
        session = app.run(app.scope.sessions.create_session("coder", "u1", name="work"))
        event = {"type": "user_message", "role": "user", "content": "x" * 4000}
        app.run(app.scope.sessions.append_events(session.id, [event] * 200))
    read, write = os.pipe()
    listing = subprocess.Popen(
        [*HOLDFAST, "session", "events", "work", "--turns", "500", "--json"],
        stdout=write,
        stderr=subprocess.PIPE,
        cwd=project,
    )
    os.close(write)

    assert os.read(read, 9) == b'{"events"'
    os.close(read)
    _, err = listing.communicate(timeout=PATIENCE_SECONDS)

    assert (listing.returncode, err) == (0, b"")


@pytest.mark.measures_processes
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_behind_stdout_is_reported_on_stderr(project: Path):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*HOLDFAST, "session", "list", "--json"],
            stdout=full,
            stderr=subprocess.PIPE,
            cwd=project,
            text=True,
        )

    assert (done.returncode, done.stderr) == (
        6,
        "Error: The output cannot be used: no space left on device.\n",
    )


def test_without_any_stdout_the_work_is_done(project: Path, cli: Call):
    script = 'exec "$0" -m holdfast session start --chatmode coder --name work >&-'

    done = subprocess.run(["sh", "-c", script, HOLDFAST[0]], stderr=subprocess.PIPE, cwd=project)

    assert (done.returncode, done.stderr) == (0, b"")
    assert cli("session", "show", "work").code == 0


@pytest.mark.measures_processes
@pytest.mark.parametrize(
    ("closed", "arguments", "codes"),
    [
        ("<&-", ("publish", "--title", "Retries", "--summary", "Moved to 3."), (2,)),
        ("<&- 2>&-", ("publish", "--title", "Retries", "--summary", "Moved to 3."), (2,)),
        ("<&-", ("resume",), (0, 3)),
        ("<&- >&- 2>&-", ("resume", "--list"), (0, 3)),
        ("<&-", ("conversation", "prune"), (0, 2)),
        (">&-", ("session", "list"), (0,)),
    ],
)
def test_a_closed_stream_is_no_terminal(
    closed: str, arguments: tuple[str, ...], codes: tuple[int, ...], project: Path
):
    script = f'exec "$0" -m holdfast "$@" {closed}'
    done = subprocess.run(
        ["sh", "-c", script, HOLDFAST[0], *arguments],
        cwd=project,
        capture_output=True,
        timeout=PATIENCE_SECONDS,
    )

    assert done.returncode in codes, done.stderr


def test_a_terminal_that_knows_few_characters_gets_escapes(run: Call):
    run("session", "start", "--chatmode", "coder", "--name", "Größe 東京")

    text = run("session", "show", "Größe 東京", PYTHONIOENCODING="latin-1")
    document = run("session", "show", "Größe 東京", "--json", PYTHONIOENCODING="latin-1")

    assert (text.code, document.code) == (0, 0)
    assert "e \\u6771\\u4eac\n" in text.out
    assert document.document["name"] == "Größe 東京"


def test_a_removed_working_folder_is_reported(run: Call, project: Path):
    script = (
        'mkdir gone && cd gone && rmdir ../gone && exec "$0" -m holdfast session start '
        "--chatmode coder --json"
    )

    done = subprocess.run(
        ["sh", "-c", script, HOLDFAST[0]], stdout=subprocess.PIPE, cwd=project, text=True
    )

    assert done.returncode == 2
    assert json.loads(done.stdout)["message"] == (
        "The current folder '.' was removed; change to one that is there."
    )


@pytest.mark.skipif(
    not Path("/proc/self/fd").exists(), reason="this system does not tell who waits"
)
def test_control_c_during_the_work_prints_no_stack_trace(run: Call, project: Path, tmp_path: Path):
    """Another writer holds the store, so that the command is surely still waiting when the signal
    comes.
    """
    run("status")
    connection = apsw.Connection(str(tmp_path / "holdfast" / "holdfast.db"))
    connection.execute("begin immediate")
    waiting = subprocess.Popen(
        [*HOLDFAST, "session", "start", "--chatmode", "coder", "--json"],
        cwd=project,
        # Not measured: a signal in the middle of coverage's own bookkeeping leaves its lock taken.
        env={name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    lock = tmp_path / "holdfast" / "holdfast.db-shm"
    while not (has_loaded(waiting.pid, "apsw") and str(waiting.pid) in holders(lock)):
        assert waiting.poll() is None

    waiting.send_signal(signal.SIGINT)
    connection.execute("rollback")
    connection.close()
    out, err = waiting.communicate(timeout=PATIENCE_SECONDS)

    # Python ends itself by the signal when it interrupted an `exec`, as in making a dataclass,
    # although the exception was handled.
    assert waiting.returncode in (1, -signal.SIGINT)
    assert json.loads(out)["code"] == "aborted"
    assert b"Traceback" not in err


def has_loaded(process_id: int, library: str) -> bool:
    """Not while it is still becoming another program, and has open what this process has open."""
    return library in Path(f"/proc/{process_id}/maps").read_text()


def holders(path: Path) -> list[str]:
    """Which processes have a file open."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if any(os.readlink(fd) == str(path) for fd in (process / "fd").iterdir()):
                found.append(process.name)
        except OSError:
            continue
    return found
