"""What a word of completion means in its clause: "the fixed costs" and "it is fixed" differ.

Each word has a sense, a function that decides by the words around it whether the word reports
finished work. Only the neighbours are looked at; whether the clause denies, plans or supposes what
it says is decided in `completion`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from holdfast.workstreams.completion_words import (
    BE,
    CHANGED,
    DESCRIBED,
    DETERMINER,
    DONE,
    FINITE,
    HAVE,
    HOW,
    IN_PROGRESS,
    LOOSE,
    PREPOSITION,
    PRONOUN,
    RUNS,
    TESTS,
    TICKED,
    WORK,
    WORKS_AS,
    find_first_word,
    is_content,
    split_words,
)

_ALREADY = split_words("now already finally again")
_IS_NOW = BE - {"been", "got"}
_PASSES_ON = split_words("to through as by into along over")
_NOT_SUBJECT = DETERMINER - split_words("this that all both")
_CONFIRMS = split_words(
    "now again fine correctly properly perfectly flawlessly everywhere reliably"
)
_PURPOSES = split_words("review production release merge merging use testing qa ship deploy go")
_NAMES_OF_CHANGE = split_words("this that it which commit patch pr change")


class WordPlace:
    """A word and its neighbours: the one on its left that is not an adverb, and those after it."""

    def __init__(self, texts: Sequence[str], at: int):
        self.word = texts[at]
        self.before = texts[:at]
        self.after = texts[at + 1 :]
        self.previous = next(reversed(self.before), "")
        self.next = next(iter(self.after), "")
        self.left = find_first_word(reversed(self.before))
        self.between = _ALREADY.intersection(self.before)


def is_completion(texts: Sequence[str], at: int) -> bool:
    sense = _SENSES.get(texts[at])
    if sense is None:
        return False
    return sense(WordPlace(texts, at))


def _is_done(place: WordPlace) -> bool:
    return not (
        place.left in IN_PROGRESS
        or _is_attribute(place)
        or _is_description(place)
        or _is_idiom(place)
    )


def _is_attribute(place: WordPlace) -> bool:
    """ "The fixed costs", "merged cells are skipped": the word describes the noun that follows."""
    if not is_content(place.next):
        return False
    if place.left:
        return place.left in DETERMINER | PREPOSITION | _IS_NOW | {"use", "uses"}
    return _is_plural_subject(place.after) or _has_finite_verb(place.after)


def _is_plural_subject(after: Sequence[str]) -> bool:
    """ "Merged cells need …": a noun in the plural and a verb in the present tense."""
    if len(after) < 2:
        return False
    noun, verb = after[:2]
    is_present = is_content(verb) and not verb.endswith(("ing", "ed"))
    return noun.endswith("s") and is_present and verb not in LOOSE


def _has_finite_verb(after: Sequence[str]) -> bool:
    for text in after[:4]:
        if text in FINITE:
            return True
        if not is_content(text):
            return False
    return False


def _is_description(place: WordPlace) -> bool:
    """How a program works or what it did as it ran, and not work that is finished."""
    if place.word == "implemented" and place.next == "by":
        return True
    if place.left in _IS_NOW:
        if place.word in ("closed", "released") and not _is_work(place.before):
            return True
        return not _is_report(place) and place.next in DESCRIBED.get(place.word, ())
    has_subject = is_content(place.left) and place.left not in HAVE
    describes_run = place.next in HOW | {"in", "after", "within", "without", "on"}
    return has_subject and place.word in RUNS and describes_run


def _is_report(place: WordPlace) -> bool:
    """What happened once, or what we did, and not how something works."""
    is_past = place.left in ("was", "were")
    is_ours = bool({"i", "we"}.intersection(place.before))
    return is_past or is_ours or bool(place.between) or place.after[:2] == ["as", "well"]


def _is_idiom(place: WordPlace) -> bool:
    """ "Definition of done", "easier said than done"; but "marked as done" is a claim."""
    if place.previous == "as" and "marked" in place.before:
        return False
    if not place.before and place.next in BE:
        return True
    if place.word == "done" and place.next in ("for", "deal"):
        return True
    return place.previous in ("of", "than", "as")


def _is_changed(place: WordPlace) -> bool:
    """A reported change: by us, first in a clause, in the perfect or passive, "tests added"."""
    if place.left in IN_PROGRESS or _is_attribute(place):
        return False
    if not place.left or place.left in {"i", "we", "been", "got"} | HAVE:
        return True
    if place.left in BE:
        is_past_event = place.left in ("was", "were") and place.next != "by"
        return is_past_event or bool(place.between) or place.next == "now"
    is_plain = all(is_content(text) or text in DETERMINER for text in place.before)
    return is_plain and not place.next and len(place.before) <= 3


def _is_complete(place: WordPlace) -> bool:
    if is_content(place.next):
        return False
    ends_clause = not place.next and is_content(place.left)
    return ends_clause or place.left in BE - {"be"} or place.previous == "100%"


def _is_passed(place: WordPlace) -> bool:
    """Tests pass; a function passes something on."""
    has_count = place.word == "passed" and place.previous.isdecimal()
    has_tests = bool(TESTS.intersection(place.before))
    takes_object = place.next in DETERMINER | PRONOUN | _PASSES_ON or is_content(place.next)
    return (has_count or has_tests) and not takes_object


def _is_green(place: WordPlace) -> bool:
    if is_content(place.next):
        return False
    is_state = place.left in BE or (not place.next and place.previous == "all")
    has_tests = bool((TESTS | {"all"}).intersection(place.before))
    return is_state and has_tests


def _is_working(place: WordPlace) -> bool:
    """ "It works now", "uploads work again", "the cache is working"."""
    if place.word == "working":
        return _is_functioning(place)
    has_subject = bool(place.left) and place.left not in _NOT_SUBJECT
    is_confirmed = place.next in _CONFIRMS or bool(place.between)
    if place.word == "work":
        return has_subject and is_confirmed and place.left not in FINITE
    ends_clause = has_subject and not place.next
    return ends_clause or is_confirmed or place.after[:2] in WORKS_AS


def _is_functioning(place: WordPlace) -> bool:
    """A thing is working; a person is working on it."""
    if {"i", "we", "you", "they", "am"}.intersection(place.before):
        return False
    has_object = place.next in ("on", "with", "for") or is_content(place.next)
    return place.left in BE and not has_object


def _is_ready(place: WordPlace) -> bool:
    """ "It is ready for review"; people who are ready have finished nothing."""
    if {"i", "we", "you"}.intersection(place.before):
        return False
    has_purpose = bool(_PURPOSES.intersection(place.after[1:2]))
    is_handed_on = place.next in ("for", "to") and has_purpose
    return is_handed_on and place.left in BE - {"be", "get"}


def _is_in_place(place: WordPlace) -> bool:
    """ "The index is now in place"."""
    if place.previous != "in" or is_content(place.next):
        return False
    return bool(BE.intersection(place.before[-3:-1]))


def _is_fixing(place: WordPlace) -> bool:
    """ "Fixes #12", "this fixes the race"."""
    if place.next.startswith("#"):
        return True
    names_change = not place.left or place.left in _NAMES_OF_CHANGE
    has_object = place.next in DETERMINER | {"it"}
    return place.word in ("fixes", "solves") and names_change and has_object


def _is_live(place: WordPlace) -> bool:
    is_confirmed = bool(place.between) or place.next in ("now", "on", "in")
    return is_confirmed and place.left in BE


def _is_work(before: Sequence[str]) -> bool:
    """Whether work is named, by a word for it, a reference (#12) or a quotation (all q)."""
    if (WORK | {"i", "we"}).intersection(before):
        return True
    return any(text[0] == "#" or set(text) == {"q"} for text in before)


_SENSES: dict[str, Callable[[WordPlace], bool]] = {
    **dict.fromkeys(DONE, _is_done),
    **dict.fromkeys(CHANGED, _is_changed),
    **dict.fromkeys(TICKED, lambda place: not place.before),
    **dict.fromkeys(split_words("pass passes passed passing"), _is_passed),
    **dict.fromkeys(split_words("works work working"), _is_working),
    **dict.fromkeys(split_words("fixes solves closes resolves"), _is_fixing),
    "complete": _is_complete,
    "green": _is_green,
    "live": _is_live,
    "ready": _is_ready,
    "place": _is_in_place,
}
