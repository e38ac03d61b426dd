"""Setting up Claude Code: hooks, tools and commands of one person."""

from __future__ import annotations

import os
import re
from typing import Any

from holdfast.clients import commands, config_file
from holdfast.clients.claude import MOMENTS, NAME
from holdfast.clients.setup import (
    OWN_MARK,
    SERVER,
    ConfigEdit,
    Element,
    JsonEdit,
    Member,
    OwnFile,
    SetupPlace,
    find_command_path,
    find_settings,
    find_value,
    list_values,
    make_groups,
    make_hook_commands,
    make_portable_hook_commands,
)
from holdfast.ground.patterns import compile_later

PROGRAM = "claude"
OLDEST = (2, 0)
CHECKED = (2, 1, 325)
MOVED_BY: tuple[str, ...] = ("CLAUDE_CONFIG_DIR",)
APPROVES_TOOLS = True
LIST_COMMAND = ("mcp", "list")
MATCHERS = {"PreToolUse": "Edit|Write|MultiEdit|NotebookEdit|mcp__holdfast__.*"}
HOOKS_OFF = "Claude Code runs no hooks at all: remove disableAllHooks from {}"
DENIED = "Claude Code keeps agents off Holdfast: remove {!r} from permissions.deny in {}"
REJECTED = "Claude Code rejects the server of Holdfast: take it out of disabledMcpjsonServers in {}"
SERVER_OFF = "Claude Code has the server of Holdfast disabled here: enable it in /mcp"
_DENIES_US = compile_later(rf"mcp__(?:{SERVER}(?:__.*|\*)?|\*)(?:\(.*\))?")
NOT_TRUSTED = 'Claude Code asks once whether you trust this folder: choose "Yes"'
TIMEOUT_SECONDS = 10  # at the end of a session it would stop a hook after 1.5 otherwise


def list_edits(place: SetupPlace) -> list[ConfigEdit]:
    permissions = [
        Element(("permissions", "allow"), f"mcp__{SERVER}__{tool}") for tool in place.tools
    ]
    groups = make_groups(list_hooks(place), MATCHERS, timeout=TIMEOUT_SECONDS)
    server = {"type": "stdio", "command": place.shim, "args": ["mcp"]}
    return [
        JsonEdit(_settings(place), (*groups, *permissions)),
        JsonEdit(find_state_file(place), (Member(("mcpServers", SERVER), server),)),
        *_list_command_files(place),
    ]


def list_project_edits(place: SetupPlace) -> list[ConfigEdit]:
    found = make_portable_hook_commands(NAME, MOMENTS)
    path = os.path.join(place.worktree, ".claude", "settings.json")
    return [JsonEdit(path, make_groups(found, MATCHERS, timeout=TIMEOUT_SECONDS))]


def list_hooks(place: SetupPlace) -> dict[str, str]:
    return make_hook_commands(place, NAME, MOMENTS)


def list_commands(place: SetupPlace) -> list[str]:
    return [file.path for file in _list_command_files(place)]


def find_command_file(place: SetupPlace, name: str) -> str | None:
    folders = [os.path.join(place.worktree, ".claude"), find_folder(place)]
    forms = ["commands/{}.md", "skills/{}/SKILL.md"]
    return find_command_path(place, commands.name_with_dot(name), folders, forms)


def is_connected(output: str) -> bool | None:
    match = re.search(rf"^{SERVER}: .*$", output, re.MULTILINE)
    if match is None:
        return None
    return "✔" in match[0] or match[0].endswith("Connected")


def list_left(place: SetupPlace) -> list[str]:
    left = _list_blocks(place)
    projects = find_settings(config_file.parse_json, find_state_file(place)).get("projects")
    if SERVER in list_values(find_value(projects, place.worktree, "disabledMcpServers")):
        left.append(SERVER_OFF)
    if not _is_trusted(projects, place.worktree):
        left.append(NOT_TRUSTED)
    return left


def _list_blocks(place: SetupPlace) -> list[str]:
    """What keeps agents off our hooks and tools, in the person's settings and in this folder's."""
    left = []
    inside = os.path.join(place.worktree, ".claude")
    paths = [os.path.join(inside, name) for name in ("settings.json", "settings.local.json")]
    for path in (_settings(place), *paths):
        settings = find_settings(config_file.parse_json, path)
        if settings.get("disableAllHooks"):
            left.append(HOOKS_OFF.format(path))
        denied = list_values(find_value(settings, "permissions", "deny"))
        left += [DENIED.format(rule, path) for rule in denied if _DENIES_US.fullmatch(rule)]
        if SERVER in list_values(settings.get("disabledMcpjsonServers")):
            left.append(REJECTED.format(path))
    return left


def _is_trusted(projects: Any, folder: str) -> bool:
    """What is above a folder stands for it."""
    if find_value(projects, folder, "hasTrustDialogAccepted"):
        return True
    above = os.path.dirname(folder)
    return above != folder and _is_trusted(projects, above)


def find_folder(place: SetupPlace) -> str:
    moved = place.environment.get("CLAUDE_CONFIG_DIR")
    return moved or os.path.join(place.user_folder, ".claude")


def _settings(place: SetupPlace) -> str:
    return os.path.join(find_folder(place), "settings.json")


def find_state_file(place: SetupPlace) -> str:
    moved = place.environment.get("CLAUDE_CONFIG_DIR")
    return os.path.join(moved or place.user_folder, ".claude.json")


def _list_command_files(place: SetupPlace) -> list[OwnFile]:
    listed = commands.list_commands(commands.ARGUMENTS)
    return [_make_command(place, *command) for command in listed]


def _make_command(place: SetupPlace, name: str, hint: str, text: str) -> OwnFile:
    path = os.path.join(find_folder(place), "commands", f"{name}.md")
    return OwnFile(path, f"---\ndescription: {hint}\n---\n<!-- {OWN_MARK} -->\n\n{text}")
