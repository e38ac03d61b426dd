"""What the workstreams screen shows: a judged repo context, the worst claims first.

Everything here is stored text or a line of a file: it is shown, and nothing acts on it. What a
button runs comes from this machine's own journal, because a file in a repository may name any
command.
"""

from __future__ import annotations

import contextlib
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
from holdfast.workstreams import evidence, line_runs
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
FOREIGN_PROOF = (
    "It was run on another machine, or is not kept here, so it cannot be run again here."
)


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
    """A command that was run; `again` is what a button may run: a proof made on this machine."""

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

    @property
    def mark(self) -> str:
        """Differs between any two states, so that a page is sent again only after a change."""
        return _hash_text(repr(self))[:16]


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
        is_here=listed.judged is not None,
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
    own = [choice for choice in here if choice.name == choice.branch]
    if own:
        return None, phase or _choose_phase(here, own[0].name)
    return here[0].name, phase or _choose_phase(here, here[0].name)


def _choose_phase(choices: Iterable[WorkChoice], name: str) -> str:
    phases = {choice.phase for choice in choices if choice.name == name}
    if phases == {"planning"}:
        return "planning"
    return "implementation"


# --- the whole ------------------------------------------------------------------------------------


async def find_proofs(workstreams: WorkstreamService, judged: JudgedContext) -> dict[str, Proof]:
    """By id, those that this machine made for this repository: only they can be run again here."""
    found = {proof.id: proof for proof in judged.proofs}
    unknown = _find_named_proofs(judged.context.ledger) - found.keys()
    for proof_id in sorted(unknown)[: 2 * CLAIMS_SHOWN]:
        with contextlib.suppress(ProofNotFoundError):
            found[proof_id] = await workstreams.get_proof(proof_id)
    repo = judged.context.key.repo
    return {proof_id: proof for proof_id, proof in found.items() if proof.repo == repo}


def _find_named_proofs(ledger: Iterable[Claim]) -> set[str]:
    commands = [command for claim in ledger for command in claim.commands or ()]
    return {command.proof for command in commands if command.proof}


def make_work(
    judged: JudgedContext, roots: Sequence[ConfinedRoot], folder: str, known: Mapping[str, Proof]
) -> Work:
    """`folder` is in the judged checkout; files are read through the folders that may be shown."""
    top = find_worktree(folder)
    first = _list_worst_claims(judged)
    paths = _list_paths(judged, [claim for claim, _ in first])
    reader = Reader(roots, top, find_diff_links(judged, top, paths))
    shown = [_show_claim(claim, entry, reader, judged, known) for claim, entry in first]
    changed = judged.staleness.changed
    last_runs = _list_last_runs(judged.proofs)[:PROOFS_SHOWN]
    return Work(
        judged=judged,
        bar=tuple(make_bar(judged.claims)),
        how_stale=describe_summary(judged),
        changes=tuple(ChangeShown(change, reader.diffs.get(change.path)) for change in changed),
        claims=tuple(shown),
        claims_left_out=len(judged.claims) - len(shown),
        proofs=tuple(_show_own_proof(proof, judged) for proof in last_runs),
        decisions=tuple(list_decisions(judged)),
    )


def _list_worst_claims(judged: JudgedContext) -> list[tuple[JudgedClaim, Claim]]:
    """Each verdict on a claim with the claim itself, as many as a page shows."""
    pairs = zip(judged.claims, judged.context.ledger, strict=True)
    ordered = sorted(pairs, key=lambda pair: WORST_FIRST.index(pair[0].verdict))
    return ordered[:CLAIMS_SHOWN]


def _list_paths(judged: JudgedContext, claims: Iterable[JudgedClaim]) -> set[str]:
    """The files that the page names: evidence of these claims, and what changed since."""
    named = {shown.path for claim in claims for shown in claim.evidence if shown.path}
    changed = {change.path for change in judged.staleness.changed}
    return named | changed


def make_bar(claims: Sequence[JudgedClaim]) -> list[pictures.Piece]:
    counts = Counter(claim.verdict for claim in claims)
    parts = [(verdict, label, counts[verdict]) for verdict, label in VERDICTS.items()]
    return pictures.stack_pieces(parts)


def describe_summary(judged: JudgedContext) -> str:
    found = judged.staleness
    if judged.context.summary is None:
        return "No summary was saved yet, so nothing can be stale."
    if not found.stale:
        return "Fresh: the tracked files are as they were when the summary was written."
    return f"Stale: {describe_staleness(found)}. {describe_others(found)}".rstrip()


def list_decisions(judged: JudgedContext) -> list[DecisionShown]:
    """Open ones first, then what holds, then what was rejected; of each the newest first."""
    newest_first = reversed((*judged.decisions, *judged.shared_decisions))
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
    return {
        path: links.diff_link(os.path.join(top, path), since=since) for path, since in bases.items()
    }


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


# --- claims ---------------------------------------------------------------------------------------


def _show_claim(
    claim: JudgedClaim,
    entry: Claim,
    reader: Reader,
    judged: JudgedContext,
    known: Mapping[str, Proof],
) -> ClaimShown:
    """The verdicts on the evidence come in its order: files first, then commands."""
    files = entry.files or ()
    commands = entry.commands or ()
    file_pairs = zip(claim.evidence[: len(files)], files, strict=True)
    command_pairs = zip(claim.evidence[len(files) :], commands, strict=True)
    shown_files = list(file_pairs)[:PLACES_SHOWN]
    shown_commands = list(command_pairs)[:PLACES_SHOWN]
    places = tuple(_show_place(shown, noted, reader) for shown, noted in shown_files)
    proofs = tuple(_show_proof(shown, noted, judged, known) for shown, noted in shown_commands)
    return ClaimShown(
        anchor=f"claim-{_hash_text(claim.id)[:12]}",
        claim=claim,
        claimed_at=showing.as_moment(claim.claimed_at),
        places=places,
        proofs=proofs,
        left_out=len(claim.evidence) - len(places) - len(proofs),
    )


def _hash_text(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


class Reader:
    """The lines of a checkout's files, each read once, and the links to their diffs.

    It reads nothing outside the folders that may be shown.
    """

    def __init__(self, roots: Sequence[ConfinedRoot], top: str, diffs: Mapping[str, str]):
        self.roots = roots
        self.top = top
        self.diffs = diffs
        self._known: dict[str, list[str] | HoldfastError] = {}

    def full_path(self, path: str) -> str:
        return os.path.join(self.top, path)

    def read(self, path: str) -> list[str] | HoldfastError:
        if path not in self._known:
            self._known[path] = self._read(self.full_path(path))
        return self._known[path]

    def _read(self, path: str) -> list[str] | HoldfastError:
        try:
            root = applet.find_shown_root(self.roots, path)
            copy = root.read(path, max_bytes=applet.MOST_BYTES)
        except HoldfastError as error:
            return error
        return line_runs.split_lines(evidence.decode_text(copy.data))


def _show_place(shown: JudgedEvidence, noted: NotedEvidence, reader: Reader) -> EvidencePlace:
    # Broken evidence: the file held something else, and its text says what.
    if shown.path is None or isinstance(noted, BrokenEvidence):
        return EvidencePlace(shown.text, shown.verdict, "It cannot be read.")
    found = reader.read(shown.path)
    link = reader.diffs.get(shown.path)
    if isinstance(found, FileMissingError):
        return EvidencePlace(shown.text, shown.verdict, "The file is no longer there.", link)
    if isinstance(found, HoldfastError):
        return EvidencePlace(shown.text, shown.verdict, "Its lines are not shown here.")
    if shown.verdict == "gone":
        return EvidencePlace(shown.text, shown.verdict, "It is no longer in the file.", link)
    return _show_excerpt(shown, noted.lines, found, reader)


def _show_excerpt(
    shown: JudgedEvidence, noted: tuple[int, int] | None, lines: Sequence[str], reader: Reader
) -> EvidencePlace:
    """Where it is now; if that is not known, the noted place; of a whole file its beginning."""
    first, last = shown.lines or noted or (1, len(lines))
    run = lines[first - 1 : last]
    excerpt = tuple(cut(line, LINE_CHARS) for line in run[:LINES_SHOWN])
    link = links.line_link(reader.full_path(shown.path or ""), None, first, first)
    return EvidencePlace(
        text=shown.text,
        verdict=shown.verdict,
        words=_describe_place(shown, len(lines), first),
        link=link,
        first=first,
        lines=excerpt,
        left_out=len(run) - len(excerpt),
    )


def _describe_place(shown: JudgedEvidence, total: int, first: int) -> str:
    if shown.verdict == "moved" and shown.lines:
        return f"The same text, now at {shown.lines_text}."
    if shown.verdict == "ok":
        return "As it was when this was claimed."
    if first > total:
        return f"Edited since: the file has {plural(total, 'line')} now."
    return "Edited since. The current lines:"


# --- proofs ---------------------------------------------------------------------------------------


def _show_proof(
    shown: JudgedEvidence, noted: CommandEvidence, judged: JudgedContext, known: Mapping[str, Proof]
) -> ProofShown:
    """The proof that a claim names, or a newer run of the same command."""
    named = known.get(noted.proof or "")
    if named is None:
        return _show_foreign_proof(shown, noted)
    newest = next((proof for proof in judged.proofs if _is_same_run(proof, named)), named)
    return _show_own_proof(newest, judged)


def _show_foreign_proof(shown: JudgedEvidence, noted: CommandEvidence) -> ProofShown:
    failed = "" if noted.exit_code == 0 else "It failed. "
    return ProofShown(
        command=_join_command(noted.command),
        exit_code=noted.exit_code,
        ran_at=showing.as_moment(noted.ran_at),
        verdict=shown.verdict,
        words=f"{failed}{FOREIGN_PROOF}",
    )


def _join_command(command: str | Sequence[str] | None) -> str:
    if isinstance(command, str):
        return command
    return shlex.join(command or ())


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
