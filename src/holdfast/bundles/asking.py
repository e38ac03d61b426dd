"""What was asked for last: read to its end, and the conversation around it.

A request alone seldom says where the work stands. Its answer does, and a question at the end of
that. "Yes" or "2" is about the message before it, and about the request that it goes on with.
"""

from __future__ import annotations

from holdfast.bundles.model import LastAnswer, LastRequest
from holdfast.ground.frozen import dataclass, replace
from holdfast.ground.text import find_space
from holdfast.sessions.requests import has_substance, name_speaker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from holdfast.sessions.model import Session, SessionEvent
    from holdfast.sessions.service import SessionService

    IsPast = Callable[[Session], bool]

REQUEST_CHARS = 4_000
END_CHARS = 2_000  # of a longer one; together more than a bundle has room for
REQUESTS_BEFORE = 10  # of each session, among which one of substance is looked for
EVENTS_AT_END, ANSWER_CHARS = 40, 1_200
EVENTS_AT_WORK = 1_000  # since the agent's last words, where it was at work
EARLIER, EARLIER_CHARS = 6, 400  # requests before the last one, a line each
MESSAGE = "model_message"
NOTE = "system_event"  # of the client, such as a compaction: what was said before it stands


def make_request(event: SessionEvent | None, to: str = "") -> LastRequest | None:
    return _make_request(event, to) if event else None


def _make_request(event: SessionEvent, to: str, branch: str = "") -> LastRequest:
    return LastRequest(
        text=event.content,
        source=f"event {event.id}",
        said_at=event.happened_at,
        to=to,
        branch=branch,
        session_id=event.session_id,
        event_id=event.id,
        sequence=event.sequence,
    )


@dataclass(frozen=True)
class RequestReader:
    """Reads what was said in a place; `is_past` tells which sessions the caller continues."""

    sessions: SessionService
    place: str | None
    is_past: IsPast

    async def read_end(self, request: LastRequest | None) -> LastRequest | None:
        """With its end where only its beginning was read."""
        if request is None or len(request.text) < REQUEST_CHARS:
            return request
        whole = (await self.sessions.get_event(request.event_id)).content
        if len(whole) <= REQUEST_CHARS + END_CHARS:
            return replace(request, text=whole)
        end_at = find_space(whole, len(whole) - END_CHARS)  # half a secret would not be masked
        return replace(request, end=whole[end_at:], end_at=end_at)

    async def find_before(self, request: LastRequest | None) -> LastRequest | None:
        """The last one of substance before one that has none, in its session or an older one."""
        if request is None or has_substance(request.text):
            return None
        async for earlier in self._read_before(request, REQUESTS_BEFORE, REQUEST_CHARS):
            if has_substance(earlier.text):
                return await self.read_end(replace(earlier, to="", branch=""))
        return None

    async def list_earlier(
        self, request: LastRequest | None, before: LastRequest | None
    ) -> tuple[LastRequest, ...]:
        """The requests before the last one, without the one that is quoted whole.

        Those that say little alone come last.
        """
        if request is None:
            return ()
        found: list[LastRequest] = []
        async for earlier in self._read_before(request, EARLIER, EARLIER_CHARS):
            if not (before and before.event_id == earlier.event_id):
                found.append(earlier)
            if len(found) == EARLIER:
                break
        return tuple(sorted(found, key=lambda each: not has_substance(each.text)))

    async def _read_before(
        self, request: LastRequest, limit: int, max_chars: int
    ) -> AsyncIterator[LastRequest]:
        """Of its own session, then of the others of this place, each from the newest on: first of
        those that began on the same branch. What was said in another one says to whom.
        """
        places = {request.session_id: ("", "")}
        if self.place is not None:
            active = await self.sessions.list_active_sessions(self.place)
            branches = {session.id: session.git_branch for session in active}
            branch = branches.get(request.session_id)
            active.sort(key=lambda session: session.git_branch != branch)
            for session in filter(self.is_past, active):
                place = session.client or session.chatmode, session.git_branch or ""
                places.setdefault(session.id, place)
        for session_id, (to, branch) in places.items():
            for event in await self.sessions.list_requests(session_id, limit, max_chars):
                if event.happened_at < request.said_at and event.id != request.event_id:
                    yield _make_request(event, to, branch)

    async def find_question(
        self, request: LastRequest | None, before: LastRequest | None
    ) -> LastAnswer | None:
        """The message that one without substance replies to: in its session, else where that left
        off which it goes on with.
        """
        if request is None or has_substance(request.text):
            return None
        found = await self._find_message(request.session_id, request.sequence)
        if found or before is None or before.session_id == request.session_id:
            return found
        return await self._find_message(before.session_id)

    async def find_answer(
        self, request: LastRequest | None, own_id: str | None
    ) -> LastAnswer | None:
        """To the last request; where there is none yet, what the agent said on its way to it."""
        if request is None:
            return None
        found = await self._find_words(request.session_id, after=request.sequence)
        for session_id in await self._list_continuations(request.session_id, own_id):
            found = await self._find_words(session_id) or found
        return found

    async def _list_continuations(self, session_id: str, own_id: str | None) -> list[str]:
        """What was linked to a session: an answer may come after the end of its session."""
        thread = [session.id for session in await self.sessions.list_thread(session_id)]
        since = thread[thread.index(session_id) + 1 :]
        return since[: since.index(own_id)] if own_id in since else since

    async def _find_message(self, session_id: str, below: int | None = None) -> LastAnswer | None:
        """The agent's own last words there; None where it was at work, or had not begun."""
        last = next(iter(await self._list_newest(session_id, EVENTS_AT_END, below)), None)
        if last is None or last.type != MESSAGE:
            return None
        return await self._read_answer(last)

    async def _find_words(self, session_id: str, *, after: int = 0) -> LastAnswer | None:
        """The agent's own last words there; a turn that was cut off may have gone on since."""
        for limit in (EVENTS_AT_END, EVENTS_AT_WORK):
            newest = await self._list_newest(session_id, limit)
            said = [each for each in newest if each.type == MESSAGE and each.sequence > after]
            if said:
                return await self._read_answer(said[0], is_answer=said[0] is newest[0])
        return None

    async def _list_newest(
        self, session_id: str, limit: int, below: int | None = None
    ) -> list[SessionEvent]:
        """The newest first, without what a subagent and the client say, and what is only noted.

        By when they happened: an answer may be stored before what its transcript has of the work.
        """
        events = await self.sessions.list_turn_events(
            session_id, below, max_events=limit, max_chars=0
        )
        own = [event for event in events if not name_speaker(event.type, event.role, event.parts)]
        own.sort(key=lambda event: event.happened_at)
        return [event for event in reversed(own) if event.type != NOTE]

    async def _read_answer(self, message: SessionEvent, *, is_answer: bool = True) -> LastAnswer:
        """`is_answer`: nothing was done after it was said."""
        whole = (await self.sessions.get_event(message.id)).content
        start = max(0, len(whole) - ANSWER_CHARS)
        at = find_space(whole, start) if start else 0
        source = f"event {message.id}"
        return LastAnswer(whole[at:], source, message.happened_at, at, is_answer=is_answer)
