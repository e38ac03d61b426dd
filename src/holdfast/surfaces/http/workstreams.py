"""`/api/workstreams` and `/api/bundle`: what was noted in the checkout that this server was started
in.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from pydantic import Field
from starlette.responses import JSONResponse, Response

from holdfast.bundles.model import PHASES
from holdfast.ground.off_loop import off_loop
from holdfast.surfaces.http.here import Here
from holdfast.surfaces.http.models import AnswerModel, QueryModel
from holdfast.surfaces.http.scopes import ScopedRoute
from holdfast.usecases.continuation import build_bundle
from holdfast.workstreams.model import ListedContext
from holdfast.workstreams.service import WorkstreamService

router = APIRouter(prefix="/api", route_class=ScopedRoute)


def get_workstreams(app: Here) -> WorkstreamService:
    return app.served_work()


Work = Annotated[WorkstreamService, Depends(get_workstreams)]


class BundleQuery(QueryModel):
    phase: str = Field("implementation", json_schema_extra={"enum": list(PHASES)})
    workstream_id: str | None = Field(None, description="Line of work; default: the branch")
    client: str | None = Field(None, description="Within this agent program's limit")
    limit: int | None = Field(None, description="At most so many characters")


class Workstream(AnswerModel):
    key: dict[str, str]
    phase: str
    updated_at: str | None
    context: dict[str, Any] | None = Field(
        description="With verdicts, where it is of the branch that is checked out"
    )


class WorkstreamList(AnswerModel):
    workstreams: list[Workstream]


class BundleGiven(AnswerModel):
    id: str
    text: str
    phase: str
    chars: int
    tokens: int
    sections: list[dict[str, Any]]
    cut: list[dict[str, Any]]


@router.get("/workstreams", responses={200: {"model": WorkstreamList}})
async def list_workstreams(work: Work) -> Response:
    """Every workstream of the checkout; those of its branch judged on it"""
    listed = await work.list_judged()
    return await off_loop(_write_list, listed)


def _write_list(listed: Iterable[ListedContext]) -> Response:
    return JSONResponse({"workstreams": [context.to_dict() for context in listed]})


@router.get("/bundle", responses={200: {"model": BundleGiven}})
async def get_bundle(app: Here, work: Work, query: Annotated[BundleQuery, Query()]) -> Response:
    """What an agent would be handed now, with its receipt"""
    bundle, _ = await build_bundle(
        app,
        work,
        query.phase,
        query.workstream_id,
        client=query.client,
        limit=query.limit,
        worktree=app.served_worktree,
    )
    return await off_loop(lambda: JSONResponse(bundle.to_dict()))
