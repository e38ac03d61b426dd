"""Whether a text speaks of something that is no longer there, so that it may name it. Pure."""

from __future__ import annotations

import re

from holdfast.ground.patterns import compile_later

_REMOVAL = compile_later(
    r"\b(?:remov|delet|renam|replac|deprecat|obsolet|supersed|migrat(?:ed|ion)|split into|"
    r"merged into|dropped|gone\b|former|legacy|no longer|any ?more\b|used to|moved|instead of|"
    r"(?:never|not) (?:create|add|commit))",
    re.IGNORECASE,
)


def speaks_of_removal(text: str) -> bool:
    return _REMOVAL.search(text) is not None
