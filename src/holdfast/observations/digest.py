"""What a session has shown so far, folded from its events one after the other.

A digest is small, and knows up to which event it reaches: the next look costs no more than what
came since, however long the log is. It is derived. Where a rule changes, `RULES` does, and a digest
of other rules is made again from the log.

Pure: a digest and events in, a digest out. Every entry names the event that it was seen in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime

from holdfast.ground import clock
from holdfast.ground.frozen import asdict, dataclass, replace
from holdfast.ground.text import cut
from holdfast.observations import grading, parts, reports, rules, turns
from holdfast.observations.amounts import Amount
from holdfast.observations.commits import MadeCommit, find_branch, find_commit
from holdfast.observations.decisions import SeenDecision, find_decisions
from holdfast.observations.sayings import Saying, drop_superseded, quote_event
from holdfast.observations.tasks import NO_TASKS, Task, TaskList, apply_task_event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias, TypeVar

    from holdfast.observations.grading import By, CommandUse
    from holdfast.observations.model import LoggedEvent, Verdict

    IsRequest = Callable[[LoggedEvent], bool]
    Observation: TypeAlias = "SeenRun | SeenFile | SeenSaying | Decided | SeenCommit"
    Seen = TypeVar("Seen", "SeenRun", "SeenFile", "SeenSaying", "Decided", "SeenCommit")

RULES = 1  # one more where the same events would give another digest
MOST_RUNS, MOST_FILES, MOST_SAID, MOST_DECIDED, MOST_COMMITS = 30, 60, 60, 30, 30
COMMAND_CHARS = 300
OUTPUT_CHARS, OUTPUT_LINES = 300, 6
PATH_CHARS = 500


@dataclass(frozen=True)
class Source:
    """Where something was seen: the event, when that was, and on which branch."""

    event_id: str
    sequence: int
    at: datetime
    branch: str = ""


@dataclass(frozen=True)
class SeenRun:
    """The newest run of a command, and how often it was run and passed."""

    command: str
    program: str
    scope: tuple[str, ...]
    folder: str
    verdict: Verdict
    by: By
    because: str
    output: tuple[str, ...]  # the end of what it printed, of one that did not pass
    source: Source
    is_check: bool = False
    count: int = 1
    passed: int = 0
    instead_of: str = ""  # a command of the same program that had failed before

    def covers(self, other: SeenRun) -> bool:
        """Whether its pass says that what failed there passes now: it leaves nothing out."""
        is_same = (self.program, self.folder) == (other.program, other.folder)
        narrower = [word for word in self.scope if word not in other.scope]
        return is_same and not any(grading.is_narrowing(word) for word in narrower)


@dataclass(frozen=True)
class SeenFile:
    """A file that was edited, by its path as the tool was given it."""

    path: str
    source: Source


@dataclass(frozen=True)
class SeenSaying:
    saying: Saying
    source: Source


@dataclass(frozen=True)
class Decided:
    decision: SeenDecision
    source: Source


@dataclass(frozen=True)
class SeenCommit:
    commit: MadeCommit
    source: Source


@dataclass(frozen=True)
class Digest:
    """What was seen up to an event; of each kind the newest, in the order of the log."""

    sequence: int = 0
    turn: int = 0  # the event with which the last turn began
    branch: str = ""
    runs: tuple[SeenRun, ...] = ()
    files: tuple[SeenFile, ...] = ()
    said: tuple[SeenSaying, ...] = ()
    decided: tuple[Decided, ...] = ()
    commits: tuple[SeenCommit, ...] = ()
    tasks: TaskList = NO_TASKS
    tasks_source: Source | None = None  # the event that changed them last

    def list_failing(self) -> list[SeenRun]:
        """Checks whose newest run failed and that no later pass covers, the newest first."""
        checks = [run for run in self.runs if run.is_check]
        failing = [run for run in checks if run.verdict == "failed"]
        return [run for run in reversed(failing) if not _is_cured(run, checks)]

    def list_working(self) -> list[SeenRun]:
        """Checks whose newest run passed, the newest first."""
        return [run for run in reversed(self.runs) if run.is_check and run.verdict == "passed"]


def _is_cured(failed: SeenRun, runs: Sequence[SeenRun]) -> bool:
    later = runs[runs.index(failed) + 1 :]
    return any(run.verdict == "passed" and run.covers(failed) for run in later)


def merge(digests: Iterable[Digest]) -> Digest:
    """Of several sessions, as if they were one: in the order in which things happened."""
    merged = Digest()
    for digest in digests:
        merged = replace(
            merged,
            runs=_merge_runs((*merged.runs, *digest.runs)),
            files=_merge_files((*merged.files, *digest.files)),
            said=_drop_superseded(_sort((*merged.said, *digest.said))),
            decided=_sort((*merged.decided, *digest.decided)),
            commits=_sort((*merged.commits, *digest.commits)),
        )
        if _is_newer(digest.tasks_source, merged.tasks_source):
            merged = replace(merged, tasks=digest.tasks, tasks_source=digest.tasks_source)
    return merged


def _is_newer(source: Source | None, other: Source | None) -> bool:
    """An agent writes a new list for new work: the one that was changed last counts."""
    return source is not None and (other is None or source.at >= other.at)


def _sort(seen: tuple[Seen, ...]) -> tuple[Seen, ...]:
    return tuple(sorted(seen, key=lambda each: each.source.at))


def _merge_runs(runs: tuple[SeenRun, ...]) -> tuple[SeenRun, ...]:
    merged: tuple[SeenRun, ...] = ()
    for run in _sort(runs):
        merged = _add_run(merged, run)
    return merged


def _merge_files(files: tuple[SeenFile, ...]) -> tuple[SeenFile, ...]:
    """Each once, where it was edited last."""
    newest = {file.path: file for file in _sort(files)}
    return _sort(tuple(newest.values()))


def fold(digest: Digest, events: Iterable[LoggedEvent], is_request: IsRequest) -> Digest:
    """The digest with what came after it; events that it has already seen change nothing."""
    for event in events:
        if event.sequence > digest.sequence:
            digest = replace(_take(digest, event, is_request), sequence=event.sequence)
    return replace(digest, said=_drop_superseded(digest.said))


def _take(digest: Digest, event: LoggedEvent, is_request: IsRequest) -> Digest:
    if event.type == "user_message":
        return _take_request(digest, event) if is_request(event) else digest
    if event.type == "tool_result":
        return _take_result(digest, event)
    if event.type == "system_event":
        return _take_note(digest, event)
    return digest


def _take_request(digest: Digest, event: LoggedEvent) -> Digest:
    source = _name_source(digest, event)
    found = tuple(SeenSaying(saying, source) for saying in quote_event(event))
    return replace(digest, turn=event.sequence, said=(*digest.said, *found)[-MOST_SAID:])


def _drop_superseded(said: tuple[SeenSaying, ...]) -> tuple[SeenSaying, ...]:
    kept = {(each.text, each.sequence) for each in drop_superseded([each.saying for each in said])}
    return tuple(each for each in said if (each.saying.text, each.saying.sequence) in kept)


def _take_note(digest: Digest, event: LoggedEvent) -> Digest:
    """That HEAD has moved: to a commit, or to another branch."""
    branch = find_branch(event)
    if branch is None:
        return digest
    digest = _take_commit(digest, event)
    return digest if branch == digest.branch else replace(_move_turn(digest, branch), branch=branch)


def _move_turn(digest: Digest, branch: str) -> Digest:
    """What this turn has shown is of the branch that it ended on: it was made or checked out by
    the turn, and nothing says when.
    """

    def move(seen: tuple[Seen, ...]) -> tuple[Seen, ...]:
        return tuple(
            replace(each, source=replace(each.source, branch=branch))
            if each.source.sequence >= digest.turn
            else each
            for each in seen
        )

    return replace(
        digest,
        runs=move(digest.runs),
        files=move(digest.files),
        said=move(digest.said),
        decided=move(digest.decided),
    )


def _take_commit(digest: Digest, event: LoggedEvent) -> Digest:
    """Once, however many events show it."""
    made = find_commit(event)
    if made is None or any(made.is_same(known.commit) for known in digest.commits):
        return digest
    commit = SeenCommit(made, _name_source(digest, event))
    return replace(digest, commits=(*digest.commits, commit)[-MOST_COMMITS:])


def _take_result(digest: Digest, event: LoggedEvent) -> Digest:
    source = _name_source(digest, event)
    tasks = apply_task_event(digest.tasks, event)
    if tasks is not digest.tasks:
        digest = replace(digest, tasks=tasks, tasks_source=source)
    decided = tuple(Decided(decision, source) for decision in find_decisions(event))
    digest = replace(digest, decided=(*digest.decided, *decided)[-MOST_DECIDED:])
    if not rules.is_refused(event):
        digest = replace(digest, files=_add_files(digest.files, event, source))
    command = parts.get_command(parts.get_input(event.parts))
    if not command or parts.get_agent(event.parts):
        return digest
    return _take_command(digest, command, event, source)


def _name_source(digest: Digest, event: LoggedEvent) -> Source:
    return Source(event.id, event.sequence, event.happened_at, digest.branch)


# --- files ----------------------------------------------------------------------------------------


def _add_files(
    files: tuple[SeenFile, ...], event: LoggedEvent, source: Source
) -> tuple[SeenFile, ...]:
    """The one that was edited last comes last."""
    edited = [file.path for file in turns.list_touched(event) if file.is_edit]
    paths = [path for path in edited if len(path) <= PATH_CHARS]
    if not paths:
        return files
    others = [file for file in files if file.path not in paths]
    return (*others, *(SeenFile(path, source) for path in paths))[-MOST_FILES:]


# --- runs -----------------------------------------------------------------------------------------


def _take_command(digest: Digest, command: str, event: LoggedEvent, source: Source) -> Digest:
    use = grading.describe_command(command)
    if use.kind == "commit":
        return _take_commit(digest, event)
    run = _see_run(command, use, event, source)
    return replace(digest, runs=_add_run(digest.runs, run))


def _add_run(runs: tuple[SeenRun, ...], run: SeenRun) -> tuple[SeenRun, ...]:
    """The newest run of each command counts; those that prove nothing leave first."""
    before = next((each for each in runs if each.command == run.command), None)
    if before is not None:
        count = before.count + run.count
        run = replace(run, count=count, passed=before.passed + run.passed)
    others = [each for each in runs if each is not before]
    if run.verdict == "passed":
        run = replace(run, instead_of=run.instead_of or _find_failed(others, run))
    kept = [*others, run]
    while len(kept) > MOST_RUNS:
        kept.remove(next((each for each in kept if not each.is_check), kept[0]))
    return tuple(kept)


def _find_failed(others: Iterable[SeenRun], run: SeenRun) -> str:
    failed = [each for each in others if each.verdict == "failed" and each.program == run.program]
    return failed[-1].command if failed and run.program else ""


def _see_run(command: str, use: CommandUse, event: LoggedEvent, source: Source) -> SeenRun:
    grade = grading.grade_command(command, event)
    is_passed = grade.verdict == "passed"
    return SeenRun(
        command=cut(parts.as_line(command), COMMAND_CHARS),
        program=use.program,
        scope=use.scope,
        folder=use.folder,
        verdict=grade.verdict,
        by=grade.by,
        because=grade.because,
        output=() if is_passed else _end_output(event),
        source=source,
        is_check=use.kind == "check",
        passed=int(is_passed),
    )


def _end_output(event: LoggedEvent) -> tuple[str, ...]:
    lines = reports.list_telling(grading.read_output(event), OUTPUT_LINES)
    return tuple(cut(line, OUTPUT_CHARS) for line in lines)


# --- as it is stored ------------------------------------------------------------------------------


def to_dict(digest: Digest) -> dict[str, Any]:
    return {"rules": RULES, **_make_plain(asdict(digest))}


def _make_plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return clock.to_text(value)
    if isinstance(value, dict):
        return {key: _make_plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_make_plain(item) for item in value]
    return value


def from_dict(value: Mapping[str, Any]) -> Digest:
    """An empty one where it was made by other rules, or emptied."""
    if value.get("rules") != RULES:
        return Digest()
    return Digest(
        sequence=value["sequence"],
        turn=value["turn"],
        branch=value["branch"],
        runs=tuple(_read_run(run) for run in value["runs"]),
        files=tuple(SeenFile(file["path"], _read_source(file)) for file in value["files"]),
        said=tuple(SeenSaying(_read_saying(each), _read_source(each)) for each in value["said"]),
        decided=tuple(
            Decided(_read_decision(each), _read_source(each)) for each in value["decided"]
        ),
        commits=tuple(
            SeenCommit(MadeCommit(**each["commit"]), _read_source(each))
            for each in value["commits"]
        ),
        tasks=_read_tasks(value["tasks"]),
        tasks_source=_read_source(value, "tasks_source") if value["tasks_source"] else None,
    )


def _read_source(value: Mapping[str, Any], name: str = "source") -> Source:
    source = value[name]
    return Source(**{**source, "at": clock.from_text(source["at"])})


def _read_run(value: Mapping[str, Any]) -> SeenRun:
    given = {"scope": tuple(value["scope"]), "output": tuple(value["output"])}
    return SeenRun(**{**value, **given, "source": _read_source(value)})


def _read_saying(value: Mapping[str, Any]) -> Saying:
    saying = value["saying"]
    amounts = tuple(Amount(**amount) for amount in saying["amounts"])
    return Saying(**{**saying, "amounts": amounts, "topics": tuple(saying["topics"])})


def _read_decision(value: Mapping[str, Any]) -> SeenDecision:
    decision = value["decision"]
    return SeenDecision(**{**decision, "happened_at": clock.from_text(decision["happened_at"])})


def _read_tasks(value: Mapping[str, Any]) -> TaskList:
    changed_at = value["changed_at"]
    tasks = tuple(Task(**task) for task in value["tasks"])
    at = clock.from_text(changed_at) if changed_at else None
    return TaskList(**{**value, "tasks": tasks, "changed_at": at})
