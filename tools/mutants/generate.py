"""All mutants of a file: one change each, and the lines that a test must run to see it."""

from __future__ import annotations

import ast
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path

from tools.mutants import targets
from tools.mutants.changes import list_changes
from tools.mutants.source import Source, Span, bound_names
from tools.mutants.wording import annotations_of, is_unread, is_wording

SHOWN_CHARS = 60


@dataclass(frozen=True)
class Mutant:
    path: Path  # below the package
    line: int
    span: Span
    old: str
    new: str
    lines: range  # of the code that runs the change
    names: frozenset[str]  # that the change is bound to while its module is loaded

    def __str__(self) -> str:
        return (
            f"{targets.PACKAGE}/{self.path}:{self.line}  {shorten(self.old)} → {shorten(self.new)}"
        )


def shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHOWN_CHARS else f"{line[:SHOWN_CHARS]}…"


@dataclass(frozen=True)
class Place:
    """Where a walk through the tree is."""

    lines: range
    names: frozenset[str]
    is_wording: bool = False


def find_mutants(path: Path, data: bytes) -> list[Mutant]:
    source = Source(data)
    nodes = walk(source.tree, Place(range(0), frozenset()))
    return [mutant for node, place in nodes for mutant in make_mutants(path, source, node, place)]


def make_mutants(path: Path, source: Source, node: ast.AST, place: Place) -> Iterator[Mutant]:
    for span, new in list_changes(source, node, is_wording=place.is_wording):
        line = source.data.count(b"\n", 0, span[0]) + 1
        yield Mutant(path, line, span, source.text(span), new, place.lines, place.names)


def walk(node: ast.AST, place: Place) -> Iterator[tuple[ast.AST, Place]]:
    """Every node whose change a test can see."""
    if is_unread(node):
        return
    place = Place(*find_lines(node, place), is_wording(node, is_inside=place.is_wording))
    yield node, place
    unread = annotations_of(node)
    for child in ast.iter_child_nodes(node):
        if child not in unread:
            yield from walk(child, place)


def find_lines(node: ast.AST, place: Place) -> tuple[range, frozenset[str]]:
    """A default is seen by those who call the function, a constant by those who use its name."""
    is_inside = bool(place.lines)
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return range(node.body[0].lineno, end_of(node) + 1), frozenset()
        case ast.Assign() | ast.AnnAssign() if not is_inside:
            return range(0), bound_names(node)
        case ast.stmt() if is_inside:
            return range(node.lineno, end_of_head(node) + 1), frozenset()
    return place.lines, place.names


def end_of_head(node: ast.stmt) -> int:
    """The last line of a statement without the block that belongs to it."""
    body = getattr(node, "body", None)
    return max(node.lineno, body[0].lineno - 1) if body else end_of(node)


def end_of(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


# --- a sample ------------------------------------------------------------------------------------


def choose_sample(mutants: Iterable[Mutant], count: int, seed: int) -> list[Mutant]:
    """The rooms in turns; what is chosen of a room does not depend on the other rooms."""
    rooms: dict[str, list[Mutant]] = defaultdict(list)
    for mutant in mutants:
        rooms[targets.room_of(mutant.path)].append(mutant)
    for room, found in rooms.items():
        random.Random(f"{seed} {room}").shuffle(found)
    in_turns = chain.from_iterable(zip_longest(*rooms.values()))
    return [mutant for mutant in in_turns if mutant is not None][:count]
