"""What shows a claim to be true, and whether it still does on this checkout.

Evidence is a place in a file: lines, a symbol, or the whole file. When it is given, the place has
to be there, and what stands there is noted as hashes, so that the repository's own text is never
copied. On every read the file is looked at again: `ok` is the same text at the same place, `moved`
the same text elsewhere in the file, `changed` anything else, `gone` a file or a symbol that is no
longer there. In doubt a claim is not shown as true.

Lines are what editors and git count: they end with LF or CRLF and nothing else. Line ends, a byte
order mark and the last newline are no part of the text.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from holdfast.errors import InvalidValueError
from holdfast.ground import canonical
from holdfast.ground.text import plural
from holdfast.workstreams import symbols
from holdfast.workstreams.errors import EvidenceNotThereError
from holdfast.workstreams.records import Record, custom_field, number_field, read_texts, text_field
from holdfast.workstreams.symbols import Lines, Symbol, UnreadableSource

Verdict = Literal["ok", "moved", "changed", "gone"]

EVIDENCE_BYTES = 4096
# Fewer letters and digits, as in `return None`, stand anywhere: to find them says something only
# where they stood once and stand once. What has none, such as `}`, never says anything.
DISTINCTIVE_CHARS = 12
TRIES = 10  # places that only seem to be the same are made on purpose
FORMS = "src/a.py:10-20, src/a.py#name or src/a.py"
PLACE = ("path", "lines", "symbol")

_LINES = r"L?(?P<first>[0-9]{1,9})(?:-L?(?P<last>[0-9]{1,9}))?"
_PLACE = re.compile(rf"(?P<path>.+)(?::|#(?=L)){_LINES}", re.DOTALL)
_NAMED = re.compile(rf"(?P<path>.+)#(?P<symbol>{symbols.SYMBOL.pattern})", re.DOTALL)
_ALONE = re.compile(_LINES)
_HASHES = ("text_hash", "shape_hash", "run_hash", "file_hash")
_HASH = re.compile(r"[0-9a-f]{16,64}")
_PRIME, _BASE = (1 << 61) - 1, 1_000_003


@dataclass(frozen=True)
class Evidence:
    """A place in a file. Without hashes it is only named; `take_evidence` notes what stands there."""

    path: str
    lines: Lines | None = None
    symbol: str | None = None
    text_hash: str | None = None
    shape_hash: str | None = None  # of a symbol, apart from its formatting
    run_hash: str | None = None  # of lines, cheap to look for at every place of a file
    file_hash: str | None = None  # of all lines: while it is the same, nothing else needs a look
    copies: int = 1  # how often the lines stood in the file
    # Of one that is read from a file: names that a later version wrote, and values that are spelled
    # another way there.
    extra: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        place = f"#{self.symbol}" if self.symbol else f":{self.lines}" if self.lines else ""
        return self.path + place

    def to_dict(self) -> dict[str, Any]:
        """The seed's keys first; what is not known is left out."""
        known = {
            "path": self.path,
            "lines": str(self.lines) if self.lines else None,
            "symbol": self.symbol,
            **{name: getattr(self, name) for name in _HASHES},
            "copies": self.copies if self.copies > 1 else None,
        }
        present = {key: value for key, value in known.items() if value is not None}
        return {**present, **self.extra}

    @classmethod
    def from_dict(cls, value: object) -> Evidence:
        """From a file that anybody may have edited: its path is checked like one from outside."""
        if not isinstance(value, Mapping):
            raise InvalidValueError("evidence", value, f"is no JSON object; write it as {FORMS}")
        hashes: dict[str, Any] = {name: _check_hash(name, value.get(name)) for name in _HASHES}
        found = cls(
            path=_check_path(value.get("path")),
            lines=_parse_lines(value.get("lines")),
            symbol=_check_symbol(value.get("symbol")),
            copies=_check_copies(value.get("copies")),
            **hashes,
        )
        known = found.to_dict()
        extra = {key: item for key, item in value.items() if key not in known or known[key] != item}
        return replace(found, extra=extra)

    def has_right_form(self) -> bool:
        return True


@dataclass(frozen=True)
class BrokenEvidence:
    """What stands in a file where evidence is expected, and why it is none. It shows nothing, and
    it is kept.
    """

    value: Mapping[str, Any]
    problem: str

    @property
    def path(self) -> str | None:
        found = self.value.get("path")
        return found if isinstance(found, str) else None

    def to_dict(self) -> dict[str, Any]:
        return dict(self.value)

    def has_right_form(self) -> bool:
        return self.value.get("path") is None or self.path is not None


NotedEvidence = Evidence | BrokenEvidence


def _read_command(value: Any) -> tuple[str, ...] | str | None:
    """A list of words as we write it, or one text as a person may write it."""
    return value if isinstance(value, str) else read_texts(value)


def _write_command(command: tuple[str, ...] | str) -> list[str] | str:
    return command if isinstance(command, str) else list(command)


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

    @property
    def text(self) -> str:
        return self.command if isinstance(self.command, str) else " ".join(self.command or ())


@dataclass(frozen=True)
class EvidenceJudgement:
    """A verdict on this checkout, where the evidence is now, and why it does not hold."""

    verdict: Verdict
    lines_now: Lines | None = None
    why: str = ""


# --- naming ---------------------------------------------------------------------------------------


def parse_evidence(text: str) -> Evidence:
    """A place by its text. The last `:` or `#` that fits decides; `#L10-L20` is lines, as in links
    to a line.

    A file whose own name ends like a place (`notes#c.md`) can be given with lines, or as `{"path":
    …}`.
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
    """A place as a program gives it; what stood there is never taken from it, and nothing else goes
    along.
    """
    names = value.keys() if isinstance(value, Mapping) else set()
    others = sorted(str(name) for name in names if name not in PLACE)
    if others:
        raise InvalidValueError("evidence", others[0], "is not taken with a place", known=PLACE)
    return replace(Evidence.from_dict(value), extra={})


def _check_lines(text: str, found: re.Match[str]) -> Lines:
    first = int(found["first"])
    last = int(found["last"] or first)
    if first < 1:
        raise InvalidValueError("evidence", text, "names line 0; lines count from 1")
    if last < first:
        raise InvalidValueError(
            "evidence", text, "names lines that end before they begin; write the smaller one first"
        )
    return Lines(first, last)


def _check_path(path: object) -> str:
    """Relative to the repository, with `/`, the way git names a file; nothing that could lead out
    of it.
    """
    text = canonical.check_text("evidence", path, max_bytes=EVIDENCE_BYTES)
    steps = text.split("/")
    if not text.strip():
        raise InvalidValueError("evidence", text, f"names no file; write {FORMS}")
    if "\\" in text:
        raise InvalidValueError(
            "evidence", text, f"has a backslash; write its path with '/': {FORMS}"
        )
    if not steps[0]:
        raise InvalidValueError(
            "evidence", text, f"is an absolute path; write it from the repository's top: {FORMS}"
        )
    if not steps[-1]:
        raise InvalidValueError("evidence", text, f"is a folder; name a file: {FORMS}")
    if {"", ".", ".."} & set(steps):
        raise InvalidValueError(
            "evidence", text, f"leads through '.' or '..'; write it from the top: {FORMS}"
        )
    return text


def _parse_lines(value: object) -> Lines | None:
    if value is None:
        return None
    found = _ALONE.fullmatch(value) if isinstance(value, str) else None
    if not found:
        raise InvalidValueError("lines", value, "are not lines; write them as L10-L20")
    return _check_lines(found[0], found)


def _check_symbol(value: object) -> str | None:
    if value is None or (isinstance(value, str) and symbols.SYMBOL.fullmatch(value)):
        return value
    raise InvalidValueError("symbol", value, "is no name; write it as name or Class.method")


def _check_hash(name: str, value: object) -> str | None:
    if value is None or (isinstance(value, str) and _HASH.fullmatch(value)):
        return value
    raise InvalidValueError(name, value, "is no hash of ours; give the evidence again")


def _check_copies(value: object) -> int:
    if value is None:
        return 1
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    raise InvalidValueError("copies", value, "is not a number from 1 on; give the evidence again")


# --- taking ---------------------------------------------------------------------------------------


def decode_text(data: bytes) -> str:
    """A file's bytes as a text that no other bytes give: what is not UTF-8 stays apart, as halves
    of pairs.
    """
    return data.decode("utf-8", "surrogateescape")


def take_evidence(named: Evidence, text: str | None) -> Evidence:
    """The evidence with what stands there now, or a refusal with what is missing. None: there is no
    such file.
    """
    if text is None:
        raise EvidenceNotThereError(str(named), "there is no such file")
    lines = split_lines(text)
    noted = replace(named, file_hash=hash_lines(lines))
    if named.symbol:
        return _take_symbol(noted, lines, text)
    if named.lines:
        return _take_lines(noted, lines, named.lines)
    return replace(noted, text_hash=noted.file_hash, file_hash=None)


def _take_symbol(noted: Evidence, lines: Sequence[str], text: str) -> Evidence:
    name = noted.symbol or ""
    found = symbols.read_symbol(text, noted.path, name)
    if isinstance(found, UnreadableSource):
        raise EvidenceNotThereError(str(noted), f"the file {found.why}; give lines, as in :10-20")
    if found is None:
        others = symbols.list_namesakes(text, noted.path, name)
        hint = f"; it has {', '.join(others[:3])}" if others else ""
        raise EvidenceNotThereError(str(noted), f"the file has no symbol {name}{hint}")
    run = _cut_run(lines, found.lines)
    return replace(noted, lines=found.lines, text_hash=hash_lines(run), shape_hash=found.shape)


def _take_lines(noted: Evidence, lines: Sequence[str], wanted: Lines) -> Evidence:
    if wanted.last > len(lines):
        raise EvidenceNotThereError(str(noted), f"the file has {plural(len(lines), 'line')}")
    run = _cut_run(lines, wanted)
    if not any(line.strip() for line in run):
        raise EvidenceNotThereError(str(noted), "these lines are blank")
    run_hash = _hash_run(run)
    copies = sum(1 for _ in _find_places(lines, len(run), run_hash))
    return replace(noted, text_hash=hash_lines(run), run_hash=run_hash, copies=copies)


# --- judging --------------------------------------------------------------------------------------


def judge_evidence(evidence: Evidence, text_now: str | None) -> EvidenceJudgement:
    """What this checkout says. None: there is no such file here."""
    if text_now is None:
        return EvidenceJudgement("gone", why="there is no such file")
    if evidence.text_hash is None:
        return EvidenceJudgement("changed", why="what stood there was never noted")
    lines = split_lines(text_now)
    if hash_lines(lines) == (evidence.file_hash or evidence.text_hash):
        return EvidenceJudgement("ok", evidence.lines)
    if evidence.symbol:
        return _judge_symbol(evidence, lines, text_now)
    if evidence.lines:
        return _judge_lines(evidence, evidence.lines, lines)
    return EvidenceJudgement("changed", why="the file was edited")


def _judge_symbol(evidence: Evidence, lines: Sequence[str], text: str) -> EvidenceJudgement:
    now = symbols.read_symbol(text, evidence.path, evidence.symbol or "")
    if now is None:
        return EvidenceJudgement("gone", why="there is no such symbol")
    if isinstance(now, UnreadableSource):
        return EvidenceJudgement("changed", why=f"the file {now.why}")
    if not _is_same(evidence, now, lines):
        return EvidenceJudgement("changed", now.lines, "the symbol was edited")
    return EvidenceJudgement("ok" if now.lines == evidence.lines else "moved", now.lines)


def _is_same(evidence: Evidence, now: Symbol, lines: Sequence[str]) -> bool:
    return (
        now.shape == evidence.shape_hash
        or hash_lines(_cut_run(lines, now.lines)) == evidence.text_hash
    )


def _judge_lines(evidence: Evidence, noted: Lines, lines: Sequence[str]) -> EvidenceJudgement:
    """At the same place, or at the nearest other one.

    Where fewer copies are left than there were, the one that was meant may be the one that is
    missing.
    """
    if hash_lines(_cut_run(lines, noted)) == evidence.text_hash:
        return EvidenceJudgement("ok", noted)
    count = noted.last - noted.first + 1
    places = [
        Lines(start, start + count - 1) for start in _find_places(lines, count, evidence.run_hash)
    ]
    nearest = sorted(places, key=lambda place: abs(place.first - noted.first))[:TRIES]
    same = next(
        (place for place in nearest if hash_lines(_cut_run(lines, place)) == evidence.text_hash),
        None,
    )
    is_only_one = evidence.copies == len(places) == 1
    if (
        same is None
        or len(places) < evidence.copies
        or not _is_distinctive(_cut_run(lines, same), is_only_one)
    ):
        return EvidenceJudgement("changed", why="the lines were edited")
    return EvidenceJudgement("moved", same)


def judge_command(evidence: CommandEvidence, tree_now: str | None) -> EvidenceJudgement:
    """A command shows something only if it ended with 0, and only on the contents that it ran on."""
    if not any(evidence.command or ()):
        return EvidenceJudgement("changed", why="it names no command")
    if type(evidence.exit_code) is not int:  # `true` is a number to Python
        return EvidenceJudgement("changed", why="how it ended is not known")
    if evidence.exit_code != 0:
        return EvidenceJudgement("changed", why="it failed")
    if not evidence.tree or evidence.tree != tree_now:
        return EvidenceJudgement("changed", why="it ran on another tree")
    return EvidenceJudgement("ok")


# --- lines ----------------------------------------------------------------------------------------


def split_lines(text: str) -> list[str]:
    """The lines as an editor numbers them: form feeds, U+2028 and lone carriage returns end none."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    return lines if lines[-1] else lines[:-1]


def _cut_run(lines: Sequence[str], place: Lines) -> Sequence[str]:
    return lines[place.first - 1 : place.last]


def hash_lines(lines: Sequence[str]) -> str:
    return canonical.new_sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()


def _is_distinctive(lines: Sequence[str], is_only_one: bool) -> bool:
    return sum(map(str.isalnum, "".join(lines))) >= (1 if is_only_one else DISTINCTIVE_CHARS)


def _find_places(lines: Sequence[str], count: int, run_hash: str | None) -> Iterator[int]:
    """The numbers of lines where so many lines with this hash begin; one pass, however long the run
    is.

    The hash rolls: each step takes in the next line and lets go of the oldest. It is quick and not
    safe, so whoever acts on a place compares the real hash there.
    """
    if count > len(lines):  # also a count that somebody wrote into the file
        return
    hashes = [_hash_line(line) for line in lines]
    rolled, outgoing = 0, pow(_BASE, count, _PRIME)
    wanted = int(run_hash or "-1", 16)
    for end, (new, old) in enumerate(zip(hashes, [*[0] * count, *hashes], strict=False), 1):
        rolled = (rolled * _BASE + new - old * outgoing) % _PRIME
        if rolled == wanted and end >= count:
            yield end - count + 1


def _hash_run(run: Sequence[str]) -> str:
    rolled = 0
    for line in run:
        rolled = (rolled * _BASE + _hash_line(line)) % _PRIME
    return f"{rolled:016x}"


def _hash_line(line: str) -> int:
    return zlib.crc32(line.encode("utf-8", "surrogatepass")) + 1  # a blank line counts too
