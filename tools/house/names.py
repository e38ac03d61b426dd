"""Names that a reader stumbles over, found by simple means: a list to look through,
and no verdict.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterator

from tools.house.source import Function, SourceFile

IRREGULAR = """
apart asked begun built done found given gone held kept known left lost made meant put sent shown
said seen spoken spent taken there thrown told went written
"""
VERBS_IN_ED = ("embed", "exceed", "feed", "need", "proceed", "seed", "shed", "speed", "succeed")
ROWS = (
    "answer",
    "answers",
    "event",
    "found",
    "head",
    "result",
    "row",
    "rows",
    "session",
    "sessions",
)

Place = tuple[str, str]


def find_repeated_classes(files: list[SourceFile]) -> Iterator[Place]:
    """Class names with more than one definition; one line for each definition."""
    places: dict[str, list[str]] = defaultdict(list)
    for file in files:
        for node in ast.walk(file.tree):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(file.place(node))
    for name, found in sorted(places.items()):
        if len(found) > 1:
            yield from ((place, name) for place in found)


def find_participles(files: list[SourceFile]) -> Iterator[Place]:
    """Functions and classes that are called `told` or `joined`; a property may be."""
    for file in files:
        for node in ast.walk(file.tree):
            is_named = isinstance(node, ast.ClassDef) or (
                isinstance(node, Function) and not is_property(node)
            )
            if is_named and is_participle(node.name):
                yield file.place(node), node.name


def is_property(function: Function) -> bool:
    return any(ast.unparse(decorator).endswith("property") for decorator in function.decorator_list)


def is_participle(name: str) -> bool:
    word = name.strip("_").lower()
    return word in IRREGULAR.split() or (
        word.isalpha() and word.endswith("ed") and word not in VERBS_IN_ED
    )


def find_bindings_called_one(files: list[SourceFile]) -> Iterator[Place]:
    for file in files:
        for node in ast.walk(file.tree):
            is_target = (
                isinstance(node, ast.Name) and node.id == "one" and isinstance(node.ctx, ast.Store)
            )
            if is_target or (isinstance(node, ast.arg) and node.arg == "one"):
                yield file.place(node), "one"


def find_numeric_indexes(files: list[SourceFile]) -> Iterator[Place]:
    """`pair[1]`, `row[0]` and `row[2:4]`; a model file is where rows become types."""
    for file in files:
        if file.path.name == "model.py":
            continue
        for node in ast.walk(file.tree):
            if isinstance(node, ast.Subscript) and is_numeric_index(node):
                yield file.place(node), ast.unparse(node)


def is_numeric_index(node: ast.Subscript) -> bool:
    number = node.slice.lower if isinstance(node.slice, ast.Slice) else node.slice
    if not isinstance(number, ast.Constant) or type(number.value) is not int:
        return False
    if is_row(node.value):
        return True
    return number.value > 0 and not isinstance(node.slice, ast.Slice)


def is_row(node: ast.expr) -> bool:
    return getattr(node, "id", getattr(node, "attr", "")) in ROWS


FINDERS: dict[str, Callable[[list[SourceFile]], Iterator[Place]]] = {
    "Class names that are defined more than once": find_repeated_classes,
    "Functions and classes named by a participle": find_participles,
    "Bindings called `one`": find_bindings_called_one,
    "Numeric indexes outside of model files": find_numeric_indexes,
}


def print_names(files: list[SourceFile], *, is_long: bool) -> None:
    print()
    for title, find in FINDERS.items():
        found = list(find(files))
        distinct = sorted({name for _, name in found})
        print(f"{title}: {len(found)} places, {len(distinct)} names")
        if is_long:
            for place, name in found:
                print(f"  {place} {name}")
