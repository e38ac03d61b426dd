"""Canonical JSON: one value has one text, and what an engine could not give back is refused."""

import json
import math
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import InvalidValueError
from holdfast.ground import canonical

ROOM = 1 << 20
TEXT = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=20)
NUMBERS = st.integers(-canonical.LARGEST_INTEGER, canonical.LARGEST_INTEGER) | st.floats(
    -9e307, 9e307
)
SCALARS = st.none() | st.booleans() | NUMBERS | TEXT
VALUES = st.recursive(
    SCALARS, lambda v: st.lists(v, max_size=4) | st.dictionaries(TEXT, v, max_size=4), max_leaves=20
)
UNSTORABLE = st.sampled_from(["\x00", "a\x00b", "\ud800", "x\udfff"])


def text_of(value: object) -> str:
    return canonical.canonical_json("value", value, max_bytes=ROOM)


def nest(levels: int, leaf: object = 1) -> Any:
    value = leaf
    for level in range(levels):
        value = [value] if level % 2 else {"a": value}
    return value


@given(VALUES)
def test_the_text_parses_back_to_an_equal_value(value: object) -> None:
    assert json.loads(text_of(value)) == value


@given(VALUES)
def test_the_text_of_what_was_parsed_is_the_same_text(value: object) -> None:
    assert text_of(json.loads(text_of(value))) == text_of(value)


def test_the_largest_floats_have_a_text_that_is_taken_again() -> None:
    assert text_of(json.loads(text_of(1.7e308))) == text_of(1.7e308)


@given(
    st.dictionaries(TEXT, SCALARS, max_size=6).flatmap(
        lambda d: st.tuples(st.just(d), st.permutations(list(d)))
    )
)
def test_the_order_of_keys_makes_no_difference(case: tuple[dict[str, Any], list[str]]) -> None:
    value, order = case

    assert text_of({key: value[key] for key in order}) == text_of(value)


@given(st.integers(-(2**53), 2**53))
def test_a_whole_float_is_written_as_the_integer_it_equals(number: int) -> None:
    assert text_of(float(number)) == text_of(number) == str(number)


def test_a_tuple_is_a_list_and_spaces_are_left_out() -> None:
    assert text_of({"b": (1, 2.5), "a": None}) == '{"a":null,"b":[1,2.5]}'


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf, 10**309, -(10**309)])
@pytest.mark.parametrize("wrap", [lambda n: n, lambda n: [n], lambda n: {"a": {"b": n}}])
def test_a_number_that_is_not_finite_is_refused_wherever_it_stands(
    number: float, wrap: Any
) -> None:
    with pytest.raises(InvalidValueError, match="is not a finite number"):
        text_of(wrap(number))


@given(UNSTORABLE, st.sampled_from(["value", "item", "key", "deep key"]))
def test_nul_and_half_surrogates_are_refused_wherever_they_stand(text: str, place: str) -> None:
    value = {"value": text, "item": [1, text], "key": {text: 1}, "deep key": {"a": [{text: None}]}}[
        place
    ]

    with pytest.raises(InvalidValueError, match=r"contains (a NUL|half of a surrogate)"):
        text_of(value)


def test_a_value_may_be_as_deep_as_the_limit_and_no_deeper() -> None:
    assert text_of(nest(canonical.MAX_DEPTH)).count("a") == canonical.MAX_DEPTH // 2
    with pytest.raises(InvalidValueError, match="nested deeper than 64 levels"):
        text_of(nest(canonical.MAX_DEPTH + 1))


@pytest.mark.parametrize("levels", [65, 500, 100_000])
def test_a_depth_bomb_is_refused_as_text_and_as_a_value(levels: int) -> None:
    with pytest.raises(InvalidValueError, match="nested deeper"):
        text_of(canonical.parse_json("value", "[" * levels + "]" * levels))


@pytest.mark.parametrize("value", [b"bytes", {1, 2}, object(), 1j])
def test_a_value_that_json_cannot_hold_is_refused_with_its_type(value: object) -> None:
    with pytest.raises(InvalidValueError, match=f"holds a {type(value).__name__}"):
        text_of([value])


def test_a_key_that_is_not_a_text_is_refused() -> None:
    with pytest.raises(InvalidValueError, match="is a key that is not a text"):
        text_of({1: "a"})


def test_a_size_is_counted_in_bytes_and_the_limit_itself_fits() -> None:
    assert canonical.canonical_json("value", "ä", max_bytes=4) == '"ä"'
    for value in ("ä", "abcd"):
        with pytest.raises(InvalidValueError, match="longer than 3 bytes"):
            canonical.canonical_json("value", value, max_bytes=3)


@pytest.mark.parametrize("value", [[1], "text", None, 3])
def test_an_object_is_asked_for_by_name(value: object) -> None:
    assert canonical.canonical_object("value", {"a": 1}, max_bytes=ROOM) == '{"a":1}'
    with pytest.raises(InvalidValueError, match="is not a JSON object"):
        canonical.canonical_object("value", value, max_bytes=ROOM)


@pytest.mark.parametrize("text", ["", "{", '{"a":}', "[1,]"])
def test_text_that_is_not_json_is_refused(text: str) -> None:
    with pytest.raises(InvalidValueError, match="is not JSON"):
        canonical.parse_json("value", text)


def test_a_number_longer_than_python_reads_is_refused_without_advice_for_programmers() -> None:
    with pytest.raises(InvalidValueError, match="holds a number of too many digits") as refused:
        canonical.parse_json("value", f'{{"a": {"9" * 5_000}}}')

    assert "set_int_max_str_digits" not in refused.value.message


def test_a_text_is_checked_for_type_content_and_size() -> None:
    assert canonical.check_text("title", "Größe", max_bytes=7) == "Größe"
    for wrong, problem in [
        (7, "is not a text"),
        ("a\x00", "a NUL character at character 1"),
        ("\udc00", "half of a surrogate pair at character 0"),
        ("a\udc80\udcff", "is not UTF-8 at character 1"),
        ("Größe!", "longer than 7 bytes"),
        ("x" * 8, "longer than 7 bytes"),
    ]:
        with pytest.raises(InvalidValueError, match=problem):
            canonical.check_text("title", wrong, max_bytes=7)


@given(st.lists(st.binary(max_size=6), max_size=4), st.lists(st.binary(max_size=6), max_size=4))
def test_two_lists_of_parts_have_one_hash_only_if_they_are_equal(
    left: list[bytes], right: list[bytes]
) -> None:
    assert (canonical.sha256(*left) == canonical.sha256(*right)) == (left == right)


def test_openssl_hashes_where_it_is_loaded_and_is_not_loaded_to_hash() -> None:
    code = (
        "import sys\n"
        "from holdfast.ground import canonical\n"
        "before = canonical.sha256(b'text')\n"
        "assert 'hashlib' not in sys.modules\n"
        "import hashlib\n"
        "assert type(canonical.new_sha256()) is type(hashlib.sha256())\n"
        "assert canonical.sha256(b'text') == before\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
