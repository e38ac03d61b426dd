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
    CHEERS,
    CONDITION,
    DESCRIBED,
    DETERMINER,
    DONE,
    FAILS,
    FINITE,
    GOALS,
    HAVE,
    HEADLINES,
    HOW,
    IN_PROGRESS,
    LOOSE,
    NAMED,
    NAMES_OF_CHANGE,
    OBSOLETE,
    PREPOSITION,
    PRONOUN,
    RUNS,
    SETTLED,
    SMOOTH,
    STAGES,
    STATES,
    SUCCESSES,
    TESTS,
    TICKED,
    TROUBLE,
    TURNED,
    VERDICTS,
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
_READY_WORK = split_words("mr request feature implementation release")
_POINTS_AT_CHANGE = split_words("this that it which") | NAMES_OF_CHANGE
_POINTS_AT_WORK = WORK - {"all", "both"} | {"which"}
_LISTED = split_words(
    "item items checklist point points"
)  # closed by people, but sorted by programs
_RID_OF = split_words("eliminated eradicated squashed")
_SINGLE_TESTS = split_words("test build ci pipeline suite job")
_TEXTS = split_words("docs documentation readme changelog")
_CLEAN = TESTS | split_words("all types typing linting formatting eslint tsc clippy flake8")
_NONE = split_words("no zero 0")
_GOOD_ANSWERS = split_words("200 201 202 204")
# What something does once a fault is gone: "it now survives a restart".
_BEHAVES = split_words(
    "respects survives persists reconnects retries recovers preserves honours honors escapes"
)


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
        self.around = (*self.before, *self.after)

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
        or (place.left in IN_PROGRESS and not _is_expected_now(place))
        or _is_attribute(place)
        or _is_description(place)
        or _is_idiom(place)
    )


def _is_expected_now(place: WordPlace) -> bool:
    """ "It should be fixed now"."""
    return place.left == "be" and "should" in place.before and "now" in place.around


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
    if place.word == "implemented" and (place.next == "by" or _is_made_so(place)):
        return True
    if place.left in _IS_NOW:
        is_listed = bool(_LISTED.intersection(place.before))
        if place.word in ("closed", "released") and not (is_listed or _is_work(place.before)):
            return True
        return not _is_report(place) and place.next in DESCRIBED.get(place.word, ())
    has_subject = is_content(place.left) and place.left not in HAVE
    describes_run = place.next in HOW | {"in", "after", "within", "without", "on"}
    return has_subject and place.word in RUNS and describes_run


def _is_made_so(place: WordPlace) -> bool:
    """ "Implemented in C", "with a loop"; "implemented in retry.py" and "with tests" is done."""
    if place.left and (place.left not in _IS_NOW or _is_report(place)):
        return False
    kind = [text for text in place.after[1:] if not is_adverb(text)]
    is_bare = len(kind) == 1 and kind[0].rstrip("+").isalpha() and kind[0] not in STAGES
    return (place.next == "in" and is_bare) or place.after[:2] in (["with", "a"], ["with", "an"])


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
    is_named = place.previous in NAMED and bool(DETERMINER.intersection(place.before))
    return is_named or place.previous in ("of", "than", "as")


def _is_changed(place: WordPlace) -> bool:
    """A reported change: by us, first in a clause, in the perfect or passive, "tests added"."""
    if place.left in IN_PROGRESS or _is_attribute(place):
        return False
    if not place.left and (place.next == "by" or _is_handled_there(place)):
        return False
    if not place.left or place.left in {"i", "we", "been", "got"} | HAVE:
        return True
    if place.left in BE:
        is_past_event = place.left in ("was", "were") and place.next != "by"
        is_new = bool(place.between) or place.next == "now"
        return is_past_event or is_new or _is_removed(place) or _is_written(place)
    return place.word not in ("wrote", "rewrote") and _is_headline(place)


def _is_handled_there(place: WordPlace) -> bool:
    """ "Handled in middleware": where a program does it; "handled in the last commit" is done."""
    is_ours = any(text in NAMES_OF_CHANGE or text[0] == "#" for text in place.after)
    return place.word == "handled" and place.next in HOW | {"in"} and not is_ours


def _is_removed(place: WordPlace) -> bool:
    """ "The old helper is deleted", "the bug is squashed"; not "the row is deleted"."""
    if place.next or not place.before:
        return False
    is_obsolete = bool(OBSOLETE.intersection(place.before)) or _has_quotation(place.before)
    is_cleared = place.word in _RID_OF and place.before[0] in DETERMINER
    return is_cleared or (is_obsolete and place.word in ("deleted", "removed", "dropped"))


def _is_written(place: WordPlace) -> bool:
    """ "The docs are updated": by us, where rows are updated by a program."""
    return place.word == "updated" and not place.next and place.subject in _TEXTS


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
    """ "That is sorted", "sorted the flaky test"; but lists are sorted too."""
    if place.next and not is_adverb(place.next):
        return _is_act(place) and "by" not in place.after
    is_state = place.left in BE - IN_PROGRESS and place.subject in _POINTS_AT_WORK
    is_single = place.left in ("is", "was") and place.subject in TROUBLE | _SINGLE_TESTS
    return is_state or is_single or not place.left


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


def _is_without_failure(place: WordPlace) -> bool:
    """ "Not a single test fails", "none of the tests fail any more", "no test fails any more"."""
    of_tests = bool(TESTS.intersection(place.after[:4]))
    rest = place.after[-1:]
    if place.word != "not a single":
        rest = [text for text in place.after if text in FAILS]
        is_over = bool({"anymore", "any more", "any longer"}.intersection(place.after))
        of_tests = is_over and (of_tests or place.word == "nothing")
    return not place.before and of_tests and bool(FAILS.intersection(rest))


def _is_ticked(place: WordPlace) -> bool:
    """A tick at either end; "rows with a ✔" are about ticks."""
    ends_clause = not place.after and place.previous not in DETERMINER | PREPOSITION
    return not place.before or ends_clause


def _is_complete(place: WordPlace) -> bool:
    if is_content(place.next) or place.next in CONDITION | {"with"}:
        return False
    is_headed = not place.left or is_content(place.left) or place.left in TICKED
    ends_clause = not place.next and is_headed
    return ends_clause or place.left in BE - {"be"} or place.previous == "100%"


def _is_passed(place: WordPlace) -> bool:
    """Tests pass, and code passes tests; a function passes something on."""
    if _passes_tests(place):
        return True
    has_count = place.word in ("passed", "passing") and _is_count(place.previous)
    words = [text for text in place.before if text not in _ALREADY]
    is_all = words in (["all"], ["it"], ["this"], ["that"]) or place.before[:2] == ["all", "of"]
    has_tests = is_all or bool(TESTS.intersection(place.before))
    takes_object = place.next in DETERMINER | PRONOUN | _PASSES_ON or is_content(place.next)
    return (has_count or has_tests) and not takes_object


def _is_count(text: str) -> bool:
    """ "42" or "42/42"."""
    return all(part.isdecimal() for part in text.split("/"))


def _passes_tests(place: WordPlace) -> bool:
    """ "It passes all 31 tests"."""
    takes_all = place.next in ("all", "every", "both")
    has_tests = bool(TESTS.intersection(place.after[1:4]))
    return place.word in ("passes", "passed") and takes_all and has_tests


def _is_green(place: WordPlace) -> bool:
    """ "CI is green", "mypy came back clean", "all green"."""
    if is_content(place.next):
        return False
    if place.word == "green" and (place.before == ["all"] or _is_count(place.previous)):
        return True
    is_state = place.left in BE | TURNED or (not place.next and place.previous in _CLEAN)
    return is_state and bool(_CLEAN.intersection(place.before))


def _is_working(place: WordPlace) -> bool:
    """ "It works now", "uploads work again", "the cache is working"."""
    if place.word == "working":
        return _is_functioning(place)
    has_subject = bool(place.left) and place.left not in _NOT_SUBJECT
    is_confirmed = place.next in _CONFIRMS or bool(place.between)
    if place.word == "work" and place.previous in ("all", "both"):
        return not place.next
    if place.word == "work" and not place.next and len(place.before) <= 2:
        is_plural = place.left.endswith("s") and not place.left.endswith("ss")
        return is_plural and all(map(is_content, place.before))
    if place.word == "work":
        return has_subject and is_confirmed and place.left not in FINITE
    stands_alone = not place.before and not place.after
    ends_clause = has_subject and not place.next
    return stands_alone or ends_clause or is_confirmed or place.after[:2] in WORKS_AS


def _is_functioning(place: WordPlace) -> bool:
    """A thing is working, or we got it working; a person is working on it."""
    if "got" in place.before[:-1] and place.next != "on":
        return not is_content(place.next)
    if {"i", "we", "you", "they", "am"}.intersection(place.before):
        return False
    if place.left in ("confirmed", "verified"):
        return not is_content(place.next)
    stands_alone = not place.left and not place.next
    has_object = place.next in ("on", "with", "for") or is_content(place.next)
    return stands_alone or (place.left in BE and not has_object)


def _is_right_now(place: WordPlace) -> bool:
    """ "It now survives a restart", "the socket now closes properly"; not "it now needs a key"."""
    if not place.next:
        return place.previous in _SMOOTHLY and place.left.endswith("s")
    has_subject = is_content(place.left) or place.left in ("it", "this")
    is_verb = is_content(place.next) and place.next.endswith("s") and place.next not in FAILS
    is_proper = place.next in _BEHAVES or bool(_SMOOTHLY.intersection(place.after[1:]))
    return has_subject and is_verb and is_proper


def _is_built(place: WordPlace) -> bool:
    """ "Everything compiles", "the image builds"; not "builds a list" or "the last ten builds"."""
    if place.next in _CONFIRMS:
        return True
    is_named = place.before[:1] == ["the"] and is_content(place.left) and len(place.before) <= 4
    is_whole = place.before == ["everything"] or (place.word == "builds" and is_named)
    return is_whole and not place.next


def _is_exit(place: WordPlace) -> bool:
    """ "`make lint` exits 0", "the build exits with 0"; not "exits 0 when the queue is empty"."""
    code = [text for text in place.after if text not in ("with", "code", "status")]
    is_success = code in (["0"], ["zero"], ["cleanly"], ["0", "now"], ["cleanly", "now"])
    return is_success and _is_by_tests(place)


def _is_clean_report(place: WordPlace) -> bool:
    """ "`tsc` reports no errors", "mypy finds no new problems"."""
    if place.next not in _NONE or not _is_by_tests(place):
        return False
    at = next((at for at, text in enumerate(place.after[:4]) if text in TROUBLE), None)
    if at is None:
        return False
    rest = place.after[at + 1 :]
    return not rest or rest[0] in ("across", "now", "anymore", "any more", "any longer")


def _is_by_tests(place: WordPlace) -> bool:
    return place.left in TESTS or set(place.left) == {"q"}


def _is_rid(place: WordPlace) -> bool:
    """ "No more type errors", "there are no more warnings"."""
    is_first = not place.before or place.before[0] == "there"
    is_short = len(place.after) <= 3
    return is_first and is_short and bool(TROUBLE.intersection(place.after[-1:]))


def _is_answer(place: WordPlace) -> bool:
    """ "It returns 200 again", "both return 200 after the change"."""
    is_changed = any(text in NAMES_OF_CHANGE for text in place.after)
    is_new = bool(place.between) or bool(_ALREADY.intersection(place.after))
    return place.next in _GOOD_ANSWERS and (is_new or ("after" in place.after and is_changed))


def _is_reached(place: WordPlace) -> bool:
    """ "All criteria are met", "performance target hit"."""
    has_goal = bool(GOALS.intersection(place.before))
    is_state = place.left in (BE - IN_PROGRESS) | GOALS
    return has_goal and is_state and place.next in ("", "now")


def _is_satisfying(place: WordPlace) -> bool:
    """ "It meets all requirements"; not "all but one"."""
    has_goal = bool(GOALS.intersection(place.after[1:5]))
    has_gap = bool({"except", "besides", "apart"}.intersection(place.after))
    return place.next in ("all", "every", "both") and has_goal and not has_gap


def _is_holding(place: WordPlace) -> bool:
    """ "The fix holds", "fix confirmed"; a lock holds something."""
    return place.left in NAMES_OF_CHANGE and place.next in ("", "up")


def _is_successful(place: WordPlace) -> bool:
    """ "Deployment successful", "the rollout was successful"."""
    is_past = place.left in ("was", "were", "been")
    is_headline = is_content(place.left) and _is_headline(place)
    return (is_past or is_headline) and not place.next


def _is_run(place: WordPlace) -> bool:
    """ "The migration ran through cleanly", "the backfill ran successfully"."""
    how = [text for text in place.after if text != "through"]
    is_smooth = how in (["successfully"], ["cleanly"], ["smoothly"], ["flawlessly"])
    return is_content(place.left) and is_smooth


def _is_zero(place: WordPlace) -> bool:
    """ "0 failures": what a test run prints; "no errors" may be all that a log says."""
    return not place.before and place.after in (["failures"], ["errors"], ["regressions"])


def _is_wrapping(place: WordPlace) -> bool:
    """ "That wraps it up", "this wraps the refactor up"."""
    return place.left in _POINTS_AT_CHANGE and place.after[-1:] == ["up"]


def _is_ready(place: WordPlace) -> bool:
    """ "It is ready for review", "the PR is ready"; people who are ready have finished nothing."""
    if {"i", "we", "you"}.intersection(place.before):
        return False
    if not place.next and place.left in BE - {"be", "get"}:
        return place.subject in NAMES_OF_CHANGE | _READY_WORK
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
    if not place.left:
        return place.after[1:2] in (["production"], ["prod"], ["staging"])
    is_confirmed = bool(place.between) or place.next in ("now", "on", "in")
    is_short = place.before[:-1] == ["it"] and not place.next
    return (is_confirmed or is_short) and place.left in BE


def _is_work(before: Sequence[str]) -> bool:
    """Whether work is named, by a word for it, a reference (#12) or a quotation."""
    if (WORK | {"i", "we"}).intersection(before):
        return True
    return any(text[0] == "#" for text in before) or _has_quotation(before)


def _has_quotation(texts: Sequence[str]) -> bool:
    """Whether there is a word of nothing but q, which stands for a quotation."""
    return any(set(text) == {"q"} for text in texts)


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
    **dict.fromkeys(VERDICTS, lambda place: not place.before and not place.after),
    **dict.fromkeys(CHEERS, lambda place: bool(place.next) and place.next not in BE),
    **dict.fromkeys(split_words("met reached satisfied fulfilled hit"), _is_reached),
    **dict.fromkeys(("none", "no", "nothing", "not a single"), _is_without_failure),
    **dict.fromkeys(("0", "zero"), _is_zero),
    **dict.fromkeys(("holds", "confirmed"), _is_holding),
    **dict.fromkeys(split_words("meets satisfies fulfils fulfills"), _is_satisfying),
    **dict.fromkeys(split_words("exits exited exit"), _is_exit),
    **dict.fromkeys(split_words("reports report reported finds shows gives"), _is_clean_report),
    **dict.fromkeys(split_words("return returns answers"), _is_answer),
    **dict.fromkeys(("green", "clean", "happy"), _is_green),
    **dict.fromkeys(("fix", "solve"), _is_managed),
    **dict.fromkeys(split_words("starts runs loads"), lambda place: place.next in _SMOOTHLY),
    **dict.fromkeys(("compiles", "builds"), _is_built),
    "checks out": _is_checked,
    "complete": _is_complete,
    "correct": lambda place: place.left in BE and place.next in ("again", "now"),
    "golden": _is_golden,
    "gone": _is_gone,
    "in": _is_in,
    "live": _is_live,
    "no more": lambda place: _is_state(place) or _is_rid(place),
    "now": _is_right_now,
    "ready": _is_ready,
    "set up": _is_set_up,
    "ships": lambda place: place.next == "now",
    "ran": _is_run,
    "sorted": _is_sorted,
    "successful": _is_successful,
    "wraps": _is_wrapping,
}
