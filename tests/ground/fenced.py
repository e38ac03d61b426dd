"""A fence as its reader sees it, written apart from the code that makes one."""

import re
import unicodedata
from typing import NamedTuple

OPENING = re.compile(
    r'\[untrusted text (?P<nonce>[0-9a-f]{32}) author="(?P<author>[^"\n]*)" '
    r'source="(?P<source>[^"\n]*)"'
    r' at="(?P<at>[^"\n]*)" verified=no\]'
)
# Signs that are written around numbers in Arabic, Syriac and Kaithi: formats by name, visible to
# a reader.
SEEN_FORMATS = {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD}
HIDDEN_ALPHABETS = [(0xFE00, 0xFE0F), (0xE0000, 0xE0FFF)]
BLANKS = {0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0}
# What a client, a model's template or another fence would act on, whatever its case.
LIVE = re.compile(
    r"<[ \t]?/|<[^\W\d]|<!|<\||\|>|<<<|>>>|\[[ "
    r"\t]?/?(?:INST|SYS|SYSTEM|END|RESUMED|UNTRUSTED)\b(?=[\s\]])|```|~~~|!\["
    r"|[-=#*_]{3}[ \t]?(?:BEGIN|END|SYSTEM|USER|HUMAN|ASSISTANT)\b",
    re.IGNORECASE,
)
LIVE_SPEAKER = re.compile(
    r"^\s{0,4}(?:#{1,4} )?(?:human|user|assistant|system|developer|tool)\s?:", re.IGNORECASE
)


class Fenced(NamedTuple):
    nonce: str
    author: str
    source: str
    at: str
    lines: list[str]  # without their marks

    @property
    def body(self) -> str:
        return "\n".join(self.lines)


def is_forbidden(character: str) -> bool:
    code, category = ord(character), unicodedata.category(character)
    if character in "\n\t" or code in SEEN_FORMATS:
        return False
    return (
        category in {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
        or code in BLANKS
        or any(first <= code <= last for first, last in HIDDEN_ALPHABETS)
    )


def read_fence(text: str, max_chars: int) -> Fenced:
    """What is inside; every promise of a fence is checked on the way."""
    assert len(text) <= max_chars
    assert [character for character in text if is_forbidden(character)] == []
    opening, *marked, closing = text.split("\n")
    assert text.splitlines() == [opening, *marked, closing], (
        "another reader would count other lines"
    )
    found = OPENING.fullmatch(opening)
    assert found, opening
    assert closing == f"[end of untrusted text {found['nonce']}]"
    assert text.count(found["nonce"]) == 2
    assert marked
    assert all(line.startswith("| ") for line in marked), marked
    assert (
        text.lower().count("[untrusted text") == text.lower().count("[end of untrusted text") == 1
    )
    fenced = Fenced(*found.groups(), [line[2:] for line in marked])
    assert not LIVE.search(fenced.body), LIVE.findall(fenced.body)
    assert not [line for line in fenced.lines if LIVE_SPEAKER.match(line)]
    return fenced
