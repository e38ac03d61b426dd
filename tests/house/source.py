"""The package's own source, as the tests of the house read it: files, their imports, their
functions.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "holdfast"

# Folders that are not rooms: what lies below all rooms, and the wings that stand above or beside
# them.
NO_ROOMS = {"ground", "storage", "clients", "usecases", "surfaces"}


def files() -> list[Path]:
    """Every Python file of the package."""
    return sorted(PACKAGE.rglob("*.py"))


def rooms() -> list[str]:
    """A capability is a folder, so a new folder is a new room unless the house says otherwise."""
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    return sorted(folders - NO_ROOMS)


def module_of(path: Path) -> str:
    """`holdfast.storage.sqlite` for its file."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path: Path) -> set[str]:
    """The modules that a file loads, at its top or later; what only a type checker reads does not
    count.
    """
    return {name for node in _running(ast.parse(path.read_text())) for name in _names(node)}


def _running(tree: ast.AST) -> Iterator[ast.AST]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) in {
            "TYPE_CHECKING",
            "typing.TYPE_CHECKING",
        }:
            continue
        yield node
        yield from _running(node)


def _names(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module:
        # `from holdfast import errors` names the module holdfast.errors, `from holdfast.errors
        # import X` does not name a module X: both readings are kept, because only a folder's name
        # decides anything here.
        return [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return []
