"""Conversations when git merges them, the system says no, or a process is killed: R14, R16, F1."""

import errno
import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from holdfast.conversations.model import ACTIVE, COMPLETED, PAUSED, Conversation, History, Message
from holdfast.conversations.store import FOLDER, ConversationFiles, ConversationPlace
from holdfast.errors import HoldfastError, Unavailable
from holdfast.ground.frozen import replace
from tests.faults import test_file_faults as file_faults
from tests.ground.repositories import Work, make

Scale = Callable[[int], int]
AT = datetime(2026, 11, 18, 9, 4, tzinfo=UTC)
NAME = "2026-11-18/001-debug-webhook-retry"
WAYS = ("plain", "union", "ours")


def make_files(root: Path) -> ConversationFiles:
    place = ConversationPlace(str(root), FOLDER, is_shared=True)
    return ConversationFiles([place], tracks_messages=True)


def create(files: ConversationFiles) -> str:
    title = "Webhook retry"
    return files.create(Conversation("", "debug", title, AT, AT), f"# {title}\n").id


def say(id_: str, minute: int) -> Message:
    role = "user" if minute % 2 else "assistant"
    return Message(id_, role, f"said {id_}", AT + timedelta(minutes=minute))


def go_on(files: ConversationFiles, id_: str, said: list[Message], status: str = ACTIVE) -> None:
    def change(before: Conversation, history: History) -> tuple[Conversation, list[Message]]:
        last = max((message.at for message in said), default=before.last_active)
        summary = f"{status} at {last:%H:%M}"
        after = replace(before, status=status, last_active=last, context_summary=summary)
        return after, said

    files.update(id_, change)


def list_ids(files: ConversationFiles, id_: str) -> list[str]:
    return [message.id for message in files.read_history(id_).messages]


def commit(work: Work) -> None:
    work.git("add", "-A")
    work.git("commit", "-q", "-m", "x", "--allow-empty")


# --- R14: git merges it ---------------------------------------------------------------------------


def test_random_merges_by_git_lose_no_message_and_no_side(tmp_path: Path, scale: Scale):
    """As a forge merges, with `merge=union`, and with the attributes that we write: two branches
    that went on with a conversation, or that began one of the same name.
    """
    conflicts = 0
    for number in range(scale(200)):
        chance, way = random.Random(number), WAYS[number % len(WAYS)]
        work = make(tmp_path / str(number))
        commit(work)
        files = make_files(work.root)
        begun = [say(f"base{n}", n) for n in range(chance.randrange(3))]
        is_begun_twice = chance.random() < 0.2
        if not is_begun_twice:
            go_on(files, create(files), begun)
        set_way(work, way)
        commit(work)
        main = work.git("branch", "--show-current").strip()
        wanted, statuses, lines = {message.id for message in begun}, {}, []
        if is_begun_twice:
            wanted = set()
        for side in ("left", "right"):
            work.git("checkout", "-q", "-B", side, main)
            if is_begun_twice:
                create(files)
                set_way(work, way)
            said = [say(f"{side}{n}", chance.randrange(500)) for n in range(chance.randrange(1, 4))]
            status = chance.choice((ACTIVE, PAUSED, COMPLETED))
            go_on(files, NAME, said, status)
            statuses[side] = max(message.at for message in said), status
            wanted |= {message.id for message in said}
            lines.append(f"Decided on the {side}.")
            document = work.root / FOLDER / NAME / "debug.md"
            document.write_text(f"{document.read_text()}\n{lines[-1]}\n")
            commit(work)
        work.git("merge", "-q", "left", check=False)
        conflicts += check_merged(work, files, wanted, statuses, lines)
    print(f"R14: {number + 1} merges, {conflicts} with a session.json that git could not merge")
    assert conflicts


def set_way(work: Work, way: str) -> None:
    if way != "ours":
        rule = "messages.jsonl merge=union\n" if way == "union" else ""
        (work.root / FOLDER).mkdir(exist_ok=True)
        (work.root / FOLDER / ".gitattributes").write_text(rule)


def check_merged(
    work: Work,
    files: ConversationFiles,
    wanted: set[str],
    statuses: dict[str, tuple[datetime, str]],
    lines: list[str],
) -> bool:
    """Whether git could not merge what describes it. Reading changes nothing."""
    folder = work.root / FOLDER / NAME
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    found, history = files.read(NAME), files.read_history(NAME)
    assert {message.id for message in history.messages} == wanted
    assert [m.at for m in history.messages] == sorted(m.at for m in history.messages)
    assert len(history.messages) == len(wanted)
    assert all(line in (folder / "debug.md").read_text() for line in lines)
    assert found.problem is None
    latest = max(at for at, _ in statuses.values())
    assert found.status in {status for _, status in statuses.values()}
    assert found.context_summary.endswith(f"{latest:%H:%M}")
    assert {path: path.read_bytes() for path in before} == before
    described = folder / ".session/session.json"
    has_markers = b"<<<<<<<" in before[described]
    assert (found.conflict is not None) == has_markers

    go_on(files, NAME, [say("later", 900)])

    assert {*list_ids(files, NAME)} == {*wanted, "later"}
    assert files.read(NAME).conflict is None
    assert (folder / "debug.md").read_bytes() == before[folder / "debug.md"]
    after = (folder / ".session/messages.jsonl").read_bytes()
    assert after.startswith(before[folder / ".session/messages.jsonl"])
    kept = [path.read_bytes() for path in folder.glob(".session/.recovered/*")]
    assert kept == ([before[described]] if has_markers else [])
    assert ".recovered" not in work.git("status", "--porcelain", "-uall")
    return has_markers


def test_what_is_forgotten_is_gone_from_both_sides_that_are_kept(tmp_path: Path):
    files = make_files(tmp_path)
    id_ = create(files)
    go_on(files, id_, [say("e1", 1)])
    described = tmp_path / FOLDER / id_ / ".session/session.json"
    text = described.read_text()
    described.write_text(f"<<<<<<< a\n{text}=======\n{text}>>>>>>> b\n")
    go_on(files, id_, [say("e2", 2)])
    recovered = described.parent / ".recovered"
    assert len(list(recovered.iterdir())) == 1

    files.erase(["e1"], AT)

    assert list(recovered.iterdir()) == []
    assert list_ids(files, id_) == ["e2"]


# --- F1, R16: the system says no ------------------------------------------------------------------


@pytest.mark.parametrize(
    "fault", file_faults.FAULTS, ids=lambda fault: errno.errorcode.get(fault, "short write")
)
@pytest.mark.parametrize("act", ["create", "save"])
def test_a_failure_at_any_system_call_of_a_save_leaves_what_was_there(
    tmp_path: Path, act: str, fault: int | None, scale: Scale
):
    """F1: N = 1, 2, … until nothing is left to fail, every third in the gate. The next one works,
    and nothing leaks.
    """
    step = 1 if scale(10) == 10 else 3
    number = 0
    while True:
        number += step
        root = tmp_path / str(number)
        root.mkdir()
        files = make_files(root)
        id_ = create(files)
        go_on(files, id_, [say("e1", 1)])
        descriptors, done = len(os.listdir("/dev/fd")), True
        with file_faults.fault_at(number, fault) as calls:
            try:
                do(files, act)
            except (Unavailable, HoldfastError):
                done = False
        assert len(os.listdir("/dev/fd")) == descriptors, calls[-1]
        check_after(files, root, act, done)
        if len(calls) < number:
            break
    assert done
    assert number > 2


def do(files: ConversationFiles, act: str) -> None:
    if act == "create":
        create(files)
    else:
        go_on(files, NAME, [say("e2", 2), say("e3", 3)])


def check_after(files: ConversationFiles, root: Path, act: str, done: bool) -> None:
    """The old or the new state of each file, whole; and the next try gets through."""
    assert not list(root.rglob("*.tmp"))
    ids = list_ids(files, NAME)
    is_saved = act == "save" and done
    assert ids in ([["e1", "e2", "e3"]] if is_saved else [["e1"], ["e1", "e2", "e3"]])
    described = root / FOLDER / NAME / ".session/session.json"
    assert json.loads(described.read_text())["version"] == "1.0"
    assert all(files.read(id_).problem is None for _, id_ in files.list_ids())
    do(files, act)
    assert list_ids(files, NAME) == (["e1"] if act == "create" else ["e1", "e2", "e3"])


KILLER = """
import json, os, shutil, signal, sys
from pathlib import Path
from tests.faults import test_conversation_files as these
from tests.faults.test_file_faults import CALLS

root, act, half = Path(sys.argv[1]), sys.argv[2], sys.argv[3] == "half"

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
    for module, name in CALLS:
        setattr(module, name, deadly(name, getattr(module, name)))

number, status = 0, None
while status != 0:
    number += 1
    folder = root / str(number)
    shutil.copytree(root / "start", folder)
    child = os.fork()
    if child == 0:
        kill_at(number)
        these.do(these.make_files(folder), act)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    assert status in (0, signal.SIGKILL), status
print(number)
"""


@pytest.mark.parametrize("how", ["before", "half"])
@pytest.mark.parametrize("act", ["create", "save"])
def test_a_kill_at_any_system_call_of_a_save_leaves_what_was_there(
    tmp_path: Path, act: str, how: str, record_property: Callable[[str, object], None]
):
    root = tmp_path / "root"
    start = root / "start"
    start.mkdir(parents=True)
    files = make_files(start)
    go_on(files, create(files), [say("e1", 1)])

    killed = subprocess.run(
        [sys.executable, "-c", KILLER, root, act, how], capture_output=True, text=True
    )

    assert killed.returncode == 0, killed.stderr
    last = int(killed.stdout)
    record_property("N", last - 1)
    for number in range(1, last + 1):
        folder = root / str(number)
        for litter in folder.rglob("*.tmp"):  # git ignores it, and it holds nothing up
            litter.unlink()
        check_after(make_files(folder), folder, act, number == last)
    shutil.rmtree(root)
    assert last > 5


FULL = """
import resource, sys
from pathlib import Path
from holdfast.errors import StoreFullError
from tests.faults.test_conversation_files import NAME, go_on, list_ids, make_files, say

files = make_files(Path(sys.argv[1]))
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (3_000, hard))
acked = refused = 0
for number in range(100):
    try:
        go_on(files, NAME, [say(f"full{number}", number)])
        acked += 1
    except StoreFullError:
        refused += 1
        assert len(list_ids(files, NAME)) == acked + 1
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
go_on(files, NAME, [say("space again", 900)])
assert list_ids(files, NAME)[-1] == "space again"
print(acked, refused)
"""


def test_a_full_disk_refuses_a_save_and_keeps_what_was_saved(tmp_path: Path):
    files = make_files(tmp_path)
    go_on(files, create(files), [say("e1", 1)])

    told = subprocess.run(
        [sys.executable, "-c", FULL, tmp_path], capture_output=True, text=True, check=False
    )

    assert told.returncode == 0, told.stderr
    acked, refused = map(int, told.stdout.split())
    assert acked + refused == 100
    assert min(acked, refused) > 10
    assert len(list_ids(files, NAME)) == acked + 2
    assert not list(tmp_path.rglob("*.tmp"))


# --- sizes ----------------------------------------------------------------------------------------


def test_the_thousandth_of_a_day_is_the_newest_and_the_next_follows_it(tmp_path: Path):
    files = make_files(tmp_path)
    day = tmp_path / FOLDER / "2026-11-18"
    for number in (1, 998, 999):
        (day / f"{number:03}-debug-x").mkdir(parents=True)

    made = [create(files) for _ in range(2)]

    assert [id_[11:15] for id_ in made] == ["1000", "1001"]
    assert [id_ for _, id_ in files.list_ids()][:3] == [made[1], made[0], "2026-11-18/999-debug-x"]


def test_an_archived_number_is_not_given_again(tmp_path: Path):
    """Sessions name their conversation by its id: another one must not be found by it."""
    files = make_files(tmp_path)
    id_ = create(files)
    files.archive(id_)

    again = create(files)

    assert again != id_
    assert Path(files.archive(again)).is_dir()


def test_twenty_thousand_messages_and_one_of_four_megabytes_are_kept(tmp_path: Path, scale: Scale):
    files = make_files(tmp_path)
    id_ = create(files)
    count = scale(20_000)
    go_on(files, id_, [say(f"e{number}", number) for number in range(count)])
    long = replace(say("long", count), content="x" * (4 << 20) + " needle")
    go_on(files, id_, [long])

    found = files.read_history(id_)
    said, left_out = files.find_said(["needle", "e7", "nothing"])

    assert len(found.messages) == count + 1
    assert (found.messages[-1].content == long.content, left_out) == (True, 0)
    assert said == {id_: ["needle", "e7"]}


def test_a_writer_that_is_stopped_keeps_the_others_waiting_and_breaks_nothing(tmp_path: Path):
    """Two processes at one conversation: the second writes when the first is gone."""
    files = make_files(tmp_path)
    id_ = create(files)
    code = (
        "import os, signal, sys; from pathlib import Path;"
        "from tests.faults.test_conversation_files import *;"
        "files = make_files(Path(sys.argv[1]));"
        "stop = lambda before, history: (print('in', flush=True), os.kill(os.getpid(), 19));"
        "files.update(NAME, stop)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as frozen:
        assert frozen.stdout is not None
        assert frozen.stdout.readline() == "in\n"
        assert files.read(id_).problem is None  # who reads does not wait
        frozen.send_signal(signal.SIGKILL)
        go_on(files, id_, [say("e1", 1)])

    assert list_ids(files, id_) == ["e1"]
