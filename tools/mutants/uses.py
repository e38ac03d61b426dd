"""Where the names of constants are used: they are bound when a module is loaded,
and matter later.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from tools.mutants.source import Function, bound_names

Line = tuple[str, int]  # a file below the package, and the number of a line


class Uses:
    """By name: the lines in functions that use it, and the names of constants that
    are made of it.
    """

    def __init__(self, package: Path):
        self.lines: dict[str, set[Line]] = defaultdict(set)
        self.made_of: dict[str, set[str]] = defaultdict(set)
        for path in sorted(package.rglob("*.py")):
            self.add_file(str(path.relative_to(package)), ast.parse(path.read_bytes()))

    def add_file(self, path: str, tree: ast.Module) -> None:
        for node in ast.walk(tree):
            if isinstance(node, Function):
                for name, line in used_names(node):
                    self.lines[name].add((path, line))
        for statement in outside_functions(tree):
            for name, _ in used_names(statement):
                self.made_of[name] |= bound_names(statement)

    def find_lines(self, names: Iterable[str]) -> set[Line]:
        """Also of the constants that are made of these, and so on."""
        known, new = set[str](), set(names)
        while new:
            known |= new
            new = {made for name in new for made in self.made_of[name]} - known
        return {line for name in known for line in self.lines[name]}


def outside_functions(node: ast.AST) -> Iterator[ast.stmt]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Assign | ast.AnnAssign):
            yield child
        elif isinstance(child, ast.ClassDef | ast.If):
            yield from outside_functions(child)


def used_names(node: ast.AST) -> Iterator[tuple[str, int]]:
    for child in ast.walk(node):
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Load):
            yield child.id, child.lineno
        elif isinstance(child, ast.Attribute):
            yield child.attr, child.lineno
