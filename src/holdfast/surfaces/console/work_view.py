"""What the workstreams screen shows: a judged repo context, in the order in which one reads it, the
worst first.

Everything here is somebody's text or a file's line; it is shown and never believed. What a button
would run comes from this machine's own journal, because a file in a repository may say anything
about a command.
"""

from __future__ import annotations

import hashlib
import os
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from holdfast.errors import HoldfastError
from holdfast.ground import git, git_repository
from holdfast.ground.confined import ConfinedRoot
from holdfast.ground.errors import FileMissingError
from holdfast.ground.text import cut, plural
from holdfast.ground.worktree import find_worktree
from holdfast.surfaces.console import applet, links, pictures, showing
from holdfast.workstreams import evidence
from holdfast.workstreams.entries import DECISION_STATUSES, Claim
from holdfast.workstreams.errors import ProofNotFoundError
from holdfast.workstreams.evidence import BrokenEvidence, CommandEvidence, NotedEvidence
from holdfast.workstreams.model import (
    JudgedClaim,
    JudgedContext,
    JudgedDecision,
    JudgedEvidence,
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
PLACES_SHOWN = 4
LINES_SHOWN = 8
LINE_CHARS = 200
PROOFS_SHOWN = 6
DECISIONS_SHOWN = 50
OUTPUT_CHARS = 2_000


@dataclass(frozen=True)
class EvidencePlace:
    """Evidence in a file, beside the lines as they are now."""

    text: str
    verdict: str
    words: str
    link: str | None = None
    first: int = 1
    lines: tuple[str, ...] = ()
    left_out: int = 0


@dataclass(frozen=True)
class ProofShown:
    """A command that was run. `again` is what a button may run: a proof that this machine has made
    itself.
    """

    command: str
    exit_code: object
    ran_at: datetime | None
    verdict: str
    words: str
    output: str = ""
    again: Proof | None = None


@dataclass(frozen=True)
class ClaimShown:
    anchor: str
    claim: JudgedClaim
    claimed_at: datetime | None
    places: tuple[EvidencePlace, ...]
    proofs: tuple[ProofShown, ...]
    left_out: int


@dataclass(frozen=True)
class DecisionShown:
    """`of` is the other phase or another branch, whose decisions count here too."""

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
        )
        return not any(noted) and not context.last_run and not context.read_only

    @property
    def mark(self) -> str:
        """What tells this state from any other, so that a page is written anew only when something
        changed.
        """
        return hashlib.sha256(repr(self).encode("utf-8", "backslashreplace")).hexdigest()[:16]


@dataclass(frozen=True)
class WorkChoice:
    """A line of the picker."""

    name: str
    branch: str
    phase: str
    is_here: bool


# --- which one ------------------------------------------------------------------------------------


def list_choices(listed: Iterable[ListedContext]) -> list[WorkChoice]:
    return [
        WorkChoice(each.key.workstream_id, each.key.branch, each.phase, each.judged is not None)
        for each in listed
    ]


def choose(
    choices: Sequence[WorkChoice], workstream_id: str | None, phase: str | None
) -> tuple[str | None, str]:
    """What was asked for; else the branch's own, which is None, else the first that is noted."""
    here = sorted(
        (choice for choice in choices if choice.is_here),
        key=lambda choice: choice.name != choice.branch,
    )
    first = here[0] if here else None
    if workstream_id:
        return workstream_id, phase or _choose_phase(choices, workstream_id)
    if first is None:
        return None, phase or "implementation"
    name = None if first.name == first.branch else first.name
    return name, phase or _choose_phase(here, first.name)


def _choose_phase(choices: Iterable[WorkChoice], name: str) -> str:
    phases = {choice.phase for choice in choices if choice.name == name}
    return "planning" if phases == {"planning"} else "implementation"


# --- the whole ------------------------------------------------------------------------------------


async def find_proofs(workstreams: WorkstreamService, judged: JudgedContext) -> dict[str, Proof]:
    """By id, those that this machine made for this repository: only they can be run again here."""
    found = {proof.id: proof for proof in judged.proofs}
    commands = [command for claim in judged.context.ledger for command in claim.commands or ()]
    named = {command.proof for command in commands if command.proof}
    for proof_id in sorted(named - found.keys())[: 2 * CLAIMS_SHOWN]:
        try:
            found[proof_id] = await workstreams.get_proof(proof_id)
        except ProofNotFoundError:
            continue
    return {
        proof_id: proof
        for proof_id, proof in found.items()
        if proof.repo == judged.context.key.repo
    }


def make_work(
    judged: JudgedContext, roots: Sequence[ConfinedRoot], folder: str, known: Mapping[str, Proof]
) -> Work:
    """`folder` is in the checkout that was judged; files are read through the folders that may be
    shown.
    """
    top = find_worktree(folder)
    pairs = zip(judged.claims, judged.context.ledger, strict=True)
    entries = sorted(pairs, key=lambda pair: WORST_FIRST.index(pair[0].verdict))
    first = entries[:CLAIMS_SHOWN]
    named = [shown.path for claim, _ in first for shown in claim.evidence if shown.path]
    changed = [change.path for change in judged.staleness.changed]
    reader = Reader(roots, top, find_diff_links(judged, top, {*named, *changed}))
    shown = [_show_claim(claim, entry, reader, judged, known) for claim, entry in first]
    return Work(
        judged=judged,
        bar=tuple(make_bar(judged.claims)),
        how_stale=describe_summary(judged),
        changes=tuple(
            ChangeShown(change, reader.diffs.get(change.path))
            for change in judged.staleness.changed
        ),
        claims=tuple(shown),
        claims_left_out=len(entries) - len(shown),
        proofs=tuple(
            _show_own_proof(proof, judged)
            for proof in _list_last_runs(judged.proofs)[:PROOFS_SHOWN]
        ),
        decisions=tuple(list_decisions(judged)),
    )


def make_bar(claims: Sequence[JudgedClaim]) -> list[pictures.Piece]:
    counts = Counter(claim.verdict for claim in claims)
    return pictures.stack_pieces(
        [(verdict, VERDICTS[verdict], counts[verdict]) for verdict in VERDICTS]
    )


def describe_summary(judged: JudgedContext) -> str:
    found = judged.staleness
    if judged.context.summary is None:
        return "No summary was saved yet, so nothing can be stale."
    if not found.stale:
        return "Fresh: the tracked files are as they were when the summary was written."
    return f"Stale: {describe_staleness(found)}. {describe_others(found)}".rstrip()


def list_decisions(judged: JudgedContext) -> list[DecisionShown]:
    """Open ones first, then what holds, then what was rejected; of each the newest first."""
    shown = [_show_decision(each) for each in (*judged.decisions, *judged.shared_decisions)]
    shown.reverse()
    return sorted(shown, key=lambda decision: DECISION_STATUSES.index(decision.status))[
        :DECISIONS_SHOWN
    ]


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
    """By path, against the commit that the summary was written at, where that is still here; else
    against HEAD.

    What is no longer there is in one of the two, or no diff knows it: then there is no link, which
    would lead nowhere.
    """
    since = judged.context.checkpoint.git_head
    is_here = git_repository.is_commit(since) and judged.staleness.others is not None
    base = since if is_here else None
    gone = {path for path in paths if not os.path.lexists(os.path.join(top, path))}
    bases = dict.fromkeys(set(paths) - gone, base)
    repository = git.find_repository(top) if gone else None
    if repository and judged.head:
        bases |= dict.fromkeys(git.numstat(repository, judged.head, sorted(gone)), None)
    if repository and base:
        bases |= dict.fromkeys(git.numstat(repository, base, sorted(gone)), base)
    return {
        path: links.diff_link(os.path.join(top, path), since=base) for path, base in bases.items()
    }


# --- claims ---------------------------------------------------------------------------------------


def _show_claim(
    claim: JudgedClaim,
    entry: Claim,
    reader: Reader,
    judged: JudgedContext,
    known: Mapping[str, Proof],
) -> ClaimShown:
    files, commands = entry.files or (), entry.commands or ()
    of_files, of_commands = claim.evidence[: len(files)], claim.evidence[len(files) :]
    file_pairs = list(zip(of_files, files, strict=True))[:PLACES_SHOWN]
    command_pairs = list(zip(of_commands, commands, strict=True))[:PLACES_SHOWN]
    places = tuple(_show_place(shown, noted, reader) for shown, noted in file_pairs)
    proofs = tuple(_show_proof(shown, noted, judged, known) for shown, noted in command_pairs)
    anchor = hashlib.sha256(claim.id.encode("utf-8", "backslashreplace")).hexdigest()
    return ClaimShown(
        anchor=f"claim-{anchor[:12]}",
        claim=claim,
        claimed_at=showing.as_moment(claim.claimed_at),
        places=places,
        proofs=proofs,
        left_out=len(claim.evidence) - len(places) - len(proofs),
    )


class Reader:
    """The lines of a checkout's files, each read once, and their diffs; nothing outside what may be
    shown.
    """

    def __init__(self, roots: Sequence[ConfinedRoot], top: str, diffs: Mapping[str, str]):
        self.roots, self.top, self.diffs = roots, top, diffs
        self._known: dict[str, list[str] | HoldfastError] = {}

    def full_path(self, path: str) -> str:
        return os.path.join(self.top, path)

    def read(self, path: str) -> list[str] | HoldfastError:
        if path not in self._known:
            self._known[path] = self._read(self.full_path(path))
        return self._known[path]

    def _read(self, path: str) -> list[str] | HoldfastError:
        try:
            copy = applet.find_shown_root(self.roots, path).read(path, max_bytes=applet.MOST_BYTES)
        except HoldfastError as error:
            return error
        return evidence.split_lines(evidence.text_of(copy.data))


def _show_place(shown: JudgedEvidence, noted: NotedEvidence, reader: Reader) -> EvidencePlace:
    if shown.path is None or isinstance(
        noted, BrokenEvidence
    ):  # what stood there was no evidence, and the text says why
        return EvidencePlace(shown.text, shown.verdict, "It cannot be read.")
    found = reader.read(shown.path)
    if isinstance(found, FileMissingError):
        link = reader.diffs.get(shown.path)
        return EvidencePlace(shown.text, shown.verdict, "The file is no longer there.", link)
    if isinstance(found, HoldfastError):
        return EvidencePlace(shown.text, shown.verdict, "Its lines are not shown here.")
    if shown.verdict == "gone":
        link = reader.diffs.get(shown.path)
        return EvidencePlace(shown.text, shown.verdict, "It is no longer in the file.", link)
    return _show_excerpt(shown, noted.lines, found, reader)


def _show_excerpt(
    shown: JudgedEvidence, noted: tuple[int, int] | None, lines: Sequence[str], reader: Reader
) -> EvidencePlace:
    """Where it is now; where that is not known, the place that was noted; of a whole file its
    beginning.
    """
    first, last = shown.lines or noted or (1, len(lines))
    run = lines[first - 1 : last]
    excerpt = tuple(cut(line, LINE_CHARS) for line in run[:LINES_SHOWN])
    link = links.line_link(reader.full_path(shown.path or ""), None, first, first)
    words = _describe_place(shown, len(lines), first)
    return EvidencePlace(
        shown.text, shown.verdict, words, link, first, excerpt, len(run) - len(excerpt)
    )


def _describe_place(shown: JudgedEvidence, total: int, first: int) -> str:
    if shown.verdict == "moved" and shown.lines:
        return f"The same text, now at {shown.lines_text}."
    if shown.verdict == "ok":
        return "As it was when this was claimed."
    if first > total:
        return f"Edited since: the file has {plural(total, 'line')} now."
    return "Edited since. This stands there now:"


# --- proofs ---------------------------------------------------------------------------------------


def _show_proof(
    shown: JudgedEvidence, noted: CommandEvidence, judged: JudgedContext, known: Mapping[str, Proof]
) -> ProofShown:
    """What a claim names as its proof. The newest run of the same command tells more than the one
    that was named.
    """
    named = known.get(noted.proof or "")
    if named is None:
        return _show_foreign_proof(shown, noted)
    newest = next((proof for proof in judged.proofs if _is_same_run(proof, named)), named)
    return _show_own_proof(newest, judged)


def _show_foreign_proof(shown: JudgedEvidence, noted: CommandEvidence) -> ProofShown:
    failed = "" if noted.exit_code == 0 else "It failed. "
    words = f"{failed}It was run on another machine, or is not kept here, so it cannot be run again here."
    command = noted.command
    text = command if isinstance(command, str) else shlex.join(command or ())
    return ProofShown(text, noted.exit_code, showing.as_moment(noted.ran_at), shown.verdict, words)


def _show_own_proof(proof: Proof, judged: JudgedContext) -> ProofShown:
    verdict = "ok" if proof.passed and proof.tree == judged.tree else "changed"
    return ProofShown(
        command=shlex.join(proof.command),
        exit_code=proof.exit_code,
        ran_at=showing.as_moment(proof.ran_at),
        verdict=verdict,
        words=_describe_run(proof, judged.tree),
        output=proof.output_tail[-OUTPUT_CHARS:],
        again=proof,
    )


def _describe_run(proof: Proof, tree: str) -> str:
    if proof.exit_code:
        where = "the files as they are now" if proof.tree == tree else "other files than these"
        return f"It failed, on {where}."
    if proof.tree is None:
        return "The files changed while it ran: it proves nothing."
    if proof.tree != tree:
        return "It ran on other files than these: it proves nothing now."
    return "It ran on the files as they are now."


def _list_last_runs(proofs: Iterable[Proof]) -> list[Proof]:
    """The newest run of each command."""
    newest: dict[object, Proof] = {}
    for proof in proofs:
        newest.setdefault((proof.command, proof.folder), proof)
    return list(newest.values())


def _is_same_run(first: Proof, second: Proof) -> bool:
    return (first.command, first.folder) == (second.command, second.folder)
