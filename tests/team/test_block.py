"""The block about the team that an agent is handed when a session begins."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.ground.frozen import replace
from holdfast.team.block import (
    BLOCK_CHARS,
    COUNTED,
    LISTED,
    RESERVED,
    UNCOMMITTED,
    BlockFacts,
    Overlap,
    Reserved,
    Teammate,
    write_block,
)

NOW = datetime(2026, 11, 16, 13, 31, tzinfo=UTC)
ID_A = "019a8f00-0000-7000-8000-00000000000a"
ID_B = "019a8f00-0000-7000-8000-00000000000b"
DEV_A = Teammate(
    handle="dev-a",
    branch="feat/409",
    context_id=ID_A,
    published_at=NOW.replace(hour=12, minute=51),
    files=3,
    blockers=1,
    next_actions=0,
    freshness="1 of 3 differs here",
)
DEV_B = replace(
    DEV_A,
    handle="dev-b",
    branch="main",
    context_id=ID_B,
    published_at=NOW.replace(day=15, hour=8, minute=20),
    files=6,
    blockers=0,
    next_actions=2,
    freshness="all as here",
)
FULL = BlockFacts(
    now=NOW,
    workspace="acme",
    repo="acme/payouts",
    teammates=[DEV_A, DEV_B],
    elsewhere=2,
    own=[("019a8f00-0000-7000-8000-00000000000c", NOW.replace(day=17))],
    overlaps=[Overlap("webhooks.py", "dev-a", LISTED), Overlap("a.py", "dev-b", UNCOMMITTED)],
    reserved=[Reserved("migrations/**", "dev-a", NOW.replace(hour=14, minute=10))],
    offers=["dev-b"],
)
GOLDEN = f"""\
HOLDFAST team acme · acme/payouts · 2026-11-16 13:31Z
| dev-a · feat/409 · context {ID_A} · published 12:51Z · 3 files, 1 blocker · 1 of 3 differs here
| dev-b · main · context {ID_B} · published 11-15 08:20Z · 6 files, 2 next actions · all as here
+2 of other repositories
Published from here: context 019a8f00-0000-7000-8000-00000000000c, expires 11-17 13:31Z
Overlap: webhooks.py, uncommitted here, is in dev-a's list; \
a.py, uncommitted here, is uncommitted at dev-b, too
Reserved: migrations/** by dev-a until 14:10Z
Handoffs offered to this user: 1 (dev-b).
Details: covibe_session operation=get_context developer=dev-a; covibe_team operation=state"""


def write(facts: BlockFacts, room: int = 10_000) -> str:
    return write_block(facts, lambda text: len(text) <= room)


def test_the_block_says_who_works_on_what_and_how_to_fetch_the_rest():
    assert write(FULL) == GOLDEN


def test_there_is_no_block_without_anything_to_say():
    """That somebody works on another repository is nothing to say here."""
    assert write(BlockFacts(now=NOW, workspace="acme", repo="acme/payouts", elsewhere=3)) == ""


def test_a_person_who_published_from_here_is_told_even_without_teammates():
    lines = write(BlockFacts(now=NOW, workspace="acme", repo="r", own=FULL.own)).splitlines()

    assert [line.partition(":")[0] for line in lines[1:]] == ["Published from here"]


@pytest.mark.parametrize(
    ("facts", "details"),
    [
        ({"offers": ["dev-b"]}, "Details: covibe_team operation=state"),
        ({"reserved": FULL.reserved}, "Details: covibe_team operation=state"),
        (
            {"teammates": [replace(DEV_A, handle="do as I say")]},
            "Details: covibe_session operation=get_context",
        ),
    ],
)
def test_the_call_for_more_fits_what_is_said(facts: dict[str, Any], details: str):
    block = write(BlockFacts(now=NOW, workspace="acme", repo="acme/payouts", **facts))

    assert block.splitlines()[-1] == details


@pytest.mark.parametrize("room", range(0, 950, 50))
def test_with_less_room_less_is_said_and_nothing_is_cut(room: int):
    many = [replace(DEV_A, handle=f"dev-{number}") for number in range(50)]
    text = write(replace(FULL, teammates=many, overlaps=list(FULL.overlaps) * 10), room)

    assert len(text) <= min(room, BLOCK_CHARS)
    whole = write(replace(FULL, teammates=many, overlaps=list(FULL.overlaps) * 10))
    teammates = [line for line in text.splitlines() if line.startswith("| ")]
    assert set(teammates) <= set(whole.splitlines())
    if teammates:
        assert f"+{50 - len(teammates)} more of this repository" in text


def test_at_most_five_teammates_are_shown():
    plain = replace(DEV_A, handle="a", branch="b", freshness="", files=0, blockers=0)
    short = [replace(plain, context_id=str(number)) for number in range(9)]

    text = write(BlockFacts(now=NOW, workspace="w", repo="r", teammates=short))

    assert text.count("\n| ") == 5
    assert "+4 more of this repository" in text


def test_what_was_not_counted_to_the_end_is_not_called_a_number():
    reserved = [Reserved("src", "dev-a", NOW)] * COUNTED
    teammates = [replace(DEV_A, context_id=str(number)) for number in range(9)]
    facts = BlockFacts(now=NOW, workspace="w", repo="r", teammates=teammates, reserved=reserved)

    cut = write(replace(facts, has_more=True))
    whole = write(replace(facts, reserved=reserved[1:]))

    assert ("or more of this repository" in cut, "+17 or more" in cut) == (True, True)
    assert "or more" not in whole


@given(st.text(min_size=1, max_size=200), st.text(min_size=1, max_size=200))
def test_a_name_of_another_person_is_one_plain_word_or_not_there(handle: str, branch: str):
    hostile = replace(DEV_A, handle=handle, branch=branch)
    text = write(replace(FULL, teammates=[hostile], offers=[handle]))

    lines = text.splitlines()
    assert len(lines) == len(GOLDEN.splitlines()) - 1
    assert lines[1].startswith("| ")
    assert lines[1].split(" · ")[1] in (branch, "a branch")
    assert lines[1].split(" · ")[0] in (f"| {handle}", "| a teammate")
    assert set(text) <= set(GOLDEN) | {chr(code) for code in range(32, 127)}


def test_what_is_reserved_and_cannot_be_shown_is_told_without_its_pattern():
    reserved = [Reserved("", "dev-a", NOW)]
    text = write(BlockFacts(now=NOW, workspace="w", repo="r", reserved=reserved))

    assert "Reserved: files of this checkout by dev-a until 13:31Z" in text
    assert RESERVED not in text


def test_a_reservation_of_several_paths_says_how_many_more():
    reserved = [Reserved("src/retry.py", "dev-a", NOW, more=2)]
    text = write(BlockFacts(now=NOW, workspace="w", repo="r", reserved=reserved))

    assert "Reserved: src/retry.py +2 more by dev-a until 13:31Z" in text
