"""Sections as they are written and as a receipt keeps them."""

import json

import pytest

from holdfast.bundles import sections
from holdfast.bundles.model import Bundle, Cut, Item, Section, ShownSection
from tests.bundles.situations import SITUATIONS


@pytest.mark.parametrize("name", SITUATIONS)
def test_a_section_comes_back_from_json_as_it_was(name):
    for section in sections.make_sections(SITUATIONS[name]):
        assert Section.from_dict(json.loads(json.dumps(section.to_dict()))) == section


def test_a_list_is_written_below_its_title():
    section = Section("failed", "FAILED", tail="  2 others", indent="  ")

    assert (
        section.write([Item("a", "x"), Item("b", "x")], 3)
        == "FAILED\n  a\n  b\n  +3 more\n  2 others"
    )
    assert section.write([], 0) == "FAILED\n  2 others"


def test_a_line_is_written_behind_its_title():
    section = Section("files", "FILES", lead=" ", joined=" · ")

    assert section.write([Item("a", "x"), Item("b", "x")], 0) == "FILES a · b"
    assert section.write([Item("a", "x")], 1) == "FILES a · +1 more"


def test_a_bundle_has_the_keys_that_others_call():
    shown = ShownSection(Section("rules", "RULES"), (Item("- x", "pinned rule"),), 0, "RULES\n- x")
    bundle = Bundle(
        "id",
        "planning",
        "RULES\n- x",
        9,
        3,
        (shown,),
        (Cut("files", "a", "file pointer", "no room"),),
    )

    said = json.loads(json.dumps(bundle.to_dict()))

    assert list(said) == ["id", "phase", "text", "chars", "tokens", "sections", "cut"]
    assert said["sections"][0]["items"] == [
        {"text": "- x", "source": "pinned rule", "verdict": None}
    ]
    assert said["cut"] == [
        {"section": "files", "text": "a", "source": "file pointer", "reason": "no room"}
    ]
