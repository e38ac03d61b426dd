"""`holdfast conversation`: begin, list, show, save, commit, pause and complete."""

import os
import pty
import subprocess
from pathlib import Path

import pytest

from holdfast.ground.user_settings import load_user_settings
from holdfast.usecases import conversing, sharing
from tests.ground.repositories import PERSON, Work, make_filled
from tests.rig.commands import HOLDFAST, PATIENCE_SECONDS, Answer, Call, run_process

NEW = ("conversation", "new", "debug", "Webhook retry")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A real repository, and a person who may commit in it."""
    for name, value in PERSON.items():
        monkeypatch.setenv(name, value)
    return make_filled(tmp_path / "project").root


@pytest.fixture
def work(project: Path) -> Work:
    return Work(project)


@pytest.fixture
def session(cli: Call) -> str:
    started = cli("session", "start", "--chatmode", "coder", "--name", "work", "--json").document
    return str(started["id"])


def say(cli: Call, session: str, content: str) -> str:
    said = ("--type", "user_message", "--role", "user", "--content", content)
    return str(cli("session", "append", session, *said, "--json").document["id"])


def choose(project: Path, *, messages: bool = True) -> None:
    home = os.environ["HOLDFAST_HOME"]
    name = sharing.find_repository_name(str(project))
    assert name is not None
    sharing.set_switch(home, name, conversing.SWITCH, is_on=True)
    sharing.set_switch(home, name, conversing.MESSAGES_SWITCH, is_on=messages)


def begin(cli: Call) -> str:
    return str(cli(*NEW, "--json").document["conversation"]["id"])


# --- beginning and looking ------------------------------------------------------------------------


def test_a_conversation_begins_in_the_data_folder_and_is_listed(cli: Call, work: Work):
    made = cli(*NEW)
    listed = cli("conversation", "list")

    id_, folder = made.out.splitlines()
    assert (made.code, made.err) == (0, "")
    assert id_.endswith("/001-debug-webhook-retry")
    assert folder.startswith(os.environ["HOLDFAST_HOME"])
    assert (Path(folder) / "debug.md").read_text().startswith("# Webhook retry\n")
    assert listed.out.splitlines()[0].endswith(f"active     {id_}  Webhook retry")
    assert work.git("status", "--porcelain", "--ignored") == ""


def test_without_conversations_the_list_says_how_one_begins(cli: Call):
    answer = cli("conversation", "list")

    assert answer.out.startswith("No conversations here yet. `holdfast conversation new")
    assert cli("conversation", "list", "--json").document == {"conversations": []}


def test_a_list_is_of_one_status_and_as_long_as_was_asked_for(cli: Call):
    ids = [begin(cli), begin(cli)]
    cli("conversation", "complete", ids[0])

    completed = cli("conversation", "list", "--status", "completed", "--json").document
    first = cli("conversation", "list", "--limit", "1", "--json").document

    assert [each["id"] for each in completed["conversations"]] == [ids[0]]
    assert [each["id"] for each in first["conversations"]] == [ids[1]]


def test_a_type_of_ones_own_is_taken_and_noted(cli: Call):
    answer = cli("conversation", "new", "retro", "Sprint 12")

    assert answer.code == 0
    assert "A type of your own; known: brainstorm, debug" in answer.err


def test_show_prints_everything_that_was_said(cli: Call, session: str):
    id_ = begin(cli)
    say(cli, session, "Why is it called twice?")
    cli("conversation", "save")

    shown = cli("conversation", "show", "001-debug-webhook-retry")
    document = cli("conversation", "show", id_, "--json").document

    assert shown.out.startswith("debug / Webhook retry\nactive, last active ")
    assert "1 message, about" in shown.out
    assert shown.out.rstrip().endswith("user\nWhy is it called twice?")
    assert [message["content"] for message in document["messages"]] == ["Why is it called twice?"]
    assert document["conversation"]["session_id"] == session
    assert document["damaged_lines"] == []


def test_show_says_what_cannot_be_read(cli: Call):
    folder = Path(cli(*NEW).out.splitlines()[1])
    (folder / ".session/session.json").write_text("{")
    (folder / ".session/messages.jsonl").write_text("{}\nnothing\n")

    shown = cli("conversation", "show", "001-debug-webhook-retry")

    assert shown.code == 0
    assert "session.json cannot be read" in shown.err
    assert "2 lines of messages.jsonl cannot be read" in shown.err


# --- saving ---------------------------------------------------------------------------------------


def test_show_prints_what_was_said_since_the_last_save(cli: Call, session: str):
    say(cli, session, "Retry webhooks.")
    id_ = begin(cli)
    unsaved = cli("conversation", "show", id_).out
    assert cli("conversation", "save").code == 0
    say(cli, session, "Wait longer.")

    assert "Retry webhooks." in unsaved
    assert "Wait longer." in cli("conversation", "show", id_).out


def test_the_summary_of_a_rule_is_about_the_work(cli: Call, session: str):
    say(cli, session, "/workspace.debug webhooks retry for ever")
    say(cli, session, "Give up after 8 attempts.")
    say(cli, session, "let's stop here for today")
    id_ = begin(cli)
    assert cli("conversation", "save").code == 0

    shown = cli("conversation", "show", id_, "--json").document["conversation"]

    expected = "webhooks retry for ever Last: Give up after 8 attempts."
    assert shown["context_summary"] == expected


def test_a_save_writes_what_is_new_and_says_how_much(cli: Call, session: str):
    id_ = begin(cli)
    say(cli, session, "one")
    first = cli("conversation", "save")
    say(cli, session, "two")
    second = cli("conversation", "save", "--summary", "Two steps", "--json").document

    assert first.out == f"Saved {id_}: 1 message, 1 new, active\n"
    assert (second["added"], second["paths"]) == (1, [])
    assert second["conversation"]["context_summary"] == "Two steps"
    assert second["conversation"]["summary_by"] == "written"


def test_a_pause_names_the_command_that_continues(cli: Call, session: str):
    id_ = begin(cli)
    say(cli, session, "one")

    paused = cli("conversation", "pause", "--summary", "Half done")

    last = paused.out.splitlines()[-1]
    assert paused.out.startswith(f"Saved {id_}: 1 message, 1 new, paused\n")
    assert last == f"To continue: holdfast resume {id_}"
    assert cli(*last.removeprefix("To continue: holdfast ").split(), "--print").code == 0


def test_a_pause_without_a_session_can_be_continued_too(cli: Call):
    id_ = begin(cli)

    paused = cli("conversation", "pause", id_)

    continued = f"To continue: holdfast resume {id_}\n"
    assert paused.out == f"Saved {id_}: 0 messages, 0 new, paused\n{continued}"
    assert cli("resume", id_, "--print").code == 0


def test_a_completed_conversation_is_marked(cli: Call, session: str):
    id_ = begin(cli)

    assert cli("conversation", "complete").out == f"Saved {id_}: 0 messages, 0 new, completed\n"
    status = cli("conversation", "complete", "--json").document["conversation"]["status"]
    assert status == "completed"


# --- committing -----------------------------------------------------------------------------------


@pytest.mark.parametrize("messages", [True, False])
def test_one_commit_has_exactly_the_files_of_the_conversation(
    cli: Call, session: str, work: Work, messages: bool
):
    choose(work.root, messages=messages)
    id_ = begin(cli)
    say(cli, session, "one")
    work.write("README.md", "staged\n")
    work.git("add", "README.md")
    before = work.git("rev-parse", "HEAD")

    saved = cli("conversation", "save", "--commit", "--json").document

    folder = f"conversations/{id_}"
    expected = ["conversations/.gitattributes", "conversations/.gitignore", f"{folder}/debug.md"]
    if messages:
        expected += [f"{folder}/.session/messages.jsonl", f"{folder}/.session/session.json"]
    committed = work.git("show", "--name-only", "--format=", "HEAD").splitlines()
    assert sorted(committed) == sorted(expected)
    assert saved["commit"] == work.git("rev-parse", "HEAD")
    assert work.git("rev-parse", "HEAD~1") == before
    assert work.git("log", "-1", "--format=%s") == "Save conversation: Webhook retry"
    assert work.git("status", "--porcelain") == "M  README.md"


def test_without_anything_new_no_commit_is_made(cli: Call, session: str, work: Work):
    choose(work.root, messages=False)
    begin(cli)

    first = cli("conversation", "save", "--commit")
    second = cli("conversation", "save", "--commit")

    assert first.out.splitlines()[-1] == f"Committed {work.git('rev-parse', 'HEAD')[:7]}"
    assert second.out.splitlines()[-1] == "Nothing new to commit"


def test_a_conversation_in_the_data_folder_is_not_committed(cli: Call, session: str, work: Work):
    begin(cli)
    before = work.git("rev-parse", "HEAD")

    answer = cli("conversation", "save", "--commit", "--json").document

    assert answer["commit"] is None
    assert work.git("rev-parse", "HEAD") == before


def test_a_hook_that_refuses_the_commit_is_quoted_and_the_files_stay(
    cli: Call, session: str, work: Work
):
    choose(work.root)
    id_ = begin(cli)
    say(cli, session, "one")
    hook = work.root / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho 'no commits on Fridays' >&2\nexit 1\n")
    hook.chmod(0o755)

    answer = cli("conversation", "save", "--commit", "--json")

    assert answer.code == 5
    assert '"commit_failed"' in answer.out + answer.err
    assert "no commits on Fridays" in answer.out + answer.err
    assert (work.root / "conversations" / id_ / ".session/messages.jsonl").is_file()


# --- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("new", "De Bug", "x"), 2, "is not a type"),
        (("new", "debug", " "), 2, "is empty"),
        (("new", "debug", "x" * 201), 2, "is longer than 200 characters"),
        (("new", "debug"), 2, "TITLE"),
        (("list", "--status", "open"), 2, "is not a status"),
        (("list", "--limit", "0"), 2, "0"),
        (("show", "001-debug-nothing"), 3, "does not exist"),
        (("show", "../../etc/passwd"), 3, "does not exist"),
        (("save", "001-debug-nothing"), 3, "does not exist"),
        (("save",), 3, "belongs to no conversation"),
        (("pause", "--summary", " "), 3, "belongs to no conversation"),
    ],
)
def test_wrong_input_is_explained_and_changes_nothing(
    cli: Call, arguments: tuple[str, ...], code: int, words: str
):
    answer = cli("conversation", *arguments)

    assert answer.code == code
    assert words in answer.err
    assert cli("conversation", "list", "--json").document == {"conversations": []}


def test_a_name_that_two_days_have_is_answered_with_both(cli: Call):
    folder = Path(cli(*NEW).out.splitlines()[1])
    (folder.parent.parent / "2020-01-01" / folder.name).mkdir(parents=True)

    answer = cli("conversation", "show", folder.name)

    assert answer.code == 5
    assert f"2020-01-01/{folder.name}" in answer.err


# --- asking ---------------------------------------------------------------------------------------


def answer_in_a_terminal(project: Path, keys: str) -> Answer:
    ours, theirs = pty.openpty()
    os.write(ours, keys.encode())
    try:
        done = subprocess.run(
            [*HOLDFAST, *NEW],
            stdin=theirs,
            capture_output=True,
            text=True,
            cwd=project,
            timeout=PATIENCE_SECONDS,
        )
    finally:
        os.close(ours)
        os.close(theirs)
    return Answer(done.returncode, done.stdout, done.stderr)


def find_switches(project: Path) -> list[bool | None]:
    settings = load_user_settings(os.environ["HOLDFAST_HOME"])
    name = sharing.find_repository_name(str(project))
    assert name is not None
    switches = (conversing.SWITCH, conversing.MESSAGES_SWITCH)
    return [settings.find_switch(name, switch) for switch in switches]


@pytest.mark.parametrize(
    ("keys", "switches", "is_shared"),
    [
        ("y\nn\n", [True, False], True),
        ("y\ny\n", [True, True], True),
        ("n\n", [False, None], False),
    ],
)
def test_the_first_one_in_a_repository_asks_where_and_the_next_does_not(
    project: Path, keys: str, switches: list[bool | None], is_shared: bool
):
    first = answer_in_a_terminal(project, keys)
    second = answer_in_a_terminal(project, "")

    assert first.code == second.code == 0
    assert "Keep conversations in this repository" in first.err
    assert "Keep conversations" not in second.err
    assert find_switches(project) == switches
    assert (project / "conversations").exists() is is_shared


def test_without_a_terminal_nothing_is_asked_and_nothing_is_chosen(run: Call, project: Path):
    for arguments in (NEW, (*NEW, "--json")):
        answer = run(*arguments, stdin="y\n")

        assert (answer.code, answer.err) == (0, "")
    assert find_switches(project) == [None, None]
    assert not (project / "conversations").exists()


# --- forgetting -----------------------------------------------------------------------------------


def test_what_is_forgotten_is_erased_from_the_folder_and_git_is_named(
    cli: Call, session: str, work: Work
):
    choose(work.root)
    id_ = begin(cli)
    secret = say(cli, session, "the pin is hunter-2")
    say(cli, session, "go on")
    cli("conversation", "save", "--commit")
    history = work.root / "conversations" / id_ / ".session/messages.jsonl"

    answer = cli("forget", secret, "--yes")

    assert answer.code == 0
    assert answer.out.endswith(
        f"Erased from these files too; git may still hold what they were:\n  {history}\n"
    )
    for path in history.parent.iterdir():
        assert "hunter-2" not in path.read_text()
    cli("conversation", "save")
    assert "hunter-2" not in history.read_text()
    shown = cli("conversation", "show", id_, "--json").document
    assert [message["content"] for message in shown["messages"]] == ["go on"]


def test_a_forgotten_session_leaves_nothing_in_the_data_folder_from_wherever_it_is_asked(
    cli: Call, session: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    folder = Path(cli(*NEW).out.splitlines()[1])
    say(cli, session, "the pin is hunter-2")
    cli("conversation", "save")
    monkeypatch.chdir(tmp_path)

    answer = cli("forget", "--session", session, "--yes", "--json").document

    assert answer["elsewhere"] == []
    assert "hunter-2" not in (folder / ".session/messages.jsonl").read_text()
    assert "hunter-2" not in (folder / ".session/session.json").read_text()


def test_a_text_is_erased_in_messages_and_named_where_a_person_wrote_it(
    cli: Call, session: str, work: Work, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    choose(work.root)
    id_ = begin(cli)
    say(cli, session, "the pin is hunter-2")
    cli("conversation", "save", "--summary", "About hunter-2")
    session_folder = work.root / "conversations" / id_ / ".session"

    previewed = cli("forget", "--match", "hunter-2", "--dry-run", "--json").document
    assert "hunter-2" in (session_folder / "messages.jsonl").read_text()
    erased = cli("forget", "--match", "hunter-2", "--yes", "--json").document

    described, history = (str(session_folder / name) for name in ("session.json", "messages.jsonl"))
    assert sorted(previewed["elsewhere"]) == [history, described]
    assert erased["elsewhere"] == [described, history]
    assert "hunter-2" not in (session_folder / "messages.jsonl").read_text()


# --- pruning and archiving ------------------------------------------------------------------------


def complete(cli: Call, session: str) -> str:
    say(cli, session, "Retry webhooks.")
    id_ = begin(cli)
    assert cli("conversation", "complete").code == 0
    return id_


def test_only_the_history_of_what_is_completed_is_pruned(cli: Call, work: Work, session: str):
    id_ = complete(cli, session)
    dry = cli("conversation", "prune", "--dry-run", "--json").document
    (history,) = Path(os.environ["HOLDFAST_HOME"], "conversations").rglob("messages.jsonl")
    saved = history.read_text()

    pruned = cli("conversation", "prune", "--yes", "--json").document
    after = cli("conversation", "show", id_, "--json").document
    again = cli("conversation", "prune", "--yes")

    assert dry == {"pruned": [id_], "is_dry_run": True}
    assert saved.count("\n") == 1
    assert pruned == {"pruned": [id_], "is_dry_run": False}
    assert not history.exists()
    assert len(after["messages"]) == 1, "the log has it still"
    assert after["conversation"]["title"] == "Webhook retry"
    assert again.out.startswith("Nothing to remove")


def test_nothing_is_pruned_without_a_yes(cli: Call, project: Path, work: Work, session: str):
    id_ = complete(cli, session)

    unanswered = run_process("conversation", "prune", "--json", cwd=project)
    one = run_process("conversation", "prune", id_, cwd=project)

    assert unanswered.document["code"] == "aborted"
    assert f"holdfast conversation prune {id_} --yes" in one.err
    assert len(cli("conversation", "show", id_, "--json").document["messages"]) == 1


def test_what_is_open_is_pruned_only_by_its_id_and_git_is_named(
    cli: Call, project: Path, work: Work, session: str
):
    choose(project)
    say(cli, session, "Retry webhooks.")
    id_ = begin(cli)
    assert cli("conversation", "save").code == 0

    by_status = cli("conversation", "prune", "--yes", "--json").document
    by_id = cli("conversation", "prune", id_, "--yes")

    assert by_status["pruned"] == []
    assert by_id.out.startswith("Removed the histories of 1 conversation")
    assert "stays in its history" in by_id.err


def test_an_archived_conversation_leaves_the_lists_and_stays(cli: Call, work: Work, session: str):
    id_ = complete(cli, session)

    archived = cli("conversation", "archive", id_, "--json").document

    assert Path(archived["folder"]).is_dir()
    assert cli("conversation", "list", "--json").document["conversations"] == []
    assert cli("conversation", "archive", id_).code == 3
    assert cli("conversation", "prune", "../../x", "--yes").code in (2, 3)
