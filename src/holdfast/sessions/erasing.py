"""What is left of a session's own texts when a piece of text is forgotten.

Whatever holds it goes whole: a value, a key with its value, an item of a list. Half a sentence with
a hole in it would say something that was never said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from holdfast.ground import light_json as json
from holdfast.sessions.context_sets import APPLET

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def remove_from_object(value: Mapping[str, Any], text: str) -> dict[str, Any]:
    """An object without it; empty where the text runs over several values."""
    kept = _remove_from_pairs(value, text)
    written = json.dumps(kept, ensure_ascii=False, separators=(",", ":"))
    if _escape(text) in written:
        return {}
    return kept


def remove_from_sets(context: Mapping[str, Sequence[str]], text: str) -> dict[str, list[str]]:
    """Context sets without it; an applet without its name is none."""
    kept: dict[str, list[str]] = {}
    for name, items in context.items():
        others = [item for item in items if text not in item]
        is_nameless = name == APPLET and others[:1] != list(items[:1])
        if others and text not in name and not is_nameless:
            kept[name] = others
    return kept


def _remove_from_pairs(value: Mapping[str, Any], text: str) -> dict[str, Any]:
    others = {key: item for key, item in value.items() if text not in key}
    return {key: _remove(item, text) for key, item in others.items() if not _holds(item, text)}


def _remove(value: Any, text: str) -> Any:
    if isinstance(value, dict):
        return _remove_from_pairs(value, text)
    if isinstance(value, list):
        return [_remove(item, text) for item in value if not _holds(item, text)]
    return value


def _holds(value: Any, text: str) -> bool:
    """Of a single value: text, number, true, false."""
    if isinstance(value, dict | list):
        return False
    if isinstance(value, str):
        return text in value
    return text in json.dumps(value)


def _escape(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]
