"""`set_relevant_context` and `get_relevant_context`: what the next session is reminded of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.surfaces.mcp import wording
from holdfast.surfaces.mcp.answer import Answer, count_chars, make_answer, make_write_answer
from holdfast.surfaces.mcp.call import (
    NO_SESSION,
    advise_choice,
    describe_choice,
    describe_repeated,
)
from holdfast.surfaces.mcp.tool import (
    DETAIL,
    IDEMPOTENCY_KEY,
    TEXT,
    TEXTS,
    Operation,
    Schema,
    Tool,
)

if TYPE_CHECKING:
    from holdfast.scope import Scope
    from holdfast.sessions.model import Session, SetChange
    from holdfast.surfaces.mcp.call import Call


SETS_CHARS = 400


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
    context = change.context
    if count_chars(context) > SETS_CHARS:  # the others are one call away
        context = {name: list(change.items)}
    data = {**change.to_dict(), "context": context, "session_id": change.session_id}
    return make_write_answer(
        data, wording.describe_sets, warnings, advise_choice(choice), detail=call.wants_detail
    )


async def get_relevant_context(call: Call) -> Answer:
    from holdfast.sessions.context_sets import name_warning
    from holdfast.sessions.rules import check_optional_label

    name = check_optional_label("setName", call.arguments.get("setName"))
    choice = await call.find_session_to_read()
    warnings = list(await call.describe_read(choice))
    unusual = name_warning(name, kept=False) if name else None
    if unusual:
        warnings.append(unusual)
    if choice.session is None:
        nothing: dict[str, Any] = {"context": {}, "session_id": None}
        return make_answer(nothing, wording.describe_sets, warnings, NO_SESSION)
    session_id = choice.session.id
    context = await call.scope.sessions.get_relevant_context(session_id, name)
    data = {"context": context, "session_id": session_id}
    return make_answer(data, wording.describe_sets, warnings, limit=call.read_limit)


def _make_set_properties() -> dict[str, Schema]:
    from holdfast.sessions import context_sets

    return {
        "setName": TEXT,
        "items": {**TEXTS, "maxItems": context_sets.ITEMS_PER_SET},
        "mode": {"type": "string", "enum": list(context_sets.MODES), "default": "replace"},
        "detail": DETAIL,
        "session_id": TEXT,
        "idempotency_key": IDEMPOTENCY_KEY,
    }


def _make_get_properties() -> dict[str, Schema]:
    return {"setName": TEXT, "detail": DETAIL, "session_id": TEXT}


TOOLS = (
    Tool(
        "set_relevant_context",
        "Remember what this session is about",
        (
            Operation(
                "set_relevant_context",
                set_relevant_context,
                needs=("setName", "items"),
                takes=("mode", "detail"),
                writes=True,
            ),
        ),
        _make_set_properties,
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
        (Operation("get_relevant_context", get_relevant_context, takes=("setName", "detail")),),
        _make_get_properties,
        hints={
            "readOnlyHint": True,
            "destructiveHint": False,
            "idempotentHint": True,
            "openWorldHint": False,
        },
    ),
)
