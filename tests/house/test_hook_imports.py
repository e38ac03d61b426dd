"""What a hook process may load.

An agent waits for every hook, dozens of times an hour, and most of a short Python process is
imports. So the modules that cost more than the append itself are named here, and a real hook
process must not have loaded one of them.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.app import App
from holdfast.ground.settings import load_settings
from holdfast.storage.enrolment import Enrolment
from tests.workstreams.repos import ON, with_code

EXPENSIVE = (
    "argparse",
    "ast",
    "asyncio",
    "asyncpg",
    "click",
    "concurrent",
    "csv",
    "dataclasses",
    "decimal",
    "difflib",
    "email",
    "http",
    "importlib.metadata",
    "importlib.resources",
    "inspect",
    "ipaddress",
    "json",
    "logging",
    "multiprocessing",
    "pathlib",
    "pickle",
    "queue",
    "random",
    "rich",
    "shutil",
    "socket",
    "sqlite3",
    "ssl",
    "statistics",
    "subprocess",
    "tempfile",
    "textwrap",
    "threading",
    "tomllib",
    "typing",
    "urllib",
    "uuid",
    "zipfile",
)
# What starts git, at the start of a session only.
FOR_GIT = {"subprocess", "threading"}
# What a text without a pattern to look for has no need of.
FOR_PATTERNS = {"enum", "re"}
# How many modules of ours each hook may load: each costs as much as a query.
AT_A_PROMPT, AT_THE_END_OF_A_TURN, AT_A_START = 47, 54, 168
# Only what is created or repaired for the first time may load these.
NOT_EVERY_TIME = {
    "datetime",
    "hashlib",
    "holdfast.ground.jsonl",
    "holdfast.sessions.model",
    "holdfast.sessions.service",
    "holdfast.storage.group_commit",
    "holdfast.storage.postgres",
    "holdfast.storage.spool",
    "holdfast.usecases.withholding",
}
STORE_ONE_EVENT = """
from holdfast.ground.settings import load_settings, sqlite_path
from holdfast.sessions import rules
from holdfast.sessions.store import SessionStore
from holdfast.storage.database import drive
from holdfast.storage.sqlite import open_sqlite

settings = load_settings()
database = open_sqlite(sqlite_path(settings.database))
store = SessionStore(database, settings.owner)
session_id = drive(store.start_session(user_id="u1", chatmode="claude"))
event = rules.check_event("user_message", "user", "kept", {"tool": "Bash"}, None)
drive(store.append_events(session_id, [event], None))
drive(database.close())
"""


def loaded_modules(*arguments: str, stdin: str = "") -> set[str]:
    """Every module that a Python process loads, whether it is still there at the end or not."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")
    }
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *arguments],
        input=stdin,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    times, others = [], []
    for line in done.stderr.splitlines():
        (times if line.startswith("import time:") else others).append(line)
    assert (done.returncode, others) == (0, [])
    return {line.rpartition("|")[2].strip() for line in times}


def find_expensive(modules: set[str]) -> list[str]:
    return sorted(
        name
        for name in modules
        for dear in EXPENSIVE
        if name == dear or name.startswith(f"{dear}.")
    )


def count_ours(modules: set[str]) -> int:
    return len([name for name in modules if name.partition(".")[0] == "holdfast"])


def claude_payload(tmp_path: Path, event: str, **fields: object) -> str:
    return json.dumps(
        {"hook_event_name": event, "session_id": "c-1", "cwd": str(tmp_path), **fields}
    )


@pytest.fixture
def bare() -> set[str]:
    """What any Python process loads here, before it does anything: nothing that we could save."""
    return loaded_modules("-c", "")


def test_a_hook_that_appends_loads_no_expensive_module(bare: set[str], tmp_path: Path):
    """The first hook of all: it makes the store, starts the session and appends."""
    payload = claude_payload(tmp_path, "Stop", last_assistant_message="Done.")

    modules = loaded_modules("-m", "holdfast", "hook", "claude", "Stop", stdin=payload)

    assert find_expensive(modules - bare) == []
    with App() as app:
        [session] = app.run(app.scope.sessions.list_sessions())
        [event] = app.run(app.scope.sessions.get_recent_events(session.id))
    assert (session.client, event.content) == ("claude", "Done.")


def test_a_hook_that_finds_its_session_loads_no_expensive_module(bare: set[str], tmp_path: Path):
    """The usual case: the store is there, and so is the session."""
    payload = claude_payload(
        tmp_path, "PostToolUse", tool_name="Bash", tool_input={"command": "ls"}, tool_response="a"
    )
    loaded_modules("-m", "holdfast", "hook", "claude", "PostToolUse", stdin=payload)

    modules = loaded_modules("-m", "holdfast", "hook", "claude", "PostToolUse", stdin=payload)

    assert find_expensive(modules - bare) == []
    assert modules & NOT_EVERY_TIME == set()
    assert count_ours(modules) <= AT_A_PROMPT
    with App() as app:
        assert app.count().stored == 2


def test_a_hook_about_a_command_that_reads_the_exchange_loads_no_expensive_module(
    bare: set[str], tmp_path: Path
):
    """What it printed is graded before it is left out."""
    given = {"command": "holdfast team contexts; pytest -q"}
    payload = claude_payload(
        tmp_path, "PostToolUse", tool_name="Bash", tool_input=given, tool_response="1 failed"
    )

    modules = loaded_modules("-m", "holdfast", "hook", "claude", "PostToolUse", stdin=payload)

    assert find_expensive(modules - bare) == []
    assert "holdfast.observations.grading" in modules


def test_a_hook_that_reads_the_transcript_loads_no_expensive_module(bare: set[str], tmp_path: Path):
    """The end of a turn: it redacts and stores what the client has written."""
    path = tmp_path / "transcript.jsonl"
    message = {"role": "user", "content": "Stop the retry.\nKeep the API."}
    line = {"type": "user", "uuid": "u-1", "promptId": "p-1", "message": message}
    payload = claude_payload(tmp_path, "Stop", transcript_path=str(path))
    loaded_modules("-m", "holdfast", "hook", "claude", "Stop", stdin=payload)
    path.write_text(f"{json.dumps(line)}\n")

    modules = loaded_modules("-m", "holdfast", "hook", "claude", "Stop", stdin=payload)

    assert find_expensive(modules - bare) == []
    assert "holdfast.sessions.service" not in modules
    assert count_ours(modules) <= AT_THE_END_OF_A_TURN
    with App() as app:
        assert app.count().stored == 1


def test_a_hook_that_makes_a_bundle_loads_what_starts_git_and_nothing_else_that_is_expensive(
    bare: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    repo = with_code(tmp_path / "payouts")
    for name, value in ON.items():
        monkeypatch.setenv(name, value)
    with App() as app:
        work = app.workstreams(str(repo.folder))
        app.run(work.claim("schedule() doubles", ["README.md:1"]))
        app.run(work.decide("a table"))
        app.run(work.save("Where it stands. Next: the tests."))
    payload = claude_payload(repo.folder, "SessionStart", source="startup")

    modules = loaded_modules("-m", "holdfast", "hook", "claude", "SessionStart", stdin=payload)

    assert set(find_expensive(modules - bare)) == FOR_GIT
    assert "holdfast.bundles.render" in modules
    assert count_ours(modules) <= AT_A_START


@pytest.mark.parametrize("rest", ["", '{"type":"last-prompt","lastPrompt":"Go."}\n'])
def test_a_prompt_that_nothing_precedes_loads_no_reader(rest: str, bare: set[str], tmp_path: Path):
    """The transcript is as the last reading left it, or has lines that only the client needs."""
    record = {"parentUuid": None, "type": "user", "message": {"content": "Go."}, "uuid": "u1"}
    path = tmp_path / "c-1.jsonl"
    path.write_text(json.dumps(record) + "\n")
    end = claude_payload(tmp_path, "Stop", transcript_path=str(path))
    loaded_modules("-m", "holdfast", "hook", "claude", "Stop", stdin=end)
    path.write_text(path.read_text() + rest)
    named = {"prompt": "Retry.", "prompt_id": "p1", "transcript_path": str(path)}
    payload = claude_payload(tmp_path, "UserPromptSubmit", **named)

    modules = loaded_modules("-m", "holdfast", "hook", "claude", "UserPromptSubmit", stdin=payload)

    assert find_expensive(modules - bare) == []
    assert modules & NOT_EVERY_TIME == set()
    readers = {"holdfast.usecases.catching_up", "holdfast.clients.transcript"}
    assert modules & (readers | FOR_PATTERNS) == set()
    with App() as app:
        assert app.count().stored == 2


# What is about offering to save, and about saving itself.
OFFERING = {
    "holdfast.conversations.offering",
    "holdfast.conversations.pausing",
    "holdfast.usecases.conversing",
    "holdfast.usecases.offering",
    "holdfast.usecases.stopping",
}


def fire_twice(tmp_path: Path, event: str, *prompts: str, **fields: str) -> set[str]:
    """What the hook loads after these prompts, the second time: everything else is there."""
    for number, words in enumerate(prompts):
        prompt = claude_payload(tmp_path, "UserPromptSubmit", prompt=words, prompt_id=f"p{number}")
        loaded_modules("-m", "holdfast", "hook", "claude", "UserPromptSubmit", stdin=prompt)
    payload = claude_payload(tmp_path, event, prompt_id="p", **fields)
    loaded_modules("-m", "holdfast", "hook", "claude", event, stdin=payload)
    return loaded_modules("-m", "holdfast", "hook", "claude", event, stdin=payload)


@pytest.mark.parametrize(
    ("event", "fields"),
    [
        ("UserPromptSubmit", {"prompt": "Let's stop here, bye!"}),
        ("Stop", {"last_assistant_message": "Bye."}),
        ("SessionEnd", {}),
    ],
)
def test_a_hook_outside_a_conversation_loads_nothing_about_saving_one(
    event: str, fields: dict[str, str], tmp_path: Path
):
    modules = fire_twice(tmp_path, event, "Retry.", **fields)

    assert "apsw" in modules
    assert modules & OFFERING == set()
    assert count_ours(modules) <= AT_THE_END_OF_A_TURN


def test_a_prompt_in_a_conversation_starts_no_git_and_opens_no_folder(
    bare: set[str], tmp_path: Path
):
    words = "Let's stop here, bye!"

    modules = fire_twice(tmp_path, "UserPromptSubmit", "/workspace.debug retry", prompt=words)

    assert OFFERING & modules == {
        "holdfast.conversations.offering",
        "holdfast.conversations.pausing",
        "holdfast.usecases.offering",
    }
    assert find_expensive(modules - bare) == []


def test_the_end_of_a_turn_in_a_conversation_loads_nothing_that_saves_it(
    bare: set[str], tmp_path: Path
):
    asked = ("/workspace.debug retry", "Fix it.")

    modules = fire_twice(tmp_path, "Stop", *asked, last_assistant_message="Fixed.")

    assert modules & OFFERING == {"holdfast.usecases.stopping"}
    assert find_expensive(modules - bare) == []


def test_a_hook_without_anything_to_keep_loads_no_store(bare: set[str], tmp_path: Path):
    """A client fires hooks that we do not want; they cost as good as nothing."""
    modules = loaded_modules(
        "-m", "holdfast", "hook", "claude", "Stop", stdin=claude_payload(tmp_path, "Notification")
    )

    assert find_expensive(modules - bare) == []
    assert modules & {"apsw", *FOR_PATTERNS} == set()


def test_a_hook_in_a_folder_that_is_not_enrolled_loads_no_store(bare: set[str], tmp_path: Path):
    """Hooks are set up for a person, and so fire in every folder."""
    Enrolment(load_settings().home).add(str(tmp_path / "enrolled"))
    payload = claude_payload(tmp_path, "UserPromptSubmit", prompt="Retry.", prompt_id="p1")

    modules = loaded_modules("-m", "holdfast", "hook", "claude", "UserPromptSubmit", stdin=payload)

    assert find_expensive(modules - bare) == []
    unneeded = {"apsw", "holdfast.app", "holdfast.ground.redaction", "holdfast.sessions.store"}
    assert modules & (unneeded | FOR_PATTERNS) == set()


def test_the_store_alone_loads_no_expensive_module(bare: set[str]):
    """Without a running loop the services are driven by hand, and `asyncio` is not loaded."""
    modules = loaded_modules("-c", STORE_ONE_EVENT)

    assert find_expensive(modules - bare) == []
    assert "apsw" in modules


@pytest.mark.parametrize("typed", ["session list", "status", "memory list"])
def test_a_command_on_the_embedded_store_loads_no_event_loop(typed: str):
    """It is a quarter of the time that a command takes."""
    modules = loaded_modules("-m", "holdfast", *typed.split())

    assert "holdfast.surfaces.cli.root" in modules
    assert "asyncio" not in modules


def test_the_public_names_are_loaded_when_they_are_used(bare: set[str]):
    """`import holdfast` costs the package's own file."""
    modules = loaded_modules("-c", "import holdfast")

    assert {name for name in modules - bare if name.startswith("holdfast")} == {"holdfast"}
    assert find_expensive(modules - bare) == []


def test_an_expensive_module_that_is_loaded_late_is_detected(bare: set[str]):
    """The measure itself: also when the module is loaded late."""
    modules = loaded_modules("-c", "def late():\n    import concurrent.futures\nlate()")

    assert "concurrent.futures" in find_expensive(modules - bare)
