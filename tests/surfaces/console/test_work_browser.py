"""The workstreams screen and the diff in a real Chromium, in front of a real server and a real
repository.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, expect

from holdfast.workstreams.service import WorkstreamService
from tests.surfaces.console import noting
from tests.surfaces.console.browsing import Console
from tests.surfaces.console.conftest import opened
from tests.surfaces.console.noting import RETRY
from tests.surfaces.console.story import make_request
from tests.surfaces.console.test_browser import CONTRAST, is_same_page, mark, tab_to, wait_until
from tests.surfaces.http.server import Server, run_server
from tests.workstreams.repos import Repo


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return noting.with_code(tmp_path_factory.mktemp("work") / "payouts").folder


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, root: Path) -> Iterator[Server]:
    with noting.serving(tmp_path_factory.mktemp("served"), root) as running:
        yield running


@pytest.fixture
def repo(root: Path) -> Repo:
    return noting.on_own_branch(Repo(root, begin=False))


async def note_claims(workstreams: WorkstreamService) -> None:
    await workstreams.claim("schedule() doubles the pause", ["src/retry.py#schedule"])
    await workstreams.claim("deliver() posts once", ["src/retry.py#deliver"])
    await workstreams.claim("Attempts have a number", ["src/models.py:1-2"])
    await workstreams.decide(
        "Redis streams", status="rejected", because="ops will not run another Redis"
    )
    await workstreams.save("Goal: failed webhooks are retried.", by_hand=True)


def diffs_of(repo: Repo) -> list[str]:
    """A file's and the whole folder's."""
    return [
        f"/?applet=git-diff&path={quote(str(path))}"
        for path in (repo.folder / "src/retry.py", repo.folder)
    ]


# --- live -----------------------------------------------------------------------------------------


def test_an_edit_makes_a_claim_stale_on_the_open_page(console: Console, repo: Repo):
    """A file is edited: the bar, the claim, the summary and the bundle follow, and
    the page stays.
    """
    noting.note(console.settings, repo, note_claims)
    page = console.open_live("/workstreams")
    mark(console)
    expect(page.locator(".verdicts")).to_contain_text("3 fresh")
    expect(page.locator(".how-stale")).to_contain_text("Fresh")
    expect(page.locator("rect.ok")).to_have_count(1)

    repo.write("src/retry.py", "import math\n" + RETRY.replace("2**attempt", "3**attempt"))

    expect(page.locator(".key.changed")).to_have_text("1 changed")
    expect(page.locator(".key.moved")).to_have_text("1 moved")
    worst = page.locator(".claim").first
    expect(worst.locator(".pill")).to_have_text("changed")
    expect(worst).to_contain_text("return BASE * 3**attempt")
    expect(page.locator(".how-stale")).to_have_text("Stale: 1 of the 2 files noted here changed.")
    expect(page.locator("#bundle-text")).to_contain_text("CHANGED src/retry.py +2 -1")
    assert is_same_page(console)

    (repo.folder / "src/models.py").unlink()
    expect(page.locator(".key.gone")).to_have_text("1 gone")
    expect(page.locator(".claim").first).to_contain_text("The file is no longer there.")
    repo.git("checkout", "-q", "--", "src")
    expect(page.locator(".key.ok")).to_have_text("3 fresh")


def test_an_unfolded_part_stays_unfolded_when_the_page_is_replaced(console: Console, repo: Repo):
    noting.note(console.settings, repo, note_claims)
    page = console.open_live("/workstreams")
    page.locator("#part-2 summary").click()
    page.keyboard.press("j")

    repo.write("docs/adr.md", "# Other\n")

    expect(page.locator(".how-stale")).to_contain_text("1 other")
    expect(page.locator(".claim:focus h3")).to_have_text("schedule() doubles the pause")
    expect(page.locator("#part-2")).to_have_attribute("open", "")


def test_a_page_that_nothing_happens_to_is_not_written_anew(console: Console, repo: Repo):
    noting.note(console.settings, repo, note_claims)
    page = console.open("/workstreams")
    with page.expect_response(lambda answer: "/console/workstreams?" in answer.url) as looked:
        pass

    assert looked.value.status == 204
    assert not [url for url in console.requests if "/bundle" in url]


# --- the bundle -----------------------------------------------------------------------------------


def test_the_slider_changes_the_bundle_and_nothing_is_ever_longer(console: Console, repo: Repo):
    """By keys alone; it keeps the focus while the bar is written anew."""
    noting.note(console.settings, repo, note_claims)
    page = console.open_live("/workstreams")
    whole = page.locator("#bundle-text").text_content() or ""
    assert "GOAL failed webhooks are retried." in whole
    page.locator("#limit").focus()

    for key, limit in (
        ("Home", 450),
        ("ArrowRight", 500),
        ("ArrowRight", 550),
        ("End", 1700),
        ("ArrowLeft", 1650),
    ):
        page.keyboard.press(key)
        expect(page.locator(".sizes b").last).to_have_text(f"{limit:,}")
        expect(page.locator("#limit-shown")).to_have_text(f"{limit:,}")
        text = page.locator("#bundle-text").text_content() or ""
        assert 0 < len(text) <= limit
        expect(page.locator("#limit")).to_be_focused()
    page.keyboard.press("Home")
    expect(page.locator(".sizes b").last).to_have_text("450")
    expect(page.locator(".cut-count").first).to_be_visible()


def test_a_piece_of_the_bar_shows_its_text_its_sources_and_what_was_cut(
    console: Console, repo: Repo
):
    noting.note(console.settings, repo, note_claims)
    page = console.open("/workstreams?limit=450")
    piece = page.locator(".budget a[aria-label^='claims']")

    piece.click()

    part = page.locator(".piece[open]")
    expect(part.locator(".part-name")).to_have_text("claims")
    expect(part.locator("pre")).to_contain_text("[ok] Attempts have a number")
    expect(part.locator(".sources .pill").first).to_have_text("fresh")
    absent = page.locator(".piece", has_text="cut").first
    absent.locator("summary").click()
    expect(absent).to_contain_text("no room: the bundle may have 450 characters")
    tab_to(console, ".budget a[aria-label^='head']", back=True)
    page.keyboard.press("Enter")
    expect(page.locator("#part-1")).to_have_attribute("open", "")


@pytest.mark.parametrize("by", ["pointer", "keys"])
def test_a_part_unfolded_at_the_edge_is_scrolled_into_view(console: Console, repo: Repo, by: str):
    """The whole text stands last: without a step towards it one would see nothing happen."""
    noting.note(console.settings, repo, note_claims)
    console.page.set_viewport_size({"width": 1280, "height": 800})
    page = console.open("/workstreams")
    fold, words = page.locator("#part-all summary"), page.locator("#bundle-text")
    fold.scroll_into_view_if_needed()
    expect(words).not_to_be_in_viewport()

    if by == "pointer":
        fold.click()
    else:
        fold.focus()
        page.keyboard.press("Enter")

    expect(words).to_be_in_viewport(ratio=0.9)
    expect(fold).to_be_focused()
    page.keyboard.press("Enter")
    expect(words).to_be_hidden()


def test_marks_in_the_bundle_are_explained_in_the_words_of_the_bar(console: Console, repo: Repo):
    noting.note(console.settings, repo, note_claims)
    page = console.open("/workstreams")

    expect(page.locator(".key.ok")).to_have_text("3 fresh")
    expect(page.locator("#bundle-text")).to_contain_text("[ok] Attempts")
    expect(page.locator(".bundle")).to_contain_text("[ok] means fresh")


def test_the_phase_is_switched_and_another_workstream_is_picked(console: Console, repo: Repo):
    async def plan(workstreams: WorkstreamService) -> None:
        await note_claims(workstreams)
        await workstreams.claim("one plan", phase="planning")
        await workstreams.claim("another", workstream_id="second")

    noting.note(console.settings, repo, plan)
    page = console.open("/workstreams")
    page.locator(".switch").get_by_role("link", name="planning").click()
    expect(page.locator(".claim")).to_have_count(1)
    expect(page.locator("#limit")).to_have_attribute("max", "2200")
    expect(page.locator("#bundle-text")).to_contain_text("HOLDFAST planning")

    page.locator(".picker summary").click()
    page.get_by_role("link", name="second").click()
    expect(page.locator("h1")).to_have_text("second")
    expect(page.locator(".claim h3")).to_have_text("another")


# --- proofs ---------------------------------------------------------------------------------------


def test_a_proof_is_run_again_from_the_page(console: Console, repo: Repo, tmp_path: Path):
    """Said first, then running, then its exit code; while it runs no other one starts."""
    gate = tmp_path / "gate"
    command = ["sh", "-c", f"if [ -p {gate} ]; then cat {gate}; exit 3; fi"]

    async def prove(workstreams: WorkstreamService) -> None:
        proof = await workstreams.prove(command)
        await workstreams.claim("it works", [f"proof:{proof.id}"])

    noting.note(console.settings, repo, prove)
    os.mkfifo(gate)
    page = console.open_live("/workstreams")
    claim = page.locator(".claim")
    expect(claim).to_contain_text("exit 0")
    button = claim.locator("[data-proves]")
    expect(button).to_be_hidden()

    claim.get_by_text("Run the proof again").click()
    expect(claim.locator(".confirm pre")).to_have_text(
        f"sh -c 'if [ -p {gate} ]; then cat {gate}; exit 3; fi'"
    )
    button.click()
    expect(page.locator("#proving")).to_contain_text("Running sh -c")

    claim.get_by_text("Run the proof again").click()
    button.click()
    expect(page.locator("#proving-said")).to_contain_text("A proof is running already")

    gate.write_text("<b>it broke</b>\n")
    expect(page.locator("#proving")).to_contain_text("failed with exit 3")
    expect(page.locator("#proving pre")).to_have_text("<b>it broke</b>\n")
    expect(claim.locator(".ran")).to_contain_text("exit 3")


def test_another_tab_follows_a_proof(console: Console, repo: Repo, tmp_path: Path):
    """It shows that a proof runs and how it ended, without a click."""
    gate = tmp_path / "gate"
    proof = noting.note(
        console.settings,
        repo,
        lambda work: work.prove(["sh", "-c", f"if [ -p {gate} ]; then cat {gate}; fi"]),
    )
    os.mkfifo(gate)
    other = console.context.new_page()
    other.goto(f"{console.server.url}/workstreams")
    page = console.open_live("/workstreams")
    page.locator(f"#again-own-{proof.id} summary").click()
    page.locator(f"[data-proves='{proof.id}']").click()

    expect(other.locator("#proving")).to_contain_text("Running sh -c")
    gate.write_text("go\n")
    expect(other.locator("#proving")).to_contain_text("passed with exit 0")
    expect(other.locator(f"[data-proves='{proof.id}']")).to_have_count(0)


def test_only_our_own_page_starts_a_proof(console: Console, repo: Repo):
    """A cookie without our origin is not enough, and a form is not JSON."""

    async def prove(workstreams: WorkstreamService) -> str:
        return (await workstreams.prove(["touch", "made"])).id

    proof_id = noting.note(console.settings, repo, prove)
    (repo.folder / "made").unlink()
    cookies = {cookie["name"]: cookie["value"] for cookie in console.context.cookies()}
    with console.server.client() as api:
        api.headers.pop("authorization")
        api.cookies.update(cookies)
        for headers in ({}, {"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
            answer = api.post(
                "/console/workstreams/proof", json={"proof_id": proof_id}, headers=headers
            )
            assert answer.status_code == 403, answer.text
        own = {"Origin": console.server.url}
        assert (
            api.post(
                "/console/workstreams/proof", data={"proof_id": proof_id}, headers=own
            ).status_code
            == 415
        )
    assert not (repo.folder / "made").exists()


# --- the switch of the notes ----------------------------------------------------------------------


@pytest.fixture
def unshared_console(tmp_path: Path, browser: Browser, window: dict[str, Any]) -> Iterator[Console]:
    """Of a person who has not chosen yet whether notes are kept."""
    repo = noting.with_code(tmp_path / "payouts")
    (tmp_path / "served").mkdir()
    with run_server(tmp_path / "served", None, "--root", str(repo.folder)) as running:
        yield from opened(browser, running, repo.folder, window)


def test_notes_are_switched_on_and_off_by_keys_alone(unshared_console: Console):
    page = unshared_console.open_live("/workstreams")
    expect(page.locator("h1")).to_have_text("Notes in this repository are off")
    expect(page.locator(".place")).to_have_text("payouts")
    expect(page.locator(".switch-notes")).to_contain_text("nothing is committed by itself")
    tab_to(unshared_console, "[data-shares=true]")
    page.keyboard.press("Enter")

    expect(page.locator(".nothing h2")).to_have_text("There are no notes here yet")
    tab_to(unshared_console, "[data-shares=false]")
    page.keyboard.press("Enter")

    expect(page.locator("h1")).to_have_text("Notes in this repository are off")
    assert Repo(unshared_console.root, begin=False).git("status", "--porcelain") == ""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_switch_fits_a_phone_and_is_readable(unshared_console: Console, scheme: str):
    page = unshared_console.page
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page.set_viewport_size({"width": 320, "height": 800})
    unshared_console.open_live("/workstreams")
    for button in ("Switch notes on", "Switch notes off"):
        expect(page.get_by_role("button", name=button)).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 320
        worst = page.evaluate(CONTRAST)
        assert worst["ratio"] >= 4.5, worst
        page.get_by_role("button", name=button).click()
    expect(page.locator("h1")).to_have_text("Notes in this repository are off")


def test_a_switch_that_fails_says_why(unshared_console: Console):
    page = unshared_console.open_live("/workstreams")
    (unshared_console.server.home / "settings.json").write_text("{broken")

    page.get_by_role("button", name="Switch notes on").click()

    expect(page.locator("#switch-problem")).to_contain_text("settings.json")
    expect(page.get_by_role("button", name="Switch notes on")).to_be_focused()


def test_only_our_own_page_switches_the_notes(unshared_console: Console):
    """A cookie without our origin is not enough, and a form is not JSON."""
    cookies = {cookie["name"]: cookie["value"] for cookie in unshared_console.context.cookies()}
    path, choice = "/console/workstreams/sharing", {"shared_context": True}
    with unshared_console.server.client() as api:
        api.headers.pop("authorization")
        api.cookies.update(cookies)
        for headers in ({}, {"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
            assert api.post(path, json=choice, headers=headers).status_code == 403
        own = {"Origin": unshared_console.server.url}
        assert api.post(path, data={"shared_context": "true"}, headers=own).status_code == 415
    assert not (unshared_console.server.home / "settings.json").exists()


# --- keys, phones, schemes ------------------------------------------------------------------------


def test_claims_are_walked_and_opened_by_keys_alone(console: Console, repo: Repo):
    noting.note(console.settings, repo, note_claims)
    repo.write("src/retry.py", "\n" + RETRY)
    page = console.open_live("/workstreams")
    expect(page.locator(".key.moved")).to_have_text("2 moved")

    for key, words in (
        ("j", "schedule()"),
        ("j", "deliver()"),
        ("j", "Attempts"),
        ("j", "Attempts"),
        ("k", "deliver()"),
    ):
        page.keyboard.press(key)
        expect(page.locator(".claim:focus h3")).to_contain_text(words)
    page.keyboard.press("Enter")

    expect(page.locator("#L13:target")).to_contain_text("def deliver")


@pytest.mark.parametrize("width", [390, 320, 768, 1920])
def test_neither_screen_is_wider_than_its_window(console: Console, repo: Repo, width: int):
    long = "very_long_name_without_any_break" * 6

    async def fill(workstreams: WorkstreamService) -> None:
        repo.write(f"src/{long}.py", "x = '" + "y" * 400 + "'\n")
        await workstreams.claim("z" * 300, [f"src/{long}.py"])
        await workstreams.claim("schedule()", ["src/retry.py#schedule"])
        await workstreams.decide("d" * 300, status="rejected", because="b" * 300)
        await workstreams.save("s" * 600, by_hand=True)
        await workstreams.set_checklist(["c" * 300])
        await workstreams.prove(["echo", "o" * 300])
        await workstreams.fail(step="f" * 200, error="e" * 300, next_action="n" * 200)

    noting.note(console.settings, repo, fill)
    repo.write("src/retry.py", RETRY + "# " + "w" * 500 + "\n")
    (repo.folder / f"src/{long}.py").write_text("other\n")
    console.page.set_viewport_size({"width": width, "height": 800})

    for url in ("/workstreams", *diffs_of(repo)):
        page = console.open(url)
        page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, url
        wide = page.evaluate(
            """[...document.querySelectorAll('main, main > *, main section, main article')]
               .filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.className)"""
        )
        assert wide == [], url


@pytest.mark.parametrize("width", [390, 320])
def test_on_a_phone_a_proof_is_a_sign_and_beside_it_its_command(
    console: Console, repo: Repo, width: int
):
    async def prove(workstreams: WorkstreamService) -> None:
        for words in ("o" * 90, "short", "many words of one command " * 6):
            await workstreams.prove(["echo", words])

    noting.note(console.settings, repo, prove)
    console.page.set_viewport_size({"width": width, "height": 800})
    page = console.open("/workstreams")

    for words in ("o" * 90, "short", "many words"):
        expect(page.locator(".proofs .ran", has_text=words).first).to_be_visible()
    places = page.locator(".proofs .ran").evaluate_all(PLACES)
    assert (
        len({(sign["left"], code["left"], because["left"]) for sign, code, because in places}) == 1
    )
    assert all(sign["right"] <= code["left"] and code["right"] <= width for sign, code, _ in places)
    assert all(sign["top"] < code["bottom"] <= because["top"] + 1 for sign, code, because in places)


PLACES = (
    "(rows) => rows.map((row) => [...row.children].map((one) => "
    "one.getBoundingClientRect().toJSON()))"
)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_both_screens_are_readable_in_both_schemes(console: Console, repo: Repo, scheme: str):
    noting.note(console.settings, repo, note_claims)
    repo.write("src/retry.py", RETRY.replace("2**attempt", "3**attempt"))
    (repo.folder / "src/models.py").unlink()
    console.page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    for url in ("/workstreams?limit=600", *diffs_of(repo)):
        page = console.open(url)
        page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        worst = page.evaluate(CONTRAST)
        assert worst["ratio"] >= 4.5, (url, worst)


def test_every_control_of_both_screens_has_a_name(console: Console, repo: Repo):
    noting.note(console.settings, repo, note_claims)
    repo.write("src/retry.py", RETRY.replace("2**attempt", "3**attempt"))
    for url in ("/workstreams", *diffs_of(repo)):
        page = console.open(url)
        nameless = page.evaluate(
            """() => [...document.querySelectorAll(
                     'a, button, summary, input:not([type=hidden]), svg')]
                 .filter(one => !one.closest('[aria-hidden]') && !one.getAttribute('aria-label')
                     && !one.textContent.trim() && !(one.labels && one.labels.length))
                 .map(one => one.outerHTML)"""
        )
        assert nameless == []
        assert page.locator("h1").count() == 1


def test_reading_the_screen_needs_no_script(browser: Browser, console: Console, repo: Repo):
    noting.note(console.settings, repo, note_claims)
    context = browser.new_context(java_script_enabled=False)
    try:
        context.add_cookies(console.context.cookies())
        page = context.new_page()
        page.goto(f"{console.server.url}/workstreams")
        expect(page.locator(".claim")).to_have_count(3)
        page.locator("#limit").focus()
        page.keyboard.press("Home")
        page.get_by_role("button", name="Show").click()
        expect(page.locator(".sizes b").last).to_have_text("450")
    finally:
        context.close()


# --- the diff -------------------------------------------------------------------------------------


def test_a_stale_file_leads_to_its_diff_and_on_to_the_file(console: Console, repo: Repo):
    noting.note(console.settings, repo, note_claims)
    repo.write("src/retry.py", RETRY.replace("2**attempt", "3**attempt"))
    repo.commit("triple")
    page = console.open("/workstreams")
    page.locator(".changes").get_by_role("link", name="src/retry.py").click()

    expect(page.locator(".diff .removed")).to_have_text(
        re.compile(r"9−    return BASE \* 2\*\*attempt")
    )
    expect(page.locator(".diff .added")).to_have_text(
        re.compile(r"9\+    return BASE \* 3\*\*attempt")
    )
    page.locator(".diff .added a").click()
    expect(page.locator("#L9:target")).to_contain_text("3**attempt")
    page.get_by_role("link", name="Changes").click()
    expect(page.locator(".message")).to_have_text("Nothing differs from HEAD.")


def test_a_folders_diff_leads_to_a_files_and_back_and_is_captured(console: Console, repo: Repo):
    """By pointer and by keys; what was left last is what the session offers."""
    session_id = console.start_session(make_request("a"))
    repo.write("docs/adr.md", "# Webhooks\n\nRedis.\n")
    repo.write("src/retry.py", RETRY.replace("2**attempt", "3**attempt"))
    (repo.folder / "src/models.py").unlink()
    page = console.open_live(
        f"/?applet=git-diff&path={quote(str(repo.folder))}&session={session_id}"
    )
    rows = page.locator(".changed-file")
    assert [" ".join(row.split()) for row in rows.all_inner_texts()] == [
        "changed docs/adr.md +1 −1",
        "gone src/models.py +0 −3",
        "changed src/retry.py +1 −1",
    ]

    rows.filter(has_text="docs/adr.md").click()
    expect(page.locator(".diff .added")).to_contain_text("Redis.")
    wait_until(lambda: "applet" in console.context_of(session_id))
    assert console.context_of(session_id)["applet"] == ["git-diff", f"path={repo.folder}"]
    page.get_by_role("link", name="All changed files").click()
    page.wait_for_selector("#dot.on")

    for key, name in (
        ("j", "adr"),
        ("ArrowDown", "models"),
        ("j", "retry"),
        ("j", "retry"),
        ("k", "models"),
    ):
        page.keyboard.press(key)
        expect(page.locator(".changed-file:focus")).to_contain_text(name)
    page.keyboard.press("Enter")
    expect(page.locator(".diff .removed")).to_have_count(3)
    page.go_back()
    expect(rows).to_have_count(3)

    page.get_by_role("link", name="Back to the session").click()
    expect(page.locator("#restore")).to_have_text(f"Open again: the changes of {repo.folder.name}")


@pytest.mark.parametrize("width", [1280, 390, 320])
def test_added_and_removed_counts_are_on_one_line(console: Console, repo: Repo, width: int):
    repo.write("src/retry.py", RETRY.replace("2**attempt", "3**attempt"))
    console.page.set_viewport_size({"width": width, "height": 800})

    for path in (repo.folder / "src/retry.py", repo.folder):
        page = console.open(f"/?applet=git-diff&path={quote(str(path))}")
        [[plus, minus]] = page.locator(".counts").evaluate_all(PLACES)
        assert plus["top"] == minus["top"]


def test_a_diff_is_captured_and_offered_again(console: Console, repo: Repo):
    session_id = console.start_session(make_request("a"))
    repo.write("docs/adr.md", "# Webhooks\n\nRedis.\n")
    since = repo.git("rev-parse", "HEAD")
    path = str(repo.folder / "docs/adr.md")
    page = console.open_live(
        f"/?applet=git-diff&path={quote(path)}&since={since}&session={session_id}"
    )

    page.goto("about:blank")
    wait_until(lambda: "applet" in console.context_of(session_id))

    assert console.context_of(session_id)["applet"] == [
        "git-diff",
        f"path={path}",
        f"since={since}",
    ]
    page = console.open(f"/sessions/{session_id}")
    page.get_by_role("link", name="Open again: the changes of adr.md").click()
    expect(page.locator(".diff .added")).to_contain_text("Redis.")
    page.get_by_role("link", name="Back to the session").click()
    expect(page.locator("#card")).to_be_visible()
