"""R24: a SQLite that can lose a committed write is refused before it touches a file."""

from pathlib import Path

import apsw
import pytest

from holdfast.errors import Action
from holdfast.storage.errors import SqliteTooOldError
from holdfast.storage.sqlite import check_version
from tests.faults.audit import audit, new_session

TOO_OLD = ["3.7.0", "3.8.11.1", "3.40.1", "3.51.2", "3.51.0", "2.8.17"]
NEW_ENOUGH = ["3.51.3", "3.51.10", "3.52.0", "3.54.1", "3.100.0", "4.0.0"]


@pytest.mark.parametrize("version", TOO_OLD)
def test_an_old_sqlite_is_refused_with_what_to_install(version: str) -> None:
    """The versions in which a checkpoint that races a write can drop a committed transaction."""
    with pytest.raises(SqliteTooOldError) as refused:
        check_version(version)

    assert version in str(refused.value)
    assert "3.51.3" in str(refused.value)
    assert refused.value.next_actions == (Action("sqlite.upgrade"),)


@pytest.mark.parametrize("version", NEW_ENOUGH)
def test_a_newer_sqlite_is_accepted(version: str) -> None:
    """Compared as numbers: 3.100 is newer than 3.51."""
    check_version(version)


def test_the_installed_sqlite_is_new_enough() -> None:
    """The wheel that we depend on carries one."""
    check_version(apsw.sqlite_lib_version())


def test_a_store_is_not_opened_by_an_old_sqlite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither one that is there nor a new one: nothing is made, nothing is changed."""
    url, new = f"sqlite:///{tmp_path / 'test.db'}", tmp_path / "new" / "test.db"
    session_id = new_session(url)
    before = (tmp_path / "test.db").read_bytes()
    with monkeypatch.context() as old:
        old.setattr(apsw, "sqlite_lib_version", lambda: "3.51.2")

        for refused in (url, f"sqlite:///{new}"):
            with pytest.raises(SqliteTooOldError, match=r"3\.51\.2"):
                new_session(refused)

    assert not new.parent.exists()
    assert (tmp_path / "test.db").read_bytes() == before
    assert audit(url, session_id) == []
