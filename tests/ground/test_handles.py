"""R19: a handle is the same however it is typed, and no other handle looks like it."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import InvalidValueError
from holdfast.ground.handles import fold_handle, parse_developer
from holdfast.ground.settings import load_settings

NAMES = ("ada", "bo-b", "c.d", "e_f", "kim9", "ssi", "ffi-team", "x", "k", "a" * 39)
WIDE = {ord(c): ord(c) + 0xFEE0 for c in "abcdefghijklmnopqrstuvwxyz0123456789._-"}
BOLD = {ord(c): 0x1D41A + number for number, c in enumerate("abcdefghijklmnopqrstuvwxyz")}
SAME = [
    (name, typed)
    for name in NAMES
    for typed in (
        *(name.upper(), name.title(), f"{name} ", f" {name}", f"  {name.upper()}  "),
        *(f"{name}\u00a0", f"\u3000{name}", name.translate(WIDE), name.upper().translate(WIDE)),
        *(name.translate(BOLD), name.replace("k", "\u212a"), name.replace("ss", "ß")),
        *(name.replace("ss", "ẞ"), name.replace("ffi", "ﬃ"), name.replace("f", "ｆ")),
        name.replace("s", "ſ"),
    )
]
REFUSED = [
    *(f"{name}{bad}" for name in NAMES[:4] for bad in ("\u200b", "\u200d", "\u2060", "\ufeff")),
    *(f"{name}{bad}" for name in NAMES[:4] for bad in ("\n", "\t", "\x00", "\x1b", "\x85", "\r\n")),
    *("аda", "аdа", "bо-b", "κim9", "ех", "ada\u202e", "a\u0301da", "áda", "a\u0308", "ä", "İda"),
    *(
        "ıda",
        "ada\u0430",
        "ａ\u0430",
        "a da",
        "ada@x",
        "a/b",
        "",
        " ",
        "a" * 40,
        "ada\ud800",
        "日本",
    ),
]


def test_there_are_two_hundred_pairs():
    assert len(SAME) + len(REFUSED) >= 200


@pytest.mark.parametrize(("name", "typed"), SAME)
def test_handles_that_fold_to_the_same_letters_are_equal(name: str, typed: str):
    assert fold_handle(typed) == name
    assert load_settings({"HOLDFAST_DEVELOPER": typed, "HOME": ""}).developer == name


@pytest.mark.parametrize("typed", REFUSED)
def test_what_could_be_confused_with_another_handle_is_refused(typed: str):
    with pytest.raises(InvalidValueError):
        fold_handle(typed)


@pytest.mark.parametrize("value", [None, 1, True, ["ada"], "a" * 2000])
def test_a_handle_is_a_short_text(value: object):
    with pytest.raises(InvalidValueError, match="is not a handle"):
        fold_handle(value)


@given(st.text(max_size=20))
def test_a_handle_is_folded_once_and_is_the_same_in_every_form_of_unicode(text: str):
    try:
        handle = fold_handle(text)
    except InvalidValueError:
        return
    assert handle.isascii()
    assert fold_handle(handle) == handle
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        assert fold_handle(unicodedata.normalize(form, text)) == handle


def test_a_developer_is_looked_up_by_id_or_by_handle():
    developer_id = "018f6b1c-7a2e-7c3d-9f10-2b3c4d5e6f70"

    assert parse_developer(developer_id.upper()) == developer_id
    assert parse_developer(" Ada ") == "ada"
    with pytest.raises(InvalidValueError, match="developer"):
        parse_developer("not a handle")
