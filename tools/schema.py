"""Print docs/schema.md: tables, indexes, policies, triggers and functions, by room.

Nothing is listed by hand: a migrated store of each engine is asked what it has. Only the reason of
a function comes from its file.
"""

from __future__ import annotations

import asyncio
import os
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from glob import glob
from typing import Any, NamedTuple

import apsw
import asyncpg

from holdfast.storage import functions
from holdfast.storage.migrate import migrate_postgres
from holdfast.storage.queries import Block, read_blocks
from holdfast.storage.sqlite import open_sqlite
from tests.rig.postgres import OWNER, Server

HEAD = """# The schema

Written by `make docs` from a migrated store of each engine. On PostgreSQL every table has a policy for every command,
so that a developer sees rows of their own; on SQLite a file is one person's. Functions are those of PostgreSQL; on
SQLite a verb is a query of the same name in the room's `queries.sqlite.sql`.
"""  # noqa: E501 - the lines of the page
ON_SQLITE = {
    "migrations": "holdfast_migrations"
}  # what has another name there, for want of schemas
NAMES = "n.nspname = any ($1)"
TABLES = f"""
select c.oid, n.nspname::text as schema, c.relname::text as name,
    obj_description(c.oid, 'pg_class') as comment
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relkind = 'r' and {NAMES}
order by n.nspname, c.relname
"""
COLUMNS = """
select a.attname::text as name, format_type(a.atttypid, a.atttypmod) as type,
    a.attnotnull as is_filled,
       pg_get_expr(d.adbin, d.adrelid) as expression, a.attgenerated <> '' as is_generated,
       a.attidentity <> '' as is_identity, col_description(a.attrelid, a.attnum) as comment
from pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
where a.attrelid = $1 and a.attnum > 0 and not a.attisdropped
order by a.attnum
"""
KEYS = """
select pg_get_constraintdef(oid) from pg_constraint
where conrelid = $1 and contype in ('p', 'u', 'f', 'c')
order by contype = 'p' desc, contype, conname
"""
INDEXES = """
select c.relname::text as name, pg_get_indexdef(i.indexrelid) as sql
from pg_index i join pg_class c on c.oid = i.indexrelid
where i.indrelid = $1
  and not exists (select from pg_constraint k
      where k.conindid = i.indexrelid and k.contype in ('p', 'u'))
order by 1
"""
POLICIES = """
select polname::text as name,
       case polcmd when '*' then 'all' when 'r' then 'select' when 'a' then 'insert'
           else polcmd::text end as command,
       pg_get_expr(polqual, polrelid) as using, pg_get_expr(polwithcheck, polrelid) as with_check
from pg_policy where polrelid = $1
order by 1
"""
TRIGGERS = """
select tgname::text as name, pg_get_triggerdef(oid) as sql from pg_trigger
where tgrelid = $1 and not tgisinternal
order by 1
"""
FUNCTIONS = f"""
select n.nspname || '.' || p.proname as name,
    pg_get_function_identity_arguments(p.oid) as arguments,
       coalesce(pg_get_function_result(p.oid), 'nothing') as result,
           obj_description(p.oid, 'pg_proc') as comment
from pg_proc p join pg_namespace n on n.oid = p.pronamespace
where {NAMES}
order by 1
"""


class Column(NamedTuple):
    name: str
    definition: str
    comment: str = ""


class Table(NamedTuple):
    schema: str
    name: str
    comment: str
    columns: Sequence[Column]
    keys: Sequence[str]
    indexes: Mapping[str, str]
    triggers: Mapping[str, str]
    policies: Sequence[tuple[str, str, str, str]] = ()


class Routine(NamedTuple):
    name: str
    arguments: str
    result: str
    comment: str


# --- what there is --------------------------------------------------------------------------------


def find_schemas() -> dict[str, str]:
    """The schema of each room that has one, as the names of its functions have it."""
    files = sorted(glob(os.path.join(functions.PACKAGE, "*", "queries.postgres.sql")))
    rooms = {os.path.basename(os.path.dirname(file)): read_blocks(file) for file in files}
    return {room: functions.full_name(blocks[0]).split(".")[0] for room, blocks in rooms.items()}


async def read_postgres(connection: Any) -> tuple[list[Table], list[Routine]]:
    schemas = list(find_schemas().values())
    tables = [await _read_table(connection, row) for row in await connection.fetch(TABLES, schemas)]
    routines = [
        Routine(*map(_or_nothing, row)) for row in await connection.fetch(FUNCTIONS, schemas)
    ]
    return tables, routines


def _or_nothing(value: str | None) -> str:
    return value or ""


async def _read_table(connection: Any, table: Any) -> Table:
    columns = await connection.fetch(COLUMNS, table["oid"])
    keys = await connection.fetch(KEYS, table["oid"])
    indexes = await connection.fetch(INDEXES, table["oid"])
    triggers = await connection.fetch(TRIGGERS, table["oid"])
    policies = await connection.fetch(POLICIES, table["oid"])
    return Table(
        table["schema"],
        table["name"],
        table["comment"] or "",
        [Column(row["name"], _define(row), row["comment"] or "") for row in columns],
        [row[0] for row in keys],
        {row["name"]: _shorten_index(row["sql"]) for row in indexes},
        {row["name"]: _shorten_trigger(row["sql"]) for row in triggers},
        [tuple(map(_or_nothing, row)) for row in policies],
    )


def _define(row: Any) -> str:
    parts = [row["type"]]
    if row["is_generated"]:
        parts.append(f"generated as ({row['expression']})")
    elif row["is_identity"]:
        parts.append("generated as identity")
    elif row["expression"] is not None:
        parts.append(f"default {row['expression']}")
    if row["is_filled"]:
        parts.insert(1, "not null")
    return " ".join(parts)


def _shorten_index(sql: str) -> str:
    """`unique (workspace_id, id) where …` of a whole statement."""
    unique = "unique " if sql.lower().startswith("create unique") else ""
    kind = "gin " if " USING gin " in sql else ""
    rest = re.sub(r"\s+", " ", sql[sql.index("(") :])
    return _code(f"{unique}{kind}{rest}".lower())


def _shorten_trigger(sql: str) -> str:
    """`before update, on a condition: refuse()` of a whole statement."""
    found = re.search(
        r"\b(before|after) (insert|update|delete|truncate)( of [\w, ]+?)?(?: on\b|\s+on\b)",
        sql,
        re.I,
    )
    if found is None:
        raise ValueError(sql)
    moment = " ".join(part.strip().lower() for part in found.groups() if part)
    condition = ", on a condition" if re.search(r"\bwhen\b", sql, re.I) else ""
    call = re.search(r"EXECUTE FUNCTION ([\w.]+\(\))", sql)
    return f"{moment}{condition}" + (f": `{call[1]}`" if call else "")


def read_sqlite(connection: apsw.Connection) -> list[Table]:
    """Tables, and the index of words; without the tables that SQLite keeps that index in."""
    names = connection.execute(
        "select name from pragma_table_list where schema = 'main' and type in ('table', 'virtual')"
        " and name not like 'sqlite\\_%' escape '\\' order by name"
    )
    return [_read_sqlite_table(connection, str(name)) for (name,) in names]


def _read_sqlite_table(connection: apsw.Connection, name: str) -> Table:
    columns = connection.execute(
        'select name, type, "notnull", dflt_value, hidden from pragma_table_xinfo(?)', (name,)
    )
    objects = list(
        connection.execute(
            (
                "select type, name, sql from sqlite_schema where tbl_name = ? and sql is not "
                "null order by name"
            ),
            (name,),
        )
    )
    return Table(
        "",
        name,
        "",
        [Column(row[0], _define_on_sqlite(*row[1:])) for row in columns if row[4] != 1],
        [],
        {str(found): _shorten_index(str(sql)) for kind, found, sql in objects if kind == "index"},
        {
            str(found): _shorten_trigger(str(sql))
            for kind, found, sql in objects
            if kind == "trigger"
        },
    )


def _define_on_sqlite(kind: Any, is_filled: Any, default: Any, hidden: Any) -> str:
    parts = [str(kind).lower() or "any"]
    if is_filled:
        parts.append("not null")
    if default is not None:
        parts.append(f"default {default}")
    if hidden:
        parts.append("generated")
    return " ".join(parts)


# --- the page -------------------------------------------------------------------------------------


def describe_schema(
    tables: Sequence[Table], routines: Sequence[Routine], on_sqlite: Sequence[Table]
) -> str:
    there = {table.name: table for table in on_sqlite}
    parts = [HEAD]
    for room, schema in find_schemas().items():
        parts.append(f"\n## {room.capitalize()}: `{schema}`\n")
        parts += [_describe_table(table, there) for table in tables if table.schema == schema]
        parts.append(_describe_functions(room, schema, routines))
    known = {ON_SQLITE.get(table.name, table.name) for table in tables}
    parts += [_describe_extra(table) for table in on_sqlite if table.name not in known]
    parts.append(_describe_policies(tables))
    return "".join(parts)


def _describe_table(table: Table, on_sqlite: Mapping[str, Table]) -> str:
    other = on_sqlite.get(ON_SQLITE.get(table.name, table.name))
    there = {column.name: column.definition for column in other.columns} if other else {}
    extra = [
        Column(name, "") for name in there if name not in {column.name for column in table.columns}
    ]
    rows = [
        (
            _code(column.name),
            _code(column.definition),
            _code(there.get(column.name, "")),
            column.comment,
        )
        for column in (*table.columns, *extra)
    ]
    title = f"\n### `{table.schema}.{table.name}`\n\n"
    about = f"{table.comment}.\n\n" if table.comment else ""
    policies = ", ".join(f"`{name}` ({command})" for name, command, *_ in table.policies)
    return "".join(
        (
            title,
            about,
            _write_grid(("column", "PostgreSQL", "SQLite", "about"), rows),
            "\nKeys and checks on PostgreSQL: " + "; ".join(map(_code, table.keys)) + ".\n",
            f"\nPolicies: {policies}.\n",
            _compare("index", table.indexes, other.indexes if other else {}),
            _compare("trigger", table.triggers, other.triggers if other else {}),
        )
    )


def _compare(what: str, here: Mapping[str, str], there: Mapping[str, str]) -> str:
    names = sorted({*here, *there})
    rows = [(_code(name), here.get(name, "—"), there.get(name, "—")) for name in names]
    return "\n" + _write_grid((what, "PostgreSQL", "SQLite"), rows) if rows else ""


def _describe_functions(room: str, schema: str, routines: Sequence[Routine]) -> str:
    reasons = _read_reasons(room)
    ours = [routine for routine in routines if routine.name.startswith(f"{schema}.")]
    rows = [
        (
            _code(f"{routine.name}({routine.arguments})"),
            _code(routine.result),
            reasons.get(routine.name, routine.comment),
        )
        for routine in ours
    ]
    page = f"\n### Functions of `{schema}`\n\n" + _write_grid(
        ("function", "answers with", "why"), rows
    )
    adopted = [
        (_code(functions.full_name(block)), block.why) for block in _read_room(room, "adopted")
    ]
    if adopted:
        page += "\nWhere another program made the table, these are others:\n\n"
        page += _write_grid(("function", "why"), adopted)
    return page


def _read_reasons(room: str) -> dict[str, str]:
    blocks = [block for kind in ("guards", "queries") for block in _read_room(room, kind)]
    return {functions.full_name(block): block.why for block in blocks}


def _read_room(room: str, kind: str) -> list[Block]:
    files = glob(os.path.join(functions.PACKAGE, room, f"{kind}.postgres.sql"))
    return [block for file in files for block in read_blocks(file)]


def _describe_extra(table: Table) -> str:
    columns = ", ".join(_code(column.name) for column in table.columns)
    return f"\n## Only on SQLite\n\n`{table.name}`, a full-text index with the column {columns}.\n"


def _describe_policies(tables: Iterable[Table]) -> str:
    rows = sorted({policy for table in tables for policy in table.policies})
    cells = [
        (_code(name), command, _code(using), _code(check)) for name, command, using, check in rows
    ]
    return "\n## Policies\n\n" + _write_grid(("policy", "for", "sees", "may write"), cells)


def _write_grid(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines
    )


def _code(text: str) -> str:
    return f"`{text}`" if text else "—"


# --- from nothing ---------------------------------------------------------------------------------


async def describe_new_stores(url: str, path: str) -> str:
    await migrate_postgres(url)
    connection = await asyncpg.connect(url)
    file = open_sqlite(path).connection
    try:
        return describe_schema(*await read_postgres(connection), read_sqlite(file))
    finally:
        file.close()
        await connection.close()


def main() -> None:
    server = Server()
    try:
        server.start()
        url = server.dsn(server.create_database(), OWNER)
        with tempfile.TemporaryDirectory() as folder:
            print(asyncio.run(describe_new_stores(url, os.path.join(folder, "new.db"))), end="")
    finally:
        server.remove()


if __name__ == "__main__":
    main()
