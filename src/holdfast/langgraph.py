"""The LangGraph door, under the name that programs import it by."""

from holdfast.surfaces.langgraph.dispatch import prefix_instruction
from holdfast.surfaces.langgraph.nodes import ContextLoadNode, ContextWriteNode, ValidationNode
from holdfast.surfaces.langgraph.round import role_round
from holdfast.surfaces.langgraph.wiring import add_shared_context

__all__ = [
    "ContextLoadNode",
    "ContextWriteNode",
    "ValidationNode",
    "add_shared_context",
    "prefix_instruction",
    "role_round",
]
