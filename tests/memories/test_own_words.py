"""A memory is found by its own words, always: by the whole text, and by any word that few have."""

import string
from itertools import permutations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast.memories.rules import QUERY_BYTES
from holdfast.memories.service import MemoryService
from tests.memories.conftest import Both

TEXTS = [
    "to be or not to be",
    "We should do that, and they will not",
    "why",
    "a",
    "7",
    "🙂",
    "--> <--",
    "´",
    "Call get_user_by_id before foo.bar() in src/holdfast/app.py",
    "get_user_by_id",
    "C++ needs -Xmx4g or --max-old-space-size=4096",
    "C++",
    "Die Größe der Straße ist naïve, señor",
    "Адрес сервера записан в настройках",
    "数据库的端口是五四三三",
    "ポートは五四三三です",
    "서버 주소를 설정에 적었다",
    "הפורט של השרת",
    "x" * 4000,
    "word " * 800,
    " ".join(f"term{number}" for number in range(420)),
    "a-b_c.d/e:f" * 300,
]


def list_letters() -> st.SearchStrategy[str]:
    kept = st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"])
    return kept | st.sampled_from(string.ascii_letters + "     _-./+")


@pytest.fixture
async def filled(memories: MemoryService) -> MemoryService:
    for text in TEXTS:
        await memories.remember(text)
    return memories


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: text[:20])
async def test_a_memory_is_the_first_answer_to_its_own_text(filled: MemoryService, text: str):
    found = await filled.recall(text[:4000])

    assert found[0].memory.content == text


async def test_of_memories_with_the_same_words_the_text_itself_comes_first(
    memories: MemoryService,
):
    """However many there are, and however often the others were used."""
    orders = [" ".join(words) for words in permutations(["staging", "calls", "billing"])]
    texts = [*orders, "calls billing, staging calls", "billing calls; staging", "Billing: calls"]
    for text in texts:
        await memories.remember(text)

    for text in texts:
        assert (await memories.recall(text))[0].memory.content == text
    nearest = await memories.recall("Staging calls, billing", limit=2)
    in_order = {"staging calls billing", "calls billing, staging calls"}
    assert {match.memory.content for match in nearest} == in_order


async def test_a_memory_that_is_longer_than_a_question_may_be_is_found_by_its_own_text(
    memories: MemoryService,
):
    text = "The quick brown fox " + " ".join(f"token{number}" for number in range(4000))
    kept = (await memories.remember(text)).memory.id
    await memories.remember("The quick brown fox sleeps")

    assert len(text.encode()) > 2 * QUERY_BYTES
    for query in (text, f"{' ' * 20_000}{text}"):
        found = await memories.recall(query)
        assert found[0].memory.id == kept


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("not", TEXTS[0]),
        ("should", TEXTS[1]),
        ("get_user_by_id", TEXTS[9]),
        ("getUserById", TEXTS[9]),
        ("foo.bar()", TEXTS[8]),
        ("holdfast/app.py", TEXTS[8]),
        ("-Xmx4g", TEXTS[10]),
        ("4096", TEXTS[10]),
        ("GROSSE", TEXTS[12]),
        ("senor", TEXTS[12]),
        ("сервера", TEXTS[13]),
        ("数据", TEXTS[14]),
        ("ポート", TEXTS[15]),
        ("주소", TEXTS[16]),
        ("השרת", TEXTS[17]),
        ("term417", TEXTS[20]),
    ],
)
async def test_a_memory_is_found_by_a_word_of_it(filled: MemoryService, word: str, text: str):
    found = await filled.recall(word)

    assert text in [match.memory.content for match in found]


@given(st.lists(st.text(list_letters(), min_size=1, max_size=60).filter(str.strip), max_size=4))
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_is_found_by_itself_and_by_each_of_its_words(both: Both, texts: list[str]):
    for service in both.services:
        for text in texts:
            kept = both.run(service.remember(text)).memory.id
            assert kept in both.run(find_ids(service, text, 1000))
            for word in text.split():
                assert kept in both.run(find_ids(service, word, 1000))


async def test_the_text_is_found_among_many_that_have_its_words(memories: MemoryService):
    """Each of its words is in more memories than are looked at for one question."""
    kept = await memories.remember("alpha beta gamma")
    for number in range(310):
        for pair in ("alpha beta", "beta gamma", "gamma alpha"):
            await memories.remember(f"{pair} {number}")

    found = await memories.recall("gamma, beta, alpha")

    assert found[0].memory.id == kept.memory.id


async def find_ids(service: MemoryService, query: str, limit: int) -> list[str]:
    found = await service.recall(query, limit=limit)
    return [match.memory.id for match in found]
