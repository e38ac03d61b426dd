"""Numbers in a sentence that matter to the work: limits, amounts, versions, ports, dates, times.

A number matters by what stands beside it: a unit, a noun that is counted in limits, or a word that
sets something. All others are references ("line 42"), counts of the moment ("3 tests fail") or
names, and are no amounts. Nothing is computed: an amount is text, as the person wrote it.
"""

from __future__ import annotations

import re

from holdfast.ground.frozen import dataclass
from holdfast.ground.patterns import compile_later
from holdfast.ground.prose import MASK

# What is measured; of anything that is counted the subject is its noun.
DURATION, SIZE, SHARE, MONEY, DATE, PORT, PLAIN = (
    "duration",
    "size",
    "share",
    "money",
    "date",
    "port",
    "number",
)
GENERAL = (DURATION, SIZE, SHARE, MONEY, DATE, PLAIN)  # says little about what it is a number of
WITHOUT_UNIT = (PLAIN,)

_NUMBER = r"(?<![A-Za-z_.\d])\d{1,15}(?:[.,'_]\d{1,9}){0,5}"
_WORDS = (
    "two|three|four|five|six|seven|eight|nine|ten|twelve|fifteen|twenty|thirty|forty|fifty|sixty"
    "|hundred|thousand|million|once|twice"
)
_TIMES = (
    r"ms|milliseconds?|s|secs?|seconds?|mins?|minutes?|h|hrs?|hours?|days?|weeks?|months?|years?"
    r"|sekunden?|minuten?|stunden?|tagen?|wochen?|monaten?|jahren?"
    r"|segundos?|minutos?|horas?|días?|semanas?|meses|años?"
    r"|secondes?|heures?|jours?|semaines?|mois|ans?"
)
_TIMES_CJK = r"毫秒|ミリ秒|秒|分钟|分間|分|小时|時間|天|日間|周|週間|个月|ヶ月|か月|年間"
_SIZES = (
    r"bytes?|[kmgt]i?b|kbit|mbit|gbit|bits?|px|pt|r?em|[kmg]?hz|[kmg]b/s"
    r"|rps|qps|fps|dpi|°c|km|cm|mm|kg"
)
_MONEY_WORDS = r"usd|eur|gbp|chf|jpy|dollars?|euros?|cents?|bucks|元|円|块"
_MONTHS = (
    r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|sept|oct|nov|dec|january|february|march|april|june"
    r"|july|august|september|october|november|december|januar|februar|märz|mai|juni|juli|oktober"
    r"|dezember)"
)
_NOUNS = (
    r"attempts?|retries|retry|tries|times|requests?|calls?|connections?|workers?|threads?|processes"
    r"|replicas?|instances?|nodes?|pods?|shards?|partitions?|cores?|cpus?|vcpus?|users?|customers?"
    r"|seats?|items?|entries|rows?|records?|results?|columns?|characters?|chars?|digits?|decimals?"
    r"|tokens?|levels?|slots?|messages?|events?|mails?|emails?|jobs?|tenants?|pages?|points?"
    r"|versuche?n?|anfragen?|einträge|zeichen|intentos?|solicitudes?|tentatives?|requêtes?"
)
_NOUNS_CJK = r"次|回|个|個|件|人|台|条|项|倍|名|本|枚|万|文字|字符"
_PRODUCTS = (
    r"python|postgres(?:ql)?|node(?:\.?js)?|java|jdk|go|ruby|rails|php|django|react|vue|angular"
    r"|ubuntu|debian|macos|ios|android|windows|kubernetes|redis|mysql|mariadb|chrome|firefox|safari"
    r"|typescript|swift|kotlin|rust|gradle|maven|\.net|c\+\+|version(?! \d+ of\b)"
)
_LIMITS = (
    r"at most|at least|no more than|not more than|no less than|less than|more than|fewer than"
    r"|larger than|longer than|greater than|up to|max(?:imum)?|min(?:imum)?|exactly|höchstens"
    r"|mindestens|maximal|como máximo|al menos|au plus|au moins|最多|至少|最大|最小"
)

_FLAGS = re.IGNORECASE
# A number that names a thing.
_REFERENCE = compile_later(
    r"\b(?:lines?|rows?|steps?|issues?|prs?|pull requests?|tickets?|bugs?|options?|items?"
    r"|questions?"
    r"|points?|numbers?|no\.|nr\.|tasks?|phases?|sections?|chapters?|pages?|figures?|commits?"
    r"|builds?|tests?|cases?|examples?|parts?|iterations?|rounds?|milestones?|sprints?|rfc|attempt"
    r"|variants?|choices?|answers?|approach|todo|adr|zeile|schritt|paso|línea|étape|ligne)"
    r"\s?#?\d{1,9}(?:\s?(?:-|–|to|and|or|,|&)\s?\d{1,9}){0,5}\b",
    _FLAGS,
)
# Those that are there, which the next sentence may be about.
_POINTED_AT = compile_later(
    r"\b(?:these|those|the (?:other|last|first|next|past|previous)|last|first|next|past|previous"
    r"|all|both|of the|die letzten|los últimos|les derniers) \d{1,9}\b(?! (?:days|hours|months)\b)",
    _FLAGS,
)
_SMALL_TALK = compile_later(
    r"\b(?:give me|back in|spent|wasted|brb|took|it's been|has been|wait"
    r"|hold on)\b.{0,20}?\d{1,4} ?"
    rf"(?:{_TIMES})\b",
    _FLAGS,
)
_PATTERNS = (
    (DATE, compile_later(r"\b\d{4}-\d\d-\d\d\b|(?<![\d.])\d{1,2}[./]\d{1,2}[./]\d{2,4}\b")),
    (
        DATE,
        compile_later(
            rf"\b\d{{1,2}}(?:st|nd|rd|th|\.)? (?:of )?{_MONTHS}\b(?:,? \d{{4}})?"
            rf"|\b{_MONTHS}\.? \d{{1,2}}(?:st|nd|rd|th)?\b(?:,? \d{{4}})?|\bQ[1-4] \d{{4}}\b"
            r"|\d{1,4}年|\d{1,2}月\d{1,2}日?",
            _FLAGS,
        ),
    ),
    (
        DATE,
        compile_later(
            r"\b(?:[01]?\d|2[0-3]):[0-5]\d(?: ?[ap]m\b)?|\b\d{1,2} ?[ap]\.?m\b|\d{1,2}[点時](?!間)",
            _FLAGS,
        ),
    ),
    (
        PORT,
        compile_later(
            r"(?:\b(?:port|ports|puerto)\b|端口|ポート)(?: is| =|:|=|号)? ?\d{2,5}(?!\d)"
            r"|\b(?:localhost|host):\d{2,5}\b",
            _FLAGS,
        ),
    ),
    (
        "",
        compile_later(
            rf"(?:\b(?:{_PRODUCTS})|\b[A-Z][\w+#]{{1,30}}) v?\d{{1,5}}\.\d{{1,5}}[\w.-]{{0,12}}"
            rf"|\b(?:{_PRODUCTS}) v?\d{{1,4}}\b|\bv?\d{{1,5}}\.\d{{1,5}}\.\d{{1,5}}\b"
            rf"|\bv\d+\.\d+\b",
            _FLAGS,
        ),
    ),
    (
        MONEY,
        compile_later(
            rf"[$€£¥] ?{_NUMBER}|{_NUMBER} ?(?:[$€£¥]|(?:{_MONEY_WORDS})(?![a-z]))", _FLAGS
        ),
    ),
    (
        SHARE,
        compile_later(
            rf"{_NUMBER} ?(?:[%％]|percent|per cent|prozent|por ciento|pour cent)", _FLAGS
        ),
    ),
    (DURATION, compile_later(rf"{_NUMBER}[ -]?(?:(?:{_TIMES})(?![a-z])|{_TIMES_CJK})", _FLAGS)),
    (SIZE, compile_later(rf"{_NUMBER}[ -]?(?:{_SIZES})(?![a-z])", _FLAGS)),
)
_COUNTED = compile_later(
    rf"({_NUMBER}) ?(?:(?:[a-z-]{{1,20}} )?({_NOUNS})(?![a-z])|({_NOUNS_CJK}))", _FLAGS
)
_COUNTED_IN_WORDS = compile_later(
    rf"\b(?:at most|at least|(?:more|less|fewer) than|up to|max(?:imum)?|exactly)\s(?:{_WORDS})\b"
    r"(?: ([a-z]{1,20})\b)?"
    rf"|\b(?:{_WORDS}) (?:([a-z]{{1,20}}) )?(?:at most|max(?:imum)?|at least)\b",
    _FLAGS,
)
# At the end of a clause: "after two days of work" sets nothing.
_SET_IN_WORDS = compile_later(
    rf"\b(?:after|within|every|make it|use|go with|take)\s(?:{_WORDS})"
    rf"(?:[ -]({_TIMES}))?(?=\s?(?:[.,;:!]|$))",
    _FLAGS,
)
_DIGIT = compile_later(r"\d")
_SET = compile_later(
    rf"(?:\b(?:{_LIMITS}|every|within|between|under|over|above|below|per|threshold|size"
    rf"|default|timeout|limit|cap|count"
    rf"|(?:set|limit|cap|raise|lower|change|increase|reduce|bump)\b[^.,;]{{1,40}} (?:to|at|by))"
    rf"(?: (?:is|of|to|be|at|should be))?|[=＝])\W{{0,3}}({_NUMBER})\b"
    rf"|\b(?:use|go with|make it|start with|allow|let's (?:say|use|do|try|take)) ({_NUMBER})\b"
    r"(?! (?:things|files?|of|more|separate|different)\b)"
    rf"|({_NUMBER}) (?:{_LIMITS}|or more|or less|or fewer)\b",
    _FLAGS,
)


@dataclass(frozen=True)
class Amount:
    """A number and what it is a number of."""

    subject: str
    text: str


def find_amounts(sentence: str) -> tuple[Amount, ...]:
    """Of a sentence in which everything that is not prose was masked."""
    in_words = [
        Amount(_as_singular(match[1] or match[2] or PLAIN), match[0])
        for match in _COUNTED_IN_WORDS.finditer(sentence)
    ]
    in_words += [
        Amount(DURATION if match[1] else PLAIN, match[0])
        for match in _SET_IN_WORDS.finditer(sentence)
    ]
    if not _DIGIT.search(sentence):
        return tuple(in_words)
    return (*_find_digits(sentence), *in_words)


def _find_digits(sentence: str) -> list[Amount]:
    rest = sentence
    for ignored in (_REFERENCE, _POINTED_AT, _SMALL_TALK):
        rest = ignored.sub(MASK, rest)
    found: list[Amount] = []
    for subject, pattern in _PATTERNS:
        for match in pattern.finditer(rest):
            found.append(Amount(subject or _name_product(match[0]), match[0].strip()))
        rest = pattern.sub(MASK, rest)
    for match in _COUNTED.finditer(rest):
        noun = match[2] or match[3]
        found.append(Amount(_as_singular(noun), f"{match[1]} {noun}"))
    rest = _COUNTED.sub(MASK, rest)
    found += [Amount(PLAIN, match[1] or match[2] or match[3]) for match in _SET.finditer(rest)]
    return found


def has_unit(amounts: tuple[Amount, ...]) -> bool:
    return any(amount.subject not in WITHOUT_UNIT for amount in amounts)


def _name_product(text: str) -> str:
    name = text.rpartition(" ")[0].casefold()
    return f"version {name}".strip()


def _as_singular(noun: str) -> str:
    word = noun.casefold()
    if word == "retries":
        return "retry"
    return word.removesuffix("s")
