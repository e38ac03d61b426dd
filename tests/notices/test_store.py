"""The two kinds of files: an index that is derived, and lines of what was told."""

import fcntl
import os
from pathlib import Path
from typing import Any

import pytest

from holdfast.notices import store
from holdfast.notices.model import WORDS, Match

ENTRY: dict[str, Any] = {"identity": "u1 rejected", "id": "D1", "kind": "rejected", "text": "Kafka"}


@pytest.fixture
def noted(tmp_path: Path) -> Path:
    """A file that an index depends on, which did not change of late."""
    file = tmp_path / "notes.json"
    file.write_text("{}")
    os.utime(file, (1_700_000_000, 1_700_000_000))
    return file


def save(home: Path, noted: Path, **more: Any) -> store.IndexFile:
    index = store.IndexFile(str(home), "worktree", "main")
    index.save([ENTRY], {"w:kafka": [0]}, store.read_stamps([str(noted)]), **more)
    return index


def test_an_index_is_used_until_a_file_that_it_depends_on_changes(tmp_path: Path, noted: Path):
    index = save(tmp_path / "home", noted)
    found = index.find()

    assert found is not None
    assert found.find("w", "kafka") == [0]
    assert found.entries[0] == ENTRY
    noted.write_text("{} ")
    assert index.find() is None


def test_an_index_of_a_file_that_changed_just_now_is_soon_made_again(
    tmp_path: Path, noted: Path, monkeypatch: pytest.MonkeyPatch
):
    os.utime(noted)
    index = save(tmp_path / "home", noted)
    assert index.find() is not None

    monkeypatch.setattr(store, "SETTLED_SECONDS", 0.0)
    assert index.find() is None


def test_an_index_ends_by_itself(tmp_path: Path, noted: Path):
    assert save(tmp_path / "home", noted, seconds=0.0).find() is None


@pytest.mark.parametrize(
    "damage", [b"", b"{", b'{"version": 1}', b"\x00\xff\n[]", b"[]\n{}", b'{"version": 2}\n{}']
)
def test_what_cannot_be_read_is_no_index(damage: bytes, tmp_path: Path, noted: Path):
    index = save(tmp_path / "home", noted)
    Path(index.path).write_bytes(damage)

    assert index.find() is None


def test_an_entry_is_claimed_once_per_session(tmp_path: Path):
    match = Match(0, ENTRY, WORDS, "kafka")
    one, other = (store.ToldFile(str(tmp_path), "claude", name) for name in ("s1", "s2"))

    assert one.claim([match], {"worktree": "/r"})
    assert not one.claim([match], {"worktree": "/r"})
    assert one.leave_out_told([match]) == []
    assert other.claim([match], {"worktree": "/q"})
    assert [line["native_id"] for line in store.list_told(str(tmp_path))] == ["s2", "s1"]
    assert [line["native_id"] for line in store.list_told(str(tmp_path), "/r")] == ["s1"]


def test_a_session_that_another_process_holds_is_left_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(store, "LOCK_SECONDS", 0.02)
    told = store.ToldFile(str(tmp_path), "claude", "s1")
    told.claim([Match(0, ENTRY, WORDS, "kafka")], {})
    other = Match(1, {**ENTRY, "identity": "u2"}, WORDS, "x")
    with open(told.path, "rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert not told.claim([other], {})
    assert told.claim([other], {})


def test_what_is_old_is_removed_and_all_of_it_when_something_is_forgotten(
    tmp_path: Path, noted: Path
):
    index = save(tmp_path, noted)
    told = store.ToldFile(str(tmp_path), "claude", "s1")
    told.claim([Match(0, ENTRY, WORDS, "kafka")], {})
    os.utime(index.path, (1_700_000_000, 1_700_000_000))

    store.remove_unused(str(tmp_path))
    assert not os.path.exists(index.path)
    assert os.path.exists(told.path)
    store.clear(str(tmp_path))
    assert store.list_told(str(tmp_path)) == []
