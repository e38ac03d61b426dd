"""What goes in and out, as `/openapi.json` describes it.

What comes in is checked here only for its shape: an unknown field is refused, because a
typo would be dropped in silence. Whether a value is good is decided by the rules of the room, the
same for every door. What goes out is described here and written by the rooms' own `to_dict`.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from holdfast.sessions.rules import EVENT_TYPES, LARGEST_LIMIT, ROLES
from holdfast.sessions.status import StatusWord

PAGE = 100
LARGEST_PAGE = 1000

Count = Annotated[int, Field(ge=0, le=LARGEST_LIMIT)]


class RequestModel(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class QueryModel(BaseModel):
    """A query, whose numbers come as text."""

    model_config = ConfigDict(extra="forbid")


# --- in -------------------------------------------------------------------------------------------


class StartSession(RequestModel):
    chatmode: str = Field(description="What kind of work, such as architect")
    user_id: str | None = Field(
        None, description="Namespace of the session; default: the developer"
    )
    workflow: str | None = None
    skill: str | None = None
    git_branch: str | None = None
    name: str | None = Field(None, description="Name to find it by")
    client: str | None = Field(None, description="The agent program")
    native_id: str | None = Field(
        None, description="That program's own id; an open session of it is returned"
    )
    repo: str | None = None
    worktree: str | None = Field(None, description="Folder in which relative files are looked for")


class ContextSet(RequestModel):
    set_name: str = Field(
        alias="setName", description="files, applet, endpoints, ports or one's own"
    )
    items: list[str] = Field(description="At most 10; none clears the set")


class PatchSession(RequestModel):
    """Any of these together, all or none. A text that is null is removed."""

    name: str | None = None
    last_observed_at: str | None = Field(None, alias="lastObservedAt")
    last_idle_at: str | None = Field(None, alias="lastIdleAt")
    current_intent: str | None = Field(None, alias="currentIntent")
    env_hint: str | None = Field(None, alias="envHint")
    context: dict[str, list[str]] = Field(
        default_factory=dict, description="Replaces all context sets"
    )
    set_context: ContextSet | None = Field(None, alias="setContext", description="Replaces one set")
    union_context: ContextSet | None = Field(
        None, alias="unionContext", description="Adds to one set"
    )


class AppendEvent(RequestModel):
    type: str = Field(json_schema_extra={"enum": list(EVENT_TYPES)})
    role: str = Field(json_schema_extra={"enum": list(ROLES)})
    content: str
    parts: dict[str, Any] | None = Field(None, description="Structured data")
    event_id: str | None = Field(None, description="A UUID; the same again appends nothing")
    expected_sequence: int | None = Field(
        None, description="Append only if this is the last number"
    )


class PatchState(RequestModel):
    scratchpad: dict[str, Any] = Field(
        description="Objects merge, null removes a key, everything else replaces"
    )


class Nothing(RequestModel):
    """There is nothing to say; an empty body will do."""


class SessionsPage(QueryModel):
    limit: Annotated[int, Field(ge=1, le=LARGEST_PAGE)] = PAGE
    below: str | None = Field(None, description="The last id of the page before")


class EventsPage(QueryModel):
    """A page of the whole log (`after`, `limit`), or the end of it (`turns`, `tokens`)."""

    after: Count | None = Field(None, description="The last number of the page before")
    limit: Annotated[int, Field(ge=1, le=LARGEST_PAGE)] | None = None
    turns: Count | None = Field(None, description="The last so many turns")
    tokens: Count | None = Field(
        None, description="About so many tokens at most, the oldest dropped first"
    )


class Listen(QueryModel):
    after: str | None = Field(None, description="The last `id`; without one, only what is to come")


# --- out ------------------------------------------------------------------------------------------


class AnswerModel(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Session(AnswerModel):
    id: str
    user_id: str
    chatmode: str
    workflow: str | None
    skill: str | None
    git_branch: str | None
    started_at: str
    ended_at: str | None
    metadata: dict[str, Any]
    client: str | None
    native_id: str | None
    repo: str | None
    worktree: str | None
    name: str | None
    resumed_from: str | None
    revision: int
    last_sequence: int
    head_hash: str
    context: dict[str, list[str]]


class SessionWithResume(Session):
    resume: str = Field(description="Text for a session that continues this one")


class ListedSession(Session):
    status: StatusWord
    idle_since: str | None


class ShownSession(ListedSession):
    resume: str = Field(description="Text for a session that continues this one")


class ChangedSession(Session):
    warnings: list[str]


class SessionList(AnswerModel):
    sessions: list[ListedSession]
    more: bool
    below: str | None = Field(description="For the next page")


class Event(AnswerModel):
    id: str
    session_id: str
    sequence: int
    type: str
    role: str
    content: str
    parts: dict[str, Any] | None
    created_at: str
    content_hash: str
    chain_hash: str
    erased_at: str | None


class EventList(AnswerModel):
    events: list[Event]
    more: bool
    after: int = Field(description="For the next page")
    warnings: list[str] = Field(description="What was left out of turns with too many events")


class SessionState(AnswerModel):
    session_id: str
    scratchpad: dict[str, Any]
    updated_at: str


class Health(AnswerModel):
    status: str
    accepted: int
    stored: int
    spooled: int
    rejected: int
    lost: int
    sessions: int
    has_older_sessions: bool
    at_risk: int
    dropped: int
    first_dropped_at: str | None
    last_dropped_at: str | None


class ProblemDocument(BaseModel):
    type: str
    title: str
    status: int
    detail: str
    code: str
    next_actions: list[str] | None = None
