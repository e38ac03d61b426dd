"""JSON lines: what is written reads back, and what is damaged is named and hides nothing else."""

import os
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import InvalidValueError, StoreBusyError, StoreUnreachableError
from holdfast.ground import canonical, files, jsonl
from holdfast.ground.jsonl import Contents, Damage


def read_from(tmp_path: Path, data: bytes) -> Contents:
    (tmp_path / "data.jsonl").write_bytes(data)
    return jsonl.read_records(tmp_path / "data.jsonl")


# --- appending ------------------------------------------------------------------------------------


def test_records_read_back_in_the_order_they_were_appended(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"

    jsonl.append_records(path, [{"id": 1}, {"id": 2}])
    jsonl.append_records(path, [{"id": 3}])

    assert jsonl.read_records(path) == Contents(({"id": 1}, {"id": 2}, {"id": 3}), ())


def test_a_new_file_is_private(tmp_path: Path) -> None:
    jsonl.append_records(tmp_path / "data.jsonl", [{"id": 1}])

    assert stat.S_IMODE((tmp_path / "data.jsonl").stat().st_mode) == 0o600


def test_a_relative_file_is_made_where_the_process_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    jsonl.append_records("data.jsonl", [{"id": 1}])

    assert (tmp_path / "data.jsonl").read_bytes() == b'{"id":1}\n'


def test_the_name_of_a_new_file_is_synced_before_its_first_record_and_every_record_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps, real = [], os.fsync

    def fsync(fd: int) -> None:
        steps.append(
            "sync folder"
            if stat.S_ISDIR(os.fstat(fd).st_mode)
            else f"sync {os.fstat(fd).st_size} bytes"
        )
        real(fd)

    monkeypatch.setattr(os, "fsync", fsync)
    jsonl.append_records(tmp_path / "data.jsonl", [{"id": 1}])
    jsonl.append_records(tmp_path / "data.jsonl", [{"id": 2}])

    assert steps == ["sync folder", "sync 9 bytes", "sync 18 bytes"]


def test_appending_nothing_makes_no_file(tmp_path: Path) -> None:
    assert jsonl.append_records(tmp_path / "data.jsonl", []) is None

    assert not (tmp_path / "data.jsonl").exists()


@pytest.mark.parametrize(
    "record", [[1], "text", {"a": float("nan")}, {"a": "\x00"}, {"\ud800": 1}, {1: 2}]
)
def test_a_record_that_could_not_be_read_back_is_refused_and_so_are_its_neighbours(
    tmp_path: Path, record: Any
) -> None:
    with pytest.raises(InvalidValueError):
        jsonl.append_records(tmp_path / "data.jsonl", [{"id": 1}, record])

    assert not (tmp_path / "data.jsonl").exists()


def test_a_record_that_is_too_long_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidValueError, match="longer than"):
        jsonl.append_records(tmp_path / "data.jsonl", [{"text": "x" * jsonl.MAX_RECORD_BYTES}])


def test_a_file_is_never_made_larger_than_a_reader_would_take(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    with path.open("wb") as file:
        file.truncate(jsonl.MAX_FILE_BYTES - 3)

    with pytest.raises(InvalidValueError, match="would become larger"):
        jsonl.append_records(path, [{"id": 1}])

    assert path.stat().st_size == jsonl.MAX_FILE_BYTES - 3


def test_an_append_waits_for_another_writer_no_longer_than_its_timeout(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"

    with files.Lock(path), pytest.raises(StoreBusyError):
        jsonl.append_records(path, [{"id": 1}], timeout_seconds=0)

    assert not path.exists()


def test_a_link_in_the_place_of_the_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"foreign\n")
    (tmp_path / "data.jsonl").symlink_to(tmp_path / "target")

    with pytest.raises(InvalidValueError, match="is a symbolic link"):
        jsonl.append_records(tmp_path / "data.jsonl", [{"id": 1}])

    assert (tmp_path / "target").read_bytes() == b"foreign\n"


def test_a_folder_that_is_gone_cannot_be_reached(tmp_path: Path) -> None:
    with pytest.raises(StoreUnreachableError):
        jsonl.append_records(tmp_path / "gone" / "data.jsonl", [{"id": 1}])


@given(
    st.lists(
        st.dictionaries(
            st.text(), st.text() | st.integers() | st.none() | st.booleans(), max_size=4
        )
    )
)
def test_every_storable_record_reads_back_the_same(
    tmp_path_factory: pytest.TempPathFactory, records: list[dict[str, Any]]
) -> None:
    path = tmp_path_factory.mktemp("jsonl") / "data.jsonl"
    storable = [record for record in records if is_storable(record)]

    jsonl.append_records(path, storable)

    assert jsonl.read_records(path) == Contents(tuple(storable), ())


def is_storable(record: dict[str, Any]) -> bool:
    try:
        canonical.canonical_object("record", record, max_bytes=jsonl.MAX_RECORD_BYTES)
    except InvalidValueError:
        return False
    return True


# --- repairing ------------------------------------------------------------------------------------


def test_a_torn_tail_is_cut_and_kept_before_the_next_record_is_written(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_bytes(b'{"id":1}\n{"id":2,"te')

    kept = jsonl.append_records(path, [{"id": 3}])

    assert path.read_bytes() == b'{"id":1}\n{"id":3}\n'
    assert kept is not None
    assert Path(kept).read_bytes() == b'{"id":2,"te'
    assert Path(kept).parent == tmp_path / ".recovered"
    assert stat.S_IMODE(Path(kept).stat().st_mode) == 0o600


def test_a_tail_that_only_lacks_its_newline_is_a_record_and_is_finished(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_bytes(b'{"id":1}\n{"id":2}')

    assert jsonl.append_records(path, [{"id": 3}]) is None

    assert path.read_bytes() == b'{"id":1}\n{"id":2}\n{"id":3}\n'
    assert not (tmp_path / ".recovered").exists()


def test_a_tail_longer_than_one_reading_is_found_to_its_start(tmp_path: Path) -> None:
    path, torn = tmp_path / "data.jsonl", b'{"text":"' + b"x" * (2 * files.CHUNK_BYTES + 7)
    path.write_bytes(b'{"id":1}\n' + torn)

    kept = jsonl.append_records(path, [{"id": 2}])

    assert kept is not None
    assert Path(kept).read_bytes() == torn
    assert path.read_bytes() == b'{"id":1}\n{"id":2}\n'


def test_a_file_that_is_nothing_but_a_torn_tail_starts_again(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_bytes(b"\x00" * 50)

    kept = jsonl.append_records(path, [{"id": 1}])

    assert kept is not None
    assert Path(kept).read_bytes() == b"\x00" * 50
    assert path.read_bytes() == b'{"id":1}\n'


def test_repairing_the_same_torn_tail_twice_keeps_one_copy(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    for _ in range(2):
        path.write_bytes(b'{"id":1}\n{"id"')
        jsonl.append_records(path, [{"id": 2}])

    assert len(os.listdir(tmp_path / ".recovered")) == 1


def test_a_link_in_the_place_of_the_recovered_folder_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_bytes(b'{"id":1}\n{"id"')
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / ".recovered").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(InvalidValueError, match="is a symbolic link"):
        jsonl.append_records(path, [{"id": 2}])

    assert os.listdir(tmp_path / "elsewhere") == []
    assert path.read_bytes() == b'{"id":1}\n{"id"'


# --- reading --------------------------------------------------------------------------------------


def test_a_missing_file_has_no_records(tmp_path: Path) -> None:
    assert jsonl.read_records(tmp_path / "gone.jsonl") == Contents((), ())


def test_every_line_after_a_damaged_one_is_still_read(tmp_path: Path) -> None:
    contents = read_from(tmp_path, b'{"id":1}\n{"id":\n{"id":3}\n')

    assert contents == Contents(({"id": 1}, {"id": 3}), (Damage(2, "not_json", b'{"id":'),))


def test_a_torn_tail_is_a_damage_and_not_an_error(tmp_path: Path) -> None:
    contents = read_from(tmp_path, b'{"id":1}\n{"id":2,"te')

    assert contents == Contents(({"id": 1},), (Damage(2, "torn", b'{"id":2,"te'),))


def test_windows_line_ends_byte_order_marks_and_blank_lines_are_not_damage(tmp_path: Path) -> None:
    contents = read_from(
        tmp_path, b'\xef\xbb\xbf{"id":1}\r\n\r\n  \n\xef\xbb\xbf{"id":2}\r\n{"id":3}\r'
    )

    assert contents == Contents(({"id": 1}, {"id": 2}, {"id": 3}), ())


def test_a_line_separator_inside_a_text_does_not_end_the_record(tmp_path: Path) -> None:
    record = {"text": "one\u2028two\u2029three\x85four\x0bfive\x0csix"}
    jsonl.append_records(tmp_path / "data.jsonl", [record])

    assert jsonl.read_records(tmp_path / "data.jsonl") == Contents((record,), ())


def test_both_sides_of_a_merge_conflict_are_read_and_its_markers_are_named(tmp_path: Path) -> None:
    merged = b'<<<<<<< ours\n{"id":1}\n||||||| base\n=======\n{"id":2}\n>>>>>>> theirs\n'

    contents = read_from(tmp_path, merged)

    assert contents.records == ({"id": 1}, {"id": 2})
    assert [(d.line_number, d.reason) for d in contents.damaged] == [
        (n, "conflict_marker") for n in (1, 3, 4, 6)
    ]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'\x00\x00{"id":1}', "nul"),
        (b'{"text":"\xff"}', "not_utf8"),
        (b'{"text":"\xed\xa0\x80"}', "not_utf8"),
        (b'{"id":NaN}', "not_json"),
        (b'{"id":-Infinity}', "not_json"),
        (b'{"id":1}{"id":2}', "not_json"),
        (b'{"id":' + b"9" * 5_000 + b"}", "not_json"),
        (b"[1]", "not_object"),
        (b"null", "not_object"),
        (b'{"a":' * 65 + b"1" + b"}" * 65, "too_deep"),
        (b'{"a":' + b"[" * 64 + b"]" * 64 + b"}", "too_deep"),
        (b'{"a":' + b"[" * 200_000 + b"]" * 200_000 + b"}", "too_deep"),
    ],
)
def test_a_damaged_line_is_named_with_its_reason_and_its_bytes(
    tmp_path: Path, line: bytes, reason: str
) -> None:
    contents = read_from(tmp_path, b'{"id":1}\n' + line + b'\n{"id":2}\n')

    assert contents == Contents(({"id": 1}, {"id": 2}), (Damage(2, reason, line),))  # type: ignore[arg-type]


def test_depth_is_counted_in_levels_and_not_in_brackets(tmp_path: Path) -> None:
    deep: dict[str, Any] = {}
    for _ in range(canonical.MAX_DEPTH - 1):
        deep = {"a": deep}
    wide = {"text": "{[" * 100, "list": [[] for _ in range(100)]}

    jsonl.append_records(tmp_path / "data.jsonl", [deep, wide])

    assert jsonl.read_records(tmp_path / "data.jsonl") == Contents((deep, wide), ())


def test_reading_changes_nothing(tmp_path: Path) -> None:
    data = b'<<<<<<< ours\r\n{"id":1}\n\x00\n{"id'

    read_from(tmp_path, data)

    assert (tmp_path / "data.jsonl").read_bytes() == data
    assert sorted(os.listdir(tmp_path)) == ["data.jsonl", "home"]


def test_a_file_may_become_just_as_large_as_a_reader_takes(tmp_path: Path) -> None:
    path, line = tmp_path / "data.jsonl", b'{"id":1}\n'
    with path.open("wb") as file:  # a file with a hole: it takes no room on the disk
        file.seek(jsonl.MAX_FILE_BYTES - len(line) - 1)
        file.write(b"\n")

    jsonl.append_records(path, [{"id": 1}])

    assert path.stat().st_size == jsonl.MAX_FILE_BYTES
