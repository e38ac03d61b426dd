"""What workstreams are about: one line of work in a repository, and the document that it keeps per phase.

A document is JSON that people merge, so it stays JSON: a repo context is its fields as they stand in the file, those
that a later version may add included. What is judged about them on a checkout is beside them, never inside.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

PHASES = ("planning", "implementation")
DECISION_STATUSES = ("open", "accepted", "rejected")
CLAIM_KINDS = ("statement", "completion")
VERDICTS = ("ok", "moved", "changed", "gone")  # from true to false
UNPROVEN = ("changed", "gone")


class Key(NamedTuple):
    """Which line of work; the same in every clone and worktree, so never a path."""

    repo: str
    branch: str
    workstream_id: str

    def to_dict(self) -> dict[str, str]:
        return self._asdict()


@dataclass(frozen=True)
class RepoContext:
    """A workstream's document for one phase."""

    key: Key
    phase: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    revision: int = 0
    # Why it may only be read, and what to do about it; None when it may be written.
    read_only: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def summary(self) -> dict[str, Any] | None:
        """The working summary, or None where nothing was saved yet."""
        found: dict[str, Any] | None = self.fields.get("working_summary")
        return found if found and found.get("text") else None

    @property
    def checkpoint(self) -> dict[str, Any]:
        found: dict[str, Any] = self.fields.get("checkpoint") or {}
        return found

    @property
    def decisions(self) -> list[dict[str, Any]]:
        """Those that stand, each once: what two sides of a merge decided in the same words counts as decided last."""
        return self._standing("open_decisions", "text")

    @property
    def ledger(self) -> list[dict[str, Any]]:
        """The claims that stand, each once."""
        return self._standing("evidence_ledger", "claim")

    @property
    def checklist(self) -> list[str]:
        return list(self.fields.get("checklist", []))

    @property
    def pointers(self) -> list[str]:
        return list(self.fields.get("file_pointers", []))

    @property
    def last_run(self) -> dict[str, Any] | None:
        found: dict[str, Any] | None = self.fields.get("last_run")
        return found

    def entries(self, name: str) -> list[dict[str, Any]]:
        return list(self.fields.get(name, []))

    def _standing(self, name: str, words: str) -> list[dict[str, Any]]:
        entries = self.entries(name)
        latest = {one.get(words): one for one in sorted(entries, key=changed_at)}
        return [one for one in entries if one is latest[one.get(words)] and not one.get("withdrawn_at")]

    def noted_files(self) -> list[str]:
        """Every file that this document speaks of: pointers first, then the evidence of its claims."""
        evidence = [one["path"] for entry in self.ledger for one in entry.get("files", []) if one.get("path")]
        decided = [one["path"] for entry in self.decisions for one in entry.get("files", []) if one.get("path")]
        pointers = [pointer.partition("#")[0] for pointer in self.pointers]
        return list(dict.fromkeys([*pointers, *evidence, *decided]))

    def with_fields(self, **changes: Any) -> RepoContext:
        return replace(self, fields={**self.fields, **changes})

    def to_dict(self) -> dict[str, Any]:
        return {"key": self.key.to_dict(), "phase": self.phase, "revision": self.revision, **_without_key(self.fields)}


def changed_at(entry: Mapping[str, Any]) -> str:
    """When somebody last said something about an entry."""
    return str(entry.get("updated_at") or entry.get("claimed_at") or entry.get("created_at") or entry.get("at") or "")


@dataclass(frozen=True)
class NotedChange:
    """A noted file that is no longer as it was at the checkpoint."""

    path: str
    what: str  # changed, gone, new
    added: int | None = None
    removed: int | None = None
    is_committed: bool = False
    commit: str | None = None
    author: str | None = None

    def to_dict(self) -> dict[str, Any]:
        return dict(self.__dict__)


@dataclass(frozen=True)
class Staleness:
    """How a summary compares with the repository now. A document without a summary is neither fresh nor stale."""

    stale: bool
    reasons: tuple[str, ...] = ()
    noted: int = 0
    changed: tuple[NotedChange, ...] = ()
    others: int | None = 0  # None where the state of the checkpoint is no longer known
    commits: int | None = 0
    uncommitted: int = 0

    def to_dict(self) -> dict[str, Any]:
        return {
            **self.__dict__,
            "reasons": list(self.reasons),
            "changed": [change.to_dict() for change in self.changed],
        }


@dataclass(frozen=True)
class JudgedEvidence:
    """One piece of evidence with its verdict on this checkout."""

    text: str
    verdict: str
    path: str | None = None
    lines: tuple[int, int] | None = None  # where it is now
    why: str = ""  # of what no longer holds

    def to_dict(self) -> dict[str, Any]:
        return {**self.__dict__, "lines": f"L{self.lines[0]}-L{self.lines[1]}" if self.lines else None}


@dataclass(frozen=True)
class JudgedClaim:
    """A claim is as good as its worst evidence; one without evidence is only said."""

    id: str
    claim: str
    kind: str
    claimed_at: str
    evidence: tuple[JudgedEvidence, ...]

    @property
    def verdict(self) -> str:
        return max((one.verdict for one in self.evidence), key=VERDICTS.index, default="said")

    @property
    def holds(self) -> bool:
        return self.verdict in ("ok", "moved")

    def to_dict(self) -> dict[str, Any]:
        evidence = [one.to_dict() for one in self.evidence]
        return {**self.__dict__, "verdict": self.verdict, "holds": self.holds, "evidence": evidence}


@dataclass(frozen=True)
class Proof:
    """A command that was run to show something, with how it ended and on which contents."""

    id: str
    command: tuple[str, ...]
    exit_code: int
    duration_ms: int
    output_hash: str
    output_tail: str
    tree: str | None  # None: the tracked files changed while it ran
    head: str | None
    ran_at: str
    repo: str
    branch: str
    folder: str  # below the worktree, "" at its top

    @property
    def passed(self) -> bool:
        return self.exit_code == 0 and self.tree is not None

    def to_dict(self) -> dict[str, Any]:
        return {**self.__dict__, "command": list(self.command), "passed": self.passed}

    def in_short(self, tree: str) -> dict[str, Any]:
        """Without what it printed, and with whether it says something about these contents."""
        names = ("id", "command", "exit_code", "ran_at", "branch", "passed")
        return {**{name: self.to_dict()[name] for name in names}, "is_of_this_tree": self.tree == tree}


@dataclass(frozen=True)
class JudgedContext:
    """A repo context and what this checkout says about it."""

    context: RepoContext
    staleness: Staleness
    claims: tuple[JudgedClaim, ...]
    decisions: tuple[dict[str, Any], ...]  # with `verdict` where there is evidence
    head: str | None
    tree: str
    rules: tuple[str, ...] = ()
    shared_decisions: tuple[dict[str, Any], ...] = ()  # of the other phase and of other branches; `of` says which
    proofs: tuple[Proof, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        summary = self.context.summary
        return {
            **self.context.to_dict(),
            "head": self.head,
            "stale": self.staleness.stale,
            "staleness": self.staleness.to_dict(),
            "working_summary": {**summary, "stale": self.staleness.stale} if summary else None,
            "open_decisions": list(self.decisions),
            "shared_decisions": list(self.shared_decisions),
            "claims": [claim.to_dict() for claim in self.claims],
            "pinned_rules": list(self.rules),
            "proofs": [one.in_short(self.tree) for one in self.proofs],
            "read_only": self.context.read_only,
            "notes": list(self.context.notes),
        }


def _without_key(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name != "key"}
