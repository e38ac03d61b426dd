"""Turns out of events: what was asked, what was touched and run, what was answered.

A log is written for machines: forty tool results between a question and its answer. A person asks what became of
the question. So events are gathered into turns, and of every tool only what one would ask about is taken out: which
file, which command, did it work. Nothing is guessed: a command whose outcome the log does not hold is shown with a
question mark, and so is one whose exit code is another program's (`pytest | tail`).

Pure: events in, frozen types out. What parts hold is up to whoever wrote them, so every look is a careful one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

from holdfast.ground.text import cut
from holdfast.sessions.model import SessionEvent

Verdict = Literal["passed", "failed", "unknown"]

TITLE_CHARS = 80
COMMAND_CHARS = 300
FILES_PER_TURN = 30
COMMANDS_PER_TURN = 60

# Under which names agent programs and frameworks keep the same thing.
TOOL_KEYS = ("tool", "tool_name", "toolName", "name", "function")
INPUT_KEYS = ("input", "tool_input", "toolInput", "arguments", "args", "params")
CALL_KEYS = ("tool_use_id", "tool_call_id", "toolCallId", "call_id", "callId", "id")
PATH_KEYS = ("file_path", "filePath", "notebook_path", "absolute_path", "target_file", "path", "file", "filename")
COMMAND_KEYS = ("command", "cmd", "script", "commands")
CODE_KEYS = ("exit_code", "exitCode", "returncode", "return_code", "exit_status", "code")
FLAG_KEYS = ("is_error", "isError", "interrupted", "error", "failed")
PASSED_KEYS = ("passed", "ok", "success", "valid")

_EDITS = re.compile(r"edit|write|patch|create|replace|insert|delete|rename|move|save", re.IGNORECASE)
_SEARCHES = re.compile(r"glob|grep|search|find|list|ls\b", re.IGNORECASE)
_PATCHED = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (.+)$", re.MULTILINE)
_EXIT = re.compile(r"^\W*(?:process )?(?:exit(?:ed)?(?: with)?)[ _-]?(?:code|status):? *(-?\d{1,3})\b", re.IGNORECASE)
# What makes an exit code somebody else's: a pipe, or a second command that always succeeds.
_HIDES = re.compile(r"(?<!\|)\|(?!\|)|\|\|\s*(?:true|:|echo)\b|;\s*(?:true|:|echo|exit 0)\b|&\s*$")


@dataclass(frozen=True)
class Touched:
    """A file that a tool was given."""

    path: str
    is_edit: bool


@dataclass(frozen=True)
class Command:
    text: str
    verdict: Verdict
    because: str
    sequence: int


@dataclass(frozen=True)
class Step:
    """Everything between a request and its answer that is shown folded: one tool, one gate, one note."""

    event: SessionEvent
    title: str
    kind: str
    verdict: Verdict | None = None
    result: SessionEvent | None = None


@dataclass(frozen=True)
class Turn:
    """From one request to the next. Without a request it is the rest of one, or what came before the first."""

    first: int
    last: int
    started_at: datetime
    ended_at: datetime
    request: SessionEvent | None
    steps: tuple[Step, ...]
    answers: tuple[SessionEvent, ...]
    files: tuple[Touched, ...]
    commands: tuple[Command, ...]

    @property
    def events(self) -> int:
        return self.last - self.first + 1

    @property
    def edited(self) -> tuple[Touched, ...]:
        return tuple(file for file in self.files if file.is_edit)

    @property
    def read(self) -> tuple[Touched, ...]:
        return tuple(file for file in self.files if not file.is_edit)


def turns_of(events: Sequence[SessionEvent]) -> list[Turn]:
    """Events in order, as turns in order."""
    groups: list[list[SessionEvent]] = []
    for event in events:
        if not groups or event.type == "user_message":
            groups.append([])
        groups[-1].append(event)
    return [_turn(group) for group in groups]


def _turn(events: Sequence[SessionEvent]) -> Turn:
    request = events[0] if events[0].type == "user_message" else None
    rest = events[1:] if request else events
    steps = _steps([event for event in rest if event.type != "model_message"])
    return Turn(
        first=events[0].sequence,
        last=events[-1].sequence,
        started_at=events[0].created_at,
        ended_at=events[-1].created_at,
        request=request,
        steps=tuple(steps),
        answers=tuple(event for event in rest if event.type == "model_message"),
        files=tuple(_files(steps)),
        commands=tuple(command for step in steps if (command := _command(step)))[-COMMANDS_PER_TURN:],
    )


def _steps(events: Sequence[SessionEvent]) -> list[Step]:
    """A call and its result are one step, where an id says that they belong together or one follows the other."""
    steps: list[Step] = []
    calls: dict[str, int] = {}
    for event in events:
        place = _call_of(event, steps, calls)
        if place is not None:
            steps[place] = replace(steps[place], result=event)
            continue
        if event.type == "tool_call" and (call_id := _text(_of(event.parts, CALL_KEYS))):
            calls[call_id] = len(steps)
        steps.append(_step(event))
    return steps


def _call_of(event: SessionEvent, steps: Sequence[Step], calls: dict[str, int]) -> int | None:
    """The step that an event is the result of."""
    if event.type != "tool_result":
        return None
    call_id = _text(_of(event.parts, CALL_KEYS))
    if call_id:
        return calls.pop(call_id, None)
    last = steps[-1] if steps else None
    is_next = last is not None and last.event.type == "tool_call" and last.result is None
    return len(steps) - 1 if is_next and not _input(event.parts) else None


def _step(event: SessionEvent) -> Step:
    if event.type in ("tool_call", "tool_result"):
        return Step(event, tool_title(event), "tool")
    verdict = gate_verdict(event) if event.type == "validation_gate" else None
    return Step(event, cut(one_line(event.content), TITLE_CHARS), event.type, verdict)


def tool_title(event: SessionEvent) -> str:
    """`Bash` and its command, `Edit` and its file, whatever else by its first words."""
    name = cut(_text(_of(event.parts, TOOL_KEYS)) or "tool", 40)
    given = _input(event.parts)
    about = command_text(given) or _text(_of(given, PATH_KEYS)) or (one_line(given) if isinstance(given, str) else "")
    about = about or next((one_line(value) for value in _values(given) if isinstance(value, str)), "")
    return cut(f"{name} {one_line(about)}".strip(), TITLE_CHARS)


def one_line(text: str) -> str:
    return " ".join(text[:2000].split())


# --- files -------------------------------------------------------------------------------------------------


def _files(steps: Sequence[Step]) -> list[Touched]:
    """Each once; an edited one stays edited however often it was read."""
    found: dict[str, bool] = {}
    for step in steps:
        for path, is_edit in _touched(step.event):
            found[path] = found.get(path, False) or is_edit
    return [Touched(path, is_edit) for path, is_edit in list(found.items())[:FILES_PER_TURN]]


def _touched(event: SessionEvent) -> list[tuple[str, bool]]:
    if event.type not in ("tool_call", "tool_result"):
        return []
    name, given = _text(_of(event.parts, TOOL_KEYS)), _input(event.parts)
    patched = [(path.strip(), True) for text in _texts(given) for path in _PATCHED.findall(text[:100_000])]
    path = _text(_of(given, PATH_KEYS))
    if path and not (_SEARCHES.search(name) and not _EDITS.search(name)):
        patched.append((path, bool(_EDITS.search(name))))
    return [(path, is_edit) for path, is_edit in patched if path and "\n" not in path]


def _texts(given: object) -> list[str]:
    return [given] if isinstance(given, str) else [value for value in _values(given) if isinstance(value, str)]


# --- commands ----------------------------------------------------------------------------------------------


def _command(step: Step) -> Command | None:
    text = command_text(_input(step.event.parts)) if step.kind == "tool" else ""
    if not text:
        return None
    answer = step.result or (step.event if step.event.type == "tool_result" else None)
    shown = cut(one_line(text), COMMAND_CHARS)
    if answer is None:
        return Command(shown, "unknown", "no result is in the log", step.event.sequence)
    verdict, because = command_verdict(text, answer)
    return Command(shown, verdict, because, step.event.sequence)


def command_text(given: object) -> str:
    """What was run, as one would type it; a list is a program and its arguments."""
    value = _of(given, COMMAND_KEYS)
    if isinstance(value, list):
        words = [word for word in value if isinstance(word, str)]
        value = words[-1] if words[:2] in (["bash", "-lc"], ["bash", "-c"], ["sh", "-c"]) else " ".join(words)
    return value.strip() if isinstance(value, str) else ""


def command_verdict(command: str, result: SessionEvent) -> tuple[Verdict, str]:
    """Whether it worked, and how that is known: an exit code, a flag of the client, or not at all."""
    answer = _json(result.content)
    answers = [answer, result.parts, _of(result.parts, ("result", "output", "response", "metadata"))]
    code = next((code for one in answers if (code := _exit_code(one)) is not None), None)
    code = _exit_in_text(result.content, answer) if code is None else code
    if code is None:
        flagged = any(_of(one, (key,)) not in (None, False, "", 0, [], {}) for one in answers for key in FLAG_KEYS)
        return ("failed", "the client reported an error") if flagged else ("unknown", "no exit code is in the log")
    if code == 0 and _HIDES.search(command) and "pipefail" not in command:
        return "unknown", "exit 0, but of the last program in the line only"
    return ("passed" if code == 0 else "failed"), f"exit {code}"


def _exit_code(value: object) -> int | None:
    code = _of(value, CODE_KEYS)
    return code if isinstance(code, int) and not isinstance(code, bool) else None


def _exit_in_text(content: str, answer: object) -> int | None:
    """Where clients write it: on its own line near the beginning or the end, never in the middle of an output."""
    text = next((value for value in _values(answer) if isinstance(value, str)), "") if answer else content
    lines = text.strip().split("\n")
    for line in [*lines[:4], *lines[-4:]]:
        if found := _EXIT.match(line.strip()):
            return int(found[1])
    return None


def gate_verdict(event: SessionEvent) -> Verdict:
    passed = _of(event.parts, PASSED_KEYS)
    if isinstance(passed, bool):
        return "passed" if passed else "failed"
    status = _text(_of(event.parts, ("status", "result", "verdict"))).casefold()
    if status in ("passed", "pass", "ok", "success"):
        return "passed"
    return "failed" if status in ("failed", "fail", "error", "rejected") else "unknown"


# --- looking into parts ------------------------------------------------------------------------------------


def _of(value: object, keys: Sequence[str]) -> Any:
    """The first of these keys that an object has; None of anything else."""
    if not isinstance(value, Mapping):
        return None
    return next((value[key] for key in keys if value.get(key) is not None), None)


def _input(parts: object) -> object:
    given = _of(parts, INPUT_KEYS)
    return _json(given) or given if isinstance(given, str) else given


def _values(value: object) -> list[object]:
    return list(value.values()) if isinstance(value, Mapping) else []


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _json(text: str) -> Mapping[str, Any] | None:
    if not text.startswith("{"):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
