"""Setting up Codex CLI: hooks, tools and skills of one person.

It trusts a hook by a hash of its group, so nothing of a group may ever change. It lists servers
without connecting to them, and has no commands of a person's own, only skills.
"""

from __future__ import annotations

import json
import os
import re
from typing import Any

from holdfast.clients import commands, config_file, toml_file
from holdfast.clients.codex import MOMENTS, NAME
from holdfast.clients.setup import (
    OWN_MARK,
    SERVER,
    ConfigEdit,
    HookGroup,
    JsonEdit,
    OwnFile,
    SetupPlace,
    TomlTable,
    describe_tool_limits,
    find_command_path,
    find_settings,
    find_text,
    find_value,
    list_values,
    make_groups,
    make_hook_commands,
)

PROGRAM = "codex"
OLDEST = (0, 153)  # the first that is known to have every hook that is wired
CHECKED = (0, 166, 0)
MOVED_BY: tuple[str, ...] = ("CODEX_HOME",)
APPROVES_TOOLS = True
LIST_COMMAND = None
MATCHERS = {"PreToolUse": "apply_patch"}
TIMEOUT_SECONDS = 10
BRIEF, BRIEF_SECONDS = ("SessionEnd", "Interrupt"), 3  # it warns at every start of a longer one
HOOKS_OFF = "Codex runs no hooks at all: remove `hooks = false` from"
SERVER_OFF = "Codex has the server of Holdfast disabled: remove `enabled = false` in {}"
TOOLS_OFF = (
    "Codex keeps agents off tools of Holdfast ({}): see enabled_tools and disabled_tools in {}"
)
NO_MEMORIES = (
    "Codex makes no memories of sessions that use tools such as those of Holdfast: "
    "remove `disable_on_external_context` from {}"
)
NOT_TRUSTED = (
    'Codex asks once to trust the hooks when you start it: choose "Trust all and continue"'
)
SKILLS = {name: commands.name_skill(name) for name in commands.list_names()}


def list_edits(place: SetupPlace) -> list[ConfigEdit]:
    server = (
        f"command = {json.dumps(place.shim, ensure_ascii=False)}",
        'args = ["mcp"]',
        'default_tools_approval_mode = "approve"',
    )
    return [
        JsonEdit(_hooks_file(place), _make_groups(place)),
        TomlTable(find_config_file(place), f"mcp_servers.{SERVER}", server),
        *_list_skills(place),
    ]


def _make_groups(place: SetupPlace) -> tuple[HookGroup, ...]:
    groups: list[HookGroup] = []
    for event, command in list_hooks(place).items():
        seconds = BRIEF_SECONDS if event in BRIEF else TIMEOUT_SECONDS
        groups += make_groups({event: command}, MATCHERS, timeout=seconds)
    return tuple(groups)


def list_project_edits(place: SetupPlace) -> list[ConfigEdit]:
    """None: it would ask every colleague to review the hooks."""
    return []


def list_hooks(place: SetupPlace) -> dict[str, str]:
    return make_hook_commands(place, NAME, MOMENTS)


def list_commands(place: SetupPlace) -> list[str]:
    return [file.path for file in _list_skills(place)]


def find_command_file(place: SetupPlace, name: str) -> str | None:
    shared = os.path.join(place.user_folder, ".agents")
    inside = [os.path.join(place.worktree, folder) for folder in (".codex", ".agents")]
    folders = [*inside, _folder(place), shared]
    return find_command_path(place, commands.name_skill(name), folders, ["skills/{}/SKILL.md"])


def is_connected(output: str) -> bool | None:
    return None


def list_left(place: SetupPlace) -> list[str]:
    config = find_settings(toml_file.parse_toml, find_config_file(place))
    blocks = _list_blocks(place)
    if any(block.startswith(HOOKS_OFF) for block in blocks):
        return blocks
    state = find_value(config, "hooks", "state") or {}
    if all(_is_trusted(place, event, state) for event in MOMENTS):
        return blocks
    return [*blocks, NOT_TRUSTED]


def _list_blocks(place: SetupPlace) -> list[str]:
    """What keeps agents off our hooks and tools, in the person's settings and in this folder's."""
    left = []
    for path in (find_config_file(place), os.path.join(place.worktree, ".codex", "config.toml")):
        config = find_settings(toml_file.parse_toml, path)
        if find_value(config, "features", "hooks") is False:
            left.append(f"{HOOKS_OFF} {path}")
        server = find_value(config, "mcp_servers", SERVER) or {}
        if find_value(server, "enabled") is False:
            left.append(SERVER_OFF.format(path))
        only = find_value(server, "enabled_tools")
        off = list_values(find_value(server, "disabled_tools"))
        hidden = describe_tool_limits(off, None if only is None else list_values(only), place.tools)
        if hidden:
            left.append(TOOLS_OFF.format(hidden, path))
        if find_value(config, "memories", "disable_on_external_context"):
            left.append(NO_MEMORIES.format(path))
    return left


def _is_trusted(place: SetupPlace, event: str, state: Any) -> bool:
    """By the place of our handler in its file; the hash itself is Codex's own business."""
    command = list_hooks(place)[event]
    text = find_text(_hooks_file(place))
    found = config_file.find_handler(text, ("hooks", event), command)
    if found is None:
        return False
    group, handler = found
    name = re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()
    return f"{_hooks_file(place)}:{name}:{group}:{handler}" in state


def _folder(place: SetupPlace) -> str:
    return place.environment.get("CODEX_HOME") or os.path.join(place.user_folder, ".codex")


def _hooks_file(place: SetupPlace) -> str:
    return os.path.join(_folder(place), "hooks.json")


def find_config_file(place: SetupPlace) -> str:
    return os.path.join(_folder(place), "config.toml")


def _list_skills(place: SetupPlace) -> list[OwnFile]:
    asked_for = "what the person has typed behind the name of this skill"
    return [_make_skill(place, *command) for command in commands.list_commands(asked_for)]


def _make_skill(place: SetupPlace, command: str, hint: str, text: str) -> OwnFile:
    name = SKILLS[command]
    words = text
    for other, skill in SKILLS.items():
        words = words.replace(f"/{other}", f"${skill}")
    path = os.path.join(_folder(place), "skills", name, "SKILL.md")
    return OwnFile(
        path, f"---\nname: {name}\ndescription: {hint}\n---\n<!-- {OWN_MARK} -->\n\n{words}"
    )
