"""Frozen dataclasses that are cheap to define: used as the standard ones are."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest
from pydantic import TypeAdapter

from holdfast.ground.frozen import asdict, dataclass, field, fields, replace


@dataclass(frozen=True)
class Place:
    path: str
    line: int = 1
    seen: dict[str, int] = field(default_factory=dict, compare=False)


@dataclass(frozen=True)
class Noted:
    extra: Mapping[str, Any] = field(default_factory=dict, kw_only=True)


@dataclass(frozen=True)
class Claim(Noted):
    text: str | None = field(default=None, metadata={"form": str})
    places: tuple[Place, ...] = ()


def test_fields_are_given_by_position_or_by_name_and_keep_their_order():
    place = Place("a.py", line=3)

    assert (place.path, place.line, place.seen) == ("a.py", 3, {})
    assert list(vars(Place(line=2, path="b.py"))) == ["path", "line", "seen"]
    assert repr(place) == "Place(path='a.py', line=3, seen={})"


def test_a_default_that_is_made_is_made_for_each_instance():
    assert Place("a").seen is not Place("a").seen


def test_fields_of_a_parent_are_there_and_those_by_name_only_stay_so():
    claim = Claim("It retries.", (Place("a"),), extra={"x": 1})

    assert (claim.text, claim.extra) == ("It retries.", {"x": 1})
    assert [each.name for each in fields(Claim)] == ["extra", "text", "places"]
    assert fields(claim)[1].metadata == {"form": str}


@pytest.mark.parametrize(
    ("given", "named"),
    [((), {}), (("a", 1, {}, 4), {}), (("a",), {"path": "b"}), (("a",), {"lines": 1})],
    ids=["missing", "too many", "twice", "unknown"],
)
def test_wrong_arguments_are_refused_in_the_words_of_the_standard_library(given, named):
    standard = dataclasses.make_dataclass("Place", ["path", ("line", int, 1), ("seen", dict, None)])
    with pytest.raises(TypeError) as expected:
        standard(*given, **named)

    with pytest.raises(TypeError) as refused:
        Place(*given, **named)

    assert str(refused.value) == str(expected.value)


def test_instances_with_the_same_values_are_equal_and_have_one_hash():
    assert Place("a", seen={"x": 1}) == Place("a")
    assert hash(Place("a", seen={"x": 1})) == hash(Place("a"))
    assert Place("a") != Place("a", 2)
    assert Claim("a") != Place("a")


def test_an_instance_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Place("a").line = 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        del Place("a").line


def test_a_copy_has_other_values_only_where_they_are_named():
    changed = replace(Claim("a", extra={"x": 1}), text="b")

    assert changed == Claim("b", extra={"x": 1})


def test_a_dictionary_holds_what_is_inside_as_dictionaries():
    claim = Claim("a", (Place("b"),), extra={"x": [1]})

    assert asdict(claim) == dataclasses.asdict(claim)
    assert asdict(claim)["places"] == ({"path": "b", "line": 1, "seen": {}},)


def test_the_standard_functions_take_it_for_a_standard_dataclass():
    """Users have our types in hand, and may do with them what they do with others."""
    assert dataclasses.is_dataclass(Claim)
    assert [each.name for each in dataclasses.fields(Claim)] == ["extra", "text", "places"]
    assert dataclasses.fields(Place)[1].default == 1
    assert dataclasses.replace(Place("a"), line=2) == Place("a", 2)
    assert list(inspect.signature(Place).parameters) == ["path", "line", "seen"]
    assert TypeAdapter(Place).validate_python({"path": "a", "line": "2"}) == Place("a", 2)


def test_it_can_be_copied_and_pickled():
    place = Place("a", 2, {"x": 1})

    assert copy.deepcopy(place) == place
    assert pickle.loads(pickle.dumps(place)) == place


def test_a_class_that_changes_is_refused():
    with pytest.raises(TypeError):
        dataclass(frozen=False)


def test_defining_a_class_loads_neither_dataclasses_nor_inspect():
    program = (
        "import sys; from holdfast.sessions import model\n"
        "model.SessionState('s1', {}, None)\n"
        "assert not {'dataclasses', 'inspect', 'ast'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
