"""Text for people: what may go to a terminal, and how it is cut.

Stored text comes from teammates, repositories and models. It must not move a cursor, set a title,
open a link or turn a line around, so what a reader could not see is shown as its escape.
"""

from __future__ import annotations

import re
import unicodedata

from holdfast.ground.patterns import compile_later

ELLIPSIS = "…"

_EMOJI = "\u2190-\u2bff\U0001f000-\U0001faff"
UNSEEN = compile_later(
    "("
    # Between two emoji a joiner is seen: they become a picture of both.
    f"(?<=[{_EMOJI}\ufe0f])\u200d(?![{_EMOJI}])|(?<![{_EMOJI}\ufe0f])\u200d|"
    "["
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 but tab and newline, DEL, C1
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u206f"  # bidi controls
    "\u00ad\u180e\u200b\u200c\u2060-\u2065\ufeff\ufff9-\ufffb"  # no width at all
    "\u2028\u2029"  # line ends that no line counter knows
    "\ud800-\udfff"  # halves of pairs, which no terminal can be sent
    "\U000e0000-\U000e007f"  # tags: a whole hidden alphabet
    "])"
)
_ZERO_WIDTH_JOINER = "\u200d"


def term_safe(text: str) -> str:
    """The text with everything unseen made visible: `\\x1b`, `\\u202e`."""
    return UNSEEN.sub(_escape, text)


def cut(text: str, max_chars: int) -> str:
    """At most so many characters, ended by `…` where it was cut, between words if possible."""
    if len(text) <= max_chars:
        return text
    if max_chars < 1:
        return ""
    return text[: find_cut(text, max_chars - 1)].rstrip() + ELLIPSIS


def find_cut(text: str, limit: int) -> int:
    """The last word edge in the second half, else the last edge of a visible character."""
    at = limit
    while at and _is_joined(text, at):
        at -= 1
    for edge in range(at, max(0, at // 2 - 1), -1):
        if text[edge].isspace() and not _is_joined(text, edge):
            return edge
    return at


def find_space(text: str, start: int) -> int:
    """Where the first space from there on is; the same place where there is none."""
    found = re.compile(r"\s").search(text, start)
    return found.start() if found else start


def plural(number: int, noun: str) -> str:
    """A number with its noun: 1 file, 1,024 files."""
    ending = "" if number == 1 else "s"
    return f"{number:,} {noun}{ending}"


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x100:
        return f"\\x{code:02x}"
    if code < 0x10000:
        return f"\\u{code:04x}"
    return f"\\U{code:08x}"


def _is_joined(text: str, at: int) -> bool:
    """Whether the characters on both sides of a place are one to a reader."""
    before, after = text[at - 1], text[at]
    if before == _ZERO_WIDTH_JOINER or _extends(after):
        return True
    if _is_flag_half(after):
        return _flag_halves_before(text, at) % 2 == 1
    is_line_end = before == "\r" and after == "\n"
    is_surrogate_pair = "\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff"
    return is_line_end or is_surrogate_pair


def _extends(character: str) -> bool:
    return (
        character == _ZERO_WIDTH_JOINER
        or unicodedata.category(character) in {"Mn", "Mc", "Me"}
        or "\U0001f3fb" <= character <= "\U0001f3ff"  # skin tones
        or "\U000e0020" <= character <= "\U000e007f"  # tags, which spell some flags
        or "\u1160" <= character <= "\u11ff"  # Korean vowels and final consonants
    )


def _is_flag_half(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _flag_halves_before(text: str, at: int) -> int:
    start = at
    while start and _is_flag_half(text[start - 1]):
        start -= 1
    return at - start
