"""What a client's hooks tell an agent about the team, and the team about its session.

Nothing here is loaded while the exchange is off. A hook reads the store anew each time: what was
released, revoked or made private a moment ago is not told. Whose rows there are is decided by the
queries. Of what others wrote nothing is repeated: see `team.block`.
"""

from __future__ import annotations

import os
import time
from functools import partial
from itertools import product

from holdfast.clients.contract import TEAM
from holdfast.clients.edits import list_edits
from holdfast.ground import clock
from holdfast.ground.light_typing import NamedTuple
from holdfast.ground.settings import sqlite_path
from holdfast.ground.worktree import OwnPaths
from holdfast.notices.model import HANDOFF, OVERLAP, Match
from holdfast.notices.store import ToldFile
from holdfast.team import reach
from holdfast.team.model import OFFERED
from holdfast.team.store import MOST_NEAR, TeamStore
from holdfast.usecases.location import locate_branch, locate_worktree
from holdfast.usecases.noticing import find_inside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from holdfast.app import App
    from holdfast.clients.contract import HookMoment
    from holdfast.ground.settings import Settings
    from holdfast.team.model import Handoff, Reservation
    from holdfast.usecases.uncommitted import Checkout

LISTED = 200
GIT_SECONDS = 1.0  # for all that is read of the working tree where a session begins
EDIT_GIT_SECONDS = 0.2
PATH_CHARS = 60
GLOBS = 1_000  # of all reservations, the newest first
PATTERN_SECONDS = 0.1
HANDLES = 3
ANOTHER_SESSION = "another session of this user"
# A session is shown anew that was shown longer ago than this; it fades after ten minutes.
SHOWN_SECONDS = 300.0


def has_store(settings: Settings) -> bool:
    """An edit makes no store: where there is none, nobody has reserved anything."""
    path = sqlite_path(settings.database)
    return path is None or os.path.exists(path)


# --- the start of a session, and the end of a turn ------------------------------------------------


async def begin(app: App, moment: HookMoment, fits: Callable[[str], bool] | None = None) -> str:
    """A session goes on here. Returns the block about the team for a window that takes one, in
    which `fits` says what has room.
    """
    from holdfast.team.block import write_block
    from holdfast.team.nearby import look_near
    from holdfast.usecases import presence, team_block
    from holdfast.usecases.uncommitted import Checkout

    worktree = locate_worktree(moment.origin.cwd)
    if worktree is None:
        return ""
    session_id = await find_session_id(app, moment)
    await presence.end_left(app, await _list_own(app), session_id)
    has_agreed = await presence.has_agreed(app)
    if has_agreed and session_id is None:
        await presence.enter(app)
    is_shown = session_id is not None and has_agreed
    if fits is None and not is_shown:
        return ""
    ends_at = time.monotonic() + GIT_SECONDS
    checkout = Checkout.read_within(worktree, GIT_SECONDS)
    if session_id is not None and is_shown:
        await _show(app, moment, session_id, checkout)
    if fits is None:
        return ""
    owner = app.settings.owner
    near = await look_near(TeamStore(app.database, owner), owner.developer_id, checkout.repo)
    offers = find_offers(near.handoffs, owner.developer_id)
    facts = team_block.gather(owner, near, checkout, offers, clock.now(), ends_at)
    text = write_block(facts, fits)
    if text and offers:
        claim_offers(app, moment, leave_out_told(app, moment, offers), text)
    return text


async def end_turn(app: App, moment: HookMoment) -> str:
    """What is not committed now; nothing is printed at the end of a turn."""
    from holdfast.usecases import presence
    from holdfast.usecases.uncommitted import Checkout

    worktree = locate_worktree(moment.origin.cwd)
    session_id = await find_session_id(app, moment)
    if worktree is None or session_id is None or not await presence.has_agreed(app):
        return ""
    await _show(app, moment, session_id, Checkout.read_within(worktree, GIT_SECONDS))
    return ""


async def _show(app: App, moment: HookMoment, session_id: str, checkout: Checkout) -> None:
    """Where what is not committed is not known, what was shown of it stays."""
    from holdfast.errors import StoreBusyError
    from holdfast.usecases import presence

    if not checkout.is_named:
        return
    paths: Sequence[str] = checkout.uncommitted
    if not checkout.is_known:
        own = presence.find_shown(await _list_own(app), session_id)
        paths = own.paths if own else ()
    try:
        await presence.show(
            app,
            session_id,
            paths,
            client=moment.client.NAME,
            repo=checkout.repo,
            branch=checkout.branch,
        )
    except StoreBusyError:
        return


async def find_session_id(app: App, moment: HookMoment) -> str | None:
    """None before the first event of a session was stored."""
    store = app.scope.session_store
    return await store.find_native_id(moment.client.NAME, moment.origin.native_id)


async def _list_own(app: App) -> Sequence[Reservation]:
    return await TeamStore(app.database, app.settings.owner).list_own_reservations()


# --- an edit --------------------------------------------------------------------------------------


async def tell_edit(app: App, moment: HookMoment, room: int) -> str:
    """What others have reserved, or not committed, of the files that are about to change: teammates
    and other sessions of this developer.
    """
    worktree = locate_worktree(moment.origin.cwd)
    paths = list_paths(moment, worktree) if worktree else []
    if worktree is None or not paths:
        return ""
    session_id = await find_session_id(app, moment)
    repo = await _show_edit(app, moment, session_id, worktree, paths)
    me, branch = app.settings.owner.developer_id, locate_branch(worktree)
    near = await _list_near(app, repo)
    others = [each for each in near if reach.is_of_another(each, me, session_id, branch)]
    found = find_overlaps(others, paths)
    if not found:
        return ""
    from holdfast.usecases.uncommitted import find_repo

    return tell_overlaps(app, moment, found, repo or find_repo(worktree), me, room)


def tell_overlaps(
    app: App, moment: HookMoment, found: Sequence[_Overlap], repo: str, me: str, room: int
) -> str:
    """Those of this repository."""
    from holdfast.team.freshness import is_same_repo

    names = {each.reservation.repo for each in found}
    same = {name for name in names if is_same_repo(name, repo)}
    overlaps = [each for each in found if each.reservation.repo in same]
    return _tell(app, moment, overlaps, me, room)


def list_paths(moment: HookMoment, worktree: str) -> list[str]:
    """The files of an edit that are in this repository; another one may lie in its working tree."""
    if not os.path.isdir(worktree):
        return []
    given = [path for path, _, _ in list_edits(moment.payload)]
    inside = [find_inside(path, moment.origin.cwd, worktree) for path in dict.fromkeys(given)]
    own = OwnPaths(worktree)
    return [path for path in dict.fromkeys(inside) if path is not None and own.has(path)]


async def _list_near(app: App, repo: str | None) -> Sequence[Reservation]:
    """Of one that is not known without asking git, those of the whole workspace."""
    store = TeamStore(app.database, app.settings.owner)
    if repo is None:
        return await store.list_reservations(MOST_NEAR)
    return await store.list_reservations_near(repo)


async def _show_edit(
    app: App, moment: HookMoment, session_id: str | None, worktree: str, paths: Sequence[str]
) -> str | None:
    """Add the files of an edit to what this session shows; git is asked only where one of them is
    not shown yet. Returns the name of the repository, if it was needed.
    """
    from holdfast.errors import StoreBusyError
    from holdfast.usecases import presence

    if session_id is None or not await presence.has_agreed(app):
        return None
    own = presence.find_shown(await _list_own(app), session_id)
    if own is not None and own.repo is not None:
        age = (clock.now() - own.reserved_at).total_seconds()
        if set(paths) <= set(own.paths) and age < SHOWN_SECONDS:
            return own.repo
    from holdfast.usecases.uncommitted import look_at_edit

    edited = look_at_edit(worktree, paths, EDIT_GIT_SECONDS)
    if edited is None:
        return None
    try:
        await presence.show(
            app,
            session_id,
            [*edited.paths, *_list_known(worktree, own, edited.repo)],
            client=moment.client.NAME,
            repo=edited.repo,
            branch=locate_branch(worktree),
        )
    except StoreBusyError:
        return edited.repo
    return edited.repo


def _list_known(worktree: str, own: Reservation | None, repo: str) -> Sequence[str]:
    """What a session showed of this repository, else what git lists in it."""
    from holdfast.team.freshness import is_same_repo
    from holdfast.usecases.uncommitted import Checkout

    if own is not None and is_same_repo(own.repo, repo):
        return own.paths
    return Checkout.read_within(worktree, EDIT_GIT_SECONDS).uncommitted


class _Overlap(NamedTuple):
    """Another's reservation, its entry that is about one of the paths, and that path."""

    reservation: Reservation
    entry: str
    path: str


def find_overlaps(reservations: Sequence[Reservation], paths: Sequence[str]) -> list[_Overlap]:
    """The newest first. A pattern costs a comparison, so there is a limit for patterns."""
    above = reach.list_above(paths)
    files = {reach.compose(path): path for path in reversed(paths)}
    named = {}
    for each in reservations:
        found = reach.find_named(each, files if each.is_soft else above)
        if found is not None:
            named[each.id] = _Overlap(each, *found)
    others = [each for each in reservations if not each.is_soft and each.id not in named]
    matching = {overlap.reservation.id: overlap for overlap in _find_matches(others, paths)}
    known = named | matching
    return [known[each.id] for each in reservations if each.id in known]


def _find_matches(reservations: Sequence[Reservation], paths: Sequence[str]) -> Iterator[_Overlap]:
    """By the first pattern of each that is about one of the paths."""
    ends_at = time.monotonic() + PATTERN_SECONDS
    left = GLOBS
    for each in reservations:
        for entry, path in product(reach.list_globs(each), paths):
            left -= 1
            if left < 0 or time.monotonic() > ends_at:
                return
            if reach.covers(entry, path):
                yield _Overlap(each, entry, path)
                break


def _make_entry(overlap: _Overlap) -> dict[str, str]:
    """What is kept of what was told: without a word of theirs."""
    from holdfast.ground.fence import one_line

    text = one_line(overlap.path, PATH_CHARS)
    identity = f"{OVERLAP} {overlap.reservation.id}"
    if overlap.reservation.is_soft:
        identity += f" {overlap.path}"
    return {"identity": identity, "id": "team", "kind": OVERLAP, "text": text}


def _describe(overlap: _Overlap, here: str, worktree: str, me: str) -> str:
    """By whom it is, and without a word of theirs."""
    from holdfast.usecases.uncommitted import has_symbol

    reservation, entry, path = overlap
    is_own = reservation.developer.id == me
    by = ANOTHER_SESSION if is_own else reach.show_handle(reservation.developer.handle)
    if reservation.is_soft:
        branch = reach.show_branch(reservation.branch)
        return f"{by} has {here} uncommitted ({_name_branch(branch)})"
    shown = reach.show_pattern(entry, partial(has_symbol, worktree, path))
    until = reach.format_moment(reservation.expires_at, clock.now())
    return f"{by} reserved {shown or here} until {until}"


def _name_branch(shown: str) -> str:
    return shown if shown in (reach.A_BRANCH, reach.NO_BRANCH) else f"branch {shown}"


def _tell(app: App, moment: HookMoment, overlaps: Sequence[_Overlap], me: str, room: int) -> str:
    """As many as fit, of those that this session was not told yet; only they are described."""
    told = ToldFile(app.settings.home, moment.client.NAME, moment.origin.native_id)
    entries = [_make_entry(each) for each in overlaps]
    by_identity = {entry["identity"]: each for entry, each in zip(entries, overlaps, strict=True)}
    worktree = locate_worktree(moment.origin.cwd) or ""
    lines: list[str] = []
    shown: list[Match] = []
    for match in told.leave_out_told([Match(0, each, OVERLAP, each["text"]) for each in entries]):
        overlap = by_identity[match.entry["identity"]]
        line = f"{TEAM}{_describe(overlap, match.entry['text'], worktree, me)}"
        if len(line) > room:
            break
        lines.append(line)
        shown.append(match)
        room -= len(line) + 1
    text = "\n".join(lines)
    if not shown or not told.claim(shown, _list_facts(moment, text)):
        return ""
    return text


def _list_facts(moment: HookMoment, text: str) -> dict[str, object]:
    worktree = locate_worktree(moment.origin.cwd)
    return {"worktree": worktree, "hook": moment.event_name, "chars": len(text)}


# --- handoffs -------------------------------------------------------------------------------------


async def tell_offers(app: App, moment: HookMoment, room: int) -> str:
    """How many handoffs are offered that this session was not told of, and by whom."""
    return write_offers(app, moment, await list_offers(app), room)


def write_offers(app: App, moment: HookMoment, offers: Sequence[Handoff], room: int) -> str:
    new = leave_out_told(app, moment, offers)
    if not new:
        return ""
    line = f"{TEAM}handoffs offered to this user: {len(new)} ({_name_givers(new)})"
    text = f"{line}. Details: covibe_team operation=state"
    if len(text) > room or not claim_offers(app, moment, new, text):
        return ""
    return text


async def list_offers(app: App) -> list[Handoff]:
    """What this developer may accept."""
    store = TeamStore(app.database, app.settings.owner)
    handoffs = await store.list_handoffs(LISTED)
    return find_offers(handoffs, app.settings.owner.developer_id)


def find_offers(handoffs: Sequence[Handoff], own_id: str) -> list[Handoff]:
    return [each for each in handoffs if each.status == OFFERED and each.giver.id != own_id]


def _name_givers(offers: Sequence[Handoff]) -> str:
    handles = list(dict.fromkeys(reach.show_handle(offer.giver.handle) for offer in offers))
    return ", ".join(handles[:HANDLES]) + (" …" if len(handles) > HANDLES else "")


def leave_out_told(app: App, moment: HookMoment, offers: Sequence[Handoff]) -> list[Handoff]:
    told = ToldFile(app.settings.home, moment.client.NAME, moment.origin.native_id)
    new = {match.entry["identity"] for match in told.leave_out_told(_match_offers(offers))}
    return [offer for offer in offers if _identify(offer) in new]


def claim_offers(app: App, moment: HookMoment, offers: Sequence[Handoff], text: str) -> bool:
    told = ToldFile(app.settings.home, moment.client.NAME, moment.origin.native_id)
    return told.claim(_match_offers(offers), _list_facts(moment, text))


def _match_offers(offers: Sequence[Handoff]) -> list[Match]:
    entries = [
        {"identity": _identify(offer), "id": "team", "kind": HANDOFF, "text": "1 offered"}
        for offer in offers
    ]
    return [Match(0, entry, HANDOFF, "") for entry in entries]


def _identify(offer: Handoff) -> str:
    return f"{HANDOFF} {offer.id}"
