"""What an edit of any client changes: files with their old and their new text.

The four programs give their tools different names and nearly the same fields. Of a text that is
very long only the beginning is looked at. What cannot be read as an edit is none.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    RawEdit = tuple[str, str | None, str]  # path, old text or None where it is the whole file, new

TEXT_CHARS = 200_000
PATCH_CHARS = 400_000
FILES = 50
PARTS = 100  # of one tool call that has several edits
PATHS = ("file_path", "filePath", "notebook_path", "path")
OLD, NEW = ("old_string", "oldString"), ("new_string", "newString", "new_source")
WHOLE = ("content",)
PATCHES = ("command", "patchText", "patch", "input")
BEGIN = "*** Begin Patch"
FILE = ("*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ")


def list_edits(payload: Mapping[str, Any]) -> list[RawEdit]:
    """Of the hook of one tool call."""
    given = payload.get("tool_input")
    if not isinstance(given, dict):
        return []
    patch = _find_text(given, PATCHES, PATCH_CHARS)
    if patch is not None and patch.lstrip().startswith(BEGIN):
        return list(_read_patch(patch))[:FILES]
    path = _find_text(given, PATHS, 4096)
    if not path:
        return []
    return list(_read_fields(path, given, payload))[:PARTS]


def _read_fields(
    path: str, given: Mapping[str, Any], payload: Mapping[str, Any]
) -> Iterator[RawEdit]:
    whole = _find_text(given, WHOLE, TEXT_CHARS)
    if whole is not None:
        yield path, _find_original(payload), whole
    new = _find_text(given, NEW, TEXT_CHARS)
    if new is not None:
        yield path, _find_text(given, OLD, TEXT_CHARS) or "", new
    several = given.get("edits")
    for part in several[:PARTS] if isinstance(several, list) else ():
        if isinstance(part, dict):
            yield from _read_fields(path, {**part, "edits": None}, {})


def _find_original(payload: Mapping[str, Any]) -> str | None:
    """What a whole file was before, where a hook says so that may come after the edit."""
    told = _find_text(payload, ("original_content",), TEXT_CHARS)
    if told is not None:
        return told
    response = payload.get("tool_response")
    display = response.get("returnDisplay") if isinstance(response, dict) else None
    if not isinstance(display, dict):
        return None
    return _find_text(display, ("originalContent",), TEXT_CHARS)


def _find_text(given: Mapping[str, Any], names: tuple[str, ...], most: int) -> str | None:
    for name in names:
        value = given.get(name)
        if isinstance(value, str):
            return value[:most]
    return None


def _read_patch(patch: str) -> Iterator[RawEdit]:
    """Its files, each with the lines around a change as well: they say what is a comment. One that
    is deleted, or moved to another place, has none.
    """
    path, old, new = "", [], []  # type: str, list[str], list[str]
    for line in patch.split("\n"):
        if line.startswith(FILE):
            if path:
                yield path, "\n".join(old), "\n".join(new)
                old, new = [], []
            path = line.partition(": ")[2].strip()
        elif line.startswith("*** "):
            continue
        elif line.startswith("+"):
            new.append(line[1:])
        elif line.startswith("-"):
            old.append(line[1:])
        elif not line.startswith("@@"):
            old.append(line[1:])
            new.append(line[1:])
    if path:
        yield path, "\n".join(old), "\n".join(new)
