"""Errors as problem documents (RFC 9457), whatever went wrong and wherever.

A caller finds the same members each time and decides by `code`. The message of a bug stays here: it
may quote private text, so only its type goes into the log and nothing of it into the answer.
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
BUG = (
    "This is a bug in Holdfast. Nothing of it is shown here; "
    "the log in HOLDFAST_HOME names its type."
)
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
PLACES = ("body", "query", "header", "path")
HEADERS = {408: {"Connection": "close"}, 429: {"Retry-After": "1"}}
CODES = {404: "not_found", 405: "method_not_allowed"}
DETAILS = {
    404: "There is nothing at this path. `/openapi.json` lists what there is.",
    405: "This path does not take this method. `/openapi.json` lists what it takes.",
}


class Problem(JSONResponse):
    media_type = MEDIA_TYPE


def make_problem(
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
        "code": code,
        **more,
    }
    if next_actions:
        document["next_actions"] = list(next_actions)
    return Problem(document, status, headers)


def describe_error(error: HoldfastError, *, status: int | None = None, **more: Any) -> Problem:
    """One of ours; `status` where a route has a better one than the error's kind."""
    return make_problem(
        status or error.http_status,
        error.code,
        error.message,
        next_actions=word_actions(error.next_actions),
        headers=HEADERS.get(error.http_status),
        **more,
    )


def describe_bug() -> Problem:
    return make_problem(500, "bug", BUG)


def answer_errors(api: FastAPI) -> None:
    """Give every way out of a route its document."""
    api.add_exception_handler(HoldfastError, _answer_own)
    api.add_exception_handler(HTTPException, _answer_framework)
    api.add_exception_handler(RequestValidationError, _answer_malformed)
    # Answered here, then raised again to the guard, which logs it.
    api.add_exception_handler(Exception, _answer_bug)


async def _answer_bug(request: Request, error: Exception) -> Problem:
    return describe_bug()


async def _answer_own(request: Request, error: Exception) -> Problem:
    assert isinstance(error, HoldfastError)
    return describe_error(error)


async def _answer_framework(request: Request, error: Exception) -> Problem:
    """What the framework refuses by itself: an unknown path, a method that a path does not take."""
    assert isinstance(error, HTTPException)
    status = error.status_code
    code = CODES.get(status, "invalid")
    detail = DETAILS.get(status) or HTTPStatus(status).phrase
    headers = error.headers
    if status == 405:
        headers = {"Allow": ", ".join(_list_methods(request))}
    return make_problem(status, code, detail, headers=headers)


def _list_methods(request: Request) -> list[str]:
    """Of every route of the path; the framework names only those of the first route."""
    return [method for method in METHODS if _is_allowed(request, method)]


def _is_allowed(request: Request, method: str) -> bool:
    scope = {**request.scope, "method": method}
    matches = [route.matches(scope) for route in request.app.routes]
    return any(match is Match.FULL for match, _ in matches)


async def _answer_malformed(request: Request, error: Exception) -> Problem:
    """Malformed input is 400 at every door."""
    assert isinstance(error, RequestValidationError)
    found = error.errors()
    described = [_describe_mistake(mistake) for mistake in found[:SHOWN_PROBLEMS]]
    left_out = len(found) - SHOWN_PROBLEMS
    if left_out > 0:
        described.append(f"and {left_out} more")
    detail = "; ".join(described)
    return make_problem(400, Invalid.code, f"{detail}.")


def _describe_mistake(mistake: Mapping[str, Any]) -> str:
    """The names in it are the caller's, so they are quoted as text from outside."""
    steps = [_quote_step(str(step)) for step in mistake["loc"]]
    place = ".".join(steps)
    message = mistake["msg"]
    first, rest = message[:1], message[1:]
    return f"{place} {first.lower()}{rest}"


def _quote_step(step: str) -> str:
    if step in PLACES:
        return step
    return shown(step)
