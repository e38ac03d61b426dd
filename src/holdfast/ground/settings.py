"""Settings: what the environment says, with the defaults of a laptop.

Nothing of a repository is read here. A checkout must never choose where data goes.
"""

from __future__ import annotations

import os
import sys

from holdfast.errors import InvalidValueError
from holdfast.ground import ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    LoadedSettings = tuple["Settings", dict[str, InvalidValueError]]  # and which are wrong

_ALLOWED = frozenset("abcdefghijklmnopqrstuvwxyz0123456789._-")
_LABEL = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")
HANDLE_CHARS = 39
SERVICE = "service"
WORKSPACE_CHARS = 63
LABEL_CHARS = 63
HOST_CHARS = 253
HTTPS_PORT = 443
LARGEST_PORT = 65_535
DATABASE_FORMS = ("sqlite:///PATH", "postgresql://USER@HOST/NAME")


class Owner:
    """Who a call is made for: every row belongs to a workspace and a developer in it.

    A plain class, as `Settings` is: this is one of the few modules that every hook loads.
    """

    __slots__ = ("developer_id", "handle", "workspace_id")

    def __init__(self, workspace_id: str, developer_id: str, handle: str = ""):
        self.workspace_id = workspace_id
        self.developer_id = developer_id
        self.handle = handle or developer_id


class Settings:
    __slots__ = ("database", "developer", "home", "is_named", "server", "workspace")

    def __init__(
        self,
        *,
        home: str,
        database: str,
        workspace: str,
        developer: str,
        is_named: bool = False,
        server: str = "",
    ):
        self.home = home
        self.database = database
        self.workspace = workspace
        self.developer = developer
        self.is_named = is_named  # whether a person chose the handle, to be known by others
        self.server = server  # of the team, as the environment says; checked where it is used

    @property
    def owner(self) -> Owner:
        return owner_of(self.workspace, self.developer)


def owner_of(workspace: str, handle: str) -> Owner:
    """In local mode a handle is believed, so its id follows from it and costs no look-up."""
    developer_id = ids.named_id("developer", workspace, handle)
    return Owner(workspace, developer_id, handle)


def load_settings(environment: Mapping[str, str] | None = None) -> Settings:
    env = os.environ if environment is None else environment
    folder = _find_given_home(env) or _expand(_find_data_folder(env), env)
    home = os.path.abspath(folder)
    return Settings(
        home=home,
        database=_find_database(env, home),
        workspace=_find_workspace(env),
        developer=_find_developer(env),
        is_named=bool(env.get("HOLDFAST_DEVELOPER")),
        server=env.get("HOLDFAST_SERVER") or "",
    )


def load_known_settings(**known: str) -> LoadedSettings:
    """As far as they can be used, and which are wrong; those count as if they were not set."""
    environment = {**os.environ, **known}
    wrong: dict[str, InvalidValueError] = {}
    while True:
        try:
            return load_settings(environment), wrong
        except InvalidValueError as error:
            if not environment.get(error.field):
                raise  # not one that was set: no folder for the data is known
            wrong[error.field] = error
            environment[error.field] = ""


def load_service_owner(environment: Mapping[str, str] | None = None) -> Owner:
    """Of a program with a pool of its own: the same in every container.

    A log-in name or an e-mail address is a person's, and each container may have another.
    """
    env = os.environ if environment is None else environment
    workspace = _find_workspace(env)
    handle = _find_given_developer(env) or SERVICE
    return owner_of(workspace, handle)


def load_server_names(environment: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Under which names a proxy with TLS is reached, each with its port unless that is 443."""
    env = os.environ if environment is None else environment
    given = env.get("HOLDFAST_SERVER_NAMES", "")
    names = [part.strip().lower() for part in given.split(",")]
    return tuple(_check_server_name(name) for name in names if name)


def _check_server_name(name: str) -> str:
    host, colon, port = name.partition(":")
    labels = host.split(".")
    is_host = len(host) <= HOST_CHARS and all(map(_is_label, labels))
    is_port = not colon or (port.isascii() and port.isdecimal() and 0 < int(port) <= LARGEST_PORT)
    if not (is_host and is_port):
        problem = "is not a name as holdfast.example.com or holdfast.example.com:8443"
        raise InvalidValueError("HOLDFAST_SERVER_NAMES", name, problem)
    if colon and int(port) != HTTPS_PORT:
        return f"{host}:{int(port)}"
    return host


def _is_label(label: str) -> bool:
    is_plain_label = 0 < len(label) <= LABEL_CHARS and _LABEL.issuperset(label)
    return is_plain_label and label[0] != "-" and label[-1] != "-"


def is_sqlite(url: str) -> bool:
    """Of a URL that was checked."""
    return url.startswith("sqlite:")


def sqlite_path(url: str) -> str | None:
    """The file that a SQLite URL names, or None when it names another kind of store."""
    if not is_sqlite(url):
        return None
    path = url.removeprefix("sqlite:///")
    if path == url or not path or "\x00" in path:
        raise InvalidValueError("HOLDFAST_DATABASE", url, "names no file", known=DATABASE_FORMS)
    if path == ":memory:":
        raise InvalidValueError(
            "HOLDFAST_DATABASE", url, "keeps nothing; name a file", known=DATABASE_FORMS
        )
    # Without links: the files beside it (log, locks) must have one name, whatever path was used.
    return os.path.realpath(os.path.expanduser(path))


def _find_given_home(env: Mapping[str, str]) -> str | None:
    """A relative one would be another folder, and another store, wherever a client is started."""
    given = env.get("HOLDFAST_HOME")
    if not given:
        return None
    folder = _expand(given, env)
    if not os.path.isabs(folder):
        problem = "is not an absolute path; begin it with / or ~/"
        raise InvalidValueError("HOLDFAST_HOME", given, problem)
    return folder


def _find_absolute(env: Mapping[str, str], name: str) -> str | None:
    """XDG says that a relative path is invalid and is to be ignored."""
    folder = env.get(name)
    return folder if folder and os.path.isabs(folder) else None


def _find_database(env: Mapping[str, str], home: str) -> str:
    url = env.get("HOLDFAST_DATABASE")
    if not url:
        _check_home(home, env)
        url = f"sqlite:///{os.path.join(home, 'holdfast.db')}"
    check_database_url(url)
    return url


def _check_home(home: str, env: Mapping[str, str]) -> None:
    """It need not exist yet. Checked here, because only here it is known which setting is wrong.

    A person's own folder exists, or HOME is wrong: data below a new one would not be found again.
    """
    person = _find_person_folder(env)
    with_slash = os.path.join(os.path.abspath(person), "")
    if home.startswith(with_slash) and not os.path.isdir(person):
        problem = "does not exist; correct it, or set HOLDFAST_HOME to a folder for the data"
        raise InvalidValueError("HOME", person, problem)
    found = home
    while not os.path.lexists(found):
        found = os.path.dirname(found)
    if not os.path.isdir(found):
        problem = "is not a folder"
        if found != home:
            problem = f"lies below {found}, which is not a folder"
        raise InvalidValueError(
            "HOLDFAST_HOME", home, f"{problem}; set it to one, or to one that can be made"
        )


def check_database_url(url: str) -> None:
    if not url.startswith(("sqlite:", "postgresql://", "postgres://")):
        raise InvalidValueError(
            "HOLDFAST_DATABASE", hide_password(url), "is not a database URL", known=DATABASE_FORMS
        )
    if sqlite_path(url) is None and not _is_postgres_url(url):
        problem = "cannot be read as a URL; special characters in a password are written as %XX"
        scheme, _, _ = url.partition("://")
        raise InvalidValueError(
            "HOLDFAST_DATABASE", f"{scheme}://...", problem, known=DATABASE_FORMS
        )


def _is_postgres_url(url: str) -> bool:
    """Whether its parts can be separated. If not, it is unknown which of them is the password."""
    from urllib.parse import parse_qsl, urlsplit  # a hook on SQLite never gets here

    try:
        parts = urlsplit(url)
        parse_qsl(parts.query, strict_parsing=bool(parts.query))
    except ValueError:
        return False
    _, _, hosts = parts.netloc.rpartition("@")
    ports = [_find_port(host) for host in hosts.split(",")]
    return url.isprintable() and all(port.isdecimal() or not port for port in ports)


def _find_port(host: str) -> str:
    _, _, after_brackets = host.rpartition("]")
    _, _, port = after_brackets.partition(":")
    return port


def hide_password(url: str) -> str:
    """A URL as it may be shown: without a password, wherever it stands and however it is spelt."""
    if url.startswith("sqlite:"):
        return url
    login, at, place = url.rpartition("@")
    if "?" in login:  # in a password, or an @ in the query: only the beginning is safe to show
        login, _, _ = login.partition("?")
        at = place = ""
    separator = "://" if "://" in login else ":"
    scheme, separator, user = login.partition(separator)
    user, colon, _ = user.partition(":")
    password = ":…" if colon else ""
    server, _, _ = place.partition("?")
    return f"{scheme}{separator}{user}{password}{at}{server}"


def has_password(url: str) -> bool:
    """Of a URL that was checked."""
    if is_sqlite(url):
        return False
    login, at, place = url.partition("://")[2].rpartition("@")
    _, _, query = place.partition("?")
    return (bool(at) and ":" in login) or "password=" in f"{login}{query}"


def _find_workspace(env: Mapping[str, str]) -> str:
    return check_workspace(env.get("HOLDFAST_WORKSPACE") or "local", field="HOLDFAST_WORKSPACE")


def check_workspace(slug: str, *, field: str) -> str:
    if not (is_plain(slug, WORKSPACE_CHARS) and slug[0].isalnum()):
        raise InvalidValueError(
            field,
            slug,
            "is not a workspace name; use a-z, 0-9, dot, dash, underscore",
        )
    return slug


def _find_given_developer(env: Mapping[str, str]) -> str | None:
    given = env.get("HOLDFAST_DEVELOPER")
    if not given:
        return None
    from holdfast.ground.handles import fold_handle  # most hooks get it from git's settings

    return fold_handle(given, field="HOLDFAST_DEVELOPER")


def _find_developer(env: Mapping[str, str]) -> str:
    if handle := _find_given_developer(env):
        return handle
    name, _, _ = _find_git_email(env).partition("@")
    return _make_handle(name) or _make_handle(_find_login(env)) or "me"


def _make_handle(text: str) -> str:
    """A handle from another name; runs of characters that are not allowed become one dash."""
    folded = text.casefold()
    plain = "".join(character if character in _ALLOWED else " " for character in folded)
    handle = "-".join(plain.split()).strip("-")
    return handle[:HANDLE_CHARS]


def is_plain(text: str, most: int) -> bool:
    return 0 < len(text) <= most and _ALLOWED.issuperset(text)


def _find_login(env: Mapping[str, str]) -> str:
    named = env.get("LOGNAME") or env.get("USER") or env.get("USERNAME")
    if named or sys.platform == "win32":
        return named or ""
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # a user without an entry, as in some containers
        return ""


def _find_git_email(env: Mapping[str, str]) -> str:
    """`user.email` of the user's git settings; a hook has no time to start git for it."""
    folder = _find_person_folder(env)
    if folder.startswith("~"):  # unknown, and not a folder of that name in a checkout
        return ""
    config = _find_absolute(env, "XDG_CONFIG_HOME") or os.path.join(folder, ".config")
    paths = (os.path.join(folder, ".gitconfig"), os.path.join(config, "git", "config"))
    for path in paths:
        if email := _find_email_in(path):
            return email
    return ""


def _find_email_in(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read(1 << 20)
    except OSError:
        return ""
    is_in_user = False
    for line in text.splitlines():
        setting = line.strip()
        if setting.startswith("["):
            is_in_user = setting.casefold() == "[user]"
        key, _, value = setting.partition("=")
        is_email = key.strip().casefold() == "email"
        if is_in_user and is_email:
            return value.strip().strip('"')
    return ""


def _find_person_folder(env: Mapping[str, str]) -> str:
    """HOME, or what the system says where it is empty."""
    named = env.get("HOME")
    if named == "":
        login = _find_login({})
        return os.path.expanduser(f"~{login}")
    return named or os.path.expanduser("~")


def _expand(path: str, env: Mapping[str, str]) -> str:
    """`~` is the person's folder as this environment has it, not the process's own."""
    if path == "~" or path.startswith("~/"):
        return _get_person_folder(env) + path[1:]
    return os.path.expanduser(path)


def _get_person_folder(env: Mapping[str, str]) -> str:
    """Never `~` itself: it would be a folder of the checkout that the program was started in."""
    folder = _find_person_folder(env)
    if folder.startswith("~"):
        problem = (
            "is not set, and the system has no entry for this user; "
            "set it, or set HOLDFAST_HOME to a folder for the data"
        )
        raise InvalidValueError("HOME", env.get("HOME", ""), problem)
    return folder


def _find_data_folder(env: Mapping[str, str]) -> str:
    if sys.platform == "darwin":
        return "~/Library/Application Support/holdfast"
    if sys.platform == "win32":
        folder = env.get("LOCALAPPDATA") or "~"
    else:
        folder = _find_absolute(env, "XDG_DATA_HOME") or "~/.local/share"
    return os.path.join(folder, "holdfast")
