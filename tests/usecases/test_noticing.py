"""Which edits of a hook count, and what is told at one or at a prompt, in this process."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from holdfast.app import App
from holdfast.clients import find_client
from holdfast.clients.contract import HookMoment, parse_origin
from holdfast.errors import HoldfastError
from holdfast.ground.settings import load_settings
from holdfast.ground.worktree import find_head
from holdfast.notices.model import NoticeIndex
from holdfast.notices.store import IndexFile
from holdfast.usecases import notice_index, noticing, stale_index
from tests.workstreams.repos import ON, Repo, with_code


def list_paths(tmp_path: Path, tool_input: object) -> list[str]:
    found = noticing.list_edits({"tool_input": tool_input}, str(tmp_path), str(tmp_path))
    return [edit.path for edit in found]


@pytest.mark.parametrize(
    "tool_input",
    [
        {"file_path": "/etc/hosts", "old_string": "", "new_string": "import redis\n"},
        {"file_path": "../outside.py", "content": "import redis\n"},
        {"file_path": "src/\x00.py", "new_string": "import redis\n"},
        {"file_path": ["src/a.py"], "new_string": {"a": 1}},
        {"file_path": ".git/config", "new_string": "import redis\n"},
        {"file_path": "src/a.py"},
        {"edits": "none", "file_path": "src/a.py"},
        {"patchText": "*** Begin Patch\n*** End Patch"},
        {"command": "*** Begin Patch\n*** Add File: ../x.py\n+import redis\n*** End Patch"},
        "import redis",
        None,
    ],
    ids=repr,
)
def test_what_is_not_an_edit_of_this_tree_is_none(tool_input: object, tmp_path: Path):
    assert list_paths(tmp_path, tool_input) == []


def test_a_link_that_leads_out_of_the_tree_is_outside(tmp_path: Path):
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "out").symlink_to(tmp_path)

    assert list_paths(inside, {"file_path": "out/q.py", "content": "x"}) == []
    assert list_paths(inside, {"file_path": "q.py", "content": "x"}) == ["q.py"]


def test_a_patch_and_several_edits_are_read_file_by_file(tmp_path: Path):
    patch = (
        "*** Begin Patch\n*** Update File: a.py\n@@\n x = 1\n-y = 2\n+y = 3\n"
        "*** Add File: b.py\n+import redis\n*** End Patch\n"
    )
    one, two = noticing.list_edits(
        {"tool_input": {"patchText": patch}}, str(tmp_path), str(tmp_path)
    )
    assert (one.path, one.added, one.removed) == ("a.py", {"y = 3"}, "y = 2")
    assert (two.path, two.added) == ("b.py", {"import redis"})
    several: list[dict[str, Any]] = [{"old_string": "a", "new_string": "b"}, {"new_string": "c"}]
    assert list_paths(tmp_path, {"file_path": "c.py", "edits": [*several, 3]}) == ["c.py", "c.py"]


def test_of_a_whole_file_only_what_is_new_counts(tmp_path: Path):
    (tmp_path / "a.py").write_text("x = 1\ny = 2\n")
    given = {"file_path": str(tmp_path / "a.py"), "content": "x = 1\nz = 3\n"}

    [edit] = noticing.list_edits({"tool_input": given}, str(tmp_path), str(tmp_path))
    assert (edit.added, edit.removed) == ({"z = 3"}, "y = 2")

    response = {"tool_response": {"returnDisplay": {"originalContent": "z = 3\n"}}}
    [after] = noticing.list_edits({"tool_input": given, **response}, str(tmp_path), str(tmp_path))
    assert after.added == {"x = 1"}


def test_a_folder_in_the_place_of_a_file_has_no_text(tmp_path: Path):
    (tmp_path / "a").mkdir()

    assert list_paths(tmp_path, {"file_path": "a", "content": "x"}) == ["a"]


# --- what is told ---------------------------------------------------------------------------------


PROPOSAL = "let's use redis streams for the queue"
REDIS = ("Redis streams", "rejected", "ops won't run another Redis")


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repo:
    for name, value in ON.items():
        monkeypatch.setenv(name, value)
    return with_code(tmp_path / "payouts")


@pytest.fixture
def decided(repo: Repo) -> Repo:
    decide(repo, *REDIS)
    return repo


def decide(repo: Repo, text: str, status: str = "rejected", because: str = "it hung") -> None:
    with App() as app:
        app.run(app.workstreams(str(repo.folder)).decide(text, status=status, because=because))


def make_index(file: IndexFile, worktree: str) -> NoticeIndex | None:
    with App() as app:
        return notice_index.make_index(app, file, worktree)


def ask(repo: Repo, event_name: str, session: str, **fields: Any) -> str:
    """What a hook of a client does, in this process."""
    client = find_client("claude")
    assert client is not None
    payload = {
        "hook_event_name": event_name,
        "session_id": session,
        "cwd": str(repo.folder),
        **fields,
    }
    origin = parse_origin(client, event_name, payload)
    assert origin is not None
    moment = HookMoment(client, event_name, payload, origin)
    event = client.parse(event_name, payload)
    return noticing.make_notice(load_settings(), moment, event, make_index, stale_index.make_index)


def prompt(repo: Repo, words: str, session: str = "s1") -> str:
    return ask(repo, "UserPromptSubmit", session, prompt=words)


def edit(repo: Repo, path: str, new: str, session: str = "s1") -> str:
    given = {"file_path": str(repo.folder / path), "content": new}
    return ask(repo, "PreToolUse", session, tool_name="Write", tool_input=given)


def test_a_rejected_alternative_is_told_once_in_a_session(decided: Repo):
    assert prompt(decided, PROPOSAL).endswith(
        """ because "ops won't run another Redis" (user): Redis streams"""
    )
    assert prompt(decided, PROPOSAL) == ""
    assert prompt(decided, "rename the variable") == ""
    assert edit(decided, "src/q.py", "import redis\n", "s2").startswith("D1 rejected on ")


def test_what_a_program_says_for_itself_is_not_a_prompt(decided: Repo):
    assert prompt(decided, f"<task-notification>{PROPOSAL}</task-notification>") == ""
    assert ask(decided, "UserPromptSubmit", "s1", prompt=None) == ""


def test_of_a_file_that_is_written_again_only_what_is_new_is_told(decided: Repo):
    decided.write("src/old.py", "import redis\nx = 1\n")

    assert edit(decided, "src/old.py", "import redis\nx = 2\n") == ""
    assert edit(decided, "../outside.py", "import redis\n") == ""


def test_a_renamed_file_is_still_the_one_that_was_meant(repo: Repo):
    decide(repo, "src/retry.py keeps its clock", "accepted", "tests need it")
    repo.git("mv", "src/retry.py", "src/attempts.py")
    repo.commit("rename")
    repo.git("mv", "src/attempts.py", "src/tries.py")

    assert edit(repo, "src/attempts.py", "x = 1\n") == ""
    assert "keeps its clock" in edit(repo, "src/tries.py", "x = 1\n")


def test_a_file_that_is_gone_and_was_not_renamed_concerns_nothing(repo: Repo):
    decide(repo, "src/retry.py keeps its clock", "accepted", "tests need it")
    repo.git("rm", "-q", "src/retry.py")
    repo.commit("remove")

    assert edit(repo, "src/models.py", "x = 1\n") == ""


def test_what_is_withdrawn_or_of_another_branch_is_not_told(decided: Repo):
    assert prompt(decided, PROPOSAL, "a")
    with App() as app:
        app.run(app.workstreams(str(decided.folder)).withdraw("D1"))
    assert prompt(decided, PROPOSAL, "b") == ""

    decided.git("checkout", "-qb", "other")
    decide(decided, "Kafka")
    assert prompt(decided, "use kafka here", "c")
    decided.git("stash", "-qu")
    decided.git("checkout", "-q", "main")
    assert prompt(decided, "use kafka here", "d") == ""


def test_what_came_with_the_repository_is_not_told_as_ones_own(
    decided: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    decided.commit("notes")
    monkeypatch.setenv("HOLDFAST_HOME", str(tmp_path / "another"))

    assert prompt(decided, PROPOSAL) == ""


def test_a_rule_of_the_person_is_told_and_what_is_declared_already_is_not(repo: Repo):
    rules = {"pinned_rules": ["No new runtime dependency without asking."]}
    home = Path(load_settings().home)
    home.mkdir(mode=0o700)
    (home / "settings.json").write_text(json.dumps({"shared_context": True, **rules}))
    decide(repo, *REDIS)
    repo.write("requirements.txt", "redis==5\n")

    assert edit(repo, "src/q.py", "import redis\n") == ""
    told = edit(repo, "requirements.txt", "redis==5\ntenacity\n")
    assert told == "rule: No new runtime dependency without asking."


def test_an_accepted_decision_without_a_reason_and_an_open_one_are_not_told(repo: Repo):
    with App() as app:
        app.run(app.workstreams(str(repo.folder)).decide("src/retry.py or a queue?"))

    assert edit(repo, "src/retry.py", "x = 1\n") == ""


def test_an_index_with_a_damaged_line_is_made_again(decided: Repo):
    prompt(decided, "hello", "warm")
    [file] = Path(load_settings().home, "notices").glob("*.jsonl")
    head, _, end = file.read_bytes().split(b"\n")
    file.write_bytes(b"\n".join([head, b"{", end]))

    assert prompt(decided, PROPOSAL)


def test_after_a_look_that_failed_nothing_is_tried_for_a_while(
    decided: Repo, monkeypatch: pytest.MonkeyPatch
):
    path = os.environ["PATH"]
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(HoldfastError):
        prompt(decided, PROPOSAL)
    monkeypatch.setenv("PATH", path)

    assert prompt(decided, PROPOSAL) == ""


def test_sharing_that_is_off_is_an_empty_index(decided: Repo, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SHARED_CONTEXT_ENABLED", "false")

    assert prompt(decided, PROPOSAL) == ""
    [file] = Path(load_settings().home, "notices").glob("*.jsonl")
    assert json.loads(file.read_bytes().split(b"\n")[0])["entries"] == 0


def test_a_folder_that_is_gone_or_settings_that_are_wrong_are_silent(decided: Repo, tmp_path: Path):
    assert prompt(Repo(tmp_path / "gone", begin=False), PROPOSAL) == ""
    Path(load_settings().home, "settings.json").write_text("{")
    with pytest.raises(HoldfastError):
        prompt(decided, PROPOSAL)


def test_a_linked_working_tree_has_an_index_of_its_own_branch(decided: Repo, tmp_path: Path):
    decided.commit("notes")
    linked = tmp_path / "linked"
    decided.git("worktree", "add", "-q", "-b", "feat", str(linked))

    assert "Redis streams" in prompt(Repo(linked, begin=False), PROPOSAL)
    head, files = find_head(str(linked))
    assert head == "ref: refs/heads/feat"
    assert any(path.endswith("refs/heads/feat") and os.path.exists(path) for path in files)
