"""The quiz as Markdown tables, and as a list of what was missed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bench.quiz.marking import Mark
from bench.quiz.play import COMPACTED, IN_CLIENT, NEW_BRANCH, SAME_BRANCH
from bench.report import table

FACTS, FALSIFIED = 24, 8
IN_BUNDLE = {SAME_BRANCH: 18, NEW_BRANCH: 14, COMPACTED: 18, IN_CLIENT: 18}
WITHIN_REACH = 23
TITLE = "Continuity quiz"
INTRODUCTION = """
Written by `make quiz`. Three stories are recorded through a real `holdfast mcp`, three sessions each, in a real
repository; then edits, deletions and renames falsify eight of the statements, and the next agent asks. Of 24 facts
that it needs: how many are in its implementation bundle, and how many are there or one call away (`repo_context load` of
either phase, `session recent` and `state`, `get_relevant_context`, `memory recall`, the prompt `workspace-resume`)? A fact
counts where the text and the structured content both have it, and in a client where that half has it which the client
hands to its model. A falsified statement counts as shown where the answer with the bundle, with the planning bundle or
of `load` has it without a mark. *Delivered* are the characters of the answer's text and of its structured content.
"""  # noqa: E501 - the lines of the page
HEAD = (
    "story",
    "in the bundle",
    "or one call away",
    "falsified shown",
    "bundle, characters",
    "delivered: text",
    "delivered: structured",
    "same bytes again",
)


def allow_delivered(bundle_chars: int) -> int:
    return int(bundle_chars * 1.1) + 150


def write_section(marks: Sequence[Mark]) -> str:
    """The section of the page, with its heading."""
    parts = [f"## {TITLE}", INTRODUCTION.strip()]
    for situation in IN_BUNDLE:
        rows = [mark for mark in marks if mark.situation == situation]
        parts += [f"### {situation}", write_table(situation, rows).strip()]
    return "\n\n".join(parts) + "\n"


def write_table(situation: str, marks: Sequence[Mark]) -> str:
    target = (
        "*target*",
        f"≥ {IN_BUNDLE[situation]} of {FACTS}",
        f"≥ {WITHIN_REACH} of {FACTS}",
        f"0 of {FALSIFIED}",
        "≤ 1,700",
        "≤ 1.1 × + 150",
        "≤ 1.1 × + 150",
        "yes",
    )
    return table(HEAD, [*map(write_row, marks), target])


def write_row(mark: Mark) -> Sequence[str]:
    name = mark.story
    if mark.situation == IN_CLIENT:
        name = f"{mark.story}, {mark.client}"
    return (
        name,
        f"{len(mark.in_bundle)} of {FACTS}",
        f"{len(mark.within_reach)} of {FACTS}",
        f"{count_falsified(mark)} of {FALSIFIED}",
        f"{mark.bundle_chars:,}",
        f"{mark.text_chars:,}",
        f"{mark.structured_chars:,}",
        "yes" if mark.has_same_bytes else "no",
    )


def count_falsified(mark: Mark) -> int:
    """A statement that two doors show counts once."""
    return len({shown.partition(": ")[2] for shown in mark.falsified_shown})


def list_missed(marks: Sequence[Mark]) -> Iterator[str]:
    """For developers: which facts, and where."""
    for found in dict.fromkeys(map(describe_missed, marks)):
        for mark in marks:
            if describe_missed(mark) == found:
                yield f"{mark.story} · {mark.situation} · {mark.client}"
        yield found


def describe_missed(mark: Mark) -> str:
    missed = {
        "not in the bundle": mark.missing_in_bundle,
        "out of reach": mark.out_of_reach,
        "falsified, shown as true": mark.falsified_shown,
    }
    return "\n".join(f"  {title}: {'; '.join(facts) or 'none'}" for title, facts in missed.items())
