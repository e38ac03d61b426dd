"""The console in a real Chromium, in front of a real `holdfast serve`: what a
person sees happen.
"""

import os
import re
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Literal
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from playwright.sync_api import APIResponse, Browser, Route, expect

from holdfast.sessions.service import SessionService
from holdfast.surfaces.console.screens import MOST_SESSIONS, SESSIONS_PER_PAGE
from holdfast.surfaces.console.shell import ZONE_COOKIE
from holdfast.surfaces.console.texts import LINES_SHOWN
from tests.rig.commands import run_process
from tests.surfaces.console.browsing import DEVELOPER, PATIENCE, Console
from tests.surfaces.console.conftest import ZONE
from tests.surfaces.console.story import (
    make_answer,
    make_edit,
    make_request,
    make_run,
    make_todos,
    with_sessions,
)
from tests.surfaces.console.test_prices import fire, install
from tests.surfaces.http.server import environment, is_problem, run_server

# As if something happened to some session all the while.
FETCH_THE_LIST = "(pause) => { setInterval(() => htmx.trigger('#list', 'refresh'), pause) }"


# The strip looks by itself every ten seconds; a page with this never does.
NO_SLOW_LOOK = """const wait = window.setTimeout;
window.setTimeout = (work, after, ...more) => (after === 10_000
    ? 0 : wait(work, after, ...more));"""


def is_same_page(console: Console) -> bool:
    """Whether nothing was loaded anew since `mark`."""
    return bool(console.page.evaluate("window.untouched === true"))


def mark(console: Console) -> None:
    console.page.evaluate("window.untouched = true")


def file_in(root: Path, name: str = "retry.py", data: bytes = b"one\ntwo\nthree\n") -> str:
    (root / name).write_bytes(data)
    return str(root / name)


# --- the head -------------------------------------------------------------------------------------


def test_the_facts_of_a_live_session_begin_below_its_title(console: Console):
    session_id = console.start_session(make_request("hello"))
    page = console.open(f"/sessions/{session_id}")
    expect(page.locator("#head .ending")).to_have_text("live")

    # Measured in one go, because the head may be fetched anew between two questions.
    begin = (
        "head => ['h1', '.ending'].map(name => head.querySelector(name).getBoundingClientRect().x)"
    )
    title_x, word_x = page.locator("#head").evaluate(begin)

    assert word_x == title_x


# --- the context card -----------------------------------------------------------------------------


def test_the_card_follows_a_change_without_a_reload(console: Console):
    """Set by another process: the event comes over the stream, and only the card is
    fetched anew.
    """
    session_id = console.start_session(make_request("hello"))
    page = console.open_live(f"/sessions/{session_id}")
    mark(console)
    expect(page.locator("#card")).to_contain_text("Nothing yet")

    path = file_in(console.root)

    async def set_files(sessions: SessionService) -> None:
        await sessions.set_relevant_context(
            session_id, "files", [path, f"{console.root}/gone.py", "/r/elsewhere.py"]
        )
        await sessions.set_relevant_context(
            session_id, "endpoints", ["http://127.0.0.1:9/x", "javascript:alert(1)"]
        )

    with_sessions(console.settings, set_files)

    expect(page.locator("#card")).to_contain_text("retry.py")
    expect(page.locator("#card .missing")).to_contain_text("gone.py missing")
    expect(page.locator("#card .files li").last).to_contain_text("elsewhere.py outside the folders")
    expect(page.locator("#card a[href^='http']")).to_have_count(1)
    expect(page.locator("#card a[href^='http']")).to_have_attribute("rel", "noopener noreferrer")
    assert is_same_page(console)


def test_a_change_of_another_session_leaves_the_card_alone(console: Console):
    shown, other = (
        console.start_session(make_request("a")),
        console.start_session(make_request("b")),
    )
    console.open_live(f"/sessions/{shown}")
    console.requests.clear()

    console.set_context(other, "ports", ["1"])
    console.set_context(shown, "ports", ["2"])

    expect(console.page.locator("#card")).to_contain_text("2")
    cards = [url for url in console.requests if url.endswith("/card")]
    assert cards
    assert all(shown in url for url in cards)


def test_a_card_that_was_closed_stays_closed(console: Console):
    session_id = console.start_session(make_request("a"))
    page = console.open_live(f"/sessions/{session_id}")
    page.locator("#card summary").click()

    console.set_context(session_id, "ports", ["8080"])

    expect(page.locator("#card .count")).to_have_text("1 item")
    assert page.locator("#card-fold").get_attribute("open") is None


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_a_failing_check_on_the_card_leads_to_its_turn(
    console: Console, width: int, scheme: Literal["light", "dark"]
):
    """Readable in both schemes, nothing wider than the window, however long the command is."""
    why = "FAILED tests/test_retry.py::test_gives_up_after_8 - " + "assert_9_equals_8_" * 20
    session_id = console.start_session(
        make_request("Give up after 8 attempts."),
        make_edit("/r/" + "a_long_name" * 20),
        make_run("pytest -q " + "tests/test_retry.py " * 12, f"{why}\n1 failed", 1),
        make_run("pytest -q tests/b.py | tail -1", "3 passed"),
        make_run("ruff check src", "All checks passed!"),
        make_run("git commit -qm " + "word" * 40, "[main 1234567] " + "word" * 40),
        make_todos(done="completed", **{"next_step" * 20: "pending"}),
        make_answer("Not yet."),
    )
    console.page.set_viewport_size({"width": width, "height": 844})
    console.page.emulate_media(color_scheme=scheme)
    page = console.open_live(f"/sessions/{session_id}")
    failing = page.locator("#seen .checks li", has=page.locator(".verdict.failed"))
    expect(failing.locator(".why")).to_contain_text("test_gives_up_after_8")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(TOO_WIDE) == []
    worst = page.evaluate(CONTRAST)
    assert worst["ratio"] >= 4.5, worst
    expect(page.locator("#step-3")).to_be_hidden()
    console.requests.clear()

    failing.locator("a.source").focus()
    page.keyboard.press("Enter")

    expect(page.locator("#step-3:target pre").last).to_contain_text("test_gives_up_after_8")
    expect(page.locator("#step-3 > summary")).to_be_focused()
    expect(page.locator("#step-3 > summary")).to_be_in_viewport()
    assert not [url for url in console.requests if "?at=" in url]


TOO_WIDE = """() => [...document.querySelectorAll("#card *")]
  .filter((each) => each.getBoundingClientRect().right
      > document.querySelector("#card").getBoundingClientRect().right)
  .map((each) => each.outerHTML.slice(0, 100))"""


def test_a_check_of_an_earlier_page_is_shown_there_unfolded(console: Console):
    session_id = console.start_session(
        make_request("first"),
        make_run("pytest -q", "FAILED tests/a.py::test_x - assert 0\n1 failed", 1),
        *[make_request(f"request {number}") for number in range(25)],
    )
    page = console.open_live(f"/sessions/{session_id}")
    expect(page.locator("#step-2")).to_have_count(0)

    page.locator("#seen .checks a.source").click()

    page.wait_for_url("**?at=2#step-2")
    expect(page.locator("#step-2 pre").last).to_contain_text("FAILED tests/a.py")
    expect(page.locator("#step-2")).to_be_in_viewport()


def test_the_card_shows_a_check_as_soon_as_it_has_failed(console: Console):
    """What was unfolded stays unfolded."""
    rules = [make_request(f"Do not touch module_{number}.py") for number in range(5)]
    session_id = console.start_session(*rules)
    page = console.open_live(f"/sessions/{session_id}")
    page.locator("#seen-more-said > summary").click()

    with console.api as api:
        event = make_run("make test", "make: *** [test] Error 1", 2)
        assert api.post(f"/api/sessions/{session_id}/events", json=event).is_success

    expect(page.locator("#seen .verdict.failed")).to_have_count(1)
    expect(page.locator("#seen-more-said li").last).to_be_visible()


def test_a_file_on_the_card_opens_in_the_editor(console: Console):
    session_id = console.start_session(make_request("a"))
    console.set_context(session_id, "files", [file_in(console.root)])
    page = console.open(f"/sessions/{session_id}")

    page.locator("#card a", has_text="retry.py").click()

    expect(page.locator("#L2")).to_contain_text("two")
    assert parse_qs(urlsplit(page.url).query) == {
        "applet": ["text-editor"],
        "path": [str(console.root / "retry.py")],
        "session": [session_id],
    }
    page.locator("#L3 a").click()
    assert page.url.endswith("#L3")


def test_a_root_that_is_a_link_is_known_by_both_its_names(tmp_path: Path):
    """Over the address alone: whatever the person calls the folder, its files open."""
    (tmp_path / "root").mkdir()
    (tmp_path / "known").symlink_to(tmp_path / "root")
    path = file_in(tmp_path / "root")

    with (
        run_server(tmp_path, None, "--root", str(tmp_path / "known")) as server,
        server.client() as api,
    ):
        answers = [
            api.get(f"/?applet=text-editor&path={quote(name)}")
            for name in (path, f"{tmp_path}/known/retry.py")
        ]

    assert [answer.status_code for answer in answers] == [200, 200]
    assert all('id="L3"' in answer.text for answer in answers)


def wait_until(is_so: Callable[[], bool]) -> None:
    """Ask again and again: a request that outlives its page is seen by the server only."""
    deadline = monotonic() + PATIENCE / 1000
    while not is_so():
        assert monotonic() < deadline


# --- capture and resume ---------------------------------------------------------------------------


def applet_url(session_id: str, path: str, **more: str) -> str:
    extra = "".join(f"&{key}={value}" for key, value in more.items())
    return f"/?applet=text-editor&path={quote(path)}&session={session_id}{extra}"


def test_leaving_captures_the_applet_and_a_resumed_session_offers_it_again(console: Console):
    """Offered by a link, and never opened by itself."""
    session_id = console.start_session(make_request("a"))
    path = file_in(console.root)
    page = console.open_live(applet_url(session_id, path) + "#L2")
    assert "applet" not in console.context_of(session_id)

    page.goto("about:blank")
    wait_until(lambda: "applet" in console.context_of(session_id))

    async def resume(sessions: SessionService) -> str:
        await sessions.end_session(session_id)
        return (await sessions.resume_session(session_id)).id

    resumed = with_sessions(console.settings, resume)
    assert console.context_of(resumed)["applet"] == ["text-editor", f"path={path}", "line=2"]
    page = console.open(f"/sessions/{resumed}")
    expect(page.locator("#applet")).to_have_count(0)
    page.get_by_role("link", name="Open again: retry.py in the text editor").click()
    expect(page.locator("#L2:target")).to_contain_text("two")


# Only the one timer: a clock that the test holds would hold every script of the page.
SHORT_HALF_MINUTE = """const wait = window.setTimeout;
window.setTimeout = (work, after, ...more) => wait(work, after === 30_000 ? 50 : after, ...more);"""


def test_half_a_minute_without_a_touch_captures_the_applet(console: Console):
    session_id = console.start_session(make_request("a"))
    path = file_in(console.root)
    page = console.page
    page.add_init_script(SHORT_HALF_MINUTE)

    with page.expect_response(lambda answer: answer.request.method == "PATCH") as captured:
        console.open(applet_url(session_id, path))

    assert captured.value.status == 200
    assert console.context_of(session_id)["applet"] == ["text-editor", f"path={path}"]


def test_the_tab_that_is_left_last_is_the_one_that_is_captured(console: Console):
    """Though this tab has said the same before: another one has spoken since."""
    session_id = console.start_session(make_request("a"))
    path = file_in(console.root)
    page = console.page
    page.add_init_script(SHORT_HALF_MINUTE)
    with page.expect_response(lambda answer: answer.request.method == "PATCH"):
        console.open(applet_url(session_id, path))
    console.set_context(session_id, "applet", ["text-editor", "path=/r/of_another_tab.py"])

    page.goto("about:blank")

    wait_until(lambda: console.context_of(session_id)["applet"] == ["text-editor", f"path={path}"])


def test_a_refused_capture_is_retried(console: Console):
    session_id = console.start_session(make_request("a"))
    path = file_in(console.root)
    page = console.page
    page.add_init_script(SHORT_HALF_MINUTE)
    page.route("**/api/sessions/*", lambda route: route.fulfill(status=503), times=1)
    with page.expect_response(lambda answer: answer.request.method == "PATCH") as refused:
        console.open(applet_url(session_id, path))
    assert refused.value.status == 503

    with page.expect_response(lambda answer: answer.request.method == "PATCH") as captured:
        page.keyboard.press("Shift")

    assert captured.value.status == 200
    assert console.context_of(session_id)["applet"] == ["text-editor", f"path={path}"]


def test_a_capture_keeps_the_other_parameters_of_its_address(console: Console):
    session_id = console.start_session(make_request("a"))
    path = file_in(console.root)
    page = console.open_live(applet_url(session_id, path, wrap="on") + "#L2")

    page.goto("about:blank")

    wait_until(lambda: "applet" in console.context_of(session_id))
    items = ["text-editor", f"path={path}", "wrap=on", "line=2"]
    assert console.context_of(session_id)["applet"] == items


def test_a_capture_that_does_not_fit_says_why(console: Console):
    session_id = console.start_session(make_request("a"))
    for number in range(5):
        console.set_context(session_id, f"set{number}", [f"/{item}" for item in range(10)])
    page = console.page
    page.add_init_script(SHORT_HALF_MINUTE)

    console.open(applet_url(session_id, file_in(console.root)))

    note = page.locator("#capture")
    expect(note).to_contain_text("Not recorded on the session")
    expect(note).to_contain_text("would hold 52 items; 50 are the most in all")
    console.problems.clear()  # the browser reports the refused request


def test_without_a_session_nothing_is_captured_and_the_page_says_so(console: Console):
    page = console.open(f"/?applet=text-editor&path={quote(file_in(console.root))}")
    expect(page.locator("#capture")).to_contain_text("Opened without a session")
    page.goto("about:blank")
    console.open("/sessions")

    assert not [url for url in console.requests if "/api/sessions/" in url]


# --- editing --------------------------------------------------------------------------------------


def test_a_file_is_edited_and_saved(console: Console):
    path = file_in(console.root, "crlf.txt", b"one\r\ntwo\r\n")
    page = console.open(f"/?applet=text-editor&path={quote(path)}")
    page.keyboard.press("e")
    text = page.locator("#text")
    expect(text).to_have_value("one\ntwo\n")
    page.wait_for_selector("#dot.on")

    text.fill("one\n2\n")
    expect(page.locator("#saved")).to_have_text("Not saved yet")
    page.keyboard.press("Control+s")
    expect(page.locator("#saved")).to_contain_text("Saved")

    assert Path(path).read_bytes() == b"one\r\n2\r\n"
    page.locator("#view").click()
    expect(page.locator("#L2")).to_contain_text("2")


def test_a_text_goes_through_the_browser_as_it_is(console: Console):
    """Leading empty lines, tabs, controls, what looks like markup: saved back without a change of a
    byte.
    """
    data = "\n\n\t<b>&amp;</textarea>\u202e\u200b\x1b[31m\x0c ü\u2028 {{7*7}}\n\n".encode()
    path = file_in(console.root, "odd.txt", data)
    page = console.open(f"/?applet=text-editor&path={quote(path)}&edit=1")

    expect(page.locator("#text")).to_be_focused()
    page.keyboard.press("Control+s")
    expect(page.locator("#saved")).to_have_text("Nothing changed")
    page.keyboard.press("Control+Home")
    page.keyboard.type("!")
    page.locator("#save").click()
    expect(page.locator("#saved")).to_contain_text("Saved")

    assert Path(path).read_bytes() == b"!" + data


def test_a_file_that_changed_meanwhile_is_shown_before_it_is_overwritten(console: Console):
    path = file_in(console.root, "shared.txt", b"one\n")
    page = console.open(f"/?applet=text-editor&path={quote(path)}&edit=1")
    page.locator("#text").fill("mine\n")
    Path(path).write_bytes(b"theirs\n")

    page.locator("#save").click()

    expect(page.locator("#conflict")).to_contain_text("was changed after it was read")
    assert Path(path).read_bytes() == b"theirs\n"
    page.locator("#overwrite").click()
    expect(page.locator("#saved")).to_contain_text("Saved")
    expect(page.locator("#conflict")).to_be_hidden()
    assert Path(path).read_bytes() == b"mine\n"


def test_after_a_conflict_the_other_text_can_be_loaded(console: Console):
    path = file_in(console.root, "shared.txt", b"one\n")
    page = console.open(f"/?applet=text-editor&path={quote(path)}&edit=1")
    page.locator("#text").fill("mine\n")
    Path(path).write_bytes(b"theirs\n")
    page.locator("#save").click()

    page.locator("#reload").click()

    expect(page.locator("#text")).to_have_value("theirs\n")


def test_a_save_that_is_refused_says_why_and_keeps_the_text(console: Console):
    path = file_in(console.root, "vanishing.txt", b"one\n")
    page = console.open(f"/?applet=text-editor&path={quote(path)}&edit=1")
    page.locator("#text").fill("mine\n")
    Path(path).unlink()

    page.locator("#save").click()

    expect(page.locator("#saved")).to_contain_text("Not saved: File")
    expect(page.locator("#text")).to_have_value("mine\n")


def test_the_user_can_remove_and_add_the_last_line_end(console: Console):
    path = file_in(console.root, "end.txt", b"one\r\ntwo\r\n")
    page = console.open(f"/?applet=text-editor&path={quote(path)}&edit=1")

    for typed, kept in (
        ("one\ntwo", b"one\r\ntwo"),
        ("one\ntwo\n", b"one\r\ntwo\r\n"),
        ("one\ntwo\n\n", b"one\r\ntwo\r\n\r\n"),
    ):
        page.locator("#text").fill(typed)
        page.locator("#save").click()
        expect(page.locator("#saved")).to_contain_text("Saved")
        assert Path(path).read_bytes() == kept


def test_a_read_only_file_and_one_of_two_names_are_not_replaced(console: Console):
    """A rename would go around the mode, and part the names; the text stays on the page."""
    fixed = file_in(console.root, "fixed.txt", b"one\n")
    os.chmod(fixed, 0o444)
    twin = file_in(console.root, "twin.txt", b"one\n")
    os.link(twin, console.root / "other.txt")
    for path, reason in ((fixed, "is read-only"), (twin, "has 2 names (hard links)")):
        page = console.open(f"/?applet=text-editor&path={quote(path)}&edit=1")
        page.locator("#text").fill("mine\n")
        page.locator("#save").click()

        expect(page.locator("#saved")).to_contain_text(reason)
        expect(page.locator("#text")).to_have_value("mine\n")
        assert Path(path).read_bytes() == b"one\n"
    assert os.stat(fixed).st_mode & 0o777 == 0o444
    assert os.stat(twin).st_nlink == 2


# --- a long file ----------------------------------------------------------------------------------


def test_a_long_file_is_shown_around_the_line_that_is_asked_for(console: Console):
    """By its address or behind the #, which no server sees; and line by line there is a way through
    the whole.
    """
    path = file_in(
        console.root, "long.txt", b"".join(b"%d.\n" % number for number in range(1, 100_001))
    )
    page = console.open(f"/?applet=text-editor&path={quote(path)}")
    expect(page.locator(".lines > div")).to_have_count(LINES_SHOWN)
    expect(page.locator(".partial:not(#capture)")).to_have_text(
        "Lines 1 to 2,000 of 100,000; 98,000 lines are not shown."
    )

    page.get_by_role("link", name="Later lines").click()
    expect(page.locator("#L2001:target")).to_contain_text("2001.")
    expect(page.locator(".lines > div")).to_have_count(LINES_SHOWN)
    page.get_by_role("link", name="Earlier lines").click()
    expect(page.locator("#L2000:target")).to_contain_text("2000.")
    expect(page.get_by_role("link", name="Earlier lines")).to_have_count(0)

    for address in ("#L70000", "&line=70000", "&line=70000#L70000"):
        page.goto("about:blank")
        console.open(f"/?applet=text-editor&path={quote(path)}{address}")
        expect(page.locator("#L70000:target")).to_be_in_viewport()
    page.goto("about:blank")
    console.open(f"/?applet=text-editor&path={quote(path)}#L999999")
    expect(page.locator("#L100000")).to_be_attached()


# --- live -----------------------------------------------------------------------------------------


def test_a_running_session_grows_and_keeps_what_is_unfolded(console: Console):
    session_id = console.start_session(make_request("first"), make_run("make", "ok"))
    page = console.open_live(f"/sessions/{session_id}")
    mark(console)
    page.locator("#steps-1 > summary").click()

    with console.api as api:
        for event in (
            make_run("make check", "3 failed", 2),
            make_answer("It fails."),
            make_request("second"),
        ):
            api.post(f"/api/sessions/{session_id}/events", json=event)

    expect(page.locator(".turn")).to_have_count(2)
    expect(page.locator(".turn").first).to_contain_text("second")
    expect(page.locator("#turn-1 .verdict.failed")).to_have_count(1)
    expect(page.locator("#figures")).to_contain_text("5 events")
    assert page.locator("#steps-1").get_attribute("open") is not None
    assert is_same_page(console)


def test_the_strip_follows_what_is_written(own_console: Console):
    """Long before its slow look, which this page never takes."""
    own_console.page.add_init_script(NO_SLOW_LOOK)
    session_id = own_console.start_session(make_request("one"))
    page = own_console.open_live(f"/sessions/{session_id}")
    expect(page.locator("#stock")).to_contain_text("stored 1 ")

    with own_console.api as api:
        for words in ("two", "three"):
            api.post(f"/api/sessions/{session_id}/events", json=make_request(words))
    expect(page.locator("#stock")).to_contain_text("stored 3 ")

    own_console.start_session(make_request("elsewhere"))
    expect(page.locator("#stock")).to_contain_text("stored 4 ")


def test_requests_one_after_the_other_all_stay_on_the_page(console: Console):
    """Nothing but a request comes: the turn that was newest before must not go with the piece that
    is replaced.
    """
    session_id = console.start_session(make_request("first"))
    page = console.open_live(f"/sessions/{session_id}")

    for number, words in enumerate(("second", "third"), 2):
        with console.api as api:
            api.post(f"/api/sessions/{session_id}/events", json=make_request(words))
        expect(page.locator(".turn")).to_have_count(number)

    assert [
        words in page.locator("main").inner_text() for words in ("first", "second", "third")
    ] == [True] * 3


def test_a_new_session_joins_the_list_without_a_reload(console: Console):
    console.start_session(make_request("an old one"))
    page = console.open_live("/sessions")
    mark(console)

    console.start_session(name="A brand new session")

    expect(page.locator("#list")).to_contain_text("A brand new session")
    assert is_same_page(console)


def test_an_empty_store_fills_by_itself(own_console: Console):
    page = own_console.open_live("/sessions")
    expect(page.locator(".empty")).to_contain_text("No sessions yet")
    own_console.picture("empty")

    own_console.start_session(name="The first one")

    expect(page.locator("#list")).to_contain_text("The first one")
    expect(page.locator("#stock")).to_contain_text("lost 0")


def test_what_a_session_pays_is_what_status_says(own_console: Console):
    """Unfolded by keys, on a phone in the dark, with the figures of the command."""
    home = own_console.server.home
    install(home, home, "claude", "gemini")
    fire(home)
    own_console.start_session(make_request("a"), client="claude")
    status = run_process("status", "--json", **environment(home, HOLDFAST_DEVELOPER=DEVELOPER))
    [claude, _] = status.document["clients"]
    assert claude["is_complete"]
    page = own_console.page
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 320, "height": 800})
    own_console.open_live("/sessions")
    page.locator("#list .session").click()

    tab_to(own_console, "#prices summary")
    expect(page.locator("#prices summary")).to_contain_text("90 ms a turn, about 425 tokens")
    page.keyboard.press("Enter")

    shown = page.locator("#prices dd").all_inner_texts()
    assert (
        f"{claude['hook_count']} hooks so far, {claude['mean_milliseconds']:.0f} ms each"
        in (shown[0])
    )
    assert f"{claude['mean_chars']:,.0f} characters each" in shown[0]
    assert f"About {status.document['tools_tokens']:,} tokens" in shown[-1]
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    assert page.evaluate(CONTRAST)["ratio"] >= 4.5


def test_the_dot_says_that_the_server_is_gone(own_console: Console):
    session_id = own_console.start_session(make_request("a"))
    page = own_console.open_live(f"/sessions/{session_id}")
    expect(page.locator("#dot-text")).to_have_text("live")

    own_console.server.stop()

    expect(page.locator("#dot.on")).to_have_count(0)
    expect(page.locator("#dot-text")).to_have_text("server is gone, trying again")
    expect(page.locator(".turn")).to_have_count(1)


def test_a_page_whose_login_was_revoked_offers_the_login_page(own_console: Console):
    page = own_console.open_live(f"/sessions/{own_console.start_session(make_request('a'))}")
    expect(page.locator("#log-in")).to_be_hidden()

    (own_console.server.home / "token").unlink()

    expect(page.locator("#dot-text")).to_have_text("logged out")
    page.get_by_role("link", name="Log in").click()
    expect(page.locator("form[action='/login']")).to_be_visible()


def test_a_server_that_comes_back_is_noticed(own_console: Console):
    """And what was appended meanwhile is shown, though no event of it ever reached this page."""
    session_id = own_console.start_session(make_request("a"))
    page = own_console.open_live(f"/sessions/{session_id}")
    home, port = own_console.server.home, own_console.server.port
    own_console.server.stop()
    expect(page.locator("#dot.on")).to_have_count(0)

    async def set_ports(sessions: SessionService) -> None:
        await sessions.set_relevant_context(session_id, "ports", ["8080"])

    with_sessions(own_console.settings, set_ports)
    with run_server(
        home,
        None,
        "--root",
        str(own_console.root),
        "--port",
        str(port),
        HOLDFAST_DEVELOPER=DEVELOPER,
    ):
        expect(page.locator("#dot.on")).to_have_count(1)
        expect(page.locator("#card")).to_contain_text("8080")


def test_ten_tabs_are_all_live_and_a_request_is_still_answered(console: Console):
    """A browser keeps six connections to a server; a stream for each tab would leave none for
    anything else.
    """
    session_id = console.start_session(make_request("a"))
    url = f"{console.server.url}/sessions/{session_id}"
    tabs = [console.context.new_page() for _ in range(10)]
    for tab in tabs:
        tab.goto(url)
    for tab in tabs:
        expect(tab.locator("#dot-text")).to_have_text("live")

    console.set_context(session_id, "ports", ["8080"])
    for tab in tabs:
        expect(tab.locator("#card")).to_contain_text("8080")

    for tab in tabs[:9]:
        tab.close()
    console.set_context(session_id, "ports", ["9090"])
    expect(tabs[9].locator("#card")).to_contain_text("9090")
    tabs[9].goto(f"{console.server.url}/sessions")
    expect(tabs[9].locator("#dot-text")).to_have_text("live")


def test_a_hidden_tab_is_not_updated_until_it_is_visible_again(console: Console):
    session_id = console.start_session(make_request("a"), name="Before")
    page = console.open_live(f"/sessions/{session_id}")
    other = console.context.new_page()
    other.goto(page.url)
    other.wait_for_selector("#dot.on")
    page.wait_for_function(SEEN, arg=False)

    console.set_context(session_id, "ports", ["8080"])
    console.rename(session_id, "Meanwhile")
    expect(other.locator("#card")).to_contain_text("8080")
    expect(other.locator(".detail h1")).to_have_text("Meanwhile")
    expect(page.locator("#card")).not_to_contain_text("8080")
    expect(page.locator(".detail h1")).to_have_text("Before")

    page.wait_for_function(SEEN, arg=True)
    expect(page.locator("#card")).to_contain_text("8080")
    expect(page.locator(".detail h1")).to_have_text("Meanwhile")
    expect(page.locator("#list [aria-current]")).to_contain_text("Meanwhile")


# As a browser tells a page that its tab was left, or is looked at again; without a screen it calls
# every tab seen.
SEEN = """(isSeen) => {
  Object.defineProperty(document, "hidden", { configurable: true, get: () => !isSeen });
  document.dispatchEvent(new Event("visibilitychange"));
  return true;
}"""


def test_a_change_that_arrives_while_the_card_is_fetched_is_shown(console: Console):
    """The first answer is held back until the page has been notified of the second change."""
    session_id = console.start_session(make_request("a"))
    page = console.open_live(f"/sessions/{session_id}")
    expect(page.locator("#card")).to_contain_text("Nothing yet")
    held: list[tuple[Route, APIResponse]] = []

    def hold_first(route: Route) -> None:
        if held:
            route.continue_()
            return
        held.append((route, route.fetch()))
        console.set_context(session_id, "notes", ["the second"])
        # The stream is in order: a page that has the name was notified of the context before.
        console.rename(session_id, "Renamed afterwards")

    page.route("**/card", hold_first)
    console.set_context(session_id, "notes", ["the first"])
    expect(page.locator("#head h1")).to_have_text("Renamed afterwards")
    [(route, answer)] = held
    assert "the first" in answer.text()

    route.fulfill(response=answer)

    expect(page.locator("#card")).to_contain_text("the second")


def test_the_head_follows_a_new_name_and_the_end(console: Console):
    session_id = console.start_session(make_request("a"), name="Before")
    page = console.open_live(f"/sessions/{session_id}")
    mark(console)
    page.get_by_text("About this session").click()
    expect(page.locator("#head .ending")).to_have_text("live")

    console.rename(session_id, "Another name")
    expect(page.locator("#head h1")).to_have_text("Another name")
    expect(page).to_have_title("Another name · Holdfast")
    with console.api as api:
        api.post(f"/api/sessions/{session_id}/events", json=make_answer("Done."))
        api.post(f"/api/sessions/{session_id}/end", json={})

    expect(page.locator("#head .ending")).to_have_text("ended")
    expect(page.locator("#head time")).to_have_count(2)
    expect(page.locator("#figures")).to_contain_text("2 events")
    expect(page.locator("#resume")).to_be_visible()
    assert is_same_page(console)


def test_a_person_comes_in_by_the_link_that_is_printed(own_console: Console, browser: Browser):
    context = browser.new_context()
    try:
        page = context.new_page()
        page.goto(own_console.server.url)
        expect(page.locator("h1")).to_have_text("Log in")
        page.goto(own_console.server.started["login_url"])
        expect(page.locator("h1")).to_have_text("Waiting for you")
    finally:
        context.close()


def test_a_person_comes_in_by_the_token_as_well(own_console: Console, browser: Browser):
    context = browser.new_context()
    try:
        page = context.new_page()
        page.goto(f"{own_console.server.url}/login")
        page.locator("#token").fill(
            Path(own_console.server.started["token_file"]).read_text().strip()
        )
        page.get_by_role("button", name="Log in").click()
        expect(page.locator("h1")).to_have_text("Waiting for you")
    finally:
        context.close()


def test_an_unknown_session_is_a_page_with_a_way_back(console: Console):
    console.start_session(make_request("a"))
    page = console.open("/sessions/nonsense")

    expect(page.locator("h1")).to_have_text("Not found")
    page.get_by_role("link", name="All sessions").click()
    expect(page.locator("#list")).to_be_visible()


def test_an_address_that_nothing_is_at_is_a_page_with_a_way_back(console: Console):
    """For a person; a program gets its document, and so does every request below /api."""
    console.start_session(make_request("a"))
    answer = console.page.goto(f"{console.server.url}/no/such/page")
    assert answer is not None
    assert answer.status == 404
    expect(console.page.locator("h1")).to_have_text("There is nothing here")
    console.page.get_by_role("link", name="All sessions").click()
    expect(console.page.locator("#list")).to_be_visible()

    with console.api as api:
        assert is_problem(api.get("/no/such/page"), 404, "not_found")
        assert is_problem(
            api.get("/api/nothing", headers={"Accept": "text/html"}), 404, "not_found"
        )
        assert api.get("/static/nothing.css", headers={"Accept": "text/html"}).status_code == 404


def test_an_unknown_applet_gives_a_page_with_a_way_back(console: Console):
    session_id = console.start_session(make_request("a"))
    console.set_context(session_id, "applet", ["board", "path=/r"])
    page = console.open(f"/sessions/{session_id}")

    page.get_by_role("link", name="Open again: board").click()

    expect(page.locator("main")).to_contain_text("has no applet board")
    page.get_by_role("link", name="Back to the session").click()
    expect(page.locator("#card")).to_be_visible()


def test_times_are_those_of_the_reader_from_the_first_visit_on(console: Console):
    session_id = console.start_session(make_request("a"))
    console.context.clear_cookies(name=ZONE_COOKIE)

    page = console.open(f"/sessions/{session_id}")

    expect(page.locator("html")).to_have_attribute("data-zone", ZONE)
    shown = page.locator(".turn time").first
    here = page.evaluate(
        "(at) => new Date(at).toLocaleTimeString('en-GB', {hour: '2-digit', minute: '2-digit'})",
        shown.get_attribute("datetime"),
    )
    expect(shown).to_contain_text(here)


def test_a_command_is_copied_at_a_click(console: Console):
    session_id = console.start_session(make_request("a"))
    console.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = console.open(f"/sessions/{session_id}")

    page.locator("[data-copies=resume]").click()

    expect(page.locator("[data-copies=resume]")).to_have_text("Copied")
    page.wait_for_function(
        "async (text) => await navigator.clipboard.readText() === text",
        arg=f"holdfast resume {session_id}",
    )


# --- keyboard -------------------------------------------------------------------------------------


def test_everything_is_reached_by_keys_alone(own_console: Console):
    """Down the list, into a session, its card, a file, its editor, saved, and back."""
    path = file_in(own_console.root, "keys.txt", b"one\n")
    for number in range(3):
        session_id = own_console.start_session(
            make_request(f"request {number}"), name=f"session {number}"
        )
        own_console.set_context(session_id, "files", [path])
    page = own_console.open_live("/sessions")
    press = page.keyboard.press

    press("j")
    expect(page.locator(".session:focus")).to_contain_text("session 1")
    press("ArrowDown")
    expect(page.locator(".session:focus")).to_contain_text("session 0")
    press("k")
    press("Enter")
    expect(page.locator(".detail h1")).to_have_text("session 1")
    page.wait_for_selector("#dot.on")

    press("?")
    expect(page.locator("#keys")).to_be_visible()
    press("Escape")
    expect(page.locator("#keys")).to_be_hidden()
    press("c")
    assert page.locator("#card-fold").get_attribute("open") is None
    press("c")

    tab_to(own_console, "#card .files a")
    press("Enter")
    expect(page.locator("#L1")).to_contain_text("one")
    page.wait_for_selector("#dot.on")
    press("e")
    expect(page.locator("#text")).to_be_visible()
    page.wait_for_selector("#dot.on")
    tab_to(own_console, "#text")
    page.keyboard.type("zero ")
    press("Control+s")
    expect(page.locator("#saved")).to_contain_text("Saved")
    assert "zero " in Path(path).read_text()
    tab_to(own_console, "#view", back=True)
    press("Enter")
    expect(page.locator("#L1")).to_contain_text("zero")


def test_the_row_that_has_the_focus_keeps_it_when_the_list_is_written_anew(own_console: Console):
    ids = [own_console.start_session(name=f"session {number}") for number in range(3)]
    page = own_console.open_live("/sessions")
    page.keyboard.press("j")
    expect(page.locator(".session:focus")).to_have_attribute("data-id", ids[1])

    own_console.start_session(name="one more")

    expect(page.locator("#list")).to_contain_text("one more")
    expect(page.locator(".session:focus")).to_have_attribute("data-id", ids[1])


def test_the_focus_stays_when_the_card_is_written_anew(console: Console):
    session_id = console.start_session(make_request("a"))
    path = file_in(console.root)
    console.set_context(session_id, "files", [path])
    page = console.open_live(f"/sessions/{session_id}")
    page.locator("#card .files a").focus()

    console.set_context(session_id, "files", [f"{console.root}/earlier.py", path])

    expect(page.locator("#card .files a")).to_have_count(2)
    expect(page.locator("#card .files a:focus")).to_have_attribute("title", path)


@pytest.mark.parametrize(
    "focused", ["#steps-1 > summary", "#step-2 > summary", "#answer-3 > summary", ".chip"]
)
def test_the_focus_stays_when_the_tail_is_written_anew(console: Console, focused: str):
    """Also inside of what is unfolded."""
    session_id = console.start_session(
        make_request("first"), make_edit("/r/a.py"), make_answer("Done.")
    )
    page = console.open_live(f"/sessions/{session_id}")
    page.locator("#steps-1 > summary").click()
    page.locator(f"#tail {focused}").focus()

    with console.api as api:
        api.post(f"/api/sessions/{session_id}/events", json=make_answer("Once more."))

    expect(page.locator("#tail .answer")).to_have_count(2)
    expect(page.locator(f"#tail {focused}")).to_be_focused()


def test_keys_open_the_right_session_while_the_list_is_written_anew(own_console: Console):
    """Pressed as fast as they go, again and again, with the list fetched all the while."""
    ids = [own_console.start_session(name=f"session {number}") for number in range(5)]
    for _ in range(5):
        page = own_console.open_live("/sessions")
        page.evaluate(FETCH_THE_LIST, 15)
        page.wait_for_function("() => document.querySelector('#list.htmx-request')")
        for key in ("j", "j", "Enter"):
            page.keyboard.press(key)
        page.wait_for_url(f"**/sessions/{ids[2]}")
        expect(page.locator(".detail h1")).to_have_text("session 2")


def tab_to(console: Console, selector: str, *, back: bool = False) -> None:
    """Press Tab until it is there; a person would give up after fifty."""
    for _ in range(50):
        if console.page.evaluate("selector => document.activeElement?.matches(selector)", selector):
            return
        console.page.keyboard.press("Shift+Tab" if back else "Tab")
    raise AssertionError(f"{selector} is not reached by Tab")


def test_the_first_tab_skips_to_the_content(console: Console):
    console.start_session(make_request("a"))
    page = console.open("/sessions")
    page.keyboard.press("Tab")

    expect(page.locator(".skip:focus")).to_have_text("Skip to the content")
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()


def test_shortcut_keys_are_text_while_the_user_types(console: Console):
    path = file_in(console.root, "typed.txt", b"")
    page = console.open(f"/?applet=text-editor&path={quote(path)}&edit=1")
    page.locator("#text").focus()
    page.keyboard.type("jk?ce")

    expect(page.locator("#text")).to_have_value("jk?ce")
    expect(page.locator("#keys")).to_be_hidden()
    page.locator("#save").click()
    expect(page.locator("#saved")).to_contain_text("Saved")


def test_every_control_has_a_name_and_every_picture_a_word(console: Console):
    session_id = console.start_session(
        make_request("a"), make_edit("/r/a.py"), make_run("make", "ok"), make_answer("b")
    )
    console.set_context(session_id, "files", ["/r/a.py"])
    for path in (
        f"/sessions/{session_id}",
        applet_url(session_id, file_in(console.root), edit="1"),
    ):
        page = console.open(path)
        nameless = page.evaluate(
            """() => [...document.querySelectorAll('a, button, summary, textarea, svg')]
                 .filter(one => !one.closest('[aria-hidden]') && !one.getAttribute('aria-label')
                     && !one.textContent.trim()
                     && !(one.matches('svg') && one.getAttribute('aria-hidden')))
                 .map(one => one.outerHTML)"""
        )
        assert nameless == []
        assert page.evaluate("document.documentElement.lang") == "en"
        assert page.locator("h1").count() == 1


# --- without script, narrow, dark -----------------------------------------------------------------


def test_reading_needs_no_script(browser: Browser, console: Console):
    session_id = console.start_session(
        *[make_request(f"request {n}") for n in range(25)], name="Without script"
    )
    context = browser.new_context(java_script_enabled=False)
    try:
        context.add_cookies(console.context.cookies())
        page = context.new_page()
        page.goto(f"{console.server.url}/sessions")
        page.locator(".session", has_text="Without script").first.click()
        expect(page.locator(".turn")).to_have_count(20)
        page.get_by_role("link", name="Earlier turns").click()
        expect(page.locator(".turn")).to_have_count(5)
        page.goto(console.server.url + applet_url(session_id, file_in(console.root)))
        expect(page.locator("#L1")).to_contain_text("one")
    finally:
        context.close()


@pytest.mark.parametrize("width", [390, 320, 768, 1920])
def test_no_page_is_wider_than_its_window(console: Console, width: int):
    long = "/r/" + "very_long_name_without_any_break" * 6
    session_id = console.start_session(
        make_request("x" * 300),
        make_edit(long),
        make_run("make " + "y" * 300, "z" * 500),
        make_answer("w" * 300),
        name="n" * 200,
    )
    console.set_context(session_id, "files", [long])
    console.set_context(session_id, "endpoints", ["http://127.0.0.1/" + "q" * 200])
    path = file_in(console.root, "wide.txt", b"v" * 2000)
    console.page.set_viewport_size({"width": width, "height": 800})

    for url in (
        "/sessions",
        f"/sessions/{session_id}",
        applet_url(session_id, path),
        "/sessions/" + "m" * 200,
    ):
        page = console.open(url)
        page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, url
        assert page.evaluate(
            "[...document.querySelectorAll('main, main > *')].every(e => e.scrollWidth <= "
            "e.clientWidth + 1)"
        )


def test_a_command_that_takes_two_lines_has_a_whole_box_around_each(console: Console):
    session_id = console.start_session(make_request("a"))
    console.page.set_viewport_size({"width": 320, "height": 800})
    page = console.open(f"/sessions/{session_id}")

    # Measured in one go, because the head may be fetched anew between two questions.
    count, box = page.evaluate(
        """() => {
          const code = document.querySelector("#resume");
          return [code.getClientRects().length, getComputedStyle(code).webkitBoxDecorationBreak];
        }"""
    )

    assert count > 1
    assert box == "clone"


def test_on_a_phone_the_list_and_a_session_are_pages_of_their_own(console: Console):
    session_id = console.start_session(make_request("a"), name="On a phone")
    console.page.set_viewport_size({"width": 390, "height": 844})

    page = console.open("/sessions")
    expect(page.locator("#list")).to_be_visible()
    expect(page.locator("#detail")).to_be_hidden()
    page.locator(f"[data-id='{session_id}']").click()
    expect(page.locator("#detail")).to_be_visible()
    expect(page.locator("#list")).to_be_hidden()
    page.get_by_role("link", name="All sessions").click()
    expect(page.locator("#list")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_is_readable_in_both_schemes(console: Console, scheme: str):
    """Contrast of at least 4.5 : 1, measured where text stands."""
    session_id = console.start_session(
        make_request("a"), make_edit("/r/a.py"), make_run("make", "ok", 1), make_answer("b")
    )
    console.set_context(session_id, "files", ["/r/gone.py"])
    console.page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page = console.open(f"/sessions/{session_id}")

    worst = page.evaluate(CONTRAST)

    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == (
        "rgb(18, 22, 26)" if scheme == "dark" else "rgb(246, 246, 243)"
    )
    assert worst["ratio"] >= 4.5, worst


CONTRAST = """() => {
  const parse = (color) => color.match(/[\\d.]+/g).map(Number);
  const luminance = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0);
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = parse(getComputedStyle(at).backgroundColor);
      if (color.length === 3 || color[3] > 0) return color;
    }
    return [255, 255, 255];
  };
  let worst = { ratio: 99 };
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3
        && node.textContent.trim());
    if (!own || !element.getClientRects().length) continue;
    const [a, b] = [luminance(parse(getComputedStyle(element).color)), luminance(ground(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < worst.ratio) worst = { ratio, text: element.textContent.trim().slice(0, 40),
        tag: element.className };
  }
  return worst;
}"""


def test_older_sessions_come_at_a_click_and_stay(own_console: Console):
    """Also while the list is fetched all the while: no answer takes away what was called for after
    it.
    """
    for number in range(110):
        own_console.start_session(name=f"session {number}")
    page = own_console.open_live("/sessions")
    expect(page.locator(".session")).to_have_count(50)
    page.evaluate(
        FETCH_THE_LIST, 150
    )  # a mouse needs a moment in which what it clicks on stands still

    for count in (100, 110):
        page.get_by_role("link", name="Older sessions").click()
        expect(page.locator(".session")).to_have_count(count)

    own_console.start_session(name="one more")
    expect(page.locator(".session").first).to_contain_text("one more")
    expect(page.locator(".session")).to_have_count(110)


def test_a_list_that_is_longer_than_what_is_fetched_at_once_is_never_cut(own_console: Console):
    async def fill(sessions: SessionService) -> None:
        for number in range(MOST_SESSIONS + 20):
            await sessions.create_session("architect", "ana", name=f"session {number}")

    with_sessions(own_console.settings, fill)
    page = own_console.open_live("/sessions")
    while (shown := page.locator(".session").count()) < MOST_SESSIONS + 20:
        page.get_by_role("link", name="Older sessions").click()
        expect(page.locator(".session")).to_have_count(
            min(shown + SESSIONS_PER_PAGE, MOST_SESSIONS + 20)
        )

    selected = page.locator("#card").get_attribute("data-session") or ""
    own_console.requests.clear()
    with page.expect_response(lambda answer: answer.url.endswith("/head")):
        own_console.rename(selected, "another name")

    expect(page.locator("#head")).to_contain_text("another name")
    assert not [
        url for url in own_console.requests if "count=" in url
    ]  # would be asked for before the head
    expect(page.locator(".session")).to_have_count(MOST_SESSIONS + 20)


# --- large ----------------------------------------------------------------------------------------


def test_a_page_of_a_long_session_costs_as_much_as_one_of_a_short_session(
    console: Console, scale: Callable[[int], int]
):
    """100,000 events in the soak: the same number of elements and, within a tenth, of bytes as with
    a thousand.
    """
    events = [
        make_request("what now?"),
        *[make_run("make check", "ok") for _ in range(8)],
        make_answer("Done."),
    ]

    async def fill(sessions: SessionService) -> list[str]:
        ids = []
        for count in (1000, max(scale(100_000), 2000)):
            session = await sessions.create_session("architect", "ana", name=f"{count} events")
            for _ in range(count // 1000):
                await sessions.append_events(session.id, events * 100)
            ids.append(session.id)
        return ids

    sizes, elements = [], []
    for session_id in with_sessions(console.settings, fill):
        answer = console.page.goto(f"{console.server.url}/sessions/{session_id}")
        assert answer is not None
        sizes.append(len(answer.body()))
        elements.append(console.page.locator("#timeline *").count())
        assert console.page.locator(".turn").count() == 20
        console.page.get_by_role("link", name="Earlier turns").click()
        expect(console.page.locator(".turn")).to_have_count(40)

    assert elements[1] == elements[0]
    assert sizes[1] < 1.1 * sizes[0]
    assert re.search(r"about", console.page.locator("#figures").inner_text())
