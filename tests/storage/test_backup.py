"""`holdfast admin backup FILE`: a file of that name exists only where it is a whole copy."""

import os
from pathlib import Path

import pytest

import holdfast
from holdfast.storage.backup import take_password
from holdfast.storage.errors import CREATE_BACKUP_ROLE
from tests.rig.commands import run_process
from tests.rig.restoring import Backups, PostgresBackups, backups, mode_of, programs

__all__ = ["backups", "programs"]

INVALID, REFUSED, UNAVAILABLE = 2, 5, 6


@pytest.fixture
async def session_id(database_url: str) -> str:
    async with holdfast.open_database(database_url) as database:
        session = await holdfast.SessionService(database).create_session("architect", "u1")
        return session.id


def test_a_backup_is_one_private_file(backups: Backups, disk_path: Path, session_id: str):
    before = set(disk_path.iterdir())
    file = disk_path / "backup"

    made = backups.make(file)

    assert made.code == 0, made
    assert set(disk_path.iterdir()) - before == {file}
    assert (mode_of(file), made.document["bytes"]) == (0o600, file.stat().st_size)
    assert made.document["spooled"] == 0


def test_a_file_that_exists_is_left_as_it_is(backups: Backups, disk_path: Path, session_id: str):
    file = disk_path / "backup"
    file.write_text("mine")

    made = backups.make(file)

    assert (made.code, file.read_text()) == (INVALID, "mine")
    assert "exists already" in made.document["message"]


def test_a_link_is_not_followed(backups: Backups, disk_path: Path, session_id: str):
    file = disk_path / "backup"
    file.symlink_to(disk_path / "elsewhere")

    assert backups.make(file).code == INVALID
    assert not (disk_path / "elsewhere").exists()


def test_a_folder_that_is_missing_is_named(backups: Backups, disk_path: Path, session_id: str):
    made = backups.make(disk_path / "missing" / "backup")

    assert made.code == INVALID
    assert str(disk_path / "missing" / "backup") in made.document["message"]


def test_a_store_that_is_missing_is_not_made(disk_path: Path):
    made = run_process("admin", "backup", str(disk_path / "backup"), "--json")

    assert made.code == UNAVAILABLE
    assert list(disk_path.iterdir()) == []
    assert not Path(os.environ["HOLDFAST_HOME"], "holdfast.db").exists()


# --- PostgreSQL -----------------------------------------------------------------------------------

on_postgres = pytest.mark.parametrize("database_url", ["postgres"], indirect=True)


@on_postgres
def test_a_role_that_sees_only_some_rows_makes_no_copy(
    backups: PostgresBackups, postgres_owner_url: str, database_url: str, disk_path: Path
):
    """The owner's rows are behind the same walls."""
    for url in (database_url, postgres_owner_url):
        backups.url = url
        made = backups.make(disk_path / "backup")

        assert made.code == REFUSED
        assert made.document["code"] == "partial_backup"
        assert CREATE_BACKUP_ROLE in str(made.document["next_actions"])
        assert list(disk_path.iterdir()) == []


@on_postgres
@pytest.mark.parametrize(
    ("program", "problem"),
    [(None, "pg_dump is missing"), ("echo 'pg_dump (PostgreSQL) 12.7 (Debian)'", "version 12.7")],
)
def test_a_program_that_is_missing_or_too_old_is_named(
    program: str | None, problem: str, backups: PostgresBackups, disk_path: Path
):
    folder = disk_path / "programs"
    folder.mkdir()
    if program:
        file = folder / "pg_dump"
        file.write_text(f"#!/bin/sh\n{program}\n")
        file.chmod(0o755)

    made = backups.make(disk_path / "backup", PATH=str(folder))

    assert made.code == UNAVAILABLE
    assert made.document["code"] == "dump_program"
    assert problem in made.document["message"]
    assert list(disk_path.iterdir()) == [folder]


@on_postgres
def test_what_stops_the_copy_is_told_and_leaves_nothing(backups: PostgresBackups, disk_path: Path):
    folder = disk_path / "programs"
    folder.mkdir()
    file = folder / "pg_dump"
    file.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && echo "pg_dump (PostgreSQL) 99.1" && exit\n'
        'echo "$*" >"$0.arguments"\necho "pg_dump: error: the disk is full" >&2\nexit 1\n'
    )
    file.chmod(0o755)

    made = backups.make(disk_path / "backup", PATH=f"{folder}:{os.environ['PATH']}")

    assert made.code == UNAVAILABLE
    assert "the disk is full" in made.document["message"]
    assert list(disk_path.iterdir()) == [folder]
    _, password = take_password(backups.url)
    assert password
    assert password not in (folder / "pg_dump.arguments").read_text() + made.out + made.err


@pytest.mark.parametrize(
    ("url", "without", "password"),
    [
        ("postgresql://ana:p%40ss@db/h", "postgresql://ana@db/h", "p@ss"),
        (
            "postgresql://ana@db:5/h?password=x&sslmode=require",
            "postgresql://ana@db:5/h?sslmode=require",
            "x",
        ),
        ("postgresql://db1:1,db2:2/h", "postgresql://db1:1,db2:2/h", ""),
        ("postgresql:///h?host=%2Frun", "postgresql:///h?host=%2Frun", ""),
    ],
)
def test_the_password_is_taken_out_of_a_url(url: str, without: str, password: str):
    assert take_password(url) == (without, password)
