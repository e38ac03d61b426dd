"""Setting up Gemini CLI: hooks, tools and commands of one person."""

from __future__ import annotations

import json
import os
import re

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
    find_settings,
    find_value,
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
HOOKS_OFF = "Gemini CLI runs no hooks at all: remove hooksConfig.enabled from its settings.json"
NOT_TRUSTED = (
    "Gemini CLI switches everything off in a folder that it does not trust: "
    'start it here once and choose "Trust folder"'
)
TRUSTED, PARENT_TRUSTED = "TRUST_FOLDER", "TRUST_PARENT"


def list_edits(place: SetupPlace) -> list[ConfigEdit]:
    server = {"command": place.shim, "args": ["mcp"], "trust": True}
    entry = Member(("mcpServers", SERVER), server)
    groups = make_groups(list_hooks(place), MATCHERS, name=SERVER, timeout=TIMEOUT_MILLISECONDS)
    return [JsonEdit(_settings(place), (*groups, entry)), *_list_command_files(place)]


def list_project_edits(place: SetupPlace) -> list[ConfigEdit]:
    """None: it warns each colleague of hooks that a repository brings, and shows them run."""
    return []


def list_hooks(place: SetupPlace) -> dict[str, str]:
    return make_hook_commands(place, NAME, MOMENTS)


def list_commands(place: SetupPlace) -> list[str]:
    return [file.path for file in _list_command_files(place)]


def is_connected(output: str) -> bool | None:
    match = re.search(rf"^\W*{SERVER}: .*$", output, re.MULTILINE)
    if match is None:
        return None
    return match[0].endswith(" Connected")


def list_left(place: SetupPlace) -> list[str]:
    left = []
    settings = find_settings(config_file.parse_json, _settings(place))
    if find_value(settings, "hooksConfig", "enabled") is False:
        left.append(HOOKS_OFF)
    asks_for_trust = find_value(settings, "security", "folderTrust", "enabled") is not False
    if asks_for_trust and not _is_trusted(place):
        left.append(NOT_TRUSTED)
    return left


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


def _settings(place: SetupPlace) -> str:
    return _in_folder(place, "settings.json")


def _list_command_files(place: SetupPlace) -> list[OwnFile]:
    return [_make_command(place, *command) for command in commands.list_commands("{{args}}")]


def _make_command(place: SetupPlace, name: str, hint: str, text: str) -> OwnFile:
    path = _in_folder(place, os.path.join("commands", f"{name}.toml"))
    return OwnFile(
        path, f'# {OWN_MARK}\ndescription = {json.dumps(hint)}\nprompt = """\n{text}"""\n'
    )
