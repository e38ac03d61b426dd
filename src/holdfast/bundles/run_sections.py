"""What was run and how it ended: the last run, earlier failures, what works, what is next. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from holdfast.bundles.cuts import hold_back, list_section, list_shortened
from holdfast.bundles.model import Cut, Item, Section
from holdfast.bundles.note_sections import list_long_decisions, order_decisions, write_rejected
from holdfast.bundles.quoting import (
    LABEL_CHARS,
    TEXT_CHARS,
    format_day,
    format_moment,
    quote,
    quote_lines,
)
from holdfast.ground.text import plural
from holdfast.workstreams.entries import NotedRun
from holdfast.workstreams.model import JudgedContext, Proof

STEPS_SHOWN = 3
ERRORS_SHOWN = 3
COMMANDS_SHOWN = 2
OUTPUT_LINES = 3
LAST_RUN, LAST_ERRORS = "last run", "last errors"

_WORDS = re.compile(r"\w")


# --- the last run ---------------------------------------------------------------------------------


def find_last_failure(judged: JudgedContext) -> Proof | NotedRun | None:
    """The last run, noted or seen here, where that did not pass."""
    noted = judged.context.failed_run
    seen = _list_runs_here(judged)
    if not seen:
        return noted
    last = seen[-1]
    if noted and noted.made_at >= last.ran_at:
        return noted
    return None if last.passed else last


def make_last_run(
    last: Proof | NotedRun | None, judged: JudgedContext, now: datetime
) -> list[Section]:
    if last is None:
        return []
    if isinstance(last, Proof):
        return [_make_seen_run(last, judged, now)]
    return [make_noted_run(last, now)]


def make_noted_run(run: NotedRun, now: datetime) -> Section:
    at = format_moment(run.at, now)
    step = quote(run.failed_step, LABEL_CHARS)
    after = quote(run.next_action, TEXT_CHARS)
    items = [Item(f"LAST RUN {at} failed at: {step}", LAST_RUN)]
    if after:
        items.append(Item(f"  Next: {after}", LAST_RUN, is_prose=True))
    error = [Item(f"  > {line}", LAST_RUN, is_prose=True) for line in quote_lines(run.error)]
    why = f"only the first {OUTPUT_LINES} lines of an error are shown"
    held = hold_back("last_run", error[OUTPUT_LINES:], why)
    long_step = list_shortened("last_run", [(run.failed_step, LAST_RUN)], LABEL_CHARS)
    long_action = list_shortened("last_run", [(run.next_action, LAST_RUN)], TEXT_CHARS)
    shown = (*items, *error[:OUTPUT_LINES])
    return Section("last_run", "", shown, held=held, gone=(*long_step, *long_action))


def _make_seen_run(proof: Proof, judged: JudgedContext, now: datetime) -> Section:
    """With the end of what it printed; the receipt says how many lines are left out."""
    source = f"proof {proof.id}"
    at = format_moment(proof.ran_at, now)
    how = f" → {_describe_outcome(proof)}{_describe_failures(proof, judged)}"
    first = Item(f"LAST RUN {at} {_write_command(proof)}{how}", source, keep=len(how))
    lines = _list_output_lines(proof)
    output = [Item(f"  > {line}", source, is_prose=True) for line in lines[-OUTPUT_LINES:]]
    gone = _cut_output(len(lines) - OUTPUT_LINES, source)
    return Section("last_run", "", (first, *output), gone=gone)


def _list_output_lines(proof: Proof) -> list[str]:
    """Without lines that hold no word, such as rulers."""
    lines = [line for line in proof.output_tail.splitlines() if _WORDS.search(line)]
    quoted = [quote(line, TEXT_CHARS) for line in lines]
    return [line for line in quoted if line]


def _cut_output(left_out: int, source: str) -> tuple[Cut, ...]:
    if left_out <= 0:
        return ()
    text = f"{plural(left_out, 'line')} of its output"
    return (Cut("last_run", text, source, f"only the last {OUTPUT_LINES} are shown"),)


def make_last_pass(judged: JudgedContext, now: datetime) -> list[Section]:
    passed = [proof for proof in _list_runs_here(judged) if proof.passed]
    if not passed:
        return []
    last = passed[-1]
    where = "on this tree" if last.tree == judged.tree else "on an older tree: proves nothing now"
    how = f" → exit 0, {where}"
    at = format_moment(last.ran_at, now)
    text = f"LAST PASS {at} {_write_command(last)}{how}"
    item = Item(text, f"proof {last.id}", keep=len(how))
    return [Section("last_pass", "", (item,))]


def _list_runs_here(judged: JudgedContext) -> list[Proof]:
    """Of this branch, the oldest first."""
    here = [proof for proof in judged.proofs if proof.branch == judged.context.key.branch]
    return sorted(here, key=_rank_by_time)


# --- what is to be done ---------------------------------------------------------------------------


def make_next(judged: JudgedContext, now: datetime) -> Section:
    """The list has no time of its own: it is as old as the notes, or older."""
    noted = judged.context.checklist
    quoted = [quote(step, LABEL_CHARS) for step in noted]
    steps = [step for step in quoted if step]
    items = [Item(f"{number}. {step}", "checklist") for number, step in enumerate(steps, 1)]
    held = hold_back("next", items[STEPS_SHOWN:], f"only the next {STEPS_SHOWN} are shown")
    long = list_shortened("next", [(step, "checklist") for step in noted], LABEL_CHARS)
    at = format_moment(judged.context.fields.updated_at, now)
    age = f", {at} or before" if at else ""
    title = f"NEXT (the agent's own list{age})"
    return list_section("next", title, items[:STEPS_SHOWN], held, joined="  ", gone=long)


# --- what failed before ---------------------------------------------------------------------------


def make_failed(judged: JudgedContext, now: datetime, last: Proof | NotedRun | None) -> Section:
    """What not to try again: the last failure, rejected alternatives, commands, older errors."""
    ruled_out = order_decisions([*judged.decisions, *judged.shared_decisions], ["rejected"])
    errors = make_errors(judged, now, has_last_run=isinstance(last, NotedRun))
    noted = [item for item in errors.items if item.source == LAST_RUN]
    older = errors.items[len(noted) :]
    rejected = [write_rejected(decision, now) for decision in ruled_out]
    failing = _list_failing(judged, last)
    commands = [_write_failing_command(runs, now) for runs in failing]
    gone = (*list_long_decisions("failed", ruled_out), *errors.gone)
    items = [*noted, *rejected, *commands, *older]
    return list_section("failed", "FAILED OR REJECTED BEFORE", items, errors.held, gone=gone)


def _list_failing(judged: JudgedContext, last: Proof | NotedRun | None) -> list[list[Proof]]:
    """The runs of each command whose newest run failed, without the one shown as the last run."""
    shown_command = last.command if isinstance(last, Proof) else None
    failing = [runs for runs in _list_by_command(judged) if not runs[-1].passed]
    return [runs for runs in failing if runs[-1].command != shown_command]


def make_errors(judged: JudgedContext, now: datetime, *, has_last_run: bool) -> Section:
    """The last errors, newest first, without the one that is shown as the last run."""
    run = judged.context.failed_run
    older = [error for error in judged.context.last_errors if not run or error.at != run.at]
    found = [(error, LAST_ERRORS) for error in reversed(older)]
    if run and not has_last_run:
        found.insert(0, (run, LAST_RUN))
    items = [_write_error(error, now, source) for error, source in found]
    why = f"only the last {ERRORS_SHOWN} errors are shown"
    held = hold_back("failed", items[ERRORS_SHOWN:], why)
    gone = [cut for error, source in found for cut in _cut_error_lines(error, source)]
    first_lines = [(_find_first_line(error), source) for error, source in found]
    texts = [*_list_error_texts(found), *first_lines]
    gone += list_shortened("failed", texts, LABEL_CHARS)
    return list_section("failed", "FAILED BEFORE", items[:ERRORS_SHOWN], held, gone=tuple(gone))


def _list_error_texts(errors: Sequence[tuple[NotedRun, str]]) -> list[tuple[object, str]]:
    return [
        (text, source)
        for error, source in errors
        for text in (error.failed_step, error.next_action)
    ]


def _cut_error_lines(error: NotedRun, source: str) -> list[Cut]:
    why = "only the first line of an older error is shown"
    return [Cut("failed", line, source, why) for line in quote_lines(error.error)[1:]]


def _find_first_line(error: NotedRun) -> str:
    return next(iter(quote_lines(error.error)), "")


def _write_error(error: NotedRun, now: datetime, source: str) -> Item:
    step = quote(error.failed_step, LABEL_CHARS)
    first_line = quote(_find_first_line(error), LABEL_CHARS)
    after = quote(error.next_action, LABEL_CHARS)
    at = format_day(error.at, now)
    text = f"- {step}: {first_line}"
    if after:
        text += f"; next: {after}"
    return Item(f"{text} ({at})" if at else text, source)


# --- commands -------------------------------------------------------------------------------------


def make_works(judged: JudgedContext) -> Section:
    """Commands whose newest run passed, the most often tried first."""
    known = _list_by_command(judged)
    passing = [runs for runs in known if runs[-1].passed]
    passing.sort(key=len, reverse=True)
    items = [_write_working_command(runs) for runs in passing]
    shown = items[:COMMANDS_SHOWN]
    held = hold_back("works", items[COMMANDS_SHOWN:], f"only {COMMANDS_SHOWN} commands are shown")
    newest = [runs[-1] for runs in known]
    texts = [(" ".join(proof.command), f"proof {proof.id}") for proof in newest]
    long = list_shortened("works", texts, LABEL_CHARS)
    return list_section("works", "WORKS HERE:", shown, held, lead=" ", joined=" · ", gone=long)


def _list_by_command(judged: JudgedContext) -> list[list[Proof]]:
    """The runs of each command, the newest last."""
    runs: dict[tuple[str, ...], list[Proof]] = {}
    for proof in sorted(judged.proofs, key=_rank_by_time):
        runs.setdefault(proof.command, []).append(proof)
    return [runs[command] for command in sorted(runs)]


def _write_working_command(runs: Sequence[Proof]) -> Item:
    last = runs[-1]
    passed = sum(run.passed for run in runs)
    text = f"{_write_command(last)} ({passed} of {len(runs)})"
    return Item(text, f"proof {last.id}")


def _write_failing_command(runs: Sequence[Proof], now: datetime) -> Item:
    last = runs[-1]
    failed = sum(not run.passed for run in runs)
    when = format_day(last.ran_at, now)
    how = f": {_describe_outcome(last)}, {failed} of {len(runs)}, last {when}"
    text = f"- {_write_command(last)}{how}"
    return Item(text, f"proof {last.id}", keep=len(how))


def _describe_outcome(proof: Proof) -> str:
    outcome = f"exit {proof.exit_code}"
    if not proof.exit_code:
        return f"{outcome}, while files changed: proves nothing"
    return outcome


def _describe_failures(proof: Proof, judged: JudgedContext) -> str:
    runs = [each for each in judged.proofs if each.command == proof.command]
    if len(runs) < 2:
        return ""
    failed = sum(not each.passed for each in runs)
    return f", failed {failed} of {len(runs)}"


def _write_command(proof: Proof) -> str:
    return quote(" ".join(map(str, proof.command)), LABEL_CHARS)


def _rank_by_time(proof: Proof) -> tuple[str, str]:
    return proof.ran_at, proof.id
