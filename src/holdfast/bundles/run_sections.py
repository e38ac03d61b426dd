"""What was run and how it ended: the last run, earlier failures, what works, what is next. Pure.

Runs are either noted by an agent (`NotedRun`) or seen by us (`Proof`); the newer of the two is the
last run. What failed stands beside what was rejected, because both say what not to try again.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from holdfast.bundles.cuts import (
    count_unread,
    hold_back,
    list_cut_lines,
    list_section,
    list_shortened,
)
from holdfast.bundles.model import Cut, Gathered, Item, Section
from holdfast.bundles.note_sections import (
    describe_age,
    mark_summary,
    split_own_summary,
)
from holdfast.bundles.quoting import (
    LABEL_CHARS,
    NAME_CHARS,
    PROSE_CHARS,
    TEXT_CHARS,
    format_day,
    format_if_older,
    format_moment,
    quote,
    quote_lines,
    write_line,
    write_output,
    write_path,
)
from holdfast.bundles.seen_sections import OUTPUT_LINES, choose_output, list_todos
from holdfast.ground.frozen import dataclass, replace
from holdfast.ground.patterns import compile_later
from holdfast.ground.text import plural
from holdfast.workstreams.entries import NotedRun
from holdfast.workstreams.model import CHECKLIST, JudgedContext, NotedStep, Proof

ERRORS_SHOWN = 3
COMMANDS_SHOWN = 2
SAME_SHARE = 0.75
LAST_RUN, LAST_ERRORS = "last run", "last errors"

LastRun = Proof | NotedRun
TOLD_IN_STEPS = "the list of steps has it"
NEXT = "NEXT "  # stands on the line of the first item
_WORDS = compile_later(r"\w")
_WORD = compile_later(r"\w{4,}")  # shorter ones are in any two sentences


@dataclass(frozen=True)
class EarlierFailure:
    """A noted run that failed, and where it is noted."""

    run: NotedRun
    source: str


@dataclass(frozen=True)
class CommandRuns:
    """The newest run of a command, and how often it was run and passed."""

    newest: Proof
    count: int
    passed: int


# --- the last run ---------------------------------------------------------------------------------


def find_last_failure(judged: JudgedContext) -> LastRun | None:
    """What fails now: the newest of the commands whose last run failed, or a noted failure.

    Another command that passed since does not cure it.
    """
    noted = judged.own_failed_run
    last = next(iter(_list_failing(judged, None)), None)
    if last is None or (noted and noted.made_at >= last.ran_at):
        return noted
    return last


def make_last_run(last: LastRun | None, judged: JudgedContext, now: datetime) -> Section:
    """With the other commands that fail now, because a pass of this one does not cure them."""
    if last is None:
        return Section("last_run", "")
    if isinstance(last, Proof):
        section = _make_seen_run(last, judged, now)
        return _add_failing(section, _list_failing(judged, last), now)
    failing = _list_failing(judged, None)
    seen = next((proof for proof in failing if _is_about(last, proof)), None)
    section = _make_noted_run(last, now, judged.context.checklist)
    if seen:  # one line for both: what was seen says more
        items = (_write_seen_run(seen, judged, now), *section.items[1:])
        section = replace(section, items=items)
    return _add_failing(section, [proof for proof in failing if proof is not seen], now)


def _is_about(run: NotedRun, proof: Proof) -> bool:
    """Whether a noted failure is that of a command that was seen."""
    step = (run.failed_step or "").strip()
    command = " ".join(proof.command)
    return bool(step) and (step in command or command in step)


def _add_failing(section: Section, failing: Sequence[Proof], now: datetime) -> Section:
    """Above it, because what follows the last run is what that run printed."""
    items = [_write_failing_command(proof, now) for proof in failing]
    why = f"only {COMMANDS_SHOWN} others that fail are shown"
    return replace(
        section,
        items=(*items[:COMMANDS_SHOWN], *section.items),
        held=(*section.held, *hold_back("last_run", items[COMMANDS_SHOWN:], why)),
    )


def _make_noted_run(run: NotedRun, now: datetime, steps: Sequence[str]) -> Section:
    first, *following = _list_noted_steps(run, now, steps)
    lines = quote_lines(run.error)
    error = _quote_output(lines, LAST_RUN)
    long_lines = list_cut_lines("last_run", zip(lines, error, strict=True))
    why = f"only the first {OUTPUT_LINES} lines of an error are shown"
    return Section(
        "last_run",
        title="",
        items=(first, *error[:OUTPUT_LINES], *following),
        held=hold_back("last_run", error[OUTPUT_LINES:], why),
        gone=(*_list_shortened_steps(run), *_cut_told_step(run, steps), *long_lines),
    )


def _quote_output(lines: Sequence[str], source: str) -> list[Item]:
    return [Item(write_output("  > ", line), source, is_prose=True) for line in lines]


def _list_noted_steps(run: NotedRun, now: datetime, steps: Sequence[str]) -> list[Item]:
    """The step that failed, and what is to be done next, unless the list of steps has it."""
    at = format_moment(run.at, now)
    failed = quote(run.failed_step, LABEL_CHARS)
    following = quote(run.next_action, TEXT_CHARS)
    items = [Item(f"LAST RUN {at} failed at: {failed}", LAST_RUN, is_prose=True)]
    if following and not _is_told(following, steps):
        items.append(Item(f"  then: {following}", LAST_RUN, is_prose=True))
    return items


def _is_told(following: str, steps: Sequence[str]) -> bool:
    return any(_is_similar(following, step) for step in steps)


def _cut_told_step(run: NotedRun, steps: Sequence[str]) -> tuple[Cut, ...]:
    following = quote(run.next_action, TEXT_CHARS)
    if not _is_told(following, steps):
        return ()
    return (Cut("last_run", following, LAST_RUN, reason=TOLD_IN_STEPS),)


def _is_similar(first: str, second: str) -> bool:
    """Whether two steps are the same in other words: what is to be done is told once."""
    words, others = (set(_WORD.findall(text.casefold())) for text in (first, second))
    fewer = min(len(words), len(others))
    return fewer > 0 and len(words & others) >= SAME_SHARE * fewer


def _list_shortened_steps(run: NotedRun) -> tuple[Cut, ...]:
    failed = list_shortened("last_run", [run.failed_step], LAST_RUN, LABEL_CHARS)
    following = list_shortened("last_run", [run.next_action], LAST_RUN, TEXT_CHARS)
    return (*failed, *following)


def _make_seen_run(proof: Proof, judged: JudgedContext, now: datetime) -> Section:
    """With the end of what it printed; the receipt says how many lines are left out."""
    source = _name_proof(proof)
    lines = _list_output_lines(proof)
    shown = choose_output(lines)
    return Section(
        "last_run",
        title="",
        items=(_write_seen_run(proof, judged, now), *_quote_output(shown, source)),
        gone=_cut_output(len(lines) - len(shown), source),
    )


def _write_seen_run(proof: Proof, judged: JudgedContext, now: datetime) -> Item:
    at = format_moment(proof.ran_at, now)
    outcome = f" → {_describe_outcome(proof)}{_describe_failures(proof, judged)}"
    if proof.exit_code and proof.tree != judged.tree:
        outcome += ", older tree"
    text = f"LAST RUN {at} {_write_command(proof)}"
    return Item.with_end(text, outcome, _name_proof(proof))


def _list_output_lines(proof: Proof) -> list[str]:
    """Without lines that hold no word, such as rulers."""
    lines = proof.output_tail.splitlines()
    quoted = [quote(line, TEXT_CHARS) for line in lines if _WORDS.search(line)]
    return [line for line in quoted if line]


def _cut_output(left_out: int, source: str) -> tuple[Cut, ...]:
    if left_out <= 0:
        return ()
    text = f"{plural(left_out, 'line')} of its output"
    why = f"only the last {OUTPUT_LINES} are shown, without counts"
    return (Cut("last_run", text, source, reason=why),)


def make_last_pass(judged: JudgedContext, now: datetime) -> Section:
    """Only on the contents as they are now: an older pass proves nothing."""
    passed = [proof for proof in _list_newest_runs(judged) if proof.passed]
    here = [proof for proof in passed if proof.tree == judged.tree]
    if not here:
        return Section("last_pass", "")
    last = here[0]
    at = format_moment(last.ran_at, now)
    text = f"LAST PASS {at} {_write_command(last)}, on this tree"
    return Section("last_pass", "", (Item(text, _name_proof(last)),))


def _list_newest_runs(judged: JudgedContext) -> list[Proof]:
    """The newest run of each command, of this branch and of those whose notes it begins with.

    The newest one first, in the order in which they were run: a clock may be set back.
    """
    branches = (judged.context.key.branch, *judged.inherited.branches)
    newest: dict[object, Proof] = {}
    for proof in judged.proofs:
        if proof.branch in branches:
            newest.setdefault((proof.command, proof.folder), proof)
    return list(newest.values())


# --- what is to be done ---------------------------------------------------------------------------


def make_next(judged: JudgedContext | None, gathered: Gathered) -> Section:
    """The task at hand, what the summary says, the steps of the checklist and the scratchpad, and
    what the client's own list of todos has beside them.
    """
    steps = _list_steps(judged, gathered)
    noted = _list_task(gathered)
    told: tuple[Cut, ...] = ()
    if judged:
        of_summary = _list_steps_of_summary(judged)
        texts = [text for text, _, _ in steps]
        told = _cut_told("next", of_summary, texts)
        noted += [(text, item) for text, item in of_summary if not _is_told(text, texts)]
    texts = [text for text, _, _ in steps]
    todos = list_todos(gathered)
    steps += [todo for todo in todos if not _is_told(todo[0], texts)]
    for number, (text, source, age) in enumerate(steps, start=1):
        noted.append((text, _write_step(f"{number}. ", text, source, end=age)))
    items = [item for _, item in noted]
    gone = (*list_cut_lines("next", noted), *told)
    section = list_section("next", NEXT.strip(), items, lead=" ", joined="  ", gone=gone)
    return count_unread(section, gathered.seen.more_tasks, "todos", "only the first are read")


def _list_steps(judged: JudgedContext | None, gathered: Gathered) -> list[tuple[str, str, str]]:
    """Each step, its source, and when it was noted, if that is worth a word."""
    notes, age = gathered.notes, describe_age(gathered)
    steps = []
    if judged:
        own = [step for step in judged.all_steps if step.is_own]
        steps += [(_write_inherited(judged, step), CHECKLIST, "") for step in own]
    return [*steps, *((text, notes.source, age) for text in notes.next_steps)]


def _cut_told(
    section: str, noted: Sequence[tuple[str, Item]], texts: Sequence[str]
) -> tuple[Cut, ...]:
    told = [(text, item.source) for text, item in noted if _is_told(text, texts)]
    return tuple(Cut(section, text, source, reason=TOLD_IN_STEPS) for text, source in told)


def _list_task(gathered: Gathered) -> list[tuple[str, Item]]:
    """What is being done, and in which file; further ones are in the list of files."""
    notes = gathered.notes
    file = "".join(write_path(gathered, path) for path in notes.in_progress[:1])
    age = describe_age(gathered)
    if notes.task and file and len(file) <= LABEL_CHARS:
        item = _write_step("now: ", notes.task, notes.source, end=f" ({file}){age}")
        return [(notes.task, item)]
    texts = [text for text in (notes.task, file) if text]
    return [(text, _write_step("now: ", text, notes.source, end=age)) for text in texts]


def _write_inherited(judged: JudgedContext, step: NotedStep) -> str:
    origin = judged.inherited.name_origin(step.of)
    if not origin:
        return step.text
    return f"({quote(origin, NAME_CHARS)}) {step.text}"


def _list_steps_of_summary(judged: JudgedContext) -> list[tuple[str, Item]]:
    """What is said about next steps, which a summary often ends with."""
    mark = mark_summary(judged)
    noted = []
    lead = "summary: "
    for step in split_own_summary(judged).list_steps():
        line = write_line(lead, step, keep=len(mark) + len(NEXT))
        noted.append((step, Item.with_end(line, mark, "working summary")))
        lead = "then: "
    return noted


def _write_step(lead: str, text: str, source: str, end: str = "") -> Item:
    line = write_line(lead, quote(text, PROSE_CHARS), keep=len(end) + len(NEXT))
    return Item.with_end(line, end, source)


# --- what failed before ---------------------------------------------------------------------------


def _list_failing(judged: JudgedContext, last: Proof | None) -> list[Proof]:
    """The newest runs on this branch that failed, without the one shown as the last run."""
    failing = [proof for proof in _list_newest_runs(judged) if not proof.passed]
    return [proof for proof in failing if proof is not last]


def make_errors(judged: JudgedContext, now: datetime, last: LastRun | None) -> Section:
    """The last errors, newest first, without the one that is shown as the last run."""
    failures = _list_earlier_failures(judged, has_last_run=isinstance(last, NotedRun))
    items = [_write_failure(failure, now) for failure in failures]
    why = f"only the last {ERRORS_SHOWN} errors are shown"
    return list_section(
        "errors",
        "FAILED BEFORE",
        items[:ERRORS_SHOWN],
        held=hold_back("errors", items[ERRORS_SHOWN:], why),
        gone=(*_list_shortened_failures(failures), *_cut_foreign_errors(judged)),
    )


def _cut_foreign_errors(judged: JudgedContext) -> tuple[Cut, ...]:
    runs = judged.of_others.last_errors or ()
    texts = [quote(f"{run.failed_step}: {run.error}", PROSE_CHARS) for run in runs]
    return tuple(Cut("errors", text, LAST_ERRORS, reason="noted by others") for text in texts)


def _list_earlier_failures(judged: JudgedContext, *, has_last_run: bool) -> list[EarlierFailure]:
    last = judged.own_failed_run
    older = judged.own_errors
    if last:
        older = [run for run in older if run.at != last.at]
    failures = [EarlierFailure(run, LAST_ERRORS) for run in reversed(older)]
    if last and not has_last_run:
        failures.insert(0, EarlierFailure(last, LAST_RUN))
    return failures


def _list_shortened_failures(failures: Sequence[EarlierFailure]) -> tuple[Cut, ...]:
    cuts: list[Cut] = []
    for failure in failures:
        cuts += _cut_further_lines(failure)
    for failure in failures:
        steps = [failure.run.failed_step, failure.run.next_action]
        cuts += list_shortened("errors", steps, failure.source, LABEL_CHARS)
    for failure in failures:
        first_line = _find_first_line(failure)
        cuts += list_shortened("errors", [first_line], failure.source, LABEL_CHARS)
    return tuple(cuts)


def _cut_further_lines(failure: EarlierFailure) -> list[Cut]:
    further = quote_lines(failure.run.error)[1:]
    why = "only the first line of an older error is shown"
    return [Cut("errors", line, failure.source, reason=why) for line in further]


def _find_first_line(failure: EarlierFailure) -> str:
    return next(iter(quote_lines(failure.run.error)), "")


def _write_failure(failure: EarlierFailure, now: datetime) -> Item:
    step = quote(failure.run.failed_step, LABEL_CHARS)
    first_line = quote(_find_first_line(failure), LABEL_CHARS)
    following = quote(failure.run.next_action, LABEL_CHARS)
    day = format_day(failure.run.at, now)
    text = f"- {step}: {first_line}"
    if following:
        text += f"; next: {following}"
    if day:
        text += f" ({day})"
    return Item(text, failure.source)


# --- commands -------------------------------------------------------------------------------------


def make_works(judged: JudgedContext) -> Section:
    """Commands whose newest run passed, the most often tried first."""
    known = _list_by_command(judged)
    passing = [runs for runs in known if runs.newest.passed]
    passing.sort(key=lambda runs: runs.count, reverse=True)
    items = [_write_working_command(runs) for runs in passing]
    why = f"only {COMMANDS_SHOWN} commands are shown"
    return list_section(
        "works",
        "WORKS HERE",
        items[:COMMANDS_SHOWN],
        held=hold_back("works", items[COMMANDS_SHOWN:], why),
        lead=" ",
        joined=" · ",
        gone=_list_shortened_commands(known),
    )


def _list_shortened_commands(known: Sequence[CommandRuns]) -> tuple[Cut, ...]:
    cuts: list[Cut] = []
    for runs in known:
        command = " ".join(runs.newest.command)
        cuts += list_shortened("works", [command], _name_proof(runs.newest), LABEL_CHARS)
    return tuple(cuts)


def _list_by_command(judged: JudgedContext) -> list[CommandRuns]:
    """In the order of the commands' own words."""
    by_command: dict[tuple[str, ...], list[Proof]] = {}
    for proof in judged.proofs:
        proofs = by_command.setdefault(proof.command, [])
        proofs.append(proof)
    return [_count_runs(by_command[command]) for command in sorted(by_command)]


def _count_runs(proofs: Sequence[Proof]) -> CommandRuns:
    """Of one command, the newest first."""
    passed = sum(proof.passed for proof in proofs)
    return CommandRuns(newest=proofs[0], count=len(proofs), passed=passed)


def _write_working_command(runs: CommandRuns) -> Item:
    command = _write_command(runs.newest)
    text = f"{command} ({runs.passed} of {runs.count})"
    return Item(text, _name_proof(runs.newest))


def _write_failing_command(proof: Proof, now: datetime) -> Item:
    outcome = f" → {_describe_outcome(proof)}"
    text = f"FAILS {format_if_older(proof.ran_at, now)}{_write_command(proof)}"
    return Item.with_end(text, outcome, _name_proof(proof))


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
    import shlex

    return quote(shlex.join(map(str, proof.command)), LABEL_CHARS)


def _name_proof(proof: Proof) -> str:
    return f"proof {proof.id}"
