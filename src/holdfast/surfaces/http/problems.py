"""Errors as problem documents (RFC 9457), whatever went wrong and wherever.

A caller finds the same members each time and decides by `code`. What a bug says stays here: its
message may quote what somebody wrote, so only its type goes into the log and nothing of it into the
answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Match

from holdfast.errors import HoldfastError, Invalid, shown
from holdfast.surfaces.http.actions import word_actions

MEDIA_TYPE = "application/problem+json"
SHOWN_PROBLEMS = 5
BUG = "This is a bug in Holdfast. Nothing of it is shown here; the log in HOLDFAST_HOME names its type."
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
CODES = {404: "not_found", 405: "method_not_allowed"}
DETAILS = {
    404: "There is nothing at this path. `/openapi.json` lists what there is.",
    405: "This path does not take this method. `/openapi.json` lists what it takes.",
}


class Problem(JSONResponse):
    media_type = MEDIA_TYPE


def problem(
    status: int,
    code: str,
    detail: str,
    *,
    next_actions: Sequence[str] = (),
    headers: Mapping[str, str] | None = None,
    **more: Any,
) -> Problem:
    document = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
    }
    document |= (
        {"code": code} | more | ({"next_actions": list(next_actions)} if next_actions else {})
    )
    return Problem(document, status, headers)


def of_error(error: HoldfastError, *, status: int | None = None, **more: Any) -> Problem:
    """One of ours; `status` where a route has a better one than the error's kind."""
    headers = {408: {"Connection": "close"}, 429: {"Retry-After": "1"}}.get(error.http_status)
    given = status or error.http_status
    actions = word_actions(error.next_actions)
    return problem(given, error.code, error.message, next_actions=actions, headers=headers, **more)


def of_bug() -> Problem:
    return problem(500, "bug", BUG)


def answer_errors(api: FastAPI) -> None:
    """Give every way out of a route its document."""
    api.add_exception_handler(HoldfastError, _ours)
    api.add_exception_handler(HTTPException, _theirs)
    api.add_exception_handler(RequestValidationError, _malformed)
    api.add_exception_handler(
        Exception, _bug
    )  # answered here, and raised once more to the guard, which notes it


async def _bug(request: Request, error: Exception) -> Problem:
    return of_bug()


async def _ours(request: Request, error: Exception) -> Problem:
    assert isinstance(error, HoldfastError)
    return of_error(error)


async def _theirs(request: Request, error: Exception) -> Problem:
    """What the framework refuses by itself: an unknown path, a method that a path does not take."""
    assert isinstance(error, HTTPException)
    status = error.status_code
    detail = DETAILS.get(status) or HTTPStatus(status).phrase
    headers = {"Allow": ", ".join(_allowed(request))} if status == 405 else error.headers
    return problem(status, CODES.get(status, "invalid"), detail, headers=headers)


def _allowed(request: Request) -> list[str]:
    """Of every route of the path; the framework names only those of the first one."""
    return [
        method
        for method in METHODS
        if any(
            route.matches({**request.scope, "method": method})[0] is Match.FULL
            for route in request.app.routes
        )
    ]


async def _malformed(request: Request, error: Exception) -> Problem:
    """Malformed input is 400 at every door; the names are the caller's, so they are shown as text
    from outside.
    """
    assert isinstance(error, RequestValidationError)
    found = [
        f"{_place(one['loc'])} {one['msg'][:1].lower()}{one['msg'][1:]}" for one in error.errors()
    ]
    rest = [f"and {len(found) - SHOWN_PROBLEMS} more"] if len(found) > SHOWN_PROBLEMS else []
    return problem(400, Invalid.code, f"{'; '.join([*found[:SHOWN_PROBLEMS], *rest])}.")


def _place(steps: Sequence[object]) -> str:
    return ".".join(
        step if step in ("body", "query", "header", "path") else shown(step)
        for step in map(str, steps)
    )
