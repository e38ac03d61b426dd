"""What commits say, asked with whole ids and with paths that stay inside."""

import hashlib
import itertools
import os
from pathlib import Path

import pytest

from holdfast.errors import InvalidValueError
from holdfast.ground import git
from holdfast.ground.errors import GitFailedError, PathOutsideError
from tests.ground.repositories import Work, clone, make, make_filled

NOWHERE = "0123456789" * 4
BAD_COMMITS = [
    "",
    "HEAD",
    "main",
    "-c",
    "--output=x",
    "HEAD~1",
    "abc123",
    "A" * 40,
    f"{NOWHERE}\n",
    f"{NOWHERE}^",
]
BAD_PATHS = ["", "/etc/passwd", "../x", "a/../../x", "a\0b", "src/"]


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return make_filled(tmp_path / "work")


def test_commits_are_counted_where_one_is_below_the_other(work: Work, tmp_path: Path):
    first = work.git("rev-parse", "HEAD")
    work.commit("second")
    third = work.commit("third")
    work.git("switch", "--quiet", "-c", "side", first)
    aside = work.commit("aside")
    work.git("switch", "--quiet", "main")
    found = work.found()

    assert [git.count_commits(found, commit) for commit in (first, third, aside, NOWHERE)] == [
        2,
        0,
        None,
        None,
    ]
    assert [git.is_ancestor(found, commit) for commit in (first, third, aside, NOWHERE)] == [
        True,
        True,
        False,
        None,
    ]
    assert git.is_ancestor(found, first, of=aside) is True
    assert git.is_ancestor(found, third, of=aside) is False
    shallow = clone(work, tmp_path / "shallow", "--depth=1").found()
    assert (git.count_commits(shallow, first), git.count_commits(shallow, third)) == (None, 0)


def test_only_the_whole_id_of_a_commit_is_a_commit(work: Work):
    found, head = work.found(), work.git("rev-parse", "HEAD")
    work.git("branch", "--quiet", "deadbeef")

    assert git.has_commit(found, head)
    for other in (
        *BAD_COMMITS,
        NOWHERE,
        head[:12],
        "deadbeef",
        work.git("rev-parse", "HEAD^{tree}"),
        None,
        7,
    ):
        assert not git.has_commit(found, other)


def test_a_commit_is_found_by_the_beginning_of_its_id_and_never_by_a_name(work: Work):
    found, head = work.found(), work.git("rev-parse", "HEAD")
    other = work.commit("other")
    for name in ("deadbeef", head[:7]):
        work.git("branch", "--quiet", name, other)

    for beginning in (head[:7], head[:12], head):
        assert git.list_commits(found, beginning) == [head]
    for nothing in ("deadbeef", NOWHERE, NOWHERE[:7], work.git("rev-parse", "HEAD^{tree}")[:12]):
        assert git.list_commits(found, nothing) == []
    for bad in (
        *BAD_COMMITS,
        head[:6],
        head[:7].upper() + "A",
        f"{head[:7]}^",
        f"{head[:7]}\n",
        f"{head}..{other}",
    ):
        with pytest.raises(InvalidValueError, match="is not a commit id"):
            git.list_commits(found, bad)


def test_all_commits_that_begin_the_same_are_listed(work: Work):
    """Two that share seven digits are looked for among many that are written only if they do."""
    tree = work.git("rev-parse", "HEAD^{tree}")
    known: dict[str, tuple[str, bytes]] = {}
    for number in itertools.count():
        data = f"tree {tree}\nauthor a <a> {number} +0000\ncommitter a <a> 0 +0000\n\nx\n".encode()
        commit = hashlib.sha1(
            b"commit %d\0%b" % (len(data), data), usedforsecurity=False
        ).hexdigest()
        if commit[:7] in known:
            break
        known[commit[:7]] = (commit, data)
    twin, of_twin = known[commit[:7]]
    for content in (data, of_twin):
        work.write("commit.txt", content)
        work.git("hash-object", "-t", "commit", "-w", "commit.txt")

    assert sorted(git.list_commits(work.found(), commit[:7])) == sorted([commit, twin])
    assert git.list_commits(work.found(), twin) == [twin]


@pytest.mark.parametrize("commit", BAD_COMMITS)
def test_anything_else_is_refused_before_git_sees_it(work: Work, commit: str):
    found = work.found()

    for ask in (
        lambda: git.count_commits(found, commit),
        lambda: git.is_ancestor(found, commit),
        lambda: git.numstat(found, commit, ["README.md"]),
        lambda: git.read_blob(found, commit, "README.md", max_bytes=100),
    ):
        with pytest.raises(InvalidValueError):
            ask()


@pytest.mark.parametrize("path", BAD_PATHS)
def test_a_path_has_to_stay_in_the_working_tree(work: Work, path: str):
    found, head = work.found(), work.git("rev-parse", "HEAD")

    for ask in (
        lambda: git.numstat(found, head, [path]),
        lambda: git.read_blob(found, head, path, max_bytes=100),
        lambda: git.last_change(found, path),
    ):
        with pytest.raises((InvalidValueError, PathOutsideError)):
            ask()


def test_lines_are_counted_with_edits_that_are_not_committed(work: Work):
    first = work.git("rev-parse", "HEAD")
    work.write("src/app.py", "print('one')\nprint('two')\n")
    work.commit()
    work.write("src/app.py", "print('two')\nprint('three')\n")
    work.write("picture", b"\0\1\2")
    work.write("caf\udce9\n.txt", "x\n")
    work.git("add", "picture", os.fsencode("caf\udce9\n.txt"))
    os.remove(work.place("README.md"))
    paths = ["src/app.py", "picture", "README.md", "docs/plan.md", "caf\udce9\n.txt", "nowhere"]

    counted = git.numstat(work.found(), first, paths)

    assert counted == {
        "src/app.py": (2, 1),
        "picture": (None, None),
        "README.md": (0, 1),
        "caf\udce9\n.txt": (1, 0),
    }
    assert git.numstat(work.found(), first, []) == {}
    many = [f"nowhere/{number}" for number in range(450)]
    assert git.numstat(work.found(), first, [*many, "README.md"]) == {"README.md": (0, 1)}
    with pytest.raises(GitFailedError):
        git.numstat(work.found(), NOWHERE, ["README.md"])


def test_a_file_name_is_not_read_as_a_git_pattern(work: Work):
    first = work.git("rev-parse", "HEAD")
    for name in ("*", ":(top)src", ":!README.md", "[a-z]"):
        work.write(name, "odd\n")
    work.write("src/app.py", "edited\n")
    work.commit()

    assert git.numstat(work.found(), first, ["*", ":(top)src"]) == {
        "*": (1, 0),
        ":(top)src": (1, 0),
    }
    assert git.last_change(work.found(), ":!README.md").commit == work.git("rev-parse", "HEAD")[:7]


def test_a_pipe_in_place_of_a_file_is_skipped(work: Work):
    head = work.git("rev-parse", "HEAD")
    os.remove(work.place("README.md"))
    os.mkfifo(work.place("README.md"))
    found = work.found()

    assert git.numstat(found, head, ["README.md", "src/app.py"]) == {}


def test_the_last_change_names_commit_and_author(work: Work):
    work.git("config", "i18n.logOutputEncoding", "ISO-8859-1")
    work.write("src/app.py", "x\n")
    work.git("add", "--all")
    work.git("commit", "--quiet", "-m", "x", GIT_AUTHOR_NAME="dev-ß $(touch x)")
    second = work.git("rev-parse", "HEAD")
    work.write("docs/plan.md", "x\n")
    work.commit()
    found = work.found()

    assert git.last_change(found, "src/app.py") == (second[:7], "dev-ß $(touch x)")
    assert git.last_change(found, "nowhere") is None


def test_a_file_is_read_as_a_commit_has_it(work: Work):
    first = work.git("rev-parse", "HEAD")
    work.write("README.md", "edited\n")
    os.symlink("README.md", work.place("link"))
    second = work.commit()
    found = work.found()

    assert git.read_blob(found, first, "README.md", max_bytes=100) == b"read me\n"
    assert git.read_blob(found, second, "README.md", max_bytes=7) == b"edited\n"
    assert git.read_blob(found, second, "link", max_bytes=100) == b"README.md"
    for path, commit in (("nowhere", first), ("src", first), ("README.md", NOWHERE)):
        assert git.read_blob(found, commit, path, max_bytes=100) is None
    with pytest.raises(InvalidValueError, match="larger than 6 bytes"):
        git.read_blob(found, second, "README.md", max_bytes=6)


def test_a_repository_without_a_commit_has_no_history(tmp_path: Path):
    found = make(tmp_path / "work").found()

    assert git.count_commits(found, NOWHERE) is None
    assert git.is_ancestor(found, NOWHERE) is None
    assert git.last_change(found, "x") is None
    assert git.find_default_branch(found) is None
    assert not git.has_commit(found, NOWHERE)


def test_a_filter_that_was_named_after_the_repository_was_found_does_not_run(
    work: Work, tmp_path: Path
):
    """A server may hold on to a repository for longer than it should."""
    found, head = work.found(), work.git("rev-parse", "HEAD")
    work.git("config", "filter.late.clean", f"touch {tmp_path}/canary; cat")
    (work.root / ".git" / "info" / "attributes").write_text("* filter=late\n")
    work.write("src/app.py", "edited\n")

    git.read_state(found)
    git.numstat(found, head, ["src/app.py"])

    assert not (tmp_path / "canary").exists()
