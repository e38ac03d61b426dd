"""What a repository has had: deleted and renamed files, and earlier contents."""

from pathlib import Path

import pytest

from holdfast.ground import git_past
from holdfast.ground.git_past import PastCommits, PastFile, find_past
from tests.ground.repositories import Work


def fill(number: int) -> str:
    return "".join(f"line {number} {n}\n" for n in range(20))


@pytest.fixture
def work(tmp_path: Path) -> Work:
    root = tmp_path / "repo"
    root.mkdir()
    work = Work(root)
    work.git("init", "--quiet", "--initial-branch=main")
    for number in range(4):
        work.write(f"old/deep/f{number}.txt", fill(number))
    work.write("once.txt", "only here\n")
    work.commit("begin")
    return work


def test_a_file_is_followed_through_renames_and_a_folder_with_its_files(work: Work):
    work.git("mv", "old", "mid")
    work.commit("one")
    work.git("mv", "mid/deep/f0.txt", "mid/deep/g0.txt")
    work.git("rm", "--quiet", "mid/deep/f1.txt")
    second = work.commit("two")
    work.git("mv", "mid/deep/f2.txt", "mid/h2.txt")

    wanted = ["old/deep/f0.txt", "old/deep/f1.txt", "old/deep/f2.txt", "old", "never.txt"]
    found = find_past(work.found(), wanted)

    assert found["old/deep/f0.txt"] == PastFile(second, "mid/deep/g0.txt")
    assert found["old/deep/f1.txt"] == PastFile(second)
    assert found["old/deep/f2.txt"] == PastFile("", "mid/h2.txt")
    assert found["old"].moved_to == "mid"
    assert "never.txt" not in found


def test_a_rename_there_and_back_and_away_ends(work: Work):
    work.git("mv", "old/deep/f3.txt", "b.txt")
    work.commit("there")
    work.git("mv", "b.txt", "old/deep/f3.txt")
    work.commit("back")
    work.git("rm", "--quiet", "old/deep/f3.txt")
    last = work.commit("away")

    found = find_past(work.found(), ["old/deep/f3.txt", "b.txt"])

    assert found == {"old/deep/f3.txt": PastFile(last), "b.txt": PastFile(last)}


def test_before_the_first_commit_nothing_was_here(tmp_path: Path):
    work = Work(tmp_path)
    work.git("init", "--quiet")
    repository = work.found()

    assert find_past(repository, ["a.txt"]) == {}
    assert PastCommits(repository).find_at(1e12) is None
    assert git_past.list_changes_of(repository, ["a.txt"]) == {}
    assert git_past.list_old_blobs(repository, ["f" * 40]) == {}


def test_only_small_objects_that_exist_are_read(work: Work):
    work.write("large.txt", "x" * (git_past.BLOB_BYTES + 1))
    commit = work.commit("large")
    names = ["bad\nname", f"{commit}:large.txt", f"{commit}:missing", f"{commit}:once.txt"]
    repository = work.found()

    assert dict(git_past.read_objects(repository, names, 4 << 20)) == {
        f"{commit}:once.txt": b"only here\n"
    }
    assert dict(git_past.read_objects(repository, [f"{commit}:once.txt"], 3)) == {}


def test_a_moment_is_that_of_the_newest_commit_before_it(work: Work):
    first = work.git("rev-parse", "HEAD")
    work.git("commit", "-q", "--allow-empty", "-m", "x", GIT_COMMITTER_DATE="1900000000 +0000")
    commits = PastCommits(work.found())

    assert commits.find_at(1_899_999_999) == first
    assert commits.find_at(2_000_000_000) == work.git("rev-parse", "HEAD")
    assert commits.find_at(1.0) is None
