"""The words by which a text says that something is done, and those that take it back."""

from __future__ import annotations


def words_of(words: str) -> frozenset[str]:
    return frozenset(words.split())


DONE = words_of(
    "done implemented fixed finished completed resolved shipped merged closed deployed released solved landed"
)
CHANGED = words_of(
    "added removed updated refactored migrated rewrote rewritten wrote written created built integrated introduced"
    " replaced renamed ported patched corrected repaired wired enabled committed pushed deleted addressed eliminated"
    " squashed delivered finalized finalised accomplished achieved rolled upgraded converted extracted automated"
)
TICKED = words_of("[x] ✅ ✔ ☑")
TESTS = words_of(
    "test tests suite suites check checks build builds ci pipeline linter lint mypy ruff pytest spec specs case cases"
    " everything job jobs typecheck benchmark benchmarks e2e"
)
# What is closed or released by people; anything else is closed by a program as it runs.
WORK = words_of(
    "issue issues bug bugs ticket tickets pr prs pull request task tasks branch problem problems story feature it this"
    " that all both everything conflict conflicts milestone version release epic thread threads loophole gap gaps"
)

BE = words_of("is are was were am been being be got gets get remains stays seems looks")
IN_PROGRESS = words_of("being gets get be")
HAVE = words_of("has have had having")
STILL_TO = BE | HAVE | words_of("see make keep")  # "to be done", "to have it merged"
REACHED = words_of("managed able seems")  # "managed to get it done"
MODAL = words_of("will would should shall must can could may might ought cannot wont")
DETERMINER = words_of(
    "the a an this that these those each every any some no its our my your their his her all both"
)
PRONOUN = words_of(
    "i we you he she it they them us me everything everyone somebody nobody who which one"
)
PREPOSITION = words_of(
    "of in on at by for with to from against into onto per via as than over under between within without through"
    " during before after since until about above below across along around behind beyond like near off upon using"
)
JOINING = words_of(
    "and or nor but so because although though while whereas however then plus if when once unless that"
)
ADVERB = words_of(
    "now already finally just also again then there today yesterday even indeed well so far ever still only since all"
    " both really too here however therefore thus first last soon yet almost half quite very never not always often"
)
FINITE = BE | HAVE | MODAL | words_of("do does did need needs")
LOOSE = words_of("found seen made sent known left here there")

NEGATION = words_of(
    "not never no none nothing nobody neither nor hardly barely scarcely cannot few unable zero 0 dont isnt"
    " wasnt hasnt havent doesnt didnt arent werent cant fails failed refuses refused"
)
WISH = words_of(
    "want wants wanted need needs require requires hope hopes hopefully wish wishes let's lets todo tbd wait waiting"
    " ensure ensures wonder wonders ask asks expect expects demands try trying tries suppose imagine pretend"
    " please supposedly allegedly reportedly purportedly ostensibly"
)
CONDITION = words_of(
    "if unless until till once when whenever whether assuming provided supposing lest how why what where otherwise"
)
ASIDE = words_of("after before without")  # hold back until another subject begins
GOVERNING = words_of("if unless whenever assuming provided supposing when once otherwise according")
PHRASES = {
    *(("far", "from"), ("instead", "of"), ("rather", "than"), ("as", "if"), ("as", "though")),
    *(("as", "soon"), ("as", "long"), ("in", "case"), ("so", "that"), ("in", "theory")),
}
REPORT = words_of(
    "says said claims claimed thinks believes assumes suggests reads reported reports according states stated writes"
    " promises promised announces announced pretends alleges told tells"
)
REQUEST = words_of(
    "get make ensure verify check confirm keep mark have see let wait call treat consider leave assert require expect"
    " show tell prove find look"
)
PARTIAL = words_of(
    "half almost nearly partly partially mostly largely barely hardly halfway practically virtually much close"
)
ORDINAL = words_of("first second other last")
SOME = words_of("some most several few many half third thirds quarter quarters majority")
LATER = words_of("soon tomorrow once unless until if")
PLAN_HEADING = words_of(
    "todo todos fixme next plan plans planned remaining pending open goal goals backlog upcoming later wanted criteria"
    " requirements requirement wip missing tbd idea ideas roadmap outstanding must"
)
CLAUSE_ENDS = words_of(
    ", : ( ) — – - | → & but however although though whereas while because so and or nor then plus since"
)
JOINED = words_of(", and or & plus then nor")
NAMING = words_of("values states statuses labels columns")  # what is listed beside these are names

# After the present tense these say how a program works, not that work on it is over.
HOW = words_of(
    "by via using through per lazily automatically when whenever while during with at as from because manually"
)
DESCRIBED = {
    "done": HOW | words_of("to inside twice so like in on for before after once"),
    "implemented": words_of("by as"),
    "fixed": words_of("at to per for"),
    "resolved": HOW | words_of("against relative to before after"),
    "merged": (HOW - words_of("as")) | words_of("before after"),
    "closed": HOW | words_of("on in after before"),
    "released": HOW | words_of("on after before"),
    "shipped": words_of("with by"),
    "completed": HOW | words_of("in before after"),
    "finished": HOW | words_of("in before after"),
    "deployed": HOW | words_of("on"),
}
WORKS_AS = (["as", "expected"], ["as", "intended"], ["for", "all"], ["for", "everyone"])
RUNS = words_of("finished completed closed resolved released")
SMALL = DETERMINER | PRONOUN | PREPOSITION | JOINING | FINITE | LOOSE


def is_participle(text: str) -> bool:
    return text in DONE or text in CHANGED or text.endswith("ed")


def is_adverb(text: str) -> bool:
    return text in ADVERB or text.endswith("ly")


def is_content(text: str) -> bool:
    """Most likely a noun: whatever has letters and is none of the small words of the language."""
    return text[:1].isalpha() and not is_adverb(text) and text not in SMALL
