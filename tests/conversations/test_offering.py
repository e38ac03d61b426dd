"""What is known of saving a conversation, and the line by which a save is offered."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.clients import CLIENTS, find_client
from holdfast.conversations.offering import (
    PAUSE,
    REMINDER,
    SaveState,
    join_states,
    read_state,
    write_offer,
)
from holdfast.ground.frozen import replace

ID = "2026-11-18/001-debug-retry"
EARLY, LATE = "2026-11-18T09:04:00.000000Z", "2026-11-18T10:04:00.000000Z"
NEW = SaveState(ID)

moments = st.sampled_from(["", EARLY, LATE])
states = st.builds(SaveState, st.just(ID), moments, moments, moments, moments, st.just("p1"))


def test_an_offer_counts_until_the_next_save():
    offered = NEW.offer(PAUSE, EARLY, "p1")

    assert offered.has_offered(PAUSE)
    assert not offered.has_offered(REMINDER)
    assert offered.has_offered(PAUSE, REMINDER)
    assert not replace(offered, saved_at=LATE).has_offered(PAUSE, REMINDER)


def test_the_next_prompt_is_the_answer_and_the_same_one_is_not():
    offered = NEW.offer(REMINDER, EARLY, "p1")

    assert offered.awaits_answer("p2")
    assert not offered.awaits_answer("p1")
    assert not NEW.awaits_answer("p2")
    assert not replace(offered, saved_at=LATE).awaits_answer("p2")


def test_a_thread_knows_the_newest_of_each_moment_and_waits_for_its_own_answer():
    own = SaveState(ID, saved_at=EARLY, asked_with="p1")
    other = SaveState(ID, saved_at=LATE, declined_at=EARLY, asked_with="p2")

    joined = join_states(own, [other, NEW])

    assert joined == SaveState(ID, saved_at=LATE, declined_at=EARLY, asked_with="p1")


@given(states)
def test_what_is_kept_is_read_again(state: SaveState):
    assert read_state(ID, state.to_dict()) == state
    assert read_state("2026-11-18/002-debug-other", state.to_dict()).to_dict().keys() == {
        "conversation"
    }


@given(states, st.lists(states))
def test_a_refusal_is_never_forgotten(own: SaveState, others: list[SaveState]):
    joined = join_states(own, others)

    assert bool(joined.declined_at) == any(each.declined_at for each in [own, *others])


@pytest.mark.parametrize(
    "kept", [None, "x", [], {}, {"conversation": 3}, {"conversation": ID, "saved_at": 7}]
)
def test_what_cannot_be_read_says_nothing(kept: object):
    assert read_state(ID, kept) == NEW


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("reason", [PAUSE, REMINDER])
def test_an_offer_is_short_and_describes(reason: str, client: str):
    known = find_client(client)
    assert known is not None

    text = write_offer(reason, 200, known.STOP_COMMAND)

    assert len(text) <= 300
    assert text.startswith("Holdfast: ")
    assert not {"must", "you", "your", "please", "always", "never"} & set(text.lower().split())
