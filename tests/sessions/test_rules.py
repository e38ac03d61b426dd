"""What may be written to a session: every refusal says which field, which value, and what is known
instead.
"""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import InvalidValueError
from holdfast.ground import canonical, ids
from holdfast.sessions import chain, rules
from holdfast.sessions.errors import EventConflictError
from tests.sessions.generated import OBJECTS, VALUES

EVENT_ID = "01890a5d-ac96-774b-bcce-b302099a8057"
NOT_COUNTS = (True, False, 1.0, math.nan, "3", None, [], -1, rules.LARGEST_LIMIT + 1)
NOT_LABELS = (
    None,
    5,
    b"x",
    "",
    "   ",
    "two\nlines",
    "tab\t",
    "\x1b[0m",
    "a\u2028b",
    "\x00",
    "\ud800",
    "x" * 401,
    "é" * 201,
)


# --- events ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("event_type", rules.EVENT_TYPES)
@pytest.mark.parametrize("role", rules.ROLES)
def test_every_type_and_role_of_the_seed_is_taken(event_type, role):
    checked = rules.check_event(event_type, role, "hi", {"b": 1, "a": 2.0}, EVENT_ID.upper())

    parts = '{"a":2,"b":1}'
    assert checked.to_row() == (
        EVENT_ID,
        event_type,
        role,
        "hi",
        parts,
        chain.content_hash(event_type, role, "hi", parts),
    )


def test_an_event_without_an_id_gets_one():
    first, second = (rules.check_event("tool_call", "tool", "", None, None) for _ in range(2))

    assert ids.parse_id(first.id)
    assert first.id != second.id
    assert first.parts_text is None


@pytest.mark.parametrize(
    "unknown", ["", "USER_MESSAGE", "user_message ", "note", None, 7, ["user_message"]]
)
def test_an_unknown_type_is_refused_with_the_known_ones(unknown):
    with pytest.raises(InvalidValueError) as refusal:
        rules.check_event(unknown, "user", "hi", None, None)

    assert refusal.value.known == rules.EVENT_TYPES
    assert str(refusal.value).endswith(
        "is unknown. Known: user_message, model_message, tool_call, tool_result, "
        "validation_gate, memory_recall, "
        "system_event."
    )


@pytest.mark.parametrize("unknown", ["", "User", "developer", None, 7, {"role": "user"}])
def test_an_unknown_role_is_refused_with_the_known_ones(unknown):
    with pytest.raises(InvalidValueError) as refusal:
        rules.check_event("user_message", unknown, "hi", None, None)

    assert (refusal.value.field, refusal.value.known) == ("Role", rules.ROLES)
    assert "Known: user, assistant, tool, system." in str(refusal.value)


@pytest.mark.parametrize(
    "content", [None, 7, b"hi", ["hi"], "a\x00b", "\udfff", "x" * (rules.CONTENT_BYTES + 1)]
)
def test_a_content_that_no_engine_could_keep_is_refused(content):
    with pytest.raises(InvalidValueError) as refusal:
        rules.check_event("user_message", "user", content, None, None)

    assert refusal.value.field == "content"
    assert len(str(refusal.value)) < 300


@pytest.mark.parametrize(
    "parts", [[], "{}", 7, {1: 2}, {"a": math.nan}, {"a": {"\x00": 1}}, {"a": {1, 2}}]
)
def test_parts_are_a_json_object_or_nothing(parts):
    with pytest.raises(InvalidValueError) as refusal:
        rules.check_event("user_message", "user", "hi", parts, None)

    assert refusal.value.field == "parts"


@pytest.mark.parametrize(
    "event_id", ["", "e1", 7, EVENT_ID[:-1], EVENT_ID + "0", EVENT_ID.replace("-", ""), b"x" * 36]
)
def test_an_event_id_is_a_uuid(event_id):
    with pytest.raises(InvalidValueError, match="is not a UUID"):
        rules.check_event_id(event_id)


def test_a_list_of_events_is_checked_one_by_one():
    first = {"type": "user_message", "role": "user", "content": "hi"}
    full = {**first, "parts": {}, "event_id": EVENT_ID}

    assert [event.id for event in rules.check_events([first, full])][1] == EVENT_ID
    assert rules.check_events(()) == []


@pytest.mark.parametrize(
    ("events", "words"),
    [
        (None, "is not a list of events"),
        ("events", "is not a list of events"),
        ({"type": "user_message"}, "is not a list of events"),
        (["hi"], "holds something that is not an object"),
        ([{"type": "user_message", "role": "user"}], "has no content"),
        (
            [{"typ": "user_message"}],
            "Event field 'typ' is unknown. Known: type, role, content, parts, event_id.",
        ),
        ([{}] * (rules.EVENTS_PER_CALL + 1), "are more than 1000 in one call"),
    ],
)
def test_a_list_that_does_not_hold_events_is_refused(events, words):
    with pytest.raises(InvalidValueError) as refusal:
        rules.check_events(events)

    assert words in str(refusal.value)


def test_an_event_that_is_repeated_inside_a_call_counts_once():
    event = rules.check_event("user_message", "user", "hi", None, EVENT_ID)
    other = rules.check_event("user_message", "user", "hi", None, None)

    assert rules.drop_repeated([event, other, event]) == [event, other]
    with pytest.raises(EventConflictError):
        rules.drop_repeated(
            [event, rules.check_event("user_message", "user", "bye", None, EVENT_ID)]
        )


# --- labels and counts ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "label", ["x", "service-engineer", " padded ", "größe", "🪢", "x" * 400, "é" * 200]
)
def test_a_label_is_one_line(label):
    assert rules.check_label("chatmode", label) == label
    assert rules.check_optional_label("workflow", label) == label


@pytest.mark.parametrize("label", NOT_LABELS)
def test_an_invalid_label_is_refused(label):
    with pytest.raises(InvalidValueError) as refusal:
        rules.check_label("chatmode", label)

    assert str(refusal.value).startswith("chatmode ")


def test_an_optional_label_may_be_none():
    assert rules.check_optional_label("workflow", None) is None


@pytest.mark.parametrize("count", [0, 1, rules.LARGEST_LIMIT])
def test_a_count_is_a_whole_number(count):
    assert rules.check_count("max_turns", count) == count
    assert rules.check_sequence(count) == count


@pytest.mark.parametrize("count", NOT_COUNTS)
def test_an_invalid_count_is_refused(count):
    with pytest.raises(InvalidValueError) as refusal:
        rules.check_count("max_turns", count)

    assert str(refusal.value).startswith("max_turns ")


def test_a_count_may_have_to_be_one_at_least():
    with pytest.raises(InvalidValueError, match="is not between 1 and"):
        rules.check_count("limit", 0, least=1)


def test_no_expected_sequence_expects_nothing():
    assert rules.check_sequence(None) is None


# --- the window -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "parts", "cost"), [("", None, 0), ("abcd", None, 1), ("abcde", "{}", 3)]
)
def test_an_event_costs_about_a_token_for_four_characters(content, parts, cost):
    assert rules.count_event_tokens(content, parts) == cost


@given(st.lists(st.integers(0, 20), max_size=8), st.integers(0, 30), st.integers(0, 60))
def test_events_fit_while_the_sum_does(costs, used, max_tokens):
    fitting = rules.fit_tokens(costs, used, max_tokens)

    assert fitting == 0 or used + sum(costs[:fitting]) <= max_tokens
    assert fitting == len(costs) or used + sum(costs[: fitting + 1]) > max_tokens


# --- the scratchpad -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "patch", "merged"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
        ({"a": [1, 2]}, {"a": {"c": None, "d": [None]}}, {"a": {"d": [None]}}),
        ({"a": 1}, {}, {"a": 1}),
    ],
)
def test_objects_merge_null_removes_and_lists_are_replaced(target, patch, merged):
    """The table of RFC 7396, where both sides are objects."""
    before = json.dumps(target)

    assert rules.merge(target, patch) == merged
    assert json.dumps(target) == before


@given(OBJECTS, OBJECTS)
def test_a_merge_repeated_changes_nothing_more(target, patch):
    once = rules.merge(target, patch)

    assert rules.merge(once, patch) == once


@given(OBJECTS, OBJECTS)
def test_keys_that_the_patch_does_not_name_stay(target, patch):
    merged = rules.merge(target, patch)

    assert {key: merged[key] for key in target if key not in patch} == {
        key: value for key, value in target.items() if key not in patch
    }
    assert not any(key in merged for key, value in patch.items() if value is None)


@given(OBJECTS, VALUES)
def test_a_patch_that_is_not_an_object_replaces_the_value(target, patch):
    if not isinstance(patch, dict):
        assert rules.merge(target, patch) == patch


@given(OBJECTS, OBJECTS)
def test_merging_texts_gives_the_canonical_text_of_the_merged_value(target, patch):
    def text(value):
        return canonical.canonical_json("value", value, max_bytes=1 << 20)

    assert rules.merge_json(text(target), text(patch)) == text(rules.merge(target, patch))


@pytest.mark.parametrize(
    "scratchpad", [None, [], "{}", 7, True, {"a": "x" * rules.SCRATCHPAD_BYTES}]
)
def test_a_scratchpad_is_an_object_of_a_bounded_size(scratchpad):
    with pytest.raises(InvalidValueError) as refusal:
        rules.check_scratchpad(scratchpad)

    assert refusal.value.field == "scratchpad"


# --- metadata -------------------------------------------------------------------------------------


def test_metadata_has_the_seed_s_fields_and_none_removes_one():
    at = "2026-11-16T09:04:00Z"
    changes = {
        "name": "n",
        "lastObservedAt": at,
        "lastIdleAt": at,
        "currentIntent": "i",
        "envHint": None,
    }

    assert rules.check_meta(changes) == changes


@pytest.mark.parametrize(
    "changes",
    [None, ["name"], {"context": {}}, {"name": 7}, {"name": ""}, {7: "x"}, {"lastIdleAt": "noon"}],
)
def test_other_metadata_is_refused(changes):
    with pytest.raises(InvalidValueError):
        rules.check_meta(changes)


def test_an_unknown_metadata_field_is_refused_with_the_known_ones():
    with pytest.raises(
        InvalidValueError, match="Known: name, lastObservedAt, lastIdleAt, currentIntent, envHint"
    ):
        rules.check_meta({"title": "x"})
