"""docs/benchmarks.md by its sections: a part that is measured alone is written alone."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs" / "benchmarks.md"
LAST = "Notes"


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
