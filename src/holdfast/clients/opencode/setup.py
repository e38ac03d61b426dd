"""Setting up OpenCode: plugin, tools and commands of one person.

Its plugins lie in a folder of their own and are loaded from there without a question; a key for
them in the settings is never written, because the two generations of OpenCode want different ones.
"""

from __future__ import annotations

import fnmatch
import json
import os
import re
from typing import Any

from holdfast.clients import commands, config_file
from holdfast.clients.opencode import MOMENTS, NAME
from holdfast.clients.setup import (
    OWN_MARK,
    SERVER,
    ConfigEdit,
    JsonEdit,
    Member,
    OwnFile,
    SetupPlace,
    find_command_path,
    find_settings,
    find_value,
    make_hook_commands,
)
from holdfast.ground.patterns import compile_later

PROGRAM = "opencode"
OLDEST = (1, 18)
CHECKED = (1, 18, 33)
MOVED_BY: tuple[str, ...] = ("XDG_CONFIG_HOME",)
APPROVES_TOOLS = False  # it does not ask, unless the person has told it to
# Without plugins: for them it first asks npm for a package, and waits minutes where it gets none.
LIST_COMMAND = ("mcp", "list", "--pure")
SETTINGS = ("opencode.json", "opencode.jsonc")
EMPTY = '{\n  "$schema": "https://opencode.ai/config.json"\n}\n'  # as OpenCode itself begins one
TIMEOUT_MILLISECONDS = 20_000
SERVER_OFF = "OpenCode has the server of Holdfast disabled: set mcp.holdfast.enabled in {}"
TOOLS_OFF = "OpenCode keeps agents off tools of Holdfast: remove {!r} in {}"
PLUGIN = os.path.join(os.path.dirname(__file__), "plugin.js")

_COLOUR = compile_later(r"\x1b\[[0-9;]*m")


class SettingsEdit(JsonEdit):
    """Of a file that is missing OpenCode makes one with a schema, and of ours as well."""

    def put_in(self, text: str | None) -> str:
        return super().put_in(EMPTY if text is None else text)

    def take_out(self, text: str, before: str | None) -> str | None:
        left = super().take_out(text, before)
        is_ours = before is None and left is not None
        if is_ours and config_file.parse_json(left or "") == config_file.parse_json(EMPTY):
            return None
        return left


def list_edits(place: SetupPlace) -> list[ConfigEdit]:
    server = {
        "type": "local",
        "command": [place.shim, "mcp"],
        "enabled": True,
        "timeout": TIMEOUT_MILLISECONDS,
    }
    return [
        SettingsEdit(_find_settings_file(place), (Member(("mcp", SERVER), server),)),
        OwnFile(find_in_folder(place, "plugin", f"{SERVER}.js"), make_plugin(place.shim)),
        *_list_command_files(place),
    ]


def list_project_edits(place: SetupPlace) -> list[ConfigEdit]:
    """None: a plugin in the repository would be loaded in every colleague's OpenCode."""
    return []


def list_hooks(place: SetupPlace) -> dict[str, str]:
    """What the plugin runs, for a look whether it answers; the plugin itself needs no shell."""
    return make_hook_commands(place, NAME, MOMENTS)


def list_commands(place: SetupPlace) -> list[str]:
    return [file.path for file in _list_command_files(place)]


def find_command_file(place: SetupPlace, name: str) -> str | None:
    folders = [os.path.join(place.worktree, ".opencode"), find_in_folder(place)]
    forms = ["command/{}.md", "commands/{}.md"]
    return find_command_path(place, commands.name_with_dot(name), folders, forms)


def is_connected(output: str) -> bool | None:
    plain = _COLOUR.sub("", output)
    match = re.search(rf"^\W*{SERVER} +(\w+)", plain, re.MULTILINE)
    if match is None:
        return None
    return match[1] == "connected"


def list_left(place: SetupPlace) -> list[str]:
    """It trusts what is in its folder; what keeps agents off our tools is named."""
    left = []
    inside = [place.worktree, os.path.join(place.worktree, ".opencode")]
    folders = [find_in_folder(place), *inside]
    for path in [os.path.join(folder, name) for folder in folders for name in SETTINGS]:
        settings = find_settings(config_file.parse_json, path)
        if find_value(settings, "mcp", SERVER, "enabled") is False:
            left.append(SERVER_OFF.format(path))
        rules = find_value(settings, "tools")
        left += [TOOLS_OFF.format(rule, path) for rule in _list_rules(rules, False, place)]
        rules = find_value(settings, "permission")
        left += [TOOLS_OFF.format(rule, path) for rule in _list_rules(rules, "deny", place)]
    return left


def _list_rules(rules: Any, refusal: object, place: SetupPlace) -> list[str]:
    """The patterns that refuse one of our tools."""
    if not isinstance(rules, dict):
        return []
    tools = [f"{SERVER}_{tool}" for tool in place.tools]
    refused = [str(pattern) for pattern, value in rules.items() if value == refusal]
    return [pattern for pattern in refused if fnmatch.filter(tools, pattern)]


def make_plugin(shim: str) -> str:
    """The same text for the same program, so that `init` changes nothing where nothing is new."""
    with open(PLUGIN, encoding="utf-8") as opened:
        text = opened.read()
    return text.replace("@MARK@", OWN_MARK).replace('"@SHIM@"', json.dumps(shim))


def _find_settings_file(place: SetupPlace) -> str:
    """The one that is there; OpenCode reads both."""
    paths = [find_in_folder(place, name) for name in SETTINGS]
    return next((path for path in paths if os.path.lexists(path)), paths[0])


def find_in_folder(place: SetupPlace, *names: str) -> str:
    moved = place.environment.get("XDG_CONFIG_HOME")
    settings = moved or os.path.join(place.user_folder, ".config")
    return os.path.join(settings, "opencode", *names)


def _list_command_files(place: SetupPlace) -> list[OwnFile]:
    listed = commands.list_commands(commands.ARGUMENTS)
    return [_make_command(place, *command) for command in listed]


def _make_command(place: SetupPlace, name: str, hint: str, text: str) -> OwnFile:
    path = find_in_folder(place, "command", f"{name}.md")
    return OwnFile(path, f"---\ndescription: {hint}\n---\n<!-- {OWN_MARK} -->\n\n{text}")
