"""The prompts and edits of the bench that concern no decision, through the pure modules."""

from bench.noise import MOST, Author
from holdfast.notices import matching
from holdfast.notices.model import Edit
from tests.notices.situations import entry
from tests.notices.test_situations import make_index


def test_at_most_one_in_fifty_unrelated_moments_is_spoken_to():
    author = Author()
    decisions = author.list_decisions()
    index = make_index(
        [entry(kind, f"D{n}", text, why) for n, (kind, text, why) in enumerate(decisions)]
    )
    prompts, edits = list(author.list_prompts()), list(author.list_edits())

    by_prompt = [text for text in prompts if matching.match_prompt(text, index)]
    by_edit = [
        path
        for path, old, new in edits
        if matching.match_edits([Edit(path, new, frozenset(new.split("\n")), old)], index)
    ]

    assert (len(decisions), len(prompts), len(edits)) == (200, 500, 500)
    assert len(by_prompt) <= MOST * len(prompts)
    assert len(by_edit) <= MOST * len(edits)


def test_most_proposals_of_a_rejected_thing_are_spoken_to():
    decisions = Author().list_decisions()
    index = make_index(
        [entry(kind, f"D{n}", text, why) for n, (kind, text, why) in enumerate(decisions)]
    )
    wanted = [f"let's use {text}" for kind, text, _ in decisions if kind == "rejected"]

    told = [text for text in wanted if matching.match_prompt(text, index)]

    assert len(told) >= 0.9 * len(wanted)
