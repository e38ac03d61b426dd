"""Turns out of events: what was asked, what was touched and run, what was answered.

A log is written for machines: forty tool results between a question and its answer. A person wants
to know what the question led to. So events are grouped into turns, and of every tool only what a
person would ask about is kept: which file, which command, did it work. What a subagent is told is
not asked by a person, so it is a step of the turn that started the subagent.

Pure: events in, frozen types out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from holdfast.ground.frozen import replace
from holdfast.ground.patterns import compile_later
from holdfast.ground.text import cut, plural
from holdfast.observations import parts, rules
from holdfast.observations.model import (
    COMPACTION,
    REWIND,
    GradedCommand,
    SessionTurn,
    TouchedFile,
    TurnStep,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.observations.commits import MadeCommit
    from holdfast.observations.model import LoggedEvent

TITLE_CHARS = 80
TOOL_CHARS = 40
AGENT_CHARS = 30
COMMAND_CHARS = 300
PATCH_CHARS = 100_000
FILES_PER_TURN = 30
COMMANDS_PER_TURN = 60
# Of a subagent; what the person says and is answered is no step.
AGENT_KINDS = {"user_message": "told", "system_event": "told", "model_message": "answered"}
TOOL_TYPES = ("tool_call", "tool_result")

_EDITS = compile_later(
    r"edit|write|patch|create|replace|insert|delete|rename|move|save", re.IGNORECASE
)
_SEARCHES = compile_later(r"glob|grep|search|find|list|ls\b", re.IGNORECASE)
_PATCHED = compile_later(r"^\*\*\* (?:Update|Add|Delete) File: (.+)$", re.MULTILINE)


def gather_turns(events: Sequence[LoggedEvent]) -> list[SessionTurn]:
    """Events in order, as turns in order."""
    groups: list[list[LoggedEvent]] = []
    for event in events:
        if not groups or _is_request(event):
            groups.append([])
        groups[-1].append(event)
    return [_make_turn(group) for group in groups]


def _is_request(event: LoggedEvent) -> bool:
    return event.type == "user_message" and not parts.get_agent(event.parts)


def _is_answer(event: LoggedEvent) -> bool:
    return event.type == "model_message" and not parts.get_agent(event.parts)


def _make_turn(events: Sequence[LoggedEvent]) -> SessionTurn:
    first, last = events[0], events[-1]
    request = None
    rest = events
    if _is_request(first):
        request = first
        rest = events[1:]
    work = [event for event in rest if not _is_answer(event)]
    answers = [event for event in rest if _is_answer(event)]
    steps = _gather_steps(work)
    return SessionTurn(
        first=first.sequence,
        last=last.sequence,
        started_at=first.happened_at,
        ended_at=last.happened_at,
        request=request,
        steps=tuple(steps),
        answers=tuple(answers),
        files=tuple(_list_files(steps)),
        commands=tuple(_list_commands(steps)),
        commits=tuple(_list_commits(rest)),
    )


# --- steps ----------------------------------------------------------------------------------------


def _gather_steps(events: Sequence[LoggedEvent]) -> list[TurnStep]:
    """A call and its result are one step, where an id joins them or one follows the other."""
    steps: list[TurnStep] = []
    calls: dict[str, int] = {}
    names = _name_agents(events)
    for event in events:
        place = _find_call(event, steps, calls)
        if place is not None:
            steps[place] = replace(steps[place], result=event)
            continue
        call_id = parts.get_call_id(event.parts)
        if event.type == "tool_call" and call_id:
            calls[call_id] = len(steps)
        agent_id = parts.get_agent_id(event.parts)
        steps.append(replace(make_step(event), agent=names.get(agent_id, "")))
    return steps


def _name_agents(events: Sequence[LoggedEvent]) -> dict[str, str]:
    """The subagents of a turn by their ids; those of one name are numbered."""
    named: dict[str, str] = {}
    counts: dict[str, int] = {}
    for event in events:
        agent_id = parts.get_agent_id(event.parts)
        if not agent_id or agent_id in named:
            continue
        name = cut(parts.get_agent(event.parts), AGENT_CHARS)
        counts[name] = counts.get(name, 0) + 1
        named[agent_id] = name if counts[name] == 1 else f"{name} {counts[name]}"
    return named


def _find_call(event: LoggedEvent, steps: Sequence[TurnStep], calls: dict[str, int]) -> int | None:
    """The step that an event is the result of."""
    if event.type != "tool_result":
        return None
    call_id = parts.get_call_id(event.parts)
    if call_id:
        return calls.pop(call_id, None)
    if not steps or parts.get_input(event.parts):
        return None
    last = steps[-1]
    if last.event.type == "tool_call" and last.result is None:
        return len(steps) - 1
    return None


def make_step(event: LoggedEvent) -> TurnStep:
    """What an event is to a person, in a few words."""
    agent = cut(parts.get_agent(event.parts), AGENT_CHARS)
    if event.type in TOOL_TYPES:
        return TurnStep(event, title_tool(event), "tool", agent=agent)
    line = parts.as_line(event.content)
    title = cut(line, TITLE_CHARS)
    if event.type == "validation_gate":
        verdict = rules.grade_gate(event)
        return TurnStep(event, title, event.type, verdict, agent=agent)
    if event.type == "system_event":
        return _make_note(event, title, agent)
    return TurnStep(event, title, AGENT_KINDS.get(event.type, event.type), agent=agent)


def _make_note(event: LoggedEvent, title: str, agent: str) -> TurnStep:
    """Of a compaction or a rewind where the client's log has one; else as it is."""
    trigger = parts.find_value(event.parts, [COMPACTION])
    rewound = parts.find_value(event.parts, ["rewound"])
    if trigger:
        return TurnStep(event, parts.as_text(trigger), COMPACTION, agent=agent)
    if isinstance(rewound, list) and rewound:
        taken_back = f"{plural(len(rewound), 'request')} taken back"
        return TurnStep(event, taken_back, REWIND, agent=agent)
    return TurnStep(event, title, AGENT_KINDS[event.type] if agent else event.type, agent=agent)


def title_tool(event: LoggedEvent) -> str:
    """`Bash` and its command, `Edit` and its file, any other tool by its first words."""
    tool = parts.get_tool(event.parts) or "tool"
    name = cut(tool, TOOL_CHARS)
    given = parts.get_input(event.parts)
    about = parts.get_command(given) or parts.get_path(given) or parts.get_first_text(given)
    title = f"{name} {parts.as_line(about)}"
    return cut(title.strip(), TITLE_CHARS)


# --- files ----------------------------------------------------------------------------------------


def _list_files(steps: Sequence[TurnStep]) -> list[TouchedFile]:
    """Each file once; an edited one stays edited when it is read later."""
    found: dict[str, TouchedFile] = {}
    for step in steps:
        if rules.is_refused(step.result or step.event):
            continue
        for file in list_touched(step.event):
            known = found.get(file.path)
            if known is None or file.is_edit:
                found[file.path] = replace(file, agent=step.agent)
    touched = list(found.values())
    return touched[:FILES_PER_TURN]


def list_touched(event: LoggedEvent) -> list[TouchedFile]:
    """The files that a tool was given, whether or not it did anything."""
    if event.type not in TOOL_TYPES:
        return []
    name = parts.get_tool(event.parts)
    given = parts.get_input(event.parts)
    touched = [TouchedFile(path, is_edit=True) for path in _list_patched(given)]
    is_edit = bool(_EDITS.search(name))
    if is_edit or not _SEARCHES.search(name):
        paths = [parts.get_path(given), *parts.list_read_paths(given)]
        touched += [TouchedFile(path, is_edit) for path in paths]
    return [file for file in touched if file.path and "\n" not in file.path]


def _list_patched(given: object) -> list[str]:
    paths: list[str] = []
    for text in parts.list_texts(given):
        paths += _PATCHED.findall(text[:PATCH_CHARS])
    return [path.strip() for path in paths]


# --- commands -------------------------------------------------------------------------------------


def _list_commands(steps: Sequence[TurnStep]) -> list[GradedCommand]:
    commands = []
    for step in steps:
        if step.kind == "tool":
            command = _grade_step(step)
            if command is not None:
                commands.append(command)
    return commands[-COMMANDS_PER_TURN:]


def _grade_step(step: TurnStep) -> GradedCommand | None:
    from holdfast.observations import grading  # hooks need titles only, and pay for no more

    given = parts.get_input(step.event.parts)
    text = parts.get_command(given)
    if not text:
        return None
    shown = cut(parts.as_line(text), COMMAND_CHARS)
    sequence = step.event.sequence
    result = step.result
    if result is None and step.event.type == "tool_result":
        result = step.event
    if result is None:
        return GradedCommand(shown, "unknown", "no result is in the log", sequence, step.agent)
    grade = grading.grade_command(text, result)
    return GradedCommand(shown, grade.verdict, grade.because, sequence, step.agent)


# --- commits --------------------------------------------------------------------------------------


def _list_commits(events: Sequence[LoggedEvent]) -> list[MadeCommit]:
    """Each once, with its subject where git has printed that."""
    from holdfast.observations.commits import find_commit  # hooks need titles only

    found: list[MadeCommit] = []
    for event in events:
        made = find_commit(event)
        if made and not any(made.is_same(known) for known in found):
            found.append(made)
    return found
