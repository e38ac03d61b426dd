"""The `memory` tool: statements that are kept, and found again by a question.

A change names the caller's session as its witness, where there is one; a memory never starts a
session.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from holdfast.surfaces.mcp.answer import Answer
from holdfast.surfaces.mcp.call import describe_choice, describe_repeated
from holdfast.surfaces.mcp.tool import (
    IDEMPOTENCY_KEY,
    SESSION_ID,
    Operation,
    Schema,
    Tool,
    make_text_schema,
)

if TYPE_CHECKING:
    from holdfast.memories.model import Memory, StoredMemory
    from holdfast.memories.service import MemoryService
    from holdfast.scope import Scope
    from holdfast.surfaces.mcp.call import Call

STATEMENT = ("category", "source_type", "ttl_days")
KIND = ("namespace", "category")
QUESTION = (*KIND, "limit", "min_relevance")
LISTED = 20
NOTHING = (
    "Nothing that answers this is remembered. Do not guess: look at the repository, or ask.",
)
KNOWN = "This was known already, and is not kept twice: category and ttl_days are as they were."


async def remember(call: Call) -> Answer:
    choice = await call.find_session()

    async def verb(scope: Scope) -> StoredMemory:
        return await scope.memories.remember(
            call.arguments["content"],
            **call.pick(*STATEMENT),
            session_id=choice.session_id,
            user_id=call.app.settings.developer,
        )

    done = await call.write(verb, _get_remembered)
    warnings = [*describe_choice(choice), *describe_repeated(done)]
    if done.is_first and not done.result.is_new:
        warnings.append(KNOWN)
    return Answer({"memory": done.result.memory.to_dict()}, warnings)


async def recall(call: Call) -> Answer:
    limits = call.pick(*QUESTION)
    found = await call.scope.memories.recall(call.arguments["query"], **limits)
    if not found:
        return Answer({"memories": []}, next_actions=NOTHING)
    return Answer({"memories": [match.to_dict() for match in found]})


async def list_memories(call: Call) -> Answer:
    given = {"limit": LISTED} | call.pick(*KIND, "limit")
    found = await call.scope.memories.list_memories(**given)
    return Answer({"memories": [memory.to_dict() for memory in found]})


async def corroborate(call: Call) -> Answer:
    return await _change(
        call,
        lambda memories, session_id: memories.corroborate(call.arguments["memory_id"], session_id),
    )


async def contradict(call: Call) -> Answer:
    return await _change(
        call,
        lambda memories, session_id: memories.contradict(call.arguments["memory_id"], session_id),
    )


async def forget(call: Call) -> Answer:
    answer = await _change(call, lambda memories, _: memories.forget(call.arguments["memory_id"]))
    await call.app.database.scrub()  # inside the transaction of a key the log cannot be emptied
    return answer


# --- within ---------------------------------------------------------------------------------------


async def _change(
    call: Call, verb: Callable[[MemoryService, str | None], Awaitable[Memory]]
) -> Answer:
    """Names the caller's session as its witness, if there is one; it never starts a session."""
    choice = await call.find_session()
    witness = choice.session_id
    done = await call.write(lambda scope: verb(scope.memories, witness), _get_memory)
    warnings = [*describe_choice(choice), *describe_repeated(done)]
    return Answer({"memory": done.result.to_dict()}, warnings)


async def _get_memory(scope: Scope, memory_id: str) -> Memory:
    return await scope.memories.get_memory(memory_id)


async def _get_remembered(scope: Scope, memory_id: str) -> StoredMemory:
    from holdfast.memories.model import StoredMemory

    memory = await scope.memories.get_memory(memory_id)
    return StoredMemory(memory, is_new=False)


def _make_properties() -> dict[str, Schema]:
    return {
        "session_id": SESSION_ID,
        **_make_statement_properties(),
        **_make_question_properties(),
        "memory_id": make_text_schema("corroborate, contradict, forget: which memory"),
        "idempotency_key": IDEMPOTENCY_KEY,
    }


def _make_statement_properties() -> dict[str, Schema]:
    from holdfast.memories import rules

    return {
        "content": make_text_schema("remember: one self-contained statement"),
        "category": make_text_schema("What kind of statement, such as decision or setup"),
        "source_type": {
            "type": "string",
            "enum": list(rules.SOURCE_TYPES),
            "description": (
                "remember: explicit (stated by a person, the default), implicit (gathered), "
                "tool_output"
            ),
        },
        "ttl_days": {
            "type": "integer",
            "minimum": 1,
            "description": "remember: let it expire after so many days",
        },
    }


def _make_question_properties() -> dict[str, Schema]:
    from holdfast.memories import rules

    return {
        "query": make_text_schema("recall: the question, in its own words"),
        "namespace": {"type": "string"},
        "limit": {
            "type": "integer",
            "minimum": 1,
            "description": f"At most so many; recall {rules.LIMIT}, list {LISTED} by default",
        },
        "min_relevance": {
            "type": "number",
            "minimum": 0,
            "maximum": 1,
            "description": (
                f"recall: least share of the question's words, {rules.MIN_RELEVANCE} by default"
            ),
        },
    }


TOOLS = (
    Tool(
        "memory",
        "Remember and recall statements",
        (
            Operation("remember", remember, needs=("content",), takes=STATEMENT, writes=True),
            Operation("recall", recall, needs=("query",), takes=QUESTION),
            Operation("list", list_memories, takes=(*KIND, "limit")),
            Operation("corroborate", corroborate, needs=("memory_id",), writes=True),
            Operation("contradict", contradict, needs=("memory_id",), writes=True),
            Operation("forget", forget, needs=("memory_id",), writes=True),
        ),
        _make_properties,
        data={
            "memory": {"type": "object"},
            "memories": {"type": "array", "items": {"type": "object"}},
        },
        # `forget` erases for good, and `contradict` twice halves belief twice.
        hints={
            "readOnlyHint": False,
            "destructiveHint": True,
            "idempotentHint": False,
            "openWorldHint": False,
        },
    ),
)
