"""The form of what a caller sends: texts, lists of texts, whole numbers, each within its limit.

Arguments are JSON of agents, so a type is checked and never converted. A length is looked at before
anything else, so a text of any size costs no more than a short one.
"""

from __future__ import annotations

from collections.abc import Callable

from holdfast.errors import InvalidValueError
from holdfast.ground import clock, ids
from holdfast.team.errors import InvalidFieldError
from holdfast.team.metadata_rules import check_metadata
from holdfast.team.model import SOFT, ListPlace
from holdfast.team.plain import read_plain

SHOWN_NUMBER = 1_000_000


def check_number(field: str, value: object, least: int, most: int, default: int) -> int:
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidFieldError(field, "is not a whole number")
    if not least <= value <= most:
        shown = f"{value:,} " if abs(value) <= SHOWN_NUMBER else ""
        raise InvalidFieldError(field, f"{shown}is not between {least:,} and {most:,}")
    return value


def check_line(field: str, value: object, max_chars: int) -> str:
    """A text of one line, as a title is."""
    return _check_words(field, value, max_chars, allowed="")


def check_lines(field: str, value: object, max_chars: int) -> str:
    """A text that may have several lines, each ended by a newline."""
    return _check_words(field, value, max_chars, allowed="\n\t")


def check_name(field: str, value: object, max_chars: int) -> str:
    """A name that is compared, so nothing in it may be invisible."""
    name = check_line(field, value, max_chars)
    if not name.isprintable() or read_plain(name) != _normalise(name):
        raise InvalidFieldError(field, "contains invisible characters")
    return name


def check_optional_name(field: str, value: object, max_chars: int) -> str | None:
    """An empty text means none: agents send one where they have nothing to say."""
    if value is None or value == "":
        return None
    return check_name(field, value, max_chars)


def check_list(
    field: str,
    value: object,
    max_items: int,
    max_chars: int,
    check: Callable[[str, object, int], str],
) -> tuple[str, ...]:
    """Each different text once, in the order in which they were given."""
    if value is None:
        return ()
    if not isinstance(value, list | tuple):
        raise InvalidFieldError(field, "is not a list of texts")
    if len(value) > max_items:
        raise InvalidFieldError(field, f"has {len(value):,} entries; at most {max_items}")
    for number, item in enumerate(value):
        check_form(f"{field}[{number}]", item, max_chars)
    # As one text: what is spread over entries is still what it is.
    check_metadata(field, "\n".join(value))
    checked = [check(f"{field}[{number}]", item, max_chars) for number, item in enumerate(value)]
    return tuple(dict.fromkeys(checked))


def check_list_place(field: str, value: object) -> ListPlace:
    """What an answer has given as the place to go on from."""
    text = value if isinstance(value, str) else ""
    at, _, last = text.removesuffix(SOFT).partition("_")
    found = ids.parse_id(last)
    if found is None or not _is_moment(at):
        problem = "is not a place in this list; leave it out for the first page"
        raise InvalidValueError(field, value, problem)
    return ListPlace(at, found, text.endswith(SOFT))


def _is_moment(text: str) -> bool:
    try:
        return clock.to_text(clock.from_text(text)) == text
    except (ValueError, OverflowError):
        return False


def check_form(field: str, value: object, max_chars: int) -> str:
    """A text that is short enough and that each engine can keep."""
    if not isinstance(value, str):
        raise InvalidFieldError(field, "is not a text")
    if len(value) > max_chars:
        raise InvalidFieldError(field, f"has {len(value):,} characters; at most {max_chars:,}")
    if "\0" in value:
        raise InvalidFieldError(field, "contains a NUL character")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidFieldError(field, "contains half of a surrogate pair") from None
    return value


def _check_words(field: str, value: object, max_chars: int, allowed: str) -> str:
    text = check_form(field, value, max_chars).replace("\r\n", "\n")
    if not read_plain(text).strip():
        raise InvalidFieldError(field, "is empty")
    # Before line ends: that it is code says more than that it has several lines.
    check_metadata(field, text)
    text = text.strip()
    controls = [character for character in text if _is_control(character, allowed)]
    if controls:
        name = "a line break" if controls[0] in "\n\r" else "a control character"
        raise InvalidFieldError(field, f"contains {name} (U+{ord(controls[0]):04X})")
    return text


def _is_control(character: str, allowed: str) -> bool:
    if character in allowed:
        return False
    is_line_end = character in "\u2028\u2029" and "\n" not in allowed
    return character < " " or "\x7f" <= character <= "\x9f" or is_line_end


def _normalise(name: str) -> str:
    if name.isascii():
        return name
    import unicodedata

    return unicodedata.normalize("NFKC", name)
