"""What a scratchpad says to whoever continues. Pure.

The known names have a place of their own in a bundle; a value of another type than expected is
shown as well as it can be, because a note in the wrong form is still a note.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from holdfast.bundles.model import WorkingNotes

MOST = 20  # entries of a list, and names that are not known
VALUE_CHARS = 1_000
NEXT = ("next_steps", "next_step", "next_actions", "next_action", "next", "todo", "todos")
HANDOFF = "handoff_context"
KNOWN = ("current_task", "blockers", "files_in_progress", "spec_file", HANDOFF, *NEXT)


def read_scratchpad(scratchpad: Mapping[str, Any], source: str) -> WorkingNotes:
    handoff = scratchpad.get(HANDOFF)
    given = handoff if isinstance(handoff, Mapping) else {}
    return WorkingNotes(
        source=source,
        task=" · ".join(_list_texts(scratchpad.get("current_task"))),
        next_steps=tuple(text for name in NEXT for text in _list_texts(scratchpad.get(name))),
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
    others = {name: value for name, value in scratchpad.items() if name not in KNOWN}
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
