"""The types of workstreams: one line of work in a repository, and its document for each phase.

A repo context is what the file holds (`entries`), together with its key. What a checkout says about
it is beside it, never inside.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import cached_property

from holdfast.ground.frozen import asdict, dataclass, field, fields, replace
from holdfast.ground.light_typing import Generic, NamedTuple, TypeVar
from holdfast.workstreams.entries import (
    DECISION_STATUSES,
    Checkpoint,
    Claim,
    ContextFields,
    Decision,
    NotedRun,
    Pointer,
    Summary,
)
from holdfast.workstreams.evidence import CommandEvidence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


PHASES = ("planning", "implementation")
# Fields of a document.
SUMMARY, RUN, CHECKLIST, LABEL = "working_summary", "last_run", "checklist", "feature_request"
VERDICTS = ("ok", "moved", "changed", "gone")  # from true to false

StandingEntry = TypeVar("StandingEntry", Decision, Claim)
Written = TypeVar("Written")


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
    fields: ContextFields = field(default_factory=ContextFields)
    revision: int = 0
    # Why it may only be read, and what to do about it; None when it may be written.
    read_only: str | None = None
    notes: tuple[str, ...] = ()
    own: frozenset[str] = frozenset()  # hashes of the entries that were written on this machine
    saved_at: datetime | None = None  # when this machine saved it
    head: str | None = None  # the commit that was checked out then
    # What this machine saved for another branch of the same name, for `restore` only.
    earlier: ContextFields | None = None

    @property
    def is_empty(self) -> bool:
        return self.fields == ContextFields()

    @property
    def summary(self) -> Summary | None:
        """The working summary, or None where nothing was saved yet."""
        found = self.fields.working_summary
        if found is None or not found.text:
            return None
        return found

    @property
    def checkpoint(self) -> Checkpoint:
        return self.fields.checkpoint or Checkpoint()

    @property
    def decisions(self) -> list[Decision]:
        return list_standing(self.fields.open_decisions or ())

    @property
    def ledger(self) -> list[Claim]:
        return list_standing(self.fields.evidence_ledger or ())

    @property
    def checklist(self) -> list[str]:
        return list(self.fields.checklist or ())

    @property
    def pointers(self) -> list[Pointer]:
        return list(self.fields.file_pointers or ())

    @property
    def last_run(self) -> NotedRun | None:
        return self.fields.last_run

    @property
    def failed_run(self) -> NotedRun | None:
        """The last run, where that failed."""
        run = self.fields.last_run
        if run is None or not run.is_failed:
            return None
        return run

    @property
    def last_errors(self) -> list[NotedRun]:
        return list(self.fields.last_errors or ())

    def list_noted_files(self) -> list[str]:
        """Every file that the document names: pointers first, then evidence."""
        entries: list[Claim | Decision] = [*self.ledger, *self.decisions]
        paths: list[str | None] = [pointer.path for pointer in self.pointers]
        for entry in entries:
            paths += [evidence.path for evidence in entry.files or ()]
        return [path for path in dict.fromkeys(paths) if path]

    def with_fields(self, **changes: Any) -> RepoContext:
        return replace(self, fields=replace(self.fields, **changes))

    def to_dict(self) -> dict[str, Any]:
        noted = self.fields.to_dict()
        noted.pop("key", None)
        return {
            "key": self.key.to_dict(),
            "phase": self.phase,
            "revision": self.revision,
            **noted,
        }


def list_standing(entries: Iterable[StandingEntry]) -> list[StandingEntry]:
    """Those that are not withdrawn, each once: of what two sides of a merge wrote in the same
    words, the last.
    """
    known = list(entries)
    by_time = sorted(known, key=lambda entry: entry.changed_at)
    latest = {entry.words: entry for entry in by_time}
    return [entry for entry in known if entry is latest[entry.words] and not entry.withdrawn_at]


@dataclass(frozen=True)
class ContextChange(Generic[Written]):
    """What a rule made of a document: the new one, and the entry that was written or found.

    `stated` is what the caller said itself, also where the document had the same words already.
    """

    context: RepoContext
    entry: Written
    stated: ContextFields = field(default_factory=ContextFields)


# --- what a checkout says -------------------------------------------------------------------------


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
        return asdict(self)


@dataclass(frozen=True)
class Staleness:
    """How a summary compares with the repository now; without a summary it is not stale."""

    stale: bool
    reasons: tuple[str, ...] = ()
    noted: int = 0
    changed: tuple[NotedChange, ...] = ()
    others: int | None = 0  # None where the state of the checkpoint is no longer known
    commits: int | None = 0
    uncommitted: int = 0

    def to_dict(self) -> dict[str, Any]:
        return {
            **_to_values(self),
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

    @property
    def lines_text(self) -> str | None:
        if self.lines is None:
            return None
        first, last = self.lines
        return f"L{first}-L{last}"

    def to_dict(self) -> dict[str, Any]:
        return {**_to_values(self), "lines": self.lines_text}


@dataclass(frozen=True)
class JudgedClaim:
    """A claim has the verdict of its worst evidence; without evidence it is only `said`."""

    id: str
    claim: str
    kind: str
    claimed_at: str
    evidence: tuple[JudgedEvidence, ...]
    by: str = ""
    of: str | None = None  # the branch that it was made on, where that is another
    is_own: bool = True  # written on this machine
    noted: Claim = field(default_factory=Claim)

    @property
    def verdict(self) -> str:
        verdicts = [judged.verdict for judged in self.evidence]
        return max(verdicts, key=VERDICTS.index, default="said")

    @property
    def holds(self) -> bool:
        return self.verdict in ("ok", "moved")

    def to_dict(self) -> dict[str, Any]:
        names = ("id", "claim", "kind", "claimed_at")
        return {
            **{name: getattr(self, name) for name in names},
            **_describe_origin(self),
            "verdict": self.verdict,
            "holds": self.holds,
            "evidence": [judged.to_dict() for judged in self.evidence],
        }


@dataclass(frozen=True)
class JudgedDecision:
    """A decision that counts here; `of` is the other phase or branch that it was made in."""

    decision: Decision
    evidence: tuple[JudgedEvidence, ...] = ()
    of: str | None = None
    is_own: bool = True  # written on this machine

    @property
    def changed_at(self) -> str:
        return self.decision.changed_at

    @property
    def status(self) -> str:
        """An unknown status counts as open."""
        status = self.decision.status
        return status if status in DECISION_STATUSES else "open"

    def to_dict(self) -> dict[str, Any]:
        return {**self.decision.to_dict(), **_describe_origin(self)}


@dataclass(frozen=True)
class NotedStep:
    """A next step; `of` is the branch that it was noted on, where that is another."""

    text: str
    of: str | None = None
    by: str = ""
    is_own: bool = True


@dataclass(frozen=True)
class Inherited:
    """Notes that HEAD has merged: a branch begins with them, and they follow its own."""

    decisions: tuple[JudgedDecision, ...] = ()
    claims: tuple[JudgedClaim, ...] = ()
    steps: tuple[NotedStep, ...] = ()
    # Where they are from, and where there is more, if the branch has no notes of its own.
    branches: tuple[str, ...] = ()
    # How many more there are: of decisions by status, and of steps.
    more: Mapping[str, int] = field(default_factory=dict)

    def name_origin(self, branch: str | None) -> str:
        """Empty where it is the only one, which is named once for all."""
        if branch is None or self.branches == (branch,):
            return ""
        return branch


@dataclass(frozen=True)
class Proof:
    """A command that was run to show something, with how it ended and on which contents."""

    id: str
    command: tuple[str, ...]
    exit_code: int
    duration_ms: int
    output_hash: str
    output_tail: str
    # What it ran on. Where the tracked files changed meanwhile: None, which shows nothing, or,
    # where it failed, what it left: that is what was seen to fail.
    tree: str | None
    head: str | None
    ran_at: str
    repo: str
    branch: str
    folder: str  # below the worktree, "" at its top

    @property
    def passed(self) -> bool:
        return self.exit_code == 0 and self.tree is not None

    @property
    def words(self) -> str:
        """What stands for it in a sentence."""
        import shlex

        return f"{shlex.join(self.command)} → exit {self.exit_code}"

    @classmethod
    def from_dict(cls, proof_id: str, content: Mapping[str, Any]) -> Proof:
        """As the journal has it; names that a later version added are not ours."""
        names = [each.name for each in fields(cls)]
        known = {name: content[name] for name in names if name in content}
        known["id"] = proof_id
        known["command"] = tuple(content["command"])
        return cls(**known)

    def to_content(self) -> dict[str, Any]:
        """For the journal, which keeps the id beside it."""
        content = {**_to_values(self), "command": list(self.command)}
        content.pop("id")
        return content

    def to_dict(self) -> dict[str, Any]:
        return {**_to_values(self), "command": list(self.command), "passed": self.passed}

    def to_evidence(self) -> CommandEvidence:
        names = ("command", "exit_code", "tree", "ran_at", "output_hash", "duration_ms")
        content = self.to_content()
        known = {name: content[name] for name in names}
        folder = self.folder or None
        return CommandEvidence.from_dict({**known, "proof": self.id, "folder": folder})

    def to_short_dict(self, tree: str) -> dict[str, Any]:
        """Without its output, and with whether it ran on these contents."""
        names = ("id", "command", "exit_code", "ran_at", "branch", "passed")
        known = self.to_dict()
        short = {name: known[name] for name in names}
        short["is_of_this_tree"] = self.tree == tree
        return short


@dataclass(frozen=True)
class JudgedContext:
    """A repo context and what this checkout says about it."""

    context: RepoContext
    staleness: Staleness
    claims: tuple[JudgedClaim, ...]
    decisions: tuple[JudgedDecision, ...]
    head: str | None
    tree: str
    rules: tuple[str, ...] = ()
    shared_decisions: tuple[JudgedDecision, ...] = ()  # of the other phase
    proofs: tuple[Proof, ...] = ()
    inherited: Inherited = Inherited()
    # What was not written on this machine, of the fields whose entries have no mark of their own.
    of_others: ContextFields = field(default_factory=ContextFields)
    uncommitted: tuple[str, ...] = ()  # tracked files that differ from HEAD
    own_paths: tuple[str, ...] = ()  # where notes are kept, which are not among them

    @property
    def has_notes(self) -> bool:
        """Whether there is anything to load, of this line of work or of what it begins with."""
        return bool(
            not self.context.is_empty
            or self.context.read_only
            or self.shared_decisions
            or self.inherited.branches
        )

    @property
    def foreign(self) -> frozenset[str]:
        """The names of these fields."""
        known = fields(self.of_others)
        return frozenset(each.name for each in known if getattr(self.of_others, each.name))

    def is_own(self, entry: NotedRun | Summary) -> bool:
        """Of an earlier failure, or of a summary beside the working one."""
        return id(entry) not in self._ids_of_others

    @cached_property
    def _ids_of_others(self) -> set[int]:
        others = (*(self.of_others.last_errors or ()), *(self.of_others.other_summaries or ()))
        return {id(entry) for entry in others}

    @property
    def own_label(self) -> str | None:
        return None if LABEL in self.foreign else self.context.fields.feature_request

    @property
    def own_failed_run(self) -> NotedRun | None:
        return None if RUN in self.foreign else self.context.failed_run

    @property
    def own_pointers(self) -> list[Pointer]:
        return _leave_out(self.context.pointers, self.of_others.file_pointers)

    @property
    def own_errors(self) -> list[NotedRun]:
        return _leave_out(self.context.last_errors, self.of_others.last_errors)

    @property
    def own_changes(self) -> list[NotedChange]:
        """The changed files, without those that only notes of others name."""
        foreign = self._list_files(own=False) - self._list_files(own=True)
        return [change for change in self.staleness.changed if change.path not in foreign]

    def _list_files(self, *, own: bool) -> set[str]:
        """The files that one's own notes name, or those of others."""
        entries: list[Claim | Decision] = [each.noted for each in self.claims if each.is_own == own]
        entries += [each.decision for each in self.decisions if each.is_own == own]
        pointers = self.own_pointers if own else self.of_others.file_pointers or ()
        paths = {pointer.path for pointer in pointers}
        for entry in entries:
            paths |= {evidence.path for evidence in entry.files or () if evidence.path}
        return paths

    @property
    def decisions_elsewhere(self) -> tuple[JudgedDecision, ...]:
        return (*self.shared_decisions, *self.inherited.decisions)

    @property
    def all_claims(self) -> tuple[JudgedClaim, ...]:
        return (*self.claims, *self.inherited.claims)

    @property
    def all_steps(self) -> tuple[NotedStep, ...]:
        others = set(self.of_others.checklist or ())
        steps = [NotedStep(step, is_own=step not in others) for step in self.context.checklist]
        return (*steps, *self.inherited.steps)

    def to_dict(self) -> dict[str, Any]:
        return {
            **self.context.to_dict(),
            "head": self.head,
            "stale": self.staleness.stale,
            "staleness": self.staleness.to_dict(),
            "working_summary": self._summary_to_dict(),
            "open_decisions": [judged.to_dict() for judged in self.decisions],
            "shared_decisions": [judged.to_dict() for judged in self.shared_decisions],
            "claims": [claim.to_dict() for claim in self.claims],
            "inherited": self._inherited_to_dict(),
            "pinned_rules": list(self.rules),
            "proofs": [proof.to_short_dict(self.tree) for proof in self.proofs],
            "read_only": self.context.read_only,
            "notes": list(self.context.notes),
        }

    def _inherited_to_dict(self) -> dict[str, Any]:
        inherited = self.inherited
        return {
            "branches": list(inherited.branches),
            "decisions": [judged.to_dict() for judged in inherited.decisions],
            "claims": [claim.to_dict() for claim in inherited.claims],
            "checklist": [asdict(step) for step in inherited.steps],
        }

    def _summary_to_dict(self) -> dict[str, Any] | None:
        summary = self.context.summary
        if summary is None:
            return None
        return {**summary.to_dict(), "stale": self.staleness.stale}


@dataclass(frozen=True)
class ListedContext:
    """A line of the list of workstreams; `is_here` where it is of the branch that is checked out.

    Only those are judged, and only where verdicts were asked for.
    """

    key: Key
    phase: str
    updated_at: str | None
    is_here: bool
    judged: JudgedContext | None = None

    def to_dict(self) -> dict[str, Any]:
        context = self.judged.to_dict() if self.judged else None
        return {
            "key": self.key.to_dict(),
            "phase": self.phase,
            "updated_at": self.updated_at,
            "context": context,
        }


def _describe_origin(judged: JudgedClaim | JudgedDecision) -> dict[str, Any]:
    """Only where it is not from here."""
    origin: dict[str, Any] = {}
    if judged.of is not None:
        origin["of"] = judged.of
    if not judged.is_own:
        origin["is_own"] = False
    return origin


def _leave_out(entries: Iterable[Written], others: Iterable[Written] | None) -> list[Written]:
    """Those that are not among the others, by identity: what is equal is judged alike anyway."""
    left_out = {id(entry) for entry in others or ()}
    return [entry for entry in entries if id(entry) not in left_out]


def _to_values(thing: Any) -> dict[str, Any]:
    """The fields of a dataclass by name, as they are."""
    return {each.name: getattr(thing, each.name) for each in fields(thing)}
