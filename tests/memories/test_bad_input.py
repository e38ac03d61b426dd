"""Whatever comes in wrong has a clear answer, the same on both engines, and changes nothing."""

from typing import Any

import pytest

from holdfast.errors import InvalidValueError
from holdfast.memories.errors import MemoryNotFoundError
from holdfast.memories.service import MemoryService

NOT_A_TEXT = [None, 7, b"bytes", ["a"]]
BROKEN = ["", "  \n", "a\x00b", "half \ud800 pair", "x" * (10 << 20)]
NO_ID = ["", "nothing", "0" * 36, "a\x00b", "\ud800", "x" * 1000, None, 7]


async def check_unchanged(memories: MemoryService, kept: Any) -> None:
    assert list(await memories.list_memories()) == [kept]


@pytest.fixture
async def kept(memories: MemoryService) -> Any:
    return (await memories.remember("The one that stays", session_id="s-1")).memory


@pytest.mark.parametrize("content", [*NOT_A_TEXT, *BROKEN], ids=lambda value: repr(value)[:20])
async def test_an_invalid_content_is_refused_and_changes_nothing(
    memories: MemoryService, kept: Any, content: Any
):
    with pytest.raises(InvalidValueError) as refused:
        await memories.remember(content)

    assert refused.value.field == "content"
    assert len(str(refused.value)) < 300
    await check_unchanged(memories, kept)


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"source_type": "rumour"}, "source_type"),
        ({"source_type": None}, "source_type"),
        ({"source_type": ["explicit"]}, "source_type"),
        ({"category": ""}, "category"),
        ({"category": "two\nlines"}, "category"),
        ({"category": 7}, "category"),
        ({"ttl_days": 0}, "ttl_days"),
        ({"ttl_days": -1}, "ttl_days"),
        ({"ttl_days": 1.5}, "ttl_days"),
        ({"ttl_days": True}, "ttl_days"),
        ({"ttl_days": 10**9}, "ttl_days"),
        ({"session_id": ""}, "session_id"),
        ({"session_id": "\x00"}, "session_id"),
        ({"metadata": []}, "metadata"),
        ({"metadata": {"a": float("nan")}}, "metadata"),
        ({"metadata": {"a": "\ud800"}}, "metadata"),
        ({"user_id": " "}, "user_id"),
    ],
)
async def test_an_option_that_breaks_a_rule_is_refused(
    memories: MemoryService, kept: Any, options: dict[str, Any], field: str
):
    with pytest.raises(InvalidValueError) as refused:
        await memories.remember("Something new", **options)

    assert refused.value.field == field
    await check_unchanged(memories, kept)


async def test_an_unknown_source_names_the_known_ones(memories: MemoryService):
    with pytest.raises(
        InvalidValueError, match="Known: explicit, implicit, bootstrap, tool_output"
    ):
        await memories.remember("a", source_type="rumour")


@pytest.mark.parametrize("query", [*NOT_A_TEXT, *BROKEN], ids=lambda value: repr(value)[:20])
async def test_an_invalid_question_is_refused(memories: MemoryService, query: Any):
    with pytest.raises(InvalidValueError) as refused:
        await memories.recall(query)

    assert refused.value.field == "query"


@pytest.mark.parametrize(
    ("options", "field"),
    [
        *(({"limit": value}, "limit") for value in (0, -1, 1001, 2.5, "5", None, True)),
        *(
            ({"min_relevance": value}, "min_relevance")
            for value in (-0.1, 1.01, float("nan"), float("inf"), "1", None, True)
        ),
    ],
)
async def test_limits_out_of_range_are_refused(
    memories: MemoryService, options: dict[str, Any], field: str
):
    with pytest.raises(InvalidValueError) as refused:
        await memories.recall("stays", **options)

    assert refused.value.field == field


@pytest.mark.parametrize(
    "query",
    [
        "what is it?",
        "🙂",
        "...",
        "' or 1=1 --",
        '" OR NEAR(',
        "a* b:* & | !",
        "%_\\",
        "AND",
        "NEAR(",
    ],
)
async def test_a_question_of_signs_is_a_question(memories: MemoryService, kept: Any, query: str):
    """Nothing of it is a command to an index."""
    assert await memories.recall(query) == []


@pytest.mark.parametrize(
    "query",
    [
        '"stays',
        "stays*",
        "NEAR(stays",
        "stays AND OR NOT",
        "-stays",
        "content_tsv:stays",
        "^stays & !x",
        "🙂stays",
    ],
)
async def test_a_word_is_found_with_any_punctuation_around_it(
    memories: MemoryService, kept: Any, query: str
):
    assert [recalled.memory.id for recalled in await memories.recall(query, min_relevance=0)] == [
        kept.id
    ]


async def test_any_number_of_words_is_answered_and_never_breaks_an_index(
    memories: MemoryService, kept: Any
):
    fitting = " ".join(f"w{number}" for number in range(2_000)) + " stays"
    assert [recalled.memory.id for recalled in await memories.recall(fitting, min_relevance=0)] == [
        kept.id
    ]
    [found] = await memories.recall("stays " * 10_000)
    assert found.memory.id == kept.id
    with pytest.raises(InvalidValueError, match=r"query .* is longer than 4,?194,?304 bytes"):
        await memories.recall("stays " * 1_000_000)


@pytest.mark.parametrize(
    "text", ["the one that STAYS", " The  one\n\tthat stays ", "THE ONE\u00a0THAT STAYS"]
)
async def test_the_same_words_in_another_case_or_spacing_are_the_same_memory(
    memories: MemoryService, kept: Any, text: str
):
    again = await memories.remember(text, session_id="s-2")

    assert (again.is_new, again.memory.id, again.memory.content) == (False, kept.id, kept.content)
    assert [memory.id for memory in await memories.list_memories()] == [kept.id]


@pytest.mark.parametrize("memory_id", NO_ID, ids=lambda value: repr(value)[:20])
@pytest.mark.parametrize("verb", ["get_memory", "corroborate", "contradict", "expire", "forget"])
async def test_an_id_of_nothing_is_not_found(
    memories: MemoryService, kept: Any, verb: str, memory_id: Any
):
    with pytest.raises(MemoryNotFoundError):
        await getattr(memories, verb)(memory_id)

    await check_unchanged(memories, kept)


@pytest.mark.parametrize(
    "text",
    ['it\'s "quoted" \\ %s {} $1 -- ;', "emoji 🙂 and \u202e bidi", "a" * 65536, "\t tab\r\n"],
)
async def test_a_strange_text_comes_back_as_it_was(memories: MemoryService, text: str):
    if not text.strip():
        return
    kept = (await memories.remember(text)).memory

    assert (await memories.get_memory(kept.id)).content == text


async def test_a_text_without_any_word_is_kept_and_found_by_its_signs_only(
    memories: MemoryService,
):
    kept = (await memories.remember("🙂 !!")).memory

    assert await memories.get_memory(kept.id) == kept
    assert await memories.recall("smile") == []
    assert [found.memory for found in await memories.recall("🙂 smile")] == [kept]
    assert (await memories.forget(kept.id)).content == ""
