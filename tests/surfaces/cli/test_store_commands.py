"""`holdfast status`, `holdfast import` and `holdfast admin`: the store itself."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from holdfast.app import App
from holdfast.errors import InvalidValueError
from holdfast.storage.migrate import migrations
from tests.rig.commands import PATIENCE_SECONDS, Call
from tests.rig.ordinary import give, open_folder, run_as_ordinary
from tests.rig.postgres import Cluster

EVENT_ID = "01a1e0aa-0000-7000-8000-000000000001"

# --- status ---------------------------------------------------------------------------------------


def test_status_of_a_new_store(cli: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOLDFAST_DEVELOPER", "ana")
    home = tmp_path / "holdfast"

    assert cli("status").out.splitlines() == [
        f"Store      sqlite:///{home}/holdfast.db",
        f"Data       {home}",
        "Developer  ana in workspace local",
        "Sessions   0",
        "Events     stored 0 · spooled 0 · lost 0",
        "Clients    none is set up; `holdfast init` does it",
        "Team       public: visible to the team · 0 contexts · 0 claims",
    ]
    counts = ("accepted", "stored", "spooled", "rejected", "lost", "sessions", "at_risk", "dropped")
    accounts: dict[str, Any] = dict.fromkeys(counts, 0) | {"has_older_sessions": False}
    times = dict.fromkeys(("first_dropped_at", "last_dropped_at", "last_hook_failure"))
    whose = {
        "workspace": "local",
        "developer": "ana",
        "database": f"sqlite:///{home}/holdfast.db",
        "home": str(home),
    }
    hooks: dict[str, Any] = {"ignored_hooks": [], "clients": [], "off_sessions": []}
    document = cli("status", "--json").document
    assert document.pop("tools_tokens") > 0
    team = {"visibility": "public", "contexts": 0, "claims": 0, "handoffs_offered": 0}
    assert document == accounts | whose | times | hooks | {"team": team, "team_server": None}


def test_status_says_that_only_the_newest_sessions_are_counted(
    cli: Call, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("holdfast.app.SESSIONS_COUNTED", 2)
    for _ in range(3):
        session_id = cli("session", "start", "--chatmode", "m", "--json").document["id"]
        event = ("--type", "user_message", "--role", "user", "--content", "hi")
        cli("session", "append", session_id, *event)

    assert cli("status").out.splitlines()[3:6] == [
        "Sessions   2+",
        "Events     stored 2+ · spooled 0 · lost 0",
        "           in the newest 2 sessions; `holdfast session verify` checks all",
    ]
    document = cli("status", "--json").document
    assert (document["sessions"], document["has_older_sessions"]) == (2, True)


def test_status_counts_what_was_rejected_and_says_where_it_lies(cli: Call):
    with App() as app:
        app.spool.reject({"event": {"id": "1"}}, InvalidValueError("event", "x", "is wrong"))

    answer = cli("status", "--json")

    assert (answer.code, answer.document["rejected"], answer.document["accepted"]) == (0, 1, 1)
    assert answer.err == f"Note: 1 could not be stored; {app.spool.rejected} says why\n"


@pytest.mark.parametrize(
    ("arguments", "stdin", "client", "field", "reason"),
    [
        (
            ("claude", "Stop"),
            "my own words",
            "claude",
            "payload",
            "claude: what came on stdin cannot be used",
        ),
        (
            ("cladue", "Stop"),
            "",
            None,
            "hook",
            "unknown client: it is not wired to a client that is known",
        ),
    ],
)
def test_status_shows_the_last_hook_that_failed(
    run: Call, arguments: tuple[str, ...], stdin: str, client: str | None, field: str, reason: str
):
    """A hook prints nothing, so this is where a person finds out; codes, and no free text."""
    run("hook", "codex", "Stop", stdin="earlier")
    run("hook", *arguments, stdin=stdin)

    text, failure = run("status"), run("status", "--json").document["last_hook_failure"]

    assert set(failure) == {"at", "client", "error", "code", "field"}
    assert (failure["client"], failure["code"], failure["field"]) == (
        client,
        "invalid_value",
        field,
    )
    day, minute = failure["at"][:10], failure["at"][11:16]
    assert text.out.splitlines()[-1] == f"Hooks      last failure {day} {minute}Z, {reason}"
    assert (text.code, text.err, "my own words" in text.out) == (0, "", False)


def test_status_names_a_hook_that_is_unknown_once(run: Call):
    """A mistyped name keeps nothing; one that a client added later is no failure either."""
    for name in ("UserPromtSubmit", "UserPromtSubmit", "Stop", "SessionStart", "PreToolUse"):
        payload = {"hook_event_name": name, "session_id": "n-1", "cwd": "/", "prompt": "words"}
        assert run("hook", "claude", name, stdin=json.dumps(payload)).code == 0

    text, data = run("status"), run("status", "--json").document

    assert data["ignored_hooks"] == [{"client": "claude", "hook": "UserPromtSubmit"}]
    assert data["last_hook_failure"] is None
    assert text.out.splitlines()[-1] == (
        "Hooks      unknown event UserPromtSubmit of claude was ignored; known: UserPromptSubmit, "
        "Stop, PostToolUse, PostToolUseFailure, SessionStart, PreToolUse, SubagentStop, SessionEnd"
    )
    assert text.code == 0


def test_status_finds_a_failed_hook_behind_other_lines_of_the_log(run: Call, tmp_path: Path):
    """The log is shared, moved aside when it is full, and any program may have damaged it."""
    run("hook", "claude", "Stop", stdin="no json")
    log = tmp_path / "holdfast" / "holdfast.log"
    log.rename(f"{log}.1")
    log.write_bytes(b'{"event": "store_busy"}\n[1]\nno json\n\xff\n')

    found = run("status", "--json").document["last_hook_failure"]
    log.unlink()
    log.mkdir()

    assert found["client"] == "claude"
    assert run("status", "--json").document["last_hook_failure"] == found


def test_status_with_a_lost_event_says_so_and_exits_with_5(cli: Call, tmp_path: Path):
    """The numbers that were handed out are the witness: a row that was taken out is missed."""
    session = cli("session", "start", "--chatmode", "coder").out.strip()
    for content in ("one", "two"):
        cli(
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
    connection = apsw.Connection(str(tmp_path / "holdfast" / "holdfast.db"))
    for (trigger,) in connection.execute(
        "select name from sqlite_schema where type = 'trigger'"
    ).fetchall():
        connection.execute(f"drop trigger {trigger}")
    connection.execute("delete from session_events where sequence = 1")
    connection.close()

    answer = cli("status", "--json")

    accounts = {
        key: answer.document[key] for key in ("accepted", "stored", "spooled", "rejected", "lost")
    }
    assert accounts == {"accepted": 2, "stored": 1, "spooled": 0, "rejected": 0, "lost": 1}
    assert (answer.code, "holdfast session verify" in answer.err) == (5, True)


def test_status_hides_a_password(cli: Call, postgres_url: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOLDFAST_DATABASE", postgres_url)

    answer = cli("status", "--json")

    password = postgres_url.partition("@")[0].rpartition(":")[2]
    assert (answer.code, len(password) > 20, password in answer.out) == (0, True, False)
    assert answer.document["database"].startswith("postgresql://holdfast_app:…@")


def test_a_role_that_bypasses_row_level_security_gives_a_note(
    run: Call, postgres: Cluster, postgres_database: str
):
    """In a sentence, and not as a Python warning with a file and a line."""
    answer = run("status", "--json", HOLDFAST_DATABASE=postgres.dsn(postgres_database))

    assert answer.code == 0
    assert answer.err.startswith(
        "Note: PostgreSQL role 'postgres' is a superuser, so row-level security does not hold"
    )
    assert answer.err.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            '{"shared_contxt": true}',
            (
                "settings.json has 'shared_contxt', which is not a known setting. Did you mean "
                "'shared_context'?"
            ),
        ),
        (
            '{"shared_context": tru}',
            "is not JSON (Expecting value: line 1 column 20 (char 19)); fix or remove it.",
        ),
        ('{"shared_context": "yes"}', "settings.json is neither true nor false."),
        (
            '{"repositories": {"shop": {"shared_context": true}}}',
            "names a repository 'shop', and none is called so.",
        ),
    ],
)
def test_status_reports_what_is_wrong_in_the_settings(
    cli: Call, tmp_path: Path, text: str, words: str
):
    (tmp_path / "holdfast").mkdir()
    (tmp_path / "holdfast" / "settings.json").write_text(text)

    answer = cli("status", "--json")

    assert (answer.code, answer.err.count("Note: "), answer.err.count("\n")) == (0, 1, 1)
    assert words in answer.err


def test_a_typo_in_the_settings_stands_beside_the_refusal_that_it_caused(run: Call, tmp_path: Path):
    (tmp_path / "holdfast").mkdir()
    (tmp_path / "holdfast" / "settings.json").write_text('{"shared_contxt": true}')

    answer = run("workstream", "show")

    note, error = answer.err.splitlines()
    assert (answer.code, answer.out) == (5, "")
    assert note.startswith(f"Note: {tmp_path}/holdfast/settings.json has 'shared_contxt'")
    assert error.startswith("Error: Shared context is off")
    assert f"in {tmp_path}/holdfast/settings.json." in error
    assert run("session", "list").err == "", (
        "who has no use for the settings does not speak of them"
    )


def test_a_missing_home_is_reported_and_not_created(run: Call, tmp_path: Path):
    answer = run("status", HOME=str(tmp_path / "nonexist"), HOLDFAST_HOME="")

    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("Error: HOME '/")
    assert "does not exist; correct it" in answer.err
    assert not (tmp_path / "nonexist").exists()


# --- import ---------------------------------------------------------------------------------------


def test_import_brings_in_names_and_sets_once(cli: Call, home: Path):
    folder = home / ".caco" / "sessions" / "n1"
    folder.mkdir(parents=True)
    (folder / "meta.json").write_text(
        json.dumps({"name": "web hook", "context": {"files": ["a.md"]}})
    )

    first = cli("import", "--client", "caco")
    again = cli("import", "--json")

    assert (first.code, first.out) == (0, "Imported 1 session; 0 known already.\n")
    assert again.document == {"imported": 0, "known": 1, "problems": []}
    assert cli("context", "show", "--session", "web hook", "--json").document["context"] == {
        "files": ["a.md"]
    }


def test_import_names_what_it_cannot_read_and_goes_on(cli: Call, home: Path):
    for name, text in (("bad", "{"), ("good", '{"name": "web hook"}')):
        folder = home / ".caco" / "sessions" / name
        folder.mkdir(parents=True)
        (folder / "meta.json").write_text(text)

    answer = cli("import")

    assert (answer.code, answer.out) == (0, "Imported 1 session; 0 known already.\n")
    assert answer.err.startswith("Note: bad: meta.json '{' is not JSON")


def test_a_folder_with_a_line_break_in_its_name_is_one_note(cli: Call, home: Path):
    (home / ".caco" / "sessions" / "a\nError: b").mkdir(parents=True)

    answer = cli("import")

    assert (answer.code, answer.err.count("\n")) == (0, 1)
    assert answer.err.startswith("Note: 'a\\nError: b': folder 'a\\nError: b' holds no meta.json")


def test_a_store_that_fails_during_an_import_is_reported(run: Call, home: Path):
    """The limit on a file's size stands for the disk, and no folder is blamed for it."""
    run("status")
    for number in range(40):
        folder = home / ".caco" / "sessions" / f"n{number}"
        folder.mkdir(parents=True)
        (folder / "meta.json").write_text(json.dumps({"name": "x" * 400}))
    done = subprocess.run(
        ["sh", "-c", 'ulimit -f 16; exec "$0" -m holdfast import --json', sys.executable],
        env={name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")},
        capture_output=True,
        timeout=PATIENCE_SECONDS,
    )

    assert (done.returncode, json.loads(done.stdout)["code"]) == (6, "store_full")
    rest = run("import", "--json").document
    assert (rest["imported"] + rest["known"], rest["problems"], rest["imported"] > 0) == (
        40,
        [],
        True,
    )


def test_a_file_in_place_of_the_import_folder_is_refused(cli: Call, home: Path):
    (home / ".caco").mkdir()
    (home / ".caco" / "sessions").write_text("no folder")

    answer = cli("import", "--json")

    assert (answer.code, answer.document["code"]) == (2, "invalid_value")
    assert "is not a folder, so there is nothing to import" in answer.document["message"]


def test_an_unreadable_import_file_is_listed_as_a_problem():
    with open_folder() as home:
        folder = home / ".caco" / "sessions" / "n1"
        folder.mkdir(parents=True)
        (folder / "meta.json").write_text('{"name": "x"}')
        for path in (folder / "meta.json", folder, folder.parent, folder.parent.parent):
            give(path)
        (folder / "meta.json").chmod(0)

        answer = run_as_ordinary("import", "--json", home=home)

        assert (answer.code, answer.document["imported"]) == (0, 0)
        assert answer.document["problems"] == [
            "n1: file 'meta.json' cannot be read: permission denied."
        ]


def test_import_without_anything_to_import_says_so(cli: Call, home: Path):
    assert cli("import").out == f"Nothing to import: {home}/.caco/sessions holds no sessions.\n"
    assert cli("import", "--json").document == {"imported": 0, "known": 0, "problems": []}


def test_import_of_an_unknown_program_lists_the_known_ones(cli: Call):
    answer = cli("import", "--client", "nobody", "--json")

    assert (answer.code, answer.document["code"]) == (2, "usage")
    assert "'caco'" in answer.document["message"]


# --- admin ----------------------------------------------------------------------------------------


def names(engine: str) -> list[str]:
    return [migration.name for migration in migrations(engine)]


def test_migrating_a_file_names_what_was_applied(cli: Call, tmp_path: Path):
    url = f"sqlite:///{tmp_path}/holdfast/holdfast.db"

    assert cli("admin", "migrate").out == f"Applied to {url}: {', '.join(names('sqlite'))}\n"
    assert cli("admin", "migrate").out == f"{url} is up to date\n"
    assert cli("admin", "migrate", "--json").document == {"applied": [], "database": url}
    assert (tmp_path / "holdfast" / "holdfast.db").exists()


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_spooled_events_do_not_migrate_the_store_silently(
    cli: Call, engine: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
):
    """Storing it would open the store, and opening migrates it; the answer would be that there was
    nothing to do.
    """
    if engine == "postgres":
        monkeypatch.setenv("HOLDFAST_DATABASE", request.getfixturevalue("own_database"))
    with App() as app:
        owner = app.settings.owner
        event = {
            "type": "user_message",
            "role": "user",
            "content": "waits",
            "parts": None,
            "id": EVENT_ID,
        }
        session = {"client": "claude", "native_id": "n1", "worktree": None, "user_id": "u1"}
        whose = {"workspace_id": owner.workspace_id, "developer_id": owner.developer_id}
        app.spool.add({**whose, **session, "event": event})

    assert cli("admin", "migrate", "--json").document["applied"] == names(engine)
    assert cli("status", "--json").document["stored"] == 1


def test_migrating_a_database_names_what_was_applied(
    cli: Call, own_database: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HOLDFAST_DATABASE", own_database)

    first, again = cli("admin", "migrate"), cli("admin", "migrate", "--json")

    assert (first.code, first.out.rstrip().endswith(f": {', '.join(names('postgres'))}")) == (
        0,
        True,
    )
    assert again.document["applied"] == []


def test_migrating_without_the_owners_rights_is_refused(
    cli: Call, own_database: str, postgres_url: str, monkeypatch: pytest.MonkeyPatch
):
    database = own_database.rpartition("/")[2]
    monkeypatch.setenv("HOLDFAST_DATABASE", f"{postgres_url.rpartition('/')[0]}/{database}")

    migrate, use = cli("admin", "migrate", "--json"), cli("session", "list", "--json")

    assert (migrate.code, migrate.document["code"]) == (5, "permission_refused")
    assert (use.code, use.document["code"]) == (6, "schema_missing")
    assert use.document["next_actions"] == ["holdfast admin migrate"]


@pytest.fixture
def own_database(postgres: Cluster, postgres_template: str) -> Iterator[str]:
    """An empty database, as the role that owns it; the template made the role that it needs."""
    name = postgres.create_database()
    yield postgres.dsn(name, "holdfast_owner")
    postgres.drop_database(name)
