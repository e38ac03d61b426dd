"""This machine joins the server of a team, or leaves it.

Nothing is stored before the person has answered, and a token that was made meanwhile is ended where
they did not: then the server knows this machine no more than before. A repository is named to the
server only after a yes to it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from holdfast.errors import HoldfastError, Invalid, InvalidValueError, Unavailable
from holdfast.ground.frozen import dataclass
from holdfast.ground.git_repository import find_repository
from holdfast.ground.origin import Origin
from holdfast.ground.settings import Settings
from holdfast.ground.user_settings import load_user_settings
from holdfast.identity.rules import LAPTOP
from holdfast.team import joined as places
from holdfast.team.errors import LoginEndedError, OtherServerError, TokenRefusedError
from holdfast.team.freshness import name_repo
from holdfast.team.joined import Joined, Known
from holdfast.team.model import PRIVATE, PUBLIC, PublishedContext, Reservation
from holdfast.team.remote import RemoteTeam
from holdfast.team.waiting import Outbox
from holdfast.usecases import sharing
from holdfast.usecases.uncommitted import Checkout

if TYPE_CHECKING:
    from holdfast.app import App

LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-")
MOST_CODE_CHARS = 40
LEAST_SECONDS, MOST_SECONDS = 1.0, 30.0
MOST_WAIT_SECONDS = 900.0
LEAVING_SECONDS = 900.0  # a person answers a question meanwhile
SLOWER_SECONDS = 5.0
SESSIONS = 50
IN_ENVIRONMENT = "is set in this environment, and counts before what is joined; unset it first"
PENDING, SLOW_DOWN = "authorization_pending", "slow_down"


@dataclass(frozen=True)
class Login:
    """A login that waits for a person; `url` is a page of the server that was named."""

    device_code: str
    user_code: str
    url: str
    interval_seconds: float
    seconds: float


# --- a token --------------------------------------------------------------------------------------


def find_joined(settings: Settings, origin: Origin) -> Joined | None:
    """What this machine has there already, where its token counts; refused where it has joined
    another server.
    """
    for name, value in (("HOLDFAST_SERVER", settings.server), ("HOLDFAST_TOKEN", "")):
        if value or os.environ.get(name):
            raise InvalidValueError(name, "…" if name.endswith("TOKEN") else value, IN_ENVIRONMENT)
    server = load_user_settings(settings.home).server
    if server is None:
        return None
    if server != str(origin):
        raise OtherServerError(server, str(origin))
    with suppress(TokenRefusedError):
        known = places.find_joined(settings)
        if known is not None:
            RemoteTeam(known).ask_known()
            return known
    return None


def begin_login(home: str, origin: Origin, machine: str) -> Login:
    found = _ask_openly(home, origin, "/api/logins", {"agent": LAPTOP, "machine": machine})
    code = found.get("user_code")
    device_code = found.get("device_code")
    if not _is_code(code) or not places.is_token(device_code):
        raise LoginEndedError(f"What {origin} answered is not a login.")
    return Login(
        device_code=str(device_code),
        user_code=str(code),
        url=f"{origin}/login/device?user_code={code}",
        interval_seconds=_limit(found.get("interval"), LEAST_SECONDS, MOST_SECONDS),
        seconds=_limit(found.get("expires_in"), LEAST_SECONDS, MOST_WAIT_SECONDS),
    )


def wait_for_token(
    home: str, origin: Origin, login: Login, sleep: Callable[[float], None] = time.sleep
) -> str:
    """Until a person has answered on the page of the server."""
    deadline = time.monotonic() + login.seconds
    interval = login.interval_seconds
    body = {"device_code": login.device_code}
    while time.monotonic() < deadline:
        sleep(interval)
        try:
            token = _ask_openly(home, origin, "/api/logins/token", body).get("token")
        except Unavailable:  # the login may still be approved meanwhile
            continue
        except Invalid as error:
            if error.code not in (PENDING, SLOW_DOWN):
                raise LoginEndedError(error.message) from None
            interval += SLOWER_SECONDS if error.code == SLOW_DOWN else 0.0
            continue
        if not places.is_token(token):
            raise LoginEndedError(f"What {origin} answered is not a token.")
        return str(token)
    raise LoginEndedError("Nobody approved it in time.")


def _ask_openly(home: str, origin: Origin, path: str, body: dict[str, Any]) -> dict[str, Any]:
    """Before there is a token."""
    return RemoteTeam(Joined(home, origin, "", ())).request("POST", path, body)


def _is_code(code: object) -> bool:
    """Whether it can be shown to a person, who compares it."""
    is_short = isinstance(code, str) and 0 < len(code) <= MOST_CODE_CHARS
    return is_short and LETTERS.issuperset(str(code))


def _limit(given: object, least: float, most: float) -> float:
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    return min(max(float(given), least), most) if is_number else most  # type: ignore[arg-type]


# --- joining --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Folder:
    """Where a person joins; `remote` is none where a repository has no address of its own."""

    worktree: str
    remote: str | None


def look_at_folder(worktree: str) -> Folder:
    try:
        repository = find_repository(worktree)
    except HoldfastError:
        repository = None
    if repository is None or not repository.settings.remote_name:
        return Folder(worktree, None)
    return Folder(worktree, name_repo(repository.public_name))


def open_team(home: str, origin: Origin, token: str, remotes: Sequence[str]) -> RemoteTeam:
    return RemoteTeam(Joined(home, origin, token, tuple(remotes)))


def make_first_message(team: RemoteTeam, folder: Folder, client: str | None) -> dict[str, Any]:
    """What a session in this folder would send when it begins."""
    checkout = Checkout.read(folder.worktree)
    return team.make_presence(
        checkout.uncommitted, client=client, repo=checkout.repo, branch=checkout.branch
    )


async def join(settings: Settings, team: RemoteTeam, *, is_visible: bool | None) -> Known:
    """First whether others see this developer, before anything else is sent; None leaves it as it
    is for the developer's other machines.
    """
    if is_visible is not None:
        await team.set_visibility(PUBLIC if is_visible else PRIVATE)
    known = team.ask_known()
    places.keep_token(settings.home, team.joined.token)
    sharing.set_server(settings.home, team.server, team.joined.remotes)
    return known


def list_remotes(settings: Settings) -> tuple[str, ...]:
    """Of which the server may be told already."""
    return tuple(map(name_repo, load_user_settings(settings.home).remotes))


def give_up(team: RemoteTeam) -> None:
    """End a token that nobody needs, and keep nothing of what it said."""
    with suppress(HoldfastError):
        team.end_token()
    with suppress(HoldfastError):
        places.remove_files(team.joined.home)


# --- leaving --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Shown:
    """What others see of a developer who leaves."""

    contexts: Sequence[PublishedContext]
    claims: Sequence[Reservation]


async def find_shown(team: RemoteTeam) -> Shown:
    near = await team.look_near()
    return Shown(near.own_contexts, [each for each in near.own_claims if not each.is_soft])


def leave_waiting(team: RemoteTeam) -> RemoteTeam:
    """The same, which sends nothing of what waits."""
    return RemoteTeam(team.joined, seconds=LEAVING_SECONDS)


def send_withdrawals(home: str, team: RemoteTeam) -> list[str]:
    """Those that wait; returns the ids of what others still see."""
    return [] if Outbox(home).is_empty() else team.send_withdrawals()


async def withdraw(team: RemoteTeam, shown: Shown) -> None:
    for context in shown.contexts:
        await team.revoke_context(context.id)
    for claim in shown.claims:
        await team.release(claim.id)


async def end_sessions(app: App, team: RemoteTeam) -> None:
    """Those of this machine; one of another machine goes on."""
    for session in await app.scope.sessions.list_sessions(SESSIONS):
        if session.ended_at is None:
            await team.end_presence(session.id)


def forget_server(home: str) -> int:
    """Returns how many changes waited and will not be sent."""
    outbox = Outbox(home)
    waiting = outbox.list_all()
    for entry in waiting:
        outbox.take_back(entry.receipt, even_tried=True)
    outbox.forget_refused()
    sharing.remove_server(home)
    places.remove_files(home)
    return len(waiting)
