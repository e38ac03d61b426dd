"""Whether a text claims that something is done, so that it needs evidence.

A gate on bare words trips over "abandoned", "not done yet" and "the done callback", and people switch it off. So the
text is read the way a hurried reader does: quotations, code and phrases that deny nothing ("without doubt") are taken
out, sentences are cut into clauses, and a word of completion counts only where its clause asserts it. It does not count

- in a question, or in what somebody or something else says;
- after a negation, a modal verb, a wish, a request or a condition in its clause, and in what such a clause governs;
- where the work is only partly done ("almost finished", "3 of 5"): that says that it is not done;
- before the noun that it describes ("fixed costs"), in how-it-works sentences ("paths are resolved against the root",
  "implemented by class X"), in a list of names ("the states open, done and rejected"), or as a part of another word.

Hedges are read to the letter: "should be fixed" is no claim, "I think it is fixed" is one. Changes that are told as
made ("added", "have been removed") are claims too. English is what is promised; other languages pass as no claim. It
is a rule over words, not a reader: who wants evidence whatever the wording says `kind: completion`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

TEXT_CHARS = 50_000  # what is longer is judged by its beginning
CLAUSE_WORDS = 60  # nobody holds more in mind; and what is compared pairwise has to end


@dataclass(frozen=True)
class Completion:
    """The words that claim completion, and where each begins and ends in the text."""

    words: tuple[str, ...]
    places: tuple[tuple[int, int], ...]

    @property
    def word(self) -> str:
        return self.words[0]


@dataclass(frozen=True)
class _Word:
    text: str
    start: int
    end: int
    is_name: bool = False  # stands in code, a path or a tag


def claims_completion(text: str) -> Completion | None:
    """The words by which a text says that something is done; None where it does not say so."""
    found = [word for sentence in _sentences(_without_quotations(text[:TEXT_CHARS])) for word in _claimed(sentence)]
    if not found:
        return None
    places = tuple((word.start, word.end) for word in found)
    return Completion(tuple(text[start:end] for start, end in places), places)


# --- words -------------------------------------------------------------------------------------------------


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


DONE = _set("done implemented fixed finished completed resolved shipped merged closed deployed released solved landed")
CHANGED = _set(
    "added removed updated refactored migrated rewrote rewritten wrote written created built integrated introduced"
    " replaced renamed ported patched corrected repaired wired enabled committed pushed deleted addressed eliminated"
    " squashed delivered finalized finalised accomplished achieved rolled upgraded converted extracted automated"
)
TICKED = _set("[x] ✅ ✔ ☑")
TESTS = _set(
    "test tests suite suites check checks build builds ci pipeline linter lint mypy ruff pytest spec specs case cases"
    " everything job jobs typecheck benchmark benchmarks e2e"
)
# What is closed or released by people; anything else is closed by a program as it runs.
WORK = _set(
    "issue issues bug bugs ticket tickets pr prs pull request task tasks branch problem problems story feature it this"
    " that all both everything conflict conflicts milestone version release epic thread threads loophole gap gaps"
)

BE = _set("is are was were am been being be got gets get remains stays seems looks")
IN_PROGRESS = _set("being gets get be")
HAVE = _set("has have had having")
STILL_TO = BE | HAVE | _set("see make keep")  # "to be done", "to have it merged"
REACHED = _set("managed able seems")  # "managed to get it done"
MODAL = _set("will would should shall must can could may might ought cannot wont")
DETERMINER = _set("the a an this that these those each every any some no its our my your their his her all both")
PRONOUN = _set("i we you he she it they them us me everything everyone somebody nobody who which one")
PREPOSITION = _set(
    "of in on at by for with to from against into onto per via as than over under between within without through"
    " during before after since until about above below across along around behind beyond like near off upon using"
)
JOINING = _set("and or nor but so because although though while whereas however then plus if when once unless that")
ADVERB = _set(
    "now already finally just also again then there today yesterday even indeed well so far ever still only since all"
    " both really too here however therefore thus first last soon yet almost half quite very never not always often"
)
FINITE = BE | HAVE | MODAL | _set("do does did need needs")
LOOSE = _set("found seen made sent known left here there")

NEGATION = _set(
    "not never no none nothing nobody neither nor hardly barely scarcely cannot few unable zero 0 dont isnt"
    " wasnt hasnt havent doesnt didnt arent werent cant fails failed refuses refused"
)
WISH = _set(
    "want wants wanted need needs require requires hope hopes hopefully wish wishes let's lets todo tbd wait waiting"
    " ensure ensures wonder wonders ask asks expect expects demands try trying tries suppose imagine pretend"
    " please supposedly allegedly reportedly purportedly ostensibly"
)
CONDITION = _set(
    "if unless until till once when whenever whether assuming provided supposing lest how why what where otherwise"
)
ASIDE = _set("after before without")  # hold back until another subject begins
GOVERNING = _set("if unless whenever assuming provided supposing when once otherwise according")
PHRASES = {
    *(("far", "from"), ("instead", "of"), ("rather", "than"), ("as", "if"), ("as", "though")),
    *(("as", "soon"), ("as", "long"), ("in", "case"), ("so", "that"), ("in", "theory")),
}
REPORT = _set(
    "says said claims claimed thinks believes assumes suggests reads reported reports according states stated writes"
    " promises promised announces announced pretends alleges told tells"
)
REQUEST = _set(
    "get make ensure verify check confirm keep mark have see let wait call treat consider leave assert require expect"
    " show tell prove find look"
)
PARTIAL = _set(
    "half almost nearly partly partially mostly largely barely hardly halfway practically virtually much close"
)
ORDINAL = _set("first second other last")
SOME = _set("some most several few many half third thirds quarter quarters majority")
LATER = _set("soon tomorrow once unless until if")
PLAN_HEADING = _set(
    "todo todos fixme next plan plans planned remaining pending open goal goals backlog upcoming later wanted criteria"
    " requirements requirement wip missing tbd idea ideas roadmap outstanding must"
)
CLAUSE_ENDS = _set(
    ", : ( ) — – - | → & but however although though whereas while because so and or nor then plus since"
)
JOINED = _set(", and or & plus then nor")
NAMING = _set("values states statuses labels columns")  # what is listed beside these are names

# After the present tense these say how a program works, not that work on it is over.
_HOW = _set("by via using through per lazily automatically when whenever while during with at as from because manually")
DESCRIBED = {
    "done": _HOW | _set("to inside twice so like in on for before after once"),
    "implemented": _set("by as"),
    "fixed": _set("at to per for"),
    "resolved": _HOW | _set("against relative to before after"),
    "merged": (_HOW - _set("as")) | _set("before after"),
    "closed": _HOW | _set("on in after before"),
    "released": _HOW | _set("on after before"),
    "shipped": _set("with by"),
    "completed": _HOW | _set("in before after"),
    "finished": _HOW | _set("in before after"),
    "deployed": _HOW | _set("on"),
}
WORKS_AS = (["as", "expected"], ["as", "intended"], ["for", "all"], ["for", "everyone"])
RUNS = _set("finished completed closed resolved released")

_TOKEN = re.compile(
    r"(?P<item>^[ \t]*(?:\d+[.)]|[-*+•])(?=\s))|\[[xX ]\]|#\d+|\d+(?:[.,]\d+){0,3}\s?%|\d+/\d+(?![\w/])"
    r"|\w+(?:[-./’'+]\w+)*|(?P<newline>\n\s*)|[^\w\s]",
    re.MULTILINE,
)
_QUOTED = re.compile(
    r"```.*?(?:```|\Z)|`[^`\n]*`|\"[^\"\n]{0,500}\"|“[^”\n]{0,500}”|«[^»\n]{0,500}»"
    r"|(?<!\w)'[^'\n]{1,500}'(?!\w)|(?<!\w)‘[^’\n]{1,500}’(?!\w)",
    re.DOTALL,
)
# A negation, a modal verb or a condition by its words, and none by what it says.
_IDLE = re.compile(
    r"\b(?:(?:can['’]?t|cannot|can not) believe|no (?:doubt|question)|(?:no|not a) problem"
    r"|(?:can|must|may)(?: now| also| happily)? (?:confirm|report|say|announce)|as far as \w+ can (?:tell|see|say)"
    r"|unless proven otherwise|if i(?: am|['’]m) not (?:mistaken|wrong)|never mind|not to mention"
    r"|last but not least)\b",
    re.IGNORECASE,
)
_QUOTED_LINE = re.compile(r"^[ \t]*>.*$", re.MULTILINE)
_SENTENCE_ENDS = _set(". ! ? ; …")
_ITEM = "•"
_CODE_BEFORE, _CODE_AFTER = "#@$./\\=<{~-", "(=/>{\\"
_CONTRACTED = (("n't", "not"), ("'ve", "have"), ("'re", "are"), ("'ll", "will"), ("'m", "am"), ("'d", "would"))
_WITH_IS = _set("it's that's this's there's here's what's he's she's who's everything's how's where's")


# --- sentences ---------------------------------------------------------------------------------------------


def _without_quotations(text: str) -> str:
    """The same length, so that places stay right: code and quotations become one word, quoted lines and idioms none."""
    text = _QUOTED.sub(lambda found: "Q" * len(found[0]) if "\n" not in found[0] else " " * len(found[0]), text)
    for pattern in (_QUOTED_LINE, _IDLE):
        text = pattern.sub(lambda found: " " * len(found[0]), text)
    return text


def _sentences(text: str) -> Iterator[list[_Word]]:
    """Sentences that state something: questions, and what stands below a heading such as "Plan:", are left out."""
    is_planned = False
    for sentence in _all_sentences(text):
        is_item = sentence[0].text == _ITEM
        is_planned = _is_plan(sentence) or (is_planned and is_item)
        if not is_planned and sentence[-1].text != "?":
            yield sentence[is_item:]
        is_planned = is_planned and (is_item or sentence[-1].text == ":")


def _all_sentences(text: str) -> Iterator[list[_Word]]:
    sentence: list[_Word] = []
    for word in _words(text):
        if word.text == "\n" or (word.text == _ITEM and sentence):
            yield from [sentence] if sentence else []
            sentence = []
        if word.text != "\n":
            sentence.append(word)
        if word.text in _SENTENCE_ENDS:
            yield sentence
            sentence = []
    yield from [sentence] if sentence else []


def _words(text: str) -> Iterator[_Word]:
    for found in _TOKEN.finditer(text):
        if found["item"]:
            yield _Word(_ITEM, found.start(), found.end())
        elif found["newline"]:
            # A line that goes on in small letters was only wrapped.
            if found[0].count("\n") > 1 or not text[found.end() : found.end() + 1].islower():
                yield _Word("\n", found.start(), found.end())
        else:
            yield from _spelled_out(found, text)


def _spelled_out(found: re.Match[str], text: str) -> Iterator[_Word]:
    """A word in small letters, two where it is contracted."""
    start, end = found.span()
    word = found[0].casefold().replace("’", "'").replace(" ", "")
    is_name = (start > 0 and text[start - 1] in _CODE_BEFORE) or (end < len(text) and text[end] in _CODE_AFTER)
    first, second = _parts(word)
    yield _Word(first, start, end, is_name)
    if second:
        yield _Word(second, start, end)


def _parts(word: str) -> tuple[str, str]:
    if word in _WITH_IS:
        return word[:-2], "is"
    for ending, meaning in _CONTRACTED:
        if word.endswith(ending) and len(word) > len(ending):
            return word.removesuffix(ending), meaning
    return word, ""


def _is_plan(sentence: Sequence[_Word]) -> bool:
    """A short heading before a colon, with a word that speaks of what is still to come."""
    texts = [word.text for word in sentence]
    return ":" in texts[:7] and bool(PLAN_HEADING.intersection(texts[: texts.index(":")]))


# --- clauses -----------------------------------------------------------------------------------------------


def _claimed(sentence: Sequence[_Word]) -> Iterator[_Word]:
    """The words of completion that this sentence asserts, clause by clause.

    What holds a clause back also holds back those that hang on it: the consequence of an "if", the rest of a list of
    things to do, "tested" in "will be written and tested".
    """
    is_governed = was_held_back = False
    previous: list[str] = []
    in_all = [word.text for word in sentence]
    has_failures, has_names = _has_failures(in_all), bool(NAMING.intersection(in_all))
    for joined_by, words in _clauses(sentence):
        texts = [word.text for word in words]
        is_governed = is_governed and joined_by != "but"
        inherits = was_held_back and _hangs_on_previous(joined_by, texts, previous)
        is_listed = has_names and len(texts) == 1
        for position, word in enumerate(words):
            is_claim = not word.is_name and _says_done(texts, position) and not (has_failures and "pass" in word.text)
            if is_claim and not (is_governed or inherits or is_listed or _is_held_back(texts, position)):
                yield word
        was_held_back = inherits or _is_held_back(texts, len(texts))
        is_governed = is_governed or _governs(texts)
        previous = texts


def _clauses(sentence: Iterable[_Word]) -> Iterator[tuple[str, list[_Word]]]:
    joined_by, clause = "", list[_Word]()
    for word in sentence:
        if word.text not in CLAUSE_ENDS and len(clause) < CLAUSE_WORDS:
            clause += [word] if word.text[0].isalnum() or word.text[0] in "[#✅✔☑" else []
            continue
        if clause:
            yield joined_by, clause
        joined_by, clause = (word.text, []) if word.text in CLAUSE_ENDS else (",", [word])
    if clause:
        yield joined_by, clause


def _hangs_on_previous(joined_by: str, texts: Sequence[str], previous: Sequence[str]) -> bool:
    """Whether a clause has no verb group of its own, so that the one before it decides, if that has one."""
    if joined_by in ("nor", "then"):
        return True
    first = next((text for text in texts if not _is_adverb(text)), "")
    return joined_by in JOINED and _is_participle(first) and any(map(_is_participle, previous))


def _governs(texts: Sequence[str]) -> bool:
    """A condition whose consequence is only as true as itself; "once it was updated, …" tells what happened."""
    first = next((text for text in texts if not _is_adverb(text) or text in GOVERNING), "")
    is_past = {"was", "were", "had", "did"}.intersection(texts) or any(text.endswith("ed") for text in texts[2:])
    return (first in GOVERNING and not is_past) or texts[:2] == ["as", "soon"]


def _has_failures(texts: Sequence[str]) -> bool:
    return any(a.isdecimal() and int(a[:9]) > 0 and b in ("failed", "failures", "errors") for a, b in pairwise(texts))


# --- what holds a word back --------------------------------------------------------------------------------


def _is_held_back(texts: Sequence[str], position: int) -> bool:
    before, after = texts[:position], texts[position + 1 : position + 2]
    return (
        any(_holds_back(texts, at, position) for at in range(position))
        or _is_request(before)
        or _is_partial(before)
        or bool(LATER.intersection(after))
    )


def _holds_back(texts: Sequence[str], at: int, position: int) -> bool:
    """Whether the word at a place denies, plans, supposes or reports whatever follows it."""
    word, following = texts[at], texts[at + 1] if at + 1 < len(texts) else ""
    if word in NEGATION or word in MODAL:
        return following not in ("only", "just", "merely") and not _is_in_relative(texts, at, position)
    if word in ASIDE:
        return not _is_over(texts[at + 1 : position])
    if word == "to":
        return following in STILL_TO and texts[max(0, at - 1)] not in REACHED
    if word in REPORT:
        return following not in BE and (at == 0 or texts[at - 1] not in ("i", "we"))
    return word in CONDITION or word in WISH or (word, following) in PHRASES


def _is_in_relative(texts: Sequence[str], at: int, position: int) -> bool:
    """ "The bug that did not reproduce is fixed": the negation belongs to the bug, which has to stand before "that"."""
    return bool(
        {"that", "which", "who"}.intersection(texts[max(1, at - 2) : at]) and BE.intersection(texts[at:position])
    )


def _is_over(texts: Sequence[str]) -> bool:
    """ "After the rebase all tests pass", "without doubt it is fixed": a second subject begins after an aside."""
    return any(
        text in DETERMINER | PRONOUN and before not in PREPOSITION | DETERMINER for before, text in pairwise(texts)
    )


def _is_request(before: Sequence[str]) -> bool:
    first = next((text for text in before if not _is_adverb(text)), "")
    return first in REQUEST


def _is_partial(before: Sequence[str]) -> bool:
    """ "Almost", "80%", "3 of 5", "most of it"; "the second half of it" is a whole."""
    if PARTIAL.intersection(before[-3:]) or any(text.endswith("%") and text != "100%" for text in before):
        return True
    if SOME.intersection(before[:1]) or any(int(part) < int(whole) for part, whole in _fractions(before)):
        return True
    return any(
        (second in SOME and third == "of" and first not in ORDINAL) or (second == "only" and third.isdecimal())
        for first, second, third in zip(["", *before], before, before[1:], strict=False)
    )


def _fractions(texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    for text in texts:
        part, slash, whole = text.partition("/")
        if slash and part.isdecimal() and whole.isdecimal():
            yield part[:9], whole[:9]
    for part, word, whole in zip(texts, texts[1:], texts[2:], strict=False):
        if part.isdecimal() and word == "of" and whole.isdecimal():
            yield part[:9], whole[:9]


# --- what a word means where it stands ---------------------------------------------------------------------


class _Place:
    """A word and its neighbours: what stands left of it apart from adverbs, and what follows."""

    def __init__(self, texts: Sequence[str], at: int):
        self.word = texts[at]
        self.before, self.after = texts[:at], texts[at + 1 :]
        self.previous = texts[at - 1] if at else ""
        self.next = texts[at + 1] if at + 1 < len(texts) else ""
        self.left = next((text for text in reversed(self.before) if not _is_adverb(text)), "")
        self.between = frozenset(self.before) & _set("now already finally again")


def _says_done(texts: Sequence[str], at: int) -> bool:
    sense = _SENSES.get(texts[at])
    return bool(sense and sense(_Place(texts, at)))


def _is_done(place: _Place) -> bool:
    return not (place.left in IN_PROGRESS or _is_attribute(place) or _is_description(place) or _is_idiom(place))


def _is_attribute(place: _Place) -> bool:
    """ "The fixed costs", "merged cells are skipped": the word describes the noun that follows."""
    if not _is_content(place.next):
        return False
    if place.left:
        return place.left in DETERMINER | PREPOSITION | (BE - {"been", "got"}) or place.left in ("use", "uses")
    second = place.after[1] if len(place.after) > 1 else ""
    is_subject = place.next.endswith("s") and _is_content(second) and not second.endswith(("ing", "ed"))
    return (is_subject and second not in LOOSE) or _finite_follows(place.after)


def _finite_follows(after: Sequence[str]) -> bool:
    for text in after[:4]:
        if text in FINITE:
            return True
        if not _is_content(text):
            return False
    return False


def _is_description(place: _Place) -> bool:
    """How a program works or what it did as it ran, rather than what somebody finished."""
    is_ours = bool({"i", "we"}.intersection(place.before))
    if place.word == "implemented" and place.next == "by":
        return True
    if place.left in BE - {"been", "got"}:
        if place.word in ("closed", "released") and not _is_work(place.before):
            return True
        is_told = place.left in ("was", "were") or is_ours or place.between or place.after[:2] == ["as", "well"]
        return not is_told and place.next in DESCRIBED.get(place.word, ())
    has_subject = _is_content(place.left) and place.left not in HAVE
    return has_subject and place.word in RUNS and place.next in _HOW | {"in", "after", "within", "without", "on"}


def _is_idiom(place: _Place) -> bool:
    """ "Definition of done", "easier said than done", "done is a state"; "marked as done" is a claim."""
    if place.previous == "as" and "marked" in place.before:
        return False
    if not place.before and place.next in BE:
        return True
    return place.previous in ("of", "than", "as") or (place.word == "done" and place.next in ("for", "deal"))


def _is_changed(place: _Place) -> bool:
    """A change that is told as made: by us, first in a clause, in the perfect or past passive, or "tests added"."""
    if place.left in IN_PROGRESS or _is_attribute(place):
        return False
    if not place.left or place.left in {"i", "we", "been", "got"} | HAVE:
        return True
    if place.left in BE:
        return bool(place.between) or place.next == "now" or (place.left in ("was", "were") and place.next != "by")
    plain = all(_is_content(text) or text in DETERMINER for text in place.before)
    return not place.next and plain and len(place.before) <= 3


def _is_complete(place: _Place) -> bool:
    if _is_content(place.next):
        return False
    return place.left in BE - {"be"} or (not place.next and _is_content(place.left)) or place.previous == "100%"


def _is_passed(place: _Place) -> bool:
    """Tests pass; a function passes something on."""
    has_subject = bool(TESTS.intersection(place.before)) or (place.word == "passed" and place.previous.isdecimal())
    passes_on = place.next in DETERMINER | PRONOUN | _set("to through as by into along over") or _is_content(place.next)
    return has_subject and not passes_on


def _is_green(place: _Place) -> bool:
    is_state = place.left in BE or (not place.next and place.previous == "all")
    return is_state and not _is_content(place.next) and bool((TESTS | {"all"}).intersection(place.before))


def _is_working(place: _Place) -> bool:
    if place.word == "working":
        is_ours = {"i", "we", "you", "they", "am"}.intersection(place.before)
        return (
            place.left in BE and not is_ours and place.next not in ("on", "with", "for") and not _is_content(place.next)
        )
    has_subject = bool(place.left) and place.left not in DETERMINER - _set("this that all both")
    says_so = _set("now again fine correctly properly perfectly flawlessly everywhere reliably")
    if place.word == "work":
        return has_subject and place.left not in FINITE and (place.next in says_so or bool(place.between))
    ends = not place.next and has_subject
    return ends or place.next in says_so or bool(place.between) or place.after[:2] in WORKS_AS


def _is_ready(place: _Place) -> bool:
    purposes = _set("review production release merge merging use testing qa ship deploy go")
    is_handed_on = place.next in ("for", "to") and bool(purposes.intersection(place.after[1:2]))
    return place.left in BE - {"be", "get"} and not {"i", "we", "you"}.intersection(place.before) and is_handed_on


def _is_in_place(place: _Place) -> bool:
    return place.previous == "in" and bool(BE.intersection(place.before[-3:-1])) and not _is_content(place.next)


def _is_fixing(place: _Place) -> bool:
    """ "Fixes #12", "this fixes the race"."""
    if place.next.startswith("#"):
        return True
    names_change = not place.left or place.left in _set("this that it which commit patch pr change")
    return place.word in ("fixes", "solves") and names_change and place.next in DETERMINER | {"it"}


def _is_work(before: Sequence[str]) -> bool:
    return bool((WORK | {"i", "we"}).intersection(before)) or any(
        text[0] == "#" or set(text) == {"q"} for text in before
    )


def _is_participle(text: str) -> bool:
    return text in DONE or text in CHANGED or text.endswith("ed")


def _is_adverb(text: str) -> bool:
    return text in ADVERB or text.endswith("ly")


def _is_content(text: str) -> bool:
    """Most likely a noun: whatever has letters and is none of the small words of the language."""
    return text[:1].isalpha() and not _is_adverb(text) and text not in _SMALL


_SMALL = DETERMINER | PRONOUN | PREPOSITION | JOINING | FINITE | LOOSE
_SENSES: dict[str, Callable[[_Place], bool]] = {
    **dict.fromkeys(DONE, _is_done),
    **dict.fromkeys(CHANGED, _is_changed),
    **dict.fromkeys(TICKED, lambda place: not place.before),
    **dict.fromkeys(_set("pass passes passed passing"), _is_passed),
    **dict.fromkeys(_set("works work working"), _is_working),
    **dict.fromkeys(_set("fixes solves closes resolves"), _is_fixing),
    "complete": _is_complete,
    "green": _is_green,
    "live": lambda place: place.left in BE and (bool(place.between) or place.next in ("now", "on", "in")),
    "ready": _is_ready,
    "place": _is_in_place,
}
