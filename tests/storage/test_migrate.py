"""Migrations: forward only, once, all or nothing, and never on a store that a newer program has
written.
"""

import hashlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import asyncpg
import pytest

import holdfast
from holdfast.errors import Action
from holdfast.ground.settings import Owner
from holdfast.storage import functions, migrate
from holdfast.storage.database import drive
from holdfast.storage.errors import (
    ChangedMigrationError,
    NewerSchemaError,
    PermissionRefusedError,
    SchemaMissingError,
    SchemaTakenError,
    UnreleasedSchemaError,
    WrongEncodingError,
)
from holdfast.storage.outbox import Outbox
from holdfast.storage.sqlite import open_sqlite
from tests.rig import catalogue
from tests.rig.postgres import APP, OWNER, Cluster, execute
from tests.rig.roles import new_role

pytestmark = pytest.mark.own_database

PROCESSES = 8
# Stores exist that were made with these. One that changes is refused by all of them.
LANDED = {
    "sqlite/0001_tables.sql": "9038d4adf81619a961dd9920b98f2e0b593dd2fbbf20b8f546e63a7a015e28bd",
    "sqlite/0002_observations.sql": (
        "b87ad55e3d972aee57c8051222ab08b481d4cd56db81a85e4ecfefd70ddb7822"
    ),
    "postgres/0001_tables.sql": "a4114012d3a96523aeaf3acb66015dba41bbf5db5fdd70395ade0f2102977044",
    "postgres/0002_observations.sql": (
        "3d6af786165b9bc14ff5ca5be2ef2c67c79d9d2a277a233f5b54697c6bdda513"
    ),
}
NEWEST = migrate.migrations("sqlite")[-1].number
NEXT = NEWEST + 1
NOTES = {
    "sqlite": "create table notes (workspace_id text, note text) strict;\n",
    "postgres": "create table context.notes (workspace_id text, note text);\n",
}


@pytest.fixture
def add_migration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], Path]:
    """What a later version ships: our migrations and one more."""
    folder = tmp_path / "migrations"

    def add(engine: str, sql: str) -> Path:
        if not folder.exists():
            shutil.copytree(migrate.FOLDER, folder)
            monkeypatch.setattr(migrate, "FOLDER", str(folder))
        (folder / engine / f"{NEXT:04d}_notes.sql").write_text(sql)
        return folder

    return add


@pytest.fixture
def change_function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """What another version ships: our functions, of which one is different, under a number."""

    def change(number: int) -> None:
        folder = tmp_path / f"package-{number}"
        for kind in functions.KINDS:
            for path in Path(functions.PACKAGE).glob(f"*/{kind}.postgres.sql"):
                copy = folder / path.relative_to(functions.PACKAGE)
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_text(
                    path.read_text().replace("coalesce(max(o.id), 0)", "coalesce(max(o.id), 4711)")
                )
        monkeypatch.setattr(functions, "PACKAGE", str(folder))
        monkeypatch.setattr(functions, "NUMBER", number)

    return change


def run_together(script: str, *arguments: str) -> list[str]:
    """The same script in several processes that were all started before any of them begins; what
    each said.
    """
    waiting = f"import sys; print('ready', flush=True); sys.stdin.read(1)\n{script}"
    children = [
        subprocess.Popen(
            [sys.executable, "-c", waiting, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for _ in range(PROCESSES)
    ]
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
    said = []
    for child in children:
        assert child.stdin is not None
        child.stdin.write("g")
        child.stdin.flush()
    for child in children:
        said.append(child.communicate(timeout=120)[0])
    return said


@pytest.mark.parametrize("file", LANDED)
def test_a_migration_that_stores_were_made_with_keeps_its_text(file: str):
    assert checksum(Path(migrate.FOLDER) / file) == LANDED[file]


# --- SQLite ---------------------------------------------------------------------------------------


def fill(path: Path) -> str:
    """A store with one session and one event; returns the session's id."""
    database = open_sqlite(str(path))
    service = holdfast.SessionService(database)
    session = drive(service.create_session("architect", "u1"))
    drive(service.append_event(session.id, "user_message", "user", "kept"))
    drive(database.close())
    return session.id


def version_of(path: Path) -> int:
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return connection.pragma("user_version")
    finally:
        connection.close()


def contents(path: Path) -> list[Any]:
    """Schema and rows."""
    connection = apsw.Connection(str(path))
    try:
        rows = [
            list(connection.execute(f"select * from {table}"))
            for table in catalogue.sqlite_tables(connection)
        ]
        return [list(connection.execute("select name, sql from sqlite_schema order by name")), rows]
    finally:
        connection.close()


def checksum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_fresh_file_gets_every_migration_once(tmp_path: Path):
    path = tmp_path / "new" / "folder" / "test.db"

    open_sqlite(str(path)).connection.close()

    connection = apsw.Connection(str(path))
    ledger = list(
        connection.execute(
            "select number, name, checksum, applied_at <> '' from holdfast_migrations"
        )
    )
    assert ledger == [(m.number, m.name, m.checksum, 1) for m in migrate.migrations("sqlite")]
    assert connection.pragma("application_id") == 0x486C6466  # "Hldf": stores on disk have it
    assert connection.pragma("journal_mode") == "wal"
    assert connection.pragma("user_version") == NEWEST
    connection.close()


def test_migrating_again_changes_nothing(tmp_path: Path):
    path = tmp_path / "test.db"
    fill(path)
    before = checksum(path)

    open_sqlite(str(path)).connection.close()

    assert checksum(path) == before
    assert migrate.backups(str(path)) == []


def test_an_upgrade_keeps_every_row_and_a_copy_of_the_old_store(
    tmp_path: Path, add_migration: Callable[[str, str], Path]
):
    """The copy is whole, private, and of the version before."""
    path = tmp_path / "test.db"
    session_id = fill(path)
    before = contents(path)
    add_migration("sqlite", NOTES["sqlite"])

    database = open_sqlite(str(path))

    [event] = drive(holdfast.SessionService(database).get_recent_events(session_id))
    assert event.content == "kept"
    assert list(database.connection.execute("select * from notes")) == []
    drive(database.close())
    [backup] = migrate.backups(str(path))
    assert backup == f"{path}.before-{NEXT}"
    assert os.stat(backup).st_mode & 0o777 == 0o600
    assert contents(Path(backup)) == before
    assert (version_of(path), version_of(Path(backup))) == (NEXT, NEWEST)


def test_a_store_from_before_the_exchange_keeps_its_notices_and_their_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """They were numbered for all developers together, and a listener goes on where it was."""
    path, ours = tmp_path / "test.db", migrate.FOLDER
    older = tmp_path / "migrations"
    shutil.copytree(ours, older)
    for migration in migrate.migrations("sqlite")[2:]:
        (older / "sqlite" / os.path.basename(migration.file)).unlink()
    monkeypatch.setattr(migrate, "FOLDER", str(older))
    connection = open_sqlite(str(path)).connection
    for developer in ("ana", "bo", "ana"):
        connection.execute(
            "insert into outbox (workspace_id, developer_id, topic, data, created_at)"
            " values ('w', ?, 'session.started', '{\"n\": 1}', '2026-11-19T00:00:00.000000Z')",
            (developer,),
        )
    connection.close()
    monkeypatch.setattr(migrate, "FOLDER", ours)

    database = open_sqlite(str(path))

    kept = list(database.connection.execute("select developer_id, id from outbox order by id"))
    assert kept == [("ana", 1), ("bo", 2), ("ana", 3)]
    bo = Owner("w", "bo")
    outbox = Outbox(database, bo)
    end = drive(outbox.end())
    drive(holdfast.SessionService(database, owner=bo).create_session("architect", "u1"))
    [started] = drive(outbox.read(end))
    assert started.topic == "session.started"
    drive(database.close())


def test_a_copy_that_is_there_already_is_kept(
    tmp_path: Path, add_migration: Callable[[str, str], Path]
):
    """After a crash between the copy and the migration the copy is the older one, so it is the one
    to keep.
    """
    path = tmp_path / "test.db"
    fill(path)
    add_migration("sqlite", NOTES["sqlite"])
    backup = Path(f"{path}.before-{NEXT}")
    backup.write_bytes(b"an older copy")

    open_sqlite(str(path)).connection.close()

    assert backup.read_bytes() == b"an older copy"


def test_a_copy_that_was_not_finished_is_made_again(
    tmp_path: Path, add_migration: Callable[[str, str], Path]
):
    """A process was killed while it copied: half a copy must not be taken for a whole one."""
    path = tmp_path / "test.db"
    fill(path)
    before = contents(path)
    add_migration("sqlite", NOTES["sqlite"])
    half = Path(f"{path}.unfinished-backup")
    half.write_bytes(b"half a copy")

    open_sqlite(str(path)).connection.close()

    [backup] = migrate.backups(str(path))
    assert contents(Path(backup)) == before
    assert not half.exists()


def test_eight_processes_upgrade_a_file_once(
    tmp_path: Path, add_migration: Callable[[str, str], Path]
):
    """The first process does it, the others wait and find it done."""
    path = tmp_path / "test.db"
    fill(path)
    folder = add_migration("sqlite", NOTES["sqlite"])

    said = run_together(
        "from holdfast.storage import migrate\n"
        "migrate.FOLDER = sys.argv[1]\n"
        "from holdfast.storage.sqlite import open_sqlite\n"
        "database = open_sqlite(sys.argv[2])\n"
        "print(len(list(database.connection.execute('select * from holdfast_migrations'))))\n",
        str(folder),
        str(path),
    )

    assert said == [f"{NEXT}\n"] * PROCESSES
    assert len(migrate.backups(str(path))) == 1
    assert [name for name in os.listdir(tmp_path) if "unfinished" in name] == []


def test_eight_processes_make_a_file_once(tmp_path: Path):
    said = run_together(
        "from holdfast.storage.sqlite import open_sqlite\n"
        "database = open_sqlite(sys.argv[1])\n"
        "print(len(list(database.connection.execute('select * from holdfast_migrations'))))\n",
        str(tmp_path / "test.db"),
    )

    assert said == [f"{NEWEST}\n"] * PROCESSES


def test_a_migration_that_was_changed_afterwards_is_refused(
    tmp_path: Path, add_migration: Callable[[str, str], Path]
):
    """The store was made by other text than this version ships, so its content is unknown."""
    path = tmp_path / "test.db"
    fill(path)
    before = contents(path)
    folder = add_migration("sqlite", NOTES["sqlite"])
    first = folder / "sqlite" / "0001_tables.sql"
    first.write_text(first.read_text() + "-- one more line\n")

    with pytest.raises(ChangedMigrationError, match="0001_tables") as refused:
        open_sqlite(str(path))

    assert (refused.value.exit_code, str(path) in refused.value.message) == (5, True)
    assert contents(path) == before


def test_a_newer_store_is_refused_and_left_as_it_is(
    tmp_path: Path, add_migration: Callable[[str, str], Path], monkeypatch: pytest.MonkeyPatch
):
    """Byte for byte: the newer version may mean something else by every one of them."""
    path = tmp_path / "test.db"
    ours = migrate.FOLDER
    add_migration("sqlite", NOTES["sqlite"])
    fill(path)
    monkeypatch.setattr(migrate, "FOLDER", ours)
    before = checksum(path)

    with pytest.raises(NewerSchemaError, match="Nothing was changed") as refused:
        open_sqlite(str(path))

    assert (refused.value.found, refused.value.known, refused.value.exit_code) == (NEXT, NEWEST, 5)
    assert refused.value.next_actions == (Action("upgrade"),)
    assert checksum(path) == before
    assert [name for name in os.listdir(tmp_path) if name.startswith("test.db-")] == []


@pytest.mark.parametrize("version", [1, 8])
def test_a_file_from_before_the_first_release_is_refused_and_left_as_it_is(
    tmp_path: Path, version: int
):
    path = tmp_path / "test.db"
    connection = apsw.Connection(str(path))
    connection.execute("create table outbox (id integer primary key)")
    connection.execute(
        f"pragma application_id={migrate.UNRELEASED_ID}; pragma user_version={version}"
    )
    connection.close()
    before = checksum(path)

    with pytest.raises(UnreleasedSchemaError, match="HOLDFAST_DATABASE to another file") as refused:
        open_sqlite(str(path))

    assert (refused.value.exit_code, str(path) in refused.value.message) == (5, True)
    assert checksum(path) == before


def test_a_migration_that_fails_leaves_the_old_schema(
    tmp_path: Path, add_migration: Callable[[str, str], Path]
):
    """Whatever it did before it failed is undone; and when it is fixed, it continues from there."""
    path = tmp_path / "test.db"
    fill(path)
    before = contents(path)
    add_migration(
        "sqlite",
        NOTES["sqlite"]
        + "insert into notes values ('a', 'b');\ninsert into notes values ('a', x'00');\n",
    )

    with pytest.raises(apsw.ConstraintError, match="cannot store BLOB"):
        open_sqlite(str(path))
    assert contents(path) == before

    add_migration("sqlite", NOTES["sqlite"])
    open_sqlite(str(path)).connection.close()
    assert version_of(path) == NEXT


MIGRATE_AND_DIE = """
import apsw, os, signal, sys
from holdfast.storage import functions, migrate
migrate.FOLDER = sys.argv[1]
from holdfast.storage.sqlite import open_sqlite
kill = lambda: os.kill(os.getpid(), signal.SIGKILL)
apsw.connection_hooks.append(lambda c: c.create_scalar_function("kill_me", kill))
open_sqlite(sys.argv[2])
"""


def test_a_process_that_is_killed_half_way_leaves_the_old_schema(
    tmp_path: Path, add_migration: Callable[[str, str], Path]
):
    """kill -9 inside the migration, and the next process finishes the work."""
    path = tmp_path / "test.db"
    fill(path)
    before = contents(path)
    folder = add_migration("sqlite", NOTES["sqlite"] + "select kill_me();\n")

    done = subprocess.run(
        [
            sys.executable,
            "-c",
            MIGRATE_AND_DIE,
            str(folder),
            str(path),
        ],
        timeout=60,
    )
    assert done.returncode == -signal.SIGKILL
    assert contents(path) == before

    add_migration("sqlite", NOTES["sqlite"])
    open_sqlite(str(path)).connection.close()
    assert version_of(path) == NEXT


# --- PostgreSQL -----------------------------------------------------------------------------------


@pytest.fixture
def empty_database(postgres: Cluster, postgres_template: str) -> Any:
    """A database without anything; the roles are there, because the template was made."""
    name = postgres.create_database()
    yield name
    postgres.drop_database(name)


async def open_and_close(url: str) -> None:
    async with holdfast.open_database(url):
        pass


def schema_of(url: str) -> list[Any]:
    """Tables, functions and the list of migrations."""
    return [
        execute(url, catalogue.TABLES),
        execute(
            url,
            "select oid::regprocedure::text, md5(prosrc) from pg_proc"
            " where pronamespace::regnamespace::text ~ '^(context|holdfast|memori)$' order by 1",
        ),
        execute(url, "select * from holdfast.migrations order by number"),
        execute(url, "select * from holdfast.functions order by number"),
    ]


async def test_a_fresh_database_gets_every_migration_once(postgres: Cluster, empty_database: str):
    names = [migration.name for migration in migrate.migrations("postgres")]
    url = postgres.dsn(empty_database, OWNER)

    assert await migrate.migrate_postgres(url) == names
    before = schema_of(url)
    assert await migrate.migrate_postgres(url) == []

    assert schema_of(url) == before
    assert [(row["number"], row["name"], row["checksum"]) for row in before[2]] == [
        (migration.number, migration.name, migration.checksum)
        for migration in migrate.migrations("postgres")
    ]
    assert [(row["number"], row["checksum"]) for row in before[3]] == [
        (functions.NUMBER, functions.compute_checksum())
    ]


def test_eight_processes_migrate_a_database_once(postgres: Cluster, empty_database: str):
    said = run_together(
        "import asyncio\n"
        "from holdfast.storage.migrate import migrate_postgres\n"
        "print(len(asyncio.run(migrate_postgres(sys.argv[1]))))\n",
        postgres.dsn(empty_database, OWNER),
    )

    assert sorted(said) == ["0\n"] * (PROCESSES - 1) + [f"{NEWEST}\n"]


async def test_an_upgrade_keeps_every_row(
    postgres_url: str, postgres_owner_url: str, add_migration: Callable[[str, str], Path]
):
    async with holdfast.open_database(postgres_url) as database:
        session = await holdfast.SessionService(database).create_session("architect", "u1")
    add_migration("postgres", NOTES["postgres"])

    async with holdfast.open_database(postgres_owner_url) as database:
        assert (await holdfast.SessionService(database).get_session(session.id)).id == session.id

    assert execute(postgres_owner_url, "select max(number) from holdfast.migrations")[0][0] == NEXT


async def test_only_the_owner_may_upgrade(
    postgres_url: str, add_migration: Callable[[str, str], Path]
):
    """The application says what to do and who has to do it."""
    before = schema_of(postgres_url)
    add_migration("postgres", NOTES["postgres"])

    with pytest.raises(SchemaMissingError) as refused:
        async with holdfast.open_database(postgres_url):
            pass
    assert refused.value.next_actions == (Action("database.migrate"),)
    with pytest.raises(PermissionRefusedError, match="owner's URL"):
        await migrate.migrate_postgres(postgres_url)

    assert schema_of(postgres_url) == before


async def test_a_changed_migration_is_refused_by_postgres_too(
    postgres_owner_url: str, add_migration: Callable[[str, str], Path]
):
    before = schema_of(postgres_owner_url)
    folder = add_migration("postgres", NOTES["postgres"])
    first = folder / "postgres" / "0001_tables.sql"
    first.write_text(first.read_text() + "-- one more line\n")

    with pytest.raises(ChangedMigrationError, match="0001_tables") as refused:
        await migrate.migrate_postgres(postgres_owner_url)

    assert "…@" in refused.value.message, "the password is not shown"
    assert schema_of(postgres_owner_url) == before


@pytest.mark.parametrize("role", [APP, OWNER])
async def test_a_newer_database_is_refused_and_left_as_it_is(
    postgres: Cluster, postgres_database: str, role: str
):
    """Also to its owner, who could change it."""
    execute(
        postgres.dsn(postgres_database, OWNER),
        f"insert into holdfast.migrations (number, name, checksum) values ({NEXT}, 'later', 'x')",
    )
    url = postgres.dsn(postgres_database, role)
    before = schema_of(url)

    with pytest.raises(NewerSchemaError) as refused:
        async with holdfast.open_database(url):
            pass
    if role == OWNER:
        with pytest.raises(NewerSchemaError):
            await migrate.migrate_postgres(url)

    assert (refused.value.found, refused.value.known) == (NEXT, NEWEST)
    assert schema_of(url) == before


async def test_a_database_from_before_the_first_release_is_refused_and_left_as_it_is(
    postgres: Cluster, empty_database: str
):
    """It has eight migrations, and the list of functions is missing."""
    url = postgres.dsn(empty_database, OWNER)
    execute(
        url,
        "create schema holdfast",
        "create table holdfast.migrations (number int primary key, name text, checksum text)",
        (
            "insert into holdfast.migrations values (1, '0001_storage', 'x'), (8, "
            "'0008_adopted_memories', 'x')"
        ),
    )

    for attempt in (migrate.migrate_postgres, open_and_close):
        with pytest.raises(UnreleasedSchemaError, match="an empty database") as refused:
            await attempt(url)

    assert refused.value.exit_code == 5
    assert execute(url, "select to_regclass('holdfast.functions')")[0][0] is None

    execute(
        url,
        f"grant usage on schema holdfast to {APP}",
        f"grant select on holdfast.migrations to {APP}",
    )
    with pytest.raises(UnreleasedSchemaError):  # and is not told that the owner may migrate it
        await open_and_close(postgres.dsn(empty_database, APP))


# --- functions ------------------------------------------------------------------------------------


def outbox_end(url: str) -> int:
    """What the function answers that another version has otherwise."""
    number: int = execute(url, "select id from holdfast.outbox_end('w', 'd')")[0][0]
    return number


async def test_functions_of_a_higher_number_replace_those_that_are_installed(
    postgres_url: str, postgres_owner_url: str, change_function: Callable[[int], None]
):
    """Once, by the owner; the application may call them, and its rows stay."""
    async with holdfast.open_database(postgres_url) as database:
        session = await holdfast.SessionService(database).create_session("architect", "u1")
    assert outbox_end(postgres_url) == 0
    change_function(functions.NUMBER + 1)

    assert await migrate.migrate_postgres(postgres_owner_url) == [f"functions_{functions.NUMBER}"]
    assert await migrate.migrate_postgres(postgres_owner_url) == []

    assert outbox_end(postgres_url) == 4711
    async with holdfast.open_database(postgres_url) as database:
        assert (await holdfast.SessionService(database).get_session(session.id)).id == session.id


async def test_opening_replaces_functions_where_the_role_may(
    postgres_url: str, postgres_owner_url: str, change_function: Callable[[int], None]
):
    change_function(functions.NUMBER + 1)

    with pytest.raises(SchemaMissingError) as refused:
        await open_and_close(postgres_url)
    assert refused.value.next_actions == (Action("database.migrate"),)
    await open_and_close(postgres_owner_url)

    assert outbox_end(postgres_url) == 4711
    await open_and_close(postgres_url)


async def test_functions_of_the_same_number_and_another_text_are_refused(
    postgres_owner_url: str, change_function: Callable[[int], None]
):
    """A function was changed without raising the number: it is unknown which of the
    two is meant.
    """
    before = schema_of(postgres_owner_url)
    change_function(functions.NUMBER)

    with pytest.raises(ChangedMigrationError, match=f"functions_{functions.NUMBER}"):
        await migrate.migrate_postgres(postgres_owner_url)

    assert schema_of(postgres_owner_url) == before


@pytest.mark.parametrize("role", [APP, OWNER])
async def test_an_older_program_neither_replaces_newer_functions_nor_runs_on_them(
    postgres: Cluster, postgres_database: str, role: str, change_function: Callable[[int], None]
):
    """As with a newer schema."""
    ours = functions.NUMBER
    change_function(ours + 1)
    await migrate.migrate_postgres(postgres.dsn(postgres_database, OWNER))
    url = postgres.dsn(postgres_database, role)
    before = schema_of(url)
    change_function(ours)

    with pytest.raises(
        NewerSchemaError, match=f"has functions {ours + 1}; this version of Holdfast knows {ours}"
    ):
        await open_and_close(url)
    if role == OWNER:
        with pytest.raises(NewerSchemaError):
            await migrate.migrate_postgres(url)

    assert schema_of(url) == before


async def test_a_function_of_another_program_is_not_replaced(
    postgres: Cluster, empty_database: str
):
    """Its schema is shared with a table that we would adopt; what was there stays."""
    url = postgres.dsn(empty_database, OWNER)
    theirs = (
        "create function memori.hold_content(p_workspace text, p_developer text, p_hash bytea)"
        " returns void"
    )
    execute(url, "create schema memori", f"{theirs} language sql as ''")

    with pytest.raises(asyncpg.DuplicateFunctionError):
        await migrate.migrate_postgres(url)

    assert (
        execute(url, "select prosrc from pg_proc where pronamespace = 'memori'::regnamespace")[0][0]
        == ""
    )


# --- half way, and whose --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("end", "error"),
    [
        ("select 1 / 0;", asyncpg.DivisionByZeroError),
        ("select pg_terminate_backend(pg_backend_pid());", holdfast.errors.StoreUnreachableError),
    ],
    ids=["an error", "a lost connection"],
)
async def test_a_migration_that_ends_half_way_leaves_the_old_schema_on_postgres(
    end: str,
    error: type[Exception],
    postgres_owner_url: str,
    add_migration: Callable[[str, str], Path],
):
    before = schema_of(postgres_owner_url)
    add_migration("postgres", f"{NOTES['postgres']}{end}\n")

    with pytest.raises(error):
        await migrate.migrate_postgres(postgres_owner_url)
    assert schema_of(postgres_owner_url) == before

    add_migration("postgres", NOTES["postgres"])
    assert await migrate.migrate_postgres(postgres_owner_url) == [f"{NEXT:04d}_notes"]


async def test_a_role_that_makes_no_roles_can_migrate_where_the_group_exists(
    postgres: Cluster, empty_database: str
):
    """Many hosts give an owner of one database and nothing else."""
    with new_role(postgres, empty_database, "nocreaterole in role holdfast_runtime") as role:
        execute(postgres.dsn(), f"alter database {empty_database} owner to {role.name}")

        assert await migrate.migrate_postgres(role.url) == [
            m.name for m in migrate.migrations("postgres")
        ]


async def test_a_schema_of_another_role_is_refused_with_its_owner_named(
    postgres: Cluster, postgres_database: str
):
    """A role that may create schemas, and finds ours already there."""
    before = schema_of(postgres.dsn(postgres_database))
    with new_role(postgres, postgres_database, "in role holdfast_runtime") as role:
        execute(postgres.dsn(), f"grant create on database {postgres_database} to {role.name}")

        with pytest.raises(PermissionRefusedError, match=f"belong to '{OWNER}'.*owner's URL"):
            await migrate.migrate_postgres(role.url)

    assert schema_of(postgres.dsn(postgres_database)) == before


@pytest.mark.parametrize(
    ("schema", "statement"),
    [
        ("context", "create table context.sessions (id uuid primary key)"),
        ("context", "create view context.theirs as select 1"),
        ("context", "create function context.theirs() returns int language sql as 'select 1'"),
        ("holdfast", "create table holdfast.theirs (id int)"),
    ],
)
async def test_a_schema_that_another_program_uses_is_left_as_it_is(
    schema: str, statement: str, postgres: Cluster, empty_database: str
):
    """The seed's own tables, for one. What we grant would be granted on theirs as well."""
    url = postgres.dsn(empty_database, OWNER)
    execute(url, f"create schema {schema}", statement)

    for attempt in (migrate.migrate_postgres, open_and_close):
        with pytest.raises(SchemaTakenError) as refused:
            await attempt(url)

    rename = Action("database.run", statement=f"ALTER SCHEMA {schema} RENAME TO {schema}_before")
    assert (refused.value.schema, refused.value.exit_code) == (schema, 5)
    assert refused.value.next_actions == (rename,)
    found = execute(
        url, "select nspname from pg_namespace where nspname in ('context', 'holdfast')"
    )
    assert [row[0] for row in found] == [schema]
    assert execute(url, "select to_regclass('holdfast.migrations')")[0][0] is None


async def test_a_schema_of_our_name_that_is_empty_is_used(postgres: Cluster, empty_database: str):
    """An administrator may have made it for us."""
    url = postgres.dsn(empty_database, OWNER)
    execute(url, "create schema context", "create schema holdfast")

    assert len(await migrate.migrate_postgres(url)) == NEWEST


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
async def test_a_database_that_does_not_keep_every_text_is_refused(
    postgres: Cluster, encoding: str
):
    name = f"{postgres.run}_{encoding.lower()}_{os.getpid()}"
    execute(
        postgres.dsn(),
        f"create database {name} owner {OWNER} encoding '{encoding}' locale 'C' template template0",
    )
    try:
        url = postgres.dsn(name, OWNER)
        for attempt in (migrate.migrate_postgres, open_and_close):
            with pytest.raises(WrongEncodingError, match=f"{encoding}.*the encoding UTF8"):
                await attempt(url)
        assert (
            execute(url, "select 1 from pg_namespace where nspname in ('context', 'holdfast')")
            == []
        )
    finally:
        postgres.drop_database(name)


def test_the_list_of_migrations_cannot_be_emptied(postgres_owner_url: str):
    """By its owner either, who would migrate everything once more."""
    with pytest.raises(
        asyncpg.RestrictViolationError, match=r"holdfast\.migrations is append-only"
    ):
        execute(postgres_owner_url, "truncate holdfast.migrations")

    assert len(execute(postgres_owner_url, "select 1 from holdfast.migrations")) == NEWEST
