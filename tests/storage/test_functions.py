"""Functions on PostgreSQL: which there are, in which order they are installed, and that a change
raises the number.
"""

from holdfast.storage import functions

# To change a function, raise NUMBER and write the new pair here: installed functions are
# replaced by those of a higher number, and by no others.
NUMBER = 1
CHECKSUM = "6465bf3764cc6e129c73c34f1d60507b0814d87d52c57a6961b7ab9954daa90a"


def test_a_changed_function_has_a_higher_number():
    assert (functions.NUMBER, functions.compute_checksum()) == (NUMBER, CHECKSUM), (
        "A function was changed: raise functions.NUMBER, and write the new number and "
        "checksum here."
    )


def test_an_adopted_table_has_functions_of_its_own_under_the_same_names():
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
