"""Named queries: how a file of them is read."""

from pathlib import Path

import pytest

from holdfast.storage.queries import Room

FILE = """-- find_note
-- One note by its id.
select id, note
from notes
where workspace_id = ?1 and id = ?2;

-- add_note
-- The insert first, then what is there:
-- two lines of why are one sentence.
insert into notes (workspace_id, id, note)
values (?1, ?2, 'a; b');
select id, note from notes where workspace_id = ?1 and id = ?2;
"""


@pytest.fixture
def room(tmp_path: Path) -> Room:
    (tmp_path / "queries.sqlite.sql").write_text(FILE)
    return Room("notes", str(tmp_path / "store.py"), functions={"twice": lambda value: value * 2})


def test_a_query_has_a_name_a_why_and_statements(room: Room):
    query = room["find_note"]

    assert (query.name, query.why) == ("find_note", "One note by its id.")
    assert query.statements == ("select id, note\nfrom notes\nwhere workspace_id = ?1 and id = ?2",)


def test_several_statements_keep_their_order_and_their_texts(room: Room):
    """A semicolon inside a text ends nothing."""
    query = room["add_note"]

    assert query.why == "The insert first, then what is there: two lines of why are one sentence."
    assert [statement.split()[0] for statement in query.statements] == ["insert", "select"]
    assert "'a; b'" in query.statements[0]


def test_on_postgres_a_query_is_a_function_of_the_rooms_schema(room: Room):
    assert room["find_note"].function == "notes.find_note"
    assert room["find_note"].room is room


def test_a_file_is_read_once_and_only_when_it_is_needed(room: Room, tmp_path: Path):
    """A process that never asks this room pays nothing for it."""
    first = room["find_note"]
    (tmp_path / "queries.sqlite.sql").unlink()

    assert room["find_note"] is first
    assert list(room.queries) == ["find_note", "add_note"]


def test_an_unknown_query_name_raises_a_key_error(room: Room):
    with pytest.raises(KeyError, match="lose_note"):
        room["lose_note"]
