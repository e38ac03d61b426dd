"""The verbs of bundles: gather once, three pure steps, one receipt.

A receipt holds what the bundle was made of before the budget, so that the same bytes can be made
again and every line explained. For a session the bytes are frozen, so that the client's prompt
cache stays valid, but never against the repository. Everything is gathered and judged anew, and the
id follows from the session and from every line below the head: while a bundle made now would have
the same lines, each request gets the first one's bytes, its time included. As soon as one line
differs, the old bytes are outdated, and new ones are made.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from functools import partial

from holdfast.bundles import budget, errors, receipts, render, sections
from holdfast.bundles.gathering import BundleRequest, Gatherer
from holdfast.bundles.masking import mask_quoted
from holdfast.bundles.model import PHASES, Bundle, BundleExplanation, Gathered, Receipt, Section
from holdfast.bundles.receipts import short_id
from holdfast.errors import HoldfastError, InvalidValueError, StoreBusyError
from holdfast.ground import canonical, clock, ids
from holdfast.ground.frozen import dataclass, replace
from holdfast.ground.off_loop import off_loop
from holdfast.ground.patterns import compile_later
from holdfast.storage.journal import JournalEntry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.bundles.gathering import (
        IsRunning,
        Load,
        MayLook,
        Observe,
        Recall,
        RecallNotes,
    )
    from holdfast.sessions.model import Session
    from holdfast.sessions.service import SessionService
    from holdfast.storage.journal import Journal

    NativeIds = Callable[[str, str | None], Awaitable[Mapping[str, Any]]]
    Keep = Callable[[str, "BundleDraft"], Awaitable[Bundle]]

RECEIPT = "receipt"
NOT_KEPT = "not kept: the store is busy"
RECEIPT_SECONDS = 1.0  # a reader waits for another writer so long
LOOKED_BACK = 1_000  # so many receipts are searched for a short id
TIME_CHARS = 14  # the first part of an id holds the time when it was made

_SHORT_ID = compile_later(r"b-[0-9a-f]{4}")


@dataclass(frozen=True)
class BundleDraft:
    """A bundle before the budget and without an id."""

    wanted: BundleRequest
    gathered: Gathered
    sections: tuple[Section, ...]
    total: int

    def hash_body(self) -> str:
        head = sections.make_head(self.gathered)
        return receipts.hash_body(head, self.sections, self.total)

    @property
    def subject(self) -> list[str]:
        """What its receipt is about."""
        judged = self.gathered.judged
        if judged is None:
            return [self.wanted.phase]
        return [*judged.context.key, self.wanted.phase]

    def make_receipt(
        self, receipt_id: str, created_at: datetime, *, shown_as: str | None = None
    ) -> Receipt:
        return receipts.make_receipt(
            receipt_id,
            created_at,
            replace(self.gathered, receipt=shown_as or short_id(receipt_id)),
            self.sections,
            self.total,
            session_id=self.wanted.session_id,
            worktree=self.wanted.place,
        )


class BundleService:
    """`load` is the verb of workstreams, `recall` that of memories.

    Where sharing is off, everything is local.
    """

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
        fence_key: bytes = b"",
        is_running: IsRunning = lambda session: False,
        may_look: MayLook = lambda worktree: False,
        observe: Observe | None = None,
        recall_notes: RecallNotes | None = None,
    ):
        self.journal, self.sessions, self.load = journal, sessions, load
        self.native_ids, self.text_limit, self.now = native_ids, text_limit, now
        self.fence_key = fence_key
        self.gatherer = Gatherer(
            sessions,
            load,
            recall,
            tuple(rules),
            now,
            fence_key,
            is_running,
            may_look,
            observe,
            recall_notes,
        )

    # --- building ---------------------------------------------------------------------------------

    async def build(
        self,
        phase: str = "implementation",
        workstream_id: str | None = None,
        *,
        client: str | None = None,
        limit: int | None = None,
        session_id: str | None = None,
        worktree: str | None = None,
        continues: str | None = None,
        has_sets: bool = True,
        window: str | None = None,
        kept: Sequence[str] = (),
        keeps_receipt: bool = False,
        keeps_empty: bool = True,
        is_preview: bool = False,
    ) -> Bundle:
        """A new bundle with its receipt; for a session the same bytes again while they are true.

        `continues` names the session to continue from, where that is not the last one here;
        `window` says what the session that asks has of its own conversation, and `kept` what it has
        word for word after a compaction.

        A store that is busy keeps nobody from reading: then the receipt is left out, unless it must
        be kept because it is needed later. One that says nothing, and so is handed to no model,
        needs none, nor does a preview.
        """
        if phase not in PHASES:
            raise InvalidValueError("Phase", phase, "is unknown", known=PHASES)
        total = budget.total_for(phase, self._find_client_limit(client), limit)
        session = await self._get_session(session_id)
        wanted = BundleRequest(
            phase=phase,
            workstream_id=workstream_id,
            client=client,
            session=session,
            worktree=worktree,
            continues=await self._get_session(continues),
            has_sets=has_sets,
            window=window,
            kept=tuple(kept),
        )
        draft = await self._make_draft(wanted, total)
        is_unsaid = not keeps_empty and not sections.says_something(draft.sections)
        if is_preview or is_unsaid:
            return await off_loop(receipts.rebuild, draft.make_receipt(ids.new_id(), self.now()))
        keep = partial(self._keep, waits=keeps_receipt)
        if session is None:
            return await keep(ids.new_id(), draft)
        return await self._build_frozen(session, draft, keep)

    async def preview(
        self,
        phase: str,
        workstream_id: str | None = None,
        *,
        limit: int | None = None,
        worktree: str | None = None,
    ) -> Bundle:
        """What would be built now. No receipt is kept: a preview was not handed over."""
        total = budget.total_for(phase, limit)
        wanted = BundleRequest(phase, workstream_id, worktree=worktree)
        draft = await self._make_draft(wanted, total)
        receipt = draft.make_receipt(ids.new_id(), self.now())
        return await off_loop(receipts.rebuild, receipt)

    async def prefix(self, instruction: str, phase: str, workstream_id: str | None = None) -> str:
        """An instruction for an agent that a program starts itself, with the bundle before it."""
        bundle = await self.build(phase, workstream_id)
        native_ids = await self.find_native_ids(phase, workstream_id)
        return render.prefix_instruction(instruction, bundle, native_ids)

    async def find_native_ids(self, phase: str, workstream_id: str | None = None) -> dict[str, str]:
        """The clients' own ids of their sessions of this workstream; empty where unknown."""
        if self.native_ids is None:
            return {}
        try:
            found = await self.native_ids(phase, workstream_id)
        except HoldfastError:  # best effort: it only saves time
            return {}
        native_ids = {}
        for client, session in found.items():
            native_id = _read_native_id(session)
            if native_id is not None:
                native_ids[client] = native_id
        return native_ids

    # --- receipts ---------------------------------------------------------------------------------

    async def get_receipt(self, receipt_id: str) -> Receipt:
        """By its id, or by the short id in the head of its bundle."""
        return receipts.read_receipt(await self._get_entry(receipt_id))

    async def get_last_receipt(self, worktree: str | None = None) -> tuple[Receipt, bool]:
        """The last one made in a checkout, else the last of all; and which of the two it is."""
        newest = await self.journal.newest_of_kind(RECEIPT, LOOKED_BACK)
        recent = [entry for entry in newest if entry.content]
        if not recent:
            raise errors.ReceiptNotFoundError(None)
        repo = None
        if worktree:
            repo = await self._find_repo()
        here = [entry for entry in recent if _is_made_in(entry, worktree, repo)]
        last = max(here or recent, key=lambda entry: entry.created_at)
        is_here = bool(here) or worktree is None
        return receipts.read_receipt(last), is_here

    async def find_bundle(self, receipt_id: str) -> Bundle | None:
        """The same bytes again; None where they were forgotten or are of another version."""
        return receipts.find_bundle(await self._get_entry(receipt_id))

    async def rebuild(self, receipt_id: str) -> Bundle:
        return receipts.rebuild(await self.get_receipt(receipt_id))

    async def diff(self, receipt_id: str, other_id: str) -> str:
        """What differs between two bundles, as a unified diff; empty where nothing does."""
        import difflib

        first = await self.rebuild(receipt_id)
        second = await self.rebuild(other_id)
        lines = difflib.unified_diff(
            first.text.splitlines(),
            second.text.splitlines(),
            short_id(first.id),
            short_id(second.id),
            lineterm="",
        )
        return "\n".join(lines)

    async def explain(
        self, receipt_id: str | None = None, *, worktree: str | None = None
    ) -> BundleExplanation:
        """A bundle line by line; without an id the last one of this checkout, else the last one."""
        if receipt_id:
            return receipts.explain(await self.get_receipt(receipt_id), is_here=True)
        receipt, is_here = await self.get_last_receipt(worktree)
        return receipts.explain(receipt, is_here=is_here)

    # --- within -----------------------------------------------------------------------------------

    def _find_client_limit(self, client: str | None) -> int | None:
        if not client:
            return None
        return self.text_limit(client)

    async def _get_session(self, session_id: str | None) -> Session | None:
        if not session_id:
            return None
        return await self.sessions.get_session(session_id)

    async def _make_draft(self, wanted: BundleRequest, total: int) -> BundleDraft:
        gathered = await off_loop(mask_quoted, await self.gatherer.gather(wanted))
        parts = await off_loop(sections.lay_out, gathered, total)
        return BundleDraft(wanted, gathered, parts, total)

    async def _build_frozen(self, session: Session, draft: BundleDraft, keep: Keep) -> Bundle:
        name = await off_loop(self._name_draft, session, draft)
        frozen_id = session.id[:TIME_CHARS] + name[TIME_CHARS:]
        kept = await self.journal.find(RECEIPT, frozen_id)
        if kept is None:
            return await keep(frozen_id, draft)
        bundle = await off_loop(receipts.find_bundle, kept)
        if bundle is None:
            # What was forgotten, or what another version made, is not made again under its id.
            return await keep(ids.new_id(), draft)
        return bundle

    def _name_draft(self, session: Session, draft: BundleDraft) -> str:
        """The same for the same words to the same session."""
        return ids.named_id(
            "bundle",
            *self.journal.owner,
            session.id,
            draft.wanted.phase,
            draft.wanted.workstream_id or "",
            str(draft.total),
            draft.hash_body(),
        )

    async def _keep(self, receipt_id: str, draft: BundleDraft, *, waits: bool) -> Bundle:
        """The first receipt under an id counts: another process may have been faster."""
        receipt = draft.make_receipt(receipt_id, self.now())
        content = await off_loop(receipt.to_content)
        add = self.journal.add if waits else partial(self.journal.try_add, seconds=RECEIPT_SECONDS)
        try:
            entry = await add(RECEIPT, draft.subject, content, entry_id=receipt_id)
        except StoreBusyError:
            if waits:
                raise
            receipt = draft.make_receipt(receipt_id, self.now(), shown_as=NOT_KEPT)
        else:
            receipt = receipts.read_receipt(entry)
        return await off_loop(receipts.rebuild, receipt)

    async def _find_repo(self) -> str | None:
        """Of the checkout; None where it is unknown, because a receipt is found without it too."""
        try:
            judged = await self.load("planning", None)
        except HoldfastError:
            return None
        return judged.context.key.repo

    async def _get_entry(self, receipt_id: str) -> JournalEntry:
        entry = await self._find_entry(receipt_id)
        if entry is None:
            raise errors.ReceiptNotFoundError(receipt_id)
        return entry

    async def _find_entry(self, receipt_id: str) -> JournalEntry | None:
        if not _SHORT_ID.fullmatch(receipt_id):
            return await self.journal.find(RECEIPT, receipt_id)
        recent = await self.journal.newest_of_kind(RECEIPT, LOOKED_BACK)
        found = [entry for entry in recent if short_id(entry.id) == receipt_id]
        if len(found) > 1:
            whole_ids = [entry.id for entry in found]
            problem = "is short for several; use a whole id"
            raise InvalidValueError("Receipt", receipt_id, problem, known=whole_ids)
        return next(iter(found), None)


def _is_made_in(entry: JournalEntry, worktree: str | None, repo: str | None) -> bool:
    """Made in this working tree, or, by a program that did not name one, about its repository."""
    content = entry.content or {}
    made_in = content.get("worktree")
    if made_in:
        return bool(made_in == worktree)
    about, *_ = canonical.parse_json("subject", entry.subject)
    return bool(about == repo)


def _read_native_id(session: object) -> str | None:
    """A session is the native id itself, or a mapping that holds it."""
    if isinstance(session, Mapping):
        session = session.get("id")
    if not isinstance(session, str):
        return None
    return session
