"""`/api/memories`: parse, one verb, format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import Field, WithJsonSchema
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response

from holdfast.app import App
from holdfast.ground.settings import hide_password
from holdfast.memories import model
from holdfast.memories.rules import LIMIT, MIN_RELEVANCE, SOURCE_TYPES
from holdfast.scope import Scope
from holdfast.surfaces.http.bodies import JsonRoute
from holdfast.surfaces.http.errors import AdoptedMemoriesError
from holdfast.surfaces.http.here import KEY, Here, find_key
from holdfast.surfaces.http.models import AnswerModel, QueryModel, RequestModel
from holdfast.write import Request, write

router = APIRouter(prefix="/api/memories", route_class=JsonRoute)


# An address cannot say null: what is not asked for is left out.
Text = Annotated[str | None, WithJsonSchema({"type": "string"})]


class Question(QueryModel):
    query: Text = Field(None, description="The question, in its own words; all of them without one")
    limit: int = Field(LIMIT, description="At most so many")
    min_relevance: float = Field(
        MIN_RELEVANCE, description="Least share of the question's words, 0 to 1"
    )
    below: Text = Field(None, description="Without a question: older than this one")
    namespace: Text = Field(None, description="Only of this namespace")
    category: Text = Field(None, description="Only of this category")


class Remember(RequestModel):
    content: str = Field(description="One self-contained statement")
    category: str | None = None
    source_type: str = Field("explicit", json_schema_extra={"enum": list(SOURCE_TYPES)})
    ttl_days: int | None = Field(None, description="Let it expire after so many days")
    session_id: str | None = Field(None, description="The session that says so")
    metadata: dict[str, Any] | None = Field(None, description="Structured data")


class Memory(AnswerModel):
    id: str
    user_id: str
    content: str
    category: str | None
    metadata: dict[str, Any]
    source_type: str
    confidence: float
    lineage: list[str] = Field(description="Ids of the sessions that contributed")
    last_used_at: str | None
    use_count: int
    expires_at: str | None
    created_at: str
    updated_at: str
    erased_at: str | None


class Recalled(Memory):
    relevance: float
    score: float


class MemoryList(AnswerModel):
    memories: list[Recalled | Memory]


@router.get("", responses={200: {"model": MemoryList}})
async def recall(app: Here, asked: Annotated[Question, Query()]) -> Response:
    """What answers a question, best first, or nothing; without a question what is remembered,
    newest first
    """
    found: Sequence[Any]
    kind = {"namespace": asked.namespace, "category": asked.category}
    if asked.query is None:
        found = await app.scope.memories.list_memories(asked.limit, asked.below, **kind)
    else:
        found = await app.scope.memories.recall(
            asked.query, limit=asked.limit, min_relevance=asked.min_relevance, **kind
        )
    return JSONResponse({"memories": [memory.to_dict() for memory in found]})


@router.post(
    "",
    status_code=201,
    responses={201: {"model": Memory}},
    openapi_extra={"parameters": [KEY]},
)
async def remember(app: Here, sent: HttpRequest, body: Remember) -> Response:
    """Store a statement; a known one is corroborated instead"""
    fields = body.model_dump()

    async def verb(scope: Scope) -> model.Memory:
        remembered = await scope.memories.remember(**fields, user_id=app.settings.developer)
        return remembered.memory

    key = find_key(sent)
    request = Request("memory.remember", fields, key=key, target="http", read_again=_get_memory)
    done = await write(app.scope, request, verb)
    return JSONResponse(done.result.to_dict(), 201)


async def _get_memory(scope: Scope, memory_id: str) -> model.Memory:
    return await scope.memories.get_memory(memory_id)


async def refuse_adopted_memories(app: App) -> None:
    """A table without walls is for one developer, not for a door that others can reach."""
    if app.database.engine == "postgres" and await app.scope.memories.is_adopted():
        raise AdoptedMemoriesError(hide_password(app.settings.database))
