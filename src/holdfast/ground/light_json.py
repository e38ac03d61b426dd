"""`json` without its patterns.

The standard module compiles six of them for what its own C part does, and loads `re` to do so: that
was a fifth of the time of a hook at a prompt. Here the C part is called. What it refuses is left to
the standard module, and so are options that are rare: results and errors are the same.

To a type checker these names are those of the standard library.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from json import JSONDecodeError, JSONDecoder, dumps, loads
    from typing import Any

    _c: Any
else:
    try:
        import _json as _c
    except ImportError:  # another interpreter: the standard module does everything
        _c = None

__all__ = ["JSONDecodeError", "JSONDecoder", "dumps", "loads", "make_dumps"]

_BLANKS = " \t\n\r"


class _Reading:
    """What a scanner asks of its decoder."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float = parse_constant = float

    def __init__(self, parse_int: Callable[[str], Any]):
        self.parse_int = parse_int


def _loads(text: Any, *, parse_int: Callable[[str], Any] = int, **rare: Any) -> Any:
    if rare:
        return _get_standard().loads(text, parse_int=parse_int, **rare)
    try:
        stripped = (text if isinstance(text, str) else text.decode()).strip(_BLANKS)
        value, end = _c.make_scanner(_Reading(parse_int))(stripped, 0)
        if end == len(stripped):
            return value
    except Exception:  # the standard module says what is wrong
        pass
    return _get_standard().loads(text, parse_int=parse_int)


def _dumps(value: Any, **options: Any) -> str:
    try:
        return make_dumps(**options)(value)
    except Exception:  # it is not JSON, or the option is a rare one
        return str(_get_standard().dumps(value, **options))


def make_dumps(
    *,
    ensure_ascii: bool = True,
    sort_keys: bool = False,
    separators: tuple[str, str] = (", ", ": "),
) -> Callable[[object], str]:
    """`dumps` with its options, for values that are known to be JSON."""
    comma, colon = separators
    try:
        quote = _c.encode_basestring_ascii if ensure_ascii else _c.encode_basestring
        encode = _c.make_encoder(None, _refuse, quote, None, colon, comma, sort_keys, False, True)
    except (
        AttributeError,
        TypeError,
    ):  # another interpreter, or a later one that calls it otherwise
        standard = _get_standard().JSONEncoder(
            ensure_ascii=ensure_ascii, sort_keys=sort_keys, separators=separators
        )
        return standard.encode  # type: ignore[no-any-return]
    return lambda value: "".join(encode(value, 0))


def _refuse(value: object) -> Any:
    raise TypeError(f"{type(value).__name__} is not JSON")


def _get_standard() -> Any:
    import json

    return json


def __getattr__(name: str) -> Any:
    return getattr(_get_standard(), name)


if not TYPE_CHECKING:
    dumps, loads = _dumps, _loads
