"""A source file as bytes and as a tree, with the way from a node of the tree to its bytes."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

Node = ast.expr | ast.stmt
Function = ast.FunctionDef | ast.AsyncFunctionDef
Span = tuple[int, int]


@dataclass(frozen=True)
class Source:
    data: bytes

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.data)

    @cached_property
    def line_starts(self) -> list[int]:
        return [0, *accumulate(map(len, self.data.splitlines(keepends=True)))]

    def span(self, node: Node) -> Span:
        end_line = node.end_lineno or node.lineno
        end_column = node.end_col_offset or node.col_offset
        start = self.line_starts[node.lineno - 1] + node.col_offset
        return start, self.line_starts[end_line - 1] + end_column

    def text(self, span: Span) -> str:
        return self.data[slice(*span)].decode()

    def find_between(self, left: Node, right: Node, pattern: str) -> Span | None:
        """Where an operator stands: the tree has no place for it."""
        start, end = self.span(left)[1], self.span(right)[0]
        gap = self.data[start:end]
        match = re.search(pattern.encode(), gap)
        if match is None or b"#" in gap:
            return None
        return start + match.start(), start + match.end()

    def replace(self, span: Span, new: str) -> bytes:
        start, end = span
        return self.data[:start] + new.encode() + self.data[end:]


def bound_names(node: ast.stmt) -> frozenset[str]:
    names = [child for child in ast.walk(node) if isinstance(child, ast.Name)]
    return frozenset(name.id for name in names if isinstance(name.ctx, ast.Store))
