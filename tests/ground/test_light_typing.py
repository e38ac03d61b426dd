"""Named tuples and the like that are cheap to define: used as those of `typing` are."""

from __future__ import annotations

import copy
import pickle

import pytest

from holdfast.ground.light_typing import Generic, NamedTuple, TypedDict, TypeVar

T = TypeVar("T")


class Place(NamedTuple):
    path: str
    line: int = 1

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


class Box(Generic[T]):
    pass


class Options(TypedDict, total=False):
    name: str


def test_a_named_tuple_is_a_tuple_with_names_and_defaults():
    place = Place("a.py", line=3)
    path, line = place

    assert (path, line) == (place.path, place.line) == place == ("a.py", 3)
    assert Place("a.py") == ("a.py", 1)
    assert (str(place), repr(place)) == ("a.py:3", "Place(path='a.py', line=3)")
    assert {place: 1}[Place(line=3, path="a.py")] == 1


@pytest.mark.parametrize(
    ("given", "named"),
    [((), {}), (("a", 1, 2), {}), (("a",), {"path": "b"}), (("a",), {"lines": 1})],
    ids=["missing", "too many", "twice", "unknown"],
)
def test_wrong_arguments_are_refused(given, named):
    with pytest.raises(TypeError, match="Place takes path, line"):
        Place(*given, **named)


def test_a_named_tuple_cannot_be_changed_and_a_copy_can_differ():
    place = Place("a.py")

    with pytest.raises(AttributeError):
        place.line = 2
    assert place._replace(line=2) == Place("a.py", 2)
    assert place._asdict() == {"path": "a.py", "line": 1}
    assert Place._fields == ("path", "line")
    assert copy.deepcopy(place) == pickle.loads(pickle.dumps(place)) == place


def test_generic_classes_and_typed_dictionaries_are_plain_at_run_time():
    assert isinstance(Box[int](), Box)
    assert Options(name="a") == {"name": "a"}
