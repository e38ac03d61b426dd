"""The types of bundles: what is gathered, the sections made of it, and the text handed over.

Sections are what a rule made of what was gathered; `ShownSection` is what the budget left of one.
Sections are kept in the receipt as plain JSON, so that the same bytes can be made again from it
alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from holdfast.bundles.clauses import cut_after_clause, cut_to_fit
from holdfast.ground import clock
from holdfast.ground.frozen import asdict, dataclass, field, replace
from holdfast.ground.text import ELLIPSIS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.observations.changes import KnownFile
    from holdfast.observations.digest import Decided, SeenRun, SeenSaying, Source
    from holdfast.observations.tasks import Task
    from holdfast.workstreams.model import JudgedContext

PHASES = ("planning", "implementation")
# What a session that asks has of its own conversation: all of it, or nothing after a compaction.
KEPT, LOST = "kept", "lost"
FILES = "files"  # the context set that stands first among the files of a document
OURS = "holdfast"  # the source of our own words
LINE_CHARS = 200
NARROW_CHARS = 115  # lines become shorter than this only where a clause ends
STALE_SHOWN = 3  # a reader who meets ten warnings reads none
CONTINUED = "\n  "
LIST_READ = 200  # of the entries of a list, more than the longest bundle has room for


# --- gathered -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LastRequest:
    """The last thing that the user asked for, word for word."""

    text: str
    source: str
    said_at: datetime
    to: str = ""  # the client, where it was not the last session's
    branch: str = ""  # that another session began on
    session_id: str = ""
    end: str = ""  # of a very long one, whose text is only its beginning
    end_at: int = 0  # where in the whole text the end begins
    event_id: str = ""
    sequence: int = 0  # of its event


CUT_OFF = "cut off at"  # how a session ended, in the head of a document


@dataclass(frozen=True)
class LastAnswer:
    """How a message of the agent ends: what it asks and what is left to do stands there."""

    text: str
    source: str
    said_at: datetime
    at: int = 0  # where in the whole message the text begins
    is_answer: bool = True  # nothing was done after it was said


@dataclass(frozen=True)
class LastSession:
    """Where the session before stopped: `end` says what happened at its end, and `outcome` what
    became of its last request, where that was not answered; `cause` is quoted behind it.

    One in which a program runs has no end yet.
    """

    client: str
    ends_at: datetime
    end: str
    branch: str = ""
    environment: str = ""
    session_id: str = ""
    is_live: bool = False
    is_own: bool = False  # the one that asks, which has lost what it was told
    outcome: str = ""
    cause: str = ""
    also_live: tuple[str, ...] = ()  # the clients of others in which a program runs


@dataclass(frozen=True)
class WorkingNotes:
    """What a session wrote on its scratchpad, by the names that are known, and the rest."""

    source: str = ""
    task: str = ""
    next_steps: tuple[str, ...] = ()
    blockers: tuple[str, ...] = ()
    in_progress: tuple[str, ...] = ()  # files
    files: tuple[str, ...] = ()  # the specification, artifacts
    decisions: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    unread: Mapping[str, int] = field(default_factory=dict)  # further entries, by section
    noted_at: datetime | None = None  # when the oldest of the steps and blockers was


@dataclass(frozen=True)
class RecalledMemory:
    """A memory that passed the gate."""

    text: str
    source: str
    by: str
    learned_at: datetime
    category: str = ""
    verdict: str = "said"


@dataclass(frozen=True)
class LocalState:
    """The checkout itself, where notes in it are not agreed to."""

    repo: str
    branch: str
    head: str = ""
    changed: tuple[str, ...] = ()  # tracked files that differ from HEAD
    commits_since: int = 0
    paths_since: tuple[str, ...] = ()  # that these commits have changed, the newest first
    since: datetime | None = None  # when the session before stopped


@dataclass(frozen=True)
class Seen:
    """What code has seen in the sessions before, of each kind what matters most first."""

    failing: tuple[SeenRun, ...] = ()
    unclear: SeenRun | None = None  # the last check, where nothing says how it ended
    last_pass: SeenRun | None = None
    changed_since: tuple[str, ...] = ()  # files that changed after that
    changed_since_failure: tuple[str, ...] = ()  # and after the check that failed last
    working: tuple[SeenRun, ...] = ()
    said: tuple[SeenSaying, ...] = ()  # the newest last
    decided: tuple[Decided, ...] = ()
    tasks: tuple[Task, ...] = ()
    more_tasks: int = 0
    tasks_source: Source | None = None
    files: tuple[KnownFile, ...] = ()  # that were changed
    read: tuple[KnownFile, ...] = ()  # in several sessions


@dataclass(frozen=True)
class Gathered:
    """Everything that a bundle may be made of, as of one moment."""

    now: datetime
    phase: str
    receipt: str
    repo: str = ""
    branch: str = ""
    client: str | None = None
    judged: JudgedContext | None = None  # None: context in the repository is not agreed to
    local: LocalState | None = None  # instead of it
    rules: tuple[str, ...] = ()
    context_sets: Mapping[str, Sequence[str]] = field(default_factory=dict)
    context_source: str = "context set"
    request: LastRequest | None = None
    question: LastAnswer | None = None  # what the last one replies to, where it says little
    before: LastRequest | None = None  # and what it goes on with
    answer: LastAnswer | None = None  # to the last one
    earlier: tuple[LastRequest, ...] = ()  # others, the newest first
    unfinished: tuple[LastRequest, ...] = ()  # of other sessions that were cut off
    last_session: LastSession | None = None
    notes: WorkingNotes = WorkingNotes()
    seen: Seen = Seen()
    missing: frozenset[str] = frozenset()  # of the paths in sets and notes, those without a file
    fence_key: bytes = b""
    recalled: tuple[RecalledMemory, ...] = ()
    kept: tuple[str, ...] = ()  # what the one who asks has in its window


# --- sections -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Item:
    """One entry that stands whole or not at all; only prose, or an only item, may end early."""

    text: str
    source: str
    verdict: str | None = None
    is_prose: bool = False
    keep: int = 0  # characters at its end that stand even where it ends early, such as a verdict
    why_at: int = 0  # where a reason begins, which gets a part of the room when it is shortened
    at: int = 0  # where in a quoted text it begins

    @classmethod
    def with_end(cls, text: str, end: str, source: str, verdict: str | None = None) -> Item:
        """An item whose end stands even where the text before it is shortened."""
        return cls(text + end, source, verdict, keep=len(end))

    @classmethod
    def with_reason(
        cls, text: str, why: str, end: str, source: str, verdict: str | None = None
    ) -> Item:
        """A text, the reason for it if there is one, and an end that stands."""
        if not why:
            return cls.with_end(text, end, source, verdict)
        text = text.rstrip(".;:")
        return cls(f"{text}: {why}{end}", source, verdict, keep=len(end), why_at=len(text))

    def shorten(self, max_chars: int) -> Item:
        """On a line of so many characters; a text keeps at least half beside its reason.

        Prose is quoted, and ends early only where the room does. A part of a path is of no use,
        and what says the opposite without its end stays longer.
        """
        if self.is_prose or len(self.text) <= max_chars:
            return self
        if max_chars < NARROW_CHARS:
            return self._keep_clauses(max_chars) or self.shorten(NARROW_CHARS)
        body, end = self._split_end()
        room = max(max_chars - self.keep, 1)
        if not self.why_at:
            beginning = cut_to_fit(body, room)
            if beginning is None:
                return self
            is_of_use = ends_at_word(beginning, body) or len(self.text) > LINE_CHARS
            return replace(self, text=beginning + end) if is_of_use else self
        text, why = body[: self.why_at], body[self.why_at + 2 :]
        text = cut_to_fit(text, max(room - len(why) - 2, room // 2)) or text
        left = room - len(text) - 2
        reason = cut_to_fit(why, left) if left > 0 else None
        shorter = self._with_reason(text, reason, end) if reason else self._drop_reason(text, end)
        return shorter if len(shorter.text) < len(self.text) else self

    def _keep_clauses(self, max_chars: int) -> Item | None:
        """With whole clauses of the text and of its reason, if these are on such a line."""
        body, end = self._split_end()
        room = max_chars - self.keep
        if not self.why_at:
            beginning = cut_after_clause(body, room)
            return replace(self, text=beginning + end) if beginning else None
        text, why = body[: self.why_at], body[self.why_at + 2 :]
        for shown in (text, cut_after_clause(text, room * 2 // 3)):
            reason = cut_after_clause(why, room - len(shown or "") - 2)
            if shown and reason:
                return self._with_reason(shown, reason, end)
        return None

    def _split_end(self) -> tuple[str, str]:
        at = len(self.text) - self.keep
        return self.text[:at], self.text[at:]

    def _with_reason(self, text: str, why: str, end: str) -> Item:
        return replace(self, text=f"{text}: {why}{end}", why_at=len(text))

    def _drop_reason(self, text: str, end: str) -> Item:
        return replace(self, text=text.removesuffix(ELLIPSIS) + ELLIPSIS + end, why_at=0)

    @property
    def ends_at(self) -> int:
        """Where in a quoted text it ends; the mark before its first space is ours."""
        return self.at + len(self.text.partition(" ")[2])

    def to_dict(self) -> dict[str, Any]:
        return {"text": self.text, "source": self.source, "verdict": self.verdict}


def is_from_end(number: int) -> bool:
    """Of the pieces of a quoted text by their worth: every third is taken from its end."""
    return number % 3 == 1


def ends_at_word(beginning: str, whole: str) -> bool:
    rest = whole[len(beginning.removesuffix(ELLIPSIS)) :]
    return not rest or rest.startswith((" ", ": ", ", ", "; ", ELLIPSIS))


@dataclass(frozen=True)
class Cut:
    """Something that is not in the bundle, or not whole, and why."""

    section: str
    text: str
    source: str
    reason: str

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def describe_no_room(total: int, most: int) -> str:
    if most < total:
        return f"no room: {most:,} of {total:,} characters, because JSON escapes so many of them"
    return f"no room: the bundle may have {total:,} characters"


@dataclass(frozen=True)
class Section:
    """One part of a bundle. Title and tail are our own words and are never shortened.

    A title with items is a heading and never stands without one of them; a title without items is
    a whole section.
    """

    name: str
    title: str
    items: tuple[Item, ...] = ()
    max_chars: int = 0  # of its items in the first pass
    pinned: bool = False
    verbatim: bool = False  # one quoted text: as it is, with what is left out of it named
    ends_first: bool = False  # of which the end is worth more than the beginning
    rank: int = 0  # which section gets room first
    tail: str = ""
    lead: str = "\n"  # between the title and the first item
    joined: str = "\n"  # between items
    indent: str = ""
    attached: bool = False  # follows the section before it without an empty line
    held: tuple[Cut, ...] = ()  # kept out by a rule, and counted as "+N more"
    gone: tuple[Cut, ...] = ()  # not counted: missing now, shown elsewhere or shortened
    unread: int = 0  # further entries that were not looked at, and are counted as "+N more"

    def shorten(self, max_chars: int) -> Section:
        """With lines of so many characters at most. Pinned sections and prose stay as they are."""
        if self.pinned or all(len(item.text) <= max_chars for item in self.items):
            return self
        return replace(self, items=tuple(item.shorten(max_chars) for item in self.items))

    def soften_quotes(self) -> Section:
        """With marks that JSON does not escape. Pinned and verbatim sections stay as they are."""
        if self.pinned or self.verbatim:
            return self
        items = [replace(item, text=item.text.replace('"', "'")) for item in self.items]
        return replace(self, items=tuple(items))

    def write(self, items: Sequence[Item], left_out: int) -> str:
        """The section with these items, and with the number of those that are left out."""
        lines = [self.indent + line for line, _ in self.list_lines(items, left_out)]
        text = self.title
        if self.title and lines:
            text += self.lead
        text = _join(text, lines, self.joined)
        if self.tail:
            text += f"\n{self.tail}"
        return text

    def list_lines(self, items: Sequence[Item], left_out: int) -> list[tuple[str, Item | None]]:
        """In the order of reading, with a line of ours about what is left out."""
        if self.verbatim:
            return self._list_with_gaps(self.arrange(items))
        lines: list[tuple[str, Item | None]] = [(item.text, item) for item in items]
        return [*lines, (f"+{left_out} more", None)] if left_out else lines

    def arrange(self, items: Sequence[Item]) -> list[Item]:
        """As they follow each other; those of a quoted text are listed by their worth."""
        return sorted(items, key=lambda item: item.at) if self.verbatim else list(items)

    def takes_from_end(self, number: int) -> bool:
        """Whether the piece of a quoted text with this worth is one of its end."""
        return self.verbatim and (self.ends_first or is_from_end(number))

    def _list_with_gaps(self, pieces: Sequence[Item]) -> list[tuple[str, Item | None]]:
        """The pieces of a quoted text; where something is missing, how many characters."""
        # By their worth the last piece is the first or the second one.
        whole_ends_at = max((item.ends_at for item in self.items[:2]), default=0)
        follows_at = [*(item.at for item in pieces[1:]), whole_ends_at + 1]
        lines: list[tuple[str, Item | None]] = []
        if self.ends_first and pieces and pieces[0].at:
            lines.append((f"… {pieces[0].at:,} characters before this", None))
        for item, next_at in zip(pieces, follows_at, strict=True):
            lines.append((item.text, item))
            if next_at > item.ends_at + 1:
                left_out = next_at - item.ends_at - 1
                lines.append((f"… {left_out:,} characters left out; whole at More", None))
        return lines

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> Section:
        parts = {
            "items": tuple(Item(**item) for item in value["items"]),
            "held": tuple(Cut(**cut) for cut in value["held"]),
            "gone": tuple(Cut(**cut) for cut in value["gone"]),
        }
        return cls(**{**value, **parts})


def _join(text: str, items: Sequence[str], between: str) -> str:
    """Items one after the other; a line that would be too long is continued on the next.

    Not at the margin, where only words of ours begin.
    """
    if between == "\n":
        return text + between.join(items)
    length = len(text.rpartition("\n")[2])
    for number, item in enumerate(items):
        space = between if number else ""
        if number and length + len(space) + len(item) > LINE_CHARS:
            space, length = CONTINUED, 0
        text += space + item
        length += len(space) + len(item)
    return text


@dataclass(frozen=True)
class ShownSection:
    """What the budget left of a section; without text it is left out whole."""

    section: Section
    items: tuple[Item, ...] = ()
    left_out: int = 0
    text: str = ""
    cut: tuple[Cut, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        section = self.section
        return {
            "name": section.name,
            "title": section.title,
            "chars": len(self.text),
            "max_chars": section.max_chars,
            "items": [item.to_dict() for item in self.items],
            "left_out": self.left_out,
        }


@dataclass(frozen=True)
class Head:
    """Which work a bundle is about, when it was made, and how far it was checked."""

    phase: str
    repo: str
    branch: str
    at: str
    receipt: str
    notice: str


@dataclass(frozen=True)
class Layout:
    """A bundle after the budget: which lines of the head fit, and what is left of each section."""

    head: Head
    total: int
    most: int  # less than the total where JSON would be too long
    has_notice: bool
    has_legend: bool
    shown: tuple[ShownSection, ...]
    left_out: str = ""  # which sections are left out whole, for the last line

    @property
    def cut(self) -> tuple[Cut, ...]:
        cuts = []
        notice = self.head.notice
        if notice and not self.has_notice:
            why = describe_no_room(self.total, self.most)
            cuts.append(Cut("notice", notice, OURS, reason=why))
        for shown in self.shown:
            cuts += shown.cut
        return tuple(cuts)


# --- handed over ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bundle:
    id: str
    phase: str
    text: str
    chars: int
    tokens: int
    sections: tuple[ShownSection, ...]
    cut: tuple[Cut, ...]

    def to_dict(self) -> dict[str, Any]:
        return {
            **self.__dict__,
            "sections": [shown.to_dict() for shown in self.sections],
            "cut": [cut.to_dict() for cut in self.cut],
        }


@dataclass(frozen=True)
class Receipt:
    """What a bundle was made of, before the budget, and how long it might be."""

    id: str
    created_at: datetime
    head: Head
    sections: tuple[Section, ...]
    total: int
    text_hash: str
    client: str | None = None
    session_id: str | None = None
    worktree: str | None = None

    @classmethod
    def from_dict(
        cls, receipt_id: str, created_at: datetime, content: Mapping[str, Any]
    ) -> Receipt:
        """As the journal has it."""
        return cls(
            id=receipt_id,
            created_at=created_at,
            head=Head(**content["head"]),
            sections=tuple(Section.from_dict(section) for section in content["sections"]),
            total=content["total"],
            text_hash=content["text_hash"],
            client=content["client"],
            session_id=content["session_id"],
            worktree=content.get("worktree"),
        )

    def to_content(self) -> dict[str, Any]:
        """For the journal, which keeps the id and the time beside it."""
        return {
            "head": asdict(self.head),
            "sections": [section.to_dict() for section in self.sections],
            "total": self.total,
            "text_hash": self.text_hash,
            "client": self.client,
            "session_id": self.session_id,
            "worktree": self.worktree,
        }


@dataclass(frozen=True)
class BundleLine:
    """A line of a bundle with its source; our own words have no source."""

    section: str
    text: str
    source: str | None = None
    verdict: str | None = None


@dataclass(frozen=True)
class BundleExplanation:
    """A bundle line by line, and what is not in it."""

    id: str
    short_id: str
    phase: str
    created_at: datetime
    chars: int
    tokens: int
    limit: int
    lines: tuple[BundleLine, ...]
    cut: tuple[Cut, ...]
    is_here: bool = True  # whether it was made in the checkout of the caller

    def to_dict(self) -> dict[str, Any]:
        return {
            **self.__dict__,
            "created_at": clock.to_text(self.created_at),
            "lines": [asdict(line) for line in self.lines],
            "cut": [cut.to_dict() for cut in self.cut],
        }
