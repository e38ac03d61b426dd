"""A file or a folder against a commit, on real repositories: lines with their numbers, and calm
words otherwise.
"""

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from holdfast.errors import InvalidValueError
from holdfast.ground.confined import ConfinedRoot
from holdfast.ground.errors import FileMissingError, GitFailedError, PathOutsideError
from holdfast.surfaces.console import applet, diff, texts
from holdfast.surfaces.console.diff import FileDiff, FolderDiff, parse_diff
from tests.rig.swapping import swapping
from tests.workstreams.repos import RETRY, Repo, with_code


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return with_code(tmp_path / "payouts")


@pytest.fixture
def roots(repo: Repo) -> list[ConfinedRoot]:
    return [ConfinedRoot(str(repo.folder))]


def open_diff(roots: list[ConfinedRoot], path: str, since: str | None = None) -> FileDiff:
    found = diff.open_diff(roots, path, since)
    assert isinstance(found, FileDiff)
    return found


def open_folder(roots: list[ConfinedRoot], path: str, since: str | None = None) -> FolderDiff:
    found = diff.open_diff(roots, path, since)
    assert isinstance(found, FolderDiff)
    return found


def list_lines(found: FileDiff) -> list[tuple[str, int | None, int | None, str]]:
    return [
        (line.sign, line.before, line.after, line.text)
        for line in found.lines
        if line.kind != "hunk"
    ]


def test_an_edit_is_shown_with_the_numbers_of_both_sides(repo: Repo, roots: list[ConfinedRoot]):
    repo.write("src/models.py", "class Attempt:\n    number: str\n    event: str\n")

    for path in ("src/models.py", str(repo.folder / "src/models.py")):
        found = open_diff(roots, path)
        assert (found.state, found.against, found.added, found.removed) == ("changed", "HEAD", 2, 1)
        assert list_lines(found) == [
            ("", 1, 1, "class Attempt:"),
            ("−", 2, None, "    number: int"),
            ("+", None, 2, "    number: str"),
            ("+", None, 3, "    event: str"),
        ]


def test_a_commit_can_be_named_to_compare_with(repo: Repo, roots: list[ConfinedRoot]):
    first = repo.git("rev-parse", "HEAD")
    repo.write("README.md", "payouts\nmore\n")
    repo.commit()

    assert open_diff(roots, "README.md").state == "same"
    found = open_diff(roots, "README.md", first)
    assert (found.state, found.against, found.added) == ("changed", first[:7], 1)


def test_a_commit_can_be_named_as_it_is_printed(repo: Repo, roots: list[ConfinedRoot]):
    """By its first digits, also where a branch is called so; and HEAD is HEAD, now and later."""
    first = repo.git("rev-parse", "HEAD")
    repo.write("README.md", "payouts\nmore\n")
    repo.commit()
    repo.git("branch", first[:7])

    for path in ("README.md", str(repo.folder)):
        short, whole = (diff.open_diff(roots, path, since) for since in (first[:7], first))
        assert short == whole
        assert (short.state, short.since) == ("changed", first)
        assert diff.open_diff(roots, path, "HEAD") == diff.open_diff(roots, path)


@pytest.mark.parametrize(
    ("since", "state"),
    [
        ("0" * 40, "no_commit"),
        ("0" * 7, "no_commit"),
        ("0" * 39, "no_commit"),
        ("0" * 6, "no_id"),
        ("main", "no_id"),
        ("HEAD~1", "no_id"),
        ("--output=x", "no_id"),
        ("x", "no_id"),
    ],
)
def test_an_unknown_commit_is_reported_and_no_command_is_run(
    repo: Repo, roots: list[ConfinedRoot], since: str, state: str
):
    for path in ("README.md", str(repo.folder)):
        found = diff.open_diff(roots, path, since)
        assert (found.state, found.since) == (state, since)


def test_a_files_diff_knows_where_the_diff_of_all_files_is(repo: Repo, roots: list[ConfinedRoot]):
    """Of the whole repository, or of as much of it as may be shown."""
    repo.write("src/retry.py", "other\n")
    path = str(repo.folder / "src/retry.py")
    above, below = ConfinedRoot(str(repo.folder.parent)), ConfinedRoot(str(repo.folder / "src"))

    for some, folder in (
        (roots, repo.folder),
        ([above], repo.folder),
        ([below], repo.folder / "src"),
    ):
        assert open_diff(some, path).folder == str(folder)
        assert path in [file.path for file in open_folder(some, str(folder)).files]


def test_a_file_that_git_does_not_know_is_all_new(repo: Repo, roots: list[ConfinedRoot]):
    repo.write("new.txt", "one\ntwo\n")
    assert list_lines(open_diff(roots, "new.txt")) == [("+", None, 1, "one"), ("+", None, 2, "two")]
    repo.git("add", "new.txt")
    found = open_diff(roots, "new.txt")
    assert (found.state, found.added) == ("new", 2)

    repo.write("empty.txt", "")
    assert (open_diff(roots, "empty.txt").state, open_diff(roots, "empty.txt").lines) == ("new", ())


def test_before_the_first_commit_everything_is_new(tmp_path: Path):
    repo = Repo(tmp_path / "young")
    repo.write("a.txt", "one\n")

    assert list_lines(open_diff([ConfinedRoot(str(repo.folder))], "a.txt")) == [
        ("+", None, 1, "one")
    ]


def test_a_file_that_is_gone_shows_what_it_was(repo: Repo, roots: list[ConfinedRoot]):
    """Also with its folder, and also an empty one."""
    repo.write("old/empty.txt", "")
    repo.commit()
    for path in ("src/models.py", "src/retry.py", "old/empty.txt"):
        (repo.folder / path).unlink()
    (repo.folder / "src").rmdir()
    (repo.folder / "old").rmdir()

    found = open_diff(roots, "src/models.py")
    assert (found.state, found.removed) == ("gone", 2)
    assert open_diff(roots, "old/empty.txt").state == "gone"
    with pytest.raises(FileMissingError):
        open_diff(roots, "src/never.py")


def test_a_binary_file_has_no_lines(repo: Repo, roots: list[ConfinedRoot]):
    repo.write("a.bin", b"\0\1")
    assert open_diff(roots, "a.bin").state == "binary"
    repo.commit()
    assert open_diff(roots, "a.bin").state == "same"
    repo.write("a.bin", b"\0\2")
    assert open_diff(roots, "a.bin").state == "binary"
    (repo.folder / "a.bin").unlink()
    assert open_diff(roots, "a.bin").state == "binary"


def test_a_file_outside_of_any_repository_says_so(tmp_path: Path):
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain/a.txt").write_text("x")
    roots = [ConfinedRoot(str(tmp_path / "plain"))]

    assert open_diff(roots, "a.txt").state == "no_repository"
    with pytest.raises(FileMissingError):
        open_diff(roots, "b.txt")


def test_a_touched_file_is_unchanged_and_a_changed_mode_is_shown(
    repo: Repo, roots: list[ConfinedRoot]
):
    os.utime(repo.folder / "README.md", (1, 1))
    assert open_diff(roots, "README.md").state == "same"
    os.chmod(repo.folder / "README.md", 0o755)
    found = open_diff(roots, "README.md")
    assert (found.state, [line.text for line in found.lines]) == (
        "changed",
        ["old mode 100644", "new mode 100755"],
    )


def test_a_long_diff_is_cut_with_a_note(repo: Repo, roots: list[ConfinedRoot]):
    repo.write("README.md", "line\n" * 5_000)
    found = open_diff(roots, "README.md")
    assert (len(found.lines), found.is_cut) == (texts.LINES_SHOWN, True)

    repo.write("README.md", ("w" * 10_000 + "\n") * 60)
    found = open_diff(roots, "README.md")
    assert found.is_cut
    assert max(len(line.text) for line in found.lines) == diff.LINE_CHARS
    assert sum(len(line.text) for line in found.lines) < diff.DIFF_BYTES

    repo.write("untracked.txt", "line\n" * 5_000)
    assert (
        len(open_diff(roots, "untracked.txt").lines),
        open_diff(roots, "untracked.txt").is_cut,
    ) == (2_000, True)


def test_a_file_too_large_for_the_editor_is_refused(repo: Repo, roots: list[ConfinedRoot]):
    repo.write("large.txt", b"x" * (applet.MOST_BYTES + 1))

    with pytest.raises(InvalidValueError, match="larger than"):
        open_diff(roots, "large.txt")


def test_windows_line_ends_are_shown_only_when_they_changed(repo: Repo, roots: list[ConfinedRoot]):
    repo.write("crlf.txt", b"one\r\ntwo\r\n")
    repo.commit()
    repo.write("crlf.txt", b"one\r\n2\r\n")
    assert [line[3] for line in list_lines(open_diff(roots, "crlf.txt"))] == ["one", "two", "2"]

    repo.write("crlf.txt", b"one\ntwo\n")  # here they are the change, and are seen
    assert {line[3] for line in list_lines(open_diff(roots, "crlf.txt"))} == {
        "one\r",
        "two\r",
        "one",
        "two",
    }


def test_a_line_that_looks_like_gits_own_is_only_a_line(repo: Repo, roots: list[ConfinedRoot]):
    fake = (
        "@@ -1 +1 @@\ndiff --git a/x b/x\nBinary files a and b differ\n--- a/x\n+++ b/x\n"
        "\\ No newline\n"
    )
    repo.write("README.md", "payouts\n" + fake)

    found = open_diff(roots, "README.md")

    assert found.state == "changed"
    assert [line[3] for line in list_lines(found) if line[0] == "+"] == fake.split("\n")[:-1]


def test_a_missing_last_line_end_is_a_note(repo: Repo, roots: list[ConfinedRoot]):
    repo.write("README.md", "payouts")

    assert [line.text for line in open_diff(roots, "README.md").lines if line.kind == "note"] == [
        "No newline at end of file"
    ]


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/etc/passwd",
        "../outside.txt",
        "src/../../outside.txt",
        "./README.md",
        "\x00",
        "x" * 5_000,
        "link.txt",
        "away/passwd",
        ".git/config",
    ],
    ids=lambda path: repr(path)[:24],
)
def test_nothing_outside_is_shown_and_nothing_through_a_link(
    repo: Repo, roots: list[ConfinedRoot], path: str
):
    (repo.folder.parent / "outside.txt").write_text("secret")
    (repo.folder / "link.txt").symlink_to(repo.folder.parent / "outside.txt")
    (repo.folder / "away").symlink_to("/etc")

    with pytest.raises(PathOutsideError):
        diff.open_diff(roots, path)


def test_without_a_folder_nothing_is_compared():
    with pytest.raises(PathOutsideError, match="no folder was named"):
        open_diff([], "/etc/passwd")


def test_a_root_inside_a_repository_shows_what_is_below_it_alone(repo: Repo):
    roots = [ConfinedRoot(str(repo.folder / "src"))]
    repo.write("src/retry.py", RETRY + "# more\n")

    assert open_diff(roots, "retry.py").added == 1
    with pytest.raises(PathOutsideError):
        open_diff(roots, str(repo.folder / "README.md"))


def test_a_repository_runs_nothing_of_its_own(
    repo: Repo, roots: list[ConfinedRoot], tmp_path: Path
):
    trap = tmp_path / "trapped"
    for key in (
        "diff.external",
        "diff.x.textconv",
        "diff.x.command",
        "filter.x.clean",
        "core.fsmonitor",
        "core.pager",
    ):
        repo.git("config", key, f"touch {trap}; cat")
    repo.write(".gitattributes", "* diff=x filter=x\n")
    repo.write("README.md", "other\n")

    assert open_diff(roots, "README.md").added == 1
    assert not trap.exists()


# --- folders --------------------------------------------------------------------------------------


def list_files(found: FolderDiff) -> list[tuple[str, str, tuple[int | None, int | None]]]:
    return [(file.below, file.status, tuple(file.count or (None, None))) for file in found.files]


def test_a_folder_lists_the_files_that_changed_and_each_opens_its_diff(
    repo: Repo, roots: list[ConfinedRoot]
):
    repo.write("src/retry.py", RETRY + "# more\n")
    repo.write("README.md", "other\n")
    (repo.folder / "src/models.py").unlink()
    repo.write("untracked.txt", "not git's\n")

    for path in (str(repo.folder), f"{repo.folder}/"):
        found = open_folder(roots, path)
        assert (found.name, found.state, found.against, found.total) == (
            "payouts",
            "changed",
            "HEAD",
            3,
        )
        assert found.below_root == "payouts"
        assert list_files(found) == [
            ("README.md", "changed", (1, 1)),
            ("src/models.py", "gone", (0, 2)),
            ("src/retry.py", "changed", (1, 0)),
        ]
        assert [open_diff(roots, file.path).state for file in found.files] == [
            "changed",
            "gone",
            "changed",
        ]


def test_a_subfolder_lists_only_its_own_files(repo: Repo, roots: list[ConfinedRoot]):
    repo.write("src/retry.py", RETRY + "# more\n")
    repo.write("src2.py", "x = 1\n")
    repo.git("add", "src2.py")

    for path in ("src", str(repo.folder / "src")):
        found = open_folder(roots, path)
        assert (found.below_root, list_files(found)) == ("src", [("retry.py", "changed", (1, 0))])
    below = open_folder([ConfinedRoot(str(repo.folder / "src"))], str(repo.folder / "src"))
    assert list_files(below) == [("retry.py", "changed", (1, 0))]


def test_a_folder_is_compared_with_the_commit_that_was_named(repo: Repo, roots: list[ConfinedRoot]):
    first = repo.git("rev-parse", "HEAD")
    repo.write("new.py", "x = 1\n")
    repo.git("add", "new.py")
    repo.commit()

    assert open_folder(roots, str(repo.folder)).state == "same"
    assert list_files(open_folder(roots, str(repo.folder), first)) == [("new.py", "new", (1, 0))]
    assert open_folder(roots, str(repo.folder), "0" * 40).state == "no_commit"


def test_before_the_first_commit_a_folder_has_new_files(tmp_path: Path):
    repo = Repo(tmp_path / "fresh")
    repo.write("a.py", "x = 1\n")
    repo.git("add", "a.py")
    found = open_folder([ConfinedRoot(str(repo.folder))], str(repo.folder))
    assert list_files(found) == [("a.py", "new", (1, 0))]


def test_a_folder_of_many_changes_lists_the_first_and_counts_the_rest(
    repo: Repo, roots: list[ConfinedRoot], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(diff, "FILES_SHOWN", 2)
    for name in "abc":
        repo.write(f"{name}.py", "x = 1\n")
    repo.git("add", ".")
    found = open_folder(roots, str(repo.folder))
    assert (len(found.files), found.total) == (2, 3)


def test_a_folder_outside_of_any_repository_says_so(tmp_path: Path):
    (tmp_path / "plain").mkdir()
    assert open_folder([ConfinedRoot(str(tmp_path))], "plain").state == "no_repository"


def test_a_folder_through_a_link_or_outside_is_refused(repo: Repo, roots: list[ConfinedRoot]):
    (repo.folder / "away").symlink_to("/etc")
    for path in (
        "away",
        f"{repo.folder}/away",
        "/etc",
        str(repo.folder.parent),
        ".git",
        f"{repo.folder}/.git",
    ):
        with pytest.raises(PathOutsideError):
            diff.open_diff(roots, path)


def test_an_empty_diff_has_no_files():
    assert list(parse_diff("")) == []


# --- git's own folder leads to another one --------------------------------------------------------


def name_common(git: Path, outside: Path) -> None:
    (git / "commondir").write_text(f"{outside}\n")


def name_alternates(git: Path, outside: Path) -> None:
    (git / "objects/info").mkdir(exist_ok=True)
    (git / "objects/info/alternates").write_text(f"{outside / 'objects'}\n")
    copy_branch(git, outside)


def link_objects(git: Path, outside: Path) -> None:
    shutil.rmtree(git / "objects")
    (git / "objects").symlink_to(outside / "objects")
    copy_branch(git, outside)


def link_each_object(git: Path, outside: Path) -> None:
    for place in (outside / "objects").glob("??/*"):
        (git / "objects" / place.parent.name).mkdir(exist_ok=True)
        (git / "objects" / place.parent.name / place.name).symlink_to(place)
    copy_branch(git, outside)


def link_index(git: Path, outside: Path) -> None:
    (git / "index").symlink_to(outside / "index")


def copy_branch(git: Path, outside: Path) -> None:
    (git / "refs/heads/main").write_text((outside / "refs/heads/main").read_text())


def pretend_worktree(git: Path, outside: Path) -> None:
    """A file that names a folder which names this working tree, and the objects of another."""
    fake = git.parent.parent / "fake"
    git.rename(fake)
    git.write_text(f"gitdir: {fake}\n")
    (fake / "gitdir").write_text(f"{git}\n")
    name_common(fake, outside)


@pytest.mark.parametrize(
    "mislead",
    [
        name_common,
        name_alternates,
        link_objects,
        link_each_object,
        link_index,
        pretend_worktree,
    ],
)
def test_a_repository_that_takes_its_contents_from_elsewhere_is_refused(
    repo: Repo, roots: list[ConfinedRoot], tmp_path: Path, mislead: Callable[[Path, Path], None]
):
    nested, outside = Repo(repo.folder / "nested"), Repo(tmp_path / "outside")
    outside.write("only_secret.py", "secret\n")
    outside.commit()
    mislead(nested.folder / ".git", outside.folder / ".git")

    for path in ("nested/only_secret.py", "nested"):
        with pytest.raises((GitFailedError, FileMissingError)) as refused:
            open_diff(roots, path)
        assert "secret\n" not in repr(refused.value)
    with pytest.raises(GitFailedError, match="kept elsewhere"):
        open_diff(roots, "nested")


def test_linked_working_trees_and_submodules_below_a_root_are_shown(
    repo: Repo, roots: list[ConfinedRoot]
):
    repo.git("worktree", "add", "-q", "linked")
    repo.git("clone", "-q", "--no-hardlinks", ".", "copied")
    for folder in ("linked", "copied"):
        repo.write(f"{folder}/src/retry.py", RETRY + "# more\n")

        assert open_diff(roots, f"{folder}/src/retry.py").added == 1


# --- another process that swaps folders for links -------------------------------------------------


@pytest.mark.parametrize("name", ["src", "nested"])
def test_a_folder_swapped_for_a_link_never_shows_what_is_outside(
    repo: Repo, roots: list[ConfinedRoot], tmp_path: Path, scale: Callable[[int], int], name: str
):
    """TS12: a folder of the repository, and a repository in a folder; both against one outside."""
    nested, outside = Repo(repo.folder / "nested"), Repo(tmp_path / "outside")
    for some, words in ((nested, "inside"), (outside, "secret")):
        some.write("retry.py", f"{words} before\n")
        some.write(f"only_{words}.py", f"{words} before\n")
        some.commit()
        some.write("retry.py", f"{words} now\n" * 2)
        some.write(f"only_{words}.py", f"{words} now\n" * 2)
    shown = []

    with swapping(repo.folder / name, outside.folder):
        for _ in range(scale(300)):
            for path in (f"{name}/retry.py", f"{name}/only_secret.py", name):
                with suppress(PathOutsideError, FileMissingError, GitFailedError):
                    shown.append(diff.open_diff(roots, path))

    assert shown, "nothing was ever shown"
    leaks = [found for found in shown if "secret" in repr(found)]
    assert (len(leaks), len(shown)) == (0, len(shown))
