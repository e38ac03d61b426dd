"""Marks what an agent was handed: which facts are in it, and which falsified ones look true there.

Each half of an answer has to say everything by itself, so a fact counts where both halves have it;
for a client's model only the half counts that the client hands over. A falsified fact is shown as
true where its words stand without a mark on their line, on the indented lines below it, on the
heading of their section, or in the same JSON object.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bench.quiz.door import Reply
from bench.quiz.play import CLIENTS, IN_CLIENT, View
from bench.quiz.story import Fact, Story

MARK = re.compile(
    r"\b(changed|gone|stale|deleted|missing|unproven)\b|not found|no longer|proves nothing"
    r"|older tree|another tree",
    re.IGNORECASE,
)
HEADING = re.compile(r"[A-Z]{3,}|Summary\b|Goal\b")
# "CLAIMS 4: 1 changed" marks no claim; a summary is marked as a whole.
HEADING_MARK = re.compile(r"(summary|goal)\b.*\b(stale|changed|\w+ tree)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Mark:
    """One view, marked. What is listed as falsified has the door's name before it."""

    story: str
    situation: str
    client: str
    in_bundle: tuple[str, ...]
    within_reach: tuple[str, ...]
    missing_in_bundle: tuple[str, ...]
    out_of_reach: tuple[str, ...]
    falsified_shown: tuple[str, ...]
    bundle_chars: int
    text_chars: int
    structured_chars: int
    has_same_bytes: bool


def mark(story: Story, view: View) -> Mark:
    near = (view.bundle, *view.loads, *view.others)
    text = view.bundle.bundle_text
    carried = [fact for fact in story.facts if is_told(fact, [view.bundle], view)]
    in_bundle = [fact.about for fact in carried if has_all(fact.patterns, text)]
    within_reach = [fact.about for fact in story.facts if is_told(fact, near, view)]
    known = [fact.about for fact in story.facts]
    return Mark(
        story=story.name,
        situation=view.situation,
        client=view.client,
        in_bundle=tuple(in_bundle),
        within_reach=tuple(within_reach),
        missing_in_bundle=tuple(about for about in known if about not in in_bundle),
        out_of_reach=tuple(about for about in known if about not in within_reach),
        falsified_shown=tuple(dict.fromkeys(list_falsified(story, view))),
        bundle_chars=len(text),
        text_chars=len(view.bundle.text),
        structured_chars=view.bundle.structured_chars,
        has_same_bytes=view.has_same_bytes,
    )


# --- facts ----------------------------------------------------------------------------------------


def is_told(fact: Fact, replies: Sequence[Reply], view: View) -> bool:
    texts = "\n".join(reply.text for reply in replies)
    leaves = "\n".join(leaf for reply in replies for leaf in list_texts(reply.structured))
    halves = {"text": texts, "structured": leaves}
    read = list(halves)
    if view.situation == IN_CLIENT:
        read = [CLIENTS[view.client][1]]
    return all(has_all(fact.patterns, halves[name]) for name in read)


def has_all(patterns: Sequence[str], text: str) -> bool:
    return all(re.search(pattern, text, re.IGNORECASE) for pattern in patterns)


def list_texts(value: Any) -> Iterator[str]:
    """Every text in a JSON value; numbers as they are written."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from list_texts(item)
    else:
        yield str(value)


# --- falsified facts ------------------------------------------------------------------------------


def list_falsified(story: Story, view: View) -> Iterator[str]:
    """`load: flush syncs` for each door that shows it as true, in either half."""
    loads = [("load", reply) for reply in view.loads]
    for door, reply in [("bundle", view.bundle), ("planning bundle", view.planning), *loads]:
        for fact in story.falsified:
            in_text = is_shown_as_true(fact, reply.text)
            if in_text or is_shown_in_json(fact, reply.structured, reply.structured):
                yield f"{door}: {fact.about}"


def is_shown_as_true(fact: Fact, text: str) -> bool:
    lines = text.splitlines()
    return any(is_line_believed(fact, lines, number) for number in range(len(lines)))


def is_line_believed(fact: Fact, lines: Sequence[str], number: int) -> bool:
    line = lines[number]
    if not has_all(fact.patterns, line):
        return False
    if line.startswith("{"):
        document = json.loads(line)
        return is_shown_in_json(fact, document, document)
    item = "\n".join([line, *list_indented(lines, number)])
    return not MARK.search(item) and not HEADING_MARK.match(find_heading(lines, number))


def list_indented(lines: Sequence[str], number: int) -> Iterator[str]:
    """The lines below that are indented deeper: what is said about this one."""
    depth = measure_indent(lines[number])
    for line in lines[number + 1 :]:
        if not line.strip() or measure_indent(line) <= depth:
            return
        yield line


def measure_indent(line: str) -> int:
    return len(line) - len(line.lstrip(" |>"))


def find_heading(lines: Sequence[str], number: int) -> str:
    above = reversed(lines[: number + 1])
    return next((line for line in above if HEADING.match(line)), "")


def is_shown_in_json(fact: Fact, value: Any, container: Any) -> bool:
    """`container` is the object whose member a value is: the other members may mark it."""
    if isinstance(value, dict):
        unmarked = [member for name, member in value.items() if not MARK.search(name)]
        return any(is_shown_in_json(fact, member, value) for member in unmarked)
    if isinstance(value, list):
        return any(is_shown_in_json(fact, member, member) for member in value)
    if not isinstance(value, str) or not has_all(fact.patterns, value):
        return False
    if "\n" in value:
        return is_shown_as_true(fact, value)
    return not any(map(MARK.search, list_marks(container)))


def list_marks(container: Any) -> Iterator[str]:
    """What an object says, and the names of what is true in it: `"stale": true`."""
    yield from list_texts(container)
    if isinstance(container, dict):
        yield from (name for name, value in container.items() if value is True)
