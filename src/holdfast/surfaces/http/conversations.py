"""`/api/conversations`: those of the checkout that this server was started in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import Field, WithJsonSchema
from starlette.responses import JSONResponse, Response

from holdfast.conversations import model
from holdfast.conversations.model import STATUSES
from holdfast.conversations.rules import check_status
from holdfast.errors import NoWorkingTreeError
from holdfast.ground.off_loop import off_loop
from holdfast.surfaces.http.here import Here
from holdfast.surfaces.http.models import LARGEST_PAGE, AnswerModel, QueryModel
from holdfast.surfaces.http.scopes import ScopedRoute
from holdfast.usecases.conversing import open_conversations

router = APIRouter(prefix="/api", route_class=ScopedRoute)

LIMIT = 50
# An address cannot say null: what is not asked for is left out.
Text = Annotated[str | None, WithJsonSchema({"type": "string"})]
Status = Annotated[str | None, WithJsonSchema({"type": "string", "enum": list(STATUSES)})]


class ConversationQuery(QueryModel):
    status: Status = Field(None, description="Only of this status")
    query: Text = Field(None, description="Words of a title, a summary or what was said")
    limit: int = Field(LIMIT, ge=1, le=LARGEST_PAGE, description="At most so many")


class Conversation(AnswerModel):
    id: str = Field(description="Its day and the name of its folder")
    type: str
    title: str
    status: str
    created_at: str
    last_active: str
    message_count: int
    token_count: int
    agent_config: dict[str, Any]
    context_summary: str
    summary_by: str
    session_id: str | None
    client: str | None
    git_head: str | None
    files: list[str]
    is_shared: bool = Field(description="In the repository, not in the data folder")
    problem: str | None = Field(description="Why it may only be read")
    conflict: str | None = Field(description="What git could not merge, and how it is read")


class ConversationList(AnswerModel):
    conversations: list[Conversation]


@router.get("/conversations", responses={200: {"model": ConversationList}})
async def list_conversations(app: Here, asked: Annotated[ConversationQuery, Query()]) -> Response:
    """The newest first; with words the best first"""
    worktree = app.served_worktree
    if worktree is None:
        raise NoWorkingTreeError
    status = None if asked.status is None else check_status(asked.status)
    service = await off_loop(open_conversations, app, worktree)
    if asked.query is None:
        found = await service.list_conversations(status=status, limit=asked.limit)
    else:
        matching = await service.search_conversations(asked.query, limit=LARGEST_PAGE)
        found = [each for each in matching if status in (None, each.status)][: asked.limit]
    return await off_loop(_write_list, found)


def _write_list(found: Sequence[model.Conversation]) -> Response:
    return JSONResponse({"conversations": [each.to_dict() for each in found]})
