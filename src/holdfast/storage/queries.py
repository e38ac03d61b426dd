"""Named queries: SQL lives in `.sql` files, and Python asks for it by name.

A room has one `queries.sqlite.sql` and one `queries.postgres.sql`, with the same names in the same
order. On PostgreSQL a name is a function in the room's schema: it takes the workspace and the
developer, sets them for the transaction and does the work, so that row-level security costs no
round trip. A test holds the two lists of names and columns together.

In a file a query is its name, one line of why, and the statements. On SQLite these run in order
inside one transaction and all see the same `?1 … ?n`; the first of them that has rows is the answer
and the end.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from typing import Any

MOST_VALUES = 32


class Block:
    """One named piece of a `.sql` file, with its reason."""

    __slots__ = ("name", "sql", "why")

    def __init__(self, name: str, why: str, sql: str):
        self.name, self.why, self.sql = name, why, sql


def read_blocks(file: str) -> list[Block]:
    """Blocks are separated by blank lines: comment lines (name, then why), then statements."""
    return [_parse_block(name, text) for name, text in _split_blocks(file)]


def _split_blocks(file: str) -> list[tuple[str, str]]:
    """The name of each block, and the lines below it."""
    with open(file, encoding="utf-8") as opened:
        text = opened.read()
    parts = [part.partition("\n") for part in text.strip().removeprefix("-- ").split("\n\n-- ")]
    return [(name, rest) for name, _, rest in parts]


def _parse_block(name: str, text: str) -> Block:
    lines = text.split("\n")
    why = [line.removeprefix("-- ") for line in lines if line.startswith("-- ")]
    sql = [line for line in lines if not line.startswith("-- ")]
    statements = "\n".join(sql)
    return Block(name, " ".join(why), f"{statements}\n")


class Query:
    """One named query: statements for SQLite, a function's name for PostgreSQL."""

    __slots__ = ("_steps", "function", "name", "once", "room", "single", "statements", "why")

    def __init__(self, room: Room, block: Block):
        self.room, self.name, self.why = room, block.name, block.why
        self.function = f"{room.schema}.{block.name}"
        self.once = block.name in room.once
        self.single = self.function.removesuffix("s")  # the same verb for one row only
        statements = [part.strip() for part in block.sql.split(";\n")]
        self.statements = tuple(statement for statement in statements if statement)
        self._steps: tuple[tuple[str, int], ...] = ()

    @property
    def steps(self) -> tuple[tuple[str, int], ...]:
        """Each statement for SQLite, and how many values it takes; counted at the first use."""
        if not self._steps:
            self._steps = tuple((text, _count_values(text)) for text in self.statements)
        return self._steps


def _count_values(statement: str) -> int:
    numbers = [number for number in range(1, MOST_VALUES + 1) if f"?{number}" in statement]
    return max(numbers, default=0)


class Room:
    """The queries of one room, and the pure rules that its SQLite statements may call by name.

    `once` names those that must not be sent again when an answer was lost on the way: done twice
    they do more.
    """

    def __init__(
        self,
        schema: str,
        package_file: str,
        functions: Mapping[str, Callable[..., Any]] | None = None,
        once: Collection[str] = (),
    ):
        self.schema, self.once = schema, frozenset(once)
        self.file = os.path.join(os.path.dirname(package_file), "queries.sqlite.sql")
        self.functions = dict(functions or {})
        self._texts: dict[str, str] = {}
        self._queries: dict[str, Query] = {}

    def __getitem__(self, name: str) -> Query:
        """Parsed when it is first asked for: a hook needs a few of many."""
        if name not in self._queries:
            self._queries[name] = Query(self, _parse_block(name, self._read_texts()[name]))
        return self._queries[name]

    @property
    def queries(self) -> dict[str, Query]:
        return {name: self[name] for name in self._read_texts()}

    def _read_texts(self) -> dict[str, str]:
        if not self._texts:
            self._texts = dict(_split_blocks(self.file))
        return self._texts


# What belongs to no room: the outbox, keys of requests, health.
STORAGE = Room("holdfast", __file__)
