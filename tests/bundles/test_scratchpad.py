"""A scratchpad as notes: known names have their place, anything else is shown as well as it can."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.bundles.model import WorkingNotes
from holdfast.bundles.scratchpad import MOST, VALUE_CHARS, read_scratchpad

SOURCE = "scratchpad of s-1"
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner, max_size=4)
    ),
    max_leaves=20,
)
NAMES = (
    "current_task",
    "blockers",
    "files_in_progress",
    "spec_file",
    "handoff_context",
    "next_steps",
    "validation_gates_passed",
)


def test_each_known_name_has_its_place():
    notes = read_scratchpad(
        {
            "current_task": "the retry",
            "next_steps": ["count the first", "then the fee"],
            "blockers": ["finance"],
            "files_in_progress": ["src/a.py"],
            "spec_file": "docs/spec.md",
            "handoff_context": {
                "artifacts_created": ["docs/adr.md"],
                "key_decisions": ["levels are numbers"],
                "tone": "calm",
            },
            "validation_gates_passed": ["lint", "types"],
        },
        SOURCE,
    )

    assert notes == WorkingNotes(
        source=SOURCE,
        task="the retry",
        next_steps=("count the first", "then the fee"),
        blockers=("finance",),
        in_progress=("src/a.py",),
        files=("docs/spec.md", "docs/adr.md"),
        decisions=("levels are numbers",),
        others=("validation_gates_passed: lint, types", "tone: calm"),
    )


@pytest.mark.parametrize("name", ["next_steps", "next_step", "next_action", "next", "todo"])
def test_a_next_step_is_found_by_the_names_that_agents_give_it(name):
    assert read_scratchpad({name: "count the first"}, SOURCE).next_steps == ("count the first",)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("one", ("one",)),
        (7, ("7",)),
        (True, ("true",)),
        ({"what": "finance"}, ('{"what": "finance"}',)),
        ([["a"], None, "", "b"], ('["a"]', "null", "b")),
        (None, ()),
        ("", ()),
        ([], ()),
    ],
)
def test_a_value_of_another_type_is_shown_as_text(value, shown):
    assert read_scratchpad({"blockers": value}, SOURCE).blockers == shown


def test_a_list_as_task_is_one_line():
    assert read_scratchpad({"current_task": ["a", "b"]}, SOURCE).task == "a · b"


def test_a_handoff_that_is_not_an_object_is_a_note():
    assert read_scratchpad({"handoff_context": "go on"}, SOURCE).others == (
        "handoff_context: go on",
    )


def test_ten_thousand_entries_cost_no_more_than_the_first():
    many = [f"step {n}" for n in range(10_000)]
    pad = dict.fromkeys(NAMES, many) | {f"name {n}": "x" * 9_000 for n in range(10_000)}

    notes = read_scratchpad(pad, SOURCE)

    assert len(notes.next_steps) == len(notes.blockers) == len(notes.in_progress) == MOST
    assert len(notes.others) == MOST
    size = sum(map(len, [notes.task, *notes.next_steps, *notes.others]))
    assert size <= (2 * MOST + 1) * (MOST + 1) * VALUE_CHARS


@given(st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=9), VALUES, max_size=9))
def test_any_scratchpad_gives_texts(scratchpad):
    notes = read_scratchpad(scratchpad, SOURCE)

    lists = (notes.next_steps, notes.blockers, notes.in_progress, notes.files, notes.decisions)
    assert all(isinstance(text, str) for texts in (*lists, notes.others) for text in texts)
    assert isinstance(notes.task, str)
