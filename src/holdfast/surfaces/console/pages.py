"""The addresses of the console: each parses its request, asks for one thing, fills one template.

Whole pages come first, then the pieces that a page asks for later. An error becomes a page for a
person and a problem document for a script. Files are read and large pages are rendered on a thread,
so that other requests are answered meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from datetime import tzinfo
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.routing import Match
from starlette.types import Scope

from holdfast.errors import HoldfastError, InvalidValueError
from holdfast.ground import clock
from holdfast.ground.errors import FileChangedError
from holdfast.ground.frozen import dataclass
from holdfast.sessions.errors import EventNotFoundError
from holdfast.surfaces.console import applet, diff, links, screens, showing, texts
from holdfast.surfaces.console.conversation_pages import add_conversations
from holdfast.surfaces.console.coordination_pages import add_coordination, show_coordination
from holdfast.surfaces.console.here import Console, ConsoleHere, find_console
from holdfast.surfaces.console.shell import ZONE_COOKIE
from holdfast.surfaces.console.work_pages import add_work
from holdfast.surfaces.http import bodies, problems
from holdfast.surfaces.http.guard import is_person
from holdfast.surfaces.http.scopes import ScopedRoute
from holdfast.usecases.exchange import is_exchange_on

# A text of the largest file, with every character of it escaped.
BODY_BYTES = 8 * applet.MOST_BYTES
NOTHING = "No page has this address. It may have been typed wrongly, or be of another version."
FILES = "/static/"  # answered by the file server, also with "not found"
# Beyond what any of these may be; only to stop reading.
LABEL = 100
Below = Annotated[str | None, Query(max_length=LABEL)]
Number = Annotated[int | None, Query(ge=1, lt=1 << 31)]


def make_console() -> APIRouter:
    """The router of the console. Each request is answered for the developer who asks."""
    router = APIRouter(route_class=ConsoleRoute, include_in_schema=False)
    _add_pages(router)
    _add_events(router)
    _add_lists(router)
    _add_session_pieces(router)
    _add_applet(router)
    add_coordination(router)
    add_conversations(router)
    add_work(router)
    _add_nothing(router)
    return router


class ConsoleRoute(ScopedRoute):
    """An error becomes a page of ours; for a script it is a problem document."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def answer(request: Request) -> Response:
            try:
                return await handle(request)
            except RequestValidationError as error:
                problem: HoldfastError = _make_invalid_value(error)
            except HoldfastError as error:
                if request.method not in bodies.READS:
                    return problems.describe_error(error)
                problem = error
            console = find_console(request)
            strip = await console.load_strip()
            return console.shell.render_problem(request, problem, **strip)

        return answer


def _make_invalid_value(error: RequestValidationError) -> InvalidValueError:
    first = error.errors()[0]
    name = str(first["loc"][-1])
    return InvalidValueError(name, first.get("input"), "is not what this address takes")


def find_zone(request: Request) -> tzinfo | None:
    return showing.find_zone(request.cookies.get(ZONE_COOKIE))


# --- pages ----------------------------------------------------------------------------------------


def _add_pages(router: APIRouter) -> None:
    @router.get("/")
    async def show_home(request: Request, console: ConsoleHere, older: Below = None) -> Response:
        """An applet that the address names, or the landing page: the team's, where there is one."""
        if "applet" in request.query_params:
            return await show_applet(console, request)
        if older is None and await is_exchange_on(console.app):
            return await show_coordination(console, request)
        return await show_sessions(request, console, older)

    @router.get("/sessions")
    async def show_sessions(
        request: Request, console: ConsoleHere, older: Below = None
    ) -> Response:
        """The list, and beside it the newest session of the page."""
        found = await screens.load_list(
            console.sessions, find_zone(request), older, busy=console.find_busy()
        )
        values: dict[str, Any] = {"list": found, "older": older, "is_list": True}
        listed = [row.session for day in found.days for row in day.rows]
        if listed:
            newest = listed[0]
            values |= await console.load_detail(newest, None)
            values["selected"] = newest.id
        else:
            values |= {"session": None, "selected": ""}
        values |= await console.load_prices()
        strip = await console.load_strip()
        return console.shell.render("sessions.html", request, **values, **strip)

    @router.get("/sessions/{session_id}")
    async def show_session(
        request: Request,
        console: ConsoleHere,
        session_id: str,
        below: Number = None,
        at: Number = None,
        older: Below = None,
    ) -> Response:
        """The newest turns, those below a number, or those that end with the turn of an event."""
        session = await console.sessions.get_session(session_id)
        if at is not None:
            below = await screens.find_page_end(console.sessions, session.id, at)
        found = await screens.load_list(
            console.sessions, find_zone(request), older, busy=console.find_busy()
        )
        values: dict[str, Any] = {"list": found, "older": older, "is_list": False}
        values |= await console.load_detail(session, below)
        values["selected"] = session.id
        values |= await console.load_prices()
        strip = await console.load_strip()
        return console.shell.render("sessions.html", request, **values, **strip)


def _add_events(router: APIRouter) -> None:
    @router.get("/console/sessions/{session_id}/events/{sequence}")
    async def show_event(
        request: Request, console: ConsoleHere, session_id: str, sequence: int
    ) -> Response:
        """One event in full."""
        before = max(sequence, 1) - 1
        event = await anext(console.sessions.read_events(session_id, before), None)
        if event is None or event.sequence != sequence:
            raise EventNotFoundError(sequence)
        strip = await console.load_strip()
        values: dict[str, Any] = {"event": event, "session_id": session_id, **strip}
        return await asyncio.to_thread(console.shell.render, "event.html", request, **values)


async def show_applet(console: Console, request: Request) -> Response:
    query = request.query_params
    slug = query["applet"]
    path = query.get("path", "")
    session_id = await console.find_session_id(query.get("session", ""))
    strip = await console.load_strip()
    way_back = _find_way_back(query.get("from"))
    values: dict[str, Any] = {"slug": slug, "path": path, "session_id": session_id, **strip}
    values |= way_back
    if slug not in (links.EDITOR, links.DIFF):
        return console.shell.render("unknown_applet.html", request, 404, **values)
    show = _show_diff if slug == links.DIFF else _show_file
    try:
        return await asyncio.to_thread(show, console, request, path, values)
    except HoldfastError as error:  # here, where it is known which session to go back to
        return console.shell.render_problem(
            request, error, session_id=session_id, **way_back, **strip
        )


def _find_way_back(given: str | None) -> dict[str, Any]:
    """To the screen that an applet was opened from; its links lead on with it."""
    came_from = given if given == links.COORDINATION else None
    return {
        "came_from": came_from,
        "editor_link": partial(links.editor_link, came_from=came_from),
        "diff_link": partial(links.diff_link, came_from=came_from),
        "line_link": partial(links.line_link, came_from=came_from),
    }


def _show_file(console: Console, request: Request, path: str, values: dict[str, Any]) -> Response:
    """Read and written out on a thread: others are answered meanwhile, however long the file is."""
    line = _parse_line(request.query_params.get("line", ""))
    file = applet.open_file(console.roots, path)
    if file.text is None:
        return console.shell.render(
            "editor.html", request, file=file, unseen=0, view=None, **values
        )
    values |= {"file": file, "unseen": showing.count_unseen(file.text.text)}
    if request.query_params.get("edit"):
        return console.shell.render("editor_edit.html", request, **values)
    view = texts.make_view(file.text.lines, line)
    return console.shell.render("editor.html", request, view=view, **values)


def _show_diff(console: Console, request: Request, path: str, values: dict[str, Any]) -> Response:
    since = request.query_params.get("since") or None
    found = diff.open_diff(console.roots, path, since)
    template = "diff.html"
    if isinstance(found, diff.FolderDiff):
        template = "folder_diff.html"
    return console.shell.render(template, request, diff=found, **values)


def _parse_line(given: str) -> int:
    """The first line for anything that is not a line number."""
    if links.LINE.fullmatch(given):
        return int(given)
    return 1


# --- pieces that a page asks for later ------------------------------------------------------------


def _add_lists(router: APIRouter) -> None:
    @router.get("/console/strip")
    async def show_strip(request: Request, console: ConsoleHere) -> Response:
        strip = await console.load_strip()
        return console.shell.render("_strip.html", request, **strip)

    @router.get("/console/sessions")
    async def show_list(
        request: Request,
        console: ConsoleHere,
        older: Below = None,
        selected: Annotated[str, Query(max_length=LABEL)] = "",
        count: Annotated[int, Query(ge=1)] = screens.SESSIONS_PER_PAGE,
    ) -> Response:
        """More of the list, or all that is shown of it once more."""
        limit = min(count, screens.MOST_SESSIONS)
        found = await screens.load_list(
            console.sessions, find_zone(request), older, limit, busy=console.find_busy()
        )
        return console.shell.render(
            "_list.html", request, list=found, older=older, selected=selected
        )


def _add_session_pieces(router: APIRouter) -> None:
    @router.get("/console/sessions/{session_id}/head")
    async def show_head(request: Request, console: ConsoleHere, session_id: str) -> Response:
        session = await console.sessions.get_session(session_id)
        row = await screens.load_row(console.sessions, session, clock.now(), console.find_busy())
        command = await screens.find_command(console.sessions, session)
        values: dict[str, Any] = {"session": session, "row": row, "command": command}
        return console.shell.render("_head.html", request, is_alone=True, **values)

    @router.get("/console/sessions/{session_id}/card")
    async def show_card(request: Request, console: ConsoleHere, session_id: str) -> Response:
        session = await console.sessions.get_session(session_id)
        card = await console.load_card(session)
        return console.shell.render("_card.html", request, **card)

    @router.get("/console/sessions/{session_id}/turns")
    async def show_turns(
        request: Request, console: ConsoleHere, session_id: str, below: Number = None
    ) -> Response:
        session = await console.sessions.get_session(session_id)
        timeline = await screens.load_timeline(console.sessions, session.id, below)
        return console.shell.render("_turns.html", request, session=session, timeline=timeline)

    @router.get("/console/sessions/{session_id}/tail")
    async def show_tail(
        request: Request,
        console: ConsoleHere,
        session_id: str,
        after: Annotated[int, Query(ge=0)] = 0,
    ) -> Response:
        """What was added since; 204 if nothing was."""
        session = await console.sessions.get_session(session_id)
        if session.last_sequence == after and session.ended_at is None:
            return Response(status_code=204)
        detail = await console.load_detail(session, None)
        turns = detail["timeline"].turns
        if turns and turns[-1].first > after + 1:
            # More than a page was added, so the browser has to load the page again.
            return Response(headers={"HX-Refresh": "true"})
        return console.shell.render("_tail.html", request, after=after, **detail)


# --- the applet's file ----------------------------------------------------------------------------


def _add_applet(router: APIRouter) -> None:
    @router.put("/console/applet/file")
    async def save_file(request: Request, console: ConsoleHere) -> Response:
        edit = await _parse_edit(request)
        try:
            copy = await asyncio.to_thread(
                applet.save_file, console.roots, edit.path, edit.text, edit.base_hash
            )
        except FileChangedError as error:
            current = await asyncio.to_thread(applet.current_hash, console.roots, edit.path)
            return problems.describe_error(error, current_hash=current)
        return JSONResponse({"hash": copy.hash, "bytes": len(copy.data)})


@dataclass(frozen=True)
class FileEdit:
    """What the editor sends: a new text, and the hash of the text that was shown."""

    path: str
    text: str
    base_hash: str


async def _parse_edit(request: Request) -> FileEdit:
    """A JSON object of three texts, sent as JSON: a foreign form cannot send that."""
    bodies.check_media_type(request.headers.getlist("content-type"))
    raw = await bodies.read_body(request, BODY_BYTES)
    body = bodies.parse(raw)
    if not isinstance(body, dict):
        raise InvalidValueError("body", type(body).__name__, "is not a JSON object")
    for key in ("path", "text", "base_hash"):
        value = body.get(key)
        if not isinstance(value, str):
            raise InvalidValueError(key, value, "is not a text")
    return FileEdit(body["path"], body["text"], body["base_hash"])


# --- nothing there --------------------------------------------------------------------------------


def _add_nothing(router: APIRouter) -> None:
    """Last: a person at an unknown address gets a page with a way back, a program a document."""

    class LastRoute(ScopedRoute):
        def matches(self, scope: Scope) -> tuple[Match, Scope]:
            if _is_person(scope):
                return super().matches(scope)
            return (Match.NONE, {})

    async def show_nothing(request: Request, console: ConsoleHere) -> Response:
        words = {"title": "There is nothing here", "message": NOTHING, "advice": ()}
        strip = await console.load_strip()
        return console.shell.render("message.html", request, 404, **words, **strip)

    router.add_api_route(
        "/{path:path}", show_nothing, methods=["GET"], route_class_override=LastRoute
    )


def _is_person(scope: Scope) -> bool:
    """Whether a browser opens it as a page of the console."""
    return is_person(scope) and not scope["path"].startswith(FILES)
