"""What still stands in the window of the session that asks, and so is left out. Pure.

A compaction takes most of a conversation from a model and leaves some of it word for word: the last
messages, or what the person asked for, and at times a text of ours. Told twice it would take room
and look like news. Words stand in the window where all of them do. A run does where its command was
called there and its output can be read, a step or a file where a call names it: a sentence about
one of these does not show it. Of what the window has in part, all is told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from holdfast.bundles.model import Cut, Gathered, Item, Section, Seen, WorkingNotes
from holdfast.ground.frozen import dataclass, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.bundles.model import LastAnswer, LastRequest
    from holdfast.observations.digest import Decided, SeenRun

    Said = LastRequest | LastAnswer

STILL_THERE = "still in the window"
VALUE_CHARS = 2_000  # of a command, a path or a step; what is longer is none
MARKS = " >|-"  # before a line that is quoted or listed, which a client may replace


@dataclass(frozen=True)
class Window:
    """What a model has: its words on one line each, and the short texts that stand alone."""

    words: str = ""
    values: frozenset[str] = frozenset()

    def has_words(self, text: str) -> bool:
        line = _join(text)
        return bool(line) and line in self.words

    def has_value(self, text: str) -> bool:
        return _join(text) in self.values

    def has_file(self, path: str) -> bool:
        return any(value == path or value.endswith(f"/{path}") for value in self.values)

    def has_said(self, said: Said) -> bool:
        return self.has_words(said.text) and self.has_words(getattr(said, "end", "") or said.text)

    def has_run(self, run: SeenRun) -> bool:
        return self.has_value(run.command) and all(map(self.has_words, run.output))

    def has_decided(self, decided: Decided) -> bool:
        decision = decided.decision
        return self.has_words(decision.about) and self.has_words(decision.answer or decision.about)

    def has_line(self, item: Item) -> bool:
        """As a text of ours has it that is still there."""
        return self.has_words(item.text.lstrip(MARKS))


def _join(text: str) -> str:
    return " ".join(text.split())


def make_window(texts: Iterable[str]) -> Window:
    lines = [_join(text) for text in texts]
    values = [line for line in lines if 0 < len(line) <= VALUE_CHARS]
    return Window("\n".join(lines), frozenset(values))


# --- what was gathered ----------------------------------------------------------------------------


def leave_out_kept(gathered: Gathered, window: Window) -> tuple[Gathered, Section]:
    """What the window has lost; and, as a section without words, what it has."""
    sieve = _Sieve()

    def lose_said(section: str, said: Sequence[Said | None]) -> tuple[Any, ...]:
        known = [each for each in said if each]
        return sieve.lose(section, known, window.has_said, lambda each: (each.text, each.source))

    def lose_one(section: str, said: Said | None) -> Any:
        return next(iter(lose_said(section, [said])), None)

    lost = replace(
        gathered,
        request=lose_one("request", gathered.request),
        question=lose_one("question", gathered.question),
        before=lose_one("before", gathered.before),
        answer=lose_one("answer", gathered.answer),
        earlier=lose_said("earlier", gathered.earlier),
        unfinished=lose_said("unfinished", gathered.unfinished),
        notes=_lose_notes(gathered.notes, window, sieve),
        seen=_lose_seen(gathered.seen, window, sieve),
    )
    return lost, Section("window", "", gone=tuple(sieve.gone))


class _Sieve:
    """Takes out what is there, and keeps what that was."""

    def __init__(self) -> None:
        self.gone: list[Cut] = []

    def lose(
        self,
        section: str,
        found: Iterable[Any],
        is_there: Callable[[Any], bool],
        describe: Callable[[Any], tuple[str, str]],
    ) -> tuple[Any, ...]:
        lost = []
        for each in found:
            if is_there(each):
                self.gone.append(Cut(section, *describe(each), STILL_THERE))
            else:
                lost.append(each)
        return tuple(lost)


def _lose_notes(notes: WorkingNotes, window: Window, sieve: _Sieve) -> WorkingNotes:
    def lose(section: str, texts: Sequence[str]) -> tuple[str, ...]:
        return sieve.lose(section, texts, window.has_value, lambda text: (text, notes.source))

    return replace(
        notes,
        next_steps=lose("next", notes.next_steps),
        blockers=lose("blocked", notes.blockers),
        decisions=lose("decided", notes.decisions),
    )


def _lose_seen(seen: Seen, window: Window, sieve: _Sieve) -> Seen:
    def lose_runs(section: str, runs: Sequence[SeenRun | None]) -> tuple[SeenRun, ...]:
        known = [run for run in runs if run]
        return sieve.lose(
            section, known, window.has_run, lambda run: (run.command, _name(run.source))
        )

    steps = _name(seen.tasks_source) if seen.tasks_source else ""
    return replace(
        seen,
        failing=lose_runs("last_run", seen.failing),
        unclear=next(iter(lose_runs("last_run", [seen.unclear])), None),
        last_pass=next(iter(lose_runs("last_pass", [seen.last_pass])), None),
        working=lose_runs("works", seen.working),
        said=sieve.lose(
            "said",
            seen.said,
            lambda each: window.has_words(each.saying.text),
            lambda each: (each.saying.text, _name(each.source)),
        ),
        decided=sieve.lose(
            "said",
            seen.decided,
            window.has_decided,
            lambda each: (each.decision.about, _name(each.source)),
        ),
        tasks=sieve.lose(
            "next",
            seen.tasks,
            lambda task: window.has_value(task.text),
            lambda task: (task.text, steps),
        ),
        files=sieve.lose("files", seen.files, window.has_file, lambda path: (path, "session")),
    )


def _name(source: Any) -> str:
    return f"event {source.event_id}"


# --- lines of a text of ours that is still there --------------------------------------------------


def leave_out_lines(section: Section, window: Window) -> Section:
    """Of a list each line for itself; what belongs together stays whole or goes whole."""
    if section.pinned or section.verbatim or not section.items:
        return section
    if section.joined != "\n":
        is_there = window.has_words(section.write(section.items, 0))
        there = section.items if is_there else ()
    elif section.title:
        there = tuple(item for item in section.items if window.has_line(item))
    else:
        there = section.items if all(map(window.has_line, section.items)) else ()
    if not there:
        return section
    left = tuple(item for item in section.items if item not in there)
    gone = [Cut(section.name, item.text, item.source, STILL_THERE) for item in there]
    title = section.title if left else ""
    return replace(section, title=title, items=left, gone=(*section.gone, *gone))
