"""Sets of questions for recall, and plain full-text search over the same rows to compare with.

Each set has memories, `questions` with the memory that answers each, and questions `without` an
answer on nearby topics. The rule was chosen with the figures of the first sets in view. `fresh` was
written when the rule was frozen and measured once; so were `desk`, `talk` and `habits`, by another
author, who has not seen the code. `payments` is the oldest set, with a fifth of questions that
share hardly a word with their memory.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw

from holdfast.memories.service import MemoryService

FOLDER = Path(__file__).parent.parent / "memories" / "recall_sets"
MEASURED = ("notes", "chat", "rules")
CHOICE, FRESH = "choice", "fresh"
OUTSIDE = ("desk", "talk", "habits")
ALL = (*MEASURED, CHOICE, "payments", FRESH, *OUTSIDE)
LIMIT = 10

Search = Callable[[str], Awaitable[list[str]]]


@dataclass(frozen=True)
class RecallSet:
    name: str
    memories: dict[str, str]
    questions: list[tuple[str, str]]
    without: list[str]


@dataclass(frozen=True)
class Figures:
    """Shares: of the questions with an answer, and of those without one."""

    first: float
    among_five: float
    among_ten: float
    declined: float


def load_set(name: str) -> RecallSet:
    data = json.loads((FOLDER / f"{name}.json").read_text())
    questions = [(question, key) for question, key in data["questions"]]
    return RecallSet(name, data["memories"], questions, data["without"])


async def measure(questions: RecallSet, search: Search) -> Figures:
    found = [(await search(question), key) for question, key in questions.questions]
    declined = [not await search(question) for question in questions.without]

    def share(most: int) -> float:
        hits = [key in keys[:most] for keys, key in found]
        return sum(hits) / len(hits)

    return Figures(share(1), share(5), share(LIMIT), sum(declined) / len(declined))


async def make_recall(memories: MemoryService, questions: RecallSet) -> Search:
    """Recall over the memories of a set, which are stored here."""
    stored = {key: await memories.remember(text) for key, text in questions.memories.items()}
    keys = {result.memory.id: key for key, result in stored.items()}

    async def search(question: str) -> list[str]:
        found = await memories.recall(question, limit=LIMIT)
        return [keys[match.memory.id] for match in found]

    return search


def make_plain_search(questions: RecallSet) -> Search:
    """SQLite's FTS5 as it is: its own words, joined by OR, in the order of bm25."""
    connection = apsw.Connection(":memory:")
    connection.execute("create virtual table texts using fts5 (key unindexed, text)")
    rows: list[Any] = list(questions.memories.items())
    connection.executemany("insert into texts values (?, ?)", rows)

    async def search(question: str) -> list[str]:
        words = [f'"{word}"' for word in re.findall(r"\w+", question)]
        found = connection.execute(
            "select key from texts where texts match ? order by rank limit ?",
            (" OR ".join(words), LIMIT),
        )
        return [key for (key,) in found]

    return search
