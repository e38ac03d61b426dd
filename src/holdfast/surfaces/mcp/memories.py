"""The `memory` tool: statements that are kept, and found again by a question."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from holdfast.surfaces.mcp.answer import Answer
from holdfast.surfaces.mcp.sessions import repeated
from holdfast.surfaces.mcp.tool import IDEMPOTENCY_KEY, SESSION_ID, Operation, Schema, Tool

if TYPE_CHECKING:
    from holdfast.memories.model import Memory
    from holdfast.memories.service import MemoryService
    from holdfast.sessions.service import SessionService
    from holdfast.surfaces.mcp.call import Call

STATEMENT = ("category", "source_type", "ttl_days")
NOTHING = ("Nothing that answers this is remembered. Do not guess: look at the repository, or ask.",)


async def remember(call: Call) -> Answer:
    given = {name: call.arguments[name] for name in STATEMENT if name in call.arguments}
    notes: list[str] = []

    async def verb(memories: MemoryService, session_id: str | None) -> Memory:
        kept = await memories.remember(
            call.arguments["content"], **given, session_id=session_id, user_id=call.app.settings.developer
        )
        notes[:] = [] if kept.is_new else ["This was known already: it is believed more now, and not kept twice."]
        return kept.memory

    return await _write(call, verb, notes)


async def recall(call: Call) -> Answer:
    limits: dict[str, Any] = {
        name: call.arguments[name] for name in ("limit", "min_relevance") if name in call.arguments
    }
    found = await call.app.memories.recall(call.arguments["query"], **limits)
    return Answer({"memories": [one.to_dict() for one in found]}, next_actions=() if found else NOTHING)


async def corroborate(call: Call) -> Answer:
    return await _write(call, lambda memories, session: memories.corroborate(call.arguments["memory_id"], session))


async def contradict(call: Call) -> Answer:
    return await _write(call, lambda memories, session: memories.contradict(call.arguments["memory_id"], session))


async def forget(call: Call) -> Answer:
    answer = await _write(call, lambda memories, _: memories.forget(call.arguments["memory_id"]))
    await call.app.database.scrub()  # with a key it was done inside a transaction, where the log cannot be emptied
    return answer


# --- within ------------------------------------------------------------------------------------------------


async def _write(
    call: Call, verb: Callable[[MemoryService, str | None], Awaitable[Memory]], notes: list[str] | None = None
) -> Answer:
    """With the session that is meant as its witness, if there is one; a memory needs none and starts none."""
    choice = await call.find_session()
    session_id = choice.session.id if choice.session else None

    async def effect(sessions: SessionService) -> Memory:
        return await verb(_on(sessions), session_id)

    async def again(sessions: SessionService, memory_id: str) -> Memory:
        return await _on(sessions).get_memory(memory_id)

    memory, is_first = await call.once(effect, subject=lambda one: one.id, again=again)
    return Answer({"memory": memory.to_dict()}, [*choice.warnings, *(notes or ()), *repeated(is_first)])


def _on(sessions: SessionService) -> MemoryService:
    """On the same database, which may be a transaction, for the same developer."""
    from holdfast.memories.service import MemoryService

    return MemoryService(sessions.db, owner=sessions.owner)


def _properties() -> dict[str, Schema]:
    from holdfast.memories import rules

    return {
        "session_id": SESSION_ID,
        "content": {"type": "string", "description": "remember: one statement that stands on its own"},
        "category": {"type": "string", "description": "remember: what kind of statement, such as decision or setup"},
        "source_type": {
            "type": "string",
            "enum": list(rules.SOURCE_TYPES),
            "description": "remember: explicit (said by a person, the default), implicit (gathered), tool_output",
        },
        "ttl_days": {"type": "integer", "minimum": 1, "description": "remember: let it expire after so many days"},
        "query": {"type": "string", "description": "recall: the question, in its own words"},
        "limit": {"type": "integer", "minimum": 1, "description": f"recall: at most so many, {rules.LIMIT} by default"},
        "min_relevance": {
            "type": "number",
            "minimum": 0,
            "maximum": 1,
            "description": f"recall: least share of the question's words, {rules.MIN_RELEVANCE} by default",
        },
        "memory_id": {"type": "string", "description": "corroborate, contradict, forget: which memory"},
        "idempotency_key": IDEMPOTENCY_KEY,
    }


TOOLS = (
    Tool(
        "memory",
        "Remember and recall statements",
        (
            Operation("remember", remember, needs=("content",), takes=STATEMENT, writes=True),
            Operation("recall", recall, needs=("query",), takes=("limit", "min_relevance")),
            Operation("corroborate", corroborate, needs=("memory_id",), writes=True),
            Operation("contradict", contradict, needs=("memory_id",), writes=True),
            Operation("forget", forget, needs=("memory_id",), writes=True),
        ),
        _properties,
        data={"memory": {"type": "object"}, "memories": {"type": "array", "items": {"type": "object"}}},
        # `forget` erases for good, and `contradict` twice halves belief twice.
        hints={"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": False},
    ),
)
