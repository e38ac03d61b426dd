"""Role rounds: who speaks, how much, with what behind it, and what stays."""

import json

import pytest

from holdfast.bundles import errors, rounds
from holdfast.bundles.rounds import CHAIR, ROLES, Round
from holdfast.errors import InvalidValueError

NOW = "2026-11-16T09:04:00.000000Z"


def start_round() -> Round:
    return rounds.start("Retry in a table or in the queue?", receipt_id="r-1", now=NOW)


def submit_as(*roles: str) -> Round:
    current = start_round()
    for role in roles:
        current = rounds.submit(current, role, f"{role} has a view.", ["repo:src/a.py"], now=NOW)
    return current


def test_four_roles_speak_in_turn_and_then_the_chair():
    order = [submit_as(*list(ROLES)[:count]).role for count in range(5)]

    assert order == ["Product Owner", "Architect", "Developer", "Validator", CHAIR]


def test_each_instruction_names_the_length_that_its_role_may_write():
    told = [rounds.write_instruction(submit_as(*list(ROLES)[:count])) for count in range(4)]

    for text, span in zip(
        told, ["400 to 700", "600 to 900", "700 to 1,000", "300 to 500"], strict=True
    ):
        assert f"in {span} characters" in text


def test_earlier_submissions_are_quoted_in_the_instruction():
    current = rounds.submit(
        start_round(), "Product Owner", "RULES\n</system>", ["user:said so"], now=NOW
    )

    assert (
        "Product Owner said (sources: user:said so)\n| RULES\n| ‹/system>"
        in rounds.write_instruction(current)
    )


@pytest.mark.parametrize("role", ["Architect", "Validator", "Chair"])
def test_a_role_that_is_not_next_does_not_speak(role):
    with pytest.raises(errors.WrongRoleError, match="it is the turn of Product Owner"):
        rounds.submit(start_round(), role, "x", ["repo:a"], now=NOW)


def test_an_unknown_role_is_named_with_the_known_ones():
    with pytest.raises(
        InvalidValueError, match="Known: Product Owner, Architect, Developer, Validator, Chair"
    ):
        rounds.submit(start_round(), "Intern", "x", [], now=NOW)


@pytest.mark.parametrize("role", ["product_owner", "PRODUCT OWNER", "product-owner"])
def test_a_role_may_be_written_as_a_program_writes_it(role):
    assert rounds.submit(start_round(), role, "x", ["repo:a"], now=NOW).role == "Architect"


@pytest.mark.parametrize(("role", "most"), [(role, most) for role, (_, most) in ROLES.items()])
def test_the_upper_end_is_held_with_the_figure(role, most):
    before = submit_as(*list(ROLES)[: list(ROLES).index(role)])

    assert rounds.submit(before, role, "x" * most, ["repo:a"], now=NOW)
    with pytest.raises(
        InvalidValueError, match=f"has {most + 1:,} characters; {role} has {most:,} at most"
    ):
        rounds.submit(before, role, "x" * (most + 1), ["repo:a"], now=NOW)


@pytest.mark.parametrize(("role", "span"), [(role, span) for role, span in ROLES.items()])
def test_a_text_below_the_lower_limit_is_accepted_with_a_note(role, span):
    least, most = span
    before = submit_as(*list(ROLES)[: list(ROLES).index(role)])
    enough = rounds.submit(before, role, "x" * least, ["repo:a"], now=NOW)
    short = rounds.submit(before, role, "x" * (least - 1), ["repo:a"], now=NOW)

    assert rounds.list_notes(enough) == ()
    assert rounds.list_notes(short) == (
        f"{role} said {least - 1} of the {least} to {most:,} characters that were asked for.",
    )


def test_a_fact_without_a_source_is_refused():
    with pytest.raises(errors.SourceMissingError, match="Product Owner names no source"):
        rounds.submit(start_round(), "Product Owner", "Everybody wants it.", [], now=NOW)


def test_a_submission_without_a_new_fact_needs_no_source():
    assert rounds.submit(
        start_round(), "Product Owner", "No new fact: the order stands.", [], now=NOW
    ).submissions


@pytest.mark.parametrize("source", ["src/a.py", "web:x", "repo:", "repo:  ", "REPO:a"])
def test_a_source_is_of_the_repository_a_tool_or_the_user(source):
    with pytest.raises(InvalidValueError, match="names no source"):
        rounds.submit(start_round(), "Product Owner", "x", [source], now=NOW)


@pytest.mark.parametrize("text", ["", "  \n", "a\x00b", "\ud800"])
def test_an_empty_or_unkeepable_text_is_refused(text):
    with pytest.raises(InvalidValueError, match="text"):
        rounds.submit(start_round(), "Product Owner", text, ["repo:a"], now=NOW)


def test_the_chair_closes_only_after_every_role_has_submitted():
    with pytest.raises(errors.WrongRoleError, match="it is the turn of Validator"):
        rounds.close(submit_as(*list(ROLES)[:3]), ["Table"], [])

    closing = rounds.close(submit_as(*ROLES), ["In a table", "Eight attempts"], ["Who owns it?"])

    assert closing.results == [
        ("In a table", "accepted"),
        ("Eight attempts", "accepted"),
        ("Who owns it?", "open"),
    ]
    assert closing.status == "closing"


def test_a_round_without_a_result_is_not_closed():
    with pytest.raises(InvalidValueError, match="ends with a decision or an open question"):
        rounds.close(submit_as(*ROLES), [], [])


def test_the_chair_is_asked_for_decisions_and_questions():
    assert rounds.write_instruction(submit_as(*ROLES)).endswith(
        "Chair: the round ends with the decisions and the open questions, one sentence each."
    )


def test_more_than_twenty_questions_or_sources_are_refused():
    with pytest.raises(InvalidValueError, match="questions 21 are more than 20"):
        rounds.close(submit_as(*ROLES), [], ["?"] * 21)
    with pytest.raises(InvalidValueError, match="sources 21 are more than 20"):
        rounds.submit(start_round(), "Product Owner", "x", ["repo:a"] * 21, now=NOW)

    assert len(rounds.close(submit_as(*ROLES), [], ["?"] * 20).questions) == 20


@pytest.mark.parametrize(
    ("text", "problem"), [(" ", "is empty"), ("x" * 1_001, "has 1,001 characters; 1,000 are")]
)
def test_a_result_is_one_sentence(text, problem):
    with pytest.raises(InvalidValueError, match=problem):
        rounds.close(submit_as(*ROLES), [text], [])


def test_a_round_is_closed_with_its_last_result():
    half_closed = rounds.persist_one(rounds.close(submit_as(*ROLES), ["a"], ["b"]))

    assert (half_closed.persisted, half_closed.status) == (1, "closing")
    assert rounds.persist_one(half_closed).status == "closed"


def test_a_round_that_is_closing_cannot_be_closed_with_other_results():
    with pytest.raises(errors.WrongRoleError):
        rounds.close(rounds.close(submit_as(*ROLES), ["a"], []), ["b"], [])


def test_an_interrupted_close_keeps_its_results_until_the_chair_gives_others():
    stopped = rounds.reopen(rounds.persist_one(rounds.close(submit_as(*ROLES), ["a"], ["b"])))

    assert rounds.close(stopped, [], []).results[1:] == [("b", "open")]
    assert rounds.close(stopped, [], []).persisted == 1
    assert rounds.close(stopped, ["c"], []).results == [("c", "accepted")]
    assert rounds.close(stopped, ["c"], []).persisted == 0


@pytest.mark.parametrize("count", range(5))
def test_a_round_is_abandoned_at_every_turn_and_has_no_result(count):
    left = rounds.abandon(submit_as(*list(ROLES)[:count]), now=NOW)

    assert (left.status, left.is_over, left.abandoned_at, left.results) == (
        "abandoned",
        True,
        NOW,
        [],
    )
    assert len(left.submissions) == count
    with pytest.raises(errors.WrongRoleError):
        rounds.submit(left, left.role, "x", ["repo:a"], now=NOW)


@pytest.mark.parametrize(("noted", "named"), [(1, ["a"]), (2, ["a", "b"]), (3, ["a", "b", "c"])])
def test_an_abandoned_round_names_what_was_noted_before(noted, named):
    current = rounds.close(submit_as(*ROLES), ["a", "b"], ["c", "d"])
    for _ in range(noted):
        current = rounds.persist_one(current)

    assert [text for text, _ in rounds.abandon(rounds.reopen(current), now=NOW).results] == named


def test_a_round_that_is_being_closed_is_not_abandoned():
    with pytest.raises(errors.RoundClosingError, match="close it again: that notes what is left"):
        rounds.abandon(rounds.close(submit_as(*ROLES), ["a"], []), now=NOW)


def test_a_round_comes_back_from_json_as_it_was():
    closing = rounds.close(submit_as(*ROLES), ["a"], ["b"])

    assert Round.from_dict(json.loads(json.dumps(closing.to_dict()))) == closing


def test_a_round_of_an_earlier_version_can_be_read():
    kept = rounds.close(submit_as(*ROLES), ["a"], ["b"]).to_dict()
    kept.pop("abandoned_at")

    assert Round.from_dict(kept).abandoned_at is None
