"""Files when the system says no: a failure at every system call (F1), races (R6), no space and no
rights (R16).
"""

import errno
import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from holdfast.errors import Unavailable
from holdfast.ground import files, jsonl

SOURCE = str(Path(files.__file__).parents[2])
CALLS = [
    *(
        (os, name)
        for name in ("open", "close", "write", "pread", "fsync", "ftruncate", "rename", "unlink")
    ),
    *((os, name) for name in ("mkdir", "chmod", "fchmod", "fstat", "stat")),
    (fcntl, "flock"),
]
OLD, NEW = b"old" * 1_000, b"new" * 2_000
OLD_RECORDS = [{"id": number, "text": "x" * 50} for number in range(5)]
NEW_RECORDS = [{"id": "new 1"}, {"id": "new 2", "text": "y" * 500}]
OLD_LINES = b"".join(json.dumps(record).encode() + b"\n" for record in OLD_RECORDS)


def child_of(code: str, *arguments: object) -> list[str]:
    return [sys.executable, "-c", code, *map(str, arguments)]


CHILD_ENVIRONMENT = {**os.environ, "PYTHONPATH": SOURCE}


# --- the two operations, and what must be true after each -----------------------------------------


def write_new(folder: Path) -> None:
    files.write_atomic(folder / "data", NEW)


def append_new(folder: Path) -> None:
    jsonl.append_records(folder / "data.jsonl", NEW_RECORDS)


def check_write(folder: Path, start: bytes | None, done: bool) -> None:
    """Old or new, whole; new if it was acknowledged; and the next write works."""
    found = files.find_bytes(folder / "data", max_bytes=1 << 20)
    assert found == NEW if done else found in (start, NEW)
    files.write_atomic(folder / "data", b"next")
    assert (folder / "data").read_bytes() == b"next"


def check_append(folder: Path, start: bytes | None, done: bool) -> None:
    """The old records and a first part of the new ones; all of them if acknowledged; and the next
    append works.
    """
    old = OLD_RECORDS if start else []
    found = list(jsonl.read_records(folder / "data.jsonl").records)
    allowed = [[*old, *NEW_RECORDS[:count]] for count in range(len(NEW_RECORDS) + 1)]
    assert found == allowed[-1] if done else found in allowed
    jsonl.append_records(folder / "data.jsonl", [{"id": "next"}])
    assert jsonl.read_records(folder / "data.jsonl") == jsonl.Contents((*found, {"id": "next"}), ())


Operation = tuple[Callable[[Path], None], Callable[[Path, bytes | None, bool], None], str]
WRITE: Operation = (write_new, check_write, "data")
APPEND: Operation = (append_new, check_append, "data.jsonl")
CASES = [
    pytest.param(WRITE, None, id="write to a new file"),
    pytest.param(WRITE, OLD, id="write over an old file"),
    pytest.param(APPEND, None, id="append to a new file"),
    pytest.param(APPEND, OLD_LINES, id="append to an old file"),
    pytest.param(APPEND, OLD_LINES + b'{"id":"to', id="append to a torn tail"),
    pytest.param(APPEND, OLD_LINES[:-1], id="append to a line without its end"),
]


def prepare_folder(folder: Path, name: str, start: bytes | None) -> Path:
    folder.mkdir()
    if start is not None:
        (folder / name).write_bytes(start)
    return folder


# --- F1: a failure at the Nth system call ---------------------------------------------------------


FAULTS = [errno.EIO, errno.ENOSPC, errno.EACCES, errno.EROFS, errno.EMFILE, None]


@contextmanager
def fault_at(number: int, fault: int | None) -> Iterator[list[str]]:
    """Let the Nth call fail with this error; without one, let the Nth write be half of what was
    asked.
    """
    calls: list[str] = []

    def faulty(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            if fault is None and name != "write":
                return real(*args, **kwargs)
            calls.append(name)
            if len(calls) != number:
                return real(*args, **kwargs)
            if fault is None:
                return real(args[0], bytes(args[1])[: len(args[1]) // 2])
            if name == "close":
                real(*args)  # a close that reports an error has closed all the same
            raise OSError(fault, os.strerror(fault))

        return call

    with pytest.MonkeyPatch.context() as patch:
        for module, name in CALLS:
            patch.setattr(module, name, faulty(name, getattr(module, name)))
        yield calls


@pytest.mark.parametrize(
    "fault", FAULTS, ids=lambda fault: errno.errorcode.get(fault, "short write")
)
@pytest.mark.parametrize(("operation", "start"), CASES)
def test_a_failure_at_any_system_call_leaves_the_old_or_the_new_state(
    tmp_path: Path,
    record_property: Callable[[str, object], None],
    operation: Operation,
    start: bytes | None,
    fault: int | None,
) -> None:
    """F1 without kills: N = 1, 2, … until nothing is left to fail."""
    act, check, name = operation
    number = 0
    while True:
        number += 1
        folder = prepare_folder(tmp_path / str(number), name, start)
        descriptors = len(os.listdir("/dev/fd"))
        done = True
        with fault_at(number, fault) as calls:
            try:
                act(folder)
            except Unavailable:
                done = False
        assert len(os.listdir("/dev/fd")) == descriptors, calls[-1]
        assert not list(folder.rglob("*.tmp"))
        check(folder, start, done)
        if len(calls) < number:
            break
    record_property("N", number - 1)
    assert done
    assert number > 1


KILLER = """
import fcntl, json, os, shutil, signal, sys
from holdfast.ground import files, jsonl

root, operation = sys.argv[1:3]
half, names = sys.argv[3] == "half", json.loads(sys.argv[4])
new, new_records = sys.argv[5].encode(), json.loads(sys.argv[6])

def kill_at(number):
    calls = []
    def deadly(name, real):
        def call(*args, **kwargs):
            calls.append(name)
            if len(calls) == number:
                try:
                    if half and name == "write":
                        real(args[0], bytes(args[1])[: len(args[1]) // 2])
                    elif half:
                        real(*args, **kwargs)
                finally:
                    os.kill(os.getpid(), signal.SIGKILL)
            return real(*args, **kwargs)
        return call
    for module, name in names:
        home = {"os": os, "fcntl": fcntl}[module]
        setattr(home, name, deadly(name, getattr(home, name)))

number, status = 0, None
while status != 0:
    number += 1
    folder = shutil.copytree(f"{root}/start", f"{root}/{number}")
    child = os.fork()
    if child == 0:
        kill_at(number)
        if operation == "data":
            files.write_atomic(f"{folder}/data", new)
        else:
            jsonl.append_records(f"{folder}/data.jsonl", new_records)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    assert status in (0, signal.SIGKILL), status
print(number)
"""


@pytest.mark.parametrize("how", ["before", "half"])
@pytest.mark.parametrize(("operation", "start"), CASES)
def test_a_kill_at_any_system_call_leaves_the_old_or_the_new_state(
    tmp_path: Path,
    record_property: Callable[[str, object], None],
    operation: Operation,
    start: bytes | None,
    how: str,
) -> None:
    """F1 with kills: before the Nth call, and after it, with half of the bytes
    where it is a write.
    """
    _, check, name = operation
    root = tmp_path / "root"
    root.mkdir()
    prepare_folder(root / "start", name, start)
    names = json.dumps([(module.__name__, call) for module, call in CALLS])

    done = subprocess.run(
        child_of(KILLER, root, name, how, names, NEW.decode(), json.dumps(NEW_RECORDS)),
        env=CHILD_ENVIRONMENT,
        capture_output=True,
        text=True,
        check=True,
    )

    last = int(done.stdout)
    record_property("N", last - 1)
    for number in range(1, last + 1):
        check(root / str(number), start, number == last)
    assert last > 5
    shutil.rmtree(root)


# --- R6: several processes change one file --------------------------------------------------------


WRITER = """
import json, sys
from holdfast.ground import files

path, writer, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
sys.stdin.readline()
for number in range(count):
    with files.Lock(path, timeout_seconds=60):
        keys = json.loads(files.read_bytes(path, max_bytes=1 << 20))
        keys[f"{writer}.{number}"] = number
        files.write_atomic(path, json.dumps(keys).encode())
"""

READER = """
import json, os, sys
from holdfast.ground import files

path, done = sys.argv[1], sys.argv[2]
sys.stdin.readline()
reads = most = 0
while not os.path.exists(done):
    count = len(json.loads(files.read_bytes(path, max_bytes=1 << 20)))
    assert count >= most, "a reader saw an older file after a newer one"
    reads, most = reads + 1, count
print(reads)
"""


def test_no_change_is_lost_and_no_reader_sees_half_when_eight_processes_write_one_file(
    tmp_path: Path, scale: Callable[[int], int]
) -> None:
    """R6: 8 writers × 50 read, change and write under the lock; 4 readers do not lock."""
    path, finished, each = tmp_path / "data.json", tmp_path / "finished", scale(50)
    files.write_atomic(path, b"{}")
    writers = [start_child(WRITER, path, writer, each) for writer in range(8)]
    readers = [start_child(READER, path, finished) for _ in range(4)]
    for child in (*readers, *writers):
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()

    errors = [child.communicate()[1] for child in writers]
    finished.touch()
    reads, reader_errors = zip(*[child.communicate() for child in readers], strict=True)

    assert [*errors, *reader_errors] == [""] * 12
    keys = json.loads(path.read_bytes())
    assert set(keys) == {f"{writer}.{number}" for writer in range(8) for number in range(each)}
    assert not list(tmp_path.glob("*.tmp"))
    print(f"R6: {len(keys)} of {8 * each} keys, {sum(map(int, reads))} reads")


def start_child(code: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        child_of(code, *arguments),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=CHILD_ENVIRONMENT,
    )


# --- R16: no space, no rights, no descriptors -----------------------------------------------------


def outcomes_of(code: str, *arguments: object) -> dict[str, Any]:
    """What a child reports as JSON on its last line."""
    done = subprocess.run(
        child_of(code, *arguments),
        env=CHILD_ENVIRONMENT,
        capture_output=True,
        text=True,
        check=True,
    )
    outcomes: dict[str, Any] = json.loads(done.stdout)
    return outcomes


FULL_DISK = """
import json, resource, sys
from holdfast.errors import StoreFullError
from holdfast.ground import files, jsonl

folder, count = sys.argv[1], int(sys.argv[2])
acked, refused, written = [], [], []

def limit(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

limit(500 + 100 * count)
for number in range(count):
    try:
        jsonl.append_records(f"{folder}/data.jsonl", [{"n": number, "text": "x" * 190}])
        acked.append(number)
    except StoreFullError as error:
        refused.append(str(error))
    try:
        files.write_atomic(f"{folder}/data", b"y" * 200 * (number + 1))
        written.append(number)
    except StoreFullError as error:
        refused.append(str(error))
limit(resource.RLIM_INFINITY)
jsonl.append_records(f"{folder}/data.jsonl", [{"n": "space again"}])
print(json.dumps({"acked": acked, "refused": refused, "written": written}))
"""


def test_a_full_disk_refuses_what_does_not_fit_and_keeps_what_was_acknowledged(
    tmp_path: Path, scale: Callable[[int], int]
) -> None:
    """R16: half of the operations meet the limit; when there is space again, so is the store."""
    folder, count = tmp_path / "full", max(10, scale(100))  # fewer would all fit
    folder.mkdir()

    outcomes = outcomes_of(FULL_DISK, folder, count)

    contents = jsonl.read_records(folder / "data.jsonl")
    assert [record["n"] for record in contents.records] == [*outcomes["acked"], "space again"]
    assert contents.damaged == ()
    assert (folder / "data").stat().st_size == 200 * (outcomes["written"][-1] + 1)
    assert sorted(os.listdir(folder)) == ["data", "data.jsonl", "data.jsonl.lock"]
    assert (
        len(outcomes["refused"])
        == 2 * count - len(outcomes["acked"]) - len(outcomes["written"])
        > 0
    )
    assert all(message.startswith("No space is left for") for message in outcomes["refused"])


READ_ONLY = """
import json, os, sys
from holdfast.errors import StoreReadOnlyError
from holdfast.ground import files, jsonl

os.chdir(sys.argv[1])  # another user may stand in a folder whose parents it could not pass
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
refused = []
for _ in range(int(sys.argv[2])):
    for act in (
        lambda: jsonl.append_records("data.jsonl", [{"n": 1}]),
        lambda: files.write_atomic("data", b"new"),
        lambda: files.private_folder("folder"),
    ):
        try:
            act()
        except StoreReadOnlyError as error:
            refused.append(str(error))
print(json.dumps({"refused": refused}))
"""


def test_a_folder_without_the_right_to_write_says_so_and_stays_as_it_was(
    tmp_path: Path, scale: Callable[[int], int]
) -> None:
    """R16: as another user where we are root, since root may write everywhere."""
    folder, count = tmp_path / "closed", scale(100)
    folder.mkdir()
    (folder / "data.jsonl").write_bytes(OLD_LINES)
    (folder / "data").write_bytes(OLD)
    folder.chmod(0o555)

    outcomes = outcomes_of(READ_ONLY, folder, count)

    folder.chmod(0o755)
    assert len(outcomes["refused"]) == 3 * count
    assert all("cannot be written: permission denied" in message for message in outcomes["refused"])
    assert sorted(os.listdir(folder)) == ["data", "data.jsonl"]
    assert ((folder / "data").read_bytes(), (folder / "data.jsonl").read_bytes()) == (
        OLD,
        OLD_LINES,
    )
    append_new(folder)
    check_append(folder, OLD_LINES, True)


NO_DESCRIPTORS = """
import json, os, resource, sys
from holdfast.errors import StoreUnreachableError
from holdfast.ground import files, jsonl

folder, count = sys.argv[1], int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_NOFILE, (32, 32))
acked, refused = [], []
for number in range(count):
    taken = []
    try:
        while True:
            taken.append(os.open("/dev/null", os.O_RDONLY))
    except OSError:
        pass
    for _ in range(number % 5):
        os.close(taken.pop())
    try:
        jsonl.append_records(f"{folder}/data.jsonl", [{"n": number}])
        files.write_atomic(f"{folder}/data", b"%d" % number)
        acked.append(number)
    except StoreUnreachableError as error:
        refused.append(str(error))
    for fd in taken:
        os.close(fd)
jsonl.append_records(f"{folder}/data.jsonl", [{"n": "free again"}])
print(json.dumps({"acked": acked, "refused": refused}))
"""


def test_a_process_without_descriptors_acknowledges_nothing_that_it_did_not_store(
    tmp_path: Path, scale: Callable[[int], int]
) -> None:
    """R16: 32 descriptors, of which none to four are free."""
    folder, count = tmp_path / "many", scale(100)
    folder.mkdir()

    outcomes = outcomes_of(NO_DESCRIPTORS, folder, count)

    contents = jsonl.read_records(folder / "data.jsonl")
    assert {*outcomes["acked"], "free again"} <= {record["n"] for record in contents.records}
    assert contents.damaged == ()
    assert not list(folder.glob(".*"))
    assert len(outcomes["refused"]) + len(outcomes["acked"]) == count
    assert outcomes["refused"]
    assert all("too many open files" in message for message in outcomes["refused"])
