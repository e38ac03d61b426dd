"""How a client is opened: what its `opening` module answers to `holdfast resume`.

A client is started with a short prompt, and its hook hands over the rest (decision 0041). What was
stored is never an argument. A session is only gone on with where the client still has it: one that
is missing ends in an error of the client, on the person's screen.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Protocol

from holdfast.clients.setup import SetupPlace
from holdfast.clients.transcript import parse_line, read_tail
from holdfast.ground.patterns import compile_later

_NATIVE_ID = compile_later(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_NOT_IN_NAMES = compile_later(r"[^A-Za-z0-9_-]")


class ClientOpening(Protocol):
    """The module `holdfast.clients.<client>.opening`."""

    NAMES_SESSION: bool  # whether it takes the id of the session that it begins

    def make_start(self, name: str | None, body: str, words: str, native_id: str) -> list[str]:
        """The arguments that open it with a command and some words; None: the words alone.

        `body` is the text of the command, for a client that does not always expand one.
        """

    def make_native(self, native_id: str, folder: str) -> list[str]:
        """The arguments with which it goes on with its own session, to be run in that folder."""

    def has_session(self, place: SetupPlace, native_id: str, transcript_path: str | None) -> bool:
        """Whether it can go on with a session: it has it on this machine, where it looks now."""

    def find_model(self, native_id: str, transcript_path: str | None) -> str | None:
        """The model that the transcript names last; None where it cannot be read."""

    def find_configured_model(self, place: SetupPlace) -> str | None:
        """What the settings of the person and of the worktree name for the next session."""

    def list_servers(self, place: SetupPlace) -> list[str]:
        """The MCP servers that are set up for this worktree, as the names of tools have them."""

    def find_server(self, tool: str) -> str | None:
        """The MCP server of a tool, as this client's transcript names it; None: it has none."""


def get_opening(client: str) -> ClientOpening:
    """The opening of a client that is known."""
    opening: ClientOpening = import_module(f"holdfast.clients.{client}.opening")
    return opening


def is_native_id(text: str) -> bool:
    """Nothing else is handed to a client: it might be an option, or the path of another file."""
    return _NATIVE_ID.fullmatch(text) is not None


def make_prompt(command: str, words: str) -> list[str]:
    """The prompt as an argument, which never looks like an option; none where nothing is said."""
    plain = " ".join(words.replace("\x00", " ").split())
    prompt = f"{command} {plain}".strip().lstrip("-").strip()
    return [prompt] if prompt else []


def find_in_tail(
    path: str | None, mark: bytes, find: Callable[[dict[str, Any]], object]
) -> str | None:
    """What the last record gives of those at the end of a file that have some bytes in them."""
    for line in reversed(read_tail(path).split(b"\n")):
        entry = parse_line(line) if mark in line else None
        found = find(entry) if entry else None
        if isinstance(found, str) and found:
            return found
    return None


def find_first_text(values: list[Any]) -> str | None:
    """The first of some settings that says something."""
    return next((value for value in values if isinstance(value, str) and value), None)


def name_server(name: str) -> str:
    """A server as the names of its tools have it."""
    return _NOT_IN_NAMES.sub("_", name)


def split_tool(tool: str, prefix: str, separator: str) -> str | None:
    """The server in `prefix`, server, `separator`, tool."""
    server, found, rest = tool.removeprefix(prefix).partition(separator)
    if not tool.startswith(prefix) or not found or not rest:
        return None
    return server or None
