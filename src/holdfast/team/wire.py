"""What a server answers, as values of this room.

Another program has written it, perhaps of another version: what is unknown is passed over, and what
is missing or has another type makes the answer unusable. No text of it is trusted any more than
what a teammate wrote.
"""

from __future__ import annotations

from holdfast.ground import clock, ids
from holdfast.team.model import (
    HANDOFF_STATUSES,
    VISIBILITIES,
    Basis,
    ContextReference,
    Developer,
    Handoff,
    Person,
    PublishedContext,
    Reservation,
    TeamState,
    WorkEvent,
)
from holdfast.team.nearby import Nearby

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from typing import Any, TypeVar

    T = TypeVar("T")

Object = dict[str, "Any"]

MOST_ENTRIES = 5_000
MOST_CHARS = 20_000


class WireError(Exception):
    """The answer has not the form that was agreed."""


# --- parts ----------------------------------------------------------------------------------------


def read_object(value: object) -> Object:
    if not isinstance(value, dict):
        raise WireError
    return value


def read_list(value: object, read: Callable[[object], T]) -> list[T]:
    if not isinstance(value, list) or len(value) > MOST_ENTRIES:
        raise WireError
    return [read(each) for each in value]


def read_text(value: object) -> str:
    if not isinstance(value, str) or len(value) > MOST_CHARS or "\0" in value:
        raise WireError
    return value


def _read_id(value: object) -> str:
    found = ids.parse_id(value)
    if found is None:
        raise WireError
    return found


def _read_moment(value: object) -> datetime:
    try:
        return clock.from_text(read_text(value))
    except (ValueError, OverflowError):
        raise WireError from None


def _read_one_of(value: object, known: tuple[str, ...]) -> str:
    text = read_text(value)
    if text not in known:
        raise WireError
    return text


def _optional(read: Callable[[object], T], value: object) -> T | None:
    return None if value is None else read(value)


def _texts(found: Object, name: str) -> tuple[str, ...]:
    return tuple(read_list(found.get(name), read_text))


# --- things ---------------------------------------------------------------------------------------


def read_person(value: object) -> Person:
    found = read_object(value)
    return Person(
        _read_id(found.get("id")), read_text(found.get("handle")), read_text(found.get("name"))
    )


def read_developer(value: object) -> Developer:
    found, person = read_object(value), read_person(value)
    return Developer(
        id=person.id,
        handle=person.handle,
        name=person.name,
        visibility=_read_one_of(found.get("visibility"), VISIBILITIES),
        seen_at=_optional(_read_moment, found.get("seen_at")),
        is_live=found.get("is_live") is True,
        repo=_optional(read_text, found.get("repo")),
        branch=_optional(read_text, found.get("branch")),
    )


def read_context(value: object) -> PublishedContext:
    found = read_object(value)
    return PublishedContext(
        id=_read_id(found.get("id")),
        developer=read_person(found.get("developer")),
        title=read_text(found.get("title")),
        summary=read_text(found.get("summary")),
        files_touched=_texts(found, "files_touched"),
        next_actions=_texts(found, "next_actions"),
        blockers=_texts(found, "blockers"),
        task_ids=_texts(found, "task_ids"),
        repo=_optional(read_text, found.get("repo")),
        branch=_optional(read_text, found.get("branch")),
        session_id=_optional(_read_id, found.get("session_id")),
        basis=_optional(_read_basis, found.get("basis")),
        published_at=_read_moment(found.get("published_at")),
        expires_at=_read_moment(found.get("expires_at")),
        superseded_by=_optional(_read_id, found.get("superseded_by")),
        revoked_at=_optional(_read_moment, found.get("revoked_at")),
    )


def _read_basis(value: object) -> Basis:
    found = read_object(value)
    named = read_object(found.get("files"))
    known = {read_text(path): _optional(read_text, named[path]) for path in named}
    return Basis(_optional(read_text, found.get("head")), known)


def read_reservation(value: object) -> Reservation:
    found = read_object(value)
    return Reservation(
        id=_read_id(found.get("id")),
        developer=read_person(found.get("developer")),
        repo=_optional(read_text, found.get("repo")),
        branch=_optional(read_text, found.get("branch")),
        paths=_texts(found, "paths"),
        reason=read_text(found.get("reason")),
        session_id=_optional(_read_id, found.get("session_id")),
        reserved_at=_read_moment(found.get("reserved_at")),
        expires_at=_read_moment(found.get("expires_at")),
        released_at=_optional(_read_moment, found.get("released_at")),
        is_soft=found.get("is_soft") is True,
    )


def read_handoff(value: object) -> Handoff:
    found = read_object(value)
    return Handoff(
        id=_read_id(found.get("id")),
        giver=read_person(found.get("giver")),
        to=_optional(read_person, found.get("to")),
        claim_id=_read_id(found.get("claim_id")),
        repo=_optional(read_text, found.get("repo")),
        branch=_optional(read_text, found.get("branch")),
        paths=_texts(found, "paths"),
        reason=read_text(found.get("reason")),
        note=read_text(found.get("note")),
        status=_read_one_of(found.get("status"), HANDOFF_STATUSES),
        context=_optional(_read_reference, found.get("context")),
        offered_at=_read_moment(found.get("offered_at")),
        expires_at=_read_moment(found.get("expires_at")),
        answered_at=_optional(_read_moment, found.get("answered_at")),
        completed_at=_optional(_read_moment, found.get("completed_at")),
        taken_claim_id=_optional(_read_id, found.get("taken_claim_id")),
    )


def _read_reference(value: object) -> ContextReference:
    found = read_object(value)
    return ContextReference(
        _read_id(found.get("id")), read_text(found.get("title")), read_text(found.get("summary"))
    )


def _read_event(value: object) -> WorkEvent:
    found = read_object(value)
    return WorkEvent(
        type=read_text(found.get("type")),
        developer=read_person(found.get("developer")),
        subject=read_text(found.get("subject")),
        repo=_optional(read_text, found.get("repo")),
        branch=_optional(read_text, found.get("branch")),
        created_at=_read_moment(found.get("created_at")),
    )


# --- answers --------------------------------------------------------------------------------------


def read_contexts(found: Object) -> list[PublishedContext]:
    return read_list(found.get("contexts"), read_context)


def read_claims(found: Object) -> list[Reservation]:
    return read_list(found.get("claims"), read_reservation)


def read_state(found: Object) -> TeamState:
    return TeamState(
        me=read_developer(found.get("me")),
        developers=read_list(found.get("developers"), read_developer),
        published_contexts=read_list(found.get("sessionContexts"), read_context),
        claims=read_claims(found),
        handoffs=read_list(found.get("handoffs"), read_handoff),
        work_events=read_list(found.get("workEvents"), _read_event),
    )


def read_near(found: Object) -> Nearby:
    elsewhere = found.get("elsewhere")
    return Nearby(
        own_contexts=read_list(found.get("own_contexts"), read_context),
        own_claims=read_list(found.get("own_claims"), read_reservation),
        handoffs=read_list(found.get("handoffs"), read_handoff),
        contexts=read_contexts(found),
        claims=read_claims(found),
        elsewhere=elsewhere if isinstance(elsewhere, int) else 0,
        has_more=found.get("has_more") is True,
    )
