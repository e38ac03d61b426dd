"""What no client should write and some do, through the doors that people and agents use: nothing
wrong is shown, and nothing keeps the agent waiting.
"""

import json
import os
import unicodedata
from pathlib import Path
from typing import Any

import httpx
import pytest

from holdfast.app import App
from holdfast.surfaces.http import app as door
from holdfast.surfaces.http.token import Keys
from tests.rig.claude_program import FIRST, SECOND, Claude, said
from tests.rig.commands import Answer, run_process
from tests.workstreams.repos import ON, Repo, with_code

pytestmark = pytest.mark.unmeasured

NOTHING = Answer(0, "", "")
DOCUMENT_CHARS = 12_000  # more than any document has
MEGABYTE = 1_000_000
UNSEEN = ("Cc", "Cf", "Cs")


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return with_code(tmp_path / "project")


@pytest.fixture
def claude(home: Path, repo: Repo) -> Claude:
    started = Claude(home, repo.folder)
    started.fire("SessionStart", source="startup")
    return started


def call(claude: Claude, tool: str, given: object, output: object = "ok") -> None:
    """A tool that was called, and what came back."""
    call_id = f"toolu_{claude.records}"
    claude.write("assistant", [{"type": "tool_use", "id": call_id, "name": tool, "input": given}])
    claude.write("user", [{"type": "tool_result", "tool_use_id": call_id, "content": output}])


def finish(claude: Claude, prompt_id: str = "p1") -> None:
    assert claude.fire("Stop", prompt_id=prompt_id) == NOTHING


def start_next(claude: Claude, home: Path) -> str:
    """What the next session is told."""
    answer = Claude(home, claude.project, SECOND).fire("SessionStart", source="startup")
    assert (answer.code, answer.err) == (0, "")
    text: str = json.loads(answer.out)["hookSpecificOutput"]["additionalContext"]
    return text


async def read_console() -> str:
    """The list of sessions, and the page of each."""
    async with App() as app:
        keys = Keys(app.settings.home)
        transport = httpx.ASGITransport(app=door.make_http_app(app, keys=keys))
        headers = {"authorization": f"Bearer {keys.token}"}
        sessions = await app.scope.sessions.list_sessions()
        paths = ["/", *(f"/sessions/{session.id}" for session in sessions)]
        async with httpx.AsyncClient(
            transport=transport, base_url="http://127.0.0.1:4790", headers=headers
        ) as client:
            pages = [await client.get(path) for path in paths]
    assert [page.status_code for page in pages] == [200] * len(paths)
    return "\n".join(page.text for page in pages)


async def look(claude: Claude, home: Path, **env: str) -> str:
    """At every door; the text of the handoff."""
    shown = run_process("handoff", "show", cwd=claude.project, **env)
    as_json = run_process("handoff", "show", "--json", cwd=claude.project, **env)
    why = run_process("why", cwd=claude.project, **env)
    told = start_next(claude, home)
    page = await read_console()

    assert [shown.code, as_json.code, why.code] == [0, 0, 0], (shown, as_json, why)
    assert as_json.document["chars"] == len(as_json.document["text"]) < DOCUMENT_CHARS
    for text in (shown.out, why.out, told, page):
        assert not list_unseen(text)
    return shown.out


def list_unseen(text: str) -> set[str]:
    """Characters that a reader does not see, or that turn what follows around."""
    return {char for char in text if unicodedata.category(char) in UNSEEN} - {"\n", "\t", "\r"}


# --- transcripts ----------------------------------------------------------------------------------


async def test_output_that_is_no_text(claude: Claude, home: Path):
    claude.ask("Dump the cache, at most 8 entries.", "p1")
    for output in (
        "\x00" * 1000 + "\x01\x02",
        "\ud800 and \udfff",
        "\x1b[31mred\x1b]0;title\x07\x1b[2J",
        "\u202egnp.exe\u2066\u200b",
        "QUJD" * (5 * MEGABYTE // 4),
        [{"type": "image", "source": {"data": "QUJD" * 1000}}],
    ):
        call(claude, "Bash", {"command": "make dump"}, output)
    with claude.path.open("ab") as file:
        file.write(b'{"type":"user","message":{"content":"\xff\xfe\x00"}}\n\x00\x00\x00\n')
    claude.answer("The dump is written.")
    finish(claude)

    text = await look(claude, home)

    assert "> Dump the cache, at most 8 entries.\n" in text
    assert "| The dump is written.\n" in text
    assert "QUJDQUJD" not in text


async def test_a_line_of_ten_megabytes_hides_nothing_behind_it(claude: Claude, home: Path):
    claude.ask("Read the log.", "p1")
    call(claude, "Bash", {"command": "cat log"}, "line\n" * (2 * MEGABYTE))
    claude.answer("x" * (10 * MEGABYTE))
    claude.answer("The log has 3 errors.")
    finish(claude)
    claude.ask("Fix the first one.", "p2")

    text = await look(claude, home)

    assert "> Fix the first one.\n" in text
    assert said(FIRST).count("The log has 3 errors.") == 1
    assert "xxxxxxxx" not in text


async def test_what_subagents_say_in_between_is_not_what_the_agent_said(claude: Claude, home: Path):
    """Two of them, each in its own file, and one in the main transcript."""
    claude.ask("Look for leaks, with 2 subagents.", "p1")
    folder = claude.path.with_suffix("") / "subagents"
    folder.mkdir(parents=True)
    for number in range(20):
        agent = f"a{number % 2}"
        message = {"role": "user", "content": f"Never use {number} threads."}
        record = {
            "type": "user",
            "isSidechain": True,
            "agentId": agent,
            "message": message,
            "uuid": f"u{number}",
            "sessionId": FIRST,
            "cwd": str(claude.project),
        }
        with (folder / f"agent-{agent}.jsonl").open("a") as file:
            file.write(json.dumps(record) + "\n")
        claude.write("assistant", [{"type": "text", "text": f"aside {number}"}], isSidechain=True)
        call(claude, "Bash", {"command": f"make leak-{number}"})
    claude.answer("No leaks.")
    finish(claude)

    text = await look(claude, home)

    assert "> Look for leaks, with 2 subagents.\n" in text
    assert "| No leaks.\n" in text
    assert "aside" not in text
    assert "threads" not in text


async def test_edits_outside_of_the_repository_are_not_files_of_it(
    claude: Claude, home: Path, repo: Repo, tmp_path: Path
):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("x")
    (repo.folder / "link").symlink_to(outside)
    claude.ask("Change the files.", "p1")
    for path in (
        *("/etc/passwd", "../outside/secret.txt", "link/secret.txt", "/dev/null", "~/notes.txt"),
        *(str(outside / "secret.txt"), ".git/config", "", "\x00", "x" * 5000, "src/\ud800.py"),
        *("/proc/self/mem", str(repo.folder), "//server/share"),
    ):
        call(claude, "Write", {"file_path": path, "content": "x"})
    for given in (None, 7, [], {"file_path": None}, {"file_path": {"a": 1}}):
        call(claude, "Edit", given)
    call(claude, "Edit", {"file_path": str(repo.folder / "src/retry.py")})
    claude.answer("Changed.")
    finish(claude)

    text = await look(claude, home)

    files = next(line for line in text.splitlines() if line.startswith("FILES "))
    assert "src/retry.py" in files
    for wrong in ("passwd", "secret", "null", "notes.txt", ".git/", "xxxx", "proc", "server"):
        assert wrong not in files


# --- the checkout and git -------------------------------------------------------------------------


def test_a_worktree_that_was_removed_blocks_nobody(home: Path, repo: Repo, tmp_path: Path):
    gone = tmp_path / "gone"
    repo.git("worktree", "add", "-q", str(gone))
    claude = Claude(home, gone)
    claude.turn("Use 3 workers.", "Done.", "p1")
    repo.git("worktree", "remove", "--force", str(gone))
    claude.ask("Now use 4.", "p2")
    claude.answer("Used.")

    assert claude.fire("Stop", prompt_id="p2") == NOTHING
    assert claude.fire("SessionEnd", reason="other").code == 0
    assert said(FIRST) == ["Use 3 workers.", "Done.", "Now use 4.", "Used."]
    told = Claude(home, gone, SECOND).fire("SessionStart", source="startup")
    assert (told.code, told.err) == (0, "")
    here = run_process("handoff", "show", cwd=repo.folder)
    assert (here.code, "Now use 4" in here.out) == (0, False), "it is of another working tree"


@pytest.fixture
def asked(claude: Claude, monkeypatch: pytest.MonkeyPatch) -> Claude:
    """Where notes are shared in the repository, each start asks git."""
    for name, value in ON.items():
        monkeypatch.setenv(name, value)
    claude.turn("Give up after 8 attempts.", "Done.", "p1")
    return claude


def make_git(folder: Path, script: str) -> str:
    """The search path on which git is this script."""
    folder.mkdir()
    program = folder / "git"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin"


def start_with(path: str, asked: Claude, home: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("PATH", path)
    return start_next(asked, home)


def test_without_git_the_text_comes_without_it(
    asked: Claude, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    told = start_with(str(tmp_path), asked, home, monkeypatch)
    shown = run_process("handoff", "show", cwd=asked.project)
    why = run_process("why", cwd=asked.project)

    assert "> Give up after 8 attempts." in told
    assert "> Give up after 8 attempts." in shown.out
    assert (shown.code, why.code) == (0, 0)
    assert asked.fire("Stop", prompt_id="p1") == NOTHING


@pytest.mark.usefixtures("real_limits")
def test_a_git_that_is_slow_is_given_up_and_the_text_comes_without_it(
    asked: Claude, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    notes = tmp_path / "notes"
    script = f'echo began >>"{notes}"; sleep 20; echo ended >>"{notes}"'
    told = start_with(make_git(tmp_path / "slow", script), asked, home, monkeypatch)

    assert "> Give up after 8 attempts." in told
    assert set(notes.read_text().split()) == {"began"}


@pytest.mark.parametrize(
    "script",
    [
        "head -c 100000 /dev/urandom",
        "echo; echo; echo not a hash; exit 0",
        "printf '\\033[31m\\000\\377'; exit 1",
        "kill -9 $$",
    ],
    ids=["random", "wrong", "control", "killed"],
)
def test_a_git_that_answers_nonsense_is_not_believed(
    script: str, asked: Claude, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    told = start_with(make_git(tmp_path / "bad", script), asked, home, monkeypatch)
    shown = run_process("handoff", "show", cwd=asked.project)

    assert "> Give up after 8 attempts." in told
    assert shown.code == 0
    assert not list_unseen(told + shown.out)
    assert "not a hash" not in told


# --- todos ----------------------------------------------------------------------------------------


def make_todos(count: int, text: str = "task") -> list[Any]:
    return [{"content": f"{text} {number}", "status": "pending"} for number in range(count)]


@pytest.mark.parametrize(
    ("todos", "first"),
    [
        (make_todos(1_000), "task 0"),
        (make_todos(10_000), "task 0"),
        ([*make_todos(1), [make_todos(2)], {"todos": make_todos(2)}, None, 7], "task 0"),
        (make_todos(3, "x" * MEGABYTE), None),  # more than an event holds
        ([], None),
        ("not a list", None),
        ({"content": "task", "status": "pending"}, None),
        ([{"content": "\x1b[2J\u202etask 0\x00", "status": "pending"}], "task 0"),
    ],
    ids=["1,000", "10,000", "nested", "long", "empty", "text", "object", "control"],
)
async def test_todos_of_any_kind(todos: object, first: str | None, claude: Claude, home: Path):
    claude.ask("Work through the list.", "p1")
    call(claude, "TodoWrite", {"todos": todos})
    claude.answer("Begun.")
    finish(claude)

    text = await look(claude, home)

    next_steps = [line for line in text.splitlines() if line.startswith("NEXT ")]
    assert "> Work through the list.\n" in text
    assert bool(next_steps) == (first is not None)
    assert first is None or first in next_steps[0]
    assert max(map(len, text.splitlines())) < 1_000


# --- other languages ------------------------------------------------------------------------------

SENTENCES = [
    "Bitte höchstens 8 Versuche, niemals Redis verwenden.",
    "No uses más de 3 procesos; nunca toques la tabla de pagos.",
    "N’utilise jamais plus de 5 tâches à la fois, s’il te plaît.",
    "最多重试 8 次，不要使用 Redis。",
    "リトライは最大 8 回まで、Redis は使わないでください。",
    "لا تستخدم أكثر من 8 محاولات ولا تلمس جدول الدفع.",
]


async def test_what_a_person_says_in_any_language_is_quoted_word_for_word(
    claude: Claude, home: Path
):
    """Marks that turn the direction of a line are not words."""
    for number, sentence in enumerate(SENTENCES):
        claude.ask(f"\u200f\u202e{sentence}\u202c", f"p{number}")
        claude.answer("OK")
    finish(claude, "p5")

    text = await look(claude, home)

    for sentence in SENTENCES:
        assert sentence in text
    assert "REJECTED" not in text
