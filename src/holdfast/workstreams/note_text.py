"""The notes in a client's own memory file, and what each of them names. Pure.

A note is what a reader takes for one statement: an item of a list, a paragraph, a heading, a row of
a table. A block of code is not a statement, but its commands are things that the file names. What
looks like a path, a symbol or a command is only a candidate here: whether the repository has, or
had, such a thing is judged in `note_judging`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from holdfast.ground.frozen import dataclass
from holdfast.ground.patterns import compile_later
from holdfast.workstreams.places import SYMBOL_NAME

NOTE_CHARS = 2_000  # of one note; a longer one is cut
HEADING_CHARS = 200
NAMES_IN_A_NOTE = 40
NAME_CHARS = 200
SYMBOL_CHARS = 3
CODE, PROSE = "code", "prose"
PATH, SYMBOL, COMMAND, PLACE = "path", "symbol", "command", "place"
SHELLS = ("", "sh", "bash", "shell", "zsh", "console", "shell-session", "terminal")
# A name with a dot and one of these behind it is a file and not a symbol.
_SUFFIXES = """
adoc bat c cc cfg cmd conf cpp cs css csv cts db env ex exs go gradle h hpp html ini ipynb java jpg
js json jsonc jsonl jsx kt less lock log lua md mdc mdx mjs mk mts php pl png proto ps1 py pyi rb rs
rst sass scala scss sh sql svelte svg swift tf toml ts tsx txt vue xml yaml yml zig
"""
SUFFIXES = frozenset(_SUFFIXES.split())
BARE_NAMES = ("Makefile", "GNUmakefile", "makefile", "Dockerfile", "Justfile", "justfile")

_BLANK = compile_later(r"\s*")
_ITEM = compile_later(r"(\s*)(?:[-*+]|\d{1,4}[.)])\s+(?:\[[ xX]\]\s+)?(.*)")
_HEADING = compile_later(r"\s{0,3}#{1,6}\s(.*)")
_FENCE = compile_later(r"\s*(`{3,}|~{3,})\s*([\w+-]*)")
_RULE = compile_later(r"\s*(?:[-*_=]\s*){3,}|\s*\|?(?:\s*:?-+:?\s*\|)+\s*:?-*:?\s*")
_QUOTE = compile_later(r"\s*>\s?")
_COMMENT = compile_later(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_SPAN = compile_later(r"(`+)(.+?)\1")
_LINK = compile_later(r"\]\(\s*(?:<([^<>\n]{1,200})>|([^()\s]{1,200}))")
_WORD = compile_later(r"[^\s`\"'<>|(),;]+")
_CALL = compile_later(rf"(?<![\w.])({SYMBOL_NAME})\(\)")
_SYMBOL = compile_later(rf"({SYMBOL_NAME}(?:(?:::|#)[^\W\d]\w*)?)(\([^()]*\))?")
_PLACE = compile_later(
    rf"([^\s:#]+)(?::L?(\d{{1,6}})(?:-L?(\d{{1,6}}))?|#L(\d{{1,6}})(?:-L?(\d{{1,6}}))?"
    rf"|(?:#|::)({SYMBOL_NAME}))(?:\(\))?"
)
_PROMPT = compile_later(r"\s*(?:[$%>]\s+)?(?:[A-Z_][A-Z0-9_]*=\S*\s+)*")
_STEPS = compile_later(r"\s*(?:&&|\|\||[;|])\s*")
_NOT_A_PATH = compile_later(r"[*?<>|{}$\\\"'`=\n]|://|\.\.\.|…|^[-@#+]|^\.+$")


@dataclass(frozen=True)
class NamedThing:
    """What a note names, as it is written there. `is_sure`: it was written as a name."""

    kind: str
    text: str
    is_sure: bool = True


@dataclass(frozen=True)
class ClientNote:
    """One statement of a file, with the lines that it stands on, counted from 1."""

    text: str
    first: int
    last: int
    kind: str = PROSE
    heading: str = ""  # the one that it stands below

    @property
    def words(self) -> str:
        """Its prose and that of its heading, without what stands in it as code."""
        said = f"{self.heading}\n{self.text}"
        return _SPAN.sub(" ", said) if "`" in said else said

    def list_names(self) -> list[NamedThing]:
        found = _list_in_code(self.text) if self.kind == CODE else _list_in_prose(self.text)
        names = []
        for name in dict.fromkeys(found):
            names.append(name)
            if len(names) == NAMES_IN_A_NOTE:
                break
        return names


# --- notes ----------------------------------------------------------------------------------------


def split_notes(text: str, limit: int) -> list[ClientNote]:
    """At most so many, in their order."""
    splitter = _Splitter(limit)
    lines = _hide_comments(text).split("\n")
    for number, line in enumerate(lines[_skip_head(lines) :], _skip_head(lines) + 1):
        if len(splitter.notes) >= limit:
            break
        splitter.take(number, line[:NOTE_CHARS].rstrip("\r"))
    splitter.end()
    return splitter.notes[:limit]


def _hide_comments(text: str) -> str:
    """A comment becomes as many empty lines: it is not said to the model."""
    if "<!--" not in text:
        return text
    return _COMMENT.sub(lambda found: "\n" * found[0].count("\n"), text)


def _skip_head(lines: list[str]) -> int:
    """How many lines are the fields in front of the text."""
    if lines[0].strip() != "---":
        return 0
    for number, line in enumerate(lines[1:50], 1):
        if line.strip() == "---":
            return number + 1
    return 0


class _Splitter:
    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.notes: list[ClientNote] = []
        self.parts: list[str] = []
        self.first = self.last = 0
        self.fence = ""
        self.heading = ""
        self.is_shell = False

    def take(self, number: int, line: str) -> None:
        if self.fence:
            self._take_code(number, line)
            return
        if begun := _FENCE.match(line):
            self.end()
            self.fence, self.is_shell = begun[1], begun[2].casefold() in SHELLS
            return
        plain = _QUOTE.sub("", line, count=1) if line.lstrip().startswith(">") else line
        if _BLANK.fullmatch(plain) or _RULE.fullmatch(plain):
            self.end()
        elif heading := _HEADING.fullmatch(plain):
            self.heading = ""
            self._take_whole(number, heading[1].strip().rstrip("#").rstrip())
            self.heading = heading[1].strip()[:HEADING_CHARS]
        elif plain.lstrip().startswith("|"):
            cells = " · ".join(cell.strip() for cell in plain.strip().strip("|").split("|"))
            self._take_whole(number, cells)
        elif item := _ITEM.fullmatch(plain):
            self.end()
            self._add(number, item[2])
        else:
            self._add(number, plain.strip())

    def _take_code(self, number: int, line: str) -> None:
        if line.strip().startswith(self.fence) and not line.strip().strip(self.fence[0]):
            self.end(CODE)
            self.fence = ""
        elif self.is_shell:
            self._add(number, line)

    def _take_whole(self, number: int, text: str) -> None:
        self.end()
        self._add(number, text)
        self.end()

    def _add(self, number: int, text: str) -> None:
        if not self.parts:
            self.first = number
        self.parts.append(text)
        self.last = number

    def end(self, kind: str | None = None) -> None:
        """A block of code that is never closed ends with the file."""
        kind = kind or (CODE if self.fence else PROSE)
        joined = "\n".join(self.parts) if kind == CODE else " ".join(self.parts)
        text = joined.strip()[:NOTE_CHARS]
        if text:
            self.notes.append(ClientNote(text, self.first, self.last, kind, self.heading))
        self.parts = []


# --- names ----------------------------------------------------------------------------------------


def _list_in_prose(text: str) -> Iterator[NamedThing]:
    spans = [found[2].strip()[:NAME_CHARS] for found in _SPAN.finditer(text)] if "`" in text else []
    for span in spans:
        yield from _list_in_span(span)
    for found in _LINK.finditer(text) if "](" in text else ():
        target = (found[1] or found[2]).partition("#")[0].replace("%20", " ")
        if _looks_like_path(target):
            yield NamedThing(PATH, target)
    plain = _SPAN.sub(" ", text) if spans else text
    if "](" in plain:
        plain = _LINK.sub("]( ", plain)
    if "(" in plain:
        for found in _CALL.finditer(plain):
            yield NamedThing(SYMBOL, found[1])
    if "/" in plain:
        for found in _WORD.finditer(plain):
            word = found[0].rstrip(".:!?*_)]").lstrip("*_([")
            if "/" in word and _looks_like_path(word):
                yield NamedThing(PATH, word, is_sure=False)


def _list_in_span(span: str) -> Iterator[NamedThing]:
    if (place := _PLACE.fullmatch(span)) and _looks_like_path(place[1]):
        yield NamedThing(PATH, _strip_path(place[1]))
        yield NamedThing(PLACE, _write_place(place))
        return
    if _looks_like_path(span):
        yield NamedThing(PATH, _strip_path(span), is_sure=" " not in span)
    symbol = _SYMBOL.fullmatch(span)
    if symbol and _looks_like_symbol(symbol[1]):
        yield NamedThing(SYMBOL, symbol[1])
    if " " in span:
        yield from _list_in_command(span)


def _list_in_code(text: str) -> Iterator[NamedThing]:
    for line in text.split("\n"):
        command = line.partition(" #")[0].strip()
        if command and not command.startswith("#"):
            yield from _list_in_command(command[:NAME_CHARS])


def _list_in_command(text: str) -> Iterator[NamedThing]:
    """Each step of a line, and the files that it names."""
    for step in _STEPS.split(_PROMPT.sub("", text, count=1)):
        words = step.split()
        if words:
            yield NamedThing(COMMAND, step.strip())
        for word in words:
            if "/" in word and _looks_like_path(word):
                yield NamedThing(PATH, _strip_path(word), is_sure=False)


def _write_place(place: re.Match[str]) -> str:
    path = _strip_path(place[1])
    if place[6]:
        return f"{path}#{place[6]}"
    first = place[2] or place[4]
    last = place[3] or place[5] or first
    return f"{path}:{first}-{last}"


def _strip_path(text: str) -> str:
    return text.removeprefix("./")


def _looks_like_path(text: str) -> bool:
    if not text or len(text) > NAME_CHARS or _NOT_A_PATH.search(text):
        return False
    if text in BARE_NAMES:
        return True
    name = text.rstrip("/").rpartition("/")[2]
    stem, dot, suffix = name.rpartition(".")
    has_suffix = bool(dot and suffix.isalnum() and len(suffix) <= 8 and not suffix.isdigit())
    if " " in text:
        return has_suffix and "/" in text and not text.startswith(("cd ", "./"))
    return "/" in text or (has_suffix and (bool(stem) or suffix in SUFFIXES))


def _looks_like_symbol(text: str) -> bool:
    *_, last = re.split(r"\.|::|#", text)
    is_file = "." in text and last.casefold() in SUFFIXES
    return not is_file and len(last) >= SYMBOL_CHARS
