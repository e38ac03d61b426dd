"""The verbs of role rounds: each step is one entry of the journal, numbered.

A round is kept in the journal alone. An entry holds the whole round after its step, so the last
entry of a workstream is enough to continue, and the entries before it show how the round came
about.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from holdfast.bundles import errors, render, rounds
from holdfast.bundles.model import Bundle
from holdfast.bundles.rounds import Round, RoundStep
from holdfast.bundles.service import LOOKED_BACK, BundleService
from holdfast.ground import clock, ids, redaction
from holdfast.ground.frozen import dataclass, replace

if TYPE_CHECKING:
    from holdfast.workstreams.model import Key, RepoContext

    Decide = Callable[..., Awaitable[Any]]

ROUND = "round"
NUMBER_DIGITS = 12  # of an entry's id, in hexadecimal


@dataclass(frozen=True)
class KeptRound:
    """The round of a workstream as the journal has it, and the number of its last step."""

    context: RepoContext
    number: int
    round: Round

    @property
    def key(self) -> Key:
        return self.context.key


class RoundService:
    """Role rounds, one open at a time for each workstream.

    The number of a step is part of its id, so that of two processes that take the same step the
    second is refused. After any failure a round can be continued or abandoned.
    """

    def __init__(self, bundles: BundleService, decide: Decide):
        self.bundles, self.decide = bundles, decide
        self.journal = bundles.journal

    async def start(self, topic: str, workstream_id: str | None = None) -> RoundStep:
        context = await self._load_context(workstream_id)
        number, current = await self._find_last(context.key)
        if current and not current.is_over:
            raise errors.RoundOpenError(current.topic)
        bundle = await self.bundles.build("planning", workstream_id, keeps_receipt=True)
        started = rounds.start(topic, receipt_id=bundle.id, now=self._now())
        await self._keep(context.key, number + 1, started)
        return _make_step(started, bundle)

    async def next(self, workstream_id: str | None = None) -> RoundStep:
        """Whose turn it is. Changes nothing, but a lost bundle is replaced for all roles."""
        known = await self._get(workstream_id)
        current, bundle = await self._with_bundle(known.round, workstream_id)
        is_replaced = current != known.round and current.status == "open"
        if is_replaced:
            is_kept = await self._try_to_keep(known.key, known.number + 1, current)
            if not is_kept:
                return await self.next(workstream_id)  # another process has replaced it
        return _make_step(current, bundle)

    async def submit(
        self, role: str, text: str, sources: Sequence[str] = (), workstream_id: str | None = None
    ) -> RoundStep:
        known = await self._get(workstream_id)
        [masked] = self._mask([text])
        submitted = rounds.submit(known.round, role, masked, sources, now=self._now())
        submitted, bundle = await self._with_bundle(submitted, workstream_id)
        await self._advance(known, submitted)
        notes = rounds.list_notes(submitted)
        return _make_step(submitted, bundle, notes)

    async def close(
        self,
        decisions: Sequence[str] = (),
        questions: Sequence[str] = (),
        workstream_id: str | None = None,
    ) -> Round:
        """Decisions and questions become planning context; an interrupted close is continued."""
        known = await self._get(workstream_id)
        if known.round.status == "open":
            closing = rounds.close(known.round, self._mask(decisions), self._mask(questions))
            rounds.check_results(closing, known.context)
            known = await self._advance(known, closing)
        for result in known.round.results[known.round.persisted :]:
            await self._note_result(known, result)
            known = await self._advance(known, rounds.persist_one(known.round))
        return known.round

    async def abandon(self, workstream_id: str | None = None) -> Round:
        """End it without a result; what was submitted stays in the journal."""
        known = await self._get(workstream_id)
        abandoned = rounds.abandon(known.round, now=self._now())
        kept = await self._advance(known, abandoned)
        return kept.round

    async def find_ended(self, started_at: str, workstream_id: str | None = None) -> Round | None:
        """How a round ended, whatever came after it."""
        context = await self._load_context(workstream_id)
        steps = await self.journal.newest(ROUND, context.key, LOOKED_BACK)
        known = [Round.from_dict(step.content) for step in steps if step.content]
        for current in known:
            if current.is_over and current.started_at == started_at:
                return current
        return None

    # --- within -----------------------------------------------------------------------------------

    async def _load_context(self, workstream_id: str | None) -> RepoContext:
        judged = await self.bundles.load("planning", workstream_id)
        return judged.context

    async def _get(self, workstream_id: str | None) -> KeptRound:
        context = await self._load_context(workstream_id)
        number, current = await self._find_last(context.key)
        if current is None or current.is_over:
            raise errors.RoundNotFoundError(context.key.workstream_id)
        return KeptRound(context, number, current)

    async def _find_last(self, key: Key) -> tuple[int, Round | None]:
        """The last step's number and the round after it; no round where that was forgotten."""
        newest = await self.journal.newest(ROUND, key)
        if not newest:
            return 0, None
        last, *_ = newest
        number = int(last.id[-NUMBER_DIGITS:], 16)
        if not last.content:
            return number, None
        return number, Round.from_dict(last.content)

    async def _with_bundle(self, current: Round, workstream_id: str | None) -> tuple[Round, Bundle]:
        """The round with the bundle of all roles; a new one where the first cannot be rebuilt."""
        bundle = await self.bundles.find_bundle(current.receipt_id)
        if bundle:
            return current, bundle
        bundle = await self.bundles.build("planning", workstream_id, keeps_receipt=True)
        return replace(current, receipt_id=bundle.id), bundle

    async def _note_result(self, known: KeptRound, result: rounds.RoundResult) -> None:
        workstream_id = known.key.workstream_id
        try:
            await self.decide(
                result.text, phase="planning", workstream_id=workstream_id, status=result.status
            )
        except Exception:  # it may fail every time, and a closing round cannot be abandoned
            await self._advance(known, rounds.reopen(known.round))
            raise

    async def _advance(self, known: KeptRound, current: Round) -> KeptRound:
        number = known.number + 1
        await self._keep(known.key, number, current)
        return replace(known, number=number, round=current)

    async def _keep(self, key: Key, number: int, current: Round) -> None:
        is_kept = await self._try_to_keep(key, number, current)
        if not is_kept:
            raise errors.RoundMovedError(current.topic)

    async def _try_to_keep(self, key: Key, number: int, current: Round) -> bool:
        """Whether this step is ours: another process may have taken the same number."""
        name = ids.named_id("round", *self.journal.owner, *key)
        prefix = name[:-NUMBER_DIGITS]
        entry_id = f"{prefix}{number:0{NUMBER_DIGITS}x}"
        content = current.to_dict()
        entry = await self.journal.add(ROUND, key, content, entry_id=entry_id)
        return entry.content == content

    def _mask(self, texts: Sequence[str]) -> list[str]:
        """Without secrets: what is noted, answered and kept of a round are the same texts."""
        masked, _ = redaction.redact_value(list(texts), key=self.bundles.fence_key)
        return list(masked)

    def _now(self) -> str:
        return clock.to_text(self.bundles.now())


def _make_step(current: Round, bundle: Bundle, notes: tuple[str, ...] = ()) -> RoundStep:
    least, most = rounds.ROLES.get(current.role, (None, None))
    instruction = rounds.write_instruction(current)
    return RoundStep(
        role=current.role,
        topic=current.topic,
        least_chars=least,
        most_chars=most,
        instruction=render.prefix_instruction(instruction, bundle),
        bundle_id=bundle.id,
        started_at=current.started_at,
        notes=notes,
    )
