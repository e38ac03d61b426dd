"""The LangGraph door, under the name that programs import it by.

`prefix_instruction` is for programs that start agents themselves, with or without LangGraph, so
names are loaded when they are asked for.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.surfaces.langgraph.dispatch import prefix_instruction
    from holdfast.surfaces.langgraph.nodes import ContextLoadNode, ContextWriteNode, ValidationNode
    from holdfast.surfaces.langgraph.round import role_round
    from holdfast.surfaces.langgraph.wiring import add_shared_context

_HOMES = {
    "ContextLoadNode": "nodes",
    "ContextWriteNode": "nodes",
    "ValidationNode": "nodes",
    "add_shared_context": "wiring",
    "prefix_instruction": "dispatch",
    "role_round": "round",
}

__all__ = [
    "ContextLoadNode",
    "ContextWriteNode",
    "ValidationNode",
    "add_shared_context",
    "prefix_instruction",
    "role_round",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'holdfast.langgraph' has no attribute {name!r}")
    from importlib import import_module

    if name != "prefix_instruction":
        _check_langgraph()
    return getattr(import_module(f"holdfast.surfaces.langgraph.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])


def _check_langgraph() -> None:
    from importlib.util import find_spec

    from holdfast.errors import ExtraMissingError

    try:
        # Not its parent: other packages have a part of that folder.
        found = find_spec("langgraph.graph")
    except ImportError:
        found = None
    if found is None:
        raise ExtraMissingError("holdfast.langgraph", "langgraph") from None
