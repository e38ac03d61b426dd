"""What a word of completion means in its clause: "the fixed costs" and "it is fixed" differ."""

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
    is_adverb,
    is_content,
    split_words,
)


class WordPlace:
    """A word and its neighbours: the one on its left that is not an adverb, and those after it."""

    def __init__(self, texts: Sequence[str], at: int):
        self.word = texts[at]
        self.before, self.after = texts[:at], texts[at + 1 :]
        self.previous = texts[at - 1] if at else ""
        self.next = texts[at + 1] if at + 1 < len(texts) else ""
        self.left = next((text for text in reversed(self.before) if not is_adverb(text)), "")
        self.between = frozenset(self.before) & split_words("now already finally again")


def is_completion(texts: Sequence[str], at: int) -> bool:
    sense = _SENSES.get(texts[at])
    return bool(sense and sense(WordPlace(texts, at)))


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
        return place.left in DETERMINER | PREPOSITION | (BE - {"been", "got"}) or place.left in (
            "use",
            "uses",
        )
    second = place.after[1] if len(place.after) > 1 else ""
    is_subject = (
        place.next.endswith("s") and is_content(second) and not second.endswith(("ing", "ed"))
    )
    return (is_subject and second not in LOOSE) or _has_finite_verb(place.after)


def _has_finite_verb(after: Sequence[str]) -> bool:
    for text in after[:4]:
        if text in FINITE:
            return True
        if not is_content(text):
            return False
    return False


def _is_description(place: WordPlace) -> bool:
    """How a program works or what it did as it ran, and not work that is finished."""
    is_ours = bool({"i", "we"}.intersection(place.before))
    if place.word == "implemented" and place.next == "by":
        return True
    if place.left in BE - {"been", "got"}:
        if place.word in ("closed", "released") and not _is_work(place.before):
            return True
        is_told = (
            place.left in ("was", "were")
            or is_ours
            or place.between
            or place.after[:2] == ["as", "well"]
        )
        return not is_told and place.next in DESCRIBED.get(place.word, ())
    has_subject = is_content(place.left) and place.left not in HAVE
    return (
        has_subject
        and place.word in RUNS
        and place.next in HOW | {"in", "after", "within", "without", "on"}
    )


def _is_idiom(place: WordPlace) -> bool:
    """ "Definition of done", "easier said than done"; but "marked as done" is a claim."""
    if place.previous == "as" and "marked" in place.before:
        return False
    if not place.before and place.next in BE:
        return True
    return place.previous in ("of", "than", "as") or (
        place.word == "done" and place.next in ("for", "deal")
    )


def _is_changed(place: WordPlace) -> bool:
    """A reported change: by us, first in a clause, in the perfect or passive, "tests added"."""
    if place.left in IN_PROGRESS or _is_attribute(place):
        return False
    if not place.left or place.left in {"i", "we", "been", "got"} | HAVE:
        return True
    if place.left in BE:
        return (
            bool(place.between)
            or place.next == "now"
            or (place.left in ("was", "were") and place.next != "by")
        )
    plain = all(is_content(text) or text in DETERMINER for text in place.before)
    return not place.next and plain and len(place.before) <= 3


def _is_complete(place: WordPlace) -> bool:
    if is_content(place.next):
        return False
    return (
        place.left in BE - {"be"}
        or (not place.next and is_content(place.left))
        or place.previous == "100%"
    )


def _is_passed(place: WordPlace) -> bool:
    """Tests pass; a function passes something on."""
    has_subject = bool(TESTS.intersection(place.before)) or (
        place.word == "passed" and place.previous.isdecimal()
    )
    passes_on = place.next in DETERMINER | PRONOUN | split_words(
        "to through as by into along over"
    ) or is_content(place.next)
    return has_subject and not passes_on


def _is_green(place: WordPlace) -> bool:
    is_state = place.left in BE or (not place.next and place.previous == "all")
    return (
        is_state
        and not is_content(place.next)
        and bool((TESTS | {"all"}).intersection(place.before))
    )


def _is_working(place: WordPlace) -> bool:
    if place.word == "working":
        is_ours = {"i", "we", "you", "they", "am"}.intersection(place.before)
        return (
            place.left in BE
            and not is_ours
            and place.next not in ("on", "with", "for")
            and not is_content(place.next)
        )
    has_subject = bool(place.left) and place.left not in DETERMINER - split_words(
        "this that all both"
    )
    says_so = split_words(
        "now again fine correctly properly perfectly flawlessly everywhere reliably"
    )
    if place.word == "work":
        return (
            has_subject
            and place.left not in FINITE
            and (place.next in says_so or bool(place.between))
        )
    ends = not place.next and has_subject
    return ends or place.next in says_so or bool(place.between) or place.after[:2] in WORKS_AS


def _is_ready(place: WordPlace) -> bool:
    purposes = split_words("review production release merge merging use testing qa ship deploy go")
    is_handed_on = place.next in ("for", "to") and bool(purposes.intersection(place.after[1:2]))
    return (
        place.left in BE - {"be", "get"}
        and not {"i", "we", "you"}.intersection(place.before)
        and is_handed_on
    )


def _is_in_place(place: WordPlace) -> bool:
    return (
        place.previous == "in"
        and bool(BE.intersection(place.before[-3:-1]))
        and not is_content(place.next)
    )


def _is_fixing(place: WordPlace) -> bool:
    """ "Fixes #12", "this fixes the race"."""
    if place.next.startswith("#"):
        return True
    names_change = not place.left or place.left in split_words(
        "this that it which commit patch pr change"
    )
    return place.word in ("fixes", "solves") and names_change and place.next in DETERMINER | {"it"}


def _is_work(before: Sequence[str]) -> bool:
    return bool((WORK | {"i", "we"}).intersection(before)) or any(
        text[0] == "#" or set(text) == {"q"} for text in before
    )


_SENSES: dict[str, Callable[[WordPlace], bool]] = {
    **dict.fromkeys(DONE, _is_done),
    **dict.fromkeys(CHANGED, _is_changed),
    **dict.fromkeys(TICKED, lambda place: not place.before),
    **dict.fromkeys(split_words("pass passes passed passing"), _is_passed),
    **dict.fromkeys(split_words("works work working"), _is_working),
    **dict.fromkeys(split_words("fixes solves closes resolves"), _is_fixing),
    "complete": _is_complete,
    "green": _is_green,
    "live": lambda place: (
        place.left in BE and (bool(place.between) or place.next in ("now", "on", "in"))
    ),
    "ready": _is_ready,
    "place": _is_in_place,
}
