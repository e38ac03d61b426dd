"""What scratchpads say to whoever continues. Pure.

The known names have a place of their own in a bundle; a value of another type than expected is
shown as well as it can be, because a note in the wrong form is still a note. What one session noted
stays until another records the same field: a short session in between takes nothing away.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from holdfast.bundles.model import WorkingNotes
from holdfast.sessions.rules import HANDOFF, NEXT_STEPS, NOTED_FIELDS, NOTED_NAMES

if TYPE_CHECKING:
    from holdfast.sessions.model import SessionNotes

MOST = 20  # entries of a list, and names that are not known
VALUE_CHARS = 1_000


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
    read = read_scratchpad(chosen, _name_source(used))
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
    return replace(read, decisions=(), others=(*marked, *read.others))


def read_scratchpad(scratchpad: Mapping[str, Any], source: str) -> WorkingNotes:
    handoff = scratchpad.get(HANDOFF)
    given = handoff if isinstance(handoff, Mapping) else {}
    return WorkingNotes(
        source=source,
        task=" · ".join(_list_texts(scratchpad.get("current_task"))),
        next_steps=tuple(text for name in NEXT_STEPS for text in _list_texts(scratchpad.get(name))),
        blockers=tuple(_list_texts(scratchpad.get("blockers"))),
        in_progress=tuple(_list_texts(scratchpad.get("files_in_progress"))),
        files=(
            *_list_texts(scratchpad.get("spec_file")),
            *_list_texts(given.get("artifacts_created")),
        ),
        decisions=tuple(_list_texts(given.get("key_decisions"))),
        others=tuple(_list_others(scratchpad, handoff)),
    )


def _list_others(scratchpad: Mapping[str, Any], handoff: Any) -> list[str]:
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
    for name, value in list(others.items())[:MOST]:
        text = ", ".join(_list_texts(value))
        if text:
            found.append(f"{name}: {text}")
    return found


def _list_texts(value: Any) -> list[str]:
    """The entries of a list; anything else is one entry."""
    if value is None or value == "":
        return []
    entries = value if isinstance(value, list) else [value]
    texts = [_write(entry) for entry in entries[:MOST]]
    return [text for text in texts if text]


def _write(value: Any) -> str:
    if isinstance(value, str):
        return value[:VALUE_CHARS]
    return json.dumps(value, ensure_ascii=False)[:VALUE_CHARS]
