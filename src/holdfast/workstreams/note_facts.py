"""What a repository says about the things that clients' notes name: one look for all notes.

The number of git processes does not depend on the notes, and every file is read at most once: what
is looked for is a set. Whether a symbol is in any file is known only if all files could be looked
at; where one could not be (a submodule, a sparse tree, more than the limit), none counts as lost.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from holdfast.errors import HoldfastError
from holdfast.ground import git_past
from holdfast.ground import light_json as json
from holdfast.ground.confined import ConfinedRoot
from holdfast.ground.errors import FileMissingError, PathOutsideError
from holdfast.ground.frozen import dataclass
from holdfast.ground.git_past import PastCommits
from holdfast.ground.git_repository import Repository
from holdfast.ground.patterns import compile_later
from holdfast.workstreams import evidence, file_text
from holdfast.workstreams.effort import Effort, EffortSpent
from holdfast.workstreams.errors import EvidenceNotThereError
from holdfast.workstreams.evidence import EvidenceJudgement
from holdfast.workstreams.file_text import FileText
from holdfast.workstreams.note_judging import (
    CommandFacts,
    RepositoryFacts,
    TreeNames,
    split_symbol,
)
from holdfast.workstreams.note_text import COMMAND, PATH, PLACE, SYMBOL, NamedThing

FILE_BYTES = 8 << 20
FEW_WORDS = 16  # are looked for one by one
MOST_BASELINES = 6
EARLIER_DAYS = (7, 30, 90, 365)
DAY_SECONDS = 86_400
MOST_LOST = 300  # words whose past is looked up
MOST_PLACES = 300
OLD_BYTES = 32 << 20
MAKEFILES = ("Makefile", "makefile", "GNUmakefile")
MOST_BUILD_FILES = 200

_WORD = compile_later(rb"[A-Za-z_\x80-\xff][\w\x80-\xff]*")
_TARGETS = compile_later(r"^([^\s#:=][^:=#]*)::?(?![:=])", re.MULTILINE)
_OPEN_MAKE = compile_later(
    r"^\s*(?:-?include|sinclude)\b|^\.DEFAULT\s*:|^[^\s#:=]*%[^:=#]*:|\$\(eval", re.MULTILINE
)
_KEYWORDS = (
    "def|class|function|func|fn|struct|enum|interface|trait|type|const|let|var|val|static|module|"
    "namespace|record|object|define|sub|proc|macro_rules!|table|message|service|rpc"
)


@dataclass(frozen=True)
class NamedIn:
    """What one file of a client's memory names."""

    file: str
    written_at: float
    names: tuple[NamedThing, ...]

    def list_texts(self, kind: str) -> Iterator[str]:
        return (name.text for name in self.names if name.kind == kind)


def gather_facts(
    repository: Repository, named: Sequence[NamedIn], without: Collection[str] = ()
) -> RepositoryFacts:
    """`without`: files that count as missing."""
    tracked = git_past.list_tracked(repository)
    untracked = git_past.list_untracked(repository)
    tree = TreeNames(repository.root, tracked, untracked, without)
    baselines = _Baselines(repository, named)
    known, lost = _look_for_symbols(repository, tree, named, baselines)
    past = git_past.find_past(repository, _list_missing(tree, named))
    return RepositoryFacts(
        tree=tree,
        past=past,
        built=_find_built(repository, tree, list(past)),
        known_words=known,
        lost_words=lost,
        places=_judge_places(repository, tree, named, baselines),
        commands=_list_commands(repository, tree, named),
    )


def _list_missing(tree: TreeNames, named: Iterable[NamedIn]) -> list[str]:
    """Those that were written as names first: there is a limit."""
    missing: dict[str, bool] = {}
    for source in named:
        folder = os.path.dirname(source.file)
        inside = os.path.join(folder, "").startswith(os.path.join(tree.root, ""))
        for name in source.names:
            if name.kind != PATH:
                continue
            located = tree.locate(name.text, folder if inside else None)
            if located and not any(map(tree.find, located)):
                for path in located:
                    missing[path] = missing.get(path, False) or name.is_sure
    return sorted(missing, key=lambda path: not missing[path])


def _find_built(repository: Repository, tree: TreeNames, paths: Sequence[str]) -> frozenset[str]:
    """Of missing files those that a build may make again."""
    ignored = git_past.find_ignored(repository, paths)
    if len(ignored) == len(paths):
        return ignored
    makefiles = _read_all(ConfinedRoot(repository.root), tree, MAKEFILES) or {}
    made = {
        os.path.normpath(os.path.join(os.path.dirname(path), name))
        for path, text in makefiles.items()
        for name in _list_names(text)
    }
    return ignored | made.intersection(paths)


# --- earlier states -------------------------------------------------------------------------------


class _Baselines:
    """Commits at which notes were written: when their file was changed last, or each time where it
    is tracked. Its lines may be older than that, so some earlier commits are looked at as well.
    """

    def __init__(self, repository: Repository, named: Sequence[NamedIn]):
        self.repository, self.named = repository, named
        self._by_file: dict[str, list[str]] | None = None

    @cached_property
    def _commits(self) -> PastCommits:
        return PastCommits(self.repository)

    def find(self, file: str) -> str | None:
        """The newest one of a file."""
        return next(iter(self._load().get(file, ())), None)

    def list_all(self) -> list[str]:
        """A few of them, and what was checked out at some earlier times."""
        found = list(dict.fromkeys(c for commits in self._load().values() for c in commits))
        if len(found) > MOST_BASELINES:
            step = (len(found) - 1) / (MOST_BASELINES - 1)
            found = [found[round(number * step)] for number in range(MOST_BASELINES)]
        return list(dict.fromkeys([*found, *self._list_earlier()]))

    def _list_earlier(self) -> list[str]:
        newest = max(self._commits.moments, default=0)
        earlier = [self._commits.find_at(newest - days * DAY_SECONDS) for days in EARLIER_DAYS]
        return [commit for commit in earlier if commit]

    def _load(self) -> dict[str, list[str]]:
        if self._by_file is None:
            root = os.path.join(self.repository.root, "")
            inside = {
                source.file: os.path.realpath(source.file).removeprefix(root)
                for source in self.named
                if os.path.realpath(source.file).startswith(root)
            }
            changes = git_past.list_changes_of(self.repository, list(inside.values()))
            self._by_file = {}
            for source in self.named:
                of_file = changes.get(inside.get(source.file, ""), [])
                at = self._commits.find_at(source.written_at)
                self._by_file[source.file] = of_file or ([at] if at else [])
        return self._by_file


# --- symbols --------------------------------------------------------------------------------------


def _look_for_symbols(
    repository: Repository, tree: TreeNames, named: Sequence[NamedIn], baselines: _Baselines
) -> tuple[frozenset[str], Mapping[str, str]]:
    """The words that are in a file now, and those that were defined in one (by path) and are in
    none.
    """
    texts = {text for source in named for text in source.list_texts(SYMBOL)}
    wanted = {part for text in texts for part in split_symbol(text)}
    if not wanted:
        return frozenset(), {}
    own = {os.path.relpath(os.path.realpath(source.file), tree.root) for source in named}
    missing, is_whole = _remove_found(tree, wanted, own)
    known = frozenset(wanted - missing)
    if not is_whole or not missing:
        return known, {}
    candidates = sorted(missing)[:MOST_LOST]
    return known, _find_defined(repository, candidates, baselines, own)


def _remove_found(
    tree: TreeNames, wanted: Collection[str], without: Collection[str]
) -> tuple[set[str], bool]:
    """The words that are in no file, and whether every file could be looked at."""
    left = {word.encode("utf-8", "surrogateescape") for word in wanted}
    is_whole = not tree.tracked.submodules and not tree.tracked.left_out
    root, effort = ConfinedRoot(tree.root), Effort()
    for path in sorted(tree.files - set(without)):
        if not left:
            break
        try:
            effort.spend(1)
            data = root.read(path, max_bytes=FILE_BYTES).data
            effort.spend(len(data))
        except (FileMissingError, PathOutsideError):  # deleted here, or a link
            continue
        except (HoldfastError, EffortSpent):
            is_whole = False
            continue
        left -= _find_words(data, left)
    return {word.decode("utf-8", "surrogateescape") for word in left}, is_whole


def _find_words(data: bytes, wanted: Collection[bytes]) -> set[bytes]:
    if len(wanted) > FEW_WORDS:
        return set(_WORD.findall(data)).intersection(wanted)
    present = [word for word in wanted if word in data]
    return {word for word in present if re.search(rb"(?<!\w)" + re.escape(word) + rb"(?!\w)", data)}


def _find_defined(
    repository: Repository,
    words: Sequence[str],
    baselines: _Baselines,
    without: Collection[str],
) -> Mapping[str, str]:
    """Those that an earlier state defines, with the file that did. Only what differs from now can
    hold one of them.
    """
    left = {word.encode("utf-8", "surrogateescape") for word in words}
    found: dict[bytes, str] = {}
    blobs = git_past.list_old_blobs(repository, baselines.list_all())
    ids = [blob for blob, path in blobs.items() if path not in without]
    for blob, data in git_past.read_objects(repository, ids, OLD_BYTES):
        present = _find_words(data, left)
        found |= {word: blobs[blob] for word in present if _defines(data, word)}
        left -= found.keys()
        if not left:
            break
    return {word.decode("utf-8", "surrogateescape"): path for word, path in found.items()}


def _defines(data: bytes, word: bytes) -> bool:
    """Whether it looks like a definition in one of many languages, and not only like a use."""
    name = re.escape(word)
    pattern = (
        rb"(?im)\b(?:" + _KEYWORDS.encode() + rb")\s+(?:\([^()\n]{0,100}\)\s*)?" + name + rb"\b"
        rb"|^[ \t]*(?:export\s+|public\s+|private\s+)?" + name + rb"[ \t]*(?::[^=\n]{0,100})?=(?!=)"
        rb"|^[ \t]*(?:[\w<>\[\],*&]+[ \t]+){0,5}"
        + name
        + rb"[ \t]*\([^()\n]{0,300}\)[^;\n]{0,100}\{"
    )
    return re.search(pattern, data) is not None


# --- places ---------------------------------------------------------------------------------------


def _judge_places(
    repository: Repository, tree: TreeNames, named: Sequence[NamedIn], baselines: _Baselines
) -> Mapping[tuple[str, str], EvidenceJudgement]:
    """Lines and symbols of a file: taken as evidence when the note was written, judged now."""
    wanted: dict[str, list[tuple[str, str]]] = {}
    for source in named:
        for text in list(source.list_texts(PLACE))[:MOST_PLACES]:
            commit = baselines.find(source.file)
            path = _find_path(tree, text)
            if commit and path:
                wanted.setdefault(f"{commit}:{path}", []).append((source.file, text))
    if not wanted:
        return {}
    found: dict[tuple[str, str], EvidenceJudgement] = {}
    effort, now = Effort(), _Current(tree)
    names = list(wanted)[:MOST_PLACES]
    for name, data in git_past.read_objects(repository, names, OLD_BYTES):
        _, _, path = name.partition(":")
        for key in wanted[name]:
            judged = _judge_place(key[1], path, data, now, effort)
            if judged:
                found[key] = judged
    return found


def _find_path(tree: TreeNames, text: str) -> str | None:
    try:
        return tree.find(evidence.parse_evidence(text).path)
    except HoldfastError:
        return None


def _judge_place(
    text: str, path: str, data: bytes, now: _Current, effort: Effort
) -> EvidenceJudgement | None:
    """None where it was not there then either."""
    try:
        named = evidence.parse_evidence(text)
        then = FileText(path, file_text.decode_text(data), effort)
        taken = evidence.take_evidence(named, then)
        return evidence.judge_evidence(taken, now.read(path, effort))
    except (EvidenceNotThereError, EffortSpent):
        return None


class _Current:
    def __init__(self, tree: TreeNames):
        self.root = ConfinedRoot(tree.root)
        self.texts: dict[str, FileText | None] = {}

    def read(self, path: str, effort: Effort) -> FileText | None:
        if path not in self.texts:
            self.texts[path] = None
            try:
                data = self.root.read(path, max_bytes=FILE_BYTES).data
                self.texts[path] = FileText(path, file_text.decode_text(data), effort)
            except HoldfastError:
                raise EffortSpent from None
        return self.texts[path]


# --- commands -------------------------------------------------------------------------------------


def _list_commands(
    repository: Repository, tree: TreeNames, named: Iterable[NamedIn]
) -> CommandFacts:
    """Of every Makefile and package here: a note need not say which folder it means."""
    texts = {text for source in named for text in source.list_texts(COMMAND)}
    root = ConfinedRoot(repository.root)
    targets = scripts = None
    if any(text.startswith("make ") for text in texts):
        targets = _list_targets(_read_all(root, tree, MAKEFILES))
    if any(text.startswith(("npm ", "pnpm ", "yarn ")) for text in texts):
        scripts = _list_scripts(_read_all(root, tree, ("package.json",)))
    return CommandFacts(targets, scripts)


def _read_all(root: ConfinedRoot, tree: TreeNames, names: Sequence[str]) -> dict[str, str] | None:
    """By path; None where one of them cannot be read, or where there are too many."""
    paths = sorted(path for path in tree.files if os.path.basename(path) in names)
    if len(paths) > MOST_BUILD_FILES:
        return None
    texts = {}
    for path in paths:
        try:
            texts[path] = root.read(path, max_bytes=FILE_BYTES).data.decode()
        except FileMissingError:
            continue
        except (HoldfastError, ValueError):
            return None
    return texts


def _list_targets(texts: Mapping[str, str] | None) -> frozenset[str] | None:
    """None where a target may come from elsewhere."""
    if not texts or any(_OPEN_MAKE.search(text) for text in texts.values()):
        return None
    names = {name for text in texts.values() for name in _list_names(text)}
    return None if any("$" in name for name in names) else frozenset(names)


def _list_names(text: str) -> list[str]:
    """The targets that a Makefile names."""
    return [name for line in _TARGETS.findall(text) for name in line.split()]


def _list_scripts(texts: Mapping[str, str] | None) -> frozenset[str] | None:
    if not texts:
        return None
    found: set[str] = set()
    for text in texts.values():
        try:
            package = json.loads(text)
        except (ValueError, RecursionError):
            return None
        scripts = package.get("scripts") if isinstance(package, dict) else None
        found.update(scripts if isinstance(scripts, dict) else ())
    return frozenset(found)
