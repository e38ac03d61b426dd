"""What developers of one workspace show each other. Metadata only: no prompts, no code, no diffs.

Every type is what one reader may see: a row of a private developer never becomes one of these for
anyone else.
"""

from __future__ import annotations

from holdfast.ground import clock
from holdfast.ground.frozen import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime
    from typing import Any

PUBLIC, PRIVATE = "public", "private"
VISIBILITIES = (PUBLIC, PRIVATE)

OFFERED, ACCEPTED, COMPLETED = "offered", "accepted", "completed"
DECLINED, CANCELLED, EXPIRED = "declined", "cancelled", "expired"
SOFT = "_soft"
HANDOFF_STATUSES = (OFFERED, ACCEPTED, COMPLETED, DECLINED, CANCELLED, EXPIRED)


@dataclass(frozen=True)
class Person:
    """A developer as an answer names one."""

    id: str
    handle: str
    name: str

    def to_dict(self) -> dict[str, Any]:
        return dict(self.__dict__)


@dataclass(frozen=True)
class Developer:
    """A developer in a list of people; `branch` and `repo` are of the newest live session."""

    id: str
    handle: str
    name: str
    visibility: str
    seen_at: datetime | None
    is_live: bool = False
    repo: str | None = None
    branch: str | None = None

    @property
    def subject(self) -> str:
        return self.id

    @property
    def person(self) -> Person:
        return Person(self.id, self.handle, self.name)

    def to_dict(self) -> dict[str, Any]:
        return {**self.__dict__, "seen_at": _as_text(self.seen_at)}


@dataclass(frozen=True)
class Basis:
    """The checkout that a context was published from: its head, and git's id of each named file.

    A file without an id did not exist there.
    """

    head: str | None
    files: Mapping[str, str | None]

    def to_dict(self) -> dict[str, Any]:
        return {"head": self.head, "files": dict(self.files)}


@dataclass(frozen=True)
class Publication:
    """What a developer asks to publish, checked by the rules and not stored yet."""

    title: str
    summary: str
    files_touched: Sequence[str] = ()
    next_actions: Sequence[str] = ()
    blockers: Sequence[str] = ()
    task_ids: Sequence[str] = ()
    repo: str | None = None
    branch: str | None = None
    session_id: str | None = None
    ttl_hours: int = 24
    basis: Basis | None = None


@dataclass(frozen=True)
class PublishedContext:
    id: str
    developer: Person
    title: str
    summary: str
    files_touched: Sequence[str]
    next_actions: Sequence[str]
    blockers: Sequence[str]
    task_ids: Sequence[str]
    repo: str | None
    branch: str | None
    session_id: str | None
    basis: Basis | None
    published_at: datetime
    expires_at: datetime
    superseded_by: str | None
    revoked_at: datetime | None

    @property
    def subject(self) -> str:
        return self.id

    def is_active(self, now: datetime) -> bool:
        return not self.superseded_by and self.revoked_at is None and self.expires_at > now

    def to_dict(self) -> dict[str, Any]:
        return {
            **self.__dict__,
            "developer": self.developer.to_dict(),
            "files_touched": list(self.files_touched),
            "next_actions": list(self.next_actions),
            "blockers": list(self.blockers),
            "task_ids": list(self.task_ids),
            "basis": self.basis.to_dict() if self.basis else None,
            "published_at": clock.to_text(self.published_at),
            "expires_at": clock.to_text(self.expires_at),
            "revoked_at": _as_text(self.revoked_at),
        }


@dataclass(frozen=True)
class ContextReference:
    """What a handoff says of its giver's active context."""

    id: str
    title: str
    summary: str

    def to_dict(self) -> dict[str, Any]:
        return dict(self.__dict__)


@dataclass(frozen=True)
class Reservation:
    """The seed's claim: paths, globs or symbols that a developer works on. It excludes nobody.

    A soft one was made by code: what a live session has not committed. It has no reason and no end
    of its own. One that was taken over has no reason either: that is its giver's words.
    """

    id: str
    developer: Person
    repo: str | None
    branch: str | None
    paths: Sequence[str]
    reason: str
    session_id: str | None
    reserved_at: datetime
    expires_at: datetime
    released_at: datetime | None
    is_soft: bool = False

    @property
    def subject(self) -> str:
        return self.id

    def to_dict(self) -> dict[str, Any]:
        return {
            **self.__dict__,
            "developer": self.developer.to_dict(),
            "paths": list(self.paths),
            "reserved_at": clock.to_text(self.reserved_at),
            "expires_at": clock.to_text(self.expires_at),
            "released_at": _as_text(self.released_at),
        }


@dataclass(frozen=True)
class Handoff:
    id: str
    giver: Person
    to: Person | None  # none while it is offered to the whole team
    claim_id: str
    repo: str | None
    branch: str | None
    paths: Sequence[str]
    reason: str
    note: str
    status: str
    context: ContextReference | None
    offered_at: datetime
    expires_at: datetime
    answered_at: datetime | None
    completed_at: datetime | None
    taken_claim_id: str | None = None  # what its recipient holds since it was accepted

    @property
    def subject(self) -> str:
        return self.id

    def to_dict(self) -> dict[str, Any]:
        return {
            **self.__dict__,
            "giver": self.giver.to_dict(),
            "to": self.to.to_dict() if self.to else None,
            "paths": list(self.paths),
            "context": self.context.to_dict() if self.context else None,
            "offered_at": clock.to_text(self.offered_at),
            "expires_at": clock.to_text(self.expires_at),
            "answered_at": _as_text(self.answered_at),
            "completed_at": _as_text(self.completed_at),
        }


@dataclass(frozen=True)
class WorkEvent:
    """That something changed, never what was said."""

    type: str
    developer: Person
    subject: str
    repo: str | None
    branch: str | None
    created_at: datetime

    def to_dict(self) -> dict[str, Any]:
        return {
            **self.__dict__,
            "developer": self.developer.to_dict(),
            "created_at": clock.to_text(self.created_at),
        }


@dataclass(frozen=True)
class UsageEvent:
    """A call and how it ended, never what was said; no handle where its developer only read."""

    developer_id: str
    handle: str | None
    operation: str
    outcome: str
    created_at: datetime

    def to_dict(self) -> dict[str, Any]:
        return {**self.__dict__, "created_at": clock.to_text(self.created_at)}


@dataclass(frozen=True)
class ListPlace:
    """Where a page of a list ended. What stood there may be gone: the next page begins below."""

    at: str
    id: str
    is_soft: bool = False

    @classmethod
    def of(cls, last: PublishedContext | Reservation) -> ListPlace:
        if isinstance(last, Reservation):
            return cls(clock.to_text(last.reserved_at), last.id, last.is_soft)
        return cls(clock.to_text(last.published_at), last.id)

    def __str__(self) -> str:
        return f"{self.at}_{self.id}{SOFT if self.is_soft else ''}"


# Above all that is listed: so the first page has the order in which the others go on.
TOP = ListPlace("9999-12-31T23:59:59.999999Z", "ffffffff-ffff-ffff-ffff-ffffffffffff")


@dataclass(frozen=True)
class TeamState:
    me: Developer
    developers: Sequence[Developer]
    published_contexts: Sequence[PublishedContext]
    claims: Sequence[Reservation]
    handoffs: Sequence[Handoff]
    work_events: Sequence[WorkEvent]


def _as_text(moment: datetime | None) -> str | None:
    if moment is None:
        return None
    return clock.to_text(moment)
