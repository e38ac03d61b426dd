"""Opening Claude Code, checked against 2.1.325."""

from __future__ import annotations

import os
from typing import Any

from holdfast.clients import commands, config_file
from holdfast.clients.claude.setup import PROGRAM, find_folder, find_state_file
from holdfast.clients.opening import (
    find_first_text,
    find_in_tail,
    is_native_id,
    make_prompt,
    name_server,
    split_tool,
)
from holdfast.clients.setup import SetupPlace, find_settings, find_value, list_values
from holdfast.clients.transcript import as_object, list_names, read_head

NAMES_SESSION = True
MODEL_VARIABLE = "ANTHROPIC_MODEL"
SYNTHETIC = "<synthetic>"  # what the client says itself in the place of a model
# Servers of plugins and of the account: no file that is read here names them.
UNLISTED = ("plugin_", "claude_ai_")


def make_start(name: str | None, body: str, words: str, native_id: str) -> list[str]:
    command = f"/{commands.name_with_dot(name)}" if name else ""
    return [PROGRAM, "--session-id", native_id, *make_prompt(command, words)]


def make_native(native_id: str, folder: str) -> list[str]:
    return [PROGRAM, "--resume", native_id]


def has_session(place: SetupPlace, native_id: str, transcript_path: str | None) -> bool:
    """In whichever project: it opens a session of another folder, too."""
    if not is_native_id(native_id):
        return False
    projects = os.path.join(find_folder(place), "projects")
    paths = [os.path.join(projects, name, f"{native_id}.jsonl") for name in list_names(projects)]
    return any(read_head(path, 1) for path in paths)


def find_model(native_id: str, transcript_path: str | None) -> str | None:
    return find_in_tail(transcript_path, b'"assistant"', _find_model)


def _find_model(entry: dict[str, Any]) -> object:
    """Of an answer in the session itself: a subagent may have another model."""
    if entry.get("type") != "assistant" or entry.get("isSidechain") is True:
        return None
    model = as_object(entry.get("message")).get("model")
    return None if model == SYNTHETIC else model


def find_configured_model(place: SetupPlace) -> str | None:
    settings = _list_settings(place)
    variables = [find_value(each, "env", MODEL_VARIABLE) for each in settings]
    named = [each.get("model") for each in settings]
    return find_first_text([place.environment.get(MODEL_VARIABLE), *variables, *named])


def list_servers(place: SetupPlace) -> list[str]:
    state = find_settings(config_file.parse_json, find_state_file(place))
    here = as_object(find_value(state, "projects", place.worktree))
    file = os.path.join(place.worktree, ".mcp.json")
    shared = as_object(find_settings(config_file.parse_json, file).get("mcpServers"))
    lists = [here, *_list_settings(place)]
    rejected = {name for each in lists for name in list_values(each.get("disabledMcpjsonServers"))}
    off = list_values(here.get("disabledMcpServers"))
    own = [*as_object(state.get("mcpServers")), *as_object(here.get("mcpServers"))]
    names = [*own, *(name for name in shared if name not in rejected)]
    return sorted({name_server(name) for name in names if name not in off})


def find_server(tool: str) -> str | None:
    server = split_tool(tool, "mcp__", "__")
    if server is None or server.startswith(UNLISTED):
        return None
    return server


def _list_settings(place: SetupPlace) -> list[dict[str, Any]]:
    """The one that overrides the others first."""
    inside = os.path.join(place.worktree, ".claude")
    paths = [os.path.join(inside, name) for name in ("settings.local.json", "settings.json")]
    paths.append(os.path.join(find_folder(place), "settings.json"))
    return [find_settings(config_file.parse_json, path) for path in paths]
