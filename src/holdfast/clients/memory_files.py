"""The clients' own memory: the files that each of them loads for a folder, read where they lie.

Each client lists its files (`clients.<client>.memory`); here they are read, within limits, and
never written. A file may be a link, as it is for the client, but not one that leads out of the
place where it belongs: a repository could name any file of the machine. What cannot be read is
named with the reason, and the others are still read.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence

from holdfast.clients import CLIENTS
from holdfast.errors import HoldfastError
from holdfast.ground import files
from holdfast.ground.frozen import dataclass, replace
from holdfast.ground.patterns import compile_later

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Protocol

    class MemoryLister(Protocol):
        """The module `holdfast.clients.<client>.memory`."""

        FOLLOWS_IMPORTS: bool  # a line `@path` in a file loads that file as well

        def list_memory(self, place: MemoryPlace) -> Iterator[MemorySource]:
            """The files that the client may load; many of them do not exist."""


MOST_FILES = 100
FILE_BYTES = 512 << 10
ALL_BYTES = 4 << 20
IMPORT_DEPTH = 5
IMPORTS_IN_A_FILE = 50
NAMES_IN_A_FOLDER = 1_000
TOO_LARGE = f"is larger than {FILE_BYTES >> 10} KiB"
OWN = "'s memory"  # how the title of such a file ends
NOT_A_TEXT = "is not a text"
LEADS_OUT = "leads out of {}"
TOO_MUCH = f"was left out: {MOST_FILES} files or {ALL_BYTES >> 20} MiB were read before it"

_IMPORT = compile_later(r"(?:^|(?<=\s))@([~./\w][^\s`'\")\],;]{0,300})")
_CODE = compile_later(r"`[^`\n]*`")


@dataclass(frozen=True)
class MemoryPlace:
    """Where a client is started, and whose client it is."""

    user_folder: str  # HOME
    environment: Mapping[str, str]  # a client may keep its files elsewhere
    folder: str
    worktree: str
    main_worktree: str  # to which a linked one belongs


@dataclass(frozen=True)
class MemorySource:
    """A file that a client loads if it exists, and the folder that it may not lead out of."""

    path: str
    title: str  # whose words they are: Claude's memory, AGENTS.md
    within: str


@dataclass(frozen=True)
class MemoryFile:
    """A file that was read; `problem` says why it was not."""

    path: str
    title: str
    loaded_by: tuple[str, ...]
    text: str = ""
    modified_at: float = 0.0
    problem: str = ""

    @property
    def is_own(self) -> bool:
        """What a client has noted by itself, and not what a person wrote for it."""
        return self.title.endswith(OWN)


def read_memory(place: MemoryPlace, clients: Sequence[str] = CLIENTS) -> list[MemoryFile]:
    """The files of these clients, each once, with those of them that load it."""
    reader = _Reader(place)
    for name in clients:
        lister = _find_lister(name)
        for source in lister.list_memory(place):
            reader.read(source, name, IMPORT_DEPTH if lister.FOLLOWS_IMPORTS else 0)
    return list(reader.found.values())


def list_paths(place: MemoryPlace, client: str) -> list[str]:
    """Where a client looks for its files, without what they import."""
    return [source.path for source in _find_lister(client).list_memory(place)]


def _find_lister(name: str) -> MemoryLister:
    module = f"holdfast.clients.{name}.memory"
    __import__(module)  # `importlib` would load more, for which a hook has no time
    lister: Any = sys.modules[module]
    found: MemoryLister = lister
    return found


class _Reader:
    def __init__(self, place: MemoryPlace) -> None:
        self.place = place
        self.found: dict[str, MemoryFile] = {}
        self.bytes_left = ALL_BYTES

    def read(self, source: MemorySource, client: str, depth: int) -> None:
        """A file and what it imports. Each is read once, so files that import each other end."""
        real = os.path.realpath(source.path)
        known = self.found.get(real)
        if known is None:
            known = self._read_new(source, real)
        if known is None or client in known.loaded_by:
            return
        self.found[real] = replace(known, loaded_by=(*known.loaded_by, client))
        if depth and known.text:
            for path in self._list_imports(known.text, os.path.dirname(real)):
                self.read(replace(source, path=path), client, depth - 1)

    def _read_new(self, source: MemorySource, real: str) -> MemoryFile | None:
        """None where there is no such file."""
        if not os.path.lexists(real):
            return None
        file = MemoryFile(source.path, source.title, ())
        if len(self.found) >= MOST_FILES or self.bytes_left <= 0:
            return replace(file, problem=TOO_MUCH) if len(self.found) < 2 * MOST_FILES else None
        within = os.path.realpath(source.within)
        if not real.startswith(os.path.join(within, "")):
            return replace(file, problem=LEADS_OUT.format(source.within))
        if os.path.isdir(real):
            return None
        return self._read_text(file, real)

    def _read_text(self, file: MemoryFile, real: str) -> MemoryFile:
        try:
            if os.stat(real).st_size > FILE_BYTES:
                return replace(file, problem=TOO_LARGE)
            data = files.read_bytes(real, max_bytes=FILE_BYTES)
            modified_at = os.stat(real).st_mtime
        except HoldfastError as error:
            return replace(file, problem=error.message)
        except OSError as error:
            return replace(file, problem=(error.strerror or "cannot be read").lower())
        self.bytes_left -= len(data)
        if b"\0" in data:
            return replace(file, problem=NOT_A_TEXT)
        text = data.decode("utf-8", "replace").removeprefix("\ufeff")
        return replace(file, text=text, modified_at=modified_at)

    def _list_imports(self, text: str, folder: str) -> list[str]:
        """Outside of code; what names no file is a name that begins with `@`."""
        paths: list[str] = []
        for named in _list_imported_names(text):
            path = named
            if path.startswith("~/"):
                path = os.path.join(self.place.user_folder, path[2:])
            path = os.path.join(folder, path)
            if len(paths) < IMPORTS_IN_A_FILE and os.path.isfile(path):
                paths.append(path)
        return paths


def _list_imported_names(text: str) -> Iterator[str]:
    if "@" not in text:  # a pattern costs a hook more than a look
        return
    is_code = False
    for line in text.splitlines():
        if line.lstrip().startswith(("```", "~~~")):
            is_code = not is_code
        elif not is_code and "@" in line:
            for found in _IMPORT.finditer(_CODE.sub("", line)):
                yield found[1].rstrip(".:")


# --- what several clients have in common ----------------------------------------------------------


def find_scope(folder: str, usual: str) -> str:
    """What a file of a folder may not lead out of: the usual place around it, else the folder."""
    return usual if os.path.join(folder, "").startswith(os.path.join(usual, "")) else folder


def list_folders_up(folder: str, top: str) -> list[str]:
    """From the top down to the folder, both included; the folder alone where it is elsewhere."""
    found = [folder]
    while folder != top and len(folder) > len(top):
        folder = os.path.dirname(folder)
        found.append(folder)
    return found[::-1] if folder == top else found[:1]


def list_notes_in(folder: str) -> list[str]:
    """The markdown files directly in a folder, the index first."""
    try:
        with os.scandir(folder) as entries:
            names = [
                entry.name for _, entry in zip(range(NAMES_IN_A_FOLDER), entries, strict=False)
            ]
    except OSError:
        return []
    notes = [name for name in names if name.endswith(".md")]
    notes.sort(key=lambda name: (name != "MEMORY.md", name))
    return [os.path.join(folder, name) for name in notes]


def find_json(path: str, word: str) -> dict[str, Any]:
    """A client's settings where they hold a word; empty where not, or where they are unreadable.

    Most do not have it, and are not parsed.
    """
    try:
        data = files.find_bytes(os.path.realpath(path), max_bytes=FILE_BYTES) or b""
        if word.encode() not in data:
            return {}
        from holdfast.clients.config_file import parse_json

        value = parse_json(data.decode())
    except (HoldfastError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
