"""The addresses of the coordination screen: what the team works on, and when one last looked.

Opening the page is one call of the exchange, and so is opening a context; the refreshes of a page
that is open are not counted. Changes are made by the addresses that programs use.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from holdfast.errors import HoldfastError, InvalidValueError
from holdfast.ground import clock, git
from holdfast.surfaces.console import coordination_view, looks, showing
from holdfast.surfaces.console.coordination_view import Asked, HereNow
from holdfast.surfaces.console.here import Console, ConsoleHere
from holdfast.surfaces.http import bodies
from holdfast.team.errors import ContextNotFoundError
from holdfast.team.model import PublishedContext, TeamState
from holdfast.usecases import exchange
from holdfast.usecases.exchange_place import compare_with
from holdfast.usecases.uncommitted import Checkout

if TYPE_CHECKING:
    from holdfast.workstreams.model import JudgedClaim

LABEL = 400  # beyond what a repository or a handle may be called; only to stop reading
OPENED = 200
BODY_BYTES = 20_000
Label = Annotated[str, Query(max_length=LABEL)]
Ids = Annotated[tuple[Annotated[str, Query(max_length=100)], ...], Query(max_length=OPENED)]


def add_coordination(router: APIRouter) -> None:
    _add_page(router)
    _add_pieces(router)
    _add_looks(router)


def _add_page(router: APIRouter) -> None:
    @router.get("/coordination")
    async def show_screen(
        request: Request,
        console: ConsoleHere,
        repo: Label = "",
        person: Label = "",
        opened: Ids = (),
    ) -> Response:
        return await show_coordination(console, request, Asked(repo, person, tuple(opened)))


async def show_coordination(
    console: Console, request: Request, asked: Asked | None = None
) -> Response:
    """Also the landing page, where the exchange is on; who works alone is told what it is for."""
    strip = await console.load_strip()
    worktree = console.app.served_worktree or ""
    if not await exchange.is_exchange_on(console.app):
        return console.shell.render(
            "coordination.html", request, view=None, worktree=worktree, **strip
        )
    state = await exchange.get_state(console.app.scope)
    values = await _load_view(console, state, asked or Asked())
    return await asyncio.to_thread(
        console.shell.render, "coordination.html", request, worktree=worktree, **values, **strip
    )


def _add_pieces(router: APIRouter) -> None:
    @router.get("/console/coordination")
    async def show_team(
        request: Request,
        console: ConsoleHere,
        repo: Label = "",
        person: Label = "",
        opened: Ids = (),
        seen: Annotated[str, Query(max_length=20)] = "",
    ) -> Response:
        """All of it as it is now; nothing at all where nothing has changed."""
        if not await exchange.is_exchange_on(console.app):
            return Response(headers={"HX-Refresh": "true"})
        state = await exchange.get_state_again(console.app.scope)
        values = await _load_view(console, state, Asked(repo, person, tuple(opened)))
        if await asyncio.to_thread(lambda: values["view"].mark) == seen:
            return Response(status_code=204)
        return await asyncio.to_thread(console.shell.render, "_team.html", request, **values)

    @router.get("/console/coordination/contexts/{developer_id}/{context_id}")
    async def show_context(
        request: Request, console: ConsoleHere, developer_id: str, context_id: str
    ) -> Response:
        """What one context says: a call of its own, as when an agent reads it."""
        found = await exchange.get_contexts(console.app.scope, developer_id)
        chosen = [each for each in found if each.id == context_id]
        if not chosen:
            raise ContextNotFoundError(context_id)
        me = await console.app.scope.team.get_me()
        here = await asyncio.to_thread(
            look_here, console.app.served_worktree, chosen, (context_id,), ()
        )
        shown = coordination_view.show_context(
            chosen[0], me, here, looks.Look(), (context_id,), clock.now()
        )
        return console.shell.render("_context.html", request, shown=shown)


async def _load_view(console: Console, state: TeamState, asked: Asked) -> dict[str, Any]:
    app = console.app
    now = clock.now()
    activity = await app.scope.own_team.count_events_by_hour(coordination_view.HOURS)
    stale = await _find_stale(console)
    here = await asyncio.to_thread(
        look_here, app.served_worktree, state.published_contexts, asked.opened, stale
    )
    look = await asyncio.to_thread(looks.find_look, app.settings)
    view = await asyncio.to_thread(
        coordination_view.make_view, state, activity, here, look, asked, now
    )
    return {
        "view": view,
        "how": coordination_view.HOW,
        "people_shown": coordination_view.PEOPLE_SHOWN,
        "claims_shown": coordination_view.CLAIMS_SHOWN,
        "looked_now": now,
    }


async def _find_stale(console: Console) -> Sequence[JudgedClaim]:
    """Nothing where there is no working tree, or where notes are off."""
    try:
        judged = await console.app.served_work().load("implementation")
    except HoldfastError:
        return ()
    return judged.claims


def look_here(
    worktree: str | None,
    contexts: Sequence[PublishedContext],
    opened: Iterable[str],
    stale: Sequence[JudgedClaim],
) -> HereNow:
    """The checkout and how these contexts compare with it; read on a thread."""
    if worktree is None:
        return HereNow()
    checkout = Checkout.read(worktree)
    shown = set(opened)
    bases = [each.basis for each in contexts if each.id in shown]
    heads = {basis.head for basis in bases if basis and basis.head}
    return HereNow(
        worktree=worktree,
        repo=checkout.repo,
        uncommitted=checkout.uncommitted,
        freshness=compare_with(worktree, contexts),
        commits=_find_commits(worktree, heads),
        stale=stale,
    )


def _find_commits(worktree: str, heads: Iterable[str]) -> frozenset[str]:
    try:
        repository = git.find_repository(worktree)
        if repository is None:
            return frozenset()
        return frozenset(head for head in heads if git.has_commit(repository, head))
    except HoldfastError:
        return frozenset()


# --- looks ----------------------------------------------------------------------------------------


def _add_looks(router: APIRouter) -> None:
    @router.post("/console/coordination/looked")
    async def note_look(request: Request, console: ConsoleHere) -> Response:
        """A page that was looked at is left: from now on what it showed is not new any more."""
        bodies.check_media_type(request.headers.getlist("content-type"))
        raw = await bodies.read_body(request, BODY_BYTES)
        body = bodies.parse(raw)
        given = body if isinstance(body, dict) else {}
        at = showing.as_moment(given.get("at"))
        if at is None:
            raise InvalidValueError("at", given.get("at"), "is not a time")
        seen = given.get("seen")
        if not isinstance(seen, list) or not all(_is_key(key) for key in seen):
            raise InvalidValueError("seen", seen, "is not a list of keys")
        await asyncio.to_thread(looks.keep_look, console.app.settings, at, seen)
        return Response(status_code=204)


def _is_key(value: object) -> bool:
    return isinstance(value, str) and len(value) == looks.KEY_CHARS
