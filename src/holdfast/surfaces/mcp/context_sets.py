"""`set_relevant_context` and `get_relevant_context`: what the next session is reminded of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.surfaces.mcp.answer import Answer
from holdfast.surfaces.mcp.call import NO_SESSION, describe_choice, describe_repeated
from holdfast.surfaces.mcp.tool import IDEMPOTENCY_KEY, SESSION_ID, Operation, Schema, Tool

if TYPE_CHECKING:
    from holdfast.scope import Scope
    from holdfast.sessions.model import Session, SetChange
    from holdfast.surfaces.mcp.call import Call

ITEMS: Schema = {"type": "array", "items": {"type": "string"}}
CONTEXT: Schema = {"type": "object", "additionalProperties": ITEMS}


async def set_relevant_context(call: Call) -> Answer:
    from holdfast.sessions.context_sets import describe_removed

    name = call.arguments["setName"]
    items = call.arguments["items"]
    mode = call.arguments.get("mode", "replace")

    async def verb(scope: Scope, session: Session) -> SetChange:
        return await scope.sessions.set_relevant_context(session.id, name, items, mode=mode)

    async def read_again(scope: Scope, session_id: str) -> SetChange:
        return await scope.sessions.get_set_change(session_id, name)

    done, choice = await call.write_in_session(verb, read_again)
    change = done.result
    notes = [change.warning, *describe_repeated(done)]
    if mode == "merge":
        notes.append(describe_removed(change))
    warnings = list(describe_choice(choice))
    warnings += [note for note in notes if note]
    return Answer({**change.to_dict(), "session_id": change.session_id}, warnings)


async def get_relevant_context(call: Call) -> Answer:
    from holdfast.sessions.context_sets import name_warning
    from holdfast.sessions.rules import check_optional_label

    name = check_optional_label("setName", call.arguments.get("setName"))
    choice = await call.find_session_to_read()
    warnings = list(await call.describe_borrowed(choice))
    unusual = name_warning(name, kept=False) if name else None
    if unusual:
        warnings.append(unusual)
    if choice.session is None:
        return Answer({"context": {}, "session_id": None}, warnings, next_actions=NO_SESSION)
    session_id = choice.session.id
    context = await call.scope.sessions.get_relevant_context(session_id, name)
    return Answer({"context": context, "session_id": session_id}, warnings)


def _make_set_properties() -> dict[str, Schema]:
    from holdfast.sessions import context_sets

    known = ", ".join(context_sets.KNOWN_SETS)
    return {
        "setName": {
            "type": "string",
            "description": f"Known sets: {known}; others work and are warned about",
        },
        "items": {
            **ITEMS,
            "maxItems": context_sets.ITEMS_PER_SET,
            "description": "One text each, absolute paths for files; an empty list clears the set",
        },
        "mode": {
            "type": "string",
            "enum": list(context_sets.MODES),
            "default": "replace",
            "description": "Put these in the place of what is there, or add to it",
        },
        "session_id": SESSION_ID,
        "idempotency_key": IDEMPOTENCY_KEY,
    }


def _make_get_properties() -> dict[str, Schema]:
    return {
        "setName": {"type": "string", "description": "One set only; all of them without it"},
        "session_id": SESSION_ID,
    }


TOOLS = (
    Tool(
        "set_relevant_context",
        "Remember what this session is about",
        (
            Operation(
                "set_relevant_context",
                set_relevant_context,
                needs=("setName", "items"),
                takes=("mode",),
                writes=True,
            ),
        ),
        _make_set_properties,
        data={
            "context": CONTEXT,
            "added": ITEMS,
            "removed": ITEMS,
            "session_id": {"type": "string"},
        },
        # It can replace or clear a set; done twice it leaves what it left the first time.
        hints={
            "readOnlyHint": False,
            "destructiveHint": True,
            "idempotentHint": True,
            "openWorldHint": False,
        },
    ),
    Tool(
        "get_relevant_context",
        "Recall what this session is about",
        (Operation("get_relevant_context", get_relevant_context, takes=("setName",)),),
        _make_get_properties,
        data={"context": CONTEXT, "session_id": {"type": ["string", "null"]}},
        hints={
            "readOnlyHint": True,
            "destructiveHint": False,
            "idempotentHint": True,
            "openWorldHint": False,
        },
    ),
)
