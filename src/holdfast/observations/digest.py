"""What a session has shown so far, folded from its events one after the other.

A digest is small, and knows up to which event it reaches: the next look costs no more than what
came since, however long the log is. It is derived. Where a rule changes, `RULES` does, and a digest
of other rules is made again from the log.

Pure: a digest and events in, a digest out. Every entry names the event that it was seen in.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime

from holdfast.ground import canonical, clock
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
    Observation: TypeAlias = "SeenRun | SeenFile | SeenCommand | SeenSaying | Decided | SeenCommit"
    AnySeen = TypeVar(
        "AnySeen", "SeenRun", "SeenFile", "SeenCommand", "SeenSaying", "Decided", "SeenCommit"
    )

RULES = 5  # one more where the same events would give another digest
MOST_RUNS, MOST_FILES, MOST_SAID, MOST_DECIDED, MOST_COMMITS = 30, 60, 60, 30, 30
MOST_COMMANDS, FILES_OF_COMMIT = 60, 20
COMMAND_CHARS, MOST_WORDS = 300, 40
NOT_STARTED = (126, 127)
# How a program of the checkout's own environment is started.
OWN_ENVIRONMENT = {("uv", "run"), ("poetry", "run"), ("pipenv", "run"), ("pdm", "run")}
OWN_FOLDERS = (".venv/bin", "./.venv/bin", "venv/bin", "./venv/bin")
FILTERS = ("tail", "head", "cat")  # which leave the end of a command unknown, and nothing out of it
OUTPUT_CHARS, OUTPUT_LINES = 300, 6
PATH_CHARS = 500
WORK = ("tool_call", "tool_result", "model_message")  # of a turn that goes on; notes may come later


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
    words: tuple[str, ...]  # of the whole line, in which anything may decide what is tried
    folder: str  # what lines before it changed to
    verdict: Verdict
    by: By
    because: str
    output: tuple[str, ...]  # the end of what it printed, of one that did not pass
    source: Source
    is_check: bool = False
    count: int = 1
    passed: int = 0
    passed_at: datetime | None = None  # when it passed last, whatever came of it since
    is_missing: bool = False  # the shell found no such program
    instead_of: str = ""  # the same program as it could not be started

    def is_same(self, other: SeenRun) -> bool:
        """The same line in the same folder on the same branch."""
        place = self.folder, self.source.branch
        return (self.words, *place) == (other.words, other.folder, other.source.branch)

    def covers(self, other: SeenRun) -> bool:
        """Whether its pass says that what failed there passes now: it tries no less.

        An argument that is new may narrow it, and one that is left out may have widened it, or
        have led elsewhere. Only pytest is known to try everything without a path.
        """
        if not self.program or (self.program, self.folder) != (other.program, other.folder):
            return False
        own, others = self._list_words(), other._list_words()
        new = [word for word in own if word not in others]
        left_out = [word for word in others if word not in own]
        if self.program == "pytest":
            left_out = [word for word in left_out if not grading.is_test_path(word)]
        return not any(grading.is_narrowing(word) for word in (*new, *left_out))

    def _list_words(self) -> list[str]:
        return _leave_out_start(_leave_out_filter(self.words), self.program)


@dataclass(frozen=True)
class SeenFile:
    """A file that was edited or read, by its path as the tool was given it."""

    path: str
    source: Source


@dataclass(frozen=True)
class SeenCommand:
    """A command in a shell, and the part of its turn that ended with it.

    The first one has what is before it, the last one also what is behind it.
    """

    since: datetime
    until: datetime
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
    """Its files are None until git was asked; of many only the first."""

    commit: MadeCommit
    source: Source
    files: tuple[str, ...] | None = None

    @property
    def has_all_files(self) -> bool:
        return self.files is not None and len(self.files) < FILES_OF_COMMIT


@dataclass(frozen=True)
class Digest:
    """What was seen up to an event; of each kind the newest, in the order of the log."""

    sequence: int = 0
    turn: int = 0  # the event with which the last turn began
    turn_at: datetime | None = None  # and when that was
    is_taken_back: bool = False  # that turn
    branch: str = ""
    folder: str = ""  # that a command changed to
    runs: tuple[SeenRun, ...] = ()
    files: tuple[SeenFile, ...] = ()  # that were edited
    read: tuple[SeenFile, ...] = ()
    commands: tuple[SeenCommand, ...] = ()
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

    def find_unclear(self) -> SeenRun | None:
        """The last check, where nothing says how it ended."""
        last = next((run for run in reversed(self.runs) if run.is_check), None)
        return last if last and last.verdict == "unknown" else None


def _is_cured(failed: SeenRun, runs: Sequence[SeenRun]) -> bool:
    """What could not even be started says nothing once another check has passed.

    A pass counts, even if the same check has failed since: that failure is one of its own.
    """
    later = runs[runs.index(failed) + 1 :]
    passed = [run for run in later if run.verdict == "passed" or _has_passed_since(run, failed)]
    return any(failed.is_missing or run.covers(failed) for run in passed)


def _has_passed_since(run: SeenRun, failed: SeenRun) -> bool:
    return run.passed_at is not None and run.passed_at > failed.source.at


def _leave_out_filter(words: tuple[str, ...]) -> list[str]:
    """A line without what only shortens its output at its end."""
    kept = [word for word in words if word != "2>&1"]
    if len(kept) > 2 and "|" in kept[:-1] and kept[kept.index("|") + 1] in FILTERS:
        return kept[: kept.index("|")]
    return kept


def _leave_out_start(words: Sequence[str], program: str) -> list[str]:
    """A line from its program on, where what is before it means the checkout's own environment.

    Another folder, or a version, may be another one, and stays.
    """
    left = list(words)
    if tuple(left[:2]) in OWN_ENVIRONMENT:
        left = left[2:]
    folder, slash, name = left[0].rpartition("/") if left else ("", "", "")
    if slash and folder in OWN_FOLDERS:
        left[0] = name
    is_module = left[:1] in (["python"], ["python3"]) and left[1:3] == ["-m", program]
    if is_module:
        left = left[2:]
    return left if left[:1] == [program] else list(words)


def merge(digests: Iterable[Digest]) -> Digest:
    """Of several sessions, as if they were one: in the order in which things happened."""
    merged = Digest()
    for digest in digests:
        merged = replace(
            merged,
            runs=_merge_runs((*merged.runs, *digest.runs)),
            files=_merge_files((*merged.files, *digest.files)),
            commands=_sort((*merged.commands, *digest.commands)),
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


def _sort(seen: tuple[AnySeen, ...]) -> tuple[AnySeen, ...]:
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


def fold(
    digest: Digest,
    events: Iterable[LoggedEvent],
    is_request: IsRequest,
    rewound: Collection[str] = (),
) -> Digest:
    """The digest with what came after it; events that it has already seen change nothing.

    `rewound`: the requests that the person took back, with everything up to the next one.
    """
    for event in events:
        if event.sequence > digest.sequence:
            digest = replace(_take(digest, event, is_request, rewound), sequence=event.sequence)
    return replace(digest, said=_drop_superseded(digest.said))


def skip(digest: Digest, sequence: int) -> Digest:
    """Beyond what is too much to read: what became of runs and todos there is not known."""
    if sequence <= digest.sequence:
        return digest
    return replace(
        digest,
        sequence=sequence,
        turn=sequence + 1,
        turn_at=None,
        is_taken_back=False,
        folder="",
        runs=(),
        commands=(),
        tasks=NO_TASKS,
        tasks_source=None,
    )


def _take(
    digest: Digest, event: LoggedEvent, is_request: IsRequest, rewound: Collection[str]
) -> Digest:
    if event.type == "user_message" and is_request(event):
        digest = replace(
            digest,
            turn=event.sequence,
            turn_at=event.happened_at,
            is_taken_back=event.id in rewound,
            runs=_merge_runs(digest.runs),
        )
        return digest if digest.is_taken_back else _take_request(digest, event)
    if event.type == "system_event":
        return _take_note(digest, event)
    if event.type == "tool_result" and not digest.is_taken_back:
        digest = _take_result(digest, event)
    return _go_on(digest, event.happened_at) if event.type in WORK else digest


def _take_request(digest: Digest, event: LoggedEvent) -> Digest:
    source = _name_source(digest, event)
    found = tuple(SeenSaying(saying, source) for saying in quote_event(event))
    return replace(digest, said=(*digest.said, *found)[-MOST_SAID:])


def _drop_superseded(said: tuple[SeenSaying, ...]) -> tuple[SeenSaying, ...]:
    kept = {(each.text, each.sequence) for each in drop_superseded([each.saying for each in said])}
    return tuple(each for each in said if (each.saying.text, each.saying.sequence) in kept)


def _take_note(digest: Digest, event: LoggedEvent) -> Digest:
    """That HEAD has moved, to a commit or to another branch; or that something cannot be read."""
    if parts.LEFT_OUT in (event.parts or {}):
        return replace(digest, runs=tuple(map(_doubt, digest.runs)))
    branch = find_branch(event)
    if branch is None:
        return digest
    digest = _take_commit(digest, event)
    return digest if branch == digest.branch else replace(_move_turn(digest, branch), branch=branch)


def _doubt(run: SeenRun) -> SeenRun:
    """What passed may have failed in what cannot be read."""
    if run.verdict != "passed":
        return replace(run, passed_at=None)
    because = "what came after it cannot be read"
    return replace(run, verdict="unknown", because=because, passed=0, passed_at=None)


def _move_turn(digest: Digest, branch: str) -> Digest:
    """What this turn has shown is of the branch that it ended on: it was made or checked out by
    the turn, and nothing says when.
    """

    def move(seen: tuple[AnySeen, ...]) -> tuple[AnySeen, ...]:
        return tuple(
            replace(each, source=_move_source(each.source, digest.turn, branch)) for each in seen
        )

    return replace(
        digest,
        runs=move(digest.runs),
        files=move(digest.files),
        read=move(digest.read),
        commands=move(digest.commands),
        said=move(digest.said),
        decided=move(digest.decided),
        commits=move(digest.commits),
        tasks_source=digest.tasks_source and _move_source(digest.tasks_source, digest.turn, branch),
    )


def _move_source(source: Source, turn: int, branch: str) -> Source:
    return replace(source, branch=branch) if source.sequence >= turn else source


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
        digest = _take_files(digest, event, source)
    command = parts.get_command(parts.get_input(event.parts))
    if command and not rules.is_denied(event):
        digest = _take_shell(digest, source)
    if not command or parts.get_agent(event.parts):
        return digest
    return _take_command(digest, command, event, source)


def _name_source(digest: Digest, event: LoggedEvent) -> Source:
    return Source(event.id, event.sequence, event.happened_at, digest.branch)


# --- files ----------------------------------------------------------------------------------------


def _take_files(digest: Digest, event: LoggedEvent, source: Source) -> Digest:
    touched = [file for file in turns.list_touched(event) if len(file.path) <= PATH_CHARS]
    if not touched:
        return digest
    edited = [file.path for file in touched if file.is_edit]
    read = [file.path for file in touched if not file.is_edit]
    return replace(
        digest,
        files=_add_files(digest.files, edited, source),
        read=_add_files(digest.read, read, source),
    )


def _add_files(
    files: tuple[SeenFile, ...], paths: Sequence[str], source: Source
) -> tuple[SeenFile, ...]:
    """The one that was touched last comes last."""
    others = [file for file in files if file.path not in paths]
    return (*others, *(SeenFile(path, source) for path in paths))[-MOST_FILES:]


def _take_shell(digest: Digest, source: Source) -> Digest:
    """From what came before it in the turn, or from the request; a clock may have been set back."""
    before = _find_last_command(digest)
    since = before.until if before else digest.turn_at or source.at
    command = SeenCommand(min(since, source.at), source.at, source)
    return replace(digest, commands=(*digest.commands, command)[-MOST_COMMANDS:])


def _go_on(digest: Digest, at: datetime) -> Digest:
    """What a command has started may go on until its turn ends."""
    last = _find_last_command(digest)
    if last is None or at <= last.until:
        return digest
    return replace(digest, commands=(*digest.commands[:-1], replace(last, until=at)))


def _find_last_command(digest: Digest) -> SeenCommand | None:
    """In the turn that goes on."""
    last = digest.commands[-1] if digest.commands else None
    return last if last and last.source.sequence >= digest.turn else None


def list_unread_commits(digest: Digest) -> list[str]:
    return [made.commit.id for made in digest.commits if made.files is None]


def add_commit_files(digest: Digest, found: Mapping[str, Sequence[str]]) -> Digest:
    """What git has said about commits, by their whole ids; one that is not here has no files.

    A name that cannot be written on a line is left out.
    """

    def read(made: SeenCommit) -> SeenCommit:
        whole = [commit for commit in found if commit.startswith(made.commit.id)]
        files = found[whole[0]] if len(whole) == 1 else ()
        shown = [path for path in files if path.isprintable() and len(path) <= PATH_CHARS]
        return replace(made, files=tuple(shown[:FILES_OF_COMMIT]))

    commits = tuple(made if made.files is not None else read(made) for made in digest.commits)
    return replace(digest, commits=commits)


# --- runs -----------------------------------------------------------------------------------------


def _take_command(digest: Digest, command: str, event: LoggedEvent, source: Source) -> Digest:
    """What was denied was not run. A client may stay in the folder that a line changes to."""
    use = grading.describe_command(command)
    if use.kind == "commit":
        digest = _take_commit(digest, event)
    elif not rules.is_denied(event):
        run = _see_run(use.folder or digest.folder, command, use, event, source)
        digest = replace(digest, runs=_add_run(digest.runs, run, digest.turn))
    return replace(digest, folder=use.folder) if use.folder else digest


def _add_run(runs: tuple[SeenRun, ...], run: SeenRun, since: int = 0) -> tuple[SeenRun, ...]:
    """The newest run of each command counts, but for one of which nothing is known.

    Of a turn that has not ended only its own, because it may turn out to be of another branch.
    Those that prove nothing leave first, and those that failed last.
    """
    known = [each for each in runs if each.source.sequence >= since]
    before = next((each for each in known if each.is_same(run)), None)
    if before is not None:
        count = before.count + run.count
        is_known_better = run.verdict == "unknown" and before.verdict == "failed"
        is_later = before.source.at > run.source.at  # a hook may be faster than a transcript
        newest = before if is_known_better or is_later else run
        passed_at = max(filter(None, (before.passed_at, run.passed_at)), default=None)
        passed = before.passed + run.passed
        run = replace(newest, count=count, passed=passed, passed_at=passed_at)
    others = [each for each in runs if each is not before]
    if run.verdict == "passed":
        run = replace(run, instead_of=run.instead_of or _find_missing(others, run))
    kept = sorted([*others, run], key=lambda each: each.source.at)
    while len(kept) > MOST_RUNS:
        kept.remove(min(kept, key=_rank_run))
    return tuple(kept)


def _rank_run(run: SeenRun) -> tuple[bool, bool]:
    """Of those with the same rank the oldest comes first."""
    return run.is_check, run.verdict == "failed"


def _find_missing(others: Iterable[SeenRun], run: SeenRun) -> str:
    """The same program as it could not even be started."""
    failed = [each for each in others if each.program == run.program and each.is_missing]
    return failed[-1].command if failed and run.program else ""


def _see_run(
    folder: str, command: str, use: CommandUse, event: LoggedEvent, source: Source
) -> SeenRun:
    grade = grading.grade_command(command, event)
    printed = grading.read_output(event)
    is_passed = grade.verdict == "passed"
    return SeenRun(
        command=cut(parts.as_line(command), COMMAND_CHARS),
        program=use.program,
        words=_list_words(command),
        folder=folder,
        verdict=grade.verdict,
        by=grade.by,
        because=grade.because,
        output=() if is_passed else _end_output(printed),
        source=source,
        is_check=use.kind == "check",
        passed=int(is_passed),
        passed_at=source.at if is_passed else None,
        is_missing=grade.code in NOT_STARTED or reports.names_unknown(printed),
    )


def _list_words(command: str) -> tuple[str, ...]:
    """Of a long line its hash: no part of it may stand for the whole."""
    words = command.split()
    if len(words) > MOST_WORDS or len(command) > COMMAND_CHARS:
        return (canonical.sha256(command.encode("utf-8", "replace")).hex(),)
    return tuple(words)


def _end_output(printed: str) -> tuple[str, ...]:
    lines = reports.list_telling(printed, OUTPUT_LINES)
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
        turn_at=clock.from_text(value["turn_at"]) if value["turn_at"] else None,
        is_taken_back=value["is_taken_back"],
        branch=value["branch"],
        folder=value["folder"],
        runs=tuple(_read_run(run) for run in value["runs"]),
        files=tuple(SeenFile(file["path"], _read_source(file)) for file in value["files"]),
        read=tuple(SeenFile(file["path"], _read_source(file)) for file in value["read"]),
        commands=tuple(_read_command(command) for command in value["commands"]),
        said=tuple(SeenSaying(_read_saying(each), _read_source(each)) for each in value["said"]),
        decided=tuple(
            Decided(_read_decision(each), _read_source(each)) for each in value["decided"]
        ),
        commits=tuple(_read_commit(each) for each in value["commits"]),
        tasks=_read_tasks(value["tasks"]),
        tasks_source=_read_source(value, "tasks_source") if value["tasks_source"] else None,
    )


def _read_source(value: Mapping[str, Any], name: str = "source") -> Source:
    source = value[name]
    return Source(**{**source, "at": clock.from_text(source["at"])})


def _read_command(value: Mapping[str, Any]) -> SeenCommand:
    since, until = clock.from_text(value["since"]), clock.from_text(value["until"])
    return SeenCommand(since, until, _read_source(value))


def _read_commit(value: Mapping[str, Any]) -> SeenCommit:
    files = value["files"]
    known = None if files is None else tuple(files)
    return SeenCommit(MadeCommit(**value["commit"]), _read_source(value), known)


def _read_run(value: Mapping[str, Any]) -> SeenRun:
    passed_at = value["passed_at"]
    given = {
        "words": tuple(value["words"]),
        "output": tuple(value["output"]),
        "passed_at": clock.from_text(passed_at) if passed_at else None,
    }
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
