"""How long a text is for a model, about."""

from __future__ import annotations

CHARS_PER_TOKEN = 4


def tokens(text: str) -> int:
    """About how many tokens a model counts: one per four characters, rounded up."""
    return tokens_of(len(text))


def tokens_of(chars: int) -> int:
    return -(-chars // CHARS_PER_TOKEN)
