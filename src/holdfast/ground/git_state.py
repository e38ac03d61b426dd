"""What all tracked files hold right now, as one id, and which of them differ from a commit.

git knows the id of a commit's tree and which files differ from it; only those are read, hashed as
git would store them, and put in their places (`git_tree`). So the id depends on contents alone: the
same before and after a commit, on every branch, in every clone and working tree. Four things are
not seen: untracked files, files that git is set to assume unchanged or to leave out of a sparse
working tree (the index counts), and edits inside a submodule, of which only the checked-out commit
counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from holdfast.errors import InvalidValueError
from holdfast.ground.bounded_map import BoundedMap
from holdfast.ground.errors import GitFailedError
from holdfast.ground.frozen import dataclass
from holdfast.ground.git_files import Difference, parse_differences, read_current
from holdfast.ground.git_process import Running, text
from holdfast.ground.git_repository import Repository, check_commit, read_head
from holdfast.ground.git_tree import (
    Tree,
    TreeEntry,
    compute_tree_id,
    hash_object,
    is_left_out,
    parse_tree,
)

TREES_AT_ONCE = 200
TRIES = 5
EDITS_KEPT = 1_000
# What this process has looked up before. An id says what it holds, so none of it can become wrong.
TREES: BoundedMap[tuple[str, str], bytes] = BoundedMap(1_000)
CONTENTS: BoundedMap[tuple[object, ...], bytes] = BoundedMap(100)

_COMPARE = ("diff-index", "--raw", "-z", "--no-abbrev", "--no-renames", "--ignore-submodules=dirty")


@dataclass(frozen=True)
class FileChange:
    """A file that differs: git's letter (A, D, M, T), and its blobs; None where it is missing."""

    status: str
    old_blob: str | None
    new_blob: str | None


@dataclass(frozen=True)
class TreeState:
    """`base` is the commit that `changed` compares with: the wanted one if it exists, else HEAD."""

    head: str | None
    base: str | None
    contents_id: str
    changed: Mapping[str, FileChange]


class Comparison:
    """git compares with a commit, `since` or HEAD, while its caller does something else."""

    def __init__(self, repository: Repository, since: str | None = None):
        self.wanted = check_commit(since) if since else "HEAD"
        self.head_before = read_head(repository)
        self.running = repository.git.start(*_COMPARE, self.wanted, "--")

    def abandon(self) -> None:
        self.running.__exit__()


def read_state(
    repository: Repository,
    *,
    since: str | None = None,
    without: Iterable[str] = (),
    begun: Comparison | None = None,
) -> TreeState:
    """The state now, compared with the commit `since`, without the caller's own paths.

    `begun`: or since that comparison was begun, which is one with the same commit.
    """
    own = [_own_path(path) for path in without]
    for _ in range(TRIES):
        comparison = begun or Comparison(repository, since)
        if state := _read_once(repository, comparison, own):
            return state
        begun = None
    raise GitFailedError(repository.root, "HEAD moved again and again while it was read")


def _read_once(
    repository: Repository, comparison: Comparison, own: list[bytes]
) -> TreeState | None:
    """None when HEAD moved meanwhile, or a commit that was known before is gone.

    The comparison works while the objects are looked up.
    """
    git, kind = repository.git, repository.hash_kind
    wanted = comparison.wanted
    with comparison.running, Objects(repository) as objects:
        head, _ = objects.find_commit("HEAD")
        base, root = objects.find_commit(wanted)
        if base is None and wanted != "HEAD":
            return _read_once(repository, Comparison(repository), own)
        if base:
            answer = comparison.running.finish()
        else:
            empty_tree = hash_object("tree", b"", kind).hex()
            answer = git.run(*_COMPARE, empty_tree, "--")
        if answer.code and objects.forget(base):
            return None
        if answer.code or answer.is_cut:
            complaint = answer.complaint or "it found too many differences"
            raise GitFailedError(repository.root, complaint)
        head_now, _ = objects.find_commit("HEAD")
        if head_now != head or comparison.head_before not in (None, head):
            return None
        differences = parse_differences(answer.out)
        found = [each for each in differences if not is_left_out(each.path, own)]
        now = read_current(git, found, kind)
        edits = {each.path: now[each.path] for each in found if now[each.path] != each.old}
        contents = _find_contents(objects, root, edits, own)
    changed = [each for each in found if each.path in edits]
    changes = {text(each.path): _make_change(each, now[each.path]) for each in changed}
    return TreeState(head=head, base=base, contents_id=contents.hex(), changed=changes)


def list_uncommitted(
    repository: Repository, head: str | None, limit: int | None = None
) -> list[str]:
    """The tracked files that differ from the commit that is checked out; None: there is none yet.

    Where only their names matter, git is asked nothing else. `limit`: of so many that git takes for
    changed, the first.
    """
    base = head or hash_object("tree", b"", repository.hash_kind).hex()
    listed = repository.git.ask(*_COMPARE, base, "--")
    differences = parse_differences(listed, limit)
    now = read_current(repository.git, differences, repository.hash_kind)
    return sorted(text(each.path) for each in differences if now[each.path] != each.old)


def _find_contents(
    objects: Objects,
    root: bytes | None,
    edits: Mapping[bytes, TreeEntry | None],
    own: Sequence[bytes],
) -> bytes:
    """It follows from the tree and the edits, so the same ones are not looked up again."""
    repository = objects.repository
    key = (repository.common_dir, root, tuple(edits.items()), tuple(own))
    known = CONTENTS.find(key)
    if known:
        return known
    contents = compute_tree_id(
        root, changes=edits, without=own, read=objects.read_trees, kind=repository.hash_kind
    )
    if len(edits) <= EDITS_KEPT:
        CONTENTS.keep(key, contents)
    return contents


def _make_change(difference: Difference, now: TreeEntry | None) -> FileChange:
    return FileChange(difference.status, _find_blob(difference.old), _find_blob(now))


def _find_blob(entry: TreeEntry | None) -> str | None:
    if entry is None:
        return None
    return entry.id.hex()


def _own_path(path: str) -> bytes:
    name = path.strip("/").encode("utf-8", "surrogateescape")
    if not name:
        raise InvalidValueError("own path", path, "is not a path below the working tree")
    return name


# --- git's objects --------------------------------------------------------------------------------


class Objects:
    """Commits and trees by id. git is started only for those that are not known yet."""

    def __init__(self, repository: Repository):
        self.repository = repository
        self._running: Running | None = None
        self._asked: set[str] = set()

    def __enter__(self) -> Objects:
        return self

    def __exit__(self, *_: object) -> None:
        if self._running:
            self._running.__exit__()

    def find_commit(self, name: str) -> tuple[str | None, bytes | None]:
        """The id of a commit and of its tree; None if it is missing."""
        commit = read_head(self.repository) if name == "HEAD" else name
        known = commit and TREES.find((self.repository.common_dir, commit))
        if known:
            return commit, known
        found, tree = self._ask_for_commit(commit or name)
        if found and tree:
            self._asked.add(found)
            TREES.keep((self.repository.common_dir, found), tree)
        return found, tree

    def forget(self, commit: str | None) -> bool:
        """Whether a commit was only known from before: it may have been pruned since."""
        if commit is None or commit in self._asked:
            return False
        TREES.drop((self.repository.common_dir, commit))
        return True

    def read_trees(self, ids: list[bytes]) -> list[Tree]:
        trees: list[Tree] = []
        for start in range(0, len(ids), TREES_AT_ONCE):
            some = ids[start : start + TREES_AT_ONCE]
            request = "".join(f"{tree.hex()}\n" for tree in some)
            self._git.say(request.encode())
            trees += [parse_tree(self._hear_tree(), self.repository.hash_kind) for _ in some]
        return trees

    @property
    def _git(self) -> Running:
        if self._running is None:
            self._running = self.repository.git.start("cat-file", "--batch", talks=True)
        return self._running

    def _ask_for_commit(self, name: str) -> tuple[str | None, bytes | None]:
        """Its first line names its tree."""
        self._git.say(name.encode() + b"^{commit}\n")
        head = self._git.hear_line()
        if head.endswith(b" missing"):
            return None, None
        commit, _, size = head.decode().split(" ")
        first_line, _, _ = self._git.hear(int(size) + 1).partition(b"\n")
        tree = first_line.decode().removeprefix("tree ")
        return commit, bytes.fromhex(tree)

    def _hear_tree(self) -> bytes:
        head = self._git.hear_line()
        name, _, rest = head.decode().partition(" ")
        if not rest.startswith("tree "):
            raise GitFailedError(self.repository.root, f"tree {name} is missing")
        size = int(rest.removeprefix("tree "))
        data = self._git.hear(size + 1)  # and a line break after it
        return data[:size]
