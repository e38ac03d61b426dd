"""What one process reads about a repository again and again: read without git where that is sure,
and used again only while it is true.
"""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.ground import git, git_history, git_refs, git_repository, git_settings, git_state
from tests.ground.repositories import OWN, Work, clone, make, make_filled
from tests.rig.git_starts import started

__all__ = ["started"]

REMOTE = "https://github.com/acme/payouts.git"


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """The settings of a new repository count as old enough to be known by their stamps."""
    monkeypatch.setattr(git_settings, "SETTLED_SECONDS", -60.0)


@pytest.fixture
def work(tmp_path: Path) -> Work:
    work = make_filled(tmp_path / "work")
    work.git("remote", "add", "origin", REMOTE)
    return work


def forget_everything() -> None:
    for known in (git_repository.SETTINGS, git_repository.FIRST_COMMITS):
        known.clear()
    git_history.COUNTS.clear()
    git_history.LAST_CHANGES.clear()
    git_state.TREES.clear()
    git_state.CONTENTS.clear()


# --- processes ------------------------------------------------------------------------------------


@pytest.mark.usefixtures("settled")
@pytest.mark.parametrize("edit", [None, "README.md"])
def test_a_look_starts_three_processes_and_the_next_one_only_compares(
    work: Work, started: list[str], edit: str | None
):
    if edit:
        work.write(edit, "edited\n")
    forget_everything()

    first = work.state()
    at_first = started.copy()
    started.clear()
    second = work.state()

    assert at_first == ["config", "diff-index", "cat-file"]
    assert started == ["diff-index"]
    assert first == second


def test_settings_that_were_just_written_are_read_again(work: Work, started: list[str]):
    work.state()
    started.clear()
    work.state()

    assert started.count("config") == 1


@pytest.mark.usefixtures("settled")
def test_settings_that_include_others_are_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, work: Work, started: list[str]
):
    """Another file may count from the next branch on."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".gitconfig").write_text('[includeIf "onbranch:x"]\n\tpath = more\n')
    work.state()
    started.clear()
    work.state()

    assert started.count("config") == 1


@pytest.mark.usefixtures("settled")
def test_the_first_commit_is_looked_for_once(tmp_path: Path, started: list[str]):
    work = make_filled(tmp_path / "local")
    first = work.found()
    started.clear()

    assert work.found() == first
    assert started == []


# --- never wrong ----------------------------------------------------------------------------------


def edit_ignored_time(work: Work) -> None:
    """Other bytes of the same length with the old time, which git knows to be doubtful."""
    place = work.root / "README.md"
    before = place.stat()
    place.write_text("REAd me\n")
    os.utime(place, ns=(before.st_atime_ns, before.st_mtime_ns))


def reset_to_other_history(work: Work) -> None:
    work.git("checkout", "--quiet", "--orphan", "elsewhere")
    work.commit("another first one")


STEPS: dict[str, Callable[[Work], object]] = {
    "edit": lambda work: work.write("README.md", "edited\n"),
    "edit with the same size and time": edit_ignored_time,
    "stage": lambda work: (work.write("README.md", "staged\n"), work.git("add", "README.md")),
    "commit": lambda work: (work.write("README.md", "committed\n"), work.commit()),
    "amend": lambda work: work.git("commit", "--quiet", "--amend", "-m", "other words"),
    "branch": lambda work: work.git("checkout", "--quiet", "-b", "feat"),
    "rename": lambda work: work.git("branch", "--move", "main", "trunk"),
    "detach": lambda work: work.git("checkout", "--quiet", "--detach"),
    "pack": lambda work: work.git("pack-refs", "--all"),
    "pack and commit": lambda work: (work.git("pack-refs", "--all"), work.commit()),
    "alias": lambda work: (
        work.git("symbolic-ref", "refs/heads/alias", "refs/heads/main"),
        work.git("symbolic-ref", "HEAD", "refs/heads/alias"),
    ),
    "other history": reset_to_other_history,
    "other remote": lambda work: work.git("config", "remote.origin.url", "https://h/x/y.git"),
    "no remote": lambda work: work.git("remote", "remove", "origin", check=False),
    "another default": lambda work: work.git("branch", "master"),
    "remote default": lambda work: (
        work.git("update-ref", "refs/remotes/origin/dev", "HEAD"),
        work.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/dev"),
    ),
    "filter": lambda work: work.git("config", "filter.x.clean", "cat"),
    "shallow": lambda work: (work.root / ".git" / "shallow").write_text(
        work.git("rev-parse", "HEAD") + "\n"
    ),
}


def look(work: Work, since: str) -> tuple[object, ...]:
    found = work.found()
    state = git.read_state(found, since=since, without=OWN)
    commits = git.count_commits(found, since)
    return (
        found,
        state,
        git.find_default_branch(found),
        commits,
        git.last_change(found, "README.md"),
    )


@pytest.mark.usefixtures("settled")
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("remote", [True, False])
def test_after_any_step_a_process_that_looked_before_sees_what_a_new_one_sees(
    work: Work, step: str, remote: bool
):
    if not remote:
        work.git("remote", "remove", "origin")
    since = work.git("rev-parse", "HEAD")
    for _ in range(2):
        look(work, since)

    STEPS[step](work)
    known = look(work, since)
    forget_everything()

    assert known == look(work, since)


def test_a_commit_that_was_pruned_since_is_missing(work: Work):
    """What was noted about it is compared with HEAD again."""
    work.git("checkout", "--quiet", "-b", "gone")
    pruned = work.commit("to be pruned")
    assert work.state(since=pruned).base == pruned
    work.git("checkout", "--quiet", "main")
    work.git("branch", "--quiet", "-D", "gone")
    work.git("reflog", "expire", "--expire=now", "--all")
    work.git("gc", "--quiet", "--prune=now")

    state = work.state(since=pruned)

    assert state.base == state.head == work.git("rev-parse", "HEAD")


# --- the same as git says -------------------------------------------------------------------------


def make_worktree(work: Work) -> Work:
    place = work.root.parent / "linked"
    work.git("worktree", "add", "--quiet", "-b", "linked", str(place))
    return Work(place)


def make_linked_git_folder(work: Work) -> Work:
    place = work.root.parent / "elsewhere.git"
    (work.root / ".git").rename(place)
    (work.root / ".git").symlink_to(place)
    return work


KINDS: dict[str, Callable[[Work], Work]] = {
    "plain": lambda work: work,
    "linked working tree": make_worktree,
    "linked folder": make_linked_git_folder,
    "no commit": lambda work: make(work.root.parent / "new"),
    "sha256": lambda work: make_filled(work.root.parent / "new", "--object-format=sha256"),
    "clone": lambda work: clone(work, work.root.parent / "clone"),
    "shallow": lambda work: clone(work, work.root.parent / "shallow", "--depth=1"),
    "detached": lambda work: (work.git("checkout", "--quiet", "--detach"), work)[1],
    "packed": lambda work: (work.git("pack-refs", "--all", "--prune"), work)[1],
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_read_without_git_is_what_git_says(work: Work, kind: str):
    here = KINDS[kind](work)

    read = here.found()
    asked = git_repository._ask_for_repository(str(here.root))

    assert read.has_plain_refs
    assert asked
    known = replace(read, repo="", settings=asked.settings, has_plain_refs=False)
    assert known == replace(asked, default_names=())
    assert git.find_default_branch(read) == git.find_default_branch(
        replace(asked, settings=read.settings)
    )
    commit = here.git("rev-parse", "--verify", "--quiet", "HEAD", check=False) or None
    assert git_repository.read_head(read) == commit


UNUSUAL: dict[str, Callable[[Work], object]] = {
    "objects that may be fetched later": lambda work: work.git(
        "config", "remote.origin.promisor", "true"
    ),
    "a branch that stands for another": STEPS["alias"],
    "HEAD as a link": lambda work: (
        (work.root / ".git" / "HEAD").unlink(),
        (work.root / ".git" / "HEAD").symlink_to("refs/heads/main"),
    ),
    "HEAD in another spelling": lambda work: (work.root / ".git" / "HEAD").write_text(
        "ref:refs/heads/main\n"
    ),
}


@pytest.mark.parametrize("what", UNUSUAL)
def test_what_is_not_usual_is_asked_of_git(work: Work, what: str):
    UNUSUAL[what](work)

    found = work.found()

    assert (found.has_plain_refs, found.branch) == (False, "main")
    assert work.state().head == work.git("rev-parse", "HEAD")


@pytest.mark.parametrize(
    "content",
    ["", "\n", "ref: \n", "ref: refs/heads/../../x\n", "ref: refs/heads/a\nb\n", "x" * 9000],
)
def test_a_ref_that_is_anything_else_is_unknown(tmp_path: Path, content: str):
    place = tmp_path / "refs" / "heads"
    place.mkdir(parents=True)
    (place / "main").write_text(content)
    os.mkfifo(place / "pipe")

    assert git_refs.find_commit(str(tmp_path), "refs/heads/main") is None
    assert git_refs.find_commit(str(tmp_path), "refs/heads/pipe") is None
    assert git_refs.find_commit(str(tmp_path), "refs/heads/missing") is None
