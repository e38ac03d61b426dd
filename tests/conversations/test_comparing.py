"""What is told of what has changed since a conversation was active."""

import pytest

from holdfast.conversations import comparing
from holdfast.conversations.comparing import CommandState, FileChanges, TreeChanges


def texts(changes: list[comparing.Change]) -> list[str]:
    return [change.text for change in changes]


@pytest.mark.parametrize(
    ("then", "now", "told"),
    [
        ("a", "a", []),
        ("", "a", []),
        ("a", "b", ["The command /workspace.debug was edited since; the current one is used."]),
        (
            "a",
            None,
            ["The command /workspace.debug is not installed in Codex: go on without it."],
        ),
    ],
)
def test_a_command_is_compared_by_its_hash(then: str, now: str | None, told: list[str]):
    state = CommandState("/workspace.debug", then, now, "Codex")

    assert texts(comparing.compare_command(state)) == told


@pytest.mark.parametrize(
    ("then", "now", "told"),
    [
        ("", "m2", []),
        ("m1", "m1", []),
        ("m1", "m2", ["The model was m1, and is m2 now."]),
        ("m1", None, ["The model was m1; which one it is now is not known here."]),
    ],
)
def test_a_model_is_named_where_it_may_be_another(then: str, now: str | None, told: list[str]):
    assert texts(comparing.compare_model(then, now)) == told


def test_servers_that_are_missing_are_named():
    assert comparing.compare_tools([], "Codex") == []
    told = texts(comparing.compare_tools(["github", "jira"], "Codex"))
    assert told == ["Used then and not set up in Codex: github, jira."]


def test_commits_and_uncommitted_files_are_counted():
    names = [f"f{n}.py" for n in range(8)]

    told = texts(comparing.compare_tree(TreeChanges("1a2b3c4d5e", 6, names)))

    assert told == [
        "6 commits since 1a2b3c4.",
        "8 uncommitted files: f0.py, f1.py, f2.py, f3.py, f4.py and 3 more.",
    ]
    assert comparing.compare_tree(TreeChanges("1a2b3c4d5e", 0)) == []


def test_what_came_with_commits_is_named_what_is_gone_first():
    committed = ["a.py", "old.py", *(f"f{n}.py" for n in range(6))]

    told = texts(comparing.compare_tree(TreeChanges("1a2b3c4d5e", 1, (), committed, ["old.py"])))

    changed = "a.py, f0.py, f1.py, f2.py, f3.py and 2 more"
    assert told == [f"1 commit since 1a2b3c4: removed old.py; changed {changed}."]


def test_a_commit_that_is_not_below_this_checkout_is_named():
    told = texts(comparing.compare_tree(TreeChanges("1a2b3c4d5e", None)))

    assert told == ["The commit 1a2b3c4 of that time is not in the history of this checkout."]


def test_files_that_changed_and_that_are_gone_are_named():
    told = comparing.compare_files(FileChanges(5, ["a.py", "b.py"], ["c.py"]))

    assert texts(told) == ["Of its 5 files, 2 changed since: a.py, b.py; 1 gone: c.py."]
    assert told[0].to_dict() == {"about": "files", "text": told[0].text}
    assert comparing.compare_files(FileChanges(5)) == []
