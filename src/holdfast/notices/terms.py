"""What an entry is about: the files, symbols, dependencies, commands and words that it names. Pure.

Most words of a decision stand in every other one, so they are weighed: a name is telling, a word of
the trade is not, and neither is one that many entries of this repository have. What an alternative
is *for* matters less than what it is: "Redis streams for the queue" is about Redis streams.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from holdfast.ground.patterns import compile_later
from holdfast.notices.model import ACCEPTED, ANY_DEPENDENCY, REJECTED
from holdfast.notices.vocabulary import (
    ALIASES,
    BEFORE_PACKAGE,
    BEHIND_PACKAGE,
    COMMON,
    EMPTY,
)
from holdfast.notices.words import find_stem, normalise_name, split_identifier, split_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Entry = dict[str, Any]

TEXT_CHARS = 2_000  # of an entry that are looked at
TERMS = 20  # of one kind
NOT_BEFORE_NAME = ("by", "of", "per", "each", "every")  # a word of the trade follows
CODE = "⟨code⟩"  # in the place of a path or a call
WHOLE_HEAD = 3  # so many words must all be there
MOST_HEAD = 0.7  # of more than these, beside the telling ones
WHOLE_TAIL = 0.8  # where nothing in the head is telling
COMMON_SHARE = 0.03  # of the entries: a word that more have is common here
COMMON_ENTRIES = 4

_PATH = compile_later(
    r"(?<![\w./@:-])(?:\.{0,2}/)?(?:[\w@.+-]+/)*[\w@+-][\w@.+-]*\.[A-Za-z][A-Za-z0-9]{0,9}(?![\w/])"
)
_FOLDERLESS = ("Makefile", "Dockerfile", "Gemfile", "Procfile", "Justfile")
_QUOTED = compile_later(r"`([^`\n]{1,120})`")
_CALL = compile_later(r"(?<![\w.])((?:[A-Za-z_]\w*(?:\.|::))*[A-Za-z_]\w*)\(\)")
_DOTTED = compile_later(r"(?<![\w./])([A-Z]\w*(?:(?:\.|::)[A-Za-z_]\w*)+)(?![\w/])")
_IDENTIFIER = compile_later(r"[A-Za-z_]\w*(?:(?:\.|::)[A-Za-z_]\w*)*(?:\(\))?")
_COMMAND = compile_later(
    r"\b([a-z][\w.+-]*(?: [\w./=:@+-]+){0,4} --?[A-Za-z][\w=-]*(?: [\w./=:-]+)?)"
)
# Where what an alternative is ends, and what it is for begins.
_TAIL = compile_later(
    r"\s+(?:instead of|rather than|statt|for|because|since|so that|as|when|while|until|to|in|inside"
    r"|on|at|between|during|behind|für|pour|para|для)\s+|[:;(]|\s[-–—]\s",
    re.IGNORECASE,
)
_USES = compile_later(
    r"\s*(?:use|using|adopt|install|try|switch(?:ing)? to|move to)\b", re.IGNORECASE
)
# What a rule forbids: what follows one of these, up to the end of its part of the sentence.
_FORBIDS = compile_later(
    r"\b(?:never|no|not|don['’]?t|do not|must not|avoid|without|kein(?:e|en)?"
    r"|nicht|pas de|sans|sin)\b(?P<what>[^.;:!?]*)",
    re.IGNORECASE,
)
_INSTEAD_OF = compile_later(
    r"\b(?:instead of|rather than|anstatt|statt|au lieu de|en lugar de)\b(?P<what>[^.;:!?]*)",
    re.IGNORECASE,
)
_ALLOWED_AFTER = compile_later(
    r"\b(?:but|only|use|without|instead|unless|except|nur|sondern)\b|,", re.IGNORECASE
)
_ANY_DEPENDENCY = compile_later(
    r"\b(?:no|never|not|don['’]?t|without|ask\w* before)\b[^.;]{0,40}"
    r"\b(?:dependenc(?:y|ies)|third[- ]party (?:packages?|librar(?:y|ies)))\b",
    re.IGNORECASE,
)
_NEW = compile_later(
    r"\b(?:new|add(?:ing)?|additional|more|extra|further|third[- ]party)\b", re.IGNORECASE
)


def describe_entries(
    entries: Iterable[Entry], *, declared: Collection[str], tracked: Collection[str]
) -> list[Entry]:
    """Each entry with its terms; one without any is never told, and stays out.

    `declared` are packages that the repository has already, `tracked` its files by path.
    """
    known = list(entries)
    common = find_common(known)
    places = _list_places(tracked)
    present = {*declared, *_list_accepted_names(known), *_list_own_names(tracked)}
    described = [{**entry, **describe(entry, common, present, places)} for entry in known]
    return [entry for entry in described if list_lookups(entry)]


def describe(
    entry: Entry,
    common: Collection[str] = (),
    declared: Collection[str] = (),
    places: Mapping[str, Sequence[str]] | None = None,
) -> Entry:
    text = entry["text"][:TEXT_CHARS]
    is_rejected = entry["kind"] == REJECTED
    pointers = [*entry.get("pointers", ()), *_list_pointers(text, places or {})]
    terms: Entry = {
        "files": _unique(pointers),
        "symbols": _unique(_list_symbols(text)),
        "commands": [],
        "packages": [],
        "phrases": [],
        "any_dependency": False,
    }
    if is_rejected:
        because = entry.get("because") or ""
        terms["commands"] = _unique(_list_commands(text))
        _describe_alternative(terms, text, because, common, declared)
    else:
        terms["any_dependency"] = _forbids_any_dependency(text)
        forbids = [] if terms["any_dependency"] else _list_parts(_FORBIDS, text)
        for forbidden in forbids:
            _describe_alternative(terms, forbidden, "", common, declared, only_names=True)
        for other in _list_parts(_INSTEAD_OF, text):
            _describe_alternative(terms, other, "", common, declared)
    return terms


def list_lookups(entry: Mapping[str, Any]) -> list[str]:
    """The keys under which an entry is looked up."""
    keys = [f"p:{pointer.partition('#')[0]}" for pointer in entry["files"]]
    keys += [f"s:{symbol.rpartition('.')[2]}" for symbol in entry["symbols"]]
    keys += [f"s:{pointer.partition('#')[2]}" for pointer in entry["files"] if "#" in pointer]
    keys += [f"d:{package}" for package in entry["packages"]]
    keys += [f"c:{command.partition(' ')[0]}" for command in entry["commands"]]
    keys += [f"w:{phrase['key']}" for phrase in entry["phrases"]]
    if entry["any_dependency"]:
        keys.append(ANY_DEPENDENCY)
    return list(dict.fromkeys(keys))


def find_common(entries: Sequence[Entry]) -> set[str]:
    """Words that many entries of this repository have."""
    counted: Counter[str] = Counter()
    for entry in entries:
        text = f"{entry['text']} {entry.get('because') or ''}"[:TEXT_CHARS]
        counted.update({find_stem(word) for word in split_words(text)})
    most = max(COMMON_ENTRIES, int(COMMON_SHARE * len(entries)))
    return {word for word, count in counted.items() if count > most}


# --- the alternative itself -----------------------------------------------------------------------


def _describe_alternative(
    terms: Entry,
    text: str,
    because: str,
    common: Collection[str],
    declared: Collection[str],
    *,
    only_names: bool = False,
) -> None:
    for alternative in _split_alternatives(_leave_out_code(text)):
        head, tail = _split_head(alternative)
        packages = [
            name
            for name in _list_packages(head, only_named=only_names)
            if find_stem(name) not in common
        ]
        if only_names and not packages:
            continue
        new = [name for name in packages if name not in declared]
        terms["packages"] = _unique([*terms["packages"], *_with_aliases(new)])
        phrase = _make_phrase(head, tail, because, new, common)
        if phrase:
            terms["phrases"] = [*terms["phrases"], phrase][:TERMS]


def _split_alternatives(text: str) -> list[str]:
    """The first sentence says what it is; "Kafka or RabbitMQ" are two."""
    first = re.split(r"(?<=[.!?])\s+|\n", text.strip(), maxsplit=1)[0]
    parts = re.split(r"\s+(?:or|oder|ou|o|или)\s+|\s*/\s+|,\s+", first)
    return [part for part in parts if part.strip()] or [first]


def _split_head(text: str) -> tuple[str, str]:
    """Verbs at the beginning are not what it is."""
    head, mark, tail = text, "", ""
    found = _TAIL.search(text)
    while found:
        head, mark, tail = text[: found.start()], found.group(), text[found.end() :]
        if _list_telling(head):
            return head, tail
        found = _TAIL.search(text, found.end())
    return (text, "") if not mark or not _list_telling(head) else (head, tail)


def _make_phrase(
    head: str, tail: str, because: str, packages: Collection[str], common: Collection[str]
) -> Entry | None:
    """Which words must stand together, and whether one name is enough.

    Where no word of the head is telling, all of them must be there, with those of the tail.
    """
    words = _list_telling(head)
    named = {find_stem(name) for name in _list_packages(head, only_named=True)}
    telling = [word for word in words if word in named or _is_rare(word, common)]
    alone = _list_names(head, tail, because, packages, telling)
    needed = telling
    is_weak = not telling or (len(words) == 1 and not alone)
    if is_weak:
        needed = words
        words = list(dict.fromkeys([*words, *_list_telling(tail)]))
        telling = [word for word in words if word in named or _is_rare(word, common)]
        if len(words) < WHOLE_HEAD and not (telling and len(words) > 1):
            return None
    share = WHOLE_TAIL if is_weak else MOST_HEAD
    least = len(words) if len(words) <= WHOLE_HEAD else math.ceil(share * len(words))
    key = min(needed or words, key=lambda word: (word in COMMON, -len(word)))
    return {
        "key": key,
        "said": " ".join(split_words(head)),
        "words": words,
        "needed": needed,
        "least": least,
        "telling": bool(telling),
        "alone": alone,
    }


def _list_names(
    head: str, tail: str, because: str, packages: Collection[str], telling: Sequence[str]
) -> list[str]:
    """Names that are enough by themselves: where the alternative is nothing else, or where the
    reason is about it. A small word at the beginning is a name only if something is used.
    """
    if CODE in f"{head}{tail}":  # the word is about what the code does
        return []
    names = {find_stem(normalise_name(name)) for name in packages}
    reasons = {find_stem(word) for word in split_words(because)}
    is_only = len(_list_telling(head)) == 1
    has_mark = not tail or any(char.isupper() for char in head) or _USES.match(head) is not None
    return [
        word for word in telling if word in names and ((is_only and has_mark) or word in reasons)
    ]


def _list_telling(text: str) -> list[str]:
    """The words that a thing is called by, each once."""
    words = [word for word in split_words(text) if word not in EMPTY and len(word) > 1]
    return list(dict.fromkeys(find_stem(word) for word in words))


def _is_rare(stem: str, common: Collection[str]) -> bool:
    is_known = stem in COMMON or f"{stem}s" in COMMON or stem.isdigit()
    return not is_known and stem not in common


def _list_packages(head: str, *, only_named: bool = False) -> Iterator[str]:
    """Names that a dependency may have; a common word only where the text says that it is one."""
    quoted = {normalise_name(each) for each in _QUOTED.findall(head)}
    plain = head.replace("`", " ")
    words = re.findall(r"@?[\w.+-]*\w", plain)
    for at, written in enumerate(words):
        name = normalise_name(written.lstrip("@"))
        if len(name) < 2 or name in EMPTY or name.isdigit():
            continue
        before = words[at - 1].casefold() if at else ""
        behind = words[at + 1].casefold() if at + 1 < len(words) else ""
        is_named = name in quoted or before in BEFORE_PACKAGE or behind in BEHIND_PACKAGE
        is_common = name in COMMON or find_stem(name) in COMMON or f"{name}s" in COMMON
        has_capital = at > 0 and written[:1].isupper()
        is_leading = before in ("", *EMPTY) and before not in NOT_BEFORE_NAME
        is_telling = not is_common and (has_capital or (is_leading and not only_named))
        if is_named or (is_telling and written not in CODE):
            yield name


def _with_aliases(names: Iterable[str]) -> list[str]:
    found = []
    for name in names:
        found += [name, *ALIASES.get(name, ())]
    return found


def _list_accepted_names(entries: Iterable[Entry]) -> set[str]:
    """What was accepted for one purpose may be used; rejecting another use of it is not news."""
    names: set[str] = set()
    for entry in entries:
        if entry["kind"] == ACCEPTED:
            allowed = _FORBIDS.sub(" ", _INSTEAD_OF.sub(" ", entry["text"][:TEXT_CHARS]))
            names.update(_with_aliases(_list_packages(allowed)))
    return names


def _list_own_names(tracked: Iterable[str]) -> set[str]:
    """What files and folders are called is part of the repository already."""
    return {step.partition(".")[0].casefold() for path in tracked for step in path.split("/")}


def _list_parts(pattern: re.Pattern[str], text: str) -> list[str]:
    """What is forbidden, or not taken."""
    found = [each["what"] for each in pattern.finditer(text)]
    return [_ALLOWED_AFTER.split(what, maxsplit=1)[0] for what in found]


def _forbids_any_dependency(text: str) -> bool:
    found = _ANY_DEPENDENCY.search(text)
    return found is not None and _NEW.search(found.group()) is not None


# --- files, symbols, commands ---------------------------------------------------------------------


def _list_pointers(text: str, places: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Paths as a text names them; of one without its folder the only file that is called so."""
    named = [each.group() for each in _PATH.finditer(text)]
    named += [name for name in _FOLDERLESS if re.search(rf"(?<![\w/.]){name}\b", text)]
    for path in named:
        inside = path.removeprefix("./").strip("/")
        found = places.get(inside, ())
        if len(found) == 1:
            yield found[0]
        elif "/" in inside or inside in found:
            yield inside


def _list_places(tracked: Iterable[str]) -> dict[str, list[str]]:
    """Which files each end of a path may mean."""
    places: dict[str, list[str]] = {}
    for path in tracked:
        steps = path.split("/")
        for at in range(len(steps)):
            places.setdefault("/".join(steps[at:]), []).append(path)
    return places


def _list_symbols(text: str) -> Iterator[str]:
    named = [*_CALL.findall(text), *_DOTTED.findall(text)]
    for quoted in _QUOTED.findall(text):
        if _IDENTIFIER.fullmatch(quoted):
            named.append(quoted.removesuffix("()"))
    for name in named:
        symbol = name.replace("::", ".")
        is_path = _PATH.fullmatch(symbol) is not None and symbol.islower() and "." in symbol
        if not is_path and _has_shape_of_code(symbol, text):
            yield symbol


def _has_shape_of_code(symbol: str, text: str) -> bool:
    """A plain word in backticks may be anything; a name in code has two parts or is called."""
    last = symbol.rpartition(".")[2]
    return len(split_identifier(last)) > 1 or f"{last}()" in text or "." in symbol


def _list_commands(text: str) -> Iterator[str]:
    for found in _COMMAND.finditer(text.replace("`", " ")):
        yield " ".join(found[1].split())
    for quoted in _QUOTED.findall(text):
        if " " in quoted.strip() and re.match(r"[a-z][\w.-]* ", quoted):
            yield " ".join(quoted.split())


def _leave_out_code(text: str) -> str:
    """Paths, calls and commands are found as such; their parts are no words of the alternative."""
    rest = _COMMAND.sub(" ", _PATH.sub(_keep_name, text))
    return _CALL.sub(CODE, rest)


def _keep_name(found: re.Match[str]) -> str:
    """moment.js is the name of a library."""
    path = found.group()
    return CODE if "/" in path or not path.endswith(".js") else path.removesuffix(".js")


def _unique(found: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(found))[:TERMS]
