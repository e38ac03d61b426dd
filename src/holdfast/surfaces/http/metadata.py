"""What a program that was sent away may read: which kind of token opens this server, and that
nobody here issues them.

RFC 9728, as MCP clients look for it. There is no authorization server: the token lies in the data
folder.
"""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse

PATH = "/.well-known/oauth-protected-resource"
PATHS = (PATH, f"{PATH}/mcp")
SCOPES = ("context:read", "context:publish", "events:write", "admin")

router = APIRouter(include_in_schema=False)


@router.get(PATHS[0])
@router.get(PATHS[1])
async def show_metadata(request: Request) -> JSONResponse:
    """The resource is named as the caller knows it; the guard has checked that this is one of our
    names.
    """
    resource = str(request.base_url).rstrip("/") + request.url.path.removeprefix(PATH)
    about = {
        "resource": resource,
        "resource_name": "Holdfast",
        "bearer_methods_supported": ["header"],
    }
    return JSONResponse(about | {"scopes_supported": list(SCOPES)})


def challenge(url: str) -> str:
    """The header that comes with a 401."""
    return f'Bearer realm="holdfast", resource_metadata="{url}{PATH}", scope="{" ".join(SCOPES)}"'
