"""git's ids of the files of a working tree as they are now, whichever are named.

The names may come from another person: each is walked step by step through no link, devices and
pipes are refused, and so is what is git's own. A file is read once, and all together have a limit.
What git may store in another form (other line ends, an encoding) is asked of git, by whoever needs
to be sure, for all of these files at once. What a filter would make of a file (Git LFS) is never
known: none is run.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import accumulate

from holdfast.errors import HoldfastError
from holdfast.ground.confined import ConfinedRoot
from holdfast.ground.errors import FileMissingError
from holdfast.ground.git_files import (
    PATHS_AT_ONCE,
    READ_BYTES,
    Difference,
    is_stored_as_it_is,
    quote_path,
    read_current,
)
from holdfast.ground.git_process import text
from holdfast.ground.git_repository import Repository
from holdfast.ground.git_tree import hash_object
from holdfast.ground.light_typing import NamedTuple

TOTAL_BYTES = 64 << 20
ATTRIBUTES, ATTRIBUTE_BYTES = ".gitattributes", 1 << 20
NO_FILTER = (b"unspecified", b"unset")
OWN = ".git"
LEFT_OUT = "S"  # as git marks it
_FILE = b"100644"


class FoundBlob(NamedTuple):
    """`id` is None where there is no regular file that may be read, and `is_sure` False where git
    may store other bytes than these.
    """

    id: str | None = None
    is_missing: bool = False
    is_sure: bool = True


MISSING, REFUSED = FoundBlob(is_missing=True), FoundBlob()


class BlobReader:
    """Of one working tree, at one moment: each file is looked at once."""

    def __init__(self, root: str, most_bytes: int = TOTAL_BYTES):
        self.root = ConfinedRoot(root)
        self.bytes_left = most_bytes
        self.found: dict[tuple[str, str], FoundBlob] = {}
        self.filtering: dict[str, bool] = {}

    def read(self, path: str, kind: str) -> FoundBlob:
        """The id of a file's bytes as they are; a kind is `sha1` or `sha256`."""
        if (path, kind) not in self.found:
            self.found[path, kind] = self._read(path, kind)
        return self.found[path, kind]

    def _read(self, path: str, kind: str) -> FoundBlob:
        if not is_name_of_file(path):
            return REFUSED
        try:
            data = self.root.read(path, max_bytes=min(READ_BYTES, self.bytes_left)).data
        except FileMissingError:
            return MISSING
        except HoldfastError:
            return REFUSED
        self.bytes_left -= len(data)
        blob = hash_object("blob", data, kind).hex()
        return FoundBlob(blob, is_sure=is_stored_as_it_is(data))

    def may_be_filtered(self, path: str) -> bool:
        """Whether attributes in a folder above it name a filter; for which files, git knows."""
        folders = ["", *accumulate(f"{step}/" for step in path.split("/")[:-1])]
        return any(self._names_filter(folder) for folder in folders)

    def _names_filter(self, folder: str) -> bool:
        if folder not in self.filtering:
            self.filtering[folder] = b"filter" in self._read_attributes(folder)
        return self.filtering[folder]

    def _read_attributes(self, folder: str) -> bytes:
        try:
            return self.root.read(folder + ATTRIBUTES, max_bytes=ATTRIBUTE_BYTES).data
        except HoldfastError:
            return b""


def is_name_of_file(path: object) -> bool:
    """Whether it may be one in a working tree, by its name from the root."""
    if not isinstance(path, str) or os.path.isabs(path):
        return False
    return OWN not in [step.casefold() for step in path.split("/")]


def hash_as_stored(repository: Repository, paths: Sequence[str]) -> dict[str, str]:
    """What git would store of files that were read; it is started once for all of them."""
    names = [path.encode("utf-8", "surrogateescape") for path in paths]
    looked_at = [Difference(name, "M", None, None, _FILE) for name in names]
    now = read_current(repository.git, looked_at, repository.hash_kind)
    return {text(name): entry.id.hex() for name, entry in now.items() if entry}


def find_left_out(repository: Repository, paths: Sequence[str]) -> dict[str, str]:
    """The ids that the index has of files which a sparse checkout leaves out."""
    found = {}
    for start in range(0, len(paths), PATHS_AT_ONCE):
        some = paths[start : start + PATHS_AT_ONCE]
        listed = repository.git.ask("ls-files", "-z", "-s", "-t", "--", *some)
        for row in text(listed).split("\0")[:-1]:
            facts, _, path = row.partition("\t")
            tag, _, blob, _ = facts.split(" ")
            if tag == LEFT_OUT:
                found[path] = blob
    return found


def find_filtered(repository: Repository, paths: Sequence[str]) -> set[str]:
    """Those that git would store as a filter makes them."""
    found = set()
    with repository.git.start("check-attr", "--stdin", "filter", talks=True) as asking:
        for path in paths:
            asking.say(quote_path(path.encode("utf-8", "surrogateescape")) + b"\n")
            if asking.hear_line().rpartition(b": ")[2] not in NO_FILTER:
                found.add(path)
    return found
