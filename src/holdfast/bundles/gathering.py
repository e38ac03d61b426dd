"""Gather once what a bundle is made of: notes, the session to continue from, memories.

Everything that needs a store or a repository is read here and handed on as one frozen value. What
follows (sections, budget, rendering) is pure, so the same gathered value always gives the same
text. A source that is missing or switched off leaves its part empty: a bundle without memories, or
without notes in the repository, is still useful.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime

from holdfast.bundles import outcomes
from holdfast.bundles.asking import REQUEST_CHARS, RequestReader, make_request
from holdfast.bundles.local_state import read_local_state
from holdfast.bundles.model import (
    CUT_OFF,
    FILES,
    LOST,
    Gathered,
    LastRequest,
    LastSession,
    LocalState,
    RecalledMemory,
    Seen,
    WorkingNotes,
)
from holdfast.bundles.outcomes import Outcome, judge_outcome
from holdfast.bundles.scratchpad import read_notes
from holdfast.bundles.seen import Uncommitted, choose_seen, leave_out_files
from holdfast.ground.frozen import dataclass
from holdfast.ground.off_loop import off_loop
from holdfast.ground.text import cut
from holdfast.ground.worktree import find_branch
from holdfast.memories.rules import MIN_RELEVANCE
from holdfast.workstreams.errors import NoRepositoryError, SharedContextOffError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.observations.digest import Digest
    from holdfast.sessions.model import Session
    from holdfast.sessions.service import SessionService
    from holdfast.workstreams.model import JudgedContext

    Load = Callable[[str, str | None], Awaitable[JudgedContext]]
    Recall = Callable[..., Awaitable[Sequence[Any]]]
    IsRunning = Callable[[Session], bool]
    MayLook = Callable[[str], bool]
    Observe = Callable[[SessionService, Sequence[Session], str | None], Awaitable[Sequence[Digest]]]
    RecallNotes = Callable[[str, str, str | None, int], Sequence[Any]]

PATHS_LOOKED_AT = 100
TURNS_GONE_ON = 2
NOTES_RECALLED = 3
RECALLED = 20  # for each query; the room of a bundle decides how many are shown
NO_RECEIPT = "b-0000"  # as long as the one that takes its place
QUERY_CHARS = 500
SESSIONS_LOOKED_AT, UNFINISHED, UNFINISHED_CHARS = 6, 2, 400
SESSIONS_SEEN = 20  # in which code has seen something; one conversation may be several
EVENTS_AT_END = 40  # among which is one of the session's own, and not of a subagent
CAUSE_CHARS = 300
# How the session before ended.
ENDED, ANSWERED = "ended", "answered at"
WRITTEN, NOTED = "last event", "last note"  # without a request, and without events


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
    window: str | None = None  # KEPT or LOST, where it is known
    kept: tuple[str, ...] = ()  # what a compaction has left in it

    @property
    def session_id(self) -> str | None:
        if self.session is None:
            return None
        return self.session.id

    @property
    def began_at(self) -> datetime | None:
        """What began later goes on beside the requesting session, and is not its past."""
        if self.session is None:
            return None
        return self.session.started_at

    def is_past(self, session: Session) -> bool:
        if session.id == self.session_id:
            return False
        return self.began_at is None or session.started_at <= self.began_at

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
    """`load` is the verb of workstreams, `recall` that of memories; `is_running` says whether a
    program is in a session, `may_look` whether a person has agreed that a checkout is looked at,
    and `observe` what code has seen in sessions, with the working tree in which git may be asked.
    `recall_notes` finds what other clients have noted
    themselves: query, worktree, client, limit.
    """

    sessions: SessionService
    load: Load
    recall: Recall | None
    rules: tuple[str, ...]
    now: Callable[[], datetime]
    fence_key: bytes = b""
    is_running: IsRunning = lambda session: False
    may_look: MayLook = lambda worktree: False
    observe: Observe | None = None
    recall_notes: RecallNotes | None = None

    async def gather(self, wanted: BundleRequest) -> Gathered:
        judged = await self._find_judged(wanted)
        earlier = await self._find_earlier_session(wanted)
        requests = RequestReader(self.sessions, wanted.place, wanted.is_past)
        request = await requests.read_end(await self._find_request(wanted, earlier))
        around = await self._find_conversation(wanted, requests, request)
        reminding = await self._find_reminding_session(wanted, earlier)
        last = await self._find_last_session(wanted, earlier)
        local = await self._look_locally(wanted, judged, last)
        repo, branch = await off_loop(_name_work, judged, local, wanted, earlier)
        notes = await self._read_notes(wanted, earlier, branch if judged else None)
        sets = _list_context_sets(reminding)
        seen = await self._find_seen(wanted, earlier, branch, _list_uncommitted(judged, local))
        seen = leave_out_files(seen, sets.get(FILES, ()), wanted.place)
        seen_paths = [file.path for file in seen.files]
        paths = [*notes.in_progress, *notes.files, *sets.get(FILES, ()), *seen_paths]
        return Gathered(
            now=self.now(),
            phase=wanted.phase,
            receipt=NO_RECEIPT,
            repo=repo,
            branch=branch,
            client=wanted.client,
            judged=judged,
            local=local,
            rules=self._choose_rules(judged),
            context_sets=sets,
            context_source=_name_session(reminding),
            request=request,
            **around,
            unfinished=await self._list_unfinished(wanted, earlier, request),
            last_session=last,
            notes=notes,
            seen=seen,
            missing=await off_loop(_list_missing, paths, wanted.place),
            fence_key=self.fence_key,
            recalled=await self._recall(wanted, judged, request),
            kept=wanted.kept,
        )

    async def _find_conversation(
        self, wanted: BundleRequest, requests: RequestReader, request: LastRequest | None
    ) -> dict[str, Any]:
        """What was said around the last request, where the one who asks does not have it."""
        is_own = request is not None and request.session_id == wanted.session_id
        if is_own and wanted.window != LOST:
            return {}
        before = await requests.find_before(request)
        return {
            "question": await requests.find_question(request, before),
            "before": before,
            "answer": await requests.find_answer(request, wanted.session_id),
            "earlier": await requests.list_earlier(request, before),
        }

    async def _look_locally(
        self, wanted: BundleRequest, judged: JudgedContext | None, last: LastSession | None
    ) -> LocalState | None:
        """The checkout itself, where notes in it are not agreed to, but looking at it is."""
        if judged is not None or wanted.worktree is None or not self.may_look(wanted.worktree):
            return None
        return await off_loop(read_local_state, wanted.worktree, last.ends_at if last else None)

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
        """The session that is continued, never the requesting one itself.

        The one that a caller names, else the one that the requesting one resumed, else the one in
        this place in which something happened last; never one that began after it.
        """
        if wanted.continues:
            return wanted.continues
        own = wanted.session
        if own and own.resumed_from:
            return await self.sessions.get_session(own.resumed_from)
        if not wanted.place:
            return None
        return await self.sessions.find_last_session(
            wanted.place, wanted.session_id, until=wanted.began_at
        )

    async def _find_request(
        self, wanted: BundleRequest, earlier: Session | None
    ) -> LastRequest | None:
        """Its own once a session has gone on for some turns, of which its client may have lost
        the first; one that has just begun is handed what came before it.
        """
        before = await self._find_earlier_request(wanted, earlier)
        if wanted.session is None or wanted.window:
            return before
        newest = await self.sessions.list_requests(wanted.session.id, TURNS_GONE_ON, REQUEST_CHARS)
        if before is None or len(newest) >= TURNS_GONE_ON:
            return make_request(next(iter(newest), None))
        return before

    async def _find_earlier_request(
        self, wanted: BundleRequest, earlier: Session | None
    ) -> LastRequest | None:
        """Of the session before; one that was only given prompts and commands hides no request."""
        if earlier is None:
            return None
        event = await self.sessions.find_last_request(earlier.id, REQUEST_CHARS)
        if event is not None or wanted.place is None:
            return make_request(event)
        active = await self.sessions.list_active_sessions(wanted.place)
        for session in filter(wanted.is_past, active):
            requests = await self.sessions.list_requests(session.id, 1, REQUEST_CHARS)
            if requests:
                return make_request(requests[0], to=session.client or session.chatmode)
        return None

    async def _find_last_session(
        self, wanted: BundleRequest, earlier: Session | None
    ) -> LastSession | None:
        """How it ended; of one that was resumed and has no events yet, how the one before did."""
        if earlier is None:
            return None
        session = await self.sessions.find_session_with_events(earlier.id) or earlier
        is_live = session.ended_at is None and self.is_running(session)
        outcome = await find_outcome(self.sessions, session)
        end, ends_at = await self._find_end(session, outcome)
        described = ""
        if outcome and session.native_id:  # else nothing says that the log has every answer
            described = outcome.describe(is_live=is_live, is_ended=end == ENDED)
        return LastSession(
            client=session.client or session.chatmode,
            ends_at=ends_at,
            end=end,
            branch=session.git_branch or "",
            environment=_get_environment(earlier) if wanted.has_sets else "",
            session_id=session.id,
            is_own=wanted.window == LOST,
            is_live=is_live,
            outcome=described,
            cause=outcome.cause if outcome and described else "",
            also_live=await self._list_also_live(wanted, session),
        )

    async def _list_also_live(self, wanted: BundleRequest, last: Session) -> tuple[str, ...]:
        """None where a caller names what it continues and not itself: it may be one of them."""
        if not wanted.place or (wanted.continues and not wanted.session):
            return ()
        active = await self.sessions.list_active_sessions(wanted.place)
        others = [each for each in active if each.id != last.id and wanted.is_past(each)]
        live = [each for each in others if each.ended_at is None and self.is_running(each)]
        return tuple(each.client or each.chatmode for each in live)

    async def _list_unfinished(
        self, wanted: BundleRequest, last: Session | None, request: LastRequest | None
    ) -> tuple[LastRequest, ...]:
        """The last requests of other sessions here that were not answered, the newest first."""
        if not wanted.place or last is None or wanted.window:
            return ()
        found: list[LastRequest] = []
        active = await self.sessions.list_active_sessions(wanted.place, SESSIONS_LOOKED_AT)
        others = [each for each in active if each.id != last.id and wanted.is_past(each)]
        for session in others:
            unanswered = await self._find_unanswered(session)
            if unanswered and not (request and request.event_id == unanswered.event_id):
                found.append(unanswered)
            if len(found) == UNFINISHED:
                break
        return tuple(found)

    async def _find_unanswered(self, session: Session) -> LastRequest | None:
        """Only of a client's own session: else nothing says that the log has every answer."""
        if session.native_id is None:
            return None
        outcome = await find_outcome(self.sessions, session)
        if outcome is None or outcome.word == outcomes.ANSWERED:
            return None
        requests = await self.sessions.list_requests(session.id, 1, UNFINISHED_CHARS)
        return make_request(next(iter(requests), None), to=session.client or session.chatmode)

    async def _find_end(self, session: Session, outcome: Outcome | None) -> tuple[str, datetime]:
        if session.ended_at is not None:
            return ENDED, session.ended_at
        if not session.last_sequence:
            state = await self.sessions.get_state(session.id)
            return NOTED, state.updated_at
        moments = await self.sessions.find_last_moments([session])
        if outcome is None:
            return WRITTEN, moments[session.id]
        word = ANSWERED if outcome.word == outcomes.ANSWERED else CUT_OFF
        return word, moments[session.id]

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
        newest = await self.sessions.find_session_with_context(wanted.place)
        if newest is None or not wanted.is_past(newest):
            return None
        return newest

    async def _read_notes(
        self, wanted: BundleRequest, earlier: Session | None, branch: str | None
    ) -> WorkingNotes:
        """Field by field: from the session itself, the one before, else the newest of the place."""
        first = [session.id for session in (wanted.session, earlier) if session]
        found = await self.sessions.list_notes(wanted.place, first, until=wanted.began_at)
        return read_notes(found, own_id=wanted.session_id, branch=branch)

    async def _find_seen(
        self,
        wanted: BundleRequest,
        earlier: Session | None,
        branch: str,
        uncommitted: Uncommitted | None,
    ) -> Seen:
        """In the sessions of this place that the caller goes on with, its own where it has lost
        what was said there. Without `uncommitted` git is not asked which files were changed.
        """
        if self.observe is None:
            return Seen()
        sessions = [earlier] if earlier else []
        if wanted.place:
            active = await self.sessions.list_active_sessions(wanted.place, SESSIONS_SEEN)
            sessions += [each for each in active if wanted.is_past(each)]
        if wanted.session and wanted.window == LOST:
            sessions.append(wanted.session)
        different = {session.id: session for session in sessions}
        oldest_first = sorted(different.values(), key=lambda session: session.started_at)
        asked = wanted.place if uncommitted else None
        digests = await self.observe(self.sessions, oldest_first, asked)
        return await off_loop(choose_seen, digests, wanted.place, branch, uncommitted)

    async def _recall(
        self, wanted: BundleRequest, judged: JudgedContext | None, request: LastRequest | None
    ) -> tuple[RecalledMemory, ...]:
        """About the work, then about the request: one query for both would hide answers."""
        if self.recall is None:
            return ()
        recalled: dict[str, RecalledMemory] = {}
        noted: dict[str, RecalledMemory] = {}
        for query in _list_queries(judged, request):
            for found in await self.recall(query, limit=RECALLED):
                if found.relevance < MIN_RELEVANCE:
                    continue  # it stands in the answer only because another memory is relevant
                # What both queries find stands where the second one finds it.
                first = recalled.pop(found.memory.id, None)
                recalled[found.memory.id] = first or _make_recalled(found)
            for found in await self._recall_notes(wanted, query):
                noted[found.memory.id] = _make_recalled_note(found)
        return (*recalled.values(), *noted.values())

    async def _recall_notes(self, wanted: BundleRequest, query: str) -> Sequence[Any]:
        """Of other clients' own memory, where the person has agreed that a checkout is looked at;
        without a client nobody knows which of it is loaded already.
        """
        place = wanted.worktree
        if self.recall_notes is None or place is None or wanted.client is None:
            return ()
        if not self.may_look(place):
            return ()
        return await off_loop(self.recall_notes, query, place, wanted.client, NOTES_RECALLED)


def _list_queries(judged: JudgedContext | None, request: LastRequest | None) -> list[str]:
    texts = []
    if judged:
        texts.append(judged.context.fields.feature_request or "")
    if request:
        texts.append(request.text)
    lines = [" ".join(text.split()) for text in texts]
    return [cut(line, QUERY_CHARS) for line in lines if line]


def _name_work(
    judged: JudgedContext | None,
    local: LocalState | None,
    wanted: BundleRequest,
    earlier: Session | None,
) -> tuple[str, str]:
    """The branch is the one that is checked out now, whichever the last session was on."""
    if judged:
        key = judged.context.key
        return key.repo, key.branch
    if local:
        return local.repo, local.branch
    session = wanted.session or earlier
    branch = session.git_branch if session else None
    if wanted.worktree and os.path.exists(os.path.join(wanted.worktree, ".git")):
        branch = find_branch(wanted.worktree)
    repos = [known.repo for known in (wanted.session, earlier) if known and known.repo]
    return next(iter(repos), ""), branch or ""


def _list_uncommitted(judged: JudgedContext | None, local: LocalState | None) -> Uncommitted | None:
    """As it was just looked at; None where nobody agreed to that, or git could not say."""
    if judged:
        return Uncommitted(judged.uncommitted, judged.own_paths)
    return Uncommitted(local.changed) if local else None


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


async def find_outcome(sessions: SessionService, session: Session) -> Outcome | None:
    """Of its last request; None where it has none."""
    events = await sessions.list_turn_events(
        session.id, max_events=EVENTS_AT_END, max_chars=CAUSE_CHARS
    )
    outcome = judge_outcome(events)
    if outcome.word == outcomes.ANSWERED:
        return outcome
    has_request = await sessions.list_requests(session.id)
    return outcome if has_request else None


def _get_environment(session: Session) -> str:
    environment = session.metadata.get("envHint")
    return environment if isinstance(environment, str) else ""


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


def _make_recalled_note(found: Any) -> RecalledMemory:
    """What another client has noted itself; its date is that of the file."""
    memory = found.memory
    return RecalledMemory(
        text=memory.content,
        source=f"{memory.id}, relevance {found.relevance:.2f}",
        by=f"by {found.by}",
        learned_at=memory.created_at,
    )
