"""Opening Gemini CLI, checked against 0.61.0."""

from __future__ import annotations

import os
from typing import Any

from holdfast.clients import commands, config_file
from holdfast.clients.gemini import transcript
from holdfast.clients.gemini.setup import PROGRAM, find_settings_file
from holdfast.clients.opening import (
    find_first_text,
    find_in_tail,
    is_native_id,
    make_prompt,
    name_server,
    split_tool,
)
from holdfast.clients.setup import SetupPlace, find_settings, find_value, list_values
from holdfast.clients.transcript import as_object

NAMES_SESSION = True
MODEL_VARIABLE = "GEMINI_MODEL"


def make_start(name: str | None, body: str, words: str, native_id: str) -> list[str]:
    command = f"/{commands.name_with_dot(name)}" if name else ""
    prompt = make_prompt(command, words)
    asked = ["-i", *prompt] if prompt else []
    return [PROGRAM, "--session-id", native_id, *asked]


def make_native(native_id: str, folder: str) -> list[str]:
    return [PROGRAM, "--resume", native_id]


def has_session(place: SetupPlace, native_id: str, transcript_path: str | None) -> bool:
    """In the worktree or a folder of it: it refuses a session of another one."""
    if not is_native_id(native_id):
        return False
    known = transcript.list_transcripts(place.worktree, place.user_folder, 0.0, place.environment)
    return any(found.native_id == native_id for found in known)


def find_model(native_id: str, transcript_path: str | None) -> str | None:
    """In the file in which the session goes on: a hook may have named another one."""
    if transcript_path is None:
        return None
    path, *_ = transcript.find_sources(native_id, transcript_path)
    return find_in_tail(path, b'"model"', _find_model)


def _find_model(entry: dict[str, Any]) -> object:
    return entry.get("model") if entry.get("type") == "gemini" else None


def find_configured_model(place: SetupPlace) -> str | None:
    named = [find_value(each, "model", "name") for each in _list_settings(place)]
    return find_first_text([place.environment.get(MODEL_VARIABLE), *named])


def list_servers(place: SetupPlace) -> list[str]:
    """As far as a list of allowed or excluded ones, in any of the files, lets them in."""
    settings = _list_settings(place)
    names = {name for each in settings for name in as_object(each.get("mcpServers"))}
    for each in settings:
        names -= set(list_values(find_value(each, "mcp", "excluded")))
        allowed = find_value(each, "mcp", "allowed")
        if allowed is not None:
            names &= set(list_values(allowed))
    return sorted(map(name_server, names))


def find_server(tool: str) -> str | None:
    """Up to the first `_`: it asks people not to have one in the name of a server."""
    return split_tool(tool, "mcp_", "_")


def _list_settings(place: SetupPlace) -> list[dict[str, Any]]:
    """The one that overrides the other first."""
    inside = os.path.join(place.worktree, ".gemini", "settings.json")
    paths = [inside, find_settings_file(place)]
    return [find_settings(config_file.parse_json, path) for path in paths]
