"""A database that is divided by workspace: every statement stays in one part of it.

The copy is made of our own schema, with nothing changed but that each table with a workspace is
partitioned by its hash.
"""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

import holdfast
from holdfast.ground.settings import owner_of
from holdfast.scope import Scope
from holdfast.usecases import exchange
from tests.house.test_queries import (
    FUNCTIONS,
    MANY,
    Function,
    fill,
    list_arguments,
    nodes,
    open_explaining,
    postgres_plans,
    verbs,
)
from tests.rig.plans import OF_OWNER
from tests.rig.postgres import APP, Cluster, execute, execute_script

PARTS = 2
WITH_WORKSPACE = """
select c.oid::regclass::text as name from pg_class c join pg_attribute a on a.attrelid = c.oid
where a.attname = 'workspace_id' and c.relkind in ('r', 'p') and not c.relispartition
order by 1
"""
TABLE = re.compile(
    r"^CREATE TABLE (\S+) \((.*?)\n\)(\nWITH \([^)]*\))?;$", re.MULTILINE | re.DOTALL
)


@pytest.fixture
def divided_url(postgres: Cluster, postgres_database: str) -> Iterator[str]:
    """A copy of the migrated database, divided by workspace; as the superuser."""
    name = postgres.create_database("template0")
    url = postgres.dsn(name)
    run_script(url, divide(postgres.dump_statements(postgres_database)))
    tables = [row[0] for row in execute(url, WITH_WORKSPACE)]
    execute(
        url,
        *[
            f"create table {table}_part{number} partition of {table}"
            f" for values with (modulus {PARTS}, remainder {number})"
            for table in tables
            for number in range(PARTS)
        ],
    )
    yield url
    postgres.drop_database(name)


@pytest.fixture
def app_url(divided_url: str, postgres: Cluster) -> str:
    return postgres.dsn(urlsplit(divided_url).path.strip("/"), APP)


def divide(script: str) -> str:
    """The same schema, where each table with a workspace is partitioned. Parts have no options."""

    def change(found: re.Match[str]) -> str:
        if "workspace_id" not in found[2]:
            return found[0]
        return f"CREATE TABLE {found[1]} ({found[2]}\n) PARTITION BY HASH (workspace_id);"

    return TABLE.sub(change, script).replace("ALTER TABLE ONLY", "ALTER TABLE")


def run_script(url: str, script: str) -> None:
    """Without the lines that are for the program that usually reads it."""
    lines = [line for line in script.splitlines() if not line.startswith("\\")]
    execute_script(url, "\n".join(lines))


def visited_parts(plan: dict[str, Any]) -> set[str]:
    """The parts of tables that a statement visited when it ran."""
    names = {
        node["Relation Name"]
        for node in nodes(plan["Plan"])
        if "Relation Name" in node and node["Actual Loops"] > 0
    }
    return {name.rpartition("_")[2] for name in names if re.search(r"_part\d+$", name)}


@pytest.mark.own_database
def test_every_table_with_a_workspace_is_divided(divided_url: str, postgres_owner_url: str):
    """Its keys begin with the workspace; if one did not, the copy could not be made."""
    ours = [row[0] for row in execute(postgres_owner_url, WITH_WORKSPACE)]

    assert [row[0] for row in execute(divided_url, WITH_WORKSPACE)] == ours
    kinds = execute(
        divided_url,
        "select count(*) from pg_partitioned_table union all select count(*) from"
        " pg_class where relispartition and relkind = 'r'",
    )
    assert [row[0] for row in kinds] == [len(ours), len(ours) * PARTS]


@pytest.mark.own_database
async def test_the_program_works_on_a_divided_database(divided_url: str, app_url: str):
    """Without a change, as its usual role, for the developers of two workspaces."""
    for workspace in ("acme", "globex"):
        owner, other = (owner_of(workspace, handle) for handle in ("ana", "bo"))
        async with holdfast.open_database(app_url) as database:
            sessions = holdfast.SessionService(database, owner=owner)
            session = await sessions.create_session("coder", "u1")
            await sessions.append_event(session.id, "user_message", "user", workspace)
            await sessions.update_state(session.id, {"task": workspace})
            await sessions.end_session(session.id)
            assert (await sessions.verify_session(session.id)).damage == ()
            scope = Scope(database, owner)
            fields = {"title": workspace, "summary": "s"}
            done = await exchange.publish_context(scope, fields, "key")
            again = await exchange.publish_context(scope, fields, "key")
            assert (again.is_first, again.result.id) == (False, done.result.id)
            seen = await exchange.get_contexts(Scope(database, other))
            assert [context.title for context in seen] == [workspace]


@pytest.mark.own_database
@pytest.mark.parametrize("plans", ["force_custom_plan", "force_generic_plan"])
async def test_every_verb_stays_in_one_part(plans: str, divided_url: str):
    """Row-level security is off, so that each statement shows by itself which part it needs: a
    program that distributes statements reads no policies.
    """
    tables = [row[0] for row in execute(divided_url, WITH_WORKSPACE)]
    execute(divided_url, *[f"alter table {table} disable row level security" for table in tables])
    fill(divided_url, MANY)
    execute(divided_url, "vacuum analyze")
    functions = {row["name"]: Function(row) for row in execute(divided_url, FUNCTIONS)}
    bad: dict[str, list[str]] = {}
    connection = await open_explaining(divided_url, plans)
    try:
        [plan] = await postgres_plans(connection, "select count(*) from context.sessions")
        assert len(visited_parts(plan)) == PARTS
        for name in sorted(verbs(functions)):
            call = f"select * from {name}({list_arguments(functions[name])})"
            role = "none" if name in OF_OWNER else APP
            await connection.execute(f"set role {role}")
            explained = await postgres_plans(connection, call)
            assert len(explained) > 1, f"{name} was not explained"
            parts = {part for plan in explained for part in visited_parts(plan)}
            if len(parts) > 1:
                bad[name] = [plan["Query Text"] for plan in explained if visited_parts(plan)]
    finally:
        await connection.close()

    assert bad == {}
