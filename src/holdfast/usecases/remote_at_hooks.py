"""The same as `team_at_hooks`, where the exchange is that of a server.

A person waits for every hook, so a server has half a second at the start of a session and less
elsewhere, and after a failure hooks do not ask it for a minute. A copy of what is reserved near a
working tree, a minute old at most, says whether an edit is worth a question; what is told comes
from the answer and never from the copy. A repository that the server is not told of is not named:
what it is called is read from git at each question, whatever the copy was made of.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress

from holdfast.errors import HoldfastError, Unavailable
from holdfast.ground import canonical, clock, files
from holdfast.ground import light_json as json
from holdfast.ground.alarm import TimeIsUpError
from holdfast.ground.frozen import dataclass
from holdfast.team.joined import find_joined
from holdfast.team.model import Person, Reservation
from holdfast.team.reach import is_of_another
from holdfast.usecases import presence
from holdfast.usecases.location import locate_branch, locate_worktree
from holdfast.usecases.team_at_hooks import (
    GIT_SECONDS,
    claim_offers,
    find_offers,
    find_overlaps,
    find_session_id,
    leave_out_told,
    list_paths,
    tell_overlaps,
    write_offers,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from holdfast.app import App
    from holdfast.clients.contract import HookMoment
    from holdfast.team.joined import Joined
    from holdfast.team.nearby import Nearby
    from holdfast.team.remote import RemoteTeam
    from holdfast.usecases.uncommitted import Checkout, Edited

START_SECONDS, BRIEF_SECONDS = 0.5, 0.3
COPY_SECONDS = 60.0
COPIES, COPY_BYTES, MOST_COPIES = "team-copies", 4 << 20, 50


# --- the start of a session, the end of a turn and of a session -----------------------------------


async def begin(app: App, moment: HookMoment, fits: Callable[[str], bool] | None = None) -> str:
    from holdfast.team.block import write_block
    from holdfast.usecases import team_block
    from holdfast.usecases.uncommitted import Checkout

    joined, worktree = _find_joined(app), locate_worktree(moment.origin.cwd)
    if joined is None or worktree is None:
        return ""
    ends_at = time.monotonic() + GIT_SECONDS
    checkout = Checkout.read_within(worktree, GIT_SECONDS)
    if not checkout.is_named:
        return ""
    if joined.find_listed(checkout.repo) is None:
        _keep_copy(app, joined, worktree)
        return ""
    session_id = await find_session_id(app, moment)
    team = _open(joined, START_SECONDS)
    near = await team.look_near(checkout.repo)
    _keep_copy(app, joined, worktree, near)
    await _settle(app, moment, team, near, session_id, checkout)
    if fits is None:
        return ""
    owner = team.owner
    offers = find_offers(near.handoffs, owner.developer_id)
    facts = team_block.gather(owner, near, checkout, offers, team.now(), ends_at)
    text = write_block(facts, fits)
    if text and offers:
        claim_offers(app, moment, leave_out_told(app, moment, offers), text)
    return text


async def _settle(
    app: App,
    moment: HookMoment,
    team: RemoteTeam,
    near: Nearby,
    session_id: str | None,
    checkout: Checkout,
) -> None:
    """Show this session, and end those whose program was killed. What fails now is done by the next
    hook, and is no reason not to tell what is known.
    """
    with suppress(Unavailable):
        if session_id is not None:
            await _show(moment, team, session_id, checkout)
        for left in await presence.find_left(app, near.own_claims, session_id):
            await team.end_presence(left)


async def _show(moment: HookMoment, team: RemoteTeam, session_id: str, checkout: Checkout) -> None:
    """Where what is not committed is not known, what was shown of it stays."""
    if not checkout.is_known:
        return
    await team.show_presence(
        session_id,
        checkout.uncommitted[: presence.PATHS],
        client=moment.client.NAME,
        repo=checkout.repo,
        branch=checkout.branch,
    )


async def end_turn(app: App, moment: HookMoment) -> str:
    """What is not committed now, and what has waited; nothing is printed at the end of a turn."""
    from holdfast.usecases.uncommitted import Checkout

    joined, worktree = _find_joined(app), locate_worktree(moment.origin.cwd)
    if joined is None:
        return ""
    session_id = await find_session_id(app, moment)
    checkout = Checkout.read_within(worktree, GIT_SECONDS) if worktree and session_id else None
    team = _open(joined, BRIEF_SECONDS)
    team.send_waiting(patience_seconds=0.0)
    is_listed = checkout is not None and joined.find_listed(checkout.repo) is not None
    if is_listed and checkout is not None and session_id is not None:
        await _show(moment, team, session_id, checkout)
    return ""


async def end_session(app: App, moment: HookMoment) -> str:
    """Of one that was in no repository of the list, the server is not told that it ends."""
    joined = _find_joined(app)
    session_id = await find_session_id(app, moment) if joined else None
    if joined is None or session_id is None:
        return ""
    worktrees = await _list_worktrees(app, moment, session_id)
    if any(_is_listed(joined, worktree) for worktree in worktrees):
        await _open(joined, BRIEF_SECONDS).end_presence(session_id)
    return ""


async def _list_worktrees(app: App, moment: HookMoment, session_id: str) -> list[str]:
    """Where it ends, and where it began."""
    from holdfast.sessions.model import make_session

    row = await app.scope.session_store.find_session(session_id)
    began = make_session(row).worktree if row else None
    found = (locate_worktree(moment.origin.cwd), began)
    return [worktree for worktree in dict.fromkeys(found) if worktree]


def _is_listed(joined: Joined, worktree: str) -> bool:
    from holdfast.usecases.uncommitted import look_at_edit

    edited = look_at_edit(worktree, (), BRIEF_SECONDS)
    return edited is not None and joined.find_listed(edited.repo) is not None


# --- an edit, and a prompt ------------------------------------------------------------------------


async def tell_edit(app: App, moment: HookMoment, room: int) -> str:
    joined, worktree = _find_joined(app), locate_worktree(moment.origin.cwd)
    paths = list_paths(moment, worktree) if worktree else []
    if joined is None or worktree is None or not paths:
        return ""
    session_id = await find_session_id(app, moment)
    branch = locate_branch(worktree)
    copy = _find_copy(app, joined, worktree)
    if copy is not None and not _touches(copy, session_id, branch, paths):
        return ""
    edited = _look_at_listed(app, joined, worktree, paths)
    if edited is None:
        return ""
    team = _open(joined, BRIEF_SECONDS)
    near = await team.look_near(edited.repo)
    me = team.owner.developer_id
    _keep_copy(app, joined, worktree, near)
    others = [each for each in near.claims if is_of_another(each, me, session_id, branch)]
    told = tell_overlaps(app, moment, find_overlaps(others, paths), edited.repo, me, room)
    if session_id is not None:
        await _show_paths(moment, team, near, session_id, branch, edited)
    return told


async def _show_paths(
    moment: HookMoment,
    team: RemoteTeam,
    near: Nearby,
    session_id: str,
    branch: str | None,
    edited: Edited,
) -> None:
    """With the files of this edit, where the team does not see them yet. What was shown of another
    repository, before the session went on in this one, is not of this one. Where the time is over,
    what is to be told is told all the same.
    """
    own = presence.find_shown(near.own_claims, session_id)
    known = own.paths if own is not None and own.repo == edited.repo else ()
    if set(edited.paths) <= set(known):
        return
    shown = list(dict.fromkeys([*edited.paths, *known]))[: presence.PATHS]
    with suppress(Unavailable, TimeIsUpError):
        await team.show_presence(
            session_id, shown, client=moment.client.NAME, repo=edited.repo, branch=branch
        )


async def tell_offers(app: App, moment: HookMoment, room: int) -> str:
    joined, worktree = _find_joined(app), locate_worktree(moment.origin.cwd)
    if joined is None or worktree is None:
        return ""
    copy = _find_copy(app, joined, worktree)
    if copy is not None and not copy.has_offers:
        return ""
    listed = _look_at_listed(app, joined, worktree)
    if listed is None:
        return ""
    team = _open(joined, BRIEF_SECONDS)
    near = await team.look_near(listed.repo)
    _keep_copy(app, joined, worktree, near)
    return write_offers(app, moment, find_offers(near.handoffs, team.owner.developer_id), room)


# --- the server, and the copy of what is near -----------------------------------------------------


def _find_joined(app: App) -> Joined | None:
    """None where it did not answer a moment ago."""
    joined = find_joined(app.settings)
    return None if joined is None or joined.is_paused else joined


def _open(joined: Joined, seconds: float) -> RemoteTeam:
    from holdfast.team.remote import RemoteTeam  # not where nothing is asked

    return RemoteTeam(joined, seconds=seconds)


def _look_at_listed(
    app: App, joined: Joined, worktree: str, paths: Sequence[str] = ()
) -> Edited | None:
    """By its name on the list; None where the server is not told of it, or git does not say what it
    is called.
    """
    from holdfast.usecases.uncommitted import look_at_edit

    edited = look_at_edit(worktree, paths, BRIEF_SECONDS)
    if edited is None:
        return None
    listed = joined.find_listed(edited.repo)
    if listed is None:
        _keep_copy(app, joined, worktree)
        return None
    return edited._replace(repo=listed)


@dataclass(frozen=True)
class Copy:
    """Ids, paths and times: nothing that could be shown to anybody."""

    me: str
    claims: Sequence[Reservation]
    has_offers: bool


def _touches(copy: Copy, session_id: str | None, branch: str | None, paths: Sequence[str]) -> bool:
    others = [each for each in copy.claims if is_of_another(each, copy.me, session_id, branch)]
    return bool(find_overlaps(others, paths))


def _keep_copy(app: App, joined: Joined, worktree: str, near: Nearby | None = None) -> None:
    """Of a repository that the server is not told of, an empty one. Where it cannot be kept, the
    next hook asks again.
    """
    owner = joined.owner
    me = owner.developer_id if owner else ""
    claims = near.claims if near else ()
    offers = find_offers(near.handoffs, me) if near else []
    data = {
        "server": str(joined.origin),
        "at": time.time(),
        "me": me,
        "claims": [_describe_claim(each) for each in claims],
        "has_offers": bool(offers),
    }
    path = _name_copy(app.settings.home, worktree)
    with suppress(HoldfastError):
        files.private_folder(os.path.dirname(path))
        files.write_atomic(path, json.dumps(data).encode())
        _remove_old(os.path.dirname(path))


def _describe_claim(claim: Reservation) -> dict[str, Any]:
    return {
        "id": claim.id,
        "by": claim.developer.id,
        "session": claim.session_id,
        "branch": claim.branch,
        "paths": list(claim.paths),
        "is_soft": claim.is_soft,
    }


def _find_copy(app: App, joined: Joined, worktree: str) -> Copy | None:
    """A clock that was set back does not make one younger."""
    try:
        path = _name_copy(app.settings.home, worktree)
        data = json.loads(files.find_own_bytes(path, max_bytes=COPY_BYTES) or b"{}")
        is_young = 0 <= time.time() - data["at"] < COPY_SECONDS
        if not is_young or data["server"] != str(joined.origin):
            return None
        claims = [_make_claim(each) for each in data["claims"]]
        return Copy(data["me"], claims, data["has_offers"])
    except (HoldfastError, ValueError, KeyError, TypeError):
        return None


def _make_claim(found: dict[str, Any]) -> Reservation:
    return Reservation(
        id=found["id"],
        developer=Person(found["by"], "", ""),
        repo=None,
        branch=found["branch"],
        paths=found["paths"],
        reason="",
        session_id=found["session"],
        reserved_at=clock.EPOCH,
        expires_at=clock.EPOCH,
        released_at=None,
        is_soft=found["is_soft"],
    )


def _name_copy(home: str, worktree: str) -> str:
    name = canonical.sha256(worktree.encode("utf-8", "surrogatepass")).hex()[:32]
    return os.path.join(home, COPIES, f"{name}.json")


def _remove_old(folder: str) -> None:
    with suppress(OSError):
        names = os.listdir(folder)
        if len(names) <= MOST_COPIES:
            return
        for name in names:
            path = os.path.join(folder, name)
            if time.time() - os.stat(path).st_mtime > COPY_SECONDS:
                os.unlink(path)
