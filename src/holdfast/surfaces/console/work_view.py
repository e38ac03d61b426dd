"""What the workstreams screen shows: a judged repo context, in the order in which one reads it, the worst first.

Everything here is somebody's text or a file's line; it is shown and never believed. What a button would run comes from
this machine's own journal, because a file in a repository may say anything about a command.
"""

from __future__ import annotations

import hashlib
import os
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from holdfast.errors import HoldfastError, InvalidValueError
from holdfast.ground import git, git_repository
from holdfast.ground.confined import ConfinedRoot
from holdfast.ground.errors import FileMissingError
from holdfast.ground.text import cut
from holdfast.ground.worktree import find_worktree
from holdfast.surfaces.console import applet, links, pictures, showing
from holdfast.workstreams import evidence
from holdfast.workstreams.errors import ProofNotFoundError
from holdfast.workstreams.model import (
    DECISION_STATUSES,
    JudgedClaim,
    JudgedContext,
    JudgedEvidence,
    NotedChange,
    Proof,
    Staleness,
)
from holdfast.workstreams.service import WorkstreamService

# What each verdict is called here, in the order of the bar.
VERDICTS = {"ok": "fresh", "moved": "moved", "changed": "changed", "gone": "gone", "said": "only said"}
WORST_FIRST = ("gone", "changed", "moved", "said", "ok")
CLAIMS_SHOWN = 50
PLACES_SHOWN = 4
LINES_SHOWN = 8
LINE_CHARS = 200
PROOFS_SHOWN = 6
DECISIONS_SHOWN = 50
OUTPUT_CHARS = 2_000


@dataclass(frozen=True)
class Place:
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
    """A command that was run. `again` is what a button may run: a proof that this machine has made itself."""

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
    places: tuple[Place, ...]
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
class Change:
    change: NotedChange
    link: str | None


@dataclass(frozen=True)
class Work:
    """One workstream in one phase, as this checkout sees it."""

    judged: JudgedContext
    bar: tuple[pictures.Piece, ...]
    how_stale: str
    changes: tuple[Change, ...]
    claims: tuple[ClaimShown, ...]
    claims_left_out: int
    proofs: tuple[ProofShown, ...]
    decisions: tuple[DecisionShown, ...]

    @property
    def is_empty(self) -> bool:
        context = self.judged.context
        noted = (context.summary, context.ledger, self.decisions, context.checklist, context.pointers)
        return not any(noted) and not context.last_run and not context.read_only

    @property
    def mark(self) -> str:
        """What tells this state from any other, so that a page is written anew only when something changed."""
        return hashlib.sha256(repr(self).encode("utf-8", "backslashreplace")).hexdigest()[:16]


@dataclass(frozen=True)
class Choice:
    """A line of the picker."""

    name: str
    branch: str
    phase: str
    is_here: bool


# --- which one ---------------------------------------------------------------------------------------------


def choices_of(listed: Iterable[Mapping[str, Any]]) -> list[Choice]:
    return [
        Choice(one["key"]["workstream_id"], one["key"]["branch"], one["phase"], one["context"] is not None)
        for one in listed
    ]


def choose(choices: Sequence[Choice], workstream_id: str | None, phase: str | None) -> tuple[str | None, str]:
    """What was asked for; else the branch's own, which is None, else the first that is noted."""
    here = sorted((one for one in choices if one.is_here), key=lambda one: one.name != one.branch)
    first = here[0] if here else None
    name = workstream_id or (first.name if first and first.name != first.branch else None)
    of_that = choices if workstream_id else here
    phases = {one.phase for one in of_that if one.name == (name or (first and first.name))}
    return name, phase or ("planning" if phases == {"planning"} else "implementation")


# --- the whole ---------------------------------------------------------------------------------------------


async def find_proofs(workstreams: WorkstreamService, judged: JudgedContext) -> dict[str, Proof]:
    """By id, those that this machine made for this repository: only they can be run again here."""
    found = {proof.id: proof for proof in judged.proofs}
    named = {one.get("proof") for entry in judged.context.ledger for one in entry.get("commands", [])}
    for proof_id in sorted(one for one in named - found.keys() if isinstance(one, str))[: 2 * CLAIMS_SHOWN]:
        try:
            found[proof_id] = await workstreams.get_proof(proof_id)
        except ProofNotFoundError:
            continue
    return {proof_id: proof for proof_id, proof in found.items() if proof.repo == judged.context.key.repo}


def work_of(judged: JudgedContext, roots: Sequence[ConfinedRoot], folder: str, known: Mapping[str, Proof]) -> Work:
    """`folder` is in the checkout that was judged; files are read through the folders that may be shown."""
    top = find_worktree(folder)
    entries = sorted(zip(judged.claims, judged.context.ledger, strict=True), key=lambda one: _rank(one[0]))
    named = [one.path for claim, _ in entries[:CLAIMS_SHOWN] for one in claim.evidence if one.path]
    changed = [one.path for one in judged.staleness.changed]
    reader = Reader(roots, top, diff_links(judged, top, {*named, *changed}))
    shown = [_claim(claim, entry, reader, judged, known) for claim, entry in entries[:CLAIMS_SHOWN]]
    return Work(
        judged=judged,
        bar=tuple(bar_of(judged.claims)),
        how_stale=how_stale(judged),
        changes=tuple(Change(one, reader.diffs.get(one.path)) for one in judged.staleness.changed),
        claims=tuple(shown),
        claims_left_out=len(entries) - len(shown),
        proofs=tuple(_own_proof(proof, judged) for proof in _last_runs(judged.proofs)[:PROOFS_SHOWN]),
        decisions=tuple(decisions_of(judged)),
    )


def bar_of(claims: Sequence[JudgedClaim]) -> list[pictures.Piece]:
    counts = Counter(claim.verdict for claim in claims)
    return pictures.stacked([(verdict, VERDICTS[verdict], counts[verdict]) for verdict in VERDICTS])


def how_stale(judged: JudgedContext) -> str:
    found = judged.staleness
    if judged.context.summary is None:
        return "No summary was saved yet, so nothing can be stale."
    if not found.stale:
        return "Fresh: the tracked files are as they were when the summary was written."
    if "files" not in found.reasons:
        return "Stale: the summary was changed without being saved."
    return f"Stale: {_noted(found)}{_others(found)}."


def _noted(found: Staleness) -> str:
    if not found.noted:
        return "no file is noted here"
    if not found.changed:
        return f"none of the {showing.plural(found.noted, 'file')} noted here changed"
    return f"{len(found.changed):,} of the {showing.plural(found.noted, 'file')} noted here changed"


def _others(found: Staleness) -> str:
    if found.others is None:
        return "; how many others did is not known, because the commit of the checkpoint is not here"
    if not found.others:
        return ", and no other"
    return f", {found.others:,} other{'' if found.others == 1 else 's'}"


def decisions_of(judged: JudgedContext) -> list[DecisionShown]:
    """Open ones first, then what holds, then what was rejected; of each the newest first."""
    shown = [_decision(one) for one in (*judged.decisions, *judged.shared_decisions)]
    shown.reverse()
    return sorted(shown, key=lambda one: DECISION_STATUSES.index(one.status))[:DECISIONS_SHOWN]


def _decision(entry: Mapping[str, Any]) -> DecisionShown:
    status = entry.get("status")
    return DecisionShown(
        id=str(entry.get("id") or ""),
        status=status if status in DECISION_STATUSES else "open",
        text=str(entry.get("text") or ""),
        because=str(entry.get("because") or ""),
        by=str(entry.get("by") or ""),
        at=showing.as_moment(entry.get("updated_at")),
        of=str(entry.get("of") or ""),
    )


def _rank(claim: JudgedClaim) -> int:
    return WORST_FIRST.index(claim.verdict)


def diff_links(judged: JudgedContext, top: str, paths: Iterable[str]) -> dict[str, str]:
    """By path, against the commit that the summary was written at, where that is still here; else against HEAD.

    What is no longer there is in one of the two, or no diff knows it: then there is no link, which would lead nowhere.
    """
    since = judged.context.checkpoint.get("git_head")
    is_here = git_repository.is_commit(since) and judged.staleness.others is not None
    gone = {path for path in paths if not os.path.lexists(os.path.join(top, path))}
    bases = dict.fromkeys(set(paths) - gone, since if is_here else None)
    if gone and (repository := git.find_repository(top)):
        for commit, base in ((judged.head, None), (since if is_here else None, since)):
            bases |= dict.fromkeys(git.numstat(repository, commit, sorted(gone)) if commit else (), base)
    return {path: links.diff_link(os.path.join(top, path), since=base) for path, base in bases.items()}


# --- claims ------------------------------------------------------------------------------------------------


def _claim(
    claim: JudgedClaim, entry: Mapping[str, Any], reader: Reader, judged: JudgedContext, known: Mapping[str, Proof]
) -> ClaimShown:
    files, commands = entry.get("files", []), entry.get("commands", [])
    of_files, of_commands = claim.evidence[: len(files)], claim.evidence[len(files) :]
    places = [_place(one, raw, reader) for one, raw in zip(of_files, files, strict=True)][:PLACES_SHOWN]
    proofs = [_proof(one, raw, judged, known) for one, raw in zip(of_commands, commands, strict=True)][:PLACES_SHOWN]
    return ClaimShown(
        anchor="claim-" + hashlib.sha256(claim.id.encode("utf-8", "backslashreplace")).hexdigest()[:12],
        claim=claim,
        claimed_at=showing.as_moment(claim.claimed_at),
        places=tuple(places),
        proofs=tuple(proofs),
        left_out=len(claim.evidence) - len(places) - len(proofs),
    )


class Reader:
    """The lines of a checkout's files, each read once, and their diffs; nothing outside what may be shown."""

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
            copy = applet.root_of(self.roots, path).read(path, max_bytes=applet.MOST_BYTES)
        except HoldfastError as error:
            return error
        return evidence.split_lines(evidence.text_of(copy.data))


def _place(one: JudgedEvidence, raw: object, reader: Reader) -> Place:
    if one.path is None:  # what stood there was no evidence, and the text says why
        return Place(one.text, one.verdict, "It cannot be read.")
    found = reader.read(one.path)
    if isinstance(found, FileMissingError):
        return Place(one.text, one.verdict, "The file is no longer there.", reader.diffs.get(one.path))
    if isinstance(found, HoldfastError):
        return Place(one.text, one.verdict, "Its lines are not shown here.")
    if one.verdict == "gone":
        return Place(one.text, one.verdict, "It is no longer in the file.", reader.diffs.get(one.path))
    return _excerpt(one, _noted_lines(raw), found, reader)


def _excerpt(one: JudgedEvidence, noted: tuple[int, int] | None, lines: Sequence[str], reader: Reader) -> Place:
    """Where it is now; where that is not known, the place that was noted; of a whole file its beginning."""
    first, last = one.lines or noted or (1, len(lines))
    run = lines[first - 1 : last]
    shown = tuple(cut(line, LINE_CHARS) for line in run[:LINES_SHOWN])
    link = links.line_link(reader.full_path(one.path or ""), None, first, first)
    return Place(one.text, one.verdict, _words(one, len(lines), first), link, first, shown, len(run) - len(shown))


def _words(one: JudgedEvidence, total: int, first: int) -> str:
    if one.verdict == "moved" and one.lines:
        return f"The same text, now at L{one.lines[0]}-L{one.lines[1]}."
    if one.verdict == "ok":
        return "As it was when this was claimed."
    if first > total:
        return f"Edited since: the file has {showing.plural(total, 'line')} now."
    return "Edited since. This stands there now:"


def _noted_lines(raw: object) -> tuple[int, int] | None:
    try:
        return evidence.Evidence.from_dict(raw).lines
    except InvalidValueError:
        return None


# --- proofs ------------------------------------------------------------------------------------------------


def _proof(
    one: JudgedEvidence, raw: Mapping[str, Any], judged: JudgedContext, known: Mapping[str, Proof]
) -> ProofShown:
    """What a claim names as its proof. The newest run of the same command tells more than the one that was named."""
    named = known.get(str(raw.get("proof")))
    if named is None:
        ran_at = showing.as_moment(raw.get("ran_at"))
        failed = "" if raw.get("exit_code") == 0 else "It failed. "
        words = f"{failed}It was run on another machine, or is not kept here, so it cannot be run again here."
        return ProofShown(_said_command(raw.get("command")), raw.get("exit_code"), ran_at, one.verdict, words)
    newest = next((proof for proof in judged.proofs if _same_run(proof, named)), named)
    return _own_proof(newest, judged)


def _own_proof(proof: Proof, judged: JudgedContext) -> ProofShown:
    verdict = "ok" if proof.passed and proof.tree == judged.tree else "changed"
    return ProofShown(
        command=shlex.join(proof.command),
        exit_code=proof.exit_code,
        ran_at=showing.as_moment(proof.ran_at),
        verdict=verdict,
        words=_on_what(proof, judged.tree),
        output=proof.output_tail[-OUTPUT_CHARS:],
        again=proof,
    )


def _on_what(proof: Proof, tree: str) -> str:
    if proof.exit_code:
        return f"It failed, on {'the files as they are now' if proof.tree == tree else 'other files than these'}."
    if proof.tree is None:
        return "The files changed while it ran: it proves nothing."
    if proof.tree != tree:
        return "It ran on other files than these: it proves nothing now."
    return "It ran on the files as they are now."


def _last_runs(proofs: Iterable[Proof]) -> list[Proof]:
    """The newest run of each command."""
    newest: dict[object, Proof] = {}
    for proof in proofs:
        newest.setdefault((proof.command, proof.folder), proof)
    return list(newest.values())


def _same_run(one: Proof, other: Proof) -> bool:
    return (one.command, one.folder) == (other.command, other.folder)


def _said_command(command: object) -> str:
    return shlex.join(map(str, command)) if isinstance(command, list) else str(command)
