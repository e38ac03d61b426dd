"""A working week to look at: sessions of three clients, with files, commands, answers, and one that
was cut.
"""

import asyncio
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from holdfast.app import App
from holdfast.ground import clock, stamp
from holdfast.ground.settings import Settings
from holdfast.sessions.service import SessionService

EventFields = dict[str, Any]


def run_in_own_thread(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """On a thread and a loop of its own: Playwright's own loop runs in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()


def with_sessions(settings: Settings, work: Any) -> Any:
    """Call `work(sessions)` on this store, as another process of the same person would."""

    async def run() -> Any:
        async with App(settings) as app:
            return await work(app.scope.sessions)

    return run_in_own_thread(run())


class Clock:
    """The store's clock, set by hand: a picture of a week cannot wait a week."""

    def __init__(self) -> None:
        self.at = datetime.now(UTC)

    def now_microseconds(self) -> int:
        return clock.microseconds(self.at)


@contextmanager
def set_clock() -> Iterator[Clock]:
    own, before = Clock(), stamp.now_microseconds
    stamp.now_microseconds = own.now_microseconds
    try:
        yield own
    finally:
        stamp.now_microseconds = before


def make_request(text: str) -> EventFields:
    return {"type": "user_message", "role": "user", "content": text}


def make_answer(text: str) -> EventFields:
    return {"type": "model_message", "role": "assistant", "content": text}


def make_run(command: str, output: str, code: int | None = 0) -> EventFields:
    content = f"Exit code: {code}\n{output}" if code else output
    parts: dict[str, Any] = {"tool": "Bash", "input": {"command": command}}
    if code is not None:
        parts["exit_code"] = code
    return {"type": "tool_result", "role": "tool", "content": content, "parts": parts}


def make_edit(path: str, tool: str = "Edit") -> EventFields:
    parts = {"tool": tool, "input": {"file_path": path, "old_string": "a", "new_string": "b"}}
    return {
        "type": "tool_result",
        "role": "tool",
        "content": f"The file {path} has been updated.",
        "parts": parts,
    }


def make_todos(**statuses: str) -> EventFields:
    """The client's own list; a name says what is to be done."""
    todos = [
        {"content": name.replace("_", " "), "status": status, "activeForm": name}
        for name, status in statuses.items()
    ]
    return make_result("TodoWrite", {"todos": todos}, "Todos have been modified successfully.")


def make_result(tool: str, given: dict[str, Any], content: str) -> EventFields:
    parts = {"tool": tool, "input": given}
    return {"type": "tool_result", "role": "tool", "content": content, "parts": parts}


def read(path: str) -> EventFields:
    parts = {"tool": "Read", "input": {"file_path": path}}
    return {
        "type": "tool_result",
        "role": "tool",
        "content": "1\tdef deliver(event):\n2\t    ...",
        "parts": parts,
    }


WEBHOOK = [
    [
        make_request(
            "failed webhooks must be retried, and never pay twice. "
            "No Redis streams: ops will not run another Redis."
        ),
        read("{repo}/src/payouts/webhooks.py"),
        read("{repo}/src/payouts/models.py"),
        make_edit("{repo}/src/payouts/retry.py", "Write"),
        make_run("pytest -q tests/test_webhooks.py", "14 passed in 0.61s"),
        make_answer(
            "Attempts are kept per event in a table of their own, and deliver() asks it "
            "before it posts."
        ),
    ],
    [
        make_request("8 attempts over 24 hours, base 30 s, jitter 20 %"),
        make_edit("{repo}/src/payouts/retry.py"),
        make_edit("{repo}/tests/test_retry.py", "Write"),
        make_run("pytest -q tests/test_retry.py | tail -3", "12 passed"),
        make_todos(
            schedule_with_jitter="completed",
            give_up_after_8_attempts="in_progress",
            treat_a_409_as_success="pending",
            migration_0031="pending",
        ),
        make_answer(
            "schedule() doubles from 30 s and adds up to 20 % of jitter.\n\n"
            "The last attempt is at 23 h 41 min."
        ),
    ],
    [
        make_request("give up after 8, and count the first delivery as attempt 1"),
        make_edit("{repo}/src/payouts/retry.py"),
        make_run(
            "pytest -q tests/test_retry.py",
            "FAILED test_gives_up_after_8: assert 9 == 8\n1 failed, 11 passed",
            1,
        ),
        make_edit("{repo}/src/payouts/retry.py"),
        make_run("pytest -q tests/test_retry.py", "12 passed in 0.58s"),
        make_run(
            "git commit -qam 'Give up after 8 attempts'",
            "[feat/webhook-retry 4be07a1] Give up after 8 attempts\n 2 files changed",
        ),
        make_run(
            "make check",
            "FAILED tests/test_models.py::test_attempts_are_unique - assert 2 == 1\n"
            "1 failed, 86 passed in 9.12s\nmake: *** [check] Error 1",
            2,
        ),
        {
            "type": "validation_gate",
            "role": "system",
            "content": "Gate 2: tests pass on the tree that is published",
            "parts": {"passed": True},
        },
        make_answer("next_attempt() was off by one; it stops at 8 now."),
    ],
]
OTHERS: list[tuple[float, str, str | None, str, str, list[EventFields]]] = [
    (
        0.2,
        "codex",
        None,
        "feat/409",
        "running",
        [
            make_request("treat a 409 from the provider as success"),
            read("{repo}/src/payouts/webhooks.py"),
        ],
    ),
    (
        3,
        "gemini",
        None,
        "feat/webhook-retry",
        "cut",
        [
            make_request("add the migration for the retry table"),
            make_run("make migrate", "applied 0031_retry", None),
        ],
    ),
    (
        25,
        "claude",
        "Signature rotation",
        "main",
        "clean",
        [
            make_request("what happens while two secrets are valid?"),
            make_answer("Both are tried, the newer one first."),
        ],
    ),
    (
        28,
        "codex",
        None,
        "main",
        "clean",
        [
            make_request("why is the nightly export slow since Thursday"),
            make_answer("One query lost its index in 0029."),
        ],
    ),
    (
        51,
        "claude",
        "ADR 014: webhooks",
        "docs/adr-014",
        "clean",
        [
            make_request("write down why we do not use Redis streams"),
            make_answer("docs/adr/014-webhooks.md"),
        ],
    ),
    (
        74,
        "gemini",
        None,
        "main",
        "clean",
        [
            make_request("update the dashboard's colours for colour-blind people"),
            make_answer("Done, in two files."),
        ],
    ),
]


def write_week(settings: Settings, repo: str, now: datetime | None = None) -> str:
    """Write the week; the id of the session that the story is about. SQLite only, for the sake of
    its clock.
    """
    now = now or datetime.now(UTC)

    async def work(sessions: SessionService) -> str:
        with set_clock() as at:
            for hours, client, name, branch, ending, events in reversed(OTHERS):
                at.at = now - timedelta(hours=hours)
                session = await sessions.create_session(
                    client, "ana", git_branch=branch, name=name, client=client, worktree=repo
                )
                for number in range(8 if ending == "clean" else 2):
                    for event in events:
                        at.at += timedelta(seconds=20 + 37 * (number * 7 % 5) ** 2)
                        await sessions.append_event(session.id, **fill_event(event, repo))
                if ending == "clean":
                    await sessions.end_session(session.id)
            at.at = now - timedelta(minutes=47)
            told = await sessions.create_session(
                "claude",
                "ana",
                git_branch="feat/webhook-retry",
                name="Webhook retry",
                client="claude",
                worktree=repo,
            )
            for turn in WEBHOOK:
                at.at += timedelta(minutes=9)
                for event in turn:
                    at.at += timedelta(seconds=41)
                    await sessions.append_event(told.id, **fill_event(event, repo))
            return told.id

    session_id: str = with_sessions(settings, work)
    return session_id


def fill_event(event: EventFields, repo: str) -> EventFields:
    filled = _fill(event, repo)
    return {"event_type": filled.pop("type"), **filled}


def _fill(value: Any, repo: str) -> Any:
    if isinstance(value, dict):
        return {key: _fill(inner, repo) for key, inner in value.items()}
    return value.replace("{repo}", repo) if isinstance(value, str) else value
