"""Print docs/errors.md: every error of the package with its codes, and what it says of an example.

The classes are found in the package, and the examples beside the tests of each folder.
tests/house/test_errors.py reads them too: each class has one, and each door has words for what to
do next.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path

import holdfast
from holdfast import errors
from holdfast.errors import HoldfastError

HEAD = """# Errors

Written by `make docs` from the code. There are five kinds, and a kind decides the exit code and the HTTP status; a few
classes have a status of their own. A program decides by `code`. The message says what is wrong; what to do next is
given by verb, and each door words it in its own grammar: the CLI as a command, MCP as a tool call, HTTP as a route.
Messages have example values here.
"""  # noqa: E501 - the lines of the page
KINDS = {
    errors.NotFound: "something that is asked for does not exist",
    errors.Conflict: "the state is another than the caller expects",
    errors.Refused: "a rule does not allow it",
    errors.Invalid: "the input is wrong",
    errors.Unavailable: "it may work later, or elsewhere",
    HoldfastError: "of no kind",
}


def find_examples() -> list[HoldfastError]:
    """Of each folder, beside its tests."""
    root = Path(__file__).parents[1]
    paths = sorted(root.glob("tests/**/error_examples.py"))
    modules = [".".join(path.relative_to(root).with_suffix("").parts) for path in paths]
    return [example for name in modules for example in importlib.import_module(name).EXAMPLES]


def find_errors() -> list[type[HoldfastError]]:
    """Every class of the tree, wherever in the package it is defined."""
    for module in pkgutil.walk_packages(holdfast.__path__, "holdfast."):
        importlib.import_module(module.name)
    return [error for error in _tree(HoldfastError) if error.__module__.startswith("holdfast.")]


def _tree(kind: type[HoldfastError]) -> Iterator[type[HoldfastError]]:
    yield kind
    for below in kind.__subclasses__():
        yield from _tree(below)


def kind_of(error: HoldfastError) -> type[HoldfastError]:
    return next(kind for kind in KINDS if isinstance(error, kind))


def print_page() -> None:
    print(HEAD)
    for kind, meaning in KINDS.items():
        print(
            f"## {kind.__name__}: {meaning}\n\n"
            f"Exit code {kind.exit_code}, HTTP {kind.http_status}\n"
        )
        print("| code | class | HTTP | message | next |\n| --- | --- | --- | --- | --- |")
        rows = [_row(error) for error in find_examples() if kind_of(error) is kind]
        print("\n".join(sorted(rows)), end="\n\n" if kind is not HoldfastError else "\n")


def _row(error: HoldfastError) -> str:
    verbs = ", ".join(f"`{action.verb}`" for action in error.next_actions) or "—"
    place = f"`{type(error).__module__}.{type(error).__name__}`".replace("`holdfast.", "`")
    return f"| `{error.code}` | {place} | {error.http_status} | {error.message} | {verbs} |"


if __name__ == "__main__":
    print_page()
