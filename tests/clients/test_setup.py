"""What is put into the settings of clients, and that it comes out again (TS23)."""

import errno
import json
import os
import shlex
import stat
import subprocess
import sys
import threading
import tomllib
from pathlib import Path

import pytest

import holdfast
from holdfast.app import App
from holdfast.clients import CLIENTS, commands, config_file, find_client, shim
from holdfast.clients.errors import SettingsFileBusyError, SettingsFileError
from holdfast.clients.installation import Installation
from holdfast.clients.setup import (
    JsonEdit,
    Member,
    OwnFile,
    SetupPlace,
    find_setup,
    make_hook_command,
)
from holdfast.ground.frozen import replace
from holdfast.ground.settings import load_settings
from tests.rig.fake_clients import Desk

TOOLS = ("session", "memory")


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def place(desk: Desk, **environment: str) -> SetupPlace:
    return SetupPlace(
        user_folder=str(desk.home),
        environment={**desk.environment, **environment},
        worktree=str(desk.worktree),
        shim=str(desk.shim),
        tools=TOOLS,
    )


def list_edits(desk: Desk, name: str):
    return find_setup(name).list_edits(place(desk))


def install(desk: Desk, name: str):
    return Installation(str(desk.data)).install(name, list_edits(desk, name))


def remove(desk: Desk, name: str):
    return Installation(str(desk.data)).remove(list_edits(desk, name))


def find_settings_path(desk: Desk, name: str) -> Path:
    return Path(list_edits(desk, name)[0].path)


# --- frozen ---------------------------------------------------------------------------------------

# Codex asks the person again when a single byte of a hook changes, and every client keeps what was
# installed until `init` is run again. So these are frozen: a new release must write the same.
GOLDEN = {
    "claude": {
        "SessionStart": None,
        "UserPromptSubmit": None,
        "PreToolUse": "Edit|Write|MultiEdit|NotebookEdit|mcp__holdfast__.*",
        "Stop": None,
        "SubagentStop": None,
        "SessionEnd": None,
    },
    "codex": {
        "SessionStart": None,
        "UserPromptSubmit": None,
        "PreToolUse": "apply_patch",
        "Stop": None,
        "Interrupt": None,
        "SubagentStop": None,
        "SessionEnd": None,
    },
    "gemini": {
        "SessionStart": None,
        "BeforeAgent": None,
        "AfterTool": "replace|write_file",
        "AfterAgent": None,
        "SessionEnd": None,
    },
}
HANDLERS = {
    "claude": {"timeout": 10},
    "codex": {"timeout": 10},
    "gemini": {"name": "holdfast", "timeout": 10000},
}
BRIEF = {("codex", "SessionEnd"): {"timeout": 3}, ("codex", "Interrupt"): {"timeout": 3}}


@pytest.mark.parametrize("name", GOLDEN)
def test_what_is_installed_for_hooks_never_changes(desk: Desk, name: str):
    install(desk, name)

    written = config_file.parse_json(find_settings_path(desk, name).read_text())["hooks"]

    program = f"'{desk.shim}'"
    for event, matcher in GOLDEN[name].items():
        command = f"[ -x {program} ] && {program} hook {name} {event} 2>/dev/null || true"
        handler = BRIEF.get((name, event), HANDLERS[name])
        group = {"hooks": [{"type": "command", "command": command, **handler}]}
        assert written.pop(event) == [{**({"matcher": matcher} if matcher else {}), **group}]
    assert not written


def test_the_server_is_entered_as_each_client_wants_it(desk: Desk):
    for name in GOLDEN:
        install(desk, name)
    command = str(desk.shim)

    claude = json.loads((desk.home / ".claude.json").read_text())
    assert claude == {
        "mcpServers": {"holdfast": {"type": "stdio", "command": command, "args": ["mcp"]}}
    }
    settings = json.loads((desk.home / ".claude" / "settings.json").read_text())
    assert settings["permissions"] == {"allow": ["mcp__holdfast__session", "mcp__holdfast__memory"]}
    gemini = json.loads((desk.home / ".gemini" / "settings.json").read_text())
    assert gemini["mcpServers"] == {
        "holdfast": {"command": command, "args": ["mcp"], "trust": True}
    }
    codex = tomllib.loads((desk.home / ".codex" / "config.toml").read_text())
    assert codex == {
        "mcp_servers": {
            "holdfast": {
                "command": command,
                "args": ["mcp"],
                "default_tools_approval_mode": "approve",
            }
        }
    }


@pytest.mark.parametrize("name", GOLDEN)
def test_every_moment_of_a_client_is_wired(desk: Desk, name: str):
    client = find_client(name)
    assert client is not None
    assert list(find_setup(name).list_hooks(place(desk))) == list(client.MOMENTS)


@pytest.mark.parametrize("name", GOLDEN)
def test_commands_can_be_read_by_their_client(desk: Desk, name: str):
    install(desk, name)

    paths = [Path(path) for path in find_setup(name).list_commands(place(desk))]

    assert len(paths) == len(commands.list_names())
    for path in paths:
        text = path.read_text()
        assert "MCP server `holdfast`" in text or ", kept by Holdfast: " in text
        if path.suffix == ".toml":
            assert set(tomllib.loads(text)) == {"description", "prompt"}
        else:
            assert text.startswith("---\n")


@pytest.mark.parametrize("name", CLIENTS)
def test_what_a_repository_is_given_names_no_path_and_no_server(desk: Desk, name: str):
    """A colleague without Holdfast must not notice it."""
    edits = find_setup(name).list_project_edits(place(desk))

    for edit in edits:
        text = edit.put_in(None)
        value = config_file.parse_json(text)
        assert set(value) == {"hooks"}
        assert str(desk.home) not in text
        for groups in value["hooks"].values():
            command = groups[0]["hooks"][0]["command"]
            done = subprocess.run(
                ["/bin/sh", "-c", command], env={}, input=b"{}", capture_output=True, check=False
            )
            assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


# --- TS23: a file of somebody else ----------------------------------------------------------------

HOOKS = '{"Stop": [{"hooks": [{"type": "command", "command": "mine"}]}]}'
FILES = {
    "missing": None,
    "empty": b"",
    "an empty object": b"{}",
    "unknown keys": b'{"theme": "dark", "future": {"a": [1, 2, {"b": null}]}}\n',
    "hooks of one's own": f'{{\n  "hooks": {HOOKS}\n}}\n'.encode(),
    "comments": b'{\n  // mine\n  "theme": "dark", /* so */\n  "hooks": {\n    // none\n  }\n}\n',
    "a comma at the end": b'{\n  "theme": "dark",\n  "permissions": {"allow": ["Bash"],},\n}',
    "CRLF": b'{\r\n\t"theme": "dark"\r\n}\r\n',
    "a byte order mark": b'\xef\xbb\xbf{\n    "theme": "dark"\n}\n',
    "one line": b'{"theme":"dark","hooks":{}}',
}


@pytest.mark.parametrize("name", GOLDEN)
@pytest.mark.parametrize("kind", FILES)
def test_ten_times_is_once_and_removal_gives_every_byte_back(desk: Desk, name: str, kind: str):
    path = find_settings_path(desk, name)
    content = FILES[kind]
    if content is not None:
        desk.write(str(path.relative_to(desk.home)), content)
    before = desk.read_all()

    install(desk, name)
    once = desk.read_all()
    for _ in range(9):
        assert install(desk, name) == []
    assert desk.read_all() == once != before
    remove(desk, name)

    assert desk.read_all() == before
    assert remove(desk, name) == []


@pytest.mark.parametrize("name", GOLDEN)
@pytest.mark.parametrize("kind", FILES)
def test_what_others_write_after_it_stays(desk: Desk, name: str, kind: str):
    """The client adds a key and prints its file anew: only ours goes."""
    path = find_settings_path(desk, name)
    content = FILES[kind]
    if content is not None:
        desk.write(str(path.relative_to(desk.home)), content)
    install(desk, name)
    value = config_file.parse_json(path.read_text())
    own = {"type": "command", "command": "theirs"}
    value["added"] = {"since": True}
    value["hooks"]["Stop" if name != "gemini" else "AfterAgent"].append({"hooks": [own]})
    path.write_text(json.dumps(value, indent=4))

    remove(desk, name)

    text = (content or b"{}").decode("utf-8-sig") or "{}"
    expected = config_file.parse_json(text)
    expected["added"] = {"since": True}
    event = "Stop" if name != "gemini" else "AfterAgent"
    groups = expected.setdefault("hooks", {}).get(event, [])
    expected["hooks"][event] = [*groups, {"hooks": [own]}]
    assert config_file.parse_json(path.read_text()) == expected


def test_a_server_that_a_person_had_wired_comes_back(desk: Desk):
    own = '{"mcpServers": {"holdfast": {"command": "uvx", "args": ["holdfast", "mcp"]}}, "a": 1}'
    file = desk.write(".claude.json", own)
    install(desk, "claude")
    file.write_text(file.read_text().replace('"a": 1', '"a": 2'))

    remove(desk, "claude")

    assert json.loads(file.read_text()) == json.loads(own.replace('"a": 1', '"a": 2'))


def test_what_was_there_is_kept_in_a_backup(desk: Desk):
    desk.write(".claude/settings.json", FILES["comments"])

    install(desk, "claude")

    backups = [path.read_bytes() for path in (desk.data / "backups").iterdir()]
    assert FILES["comments"] in backups


def test_a_backup_that_was_lost_is_not_taken_for_a_file_that_was_missing(desk: Desk):
    file = desk.write(".claude/settings.json", '{"theme": "dark"}')
    install(desk, "claude")
    for path in (desk.data / "backups").iterdir():
        path.unlink()

    remove(desk, "claude")

    assert json.loads(file.read_text()) == {"theme": "dark"}


def test_without_its_record_only_what_is_ours_is_removed(desk: Desk):
    file = desk.write(".claude/settings.json", '{"theme": "dark"}')
    install(desk, "claude")
    (desk.data / "installed.json").write_text("{broken")

    remove(desk, "claude")

    assert json.loads(file.read_text()) == {"theme": "dark"}


BROKEN = {
    "not JSON": b'{"theme": dark}',
    "cut off": b'{"theme": "dark", "hooks": {',
    "twice the same key": b'{"hooks": {}, "hooks": {}}',
    "an array": b"[]",
    "hooks that are a list": b'{"hooks": []}',
    "not UTF-8": b'{"theme": "\xff"}',
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_file_that_cannot_be_read_is_refused_and_nothing_changes(desk: Desk, kind: str):
    """Neither in that file nor in the others of that client."""
    desk.write(".gemini/settings.json", BROKEN[kind])
    before = desk.read_all()

    with pytest.raises(SettingsFileError, match=r"settings\.json cannot be changed"):
        install(desk, "gemini")

    assert desk.read_all() == before


def test_a_broken_last_file_leaves_the_first_as_they_were(desk: Desk):
    desk.write(".codex/config.toml", "model = \n")
    before = desk.read_all()
    with pytest.raises(SettingsFileError, match=r"config\.toml"):
        install(desk, "codex")
    assert desk.read_all() == before


def test_a_read_only_file_is_left_alone_and_so_are_the_others(desk: Desk):
    """Found while writing: what was written before it is taken back."""
    file = desk.write(".codex/config.toml", 'model = "x"\n')
    file.chmod(0o444)
    before = desk.read_all()

    with pytest.raises(SettingsFileError, match="it is read-only"):
        install(desk, "codex")

    assert desk.read_all() == before
    assert not Installation(str(desk.data)).list_files()


def test_a_read_only_folder_is_left_alone(desk: Desk):
    file = desk.write(".gemini/settings.json", "{}")
    file.parent.chmod(0o555)
    try:
        with pytest.raises(SettingsFileError, match=r"its folder .* is read-only"):
            install(desk, "gemini")
    finally:
        file.parent.chmod(0o755)
    assert file.read_text() == "{}"


def test_a_link_is_followed_and_stays_a_link(desk: Desk):
    """A manager of settings keeps the file elsewhere."""
    target = desk.write("dotfiles/claude.json", '{"theme": "dark"}\n')
    target.chmod(0o640)
    link = desk.home / ".claude" / "settings.json"
    link.parent.mkdir()
    link.symlink_to(target)

    install(desk, "claude")

    assert link.is_symlink()
    assert "hooks" in json.loads(target.read_text())
    assert target.stat().st_mode & 0o777 == 0o640
    remove(desk, "claude")
    assert link.is_symlink()
    assert target.read_text() == '{"theme": "dark"}\n'


def test_a_repository_cannot_lead_a_change_out_of_it(desk: Desk):
    file = desk.write(".claude/settings.json", "{}")
    (desk.worktree / ".claude").symlink_to(file.parent)
    edits = find_setup("claude").list_project_edits(place(desk))
    installation = Installation(str(desk.data), inside=str(desk.worktree))

    with pytest.raises(SettingsFileError, match="leads out of this repository"):
        installation.install("claude", edits)

    assert file.read_text() == "{}"


class Busy:
    """An edit of a file that somebody else writes between the plan and the write."""

    def __init__(self, path: Path, times: int):
        self.file, self.left = path, times
        self.inner = JsonEdit(str(path), (Member(("ours",), 1),))

    @property
    def path(self) -> str:
        return str(self.file)

    def put_in(self, text: str | None) -> str:
        changed = self.inner.put_in(text)
        if self.left:
            self.left -= 1
            self.file.write_text(json.dumps({"theirs": self.left}))
        return changed

    def take_out(self, text: str, before: str | None) -> str | None:
        return self.inner.take_out(text, before)


def test_a_file_that_is_written_meanwhile_is_planned_again(desk: Desk):
    file = desk.write("busy.json", "{}")

    Installation(str(desk.data)).install("claude", [Busy(file, 2)])

    assert json.loads(file.read_text()) == {"theirs": 0, "ours": 1}


def test_a_file_that_is_written_all_the_time_is_given_up(desk: Desk):
    file = desk.write("busy.json", "{}")
    other = OwnFile(str(desk.home / "other.md"), "Written by holdfast init")

    with pytest.raises(SettingsFileBusyError, match=r"busy\.json"):
        Installation(str(desk.data)).install("claude", [other, Busy(file, 99)])

    assert "ours" not in file.read_text()
    assert not (desk.home / "other.md").exists()


@pytest.mark.parametrize("name", GOLDEN)
def test_a_kill_at_any_rename_costs_nothing(desk: Desk, name: str):
    """Neither a file of the person's nor a leftover, after the next run and an uninstall."""
    path = find_settings_path(desk, name)
    desk.write(str(path.relative_to(desk.home)), FILES["comments"])
    before = desk.read_all()
    kills = 0
    while _is_killed(desk, name, kills):
        kills += 1
        install(desk, name)
        remove(desk, name)
        assert desk.read_all() == before
    assert kills >= len(list_edits(desk, name))


def _is_killed(desk: Desk, name: str, survived: int) -> bool:
    """Install in a process that dies with its next rename after so many."""
    child = os.fork()
    if child == 0:
        rename, left = os.rename, survived

        def rename_or_die(*arguments, **more):
            nonlocal left
            if not left:
                os._exit(9)
            left -= 1
            rename(*arguments, **more)

        os.rename = rename_or_die
        install(desk, name)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) == 9


@pytest.mark.parametrize(("mode", "kept"), [(0o640, 0o600), (0o664, 0o644)])
def test_a_file_of_a_group_that_the_person_is_not_in_is_changed(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, mode: int, kept: int
):
    file = desk.write(".claude/settings.json", "{}")
    file.chmod(mode)

    def refuse(*_: int) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "fchown", refuse)
    install(desk, "claude")

    assert "hooks" in json.loads(file.read_text())
    assert stat.S_IMODE(file.stat().st_mode) == kept


def test_two_who_install_at_the_same_time_install_once(desk: Desk):
    threads = [threading.Thread(target=install, args=(desk, "claude")) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    together = desk.read_all()
    remove(desk, "claude")
    assert desk.read_all() == {}
    install(desk, "claude")
    assert desk.read_all() == together


def test_a_command_of_the_same_name_that_is_not_ours_stays(desk: Desk):
    file = desk.write(".claude/commands/workspace.resume.md", "mine\n")
    install(desk, "claude")
    assert file.read_text() == "mine\n"
    remove(desk, "claude")
    assert file.read_text() == "mine\n"


def test_an_older_command_of_ours_is_replaced(desk: Desk):
    file = desk.write(".claude/commands/workspace.resume.md", "Written by holdfast init\nold")
    install(desk, "claude")
    assert "old" not in file.read_text().split()


def test_hooks_of_another_data_folder_give_way(desk: Desk):
    """Else every hook would fire twice."""
    install(desk, "claude")
    other = SetupPlace(**{**vars(place(desk)), "shim": "/other/bin/holdfast"})
    edits = find_setup("claude").list_edits(other)

    Installation(str(desk.home / "other-data")).install("claude", edits)

    text = (desk.home / ".claude" / "settings.json").read_text()
    assert str(desk.shim) not in text
    assert text.count("/other/bin/holdfast' hook claude Stop ") == 1


@pytest.mark.parametrize("name", GOLDEN)
def test_what_an_older_version_has_put_in_comes_out_too(desk: Desk, name: str):
    """A newer one does not know a hook and a tool any more; somebody else writes in between."""
    path = find_settings_path(desk, name)
    install(desk, name)
    newer = replace(place(desk), tools=())
    edits = find_setup(name).list_edits(newer)
    hooks = edits[0]
    assert isinstance(hooks, JsonEdit)
    edits[0] = JsonEdit(hooks.path, hooks.items[1:])
    installation = Installation(str(desk.data))
    installation.install(name, edits)
    written = json.loads(path.read_text())
    path.write_text(json.dumps({**written, "model": "x"}))

    installation.install(name, edits)
    installation.remove(edits)

    assert json.loads(path.read_text()) == {"model": "x"}


def test_files_that_a_client_keeps_elsewhere_are_found(desk: Desk):
    elsewhere = place(
        desk,
        CODEX_HOME="/elsewhere/codex",
        CLAUDE_CONFIG_DIR="/elsewhere/claude",
        GEMINI_CLI_HOME="/elsewhere/gemini",
    )
    for name in ("claude", "codex", "gemini"):
        for edit in find_setup(name).list_edits(elsewhere):
            assert edit.path.startswith(f"/elsewhere/{name}/")


# --- what is left for the person ------------------------------------------------------------------


def test_codex_trusts_hooks_by_their_place_in_the_file(desk: Desk):
    desk.write(".codex/hooks.json", '{"hooks": {"Stop": [{"hooks": []}]}}')
    install(desk, "codex")
    setup = find_setup("codex")
    path = desk.home / ".codex"
    assert "Trust all" in setup.list_left(place(desk))[0]

    states = ""
    for event in setup.list_hooks(place(desk)):
        name = "".join(f"_{c.lower()}" if c.isupper() else c for c in event).lstrip("_")
        index = 1 if event == "Stop" else 0
        states += f'\n[hooks.state."{path}/hooks.json:{name}:{index}:0"]\ntrusted_hash = "x"\n'
    config = path / "config.toml"
    config.write_text(config.read_text() + states)

    assert setup.list_left(place(desk)) == []


@pytest.mark.parametrize(
    ("files", "is_trusted"),
    [
        ({}, False),
        ({"trustedFolders.json": '{"HOME": "TRUST_FOLDER"}'}, True),
        ({"trustedFolders.json": '{"HOME/other": "TRUST_FOLDER"}'}, False),
        ({"trustedFolders.json": '{"HOME/other": "TRUST_PARENT"}'}, True),
        ({"trustedFolders.json": '{"HOME/payouts": "DO_NOT_TRUST"}'}, False),
        ({"trustedFolders.json": "{broken"}, False),
        ({"settings.json": '{"security": {"folderTrust": {"enabled": false}}}'}, True),
    ],
)
def test_gemini_says_which_folders_it_trusts(desk: Desk, files: dict[str, str], is_trusted: bool):
    for name, text in files.items():
        desk.write(f".gemini/{name}", text.replace("HOME", str(desk.home)))
    assert (find_setup("gemini").list_left(place(desk)) == []) is is_trusted


def test_claude_trusts_a_folder_below_a_trusted_one(desk: Desk):
    setup = find_setup("claude")
    assert "trust" in setup.list_left(place(desk))[0]
    projects = {str(desk.home): {"hasTrustDialogAccepted": True}}
    desk.write(".claude.json", json.dumps({"projects": projects}))
    assert setup.list_left(place(desk)) == []


@pytest.mark.parametrize(
    ("name", "path", "text"),
    [
        ("claude", ".claude/settings.json", '{"disableAllHooks": true}'),
        ("codex", ".codex/config.toml", "[features]\nhooks = false\n"),
        ("gemini", ".gemini/settings.json", '{"hooksConfig": {"enabled": false}}'),
    ],
)
def test_hooks_that_a_person_has_switched_off_are_named(desk: Desk, name, path, text):
    desk.write(path, text)
    assert "runs no hooks at all" in find_setup(name).list_left(place(desk))[0]


@pytest.mark.parametrize(
    ("name", "path", "text", "named"),
    [
        ("claude", ".claude/settings.json", '{"permissions": {"deny": ["mcp__holdfast"]}}', "deny"),
        ("claude", "repo/.claude/settings.local.json", '{"disableAllHooks": true}', "no hooks"),
        (
            "claude",
            "repo/.claude/settings.json",
            '{"disabledMcpjsonServers": ["holdfast"]}',
            "Mcpj",
        ),
        (
            "claude",
            ".claude.json",
            '{"projects": {"REPO": {"disabledMcpServers": ["holdfast"]}}}',
            "/mcp",
        ),
        ("codex", ".codex/config.toml", "[mcp_servers.holdfast]\nenabled = false\n", "enabled"),
        (
            "codex",
            "repo/.codex/config.toml",
            '[mcp_servers.holdfast]\ndisabled_tools = ["memory"]\n',
            "(memory)",
        ),
        (
            "codex",
            ".codex/config.toml",
            "[memories]\ndisable_on_external_context = true\n",
            "memories",
        ),
        ("gemini", ".gemini/settings.json", '{"mcp": {"excluded": ["holdfast"]}}', "mcp.excluded"),
        ("gemini", "repo/.gemini/settings.json", '{"mcp": {"allowed": ["other"]}}', "mcp.allowed"),
        (
            "gemini",
            ".gemini/settings.json",
            '{"hooksConfig": {"disabled": ["holdfast"]}}',
            "disabled",
        ),
        (
            "gemini",
            ".gemini/settings.json",
            '{"mcpServers": {"holdfast": {"includeTools": []}}}',
            "memory",
        ),
        (
            "gemini",
            ".gemini/settings.json",
            '{"tools": {"exclude": ["mcp_holdfast_memory"]}}',
            "(memory)",
        ),
        (
            "opencode",
            ".config/opencode/opencode.json",
            '{"mcp": {"holdfast": {"enabled": false}}}',
            "enabled",
        ),
        ("opencode", "repo/opencode.jsonc", '{"tools": {"holdfast*": false}} // no', "holdfast*"),
        (
            "opencode",
            "repo/.opencode/opencode.json",
            '{"permission": {"holdfast_memory": "deny"}}',
            "holdfast_memory",
        ),
    ],
)
def test_settings_that_keep_agents_off_our_tools_are_named(desk: Desk, name, path, text, named):
    before = find_setup(name).list_left(make_working_place(desk))
    desk.write(path, text.replace("REPO", str(desk.home / "repo")))

    left = find_setup(name).list_left(make_working_place(desk))

    [sentence] = [sentence for sentence in left if sentence not in before]
    assert named in sentence


def make_working_place(desk: Desk) -> SetupPlace:
    return replace(place(desk), worktree=str(desk.home / "repo"), tools=("memory", "session"))


@pytest.mark.parametrize(
    ("name", "path", "text"),
    [
        ("claude", ".claude/settings.json", '{"permissions": {"deny": ["mcp__other", "Bash(x)"]}}'),
        ("codex", ".codex/config.toml", "[mcp_servers.other]\nenabled = false\n"),
        ("gemini", ".gemini/settings.json", '{"mcp": {"allowed": ["holdfast"], "excluded": 7}}'),
        (
            "opencode",
            ".config/opencode/opencode.json",
            '{"tools": {"web*": false}, "permission": 1}',
        ),
    ],
)
def test_settings_about_others_are_not_named(desk: Desk, name, path, text):
    before = find_setup(name).list_left(make_working_place(desk))
    desk.write(path, text)

    assert find_setup(name).list_left(make_working_place(desk)) == before


@pytest.mark.parametrize(
    ("name", "output", "expected"),
    [
        ("claude", "other: x - ✔ Connected\nholdfast: /x mcp - ✔ Connected\n", True),
        ("claude", "holdfast: /x mcp - ✘ Failed to connect — ENOENT\n", False),
        ("claude", "No MCP servers configured.\n", None),
        ("gemini", "✓ holdfast: /x mcp (stdio) - Connected\n", True),
        ("gemini", "○ holdfast: /x mcp (stdio) - Disabled\n", False),
        ("gemini", "✗ holdfast: /x mcp (stdio) - Disconnected\n", False),
        ("gemini", "", None),
    ],
)
def test_the_words_of_a_client_about_our_server_are_understood(name, output, expected):
    assert find_setup(name).is_connected(output) is expected


# --- the installed command ------------------------------------------------------------------------

HOMES = ["plain", "with a blank", "it's", 'quo"te', "dollar$HOME", "back`tick`", "new{brace}"]


def run_shell(command: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        ["/bin/sh", "-c", command], env=environment, input=b"{}", capture_output=True, check=False
    )


def write_program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('#!/bin/sh\nprintf "%s|" "$@" "${HOLDFAST_HOME-unset}"\n')
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("name", HOMES)
@pytest.mark.parametrize("is_home_chosen", [False, True])
def test_the_installed_command_finds_the_program_from_anywhere(
    tmp_path: Path, name: str, is_home_chosen: bool
):
    home = tmp_path / name
    program = write_program(tmp_path / name / "venv" / "holdfast")
    settings = {"HOLDFAST_HOME": str(home)} if is_home_chosen else {}
    shim.write_shim(str(home), str(program), settings)

    done = run_shell(make_hook_command(shim.find_shim(str(home)), "claude", "Stop"))

    told = str(home) if is_home_chosen else "unset"
    assert done.stdout.decode() == f"hook|claude|Stop|{told}|"


def test_a_data_folder_that_the_client_knows_wins(tmp_path: Path):
    program = write_program(tmp_path / "holdfast")
    shim.write_shim(str(tmp_path), str(program), {"HOLDFAST_HOME": str(tmp_path)})
    done = run_shell(f"{shlex.quote(shim.find_shim(str(tmp_path)))} x", HOLDFAST_HOME="/mine")
    assert done.stdout == b"x|/mine|"


@pytest.mark.parametrize("path", ["", "/nowhere", None])
def test_without_a_program_the_installed_command_says_nothing(tmp_path: Path, path: str | None):
    shim.write_shim(str(tmp_path), "/nowhere/holdfast", {})
    environment = {} if path is None else {"PATH": path}

    done = run_shell(make_hook_command(shim.find_shim(str(tmp_path)), "gemini", "X"), **environment)

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_without_a_program_the_installed_command_is_a_server_that_has_no_tools(tmp_path: Path):
    """Every client reports a server that does not answer."""
    shim.write_shim(str(tmp_path), "/nowhere/holdfast", {})
    requests = [
        '{"method":"initialize","params":{"protocolVersion":"2025-06-18"},"jsonrpc":"2.0","id":0}',
        '{"jsonrpc":"2.0","method":"notifications/initialized"}',
        '{"jsonrpc": "2.0", "id": "a-1", "method": "tools/list", "params": {}}',
        '{"jsonrpc":"2.0","id":2,"method":"ping"}',
    ]

    done = subprocess.run(
        [shim.find_shim(str(tmp_path)), "mcp"],
        env={},
        input="\n".join([*requests, ""]).encode(),
        capture_output=True,
        check=True,
    )

    first, *rest = [json.loads(line) for line in done.stdout.splitlines()]
    assert (first["id"], first["result"]["protocolVersion"]) == (0, "2025-06-18")
    assert [(answer["id"], answer["result"]) for answer in rest] == [
        ("a-1", {"tools": []}),
        (2, {}),
    ]


def test_without_the_data_folder_the_installed_command_says_nothing(tmp_path: Path):
    done = run_shell(make_hook_command(shim.find_shim(str(tmp_path)), "gemini", "BeforeAgent"))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_program_that_moved_is_found_on_the_path(tmp_path: Path):
    shim.write_shim(str(tmp_path), "/old/holdfast", {})
    moved = write_program(tmp_path / "new" / "holdfast")
    done = run_shell(
        make_hook_command(shim.find_shim(str(tmp_path)), "codex", "Stop"), PATH=str(moved.parent)
    )
    assert done.stdout == b"hook|codex|Stop|unset|"


def test_the_installed_command_does_not_find_itself(tmp_path: Path):
    """Its folder may be on the PATH."""
    shim.write_shim(str(tmp_path), "/old/holdfast", {})
    path = Path(shim.find_shim(str(tmp_path)))
    done = run_shell(f"{path} mcp", PATH=f"{path.parent}:/usr/bin:/bin")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_program_that_is_broken_is_harmless(tmp_path: Path):
    program = tmp_path / "holdfast"
    program.write_text("#!/no/such/python\n")
    program.chmod(0o755)
    shim.write_shim(str(tmp_path), str(program), {})
    done = run_shell(make_hook_command(shim.find_shim(str(tmp_path)), "gemini", "BeforeAgent"))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


LONG = "#!/bin/sh\n'''exec' {} \"$0\" \"$@\"\n' '''\n"  # as pip writes it for a long path
BROKEN_PROGRAMS = {
    "interpreter gone": "#!/no/such/python\n",
    "interpreter gone, with a blank and an option": "#! /no/such/python -I\n",
    "interpreter gone, with a long path": LONG.format("/no/such/python"),
    "interpreter gone, with a blank in its path": LONG.format('"/no such/python"'),
    "package gone": f"#!{sys.executable}\nimport holdfast_that_is_gone\n",
}


def write_broken(path: Path, kind: str) -> Path:
    path.parent.mkdir()
    path.write_text(BROKEN_PROGRAMS[kind])
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("kind", BROKEN_PROGRAMS)
def test_a_program_that_does_not_start_is_a_server_that_has_no_tools(tmp_path: Path, kind: str):
    program = write_broken(tmp_path / "old" / "holdfast", kind)
    shim.write_shim(str(tmp_path), str(program), {})

    done = subprocess.run(
        [shim.find_shim(str(tmp_path)), "mcp"],
        env={"PATH": f"{program.parent}:/usr/bin:/bin"},
        input=b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n',
        capture_output=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["result"] == {"tools": []}


@pytest.mark.parametrize("kind", BROKEN_PROGRAMS)
def test_a_program_that_does_not_start_gives_way_to_one_on_the_path(tmp_path: Path, kind: str):
    """A hook has no time to try a package; a server has."""
    program = write_broken(tmp_path / "old" / "holdfast", kind)
    shim.write_shim(str(tmp_path), str(program), {})
    moved = write_program(tmp_path / "new" / "holdfast")
    command = shlex.quote(shim.find_shim(str(tmp_path)))
    path = f"{program.parent}:{moved.parent}"

    assert run_shell(f"{command} mcp", PATH=path).stdout == b"mcp|unset|"
    if kind != "package gone":
        assert run_shell(f"{command} hook x y", PATH=path).stdout == b"hook|x|y|unset|"


def test_a_program_below_the_folder_that_a_client_was_started_in_is_not_run(tmp_path: Path):
    shim.write_shim(str(tmp_path / "data"), "/old/holdfast", {})
    write_program(tmp_path / "bin" / "holdfast")
    command = shlex.quote(shim.find_shim(str(tmp_path / "data")))
    done = run_shell(f"cd {shlex.quote(str(tmp_path))} && {command} hook", PATH="bin:")
    assert (done.returncode, done.stdout) == (0, b"")


@pytest.mark.parametrize("interpreter", ["/bin/sh", "/usr/bin/env sh"])
def test_a_program_that_names_its_interpreter_in_a_usual_way_is_started(
    tmp_path: Path, interpreter: str
):
    program = write_program(tmp_path / "holdfast")
    program.write_text(program.read_text().replace("/bin/sh", interpreter))
    shim.write_shim(str(tmp_path), str(program), {})
    done = run_shell(f"{shlex.quote(shim.find_shim(str(tmp_path)))} mcp", PATH="/usr/bin:/bin")
    assert done.stdout == b"mcp|unset|"


def test_a_hook_is_started_by_the_interpreter_and_everything_else_by_the_program(tmp_path: Path):
    """The program would answer; the hook stores what it is told, and says nothing."""
    home, folder = tmp_path / "it's", tmp_path / "project"
    folder.mkdir()
    for name in ("holdfast", "json", "_json", "re"):  # of the project, and not to be loaded
        (folder / f"{name}.py").write_text("raise SystemExit('loaded')")
    program = write_program(tmp_path / "holdfast")
    settings = {"HOLDFAST_HOME": str(home), "HOLDFAST_DEVELOPER": "ada"}
    shim.write_shim(str(home), str(program), settings, sys.executable)
    command = shlex.quote(shim.find_shim(str(home)))
    payload = {"hook_event_name": "Stop", "session_id": "c-1", "cwd": str(folder)}

    done = subprocess.run(
        ["/bin/sh", "-c", f"{command} hook claude Stop"],
        cwd=folder,
        env={},
        input=json.dumps({**payload, "last_assistant_message": "Done."}).encode(),
        capture_output=True,
        check=True,
    )

    assert (done.stdout, done.stderr) == (b"", b"")
    with App(load_settings(settings)) as app:
        assert app.count().stored == 1
    assert run_shell(f"{command} status").stdout == f"status|{home}|".encode()


@pytest.mark.parametrize("missing", ["interpreter", "package"])
def test_a_hook_is_started_by_the_program_where_the_interpreter_or_the_package_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str
):
    program = write_program(tmp_path / "holdfast")
    python = sys.executable if missing == "package" else "/no/such/python"
    if missing == "package":
        monkeypatch.setattr(holdfast, "__file__", "/no/such/package/__init__.py")
    shim.write_shim(str(tmp_path), str(program), {}, python)

    done = run_shell(make_hook_command(shim.find_shim(str(tmp_path)), "claude", "Stop"))

    assert done.stdout == b"hook|claude|Stop|unset|"


def test_the_interpreter_that_starts_hooks_is_beside_the_program_and_finds_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    installed = Path(sys.executable).parent / "holdfast"
    linked = tmp_path / "bin" / "holdfast"
    linked.parent.mkdir()
    linked.symlink_to(installed)  # as pipx does

    assert shim.find_python(str(installed)) == sys.executable
    assert shim.find_python(str(linked)) == sys.executable
    assert shim.find_python(str(write_program(tmp_path / "holdfast"))) is None
    monkeypatch.setattr(holdfast, "__file__", "/inside/of/a/program/holdfast/__init__.py")
    assert shim.find_python(str(installed)) is None


def test_the_installed_command_is_written_only_when_it_changes(tmp_path: Path):
    assert shim.write_shim(str(tmp_path), "/a/holdfast", {})
    assert not shim.write_shim(str(tmp_path), "/a/holdfast", {})
    assert shim.write_shim(str(tmp_path), "/b/holdfast", {})
    assert os.access(shim.find_shim(str(tmp_path)), os.X_OK)
