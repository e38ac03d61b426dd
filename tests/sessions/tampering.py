"""A person who owns the database and changes stored events directly, with the triggers out of the
way.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

import apsw
import asyncpg

from holdfast.ground import clock
from holdfast.sessions import chain

EVENT_COLUMNS = (
    *(
        "workspace_id",
        "id",
        "developer_id",
        "session_id",
        "sequence",
        "type",
        "role",
        "content",
        "parts",
        "created_at",
    ),
    *("content_hash", "chain_hash", "erased_at"),
)
ERASURE_COLUMNS = (
    "workspace_id",
    "event_id",
    "developer_id",
    "session_id",
    "content_hash",
    "reason",
    "created_at",
)


class SqliteTampering:
    """The file itself, opened beside the service."""

    columns = EVENT_COLUMNS
    events, erasures, sessions = "session_events", "erasures", "sessions"

    def __init__(self, path: str):
        self.connection = apsw.Connection(path)
        for (trigger,) in self.connection.execute(
            "select name from sqlite_schema where type = 'trigger'"
        ).fetchall():
            self.connection.execute(f"drop trigger {trigger}")

    async def run(self, sql: str, *args: Any) -> list[tuple[Any, ...]]:
        bindings = {str(number): value for number, value in enumerate(args, 1)}
        return [tuple(row) for row in self.connection.execute(sql, bindings)]

    def as_stored(self, moment: datetime) -> Any:
        return clock.to_text(moment)

    async def close(self) -> None:
        self.connection.close()


class PostgresTampering:
    """A superuser, for whom neither policies nor triggers hold."""

    columns = tuple("parts_text" if column == "parts" else column for column in EVENT_COLUMNS)
    events, erasures, sessions = "context.session_events", "context.erasures", "context.sessions"

    def __init__(self, connection: asyncpg.Connection):
        self.connection = connection

    @classmethod
    async def open(cls, superuser_url: str) -> "PostgresTampering":
        connection = await asyncpg.connect(superuser_url)
        await connection.execute("set session_replication_role = replica")
        return cls(connection)

    async def run(self, sql: str, *args: Any) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in await self.connection.fetch(sql, *args)]

    def as_stored(self, moment: datetime) -> Any:
        return moment

    async def close(self) -> None:
        await self.connection.close()


class TamperedLog:
    """One session's rows: changed in any way, and restored as they were."""

    def __init__(self, store: SqliteTampering | PostgresTampering, session_id: str):
        self.store, self.session_id = store, session_id

    async def rows(self) -> dict[str, list[tuple[Any, ...]]]:
        store = self.store
        events, erasures = ", ".join(store.columns), ", ".join(ERASURE_COLUMNS)
        by = "where session_id = $1"
        return {
            "events": await store.run(
                f"select {events} from {store.events} {by} order by sequence", self.session_id
            ),
            "erasures": await store.run(
                f"select {erasures} from {store.erasures} {by} order by event_id", self.session_id
            ),
            "session": await store.run(
                f"select last_sequence, head_hash from {store.sessions} where id = $1",
                self.session_id,
            ),
        }

    async def restore(self, rows: dict[str, list[tuple[Any, ...]]]) -> None:
        store = self.store
        ids = [row[1] for row in rows["events"]]
        await store.run("begin")
        for table in (store.erasures, store.events):
            await store.run(f"delete from {table} where session_id = $1", self.session_id)
        for event_id in ids:  # one that was moved to another session
            await store.run(f"delete from {store.events} where id = $1", event_id)
        for table, columns, kept in (
            (store.events, store.columns, rows["events"]),
            (store.erasures, ERASURE_COLUMNS, rows["erasures"]),
        ):
            marks = ", ".join(f"${number}" for number in range(1, len(columns) + 1))
            for row in kept:
                await store.run(
                    f"insert into {table} ({', '.join(columns)}) values ({marks})", *row
                )
        [(last_sequence, head_hash)] = rows["session"]
        await self.set_session("last_sequence", last_sequence)
        await self.set_session("head_hash", head_hash)
        await store.run("commit")

    async def edit(self, sequence: int, column: str, value: Any) -> None:
        name = self.store.columns[EVENT_COLUMNS.index(column)]
        value = self.store.as_stored(value) if isinstance(value, datetime) else value
        await self.store.run(
            f"update {self.store.events} set {name} = $1 where session_id = $2 and sequence = $3",
            value,
            self.session_id,
            sequence,
        )

    async def edit_with_its_hash(self, sequence: int, content: str) -> None:
        """The content hash is computed anew, the chain is not."""
        row = dict(zip(EVENT_COLUMNS, (await self.rows())["events"][sequence - 1], strict=True))
        await self.edit(sequence, "content", content)
        await self.edit(
            sequence,
            "content_hash",
            chain.content_hash(row["type"], row["role"], content, row["parts"]),
        )

    async def erase_without_a_tombstone(self, sequence: int) -> None:
        for column, value in (
            ("content", ""),
            ("parts", None),
            ("erased_at", datetime(2026, 1, 1, tzinfo=UTC)),
        ):
            await self.edit(sequence, column, value)

    async def shift_in_time(self, sequence: int, microseconds: int) -> None:
        created_at = dict(
            zip(EVENT_COLUMNS, (await self.rows())["events"][sequence - 1], strict=True)
        )["created_at"]
        moment = clock.from_text(created_at) if isinstance(created_at, str) else created_at
        await self.edit(sequence, "created_at", moment + timedelta(microseconds=microseconds))

    async def delete_and_close_the_gap(self, sequence: int) -> None:
        """The later ones are renumbered, and the session counts one less."""
        last = len((await self.rows())["events"])
        await self.delete(sequence)
        for later in range(sequence + 1, last + 1):
            await self.edit(later, "sequence", later - 1)
        await self.set_session("last_sequence", last - 1)

    async def truncate(self, first: int) -> None:
        await self.store.run(
            f"delete from {self.store.events} where session_id = $1 and sequence >= $2",
            self.session_id,
            first,
        )

    async def delete(self, sequence: int) -> None:
        await self.store.run(
            f"delete from {self.store.events} where session_id = $1 and sequence = $2",
            self.session_id,
            sequence,
        )

    async def swap(self, first: int, second: int) -> None:
        """Two events change their numbers; over a free one, because numbers are unique at every
        moment.
        """
        for old, new in ((first, 999_999), (second, first), (999_999, second)):
            await self.edit(old, "sequence", new)

    async def copy(self, sequence: int, new_id: str, new_sequence: int) -> None:
        """The same event once more, under another id and number."""
        columns = list(self.store.columns)
        values = [{"id": "$1", "sequence": "$2"}.get(column, column) for column in columns]
        await self.store.run(
            f"insert into {self.store.events} ({', '.join(columns)}) select {', '.join(values)} "
            f"from {self.store.events} where session_id = $3 and sequence = $4",
            new_id,
            new_sequence,
            self.session_id,
            sequence,
        )

    async def set_session(self, column: str, value: Any) -> None:
        await self.store.run(
            f"update {self.store.sessions} set {column} = $1 where id = $2", value, self.session_id
        )

    async def edit_tombstones(self, content_hash: bytes | None) -> None:
        """Other hashes for what was erased, or no tombstones at all."""
        if content_hash is None:
            await self.store.run(
                f"delete from {self.store.erasures} where session_id = $1", self.session_id
            )
        else:
            await self.store.run(
                f"update {self.store.erasures} set content_hash = $1 where session_id = $2",
                content_hash,
                self.session_id,
            )
