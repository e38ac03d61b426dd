"""A file's text through a browser and back: what was not changed stays as it was."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.surfaces.console.texts import LINES_SHOWN, make_view, parse_text, restore_ends


def save(original: str, change: tuple[str, str]) -> str:
    """What is written when one piece of the text that is shown is replaced."""
    text = parse_text(original.encode())
    assert text is not None
    return text.apply_edit(text.text.replace(*change))


@pytest.mark.parametrize(
    ("original", "expected"),
    [
        ("a\nb\nc\n", "a\nB\nc\n"),
        ("a\r\nb\r\nc\r\n", "a\r\nB\r\nc\r\n"),
        ("a\rb\rc\r", "a\rB\rc\r"),
        ("a\r\nb\nc\r\n", "a\r\nB\r\nc\r\n"),
        ("a\nb\r\nc\n", "a\nB\nc\n"),
        ("a\r\nb\r\nc", "a\r\nB\r\nc"),
        ("\ufeffa\nb\n", "\ufeffa\nB\n"),
        ("b", "B"),
        ("b\n", "B\n"),
        ("\n\nb", "\n\nB"),
    ],
)
def test_a_changed_line_gets_the_usual_end_and_the_others_keep_theirs(original: str, expected: str):
    assert save(original, ("b", "B")) == expected


@given(
    st.lists(
        st.tuples(st.sampled_from(["", "a", "b", "ü"]), st.sampled_from(["\n", "\r\n", "\r"])),
        max_size=8,
    ),
    st.booleans(),
)
def test_a_text_that_was_not_changed_is_written_as_it_was(
    lines: list[tuple[str, str]], has_rest: bool
):
    original = "".join(line + end for line, end in lines) + ("rest" if has_rest else "")
    text = parse_text(original.encode())

    assert text is not None
    assert text.apply_edit(text.text) == original


@given(st.text("ab\r\n", max_size=12), st.text("abc\n", max_size=12))
def test_the_written_text_equals_the_typed_text(original: str, typed: str):
    assert restore_ends(original, typed).replace("\r\n", "\n").replace("\r", "\n") == typed


def test_the_last_line_end_is_as_typed_and_an_emptied_file_is_empty():
    assert restore_ends("a\nb\n", "a\nb") == "a\nb"
    assert restore_ends("a\nb", "a\nb\n") == "a\nb\n"
    assert restore_ends("a\n", "") == ""
    assert restore_ends("", "a") == "a"


def test_the_ends_of_two_lines_never_become_the_end_of_one():
    assert restore_ends("\ra\n\n", "\n\n") == "\r\r"


@given(st.integers(1, 3 * LINES_SHOWN), st.integers(1, 9_999_999))
def test_the_pages_of_a_file_show_what_is_asked_and_lead_through_all_of_it(total: int, asked: int):
    lines = [str(number) for number in range(1, total + 1)]
    view = make_view(lines, asked)

    assert view.first <= min(asked, total) <= view.last
    assert list(view.lines) == lines[view.first - 1 : view.last]
    assert len(view.lines) + view.hidden == total
    assert len(view.lines) == min(total, LINES_SHOWN)
    if view.first > 1:
        assert (
            make_view(lines, view.earlier).last
            >= view.first - 1
            >= make_view(lines, view.earlier).first
        )
    if view.last < total:
        assert (
            make_view(lines, view.later).first <= view.last + 1 <= make_view(lines, view.later).last
        )


@pytest.mark.parametrize("data", [b"\xff\xfe", b"a\0b", b"\xc3\x28", b"\x89PNG\r\n\x1a\n\0"])
def test_binary_data_is_not_shown(data: bytes):
    assert parse_text(data) is None


def test_lines_are_counted_as_editors_count_them():
    def lines(data: bytes) -> list[str]:
        text = parse_text(data)
        assert text is not None
        return text.lines

    assert lines(b"") == [""]
    assert lines(b"a\n") == ["a"]
    assert lines(b"a\r\n\r\nb") == ["a", "", "b"]
    assert lines("a\u2028b\x0cc".encode()) == ["a\u2028b\x0cc"]
    endings = [parse_text(data) for data in (b"a\r\n", b"a\r", b"a")]
    assert [text.ending for text in endings if text] == ["CRLF", "CR", "LF"]
