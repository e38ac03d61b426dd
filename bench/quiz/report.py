"""The quiz as Markdown tables, and as a list of what was missed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from bench.quiz.marking import Mark
from bench.quiz.play import CLIENTS, COMPACTED, IN_CLIENT, NEW_BRANCH, SAME_BRANCH
from bench.report import table
from holdfast.clients import text_limit

FACTS, FALSIFIED = 24, 8
IN_BUNDLE = {SAME_BRANCH: 18, NEW_BRANCH: 14, COMPACTED: 18}
WITHIN_REACH = 23
TITLE = "Continuity quiz"
INTRODUCTION = """
Written by `make quiz`. Five stories are recorded through a real `holdfast mcp`, three sessions each, in a real
repository; then edits, deletions and renames falsify eight of the statements, and the next agent asks. Of 24 facts
that it needs: how many are in its implementation bundle, and how many are there or one call away (`repo_context load` of
either phase or as the bundle names it, `session recent` and `state`, `get_relevant_context`, `memory recall`, the prompt
`workspace-resume`)? A fact counts where the text and the structured content both have it. A falsified statement counts
as shown where the answer with the bundle, with the planning bundle or of `load` has it without a mark. *Delivered* are
the characters of the answer's text and of its structured content. The last two stories are by an author who writes
long sentences and did not know the rules: their 24 facts alone are longer than a bundle.
"""  # noqa: E501 - the lines of the page
CLIENT_REMARK = """
Which half of an answer a client hands to its model, and how many characters it hands over whole. The stories are in the
order of the tables above.
"""  # noqa: E501 - the lines of the page
CLIENT_HEAD = (
    "client: half",
    "in the bundle",
    "or one call away",
    "falsified shown",
    "delivered",
    "the client's limit",
)
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


def write_section(marks: Sequence[Mark]) -> str:
    """The section of the page, with its heading."""
    parts = [f"## {TITLE}", INTRODUCTION.strip()]
    for situation in IN_BUNDLE:
        rows = [mark for mark in marks if mark.situation == situation]
        parts += [f"### {situation}", write_table(situation, rows).strip()]
    in_clients = [mark for mark in marks if mark.situation == IN_CLIENT]
    parts += [f"### {IN_CLIENT}", CLIENT_REMARK.strip(), write_client_table(in_clients).strip()]
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
    return (
        mark.story,
        f"{len(mark.in_bundle)} of {FACTS}",
        f"{len(mark.within_reach)} of {FACTS}",
        f"{count_falsified(mark)} of {FALSIFIED}",
        f"{mark.bundle_chars:,}",
        f"{mark.text_chars:,}",
        f"{mark.structured_chars:,}",
        "yes" if mark.has_same_bytes else "no",
    )


def write_client_table(marks: Sequence[Mark]) -> str:
    rows = [write_client_row(client, marks) for client in CLIENTS]
    target = (
        "*target*",
        f"≥ {IN_BUNDLE[SAME_BRANCH]} of {FACTS}",
        f"≥ {WITHIN_REACH} of {FACTS}",
        f"0 of {FALSIFIED}",
        "≤ 1.1 × + 150",
        "",
    )
    return table(CLIENT_HEAD, [*rows, target])


def write_client_row(client: str, marks: Sequence[Mark]) -> Sequence[str]:
    """All stories in a cell, in their order."""
    name, half = CLIENTS[client]
    mine = [mark for mark in marks if mark.client == client]
    limit = text_limit(name)
    return (
        f"{name}: {half}",
        join(len(mark.in_bundle) for mark in mine),
        join(len(mark.within_reach) for mark in mine),
        join(count_falsified(mark) for mark in mine),
        join(mark.text_chars if half == "text" else mark.structured_chars for mark in mine),
        f"{limit:,}" if limit else "none known",
    )


def join(counts: Iterable[int]) -> str:
    return " · ".join(f"{count:,}" for count in counts)


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
