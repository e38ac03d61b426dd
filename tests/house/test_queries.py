"""Two engines, one list of verbs.

A room's verbs are statements for SQLite and functions on PostgreSQL. Nothing but this file keeps
the two together: the same names, as many arguments, the same columns in the answer, and on both a
plan that does not read everything.
"""

import json
import re
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import apsw
import asyncpg
import pytest

from holdfast.storage.functions import KINDS, full_name, read_functions
from holdfast.storage.queries import Query, Room, read_blocks
from holdfast.storage.sqlite import SqliteDatabase, open_sqlite
from tests.house import source
from tests.rig.plans import PLANS
from tests.rig.postgres import APP, Cluster, execute
from tools.schema import find_schemas

INNER = {name for plans in PLANS.values() for name in plans.INNER}
READS_ALL = {name for plans in PLANS.values() for name in plans.READS_ALL}
SORTS = {name for plans in PLANS.values() for name in plans.SORTS}
# For arguments that a room gives no value for.
BY_TYPE = {"text": "'x'", "integer": "1", "bigint": "1", "bytea": "'\\x00'"}
OWNER = {"p_workspace": "'w2'", "p_developer": "'d5'"}
# The first arguments of a verb: for whom it is, or what a caller presents to show who it is.
FIRST_ARGUMENTS = (["p_workspace", "p_developer"], ["p_workspace", "p_presented"])
OWNER_COLUMNS = {"workspace_id", "developer_id"}
MOST_ROWS = 50


def rooms() -> dict[str, Room]:
    """Every room with queries, found by its file: a file that no code reads would
    be missing here.
    """
    found = {}
    for path in source.files():
        if (path.parent / "queries.sqlite.sql").exists():
            for room in vars(import_module(source.module_of(path))).values():
                if isinstance(room, Room):
                    found[room.file] = room
    return found


ENGINES = ("sqlite", "postgres")
ROOMS = list(rooms().values())
NAMED_SQL = [
    path for path in sorted(source.PACKAGE.rglob("*.sql")) if "migrations" not in path.parts
]
QUERIES = [query for room in ROOMS for query in room.queries.values()]
each_query = pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.name)


def postgres_file(room: Room) -> str:
    return str(Path(room.file).with_name("queries.postgres.sql"))


def argument_count(query: Query) -> int:
    return max(
        int(number)
        for statement in query.statements
        for number in re.findall(r"\?(\d+)", statement)
    )


# --- the files ------------------------------------------------------------------------------------


def test_every_file_of_queries_belongs_to_a_room():
    here, there = (
        {str(path) for path in source.PACKAGE.rglob(f"queries.{engine}.sql")} for engine in ENGINES
    )

    assert here == {room.file for room in ROOMS}
    assert there == {postgres_file(room) for room in ROOMS}


@pytest.mark.parametrize("path", NAMED_SQL, ids=lambda path: str(path.relative_to(source.PACKAGE)))
def test_every_statement_has_a_name_and_a_line_of_why(path: Path):
    """A block without both would be read as part of the one above it."""
    texts = [text for text in re.split(r"\n\n+(?=-- )", path.read_text()) if text.strip()]
    blocks = read_blocks(str(path))

    for text in texts:
        assert re.match(r"-- \w+\n(-- .+\n)+(?!--)\w", text), text
    assert [text.split()[1] for text in texts] == [block.name for block in blocks]
    assert len({block.name for block in blocks}) == len(blocks)
    assert all(block.why.endswith(".") and len(block.why) > 10 for block in blocks)


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.schema)
def test_both_files_of_a_room_have_the_same_names_in_the_same_order(room: Room):
    """So that the two are read side by side; beside its verbs the file for PostgreSQL has what they
    call.
    """
    there = [block.name for block in read_blocks(postgres_file(room))]

    assert [name for name in there if name in room.queries] == list(room.queries)


@pytest.mark.parametrize("kind", KINDS)
def test_a_function_is_called_as_its_block_says(kind: str):
    """In the schema of its room."""
    for room in ROOMS:
        path = Path(room.file).with_name(f"{kind}.postgres.sql")
        blocks = read_blocks(str(path)) if path.exists() else []
        assert [full_name(block) for block in blocks] == [
            f"{room.schema}.{block.name}" for block in blocks
        ]


def test_every_function_is_made_from_a_room_s_file(postgres_owner_url: str):
    """And no migration has one, except for what it looked for once and the tools of
    the migrations.
    """
    made = {row["name"] for row in execute(postgres_owner_url, FUNCTIONS)}
    known = {full_name(block) for kind in ("guards", "queries") for block in read_functions(kind)}

    assert made - known == {
        "memori.is_adopted",
        "holdfast.put_walls",
        "holdfast.grant_functions",
        "holdfast.show_to_team",
        "holdfast.let_readers_read",
    }
    assert known <= made


@each_query
def test_a_query_uses_each_of_its_arguments(query: Query):
    """A number that is left out would silently take a value that no statement reads."""
    used = {
        int(number)
        for statement in query.statements
        for number in re.findall(r"\?(\d+)", statement)
    }

    assert used == set(range(1, argument_count(query) + 1))
    assert {1, 2} <= used, "the workspace comes first, then the developer or what one presents"


def test_every_query_is_used():
    """By its name, in the room that owns it."""
    code = {
        room.file: "".join(p.read_text() for p in Path(room.file).parent.rglob("*.py"))
        for room in ROOMS
    }
    unused = [
        query.function
        for query in QUERIES
        if f'QUERIES["{query.name}"]' not in code[query.room.file]
    ]

    assert unused == []


# --- both engines ---------------------------------------------------------------------------------


@pytest.fixture
def sqlite(tmp_path: Path) -> Iterator[SqliteDatabase]:
    database = open_sqlite(str(tmp_path / "test.db"))
    for room in ROOMS:
        database._writing._learn(room)
    yield database
    database.connection.close()


def sqlite_columns(connection: apsw.Connection, statement: str, count: int) -> list[str]:
    """The names of a statement's columns, without running it."""
    names: list[str] = []

    def look(cursor: apsw.Cursor, sql: str, bindings: object) -> bool:
        names.extend(column[0] for column in cursor.get_description())
        return False

    cursor = connection.cursor()
    cursor.exec_trace = look
    with pytest.raises(apsw.ExecTraceAbort):
        cursor.execute(statement, [None] * count)
    return names


class Function:
    """One function, as PostgreSQL describes it."""

    def __init__(self, row: asyncpg.Record):
        self.name: str = row["name"]
        self.returns_trigger: bool = row["returns_trigger"]
        inputs = [mode in ("i", "b") for mode in row["modes"] or "i" * len(row["names"] or [])]
        names = row["names"] or []
        self.arguments = [name for name, is_input in zip(names, inputs, strict=True) if is_input]
        self.types = dict(zip(self.arguments, row["types"], strict=True))
        self.columns = row["columns"] or [
            name for name, is_input in zip(names, inputs, strict=True) if not is_input
        ]


FUNCTIONS = """
select n.nspname || '.' || p.proname as name, p.prorettype = 'trigger'::regtype as returns_trigger,
       p.proargmodes::text[] as modes, p.proargnames as names,
       array(select format_type(a.oid, null)
             from unnest(p.proargtypes::oid[]) with ordinality a (oid, place)
             order by a.place) as types,
       (select array_agg(a.attname::text order by a.attnum)
        from pg_type t join pg_attribute a on a.attrelid = t.typrelid
        where t.oid = p.prorettype and t.typtype = 'c' and a.attnum > 0) as columns
from pg_proc p join pg_namespace n on n.oid = p.pronamespace
where n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
"""


@pytest.fixture
def functions(postgres_owner_url: str) -> dict[str, Function]:
    return {row["name"]: Function(row) for row in execute(postgres_owner_url, FUNCTIONS)}


def verbs(functions: dict[str, Function]) -> set[str]:
    """What takes a workspace and a developer, or what a caller presents, is a verb, unless it is on
    the list of inner functions.
    """
    return {f.name for f in functions.values() if f.arguments[:2] in FIRST_ARGUMENTS} - INNER


def row_verbs() -> set[str]:
    """Queries that Python runs once for each of several rows."""
    code = "".join(path.read_text() for path in source.files())
    return set(re.findall(r'write_rows\(\s*QUERIES\["(\w+)"\]', code))


def test_both_engines_have_the_same_verbs(functions: dict[str, Function]):
    """A verb for several rows has a short form for the usual case, one row."""
    singles = {query.single for query in QUERIES if query.name in row_verbs()}

    assert verbs(functions) == {query.function for query in QUERIES} | singles
    assert functions.keys() >= INNER, "an exception that is no longer needed"


def test_both_engines_take_the_same_arguments_and_answer_with_the_same_columns(
    functions: dict[str, Function], sqlite: SqliteDatabase
):
    """Whichever of its statements answers; the last one gives the names.

    A verb for several rows takes arrays on PostgreSQL, and beside them which call each row belongs
    to.
    """
    for query in QUERIES:
        function = functions[query.function]
        if "p_call" in function.arguments:
            place = function.arguments.index("p_call")
            per_row = function.arguments[place:]
            assert all(function.types[name].endswith("[]") for name in per_row), query.name
            assert len(function.arguments) == argument_count(query) + 1, query.name
        else:
            assert not any(kind.endswith("[]") for kind in function.types.values()), query.name
            assert len(function.arguments) == argument_count(query), query.name
        if query.name in row_verbs():
            single = functions[query.single]
            assert (len(single.arguments), single.columns) == (
                argument_count(query),
                function.columns,
            ), query.name
        answers = [
            columns
            for statement, count in query.steps
            if (columns := sqlite_columns(sqlite.connection, statement, count))
        ]
        assert answers, query.name
        assert {len(columns) for columns in answers} == {len(function.columns)}, query.name
        for here, there in zip(answers[-1], function.columns, strict=True):
            # An expression without a name of its own has its text for a name.
            assert here == there or not here.isidentifier(), query.name


def test_the_verbs_for_several_rows_are_those_that_write_rows(functions: dict[str, Function]):
    """Arrays where Python sends arrays, and nowhere else."""
    assert {
        f.name.partition(".")[2] for f in functions.values() if "p_call" in f.arguments
    } == row_verbs()


# The planner evaluates it, on purpose; the other one changes rows.
NOT_INLINED = {"memori.is_searching", "memori.empty"}
SQL_FUNCTIONS = """
select n.nspname || '.' || p.proname as name,
       array(select a.oid::regtype::text from unnest(p.proargtypes) a (oid)) as types
from pg_proc p join pg_namespace n on n.oid = p.pronamespace join pg_language l on l.oid = p.prolang
where n.nspname in ('holdfast', 'context', 'memori', 'team', 'identity') and l.lanname = 'sql'
"""


def test_plain_sql_functions_are_inlined(postgres_owner_url: str):
    """One that is declared as less volatile than what it calls is not, and costs a call a row."""
    rows = execute(postgres_owner_url, SQL_FUNCTIONS)
    functions = {row["name"]: row["types"] for row in rows if row["name"] not in NOT_INLINED}
    assert {"context.link", "context.as_row", "memori.is_own", "memori.words_of"} <= set(functions)

    called = []
    for name, types in functions.items():
        nulls = ", ".join(f"null::{kind} as a{number}" for number, kind in enumerate(types))
        arguments = ", ".join(f"x.a{number}" for number in range(len(types)))
        call = f"select {name}({arguments}) from (select {nulls} offset 0) x"
        plan = execute(postgres_owner_url, f"explain (verbose, costs off) {call}")
        called += [name for line in plan if f"{name.partition('.')[2]}(" in line[0]]
    assert called == []


# --- plans ----------------------------------------------------------------------------------------


# An insert into a table that others refer to: SQLite would look for rows that refer to the new one,
# if a statement had left such a row behind. None does: no key of ours is deferred.
LOOKS_FOR_REFERENCES = {
    *("team.enter", "team.reserve", "team.answer_handoff"),
    *("identity.add_token", "identity.redeem_login"),
}

# Of these a workspace and a developer are the whole key.
ONE_ROW_EACH = {"developers", "heartbeats"}


def full_reads(plan: list[str], tables: set[str], statement: str) -> list[str]:
    """The lines of a SQLite plan that visit a table without anything but the owner to go by."""
    aliases = dict(re.findall(r"\b(\w+) (s|e|o|x|st|m)\b", statement))
    names = tables | {alias for table, alias in aliases.items() if table in tables}
    found = []
    for line in plan:
        verb, _, rest = line.partition(" ")
        if re.search(
            r"VIRTUAL TABLE INDEX \d+:M\d", line
        ):  # a full-text index that is asked for words
            continue
        if verb not in ("SCAN", "SEARCH") or rest.split()[0] not in names:
            continue
        by = set(re.findall(r"(\w+)(?:[,=<>)]| IS)", line.partition("(")[2]))
        table = re.search(r"sqlite_autoindex_(\w+)_\d", line)
        if by == OWNER_COLUMNS and table is not None and table[1] in ONE_ROW_EACH:
            continue
        if verb == "SCAN" or by <= OWNER_COLUMNS:
            found.append(line)
    return found


@each_query
def test_sqlite_reaches_every_row_by_an_index(query: Query, sqlite: SqliteDatabase):
    """Whatever the number of rows, sessions and developers: no statement walks through a table."""
    tables = {
        row[0]
        for row in sqlite.connection.execute("select name from sqlite_schema where type = 'table'")
    }
    reads, sorts = [], []
    for statement, count in query.steps:
        rows = sqlite.connection.execute(f"explain query plan {statement}", [None] * count)
        plan = [row[3] for row in rows]
        reads += full_reads(plan, tables, statement)
        sorts += [line for line in plan if "TEMP B-TREE" in line]

    assert reads == [] or query.function in READS_ALL | LOOKS_FOR_REFERENCES, reads
    assert sorts == [] or query.function in SORTS, sorts


# Enough rows of enough developers that reading all of them costs more than reading a few; and so
# few that every plan seems to be as good as any other.
MANY = (
    "create temp table owners as select w, d from generate_series(1, 4) w, generate_series(1, 9) d",
    "create temp table numbers as select n from generate_series(1, 500) n",
)
FEW = (
    "create temp table owners as select 2 as w, 5 as d",
    "create temp table numbers as select n from generate_series(38, 42) n",
)


def fill(url: str, amounts: Sequence[str]) -> None:
    """All rooms at once: the rows of one are in the way of the others, as in a real database."""
    rows = [statement for plans in PLANS.values() for statement in plans.FILL.split(";\n")]
    execute(url, "set session_replication_role = replica", *amounts, *rows)


def list_arguments(function: Function) -> str:
    schema, _, _ = function.name.partition(".")
    [room] = [room for room, name in find_schemas().items() if name == schema]
    plans = PLANS[room]
    defaults = {name: BY_TYPE.get(kind, "null") for name, kind in function.types.items()}
    values = defaults | OWNER | plans.VALUES | plans.VALUES_OF.get(function.name, {})
    return ", ".join(values[argument] for argument in function.arguments)


async def postgres_plans(connection: Any, call: str) -> list[dict[str, Any]]:
    """The plan of every statement inside a call, as PostgreSQL explains them while it runs."""
    notices: list[str] = []

    def listen(_: object, message: Any) -> None:
        notices.append(message.message)

    connection.add_log_listener(listen)
    transaction = connection.transaction()
    await transaction.start()
    await connection.execute(call)
    await transaction.rollback()
    connection.remove_log_listener(listen)
    return [json.loads(notice.partition("plan:")[2]) for notice in notices if "plan:" in notice]


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for part in plan.get("Plans", ()):
        yield from nodes(part)


def full_scans(plan: dict[str, Any]) -> list[str]:
    """The nodes of a PostgreSQL plan that visit one of our tables without anything but the owner to
    go by.
    """
    found = []
    for node in nodes(plan["Plan"]):
        if node["Node Type"] == "Seq Scan":
            found.append(f"Seq Scan on {node['Relation Name']}: {plan['Query Text']}")
        elif "Index Cond" in node or node["Node Type"] in (
            "Index Scan",
            "Index Only Scan",
            "Bitmap Index Scan",
        ):
            columns = set(
                re.findall(r"\(*(?:\w+\.)?(\w+)\)* (?:=|<|>|IS)", node.get("Index Cond", ""))
            )
            columns |= set(re.findall(r"ROW\((\w+)", node.get("Index Cond", "")))
            table = node.get("Index Name", "").removesuffix("_pkey")
            if columns == OWNER_COLUMNS and table in ONE_ROW_EACH:
                continue
            if columns <= OWNER_COLUMNS and not node.get("Relation Name", "").startswith("pg_"):
                found.append(
                    f"{node['Node Type']} {node['Index Name']} {node.get('Index Cond')}: "
                    f"{plan['Query Text']}"
                )
    return found


def rows_read(plan: dict[str, Any]) -> float:
    """How many rows of tables a statement looked at, whether it kept them or not."""
    return sum(
        (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]
        for node in nodes(plan["Plan"])
        if "Relation Name" in node
    )


async def open_explaining(url: str, plan_cache_mode: str) -> Any:
    """A connection of the application's role that reports the plan of every statement."""
    connection = await asyncpg.connect(url)
    await connection.execute("load 'auto_explain'")
    for setting in (
        "log_nested_statements = on",
        "log_format = json",
        "log_level = notice",
        "log_min_duration = 0",
        "log_analyze = on",
    ):
        await connection.execute(f"set auto_explain.{setting}")
    await connection.execute(f"set plan_cache_mode = {plan_cache_mode}; set role {APP}")
    return connection


async def find_bad_plans(connection: Any, functions: dict[str, Function]) -> dict[str, list[str]]:
    """Call every verb once; the plans that read more than they need, by verb."""
    bad = {}
    for name in sorted(verbs(functions) - READS_ALL):
        arguments = list_arguments(functions[name])
        explained = await postgres_plans(connection, f"select * from {name}({arguments})")
        assert len(explained) > 1, f"{name} was not explained"
        scans = [scan for plan in explained for scan in full_scans(plan)]
        scans += [
            f"{rows} rows: {plan['Query Text']}"
            for plan in explained
            if (rows := rows_read(plan)) > MOST_ROWS
        ]
        if scans:
            bad[name] = scans
    return bad


@pytest.mark.own_database
@pytest.mark.parametrize("plans", ["force_custom_plan", "force_generic_plan"])
async def test_postgres_reaches_every_row_by_an_index(
    plans: str, postgres: Cluster, postgres_database: str, functions: dict[str, Function]
):
    """With row-level security in force, as the application, on the first call and
    on the hundredth.
    """
    url = postgres.dsn(postgres_database)
    fill(url, MANY)
    execute(url, "vacuum analyze")
    connection = await open_explaining(url, plans)
    try:
        bad = await find_bad_plans(connection, functions)
    finally:
        await connection.close()

    assert bad == {}


async def find_bad_kept_plans(url: str, functions: dict[str, Function]) -> dict[str, list[str]]:
    """The plans of all verbs, made while the tables have a few rows and kept while they grow."""
    connection = await open_explaining(url, "force_generic_plan")
    try:
        bad = await find_bad_plans(connection, functions)
        fill(url, MANY)
        return bad | await find_bad_plans(connection, functions)
    finally:
        await connection.close()


INDEXES_OF_TABLES = """
select array_agg(format('%I.%I', schemaname, indexname) order by indexname)
from pg_indexes where schemaname in ('holdfast', 'context', 'memori', 'team', 'identity')
group by tablename
"""
NO_STATISTICS = """
do $$
declare
    ours record;
begin
    for ours in select oid::regclass as name from pg_class
                where relkind = 'r' and relnamespace::regnamespace::text
                      in ('holdfast', 'context', 'memori', 'team', 'identity')
    loop
        execute format('alter table %s set (autovacuum_enabled = off)', ours.name);
    end loop;
end
$$
"""
MOST_INDEXES = 16


@pytest.mark.own_database
@pytest.mark.parametrize("newest", range(MOST_INDEXES))
async def test_the_plans_of_tables_without_statistics_do_not_depend_on_the_age_of_indexes(
    newest: int, postgres: Cluster, postgres_database: str, functions: dict[str, Function]
):
    """Of plans with equal cost PostgreSQL takes the one with the index that was made last, and
    keeps it: so each index of each table is the last one here, once.
    """
    url = postgres.dsn(postgres_database)
    execute(url, NO_STATISTICS)
    tables = [row[0] for row in execute(url, INDEXES_OF_TABLES)]
    assert max(len(indexes) for indexes in tables) <= MOST_INDEXES
    last_ones = [indexes[newest % len(indexes)] for indexes in tables]
    execute(url, *[f"reindex index concurrently {index}" for index in last_ones])
    fill(url, FEW)

    assert await find_bad_kept_plans(url, functions) == {}


@pytest.mark.own_database
async def test_the_plans_of_a_restored_copy_are_as_good(
    postgres: Cluster, postgres_database: str, functions: dict[str, Function]
):
    """It has the sizes of its tables, which are small, and no other statistics."""
    url = postgres.dsn(postgres_database)
    execute(url, NO_STATISTICS)
    fill(url, FEW)
    copy = postgres.copy_by_dump(postgres_database)
    try:
        bad = await find_bad_kept_plans(postgres.dsn(copy), functions)
    finally:
        postgres.drop_database(copy)

    assert bad == {}
