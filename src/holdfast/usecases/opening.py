"""Which client is opened to go on with something, and how it is started."""

from __future__ import annotations

import shutil
import uuid

from holdfast.clients import CLIENTS, list_clients
from holdfast.clients.commands import find_command
from holdfast.clients.opening import get_opening
from holdfast.clients.setup import find_setup
from holdfast.conversations.commanding import RESUMED
from holdfast.errors import InvalidValueError
from holdfast.ground.frozen import dataclass, replace
from holdfast.storage.resumes import Promise, Promises
from holdfast.usecases import setting_up
from holdfast.usecases.errors import ClientMissingError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.clients.contract import Client
    from holdfast.clients.setup import SetupPlace
    from holdfast.usecases.resuming import Resumable


@dataclass(frozen=True)
class Start:
    """A client that is about to go on, by its own session or in a new one."""

    client: Client
    arguments: tuple[str, ...]
    folder: str
    promise: Promise
    has_hooks: bool  # that hand the text over

    @property
    def is_own(self) -> bool:
        return self.promise.is_own


def choose_client(
    resumable: Resumable, wanted: str | None, environment: Mapping[str, str]
) -> Client:
    """The one that is asked for, else the one that it was in, else one that is installed."""
    asked = _find_named(wanted) if wanted is not None else None
    if wanted is not None and asked is None:
        raise InvalidValueError("Client", wanted, "is not known", known=CLIENTS)
    found = list_installed(environment)
    by_name = {client.NAME: client for client in found}
    name = asked.NAME if asked else resumable.client
    if name in by_name:
        return by_name[name]
    if wanted is not None or not found:
        raise ClientMissingError(asked.NAME if asked else None, sorted(by_name))
    return found[0]


def _find_named(wanted: str) -> Client | None:
    """By its name or by its title, which the lists show; in small or large letters."""
    folded = wanted.casefold()
    named = (each for each in list_clients() if folded in (each.NAME, each.TITLE.casefold()))
    return next(named, None)


def list_installed(environment: Mapping[str, str]) -> list[Client]:
    """The clients that can be opened on this machine."""
    return [client for client in list_clients() if _is_installed(client, environment)]


def _is_installed(client: Client, environment: Mapping[str, str]) -> bool:
    program = find_setup(client.NAME).PROGRAM
    return shutil.which(program, path=environment.get("PATH")) is not None


def plan_start(
    home: str, place: SetupPlace, resumable: Resumable, client: Client, head: str | None = None
) -> Start:
    """The same client goes on with its own session, as long as it has it."""
    opening = get_opening(client.NAME)
    has_hooks = client.NAME in setting_up.list_installed_clients(home)
    session = resumable.session
    promised = Promise(
        client.NAME,
        place.worktree,
        resumable.id,
        session=session.id if session else None,
        head=head,
    )
    if session is not None and session.native_id and session.client == client.NAME:
        folder = session.worktree or place.worktree
        if opening.has_session(place, session.native_id, None):
            arguments = opening.make_native(session.native_id, folder)
            own = replace(promised, worktree=folder, native_id=session.native_id, is_own=True)
            return Start(client, tuple(arguments), folder, own, has_hooks)
    native_id = str(uuid.uuid4())
    name = find_installed_command(place, resumable, client)
    body = find_command(name) if name else None
    arguments = opening.make_start(name, body or "", RESUMED, native_id)
    if opening.NAMES_SESSION:
        promised = replace(promised, native_id=native_id)
    return Start(client, tuple(arguments), place.worktree, promised, has_hooks)


def find_installed_command(place: SetupPlace, resumable: Resumable, client: Client) -> str | None:
    """The command that a conversation began with, where this client has one of that name."""
    if resumable.conversation is None:
        return None
    name = resumable.conversation.agent_config.command.lstrip("/$")
    if not name or find_setup(client.NAME).find_command_file(place, name) is None:
        return None
    return name


def promise(home: str, start: Start) -> None:
    Promises(home).add(start.promise)
