"""The `session` tool: a session's start and end, its events, its scratchpad."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.errors import InvalidValueError
from holdfast.surfaces import which_session
from holdfast.surfaces.mcp.answer import Answer
from holdfast.surfaces.mcp.call import NO_SESSION
from holdfast.surfaces.mcp.tool import IDEMPOTENCY_KEY, SESSION_ID, Operation, Schema, Tool

if TYPE_CHECKING:
    from holdfast.sessions.model import Session, SessionEvent, SessionState
    from holdfast.sessions.service import SessionService
    from holdfast.surfaces.mcp.call import Call

NOBODY = "none"  # what a call is about that found nothing to end
LABELS = ("chatmode", "user_id", "workflow", "skill", "git_branch", "name")


async def start(call: Call) -> Answer:
    if call.session_id is not None:
        return await _resume(call)
    if "chatmode" not in call.arguments:
        raise InvalidValueError("Operation", "start", "needs chatmode, or the session_id of one to go on with")
    caller, given = call.caller, {name: call.arguments[name] for name in LABELS if name in call.arguments}
    open_one = await _open_native(call)

    async def effect(sessions: SessionService) -> Session:
        return open_one or await sessions.create_session(
            **{"user_id": call.app.settings.developer, "git_branch": caller.branch, **given},
            client=caller.client or which_session.NO_CLIENT,
            native_id=caller.native_id,
            worktree=caller.worktree,
        )

    session, is_first = await call.once(effect, subject=_id, again=_get_session)
    return Answer({"session": session.to_dict()}, _was_open(session) if open_one and is_first else ())


async def append(call: Call) -> Answer:
    given = call.arguments

    async def verb(sessions: SessionService, session: Session) -> SessionEvent:
        return await sessions.append_event(
            session.id,
            given["event_type"],
            given["role"],
            given["content"],
            given.get("parts"),
            event_id=given.get("event_id"),
            expected_sequence=given.get("expected_sequence"),
        )

    event, _, choice = await call.write(verb, subject=_id, again=_get_event)
    return Answer({"event": event.to_dict()}, choice.warnings)


async def recent(call: Call) -> Answer:
    from holdfast.sessions.rules import check_count  # a wrong limit is wrong before there is anything to limit

    given = call.arguments
    limits = {name: check_count(name, given[name]) for name in ("max_turns", "max_tokens") if name in given}
    choice = await call.find_session()
    if choice.session is None:
        return Answer({"events": [], "session_id": None}, next_actions=NO_SESSION)
    events = await call.app.sessions.get_recent_events(choice.session.id, **limits)
    return Answer({"events": [event.to_dict() for event in events], "session_id": choice.session.id}, choice.warnings)


async def state(call: Call) -> Answer:
    choice = await call.find_session()
    if choice.session is None:
        return Answer({"state": None}, next_actions=NO_SESSION)
    found = await call.app.sessions.get_state(choice.session.id)
    return Answer({"state": found.to_dict()}, choice.warnings)


async def update_state(call: Call) -> Answer:
    async def verb(sessions: SessionService, session: Session) -> SessionState:
        return await sessions.update_state(session.id, call.arguments["scratchpad"])

    changed, is_first, choice = await call.write(verb, subject=lambda one: one.session_id, again=_get_state)
    return Answer({"state": changed.to_dict()}, (*choice.warnings, *repeated(is_first)))


async def end(call: Call) -> Answer:
    """The one write that starts nothing: to end a session that was never there is done already."""
    notes: list[str] = []

    async def effect(sessions: SessionService) -> Session | None:
        choice = await which_session.find_session(sessions, call.session_id, call.caller)
        notes[:] = choice.warnings if choice.session else ["No session is open here, so none was ended."]
        if choice.session is not None:
            await sessions.end_session(choice.session.id)
        return choice.session and await sessions.get_session(choice.session.id)

    async def again(sessions: SessionService, session_id: str) -> Session | None:
        return None if session_id == NOBODY else await sessions.get_session(session_id)

    ended, _ = await call.once(effect, subject=lambda one: one.id if one else NOBODY, again=again)
    return Answer({"session": ended.to_dict() if ended else None}, notes)


def repeated(is_first: bool) -> tuple[str, ...]:
    """For what goes on changing: the answer to a repeated request is how it is now."""
    return () if is_first else ("This key was used before: nothing was changed again, and this is how it is now.",)


# --- within ------------------------------------------------------------------------------------------------


async def _resume(call: Call) -> Answer:
    """`start` with a session's id or name goes on with that one, as `holdfast session resume` does."""
    found = await call.find_session()
    assert found.session is not None  # a named one that is missing was an error
    session_id = found.session.id
    session, _ = await call.once(lambda sessions: sessions.resume_session(session_id), subject=_id, again=_get_session)
    text = await call.app.sessions.get_resume_text(session.id, call.exists)
    ignored = [name for name in LABELS if name in call.arguments]
    note = f"Session {session.id} goes on as it was; not changed: {', '.join(ignored)}."
    return Answer({"session": session.to_dict(), "resume_text": text}, [note] if ignored else ())


async def _open_native(call: Call) -> Session | None:
    if not call.caller.client or not call.caller.native_id:
        return None
    return await call.app.sessions.find_native_session(call.caller.client, call.caller.native_id)


def _was_open(session: Session) -> list[str]:
    note = f"Session {session.id} of your client is open already: it was neither started again nor changed."
    return [f"{note} End it first to start another."]


def _id(one: Any) -> str:
    found: str = one.id
    return found


async def _get_session(sessions: SessionService, session_id: str) -> Session:
    return await sessions.get_session(session_id)


async def _get_state(sessions: SessionService, session_id: str) -> SessionState:
    return await sessions.get_state(session_id)


async def _get_event(sessions: SessionService, event_id: str) -> SessionEvent:
    return await sessions.get_event(event_id)


def _properties() -> dict[str, Schema]:
    from holdfast.sessions import rules

    def text(description: str) -> Schema:
        return {"type": "string", "description": description}

    return {
        "session_id": SESSION_ID,
        "chatmode": text("start: the kind of work, such as architect or debug"),
        "user_id": text("start: whose work it is; the developer unless you say otherwise"),
        "workflow": text("start: the workflow that it belongs to"),
        "skill": text("start: the skill in use"),
        "git_branch": text("start: the branch that it is about"),
        "name": text("start: a short name by which people find it again"),
        "event_type": {"type": "string", "enum": list(rules.EVENT_TYPES), "description": "append: what happened"},
        "role": {"type": "string", "enum": list(rules.ROLES), "description": "append: who did it"},
        "content": text("append: the text of the event"),
        "parts": {"type": "object", "description": "append: structured details beside the text"},
        "event_id": text("append: a UUID of yours; the same one again appends nothing"),
        "expected_sequence": {
            "type": "integer",
            "minimum": 0,
            "description": "append: the number of the last event you know; refused if there is a newer one",
        },
        "max_turns": {"type": "integer", "minimum": 0, "description": "recent: how many turns back, 30 by default"},
        "max_tokens": {"type": "integer", "minimum": 0, "description": "recent: about how many tokens at most"},
        "scratchpad": {
            "type": "object",
            "description": "update_state: what to merge in; null removes a key, lists are replaced",
        },
        "idempotency_key": IDEMPOTENCY_KEY,
    }


TOOLS = (
    Tool(
        "session",
        "Session log and scratchpad",
        (
            Operation("start", start, takes=LABELS, writes=True),
            Operation(
                "append",
                append,
                needs=("event_type", "role", "content"),
                takes=("parts", "event_id", "expected_sequence"),
                writes=True,
            ),
            Operation("recent", recent, takes=("max_turns", "max_tokens")),
            Operation("state", state),
            Operation("update_state", update_state, needs=("scratchpad",), writes=True),
            Operation("end", end, writes=True),
        ),
        _properties,
        data={
            "session": {"type": ["object", "null"]},
            "event": {"type": "object"},
            "events": {"type": "array", "items": {"type": "object"}},
            "state": {"type": ["object", "null"]},
            "session_id": {"type": ["string", "null"]},
            "resume_text": {"type": "string"},
        },
        # `update_state` can remove keys of the scratchpad, and `append` twice appends two events.
        hints={"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": False},
    ),
)
