"""What may be remembered, how belief moves, and what answers a question: pure rules."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import InvalidValueError
from holdfast.ground import clock
from holdfast.memories import rules
from holdfast.memories.model import Memory
from holdfast.memories.words import extract_words

NOW = clock.from_text("2026-11-16T09:04:00Z")
confidences = st.integers(0, 100).map(lambda n: n / 100)
sessions = st.sampled_from(["s-1", "s-2", "s-3", None])


def memory(content: str = "kept", **changes: Any) -> Memory:
    statement = rules.check_statement(content, None, "explicit", None, None, NOW)
    return replace(rules.make_unstored_memory(statement, "m-1", NOW), **changes)


# --- belief ---------------------------------------------------------------------------------------


@given(confidences, st.lists(st.tuples(st.booleans(), sessions)))
def test_belief_stays_between_nothing_and_certainty(
    start: float, judgements: list[tuple[bool, str | None]]
):
    held = memory(confidence=start)
    for agrees, session in judgements:
        held = (rules.corroborate if agrees else rules.contradict)(held, session)
        assert 0 <= held.confidence <= 1
        assert round(held.confidence, 2) == held.confidence
        assert len(set(held.lineage)) == len(held.lineage)


@given(confidences, sessions)
def test_corroboration_never_lowers_and_contradiction_never_raises_confidence(
    start: float, session: str | None
):
    held = memory(confidence=start)

    assert rules.corroborate(held, session).confidence >= start
    assert rules.contradict(held, session).confidence <= start


def test_a_session_corroborates_a_memory_only_once():
    once = rules.corroborate(memory(), "s-1")

    assert rules.corroborate(once, "s-1") == once
    assert rules.corroborate(once, "s-2").confidence > once.confidence
    assert rules.corroborate(once, None).confidence > once.confidence


def test_a_lineage_keeps_the_newest():
    held = memory(confidence=0.0)
    for number in range(rules.MOST_LINEAGE + 5):
        held = rules.contradict(held, f"s-{number}")

    assert len(held.lineage) == rules.MOST_LINEAGE
    assert held.lineage[-1] == f"s-{rules.MOST_LINEAGE + 4}"


@pytest.mark.parametrize(
    ("kept_for", "said_for", "days"),
    [
        (None, None, None),
        (None, 3, None),
        (3, None, None),
        (3, 5, 5),
        (5, 3, 5),
        (-1, 3, 3),
        (-1, None, None),
    ],
)
def test_a_repeated_statement_keeps_the_later_of_two_expiry_times(
    kept_for: int | None, said_for: int | None, days: int | None
):
    def at(days_from_now: int | None) -> datetime | None:
        return None if days_from_now is None else NOW + timedelta(days=days_from_now)

    assert rules.repeat(memory(expires_at=at(kept_for)), at(said_for), "s-1").expires_at == at(days)


# --- the same statement ---------------------------------------------------------------------------


@given(st.text(min_size=1))
def test_spaces_and_case_do_not_make_another_statement(text: str):
    assert rules.hash_content(f"  {text} \n") == rules.hash_content(text)
    if text.lower().upper() == text.upper():
        assert (
            rules.hash_content(text.lower()) == rules.hash_content(text.upper())
            or not text.isascii()
        )


def test_other_words_are_another_statement():
    texts = ["a b", "ab", "a. b", "b a"]

    assert len({rules.hash_content(text) for text in texts}) == len(texts)


# --- relevance ------------------------------------------------------------------------------------

some_words = st.lists(st.sampled_from("bcdefghj"), unique=True)


@given(
    some_words,
    some_words,
    st.dictionaries(st.sampled_from("bcdefghj"), st.integers(0, 50)),
    st.integers(0, 1000),
)
def test_relevance_is_a_share(asked: list[str], has: list[str], counts: dict[str, int], total: int):
    weights = rules.weigh(asked, counts, total)
    share = rules.measure_share(has, weights)

    assert 0 <= share <= rules.measure_relevance(has, weights) <= 1
    assert (share == 1.0) >= (bool(asked) and set(asked) <= set(has))
    assert (share == 0.0) >= set(asked).isdisjoint(has)
    assert all(weight > 0 for weight in weights.values())


@given(st.integers(0, 500), st.integers(0, 500), st.integers(0, 2000))
def test_a_rarer_word_never_weighs_less(first: int, second: int, total: int):
    weights = rules.weigh(["b", "c"], {"b": min(first, second), "c": max(first, second)}, total)

    assert weights["b"] >= weights["c"]


def test_words_that_tell_more_than_one_of_a_single_memory_are_enough():
    """In a long question in other words the share is small."""
    asked = ["kiosk", "lyon", *(f"unknown{number}" for number in range(20))]
    weights = rules.weigh(asked, {"kiosk": 1, "lyon": 2}, 100)

    assert rules.measure_share(["kiosk", "lyon"], weights) < 0.1
    assert rules.measure_relevance(["kiosk", "lyon"], weights) == rules.MIN_RELEVANCE
    assert rules.measure_relevance(["kiosk"], weights) < rules.MIN_RELEVANCE


def rank_ids(*memories: Memory, query: str = "kept", **changes: Any) -> list[str]:
    candidates = [(memory, extract_words(memory.content)) for memory in memories]
    weights = rules.weigh(extract_words(query), {}, len(memories))
    options = {"now": NOW, "limit": 10, "min_relevance": rules.MIN_RELEVANCE} | changes
    return [found.memory.id for found in rules.rank(candidates, weights, **options)]


def test_recency_belief_and_use_decide_only_among_answers():
    old = memory(id="old", updated_at=NOW - timedelta(days=400))
    new = memory(id="new")
    doubted = memory(id="doubted", confidence=0.1)
    used = memory(id="used", use_count=50)
    beside_the_point = memory("something else", id="other", use_count=10_000, confidence=1.0)

    assert rank_ids(old, new, doubted, used, beside_the_point) == ["used", "new", "doubted", "old"]


def test_the_gate_looks_at_relevance_alone():
    """Whatever else speaks for it: half of the words are half of the words."""
    held = memory("alpha", use_count=10_000, confidence=1.0)

    assert rank_ids(held, query="alpha beta", min_relevance=0.51) == []
    assert rank_ids(held, query="alpha beta", min_relevance=0.5) == [held.id]


def test_where_one_memory_passes_the_gate_the_others_are_not_cut_off():
    passing, weak = memory("alpha beta", id="passing"), memory("alpha gamma", id="weak")
    options: dict[str, Any] = {"query": "alpha beta", "min_relevance": 0.9}

    assert rank_ids(weak, passing, **options) == ["passing", "weak"]
    assert rank_ids(weak, passing, **options, limit=1) == ["passing"]
    assert rank_ids(weak, **options) == []


def test_a_memory_with_exactly_the_words_asked_for_comes_first():
    """However little it is believed, and however many others have the same words and more."""
    same = memory("alpha beta", id="same", confidence=0.0, updated_at=NOW - timedelta(days=999))
    more = memory("alpha beta gamma", id="more", confidence=1.0, use_count=100)

    assert rank_ids(more, same, query="beta alpha") == ["same", "more"]


def test_the_shorter_of_two_texts_with_the_same_word_comes_first():
    short, long = memory("alpha beta", id="z"), memory("alpha beta gamma delta epsilon", id="a")

    assert rank_ids(long, short, query="alpha") == ["z", "a"]


def test_a_word_that_no_memory_has_is_tried_as_a_beginning():
    counts = {"kuber": 0, "port": 2, "ab": 0, "where": 0, "moon": 0}

    assert rules.list_beginnings(counts) == ["kuber*", "moon*"]
    assert rules.with_beginnings(counts, {"kuber*": 3, "moon*": 0}) == {
        "port": 2,
        "ab": 0,
        "where": 0,
        "moon": 0,
        "kuber*": 3,
    }


def test_a_beginning_counts_less_than_the_word():
    assert rules.measure_relevance(["kubernet"], {"kuber*": 1.0}) == 0.7
    assert rules.measure_relevance(["kub"], {"kuber*": 1.0}) == 0.0


def test_common_words_lead_to_memories_together():
    assert rules.choose_common_words({"rare": 300, "common": 1000}) == []
    assert rules.choose_common_words({"common": 1000, "usual": 301, "new": 0}) == [
        "usual",
        "common",
    ]
    assert rules.choose_common_words({"new": 0}) == []


def test_without_any_word_in_common_nothing_passes_a_gate_that_is_open():
    assert rank_ids(memory("alpha"), query="beta", min_relevance=0.0) == []


@given(st.permutations([memory(f"kept {n}", id=f"m-{n}") for n in range(6)]))
def test_the_order_of_the_candidates_does_not_matter(memories: list[Memory]):
    assert rank_ids(*memories) == [f"m-{n}" for n in range(6)]


def test_the_rarest_words_lead_to_candidates_until_there_are_enough():
    counts = {"unknown": 0, "rare": 2, "usual": rules.CANDIDATES - 2, "common": 1000}

    assert rules.choose_words(counts) == ["rare", "usual"]
    assert rules.choose_words({"common": 1000, "other": 1001}) == ["common"]
    assert rules.choose_words({"unknown": 0}) == []


# --- what comes in --------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["content", "text", "memory"])
def test_a_record_may_call_its_text_by_any_of_three_names(key: str):
    assert rules.check_record({key: "kept", "unknown": {"x": 1}}, NOW).content == "kept"


def test_a_record_without_times_is_as_old_as_the_moment_it_is_read():
    read = rules.make_unstored_memory(rules.check_record({"content": "kept"}, NOW), "m-1", NOW)

    assert (read.created_at, read.updated_at) == (NOW, NOW)


def test_a_record_without_a_user_id_has_no_owner():
    assert rules.check_record({"content": "kept"}, NOW).user_id is None
    assert rules.check_record({"content": "kept", "user_id": ""}, NOW).user_id is None
    assert rules.check_record({"content": "kept", "user_id": "ada"}, NOW).user_id == "ada"


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, True),
        ({"rating": None}, True),
        ({"rating": 5}, False),
        ({"id": "m-1"}, True),
        ({"id": "m-2"}, False),
        ({"confidence": 0.1}, True),
        ({"lineage": ["s-9"]}, True),
        ({"use_count": 9}, True),
        ({"updated_at": "2026-11-17T09:04:00Z"}, True),
        ({"expires_at": "2026-11-17T09:04:00Z"}, True),
        ({"last_used_at": "2026-11-17T09:04:00Z"}, True),
        ({"created_at": "2026-11-15T09:04:00Z"}, False),
        ({"category": "ports"}, False),
    ],
)
def test_an_export_writes_a_whole_line_unless_it_holds_something_else(
    more: dict[str, Any], expected: bool
):
    record = {"content": "kept", **more}

    assert rules.is_whole(record, rules.check_record(record, NOW), memory("kept")) is expected


def test_a_count_is_at_most_what_a_column_of_the_store_holds():
    most = 2**31 - 1

    assert rules.check_record({"content": "a", "use_count": most}, NOW).use_count == most
    with pytest.raises(InvalidValueError, match="use_count"):
        rules.check_record({"content": "a", "use_count": most + 1}, NOW)


def test_a_statement_is_kept_for_at_most_a_hundred_years():
    ends = rules.check_statement("kept", None, "explicit", 36_500, None, NOW).expires_at

    assert ends == NOW + timedelta(days=36_500)
    with pytest.raises(InvalidValueError, match="ttl_days"):
        rules.check_statement("kept", None, "explicit", 36_501, None, NOW)


def test_a_label_has_at_most_400_bytes():
    assert rules.check_label("user_id", "u" * 400) == "u" * 400
    with pytest.raises(InvalidValueError, match="user_id"):
        rules.check_label("user_id", "u" * 401)


def test_a_record_that_is_written_out_reads_back_the_same():
    held = memory(
        "Kept ✓",
        user_id="u1",
        category="c",
        metadata={"a": [1, None]},
        lineage=("s-1",),
        use_count=3,
        last_used_at=NOW,
        confidence=0.42,
    )

    record = rules.as_record(held)
    again = rules.check_record(record, NOW + timedelta(days=1))

    assert rules.make_unstored_memory(again, held.id, NOW + timedelta(days=1)) == held
    assert "erased_at" not in record


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"content": ""},
        {"content": 7},
        {"content": "a\x00b"},
        {"content": "a", "confidence": 1.5},
        {"content": "a", "confidence": "high"},
        {"content": "a", "source_type": "rumour"},
        {"content": "a", "lineage": "s-1"},
        {"content": "a", "lineage": [7]},
        {"content": "a", "use_count": -1},
        {"content": "a", "created_at": "yesterday"},
        {"content": "a", "created_at": 7},
        {"content": "a", "expires_at": "0001-01-01T00:00:00Z"},
        {"content": "a", "metadata": []},
    ],
)
def test_a_record_that_breaks_a_rule_is_refused(record: dict[str, Any]):
    with pytest.raises(InvalidValueError):
        rules.check_record(record, NOW)


# --- how much each figure counts ------------------------------------------------------------------


def score(**changes: Any) -> float:
    held = memory("alpha", **{"confidence": 0.0} | changes)
    [found] = rules.rank([(held, ["alpha"])], {"alpha": 1.0}, now=NOW, limit=1, min_relevance=0.35)
    return found.score


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, 1.02),
        ({"updated_at": NOW - timedelta(days=90)}, 1.01),
        ({"updated_at": NOW - timedelta(days=180)}, 1.005),
        ({"confidence": 0.5}, 1.03),
        ({"use_count": 9}, 1.024989),
        ({"use_count": 100}, 1.03),
        ({"use_count": 10_000}, 1.03),
    ],
)
def test_an_answer_gains_a_fiftieth_by_age_and_by_belief_and_half_of_that_by_use(
    changes: dict[str, Any], expected: float
):
    assert score(**changes) == expected


def test_the_newest_of_equally_good_answers_comes_first():
    older, newer = memory(id="a", updated_at=NOW - timedelta(seconds=1)), memory(id="b")

    assert rank_ids(older, newer) == ["b", "a"]


@pytest.mark.parametrize("source_type", ["explicit", "implicit", "bootstrap", "tool_output"])
def test_a_statement_keeps_which_of_the_four_sources_it_came_from(source_type: str):
    assert (
        rules.check_statement("kept", None, source_type, None, None, NOW).source_type == source_type
    )


def test_the_session_that_says_something_is_its_first_witness():
    statement = rules.check_statement("kept", None, "explicit", None, None, NOW)

    assert rules.with_source(statement, None, "s-1").lineage == ("s-1",)
    assert rules.with_source(statement, None, None).lineage == ()
