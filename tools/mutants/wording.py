"""What no test should notice, and is left alone: words for people, and what type checkers read."""

from __future__ import annotations

import ast

UNREAD_NAMES = {"TYPE_CHECKING", "__all__", "__slots__"}
UNREAD_KEYWORDS = {"description", "frozen", "help", "kw_only", "slots", "title"}
UNREAD_CALLS = {"NewType", "ParamSpec", "TypeVar", "dataclass"}
WORDING_CALLS = {"log", "warn"}
# Inside the words of an error these are data again: a program decides by them.
DATA_CALLS = {"Action"}
DATA_KEYWORDS = {"code"}


def is_unread(node: ast.AST) -> bool:
    """Whether nothing below this node can matter to a test."""
    match node:
        case ast.JoinedStr():
            # Nearly always a message, and the tree is wrong about places inside it.
            return True
        case ast.Expr(value=ast.Constant()):
            return True
        case ast.If(test=test):
            return last_name(test) == "TYPE_CHECKING"
        case ast.Assign(targets=[target]) | ast.AnnAssign(target=target):
            return last_name(target) in UNREAD_NAMES
        case ast.keyword(arg=name):
            return name in UNREAD_KEYWORDS
        case ast.Call(func=called):
            return last_name(called) in UNREAD_CALLS
        case ast.Subscript(value=value):
            return last_name(value) == "Literal"
    return False


def is_wording(node: ast.AST, *, is_inside: bool) -> bool:
    """Whether texts below this node are read by people only."""
    match node:
        case ast.Raise():
            return True
        case ast.Call(func=called):
            name = last_name(called)
            is_message = name in WORDING_CALLS or name.endswith(("Error", "Warning"))
            return (is_inside or is_message) and name not in DATA_CALLS
        case ast.keyword(arg=name):
            return is_inside and name not in DATA_KEYWORDS
    return is_inside


def annotations_of(node: ast.AST) -> list[ast.AST]:
    """The children of a node that only a type checker reads."""
    found = (getattr(node, "annotation", None), getattr(node, "returns", None))
    return [child for child in found if child is not None]


def last_name(node: ast.AST) -> str:
    """`InvalidValueError` of `errors.InvalidValueError`; empty for anything that has no name."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
