"""Conversations to look at: of three clients, some with a session of this machine, one that came
with the repository, one that is finished.
"""

import shutil
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from holdfast.app import App
from holdfast.conversations.model import ACTIVE, COMPLETED, PAUSED, Conversation
from holdfast.ground.settings import Settings
from holdfast.usecases import conversing
from tests.surfaces.console.story import (
    EventFields,
    fill_event,
    make_answer,
    make_edit,
    make_request,
    run_in_own_thread,
    set_clock,
)

RETRY = [
    make_request("Failed webhooks must be retried, and never pay twice."),
    make_answer(
        "Attempts are kept **per event** in a table of their own:\n\n"
        "1. `deliver()` asks it before it posts.\n"
        "2. A replay finds its attempt and does nothing.\n\n"
        "| attempt | pause |\n| --- | --- |\n| 1 | 30 s |\n| 2 | 60 s |\n"
    ),
    make_request("8 attempts over 24 hours, base 30 s, jitter 20 %"),
    make_edit("{repo}/src/retry.py"),
    make_edit("{repo}/src/models.py"),
    make_edit("{repo}/docs/adr.md"),
    make_edit("{repo}/README.md"),
    make_answer(
        "`schedule()` doubles from 30 s and adds up to 20 % of jitter. The last attempt is at "
        "23 h 41 min."
    ),
    make_request("Thanks. Give up after 8, and count the first delivery as attempt 1."),
    make_answer("`next_attempt()` was off by one; it stops at 8 now."),
]
EXPORT = [
    make_request("Why is the nightly export slow since Thursday?"),
    make_answer("One query lost its index in migration 0029."),
    make_request("Put the index back in a migration of its own, do not change 0029."),
]
ROTATION = [
    make_request("What happens while two secrets are valid?"),
    make_answer("Both are tried, the newer one first."),
    make_request("Good, that is decided then."),
]
# Hours ago, type, title, client, status, what was said.
TALKS: list[tuple[float, str, str, str, str, list[EventFields]]] = [
    (1, "debug", "Webhook retry pays twice", "claude", ACTIVE, RETRY),
    (5, "debug", "Nightly export is slow", "codex", PAUSED, EXPORT),
    (27, "plan", "Signature rotation", "claude", COMPLETED, ROTATION),
]


def converse(settings: Settings, repo: str, work: Callable[[App, str], Awaitable[Any]]) -> Any:
    """Call `work(app, repo)` as another process of the same person would."""

    async def run() -> Any:
        async with App(settings) as app:
            return await work(app, repo)

    return run_in_own_thread(run())


def write_talks(settings: Settings, repo: str, now: datetime | None = None) -> list[str]:
    """The ids, the last active first."""
    at_end = now or datetime.now(UTC)

    async def write(app: App, repo: str) -> list[str]:
        made = [await write_talk(app, repo, at_end, *talk) for talk in reversed(TALKS)]
        return [each.id for each in reversed(made)]

    found: list[str] = converse(settings, repo, write)
    return found


async def write_talk(
    app: App,
    repo: str,
    now: datetime,
    hours: float,
    type_: str,
    title: str,
    client: str,
    status: str,
    events: list[EventFields],
) -> Conversation:
    with set_clock() as clock:
        clock.at = now - timedelta(hours=hours)
        sessions = app.scope.sessions
        session = await sessions.create_session(
            client, "ana", client=client, worktree=repo, git_branch="main", name=title
        )
        made = await conversing.begin_conversation(app, repo, type_, title, session)
        for event in events:
            clock.at += timedelta(seconds=40)
            await sessions.append_event(session.id, **fill_event(event, repo))
        saved = await conversing.save_conversation(app, repo, session, made.id, status=status)
        if status == COMPLETED:
            await sessions.end_session(session.id)
    return saved.conversation


def find_folder(settings: Settings, id_: str) -> Path:
    """In the data folder."""
    (found,) = Path(settings.home, "conversations").glob(f"*/{id_}")
    return found


def copy_talk(settings: Settings, id_: str, count: int, day: str = "2026-01-05") -> None:
    """As many more as a busy year has; only their titles and their words differ."""
    folder = find_folder(settings, id_)
    metadata = (folder / ".session/session.json").read_text()
    messages = (folder / ".session/messages.jsonl").read_text()
    to = folder.parent.parent / day
    for number in range(1, count + 1):
        copied = to / f"{number:03}-debug-number-{number}" / ".session"
        copied.mkdir(parents=True)
        title = f"Number {number}"
        copied.joinpath("session.json").write_text(metadata.replace(TALKS[0][2], title))
        copied.joinpath("messages.jsonl").write_text(messages.replace("attempt", f"try{number}"))


def remove_session(settings: Settings, id_: str) -> None:
    shutil.rmtree(find_folder(settings, id_) / ".session")
