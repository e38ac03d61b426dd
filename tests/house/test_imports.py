"""Imports go one way, rooms stand alone, and every library has one place."""

import ast
import sys
import tomllib
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
from importlinter.cli import lint_imports

from holdfast.clients import CLIENTS
from tests.house import source

# A library outside its place costs every process that passes by, and ties the rooms to a third
# party's words.
PLACES = {
    "apsw": ("holdfast.storage.sqlite", "holdfast.storage.sqlite_look"),
    "asyncpg": (
        "holdfast.storage.postgres",
        "holdfast.storage.postgres_errors",
        "holdfast.storage.postgres_hosts",
    ),
    "click": ("holdfast.surfaces.cli",),
    "rich": ("holdfast.surfaces.cli",),
    "mcp": ("holdfast.surfaces.mcp",),
    "mcp_types": ("holdfast.surfaces.mcp",),
    "anyio": ("holdfast.surfaces.mcp",),
    "langgraph": ("holdfast.surfaces.langgraph",),
    "fastapi": ("holdfast.surfaces.http", "holdfast.surfaces.console"),
    "starlette": ("holdfast.surfaces.http", "holdfast.surfaces.console"),
    "pydantic": ("holdfast.surfaces.http", "holdfast.surfaces.console"),
    "uvicorn": ("holdfast.surfaces.http",),
    "h11": ("holdfast.surfaces.http",),
    "jinja2": ("holdfast.surfaces.console",),
    "markupsafe": ("holdfast.surfaces.console",),
}
# Python's own, under the name that a newer or older version has for it.
PYTHONS = {*sys.stdlib_module_names, "_sha2", "_sha256"}
# Two rooms have windows: they read other rooms, and no room reads them.
WINDOWS = {"bundles", "archive"}


def is_within(module: str, place: str) -> bool:
    return module == place or module.startswith(f"{place}.")


def contracts() -> list[dict[str, object]]:
    with open(source.ROOT / "pyproject.toml", "rb") as file:
        found: list[dict[str, object]] = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    return found


def test_every_import_contract_is_kept(capsys: pytest.CaptureFixture[str]):
    """The contracts of pyproject.toml, as `lint-imports` reads them."""
    broken = lint_imports(config_filename=str(source.ROOT / "pyproject.toml"), no_cache=True)

    assert not broken, capsys.readouterr().out


def test_each_library_is_imported_only_where_it_belongs():
    """Whatever is neither Python's nor ours needs a place in the list above."""
    strangers = [
        f"{source.module_of(path)} imports {name}"
        for path in source.files()
        for name in sorted({imported.partition(".")[0] for imported in source.imports(path)})
        if name not in PYTHONS
        and name != "holdfast"
        and not any(is_within(source.module_of(path), place) for place in PLACES.get(name, ()))
    ]

    assert strangers == []


def test_no_module_imports_a_second_sqlite_library():
    """Two SQLite libraries in one process drop each other's locks."""
    users = [source.module_of(path) for path in source.files() if "sqlite3" in source.imports(path)]

    assert users == []


def test_rooms_do_not_import_rooms():
    """What two rooms share lies below them, or in usecases."""
    sideways = [
        f"{source.module_of(path)} imports {name}"
        for room in source.rooms()
        if room not in WINDOWS
        for path in sorted((source.PACKAGE / room).rglob("*.py"))
        for name in sorted(source.imports(path))
        for other in source.rooms()
        if other != room and is_within(name, f"holdfast.{other}")
    ]

    assert sideways == []


def test_a_new_room_is_held_by_the_contracts():
    """A folder that no contract names could import whatever it likes."""
    layers = " ".join(str(contract.get("layers")) for contract in contracts())
    independent = [module for contract in contracts() for module in contract.get("modules", [])]  # type: ignore[attr-defined]

    for room in source.rooms():
        assert f"holdfast.{room}" in layers
        assert room in WINDOWS or f"holdfast.{room}" in independent


def test_a_client_is_named_in_its_own_folder_only():
    """The dispatcher knows what happened, not to whom: a new client is one folder and one name in
    the list.
    """
    names = {path.parent.name for path in (source.PACKAGE / "clients").glob("*/__init__.py")}
    users = [
        f"{source.module_of(path)} imports {name}"
        for path in source.files()
        for name in source.imports(path)
        for client in names
        if is_within(name, f"holdfast.clients.{client}")
        and not is_within(source.module_of(path), f"holdfast.clients.{client}")
        and source.module_of(path) != "holdfast.clients"
    ]

    assert names
    assert users == []


def test_an_import_for_type_checking_only_is_not_counted(tmp_path):
    """The reader itself: loads count wherever they stand, types do not, and a room's name is found
    in both forms.
    """
    path = tmp_path / "sample.py"
    path.write_text(
        "TYPE_CHECKING = False\n"
        "if TYPE_CHECKING:\n    import apsw\n"
        "def late():\n    from holdfast import sessions\n    import rich.table\n"
    )

    assert source.imports(path) == {"holdfast", "holdfast.sessions", "rich.table"}


def test_an_agent_program_is_named_in_its_own_file_only():
    """Whatever is particular to one of them is found and removed in one place; the demo replays
    one.
    """
    elsewhere = [
        source.module_of(path)
        for path in source.files()
        if not is_within(source.module_of(path), "holdfast.clients")
        if any(f'"{name}' in path.read_text().casefold() for name in CLIENTS)
    ]

    assert elsewhere == ["holdfast.surfaces.cli.demo_story"]


def test_the_benchmarks_and_examples_import_names_that_exist():
    """Neither is checked by mypy, and the benchmarks need other programs to run."""
    files = [*source.ROOT.glob("bench/**/*.py"), *source.ROOT.glob("examples/*.py")]

    assert [name for file in files for name in imported_names(file) if not is_there(name)] == []


def imported_names(file: Path) -> list[str]:
    """Of this package: `holdfast.ground.ids.new_id`."""
    tree = ast.parse(file.read_text())
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
    ours = [node for node in nodes if str(node.module).startswith("holdfast")]
    return [f"{node.module}.{alias.name}" for node in ours for alias in node.names]


def is_there(name: str) -> bool:
    module, _, attribute = name.rpartition(".")
    return hasattr(import_module(module), attribute) or find_spec(name) is not None
