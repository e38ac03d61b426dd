"""What models read before they call: kept as files, so that it is written and reviewed as prose."""

from __future__ import annotations

import os

FOLDER = os.path.join(os.path.dirname(__file__), "descriptions")


def prose(name: str) -> str:
    path = os.path.join(FOLDER, f"{name}.md")
    with open(path, encoding="utf-8") as file:
        return file.read().strip()
