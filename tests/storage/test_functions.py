"""Functions on PostgreSQL: which there are, in which order they are installed, and that a change
raises the number.
"""

from holdfast.storage import functions

# Whoever changes a function raises NUMBER and writes the new pair here: installed functions are
# replaced by those of a higher number, and by no others.
NUMBER = 1
CHECKSUM = "a423815667500d1405c12929896b413920522b6f2ea0f35a0cd9c093a8720631"


def test_a_changed_function_has_a_higher_number():
    assert (functions.NUMBER, functions.compute_checksum()) == (NUMBER, CHECKSUM), (
        "A function was changed: raise functions.NUMBER, and write the new number and checksum here."
    )


def test_where_another_program_made_the_table_its_functions_take_the_place_of_ours():
    ours = [functions.full_name(block) for block in functions.list_verbs(is_adopted=False)]
    theirs = functions.list_verbs(is_adopted=True)
    names = [functions.full_name(block) for block in theirs]

    assert set(names) - set(ours) == {"memori.moment"}
    assert len(set(names)) == len(names)
    [searching] = [block for block in theirs if block.name == "find_candidates"]
    assert "security definer" not in searching.sql


def test_a_reworded_reason_changes_no_checksum(tmp_path, monkeypatch):
    monkeypatch.setattr(functions, "PACKAGE", str(tmp_path))
    file = tmp_path / "notes" / "queries.postgres.sql"
    file.parent.mkdir()
    statement = "create or replace function notes.find() returns int language sql as 'select 1';\n"
    file.write_text(f"-- find\n-- One reason.\n{statement}")
    before = functions.compute_checksum()

    file.write_text(f"-- find\n-- Another reason.\n{statement}")
    assert functions.compute_checksum() == before
    file.write_text(f"-- find\n-- Another reason.\n{statement.replace('1', '2')}")
    assert functions.compute_checksum() != before
