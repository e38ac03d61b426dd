"""The pages before the console, which a person without a cookie sees, and the forms on them.

They are written out here, because the console may not be installed. They run no script.
"""

from __future__ import annotations

import html
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import HTMLResponse

from holdfast.surfaces.http.bodies import read_body
from holdfast.surfaces.http.errors import WrongMediaTypeError

FORM = "application/x-www-form-urlencoded"
FORM_BYTES = 4096
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title} · Holdfast</title>
<link rel="stylesheet" href="/static/console.css">
</head>
<body class="login">
<main>
<p class="brand">Holdfast</p>
<h1>{title}</h1>
{content}
</main>
</body>
</html>
"""


def make_page(title: str, content: str, status: int = 200) -> HTMLResponse:
    """`content` is HTML: what came from outside was escaped before."""
    return HTMLResponse(PAGE.format(title=html.escape(title), content=content), status)


async def read_form(request: Request) -> dict[str, str]:
    """The first value of each field, because a person types one."""
    given = request.headers.get("content-type", "")
    media_type, _, _ = given.partition(";")
    if media_type.strip().lower() != FORM:
        raise WrongMediaTypeError(given)
    body = await read_body(request, FORM_BYTES)
    form = parse_qs(body.decode("latin-1"))
    return {name: values[0].strip() for name, values in form.items()}
