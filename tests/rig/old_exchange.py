"""A long history of the exchange, written straight into its tables: so many calls would take hours.

Of each kind so many rows, and all of it is over: nothing is seen in an answer but old events.
"""

import uuid
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

import apsw
import asyncpg

from holdfast.ground import clock, ids

WORKSPACE = "local"
Rows = list[dict[str, Any]]


class History:
    """Rows of one size, shared out among developers, from thirty days ago."""

    def __init__(self, count: int, developers: Sequence[str]):
        self.count, self.developers = count, developers
        self.now = datetime.now(clock.UTC)
        self.first = self.now - timedelta(days=30)

    def make(self, columns: Callable[[int], dict[str, Any]]) -> Rows:
        return [{**self.owned(n), **columns(n)} for n in range(self.count)]

    def owned(self, number: int) -> dict[str, Any]:
        developer = self.developers[number % len(self.developers)]
        return {"workspace_id": WORKSPACE, "developer_id": developer}

    def begun(self, number: int) -> datetime:
        return self.first + timedelta(milliseconds=number)

    def make_context(self, n: int) -> dict[str, Any]:
        """Superseded, revoked, or expired: each expired one has a branch of its own."""
        last_day = self.begun(n) if n % 3 == 2 else self.now
        return {
            **dict.fromkeys(("files_touched", "next_actions", "blockers", "task_ids"), "[]"),
            "id": uuid.uuid4(),
            "repo": "r",
            "branch": f"b{self.count}.{n}",
            "title": "t",
            "summary": "s",
            "published_at": self.begun(n),
            "expires_at": last_day + timedelta(hours=24),
            "superseded_by": uuid.uuid4() if n % 3 == 0 else None,
            "revoked_at": self.now if n % 3 == 1 else None,
        }

    def make_claim(self, n: int) -> dict[str, Any]:
        """Released, or expired."""
        return {
            "id": uuid.uuid4(),
            "session_id": uuid.uuid4(),
            "repo": "r",
            "branch": "b",
            "paths": '["a/**"]',
            "reason": "x",
            "reserved_at": self.begun(n),
            "expires_at": self.begun(n) + timedelta(hours=1 + 1_000 * (n % 2)),
            "released_at": self.now if n % 2 else None,
        }

    def make_handoff(self, n: int, claim_id: uuid.UUID) -> dict[str, Any]:
        return {
            "id": uuid.uuid4(),
            "to_developer_id": None if n % 4 else ids.new_id(),
            "claim_id": claim_id,
            "repo": "r",
            "branch": "b",
            "paths": '["a/**"]',
            "reason": "x",
            "note": "",
            "status": ("offered", "completed", "accepted", "cancelled")[n % 4],
            "offered_at": self.begun(n),
            "expires_at": self.begun(n) + timedelta(hours=24),
        }

    def make_presence(self, n: int) -> dict[str, Any]:
        return {
            "session_id": uuid.uuid4(),
            "client": "claude",
            "repo": "r",
            "branch": "b",
            "paths": '["a.py"]',
            "began_at": self.begun(n),
            "seen_at": self.begun(n),
            "ended_at": self.now if n % 2 else None,
        }

    def make_work_event(self, n: int) -> dict[str, Any]:
        """Numbered from now on: newer than what is seen."""
        return {
            "stream": "",
            "id": int(self.now.timestamp() * 1_000_000) + n,
            "type": "session.context_published",
            "subject": "x",
            "created_at": self.begun(n),
        }

    def make_usage_event(self, n: int) -> dict[str, Any]:
        return {
            "id": uuid.uuid4(),
            "operation": "o",
            "outcome": "ok",
            "created_at": self.begun(n),
        }


KINDS = 6  # each a table


def make_history(count: int, developers: Sequence[str]) -> Iterator[tuple[str, Rows]]:
    """Of each kind so many rows, by the name of its table."""
    history = History(count, developers)
    yield "session_contexts", history.make(history.make_context)
    claims = history.make(history.make_claim)
    yield "reservations", claims
    yield "handoffs", history.make(lambda n: history.make_handoff(n, claims[n]["id"]))
    yield "presence", history.make(history.make_presence)
    yield "work_events", history.make(history.make_work_event)
    yield "usage_events", history.make(history.make_usage_event)


def fill_sqlite(path: str, table: str, rows: Rows) -> None:
    connection = apsw.Connection(path)
    names = list(rows[0])
    places = ", ".join("?" * len(names))
    with connection:
        connection.executemany(
            f"insert into {table} ({', '.join(names)}) values ({places})",
            (tuple(map(_as_text, row.values())) for row in rows),
        )
    connection.close()


def _as_text(value: object) -> Any:
    if isinstance(value, datetime):
        return clock.to_text(value)
    return str(value) if isinstance(value, uuid.UUID) else value


async def fill_postgres(url: str, table: str, rows: Rows) -> None:
    """By copying, as the superuser, and so fast that it is never analysed in between."""
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(f"alter table team.{table} set (autovacuum_enabled = off)")
        await connection.execute("set session_replication_role = replica")
        records = [tuple(row.values()) for row in rows]
        names = list(rows[0])
        await connection.copy_records_to_table(
            table, schema_name="team", records=records, columns=names
        )
    finally:
        await connection.close()
