"""How a client is set up: what its `setup` module answers, and the edits that it is made of.

A client names the files that it wants changed, and what is ours in each; nothing here writes to the
disk. An edit is made twice: once to put in what is ours, once to take it out again. So the same
list serves `init`, `uninstall`, the diff that is shown before, and `doctor`.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

SERVER = "holdfast"  # what our MCP server is called in every client


@dataclass(frozen=True)
class Place:
    """Whose settings are meant, and which program is written into them."""

    user_folder: str  # HOME
    environment: Mapping[str, str]  # a client may keep its files elsewhere (CODEX_HOME, XDG)
    worktree: str
    shim: str  # the command that clients start, in the data folder
    tools: Sequence[str]  # what our MCP server offers, by name


class FileEdit(Protocol):
    """What is ours in one file. Both verbs raise InvalidValueError on a text that they cannot read.

    `take_out(put_in(text), text) == text`, byte for byte.
    """

    @property
    def path(self) -> str: ...

    def put_in(self, text: str | None) -> str:
        """The file with ours in it; None stands for no file. Unchanged where it is in already."""

    def take_out(self, text: str, before: str | None) -> str | None:
        """The file without ours; None where it should be removed.

        `before` is what it was when ours was put in: what was there then, stays.
        """


class ClientSetup(Protocol):
    """The module `holdfast.clients.<client>.setup`; name and title stand in the client itself."""

    PROGRAM: str  # what a person types to start it; it answers `PROGRAM --version`
    OLDEST: tuple[int, ...]  # older ones are named and left alone
    CHECKED: tuple[int, ...]  # the newest version that was run with all of this
    LIST_COMMAND: tuple[str, ...] | None  # connects to MCP servers for real; None: it has none

    def list_edits(self, place: Place) -> list[FileEdit]:
        """Of the person's own files: hooks, MCP entry, permissions, commands."""

    def list_project_edits(self, place: Place) -> list[FileEdit]:
        """Of the repository's files: hooks alone, nothing that asks a colleague something.

        Empty where the client has no such file that is harmless without Holdfast.
        """

    def list_hooks(self, place: Place) -> dict[str, str]:
        """The shell command of each wired hook, exactly as the client will run it."""

    def list_commands(self, place: Place) -> list[str]:
        """The files of `/workspace.resume` and `/workspace.stop-conversation`, or their likes."""

    def is_connected(self, output: str) -> bool | None:
        """What the list command said about our server; None where it does not name it."""

    def list_left(self, place: Place) -> list[str]:
        """What only the person can do now (trust, approval), a sentence each; often empty."""


def make_hook_command(shim: str, client: str, event: str) -> str:
    """The string that a client keeps. Frozen: a client that trusts by hash asks once, not twice.

    The guard is for the day when the program is gone: in one client a command that is missing
    blocks every prompt, and an exit code of 2 stops the agent in all of them.
    """
    program = shlex.quote(shim) if "'" in shim else f"'{shim}'"
    return f"[ -x {program} ] && {program} hook {client} {event} 2>/dev/null || true"


def make_portable_hook_command(client: str, event: str) -> str:
    """For a file that colleagues share: without any path, and nothing where Holdfast is missing."""
    found = "command -v holdfast >/dev/null 2>&1"
    return f"{found} && holdfast hook {client} {event} 2>/dev/null || true"


@dataclass(frozen=True)
class OwnFile:
    """A file that is ours as a whole: a command, a skill, a plugin.

    One of that name that somebody else has written is not touched; `MARK` tells the two apart and
    must stand in the content.
    """

    path: str
    content: str

    def put_in(self, text: str | None) -> str:
        raise NotImplementedError

    def take_out(self, text: str, before: str | None) -> str | None:
        raise NotImplementedError


MARK = "Written by holdfast init"


@dataclass(frozen=True)
class Member:
    """A value in an object of a JSON file: ("mcp", "holdfast") -> {...}. Replaces another value."""

    keys: tuple[str, ...]
    value: Any


@dataclass(frozen=True)
class Element:
    """A value at the end of an array of a JSON file, unless one that `is_same` is there."""

    keys: tuple[str, ...]
    value: Any
    is_same: Callable[[Any], bool] | None = None  # equality without it


@dataclass(frozen=True)
class JsonEdit:
    """Members and elements of a JSON or JSONC file; everything else keeps its bytes."""

    path: str
    items: tuple[Member | Element, ...]

    def put_in(self, text: str | None) -> str:
        raise NotImplementedError

    def take_out(self, text: str, before: str | None) -> str | None:
        raise NotImplementedError


@dataclass(frozen=True)
class TomlTable:
    """One table at the end of a TOML file; `lines` are its `key = value` lines."""

    path: str
    name: str  # as in [mcp_servers.holdfast]
    lines: tuple[str, ...]

    def put_in(self, text: str | None) -> str:
        raise NotImplementedError

    def take_out(self, text: str, before: str | None) -> str | None:
        raise NotImplementedError
