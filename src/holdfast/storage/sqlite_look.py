"""One look into a SQLite file, without opening it as a store: nothing is made, written or migrated.

For a program that has to start at once and needs one fact. It loads the library and nothing else.
"""

from __future__ import annotations

import os
import stat

import apsw

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.ground.settings import Owner

LOG_MARK_AT, LOG_MARK = 19, b"\x02"  # in a file whose changes go to a write-ahead log first
LOOK_MILLISECONDS = 50
# As `find_exchange` of the team's queries asks it.
FIND_EXCHANGE = """
select exists (select 1 from developers
               where workspace_id = ?1 and (developer_id = ?2 or visibility = 'public'))
"""
FIND_TABLE = "select 1 from sqlite_schema where type = 'table' and name = 'developers'"


def find_exchange(path: str, owner: Owner) -> bool | None:
    """Whether the exchange of a workspace was used; None where the file does not say now."""
    if not os.path.exists(path):
        return False
    try:
        connection = apsw.Connection(
            name_to_read(path), flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        )
    except (OSError, ValueError, apsw.Error):
        return None
    try:
        connection.set_busy_timeout(LOOK_MILLISECONDS)
        connection.execute("pragma trusted_schema=off")
        if not list(connection.execute(FIND_TABLE)):
            return False  # a store of before, which nobody has shared yet
        [(is_used,)] = connection.execute(FIND_EXCHANGE, (owner.workspace_id, owner.developer_id))
        return bool(is_used)
    except apsw.Error:
        return None
    finally:
        connection.close()


def name_to_read(path: str) -> str:
    """As a file that cannot change where its program has ended, and with it the write-ahead log.

    SQLite would bring back an empty log otherwise, and leave it there.
    """
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise ValueError("it is not a regular file")
    quoted = "".join(f"%{byte:02x}" for byte in os.fsencode(os.path.abspath(path)))
    with open(path, "rb") as opened:
        uses_log = opened.read(LOG_MARK_AT + 1)[LOG_MARK_AT:] == LOG_MARK
    if uses_log and not os.path.exists(f"{path}-wal"):
        return f"file:{quoted}?mode=ro&immutable=1"
    return f"file:{quoted}?mode=ro"
