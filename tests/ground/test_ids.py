"""Ids: unique, sortable by time, and accepted in one form only."""

import os
import re
import time
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.ground import ids


def test_a_new_id_is_a_version_7_uuid_and_parses_to_itself() -> None:
    new = ids.new_id()

    assert uuid.UUID(new).version == 7
    assert uuid.UUID(new).variant == uuid.RFC_4122
    assert ids.parse_id(new) == new


def test_ten_thousand_new_ids_are_all_different() -> None:
    assert len({ids.new_id() for _ in range(10_000)}) == 10_000


@pytest.mark.parametrize("moment", [-1, -1_000_000, -10 * 365 * 86_400 * 10**9])
def test_an_id_made_by_a_clock_before_1970_is_one_as_well(
    moment: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "time_ns", lambda: moment)

    new = ids.new_id()

    assert ids.parse_id(new) == new
    assert uuid.UUID(new).version == 7


@given(st.lists(st.integers(0, 2**48 - 1), min_size=2, max_size=6, unique=True))
def test_ids_of_different_milliseconds_sort_by_time(milliseconds: list[int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        made = []
        for moment in sorted(milliseconds):
            patch.setattr(time, "time_ns", lambda moment=moment: moment * 1_000_000 + 999_999)
            made.append(ids.new_id())

    assert made == sorted(made)


def test_a_path_that_is_not_text_has_a_named_id_too() -> None:
    path = os.fsdecode(b"/data/\xff")

    assert ids.named_id("home", path) != ids.named_id("home", "/data/")
    assert ids.named_id("home", "/data/é") == "5b29da72-1a4b-8bcd-b087-89c313c0aab0"


@given(st.lists(st.text()))
def test_a_named_id_is_the_same_every_time_and_a_version_8_uuid(parts: list[str]) -> None:
    named = ids.named_id(*parts)

    assert named == ids.named_id(*parts)
    assert uuid.UUID(named).version == 8
    assert uuid.UUID(named).variant == uuid.RFC_4122


def test_a_named_id_differs_when_a_part_differs_or_moves() -> None:
    names = [
        ("developer", "local", "ann"),
        ("developer", "local", "bob"),
        ("developer", "localann"),
        ("developer",),
        (),
    ]

    assert len({ids.named_id(*parts) for parts in names}) == len(names)


def test_capital_letters_are_the_same_id() -> None:
    new = ids.new_id()

    assert ids.parse_id(new.upper()) == new


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        7,
        b"01890a5d-ac96-774b-bcce-b302099a8057",
        "",
        "01890a5dac96774bbcceb302099a8057",
        "{01890a5d-ac96-774b-bcce-b302099a8057}",
        "urn:uuid:01890a5d-ac96-774b-bcce-b302099a8057",
        "01890a5d-ac96-774b-bcce-b302099a805",
        "01890a5d-ac96-774b-bcce-b302099a8057\n",
        " 01890a5d-ac96-774b-bcce-b302099a805",
        "01890a5d-ac96-774b-bcce-b302099a805g",
        "01890a5dac-96-774b-bcce-b302099a8057",
        "٠1890a5d-ac96-774b-bcce-b302099a8057",
        "../../../../../../../../../../etc/pa",
    ],
)
def test_a_value_that_is_not_a_uuid_is_not_parsed(wrong: object) -> None:
    assert ids.parse_id(wrong) is None


@given(st.text() | st.from_regex(r"[0-9A-Fa-f-]{36}", fullmatch=True))
def test_every_parsed_id_has_the_canonical_form(text: str) -> None:
    parsed = ids.parse_id(text)

    assert parsed is None or (
        parsed == text.lower()
        and re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", parsed)
    )


def test_a_uuid_object_is_an_id_too() -> None:
    given = uuid.uuid4()

    assert ids.parse_id(given) == str(given)
