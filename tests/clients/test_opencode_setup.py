"""What is put into OpenCode's folder, and that it comes out again."""

import json
from pathlib import Path

import pytest

from holdfast.clients import commands
from holdfast.clients.config_file import parse_json
from holdfast.clients.opencode import MOMENTS, setup
from holdfast.clients.setup import OWN_MARK, SetupPlace

SHIM = "/home/dev/.local/share/holdfast/bin/holdfast"
FRAME = "\x1b[0m\n┌  MCP Servers\n│\n{}\n│\n└  1 server(s)\n"


def make_place(home: Path, **environment: str) -> SetupPlace:
    return SetupPlace(
        user_folder=str(home),
        environment=environment,
        worktree=str(home / "payouts"),
        shim=SHIM,
        tools=("session",),
    )


def list_names(home: Path, **environment: str) -> list[str]:
    edits = setup.list_edits(make_place(home, **environment))
    return [str(Path(edit.path).relative_to(home)) for edit in edits]


def test_everything_goes_into_the_folder_of_the_person(tmp_path: Path):
    assert list_names(tmp_path) == [
        ".config/opencode/opencode.json",
        ".config/opencode/plugin/holdfast.js",
        ".config/opencode/command/workspace.resume.md",
        ".config/opencode/command/workspace.stop-conversation.md",
        *(f".config/opencode/command/workspace.{name}.md" for name in commands.TYPES),
    ]
    moved = list_names(tmp_path, XDG_CONFIG_HOME=str(tmp_path / "settings"))
    assert moved[1] == "settings/opencode/plugin/holdfast.js"
    assert setup.list_project_edits(make_place(tmp_path)) == []
    assert setup.list_left(make_place(tmp_path)) == []


def test_a_new_settings_file_has_our_server_alone_and_goes_again(tmp_path: Path):
    """With the schema, which OpenCode would add itself: the file must not change under it."""
    settings = setup.list_edits(make_place(tmp_path))[0]

    text = settings.put_in(None)

    assert json.loads(text) == {
        "$schema": "https://opencode.ai/config.json",
        "mcp": {
            "holdfast": {
                "type": "local",
                "command": [SHIM, "mcp"],
                "enabled": True,
                "timeout": 20000,
            }
        },
    }
    assert settings.put_in(text) == text
    assert settings.take_out(text, None) is None
    with_theirs = text.replace('"mcp"', '"share": "disabled",\n  "mcp"', 1)
    left = settings.take_out(with_theirs, None)
    assert left is not None
    assert json.loads(left).keys() == {"$schema", "share"}


@pytest.mark.parametrize("name", ["opencode.json", "opencode.jsonc"])
@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "",
        '{"$schema": "https://opencode.ai/config.json"}',
        '{\n\t// mine\n\t"mcp": {\n\t\t"other": {"type": "remote"}, // last\n\t},\n}\n',
        '{"plugin": ["a"], "permission": {"*": "ask"}}\r\n',
    ],
)
def test_settings_of_the_person_keep_their_bytes(tmp_path: Path, name: str, text: str):
    folder = tmp_path / ".config" / "opencode"
    folder.mkdir(parents=True)
    (folder / name).write_text(text)

    settings = setup.list_edits(make_place(tmp_path))[0]
    with_ours = settings.put_in(text)

    assert settings.path == str(folder / name)
    before = parse_json(text or "{}")
    expected = {**before.get("mcp", {}), "holdfast": parse_json(with_ours)["mcp"]["holdfast"]}
    assert parse_json(with_ours) == {**before, "mcp": expected}
    assert settings.take_out(with_ours, text) == text


def test_a_plugin_of_an_older_release_is_replaced_and_removed(tmp_path: Path):
    plugin = setup.list_edits(make_place(tmp_path))[1]
    old = f"// {OWN_MARK}\nexport default {{}}\n"

    assert plugin.put_in(old) == setup.make_plugin(SHIM)
    assert plugin.take_out(old, None) is None
    assert plugin.put_in("export default {}") == "export default {}"


def test_the_check_runs_what_the_plugin_runs(tmp_path: Path):
    hooks = setup.list_hooks(make_place(tmp_path))

    assert hooks.keys() == MOMENTS.keys()
    for event, command in hooks.items():
        assert f"'{SHIM}' hook opencode {event} " in command
    assert 'spawn(SHIM, ["hook", "opencode", payload.hook_event_name]' in setup.make_plugin(SHIM)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (f"●  ✓ holdfast \x1b[90mconnected\n│      \x1b[90m{SHIM} mcp", True),
        ("●  ✗ holdfast \x1b[90mfailed\n│      ENOENT: no such file or directory", False),
        ("●  ○ holdfast \x1b[90mdisabled", False),
        ("●  ✓ holdfast-2 \x1b[90mconnected", None),
        ("▲  No MCP servers configured", None),
    ],
)
def test_what_the_list_says_about_our_server(line: str, expected: bool | None):
    assert setup.is_connected(FRAME.format(line)) is expected
