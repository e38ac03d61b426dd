"""Roles that only one test needs. They belong to the whole server, so they are
removed with care.
"""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple
from urllib.parse import urlsplit

from tests.rig.postgres import Cluster, execute


class Role(NamedTuple):
    name: str
    url: str


@contextmanager
def new_role(cluster: Cluster, database: str, rights: str = "") -> Iterator[Role]:
    """A login of its own for one database, gone at the end with whatever it made or was granted
    there.
    """
    name, password = f"holdfast_{secrets.token_hex(4)}", secrets.token_hex(16)
    execute(cluster.dsn(), f"create role {name} login password '{password}' {rights}")
    parts = urlsplit(cluster.dsn(database))
    try:
        yield Role(
            name,
            parts._replace(netloc=f"{name}:{password}@{parts.netloc.rpartition('@')[2]}").geturl(),
        )
    finally:
        execute(
            cluster.dsn(),
            f"select pg_terminate_backend(pid) from pg_stat_activity where usename = '{name}'",
            f"reassign owned by {name} to current_user",
            f"drop owned by {name}",
        )
        execute(
            cluster.dsn(database),
            f"reassign owned by {name} to current_user",
            f"drop owned by {name}",
            f"drop role {name}",
        )
