"""Folders of conversations: written so that git, a crash and another version lose nothing."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.conversations import document
from holdfast.conversations.errors import ConversationNotFoundError, ReadOnlyConversationError
from holdfast.conversations.model import COMPLETED, AgentConfig, Conversation, History, Message
from holdfast.conversations.store import FOLDER, ConversationFiles, ConversationPlace
from holdfast.errors import HoldfastError
from holdfast.ground import clock
from holdfast.ground.frozen import replace
from tests.ground.repositories import Work, make

AT = datetime(2026, 11, 18, 9, 4, tzinfo=UTC)
NAME = "2026-11-18/001-debug-webhook-retry"


def say(number: int, role: str = "user") -> Message:
    return Message(f"e{number}", role, f"message {number}", AT + timedelta(minutes=number))


def make_files(root: Path, *, tracks_messages: bool = True) -> ConversationFiles:
    shared = ConversationPlace(str(root), FOLDER, is_shared=True)
    return ConversationFiles([shared], tracks_messages=tracks_messages)


def make_private(root: Path) -> ConversationFiles:
    return ConversationFiles([ConversationPlace(str(root), f"{FOLDER}/abc", is_shared=False)])


def create(files: ConversationFiles, title: str = "Webhook retry") -> Conversation:
    return files.create(Conversation("", "debug", title, AT, AT), f"# {title}\n")


def add(files: ConversationFiles, id_: str, *numbers: int) -> None:
    def change(before: Conversation, history: History) -> tuple[Conversation, list[Message]]:
        return before, [say(number) for number in numbers]

    files.update(id_, change)


def list_said(files: ConversationFiles, id_: str) -> list[str]:
    return [message.id for message in files.read_history(id_).messages]


def find_session_file(root: Path, id_: str, name: str) -> Path:
    return root / FOLDER / id_ / ".session" / name


# --- one conversation -----------------------------------------------------------------------------


def test_a_conversation_is_a_folder_with_its_document_and_its_session(tmp_path: Path):
    files = make_files(tmp_path)
    made = create(files)
    add(files, made.id, 1, 2)

    folder = tmp_path / FOLDER / NAME
    assert made.id == NAME
    assert (folder / "debug.md").read_text() == "# Webhook retry\n"
    assert sorted(path.name for path in (folder / ".session").iterdir()) == [
        "messages.jsonl",
        "session.json",
    ]
    described = json.loads((folder / ".session/session.json").read_text())
    assert described["conversation_id"] == "001-debug-webhook-retry"
    assert described["conversation_type"] == "debug"
    assert described["version"] == "1.0"
    first = (folder / ".session/messages.jsonl").read_text().split("\n")[0]
    assert json.loads(first) == {
        "id": "e1",
        "role": "user",
        "content": "message 1",
        "timestamp": "2026-11-18T09:05:00.000000Z",
    }


def test_everything_that_is_written_is_read_again(tmp_path: Path):
    files = make_files(tmp_path)
    made = create(files)
    config = AgentConfig("/workspace.debug", "sha256:12", "a-model", ("Bash", "mcp__x__y"))
    filled = replace(
        made,
        status=COMPLETED,
        message_count=3,
        token_count=40,
        agent_config=config,
        context_summary="Counted from zero: Größe, 退款",
        session_id="01a1",
        client="codex",
        git_head="9c41e2d",
        others={"later": {"kept": [1]}},
    )
    files.update(made.id, lambda before, history: (filled, ()))

    assert files.read(made.id) == filled


def test_in_the_data_folder_everything_is_for_this_user_alone(tmp_path: Path):
    files = make_private(tmp_path / "home")
    made = create(files)
    add(files, made.id, 1)

    for path in (tmp_path / "home").rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path


@pytest.mark.parametrize("tracks_messages", [True, False])
def test_git_keeps_the_history_only_if_it_was_asked_to(tmp_path: Path, tracks_messages: bool):
    work = make(tmp_path / "work")
    files = make_files(work.root, tracks_messages=tracks_messages)
    made = create(files)
    add(files, made.id, 1)

    work.git("add", "-A")
    tracked = work.git("ls-files", FOLDER).split("\n")

    assert f"{FOLDER}/{NAME}/debug.md" in tracked
    assert (f"{FOLDER}/{NAME}/.session/messages.jsonl" in tracked) == tracks_messages


def test_a_file_of_git_s_settings_that_a_person_wrote_stays(tmp_path: Path):
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / ".gitignore").write_text("drafts/\n")

    create(make_files(tmp_path))

    assert (tmp_path / FOLDER / ".gitignore").read_text() == "drafts/\n"


def test_two_at_once_get_two_numbers(tmp_path: Path):
    with ThreadPoolExecutor(8) as threads:
        made = list(
            threads.map(lambda number: create(make_files(tmp_path), f"t {number}"), range(16))
        )

    assert sorted(each.name[:3] for each in made) == [f"{number:03}" for number in range(1, 17)]


def test_writers_at_once_lose_no_message(tmp_path: Path):
    id_ = create(make_files(tmp_path)).id

    def write(writer: int) -> None:
        for step in range(10):
            add(make_files(tmp_path), id_, writer * 100 + step)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(write, range(8)))

    history = make_files(tmp_path).read_history(id_)
    assert len(history.messages) == 80
    assert history.damaged_lines == ()


def test_the_same_messages_again_are_added_once(tmp_path: Path):
    files = make_files(tmp_path)
    id_ = create(files).id
    add(files, id_, 1, 2)
    add(files, id_, 1, 2, 3)

    assert list_said(files, id_) == ["e1", "e2", "e3"]
    assert len(find_session_file(tmp_path, id_, "messages.jsonl").read_text().splitlines()) == 3


# --- what somebody did to it ----------------------------------------------------------------------


def test_without_its_session_a_conversation_is_what_its_folder_says(tmp_path: Path):
    files = make_files(tmp_path)
    id_ = create(files).id
    for path in (tmp_path / FOLDER / id_ / ".session").iterdir():
        path.unlink()
    (tmp_path / FOLDER / id_ / ".session").rmdir()

    found = files.read(id_)

    assert (found.title, found.type, found.problem) == ("Webhook retry", "debug", None)
    assert files.read_history(id_) == History()
    add(files, id_, 1)
    assert list_said(files, id_) == ["e1"]


def test_a_folder_that_was_renamed_or_copied_is_read_by_its_new_name(tmp_path: Path):
    files = make_files(tmp_path)
    id_ = create(files).id
    add(files, id_, 1)
    folder = tmp_path / FOLDER / "2026-11-18"
    (folder / "001-debug-webhook-retry").rename(folder / "009-debug-other")

    [(_, renamed)] = files.list_ids()

    assert renamed == "2026-11-18/009-debug-other"
    assert list_said(files, renamed) == ["e1"]
    with pytest.raises(ConversationNotFoundError):
        files.read(id_)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"{", "cannot be read"),
        (b"[]", "not a JSON object"),
        (b"\xff\xfe", "not UTF-8"),
        (b'{"version": "2.0"}', "version 2.0"),
        (b"[" * 5_000, "cannot be read"),
    ],
)
def test_a_file_that_cannot_be_read_or_is_newer_is_never_written(
    tmp_path: Path, data: bytes, words: str
):
    files = make_files(tmp_path)
    id_ = create(files).id
    path = find_session_file(tmp_path, id_, "session.json")
    path.write_bytes(data)

    assert words in (files.read(id_).problem or "")
    with pytest.raises(ReadOnlyConversationError):
        add(files, id_, 1)
    assert path.read_bytes() == data
    assert not find_session_file(tmp_path, id_, "messages.jsonl").exists()


@pytest.mark.parametrize("name", [".session", ".session/session.json", ".session/messages.jsonl"])
def test_a_link_in_the_place_of_a_file_is_not_followed(tmp_path: Path, name: str):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "session.json").write_text('{"title": "secret"}')
    files = make_files(tmp_path / "work")
    (tmp_path / "work").mkdir()
    id_ = create(files).id
    path = tmp_path / "work" / FOLDER / id_ / name
    if path.is_dir():
        path.rename(tmp_path / "away")
        path.symlink_to(outside)
    else:
        path.unlink(missing_ok=True)
        path.symlink_to(outside / "session.json")

    with pytest.raises(HoldfastError):
        add(files, id_, 1)
    assert files.read(id_).title == "Webhook retry"
    assert (outside / "session.json").read_text() == '{"title": "secret"}'


@pytest.mark.parametrize("id_", ["../x", "2026-11-18", "2026-11-18/..", "/etc/passwd", "", "a/b/c"])
def test_no_id_leads_out_of_the_folder(tmp_path: Path, id_: str):
    with pytest.raises(ConversationNotFoundError):
        make_files(tmp_path).read(id_)


def test_what_is_not_a_conversation_is_not_listed(tmp_path: Path):
    files = make_files(tmp_path)
    id_ = create(files).id
    (tmp_path / FOLDER / "notes").mkdir()
    (tmp_path / FOLDER / "2026-99-99").mkdir()
    (tmp_path / FOLDER / "2026-11-17").write_text("a file")
    (tmp_path / FOLDER / "2026-11-18" / "readme.md").write_text("x")
    os.symlink("/etc", tmp_path / FOLDER / "2026-11-16")

    assert [id_ for _, id_ in files.list_ids()] == [id_]


def test_damaged_lines_stay_in_the_file_and_keep_no_other_line_from_being_read(tmp_path: Path):
    files = make_files(tmp_path)
    id_ = create(files).id
    add(files, id_, 1, 2)
    path = find_session_file(tmp_path, id_, "messages.jsonl")
    damaged = b'{"torn": \n<<<<<<< ours\n\x00\xff\n{"role": "robot", "content": 3}\n'
    path.write_bytes(damaged + path.read_bytes() + b'{"half')
    add(files, id_, 3)

    history = files.read_history(id_)

    assert [message.id for message in history.messages] == ["e1", "e2", "e3"]
    assert history.damaged_lines == (1, 2, 3, 4, 7)
    assert path.read_bytes().startswith(damaged)


@settings(max_examples=30)
@given(st.integers(0, 400))
def test_a_file_cut_at_any_byte_keeps_every_whole_line_and_takes_new_ones(cut: int):
    lines = document.add_messages(None, [say(1), say(2), say(3)])
    cut = min(cut, len(lines))
    whole = lines[:cut].count(b"\n")

    added = document.add_messages(lines[:cut], [say(9)])

    ids = [message.id for message in document.read_history(added).messages]
    assert ids[-1] == "e9"
    assert ids[:whole] == ["e1", "e2", "e3"][:whole]


def test_an_erased_message_is_gone_from_the_file_and_does_not_come_back(tmp_path: Path):
    files = make_files(tmp_path)
    id_ = create(files).id
    add(files, id_, 1, 2)
    files.erase(["e1"], clock.now())
    add(files, id_, 1, 2)

    assert list_said(files, id_) == ["e2"]
    assert files.read_history(id_).erased == 1
    assert "message 1" not in find_session_file(tmp_path, id_, "messages.jsonl").read_text()


def test_pruning_removes_the_history_and_nothing_else(tmp_path: Path):
    files = make_files(tmp_path)
    id_ = create(files).id
    add(files, id_, 1)
    files.prune(id_)
    files.prune(id_)

    assert files.read_history(id_) == History()
    assert files.read(id_).title == "Webhook retry"


def test_an_archived_conversation_is_moved_and_not_listed(tmp_path: Path):
    files = make_files(tmp_path)
    id_ = create(files).id
    where = files.archive(id_)

    assert files.list_ids() == []
    assert (Path(where) / "debug.md").is_file()


def test_values_of_the_wrong_kind_count_as_missing(tmp_path: Path):
    files = make_files(tmp_path)
    made = create(files)
    wrong = {"created_at": 5, "last_active": "soon", "agent_config": [], "message_count": True}
    find_session_file(tmp_path, made.id, "session.json").write_text(json.dumps(wrong))

    found = files.read(made.id)

    day = datetime(2026, 11, 18, tzinfo=UTC)
    assert (found.created_at, found.last_active, found.message_count) == (day, day, 0)
    assert (found.agent_config, found.title) == (AgentConfig(), "Webhook retry")


def test_a_day_that_no_calendar_has_and_a_link_as_document_are_read_by_the_name(tmp_path: Path):
    folder = tmp_path / FOLDER / "2026-02-31/001-debug-webhook-retry"
    folder.mkdir(parents=True)
    (folder / "debug.md").symlink_to("/etc/hostname")

    found = make_files(tmp_path).read("2026-02-31/001-debug-webhook-retry")

    assert (found.title, found.created_at) == ("webhook retry", clock.EPOCH)


# --- git ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("has_attributes", [True, False])
def test_two_branches_that_went_on_with_one_conversation_are_both_there(
    tmp_path: Path, has_attributes: bool
):
    work = make(tmp_path / "work")
    files = make_files(work.root)
    id_ = create(files).id
    add(files, id_, 1)
    if not has_attributes:
        (work.root / FOLDER / ".gitattributes").write_text("")
    commit(work, "begun")
    work.git("checkout", "-q", "-b", "other")
    go_on(files, id_, 2, 30)
    commit(work, "there")
    work.git("checkout", "-q", "-")
    go_on(files, id_, 3, 4)
    commit(work, "here")
    work.git("merge", "-q", "other", check=False)

    found = files.read(id_)

    assert list_said(files, id_) == ["e1", "e2", "e3", "e4", "e30"]
    assert found.problem is None
    assert found.context_summary == "up to 30"  # the side that was active last
    add(files, id_, 31)
    assert list_said(files, id_)[-2:] == ["e30", "e31"]


def go_on(files: ConversationFiles, id_: str, *numbers: int) -> None:
    def change(before: Conversation, history: History) -> tuple[Conversation, list[Message]]:
        last = AT + timedelta(minutes=numbers[-1])
        after = replace(before, context_summary=f"up to {numbers[-1]}", last_active=last)
        return after, [say(number) for number in numbers]

    files.update(id_, change)


def commit(work: Work, message: str) -> None:
    work.git("add", "-A")
    work.git("commit", "-q", "-m", message)


# --- kills ----------------------------------------------------------------------------------------

WRITER = """
import sys
from pathlib import Path
from tests.conversations.test_store import add, make_files
files = make_files(Path(sys.argv[1]))
for number in range(int(sys.argv[3]), 10_000):
    add(files, sys.argv[2], number)
    print(number, flush=True)
"""


def test_a_writer_that_is_killed_loses_nothing_that_it_reported(
    tmp_path: Path, scale: Callable[[int], int]
):
    id_ = create(make_files(tmp_path)).id
    reported: list[int] = []
    for _ in range(scale(30)):
        start = reported[-1] + 2 if reported else 1
        command = [sys.executable, "-c", WRITER, str(tmp_path), id_, str(start)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            for _ in range(3):
                reported.append(int(writer.stdout.readline()))
            writer.kill()
            reported += [int(line) for line in writer.stdout.read().split()]

    history = make_files(tmp_path).read_history(id_)

    kept = {message.id for message in history.messages}
    assert {f"e{number}" for number in reported} <= kept
    assert history.damaged_lines == ()


# --- looking through many -------------------------------------------------------------------------


def test_the_newest_messages_are_read_without_the_others(tmp_path: Path):
    files = make_files(tmp_path)
    id_ = create(files).id
    assert files.read_newest(id_, 1_000).messages == ()
    add(files, id_, *range(200))

    newest = [message.id for message in files.read_newest(id_, 1_000).messages]

    assert newest == list_said(files, id_)[-len(newest) :]
    assert 1 < len(newest) < 20
    assert list_said(files, id_) == [
        message.id for message in files.read_newest(id_, 1_000_000).messages
    ]


def test_a_link_in_the_place_of_a_history_is_not_followed_to_its_end(tmp_path: Path):
    files = make_files(tmp_path)
    id_ = create(files).id
    (tmp_path / "secret").write_text('{"id": "s", "role": "user", "content": "x"}\n')
    find_session_file(tmp_path, id_, "messages.jsonl").symlink_to(tmp_path / "secret")

    assert files.read_newest(id_, 1_000) == History(damaged_lines=(1,))


def test_a_stamp_differs_as_soon_as_a_file_does(tmp_path: Path):
    files = make_files(tmp_path)
    id_ = create(files).id
    (place,) = files.places
    before = files.find_stamps(place, id_)
    assert before[1] is None
    assert files.find_stamps(place, id_) == before

    add(files, id_, 1)
    after = files.find_stamps(place, id_)

    assert after[0] != before[0]
    assert after[1] is not None
    assert files.find_stamps(place, "2026-01-01/001-debug-gone") == (None, None)
