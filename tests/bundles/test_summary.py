"""Which sentence of a summary is the goal, which is about next steps, and the rest."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.bundles.quoting import quote_lines
from holdfast.bundles.summary import SummaryParts, split_summary
from holdfast.workstreams.model import Staleness
from tests.bundles.situations import IMPLEMENTATION, at, noting
from tests.bundles.write_golden import text_of


def test_a_summary_is_split_by_how_its_sentences_begin():
    text = "Goal: remind three times. Letters are queued per level. Next: the fee (asked finance)."

    assert split_summary(text) == SummaryParts(
        goal=("Goal: remind three times.",),
        following=("Next: the fee (asked finance).",),
        rest=("Letters are queued per level.",),
    )


@pytest.mark.parametrize(
    "sentence",
    [
        "Next: the fee.",
        "Next step is the fee.",
        "- TODO the fee",
        "**Remaining** work is the fee.",
        "Still open is the fee.",
        "Left to do is the fee.",
        "Follow-ups are the fee.",
        "What's next is the fee.",
        "Then, the fee.",
    ],
)
def test_a_sentence_about_next_steps_is_found(sentence):
    assert split_summary(f"It sends.\n{sentence}").following == (sentence,)


@pytest.mark.parametrize(
    "sentence",
    [
        "The next step is to sort the chunks.",
        "We still need to write the docs.",
        "Up next: the fees.",
        "Pending: the migration.",
        "What remains is the retry.",
        "As a next step, add tests.",
        "Outstanding: docs.",
        "Tomorrow: the release.",
        "**Next**: ship it.",
        "下一步：发布",
    ],
)
def test_the_last_sentence_may_say_in_other_words_what_comes_next(sentence):
    earlier = "Letters are queued. The next step is checked by hand."

    parts = split_summary(f"{earlier} {sentence}")

    assert parts.following == (sentence,)
    assert len(parts.rest) == 2


@pytest.mark.parametrize(
    "sentence",
    [
        "The next level is computed in levels.py.",
        "Nextcloud is not used.",
        "Remainders are dropped.",
        "Scopes are checked.",
        "Then it sends the letter.",
    ],
)
def test_a_word_inside_a_sentence_is_not_about_next_steps(sentence):
    assert split_summary(sentence) == SummaryParts(rest=(sentence,))


@pytest.mark.parametrize("sentence", ["Scope: letters.", "Non-goals: PDF.", "Out of scope: PDF."])
def test_scope_belongs_to_the_goal(sentence):
    assert split_summary(sentence).goal == (sentence,)


@pytest.mark.parametrize(
    ("ending", "steps"),
    [
        ("Next steps:\n- wire it\n- test it", ["wire it", "test it"]),
        ("Next steps:\n1. Wire it. Soon.\n2. Test it", ["Wire it. Soon.", "Test it"]),
        ("Next steps, in this order:\n* wire it\n* test it", ["wire it", "test it"]),
        ("\n\n## Next\n\n- [ ] wire it\n- [x] test it", ["wire it"]),
        ("\n**Next steps**\nWire it. Test it.", ["Wire it. Test it."]),
        ("Next: wire it. Then test it. Then ask ops.", ["wire it.", "test it.", "ask ops."]),
        (
            "Next: wire it; see https://x.y/z?a=b. (Ask.)",
            ["wire it; see https://x.y/z?a=b.", "(Ask.)"],
        ),
        (
            "Next step is the fee. Afterwards the table.",
            ["Next step is the fee.", "Afterwards the table."],
        ),
        ("What's left:\n1) wire it\n2) test it\nAll else is done.", ["wire it", "test it"]),
        ("Next steps:", []),
    ],
)
def test_what_is_listed_below_a_heading_or_after_a_colon_are_steps(ending, steps):
    parts = split_summary(f"Letters are queued. {ending}")

    assert parts.list_steps() == steps
    assert parts.rest[0] == "Letters are queued."


@pytest.mark.parametrize(
    "text",
    ["What we are after: {}", "Goal: {}", "Aim: {}", "We want: {}", "**Goal**: {}", "## Goal\n{}"],
)
def test_a_goal_is_found_by_what_stands_before_it(text):
    goal = "a guest pays once."

    assert split_summary(text.format(goal) + "\n## Next\n- the fee").list_goals() == [goal]


@pytest.mark.parametrize("mark", ["- ", "1. ", "- [ ] "])
def test_steps_that_are_a_list_stand_in_a_bundle_one_by_one(mark):
    text = f"Letters are queued. Next steps:\n{mark}wire it\n{mark}test it"
    summary = {"text": text, "updated_at": at(16, 12, 50)}
    context = noting(IMPLEMENTATION.judged.context, working_summary=summary, checklist=[])
    judged = replace(IMPLEMENTATION.judged, context=context, staleness=Staleness(False))

    shown = text_of(replace(IMPLEMENTATION, judged=judged))

    assert "NEXT summary: wire it  then: test it\n" in shown


@pytest.mark.parametrize("text", [None, "", " \n ", 7])
def test_no_text_has_no_parts(text):
    assert split_summary(text) == SummaryParts()


@given(st.text(max_size=300))
def test_no_word_of_a_summary_is_lost_or_told_twice(text):
    parts = split_summary(text)

    words = " ".join([*parts.goal, *parts.following, *parts.rest]).split()
    assert sorted(words) == sorted(" ".join(quote_lines(text)).split())


@pytest.mark.parametrize("limit", [700, 1_000, 1_700])
@pytest.mark.parametrize("lines", [1, 24])
@pytest.mark.parametrize("stale", [True, False])
def test_the_sentence_about_next_steps_is_never_what_the_cut_removes(limit, lines, stale):
    long = "The letters of a level are queued, sent and counted once, whatever the level. " * 4
    text = f"{long}\n" * lines + "Next: ask finance about the fee."
    summary = {"text": text, "updated_at": at(16, 12, 50)}
    context = noting(IMPLEMENTATION.judged.context, working_summary=summary, checklist=[])
    staleness = Staleness(stale, ("files",) if stale else ())
    judged = replace(
        IMPLEMENTATION.judged,
        context=context,
        staleness=staleness,
        proofs=IMPLEMENTATION.judged.proofs[:1],
    )

    shown = text_of(replace(IMPLEMENTATION, judged=judged), limit)

    mark = " [older tree]" if stale else ""
    assert f"NEXT summary: ask finance about the fee.{mark}\n" in shown
