"""Making the index of the stale notes in the memory that one client loads for a folder.

It holds names only, of paths and symbols: a client is not given back what it loads itself.
"""

from __future__ import annotations

import os

from holdfast.bundles.quoting import quote
from holdfast.ground import canonical
from holdfast.ground.worktree import find_head
from holdfast.notices import stale, store
from holdfast.notices.model import STALE
from holdfast.usecases.client_memory import check_notes_of
from holdfast.workstreams.errors import NoRepositoryError
from holdfast.workstreams.note_judging import list_told_names, split_symbol
from holdfast.workstreams.note_text import PATH, SYMBOL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

    from holdfast.notices.model import NoticeIndex
    from holdfast.notices.store import IndexFile
    from holdfast.workstreams.note_judging import CheckedName, CheckedNote

NAME_CHARS, PLACE_CHARS, WHY_CHARS = 100, 60, 140
AGAIN_SECONDS = 600.0  # after a look that took too long, whatever changes meanwhile
MOST_STALE = 1_000


def make_index(
    file: IndexFile, worktree: str, folder: str, client: str, created: Collection[str]
) -> NoticeIndex:
    """Make and keep it. Where that fails, an empty one stands for it for a while."""
    file.save([], {}, [], seconds=AGAIN_SECONDS, is_settled=True)
    _, of_head = find_head(worktree)
    before = store.read_stamps(of_head)
    try:
        paths, notes = check_notes_of(client, folder, os.environ, created)
    except NoRepositoryError:
        paths, notes = [], []
    # Of files that were read already: one that changed so shortly before is looked at again.
    stamps = [*before, *store.read_stamps(paths)]
    described = [_describe(note, worktree) for note in notes if note.is_stale]
    entries = [entry for entry in described if entry["names"]][:MOST_STALE]
    return file.keep(entries, stale.list_lookups, stamps)


def _describe(note: CheckedNote, worktree: str) -> dict[str, Any]:
    inside = os.path.relpath(note.file, worktree)
    if inside.startswith(".."):
        inside = f"{note.title}, {os.path.basename(note.file)}"
    name = canonical.sha256(f"{note.file}\0{note.note.text}".encode("utf-8", "replace")).hex()[:16]
    return {
        "identity": f"note {name}",
        "id": f"{quote(inside, PLACE_CHARS)}:{note.note.first}",
        "kind": STALE,
        "file": inside,
        "names": [_describe_name(each) for each in list_told_names(note)],
    }


def _describe_name(name: CheckedName) -> dict[str, str]:
    """`text` is what is told of it."""
    term = quote(name.text, NAME_CHARS)
    path = name.paths[0] if name.paths else ""
    is_path = name.kind == PATH
    return {
        "term": term,
        "text": f"{term}: {quote(name.why, WHY_CHARS)}",
        "gone": path if is_path else "",
        "now": name.now if is_path else "",
        "was_in": "" if is_path else path,
        "symbol": _find_lost(name) if name.kind == SYMBOL else "",
    }


def _find_lost(name: CheckedName) -> str:
    """A symbol up to the part of it that is lost, joined by dots."""
    parts = split_symbol(name.text)
    lost = name.why.partition(" ")[0]
    return ".".join(parts[: len(parts) - parts[::-1].index(lost)])
