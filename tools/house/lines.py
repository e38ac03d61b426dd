"""How much a line holds, and how long functions and files are.

A node is an expression or a statement of the syntax tree (`ast.expr`, `ast.stmt`). A code line is
one that is neither blank nor a comment; the lines of a docstring count, as they do in the figures
of other packages that we compare with.
"""

from __future__ import annotations

import ast
import statistics
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tools.house.source import Function, SourceFile

LONG_FUNCTION_LINES = 40
LONG_FILE_LINES = 400
LONG_LINE_COLUMNS = 100
DENSEST_SHOWN = 20
FEWEST_LINES = 3  # a function of one dense line is not what a reader stumbles over
HEAD = (
    f"{'folder':<22}{'lines':>7}{'nodes/line':>12}{'cond/1000':>11}"
    f"{'functions':>11}{'median':>8}{'> 40':>6}"
)


@dataclass(frozen=True)
class Figures:
    code_lines: int
    nodes: int
    conditionals: int
    function_lengths: tuple[int, ...]

    def row(self, name: str) -> str:
        density = self.nodes / max(1, self.code_lines)
        conditionals = 1000 * self.conditionals / max(1, self.code_lines)
        median = statistics.median(self.function_lengths or [0])
        long = sum(length > LONG_FUNCTION_LINES for length in self.function_lengths)
        count = len(self.function_lengths)
        return (
            f"{name:<22}{self.code_lines:>7}{density:>12.2f}{conditionals:>11.1f}"
            f"{count:>11}{median:>8g}{long:>6}"
        )


def measure(files: Iterable[SourceFile]) -> Figures:
    files = list(files)
    nodes = [node for file in files for node in ast.walk(file.tree)]
    return Figures(
        code_lines=sum(len(file.code_lines) for file in files),
        nodes=sum(isinstance(node, ast.expr | ast.stmt) for node in nodes),
        conditionals=sum(isinstance(node, ast.IfExp) for node in nodes),
        function_lengths=tuple(length(function) for file in files for function in file.functions),
    )


def length(function: Function) -> int:
    return (function.end_lineno or function.lineno) - function.lineno + 1


# --- what is printed ------------------------------------------------------------------------------


def print_figures(files: list[SourceFile], folder: Path) -> None:
    print(HEAD)
    for name, group in sorted(group_by_folder(files, folder).items()):
        print(measure(group).row(name))
    print(measure(files).row("in all"))


def group_by_folder(files: list[SourceFile], folder: Path) -> dict[str, list[SourceFile]]:
    """By the folder that a file is in: a door is a folder below `surfaces`."""
    groups: dict[str, list[SourceFile]] = defaultdict(list)
    for file in files:
        groups[str(file.path.parent.relative_to(folder))].append(file)
    return groups


def print_long(files: list[SourceFile]) -> None:
    long_functions = [
        f"{file.place(function)} {function.name}: {length(function)} lines"
        for file in files
        for function in file.functions
        if length(function) > LONG_FUNCTION_LINES
    ]
    long_files = [
        f"{file.path}: {len(file.lines)} lines"
        for file in files
        if len(file.lines) > LONG_FILE_LINES
    ]
    wide = {
        str(file.path): sum(len(line) > LONG_LINE_COLUMNS for line in file.lines) for file in files
    }
    print_list(f"Functions longer than {LONG_FUNCTION_LINES} lines", long_functions)
    print_list(f"Files longer than {LONG_FILE_LINES} lines", long_files)
    print(
        f"\nLines over {LONG_LINE_COLUMNS} columns: {sum(wide.values())} in "
        f"{sum(map(bool, wide.values()))} files"
    )


def print_densest(files: list[SourceFile]) -> None:
    found = [
        (density(file, function), file, function) for file in files for function in file.functions
    ]
    found.sort(key=lambda entry: entry[0], reverse=True)
    lines = [
        f"{dense:5.1f}  {file.place(function)} {function.name}" for dense, file, function in found
    ]
    print_list(f"The {DENSEST_SHOWN} densest functions, nodes a line", lines[:DENSEST_SHOWN])


def density(file: SourceFile, function: Function) -> float:
    own_lines = range(function.lineno, (function.end_lineno or function.lineno) + 1)
    lines = len(file.code_lines.intersection(own_lines))
    nodes = sum(isinstance(node, ast.expr | ast.stmt) for node in ast.walk(function))
    return nodes / lines if lines >= FEWEST_LINES else 0.0


def print_list(title: str, lines: list[str]) -> None:
    print(f"\n{title}: {len(lines)}")
    for line in lines:
        print(f"  {line}")
