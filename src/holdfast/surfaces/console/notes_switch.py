"""The switch of the notes in a repository: what a page offers, and where it offers nothing.

It changes the person's own settings. An environment variable of the server comes before these, and
a repository's own file can refuse what they allow, so there a button would change nothing.
"""

from __future__ import annotations

import os

from holdfast.ground.frozen import dataclass
from holdfast.ground.user_settings import load_user_settings
from holdfast.usecases import sharing
from holdfast.workstreams import flag
from holdfast.workstreams.errors import SharedContextOffError


@dataclass(frozen=True)
class NotesSwitch:
    """Whether the notes are on in the person's settings, and in which folder they are kept."""

    is_on: bool
    folder: str


def find_switch(home: str, *, is_on: bool) -> NotesSwitch | None:
    """None where the environment decides."""
    if os.environ.get(flag.NAME):
        return None
    return NotesSwitch(is_on, load_user_settings(home).context_folder)


def find_switch_where_off(home: str, error: SharedContextOffError) -> NotesSwitch | None:
    """Git is not started for it: which repository this is, is known only where it was needed."""
    if not error.refused:
        return find_switch(home, is_on=False)
    if error.repo and sharing.is_shared(home, error.repo):
        return find_switch(home, is_on=True)
    return None
