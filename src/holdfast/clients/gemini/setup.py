"""Setting up Gemini CLI: hooks, tools and commands of one person."""

from __future__ import annotations

import json
import os
import re
from typing import Any

from holdfast.clients import commands, config_file
from holdfast.clients.gemini import MOMENTS, NAME
from holdfast.clients.setup import (
    OWN_MARK,
    SERVER,
    ConfigEdit,
    JsonEdit,
    Member,
    OwnFile,
    SetupPlace,
    describe_tool_limits,
    find_command_path,
    find_settings,
    find_value,
    list_values,
    make_groups,
    make_hook_commands,
)

PROGRAM = "gemini"
OLDEST = (0, 26)  # the first with hooks in this form
CHECKED = (0, 61, 0)
MOVED_BY: tuple[str, ...] = ("GEMINI_CLI_HOME",)  # the folder in which `.gemini` lies
APPROVES_TOOLS = True
LIST_COMMAND = ("mcp", "list")
MATCHERS = {"AfterTool": "replace|write_file"}
TIMEOUT_MILLISECONDS = 10_000
HOOKS_OFF = "Gemini CLI runs no hooks at all: remove hooksConfig.enabled from {}"
OURS_OFF = "Gemini CLI runs no hooks of Holdfast: take them out of hooksConfig.disabled in {}"
SERVER_OFF = "Gemini CLI leaves out the server of Holdfast: see mcp.allowed and mcp.excluded in {}"
TOOLS_OFF = (
    "Gemini CLI keeps agents off tools of Holdfast ({}): see includeTools, excludeTools and "
    "tools.exclude in {}"
)
NOT_TRUSTED = (
    "Gemini CLI switches everything off in a folder that it does not trust: "
    'start it here once and choose "Trust folder"'
)
TRUSTED, PARENT_TRUSTED = "TRUST_FOLDER", "TRUST_PARENT"


def list_edits(place: SetupPlace) -> list[ConfigEdit]:
    server = {"command": place.shim, "args": ["mcp"], "trust": True}
    entry = Member(("mcpServers", SERVER), server)
    groups = make_groups(list_hooks(place), MATCHERS, name=SERVER, timeout=TIMEOUT_MILLISECONDS)
    return [JsonEdit(find_settings_file(place), (*groups, entry)), *_list_command_files(place)]


def list_project_edits(place: SetupPlace) -> list[ConfigEdit]:
    """None: it warns each colleague of hooks that a repository brings, and shows them run."""
    return []


def list_hooks(place: SetupPlace) -> dict[str, str]:
    return make_hook_commands(place, NAME, MOMENTS)


def list_commands(place: SetupPlace) -> list[str]:
    return [file.path for file in _list_command_files(place)]


def find_command_file(place: SetupPlace, name: str) -> str | None:
    folders = [os.path.join(place.worktree, ".gemini"), _in_folder(place, "")]
    return find_command_path(
        place, commands.name_with_dot(name), folders, ["commands/{}.toml", "skills/{}/SKILL.md"]
    )


def is_connected(output: str) -> bool | None:
    match = re.search(rf"^\W*{SERVER}: .*$", output, re.MULTILINE)
    if match is None:
        return None
    return match[0].endswith(" Connected")


def list_left(place: SetupPlace) -> list[str]:
    left = _list_blocks(place)
    settings = find_settings(config_file.parse_json, find_settings_file(place))
    asks_for_trust = find_value(settings, "security", "folderTrust", "enabled") is not False
    if asks_for_trust and not _is_trusted(place):
        left.append(NOT_TRUSTED)
    return left


def _list_blocks(place: SetupPlace) -> list[str]:
    """What keeps agents off our hooks and tools, in the person's settings and in this folder's."""
    left = []
    for path in (
        find_settings_file(place),
        os.path.join(place.worktree, ".gemini", "settings.json"),
    ):
        settings = find_settings(config_file.parse_json, path)
        disabled = list_values(find_value(settings, "hooksConfig", "disabled"))
        if find_value(settings, "hooksConfig", "enabled") is False:
            left.append(HOOKS_OFF.format(path))
        if SERVER in disabled:
            left.append(OURS_OFF.format(path))
        allowed = find_value(settings, "mcp", "allowed")
        is_left_out = allowed is not None and SERVER not in list_values(allowed)
        if is_left_out or SERVER in list_values(find_value(settings, "mcp", "excluded")):
            left.append(SERVER_OFF.format(path))
        hidden = _find_hidden_tools(settings, place)
        if hidden:
            left.append(TOOLS_OFF.format(hidden, path))
    return left


def _find_hidden_tools(settings: dict[str, Any], place: SetupPlace) -> str:
    server = find_value(settings, "mcpServers", SERVER)
    only = find_value(server, "includeTools")
    off = list_values(find_value(server, "excludeTools"))
    excluded = list_values(find_value(settings, "tools", "exclude"))
    off += [name.removeprefix(f"mcp_{SERVER}_") for name in excluded]
    return describe_tool_limits(off, None if only is None else list_values(only), place.tools)


def _is_trusted(place: SetupPlace) -> bool:
    chosen = find_settings(config_file.parse_json, _in_folder(place, "trustedFolders.json"))
    return any(_covers(str(folder), choice, place.worktree) for folder, choice in chosen.items())


def _covers(folder: str, choice: object, worktree: str) -> bool:
    if choice == PARENT_TRUSTED:
        folder = os.path.dirname(folder)
    elif choice != TRUSTED:
        return False
    real = os.path.realpath(folder)
    return os.path.commonpath([real, worktree]) == real


def _in_folder(place: SetupPlace, name: str) -> str:
    above = place.environment.get("GEMINI_CLI_HOME") or place.user_folder
    return os.path.join(above, ".gemini", name)


def find_settings_file(place: SetupPlace) -> str:
    return _in_folder(place, "settings.json")


def _list_command_files(place: SetupPlace) -> list[OwnFile]:
    return [_make_command(place, *command) for command in commands.list_commands("{{args}}")]


def _make_command(place: SetupPlace, name: str, hint: str, text: str) -> OwnFile:
    path = _in_folder(place, os.path.join("commands", f"{name}.toml"))
    return OwnFile(
        path, f'# {OWN_MARK}\ndescription = {json.dumps(hint)}\nprompt = """\n{text}"""\n'
    )
