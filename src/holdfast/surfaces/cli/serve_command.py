"""`holdfast serve`: the HTTP door and the console, until it is stopped."""

from __future__ import annotations

import asyncio
import os
from importlib.util import find_spec

import click

from holdfast.errors import ExtraMissingError, InvalidValueError
from holdfast.ground.settings import load_server_names, load_settings
from holdfast.surfaces.cli.running import Command, Output, show

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.surfaces.http.serving import ServerAddress

LIBRARIES = ("fastapi", "uvicorn")


@click.command("serve", cls=Command)
@click.option(
    "--host", default="127.0.0.1", show_default=True, metavar="H", help="Address to serve on"
)
@click.option(
    "--port", default=4790, show_default=True, metavar="P", help="Port; 0 takes a free one"
)
@click.option(
    "--root",
    "roots",
    multiple=True,
    metavar="DIR",
    help="Folder whose files the console shows; default: this one",
)
@click.pass_context
def command(context: click.Context, host: str, port: int, roots: tuple[str, ...]) -> int:
    """Serve the API and the console on this machine"""
    if any(find_spec(library) is None for library in LIBRARIES):
        raise ExtraMissingError("holdfast serve", "server")
    from holdfast.surfaces.http.serving import Place, serve

    shown = roots or (".",)
    folders = [_check_folder(root) for root in shown]
    place = Place(host, port, folders, load_server_names())
    as_json: bool = context.meta["json"]

    def announce(started: ServerAddress) -> None:
        show(_describe_started(started), as_json=as_json)

    asyncio.run(serve(load_settings(), place, announce))
    return 0


def _check_folder(root: str) -> str:
    if not os.path.isdir(root):
        raise InvalidValueError("--root", root, "is not a folder")
    return os.path.abspath(root)  # as the person knows it: a link to a folder is another name of it


def _describe_started(started: ServerAddress) -> Output:
    lines = [
        f"Open {started.login_url} (works once, for ten minutes)",
        "Stop with Ctrl-C",
    ]
    warnings = []
    if started.is_open:
        warnings.append(f"Other machines can reach {started.url}; nothing is encrypted on the way")
    return Output(started.to_dict(), "\n".join(lines), warnings)
