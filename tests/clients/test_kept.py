"""What recorded transcripts say that a compaction left in the window."""

from pathlib import Path

import pytest

from holdfast.clients import find_client, get_reader
from holdfast.clients.transcript import list_strings
from tests.clients.golden import FOLDER
from tests.rig.opencode_program import Database

# Of each the words that are left, and those that are gone.
KEPT = {
    "claude/compact.jsonl": (["DONE-FIVE"], ["T-FIVE go", "DONE-TWO"]),
    "codex/compact.jsonl": (["T-ONE go"], ["DONE-ONE", "DONE-TWO"]),
    "gemini/compress.jsonl": (["T-THREE go", "DONE-FOUR", "T-INT go"], ["T-ONE go", "DONE-TWO"]),
}


def list_kept(client: str, path: Path | str) -> list[str] | None:
    found = find_client(client)
    assert found is not None
    return get_reader(found).list_kept(str(path))


@pytest.mark.parametrize("name", KEPT)
def test_a_transcript_says_what_is_left(name: str):
    kept = list_kept(name.partition("/")[0], FOLDER / name)

    left, gone = KEPT[name]
    assert kept is not None
    assert set(left) <= set(kept)
    assert not set(gone) & set(kept)


@pytest.mark.parametrize("client", ["codex", "gemini"])
def test_a_transcript_without_a_compaction_tells_of_none(client: str, tmp_path: Path):
    assert list_kept(client, FOLDER / client / "tools.jsonl") is None
    assert list_kept(client, tmp_path / "missing.jsonl") is None


def test_the_only_message_of_a_model_is_not_kept(tmp_path: Path):
    """Claude Code then summarizes all there is."""
    path = tmp_path / "a.jsonl"
    line = (
        '{"parentUuid":null,"type":"assistant","message":{"id":"m","content":"Yes."},"uuid":"u"}\n'
    )
    path.write_text(line)
    assert list_kept("claude", path) == []

    path.write_text(line + line.replace("Yes.", "No.").replace('"m"', '"n"'))
    assert list_kept("claude", path) == ["No."]


def test_what_came_since_the_last_compaction_of_opencode_is_kept(tmp_path: Path):
    database = Database(tmp_path / "opencode.db")
    database.load("compaction.jsonl")

    kept = list_kept("opencode", f"{database.path}#ses_e1f46dddcffermrqzlgIc4skPr")
    missing = list_kept("opencode", f"{database.path}#ses_0")
    database.connection.close()

    assert kept is not None
    assert {"DONE-OTHER", "<summary>SCRIPTED-SUMMARY of the work</summary>"} <= set(kept)
    assert not {"T-ONE go", "DONE-ONE", "T-MID go"} & set(kept)
    assert missing is None
    assert list_kept("opencode", f"{tmp_path}/none.db#s") is None


def test_every_text_of_a_record_is_found_however_deep():
    deep: object = "end"
    for _ in range(5_000):
        deep = [deep]

    assert list_strings({"a": ["b", {"c": "d"}], "n": 1, "deep": deep}) == ["end", "d", "b"]
