"""For whom a request is: the developer of this machine, or one with a token of a workspace.

Whoever can read the file of the data folder is the developer of the settings and may do everything.
Everybody else brings a token that the store knows, and gets an app that acts for its developer:
the same store, and nothing of this machine.
"""

from __future__ import annotations

from starlette.requests import HTTPConnection

from holdfast.app import App
from holdfast.errors import HoldfastError, hide_place
from holdfast.ground.frozen import dataclass
from holdfast.ground.settings import owner_of
from holdfast.identity.model import Token
from holdfast.identity.rules import PREFIX
from holdfast.identity.scopes import SCOPES, has_scope
from holdfast.surfaces.http.token import Keys


@dataclass(frozen=True)
class Principal:
    """Who asks; `app` acts for that developer."""

    app: App
    token: Token | None = None  # none for the developer of this machine
    key: str = ""  # what was in the file then

    @property
    def developer_id(self) -> str:
        return self.app.settings.owner.developer_id

    @property
    def scopes(self) -> tuple[str, ...]:
        return SCOPES if self.token is None else self.token.scopes

    def may(self, scope: str) -> bool:
        return has_scope(self.scopes, scope)


class Principals:
    """Finds out who asks: by a token, or by the cookie of a browser."""

    def __init__(self, app: App, keys: Keys):
        self.app, self.keys = app, keys

    async def find_by_token(self, text: str) -> Principal | None:
        if text.startswith(PREFIX):
            return await self._authenticate(text)
        if self.keys.is_token(text):
            return self._at_home()
        return None

    async def find_by_cookie(self, value: str) -> Principal | None:
        """A browser keeps what follows from the file, or a token of its own."""
        if value.startswith(PREFIX):
            return await self._authenticate(value)
        if self.keys.is_cookie(value):
            return self._at_home()
        return None

    async def is_live(self, principal: Principal) -> bool:
        """Whether what admitted a stream still counts."""
        if principal.token is None:
            return self.keys.token == principal.key
        identity = principal.app.scope.identity
        return await identity.find_live_token(principal.token.id) is not None

    def _at_home(self) -> Principal:
        return Principal(self.app, key=self.keys.token)

    async def _authenticate(self, text: str) -> Principal | None:
        token = await self.app.scope.identity.authenticate(text)
        if token is None:
            return None
        owner = owner_of(self.app.settings.workspace, token.handle)
        return Principal(self.app.acting_for(owner), token)


def get_principal(connection: HTTPConnection) -> Principal:
    """The guard has put it there; what is public has none."""
    principal: Principal = connection.state.principal
    return principal


def hide_from(connection: HTTPConnection, error: HoldfastError) -> HoldfastError:
    """What this caller may read of it: only the developer of this machine where a file on it is
    the store is told of places on it.
    """
    principal: Principal | None = getattr(connection.state, "principal", None)
    if principal is not None and principal.app.has_own_file:
        return error
    hidden = hide_place(error)
    assert isinstance(hidden, HoldfastError)
    return hidden
