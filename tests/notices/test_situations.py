"""The table of situations, through the pure modules."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.notices import matching, terms
from holdfast.notices.model import Edit, Entries, NoticeIndex
from tests.notices.situations import (
    DECLARED,
    ENTRIES,
    RENAMED,
    SILENT,
    SPEAK,
    TRACKED,
    Situation,
)


def make_index(entries: list[dict[str, Any]]) -> NoticeIndex:
    described = terms.describe_entries(entries, declared=DECLARED, tracked=TRACKED)
    for each in described:
        each["files"] += [RENAMED[path] for path in each["files"] if path in RENAMED]
    lookups: dict[str, list[int]] = {}
    for number, each in enumerate(described):
        for key in terms.list_lookups(each):
            lookups.setdefault(key, []).append(number)
    return NoticeIndex(lookups, Entries([json.dumps(each).encode() for each in described]))


def make_edit(situation: Situation) -> Edit:
    old, new = situation.old.split("\n"), situation.new.split("\n")
    gone = "\n".join(line for line in old if line not in new)
    return Edit(situation.path, situation.new, frozenset(new).difference(old), gone)


def list_told(situation: Situation) -> list[str]:
    index = make_index(ENTRIES)
    if situation.prompt is not None:
        found = matching.match_prompt(situation.prompt, index)
    else:
        found = matching.match_edits([make_edit(situation)], index)
    return [match.entry["id"] for match in found]


@given(st.text(max_size=400))
def test_any_prompt_can_be_read(words: str):
    index = make_index(ENTRIES)

    matching.match_prompt(f"{words} redis streams {words}", index)


def test_there_are_thirty_of_each():
    assert (len(SPEAK), len(SILENT)) == (30, 30)
    assert all(situation.told for situation in SPEAK)
    assert not any(situation.told for situation in SILENT)


@pytest.mark.parametrize("situation", SPEAK, ids=lambda situation: situation.what)
def test_an_entry_that_concerns_exactly_this_is_told(situation: Situation):
    assert list_told(situation)[:1] == [situation.told]


def test_the_first_look_leaves_nothing_out():
    index = make_index(ENTRIES)
    prompts = [situation.prompt for situation in SPEAK if situation.prompt]
    edits = [make_edit(situation) for situation in SPEAK if not situation.prompt]

    assert [text for text in prompts if not index.may_concern(text)] == []
    left_out = [edit.path for edit in edits if not index.may_concern("\n".join(edit.added))]
    others = [path for path in left_out if not index.find("p", path)]
    assert others == ["pyproject.toml"]  # a list of dependencies, which is looked at anyway
    assert [edit.path for edit in edits if edit.is_list][-1:] == others


@pytest.mark.parametrize("situation", SILENT, ids=lambda situation: situation.what)
def test_nothing_is_told_that_does_not(situation: Situation):
    assert list_told(situation) == []
