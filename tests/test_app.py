"""The composition root: one store, opened once and late, driven by hand on SQLite and on a loop
elsewhere.
"""

import asyncio
import os
import socket
import sys
import threading
from pathlib import Path
from typing import Any

import apsw
import asyncpg
import pytest

from holdfast import errors
from holdfast.app import App
from holdfast.ground.settings import Settings, load_settings
from holdfast.sessions.errors import SessionNotFoundError
from holdfast.storage.errors import NotADatabaseError, StoreClosedError

EVENT_ID = "01a1e0aa-0000-7000-8000-000000000001"


@pytest.fixture
def settings(database_url: str, workspace: str, tmp_path: Path) -> Settings:
    """On both engines."""
    return Settings(
        home=str(tmp_path / "holdfast"), database=database_url, workspace=workspace, developer="ana"
    )


def record(settings: Settings, **fields: Any) -> dict[str, Any]:
    event = {
        "id": EVENT_ID,
        "type": "user_message",
        "role": "user",
        "content": "hello",
        "parts": None,
    }
    return {
        "workspace_id": settings.owner.workspace_id,
        "developer_id": settings.owner.developer_id,
        "user_id": "ana",
        "client": "claude",
        "native_id": "n1",
        "worktree": None,
        "event": event,
        **fields,
    }


# --- opening and closing --------------------------------------------------------------------------


def test_nothing_is_opened_before_it_is_needed(tmp_path: Path):
    with App() as app:
        assert app.settings.home == str(tmp_path / "holdfast")

    assert not (tmp_path / "holdfast").exists()


def test_the_store_is_opened_once(settings: Settings):
    with App(settings) as app:
        database = app.database
        session = app.run(app.scope.sessions.create_session("coder", "u1"))

        assert app.run(app.scope.sessions.get_session(session.id)) == session
        assert app.database is database


def test_the_store_is_closed_at_the_end():
    with App() as app:
        sessions = app.scope.sessions

    with pytest.raises(StoreClosedError):
        app.run(sessions.list_sessions())


def test_sqlite_needs_no_event_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "asyncio"]:
        monkeypatch.delitem(sys.modules, name)

    with App() as app:
        app.run(app.scope.sessions.create_session("coder", "u1"))

    assert "asyncio" not in sys.modules


def test_services_act_for_the_developer_of_the_settings(settings: Settings):
    with App(settings) as app:
        app.run(app.scope.sessions.create_session("coder", "u1"))
    other = Settings(
        home=settings.home, database=settings.database, workspace=settings.workspace, developer="bo"
    )

    with App(other) as app:
        assert app.run(app.scope.sessions.list_sessions()) == []


def test_an_error_leaves_the_store_closed(tmp_path: Path):
    with pytest.raises(SessionNotFoundError), App() as app:
        app.run(app.scope.sessions.get_session("nobody"))

    assert not (tmp_path / "holdfast" / "holdfast.db-wal").exists()


# --- patience -------------------------------------------------------------------------------------


def test_a_locked_file_is_waited_for_no_longer_than_asked(tmp_path: Path):
    with App() as app:
        _ = app.database
    connection = apsw.Connection(str(tmp_path / "holdfast" / "holdfast.db"))
    connection.execute("begin immediate")

    with App(wait_seconds=0.05) as app, pytest.raises(errors.StoreBusyError):
        app.run(app.scope.sessions.create_session("coder", "u1"))

    connection.close()


@pytest.mark.own_database
def test_a_locked_table_is_waited_for_no_longer_than_asked(
    postgres_url: str, postgres_owner_url: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HOLDFAST_DATABASE", postgres_url)
    with asyncio.Runner() as runner:
        blocker: Any = runner.run(asyncpg.connect(postgres_owner_url))
        runner.run(blocker.execute("begin; lock table context.sessions"))

        with App(wait_seconds=2.0) as app:
            _ = app.database
            app.wait_seconds = 0.1
            with pytest.raises(errors.StoreBusyError, match=r"holdfast_app:…@") as busy:
                app.run(app.scope.sessions.create_session("coder", "u1"))
            app.wait_seconds = 2.0

        assert "holdfast_app:…@" in busy.value.where
        runner.run(blocker.close())


def test_a_name_that_takes_long_to_be_looked_up_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The look-up itself cannot be interrupted; a caller with a time limit goes without it."""
    asked, answer, ended = threading.Event(), threading.Event(), threading.Event()

    def look_up(*_: object, **__: object) -> list[Any]:
        asked.set()
        answer.wait(30)  # only guards against hanging
        ended.set()
        return []

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    url = "postgresql://ana@db.example/holdfast"
    settings = Settings(home=str(tmp_path), database=url, workspace="local", developer="ana")

    with App(settings, wait_seconds=0.1) as app, pytest.raises(errors.Unavailable):
        _ = app.database

    assert (asked.is_set(), ended.is_set(), app.left_behind) == (True, False, True)
    answer.set()
    ended.wait()


def test_an_app_that_is_not_hurried_leaves_nothing_behind(settings: Settings):
    with App(settings) as app:
        _ = app.database

    assert not app.left_behind


# --- the spool ------------------------------------------------------------------------------------


def test_spooled_records_are_stored_and_counted(settings: Settings):
    with App(settings) as app:
        app.spool.add(record(settings))
        assert app.drain_spool() == 1
        assert app.drain_spool() == 0

        accounts = app.count()

    assert (accounts.accepted, accounts.stored, accounts.spooled, accounts.rejected) == (1, 1, 0, 0)
    assert accounts.sessions == 1


def test_counting_brings_in_what_waits(settings: Settings):
    with App(settings) as app:
        app.spool.add(record(settings))

        assert (app.count().stored, app.spool.is_empty()) == (1, True)


def test_records_removed_from_the_spool_are_counted_as_lost(settings: Settings):
    with App(settings) as app:
        app.spool.add(record(settings))
        os.unlink(app.spool.pending)
        app.spool.add(record(settings, event={**EVENT, "id": EVENT_ID[:-1] + "2"}))

        accounts = app.count()

    assert (accounts.accepted, accounts.stored, accounts.spooled, accounts.lost) == (2, 1, 0, 1)


def test_a_record_of_an_unknown_owner_is_stored_for_the_developer_who_drains_it(settings: Settings):
    with App(settings) as app:
        app.spool.add(record(settings, workspace_id=None, developer_id=None, user_id=None))
        app.drain_spool()

        [session] = app.run(app.scope.sessions.list_sessions())

    assert (session.user_id, session.last_sequence) == ("ana", 1)


def test_a_record_is_stored_for_the_one_it_belongs_to(settings: Settings):
    """The next process drains, and that may be another developer who shares the folder."""
    bo = Settings(
        home=settings.home, database=settings.database, workspace=settings.workspace, developer="bo"
    )
    with App(bo) as app:
        app.spool.add(record(settings))
        app.drain_spool()
        assert app.run(app.scope.sessions.list_sessions()) == []

    with App(settings) as app:
        [session] = app.run(app.scope.sessions.list_sessions())
    assert (session.native_id, session.last_sequence) == ("n1", 1)


def test_a_store_that_cannot_be_opened_leaves_everything_in_the_spool(tmp_path: Path):
    (tmp_path / "notes.txt").write_text("not a database " * 100)
    wrong = load_settings(
        {
            "HOLDFAST_HOME": str(tmp_path / "data"),
            "HOLDFAST_DATABASE": f"sqlite:///{tmp_path}/notes.txt",
        }
    )

    with App(wrong) as app:
        app.spool.add(record(wrong))
        with pytest.raises(NotADatabaseError):
            app.drain_spool()
        assert (app.spool.count_spooled(), app.spool.count_rejected()) == (1, 0)


EVENT = {"id": EVENT_ID, "type": "user_message", "role": "user", "content": "hello", "parts": None}


@pytest.mark.parametrize(
    "fields",
    [
        {"event": None},
        {"event": "text"},
        {"event": {"id": EVENT_ID}},
        {"event": {**EVENT, "role": "king"}},
        {"event": {**EVENT, "id": "7"}},
        {"event": {**EVENT, "parts": []}},
        {"workspace_id": 7},
        {"developer_id": None},
        {"client": ""},
        {"native_id": "two\nlines"},
        {"user_id": []},
        {"worktree": 7},
    ],
)
def test_a_record_that_is_not_whole_is_rejected_and_the_next_is_stored(
    settings: Settings, fields: dict[str, Any]
):
    with App(settings) as app:
        app.spool.add(record(settings, **fields))
        app.spool.add(record(settings, event={**EVENT, "id": EVENT_ID[:-1] + "2"}))

        accounts = app.count()

    assert (accounts.stored, accounts.spooled, accounts.rejected, accounts.lost) == (1, 0, 1, 0)


def test_a_record_with_a_key_missing_is_rejected(settings: Settings):
    whole = record(settings)
    with App(settings) as app:
        for key in whole:
            app.spool.add(
                {
                    "event": {"id": key},
                    **{name: value for name, value in whole.items() if name != key},
                }
            )

        assert (app.count().stored, app.spool.count_spooled()) == (0, 0)
        assert app.count().rejected >= 2
