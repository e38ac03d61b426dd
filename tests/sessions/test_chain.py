"""The hash chain: what goes into a link, and what the walk finds."""

import hashlib
from typing import Any

import pytest

from holdfast.ground import ids
from holdfast.sessions import chain

SESSION = "01890a5d-ac96-774b-bcce-b302099a8057"
AT, AT_MICROSECONDS = "2026-11-16T09:04:00.000001Z", 1_794_819_840_000_001


def log(*contents: str) -> list[list[Any]]:
    """A clean log's rows, as a store answers with them."""
    rows: list[list[Any]] = []
    head = chain.first_hash(SESSION)
    for sequence, content in enumerate(contents, 1):
        event_id = ids.named_id("event", str(sequence))
        content_sum = chain.content_hash("user_message", "user", content, None)
        head = chain.chain_hash(head, SESSION, sequence, event_id, AT_MICROSECONDS, content_sum)
        rows.append(
            [
                event_id,
                SESSION,
                sequence,
                "user_message",
                "user",
                content,
                None,
                AT,
                content_sum,
                head,
                None,
            ]
        )
    return rows


def damage_in(
    rows: list[list[Any]], *, last: int = 3, newest: int | None = None, tombstones: Any = None
) -> list[str]:
    check = chain.ChainCheck(SESSION)
    check.tombstones = tombstones or {}
    check.walk(rows)
    check.finish(last, log("a", "b", "c")[-1][9], last if newest is None else newest)
    return check.damage


def test_a_content_hash_knows_where_each_field_ends():
    """Nothing can be shifted from one field into the next, and no parts are not empty parts."""
    hashes = [
        chain.content_hash("tool_call", "tool", "ab", None),
        chain.content_hash("tool_call", "toola", "b", None),
        chain.content_hash("tool_call", "tool", "a", "b"),
        chain.content_hash("tool_call", "tool", "ab", ""),
        chain.content_hash("tool_call", "tool", "ab", "{}"),
    ]

    assert len(set(hashes)) == len(hashes)


def test_a_link_covers_session_number_id_time_and_content():
    """The bytes are written down here, because a second implementation lives in PostgreSQL and
    stored logs last.
    """
    head, event_id, content = chain.first_hash(SESSION), ids.named_id("event"), b"\x07" * 32

    link = chain.chain_hash(head, SESSION, 258, event_id, AT_MICROSECONDS, content)

    parts = (
        head,
        bytes.fromhex(SESSION.replace("-", "")),
        (258).to_bytes(8),
        bytes.fromhex(event_id.replace("-", "")),
        AT_MICROSECONDS.to_bytes(8),
        content,
    )
    assert link == hashlib.sha256(b"".join(parts)).digest()


def test_each_session_starts_its_own_chain():
    text, session = b"holdfast session", SESSION.encode()
    written = len(text).to_bytes(8) + text + len(session).to_bytes(8) + session

    assert chain.first_hash(SESSION) == hashlib.sha256(written).digest()
    assert chain.first_hash(SESSION) != chain.first_hash(ids.new_id())


def test_a_clean_log_has_no_damage():
    assert damage_in(log("a", "b", "c")) == []


def test_an_edited_content_is_named():
    rows = log("a", "b", "c")
    rows[1][5] = "other"

    assert damage_in(rows) == ["number 2 was edited: its content does not match its hash"]


@pytest.mark.parametrize(
    ("column", "value"),
    [
        (0, ids.named_id("another")),
        (0, "no uuid at all"),
        (7, "2026-11-16T09:04:00.000002Z"),
        (7, "yesterday"),
        (7, "1960-01-01T00:00:00.000000Z"),
        (9, b""),
    ],
)
def test_an_edited_id_time_or_link_is_named(column, value):
    """A value that no event can have is damage as well, not the end of the walk."""
    rows = log("a", "b", "c")
    rows[1][column] = value

    assert "number 2 does not follow the one before it" in damage_in(rows)


def test_an_edit_with_its_content_hash_breaks_the_link():
    rows = log("a", "b", "c")
    rows[1][5] = "other"
    rows[1][8] = chain.content_hash("user_message", "user", "other", None)

    assert damage_in(rows) == ["number 2 does not follow the one before it"]


def test_a_deleted_event_is_missed():
    rows = log("a", "b", "c")
    del rows[1]

    assert "number 2 is missing before number 3" in damage_in(rows)


def test_events_that_change_places_are_named():
    rows = log("a", "b", "c")
    rows[1][2], rows[2][2] = 3, 2

    assert len(damage_in([rows[0], rows[2], rows[1]])) >= 2


def test_a_log_that_was_cut_at_its_end_is_shorter_than_the_session_says():
    assert damage_in(log("a", "b", "c")[:2]) == [
        "the session counts 3 events, its last one is number 2"
    ]


def test_a_head_that_is_not_the_last_link_is_named():
    assert damage_in(log("a", "b", "d")) == [
        "the session's head hash is not that of its last event"
    ]


def test_an_event_beyond_the_session_s_count_was_not_appended():
    assert damage_in(log("a", "b", "c"), newest=4) == [
        "number 4 was not appended: the session counts 3 events"
    ]


def test_a_whole_log_cannot_be_moved_to_another_session():
    check = chain.ChainCheck(ids.new_id())
    check.walk(log("a", "b", "c"))

    assert check.damage == [
        problem
        for number in (1, 2, 3)
        for problem in (
            f"number {number} names another session in its own row",
            f"number {number} does not follow the one before it",
        )
    ]


def test_an_erased_event_needs_its_tombstone():
    rows = log("a", "b", "c")
    event_id, content_sum = rows[1][0], rows[1][8]
    rows[1][5], rows[1][10] = "", AT
    forged = ["number 2 is marked as erased, but was not erased by `holdfast forget`"]

    assert damage_in(rows, tombstones={event_id: content_sum}) == []
    assert damage_in(rows) == forged
    assert damage_in(rows, tombstones={event_id: b"another"}) == forged
    rows[1][5] = "not gone"
    assert damage_in(rows, tombstones={event_id: content_sum}) == forged


def test_tombstones_are_asked_for_only_when_one_is_missing():
    rows = log("a", "b", "c")
    check = chain.ChainCheck(SESSION)

    assert not check.misses_tombstones(rows)
    rows[1][10] = AT
    assert check.misses_tombstones(rows)
    check.tombstones[rows[1][0]] = rows[1][8]
    assert not check.misses_tombstones(rows)
