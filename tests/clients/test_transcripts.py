"""Transcripts of real sessions, read whole, in pieces, torn and damaged."""

import copy
import json
import os
import random
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast import clients
from holdfast.clients import transcript
from holdfast.clients.contract import HookEvent, name_event
from holdfast.clients.transcript import Record
from holdfast.observations import turns
from holdfast.usecases import transcripts
from tests.clients import golden
from tests.clients.golden import FOLDER, HOOKS, describe, find_expected, get_reader_of, read_all

PATHS = golden.list_transcripts()
# A fork is told by what follows its copies, so it is read as it is once the client has written it.
GROWING = [path for path in PATHS if not path.name.startswith("fork")]
TORN = ("claude/plan-2.jsonl", "codex/clear.jsonl", "gemini/hook-context.jsonl")


def name_path(path: Path) -> str:
    return str(path.relative_to(FOLDER))


def read_expected(path: Path) -> list[dict[str, Any]]:
    expected: list[dict[str, Any]] = json.loads(find_expected(path).read_text())
    return expected


def describe_all(records: list[Record]) -> list[dict[str, Any]]:
    return [describe(record) for record in records]


def find_longest_line(data: bytes) -> int:
    return max(len(line) for line in data.split(b"\n")) + 1


@pytest.fixture(params=PATHS, ids=name_path)
def path(request: pytest.FixtureRequest) -> Path:
    value: Path = request.param
    return value


def copy_to(tmp_path: Path, path: Path, data: bytes) -> Path:
    """With the same name, in folders of the same names, and beside what says whose it is."""
    folder = tmp_path / path.parent.relative_to(FOLDER)
    if not folder.exists() and (path.parent.name == "subagents" or "sessions" in path.parts):
        shutil.copytree(path.parent, folder)
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / path.name
    target.write_bytes(data)
    return target


# --- whole and in pieces --------------------------------------------------------------------------


def test_a_transcript_is_read_as_it_was_checked(path: Path):
    records, batch = read_all(get_reader_of(path), path, {})

    assert describe_all(records) == read_expected(path)
    assert batch.damaged == 0


def test_a_message_is_given_once(path: Path):
    keys = [record["key"] for record in read_expected(path)]

    assert len(set(keys)) == len(keys)


def test_every_record_says_when_it_happened(path: Path):
    """In the form that the store writes; a compression of Gemini repeats what has no time."""
    records, _ = read_all(get_reader_of(path), path, {})

    said = [record for record in records if record.event_type != "system_event"]
    assert all(transcripts.find_moment(record.at) for record in said)


def test_nothing_is_read_twice(path: Path):
    _, batch = read_all(get_reader_of(path), path, {})

    again = get_reader_of(path).read(str(path), batch.cursor, golden.MOST_BYTES)

    assert again.records == []
    assert again.cursor == batch.cursor
    assert not again.has_more


@given(data=st.data())
def test_any_pieces_give_the_same_records(data: st.DataObject, tmp_path_factory: Any):
    """While the client is still writing, and however little is read at a time."""
    path = data.draw(st.sampled_from(GROWING))
    written = path.read_bytes()
    least = find_longest_line(written)
    cuts = data.draw(st.lists(st.integers(0, len(written)), max_size=6))
    most_bytes = data.draw(st.integers(least, 2 * len(written)))
    reader = get_reader_of(path)
    copied = copy_to(tmp_path_factory.mktemp("pieces"), path, b"")
    records: list[Record] = []
    cursor: dict[str, Any] = {}

    for cut in [*sorted(cuts), len(written)]:
        copied.write_bytes(written[:cut])
        new, batch = read_all(reader, copied, cursor, most_bytes)
        records += new
        cursor = batch.cursor

    assert describe_all(records) == read_expected(path)


@given(most_bytes=st.integers(4_000, 40_000))
def test_a_fork_in_any_pages_is_what_is_new_in_it(most_bytes: int):
    for path in PATHS:
        if path.name.startswith("fork"):
            most = max(most_bytes, find_longest_line(path.read_bytes()))
            records, _ = read_all(get_reader_of(path), path, {}, most)
            assert describe_all(records) == read_expected(path)


def test_a_fork_that_is_read_before_it_has_a_message_is_what_is_new_in_it(tmp_path: Path):
    path = FOLDER / "claude" / "fork.jsonl"
    written = path.read_bytes()
    copied = tmp_path / path.name
    copied.write_bytes(b'{"type":"mode","sessionId":"1"}\n' * 3)
    reader = get_reader_of(path)

    early, batch = read_all(reader, copied, {}, 1 << 20)
    copied.write_bytes(copied.read_bytes() + written)
    records, _ = read_all(reader, copied, batch.cursor, 1 << 20)

    assert early == []
    assert describe_all(records) == read_expected(path)


@pytest.mark.parametrize(
    ("fork", "origin"), [("fork", "compact"), ("fork-of-subagents", "subagents")]
)
def test_a_fork_names_the_session_in_which_its_last_copied_turn_is_no_copy(
    fork: str, origin: str, tmp_path: Path
):
    for name in (fork, origin):
        shutil.copy(FOLDER / "claude" / f"{name}.jsonl", tmp_path)
    shutil.copy(FOLDER / "claude" / f"{fork}.jsonl", tmp_path / "another-fork.jsonl")
    reader = get_reader_of(FOLDER / "claude" / f"{fork}.jsonl")

    _, batch = read_all(reader, tmp_path / f"{fork}.jsonl", {}, 1 << 20)
    _, of_origin = read_all(reader, tmp_path / f"{origin}.jsonl", {}, 1 << 20)

    assert (batch.forked_from, of_origin.forked_from) == (origin, None)


# --- torn and damaged -----------------------------------------------------------------------------


@pytest.mark.unmeasured
@pytest.mark.parametrize("name", TORN)
def test_a_file_torn_at_any_byte_gives_the_whole_records_and_later_the_rest(
    name: str, tmp_path: Path
):
    path = FOLDER / name
    written = path.read_bytes()
    reader = get_reader_of(path)
    copied = copy_to(tmp_path, path, b"")
    expected = read_expected(path)
    seen = 0

    for cut in range(len(written) + 1):
        copied.write_bytes(written[:cut])
        batch = reader.read(str(copied), {}, golden.MOST_BYTES)
        found = describe_all(batch.records)
        assert found == expected[: len(found)]
        assert seen <= len(found)
        assert batch.damaged == 0
        seen = len(found)
        if cut % 37 == 0:
            copied.write_bytes(written)
            rest, _ = read_all(reader, copied, batch.cursor)
            assert found + describe_all(rest) == expected


def damage(line: bytes, chance: random.Random) -> bytes:
    """The line as a bad disk, an editor or a merge leaves it."""
    at = chance.randrange(len(line))
    before, after = line[:at], line[at:]
    kind = chance.randrange(8)
    if kind == 0:
        return before + bytes([after[0] ^ (1 << chance.randrange(8))]) + after[1:]
    if kind == 1:
        return before + chance.randbytes(chance.randrange(1, 9)) + after
    if kind == 2:
        return before + b"\x00" * chance.randrange(1, 100) + after
    if kind == 3:
        return b"<<<<<<< HEAD\n" + line + b"\n=======\n>>>>>>> other"
    if kind == 4:
        return line + b"\r"
    if kind == 5:
        return b"\xef\xbb\xbf" + line
    if kind == 6:
        return before + b"\xe2\x80\xa8" + after
    return before + b"\n" + after


@pytest.mark.parametrize("seed", range(10))
def test_every_record_of_an_undamaged_line_is_read(seed: int, tmp_path: Path):
    """A hundred damages a seed, up to three of them in a file."""
    chance = random.Random(seed)
    for _ in range(100):
        path = chance.choice(GROWING)
        lines = path.read_bytes().split(b"\n")[:-1]
        spoilt = {chance.randrange(len(lines)) for _ in range(chance.randrange(1, 4))}
        whole = [line for number, line in enumerate(lines) if number not in spoilt]
        for number in spoilt:
            lines[number] = damage(lines[number], chance)
        reader = get_reader_of(path)

        without = copy_to(tmp_path, path, b"".join(line + b"\n" for line in whole))
        expected, _ = read_all(reader, without, {})
        damaged = copy_to(tmp_path, path, b"".join(line + b"\n" for line in lines))
        found, _ = read_all(reader, damaged, {})

        # Not by their types: a first line may be what says that a file is a subagent's.
        texts = {record.content for record in found}
        for record in expected:
            assert record.content in texts, (path, sorted(spoilt))


def test_marks_of_other_systems_change_nothing(path: Path, tmp_path: Path):
    """Line ends of Windows, and a byte order mark at the beginning."""
    data = b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n")
    copied = copy_to(tmp_path, path, data)

    records, batch = read_all(get_reader_of(path), copied, {})

    assert describe_all(records) == read_expected(path)
    assert batch.damaged == 0


def test_a_line_that_cannot_be_read_is_counted(path: Path, tmp_path: Path):
    bad = b"no JSON\n\xff\n[1]\n" + b"[" * 100_000 + b"\n"
    copied = copy_to(tmp_path, path, path.read_bytes() + bad)

    records, batch = read_all(get_reader_of(path), copied, {})

    assert batch.damaged == 4
    *whole, place = records
    assert describe_all(whole) == read_expected(path)
    assert (place.event_type, (place.parts or {})["left_out"]) == ("system_event", 4)


@pytest.mark.parametrize("zeros", [b"", b"\x00" * 300])
def test_a_record_behind_a_torn_line_is_read(path: Path, zeros: bytes, tmp_path: Path):
    """A crash cuts a line, or leaves zeros, and the client goes on behind it without a new line."""
    chance = random.Random(7)
    written = path.read_bytes().splitlines(keepends=True)
    reader = get_reader_of(path)
    for _ in range(30):
        at = chance.randrange(1, max(2, len(written) - 1))
        torn = written[at][: chance.randrange(1, len(written[at]))]
        before, after = b"".join(written[:at]), b"".join(written[at + 1 :])
        if path.parent.name == "gemini" and torn.endswith((b"[", b",", b":")):
            continue  # there a message may stand inside of a line

        expected, _ = read_all(reader, copy_to(tmp_path, path, before + after), {})
        joined = copy_to(tmp_path, path, before + torn + zeros + after)
        found, _ = read_all(reader, joined, {})

        texts = {(record.event_type, record.content) for record in found}
        for record in expected:
            assert (record.event_type, record.content) in texts, (torn[-50:], after[:50])


@pytest.mark.parametrize("path", GROWING, ids=name_path)
@pytest.mark.parametrize("between", [b"", b" ", b"\x00", b"J"])
def test_whole_records_on_one_line_are_all_read(path: Path, between: bytes, tmp_path: Path):
    """A crash comes before a line end is written, or spoils it."""
    chance = random.Random(11)
    lines = path.read_bytes().splitlines()
    for _ in range(10):
        joints = {chance.randrange(len(lines)) for _ in range(3)}
        ends = [between if number in joints else b"\n" for number in range(len(lines))]
        data = b"".join(line + end for line, end in zip(lines, ends, strict=True))

        copied = copy_to(tmp_path, path, data + b"\n")
        records, batch = read_all(get_reader_of(path), copied, {})

        whole = [record for record in records if "left_out" not in (record.parts or {})]
        assert describe_all(whole) == read_expected(path)
        if not between.strip():
            assert batch.damaged == 0


def test_a_whole_record_behind_two_that_are_torn_is_read(tools: Path, tmp_path: Path):
    written = tools.read_bytes().splitlines(keepends=True)
    reader = get_reader_of(tools)
    message = next(line for line in written if b"T-MAIN" in line and reader_takes(tools, line))
    data = message[:-40] + message[:-60] + message[:-1] + message[:-30] + b"\n"

    records, batch = read_all(reader, copy_to(tmp_path, tools, data), {})

    assert [record.content for record in records if record.content] == ["T-MAIN go"]
    assert batch.damaged == 3


def reader_takes(path: Path, line: bytes) -> bool:
    reading = get_reader_of(path)
    with tempfile.TemporaryDirectory() as folder:
        copied = Path(folder) / path.name
        copied.write_bytes(line)
        return bool(reading.read(str(copied), {}, golden.MOST_BYTES).records)


@pytest.mark.parametrize(
    "piece",
    [b'{"id":', b'{"id": ', b'x{"id":1', b'{"id":[1 ', b'{"parentUuid":"', b'{"timestamp":{'],
)
def test_damage_of_any_kind_costs_no_more_than_its_length(
    piece: bytes, tools: Path, tmp_path: Path
):
    reader = get_reader_of(tools)
    times = []
    for size in (1 << 17, 1 << 20):
        copied = copy_to(tmp_path, tools, piece * (size // len(piece)) + b"\n")
        started_at = time.process_time()
        reader.read(str(copied), {}, 1 << 22)
        times.append(time.process_time() - started_at)

    assert times[1] < 8 * 4 * times[0] + 0.5


@given(
    value=st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2),
        max_leaves=4,
    ),
    data=st.data(),
)
def test_a_value_of_any_type_in_any_place_never_raises(
    value: Any, data: st.DataObject, tmp_path_factory: Any
):
    """A newer client writes what it likes."""
    path = data.draw(st.sampled_from(PATHS))
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    for _ in range(5):
        place = data.draw(st.sampled_from(lines))
        while isinstance(place, dict) and place:
            key = data.draw(st.sampled_from(sorted(place)))
            if not isinstance(place[key], dict) or data.draw(st.booleans()):
                place[key] = copy.deepcopy(value)
                break
            place = place[key]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    copied = copy_to(tmp_path_factory.mktemp("any"), path, text.encode())

    records, batch = read_all(get_reader_of(path), copied, {})

    json.dumps(batch.cursor)
    for record in records:
        assert isinstance(record.content, str)
        json.dumps(record.parts, allow_nan=False)


@given(data=st.data())
def test_any_bytes_in_pages_of_any_size_come_to_an_end(data: st.DataObject, tmp_path_factory: Any):
    """Also pages in which not one line fits."""
    path = data.draw(st.sampled_from(PATHS))
    lines = path.read_bytes().splitlines(keepends=True)
    mixed = data.draw(st.lists(st.sampled_from(lines) | st.binary(max_size=20), max_size=5))
    most_bytes = data.draw(st.integers(1, 3000))
    copied = copy_to(tmp_path_factory.mktemp("bytes"), path, b"".join(mixed))
    cursor: dict[str, Any] = {}
    size = sum(map(len, mixed))

    for _ in range(2 * size // most_bytes + len(mixed) + 5):
        batch = get_reader_of(path).read(str(copied), cursor, most_bytes)
        cursor = batch.cursor
        if not batch.has_more:
            break

    assert not batch.has_more


# --- files that are not there, or not the same ----------------------------------------------------


@pytest.fixture(params=golden.CLIENTS)
def name(request: pytest.FixtureRequest) -> str:
    value: str = request.param
    return value


@pytest.fixture
def tools(name: str) -> Path:
    return FOLDER / name / "tools.jsonl"


def test_what_is_not_a_regular_file_gives_nothing(tools: Path, tmp_path: Path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    link = tmp_path / "link"
    link.symlink_to(tools)
    cursor = {"position": 5, "mark": "x"}

    for other in (fifo, link, tmp_path, Path("/dev/zero"), tmp_path / "missing", "a\x00b", ""):
        batch = get_reader_of(tools).read(str(other), cursor, 1000)

        assert (batch.records, batch.cursor, batch.has_more) == ([], cursor, False)


def test_a_file_that_was_cut_replaced_or_written_anew_is_read_from_its_start(
    tools: Path, tmp_path: Path
):
    reader = get_reader_of(tools)
    copied = copy_to(tmp_path, tools, tools.read_bytes())
    _, batch = read_all(reader, copied, {})
    other = (FOLDER / tools.parent.name / "resume.jsonl").read_bytes()
    lines = tools.read_bytes().splitlines(keepends=True)

    for data in (b"".join(lines[:-2]), other, b"".join([*lines[1:], lines[0]]), b""):
        copied.write_bytes(data)
        anew, _ = read_all(reader, copied, {})
        records, _ = read_all(reader, copied, batch.cursor)
        assert describe_all(records) == describe_all(anew)


@pytest.mark.parametrize("cursor", [{"position": -1}, {"position": "x"}, {"position": 10**9}])
def test_a_cursor_that_fits_no_file_stands_at_its_start(cursor: dict[str, Any], tools: Path):
    records, _ = read_all(get_reader_of(tools), tools, cursor)

    assert describe_all(records) == read_expected(tools)


# --- bounded work, by counts ----------------------------------------------------------------------


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    """Bytes that were read from files and lines that were parsed."""
    counted = SimpleNamespace(bytes=0, parsed=0, largest=0)
    pread, loads = os.pread, json.loads

    def count_bytes(fd: int, size: int, offset: int) -> bytes:
        data = pread(fd, size, offset)
        counted.bytes += len(data)
        counted.largest = max(counted.largest, len(data))
        return data

    def count_parsed(*arguments: Any, **options: Any) -> Any:
        counted.parsed += 1
        return loads(*arguments, **options)

    monkeypatch.setattr(transcript.os, "pread", count_bytes)
    monkeypatch.setattr(transcript.json, "loads", count_parsed)
    return counted


def test_the_end_of_a_long_file_costs_what_is_new_in_it(
    tools: Path, tmp_path: Path, counts: SimpleNamespace
):
    turn = tools.read_bytes()
    reader = get_reader_of(tools)
    costs = []
    for before in (1, 40):
        copied = copy_to(tmp_path, tools, turn * before)
        _, batch = read_all(reader, copied, {}, 64_000)
        with copied.open("ab") as file:
            file.write(turn)
        cursor = batch.cursor
        counts.bytes = counts.parsed = 0
        batch = reader.read(str(copied), cursor, golden.MOST_BYTES)
        assert batch.records
        costs.append((counts.bytes, counts.parsed))

    (short_bytes, short_parsed), (long_bytes, long_parsed) = costs
    assert long_parsed <= short_parsed
    assert long_bytes <= 2 * len(turn) + 40_000
    assert abs(long_bytes - short_bytes) <= len(turn) + 40_000


def test_lines_that_keep_the_clients_books_are_not_parsed(path: Path, counts: SimpleNamespace):
    lines = path.read_bytes().splitlines()

    records, _ = read_all(get_reader_of(path), path, {})

    counted = counts.parsed
    assert counted <= 3 * len(records) + 6
    assert counted < len(lines) or len(lines) < 16


def test_a_line_without_a_sign_of_news_gives_no_record(path: Path, tmp_path: Path):
    """By these signs a hook sees that it need not read; the first line says whose a file is."""
    client = clients.find_client(path.relative_to(FOLDER).parts[0])
    assert client is not None
    first, *rest = path.read_bytes().splitlines(keepends=True)
    with_signs = [line for line in rest if any(sign in line for sign in client.NEWS)]
    copied = copy_to(tmp_path, path, b"".join([first, *with_signs]))

    records, _ = read_all(get_reader_of(path), copied, {})

    found = {record.key for record in records}
    expected = {record["key"] for record in read_expected(path)}
    # A rewind of Claude Code is seen by a line that is missing here.
    assert {key for key in expected - found if not key.startswith("rewind:")} == set()


def test_a_line_longer_than_a_page_is_skipped_without_being_held(
    tools: Path, tmp_path: Path, counts: SimpleNamespace
):
    lines = tools.read_bytes().splitlines(keepends=True)
    long = b'{"text":"' + b"x" * 10_000_000 + b'"}\n'
    copied = copy_to(tmp_path, tools, b"".join([*lines[:4], long, *lines[4:]]))
    reader = get_reader_of(tools)
    most_bytes = 1 << 17
    records = []
    damaged = 0
    cursor: dict[str, Any] = {}
    has_more = True

    while has_more:
        batch = reader.read(str(copied), cursor, most_bytes)
        cursor, has_more = batch.cursor, batch.has_more
        records += batch.records
        damaged += batch.damaged

    whole = [record for record in records if "left_out" not in (record.parts or {})]
    assert describe_all(whole) == read_expected(tools)
    assert (damaged, len(records)) == (1, len(whole) + 1)
    assert counts.largest <= most_bytes


def test_no_more_than_it_was_told_is_read_at_a_time(
    tools: Path, tmp_path: Path, counts: SimpleNamespace
):
    copied = copy_to(tmp_path, tools, tools.read_bytes() * 30)
    reader = get_reader_of(tools)
    cursor: dict[str, Any] = {}
    has_more = True

    while has_more:
        counts.bytes = 0
        batch = reader.read(str(copied), cursor, 50_000)
        cursor, has_more = batch.cursor, batch.has_more
        again = sum(record.event_type == "tool_result" for record in batch.records)
        assert counts.bytes <= 50_000 * (1 + again) + 20_000
        assert len(json.dumps(cursor)) < 16_000


# --- what hooks report of the same sessions -------------------------------------------------------


def list_hooks(path: Path) -> list[HookEvent]:
    name = path.relative_to(FOLDER).parts[0]
    client = clients.find_client(name)
    assert client is not None
    hooks = path.with_name(path.stem + HOOKS)
    if not hooks.exists():
        return []
    payloads = [json.loads(line) for line in hooks.read_bytes().splitlines()]
    events = [client.parse(payload["hook_event_name"], payload) for payload in payloads]
    return [event for event in events if event]


def list_events(path: Path) -> list[tuple[str, Record]]:
    """The records of a session and of its subagents, with the ids of their events."""
    reader = get_reader_of(path)
    event = list_hooks(path)[0]
    sources = reader.find_sources(event.native_id, str(path))
    child = path.with_name("subagent-child.jsonl")
    if path.stem == "subagents" and child.exists():
        sources.append(str(child))
    records = [record for source in sources for record in read_all(reader, Path(source), {})[0]]
    return [(name_event(event.client, event.native_id, record.key), record) for record in records]


WITH_HOOKS = [path for path in PATHS if path.with_name(path.stem + HOOKS).exists()]


def mark(told: HookEvent | Record) -> list[str]:
    return transcripts.mark_event(told.event_type, told.content, told.parts)


@pytest.mark.parametrize("path", WITH_HOOKS, ids=name_path)
def test_a_hook_and_the_transcript_name_the_same_event(path: Path):
    ids = dict(list_events(path))
    marks = [mark(record) for record in ids.values()]

    for event in list_hooks(path):
        if event.key:
            assert event.event_id in ids, event.key
            assert ids[event.event_id].event_type == event.event_type
        elif is_whole(path, event):
            assert mark(event) in marks


def is_whole(path: Path, event: HookEvent) -> bool:
    """Some samples have the tools of a session only."""
    return event.event_type != "model_message" or "denied" not in path.name


@pytest.mark.parametrize("path", WITH_HOOKS, ids=name_path)
@pytest.mark.parametrize("seed", range(5))
def test_in_any_order_each_message_is_kept_once(path: Path, seed: int):
    """By its id, and where the hook has none by its text, or by what a tool was given.

    What Gemini answers to a tool that was stopped is not what it had told the hook.
    """
    events = list_events(path)
    hooks = [event for event in list_hooks(path) if is_whole(path, event)]
    told = [*events, *hooks]
    random.Random(seed).shuffle(told)
    by_id: dict[str, list[str]] = {}
    open_hooks: list[list[str]] = []
    open_records: list[list[str]] = []

    for event in told:
        is_hook = isinstance(event, HookEvent)
        record = event if isinstance(event, HookEvent) else event[1]
        event_id = event.event_id if isinstance(event, HookEvent) else event[0]
        text = mark(record)
        waiting, own = (open_records, open_hooks) if is_hook else (open_hooks, open_records)
        if event_id in by_id:
            continue
        if is_hook and record.key:
            by_id[event_id] = text
        elif text in waiting:
            waiting.remove(text)
            by_id[event_id] = text
        else:
            own.append(text)
            by_id[event_id] = text

    assert open_hooks == []
    assert {event_id for event_id, _ in events} <= by_id.keys()


# --- how tools have ended -------------------------------------------------------------------------

GRADES = {
    "claude": ["passed", "failed", "unknown", "unknown"],
    "codex": ["passed", "failed", "unknown", "unknown"],
    "gemini": ["passed", "failed", "unknown"],
}


def grade(path: Path) -> list[str]:
    """As a reader of the log sees it."""
    records, _ = read_all(get_reader_of(path), path, {})
    logged: list[Any] = [
        SimpleNamespace(
            sequence=number,
            type=record.event_type,
            content=record.content,
            parts=record.parts,
            happened_at=number,
        )
        for number, record in enumerate(records)
    ]
    return [command.verdict for turn in turns.gather_turns(logged) for command in turn.commands]


def test_commands_are_graded_by_what_the_client_knows(name: str, tools: Path):
    """Exit 0, exit 3, a pipe that hides a failure, and one that had not ended."""
    assert [verdict for verdict in grade(tools) if verdict] == GRADES[name]


def test_a_tool_that_was_stopped_or_refused_has_not_passed():
    for path in PATHS:
        for record in read_expected(path):
            parts = record["parts"] or {}
            if "denied" in parts or "is_error" in parts or "status" in parts:
                assert "exit_code" not in parts
    stopped = [FOLDER / "gemini/timeout.jsonl", FOLDER / "gemini/compress.jsonl"]
    assert [verdict for path in stopped for verdict in grade(path)] == ["unknown", "unknown"]


# --- plan mode ------------------------------------------------------------------------------------

PLANNING = ["claude/plan-2", "claude/plan-4", "codex/codemode-plan", "codex/plan", "gemini/plan"]
NOT_PLANNING = ["claude/plan-1", "claude/tools", "codex/tools", "gemini/tools"]


@pytest.mark.parametrize("name", [*PLANNING, *NOT_PLANNING])
def test_plan_mode_is_known_from_the_transcript(name: str):
    path = FOLDER / f"{name}.jsonl"

    assert get_reader_of(path).is_planning({"transcript_path": str(path)}) == (name in PLANNING)


def test_gemini_plans_until_the_plan_is_approved(tmp_path: Path):
    reader = get_reader_of(FOLDER / "gemini/plan.jsonl")
    path = tmp_path / "chat.jsonl"
    answers = []
    for name, output in (
        ("enter_plan_mode", "Switching to Plan mode."),
        ("exit_plan_mode", "Plan rejected."),
        ("exit_plan_mode", "Plan approved. Switching to Default mode."),
    ):
        result = [{"functionResponse": {"response": {"output": output}}}]
        call = {"name": name, "status": "success", "result": result}
        with path.open("a") as file:
            file.write(json.dumps({"type": "gemini", "toolCalls": [call]}) + "\n")
        answers.append(reader.is_planning({"transcript_path": str(path)}))

    assert answers == [True, True, False]


def test_what_a_hook_says_of_the_mode_comes_first():
    path = str(FOLDER / "claude/plan-2.jsonl")
    claude = get_reader_of(Path(path))

    assert not claude.is_planning({"permission_mode": "default", "transcript_path": path})
    assert claude.is_planning({"permission_mode": "plan", "transcript_path": None})


@pytest.mark.parametrize("name", clients.CLIENTS)
@pytest.mark.parametrize("path", [None, 7, "/", "/dev/null", "/nowhere", "\0"])
def test_without_a_transcript_nobody_plans(name: str, path: object):
    client = clients.find_client(name)
    assert client is not None

    assert not clients.get_reader(client).is_planning({"transcript_path": path})


def test_opencode_plans_with_the_agent_that_plans():
    client = clients.find_client("opencode")
    assert client is not None
    reader = clients.get_reader(client)

    assert reader.is_planning({"agent": "plan"})
    assert not reader.is_planning({"agent": "build"})


# --- the plan of Codex ----------------------------------------------------------------------------


def read_codex(tmp_path: Path, lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    path = tmp_path / "rollout.jsonl"
    written = [json.dumps(line, separators=(",", ":")) for line in lines]
    path.write_text("\n".join(written) + "\n")
    reader = get_reader_of(FOLDER / "codex" / "update-plan.jsonl")
    records, _ = read_all(reader, path, {}, 4096)
    return describe_all(records)


def read_plan_lines() -> tuple[dict[str, Any], dict[str, Any]]:
    text = (FOLDER / "codex" / "update-plan.jsonl").read_text()
    call, output = [json.loads(line) for line in text.splitlines()]
    return call, output


def test_a_plan_that_codex_refuses_is_an_error(tmp_path: Path):
    """In its plan mode the tool is not allowed."""
    call, output = read_plan_lines()
    output["payload"]["output"] = "update_plan is not allowed in Plan mode"

    (record,) = read_codex(tmp_path, [call, output])

    assert record["parts"]["is_error"] is True


def test_a_plan_without_an_answer_is_not_a_record(tmp_path: Path):
    call, output = read_plan_lines()
    other = copy.deepcopy(output)
    other["payload"]["call_id"] = "call_of_another_tool"
    named = copy.deepcopy(other)
    named["payload"]["id"] = call["payload"]["call_id"]

    assert read_codex(tmp_path, [output]) == []
    assert read_codex(tmp_path, [call, other, named]) == []


def test_a_plan_is_read_across_pages(tmp_path: Path):
    call, output = read_plan_lines()
    between = {"timestamp": "t", "type": "response_item", "payload": {"text": "x" * 3000}}

    records = read_codex(tmp_path, [call, between, between, between, output])

    assert [step["step"] for step in records[0]["parts"]["input"]["plan"]] == ["first", "second"]
