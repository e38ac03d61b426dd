"""The verbs of bundles and role rounds: gather once, three pure steps, one receipt.

A receipt holds what the bundle was made of before the budget, so that the same bytes can be made again and every line
explained. For a session the bytes are frozen, so that the client's prompt cache stays valid, but never against the
repository. Everything is gathered and judged anew, and the id follows from the session and from every line below the
head: while a bundle made now would say the same, whoever asks again, or at the same moment, gets the first one's bytes,
its time included. As soon as one line would differ, the old bytes would say something that no longer is, and new ones
are made.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from holdfast.bundles import budget, errors, render, rounds, sections
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
from holdfast.errors import HoldfastError, InvalidValueError
from holdfast.ground import canonical, clock, ids
from holdfast.ground.text import cut
from holdfast.ground.tokens import tokens
from holdfast.storage.journal import Entry
from holdfast.workstreams.errors import NoRepositoryError, SharedContextOffError

if TYPE_CHECKING:
    from holdfast.sessions.model import Session, SessionEvent
    from holdfast.sessions.service import SessionService
    from holdfast.storage.journal import Journal
    from holdfast.workstreams.model import JudgedContext, Key, RepoContext

    Load = Callable[[str, str | None], Awaitable[JudgedContext]]
    NativeIds = Callable[[str, str | None], Awaitable[Mapping[str, Any]]]
    Recall = Callable[..., Awaitable[Sequence[Any]]]
    Decide = Callable[..., Awaitable[Any]]

RECEIPT, ROUND = "receipt", "round"
LOOKED_BACK = 1_000  # receipts that a short id is looked for in
SESSIONS_BEFORE = 50  # among which the one before is looked for
RECALLED = 5
NO_RECEIPT = "b-0000"  # as long as the one that takes its place
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
    ) -> Bundle:
        """A new bundle with its receipt; for a session the same bytes again, as long as they say what is so."""
        if phase not in PHASES:
            raise InvalidValueError("Phase", phase, "is unknown", known=PHASES)
        total = budget.total_for(phase, self.text_limit(client) if client else None, limit)
        session = await self.sessions.get_session(session_id) if session_id else None
        gathered = await self._gather(phase, workstream_id, client, session, worktree)
        parts, receipt_id = sections.sections_of(gathered), ids.new_id()
        if session:
            told = _told(sections.head_of(gathered), parts, total)
            frozen_id = self._frozen_id(session, phase, workstream_id or "", str(total), told)
            kept = await self.journal.find(RECEIPT, frozen_id)
            if kept and kept.content:
                with suppress(errors.ReceiptOutdatedError):
                    return _rebuilt(_receipt(kept))
            receipt_id = receipt_id if kept else frozen_id  # what was forgotten is not made again under its id
        gathered = replace(gathered, receipt=short_id(receipt_id))
        content = _content(gathered, parts, total, session, _place(session, worktree))
        return await self._keep(receipt_id, gathered, content)

    async def preview(
        self, phase: str, workstream_id: str | None = None, *, limit: int | None = None, worktree: str | None = None
    ) -> Bundle:
        """What would be built now. Nothing is kept: to look must not displace what was really handed over."""
        total = budget.total_for(phase, limit)
        receipt_id = ids.new_id()
        gathered = replace(await self._gather(phase, workstream_id, None, None, worktree), receipt=short_id(receipt_id))
        content = _content(gathered, sections.sections_of(gathered), total, None, worktree)
        return _rebuilt(_receipt(Entry(receipt_id, "", content, self.now())))

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
        except HoldfastError:  # best effort: it only saves time
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

    async def get_last_receipt(self, worktree: str | None = None) -> tuple[Receipt, bool]:
        """The last that was made in a checkout, and whether there was one; else the last of all."""
        recent = [one for one in await self.journal.newest_of_kind(RECEIPT, LOOKED_BACK) if one.content]
        if not recent:
            raise errors.ReceiptNotFoundError("(none)")
        repo = await self._find_repo() if worktree else None
        here = [one for one in recent if _is_of(one, worktree, repo)]
        last = max(here or recent, key=lambda one: one.created_at)
        return _receipt(last), bool(here) or worktree is None

    async def rebuild(self, receipt_id: str) -> Bundle:
        return _rebuilt(await self.get_receipt(receipt_id))

    async def diff(self, receipt_id: str, other_id: str) -> str:
        """What differs between two bundles, as a unified diff; empty where nothing does."""
        one, other = await self.rebuild(receipt_id), await self.rebuild(other_id)
        lines = difflib.unified_diff(
            one.text.splitlines(), other.text.splitlines(), short_id(one.id), short_id(other.id), lineterm=""
        )
        return "\n".join(lines)

    async def explain(self, receipt_id: str | None = None, *, worktree: str | None = None) -> Explained:
        """A bundle line by line; where none is named, the last one of this checkout, else the last one."""
        is_here = True
        if receipt_id:
            receipt = await self.get_receipt(receipt_id)
        else:
            receipt, is_here = await self.get_last_receipt(worktree)
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
            is_here=is_here,
        )

    # --- within --------------------------------------------------------------------------------------------

    async def _gather(
        self,
        phase: str,
        workstream_id: str | None,
        client: str | None,
        session: Session | None,
        worktree: str | None,
    ) -> Gathered:
        judged = await self._find_judged(phase, workstream_id)
        teller = await self._find_teller(session, worktree)
        events = await self._list_last_turn(teller)
        request = _last_request(events)
        key = judged.context.key if judged else None
        reminded = session if session and session.context else teller
        return Gathered(
            now=self.now(),
            phase=phase,
            receipt=NO_RECEIPT,
            repo=key.repo if key else (teller and teller.repo) or "",
            branch=key.branch if key else (teller and teller.git_branch) or "",
            client=client,
            judged=judged,
            rules=judged.rules if judged else self.rules,
            context_sets=_context_sets(reminded),
            context_source=f"session {reminded.id}" if reminded else "",
            request=request,
            last_session=_last_session(teller, events),
            recalled=await self._recall(judged, request),
        )

    async def _find_judged(self, phase: str, workstream_id: str | None) -> JudgedContext | None:
        try:
            return await self.load(phase, workstream_id)
        except (SharedContextOffError, NoRepositoryError):
            return None

    async def _find_repo(self) -> str | None:
        """Of the checkout, where that can be known: a receipt is found without it too."""
        try:
            return (await self.load("planning", None)).context.key.repo
        except HoldfastError:
            return None

    async def _find_teller(self, session: Session | None, worktree: str | None) -> Session | None:
        """Whose log is told: the newest that says something here.

        Not the asking session's own where its client has a name for it: that one is in its window, and grows with
        every turn. Without a name it may be somebody else's, who stopped there.
        """
        place = _place(session, worktree)
        if session and session.native_id:
            before = await self.sessions.list_sessions(SESSIONS_BEFORE, session.id)
            here = [one for one in before if place and one.worktree == place]
            return next((one for one in here if one.last_sequence or one.context), None)
        if not place or (session and (session.last_sequence or session.context)):
            return session
        return await self.sessions.find_telling_session(place) or session

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
        return tuple({one.memory.id: _recalled(one) for one in reversed(found)}.values())[::-1]

    async def _keep(self, receipt_id: str, gathered: Gathered, content: dict[str, Any]) -> Bundle:
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
            raise InvalidValueError("Receipt", receipt_id, "is short for several; use a whole id", known=known)
        return found[0] if found else None

    def _frozen_id(self, session: Session, *what: str) -> str:
        return session.id[:14] + ids.named_id("bundle", *self.journal.owner, session.id, *what)[14:]


class RoundService:
    """Role rounds, one open at a time for each workstream. Each step is one entry of the journal, numbered.

    The number is part of its id, so that of two who take the same step the second is told so. Whatever goes wrong, a
    round can be gone on with or abandoned.
    """

    def __init__(self, bundles: BundleService, decide: Decide):
        self.bundles, self.decide = bundles, decide
        self.journal = bundles.journal

    async def start(self, topic: str, workstream_id: str | None = None) -> Step:
        context, number, current = await self._find(workstream_id)
        if current and not current.is_over:
            raise errors.RoundOpenError(current.topic)
        bundle = await self.bundles.build("planning", workstream_id)
        begun = rounds.start(topic, receipt_id=bundle.id, now=self._now())
        await self._keep(context.key, number + 1, begun)
        return _step(begun, bundle)

    async def next(self, workstream_id: str | None = None) -> Step:
        """Whose turn it is; asking changes nothing, except that a bundle which is lost is replaced for all of them."""
        context, number, current = await self._get(workstream_id)
        seen, bundle = await self._see(current, workstream_id)
        if seen != current and current.status == "open":
            try:
                await self._keep(context.key, number + 1, seen)
            except errors.RoundMovedError:  # somebody else has replaced it
                return await self.next(workstream_id)
        return _step(seen, bundle)

    async def submit(self, role: str, text: str, sources: Sequence[str] = (), workstream_id: str | None = None) -> Step:
        context, number, current = await self._get(workstream_id)
        said = rounds.submit(current, role, text, sources, now=self._now())
        said, bundle = await self._see(said, workstream_id)
        await self._keep(context.key, number + 1, said)
        return _step(said, bundle, rounds.notes_on(said))

    async def close(
        self, decisions: Sequence[str] = (), questions: Sequence[str] = (), workstream_id: str | None = None
    ) -> Round:
        """The chair's decisions and questions become planning context; what was interrupted goes on."""
        context, number, current = await self._get(workstream_id)
        key = context.key
        if current.status == "open":
            current, number = rounds.close(current, decisions, questions), number + 1
            rounds.check_results(current, context)
            await self._keep(key, number, current)
        for text, status in current.results[current.persisted :]:
            try:
                await self.decide(text, phase="planning", workstream_id=key.workstream_id, status=status)
            except Exception:  # whatever it is, it may come again, and a round that is closing cannot be abandoned
                await self._keep(key, number + 1, rounds.reopen(current))
                raise
            current, number = rounds.persist_one(current), number + 1
            await self._keep(key, number, current)
        return current

    async def abandon(self, workstream_id: str | None = None) -> Round:
        """End it without a result; what was said stays in the journal."""
        context, number, current = await self._get(workstream_id)
        left = rounds.abandon(current, now=self._now())
        await self._keep(context.key, number + 1, left)
        return left

    async def find_ended(self, started_at: str, workstream_id: str | None = None) -> Round | None:
        """How a round ended, whatever came after it."""
        context, _, _ = await self._find(workstream_id)
        steps = await self.journal.newest(ROUND, context.key, LOOKED_BACK)
        found = (Round.from_dict(step.content) for step in steps if step.content)
        return next((one for one in found if one.is_over and one.started_at == started_at), None)

    async def _get(self, workstream_id: str | None) -> tuple[RepoContext, int, Round]:
        context, number, current = await self._find(workstream_id)
        if current is None or current.is_over:
            raise errors.RoundNotFoundError(context.key.workstream_id)
        return context, number, current

    async def _find(self, workstream_id: str | None) -> tuple[RepoContext, int, Round | None]:
        context = (await self.bundles.load("planning", workstream_id)).context
        newest = await self.journal.newest(ROUND, context.key)
        if not newest:
            return context, 0, None
        content = newest[0].content
        return context, int(newest[0].id[-12:], 16), Round.from_dict(content) if content else None

    async def _see(self, current: Round, workstream_id: str | None) -> tuple[Round, Bundle]:
        """The round with the bundle that all see: a new one, once the first was forgotten or is another version's."""
        try:
            return current, await self.bundles.rebuild(current.receipt_id)
        except (errors.ReceiptForgottenError, errors.ReceiptOutdatedError):
            bundle = await self.bundles.build("planning", workstream_id)
            return replace(current, receipt_id=bundle.id), bundle

    async def _keep(self, key: Key, number: int, current: Round) -> None:
        prefix = ids.named_id("round", *self.journal.owner, *key)[:24]
        content = current.to_dict()
        entry = await self.journal.add(ROUND, key, content, entry_id=f"{prefix}{number:012x}")
        if entry.content != content:
            raise errors.RoundMovedError(current.topic)

    def _now(self) -> str:
        return clock.to_text(self.bundles.now())


def _told(head: Head, parts: Sequence[Section], total: int) -> str:
    """A hash of everything below the head's first line, which alone says when and under which id."""
    return _hash(render.render(budget.fit(head, parts, total)).partition("\n")[2])


def _content(
    gathered: Gathered, parts: Sequence[Section], total: int, session: Session | None, worktree: str | None
) -> dict[str, Any]:
    """A receipt: everything that the same bytes can be made from again, and where it was made."""
    head = sections.head_of(gathered)
    return {
        "head": asdict(head),
        "sections": [part.to_dict() for part in parts],
        "total": total,
        "text_hash": _hash(render.render(budget.fit(head, parts, total))),
        "client": gathered.client,
        "session_id": session.id if session else None,
        "worktree": worktree,
    }


# --- small pieces ------------------------------------------------------------------------------------------


def _is_of(entry: Entry, worktree: str | None, repo: str | None) -> bool:
    """Made in this working tree, or about its repository by a program that did not say where it was."""
    made_in = (entry.content or {}).get("worktree")
    subject = canonical.parse_json("subject", entry.subject)
    return bool(made_in == worktree if made_in else subject[:1] == [repo])


def _place(session: Session | None, worktree: str | None) -> str | None:
    return worktree or (session.worktree if session else None)


def _context_sets(session: Session | None) -> Mapping[str, Sequence[str]]:
    """Without the applet, which is an offer to a person."""
    return {name: items for name, items in session.context.items() if name != "applet"} if session else {}


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


def _step(current: Round, bundle: Bundle, notes: tuple[str, ...] = ()) -> Step:
    least, most = rounds.ROLES.get(current.role, (None, None))
    instruction = render.prefix_instruction(rounds.ask(current), bundle)
    return Step(current.role, current.topic, least, most, instruction, bundle.id, current.started_at, notes)
