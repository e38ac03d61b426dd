"""Gather once what a bundle is made of: notes, the session to continue from, memories.

Everything that needs a store or a repository is read here and handed on as one frozen value. What
follows (sections, budget, rendering) is pure, so the same gathered value always gives the same
text. A source that is missing or switched off leaves its part empty: a bundle without memories, or
without notes in the repository, is still useful.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from holdfast.bundles.model import (
    Gathered,
    LastRequest,
    LastSession,
    RecalledMemory,
    WorkingNotes,
)
from holdfast.bundles.scratchpad import read_scratchpad
from holdfast.ground.off_loop import off_loop
from holdfast.ground.text import cut
from holdfast.memories.rules import MIN_RELEVANCE
from holdfast.workstreams.errors import NoRepositoryError, SharedContextOffError

if TYPE_CHECKING:
    from holdfast.sessions.model import Session, SessionEvent
    from holdfast.sessions.service import SessionService
    from holdfast.workstreams.model import JudgedContext

    Load = Callable[[str, str | None], Awaitable[JudgedContext]]
    Recall = Callable[..., Awaitable[Sequence[Any]]]

PATHS_LOOKED_AT = 100
TURNS_GONE_ON = 2
RECALLED = 3  # for each query
NO_RECEIPT = "b-0000"  # as long as the one that takes its place
QUERY_CHARS = 500
REQUEST_CHARS = 4_000
TURN_EVENTS, TURN_BYTES = 1_000, 8 << 20


@dataclass(frozen=True)
class BundleRequest:
    """Which work a bundle is about, for which client, and for which session."""

    phase: str
    workstream_id: str | None = None
    client: str | None = None
    session: Session | None = None
    worktree: str | None = None
    continues: Session | None = None  # the session to continue from, where a caller names it
    has_sets: bool = True

    @property
    def session_id(self) -> str | None:
        if self.session is None:
            return None
        return self.session.id

    @property
    def place(self) -> str | None:
        if self.worktree:
            return self.worktree
        session = self.session or self.continues
        if session is None:
            return None
        return session.worktree


@dataclass(frozen=True)
class Gatherer:
    """`load` is the verb of workstreams, `recall` that of memories."""

    sessions: SessionService
    load: Load
    recall: Recall | None
    rules: tuple[str, ...]
    now: Callable[[], datetime]
    fence_key: bytes = b""

    async def gather(self, wanted: BundleRequest) -> Gathered:
        judged = await self._find_judged(wanted)
        earlier = await self._find_earlier_session(wanted)
        events = await self._list_last_turn(earlier)
        request = _find_last_request(events)
        reminding = await self._find_reminding_session(wanted, earlier)
        notes = await self._read_notes(wanted.session, earlier)
        repo, branch = _name_work(judged, earlier)
        sets = _list_context_sets(reminding)
        paths = [*notes.in_progress, *notes.files, *sets.get("files", ())]
        return Gathered(
            now=self.now(),
            phase=wanted.phase,
            receipt=NO_RECEIPT,
            repo=repo,
            branch=branch,
            client=wanted.client,
            judged=judged,
            rules=self._choose_rules(judged),
            context_sets=sets,
            context_source=_name_session(reminding),
            request=request,
            last_session=_find_last_session(earlier, events),
            notes=notes,
            missing=await off_loop(_list_missing, paths, wanted.place),
            fence_key=self.fence_key,
            recalled=await self._recall(judged, request),
        )

    def _choose_rules(self, judged: JudgedContext | None) -> tuple[str, ...]:
        if judged is None:
            return self.rules
        return judged.rules

    async def _find_judged(self, wanted: BundleRequest) -> JudgedContext | None:
        """None where context in the repository is not agreed to: the bundle is local then."""
        try:
            return await self.load(wanted.phase, wanted.workstream_id)
        except (SharedContextOffError, NoRepositoryError):
            return None

    async def _find_earlier_session(self, wanted: BundleRequest) -> Session | None:
        """The session whose log is continued: the newest in this place that has events.

        The requesting one counts once it has gone on for some turns, of which its client may have
        lost the first; one that has just begun is handed what came before it.
        """
        if wanted.continues:
            return wanted.continues
        session, place = wanted.session, wanted.place
        if not place or (session and await self._has_gone_on(session)):
            return session
        excluded = session.id if session else None
        found = await self.sessions.find_last_session(place, excluded)
        return found or session

    async def _has_gone_on(self, session: Session) -> bool:
        if session.last_sequence < TURNS_GONE_ON:
            return False
        events = await self._list_turns(session, TURNS_GONE_ON)
        requests = [event for event in events if event.type == "user_message"]
        return len(requests) >= TURNS_GONE_ON

    async def _find_reminding_session(
        self, wanted: BundleRequest, earlier: Session | None
    ) -> Session | None:
        """The session whose context sets are shown: its own, the last one's, else the newest."""
        if not wanted.has_sets:
            return None
        for session in (wanted.session, earlier):
            if session and session.context:
                return session
        if not wanted.place or wanted.continues:
            return None
        return await self.sessions.find_session_with_context(wanted.place)

    async def _read_notes(self, own: Session | None, earlier: Session | None) -> WorkingNotes:
        """From the scratchpad of the session itself, else from that of the one before."""
        for session in (own, earlier):
            if session is None:
                continue
            state = await self.sessions.get_state(session.id)
            if state.scratchpad:
                return read_scratchpad(state.scratchpad, f"scratchpad of {session.id}")
        return WorkingNotes()

    async def _list_last_turn(self, session: Session | None) -> list[SessionEvent]:
        if session is None or not session.last_sequence:
            return []
        return await self._list_turns(session, 1)

    async def _list_turns(self, session: Session, turns: int) -> list[SessionEvent]:
        return await self.sessions.list_turn_events(
            session.id,
            max_turns=turns,
            max_events=TURN_EVENTS,
            max_chars=REQUEST_CHARS,
            max_bytes=TURN_BYTES,
        )

    async def _recall(
        self, judged: JudgedContext | None, request: LastRequest | None
    ) -> tuple[RecalledMemory, ...]:
        """About the work, then about the request: one query for both would hide answers."""
        if self.recall is None:
            return ()
        recalled: dict[str, RecalledMemory] = {}
        for query in _list_queries(judged, request):
            for found in await self.recall(query, limit=RECALLED):
                if found.relevance < MIN_RELEVANCE:
                    continue  # it stands in the answer only because another memory is relevant
                # What both queries find stands where the second one finds it.
                first = recalled.pop(found.memory.id, None)
                recalled[found.memory.id] = first or _make_recalled(found)
        return tuple(recalled.values())


def _list_queries(judged: JudgedContext | None, request: LastRequest | None) -> list[str]:
    texts = []
    if judged:
        texts.append(judged.context.fields.feature_request or "")
    if request:
        texts.append(request.text)
    lines = [" ".join(text.split()) for text in texts]
    return [cut(line, QUERY_CHARS) for line in lines if line]


def _name_work(judged: JudgedContext | None, session: Session | None) -> tuple[str, str]:
    if judged:
        key = judged.context.key
        return key.repo, key.branch
    if session:
        return session.repo or "", session.git_branch or ""
    return "", ""


def _list_missing(paths: Sequence[str], place: str | None) -> frozenset[str]:
    """Of paths in this place, or from the root; an address is not looked for."""
    if place is None:
        return frozenset()
    return frozenset(path for path in paths[:PATHS_LOOKED_AT] if _is_missing(path, place))


def _is_missing(path: str, place: str) -> bool:
    name = path.partition("#")[0]
    if not name or "://" in name:
        return False
    try:
        os.lstat(os.path.join(place, name))
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):
        return False
    return False


def _name_session(session: Session | None) -> str:
    if session is None:
        return ""
    return f"session {session.id}"


def _list_context_sets(session: Session | None) -> Mapping[str, Sequence[str]]:
    """Without the applet, which is an offer to a person."""
    if session is None:
        return {}
    return {name: items for name, items in session.context.items() if name != "applet"}


def _find_last_request(events: Sequence[SessionEvent]) -> LastRequest | None:
    requests = [event for event in events if event.type == "user_message" and event.content]
    not_erased = [event for event in requests if event.erased_at is None]
    if not not_erased:
        return None
    last = not_erased[-1]
    return LastRequest(
        text=last.content,
        source=f"event {last.id}",
        said_at=last.created_at,
    )


def _find_last_session(
    session: Session | None, events: Sequence[SessionEvent]
) -> LastSession | None:
    if session is None or not events:
        return None
    last = events[-1]
    client = session.client or session.chatmode
    is_answered = last.type == "model_message"
    environment = session.metadata.get("envHint")
    return LastSession(
        client=client,
        ends_at=last.created_at,
        is_answered=is_answered,
        branch=session.git_branch or "",
        environment=environment if isinstance(environment, str) else "",
    )


def _make_recalled(found: Any) -> RecalledMemory:
    """A memory that passed the gate; it is not checked here, so its verdict is "said"."""
    memory = found.memory
    return RecalledMemory(
        text=memory.content,
        source=f"memory {memory.id}, relevance {found.relevance:.2f}",
        by=memory.source_type,
        learned_at=memory.created_at,
        category=memory.category or "",
    )
