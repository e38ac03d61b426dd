"""The `memory` tool: statements that are kept, and found again by a question.

A change names the caller's session as its witness, where there is one; a memory never starts a
session.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from holdfast.surfaces.mcp import wording
from holdfast.surfaces.mcp.answer import (
    READ_CHARS,
    Answer,
    count_chars,
    count_fitting,
    make_answer,
    make_write_answer,
    shorten,
)
from holdfast.surfaces.mcp.call import describe_choice, describe_repeated
from holdfast.surfaces.mcp.tool import DETAIL, IDEMPOTENCY_KEY, TEXT, Operation, Schema, Tool

if TYPE_CHECKING:
    from holdfast.memories.model import Memory, StoredMemory
    from holdfast.memories.service import MemoryService
    from holdfast.scope import Scope
    from holdfast.surfaces.mcp.call import Call

FIELDS = (
    *("id", "content", "category", "source_type", "confidence", "relevance"),
    *("expires_at", "created_at", "erased_at", "verdict", "by"),
)
MEMORY_CHARS = 1_000
AROUND_LIST = 400  # characters of an answer beside its list
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
    return _answer_write(call, done.result.memory, warnings)


async def recall(call: Call) -> Answer:
    limits = call.pick(*QUESTION)
    found = await call.app.recall(
        call.arguments["query"],
        worktree=call.caller.worktree,
        client=call.caller.client,
        **limits,
    )
    if not found:
        return make_answer({"memories": []}, wording.describe_memories, (), NOTHING)
    return _answer_list(call, [match.to_dict() for match in found])


async def list_memories(call: Call) -> Answer:
    """A page, newest first; one memory more shows whether another page follows."""
    from holdfast.memories.rules import LARGEST_LIMIT, check_limit

    given = call.pick(*KIND, "limit", "below")
    limit = check_limit(given.pop("limit", LISTED))
    found = await call.scope.memories.list_memories(min(limit + 1, LARGEST_LIMIT), **given)
    page = [memory.to_dict() for memory in found[:limit]]
    answer = _answer_list(call, page)
    shown = answer.data["memories"]
    if len(shown) < len(found):
        answer.warnings = [f"Only {len(shown)} are shown, and there are more."]
        answer.next_actions = [_name_next(call, shown[-1]["id"])]
    return answer


def _name_next(call: Call, below: str) -> str:
    about = [f"{name}={value}" for name, value in call.pick(*KIND, "limit").items()]
    return " ".join(["memory operation=list", *about, f"below={below}"])


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
    return _answer_write(call, done.result, warnings)


def _answer_write(call: Call, memory: Memory, warnings: Sequence[str]) -> Answer:
    data = {"memory": _pick_fields(call, memory.to_dict())}
    return make_write_answer(data, wording.describe_memory, warnings, detail=call.wants_detail)


def _answer_list(call: Call, memories: Sequence[Mapping[str, Any]]) -> Answer:
    """As many as an answer holds, and how many more there are."""
    picked = [_pick_fields(call, memory) for memory in memories]
    if call.wants_detail:
        return make_answer({"memories": picked}, wording.describe_memories, limit=None)
    shown = [shorten(memory, MEMORY_CHARS, entries=20) for memory in picked]
    costs = [max(count_chars(memory), len(wording.write_memory(memory))) + 3 for memory in shown]
    count = count_fitting(costs, READ_CHARS - AROUND_LIST)
    warnings = []
    if count < len(shown):
        warnings.append(f"{len(shown) - count:,} more did not fit; `detail: true` returns all.")
    return make_answer({"memories": shown[:count]}, wording.describe_memories, warnings)


def _pick_fields(call: Call, memory: Mapping[str, Any]) -> dict[str, Any]:
    if call.wants_detail:
        return dict(memory)
    known = {name: memory[name] for name in FIELDS if name in memory}
    return {name: value for name, value in known.items() if value not in (None, {}, [])}


async def _get_memory(scope: Scope, memory_id: str) -> Memory:
    return await scope.memories.get_memory(memory_id)


async def _get_remembered(scope: Scope, memory_id: str) -> StoredMemory:
    from holdfast.memories.model import StoredMemory

    memory = await scope.memories.get_memory(memory_id)
    return StoredMemory(memory, is_new=False)


def _make_properties() -> dict[str, Schema]:
    from holdfast.memories import rules

    return {
        "content": TEXT,
        "category": TEXT,
        "source_type": {"type": "string", "enum": list(rules.SOURCE_TYPES)},
        "ttl_days": {"type": "integer", "minimum": 1},
        "query": TEXT,
        "namespace": TEXT,
        "limit": {"type": "integer", "minimum": 1},
        "min_relevance": {"type": "number", "minimum": 0, "maximum": 1},
        **dict.fromkeys(("memory_id", "below"), TEXT),
        "detail": DETAIL,
        "session_id": TEXT,
        "idempotency_key": IDEMPOTENCY_KEY,
    }


CHANGES = {"corroborate": corroborate, "contradict": contradict, "forget": forget}
TOOLS = (
    Tool(
        "memory",
        "Remember and recall statements",
        (
            Operation(
                "remember", remember, needs=("content",), takes=(*STATEMENT, "detail"), writes=True
            ),
            Operation("recall", recall, needs=("query",), takes=(*QUESTION, "detail")),
            Operation("list", list_memories, takes=(*KIND, "limit", "below", "detail")),
            *(
                Operation(name, run, needs=("memory_id",), takes=("detail",), writes=True)
                for name, run in CHANGES.items()
            ),
        ),
        _make_properties,
        # `forget` erases for good, and `contradict` twice halves belief twice.
        hints={
            "readOnlyHint": False,
            "destructiveHint": True,
            "idempotentHint": False,
            "openWorldHint": False,
        },
    ),
)
