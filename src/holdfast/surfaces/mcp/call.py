"""One call of a tool: who calls, with which arguments, on which session, and how often it may be done."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import TYPE_CHECKING, Any, TypeVar

from holdfast.surfaces import which_session

if TYPE_CHECKING:
    from holdfast.app import App
    from holdfast.sessions.model import Session
    from holdfast.sessions.service import SessionService
    from holdfast.storage.database import Database, Transaction
    from holdfast.surfaces.which_session import Caller, Choice

T = TypeVar("T")
Effect = Callable[["SessionService"], Awaitable[T]]
Verb = Callable[["SessionService", "Session"], Awaitable[T]]

NO_SESSION = ("No session is open here yet. A `session` call with operation `start` begins one.",)


class Call:
    def __init__(
        self,
        app: App,
        caller: Caller,
        name: str,
        arguments: dict[str, Any],
        starting: AbstractAsyncContextManager[Any],
        exists: Callable[[str], bool],
    ):
        self.app, self.caller, self.name, self.arguments = app, caller, name, arguments
        self.starting = starting  # two calls at once must not start two sessions
        self.exists = exists

    @property
    def session_id(self) -> object:
        return self.arguments.get("session_id")

    async def find_session(self) -> Choice:
        return await which_session.find_session(self.app.sessions, self.session_id, self.caller)

    async def write(
        self, verb: Verb[T], *, subject: Callable[[T], str], again: Callable[[SessionService, str], Awaitable[T]]
    ) -> tuple[T, bool, Choice]:
        """Do a verb on the session that is meant; one that has to be started is started together with it, or not."""
        choice = await self.find_session()

        async def effect(sessions: SessionService) -> T:
            found = choice.session or await self._found_or_started(sessions)
            return await verb(sessions, found)

        async with nullcontext() if choice.session else self.starting:
            result, is_first = await self.once(effect, subject=subject, again=again, whole=choice.session is None)
        return result, is_first, choice

    async def once(
        self,
        effect: Effect[T],
        *,
        subject: Callable[[T], str],
        again: Callable[[SessionService, str], Awaitable[T]],
        whole: bool = False,
    ) -> tuple[T, bool]:
        """Its result, and whether it was done now: a key that was used before gives what is there, read anew.

        `whole` puts everything that the effect does into one transaction, as a key does.
        """
        key = self.arguments.get("idempotency_key")
        if key is None and not whole:
            return await effect(self.app.sessions), True
        if key is None:
            return await self._in_transaction(effect), True
        results: list[T] = []

        async def keyed(database: Database) -> str:
            results.append(await effect(self._sessions_on(database)))
            return subject(results[-1])

        named, is_first = await self.app.idempotency.do_once(f"mcp.{self.name}", key, self._request(), keyed)
        return (results[-1] if is_first else await again(self.app.sessions, named)), is_first

    async def _in_transaction(self, effect: Effect[T]) -> T:
        from holdfast.storage.in_transaction import InTransaction

        database = self.app.database

        async def work(tx: Transaction) -> T:
            return await effect(self._sessions_on(InTransaction(database.engine, tx)))

        return await database.transaction(work)

    def _sessions_on(self, database: Database) -> SessionService:
        from holdfast.sessions.service import SessionService

        return SessionService(database, owner=self.app.settings.owner)

    async def _found_or_started(self, sessions: SessionService) -> Session:
        """Looked for once more, because somebody may have started one since."""
        choice = await which_session.find_session(sessions, self.session_id, self.caller)
        return choice.session or await which_session.start_session(sessions, self.caller, self.app.settings.developer)

    def _request(self) -> dict[str, Any]:
        """What makes two requests the same. Without a session's id, who calls belongs to it: another agent that hits
        on the same key must be told, and not be given this one's answer."""
        given = {name: value for name, value in self.arguments.items() if name != "idempotency_key"}
        return {"arguments": given, "caller": None if self.session_id is not None else self.caller.to_list()}
