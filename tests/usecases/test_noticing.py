"""Which edits of a hook count: those of files in this working tree, and of them what is new."""

from pathlib import Path
from typing import Any

import pytest

from holdfast.usecases import noticing


def list_paths(tmp_path: Path, tool_input: object) -> list[str]:
    found = noticing.list_edits({"tool_input": tool_input}, str(tmp_path), str(tmp_path))
    return [edit.path for edit in found]


@pytest.mark.parametrize(
    "tool_input",
    [
        {"file_path": "/etc/hosts", "old_string": "", "new_string": "import redis\n"},
        {"file_path": "../outside.py", "content": "import redis\n"},
        {"file_path": "src/\x00.py", "new_string": "import redis\n"},
        {"file_path": ["src/a.py"], "new_string": {"a": 1}},
        {"file_path": ".git/config", "new_string": "import redis\n"},
        {"file_path": "src/a.py"},
        {"edits": "none", "file_path": "src/a.py"},
        {"patchText": "*** Begin Patch\n*** End Patch"},
        {"command": "*** Begin Patch\n*** Add File: ../x.py\n+import redis\n*** End Patch"},
        "import redis",
        None,
    ],
    ids=repr,
)
def test_what_is_not_an_edit_of_this_tree_is_none(tool_input: object, tmp_path: Path):
    assert list_paths(tmp_path, tool_input) == []


def test_a_link_that_leads_out_of_the_tree_is_outside(tmp_path: Path):
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "out").symlink_to(tmp_path)

    assert list_paths(inside, {"file_path": "out/q.py", "content": "x"}) == []
    assert list_paths(inside, {"file_path": "q.py", "content": "x"}) == ["q.py"]


def test_a_patch_and_several_edits_are_read_file_by_file(tmp_path: Path):
    patch = (
        "*** Begin Patch\n*** Update File: a.py\n@@\n x = 1\n-y = 2\n+y = 3\n"
        "*** Add File: b.py\n+import redis\n*** End Patch\n"
    )
    one, two = noticing.list_edits(
        {"tool_input": {"patchText": patch}}, str(tmp_path), str(tmp_path)
    )
    assert (one.path, one.added, one.removed) == ("a.py", {"y = 3"}, "y = 2")
    assert (two.path, two.added) == ("b.py", {"import redis"})
    several: list[dict[str, Any]] = [{"old_string": "a", "new_string": "b"}, {"new_string": "c"}]
    assert list_paths(tmp_path, {"file_path": "c.py", "edits": [*several, 3]}) == ["c.py", "c.py"]


def test_of_a_whole_file_only_what_is_new_counts(tmp_path: Path):
    (tmp_path / "a.py").write_text("x = 1\ny = 2\n")
    given = {"file_path": str(tmp_path / "a.py"), "content": "x = 1\nz = 3\n"}

    [edit] = noticing.list_edits({"tool_input": given}, str(tmp_path), str(tmp_path))
    assert (edit.added, edit.removed) == ({"z = 3"}, "y = 2")

    response = {"tool_response": {"returnDisplay": {"originalContent": "z = 3\n"}}}
    [after] = noticing.list_edits({"tool_input": given, **response}, str(tmp_path), str(tmp_path))
    assert after.added == {"x = 1"}


def test_a_folder_in_the_place_of_a_file_has_no_text(tmp_path: Path):
    (tmp_path / "a").mkdir()

    assert list_paths(tmp_path, {"file_path": "a", "content": "x"}) == ["a"]
