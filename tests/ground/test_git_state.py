"""One id for what all tracked files hold now: it follows contents, and nothing else."""

import errno
import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from holdfast.errors import InvalidValueError
from holdfast.ground import git, git_files
from holdfast.ground.errors import GitFailedError
from holdfast.ground.git_state import list_uncommitted
from tests.ground.repositories import OWN, Work, clone, make, make_filled

NAMES = [
    b"a.txt",
    b"src/b.py",
    b"src/deep/c",
    b"src/deep/er/d",
    b"o-dd",
    b"o/dd",
    b"caf\xe9.txt",
    b"tab\tand\nline",
    b'"q"',
]
OWN_NAMES = [b"data/context/planning_context.json", b"docs/context_summary.md"]


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return make_filled(tmp_path / "work")


# --- what leaves the id as it is ------------------------------------------------------------------


def test_saving_and_committing_our_own_files_changes_nothing(work: Work):
    """W4: a context that is saved must not make itself stale."""
    before = work.state()

    work.write(OWN_NAMES[0], "{}\n")
    work.write(OWN_NAMES[1], "summary\n")
    saved = work.state()
    work.git("add", "--all")
    added = work.state()
    work.commit("save the context")
    after = work.state()

    assert {saved.contents_id, added.contents_id, after.contents_id} == {before.contents_id}
    assert (saved.changed, added.changed, after.changed) == ({}, {}, {})
    assert after.head != before.head
    assert after.contents_id == work.slow_contents()


def test_an_edit_counts_the_same_before_and_after_its_commit(work: Work):
    first = work.contents()
    work.write("src/app.py", "print('two')\n")
    edited = work.contents()
    work.git("add", "src/app.py")
    staged = work.contents()
    work.commit()

    assert edited != first
    assert edited == staged == work.contents() == work.slow_contents()


def test_a_new_head_with_the_same_contents_is_the_same(work: Work):
    before = work.state()
    work.git("commit", "--quiet", "--allow-empty", "-m", "nothing")
    work.git("commit", "--quiet", "--amend", "--allow-empty", "-m", "renamed")

    after = work.state(since=before.head)

    assert after.contents_id == before.contents_id
    assert (after.base, after.changed) == (before.head, {})


def test_a_file_that_was_only_touched_is_unchanged(work: Work):
    before = work.state()
    os.utime(work.place("src/app.py"), (1, 1))
    work.write("README.md", "read me\n")

    assert work.state() == before


def test_reverting_an_edit_leaves_no_change(work: Work):
    before = work.state()
    work.write("src/app.py", "print('two')\n")
    work.commit()
    work.write("src/app.py", "print('one')\n")

    assert work.state(since=before.head).changed == {}
    assert work.contents() == before.contents_id


def test_untracked_files_are_not_seen(work: Work):
    before = work.state()
    work.write("src/new.py", "new\n")

    assert work.state() == before


def test_a_clone_and_a_working_tree_have_the_same_id(work: Work, tmp_path: Path):
    work.git("worktree", "add", "--quiet", "-b", "side", str(tmp_path / "side"))
    side, copy = Work(tmp_path / "side"), clone(work, tmp_path / "copy")

    assert side.contents() == copy.contents() == work.contents()
    side.write("src/app.py", "print('side')\n")
    copy.write("src/app.py", "print('side')\n")
    copy.commit()
    assert side.contents() == copy.contents() != work.contents()


def test_a_rebase_leads_to_the_contents_that_it_leads_to(work: Work):
    work.git("switch", "--quiet", "-c", "topic")
    work.write("src/topic.py", "topic\n")
    topic = work.commit()
    work.git("switch", "--quiet", "main")
    work.write("src/main.py", "main\n")
    work.commit()
    work.git("merge", "--quiet", "--no-edit", "topic")
    merged = work.contents()
    work.git("switch", "--quiet", "topic")
    apart = work.state(since=topic)
    work.git("rebase", "--quiet", "main~1")

    rebased = work.state(since=topic)

    assert apart.changed == {}
    assert rebased.contents_id == merged == work.slow_contents()
    assert set(rebased.changed) == {"src/main.py"}


# --- what changes it, and by which name -----------------------------------------------------------


@pytest.mark.parametrize(
    "path", ["README.md", "src/app.py", "src/deep/er/inner.py", "docs/plan.md"]
)
def test_an_edit_to_any_file_is_seen_and_named(work: Work, path: str):
    before = work.state()
    work.write(path, "edited\n")

    after = work.state()

    assert after.contents_id != before.contents_id
    assert {name: change.status for name, change in after.changed.items()} == {path: "M"}
    assert after.changed[path].new_blob == work.git("hash-object", "--", path)
    assert after.changed[path].old_blob == work.git("rev-parse", f"HEAD:{path}")


def test_staged_unstaged_and_committed_edits_come_together(work: Work):
    first = work.git("rev-parse", "HEAD")
    work.write("src/committed.py", "1\n")
    work.commit()
    work.write("src/staged.py", "2\n")
    work.git("add", "src/staged.py")
    work.write("src/staged.py", "3\n")
    work.write("src/meant.py", "4\n")
    work.git("add", "--intent-to-add", "src/meant.py")
    os.remove(work.place("docs/plan.md"))
    work.git("rm", "--quiet", "--cached", "README.md")

    state = work.state(since=first)

    statuses = {path: change.status for path, change in state.changed.items()}
    assert statuses == {
        "src/committed.py": "A",
        "src/staged.py": "A",
        "src/meant.py": "A",
        "docs/plan.md": "D",
        "README.md": "D",
    }
    assert state.contents_id == work.slow_contents()


def test_a_rename_is_one_file_gone_and_one_new(work: Work):
    work.git("mv", "src/app.py", "src/program.py")

    state = work.state()

    assert {path: change.status for path, change in state.changed.items()} == {
        "src/app.py": "D",
        "src/program.py": "A",
    }
    assert state.contents_id == work.slow_contents()


def test_a_rename_of_letters_only_is_seen(work: Work):
    work.git("mv", "README.md", "Readme.md")

    assert set(work.state().changed) == {"README.md", "Readme.md"}
    assert work.contents() == work.slow_contents()


def test_a_mode_counts_and_a_link_counts_by_its_text(work: Work):
    work.git("config", "core.fileMode", "true")
    os.chmod(work.place("src/app.py"), 0o755)
    os.remove(work.place("README.md"))
    os.symlink("docs/plan.md", work.place("README.md"))

    state = work.state()

    assert {path: change.status for path, change in state.changed.items()} == {
        "src/app.py": "M",
        "README.md": "T",
    }
    assert state.contents_id == work.slow_contents()


def test_dangling_and_looping_links_are_compared_by_their_text(work: Work):
    os.symlink("nowhere", work.place("dangling"))
    os.symlink("loop", work.place("loop"))
    work.commit()
    for name in ("dangling", "loop"):
        os.remove(work.place(name))
        os.symlink(f"other-{name}", work.place(name))

    assert set(work.state().changed) == {"dangling", "loop"}
    assert work.contents() == work.slow_contents()


def test_a_folder_may_become_a_file_and_a_file_a_folder(work: Work):
    subprocess.run(["rm", "-r", work.place("src/deep")], check=True)
    work.write("src/deep", "a file now\n")
    os.remove(work.place("README.md"))
    work.write("README.md/part", "a folder now\n")
    work.git("add", "--all")

    assert work.contents() == work.slow_contents()
    work.git("commit", "--quiet", "-m", "exchanged")
    assert work.contents() == work.slow_contents() == work.git("rev-parse", "HEAD^{tree}")


def test_a_merge_conflict_counts_as_the_file_is_now(work: Work):
    for branch, line in (("one", "print(1)\n"), ("two", "print(2)\n")):
        work.git("switch", "--quiet", "-C", branch, "main")
        work.write("src/app.py", line)
        if branch == "one":
            os.remove(work.place("docs/plan.md"))
        else:
            work.write("docs/plan.md", "another plan\n")
        work.commit()
    work.git("merge", "one", check=False)

    state = work.state()

    assert "<<<<<<<" in Path(os.fsdecode(work.place("src/app.py"))).read_text()
    assert set(state.changed) == {"src/app.py"}
    assert state.contents_id == work.slow_contents()


def test_a_submodule_counts_by_the_commit_that_is_checked_out(work: Work, tmp_path: Path):
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
    before = work.state()
    inner = Work(work.root / "lib" / "part")

    inner.write("src/app.py", "edited inside\n")
    dirty = work.state()
    moved_to = inner.commit()
    moved = work.state()

    assert dirty == before
    assert moved.changed["lib/part"] == git.FileChange("M", before_commit(part), moved_to)
    work.git("add", "lib/part")
    assert work.contents() == moved.contents_id == work.slow_contents()


def before_commit(part: Work) -> str:
    return part.git("rev-parse", "HEAD")


# --- line ends and encodings ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("setting", "attributes"),
    [
        ("true", ""),
        ("input", ""),
        ("false", "* text=auto\n"),
        ("false", "*.txt text eol=crlf\n"),
        ("false", "*.txt text\n"),
        ("false", "*.txt -text\n"),
        ("true", "*.txt ident\n"),
        ("false", "*.txt working-tree-encoding=UTF-16LE\n"),
        ("false", ""),
    ],
)
@pytest.mark.parametrize("stored_as", [b"one\ntwo\n", b"one\r\ntwo\r\n", b"one\r\ntwo\n"])
def test_line_ends_count_as_git_stores_them(
    tmp_path: Path, setting: str, attributes: str, stored_as: bytes
):
    """The same id before and after the commit, whatever the settings make of CRLF."""
    work = make(tmp_path / "work")
    work.write("plain.txt", stored_as)
    work.commit()
    work.git("config", "core.autocrlf", setting)
    if attributes:
        work.write(".gitattributes", attributes)
        work.git("add", ".gitattributes")
    encoding = "utf-16-le" if "UTF-16" in attributes else "utf-8"
    for text in ("one\r\ntwo\r\nthree\r\n", "one\ntwo\n", "$Id: old $\r\n"):
        work.write("plain.txt", text.encode(encoding))

        before = work.contents()

        assert before == work.slow_contents()
        work.commit()
        assert work.contents() == before, text


def test_binary_and_large_files_are_hashed_as_they_are(work: Work):
    work.write("picture", bytes(range(256)) * 40)
    work.write("long", b"x" * (git_files.READ_BYTES + 1))
    work.commit()
    work.write("picture", bytes(reversed(range(256))) * 40)
    work.write("long", b"x" * (git_files.READ_BYTES + 2))

    assert set(work.state().changed) == {"picture", "long"}
    assert work.contents() == work.slow_contents()


# --- names ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [b"caf\xe9", b"tab\there", b"line\nbreak", b'"quoted"', b"-c", b":(glob)*", b"end\r", b"*"],
)
def test_any_name_that_a_file_can_have_is_seen(work: Work, name: bytes):
    for path in (name, b"folder-" + name + b"/" + name):
        work.write(path, "one\r\n")
    work.commit()
    for path in (name, b"folder-" + name + b"/" + name):
        work.write(path, "two\r\n")

    changed = work.state().changed

    assert {os.fsencode(path) for path in changed} == {name, b"folder-" + name + b"/" + name}
    assert work.contents() == work.slow_contents()


def test_a_path_with_900_folders_is_handled(work: Work):
    deep = "d/" * 900
    blob = work.git("hash-object", "-w", "README.md")
    work.git("update-index", "--add", "--cacheinfo", f"100644,{blob},{deep}x")
    work.git("commit", "--quiet", "-m", "deep")
    work.git("update-index", "--force-remove", f"{deep}x")

    state = work.state()

    assert [change.status for change in state.changed.values()] == ["D"]
    assert state.contents_id == work.git("rev-parse", "HEAD~1^{tree}")


# --- repositories of other kinds ------------------------------------------------------------------


def test_a_repository_without_a_commit_has_a_state(tmp_path: Path):
    work = make(tmp_path / "work")
    empty = work.state()
    work.write("src/a.py", "a\n")
    work.write(OWN_NAMES[0], "{}\n")
    work.git("add", "--all")
    added = work.state()
    work.git("commit", "--quiet", "-m", "first")

    assert (empty.head, empty.base, empty.changed) == (None, None, {})
    assert empty.contents_id == "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
    assert {path: change.status for path, change in added.changed.items()} == {"src/a.py": "A"}
    assert added.contents_id == work.contents() == work.slow_contents()


def test_a_repository_with_long_ids_works_the_same(tmp_path: Path):
    work = make_filled(tmp_path / "work", "--object-format=sha256")
    work.write(OWN_NAMES[0], "{}\n")
    work.commit()
    work.write("src/app.py", "two\r\n")

    assert len(work.contents()) == 64
    assert work.contents() == work.slow_contents()


def test_a_shallow_clone_has_the_same_id_and_compares_with_what_it_has(work: Work, tmp_path: Path):
    old = work.git("rev-parse", "HEAD")
    work.write("src/app.py", "print('two')\n")
    work.commit()
    shallow = clone(work, tmp_path / "shallow", "--depth=1")

    state = shallow.state(since=old)

    assert state.contents_id == work.contents()
    assert (state.base, state.changed) == (state.head, {})


def test_files_outside_a_sparse_checkout_count_as_the_index_has_them(work: Work):
    before = work.contents()
    work.git("sparse-checkout", "set", "docs")

    assert not os.path.exists(work.place("src/app.py"))
    assert work.contents() == before
    work.write("docs/plan.md", "edited\n")
    assert set(work.state().changed) == {"docs/plan.md"}


def test_a_file_marked_assume_unchanged_is_not_compared(work: Work):
    before = work.contents()
    work.git("update-index", "--assume-unchanged", "src/app.py")
    work.write("src/app.py", "edited\n")

    assert work.contents() == before


# --- own files ------------------------------------------------------------------------------------


def test_own_paths_may_lie_in_each_other_end_with_a_slash_or_not_exist(work: Work):
    before = work.contents()
    work.write("data/context/deep/er.json", "{}\n")
    work.commit()

    for without in (
        ["data/context/", "data", "nowhere/at/all"],
        ["/data"],
        ["data/context/deep", "data/context"],
    ):
        assert work.state(without=without).contents_id == before
    assert work.state(without=[]).contents_id == work.git("rev-parse", "HEAD^{tree}") != before


def test_a_file_whose_name_begins_like_an_own_one_counts(work: Work):
    before = work.contents()
    work.write("data/context-of-others.json", "{}\n")
    work.write("docs/context_summary.md.bak", "{}\n")
    work.commit()

    assert work.contents() == work.slow_contents() != before


def test_an_own_path_below_a_file_leaves_the_file(work: Work):
    work.write("data", "a file, not a folder\n")
    work.commit()

    assert work.contents() == work.git("rev-parse", "HEAD^{tree}")


@pytest.mark.parametrize("path", ["", "/", "//"])
def test_excluding_the_whole_tree_is_refused(work: Work, path: str):
    with pytest.raises(InvalidValueError):
        work.state(without=[path])


# --- what lies in a file's place ------------------------------------------------------------------


def test_a_pipe_a_socket_or_a_folder_in_a_files_place_does_not_stop_anything(work: Work):
    before = work.contents()
    for path in ("README.md", "src/app.py"):
        os.remove(work.place(path))
    os.mkfifo(work.place("README.md"))
    os.mkdir(work.place("src/app.py"))

    state = work.state()

    assert {path: change.status for path, change in state.changed.items()} == {
        "README.md": "M",
        "src/app.py": "D",
    }
    assert state.contents_id == work.contents() != before


def test_a_file_that_may_not_be_read_counts_as_changed(work: Work, monkeypatch: pytest.MonkeyPatch):
    """Root may read everything, so the system's refusal is simulated for every user."""
    os.chmod(work.place("README.md"), 0)
    os.utime(
        work.place("README.md"), (5, 5)
    )  # git, as root, would see at once that nothing else is new
    opened = os.open

    def refuse(path: Any, *args: Any, **kwargs: Any) -> int:
        if os.fsencode(path).endswith(b"README.md"):
            raise PermissionError(errno.EACCES, "Permission denied")
        return opened(path, *args, **kwargs)

    monkeypatch.setattr(os, "open", refuse)

    assert set(work.state().changed) == {"README.md"}


def test_a_huge_file_is_known_by_its_size_and_time(work: Work, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(git_files, "LARGEST_BYTES", 100)
    work.write("src/app.py", b"x" * 101)
    first = work.state()
    os.utime(work.place("src/app.py"), (5, 5))

    assert first.changed["src/app.py"].new_blob != work.git("hash-object", "src/app.py")
    assert work.contents() != first.contents_id


# --- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "since", ["HEAD", "main", "-c", "--output=x", "abc", "A" * 40, "0" * 39, "0" * 40 + "\n"]
)
def test_a_commit_has_to_be_a_whole_id(work: Work, since: str):
    with pytest.raises(InvalidValueError):
        work.state(since=since)


def test_a_commit_that_is_not_here_is_compared_with_head_instead(work: Work):
    work.write("README.md", "edited\n")

    state = work.state(since="0123456789" * 4)

    assert state.base == state.head
    assert set(state.changed) == {"README.md"}


def test_comparing_with_a_blob_compares_with_head(work: Work):
    state = work.state(since=work.git("rev-parse", "HEAD:README.md"))

    assert state.base == state.head


def test_a_damaged_repository_is_named_with_what_git_says(work: Work):
    found = work.found()
    (work.root / ".git" / "index").write_bytes(b"no index")

    with pytest.raises(GitFailedError, match="index"):
        git.read_state(found)


def test_a_missing_tree_is_named(work: Work):
    found, tree = work.found(), work.git("rev-parse", "HEAD:src")
    work.write("src/app.py", "edited\n")
    (work.root / ".git" / "objects" / tree[:2] / tree[2:]).unlink()

    with pytest.raises(GitFailedError):
        git.read_state(found)


# --- anything that happens ------------------------------------------------------------------------

CONTENTS = st.sampled_from(
    [
        b"",
        b"one\n",
        b"two\n",
        b"one\r\ntwo\r\n",
        b"\0\1",
        b"$Id$\n",
        "größer\n".encode(),
        b"\xff\xfe",
    ]
)
STEPS = st.one_of(
    st.tuples(st.just("write"), st.sampled_from([*NAMES, *OWN_NAMES]), CONTENTS),
    st.tuples(st.just("delete"), st.sampled_from(NAMES), st.none()),
    st.tuples(st.just("link"), st.sampled_from(NAMES), CONTENTS),
    st.tuples(st.just("mode"), st.sampled_from(NAMES), st.none()),
    st.tuples(st.just("touch"), st.sampled_from(NAMES), st.none()),
    st.tuples(st.just("add"), st.none(), st.none()),
    st.tuples(st.just("commit"), st.none(), st.none()),
    st.tuples(st.just("switch"), st.sampled_from([b"one", b"two"]), st.none()),
)


def take_step(work: Work, what: str, name: bytes, data: bytes) -> None:
    place = work.place(name or b"")
    if what in ("write", "link") and os.path.lexists(place):
        os.remove(place)
    if what == "write":
        work.write(name, data)
    elif what == "link":
        os.makedirs(os.path.dirname(place), exist_ok=True)
        os.symlink(data.replace(b"\0", b"0") or b"x", place)
    elif what == "add":
        work.git("add", "--all")
    elif what == "commit":
        work.git("commit", "--quiet", "--allow-empty", "-am", "step")
    elif what == "switch":
        work.git("switch", "--quiet", "-C", name.decode(), check=False)
    elif os.path.lexists(place):
        {
            "delete": os.remove,
            "mode": flip_mode,
            "touch": lambda path: os.utime(path, (9, 9), follow_symlinks=False),
        }[what](place)


def flip_mode(place: bytes) -> None:
    if not os.path.islink(place):
        os.chmod(place, 0o755 if os.stat(place).st_mode & 0o111 == 0 else 0o644)


def test_the_contents_id_equals_the_tree_git_writes_after_any_steps(scale: Callable[[int], int]):
    """Edits, links, modes, additions, commits and branches in any order, against git's own index
    and trees.
    """

    @hypothesis.settings(max_examples=scale(300))
    @hypothesis.given(
        steps=st.lists(STEPS, max_size=12), attributes=st.sampled_from(["", "* text=auto\n"])
    )
    def holds(steps: list[tuple[str, bytes, bytes]], attributes: str) -> None:
        with tempfile.TemporaryDirectory() as folder:
            work = make(Path(folder) / "work")
            work.write(".gitattributes", attributes)
            first = work.commit()
            for step in steps:
                take_step(work, *step)
            expected = work.slow_contents()
            assert work.state().contents_id == expected
            assert work.state(since=first).contents_id == expected

    holds()


def test_the_changed_files_equal_those_of_git_diff(scale: Callable[[int], int]):
    """The names against `git diff`, which looks into every file."""

    @hypothesis.settings(max_examples=scale(200))
    @hypothesis.given(steps=st.lists(STEPS, max_size=12))
    def holds(steps: list[tuple[str, bytes, bytes]]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            work = make(Path(folder) / "work")
            first = work.commit()
            for step in steps:
                take_step(work, *step)
            listed = work.git("diff", "--name-only", "--no-renames", "-z", first).split("\0")[:-1]
            assert set(work.state(since=first, without=()).changed) == set(listed)
            assert set(work.state(since=first).changed) == {
                name for name in listed if not name.startswith(OWN)
            }

    holds()


def test_of_very_many_uncommitted_files_the_first_are_read(tmp_path: Path):
    work = make_filled(tmp_path / "work")
    for number in range(10):
        work.write(f"many/{number}.txt", "one\n")
    head = work.commit()
    for number in range(10):
        work.write(f"many/{number}.txt", "two\n")

    assert list_uncommitted(work.found(), head, 3) == [f"many/{number}.txt" for number in range(3)]
    assert len(list_uncommitted(work.found(), head)) == 10
