"""Where a Python symbol is in a text, and a hash of it that does not depend on its formatting.

A symbol is all that defines its name in its scope, from the first definition to the last, with the
conditions around several. Edits above it do not affect it, so it is the better evidence; but only a
parser knows where it ends, and only Python's is available. Every other language is refused with the
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
from typing import Any, NamedTuple

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
    """The symbol in this text; None where the text is readable and does not have it."""
    tree = _parse(source, path)
    if isinstance(tree, UnreadableSource):
        return tree
    wanted = unicodedata.normalize("NFKC", name)
    found = {node for other, node in _list_definitions(tree) if other == wanted}
    if not found:
        return None
    roots = list(found)
    if len(found) > 1:
        roots = _list_with_conditions(tree, found)
    first = min(_find_lines(node).first for node in roots)
    last = max(_find_lines(node).last for node in found)
    return Symbol(Lines(first, last), _hash_shape(roots))


def list_namesakes(source: str, path: str, name: str) -> list[str]:
    """Symbols that end in the same name, for a caller that left out the class."""
    tree = _parse(source, path)
    if isinstance(tree, UnreadableSource):
        return []
    last = _find_last_part(name)
    known = {other for other, _ in _list_definitions(tree)}
    return sorted(other for other in known if _find_last_part(other) == last)


def _find_last_part(name: str) -> str:
    _, _, last = name.rpartition(".")
    return last


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
            warnings.simplefilter("ignore")  # about escapes in strings of that text
            return ast.parse(source.removeprefix("\ufeff"))
    except SyntaxError as wrong:
        return UnreadableSource(f"cannot be read as Python: {wrong.msg} (line {wrong.lineno or 1})")
    except UnicodeEncodeError:
        return UnreadableSource("cannot be read as Python: it is not UTF-8")
    except (ValueError, RecursionError, MemoryError):
        return UnreadableSource(
            "cannot be read as Python: it holds a NUL character or is nested too deeply"
        )


# --- looking up -----------------------------------------------------------------------------------


def _list_with_conditions(tree: ast.Module, found: set[ast.stmt]) -> list[ast.stmt]:
    """Several definitions in their branches, from the outermost on; the rest is removed.

    A property and its setter, overloads, the two sides of an `if` or a `try`: which of them counts
    is known only when the module runs, so all of them are the symbol, and so is what chooses
    between them.
    """
    kept = _list_with_outer(tree, found)
    scope = _find_scope(tree, kept)
    around = kept - found
    for node in around:
        for name in ("handlers", "cases"):
            kept.update(getattr(node, name, ()))
    for node in kept - found:
        _remove_others(node, kept)
    inside = [node for node in ast.iter_child_nodes(scope) if isinstance(node, ast.stmt)]
    return [node for node in inside if node in kept]


def _list_with_outer(tree: ast.Module, found: set[ast.stmt]) -> set[ast.AST]:
    """The definitions and every node around them."""
    outer: dict[ast.AST, ast.AST] = {}
    for node in ast.walk(tree):
        for inner in ast.iter_child_nodes(node):
            outer[inner] = node
    kept: set[ast.AST] = {*found}
    for definition in found:
        node = outer[definition]
        while node not in kept:
            kept.add(node)
            node = outer.get(node, tree)
    return kept


def _find_scope(tree: ast.Module, kept: set[ast.AST]) -> ast.AST:
    """The innermost definition that holds all of them."""
    scope: ast.AST = tree
    inside = _list_kept(tree, kept)
    while len(inside) == 1:
        (node,) = inside
        if isinstance(node, _Definition):
            scope = node
        inside = _list_kept(node, kept)
    return scope


def _list_kept(node: ast.AST, kept: set[ast.AST]) -> list[ast.AST]:
    return [inner for inner in ast.iter_child_nodes(node) if inner in kept]


def _remove_others(node: ast.AST, kept: set[ast.AST]) -> None:
    """Remove the rest of each branch, except what a `try` tries: it decides which side counts."""
    for name, inside in ast.iter_fields(node):
        if not _is_branch(inside):
            continue
        left = [part for part in inside if part in kept]
        if name == "body" and isinstance(node, ast.Try | ast.TryStar):
            left = [part for part in inside if part in kept or not isinstance(part, _Definition)]
        setattr(node, name, left or [ast.Pass()])  # so that a move to the other branch shows


def _is_branch(inside: object) -> bool:
    """Whether a field of a node holds statements, handlers or cases."""
    return isinstance(inside, list) and bool(inside) and isinstance(inside[0], _INNER)


def _list_definitions(tree: ast.Module) -> Iterator[tuple[str, ast.stmt]]:
    """Every definition and assignment with its full name, unordered; a loop, for any depth."""
    pending: list[tuple[str, ast.AST]] = [("", tree)]
    while pending:
        prefix, scope = pending.pop()
        for node in ast.iter_child_nodes(scope):
            if not isinstance(node, _INNER):
                continue
            if isinstance(node, ast.stmt):
                for name in _list_names(node):
                    yield prefix + name, node
            if isinstance(node, _Definition):
                pending.append((f"{prefix}{node.name}.", node))
            else:
                pending.append((prefix, node))


def _list_names(node: ast.stmt) -> list[str]:
    if isinstance(node, _Definition):
        return [node.name]
    parts: list[Any] = []
    for target in _list_targets(node):
        if isinstance(target, ast.Tuple):
            parts += target.elts
        else:
            parts.append(target)
    return [part.id for part in parts if isinstance(part, ast.Name)]


def _list_targets(node: ast.stmt) -> list[Any]:
    if isinstance(node, ast.Assign):
        return node.targets
    if isinstance(node, ast.AnnAssign | ast.AugAssign):
        return [node.target]
    if type(node).__name__ == "TypeAlias":  # of Python 3.12
        return [getattr(node, "name", None)]
    return []


def _find_lines(node: ast.stmt) -> Lines:
    """Decorators belong to what they decorate."""
    starts = [node.lineno]
    if isinstance(node, _Definition):
        starts += [decorator.lineno for decorator in node.decorator_list]
    return Lines(min(starts), node.end_lineno or node.lineno)


# --- shape ----------------------------------------------------------------------------------------


def _hash_shape(roots: list[ast.stmt]) -> str:
    digest = canonical.new_sha256()
    normalised = [_normalise_docstrings(root) for root in roots]
    for token in _list_tokens(normalised):
        data = token.encode("utf-8", "surrogatepass")
        length = len(data).to_bytes(8)
        digest.update(length + data)
    return digest.hexdigest()


def _normalise_docstrings(root: ast.stmt) -> ast.stmt:
    """Formatters indent docstrings again; their words are kept, their spaces are not."""
    for node in ast.walk(root):
        if not isinstance(node, _Definition):
            continue
        text = ast.get_docstring(node, clean=False)
        if text is not None:
            words = " ".join(text.split())
            node.body[0] = ast.Expr(ast.Constant(words))
    return root


def _list_tokens(roots: list[ast.stmt]) -> Iterator[str]:
    """The trees as a flat list, each node with the number of its parts; a loop, for any depth.

    Empty fields are left out, so that a field which only a later Python has changes nothing.
    """
    pending: list[object] = [*reversed(roots)]
    while pending:
        value = pending.pop()
        if isinstance(value, ast.AST):
            fields = _list_fields(value)
            yield f"{type(value).__name__} {len(fields)}"
            for name, inside in reversed(fields):
                pending += [inside, name]
        elif isinstance(value, list):
            yield f"list {len(value)}"
            pending.extend(reversed(value))
        else:
            yield _write_leaf(value)


def _list_fields(node: ast.AST) -> list[tuple[str, object]]:
    return [
        (name, inside)
        for name, inside in ast.iter_fields(node)
        if name not in _FORMATTING and inside not in (None, [])
    ]


def _write_leaf(value: object) -> str:
    """A name or a constant with its type: 1, 1.0, True and "1" differ."""
    # In hex, because Python refuses to write long decimals.
    text = hex(value) if type(value) is int else repr(value)
    return f"{type(value).__name__} {text}"
