"""A folder of Python files, parsed once for every part of this tool."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class SourceFile:
    path: Path
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def lines(self) -> list[str]:
        return self.text.splitlines()

    @cached_property
    def functions(self) -> list[Function]:
        """All of them, nested ones and methods included."""
        return [node for node in ast.walk(self.tree) if isinstance(node, Function)]

    @cached_property
    def code_lines(self) -> set[int]:
        """The numbers of the lines that are neither blank nor a comment."""
        stripped = enumerate(map(str.strip, self.lines), start=1)
        return {number for number, line in stripped if line and not line.startswith("#")}

    def place(self, node: ast.stmt | ast.expr | ast.arg) -> str:
        return f"{self.path}:{node.lineno}"


def load_files(folder: Path) -> list[SourceFile]:
    return [SourceFile(path, path.read_text()) for path in sorted(folder.rglob("*.py"))]
