"""Which server this machine has joined, as whom, and what is known of it without asking.

The address and the repositories are choices of a person, in their settings; the token has a file of
its own. The environment may name both instead. A token that was stored for one address is sent to
no other.
"""

from __future__ import annotations

import os
import time

from holdfast.errors import HoldfastError, InvalidValueError
from holdfast.ground import canonical, files
from holdfast.ground import light_json as json
from holdfast.ground.frozen import dataclass
from holdfast.ground.origin import Origin, parse_origin
from holdfast.ground.settings import Owner, Settings
from holdfast.ground.user_settings import load_user_settings
from holdfast.team.errors import NoTokenError, RepositoryNotListedError
from holdfast.team.freshness import is_listed_as, list_meant, name_repo
from holdfast.team.model import Developer
from holdfast.team.wire import WireError, read_developer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

TOKEN, KNOWN, PAUSE = "team-token", "team-server.json", "team-pause"
TOKEN_BYTES, KNOWN_BYTES = 1 << 10, 1 << 16
PAUSE_SECONDS = 60.0


@dataclass(frozen=True)
class Known:
    """What the server said of this machine the last time."""

    workspace: str
    me: Developer
    token_id: str | None
    version: str


class Joined:
    """Not a dataclass: one prints its fields, and one of these is the token."""

    def __init__(self, home: str, origin: Origin, token: str, remotes: tuple[str, ...]):
        self.home, self.origin, self.token = home, origin, token
        self.remotes = remotes
        self._known: Known | None = None

    @property
    def known(self) -> Known | None:
        if self._known is None:
            self._known = self._load_known()
        return self._known

    @property
    def owner(self) -> Owner | None:
        """Who this machine is at the server, as far as that is known."""
        known = self.known
        if known is None:
            return None
        return Owner(known.workspace, known.me.id, known.me.handle)

    def find_listed(self, repo: str | None) -> str | None:
        """The name on the list of a repository by the name that was read from a checkout."""
        if repo is None:
            return None
        return next((name for name in self.remotes if is_listed_as(name, repo)), None)

    def require_listed(self, repo: str | None) -> str:
        return self._require(repo, self.find_listed(repo))

    def require_meant(self, repo: str | None) -> str:
        """The name on the list that a person or an agent means who typed one."""
        meant = list_meant(self.remotes, repo) if repo else []
        return self._require(repo, meant[0] if len(meant) == 1 else None)

    def _require(self, repo: str | None, found: str | None) -> str:
        if found is None:
            raise RepositoryNotListedError(repo, str(self.origin))
        return found

    # --- what is known without asking -------------------------------------------------------------

    def keep_known(self, known: Known) -> None:
        if known == self.known:
            return
        self._known = known
        data = {
            "server": str(self.origin),
            "token": self._name_token(),
            "workspace": known.workspace,
            "me": known.me.to_dict(),
            "token_id": known.token_id,
            "version": known.version,
        }
        files.private_folder(self.home)
        files.write_atomic(self._find(KNOWN), json.dumps(data).encode())

    def _load_known(self) -> Known | None:
        data = _read_object(self._find(KNOWN))
        if data.get("server") != str(self.origin) or data.get("token") != self._name_token():
            return None
        try:
            me = read_developer(data["me"])
            return Known(data["workspace"], me, data["token_id"], data["version"])
        except (KeyError, WireError):
            return None

    def _name_token(self) -> str:
        """So that what was said of another token is not taken for this one's; not the token."""
        return canonical.sha256(b"team token", self.token.encode()).hex()[:16]

    # --- a pause after a failure ------------------------------------------------------------------

    @property
    def is_paused(self) -> bool:
        """A clock that was set back does not make a pause longer."""
        at = _read_object(self._find(PAUSE)).get("at")
        return isinstance(at, int | float) and 0 <= time.time() - at < PAUSE_SECONDS

    def begin_pause(self) -> None:
        try:
            files.write_atomic(self._find(PAUSE), json.dumps({"at": time.time()}).encode())
        except HoldfastError:  # a full disk: then the next hook tries again
            return

    def end_pause(self) -> None:
        try:
            os.unlink(self._find(PAUSE))
        except OSError:
            return

    def _find(self, name: str) -> str:
        return os.path.join(self.home, name)


def find_joined(settings: Settings, environment: Mapping[str, str] | None = None) -> Joined | None:
    """None where no server is set."""
    env = os.environ if environment is None else environment
    chosen = load_user_settings(settings.home)
    address = settings.server or chosen.server
    if not address:
        return None
    field = "HOLDFAST_SERVER" if settings.server else "server"
    origin = parse_origin(field, address)
    token = env.get("HOLDFAST_TOKEN", "")
    is_stored_there = chosen.server == str(origin)
    if not token and is_stored_there:
        token = read_token(settings.home)
    if not is_token(token):
        raise NoTokenError(str(origin))
    remotes = tuple(dict.fromkeys(map(name_repo, chosen.remotes)))
    return Joined(settings.home, origin, token, remotes)


def is_token(text: object) -> bool:
    """Whether it can stand in a header."""
    if not isinstance(text, str) or not 0 < len(text) <= TOKEN_BYTES:
        return False
    return text.isascii() and text.isprintable() and " " not in text


def read_token(home: str) -> str:
    data = files.find_own_bytes(os.path.join(home, TOKEN), max_bytes=TOKEN_BYTES)
    return (data or b"").decode("ascii", "replace").strip()


def keep_token(home: str, token: str) -> None:
    files.private_folder(home)
    files.write_atomic(os.path.join(home, TOKEN), token.encode())


def remove_files(home: str) -> None:
    """What belongs to a server that was left."""
    for name in (TOKEN, KNOWN, PAUSE):
        try:
            os.unlink(os.path.join(home, name))
        except FileNotFoundError:
            continue
        except OSError as error:
            raise files.translate(error, os.path.join(home, name)) from error


def _read_object(path: str) -> dict[str, Any]:
    """Empty where there is none that can be used."""
    try:
        data = files.find_own_bytes(path, max_bytes=KNOWN_BYTES)
        found = json.loads(data or b"{}")
    except (HoldfastError, ValueError, RecursionError, InvalidValueError):
        return {}
    return found if isinstance(found, dict) else {}
