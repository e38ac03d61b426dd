"""What a token may do; pure decisions.

A scope is checked where a call comes in, and never widened on the way: what a token grants has at
most its own scopes.
"""

from __future__ import annotations

from holdfast.errors import InvalidValueError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

READ, PUBLISH = "context:read", "context:publish"
WRITE, ADMIN = "events:write", "admin"
SCOPES = (READ, PUBLISH, WRITE, ADMIN)
USUAL_SCOPES = (READ, PUBLISH, WRITE)


def check_scopes(given: Iterable[object]) -> tuple[str, ...]:
    """In their own order and once each; the usual ones where none are given."""
    wanted = list(given)
    for scope in wanted:
        if scope not in SCOPES:
            raise InvalidValueError("scope", scope, "is unknown", known=SCOPES)
    return tuple(scope for scope in SCOPES if scope in wanted) or USUAL_SCOPES


def has_scope(scopes: Collection[str], needed: str) -> bool:
    return needed in scopes or ADMIN in scopes


def limit_scopes(wanted: Iterable[str], own: Collection[str]) -> tuple[str, ...]:
    """What a token with scopes of its own may pass on."""
    return tuple(scope for scope in wanted if has_scope(own, scope))
