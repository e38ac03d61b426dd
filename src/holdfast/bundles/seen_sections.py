"""What code has seen in the sessions before: runs, what the user said, the client's todos. Pure.

A command is shown with how its end is known, and one whose end is not known never reads as passed.
What the user said is quoted with its date: it is no fact and no decision.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from datetime import datetime

from holdfast.bundles.cuts import hold_back, list_cut_lines, list_section, list_shortened
from holdfast.bundles.model import Gathered, Item, Section
from holdfast.bundles.quoting import (
    LABEL_CHARS,
    NAME_CHARS,
    PROSE_CHARS,
    TEXT_CHARS,
    format_if_older,
    format_moment,
    quote,
    quote_inside,
    write_line,
    write_output,
    write_path,
)
from holdfast.ground.patterns import compile_later

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.observations.changes import KnownFile
    from holdfast.observations.digest import Decided, SeenRun, SeenSaying, Source
    from holdfast.observations.tasks import Task

LAST_RUN, FAILED = "LAST RUN", "NOT PASSED SINCE"
OUTPUT_LINES = 3
WORKS_SHOWN = 2
CHANGED_NAMED, CHANGED_CHARS = 3, 25
BECAUSE_CHARS = 80
SAID_TO = {"answered": "asked", "denied": "denied", "stopped or denied": "stopped or denied"}

# What a line that only counts is made of: `Ran 1 test in 0.002s`, `2 passed, 1 failed`.
_COUNTS = compile_later(
    r"(?:[\W\d_]|(?<![^\W\d_])(?:all|and|code|done|errors?|exit|fail(?:ed|ing|ures?)?|files?|"
    r"finished|in|m?s|ok|pass(?:ed|ing)?|ran|results?|run|sec|seconds?|skipped|status|suites?|"
    r"tests?|time|total|warnings?)(?![^\W\d_]))+",
    re.IGNORECASE,
)


# --- runs -----------------------------------------------------------------------------------------


def make_seen_run(gathered: Gathered) -> Section:
    """The check that failed last and was not seen to pass since; else one of unknown end.

    Where another check passed after it, that one was the last run, and stands beside it.
    """
    seen = gathered.seen
    if not seen.failing:
        unclear = [seen.unclear] if seen.unclear else []
        heads = [_write_head(run, LAST_RUN, gathered.now, _describe_end(run)) for run in unclear]
        return Section("last_run", "", tuple(heads))
    last, *others = seen.failing
    also = [_write_failing(run, gathered.now) for run in others]
    if not _is_pass_newer(gathered):
        return Section("last_run", "", (*also, *_write_run(last, LAST_RUN, gathered)))
    passed = _write_pass(gathered, LAST_RUN, " → passed")
    return Section("last_run", "", (*passed, *also, *_write_run(last, FAILED, gathered)))


def _is_pass_newer(gathered: Gathered) -> bool:
    """Whether another check has passed since the one failed that is shown as failing."""
    seen = gathered.seen
    if not seen.failing or seen.last_pass is None:
        return False
    return seen.last_pass.source.at > seen.failing[0].source.at


def _write_run(run: SeenRun, lead: str, gathered: Gathered) -> list[Item]:
    """With what changed since, and the lines of its output that say most."""
    source = name_event(run.source)
    quoted = [quote(line, TEXT_CHARS) for line in run.output]
    lines = choose_output([line for line in quoted if line])
    shown = [Item(write_output("  > ", line), source, is_prose=True) for line in lines]
    changed = gathered.seen.changed_since_failure
    end = " → failed (its output says so)" if run.by == "reported" and shown else _describe_end(run)
    end += f"; {_describe_changes(changed)}" if changed else ""
    return [_write_head(run, lead, gathered.now, end), *shown]


def choose_output(lines: Sequence[str]) -> Sequence[str]:
    """Its end, without lines that only count: that it failed is said by its exit code."""
    end = [line for line in lines[-OUTPUT_LINES:] if not _COUNTS.fullmatch(line)]
    telling = [line for line in lines if not _COUNTS.fullmatch(line)]
    return end or telling[-1:] or lines[-1:]


def _write_head(run: SeenRun, lead: str, now: datetime, end: str) -> Item:
    text = f"{lead} {format_moment(run.source.at, now)} {_write_command(run)}"
    return Item.with_end(text, end, name_event(run.source))


def _write_failing(run: SeenRun, now: datetime) -> Item:
    text = f"FAILS {format_if_older(run.source.at, now)}{_write_command(run)}"
    return Item.with_end(text, _describe_end(run), name_event(run.source))


def _describe_end(run: SeenRun) -> str:
    """How it ended and how that is known: what a client or an output says is no exit code."""
    because = quote(run.because, BECAUSE_CHARS)
    if run.verdict == "unknown":
        return f" → unknown ({because})"
    if run.by == "reported":
        return f" → failed ({because})"
    return f" → {because}"


def make_seen_pass(gathered: Gathered) -> Section:
    """The check that passed last, and what has changed since, where it does not stand above."""
    if _is_pass_newer(gathered):
        return Section("last_pass", "")
    return Section("last_pass", "", tuple(_write_pass(gathered, "LAST PASS")))


def _write_pass(gathered: Gathered, lead: str, end: str = "") -> list[Item]:
    run = gathered.seen.last_pass
    if run is None:
        return []
    text = f"{lead} {format_moment(run.source.at, gathered.now)} {_write_command(run)}"
    end += f", {_describe_changes(gathered.seen.changed_since)}"
    return [Item.with_end(text, end, name_event(run.source))]


def _describe_changes(paths: Sequence[str]) -> str:
    if not paths:
        return "no edited file changed since"
    names = [quote(path.rpartition("/")[2], CHANGED_CHARS) for path in paths[:CHANGED_NAMED]]
    more = f" +{len(paths) - CHANGED_NAMED} more" if len(paths) > CHANGED_NAMED else ""
    return f"changed since: {', '.join(names)}{more}"


def make_seen_works(gathered: Gathered) -> Section:
    """How checks are run here: those that passed, the most often tried first."""
    runs = gathered.seen.working
    items = [_write_working(run) for run in runs]
    gone = list_shortened("works", [run.command for run in runs], "event", LABEL_CHARS)
    return list_section(
        "works",
        "WORKS HERE",
        items[:WORKS_SHOWN],
        held=hold_back("works", items[WORKS_SHOWN:], f"only {WORKS_SHOWN} commands are shown"),
        lead=" ",
        joined=" · ",
        gone=gone,
    )


def _write_working(run: SeenRun) -> Item:
    text = f"{_write_command(run)} ({run.passed} of {run.count})"
    if run.instead_of:
        text += f", not {quote(run.instead_of, LABEL_CHARS)}"
    return Item(text, name_event(run.source))


def _write_command(run: SeenRun) -> str:
    return quote(run.command, LABEL_CHARS)


def name_event(source: Source) -> str:
    return f"event {source.event_id}"


# --- what the user said ---------------------------------------------------------------------------


def make_said(gathered: Gathered) -> Section:
    """Numbers, refusals and answers in the user's words, the newest first, also of one prompt:
    what a later sentence corrects must not stand where that has no room.

    Without those of the last request, which is quoted whole.
    """
    request = gathered.request
    quoted = request.event_id if request else ""
    said = [each for each in gathered.seen.said if each.source.event_id != quoted]
    noted = [
        *((each.source.at, _write_saying(each, gathered.now)) for each in said),
        *((each.source.at, _write_decided(each, gathered.now)) for each in gathered.seen.decided),
    ]
    noted.sort(key=lambda pair: pair[0])
    items = [item for _, item in reversed(noted)]
    texts = [(each.saying.text, _write_saying(each, gathered.now)) for each in said]
    return list_section("said", "SAID (user)", items, gone=list_cut_lines("said", texts))


def _write_saying(said: SeenSaying, now: datetime) -> Item:
    end = f'" ({format_moment(said.source.at, now)})'
    line = write_line('- "', quote_inside(said.saying.text, PROSE_CHARS), keep=len(end))
    return Item.with_end(line, end, name_event(said.source))


def _write_decided(decided: Decided, now: datetime) -> Item:
    """What the client had asked, and what the person chose or typed."""
    decision = decided.decision
    lead = f"- {SAID_TO.get(decision.kind, decision.kind)}: "
    end = f" ({format_moment(decided.source.at, now)})"
    if decision.answer:
        end = f' → "{quote_inside(decision.answer, NAME_CHARS)}"{end}'
    line = write_line(lead, quote(decision.about, PROSE_CHARS), keep=len(end))
    return Item.with_end(line, end, name_event(decided.source))


# --- the client's own todos -----------------------------------------------------------------------

MARKS = {"blocked": "blocked", "in_progress": "begun"}


def list_todos(gathered: Gathered) -> list[tuple[str, str, str]]:
    """The text of each open one, its source, and beside the first one when they were written."""
    seen = gathered.seen
    if seen.tasks_source is None:
        return []
    ordered = sorted(seen.tasks, key=lambda task: task.status != "in_progress")
    source = name_event(seen.tasks_source)
    age = f" (todos of {format_moment(seen.tasks_source.at, gathered.now)})"
    ages = [age, *[""] * len(ordered)]
    return [(_write_todo(task), source, age) for task, age in zip(ordered, ages, strict=False)]


def _write_todo(task: Task) -> str:
    mark = MARKS.get(task.status)
    return f"{task.text} [{mark}]" if mark else task.text


# --- files ----------------------------------------------------------------------------------------


def list_seen_files(gathered: Gathered, known: Collection[str]) -> list[Item]:
    """Those that no note names: what was changed last first, then what was read again and again."""
    files = [*gathered.seen.files, *gathered.seen.read]
    new = [file for file in files if file.path not in known]
    return [Item(_write_file(gathered, file), _name_file_source(file)) for file in new]


def _write_file(gathered: Gathered, file: KnownFile) -> str:
    """What git does not know yet is in no commit, and not among what is uncommitted."""
    path = write_path(gathered, file.path)
    return f"{path} (new)" if file.is_new else path


def _name_file_source(file: KnownFile) -> str:
    return f"{name_event(file.source)}: {file.how}"
