"""What a `session.json` and a history may say that somebody else wrote."""

import json
from datetime import UTC, datetime

import pytest

from holdfast.conversations import document
from holdfast.conversations.model import BY_RULE, Conversation, Message
from holdfast.conversations.rules import TITLE_CHARS, check_type, order_id
from holdfast.errors import InvalidValueError
from holdfast.ground import clock

AT = datetime(2026, 11, 18, tzinfo=UTC)
ID = "2026-11-18/001-debug-webhook-retry"
HALF = "\ud800"  # of a surrogate pair: JSON can say it, and nothing can show it


def read(data: bytes | dict[str, object]) -> Conversation:
    raw = json.dumps(data).encode() if isinstance(data, dict) else data
    return document.from_bytes(raw, ID, title="Webhook retry", changed_at=AT, is_shared=True)


def describe(**more: object) -> str:
    return json.dumps({"version": "1.0", "title": "x", **more}, indent=2) + "\n"


# --- session.json ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    ["../../etc/passwd", "/etc/passwd", "a/../../b", "", ".", "a\0b", "a\nb", HALF, "x" * 5_000],
)
def test_a_file_outside_of_the_repository_is_not_even_looked_for(path: str):
    assert read({"files": ["src/retry.py", path]}).files == ("src/retry.py",)


@pytest.mark.parametrize("head", ["--output=x", "HEAD", "main", "9C41E2D", "9c41", "", 7, HALF])
def test_only_a_commit_is_one(head: object):
    assert read({"git_head": head}).git_head is None
    assert read({"git_head": "9c41e2d"}).git_head == "9c41e2d"


def test_a_title_stands_on_one_line_and_has_an_end():
    assert read({"title": "two\nlines \x1b[2J"}).title == "two lines [2J"
    assert len(read({"title": "x" * 100_000}).title) == TITLE_CHARS
    assert read({"title": "\0\n"}).title == "Webhook retry"


def test_names_that_nothing_can_be_called_count_as_missing():
    wrong = f"a{HALF}"
    config = {
        "command": "\0",
        "model": wrong,
        "tools": [wrong, "Bash", "x" * 500, *map(str, range(99))],
    }
    found = read({"session_id": wrong, "client": "\x1b[2J", "agent_config": config})

    assert (found.session_id, found.client) == (None, None)
    assert (found.agent_config.command, found.agent_config.model) == ("", "")
    assert found.agent_config.tools[:2] == ("Bash", "0")
    assert len(found.agent_config.tools) == document.MOST_TOOLS


def test_what_is_read_can_always_be_written_and_passed_on():
    found = read({"context_summary": f"s{HALF}", f"later{HALF}": [HALF], "summary_by": HALF})

    again = read(document.to_bytes(found))

    assert again == found
    assert again.others == {f"later{HALF}": [HALF]}
    assert found.context_summary.encode()
    assert read({}).summary_by == BY_RULE


@pytest.mark.parametrize(
    "data",
    [
        b'{"message_count": ' + b"9" * 5_000 + b"}",
        b"",
        b"<<<<<<< a\n=======\n>>>>>>> b\n",
        describe(version="1.0").encode()[:-4],
    ],
)
def test_what_is_not_json_is_a_problem_and_not_an_error(data: bytes):
    assert "cannot be read" in (read(data).problem or "")


def test_both_sides_of_a_conflict_are_read_and_the_reader_is_told():
    ours = describe(last_active="2026-11-18T10:00:00Z", status="completed")
    theirs = describe(last_active="2026-11-18T10:30:00+01:00", status="paused")
    found = read(
        f"<<<<<<< ours\n{ours}||||||| base\n{{\n=======\n{theirs}>>>>>>> theirs\n".encode()
    )

    assert (found.status, found.problem) == ("completed", None)  # by the time, not by its text
    assert found.conflict == document.NOT_MERGED
    assert read(ours.encode()).conflict is None


def test_a_side_of_a_newer_version_may_only_be_read():
    newer = describe(version="2.0")
    found = read(f"<<<<<<< ours\n{describe()}=======\n{newer}>>>>>>> theirs\n".encode())

    assert "of version 2.0" in (found.problem or "")


# --- messages.jsonl -------------------------------------------------------------------------------


def write(*contents: str, **more: object) -> bytes:
    lines = [
        json.dumps({"id": f"e{n}", "role": "user", "content": content, **more})
        for n, content in enumerate(contents)
    ]
    return "".join(f"{line}\n" for line in lines).encode()


def test_a_message_that_nothing_could_pass_on_is_shown_without_that_sign():
    (found,) = document.read_history(write(f"a{HALF}b", client=HALF)).messages

    assert found == Message("e0", "user", "a?b", clock.EPOCH)


@pytest.mark.parametrize("time", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "soon"])
def test_a_time_that_no_clock_shows_keeps_no_message_from_being_read(time: str):
    data = write("one", timestamp=time) + write("two", id="z", timestamp="2026-11-18T10:00:00")

    assert len(document.read_history(data).messages) == 2


def test_words_are_found_in_what_was_said_and_nowhere_else():
    data = write("The Webhook is called TWICE.", "退款 at Größe 3", "user", client="codex")

    assert document.find_words(data, ["webhook", "twice", "hook", "codex"]) == [
        "webhook",
        "twice",
        "hook",
    ]
    assert document.find_words(data, ["退款", "grösse", "user", "role"]) == [
        "退款",
        "grösse",
        "user",
    ]
    assert document.find_words(b"damaged\n", ["damaged"]) == []
    assert document.find_words(data, [HALF]) == []


def test_words_that_were_erased_are_not_found_on_any_side():
    data = write("secret") + b'{"erased_at": "2026-11-18T10:00:00Z", "id": "e0"}\n'

    assert document.find_words(data, ["secret"]) == []


# --- names ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("type_", ["con", "nul", "com1", "lpt9", "aux", "prn"])
def test_a_type_that_windows_cannot_write_is_refused(type_: str):
    with pytest.raises(InvalidValueError, match="device on Windows"):
        check_type(type_)


def test_ids_are_in_the_order_of_their_numbers():
    ids = ["2026-11-18/1000-a-x", "2026-11-18/999-a-x", "2026-11-19/001-a-x"]

    assert sorted(ids, key=order_id) == [ids[1], ids[0], ids[2]]
