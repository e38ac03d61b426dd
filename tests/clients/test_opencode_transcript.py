"""OpenCode's database, as the program itself wrote it: shortened, in tables of the same make."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import apsw
import pytest

from holdfast.clients.opencode import transcript
from holdfast.clients.transcript import Batch, Record
from holdfast.observations.grading import grade_command
from holdfast.storage.queries import read_blocks
from holdfast.usecases.transcripts import find_moment
from tests.rig.opencode_program import Database

MOST_BYTES = 1 << 20
PARENT = "ses_e15acc597ffeKKm3V7bvr1wrhY"
SUBAGENT = "ses_e15ac6e1ffferPQuN7rAmq3oBS"
FORK = "ses_e15ac3b4fffe6Lm4NlB9qaZ7Ym"
COMPACTED = "ses_e1f46dddcffermrqzlgIc4skPr"


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = Database(tmp_path / "opencode.db")
    yield opened
    opened.connection.close()


def read(database: Database, session_id: str, cursor: dict[str, Any] | None = None) -> Batch:
    return transcript.read(f"{database.path}#{session_id}", cursor or {}, MOST_BYTES)


def describe(records: list[Record]) -> list[tuple[str, str]]:
    return [(record.event_type, record.content) for record in records]


def list_parts(records: list[Record]) -> list[dict[str, Any]]:
    return [record.parts or {} for record in records if record.event_type == "tool_result"]


def grade(record: Record) -> str:
    event: Any = SimpleNamespace(content=record.content, parts=record.parts)
    return grade_command("make", event).verdict


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def call(tool: str = "bash", **state: Any) -> dict[str, Any]:
    return {"type": "tool", "tool": tool, "callID": "call_1", "state": state}


# --- what is read ---------------------------------------------------------------------------------


def test_each_record_says_when_it_happened(database: Database):
    records = read(database, PARENT).records

    moments = [find_moment(record.at) or "" for record in records]
    assert all(moments)
    assert moments == sorted(moments)


def test_a_session_is_read_with_its_tools_and_their_outcomes(database: Database):
    database.load("tools-subagent-fork.jsonl")

    batch = read(database, PARENT)

    assert [record.key for record in batch.records[:2]] == [
        "prompt:msg_1ea533b33001KiUaxIvRc38G7d",
        "tool:prt_1ea5343c3001yt70n6BxUdIQSA",
    ]
    kinds = [(record.event_type, record.role) for record in batch.records]
    prompt, result = ("user_message", "user"), ("tool_result", "tool")
    answer = ("model_message", "assistant")
    assert kinds == [prompt, result, result, result, answer, prompt, result, answer]
    failed, wrote, exited, _ = list_parts(batch.records)
    assert (failed["is_error"], wrote["tool"], exited["exit_code"]) == (True, "write", 3)
    assert wrote["input"]["filePath"] == "/home/dev/project/n.txt"
    assert not batch.has_more
    assert not batch.damaged


def test_what_a_subagent_does_belongs_to_the_session_that_started_it(database: Database):
    database.load("tools-subagent-fork.jsonl")

    sources = transcript.find_sources(PARENT, f"{database.path}#{PARENT}")

    assert sources == [f"{database.path}#{PARENT}", f"{database.path}#{SUBAGENT}"]
    batch = read(database, SUBAGENT)
    assert describe(batch.records)[0] == ("system_event", "SUBPROMPT do it")
    marks = [(record.parts or {}).get("agent_id") for record in batch.records]
    assert set(marks) == {SUBAGENT}
    assert (batch.records[0].parts or {})["agent"] == "general"


def test_subagents_of_subagents_are_found_as_well(database: Database):
    for session_id, parent_id in (("a", None), ("b", "a"), ("c", "b"), ("d", None)):
        database.add_session(session_id, parent_id=parent_id)

    assert [name[-2:] for name in transcript.find_sources("a", str(database.path))] == [
        *("#a", "#b", "#c"),
    ]


def test_what_a_fork_has_copied_is_not_read_again(database: Database):
    database.load("tools-subagent-fork.jsonl")

    assert describe(read(database, FORK).records) == [
        ("user_message", "T-FORK"),
        ("model_message", "DONE-OTHER"),
    ]


def test_a_fork_names_the_session_that_it_is_a_copy_of(database: Database):
    database.load("tools-subagent-fork.jsonl")

    first = read(database, FORK)
    again = transcript.read(f"{database.path}#{FORK}", first.cursor, 1 << 20)

    assert first.forked_from == again.forked_from == PARENT
    assert read(database, PARENT).forked_from is None


def test_a_compaction_is_read_with_its_summary_and_its_cause(database: Database):
    database.load("compaction.jsonl")

    records = read(database, COMPACTED).records

    compactions = [record for record in records if record.event_type == "system_event"]
    assert [record.parts for record in compactions] == [{"compaction": "auto"}] * 2
    assert "SCRIPTED-SUMMARY" in compactions[0].content
    said = [record.content for record in records if record.event_type == "user_message"]
    assert said == ["T-ONE go", "T-TWO go", "T-MID go"]


def test_a_command_that_was_stopped_or_not_allowed_has_no_outcome(database: Database):
    database.load("denied-aborted.jsonl")

    stopped = list_parts(read(database, "ses_e1f4f0fd0ffe5VfKsH5kMUhHk0").records)
    denied = list_parts(read(database, "ses_e1f4ecf7fffeY0z2Wrr1wy235R").records)

    assert [parts.keys() for parts in stopped] == [{"tool", "input"}]
    assert [parts["denied"] for parts in denied] == ["rejected"]


def test_commands_are_graded_by_their_exit_codes(database: Database):
    """Of one that was stopped, refused or cut off by a crash nothing is known."""
    database.add_session("s")
    ended = [
        call(status="completed", input={"command": "make"}, output="", metadata={"exit": code})
        for code in (0, 3, None)
    ]
    failed = [
        call(status="error", input={"command": "make"}, error=error)
        for error in (f"{transcript.DENIED[0]} to use this", transcript.STOPPED, "no such tool")
    ]
    database.answer("m1", 1001, *ended, *failed, call(status="running", input={"command": "make"}))

    records = read(database, "s").records

    assert [grade(record) for record in records] == [
        *("passed", "failed", "unknown"),
        *("unknown", "unknown", "failed", "unknown"),
    ]


def test_a_patch_is_kept_as_it_was_given(database: Database):
    database.load("apply_patch.jsonl")

    [parts] = list_parts(read(database, "ses_e1f436f21ffexyrZRgwhG1nVX2").records)[:1]

    assert parts["tool"] == "apply_patch"
    assert "*** Update File: a.txt" in parts["input"]["patchText"]


def test_only_the_words_of_the_person_are_its_prompt(database: Database):
    database.add_session("s")
    database.ask("m1", 1001, "look at this")
    for number, part in enumerate(
        [text("Called the Read tool", synthetic=True), text("hidden", ignored=True), text("please")]
    ):
        database.add_part("s", "m1", f"prt_x{number}", part)
    database.add_message("s", "m2", 1002, {"role": "user"})
    database.add_part("s", "m2", "prt_y", text("Continue if you have next steps", synthetic=True))

    assert describe(read(database, "s").records) == [("user_message", "look at this\n\nplease")]


# --- while the program writes ---------------------------------------------------------------------


def test_reading_goes_on_where_it_stopped(database: Database):
    database.add_session("s")
    database.ask("m1", 1001, "first")
    database.answer("m2", 1002, text("one"))
    first = read(database, "s")
    database.ask("m3", 1003, "second")

    second = read(database, "s", first.cursor)

    assert describe(first.records) == [("user_message", "first"), ("model_message", "one")]
    assert describe(second.records) == [("user_message", "second")]
    assert read(database, "s", second.cursor).records == []
    assert read(database, "s", second.cursor).cursor == second.cursor


def test_only_what_is_finished_is_read_and_each_thing_once(database: Database):
    database.add_session("s")
    database.ask("m1", 1001, "go")
    done = call(status="completed", input={"command": "ls"}, output="a", metadata={"exit": 0})
    running = call(status="running", input={"command": "make"})
    database.answer("m2", 1002, done, running, text("I am wri"), is_finished=False)
    database.ask("m3", 1003, "and then this")  # typed while the model works

    first = read(database, "s")
    ended = call(status="completed", input={"command": "make"}, output="b", metadata={"exit": 2})
    database.run("update part set data = ? where id = 'prt_m2_1'", json.dumps(ended))
    second = read(database, "s", first.cursor)
    whole = text("I am writing", time={"start": 1, "end": 2})
    database.run("update part set data = ? where id = 'prt_m2_2'", json.dumps(whole))
    third = read(database, "s", second.cursor)
    database.answer("m4", 1004, text("done"))
    fourth = read(database, "s", third.cursor)

    assert describe(first.records) == [
        ("user_message", "go"),
        ("tool_result", "a"),
        ("user_message", "and then this"),
    ]
    assert describe(second.records) == [("tool_result", "b")]
    assert describe(third.records) == [("model_message", "I am writing")]
    assert describe(fourth.records) == [("model_message", "done")]
    assert "seen" not in fourth.cursor


def test_a_call_that_was_cut_off_by_a_crash_is_read_once_the_session_goes_on(database: Database):
    database.add_session("s")
    running = call(status="running", input={"command": "make"})
    database.answer("m1", 1001, running, is_finished=False)
    before = read(database, "s")
    database.answer("m2", 1002, text("again"))

    after = read(database, "s", before.cursor)

    assert before.records == []
    assert describe(after.records) == [("tool_result", ""), ("model_message", "again")]
    assert [parts["status"] for parts in list_parts(after.records)] == ["stopped"]


def test_turns_that_were_taken_back_are_named(database: Database):
    database.add_session("s")
    for number in range(1, 4):
        database.ask(f"m{number}", 1000 + number, f"prompt {number}")
    first = read(database, "s")
    database.run("update session set revert = ? where id = 's'", '{"messageID": "m2"}')

    hidden = read(database, "s", first.cursor)
    database.run("delete from message where id in ('m2', 'm3')")
    database.run("update session set revert = null")
    database.ask("m4", 1004, "another")
    removed = read(database, "s", hidden.cursor)
    removed_at_once = read(database, "s", first.cursor)

    [record] = hidden.records
    assert (record.event_type, record.role) == ("system_event", "system")
    assert record.parts == {"rewound": ["prompt:m2", "prompt:m3"]}
    assert describe(removed.records) == [("user_message", "another")]
    assert removed_at_once.records[0].parts == record.parts
    assert removed_at_once.records[0].key == record.key


def test_a_long_session_is_read_in_pieces_that_add_up(database: Database):
    database.load("compaction.jsonl")
    whole = read(database, COMPACTED).records
    records: list[Record] = []
    cursor: dict[str, Any] = {}
    pieces = 0
    is_more = True
    while is_more:
        batch = transcript.read(f"{database.path}#{COMPACTED}", cursor, 500)
        records += batch.records
        cursor, is_more = batch.cursor, batch.has_more
        pieces += 1

    assert [record.key for record in records] == [record.key for record in whole]
    assert pieces > 3
    assert len(json.dumps(cursor)) < 1000


def test_a_message_that_is_too_big_does_not_stop_the_reading(database: Database):
    """Nor is it read for ever: it is unfinished, and larger than what is read at a time."""
    database.add_session("s")
    database.answer("m1", 1001, text("long " * 1000), is_finished=False)
    database.ask("m2", 1002, "go on")

    batch = transcript.read(f"{database.path}#s", {}, 100)

    assert describe(batch.records) == [("user_message", "go on")]
    assert not batch.has_more


def test_the_end_of_a_long_session_is_found_by_indexes(database: Database):
    """Of a database of any size, only what is new is looked at."""
    statements = {block.name: block.sql for block in read_blocks(transcript.QUERIES)}
    del statements["list_sessions"]  # at a start alone, and there are not many
    for statement in statements.values():
        values = [None] * max(number for number in range(1, 9) if f"?{number}" in statement)
        plan = database.run(f"explain query plan {statement}", *values)
        steps = [step for *_, step in plan]
        made = (" family", " compaction", "json_each")  # of a few rows that were found before
        tables = [step for step in steps if not any(name in step for name in made)]
        assert not [step for step in tables if step.startswith("SCAN")], steps


# --- bad input ------------------------------------------------------------------------------------


def test_damaged_rows_are_counted_and_left_out(database: Database, monkeypatch):
    monkeypatch.setattr(transcript, "PART_BYTES", 2000)
    database.add_session("s")
    database.answer("m1", 1001, "{broken", text("x" * 3000), [1], text("fine"), {"type": "odd"})
    database.add_message("s", "m2", 1002, "not json")
    database.ask("m3", 1003, "go")

    batch = read(database, "s")

    *damaged, fine, go = batch.records
    assert describe([fine, go]) == [("model_message", "fine"), ("user_message", "go")]
    assert [record.parts for record in damaged] == [{"left_out": 1}] * 2
    assert batch.damaged == 2


@pytest.mark.parametrize(
    "value",
    [
        None,
        7,
        [],
        {},
        {"status": 7, "input": [["\x00\ud800"]]},
        {"metadata": 1, "output": {"a": 1}},
    ],
)
def test_values_of_other_types_never_raise(database: Database, value: Any):
    database.add_session("s")
    parts = [{"type": "tool", "tool": value, "state": value}, {"type": "text", "text": value}]
    database.answer("m1", 1001, *parts, {"type": "text", "text": "a", "time": value})
    database.add_message("s", "m2", 1002, {"role": value, "time": value, "summary": value})

    assert read(database, "s").records[0].event_type == "tool_result"


def damage(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    path.write_bytes(data)


def drop_column(path: Path) -> None:
    connection = apsw.Connection(str(path))
    connection.execute("alter table session drop column agent")
    connection.close()


def drop_table(path: Path) -> None:
    connection = apsw.Connection(str(path))
    connection.execute("pragma foreign_keys=off; drop table part")
    connection.close()


def make_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize(
    "harm",
    [
        Path.unlink,
        damage,
        drop_column,
        drop_table,
        make_pipe,
        lambda path: path.write_bytes(b""),
        lambda path: path.write_text("not a database " * 100),
    ],
)
def test_a_file_that_is_not_what_it_was_gives_nothing(tmp_path: Path, harm: Callable[[Path], Any]):
    database = Database(tmp_path / "opencode.db")
    database.load("compaction.jsonl")
    database.connection.close()
    cursor = {"time": 1, "after": "m"}

    harm(database.path)

    batch = transcript.read(f"{database.path}#{COMPACTED}", cursor, MOST_BYTES)
    assert (batch.records, batch.cursor, batch.has_more) == ([], cursor, False)


@pytest.mark.parametrize("path", ["", "#", "/nowhere/opencode.db", "/nowhere/opencode.db#ses_1"])
def test_a_path_that_names_nothing_gives_nothing(path: str):
    assert transcript.read(path, {}, MOST_BYTES).records == []
    assert transcript.find_sources("ses_1", path) == [path]


@pytest.mark.parametrize("cursor", [{"time": "x", "after": 1}, {"seen": 7, "prompts": [1, None]}])
def test_a_cursor_of_another_make_starts_again(database: Database, cursor: dict[str, Any]):
    database.load("compaction.jsonl")

    assert len(read(database, COMPACTED, cursor).records) == len(read(database, COMPACTED).records)


def test_a_database_that_is_locked_is_read_another_time(database: Database):
    database.load("compaction.jsonl")
    database.run("pragma journal_mode=delete")
    database.run("begin exclusive")

    assert read(database, COMPACTED).records == []


def test_reading_leaves_nothing_beside_the_file(tmp_path: Path):
    """OpenCode removes its log when it ends; a reader must not bring it back."""
    database = Database(tmp_path / "opencode.db")
    database.load("compaction.jsonl")
    database.connection.close()
    before = database.path.read_bytes()

    assert read(database, COMPACTED).records

    assert [path.name for path in tmp_path.glob("opencode*")] == ["opencode.db"]
    assert database.path.read_bytes() == before


# --- all of a folder ------------------------------------------------------------------------------


def test_the_sessions_of_a_folder_are_listed_newest_first(tmp_path: Path, monkeypatch):
    for name in ("XDG_DATA_HOME", "OPENCODE_DB"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / ".local" / "share" / "opencode"
    folder.mkdir(parents=True)
    database = Database(folder / "opencode.db")
    for id_, directory, time, parent_id in (
        ("old", "/r", 1_000, None),
        ("new", "/r", 9_000, None),
        ("inside", "/r/src", 5_000, None),
        ("beside", "/r2", 9_000, None),
        ("child", "/r", 9_000, "new"),
    ):
        database.add_session(id_, directory=directory, parent_id=parent_id, time_updated=time)

    found = list(transcript.list_transcripts("/r", str(tmp_path), 2.0))

    assert [(file.native_id, file.changed_at) for file in found] == [("new", 9.0), ("inside", 5.0)]
    assert [file.cwd for file in found] == ["/r", "/r/src"]
    assert found[0].path == f"{database.path}#new"
    assert list(transcript.list_transcripts("/r", "/nowhere", 0)) == []
    database.connection.close()


def test_all_sessions_of_a_folder_are_listed(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.delenv("OPENCODE_DB", raising=False)
    (tmp_path / "opencode").mkdir()
    database = Database(tmp_path / "opencode" / "opencode.db")
    for number in range(80):
        database.add_session(f"ses_{number}", directory="/r", time_updated=9_000)

    assert len(list(transcript.list_transcripts("/r", str(tmp_path), 2.0))) == 80
    database.connection.close()


def test_the_database_is_looked_for_where_opencode_puts_it(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    monkeypatch.setenv("OPENCODE_DB", "other.db")
    assert transcript.find_database("/home/dev") == "/data/opencode/other.db"

    monkeypatch.setenv("OPENCODE_DB", "/elsewhere/it.db")
    assert transcript.find_database("/home/dev") == "/elsewhere/it.db"
