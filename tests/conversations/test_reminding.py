"""When a long conversation is offered to be saved, and what declines the offer."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.conversations.reminding import (
    REMINDER_AFTER,
    REMINDER_TURNS,
    Stretch,
    is_declined,
    is_reminder_due,
)

BEGAN = datetime(2026, 11, 18, 9, 4, tzinfo=UTC)
LATE = BEGAN + REMINDER_AFTER
A_MOMENT = timedelta(seconds=1)


def test_a_long_conversation_that_was_not_saved_is_due():
    assert is_reminder_due(Stretch(BEGAN, REMINDER_TURNS), LATE)


def test_few_turns_or_little_time_is_not_long():
    assert not is_reminder_due(Stretch(BEGAN, REMINDER_TURNS - 1), LATE)
    assert not is_reminder_due(Stretch(BEGAN, REMINDER_TURNS), LATE - A_MOMENT)
    assert not is_reminder_due(Stretch(BEGAN, 3), BEGAN + timedelta(days=30))


def test_a_save_begins_another_stretch():
    assert not is_reminder_due(Stretch(LATE, REMINDER_TURNS), LATE + A_MOMENT)
    assert is_reminder_due(Stretch(LATE, REMINDER_TURNS), LATE + REMINDER_AFTER)


def test_a_long_conversation_is_not_offered_again_or_after_a_refusal():
    assert not is_reminder_due(Stretch(BEGAN, REMINDER_TURNS, is_offered=True), LATE)
    assert not is_reminder_due(Stretch(BEGAN, REMINDER_TURNS, has_declined=True), LATE)


@given(st.integers(0, 10_000), st.timedeltas(timedelta(days=-1), timedelta(days=900)))
def test_an_offer_is_made_once_and_never_after_it_was_declined(turns: int, since: timedelta):
    now = BEGAN + since

    assert not is_reminder_due(Stretch(BEGAN, turns, is_offered=True), now)
    assert not is_reminder_due(Stretch(BEGAN, turns, has_declined=True), now)


@pytest.mark.parametrize(
    "answer",
    [
        *("no", "No.", "nope", "No thanks!", "no, thank you", "Not now.", "not yet", "nah"),
        *("Don't save", "please don't save this", "Do not save the conversation.", "later"),
        *("No, go on with the parser.", "Maybe later. Now fix the test.", "skip it", "No need."),
        *("Fix the test first, and don't save this.", "stop asking", "Don’t ask me again!"),
        *("nein danke", "Nicht jetzt.", "ahora no", "non merci", "不用了", "不要保存", "いいえ"),
    ],
)
def test_a_refusal_in_words_declines_the_offer(answer: str):
    assert is_declined(answer)


@pytest.mark.parametrize(
    "answer",
    [
        *("", "yes", "Yes please.", "sure, save it", "ok", "save"),
        *("No errors in the log.", "```\nno\n```"),
        *("Fix the test.", "Why is there no test?", "Now don't save the draft when it is empty."),
        *("Nothing is saved.", "later versions fail", '"no"'),
    ],
)
def test_other_answers_leave_the_offer_open(answer: str):
    assert not is_declined(answer)


def test_an_answer_stands_at_the_beginning_of_a_message():
    assert is_declined("no\n" + "x " * 500_000)
    assert not is_declined("x " * 500_000 + "\nno")
