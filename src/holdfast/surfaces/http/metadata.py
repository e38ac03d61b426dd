"""What a refused program may read: which kind of token this server takes, and that it issues none.

RFC 9728, as MCP clients look for it. There is no authorization server: the token is in the data
folder. It has no scopes yet, so none are advertised.
"""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse

PATH = "/.well-known/oauth-protected-resource"
PATHS = (PATH, f"{PATH}/mcp")

router = APIRouter(include_in_schema=False)


@router.get(PATHS[0])
@router.get(PATHS[1])
async def show_metadata(request: Request) -> JSONResponse:
    """The resource under the name that the caller used, which the guard has checked."""
    address = str(request.base_url).rstrip("/")
    return JSONResponse(
        {
            "resource": address + request.url.path.removeprefix(PATH),
            "resource_name": "Holdfast",
            "bearer_methods_supported": ["header"],
        }
    )


def make_challenge(url: str) -> str:
    """The header that comes with a 401."""
    return f'Bearer realm="holdfast", resource_metadata="{url}{PATH}"'
