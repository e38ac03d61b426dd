"""JSON lines under `kill -9`, cut at every byte, and damaged at random: R2, R3 and R3b."""

import json
import os
import random
import select
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast.ground import jsonl

SOURCE = str(Path(jsonl.__file__).parents[2])
KILLS_PER_FILE = 10  # keeps a file of large lines small enough to be read again

APPENDER = """
import os, sys
from holdfast.ground import jsonl

path, number, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
while True:
    jsonl.append_records(path, [{"n": number, "pad": "x" * size}])
    os.write(1, b"%d\\n" % number)
    number += 1
"""


@pytest.mark.parametrize("line_bytes", [200, 3_000, 64_000, 1_000_000])
def test_no_acknowledged_record_is_lost_when_its_writer_is_killed(
    tmp_path: Path, scale: Callable[[int], int], line_bytes: int
) -> None:
    """R2: 500 kills over four lengths of line, each 0 to 20 ms after the first acknowledgement."""
    kills, seed = scale(125), random.randrange(1 << 32)
    chance, acked = random.Random(seed), dict[str, list[int]]()
    for kill in range(kills):
        path = str(tmp_path / f"{kill // KILLS_PER_FILE}.jsonl")
        acked.setdefault(path, []).extend(
            acked_until_killed(path, kill * 1_000_000, line_bytes, chance.uniform(0, 0.020))
        )

    for path, numbers in acked.items():
        jsonl.append_records(path, [{"n": -1}])
        contents = jsonl.read_records(path)
        stored = [record["n"] for record in contents.records]
        assert contents.damaged == ()
        assert len(stored) == len(set(stored))
        assert set(numbers) <= set(stored)
    torn = len(list(tmp_path.glob(".recovered/*")))
    print(
        f"R2: {kills} kills, {line_bytes} B, {sum(map(len, acked.values()))} acked, {torn} "
        f"torn tails, seed {seed}"
    )


def acked_until_killed(path: str, first: int, line_bytes: int, seconds: float) -> list[int]:
    command = [sys.executable, "-c", APPENDER, path, str(first), str(line_bytes)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, bufsize=0, env={**os.environ, "PYTHONPATH": SOURCE}
    ) as child:
        assert child.stdout is not None
        acks = child.stdout.readline()
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0 and select.select(
            [child.stdout], [], [], left
        )[0]:
            acks += os.read(child.stdout.fileno(), 1 << 16)
        child.kill()
        acks += child.stdout.read()
    return [int(ack) for ack in acks.split()]


def sixty_records(chance: random.Random) -> list[dict[str, Any]]:
    letters = 'abc "\\{}[]:,\t\u2028é東\U0001f600'
    return [
        {
            "id": number,
            "text": "".join(chance.choices(letters, k=chance.randrange(40, 160))),
            "at": {"n": [number]},
        }
        for number in range(60)
    ]


def as_lines(records: list[dict[str, Any]]) -> list[bytes]:
    return [json.dumps(record, ensure_ascii=False).encode() for record in records]


def test_a_file_cut_at_any_byte_gives_its_whole_records_and_takes_the_next_one(
    tmp_path: Path, scale: Callable[[int], int]
) -> None:
    """R3: 60 records; the cut bytes are kept, and one damage is reported at most."""
    seed = random.randrange(1 << 32)
    chance, path, new = random.Random(seed), tmp_path / "data.jsonl", {"id": "new"}
    records = sixty_records(chance)
    lines = as_lines(records)
    data = b"".join(line + b"\n" for line in lines)
    cuts = chance.sample(range(len(data) + 1), scale(len(data) + 1))
    torn = 0
    for cut in cuts:
        path.write_bytes(data[:cut])
        count, rest = whole_lines(lines, data[:cut])
        whole = records[:count]

        before = jsonl.read_records(path)
        kept = jsonl.append_records(path, [new])
        after = jsonl.read_records(path)

        assert list(before.records) == whole, f"cut {cut}, seed {seed}"
        assert [(d.reason, d.raw) for d in before.damaged] == ([("torn", rest)] if rest else [])
        assert (Path(kept).read_bytes() if kept else b"") == rest
        assert (list(after.records), after.damaged) == ([*whole, new], ())
        torn += bool(rest)
    print(f"R3: {len(cuts)} cuts of {len(data)} bytes, {torn} torn, seed {seed}")


def whole_lines(lines: list[bytes], data: bytes) -> tuple[int, bytes]:
    """How many lines are whole in this data, and the bytes of the one that is not."""
    at = 0
    for count, line in enumerate(lines):
        if not data.startswith(line, at):
            return count, data[at:]
        at += len(line) + 1
    return len(lines), b""


def flip(line: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(line))
    flipped = line[at] ^ (1 << chance.randrange(8))
    return line[:at] + (bytes([flipped]) if flipped != 10 else b"?") + line[at + 1 :]


def insert(line: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(line) + 1)
    return line[:at] + chance.randbytes(chance.randrange(1, 9)).replace(b"\n", b"?") + line[at:]


def insert_separator(line: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(line) + 1)
    return line[:at] + "\u2028".encode() + line[at:]


def zero(line: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(line))
    return line[:at] + bytes(min(chance.randrange(1, 64), len(line) - at)) + line[at + 64 :]


def drop(line: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(line))
    return line[:at] + line[at + chance.randrange(1, 64) :]


def split(line: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(1, len(line))
    return line[:at] + b"\n" + line[at:]


def add_conflict(line: bytes, chance: random.Random) -> bytes:
    return b"<<<<<<< HEAD\n" + line + b"\n=======\n" + line + b"\n>>>>>>> theirs"


def add_carriage_return(line: bytes, chance: random.Random) -> bytes:
    return line + b"\r"


def add_byte_order_mark(line: bytes, chance: random.Random) -> bytes:
    return b"\xef\xbb\xbf" + line


def add_blank_lines(line: bytes, chance: random.Random) -> bytes:
    return b"\n \r\n" + line + b"\n"


HARMFUL = (flip, insert, insert_separator, zero, drop, split)
HARMLESS = (add_conflict, add_carriage_return, add_byte_order_mark, add_blank_lines)


def test_every_undamaged_record_is_read_between_damaged_lines(
    tmp_path: Path, scale: Callable[[int], int]
) -> None:
    """R3b: every line is a record or a damage with its number, and the file stays as it was."""
    cases, seed = scale(1_000), random.randrange(1 << 32)
    chance, folder = random.Random(seed), tmp_path / "folder"
    folder.mkdir()
    path, damages = folder / "data.jsonl", 0
    for case in range(cases):
        records = sixty_records(chance)
        lines, untouched = as_lines(records), list(records)
        for number in chance.sample(range(60), chance.randrange(1, 8)):
            damage = chance.choice(HARMFUL + HARMLESS)
            lines[number] = damage(lines[number], chance)
            if damage in HARMFUL:
                untouched.remove(records[number])
        data = b"".join(line + b"\n" for line in lines)
        path.write_bytes(data)

        contents = jsonl.read_records(path)

        assert [r for r in unique(contents.records) if r in untouched] == untouched, (
            f"case {case}, seed {seed}"
        )
        split_lines = data.split(b"\n")
        assert len([line for line in split_lines if line.strip()]) == len(contents.records) + len(
            contents.damaged
        )
        assert all(
            split_lines[d.line_number - 1] == d.raw and d.reason != "torn" for d in contents.damaged
        )
        assert (path.read_bytes(), os.listdir(folder)) == (data, ["data.jsonl"])
        damages += len(contents.damaged)
    print(f"R3b: {cases} files of 60 records, {damages} damages, seed {seed}")


def unique(records: tuple[dict[str, Any], ...]) -> list[dict[str, Any]]:
    """Each record once: both sides of a conflict hold the same one here."""
    return [record for at, record in enumerate(records) if record not in records[:at]]


def test_a_record_appended_to_a_damaged_file_is_read_and_the_damage_stays(tmp_path: Path) -> None:
    path, damaged = tmp_path / "data.jsonl", b'<<<<<<< HEAD\n\x00\x00\n{"id":1}\n[[[\n'
    path.write_bytes(damaged)

    jsonl.append_records(path, [{"id": 2}])

    assert path.read_bytes() == damaged + b'{"id":2}\n'
    assert jsonl.read_records(path).records == ({"id": 1}, {"id": 2})
