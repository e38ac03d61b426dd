"""The quiz is fair and counts as it says: its stories, its marks, its place on the page."""

from dataclasses import replace
from typing import Any

import pytest

from bench.page import find_section, replace_section
from bench.quiz import story as steps
from bench.quiz.door import Reply
from bench.quiz.marking import has_all, is_shown_as_true, is_shown_in_json, list_texts, mark
from bench.quiz.play import IN_CLIENT, SAME_BRANCH, View
from bench.quiz.stories import STORIES
from bench.quiz.story import Story, fact

CLAIM = fact("flush", r"flush\(\) syncs")


@pytest.fixture(params=STORIES, ids=[story.name for story in STORIES])
def story(request: pytest.FixtureRequest) -> Story:
    found: Story = request.param
    return found


def list_recorded(story: Story) -> list[str]:
    """Every text that an agent recorded, and the commands that it ran."""
    done = [step for session in story.sessions for step in session.steps]
    calls = [text for step in done if isinstance(step, steps.Call) for text in list_values(step)]
    lists = [step.items for step in done if isinstance(step, steps.Checklist)]
    lists += [step.paths for step in done if isinstance(step, steps.Point)]
    proofs = [step.command for step in done if isinstance(step, steps.Prove)]
    return [*calls, *proofs, *(text for texts in lists for text in texts)]


def list_values(step: steps.Call) -> list[str]:
    return list(list_texts(dict(step.arguments)))


def test_a_story_has_24_facts_8_falsified_and_three_sessions(story: Story):
    assert (len(story.facts), len(story.falsified), len(story.sessions)) == (24, 8, 3)
    assert len({fact.about for fact in [*story.facts, *story.falsified]}) == 32


def test_every_fact_was_recorded_and_a_falsified_one_carries_no_mark_by_itself(story: Story):
    recorded = list_recorded(story)
    steps_done = [step for session in story.sessions for step in session.steps]
    calls = [step for step in steps_done if isinstance(step, steps.Call)]
    whole_calls = [" ".join(list_values(call)) for call in calls]  # a text and its reason

    for known in [*story.facts, *story.falsified]:
        assert any(has_all(known.patterns, text) for text in [*recorded, *whole_calls]), known
    for known in story.falsified:
        assert any(is_shown_as_true(known, text) for text in recorded), known


def test_the_stories_have_short_and_long_texts():
    texts = [text for story in STORIES for text in list_recorded(story)]

    assert any(len(text) > 400 for text in texts)
    assert any(len(text) < 60 for text in texts)


@pytest.mark.parametrize(
    "text",
    [
        "[changed] flush() syncs the file: writer.py#flush",
        "- flush() syncs the file\n    writer.py#flush: gone",
        "SUMMARY (stale, written at 4be07a1)\nflush() syncs the file",
        '{"claims": [{"text": "flush() syncs", "verdict": "changed"}]}',
        '{"gone": ["flush() syncs"]}',
    ],
)
def test_a_statement_with_a_mark_is_not_shown_as_true(text: str):
    assert not is_shown_as_true(CLAIM, text)


@pytest.mark.parametrize(
    "text",
    [
        "[ok] flush() syncs the file: writer.py#flush",
        "CLAIMS 4: 1 changed, 3 hold\n- flush() syncs the file",
        "flush() syncs the file\nREPO: 3 files changed",
        "flush() syncs the file\n[changed] another claim",
        '{"claims": [{"text": "flush() syncs", "verdict": "ok", "stale": false}], "stale": true}',
        '{"claims": ["[changed] another claim", "[ok] flush() syncs"]}',
        "STALE IN PART: 2 files\n- flush() syncs the file",
    ],
)
def test_a_statement_without_a_mark_of_its_own_is_shown_as_true(text: str):
    assert is_shown_as_true(CLAIM, text)


def test_a_text_in_structured_content_is_read_by_its_lines():
    text = "HOLDFAST\n[changed] another claim\n[ok] flush() syncs the file"

    assert is_shown_in_json(CLAIM, {"bundle": {"text": text}}, {})


def make_view(situation: str, client: str, text: str, bundle_text: str) -> View:
    bundle = Reply(text, {"data": {"bundle": {"text": bundle_text}}})
    empty = Reply("", {})
    return View(situation, client, bundle, empty, (), (), has_same_bytes=True)


@pytest.mark.parametrize(
    ("situation", "client", "found"),
    [
        (SAME_BRANCH, "some-agent", ("both",)),
        (IN_CLIENT, "opencode", ("both",)),
        (IN_CLIENT, "codex-mcp-client", ("both", "structured")),
    ],
)
def test_a_fact_counts_where_its_reader_has_it(situation: str, client: str, found: Any):
    facts = (fact("both", "port 9231"), fact("structured", "64 MB"))
    told = replace(STORIES[0], facts=facts)

    marked = mark(told, make_view(situation, client, "Port 9231", "Port 9231, 64 MB"))

    assert marked.in_bundle == marked.within_reach == found
    assert (marked.bundle_chars, marked.text_chars) == (16, 9)


def test_a_section_is_replaced_alone_and_stands_before_the_notes():
    page = "# Benchmarks\n\nText.\n\n## Notes\n\n- a remark\n"

    first = replace_section(page, "Quiz", "## Quiz\n\nold")
    second = replace_section(first, "Quiz", "## Quiz\n\nnew")

    assert second == "# Benchmarks\n\nText.\n\n## Quiz\n\nnew\n\n## Notes\n\n- a remark\n"
    assert find_section(second, "Quiz") == "## Quiz\n\nnew\n\n"
