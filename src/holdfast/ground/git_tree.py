"""The id that git would give to a tree, with some files exchanged and others left out.

A tree's id is a hash over its entries, and a folder's entry is the id of its own tree. So two
states with the same contents have the same id, however they came about, and only the folders on the
way to a change have to be read and hashed anew: a repository of a hundred thousand files with one
edit costs three trees.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping

from holdfast.ground import canonical
from holdfast.ground.light_typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hashlib import _Hash
    from hashlib import sha1 as _own_sha1
else:
    try:  # CPython's own, as in `canonical`
        from _sha1 import sha1 as _own_sha1
    except ImportError:
        from hashlib import sha1 as _own_sha1

FOLDER = b"40000"
ID_BYTES = {"sha1": 20, "sha256": 32}


class TreeEntry(NamedTuple):
    """A file, a link, a folder or a submodule: how git writes its mode, and its id as bytes."""

    mode: bytes
    id: bytes


Tree = dict[bytes, TreeEntry]
ReadTrees = Callable[[list[bytes]], list[Tree]]


def compute_tree_id(
    root: bytes | None,
    changes: Mapping[bytes, TreeEntry | None],
    without: Iterable[bytes],
    read: ReadTrees,
    kind: str,
) -> bytes:
    """The id of the tree `root` (None: empty) after changes by path, where None removes a file."""
    own = list_outermost(without)
    seen = {path: entry for path, entry in changes.items() if not is_left_out(path, own)}
    edits = seen | dict.fromkeys(own)
    folders = _list_folders_above(edits)
    trees = _load(root, folders, read)
    for path, entry in edits.items():
        folder, _, name = path.rpartition(b"/")
        _set_entry(trees[folder], name, entry)
    for path in reversed(folders[1:]):
        folder, _, name = path.rpartition(b"/")
        _close_folder(trees[folder], name, trees[path], kind)
    return hash_object("tree", format_tree(trees[b""]), kind)


def list_outermost(paths: Iterable[bytes]) -> list[bytes]:
    """Without those that are inside another one."""
    found = set(paths)
    return sorted(path for path in found if not is_left_out(path, found - {path}))


def is_left_out(path: bytes, without: Iterable[bytes]) -> bool:
    return any(path == own or path.startswith(own + b"/") for own in without)


def hash_object(type_: str, data: bytes, kind: str) -> bytes:
    """As git counts it: a short head, then the bytes."""
    head = f"{type_} {len(data)}\0".encode()
    return _new_hash(kind, head + data).digest()


def _new_hash(kind: str, data: bytes) -> _Hash:
    if kind == "sha256":
        return canonical.new_sha256(data)
    make: Callable[..., _Hash] = getattr(sys.modules.get("hashlib"), "sha1", _own_sha1)
    return make(data, usedforsecurity=False)


def parse_tree(data: bytes, kind: str) -> Tree:
    size = ID_BYTES[kind]
    tree: Tree = {}
    at = 0
    while at < len(data):
        space = data.index(b" ", at)
        end = data.index(b"\0", space)
        mode = data[at:space]
        name = data[space + 1 : end]
        at = end + 1 + size
        tree[name] = TreeEntry(mode, data[end + 1 : at])
    return tree


def format_tree(tree: Tree) -> bytes:
    """In git's order, in which a folder's name ends with a slash."""

    def make_key(item: tuple[bytes, TreeEntry]) -> bytes:
        name, entry = item
        if entry.mode == FOLDER:
            return name + b"/"
        return name

    ordered = sorted(tree.items(), key=make_key)
    lines = [b"%b %b\0%b" % (entry.mode, name, entry.id) for name, entry in ordered]
    return b"".join(lines)


def _list_folders_above(paths: Iterable[bytes]) -> list[bytes]:
    """Every folder above one of the paths, the outer ones first."""
    found = {b""}
    for path in paths:
        folder = _find_outer(path)
        while folder not in found:
            found.add(folder)
            folder = _find_outer(folder)
    return sorted(found, key=_rank_folder)


def _find_outer(path: bytes) -> bytes:
    """The folder that a path is in; empty for the root."""
    folder, _, _ = path.rpartition(b"/")
    return folder


def _rank_folder(folder: bytes) -> tuple[int, bytes]:
    depth = folder.count(b"/")
    if folder:
        depth += 1
    return depth, folder


def _load(root: bytes | None, folders: list[bytes], read: ReadTrees) -> dict[bytes, Tree]:
    """The trees of these folders, level by level; a folder that does not exist yet is empty."""
    trees: dict[bytes, Tree] = {folder: {} for folder in folders}
    wanted: dict[bytes, bytes] = {}
    if root:
        wanted[b""] = root
    while wanted:
        read_now = read(list(wanted.values()))
        trees |= zip(wanted, read_now, strict=True)
        below = [path for path in folders if path and _find_outer(path) in wanted]
        found = {path: _find_folder(trees, path) for path in below}
        wanted = {path: tree_id for path, tree_id in found.items() if tree_id}
    return trees


def _find_folder(trees: Mapping[bytes, Tree], path: bytes) -> bytes | None:
    folder, _, name = path.rpartition(b"/")
    entry = trees[folder].get(name)
    if entry is None or entry.mode != FOLDER:
        return None
    return entry.id


def _set_entry(tree: Tree, name: bytes, entry: TreeEntry | None) -> None:
    if entry:
        tree[name] = entry
    else:
        tree.pop(name, None)


def _close_folder(above: Tree, name: bytes, tree: Tree, kind: str) -> None:
    """git knows no empty folder. A file that took its place stays."""
    if tree:
        tree_id = hash_object("tree", format_tree(tree), kind)
        above[name] = TreeEntry(FOLDER, tree_id)
    elif name in above and above[name].mode == FOLDER:
        del above[name]
