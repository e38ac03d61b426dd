"""Holdfast: the context layer for coding agents.

Repository state beats memory, and nothing acknowledged is ever lost.

Names are loaded when they are first used, so that a hook process pays for none of them.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.sessions.errors import (
        SequenceConflictError,
        SessionEndedError,
        SessionNotFoundError,
    )
    from holdfast.sessions.model import Session, SessionEvent, SessionState
    from holdfast.sessions.service import SessionService
    from holdfast.storage.opening import open_database

__version__ = "0.1.0"

_HOMES = {
    "SequenceConflictError": "holdfast.sessions.errors",
    "Session": "holdfast.sessions.model",
    "SessionEndedError": "holdfast.sessions.errors",
    "SessionEvent": "holdfast.sessions.model",
    "SessionNotFoundError": "holdfast.sessions.errors",
    "SessionService": "holdfast.sessions.service",
    "SessionState": "holdfast.sessions.model",
    "open_database": "holdfast.storage.opening",
}

__all__ = [
    "SequenceConflictError",
    "Session",
    "SessionEndedError",
    "SessionEvent",
    "SessionNotFoundError",
    "SessionService",
    "SessionState",
    "open_database",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'holdfast' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
