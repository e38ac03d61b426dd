"""Text of other authors, shown to an agent as data.

A teammate's summary, a memory, a file's words: their authors must not be able to speak as the user,
as the client or as us. So such a text is put between two markers that carry a secret number, under
a line that names its author; each of its lines is marked, invisible characters are removed, and
what looks like a client's words or like a marker is changed. The number is a keyed hash of what is
shown: the same text gives the same bytes, and only this data folder could have made it.

Our own words state and never ask: a fence that gives orders looks like the attack that it prevents.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator

from holdfast.ground import files
from holdfast.ground.canonical import new_sha256
from holdfast.ground.text import ELLIPSIS, cut

# room for the longest header, both markers and a first line; with less, a fence may be empty
MIN_CHARS = 400
AUTHOR_CHARS, SOURCE_CHARS, AT_CHARS = 60, 120, 40
NONCE_CHARS = 32
SHORT_NONCE_CHARS = 16
LOOKAHEAD_CHARS = 64  # more than any pattern looks ahead, so the rest need not be read
KEY_BYTES = 32
FILE_BYTES = 1000
PREFIX = "| "
NOTES, SAID = "NOTES OF OTHERS", "SAID BY OTHERS"

# Patterns are texts: `re` compiles each when it is needed first, and an import pays for none.
_LINE_ENDS = "\r\n|[\r\x0b\x0c\x85\u2028\u2029]"
_UNSEEN = (
    "["
    # controls but tab and newline; the ends of lines are newlines by now
    "\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f"
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u206f"  # bidi controls
    "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200d"  # no width or no glyph
    "\u2060-\u2065\u2800\u3164\ufeff\uffa0\ufff0-\ufffb"
    "\ufe00-\ufe0f\U000e0000-\U000e0fff"  # variation selectors and tags: whole hidden alphabets
    # controls of scripts, shorthand and music
    "\U00013430-\U0001345f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\ud800-\udfff"  # halves of pairs, which nothing can be sent as
    # what each font shows as it likes, or never
    "\ue000-\uf8ff\U000f0000-\U0010ffff\ufdd0-\ufdef\ufffe\uffff"
    "]"
)
# Each quantifier is bounded or possessive and starts at one place of a run, so that a megabyte of
# `<` costs a megabyte.
_ROLES = "human|user|assistant|system|developer|tool|function|model|ai"
_SIGNS = f"{_ROLES}|inst|sys|begin|end|start|stop|resumed|untrusted|holdfast|context|instructions?"
_ANGLES = (
    r"(?i)(?<![<＜﹤])[<＜﹤]++"
    rf"(?=[^\W\d]|[/|!?$:&@%\[{{]|[ \t]{{1,8}}(?:[/|]|(?:{_SIGNS})\b))|<{{3,}}+"
)
_SPEAKING_TAG = (
    rf"(?i)[<＜﹤](?=\||[ \t]{{0,8}}/?[ \t]{{0,8}}(?:{_ROLES}|inst|sys|untrusted|holdfast)"
    r"(?![^\W_]))"
)
_CLOSING_ANGLES = r">{3,}+|(?<=\|)>"
_BRACKET = rf"(?i)\[(?=[ \t]{{0,8}}/?[ \t]{{0,8}}(?:{_SIGNS})(?:[\s\]:/_-]|$))|(?<=!)\["
_CODE_FENCE = r"`{3,}+|~{3,}+"
_RULE = rf"(?i)(?<![-=*#_])[-=*#_]{{3,}}+(?=[ \t]{{0,8}}(?:{_SIGNS})\b)"
_SPEAKER = rf"(?im)^([ \t]{{0,8}}(?:[#>*_-]{{1,6}}[ \t]{{0,4}})?(?:{_ROLES})[*_ \t]{{0,4}})[:：]"
# What a match cannot be without, the pattern, and what is written instead.
_ARMS: tuple[tuple[str, str, Callable[[re.Match[str]], str]], ...] = (
    ("<＜﹤", _ANGLES, lambda run: "‹" * len(run[0])),
    (">", _CLOSING_ANGLES, lambda run: "›" * len(run[0])),
    ("`~", _CODE_FENCE, lambda run: "'" * len(run[0])),
    (":：", _SPEAKER, lambda speaker: f"{speaker[1]}·"),
    ("[", _BRACKET, lambda _: "("),
    ("-=*#_", _RULE, lambda run: "·" * len(run[0])),
)
_PARTIAL_LINE = rf"\n\|?{ELLIPSIS}\Z"
_HEXADECIMAL = frozenset(b"0123456789abcdef")


def fence(text: str, *, author: str, source: str, at: str, key: bytes, max_chars: int) -> str:
    """The text as data, in at most so many characters; empty without a text or room for it."""
    visible = remove_unseen(text).strip()
    beginning = visible[: max(0, max_chars) + LOOKAHEAD_CHARS]
    body = _disarm(beginning)
    header = _write_header(author, source, at)
    empty = _enclose("-" * NONCE_CHARS, header, PREFIX)
    room = max_chars - len(empty)
    if room < 1 or not body:
        return ""
    marked = body.replace("\n", f"\n{PREFIX}")
    lines = PREFIX + _cut_lines(marked, room)
    content = f"{header}\n{lines}"
    nonce = first_absent(_make_nonces(key, content), content)
    return _enclose(nonce, header, lines)


def _write_header(author: str, source: str, at: str) -> str:
    quoted_author = _quote(author, AUTHOR_CHARS)
    quoted_source = _quote(source, SOURCE_CHARS)
    return f"author={quoted_author} source={quoted_source} at={_quote(at, AT_CHARS)}"


def one_line(text: str, max_chars: int) -> str:
    """A short value of another author, such as a branch or a title, inside a line of ours."""
    words = remove_unseen(text).split()
    line = " ".join(words)
    beginning = line[: max(0, max_chars) + LOOKAHEAD_CHARS]
    return cut(_disarm(beginning), max_chars)


def clean(text: str) -> str:
    """The text without invisible characters, markers and the names of other speakers."""
    return _disarm(remove_unseen(text))


def remove_unseen(text: str) -> str:
    """What a reader sees, with each line ended by a newline."""
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text  # most texts, which so need no pattern
    with_newlines = re.sub(_LINE_ENDS, "\n", text)
    return re.sub(_UNSEEN, "", with_newlines)


def keep_words(text: str) -> str:
    """The user's own words as they are, without the unseen and without tags of other speakers."""
    seen = remove_unseen(text)
    if not any(sign in seen for sign in "<＜﹤"):
        return seen
    return re.sub(_SPEAKING_TAG, "‹", seen)


def quote_lines(text: str) -> str:
    """The text cleaned, and each of its lines marked, to stand between two markers."""
    return PREFIX + clean(text).replace("\n", f"\n{PREFIX}")


def mark_others(key: bytes, lines: Iterable[str], what: str = NOTES) -> tuple[str, str]:
    """The two markers around notes of others, whose lines a caller has quoted itself."""
    content = "\n".join(lines)
    nonce = first_absent(_make_nonces(key, content), content)[:SHORT_NONCE_CHARS]
    first = f"{what}, from the repository [untrusted text {nonce}]"
    return first, f"[end of untrusted text {nonce}]"


def mark_content(content: str, *, author: str, source: str, at: str, key: bytes) -> tuple[str, str]:
    """The two markers around content that has a form of its own, such as cleaned JSON."""
    header = _write_header(author, source, at)
    nonce = first_absent(_make_nonces(key, f"{header}\n{content}"), content)
    return _mark(nonce, header)


def fence_key(home: str) -> bytes:
    """The secret of this data folder; two processes that make it at once get the same one."""
    path = os.path.join(home, "fence.key")
    if key := _read_key(path):
        return key
    files.private_folder(home)
    with files.Lock(path):
        if key := _read_key(path):
            return key
        key = os.urandom(KEY_BYTES)
        files.write_atomic(path, key.hex().encode() + b"\n")
    return key


def first_absent(nonces: Iterable[str], text: str) -> str:
    """The first that the text does not hold, so that nothing in it closes the fence."""
    lowered = text.lower()
    return next(nonce for nonce in nonces if nonce not in lowered)


def hmac_sha256(key: bytes, message: bytes) -> bytes:
    """As `hmac` has it, which would load OpenSSL: three milliseconds of a hook's time."""
    if len(key) > 64:
        key = new_sha256(key).digest()
    block = key.ljust(64, b"\0")
    inner_pad = bytes(byte ^ 0x36 for byte in block)
    outer_pad = bytes(byte ^ 0x5C for byte in block)
    inner = new_sha256(inner_pad + message).digest()
    return new_sha256(outer_pad + inner).digest()


def _enclose(nonce: str, header: str, lines: str) -> str:
    first, last = _mark(nonce, header)
    return f"{first}\n{lines}\n{last}"


def _mark(nonce: str, header: str) -> tuple[str, str]:
    return f"[untrusted text {nonce} {header} verified=no]", f"[end of untrusted text {nonce}]"


def _make_nonces(key: bytes, content: str) -> Iterator[str]:
    number = 0
    while True:
        message = f"fence {number}\n{content}".encode()
        yield hmac_sha256(key, message).hex()[:NONCE_CHARS]
        number += 1


def _cut_lines(lines: str, max_chars: int) -> str:
    """Cut; a last line of which only the prefix is left is removed."""
    return re.sub(_PARTIAL_LINE, ELLIPSIS, cut(lines, max_chars))


def _quote(value: str, max_chars: int) -> str:
    line = one_line(value, max_chars).replace('"', "'")
    return f'"{line}"'


def _disarm(text: str) -> str:
    """As long as before and readable, without what a client or a model takes for structure."""
    for signs, pattern, write in _ARMS:
        if any(sign in text for sign in signs):  # a pattern costs a hook more than a look
            text = re.sub(pattern, write, text)
    return text


def _read_key(path: str) -> bytes | None:
    """None when the file is missing or holds no key: a new one is made then."""
    data = files.find_own_bytes(path, max_bytes=FILE_BYTES) or b""
    digits = data.strip()
    if len(digits) != 2 * KEY_BYTES or not _HEXADECIMAL.issuperset(digits):
        return None
    return bytes.fromhex(digits.decode())
