"""Public names of the package that nothing in the package uses.

Names are compared as words: a method counts as used when any attribute of that name is read
anywhere, so something that is not listed may still be unused. What only strings, templates, prose
or SQL name is listed apart; docstrings do not count. A function whose decorator registers it
somewhere is used by that, and one that a framework calls is listed.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tools.house.lines import print_list
from tools.house.source import Function, SourceFile, load_files

OTHER_FILES = (".html", ".md", ".sql", ".js")
WORD = re.compile(r"[A-Za-z_]\w*")
# These change how a function is called, and not who calls it.
HARMLESS = re.compile(
    r"(.*\.)?(property|cached_property|classmethod|staticmethod|cache|lru_cache.*|dataclass.*)$"
)
HARMLESS_MANAGERS = re.compile(
    r"(.*\.)?(contextmanager|asynccontextmanager|overload|wraps.*|final|override)$"
)


class Definition(NamedTuple):
    name: str
    kind: str
    place: str
    own_uses: int  # a function that calls itself is not used by that


class Uses(NamedTuple):
    """How often a name is read by code, and which names stand in texts."""

    in_code: Counter[str]
    in_texts: set[str]


def count_uses(package: Path) -> Uses:
    trees = [file.tree for file in load_files(package)]
    others = [path for path in package.rglob("*") if path.suffix in OTHER_FILES]
    words = {word for path in others for word in WORD.findall(path.read_text())}
    words.update(word for tree in trees for text in strings(tree) for word in WORD.findall(text))
    return Uses(Counter(name for tree in trees for name in names_read(tree)), words)


def names_read(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            yield node.attr
        elif isinstance(node, ast.alias) and node.asname:
            yield node.name


def strings(tree: ast.AST) -> Iterator[str]:
    """Of the code; docstrings are left out."""
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in docstrings
        ):
            yield node.value


def find_unused(package: Path) -> Iterator[Definition]:
    """Each definition that no code of the package reads."""
    uses = count_uses(package)
    for file in load_files(package):
        for definition in definitions(file):
            if uses.in_code[definition.name] <= definition.own_uses:
                yield definition


def definitions(file: SourceFile) -> Iterator[Definition]:
    for node in file.tree.body:
        yield from define(file, node, "")
        if isinstance(node, ast.ClassDef):
            for member in node.body:
                yield from define(file, member, f"{node.name}.")


def define(file: SourceFile, node: ast.stmt, owner: str) -> Iterator[Definition]:
    """Fields of a class are left out: they are read as attributes of rows and documents."""
    if isinstance(node, Function | ast.ClassDef):
        if is_public(node.name) and not is_registered(node):
            kind = "class" if isinstance(node, ast.ClassDef) else "function"
            own_uses = Counter(names_read(node))[node.name]
            yield Definition(node.name, f"{kind} {owner}", file.place(node), own_uses)
    elif isinstance(node, ast.Assign | ast.AnnAssign) and not owner:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            if isinstance(target, ast.Name) and is_public(target.id):
                yield Definition(target.id, "constant ", file.place(node), 0)


def is_public(name: str) -> bool:
    return not name.startswith("_")


def is_registered(node: Function | ast.ClassDef) -> bool:
    decorators = [ast.unparse(decorator) for decorator in node.decorator_list]
    return any(
        not HARMLESS.match(text) and not HARMLESS_MANAGERS.match(text) for text in decorators
    )


def print_unused(package: Path, tests: Path) -> None:
    in_texts = count_uses(package).in_texts
    in_tests = {path: set(WORD.findall(path.read_text())) for path in sorted(tests.rglob("*.py"))}
    groups: dict[str, list[str]] = {
        "Read by tests only": [],
        "Read nowhere": [],
        "Named in texts only": [],
    }
    for name, kind, place, _ in find_unused(package):
        found = [str(path) for path, words in in_tests.items() if name in words]
        group = (
            "Named in texts only"
            if name in in_texts
            else "Read by tests only"
            if found
            else "Read nowhere"
        )
        groups[group].append(f"{place} {kind}{name}  {' '.join(found)}".rstrip())
    for title, lines in groups.items():
        print_list(title, lines)
