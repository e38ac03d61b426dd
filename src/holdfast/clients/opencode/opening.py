"""Opening OpenCode, checked against 1.18.33.

It expands a command at its start only sometimes, so it gets the text of the command as a prompt.
"""

from __future__ import annotations

import os
from typing import Any

from holdfast.clients import commands, config_file
from holdfast.clients.opencode.setup import PROGRAM, SETTINGS, find_in_folder
from holdfast.clients.opencode.transcript import SessionDatabase, find_database
from holdfast.clients.opening import (
    find_first_text,
    is_native_id,
    make_prompt,
    name_server,
    split_tool,
)
from holdfast.clients.setup import MARK, SetupPlace, find_settings
from holdfast.clients.transcript import as_object
from holdfast.errors import Unavailable
from holdfast.ground.patterns import compile_later
from holdfast.storage.queries import read_blocks

NAMES_SESSION = False
# What it brings itself, as far as a name looks like that of a server's tool.
BUILT_IN = ("apply_patch", "plan_enter", "plan_exit", "list_mcp_resources", "read_mcp_resource")
QUERIES = os.path.join(os.path.dirname(__file__), "opening.sql")

# What stands before the text in the file of a command.
_FRAME = compile_later(rf"\A\s*(?:---\r?\n[\s\S]*?\n---\r?\n)?\s*(?:<!-- {MARK}[^\n]*-->)?\s*")


def make_start(name: str | None, body: str, words: str, native_id: str) -> list[str]:
    said = " ".join(make_prompt("", words))
    text = _fill_in(_FRAME.sub("", body, count=1), said) if name else said
    prompt = text.replace("\x00", "").strip().lstrip("-").strip()
    asked = ["--prompt", prompt] if prompt else []
    return [PROGRAM, *asked]


def _fill_in(text: str, words: str) -> str:
    """The text of a command, with the words where it wants them or behind it."""
    if commands.ARGUMENTS in text:
        return text.replace(commands.ARGUMENTS, words)
    return f"{text}\n\n{words}"


def make_native(native_id: str, folder: str) -> list[str]:
    return [PROGRAM, "-s", native_id]


def has_session(place: SetupPlace, native_id: str, transcript_path: str | None) -> bool:
    if not is_native_id(native_id):
        return False
    try:
        with SessionDatabase(find_database(place.user_folder, place.environment)) as database:
            return bool(database.run("find_session", native_id))
    except Unavailable:
        return False


def find_model(native_id: str, transcript_path: str | None) -> str | None:
    """As its settings name one: the provider and the model."""
    if transcript_path is None:
        return None
    try:
        with ModelDatabase(transcript_path.removesuffix(f"#{native_id}")) as database:
            rows = database.run("find_model", native_id)
    except Unavailable:
        return None
    return "/".join(str(name) for row in rows for name in row if name) or None


class ModelDatabase(SessionDatabase):
    """The same file, with the statements of `opening.sql`."""

    def __init__(self, path: str):
        super().__init__(path)
        self.statements = {block.name: block.sql for block in read_blocks(QUERIES)}


def find_configured_model(place: SetupPlace) -> str | None:
    return find_first_text([each.get("model") for each in reversed(_list_settings(place))])


def list_servers(place: SetupPlace) -> list[str]:
    servers: dict[str, Any] = {}
    for settings in _list_settings(place):
        for name, server in as_object(settings.get("mcp")).items():
            servers[name] = {**servers.get(name, {}), **as_object(server)}
    return sorted(
        name_server(name) for name in servers if servers[name].get("enabled") is not False
    )


def find_server(tool: str) -> str | None:
    """Up to the first `_`, because nothing tells where the name of the server ends."""
    return None if tool in BUILT_IN else split_tool(tool, "", "_")


def _list_settings(place: SetupPlace) -> list[dict[str, Any]]:
    """The one that overrides the others last."""
    inside = [place.worktree, os.path.join(place.worktree, ".opencode")]
    named = place.environment.get("OPENCODE_CONFIG")
    paths = [find_in_folder(place, name) for name in SETTINGS]
    paths += [named] if named else []
    paths += [os.path.join(folder, name) for folder in inside for name in SETTINGS]
    given = place.environment.get("OPENCODE_CONFIG_CONTENT") or ""
    return [*(find_settings(config_file.parse_json, path) for path in paths), _parse(given)]


def _parse(text: str) -> dict[str, Any]:
    try:
        return as_object(config_file.parse_json(text))
    except ValueError:
        return {}
