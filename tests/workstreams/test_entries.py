"""Entries of a context file as types: whatever stands in the file comes back as it was."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.workstreams.entries import Checkpoint, Claim, ContextFields, Decision, Pointer
from holdfast.workstreams.evidence import BrokenEvidence, Evidence

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=5)
    | st.sampled_from(["L1-L2", "10", "src/a.py"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=5,
)


def objects(*names: str, **inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Some of these names with any value, some with one of their own form, and some that no one
    knows.
    """
    known = dict.fromkeys(names, VALUES) | {name: form | VALUES for name, form in inner.items()}
    return st.fixed_dictionaries({}, optional={**known, "later": VALUES})


FILES = objects(
    "text_hash", "copies", path=st.just("src/a.py"), lines=st.just("L1-L2"), symbol=st.just("run")
)
COMMANDS = objects("proof", "tree", command=st.just(["pytest", "-q"]), exit_code=st.integers(0, 2))
DECISIONS = objects(
    "id", "withdrawn_at", "because", text=st.text(max_size=5), files=st.lists(FILES, max_size=2)
)
CLAIMS = objects("id", files=st.lists(FILES, max_size=2), commands=st.lists(COMMANDS, max_size=2))
CONTEXTS = objects(
    "key",
    "feature_request",
    "last_run",
    "checkpoint",
    working_summary=objects("text", "by", "stale"),
    open_decisions=st.lists(DECISIONS, max_size=2),
    evidence_ledger=st.lists(CLAIMS, max_size=2),
    checklist=st.lists(st.text(max_size=3), max_size=2),
    file_pointers=st.lists(st.sampled_from(["a.py", "a.py#run", "a.py#", "#x", ""]), max_size=2),
)


@given(CONTEXTS)
def test_an_object_of_a_file_comes_back_as_it_was(value: dict[str, Any]):
    assert ContextFields.from_dict(value).to_dict() == value


@given(CONTEXTS)
def test_reading_and_writing_context_fields_changes_nothing(value: dict[str, Any]):
    again = ContextFields.from_dict(value).to_dict()

    assert json.dumps(again, sort_keys=True) == json.dumps(value, sort_keys=True)


def test_a_field_that_is_set_takes_the_place_of_a_null():
    decision = Decision.from_dict({"text": "a", "because": None})

    assert Decision(text=decision.text, because="b", extra=decision.extra).to_dict() == {
        "text": "a",
        "because": "b",
    }


def test_an_empty_list_is_written_and_an_unset_list_is_not():
    assert ContextFields(checklist=()).to_dict() == {"checklist": []}
    assert ContextFields().to_dict() == {}


@pytest.mark.parametrize(
    "value",
    [
        {"open_decisions": 5},
        {"open_decisions": None},
        {"open_decisions": [None]},
        {"open_decisions": [{"text": 7}]},
        {"evidence_ledger": [{"files": [{"path": 7}]}]},
        {"evidence_ledger": [{"commands": [{"exit_code": "0"}]}]},
        {"working_summary": "x"},
        {"checklist": ["a", 1]},
    ],
)
def test_a_field_that_we_rely_on_has_to_have_its_form(value: dict[str, Any]):
    assert not ContextFields.from_dict(value).has_right_form()


@pytest.mark.parametrize(
    "value",
    [
        {"working_summary": None, "last_run": None, "checkpoint": {"git_head": None, "dirty": 7}},
        {"open_decisions": [{"text": None, "withdrawn_at": True, "later": [1]}]},
        {"evidence_ledger": [{"files": [{"path": "../x"}], "commands": [{"command": 7}]}]},
    ],
)
def test_nulls_and_names_that_we_do_not_know_may_be_anything(value: dict[str, Any]):
    assert ContextFields.from_dict(value).has_right_form()


def test_evidence_that_leads_out_of_the_repository_is_kept_and_shows_nothing():
    claim = Claim.from_dict(
        {"files": [{"path": "../x", "later": 1}, {"path": "a.py", "lines": "10"}]}
    )

    broken, read = claim.files or ()
    assert isinstance(broken, BrokenEvidence)
    assert isinstance(read, Evidence)
    assert claim.to_dict()["files"] == [
        {"path": "../x", "later": 1},
        {"path": "a.py", "lines": "10"},
    ]


def test_a_checkpoint_knows_what_was_uncommitted_unless_it_was_too_much():
    assert Checkpoint.from_dict({}).uncommitted == {}
    assert Checkpoint.from_dict({"dirty": {"a.py": "1"}}).uncommitted == {"a.py": "1"}
    assert Checkpoint.from_dict({"dirty": None}).uncommitted is None


@pytest.mark.parametrize("text", ["a.py", "a.py#run", "a.py#", "#"])
def test_a_pointer_is_one_text(text: str):
    assert str(Pointer.parse(text)) == text
