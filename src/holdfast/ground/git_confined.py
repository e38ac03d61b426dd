"""A repository reached through open folders, so that no name can lead git to another one.

git looks names up again and again: a folder that is exchanged for a link between two looks shows it
the files, and the commits, of any place on the machine. So git gets its own folder by descriptor,
and the files to compare as copies in a private folder, which were read by descriptor too.
"""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import NamedTuple

from holdfast.errors import HoldfastError
from holdfast.ground.confined import ConfinedRoot, FileCopy, OpenFolder
from holdfast.ground.errors import FileMissingError, GitFailedError
from holdfast.ground.frozen import dataclass
from holdfast.ground.git_files import Difference, parse_differences
from holdfast.ground.git_history import QUIET_DIFF, LineCount, count_lines, find_head
from holdfast.ground.git_links import exists, find_way_out, is_same_folder
from holdfast.ground.git_process import Git, name_open_folder, text
from holdfast.ground.git_repository import NO_REPOSITORY, check_commit
from holdfast.ground.git_tree import hash_object
from holdfast.ground.worktree import find_worktree

COPY_BYTES = 1 << 20
LINK_BYTES = 8 << 10
ATTRIBUTES = ".gitattributes"
_RAW = ("diff-index", "--raw", "-z", "--no-abbrev", "--no-renames", "--ignore-submodules=dirty")
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


class DiffText(NamedTuple):
    """A diff, perhaps only its first lines."""

    text: str
    is_cut: bool


@dataclass(frozen=True)
class OpenRepository:
    """`inside` is the path that was asked for, relative to the working tree, which is `tree`."""

    git: Git
    tree: OpenFolder
    inside: str
    folder: str
    head: str | None

    @property
    def base(self) -> str:
        """What there is to compare with: HEAD, or nothing at all before the first commit."""
        if self.head:
            return self.head
        return text(self.git.ask("hash-object", "-t", "tree", os.devnull)).strip()


@contextmanager
def open_repository(
    root: ConfinedRoot, steps: Sequence[str], opened: Sequence[OpenFolder]
) -> Iterator[OpenRepository | None]:
    """The innermost repository around the last open folder.

    Below the root `.git` has to be git's own folder, or a file whose repository names this working
    tree too; anything else would be a way to every repository of the machine. So would links and
    names of other folders inside of it. Above the root it is where the person who named the root
    has it.
    """
    with ExitStack() as closing:
        depths = [depth for depth, folder in enumerate(opened) if exists(folder.fd, ".git")]
        if depths:
            tree, folder = opened[depths[-1]], os.path.join(root.folder, *steps[: depths[-1]])
            inside = "/".join(steps[depths[-1] :])
        else:
            above = find_worktree(root.folder)
            tree, folder = OpenFolder(os.open(above, _FOLDER)), root.folder
            closing.callback(os.close, tree.fd)
            way_down = os.path.relpath(root.folder, above)
            inside = "/".join([way_down.replace(os.sep, "/"), *steps])
        git_dir = _open_git_dir(tree)
        if git_dir is None:
            yield None
            return
        closing.callback(os.close, git_dir)
        if depths:
            _check_contents(git_dir, folder)
        yield _read_repository(tree, git_dir, inside, folder)


def list_changes(repository: OpenRepository, base: str) -> list[Difference]:
    """What may differ from a commit, in `inside`; a file that was only touched is there too.

    git looks at the working tree itself, and might be led astray; so the names of its own index
    and commit are all that is taken from here.
    """
    git = Git(
        name_open_folder(repository.tree.fd),
        repository.git.settings,
        git_dir=repository.git.git_dir,
        inherited=(repository.tree.fd,),
    )
    below = [repository.inside] if repository.inside else []
    answer = git.run(*_RAW, check_commit(base), "--", *below)
    if answer.code or answer.is_cut:
        complaint = answer.complaint or "it found too many differences"
        raise GitFailedError(repository.folder, complaint)
    return parse_differences(answer.out)


def count_changes(
    repository: OpenRepository, base: str, changes: Sequence[Difference]
) -> dict[str, LineCount | None]:
    """The files that really differ, each with its lines; None for what cannot be copied."""
    paths = [text(change.path) for change in changes]
    copies = _copy_files(repository, paths)
    with _make_tree(repository, copies) as git:
        counts = count_lines(git, base, list(copies))
    found: dict[str, LineCount | None] = {}
    for path, change in zip(paths, changes, strict=True):
        if path not in copies:
            found[path] = None
        elif path in counts and not _is_same(change, copies[path]):
            found[path] = counts[path]
    return found


def diff_text(
    repository: OpenRepository, base: str, copy: FileCopy | None, *, max_bytes: int
) -> DiffText:
    """The diff from a commit to the copy, or to no file, cut at the end of a line."""
    command = ("diff-index", "-p", *QUIET_DIFF, check_commit(base), "--", repository.inside)
    with _make_tree(repository, {repository.inside: copy}) as git:
        answer = git.run(*command, most_bytes=max_bytes)
    if answer.code:
        raise GitFailedError(repository.folder, answer.complaint)
    lines = answer.out
    if answer.is_cut:
        end = lines.rfind(b"\n") + 1
        lines = lines[:end]
    return DiffText(text(lines), answer.is_cut)


def _is_same(change: Difference, copy: FileCopy | None) -> bool:
    """Of a binary file git counts no lines, and so not whether it differs."""
    if copy is None or change.old is None or change.mode != change.old.mode:
        return False
    kind = "sha256" if len(change.old.id) > 20 else "sha1"
    return hash_object("blob", copy.data, kind) == change.old.id


# --- finding it -----------------------------------------------------------------------------------


def _open_git_dir(tree: OpenFolder) -> int | None:
    try:
        return os.open(".git", _FOLDER | os.O_NOFOLLOW, dir_fd=tree.fd)
    except OSError as error:
        if error.errno != errno.ENOTDIR:
            return None
    return _follow_git_file(tree)


def _follow_git_file(tree: OpenFolder) -> int | None:
    """A linked working tree or a submodule has a file in the place of git's folder."""
    with suppress(OSError, HoldfastError):
        words = tree.read(".git", max_bytes=LINK_BYTES).data.strip()
        named = os.fsdecode(words.removeprefix(b"gitdir:").strip())
        git_dir = os.open(named, _FOLDER, dir_fd=tree.fd)
        if _leads_back(git_dir, tree):
            return git_dir
        os.close(git_dir)
    return None


def _leads_back(git_dir: int, tree: OpenFolder) -> bool:
    """Whether the repository says so itself: by its file `gitdir`, or by `core.worktree`."""
    with suppress(OSError, HoldfastError):
        back = OpenFolder(git_dir).read("gitdir", max_bytes=LINK_BYTES).data.rstrip(b"\n")
        parent = os.path.dirname(os.fsdecode(back))
        return is_same_folder(git_dir, parent, tree.fd)
    answer = Git("/", git_dir=git_dir).run("config", "--local", "core.worktree")
    place = text(answer.out).rstrip("\n")
    return bool(place) and is_same_folder(git_dir, place, tree.fd)


def _check_contents(git_dir: int, folder: str) -> None:
    try:
        way_out = find_way_out(git_dir)
    except FileNotFoundError:  # a folder that is only called so, as git says next
        return
    except OSError as error:
        raise GitFailedError(folder, str(error)) from None
    if way_out is not None:
        raise GitFailedError(folder, f"its contents are kept elsewhere ({way_out})")


def _read_repository(
    tree: OpenFolder, git_dir: int, inside: str, folder: str
) -> OpenRepository | None:
    _check_owner(tree, git_dir, folder)
    git = Git("/", git_dir=git_dir)
    answer = git.run("rev-parse", "--git-dir")
    if answer.code:
        if any(words in answer.complaint for words in NO_REPOSITORY):
            return None
        raise GitFailedError(folder, answer.complaint)
    git.settings = git.read_settings()
    found = OpenRepository(git, tree, inside, folder, head=None)
    return OpenRepository(git, tree, inside, folder, head=find_head(found))


def _check_owner(tree: OpenFolder, git_dir: int, folder: str) -> None:
    """git refuses another user's repository only where it has looked for it itself."""
    owners = {os.fstat(fd).st_uid for fd in (tree.fd, git_dir)}
    if owners != {os.geteuid()}:
        Git(folder).ask("rev-parse", "--git-dir")


# --- copies ---------------------------------------------------------------------------------------


def find_copy(folder: OpenFolder, path: str, max_bytes: int = COPY_BYTES) -> FileCopy | None:
    try:
        return folder.read(path, max_bytes=max_bytes)
    except FileMissingError:
        return None


def _copy_files(repository: OpenRepository, paths: Sequence[str]) -> dict[str, FileCopy | None]:
    """None for a missing file, nothing for one that is refused."""
    copies: dict[str, FileCopy | None] = {}
    for path in paths:
        with suppress(HoldfastError):
            copies[path] = find_copy(repository.tree, path)
    return copies


@contextmanager
def _make_tree(repository: OpenRepository, copies: Mapping[str, FileCopy | None]) -> Iterator[Git]:
    """git in a private working tree of these files, and of the attributes that apply to them."""
    attributes = {name for path in copies for name in _list_attributes(path)}
    all_copies = {**_copy_files(repository, sorted(attributes)), **copies}
    with tempfile.TemporaryDirectory(prefix="holdfast-") as folder:
        for path, copy in all_copies.items():
            if copy:
                _write_copy(os.path.join(folder, path), copy)
        yield Git(folder, repository.git.settings, git_dir=repository.git.git_dir)


def _list_attributes(path: str) -> list[str]:
    parents = path.split("/")[:-1]
    depths = range(len(parents) + 1)
    return ["/".join([*parents[:depth], ATTRIBUTES]) for depth in depths]


def _write_copy(path: str, copy: FileCopy) -> None:
    with suppress(NotADirectoryError, FileExistsError):  # a file that was a folder a moment ago
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "xb") as file:
            file.write(copy.data)
        os.chmod(path, copy.mode & 0o777 | 0o600)
