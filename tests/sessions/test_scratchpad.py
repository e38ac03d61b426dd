"""The scratchpad: one merge, defined once, the same on both engines, and no key is
lost to a race.
"""

import asyncio
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.errors import InvalidValueError
from holdfast.ground import canonical
from holdfast.sessions import rules
from holdfast.sessions.errors import SessionNotFoundError
from tests.sessions.generated import OBJECTS
from tests.sessions.tables import nothing_changes

UNKNOWN = "01890a5d-ac96-774b-bcce-b302099a8057"


async def test_the_seed_s_fields_come_back_as_they_went_in(sessions):
    s = await sessions.create_session("architect", "u1")
    scratchpad = {
        "current_task": "spec",
        "spec_file": "docs/spec.md",
        "files_in_progress": ["a.py"],
        "validation_gates_passed": [1, 2],
        "blockers": [],
        "handoff_context": {"from_chatmode": "pm", "artifacts_created": ["x"], "key_decisions": []},
    }

    state = await sessions.update_state(s.id, scratchpad)

    assert (state.session_id, state.scratchpad) == (s.id, scratchpad)
    assert await sessions.get_state(s.id) == state
    assert state.updated_at >= s.started_at


async def test_an_update_merges_null_removes_and_lists_are_replaced(sessions):
    s = await sessions.create_session("architect", "u1")
    await sessions.update_state(
        s.id, {"a": {"b": 1, "c": [1, 2]}, "d": "gone", "e": {"f": {"g": None, "h": 1}}}
    )

    state = await sessions.update_state(
        s.id, {"a": {"c": [3], "x": None}, "d": None, "new": [None, {"n": None}]}
    )

    assert state.scratchpad == {
        "a": {"b": 1, "c": [3]},
        "e": {"f": {"h": 1}},
        "new": [None, {"n": None}],
    }


async def test_an_empty_update_changes_no_value(sessions):
    s = await sessions.create_session("architect", "u1")
    before = await sessions.update_state(s.id, {"a": 1})

    assert (await sessions.update_state(s.id, {})).scratchpad == before.scratchpad


async def test_numbers_come_back_equal_on_both_engines(sessions):
    s = await sessions.create_session("architect", "u1")
    numbers = [
        0,
        -0.0,
        1e2,
        1e-7,
        0.1,
        1 / 3,
        5e-324,
        1e22,
        1e23,
        1.5e300,
        1.7e308,
        2**53 + 1,
        10**40,
        -(10**307),
    ]

    state = await sessions.update_state(s.id, {"numbers": numbers})

    assert state.scratchpad["numbers"] == numbers
    again = await sessions.update_state(s.id, state.scratchpad)
    assert again.scratchpad == state.scratchpad


async def test_updates_of_different_keys_from_twenty_tasks_lose_no_key(sessions):
    s = await sessions.create_session("architect", "u1")

    await asyncio.gather(
        *(
            sessions.update_state(s.id, {f"key{task}": task, "shared": {f"inner{task}": task}})
            for task in range(20)
        )
    )

    scratchpad = (await sessions.get_state(s.id)).scratchpad
    assert scratchpad == {
        **{f"key{task}": task for task in range(20)},
        "shared": {f"inner{task}": task for task in range(20)},
    }


async def test_a_key_that_is_removed_while_others_are_added_stays_removed(sessions):
    s = await sessions.create_session("architect", "u1")
    await sessions.update_state(s.id, {f"old{number}": 1 for number in range(10)})

    await asyncio.gather(
        *(
            sessions.update_state(s.id, {f"old{number}": None, f"new{number}": 1})
            for number in range(10)
        )
    )

    assert (await sessions.get_state(s.id)).scratchpad == {
        f"new{number}": 1 for number in range(10)
    }


async def test_the_largest_update_is_taken_and_one_byte_more_is_not(sessions):
    s = await sessions.create_session("architect", "u1")
    largest = {"a": "x" * (rules.SCRATCHPAD_BYTES - len('{"a":""}'))}

    assert (await sessions.update_state(s.id, largest)).scratchpad == largest
    async with nothing_changes(sessions):
        with pytest.raises(InvalidValueError, match="longer than 1,048,576 bytes as JSON"):
            await sessions.update_state(s.id, {"a": largest["a"] + "x"})


async def test_the_scratchpad_of_an_unknown_session_is_not_found(sessions):
    for session_id in (UNKNOWN, "nonsense", None):
        with pytest.raises(SessionNotFoundError):
            await sessions.get_state(session_id)
        with pytest.raises(SessionNotFoundError):
            await sessions.update_state(session_id, {"a": 1})


def test_a_merge_is_the_same_in_python_and_on_both_engines(both, scale):
    """The rule, SQLite's statement that calls it, and PostgreSQL's own function: one value."""

    @settings(max_examples=scale(1000))
    @given(st.lists(OBJECTS, min_size=1, max_size=3))
    def holds(patches):
        expected = {}
        for patch in patches:
            expected = rules.merge(expected, patch)

        async def merged(sessions):
            s = await sessions.create_session("architect", "u1")
            for patch in patches:
                state = await sessions.update_state(s.id, patch)
            assert await sessions.get_state(s.id) == state
            return state.scratchpad

        assert [both.run(merged(sessions)) for sessions in both.services] == [expected, expected]

    holds()


def test_postgresql_merges_any_value_into_any_as_the_rule_does(both, scale):
    """`context.merge_json` by itself: targets and patches that are not objects too."""
    values = OBJECTS | st.sampled_from([None, 1, "x", [1], [{"a": None}], True])

    merge = "select context.merge_json($1::text::jsonb, $2::text::jsonb)::text"

    @settings(max_examples=scale(2000))
    @given(values, values)
    def holds(target, patch):
        texts = [
            canonical.canonical_json("value", value, max_bytes=1 << 20) for value in (target, patch)
        ]
        merged = both.run(both.postgres.db.pool.fetchval(merge, *texts))

        assert (
            json.loads(merged) == json.loads(rules.merge_json(*texts)) == rules.merge(target, patch)
        )

    holds()
