"""What a person can ask an agent for by name: continue earlier work, or leave a trail."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from holdfast.errors import InvalidValueError, Unavailable
from holdfast.ground.patterns import compile_later
from holdfast.sessions.errors import SessionNotFoundError
from holdfast.surfaces.mcp.actions import word_sets_call
from holdfast.surfaces.mcp.answer import RESUME_CHARS
from holdfast.surfaces.mcp.prose import prose
from holdfast.usecases import which_session
from holdfast.usecases.continuation import hand_over, make_document
from holdfast.usecases.session_status import find_status

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from holdfast.app import App
    from holdfast.sessions.model import Session
    from holdfast.sessions.status import SessionStatus
    from holdfast.usecases.which_session import Caller

# Name, title, description. Each takes one optional argument: which session.
PROMPTS = (
    (
        "workspace-resume",
        "Go on where work stopped",
        "Hands over what the last session here was about",
    ),
    (
        "workspace-stop",
        "Leave a trail before stopping",
        "Asks the agent to record what the next session will need",
    ),
)
SESSION_ARGUMENT = "Id or name of a session; the newest one here without it"
NONE_HERE = (
    "No earlier session of this working tree is known, so there is nothing to go on with. "
    "Say so, and ask what to do."
)

_PLACEHOLDER = compile_later(r"\$(?:[0-9]+|ARGUMENTS)")
NOTHING_NOTED = "It noted nothing. Read its last events."


def check_prompt(name: object, arguments: Mapping[str, str]) -> None:
    known = [known_name for known_name, _, _ in PROMPTS]
    if name not in known:
        raise InvalidValueError("Prompt", name, "is unknown", known=known)
    for argument in arguments:
        if argument != "session_id":
            raise InvalidValueError("Argument", argument, "is unknown here", known=["session_id"])


def find_session_argument(arguments: Mapping[str, str]) -> str | None:
    """Which session was named. A client may send its own placeholder where none was."""
    given = arguments.get("session_id", "").strip()
    if not given or _PLACEHOLDER.fullmatch(given):
        return None
    return given


async def resume_text(
    app: App, caller: Caller, session_id: str | None, exists: Callable[[str], bool]
) -> str:
    """What the newest session here left behind, or plainly that there is none."""
    if session_id:
        session: Session | None = await find_named(app, session_id)
    else:
        session = await which_session.find_latest(app.scope, caller)
    if session is None:
        document = await make_document(app, caller.worktree)
        return document or NONE_HERE
    left = await hand_over(
        app,
        session,
        worktree=caller.worktree,
        exists=exists,
        max_chars=RESUME_CHARS,
        call_for_more=word_sets_call(session.id),
    )
    with suppress(Unavailable):  # a store that is busy keeps nobody from continuing
        await which_session.announce_resume(app.scope, session, caller)
    status = await find_status(app.scope, app.settings.home, session)
    return prose("workspace-resume").format(
        title=_describe_session(session, status),
        session_id=session.id,
        left=left or NOTHING_NOTED,
    )


def stop_text(session: Session | None = None, *, with_team: bool = False) -> str:
    meant = "The calls need no session_id."
    if session is not None:
        meant = f"Use session_id `{session.id}` in every call."
    team = "\n" + prose("workspace-stop-team") if with_team else ""
    return prose("workspace-stop").format(meant=meant, team=team)


async def find_named(app: App, given: str) -> Session:
    """Some clients pass on the first word alone of what was typed: it may begin one name."""
    try:
        return await app.scope.sessions.find_session(given)
    except SessionNotFoundError:
        names = await app.scope.sessions.list_names(f"{given} ", 2)
        if len(names) != 1:
            raise
        return await app.scope.sessions.find_session(names[0])


def _describe_session(session: Session, status: SessionStatus) -> str:
    from holdfast.ground import clock

    name = session.name or session.chatmode
    return f"{name} (started {clock.to_text(session.started_at)}, {status.describe()})"
