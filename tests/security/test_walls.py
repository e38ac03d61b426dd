"""TS1 and TS3: a foreign workspace, and a colleague in one's own, are indistinguishable from
nothing.

The tables come from the catalogue, so that a table of a later migration is tried here without being
added. Each case runs and is committed if it goes through; what a statement shows is compared with
what the settings of its transaction allow, and at the end every row of every owner must be as it
was before.
"""

import asyncio
import io
import re
from collections.abc import Callable, Iterator
from typing import Any

import asyncpg
import pytest

import holdfast
from holdfast.ground.settings import Owner
from holdfast.scope import Scope
from tests.rig import catalogue
from tests.rig.plans import PLANS
from tests.rig.postgres import Cluster, execute
from tests.rig.roles import new_role
from tools.schema import find_schemas

pytestmark = pytest.mark.own_database

ANA, BO, CY = Owner("north", "ana"), Owner("south", "bo"), Owner("north", "cy")

# What a transaction says about who is asking: (workspace, developer), None for never set.
CONTEXTS: dict[str, tuple[str | None, str | None]] = {
    "never set": (None, None),
    "empty": ("", ""),
    "own": ("north", "ana"),
    "foreign": ("south", "bo"),
    "the colleague's": ("north", "cy"),
    "own workspace, foreign developer": ("north", "bo"),
    "workspace only": ("north", None),
    "developer only": (None, "ana"),
    "malformed": ("north\n", " ana"),
    "injection": ("' or 1=1 --", "' or '1'='1"),
    "wildcard": ("%", "%"),
}


@pytest.fixture
async def filled(postgres_url: str) -> None:
    async with holdfast.open_database(postgres_url) as database:
        for owner in (ANA, BO, CY):
            for plans in PLANS.values():
                await plans.add_rows(Scope(database, owner))


@pytest.fixture
def reader_url(postgres: Cluster, postgres_database: str) -> Iterator[str]:
    """A role that a person made for a dashboard: it may read every table, and nothing else."""
    schemas = ", ".join(find_schemas().values())
    with new_role(postgres, postgres_database) as role:
        execute(
            postgres.dsn(postgres_database),
            f"grant usage on schema {schemas} to {role.name}",
            f"grant select on all tables in schema {schemas} to {role.name}",
        )
        yield role.url


def everything(postgres: Cluster, name: str) -> dict[str, list[str]]:
    """Every row of every owner, as a superuser sees it; but what Bo adds under Bo's own name in the
    north is Bo's.
    """
    tables = [row["name"] for row in execute(postgres.dsn(name), catalogue.TABLES)]
    others = "coalesce(j ->> 'workspace_id' <> 'north' or j ->> 'developer_id' <> 'bo', true)"
    rows = {
        table: (
            f"select j::text from (select to_jsonb(t) as j from {table} t) x where {others} "
            "order by 1"
        )
        for table in tables
    }
    return {
        table: [row[0] for row in execute(postgres.dsn(name), sql)] for table, sql in rows.items()
    }


class Table:
    """A table of ours, with a whole row of a foreign workspace to try things with."""

    def __init__(self, name: str, columns: list[str], row: str, key: list[str]):
        self.name, self.columns, self.row, self.key = name, columns, row, key

    @property
    def insert(self) -> str:
        """The foreign row once more, as an attacker would insert it who had read it elsewhere."""
        names = ", ".join(self.columns)
        return (
            f"insert into {self.name} ({names}) overriding system value"
            f" select {names} from jsonb_populate_record(null::{self.name}, '{self.row}'::jsonb)"
        )

    def insert_into(self, workspace: str) -> str:
        return self.insert.replace(' "south"', f' "{workspace}"')


async def describe_tables(connection: Any) -> list[Table]:
    tables = []
    for name in await catalogue.postgres_tables(connection):
        if name in catalogue.LEDGERS:
            continue
        rows = await connection.fetch(
            (
                "select attname from pg_attribute where attrelid = $1::regclass and attnum > 0 "
                "and attgenerated = ''"
            ),
            name,
        )
        key = await connection.fetch(
            "select a.attname from pg_constraint c, unnest(c.conkey) with ordinality k "
            "(number, place)"
            " join pg_attribute a on a.attrelid = $1::regclass and a.attnum = k.number"
            " where c.conrelid = $1::regclass and c.contype = 'p' order by k.place",
            name,
        )
        row = await connection.fetchval(
            f"select to_jsonb(t)::text from {name} t where workspace_id = 'south' limit 1"
        )
        assert row is not None, f"{name} has no row to try with"
        quoted = row.replace("'", "''")
        tables.append(
            Table(name, [r["attname"] for r in rows], quoted, [r["attname"] for r in key])
        )
    return tables


def statements(table: Table) -> list[str]:
    """Every way of SQL to see, take, change or remove a row. None of them may reach a row of
    another owner.
    """
    name, key = table.name, ", ".join(table.key)
    text = next(
        column
        for column in table.columns
        if column not in {*table.key, "workspace_id", "developer_id"}
    )
    return [
        f"select * from {name}",
        f"select * from {name} where workspace_id = 'south'",
        f"select * from {name} where workspace_id <> 'north' or true",
        f"select * from only {name} for update",
        f"select * from {name} for key share",
        f"select t.* from {name} t, (select count(*) from {name}) c",
        f"table {name}",
        f"with seen as materialized (select * from {name}) select * from seen",
        table.insert,
        f"{table.insert} returning *",
        table.insert_into("north"),
        f"{table.insert} on conflict do nothing returning *",
        f"{table.insert} on conflict ({key}) do update set {text} = excluded.{text} returning *",
        f"update {name} set {text} = {text} where workspace_id = 'south'",
        f"update {name} set {text} = {text} where workspace_id = 'south' returning *",
        f"update {name} set workspace_id = 'south', developer_id = 'bo'",
        (
            f"update {name} set workspace_id = 'north', developer_id = 'ana' where workspace_id "
            "= 'south' returning *"
        ),
        (
            f"merge into {name} t using {name} s on t.workspace_id = 'south' when matched then "
            f"update set {text} = null"
        ),
        f"delete from {name}",
        f"delete from {name} where workspace_id = 'south' returning *",
        f"truncate {name} cascade",
        f"create index on {name} ({text})",
        f"alter table {name} disable row level security",
        f"drop policy owner_only on {name}",
        f"explain (analyze, verbose) select * from {name} where workspace_id = 'south'",
    ]


class Matrix:
    """Runs cases and notes what should not have been seen, and words that should not have been
    said.
    """

    def __init__(self) -> None:
        self.cases = 0
        self.leaks: list[str] = []

    async def run(self, connection: Any, context: str, label: str, work: Callable[[], Any]) -> None:
        workspace, developer = CONTEXTS[context]
        self.cases += 1
        rows: list[Any] = []
        try:
            async with connection.transaction():
                # The defence must not rest on a time-out, but a case that waits for a lock must not
                # stop the rest.
                await connection.execute("set local lock_timeout = '5s'")
                for setting, value in (
                    ("holdfast.workspace", workspace),
                    ("holdfast.developer", developer),
                ):
                    if value is not None:
                        await connection.execute("select set_config($1, $2, true)", setting, value)
                rows = await work()
        except asyncpg.PostgresError as error:
            if "owner_only" in str(error) and "policy" not in label:
                self.leaks.append(f"{context}: {label}: the error names the policy: {error}")
        for row in rows:
            if (row.get("workspace_id", workspace), row.get("developer_id", developer)) != (
                workspace,
                developer,
            ):
                self.leaks.append(f"{context}: {label}: {dict(row)}")


async def copy_out(connection: Any, table: str) -> list[dict[str, str]]:
    """COPY … TO, which has its own path through the policies."""
    output = io.BytesIO()
    await connection.copy_from_table(
        table.partition(".")[2],
        schema_name=table.partition(".")[0],
        output=output,
        format="csv",
        header=True,
    )
    header, *lines = output.getvalue().decode().splitlines()
    return [dict(zip(header.split(","), line.split(","), strict=False)) for line in lines]


async def copy_in(connection: Any, table: Table) -> list[Any]:
    await connection.copy_records_to_table(
        table.name.partition(".")[2],
        schema_name=table.name.partition(".")[0],
        records=[("south", "bo")],
        columns=["workspace_id", "developer_id"],
    )
    return []


async def try_everything(connection: Any, tables: list[Table]) -> Matrix:
    """Tables × statements × settings, on one connection."""
    matrix = Matrix()
    for table in tables:
        for context in CONTEXTS:
            for statement in statements(table):
                await matrix.run(
                    connection, context, statement, lambda s=statement: connection.fetch(s)
                )
            await matrix.run(
                connection,
                context,
                f"copy {table.name} to",
                lambda t=table: copy_out(connection, t.name),
            )
            await matrix.run(
                connection,
                context,
                f"copy {table.name} from",
                lambda t=table: copy_in(connection, t),
            )
    return matrix


@pytest.fixture
async def tables(postgres: Cluster, postgres_database: str, filled: None) -> list[Table]:
    connection = await asyncpg.connect(postgres.dsn(postgres_database))
    try:
        return await describe_tables(connection)
    finally:
        await connection.close()


@pytest.mark.parametrize("who", ["postgres_url", "reader_url"])
async def test_no_statement_reaches_a_row_of_another_owner(
    who: str,
    postgres: Cluster,
    postgres_database: str,
    tables: list[Table],
    request: pytest.FixtureRequest,
    record_property: Callable[[str, object], None],
):
    """TS1: tables × statements × settings, for the application and for a role that
    may only read.
    """
    before = everything(postgres, postgres_database)
    connection = await asyncpg.connect(request.getfixturevalue(who))
    try:
        matrix = await try_everything(connection, tables)
    finally:
        await connection.close()

    record_property("N", matrix.cases)
    assert matrix.leaks == []
    assert everything(postgres, postgres_database) == before


@pytest.mark.parametrize(
    "hole",
    [
        "alter table context.session_events disable row level security",
        "create policy everybody on context.session_events using (true)",
        "alter policy owner_only on context.session_events using (workspace_id is not null)",
    ],
)
async def test_a_hole_in_one_wall_is_noticed(
    hole: str, postgres_owner_url: str, postgres_url: str, tables: list[Table]
):
    """The matrix itself: with one table open, it names that table and no other."""
    execute(postgres_owner_url, hole)
    connection = await asyncpg.connect(postgres_url)
    try:
        matrix = await try_everything(
            connection, [table for table in tables if table.name.startswith("context.session_")]
        )
    finally:
        await connection.close()

    assert matrix.leaks
    assert all("context.session_events" in leak for leak in matrix.leaks)


async def test_each_developer_sees_exactly_their_own_rows(
    postgres: Cluster, postgres_database: str, postgres_url: str, filled: None
):
    """The walls are not simply shut: an owner gets all of its own rows."""
    connection = await asyncpg.connect(postgres_url)
    superuser = await asyncpg.connect(postgres.dsn(postgres_database))
    try:
        for table in await describe_tables(superuser):
            for owner in (ANA, BO, CY):
                async with connection.transaction():
                    await connection.execute(
                        (
                            "select set_config('holdfast.workspace', $1, true), "
                            "set_config('holdfast.developer', $2, true)"
                        ),
                        owner.workspace_id,
                        owner.developer_id,
                    )
                    seen = await connection.fetchval(f"select count(*) from {table.name}")
                whose = "developer_id"
                if table.name in catalogue.OF_WORKSPACE:
                    whose = "$2"
                theirs = await superuser.fetchval(
                    (f"select count(*) from {table.name} where workspace_id = $1 and {whose} = $2"),
                    owner.workspace_id,
                    owner.developer_id,
                )
                assert seen == theirs > 0
    finally:
        await connection.close()
        await superuser.close()


# --- TS3 ------------------------------------------------------------------------------------------

WITHOUT_OWNER = """
insert into holdfast.outbox (workspace_id, developer_id, id, topic, data, created_at)
  values ('', '', 1, 't', '{}', now())
"""


async def act_for(connection: Any, owner: Owner) -> None:
    await connection.execute(
        "select holdfast.act_for($1, $2)", owner.workspace_id, owner.developer_id
    )


async def never(connection: Any) -> None:
    """Nothing was ever set on this connection."""


async def after_a_commit(connection: Any) -> None:
    async with connection.transaction():
        await act_for(connection, ANA)
        assert await connection.fetchval("select count(*) from context.sessions") == 1


async def after_a_rollback(connection: Any) -> None:
    transaction = connection.transaction()
    await transaction.start()
    await act_for(connection, ANA)
    await transaction.rollback()


async def after_an_error(connection: Any) -> None:
    transaction = connection.transaction()
    await transaction.start()
    await act_for(connection, ANA)
    with pytest.raises(asyncpg.DivisionByZeroError):
        await connection.execute("select 1 / 0")
    await transaction.rollback()


async def after_a_verb(connection: Any) -> None:
    """Every verb sets the settings itself, for its own transaction."""
    assert (
        len(await connection.fetch("select * from context.list_sessions('north', 'ana', null, 10)"))
        == 1
    )


async def after_a_verb_that_failed(connection: Any) -> None:
    nulls = ", ".join(["null"] * 10)
    with pytest.raises(asyncpg.NotNullViolationError):
        await connection.fetch(
            "select * from context.create_session('north', 'ana', gen_random_uuid(), "
            f"{nulls}, '{{}}', '{{}}', '')"
        )


async def after_a_cancelled_statement(connection: Any) -> None:
    with pytest.raises(TimeoutError):
        await connection.execute(
            "select holdfast.act_for('north', 'ana'), pg_sleep(60)", timeout=0.05
        )


async def after_reset_all(connection: Any) -> None:
    await connection.execute("select set_config('holdfast.workspace', 'north', false)")
    await connection.execute("reset all")


@pytest.mark.parametrize(
    "state",
    [
        never,
        after_a_commit,
        after_a_rollback,
        after_an_error,
        after_a_verb,
        after_a_verb_that_failed,
        after_a_cancelled_statement,
        after_reset_all,
    ],
)
async def test_without_an_owner_in_the_settings_no_rows_are_visible(
    state: Callable[[Any], Any], postgres_url: str, filled: None
):
    """TS3: a setting that was local to a transaction is empty afterwards, and an empty owner
    matches no row.
    """
    connection = await asyncpg.connect(postgres_url)
    try:
        await state(connection)

        for table in await catalogue.postgres_tables(connection):
            if table not in catalogue.LEDGERS:
                assert await connection.fetch(f"select * from {table}") == []
        with pytest.raises(asyncpg.InsufficientPrivilegeError) as refused:
            await connection.execute(WITHOUT_OWNER)
        assert "owner_only" not in str(refused.value)
    finally:
        await connection.close()


async def test_rolling_back_a_savepoint_restores_the_previous_owner(
    postgres_url: str, filled: None
):
    """TS3: what was set inside a savepoint that is rolled back is gone, and the outer transaction's
    is back.
    """
    connection = await asyncpg.connect(postgres_url)
    developers = "select array_agg(distinct developer_id) from context.sessions"
    try:
        async with connection.transaction():
            inner = connection.transaction()
            await inner.start()
            await act_for(connection, BO)
            assert await connection.fetchval(developers) == ["bo"]
            await inner.rollback()
            assert await connection.fetchval(developers) is None

            await act_for(connection, ANA)
            inner = connection.transaction()
            await inner.start()
            await act_for(connection, BO)
            await inner.rollback()
            assert await connection.fetchval(developers) == ["ana"]
    finally:
        await connection.close()


async def test_an_empty_workspace_sees_no_rows(
    postgres_owner_url: str, postgres: Cluster, postgres_database: str
):
    """Were there a row of the empty workspace, an empty setting would still not find it."""
    execute(
        postgres.dsn(postgres_database),
        WITHOUT_OWNER,
    )
    connection = await asyncpg.connect(postgres_owner_url)
    try:
        async with connection.transaction():
            await act_for(connection, Owner("", ""))
            assert await connection.fetch("select * from holdfast.outbox") == []
    finally:
        await connection.close()


async def test_two_developers_at_once_see_only_their_own_rows(postgres_url: str, filled: None):
    """The same statements on two connections at the same time, each in its own transaction."""
    first, second = await asyncpg.connect(postgres_url), await asyncpg.connect(postgres_url)
    try:
        async with first.transaction(), second.transaction():
            await asyncio.gather(act_for(first, ANA), act_for(second, BO))
            seen = await asyncio.gather(
                *(
                    c.fetch("select developer_id from context.session_events")
                    for c in (first, second)
                )
            )
    finally:
        await first.close()
        await second.close()

    assert [{row["developer_id"] for row in rows} for rows in seen] == [{"ana"}, {"bo"}]
    assert not re.search("policy", str(seen))
