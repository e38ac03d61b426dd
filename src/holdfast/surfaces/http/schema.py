"""`/openapi.json`: what the routes say of themselves, and what is true of all of them."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from holdfast.surfaces.http import models, problems

ABOUT = """Sessions, events and context sets of one developer.

Writes take `application/json` of at most 1 MiB and 64 levels, and an `Idempotency-Key`. Errors \
are problem documents
(RFC 9457) with a `code` to decide by. The token is in the file `token` of `HOLDFAST_HOME`."""
PROBLEM = {
    "description": "A problem document",
    "content": {problems.MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDocument"}}},
}
THEIRS = ("HTTPValidationError", "ValidationError")


def describe(api: FastAPI) -> None:
    """Replace the framework's own words about errors by ours."""

    def openapi() -> dict[str, Any]:
        if not api.openapi_schema:
            api.openapi_schema = _document(api)
        return api.openapi_schema

    api.openapi = openapi  # type: ignore[method-assign]


def _document(api: FastAPI) -> dict[str, Any]:
    document = get_openapi(
        title=api.title, version=api.version, description=ABOUT, routes=api.routes
    )
    for operations in document["paths"].values():
        for operation in operations.values():
            operation["responses"].pop("422", None)
            operation["responses"]["default"] = PROBLEM
    parts = document.setdefault("components", {})
    schemas = {
        name: schema for name, schema in parts.get("schemas", {}).items() if name not in THEIRS
    }
    parts["schemas"] = {**schemas, "ProblemDocument": models.ProblemDocument.model_json_schema()}
    parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    document["security"] = [{"token": []}]
    return document
