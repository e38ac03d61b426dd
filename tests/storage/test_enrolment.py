"""Where hooks work: the folders in which a person has said yes."""

import json
import threading
from pathlib import Path

import pytest

from holdfast.storage.enrolment import Enrolment
from tests.workstreams.repos import with_code


def test_before_anybody_has_said_yes_hooks_that_were_wired_by_hand_work(tmp_path: Path):
    enrolment = Enrolment(str(tmp_path))
    assert enrolment.find("/anywhere") is not None
    assert enrolment.list_folders() is None


def test_only_the_folders_that_were_added_are_on(tmp_path: Path):
    enrolment = Enrolment(str(tmp_path))
    enrolment.add("/home/ana/payouts")

    assert enrolment.find("/home/ana/payouts") is not None
    assert enrolment.find("/home/ana/other") is None
    assert enrolment.find(None) is None


def test_adding_a_folder_again_changes_nothing(tmp_path: Path):
    enrolment = Enrolment(str(tmp_path))
    enrolment.add("/home/ana/payouts")
    before = (tmp_path / "folders.json").read_bytes()

    enrolment.add("/home/ana/payouts")

    assert (tmp_path / "folders.json").read_bytes() == before


def test_after_clearing_hooks_work_nowhere(tmp_path: Path):
    enrolment = Enrolment(str(tmp_path))
    enrolment.add("/home/ana/payouts")
    enrolment.clear()
    assert enrolment.find("/home/ana/payouts") is None
    assert enrolment.list_folders() == {}


@pytest.mark.parametrize(
    "content", ["", "{broken", "[]", '{"folders": 1}', '{"folders": {"/a": 1}}']
)
def test_a_file_that_cannot_be_read_switches_nothing_on(tmp_path: Path, content: str):
    (tmp_path / "folders.json").write_text(content)
    assert Enrolment(str(tmp_path)).find("/a") is None


def test_two_who_add_at_the_same_time_both_count(tmp_path: Path):
    names = [f"/r/{number}" for number in range(20)]
    threads = [
        threading.Thread(target=Enrolment(str(tmp_path)).add, args=(name,)) for name in names
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(json.loads((tmp_path / "folders.json").read_text())["folders"]) == sorted(names)


def test_a_checkout_is_agreed_to_only_where_init_was_run(tmp_path: Path):
    enrolment = Enrolment(str(tmp_path / "home"))
    before = enrolment.has_agreed("/r/payouts")

    enrolment.add("/r/payouts")

    assert not before
    assert enrolment.has_agreed("/r/payouts")
    assert not enrolment.has_agreed("/r/other")


def test_a_linked_working_tree_counts_as_its_main_one(tmp_path: Path):
    repo = with_code(tmp_path / "payouts")
    linked = tmp_path / "payouts-hotfix"
    repo.git("worktree", "add", "-q", str(linked))
    enrolment = Enrolment(str(tmp_path / "home"))

    enrolment.add(str(linked))

    assert enrolment.list_folders().keys() == {str(tmp_path / "payouts")}
    assert enrolment.find(str(linked)) is not None
    assert enrolment.find(str(tmp_path / "payouts")) is not None


def test_a_folder_that_only_claims_to_be_linked_is_not(tmp_path: Path):
    """Anybody can write a file that names the folder of another repository."""
    repo = with_code(tmp_path / "payouts")
    linked = tmp_path / "payouts-hotfix"
    repo.git("worktree", "add", "-q", str(linked))
    claimed = tmp_path / "claimed"
    claimed.mkdir()
    (claimed / ".git").write_text((linked / ".git").read_text())
    enrolment = Enrolment(str(tmp_path / "home"))
    enrolment.add(str(tmp_path / "payouts"))

    assert enrolment.find(str(claimed)) is None


@pytest.mark.parametrize("content", ["", "gitdir:", "gitdir: /nowhere", "gitdir: a\x00b", "x"])
def test_a_strange_git_file_is_its_own_folder(tmp_path: Path, content: str):
    (tmp_path / ".git").write_text(content)
    enrolment = Enrolment(str(tmp_path / "home"))
    enrolment.add(str(tmp_path))
    assert enrolment.find(str(tmp_path)) is not None
