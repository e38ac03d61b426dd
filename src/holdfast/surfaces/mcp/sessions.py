"""The `session` tool: a session's start and end, its events, its scratchpad.

Most calls name no session: the one that the caller is in is meant, and a write starts one where
there is none. Only `end` starts nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from holdfast.errors import InvalidValueError
from holdfast.ground.frozen import dataclass
from holdfast.sessions.errors import SessionInUseError
from holdfast.surfaces.mcp import wording
from holdfast.surfaces.mcp.actions import word_sets_call
from holdfast.surfaces.mcp.answer import (
    RESUME_CHARS,
    Answer,
    make_answer,
    make_write_answer,
    shorten,
)
from holdfast.surfaces.mcp.call import (
    NO_SESSION,
    advise_choice,
    describe_choice,
    describe_repeated,
)
from holdfast.surfaces.mcp.recent import make_brief_event, make_recent
from holdfast.surfaces.mcp.tool import (
    DETAIL,
    IDEMPOTENCY_KEY,
    TEXT,
    Operation,
    Schema,
    Tool,
    make_text_schema,
)
from holdfast.usecases import which_session
from holdfast.usecases.continuation import hand_over, make_document

if TYPE_CHECKING:
    from holdfast.scope import Scope
    from holdfast.sessions.model import Session, SessionEvent, SessionState
    from holdfast.surfaces.mcp.call import Call

NONE_ENDED = "none"  # what a call is about that found nothing to end
NONE_OPEN = "No session is open here, so none was ended."
SESSION_FIELDS = (
    *("id", "name", "chatmode", "client", "git_branch", "started_at", "ended_at"),
    "resumed_from",
)
STARTED_FIELDS = ("id", "chatmode", "git_branch", "started_at")
LABEL_CHARS = 40
OBJECT: Schema = {"type": "object"}
COUNT: Schema = {"type": "integer", "minimum": 0}
LABELS = ("chatmode", "user_id", "workflow", "skill", "git_branch", "name")


async def start(call: Call) -> Answer:
    if call.session_id is not None:
        return await _resume(call)
    if "chatmode" not in call.arguments:
        problem = "needs chatmode, or the session_id of one to continue"
        raise InvalidValueError("Operation", "start", problem)
    already_open = await _find_native(call)

    async def verb(scope: Scope) -> Session:
        return already_open or await _create_session(scope, call)

    done = await call.write(verb, get_session)
    warnings = []
    if already_open and done.is_first:
        warnings.append(_describe_open(done.result))
    elif done.is_first:
        which_session.keep_opened(done.result, call.caller, call.app.settings)
    return await _answer_started(call, done.result, [*warnings, *describe_repeated(done)])


async def append(call: Call) -> Answer:
    given = call.arguments

    async def verb(scope: Scope, session: Session) -> SessionEvent:
        return await scope.sessions.append_event(
            session.id,
            given["event_type"],
            given["role"],
            given["content"],
            given.get("parts"),
            event_id=given.get("event_id"),
            expected_sequence=given.get("expected_sequence"),
        )

    done, choice = await call.write_in_session(verb, _get_event)
    warnings = [*describe_choice(choice), *describe_repeated(done)]
    event = done.result
    brief = {**make_brief_event(event), "session_id": event.session_id}
    data = {"event": event.to_dict() if call.wants_detail else brief}
    return make_write_answer(
        data, wording.describe_event, warnings, advise_choice(choice), detail=call.wants_detail
    )


async def recent(call: Call) -> Answer:
    from holdfast.sessions.rules import check_count

    # A wrong limit is refused before there is anything to limit.
    given = call.pick("max_turns", "max_tokens")
    limits = {name: check_count(name, value) for name, value in given.items()}
    choice = await call.find_session_to_read()
    if choice.session is None:
        nothing: dict[str, Any] = {"events": [], "session_id": None}
        return make_answer(nothing, wording.describe_events, (), NO_SESSION)
    return await make_recent(
        call.scope.sessions,
        choice.session,
        await call.describe_read(choice),
        whole=call.wants_detail,
        **limits,
    )


async def state(call: Call) -> Answer:
    choice = await call.find_session_to_read()
    if choice.session is None:
        return make_answer({"state": None}, wording.describe_state, (), NO_SESSION)
    found = await call.scope.sessions.get_state(choice.session.id)
    data = {"state": found.to_dict()}
    warnings = await call.describe_read(choice)
    return make_answer(data, wording.describe_state, warnings, limit=call.read_limit)


async def update_state(call: Call) -> Answer:
    async def verb(scope: Scope, session: Session) -> SessionState:
        return await scope.sessions.update_state(session.id, call.arguments["scratchpad"])

    done, choice = await call.write_in_session(verb, _get_state)
    warnings = [*describe_choice(choice), *describe_repeated(done)]
    changed = call.arguments["scratchpad"]
    kept = done.result.to_dict()
    written = {name: kept["scratchpad"][name] for name in changed if name in kept["scratchpad"]}
    data = {"state": {**kept, "scratchpad": {**written, **kept["scratchpad"]}}}
    return make_write_answer(
        data, wording.describe_state, warnings, advise_choice(choice), detail=call.wants_detail
    )


async def end(call: Call) -> Answer:
    """The one write that starts nothing: ending a session that never was is already done."""

    async def verb(scope: Scope) -> EndedSession:
        choice = await which_session.find_session(scope, call.session_id, call.caller)
        if choice.session is None:
            return EndedSession(None, (NONE_OPEN,))
        session_id = choice.session.id
        if call.session_id is not None:
            await _refuse_anothers(scope, choice.session, call)
        await scope.sessions.end_session(session_id)
        session = await scope.sessions.get_session(session_id)
        return EndedSession(session, describe_choice(choice))

    done = await call.write(verb, _get_ended)
    ended = done.result
    return _answer_session(call, ended.session, [*ended.warnings, *describe_repeated(done)])


@dataclass(frozen=True)
class EndedSession:
    session: Session | None
    warnings: tuple[str, ...] = ()

    @property
    def subject(self) -> str:
        if self.session is None:
            return NONE_ENDED
        return self.session.id


# --- answers --------------------------------------------------------------------------------------


def _answer_session(call: Call, session: Session | None, warnings: Sequence[str]) -> Answer:
    data = {"session": _pick_session(call, session) if session else None}
    return make_write_answer(data, wording.describe_session, warnings, detail=call.wants_detail)


def _pick_session(call: Call, session: Session) -> dict[str, Any]:
    known = session.to_dict()
    if call.wants_detail:
        return known
    return {name: known[name] for name in SESSION_FIELDS if known[name] is not None}


# --- within ---------------------------------------------------------------------------------------


async def _create_session(scope: Scope, call: Call) -> Session:
    caller = call.caller
    labels: dict[str, Any] = {
        "user_id": call.app.settings.developer,
        "git_branch": caller.branch,
    }
    labels |= call.pick(*LABELS)
    return await scope.sessions.create_session(
        **labels,
        client=caller.client or which_session.NO_CLIENT,
        native_id=caller.native_id,
        worktree=caller.worktree,
    )


async def _resume(call: Call) -> Answer:
    """`start` with a session's id or name continues it, as `holdfast session resume` does."""
    choice = await call.find_session()
    assert choice.session is not None  # a named session that is missing was an error
    went_on = await continue_session(call, choice.session, await _find_native(call))
    return await _answer_resumed(call, went_on.session, went_on.left, went_on.warnings)


@dataclass(frozen=True)
class ContinuedSession:
    session: Session  # what the calls of the caller mean
    left: Session  # what there is to know about
    warnings: tuple[str, ...]
    is_first: bool = True


async def continue_session(
    call: Call,
    left: Session,
    own: Session | None,
    then: Callable[[Scope, Session], Awaitable[Session]] | None = None,
) -> ContinuedSession:
    """Only one's own is continued as it is. Another's goes on in a session of the caller, and a
    caller that is in one already, `own`, is handed what there is to know.

    `then` is done with the session that goes on, in the same transaction.
    """
    if own is not None and own.id != left.id:
        return await _continue_in(call, own, left, then)
    caller, settings = call.caller, call.app.settings
    is_own = await which_session.is_own(call.scope, left, caller, settings)

    async def verb(scope: Scope) -> Session:
        resumed = await scope.sessions.resume_session(
            left.id,
            client=caller.client or which_session.NO_CLIENT,
            native_id=caller.native_id,
            apart=not is_own,
        )
        return await then(scope, resumed) if then else resumed

    done = await call.write(verb, get_session, is_whole=then is not None)
    session = done.result
    warnings: tuple[str, ...] = ()
    if session.id == left.id:
        _bind(call, session)
    elif done.is_first:
        which_session.keep_opened(session, caller, settings)
    if session.id != left.id and left.ended_at is None:
        warnings = (_describe_apart(left),)
    return ContinuedSession(session, session, warnings, done.is_first)


async def _continue_in(
    call: Call,
    own: Session,
    left: Session,
    then: Callable[[Scope, Session], Awaitable[Session]] | None,
) -> ContinuedSession:
    """The caller's own session goes on with what the other left."""

    async def verb(scope: Scope) -> Session:
        continued = await scope.sessions.continue_in(own.id, left.id)
        return await then(scope, continued) if then else continued

    done = await call.write(verb, get_session, is_whole=then is not None)
    warnings = [_describe_unchanged(own)]
    if left.context and done.result.context == left.context:
        warnings.append("Its context sets are now those of your session too.")
    return ContinuedSession(done.result, left, tuple(warnings), done.is_first)


async def _answer_resumed(
    call: Call, session: Session, left: Session, warnings: Sequence[str]
) -> Answer:
    """`session` is what the calls of the caller mean, `left` what the document is about."""
    text = await hand_over(
        call.app,
        left,
        worktree=call.caller.worktree,
        exists=call.exists,
        max_chars=sys.maxsize if call.wants_detail else RESUME_CHARS,
        call_for_more=word_sets_call(left.id),
    )
    notes = list(warnings)
    ignored = ", ".join(call.pick(*LABELS))
    if ignored:
        notes.append(f"Session {session.id} goes on as it was; not changed: {ignored}.")
    data = {"session": _pick_session(call, session), "resume_text": text}
    return make_answer(data, wording.describe_session, notes, limit=call.read_limit)


async def _answer_started(call: Call, session: Session, warnings: Sequence[str]) -> Answer:
    """With what whoever continues here is handed, unless the session is on already."""
    text = ""
    if not session.last_sequence:
        text = await make_document(call.app, call.caller.worktree)
    if not text:
        return _answer_session(call, session, warnings)
    known = _pick_session(call, session)
    if not call.wants_detail:  # the document is what the answer is for
        brief = {name: known[name] for name in STARTED_FIELDS if name in known}
        known = shorten(brief, LABEL_CHARS, entries=1)
    data = {"session": known, "resume_text": text}
    return make_answer(data, wording.describe_session, warnings, limit=call.read_limit)


async def _refuse_anothers(scope: Scope, session: Session, call: Call) -> None:
    settings = call.app.settings
    if await which_session.is_live_elsewhere(scope, session, call.caller, settings):
        raise SessionInUseError(session.id, session.client or which_session.NO_CLIENT)


def _bind(call: Call, session: Session) -> None:
    """Later calls of this server mean the session, unless its client has one of its own."""
    if call.caller.own is not None:
        call.caller.own.bind(session, call.app.settings, is_opened=False)


async def _find_native(call: Call) -> Session | None:
    caller = call.caller
    if not caller.client or not caller.native_id:
        return None
    return await call.scope.sessions.find_native_session(caller.client, caller.native_id)


def _describe_open(session: Session) -> str:
    return (
        f"Session {session.id} of your client is open already: "
        "it was neither started again nor changed. End it first to start another."
    )


def _describe_unchanged(session: Session) -> str:
    return (
        f"Your calls without session_id mean session {session.id} of your client, as before: "
        "none was started, and this is what there is to know about the other."
    )


def _describe_apart(left: Session) -> str:
    client = left.client or which_session.NO_CLIENT
    return (
        f"Session {left.id} is open and belongs to {client}, so it was left as it is: this new one "
        "continues it, and your calls mean this one."
    )


async def get_session(scope: Scope, session_id: str) -> Session:
    return await scope.sessions.get_session(session_id)


async def _get_ended(scope: Scope, session_id: str) -> EndedSession:
    if session_id == NONE_ENDED:
        return EndedSession(None)
    return EndedSession(await scope.sessions.get_session(session_id))


async def _get_state(scope: Scope, session_id: str) -> SessionState:
    return await scope.sessions.get_state(session_id)


async def _get_event(scope: Scope, event_id: str) -> SessionEvent:
    return await scope.sessions.get_event(event_id)


def _make_properties() -> dict[str, Schema]:
    from holdfast.sessions import rules

    return {
        "chatmode": make_text_schema("Kind of work, such as architect or debug"),
        **dict.fromkeys(("user_id", "workflow", "skill", "git_branch", "name"), TEXT),
        "event_type": {"type": "string", "enum": list(rules.EVENT_TYPES)},
        "role": {"type": "string", "enum": list(rules.ROLES)},
        "content": TEXT,
        "parts": OBJECT,
        "event_id": TEXT,
        "expected_sequence": COUNT,
        "max_turns": COUNT,
        "max_tokens": COUNT,
        "scratchpad": OBJECT,
        "detail": DETAIL,
        "session_id": TEXT,
        "idempotency_key": IDEMPOTENCY_KEY,
    }


TOOLS = (
    Tool(
        "session",
        "Session log and scratchpad",
        (
            Operation("start", start, takes=(*LABELS, "detail"), writes=True),
            Operation(
                "append",
                append,
                needs=("event_type", "role", "content"),
                takes=("parts", "event_id", "expected_sequence", "detail"),
                writes=True,
            ),
            Operation("recent", recent, takes=("max_turns", "max_tokens", "detail")),
            Operation("state", state, takes=("detail",)),
            Operation(
                "update_state", update_state, needs=("scratchpad",), takes=("detail",), writes=True
            ),
            Operation("end", end, takes=("detail",), writes=True),
        ),
        _make_properties,
        # `update_state` can remove keys of the scratchpad, and `append` twice appends two events.
        hints={
            "readOnlyHint": False,
            "destructiveHint": True,
            "idempotentHint": False,
            "openWorldHint": False,
        },
    ),
)
