"""The words by which a text says that something is done, and those that negate it.

They are data: `completion` and `completion_senses` decide by them, and know no words of their own
beyond a few that only one rule needs. Idioms stand here as people write them; each is read as one
word. English only.
"""

from __future__ import annotations

from collections.abc import Iterable


def split_words(words: str) -> frozenset[str]:
    return frozenset(words.split())


def split_idioms(idioms: str) -> frozenset[str]:
    return frozenset(idiom.strip() for idiom in idioms.split(","))


DONE = split_words(
    "done implemented fixed finished completed resolved shipped merged closed deployed released"
    " solved landed"
)
CHANGED = split_words(
    "added removed updated refactored migrated rewrote rewritten wrote written created built"
    " integrated introduced replaced renamed ported patched corrected repaired wired enabled"
    " committed pushed deleted addressed eliminated squashed delivered finalized finalised"
    " accomplished achieved rolled upgraded converted extracted automated moved switched bumped"
    " dropped handled extended improved simplified reworked restored hardened consolidated"
)
# What we did without a change to the work; any other verb in the past with an object is a change.
UNCHANGING = split_words(
    "agreed allowed analysed analyzed answered appreciated asked assumed attempted avoided"
    " based believed benchmarked called caused chased checked compared concluded confirmed"
    " considered contacted counted debated debugged decided deferred described determined"
    " discovered discussed doubted embed encountered enjoyed estimated evaluated examined"
    " expected explained explored faced favored favoured feared followed guessed hoped"
    " identified ignored inspected intended investigated lacked learned liked listed looked"
    " loved measured mentioned missed monitored named needed noted noticed notified observed"
    " opened ordered picked planned postponed preferred profiled proposed queried questioned"
    " realised realized received recommended rejected remembered replied reproduced requested"
    " required retried reverted reviewed sampled scanned searched selected shed shred skipped"
    " started stopped studied suggested surveyed suspected talked tested tolerated traced"
    " tracked tried trusted turned used verified viewed visited waited warned watched weighed"
    " wondered worked"
)
TICKED = split_words("[x] ✅ ✔ ☑ ✓")
CHEERS = split_words("🎉")  # before what there is to cheer
UNTICKED = split_words("[] ☐ ⬜ ❌ ✗ ✘ ⏳ 🚧")
# What we did: "took care of the race".
ACTS = split_idioms(
    "took care of, got rid of, cleaned up, tidied up, cleared up, knocked out, polished off,"
    " fleshed out, checked off, ticked off, crossed off, put in place, put the finishing touches"
)
# The same, and what a thing is afterwards: "wrapped up the refactoring", "it is wrapped up".
SETTLED = split_idioms(
    "taken care of, dealt with, sorted out, wrapped up, buttoned up, ironed out, wired up,"
    " hooked up, verified end to end, verified end-to-end, tested end to end, tested end-to-end"
)
# What a thing is when work on it is over; those of the second group need a verb: "it is in place".
HEADLINES = split_idioms(
    "good to go, good to merge, good to ship, up and running, all set, all good, fully functional,"
    " fully operational, up and working, all clear, all systems go, production-ready,"
    " feature-complete, back to normal, back to green"
)
STATES = HEADLINES | split_idioms(
    "in place, behind us, a wrap, no more, out of the way, squared away, in the bag"
)
SUCCESSES = split_idioms(
    "nailed it, works like a charm, did the trick, does the trick, put to bed,"
    " nothing left to do, nothing left on the list, nothing else to do, does what it should,"
    " do what they should, does what it is supposed to, can no longer reproduce,"
    " nothing remains to be done, nothing is left to do, no open issues remain"
)
# Those that say so only where they are all that is said: "that's it, …", not "that's it for now".
VERDICTS = split_idioms(
    "that did it, this did it, that does it, that is it, this is it, lgtm, looks good to me,"
    " ship it, success"
)
SMOOTH = split_idioms(
    "without errors, without any errors, without error, without warnings, without issues,"
    " without a single error, without a single failure, without a hitch"
)
# "came back green"
TURNED = split_idioms(
    "come back, came back, comes back, come out, came out, comes out, went, turned, run, runs, ran"
)
OTHER_IDIOMS = split_idioms(
    "set up, wraps up, takes care of, checks out, no longer, any more, any longer, end to end,"
    " not a single"
)
TESTS = split_words(
    "test tests suite suites check checks build builds ci pipeline linter lint mypy ruff pytest"
    " spec specs case cases everything job jobs typecheck benchmark benchmarks e2e"
    " compile compilation"
)
# What is closed or released by people; anything else is closed by a program as it runs.
WORK = split_words(
    "issue issues bug bugs ticket tickets pr prs pull request task tasks branch problem"
    " problems story feature it this that all both everything conflict conflicts milestone"
    " version release epic thread threads loophole gap gaps"
)

# What a program does without: "the old helper is deleted"; what else is deleted may be data.
OBSOLETE = split_words("old legacy unused dead deprecated obsolete redundant duplicated")
# What work is measured by: "all criteria are met".
GOALS = split_words(
    "criteria criterion goal goals requirement requirements target targets objective objectives"
)
# What is numbered by a fraction that is its name: "task 3 of 5".
NUMBERED = split_words("task step phase part item milestone stage chapter pr commit ticket wave")

# What people are glad to be rid of: "the race is gone", "it no longer hangs".
TROUBLE = split_words(
    "error errors warning warnings bug bugs race races deadlock deadlocks leak leaks flake flakes"
    " flakiness crash crashes regression regressions issue issues problem problems failure failures"
)
FAILS = split_words(
    "fails fail failing crashes crash crashing hangs hang hanging leaks leak leaking flakes flake"
    " breaks break throws throw throwing errors deadlocks deadlock blocks block reproduces"
    " reproduce happens happen occurs occur stalls stall panics panic segfaults segfault"
)
NAMES_OF_CHANGE = split_words("commit patch pr change fix branch diff")
# Where code is once work on it is over; any other bare noun says how it is made: "in Rust".
STAGES = split_words("main master production prod staging dev trunk")

BE = split_words("is are was were am been being be got gets get remains stays seems looks")
IN_PROGRESS = split_words("being gets get be")
HAVE = split_words("has have had having")
STILL_TO = BE | HAVE | split_words("see make keep")  # "to be done", "to have it merged"
REACHED = split_words("managed able seems")  # "managed to get it done"
MODAL = split_words("will would should shall must can could may might ought cannot wont")
DETERMINER = split_words(
    "the a an this that these those each every any some no its our my your their his her all both"
)
PRONOUN = split_words(
    "i we you he she it they them us me everything everyone somebody nobody who which one"
)
PREPOSITION = split_words(
    "of in on at by for with to from against into onto per via as than over under between"
    " within without through during before after since until about above below across along"
    " around behind beyond like near off upon using"
)
JOINING = split_words(
    "and or nor but so because although though while whereas however then plus if when once"
    " unless that"
)
ADVERB = split_words(
    "now already finally just also again then there today yesterday even indeed well so far"
    " ever still only since all both really too here however therefore thus first last soon yet"
    " almost half quite very never not always often end-to-end"
) | {"end to end"}
FINITE = BE | HAVE | MODAL | split_words("do does did need needs")
LOOSE = split_words("found seen made sent known left here there")

NEGATION = split_words(
    "not never no none nothing nobody neither nor hardly barely scarcely cannot few unable zero"
    " 0 dont isnt wasnt hasnt havent doesnt didnt arent werent cant fails failed refuses refused"
) | {"no longer", "no more", *UNTICKED}
WISH = split_words(
    "want wants wanted need needs require requires hope hopes hopefully wish wishes let's lets"
    " todo tbd wait waiting ensure ensures wonder wonders ask asks expect expects demands try"
    " trying tries suppose imagine pretend please supposedly allegedly reportedly purportedly"
    " ostensibly"
)
ARTICLE = split_words("the a an each every my our your their")  # "every todo" wishes nothing
CONDITION = split_words(
    "if unless until till once when whenever whether assuming provided supposing lest how why"
    " what where otherwise"
)
ASIDE = split_words("after before without")  # hold back until another subject begins
GOVERNING = split_words(
    "if unless whenever assuming provided supposing when once otherwise according"
)
PHRASES = {
    *(("far", "from"), ("instead", "of"), ("rather", "than"), ("as", "if"), ("as", "though")),
    *(("as", "soon"), ("as", "long"), ("in", "case"), ("so", "that"), ("in", "theory")),
    *(("too", "early"), ("too", "soon")),
}
REPORT = split_words(
    "says said claims claimed thinks believes assumes suggests reads reported reports according"
    " states stated writes promises promised announces announced pretends alleges told tells"
    " prints displays shows"
)
REQUEST = split_words(
    "get make ensure verify check confirm keep mark have see let wait call treat consider leave"
    " assert require expect show tell prove find look"
)
PARTIAL = split_words(
    "half almost nearly partly partially mostly largely barely hardly halfway practically"
    " virtually much close"
)
ORDINAL = split_words("first second other last")
_COUNTED = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
NUMBERS = {word: str(number) for number, word in enumerate(_COUNTED, start=1)}
SOME = split_words("some most several few many half third thirds quarter quarters majority")
LATER = split_words("soon tomorrow once unless until if")
PLAN_HEADING = split_words(
    "todo todos fixme next plan plans planned remaining pending open goal goals backlog"
    " upcoming later wanted criteria requirements requirement wip missing tbd idea ideas roadmap"
    " outstanding must legend"
)
CLAUSE_ENDS = split_words(
    ", : ( ) — – - | → & but however although though whereas while because so and or nor then"
    " plus since"
)
JOINED = split_words(", and or & plus then nor")
NAMING = split_words(
    "values states statuses labels columns"
)  # what is listed beside these are names
# "A state done", "the label fixed": the word is what the thing is called.
NAMED = split_words("state status value label column flag option member constant kind")

# After the present tense these say how a program works, not that work on it is over.
HOW = split_words(
    "by via using through per lazily automatically when whenever while during with at as from"
    " because manually"
)
DESCRIBED = {
    "done": HOW | split_words("to inside twice so like in on for before after once"),
    "implemented": split_words("by as using via through"),
    "fixed": split_words("at to per for"),
    "resolved": HOW | split_words("against relative to before after"),
    "merged": (HOW - split_words("as")) | split_words("before after"),
    "closed": HOW | split_words("on in after before"),
    "released": HOW | split_words("on after before"),
    "shipped": split_words("with by"),
    "completed": HOW | split_words("in before after"),
    "finished": HOW | split_words("in before after"),
    "deployed": HOW | split_words("on"),
}
WORKS_AS = (["as", "expected"], ["as", "intended"], ["for", "all"], ["for", "everyone"])
RUNS = split_words("finished completed closed resolved released")
_NO_CHANGE = UNCHANGING | CONDITION | WISH | REPORT | NEGATION
_PARTICIPLES = DONE | CHANGED | ACTS | SETTLED
SMALL = DETERMINER | PRONOUN | PREPOSITION | JOINING | FINITE | LOOSE


def is_participle(text: str) -> bool:
    return text in _PARTICIPLES or text.endswith("ed")


def is_change(text: str) -> bool:
    """A verb in the past that may report a change: "inlined", but not "noticed"."""
    is_regular = text.endswith("ed") and not text.endswith("eed")
    return text in ("made", "brought") or (is_regular and text not in _NO_CHANGE)


def is_adverb(text: str) -> bool:
    return text in ADVERB or text.endswith("ly")


def find_first_word(texts: Iterable[str]) -> str:
    """The first that is not an adverb; empty where all are."""
    return next((text for text in texts if not is_adverb(text)), "")


def is_content(text: str) -> bool:
    """Most likely a noun: it has letters and is not one of the small words of the language."""
    is_word = text[:1].isalpha()
    return is_word and not is_adverb(text) and text not in SMALL


def _list_idioms() -> dict[str, list[tuple[str, ...]]]:
    """Those of several words by their first word, the longest first."""
    idioms = ACTS | SETTLED | STATES | SUCCESSES | VERDICTS | SMOOTH | TURNED | OTHER_IDIOMS
    split = [tuple(idiom.split()) for idiom in idioms if " " in idiom]
    by_first: dict[str, list[tuple[str, ...]]] = {}
    for words in sorted(split, key=len, reverse=True):
        by_first.setdefault(words[0], []).append(words)
    return by_first


IDIOMS = _list_idioms()
