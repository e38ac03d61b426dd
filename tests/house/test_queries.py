"""Two engines, one list of verbs.

A room's verbs are statements for SQLite and functions on PostgreSQL. Nothing but this file keeps
the two together: the same names, as many arguments, the same columns in the answer, and on both a
plan that does not read everything.
"""

import json
import re
from collections.abc import Iterator
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
from tests.rig.postgres import APP, Cluster, execute

# Functions of ours on PostgreSQL that take an owner and are not verbs, because only other functions
# call them.
INNER = {"holdfast.act_for", "holdfast.tell", "context.refusal", "memori.hold"}

# Verbs that may read every row of a developer, and why. Every other one reaches its rows by more
# than their owner.
READS_ALL = {
    "context.matching_events": "forgetting by words must miss none",
    "context.sessions_with_text": "forgetting by words must miss none",
    "context.telling_session": "from the newest on, and no further than the first that fits",
    "context.session_names": "the index of names holds all that is asked for",
    "context.count_ends": "one step into an index for each session, however long its log",
    "context.count_events": "the accounts compare numbers with rows, so the rows are counted",
    "context.clear_session": (
        "forgetting a session is rare, and empties whatever listeners were told of it"
    ),
    "memori.matching_memories": "forgetting by words must miss none",
    "memori.find_candidates": (
        "the owner's rows are met with those that have the words, each by its index"
    ),
    "memori.count_words": (
        "how many memories there are decides what is rare; ten thousand are enough to tell"
    ),
    "holdfast.entries_with_text": "forgetting by words must miss none",
    "holdfast.outbox_end": "the last entry of the index answers max()",
    "holdfast.beat": "a developer has one heart",
    "holdfast.last_beat": "a developer has one heart",
}
# Verbs that sort what they found, and why it is little.
SORTS = {
    "context.create_session": "two rows at most",
    "context.thread_sessions": "one thread",
    "context.session_names": "one row for each name",
    "context.matching_events": "read as a whole anyway",
    "memori.matching_memories": "read as a whole anyway",
    "memori.find_candidates": "the newest of those that have a rare word",
}
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
        for number in re.findall(r"\$(\d+)", statement)
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

    assert made - known == {"memori.is_adopted", "holdfast.put_walls", "holdfast.grant_functions"}
    assert known <= made


@each_query
def test_a_query_uses_each_of_its_arguments(query: Query):
    """A number that is left out would silently take a value that no statement reads."""
    used = {
        int(number)
        for statement in query.statements
        for number in re.findall(r"\$(\d+)", statement)
    }

    assert used == set(range(1, argument_count(query) + 1))
    assert {1, 2} <= used, "the workspace and the developer come first"


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


def sqlite_columns(connection: apsw.Connection, statement: str) -> list[str]:
    """The names of a statement's columns, without running it."""
    names: list[str] = []

    def look(cursor: apsw.Cursor, sql: str, bindings: object) -> bool:
        names.extend(column[0] for column in cursor.get_description())
        return False

    cursor = connection.cursor()
    cursor.exec_trace = look
    with pytest.raises(apsw.ExecTraceAbort):
        cursor.execute(statement, {str(number): None for number in range(1, 100)})
    return names


class Function:
    """One function, as PostgreSQL describes it."""

    def __init__(self, row: asyncpg.Record):
        self.name: str = row["name"]
        self.returns_trigger: bool = row["returns_trigger"]
        inputs = [mode in ("i", "b") for mode in row["modes"] or "i" * len(row["names"] or [])]
        names = row["names"] or []
        self.arguments = [name for name, is_input in zip(names, inputs, strict=True) if is_input]
        self.is_array = dict(zip(self.arguments, row["arrays"], strict=True))
        self.columns = row["columns"] or [
            name for name, is_input in zip(names, inputs, strict=True) if not is_input
        ]


FUNCTIONS = """
select n.nspname || '.' || p.proname as name, p.prorettype = 'trigger'::regtype as returns_trigger,
       p.proargmodes::text[] as modes, p.proargnames as names,
       array(select t.typcategory = 'A' from unnest(p.proargtypes::oid[]) with ordinality a (oid,
           place)
             join pg_type t on t.oid = a.oid order by a.place) as arrays,
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
    """What takes a workspace and a developer is a verb, unless it is on the list of inner
    functions.
    """
    return {
        f.name for f in functions.values() if f.arguments[:2] == ["p_workspace", "p_developer"]
    } - INNER


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
            assert all(function.is_array[name] for name in per_row), query.name
            assert len(function.arguments) == argument_count(query) + 1, query.name
        else:
            assert not any(function.is_array.values()), query.name
            assert len(function.arguments) == argument_count(query), query.name
        if query.name in row_verbs():
            single = functions[query.single]
            assert (len(single.arguments), single.columns) == (
                argument_count(query),
                function.columns,
            ), query.name
        answers = [
            columns
            for statement in query.statements
            if (columns := sqlite_columns(sqlite.connection, statement))
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


# --- plans ----------------------------------------------------------------------------------------


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
    bindings = {str(number): None for number in range(1, argument_count(query) + 1)}
    reads, sorts = [], []
    for statement in query.statements:
        rows = sqlite.connection.execute(f"explain query plan {statement}", bindings)
        plan = [row[3] for row in rows]
        reads += full_reads(plan, tables, statement)
        sorts += [line for line in plan if "TEMP B-TREE" in line]

    assert reads == [] or query.function in READS_ALL, reads
    assert sorts == [] or query.function in SORTS, sorts


# Enough rows of enough developers that reading all of them is the more expensive plan for a query
# of a few.
FILL = """
set session_replication_role = replica;
insert into context.sessions (workspace_id, developer_id, id, user_id, chatmode, client, native_id,
    worktree, metadata,
                              resumed_from, head_hash, started_at, ended_at)
select 'w' || w, 'd' || d, md5(format('%s %s %s', w, d, s))::uuid, 'u1', 'm' || s % 5, 'claude',
    'n' || s,
       '/r' || s % 20, jsonb_build_object('name', 'name ' || s % 30),
       case when s % 3 = 0 then md5(format('%s %s %s', w, d, s - 1))::uuid end,
       '', now() - s * interval '1 minute', case when s % 2 = 0 then now() end
from generate_series(1, 4) w, generate_series(1, 10) d, generate_series(1, 100) s;
insert into holdfast.heartbeats select 'w' || w, 'd' || d, 1
  from generate_series(1, 40) w, generate_series(1, 100) d;
insert into holdfast.idempotency_keys
select 'w' || w, 'd' || d, 'op' || k % 3, 'k' || k, '', '', now()
from generate_series(1, 4) w, generate_series(1, 10) d, generate_series(1, 100) k;
insert into context.session_state (workspace_id, developer_id, session_id, updated_at)
select workspace_id, developer_id, id, now() from context.sessions;
insert into context.session_events (workspace_id, developer_id, id, session_id, sequence, type,
    role, content,
                                    created_at, content_hash, chain_hash, erased_at)
select workspace_id, developer_id, md5(format('%s %s', id, n))::uuid, id, n,
       case when n % 4 = 0 then 'user_message' else 'tool_call' end, 'user', '', now(), '', '',
       case when n = 1 then now() end
from context.sessions, generate_series(1, case when id = md5('2 5 40')::uuid then 4000
    else 8 end) n;
insert into context.erasures (workspace_id, developer_id, event_id, session_id, content_hash,
    reason, created_at)
select workspace_id, developer_id, id, session_id, '', 'asked for', now()
  from context.session_events
where sequence = 1;
insert into holdfast.outbox (workspace_id, developer_id, topic, data, created_at)
select workspace_id, developer_id, 'caco.context', jsonb_build_object('session_id', id), now()
  from context.sessions;
insert into holdfast.journal (workspace_id, developer_id, id, kind, subject, content, created_at)
select 'w' || w, 'd' || d, md5(format('%s %s %s', w, d, n))::uuid, 'k' || n % 3, 's' || n % 50,
    'x', now()
from generate_series(1, 4) w, generate_series(1, 10) d, generate_series(1, 400) n;
insert into memori.memories (workspace_id, developer_id, id, user_id, content, content_tsv,
    source_type, created_at,
                             updated_at, content_hash)
select 'w' || w, 'd' || d, format('m %s %s %s', w, d, n), 'u1', 'x',
       array_to_tsvector(array['common', 'word' || n, 'some' || n % 10]), 'explicit',
           now() - n * interval '1 minute',
       now(), sha256(format('%s %s %s', w, d, n)::bytea)
from generate_series(1, 4) w, generate_series(1, 10) d, generate_series(1, 300) n;
insert into memori.memory_tombstones
select workspace_id, developer_id, sha256(content_hash), id, 'asked for', now()
  from memori.memories;
update context.sessions set last_sequence = case when id = md5('2 5 40')::uuid then 4000 else 8 end;
set session_replication_role = origin;
vacuum analyze context.sessions, context.session_state, context.session_events, context.erasures,
    holdfast.outbox,
               holdfast.journal, memori.memories, memori.memory_tombstones
"""
# A value for each argument of each verb, by the argument's name: those of a developer in the
# middle.
SESSION = "md5('2 5 40')::uuid"
EVENT = f"md5(format('%s %s', {SESSION}, 5))::uuid"
VALUES = {
    "p_workspace": "'w2'",
    "p_developer": "'d5'",
    "p_session": SESSION,
    "p_id": SESSION,
    "p_below": SESSION,
    "p_resumed_from": SESSION,
    "p_after": "3",
    "p_limit": "10",
    "p_turns_before": "1",
    "p_chars": "100",
    "p_bytes": "1000",
    "p_name": "'name 10'",
    "p_begun": "'NAME 1'",
    "p_chatmode": "'m1'",
    "p_user_id": "'u1'",
    "p_client": "'claude'",
    "p_native_id": "'n41'",
    "p_worktree": "'/r1'",
    "p_workflow": "null",
    "p_skill": "null",
    "p_git_branch": "null",
    "p_repo": "null",
    "p_metadata": "'{}'",
    "p_scratchpad": "'{}'",
    "p_patch": "'{\"a\": 1}'",
    "p_data": "'{}'",
    "p_topic": "'session.renamed'",
    "p_head_hash": "'\\x00'",
    "p_text": "'x'",
    "p_escaped": "'x'",
    "p_call": "array[0]",
    "p_expected": "array[null::bigint]",
    "p_type": "array['user_message']",
    "p_role": "array['user']",
    "p_content": "array['']",
    "p_parts": "array[null::text]",
    "p_hash": "array['\\x00'::bytea]",
    "p_reason": "array['asked for']",
    "p_operation": "'op1'",
    "p_key": "'k50'",
    "p_request_hash": "'\\x00'",
    "p_subject": "'s'",
    "p_kind": "'k1'",
    "p_ids": """'["m 2 5 40", "m 2 5 41"]'""",
    "p_words": """'["word40"]'""",
    "p_most": "1",
    "p_now": "'2026-11-16T09:04:00Z'",
    "p_category": "null",
    "p_source_type": "'explicit'",
    "p_confidence": "0.9",
    "p_lineage": "'[]'",
    "p_use_count": "0",
    "p_last_used_at": "null",
    "p_expires_at": "null",
    "p_created_at": "null",
    "p_updated_at": "null",
}
MEMORY = "'m 2 5 40'"
VALUES_OF = {
    "context.create_session": {"p_id": "gen_random_uuid()", "p_native_id": "'new'"},
    "context.recent_events": {"p_below": "null", "p_limit": "null"},
    "context.turns_below": {"p_below": "3990"},
    "context.events_after": {"p_after": "3990"},
    "context.list_sessions": {"p_limit": "10"},
    "context.find_event": {"p_id": EVENT},
    "context.erase_event": {"p_id": EVENT, "p_reason": "'asked for'"},
    "context.append_events": {
        "p_id": "array[gen_random_uuid()]",
        "p_session": "md5('2 5 41')::uuid",
    },
    "context.append_event": {
        "p_id": "gen_random_uuid()",
        "p_session": "md5('2 5 41')::uuid",
        "p_expected": "null",
        "p_type": "'user_message'",
        "p_role": "'user'",
        "p_content": "''",
        "p_parts": "null",
        "p_hash": "'\\x00'",
    },
    "memori.find_memory": {"p_id": MEMORY},
    "memori.lock_memory": {"p_id": MEMORY},
    "memori.lock_content": {"p_hash": "sha256('2 5 40')", "p_content": "'x'"},
    "memori.find_tombstone": {"p_hash": "sha256(sha256('2 5 40'))"},
    "memori.find_tombstones": {
        "p_hashes": "format('[\"%s\"]', encode(sha256(sha256('2 5 40')), 'hex'))"
    },
    "memori.add_memory": {"p_id": "'new'", "p_hash": "'\\x00'", "p_content": "'x'"},
    "memori.save_judgement": {"p_id": MEMORY},
    "memori.expire_memory": {"p_id": MEMORY},
    "memori.forget_memory": {
        "p_id": MEMORY,
        "p_hash": "sha256('2 5 40')",
        "p_reason": "'asked for'",
    },
    "memori.list_memories": {"p_below": MEMORY},
    "memori.newest_memories": {"p_below": MEMORY},
    "holdfast.outbox_after": {"p_after": "100"},
    "holdfast.keep_key": {"p_key": "'new'"},
    "holdfast.keep_entry": {"p_id": "gen_random_uuid()", "p_content": "'{}'"},
    "holdfast.newest_entries": {"p_subject": "'s10'"},
}


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


@pytest.mark.own_database
@pytest.mark.parametrize("plans", ["force_custom_plan", "force_generic_plan"])
async def test_postgres_reaches_every_row_by_an_index(
    plans: str, postgres: Cluster, postgres_database: str, functions: dict[str, Function]
):
    """With row-level security in force, as the application, on the first call and
    on the hundredth.
    """
    execute(postgres.dsn(postgres_database), *FILL.split(";\n"))
    connection = await asyncpg.connect(postgres.dsn(postgres_database))
    try:
        await connection.execute("load 'auto_explain'")
        for setting in (
            "log_nested_statements = on",
            "log_format = json",
            "log_level = notice",
            "log_min_duration = 0",
            "log_analyze = on",
        ):
            await connection.execute(f"set auto_explain.{setting}")
        await connection.execute(f"set plan_cache_mode = {plans}; set role {APP}")
        bad = {}
        for name in sorted(verbs(functions)):
            values = VALUES | VALUES_OF.get(name, {})
            arguments = ", ".join(values[argument] for argument in functions[name].arguments)
            explained = await postgres_plans(connection, f"select * from {name}({arguments})")
            assert len(explained) > 1, f"{name} was not explained"
            scans = [scan for plan in explained for scan in full_scans(plan)]
            scans += [
                f"{rows} rows: {plan['Query Text']}"
                for plan in explained
                if (rows := rows_read(plan)) > MOST_ROWS
            ]
            if scans and name not in READS_ALL:
                bad[name] = scans
    finally:
        await connection.close()

    assert bad == {}
