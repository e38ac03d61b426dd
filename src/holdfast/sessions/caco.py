"""Session meta that another program has kept: `~/.caco/sessions/<id>/meta.json`.

Names, hints, times and context sets are imported as sessions of their own, once each. What cannot
be read is reported, and the rest is imported; only a store that cannot be reached stops an import.
"""

from __future__ import annotations

import os
from typing import Any

from holdfast.errors import Invalid, InvalidValueError, StoreUnreachableError, shown
from holdfast.ground import canonical, files
from holdfast.ground.frozen import dataclass
from holdfast.sessions import context_sets, rules
from holdfast.sessions.errors import ContextFullError
from holdfast.sessions.service import SessionService

CLIENT = "caco"
META = "meta.json"
META_BYTES = 1 << 20
FIELDS = (*rules.META_FIELDS, "context")
WRONG = (Invalid, ContextFullError)  # about what was found; every other error is about the store


@dataclass(frozen=True)
class SessionImportReport:
    imported: int
    known: int
    problems: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        return {**self.__dict__, "problems": list(self.problems)}


async def import_caco(sessions: SessionService, folder: str) -> SessionImportReport:
    """Every folder with a `meta.json`, each under its own name as native id."""
    imported = known = 0
    problems: list[str] = []
    imported_ids = await _list_imported_ids(sessions)
    for native_id in _list_folders(folder):
        if native_id in imported_ids:
            known += 1
            continue
        own_folder = os.path.join(folder, native_id)
        is_imported, wrong = await _import_folder(sessions, native_id, own_folder)
        rest = ""
        if is_imported:
            imported += 1
            rest = " The rest came in."
        name = _show_on_one_line(native_id)
        problems += [f"{name}: {problem}{rest}" for problem in wrong]
    return SessionImportReport(imported, known, tuple(problems))


def _list_folders(folder: str) -> list[str]:
    if not os.path.lexists(folder):
        return []
    if not os.path.isdir(folder):
        raise InvalidValueError("folder", folder, "is not a folder, so there is nothing to import")
    return sorted(os.listdir(folder))


def _show_on_one_line(name: str) -> str:
    """A folder may be called anything, and a problem is one line."""
    if name.isprintable():
        return name
    return shown(name)


async def _list_imported_ids(sessions: SessionService) -> set[str | None]:
    """Also of ended and forgotten sessions, because an import must not restore those."""
    known = await sessions.list_all_sessions()
    ours = [session for session in known if session.client == CLIENT]
    return {session.native_id for session in ours if session.revision > 1}


async def _import_folder(
    sessions: SessionService, native_id: str, folder: str
) -> tuple[bool, list[str]]:
    """Whether it was imported, and what was wrong; a folder with nothing to keep is read again by
    the next import.
    """
    try:
        metadata, wrong = check_meta(_read_meta(folder))
        if metadata:
            session = await sessions.create_session(
                CLIENT, CLIENT, client=CLIENT, native_id=native_id
            )
            await sessions.replace_metadata(session.id, metadata)
    except WRONG as error:
        return False, [error.message]
    return bool(metadata), wrong


def _read_meta(folder: str) -> Any:
    name = os.path.basename(folder)
    if not os.path.isdir(folder):
        raise InvalidValueError("file", name, "is not a session's folder; it was left as it is")
    try:
        data = files.find_bytes(os.path.join(folder, META), max_bytes=META_BYTES)
    except StoreUnreachableError as error:
        # Its own message would name the store, and advise about that.
        raise InvalidValueError("file", META, f"cannot be read: {error.cause}") from None
    if data is None:
        raise InvalidValueError("folder", name, f"holds no {META}, so there is nothing to import")
    try:
        return canonical.parse_json(META, data.decode())
    except UnicodeDecodeError as error:
        raise InvalidValueError("file", META, f"is not UTF-8 at byte {error.start}") from None


def check_meta(meta: object) -> tuple[dict[str, Any], list[str]]:
    """The fields that we know and that keep our own rules, and what is wrong with the others."""
    if not isinstance(meta, dict):
        raise InvalidValueError(META, meta, "is not a JSON object")
    checked: dict[str, Any] = {}
    wrong: list[str] = []
    for field in FIELDS:
        value = meta.get(field)
        if value in (None, "", {}):
            continue
        try:
            kept = _check_field(field, value)
        except WRONG as error:
            wrong.append(error.message)
        else:
            if kept:
                checked[field] = kept
    if not checked and not wrong:
        raise InvalidValueError(META, sorted(meta), "has nothing to import", known=FIELDS)
    return checked, wrong


def _check_field(field: str, value: object) -> Any:
    if field == "context":
        return context_sets.check_context(value)
    return rules.check_meta({field: value})[field]
