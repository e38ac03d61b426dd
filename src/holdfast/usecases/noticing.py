"""Telling a client's model what was decided about exactly this, at a prompt or with an edit, and
which note of its own memory is stale about what it edits.

This is the path of hooks that an agent waits for. It costs a look at an index that was made before;
only where notes, memory files, settings or HEAD have changed since is it made again, within a
limit.
"""

from __future__ import annotations

import os

from holdfast.clients.contract import PROMPT
from holdfast.ground import files
from holdfast.ground.worktree import find_head
from holdfast.notices.model import STALE
from holdfast.usecases.capture import FLAG, may_share
from holdfast.usecases.location import locate_worktree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from typing import Any

    from holdfast.clients.contract import HookEvent, HookMoment
    from holdfast.ground.settings import Settings
    from holdfast.notices.model import Edit, Match, NoticeIndex
    from holdfast.notices.store import IndexFile

    Look = Callable[[NoticeIndex], list[Match]]
    MakeIndex = Callable[[IndexFile, str], NoticeIndex | None]  # of a working tree
    # Of a working tree, for a folder and a client, as it was before these files were made.
    MakeStaleIndex = Callable[[IndexFile, str, str, str, Collection[str]], NoticeIndex | None]

FILE_BYTES = 200_000
ADDED_LINES = 20_000
PROMPT_CHARS = 16_000  # of a prompt that are looked at
MOVES = ("HOME", "_DIR")  # how the variables end with which a client keeps its files elsewhere


def make_notice(
    settings: Settings,
    moment: HookMoment,
    event: HookEvent | None,
    make_index: MakeIndex,
    make_stale_index: MakeStaleIndex,
) -> str:
    """What the model is told now; empty where nothing concerns it, or it was told before."""
    from holdfast.notices.store import ToldFile

    client, origin = moment.client, moment.origin
    worktree = locate_worktree(origin.cwd)
    if worktree is None or not os.path.isdir(worktree):
        return ""
    edits = []
    if moment.kind != PROMPT:
        edits = list_edits(moment.payload, origin.cwd, worktree)
    look = _make_look(moment, event, edits)
    if look is None:
        return ""
    found = []
    if moment.kind == PROMPT or may_share(settings.home):
        file = open_index(settings, worktree)
        found = _find(look, file, lambda: make_index(file, worktree))
    if edits:
        found += _find_stale(settings, moment, edits, worktree, make_stale_index)
    if not found:
        return ""
    told = ToldFile(settings.home, client.NAME, origin.native_id)
    matches = told.leave_out_told(found)
    if not matches:
        return ""
    return _tell(told, matches, {"worktree": worktree, "hook": moment.event_name})


def _find(look: Look, file: IndexFile, make: Callable[[], NoticeIndex | None]) -> list[Match]:
    found = _look_up(look, file.find())
    if found is None:
        found = _look_up(look, make())
    return found or []


def _look_up(look: Look, index: NoticeIndex | None) -> list[Match] | None:
    """None where there is no index, or one of which a line cannot be read."""
    try:
        return look(index) if index else None
    except (ValueError, KeyError, TypeError, IndexError):
        return None


def _tell(told: Any, matches: list[Match], facts: dict[str, Any]) -> str:
    import time

    from holdfast.notices.wording import write_notice

    text, shown = write_notice(matches, time.gmtime().tm_year)
    if not told.claim(shown, {**facts, "chars": len(text)}):
        return ""
    return text


def open_index(settings: Settings, worktree: str) -> IndexFile:
    """By what it depends on and is not a file of."""
    from holdfast.notices.store import IndexFile

    head, _ = find_head(worktree)
    flag = os.environ.get(FLAG, "")
    who = (settings.database, settings.workspace, settings.developer)
    return IndexFile(settings.home, worktree, head, flag, *who)


# --- stale notes ----------------------------------------------------------------------------------


def _find_stale(
    settings: Settings,
    moment: HookMoment,
    edits: Sequence[Edit],
    worktree: str,
    make_stale_index: MakeStaleIndex,
) -> list[Match]:
    client, folder = moment.client.NAME, moment.origin.cwd
    created = [edit.path for edit in edits if edit.is_first]
    file = _open_stale_index(settings, worktree, folder, client)
    found = _find(
        lambda index: _match_stale(edits, index),
        file,
        lambda: make_stale_index(file, worktree, folder, client, created),
    )
    return [match for match in found if _is_still_so(match.entry, worktree, created)]


def _open_stale_index(settings: Settings, worktree: str, folder: str, client: str) -> IndexFile:
    """It depends neither on the flag nor on the store: memory files belong to the client."""
    from holdfast.notices.store import IndexFile

    head, _ = find_head(worktree)
    moved = [f"{name}={value}" for name, value in os.environ.items() if name.endswith(MOVES)]
    return IndexFile(settings.home, worktree, head, STALE, folder, client, *sorted(moved))


def _match_stale(edits: Sequence[Edit], index: NoticeIndex) -> list[Match]:
    concerned = [edit for edit in edits if index.may_be_about(edit)]
    if not concerned:
        return []
    from holdfast.notices import stale

    return stale.match_stale(concerned, index)


def _is_still_so(name: Mapping[str, Any], worktree: str, created: Sequence[str]) -> bool:
    """A file may have come back, or moved on, since the index was made."""
    gone, now = name["gone"], name["now"]
    if now and not os.path.lexists(os.path.join(worktree, now)):
        return False
    is_made_now = any(f"{path}/".startswith(f"{gone}/") for path in created)
    return not gone or is_made_now or not os.path.lexists(os.path.join(worktree, gone))


# --- what happens now -----------------------------------------------------------------------------


def _make_look(moment: HookMoment, event: HookEvent | None, edits: Sequence[Edit]) -> Look | None:
    """None where there is nothing to look at: only a person's own words are a prompt."""
    if moment.kind == PROMPT:
        is_typed = event is not None and event.role == "user" and not event.parts
        if event is None or not is_typed:
            return None
        prompt = event.content
        return lambda index: _match_prompt(prompt, index)
    if not edits:
        return None
    return lambda index: _match_edits(edits, index)


def _match_prompt(prompt: str, index: NoticeIndex) -> list[Match]:
    if not index.may_concern(prompt[:PROMPT_CHARS]):
        return []
    from holdfast.notices import matching

    return matching.match_prompt(prompt, index)


def _match_edits(edits: Sequence[Edit], index: NoticeIndex) -> list[Match]:
    """A list of dependencies is always looked at where there is a rule about new ones."""
    has_rule = bool(index.find("d", "*"))
    concerned = [
        edit
        for edit in edits
        if index.find("p", edit.path)
        or index.may_concern("\n".join(edit.added))
        or (has_rule and edit.is_list)
    ]
    if not concerned:
        return []
    from holdfast.notices import matching

    return matching.match_edits(concerned, index)


def list_edits(payload: Mapping[str, Any], cwd: str, worktree: str) -> list[Edit]:
    """Of the files in this working tree."""
    from holdfast.clients.edits import list_edits as list_raw_edits
    from holdfast.notices.model import Edit

    edits = []
    for path, old, new in list_raw_edits(payload):
        inside = find_inside(path, cwd, worktree)
        if inside is None:
            continue
        before = _read_file(os.path.join(worktree, inside)) if old is None else old
        old_lines = before.split("\n")[:ADDED_LINES]
        new_lines = new.split("\n")[:ADDED_LINES]
        added = frozenset(new_lines).difference(old_lines)
        removed = frozenset(old_lines).difference(new_lines)
        gone = "\n".join(line for line in old_lines if line in removed)
        edits.append(Edit(inside, new, added, gone, is_first=not before))
    return edits


def find_inside(path: str, cwd: str, worktree: str) -> str | None:
    """From the top of the tree; None for what is elsewhere, or in git's own folder."""
    try:
        real = os.path.realpath(os.path.join(cwd, path))
    except (OSError, ValueError):
        return None
    root = worktree.rstrip(os.sep) + os.sep
    if not real.startswith(root):
        return None
    inside = real[len(root) :].replace(os.sep, "/")
    return None if inside.split("/")[0] == ".git" else inside


def _read_file(path: str) -> str:
    """The beginning of a file as it is; nothing where there is none."""
    try:
        fd = files.open_regular(path, os.O_RDONLY)
        try:
            return os.read(fd, FILE_BYTES).decode("utf-8", "replace")
        finally:
            os.close(fd)
    except Exception:  # missing, or not a file
        return ""
