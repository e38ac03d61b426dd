"""Trees are hashed as git hashes them; what whole repositories make of it is in test_git_state."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.ground.git_tree import (
    FOLDER,
    Tree,
    TreeEntry,
    compute_tree_id,
    format_tree,
    hash_object,
    list_outermost,
    parse_tree,
)

BLOB = b"100644"
EMPTY = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
NAMES = st.sampled_from([b"a", b"a.b", b"a-b", b"ab", b"b", b"\xff", b"line\nbreak"])
PATHS = st.lists(NAMES, min_size=1, max_size=4).map(b"/".join)


def blob(data: bytes) -> TreeEntry:
    return TreeEntry(BLOB, hash_object("blob", data, "sha1"))


def nothing(ids: list[bytes]) -> list[Tree]:
    raise AssertionError(f"no tree has to be read, {ids} were asked for")


def build_tree(files: dict[bytes, TreeEntry]) -> bytes:
    return compute_tree_id(None, files, [], nothing, "sha1")


class Store:
    """Trees by their ids, made the simple way."""

    def __init__(self) -> None:
        self.trees: dict[bytes, Tree] = {}

    def add(self, files: dict[bytes, TreeEntry]) -> bytes:
        tree: Tree = {path: entry for path, entry in files.items() if b"/" not in path}
        for folder in {path.partition(b"/")[0] for path in files if b"/" in path}:
            inner = {
                path[len(folder) + 1 :]: each
                for path, each in files.items()
                if path.startswith(folder + b"/")
            }
            tree[folder] = TreeEntry(FOLDER, self.add(inner))
        found = hash_object("tree", format_tree(tree), "sha1")
        self.trees[found] = tree
        return found

    def read(self, ids: list[bytes]) -> list[Tree]:
        return [dict(self.trees[tree_id]) for tree_id in ids]


def possible(files: dict[bytes, TreeEntry]) -> dict[bytes, TreeEntry]:
    """Without files that lie below another file."""
    return {
        path: each
        for path, each in files.items()
        if not any(path.startswith(other + b"/") for other in files)
    }


def test_trees_and_blobs_have_the_ids_that_git_gives_them():
    assert build_tree({}).hex() == EMPTY
    assert (
        hash_object("blob", b"hello\n", "sha1").hex() == "ce013625030ba8dba906f756967f9e9ca394464a"
    )
    assert len(hash_object("tree", b"", "sha256")) == hashlib.sha256().digest_size


def test_a_folder_is_sorted_as_if_its_name_ended_with_a_slash():
    entry = blob(b"x")
    written = format_tree(
        {b"a": TreeEntry(FOLDER, entry.id), b"a.b": entry, b"a-b": entry, b"a0": entry}
    )

    assert list(parse_tree(written, "sha1")) == [b"a-b", b"a.b", b"a", b"a0"]


@given(
    st.dictionaries(NAMES, st.binary(min_size=20, max_size=20)),
    st.sampled_from([BLOB, FOLDER, b"120000"]),
)
def test_a_tree_comes_back_as_it_was_written(ids: dict[bytes, bytes], mode: bytes):
    tree = {name: TreeEntry(mode, each) for name, each in ids.items()}

    assert parse_tree(format_tree(tree), "sha1") == tree


FILES = st.dictionaries(PATHS, st.binary(max_size=3).map(blob), max_size=8).map(possible)


@given(FILES, FILES, st.lists(PATHS, max_size=3))
def test_changes_lead_to_the_tree_that_was_built_from_nothing(
    old: dict, new: dict, own: list[bytes]
):
    """From any state to any other, with any paths left out."""
    store = Store()
    root = store.add(old)
    changes = {path: new.get(path) for path in {*old, *new} if old.get(path) != new.get(path)}
    kept = {
        path: each
        for path, each in new.items()
        if not any(path == o or path.startswith(o + b"/") for o in own)
    }

    assert compute_tree_id(root, changes, own, store.read, "sha1") == Store().add(kept)


def test_only_folders_on_the_way_are_read():
    store = Store()
    root = store.add({b"a/b/c": blob(b"1"), b"x/y/z": blob(b"2"), b"x/w": blob(b"3")})
    asked: list[bytes] = []

    def read(ids: list[bytes]) -> list[Tree]:
        asked.extend(ids)
        return store.read(ids)

    compute_tree_id(root, {b"x/w": blob(b"4")}, [b"data/context"], read, "sha1")

    assert asked == [root, store.trees[root][b"x"].id]


@pytest.mark.parametrize(
    ("paths", "left"),
    [
        ([b"a", b"a/b", b"a/b/c"], [b"a"]),
        ([b"a", b"a-b", b"ab"], [b"a", b"a-b", b"ab"]),
        ([b"a/b", b"a/b"], [b"a/b"]),
        ([], []),
    ],
)
def test_a_path_inside_another_is_left_out_with_it(paths: list[bytes], left: list[bytes]):
    assert list_outermost(paths) == left
