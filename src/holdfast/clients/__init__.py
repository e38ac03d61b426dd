"""The agent programs: one file each, and nothing about any of them elsewhere."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.clients.contract import Client

CLIENTS = ("claude", "codex", "gemini")


def list_clients() -> list[Client]:
    return [client for name in CLIENTS if (client := find_client(name))]


def find_client(name: str) -> Client | None:
    """The client of that name; only its own file is imported, because a hook asks for one."""
    if name not in CLIENTS:
        return None
    from importlib import import_module

    client: Client = import_module(f"holdfast.clients.{name}")
    return client
