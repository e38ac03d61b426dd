"""Which repository a folder is in, and the one name that all its clones and working trees have."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from holdfast.ground import git
from holdfast.ground.errors import GitFailedError
from holdfast.ground.git_refs import is_branch_name
from tests.ground.repositories import Work, clone, make, make_filled


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return make_filled(tmp_path / "work")


def test_a_folder_in_a_working_tree_leads_to_its_repository(work: Work):
    found = git.find_repository(str(work.root / "src" / "deep"))

    assert found == work.found()
    assert (found.root, found.git_dir, found.common_dir) == (
        str(work.root),
        str(work.root / ".git"),
        str(work.root / ".git"),
    )
    assert (found.branch, found.hash_kind, found.is_shallow) == ("main", "sha1", False)


@pytest.mark.parametrize(
    "make_folder", ["nothing", "empty .git", "file .git", "bare", "inside a bare one"]
)
def test_a_folder_that_is_not_a_working_tree_is_not_found(
    tmp_path: Path, work: Work, make_folder: str
):
    folder = tmp_path / "folder"
    folder.mkdir()
    if make_folder == "empty .git":
        (folder / ".git").mkdir()
    elif make_folder == "file .git":
        (folder / ".git").write_text("gitdir: /nowhere/at/all\n")
    elif "bare" in make_folder:
        work.git("clone", "--quiet", "--bare", str(work.root), str(folder / "x.git"))
        folder = folder / "x.git" / ("objects" if "inside" in make_folder else "")

    assert git.find_repository(str(folder)) is None


def test_a_repository_that_puts_its_working_tree_elsewhere_is_not_found(tmp_path: Path, work: Work):
    """What is saved into the repository would be saved into a folder that its settings choose."""
    for place in (tmp_path, tmp_path / "home", Path("/")):
        work.git("config", "core.worktree", str(place))
        assert git.find_repository(str(work.root)) is None


def test_a_repository_that_git_refuses_is_named_with_what_git_says(work: Work):
    (work.root / ".git" / "config").write_text("[core\n")

    with pytest.raises(GitFailedError, match="bad config line 1"):
        git.find_repository(str(work.root))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_repository_owned_by_another_user_is_refused_as_git_refuses_it(work: Work):
    for path in (work.root, work.root / ".git"):
        os.chown(path, 12345, 12345)

    with pytest.raises(GitFailedError, match="dubious ownership"):
        git.find_repository(str(work.root))


# --- its name -------------------------------------------------------------------------------------


def test_two_clones_by_different_ways_have_one_name(work: Work, tmp_path: Path):
    names = set()
    for number, url in enumerate(
        ("https://me:secret@Example.org/a/b.git", "git@example.org:a/b", "ex:a/b")
    ):
        copy = clone(work, tmp_path / f"clone-{number}")
        copy.git("remote", "set-url", "origin", url)
        copy.git("config", "url.ssh://example.org/.insteadOf", "ex:")
        names.add(copy.found().repo)

    assert names == {"example.org/a/b"}


def test_without_a_remote_the_first_commit_is_the_name(work: Work):
    first = work.git("rev-list", "--max-parents=0", "HEAD")
    work.write("x", "x")
    work.commit()

    assert work.found().repo == first
    work.git("switch", "--quiet", "--orphan", "pages")
    work.commit("another beginning")
    assert work.found().repo == first, "on every branch"


def test_the_smallest_of_several_root_commits_names_the_repository(work: Work):
    firsts = [work.git("rev-parse", "HEAD")]
    for number in range(3):
        work.git("switch", "--quiet", "--orphan", f"other-{number}")
        firsts.append(work.commit(str(number)))
        work.git("switch", "--quiet", "main")
        work.git("merge", "--quiet", "--allow-unrelated-histories", "--no-edit", f"other-{number}")

    assert work.found().repo == min(firsts)


@pytest.mark.parametrize(
    "url", ["/srv/git/x", Path("/srv/git/x").as_uri(), "../x", "ext::sh -c true", ""]
)
def test_a_remote_on_this_machine_is_never_the_name(work: Work, url: str):
    work.git("config", "remote.origin.url", url)

    assert work.found().repo == work.git("rev-parse", "HEAD")


def test_a_folder_with_spaces_is_published_without_them(tmp_path: Path):
    assert make(tmp_path / "my first repo").found().public_name == "my-first-repo"


def test_two_remotes_have_two_names_whatever_signs_are_in_them(tmp_path: Path):
    work = make(tmp_path / "work")
    names = set()
    for path in ("pay outs", "pay-outs", " pay outs", "pay outs "):
        work.git("config", "remote.origin.url", f"git@example.org:acme/{path}")
        names.add(work.found().public_name)

    assert len(names) == 4
    assert not any(" " in name for name in names)


def test_a_repository_that_nothing_names_gets_a_distinct_name_without_its_path(
    tmp_path: Path, work: Work
):
    first, second = make(tmp_path / "secret-one").found(), make(tmp_path / "secret-two").found()
    work.commit("second")
    shallow = clone(work, tmp_path / "shallow", "--depth=1").found()

    assert len({first.repo, second.repo, shallow.repo}) == 3
    for found in (first, second, shallow):
        assert re.fullmatch("local-[0-9a-f]{16}", found.repo)
    assert (first.branch, shallow.is_shallow) == ("main", True)


def test_all_working_trees_share_the_name_and_have_their_own_branch(work: Work, tmp_path: Path):
    work.git("worktree", "add", "--quiet", "-b", "feat/side", str(tmp_path / "side"))

    side, main = Work(tmp_path / "side").found(), work.found()

    assert (side.repo, side.common_dir) == (main.repo, main.common_dir)
    assert (side.branch, main.branch) == ("feat/side", "main")
    assert side.git_dir != main.git_dir
    shutil.rmtree(tmp_path / "side")
    assert work.found() == main
    assert git.find_repository(str(tmp_path / "side")) is None


def test_a_submodule_is_a_repository_of_its_own(work: Work, tmp_path: Path):
    part = make_filled(tmp_path / "part")
    work.git(
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        part.root.as_uri(),
        "lib/part",
    )
    work.commit()

    found = git.find_repository(str(work.root / "lib" / "part" / "src"))

    assert found
    assert (found.root, found.repo) == (str(work.root / "lib" / "part"), part.found().repo)


def test_repositories_in_folders_with_unusual_names_are_found(tmp_path: Path):
    for name in ("line\nbreak", "-c", "sp ace", "größe", "$(touch x)"):
        work = make_filled(tmp_path / name)
        found = work.found()
        assert (found.root, found.git_dir) == (str(work.root), str(work.root / ".git"))
        assert work.contents() == work.slow_contents()


# --- branches -------------------------------------------------------------------------------------


def test_a_detached_head_is_named_head(work: Work):
    work.git("switch", "--quiet", "--detach")

    assert work.found().branch == git.DETACHED == "HEAD"


def test_the_default_branch_is_what_the_remote_says(work: Work, tmp_path: Path):
    work.git("branch", "--move", "main", "trunk")
    copy = clone(work, tmp_path / "copy")
    copy.git("switch", "--quiet", "-c", "topic")
    copy.commit("on a topic")

    assert git.find_default_branch(copy.found()) == git.Branch(
        "trunk", work.git("rev-parse", "HEAD")
    )


def test_without_a_default_of_the_remote_main_comes_before_master(work: Work):
    assert git.find_default_branch(work.found()) == git.Branch(
        "main", work.git("rev-parse", "HEAD")
    )
    work.git("branch", "master")
    work.git("switch", "--quiet", "-c", "topic")
    assert git.find_default_branch(work.found()).name == "main"
    work.git("branch", "--quiet", "-D", "main")
    assert git.find_default_branch(work.found()).name == "master"
    work.git("branch", "--quiet", "-D", "master")
    assert git.find_default_branch(work.found()) is None


def test_a_default_branch_that_no_longer_exists_is_ignored(work: Work, tmp_path: Path):
    copy = clone(work, tmp_path / "copy")
    copy.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/gone")

    assert git.find_default_branch(copy.found()).name == "main"


NAMES = [
    "main",
    "feat/1",
    "dependabot/npm_and_yarn/web/left-pad-1.3.0",
    "übung#3",
    "@x",
    "a@b",
    "HEAD",
    "",
    " ",
    "a b",
    "a\nb",
    "a\u202eb",
    "-a",
    ".a",
    "a/.b",
    "/a",
    "a/",
    "a//b",
    "a.",
    "a..b",
    "a.lock",
    "a.lock/b",
    "a~b",
    "a^b",
    "a:b",
    "a?b",
    "a*b",
    "a[b",
    "a\\b",
    "a@{b",
    "@",
    "a\x7fb",
]


def test_names_are_judged_as_git_judges_them():
    for name in NAMES:
        command = ["git", "check-ref-format", f"refs/heads/{name}"]
        allowed = subprocess.run(command).returncode == 0 and not name.startswith("-")
        if "\u202e" not in name and name != "@":  # letters that hide, and what git resolves
            assert is_branch_name(name) == allowed, name

    assert not is_branch_name("a\u202eb")
    assert not is_branch_name("a" * 121)
    assert is_branch_name("a" * 120)
