"""What a rule leaves out of a section or shortens, each with its reason, and a section that is a
list. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from holdfast.bundles.model import Cut, Item, Section
from holdfast.bundles.quoting import PROSE_CHARS, quote


def list_section(
    name: str, title: str, items: Sequence[Item], held: Sequence[Cut] = (), **more: Any
) -> Section:
    """A section with a heading, which is none where nothing stands below it."""
    return Section(name, title if items else "", tuple(items), held=tuple(held), **more)


def hold_back(section: str, items: Iterable[Item], why: str) -> tuple[Cut, ...]:
    return tuple(Cut(section, item.text, item.source, why) for item in items)


def list_shortened(
    section: str, texts: Iterable[tuple[object, str]], max_chars: int
) -> tuple[Cut, ...]:
    """What has its `…` before any budget, because one long note would hide all the others."""
    why = f"shortened: it may have {max_chars} characters here"
    long = [
        (text, source) for text, source in texts if isinstance(text, str) and len(text) > max_chars
    ]
    whole = [(quote(text, PROSE_CHARS), source) for text, source in long]
    return tuple(Cut(section, text, source, why) for text, source in whole if len(text) > max_chars)
