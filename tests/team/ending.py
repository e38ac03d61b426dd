"""Moving the end of what is published, reserved and offered, as time does."""

from datetime import datetime, timedelta
from pathlib import Path

import apsw
import asyncpg
import pytest

from holdfast.ground import clock
from tests.rig.postgres import Cluster

ENDS = {
    "session_contexts": ("published_at", "expires_at"),
    "reservations": ("reserved_at", "expires_at"),
    "handoffs": ("offered_at", "expires_at"),
}


async def end_all(request: pytest.FixtureRequest, engine: str, seconds: float) -> None:
    """Move the end of everything to so many seconds from now, behind the back of every guard."""
    if engine == "postgres":
        cluster: Cluster = request.getfixturevalue("postgres")
        name: str = request.getfixturevalue("postgres_database")
        connection = await asyncpg.connect(cluster.dsn(name))
        await connection.execute("set session_replication_role = replica")
        for table, (began, ends) in ENDS.items():
            await connection.execute(
                f"update team.{table} set {began} = clock_timestamp() - interval '2 years',"
                f" {ends} = clock_timestamp() + interval '{seconds:.6f} seconds'"
            )
        await connection.close()
        return
    path: Path = request.getfixturevalue("tmp_path") / "test.db"
    connection = apsw.Connection(str(path))
    triggers = connection.execute(
        "select name from sqlite_schema where type = 'trigger'"
    ).fetchall()
    with connection:
        for (name,) in triggers:
            connection.execute(f'drop trigger "{name}"')
        now = datetime.now(clock.UTC)
        end = clock.to_text(now + timedelta(seconds=seconds))
        beginning = clock.to_text(now - timedelta(days=800))
        for table, (began, ends) in ENDS.items():
            connection.execute(f"update {table} set {began} = ?, {ends} = ?", (beginning, end))
    connection.close()
