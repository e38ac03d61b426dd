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
import unicodedata
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from holdfast.ground import canonical
from holdfast.ground.patterns import compile_later
from holdfast.workstreams.effort import PARSED_CHAR, TOKEN, Effort
from holdfast.workstreams.places import Lines, Symbol, UnreadableSource

SOURCE_CHARS = 1_000_000  # a parsed text takes almost a hundred times its size in memory
TOKENS_AT_ONCE = 1_000  # so many are paid for together
PYTHON_SUFFIXES = (".py", ".pyi", ".pyw")

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
# What is left of the branches of nodes, by node and name of the branch.
Branches = dict[tuple[ast.AST, str], list[ast.AST]]
_INNER = (ast.stmt, ast.excepthandler, ast.match_case)
_FORMATTING = {"ctx", "kind", "type_comment", "type_ignores"}
_LONE_RETURN = compile_later(r"\r(?!\n)")


class Source:
    """A parsed text, in which any number of symbols are looked up; nothing in it is changed."""

    def __init__(self, tree: ast.Module, effort: Effort):
        self.tree, self.effort = tree, effort
        self._definitions: dict[str, list[ast.stmt]] = {}
        for name, node in _list_definitions(tree):
            self._definitions.setdefault(name, []).append(node)
        self._outer: dict[ast.AST, ast.AST] = {}
        self._known: dict[str, Symbol | None] = {}
        _normalise_docstrings(tree)

    def read_symbol(self, name: str) -> Symbol | None:
        """None where the text does not have it."""
        wanted = unicodedata.normalize("NFKC", name)
        if wanted not in self._known:
            self._known[wanted] = self._read_symbol(wanted)
        return self._known[wanted]

    def list_namesakes(self, name: str) -> list[str]:
        """Symbols that end in the same name, for a caller that left out the class."""
        last = _find_last_part(name)
        return sorted(other for other in self._definitions if _find_last_part(other) == last)

    def _read_symbol(self, name: str) -> Symbol | None:
        found = self._definitions.get(name)
        if not found:
            return None
        roots = found
        branches: Branches = {}
        if len(found) > 1:
            roots, branches = _find_with_conditions(self.tree, found, self._find_outer())
        first = min(_find_lines(node).first for node in roots)
        last = max(_find_lines(node).last for node in found)
        return Symbol(Lines(first, last), _hash_shape(roots, branches, self.effort))

    def _find_outer(self) -> dict[ast.AST, ast.AST]:
        """Each node's outer one; only several definitions of a name need it."""
        if not self._outer:
            for node in ast.walk(self.tree):
                for inner in ast.iter_child_nodes(node):
                    self._outer[inner] = node
        return self._outer


def read_source(text: str, path: str, effort: Effort) -> Source | UnreadableSource:
    tree = _parse(text, path, effort)
    if isinstance(tree, UnreadableSource):
        return tree
    return Source(tree, effort)


def _find_last_part(name: str) -> str:
    _, _, last = name.rpartition(".")
    return last


def _parse(source: str, path: str, effort: Effort) -> ast.Module | UnreadableSource:
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
    effort.spend(PARSED_CHAR * len(source))
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


def _find_with_conditions(
    tree: ast.Module, found: Sequence[ast.stmt], outer: Mapping[ast.AST, ast.AST]
) -> tuple[list[ast.stmt], Branches]:
    """Several definitions in their branches, from the outermost on, and what is left of those.

    A property and its setter, overloads, the two sides of an `if` or a `try`: which of them counts
    is known only when the module runs, so all of them are the symbol, and so is what chooses
    between them.
    """
    inside = _list_inside(tree, found, outer)
    scope = _find_scope(tree, inside)
    roots = [node for node in inside[scope] if isinstance(node, ast.stmt)]
    roots.sort(key=lambda node: (node.lineno, node.col_offset))
    around = _list_below(roots, inside)
    kept = {*found, *around}
    for node in around:
        for name in ("handlers", "cases"):
            kept.update(getattr(node, name, ()))
    branches: Branches = {}
    for node in kept.difference(found):
        branches |= _choose_branches(node, kept)
    return roots, branches


def _list_inside(
    tree: ast.Module, found: Sequence[ast.stmt], outer: Mapping[ast.AST, ast.AST]
) -> dict[ast.AST, list[ast.AST]]:
    """Every node around the definitions, with those directly in it that lead to them."""
    inside: dict[ast.AST, list[ast.AST]] = {}
    for definition in found:
        node: ast.AST = definition
        is_new = True
        while is_new and node is not tree:
            above = outer[node]
            is_new = above not in inside
            inside.setdefault(above, []).append(node)
            node = above
    return inside


def _find_scope(tree: ast.Module, inside: Mapping[ast.AST, list[ast.AST]]) -> ast.AST:
    """The innermost definition that holds all of them."""
    scope: ast.AST = tree
    node: ast.AST = tree
    while len(inside[node]) == 1:
        (node,) = inside[node]
        if isinstance(node, _Definition):
            scope = node
    return scope


def _list_below(
    roots: Sequence[ast.stmt], inside: Mapping[ast.AST, list[ast.AST]]
) -> list[ast.AST]:
    """The roots that hold definitions, and all that is in them and holds some."""
    below: list[ast.AST] = [node for node in roots if node in inside]
    for node in below:
        below += [inner for inner in inside[node] if inner in inside]
    return below


def _choose_branches(node: ast.AST, kept: Collection[ast.AST]) -> Branches:
    """Without the rest of each branch, except what a `try` tries: it decides which side counts."""
    branches: Branches = {}
    for name, inside in ast.iter_fields(node):
        if not _is_branch(inside):
            continue
        left = [part for part in inside if part in kept]
        if name == "body" and isinstance(node, ast.Try | ast.TryStar):
            left = [part for part in inside if part in kept or not isinstance(part, _Definition)]
        branches[node, name] = left or [ast.Pass()]  # so that a move to the other branch shows
    return branches


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


def _hash_shape(roots: Sequence[ast.stmt], branches: Branches, effort: Effort) -> str:
    digest = canonical.new_sha256()
    for number, token in enumerate(_list_tokens(roots, branches)):
        if number % TOKENS_AT_ONCE == 0:
            effort.spend(TOKEN * TOKENS_AT_ONCE)
        data = token.encode("utf-8", "surrogatepass")
        length = len(data).to_bytes(8)
        digest.update(length + data)
    return digest.hexdigest()


def _normalise_docstrings(tree: ast.Module) -> None:
    """Formatters indent docstrings again; their words are kept, their spaces are not."""
    for node in ast.walk(tree):
        if not isinstance(node, _Definition):
            continue
        text = ast.get_docstring(node, clean=False)
        if text is not None:
            words = " ".join(text.split())
            node.body[0] = ast.Expr(ast.Constant(words))


def _list_tokens(roots: Sequence[ast.stmt], branches: Branches) -> Iterator[str]:
    """The trees as a flat list, each node with the number of its parts; a loop, for any depth.

    Empty fields are left out, so that a field which only a later Python has changes nothing.
    """
    pending: list[object] = [*reversed(roots)]
    while pending:
        value = pending.pop()
        if isinstance(value, ast.AST):
            fields = _list_fields(value, branches)
            yield f"{type(value).__name__} {len(fields)}"
            for name, inside in reversed(fields):
                pending += [inside, name]
        elif isinstance(value, list):
            yield f"list {len(value)}"
            pending.extend(reversed(value))
        else:
            yield _write_leaf(value)


def _list_fields(node: ast.AST, branches: Branches) -> list[tuple[str, object]]:
    fields = []
    for name, inside in ast.iter_fields(node):
        left = branches.get((node, name), inside)
        if name not in _FORMATTING and left not in (None, []):
            fields.append((name, left))
    return fields


def _write_leaf(value: object) -> str:
    """A name or a constant with its type: 1, 1.0, True and "1" differ."""
    # In hex, because Python refuses to write long decimals.
    text = hex(value) if type(value) is int else repr(value)
    return f"{type(value).__name__} {text}"
