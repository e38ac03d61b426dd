"""Which of the person's sentences are worth quoting to the agent that continues.

Two kinds: numbers that were given, and refusals, corrections and constraints. Both are lost first
when a conversation is summarised, and both are wrong when they are paraphrased. So a saying is the
sentence itself, with nothing but its white space changed. It is no fact and no decision: the
person said so, then.

Pure: text in, frozen values out. What is no person's text at all (a prompt of a subagent, a notice
of the client) is the caller's to know.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from holdfast.ground.frozen import dataclass, replace
from holdfast.ground.patterns import compile_later
from holdfast.ground.prose import list_sentences, mask
from holdfast.observations import parts
from holdfast.observations.amounts import GENERAL, Amount, find_amounts, has_unit
from holdfast.observations.refusals import has_reason, is_refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from holdfast.observations.model import LoggedEvent

    Kind = Literal["number", "refusal"]

SAYINGS_PER_TEXT = 20
MOST_COMPARED = 100  # later sayings that one is compared with
TOPIC_CHARS = 4

# A document that we handed over, pasted with a request behind it.
_DOCUMENT = compile_later(
    r"^HOLDFAST (?:planning|implementation) · (?:.*\n){1,300}?More: .*$", re.MULTILINE
)
_COMMAND = compile_later(r"\s*[/$!][A-Za-z][\w.:-]*(?:\s+\S+){0,3}\s*\Z")
# A bare answer to a question, which is understood only beside that question.
_BARE = compile_later(
    r"(?:(?:yes|no|ok|okay|sure|yep|nope|ja|nein|sí|si|oui|non|option|number)[,.!:]?\s+)?"
    r"\d[\d.,]*\s?[^\W\d]{0,12}(?:(?:,| and| or| &)\s?\d+)*[.!]?\Z",
    re.IGNORECASE,
)
_POLITE = compile_later(
    r"(?:please,? )?(?:can|could|would|will) (?:you|we) (?!see|tell|explain|find|show|check|look)",
    re.IGNORECASE,
)
_REVISES = compile_later(
    r"\b(?:make (?:it|that|this)|actually|instead|change|rather|no,|not \d|correction|i meant"
    r"|better|raise|lower|increase|reduce|doch|stattdessen)\b|^no\b",
    re.IGNORECASE,
)
_WORD = compile_later(r"[^\W\d_]+")
_CLAUSE = compile_later(r"[,;:(–—] |\b(?:because|since|so that|weil|denn|porque|parce que)\b")
_STOP_WORDS = frozenset(
    """
    about actually after again all also always and any are attempt attempts been before best
    better between both bytes can change could days does each entries every exactly except from
    give goes has have here hours instead into items its just keep less limit lower make maximum
    may minimum minutes months more most must need needs never not now only over per percent
    please raise rather retries seconds set should some such sure than that the their them then
    there these they this those through times under until use used users using very want was
    weeks were when which while will with within without workers would years yes you your
    characters least requests
    """.split()  # noqa: SIM905
)


@dataclass(frozen=True)
class Saying:
    """A sentence of the person, verbatim, and the event in which it was said."""

    text: str
    kind: Kind
    worth: int  # 3: a refusal with its reason, a number with its unit; 1: a number without one
    amounts: tuple[Amount, ...] = ()
    topics: tuple[str, ...] = ()
    sequence: int = 0


def find_sayings(text: object) -> list[Saying]:
    """What is worth quoting of a prompt, in the order in which it was said."""
    if not isinstance(text, str) or _COMMAND.match(text[:200]):
        return []
    found: dict[str, Saying] = {}
    own = _DOCUMENT.sub("", text) if "HOLDFAST " in text else text
    for sentence in list_sentences(own):
        saying = _make_saying(sentence)
        if saying is not None:
            found.setdefault(saying.text, saying)
    return _take_best(list(found.values()))


def quote_event(event: LoggedEvent) -> list[Saying]:
    """The sayings of a user message, unless a program wrote it or a subagent was told it."""
    is_said = event.type == "user_message" and not parts.get_agent(event.parts)
    if not is_said or parts.find_value(event.parts, ["origin"]):
        return []
    return [replace(saying, sequence=event.sequence) for saying in find_sayings(event.content)]


def drop_superseded(sayings: Sequence[Saying]) -> list[Saying]:
    """Without the numbers that a later saying revises; where that is doubtful, both stay."""
    kept: list[Saying] = []
    for saying in reversed(sayings):
        if not any(_revises(later, saying) for later in kept[-MOST_COMPARED:]):
            kept.append(saying)
    kept.reverse()
    return kept


def _make_saying(sentence: str) -> Saying | None:
    words = mask(sentence)
    if _BARE.match(words):
        return None
    amounts = _find_given(words)
    if is_refusal(words):
        worth = 3 if has_reason(words) or has_unit(amounts) else 2
        return Saying(sentence, "refusal", worth, amounts, _list_topics(words))
    if amounts:
        worth = 3 if has_unit(amounts) else 1
        return Saying(sentence, "number", worth, amounts, _list_topics(words))
    return None


def _find_given(words: str) -> tuple[Amount, ...]:
    """The amounts of a sentence that gives them: not those of a question."""
    if words.endswith(("?", "？")) and not _POLITE.match(words):
        return ()
    return find_amounts(words)


def _list_topics(words: str) -> tuple[str, ...]:
    """What a sentence is about, as far as single words show it."""
    found = {word.casefold() for word in _WORD.findall(words) if len(word) >= TOPIC_CHARS}
    return tuple(sorted(found - _STOP_WORDS))


def _take_best(sayings: list[Saying]) -> list[Saying]:
    """The most worthy ones, in the order in which they were said."""
    ranked = sorted(sayings, key=lambda saying: -saying.worth)
    best = set(ranked[:SAYINGS_PER_TEXT])
    return [saying for saying in sayings if saying in best]


# --- a later saying -------------------------------------------------------------------------------


def _revises(later: Saying, earlier: Saying) -> bool:
    """Whether a saying gives another value for everything that an earlier one gives a number of.

    A refusal is more than its number: it stays, unless its own words are said with another one.
    """
    if later.text == earlier.text:
        return True
    subjects = {amount.subject for amount in earlier.amounts}
    new = {amount.subject for amount in later.amounts}
    if not subjects or not subjects <= new:
        return False
    if earlier.kind == "number":
        return _is_about_the_same(later, earlier, subjects)
    is_said_again = bool(earlier.topics) and later.topics == earlier.topics
    return is_said_again and bool(_REVISES.search(later.text))


def _is_about_the_same(later: Saying, earlier: Saying, subjects: set[str]) -> bool:
    """By the same topics; a saying that revises something may leave them out."""
    before, after = set(earlier.topics), set(later.topics)
    if _REVISES.search(later.text):
        given = _find_clause(later)
        return set(_list_topics(given)) <= before
    is_named = bool(after) or not subjects.intersection(GENERAL)
    return is_named and after == before


def _find_clause(saying: Saying) -> str:
    """Where the number is given: the reason for it may be about something else."""
    clauses = _CLAUSE.split(saying.text)
    given = [clause for clause in clauses if saying.amounts[0].text in clause]
    return given[0] if given else saying.text
