"""Paths as colleagues share them: relative to the repository, the same text on every machine."""

from __future__ import annotations

from holdfast.ground.patterns import compile_later
from holdfast.team.errors import InvalidFieldError, NotMetadataError
from holdfast.team.fields import check_name
from holdfast.team.metadata_rules import find_absolute_path
from holdfast.team.path_patterns import unescape_paths
from holdfast.team.plain import read_plain

PATH_CHARS = 500
MOST_STEPS = 100

_LINES = compile_later(r"([^#]+?):L?[0-9]+(?:[:-]L?[0-9]+)?")
_OF_A_MACHINE = compile_later(r"[/~$%]|[A-Za-z]:|file:")
_SCHEME = compile_later(r"(?i)(?:data|blob|javascript|mailto|about|urn):")
_DOTS = compile_later(r"(?i)%(?:25){0,3}2e")


def check_path(field: str, value: object, max_chars: int = PATH_CHARS) -> str:
    """The path without `./` before it and `/` behind it; a folder is a path as well."""
    text = check_name(field, value, max_chars)
    plain = _read_path(text)
    _check_relative(field, text, plain)
    _check_parts(field, _split_path(plain))
    return "/".join(_split_path(text))


def _split_path(text: str) -> list[str]:
    while text.startswith("./"):
        text = text[2:]
    return text.removesuffix("/").split("/")


def find_name_objection(name: str) -> str | None:
    """Why a path or a branch is not shown to others; what a hook may ask at an edit, too."""
    steps = name.split("/")
    if not name.isprintable() or len(name) > PATH_CHARS or len(steps) > MOST_STEPS:
        return "a name that cannot be shown"
    if name.startswith(("/", "~")) or any(step in ("", ".", "..") for step in steps):
        return "a path outside of the repository"
    from holdfast.ground.redaction import find_secrets

    return "a secret" if find_secrets(name) else None


def remove_lines(path: str) -> str:
    """`src/a.py:12` and `src/a.py:12-20` name a file, as programs print it and people paste it."""
    found = _LINES.fullmatch(path)
    return found[1] if found else path


def _check_relative(field: str, text: str, plain: str) -> None:
    if find_absolute_path(plain) or (_OF_A_MACHINE.match(plain) and not _is_name(plain)):
        raise NotMetadataError(field, "an absolute path")
    if "\\" in text or "\\" in plain:
        raise InvalidFieldError(field, "contains a backslash; write / between folders")
    if "://" in plain or _SCHEME.match(plain):
        raise InvalidFieldError(field, "is an address, not a path in the repository")


def _read_path(text: str) -> str:
    """As a reader, a browser or a file system may read it."""
    return _DOTS.sub(".", unescape_paths(read_plain(text)))


def _is_name(plain: str) -> bool:
    """`~draft.md`, `$types.ts` and `%x` are names, unless a folder is meant by them."""
    first, slash, _ = plain.partition("/")
    if plain[0] == "~":
        return not slash
    return plain[0] in "$%" and not (slash and first[1:].strip("{}%").isupper())


def _check_parts(field: str, parts: list[str]) -> None:
    if any(not part.strip() for part in parts):
        raise InvalidFieldError(field, "has an empty part; write one / between folders")
    if any(part in (".", "..") for part in parts):
        raise InvalidFieldError(
            field, "contains . or .. as a folder; write the path from the root of the repository"
        )
    # Also as file systems read it that ignore case, and spaces and dots at the end, or cut names.
    if any(part.casefold().rstrip(" .") in (".git", "git~1") for part in parts):
        raise InvalidFieldError(field, "lies in .git, which is not shared")
