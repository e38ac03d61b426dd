"""Where a Python symbol stands in a text, and what it looks like apart from its formatting.

A symbol is all that defines its name in its scope, from the first definition to the last, with the
conditions around several. It outlives edits above it, so it is the better evidence; but only a
parser knows where it ends, and only Python's is at hand. Every other language is refused with the
advice to give lines. A text from a repository may be broken, huge or built to break a parser: then
the answer says so, and nothing is raised.

The shape is our own walk over the tree, not `ast.dump`: a committed hash is compared by readers
with another Python.
"""

from __future__ import annotations

import ast
import re
import unicodedata
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from holdfast.ground import canonical

SOURCE_CHARS = 1_000_000  # a parsed text takes almost a hundred times its size in memory
PYTHON_SUFFIXES = (".py", ".pyi", ".pyw")
SYMBOL = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_INNER = (ast.stmt, ast.excepthandler, ast.match_case)
_FORMATTING = {"ctx", "kind", "type_comment", "type_ignores"}
_LONE_RETURN = re.compile(r"\r(?!\n)")


class Lines(NamedTuple):
    """A run of lines, counted from 1, both ends included."""

    first: int
    last: int

    def __str__(self) -> str:
        return f"L{self.first}-L{self.last}"


@dataclass(frozen=True)
class Symbol:
    lines: Lines
    shape: str  # a hash that reformatting, comments and a move keep, and no other change does


@dataclass(frozen=True)
class UnreadableSource:
    """Why no symbol can be looked up in a text, worded to follow the file's name."""

    why: str


def read_symbol(source: str, path: str, name: str) -> Symbol | UnreadableSource | None:
    """The symbol as it stands there; None where the file is readable and does not have it."""
    tree = _parse(source, path)
    if isinstance(tree, UnreadableSource):
        return tree
    wanted = unicodedata.normalize("NFKC", name)
    found = {node for other, node in _list_definitions(tree) if other == wanted}
    if not found:
        return None
    roots = [*found] if len(found) == 1 else _list_with_conditions(tree, found)
    lines = Lines(
        min(_find_lines(node).first for node in roots),
        max(_find_lines(node).last for node in found),
    )
    return Symbol(lines, _hash_shape(roots))


def list_namesakes(source: str, path: str, name: str) -> list[str]:
    """Symbols that end in the same name: what somebody may have meant who left out the class."""
    tree = _parse(source, path)
    if isinstance(tree, UnreadableSource):
        return []
    last = name.rpartition(".")[2]
    return sorted(
        {other for other, _ in _list_definitions(tree) if other.rpartition(".")[2] == last}
    )


def _parse(source: str, path: str) -> ast.Module | UnreadableSource:
    if not path.endswith(PYTHON_SUFFIXES):
        return UnreadableSource("is not Python, and symbols are known in Python only")
    if len(source) > SOURCE_CHARS:
        return UnreadableSource(
            f"has more than {SOURCE_CHARS:,} characters, too many to look for a symbol"
        )
    if _LONE_RETURN.search(source):  # Python counts it as a line, editors and git do not
        return UnreadableSource(
            "has carriage returns inside its lines, so its lines cannot be counted"
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about escapes in somebody else's strings
            return ast.parse(source.removeprefix("\ufeff"))
    except SyntaxError as wrong:
        return UnreadableSource(f"cannot be read as Python: {wrong.msg} (line {wrong.lineno or 1})")
    except UnicodeEncodeError:
        return UnreadableSource("cannot be read as Python: it is not UTF-8")
    except (
        ValueError,
        RecursionError,
        MemoryError,
    ):  # a NUL, or nested deeper than the parser goes
        return UnreadableSource(
            "cannot be read as Python: it holds a NUL character or is nested too deeply"
        )


# --- looking up -----------------------------------------------------------------------------------


def _list_with_conditions(tree: ast.Module, found: set[ast.stmt]) -> list[ast.stmt]:
    """Several definitions in their branches, from the outermost on; what else stands there is taken
    out of the tree.

    A property and its setter, overloads, the two sides of an `if` or a `try`: which of them counts
    is known only when the module runs, so all of them are the symbol, and so is what chooses
    between them.
    """
    outer = {inner: node for node in ast.walk(tree) for inner in ast.iter_child_nodes(node)}
    kept: set[ast.AST] = {*found}
    for node in (outer[one] for one in found):
        while node not in kept:
            kept.add(node)
            node = outer.get(node, tree)
    scope: ast.AST = tree
    node = scope
    while len(inside := [one for one in ast.iter_child_nodes(node) if one in kept]) == 1:
        node = inside[0]
        scope = node if isinstance(node, _Definition) else scope
    kept.update(
        part
        for one in kept - found
        for name in ("handlers", "cases")
        for part in getattr(one, name, ())
    )
    for one in kept - found:
        _remove_others(one, kept)
    return [one for one in ast.iter_child_nodes(scope) if isinstance(one, ast.stmt) and one in kept]


def _remove_others(node: ast.AST, kept: set[ast.AST]) -> None:
    """The rest of each branch, but for what a `try` tries: that decides which side is taken."""
    for name, inside in ast.iter_fields(node):
        if isinstance(inside, list) and isinstance(next(iter(inside), None), _INNER):
            tries = name == "body" and isinstance(node, ast.Try | ast.TryStar)
            left = [
                one for one in inside if one in kept or (tries and not isinstance(one, _Definition))
            ]
            setattr(node, name, left or [ast.Pass()])  # so that a move to the other branch shows


def _list_definitions(tree: ast.Module) -> Iterator[tuple[str, ast.stmt]]:
    """Every definition and assignment with its full name, in no order; a loop, so that no depth
    breaks it.
    """
    pending: list[tuple[str, ast.AST]] = [("", tree)]
    while pending:
        prefix, scope = pending.pop()
        for node in ast.iter_child_nodes(scope):
            if isinstance(node, _INNER):
                if isinstance(node, ast.stmt):
                    yield from ((prefix + name, node) for name in _list_names(node))
                pending.append(
                    (f"{prefix}{node.name}." if isinstance(node, _Definition) else prefix, node)
                )


def _list_names(node: ast.stmt) -> list[str]:
    if isinstance(node, _Definition):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    if type(node).__name__ == "TypeAlias":  # of Python 3.12
        targets = [getattr(node, "name", None)]
    elif not isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
        return []
    parts = [
        part
        for target in targets
        for part in (target.elts if isinstance(target, ast.Tuple) else [target])
    ]
    return [part.id for part in parts if isinstance(part, ast.Name)]


def _find_lines(node: ast.stmt) -> Lines:
    """Decorators belong to what they decorate."""
    decorators = node.decorator_list if isinstance(node, _Definition) else []
    return Lines(
        min([node.lineno, *(one.lineno for one in decorators)]), node.end_lineno or node.lineno
    )


# --- shape ----------------------------------------------------------------------------------------


def _hash_shape(roots: list[ast.stmt]) -> str:
    digest = canonical.new_sha256()
    for token in _list_tokens([_normalise_docstrings(root) for root in roots]):
        data = token.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8) + data)
    return digest.hexdigest()


def _normalise_docstrings(root: ast.stmt) -> ast.stmt:
    """Formatters indent docstrings anew; their words are kept, their spaces are not."""
    for node in ast.walk(root):
        if (
            isinstance(node, _Definition)
            and (text := ast.get_docstring(node, clean=False)) is not None
        ):
            node.body[0] = ast.Expr(ast.Constant(" ".join(text.split())))
    return root


def _list_tokens(roots: list[ast.stmt]) -> Iterator[str]:
    """The trees as a flat list, each node with the number of its parts; a loop, so that no depth
    breaks it.

    What is empty is left out, so that a field which only a later Python has changes nothing.
    """
    pending: list[object] = [*reversed(roots)]
    while pending:
        value = pending.pop()
        if isinstance(value, ast.AST):
            fields = [
                one
                for one in ast.iter_fields(value)
                if one[0] not in _FORMATTING and one[1] not in (None, [])
            ]
            yield f"{type(value).__name__} {len(fields)}"
            pending.extend(part for field in reversed(fields) for part in reversed(field))
        elif isinstance(value, list):
            yield f"list {len(value)}"
            pending.extend(reversed(value))
        else:
            yield _write_leaf(value)


def _write_leaf(value: object) -> str:
    """A name or a constant with its type: 1, 1.0, True and "1" differ. In hex, because long
    decimals are refused.
    """
    return f"{type(value).__name__} {hex(value) if type(value) is int else repr(value)}"
