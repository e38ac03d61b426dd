"""docs/benchmarks.md by its sections: a part that is measured alone is written alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs" / "benchmarks.md"
LAST = "Notes"
PROMISES = "Promises"
NOT_MEASURED = "–"


def find_section(page: str, title: str) -> str:
    """With its heading, to the next one of its level; empty where the page has none."""
    found = re.search(rf"^## {re.escape(title)}\n.*?(?=^## |\Z)", page, re.DOTALL | re.MULTILINE)
    return found.group() if found else ""


def replace_section(page: str, title: str, section: str) -> str:
    """In its place, or before the notes where it is new."""
    section = section.strip() + "\n\n"
    if old := find_section(page, title):
        return page.replace(old, section).strip() + "\n"
    notes = find_section(page, LAST)
    return page.removesuffix(notes) + section + notes


def update_page(page: str, run: str, titles: Sequence[str], remark: str, date: str) -> str:
    """The sections of a partial run, each with a remark of its own, and the promises that it
    reached, each with its date; everything else stays as it was measured.
    """
    for title in titles:
        heading = f"## {title}\n\n"
        body = find_section(run, title).removeprefix(heading)
        page = replace_section(page, title, f"{heading}{remark}\n\n{body}")
    merged = merge_rows(find_section(page, PROMISES), find_section(run, PROMISES), date)
    return replace_section(page, PROMISES, merged)


def merge_rows(section: str, run: str, date: str) -> str:
    """The table of promises with the rows of a run in their places, and new ones at its end."""
    new = {
        promise: f"| {promise} | {target} | {measured} | {verdict}, on {date} |"
        for promise, target, measured, verdict in list_rows(run)
        if measured != NOT_MEASURED
    }
    lines = [new.pop(find_promise(line), line) for line in section.splitlines()]
    end = max(number for number, line in enumerate(lines) if line.startswith("|")) + 1
    return "\n".join([*lines[:end], *new.values(), *lines[end:]]) + "\n"


def list_rows(section: str) -> list[list[str]]:
    """Without the head of the table and the line below it."""
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [line.strip("| ").split(" | ") for line in lines[2:]]


def find_promise(line: str) -> str:
    return line.strip("| ").split(" | ")[0]
