"""Settings: what the environment says, with the defaults of a laptop.

Nothing of a repository is read here. A checkout must never choose where data goes.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping

from holdfast.errors import InvalidValueError
from holdfast.ground import ids

_HANDLE = re.compile(r"[a-z0-9._-]{1,39}")
_WORKSPACE = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")
DATABASE_FORMS = ("sqlite:///PATH", "postgresql://USER@HOST/NAME")


class Owner:
    """Who a call is made for: every row belongs to a workspace and a developer in it.

    A plain class, as `Settings` is: `dataclasses` alone would cost a hook two thirds of its time.
    """

    __slots__ = ("developer_id", "workspace_id")

    def __init__(self, workspace_id: str, developer_id: str):
        self.workspace_id, self.developer_id = workspace_id, developer_id


class Settings:
    __slots__ = ("database", "developer", "home", "workspace")

    def __init__(self, *, home: str, database: str, workspace: str, developer: str):
        self.home, self.database, self.workspace, self.developer = home, database, workspace, developer

    @property
    def owner(self) -> Owner:
        return owner_of(self.workspace, self.developer)


def owner_of(workspace: str, handle: str) -> Owner:
    """In local mode a handle is believed, so its id follows from it and costs no look-up."""
    return Owner(workspace, ids.named_id("developer", workspace, handle))


def load_settings(environment: Mapping[str, str] | None = None) -> Settings:
    env = os.environ if environment is None else environment
    home = os.path.abspath(os.path.expanduser(env.get("HOLDFAST_HOME") or _platform_data_folder(env)))
    return Settings(
        home=home,
        database=_database(env, home),
        workspace=_workspace(env.get("HOLDFAST_WORKSPACE") or "local"),
        developer=_developer(env),
    )


def sqlite_path(url: str) -> str | None:
    """The file that a SQLite URL names, or None when it names another kind of store."""
    if not url.startswith("sqlite:"):
        return None
    path = url.removeprefix("sqlite:///")
    if path == url or not path or "\x00" in path:
        raise InvalidValueError("HOLDFAST_DATABASE", url, "names no file", known=DATABASE_FORMS)
    return os.path.abspath(os.path.expanduser(path))


def _database(env: Mapping[str, str], home: str) -> str:
    url = env.get("HOLDFAST_DATABASE") or f"sqlite:///{os.path.join(home, 'holdfast.db')}"
    check_database_url(url)
    return url


def check_database_url(url: str) -> None:
    if not url.startswith(("sqlite:", "postgresql://", "postgres://")):
        raise InvalidValueError("HOLDFAST_DATABASE", redacted(url), "is no database URL", known=DATABASE_FORMS)
    sqlite_path(url)


def redacted(url: str) -> str:
    """A URL as it may be shown: without a password."""
    return re.sub(r"(://[^:/@]*):[^@]*@", r"\1:…@", url)


def _workspace(slug: str) -> str:
    if not _WORKSPACE.fullmatch(slug):
        raise InvalidValueError("HOLDFAST_WORKSPACE", slug, "is no workspace name; use a-z, 0-9, dot, dash, underscore")
    return slug


def _developer(env: Mapping[str, str]) -> str:
    if given := env.get("HOLDFAST_DEVELOPER"):
        handle = given.strip().casefold()
        if not _HANDLE.fullmatch(handle):
            raise InvalidValueError(
                "HOLDFAST_DEVELOPER", given, "is no handle; use 1 to 39 of a-z, 0-9, dot, dash, underscore"
            )
        return handle
    return _as_handle(_git_email(env).partition("@")[0]) or _as_handle(_login(env)) or "me"


def _as_handle(text: str) -> str:
    return re.sub(r"[^a-z0-9._-]+", "-", text.casefold()).strip("-")[:39]


def _login(env: Mapping[str, str]) -> str:
    return env.get("LOGNAME") or env.get("USER") or env.get("USERNAME") or ""


def _git_email(env: Mapping[str, str]) -> str:
    """`user.email` of the user's own git settings, read without starting git: a hook has no time for a process."""
    folder = os.path.expanduser(env.get("HOME") or "~")
    config = env.get("XDG_CONFIG_HOME") or os.path.join(folder, ".config")
    for path in (os.path.join(folder, ".gitconfig"), os.path.join(config, "git", "config")):
        if email := _email_in(path):
            return email
    return ""


def _email_in(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read(1 << 20)
    except OSError:
        return ""
    found = re.search(r"^\s*\[user\]\s*$(?:\n(?!\s*\[).*)*?\n\s*email\s*=\s*\"?([^\s\"]+)", text, re.MULTILINE | re.I)
    return found[1] if found else ""


def _platform_data_folder(env: Mapping[str, str]) -> str:
    if sys.platform == "darwin":
        return "~/Library/Application Support/holdfast"
    if sys.platform == "win32":
        return os.path.join(env.get("LOCALAPPDATA") or "~", "holdfast")
    return os.path.join(env.get("XDG_DATA_HOME") or "~/.local/share", "holdfast")
