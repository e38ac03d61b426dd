"""The `conversation` tool: find what was said about a topic, go on with it here, and save it.

Lists also name the sessions that belong to no conversation, because a person who wants to go on
does not know which of the two it was. What finds and saves them loads git and the store, so it is
imported by the calls: the list of tools needs neither.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from holdfast.clients import find_client
from holdfast.conversations.errors import (
    AmbiguousConversationError,
    ConversationNotFoundError,
    NoConversationError,
)
from holdfast.conversations.model import ACTIVE, COMPLETED, PAUSED, STATUSES, Saved
from holdfast.conversations.resuming import CHANGE_CHARS, END, NAME_CHARS
from holdfast.conversations.rules import check_status
from holdfast.errors import InvalidValueError, NoWorkingTreeError
from holdfast.ground import clock
from holdfast.ground.fence import one_line
from holdfast.ground.redaction import describe_masked
from holdfast.ground.text import plural
from holdfast.sessions.errors import SessionEndedError
from holdfast.surfaces.mcp import message_pages, wording
from holdfast.surfaces.mcp.answer import (
    READ_CHARS,
    Answer,
    count_chars,
    make_answer,
    make_write_answer,
)
from holdfast.surfaces.mcp.call import describe_choice, describe_repeated
from holdfast.surfaces.mcp.sessions import ContinuedSession, continue_session, get_session
from holdfast.surfaces.mcp.tool import DETAIL, IDEMPOTENCY_KEY, TEXT, Operation, Schema, Tool
from holdfast.usecases import which_session

if TYPE_CHECKING:
    from holdfast.app import App
    from holdfast.conversations.comparing import Change
    from holdfast.conversations.model import Conversation
    from holdfast.scope import Scope
    from holdfast.sessions.model import Session
    from holdfast.surfaces.mcp.call import Call
    from holdfast.usecases.resuming import Resumable, Resume
    from holdfast.usecases.which_session import Caller, SessionChoice
    from holdfast.write import Done

SHOWN = 20
TITLE_CHARS, SUMMARY_CHARS, WHOLE_CHARS = 80, 120, 1_000
NEAREST = 5
AROUND_TEXT = 700  # the envelope, the warnings and the next call
LEFT_OUT = "what was said in {} was not looked at: there is too much of it"
NOT_MERGED = "git had not merged session.json; both sides are kept in .session/.recovered/{}"
CONTINUES = "Type `/workspace.resume` to continue it, in any agent program."


async def list_(call: Call) -> Answer:
    from holdfast.usecases import resuming

    wanted = call.arguments.get("status")
    status = None if wanted is None else check_status(wanted)
    found = await resuming.list_resumables(call.app, find_worktree(call.app, call.caller))
    if status is not None:
        found = [each for each in found if each.conversation and each.status == status]
    return await _answer_list(call, found)


async def search(call: Call) -> Answer:
    from holdfast.usecases import resuming

    query = _get_text(call, "query")
    worktree = find_worktree(call.app, call.caller)
    found = await resuming.look_for(call.app, worktree, query)
    left_out = LEFT_OUT.format(plural(found.left_out, "conversation"))
    return await _answer_list(call, found.resumables, [left_out] if found.left_out else ())


async def resume(call: Call) -> Answer:
    """With a cursor only a page of what was said is read, and nothing is continued."""
    from holdfast.usecases import taking_over

    worktree = find_worktree(call.app, call.caller)
    found = await choose(call.app, worktree, _get_text(call, "conversation_id"))
    cursor = call.arguments.get("cursor")
    if cursor is not None:
        return await _answer_page(call, worktree, found, cursor)
    prepared = await prepare(call.app, call.caller, found)
    went_on = await _continue(call, found)
    problems = await taking_over.take_over(call.app, worktree, found, went_on.session)
    return await _answer_resumed(call, worktree, prepared, went_on, problems)


async def save(call: Call) -> Answer:
    return await _save(call, ACTIVE)


async def pause(call: Call) -> Answer:
    return await _save(call, PAUSED)


async def complete(call: Call) -> Answer:
    return await _save(call, COMPLETED)


# --- choosing, also for the resource --------------------------------------------------------------


def find_worktree(app: App, caller: Caller) -> str:
    """That of the caller; without one that of the server."""
    worktree = caller.worktree or app.served_worktree
    if worktree is None:
        raise NoWorkingTreeError
    return worktree


async def choose(app: App, worktree: str, wanted: str) -> Resumable:
    """By the id of a conversation or a session, or by the name of a folder; never by a guess."""
    from holdfast.usecases import conversing, resuming

    known = await resuming.list_resumables(app, worktree)
    named = {each.id: each for each in known if wanted in _list_names(each)}
    if len(named) > 1:
        raise AmbiguousConversationError(wanted, list(named)[:NEAREST])
    for found in named.values():
        return found
    service = conversing.open_conversations(app, worktree)
    await service.get_conversation(wanted)  # refuses, and names the nearest
    raise ConversationNotFoundError(wanted)  # it is older than all that are listed


async def prepare(app: App, caller: Caller, found: Resumable) -> Resume:
    """Without the document about its session, where an answer has no room for both."""
    from holdfast.usecases import resuming

    client = find_client(caller.client) if caller.client else None
    prepared = await resuming.prepare(app, find_worktree(app, caller), found, client)
    if count_chars(prepared.text) <= READ_CHARS - AROUND_TEXT:
        return prepared
    block, _, _ = prepared.text.partition(END)
    return resuming.Resume(prepared.of, prepared.changes, block + END)


def _list_names(resumable: Resumable) -> tuple[str, ...]:
    return resumable.id, resumable.id.rpartition("/")[2]


# --- lists ----------------------------------------------------------------------------------------


async def _answer_list(
    call: Call, found: Sequence[Resumable], warnings: Sequence[str] = ()
) -> Answer:
    own = (await call.find_session()).session_id
    others = [each for each in found if each.conversation or each.id != own]
    rows = [_make_row(each, is_whole=call.wants_detail) for each in others[:SHOWN]]
    data: dict[str, Any] = {"conversations": rows}
    actions = []
    if len(others) > SHOWN:
        data["more"] = len(others) - SHOWN
        actions.append("conversation operation=search query=WORDS")
    return make_answer(
        data, wording.describe_conversations, warnings, actions, limit=call.read_limit
    )


def _make_row(found: Resumable, *, is_whole: bool) -> dict[str, Any]:
    subject = found.subject
    row = {
        "id": found.id,
        "type": subject.type,
        "title": one_line(subject.title, WHOLE_CHARS if is_whole else TITLE_CHARS),
        "status": found.status,
        "last_active": clock.to_text(subject.last_active),
        "client": one_line(found.client or "", NAME_CHARS),
        "summary": one_line(subject.summary, WHOLE_CHARS if is_whole else SUMMARY_CHARS),
    }
    return {name: value for name, value in row.items() if value}


# --- going on -------------------------------------------------------------------------------------


async def _continue(call: Call, found: Resumable) -> ContinuedSession:
    """In the caller's session, which then belongs to the conversation."""

    async def link(scope: Scope, session: Session) -> Session:
        if found.conversation is None:
            return session
        return await scope.sessions.link_conversation(session.id, found.conversation.id)

    if found.session is not None:
        return await continue_session(call, found.session, await _find_own(call), link)
    done, choice = await call.write_in_session(link, get_session)
    return ContinuedSession(done.result, done.result, describe_choice(choice), done.is_first)


async def _find_own(call: Call) -> Session | None:
    """The session that is named, else that of the client; one of this server goes on elsewhere."""
    if call.session_id is None and not call.caller.native_id:
        return None
    own = (await call.find_session()).session
    if own is not None and call.session_id is not None:
        which_session.require_on(call.app.settings, own.client, own.native_id)
        if own.ended_at is not None:
            raise SessionEndedError(own.id, own.ended_at)
    return own


async def _answer_resumed(
    call: Call,
    worktree: str,
    prepared: Resume,
    went_on: ContinuedSession,
    problems: Sequence[str],
) -> Answer:
    from holdfast.usecases import resuming

    changes: list[Any] = [change.about for change in prepared.changes]
    if call.wants_detail:
        changes = [_write_change(change) for change in prepared.changes]
    resumed = {
        "id": prepared.of.id,
        "session_id": went_on.session.id,
        "text": prepared.text,
        "changes": changes,
    }
    warnings = [*went_on.warnings, *problems]
    if not problems:
        warnings += prepared.of.notes
    actions = []
    if call.wants_detail:
        said = await resuming.gather_messages(call.app, worktree, prepared.of)
        page = message_pages.make_page(
            prepared.of.id, said, None, resuming.find_key(call.app, said)
        )
        resumed |= page.to_dict()
        actions = _list_next(prepared.of, page)
    data = {"resume": resumed}
    return Answer(data, warnings, actions, text=wording.describe_resume(data))


async def _answer_page(call: Call, worktree: str, found: Resumable, cursor: object) -> Answer:
    from holdfast.usecases import resuming

    said = await resuming.gather_messages(call.app, worktree, found)
    page = message_pages.make_page(found.id, said, cursor, resuming.find_key(call.app, said))
    data = {"resume": {"id": found.id, **page.to_dict()}}
    return Answer(data, (), _list_next(found, page), text=wording.describe_resume(data))


def _write_change(change: Change) -> dict[str, Any]:
    return {**change.to_dict(), "text": one_line(change.text, CHANGE_CHARS)}


def _list_next(found: Resumable, page: message_pages.MessagePage) -> list[str]:
    if page.cursor is None:
        return []
    call = f"conversation operation=resume conversation_id={found.id} cursor={page.cursor}"
    return [call]


# --- saving ---------------------------------------------------------------------------------------


async def _save(call: Call, status: str) -> Answer:
    """The conversation of the caller's session. None is started for that: it would have none."""
    from holdfast.usecases import conversing

    worktree = find_worktree(call.app, call.caller)
    summary = _get_text(call, "summary") if "summary" in call.arguments else None
    choice = await _find_saved(call)

    async def verb(scope: Scope) -> Saved:
        return await conversing.save_conversation(
            call.app, worktree, choice.session, summary=summary, status=status
        )

    async def read_again(scope: Scope, conversation_id: str) -> Saved:
        service = conversing.open_conversations(call.app, worktree)
        return Saved(await service.get_conversation(conversation_id), 0, ())

    done = await call.write(verb, read_again, effect="files")
    return _answer_saved(call, done, choice, status)


async def _find_saved(call: Call) -> SessionChoice:
    choice = await call.find_session()
    if choice.session is None:
        raise NoConversationError
    if call.session_id is not None:
        session = choice.session
        which_session.require_on(call.app.settings, session.client, session.native_id)
    return choice


def _answer_saved(call: Call, done: Done[Saved], choice: SessionChoice, status: str) -> Answer:
    found = done.result.conversation
    known = found.to_dict() if call.wants_detail else _pick_saved(found)
    data = {"conversation": known, "added": done.result.added}
    masked = describe_masked(call.pick("summary"))
    kept = done.result.kept
    not_merged = [] if kept is None else [NOT_MERGED.format(os.path.basename(kept))]
    warnings = [*describe_choice(choice), *masked, *not_merged, *describe_repeated(done)]
    actions = [CONTINUES] if status == PAUSED else []
    return make_write_answer(
        data, wording.describe_saved, warnings, actions, detail=call.wants_detail
    )


def _pick_saved(found: Conversation) -> dict[str, Any]:
    return {
        "id": found.id,
        "type": found.type,
        "title": one_line(found.title, WHOLE_CHARS),
        "status": found.status,
        "last_active": clock.to_text(found.last_active),
        "message_count": found.message_count,
        "summary": one_line(found.context_summary, WHOLE_CHARS),
    }


# --- within ---------------------------------------------------------------------------------------


def _get_text(call: Call, name: str) -> str:
    given = call.arguments[name]
    if not isinstance(given, str):
        raise InvalidValueError(name, given, "is not a text")
    return given


def _make_properties() -> dict[str, Schema]:
    return {
        "status": {"type": "string", "enum": list(STATUSES)},
        **dict.fromkeys(("query", "conversation_id", "cursor", "summary"), TEXT),
        "detail": DETAIL,
        "session_id": TEXT,
        "idempotency_key": IDEMPOTENCY_KEY,
    }


TOOLS = (
    Tool(
        "conversation",
        "Find, continue and save conversations",
        (
            Operation("list", list_, takes=("status", "detail")),
            Operation("search", search, needs=("query",), takes=("detail",)),
            Operation(
                "resume",
                resume,
                needs=("conversation_id",),
                takes=("cursor", "detail"),
                writes=True,
            ),
            Operation("save", save, takes=("summary", "detail"), writes=True),
            Operation("pause", pause, takes=("summary", "detail"), writes=True),
            Operation("complete", complete, takes=("detail",), writes=True),
        ),
        _make_properties,
        # What was said is only ever added to; `save` replaces a summary.
        hints={
            "readOnlyHint": False,
            "destructiveHint": True,
            "idempotentHint": False,
            "openWorldHint": False,
        },
    ),
)
