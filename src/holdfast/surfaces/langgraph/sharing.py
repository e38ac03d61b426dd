"""Whether sharing is on: by the state, then the environment, then the person's own settings.

It is decided before anything else. Where sharing is off it costs nothing: no store is opened, no
file is made, no git is started, and settings that are not needed are not checked.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from holdfast.app import App
from holdfast.ground import canonical
from holdfast.ground.settings import Settings, load_settings
from holdfast.workstreams import errors
from holdfast.workstreams.checkout import open_checkout
from holdfast.workstreams.flag import NAME, is_shared, parse_flag
from holdfast.workstreams.service import WorkstreamService

PATH_BYTES = 4096


def parse_share(flag: object) -> bool | None:
    """The flag as a program gives it."""
    if flag is None:
        return None
    return parse_flag("share_session", flag)


@contextmanager
def open_work(
    folder: object, share: bool | None, settings: Settings | None
) -> Iterator[tuple[App, WorkstreamService] | None]:
    """The services where sharing is on, else None."""
    if not _may_be_on(share):
        yield None
        return
    place = _check_folder(folder)
    if not _is_on(place, share, settings):
        yield None
        return
    with App(settings) as app:
        yield app, app.workstreams(place, share=share)


def _may_be_on(share: bool | None) -> bool:
    return is_shared(
        asked=share, environment=os.environ.get(NAME), chosen=True, repository_says=None
    )


def _is_on(folder: str, share: bool | None, settings: Settings | None) -> bool:
    home = settings.home if settings else _find_home()
    try:
        open_checkout(home, folder, share, os.environ)
    except (errors.SharedContextOffError, errors.NoRepositoryError):
        return False
    return True


def _find_home() -> str:
    """The folder alone: other settings that are wrong matter only where sharing is on."""
    others = ("HOLDFAST_DATABASE", "HOLDFAST_WORKSPACE", "HOLDFAST_DEVELOPER")
    environment = {name: value for name, value in os.environ.items() if name not in others}
    return load_settings(environment).home


def _check_folder(folder: object) -> str:
    if isinstance(folder, os.PathLike):
        folder = os.fspath(folder)
    place = folder or os.getcwd()
    return canonical.check_text("repo_path", place, max_bytes=PATH_BYTES)
