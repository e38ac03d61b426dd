"""Print docs/verbs.md: each verb of a room, and what offers it at each door.

Nothing is listed by hand. What a door has comes from its own registry (commands, tools, routes);
which verbs lie behind it is read from its source, through the functions of the doors that it calls.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

import click

import holdfast
from holdfast.app import App
from holdfast.ground.settings import load_settings

DOORS = ("CLI", "MCP", "HTTP", "console")
# What only reads begins so; whatever else a verb is called, it changes something.
READS = ("find", "get", "list", "load", "read", "recall", "sample", "verify")
HEAD = """# Verbs and doors

Written by `make docs` from the code: each verb of a room, and what reaches it at each door. A dash says that this door
does not offer it; in Python every verb is a method of the room's service. What changes something is listed with what it
changes, and not with what it looks up on the way. A hook appends events without any of these.
"""


class Entry(NamedTuple):
    """Something that a door offers, and the function behind it."""

    door: str
    name: str
    function: Callable[..., Any]


# --- what there is --------------------------------------------------------------------------------


def verbs_of_rooms() -> dict[str, list[str]]:
    """By room: the public methods of its service, and what it offers as plain coroutines."""
    found = {}
    for room in pkgutil.iter_modules(holdfast.__path__, "holdfast."):
        if room.ispkg and importlib.util.find_spec(f"{room.name}.service"):
            parts = [importlib.import_module(part.name) for part in _modules(room.name)]
            found[room.name.rpartition(".")[2]] = [verb for part in parts for verb in _verbs(part)]
    return found


def _modules(room: str) -> list[pkgutil.ModuleInfo]:
    modules = list(pkgutil.iter_modules(importlib.import_module(room).__path__, f"{room}."))
    return sorted(modules, key=lambda module: not module.name.endswith(".service"))


def _verbs(module: ModuleType) -> Iterator[str]:
    for name, thing in vars(module).items():
        if getattr(thing, "__module__", None) != module.__name__ or name.startswith("_"):
            continue
        if inspect.isclass(thing) and name.endswith("Service"):
            yield from (
                verb
                for verb, method in vars(thing).items()
                if inspect.isfunction(method) and verb[0] != "_"
            )
        elif inspect.iscoroutinefunction(thing):
            yield name


def entries() -> Iterator[Entry]:
    from holdfast.surfaces.cli.root import root

    yield from _commands(root, click.Context(root, info_name=""))
    yield from _tools()
    with tempfile.TemporaryDirectory() as home:
        yield from _routes(home)


def _commands(command: click.Command, context: click.Context) -> Iterator[Entry]:
    if not isinstance(command, click.Group):
        assert command.callback is not None
        yield Entry("CLI", context.command_path.strip(), inspect.unwrap(command.callback))
        return
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        assert found is not None
        yield from _commands(found, click.Context(found, parent=context, info_name=name))


def _tools() -> Iterator[Entry]:
    from holdfast.surfaces.mcp import prompts
    from holdfast.surfaces.mcp.server import ROOMS

    for room in ROOMS:
        for tool in importlib.import_module(f"holdfast.surfaces.mcp.{room}").TOOLS:
            for operation in tool.operations.values():
                yield Entry(
                    "MCP",
                    f"{tool.name} {operation.name}" if tool.has_operations else tool.name,
                    operation.run,
                )
    for name, *_ in prompts.PROMPTS:
        yield Entry("MCP", f"prompt {name}", getattr(prompts, f"{name.rpartition('-')[2]}_text"))


def _routes(home: str) -> Iterator[Entry]:
    from holdfast.surfaces.http.app import make_http_app

    api: Any = make_http_app(App(load_settings({"HOLDFAST_HOME": home, "HOME": home})))
    for route in _flat(api.app.routes):
        if endpoint := getattr(route, "endpoint", None):
            door = "console" if ".console." in getattr(endpoint, "__module__", "") else "HTTP"
            method = next(iter(sorted(getattr(route, "methods", None) or ["ANY"])))
            yield Entry(door, f"{method} {route.path}", endpoint)


def _flat(routes: list[Any]) -> Iterator[Any]:
    """FastAPI keeps an included router as one route."""
    for route in routes:
        inner = getattr(route, "original_router", None)
        yield from _flat(inner.routes) if inner else [route]


# --- which verbs lie behind it --------------------------------------------------------------------


def verbs_behind(entry: Entry, rooms: dict[str, list[str]]) -> set[tuple[str, str]]:
    """What it changes, else what it reads; how a session is found counts only where nothing else is
    done.
    """
    called = _called(entry.function, rooms, set())
    reads = {verb for verb in called if verb[1].startswith(READS)}
    if changes := called - reads:
        last_word = entry.name.rpartition(" ")[2]
        return changes | {verb for verb in reads if last_word in verb[1].split("_")}
    return {verb for verb in reads if not verb[1].startswith("find_")} or reads


def _called(function: Any, rooms: dict[str, list[str]], seen: set[Any]) -> set[tuple[str, str]]:
    """The verbs that a function calls, itself or through functions of the doors and use cases."""
    if not isinstance(function, FunctionType) or function in seen:
        return set()
    seen.add(function)
    scope = {**function.__globals__, **inspect.getclosurevars(function).nonlocals}
    found: set[tuple[str, str]] = set()
    for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(function)))):
        if isinstance(node, ast.Attribute) and node.attr in rooms.get(
            room := _room(node.value, scope, rooms), ()
        ):
            found.add((room, node.attr))
        elif (
            isinstance(node, ast.Name | ast.Attribute)
            and (target := _target(node, scope)) is not None
        ):
            module = target.__module__.split(".")
            if module[1] in ("surfaces", "usecases"):
                found |= _called(target, rooms, seen)
            elif target.__name__ in rooms.get(module[1], ()):
                found.add((module[1], target.__name__))
    return found


def _room(node: ast.expr, scope: dict[str, Any], rooms: dict[str, list[str]]) -> str:
    """The room whose service this is: `sessions`, `scope.sessions`, or what a function returns that
    is called so.
    """
    called = node.func if isinstance(node, ast.Call) else node
    if (name := _name(called)) in rooms or not isinstance(called, ast.Name | ast.Attribute):
        return name
    answer = getattr(_target(called, scope), "__annotations__", {}).get("return")
    return next((room for room in rooms if _has_service(room, str(answer))), "")


def _has_service(room: str, name: str) -> bool:
    modules = [
        module.name for module in _modules(f"holdfast.{room}") if module.name.endswith("service")
    ]
    return any(hasattr(importlib.import_module(module), name) for module in modules)


def _name(node: ast.expr) -> str:
    return str(getattr(node, "id", "") or getattr(node, "attr", ""))


def _target(node: ast.Name | ast.Attribute, scope: dict[str, Any]) -> FunctionType | None:
    """The function of ours that a name stands for: `name`, `module.name`, or the method of a thing
    that is known.
    """
    if isinstance(node, ast.Name):
        target = scope.get(node.id)
    else:
        owner = scope.get(_name(node.value)) if isinstance(node.value, ast.Name) else None
        target = getattr(owner if isinstance(owner, ModuleType) else type(owner), node.attr, None)
    is_ours = isinstance(target, FunctionType) and target.__module__.startswith("holdfast.")
    return target if is_ours else None


# --- the page -------------------------------------------------------------------------------------


def page() -> str:
    rooms, offered = verbs_of_rooms(), list(entries())
    behind = {entry: verbs_behind(entry, rooms) for entry in offered}
    parts = [HEAD]
    for room, verbs in rooms.items():
        rows = [
            [f"`{verb}`", *(_cell(behind, door, (room, verb)) for door in DOORS)] for verb in verbs
        ]
        parts.append(f"## {room.capitalize()}\n\n{_table(['verb', *DOORS], rows)}\n")
    rest = [
        [door, _names(entry for entry in offered if entry.door == door and not behind[entry])]
        for door in DOORS
    ]
    parts.append(f"## Without a verb of a room\n\n{_table(['door', 'offers'], rest)}\n")
    return "\n".join(parts)


def _cell(behind: dict[Entry, set[tuple[str, str]]], door: str, verb: tuple[str, str]) -> str:
    return _names(entry for entry, verbs in behind.items() if entry.door == door and verb in verbs)


def _names(found: Iterator[Entry]) -> str:
    return ", ".join(f"`{entry.name}`" for entry in found) or "—"


def _table(head: list[str], rows: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))


if __name__ == "__main__":
    print(page(), end="")
