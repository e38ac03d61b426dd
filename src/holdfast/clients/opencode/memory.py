"""Which memory OpenCode loads for a folder: AGENTS.md, or CLAUDE.md where there is none, and the
files that its settings name as instructions.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from holdfast.clients.memory_files import (
    MemoryPlace,
    MemorySource,
    find_json,
    find_scope,
    list_folders_up,
)

FOLLOWS_IMPORTS = False
NAMES = ("AGENTS.md", "CLAUDE.md", "CONTEXT.md")  # the first that is found anywhere counts
SETTINGS = ("opencode.json", "opencode.jsonc")
MOST_INSTRUCTIONS = 20


def list_memory(place: MemoryPlace) -> Iterator[MemorySource]:
    base = find_folder(place)
    of_user = [os.path.join(base, "AGENTS.md")]
    if not place.environment.get("OPENCODE_DISABLE_CLAUDE_CODE_PROMPT"):
        of_user.append(os.path.join(place.user_folder, ".claude", "CLAUDE.md"))
    chosen = next(filter(os.path.lexists, of_user), of_user[0])
    title = f"{os.path.basename(chosen)} of the user"
    yield MemorySource(chosen, title, find_scope(os.path.dirname(chosen), place.user_folder))
    folders = list_folders_up(place.folder, place.worktree)
    for path in _choose(folders):
        yield MemorySource(path, os.path.basename(path), place.worktree)
    for path in _list_instructions(base):
        yield MemorySource(path, "OpenCode's instructions", find_scope(base, place.user_folder))
    for path in _list_instructions(place.worktree):
        yield MemorySource(path, "OpenCode's instructions", place.worktree)


def find_folder(place: MemoryPlace) -> str:
    moved = place.environment.get("XDG_CONFIG_HOME")
    return os.path.join(moved or os.path.join(place.user_folder, ".config"), "opencode")


def _choose(folders: list[str]) -> list[str]:
    for name in NAMES:
        paths = [os.path.join(folder, name) for folder in folders]
        found = [path for path in paths if os.path.lexists(path)]
        if found:
            return found
    return []


def _list_instructions(folder: str) -> list[str]:
    """Named one by one; a pattern is not followed, and an address is not asked for."""
    paths: list[str] = []
    for name in SETTINGS:
        named = find_json(os.path.join(folder, name), "instructions").get("instructions")
        texts = [text for text in named if isinstance(text, str)] if isinstance(named, list) else []
        plain = [text for text in texts if "://" not in text and not any(c in text for c in "*?[{")]
        paths += [os.path.join(folder, text) for text in plain]
    return paths[:MOST_INSTRUCTIONS]
