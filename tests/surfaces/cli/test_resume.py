"""`holdfast resume`: what is found, what is told, and which client would be opened how."""

import hashlib
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from holdfast.app import App
from holdfast.bundles.service import RECEIPT
from holdfast.storage.resumes import LASTS_SECONDS, Promise, Promises
from holdfast.usecases import setting_up
from tests.ground.repositories import PERSON, Work, make_filled
from tests.rig.commands import Answer, Call
from tests.surfaces.test_hook import fire, payload

NATIVE = "0af395d8-6c4b-4446-89a7-d52beac3d8cd"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in PERSON.items():
        monkeypatch.setenv(name, value)
    return make_filled(tmp_path / "project").root


@pytest.fixture
def work(project: Path) -> Work:
    return Work(project)


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two clients on the path that are never started here, and are set up."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for name in ("claude", "codex"):
        (folder / name).write_text("#!/bin/sh\necho opened $0 >&2\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setattr(setting_up, "list_installed_clients", lambda home: ["claude", "codex"])
    return folder


def say(cli: Call, title: str, *requests: str) -> str:
    """A session with some requests and their answers."""
    started = cli("session", "start", "--chatmode", "coder", "--name", title, "--json").document
    for request in requests:
        for type_, role, content in (
            ("user_message", "user", request),
            ("model_message", "assistant", f"Answer to: {request}"),
        ):
            words = ("--type", type_, "--role", role, "--content", content)
            assert cli("session", "append", started["id"], *words).code == 0
    return str(started["id"])


def begin(cli: Call, title: str = "Webhook retry", type_: str = "debug") -> str:
    return str(cli("conversation", "new", type_, title, "--json").document["conversation"]["id"])


# --- finding --------------------------------------------------------------------------------------


def test_without_anything_it_says_so(cli: Call):
    assert cli("resume").out.startswith("Nothing to resume here yet")
    assert cli("resume", "--list", "--json").document == {"resumables": []}


def test_conversations_and_sessions_are_found_by_words(cli: Call):
    say(cli, "webhook retry", "Retry webhooks, give up after 8 attempts.")
    say(cli, "invoice layout", "Set invoices in two columns.")

    found = cli("resume", "columns", "--print")
    listed = cli("resume", "--list", "--json").document["resumables"]

    assert "Set invoices in two columns." in found.out
    assert [each["title"] for each in listed] == ["invoice layout", "webhook retry"]
    assert len(cli("resume", "--list", "retry", "--json").document["resumables"]) == 1
    assert cli("resume", "--list", "nonsense").out == "Nothing here has 'nonsense'.\n"


def test_what_was_asked_before_a_session_went_on_or_a_save_is_found(cli: Call):
    session = say(cli, "webhook retry", "Never use Redis.", "Give up after 8 attempts.")
    assert cli("session", "end", session).code == 0
    next_ = cli("session", "resume", session, "--json").document["id"]
    words = ("--type", "user_message", "--role", "user", "--content", "Wait longer.")
    assert cli("session", "append", next_, *words).code == 0
    before = cli("resume", "--list", "redis", "--json").document["resumables"]
    id_ = begin(cli, "Something else")

    after = cli("resume", "--list", "redis", "--json").document["resumables"]

    assert [each["id"] for each in before] == [next_]
    assert [each["id"] for each in after] == [id_]


def test_a_conversation_stands_for_its_session(cli: Call):
    session = say(cli, "webhook retry", "Retry webhooks.")
    id_ = begin(cli)

    (only,) = cli("resume", "--list", "--json").document["resumables"]
    by_session = cli("resume", session, "--print", "--json").document["resume"]

    assert (only["id"], only["session_id"], only["type"]) == (id_, session, "debug")
    assert by_session["id"] == id_


def test_a_session_that_nobody_has_spoken_in_hides_none(cli: Call):
    """A client that was opened to go on begins one before its person says anything."""
    session = say(cli, "webhook retry", "Retry webhooks.")
    assert cli("session", "end", session).code == 0
    next_ = cli("session", "resume", session, "--json").document["id"]

    (only,) = cli("resume", "--list", "--json").document["resumables"]

    assert next_ != session
    assert only["id"] == session
    assert "Retry webhooks." in cli("resume", session, "--print").out


@pytest.mark.parametrize("words", ["nonsense", "\"'*?[]()", "🚀", "x" * 10_000, "../../etc/passwd"])
def test_unknown_words_are_refused(words: str, cli: Call):
    say(cli, "webhook retry", "Retry webhooks.")

    answer = cli("resume", "--print", "--", words)

    assert answer.code != 0
    assert "Nothing here was about" in answer.err


def test_words_that_fit_two_are_never_a_guess(cli: Call):
    first = say(cli, "webhook retry", "One.")
    second = say(cli, "webhook signing", "Two.")

    answer = cli("resume", "webhook", "--print")

    assert answer.code != 0
    assert f"{first} (webhook retry)" in answer.err
    assert f"{second} (webhook signing)" in answer.err


# --- what is told ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words", ["Wir prüfen die Größe. ", "我们检查文件大小。", "🚀 نتحقق من الحجم "]
)
def test_the_text_fits_the_client_in_every_script(cli: Call, programs: Path, words: str):
    session = say(cli, "sizes", *(f"{number}. {words * 60}" for number in range(12)))

    for_codex = cli("resume", session, "--print", "--in", "codex", "--json").document["resume"]
    for_claude = cli("resume", session, "--print", "--in", "claude", "--json").document["resume"]

    assert len(for_codex["text"].encode()) <= 10_000
    assert len(for_claude["text"]) <= 10_000
    assert f"Answer to: 11. {words * 20}".strip() in for_codex["text"]
    assert for_codex["text"].count("[END RESUMED CONTEXT]") == 1


def test_the_text_has_the_last_messages_and_what_has_changed(cli: Call, work: Work):
    say(cli, "webhook retry", "Retry webhooks.", "Give up after 8 attempts.")
    begin(cli)
    assert cli("conversation", "save").code == 0
    work.write("more.txt", "more\n")
    work.commit("More")
    work.write("README.md", "changed\n")

    text = cli("resume", "retry", "--print").out

    assert "Give up after 8 attempts." in text
    assert "- 1 commit since " in text
    assert "- 1 uncommitted file: README.md." in text
    assert "HOLDFAST implementation" not in text  # it would say nothing more


def test_what_only_the_document_has_follows_the_block(cli: Call):
    session = say(cli, "webhook retry", "Retry webhooks.")
    begin(cli)
    assert cli("session", "state", session, "--set", '{"next_steps": ["call the bank"]}').code == 0

    block, _, document = cli("resume", "retry", "--print").out.partition("[END RESUMED CONTEXT]")

    assert "Retry webhooks." in block
    assert "Last session: coder" in document
    assert "call the bank" in document
    assert "Retry webhooks." not in document


def test_a_deleted_file_and_a_commit_that_is_gone_are_named(cli: Call, work: Work, project: Path):
    say(cli, "webhook retry", "Retry webhooks.")
    id_ = begin(cli)
    saved = cli("conversation", "save", "--json").document
    folder = Path(os.environ["HOLDFAST_HOME"], "conversations")
    (file,) = folder.glob("*/*/*/.session/session.json")
    known = json.loads(file.read_text())
    known |= {"files": ["gone.py", "README.md"], "git_head": "1" * 40, "session_id": None}
    file.write_text(json.dumps(known))

    text = cli("resume", id_, "--print").out

    assert saved["conversation"]["id"] == id_
    assert "The commit 1111111 of that time is not in the history" in text
    assert "Of its 2 files, 1 gone: gone.py." in text


def test_a_changed_command_model_and_server_are_named(
    cli: Call, programs: Path, project: Path, monkeypatch: pytest.MonkeyPatch
):
    say(cli, "webhook retry", "Retry webhooks.")
    id_ = begin(cli)
    cli("conversation", "save")
    (file,) = Path(os.environ["HOLDFAST_HOME"], "conversations").glob("*/*/*/.session/session.json")
    known = json.loads(file.read_text())
    known["client"] = "claude"
    known["session_id"] = None
    known["agent_config"] = {
        "command": "/workspace.debug",
        "system_prompt_hash": "sha256:00",
        "model": "claude-old",
        "tools": ["mcp__github__create_issue", "Bash"],
    }
    file.write_text(json.dumps(known))
    command = project / ".claude" / "commands" / "workspace.debug.md"
    command.parent.mkdir(parents=True)
    command.write_text("Debug: $ARGUMENTS\n")

    same = cli("resume", id_, "--in", "claude", "--json").document
    other = cli("resume", id_, "--in", "codex", "--json").document

    told = {change["about"]: change["text"] for change in same["resume"]["changes"]}
    assert "was edited since" in told["command"]
    assert "claude-old" in told["model"]
    assert told["tools"] == "Used then and not set up in Claude Code: github."
    assert same["start"]["arguments"][-1].startswith("/workspace.debug Go on")
    elsewhere = {change["about"]: change["text"] for change in other["resume"]["changes"]}
    assert "is not installed in Codex" in elsewhere["command"]
    assert other["start"]["arguments"][-1].startswith("Go on")


def test_a_command_is_compared_with_that_of_the_client_in_which_it_was_saved(
    cli: Call, programs: Path, project: Path
):
    """The last one to go on with it may have been another one, with a file of its own."""
    session = say(cli, "webhook retry", "Retry webhooks.")
    id_ = begin(cli)
    cli("conversation", "save")
    (file,) = Path(os.environ["HOLDFAST_HOME"], "conversations").glob("*/*/*/.session/session.json")
    for folder, text in ((".claude/commands", "In Claude"), (".codex/skills", "In Codex")):
        name = "workspace.debug.md" if "claude" in folder else "workspace-debug/SKILL.md"
        command = project / folder / name
        command.parent.mkdir(parents=True)
        command.write_text(f"{text}: $ARGUMENTS\n")
    claude_file = (project / ".claude/commands/workspace.debug.md").read_bytes()
    config = {
        "command": "/workspace.debug",
        "system_prompt_hash": f"sha256:{hashlib.sha256(claude_file).hexdigest()}",
        "model": "claude-old",
    }
    known = json.loads(file.read_text())
    file.write_text(json.dumps({**known, "client": "claude", "agent_config": config}))
    with App() as app:
        app.run(
            app.scope.sessions.resume_session(session, client="codex", native_id=NATIVE, apart=True)
        )

    told = cli("resume", id_, "--in", "codex", "--json").document["resume"]["changes"]

    assert [change["text"] for change in told if change["about"] in ("command", "model")] == []


# --- opening --------------------------------------------------------------------------------------


def test_the_client_is_named_chosen_or_refused(cli: Call, programs: Path):
    say(cli, "webhook retry", "Retry webhooks.")

    def arguments(*words: str) -> list[str]:
        start: dict[str, Any] = cli("resume", "webhook", *words, "--json").document["start"]
        return list(start["arguments"])

    assert arguments("--in", "codex")[:2] == ["codex", "--no-daemon"]
    assert arguments("--in", "Claude Code")[:2] == ["claude", "--session-id"]
    assert arguments("--in", "CODEX")[:2] == ["codex", "--no-daemon"]
    assert arguments()[:2] == ["claude", "--session-id"]
    assert "is not known" in cli("resume", "webhook", "--in", "emacs").err
    assert "The program gemini was not found" in cli("resume", "webhook", "--in", "gemini").err


def test_without_a_terminal_the_command_is_printed_and_promised(cli: Call, programs: Path):
    session = say(cli, "webhook retry", "Retry webhooks.")

    answer = cli("resume", "webhook", "--in", "codex")

    assert "Within ten minutes, type:\ncodex --no-daemon 'Go on with" in answer.out
    promises = Promises(os.environ["HOLDFAST_HOME"])
    worktree = str(Path.cwd())
    taken = promises.take("codex", worktree, "n1", is_new=True)
    assert taken is not None
    assert (taken.subject, taken.native_id) == (session, None)
    assert promises.take("codex", worktree, "n1", is_new=True) is None


def test_a_client_that_is_not_set_up_gets_the_text_on_the_screen(
    cli: Call, programs: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(setting_up, "list_installed_clients", lambda home: [])
    say(cli, "webhook retry", "Retry webhooks.")

    answer = cli("resume", "webhook", "--in", "codex")

    assert "holdfast init --client codex" in answer.err
    assert "[RESUMED CONVERSATION]" in answer.out


def test_what_was_promised_is_handed_over_once_and_continues_the_session(
    cli: Call, programs: Path, project: Path
):
    session = say(cli, "webhook retry", "Retry webhooks.")
    id_ = begin(cli)
    start = cli("resume", id_, "--in", "claude", "--json").document["start"]
    native = start["arguments"][2]

    def open_client(native_id: str) -> Answer:
        given = {"session_id": native_id, "cwd": str(project), "source": "startup"}
        return fire("claude", "SessionStart", payload("claude", "SessionStart", **given))

    other = open_client("11111111-1111-4111-8111-111111111111")
    own = open_client(native)
    again = open_client(native)

    assert "RESUMED CONVERSATION" not in other.out
    assert "RESUMED CONVERSATION" in own.out
    assert "Retry webhooks." in own.out
    assert "RESUMED CONVERSATION" not in again.out
    with App() as app:
        begun = app.run(app.scope.sessions.find_native_session("claude", native))
    assert begun is not None
    assert begun.resumed_from == session


def test_two_clients_that_go_on_at_once_lose_nothing_that_was_said(
    cli: Call, programs: Path, project: Path
):
    say(cli, "webhook retry", "Retry webhooks.")
    id_ = begin(cli)
    own = cli("resume", id_, "--in", "claude", "--json").document["start"]["arguments"][2]
    cli("resume", id_, "--in", "codex", "--json")
    for client, native in (("claude", own), ("codex", NATIVE)):
        given = {"session_id": native, "cwd": str(project), "source": "startup"}
        begun = fire(client, "SessionStart", payload(client, "SessionStart", **given))
        assert "RESUMED CONVERSATION" in begun.out
        with App() as app:
            session = app.run(app.scope.sessions.find_native_session(client, native))
            assert session is not None
            said = f"Said in {client}."
            app.run(app.scope.sessions.append_event(session.id, "user_message", "user", said))

    text = cli("resume", id_, "--print").out
    saved = cli("conversation", "save", id_, "--json").document

    assert all(f"\nSaid in {client}.\n" in text for client in ("claude", "codex"))
    assert saved["conversation"]["message_count"] == 4


def test_a_conversation_of_another_machine_begins_a_session(
    cli: Call, programs: Path, project: Path
):
    id_ = begin(cli)
    start = cli("resume", id_, "--in", "claude", "--json").document["start"]
    native = start["arguments"][2]
    given = {"session_id": native, "cwd": str(project), "source": "startup"}

    answer = fire("claude", "SessionStart", payload("claude", "SessionStart", **given))

    assert "Conversation: debug / Webhook retry" in answer.out
    with App() as app:
        begun = app.run(app.scope.sessions.find_native_session("claude", native))
    assert begun is not None
    assert begun.metadata["conversation"] == id_


def test_a_client_that_has_gone_on_already_is_told_what_has_changed_since_it_was_left(
    cli: Call, project: Path
):
    old = say(cli, "webhook retry", "Retry webhooks.")
    with App() as app:
        going_on = app.scope.sessions.resume_session(
            old, client="gemini", native_id=NATIVE, apart=True
        )
        assert app.run(going_on).resumed_from == old
    head = Work(project).git("rev-parse", "HEAD").strip()
    Work(project).commit("More")
    Promises(os.environ["HOLDFAST_HOME"]).add(
        Promise("gemini", str(project), old, NATIVE, is_own=True, session=old, head=head)
    )
    given = {"session_id": NATIVE, "cwd": str(project), "prompt": "Go on."}

    answer = fire("gemini", "BeforeAgent", payload("gemini", "BeforeAgent", **given))

    assert "[RESUMED CONVERSATION]" in answer.out
    assert "1 commit since" in answer.out


def test_what_is_gone_meanwhile_leaves_the_start_as_it_always_is(cli: Call, project: Path):
    Promises(os.environ["HOLDFAST_HOME"]).add(
        Promise("claude", str(project), "2026-01-01/001-debug-gone", NATIVE)
    )
    given = {"session_id": NATIVE, "cwd": str(project), "source": "startup"}

    answer = fire("claude", "SessionStart", payload("claude", "SessionStart", **given))

    assert answer.code == 0
    assert "RESUMED" not in answer.out


def test_a_typed_command_begins_a_conversation(cli: Call, project: Path):
    given = {
        "session_id": NATIVE,
        "cwd": str(project),
        "prompt": "/workspace.debug the retry hangs",
    }

    for _ in range(2):
        fire("claude", "UserPromptSubmit", payload("claude", "UserPromptSubmit", **given))

    (made,) = cli("conversation", "list", "--json").document["conversations"]
    assert (made["type"], made["title"], made["client"]) == ("debug", "the retry hangs", "claude")
    assert made["agent_config"]["command"] == "/workspace.debug"


# --- promises -------------------------------------------------------------------------------------


def test_a_promise_is_for_one_client_and_place_and_a_short_time(tmp_path: Path):
    promises = Promises(str(tmp_path / "home"))
    promises.add(Promise("codex", "/a", "old"))
    promises.add(Promise("codex", "/a", "new"))
    promises.add(Promise("claude", "/a", "named", "n1"))

    assert promises.take("codex", "/b", "x", is_new=True) is None
    assert promises.take("codex", "/a", "x", is_new=False) is None
    assert promises.take("claude", "/a", "n2", is_new=True) is None
    taken = promises.take("codex", "/a", "x", is_new=True)
    assert taken is not None
    assert taken.subject == "new"
    assert promises.take("claude", None, "n1", is_new=False) is not None
    promises.add(Promise("codex", "/a", "late"))
    rows = json.loads(Path(promises.path).read_text())
    rows[0]["at"] -= LASTS_SECONDS
    Path(promises.path).write_text(json.dumps(rows))
    assert promises.take("codex", "/a", "x", is_new=True) is None


def test_two_promises_that_name_their_sessions_are_both_kept(tmp_path: Path):
    """Two terminals in one folder: each client is handed what it was opened for."""
    promises = Promises(str(tmp_path))
    promises.add(Promise("claude", "/a", "first", "n1"))
    promises.add(Promise("claude", "/a", "second", "n2"))
    promises.add(Promise("codex", "/a", "third"))

    taken = [promises.take("claude", "/a", native, is_new=True) for native in ("n1", "n2", "n1")]

    assert [each and each.subject for each in taken] == ["first", "second", None]


@pytest.mark.parametrize("text", ["", "{", "[1]", '[{"client": 1}]', "null", '{"a": []}'])
def test_a_file_of_promises_that_is_broken_promises_nothing(text: str, tmp_path: Path):
    promises = Promises(str(tmp_path))
    Path(promises.path).write_text(text)

    assert promises.take("codex", "/a", "x", is_new=True) is None
    promises.add(Promise("codex", "/a", "new"))
    assert promises.take("codex", "/a", "x", is_new=True) is not None


# --- a person who chooses -------------------------------------------------------------------------


def list_receipts() -> list[str]:
    with App() as app:
        receipts = app.run(app.scope.journal.newest_of_kind(RECEIPT, 10))
    return [receipt.id for receipt in receipts]


def test_a_person_chooses_from_a_list_with_a_preview(cli: Call, project: Path, tmp_path: Path):
    """In a terminal; the client that is opened takes the place of the command."""
    retry = say(cli, "webhook retry", "Retry webhooks.")
    assert cli("context", "set", "files", "a.txt", "--session", retry).code == 0
    say(cli, "invoice layout", "Set invoices in two columns.")
    before = list_receipts()
    folder = tmp_path / "programs"
    folder.mkdir()
    (folder / "codex").write_text('#!/bin/sh\necho "opened in $(pwd): $*"\n')
    (folder / "codex").chmod(0o755)
    recorded = Path(os.environ["HOLDFAST_HOME"], "clients.json")
    typed = "nonsense\\nretry\\n7\\n1\\nn\\n1\\ny\\n"
    script = f"printf '{typed}' | script -qec 'holdfast-here resume --in codex' /dev/null"
    here = folder / "holdfast-here"
    import sys

    here.write_text(
        f'#!/bin/sh\nexec {sys.executable} -c "from holdfast.usecases import setting_up;'
        " setting_up.list_installed_clients = lambda home: ['codex'];"
        ' from holdfast.__main__ import main; raise SystemExit(main())" "$@"\n'
    )
    here.chmod(0o755)
    done = subprocess.run(
        ["sh", "-c", script],
        cwd=project,
        env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert "Nothing here has 'nonsense'." in done.stdout, (done, recorded)
    assert "There is no number 7 in the list." in done.stdout
    assert done.stdout.count("Go on with this one?") == 2
    assert "webhook retry (session)" in done.stdout
    assert "[RESUMED CONVERSATION]" in done.stdout
    assert f"opened in {project}: --no-daemon Go on with" in done.stdout
    assert list_receipts() == before, "what a person looked at was handed to no agent"
