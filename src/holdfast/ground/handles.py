"""One handle for a person, however it is typed.

`Ana`, `ANA` and full-width letters are the same handle, and a letter of another script that only
looks like one of it is refused. It is folded here and stored so: SQLite folds ASCII only, and what
PostgreSQL folds depends on its locale.
"""

from __future__ import annotations

from holdfast.errors import InvalidValueError
from holdfast.ground import ids
from holdfast.ground.settings import HANDLE_CHARS, is_plain

MOST_TYPED_CHARS = 1000


def fold_handle(text: object, *, field: str = "handle") -> str:
    """The handle, or a refusal of what could be confused with another."""
    problem = f"is not a handle; use 1 to {HANDLE_CHARS} of a-z, 0-9, dot, dash, underscore"
    if not isinstance(text, str) or len(text) > MOST_TYPED_CHARS:
        raise InvalidValueError(field, text, problem)
    handle = _fold(text)
    if not is_plain(handle, HANDLE_CHARS):
        raise InvalidValueError(field, text, problem)
    return handle


def parse_developer(text: object, *, field: str = "developer") -> str:
    """What a developer is looked up by: an id in its canonical form, or else a handle."""
    return ids.parse_id(text) or fold_handle(text, field=field)


def _fold(text: str) -> str:
    if not text.isascii():
        import unicodedata  # a hook whose handle is plain does not load it

        text = unicodedata.normalize("NFKC", text)
    return text.casefold().strip(" ")
