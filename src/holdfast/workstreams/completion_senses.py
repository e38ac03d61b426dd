"""What a word of completion means in its clause: "the fixed costs" and "it is fixed" differ.

Each word has a sense, a function that decides by the words around it whether the word reports
finished work. Only the neighbours are looked at; whether the clause denies, plans or supposes what
it says is decided in `completion`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from holdfast.workstreams.completion_words import (
    ACTS,
    BE,
    CHANGED,
    CONDITION,
    DESCRIBED,
    DETERMINER,
    DONE,
    FAILS,
    FINITE,
    HAVE,
    HEADLINES,
    HOW,
    IN_PROGRESS,
    LOOSE,
    NAMES_OF_CHANGE,
    PREPOSITION,
    PRONOUN,
    RUNS,
    SETTLED,
    SMOOTH,
    STATES,
    SUCCESSES,
    TESTS,
    TICKED,
    TROUBLE,
    TURNED,
    WORK,
    WORKS_AS,
    find_first_word,
    is_adverb,
    is_change,
    is_content,
    split_words,
)

_ALREADY = split_words("now already finally again")
_IS_NOW = BE - {"been", "got"}
_PASSES_ON = split_words("to through as by into along over")
_NOT_SUBJECT = DETERMINER - split_words("this that all both")
_CONFIRMS = split_words(
    "now again fine correctly properly perfectly flawlessly everywhere reliably cleanly end-to-end"
) | {"end to end"}
_SMOOTHLY = _CONFIRMS - split_words("now again everywhere")
_PURPOSES = split_words("review production release merge merging use testing qa ship deploy go")
_POINTS_AT_CHANGE = split_words("this that it which") | NAMES_OF_CHANGE
_POINTS_AT_WORK = WORK - {"all", "both"} | {"which"}


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

    @property
    def subject(self) -> str:
        """The word before the verb group: "race" in "the race is finally gone"."""
        verbs = BE | HAVE
        candidates = (text for text in reversed(self.before) if text not in verbs)
        return find_first_word(candidates)


def is_completion(texts: Sequence[str], at: int) -> bool:
    word = texts[at]
    sense = _SENSES.get(word)
    if sense is None and is_change(word):
        sense = _is_act
    if sense is None:
        return False
    return sense(WordPlace(texts, at))


def _is_done(place: WordPlace) -> bool:
    gets_marked = place.left == "marked" and bool(IN_PROGRESS.intersection(place.before))
    return not (
        gets_marked
        or place.left in IN_PROGRESS
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
    if not place.left and place.next == "by":
        return False
    if not place.left or place.left in {"i", "we", "been", "got"} | HAVE:
        return True
    if place.left in BE:
        is_past_event = place.left in ("was", "were") and place.next != "by"
        return is_past_event or bool(place.between) or place.next == "now"
    return place.word not in ("wrote", "rewrote") and _is_headline(place)


def _is_act(place: WordPlace) -> bool:
    """ "Installed the hook", "I've swapped `a` for `b`": by us, with an object."""
    is_quotation = set(place.next) == {"q"}
    has_object = is_quotation or place.next in (DETERMINER - {"that"}) | {"it"}
    if place.word == "made" and place.next in ("a", "an"):
        return False  # a mistake, a decision
    is_ours = not place.left or bool({"i", "we"}.intersection(place.before[-4:]))
    follows_subject = place.left in {"", "i", "we"} | HAVE
    return has_object and is_ours and follows_subject


def _is_headline(place: WordPlace) -> bool:
    """ "Tests added", "server up and running"."""
    is_plain = all(is_content(text) or text in DETERMINER for text in place.before)
    return is_plain and not place.next and len(place.before) <= 3


def _is_state(place: WordPlace) -> bool:
    """ "It is up and running", "all set"; not "sorts in place"."""
    if place.left in IN_PROGRESS or place.next in ("of", "than") or is_content(place.next):
        return False
    if place.left in BE:
        return True
    return place.word in HEADLINES and (not place.left or _is_headline(place))


def _is_settled(place: WordPlace) -> bool:
    """ "Dealt with it", "it is dealt with"; not "errors are dealt with in the handler"."""
    is_described = place.next in HOW | {"in", "on"}
    return _is_changed(place) or (_is_state(place) and not is_described)


def _is_set_up(place: WordPlace) -> bool:
    """ "CI has been set up"; "set up CI" may be a request."""
    return bool(place.left) and _is_changed(place)


def _is_sorted(place: WordPlace) -> bool:
    """ "That is sorted"; but lists are sorted too."""
    if place.next and not is_adverb(place.next):
        return False
    is_state = place.left in BE - IN_PROGRESS and place.subject in _POINTS_AT_WORK
    return is_state or not place.left


def _is_gone(place: WordPlace) -> bool:
    """ "The race is gone"; what else is gone may be missed."""
    return place.left in BE and place.subject in TROUBLE and place.next not in CONDITION


def _is_golden(place: WordPlace) -> bool:
    return place.left in BE and place.subject in ("we", "you") and not place.next


def _is_in(place: WordPlace) -> bool:
    """ "It's in.", "the fix is in"; not "it's in app.py" or "the folder it is in"."""
    if place.next or place.left not in BE:
        return False
    names_change = len(place.before) <= 3 and place.subject in NAMES_OF_CHANGE
    return names_change or place.before[:-1] == ["it"]


def _is_ended(place: WordPlace) -> bool:
    """ "It no longer hangs", "does not crash any more": a fault that does not occur now."""
    trouble = find_first_word(place.after)
    is_over = place.word == "no longer" or bool(
        {"anymore", "any more", "any longer"}.intersection(place.after)
    )
    return trouble in FAILS and is_over


def _is_ticked(place: WordPlace) -> bool:
    """A tick at either end; "rows with a ✔" are about ticks."""
    ends_clause = not place.after and place.previous not in DETERMINER | PREPOSITION
    return not place.before or ends_clause


def _is_complete(place: WordPlace) -> bool:
    if is_content(place.next) or place.next in CONDITION | {"with"}:
        return False
    ends_clause = not place.next and (not place.left or is_content(place.left))
    return ends_clause or place.left in BE - {"be"} or place.previous == "100%"


def _is_passed(place: WordPlace) -> bool:
    """Tests pass, and code passes tests; a function passes something on."""
    if _passes_tests(place):
        return True
    has_count = place.word in ("passed", "passing") and place.previous.isdecimal()
    has_tests = place.before == ["all"] or bool(TESTS.intersection(place.before))
    takes_object = place.next in DETERMINER | PRONOUN | _PASSES_ON or is_content(place.next)
    return (has_count or has_tests) and not takes_object


def _passes_tests(place: WordPlace) -> bool:
    """ "It passes all 31 tests"."""
    takes_all = place.next in ("all", "every", "both")
    has_tests = bool(TESTS.intersection(place.after[1:4]))
    return place.word in ("passes", "passed") and takes_all and has_tests


def _is_green(place: WordPlace) -> bool:
    """ "CI is green", "mypy came back clean", "all green"."""
    if is_content(place.next):
        return False
    if place.word == "green" and place.before == ["all"]:
        return True
    tests = TESTS | {"all"}
    is_state = place.left in BE | TURNED or (not place.next and place.previous in tests)
    return is_state and bool(tests.intersection(place.before))


def _is_working(place: WordPlace) -> bool:
    """ "It works now", "uploads work again", "the cache is working"."""
    if place.word == "working":
        return _is_functioning(place)
    has_subject = bool(place.left) and place.left not in _NOT_SUBJECT
    is_confirmed = place.next in _CONFIRMS or bool(place.between)
    if place.word == "work" and place.previous in ("all", "both"):
        return not place.next
    if place.word == "work":
        return has_subject and is_confirmed and place.left not in FINITE
    ends_clause = has_subject and not place.next
    return ends_clause or is_confirmed or place.after[:2] in WORKS_AS


def _is_functioning(place: WordPlace) -> bool:
    """A thing is working, or we got it working; a person is working on it."""
    if "got" in place.before[:-1] and place.next != "on":
        return not is_content(place.next)
    if {"i", "we", "you", "they", "am"}.intersection(place.before):
        return False
    stands_alone = not place.left and not place.next
    has_object = place.next in ("on", "with", "for") or is_content(place.next)
    return stands_alone or (place.left in BE and not has_object)


def _is_ready(place: WordPlace) -> bool:
    """ "It is ready for review"; people who are ready have finished nothing."""
    if {"i", "we", "you"}.intersection(place.before):
        return False
    has_purpose = bool(_PURPOSES.intersection(place.after[1:2]))
    is_handed_on = place.next in ("for", "to") and has_purpose
    return is_handed_on and (not place.before or place.left in BE - {"be", "get"})


def _is_fixing(place: WordPlace) -> bool:
    """ "Fixes #12", "this fixes the race"."""
    if place.next.startswith("#"):
        return True
    names_change = not place.left or place.left in _POINTS_AT_CHANGE
    return names_change and place.next in DETERMINER | {"it"}


def _is_settling(place: WordPlace) -> bool:
    """ "This resolves the issue", "closes #12"; not "this resolves the path"."""
    if place.next.startswith("#"):
        return True
    has_work = bool((WORK | TROUBLE).intersection(place.after[:4]))
    names_work = has_work or place.word in ("takes care of", "completes")
    points_at_change = place.before in (["this"], ["that"])
    return names_work and (points_at_change or _is_by_our_change(place))


def _is_by_our_change(place: WordPlace) -> bool:
    """ "This PR adds", "the patch implements"; not "each commit adds"."""
    is_named = place.left in NAMES_OF_CHANGE
    return is_named and place.before[0] in ("this", "the", "that", "my", "our")


def _is_managed(place: WordPlace) -> bool:
    """ "I managed to fix it"."""
    reached = {"managed", "able"}.intersection(place.before[-2:-1])
    return place.previous == "to" and bool(reached)


def _is_checked(place: WordPlace) -> bool:
    """ "Everything checks out"; git checks out a branch."""
    takes_object = place.next in DETERMINER or is_content(place.next)
    return place.subject in ("everything", "it", "that", "this") and not takes_object


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
    **dict.fromkeys(CHANGED | ACTS, _is_changed),
    **dict.fromkeys(SETTLED, _is_settled),
    **dict.fromkeys(STATES, _is_state),
    **dict.fromkeys(SUCCESSES, lambda _: True),
    **dict.fromkeys(SMOOTH, lambda place: is_content(place.left)),
    **dict.fromkeys(TICKED, _is_ticked),
    **dict.fromkeys(split_words("pass passes passed passing"), _is_passed),
    **dict.fromkeys(split_words("succeed succeeds succeeded"), _is_passed),
    **dict.fromkeys(split_words("works work working"), _is_working),
    **dict.fromkeys(("fixes", "solves", "wraps up"), _is_fixing),
    **dict.fromkeys(
        ("closes", "resolves", "addresses", "completes", "takes care of"), _is_settling
    ),
    **dict.fromkeys(split_words("implements adds removes introduces"), _is_by_our_change),
    **dict.fromkeys(("no longer", "not"), _is_ended),
    **dict.fromkeys(("green", "clean", "happy"), _is_green),
    **dict.fromkeys(("fix", "solve"), _is_managed),
    **dict.fromkeys(split_words("starts runs loads builds"), lambda place: place.next in _SMOOTHLY),
    "checks out": _is_checked,
    "compiles": lambda place: place.next in _CONFIRMS,
    "complete": _is_complete,
    "golden": _is_golden,
    "gone": _is_gone,
    "in": _is_in,
    "live": _is_live,
    "ready": _is_ready,
    "set up": _is_set_up,
    "ships": lambda place: place.next == "now",
    "sorted": _is_sorted,
}
