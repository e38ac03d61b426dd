"""How conversations are named, counted and summarised."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.conversations import rules
from holdfast.conversations.model import WRITTEN, Conversation, Message
from holdfast.errors import InvalidValueError

AT = datetime(2026, 11, 18, 9, 4, tzinfo=UTC)


def say(number: int, role: str, content: str) -> Message:
    return Message(f"e{number}", role, content, AT + timedelta(minutes=number))


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("Webhook retry", "webhook-retry"),
        ("  API: REST vs. GraphQL?  ", "api-rest-vs-graphql"),
        ("Überprüfung der Größe", "uberprufung-der-grosse"),
        ("../../etc/passwd", "etc-passwd"),
        ("退款流程", "untitled"),
        ("🦊", "untitled"),
        ("CON", "con"),
        ("a" * 300, "a" * 50),
    ],
)
def test_a_folder_is_named_by_what_every_file_system_keeps(title: str, slug: str):
    assert rules.make_slug(title) == slug


@given(st.text(max_size=300))
def test_any_title_gives_one_safe_step_of_a_path(title: str):
    name = rules.make_name([], "debug", title)

    assert rules.split_name(name) is not None
    assert len(name.encode()) < 100


def test_numbers_go_on_from_the_highest_of_the_day():
    assert rules.make_name([], "plan", "A") == "001-plan-a"
    assert rules.make_name(["001-plan-a", "007-debug-b", "notes"], "plan", "C") == "008-plan-c"
    assert rules.make_name(["999-plan-a"], "plan", "B") == "1000-plan-b"


@pytest.mark.parametrize("value", ["", "Debug", "a b", "x" * 31, "../x", "-a", None, 3])
def test_a_type_is_one_short_word(value: object):
    with pytest.raises(InvalidValueError):
        rules.check_type(value)


def test_a_type_of_ones_own_is_accepted():
    assert rules.check_type("incident_review") == "incident_review"


@pytest.mark.parametrize("value", ["", " \n ", "\u200b\u202e", "x" * 201])
def test_a_title_says_something_and_is_short(value: str):
    with pytest.raises(InvalidValueError):
        rules.check_title(value)


def test_a_title_is_one_line_that_can_be_seen():
    assert rules.check_title("Webhook\nretry\x1b[31m \u202ered") == "Webhook retry [31m red"


def test_the_status_is_one_of_three():
    assert rules.check_status("paused") == "paused"
    with pytest.raises(InvalidValueError, match="active, paused, completed"):
        rules.check_status("done")


def test_without_a_written_summary_the_first_and_the_last_request_are_one():
    first, answer, last = (
        say(1, "user", "Retry\nhooks"),
        say(2, "assistant", "Yes."),
        say(3, "user", "8"),
    )

    assert rules.summarise([]) == ""
    assert rules.summarise([answer]) == ""
    assert rules.summarise([first, answer]) == "Retry hooks"
    assert rules.summarise([first, answer, last]) == "Retry hooks Last: 8"


def test_a_written_summary_stays_and_one_by_rule_follows_what_is_said():
    new = Conversation("2026-11-18/001-debug-a", "debug", "A", AT, AT)
    by_rule = rules.update(new, [say(1, "user", "one")], summary=None)
    later = rules.update(by_rule, [say(1, "user", "one"), say(2, "user", "two")], summary=None)
    written = rules.update(later, [say(1, "user", "one")], summary="Counting.")

    assert (by_rule.context_summary, later.context_summary) == ("one", "one Last: two")
    assert (
        rules.update(written, [say(3, "user", "three")], summary=None).context_summary
        == "Counting."
    )
    assert written.summary_by == WRITTEN
    assert later.last_active == AT + timedelta(minutes=2)
    assert (later.message_count, later.token_count) == (2, 2)


@pytest.mark.parametrize("value", ["", "  ", None, "x" * 1_001])
def test_a_summary_is_a_text_that_is_not_too_long(value: object):
    with pytest.raises(InvalidValueError):
        rules.check_summary(value)


@given(st.lists(st.integers(0, 30)), st.lists(st.integers(0, 30)))
def test_merging_keeps_each_message_once_and_in_order(left: list[int], right: list[int]):
    messages = [[say(number, "user", str(number)) for number in side] for side in (left, right)]

    merged = rules.merge_messages(*messages)

    assert [message.id for message in merged] == [
        f"e{number}" for number in sorted({*left, *right})
    ]
    assert rules.merge_messages(*reversed(messages)) == merged
