"""The verbs of bundles and role rounds: gather once, three pure steps, one receipt.

A receipt holds what the bundle was made of before the budget, so that the same bytes can be made again and every line
explained. A frozen bundle has an id that follows from its session: whoever asks again, or at the same moment, gets
the first one's bytes, and the client's prompt cache stays valid.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Any

from holdfast import errors
from holdfast.bundles import budget, render, rounds, sections
from holdfast.bundles.model import (
    PHASES,
    Bundle,
    Explained,
    Gathered,
    Head,
    LastSession,
    Layout,
    Recalled,
    Receipt,
    Request,
    Section,
)
from holdfast.bundles.rounds import Round, Step
from holdfast.ground import canonical, clock, ids
from holdfast.ground.text import cut
from holdfast.ground.tokens import tokens
from holdfast.storage.journal import Entry

if TYPE_CHECKING:
    from holdfast.sessions.model import Session, SessionEvent
    from holdfast.sessions.service import SessionService
    from holdfast.storage.journal import Journal
    from holdfast.workstreams.model import JudgedContext, Key

    Load = Callable[[str, str | None], Awaitable[JudgedContext]]
    NativeIds = Callable[[str, str | None], Awaitable[Mapping[str, Any]]]
    Recall = Callable[..., Awaitable[Sequence[Any]]]
    Decide = Callable[..., Awaitable[Any]]

RECEIPT, ROUND = "receipt", "round"
LOOKED_BACK = 1_000  # receipts that a short id is looked for in
RECALLED = 5
QUERY_CHARS = 500
REQUEST_CHARS = 4_000
TURN_EVENTS, TURN_BYTES = 1_000, 8 << 20

_SHORT_ID = re.compile(r"b-[0-9a-f]{4}")


def short_id(receipt_id: str) -> str:
    return f"b-{receipt_id[-4:]}"


class BundleService:
    """`load` is the verb of workstreams, `recall` that of memories. Where sharing is off, everything is local."""

    def __init__(
        self,
        journal: Journal,
        sessions: SessionService,
        *,
        load: Load,
        recall: Recall | None = None,
        native_ids: NativeIds | None = None,
        rules: Sequence[str] = (),
        text_limit: Callable[[str], int | None] = lambda client: None,
        now: Callable[[], datetime] = clock.now,
    ):
        self.journal, self.sessions, self.load = journal, sessions, load
        self.recall, self.native_ids, self.rules = recall, native_ids, tuple(rules)
        self.text_limit, self.now = text_limit, now

    # --- building ------------------------------------------------------------------------------------------

    async def build(
        self,
        phase: str = "implementation",
        workstream_id: str | None = None,
        *,
        client: str | None = None,
        limit: int | None = None,
        session_id: str | None = None,
        worktree: str | None = None,
        frozen: bool = False,
    ) -> Bundle:
        """A new bundle with its receipt; a frozen one is the session's first of its kind, byte for byte."""
        if phase not in PHASES:
            raise errors.InvalidValueError("Phase", phase, "is unknown", known=PHASES)
        total = budget.total_for(phase, self.text_limit(client) if client else None, limit)
        session = await self.sessions.get_session(session_id) if session_id else None
        receipt_id = ids.new_id()
        if frozen:
            frozen_id = self._frozen_id(session, phase, workstream_id or "", str(total))
            kept = await self.journal.find(RECEIPT, frozen_id)
            if kept and kept.content:
                return _rebuilt(_receipt(kept))
            receipt_id = receipt_id if kept else frozen_id  # what was forgotten is not made again under its id
        gathered = await self._gather(phase, workstream_id, short_id(receipt_id), client, session, worktree)
        return await self._keep(receipt_id, gathered, total, session)

    async def preview(
        self, phase: str, workstream_id: str | None = None, *, limit: int | None = None, worktree: str | None = None
    ) -> Bundle:
        """What would be built now. Nothing is kept: to look must not displace what was really handed over."""
        total = budget.total_for(phase, limit)
        receipt_id = ids.new_id()
        gathered = await self._gather(phase, workstream_id, short_id(receipt_id), None, None, worktree)
        return _rebuilt(_receipt(Entry(receipt_id, "", _content(gathered, total, None), self.now())))

    async def prefix(self, instruction: str, phase: str, workstream_id: str | None = None) -> str:
        """An instruction for an agent that a program starts itself, with the bundle before it."""
        bundle = await self.build(phase, workstream_id)
        return render.prefix_instruction(instruction, bundle, await self.find_native_ids(phase, workstream_id))

    async def find_native_ids(self, phase: str, workstream_id: str | None = None) -> dict[str, str]:
        """What clients call their sessions of this workstream; nothing where that cannot be known."""
        if self.native_ids is None:
            return {}
        try:
            found = await self.native_ids(phase, workstream_id)
        except errors.HoldfastError:  # best effort: it only saves time
            return {}
        ids_of = {client: one.get("id") if isinstance(one, Mapping) else one for client, one in found.items()}
        return {client: native_id for client, native_id in ids_of.items() if isinstance(native_id, str)}

    # --- receipts ------------------------------------------------------------------------------------------

    async def find_receipt(self, receipt_id: str) -> Receipt | None:
        """By its id or by the short one that stands in the bundle's head; None where there is none."""
        entry = await self._find_entry(receipt_id)
        return _receipt(entry) if entry else None

    async def get_receipt(self, receipt_id: str) -> Receipt:
        if (found := await self.find_receipt(receipt_id)) is None:
            raise errors.ReceiptNotFoundError(receipt_id)
        return found

    async def get_last_receipt(self) -> Receipt:
        recent = [one for one in await self.journal.newest_of_kind(RECEIPT, 20) if one.content]
        if not recent:
            raise errors.ReceiptNotFoundError("(none)")
        return _receipt(max(recent, key=lambda one: one.created_at))  # frozen ids lie where their session began

    async def rebuild(self, receipt_id: str) -> Bundle:
        return _rebuilt(await self.get_receipt(receipt_id))

    async def diff(self, receipt_id: str, other_id: str) -> str:
        """What differs between two bundles, as a unified diff; empty where nothing does."""
        one, other = await self.rebuild(receipt_id), await self.rebuild(other_id)
        lines = difflib.unified_diff(
            one.text.splitlines(), other.text.splitlines(), short_id(one.id), short_id(other.id), lineterm=""
        )
        return "\n".join(lines)

    async def explain(self, receipt_id: str | None = None) -> Explained:
        """A bundle line by line, the last one where none is named."""
        receipt = await (self.get_receipt(receipt_id) if receipt_id else self.get_last_receipt())
        layout, bundle = _layout(receipt), _rebuilt(receipt)
        return Explained(
            id=receipt.id,
            short_id=short_id(receipt.id),
            phase=bundle.phase,
            created_at=receipt.created_at,
            chars=bundle.chars,
            tokens=bundle.tokens,
            limit=receipt.total,
            lines=tuple(render.explain_lines(layout)),
            cut=bundle.cut,
        )

    # --- within --------------------------------------------------------------------------------------------

    async def _gather(
        self,
        phase: str,
        workstream_id: str | None,
        receipt: str,
        client: str | None,
        session: Session | None,
        worktree: str | None,
    ) -> Gathered:
        judged = await self._find_judged(phase, workstream_id)
        teller = await self._find_teller(session, worktree)
        events = await self._list_last_turn(teller)
        request = _last_request(events)
        key = judged.context.key if judged else None
        return Gathered(
            now=self.now(),
            phase=phase,
            receipt=receipt,
            repo=key.repo if key else (teller and teller.repo) or "",
            branch=key.branch if key else (teller and teller.git_branch) or "",
            client=client,
            judged=judged,
            rules=judged.rules if judged else self.rules,
            context_sets=teller.context if teller else {},
            context_source=f"session {teller.id}" if teller else "",
            request=request,
            last_session=_last_session(teller, events),
            recalled=await self._recall(judged, request),
        )

    async def _find_judged(self, phase: str, workstream_id: str | None) -> JudgedContext | None:
        try:
            return await self.load(phase, workstream_id)
        except (errors.SharedContextOffError, errors.NoRepositoryError):
            return None

    async def _find_teller(self, session: Session | None, worktree: str | None) -> Session | None:
        """The session itself where it has something to tell, else the one before it in the same working tree."""
        if session and (session.last_sequence or session.context):
            return session
        place = worktree or (session and session.worktree)
        if not place:
            return session
        asking = {"client": session.client, "native_id": session.native_id} if session else {}
        return await self.sessions.find_telling_session(place, **asking) or session

    async def _list_last_turn(self, session: Session | None) -> list[SessionEvent]:
        if session is None or not session.last_sequence:
            return []
        bounds = {"max_events": TURN_EVENTS, "max_chars": REQUEST_CHARS, "max_bytes": TURN_BYTES}
        return await self.sessions.list_turn_events(session.id, max_turns=1, **bounds)

    async def _recall(self, judged: JudgedContext | None, request: Request | None) -> tuple[Recalled, ...]:
        """What is known about the work, then about the request: asked together, each would hide the other's answers."""
        asked = (judged and judged.context.fields.get("feature_request"), request and request.text)
        queries = [cut(" ".join(one.split()), QUERY_CHARS) for one in asked if isinstance(one, str) and one.strip()]
        found = [one for query in queries if self.recall for one in await self.recall(query, limit=RECALLED)]
        return tuple({one.memory.id: _recalled(one) for one in reversed(found)}.values())[::-1][:RECALLED]

    async def _keep(self, receipt_id: str, gathered: Gathered, total: int, session: Session | None) -> Bundle:
        content = _content(gathered, total, session)
        key = gathered.judged.context.key if gathered.judged else ()
        entry = await self.journal.add(RECEIPT, [*key, gathered.phase], content, entry_id=receipt_id)
        return _rebuilt(_receipt(entry))

    async def _find_entry(self, receipt_id: str) -> Entry | None:
        if not _SHORT_ID.fullmatch(receipt_id):
            return await self.journal.find(RECEIPT, receipt_id)
        recent = await self.journal.newest_of_kind(RECEIPT, LOOKED_BACK)
        found = [one for one in recent if short_id(one.id) == receipt_id]
        if len(found) > 1:
            known = [one.id for one in found]
            raise errors.InvalidValueError("Receipt", receipt_id, "is short for several; use a whole id", known=known)
        return found[0] if found else None

    def _frozen_id(self, session: Session | None, *what: str) -> str:
        if session is None:
            raise errors.InvalidValueError("session_id", None, "is missing: bytes are frozen for a session")
        return session.id[:14] + ids.named_id("bundle", *self.journal.owner, session.id, *what)[14:]


class RoundService:
    """Role rounds, one open at a time for each workstream. Each step is one entry of the journal, numbered.

    The number is part of its id, so that of two who take the same step the second is told so.
    """

    def __init__(self, bundles: BundleService, decide: Decide):
        self.bundles, self.decide = bundles, decide
        self.journal = bundles.journal

    async def start(self, topic: str, workstream_id: str | None = None) -> Step:
        key, number, current = await self._find(workstream_id)
        if current and current.status != "closed":
            raise errors.RoundOpenError(current.topic)
        bundle = await self.bundles.build("planning", workstream_id)
        begun = rounds.start(topic, receipt_id=bundle.id, now=self._now())
        await self._keep(key, number + 1, begun)
        return _step(begun, bundle)

    async def next(self, workstream_id: str | None = None) -> Step:
        """Whose turn it is; asking changes nothing."""
        _, _, current = await self._get(workstream_id)
        return _step(current, await self.bundles.rebuild(current.receipt_id))

    async def submit(self, role: str, text: str, sources: Sequence[str] = (), workstream_id: str | None = None) -> Step:
        key, number, current = await self._get(workstream_id)
        said = rounds.submit(current, role, text, sources, now=self._now())
        bundle = await self.bundles.rebuild(current.receipt_id)
        await self._keep(key, number + 1, said)
        return _step(said, bundle)

    async def close(
        self, decisions: Sequence[str] = (), questions: Sequence[str] = (), workstream_id: str | None = None
    ) -> Round:
        """The chair's decisions and questions become planning context; what was interrupted goes on."""
        key, number, current = await self._get(workstream_id)
        if current.status == "open":
            current, number = rounds.close(current, decisions, questions), number + 1
            await self._keep(key, number, current)
        for text, status in current.results[current.persisted :]:
            await self.decide(text, phase="planning", workstream_id=key.workstream_id, status=status)
            current, number = rounds.persist_one(current), number + 1
            await self._keep(key, number, current)
        return current

    async def _get(self, workstream_id: str | None) -> tuple[Key, int, Round]:
        key, number, current = await self._find(workstream_id)
        if current is None or current.status == "closed":
            raise errors.RoundNotFoundError(key.workstream_id)
        return key, number, current

    async def _find(self, workstream_id: str | None) -> tuple[Key, int, Round | None]:
        key = (await self.bundles.load("planning", workstream_id)).context.key
        newest = await self.journal.newest(ROUND, key)
        if not newest:
            return key, 0, None
        content = newest[0].content
        return key, int(newest[0].id[-12:], 16), Round.from_dict(content) if content else None

    async def _keep(self, key: Key, number: int, current: Round) -> None:
        prefix = ids.named_id("round", *self.journal.owner, *key)[:24]
        content = current.to_dict()
        entry = await self.journal.add(ROUND, key, content, entry_id=f"{prefix}{number:012x}")
        if entry.content != content:
            raise errors.RoundMovedError(current.topic)

    def _now(self) -> str:
        return clock.to_text(self.bundles.now())


def _content(gathered: Gathered, total: int, session: Session | None) -> dict[str, Any]:
    """A receipt: everything that the same bytes can be made from again."""
    head, parts = sections.head_of(gathered), sections.sections_of(gathered)
    return {
        "head": asdict(head),
        "sections": [part.to_dict() for part in parts],
        "total": total,
        "text_hash": _hash(render.render(budget.fit(head, parts, total))),
        "client": gathered.client,
        "session_id": session.id if session else None,
    }


# --- small pieces ------------------------------------------------------------------------------------------


def _last_request(events: Sequence[SessionEvent]) -> Request | None:
    asked = [one for one in events if one.type == "user_message" and one.content and one.erased_at is None]
    return Request(asked[-1].content, f"event {asked[-1].id}", asked[-1].created_at) if asked else None


def _last_session(session: Session | None, events: Sequence[SessionEvent]) -> LastSession | None:
    if session is None or not events:
        return None
    return LastSession(session.client or session.chatmode, events[-1].created_at, events[-1].type == "model_message")


def _recalled(found: Any) -> Recalled:
    """A memory that passed the gate; nobody has checked it here, so it is only said."""
    memory = found.memory
    source = f"memory {memory.id}, relevance {found.relevance:.2f}"
    return Recalled(memory.content, source, memory.source_type, memory.created_at)


def _receipt(entry: Entry) -> Receipt:
    if entry.content is None:
        raise errors.ReceiptForgottenError(entry.id)
    content = entry.content
    return Receipt(
        id=entry.id,
        created_at=entry.created_at,
        head=Head(**content["head"]),
        sections=tuple(Section.from_dict(one) for one in content["sections"]),
        total=content["total"],
        text_hash=content["text_hash"],
        client=content["client"],
        session_id=content["session_id"],
    )


def _layout(receipt: Receipt) -> Layout:
    return budget.fit(receipt.head, receipt.sections, receipt.total)


def _rebuilt(receipt: Receipt) -> Bundle:
    layout = _layout(receipt)
    text = render.render(layout)
    if _hash(text) != receipt.text_hash:
        raise errors.ReceiptOutdatedError(receipt.id)
    shown = tuple(one for one in layout.shown if one.text)
    return Bundle(receipt.id, receipt.head.phase, text, len(text), tokens(text), shown, layout.cut)


def _hash(text: str) -> str:
    return canonical.sha256(text.encode()).hex()


def _step(current: Round, bundle: Bundle) -> Step:
    least, most = rounds.ROLES.get(current.role, (None, None))
    instruction = render.prefix_instruction(rounds.ask(current), bundle)
    return Step(current.role, current.topic, least, most, instruction, bundle.id)
