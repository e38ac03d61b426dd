"""When a developer last looked at the coordination screen, and what was shown then.

It is kept in the data folder, for each developer: so it is the same in every tab, in a private
window and after a restart, and a page that is opened for the first time today still says what came
overnight. Only hashes of what was shown are kept: nothing that another developer withdraws stays
behind here.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime

from holdfast.errors import HoldfastError
from holdfast.ground import clock, files
from holdfast.ground.frozen import dataclass
from holdfast.ground.settings import Settings
from holdfast.surfaces.console import showing
from holdfast.surfaces.console.claim_view import hash_text

MOST_SEEN = 300
MOST_BYTES = 64_000
KEY_CHARS = 16


@dataclass(frozen=True)
class Look:
    """`at` is None for a developer who never looked."""

    at: datetime | None = None
    seen: frozenset[str] = frozenset()


def make_key(*parts: str) -> str:
    """By which it is known again what was shown."""
    return hash_text("\0".join(parts))[:KEY_CHARS]


def find_look(settings: Settings) -> Look:
    """One that cannot be read was never taken: then everything is shown as new."""
    with suppress(HoldfastError, ValueError):
        data = files.find_own_bytes(_find_path(settings), max_bytes=MOST_BYTES)
        if data is not None:
            return _parse(json.loads(data))
    return Look()


def keep_look(settings: Settings, at: datetime, seen: Iterable[str]) -> Look:
    """A tab that was opened before another one does not turn the time back."""
    before = find_look(settings)
    if before.at is not None and at < before.at:
        return before
    now = clock.now()
    look = Look(min(at, now), frozenset(sorted(set(seen))[:MOST_SEEN]))
    text = json.dumps({"at": clock.to_text(min(at, now)), "seen": sorted(look.seen)})
    files.write_atomic(_find_path(settings), text.encode())
    return look


def _parse(found: object) -> Look:
    if not isinstance(found, dict):
        return Look()
    seen = found.get("seen")
    keys = seen if isinstance(seen, list) else []
    return Look(
        showing.as_moment(found.get("at")),
        frozenset(key for key in keys[:MOST_SEEN] if isinstance(key, str)),
    )


def _find_path(settings: Settings) -> str:
    owner = settings.owner
    name = make_key(owner.workspace_id, owner.developer_id)
    return os.path.join(settings.home, f"looked-{name}.json")
