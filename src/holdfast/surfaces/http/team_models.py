"""What the routes of the team exchange take and give, as `/openapi.json` describes it.

A value that comes in is described here and checked by the rules of the room: a number that is sent
as a text stays a text, and is refused as at every other door.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, WithJsonSchema

from holdfast.surfaces.http.models import AnswerModel, QueryModel, RequestModel
from holdfast.team.model import HANDOFF_STATUSES, VISIBILITIES

TEXT = {"type": "string"}
NULL = {"type": "null"}
TEXTS = {"type": "array", "items": TEXT}
Text = Annotated[Any, WithJsonSchema(TEXT)]
Texts = Annotated[Any, WithJsonSchema(TEXTS)]
OptionalText = Annotated[Any, WithJsonSchema({"anyOf": [TEXT, NULL]})]
OptionalTexts = Annotated[Any, WithJsonSchema({"anyOf": [TEXTS, NULL]})]
OptionalNumber = Annotated[Any, WithJsonSchema({"anyOf": [{"type": "integer"}, NULL]})]
Visibility = Annotated[Any, WithJsonSchema({"type": "string", "enum": list(VISIBILITIES)})]
OptionalObject = Annotated[Any, WithJsonSchema({"anyOf": [{"type": "object"}, NULL]})]
# An address cannot say null: what is not asked for is left out.
Asked = Annotated[str | None, WithJsonSchema(TEXT)]


# --- in -------------------------------------------------------------------------------------------


class ContextsQuery(QueryModel):
    developer: Asked = Field(None, description="Only of this one: a handle or an id")
    history: bool = Field(False, description="One's own, also those that have ended")
    below: Asked = Field(None, description="The `below` of the page before")


class ClaimsQuery(QueryModel):
    below: Asked = Field(None, description="The `below` of the page before")


class NoQuery(QueryModel):
    """Everything is answered, and nothing can be asked for."""


class PublishContext(RequestModel):
    title: Text = Field(description="One line")
    summary: Text = Field(description="What is being done and what was decided, as plain text")
    files_touched: OptionalTexts = Field(None, description="Paths in the repository")
    next_actions: OptionalTexts = None
    blockers: OptionalTexts = None
    task_ids: OptionalTexts = None
    repo: OptionalText = None
    branch: OptionalText = None
    session_id: OptionalText = None
    ttl_hours: OptionalNumber = Field(None, description="1 to 168; 24 without it")
    basis: OptionalObject = Field(
        None, description="`head` and `files`: the commit, and git's ids of the named files"
    )


class Claim(RequestModel):
    paths: Texts = Field(description="Paths or patterns in the repository")
    reason: Text
    repo: OptionalText = None
    branch: OptionalText = None
    session_id: OptionalText = None
    ttl_minutes: OptionalNumber = Field(None, description="1 to 1,440; 60 without it")


class Offer(RequestModel):
    claim_id: Text = Field(description="A claim of one's own")
    to: OptionalText = Field(None, description="A handle or an id; the whole team without it")
    note: OptionalText = None


class Accept(RequestModel):
    session_id: OptionalText = Field(None, description="The session that takes it over")


class SetVisibility(RequestModel):
    visibility: Visibility


class NearQuery(QueryModel):
    repo: Asked = Field(None, description="Also what others do in this repository")


class ShowPresence(RequestModel):
    client: str | None = Field(None, pattern="^[a-z0-9-]{1,40}$", description="The agent program")
    repo: str | None = Field(None, max_length=300)
    branch: str | None = Field(None, max_length=250)
    paths: list[str] = Field(max_length=50, description="What is not committed there")


# --- out ------------------------------------------------------------------------------------------


class Person(AnswerModel):
    id: str
    handle: str
    name: str


class Developer(Person):
    visibility: str
    seen_at: str | None
    is_live: bool
    repo: str | None
    branch: str | None


class Basis(AnswerModel):
    head: str | None
    files: dict[str, str | None] = Field(
        description="Git's id of each file, null for a missing one"
    )


class PublishedContext(AnswerModel):
    id: str
    developer: Person
    title: str
    summary: str
    files_touched: list[str]
    next_actions: list[str]
    blockers: list[str]
    task_ids: list[str]
    repo: str | None
    branch: str | None
    session_id: str | None
    basis: Basis | None
    published_at: str
    expires_at: str
    superseded_by: str | None
    revoked_at: str | None


class MadeContext(PublishedContext):
    warnings: list[str] = Field(description="What was left out")


class ContextList(AnswerModel):
    contexts: list[PublishedContext]
    below: str | None = Field(description="For the next page")


class Reservation(AnswerModel):
    id: str
    developer: Person
    repo: str | None
    branch: str | None
    paths: list[str]
    reason: str
    session_id: str | None
    reserved_at: str
    expires_at: str
    released_at: str | None
    is_soft: bool = Field(description="What a live session has not committed")


class MadeReservation(Reservation):
    warnings: list[str] = Field(description="Who works on the same files")


class ClaimList(AnswerModel):
    claims: list[Reservation]
    below: str | None = Field(description="For the next page")


class ContextReference(AnswerModel):
    id: str
    title: str
    summary: str


class Handoff(AnswerModel):
    id: str
    giver: Person
    to: Person | None
    claim_id: str
    repo: str | None
    branch: str | None
    paths: list[str]
    reason: str
    note: str
    status: str = Field(json_schema_extra={"enum": list(HANDOFF_STATUSES)})
    context: ContextReference | None
    offered_at: str
    expires_at: str
    answered_at: str | None
    completed_at: str | None
    taken_claim_id: str | None


class HandoffList(AnswerModel):
    handoffs: list[Handoff]


class Presence(AnswerModel):
    session_id: str


class Near(AnswerModel):
    workspace: str
    me: Developer
    own_contexts: list[PublishedContext]
    own_claims: list[Reservation]
    handoffs: list[Handoff]
    contexts: list[PublishedContext] = Field(description="Of the repository; the newest 200")
    claims: list[Reservation] = Field(description="Of the repository")
    elsewhere: int = Field(description="Developers who published in other repositories only")
    has_more: bool = Field(description="Whether the repository has more contexts")


class WorkEvent(AnswerModel):
    type: str
    developer: Person
    subject: str
    repo: str | None
    branch: str | None
    created_at: str
