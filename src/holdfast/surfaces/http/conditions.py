"""`If-Match`: change the version that the caller has seen, or nothing.

A session's tag is its revision and whether it ended; a scratchpad, which changes without it, has a
tag of its own. Weak tags and those that were never ours are well formed and match nothing.
"""

from __future__ import annotations

import json
import re

from starlette.requests import Request

from holdfast.errors import InvalidValueError
from holdfast.ground import canonical
from holdfast.ground.frozen import dataclass
from holdfast.ground.patterns import compile_later
from holdfast.scope import Scope
from holdfast.sessions.errors import RevisionConflictError
from holdfast.sessions.model import Session, SessionState

TAG_CHARS = 16
_TAG = r'(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"'
_TAGS = compile_later(rf"{_TAG}(?:[ \t]*,[ \t]*{_TAG})*")


@dataclass(frozen=True)
class Condition:
    given: str
    tags: frozenset[str] | None  # None: any will do

    async def check(self, scope: Scope, session_id: str) -> None:
        """To be called in the transaction that changes the session."""
        session = await scope.sessions.lock_session(session_id)
        self._match(session, session_tag(session))

    async def check_state(self, scope: Scope, session_id: str) -> None:
        """The same for its scratchpad; the session's own tag will do as well."""
        # An empty update changes nothing, and locks the scratchpad until the transaction ends.
        state = await scope.sessions.update_state(session_id, {})
        session = await scope.sessions.lock_session(session_id)
        self._match(session, state_tag(state), session_tag(session))

    def _match(self, session: Session, current: str, *others: str) -> None:
        if self.tags is None:
            return
        if self.tags.isdisjoint((current, *others)):
            raise RevisionConflictError(session.id, self.given, current)


def session_tag(session: Session) -> str:
    """Ending a session is a change that has no revision of its own."""
    ended = "-ended" if session.ended_at else ""
    return f'"{session.revision}{ended}"'


def state_tag(state: SessionState) -> str:
    text = json.dumps(state.scratchpad, sort_keys=True)
    digest = canonical.sha256(text.encode()).hex()
    return f'"s-{digest[:TAG_CHARS]}"'


def parse_tags(given: str) -> Condition:
    if given == "*":
        return Condition(given, None)
    if not _TAGS.fullmatch(given):
        raise InvalidValueError("If-Match", given, 'is not a list of tags such as "3"')
    return Condition(given, frozenset(re.findall(_TAG, given)))


def find_condition(request: Request) -> Condition | None:
    """All lines of the header are one list."""
    lines = request.headers.getlist("If-Match")
    if not lines:
        return None
    given = ", ".join(lines)
    return parse_tags(given.strip(" \t"))


IF_MATCH = {
    "name": "If-Match",
    "in": "header",
    "required": False,
    "schema": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    "description": 'The `ETag` of what is to be changed, such as `"3"`; several, or `*`',
}
