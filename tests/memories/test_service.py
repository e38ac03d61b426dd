"""Memories from being said to being forgotten, on both engines."""

from datetime import timedelta

import pytest

from holdfast.errors import InvalidValueError
from holdfast.ground import clock
from holdfast.memories import errors, rules
from holdfast.memories.service import MemoryService, finish_noting

TEXT = "The staging database listens on port 6543"


async def test_a_memory_is_recalled_with_its_provenance(memories: MemoryService):
    kept = (
        await memories.remember(
            TEXT, category="infrastructure", session_id="s-1", metadata={"file": "compose.yml"}
        )
    ).memory
    assert (
        await memories.get_memory(kept.id) == kept
    )  # before it is recalled: that is noted, some time later

    [found] = await memories.recall("which port does the staging database use?")

    assert found.memory == kept
    assert found.relevance > 0.8
    assert (kept.content, kept.category, kept.source_type, kept.confidence) == (
        TEXT,
        "infrastructure",
        "explicit",
        0.8,
    )
    assert (kept.lineage, kept.metadata, kept.use_count, kept.expires_at) == (
        ("s-1",),
        {"file": "compose.yml"},
        0,
        None,
    )
    assert kept.user_id == memories.owner.developer_id


async def test_the_same_words_again_are_the_same_memory_with_more_belief(memories: MemoryService):
    """Case, spaces and the way a letter is put together do not make another statement."""
    first = await memories.remember("Use  Café tokens\nonly", session_id="s-1")

    again = await memories.remember(
        "use cafe\u0301 TOKENS only", session_id="s-2", source_type="implicit"
    )

    assert (first.is_new, again.is_new) == (True, False)
    assert again.memory.id == first.memory.id
    assert again.memory.content == "Use  Café tokens\nonly"
    assert (again.memory.confidence, again.memory.lineage) == (0.85, ("s-1", "s-2"))
    assert again.memory.source_type == "explicit"
    assert len(await memories.list_memories()) == 1


async def test_a_session_that_repeats_a_statement_does_not_raise_its_confidence(
    memories: MemoryService,
):
    first = await memories.remember(TEXT, session_id="s-1")

    again = await memories.remember(TEXT, session_id="s-1")

    assert again.memory == first.memory


async def test_confidence_rises_and_falls_and_the_lineage_names_the_sessions(
    memories: MemoryService,
):
    kept = (await memories.remember(TEXT, session_id="s-1")).memory

    more = await memories.corroborate(kept.id, "s-2")
    same = await memories.corroborate(kept.id, "s-2")
    less = await memories.contradict(kept.id, "s-3")

    assert (more.confidence, more.lineage) == (0.85, ("s-1", "s-2"))
    assert same == more
    assert (less.confidence, less.lineage) == (0.42, ("s-1", "s-2", "s-3"))
    assert await memories.get_memory(kept.id) == less


async def test_an_expired_memory_is_not_recalled_until_it_is_remembered_again(
    memories: MemoryService,
):
    kept = (await memories.remember(TEXT)).memory

    expired = await memories.expire(kept.id)
    once_more = await memories.expire(kept.id)

    assert expired.expires_at is not None
    assert once_more == expired
    assert await memories.recall("staging database port") == []
    assert [memory.id for memory in await memories.list_memories()] == [kept.id]
    again = await memories.remember(TEXT, session_id="s-2")
    assert again.memory.expires_at is None
    assert [recalled.memory.id for recalled in await memories.recall("staging database port")] == [
        kept.id
    ]


async def test_a_memory_with_days_to_live_says_when_it_ends(memories: MemoryService):
    before = clock.now()

    kept = (await memories.remember(TEXT, ttl_days=3)).memory

    assert kept.expires_at is not None
    assert timedelta(0) <= kept.expires_at - timedelta(days=3) - before < timedelta(minutes=5)
    assert len(await memories.recall("staging port")) == 1


async def test_every_word_of_a_long_question_counts(memories: MemoryService):
    """Wherever it stands in the question, and wherever in the alphabet."""
    kept = (await memories.remember("Zebra yawns while xylophones vibrate")).memory
    filler = " ".join(f"a{number}" for number in range(70))

    for question in (f"{filler} {kept.content}", f"{kept.content} {filler}"):
        [found] = await memories.recall(question)
        assert found.memory.id == kept.id
    assert await memories.recall(f"{filler} zebra") == [], "a single word may be chance"


async def test_a_forgotten_memory_is_empty_and_cannot_come_back(memories: MemoryService):
    kept = (
        await memories.remember(TEXT, category="c", metadata={"secret": 1}, session_id="s-1")
    ).memory

    gone = await memories.forget(kept.id)

    assert (gone.content, gone.category, gone.metadata) == ("", None, {})
    assert gone.erased_at is not None
    assert await memories.forget(kept.id) == gone
    assert await memories.recall("staging database port", min_relevance=0) == []
    assert list(await memories.list_memories()) == []
    for source in rules.SOURCE_TYPES:
        with pytest.raises(errors.MemoryForgottenError, match="other words"):
            await memories.remember(TEXT.upper(), source_type=source)
    with pytest.raises(errors.MemoryForgottenError):
        await memories.add_statement(
            rules.check_statement(TEXT, None, "bootstrap", None, None, clock.now())
        )
    for verb in (memories.corroborate, memories.contradict):
        with pytest.raises(errors.MemoryNotFoundError):
            await verb(kept.id)
    assert (await memories.remember(f"{TEXT}, since May")).is_new


async def test_use_is_counted_after_the_answer(memories: MemoryService):
    kept = (await memories.remember(TEXT)).memory
    other = (await memories.remember("The linter runs before every commit")).memory

    for _ in range(2):
        await memories.recall("staging port")
        await finish_noting()

    used = await memories.get_memory(kept.id)
    assert used.use_count == 2
    assert used.last_used_at is not None
    assert used.updated_at == kept.updated_at
    assert (await memories.get_memory(other.id)).use_count == 0


async def test_all_memories_are_read_page_by_page(memories: MemoryService):
    """By a person from the newest on, by an export from the oldest on."""
    kept = [(await memories.remember(f"statement number {n}")).memory.id for n in range(7)]

    first = await memories.list_memories(3)
    second = await memories.list_memories(3, first[-1].id)
    last = await memories.list_memories(3, second[-1].id)

    assert [memory.id for memory in [*first, *second, *last]] == kept[::-1]
    assert await memories.list_memories(3, last[-1].id) == []
    with pytest.raises(errors.MemoryNotFoundError):
        await memories.list_memories(3, "nobody")
    with pytest.raises(InvalidValueError):
        await memories.list_memories(0)
    assert [memory.id async for memory in memories.read_memories()] == kept


async def test_a_memory_is_found_by_its_id_and_by_any_piece_of_it(memories: MemoryService):
    kept = [
        (await memories.remember("the key is sk-4711")).memory,
        (await memories.remember("harmless", metadata={"note": 'a "sk-4711" here'})).memory,
        (await memories.remember("harmless too", category="sk-4711")).memory,
    ]
    await memories.remember("nothing of the kind")

    found = await memories.list_memories_with_text("sk-4711")
    assert found == sorted(kept, key=lambda memory: memory.id)
    assert await memories.list_memories_with_text('a "sk-4711"') == [kept[1]]
    assert await memories.find_memory(kept[0].id) == kept[0]
    assert await memories.find_memory("no such id") is None
    assert await memories.find_memory("\x00") is None


async def test_a_table_of_our_own_is_not_adopted(memories: MemoryService):
    assert await memories.is_adopted() is False


async def test_memories_are_listed_and_recalled_by_namespace_and_category(memories: MemoryService):
    for number, (namespace, category) in enumerate([("a", "x"), ("a", "y"), ("b", "x")]):
        await memories.remember(f"port {number}", user_id=namespace, category=category)

    for kind, expected in [
        ({}, "0 1 2"),
        ({"namespace": "a"}, "0 1"),
        ({"category": "x"}, "0 2"),
        ({"namespace": "b", "category": "x"}, "2"),
        ({"namespace": "b", "category": "y"}, ""),
    ]:
        listed = [memory.content for memory in await memories.list_memories(**kind)]
        recalled = [match.memory.content for match in await memories.recall("port", **kind)]
        assert sorted(listed) == sorted(recalled) == [f"port {n}" for n in expected.split()]


async def test_pages_of_a_category_hold_only_that_category(memories: MemoryService):
    for number in range(6):
        category = "even" if number % 2 == 0 else "odd"
        await memories.remember(f"number {number}", category=category)

    first = await memories.list_memories(2, category="even")
    second = await memories.list_memories(2, first[-1].id, category="even")

    assert [memory.content for memory in [*first, *second]] == ["number 4", "number 2", "number 0"]


@pytest.mark.parametrize("field", ["namespace", "category"])
async def test_an_empty_namespace_or_category_is_refused(memories: MemoryService, field: str):
    with pytest.raises(InvalidValueError, match=field):
        await memories.list_memories(**{field: " "})
    with pytest.raises(InvalidValueError, match=field):
        await memories.recall("port", **{field: "a\n"})
