"""The pictures of the documentation, taken of a working week. Only `HOLDFAST_SCREENSHOTS=1` writes
them.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, expect

from holdfast.ground import ids
from holdfast.surfaces.console import looks
from holdfast.surfaces.console.coordination_view import HOURS
from holdfast.workstreams.service import WorkstreamService
from tests.surfaces.console import noting, story, talks, teaming
from tests.surfaces.console.browsing import Console
from tests.surfaces.console.conftest import opened
from tests.surfaces.console.story import set_clock
from tests.surfaces.console.test_conversation_browser import PROGRAMS, programs
from tests.surfaces.console.test_prices import install
from tests.workstreams.repos import Repo

__all__ = ["programs"]  # a fixture

RETRY = '''"""When a failed webhook is tried again."""

from datetime import timedelta
from random import random

BASE = timedelta(seconds=30)
ATTEMPTS = 8


def next_attempt(attempt: int) -> timedelta | None:
    """How long to wait after this attempt; None gives up. The first delivery is attempt 1."""
    if attempt >= ATTEMPTS:
        return None
    return BASE * 2**attempt * (1 + 0.2 * random())
'''


def prepare(console: Console) -> tuple[str, str]:
    """A repository with a file, the week's sessions, and the context of the newest."""
    repo = console.root / "payouts"
    path = repo / "src" / "payouts" / "retry.py"
    path.parent.mkdir(parents=True)
    path.write_text(RETRY)
    (repo / "tests").mkdir()
    (repo / "tests" / "test_retry.py").write_text("def test_gives_up_after_8(): ...\n")
    (repo / "docs").mkdir()
    (repo / "docs" / "adr-014.md").write_text("# Webhooks\n")
    session_id = story.write_week(console.settings, str(repo))
    files = [
        str(path),
        str(repo / "docs" / "adr-014.md"),
        str(repo / "migrations" / "0031_retry.sql"),
    ]
    console.set_context(session_id, "files", files)
    console.set_context(session_id, "endpoints", ["http://localhost:8080/webhooks"])
    console.set_context(session_id, "ports", ["8080", "5432"])
    console.set_context(session_id, "applet", ["text-editor", f"path={path}", "line=10"])
    return session_id, str(path)


def test_a_working_week_is_shown_in_every_form(own_console: Console):
    """Light, dark, on a phone, and in the editor; the words that belong there are there."""
    session_id, path = prepare(own_console)
    page = own_console.open_live(f"/sessions/{session_id}")
    expect(page.locator(".turn")).to_have_count(3)
    assert page.locator(".commands .verdict").all_inner_texts() == ["✗", "✓", "✓", "✗", "?", "✓"]
    assert sorted(set(page.locator("#list .ending").all_inner_texts())) == [
        "ended",
        "idle",
        "live",
    ]
    expect(page.locator("#card")).to_contain_text("Open again: retry.py in the text editor")
    expect(page.locator("#card .missing")).to_contain_text("0031_retry.sql")
    own_console.picture("sessions")

    page.emulate_media(color_scheme="dark")
    own_console.picture("sessions-dark")

    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 390, "height": 844})
    own_console.picture("session-phone")
    own_console.open_live("/sessions")
    own_console.picture("list-phone")

    page.set_viewport_size({"width": 1280, "height": 700})
    own_console.open_live(f"/?applet=text-editor&path={quote(path)}&session={session_id}#L10")
    expect(page.locator("#L10:target")).to_contain_text("def next_attempt")
    own_console.picture("applet")
    assert Path(path).read_text() == RETRY


@pytest.fixture
def noted_console(tmp_path: Path, browser: Browser, window: dict[str, Any]) -> Iterator[Console]:
    repo = noting.with_code(tmp_path / "payouts")
    repo.git("checkout", "-q", "-b", "feat/webhook-retry")
    (tmp_path / "served").mkdir()
    with noting.serving(tmp_path / "served", repo.folder) as running:
        yield from opened(browser, running, repo.folder, window)


async def note_a_day(workstreams: WorkstreamService) -> None:
    await workstreams.claim(
        "schedule() doubles the pause, from 30 seconds on", ["src/retry.py#schedule"]
    )
    await workstreams.claim(
        "deliver() posts once and hands on the answer", ["src/retry.py#deliver"]
    )
    await workstreams.claim("Attempts are counted per event", ["src/models.py:1-3"])
    await workstreams.claim("The ADR rules out Redis", ["docs/adr.md:3"])
    await workstreams.claim("An event is paid once", ["README.md:3"])
    await workstreams.claim("The provider answers 409 to a replayed event")
    proof = await workstreams.prove(["python3", "-c", "print('14 passed in 0.61s')"])
    await workstreams.claim("Webhooks are tested", [f"proof:{proof.id}"])
    await workstreams.decide("Retry schedule in a table or in the queue?")
    await workstreams.decide("8 attempts over 24 h, base 30 s, jitter 20 %", status="accepted")
    await workstreams.decide(
        "Redis streams", status="rejected", because="ops will not run another Redis"
    )
    await workstreams.set_checklist(
        ["off-by-one in next_attempt()", "409 counts as success", "migration 0031"]
    )
    goal = (
        "Goal: failed webhooks are retried and never pay twice.\n"
        "Not looked at: dashboard, signature rotation."
    )
    await workstreams.save(goal, by_hand=True, feature_request="Webhook retry")


def edit(repo: Repo) -> None:
    """What was edited since: one thing changed, one moved, one is gone, and a file that no claim
    noted is new.
    """
    changed = noting.RETRY.replace("2**attempt", "2 ** (attempt - 1)").replace(
        "BASE = 30\n", "BASE = 30\nJITTER = 0.2\n"
    )
    repo.write("src/retry.py", changed)
    repo.write("src/models.py", '"""Rows."""\n\nclass Attempt:\n    number: int\n    event: str\n')
    (repo.folder / "docs/adr.md").unlink()
    repo.write("migrations/0031_retry.sql", "create table attempts (id bigint);\n")
    repo.git("add", "migrations")


def test_a_day_later_the_notes_are_shown_against_the_checkout(noted_console: Console):
    repo = Repo(noted_console.root, begin=False)
    noting.note(noted_console.settings, repo, note_a_day)
    edit(repo)
    page = noted_console.open_live("/workstreams")
    assert page.locator(".claim > header .pill").all_inner_texts() == [
        *("gone", "changed", "changed"),
        *("moved", "moved", "only said", "fresh"),
    ]
    noted_console.picture("workstreams")

    page.locator(".budget a[aria-label^='decided']").click()
    page.emulate_media(color_scheme="dark")
    noted_console.picture("workstreams-dark")

    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 390, "height": 844})
    noted_console.picture("workstreams-phone")

    page.set_viewport_size({"width": 1280, "height": 700})
    page.locator(".changes").get_by_role("link", name="src/retry.py").click()
    expect(page.locator(".diff .added")).to_have_count(2)
    page.wait_for_selector("#dot.on")
    noted_console.picture("git-diff")


def test_conversations_are_shown_in_every_form(programs: None, noted_console: Console):
    """The list with its search, the chosen one beside it, dark, and on a phone."""
    repo = Repo(noted_console.root, begin=False)
    install(noted_console.server.home, noted_console.server.home, *PROGRAMS)
    webhook, export, *_ = talks.write_talks(noted_console.settings, str(repo.folder))
    edit(repo)
    page = noted_console.open_live(f"/conversations/{webhook}")
    expect(page.locator(".check li")).to_have_count(2)
    expect(page.locator(".ways .bad")).to_have_count(0)
    noted_console.picture("conversations")

    noted_console.open_live("/conversations")
    page.keyboard.type("mig")
    expect(page.locator("#list .title")).to_have_count(1)
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/conversations/{export}*")
    page.emulate_media(color_scheme="dark")
    page.wait_for_selector("#dot.on")
    noted_console.picture("conversations-dark")

    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 390, "height": 844})
    noted_console.open_live(f"/conversations/{webhook}")
    noted_console.picture("conversation-phone")
    noted_console.open_live("/conversations")
    noted_console.picture("conversations-phone")


def work_together(console: Console, repo: Repo) -> None:
    """Three developers in a morning: what each published, reserved, and hands over."""
    server = console.server
    with set_clock() as clock:
        clock.at -= timedelta(hours=9)
        for minutes, handle, title in ((0, "dev-c", "Ledger export"), (40, "dev-b", "Schema")):
            clock.at += timedelta(minutes=minutes)
            teaming.publish(server, handle, title, branch="feat/export")
        clock.at += timedelta(hours=4)
        teaming.publish(
            server,
            "dev-c",
            "Ledger export in batches of 500",
            branch="feat/export",
            summary="The nightly export reads in batches. Dates stay in UTC.",
            files_touched=["docs/adr.md"],
            next_actions=["Compare the totals of one month"],
            folder=repo.folder,
        )
        clock.at += timedelta(hours=2)
        teaming.publish(
            server,
            "dev-a",
            "Give up on a webhook after 8 attempts",
            branch="feat/webhook-retry",
            summary=(
                "Attempts are counted per event, and the first delivery is attempt 1.\n"
                "Redis streams are rejected: ops will not run another Redis."
            ),
            files_touched=["src/retry.py", "src/models.py", "README.md"],
            next_actions=["A provider's 409 counts as success", "Migration 0031 on a copy"],
            blockers=["The key of the provider's sandbox was asked for on Monday"],
            folder=repo.folder,
        )
        clock.at = datetime.now(UTC) - timedelta(minutes=18)
        teaming.claim(server, "dev-a", "migrations/**", "src/retry.py", reason="Backoff columns")
        clock.at += timedelta(minutes=10)
        teaming.publish(server, "ana", "Webhook dashboard", branch="feat/dashboard")
        given = teaming.claim(
            server, "dev-b", "src/export/**", reason="Dates of the export", ttl_minutes=90
        )
        teaming.offer(server, "dev-b", given.id, to="ana", note="The time zone tests are left")
    teaming.show_live(server, "dev-c", ids.new_id(), "docs/adr.md", branch="feat/export")
    teaming.show_live(server, "dev-a", ids.new_id(), branch="feat/webhook-retry")


def test_a_team_is_shown_in_every_form(noted_console: Console):
    repo = Repo(noted_console.root, begin=False)
    noting.note(noted_console.settings, repo, note_a_day)
    work_together(noted_console, repo)
    looks.keep_look(noted_console.settings, datetime.now(UTC) - timedelta(hours=5), [])
    edit(repo)
    page = noted_console.open_live("/")
    expect(page.locator(".context")).to_have_count(4)
    page.locator(".toggle", has_text="after 8 attempts").click()
    expect(page.locator(".files-touched .state")).to_have_text(
        ["differs here", "differs here", "as here"]
    )
    expect(page.locator(".activity rect")).to_have_count(HOURS)
    noted_console.picture("coordination")

    page.emulate_media(color_scheme="dark")
    noted_console.picture("coordination-dark")

    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 390, "height": 844})
    noted_console.picture("coordination-phone")
