"""Whether what a client's own note names is still in this repository. Pure.

The verdicts are those of claims. `gone` needs that the repository had the thing: a path that git
never knew may be an example, and a name that was never defined here may be a library's. What is not
known stays unchecked, and is counted. A note that itself speaks of a removal is not wrong about it.
Places with lines or a symbol in a file are judged as evidence is; see `note_facts`.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from holdfast.ground.frozen import dataclass, field
from holdfast.ground.git_past import PastFile, TrackedFiles
from holdfast.ground.patterns import compile_later
from holdfast.ground.removal import speaks_of_removal
from holdfast.workstreams.evidence import NO_SYMBOL, SYMBOL_EDITED, EvidenceJudgement
from holdfast.workstreams.note_text import COMMAND, PATH, PLACE, SYMBOL, ClientNote, NamedThing

WORST_FIRST = ("gone", "changed", "moved", "ok", "said")
STALE = WORST_FIRST[:3]
COMMIT_CHARS = 7
OWN_FOLDER = "memory"  # of a client for one repository; other files outside of it are for all
UNCOMMITTED = "deleted here, not committed yet"

_PARTS = compile_later(r"\.|::|#")
_SCRIPT_RUNNERS = ("npm", "pnpm", "yarn")


@dataclass(frozen=True)
class CommandFacts:
    """What commands can be run here; None where that cannot be known."""

    targets: frozenset[str] | None = None
    scripts: frozenset[str] | None = None


@dataclass(frozen=True)
class RepositoryFacts:
    """What is known about the things that notes name."""

    tree: TreeNames
    past: Mapping[str, PastFile] = field(default_factory=dict)
    built: frozenset[str] = frozenset()  # missing, and ignored by git or made by a Makefile
    known_words: frozenset[str] = frozenset()  # in a file now
    # Defined in a file earlier, with its path, and in none now.
    lost_words: Mapping[str, str] = field(default_factory=dict)
    places: Mapping[tuple[str, str], EvidenceJudgement] = field(default_factory=dict)
    commands: CommandFacts = CommandFacts()


@dataclass(frozen=True)
class CheckedName:
    """`verdict` is `said` where it could not be checked; `now` is where it is today."""

    kind: str
    text: str
    verdict: str
    why: str = ""
    now: str = ""
    paths: tuple[str, ...] = ()  # from the top of the repository


@dataclass(frozen=True)
class CheckedNote:
    """A note of a file, with the worst verdict of what it names."""

    file: str
    title: str
    written_at: float  # the file, so the note at the latest
    note: ClientNote
    names: tuple[CheckedName, ...]

    @property
    def verdict(self) -> str:
        verdicts = {name.verdict for name in self.names}
        return next((verdict for verdict in WORST_FIRST if verdict in verdicts), "said")

    @property
    def is_stale(self) -> bool:
        return self.verdict in STALE

    @property
    def stale_names(self) -> list[CheckedName]:
        stale = [name for name in self.names if name.verdict in STALE]
        return sorted(stale, key=lambda name: WORST_FIRST.index(name.verdict))


class TreeNames:
    """The files and folders of a checkout, found by their whole path or by its end."""

    def __init__(
        self,
        root: str,
        tracked: TrackedFiles,
        untracked: Iterable[str] = (),
        without: Collection[str] = (),
    ):
        """`without`: files that count as missing if git does not know them: made a moment ago."""
        self.root, self.tracked = root, tracked
        self.without = frozenset(without) - tracked.paths
        self.files = {*tracked.paths, *untracked} - self.without
        self.folders: set[str] = set(tracked.submodules)
        self._by_name: dict[str, list[str]] = {}
        for path in self.files:
            folder = os.path.dirname(path)
            while folder and folder not in self.folders:
                self.folders.add(folder)
                folder = os.path.dirname(folder)
        for path in (*self.files, *self.folders):
            self._by_name.setdefault(os.path.basename(path), []).append(path)

    def locate(self, text: str, folder: str | None) -> list[str]:
        """The paths from the top that a note in a folder may mean; none of another place."""
        text = text.rstrip("/")
        if text.startswith("~"):
            text = os.path.expanduser(text)
        bases = [self.root] if os.path.isabs(text) or folder is None else [self.root, folder]
        found = []
        for base in bases:
            path = os.path.normpath(os.path.join(base, text))
            if path.startswith(os.path.join(self.root, "")):
                found.append(os.path.relpath(path, self.root))
        return list(dict.fromkeys(found))

    def find(self, path: str) -> str | None:
        """The path itself, or the one that ends so; a deleted file of the index is not there."""
        if path in self.tracked.left_out or path in self.folders:
            return path
        if path not in self.without and os.path.lexists(os.path.join(self.root, path)):
            return path
        if path in self.files:
            return None
        ending = f"/{path}"
        for known in self._by_name.get(os.path.basename(path), ()):
            if known.endswith(ending) and os.path.lexists(os.path.join(self.root, known)):
                return known
        return None

    def is_elsewhere(self, path: str) -> bool:
        """In a submodule, whose files are not listed here."""
        return any(path.startswith(f"{outer}/") for outer in self.tracked.submodules)


def split_symbol(text: str) -> list[str]:
    return [part for part in _PARTS.split(text) if part]


# --- judging --------------------------------------------------------------------------------------


def judge_note(
    note: ClientNote,
    names: Sequence[NamedThing],
    facts: RepositoryFacts,
    *,
    file: str,
    title: str,
    written_at: float,
) -> CheckedNote:
    folder = _find_folder(file, facts.tree.root)
    judged: list[CheckedName] = []
    for name in names:
        checked = _judge_name(name, facts, file, folder)
        if checked and not _is_judged(checked, judged):
            judged.append(checked)
    if speaks_of_removal(note.words):
        judged = [_excuse(name) for name in judged]
    return CheckedNote(file, title, written_at, note, tuple(judged))


def _find_folder(file: str, root: str) -> str | None:
    folder = os.path.dirname(file)
    return folder if os.path.join(folder, "").startswith(os.path.join(root, "")) else None


def _excuse(name: CheckedName) -> CheckedName:
    if name.verdict not in ("gone", "moved"):
        return name
    return CheckedName(name.kind, name.text, "said", "the note speaks of a change", name.now)


def _is_judged(name: CheckedName, before: Iterable[CheckedName]) -> bool:
    """What is a file is not a symbol as well."""
    return any(other.text == name.text and other.verdict != "said" for other in before)


def _judge_name(
    name: NamedThing, facts: RepositoryFacts, file: str, folder: str | None
) -> CheckedName | None:
    """None for a candidate that turns out to be nothing of this repository."""
    if name.kind == PATH:
        return _judge_path(name, facts, folder)
    if name.kind == SYMBOL:
        return _judge_symbol(name, facts)
    if name.kind == COMMAND:
        judged = _judge_command(name, facts.commands, facts.tree)
        is_for_all = folder is None and OWN_FOLDER not in os.path.dirname(file)
        if judged and judged.verdict == "gone" and is_for_all:
            return CheckedName(COMMAND, name.text, "said", "its file is for every repository")
        return judged
    return _judge_place(name, facts.places.get((file, name.text)))


def _judge_path(name: NamedThing, facts: RepositoryFacts, folder: str | None) -> CheckedName | None:
    located = facts.tree.locate(name.text, folder)
    for path in located:
        found = facts.tree.find(path)
        if found:
            return CheckedName(PATH, name.text, "ok", paths=(found,))
    if not facts.built.isdisjoint(located):
        return CheckedName(PATH, name.text, "said", "a build makes it, or git ignores it")
    for path in located:
        past = facts.past.get(path)
        if past and not facts.tree.is_elsewhere(path):
            return _describe_past(name.text, path, past)
    if not name.is_sure or not located:
        return None
    return CheckedName(PATH, name.text, "said", "git does not know it")


def _describe_past(text: str, path: str, past: PastFile) -> CheckedName:
    if past.moved_to:
        why = f"renamed to {past.moved_to}"
        return CheckedName(PATH, text, "moved", why, past.moved_to, (path, past.moved_to))
    why = f"deleted in {past.commit[:COMMIT_CHARS]}" if past.commit else UNCOMMITTED
    return CheckedName(PATH, text, "gone", why, paths=(path,))


def _judge_symbol(name: NamedThing, facts: RepositoryFacts) -> CheckedName:
    parts = split_symbol(name.text)
    lost = [part for part in parts if part in facts.lost_words]
    if lost:
        why, was_in = f"{lost[-1]} is in no file any more", facts.lost_words[lost[-1]]
        return CheckedName(SYMBOL, name.text, "gone", why, paths=(was_in,))
    if all(part in facts.known_words for part in parts):
        return CheckedName(SYMBOL, name.text, "ok")
    return CheckedName(SYMBOL, name.text, "said", "it was not found in earlier files either")


def _judge_place(name: NamedThing, judged: EvidenceJudgement | None) -> CheckedName | None:
    """The file of the place is judged as a path; here what stood in it."""
    if judged is None or (judged.verdict == "gone" and "file" in judged.why):
        return None
    path, _, _ = name.text.rpartition("#" if "#" in name.text else ":")
    now = f"{path}:{judged.lines_now}" if judged.verdict == "moved" else ""
    why = judged.why or (f"now at {judged.lines_now}" if now else "")
    return CheckedName(PLACE, name.text, judged.verdict, why, now, (path,))


def _judge_command(name: NamedThing, commands: CommandFacts, tree: TreeNames) -> CheckedName | None:
    """Of make and of the scripts of a package; None for any other program."""
    words = name.text.split()
    if words[0] == "make" and len(words) > 1:
        return _judge_make(name.text, words[1:], commands.targets, tree)
    script = _find_script(words)
    if script is None:
        return None
    if commands.scripts is None:
        return CheckedName(COMMAND, name.text, "said", "no package.json here can be read")
    if script in commands.scripts:
        return CheckedName(COMMAND, name.text, "ok")
    return CheckedName(COMMAND, name.text, "gone", f"no package.json here has the script {script}")


def _judge_make(
    text: str, words: Sequence[str], targets: frozenset[str] | None, tree: TreeNames
) -> CheckedName:
    goals = [word for word in words if "=" not in word]
    is_plain = all(re.fullmatch(r"[\w-]+", goal) for goal in goals) and goals
    if targets is None or not is_plain or any(goal.startswith("-") for goal in goals):
        return CheckedName(COMMAND, text, "said", "its targets cannot be listed")
    lost = [goal for goal in goals if goal not in targets and tree.find(goal) is None]
    if not lost:
        return CheckedName(COMMAND, text, "ok")
    return CheckedName(COMMAND, text, "gone", f"no Makefile here has the target {lost[0]}")


def _find_script(words: Sequence[str]) -> str | None:
    """Where an option stands before it, it may name another package."""
    if words[0] not in _SCRIPT_RUNNERS or len(words) < 2:
        return None
    if words[:2] == ["npm", "test"]:
        return "test"
    is_run = len(words) > 2 and words[1] in ("run", "run-script")
    if not is_run or not re.fullmatch(r"[\w:.@/-]+", words[2]) or words[2].startswith("-"):
        return None
    if any(word.startswith(("-w", "--workspace", "--prefix", "-C", "--filter")) for word in words):
        return None
    return words[2]


# --- the result -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class MemoryCounts:
    """What the line on top says."""

    notes: int
    naming_files: int
    files_gone: int
    files_moved: int
    symbols_changed: int
    commands_gone: int
    unchecked: int  # names


def count_notes(notes: Sequence[CheckedNote]) -> MemoryCounts:
    """Notes by what is wrong with their files; symbols, commands and the rest one by one."""
    by_note: Counter[str] = Counter()
    by_name: Counter[tuple[str, str]] = Counter()
    for note in notes:
        on_files = {name.verdict for name in note.names if name.kind == PATH}
        by_note.update(on_files)
        by_note["naming"] += bool(on_files - {"said"})
        by_name.update((name.kind, name.verdict) for name in note.names)
    symbols = [
        by_name[kind, verdict] for kind in (SYMBOL, PLACE) for verdict in ("changed", "gone")
    ]
    unchecked = [count for (_, verdict), count in by_name.items() if verdict == "said"]
    return MemoryCounts(
        notes=len(notes),
        naming_files=by_note["naming"],
        files_gone=by_note["gone"],
        files_moved=by_note["moved"],
        symbols_changed=sum(symbols),
        commands_gone=by_name[COMMAND, "gone"],
        unchecked=sum(unchecked),
    )


def list_stale(notes: Iterable[CheckedNote]) -> list[CheckedNote]:
    """The worst first, then in the order of the files."""
    stale = [note for note in notes if note.is_stale]
    return sorted(stale, key=lambda note: WORST_FIRST.index(note.verdict))


def list_told_names(note: CheckedNote) -> list[CheckedName]:
    """The stale names that an edit can concern, and of which the judgement is sure.

    Not commands, which are in no file of their own, and not lines: numbers change with every edit.
    """
    return [name for name in note.stale_names if name.kind in (PATH, SYMBOL) or _is_sure(name)]


def _is_sure(name: CheckedName) -> bool:
    return name.kind == PLACE and name.why in (NO_SYMBOL, SYMBOL_EDITED)
