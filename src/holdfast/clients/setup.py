"""How a client is set up: what its `setup` module answers, and the edits that it is made of.

A client names the files that it wants changed, and what is ours in each; nothing here writes to the
disk. An edit is made twice: once to put in what is ours, once to take it out again. So the same
list serves `init`, `uninstall`, the diff that is shown before, and `doctor`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Protocol

from holdfast.clients import config_file, toml_file
from holdfast.clients.errors import SettingsFileError
from holdfast.errors import HoldfastError
from holdfast.ground import files
from holdfast.ground.frozen import dataclass
from holdfast.ground.patterns import compile_later

MARK = "Written by holdfast init"
OWN_MARK = f"{MARK}; without this line the file is yours"
MAX_BYTES = 32 << 20  # of a settings file; one client keeps its history there
SERVER = "holdfast"  # what our MCP server is called in every client

_COMMAND_NAME = compile_later(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True)
class SetupPlace:
    """Whose settings are meant, and which program is written into them."""

    user_folder: str  # HOME
    environment: Mapping[str, str]  # a client may keep its files elsewhere (CODEX_HOME, XDG)
    worktree: str
    shim: str  # the command that clients start, in the data folder
    tools: Sequence[str]  # what our MCP server offers, by name


class ConfigEdit(Protocol):
    """What is ours in one file. Both verbs raise SettingsFileError on a text that they cannot read.

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
    MOVED_BY: tuple[str, ...]  # variables that say where it keeps its files
    APPROVES_TOOLS: bool  # what is put in lets our tools run without a question each time
    LIST_COMMAND: tuple[str, ...] | None  # connects to MCP servers for real; None: it has none

    def list_edits(self, place: SetupPlace) -> list[ConfigEdit]:
        """Of the person's own files: hooks, MCP entry, permissions, commands."""

    def list_project_edits(self, place: SetupPlace) -> list[ConfigEdit]:
        """Of the repository's files: hooks alone, nothing that asks a colleague something.

        Empty where the client has no such file that is harmless without Holdfast.
        """

    def list_hooks(self, place: SetupPlace) -> dict[str, str]:
        """The shell command of each wired hook, exactly as the client will run it."""

    def list_commands(self, place: SetupPlace) -> list[str]:
        """The files of `/workspace.resume` and the other commands of ours, or their likes."""

    def find_command_file(self, place: SetupPlace, name: str) -> str | None:
        """Where a command lies, ours or the person's own; None where it is not installed.

        Those of the worktree come first, as in the clients. A command of ours is found by its name
        as a command and as a skill.
        """

    def is_connected(self, output: str) -> bool | None:
        """What the list command said about our server; None where it does not name it."""

    def list_left(self, place: SetupPlace) -> list[str]:
        """What only the person can do now (trust, approval), a sentence each; often empty."""


def make_hook_command(shim: str, client: str, event: str) -> str:
    """The string that a client keeps. Frozen: a client that trusts by hash asks once, not twice.

    The guard is for the day when the program is gone: in one client a command that is missing
    blocks every prompt, and an exit code of 2 stops the agent in all of them.
    """
    program = quote_for_shell(shim)
    return f"[ -x {program} ] && {program} hook {client} {event} 2>/dev/null || true"


def make_hook_commands(place: SetupPlace, client: str, events: Iterable[str]) -> dict[str, str]:
    return {event: make_hook_command(place.shim, client, event) for event in events}


def quote_for_shell(text: str) -> str:
    """In quotes always: a path that needs none must not look different from one that does."""
    inside = text.replace("'", "'\\''")
    return f"'{inside}'"


def make_portable_hook_commands(client: str, events: Iterable[str]) -> dict[str, str]:
    """For a file that colleagues share: without a path of anyone, and nothing without Holdfast.

    The installed command is looked for where the data usually is, because a client's PATH may not
    have the program. Marked, because a colleague who has Holdfast has not agreed to be captured by
    pulling it.
    """
    usual = '"${HOLDFAST_HOME:-${XDG_DATA_HOME:-$HOME/.local/share}/holdfast}/bin/holdfast"'
    find = f'p={usual}; [ -x "$p" ] || p=holdfast; command -v "$p" >/dev/null 2>&1'
    return {
        event: f'{find} && "$p" hook {client} {event} --project 2>/dev/null || true'
        for event in events
    }


def list_hook_commands(edits: Iterable[ConfigEdit]) -> dict[str, str]:
    """The shell command of each hook that some edits put in."""
    items = [item for edit in edits if isinstance(edit, JsonEdit) for item in edit.items]
    return {item.event: item.command for item in items if isinstance(item, HookGroup)}


def find_settings(parse: Callable[[str], Any], path: str) -> dict[str, Any]:
    """What a client has written down, to look at; empty where it is missing or unreadable."""
    try:
        value = parse(find_text(path))
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def find_value(value: Any, *keys: str) -> Any:
    """What stands below some keys; None where something on the way is missing or is no object."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def list_values(value: Any) -> list[str]:
    """The texts of a list in a client's settings; one that is written alone counts as well."""
    found = value if isinstance(value, list) else [value]
    return [text for text in found if isinstance(text, str)]


def describe_tool_limits(
    off: Sequence[str], only: Sequence[str] | None, tools: Sequence[str]
) -> str:
    """Which of our tools two lists of a client keep from its agents; empty where none."""
    hidden = [tool for tool in tools if tool in off or (only is not None and tool not in only)]
    return ", ".join(hidden)


def find_text(path: str) -> str:
    """The same as a text; empty where it is missing or unreadable."""
    try:
        data = files.find_bytes(os.path.realpath(path), max_bytes=MAX_BYTES)
        return (data or b"").decode()
    except (HoldfastError, ValueError):
        return ""


def find_command_path(
    place: SetupPlace, name: str, folders: Iterable[str], forms: Iterable[str]
) -> str | None:
    """The first file of a command in some folders; `forms` are paths below them with its name.

    A repository cannot lend the name of a command to a file elsewhere.
    """
    if not _COMMAND_NAME.fullmatch(name):
        return None
    below = [form.format(name) for form in forms]
    paths = [os.path.join(folder, path) for folder in folders for path in below]
    usable = (path for path in paths if os.path.isfile(path) and not _leads_out(place, path))
    return next(usable, None)


def _leads_out(place: SetupPlace, path: str) -> bool:
    """Of a path in the worktree, whether it is a link to something that is not."""
    inside = os.path.join(place.worktree, "")
    real = os.path.join(os.path.realpath(place.worktree), "")
    return path.startswith(inside) and not os.path.realpath(path).startswith(real)


def find_setup(name: str) -> ClientSetup:
    """The set-up of a client that is known."""
    setup: ClientSetup = import_module(f"holdfast.clients.{name}.setup")
    return setup


def make_groups(
    hooks: Mapping[str, str], matchers: Mapping[str, str], **handler: object
) -> tuple[HookGroup, ...]:
    """A group of its own for each hook, in the shape that three of the four programs share."""
    groups = []
    for event, command in hooks.items():
        group: dict[str, Any] = {"hooks": [{"type": "command", "command": command, **handler}]}
        if event in matchers:
            group = {"matcher": matchers[event], **group}
        groups.append(HookGroup(event, group))
    return tuple(groups)


# --- edits ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OwnFile:
    """A file that is ours as a whole: a command, a skill, a plugin. `MARK` stands in its content.

    One of that name without the mark is somebody else's, and left as it is.
    """

    path: str
    content: str

    def put_in(self, text: str | None) -> str:
        if text is None or MARK in text:
            return self.content
        return text

    def take_out(self, text: str, before: str | None) -> str | None:
        if MARK not in text:
            return text
        return before


@dataclass(frozen=True)
class Member:
    """A value in an object of a JSON file: ("mcp", "holdfast") -> {...}. Replaces another value."""

    keys: tuple[str, ...]
    value: Any

    def put_in(self, text: str) -> str:
        return config_file.set_member(text, self.keys, self.value)

    def take_out(self, text: str, before: str) -> str:
        return config_file.remove_member(text, self.keys, before)


@dataclass(frozen=True)
class Element:
    """A value at the end of an array of a JSON file, unless it is there already."""

    keys: tuple[str, ...]
    value: Any

    def put_in(self, text: str) -> str:
        return config_file.append_element(text, self.keys, self.value)

    def take_out(self, text: str, before: str) -> str:
        return config_file.remove_elements(
            text, self.keys, lambda value: bool(value == self.value), before
        )


@dataclass(frozen=True)
class HookGroup:
    """Our group at the end of the groups of one hook; a person may have moved or changed it since.

    A handler is ours if it runs our command, whatever stands beside it. One that names another data
    folder was installed from there, and gives way.
    """

    event: str
    group: dict[str, Any]  # as the client wants it, with one handler

    @property
    def keys(self) -> tuple[str, ...]:
        return ("hooks", self.event)

    @property
    def command(self) -> str:
        command: str = self.group["hooks"][0]["command"]
        return command

    def put_in(self, text: str) -> str:
        if config_file.find_handler(text, self.keys, self.command) is not None:
            return text
        without_others = self.take_out(text, "")
        return config_file.append_element(without_others, self.keys, self.group)

    def take_out(self, text: str, before: str) -> str:
        return config_file.remove_handlers(text, self.keys, self._is_ours, before)

    def _is_ours(self, handler: dict[str, Any]) -> bool:
        command = str(handler.get("command"))
        _, _, own_end = self.command.partition(f"{SERVER}' hook ")
        is_moved = bool(own_end) and command.endswith(f"{SERVER}' hook {own_end}")
        return command == self.command or is_moved


@dataclass(frozen=True)
class JsonEdit:
    """What is ours in a JSON or JSONC file; everything else keeps its bytes."""

    path: str
    items: Sequence[Member | Element | HookGroup]

    def put_in(self, text: str | None) -> str:
        text = text or ""
        with _name_errors(self.path):
            for item in self.items:
                text = item.put_in(text)
        return text

    def take_out(self, text: str, before: str | None) -> str | None:
        known, left = before or "", text
        if config_file.is_blank(text):
            return text
        with _name_errors(self.path):
            for item in reversed(self.items):
                left = item.take_out(left, known)
            is_empty = config_file.parse_json(left) == {}
        if is_empty and left != text and config_file.is_blank(known):
            return before
        return left


@dataclass(frozen=True)
class TomlTable:
    """One table at the end of a TOML file; `lines` are its `key = value` lines."""

    path: str
    name: str  # as in [mcp_servers.holdfast]
    lines: tuple[str, ...]

    def put_in(self, text: str | None) -> str:
        with _name_errors(self.path):
            return toml_file.put_table(text or "", self.name, self.lines, MARK)

    def take_out(self, text: str, before: str | None) -> str | None:
        with _name_errors(self.path):
            left = toml_file.remove_table(text, self.name, MARK, before or "")
        if before is None and left != text and config_file.is_blank(left):
            return None
        return left


# --- the record -----------------------------------------------------------------------------------

Part = dict[str, Any]


def list_parts(edit: ConfigEdit) -> list[Part]:
    """What an edit puts in, for the record: a later version may not know of it any more."""
    if isinstance(edit, TomlTable):
        return [{"table": edit.name}]
    if isinstance(edit, JsonEdit):
        return [_describe_item(item) for item in edit.items]
    return []


def _describe_item(item: Member | Element | HookGroup) -> Part:
    if isinstance(item, HookGroup):
        return {"hook": item.event, "command": item.command}
    if isinstance(item, Element):
        return {"element": list(item.keys), "value": item.value}
    return {"member": list(item.keys)}


def make_recorded_edits(path: str, parts: Sequence[Part]) -> list[ConfigEdit]:
    """What some version has put into a file, only to be taken out again."""
    tables = [TomlTable(path, part["table"], ()) for part in parts if "table" in part]
    items = [_make_item(part) for part in parts if "table" not in part]
    if items:
        return [*tables, JsonEdit(path, items)]
    return [*tables] if tables else [OwnFile(path, "")]


def _make_item(part: Part) -> Member | Element | HookGroup:
    if "hook" in part:
        return HookGroup(part["hook"], {"hooks": [{"command": part["command"]}]})
    if "element" in part:
        return Element(tuple(part["element"]), part["value"])
    return Member(tuple(part["member"]), None)


@contextmanager
def _name_errors(path: str) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise SettingsFileError(path, str(error)) from None
