"""The pictures of the documentation, taken of a working week. Only `HOLDFAST_SCREENSHOTS=1` writes them."""

from pathlib import Path
from urllib.parse import quote

from playwright.sync_api import expect

from tests.surfaces.console import story
from tests.surfaces.console.browsing import Console

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


def prepared(console: Console) -> tuple[str, str]:
    """A repository with a file, the week's sessions, and the context of the newest."""
    repo = console.root / "payouts"
    path = repo / "src" / "payouts" / "retry.py"
    path.parent.mkdir(parents=True)
    path.write_text(RETRY)
    (repo / "docs").mkdir()
    (repo / "docs" / "adr-014.md").write_text("# Webhooks\n")
    session_id = story.tell(console.settings, str(repo))
    files = [str(path), str(repo / "docs" / "adr-014.md"), str(repo / "migrations" / "0031_retry.sql")]
    console.set_context(session_id, "files", files)
    console.set_context(session_id, "endpoints", ["http://localhost:8080/webhooks"])
    console.set_context(session_id, "ports", ["8080", "5432"])
    console.set_context(session_id, "applet", ["text-editor", f"path={path}", "line=10"])
    return session_id, str(path)


def test_a_working_week_is_shown_in_every_form(own_console: Console):
    """Light, dark, on a phone, and in the editor; the words that belong there are there."""
    session_id, path = prepared(own_console)
    page = own_console.open_live(f"/sessions/{session_id}")
    expect(page.locator(".turn")).to_have_count(3)
    assert page.locator(".commands .verdict").all_inner_texts() == ["✗", "✓", "?", "✓"]
    assert sorted(set(page.locator("#list .ending").all_inner_texts())) == ["clean", "cut", "running"]
    expect(page.locator("#card")).to_contain_text("Restore text-editor")
    expect(page.locator("#card .missing")).to_contain_text("0031_retry.sql")
    own_console.picture("sessions")

    page.emulate_media(color_scheme="dark")
    own_console.picture("sessions-dark")

    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 390, "height": 844})
    own_console.picture("session-phone")
    own_console.open_live("/")
    own_console.picture("list-phone")

    page.set_viewport_size({"width": 1280, "height": 700})
    own_console.open_live(f"/?applet=text-editor&path={quote(path)}&session={session_id}#L10")
    expect(page.locator("#L10:target")).to_contain_text("def next_attempt")
    own_console.picture("applet")
    assert Path(path).read_text() == RETRY
