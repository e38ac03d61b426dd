"""The text editor behind the page: which file, is it text, and may this version of it be replaced."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.errors import FileChangedError, InvalidValueError, PathOutsideError
from holdfast.ground.confined import ConfinedRoot, FileCopy, find_root, hash_of
from holdfast.surfaces.console import links, texts

MOST_BYTES = 1 << 20
_SAVING = threading.Lock()  # two who save at once: the second has to see what the first has written


@dataclass(frozen=True)
class OpenFile:
    path: str
    root: str
    hash: str
    size: int
    text: texts.FileText | None

    @property
    def name(self) -> str:
        return os.path.basename(self.path)

    @property
    def below_root(self) -> str:
        return links.short_path(self.path, self.root)


def open_file(roots: Sequence[ConfinedRoot], path: str) -> OpenFile:
    root = root_of(roots, path)
    copy = root.read(path, max_bytes=MOST_BYTES)
    return OpenFile(path, root.folder, copy.hash, len(copy.data), texts.as_text(copy.data))


def save_file(roots: Sequence[ConfinedRoot], path: str, text: str, base_hash: str) -> FileCopy:
    """Replace a text by another, unless it is no longer the one that was shown."""
    if ".git" in path.split("/"):
        raise PathOutsideError(path, "belongs to git, which runs what stands there; it is only shown")
    with _SAVING:
        return _save(root_of(roots, path), path, text, base_hash)


def _save(root: ConfinedRoot, path: str, text: str, base_hash: str) -> FileCopy:
    current = root.read(path, max_bytes=MOST_BYTES)
    if current.hash != base_hash:
        raise FileChangedError(path)
    before = texts.as_text(current.data)
    if before is None or "\x00" in text:
        raise InvalidValueError("file", path, "is not a text file")
    try:
        data = before.edited(text).encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidValueError("text", text[:40], "holds half a character") from None
    return root.write(path, data, base_hash=base_hash, max_bytes=MOST_BYTES)


def current_hash(roots: Sequence[ConfinedRoot], path: str) -> str:
    return hash_of(root_of(roots, path).read(path, max_bytes=MOST_BYTES).data)


def root_of(roots: Sequence[ConfinedRoot], path: str) -> ConfinedRoot:
    if not roots:
        raise PathOutsideError(path, "cannot be shown, because no folder was named when the server was started")
    return find_root(roots, path)
