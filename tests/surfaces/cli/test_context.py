"""`holdfast context …`: what the next session is reminded of, and which session that is."""

from pathlib import Path

import pytest

from tests.rig.commands import Call

# --- setting and showing -----------------------------------------------------------------------------------


def start(cli: Call, name: str) -> str:
    session: str = cli("session", "start", "--chatmode", "architect", "--name", name, "--json").document["id"]
    return session


def test_a_set_is_replaced_merged_and_cleared(cli: Call):
    session = start(cli, "one")

    assert cli("context", "set", "files", "a.md", "b.md").out == "files: 2 items\n  + a.md\n  + b.md\n"
    assert cli("context", "set", "files", "b.md", "c.md").out == "files: 2 items\n  + c.md\n  - a.md\n"
    merged = cli("context", "set", "files", "--merge", "d.md", "--json").document
    assert cli("context", "show").out == "files:\n  - b.md\n  - c.md\n  - d.md\n"
    assert cli("context", "set", "files").out == "Cleared files\n"

    assert merged == {
        "context": {"files": ["b.md", "c.md", "d.md"]},
        "added": ["d.md"],
        "removed": [],
        "session_id": session,
    }
    assert cli("context", "show", "--json").document == {"context": {}, "session_id": session}


def test_one_set_is_shown_alone(cli: Call):
    start(cli, "one")
    cli("context", "set", "files", "a.md")
    cli("context", "set", "ports", "8080")

    assert cli("context", "show").out == "files:\n  - a.md\nports:\n  - 8080\n"
    assert cli("context", "show", "ports").out == "ports:\n  - 8080\n"
    assert cli("context", "show", "ports", "--json").document["context"] == {"ports": ["8080"]}


def test_the_eleventh_item_pushes_out_the_oldest_and_says_so(cli: Call):
    start(cli, "one")
    cli("context", "set", "files", *(f"{number}.md" for number in range(10)))

    assert cli("context", "set", "files", "--merge", "new.md").out == "files: 10 items\n  + new.md\n  - 0.md\n"


def test_a_mistyped_name_works_and_is_noted_on_stderr(cli: Call):
    start(cli, "one")

    answer = cli("context", "set", "fles", "a.md", "--json")

    assert answer.code == 0
    assert answer.document["context"] == {"fles": ["a.md"]}
    assert answer.err == "Note: 'fles' is not a known context set; it was kept as it is. Did you mean 'files'?\n"


def test_items_that_look_like_options_follow_two_dashes(cli: Call):
    start(cli, "one")

    assert cli("context", "set", "endpoints", "--", "--json").out == "endpoints: 1 item\n  + --json\n"


# --- which session is meant --------------------------------------------------------------------------------


def test_without_a_session_the_newest_open_one_of_this_working_tree_is_meant(
    cli: Call, project: Path, monkeypatch: pytest.MonkeyPatch
):
    here = start(cli, "here")
    (project / "src").mkdir()
    monkeypatch.chdir(project.parent)
    start(cli, "elsewhere")
    monkeypatch.chdir(project / "src")

    answer = cli("context", "set", "files", "a.md", "--json")

    assert (answer.document["session_id"], answer.err) == (here, "")


def test_of_several_open_ones_the_newest_is_meant_and_noted(cli: Call):
    start(cli, "older")
    newer = start(cli, "newer")

    answer = cli("context", "show", "--json")

    assert answer.document["session_id"] == newer
    assert answer.err == (
        f"Note: Several sessions are open here; the newest is meant: {newer}. Choose another with --session.\n"
    )


def test_an_ended_session_is_never_meant(cli: Call):
    older, newer = start(cli, "older"), start(cli, "newer")
    cli("session", "end", newer)

    assert cli("context", "show", "--json").document["session_id"] == older


def test_another_developers_session_is_never_meant(cli: Call, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOLDFAST_DEVELOPER", "ana")
    start(cli, "hers")
    monkeypatch.setenv("HOLDFAST_DEVELOPER", "bo")

    assert cli("context", "show", "--json").document == {"context": {}, "session_id": None}


def test_a_session_is_chosen_by_id_or_by_name(cli: Call):
    older = start(cli, "older")
    start(cli, "newer")

    by_name = cli("context", "set", "files", "a.md", "--session", "older", "--json")
    by_id = cli("context", "show", "--session", older, "--json")

    assert (by_name.document["session_id"], by_name.err) == (older, "")
    assert by_id.document == {"context": {"files": ["a.md"]}, "session_id": older}


def test_a_read_that_finds_no_session_is_empty_and_starts_none(cli: Call):
    answer = cli("context", "show")

    assert (answer.code, answer.err) == (0, "")
    assert "holdfast context set files" in answer.out
    assert cli("context", "show", "files", "--json").document == {"context": {}, "session_id": None}
    assert cli("session", "list", "--json").document == {"sessions": []}


def test_a_write_that_finds_no_session_starts_one(cli: Call, project: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOLDFAST_DEVELOPER", "ana")

    answer = cli("context", "set", "files", "a.md", "--json")

    [session] = cli("session", "list", "--json").document["sessions"]
    expected = {"id": answer.document["session_id"], "chatmode": "cli", "client": "cli", "user_id": "ana"}
    assert {key: session[key] for key in expected} == expected
    assert session["worktree"] == str(project)
