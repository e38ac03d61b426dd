"""Distinguishes stores without naming them: a short hash of where a store is."""

from __future__ import annotations

import os

from holdfast.ground import ids
from holdfast.ground.settings import sqlite_path

PARAMETERS = ("host", "port", "dbname", "database")
MARK_CHARS = 8


def mark_store(url: str, home: str) -> str:
    """A store inside the data folder is marked relative to it, so that both can be moved."""
    place = _locate_store(url, home)
    return ids.named_id("store", *place)[:MARK_CHARS]


def _locate_store(url: str, home: str) -> list[str]:
    path = sqlite_path(url)
    if path:
        return _locate_file(path, home)
    return _locate_database(url)


def _locate_file(path: str, home: str) -> list[str]:
    real_home = os.path.realpath(home)
    folder = os.path.join(real_home, "")
    if path.startswith(folder):
        return ["home", path.removeprefix(folder)]
    return [path]


def _locate_database(url: str) -> list[str]:
    """Server and database of a PostgreSQL URL; the login is left out, since any role will do."""
    from urllib.parse import parse_qsl, urlsplit  # a hook on SQLite never gets here

    parts = urlsplit(url)
    options = dict(parse_qsl(parts.query))
    database = parts.path.strip("/")
    if not database and not {"dbname", "database"}.intersection(options):
        # PostgreSQL's default: the name of the role.
        database = options.get("user") or parts.username or ""
    named = [f"{key}={options[key]}" for key in sorted(options) if key in PARAMETERS]
    _, _, server = parts.netloc.rpartition("@")
    return [server, database, *named]
