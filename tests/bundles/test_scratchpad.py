"""A scratchpad as notes: known names have their place, anything else is shown as well as it can."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.bundles.model import LIST_READ, WorkingNotes
from holdfast.bundles.scratchpad import OTHER_CHARS, VALUE_CHARS, read_notes, read_scratchpad
from holdfast.sessions.model import SessionNotes

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
        ([["a"], None, "", "b"], ('["a"]', "b")),
        (None, ()),
        ("", ()),
        ([], ()),
        ([None], ()),
        (" \n\t", ()),
        (["\u200b", " x "], ("x",)),
    ],
)
def test_a_value_of_another_type_is_shown_as_text(value, shown):
    assert read_scratchpad({"blockers": value}, SOURCE).blockers == shown


def test_a_list_as_task_is_one_line():
    assert read_scratchpad({"current_task": ["a", "b"]}, SOURCE).task == "a · b"


def test_blanks_and_nothing_are_no_notes():
    blank = {"current_task": "   ", "handoff_context": "\n", "blockers": [None], "x": " "}

    assert read_scratchpad(blank, SOURCE) == WorkingNotes(source=SOURCE)


def test_a_handoff_that_is_not_an_object_is_a_note():
    assert read_scratchpad({"handoff_context": "go on"}, SOURCE).others == (
        "handoff_context: go on",
    )


def test_ten_thousand_entries_cost_no_more_than_the_first():
    many = [f"step {n}" for n in range(10_000)]
    pad = dict.fromkeys(NAMES, many) | {f"name {n}": "x" * 9_000 for n in range(10_000)}

    notes = read_scratchpad(pad, SOURCE)

    assert len(notes.next_steps) == len(notes.blockers) == len(notes.in_progress) == LIST_READ
    assert len(notes.others) == LIST_READ
    assert max(map(len, notes.others)) <= OTHER_CHARS + 20
    assert max(map(len, notes.next_steps)) <= VALUE_CHARS
    assert notes.unread["next"] == notes.unread["blocked"] == 10_000 - LIST_READ
    assert notes.unread["notes"] > 9_000


@given(st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=9), VALUES, max_size=9))
def test_any_scratchpad_gives_texts(scratchpad):
    notes = read_scratchpad(scratchpad, SOURCE)

    lists = (notes.next_steps, notes.blockers, notes.in_progress, notes.files, notes.decisions)
    assert all(isinstance(text, str) for texts in (*lists, notes.others) for text in texts)
    assert isinstance(notes.task, str)


# --- of several sessions --------------------------------------------------------------------------


def noted(session_id: str, *cleared: str, branch: str | None = None, **scratchpad) -> SessionNotes:
    return SessionNotes(session_id, branch, scratchpad, frozenset(cleared))


def test_each_field_is_that_of_the_first_session_that_recorded_it():
    notes = read_notes(
        [
            noted("a", current_task="first look"),
            noted("b"),
            noted("c", next_step="count the first", current_task="old"),
            noted("d", blockers=["finance"], todo=["older"], spec_file="spec.md"),
        ]
    )

    assert notes == WorkingNotes(
        source="scratchpads of a, c, d",
        task="first look",
        next_steps=("count the first",),
        blockers=("finance",),
        files=("spec.md",),
    )


@pytest.mark.parametrize("clearing", [noted("b", blockers=[]), noted("b", "blockers")])
def test_a_field_that_was_cleared_does_not_come_back_from_an_older_session(clearing):
    older = noted("c", blockers=["finance"], next_steps=["the migration"])

    notes = read_notes([noted("a"), clearing, older])

    assert notes.blockers == ()
    assert notes.next_steps == ("the migration",)


def test_names_without_a_place_come_from_the_session_and_the_one_before_it():
    found = [noted("a", tone="calm"), noted("b", tone="loud", gate=1), noted("c", old=True)]

    assert read_notes(found, own_id="a").others == ("tone: calm", "gate: 1")
    assert read_notes(found).others == ("tone: calm",)
    assert read_notes(found[1:], own_id="a").others == ("tone: loud", "gate: 1")


@pytest.mark.parametrize(
    ("branch", "now", "is_decided"),
    [
        ("feat", "main", False),
        ("main", "main", True),
        (None, "main", True),
        ("feat", None, True),
    ],
)
def test_what_was_decided_on_another_branch_is_marked_and_not_decided_here(branch, now, is_decided):
    handoff = {"key_decisions": ["drop the table"], "tone": "calm"}

    notes = read_notes([noted("a", branch=branch, handoff_context=handoff)], branch=now)

    if is_decided:
        assert notes.decisions == ("drop the table",)
        assert notes.others == ("tone: calm",)
    else:
        assert notes.decisions == ()
        assert notes.others == ("decided on feat: drop the table", "tone: calm")


def test_no_sessions_have_no_notes():
    assert read_notes([]) == WorkingNotes()
    assert read_notes([noted("a")], own_id="a", branch="main") == WorkingNotes()
