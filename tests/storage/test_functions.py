"""Functions on PostgreSQL: which there are, in which order they are installed, and that a change
raises the number.
"""

from holdfast.storage import functions, functions_number
from tools.functions import describe_functions


def test_a_changed_function_has_a_higher_number():
    assert functions.compute_checksum() == functions_number.CHECKSUM, (
        "A function was changed: `make docs` raises the number of the functions."
    )


def test_the_number_is_raised_with_a_change_and_only_then(monkeypatch):
    assert f"NUMBER = {functions.NUMBER}\n" in describe_functions()

    monkeypatch.setattr(functions_number, "CHECKSUM", "of other functions")

    assert f"NUMBER = {functions.NUMBER + 1}\n" in describe_functions()
    assert functions.compute_checksum() in describe_functions()


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
