"""What scratchpads say to whoever continues. Pure.

The known names have a place of their own in a bundle; a value of another type than expected is
shown as well as it can be, because a note in the wrong form is still a note. What one session noted
stays until another records the same field: a short session in between takes nothing away.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from holdfast.bundles.model import LIST_READ, WorkingNotes
from holdfast.bundles.quoting import quote
from holdfast.ground import light_json as json
from holdfast.ground.frozen import dataclass, replace
from holdfast.sessions.rules import HANDOFF, NEXT_STEPS, NOTED_FIELDS, NOTED_NAMES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime
    from typing import Any

    from holdfast.sessions.model import SessionNotes

VALUE_CHARS = 1_000
DECIDED = ("decided", "decisions")  # where decisions stand, by phase
STEP_NAMES = {"current_task", "blockers", *NEXT_STEPS}
OTHER_CHARS = 4_000  # of a value without a place of its own, which gets one line


@dataclass(frozen=True)
class NotedList:
    """The entries of a list that are read, and how many more it has."""

    texts: tuple[str, ...] = ()
    unread: int = 0

    def __add__(self, other: NotedList) -> NotedList:
        return NotedList(self.texts + other.texts, self.unread + other.unread)


def read_notes(
    found: Sequence[SessionNotes], *, own_id: str | None = None, branch: str | None = None
) -> WorkingNotes:
    """Each field as the first of these sessions recorded it.

    What has no place of its own comes from the session itself and from the one before it.
    """
    noted = [notes for notes in found if notes.scratchpad]
    has_own = bool(noted) and noted[0].session_id == own_id
    nearest = noted[: 2 if has_own else 1]
    authors = _choose_authors(found)
    used = [notes for notes in noted if notes in nearest or notes in authors.values()]
    chosen = _collect_others(nearest) | _collect_fields(authors)
    read = replace(read_scratchpad(chosen, _name_source(used)), noted_at=_find_oldest_step(authors))
    handed_on_by = authors.get((HANDOFF,))
    if branch and handed_on_by and handed_on_by.git_branch not in (None, branch):
        return _mark_decisions(read, str(handed_on_by.git_branch))
    return read


def _choose_authors(found: Sequence[SessionNotes]) -> dict[tuple[str, ...], SessionNotes]:
    """For each field the first session that recorded it, also one that cleared it."""
    authors: dict[tuple[str, ...], SessionNotes] = {}
    for names in NOTED_FIELDS:
        recorded = [notes for notes in found if notes.has_recorded(names)]
        if recorded:
            authors[names] = recorded[0]
    return authors


def _find_oldest_step(authors: Mapping[tuple[str, ...], SessionNotes]) -> datetime | None:
    """When that was noted which is to be done or blocks, where it says anything."""
    moments = [
        notes.updated_at
        for names, notes in authors.items()
        if STEP_NAMES.intersection(names) and any(notes.scratchpad.get(name) for name in names)
    ]
    return min(filter(None, moments), default=None)


def _collect_fields(authors: Mapping[tuple[str, ...], SessionNotes]) -> dict[str, Any]:
    return {
        name: notes.scratchpad[name]
        for names, notes in authors.items()
        for name in names
        if name in notes.scratchpad
    }


def _collect_others(nearest: Sequence[SessionNotes]) -> dict[str, Any]:
    others: dict[str, Any] = {}
    for notes in nearest:
        for name, value in notes.scratchpad.items():
            if name not in NOTED_NAMES:
                others.setdefault(name, value)
    return others


def _name_source(used: Sequence[SessionNotes]) -> str:
    if not used:
        return ""
    scratchpads = "scratchpads" if used[1:] else "scratchpad"
    return f"{scratchpads} of {', '.join(notes.session_id for notes in used)}"


def _mark_decisions(read: WorkingNotes, branch: str) -> WorkingNotes:
    """What was decided on another branch is not decided here."""
    marked = [f"decided on {branch}: {text}" for text in read.decisions]
    unread = {name: count for name, count in read.unread.items() if name not in DECIDED}
    unread["notes"] = read.unread.get("notes", 0) + read.unread.get(DECIDED[0], 0)
    return replace(read, decisions=(), others=(*marked, *read.others), unread=unread)


def read_scratchpad(scratchpad: Mapping[str, Any], source: str) -> WorkingNotes:
    handoff = scratchpad.get(HANDOFF)
    given = handoff if isinstance(handoff, Mapping) else {}
    steps = sum((_read_list(scratchpad.get(name)) for name in NEXT_STEPS), NotedList())
    blockers = _read_list(scratchpad.get("blockers"))
    in_progress = _read_list(scratchpad.get("files_in_progress"))
    files = _read_list(scratchpad.get("spec_file")) + _read_list(given.get("artifacts_created"))
    decisions = _read_list(given.get("key_decisions"))
    others = _list_others(scratchpad, handoff)
    unread = {
        "next": steps.unread,
        "blocked": blockers.unread,
        "files": in_progress.unread + files.unread,
        **dict.fromkeys(DECIDED, decisions.unread),
        "notes": others.unread,
    }
    return WorkingNotes(
        source=source,
        task=" · ".join(_read_list(scratchpad.get("current_task")).texts),
        next_steps=steps.texts,
        blockers=blockers.texts,
        in_progress=in_progress.texts,
        files=files.texts,
        decisions=decisions.texts,
        others=others.texts,
        unread={section: count for section, count in unread.items() if count},
    )


def _list_others(scratchpad: Mapping[str, Any], handoff: Any) -> NotedList:
    """What has no place of its own, as `name: value`."""
    others = {name: value for name, value in scratchpad.items() if name not in NOTED_NAMES}
    if isinstance(handoff, Mapping):
        rest = {**handoff}
        for name in ("artifacts_created", "key_decisions"):
            rest.pop(name, None)
        others |= rest
    elif handoff:
        others[HANDOFF] = handoff
    found = []
    for name, value in list(others.items())[:LIST_READ]:
        text = ", ".join(_read_list(value).texts)
        if text:
            found.append(f"{name}: {text[:OTHER_CHARS]}")
    return NotedList(tuple(found), max(0, len(others) - LIST_READ))


def _read_list(value: Any) -> NotedList:
    """The entries of a list; anything else is one entry. What says nothing is no entry."""
    entries = value if isinstance(value, list) else [value]
    texts = [_write(entry) for entry in entries[:LIST_READ]]
    said = [text for text in texts if quote(text, VALUE_CHARS)]
    return NotedList(tuple(said), max(0, len(entries) - LIST_READ))


def _write(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value.strip()[:VALUE_CHARS]
    return json.dumps(value, ensure_ascii=False)[:VALUE_CHARS]
