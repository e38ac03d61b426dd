"""Notices through real hook processes of each client: what is told, when, and how often."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from holdfast.app import App
from holdfast.clients import CLIENTS, find_client
from holdfast.ground.settings import load_settings
from holdfast.notices import store
from holdfast.storage.enrolment import Enrolment
from tests.rig.commands import PATIENT, Answer, Call
from tests.surfaces.test_hook import SILENT, fire, payload
from tests.workstreams.repos import ON, Repo, with_code

PROMPTS = {
    "claude": "UserPromptSubmit",
    "codex": "UserPromptSubmit",
    "gemini": "BeforeAgent",
    "opencode": "chat.message",
}
EDITS = {
    "claude": "PreToolUse",
    "codex": "PreToolUse",
    "gemini": "AfterTool",
    "opencode": "tool.execute.before",
}
TOLD = 'because "ops won\'t run another Redis" (user): Redis streams'
PROPOSAL = "let's use redis streams for the queue"


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repo:
    for name, value in ON.items():
        monkeypatch.setenv(name, value)
    return with_code(tmp_path / "payouts")


@pytest.fixture
def project(repo: Repo) -> Path:
    return repo.folder


@pytest.fixture
def decided(repo: Repo) -> Repo:
    decide(repo, "Redis streams", because="ops won't run another Redis")
    return repo


def decide(repo: Repo, text: str, status: str = "rejected", because: str = "it hung") -> None:
    with App() as app:
        work = app.workstreams(str(repo.folder))
        app.run(work.decide(text, status=status, because=because))


def prompt(client: str, repo: Repo, words: str, **fields: Any) -> Answer:
    event = PROMPTS[client]
    given = {"cwd": str(repo.folder), "prompt": words, "source": None, **fields}
    return fire(client, event, payload(client, event, **given))


def describe_edit(client: str, path: Path, new: str) -> dict[str, Any]:
    """As the tools of each client name their fields."""
    if client == "claude":
        given = {"file_path": str(path), "old_string": "", "new_string": new}
        return {"tool_name": "Edit", "tool_input": given}
    if client == "codex":
        added = "\n".join(f"+{line}" for line in new.splitlines())
        patch = f"*** Begin Patch\n*** Update File: {path}\n@@\n{added}\n*** End Patch\n"
        return {"tool_name": "apply_patch", "tool_input": {"command": patch}}
    if client == "gemini":
        return {
            "tool_name": "write_file",
            "tool_input": {"file_path": str(path), "content": new},
            "tool_response": {"llmContent": "ok", "returnDisplay": {"originalContent": ""}},
        }
    return {"tool_name": "write", "tool_input": {"filePath": str(path), "content": new}}


def edit(client: str, repo: Repo, path: str, new: str, **fields: Any) -> Answer:
    event = EDITS[client]
    described = describe_edit(client, repo.folder / path, new)
    given = payload(client, event, cwd=str(repo.folder), **described)
    return fire(client, event, {**given, **fields})


def read_notice(client: str, answer: Answer) -> str:
    assert (answer.code, answer.err) == (0, "")
    if not answer.out:
        return ""
    output = json.loads(answer.out)
    if client == "opencode":
        return str(output.get("notice", ""))
    return str(output["hookSpecificOutput"]["additionalContext"])


# --- what is told ---------------------------------------------------------------------------------


@pytest.mark.parametrize("client", CLIENTS)
def test_a_rejected_alternative_is_told_once_in_a_session(client: str, decided: Repo):
    quiet = edit(client, decided, "src/q.py", "# import redis\nx = 1\n", session_id="s1")
    by_prompt = read_notice(client, prompt(client, decided, PROPOSAL, session_id="s1"))
    again = edit(client, decided, "src/q.py", "import redis\n", session_id="s1")
    by_edit = read_notice(
        client, edit(client, decided, "src/q.py", "import redis\n", session_id="s2")
    )

    assert quiet == again == SILENT
    assert by_prompt.count(TOLD) == 1
    assert by_edit.startswith("D1 rejected on ")
    assert by_edit.endswith(TOLD)
    assert len(by_edit) <= 300


def test_a_notice_and_the_document_go_together_in_one_answer(decided: Repo):
    """Gemini takes both with the same hook."""
    with App() as app:
        app.run(app.workstreams(str(decided.folder)).save("Goal: a queue.", by_hand=True))

    text = read_notice("gemini", prompt("gemini", decided, PROPOSAL))

    assert text.startswith("HOLDFAST ")
    assert "Goal: a queue" in text or "GOAL" in text
    assert text.endswith(TOLD)


def test_the_person_is_shown_a_line_about_it(decided: Repo):
    answer = json.loads(prompt("claude", decided, PROPOSAL).out)

    line = "Holdfast reminded the agent of an earlier decision (holdfast why)"
    assert answer["systemMessage"] == line


def test_reading_a_file_is_not_an_edit(decided: Repo):
    given = {"file_path": str(decided.folder / "src/retry.py"), "content": "import redis\n"}
    fields = {"tool_name": "Read", "tool_input": given, "cwd": str(decided.folder)}

    assert fire("claude", "PreToolUse", payload("claude", "PreToolUse", **fields)) == SILENT


def test_nothing_is_told_or_made_where_notes_are_not_shared(
    decided: Repo, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("SHARED_CONTEXT_ENABLED")
    home = Path(load_settings().home)

    assert prompt("claude", decided, PROPOSAL) == SILENT
    assert not (home / "notices").exists()

    (home / "settings.json").write_text('{"shared_context": false}')
    assert prompt("claude", decided, PROPOSAL) == SILENT


def test_nothing_is_told_or_made_in_a_folder_that_is_not_enrolled(decided: Repo, tmp_path: Path):
    home = load_settings().home
    Enrolment(home).add(str(tmp_path / "enrolled"))

    assert prompt("claude", decided, PROPOSAL) == SILENT
    assert not os.path.exists(os.path.join(home, "notices"))


def test_why_explains_which_entry_was_told_and_when(decided: Repo, cli: Call):
    edit("claude", decided, "src/q.py", "import redis\n", session_id="s1")

    told = cli("why")
    [notice] = cli("why", "--json").document["notices"]

    assert "D1 rejected: Redis streams" in told.out
    assert "at an edit in claude, session s1: it is about the package redis" in told.out
    assert (notice["entry"], notice["moment"], notice["native_id"]) == ("D1", "edit", "s1")
    assert notice["text"] == "Redis streams"


def test_why_names_the_session_of_a_prompt_and_says_when_an_entry_is_gone(decided: Repo, cli: Call):
    prompt("claude", decided, PROPOSAL, session_id="s1")
    session = cli("session", "list", "--json").document["sessions"][0]["id"]
    for file in Path(load_settings().home, "notices").glob("*.jsonl"):
        file.unlink()

    assert f"at a prompt in claude, session {session}" in cli("why").out
    assert "(no longer noted here)" in cli("why").out


def test_forgetting_removes_what_was_looked_up_and_told(decided: Repo, cli: Call):
    prompt("claude", decided, PROPOSAL)
    cli("forget", "--match", "redis streams", "--yes")

    files = [path for path in Path(load_settings().home, "notices").rglob("*") if path.is_file()]
    assert files == []


# --- stale notes of a client's own memory ---------------------------------------------------------


@pytest.fixture
def noted(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> Repo:
    """Notes about a file that is gone, for each client; nobody shares notes."""
    for name in ON:
        monkeypatch.delenv(name)
    for name in ("CLAUDE.md", "AGENTS.md", "GEMINI.md"):
        repo.write(name, "# Notes\n\n- `src/retry.py` has the schedule\n")
    repo.commit("notes")
    repo.git("rm", "-q", "src/retry.py")
    repo.commit("remove")
    return repo


STALE = ".md:3 says src/retry.py: deleted in "


@pytest.mark.parametrize("client", CLIENTS)
def test_a_stale_note_is_told_once_in_a_session_and_without_the_flag(client: str, noted: Repo):
    quiet = edit(client, noted, "src/models.py", "x = 1\n", session_id="s1")
    told = read_notice(client, edit(client, noted, "src/retry.py", "x = 1\n", session_id="s1"))
    again = edit(client, noted, "docs/a.md", "See src/retry.py.\n", session_id="s1")
    by_prompt = prompt(client, noted, "change src/retry.py", session_id="s2")

    assert quiet == again == SILENT
    assert "stale note" not in by_prompt.out
    assert told.startswith("stale note ")
    assert told.count(STALE) == 1


def test_a_rejected_alternative_is_not_told_without_the_flag(
    decided: Repo, monkeypatch: pytest.MonkeyPatch
):
    decided.write("CLAUDE.md", "- `src/retry.py` has the schedule\n")
    decided.git("rm", "-q", "src/retry.py")
    both = read_notice("claude", edit("claude", decided, "src/retry.py", "import redis\n"))
    for name in ON:
        monkeypatch.delenv(name)
    one = edit("claude", decided, "src/retry.py", "import redis\n", session_id="s2")

    decision, note = both.splitlines()
    assert decision.endswith(TOLD)
    assert note == "stale note CLAUDE.md:1 says src/retry.py: deleted here, not committed yet"
    assert read_notice("claude", one) == note
    assert len(both) <= 300


def test_why_says_which_note_was_stale_also_after_it_is_fixed(noted: Repo, cli: Call):
    edit("claude", noted, "src/retry.py", "x = 1\n")
    noted.write("CLAUDE.md", "- nothing\n")

    explained = cli("why").out

    assert "CLAUDE.md:3 stale: src/retry.py: deleted in " in explained
    assert "it names the file src/retry.py" in explained


@pytest.mark.usefixtures("real_limits")
@pytest.mark.parametrize("script", ["exit 1", "sleep 30"], ids=["broken", "slow"])
def test_memory_that_cannot_be_checked_in_time_delays_one_edit_only(
    script: str, noted: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    place = tmp_path / "bin"
    place.mkdir()
    (place / "git").write_text(f"#!/bin/sh\necho x >> {tmp_path}/starts\n{script}\n")
    (place / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{place}:/nowhere")

    answers = [edit("claude", noted, "src/retry.py", "x = 1\n")]
    starts = (tmp_path / "starts").read_text()
    answers.append(edit("claude", noted, "src/retry.py", "x = 1\n"))

    assert answers == [SILENT, SILENT]
    assert (tmp_path / "starts").read_text() == starts


def test_an_edit_that_concerns_no_stale_note_loads_no_matching(noted: Repo):
    store_again(noted)
    described = describe_edit("claude", noted.folder / "src/models.py", "y = 1\n")
    given = payload("claude", "PreToolUse", cwd=str(noted.folder), **described)

    modules = load_modules("PreToolUse", given)

    assert "holdfast.notices.store" in modules
    dear = {"apsw", "subprocess", "datetime", "hashlib", "holdfast.app"}
    unneeded = {f"holdfast.notices.{name}" for name in ("matching", "stale", "terms", "code")}
    assert modules & (dear | unneeded | {"holdfast.usecases.client_memory"}) == set()
    assert len([name for name in modules if name.startswith("holdfast")]) <= 45


# --- nothing blocks an agent ----------------------------------------------------------------------


def test_two_hooks_at_once_tell_it_once(decided: Repo):
    event = payload("claude", "UserPromptSubmit", cwd=str(decided.folder), prompt=PROPOSAL)
    prompt("claude", decided, "hello", session_id="warm")
    running = [
        subprocess.Popen(
            [*PATIENT, "hook", "claude", "UserPromptSubmit"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    outs = [process.communicate(json.dumps(event), timeout=60)[0] for process in running]

    assert sum(TOLD.replace('"', '\\"') in out for out in outs) == 1


def test_ten_megabytes_are_looked_at_only_in_part(decided: Repo):
    text = "import redis\n" + "x = 1\n" * 1_700_000

    assert TOLD in read_notice("claude", edit("claude", decided, "src/big.py", text))
    late = "y = 1\n" * 1_700_000 + "import redis\n"
    assert edit("claude", decided, "src/big.py", late, session_id="late") == SILENT


def test_what_is_not_an_edit_is_silent(decided: Repo):
    given = {"file_path": ["src/a.py"], "new_string": {"a": 1}, "content": "\x00import redis"}
    fields = {"tool_name": "Edit", "tool_input": given, "cwd": str(decided.folder)}

    assert fire("claude", "PreToolUse", payload("claude", "PreToolUse", **fields)) == SILENT


def test_a_working_tree_that_is_gone_is_silent(decided: Repo):
    gone = str(decided.folder / "gone")

    answer = fire("claude", "UserPromptSubmit", payload("claude", "UserPromptSubmit", cwd=gone))

    assert answer == SILENT


@pytest.mark.usefixtures("real_limits")
@pytest.mark.parametrize("script", ["exit 1", "sleep 30"], ids=["broken", "slow"])
def test_git_that_does_not_answer_delays_no_agent_twice(
    script: str, decided: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    place = tmp_path / "bin"
    place.mkdir()
    (place / "git").write_text(f"#!/bin/sh\necho x >> {tmp_path}/starts\n{script}\n")
    (place / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{place}:/nowhere")

    answers = [edit("claude", decided, "src/q.py", "import redis\n") for _ in range(2)]

    assert answers == [SILENT, SILENT]
    assert len((tmp_path / "starts").read_text().splitlines()) <= 2


def test_without_git_nothing_is_told(decided: Repo, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", "/nowhere")

    assert edit("claude", decided, "src/q.py", "import redis\n") == SILENT


def test_a_torn_index_is_made_again(decided: Repo):
    prompt("claude", decided, "hello", session_id="warm")
    [file] = Path(load_settings().home, "notices").glob("*.jsonl")
    file.write_bytes(file.read_bytes()[:-30])

    assert TOLD in read_notice("claude", prompt("claude", decided, PROPOSAL))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_what_was_told_and_torn_is_told_once_more_at_most(decided: Repo):
    """A process that was killed while it wrote."""
    prompt("claude", decided, PROPOSAL)
    [file] = Path(load_settings().home, "notices", "told").glob("*.jsonl")
    file.write_bytes(file.read_bytes()[:-20])

    assert TOLD in read_notice("claude", prompt("claude", decided, PROPOSAL))
    assert prompt("claude", decided, PROPOSAL) == SILENT


def test_a_data_folder_that_cannot_be_written_is_silent(decided: Repo):
    home = Path(load_settings().home)
    prompt("claude", decided, "hello", session_id="warm")
    (home / "notices" / "told").write_text("a file in its place")

    assert prompt("claude", decided, PROPOSAL) == SILENT


def test_ten_thousand_decisions_block_nobody(decided: Repo):
    path = decided.folder / "data/context/implementation_context.json"
    document = json.loads(path.read_text())
    [context] = document["contexts"]
    first = context["open_decisions"][0]
    context["open_decisions"] = [
        {**first, "id": f"D{n}", "uid": f"u{n}", "text": f"Alternative{n} queue{n % 7}"}
        for n in range(2, 10_000)
    ] + [first]
    path.write_text(json.dumps(document))

    answers = [edit("claude", decided, "src/q.py", "import redis\n") for _ in range(2)]

    for answer in answers:
        assert answer.code == 0
        assert answer.out == "" or json.loads(answer.out)


# --- what it costs --------------------------------------------------------------------------------


def load_modules(event: str, given: dict[str, Any]) -> set[str]:
    """All that a hook process loads."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "holdfast", "hook", "claude", event],
        input=json.dumps(given),
        env={name: value for name, value in os.environ.items() if "COVERAGE" not in name},
        capture_output=True,
        text=True,
        timeout=60,
    )
    return {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}


def test_an_edit_is_looked_up_without_a_store_or_git(decided: Repo):
    store_again(decided)
    described = describe_edit("claude", decided.folder / "src/q.py", "import redis\n")
    given = payload("claude", "PreToolUse", cwd=str(decided.folder), **described)

    modules = load_modules("PreToolUse", given)

    assert "holdfast.notices.matching" in modules
    dear = {"apsw", "subprocess", "holdfast.app", "holdfast.notices.terms", "datetime", "hashlib"}
    assert modules & dear == set()
    ours = [name for name in modules if name.startswith("holdfast")]
    assert len(ours) <= 45


def store_again(repo: Repo) -> None:
    """An index that is used for as long as nothing changes."""
    home = load_settings().home
    noted = [*Path(repo.folder, "data/context").glob("*"), *Path(repo.folder).glob("*.md")]
    for path in [*noted, *Path(repo.folder, ".git").rglob("*"), Path(home)]:
        if path.exists():
            os.utime(path, (1_700_000_000, 1_700_000_000))
    edit("claude", repo, "src/warm.py", "x = 1\n", session_id="warm")
    assert store.list_told(home) == []


def test_every_client_says_which_tools_edit():
    for name in CLIENTS:
        client = find_client(name)
        assert client is not None
        assert client.EDIT_TOOLS
