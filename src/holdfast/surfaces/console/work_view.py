"""What the workstreams screen shows: a judged repo context, the worst claims first.

Everything here is stored text or a line of a file: it is shown, and nothing acts on it. What a
button runs comes from this machine's own journal, because a file in a repository may name any
command.
"""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cached_property

from holdfast.ground import git, git_repository
from holdfast.ground.confined import ConfinedRoot
from holdfast.ground.frozen import dataclass
from holdfast.ground.worktree import find_worktree
from holdfast.surfaces.console import links, pictures, showing
from holdfast.surfaces.console.claim_view import (
    ClaimShown,
    ProofShown,
    Reader,
    hash_text,
    list_last_runs,
    show_claim,
    show_own_proof,
)
from holdfast.workstreams.entries import DECISION_STATUSES, Claim
from holdfast.workstreams.errors import ProofNotFoundError
from holdfast.workstreams.model import (
    JudgedClaim,
    JudgedContext,
    JudgedDecision,
    ListedContext,
    NotedChange,
    Proof,
)
from holdfast.workstreams.service import WorkstreamService
from holdfast.workstreams.staleness import describe_others, describe_staleness

# What each verdict is called here, in the order of the bar.
VERDICTS = {
    "ok": "fresh",
    "moved": "moved",
    "changed": "changed",
    "gone": "gone",
    "said": "only said",
}
WORST_FIRST = ("gone", "changed", "moved", "said", "ok")
CLAIMS_SHOWN = 50
PROOFS_SHOWN = 6
DECISIONS_SHOWN = 50


@dataclass(frozen=True)
class DecisionShown:
    """`of` names the other phase or branch that a shared decision comes from."""

    id: str
    status: str
    text: str
    because: str
    by: str
    at: datetime | None
    of: str


@dataclass(frozen=True)
class ChangeShown:
    change: NotedChange
    link: str | None


@dataclass(frozen=True)
class Work:
    """One workstream in one phase, as this checkout sees it."""

    judged: JudgedContext
    bar: tuple[pictures.Piece, ...]
    how_stale: str
    changes: tuple[ChangeShown, ...]
    claims: tuple[ClaimShown, ...]
    claims_left_out: int
    proofs: tuple[ProofShown, ...]
    decisions: tuple[DecisionShown, ...]

    @property
    def is_empty(self) -> bool:
        context = self.judged.context
        noted = (
            context.summary,
            context.ledger,
            self.decisions,
            context.checklist,
            context.pointers,
            context.last_run,
            context.read_only,
        )
        return not any(noted)

    @cached_property
    def mark(self) -> str:
        """Differs between any two states, so that a page is sent again only after a change."""
        return hash_text(repr(self))[:16]


@dataclass(frozen=True)
class WorkChoice:
    """A line of the picker."""

    name: str
    branch: str
    phase: str
    is_here: bool


# --- which workstream -----------------------------------------------------------------------------


def list_choices(listed: Iterable[ListedContext]) -> list[WorkChoice]:
    return [_make_choice(context) for context in listed]


def _make_choice(listed: ListedContext) -> WorkChoice:
    return WorkChoice(
        name=listed.key.workstream_id,
        branch=listed.key.branch,
        phase=listed.phase,
        is_here=listed.is_here,
    )


def choose(
    choices: Sequence[WorkChoice], workstream_id: str | None, phase: str | None
) -> tuple[str | None, str]:
    """What was asked for; else the branch's own, which is None; else the first that is noted."""
    if workstream_id:
        return workstream_id, phase or _choose_phase(choices, workstream_id)
    here = [choice for choice in choices if choice.is_here]
    if not here:
        return None, phase or "implementation"
    for choice in here:
        if choice.name == choice.branch:
            return None, phase or _choose_phase(here, choice.name)
    first = here[0].name
    return first, phase or _choose_phase(here, first)


def _choose_phase(choices: Iterable[WorkChoice], name: str) -> str:
    phases = {choice.phase for choice in choices if choice.name == name}
    if phases == {"planning"}:
        return "planning"
    return "implementation"


# --- the whole ------------------------------------------------------------------------------------


async def find_proofs(workstreams: WorkstreamService, judged: JudgedContext) -> dict[str, Proof]:
    """By id, those that this machine made for this repository: only they can be run again here."""
    found = {proof.id: proof for proof in judged.proofs}
    named = _find_named_proofs(judged.context.ledger)
    unknown = sorted(named - found.keys())
    for proof_id in unknown[: 2 * CLAIMS_SHOWN]:
        with contextlib.suppress(ProofNotFoundError):
            found[proof_id] = await workstreams.get_proof(proof_id)
    repo = judged.context.key.repo
    return {proof_id: proof for proof_id, proof in found.items() if proof.repo == repo}


def _find_named_proofs(ledger: Iterable[Claim]) -> set[str]:
    named: set[str] = set()
    for claim in ledger:
        commands = claim.commands or ()
        named |= {command.proof for command in commands if command.proof}
    return named


def make_work(
    judged: JudgedContext, roots: Sequence[ConfinedRoot], folder: str, known: Mapping[str, Proof]
) -> Work:
    """`folder` is in the judged checkout; files are read through the folders that may be shown."""
    top = find_worktree(folder)
    worst = _list_worst_claims(judged)
    paths = _list_paths(judged, [claim for claim, _ in worst])
    diffs = find_diff_links(judged, top, paths)
    reader = Reader(roots, top, diffs)
    changed = judged.staleness.changed
    last_runs = list_last_runs(judged.proofs)[:PROOFS_SHOWN]
    return Work(
        judged=judged,
        bar=tuple(make_bar(judged.claims)),
        how_stale=describe_summary(judged),
        changes=tuple(ChangeShown(change, diffs.get(change.path)) for change in changed),
        claims=tuple(show_claim(claim, entry, reader, judged, known) for claim, entry in worst),
        claims_left_out=len(judged.claims) - len(worst),
        proofs=tuple(show_own_proof(proof, judged) for proof in last_runs),
        decisions=tuple(list_decisions(judged)),
    )


def _list_worst_claims(judged: JudgedContext) -> list[tuple[JudgedClaim, Claim]]:
    """Each verdict on a claim with the claim itself, as many as a page shows."""
    pairs = zip(judged.claims, judged.context.ledger, strict=True)
    ordered = sorted(pairs, key=lambda pair: WORST_FIRST.index(pair[0].verdict))
    return ordered[:CLAIMS_SHOWN]


def _list_paths(judged: JudgedContext, claims: Iterable[JudgedClaim]) -> set[str]:
    """The files that the page names: evidence of these claims, and what changed since."""
    paths = {change.path for change in judged.staleness.changed}
    for claim in claims:
        paths |= {evidence.path for evidence in claim.evidence if evidence.path}
    return paths


def make_bar(claims: Sequence[JudgedClaim]) -> list[pictures.Piece]:
    counts = Counter(claim.verdict for claim in claims)
    parts = [
        pictures.BarPart(verdict, label, counts[verdict]) for verdict, label in VERDICTS.items()
    ]
    return pictures.stack_pieces(parts)


def describe_summary(judged: JudgedContext) -> str:
    found = judged.staleness
    if judged.context.summary is None:
        return "No summary was saved yet, so nothing can be stale."
    if not found.stale:
        return "Fresh: the tracked files are as they were when the summary was written."
    verdict = f"Stale: {describe_staleness(found)}."
    others = describe_others(found)
    return f"{verdict} {others}".rstrip()


def list_decisions(judged: JudgedContext) -> list[DecisionShown]:
    """Open ones first, then what holds, then what was rejected; of each the newest first."""
    newest_first = reversed((*judged.decisions, *judged.decisions_elsewhere))
    ordered = sorted(newest_first, key=lambda each: DECISION_STATUSES.index(each.status))
    return [_show_decision(decision) for decision in ordered[:DECISIONS_SHOWN]]


def _show_decision(judged: JudgedDecision) -> DecisionShown:
    decision = judged.decision
    return DecisionShown(
        id=decision.id or "",
        status=judged.status,
        text=decision.text or "",
        because=decision.because or "",
        by=decision.by or "",
        at=showing.as_moment(decision.updated_at),
        of=judged.of or "",
    )


def find_diff_links(judged: JudgedContext, top: str, paths: Collection[str]) -> dict[str, str]:
    """By path, against the commit of the summary where that is still here, else against HEAD.

    A file that is missing now gets a link only where one of the two commits has it.
    """
    base = _find_base(judged)
    gone = {path for path in paths if not os.path.lexists(os.path.join(top, path))}
    bases = dict.fromkeys(set(paths) - gone, base)
    if gone:
        bases |= _find_bases_of_gone(judged, top, base, sorted(gone))
    found = {}
    for path, since in bases.items():
        full = os.path.join(top, path)
        found[path] = links.diff_link(full, since=since)
    return found


def _find_base(judged: JudgedContext) -> str | None:
    """The commit that the summary was written at; None where this repository no longer has it."""
    since = judged.context.checkpoint.git_head
    if git_repository.is_commit(since) and judged.staleness.others is not None:
        return since
    return None


def _find_bases_of_gone(
    judged: JudgedContext, top: str, base: str | None, gone: Sequence[str]
) -> dict[str, str | None]:
    """By path, the commit that still has the file, None for HEAD."""
    bases: dict[str, str | None] = {}
    repository = git.find_repository(top)
    if repository and judged.head:
        bases |= dict.fromkeys(git.numstat(repository, judged.head, gone), None)
    if repository and base:
        bases |= dict.fromkeys(git.numstat(repository, base, gone), base)
    return bases
