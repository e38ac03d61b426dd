"""No pattern of ours takes longer and longer over a text that somebody else wrote."""

import gc
import importlib
import pkgutil
import re

import pytest

import holdfast
from holdfast.ground.patterns import _LatePattern
from tests.house.repeats import find_ambiguous_repeats


def list_patterns() -> list[tuple[str, int]]:
    for module in pkgutil.walk_packages(holdfast.__path__, "holdfast."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    late = [each for each in gc.get_objects() if isinstance(each, _LatePattern)]
    given = {each._given for each in late}
    texts = [(text, int(flags)) for text, flags in given if isinstance(text, str)]
    return sorted(texts)


def test_no_pattern_repeats_what_it_can_read_in_two_ways():
    patterns = list_patterns()
    found = {text: find_ambiguous_repeats(text, flags) for text, flags in patterns}

    assert len(patterns) > 100
    assert {text: letters for text, letters in found.items() if letters} == {}


@pytest.mark.parametrize(
    ("pattern", "flags"),
    [
        (r"(?:\w|[^ü])*", 0),
        (r"/(?:[\w.]|[^\s\x00-\x7f]){1,64}(?=/)", 0),
        (r"(?:[ \t]+|/\*.*?\*/)*\n", 0),
        (r"(a+)+b", 0),
        (r"(?:Y|[^x])*", re.IGNORECASE),
        (r"(?:ab?\w*)*$", 0),
    ],
)
def test_what_can_be_read_in_two_ways_is_found(pattern: str, flags: int):
    assert find_ambiguous_repeats(pattern, flags)


@pytest.mark.parametrize(
    "pattern",
    [
        r"(?:[a-z]|[0-9])*",
        r"(?:[ \t]|/\*.*?\*/)*\n",
        r"(?:a+b)*",
        r"(?:and|any|\d)*",
        r"(?:a|a){1,8}",
    ],
)
def test_what_can_be_read_in_one_way_only_is_not_found(pattern: str):
    assert find_ambiguous_repeats(pattern) == []
