"""How stale a summary is, in words: the same ones in a bundle, in a terminal and on a page."""

from __future__ import annotations

from holdfast.ground.text import plural
from holdfast.workstreams.model import Staleness

EDITED = "the summary was edited without a checkpoint of its own"


def describe_staleness(staleness: Staleness) -> str:
    """What makes it stale, to stand behind a mark or a heading of the caller."""
    if "files" not in staleness.reasons:
        return EDITED
    return describe_changed(len(staleness.changed), staleness.noted)


def describe_changed(changed: int, noted: int) -> str:
    return f"{describe_noted(changed, noted)} changed" if noted else "no file is noted here"


def describe_noted(changed: int, noted: int) -> str:
    """So many of the noted files."""
    if not noted:
        return "no noted file"
    files = plural(noted, "file")
    if changed == noted:
        return f"the {files} noted here" if noted == 1 else f"all {files} noted here"
    return f"{changed:,} of the {files} noted here" if changed else f"none of the {files} noted here"


def describe_others(staleness: Staleness) -> str:
    """What else changed; nothing where nothing did."""
    if staleness.others is None:
        return "How many other files changed is not known here."
    if not staleness.others:
        return ""
    return f"{plural(staleness.others, 'other file')} changed; none is noted here."
