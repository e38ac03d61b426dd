"""Whether the team exchange is offered, found out without opening the store.

A client starts many servers and asks most of them only what there is, so this is read as cheaply as
it can be: the environment, then the person's settings, then one look into the file of the store.
"""

from __future__ import annotations

import os

from holdfast.errors import HoldfastError
from holdfast.ground.settings import load_settings, sqlite_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.ground.settings import Settings

SETTINGS = "settings.json"


def look_for_exchange() -> bool | None:
    """As `usecases.exchange.is_exchange_on` says; None where only an open store knows."""
    try:
        settings = load_settings()
        chosen = _find_choice(settings.home)
        if chosen is not None or settings.is_named or settings.server:
            return chosen is not False
        return _look_into_store(settings)
    except (HoldfastError, OSError):
        return None


def _find_choice(home: str) -> bool | None:
    if not os.path.lexists(os.path.join(home, SETTINGS)):
        return None
    from holdfast.ground.user_settings import load_user_settings

    return load_user_settings(home).team


def _look_into_store(settings: Settings) -> bool | None:
    path = sqlite_path(settings.database)
    if path is None:
        return None
    if not os.path.exists(path):
        return False
    from holdfast.storage.sqlite_look import find_exchange

    return find_exchange(path, settings.owner)
