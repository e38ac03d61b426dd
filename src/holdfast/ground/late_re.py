"""`re`, loaded when it is first used.

It loads nine modules, which take half as long as an empty process, and most short texts need no
pattern. To a type checker these names are those of the standard library.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Match, Pattern, compile, finditer, fullmatch, match, search, split, sub  # noqa: A004
    from typing import Any

__all__ = [
    "Match", "Pattern", "compile", "finditer", "fullmatch", "match", "search", "split", "sub",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """An attribute of this module from then on."""
    import re

    found = getattr(re, name)
    globals()[name] = found
    return found
