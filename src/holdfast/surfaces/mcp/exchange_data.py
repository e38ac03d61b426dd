"""What developers of a team show each other, as values of an answer.

Every text is cleaned, because some clients hand a model the values alone. Where any of them is
another developer's, two markers stand around all of them: the first key of the data and the last.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.ground.fence import clean, fence_key, mark_content, one_line
from holdfast.ground.text import cut, plural
from holdfast.surfaces.mcp.answer import WRITE_CHARS, WRITTEN_TEXT_CHARS, Answer, shorten

if TYPE_CHECKING:
    from holdfast.app import App
    from holdfast.team.model import (
        ContextReference,
        Developer,
        Handoff,
        Person,
        PublishedContext,
        Reservation,
    )

Data = dict[str, Any]
Describe = Callable[[Mapping[str, Any]], str]

PATH_CHARS, LABEL_CHARS, NAME_CHARS, TITLE_CHARS = 500, 200, 80, 80
MARKERS_CHARS = 250
A_TEAMMATE = {"id": "", "handle": "a teammate"}  # of whom no more is known
BEGIN, END = "untrusted_begin", "untrusted_end"
# The texts of a record, and to how many characters each is cut at the most: what a reader compares
# and the note of a handoff, which says what to do, come after the others.
TEXTS = {
    **dict.fromkeys(("summary", "reason", "next_actions", "blockers"), 0),
    **dict.fromkeys(("title", "repo", "branch", "files_touched", "task_ids", "paths"), 60),
    "note": 160,
}
LEAST_SHARE = 3  # times as long as the others, where even that is too long
# Of a write, whose caller knows what it sent: lists give way before texts do.
LONGEST = (WRITTEN_TEXT_CHARS, 100)
WRITTEN = (
    LONGEST,
    *((WRITTEN_TEXT_CHARS, entries) for entries in (50, 10, 3, 1)),
    *((text_chars, 1) for text_chars in (200, 150, 120, 80, 60, 40, 20)),
    *((text_chars, 0) for text_chars in (20, 10)),
)
COUNTED = {"files_touched": "file", "next_actions": "next action", "blockers": "blocker"}


class Reader:
    """Who reads an answer: what is another's is marked, what is one's own is called so."""

    def __init__(self, app: App):
        self.id = app.scope.team.owner.developer_id
        self.key = fence_key(app.settings.home)

    def is_of_other(self, person: Mapping[str, Any]) -> bool:
        return bool(person["id"] != self.id)

    def enclose(self, data: Data, authors: Sequence[Mapping[str, Any]], at: str) -> Data:
        """With markers around everything, if any of it is another's."""
        others = {each["handle"]: None for each in authors if self.is_of_other(each)}
        if not others:
            return data
        content = json.dumps(data, ensure_ascii=False)
        first, last = mark_content(
            content, author=", ".join(others), source="team exchange", at=at, key=self.key
        )
        return {BEGIN: first, **data, END: last}


def find_author(reader: Reader, record: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Who chose the names in a record, where that is not its reader.

    A claim that was taken over is the reader's and has no reason; its giver chose the names.
    """
    author: Mapping[str, Any] = record.get("developer") or record.get("giver") or record
    if reader.is_of_other(author):
        return author
    is_taken_over = record.get("reason") == "" and "reserved_at" in record
    return A_TEAMMATE if is_taken_over and not record.get("is_soft") else None


# --- values ---------------------------------------------------------------------------------------


def make_person(person: Person | Developer) -> Data:
    """A handle has few signs; a name is a person's own text."""
    handle, name = one_line(person.handle, NAME_CHARS), one_line(person.name, NAME_CHARS)
    return {"id": person.id, "handle": handle, "name": name}


def make_developer(developer: Developer) -> Data:
    known = developer.to_dict()
    return {**known, **make_person(developer), **_make_place(developer.repo, developer.branch)}


def make_context(context: PublishedContext) -> Data:
    """In the shape of the contract."""
    known = context.to_dict()
    known |= {
        "developer": make_person(context.developer),
        "title": one_line(context.title, LABEL_CHARS),
        "summary": clean(context.summary),
        "files_touched": make_lines(context.files_touched),
        "next_actions": [clean(text) for text in context.next_actions],
        "blockers": [clean(text) for text in context.blockers],
        "task_ids": make_lines(context.task_ids),
        **_make_place(context.repo, context.branch),
    }
    if context.basis is not None:
        files = {one_line(path, PATH_CHARS): blob for path, blob in context.basis.files.items()}
        known["basis"] = {"head": context.basis.head, "files": files}
    return known


def make_brief_context(context: PublishedContext) -> Data:
    """Without what only a reader of the whole needs; with how much of it there is."""
    whole = make_context(context)
    names = ("id", "developer", "title", "summary", "repo", "branch", "published_at", "expires_at")
    counts = {name: len(whole[name]) for name in COUNTED}
    return {**{name: whole[name] for name in names}, "counts": counts}


def make_claim(claim: Reservation) -> Data:
    known = claim.to_dict()
    known |= {
        "developer": make_person(claim.developer),
        "paths": make_lines(claim.paths),
        "reason": clean(claim.reason),
        **_make_place(claim.repo, claim.branch),
    }
    return known


def make_handoff(handoff: Handoff) -> Data:
    known = handoff.to_dict()
    known |= {
        "giver": make_person(handoff.giver),
        "to": make_person(handoff.to) if handoff.to else None,
        "paths": make_lines(handoff.paths),
        "reason": clean(handoff.reason),
        "note": clean(handoff.note),
        "context": _make_reference(handoff.context) if handoff.context else None,
        **_make_place(handoff.repo, handoff.branch),
    }
    return known


def _make_reference(context: ContextReference) -> Data:
    title = one_line(context.title, LABEL_CHARS)
    return {"id": context.id, "title": title, "summary": clean(context.summary)}


def _make_place(repo: str | None, branch: str | None) -> Data:
    return {
        "repo": one_line(repo, LABEL_CHARS) if repo else None,
        "branch": one_line(branch, LABEL_CHARS) if branch else None,
    }


def make_lines(texts: Sequence[str]) -> list[str]:
    return [one_line(text, PATH_CHARS) for text in texts]


def cut_title(title: str) -> str:
    return cut(title, TITLE_CHARS)


def count_parts(context: Mapping[str, Any]) -> Mapping[str, int]:
    counts = context.get("counts")
    return counts or {name: len(context.get(name, ())) for name in COUNTED}


def describe_counts(counts: Mapping[str, int]) -> str:
    return ", ".join(plural(counts[name], word) for name, word in COUNTED.items())


# --- shortening -----------------------------------------------------------------------------------


def shorten_texts(value: Data, text_chars: int, entries: int) -> Data:
    """A record with its texts and lists cut; ids, people and times stay whole."""
    return {name: _shorten_field(name, inner, text_chars, entries) for name, inner in value.items()}


def _shorten_field(name: str, value: Any, text_chars: int, entries: int) -> Any:
    if name in TEXTS:
        least = min(TEXTS[name], LEAST_SHARE * text_chars)
        return shorten(value, max(text_chars, least), entries)
    if name == "context" and value is not None:
        return shorten_texts(value, text_chars, entries)
    if name == "basis" and value is not None:
        files = list(value["files"].items())[:entries]
        return {"head": value["head"], "files": dict(files)}
    return value


class CountedNotes(NamedTuple):
    """The first notes of a number of them, and how to say that there are more."""

    notes: Sequence[str]
    total: int
    more: str

    def take(self, most: int) -> list[str]:
        taken = list(self.notes[:most])
        left = self.total - len(taken)
        return [*taken, self.more.format(count=left)] if left else taken


NO_NOTES = CountedNotes((), 0, "")


def fit_write(
    make: Callable[[int, int], Data],
    describe: Describe,
    warnings: Sequence[str],
    next_actions: Sequence[str] = (),
    counted: CountedNotes = NO_NOTES,
    *,
    is_others: bool = False,
) -> Answer:
    """The first of ever shorter answers that keeps within the limit of a write.

    Of counted notes fewer are shown, and none is cut. The two markers around another's words do not
    count: they take room that is not the caller's.
    """
    limit = WRITE_CHARS + MARKERS_CHARS if is_others else WRITE_CHARS
    for text_chars, entries in WRITTEN:
        data = make(text_chars, entries)
        notes = [*warnings, *counted.take(entries)]
        answer = Answer(data, notes, next_actions, text=describe(data))
        if answer.chars <= limit:
            break
    return answer


def drop_empty(record: Data) -> Data:
    return {name: value for name, value in record.items() if value not in (None, "", [], {})}
