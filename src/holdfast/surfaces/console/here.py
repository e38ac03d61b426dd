"""What the addresses of the console share, for one developer: the store as this one sees it, and
the files of the machine where they are this one's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import Depends, Request

from holdfast.app import App
from holdfast.errors import HoldfastError
from holdfast.ground import clock
from holdfast.ground.bounded_map import BoundedMap
from holdfast.ground.confined import ConfinedRoot
from holdfast.ground.frozen import dataclass
from holdfast.sessions.errors import SessionNotFoundError
from holdfast.sessions.model import Session
from holdfast.sessions.service import SessionService
from holdfast.surfaces.console import prices, screens
from holdfast.surfaces.console.card import make_card
from holdfast.surfaces.console.proving import Prover
from holdfast.surfaces.console.seen_view import make_seen_view
from holdfast.surfaces.console.shell import Shell
from holdfast.surfaces.console.stock import Stock
from holdfast.surfaces.http.principal import Principal, get_principal
from holdfast.usecases.conversation_index import ConversationIndex
from holdfast.usecases.observing import observe
from holdfast.usecases.session_status import Busy, find_busy

MOST_DEVELOPERS = 200  # whose counts and pages are kept at once


@dataclass(frozen=True)
class Console:
    """For the developer that `app` acts for."""

    app: App
    roots: tuple[ConfinedRoot, ...]
    shell: Shell
    stock: Stock
    prover: Prover
    conversations: ConversationIndex

    @property
    def sessions(self) -> SessionService:
        return self.app.scope.sessions

    async def load_strip(self) -> dict[str, Any]:
        """A page is shown even if the accounts cannot be read; then the strip says so."""
        if not self.shell.has_stock:
            return {"stock": None}
        try:
            return {"stock": await self.stock.read()}
        except HoldfastError:
            return {"stock": None}

    async def load_prices(self) -> dict[str, Any]:
        return {"prices": await asyncio.to_thread(prices.load_prices, self.app)}

    async def find_session_id(self, session_id: str) -> str | None:
        """None for an unknown session: an applet opens without a session too."""
        try:
            session = await self.app.scope.sessions.get_session(session_id)
        except SessionNotFoundError:
            return None
        return session.id

    def find_busy(self) -> Busy:
        return find_busy(self.app.settings.home)

    async def load_detail(self, session: Session, below: int | None) -> dict[str, Any]:
        sessions = self.app.scope.sessions
        row, command, timeline, figures, card = await asyncio.gather(
            screens.load_row(sessions, session, clock.now(), self.find_busy()),
            screens.find_command(sessions, session),
            screens.load_timeline(sessions, session.id, below),
            screens.load_figures(sessions, session),
            self.load_card(session),
        )
        return {
            "row": row,
            "command": command,
            "timeline": timeline,
            "figures": figures,
            "is_latest": below is None,
            **card,
        }

    async def load_card(self, session: Session) -> dict[str, Any]:
        """What the session is reminded of, and what code has seen in it."""
        [digest] = await observe(self.app.scope.sessions, [session])
        card = await asyncio.to_thread(make_card, session, self.roots)
        seen = await asyncio.to_thread(make_seen_view, session, digest, self.roots)
        return {"session": session, "card": card, "seen": seen}


class Consoles:
    """That of the developer of this machine, and those of others, who have no files here."""

    def __init__(self, app: App, roots: Sequence[str]):
        confined = tuple(ConfinedRoot(root) for root in roots)
        self._at_home = _make_console(app, confined)
        self._others: BoundedMap[str, Console] = BoundedMap(MOST_DEVELOPERS)

    def find(self, principal: Principal) -> Console:
        if principal.app.is_at_home:
            return self._at_home
        known = self._others.find(principal.developer_id)
        if known is None:
            known = _make_console(principal.app, ())
            self._others.keep(principal.developer_id, known)
        return known


def _make_console(app: App, roots: tuple[ConfinedRoot, ...]) -> Console:
    return Console(
        app=app,
        roots=roots,
        shell=Shell(app),
        stock=Stock(app),
        prover=Prover(app.settings),
        conversations=ConversationIndex(app),
    )


def find_console(request: Request) -> Console:
    consoles: Consoles = request.app.state.consoles
    return consoles.find(get_principal(request))


async def get_console(request: Request) -> Console:
    return find_console(request)


ConsoleHere = Annotated[Console, Depends(get_console)]
