"""Which sentences of a prompt a person has written, and which only stand in it.

Prompts carry more than words: logs, diffs, tables, mails, code. Such lines are recognised by their
form and left out, and they end the sentence before them. Where a line could be either, it is left
out: a missing quotation costs less than one that no person has said.

Pure, and linear in the length of the text: of a very long one only the beginning and the end are
looked at.
"""

from __future__ import annotations

import re

from holdfast.ground.patterns import compile_later

EDGE_CHARS = 10_000  # of a long text, at its beginning and at its end
LINE_CHARS = 2_000  # a longer line is a paste
WRAPPED_CHARS = 30  # a shorter line was ended by the person
SENTENCE_CHARS = 300
FENCE = "```"
MASK = "▯"  # in the place of what is not prose

_LIST_MARK = compile_later(r"(?:[-*•–]|\d{1,2}[.)]|\([a-z0-9]\))\s+")
_FENCED = compile_later(r"\s*(?:```|~~~)")
_DIFF_BEGIN = compile_later(
    r"diff --git |@@ |(?:---|\+\+\+) \S|\*\*\* (?:Begin|Update|Add|Delete) "
)
_DIFF_LINE = compile_later(r"[-+ @]|index [0-9a-f]+\.\.|$")
_TRACE_BEGIN = compile_later(r"Traceback \(most recent|goroutine \d|thread '.*' panicked")
_TAG_BEGIN = compile_later(r"<([a-z][\w-]*)(?:\s[^<>]{0,200})?>")
_NOT_PROSE = compile_later(
    "|".join(
        [
            r">",  # a quoted mail
            r"(?:From|To|Cc|Sent|Date|Subject|Reply-To): ",
            r"\S.{0,200}\bwrote:$",
            r"[/!$](?=\S)(?:\S+)\s*\S*$|!\S",  # a command to the client
            r"[$%#❯] \S|>>>|PS [A-Z]:",  # a prompt of a shell
            r"[{}\[\]()]+[,;]?$|[{\[].*[}\]],?$|\"[^\"]{1,80}\"\s*:",  # JSON
            r"</?[A-Za-z!?][^>]*>?",  # XML
            r"\|.*\||.*\|.*\|.*\|",  # a table
            r"[-=_*+ |:]{3,}$|={3,}|-{3,}",
            r"[-dlbcps][rwxsStT-]{9}|total \d+$|[├└│]",  # a listing
            r"[~.]{0,2}/?(?:[\w@.+-]+/)+[\w@.+-]*$|[\w-]+\.\w{1,5}$",
            r"\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\d\d:\d\d:\d\d|\[\d",  # a log
            r"\[?(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL)\b[\]:\s]",
            r"\w{3} +\d{1,2} \d\d:\d\d:\d\d ",
            r"(?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception|Warning)\b(?::|$)",  # an error
            r"at \S+ ?\(|at \S+:\d+|File \"|Caused by:|error(?:\[\w+\])?: ",
            r"npm (?:ERR|WARN|err|warn)|[Ww]arning: ",
            r"\w[\w.-]{0,20}: \(\d+\) |\S+:\d+:\d+:? ",
            r"E {3}|(?:FAILED|PASSED|ERROR|FAIL|ok|PASS)\s+\S*[/.:]\S*|--- FAIL|[✓✗✔✘×]",
            r"(?:async )?(?:def|class|fn|func|function) \w+.*[({:]$|(?:const|let|var) \w.* = ",
            r"from \S+ import |import [\w.{]\S*(?: from .*)?;?$|#include|@\w+(?:\(.*\))?$",
            r"(?:SELECT|INSERT INTO|UPDATE|DELETE\ FROM|CREATE|ALTER|DROP) (?:[A-Z*]|\w+ SET )",
            r"[\w.\[\]'\"]+ [+*-]?= \S+;?$(?<=[;'\")\]])|.*(?:[;{]|=>)$|//|/\*",
        ]
    )
)
_INDENTED = compile_later(r"(?: {4}|\t)")
_COLUMNS = compile_later(r"[^\t]*\t[^\t]*\t")
_SENTENCE_END = compile_later(r"[.!?…]+[\"'”’)\]]*(?=\s|$)|[。！？]+[」』）”]*")
_ABBREVIATED = compile_later(
    r"\b(?:e\.g|i\.e|vs|resp|incl|excl|dr|mrs?|z\.b|d\.h|p\.ej|cf)\.\s\S$"
    r"|\b(?:no|nr|approx|max|min|ca|fig)\.\s\d$",
    re.IGNORECASE,
)
_CLAUSE_END = compile_later(r"[;:](?=\s)|\s[–—-](?=\s)|[；：]")

_INLINE_CODE = compile_later(r"`([^`]{1,200})`")
_SETTING = compile_later(r"[\w.-]{1,40}\s?[=:]\s?\d[\d.]{0,12}\w{0,3}$")
_QUOTED = compile_later(
    r"\"[^\"]{1,300}\"|“[^”]{1,300}”|«[^»]{1,300}»|„[^“”]{1,300}[“”]"
    r"|「[^」]{1,300}」|『[^』]{1,300}』"
)
_CITED = compile_later(r"\b(?:said|says|say|told (?:me|us)|wrote|answered)[,:]?\s*$", re.IGNORECASE)
_NAMED = compile_later(
    "|".join(
        [
            r"https?://\S+|www\.\S+|[\w.+-]+@[\w-]+\.[\w.]+",
            r"\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F-]{10,}",
            r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}\b",
            r"\b\d{1,3}(?:\.\d{1,3}){3}\b(?=:)?",
            r"(?<![\w/])(?:[~.]{0,2}/)?(?:[\w@.+-]{1,80}/){1,20}[\w@.+-]{0,80}(?::\d+)*",
            r"\b[\w-]{1,80}\.[a-z]{1,5}:\d+(?:[:-]\d+)*",
            r"\b[A-Z][A-Z0-9]{1,9}-\d+\b|#\d+\b",
            r"\b(?!v\d+\.)[A-Za-z_][A-Za-z_-]{0,40}\d[\w-]*\b(?!\.\d)",
            r"\b(?=[^\W\d])(?=\w*_)(?=\w*\d)\w+\b",
        ]
    )
)


def list_sentences(text: str) -> list[str]:
    """What a person says in a prompt, sentence by sentence, with white space collapsed."""
    sentences: list[str] = []
    for passage in list_passages(text):
        sentences += split_sentences(passage)
    return sentences


def list_passages(text: str) -> list[str]:
    """What a person says in a prompt, in the lines that belong together."""
    passages: list[str] = []
    for edge in take_edges(text):
        passages += _join_lines(edge)
    return passages


def mask(sentence: str) -> str:
    """A sentence without code, quotations, addresses and names, which are not about anything."""
    shown = _INLINE_CODE.sub(_mask_code, sentence)
    return _NAMED.sub(MASK, _QUOTED.sub(_mask_quotation, shown))


def mask_quotations(passage: str) -> str:
    """A passage without code and without the words of others, also those that it cites."""
    return _QUOTED.sub(MASK, _INLINE_CODE.sub(MASK, passage))


def _mask_code(found: re.Match[str]) -> str:
    """A setting with its value is as good as said."""
    return found[1] if _SETTING.match(found[1]) else MASK


def _mask_quotation(found: re.Match[str]) -> str:
    """What another person has said is repeated on purpose."""
    begin = max(0, found.start() - 20)
    before = found.string[begin : found.start()]
    return found[0] if _CITED.search(before) else MASK


# --- lines ----------------------------------------------------------------------------------------


def take_edges(text: str) -> list[str]:
    """The text, or its beginning and its end without the lines that were cut."""
    if len(text) <= 2 * EDGE_CHARS:
        return [text]
    begin = text[:EDGE_CHARS].rpartition("\n")[0]
    at = text.find("\n", len(text) - EDGE_CHARS)
    if at < 0:
        return [begin]
    is_in_fence = text.count(FENCE, 0, at) % 2 == 1
    return [begin, FENCE + text[at:] if is_in_fence else text[at:]]


def _join_lines(text: str) -> list[str]:
    """Lines that belong together, as one; each that is not prose ends what was before it."""
    passages: list[str] = []
    is_open = False  # whether the next line may continue the last one
    for line in _list_prose(text):
        words = " ".join(line.split())
        item = _LIST_MARK.match(words)
        if item:
            words = words[item.end() :]
        if is_open and not item and words[:1].islower():
            passages[-1] += f" {words}"
        elif words:
            passages.append(words)
        is_open = len(words) >= WRAPPED_CHARS and not words.endswith((".", "!", "?", ":", "…"))
    return passages


def _list_prose(text: str) -> list[str]:
    """The lines of a text; an empty one in the place of each that is not prose."""
    kept = []
    state = _Lines()
    for line in text.split("\n"):
        is_prose = len(line) <= LINE_CHARS and state.take(line)
        kept.append(line if is_prose else "")
    return kept


class _Lines:
    """Where in a text a line is: in a fenced block, in a diff, below a trace, between tags."""

    def __init__(self) -> None:
        self.is_in_fence = self.is_in_diff = self.is_in_trace = False
        self.tag = ""

    def take(self, line: str) -> bool:
        """Whether it is prose."""
        if _FENCED.match(line):
            self.is_in_fence = not self.is_in_fence
            return False
        if self.is_in_fence or self._is_between_tags(line):
            return False
        return not self._is_in_block(line) and _is_prose(line)

    def _is_between_tags(self, line: str) -> bool:
        if self.tag:
            if f"</{self.tag}>" in line:
                self.tag = ""
            return True
        opened = _TAG_BEGIN.match(line)
        if opened and f"</{opened[1]}>" not in line:
            self.tag = opened[1]
        return bool(opened)

    def _is_in_block(self, line: str) -> bool:
        if _DIFF_BEGIN.match(line):
            self.is_in_diff = True
        elif self.is_in_diff:
            self.is_in_diff = bool(_DIFF_LINE.match(line)) and bool(line.strip())
        if _TRACE_BEGIN.match(line):
            self.is_in_trace = True
        elif self.is_in_trace:
            self.is_in_trace = line.startswith((" ", "\t"))
        return self.is_in_diff or self.is_in_trace


def _is_prose(line: str) -> bool:
    words = line.strip()
    if not words:
        return False
    if _INDENTED.match(line) and not _LIST_MARK.match(words):
        return False
    return not _NOT_PROSE.match(words) and not _COLUMNS.match(words)


# --- sentences ------------------------------------------------------------------------------------


def split_sentences(passage: str) -> list[str]:
    """At the ends of sentences; one that is too long also at its semicolons and colons."""
    sentences = []
    for sentence in _cut_at(passage, _SENTENCE_END):
        if len(sentence) <= SENTENCE_CHARS:
            sentences.append(sentence)
        else:
            sentences += _cut_at(sentence, _CLAUSE_END)
    return [sentence for sentence in sentences if len(sentence) <= SENTENCE_CHARS]


def _cut_at(text: str, ends: re.Pattern[str]) -> list[str]:
    pieces = []
    begin = 0
    for end in ends.finditer(text):
        around = text[max(begin, end.end() - 10) : end.end() + 2]
        if end[0] == "." and _ABBREVIATED.search(around):
            continue
        pieces.append(text[begin : end.end()].strip())
        begin = end.end()
    pieces.append(text[begin:].strip())
    return [piece for piece in pieces if piece]
