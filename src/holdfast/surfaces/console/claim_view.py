"""A claim on the workstreams screen: its evidence beside the lines as they are now, and its proofs.

Files are read only through the folders that may be shown. A proof has a button only where this
machine's own journal has it: a file in a repository may name any command.
"""

from __future__ import annotations

import hashlib
import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from holdfast.errors import HoldfastError
from holdfast.ground.confined import ConfinedRoot
from holdfast.ground.errors import FileMissingError
from holdfast.ground.frozen import dataclass, replace
from holdfast.ground.text import cut, plural
from holdfast.surfaces.console import applet, links, showing
from holdfast.workstreams import evidence, file_text, line_runs
from holdfast.workstreams.entries import Claim
from holdfast.workstreams.evidence import BrokenEvidence, CommandEvidence, NotedEvidence
from holdfast.workstreams.model import JudgedClaim, JudgedContext, JudgedEvidence, Proof

PLACES_SHOWN = 4
LINES_SHOWN = 8
LINE_CHARS = 200
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


def show_claim(
    claim: JudgedClaim,
    entry: Claim,
    reader: Reader,
    judged: JudgedContext,
    known: Mapping[str, Proof],
) -> ClaimShown:
    """The verdicts on the evidence come in its order: files first, then commands."""
    files = entry.files or ()
    commands = entry.commands or ()
    on_files = claim.evidence[: len(files)]
    on_commands = claim.evidence[len(files) :]
    file_pairs = list(zip(on_files, files, strict=True))[:PLACES_SHOWN]
    command_pairs = list(zip(on_commands, commands, strict=True))[:PLACES_SHOWN]
    digest = hash_text(claim.id)
    return ClaimShown(
        anchor=f"claim-{digest[:12]}",
        claim=claim,
        claimed_at=showing.as_moment(claim.claimed_at),
        places=tuple(_show_place(verdict, noted, reader) for verdict, noted in file_pairs),
        proofs=tuple(
            _show_proof(verdict, noted, judged, known) for verdict, noted in command_pairs
        ),
        left_out=len(claim.evidence) - len(file_pairs) - len(command_pairs),
    )


def hash_text(text: str) -> str:
    data = text.encode("utf-8", "backslashreplace")
    return hashlib.sha256(data).hexdigest()


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
        text = file_text.decode_text(copy.data)
        return line_runs.split_lines(text)


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
    whole_file = (1, len(lines))
    first, last = shown.lines or noted or whole_file
    run = lines[first - 1 : last]
    excerpt = tuple(cut(line, LINE_CHARS) for line in run[:LINES_SHOWN])
    full = reader.full_path(shown.path or "")
    link = links.line_link(full, None, asked=first, target=first)
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
    if shown.why == evidence.NOT_COMPARED.why:
        return "Not compared. The current lines:"
    if first > total:
        count = plural(total, "line")
        return f"Edited since: the file has {count} now."
    return "Edited since. The current lines:"


# --- proofs ---------------------------------------------------------------------------------------


def _show_proof(
    shown: JudgedEvidence, noted: CommandEvidence, judged: JudgedContext, known: Mapping[str, Proof]
) -> ProofShown:
    """The proof that a claim names, or a newer run of the same command."""
    named = known.get(noted.proof or "")
    if named is None:
        return _show_foreign_proof(shown, noted)
    for proof in judged.proofs:  # the newest comes first
        if _is_same_run(proof, named):
            return show_own_proof(proof, judged)
    return _show_proof_in_doubt(shown, show_own_proof(named, judged))


def _show_proof_in_doubt(shown: JudgedEvidence, named: ProofShown) -> ProofShown:
    """A run that was withdrawn shows nothing, however it ended."""
    if named.verdict == shown.verdict:
        return named
    return replace(named, verdict=shown.verdict, words=f"{shown.why.capitalize()}.")


def _show_foreign_proof(shown: JudgedEvidence, noted: CommandEvidence) -> ProofShown:
    words = FOREIGN_PROOF
    if noted.exit_code != 0:
        words = f"It failed. {FOREIGN_PROOF}"
    return ProofShown(
        command=_join_command(noted.command),
        exit_code=noted.exit_code,
        ran_at=showing.as_moment(noted.ran_at),
        verdict=shown.verdict,
        words=words,
    )


def _join_command(command: str | Sequence[str] | None) -> str:
    if isinstance(command, str):
        return command
    return shlex.join(command or ())


def show_own_proof(proof: Proof, judged: JudgedContext) -> ProofShown:
    holds = proof.passed and proof.tree == judged.tree
    return ProofShown(
        command=shlex.join(proof.command),
        exit_code=proof.exit_code,
        ran_at=showing.as_moment(proof.ran_at),
        verdict="ok" if holds else "changed",
        words=_describe_run(proof, judged.tree),
        output=proof.output_tail[-OUTPUT_CHARS:],
        again=proof,
    )


def _describe_run(proof: Proof, tree: str) -> str:
    if proof.exit_code and proof.tree == tree:
        return "It failed, on the files as they are now."
    if proof.exit_code:
        return "It failed, on other files than these."
    if proof.tree is None:
        return "The files changed while it ran: it proves nothing."
    if proof.tree != tree:
        return "It ran on other files than these: it proves nothing now."
    return "It ran on the files as they are now."


def list_last_runs(proofs: Iterable[Proof]) -> list[Proof]:
    """The newest run of each command."""
    newest: dict[object, Proof] = {}
    for proof in proofs:
        newest.setdefault((proof.command, proof.folder), proof)
    return list(newest.values())


def _is_same_run(first: Proof, second: Proof) -> bool:
    return (first.command, first.folder) == (second.command, second.folder)
