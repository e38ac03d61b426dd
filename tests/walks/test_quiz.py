"""A story of the quiz, played through real processes: what the next agent is handed.

`make quiz` plays all stories in all situations and writes the figures to docs/benchmarks.md.
"""

import pytest

from bench.quiz.marking import Mark, mark
from bench.quiz.play import COMPACTED, NEW_BRANCH, SAME_BRANCH, Player
from bench.quiz.stories.search_index import STORY

# What was reached: a change may raise a figure, and never lower it.
IN_BUNDLE = {COMPACTED: 17, SAME_BRANCH: 18, NEW_BRANCH: 17}
WITHIN_REACH = {COMPACTED: 24, SAME_BRANCH: 24, NEW_BRANCH: 24}
BUNDLE_CHARS = 1_700
# Either half of an answer: so many times its bundle, and so many characters more.
DELIVERED_TIMES, DELIVERED_MORE = 1.1, 150


@pytest.fixture(scope="module")
def marks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Mark]:
    player = Player(STORY, tmp_path_factory.mktemp("quiz"))
    return {view.situation: mark(STORY, view) for view in player.play(clients=())}


def test_the_facts_that_a_successor_needs_are_in_the_bundle_or_one_call_away(
    marks: dict[str, Mark],
):
    in_bundle = {situation: len(found.in_bundle) for situation, found in marks.items()}
    within_reach = {situation: len(found.within_reach) for situation, found in marks.items()}

    for situation in marks:
        assert in_bundle[situation] >= IN_BUNDLE[situation], marks[situation].missing_in_bundle
        assert within_reach[situation] >= WITHIN_REACH[situation], marks[situation].out_of_reach


def test_nothing_that_was_falsified_is_shown_as_true(marks: dict[str, Mark]):
    for found in marks.values():
        assert found.falsified_shown == ()


def test_the_same_state_gives_the_same_bytes_within_the_limit(marks: dict[str, Mark]):
    for found in marks.values():
        assert found.has_same_bytes
        assert found.bundle_chars <= BUNDLE_CHARS


def test_an_answer_is_not_much_longer_than_its_bundle(marks: dict[str, Mark]):
    for found in marks.values():
        most = found.bundle_chars * DELIVERED_TIMES + DELIVERED_MORE
        assert max(found.text_chars, found.structured_chars) <= most
