"""What was asked for last: read to its end, and what stands behind one that says little.

"Yes" or "go on" is about what was said before. So the request that it goes on with is looked for,
and the beginning of the answer that the session was left with.
"""

from __future__ import annotations

from holdfast.bundles.model import LastAnswer, LastRequest
from holdfast.ground.frozen import dataclass, replace
from holdfast.ground.text import find_space
from holdfast.sessions.requests import has_substance, name_speaker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.sessions.model import Session, SessionEvent
    from holdfast.sessions.service import SessionService

    IsPast = Callable[[Session], bool]

REQUEST_CHARS = 4_000
END_CHARS = 2_000  # of a longer one; together more than a bundle has room for
REQUESTS_BEFORE = 10  # of each session, among which one of substance is looked for
EVENTS_AT_END, ANSWER_CHARS = 40, 400


def make_request(event: SessionEvent | None, to: str = "") -> LastRequest | None:
    if event is None:
        return None
    return LastRequest(
        text=event.content,
        source=f"event {event.id}",
        said_at=event.happened_at,
        to=to,
        session_id=event.session_id,
        event_id=event.id,
    )


@dataclass(frozen=True)
class RequestReader:
    sessions: SessionService

    async def read_end(self, request: LastRequest | None) -> LastRequest | None:
        """With its end where only its beginning was read."""
        if request is None or len(request.text) < REQUEST_CHARS:
            return request
        whole = (await self.sessions.get_event(request.event_id)).content
        if len(whole) <= REQUEST_CHARS + END_CHARS:
            return replace(request, text=whole)
        end_at = find_space(whole, len(whole) - END_CHARS)  # half a secret would not be masked
        return replace(request, end=whole[end_at:], end_at=end_at)

    async def find_before(
        self, request: LastRequest | None, place: str | None, is_past: IsPast, *, is_lost: bool
    ) -> LastRequest | None:
        """The last one of substance before one that has none, in its session or an older one.

        A session that has lost its conversation has also lost what it was told of the one before.
        """
        if request is None or (has_substance(request.text) and not is_lost):
            return None
        found = None
        if not is_lost:
            found = await self._find_of_substance(request.session_id, request)
        if found or place is None:
            return found
        for session in filter(is_past, await self.sessions.list_active_sessions(place)):
            found = await self._find_of_substance(session.id, request)
            if found:
                return found
        return None

    async def _find_of_substance(self, session_id: str, request: LastRequest) -> LastRequest | None:
        listed = await self.sessions.list_requests(session_id, REQUESTS_BEFORE, REQUEST_CHARS)
        before = [event for event in listed if event.happened_at < request.said_at]
        of_substance = [event for event in before if has_substance(event.content)]
        return await self.read_end(make_request(next(iter(of_substance), None)))

    async def find_answer(
        self, request: LastRequest | None, own_id: str | None
    ) -> LastAnswer | None:
        """The last answer to a request without substance, where its session was left with one.

        Of the requesting session's own each new answer would make its bytes other ones.
        """
        if request is None or has_substance(request.text) or request.session_id == own_id:
            return None
        events: list[SessionEvent] = []
        for session_id in await self._list_from(request.session_id, own_id):
            events += await self.sessions.list_turn_events(
                session_id, max_events=EVENTS_AT_END, max_chars=ANSWER_CHARS
            )
        own = [event for event in events if not name_speaker(event.type, event.role, event.parts)]
        if not own or own[-1].type != "model_message":
            return None
        return LastAnswer(own[-1].content, f"event {own[-1].id}", own[-1].happened_at)

    async def _list_from(self, session_id: str, own_id: str | None) -> list[str]:
        """A session, and what was linked to it: an answer may come after the end of its session."""
        thread = [session.id for session in await self.sessions.list_thread(session_id)]
        since = thread[thread.index(session_id) :]
        return since[: since.index(own_id)] if own_id in since else since
