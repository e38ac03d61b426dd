"""One call of a tool: who calls, with which arguments, and on which session."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, TypeVar

from holdfast.errors import Action
from holdfast.ground.frozen import replace
from holdfast.surfaces.mcp.actions import word_actions
from holdfast.surfaces.mcp.answer import READ_CHARS
from holdfast.usecases import which_session

if TYPE_CHECKING:
    from holdfast.app import App
    from holdfast.scope import Scope
    from holdfast.sessions.model import Session
    from holdfast.usecases.which_session import Caller, SessionChoice
    from holdfast.write import Done, Effect, Request

R = TypeVar("R")

NO_SESSION = (
    "No session is open here. A `session` call with operation `start` and a chatmode begins one.",
)
REPEATED = "This key was used before: nothing was changed again, and this is how it is now."


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
        self.app = app
        self.caller = caller
        self.name = name
        self.arguments = arguments
        self.starting = starting  # two calls at once must not start two sessions
        self.exists = exists

    @property
    def scope(self) -> Scope:
        return self.app.scope

    @property
    def session_id(self) -> object:
        return self.arguments.get("session_id")

    @property
    def wants_detail(self) -> bool:
        return self.arguments.get("detail") is True

    @property
    def read_limit(self) -> int | None:
        """How many characters an answer may have; none with `detail`."""
        return None if self.wants_detail else READ_CHARS

    def pick(self, *names: str) -> dict[str, Any]:
        """Those of the named arguments that were given."""
        given = [name for name in names if name in self.arguments]
        return {name: self.arguments[name] for name in given}

    async def find_session(self) -> SessionChoice:
        return await which_session.find_session(self.scope, self.session_id, self.caller)

    async def find_session_to_read(self) -> SessionChoice:
        """The same; where the caller has none, the newest of its worktree."""
        return await which_session.find_session_to_read(self.scope, self.session_id, self.caller)

    async def describe_read(self, choice: SessionChoice) -> tuple[str, ...]:
        """Whose session was read where the caller has none, and what was before one that has just
        begun.
        """
        session = choice.session
        if session is not None and choice.is_borrowed:
            return (
                (
                    f"You have no session here. This is {await self._describe_other(session)}: "
                    f"the newest in this working tree. {self._describe_write()}"
                ),
            )
        if choice.before is not None:
            return (
                (
                    "Your session has just begun. Before it was "
                    f"{await self._describe_other(choice.before)}: "
                    f"session operation=recent session_id={choice.before.id}"
                ),
            )
        return ()

    def _describe_write(self) -> str:
        if self.caller.own is None and self.caller.native_id is None:
            return "A write needs a session_id."
        return "A write begins one of your own."

    async def _describe_other(self, session: Session) -> str:
        from holdfast.usecases.session_status import find_status

        status = await find_status(self.scope, self.app.settings.home, session)
        client = session.client or which_session.NO_CLIENT
        return f"{session.name or session.id} of {client}, {status.describe()}"

    def make_request(
        self, read_again: Callable[[Scope, str], Awaitable[R]], effect: Effect = "store"
    ) -> Request[R]:
        """What makes two calls the same. Without a session's id the caller is part of it: another
        agent that happens to use the same key is refused, and does not get this caller's answer.
        """
        from holdfast.write import Request

        given = {key: value for key, value in self.arguments.items() if key != "idempotency_key"}
        caller = self.caller.to_list() if self.session_id is None else None
        return Request(
            self.name,
            {"arguments": given, "caller": caller},
            key=self.arguments.get("idempotency_key"),
            target="mcp",
            read_again=read_again,
            effect=effect,
        )

    async def write(
        self,
        verb: Callable[[Scope], Awaitable[R]],
        read_again: Callable[[Scope, str], Awaitable[R]],
        *,
        effect: Effect = "store",
        is_whole: bool = False,
    ) -> Done[R]:
        """`is_whole`: of several verbs, all or none."""
        from holdfast.write import write

        request = replace(self.make_request(read_again, effect), is_whole=is_whole)
        return await write(self.scope, request, verb)

    async def write_in_session(
        self,
        verb: Callable[[Scope, Session], Awaitable[R]],
        read_again: Callable[[Scope, str], Awaitable[R]],
    ) -> tuple[Done[R], SessionChoice]:
        """The same on the caller's session, which is started if there is none."""
        return await which_session.write_in_session(
            self.scope,
            self.make_request(read_again),
            verb,
            session_id=self.session_id,
            caller=self.caller,
            settings=self.app.settings,
            starting=self.starting,
        )


def describe_repeated(done: Done[Any]) -> tuple[str, ...]:
    """For results that go on changing: a repeated request is answered with how it is now."""
    return () if done.is_first else (REPEATED,)


def describe_choice(choice: SessionChoice) -> tuple[str, ...]:
    session = choice.session
    if session is not None and choice.is_anothers:
        client = session.client or which_session.NO_CLIENT
        return (f"This was written into a live session of {client}, not into yours.",)
    return choice.describe("Name another with session_id")


def advise_choice(choice: SessionChoice) -> list[str]:
    """How to continue as one's own what was written into as another's."""
    if choice.session is None or not choice.is_anothers:
        return []
    return word_actions([Action("session.resume", session_id=choice.session.id)])
