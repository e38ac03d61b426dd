"""The session that a person names to `off` or `on`: by our id, or by its client's own."""

from __future__ import annotations

from holdfast.app import App
from holdfast.surfaces.cli.running import find_session, here
from holdfast.usecases import switching
from holdfast.usecases.errors import NoClientSessionError


def name_native(app: App, given: str | None) -> tuple[str, str] | None:
    if given is None:
        return None
    known = switching.find_native(app, given)
    if known is not None:
        return known
    session = find_session(app, given)
    if session.client is None or session.native_id is None:
        raise NoClientSessionError(here(), is_off=False)
    return session.client, session.native_id
