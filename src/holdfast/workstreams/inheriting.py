"""What a branch begins with: notes of the branches that its HEAD has merged.

They come from the committed file of HEAD and from nowhere else: what another branch holds
uncommitted or unmerged is not known here, whatever this machine has saved of it. A year of merged
branches costs no more than a few: the workstreams whose files this branch touches are looked at
first, then the newest ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from holdfast.ground import git
from holdfast.workstreams import judging
from holdfast.workstreams.checkout import Checkout
from holdfast.workstreams.committed import load_committed
from holdfast.workstreams.document import Document
from holdfast.workstreams.entries import Claim
from holdfast.workstreams.finding import get_context
from holdfast.workstreams.model import (
    Inherited,
    JudgedClaim,
    JudgedDecision,
    NotedStep,
    RepoContext,
)

CONTEXTS_READ = 10
DECISIONS, CLAIMS, STEPS = 5, 3, 3
CLAIMS_JUDGED = 30


def list_merged(checkout: Checkout, here: RepoContext) -> list[RepoContext]:
    """The workstreams of other branches in HEAD's file, those that matter here first."""
    document = _load_head(checkout, here.phase)
    keys = [key for key in document.contexts if key.repo == here.key.repo]
    others = [key for key in keys if key.branch != here.key.branch]
    found = [get_context(document, key, here.phase) for key in others]
    noted = [context for context in found if not context.is_empty]
    noted.sort(key=lambda context: context.fields.changed_at, reverse=True)
    if len(noted) > CONTEXTS_READ:
        touched = _list_touched(checkout)
        noted.sort(key=lambda context: touched.isdisjoint(context.list_noted_files()))
    return noted[:CONTEXTS_READ]


def list_decisions(merged: Iterable[RepoContext], here: RepoContext) -> list[JudgedDecision]:
    """The newest first; what this workstream has itself is not repeated."""
    own = {decision.text for decision in here.decisions}
    latest: dict[str | None, JudgedDecision] = {}
    for context in merged:
        for decision in context.decisions:
            judged = JudgedDecision(decision, of=context.key.branch)
            known = latest.get(decision.text)
            if known is None or known.changed_at < judged.changed_at:
                latest[decision.text] = judged
    others = [judged for text, judged in latest.items() if text not in own]
    return sorted(others, key=lambda judged: judged.changed_at, reverse=True)


def inherit(checkout: Checkout, merged: Sequence[RepoContext], tree: str) -> Inherited:
    """Decisions, claims that hold here and open steps, a few of each."""
    return Inherited(
        decisions=tuple(_choose_decisions(merged)),
        claims=tuple(_choose_claims(checkout, merged, tree)),
        steps=tuple(_choose_steps(merged)),
        branches=tuple(context.key.branch for context in merged),
    )


def _choose_decisions(merged: Sequence[RepoContext]) -> list[JudgedDecision]:
    """Of each workstream in turn, the newest first, so that one does not hide all others."""
    found: list[JudgedDecision] = []
    for context in merged:
        newest = sorted(context.decisions, key=lambda each: each.changed_at, reverse=True)
        found += [JudgedDecision(decision, of=context.key.branch) for decision in newest]
    return found[:DECISIONS]


def _choose_claims(
    checkout: Checkout, merged: Sequence[RepoContext], tree: str
) -> list[JudgedClaim]:
    """The first that hold, of a bounded number that is judged."""
    chosen: list[JudgedClaim] = []
    for branch, claim in _list_claims(merged)[:CLAIMS_JUDGED]:
        judged = judging.judge_claim(checkout, claim, tree)
        if judged.holds:
            chosen.append(replace(judged, of=branch))
        if len(chosen) == CLAIMS:
            break
    return chosen


def _list_claims(merged: Iterable[RepoContext]) -> list[tuple[str, Claim]]:
    found: list[tuple[str, Claim]] = []
    for context in merged:
        newest = sorted(context.ledger, key=lambda claim: claim.changed_at, reverse=True)
        found += [(context.key.branch, claim) for claim in newest]
    return found


def _choose_steps(merged: Iterable[RepoContext]) -> list[NotedStep]:
    found: list[NotedStep] = []
    for context in merged:
        found += [NotedStep(step, of=context.key.branch) for step in context.checklist]
    return found[:STEPS]


def _list_touched(checkout: Checkout) -> set[str]:
    """The files that differ from the default branch, and uncommitted ones."""
    default = git.find_default_branch(checkout.repository)
    since = default.commit if default else None
    return set(checkout.find_state(since).changed)


def _load_head(checkout: Checkout, phase: str) -> Document:
    head = checkout.find_head()
    if head is None:
        return Document()
    return load_committed(checkout, head, phase)
