"""Habits that a machine can keep: names that say something, functions that fit a screen, and files
that name no machine.
"""

import ast
import os
import pwd
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house import source

# A module that is called so is where things go when no place was decided for them.
EMPTY_NAMES = {"base", "common", "helper", "helpers", "manager", "misc", "tools", "util", "utils"}
LONGEST_FUNCTION = 60
CODE = ("src", "tests", "bench", "tools")


def tracked_files() -> list[Path]:
    """What git has or would take; outside a checkout, everything that is not made by a tool."""
    done = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=source.ROOT,
        capture_output=True,
    )
    if done.returncode == 0:
        files = [source.ROOT / os.fsdecode(name) for name in done.stdout.split(b"\0") if name]
    else:
        files = [path for folder in (*CODE, "docs") for path in (source.ROOT / folder).rglob("*")]
    return sorted(path for path in files if path.is_file() and "__pycache__" not in path.parts)


def python_files() -> list[Path]:
    return [
        path
        for path in tracked_files()
        if path.suffix == ".py" and path.relative_to(source.ROOT).parts[0] in CODE
    ]


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def test_no_module_has_an_empty_name():
    found = [
        path
        for path in python_files()
        if path.stem in EMPTY_NAMES or path.parent.name in EMPTY_NAMES - {"tools"}
    ]

    assert found == []


def test_every_function_fits_a_screen():
    """Ours; a function that draws a whole picture may be data, and data belongs into a constant."""
    found = [
        f"{path.relative_to(source.ROOT)}:{node.lineno} {node.name} has {length} lines"
        for path in source.files()
        for node in functions(path)
        if (length := (node.end_lineno or node.lineno) - node.lineno + 1) > LONGEST_FUNCTION
    ]

    assert found == []


def test_every_module_says_what_it_is_for():
    """The first thing a reader sees is the idea, not the imports."""
    silent = [path for path in source.files() if not ast.get_docstring(ast.parse(path.read_text()))]

    assert silent == []


def test_a_test_is_named_by_a_sentence():
    """`test_append` says what is tried, not what is true."""
    short = [
        f"{path.relative_to(source.ROOT)}:{node.lineno} {node.name}"
        for path in python_files()
        if path.name.startswith("test_")
        for node in functions(path)
        if node.name.startswith("test_") and node.name.count("_") < 3
    ]

    assert short == []


def test_no_test_waits_for_the_clock():
    """A test that sleeps is slow on a good day and wrong on a bad one. Only faults strike after a
    while.
    """
    found = [
        f"{path.relative_to(source.ROOT)}:{node.lineno} {function.name}"
        for path in python_files()
        if path.name.startswith("test_") and path.parent.name != "faults"
        for function in functions(path)
        if function.name.startswith("test_")
        for node in ast.walk(function)
        if isinstance(node, ast.Call)
        and re.match(r"(time|asyncio)\.sleep\((?!0\))", ast.unparse(node))
    ]

    assert found == []


# --- no name of a machine -------------------------------------------------------------------------

ADDRESSES = {
    "a package index": re.compile(
        r"https?://[^\s\"'<>)]*/simple\b|--(?:extra-)?index-url|--find-links|\bfile:///\w"
    ),
    "a home folder": re.compile(r"/(?:home|Users)/(?!(?:ana|bo|dev|me|user|you)/)[a-z][\w.-]*/\w"),
    "credentials": re.compile(r"://[\w.-]+:[^\s/@\"'{}$…]{16,}@"),
}


def places_of_this_machine() -> list[str]:
    """Where this checkout, its environment and its user live: true here, and nowhere else."""
    home = pwd.getpwuid(os.getuid()).pw_dir
    return [
        place
        for place in {str(source.ROOT), sys.prefix, sys.base_prefix, f"{home}/."}
        if len(place) > 5
    ]


@pytest.mark.parametrize("what", ADDRESSES)
def test_no_file_names(what: str):
    """Neither a package index, nor a home folder, nor credentials."""
    found = [
        f"{path.relative_to(source.ROOT)}: {match[0]}"
        for path in tracked_files()
        if path != Path(__file__)
        for match in ADDRESSES[what].finditer(path.read_text(errors="ignore"))
    ]

    assert found == []


def test_no_file_names_a_place_of_this_machine():
    """A path that only exists where it was written breaks everywhere else, and tells where it was
    written.
    """
    places = [place for place in places_of_this_machine() if not place.startswith(("/usr", "/opt"))]
    found = [
        f"{path.relative_to(source.ROOT)}: {place}"
        for path in tracked_files()
        for place in places
        if place in path.read_text(errors="ignore")
    ]

    assert found == []
