"""What a request to change a session brings beside its body.

Read here and only described to the framework: as its dependency this would take as long as the
write itself.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, TypeVar

from starlette.requests import Request as HttpRequest

from holdfast.ground.frozen import dataclass, replace
from holdfast.scope import Scope
from holdfast.surfaces.http.conditions import IF_MATCH, Condition, find_condition
from holdfast.surfaces.http.here import KEY, find_key, parse_session_id
from holdfast.surfaces.http.principal import get_principal
from holdfast.write import Request

R = TypeVar("R")
ReadAgain = Callable[[Scope, str], Awaitable[R]]

SESSION_ID = {
    "name": "session_id",
    "in": "path",
    "required": True,
    "schema": {"type": "string"},
    "description": "A session's id",
}
PARAMETERS = {"parameters": [SESSION_ID, KEY, IF_MATCH]}


@dataclass(frozen=True)
class SessionChange:
    """Which session, once for which key, and only in which version."""

    scope: Scope
    session_id: str
    key: str | None
    condition: Condition | None

    def ask(self, operation: str, body: Mapping[str, Any], read_again: ReadAgain[R]) -> Request[R]:
        """The condition belongs to what a key stands for."""
        request = Request(
            operation,
            body,
            key=self.key,
            target=f"http {self.session_id}",
            read_again=read_again,
        )
        if self.condition is None:
            return request
        return replace(
            request,
            arguments={**body, "If-Match": self.condition.given},  # no body has such a field
            condition=partial(self.condition.check, session_id=self.session_id),
        )

    def ask_for_state(
        self, operation: str, body: Mapping[str, Any], read_again: ReadAgain[R]
    ) -> Request[R]:
        """The same for its scratchpad, whose own tag will do as well."""
        request = self.ask(operation, body, read_again)
        if self.condition is None:
            return request
        check = partial(self.condition.check_state, session_id=self.session_id)
        return replace(request, condition=check)


def parse_change(request: HttpRequest) -> SessionChange:
    return SessionChange(
        scope=get_principal(request).app.scope,
        session_id=parse_session_id(request.path_params["session_id"]),
        key=find_key(request),
        condition=find_condition(request),
    )
