"""What a context file holds, entry by entry.

Each type is one JSON object of the file, with the names that it has there. A later version may add
names: they are kept (`records`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from holdfast.ground.frozen import dataclass
from holdfast.workstreams.evidence import CommandEvidence, NotedEvidence, read_evidence
from holdfast.workstreams.records import (
    Record,
    custom_field,
    flag_field,
    object_field,
    read_texts,
    record_field,
    records_field,
    text_field,
    texts_field,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


DECISION_STATUSES = ("open", "accepted", "rejected")
CLAIM_KINDS = ("statement", "completion")
PAST_NAMES = ("text", "status", "because", "by", "updated_at")


@dataclass(frozen=True)
class Summary(Record):
    """The state of the work, in the words of the author who saved it last."""

    text: str | None = text_field()
    updated_at: str | None = text_field()
    by: str | None = text_field()
    verified_by: str | None = text_field()
    failing: str | None = text_field(required=False)  # what failed when a person saved it
    stale: bool | None = flag_field()  # only a name of the format: it is judged on every read


@dataclass(frozen=True)
class Checkpoint(Record):
    """The state of the repository that a summary was written against."""

    git_head: str | None = text_field()
    tracked_files_hash: str | None = text_field()
    summary_hash: str | None = text_field()
    files: Mapping[str, Any] | None = object_field()  # hashes of noted files by path
    dirty: Mapping[str, Any] | None = object_field()  # blobs of uncommitted files by path

    @property
    def uncommitted(self) -> Mapping[str, Any] | None:
        """What was not committed then; None where it was too much to keep."""
        if "dirty" in self.extra:
            return None
        return self.dirty or {}


@dataclass(frozen=True)
class PastDecision(Record):
    """What a decision was before it was changed."""

    id: str | None = text_field()
    uid: str | None = text_field()
    text: str | None = text_field()
    status: str | None = text_field()
    because: str | None = text_field()
    by: str | None = text_field()
    created_at: str | None = text_field()
    updated_at: str | None = text_field()


@dataclass(frozen=True)
class Decision(Record):
    id: str | None = text_field()
    uid: str | None = text_field()
    text: str | None = text_field()
    status: str | None = text_field()
    because: str | None = text_field()
    by: str | None = text_field()
    created_at: str | None = text_field()
    updated_at: str | None = text_field()
    withdrawn_at: str | None = text_field(required=False)
    withdrawn_by: str | None = text_field(required=False)
    history: tuple[PastDecision, ...] | None = records_field(PastDecision.from_dict)
    files: tuple[NotedEvidence, ...] | None = records_field(read_evidence)

    @property
    def identity(self) -> str:
        """What makes it the same on two sides of a merge. A number that both gave out does not."""
        return self.uid or f"{self.id} {self.words}"

    @property
    def words(self) -> str:
        return self.text or ""

    @property
    def made_at(self) -> str:
        return self.created_at or ""

    @property
    def changed_at(self) -> str:
        return self.updated_at or self.created_at or ""

    @property
    def as_past(self) -> PastDecision:
        """What it is now, as its history has it once it is something else."""
        known = self.to_dict()
        past = {name: known[name] for name in PAST_NAMES if known.get(name)}
        return PastDecision.from_dict(past)


@dataclass(frozen=True)
class Claim(Record):
    """A statement about the code, with what shows it."""

    id: str | None = text_field()
    uid: str | None = text_field()
    claim: str | None = text_field()
    kind: str | None = text_field()
    claimed_at: str | None = text_field()
    by: str | None = text_field()
    updated_at: str | None = text_field(required=False)
    withdrawn_at: str | None = text_field(required=False)
    withdrawn_by: str | None = text_field(required=False)
    files: tuple[NotedEvidence, ...] | None = records_field(read_evidence)
    commands: tuple[CommandEvidence, ...] | None = records_field(CommandEvidence.from_dict)

    @property
    def identity(self) -> str:
        """What makes it the same on two sides of a merge. A number that both gave out does not."""
        return self.uid or f"{self.id} {self.words}"

    @property
    def words(self) -> str:
        return self.claim or ""

    @property
    def made_at(self) -> str:
        return self.claimed_at or ""

    @property
    def changed_at(self) -> str:
        return self.updated_at or self.claimed_at or ""


@dataclass(frozen=True)
class NotedRun(Record):
    """How a run ended; of a failed one where it stopped, and what to try next."""

    status: str | None = text_field()
    failed_step: str | None = text_field()
    error: str | None = text_field()
    next_action: str | None = text_field()
    at: str | None = text_field()
    uid: str | None = text_field(required=False)

    @property
    def is_failed(self) -> bool:
        return self.status == "failed"

    @property
    def identity(self) -> str:
        return self.uid or self.words

    @property
    def words(self) -> str:
        return self.error or ""

    @property
    def made_at(self) -> str:
        return self.at or ""

    @property
    def changed_at(self) -> str:
        return self.at or ""


@dataclass(frozen=True)
class Pointer:
    """A file, or a symbol in one, that the next reader should look at; one text in the file."""

    path: str
    symbol: str | None = None

    @classmethod
    def parse(cls, text: str) -> Pointer:
        path, mark, symbol = text.partition("#")
        if not mark:
            return cls(path)
        return cls(path, symbol)

    def __str__(self) -> str:
        if self.symbol is None:
            return self.path
        return f"{self.path}#{self.symbol}"


def _read_pointers(value: Any) -> tuple[Pointer, ...] | None:
    texts = read_texts(value)
    if texts is None:
        return None
    return tuple(Pointer.parse(text) for text in texts)


def _write_pointers(pointers: Iterable[Pointer]) -> list[str]:
    return [str(pointer) for pointer in pointers]


@dataclass(frozen=True)
class ContextFields(Record):
    """One context of a file: everything that is noted about one line of work in one phase."""

    key: Mapping[str, Any] | None = object_field()  # as the file spells it
    feature_request: str | None = text_field()
    updated_at: str | None = text_field()
    checkpoint: Checkpoint | None = record_field(Checkpoint.from_dict)
    pinned_rules: tuple[str, ...] | None = texts_field()
    working_summary: Summary | None = record_field(Summary.from_dict)
    other_summaries: tuple[Summary, ...] | None = records_field(Summary.from_dict)
    open_decisions: tuple[Decision, ...] | None = records_field(Decision.from_dict)
    evidence_ledger: tuple[Claim, ...] | None = records_field(Claim.from_dict)
    checklist: tuple[str, ...] | None = texts_field()
    file_pointers: tuple[Pointer, ...] | None = custom_field(
        _read_pointers, _write_pointers, is_list=True
    )
    last_run: NotedRun | None = record_field(NotedRun.from_dict)
    last_errors: tuple[NotedRun, ...] | None = records_field(NotedRun.from_dict)

    @property
    def summarised_at(self) -> str:
        summary = self.working_summary or Summary()
        return summary.updated_at or ""

    @property
    def changed_at(self) -> str:
        return self.updated_at or self.summarised_at
