"""Secrets out of text that is stored or shared.

A log of an agent's work holds all that passed by: keys in command output, passwords in settings.
They are found by what a provider's key looks like and by the name that a value is given, in the
text as it is, as it would read without the escapes of JSON and of addresses, and as it would read
without the line ends that a window put into it. What is found is replaced by a mark that says which
rule found it, and lets the same secret be known again.

The other danger is a reader that destroys: ids, hashes, what a client encrypted for itself and the
structure around them are never touched, and a text that was redacted once stays as it is.
"""

from __future__ import annotations

from itertools import pairwise
from operator import itemgetter

from holdfast.errors import InvalidValueError
from holdfast.ground import canonical
from holdfast.ground import late_re as re
from holdfast.ground.redaction_rules import EXACT, OPEN, RULES, WHOLE, Rule, is_secret_field

TYPE_CHECKING = False
if TYPE_CHECKING:  # `typing` costs a hook five milliseconds
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any, NamedTuple

    class FoundSecret(NamedTuple):
        rule: str
        start: int
        end: int

    class RedactedText(NamedTuple):
        text: str
        found: list[FoundSecret]

    Span = tuple[int, int]
    Hit = tuple[int, int, int]  # start, end, and the rank of the rule
    Piece = tuple[int, int, int]  # start here, start in the text under it, width of a character
else:  # by hand: `namedtuple` writes code and compiles it, and every hook would wait for that

    class FoundSecret(tuple):
        __slots__ = ()
        rule, start, end = (property(itemgetter(index)) for index in range(3))

        def __new__(cls, rule, start, end):
            return tuple.__new__(cls, (rule, start, end))

    class RedactedText(tuple):
        __slots__ = ()
        text, found = (property(itemgetter(index)) for index in range(2))

        def __new__(cls, text, found):
            return tuple.__new__(cls, (text, found))


PASSES = 4
ENTROPY_BITS = 4.2

# Patterns are texts: `re` compiles each when it is needed first, and an import pays for none.
_MARKED = "[REDACTED:"
_MARK = r"\[REDACTED:[a-z_]{1,40}:[0-9a-f]{8}\]"
_ESCAPE = r"\\{1,8}(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|([\"'/nrt]))|%(?:25){0,3}([0-9a-fA-F]{2})"
_MEANS = {"n": "\n", "r": "\r", "t": "\t"}
# A line end that may be inside of a key: nothing but a quotation or the margin of a listing
# beside it.
_LINE_END = (
    r"(?<=[A-Za-z0-9_+/=.~-])(?:[\"'][ \t]{0,4}[+.]?)?[ \t]{0,2}\\?\r?\n"
    r"[ \t]{0,40}(?:[|>+#*-][ \t]|[0-9]{1,6}[→|:\t][ \t]?)?[\"']?(?=[A-Za-z0-9_+/=.~-])"
)
# A line of its own rather than the rest of a key: words, numbers and times, or too little to tell.
# Each part can be read in one way only: a line that almost fits would be tried in every combination
# of two.
_PART = r"(?:[0-9]++(?:T[0-9]*+)?|[A-Z]?[a-z]++|[A-Z]*+)"
_OTHER_LINE = rf".{{0,5}}|{_PART}(?:[_/+=.-]{_PART})*+"
_OPAQUE_FIELD = (
    r"(?:^|_)(?:id|ids|uuid|guid|sha|sha1|sha256|sha512|hash|hashes|digest|checksum|integrity|etag|cursor|signature"
    r"|fingerprint|nonce)$|^encrypted|encrypted_content|(?:Id|Ids|Uuid|Hash|Digest|Sha)$"
)
_RANKS: dict[str, list[int]] = {}  # of the rules that a hint is for; several share one
for _rank, _rule in enumerate(RULES):
    for _hint in _rule.hints:
        _RANKS.setdefault(_hint, []).append(_rank)
_FIELD_HINTS = next(rule.hints for rule in RULES if rule.name == "assigned_secret")
_ASSIGNED = next(rank for rank, rule in enumerate(RULES) if rule.name == "assigned_secret")
# A name and its value in two fields: `{"name": "DB_PASSWORD", "value": "…"}`, in YAML and in HTML.
_NAME_FIELDS = ("name", "key", "variable", "var", "field", "header")
_VALUE_FIELDS = ("value", "val")
_SET = r"[\"']?[ \t]{0,4}[:=][ \t]{0,4}"
_THEN = r"[ \t]{0,4},?\s{0,40}+[\"']?"
_NAMED = rf"\b(?:{'|'.join(_NAME_FIELDS)}){_SET}[\"']?([\w.-]{{1,100}}+)[\"']?"
_VALUED = (
    rf"\b(?:{'|'.join(_VALUE_FIELDS)}){_SET}"
    r"(?:\"([^\"\n]{1,4096}+)\"|'([^'\n]{1,4096}+)'|([^\s\"',}\]]{1,4096}+))"
)
_KEY_CHARS = 16  # of a key in an object that may be a secret itself; no provider has shorter ones
_LONG_WORD = r"(?<![A-Za-z0-9+/_=-])[A-Za-z0-9+/_-]{32,128}+={0,2}(?![A-Za-z0-9+/_=-])"
_PLAIN_WORD = r"[0-9a-f-]+|[0-9A-F-]+|[A-Za-z]+(?:[_/-][A-Za-z]*)*|sha\d+-.*"


def find_secrets(text: str) -> list[FoundSecret]:
    """Where each secret is, from first to last; no two overlap."""
    hidden = text
    if _MARKED in text:  # a pattern costs a hook more to compile than to use
        hidden = re.sub(_MARK, lambda mark: "\0" * len(mark[0]), text)
    found: list[FoundSecret] = []
    # Again while there is something: a key may only stand alone once its neighbour is gone.
    for _ in range(PASSES):
        new = _merge(_find_hits(hidden))
        if not new:
            break
        found += new
        hidden = _replace(hidden, new, lambda secret: "\0" * (secret.end - secret.start))
    return sorted(found, key=lambda secret: secret.start)


def redact(text: str, *, key: bytes = b"") -> RedactedText:
    """The text with `[REDACTED:rule:hash8]` for each secret, and where they stood.

    The hash of a weak password confirms a guess. With the key of a data folder, only there.
    """
    found = find_secrets(text)
    marked = _replace(text, found, lambda secret: _make_mark(text, secret, key))
    return RedactedText(marked, found)


def redact_value(value: Any, *, key: bytes = b"") -> tuple[Any, list[FoundSecret]]:
    """A JSON value without the secrets in its texts; ids, hashes and structure stay, and so do keys
    that are no secrets.
    """
    found: list[FoundSecret] = []

    def leaf(text: str, field: str) -> str:
        if is_opaque_field(field) and not _has_words(text):
            return text
        secrets = _find_secrets_of_field(text, field)
        found.extend(secrets)
        return _replace(text, secrets, lambda secret: _make_mark(text, secret, key))

    return _walk(value, "", leaf, 1), found


def describe_masked(fields: Mapping[str, Any]) -> tuple[str, ...]:
    """A note that names the fields in which something is masked, and never what it is."""
    masked = [name for name, value in fields.items() if _is_masked(value)]
    if not masked:
        return ()
    return (f"What looks like a secret was masked in: {', '.join(masked)}.",)


def _is_masked(value: Any) -> bool:
    texts = value if isinstance(value, list | tuple) else [value]
    return any(isinstance(text, str) and find_secrets(text) for text in texts)


def _has_words(text: str) -> bool:
    """Whether there are several: then it is not an id, whatever the field is called."""
    beginning = text.split(maxsplit=1)
    return len(beginning) > 1


def is_opaque_field(name: str) -> bool:
    """Whether a field of this name holds an id, a hash or something encrypted, but not a key."""
    return bool(re.search(_OPAQUE_FIELD, name)) and "key" not in name.lower()


def find_suspicious(text: str) -> list[FoundSecret]:
    """Long words that look random. For a warning only: most of them are hashes and ids, so nothing
    is changed by it.
    """
    found: list[FoundSecret] = []
    for word in re.finditer(_LONG_WORD, text):
        is_plain = re.fullmatch(_PLAIN_WORD, word[0])
        if not is_plain and _entropy(word[0]) >= ENTROPY_BITS:
            found.append(FoundSecret("high_entropy", *word.span()))
    return found


class _View:
    """A text as a reader sees it, which knows where each character is in the original."""

    __slots__ = ("_pieces", "_under", "text")

    def __init__(self, text: str, under: _View | None = None, pieces: list[Piece] | None = None):
        self.text = text
        self._under = under
        self._pieces = pieces or []

    def span(self, start: int, end: int) -> Span:
        """Where a part of this text is in the original."""
        if self._under is None:
            return start, end
        first, last = self.span_under(start, end)
        return self._under.span(first, last)

    def span_under(self, start: int, end: int) -> Span:
        first, _ = self._locate(start)
        _, last = self._locate(end - 1)
        return first, last

    def read(self, pattern: str, reading: Callable[[re.Match[str]], str]) -> _View:
        """The text with each match read as one character or none."""
        parts: list[str] = []
        pieces = [(0, 0, 1)]
        at = last = 0
        for match in re.finditer(pattern, self.text):
            start, end = match.span()
            character = reading(match)
            parts += (self.text[last:start], character)
            at += start - last
            if character:
                pieces.append((at, start, end - start))
                at += 1
            pieces.append((at, end, 1))
            last = end
        if not parts:
            return self
        parts.append(self.text[last:])
        return _View("".join(parts), self, pieces)

    def breaks(self, start: int, end: int) -> list[int]:
        """The places between two others where something was read as nothing."""
        from bisect import bisect_left, bisect_right  # most texts hold nothing that needs them

        first = bisect_right(self._pieces, start, key=_get_start)
        last = bisect_left(self._pieces, end, key=_get_start)
        return [_get_start(piece) for piece in self._pieces[first:last]]

    def _locate(self, at: int) -> Span:
        """Where the character starts and ends in the text under this one."""
        from bisect import bisect_right

        index = bisect_right(self._pieces, at, key=_get_start) - 1
        begins, place, width = self._pieces[index]
        start = place + at - begins
        return start, start + width


def _find_hits(text: str) -> Iterator[Hit]:
    """In every reading; a key that ends with its line is whole."""
    plain = _View(text)
    unescaped = _unescape(plain)
    seen: set[tuple[int, int]] = set()  # start and rank
    for view in dict.fromkeys((plain, unescaped)):
        for rank, rule in _list_candidates(view):
            for span in rule.spans(view.text):
                start, end = view.span(*span)
                seen.add((start, rank))
                yield start, end, rank
        for span in _find_named_values(view.text):
            yield *view.span(*span), _ASSIGNED
    for start, end, rank in _find_hits_over_lines(unescaped):
        if RULES[rank].lines == OPEN or (start, rank) not in seen:
            yield start, end, rank


def _find_named_values(text: str) -> Iterator[Span]:
    """Values whose name is in a field beside them, in either order."""
    lowered = text.lower()
    is_likely = _VALUE_FIELDS[1] in lowered and any(hint in lowered for hint in _FIELD_HINTS)
    if not is_likely:
        return
    for match in re.finditer(f"{_NAMED}{_THEN}{_VALUED}", text):
        name, *values = range(1, 5)
        yield from _list_secret_spans(match, name, values)
    for match in re.finditer(f"{_VALUED}{_THEN}{_NAMED}", text):
        *values, name = range(1, 5)
        yield from _list_secret_spans(match, name, values)


def _list_secret_spans(match: re.Match[str], name: int, values: list[int]) -> list[Span]:
    spans = [match.span(value) for value in values if match[value]]
    return [span for span in spans if is_secret_field(match[name], match.string[slice(*span)])]


def _find_hits_over_lines(view: _View) -> Iterator[Hit]:
    joined = _join_lines(view)
    if joined is view:
        return
    for rank, rule in _list_candidates(joined):
        if rule.lines == WHOLE:
            continue
        for start, longest in rule.spans_over_lines(joined.text):
            end = _find_end(rule, joined, start, longest)
            first, last = joined.span_under(start, end)
            is_over_lines = "\n" in view.text[first:last]
            if is_over_lines and _stands_alone(rule, view.text, first, last):
                yield *view.span(first, last), rank


def _stands_alone(rule: Rule, text: str, start: int, end: int) -> bool:
    """Whether no letter or digit touches it; after the end this matters for exact rules only."""
    before = text[max(0, start - 1) : start]
    if before.isalnum():
        return False
    after = text[end : end + 1]
    return rule.lines != EXACT or not after.isalnum()


def _find_end(rule: Rule, joined: _View, start: int, end: int) -> int:
    """Where the key is whole and the next line is a line of its own, else the end."""
    breaks = joined.breaks(start, end)
    for at, following in pairwise((*breaks, end)):
        is_other = re.fullmatch(_OTHER_LINE, joined.text[at:following])
        if is_other and re.compile(rule.pattern).fullmatch(joined.text, start, at):
            return at
    return end


def _list_candidates(view: _View) -> Iterator[tuple[int, Rule]]:
    lowered = view.text.lower()
    found = [hint for hint in _RANKS if hint in lowered]
    ranks = {rank for hint in found for rank in _RANKS[hint]}
    for rank in sorted(ranks):
        if RULES[rank].has_word(view.text):
            yield rank, RULES[rank]


def _merge(hits: Iterator[Hit]) -> list[FoundSecret]:
    """What overlaps is one secret, named by the rule that knows most."""
    merged: list[Hit] = []
    last_end = 0
    for start, end, rank in sorted(hits):
        if start < last_end:
            first, _, best = merged.pop()
            start, end, rank = first, max(last_end, end), min(best, rank)
        merged.append((start, end, rank))
        last_end = end
    return [FoundSecret(RULES[rank].name, start, end) for start, end, rank in merged]


def _replace(text: str, found: list[FoundSecret], instead: Callable[[FoundSecret], str]) -> str:
    parts: list[str] = []
    last = 0
    for secret in found:
        parts += (text[last : secret.start], instead(secret))
        last = secret.end
    parts.append(text[last:])
    return "".join(parts)


def _make_mark(text: str, secret: FoundSecret, key: bytes) -> str:
    """The same for the same secret, however it was written."""
    written = _View(text[secret.start : secret.end])
    plain = _join_lines(_unescape(written)).text
    digest = canonical.sha256(key, plain.encode(errors="surrogatepass")).hex()
    return f"[REDACTED:{secret.rule}:{digest[:8]}]"


def _unescape(view: _View) -> _View:
    """Twice: JSON may be part of an address, and an address in JSON."""
    if "\\" not in view.text and "%" not in view.text:
        return view
    return view.read(_ESCAPE, _read_escape).read(_ESCAPE, _read_escape)


def _join_lines(view: _View) -> _View:
    if "\n" not in view.text:
        return view
    return view.read(_LINE_END, lambda _: "")


def _read_escape(escape: re.Match[str]) -> str:
    unicode, byte, letter, percent = escape.groups()
    code = unicode or byte or percent
    if code:
        return chr(int(code, 16))
    return _MEANS.get(letter, letter)


def _get_start(piece: Piece) -> int:
    return piece[0]


def _walk(value: Any, field: str, leaf: Callable[[str, str], str], depth: int) -> Any:
    if isinstance(value, str):
        return leaf(value, field)
    if depth > canonical.MAX_DEPTH:
        problem = f"is nested deeper than {canonical.MAX_DEPTH} levels"
        raise InvalidValueError("value", "…", problem)
    if isinstance(value, dict):
        fields = [(name, item, _name_member(value, str(name))) for name, item in value.items()]
        return {
            _walk_key(name, leaf): _walk(item, own, leaf, depth + 1) for name, item, own in fields
        }
    if isinstance(value, list):
        names = [_name_item(value, place) or field for place in range(len(value))]
        return [_walk(item, name, leaf, depth + 1) for item, name in zip(value, names, strict=True)]
    return value


def _walk_key(name: Any, leaf: Callable[[str, str], str]) -> Any:
    """A key stays as it is, unless it is a secret itself."""
    if not isinstance(name, str) or len(name) < _KEY_CHARS:
        return name
    return leaf(name, "")


def _name_member(members: dict[Any, Any], name: str) -> str:
    """What a member is called: a value by the name that stands beside it."""
    if name.casefold() not in _VALUE_FIELDS:
        return name
    names = [item for key, item in members.items() if str(key).casefold() in _NAME_FIELDS]
    return next((item for item in names if isinstance(item, str)), name)


def _name_item(items: list[Any], place: int) -> str | None:
    """What an item of a list is called: by the option before it, or the variable of a pair."""
    before = items[place - 1] if place else None
    if not isinstance(before, str):
        return None
    is_pair = len(items) == 2 and before.isupper()
    is_name = is_pair or before.startswith("-")
    if is_name and any(hint in before.casefold() for hint in _FIELD_HINTS):
        return before.strip("-")
    return None


def _find_secrets_of_field(text: str, field: str) -> list[FoundSecret]:
    found = find_secrets(text)
    if found or (_MARKED in text and re.search(_MARK, text)):
        return found
    folded = field.casefold()
    if not any(hint in folded for hint in _FIELD_HINTS) or not is_secret_field(field, text):
        return []
    return [FoundSecret("assigned_secret", 0, len(text))]


def _entropy(word: str) -> float:
    from collections import Counter
    from math import log2

    shares = [count / len(word) for count in Counter(word).values()]
    return -sum(share * log2(share) for share in shares)
