"""Print the contract: every name and shape that other programs depend on, without any wording.

Commands, tools, routes, error codes and public Python names are read from the real objects, one
line for each fact. The golden file tests/house/contract.txt is this output; a test compares the
two, so that no name changes unseen.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
from mcp import Client

import holdfast
from holdfast.app import App
from holdfast.ground.settings import load_settings
from holdfast.surfaces.cli.root import root
from holdfast.surfaces.http.app import make_http_app
from holdfast.surfaces.mcp import server
from tools.answers import describe_answers
from tools.errors import find_errors
from tools.walks import make_repository, prepare_environment

WORDING = {"description", "title", "summary", "operationId", "tags"}
UNORDERED = {"enum", "required", "type"}  # lists in which the order has no meaning
NAMED = {"properties", "paths"}  # mappings whose keys are names, and not words of a schema
# What programs call on public classes; other methods are there for our own doors, and their names
# may change.
PUBLIC_METHODS = (
    *(
        "create_session",
        "get_session",
        "get_active_session",
        "end_session",
        "append_event",
        "append_events",
    ),
    *(
        "get_recent_events",
        "get_state",
        "update_state",
        "set_relevant_context",
        "get_relevant_context",
    ),
    *("context", "to_dict"),
)
PLAIN_VALUES = (str, int, float, bool, type(None))


def describe_contract() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as home:
        prepare_environment(home)
        app = App(load_settings())
        return {
            "cli": dict(describe_commands(root, click.Context(root, info_name="holdfast"))),
            "mcp": asyncio.run(describe_mcp(app)),
            "answers": asyncio.run(describe_answers(make_repository(Path(home) / "payouts"))),
            "http": describe_http(app),
            "errors": describe_errors(),
            "python": describe_python(),
        }


# --- the command line -----------------------------------------------------------------------------


def describe_commands(
    command: click.Command, context: click.Context
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every command by its path, groups and hidden commands included."""
    parameters = command.get_params(context)
    options = [option for option in parameters if isinstance(option, click.Option)]
    yield (
        context.command_path,
        {
            "arguments": [
                describe_argument(p) for p in parameters if isinstance(p, click.Argument)
            ],
            "options": {option.opts[0]: describe_option(option) for option in options},
        },
    )
    if isinstance(command, click.Group):
        hidden = getattr(command, "hidden_commands", ())
        for name in [*command.list_commands(context), *hidden]:
            below = command.get_command(context, name)
            assert below is not None
            inner = click.Context(below, parent=context, info_name=name)
            yield from describe_commands(below, inner)


def describe_argument(argument: click.Argument) -> dict[str, Any]:
    return {"name": argument.name, **describe_parameter(argument)}


def describe_option(option: click.Option) -> dict[str, Any]:
    return {
        "spellings": sorted([*option.opts, *option.secondary_opts]),
        **describe_parameter(option),
        **true_facts(
            is_flag=option.is_flag, is_repeatable=option.multiple, is_hidden=option.hidden
        ),
    }


def describe_parameter(parameter: click.Parameter) -> dict[str, Any]:
    facts = parameter.to_info_dict()
    default = facts.get("default")
    has_default = isinstance(default, PLAIN_VALUES) and default is not None
    return {
        "type": facts["type"]["name"],
        "nargs": parameter.nargs,
        **true_facts(
            is_required=parameter.required, choices=list(facts["type"].get("choices", ()))
        ),
        **({"default": default} if has_default else {}),
    }


def true_facts(**facts: Any) -> dict[str, Any]:
    return {name: value for name, value in facts.items() if value}


# --- MCP ------------------------------------------------------------------------------------------


async def describe_mcp(app: App) -> dict[str, Any]:
    """What the lists give a client, and which arguments each operation takes."""

    async def app_for(request: object) -> App:
        return app

    async with Client(server.make_server(app_for)) as client:
        tools = (await client.list_tools()).tools
        prompts = (await client.list_prompts()).prompts
        resources = (await client.list_resources()).resources
        templates = (await client.list_resource_templates()).resource_templates
    return {
        "tools": {tool.name: describe_listed(tool) for tool in tools},
        "operations": dict(describe_operations()),
        "prompts": {prompt.name: describe_listed(prompt) for prompt in prompts},
        "resources": {str(resource.uri): describe_listed(resource) for resource in resources},
        "templates": {template.uri_template: describe_listed(template) for template in templates},
    }


def describe_listed(listed: Any) -> Any:
    return without_wording(listed.model_dump(mode="json", by_alias=True, exclude_none=True))


def describe_operations() -> Iterator[tuple[str, dict[str, Any]]]:
    for room in server.ROOMS:
        for tool in importlib.import_module(f"holdfast.surfaces.mcp.{room}").TOOLS:
            for operation in tool.operations.values():
                needed, known = sorted(operation.needs), sorted(operation.known)
                yield f"{tool.name} {operation.name}", {"needs": needed, "takes": known}


# --- HTTP -----------------------------------------------------------------------------------------


def describe_http(app: App) -> dict[str, Any]:
    api: Any = make_http_app(app)
    document = api.app.openapi()
    paths = with_schemas(document["paths"], document["components"]["schemas"])
    return {
        "routes": dict.fromkeys(list_routes(api.app.routes), "offered"),
        "paths": without_wording({"paths": paths})["paths"],
        "security": document["components"]["securitySchemes"],
    }


def list_routes(routes: list[Any]) -> Iterator[str]:
    """Also those that the OpenAPI document leaves out: the console, the login, MCP."""
    for route in routes:
        inner = getattr(
            route, "original_router", None
        )  # FastAPI keeps an included router as one route
        if inner is not None:
            yield from list_routes(inner.routes)
            continue
        for method in sorted(getattr(route, "methods", None) or ["ANY"]):
            yield f"{method} {route.path}"


def with_schemas(node: Any, schemas: Mapping[str, Any]) -> Any:
    """References replaced by what they refer to: a schema's own name is a class of ours, and may
    change.
    """
    if isinstance(node, list):
        return [with_schemas(item, schemas) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        return with_schemas(schemas[node["$ref"].rpartition("/")[2]], schemas)
    return {key: with_schemas(value, schemas) for key, value in node.items()}


# --- errors and Python ----------------------------------------------------------------------------


def describe_errors() -> dict[str, Any]:
    """Every class of the tree, wherever in the package it is defined."""
    return {
        error.__name__: {
            "code": error.code,
            "exit_code": error.exit_code,
            "http_status": error.http_status,
        }
        for error in find_errors()
    }


def describe_python() -> dict[str, Any]:
    modules = (holdfast, importlib.import_module("holdfast.langgraph"))
    return {
        f"{module.__name__}.{name}": describe_object(getattr(module, name))
        for module in modules
        for name in module.__all__
    }


def describe_object(thing: Any) -> dict[str, Any]:
    """How it is called, and how the methods are that programs call; types may be renamed and are
    left out.
    """
    if not inspect.isclass(thing):
        return {"call": describe_signature(thing)}
    methods = {name: getattr(thing, name) for name in PUBLIC_METHODS if hasattr(thing, name)}
    return {
        "call": describe_signature(thing),
        "methods": {name: describe_signature(method) for name, method in methods.items()},
    }


def describe_signature(thing: Any) -> str:
    if isinstance(thing, property):
        return "property"
    signature = inspect.signature(thing)
    bare = [describe_bare(parameter) for parameter in signature.parameters.values()]
    return str(signature.replace(parameters=bare, return_annotation=inspect.Signature.empty))


def describe_bare(parameter: inspect.Parameter) -> inspect.Parameter:
    """Without its type; of a default that is an object of ours only that there is one."""
    has_plain_default = (
        isinstance(parameter.default, PLAIN_VALUES) or parameter.default is parameter.empty
    )
    default = parameter.default if has_plain_default else ...
    return parameter.replace(annotation=parameter.empty, default=default)


# --- wording --------------------------------------------------------------------------------------


def without_wording(node: Any, *, is_named: bool = False) -> Any:
    """Names, types and lists of a schema; `is_named` where the keys are the caller's and not the
    schema's.
    """
    if isinstance(node, list):
        return [without_wording(item) for item in node]
    if not isinstance(node, dict):
        return node
    kept = {key: value for key, value in node.items() if is_named or key not in WORDING}
    return {
        key: sorted(value, key=str)
        if key in UNORDERED and isinstance(value, list)
        else without_wording(value, is_named=key in NAMED and not is_named)
        for key, value in kept.items()
    }


# --- comparing ------------------------------------------------------------------------------------


def compare(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """One line for each fact that was added, removed or changed."""
    removed = [f"removed  {path} = {before[path]}" for path in before if path not in after]
    added = [f"added    {path} = {after[path]}" for path in after if path not in before]
    differing = [path for path in before if path in after and before[path] != after[path]]
    return [
        *removed,
        *added,
        *(f"changed  {path}: {before[path]} → {after[path]}" for path in differing),
    ]


def parse_facts(text: str) -> dict[str, str]:
    pairs = [line.partition(" = ") for line in text.splitlines()]
    return {path: value for path, _, value in pairs}


def flatten(node: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Each leaf by its path; an empty mapping is a leaf too."""
    if isinstance(node, dict) and node:
        for key, value in node.items():
            yield from flatten(value, f"{path} › {key}" if path else key)
    else:
        yield path, json.dumps(node, ensure_ascii=False, sort_keys=True)


if __name__ == "__main__":
    for path, value in sorted(flatten(describe_contract())):
        print(f"{path} = {value}")
