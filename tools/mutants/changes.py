"""The single changes that can be made at one node of a syntax tree.

Each is a span of the source and what takes its place. They are the slips of a tired programmer: a
limit that is off by one, a condition that is the wrong way round, a value that is not returned.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any

from tools.mutants.source import Source, Span

Change = tuple[Span, str]

COMPARISONS: dict[type[ast.cmpop], tuple[str, tuple[str, ...]]] = {
    ast.Lt: ("<", ("<=", ">=")),
    ast.LtE: ("<=", ("<", ">")),
    ast.Gt: (">", (">=", "<=")),
    ast.GtE: (">=", (">", "<")),
    ast.Eq: ("==", ("!=",)),
    ast.NotEq: ("!=", ("==",)),
    ast.Is: (r"\bis\b", ("is not",)),
    ast.IsNot: (r"\bis\s+not\b", ("is",)),
    ast.In: (r"\bin\b", ("not in",)),
    ast.NotIn: (r"\bnot\s+in\b", ("in",)),
}
# Without `|` and `&`: here they join types, sets and dictionaries, which know no other operator.
ARITHMETIC: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: (r"\+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: (r"\*", "+"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "*"),
    ast.Pow: (r"\*\*", "*"),
    ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"),
}
SEQUENCES = (ast.JoinedStr, ast.List, ast.ListComp, ast.Tuple)
BOOLEAN_PARTS = (ast.BoolOp, ast.Compare, ast.Constant, ast.UnaryOp)


def change_comparison(source: Source, node: ast.Compare) -> Iterator[Change]:
    operands = [node.left, *node.comparators]
    for left, right, operator in zip(operands, operands[1:], node.ops, strict=False):
        pattern, replacements = COMPARISONS[type(operator)]
        if span := source.find_between(left, right, pattern):
            yield from ((span, new) for new in replacements)


def change_boolean(source: Source, node: ast.BoolOp) -> Iterator[Change]:
    pattern, new = (r"\band\b", "or") if isinstance(node.op, ast.And) else (r"\bor\b", "and")
    for left, right in zip(node.values, node.values[1:], strict=False):
        if span := source.find_between(left, right, pattern):
            yield span, new
    for operand in node.values:
        if not isinstance(
            operand, BOOLEAN_PARTS
        ):  # those have a way of their own to be turned round
            span = source.span(operand)
            yield span, f"not ({source.text(span)})"


def change_unary(source: Source, node: ast.UnaryOp) -> Iterator[Change]:
    start, _ = source.span(node)
    sign = {ast.Not: "not ", ast.USub: "-"}.get(type(node.op), "")
    span = start, start + len(sign)
    if sign and source.text(span) == sign:
        yield span, ""


def change_arithmetic(source: Source, node: ast.BinOp) -> Iterator[Change]:
    is_text = any(
        isinstance(side, SEQUENCES) or is_string(side) for side in (node.left, node.right)
    )
    if type(node.op) in ARITHMETIC and not is_text:
        pattern, new = ARITHMETIC[type(node.op)]
        if span := source.find_between(node.left, node.right, pattern):
            yield span, new


def change_assignment(source: Source, node: ast.AugAssign) -> Iterator[Change]:
    if type(node.op) in ARITHMETIC and not isinstance(node.value, SEQUENCES):
        pattern, new = ARITHMETIC[type(node.op)]
        if span := source.find_between(node.target, node.value, f"{pattern}="):
            yield span, f"{new}="


def change_constant(source: Source, node: ast.Constant) -> Iterator[Change]:
    span = source.span(node)
    match node.value:
        case bool():
            yield span, str(not node.value)
        case int() | float():
            yield span, str(node.value + 1)
        case str():
            yield span, repr(node.value + "~")
        case bytes():
            yield span, repr(node.value + b"~")


def change_return(source: Source, node: ast.Return) -> Iterator[Change]:
    if node.value is not None and not isinstance(node.value, ast.Constant):
        yield source.span(node.value), "None"


def force_condition(source: Source, node: ast.If | ast.IfExp) -> Iterator[Change]:
    yield from force(source, node.test, "True", "False")


def force_loop(source: Source, node: ast.While) -> Iterator[Change]:
    yield from force(source, node.test, "False")


def force(source: Source, condition: ast.expr, *outcomes: str) -> Iterator[Change]:
    """A name that the condition binds is still bound, or every change would be a NameError."""
    span = source.span(condition)
    binds = any(isinstance(node, ast.NamedExpr) for node in ast.walk(condition))
    kept = {"True": f"({source.text(span)}) or True", "False": f"({source.text(span)}) and False"}
    if not isinstance(condition, ast.Constant):
        yield from ((span, kept[outcome] if binds else outcome) for outcome in outcomes)


def force_filters(source: Source, node: Any) -> Iterator[Change]:
    for generator in node.generators:
        for condition in generator.ifs:
            yield from force(source, condition, "True")


def is_string(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)


CHANGES: dict[type[ast.AST], Callable[[Source, Any], Iterator[Change]]] = {
    ast.Compare: change_comparison,
    ast.BoolOp: change_boolean,
    ast.UnaryOp: change_unary,
    ast.BinOp: change_arithmetic,
    ast.AugAssign: change_assignment,
    ast.Constant: change_constant,
    ast.Return: change_return,
    ast.If: force_condition,
    ast.IfExp: force_condition,
    ast.While: force_loop,
    ast.ListComp: force_filters,
    ast.SetComp: force_filters,
    ast.DictComp: force_filters,
    ast.GeneratorExp: force_filters,
}


def list_changes(source: Source, node: ast.AST, *, is_wording: bool) -> list[Change]:
    if is_wording and isinstance(node, ast.expr) and is_string(node):
        return []
    make = CHANGES.get(type(node))
    return list(make(source, node)) if make else []
