"""`init`, `doctor`, `status` and `uninstall`, as a person types them on a machine with clients."""

import json
import os
import pty
import select
import subprocess
import time
from pathlib import Path

import pytest

from holdfast.clients import config_file
from tests.rig.commands import PATIENCE_SECONDS, Answer
from tests.rig.fake_clients import Desk

pytestmark = pytest.mark.measures_processes

TRUSTED = '{"HOME": "TRUST_FOLDER"}'


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    desk = Desk(tmp_path)
    for name in ("claude", "codex", "gemini"):
        desk.install_client(name)
    return desk


def holdfast(desk: Desk, *arguments: str, cwd: Path | None = None, **env: str) -> Answer:
    done = subprocess.run(
        [desk.bin / "holdfast", *arguments],
        env={**desk.environment, **env},
        cwd=cwd or desk.worktree,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    return Answer(done.returncode, done.stdout.decode(), done.stderr.decode())


def type_answers(desk: Desk, *arguments: str, answers: str) -> Answer:
    """At a terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [desk.bin / "holdfast", *arguments],
        env=desk.environment,
        cwd=desk.worktree,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    os.write(ours, answers.encode())
    shown = b""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        readable, _, _ = select.select([ours], [], [], 0.1)
        try:
            chunk = os.read(ours, 1 << 16) if readable else None
        except OSError:  # the other side is closed
            break
        if chunk is None and process.poll() is not None:
            break
        shown += chunk or b""
    os.close(ours)
    return Answer(process.wait(PATIENCE_SECONDS), shown.decode().replace("\r\n", "\n"))


def trust_everything(desk: Desk) -> None:
    """What a person has approved in each client."""
    home = str(desk.home)
    desk.write(".gemini/trustedFolders.json", TRUSTED.replace("HOME", home))
    state = desk.home / ".claude.json"
    text = state.read_text() if state.exists() else ""
    keys = ("projects", home, "hasTrustDialogAccepted")
    desk.write(".claude.json", config_file.set_member(text, keys, True))
    config = desk.home / ".codex" / "config.toml"
    states = ""
    for event in json.loads((desk.home / ".codex" / "hooks.json").read_text())["hooks"]:
        name = "".join(f"_{c.lower()}" if c.isupper() else c for c in event).lstrip("_")
        states += f'\n[hooks.state."{home}/.codex/hooks.json:{name}:0:0"]\ntrusted_hash = "x"\n'
    config.write_text(config.read_text() + states)


def test_one_command_sets_up_every_client_and_says_what_it_did(desk: Desk):
    answer = holdfast(desk, "init", "--yes")

    assert answer.code == 0, answer
    assert (
        answer.out.splitlines()[0] == "Found Claude Code 2.1.325, Codex 0.166.0, Gemini CLI 0.61.0"
    )
    assert "Changes your user settings only; nothing in this repository" in answer.out
    assert "Data stays on this machine. Model calls made by Holdfast: 0" in answer.out
    for line in ("Claude Code ", "Codex       ", "Gemini CLI  "):
        reached = "hooks answer, last fired: not seen yet · tools connected · commands there"
        assert f"  {line} {reached}" in answer.out
    assert "Left for you: Codex asks once to trust the hooks" in answer.out
    assert "Undo: holdfast uninstall" in answer.out
    assert list((desk.worktree).iterdir()) == [desk.worktree / ".git"]


def test_again_is_once(desk: Desk):
    holdfast(desk, "init", "--yes")
    once = desk.read_all()
    shim = desk.shim.read_bytes()

    for _ in range(2):
        answer = holdfast(desk, "init", "--yes", "--json")
        assert answer.code == 0
        assert not any(client["changes"] for client in answer.document["clients"])

    assert desk.read_all() == once
    assert desk.shim.read_bytes() == shim


def test_uninstall_leaves_the_machine_as_it_was(desk: Desk):
    desk.write(".claude/settings.json", '{\n  // mine\n  "theme": "dark",\n}\n')
    desk.write(".codex/config.toml", 'model = "x"')
    before = desk.read_all()
    holdfast(desk, "init", "--yes")

    answer = holdfast(desk, "uninstall")

    assert answer.code == 0
    assert "Took Holdfast out of ~/.claude/settings.json" in answer.out
    assert "Your data stays in ~/.local/share/holdfast" in answer.out
    assert desk.read_all() == before
    assert not desk.shim.exists()
    assert holdfast(desk, "uninstall").out.startswith("Nothing to remove")


def test_a_dry_run_shows_the_diff_and_changes_nothing(desk: Desk):
    before = desk.read_all()

    answer = holdfast(desk, "init", "--dry-run")

    assert answer.code == 0
    assert "+[mcp_servers.holdfast]" in answer.out
    assert f"'{desk.shim}' hook claude UserPromptSubmit 2>/dev/null || true\"" in answer.out
    assert desk.read_all() == before
    assert not desk.data.exists()


def test_a_diff_does_not_show_the_whole_of_a_long_line(desk: Desk):
    desk.write(".claude.json", json.dumps({"a": "x" * 200, "token": "secret"}))
    answer = holdfast(desk, "init", "--dry-run", "--client", "claude")
    assert "secret" not in answer.out


def test_without_a_terminal_it_says_what_to_do_and_changes_nothing(desk: Desk):
    answer = holdfast(desk, "init")

    assert answer.code == 1
    assert "`holdfast init --yes` applies the safe answers." in answer.err
    assert "`holdfast init --dry-run` shows what would be changed." in answer.err
    assert not desk.data.exists()
    assert holdfast(desk, "init", "--json").document["code"] == "aborted"


def begin_repository(desk: Desk) -> None:
    (desk.worktree / ".git").rmdir()
    origin = "git@github.com:acme/payouts.git"
    subprocess.run(["git", "init", "-q", desk.worktree], check=True)
    subprocess.run(["git", "-C", desk.worktree, "remote", "add", "origin", origin], check=True)


def test_at_a_terminal_it_asks_twice_and_shows_the_diff_on_request(desk: Desk):
    begin_repository(desk)

    answer = type_answers(desk, "init", answers="n\nd\ny\n")

    assert answer.code == 0, answer
    assert "Share notes through git? [y/N]: " in answer.out
    assert answer.out.count("Apply? [Y/n/d]") == 2
    assert "+[mcp_servers.holdfast]" in answer.out
    assert "Set up: Claude Code, Codex, Gemini CLI" in answer.out
    assert not (desk.data / "settings.json").exists()


def test_a_no_changes_nothing(desk: Desk):
    begin_repository(desk)
    answer = type_answers(desk, "init", answers="y\nn\n")
    assert answer.code == 1
    assert "Nothing was changed." in answer.out
    assert not desk.data.exists()


def test_notes_are_switched_on_for_this_repository_alone(desk: Desk):
    begin_repository(desk)
    desk.data.mkdir(parents=True)
    desk.data.chmod(0o700)
    settings = desk.data / "settings.json"
    settings.write_text('{\n    "pinned_rules": ["Money is integer cents."]\n}\n')
    settings.chmod(0o600)

    assert holdfast(desk, "init", "--yes", "--shared-context").code == 0

    chosen = {"github.com/acme/payouts": {"shared_context": True}}
    assert json.loads(settings.read_text()) == {
        "pinned_rules": ["Money is integer cents."],
        "repositories": chosen,
    }
    assert '\n    "repositories"' in settings.read_text()
    holdfast(desk, "init", "--yes", "--no-shared-context")
    assert json.loads(settings.read_text())["repositories"] == {
        "github.com/acme/payouts": {"shared_context": False}
    }


def test_no_client_is_not_found_and_nothing_changes(tmp_path: Path):
    desk = Desk(tmp_path)
    answer = holdfast(desk, "init", "--yes")
    assert answer.code == 3
    assert "claude, codex, gemini" in answer.err
    assert not desk.data.exists()


def test_a_client_that_was_named_and_is_missing_is_an_error(desk: Desk):
    (desk.bin / "gemini").unlink()
    answer = holdfast(desk, "init", "--yes", "--client", "gemini")
    assert answer.code == 3
    assert not desk.data.exists()


@pytest.mark.parametrize(
    ("version", "reason"),
    [("1.0.3", "is older than 2.0"), ("", "`claude --version` does not answer")],
)
def test_a_client_that_is_old_or_broken_is_named_and_left_alone(
    desk: Desk, version: str, reason: str
):
    desk.install_client("claude", version=version)

    answer = holdfast(desk, "init", "--yes")

    assert answer.code == 0
    assert f"Claude Code is left as it is: {reason}" in answer.err
    assert "Set up: Codex, Gemini CLI" in answer.out
    assert not (desk.home / ".claude").exists()


def test_a_client_whose_settings_are_broken_is_left_out_and_the_others_are_set_up(desk: Desk):
    desk.write(".gemini/settings.json", "{broken")

    answer = holdfast(desk, "init", "--yes")

    assert answer.code == 0
    assert "Gemini CLI is left as it is: " in answer.err
    assert "line 1: a key is missing or cannot be read" in answer.err
    assert "Set up: Claude Code, Codex\n" in answer.out
    assert (desk.home / ".gemini" / "settings.json").read_text() == "{broken"


def test_a_newer_client_is_set_up_with_a_note(desk: Desk):
    desk.install_client("claude", version="9.0.1 (Claude Code)")
    answer = holdfast(desk, "init", "--yes", "--client", "claude")
    assert "Claude Code 9.0.1 is newer than what Holdfast was checked with" in answer.err


def test_hooks_work_in_this_folder_and_in_no_other(desk: Desk):
    holdfast(desk, "init", "--yes")
    folders = json.loads((desk.data / "folders.json").read_text())["folders"]
    assert list(folders) == [str(desk.worktree)]


def test_the_project_gets_hooks_that_colleagues_do_not_notice(desk: Desk):
    answer = holdfast(desk, "init", "--yes", "--project")

    assert answer.code == 0, answer
    assert "Changes files of this repository" in answer.out
    found = {path for path in desk.read_all() if not path.startswith(".local")}
    assert found == {"payouts/.claude/settings.json", "payouts/.gemini/settings.json"}
    text = (desk.worktree / ".claude" / "settings.json").read_text()
    assert str(desk.home) not in text
    assert "mcpServers" not in text
    assert "Codex has no hooks that a repository can bring along" in answer.err

    holdfast(desk, "uninstall", cwd=desk.home)
    assert desk.read_all() == {}


def test_nothing_of_the_repository_is_read(desk: Desk):
    """A checkout must not choose what is installed (TS24)."""
    (desk.worktree / ".claude").mkdir()
    (desk.worktree / ".claude" / "settings.json").write_text("{broken")
    (desk.worktree / "settings.json").write_text('{"shared_context": true}')
    (desk.worktree / ".env").write_text("HOLDFAST_HOME=/tmp/evil\n")

    answer = holdfast(desk, "init", "--yes", "--json")

    assert answer.document["done"] == ["claude", "codex", "gemini"]
    assert answer.document["command"] == str(desk.shim)


def test_a_data_folder_that_was_chosen_is_known_to_what_clients_start(desk: Desk, tmp_path: Path):
    chosen = tmp_path / "my data's"
    answer = holdfast(desk, "init", "--yes", HOLDFAST_HOME=str(chosen))

    assert answer.out.count("hooks answer") == 3, answer
    assert not desk.data.exists()
    assert (
        f"HOLDFAST_HOME='{str(chosen).replace(chr(39), chr(39) + chr(92) + chr(39) * 2)}'"
        in (chosen / "bin" / "holdfast").read_text()
    )


# --- doctor and status ----------------------------------------------------------------------------


def test_doctor_is_content_once_everything_is_approved(desk: Desk):
    holdfast(desk, "init", "--yes")
    first = holdfast(desk, "doctor")
    assert first.code == 5
    assert 'choose "Trust all and continue"' in first.out

    trust_everything(desk)

    answer = holdfast(desk, "doctor")
    assert answer.out.endswith("All is well.\n"), answer
    assert answer.code == 0


def test_doctor_says_what_was_lost_and_what_to_do(desk: Desk):
    holdfast(desk, "init", "--yes")
    trust_everything(desk)
    (desk.home / ".claude" / "settings.json").write_text("{}")
    (desk.home / ".gemini" / "settings.json").write_text("{broken")
    (desk.home / ".codex" / "skills" / "workspace-stop" / "SKILL.md").unlink()
    (desk.bin / "claude").unlink()

    answer = holdfast(desk, "doctor", "--json")

    assert answer.code == 5
    problems = "\n".join(answer.document["problems"])
    assert "Claude Code was set up and is not on the PATH any more" in problems
    assert ".gemini/settings.json cannot be changed: line 1" in problems
    assert "Codex has no /workspace commands" in problems


def test_doctor_notices_that_the_program_is_gone(desk: Desk):
    holdfast(desk, "init", "--yes")
    trust_everything(desk)
    program = desk.bin / "holdfast"
    moved = desk.home / "elsewhere" / "holdfast"
    moved.parent.mkdir()
    program.rename(moved)

    done = subprocess.run(
        [moved, "doctor"], env=desk.environment, cwd=desk.worktree, capture_output=True, check=False
    )

    assert done.returncode == 5
    assert b"finds no program any more. Run `holdfast init` again." in done.stdout
    assert b"hooks do not answer" in done.stdout


def test_doctor_before_init_says_so(desk: Desk):
    answer = holdfast(desk, "doctor")
    assert answer.code == 5
    assert "No client is set up. Run `holdfast init` in a repository." in answer.out


def test_doctor_says_where_hooks_do_nothing(desk: Desk):
    holdfast(desk, "init", "--yes")
    trust_everything(desk)
    answer = holdfast(desk, "doctor", cwd=desk.home)
    assert "Hooks do nothing in" in answer.err


def test_status_says_what_is_set_up_and_what_a_session_pays(desk: Desk):
    assert "none is set up; `holdfast init` does it" in holdfast(desk, "status").out
    holdfast(desk, "init", "--yes")
    payload = {
        "session_id": "s-1",
        "hook_event_name": "SessionStart",
        "source": "startup",
        "cwd": str(desk.worktree),
        "transcript_path": "",
    }
    subprocess.run(
        [desk.shim, "hook", "claude", "SessionStart"],
        env=desk.environment,
        input=json.dumps(payload).encode(),
        check=True,
        capture_output=True,
    )

    answer = holdfast(desk, "status")

    assert "Claude Code: hooks last fired: 2" in answer.out
    assert "Codex: hooks last fired: not seen yet · tools set up · commands there" in answer.out
    assert " ms a hook · " in answer.out
    assert "tokens where all of them are loaded" in answer.out
    uses = {use["name"]: use for use in holdfast(desk, "status", "--json").document["clients"]}
    assert uses["claude"]["hook_count"] == 1
    assert uses["claude"]["last_fired_at"] > 0
    assert uses["gemini"]["last_fired_at"] is None


# --- off and on -----------------------------------------------------------------------------------


def prompt(desk: Desk, words: str) -> None:
    payload = {
        "session_id": "s-1",
        "hook_event_name": "UserPromptSubmit",
        "prompt": words,
        "prompt_id": words,
        "cwd": str(desk.worktree),
        "transcript_path": "",
    }
    subprocess.run(
        [desk.shim, "hook", "claude", "UserPromptSubmit"],
        env=desk.environment,
        input=json.dumps(payload).encode(),
        check=True,
        capture_output=True,
    )


def count_events(desk: Desk) -> int:
    return int(holdfast(desk, "status", "--json").document["stored"])


def test_a_session_that_is_off_is_not_captured_until_it_is_on_again(desk: Desk):
    holdfast(desk, "init", "--yes")
    prompt(desk, "first")
    before = count_events(desk)

    answer = holdfast(desk, "off")
    prompt(desk, "second")

    assert answer.code == 0, answer
    assert "Claude Code, begun" in answer.out
    assert "holdfast forget --session" in answer.err
    assert count_events(desk) == before
    assert holdfast(desk, "off").code == 3

    assert holdfast(desk, "on").code == 0
    prompt(desk, "third")
    assert count_events(desk) == before + 1


def test_off_without_a_session_says_so(desk: Desk):
    answer = holdfast(desk, "off")
    assert answer.code == 3
    assert "No open session of a client is known" in answer.err
