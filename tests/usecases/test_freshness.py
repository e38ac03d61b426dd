"""The basis of a publication, and how a reader's own checkout compares with it."""

import os
import socket
from pathlib import Path

import pytest

from holdfast.ground import git_blobs
from holdfast.team.model import Basis
from holdfast.usecases.freshness import compare_all, compare_basis, make_basis
from tests.ground.repositories import Work, clone, make, make_filled
from tests.rig.git_starts import started

__all__ = ["started"]

APP, PLAN = "src/app.py", "docs/plan.md"


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return make_filled(tmp_path / "work")


def read_blob(work: Work, path: str) -> str:
    """git's own answer, as it would be committed."""
    return work.git("hash-object", "--", path)


def compare(work: Work, basis: Basis, *files: str) -> list[str]:
    return list(compare_basis(str(work.root), basis, files).files.values())


# --- the basis ------------------------------------------------------------------------------------


def test_a_basis_is_the_head_and_gits_id_of_each_file_as_it_is_now(work: Work):
    work.write(APP, "print('two')\n")
    work.write("new.py", "new = 1\n")

    basis = make_basis(str(work.root), [APP, PLAN, "new.py", APP])

    assert basis.head == work.git("rev-parse", "HEAD")
    assert basis.files == {path: read_blob(work, path) for path in (APP, PLAN, "new.py")}
    assert basis.files[PLAN] == work.git("rev-parse", f"HEAD:{PLAN}")


def test_it_is_the_same_from_a_folder_below(work: Work):
    assert make_basis(str(work.root / "src"), [APP]) == make_basis(str(work.root), [APP])


@pytest.mark.parametrize("data", [b"a\r\nb\r\n", b"\x00\x01\x02", "ä".encode("latin-1")])
def test_what_git_stores_in_another_form_has_that_forms_id(work: Work, data: bytes):
    work.write(".gitattributes", "*.txt text\n*.latin working-tree-encoding=latin-1\n")
    work.write("a.txt", data)
    work.write("a.latin", b"\xe4\n")
    work.commit()

    basis = make_basis(str(work.root), ["a.txt", "a.latin"])

    assert basis.files["a.txt"] == work.git("rev-parse", "HEAD:a.txt")
    assert basis.files["a.latin"] == work.git("rev-parse", "HEAD:a.latin")


def test_what_is_no_file_of_the_checkout_has_no_id(work: Work, tmp_path: Path):
    (tmp_path / "outside.txt").write_text("secret\n")
    (work.root / "link.txt").symlink_to(tmp_path / "outside.txt")
    (work.root / "folder").symlink_to(tmp_path)
    (work.root / "own").symlink_to("README.md")
    os.mkfifo(work.root / "pipe")
    plain = ["link.txt", "folder/outside.txt", "own", "pipe", "src", "gone.py", "gone/a.py"]
    hostile = ["../outside.txt", str(work.root / APP), ".git/config", "src/../README.md", ""]
    hostile += ["a\x00b", "src//app.py/", "\ud800", "x/.GIT/config", "-n" * 300]

    basis = make_basis(str(work.root), [*plain, *hostile])

    assert set(basis.files) == {*plain, *hostile}
    assert set(basis.files.values()) == {None}


def test_a_socket_has_no_id(disk_path: Path):
    """A path of a socket is short."""
    work = make(disk_path / "w")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(work.root / "s"))
        assert make_basis(str(work.root), ["s"]).files == {"s": None}


def test_a_file_that_is_larger_than_is_read_has_no_id(work: Work, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(git_blobs, "READ_BYTES", 5)

    assert make_basis(str(work.root), [APP, PLAN]).files[PLAN] is not None
    assert make_basis(str(work.root), [APP]).files == {APP: None}


def test_all_files_together_have_a_limit(work: Work):
    reader = git_blobs.BlobReader(str(work.root), most_bytes=6)

    found = [reader.read(path, "sha1").id for path in (PLAN, APP, PLAN)]

    assert found == [read_blob(work, PLAN), None, read_blob(work, PLAN)]


def test_no_more_files_are_named_than_may_be_published(work: Work):
    assert len(make_basis(str(work.root), [f"{number}.py" for number in range(150)]).files) == 100


def test_without_a_commit_there_is_no_head(tmp_path: Path):
    work = make(tmp_path / "empty")
    work.write("a.py", "a = 1\n")

    basis = make_basis(str(work.root), ["a.py"])

    assert basis == Basis(None, {"a.py": read_blob(work, "a.py")})


def test_without_a_repository_there_is_nothing(tmp_path: Path):
    (tmp_path / "a.py").write_text("a = 1\n")

    assert make_basis(str(tmp_path), ["a.py"]) == Basis(None, {"a.py": None})


def test_a_repository_of_longer_hashes_has_longer_ids(tmp_path: Path):
    work = make_filled(tmp_path / "long", "--object-format=sha256")

    basis = make_basis(str(work.root), [APP])

    assert basis.files[APP] == work.git("rev-parse", f"HEAD:{APP}")
    assert len(basis.files[APP] or "") == 64
    assert compare(work, basis, APP) == ["same"]


def test_no_filter_of_a_repository_runs(work: Work, tmp_path: Path):
    trace = tmp_path / "ran"
    work.write(".gitattributes", "*.bin filter=evil\n")
    work.git("config", "filter.evil.clean", f"touch {trace}; cat")
    work.write("a.bin", b"\x00one")

    basis = make_basis(str(work.root), ["a.bin"])
    compare(work, Basis(None, {"a.bin": "0" * 40}), "a.bin")

    assert basis.files["a.bin"]
    assert not trace.exists()


# --- comparing ------------------------------------------------------------------------------------


def test_each_file_is_the_same_or_not_or_missing_here(work: Work, tmp_path: Path):
    reader = clone(work, tmp_path / "reader")
    work.write("new.py", "new = 1\n")
    work.write(APP, "print('two')\n")
    basis = make_basis(str(work.root), [APP, PLAN, "new.py"])

    found = compare_basis(str(reader.root), basis, [APP, PLAN, "new.py", "unnamed.py"])

    assert found.files == {
        APP: "differs",
        PLAN: "same",
        "new.py": "missing here",
        "unnamed.py": "unknown",
    }
    assert found.head == "same"


def test_line_ends_of_the_reader_make_no_difference(work: Work, tmp_path: Path):
    work.write(".gitattributes", "*.txt text\n")
    work.write("a.txt", "one\ntwo\n")
    work.commit()
    basis = make_basis(str(work.root), ["a.txt"])
    reader = clone(work, tmp_path / "reader")
    reader.write("a.txt", b"one\r\ntwo\r\n")

    assert compare(reader, basis, "a.txt") == ["same"]
    reader.write("a.txt", b"one\r\nthree\r\n")
    assert compare(reader, basis, "a.txt") == ["differs"]


POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 3\n"


@pytest.mark.parametrize("smudged", [b"\x00one", b"one\n"])
@pytest.mark.parametrize("attributes", [".gitattributes", "data/.gitattributes"])
def test_a_pointer_and_what_its_filter_makes_of_it_are_not_compared(
    work: Work, tmp_path: Path, attributes: str, smudged: bytes
):
    work.write(attributes, "*.bin filter=lfs -text\n")
    work.write("data/a.bin", POINTER)
    work.write("data/plain.txt", "one\n")
    work.commit()
    reader = clone(work, tmp_path / "reader")
    pointers = make_basis(str(work.root), ["data/a.bin", "data/plain.txt"])
    reader.write("data/a.bin", smudged)
    reader.write("data/plain.txt", "two\n")
    contents = make_basis(str(reader.root), ["data/a.bin"])

    assert compare(reader, pointers, "data/a.bin", "data/plain.txt") == ["unknown", "differs"]
    assert compare(work, contents, "data/a.bin") == ["unknown"]
    assert compare(work, pointers, "data/a.bin") == ["same"]
    assert compare(reader, contents, "data/a.bin") == ["same"]


def test_what_a_sparse_checkout_leaves_out_is_compared_with_its_index(work: Work, tmp_path: Path):
    work.write("web/a.ts", "1\n")
    work.write("web/b.ts", "1\n")
    work.commit()
    reader = clone(work, tmp_path / "reader")
    reader.git("sparse-checkout", "set", "src")
    work.write("web/b.ts", "2\n")
    work.write("web/c.ts", "1\n")
    (reader.root / APP).unlink()
    odd = ["a\x00b", "\ud800", "n" * 300, "../a.ts", ":(glob)web/*"]
    named = [APP, "web/a.ts", "web/b.ts", "web/c.ts"]
    basis = make_basis(str(work.root), named)
    asked = Basis(None, {**basis.files, **dict.fromkeys(odd, "a" * 40)})

    assert compare(reader, asked, *named) == ["missing here", "same", "differs", "missing here"]
    assert {"same", "differs"}.isdisjoint(compare(reader, asked, *odd))
    assert compare(reader, asked, *odd, "web/a.ts")[-1] == "same"


def test_what_another_person_sent_leads_nowhere(work: Work, tmp_path: Path):
    (tmp_path / "outside.txt").write_text("secret\n")
    (work.root / "link.txt").symlink_to(tmp_path / "outside.txt")
    os.mkfifo(work.root / "pipe")
    real = read_blob(work, APP)
    paths = ["../outside.txt", "link.txt", "pipe", str(work.root / APP), ".git/config", "--help"]
    files = dict.fromkeys(paths, real)

    states = compare(work, Basis("--help", files), *paths)

    assert states == ["unknown"] * 5 + ["missing here"]


@pytest.mark.parametrize("blob", [None, "", "abc", "--stdin", "A" * 40, "z" * 40, "a" * 41])
def test_what_is_no_id_is_not_compared(work: Work, blob: str | None):
    assert compare(work, Basis(None, {APP: blob}), APP) == ["unknown"]


def test_without_a_basis_or_a_checkout_nothing_is_compared(work: Work, tmp_path: Path):
    basis = make_basis(str(work.root), [APP])

    assert compare_basis(str(work.root), None, [APP]).files == {APP: "unknown"}
    assert compare_basis(None, basis, [APP]).files == {APP: "unknown"}
    assert compare_basis(str(tmp_path), basis, [APP]).files == {APP: "unknown"}
    assert (
        compare_basis(None, basis, [str(number) for number in range(500)]).count("unknown") == 100
    )


def test_where_the_publishers_commit_is_seen_from_here(work: Work, tmp_path: Path):
    reader = clone(work, tmp_path / "reader")
    first = make_basis(str(work.root), [])
    work.commit("second")
    second = make_basis(str(work.root), [])

    assert compare_basis(str(reader.root), first, []).head == "same"
    assert compare_basis(str(reader.root), second, []).head == "unknown here"
    reader.git("fetch", "--quiet")
    assert compare_basis(str(reader.root), second, []).head == "ahead"
    assert compare_basis(str(work.root), first, []).head == "behind"
    reader.commit("another")
    assert compare_basis(str(reader.root), second, []).head == "diverged"


def test_before_the_first_commit_nothing_is_known_of_others(tmp_path: Path):
    work = make(tmp_path / "empty")

    assert compare_basis(str(work.root), Basis("a" * 40, {}), []).head == "unknown here"


def test_in_a_shallow_clone_another_line_of_work_is_not_guessed(work: Work, tmp_path: Path):
    for number in range(3):
        work.commit(f"later {number}")
    first = work.git("rev-list", "--max-parents=0", "HEAD")
    work.git("branch", "old", first)
    shallow = clone(work, tmp_path / "shallow", "--depth=1", "--no-single-branch")

    found = compare_basis(str(shallow.root), Basis(first, {}), [])

    assert found.head == "unknown here"


def test_ten_contexts_are_compared_without_starting_git(work: Work, started: list[str]):
    basis = make_basis(str(work.root), [APP, PLAN])
    other = Basis("a" * 40, {APP: "b" * 40, PLAN: basis.files[PLAN]})
    started.clear()

    found = compare_all(str(work.root), [(basis, [APP, PLAN]), (other, [APP, PLAN])] * 5)

    assert started == []
    assert [each.head for each in found] == ["same", "unknown here"] * 5
    assert list(found[0].files.values()) == ["same", "same"]
    assert list(found[1].files.values()) == ["differs", "same"]


def test_for_files_that_may_be_stored_otherwise_git_is_asked_once_for_all(
    work: Work, started: list[str]
):
    work.write("a.bin", b"\x00one")
    work.write("b.bin", b"\x00two")
    basis = Basis(None, {"a.bin": "a" * 40, "b.bin": "b" * 40})
    compare(work, basis, "a.bin")  # what belongs to the repository itself is read before
    started.clear()

    found = compare_all(str(work.root), [(basis, ["a.bin", "b.bin"])] * 10)

    assert [name for name in started if name == "hash-object"] == ["hash-object"]
    assert len(started) <= 4
    assert all(list(each.files.values()) == ["differs", "differs"] for each in found)


def test_in_a_linked_worktree_its_own_files_are_compared(work: Work, tmp_path: Path):
    basis = make_basis(str(work.root), [APP])
    work.git("worktree", "add", "--quiet", str(tmp_path / "linked"), "-b", "other")
    linked = Work(tmp_path / "linked")
    assert compare(linked, basis, APP) == ["same"]
    linked.write(APP, "print('three')\n")

    assert compare(linked, basis, APP) == ["differs"]
    assert make_basis(str(linked.root), [APP]).files[APP] == read_blob(linked, APP)
