"""The coordination screen as a program reads it, on both engines: what is on it and what is not,
what a look at it costs, and what was seen last.
"""

import asyncio
import html
import json
import re
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from holdfast.app import App
from holdfast.ground import clock, ids
from holdfast.ground.settings import load_settings
from holdfast.ground.user_settings import NAME as USER_SETTINGS
from holdfast.scope import Scope
from holdfast.surfaces.console import looks
from holdfast.team.model import PublishedContext
from holdfast.usecases import exchange
from holdfast.usecases.freshness import make_basis
from tests.surfaces.console.noting import with_code
from tests.surfaces.console.teaming import REPO
from tests.surfaces.console.test_pages import Pages, pages
from tests.surfaces.console.test_work_pages import Screen, open_screen
from tests.surfaces.http.server import is_problem
from tests.surfaces.http.test_team import UNKNOWN, Team, read, team
from tests.workstreams.repos import Repo

__all__ = ["pages", "team"]  # fixtures

PIECE = "/console/coordination"
PAGE = {"Accept": "text/html"}
FULL = {
    "title": "Retry queue",
    "summary": "Jobs are retried with a delay.",
    "files_touched": ["src/queue.py", "src/worker.py"],
    "next_actions": ["Add the delay"],
    "blockers": ["The schema is not decided"],
    "repo": "example/queue",
    "branch": "retry",
}
MARK = re.compile(r"seen=([0-9a-f]{16})")


async def show(team: Team, handle: str, path: str = "/", status: int = 200) -> str:
    answer = await team[handle].get(path, headers=PAGE)
    assert answer.status_code == status, answer.text
    assert answer.headers["cache-control"] == "no-store"
    assert "etag" not in answer.headers
    return html.unescape(answer.text)


def find_mark(page: str) -> str:
    found = MARK.search(page)
    assert found
    return found[1]


def without_moment(page: str) -> str:
    return re.sub(r'data-at="[^"]*"', "", page)


def list_titles(page: str) -> list[str]:
    return re.findall(r'<span class="title">(.*?)</span>', page)


# --- whether it is the landing page ---------------------------------------------------------------


async def test_who_works_alone_keeps_the_landing_page_and_is_told_in_a_line(pages: Pages):
    assert "No sessions yet" in await pages.get("/")

    page = await pages.get("/coordination")

    assert "Coordination is off" in page
    assert "holdfast team publish" in page
    assert 'id="team"' not in page


async def test_it_becomes_the_landing_page_with_the_first_use_and_leaves_with_team_leave(
    pages: Pages,
):
    await exchange.publish_context(pages.app.scope, {"title": "a", "summary": "b"})

    page = await pages.get("/")
    assert "Published contexts" in page
    assert 'href="/coordination" aria-current="page"' in page
    assert "No sessions yet" in await pages.get("/sessions")

    settings = Path(pages.app.settings.home, USER_SETTINGS)
    settings.write_text(json.dumps({"team": False}))
    assert "No sessions yet" in await pages.get("/")
    answer = await pages.client.get(PIECE)
    assert (answer.headers["hx-refresh"], answer.text) == ("true", "")


async def test_without_anything_the_page_is_calm(team: Team):
    page = await show(team, "dev-a")

    assert "Waiting for you" in page
    assert "Nothing is published now." in page
    assert "Nobody has used the exchange yet." in page
    assert "No files are reserved." in page
    assert "Nothing has happened." in page


# --- the panel ------------------------------------------------------------------------------------


async def test_a_row_has_what_the_panel_promises_and_the_rest_behind_a_toggle(team: Team):
    context = await team.publish("dev-a", **FULL)

    page = await show(team, "dev-b")

    assert list_titles(page) == ["Retry queue"]
    assert '<span class="owner">dev-a</span>' in page
    assert ">just now</time>" in page
    assert ">example/queue · retry</span>" in page
    for count in ("2 files touched", "1 next action", "1 blocker"):
        assert f">{count}</span>" in page
        assert f'<span class="none">{count}' not in page
    assert f'aria-expanded="false" aria-controls="detail-{context["id"]}"' in page
    for hidden in ("Jobs are retried", "src/queue.py", "Add the delay", "schema is not decided"):
        assert hidden not in page
    assert "data-revokes" not in page


async def test_an_open_row_has_the_rest_and_stays_open_in_a_refresh(team: Team):
    context = await team.publish("dev-a", **FULL)
    own = context["developer"]["id"]

    detail = await show(team, "dev-b", f"{PIECE}/contexts/{own}/{context['id']}")
    refreshed = await show(team, "dev-b", f"{PIECE}?opened={context['id']}")

    for part in (detail, refreshed):
        assert '<div class="plain">Jobs are retried with a delay.</div>' in part
        assert "<li>Add the delay</li>" in part
        assert "<li>The schema is not decided</li>" in part
        assert [path in part for path in FULL["files_touched"]] == [True, True]
        assert "In the words of <b>dev-a</b>" in part
        assert "Revoke" not in part
    assert 'aria-expanded="true"' in refreshed


async def test_only_ones_own_context_can_be_revoked(team: Team):
    context = await team.publish("dev-a", **FULL)

    own = await show(team, "dev-a", f"/coordination?opened={context['id']}")

    assert f'data-revokes="/api/contexts/{context["id"]}"' in own
    assert "What you published" in own
    assert is_problem(await team["dev-b"].delete(f"/api/contexts/{context['id']}"), 404)


async def test_what_is_replaced_or_withdrawn_is_on_no_page(team: Team):
    kept = await team.publish("dev-a", **FULL, ttl_hours=1)
    assert list_titles(await show(team, "dev-b")) == ["Retry queue"]

    await team.publish("dev-a", **{**FULL, "title": "A second"})
    page = await show(team, "dev-b", f"/coordination?opened={kept['id']}")
    assert list_titles(page) == ["A second"]
    assert kept["id"] not in page

    (now,) = await team.list_contexts("dev-b")
    await team["dev-a"].delete(f"/api/contexts/{now['id']}")
    page = await show(team, "dev-b", f"/coordination?opened={now['id']}")
    assert now["id"] not in page
    path = f"{PIECE}/contexts/{now['developer']['id']}/{now['id']}"
    assert "A second" not in await show(team, "dev-b", path, 404)


async def test_two_hundred_contexts_and_a_hundred_files_are_shown(team: Team):
    paths = [f"src/{'long_name_' * 8}{number}.py" for number in range(100)]
    first = await team.publish("dev-a", title="t" * 200, files_touched=paths)
    for number in range(201):
        await team.publish("dev-b", title=f"Number {number}")

    page = await show(team, "dev-c")
    assert len(list_titles(page)) == 200
    assert "Number 200" in page

    path = f"{PIECE}/contexts/{first['developer']['id']}/{first['id']}"
    detail = await show(team, "dev-c", path)
    assert [name in detail for name in paths] == [True] * 100


# --- beside it ------------------------------------------------------------------------------------


async def test_who_has_only_looked_is_told_that_others_do_not_see_it_yet(team: Team):
    before = await show(team, "dev-a")
    assert "Others do not see you before you publish or claim something" in before
    assert "dev-a" not in await show(team, "dev-b", PIECE)

    await team.publish("dev-a")

    after = await show(team, "dev-a")
    assert "Others do not see you" not in after
    assert "The team sees your branch" in after


async def test_each_side_of_a_handoff_has_its_own_buttons(team: Team):
    await team.publish("dev-b")
    claim = await team.claim("dev-a")
    offered = await team.offer("dev-a", claim["id"], to="dev-b", note="Tests are left")

    to_me, mine = await show(team, "dev-b"), await show(team, "dev-a")
    assert list_deeds(to_me) == ["Accept", "Become private", "Accept", "Decline"]
    assert "<b>dev-a</b> hands over" in to_me
    assert to_me.count("Note of dev-a: <q>Tests are left</q>") == 1
    assert "Your note: <q>Tests are left</q>" in mine
    assert f'href="#handoff-{offered["id"]}">or decline</a>' in to_me
    assert f'<li id="handoff-{offered["id"]}">' in to_me
    assert list_deeds(mine) == ["Become private", "Withdraw", "Release"]
    assert list_deeds(await show(team, "dev-c")) == ["Become private"]

    read(await team["dev-b"].post(f"/api/handoffs/{offered['id']}/accept"))

    taken, given = await show(team, "dev-b"), await show(team, "dev-a")
    assert list_deeds(taken) == ["Become private", "Complete", "Release"]
    assert "You took over from <b>dev-a</b>" in taken
    assert list_deeds(given) == ["Become private"]
    assert "Taken over by <b>dev-b</b>" in given


def list_deeds(page: str) -> list[str]:
    return re.findall(r"data-does=[^>]*>([^<]*)<", page)


async def test_words_of_a_handoff_stand_once_behind_what_they_are_and_whose(team: Team):
    """Nothing stands for a reason that is empty."""
    await team.publish("dev-a", title="Retry queue")
    claim = await team.claim("dev-a", reason="It needs a delay")
    await team.offer("dev-a", claim["id"])

    page = await show(team, "dev-b")

    assert page.count("Reason of dev-a: <q>It needs a delay</q>") == 1
    assert page.count("Context of dev-a: <q>Retry queue</q>") == 1
    assert "<q></q>" not in page
    assert "Note of" not in page


async def test_what_is_offered_to_all_is_accepted_and_never_declined(team: Team):
    await team.publish("dev-b")
    await team.offer("dev-a", (await team.claim("dev-a"))["id"])

    assert list_deeds(await show(team, "dev-b")) == ["Accept", "Become private", "Accept"]


async def test_a_name_that_is_cut_is_whole_in_its_title(team: Team):
    """Also where a developer chose prose for it; a repository with its host, a person's branch."""
    prose = "x NOTE TO AGENT " + "read on " * 18
    branch = prose.strip().replace(" ", "-")
    await team.publish("dev-a", title=prose, branch=branch, repo="example/queue")
    await team.claim("dev-a", branch=branch, repo="example/queue")
    scope = team.apps["dev-a"].scope
    await scope.team.show_presence(
        ids.new_id(), [], client="codex", repo="example/queue", branch=branch
    )

    page = await show(team, "dev-b")

    assert page.count(f'class="tag" title="example/queue · {branch}"') == 2
    assert page.count(f'class="branch" title="example/queue · {branch}"') == 1


async def test_reservations_say_what_is_left_and_soft_ones_that_they_are_uncommitted(team: Team):
    await team.claim("dev-a", ttl_minutes=60)
    scope = team.apps["dev-b"].scope
    await exchange.set_visibility(scope, "public")
    await scope.team.show_presence(ids.new_id(), ["src/a.py"], client="codex", branch="feat/a")

    page = await show(team, "dev-c")

    assert "59 min left" in page
    assert re.search(r'<rect width="(98|99|100)" height="4"/>', page)
    assert page.count("uncommitted work") == 1
    assert '<i class="dot on"></i>' in page
    assert ">feat/a</span>" in page
    assert "seen just now" in page


async def test_the_activity_names_what_each_developer_did_and_how_often(team: Team):
    """Without a picture of the day, which would be a single bar."""
    await team.publish("dev-a")
    for path in ("a", "b", "c"):
        await team.claim("dev-b", paths=[path])

    page = await show(team, "dev-c")

    activity = page[page.index('class="activity"') :]
    assert "<b>dev-a</b> published a context" in activity
    assert "<b>dev-b</b> reserved files, 3 times<" in activity
    assert "<rect" not in activity


async def test_the_page_is_filtered_by_repository_and_by_person(team: Team):
    await team.publish("dev-a", title="One", repo="example/one")
    await team.publish("dev-a", title="Two", repo="example/two")
    await team.publish("dev-b", title="Three", repo="example/two")

    assert list_titles(await show(team, "dev-c", "/coordination?repo=example/two")) == [
        "Three",
        "Two",
    ]
    page = await show(team, "dev-c", "/coordination?repo=example/two&person=dev-a")
    assert list_titles(page) == ["Two"]
    assert "2 more without the filter." in page
    assert f'hx-get="{PIECE}?repo=example%2Ftwo&person=dev-a&seen=' in page
    nobody = await show(team, "dev-c", "/coordination?person=dev-x")
    assert "Nothing that is published matches the filter." in nobody


# --- privacy --------------------------------------------------------------------------------------


async def test_a_private_developer_leaves_no_trace_on_any_page(team: Team):
    """Byte for byte the page of a team without this developer, and the same mark."""
    await team.publish("dev-a", **FULL)
    await show(team, "dev-a")
    before = without_moment(await show(team, "dev-a", PIECE))

    await team.become("dev-c", "private")
    claim = await team.claim("dev-c")
    context = await team.publish("dev-c", repo="example/secret")
    scope = team.apps["dev-c"].scope
    await scope.team.show_presence(
        ids.new_id(), ["src/queue.py"], repo="example/queue", branch="retry"
    )

    after = without_moment(await show(team, "dev-a", PIECE))
    assert find_mark(after) == find_mark(before)
    assert after == before
    own = await show(team, "dev-c")
    assert "You are private." in own
    assert "example/secret" in own
    assert claim["id"] in own

    refused = []
    for named in (context["developer"]["id"], UNKNOWN):
        path = f"{PIECE}/contexts/{named}/{context['id']}"
        refused.append((await show(team, "dev-a", path, 404)).replace(named, "WHO"))
    assert refused[0] == refused[1]


async def test_who_becomes_private_is_gone_with_the_next_refresh(team: Team):
    context = await team.publish("dev-c", repo="example/secret")
    claim = await team.claim("dev-c")
    await team.publish("dev-a")
    await team.offer("dev-c", claim["id"], to="dev-a", note="Take it")
    page = await show(team, "dev-a")
    assert page.count("dev-c") > 3

    me = await team.become("dev-c", "private")

    asked = f"{PIECE}?seen={find_mark(page)}&opened={context['id']}"
    for path in (asked, "/", "/coordination?person=dev-c&repo=example/secret"):
        page = await show(team, "dev-a", path)
        traces = ("dev-c", me["id"], claim["id"], context["id"], "Take it", "example/secret")
        found = [trace for trace in traces if trace in page]
        if "person=" in path:  # what the address itself says comes back
            found = [trace for trace in found if trace not in ("dev-c", "example/secret")]
        assert found == [], path
    await team.become("dev-c", "public")
    assert context["id"] in await show(team, "dev-a")


# --- what a look costs, and what is counted -------------------------------------------------------


async def test_opening_is_counted_once_and_a_refresh_is_not(team: Team):
    context = await team.publish("dev-a", **FULL)
    own = context["developer"]["id"]
    page = await show(team, "dev-b")
    for _ in range(3):
        answer = await team["dev-b"].get(f"{PIECE}?seen={find_mark(page)}")
        assert (answer.status_code, answer.content) == (204, b"")
    await show(team, "dev-b", f"{PIECE}/contexts/{own}/{context['id']}")
    await show(team, "dev-b", f"{PIECE}/contexts/{UNKNOWN}/{context['id']}", 404)

    assert await team.list_usage("dev-b") == [
        ("covibe_team.state", "ok"),
        ("covibe_session.get_context", "ok"),
        ("covibe_session.get_context", "developer_not_found"),
    ]


async def test_every_change_of_others_is_in_the_next_refresh(team: Team):
    await team.publish("dev-b")
    marks = [find_mark(await show(team, "dev-b"))]

    async def is_new() -> bool:
        page = await show(team, "dev-b", f"{PIECE}?seen={marks[-1]}")
        marks.append(find_mark(page))
        return marks[-1] not in marks[:-1]

    context = await team.publish("dev-a", **FULL)
    assert await is_new()
    claim = await team.claim("dev-a")
    assert await is_new()
    handoff = await team.offer("dev-a", claim["id"], to="dev-b")
    assert await is_new()
    await team["dev-a"].post(f"/api/handoffs/{handoff['id']}/cancel")
    assert await is_new()
    await team["dev-a"].delete(f"/api/claims/{claim['id']}")
    assert await is_new()
    await team["dev-a"].delete(f"/api/contexts/{context['id']}")
    assert await is_new()


async def test_bad_addresses_are_refused_in_words(team: Team):
    for path in (
        "/coordination?repo=" + "x" * 500,
        f"{PIECE}?seen=" + "x" * 50,
        f"{PIECE}?" + "&".join(["opened=a"] * 201),
    ):
        assert "is not what this address takes" in await show(team, "dev-a", path, 400)
    for developer, status in (("%00", 400), ("nobody", 404), (UNKNOWN, 404)):
        await show(team, "dev-a", f"{PIECE}/contexts/{developer}/{UNKNOWN}", status)


# --- the last look --------------------------------------------------------------------------------


async def note_look(team: Team, handle: str, body: Any) -> Any:
    return await team[handle].post("/console/coordination/looked", json=body)


async def test_what_was_seen_is_not_new_any_more_and_stays_until_it_is_done(team: Team):
    await team.publish("dev-b")
    offer = await team.offer("dev-a", (await team.claim("dev-a"))["id"], to="dev-b")
    page = await show(team, "dev-b")
    (key,) = re.findall(r'data-key="(\w+)"', page)
    assert 'class="item handoff new"' in page

    now = clock.to_text(clock.now())
    assert (await note_look(team, "dev-b", {"at": now, "seen": [key]})).status_code == 204

    page = await show(team, "dev-b")
    assert re.search(r"Since you looked \(<time", page)
    assert 'class="item handoff"' in page
    await team.publish("dev-a", title="A later one")
    assert 'class="new-mark"' in await show(team, "dev-b")
    read(await team["dev-b"].post(f"/api/handoffs/{offer['id']}/accept"))
    assert "data-key" not in await show(team, "dev-b")
    assert "Waiting for you" in await show(team, "dev-a")


async def test_the_time_of_a_look_goes_forward_only_and_holds_nothing_of_others(team: Team):
    """Another tab that was opened earlier is closed later; a clock ahead is not believed."""
    settings = team.apps["dev-b"].settings
    now = clock.now()
    earlier = now - timedelta(hours=1)
    for at in (now, earlier):
        await note_look(team, "dev-b", {"at": clock.to_text(at), "seen": []})
        assert looks.find_look(settings).at == now
    await note_look(team, "dev-b", {"at": clock.to_text(now + timedelta(days=9)), "seen": []})
    look = looks.find_look(settings)
    assert look.at is not None
    assert now < look.at <= clock.now()

    (kept,) = Path(settings.home).glob("looked-*")
    assert kept.stat().st_mode & 0o777 == 0o600
    kept.write_text("{")
    assert looks.find_look(settings) == looks.Look()
    assert "Waiting for you" in await show(team, "dev-b")


@pytest.mark.parametrize(
    "body",
    [
        [],
        {},
        {"at": "yesterday", "seen": []},
        {"at": 5, "seen": []},
        {"at": "2026-11-16T09:00:00Z"},
        {"at": "2026-11-16T09:00:00Z", "seen": "abc"},
        {"at": "2026-11-16T09:00:00Z", "seen": ["short"]},
        {"at": "2026-11-16T09:00:00Z", "seen": [1]},
    ],
)
async def test_what_is_no_look_is_refused_and_kept_nowhere(team: Team, body: Any):
    assert is_problem(await note_look(team, "dev-b", body), 400)

    assert looks.find_look(team.apps["dev-b"].settings) == looks.Look()


async def test_a_look_is_taken_as_json_only(team: Team):
    answer = await team["dev-b"].post("/console/coordination/looked", data={"at": "x"})

    assert is_problem(answer, 415)


# --- beside a checkout ----------------------------------------------------------------------------


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return with_code(tmp_path / "payouts")


@pytest.fixture
async def screen(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Screen]:
    monkeypatch.setenv("SHARED_CONTEXT_ENABLED", "true")
    async for opened_screen in open_screen(repo.folder):
        yield opened_screen


@pytest.fixture
async def other(screen: Screen) -> AsyncIterator[Scope]:
    """Another developer on the same store."""
    home = screen.app.settings.home
    as_other = {"HOLDFAST_HOME": home, "HOME": "/", "HOLDFAST_DEVELOPER": "dev-b"}
    async with App(load_settings(as_other)) as app:
        yield app.scope


async def test_who_works_on_an_uncommitted_file_is_named_with_a_link_to_its_diff(
    screen: Screen, repo: Repo, other: Scope
):
    repo.write("src/retry.py", "changed\n")
    repo.write("src/models.py", "changed\n")
    fields = {"paths": ["src/retry.py"], "reason": "r", "repo": REPO}
    await exchange.claim(other, fields)
    listed = {"title": "t", "summary": "s", "repo": REPO, "files_touched": ["src/models.py"]}
    await exchange.publish_context(other, listed)
    elsewhere = {**fields, "paths": ["docs/adr.md"]}
    await exchange.claim(other, elsewhere)

    page = html.unescape(await screen.get("/"))

    items = re.findall(r'<li class="item overlap new".*?</li>', page, re.DOTALL)
    assert len(items) == 2
    assert "src/retry.py" in items[0]
    assert re.search(r"<b>dev-b</b> reserved it until \d\d:\d\d", items[0])
    assert "src/models.py" in items[1]
    assert "<b>dev-b</b> lists it in a context" in items[1]
    for item, name in zip(items, ("retry", "models"), strict=True):
        link = re.search(r'href="(/\?applet=git-diff[^"]*)"', item)
        assert link
        assert f"src/{name}.py" in html.unescape(await screen.get(link[1]))


async def test_beside_a_working_tree_it_is_said_what_was_looked_at(screen: Screen):
    await exchange.publish_context(screen.app.scope, {"title": "t", "summary": "s"})

    page = await screen.get("/")

    looked_at = "nobody works on your uncommitted files, and no note of yours went stale."
    assert f"No handoff is offered to you, {looked_at}" in page


async def test_claims_that_no_longer_hold_are_named_the_worst_first(screen: Screen, repo: Repo):
    await exchange.publish_context(screen.app.scope, {"title": "t", "summary": "s"})
    await screen.workstreams.claim("schedule() doubles", ["src/retry.py#schedule"])
    await screen.workstreams.claim("The ADR rules out Redis", ["docs/adr.md:3"])
    await screen.workstreams.claim("An event is paid once", ["README.md:3"])
    repo.write("src/retry.py", "def schedule(attempt):\n    return 1\n")
    (repo.folder / "docs/adr.md").unlink()

    page = html.unescape(await screen.get("/"))

    items = re.findall(r'<li class="item stale new".*?</li>', page, re.DOTALL)
    assert ["The ADR rules out Redis" in items[0], "schedule() doubles" in items[1]] == [True] * 2
    assert len(items) == 2
    link = re.search(r'href="(/workstreams[^"#]*)#([^"]*)"', items[0])
    assert link
    assert f'id="{link[2]}"' in await screen.get(link[1])


async def test_files_are_compared_with_this_checkout_and_lead_to_their_diff(
    screen: Screen, repo: Repo, other: Scope
):
    paths = ["src/retry.py", "src/models.py", "src/new.py"]
    repo.write("src/new.py", "new\n")
    fields = {"title": "t", "summary": "s", "repo": REPO, "files_touched": paths}
    basis = make_basis(str(repo.folder), paths)
    await exchange.publish_context(other, fields, basis=basis)
    elsewhere = {**fields, "repo": "github.com/acme/other", "title": "elsewhere"}
    published = await exchange.publish_context(other, elsewhere, basis=basis)
    assert ">all as here<" in await screen.get("/")

    repo.write("src/retry.py", "changed\n")
    (repo.folder / "src/new.py").unlink()
    repo.commit("later")
    page = await screen.get("/")
    assert ">1 of 3 differs here, 1 missing here<" in page
    assert page.count('class="freshness') == 1

    (first,) = [one for one in await exchange.get_contexts(screen.app.scope) if one.repo == REPO]
    detail = await screen.get(f"{PIECE}/contexts/{first.developer.id}/{first.id}")
    states = re.findall(r'<span class="state \w+">([^<]*)</span>', detail)
    assert states == ["differs here", "as here", "missing here"]
    link = re.search(r'href="(/\?applet=git-diff[^"]*)"', detail)
    assert link
    assert "changed" in await screen.get(html.unescape(link[1]))
    theirs = published.result
    detail = await screen.get(f"{PIECE}/contexts/{theirs.developer.id}/{theirs.id}")
    assert "git-diff" not in detail


async def publish_here(other: Scope, repo: Repo, **fields: Any) -> PublishedContext:
    paths = fields["files_touched"]
    given = {"title": "t", "summary": "s", "repo": REPO, **fields}
    basis = make_basis(str(repo.folder), paths)
    return (await exchange.publish_context(other, given, basis=basis)).result


async def find_diffs(screen: Screen, context: PublishedContext) -> list[str]:
    detail = await screen.get(f"{PIECE}/contexts/{context.developer.id}/{context.id}")
    return [html.unescape(link) for link in re.findall(r'href="(/\?applet=git-diff[^"]*)"', detail)]


async def test_a_diff_leads_back_to_where_it_was_opened(screen: Screen, repo: Repo, other: Scope):
    """Through the file and its editor as well, and with nothing about sessions."""
    context = await publish_here(other, repo, files_touched=["src/retry.py"])
    repo.write("src/retry.py", "changed\n")
    (link,) = await find_diffs(screen, context)

    for _ in range(3):
        page = html.unescape(await screen.get(link))
        assert ("Back to Coordination</a>" in page) != ("edit=1" in link)
        assert 'href="/coordination" aria-current="page"' in page
        assert "without a session" not in page
        link = re.findall(r'href="(/\?applet=text-editor[^"#]*)', page)[-1]


async def test_a_version_that_was_not_committed_there_is_not_called_the_same(
    screen: Screen, repo: Repo, other: Scope
):
    committed = (repo.folder / "src/retry.py").read_text()
    repo.write("src/retry.py", "not committed\n")
    context = await publish_here(other, repo, files_touched=["src/retry.py"])
    repo.write("src/retry.py", committed)
    assert ">1 of 1 differs here<" in await screen.get("/")

    (link,) = await find_diffs(screen, context)
    page = html.unescape(await screen.get(link))

    assert "Nothing differs from" in page
    assert "If a teammate's version differs, it was not committed when it was published" in page
    assert "teammate" not in await screen.get(link.removesuffix("&from=coordination"))


async def test_a_file_that_is_not_here_leads_back_too(screen: Screen, repo: Repo, other: Scope):
    """Without a basis it is not known whether a file is here."""
    fields = {"title": "t", "summary": "s", "repo": REPO, "files_touched": ["src/none.py"]}
    context = (await exchange.publish_context(other, fields)).result
    (link,) = await find_diffs(screen, context)

    answer = await screen.client.get(link, headers=PAGE)

    assert answer.status_code == 404
    assert 'href="/coordination" aria-current="page"' in answer.text
    assert "Back to Coordination" in answer.text


async def test_an_applet_leads_back_to_no_other_address(screen: Screen, repo: Repo):
    path = f"/?applet=git-diff&path={repo.folder}/src/retry.py"

    for given in ("//example.com", "workstreams", ""):
        page = await screen.get(f"{path}&from={given}")
        assert 'href="/workstreams" aria-current="page"' in page
        assert "example.com" not in page


async def test_pages_that_are_open_at_once_do_not_wait_for_each_other(team: Team):
    await team.publish("dev-a", **FULL, task_ids=[ids.new_id()])

    pages = await asyncio.gather(*(show(team, "dev-b", PIECE) for _ in range(10)))

    assert len({without_moment(page) for page in pages}) == 1
