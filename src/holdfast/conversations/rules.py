"""How conversations are named, counted and summarised. Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

from holdfast.conversations.model import STATUSES, WRITTEN, Conversation, Message
from holdfast.errors import InvalidValueError
from holdfast.ground.frozen import replace
from holdfast.ground.patterns import compile_later
from holdfast.ground.text import cut
from holdfast.ground.tokens import tokens

TITLE_CHARS = 200
SLUG_CHARS = 50
SUMMARY_CHARS = 1_000
RULE_SUMMARY_CHARS = 300
NO_SLUG = "untitled"

_TYPE = compile_later(r"[a-z0-9][a-z0-9_]{0,29}")
# Behind its type a person may have renamed it, with any letters but no sign that a shell reads.
_FOLDER = compile_later(r"(\d{3,})-([a-z0-9][a-z0-9_]{0,29})-(\w[\w. -]*)")
_DATE = compile_later(r"\d{4}-\d{2}-\d{2}")
_DEVICE = compile_later(r"con|prn|aux|nul|(com|lpt)\d")
_NO_LETTER = compile_later(r"[^a-z0-9]+")
_COMMAND = compile_later(r"^\s*[/$]workspace[.-][a-z0-9_-]+(?=\s|$)")


# --- names ----------------------------------------------------------------------------------------


def check_type(value: object) -> str:
    """Any short word in small letters: a person may have types of their own."""
    if not isinstance(value, str) or not _TYPE.fullmatch(value):
        problem = "is not a type: small letters, digits and underscores, at most 30"
        raise InvalidValueError("Type", value, problem)
    if _DEVICE.fullmatch(value):
        raise InvalidValueError(
            "Type", value, "names a device on Windows: no file can be called so"
        )
    return value


def clean_title(text: str) -> str:
    """What somebody else wrote as one: on one line, without what a reader cannot see."""
    return cut(_make_line(text), TITLE_CHARS)


def _make_line(text: str) -> str:
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())


def check_title(value: object) -> str:
    """On one line, without what a reader cannot see."""
    title = _make_line(str(value))
    if not title:
        raise InvalidValueError("Title", value, "is empty; say what it is about")
    if len(title) > TITLE_CHARS:
        raise InvalidValueError("Title", value, f"is longer than {TITLE_CHARS} characters")
    return title


def check_status(value: object) -> str:
    if value not in STATUSES:
        raise InvalidValueError("Status", value, "is not a status", known=STATUSES)
    return str(value)


def check_summary(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InvalidValueError("Summary", value, "is not a text")
    if len(value) > SUMMARY_CHARS:
        raise InvalidValueError("Summary", value, f"is longer than {SUMMARY_CHARS:,} characters")
    return value.strip()


def make_slug(title: str) -> str:
    """What of a title every file system keeps; a title in another script has none of it."""
    plain = unicodedata.normalize("NFKD", title.casefold())
    words = _NO_LETTER.sub("-", plain.encode("ascii", "ignore").decode()).strip("-")
    return words[:SLUG_CHARS].rstrip("-") or NO_SLUG


def make_name(existing: Iterable[str], type_: str, title: str) -> str:
    """The folder of a new one: the next number of its day."""
    numbers = [int(found[1]) for found in map(_FOLDER.fullmatch, existing) if found]
    return f"{max(numbers, default=0) + 1:03}-{type_}-{make_slug(title)}"


def order_id(id_: str) -> tuple[str, int, str]:
    """By day and number; the thousandth of a day comes after the one before it."""
    date, _, name = id_.partition("/")
    return date, int(name.partition("-")[0]), name


def is_date(name: str) -> bool:
    return bool(_DATE.fullmatch(name))


def split_name(name: str) -> tuple[str, str] | None:
    """The type and the slug of a folder; None where it is not one of ours."""
    found = _FOLDER.fullmatch(name)
    return (found[2], found[3]) if found else None


# --- messages -------------------------------------------------------------------------------------


def merge_messages(known: Sequence[Message], new: Sequence[Message]) -> list[Message]:
    """Each once, in the order in which they were said; two branches may have gone on with one."""
    by_id = {message.id: message for message in [*known, *new]}
    return sorted(by_id.values(), key=lambda message: message.at)


def leave_out_known(known: Iterable[str], new: Sequence[Message]) -> list[Message]:
    seen = set(known)
    return [message for message in new if message.id not in seen]


def summarise(messages: Sequence[Message]) -> str:
    """What was asked for first and last, where nobody wrote a summary. That a person stops is no
    subject, and neither is the command that began it.
    """
    from holdfast.conversations.pausing import find_pause_signal  # many patterns, for a save only

    said = [message.content for message in messages if message.role == "user"]
    if not said:
        return ""
    subjects = (text for text in reversed(said) if find_pause_signal(text) is None)
    first, last = (_write_subject(text) for text in (said[0], next(subjects, said[-1])))
    if first == last:
        return cut(first, RULE_SUMMARY_CHARS)
    half = RULE_SUMMARY_CHARS // 2
    return f"{cut(first, half)} Last: {cut(last, half)}"


def _write_subject(text: str) -> str:
    return " ".join(_COMMAND.sub("", text).split()) or text.strip()


# --- changes --------------------------------------------------------------------------------------


def update(
    conversation: Conversation,
    messages: Sequence[Message],
    *,
    summary: str | None,
) -> Conversation:
    """With everything that its history says. A summary that somebody wrote stays until the next."""
    if summary is not None:
        conversation = replace(conversation, context_summary=summary, summary_by=WRITTEN)
    elif conversation.summary_by != WRITTEN:
        conversation = replace(conversation, context_summary=summarise(messages))
    return replace(
        conversation,
        message_count=len(messages),
        token_count=sum(tokens(message.content) for message in messages),
        last_active=max((message.at for message in messages), default=conversation.last_active),
    )
