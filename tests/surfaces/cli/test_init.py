"""`init`, `doctor`, `status` and `uninstall`, as a person types them on a machine with clients."""

import json
import os
import pty
import select
import shutil
import subprocess
import sys
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
    approved = "Lets the tools of Holdfast run without a question in"
    assert f"{approved} Claude Code, Codex and Gemini CLI\n" in answer.out
    assert "without a question" in " ".join(holdfast(desk, "init", "--help").out.split())
    for line in ("Claude Code ", "Codex       ", "Gemini CLI  "):
        reached = "hooks answer, not fired yet · tools connected · commands there"
        assert f"  {line} {reached}" in answer.out
    assert "Left for you: Codex asks once to trust the hooks" in answer.out
    assert "Undo: holdfast uninstall" in answer.out
    assert list((desk.worktree).iterdir()) == [desk.worktree / ".git"]


def test_each_client_is_named_when_it_was_tried_and_those_that_are_waited_for(desk: Desk):
    """Some take long when they are started for the first time."""
    answer = holdfast(desk, "init", "--yes")

    looking, trying, *tried = answer.err.splitlines()
    assert looking == "Looking for the agent programs of this machine …"
    assert trying.startswith("Writing, then trying")
    titles = [line.split(" was tried")[0].strip() for line in tried]
    assert sorted(titles) == ["Claude Code", "Codex", "Gemini CLI"]
    for number, line in enumerate(tried, 1):
        waiting = [title for title in ("Claude Code", "Codex", "Gemini CLI") if title in line]
        assert len(waiting) == 4 - number
    assert holdfast(desk, "init", "--yes", "--json").err == ""
    assert "Codex was tried" in holdfast(desk, "doctor").err


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


def test_again_says_neither_that_it_writes_nor_that_it_approves(desk: Desk):
    first = holdfast(desk, "init", "--yes")
    assert "Hooks are switched on in ~/payouts\n" in first.out

    answer = holdfast(desk, "init", "--yes")

    assert "Nothing to change: all of it is there already" in answer.out
    assert "Trying whether each client reaches Holdfast …" in answer.err
    for words in ("Writing", "without a question", "switched on"):
        assert words not in answer.out + answer.err


def test_after_uninstall_no_client_is_listed_with_its_price(desk: Desk):
    holdfast(desk, "init", "--yes")
    prompt(desk, "first")
    assert "Claude Code: hooks last fired: 2" in holdfast(desk, "status").out
    holdfast(desk, "uninstall")
    status = holdfast(desk, "status")
    assert "Claude Code" not in status.out
    assert "none is set up; `holdfast init` does it" in status.out


def test_before_the_first_bundle_why_says_that_nothing_was_handed_over(desk: Desk):
    answer = holdfast(desk, "why")
    assert answer.code == 3
    assert "Nothing was handed over to an agent yet" in answer.err


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

    answer = type_answers(desk, "init", answers="d\nn\nd\ny\n")

    assert answer.code == 0, answer
    assert "Share notes (decisions, claims, next steps) through git? [y/N]: " in answer.out
    assert answer.out.count("(d = diff)") == 1
    assert answer.out.count("Apply? [Y/n/d]") == 2
    assert answer.out.count("+[mcp_servers.holdfast]") == 2
    assert "Set up: Claude Code, Codex, Gemini CLI" in answer.out
    assert not (desk.data / "settings.json").exists()


def test_a_no_changes_nothing(desk: Desk):
    begin_repository(desk)
    answer = type_answers(desk, "init", answers="y\nn\n")
    assert answer.code == 1
    assert "Nothing was changed." in answer.out
    assert "Error" not in answer.out
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
    [
        ("1.0.3", "is older than 2.0"),
        ("", "`claude --version` does not answer"),
        ("Error in settings.json: bad.", "`claude --version` answers: Error in settings.json: bad"),
    ],
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


@pytest.mark.parametrize("name", ["tab\t", "new\nline", "esc\x1b[31m"])
def test_a_folder_whose_sessions_could_not_be_stored_is_refused(desk: Desk, name: str):
    folder = desk.home / name
    (folder / ".git").mkdir(parents=True)

    answer = holdfast(desk, "init", "--yes", cwd=folder)

    assert answer.code == 2
    assert "worktree '" in answer.err
    assert not desk.shim.exists()


def test_a_second_repository_is_named_as_switched_on(desk: Desk):
    holdfast(desk, "init", "--yes")
    second = desk.home / "shop"
    (second / ".git").mkdir(parents=True)

    answer = holdfast(desk, "init", "--yes", cwd=second)

    assert "Nothing to change there; switches hooks on for ~/shop" in answer.out
    assert "Hooks are switched on in ~/shop\n" in answer.out


def test_init_in_a_tree_of_a_bare_clone_is_true_of_the_others(desk: Desk):
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@e"]
    origin, bare = desk.home / "shop", desk.home / "shop.git"
    subprocess.run([*git, "init", "-q", origin], check=True)
    subprocess.run([*git, "-C", origin, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    subprocess.run([*git, "clone", "-q", "--bare", origin, bare], check=True)
    for name in ("first", "second"):
        tree = desk.home / name
        subprocess.run([*git, "-C", bare, "worktree", "add", "-q", tree, "-b", name], check=True)

    holdfast(desk, "init", "--yes", cwd=desk.home / "first")

    noted = holdfast(desk, "doctor", cwd=desk.home / "second").err
    assert "Hooks do nothing" not in noted


def test_the_project_gets_hooks_that_colleagues_do_not_notice(desk: Desk):
    answer = holdfast(desk, "init", "--yes", "--project")

    assert answer.code == 0, answer
    assert "Changes files of this repository" in answer.out
    found = {path for path in desk.read_all() if not path.startswith(".local")}
    assert found == {"payouts/.claude/settings.json"}
    assert "Set up: Claude Code\n  Claude Code  hooks of this repository answer\n" in answer.out
    text = (desk.worktree / ".claude" / "settings.json").read_text()
    assert str(desk.home) not in text
    assert "mcpServers" not in text
    for title in ("Codex", "Gemini CLI"):
        assert f"{title} has no hooks that a repository can bring along" in answer.err
    status, doctor = holdfast(desk, "status"), holdfast(desk, "doctor")
    assert "Claude Code: hooks in this repository's files" in status.out
    assert "none is set up" not in status.out
    assert (doctor.code, doctor.err.count("\n")) == (0, 1)
    assert "  Claude Code  hooks of this repository answer\nAll is well." in doctor.out

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


def test_a_store_that_was_chosen_is_known_to_what_clients_start(desk: Desk, tmp_path: Path):
    url = f"sqlite:///{tmp_path}/team.db"

    answer = holdfast(desk, "init", "--yes", HOLDFAST_DATABASE=url)

    assert f"HOLDFAST_DATABASE='{url}'" in (desk.data / "bin" / "holdfast").read_text()
    assert "What clients start uses HOLDFAST_DATABASE of this terminal\n" in answer.out
    assert "password" not in answer.err


def test_init_again_says_which_settings_clients_use_from_then_on(desk: Desk, tmp_path: Path):
    """Their files stay as they were."""
    before = holdfast(desk, "init", "--yes")
    chosen = {"HOLDFAST_DATABASE": f"sqlite:///{tmp_path}/team.db", "HOLDFAST_DEVELOPER": "dev-a"}

    again = holdfast(desk, "init", "--yes", **chosen)

    assert "What clients start" not in before.out
    assert "Nothing to change: all of it is there already\n" in again.out
    assert "uses HOLDFAST_DATABASE and HOLDFAST_DEVELOPER of this terminal\n" in again.out


def test_a_password_is_not_written_down_and_init_and_doctor_say_what_follows(desk: Desk):
    """Nothing listens there, and no store is needed to say so."""
    url = "postgresql://app:hush-hush@127.0.0.1:1/holdfast"

    answer = holdfast(desk, "init", "--dry-run", HOLDFAST_DATABASE=url)
    holdfast(desk, "init", "--yes", HOLDFAST_DATABASE=url)
    doctor = holdfast(desk, "doctor", HOLDFAST_DATABASE=url)

    assert "Put the password into ~/.pgpass" in answer.err
    assert "Put the password into ~/.pgpass" in doctor.err
    assert "What clients start" not in answer.out
    assert not [name for name, data in desk.read_all().items() if b"hush-hush" in data]
    assert "HOLDFAST_DATABASE" not in (desk.data / "bin" / "holdfast").read_text()


def test_uninstall_finds_what_was_put_elsewhere_without_the_variables_that_led_there(desk: Desk):
    moved = {
        "CODEX_HOME": str(desk.home / "moved" / "codex"),
        "CLAUDE_CONFIG_DIR": str(desk.home / "moved" / "claude"),
        "XDG_CONFIG_HOME": str(desk.home / "moved" / "config"),
    }
    for folder in moved.values():
        Path(folder).mkdir(parents=True)
    before = desk.read_all()
    holdfast(desk, "init", "--yes", **moved)
    assert desk.read_all() != before

    holdfast(desk, "uninstall")

    assert desk.read_all() == before
    assert not any(path.is_file() for path in (desk.home / "moved").rglob("*"))


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


def test_doctor_notices_that_the_package_is_gone(desk: Desk):
    """What Python then prints has numbers that look like a version."""
    holdfast(desk, "init", "--yes")
    program, moved = desk.bin / "holdfast", desk.home / "elsewhere" / "holdfast"
    moved.parent.mkdir()
    program.rename(moved)
    desk.write_program("holdfast", 'echo "/usr/lib/python3.11/site.py: no module" >&2; exit 1')

    done = subprocess.run(
        [moved, "doctor"], env=desk.environment, cwd=desk.worktree, capture_output=True, check=False
    )

    assert b"finds no program any more. Run `holdfast init` again." in done.stdout


def test_doctor_tries_the_store_and_counts_what_waits_for_it(desk: Desk):
    holdfast(desk, "init", "--yes")
    store = desk.home / ".local/share/holdfast/holdfast.db"
    store.write_bytes(b"not a database" * 100)

    answer = holdfast(desk, "doctor")

    assert answer.code == 5
    assert "Problem: " in answer.out
    assert "holdfast.db" in answer.out
    assert "All is well" not in answer.out


def test_a_hook_that_did_nothing_has_not_fired(desk: Desk):
    holdfast(desk, "init", "--yes")
    fire(desk, "SessionStart", source="startup", cwd=str(desk.home))
    assert "Claude Code: hooks last fired: not seen yet" in holdfast(desk, "status").out
    fire(desk, "SessionStart", source="startup")
    assert "Claude Code: hooks last fired: 2" in holdfast(desk, "status").out


def test_doctor_names_a_client_that_init_could_not_set_up(desk: Desk):
    desk.write(".gemini/settings.json", "{broken")
    holdfast(desk, "init", "--yes")
    trust_everything(desk)

    answer = holdfast(desk, "doctor")
    document = holdfast(desk, "doctor", "--json").document

    assert answer.code == 5
    assert "Problem: Gemini CLI is on this machine and not set up: " in answer.out
    assert ".gemini/settings.json cannot be changed: line 1" in answer.out
    assert "`holdfast init --client gemini` sets it up." in answer.out
    assert "All is well" not in answer.out
    [missing] = document["not_set_up"]
    assert (missing["name"], missing["is_wanted"]) == ("gemini", True)
    (desk.home / ".gemini" / "settings.json").unlink()
    holdfast(desk, "init", "--yes", "--client", "gemini")
    assert holdfast(desk, "doctor").out.endswith("All is well.\n")


def test_a_client_that_init_was_not_asked_to_set_up_is_only_named(desk: Desk):
    holdfast(desk, "init", "--yes", "--client", "claude", "--client", "codex")
    trust_everything(desk)

    answer = holdfast(desk, "doctor")

    assert answer.code == 0
    assert answer.out.endswith(
        "Gemini CLI is on this machine and not set up. "
        "`holdfast init --client gemini` sets it up.\nWhat is set up works.\n"
    )


def test_what_is_left_for_the_person_is_a_problem_to_a_program(desk: Desk):
    holdfast(desk, "init", "--yes", "--client", "codex")
    document = holdfast(desk, "doctor", "--json").document
    assert document["ok"] is False
    assert "Codex asks once to trust the hooks" in "\n".join(document["problems"])


def test_doctor_finds_what_was_set_up_with_a_variable_that_is_not_set_now(desk: Desk):
    moved = desk.home / "work"
    moved.mkdir()
    holdfast(desk, "init", "--yes", "--client", "claude", CLAUDE_CONFIG_DIR=str(moved))

    answer = holdfast(desk, "doctor")

    assert "has lost something" not in answer.out
    assert "Claude Code  hooks answer, not fired yet · tools connected · commands" in answer.out
    assert f"Claude Code was set up with CLAUDE_CONFIG_DIR={moved}; started without" in answer.err
    assert "  tools set up · commands there\n" in holdfast(desk, "status").out
    assert not (desk.home / ".claude").exists()


@pytest.mark.parametrize("name", ["CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME"])
def test_a_client_whose_folder_is_relative_is_left_alone(desk: Desk, name: str):
    answer = holdfast(desk, "init", "--yes", **{name: "here"})

    assert answer.code == 0
    assert f"is left as it is: {name}=here means another folder wherever" in answer.err
    holdfast(desk, "doctor", **{name: "here"})
    holdfast(desk, "uninstall", **{name: "here"})
    assert list((desk.worktree).iterdir()) == [desk.worktree / ".git"]


def test_a_broken_file_of_a_client_that_was_never_set_up_does_not_block_uninstall(desk: Desk):
    holdfast(desk, "init", "--yes", "--client", "claude")
    desk.write(".codex/hooks.json", "{broken holdfast")

    answer = holdfast(desk, "uninstall")

    assert (answer.code, answer.err) == (0, "")
    assert not desk.shim.exists()
    assert json.loads((desk.data / "folders.json").read_text()) == {"folders": {}}


def test_a_broken_file_that_was_written_blocks_uninstall_and_no_hook_stores_anything(desk: Desk):
    holdfast(desk, "init", "--yes", "--client", "claude")
    file = desk.home / ".claude" / "settings.json"
    file.write_text(file.read_text()[:-5])

    answer = holdfast(desk, "uninstall")

    assert answer.code == 5
    assert ".claude/settings.json cannot be changed" in answer.err
    assert desk.shim.exists()
    prompt(desk, "first")
    assert count_events(desk) == 0


def test_hooks_of_a_repository_come_out_on_the_branch_that_has_them(desk: Desk):
    holdfast(desk, "init", "--yes", "--project")
    file = desk.worktree / ".claude" / "settings.json"
    text = file.read_text()
    file.unlink()

    absent = holdfast(desk, "uninstall")

    assert absent.code == 0
    assert f"{file} is not there now" in absent.err.replace("~", str(desk.home))
    assert "on the branch that has it" in absent.err
    assert "hooks in this repository's files" not in holdfast(desk, "status").out
    file.write_text(text)
    assert holdfast(desk, "uninstall").err == ""
    assert not file.exists()
    shutil.rmtree(desk.worktree / ".claude", ignore_errors=True)
    assert holdfast(desk, "uninstall").err == ""


def test_doctor_before_init_says_so(desk: Desk):
    answer = holdfast(desk, "doctor")
    assert answer.code == 5
    assert "No client is set up. Run `holdfast init` in a repository." in answer.out


def test_doctor_says_where_hooks_do_nothing(desk: Desk):
    holdfast(desk, "init", "--yes")
    trust_everything(desk)
    answer = holdfast(desk, "doctor", cwd=desk.home)
    assert answer.out.endswith(
        f"Hooks do nothing in {desk.home}. Run `holdfast init` there to switch them on.\n"
        "What is set up works.\n"
    )
    assert answer.out.count("hooks answer, and do nothing here") == 3
    assert "hooks do nothing in this folder" in holdfast(desk, "status", cwd=desk.home).out
    assert "hooks do nothing" not in holdfast(desk, "status").out


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
    assert "Codex: hooks last fired: not seen yet\n" in answer.out
    assert answer.out.count("  tools set up · commands there\n") == 3
    assert "  1 hook so far, " in answer.out
    assert "  nothing handed over yet\n" in answer.out
    assert " tokens a session, where all of them are loaded\n" in answer.out
    assert max(map(len, answer.out.splitlines()[4:])) <= 80
    uses = {use["name"]: use for use in holdfast(desk, "status", "--json").document["clients"]}
    assert uses["claude"]["hook_count"] == 1
    assert uses["claude"]["last_fired_at"] > 0
    assert uses["gemini"]["last_fired_at"] is None


def test_a_server_that_does_not_start_is_named_with_its_cure(desk: Desk):
    """As without the extra that it needs: a client says no more than that it is not connected."""
    desk.install_client("claude", listed="holdfast: x - ✘ Failed to connect")
    program = desk.bin / "holdfast"
    silent = '[ "$1" = mcp ] && echo "Install it: \\`pip install \'.[mcp]\'\\`." >&2 && exit 6\n'
    program.write_text(program.read_text().replace("PYTHONPATH", f"{silent}PYTHONPATH"))

    for command in (["init", "--yes"], ["doctor"]):
        said = holdfast(desk, *command).out
        assert "tools not connected" in said
        assert "Problem: The tools of Holdfast do not start: " in said
        assert "pip install '.[mcp]'" in said


# --- off and on -----------------------------------------------------------------------------------


def make_payload(desk: Desk, event: str, **fields: str) -> dict[str, str]:
    return {
        "session_id": "s-1",
        "hook_event_name": event,
        "cwd": str(desk.worktree),
        "transcript_path": "",
        **fields,
    }


def run_in_shell(desk: Desk, command: str, text: str) -> subprocess.CompletedProcess[bytes]:
    """As a client runs a hook, with the program on its PATH."""
    return subprocess.run(
        ["sh", "-c", command],
        env=desk.environment,
        input=text.encode(),
        capture_output=True,
        timeout=60,
    )


def fire(desk: Desk, event: str, **fields: str) -> None:
    payload = make_payload(desk, event, **fields)
    subprocess.run(
        [desk.shim, "hook", "claude", event],
        env=desk.environment,
        input=json.dumps(payload).encode(),
        check=True,
        capture_output=True,
    )


def prompt(desk: Desk, words: str) -> None:
    fire(desk, "UserPromptSubmit", prompt=words, prompt_id=words)


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
    assert holdfast(desk, "off").code == 0

    assert holdfast(desk, "on").code == 0
    assert holdfast(desk, "on").code == 3
    prompt(desk, "third")
    assert count_events(desk) == before + 1


CLIENT_PROCESS = """
import json, subprocess, sys
shim, program, cwd, native_id = sys.argv[1:]
for words in sys.stdin:
    command, payload = [shim, "hook", "claude", "UserPromptSubmit"], None
    if words.startswith("!"):
        command = [program, *words[1:].split()]
    else:
        named = {"session_id": native_id, "cwd": cwd, "hook_event_name": "UserPromptSubmit"}
        payload = {**named, "prompt": words, "prompt_id": words, "transcript_path": ""}
    done = subprocess.run(command, input=json.dumps(payload).encode(), capture_output=True)
    print(done.returncode, flush=True)
"""


class RunningClient:
    """A process of its own, which fires hooks and runs what a person types with `!`."""

    def __init__(self, desk: Desk, native_id: str):
        program = desk.bin / "holdfast"
        words = [desk.shim, program, desk.worktree, native_id]
        self.process = subprocess.Popen(
            [sys.executable, "-c", CLIENT_PROCESS, *words],
            env=desk.environment,
            cwd=desk.worktree,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def type(self, words: str) -> int:
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin
        assert stdout
        print(words, file=stdin, flush=True)
        return int(stdout.readline())

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


def test_off_in_a_clients_shell_means_its_session_and_at_a_terminal_the_only_one(desk: Desk):
    holdfast(desk, "init", "--yes")
    first, second = RunningClient(desk, "s-first"), RunningClient(desk, "s-second")
    for client in (first, second):
        assert client.type("A request.") == 0

    several = holdfast(desk, "off")
    assert several.code == 5
    listed = holdfast(desk, "session", "list").out
    for session in holdfast(desk, "session", "list", "--json").document["sessions"]:
        assert session["id"][:13] in listed
        assert f"{session['id'][:13]} (claude: A request.)" in several.err
    assert "Name one of them: `holdfast off ID`; the client's own id will do." in several.err

    off = desk.data / "off.json"
    assert first.type("!off") == 0
    assert json.loads(off.read_text()) == {"claude": ["s-first"]}
    assert first.type("!on") == 0
    assert holdfast(desk, "off", "s-second").code == 0
    assert json.loads(off.read_text()) == {"claude": ["s-second"]}
    assert holdfast(desk, "on", "s-second").code == 0

    second.close()
    assert holdfast(desk, "off").code == 0
    assert json.loads(off.read_text()) == {"claude": ["s-first"]}
    first.close()
    assert holdfast(desk, "on").code == 0
    killed = holdfast(desk, "off")
    assert killed.code == 5
    assert json.loads(off.read_text()) == {"claude": []}


def test_a_session_that_has_ended_is_never_offered(desk: Desk):
    """Its process may only look as if it ran: in another namespace its end is not seen."""
    holdfast(desk, "init", "--yes")
    clients = [RunningClient(desk, name) for name in ("s-1", "s-second")]
    for client in clients:
        client.type("A request.")
    fire(desk, "SessionEnd", reason="other")

    answer = holdfast(desk, "off")

    assert answer.code == 0, answer
    assert json.loads((desk.data / "off.json").read_text()) == {"claude": ["s-second"]}
    for client in clients:
        client.close()


def test_a_process_of_which_only_its_parent_has_not_heard_is_not_running(desk: Desk):
    holdfast(desk, "init", "--yes")
    first, second = RunningClient(desk, "s-first"), RunningClient(desk, "s-second")
    for client in (first, second):
        client.type("A request.")
    first.process.kill()
    os.waitid(os.P_PID, first.process.pid, os.WEXITED | os.WNOWAIT)

    answer = holdfast(desk, "off")

    assert answer.code == 0, answer
    assert json.loads((desk.data / "off.json").read_text()) == {"claude": ["s-second"]}
    first.close()
    second.close()


def test_status_and_the_list_of_sessions_say_which_one_is_off(desk: Desk):
    holdfast(desk, "init", "--yes")
    prompt(desk, "Fix the retry.")
    assert "kept out" not in holdfast(desk, "status").out
    session_id = holdfast(desk, "off", "--json").document["session_id"]

    status = holdfast(desk, "status")
    assert f"Off        {session_id[:13]} (claude: Fix the retry.)\n" in status.out
    assert "`holdfast on ID` takes one in again" in status.out
    [off] = holdfast(desk, "status", "--json").document["off_sessions"]
    assert off["id"] == session_id
    [listed] = holdfast(desk, "session", "list").out.splitlines()[1:]
    assert "  off    claude" in listed
    assert holdfast(desk, "session", "list", "--json").document["sessions"][0]["is_off"] is True
    holdfast(desk, "on")
    assert "kept out" not in holdfast(desk, "status").out
    assert "  off  " not in holdfast(desk, "session", "list").out


def test_a_session_that_has_just_begun_can_be_switched_off_before_anything_is_stored(desk: Desk):
    holdfast(desk, "init", "--yes")
    fire(desk, "SessionStart", source="startup")

    answer = holdfast(desk, "off", "--json")
    prompt(desk, "first")

    assert (answer.code, answer.document) == (0, {"session_id": None, "is_off": True})
    assert count_events(desk) == 0
    assert "nothing of it is stored" in holdfast(desk, "on").out
    prompt(desk, "second")
    assert count_events(desk) == 1


@pytest.mark.parametrize("text", ["{", "[]", '{"claude": 7}'])
def test_a_list_of_sessions_that_are_off_which_cannot_be_read_is_named_with_its_cure(
    desk: Desk, text: str
):
    holdfast(desk, "init", "--yes")
    prompt(desk, "first")
    file = desk.data / "off.json"
    file.write_text(text)
    file.chmod(0o600)
    prompt(desk, "second")

    doctor, status = holdfast(desk, "doctor"), holdfast(desk, "status")

    assert doctor.code == 5
    for said in (doctor.out, status.err):
        assert "off.json '" in said
        assert "cannot be read, so hooks do not know which sessions are off" in said
        assert "Restore it, or remove it" in said
    file.unlink()
    prompt(desk, "third")
    assert count_events(desk) == 2


@pytest.mark.parametrize("text", ["{", "[]", '{"folders": {"/x": {}}, broken', '{"folders": 7}'])
def test_a_list_of_folders_that_cannot_be_read_is_named_and_kept(desk: Desk, text: str):
    holdfast(desk, "init", "--yes", "--client", "claude")
    file = desk.data / "folders.json"
    file.write_text(text)

    doctor, status = holdfast(desk, "doctor"), holdfast(desk, "status")

    assert doctor.code == 5
    for said in (doctor.out, status.err):
        assert "folders.json '" in said
        assert "cannot be read, so hooks do not know where they may work" in said
        assert "run `holdfast init` in each repository again" in said
    again = holdfast(desk, "init", "--yes", "--client", "claude")
    assert "cannot be read" in again.err
    [kept] = desk.data.glob("folders.json.damaged-*")
    assert kept.read_text() == text
    assert list(json.loads(file.read_text())["folders"]) == [str(desk.worktree)]


@pytest.mark.parametrize("name", ["XDG_DATA_HOME", "XDG_CONFIG_HOME"])
def test_a_folder_of_the_system_that_is_relative_is_ignored(desk: Desk, name: str):
    answer = holdfast(desk, "init", "--yes", **{name: "here"})
    assert answer.code == 0
    assert desk.shim.exists()
    assert list((desk.worktree).iterdir()) == [desk.worktree / ".git"]


def test_a_relative_data_folder_is_refused_with_what_to_do(desk: Desk):
    answer = holdfast(desk, "init", "--yes", HOLDFAST_HOME="here")
    assert answer.code == 2
    assert "HOLDFAST_HOME 'here' is not an absolute path; begin it with / or ~/" in answer.err
    assert list((desk.worktree).iterdir()) == [desk.worktree / ".git"]


def test_hooks_of_a_repository_do_nothing_for_a_colleague_who_never_ran_init(desk: Desk):
    """Consent is a person's: having the program and pulling a file is none."""
    holdfast(desk, "init", "--yes", "--project")
    settings = json.loads((desk.worktree / ".claude" / "settings.json").read_text())
    [group] = settings["hooks"]["UserPromptSubmit"]
    [brought] = group["hooks"]
    words = {"prompt": "first", "prompt_id": "first"}
    shutil.rmtree(desk.data)

    for text in (json.dumps(make_payload(desk, "UserPromptSubmit", **words)), '{"torn": '):
        done = run_in_shell(desk, brought["command"], text)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")

    assert not desk.data.exists()
    holdfast(desk, "init", "--yes", "--project")
    run_in_shell(
        desk, brought["command"], json.dumps(make_payload(desk, "UserPromptSubmit", **words))
    )
    assert count_events(desk) == 1


def test_off_without_a_session_says_so(desk: Desk):
    answer = holdfast(desk, "off")
    assert answer.code == 3
    assert "No open session of a client is known" in answer.err
    assert "`holdfast doctor` says whether hooks work here." in answer.err
    for command in ("off", "on"):
        document = holdfast(desk, command, "--json").document
        assert document["next_actions"] == ["holdfast session list", "holdfast doctor"]
