"""The functions of every room on PostgreSQL, as they are now.

They are kept beside their room: `queries.postgres.sql` has the verbs and what verbs call;
`guards.postgres.sql` has what triggers and policies call, and is installed before the tables are
made; `adopted.postgres.sql` has what differs where another program made the table. They are
replaced when a database is migrated. A change of one raises their number (`make docs` does it):
only a higher number replaces, so an older program never puts old functions over new ones.
"""

from __future__ import annotations

import glob
import hashlib
import os

from holdfast.ground.patterns import compile_later
from holdfast.storage.functions_number import NUMBER as NUMBER
from holdfast.storage.queries import Block, read_blocks

PACKAGE = os.path.dirname(os.path.dirname(__file__))
KINDS = ("guards", "queries", "adopted")
FULL_NAME = compile_later(r"create or replace function (\w+\.\w+)\(")


def read_functions(kind: str) -> list[Block]:
    """One block for each function of a kind, in every room."""
    pattern = os.path.join(PACKAGE, "*", f"{kind}.postgres.sql")
    blocks = []
    for file in sorted(glob.glob(pattern)):
        blocks += read_blocks(file)
    return blocks


def list_verbs(*, is_adopted: bool) -> list[Block]:
    """What is installed after the tables, in an order in which each finds those that it needs."""
    ours = read_functions("queries")
    if not is_adopted:
        return ours
    theirs = read_functions("adopted")
    replaced = {full_name(block) for block in theirs}
    return theirs + [block for block in ours if full_name(block) not in replaced]


def full_name(block: Block) -> str:
    """`context.find_session`, as the statement itself has it."""
    found = FULL_NAME.search(block.sql)
    if found is None:
        raise ValueError(f"{block.name} makes no function")
    return found[1]


def compute_checksum() -> str:
    """Over every statement; a reworded comment above one changes nothing."""
    statements = [block.sql for kind in KINDS for block in read_functions(kind)]
    text = "".join(statements)
    return hashlib.sha256(text.encode()).hexdigest()
