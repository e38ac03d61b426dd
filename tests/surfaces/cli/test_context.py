"""`holdfast context …`: what the next session is reminded of, and which session that is."""

from pathlib import Path

import pytest

from tests.rig.commands import Call

# --- setting and showing --------------------------------------------------------------------------


def start(cli: Call, name: str) -> str:
    session: str = cli(
        "session", "start", "--chatmode", "architect", "--name", name, "--json"
    ).document["id"]
    return session


def test_a_set_is_replaced_merged_and_cleared(cli: Call):
    session = start(cli, "one")

    assert cli("context", "set", "ports", "1", "2").out == "ports: 2 items\n  + 1\n  + 2\n"
    assert cli("context", "set", "ports", "2", "3").out == "ports: 2 items\n  + 3\n  - 1\n"
    merged = cli("context", "set", "ports", "--merge", "4", "--json").document
    assert cli("context", "show").out == "ports:\n  - 2\n  - 3\n  - 4\n"
    assert cli("context", "set", "ports").out == "Cleared ports\n"

    assert merged == {
        "context": {"ports": ["2", "3", "4"]},
        "added": ["4"],
        "removed": [],
        "session_id": session,
    }
    assert cli("context", "show", "--json").document == {"context": {}, "session_id": session}


def test_one_set_is_shown_alone(cli: Call):
    start(cli, "one")
    cli("context", "set", "files", "/r/a.md")
    cli("context", "set", "ports", "8080")

    assert cli("context", "show").out == "files:\n  - /r/a.md\nports:\n  - 8080\n"
    assert cli("context", "show", "ports").out == "ports:\n  - 8080\n"
    assert cli("context", "show", "ports", "--json").document["context"] == {"ports": ["8080"]}


def test_the_eleventh_item_pushes_out_the_oldest_and_says_so(cli: Call):
    start(cli, "one")
    cli("context", "set", "files", *(f"/r/{number}.md" for number in range(10)))

    assert (
        cli("context", "set", "files", "--merge", "/r/new").out
        == "files: 10 items\n  + /r/new\n  - /r/0.md\n"
    )


def test_missing_files_are_kept_and_named(cli: Call, project: Path):
    """They may come back with another branch; a typo does not."""
    start(cli, "one")
    (project / "there.py").touch()

    answer = cli("context", "set", "files", "there.py", "nosuch.py", "src/gone.py", "--json")

    assert answer.document["added"] == [
        f"{project}/there.py",
        f"{project}/nosuch.py",
        f"{project}/src/gone.py",
    ]
    assert (
        answer.err == f"Note: Kept, and not there now: {project}/nosuch.py, {project}/src/gone.py\n"
    )
    assert cli("context", "set", "files", "--merge", "there.py").err == ""
    assert cli("context", "set", "ports", "8080").err == ""


def test_a_file_is_kept_as_an_absolute_path_wherever_the_command_was_typed(
    run: Call, project: Path
):
    """The next session is reminded of it in another folder, and a relative path would be looked for
    there.
    """
    (project / "src").mkdir()
    (project / "src" / "retry.py").touch()
    session = run("session", "start", "--chatmode", "coder").out.strip()

    typed = ("retry.py", "../notes.md", "./retry.py", "/r/a b.md")
    answer = run("context", "set", "files", *typed, "--json", cwd=project / "src")

    assert answer.document["added"] == [
        f"{project}/src/retry.py",
        f"{project}/notes.md",
        "/r/a b.md",
    ]
    assert f"- {project}/src/retry.py\n" in run("session", "resume", session).out
    assert run("context", "set", "endpoints", "a/../b", "--json").document["added"] == ["a/../b"]
    assert run("context", "set", "files", "", "--json").document["message"] == "Item '' is empty."


def test_a_mistyped_name_works_and_is_noted_on_stderr(cli: Call):
    start(cli, "one")

    answer = cli("context", "set", "fles", "a.md", "--json")

    assert answer.code == 0
    assert answer.document["context"] == {"fles": ["a.md"]}
    assert (
        answer.err
        == "Note: 'fles' is not a known context set; it was kept as it is. Did you mean 'files'?\n"
    )


def test_items_that_look_like_options_follow_two_dashes(cli: Call):
    start(cli, "one")

    assert (
        cli("context", "set", "endpoints", "--", "--json").out == "endpoints: 1 item\n  + --json\n"
    )


# --- which session is meant -----------------------------------------------------------------------


def test_without_a_session_the_newest_open_one_of_this_working_tree_is_meant(
    cli: Call, project: Path, monkeypatch: pytest.MonkeyPatch
):
    here = start(cli, "here")
    (project / "src").mkdir()
    monkeypatch.chdir(project.parent)
    start(cli, "elsewhere")
    monkeypatch.chdir(project / "src")

    answer = cli("context", "set", "ports", "8080", "--json")

    assert (answer.document["session_id"], answer.err) == (here, "")


def test_the_newest_of_several_open_sessions_is_used_with_a_note(cli: Call):
    start(cli, "older")
    newer = start(cli, "newer")

    answer = cli("context", "set", "ports", "8080", "--json")

    assert answer.document["session_id"] == newer
    assert answer.err == (
        f"Note: Several sessions are open here; the newest is used: {newer}. Choose "
        "another with --session.\n"
    )


def test_an_ended_session_is_read_and_not_written(cli: Call):
    older, newer = start(cli, "older"), start(cli, "newer")
    cli("session", "end", newer)

    shown = cli("context", "show", "--json")
    changed = cli("context", "set", "ports", "8080", "--json")

    assert (shown.document["session_id"], changed.document["session_id"]) == (newer, older)
    assert shown.err == (
        f"Note: Several sessions of this working tree are known; the newest is used: {newer}. "
        "Choose another with --session.\n"
    )
    assert changed.err == ""


def test_another_developers_session_is_never_meant(cli: Call, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOLDFAST_DEVELOPER", "ana")
    start(cli, "hers")
    monkeypatch.setenv("HOLDFAST_DEVELOPER", "bo")

    assert cli("context", "show", "--json").document == {"context": {}, "session_id": None}


def test_a_session_is_chosen_by_id_or_by_name(cli: Call):
    older = start(cli, "older")
    start(cli, "newer")

    by_name = cli("context", "set", "ports", "8080", "--session", "older", "--json")
    by_id = cli("context", "show", "--session", older, "--json")

    assert (by_name.document["session_id"], by_name.err) == (older, "")
    assert by_id.document == {"context": {"ports": ["8080"]}, "session_id": older}


def test_a_read_without_a_session_is_empty_and_starts_no_session(cli: Call):
    answer = cli("context", "show")

    assert (answer.code, answer.err) == (0, "")
    assert "holdfast context set files" in answer.out
    assert cli("context", "show", "files", "--json").document == {"context": {}, "session_id": None}
    assert cli("session", "list", "--json").document == {"sessions": []}


def test_a_write_without_a_session_starts_a_session(
    cli: Call, project: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HOLDFAST_DEVELOPER", "ana")

    answer = cli("context", "set", "files", "a.md", "--json")

    [session] = cli("session", "list", "--json").document["sessions"]
    expected = {
        "id": answer.document["session_id"],
        "chatmode": "cli",
        "client": "cli",
        "user_id": "ana",
    }
    assert {key: session[key] for key in expected} == expected
    assert session["worktree"] == str(project)


def test_a_session_that_a_write_started_is_named_in_a_note(run: Call):
    """In one line, beside the answer; the next write finds it and has nothing to tell."""
    first, second = (run("context", "set", "ports", port, "--json") for port in ("1", "2"))

    started = first.document["session_id"]
    assert first.err == f"Note: Started session {started}, because none was open here.\n"
    assert (second.document["session_id"], second.err) == (started, "")


def test_a_write_that_is_refused_starts_no_session(run: Call):
    assert run("context", "set", "ports", *map(str, range(11))).code == 2
    assert run("session", "list", "--json").document == {"sessions": []}
