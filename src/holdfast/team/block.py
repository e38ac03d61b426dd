"""What an agent is told about its team when a session begins: metadata, and no words of a teammate.

Names of branches come from others, so they are shown only where they are short and plain; paths
only where they are this checkout's own. Every word here is ours, and states. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from holdfast.ground.frozen import dataclass
from holdfast.team.reach import format_moment, is_plain, show_branch, show_handle

BLOCK_CHARS = 900
TEAMMATES = 5
HANDLES, OWN = 3, 1
COUNTED = 20  # overlaps and reservations; of more it is said that there are more
# How many teammates are shown, and how many of each of the other lists: the first that fits.
_SHAPES = (
    *((teammates, 3) for teammates in range(TEAMMATES, 2, -1)),
    *((3, 2), (2, 2), (2, 1), (1, 1), (1, 0), (0, 1), (0, 0)),
)


@dataclass(frozen=True)
class Teammate:
    """A developer with active contexts of this repository, and the one that matters most here."""

    handle: str
    branch: str | None
    context_id: str
    published_at: datetime
    files: int
    blockers: int
    next_actions: int
    freshness: str
    contexts: int = 1


@dataclass(frozen=True)
class Overlap:
    """A file that is not committed here, and where a teammate has it, too."""

    path: str
    handle: str
    where: str  # one of the three below


LISTED, UNCOMMITTED, RESERVED = "list", "uncommitted", "reserved"
_WHERE = {
    LISTED: "is in {}'s list",
    UNCOMMITTED: "is uncommitted at {}, too",
    RESERVED: "is reserved by {}",
}


@dataclass(frozen=True)
class Reserved:
    """`pattern` matches a file here; empty where it cannot be shown."""

    pattern: str
    handle: str
    until: datetime
    more: int = 0  # patterns of the same reservation


@dataclass(frozen=True)
class BlockFacts:
    now: datetime
    workspace: str
    repo: str
    teammates: Sequence[Teammate] = ()
    elsewhere: int = 0  # developers whose contexts are of other repositories
    has_more: bool = False  # contexts than were read
    own: Sequence[tuple[str, datetime]] = ()
    overlaps: Sequence[Overlap] = ()
    reserved: Sequence[Reserved] = ()
    offers: Sequence[str] = ()  # the handle of each giver

    @property
    def says_something(self) -> bool:
        return bool(self.teammates or self.own or self.overlaps or self.reserved or self.offers)


def write_block(facts: BlockFacts, fits: Callable[[str], bool]) -> str:
    """The block with as much as fits; empty where there is nothing to say, or no room."""
    if not facts.says_something:
        return ""
    for teammates, items in _SHAPES:
        text = "\n".join(_write_lines(facts, teammates, items))
        if len(text) <= BLOCK_CHARS and fits(text):
            return text
    return ""


def _write_lines(facts: BlockFacts, teammates: int, items: int) -> Iterator[str]:
    workspace = facts.workspace if is_plain(facts.workspace) else ""
    repo = facts.repo if is_plain(facts.repo) else ""
    lead = " ".join(part for part in ("HOLDFAST team", workspace) if part)
    yield " · ".join(part for part in (lead, repo, f"{facts.now:%Y-%m-%d %H:%MZ}") if part)
    shown = facts.teammates[:teammates]
    yield from (f"| {_describe(teammate, facts.now)}" for teammate in shown)
    yield from _count_others(facts, len(facts.teammates) - len(shown))
    yield from _name_own(facts)
    yield from _list_some("Overlap", [_describe_overlap(each) for each in facts.overlaps], items)
    reserved = [_describe_reserved(each, facts.now) for each in facts.reserved]
    yield from _list_some("Reserved", reserved, items)
    if facts.offers:
        handles = list(dict.fromkeys(map(show_handle, facts.offers)))
        named = ", ".join(handles[:HANDLES]) + (" …" if len(handles) > HANDLES else "")
        yield f"Handoffs offered to this user: {len(facts.offers)} ({named})."
    yield from _name_call(facts)


def _describe(teammate: Teammate, now: datetime) -> str:
    parts = [
        show_handle(teammate.handle),
        show_branch(teammate.branch),
        f"context {teammate.context_id}",
        f"published {format_moment(teammate.published_at, now)}",
        _count_parts(teammate),
        teammate.freshness,
    ]
    if teammate.contexts > 1:
        parts.append(f"+{teammate.contexts - 1} more of this repository")
    return " · ".join(part for part in parts if part)


def _count_parts(teammate: Teammate) -> str:
    counts = [
        _count(teammate.files, "file"),
        _count(teammate.blockers, "blocker"),
        _count(teammate.next_actions, "next action"),
    ]
    return ", ".join(filter(None, counts))


def _count(number: int, what: str) -> str:
    if not number:
        return ""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _count_others(facts: BlockFacts, more: int) -> Iterator[str]:
    counts = []
    if more > 0:
        or_more = " or" if facts.has_more else ""
        counts.append(f"{more}{or_more} more of this repository")
    if facts.elsewhere:
        counts.append(f"{facts.elsewhere} of other repositories")
    if counts:
        yield f"+{', '.join(counts)}"


def _name_own(facts: BlockFacts) -> Iterator[str]:
    if not facts.own:
        return
    context_id, expires_at = facts.own[0]
    more = f" +{len(facts.own) - OWN} more" if len(facts.own) > OWN else ""
    moment = format_moment(expires_at, facts.now)
    yield f"Published from here: context {context_id}, expires {moment}{more}"


def _list_some(title: str, described: Sequence[str], items: int) -> Iterator[str]:
    if not described or not items:
        return
    left = len(described) - items
    or_more = " or" if len(described) >= COUNTED else ""
    more = f"; +{left}{or_more} more" if left > 0 else ""
    yield f"{title}: {'; '.join(described[:items])}{more}"


def _describe_overlap(overlap: Overlap) -> str:
    where = _WHERE[overlap.where].format(show_handle(overlap.handle))
    return f"{overlap.path}, uncommitted here, {where}"


def _describe_reserved(reserved: Reserved, now: datetime) -> str:
    what = reserved.pattern or "files of this checkout"
    if reserved.more:
        what += f" +{reserved.more} more"
    by = show_handle(reserved.handle)
    return f"{what} by {by} until {format_moment(reserved.until, now)}"


def _name_call(facts: BlockFacts) -> Iterator[str]:
    """Contexts and handoffs are read by different calls, so both are named."""
    calls = []
    if facts.teammates:
        first = facts.teammates[0].handle
        of_first = f" developer={first}" if show_handle(first) == first else ""
        calls.append(f"covibe_session operation=get_context{of_first}")
    if facts.offers or ((facts.overlaps or facts.reserved) and not calls):
        calls.append("covibe_team operation=state")
    if calls:
        yield f"Details: {'; '.join(calls)}"
