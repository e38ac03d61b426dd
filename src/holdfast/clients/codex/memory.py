"""Which memory Codex CLI loads for a folder: one AGENTS file of the person, one of each folder of
the repository down to where it is started, and what it has noted itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from holdfast.clients.memory_files import (
    MemoryPlace,
    MemorySource,
    find_scope,
    list_folders_up,
    list_notes_in,
)

FOLLOWS_IMPORTS = False
MEMORY = "Codex's memory"
NAMES = ("AGENTS.override.md", "AGENTS.md")  # the first of a folder counts
COLLECTED = "raw_memories.md"  # what its summaries are made from


def list_memory(place: MemoryPlace) -> Iterator[MemorySource]:
    base = place.environment.get("CODEX_HOME") or os.path.join(place.user_folder, ".codex")
    memories = os.path.join(base, "memories")
    for path in list_notes_in(memories):
        if os.path.basename(path) != COLLECTED:
            yield MemorySource(path, MEMORY, memories)
    scope = find_scope(base, place.user_folder)
    yield MemorySource(_choose(base), "AGENTS.md of the user", scope)
    for folder in list_folders_up(place.folder, place.worktree):
        path = _choose(folder)
        yield MemorySource(path, os.path.basename(path), place.worktree)


def _choose(folder: str) -> str:
    paths = [os.path.join(folder, name) for name in NAMES]
    return next(filter(os.path.lexists, paths), paths[-1])
