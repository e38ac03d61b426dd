"""What shows a claim to be true, and whether it still does on this checkout.

Evidence is a place in a file: lines, a symbol, or the whole file. When it is given, the place has
to exist, and its text is noted as hashes, so that the repository's own text is never copied. On
every read the file is compared again: `ok` is the same text at the same place, `moved` the same
text elsewhere in the file, `changed` anything else, `gone` a file or a symbol that is missing now.
In doubt a claim is not shown as true.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import chain, islice

from holdfast.errors import InvalidValueError
from holdfast.ground import canonical
from holdfast.ground.frozen import dataclass, field, replace
from holdfast.ground.patterns import compile_later
from holdfast.ground.text import plural
from holdfast.workstreams.errors import EvidenceNotThereError
from holdfast.workstreams.file_text import FileText
from holdfast.workstreams.line_runs import hash_run
from holdfast.workstreams.places import (
    SYMBOL,
    SYMBOL_NAME,
    Lines,
    Symbol,
    UnreadableSource,
)
from holdfast.workstreams.records import Record, custom_field, number_field, read_texts, text_field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    Verdict = Literal["ok", "moved", "changed", "gone"]

EVIDENCE_BYTES = 4096
# Fewer letters and digits, as in `return None`, occur anywhere: finding them proves something only
# where they occurred once and occur once. Lines without any, such as `}`, never prove anything.
DISTINCTIVE_CHARS = 12
TRIES = 10  # a file may be built to have many places with the same rolling hash
FORMS = "src/a.py:10-20, src/a.py#name or src/a.py"
PLACE = ("path", "lines", "symbol")

_LINES = r"L?(?P<first>[0-9]{1,9})(?:-L?(?P<last>[0-9]{1,9}))?"
_PLACE = compile_later(rf"(?P<path>.+)(?::|#(?=L)){_LINES}", re.DOTALL)
_NAMED = compile_later(rf"(?P<path>.+)#(?P<symbol>{SYMBOL_NAME})", re.DOTALL)
_ALONE = compile_later(_LINES)
_HASHES = ("text_hash", "shape_hash", "run_hash", "file_hash")
_HASH = compile_later(r"[0-9a-f]{16,64}")


@dataclass(frozen=True)
class Evidence:
    """A place in a file. Without hashes it is only named; `take_evidence` adds them."""

    path: str
    lines: Lines | None = None
    symbol: str | None = None
    text_hash: str | None = None
    shape_hash: str | None = None  # of a symbol, apart from its formatting
    run_hash: str | None = None  # of lines, cheap to look for at every place of a file
    file_hash: str | None = None  # of all lines: while it is the same, nothing else is compared
    copies: int = 1  # how often the lines occurred in the file
    # Read from a file: names of a later version, and values that are written in another way.
    extra: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        if self.symbol:
            return f"{self.path}#{self.symbol}"
        if self.lines:
            return f"{self.path}:{self.lines}"
        return self.path

    def to_dict(self) -> dict[str, Any]:
        """The seed's keys first; what is not known is left out."""
        lines = str(self.lines) if self.lines else None
        copies = self.copies if self.copies > 1 else None
        known = {
            "path": self.path,
            "lines": lines,
            "symbol": self.symbol,
            "text_hash": self.text_hash,
            "shape_hash": self.shape_hash,
            "run_hash": self.run_hash,
            "file_hash": self.file_hash,
            "copies": copies,
        }
        present = {name: value for name, value in known.items() if value is not None}
        return {**present, **self.extra}

    @classmethod
    def from_dict(cls, value: object) -> Evidence:
        """From a file that may have been edited: its path is checked like any input."""
        if not isinstance(value, Mapping):
            problem = f"is not a JSON object; write it as {FORMS}"
            raise InvalidValueError("evidence", value, problem)
        hashes: dict[str, Any] = {name: _check_hash(name, value.get(name)) for name in _HASHES}
        found = cls(
            path=_check_path(value.get("path")),
            lines=_parse_lines(value.get("lines")),
            symbol=_check_symbol(value.get("symbol")),
            copies=_check_copies(value.get("copies")),
            **hashes,
        )
        known = found.to_dict()
        extra = {}
        for name, item in value.items():
            if name not in known or known[name] != item:
                extra[name] = item
        return replace(found, extra=extra)

    def has_right_form(self) -> bool:
        return True


@dataclass(frozen=True)
class BrokenEvidence:
    """A value in a file that is not evidence, and why. It shows nothing, and it is kept."""

    value: Mapping[str, Any]
    problem: str

    @property
    def path(self) -> str | None:
        found = self.value.get("path")
        if not isinstance(found, str):
            return None
        return found

    def to_dict(self) -> dict[str, Any]:
        return dict(self.value)

    def has_right_form(self) -> bool:
        return self.value.get("path") is None or self.path is not None


NotedEvidence = Evidence | BrokenEvidence


def _read_command(value: Any) -> tuple[str, ...] | str | None:
    """A list of words as we write it, or one text as a person may write it."""
    if isinstance(value, str):
        return value
    return read_texts(value)


def _write_command(command: tuple[str, ...] | str) -> list[str] | str:
    if isinstance(command, str):
        return command
    return list(command)


@dataclass(frozen=True)
class CommandEvidence(Record):
    """A command that was run, how it ended, and on which contents."""

    command: tuple[str, ...] | str | None = custom_field(_read_command, _write_command)
    proof: str | None = text_field(required=False)
    exit_code: int | None = number_field()
    tree: str | None = text_field(required=False)
    ran_at: str | None = text_field(required=False)
    output_hash: str | None = text_field(required=False)
    duration_ms: int | None = number_field(required=False)
    folder: str | None = text_field(required=False)  # below the worktree; None at its top

    @property
    def text(self) -> str:
        if isinstance(self.command, str):
            return self.command
        return " ".join(self.command or ())

    @property
    def line(self) -> tuple[str, str]:
        """What is run again: the same command in another folder is another one."""
        return self.text, self.folder or ""


@dataclass(frozen=True)
class TreeRuns:
    """What this machine knows about the commands that were run on one state of the files."""

    tree: str | None = None
    failed: frozenset[tuple[str, str]] = frozenset()  # `line` of those whose newest run failed
    withdrawn: frozenset[str] = frozenset()  # ids of proofs

    def find_doubt(self, evidence: CommandEvidence) -> str:
        """Why a pass on this tree shows nothing any longer; empty where it does."""
        if evidence.proof in self.withdrawn:
            return "was withdrawn"
        if evidence.line in self.failed:
            return "failed when it was run again"
        return ""


@dataclass(frozen=True)
class EvidenceJudgement:
    """A verdict on this checkout, where the evidence is now, and why it does not hold."""

    verdict: Verdict
    lines_now: Lines | None = None
    why: str = ""


NO_SYMBOL, SYMBOL_EDITED = "there is no such symbol", "the symbol was edited"
NOT_COMPARED = EvidenceJudgement("changed", why="it was not compared")


# --- naming ---------------------------------------------------------------------------------------


def parse_evidence(text: str) -> Evidence:
    """A place by its text. The last `:` or `#` that fits decides; `#L10-L20` is lines, as in links.

    A file whose own name ends like a place (`notes#c.md`) can be given with lines, or as an object
    with a `path`.
    """
    canonical.check_text("evidence", text, max_bytes=EVIDENCE_BYTES)
    if found := _PLACE.fullmatch(text):
        return Evidence(_check_path(found["path"]), _check_lines(text, found))
    if found := _NAMED.fullmatch(text):
        return Evidence(_check_path(found["path"]), symbol=found["symbol"])
    return Evidence(_check_path(text))


def read_evidence(value: Mapping[str, Any]) -> NotedEvidence:
    """From a file, where it may be anything."""
    try:
        return Evidence.from_dict(value)
    except InvalidValueError as error:
        return BrokenEvidence(value, error.message)


def parse_place(value: object) -> Evidence:
    """A place as a program gives it: hashes and any other names are refused."""
    if isinstance(value, Mapping):
        others = sorted(str(name) for name in value if name not in PLACE)
        if others:
            problem = "is not taken with a place"
            raise InvalidValueError("evidence", others[0], problem, known=PLACE)
    return replace(Evidence.from_dict(value), extra={})


def _check_lines(text: str, found: re.Match[str]) -> Lines:
    first = int(found["first"])
    last = int(found["last"] or first)
    if first < 1:
        raise InvalidValueError("evidence", text, "names line 0; lines count from 1")
    if last < first:
        problem = "names lines that end before they begin; write the smaller one first"
        raise InvalidValueError("evidence", text, problem)
    return Lines(first, last)


def _check_path(path: object) -> str:
    """Relative to the repository and inside it, with `/`, the way git names a file."""
    text = canonical.check_text("evidence", path, max_bytes=EVIDENCE_BYTES)
    problem = _find_path_problem(text)
    if problem:
        raise InvalidValueError("evidence", text, problem)
    return text


def _find_path_problem(text: str) -> str | None:
    steps = text.split("/")
    if not text.strip():
        return f"names no file; write {FORMS}"
    if "\\" in text:
        return f"has a backslash; write its path with '/': {FORMS}"
    if not steps[0]:
        return f"is an absolute path; write it from the repository's top: {FORMS}"
    if not steps[-1]:
        return f"is a folder; name a file: {FORMS}"
    if {"", ".", ".."} & set(steps):
        return f"leads through '.' or '..'; write it from the top: {FORMS}"
    return None


def _parse_lines(value: object) -> Lines | None:
    if value is None:
        return None
    found = _ALONE.fullmatch(value) if isinstance(value, str) else None
    if not found:
        raise InvalidValueError("lines", value, "are not lines; write them as L10-L20")
    return _check_lines(found.group(), found)


def _check_symbol(value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, str) and SYMBOL.fullmatch(value):
        return value
    raise InvalidValueError("symbol", value, "is not a name; write it as name or Class.method")


def _check_hash(name: str, value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, str) and _HASH.fullmatch(value):
        return value
    raise InvalidValueError(name, value, "is not a hash of ours; give the evidence again")


def _check_copies(value: object) -> int:
    if value is None:
        return 1
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    raise InvalidValueError("copies", value, "is not a number from 1 on; give the evidence again")


# --- taking ---------------------------------------------------------------------------------------


def take_evidence(named: Evidence, file: FileText | None) -> Evidence:
    """The evidence with its hashes as of now, or a refusal. `file` is None where there is none."""
    if file is None:
        raise EvidenceNotThereError(str(named), "there is no such file")
    noted = replace(named, file_hash=file.hash)
    if named.symbol:
        return _take_symbol(noted, file)
    if named.lines:
        return _take_lines(noted, file, named.lines)
    return replace(noted, text_hash=noted.file_hash, file_hash=None)


def _take_symbol(noted: Evidence, file: FileText) -> Evidence:
    name = noted.symbol or ""
    found = file.read_symbol(name)
    if found is None:
        raise EvidenceNotThereError(str(noted), describe_missing_symbol(name, file))
    if isinstance(found, UnreadableSource):
        problem = f"the file {found.why}; give lines, as in :10-20"
        raise EvidenceNotThereError(str(noted), problem)
    text_hash = file.hash_run(found.lines)
    return replace(noted, lines=found.lines, text_hash=text_hash, shape_hash=found.shape)


def describe_missing_symbol(name: str, file: FileText) -> str:
    problem = f"the file has no symbol {name}"
    others = file.list_namesakes(name)
    if others:
        names = ", ".join(others[:3])
        problem += f"; it has {names}"
    return problem


def _take_lines(noted: Evidence, file: FileText, wanted: Lines) -> Evidence:
    if wanted.last > len(file.lines):
        count = plural(len(file.lines), "line")
        raise EvidenceNotThereError(str(noted), f"the file has {count}")
    run = file.cut_run(wanted)
    if not any(line.strip() for line in run):
        raise EvidenceNotThereError(str(noted), "these lines are blank")
    run_hash = hash_run(run)
    places = file.find_runs(len(run), run_hash)
    text_hash = file.hash_run(wanted)
    return replace(noted, text_hash=text_hash, run_hash=run_hash, copies=len(places))


# --- judging --------------------------------------------------------------------------------------


def judge_evidence(evidence: Evidence, file: FileText | None) -> EvidenceJudgement:
    """Against a file of this checkout; `file` is None where it is missing."""
    if file is None:
        return EvidenceJudgement("gone", why="there is no such file")
    if evidence.text_hash is None:
        return EvidenceJudgement("changed", why="what stood there was never noted")
    if file.hash == (evidence.file_hash or evidence.text_hash):
        return EvidenceJudgement("ok", evidence.lines)
    if evidence.symbol:
        return _judge_symbol(evidence, evidence.symbol, file)
    if evidence.lines:
        return _judge_lines(evidence, evidence.lines, file)
    return EvidenceJudgement("changed", why="the file was edited")


def _judge_symbol(evidence: Evidence, name: str, file: FileText) -> EvidenceJudgement:
    now = file.read_symbol(name)
    if now is None:
        return EvidenceJudgement("gone", why=NO_SYMBOL)
    if isinstance(now, UnreadableSource):
        return EvidenceJudgement("changed", why=f"the file {now.why}")
    if not _is_same(evidence, now, file):
        return EvidenceJudgement("changed", now.lines, SYMBOL_EDITED)
    if now.lines != evidence.lines:
        return EvidenceJudgement("moved", now.lines)
    return EvidenceJudgement("ok", now.lines)


def _is_same(evidence: Evidence, now: Symbol, file: FileText) -> bool:
    if now.shape == evidence.shape_hash:
        return True
    return file.hash_run(now.lines) == evidence.text_hash


def _judge_lines(evidence: Evidence, noted: Lines, file: FileText) -> EvidenceJudgement:
    """At the same place, or at the nearest other one.

    Where fewer copies are left than there were, the missing one may be the one that was meant.
    """
    if file.hash_run(noted) == evidence.text_hash:
        return EvidenceJudgement("ok", noted)
    count = noted.last - noted.first + 1
    places = file.find_runs(count, evidence.run_hash)
    same = _find_nearest_same(evidence, noted, file, places)
    edited = EvidenceJudgement("changed", why="the lines were edited")
    if same is None or len(places) < evidence.copies:
        return edited
    is_only_one = evidence.copies == len(places) == 1
    if not _is_distinctive(file.cut_run(same), is_only_one=is_only_one):
        return edited
    return EvidenceJudgement("moved", same)


def _find_nearest_same(
    evidence: Evidence, noted: Lines, file: FileText, places: Sequence[Lines]
) -> Lines | None:
    nearest = sorted(places, key=lambda place: abs(place.first - noted.first))
    for place in nearest[:TRIES]:
        if file.hash_run(place) == evidence.text_hash:
            return place
    return None


def judge_command(evidence: CommandEvidence, now: TreeRuns) -> EvidenceJudgement:
    """A command shows something only if it exited with 0, and only on the contents it ran on.

    Later runs count: files that git does not track decide as well how a command ends.
    """
    if not any(evidence.command or ()):
        return EvidenceJudgement("changed", why="it names no command")
    if type(evidence.exit_code) is not int:  # `true` is a number to Python
        return EvidenceJudgement("changed", why="how it ended is not known")
    if evidence.exit_code != 0:
        return EvidenceJudgement("changed", why="it failed")
    if not evidence.tree or evidence.tree != now.tree:
        return EvidenceJudgement("changed", why="it ran on another tree")
    doubt = now.find_doubt(evidence)
    if doubt:
        return EvidenceJudgement("changed", why=f"it {doubt}")
    return EvidenceJudgement("ok")


def _is_distinctive(lines: Sequence[str], *, is_only_one: bool) -> bool:
    needed = 1 if is_only_one else DISTINCTIVE_CHARS
    letters_and_digits = filter(str.isalnum, chain.from_iterable(lines))
    first = list(islice(letters_and_digits, needed))
    return len(first) == needed
