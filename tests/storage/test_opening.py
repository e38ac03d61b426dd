"""Opening a store: every way in which it cannot be opened has its own words, its own exit code, and
changes nothing.
"""

import asyncio
import os
import stat
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import apsw
import asyncpg
import pytest

import holdfast
from holdfast.errors import (
    Action,
    HoldfastError,
    InvalidValueError,
    StoreBusyError,
    StoreReadOnlyError,
    StoreUnreachableError,
)
from holdfast.storage.errors import (
    LoginRefusedError,
    NotADatabaseError,
    PermissionRefusedError,
    SchemaMissingError,
    StoreClosedError,
)
from holdfast.storage.migrate import migrate_postgres
from holdfast.storage.opening import as_database
from holdfast.storage.postgres import UnsafeRoleWarning
from tests.rig.postgres import APP, OWNER, RUNTIME, Cluster, execute
from tests.rig.roles import new_role

pytestmark = pytest.mark.own_database


async def open_and_close(url: str) -> None:
    async with holdfast.open_database(url):
        pass


# --- files ----------------------------------------------------------------------------------------


async def test_a_missing_store_is_created_for_this_user_only(tmp_path: Path):
    """With the folders above it, for this user only."""
    path = tmp_path / "a" / "b" / "test.db"

    async with holdfast.open_database(f"sqlite:///{path}") as database:
        assert database.engine == "sqlite"

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


async def test_without_a_url_the_settings_say_where(tmp_path: Path):
    async with holdfast.open_database():
        pass

    assert (tmp_path / "holdfast" / "holdfast.db").exists()


async def test_an_empty_file_becomes_a_store(tmp_path: Path):
    """A person made the file beforehand, perhaps to give it its rights."""
    path = tmp_path / "test.db"
    path.touch(mode=0o600)

    await open_and_close(f"sqlite:///{path}")

    assert path.stat().st_size > 0


@pytest.mark.parametrize(
    "content", [b"some notes\n", b"\x00" * 4096, b"SQLite format 3\x00" + b"\xff" * 4080, b"x\n"]
)
async def test_a_file_that_is_not_a_database_is_left_unchanged(tmp_path: Path, content: bytes):
    path = tmp_path / "notes.txt"
    path.write_bytes(content)

    with pytest.raises(HoldfastError) as refused:
        await open_and_close(f"sqlite:///{path}")

    assert refused.value.exit_code in (2, 6)
    assert str(path) in refused.value.message
    assert path.read_bytes() == content
    assert sorted(os.listdir(tmp_path)) == ["home", "notes.txt"]


async def test_a_text_file_is_called_no_database(tmp_path: Path):
    path = tmp_path / "notes.txt"
    path.write_text("some notes\n" * 100)

    with pytest.raises(NotADatabaseError, match="is not a SQLite database"):
        await open_and_close(f"sqlite:///{path}")


@pytest.mark.parametrize(
    "statement",
    ["create table theirs (a)", "pragma user_version = 7", "pragma application_id = 99"],
)
async def test_a_database_of_another_program_is_left_as_it_is(tmp_path: Path, statement: str):
    path = tmp_path / "theirs.db"
    connection = apsw.Connection(str(path))
    connection.execute(
        f"{statement}; create table if not exists theirs (a); insert into theirs values (1)"
    )
    connection.close()
    before = path.read_bytes()

    with pytest.raises(NotADatabaseError, match="of another program") as refused:
        await open_and_close(f"sqlite:///{path}")

    assert refused.value.exit_code == 2
    assert path.read_bytes() == before


@pytest.mark.parametrize("kind", ["folder", "fifo", "device", "socket folder"])
async def test_a_path_that_is_not_a_regular_file_is_refused_without_waiting(
    tmp_path: Path, kind: str
):
    """A FIFO would wait for a writer for ever."""
    path = tmp_path / "thing"
    if kind == "folder":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "device":
        path = Path("/dev/null")
    else:
        path = tmp_path / "link"
        path.symlink_to(tmp_path)

    with pytest.raises(NotADatabaseError, match="is not a regular file"):
        await open_and_close(f"sqlite:///{path}")


async def test_a_folder_that_is_a_file_is_named(tmp_path: Path):
    (tmp_path / "file").touch()

    with pytest.raises(HoldfastError) as refused:
        await open_and_close(f"sqlite:///{tmp_path}/file/test.db")

    assert refused.value.exit_code == 6
    assert "file" in refused.value.message


TRY_AS_ANOTHER_USER = """
import asyncio, os, sys
import holdfast
import holdfast.sessions.service, holdfast.storage.group_commit, holdfast.storage.sqlite
from holdfast.errors import HoldfastError

if os.geteuid() == 0:  # after the imports: nobody else may be able to read this Python
    os.setgid(65534)
    os.setuid(65534)

async def main():
    async with holdfast.open_database(f"sqlite:///{sys.argv[1]}") as database:
        await holdfast.SessionService(database).create_session("architect", "u1")

try:
    asyncio.run(main())
except HoldfastError as error:
    print(error.code, error.exit_code)
"""


@pytest.mark.parametrize(
    "wrong",
    [
        "the folder is closed",
        "the folder is read-only",
        "the file is read-only",
        "the file is closed",
    ],
)
def test_a_store_that_cannot_be_written_says_so(tmp_path: Path, wrong: str):
    """As a user whom rights bind."""
    folder = tmp_path / "data"
    folder.mkdir()
    path = folder / "test.db"
    if "file" in wrong:
        asyncio.run(open_and_close(f"sqlite:///{path}"))
        path.chmod(0o444 if "read-only" in wrong else 0o000)
    for above in [folder, *folder.parents[:3]]:
        above.chmod(0o755)
    folder.chmod(
        {"the folder is closed": 0o000, "the folder is read-only": 0o555}.get(wrong, 0o755)
    )
    if os.geteuid() == 0:
        os.chown(folder, 65534, 65534)
        for file in folder.iterdir():
            os.chown(file, 65534, 65534)
    before = [file.read_bytes() for file in folder.glob("test.db")]
    (folder / "test.db.lock").unlink(missing_ok=True)

    done = subprocess.run(
        [sys.executable, "-c", TRY_AS_ANOTHER_USER, str(path)],
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert done.stdout.split() == ["store_read_only", "6"], done.stderr
    folder.chmod(0o755)
    assert [file.read_bytes() for file in folder.glob("test.db")] == before


async def test_a_closed_store_says_that_it_is_closed(database_url: str):
    async with holdfast.open_database(database_url) as database:
        service = holdfast.SessionService(database)
        session = await service.create_session("architect", "u1")

    with pytest.raises((StoreClosedError, StoreUnreachableError)) as refused:
        await service.append_event(session.id, "user_message", "user", "late")

    assert refused.value.exit_code == 6


async def test_closing_twice_does_nothing(database: Any):
    await database.close()
    await database.close()


@pytest.mark.parametrize(
    "url", ["mysql://h/d", "sqlite:///", "", "postgresql://app:secret@h:port/d"]
)
async def test_a_url_that_names_no_store_is_refused_before_anything_is_opened(url: str):
    with pytest.raises(InvalidValueError) as refused:
        holdfast.open_database(url)

    assert (refused.value.exit_code, "secret" in refused.value.message) == (2, False)


# --- servers --------------------------------------------------------------------------------------


async def test_a_server_that_is_down_is_named_without_the_password():
    """Port 1 of this machine: no process listens there."""
    with pytest.raises(
        StoreUnreachableError, match=r"postgresql://app:…@127\.0\.0\.1:1/d"
    ) as refused:
        await open_and_close("postgresql://app:secret@127.0.0.1:1/d")

    assert (refused.value.exit_code, "secret" in str(refused.value)) == (6, False)


@pytest.mark.parametrize(
    ("part", "instead", "cause"),
    [
        ("password", "wrong", "refused the login: the password is wrong"),
        ("database", "no_such_database", 'database "no_such_database" does not exist'),
        ("role", "nobody_here", "or there is no such role"),
    ],
)
async def test_a_wrong_part_of_the_url_is_named(
    postgres: Cluster, postgres_database: str, part: str, instead: str, cause: str
):
    url = postgres.dsn(postgres_database, APP)
    password = url.partition("://")[2].partition("@")[0].partition(":")[2]
    wrong = url.replace(
        {"password": password, "database": postgres_database, "role": APP}[part], instead
    )

    with pytest.raises(LoginRefusedError, match=cause) as refused:
        await open_and_close(wrong)

    assert password not in str(refused.value)
    assert "Check that it runs" not in str(refused.value)


@pytest.mark.parametrize("way", ["open", "migrate"])
@pytest.mark.parametrize(
    "query",
    [
        *(
            "foo=bar",
            "work_mem=much",
            "shared_buffers=1MB",
            "statement_cache_size=none",
            "statement_cache_size=",
        ),
        *("sslmode=foo", "target_session_attrs=foo"),
    ],
)
async def test_an_unknown_url_option_is_named_without_the_password(
    postgres_url: str, query: str, way: str
):
    password = postgres_url.partition("://")[2].partition("@")[0].partition(":")[2]

    with pytest.raises(InvalidValueError, match="HOLDFAST_DATABASE") as refused:
        await {"open": open_and_close, "migrate": migrate_postgres}[way](f"{postgres_url}?{query}")

    assert query.partition("=")[0] in refused.value.message
    assert password not in refused.value.message


@pytest.mark.parametrize("query", ["statement_cache_size=0", "work_mem=5MB&statement_cache_size=0"])
async def test_a_url_can_say_that_statements_are_not_kept(postgres_url: str, query: str):
    """Behind pgbouncer in transaction mode; the rest of the query is the server's."""
    async with holdfast.open_database(f"{postgres_url}?{query}") as database:
        await holdfast.SessionService(database).create_session("architect", "u1")
        async with database.pool.acquire() as connection:
            assert connection._config.statement_cache_size == 0
            assert ("work_mem" in query) == (await connection.fetchval("show work_mem") == "5MB")


async def test_a_role_without_rights_is_refused_with_the_rights_it_needs(
    postgres: Cluster, postgres_database: str
):
    with (
        new_role(postgres, postgres_database) as role,
        pytest.raises(PermissionRefusedError, match="is a member of holdfast_runtime") as refused,
    ):
        await open_and_close(role.url)

    assert refused.value.exit_code == 5
    assert (
        Action("database.run", statement="GRANT holdfast_runtime TO …")
        in refused.value.next_actions
    )


async def test_a_role_of_the_group_is_all_that_is_needed(postgres: Cluster, postgres_database: str):
    with new_role(postgres, postgres_database, f"in role {RUNTIME}") as role:
        async with holdfast.open_database(role.url) as database:
            session = await holdfast.SessionService(database).create_session("architect", "u1")

    assert session.last_sequence == 0


async def test_an_empty_database_is_migrated_by_a_role_that_may(
    postgres: Cluster, postgres_template: str
):
    name = postgres.create_database()
    try:
        async with holdfast.open_database(postgres.dsn(name, OWNER)) as database:
            assert (await database.role()).weakness == "owns the tables"
            await holdfast.SessionService(database).create_session("architect", "u1")
    finally:
        postgres.drop_database(name)


async def test_an_empty_database_and_a_role_that_may_not_create_says_what_to_do(
    postgres: Cluster, postgres_template: str
):
    name = postgres.create_database()
    try:
        with pytest.raises(SchemaMissingError, match="has no Holdfast schema") as refused:
            await open_and_close(postgres.dsn(name, APP))
        assert refused.value.next_actions == (Action("database.migrate"),)
    finally:
        postgres.drop_database(name)


@pytest.mark.parametrize("rights", ["superuser", "bypassrls"])
async def test_a_role_that_bypasses_row_level_security_is_accepted_with_one_warning(
    postgres: Cluster, postgres_database: str, rights: str
):
    """A personal database may be opened with any role, but not without a warning."""

    async def work(url: str) -> None:
        async with holdfast.open_database(url) as database:
            service = holdfast.SessionService(database)
            session = await service.create_session("architect", "u1")
            await service.append_event(session.id, "user_message", "user", "hello")

    with (
        new_role(postgres, postgres_database, f"{rights} in role {RUNTIME}") as role,
        pytest.warns(UnsafeRoleWarning, match="row-level security does not hold") as warned,
    ):
        await work(role.url)

    assert len(warned) == 1


async def test_a_safe_role_is_not_warned_about(postgres_url: str):
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        await open_and_close(postgres_url)

    assert [warning for warning in warned if issubclass(warning.category, UnsafeRoleWarning)] == []


async def test_a_server_without_room_for_another_connection_is_busy(
    postgres: Cluster, postgres_database: str
):
    with (
        new_role(postgres, postgres_database, f"connection limit 0 in role {RUNTIME}") as role,
        pytest.raises(StoreBusyError),
    ):
        await open_and_close(role.url)


async def test_a_write_to_a_read_only_database_is_refused(
    postgres: Cluster, postgres_database: str, postgres_url: str
):
    """A copy of the server, or one that an administrator has closed for writing."""
    execute(
        postgres.dsn(), f"alter database {postgres_database} set default_transaction_read_only = on"
    )
    async with holdfast.open_database(postgres_url) as database:
        service = holdfast.SessionService(database)

        assert await service.list_sessions() == []
        with pytest.raises(
            StoreReadOnlyError, match=r"accepts reads only.*primary server"
        ) as refused:
            await service.create_session("architect", "u1")

    assert "HOLDFAST_HOME" not in refused.value.message


# --- what a caller has ----------------------------------------------------------------------------


async def test_a_plain_pool_is_taken_as_it_is(postgres_url: str):
    """The pool belongs to the caller: nothing is migrated, and it is open afterwards."""
    async with asyncpg.create_pool(postgres_url, min_size=1, max_size=2) as pool:
        service = holdfast.SessionService(pool)
        session = await service.create_session("architect", "u1")
        await service.db.close()

        assert await pool.fetchval("select 1") == 1
        assert (await service.get_session(session.id)).chatmode == "architect"


async def test_a_plain_pool_on_an_empty_database_is_refused_and_creates_nothing(
    postgres: Cluster, postgres_template: str
):
    """And nothing is made there."""
    name = postgres.create_database()
    try:
        async with asyncpg.create_pool(postgres.dsn(name, OWNER), min_size=1, max_size=1) as pool:
            with pytest.raises(SchemaMissingError):
                await holdfast.SessionService(pool).create_session("architect", "u1")
        assert (
            execute(
                postgres.dsn(name),
                "select 1 from pg_namespace where nspname in ('holdfast', 'context')",
            )
            == []
        )
    finally:
        postgres.drop_database(name)


async def test_a_superusers_pool_is_warned_about_once(postgres: Cluster, postgres_database: str):
    """The way many examples do it."""
    async with asyncpg.create_pool(postgres.dsn(postgres_database), min_size=1, max_size=1) as pool:
        service = holdfast.SessionService(pool)
        with pytest.warns(UnsafeRoleWarning, match="is a superuser"):
            await service.create_session("architect", "u1")
        await service.create_session("architect", "u1")


async def test_an_open_database_is_taken_as_it_is(database: Any):
    assert as_database(database) is database


@pytest.mark.parametrize(
    "thing", [None, "postgresql://app:secret@h/d", holdfast.open_database("sqlite:///x.db"), 42]
)
def test_a_value_that_is_not_a_database_or_pool_is_refused_at_once(thing: object):
    """Most often it is the right one, and only not opened yet."""
    with pytest.raises(InvalidValueError, match="async with open_database") as refused:
        holdfast.SessionService(thing)

    assert "secret" not in refused.value.message
