"""Opening Codex, checked against 0.166.0.

Without a daemon: that would keep the environment of the program that has started it.
"""

from __future__ import annotations

import os
from typing import Any

from holdfast.clients import commands, toml_file
from holdfast.clients.codex import transcript
from holdfast.clients.codex.setup import PROGRAM, find_config_file
from holdfast.clients.opening import (
    find_first_text,
    find_in_tail,
    is_native_id,
    make_prompt,
    name_server,
    split_tool,
)
from holdfast.clients.setup import SetupPlace, find_settings, find_value
from holdfast.clients.transcript import as_object

NAMES_SESSION = False


def make_start(name: str | None, body: str, words: str, native_id: str) -> list[str]:
    command = f"${commands.name_skill(name)}" if name else ""
    return [PROGRAM, "--no-daemon", *make_prompt(command, words)]


def make_native(native_id: str, folder: str) -> list[str]:
    """With the folder: it asks which one is meant where a session began in another."""
    return [PROGRAM, "--no-daemon", "-C", folder, "resume", native_id]


def has_session(place: SetupPlace, native_id: str, transcript_path: str | None) -> bool:
    if not is_native_id(native_id):
        return False
    known = transcript.list_transcripts(place.worktree, place.user_folder, 0.0, place.environment)
    return any(found.native_id == native_id for found in known)


def find_model(native_id: str, transcript_path: str | None) -> str | None:
    return find_in_tail(transcript_path, b'"turn_context"', _find_model)


def _find_model(entry: dict[str, Any]) -> object:
    if entry.get("type") != "turn_context":
        return None
    return as_object(entry.get("payload")).get("model")


def find_configured_model(place: SetupPlace) -> str | None:
    settings = _list_settings(place)
    profile = find_first_text([each.get("profile") for each in settings])
    chosen = [find_value(each, "profiles", profile, "model") for each in settings if profile]
    return find_first_text([*chosen, *(each.get("model") for each in settings)])


def list_servers(place: SetupPlace) -> list[str]:
    servers: dict[str, Any] = {}
    for settings in reversed(_list_settings(place)):
        for name, server in as_object(settings.get("mcp_servers")).items():
            servers[name] = {**servers.get(name, {}), **as_object(server)}
    return sorted(
        name_server(name) for name in servers if servers[name].get("enabled") is not False
    )


def find_server(tool: str) -> str | None:
    return split_tool(tool, "mcp__", "__")


def _list_settings(place: SetupPlace) -> list[dict[str, Any]]:
    """The one that overrides the other first."""
    inside = os.path.join(place.worktree, ".codex", "config.toml")
    paths = [inside, find_config_file(place)]
    return [find_settings(toml_file.parse_toml, path) for path in paths]
