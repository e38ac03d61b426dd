"""When a person is reminded that a long conversation has not been saved to its folder.

Once for each long stretch without a save, and never again in a conversation in which they declined:
the event log keeps everything in any case, so a reminder that is not given loses nothing.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from holdfast.conversations.pausing import normalise, split_clauses
from holdfast.ground.frozen import dataclass
from holdfast.ground.patterns import compile_later
from holdfast.ground.prose import list_sentences

REMINDER_TURNS = 20
REMINDER_AFTER = timedelta(minutes=45)
ANSWER_CHARS = 1_000  # of a message; an answer stands at its beginning

_NO = compile_later(
    r"(?:no|nope|nah|naw|no way|no thanks?|no thank you|no need(?: to(?: save(?: it| this)?)?)?"
    r"|not (?:now|yet|today|necessary|needed|really|this time)|rather not|i'd rather not"
    r"|please don't"
    r"|don't|do not|later|maybe later|some other time|skip(?: it| that| this)?|never mind|nevermind"
    r"|nein(?: danke)?|nö|nicht jetzt|später|lieber nicht|no gracias|ahora no|todavía no|luego|non"
    r"|non merci|pas maintenant|pas la peine|plus tard|不用?了?|不要|不需要|先不用?|以后再说|不必"
    r"|いいえ|いや|今はいい|結構です|大丈夫です|後で)(?: (?:thanks|thank you|thx|please|danke"
    r"|gracias|merci))?"
)
_NOT_SAVED = compile_later(
    r"(?:please |pls |and |but )*(?:don't|do not|dont|never|no need to|stop|you don't (?:have"
    r"|need) to)"
    r" (?:save|saving|ask|asking|remind|reminding|bother|offer|offering)(?: (?:it|this|that|me"
    r"|again"
    r"|anything|about (?:it|this|that|saving)|(?:the|this|our) (?:conversation|session|chat)|here"
    r"|now"
    r"|to save|yet))*|(?:bitte )?(?:speicher(?:e|n)? (?:das |es )?nicht|nicht speichern)"
    r"|no (?:lo )?guardes"
    r"|ne (?:sauvegarde|l'enregistre) pas|不要保存|别保存|保存しないで(?:ください)?"
)


@dataclass(frozen=True)
class Stretch:
    """A conversation since its last save, or since its beginning."""

    began_at: datetime
    turns: int  # messages of the person since then
    is_offered: bool = False  # since then
    has_declined: bool = False  # at any time in this conversation


def is_reminder_due(stretch: Stretch, now: datetime) -> bool:
    """Many turns and much time: a quick exchange is not long, nor is one left open over night."""
    if stretch.is_offered or stretch.has_declined:
        return False
    return stretch.turns >= REMINDER_TURNS and now - stretch.began_at >= REMINDER_AFTER


def is_declined(answer: str) -> bool:
    """Whether what a person says after an offer refuses it: first of all "no", or "don't save".

    Anything else leaves the offer open; it is not repeated either.
    """
    clauses = _list_clauses(answer)
    return _refuses(clauses) or bool(clauses and _NO.fullmatch(clauses[0]))


def refuses_saving(message: str) -> bool:
    """Whether it says so by itself, without an offer before it: "don't save"."""
    return _refuses(_list_clauses(message))


def _refuses(clauses: list[str]) -> bool:
    return any(_NOT_SAVED.fullmatch(clause) for clause in clauses)


def _list_clauses(message: str) -> list[str]:
    sentences = list_sentences(message[:ANSWER_CHARS])
    return [normalise(each) for sentence in sentences for each in split_clauses(sentence)]
