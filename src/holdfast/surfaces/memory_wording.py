"""How checked notes of the clients' own memory are worded: one line on top, then each stale note
with what is wrong and what to do. The same for the command line and the console.
"""

from __future__ import annotations

import os
from typing import Any

from holdfast.clients.memory_files import MemoryFile
from holdfast.ground.fence import one_line
from holdfast.ground.frozen import asdict, dataclass
from holdfast.ground.text import plural
from holdfast.usecases.client_memory import MOST_NOTES, MemoryCheck
from holdfast.workstreams.note_judging import CheckedName, CheckedNote, MemoryCounts, list_stale

QUOTE_CHARS = 160
NAME_CHARS = 120
NOTHING_READ = "No client keeps a memory for this folder."


@dataclass(frozen=True)
class StaleNote:
    """A stale note as it is shown."""

    verdict: str
    place: str
    title: str
    quote: str
    problems: tuple[str, ...]
    advice: str


def describe_counts(counts: MemoryCounts) -> str:
    """ "41 notes name files, 9 gone, 3 symbols changed": what is not wrong is left out."""
    noun = "note names" if counts.naming_files == 1 else "notes name"
    parts = [f"{counts.naming_files:,} {noun} files", f"{counts.files_gone:,} gone"]
    if counts.files_moved:
        parts.append(f"{counts.files_moved:,} moved")
    parts.append(f"{plural(counts.symbols_changed, 'symbol')} changed")
    if counts.commands_gone:
        parts.append(f"{plural(counts.commands_gone, 'command')} gone")
    return ", ".join(parts)


def describe_extent(check: MemoryCheck) -> str:
    """What was looked at, and what could not be checked."""
    read = [file for file in check.files if not file.problem]
    looked_at = f"{plural(check.counts.notes, 'note')} in {plural(len(read), 'file')}"
    unchecked = plural(check.counts.unchecked, "name")
    return f"{looked_at}; {unchecked} could not be checked"


def list_shown(check: MemoryCheck, root: str) -> list[StaleNote]:
    return [show_note(note, root) for note in list_stale(check.notes)]


def show_note(note: CheckedNote, root: str) -> StaleNote:
    place = f"{shorten_file(note.file, root)}:{note.note.first}"
    return StaleNote(
        verdict=note.verdict,
        place=place,
        title=note.title,
        quote=one_line(note.note.text, QUOTE_CHARS),
        problems=tuple(map(_describe_name, note.stale_names)),
        advice=_advise(note),
    )


def _describe_name(name: CheckedName) -> str:
    return f"{one_line(name.text, NAME_CHARS)}: {one_line(name.why, NAME_CHARS)}"


def _advise(note: CheckedNote) -> str:
    moved = [name for name in note.stale_names if name.verdict == "moved" and name.now]
    if note.verdict == "moved" and moved:
        return f"Write {one_line(moved[0].now, NAME_CHARS)} there."
    if note.verdict == "changed":
        return "Read it again, and correct the note."
    return "Correct or remove the note."


def shorten_file(path: str, root: str) -> str:
    """From the top of the repository, or with `~` for the person's own folder."""
    for folder, sign in ((root, ""), (os.path.expanduser("~"), "~/")):
        inside = os.path.join(folder, "")
        if path.startswith(inside):
            return sign + path.removeprefix(inside)
    return path


def list_problems(check: MemoryCheck, root: str) -> list[str]:
    """The files that were not read, and why; and what was left out."""
    problems = [
        f"Not read: {shorten_file(file.path, root)} {file.problem}"
        for file in check.files
        if file.problem
    ]
    if not check.is_whole:
        problems.append(f"Only the first {MOST_NOTES:,} notes were looked at.")
    return problems


def check_to_dict(check: MemoryCheck) -> dict[str, Any]:
    return {
        "counts": asdict(check.counts),
        "stale": [_note_to_dict(note) for note in list_stale(check.notes)],
        "files": [_file_to_dict(file, check) for file in check.files],
        "is_whole": check.is_whole,
    }


def _note_to_dict(note: CheckedNote) -> dict[str, Any]:
    return {
        "file": note.file,
        "line": note.note.first,
        "last_line": note.note.last,
        "by": note.title,
        "text": one_line(note.note.text, QUOTE_CHARS),
        "verdict": note.verdict,
        "names": [
            {"kind": name.kind, "text": name.text, "verdict": name.verdict, "why": name.why,
             "now": name.now or None}
            for name in note.stale_names
        ],
        "advice": _advise(note),
    }  # fmt: skip


def _file_to_dict(file: MemoryFile, check: MemoryCheck) -> dict[str, Any]:
    return {
        "path": file.path,
        "by": file.title,
        "loaded_by": list(file.loaded_by),
        "notes": sum(note.file == file.path for note in check.notes),
        "problem": file.problem or None,
    }
