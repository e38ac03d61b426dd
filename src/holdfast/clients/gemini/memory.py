"""Which memory Gemini CLI loads for a folder: the context files of the person and of the
repository, which may have other names, and the private notes about the project.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from holdfast.clients.memory_files import (
    MemoryPlace,
    MemorySource,
    find_json,
    list_folders_up,
    list_notes_in,
)

FOLLOWS_IMPORTS = True
MEMORY = "Gemini's memory"
NAME = "GEMINI.md"
MOST_NAMES = 5


def list_memory(place: MemoryPlace) -> Iterator[MemorySource]:
    above = place.environment.get("GEMINI_CLI_HOME") or place.user_folder
    base = os.path.join(above, ".gemini")
    for folder in _list_memory_folders(place, base):
        for path in list_notes_in(folder):
            yield MemorySource(path, MEMORY, folder)
    names = _list_names(place, base)
    for name in names:
        yield MemorySource(os.path.join(base, name), f"{name} of the user", above)
    for folder in list_folders_up(place.folder, place.worktree):
        for name in names:
            yield MemorySource(os.path.join(folder, name), name, place.worktree)


def _list_names(place: MemoryPlace, base: str) -> list[str]:
    """The usual name is always one of them."""
    names: list[str] = []
    for folder in (base, os.path.join(place.worktree, ".gemini")):
        context = find_json(os.path.join(folder, "settings.json"), "fileName").get("context")
        chosen = context.get("fileName") if isinstance(context, dict) else None
        for name in chosen if isinstance(chosen, list) else [chosen]:
            if isinstance(name, str) and name and os.path.basename(name) == name:
                names.append(name)
    return list(dict.fromkeys([*names[:MOST_NAMES], NAME]))


def _list_memory_folders(place: MemoryPlace, base: str) -> list[str]:
    """By the name that the client has given to the project."""
    projects = find_json(os.path.join(base, "projects.json"), place.worktree).get("projects")
    name = projects.get(place.worktree) if isinstance(projects, dict) else None
    if not isinstance(name, str) or not name or os.path.basename(name) != name:
        return []
    return [os.path.join(base, "tmp", name, "memory")]
