"""`holdfast forget`: look, ask, erase; and say what it does not reach."""

import json
import os
import re
import signal
import subprocess
from pathlib import Path

import apsw
import pytest

from holdfast.app import App
from holdfast.errors import InvalidValueError
from tests.rig.commands import HOLDFAST, PATIENCE_SECONDS, Answer, Call, run_process
from tests.workstreams.repos import with_code


@pytest.fixture
def secret(cli: Call) -> dict[str, str]:
    """A session with a secret in its second event, and the ids of both events by their content."""
    session = cli("session", "start", "--chatmode", "coder", "--name", "work", "--json").document[
        "id"
    ]
    ids = {"session": session}
    for content in ("harmless", "key sk-4711"):
        append = (
            "session",
            "append",
            session,
            "--type",
            "user_message",
            "--role",
            "user",
            "--content",
            content,
        )
        ids[content] = cli(*append, "--json").document["id"]
    return ids


def contents(cli: Call) -> list[str]:
    return [
        event["content"] for event in cli("session", "events", "work", "--json").document["events"]
    ]


def answer_to_the_question(project: Path, *arguments: str, stdin: str) -> Answer:
    done = subprocess.run(
        [*HOLDFAST, "forget", *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        cwd=project,
        timeout=PATIENCE_SECONDS,
    )
    return Answer(done.returncode, done.stdout, done.stderr)


def test_contexts_proofs_and_receipts_are_erased_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """In the store; the repository's own files are the person's, and are named."""
    monkeypatch.setenv("SHARED_CONTEXT_ENABLED", "true")
    repo = with_code(tmp_path / "payouts")

    def call(*arguments: str) -> Answer:
        return run_process(*arguments, cwd=repo.folder)

    assert call("workstream", "decide", "hunter-2 is what the old server takes").code == 0
    proof = call("prove", "--json", "--", "echo", "hunter-2").document["proof"]
    assert call("workstream", "withdraw", proof["id"]).code == 0
    assert call("workstream", "save", "--summary", "Done with it").code == 0
    receipt = call("bundle", "show", "--json").document["id"]

    shown = call("forget", "--match", "hunter-2", "--dry-run")
    erased = call("forget", "--match", "hunter-2", "--yes", "--json").document

    assert "2 saved contexts\n1 proof\n1 receipt" in shown.out
    assert len(erased["document_ids"]) == 5, "a proof is kept by time and by the files it ran on"
    assert erased["elsewhere"] == [
        str(repo.folder / "docs/context_summary.md"),
        str(repo.folder / "data/context/implementation_context.json"),
    ]
    assert call("bundle", "rebuild", receipt).code != 0
    store = Path(os.environ["HOLDFAST_HOME"]) / "holdfast.db"
    assert b"hunter-2" not in store.read_bytes()
    assert call("forget", "--match", "hunter-2", "--yes", "--json").document["document_ids"] == []


# --- what is erased -------------------------------------------------------------------------------


def test_events_are_erased_by_their_ids(cli: Call, secret: dict[str, str]):
    answer = cli("forget", secret["key sk-4711"], "--yes")

    assert (answer.code, answer.err) == (0, "")
    assert answer.out == "Erased 1 event.\nBackups that you made yourself still hold it.\n"
    assert contents(cli) == ["harmless", ""]
    assert cli("session", "events", "work").out.splitlines()[2].endswith("(erased)")
    assert cli("session", "verify").code == 0


def test_events_are_erased_by_a_piece_of_text(cli: Call, secret: dict[str, str]):
    answer = cli("forget", "--match", "sk-4711", "--yes", "--json")

    assert answer.document == {
        "dry_run": False,
        "erased": 1,
        "events": 1,
        "event_ids": [secret["key sk-4711"]],
        "memory_ids": [],
        "document_ids": [],
        "shared_ids": [],
        "session_ids": [],
        "backups": [],
        "elsewhere": [],
    }
    assert contents(cli) == ["harmless", ""]


def test_what_was_published_and_claimed_is_shown_and_erased_too(cli: Call):
    publish = ("team", "publish", "--title", "the sk-4711 work", "--summary", "s", "--yes")
    context = cli(*publish, "--json").document["context"]["id"]
    claim = cli("team", "claim", "a.py", "--reason", "for sk-4711", "--json").document["claim"][
        "id"
    ]

    looked = cli("forget", "--match", "sk-4711", "--dry-run")
    by_id = cli("forget", context, "--yes")
    by_text = cli("forget", "--match", "sk-4711", "--yes")
    again = cli("forget", context, claim, "--yes")

    assert looked.out.splitlines()[1:3] == ["1 published context", "1 claim"]
    assert by_id.out.startswith("Erased 1 published context.")
    assert by_text.out.startswith("Erased 1 claim.")
    assert (again.code, again.out) == (
        0,
        "Nothing to erase: nothing that is stored here matches.\n",
    )
    assert "sk-4711" not in cli("admin", "audit").out + cli("team", "state").out


def test_what_a_server_has_is_not_erased_and_a_note_says_how(
    cli: Call, secret: dict[str, str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HOLDFAST_SERVER", "https://127.0.0.1:1")

    answer = cli("forget", "--match", "sk-4711", "--dry-run")

    assert answer.code == 0
    assert "What was sent to the team's server is not erased by this." in answer.err


def test_a_whole_session_is_erased(cli: Call, secret: dict[str, str]):
    cli("session", "state", "work", "--set", '{"key": "sk-4711"}')

    answer = cli("forget", "--session", "work", "--yes")

    assert answer.out.startswith(
        "Erased 2 events and the session's scratchpad, name and context sets.\n"
    )
    session = cli("session", "show", secret["session"], "--json").document
    assert (session["name"], session["metadata"]) == (None, {})
    assert cli("session", "state", secret["session"]).out == "{}\n"
    assert cli("session", "verify").code == 0


def test_labels_of_a_session_stay_and_the_output_names_them(cli: Call):
    """Before as well as after: no reader should think that they were erased."""
    cli("session", "start", "--chatmode", "coder", "--branch", "sk-4711", "--name", "work")

    looked, erased = (
        cli("forget", "--session", "work", "--dry-run"),
        cli("forget", "--session", "work", "--yes"),
    )

    for answer in (looked, erased):
        assert (
            "\nThe session's chatmode, user, workflow, skill, branch and working tree stay"
            in answer.out
        )


def test_spooled_events_are_erased_too(cli: Call, secret: dict[str, str]):
    """Otherwise the next hook would bring it back."""
    with App() as app:
        owner = app.settings.owner
        app.spool.add(
            {
                "workspace_id": owner.workspace_id,
                "developer_id": owner.developer_id,
                "user_id": "u1",
                "client": "claude",
                "native_id": "n1",
                "worktree": None,
                "event": {
                    "id": "01a1e0aa-0000-7000-8000-000000000001",
                    "type": "user_message",
                    "role": "user",
                    "content": "it is sk-4711",
                    "parts": None,
                },
            }
        )

    assert cli("forget", "--match", "sk-4711", "--yes", "--json").document["erased"] == 2
    assert cli("forget", "--match", "sk-4711", "--dry-run", "--json").document["event_ids"] == []


def test_a_text_is_erased_in_scratchpads_too(cli: Call, secret: dict[str, str]):
    cli("session", "state", "work", "--set", '{"key": "sk-4711", "other": 1}')

    shown = cli("forget", "--match", "sk-4711", "--dry-run")
    answer = cli("forget", "--match", "sk-4711", "--yes")
    again = cli("forget", "--match", "sk-4711", "--yes")

    held = "in the scratchpad, name and context sets of 1 session"
    assert f"\nWhat holds it {held}\n" in shown.out
    assert answer.out.startswith(f"Erased 1 event and what held it {held}.\n")
    assert json.loads(cli("session", "state", "work", "--json").out)["scratchpad"] == {"other": 1}
    assert again.out.startswith("Nothing to erase")


def test_a_dry_run_shows_and_erases_nothing(cli: Call, secret: dict[str, str]):
    answer = cli("forget", "--match", "sk-4711", "--dry-run")
    whole = cli("forget", "--session", "work", "--dry-run", "--json")

    assert re.match(r"Would erase:\n1 event:\n[\d-]{10} \(UTC\)\n    2  ", answer.out)
    assert "key sk-4711\n" in answer.out
    assert (
        whole.document["dry_run"],
        whole.document["erased"],
        len(whole.document["event_ids"]),
    ) == (True, 0, 2)
    assert contents(cli) == ["harmless", "key sk-4711"]


@pytest.mark.parametrize("options", [(), ("--yes",), ("--dry-run",)])
def test_with_nothing_to_erase_no_question_is_asked_and_the_exit_code_is_0(
    cli: Call, secret: dict[str, str], options: tuple[str, ...]
):
    answer = cli("forget", "--match", "nowhere to be found", *options)

    assert (answer.code, answer.err) == (0, "")
    assert answer.out == "Nothing to erase: nothing that is stored here matches.\n"


def test_erasing_again_finds_nothing_left(cli: Call, secret: dict[str, str]):
    cli("forget", secret["harmless"], "--yes")

    assert cli("forget", secret["harmless"], "--yes", "--json").document["erased"] == 0


def test_more_events_than_fit_a_screen_are_counted(cli: Call):
    with App() as app:
        session = app.run(app.scope.sessions.create_session("coder", "u1", name="long"))
        event = {"type": "user_message", "role": "user", "content": "again"}
        app.run(app.scope.sessions.append_events(session.id, [event] * 25))

    lines = cli("forget", "--session", "long", "--dry-run").out.splitlines()

    assert lines[1] == "25 events:"
    assert lines[23:25] == [
        "       … and 5 more",
        "The session's scratchpad, name and context sets",
    ]


def test_files_that_may_still_hold_it_are_named(cli: Call, secret: dict[str, str], tmp_path: Path):
    backup = tmp_path / "holdfast" / "holdfast.db.before-2"
    backup.touch()
    with App() as app:
        app.spool.reject(
            {"event": {"id": "1", "content": "sk-4711"}},
            InvalidValueError("event", "x", "is wrong"),
        )

    answer = cli("forget", "--match", "sk-4711", "--yes")

    assert answer.out.splitlines()[1:4] == [
        "These files may still hold it:",
        f"  {backup}",
        f"  {app.spool.rejected}",
    ]


def test_the_transcript_of_a_client_that_holds_it_is_named(
    cli: Call, secret: dict[str, str], home: Path, project: Path
):
    """It is the client's, so it is left as it is."""
    folder = re.sub(r"[^A-Za-z0-9]", "-", str(project))
    transcript = (
        home / ".claude" / "projects" / folder / "0af395d8-6c4b-4446-89a7-d52beac3d8cd.jsonl"
    )
    transcript.parent.mkdir(parents=True)
    transcript.write_text('{"type":"user","message":{"content":"key sk-4711"}}\n')
    before = transcript.read_bytes()

    answer = cli("forget", "--match", "sk-4711", "--yes")

    assert f"  {transcript}" in answer.out.splitlines()
    assert transcript.read_bytes() == before


def test_files_of_the_spool_that_hold_the_text_are_named_one_by_one(
    cli: Call, secret: dict[str, str]
):
    """Also when no event has it: what waits for another store is out of reach, and no reason to say
    nothing.
    """
    with App() as app:
        app.spool.reject(
            {"event": {"id": "1", "content": "harmless"}},
            InvalidValueError("event", "x", "is wrong"),
        )
        app.spool.add({"store": "another", "event": {"id": "2", "content": "only here: sk-0815"}})
    waiting = f"{app.spool.folder}/other-another.jsonl"

    answer, document = (
        cli("forget", "--match", "sk-0815", "--yes"),
        cli("forget", "--match", "sk-0815", "--json"),
    )

    assert answer.out.splitlines()[1:] == ["These files may still hold it:", f"  {waiting}"]
    assert document.document["elsewhere"] == [waiting]
    assert cli("forget", "--match", "sk-4711", "--yes", "--json").document["elsewhere"] == []


def test_a_log_that_a_reader_keeps_is_named(cli: Call, secret: dict[str, str], tmp_path: Path):
    path = tmp_path / "holdfast" / "holdfast.db"
    reader = apsw.Connection(str(path))
    reader.execute("begin; select count(*) from session_events").fetchall()

    answer = cli("forget", secret["key sk-4711"], "--yes")
    reader.close()

    assert answer.out.splitlines()[1:3] == ["These files may still hold it:", f"  {path}-wal"]
    assert contents(cli) == ["harmless", ""]


# --- the question ---------------------------------------------------------------------------------


def test_the_question_shows_what_goes_and_erases_on_yes(
    cli: Call, secret: dict[str, str], project: Path
):
    answer = answer_to_the_question(project, "--match", "sk-4711", "--json", stdin="y\n")

    assert (answer.code, answer.document["erased"]) == (0, 1)
    assert re.match(r"1 event:\n[\d-]{10} \(UTC\)\n    2  ", answer.err)
    assert "key sk-4711\nErase this permanently? [y/N]: " in answer.err
    assert contents(cli) == ["harmless", ""]


def test_without_an_answer_the_confirming_option_is_named(
    cli: Call, secret: dict[str, str], project: Path
):
    """The text is not repeated: it is what should not be seen again."""
    session, event = secret["session"], secret["harmless"]
    for given, again in (
        (("--session", "work"), f"holdfast forget --session {session} --yes"),
        (("--match", "sk-4711"), "holdfast forget --match TEXT --yes"),
        ((event,), "holdfast forget ID… --yes"),
    ):
        answer = answer_to_the_question(project, *given, "--json", stdin="")

        assert (answer.code, answer.document["code"]) == (1, "aborted")
        assert answer.document["next_actions"] == [again]
        assert answer.document["message"] == "Nothing was changed: the question was not answered."
        assert answer.err.endswith("[y/N]: \n"), "whatever comes next begins a line"
    assert contents(cli) == ["harmless", "key sk-4711"]


@pytest.mark.parametrize("stdin", ["n\n", "\n"])
def test_an_answer_other_than_yes_changes_nothing(
    cli: Call, secret: dict[str, str], project: Path, stdin: str
):
    answer = answer_to_the_question(project, "--session", "work", stdin=stdin)

    assert (answer.code, answer.out.strip()) == (1, "")
    assert answer.err.endswith("[y/N]: Nothing was changed.\n")
    assert (
        "The session's scratchpad, name and context sets\nErase this permanently? [y/N]:"
        in answer.err
    )
    assert contents(cli) == ["harmless", "key sk-4711"]


def test_a_refused_question_is_an_error_document(cli: Call, secret: dict[str, str], project: Path):
    answer = answer_to_the_question(project, "--match", "sk-4711", "--json", stdin="n\n")

    assert (answer.code, answer.document) == (
        1,
        {"code": "aborted", "message": "Nothing was changed.", "next_actions": []},
    )


def ask(project: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """A process that has asked, and waits."""
    asking = subprocess.Popen(
        [*HOLDFAST, "forget", *arguments],
        cwd=project,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert asking.stderr is not None
    asked = b""
    while not asked.endswith(b"[y/N]: "):
        asked += asking.stderr.read(1)
    return asking


def test_a_session_that_goes_on_while_the_question_is_open_is_named(
    cli: Call, secret: dict[str, str], project: Path
):
    cli("session", "end", "work")
    asking = ask(project, "--session", secret["session"], "--json")
    new = cli("session", "resume", secret["session"], "--json").document["id"]

    out, _ = asking.communicate(b"y\n", timeout=PATIENCE_SECONDS)

    assert json.loads(out)["elsewhere"] == [new]


def test_control_c_at_the_question_changes_nothing(
    cli: Call, secret: dict[str, str], project: Path
):
    asking = ask(project, "--match", "sk-4711")

    asking.send_signal(signal.SIGINT)
    out, err = asking.communicate(timeout=PATIENCE_SECONDS)

    assert (asking.returncode, out.strip(), err.strip()) == (1, b"", b"Error: Nothing was changed.")
    assert contents(cli) == ["harmless", "key sk-4711"]


# --- bad input ------------------------------------------------------------------------------------


def test_forget_needs_to_know_what(cli: Call):
    answer = cli("forget", "--yes", "--json")

    assert (answer.code, answer.document["code"]) == (2, "usage")
    assert answer.document["message"].startswith(
        "Say what to forget: ids of events, memories, documents, contexts, claims or handoffs, "
        "--session or --match, one of the three"
    )


def test_two_ways_to_say_what_are_not_joined_silently(cli: Call, secret: dict[str, str]):
    answer = cli("forget", secret["harmless"], "--match", "sk-4711", "--yes", "--json")

    assert (answer.code, answer.document["code"]) == (2, "usage")
    assert contents(cli) == ["harmless", "key sk-4711"]


@pytest.mark.parametrize(
    ("arguments", "code", "name"),
    [
        (("HARMLESS", "01a1e0aa-0000-7000-8000-000000000001"), 3, "event_not_found"),
        (("HARMLESS", "not-an-id"), 2, "invalid_value"),
        (("--session", "nobody"), 3, "session_not_found"),
        (("--match", "  "), 2, "invalid_value"),
        (("--match", ""), 2, "invalid_value"),
    ],
)
def test_an_unknown_or_invalid_target_erases_nothing(
    cli: Call, secret: dict[str, str], arguments: tuple[str, ...], code: int, name: str
):
    given = [secret["harmless"] if argument == "HARMLESS" else argument for argument in arguments]

    answer = cli("forget", *given, "--yes", "--json")

    assert (answer.code, answer.document["code"]) == (code, name)
    assert contents(cli) == ["harmless", "key sk-4711"]


def test_forgetting_a_session_names_the_ones_that_went_on_from_it(cli: Call):
    """They took over its name, its context and its scratchpad."""
    old = cli("session", "start", "--chatmode", "m", "--name", "secret", "--json").document["id"]
    cli("session", "end", old)
    new = cli("session", "resume", old, "--json").document["id"]

    answer = cli("forget", "--session", old, "--yes", "--json")

    assert answer.document["elsewhere"] == [new]
    assert f"holdfast forget --session {new}" in answer.err
