"""What sessions are about: the seed's three dataclasses, and the answers of the other verbs.

Rows become types here. SQLite returns times as text and PostgreSQL as `datetime`; the functions
below accept both, so that a type always holds a `datetime`.
"""

from __future__ import annotations

from datetime import datetime

from holdfast.ground import clock
from holdfast.ground import light_json as json
from holdfast.ground.frozen import dataclass, field, fields
from holdfast.ground.light_typing import TypedDict
from holdfast.ground.tokens import tokens
from holdfast.sessions import rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from holdfast.sessions.rules import CheckedEvent


@dataclass(frozen=True)
class Session:
    """One agent's run of work, start to end."""

    id: str
    user_id: str
    chatmode: str
    workflow: str | None
    skill: str | None
    git_branch: str | None
    started_at: datetime
    ended_at: datetime | None
    metadata: dict[str, Any]
    client: str | None = None
    native_id: str | None = None
    repo: str | None = None
    worktree: str | None = None
    name: str | None = None
    resumed_from: str | None = None
    revision: int = 1
    last_sequence: int = 0
    head_hash: str = ""

    @property
    def subject(self) -> str:
        return self.id

    @property
    def context(self) -> dict[str, list[str]]:
        """The context sets: what the next session is reminded of."""
        sets: dict[str, list[str]] = self.metadata.get("context", {})
        return sets

    def to_dict(self) -> dict[str, Any]:
        values = {**self.__dict__, "started_at": clock.to_text(self.started_at)}
        if self.ended_at is not None:
            values["ended_at"] = clock.to_text(self.ended_at)
        return values


@dataclass(frozen=True)
class SessionEvent:
    """An immutable, numbered entry in a session's log."""

    id: str
    session_id: str
    sequence: int
    type: str
    role: str
    content: str
    parts: dict[str, Any] | None
    created_at: datetime
    content_hash: str = ""
    chain_hash: str = ""
    erased_at: datetime | None = None

    @property
    def subject(self) -> str:
        return self.id

    @property
    def happened_at(self) -> datetime:
        """Earlier than it was stored, where it was read from a transcript later."""
        return choose_moment(self.created_at, (self.parts or {}).get(rules.HAPPENED_AT))

    def to_dict(self) -> dict[str, Any]:
        values = {**self.__dict__, "created_at": clock.to_text(self.created_at)}
        if self.erased_at is not None:
            values["erased_at"] = clock.to_text(self.erased_at)
        return values


class EventWindow(list[SessionEvent]):
    """The newest events of a session, oldest first: a list, as callers know it."""

    def __init__(self, events: Iterable[SessionEvent] = (), *, is_cut: bool = False):
        """`is_cut`: the turns have more events than one call returns."""
        super().__init__(events)
        self.is_cut = is_cut

    def cut_as_sent(self, max_tokens: int | None) -> EventWindow:
        """The newest that fit where they are sent as JSON: there the limit counts all of it."""
        if max_tokens is None:
            return self
        sent = [json.dumps(event.to_dict(), ensure_ascii=False) for event in reversed(self)]
        costs = [tokens(text) for text in sent]
        fitting = rules.fit_tokens(costs, 0, max_tokens)
        kept = self[-max(fitting, 1) :]
        return EventWindow(kept, is_cut=self.is_cut and len(kept) == len(self))

    @property
    def warnings(self) -> list[str]:
        """What to say beside the events."""
        if not self.is_cut:
            return []
        first, second, *_ = self
        told = f"One call returns {len(self):,} events: older ones are left out"
        if second.sequence > first.sequence + 1:
            told += f", and of the first turn {first.sequence + 1} to {second.sequence - 1}"
        return [f"{told}."]


@dataclass(frozen=True)
class EventSample:
    """What a picture of a log needs of one event."""

    sequence: int
    type: str
    happened_at: datetime
    bytes: int


class HandoffContext(TypedDict):
    """What one chatmode hands to the next."""

    from_chatmode: str
    artifacts_created: list[str]
    key_decisions: list[str]


class Scratchpad(TypedDict, total=False):
    """The fields that agents agree on; a scratchpad may hold any others beside them."""

    current_task: str
    spec_file: str
    files_in_progress: list[str]
    validation_gates_passed: list[int]
    blockers: list[str]
    handoff_context: HandoffContext


@dataclass(frozen=True)
class SessionState:
    """A session's one mutable JSON object; `Scratchpad` names the known fields."""

    session_id: str
    scratchpad: dict[str, Any]
    updated_at: datetime

    @property
    def subject(self) -> str:
        return self.session_id

    def to_dict(self) -> dict[str, Any]:
        return {**self.__dict__, "updated_at": clock.to_text(self.updated_at)}


@dataclass(frozen=True)
class SessionNotes:
    """What a session noted on its scratchpad, and which fields it cleared."""

    session_id: str
    git_branch: str | None
    scratchpad: dict[str, Any]
    cleared: frozenset[str] = frozenset()
    updated_at: datetime | None = None

    def has_recorded(self, names: Iterable[str]) -> bool:
        return any(name in self.scratchpad or name in self.cleared for name in names)


@dataclass(frozen=True)
class SetChange:
    """What a change to one context set did to it."""

    set_name: str
    items: tuple[str, ...]
    added: tuple[str, ...]
    removed: tuple[str, ...]
    context: dict[str, list[str]] = field(default_factory=dict)
    warning: str | None = None
    session_id: str = ""

    @property
    def subject(self) -> str:
        return self.session_id

    def to_dict(self) -> dict[str, Any]:
        return {
            "context": self.context,
            "added": list(self.added),
            "removed": list(self.removed),
        }


@dataclass(frozen=True)
class PatchedSession:
    """A session after several changes, and what to look at, such as a set's unusual name."""

    session: Session
    warnings: tuple[str, ...] = ()

    @property
    def subject(self) -> str:
        return self.session.id


@dataclass(frozen=True)
class Verification:
    """What `verify` found: nothing, or each place that does not fit."""

    session_id: str
    checked: int
    erased: int
    damage: tuple[str, ...]

    @property
    def ok(self) -> bool:
        return not self.damage

    def to_dict(self) -> dict[str, Any]:
        return {**self.__dict__, "damage": list(self.damage), "ok": self.ok}


SESSION_FIELDS = tuple(each.name for each in fields(Session))


def make_session(row: Any) -> Session:
    """Without the constructor, which sets each field by a call."""
    session = object.__new__(Session)
    at = session.__dict__
    at.update(zip(SESSION_FIELDS, row, strict=True))
    at["started_at"] = clock.parse(at["started_at"])
    at["ended_at"] = clock.parse_optional(at["ended_at"])
    at["metadata"] = json.loads(at["metadata"])
    at["head_hash"] = at["head_hash"].hex()
    return session


def make_event(row: Any) -> SessionEvent:
    """Without the constructor, which sets each field by a call: a window has many events."""
    event = object.__new__(SessionEvent)
    at = event.__dict__
    (
        at["id"],
        at["session_id"],
        at["sequence"],
        at["type"],
        at["role"],
        at["content"],
        parts,
        created_at,
        content_hash,
        chain_hash,
        erased_at,
    ) = row
    if parts is not None:
        parts = json.loads(parts)
    if isinstance(created_at, str):
        created_at = clock.from_text(created_at)
    at["parts"] = parts
    at["created_at"] = created_at
    at["content_hash"] = content_hash.hex()
    at["chain_hash"] = chain_hash.hex()
    at["erased_at"] = clock.parse_optional(erased_at)
    return event


def make_appended_event(session_id: str, event: CheckedEvent, answer: Any) -> SessionEvent:
    """An event from what was sent and what the store answered: just stored, or known before."""
    _, sequence, created_at, chain_hash, erased_at, *_ = answer
    content, parts_text = event.content, event.parts_text
    if erased_at is not None:
        content, parts_text = "", None
    row = (
        event.id,
        session_id,
        sequence,
        event.type,
        event.role,
        content,
        parts_text,
        created_at,
        event.content_hash,
        chain_hash,
        erased_at,
    )
    return make_event(row)


def get_sequence(row: Any) -> int:
    """An event's number, where the event itself is not needed."""
    number: int = row[2]
    return number


def is_user_message(row: Any) -> bool:
    return bool(row[3] == "user_message")


def get_texts(row: Any) -> tuple[str, str | None]:
    """An event's content and the canonical text of its parts."""
    return row[5], row[6]


def make_sample(row: Any) -> EventSample:
    sequence, event_type, created_at, size, happened_at = row
    moment = choose_moment(clock.parse(created_at), happened_at)
    return EventSample(sequence, event_type, moment, bytes=size)


def choose_moment(created_at: datetime, happened_at: object) -> datetime:
    """When something happened, as its transcript has it: before it was stored, if at all."""
    if not isinstance(happened_at, str):
        return created_at
    try:
        moment = clock.from_text(happened_at)
    except (ValueError, OverflowError):
        return created_at
    return min(moment, created_at)


def make_state(row: Any) -> SessionState:
    session_id, scratchpad, updated_at = row
    return SessionState(session_id, json.loads(scratchpad), clock.parse(updated_at))


def make_notes(row: Any) -> SessionNotes:
    session_id, git_branch, scratchpad, cleared, updated_at = row
    return SessionNotes(
        session_id,
        git_branch,
        scratchpad=json.loads(scratchpad),
        cleared=frozenset(json.loads(cleared)),
        updated_at=clock.parse(updated_at),
    )
