"""What a branch begins with: notes of the branches that its HEAD has merged.

They come from the committed files of HEAD, of both phases, and from nowhere else: what another
branch holds uncommitted or unmerged is not known here, whatever this machine has saved of it. They
follow the branch's own notes, and a year of merged branches costs no more than a few: the
workstreams whose files this branch touches are looked at first, then the newest ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import zip_longest

from holdfast.ground import git, git_repository
from holdfast.ground.frozen import dataclass, replace
from holdfast.ground.git_refs import is_branch_name
from holdfast.ground.light_typing import TypeVar
from holdfast.workstreams import judging
from holdfast.workstreams.checkout import Checkout
from holdfast.workstreams.committed import load_committed
from holdfast.workstreams.document import Document
from holdfast.workstreams.entries import Claim, Decision
from holdfast.workstreams.evidence import TreeRuns
from holdfast.workstreams.finding import get_context
from holdfast.workstreams.model import (
    CHECKLIST,
    PHASES,
    Inherited,
    JudgedClaim,
    JudgedDecision,
    Key,
    NotedStep,
    RepoContext,
)

CONTEXTS_READ = 10
DECISIONS, CLAIMS, STEPS = 5, 3, 3
CLAIMS_JUDGED = 30

Noted = TypeVar("Noted")


@dataclass(frozen=True)
class Merged:
    """Workstreams of other branches: those whose files this branch touches, and the rest."""

    touched: tuple[RepoContext, ...] = ()
    others: tuple[RepoContext, ...] = ()
    unnamed: int = 0  # left out, because the file gives them a name that is not a branch's

    @property
    def contexts(self) -> tuple[RepoContext, ...]:
        return (*self.touched, *self.others)

    def list_in_turn(
        self, list_noted: Callable[[RepoContext], Iterable[Noted]]
    ) -> list[tuple[str, Noted]]:
        """What they noted with its branch, of each in turn, so that one does not hide the rest."""
        found: list[tuple[str, Noted]] = []
        for group in (self.touched, self.others):
            columns = [_name_branch(context, list_noted(context)) for context in group]
            for row in zip_longest(*columns):
                found += [entry for entry in row if entry is not None]
        return found


def _name_branch(context: RepoContext, noted: Iterable[Noted]) -> list[tuple[str, Noted]]:
    return [(context.key.branch, entry) for entry in noted]


def list_merged(checkout: Checkout, here: RepoContext) -> Merged:
    """The workstreams of other branches in HEAD's files, those that matter here first."""
    found: list[RepoContext] = []
    for phase in PHASES:
        if phase == here.phase or checkout.files.has_file(phase):  # else git need not be asked
            found += _list_noted(checkout, here.key, phase)
    noted = [context for context in found if is_branch_name(context.key.branch)]
    unnamed = len(found) - len(noted)
    noted.sort(key=lambda context: context.fields.changed_at, reverse=True)
    if len(noted) < 2:
        return Merged(others=tuple(noted), unnamed=unnamed)
    files = _list_touched(checkout)
    touched = [context for context in noted if not files.isdisjoint(context.list_noted_files())]
    others = [context for context in noted if files.isdisjoint(context.list_noted_files())]
    first = touched[:CONTEXTS_READ]
    return Merged(tuple(first), tuple(others[: CONTEXTS_READ - len(first)]), unnamed)


def _list_noted(checkout: Checkout, here: Key, phase: str) -> list[RepoContext]:
    document = _load_head(checkout, phase)
    names = _list_names(checkout, here, document)
    others = [key for key in document.contexts if key.repo in names and key.branch != here.branch]
    found = [get_context(document, key, phase) for key in others]
    return [context for context in found if not context.is_empty]


def _list_names(checkout: Checkout, here: Key, document: Document) -> set[str]:
    """The names that this repository has: before it had a remote its first commit was its name."""
    names = {here.repo}
    earlier = {key.repo for key in document.contexts if git_repository.is_commit(key.repo)} - names
    if earlier:
        names |= earlier & {git_repository.find_first_commit(checkout.repository)}
    return names


def inherit(
    checkout: Checkout, merged: Merged, here: RepoContext, shown: Iterable[Decision], runs: TreeRuns
) -> Inherited:
    """Decisions, claims that hold here and open steps, a few of each; nothing that is here already.

    `shown` are the decisions of this branch. The branches are named once where it has no notes.
    """
    branches = dict.fromkeys(context.key.branch for context in merged.contexts)
    decisions = _list_decisions(merged, {decision.text for decision in shown})
    steps = _list_steps(merged, here)
    return Inherited(
        decisions=tuple(decisions[:DECISIONS]),
        claims=tuple(_choose_claims(checkout, merged, here, runs)),
        steps=tuple(steps[:STEPS]),
        branches=tuple(branches) if here.is_empty else (),
        more=_count_more(decisions[DECISIONS:], steps[STEPS:]),
    )


def _count_more(
    decisions: Sequence[JudgedDecision], steps: Sequence[NotedStep]
) -> Mapping[str, int]:
    more = Counter(str(judged.status) for judged in decisions)
    more[CHECKLIST] = len(steps)
    return more


def _list_decisions(merged: Merged, shown: set[str | None]) -> list[JudgedDecision]:
    """The newest first; of the same words, as they were said last."""
    found = merged.list_in_turn(_list_newest_decisions)
    by_time = sorted(found, key=lambda noted: noted[1].changed_at)
    latest = {decision.words: decision for _, decision in by_time}
    return [
        JudgedDecision(decision, of=branch)
        for branch, decision in found
        if decision is latest[decision.words] and decision.text not in shown
    ]


def _list_newest_decisions(context: RepoContext) -> list[Decision]:
    return sorted(context.decisions, key=lambda each: each.changed_at, reverse=True)


def _choose_claims(
    checkout: Checkout, merged: Merged, here: RepoContext, runs: TreeRuns
) -> list[JudgedClaim]:
    """The first that hold, of a bounded number that is judged."""
    known = {claim.words for claim in here.ledger}
    chosen: list[JudgedClaim] = []
    for branch, claim in merged.list_in_turn(_list_newest_claims)[:CLAIMS_JUDGED]:
        if claim.words in known:
            continue
        judged = judging.judge_claim(checkout, claim, runs)
        if judged.holds:
            chosen.append(replace(judged, of=branch))
            known.add(claim.words)
        if len(chosen) == CLAIMS:
            break
    return chosen


def _list_newest_claims(context: RepoContext) -> list[Claim]:
    return sorted(context.ledger, key=lambda claim: claim.changed_at, reverse=True)


def _list_steps(merged: Merged, here: RepoContext) -> list[NotedStep]:
    found = merged.list_in_turn(lambda context: context.checklist)
    first = {step: branch for branch, step in reversed(found) if step not in here.checklist}
    return [NotedStep(step, of=branch) for step, branch in reversed(first.items())]


def _list_touched(checkout: Checkout) -> set[str]:
    """The files that differ from the default branch, and uncommitted ones."""
    default = git.find_default_branch(checkout.repository)
    since = default.commit if default and default.commit != checkout.find_head() else None
    return set(checkout.find_state(since).changed)


def _load_head(checkout: Checkout, phase: str) -> Document:
    head = checkout.find_head()
    if head is None:
        return Document()
    return load_committed(checkout, head, phase)
