"""TH9: a path opens a file below its root, or nothing at all."""

import errno
import os
import socket
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import HoldfastError, InvalidValueError, StoreReadOnlyError
from holdfast.ground import files
from holdfast.ground.confined import ConfinedRoot, find_root, hash_of
from holdfast.ground.errors import FileChangedError, FileMissingError, PathOutsideError
from tests.rig.swapping import swapping

MOST = 1000


@pytest.fixture
def root(tmp_path: Path) -> ConfinedRoot:
    folder = tmp_path / "root"
    (folder / "inner" / "deep").mkdir(parents=True)
    (folder / "a.txt").write_text("inside")
    (folder / "inner" / "deep" / "b.txt").write_text("deep inside")
    (tmp_path / "root-evil").mkdir()
    (tmp_path / "root-evil" / "a.txt").write_text("secret")
    (tmp_path / "secret.txt").write_text("secret")
    return ConfinedRoot(str(folder))


# --- what opens -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", ["a.txt", "//a.txt".removeprefix("//"), "inner/deep/b.txt", "inner//deep/b.txt"]
)
def test_a_file_below_the_root_is_read(root: ConfinedRoot, path: str):
    assert root.read(path, max_bytes=MOST).data.endswith(b"inside")
    assert root.read(f"{root.folder}/{path}", max_bytes=MOST).data.endswith(b"inside")


def test_a_root_may_be_named_through_a_link(tmp_path: Path, root: ConfinedRoot):
    """The person who starts the server chooses the folder; on some systems /tmp
    itself is a link.
    """
    (tmp_path / "link").symlink_to(root.folder)
    named = ConfinedRoot(str(tmp_path / "link"))

    assert named.read(str(tmp_path / "link" / "a.txt"), max_bytes=MOST).data == b"inside"
    assert named.read(f"{root.folder}/a.txt", max_bytes=MOST).data == b"inside"


def test_the_whole_disk_may_be_a_root(root: ConfinedRoot):
    assert ConfinedRoot("/").read(f"{root.folder}/a.txt", max_bytes=MOST).data == b"inside"


def test_the_innermost_root_answers(root: ConfinedRoot):
    inner = ConfinedRoot(f"{root.folder}/inner")

    assert find_root([root, inner], f"{inner.folder}/deep/b.txt") is inner
    assert find_root([root, inner], f"{root.folder}/a.txt") is root
    assert find_root([root, inner], "a.txt") is root


def test_a_folder_below_the_root_is_one_that_no_link_leads_to(tmp_path: Path, root: ConfinedRoot):
    (tmp_path / "root" / "link").symlink_to("inner")

    own = (root.folder, "inner", "inner/", "inner/deep")
    others = ("a.txt", "missing", "link", "link/deep", "../root-evil", str(tmp_path))
    assert all(root.has_folder(path) for path in own)
    assert not any(root.has_folder(path) for path in others)


# --- what does not --------------------------------------------------------------------------------

NASTY = [
    "",
    ".",
    "..",
    "/",
    "//",
    "a.txt/",
    "./a.txt",
    "../secret.txt",
    "inner/../a.txt",
    "inner/../../secret.txt",
    "inner/deep/../../../secret.txt",
    "/etc/passwd",
    "//etc/passwd",
    "/dev/zero",
    "/proc/self/environ",
    "{root}",
    "{root}/",
    "{root}-evil/a.txt",
    "{root}/../secret.txt",
    "{root}/../root-evil/a.txt",
    "{root}//../secret.txt",
    "a\x00.txt",
    "a.txt\x00",
    "\x00",
    "\ud800",
    "x" * 256,
    "x/" * 101 + "y",
    "/" + "y" * 5000,
    "é" * 128,
]


@pytest.mark.parametrize("path", NASTY, ids=lambda path: repr(path[:30]))
def test_a_path_that_may_lead_out_is_refused(root: ConfinedRoot, path: str):
    path = path.replace("{root}", root.folder)
    for act in (
        lambda: root.read(path, max_bytes=MOST),
        lambda: root.write(path, b"owned", base_hash=None, max_bytes=MOST),
        lambda: find_root([root], path).read(path, max_bytes=MOST),
    ):
        with pytest.raises(PathOutsideError) as refused:
            act()
        assert len(str(refused.value)) < 300
    assert (Path(root.folder).parent / "secret.txt").read_text() == "secret"


@pytest.mark.parametrize(
    "path",
    ["missing", "inner", "missing/a.txt", "a.txt/b", "~/a.txt", "%2e%2e/a", "..\\a", "...", "‥/a"],
)
def test_a_name_without_a_file_is_not_found(root: ConfinedRoot, path: str):
    """None of these means anything but itself here: no home, no percent codes, no backslashes."""
    with pytest.raises(FileMissingError):
        root.read(path, max_bytes=MOST)


def a_link(at: Path, to: Path) -> None:
    at.symlink_to(to)


def a_pipe(at: Path, to: Path) -> None:
    os.mkfifo(at)


def a_socket(at: Path, to: Path) -> None:
    with socket.socket(socket.AF_UNIX) as one:
        here = os.getcwd()
        os.chdir(at.parent)
        try:
            one.bind(at.name)
        finally:
            os.chdir(here)


@pytest.mark.parametrize("make", [a_link, a_pipe, a_socket])
def test_a_path_that_is_not_a_regular_file_is_refused_without_waiting(
    root: ConfinedRoot, make: Callable[[Path, Path], None]
):
    make(Path(root.folder) / "odd", Path(root.folder).parent / "secret.txt")

    with pytest.raises(PathOutsideError):
        root.read("odd", max_bytes=MOST)
    with pytest.raises(PathOutsideError):
        root.write("odd", b"owned", base_hash=None, max_bytes=MOST)
    assert (Path(root.folder).parent / "secret.txt").read_text() == "secret"


@pytest.mark.parametrize("target", ["..", "../root-evil", "inner", "/", "/etc", "loop"])
def test_no_step_of_a_path_goes_through_a_link(root: ConfinedRoot, target: str):
    (Path(root.folder) / "loop").symlink_to(target)

    with pytest.raises(PathOutsideError):
        root.read("loop/a.txt", max_bytes=MOST)


def test_a_device_below_a_root_is_refused():
    with pytest.raises(PathOutsideError):
        ConfinedRoot("/dev").read("zero", max_bytes=MOST)


def test_a_file_that_is_too_large_is_refused_before_it_is_read(root: ConfinedRoot):
    """Two gigabytes with nothing in them, and a file of /proc whose size is zero and whose content
    is not empty.
    """
    with open(f"{root.folder}/sparse", "wb") as file:
        file.truncate(2 << 30)

    with pytest.raises(InvalidValueError, match="larger than 1,000 bytes"):
        root.read("sparse", max_bytes=MOST)
    with pytest.raises(InvalidValueError, match="larger than 3 bytes"):
        ConfinedRoot("/proc").read("filesystems", max_bytes=3)


def test_a_root_that_is_gone_has_no_files(tmp_path: Path):
    with pytest.raises(FileMissingError):
        ConfinedRoot(str(tmp_path / "gone")).read("a.txt", max_bytes=MOST)


STEPS = st.sampled_from(
    [
        "..",
        ".",
        "",
        "a.txt",
        "inner",
        "deep",
        "b.txt",
        "out",
        "/",
        "root-evil",
        "secret.txt",
        "\x00",
        "~",
    ]
)


@given(steps=st.lists(st.one_of(STEPS, st.text(max_size=5)), max_size=8), absolute=st.booleans())
def test_every_file_that_can_be_read_lies_inside_the_root(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str], absolute: bool
):
    """Every path gives a file of the root or an error of ours, with a link to the outside beside
    them.
    """
    folder = tmp_path_factory.getbasetemp() / "whatever"
    if not folder.exists():
        (folder / "root" / "inner" / "deep").mkdir(parents=True)
        for inside in ("root/a.txt", "root/inner/a.txt", "root/inner/deep/b.txt"):
            (folder / inside).write_text("inside")
        (folder / "secret.txt").write_text("secret")
        (folder / "root" / "out").symlink_to(folder)
    root = ConfinedRoot(str(folder / "root"))
    path = "/".join([root.folder, *steps] if absolute else steps)

    with suppress(HoldfastError):
        assert root.read(path, max_bytes=MOST).data == b"inside"


# --- writing --------------------------------------------------------------------------------------


def test_a_file_is_replaced_whole_and_keeps_its_mode(root: ConfinedRoot):
    os.chmod(f"{root.folder}/a.txt", 0o755)
    base = root.read("a.txt", max_bytes=MOST)

    written = root.write("a.txt", b"new", base_hash=base.hash, max_bytes=MOST)

    assert root.read("a.txt", max_bytes=MOST) == written
    assert stat.S_IMODE(os.stat(f"{root.folder}/a.txt").st_mode) == 0o755
    assert sorted(os.listdir(root.folder)) == ["a.txt", "inner"]


def test_a_file_that_changed_meanwhile_is_kept(root: ConfinedRoot):
    base = root.read("a.txt", max_bytes=MOST)
    Path(root.folder, "a.txt").write_text("somebody else's")

    with pytest.raises(FileChangedError):
        root.write("a.txt", b"mine", base_hash=base.hash, max_bytes=MOST)
    assert Path(root.folder, "a.txt").read_text() == "somebody else's"
    assert root.write("a.txt", b"mine", base_hash=None, max_bytes=MOST).hash == hash_of(b"mine")


def test_a_new_file_is_not_made(root: ConfinedRoot):
    """An editor saves what it showed; to make files is more than it was allowed."""
    with pytest.raises(FileMissingError):
        root.write("new.txt", b"x", base_hash=None, max_bytes=MOST)


def test_too_much_is_not_written(root: ConfinedRoot):
    with pytest.raises(InvalidValueError):
        root.write("a.txt", b"x" * (MOST + 1), base_hash=None, max_bytes=MOST)


def test_a_second_name_of_a_file_keeps_its_content(tmp_path: Path, root: ConfinedRoot):
    """A hard link: the name is replaced, what it shared with the outside is not written to."""
    os.link(tmp_path / "secret.txt", f"{root.folder}/hard")

    root.write("hard", b"owned", base_hash=None, max_bytes=MOST)

    assert (tmp_path / "secret.txt").read_text() == "secret"


def test_a_disk_that_refuses_says_so_as_a_store_does(
    root: ConfinedRoot, monkeypatch: pytest.MonkeyPatch
):
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(files, "write_atomic_at", refuse)
    with pytest.raises(StoreReadOnlyError):
        root.write("a.txt", b"x", base_hash=None, max_bytes=MOST)
    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(StoreReadOnlyError):
        root.read("a.txt", max_bytes=MOST)


def test_a_name_that_the_disk_calls_too_long_is_refused(
    root: ConfinedRoot, monkeypatch: pytest.MonkeyPatch
):
    def refuse(*_: object, **__: object) -> int:
        raise OSError(errno.ENAMETOOLONG, "File name too long")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(PathOutsideError, match="longer than"):
        root.read("a.txt", max_bytes=MOST)


def test_a_folder_swapped_for_a_link_never_leads_out(
    tmp_path: Path, root: ConfinedRoot, scale: Callable[[int], int]
):
    """TS12: another process exchanges a folder and a link as fast as it can, while we read and
    write through its name.
    """
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "b.txt").write_text("secret")
    swapped = Path(root.folder, "swap")
    swapped.mkdir()
    (swapped / "b.txt").write_text("inside")

    with swapping(swapped, tmp_path / "outside"):
        for _ in range(scale(20_000)):
            for act in (
                lambda: root.read("swap/b.txt", max_bytes=MOST),
                lambda: root.write("swap/b.txt", b"inside", base_hash=None, max_bytes=MOST),
            ):
                with suppress(PathOutsideError, FileMissingError):
                    assert act().data == b"inside"

    assert (tmp_path / "outside" / "b.txt").read_text() == "secret"
    assert os.listdir(tmp_path / "outside") == ["b.txt"]
