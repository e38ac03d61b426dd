"""The agent programs: one folder each, and nothing about any of them elsewhere.

In a client's folder `__init__` says what its hooks mean, `transcript` reads what it wrote down
itself, and `setup` wires it. A hook loads the first of them only.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.clients.contract import Client
    from holdfast.clients.transcript import TranscriptReader

CLIENTS = ("claude", "codex", "gemini", "opencode")


def list_clients() -> list[Client]:
    return [client for name in CLIENTS if (client := find_client(name))]


def find_client(name: str) -> Client | None:
    """The client of that name; only its own file is imported, because a hook asks for one."""
    if name not in CLIENTS:
        return None
    client: Client = _load(f"holdfast.clients.{name}")
    return client


def get_reader(client: Client) -> TranscriptReader:
    """What reads the transcripts of a client."""
    reader: TranscriptReader = _load(f"holdfast.clients.{client.NAME}.transcript")
    return reader


def _load(name: str) -> Any:
    """`importlib` would do the same, and load `warnings` first, for which a hook has no time."""
    __import__(name)
    return sys.modules[name]


def text_limit(name: str) -> int | None:
    """How many characters of ours a client hands to its model whole; None where none was found."""
    client = find_client(name)
    if client is None:
        from holdfast.errors import InvalidValueError

        raise InvalidValueError("Client", name, "is unknown", known=CLIENTS)
    return client.TEXT_CHARS
