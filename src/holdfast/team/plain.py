"""A text as a reader sees it: what a pattern is compared with, so that nothing hides from it."""

from __future__ import annotations

from holdfast.ground.fence import remove_unseen


def read_plain(text: str) -> str:
    """Without invisible characters, and with the plain form of full-width and styled letters."""
    seen = remove_unseen(text)
    if seen.isascii():
        return seen
    import unicodedata

    return unicodedata.normalize("NFKC", seen)
