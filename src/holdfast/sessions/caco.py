"""Session meta that another program has kept: `~/.caco/sessions/<id>/meta.json`.

Names, hints, times and context sets come in as sessions of their own, once each; a folder that cannot be read is
named and left alone.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from holdfast.errors import HoldfastError
from holdfast.ground import canonical, files
from holdfast.sessions import context_sets, rules
from holdfast.sessions.service import SessionService

CLIENT = "caco"
META_BYTES = 1 << 20


@dataclass(frozen=True)
class ImportReport:
    imported: int
    known: int
    problems: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        return {**self.__dict__, "problems": list(self.problems)}


async def import_caco(sessions: SessionService, folder: str) -> ImportReport:
    """Every folder with a `meta.json`, each under its own name as native id."""
    imported = known = 0
    problems = []
    taken = await _taken_ids(sessions)
    for native_id in _folders(folder):
        try:
            if native_id not in taken and await _import_one(
                sessions, native_id, os.path.join(folder, native_id, "meta.json")
            ):
                imported += 1
            else:
                known += 1
        except HoldfastError as error:
            problems.append(f"{native_id}: {error.message}")
    return ImportReport(imported, known, tuple(problems))


def _folders(folder: str) -> list[str]:
    return sorted(os.listdir(folder)) if os.path.isdir(folder) else []


async def _taken_ids(sessions: SessionService) -> set[str | None]:
    """What came in before: ended and forgotten sessions too, because an import must not bring those back."""
    return {one.native_id for one in await sessions.list_all_sessions() if one.client == CLIENT and one.revision > 1}


async def _import_one(sessions: SessionService, native_id: str, path: str) -> bool:
    data = files.find_bytes(path, max_bytes=META_BYTES)
    meta = canonical.parse_json("meta.json", (data or b"{}").decode("utf-8", "replace"))
    metadata = check_meta(meta)
    if not metadata:
        return False
    session = await sessions.create_session(CLIENT, CLIENT, client=CLIENT, native_id=native_id)
    await sessions.replace_metadata(session.id, metadata)
    return True


def check_meta(meta: object) -> dict[str, Any]:
    """The fields that we know, by our own rules; others are left out."""
    canonical.canonical_object("meta.json", meta, max_bytes=META_BYTES)
    assert isinstance(meta, dict)
    known = {field: meta[field] for field in rules.META_FIELDS if meta.get(field)}
    checked: dict[str, Any] = dict(rules.check_meta(known))
    if meta.get("context"):
        checked["context"] = context_sets.check_context(meta["context"])
    return checked
