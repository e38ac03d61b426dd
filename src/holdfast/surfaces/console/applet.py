"""The text editor: which file it is, whether it is text, and whether it may be replaced."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence

from holdfast.errors import InvalidValueError, Refused, shown
from holdfast.ground.confined import ConfinedRoot, FileCopy, find_root, hash_of
from holdfast.ground.errors import FileChangedError, PathOutsideError
from holdfast.ground.frozen import dataclass
from holdfast.surfaces.console import links, texts

MOST_BYTES = 1 << 20
_SAVING = threading.Lock()  # of two saves at the same time, the second has to see the first


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
    root = find_shown_root(roots, path)
    copy = root.read(path, max_bytes=MOST_BYTES)
    return OpenFile(
        path=path,
        root=root.folder,
        hash=copy.hash,
        size=len(copy.data),
        text=texts.parse_text(copy.data),
    )


def save_file(roots: Sequence[ConfinedRoot], path: str, text: str, base_hash: str) -> FileCopy:
    """Replace a text by another, unless it is no longer the one that was shown."""
    if ".git" in path.split("/"):
        raise PathOutsideError(path, "belongs to git, which may execute it; it is read-only here")
    with _SAVING:
        root = find_shown_root(roots, path)
        return _save(root, path, text, base_hash)


def _check_replaceable(path: str, copy: FileCopy) -> None:
    """Saving replaces the file by a new one, which the system allows also for a read-only file.

    So a read-only file is refused here. A file of several names is refused too: the other names
    would keep the old text, and writing in place could leave half a text after a crash.
    """
    if not copy.is_writable:
        raise Refused(f"File {shown(path)} is read-only, so nothing was written. Make it writable.")
    if copy.names > 1:
        raise Refused(
            f"File {shown(path)} has {copy.names} names (hard links), and saving would part "
            "them, so nothing was written. Edit it with a program that writes in place."
        )


def _save(root: ConfinedRoot, path: str, text: str, base_hash: str) -> FileCopy:
    current = root.read(path, max_bytes=MOST_BYTES)
    _check_replaceable(path, current)
    if current.hash != base_hash:
        raise FileChangedError(path)
    before = texts.parse_text(current.data)
    if before is None or "\x00" in text:
        raise InvalidValueError("file", path, "is not a text file")
    try:
        data = before.apply_edit(text).encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidValueError("text", text[:40], "holds half a character") from None
    return root.write(path, data, base_hash=base_hash, max_bytes=MOST_BYTES)


def current_hash(roots: Sequence[ConfinedRoot], path: str) -> str:
    root = find_shown_root(roots, path)
    copy = root.read(path, max_bytes=MOST_BYTES)
    return hash_of(copy.data)


def find_shown_root(roots: Sequence[ConfinedRoot], path: str) -> ConfinedRoot:
    if not roots:
        raise PathOutsideError(
            path, "cannot be shown, because no folder was named when the server was started"
        )
    return find_root(roots, path)
