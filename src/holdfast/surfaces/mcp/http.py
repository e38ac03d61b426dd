"""MCP over streamable HTTP, for the HTTP door to mount at `/mcp`.

The door in front has checked the caller, its origin and its rate; here are only the two protocol
eras. A transport session belongs to the developer who opened it: to all others its id is unknown,
because an id is a name and not a right.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings

from holdfast.surfaces.mcp.server import MOST_CONNECTIONS, assume_exists, make_server

if TYPE_CHECKING:
    from collections.abc import Awaitable, MutableMapping

    from holdfast.surfaces.mcp.server import AppFor, CheckScope

    Scope = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
    Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

BODY_BYTES = 4 << 20
IDLE_SECONDS = 1800.0


class McpOverHttp:
    """An ASGI app that answers while `running()` is entered, which happens once.

    door = McpOverHttp(app_for, principal_of=lambda scope: scope["state"]["principal"].developer_id)
    async with door.running():      # in the lifespan of the application
        routes = [Route("/mcp", endpoint=door)]
    """

    def __init__(
        self,
        app_for: AppFor,
        *,
        principal_of: Callable[[Scope], str | None] = lambda scope: None,
        body_bytes: int = BODY_BYTES,
        exists: Callable[[str], bool] = assume_exists,
        folder: str | None = None,
        check_scope: CheckScope | None = None,
        hides_places: bool = True,
    ):
        """`folder` is the checkout that the server was started for, if it is one person's;
        `check_scope` raises where a request may not do what it asks for.
        """
        self.principal_of = principal_of
        self._manager = StreamableHTTPSessionManager(
            make_server(
                app_for,
                folder=folder,
                exists=exists,
                check_scope=check_scope,
                hides_places=hides_places,
            ),
            # no tool speaks before it answers, so a stream would carry one message
            json_response=True,
            security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
            session_idle_timeout=IDLE_SECONDS,
            max_request_body_size=body_bytes,
            max_sessions=MOST_CONNECTIONS,
        )

    def running(self) -> AbstractAsyncContextManager[None]:
        return self._manager.run()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        principal = self.principal_of(scope)
        if principal:
            token = AccessToken(token="", client_id=principal, scopes=[])
            scope = {**scope, "user": AuthenticatedUser(token)}
        await self._manager.asgi_app(scope, receive, _reply_429_when_full(send))


def _reply_429_when_full(send: Send) -> Send:
    """The library's only 503 means too many connections: the caller may wait and try again."""

    async def send_checked(message: MutableMapping[str, Any]) -> None:
        if message.get("status") == 503:
            headers = [*message["headers"], (b"retry-after", b"1")]
            message = {**message, "status": 429, "headers": headers}
        await send(message)

    return send_checked
