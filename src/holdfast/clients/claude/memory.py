"""Which memory Claude Code loads for a folder.

Its own notes lie in a folder for each repository, which its linked working trees share. CLAUDE.md
is loaded of the person and of each folder from the root of the disk down; a folder without one may
have an AGENTS.md instead.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from holdfast.clients.claude import name_project
from holdfast.clients.memory_files import (
    MemoryPlace,
    MemorySource,
    find_json,
    find_scope,
    list_folders_up,
    list_notes_in,
)

FOLLOWS_IMPORTS = True
MEMORY = "Claude's memory"
FILES = ("CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md")
INSTEAD = ("AGENTS.md", ".claude/AGENTS.md")
FOLDER_CHARS = 200  # a longer name is cut, and a hash follows


def list_memory(place: MemoryPlace) -> Iterator[MemorySource]:
    base = find_folder(place)
    for folder in _list_memory_folders(place, base):
        for path in list_notes_in(folder):
            yield MemorySource(path, MEMORY, folder)
    scope = find_scope(base, place.user_folder)
    yield MemorySource(os.path.join(base, "CLAUDE.md"), "CLAUDE.md of the user", scope)
    for path in list_notes_in(os.path.join(base, "rules")):
        yield MemorySource(path, "Claude's rules of the user", scope)
    for folder in list_folders_up(place.folder, os.path.sep):
        yield from _list_in(folder, find_scope(folder, place.worktree))
    for path in list_notes_in(os.path.join(place.worktree, ".claude", "rules")):
        yield MemorySource(path, "Claude's rules", place.worktree)


def _list_in(folder: str, scope: str) -> Iterator[MemorySource]:
    paths = [os.path.join(folder, name) for name in FILES]
    if not any(map(os.path.lexists, paths[:2])):
        paths += [os.path.join(folder, name) for name in INSTEAD]
    for path in paths:
        yield MemorySource(path, os.path.basename(path), scope)


def find_folder(place: MemoryPlace) -> str:
    moved = place.environment.get("CLAUDE_CONFIG_DIR")
    return moved or os.path.join(place.user_folder, ".claude")


def _list_memory_folders(place: MemoryPlace, base: str) -> list[str]:
    """Where the person has chosen, else under the name of the repository; a long name is cut and
    has a hash behind it, so any folder that begins with it may be meant.
    """
    settings = find_json(os.path.join(base, "settings.json"), "autoMemoryDirectory")
    chosen = settings.get("autoMemoryDirectory")
    if isinstance(chosen, str) and chosen:
        return [os.path.join(place.user_folder, chosen.removeprefix("~/"))]
    name = name_project(place.main_worktree)
    projects = os.path.join(base, "projects")
    if len(name) <= FOLDER_CHARS:
        return [os.path.join(projects, name, "memory")]
    try:
        others = sorted(os.listdir(projects))
    except OSError:
        return []
    beginning = f"{name[:FOLDER_CHARS]}-"
    found = [other for other in others if other.startswith(beginning)]
    return [os.path.join(projects, other, "memory") for other in found]
