"""Whether a person says that they stop for now: "let's stop here", "gotta run, save this".

A signal only leads to an offer to save, and a command always works. So a false alarm annoys and a
miss costs little: where the words leave a doubt, there is no signal.

- A clause counts from its first word to its last. "Let's stop the server" and "I need to go through
  the logs" begin like signals and go on with words that no signal has.
- Its parts are recognised before it is compared: who stops ("let's", "I have to", "I'm …ing"),
  until when ("for today", "until Monday"), what is not at the screen ("my train", "the kids"). So a
  pattern is a sentence of marks, and beside "for today" any verb that is not work may stand.
- What else is said must not ask for work. "Fix the parser, then let's stop here" is a request, and
  so is a long one that ends with "thanks, bye". To save, commit or note something is no work.
- Short phrases ("that's enough", "let's stop", "bye") count only beside courtesies.
- A question asks for an opinion ("should we stop here?"), except for those that are requests ("can
  we stop here?"). Conditions, negations, lists, quotations, code and pasted output are no signals.
- A message that stops is short: one with more than 60 words of the person's own is a request or a
  report. Of a long text only the beginning and the end are looked at, as `prose` cuts them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from holdfast.conversations import pausing_words as words
from holdfast.ground import prose
from holdfast.ground.frozen import dataclass
from holdfast.ground.patterns import compile_later

MOST_WORDS = 60
UNKNOWN_WORDS = 2  # of a clause that is as good as empty: a name below a mail

SIGNAL, WEAK, NEUTRAL, STATEMENT, WORK = "signal", "weak", "neutral", "statement", "work"

_LEAD = compile_later(f"{words.LEAD} ")
_SPELLINGS = [
    (word, compile_later(rf"(?<![\w'])(?:{pattern})(?![\w'])")) for word, pattern in words.SPELLINGS
]
_FILLER = compile_later(rf"(?<![\w']){words.FILLER}(?![\w'])")
_MARKS = [(mark, compile_later(pattern)) for mark, pattern in words.MARKS]
_DOERS = [(mark, compile_later(rf"((?:LATER )?)(?:{pattern})")) for mark, pattern in words.DOERS]
_DOING = compile_later(words.DOING)
_STRONG = compile_later(words.STRONG)
_EUROPEAN_SIGNAL = compile_later(words.EUROPEAN)
_EAST_ASIAN_SIGNAL = compile_later(words.EAST_ASIAN)
_WEAK = compile_later(words.WEAK)
_ASKED = compile_later(words.ASKED)
_NEUTRAL = compile_later(words.NEUTRAL)
_TAG = compile_later(words.TAG)
_REQUEST = compile_later(words.REQUEST)
_DUTY = compile_later(words.DUTY)
_PLAN = compile_later(words.PLAN)
_STATEMENT = compile_later(words.STATEMENT)
_CONDITION = compile_later(words.CONDITION)
_REASON = compile_later(words.REASON)
_CITED = compile_later(words.CITED)
_RUN_ON = compile_later(words.RUN_ON)

_LIST_ITEM = compile_later(r"^[ \t]*(?:[-*•]|\d{1,2}[.)])\s", re.MULTILINE)
_FACE = compile_later(r"(?<!\w)[:;]-?[)(DPp/|]+|\^\^|<3")
_INTRODUCES = compile_later(r":(?:\s|$)|：")
_CLAUSE_END = compile_later(
    r"\s*(?:[,;，；、]|\.{2,}|…|\s[-–—]+\s|—|[\u2600-\u27bf\U0001f300-\U0001faff\ufe0f\u200d]+)\s*"
    r"|\s+(?:and(?! there)|but|so(?! kind)|because|bc|cause|cuz|since|&|\+"
    r"|(?:before|as|or)(?= (?:i|i'm|i've|my|it's)\b)|und|aber|weil|denn|pero|porque|et|mais)\s+",
    re.IGNORECASE,
)
_PAST = compile_later(r" (\w+)ed\b")
_DOUBLED = compile_later(r"([bdgmnpt])\1$")
_NO_WORD = compile_later(r"[^\w\s':%/.▯「『“”\"-]+")
_EAST_ASIAN = compile_later(r"[\u3040-\u30ff\u3400-\u9fff]")


@dataclass(frozen=True)
class PauseSignal:
    """The clause that decided, as the person wrote it."""

    words: str


def find_pause_signal(text: str, own_words: Sequence[str] = ()) -> PauseSignal | None:
    """`own_words`: phrases of this person, each of which is a signal as a whole clause."""
    passages = prose.list_passages(text)
    count = sum(len(passage.split()) for passage in passages)
    if not 0 < count <= MOST_WORDS or _opens_with_work(passages[0]) or _has_list(text):
        return None
    own = frozenset(map(normalise, own_words))
    found: list[tuple[str, str]] = []
    for passage in passages:
        shown = prose.mask_quotations(_FACE.sub(" ", passage).replace("’", "'"))
        if _is_quoting(shown):
            return None
        for sentence in prose.split_sentences(shown):
            found += _judge_sentence(sentence, own)
    return _choose(found)


def normalise(clause: str) -> str:
    """In small letters, with nothing around and between the words."""
    plain = _NO_WORD.sub(" ", clause.casefold().replace("’", "'"))
    return " ".join(plain.split()).strip(" .-")


def split_clauses(sentence: str) -> list[str]:
    pieces = [piece.strip() for piece in _CLAUSE_END.split(sentence)]
    return [piece for piece in pieces if normalise(piece)]


def _opens_with_work(passage: str) -> bool:
    """As most prompts do; so they do not wait for the patterns to be compiled."""
    return passage.split()[0].casefold() in words.OPENING_VERBS


def _has_list(text: str) -> bool:
    """A list holds tasks or examples."""
    return any(_LIST_ITEM.search(edge) for edge in prose.take_edges(text))


def _is_quoting(passage: str) -> bool:
    """A quotation that goes on in another line, or a colon: what follows are not own words."""
    is_open = passage.count('"') % 2 == 1 or any(sign in passage for sign in "“„«「『")
    return is_open or bool(_INTRODUCES.search(passage))


def _choose(found: list[tuple[str, str]]) -> PauseSignal | None:
    kinds = {kind for kind, _ in found}
    if WORK in kinds:
        return None
    wanted = (SIGNAL,) if STATEMENT in kinds else (SIGNAL, WEAK)
    deciding = [clause for kind, clause in found if kind in wanted]
    return PauseSignal(deciding[0]) if deciding else None


def _judge_sentence(sentence: str, own: frozenset[str]) -> list[tuple[str, str]]:
    """Each clause with its kind; where one is a condition, none of them is a signal."""
    is_question = sentence.endswith(("?", "？"))
    if normalise(sentence) in own and not is_question:
        return [(SIGNAL, sentence)]
    clauses = split_clauses(sentence)
    kinds = [_judge_clause(normalise(clause), own) for clause in clauses]
    if is_question and clauses:
        kinds[-1] = _judge_question(normalise(clauses[-1]), kinds[-1])
    pairs = list(zip(kinds, clauses, strict=True))
    if any(_is_condition(kind, clause) for kind, clause in pairs):
        return [(WORK, sentence)] if SIGNAL in kinds or WEAK in kinds else [(STATEMENT, sentence)]
    return pairs


def _is_condition(kind: str, clause: str) -> bool:
    return kind in (STATEMENT, WORK) and bool(_CONDITION.search(normalise(clause)))


def _judge_question(clause: str, kind: str) -> str:
    if clause == "shall we":
        return NEUTRAL
    if _TAG.fullmatch(clause):
        return WORK
    if kind in (SIGNAL, WEAK):
        return kind if _fits(_ASKED, _list_readings(clause)) else WORK
    return kind if kind == NEUTRAL else WORK


def _judge_clause(clause: str, own: frozenset[str]) -> str:
    spelled = _spell(clause)
    kind = _judge_run_on(spelled) or _judge_part(spelled)
    if clause in own or (kind is None and _is_foreign_signal(_list_readings(clause))):
        return SIGNAL
    if kind:
        return kind
    cited = _CITED.fullmatch(spelled)
    if cited and _judge_part(cited[1]) in (SIGNAL, WEAK):
        return WORK
    return _judge_company(spelled, _list_readings(spelled))


def _judge_part(clause: str) -> str | None:
    """Whether it is a signal or a reason for one, from its first word to its last."""
    readings = _list_readings(clause)
    marked = [form for reading in readings for form in _mark(reading)]
    if _fits(_STRONG, marked):
        return SIGNAL
    if _fits(_WEAK, marked):
        return WEAK
    return NEUTRAL if _fits(_REASON, marked) else None


def _judge_run_on(clause: str) -> str | None:
    """Of two or more that follow each other without a comma: "gotta go bye"."""
    kinds = [_judge_part(part) for part in _RUN_ON.split(clause)]
    if None in kinds:
        return None
    return next(kind for kind in (SIGNAL, WEAK, NEUTRAL) if kind in kinds)


def _judge_company(clause: str, readings: list[str]) -> str:
    """Of a clause that is not a signal; what is not understood may be work."""
    if _fits(_REQUEST, readings):
        return WORK
    if _PLAN.fullmatch(clause):
        return STATEMENT
    if _DUTY.fullmatch(clause):
        return WORK
    if _fits(_NEUTRAL, readings):
        return NEUTRAL
    if _fits(_STATEMENT, readings):
        return STATEMENT
    is_short = len(clause.split()) <= UNKNOWN_WORDS and not _EAST_ASIAN.search(clause)
    return NEUTRAL if is_short and not _CONDITION.search(clause) else WORK


def _fits(pattern: re.Pattern[str], readings: list[str]) -> bool:
    return any(pattern.fullmatch(reading) for reading in readings)


def _list_readings(clause: str) -> list[str]:
    """The clause, and what remains of it without each of the small words before it."""
    readings = [clause]
    while lead := _LEAD.match(readings[-1]):
        readings.append(readings[-1][lead.end() :])
    return readings


def _spell(clause: str) -> str:
    for word, pattern in _SPELLINGS:
        clause = pattern.sub(word, clause)
    return clause


def _mark(reading: str) -> list[str]:
    """With a mark for each part that is recognised; and also with one for who does it."""
    reading = " ".join(_FILLER.sub(" ", reading).split())
    for mark, pattern in _MARKS:
        reading = pattern.sub(mark, reading)
    forms = [reading]
    for mark, pattern in _DOERS:
        if doer := pattern.match(reading):
            forms.append(f"{doer[1]}{mark}{_drop_past(doer[0], reading[doer.end() :])}")
    for form in forms[:2]:
        if doing := _DOING.match(form):
            forms.append(f"MUST {_base_form(doing[1])}{form[doing.end() :]}")
    return forms


def _drop_past(doer: str, rest: str) -> str:
    """ "If we stopped here" asks for the same as "can we stop here"."""
    past = _PAST.match(rest) if " if " in doer else None
    return f" {_base_form(past[1])}{rest[past.end() :]}" if past else rest


def _base_form(stem: str) -> str:
    """Of a verb whose -ing or -ed was removed: "stopp" and "leav"."""
    if _DOUBLED.search(stem):
        return stem[:-1]
    return f"{stem}e" if stem.endswith(("av", "us", "ak", "om", "um", "nu", "lv", "los")) else stem


def _is_foreign_signal(readings: list[str]) -> bool:
    if _EAST_ASIAN.search(readings[0]):
        return _fits(_EAST_ASIAN_SIGNAL, readings)
    if not words.ENGLISH.isdisjoint(readings[0].split()):
        return False
    return _fits(_EUROPEAN_SIGNAL, readings)
