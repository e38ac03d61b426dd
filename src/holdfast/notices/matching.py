"""Which entries concern a prompt or an edit. Pure, and quick: a hook that is waited for asks.

Nothing is told for a word that two texts happen to share. At a prompt the thing itself must be
proposed in a person's own words: not in a log or a quotation, and not in order to refuse it. At an
edit it is what the edit adds that counts.
"""

from __future__ import annotations

import re

from holdfast.ground.patterns import compile_later
from holdfast.notices.model import (
    COMMAND,
    DEPENDENCY,
    FILE,
    NEW_DEPENDENCY,
    REJECTED,
    SYMBOL,
    WORDS,
    Match,
)
from holdfast.notices.words import find_stem, make_set, split_identifier, split_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from holdfast.notices.model import Edit, NoticeIndex

PROMPT_CHARS = 16_000  # more is pasted, not said
SENTENCES = 400
QUOTED_WORDS = 3  # a quotation of so many words is somebody else's sentence
NEAR = 4  # so many other words may stand between those of one phrase
FAR_EAST = 0x3000
BEFORE, AFTER = 8, 5  # where a "no" belongs to it

_FENCED = compile_later(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)", re.DOTALL)
_TAGGED = compile_later(r"<([a-z][\w-]*)>.{0,4000}?</\1>", re.DOTALL)
_QUOTATION = compile_later(
    r"\"([^\"\n]{3,400})\"|“([^”\n]{3,400})”|«([^»\n]{3,400})»|„([^“\n]{3,400})“"
)
_LOG_LINE = compile_later(
    r"^\s*(?:>|\$ |# |\|)|^\s*\[?\d{4}-\d\d-\d\d|^\s*\[?\d\d:\d\d:\d\d|^\s*(?:at|File) .+[(:,]"
    r"|^\s*\[?(?:error|warn(?:ing)?|info|debug|trace|fatal|critical|notice)\b\]?[:\s|-]"
    r"|^\s*(?:Traceback|Caused by|Exception in|npm ERR!|E  |\+\+\+|---|@@|diff --git)"
    r"|^\s*[\w.$]*(?:Error|Exception|Warning)\b:|^[-+] {0,}\S*[;{}()=]|^\s*\w+\[\d+\]:",
    re.IGNORECASE,
)
_SENTENCE_END = compile_later(r"(?<=[.!?;:。！？；])(?=\s)|(?<=[。！？；])|\n+")
_CLAUSE_END = compile_later(
    r"[,;:()\u2013\u2014，、]|\s-\s|\b(?:but|so|then|aber|sondern|mais|pero)\b"
)
_CODE_TOKEN = compile_later(
    r"(?<![\w@.+-])[\w@.+-]*+(?:[/\\][\w@.+-]++)+|[A-Za-z_][\w]*(?:(?:\.|::)[A-Za-z_]\w*)*"
)
_APOSTROPHE = compile_later(r"n['’]t\b")
# Asking whether something may be done after all is a proposal, not a no.
_WHY_NOT = compile_later(
    r"\bwhy (?:not|do not we|can not we)\b|\b(?:can|could|should|would) ?not (?:we|i|it)\b"
    r"|\b(?:how|what) about\b|\bwarum nicht\b|\bpourquoi pas\b|\bpor qu[eé] no\b|\bnot only\b"
)
_NO = make_set(
    """
no not never without avoid avoiding nobody neither nor reject rejected rejecting declined refuse
refused against forbid forbidden kein keine keinen keinem nicht ohne niemals pas sans jamais ne
ni sin nunca tampoco não nem sem non senza mai не без никогда нет nie bez
abandoned ditch ditched banned verworfen abgelehnt rejeté rechazado
"""
)
_FAR_NO = (
    "不",
    "别",
    "別",
    "没",
    "沒",
    "ない",
    "なし",
    "않",
    "말고",
    "없이",
    "移除",
    "删除",
    "削除",
)
# What one does to get rid of a thing; what comes instead of it follows one of the second list.
_REMOVES = make_set(
    """
remove removing drop dropping delete deleting replace replacing uninstall away off rid rip stop
entferne entfernen ersetze ersetzen supprimer remplacer eliminar quitar reemplazar удалить
заменить
"""
)
_TOWARDS = make_set("with by to into onto durch mit par avec por con на")
_INSTEAD_OF = (("instead", "of"), ("rather", "than"), ("other", "than"), ("anstelle", "von"))
_INSTEAD_WORDS = make_set("statt anstatt")
_PROPOSES = make_set(
    """
use using add adding switch try trying introduce adopt install implement build move migrate put
with via go port rewrite convert let lets should could can want need please setup set wire
integrate bring create make run store keep back base rely leverage swap plug enable propose
consider nehmen nimm nutze nutzen nutzt verwende verwenden benutze benutzen einbauen einführen
umstellen hinzufügen wechseln füge baue bauen mit utiliser utilise utilisons ajouter ajoute
passer passons remplacer avec usar usa usemos utilizar utiliza añadir agrega agregar cambiar con
migrar adicionar usare usiamo aggiungere aggiungi użyj dodaj gebruik использовать используй
добавь добавить давай перейти
"""
)
# What one does to have a thing: in English in front of it, elsewhere also behind it.
_ADOPTS = make_set(
    """
use using add adding adopt adopting introduce introducing install installing try trying
integrate integrating setup wire leverage enable propose consider want need bring plug embed
"""
)
_ADOPTS_ANYWHERE = make_set(
    """
nehmen nimm nehme nutze nutzen verwende verwenden benutze benutzen einbauen einführen einsetzen
hinzufügen utiliser utilise utilisons utilisez ajouter ajoute ajoutons adopter usar usa usemos
use utilizar utiliza añadir agrega agregar adicionar usare usiamo aggiungere aggiungi użyj dodaj
gebruik использовать используй используем добавь добавить добавим подключить
"""
)
_LEADS_TO = make_set("with via to on onto into through atop auf mit zu avec sur à con en na на")
_BUILDS = make_set(
    """
switch move migrate port change go convert build implement rewrite replace swap base back store
put publish push run do write make deploy upgrade transition umstellen wechseln bauen passer
migrer migrar cambiar construir перейти перевести
"""
)
_MOVES = make_set("migrate move switch port change convert transition go get migrer migrar")
_FAR_PROPOSES = ("用", "采", "使", "導入", "追加", "加", "사용", "추가", "쓰", "换", "換")


# --- at a prompt ----------------------------------------------------------------------------------


def match_prompt(text: str, index: NoticeIndex) -> list[Match]:
    """Each entry once, the most exact first."""
    found: dict[int, Match] = {}
    for sentence in list_sentences(text):
        for match in _match_sentence(sentence, index):
            known = found.get(match.number)
            if known is None or match.rank < known.rank:
                found[match.number] = match
    return sorted(found.values(), key=lambda match: match.rank)


def list_sentences(text: str) -> list[str]:
    """A person's own words: without code, logs and what others are quoted with."""
    said = _FENCED.sub("\n", text[:PROMPT_CHARS])
    said = _TAGGED.sub("\n", said)
    lines = [line for line in said.split("\n") if not _LOG_LINE.search(line)]
    own = _QUOTATION.sub(_keep_name, "\n".join(lines))
    parts = [part.strip() for part in _SENTENCE_END.split(own)]
    return [part for part in parts if part][:SENTENCES]


def _keep_name(found: re.Match[str]) -> str:
    inside = next(group for group in found.groups() if group)
    return f" {inside} " if len(inside.split()) < QUOTED_WORDS else " ⟨quoted⟩ "


def _match_sentence(sentence: str, index: NoticeIndex) -> Iterator[Match]:
    yield from _match_code_tokens(sentence, index)
    yield from _match_commands(sentence, index)
    for clause in _list_clauses(sentence):
        yield from _match_words(clause, sentence, index)


def _match_code_tokens(sentence: str, index: NoticeIndex) -> Iterator[Match]:
    """A file or a symbol by its own name."""
    for found in _CODE_TOKEN.finditer(sentence):
        token = found.group().strip(".").removeprefix("./")
        hits = [(number, FILE, token) for number in index.find("p", token)]
        symbol = token.replace("::", ".")
        last = symbol.rpartition(".")[2]
        if len(split_identifier(last)) > 1 or sentence[found.end() :].startswith("("):
            hits += [(number, SYMBOL, symbol) for number in index.find("s", last)]
        for number, reason, term in hits:
            entry = index.entries[number]
            if reason == SYMBOL and not _is_symbol_of(symbol, entry):
                continue
            if not _is_refused_at(sentence, found.start(), found.end()):
                yield Match(number, entry, reason, term)


def _is_symbol_of(symbol: str, entry: Mapping[str, Any]) -> bool:
    """`Class.method` is not the method of that name of another class."""
    known = [*entry["symbols"], *(each.partition("#")[2] for each in entry["files"])]
    return any(_is_same_symbol(symbol, each) for each in known if each)


def _is_same_symbol(one: str, other: str) -> bool:
    shorter, longer = sorted((one, other), key=len)
    return longer == shorter or longer.endswith(f".{shorter}")


def _is_refused_at(sentence: str, start: int, end: int) -> bool:
    clause_start = max((each.end() for each in _CLAUSE_END.finditer(sentence, 0, start)), default=0)
    before = _read_words(sentence[clause_start:start])
    following = _CLAUSE_END.search(sentence, end)
    after = _read_words(sentence[end : following.start() if following else len(sentence)])
    return _is_refused(before, after)


def _match_commands(sentence: str, index: NoticeIndex) -> Iterator[Match]:
    words = [word.strip(",.;:!?\"'") for word in sentence.replace("`", " ").split()]
    line = f" {' '.join(words)} "
    for at, word in enumerate(words):
        for number in index.find("c", word):
            entry = index.entries[number]
            for command in entry["commands"]:
                if f" {command} " in line and not _is_refused(
                    _read_words(" ".join(words[:at])), []
                ):
                    yield Match(number, entry, COMMAND, command)


def _list_clauses(sentence: str) -> list[list[str]]:
    plain = _read_plainly(sentence)
    return [words for part in _CLAUSE_END.split(plain) if (words := split_words(part))]


def _read_words(text: str) -> list[str]:
    return split_words(_read_plainly(text))


def _read_plainly(text: str) -> str:
    plain = _WHY_NOT.sub(" use ", _APOSTROPHE.sub(" not", text.casefold()))
    return plain.replace("set up", "setup")


def _match_words(words: list[str], sentence: str, index: NoticeIndex) -> Iterator[Match]:
    stems = [find_stem(word) for word in words]
    for at, stem in enumerate(stems):
        for number in index.find("w", stem):
            entry = index.entries[number]
            for phrase in entry["phrases"]:
                if phrase["key"] == stem and _is_proposed(words, stems, at, phrase):
                    yield Match(number, entry, WORDS, phrase["said"])


def _is_proposed(
    words: Sequence[str], stems: Sequence[str], at: int, phrase: Mapping[str, Any]
) -> bool:
    near = phrase["words"]
    first = max(0, at - len(near) - NEAR)
    last = min(len(stems), at + len(near) + NEAR + 1)
    around = stems[first:last]
    found = [word for word in near if word in around]
    is_whole = len(found) >= phrase["least"] and set(phrase["needed"]) <= set(found)
    is_alone = stems[at] in phrase["alone"]
    if not is_whole and not is_alone:
        return False
    places = [first + around.index(word) for word in found] if is_whole else [at]
    before, after = words[: min(places)], words[max(places) + 1 :]
    if _is_refused(before, after) or _is_refused(words[min(places) : max(places)], []):
        return False
    if not is_whole or len(found) < 2:
        return _adopts(words, at)
    return phrase["telling"] or _proposes(words)


def _proposes(words: Iterable[str]) -> bool:
    return any(word in _PROPOSES or _is_far(word, _FAR_PROPOSES) for word in words)


def _adopts(words: Sequence[str], at: int) -> bool:
    """One name alone says little: it must be what somebody wants to have or to change to."""
    close, behind = words[max(0, at - NEAR) : at], words[at + 1 : at + 1 + NEAR]
    if _ADOPTS.intersection(close) or _ADOPTS_ANYWHERE.intersection((*close, *behind)):
        return True
    if behind[:1] == ["instead"] and behind[1:2] != ["of"]:
        return True
    if any(_is_far(word, _FAR_PROPOSES) for word in words[max(0, at - 1) : at + 2]):
        return True
    is_led_to = bool(_LEADS_TO.intersection(words[max(0, at - 2) : at]))
    return is_led_to and bool(_BUILDS.intersection(words[:at]))


def _is_refused(before: Sequence[str], after: Sequence[str]) -> bool:
    """A no before it or behind it in the same part of a sentence, or a wish to be rid of it."""
    close = list(before[-BEFORE:])
    if _says_no(close) or _says_no(after[:AFTER]):
        return True
    if tuple(close[-2:]) in _INSTEAD_OF or _INSTEAD_WORDS.intersection(close[-2:]):
        return True
    if close[-1:] == ["from"] and _MOVES.intersection(close):
        return True
    removals = [at for at, word in enumerate(close) if word in _REMOVES]
    return bool(removals) and not _TOWARDS.intersection(close[removals[-1] :])


def _says_no(words: Sequence[str]) -> bool:
    return any(word in _NO or _is_far(word, _FAR_NO) for word in words)


def _is_far(word: str, signs: Sequence[str]) -> bool:
    """Whether it has one of these signs of a script that has no spaces between words."""
    return ord(word[0]) > FAR_EAST and any(sign in word for sign in signs)


# --- at an edit -----------------------------------------------------------------------------------


def match_edits(edits: Iterable[Edit], index: NoticeIndex) -> list[Match]:
    """Each entry once, the most exact first."""
    found: dict[int, Match] = {}
    for edit in edits:
        for match in _match_edit(edit, index):
            known = found.get(match.number)
            if known is None or match.rank < known.rank:
                found[match.number] = match
    return sorted(found.values(), key=lambda match: match.rank)


def _match_edit(edit: Edit, index: NoticeIndex) -> Iterator[Match]:
    from holdfast.notices import code

    added = code.AddedCode(edit)
    yield from _match_file(edit, added, index)
    if code.is_prose(edit.path):
        return
    yield from _match_symbols(added, index)
    yield from _match_packages(added, index)
    yield from _match_lines(added, index)
    yield from _match_names(added, index)


def _match_file(edit: Edit, added: Any, index: NoticeIndex) -> Iterator[Match]:
    """The file itself, or a symbol in it where the entry is about that one only."""
    for number in index.find("p", edit.path):
        entry = index.entries[number]
        for pointer in entry["files"]:
            path, _, symbol = pointer.partition("#")
            if path == edit.path and _touches(symbol, added):
                yield Match(number, entry, SYMBOL if symbol else FILE, pointer)


def _touches(symbol: str, added: Any) -> bool:
    return not symbol or symbol.rpartition(".")[2] in added.touched


def _match_symbols(added: Any, index: NoticeIndex) -> Iterator[Match]:
    """What was rejected may not be used; what was accepted concerns the place that defines it."""
    for name in added.names:
        for number in index.find("s", name):
            entry = index.entries[number]
            known = [each for each in entry["symbols"] if each.rpartition(".")[2] == name]
            is_concerned = entry["kind"] == REJECTED or name in added.defined
            if known and is_concerned and has_owner(known[0], added):
                yield Match(number, entry, SYMBOL, known[0])


def has_owner(symbol: str, added: Any) -> bool:
    """Of `Class.method` the class is named there, too."""
    owner = symbol.rpartition(".")[0].rpartition(".")[2]
    return not owner or owner in added.touched or owner in added.defined


def _match_packages(added: Any, index: NoticeIndex) -> Iterator[Match]:
    from holdfast.notices.code import list_forms

    for package in added.packages:
        for form in list_forms(package):
            for number in index.find("d", form):
                yield Match(number, index.entries[number], DEPENDENCY, package)
    for package in added.declared:
        for number in index.find("d", "*"):
            yield Match(number, index.entries[number], NEW_DEPENDENCY, package)


def _match_lines(added: Any, index: NoticeIndex) -> Iterator[Match]:
    for line in added.lines:
        words = line.split()
        for word in set(words):
            for number in index.find("c", word):
                entry = index.entries[number]
                for command in entry["commands"]:
                    if f" {command} " in f" {' '.join(words)} ":
                        yield Match(number, entry, COMMAND, command)


def _match_names(added: Any, index: NoticeIndex) -> Iterator[Match]:
    """An alternative of two words or more in one name: `RedisStreamQueue`."""
    for name in added.names:
        parts = [find_stem(part) for part in split_identifier(name)]
        if len(parts) < 2:
            continue
        for part in parts:
            for number in index.find("w", part):
                entry = index.entries[number]
                for phrase in entry["phrases"]:
                    is_whole = len(phrase["words"]) > 1 and set(phrase["words"]) <= set(parts)
                    if is_whole and phrase["telling"]:
                        yield Match(number, entry, WORDS, name)
