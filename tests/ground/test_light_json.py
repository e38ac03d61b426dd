"""The light module gives what the standard one gives, and refuses what that refuses."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.ground import light_json

TEXTS = st.text(st.characters(exclude_categories=[]))
NUMBERS = st.integers() | st.floats()
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
    max_leaves=20,
)
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "ensure_ascii": st.booleans(),
        "sort_keys": st.booleans(),
        "separators": st.just((",", ":")),
        "indent": st.none() | st.just(1),
    },
)
PIECES = st.sampled_from(
    ['{"a": ', "[", "]", "}", ", ", '"b"', "1", "-", "1e5", "NaN", "\\u00", "\ufeff", " ", "\x0b"]
)


def describe(call: Any, *arguments: Any, **options: Any) -> tuple[Any, ...]:
    """As a text where there is a value: not every number is equal to itself."""
    try:
        return "is", repr(call(*arguments, **options))
    except Exception as error:
        return "raises", type(error), str(error)


@given(value=VALUES, options=OPTIONS)
def test_a_value_is_written_as_the_standard_module_writes_it(value: Any, options: dict[str, Any]):
    assert light_json.dumps(value, **options) == json.dumps(value, **options)


@given(value=VALUES, indent=st.sampled_from([None, 1]))
def test_a_text_is_read_as_the_standard_module_reads_it(value: Any, indent: int | None):
    text = json.dumps(value, indent=indent)
    for given_text in (text, f"\r\n\t {text} \n", text.encode(), bytearray(text.encode())):
        assert describe(light_json.loads, given_text) == describe(json.loads, given_text)


@given(text=st.lists(PIECES).map("".join) | TEXTS)
def test_a_wrong_text_is_refused_with_the_same_words(text: str):
    assert describe(light_json.loads, text) == describe(json.loads, text)


@given(data=st.binary() | st.sampled_from(["utf-16", "utf-32", "utf-8-sig"]).map('"é"'.encode))
def test_bytes_in_any_encoding_are_read_alike(data: bytes):
    assert describe(light_json.loads, data) == describe(json.loads, data)


LOOP: list[Any] = []
LOOP.append(LOOP)


@pytest.mark.parametrize(
    "value", [{1, 2}, {(1,): 2}, {1: 2, "a": 3}, {None: 1, True: 2}, object, LOOP, b"x"], ids=repr
)
@pytest.mark.parametrize("sort_keys", [False, True])
def test_what_is_not_json_is_refused_with_the_same_words(value: Any, sort_keys: bool):
    ours = describe(light_json.dumps, value, sort_keys=sort_keys)
    assert ours == describe(json.dumps, value, sort_keys=sort_keys)


@pytest.mark.parametrize("text", ["[" * 100_000, "9" * 5_000, f"[{'9' * 5_000}]"], ids=len)
def test_what_python_does_not_read_is_the_same_error(text: str):
    assert describe(light_json.loads, text) == describe(json.loads, text)


def test_numbers_are_read_as_the_caller_says():
    assert light_json.loads('{"a": [1, 2.5]}', parse_int=str) == {"a": ["1", 2.5]}


def test_an_interpreter_without_the_c_part_uses_the_standard_module(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(light_json, "_c", None)
    write = light_json.make_dumps(sort_keys=True)
    assert write({"b": 1, "a": "é"}) == '{"a": "\\u00e9", "b": 1}'
    assert light_json.dumps([1.5]) == "[1.5]"
    assert light_json.loads(" [1] ") == [1]
