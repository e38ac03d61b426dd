"""Canonical JSON: one text for one value, the same on every engine.

PostgreSQL's `jsonb` reorders keys, turns `1e2` into `100` and refuses NUL and lone surrogates;
SQLite keeps them all. So the value is normalised here, before any engine sees it: sorted keys, no
spaces, whole floats as integers, and a clear refusal of what one of the engines could not return.
"""

from __future__ import annotations

import sys

from holdfast.errors import InvalidValueError
from holdfast.ground import light_json as json

TYPE_CHECKING = False
if TYPE_CHECKING:  # `typing` costs a hook five milliseconds
    from collections.abc import Callable
    from typing import Any

# Kept: `json.dumps` makes one at each call, which takes as long as a small object.
_format = json.make_dumps(ensure_ascii=False, sort_keys=True, separators=(",", ":"))

MAX_DEPTH = 64
LARGEST_INTEGER = int(sys.float_info.max)  # Python itself stops parsing at 4,300 digits

if TYPE_CHECKING:
    from hashlib import _Hash
    from hashlib import sha256 as _own_sha256
else:
    try:  # CPython's own: `hashlib` would load OpenSSL, three milliseconds of a hook's time
        if sys.version_info >= (3, 12):
            from _sha2 import sha256 as _own_sha256
        else:
            from _sha256 import sha256 as _own_sha256
    except ImportError:  # another interpreter
        from hashlib import sha256 as _own_sha256


def check_text(field: str, text: object, *, max_bytes: int) -> str:
    """The text itself, or a refusal if one of the engines could not keep it."""
    if not isinstance(text, str):
        raise InvalidValueError(field, text, "is not a text")
    if _count_bytes(field, text) > max_bytes:
        raise InvalidValueError(field, text, f"is longer than {max_bytes:,} bytes")
    return text


def canonical_json(field: str, value: object, *, max_bytes: int) -> str:
    """The one text of a JSON value; refuses what is not JSON, too deep or too large."""
    text = format_json(_normalise(field, value, 1))
    is_too_long = len(text) > max_bytes or len(text.encode()) > max_bytes
    if is_too_long:
        raise InvalidValueError(field, text, f"is longer than {max_bytes:,} bytes as JSON")
    return text


def format_json(normalised: object) -> str:
    """The one text of a value that is known to be JSON."""
    return _format(normalised)


def check_json(field: str, value: object) -> None:
    """Refuse what cannot be written as JSON, without writing it."""
    _normalise(field, value, 1)


def canonical_object(field: str, value: object, *, max_bytes: int) -> str:
    if not isinstance(value, dict):
        raise InvalidValueError(field, value, "is not a JSON object")
    return canonical_json(field, value, max_bytes=max_bytes)


def parse_json(field: str, text: str) -> Any:
    """JSON from outside: every way to be wrong is the same clear refusal."""
    try:
        return json.loads(text)
    except RecursionError:
        raise InvalidValueError(field, text, f"is nested deeper than {MAX_DEPTH} levels") from None
    except json.JSONDecodeError as wrong:
        raise InvalidValueError(field, text, f"is not JSON ({wrong})") from None
    except ValueError:  # Python's own limit on digits, with advice for its programmers
        raise InvalidValueError(
            field, text, "holds a number of too many digits; keep it as a text"
        ) from None


def new_sha256(data: bytes = b"") -> _Hash:
    """By OpenSSL in a process that has loaded it: as fast for 64 bytes, five times as fast from
    16 KB on, where the processor has instructions for it.
    """
    make: Callable[[bytes], _Hash] = getattr(sys.modules.get("hashlib"), "sha256", _own_sha256)
    return make(data)


def sha256(*parts: bytes) -> bytes:
    """A hash over parts, each with its length, so that no two lists give the same bytes."""
    digest = new_sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8))
        digest.update(part)
    return digest.digest()


def _normalise(field: str, value: object, depth: int) -> object:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        _count_bytes(field, value)
        return value
    if isinstance(value, int | float):
        return _normalise_number(field, value)
    if depth > MAX_DEPTH:
        raise InvalidValueError(field, "…", f"is nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, dict):
        return {
            _normalise_key(field, key): _normalise(field, item, depth + 1)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [_normalise(field, item, depth + 1) for item in value]
    raise InvalidValueError(
        field, value, f"holds a {type(value).__name__}, which JSON does not have"
    )


def _normalise_key(field: str, key: object) -> object:
    if not isinstance(key, str):
        raise InvalidValueError(field, key, "is a key that is not a text")
    return _normalise(field, key, 1)


def _normalise_number(field: str, number: int | float) -> int | float:
    if isinstance(number, int):
        if abs(number) > LARGEST_INTEGER:
            raise InvalidValueError(field, "…", "is not a finite number")
        return number
    if number - number != 0:  # of infinity and of what is not a number
        raise InvalidValueError(field, str(number), "is not a finite number")
    if number.is_integer():
        return int(number)
    return number


def _count_bytes(field: str, text: str) -> int:
    """Its length in bytes; refuses what PostgreSQL could not keep, though SQLite would."""
    at = text.find("\x00")
    if at >= 0:
        raise InvalidValueError(field, text, f"contains a NUL character at character {at}")
    try:
        return len(text.encode())
    except UnicodeEncodeError as wrong:
        # How Python represents a byte of an argument or a file name that is not UTF-8.
        is_byte = "\udc80" <= text[wrong.start] <= "\udcff"
        problem = "is not UTF-8" if is_byte else "contains half of a surrogate pair"
        raise InvalidValueError(field, text, f"{problem} at character {wrong.start}") from None
