"""What the output of a test runner, a compiler or a linter says about how it ended.

Used only to make a grade worse: that tests failed, or that there were none. What looks like success
proves nothing, because any program can print it. Only the beginning and the end of an output are
looked at, and every pattern is anchored to a line, so that the cost does not grow with it.
"""

from __future__ import annotations

import re

from holdfast.ground.patterns import compile_later

HEAD_CHARS = 4_000
TAIL_CHARS = 16_000
LINE_CHARS = 400
LEAD = "(?:Output: )?"  # some clients write so before the first line

FAILURES = (
    # pytest, also with -q; unittest
    r"[= ]*(?:\d+ [a-z]+, ){0,6}[1-9]\d* (?:failed|errors?)(?:,| in |$)",
    r"(?:FAILED|ERROR) \S+\.py(?:::| |$)",
    r"!+ (?:Interrupted|_pytest)",
    r"FAILED \((?:failures|errors|unexpected)",
    # jest, vitest, mocha, node, bun, playwright, deno
    r" *Test(?:s| Suites| Files)?:? .{0,80}\b[1-9]\d* failed\b",
    r" *[1-9]\d* (?:failing|failed|fail)$",
    r" *[1-9]\d* failing \(",
    r" *FAIL +\S",
    r"(?:#|ℹ) fail [1-9]",
    r"not ok \d+(?!.{0,200}# (?:TODO|SKIP))",
    r"FAILED \| \d+ passed",
    # go, cargo
    r" *--- FAIL: ",
    r"FAIL(?:\t|$)",
    r"test result: FAILED",
    r"error(?:\[E\d+\])?: (?:test failed|could not compile|aborting due to)",
    r" *Summary .{0,80}\b[1-9]\d* failed\b",
    # rspec, minitest, ExUnit, XCTest
    r"\d+ (?:examples?|tests?|doctests?|runs?)\b.{0,80}\b[1-9]\d* (?:failures?|errors?)\b",
    r".{0,80}\bExecuted \d+ tests?, with [1-9]\d* failures?",
    r"\*\* (?:TEST|BUILD) FAILED \*\*",
    # Maven, Gradle, sbt
    r".{0,40}Tests run: \d+, Failures: (?:[1-9]|0, Errors: [1-9])",
    r".{0,40}BUILD (?:FAILURE|FAILED)",
    r"\d+ tests? completed, [1-9]\d* failed",
    r"> Task \S+ FAILED$",
    r"(?:\[info\] )?\*\*\* [1-9]\d* (?:TESTS? )?FAILED",
    r"\[error\] (?:Failed|Error):? ",
    # PHPUnit, .NET, CTest, prove
    r"(?:FAILURES|ERRORS)!$",
    r"Tests: \d+, Assertions: \d+.{0,80}\b(?:Failures|Errors): [1-9]",
    r" *Failed! +- Failed:",
    r" *Failed: +[1-9]",
    r"Build FAILED",
    r".{0,300}: error (?:CS|MSB|FS|BC)\d+:",
    r"\d+% tests passed, [1-9]\d* tests? failed",
    r"The following tests FAILED:",
    r"Result: FAIL$",
    # tsc, eslint, mypy, ruff, pylint, black, prettier, compilers
    r".{0,300}\berror TS\d+:",
    r"Found [1-9]\d* errors?(?!.{0,80}\b0 remaining)",
    r" *✖ \d+ problems? \([1-9]\d* error",
    r"\d+ files? would be reformatted",
    r"(?:\[warn\] )?Code style issues (?:were )?found",
    r"\S+:\d+(?::\d+)?: (?:fatal )?error: ",
    # make, npm and its like, pre-commit, coverage, tox, bazel
    r"g?make(?:\[\d+\])?: \*\*\* ",
    r"g?make(?:\[\d+\])?: \[.{0,200}\] Error \d+ \(ignored\)",
    r"npm (?:ERR!|error) (?:code|errno|Lifecycle)\b",
    r".{0,80}(?:ELIFECYCLE|Command failed with exit code [1-9])",
    r".{1,200}\.{3,}Failed$",
    r"(?:FAIL|ERROR):? (?:Required test coverage|Coverage failure)",
    r"(?:ERROR|FAILED): Build (?:failed|did NOT complete)",
    r" *//\S+ +FAILED\b",
    r".{0,200}\b[1-9]\d* (?:tests? )?fails? locally\b",
    r"Tests Passed: \d+, Failed: [1-9]",
    r" *evaluation failed :\(",
    r"\[ FAIL [1-9]",
    r"\d+ success(?:es)? / [1-9]\d* failures?",
    r"(?:error: )?Some tests failed\.",
    r" *[✗✘×] .{0,40}\b[1-9]\d* tests? failed\b",
    r".{0,80}(?<![\d.])[1-9]\d* (?:tests?|suites?|specs?|checks?|cases?) failed\b",
    r" *[✗✘×✖] [1-9]\d* (?:problems?|errors?|failures?)$",
    r"Failed: +\S+#\S+",
    r"\S+:\d+:\d+: [EF]\d{4}: ",
)
NOTHING = (
    r".{0,80}\b(?:no tests? (?:ran|collected|found)|no tests were (?:found|run))\b",
    r".{0,80}\bno (?:test|tests|spec|specs|test suite|examples?) (?:files? )?(?:found|executed)\b",
    r"collected 0 items",
    r"[= ]*\d+ (?:deselected|skipped)(?:, \d+ (?:deselected|skipped|warnings?))* in ",
    r".{0,200}\[no (?:test files|tests to run)\]",
    r"testing: warning: no tests to run",
    r"running 0 tests$",
    r"Ran 0 tests",
    r"NO TESTS RAN",
    r" *0 (?:passing|pass|examples?|tests?)\b",
    r".{0,80}No test (?:is available|matches|suites? found)",
    r".{0,40}(?:No tests to run|Tests are skipped)",
    r"> Task \S*test\S* (?:NO-SOURCE|SKIPPED)$",
    r".{0,80}\bExecuted 0 tests",
    r"There are no tests to run",
    r"No tasks were run",
    r"Tests: +\d+ (?:skipped|todo), \d+ total",
    r"g?make(?:\[\d+\])?: .{0,40}\b(?:test|tests|check|lint)\b.{0,3} is up to date\.",
    r"g?make(?:\[\d+\])?: Nothing to be done for .{0,40}(?:test|check|lint)",
    r"(?:warning: )?No Python files (?:found|are present)",
    r"Total Tests: 0$",
    r"\[ FAIL 0 \| WARN \d+ \| SKIP \d+ \| PASS 0 \]",
    r"(?:#|ℹ) tests 0$",
    r"1\.\.0(?: |$)",
    r"Executed 0 out of 0 tests",
    r"(?:nox > )?Session \S+ (?:was )?skipped",
    r" *[\w.-]+: SKIP\b",
    r".{1,200}\(no files to check\)Skipped$",
    r"(?:\S+: )?(?:line \d+: )?[\w.-]+: (?:command )?not found$",
)
SOME = (
    r".{0,80}\b[1-9]\d* (?:passed|passing|pass)\b",
    r"ok +\t?\S+\s+(?:[\d.]+s|\(cached\))$",
    r"Ran [1-9]\d* tests?",
    r"[1-9]\d* examples?,",
    r".{0,40}Tests run: [1-9]",
    r"100% tests passed",
    r"Success: no issues found",
)

_CONTROL = compile_later(
    r"\x1b(?:\[[0-9;:?]{0,30}[A-Za-z]|\][^\x07\x1b]{0,200}(?:\x07|\x1b\\)|[@-Z])"
)
_FAILURE = compile_later(rf"^{LEAD}(?:{'|'.join(FAILURES)})", re.MULTILINE)
_NOTHING = compile_later(rf"^{LEAD}(?:{'|'.join(NOTHING)})", re.MULTILINE | re.IGNORECASE)
_SOME = compile_later(rf"^{LEAD}(?:{'|'.join(SOME)})", re.MULTILINE)
# Every one of those that unittest ran was skipped.
_SKIPPED = compile_later(r"^Ran (\d+) tests? in .{0,40}\n\s*OK \(skipped=\1\)$", re.MULTILINE)
# What a client writes around an output, and no command has printed.
_FRAME = compile_later(
    r"^(?:</?untrusted_context>|Exit Code: -?\d{1,3}|Process Group PGID: \d+)$|^Output: ",
    re.MULTILINE,
)
# That there is nothing of that name to run.
_UNKNOWN = compile_later(
    r"^(?:g?make(?:\[\d+\])?: \*\*\* No rule to make target|npm (?:ERR!|error) Missing script:)",
    re.MULTILINE,
)
# What went wrong, in the words of pytest, of unittest and of an exception.
_MESSAGE = compile_later(
    r"^(?:E {2,}.{0,80}?\b(?:assert|[\w.]*(?:Error|Exception))\b|(?:FAIL|ERROR): \w"
    r"|[A-Za-z_][\w.]{0,80}(?:Error|Exception): )",
    re.MULTILINE,
)
_CODE = compile_later(
    r"^\W*(?:process |command )?(?:exit(?:ed)?(?: with)?|rc|status|ret)[ _-]?(?:code|status)?"
    r"\W{0,3}(-?\d{1,3})\W*$",
    re.IGNORECASE,
)


def clean_output(text: str) -> str:
    """Its beginning and its end, without colours; lines end as they do everywhere."""
    if len(text) > HEAD_CHARS + TAIL_CHARS:
        text = f"{text[:HEAD_CHARS]}\n{text[-TAIL_CHARS:]}"
    plain = _CONTROL.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    lines = [line[:LINE_CHARS].rstrip() for line in plain.split("\n")]
    return "\n".join(lines)


def find_failure(output: str) -> str:
    """The line that says that something failed, of a cleaned output."""
    found = _FAILURE.search(output)
    return _get_line(output, found.start()) if found else ""


def list_telling(output: str, most: int) -> list[str]:
    """The last lines of a cleaned output that name a failure, else its last lines with words."""
    printed = _FRAME.sub("", output)
    places = [found.start() for form in (_FAILURE, _MESSAGE) for found in form.finditer(printed)]
    named = [_get_line(printed, place) for place in sorted(places)]
    lines = [line.strip() for line in printed.split("\n")]
    said = [line for line in lines if any(sign.isalnum() for sign in line)]
    telling = [*dict.fromkeys(named)] or said
    return telling[-most:]


def names_unknown(output: str) -> bool:
    """Whether a cleaned output says that what was to be run does not exist."""
    return bool(_UNKNOWN.search(output))


def find_nothing(output: str) -> str:
    """The line that says that nothing was tried, where none says that something was."""
    skipped = _SKIPPED.search(output)
    if skipped:
        return _get_line(output, skipped.start())
    found = _NOTHING.search(output)
    if found is None or _SOME.search(output):
        return ""
    return _get_line(output, found.start())


def ends_well(output: str) -> bool:
    """Whether the last report is one without a failure."""
    failed = [found.start() for found in _FAILURE.finditer(output)]
    passed = [found.start() for found in _SOME.finditer(output)]
    return bool(passed) and passed[-1] > max(failed, default=-1)


def find_printed_code(output: str) -> int | None:
    """What a line like `exit code: 2` at the end says, as `echo $?` prints it."""
    lines = output.rstrip().split("\n")
    for line in reversed(lines[-3:]):
        found = _CODE.match(line)
        if found:
            return int(found[1])
    return None


def _get_line(output: str, start: int) -> str:
    return output[start:].split("\n", 1)[0].strip()
