"""The package's public names: there when they are asked for, and free until then."""

import subprocess
import sys

import pytest

import holdfast

# What the contract promises; others import exactly these.
PROMISED = {
    *("SessionService", "Session", "SessionEvent", "SessionState"),
    *("SessionNotFoundError", "SessionEndedError", "SequenceConflictError"),
    "open_database",
}


def test_every_promised_name_can_be_imported():
    assert set(holdfast.__all__) == PROMISED
    for name in PROMISED:
        assert getattr(holdfast, name).__name__ == name


def test_the_errors_are_of_the_kinds_that_doors_know():
    from holdfast import errors

    assert issubclass(holdfast.SessionNotFoundError, errors.NotFound)
    assert issubclass(holdfast.SessionEndedError, errors.Conflict)
    assert issubclass(holdfast.SequenceConflictError, errors.Conflict)


def test_a_star_imports_the_promised_names_only():
    names: dict[str, object] = {}
    exec("from holdfast import *", names)

    assert names.keys() - {"__builtins__"} == PROMISED


def test_all_names_are_listed():
    assert set(dir(holdfast)) >= PROMISED | {"__version__"}


def test_another_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'holdfast' has no attribute 'SessionServise'"):
        holdfast.SessionServise  # noqa: B018


def test_importing_the_package_loads_no_engine_and_no_expensive_module():
    """A hook imports it dozens of times an hour."""
    script = (
        "import sys; before = set(sys.modules); import holdfast; "
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )

    loaded = done.stdout.split()
    assert [
        name
        for name in loaded
        if name.partition(".")[0] in ("apsw", "asyncpg", "asyncio", "click", "dataclasses")
    ] == []
    assert [name for name in loaded if name.startswith("holdfast")] == ["holdfast"]


def test_the_version_is_the_one_that_is_installed():
    from importlib.metadata import version

    assert holdfast.__version__ == version("holdfast")
