"""Whether lines of a text are code, data, or the work of a shell, by their form.

One line decides little: `return codes` is prose, and so is a list of functions. So a line counts as
strong or weak, and a run of them decides. A list of an author's own words is never code, whatever
its signs are; an assignment of a plain number is a setting that is worth telling.

Each pattern is tried at the beginning of one line and cannot be read in two ways, so a hostile text
costs no more than a long one.
"""

from __future__ import annotations

import itertools

from holdfast.ground import light_json as json
from holdfast.ground.frozen import dataclass
from holdfast.ground.patterns import compile_later

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Match

STRONG, WEAK, NEUTRAL, NONE = 3, 2, 1, 0
LINE_CHARS = 400  # of a longer line only the beginning is compared
CSV_LINES, CSV_COMMAS = 4, 2
NESTED_KEYS = 3
HARD_SIGNS = 3
SIGNED_LINES = 3
PAIRS_IN_LINE = 5
BLOB_UPPER, BLOB_DIGITS = 0.15, 0.08

_QUOTE = compile_later(r"(?:[>•]\s+)+")
_ITEM = compile_later(r"(?:[-*+•–]\s+(?:\[[ xX]\]\s+)?|\d{1,2}[.)]\s+|\([a-z0-9]\)\s+)")
_SIGN = compile_later(r"[-+](?![-+])")
# What a listing or a search writes before a line.
_LISTING = compile_later(
    r"\s*\d{1,6}\s?(?:→|\||\t|:\s{2})|(?:[\w.-]{1,80}/){0,20}[\w.-]{1,80}\.\w{1,8}:\d{1,6}[:-]"
)
_INLINE = compile_later(r"(?<!`)`[^`\n]{1,200}`(?!`)")
_WHOLE_INLINE = compile_later(r"\s*(?:[-*+•] |\d{1,2}[.)] )?`([^`]+)`[,;]?\s*$")
MASK = "▯"

_SQL = (
    r"(?:SELECT|INSERT\ INTO|UPDATE|DELETE\ FROM|ALTER\ TABLE|DROP\ (?:TABLE|INDEX)"
    r"|CREATE\ (?:OR\ REPLACE\ )?(?:TABLE|INDEX|UNIQUE|VIEW|FUNCTION|POLICY|TRIGGER|TYPE)"
    r"|WITH\ \w+\ AS)\b(?!:)"
)
_SQL_DEFINITION = (
    r"create (?:or replace )?(?:table|(?:unique )?index|view|function|trigger|policy)"
    r" (?:concurrently )?(?:if not exists )?[\w.\"]+"
    r" ?(?:\(|on \w|returns\b|as\b|before\b|after\b)"
)
_SQL_COLUMN = (
    r"\w+ (?:uuid|text|int|integer|bigint|boolean|timestamptz|jsonb|serial|varchar\S*)"
    r"(?: (?:not null|primary key|unique|default \S+))*,?$"
)
_STRONG = compile_later(
    "|".join(
        [
            r"(?:async )?def [\w.]+\s*\([^)]*\)?.*[:(,]|(?:async )?def \w+\([^)]*\)$|def self\.",
            r"class \w+(?:\([^)]*\))?:$",
            r"(?:export )?(?:default )?(?:const|let|var|val) [\w{\[][^=]{0,120}= ?\S",
            r"(?:export )?(?:default )?(?:async )?function\*? ?\w*\(",
            r"func (?:\([^)]*\) )?\w+\(|(?:pub )?(?:async )?fn \w+\s*[(<]|use [\w:{}*, ]++;$",
            r"(?:public|private|protected) [\w<>\[\], ]{1,120}[({;=]",
            r"from [\w.]+ import [\w*(]|import .*from ['\"]|import ['\"(]",
            r"#include\s*[<\"]|#!/|<\?(?:php|xml)|#\[derive",
            r"(?:try|else|finally):$|except(?: .*)?:$|end;?$|fi$|esac$",
            _SQL,
            _SQL_DEFINITION,
            r"(?:add|drop|alter) column \w|language \w+ as|insert into \w+ ?\(",
            r".*\bselect .* from \w+ where\b",
            r"(?:export )?(?:declare )?(?:type|interface|enum) \w+(?:<[^=]{0,80}>)? ?(?:[={]|ext)",
            r"[\"'][^\"'\n]{0,200}[\"'],(?:\s+#.*)?$|.*</[A-Za-z][\w-]*>|\{%.*%\}|\)\s*->.*",
            r".*\): ?[\w<>\[\]| ]+;$",
            _SQL_COLUMN,
            r"(?:create|alter) \w+ \w+ ?\($",
            r"</?[A-Za-z][\w-]*(?:\s[^<>]{0,300})?/?>(?:.*>)?$|<[A-Z]\w* .*>$",
            r"[\[{(]*\s*[\"'][^\"']{1,80}[\"']\s*:\s*\S",
            r"[\])}]+[;,)]*$|[\])}]+ (?:else|catch|finally|while)\b",
            r".*(?:[{]|=> ?\(?)$|.*; (?:then|do)$|set -[a-z]|export \w+=",
            r".*\w\([^()]{0,200}\)+;$|.*\w ?[-+*/|&]?= ?\S.*;$",
            r"(?:return|throw|break|continue|import|using|package|echo|await|yield)\b.*;$",
        ]
    )
)
_WEAK = compile_later(
    "|".join(
        [
            r"(?:async )?(?:if|elif|for|while|with|match|case) .*:$",
            r"(?:await |return |print|yield |raise |assert |throw |\$)?[\w.:]++!?\(.*\)[;:,]?$",
            r"return(?:$| [rbf]?[\"'\[({]| (?:None|null|true|false|True|False|-?\d+)$)",
            r"return .*[\w\])](?:[(\[]|[.+*/]\w|\s[-+*/<>]\s?\w)",
            r"raise$|raise \w+Error|assert \S+ (?:==|is|in|!=|<|>) |throw new |await \w+\(",
            r"import [\w.]+(?: as \w+)?$|package \w+$|module [A-Z]\w*$",
            r"(?:FROM|WHERE|JOIN|LEFT JOIN|GROUP BY|ORDER BY|HAVING|VALUES|SET|LIMIT)\b(?!:) ?\S",
            r"(?:ENV|COPY|RUN|WORKDIR|CMD|ENTRYPOINT|EXPOSE|ARG) \S",
            r"[rbf]{0,2}(?:\"{3}|'{3})|[A-Z_]+,$|\[{1,2}[\w.\"-]+\]{1,2}$",
            r"<[A-Za-z][\w-]*(?:\s[^<>]*)?$",
            r"\w+: [\w.\[\]|, ]+(?: = [^,]+)?,$|.*\$\(\w+\)|(?:begin|declare|\$\$;?)$",
            r"(?:order by|group by|limit|returns|language|and|or|on) \w+[.=(_;]",
            r"where \w.*(?:=|\bis (?:not )?null\b)|limit [?$\d]|end(?: if| case)?;$",
            r"(?:order by|group by) [\w.]+(?:,| desc| asc|$)",
            r"\(?(?:and|or|on|case when) \(?\w+[.(=]",
            r"(?:from|join|(?:left|cross|inner) join) [\w.]+(?: \w+)?(?:$|,| (?:join|on|where) )",
            r"(?:grant|revoke) \w.* on \w.*;$|update \w+ set \w|returning \w+,",
            r"select .*(?:,|\bfrom\b.*[=,;(].*)$|union(?: all)?$",
            r"@\w[\w.]*\(.*\)$|//|/\*|.*\($",
            r"[a-z-]+: ?[^;:]+;$|\w+\??: [\w<>\[\]|]+;$",
        ]
    )
)
_ASSIGNED = compile_later(
    r"(?:[\w.\[\]'$-]++(?:, ?[\w.]++)*|\"[^\"\n]{1,80}\")(?:: [\w\[\], |.]++)?"
    r" ?(?::|[-+*/|&^%]|\*\*|//)?=(?!=) ?(\S.*)$"
)
_OWN_FIELD = ("self.", "this.")
_COMMENT = compile_later(r"(?:--|#|//) \S")
_ENDS_BLOCK = compile_later(r"(?:return|raise|throw|yield|await|break|continue)\b|pass$")
_OPENS_BLOCK = compile_later(
    r"(?:if|elif|while|with|match) .*[=<>()'\"\[\].].*:$|(?:async )?for [\w, ]+ in .*:$|with \w+:$"
)
_ONE_LINE = compile_later(
    r"\bdef \w+\([^)\n]{0,200}\)[^:\n]{0,60}: ?(?:return|raise|pass)\b"
    r"|\b(?:fn|func|function) \w+\([^)\n]{0,200}\)[^{\n]{0,60}\{ ?\w"
    r"|\bfor ?\([^;\n]{1,80};[^;\n]{0,80};[^)\n]{0,80}\)"
)
_GOES_ON = compile_later(r"return [\w.]+$")
_PLAIN_VALUE = compile_later(r"[\w.:/%+-]*$")
# A list has one space after its sign; code has none or many. `+5 %` is a figure.
_ATTACHED = compile_later(r"[-+](?:$|[^\s\d+-]| {2})")
# One space is enough where what is removed and what is added are both code.
_REMOVED, _ADDED = compile_later(r"- (?=\S)"), compile_later(r"\+ (?=\S)")
_SURELY_DIFF = compile_later(r"[-+](?:$| {4,}\S)")
_HARD_SIGN = compile_later(
    r"=>|(?<![=!<>])[=!]==?(?!=)|&&|\|\||\)\s?(?=\{)|;\s?(?=\})|\{\s?(?:return|const|let|var|echo)\b"
    r"|\breturn \w+[;(]"
)
_PAIR = compile_later(r"[\"'][\w -]{1,40}\\{0,4}[\"']\s?:\s?(?=\S)")
_BLOB = compile_later(r"[A-Za-z0-9+/_-]{200,}+")
_NESTED_KEY = compile_later(r"(\s{2,})(?:- )?[\w.-]+:(?:\s+\S+)?\s*$")
_SETTINGS = compile_later(
    r"(?m)^\[{1,2}[\w.\"-]{1,80}\]{1,2}[ \t]*\n[\w.\"-]{1,80} ?= ?[^\n]+\n[\w.\"-]{1,80} ?= ?\S"
    r"|^(?:(?:export )?[A-Z][A-Z0-9_]{2,60}=[^\n]*\n){2}(?:export )?[A-Z][A-Z0-9_]{2,60}="
)
_HEX_DUMP = compile_later(r"(?m)^\s{0,8}[0-9a-f]{6,8}:?[ \t]+(?:[0-9a-f]{2,4}[ \t]+){4}")
_OUTPUT = compile_later(
    r"(?m)^(?:panic: [^\n]*\n\n|thread '[^'\n]{1,80}' panicked |goroutine \d+ \[)"
    r"|Traceback \(most recent call last\):[ \t]*\n"
    r"|^\s{1,40}at \S[^\n]{0,300}:\d+(?::\d+)?\)?$"
    r"|^={1,80} [^=\n]{0,200}\b\d+ (?:passed|failed|error)[^=\n]{0,80} in [\d.]+s\b"
    r"|^\S{1,80} \S{1,80} \S{1,80} \[\d\d/\w{3}/\d{4}:\d\d:"
    r"|^[-bcdlps][-rwxsStT]{9}[.+@]? +\d+ |^E {3,}\S"
    r"|^(?:\[?(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d:\d\d\S{0,12}\s{1,4}"
    r"\[?(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL)\b[^\n]*\n){2}"
)


@dataclass(frozen=True)
class Line:
    """A line without what stands before it: the marks of a quotation, of a list, of a listing."""

    text: str
    is_item: bool
    sign: str  # of a diff: + or - right before its code
    indent: int


def read_line(line: str) -> Line:
    listing = _LISTING.match(line)
    listed = line[listing.end() :] if listing else line
    body = listed.strip()
    if quote := _QUOTE.match(body):
        body = body[quote.end() :]
    sign = body[0] if _SIGN.match(body) else ""
    rest = body[1:] if sign else body
    is_attached = bool(sign) and (not rest.startswith(" ") or rest.startswith("  "))
    indented = rest if sign else listed
    item = _ITEM.match(body)
    if item:
        body = body[item.end() :]
    elif sign:
        body = rest
    return Line(
        body.strip()[:LINE_CHARS],
        is_item=bool(item) and not is_attached,
        sign=sign if is_attached else "",
        indent=len(indented) - len(indented.lstrip()),
    )


def mask_inline(line: str) -> str:
    """Code that is named inside of a sentence; a line that is nothing else stays."""
    if "`" not in line:
        return line
    if whole := _WHOLE_INLINE.match(line):
        return whole[1]
    return _INLINE.sub(MASK, line)


def weigh(line: Line) -> int:
    text = line.text
    if not text:
        return NONE
    if _STRONG.match(text):
        return STRONG
    if line.is_item:
        return NONE
    if _WEAK.match(text):
        return WEAK
    assigned = _ASSIGNED.match(text)
    if assigned is None:
        return NONE
    is_setting = _PLAIN_VALUE.match(assigned[1]) and not text.startswith(_OWN_FIELD)
    return NEUTRAL if is_setting and not line.sign else WEAK


class _Run:
    """Lines of code that follow one another; neither an empty line ends it nor a setting."""

    def __init__(self) -> None:
        self.end()

    def end(self) -> None:
        self.first = self.strong = self.weak = self.settings = self.signed = 0
        self.opened: int | None = None  # how far the line is indented that begins a block

    def take(self, number: int, line: Line) -> str | None:
        """What the lines up to here are, if that is known now."""
        weight = self._weigh(line)
        if weight in (STRONG, WEAK):
            return self._add(number, line, weight)
        if weight == NONE and line.text and not self._is_between(line):
            self.end()
        self.settings += weight == NEUTRAL
        return None

    def _weigh(self, line: Line) -> int:
        """A line that is prose elsewhere may be code after code."""
        weight = weigh(line)
        goes_on = self.strong + self.weak and _GOES_ON.match(line.text)
        ends = self._is_inside(line) and _ENDS_BLOCK.match(line.text)
        is_set = weight == NEUTRAL and self._is_inside(line)
        return WEAK if is_set or (weight == NONE and (goes_on or ends)) else weight

    def _is_between(self, line: Line) -> bool:
        is_comment = self.strong + self.weak and _COMMENT.match(line.text)
        return self._is_inside(line) or bool(is_comment)

    def _is_inside(self, line: Line) -> bool:
        return self.opened is not None and line.indent > self.opened

    def _add(self, number: int, line: Line, weight: int) -> str | None:
        if not self.strong + self.weak:
            self.first = number
        self.strong += weight == STRONG
        self.weak += weight == WEAK
        self.signed += bool(line.sign)
        is_inside = self._is_inside(line)
        if _opens_block(line, weight):
            self.opened = line.indent
        if self.signed >= 2:
            return "a diff"
        return "code" if is_inside or self._is_enough() else None

    def _is_enough(self) -> bool:
        if self.strong:
            return self.strong > 1 or self.weak > 1
        return self.weak > 2 or (self.weak > 1 and self.weak + self.settings > 3)


def _opens_block(line: Line, weight: int) -> bool:
    if weight == STRONG:
        return line.text.endswith((":", "{", "(", "[", ">"))
    return _OPENS_BLOCK.match(line.text) is not None


def _find_signed(lines: list[str]) -> int | None:
    """Three lines in a row that begin as those of a diff do."""
    run = sure = 0
    for number, line in enumerate(lines):
        is_signed = _ATTACHED.match(line) is not None
        run = run + 1 if is_signed else 0
        sure = sure + bool(_SURELY_DIFF.match(line)) if is_signed else 0
        if run >= SIGNED_LINES and sure:
            return number - run + 1
    return _find_replaced(lines)


def _find_replaced(lines: list[str]) -> int | None:
    """A line of code that is removed, and right after it the line that is added in its place."""
    for number, (line, after) in enumerate(itertools.pairwise(lines)):
        removed, added = _REMOVED.match(line), _ADDED.match(after)
        if removed and added and all(map(_is_code, (line[2:], after[2:]))):
            return number
    return None


def _is_code(text: str) -> bool:
    return weigh(read_line(mask_inline(text))) != NONE


def find_code(lines: list[str]) -> tuple[str, int] | None:
    """The reason and the number of the line, from 0."""
    signed = _find_signed(lines)
    if signed is not None:
        return "a diff", signed
    run = _Run()
    for number, line in enumerate(lines):
        masked = mask_inline(line)
        if reason := run.take(number, read_line(masked)):
            return reason, run.first
        beginning = masked[:LINE_CHARS]
        if len(_HARD_SIGN.findall(beginning)) >= HARD_SIGNS or _ONE_LINE.search(beginning):
            return "code", number
        if len(_PAIR.findall(line)) >= PAIRS_IN_LINE:
            return "file contents", number
    return None


def find_contents(text: str, lines: list[str]) -> tuple[str, int] | None:
    """Data of a file, or what a program has printed."""
    if _is_json(text):
        return "file contents", 0
    if printed := _OUTPUT.search(text):
        return "the output of a program", text.count("\n", 0, printed.start())
    found = _SETTINGS.search(text) or _HEX_DUMP.search(text) or _find_blob(text)
    if found:
        return "file contents", text.count("\n", 0, found.start())
    at = _find_table(lines)
    if at is None:
        at = _find_nested_keys(lines)
    return None if at is None else ("file contents", at)


def _is_json(text: str) -> bool:
    stripped = text.strip()
    if stripped[:1] not in ("{", "[") or stripped[-1:] not in ("}", "]"):
        return False
    try:
        value = json.loads(stripped)
    except (ValueError, RecursionError):
        return False
    return len(value) > 2 or (isinstance(value, dict) and bool(value))


def _find_blob(text: str) -> Match[str] | None:
    """A long word of both cases and digits, as an encoded file is; a path has few of both."""
    for word in _BLOB.finditer(text):
        upper = sum(character.isupper() for character in word[0])
        digits = sum(character.isdigit() for character in word[0])
        size = len(word[0])
        if upper > BLOB_UPPER * size and digits > BLOB_DIGITS * size:
            return word
    return None


def _find_table(lines: list[str]) -> int | None:
    """Rows of as many cells: by commas without a space, or by tabs."""
    for separator, least in ((",", CSV_LINES), (";", CSV_LINES), ("\t", 3)):
        run = last = 0
        for number, line in enumerate(lines):
            count = line.strip().count(separator)
            is_row = count >= CSV_COMMAS and f"{separator} " not in line and "|" not in line
            run = run + 1 if is_row and count == last else int(is_row)
            last = count
            if run >= least:
                return number - run + 1
    return None


def _find_nested_keys(lines: list[str]) -> int | None:
    """Keys with one word each, at two depths: YAML, and not a list of what is done."""
    count = 0
    depths: set[int] = set()
    for number, line in enumerate(lines):
        key = _NESTED_KEY.match(line)
        if key:
            count += 1
            depths.add(len(key[1]))
            if count >= NESTED_KEYS and len(depths) > 1:
                return number
        elif not line.strip():
            count, depths = 0, set()
    return None
