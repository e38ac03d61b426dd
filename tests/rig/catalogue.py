"""What is wrong with a schema, read from the engine's own catalogue.

A new table cannot be left unprotected by mistake: these functions look at every table there is and
name what is missing. The tests of the house run them on the migrated schema and on schemas that
were spoilt on purpose.
"""

import re
from typing import Any

import apsw

# The lists of what was applied belong to the installation and not to a workspace: every role may
# read them, the owner adds to them, and no policy lets a role change or remove a line.
LEDGERS = {"holdfast.migrations", "holdfast.functions", "holdfast_migrations"}

# SQLite numbers the rows that its full-text index names across workspaces: one writer, one file,
# one person.
KEYS_WITHOUT_WORKSPACE = {"memories", "journal"}

# The owner may read while the two functions run that search by words; without it their index could
# not be used.
SEARCHED = ("memori.memories", "searched", "r", "memori.is_searching()")
# And while the next number of an event is looked for, which counts hidden events too.
NUMBERED = (
    "team.work_events",
    "numbered",
    "r",
    "(current_setting('holdfast.numbering'::text, true) = 'yes'::text)",
)

# And while open logins are counted, which belong to nobody yet.
COUNTED = (
    "identity.logins",
    "counted",
    "r",
    "(current_setting('holdfast.counting'::text, true) = 'yes'::text)",
)

# And while the developers of a workspace are listed for its retention.
LISTED = {
    (
        table,
        "listed",
        "r",
        "(current_setting('holdfast.pruning'::text, true) = 'yes'::text)",
    )
    for table in ("context.sessions", "team.developers")
}
OF_OWNER = {SEARCHED, NUMBERED, COUNTED, *LISTED}

# What a team may read of each other. These policies are the one rule of visibility, so each is
# here word for word: a row of the workspace, for a role that has said who it is, of a developer who
# is public. The recipient of a handoff also answers it, and so releases the giver's reservation.
WORKSPACE = "(workspace_id = NULLIF(current_setting('holdfast.workspace'::text, true), ''::text))"
ME = "NULLIF(current_setting('holdfast.developer'::text, true), ''::text)"
IS_SOMEONE = f"({ME} IS NOT NULL)"
TO_ME = (
    "(COALESCE(to_developer_id, current_setting('holdfast.developer'::text, true))"
    " = current_setting('holdfast.developer'::text, true))"
)


def is_public(column: str) -> str:
    return (
        "(( SELECT d.visibility FROM team.developers d WHERE ((d.workspace_id ="
        " NULLIF(current_setting('holdfast.workspace'::text, true), ''::text))"
        f" AND (d.developer_id = {column}))) = 'public'::text)"
    )


OF_PUBLIC = {
    f"team.{table}": f"({WORKSPACE} AND {IS_SOMEONE} AND {is_public(f'{table}.developer_id')})"
    for table in ("reservations", "presence")
}
OF_PUBLIC["team.work_events"] = (
    f"({WORKSPACE} AND {IS_SOMEONE} AND {is_public('work_events.developer_id')}"
    " AND ((COALESCE(partner_id, ''::text) = ANY (ARRAY[''::text,"
    " current_setting('holdfast.developer'::text, true)]))"
    f" OR {is_public('work_events.partner_id')}))"
)
OF_PUBLIC["team.session_contexts"] = (
    f"({WORKSPACE} AND {IS_SOMEONE} AND {is_public('session_contexts.developer_id')}"
    " AND (superseded_by IS NULL) AND (revoked_at IS NULL) AND (expires_at > now()))"
)
TO_RECIPIENT = (
    f"({WORKSPACE} AND {IS_SOMEONE} AND {TO_ME} AND {is_public('handoffs.developer_id')})"
)
RELEASED = (
    f"({WORKSPACE} AND ({ME} = ( SELECT h.to_developer_id FROM team.handoffs h WHERE"
    " ((h.workspace_id = NULLIF(current_setting('holdfast.workspace'::text, true), ''::text))"
    " AND (h.claim_id = reservations.id) AND (h.status = 'accepted'::text)"
    " AND (h.claim_id > '00000000-0000-0000-0000-000000000000'::uuid)) LIMIT 1)))"
)
SHARED = {
    *((table, "team_reads", "r", rule, None) for table, rule in OF_PUBLIC.items()),
    (
        "team.developers",
        "team_reads",
        "r",
        f"({WORKSPACE} AND {IS_SOMEONE} AND (visibility = 'public'::text))",
        None,
    ),
    ("team.handoffs", "recipient_reads", "r", TO_RECIPIENT, None),
    (
        "team.handoffs",
        "recipient_answers",
        "w",
        TO_RECIPIENT,
        f"({WORKSPACE} AND (to_developer_id = {ME}))",
    ),
    ("team.reservations", "recipient_releases", "w", RELEASED, None),
}

# A workspace belongs to nobody in it.
OF_WORKSPACE = {"identity.workspaces"}
SHARED.add(
    (
        "identity.workspaces",
        "own_workspace",
        "*",
        f"({WORKSPACE} AND {IS_SOMEONE})",
        f"({WORKSPACE} AND {IS_SOMEONE})",
    )
)

# Who presents a token or a code sees its row, and no other; whose it is follows from it. A login
# belongs to nobody until a developer decides about it.
PRESENTED = "NULLIF(current_setting('holdfast.presented'::text, true), ''::text)"


def is_hash(column: str) -> str:
    return f"encode({column}, 'hex'::text)"


SHARED |= {
    (
        "identity.tokens",
        "presenter_reads",
        "r",
        (
            f"({WORKSPACE} AND (({PRESENTED} = {is_hash('token_hash')})"
            f" OR ({PRESENTED} = (id)::text)))"
        ),
        None,
    ),
    (
        "identity.logins",
        "asker_begins",
        "a",
        None,
        f"({WORKSPACE} AND ({is_hash('device_hash')} = {PRESENTED}) AND (developer_id IS NULL))",
    ),
    (
        "identity.logins",
        "presenter_reads",
        "r",
        (
            f"({WORKSPACE} AND (({PRESENTED} = {is_hash('device_hash')})"
            f" OR ({PRESENTED} = {is_hash('user_code_hash')})))"
        ),
        None,
    ),
    (
        "identity.logins",
        "presenter_decides",
        "w",
        f"({WORKSPACE} AND ({is_hash('user_code_hash')} = {PRESENTED}) AND (developer_id IS NULL))",
        f"({WORKSPACE} AND (developer_id = {ME}))",
    ),
}

RUNTIME = "holdfast_runtime"

# Who reads everything for analysis and audit: every row, by a policy of its own, and no hash by
# which somebody is known.
READER = "holdfast_reader"
READ = ("reader_reads", "r", "true")
SECRET = r"identity\..*_hash$"

# --- PostgreSQL -----------------------------------------------------------------------------------

# Whatever is neither PostgreSQL's nor an extension's is ours, in whichever schema a later migration
# puts it.
OURS = "n.nspname !~ '^pg_' and n.nspname <> 'information_schema'"

TABLES = f"""
select c.oid, n.nspname || '.' || c.relname as name, c.relrowsecurity as secured,
    c.relforcerowsecurity as forced
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'p') and {OURS}
order by name
"""
POLICIES = """
select polname as name, polcmd::text as command, polpermissive as permissive,
       polroles = array[(select relowner from pg_class where oid = polrelid)] as owners_only,
       polroles = array[to_regrole('holdfast_reader')::oid] as readers_only,
       pg_get_expr(polqual, polrelid) as using, pg_get_expr(polwithcheck, polrelid) as with_check
from pg_policy where polrelid = $1
"""
TRIGGERS = """
select tgname as name, tgtype::int as kind, tgenabled::text as enabled,
    tgqual is not null as conditional,
       tgattr <> '' as some_columns
from pg_trigger where tgrelid = $1 and not tgisinternal
"""
KEYS = """
select conname as name, contype::text as kind, confdeltype::text as on_delete,
    confupdtype::text as on_update,
       (select attname from pg_attribute where attrelid = conrelid and attnum = conkey[1]) as first,
       (select attname from pg_attribute
           where attrelid = confrelid and attnum = confkey[1]) as first_there
from pg_constraint where conrelid = $1 and contype in ('p', 'u', 'f', 'x')
"""
UNIQUE_INDEXES = """
select i.indexrelid::regclass::text as name,
       (select attname from pg_attribute
           where attrelid = i.indrelid and attnum = i.indkey[0]) as first
from pg_index i where i.indrelid = $1 and i.indisunique
"""
GRANTS = f"""
select n.nspname || '.' || c.relname as name, coalesce(r.rolname, 'public') as grantee,
    a.privilege_type as privilege
from pg_class c join pg_namespace n on n.oid = c.relnamespace,
     aclexplode(c.relacl) a left join pg_roles r on r.oid = a.grantee
where {OURS} and a.grantee <> c.relowner
union all
select n.nspname || '.' || c.relname || '.' || t.attname, coalesce(r.rolname, 'public'),
       a.privilege_type || ' of a column'
from pg_class c join pg_namespace n on n.oid = c.relnamespace
    join pg_attribute t on t.attrelid = c.oid,
     aclexplode(t.attacl) a left join pg_roles r on r.oid = a.grantee
where {OURS} and a.grantee <> c.relowner
union all
select 'schema ' || n.nspname, coalesce(r.rolname, 'public'), a.privilege_type
from pg_namespace n, aclexplode(n.nspacl) a left join pg_roles r on r.oid = a.grantee
where {OURS} and n.nspname <> 'public' and a.grantee <> n.nspowner
"""
FUNCTIONS = f"""
select p.oid::regprocedure::text as name, p.prosecdef as definer,
       exists (select from unnest(p.proconfig) one where one like 'search_path=%') as has_path,
       exists (select from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
           where a.grantee = 0) as public
from pg_proc p join pg_namespace n on n.oid = p.pronamespace
where {OURS} and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')
"""
VIEWS = f"""
select n.nspname || '.' || c.relname as name, c.relkind::text as kind,
       coalesce(c.reloptions && array['security_invoker=true', 'security_invoker=on'],
           false) as invoker
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('v', 'm') and {OURS}
"""
ROLE = """
select r.rolname as name,
       r.rolsuper or r.rolbypassrls or r.rolcreaterole or r.rolcreatedb or r.rolreplication
           as mighty,
       exists (select from pg_auth_members m
               where m.member = r.oid and m.roleid is distinct from to_regrole($2)
                 -- Who makes a role may give it to others, and has none of its rights.
                 and (to_jsonb(m) ->> 'inherit_option' is distinct from 'false'
                      or to_jsonb(m) ->> 'set_option' is distinct from 'false')) as member,
       exists (select from pg_class c where c.relowner = r.oid) as owner
from pg_roles r where r.rolname = $1
"""

ROW, BEFORE, DELETE, UPDATE, TRUNCATE = 1, 2, 8, 16, 32
GUARDS = {
    "update": ROW | BEFORE | UPDATE,
    "delete": ROW | BEFORE | DELETE,
    "truncate": BEFORE | TRUNCATE,
}
READING = {"SELECT of a column", "USAGE"}
HARMLESS = {*READING, "SELECT", "INSERT", "UPDATE", "UPDATE of a column", "USAGE"}


async def postgres_tables(connection: Any) -> list[str]:
    return [row["name"] for row in await connection.fetch(TABLES)]


async def postgres_problems(connection: Any) -> list[str]:
    """Everything about the schema that would let a row be seen, changed or removed by the wrong
    person.
    """
    problems: list[str] = []
    for table in await connection.fetch(TABLES):
        if not (table["secured"] and table["forced"]):
            problems.append(f"{table['name']}: row-level security is not enabled and forced")
        if table["name"] not in LEDGERS:
            problems += _policy_problems(
                table["name"], await connection.fetch(POLICIES, table["oid"])
            )
            problems += _trigger_problems(
                table["name"], await connection.fetch(TRIGGERS, table["oid"])
            )
            problems += _key_problems(table["name"], await connection.fetch(KEYS, table["oid"]))
            for index in await connection.fetch(UNIQUE_INDEXES, table["oid"]):
                if index["first"] != "workspace_id":
                    problems.append(
                        f"{table['name']}: unique index {index['name']} does not begin with "
                        "workspace_id"
                    )
    problems += _grant_problems(await connection.fetch(GRANTS))
    problems += _function_problems(await connection.fetch(FUNCTIONS))
    for view in await connection.fetch(VIEWS):
        if view["kind"] == "m" or not view["invoker"]:
            problems.append(
                f"{view['name']}: a view that is not security_invoker looks past the policies"
            )
    return problems


async def role_problems(connection: Any, role: str, group: str | None = None) -> list[str]:
    """Why row-level security would not hold for a role; membership in `group` is as
    it should be.
    """
    row = await connection.fetchrow(ROLE, role, group)
    if row is None:
        return [f"{role}: does not exist"]
    return [f"{role}: is {what}" for what in ("mighty", "member", "owner") if row[what]]


def _policy_problems(table: str, policies: list[Any]) -> list[str]:
    covering = [policy for policy in policies if policy["permissive"]]
    problems = _reading_problems(table, covering)
    if not any(policy["command"] == "*" for policy in covering):
        problems.append(f"{table}: no policy for every command")
    for policy in covering:
        if (
            policy["owners_only"]
            and (
                table,
                policy["name"],
                policy["command"],
                policy["using"],
            )
            in OF_OWNER
        ):
            continue
        if policy["readers_only"]:
            continue
        rules = (_on_one_line(policy["using"]), _on_one_line(policy["with_check"]))
        if (table, policy["name"], policy["command"], *rules) in SHARED:
            continue
        for side in ("using", "with_check"):
            expression = policy[side] or ""
            for column, setting in (
                ("workspace_id", "holdfast.workspace"),
                ("developer_id", "holdfast.developer"),
            ):
                if not re.search(
                    rf"\({column} = NULLIF\(current_setting\('{setting}'::text, true\), ''::text\)",
                    expression,
                ):
                    problems.append(
                        f"{table}: {side} of policy {policy['name']} does not compare {column}"
                    )
            if re.search(r"\bOR\b", expression):
                problems.append(f"{table}: {side} of policy {policy['name']} has a way around")
    return problems


def _reading_problems(table: str, policies: list[Any]) -> list[str]:
    for_readers = [
        (policy["name"], policy["command"], policy["using"])
        for policy in policies
        if policy["readers_only"]
    ]
    if for_readers == [READ]:
        return []
    return [f"{table}: {READER} does not read exactly every row"]


def _reader_problems(grant: Any) -> list[str]:
    problems = []
    if grant["privilege"] not in READING:
        problems.append(f"{grant['name']}: {READER} may {grant['privilege']}")
    if re.search(SECRET, grant["name"]):
        problems.append(f"{grant['name']}: {READER} may read a hash")
    return problems


def _on_one_line(expression: str | None) -> str | None:
    if expression is None:
        return None
    return " ".join(expression.split())


def _trigger_problems(table: str, triggers: list[Any]) -> list[str]:
    whole = [
        trigger
        for trigger in triggers
        if trigger["enabled"] in "OA" and not trigger["some_columns"]
    ]
    return [
        f"{table}: no trigger guards {what}"
        for what, kind in GUARDS.items()
        # An update may be let through on a condition; which ones are is tried column by column
        # elsewhere.
        if not any(
            trigger["kind"] & kind == kind and (what == "update" or not trigger["conditional"])
            for trigger in whole
        )
    ]


def _key_problems(table: str, keys: list[Any]) -> list[str]:
    problems = []
    if not any(key["kind"] == "p" for key in keys):
        problems.append(f"{table}: no primary key")
    for key in keys:
        if key["first"] != "workspace_id" or (
            key["kind"] == "f" and key["first_there"] != "workspace_id"
        ):
            problems.append(f"{table}: key {key['name']} does not begin with workspace_id")
        if key["kind"] == "f" and not {key["on_delete"], key["on_update"]} <= {"a", "r"}:
            problems.append(f"{table}: key {key['name']} cascades")
    return problems


def _grant_problems(grants: list[Any]) -> list[str]:
    problems = []
    for grant in grants:
        if grant["privilege"] not in HARMLESS:
            problems.append(f"{grant['name']}: {grant['grantee']} may {grant['privilege']}")
        if grant["grantee"] == READER:
            problems += _reader_problems(grant)
        elif grant["grantee"] != RUNTIME:
            problems.append(f"{grant['name']}: granted to {grant['grantee']} and not to {RUNTIME}")
        if grant["privilege"] == "UPDATE":
            problems.append(f"{grant['name']}: {grant['grantee']} may update every column")
    return problems


def _function_problems(functions: list[Any]) -> list[str]:
    problems = [
        f"{f['name']}: SECURITY DEFINER without search_path"
        for f in functions
        if f["definer"] and not f["has_path"]
    ]
    return problems + [f"{f['name']}: everybody may execute it" for f in functions if f["public"]]


# --- SQLite ---------------------------------------------------------------------------------------


def sqlite_tables(connection: apsw.Connection) -> list[str]:
    """Without a full-text index and the tables that SQLite keeps it in: it repeats what a table
    says.
    """
    rows = connection.execute(
        "select name from pragma_table_list where schema = 'main' and type = 'table'"
        " and name not like 'sqlite\\_%' escape '\\'"
    )
    return sorted(row[0] for row in rows)


def sqlite_problems(connection: apsw.Connection) -> list[str]:
    """The same for the embedded store, where triggers and keys are all the walls there are."""
    problems = []
    for table in sqlite_tables(connection):
        if table in LEDGERS:
            continue
        problems += _sqlite_trigger_problems(connection, table)
        if table not in KEYS_WITHOUT_WORKSPACE:
            problems += _sqlite_key_problems(connection, table)
        [strict] = (
            connection.execute("select strict from pragma_table_list where name = ?", (table,)).get,
        )
        if not strict:
            problems.append(f"{table}: is not STRICT")
    return problems


def _sqlite_trigger_problems(connection: apsw.Connection, table: str) -> list[str]:
    rows = connection.execute(
        "select sql from sqlite_schema where type = 'trigger' and tbl_name = ?", (table,)
    )
    guarded = {
        match[1]
        for (sql,) in rows
        if (match := re.search(r"\bbefore (update|delete|insert) on\b", sql))
    }
    names = {"update": "update", "delete": "delete", "insert": "replace"}
    return [
        f"{table}: no trigger guards {name}" for verb, name in names.items() if verb not in guarded
    ]


def _sqlite_key_problems(connection: apsw.Connection, table: str) -> list[str]:
    problems = []
    first = connection.execute("select name from pragma_table_info(?) where pk = 1", (table,)).get
    if first != "workspace_id":
        problems.append(f"{table}: primary key does not begin with workspace_id")
    rows = connection.execute(
        "select l.name, (select i.name from pragma_index_info(l.name) i where i.seqno = 0) "
        "from pragma_index_list(?) l"
        ' where l."unique"',
        (table,),
    )
    problems += [
        f"{table}: unique index {name} does not begin with workspace_id"
        for name, column in rows
        if column != "workspace_id"
    ]
    keys = connection.execute(
        'select id, seq, "from", "to", on_delete, on_update from pragma_foreign_key_list(?)',
        (table,),
    )
    for number, place, here, there, on_delete, on_update in keys:
        if place == 0 and (here, there) != ("workspace_id", "workspace_id"):
            problems.append(f"{table}: foreign key {number} does not begin with workspace_id")
        if {on_delete, on_update} - {"NO ACTION", "RESTRICT"}:
            problems.append(f"{table}: foreign key {number} cascades")
    return problems
