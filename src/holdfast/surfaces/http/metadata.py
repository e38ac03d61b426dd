"""What a refused program may read: which kind of token this server takes, and what it may allow.

RFC 9728, as MCP clients look for it. There is no authorization server: a token is made by an
administrator or by a login that a developer approves, and that of this machine is in the data
folder.
"""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse

from holdfast.identity.scopes import SCOPES, USUAL_SCOPES

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
            "scopes_supported": list(SCOPES),
        }
    )


def make_challenge(url: str) -> str:
    """The header that comes with a 401."""
    scopes = " ".join(USUAL_SCOPES)
    return f'Bearer realm="holdfast", resource_metadata="{url}{PATH}", scope="{scopes}"'


def ask_for_scope(url: str, scope: str) -> str:
    """The header that comes with a 403 for a token that is not allowed to do this."""
    return f'Bearer error="insufficient_scope", scope="{scope}", resource_metadata="{url}{PATH}"'
