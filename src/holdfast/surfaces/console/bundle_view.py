"""A bundle as a bar: a piece for each section with its text, sources and cuts; the rest is free.

What is shown here was not given to an agent, so no receipt of it is kept: a person who moves a
slider must not push the receipt of the last real bundle out of sight.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from operator import attrgetter

from holdfast.bundles import budget
from holdfast.bundles.model import Bundle, Cut, Item, ShownSection
from holdfast.bundles.service import BundleService
from holdfast.clients import list_clients
from holdfast.ground.frozen import dataclass
from holdfast.surfaces.console import pictures

STEP = 50
TONES = 4
HEAD, FREE = "head", "free"


@dataclass(frozen=True)
class Part:
    """A section of the bundle; without text it had no room at all."""

    name: str
    text: str
    chars: int
    about: str
    items: tuple[Item, ...]
    cut: tuple[Cut, ...]


@dataclass(frozen=True)
class BundleShown:
    bundle: Bundle
    limit: int
    bar: tuple[pictures.Piece, ...]
    parts: tuple[Part, ...]

    @property
    def free(self) -> int:
        return self.limit - self.bundle.chars


@dataclass(frozen=True)
class Cap:
    """Where the slider stands, and between what it moves."""

    least: int
    most: int
    chosen: int
    step: int = STEP


async def load_bundle(
    bundles: BundleService, phase: str, workstream_id: str | None, limit: int | None, worktree: str
) -> BundleShown:
    """What an agent would get now."""
    bundle = await bundles.preview(phase, workstream_id, limit=limit, worktree=worktree)
    return show_bundle(bundle, budget.total_for(phase, limit))


def make_cap(phase: str, limit: int | None) -> Cap:
    least = budget.LEAST
    most = budget.TOTALS[phase]
    chosen = min(limit or most, most)
    return Cap(least, most, max(chosen, least))


def show_bundle(bundle: Bundle, limit: int) -> BundleShown:
    parts = [_make_head(bundle)]
    parts += [_make_part(section) for section in bundle.sections]
    parts += _list_absent(bundle)
    bar = _make_bar(parts, free=limit - bundle.chars)
    return BundleShown(bundle, limit, tuple(bar), tuple(parts))


def _make_bar(parts: Iterable[Part], *, free: int) -> list[pictures.Piece]:
    """Neighbours differ in tone; what the bundle leaves free is the last piece."""
    sizes = [
        pictures.BarPart(f"tone-{number % TONES}", part.name, part.chars)
        for number, part in enumerate(parts)
    ]
    sizes.append(pictures.BarPart(FREE, FREE, free))
    return pictures.stack_pieces(sizes)


def list_client_limits() -> str:
    """How much each client hands to its model whole, where that is known."""
    limited = [client for client in list_clients() if client.TEXT_CHARS]
    limits = [f"{client.TITLE} {client.TEXT_CHARS:,}" for client in limited]
    return ", ".join(limits)


def _make_head(bundle: Bundle) -> Part:
    """Our own first lines; the empty lines between the sections are counted here."""
    text, _, _ = bundle.text.partition("\n\n")
    chars_of_sections = sum(len(shown.text) for shown in bundle.sections)
    return Part(
        name=HEAD,
        text=text,
        chars=bundle.chars - chars_of_sections,
        about="whose it is, and how to read it",
        items=(),
        cut=(),
    )


def _make_part(shown: ShownSection) -> Part:
    section = shown.section
    about = f"up to {section.max_chars:,} characters at first"
    if section.pinned:
        about = "always whole"
    return Part(
        name=_spell_name(section.name),
        text=shown.text,
        chars=len(shown.text),
        about=about,
        items=shown.items,
        cut=shown.cut,
    )


def _spell_name(name: str) -> str:
    return name.replace("_", " ")


def _list_absent(bundle: Bundle) -> list[Part]:
    """Sections of which nothing had room: they have no piece in the bar, and are still listed."""
    shown_cuts = {id(cut) for shown in bundle.sections for cut in shown.cut}
    others = [cut for cut in bundle.cut if id(cut) not in shown_cuts]
    get_section = attrgetter("section")
    others.sort(key=get_section)
    by_section = groupby(others, key=get_section)
    return [_make_absent_part(name, tuple(cuts)) for name, cuts in by_section]


def _make_absent_part(name: str, cuts: tuple[Cut, ...]) -> Part:
    return Part(
        name=_spell_name(name),
        text="",
        chars=0,
        about="nothing of it is in the bundle",
        items=(),
        cut=cuts,
    )
