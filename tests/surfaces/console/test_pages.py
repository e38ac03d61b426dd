"""The pages as a program reads them: on both engines, without a browser."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from holdfast.app import App
from holdfast.errors import StoreBusyError
from holdfast.ground.settings import load_settings
from holdfast.sessions import changing
from holdfast.sessions.model import Session
from holdfast.sessions.service import SessionService
from holdfast.storage.processes import Processes
from holdfast.surfaces.console import STATIC, screens, stock, texts
from holdfast.surfaces.console.shell import RAIL
from holdfast.surfaces.http import bodies
from holdfast.usecases import observing
from tests.surfaces.console.serving import serve_console
from tests.surfaces.console.story import (
    EventFields,
    make_edit,
    make_request,
    make_run,
    make_todos,
)
from tests.surfaces.http.server import is_problem

NOBODY = "01890000-0000-7000-8000-000000000000"


class Pages:
    """A browser that runs no script."""

    def __init__(self, app: App, client: httpx.AsyncClient, root: Path):
        self.app, self.client, self.root = app, client, root

    @property
    def sessions(self) -> SessionService:
        return self.app.scope.sessions

    async def get(self, path: str, status: int = 200) -> str:
        answer = await self.client.get(path)
        assert answer.status_code == status, answer.text
        assert answer.headers.get("cache-control") == "no-store" or status == 204
        return answer.text

    async def started(self, turns: int = 1, events_per_turn: int = 3) -> Session:
        session = await self.sessions.create_session(
            "architect", "u1", git_branch="main", client="codex"
        )
        for turn in range(turns):
            events: list[dict[str, Any]] = [
                {"type": "user_message", "role": "user", "content": f"request {turn}"}
            ]
            events += [
                {
                    "type": "tool_result",
                    "role": "tool",
                    "content": f"output {turn}.{n}",
                    "parts": {"tool": "Read"},
                }
                for n in range(events_per_turn - 1)
            ]
            await self.sessions.append_events(session.id, events)
        return session


@pytest.fixture
def database_url(sqlite_url: str) -> str:
    """A page reads through the services, which are tested on both engines."""
    return sqlite_url


@pytest.fixture
async def pages(database_url: str, workspace: str, tmp_path: Path) -> AsyncIterator[Pages]:
    store = {"HOLDFAST_DATABASE": database_url, "HOLDFAST_WORKSPACE": workspace}
    settings = load_settings({"HOLDFAST_HOME": str(tmp_path / "home"), "HOME": "/", **store})
    (tmp_path / "root").mkdir()
    async with App(settings, folder=str(tmp_path / "root")) as app:
        transport = httpx.ASGITransport(serve_console(app, [str(tmp_path / "root")]))
        async with httpx.AsyncClient(transport=transport, base_url="http://console") as client:
            yield Pages(app, client, tmp_path / "root")


# --- the list -------------------------------------------------------------------------------------


async def test_an_empty_store_says_what_to_do(pages: Pages):
    page = await pages.get("/")

    assert "No sessions yet" in page
    assert "holdfast session start" in page


async def test_the_list_pages_through_any_number_of_sessions(pages: Pages):
    """Each page reads what it shows and one more; every session is on exactly one of them."""
    names = [f"session {number}" for number in range(120)]
    for name in names:
        await pages.sessions.create_session("architect", "u1", name=name)

    found: list[str] = []
    link: str | None = "/console/sessions"
    while link:
        page = await pages.get(link)
        found += re.findall(r">(session \d+)<", page)
        more = re.search(r'hx-get="(/console/sessions\?older=[^"]+)"', page)
        link = more[1].replace("&amp;", "&") if more else None

    assert found == names[::-1]
    first = await pages.get("/")
    assert first.count('class="session"') == screens.SESSIONS_PER_PAGE
    assert first.count('<h2 class="day">Today') == 1


async def test_a_page_that_goes_on_in_a_day_does_not_name_it_again(pages: Pages):
    for number in range(3):
        await pages.sessions.create_session("architect", "u1", name=f"session {number}")
    [last, *_] = [session.id for session in await pages.sessions.list_sessions()]

    assert "Today" not in await pages.get(f"/console/sessions?older={last}")


async def test_a_session_without_a_name_is_called_by_its_first_words(pages: Pages):
    await pages.started()

    assert re.search(r'class="title unnamed"[^>]*>request 0<', await pages.get("/"))


async def test_a_session_of_few_events_has_no_picture(pages: Pages):
    """It would be a block, which looks like a picture that is missing."""
    short = await pages.started(turns=1)
    page = await pages.get(f"/sessions/{short.id}")
    assert "<b>3</b> events" in page
    assert "<polygon" not in page

    long = await pages.started(turns=2)
    page = await pages.get(f"/sessions/{long.id}")
    assert ('class="spark"' in page, 'class="activity"' in page) == (True, True)


async def test_a_session_is_shown_beside_the_page_of_the_list_that_it_was_on(pages: Pages):
    sessions = [
        await pages.sessions.create_session("architect", "u1", name=f"session {n}")
        for n in range(4)
    ]
    page = await pages.get(f"/sessions/{sessions[0].id}?older={sessions[2].id}")

    assert re.findall(r'class="title"[^>]*>(session \d)<', page) == ["session 1", "session 0"]
    assert f'href="/sessions/{sessions[1].id}?older={sessions[2].id}"' in page
    assert 'href="/sessions">Newest sessions' in page


async def test_sessions_that_continue_one_another_say_which_part_they_are(pages: Pages):
    """They bear one name; a session that stands alone says nothing."""
    first = await pages.sessions.create_session("architect", "u1", name="one line of work")
    await pages.sessions.create_session("architect", "u1", name="alone")
    for _ in range(2):
        await pages.sessions.end_session(first.id)
        first = await pages.sessions.resume_session(first.id)

    page = await pages.get("/console/sessions")

    shown = re.findall(
        r'class="title"[^>]*>([^<]+)<.*?</time>(?: <span class="part">([^<]+)<)?', page, re.DOTALL
    )
    assert sorted(shown) == [
        ("alone", ""),
        *[("one line of work", f"part {n} of 3") for n in (1, 2, 3)],
    ]


async def test_a_resumed_session_without_events_leads_to_the_one_it_continues(pages: Pages):
    first = await pages.started()
    await pages.sessions.end_session(first.id)
    resumed = await pages.sessions.resume_session(first.id)

    page = await pages.get(f"/sessions/{resumed.id}")

    assert f'It continues <a href="/sessions/{first.id}">an earlier session</a>.' in page


# --- one session ----------------------------------------------------------------------------------


async def test_a_session_shows_its_last_turns_and_a_way_to_the_earlier_ones(pages: Pages):
    session = await pages.started(turns=50)

    page = await pages.get(f"/sessions/{session.id}")
    assert re.findall(r'class="text">(request \d+)<', page) == [
        f"request {n}" for n in range(49, 29, -1)
    ]
    earlier = await pages.get(f"/sessions/{session.id}?below=91")
    assert re.findall(r'class="text">(request \d+)<', earlier) == [
        f"request {n}" for n in range(29, 9, -1)
    ]
    assert "Newest turns" in earlier
    more = await pages.get(f"/console/sessions/{session.id}/turns?below=31")
    assert "request 9<" in more
    assert "request 0<" in more
    assert "Earlier turns" not in more


async def test_a_turn_that_is_longer_than_a_page_is_read_in_pieces(pages: Pages):
    session = await pages.started(turns=1, events_per_turn=screens.EVENTS_PER_PAGE + 50)

    page = await pages.get(f"/sessions/{session.id}")
    assert "The end of a longer turn." in page
    assert page.count('class="step"') == screens.EVENTS_PER_PAGE
    rest = await pages.get(f"/console/sessions/{session.id}/turns?below=51")
    assert "request 0" in rest
    assert rest.count('class="step"') == 49


async def test_the_tail_brings_what_has_come_since_and_otherwise_nothing(pages: Pages):
    session = await pages.started(turns=2)
    await pages.get(f"/console/sessions/{session.id}/tail?after=6", 204)
    await pages.sessions.append_event(session.id, "model_message", "assistant", "grown")
    await pages.sessions.append_event(session.id, "user_message", "user", "a new one")

    tail = await pages.get(f"/console/sessions/{session.id}/tail?after=6")

    assert re.findall(r'id="turn-(\d+)"', tail) == ["8", "4"]
    assert f"/console/sessions/{session.id}/tail?after=8" in tail
    assert 'id="figures"' in tail
    assert "hx-swap-oob" in tail


async def test_the_tail_ends_with_the_session(pages: Pages):
    session = await pages.started()
    await pages.sessions.end_session(session.id)

    tail = await pages.get(f"/console/sessions/{session.id}/tail?after=3")

    assert "hx-trigger" not in tail.partition('id="head"')[0]
    assert 'class="ending ended"' in tail


async def test_a_session_that_was_left_is_shown_as_in_the_document(pages: Pages):
    """Its client was killed, or has ended it with a request that was not answered."""
    for native_id in ("n-1", "n-2"):
        session = await pages.sessions.create_session("c", "u1", client="c", native_id=native_id)
        await pages.sessions.append_event(session.id, "user_message", "user", "Make it pass.")
    await pages.sessions.end_session(session.id)
    processes = Processes(pages.app.settings.home)
    processes.register("gone_1.1.1", {"client": "c", "native_id": "n-1"})

    shown = await pages.get("/console/sessions")
    head = await pages.get(f"/console/sessions/{session.id}/head")

    assert re.search(r">cut off \d\d:\d\d</span>", shown)
    assert "<span>last request unanswered</span>" in shown
    assert "ended, last request unanswered</span>" in head


async def test_a_reader_more_than_a_page_behind_reloads_the_page(pages: Pages):
    session = await pages.started(turns=1, events_per_turn=screens.EVENTS_PER_PAGE + 50)

    answer = await pages.client.get(f"/console/sessions/{session.id}/tail?after=10")

    assert answer.headers["hx-refresh"] == "true"


async def test_a_long_text_is_cut_on_the_page_and_whole_on_its_own(pages: Pages):
    session = await pages.sessions.create_session("architect", "u1")
    await pages.sessions.append_event(
        session.id, "user_message", "user", "start " + "x" * 10_000 + " end"
    )
    parts = {"tool": "Write", "input": {"file_path": "/r/a.py", "content": "y" * 100_000 + " last"}}
    await pages.sessions.append_event(session.id, "tool_result", "tool", "z" * 3000, parts)

    page = await pages.get(f"/sessions/{session.id}")
    assert len(page) < 30_000
    assert "a.py" in page
    assert f"/console/sessions/{session.id}/events/1" in page
    assert " end<" in await pages.get(f"/console/sessions/{session.id}/events/1")
    assert " last" in await pages.get(f"/console/sessions/{session.id}/events/2")


async def test_a_turn_shows_its_subagents_and_what_no_person_typed(pages: Pages):
    agent = {"agent_id": "a1", "agent": "Explore<b>"}
    session = await pages.sessions.create_session("claude", "u1", client="claude")
    await pages.sessions.append_events(
        session.id,
        [
            {"type": "user_message", "role": "user", "content": "find the callers"},
            {"type": "user_message", "role": "user", "content": "look in src", "parts": agent},
            {
                "type": "tool_result",
                "role": "tool",
                "content": "Exit code: 0",
                "parts": {"tool": "Bash", "input": {"command": "grep -rn x"}, **agent},
            },
            {
                "type": "system_event",
                "role": "system",
                "content": "Summary: all of it",
                "parts": {"compaction": "auto"},
            },
            {
                "type": "user_message",
                "role": "user",
                "content": "<task-notification><summary>a task has ended</summary>",
                "parts": {"origin": "task-notification"},
            },
        ],
    )

    page = await pages.get(f"/sessions/{session.id}")

    requests = re.findall(r'<div class="request[^"]*">\s*<div class="text">([^<]+)<', page)
    assert requests == ["a task has ended", "find the callers"]
    assert page.count("via agent Explore&lt;b&gt;") == 1
    assert '<span class="kind">told</span> look in src' in page
    assert "The context window was summarised here (auto)" in page
    assert "client, not typed by a person: task-notification" in page


async def test_a_turn_that_was_taken_back_says_so(pages: Pages):
    session = await pages.started(2)
    first, *_ = [event async for event in pages.sessions.read_events(session.id)]
    await changing.mark_rewound(pages.sessions.store, session.id, [first.id], is_rewound=True)

    page = await pages.get(f"/sessions/{session.id}")

    assert page.count("taken back") == 1
    assert '<article class="turn rewound" id="turn-1">' in page


async def test_an_erased_event_says_so(pages: Pages):
    session = await pages.sessions.create_session("architect", "u1")
    for kind, role in (("user_message", "user"), ("tool_result", "tool")):
        event = await pages.sessions.append_event(session.id, kind, role, "a secret")
        await pages.sessions.forget_events([event.id])

    for path in (f"/sessions/{session.id}", f"/console/sessions/{session.id}/events/2"):
        page = await pages.get(path)
        assert "Erased" in page
        assert "a secret" not in page


# --- what code has seen, on the card --------------------------------------------------------------


async def test_the_card_shows_what_code_has_seen_and_leads_to_its_turns(pages: Pages):
    session = await pages.sessions.create_session("claude", "u1", worktree=str(pages.root))
    events = [
        make_request("No Redis: ops will not run another one."),
        make_run("pytest -q tests/a.py", "FAILED tests/a.py::t - assert 9 == 8\n1 failed", 1),
        make_run("ruff check src", "All checks passed!"),
        make_run("pytest -q tests/b.py | tail -3", "12 passed"),
        make_edit(str(pages.root / "a.py")),
        make_todos(done="completed", first="pending", second="in_progress"),
        make_run("git commit -qm one", "[main 1234567] Give up after 8"),
    ]
    await pages.sessions.append_events(session.id, events)

    page = await pages.get(f"/sessions/{session.id}")

    seen = page.partition('id="seen"')[2].partition('id="figures"')[0]
    assert re.findall(r'class="verdict (\w+)"', seen) == ["failed", "unknown", "passed"]
    assert "<span>FAILED tests/a.py::t - assert 9 == 8</span>" in seen
    assert "end not known: " in seen
    assert re.search(r'class="changed" title="a.py">changed since: <code>a.py</code></p>', seen)
    assert "“No Redis: ops will not run another one.”" in seen
    assert "<b>2 open</b>, 1 done" in seen
    assert re.findall(r'<span class="text">(\w+)<', seen) == ["second", "first"]
    assert f'{pages.root}/a.py">a.py</a> <span class="note">missing</span>' in seen
    assert "1234567 Give up after 8</a>" in seen
    sources = re.findall(r'class="source" id="[^"]+" href="([^"]+)"', seen)
    parts = ["step-2", "step-4", "step-3", "turn-1", "step-6", "step-5", "step-7"]
    assert sources == [f"/sessions/{session.id}?at={part[-1]}#{part}" for part in parts]
    for source in sources:
        address, _, anchor = source.partition("#")
        assert f'id="{anchor}"' in await pages.get(address)


async def test_of_each_kind_a_few_are_shown_and_the_rest_unfolds(pages: Pages):
    session = await pages.sessions.create_session("claude", "u1")
    said = [make_request(f"Do not touch module_{number}.py") for number in range(10)]
    await pages.sessions.append_events(session.id, said)

    card = await pages.get(f"/console/sessions/{session.id}/card")

    shown, fold, rest = card.partition('<details class="rest" id="seen-more-said">')
    assert fold
    assert re.findall(r"“Do not touch module_(\d)", shown) == ["9", "8", "7"]
    assert "+7 more" in rest
    assert rest.count("“Do not touch ") == 7


async def test_a_card_without_anything_seen_has_no_headings(pages: Pages):
    session = await pages.started()

    card = await pages.get(f"/console/sessions/{session.id}/card")

    assert "<dt>" not in card
    assert "Nothing yet." in card
    await pages.sessions.append_event(session.id, **as_fields(make_run("make test", "no", 2)))
    assert "Nothing yet." not in await pages.get(f"/console/sessions/{session.id}/card")


async def test_the_card_follows_the_session_with_the_tail(pages: Pages):
    session = await pages.started(turns=2)
    await pages.get(f"/sessions/{session.id}")
    await pages.sessions.append_event(session.id, **as_fields(make_run("make test", "no", 2)))

    tail = await pages.get(f"/console/sessions/{session.id}/tail?after=6")

    seen = tail.partition('<div class="seen" id="seen" aria-live="off" hx-swap-oob="true">')[2]
    assert "<code>make test</code>" in seen


async def test_what_was_taken_back_or_erased_leaves_the_card(pages: Pages):
    session = await pages.sessions.create_session("claude", "u1")
    for text in ("Use 4 workers only.", "Keep 90 days of history."):
        await pages.sessions.append_event(session.id, **as_fields(make_request(text)))
    first, second = [event async for event in pages.sessions.read_events(session.id)]
    address = f"/console/sessions/{session.id}/card"
    assert (await pages.get(address)).count("“") == 2

    await changing.mark_rewound(pages.sessions.store, session.id, [first.id], is_rewound=True)
    assert re.findall(r"“([^”]+)”", await pages.get(address)) == ["Keep 90 days of history."]
    await pages.sessions.forget_events([second.id])
    assert "“" not in await pages.get(address)


async def test_a_page_at_an_event_shows_its_whole_turn(pages: Pages):
    """The turns after it are left out; of a turn that is longer than a page, what follows it."""
    session = await pages.started(turns=50)

    page = await pages.get(f"/sessions/{session.id}?at=50")
    assert re.findall(r'id="turn-(\d+)"', page)[:2] == ["49", "46"]
    assert ('id="step-51"' in page, "Newest turns" in page) == (True, True)
    newest = await pages.get(f"/sessions/{session.id}?at=149")
    assert ('id="turn-148"' in newest, "Newest turns" in newest) == (True, False)
    await pages.get(f"/sessions/{session.id}?at=100000")

    long = await pages.started(turns=1, events_per_turn=1000)
    page = await pages.get(f"/sessions/{long.id}?at=500")
    steps = re.findall(r'id="step-(\d+)"', page)
    assert (steps[0], len(steps)) == ("500", screens.EVENTS_PER_PAGE)


async def test_the_card_reads_no_more_of_a_long_session_than_of_a_short_one(
    pages: Pages, monkeypatch: pytest.MonkeyPatch
):
    """At first the newest events, then what came since."""
    monkeypatch.setattr(observing, "EVENTS_IN_A_LOOK", 50)
    read: list[int] = []
    list_events = SessionService.list_events

    async def count(self: SessionService, *asked: Any) -> Any:
        events = await list_events(self, *asked)
        read.append(len(events))
        return events

    monkeypatch.setattr(SessionService, "list_events", count)
    for turns in (30, 300):
        session = await pages.started(turns=turns)
        read.clear()
        await pages.get(f"/sessions/{session.id}")
        assert sum(read) == 50
        await pages.get(f"/sessions/{session.id}")
        assert sum(read) == 50
        await pages.sessions.append_event(session.id, "user_message", "user", "more")
        await pages.get(f"/sessions/{session.id}")
        assert sum(read) == 51


def as_fields(event: EventFields) -> EventFields:
    return {"event_type": event["type"], **{k: v for k, v in event.items() if k != "type"}}


# --- the strip ------------------------------------------------------------------------------------


async def test_the_strip_shows_the_accounts(pages: Pages):
    await pages.started(turns=5)

    strip = re.sub(r"<[^>]+>", "", await pages.get("/console/strip"))

    assert " ".join(strip.split()) == "stored 15 · spooled 0 · lost 0"


async def test_the_strip_says_that_only_the_newest_sessions_are_counted(
    pages: Pages, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("holdfast.app.SESSIONS_COUNTED", 1)
    for _ in range(2):
        await pages.started(turns=5)

    strip = await pages.get("/console/strip")

    assert '<span title="in the newest 1 sessions">stored <b>15+</b></span>' in strip


async def test_the_accounts_are_counted_once_for_many_pages(
    pages: Pages, monkeypatch: pytest.MonkeyPatch
):
    counted = []

    async def count() -> Any:
        counted.append(1)
        return object()

    monkeypatch.setattr(pages.app, "take_stock", count)
    kept = stock.Stock(pages.app)
    assert await kept.read() is await kept.read()
    assert len(counted) == 1
    kept._until = 0.0
    await kept.read()
    assert len(counted) == 2


# --- what goes wrong ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (f"/sessions/{NOBODY}", 404),
        ("/sessions/nonsense", 404),
        ("/sessions?older=nonsense", 404),
        (f"/console/sessions/{NOBODY}/card", 404),
        (f"/console/sessions/{NOBODY}/head", 404),
        (f"/console/sessions/{NOBODY}/turns", 404),
        (f"/console/sessions/{NOBODY}/tail", 404),
        (f"/console/sessions/{NOBODY}/events/1", 404),
        ("/?applet=board&path=/r", 404),
        ("/?applet=git-diff", 422),
        ("/?applet=git-diff&path=/etc/passwd", 422),
        ("/?applet=git-diff&path=missing.txt", 404),
        ("/workstreams?phase=other", 400),
        ("/workstreams?limit=x", 400),
        ("/?applet=text-editor", 422),
        ("/?applet=text-editor&path=/etc/passwd", 422),
        ("/?applet=text-editor&path=missing.txt", 404),
        ("/sessions?older=" + "x" * 200, 400),
        (f"/sessions/{NOBODY}?below=x", 400),
        (f"/sessions/{NOBODY}?below=0", 400),
        ("/console/sessions?count=0", 400),
    ],
)
async def test_an_error_is_a_page_inside_the_layout(pages: Pages, path: str, status: int):
    page = await pages.get(path, status)

    assert 'class="rail"' in page
    assert "Traceback" not in page


@pytest.mark.parametrize("applet", ["text-editor", "git-diff"])
async def test_the_page_of_a_missing_file_leads_back_to_its_session(pages: Pages, applet: str):
    session = await pages.started()
    address = f"/?applet={applet}&path=missing.txt"

    page = await pages.get(f"{address}&session={session.id}", 404)

    assert f'href="/sessions/{session.id}">Back to the session</a>' in page
    assert "Back to the session" not in await pages.get(address, 404)


async def test_an_event_that_is_not_in_the_session_is_not_found(pages: Pages):
    session = await pages.started()

    for number in (0, 4, -1, 10**30):
        await pages.get(
            f"/console/sessions/{session.id}/events/{number}", 404 if number < 10 else 400
        )


async def test_an_unavailable_store_is_reported_with_what_to_do(
    pages: Pages, monkeypatch: pytest.MonkeyPatch
):
    async def busy(*_: object) -> None:
        raise StoreBusyError("holdfast.db")

    monkeypatch.setattr(SessionService, "list_sessions", busy)
    monkeypatch.setattr(pages.app, "take_stock", busy)

    page = await pages.get("/", 503)

    assert "The store is not available" in page
    assert "Try again" in page
    assert "cannot be counted" in page


# --- the applet -----------------------------------------------------------------------------------


async def put_file(
    pages: Pages, body: Any, content_type: str = "application/json"
) -> httpx.Response:
    content = json.dumps(body).encode() if isinstance(body, dict) else body
    return await pages.client.put(
        "/console/applet/file", content=content, headers={"content-type": content_type}
    )


async def test_a_file_is_saved_and_a_conflict_names_the_other_version(pages: Pages):
    path = pages.root / "a.txt"
    path.write_text("one")
    page = await pages.get(f"/?applet=text-editor&path={path}&edit=1")
    [base] = re.findall(r'data-hash="(\w+)"', page)

    saved = await put_file(pages, {"path": str(path), "text": "two", "base_hash": base})
    assert (saved.status_code, path.read_text()) == (200, "two")

    stale = await put_file(pages, {"path": str(path), "text": "three", "base_hash": base})
    assert is_problem(stale, 409, "file_changed")
    assert path.read_text() == "two"
    again = await put_file(
        pages, {"path": str(path), "text": "three", "base_hash": stale.json()["current_hash"]}
    )
    assert (again.status_code, path.read_text()) == (200, "three")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"\xff",
        b"[" * 100_000,
        {"path": "a.txt"},
        {"path": 1, "text": "", "base_hash": ""},
        {"path": "a.txt", "text": None, "base_hash": ""},
    ],
    ids=lambda body: repr(body)[:24],
)
async def test_a_body_that_is_not_a_file_is_refused(pages: Pages, body: Any):
    answer = await put_file(pages, body)

    assert is_problem(answer, 400, "invalid_value")


async def test_a_form_or_too_much_or_what_never_ends_is_refused(
    pages: Pages, monkeypatch: pytest.MonkeyPatch
):
    """As at every other door, and as a problem document."""
    assert is_problem(await put_file(pages, {}, "text/plain"), 415)
    assert is_problem(await put_file(pages, {}, "application/json; charset=latin-1"), 415)
    assert is_problem(await put_file(pages, b" " * (9 << 20)), 413)
    monkeypatch.setattr(bodies, "BODY_SECONDS", 0.01)
    assert is_problem(await put_file(pages, drip()), 408)


async def drip() -> AsyncIterator[bytes]:
    yield b"{"
    await asyncio.Event().wait()


@pytest.mark.parametrize("path", ["/etc/hostname", "../x", "a/../../x", "", "\x00"])
async def test_a_file_outside_the_root_is_not_written(pages: Pages, path: str):
    answer = await put_file(pages, {"path": path, "text": "owned", "base_hash": "x"})

    assert is_problem(answer, 422, "path_outside")


async def test_a_binary_file_says_what_it_is(pages: Pages):
    (pages.root / "a.bin").write_bytes(b"\0\1")

    page = await pages.get(f"/?applet=text-editor&path={pages.root}/a.bin&edit=1")

    assert "This is not a text file" in page
    assert "<textarea" not in page


async def test_a_file_has_lines_to_point_at(pages: Pages):
    (pages.root / "a.txt").write_text("one\ntw\u202eo\n")

    page = await pages.get(f"/?applet=text-editor&path={pages.root}/a.txt")

    assert re.findall(r'<div id="(L\d+)">', page) == ["L1", "L2"]
    assert "1 character in this file is invisible" in page


@pytest.mark.unmeasured
async def test_a_page_of_a_long_file_costs_as_much_as_one_of_a_short_file(pages: Pages):
    """From a page's worth of lines on, ten times or fifty times as many change neither its elements
    nor its bytes.
    """
    (pages.root / "a.txt").write_text("line\n" * texts.LINES_SHOWN)
    (pages.root / "b.txt").write_text("line\n" * 100_000)

    short = await pages.get(f"/?applet=text-editor&path={pages.root}/a.txt")
    for line in ("", "&line=50000", "&line=100000", "&line=9999999", "&line=0", "&line=x"):
        long = await pages.get(f"/?applet=text-editor&path={pages.root}/b.txt{line}")
        assert long.count('<div id="L') == short.count('<div id="L') == texts.LINES_SHOWN
        assert len(long) < 1.1 * len(short)
    assert "not shown" not in short


# --- the house ------------------------------------------------------------------------------------


def test_pages_carry_nothing_inline():
    """No script, no style, no handler in a template: the policy would stop it, and a filter that is
    switched off is how a stored text would get in.
    """
    for path in (Path(STATIC).parent / "templates").glob("*.html"):
        text = path.read_text()
        assert not re.search(
            r"<script(?![^>]*src=)|<style|\sstyle=|\son\w+=|\|\s*safe|autoescape|javascript:", text
        ), path


def test_own_scripts_build_no_markup():
    for path in Path(STATIC).glob("*.js"):
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|new Function",
            path.read_text(),
        )


def test_third_party_files_are_stored_with_their_licence():
    vendored = {path.name for path in (Path(STATIC) / "vendor").iterdir()}

    assert vendored == {"htmx-2.0.11.min.js", "htmx.LICENSE.txt"}


def test_a_screen_joins_with_one_entry():
    assert [entry.name for entry in RAIL] == [
        *("Coordination", "Sessions"),
        *("Conversations", "Workstreams"),
    ]
