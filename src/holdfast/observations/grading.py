"""How a command ended, as far as its log proves it. A grade is never too good.

Three things are asked. What does the client say: an exit code, an error, that it was stopped? Whose
exit code is it: with `pytest | tail` it is tail's? And what does the output say: a runner that
reports failures has failed, whatever the code. Only a code of the program that counts makes a pass;
an output alone never does, because any program can print any line.
"""

from __future__ import annotations

import re

from holdfast.ground.frozen import dataclass
from holdfast.ground.patterns import compile_later
from holdfast.ground.text import cut
from holdfast.observations import parts, programs, proving, reports, rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Literal

    from holdfast.observations.model import Answered, Verdict
    from holdfast.observations.programs import Kind
    from holdfast.observations.proving import Line

    By = Literal["exit", "reported", "unknown"]

CODE_KEYS = ("exit_code", "exitCode", "returncode", "return_code", "exit_status")
LOOSE_CODE_KEYS = (*CODE_KEYS, "code", "exit")  # only where a client wrote them
FLAG_KEYS = ("is_error", "isError", "error", "failed")
STOPPED_KEYS = ("interrupted", "backgroundTaskId", "timedOutAfterMs", "run_in_background")
RESULT_KEYS = ("result", "output", "response", "metadata")
# What the object has that a tool answers with; another one was printed by a program.
ANSWER_KEYS = frozenset(
    {
        *("stdout", "stderr", "output", "result", "response", "metadata", "title", "status"),
        *("interrupted", "isImage", "noOutputExpected", "returnCodeInterpretation", "truncated"),
        *("backgroundTaskId", "timedOutAfterMs", "is_error", "isError", "error", "duration_ms"),
    }
)
NO_FLAG: tuple[Any, ...] = (None, False, "", 0, [], {})
EDGE_LINES = 4
SHOWN_CHARS = 100
SUBJECT_CHARS = 200
TIMED_OUT, NO_TESTS = 124, 5
STOPPING_CODES = (TIMED_OUT, 130, 137, 143)
XARGS_FAILED = 123
COMMIT = "git commit"
# In the parts of a result of which something was left out: what all of it was graded as.
GRADED = "graded"
VERDICTS, WAYS = ("passed", "failed", "unknown"), ("exit", "reported", "unknown")
# Arguments of checks that say how much is printed, or when to stop.
HARMLESS = frozenset(
    {"-q", "-qq", "-v", "-vv", "-s", "-x", "--quiet", "--verbose", "--maxfail=1", "-ra", "--bail"}
    | {"python", "python3", "-m"}
)
TEST_FOLDERS = ("test", "tests")

_EXIT = compile_later(
    r"^\W*(?:process )?(?:exit(?:ed)?(?: with)?)[ _-]?(?:code|status):? *(-?\d{1,3})\b",
    re.IGNORECASE,
)
_COMMITTED = compile_later(
    r"^\[(?P<branch>[^\]\n]{1,200}?)(?: \(root-commit\))? (?P<id>[0-9a-f]{7,64})\] (?P<subject>.*)",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Grade:
    verdict: Verdict
    by: By
    because: str
    code: int | None = None


@dataclass(frozen=True)
class CommandUse:
    """What a command is for: the program that counts, and what it does; of several the last one.
    Of a commit what git printed of it, which is nothing with `-q`.
    """

    kind: Kind
    program: str = ""
    folder: str = ""  # the ones that the line changes to
    commit_id: str = ""
    subject: str = ""


@dataclass(frozen=True)
class _Outcome:
    """What the client says, and what was printed."""

    code: int | None
    is_error: bool
    is_stopped: bool
    is_denied: bool
    output: str


def grade_command(command: str, result: Answered) -> Grade:
    """Whether it worked, and how that is known."""
    noted = _find_noted(result)
    if noted is not None:
        return noted
    outcome = _read_outcome(result)
    if outcome.is_denied:
        return Grade("unknown", "unknown", "it was not run")
    line = proving.read_line(command)
    failure = _find_failure(line, outcome)
    if outcome.code is None:
        return _grade_without_code(outcome, failure)
    if outcome.code != 0:
        return _grade_failure(line, outcome.code, failure)
    return _grade_zero(line, outcome, failure)


def note_grade(command: str, result: Answered) -> dict[str, Any]:
    """The grade of a result before something is left out of it; without words of its output."""
    grade = grade_command(command, result)
    return {GRADED: {"verdict": grade.verdict, "by": grade.by, "code": grade.code}}


def _find_noted(result: Answered) -> Grade | None:
    noted = parts.find_value(result.parts, [GRADED])
    verdict, by = parts.find_value(noted, ["verdict"]), parts.find_value(noted, ["by"])
    if verdict not in VERDICTS or by not in WAYS:
        return None
    code = _find_code([noted], ["code"])
    because = "not all of its output is kept"
    if code is not None:
        because = f"exit {code}, {because}"
    return Grade(verdict, by, because, code)


# --- what the client says -------------------------------------------------------------------------


def _read_outcome(result: Answered) -> _Outcome:
    answer = parts.parse_object(result.content)
    own = result.parts
    inner = parts.find_value(own, RESULT_KEYS)
    given = parts.get_input(own)
    metadata = parts.find_value(answer, ["metadata"])
    code = _find_code([own, inner, metadata], LOOSE_CODE_KEYS)
    if code is None and _is_answer(answer):
        code = _find_code([answer], CODE_KEYS)
    is_error = _has_flag([own, inner, answer if _is_answer(answer) else None], FLAG_KEYS)
    output = _find_output(result.content, answer)
    if code is None:
        code = _find_code_in_text(output)
    return _Outcome(
        code=code,
        is_error=is_error,
        is_stopped=_has_flag([own, answer, given], STOPPED_KEYS),
        is_denied=rules.is_denied(result),
        output=reports.clean_output(output),
    )


def _is_answer(answer: object) -> bool:
    """Whether an object is of the tool: it says nothing but how a command ended."""
    if not isinstance(answer, dict):
        return False
    return all(key in ANSWER_KEYS or key in CODE_KEYS for key in answer)


def _find_code(places: Sequence[object], keys: Sequence[str]) -> int | None:
    for place in places:
        code = parts.find_value(place, keys)
        if isinstance(code, int) and not isinstance(code, bool):
            return code
    return None


def _has_flag(places: Sequence[object], keys: Sequence[str]) -> bool:
    flags = [parts.find_value(place, (key,)) for place in places for key in keys]
    return any(flag not in NO_FLAG for flag in flags)


def _find_output(content: str, answer: object) -> str:
    printed = parts.find_printed(content)
    if printed is not None:
        return printed
    texts = [text for text in parts.list_texts(answer) if text]
    return "\n".join(texts) or content


def _find_code_in_text(text: str) -> int | None:
    """On a line of its own near the beginning or the end, where clients write it; never 0, which
    any program can print.
    """
    head, tail = text[: reports.HEAD_CHARS], text[-reports.HEAD_CHARS :]
    lines = [*head.strip().split("\n")[:EDGE_LINES], *tail.strip().split("\n")[-EDGE_LINES:]]
    for line in lines:
        found = _EXIT.match(line.strip()[: reports.LINE_CHARS])
        if found and int(found[1]) != 0:
            return int(found[1])
    return None


# --- what it means --------------------------------------------------------------------------------


def _grade_without_code(outcome: _Outcome, failure: str) -> Grade:
    if failure:
        return _report(failure, None)
    if outcome.is_error:
        return Grade("failed", "reported", "the client reported an error")
    if outcome.is_stopped:
        return Grade("unknown", "unknown", "it was stopped, or goes on in the background")
    return Grade("unknown", "unknown", "no exit code is in the log")


def _grade_failure(line: Line | None, code: int, failure: str) -> Grade:
    if failure:
        by: By = "exit" if line and _is_source(line) else "reported"
        return Grade("failed", by, f"exit {code}", code)
    if line is None:
        return Grade("failed", "exit", f"exit {code}", code)
    doubt = _find_doubt(line, code)
    if doubt:
        return Grade("unknown", "unknown", f"exit {code}, {doubt}", code)
    return Grade("failed", "exit" if _is_source(line) else "reported", f"exit {code}", code)


def _is_source(line: Line) -> bool:
    return any(place in line.sources for place in line.list_counting())


def _find_doubt(line: Line, code: int) -> str:
    """Why a code that is not 0 may be no failure."""
    if proving.NEGATED in line.sources:
        return "which `!` has turned round"
    calls = [line.calls[place] for place in line.sources]
    if code in (1, XARGS_FAILED) and any(programs.may_answer(call) for call in calls):
        return "which may be an answer, not a failure"
    if code in STOPPING_CODES and any(programs.is_watching(call) for call in calls):
        return "by which it was stopped"
    if code == NO_TESTS and any(call.name == "pytest" for call in calls):
        return "with which pytest says that it found no tests"
    return ""


def _grade_zero(line: Line | None, outcome: _Outcome, failure: str) -> Grade:
    if line is None:
        return Grade("unknown", "unknown", "exit 0, but the line is not understood", 0)
    if failure and _may_be_cured(line, outcome):
        return Grade("unknown", "unknown", "exit 0, but one attempt reported failures", 0)
    if failure:
        return _report(failure, 0)
    gap = _find_gap(line, outcome)
    if gap:
        return Grade("unknown", "unknown", f"exit 0, {gap}", 0)
    return Grade("passed", "exit", "exit 0", 0)


def _find_gap(line: Line, outcome: _Outcome) -> str:
    """Why 0 does not prove that what counts has passed."""
    counting = line.list_counting()
    calls = [line.calls[place] for place in counting]
    if not counting:
        return "but no program is named"
    if outcome.is_stopped or outcome.is_error:
        return "but the client reported that it was stopped"
    if any(place not in line.proven for place in counting):
        return "but not of every program in the line"
    if any(programs.is_watching(call) for call in calls):
        return "but it runs until it is stopped"
    if any(programs.is_cmdlet(call) for call in calls):
        return "but a cmdlet sets no exit code"
    if any(programs.is_idle(call) for call in calls):
        return "but it was asked to prove nothing"
    return _find_reported_gap(line, outcome.output)


def _find_reported_gap(line: Line, output: str) -> str:
    """A program that is not known may have started a runner, and looked at nothing that it said."""
    if all(programs.is_reader(line.calls[place]) for place in line.list_counting()):
        return ""
    failure = reports.find_failure(output)
    if failure:
        return f"but its output says: {cut(failure, SHOWN_CHARS)}"
    nothing = reports.find_nothing(output)
    return f"but nothing was tried: {cut(nothing, SHOWN_CHARS)}" if nothing else ""


def _has_check(line: Line) -> bool:
    return any(programs.is_check(call) for call in line.calls)


def _may_be_cured(line: Line, outcome: _Outcome) -> bool:
    """Whether the same program was tried again after it failed, and reports no failure at last."""
    names = [programs.name_call(line.calls[place]) for place in line.list_counting()]
    is_repeated = line.has_blocks or len(set(names)) < len(names)
    return is_repeated and reports.ends_well(outcome.output)


def _find_failure(line: Line | None, outcome: _Outcome) -> str:
    """What a runner reports; other programs print what others have reported."""
    is_runner = line is not None and (_has_check(line) or any(map(programs.is_cmdlet, line.calls)))
    if not is_runner:
        return ""
    failure = reports.find_failure(outcome.output)
    if failure:
        return failure
    printed = reports.find_printed_code(outcome.output)
    is_shown = outcome.code == 0 and printed not in (None, 0)
    return f"exit {printed} is printed" if is_shown else ""


def _report(failure: str, code: int | None) -> Grade:
    return Grade("failed", "reported", f"its output says: {cut(failure, SHOWN_CHARS)}", code)


# --- what it is for -------------------------------------------------------------------------------


def describe_command(command: str, output: str = "") -> CommandUse:
    """A check where it proves something, a commit where git makes one, else another command."""
    line = proving.read_line(command)
    if line is None:
        return CommandUse("other")
    if any(_is_commit(call) for call in line.calls):
        return _describe_commit(output)
    counting = [line.calls[place] for place in line.list_counting()]
    checks = [call for call in counting if programs.is_check(call)]
    proves = [call for call in checks if not programs.is_idle(call)]
    last = next(reversed(checks or counting), None)
    folders = [word for call in line.calls if call.name == "cd" for word in call.arguments]
    return CommandUse(
        "check" if proves else "other",
        program=programs.name_call(last) if last else "",
        folder="/".join(folders),
    )


def _describe_commit(output: str) -> CommandUse:
    found = _COMMITTED.search(reports.clean_output(output))
    if found is None:
        return CommandUse("commit", COMMIT)
    subject = cut(found["subject"].strip(), SUBJECT_CHARS)
    return CommandUse("commit", COMMIT, commit_id=found["id"], subject=subject)


def _is_commit(call: programs.Call) -> bool:
    is_made = "--dry-run" not in call.arguments
    return is_made and programs.name_call(call) == COMMIT


def is_narrowing(word: str) -> bool:
    """Whether a word of a line may decide what is tried; where it is left out, too."""
    return word not in HARMLESS and not word.startswith(("--tb=", "--color=", "--colour="))


def is_test_path(word: str) -> bool:
    """Whether it names a part of the tests, as pytest takes it."""
    return not word.startswith("-") and (".py" in word or word.partition("/")[0] in TEST_FOLDERS)


def read_output(result: Answered) -> str:
    """What a command has printed, cleaned."""
    return _read_outcome(result).output
