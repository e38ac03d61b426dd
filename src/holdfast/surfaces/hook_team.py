"""What hooks ask of the exchange: the block at a start, overlaps at an edit, offers at a prompt.

Loaded only where the exchange is on. An agent rather goes on without it than waits for it.
"""

from __future__ import annotations

from holdfast.app import App
from holdfast.clients.contract import CALL, PROMPT, START
from holdfast.ground.alarm import Alarm
from holdfast.ground.settings import is_sqlite
from holdfast.notices.model import NOTICE_CHARS
from holdfast.surfaces.hook_log import log_failure, silence
from holdfast.usecases import capture

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from types import ModuleType
    from typing import Any

    from holdfast.clients.contract import HookMoment
    from holdfast.ground.settings import Settings

WHOLE_SECONDS = 1.5  # for the block, and for what the team is shown at the end of a turn
BRIEF_SECONDS = 0.4  # at an edit or a prompt


def add_to_start(
    app: App, moment: HookMoment, text: str | None, notice: str
) -> tuple[str | None, str]:
    """The document and the notice, with what the team adds."""
    if moment.kind == START:
        return _begin(app, moment, text), notice
    if text is not None:
        text = _begin(app, moment, text)
    return text, _add_notice(notice, lambda room: _tell_offers(app, moment, room))


def add_to_edit(settings: Settings, moment: HookMoment, notice: str) -> str:
    return _add_notice(notice, lambda room: _tell_edit(settings, moment, room))


def end_turn(app: App, moment: HookMoment) -> None:
    _ask(app, moment, lambda team: team.end_turn(app, moment))


def end_session(app: App, moment: HookMoment) -> None:
    """In this store a session that ends takes with it what it shows; a server has to be told."""
    if app.has_server:
        _ask(app, moment, lambda team: team.end_session(app, moment))


def _begin(app: App, moment: HookMoment, text: str | None) -> str | None:
    """The document with the block about the team, where a window takes one."""
    if text is None:
        _ask(app, moment, lambda team: team.begin(app, moment))
        return None
    document = text

    def fits(block: str) -> bool:
        whole = _join(document, block)
        chars = len(whole.encode()) if moment.client.COUNTS_BYTES else len(whole)
        limit = moment.client.TEXT_CHARS
        return limit is None or chars <= limit

    block = _ask(app, moment, lambda team: team.begin(app, moment, fits))
    return _join(document, block)


def _tell_offers(app: App, moment: HookMoment, room: int) -> str:
    return _ask(app, moment, lambda team: team.tell_offers(app, moment, room))


def _tell_edit(settings: Settings, moment: HookMoment, room: int) -> str:
    if not capture.has_server(settings):
        from holdfast.usecases import team_at_hooks

        if not team_at_hooks.has_store(settings):
            return ""
    if not is_sqlite(settings.database):
        silence()
    try:
        with App(settings, wait_seconds=BRIEF_SECONDS) as app:
            return _ask(app, moment, lambda team: team.tell_edit(app, moment, room))
    except Exception as error:
        log_failure(error, moment.client.NAME)
        return ""


def _ask(
    app: App, moment: HookMoment, verb: Callable[[ModuleType], Coroutine[Any, Any, str]]
) -> str:
    """An agent rather goes on without it than waits for it."""
    is_brief = moment.kind in (CALL, PROMPT) and moment.event_name != moment.client.TEXT_EVENT
    seconds = BRIEF_SECONDS if is_brief else WHOLE_SECONDS
    try:
        team = _find_team(app)
        with Alarm(seconds):
            return app.run(verb(team), seconds)
    except Exception as error:
        log_failure(error, moment.client.NAME)
        return ""


def _find_team(app: App) -> ModuleType:
    """That of the server which this machine has joined, else that of this store."""
    if app.has_server:
        from holdfast.usecases import remote_at_hooks

        return remote_at_hooks
    from holdfast.usecases import team_at_hooks

    return team_at_hooks


def _add_notice(notice: str, tell: Callable[[int], str]) -> str:
    room = NOTICE_CHARS - (len(notice) + 1 if notice else 0)
    return "\n".join(filter(None, (notice, tell(room))))


def _join(*texts: str) -> str:
    return "\n\n".join(filter(None, texts))
