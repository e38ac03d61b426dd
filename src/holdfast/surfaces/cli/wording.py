"""How sessions, memories and the spool read in a terminal.

Each function makes a text of a value and decides nothing. Stored text is not escaped here: what is
printed is made safe for a terminal in one place, by `running`.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import groupby

from holdfast.ground.text import cut, plural
from holdfast.memories.model import Memory
from holdfast.observations import parts, turns
from holdfast.observations.model import COMPACTION, REWIND
from holdfast.sessions.model import Session, SessionEvent, SetChange, Verification
from holdfast.sessions.requests import CLIENT, find_summary, name_speaker
from holdfast.sessions.status import SessionStatus
from holdfast.storage.accounting import Waiting
from holdfast.storage.spool import Elsewhere, Unreadable
from holdfast.surfaces.cli.terminal import is_terminal

LINE_CHARS = 132  # where no terminal says how wide it is
LEAST_WIDTH, LEAST_CHARS = 80, 16
ID_CHARS, CLIENT_CHARS, BRANCH_CHARS = 13, 8, 20
OFF = "off"  # instead of how a session stands
HOOK_REASONS = {
    "hook": "it is not wired to a client that is known",
    "payload": "what came on stdin cannot be used",
}


def format_time(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M}Z"


def format_json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True)


def format_sessions(
    sessions: Sequence[Session],
    statuses: Mapping[str, SessionStatus],
    titles: Mapping[str, str],
    off: Sequence[str] = (),
) -> str:
    """Under the day of each, as a person knows them: when, how it stands, where, what was asked.

    `off`: the ids of those that are kept out of everything.
    """
    lines: list[str] = []
    told = {session.id: statuses[session.id].describe_shortly() for session in sessions}
    told |= dict.fromkeys(set(off) & set(told), OFF)
    width = max(map(len, told.values()), default=0)
    for day, of_day in groupby(sessions, key=lambda session: session.started_at.date()):
        lines.append(f"{day} (UTC)")
        lines += [
            format_session(session, f"{told[session.id]:<{width}}", titles[session.id])
            for session in of_day
        ]
    return "\n".join(lines)


def format_session(session: Session, status: str, title: str) -> str:
    """The beginning of its id is enough for any command."""
    client = cut(session.client or "-", CLIENT_CHARS)
    at = f"{session.started_at:%H:%M}"
    start = f"{session.id[:ID_CHARS]}  {at}  {status:<5}  {client:<{CLIENT_CHARS}}  "
    branch = ""
    if session.git_branch:
        branch = f" · {cut(session.git_branch, BRANCH_CHARS)}"
    room = find_width() - len(start) - len(branch)
    return f"{start}{cut(title, max(room, LEAST_CHARS))}{branch}"


def find_width() -> int:
    """Of a line that is cut: a narrow terminal rather wraps it."""
    return max(find_columns(), LEAST_WIDTH)


def find_columns() -> int:
    """Of the terminal; what goes elsewhere has the length that lines of a log have."""
    if not is_terminal(sys.stdout) and "COLUMNS" not in os.environ:
        return LINE_CHARS
    return shutil.get_terminal_size((LINE_CHARS, 24)).columns


def describe_no_sessions(developer: str, workspace: str) -> str:
    """Names the owner, because a changed one is the usual reason why sessions seem to be gone."""
    first = f"No sessions of {developer!r} in workspace {workspace!r} yet."
    second = "Start one with `holdfast session start --chatmode architect`, or run `holdfast init`:"
    return f"{first} {second} then those of your agent programs are kept."


def describe_end(session: Session, *, before: bool) -> str:
    done = f"Ended {session.id}."
    if before:
        done = f"Session {session.id} had ended already."
    return f"{done}\nTo continue: holdfast session resume {session.id}"


def describe_session(
    session: Session, status: SessionStatus, first: str | None, last: str | None
) -> str:
    """The facts that are known, one per line, and the first and the last request."""
    facts = {
        "Session": session.id,
        "Name": session.name,
        "Asked first": _shorten(first, 14) if first else None,
        "Asked last": _shorten(last, 14) if last and last != first else None,
        "Chatmode": session.chatmode if session.chatmode != session.client else None,
        "User": session.user_id,
        "Workflow": session.workflow,
        "Skill": session.skill,
        "Branch": session.git_branch,
        "Client": session.client,
        "Native id": session.native_id,
        "Worktree": session.worktree,
        "Started": format_time(session.started_at),
        "Status": status.describe(),
        "Events": f"{session.last_sequence:,}",
        "Resumed from": session.resumed_from,
        "Intent": session.metadata.get("currentIntent"),
    }
    sheet = [f"{label:<13} {value}" for label, value in facts.items() if value is not None]
    if session.context:
        sheet.append(format_context_sets(session.context))
    return "\n".join(sheet)


def format_context_sets(context: dict[str, list[str]], name: str | None = None) -> str:
    if not context and name is not None:
        return f"{name!r} is not set. `holdfast context show` lists the sets that are."
    if not context:
        return "No context is set. Set some with `holdfast context set files PATH…`."
    lines: list[str] = []
    for set_name, items in context.items():
        lines.append(f"{set_name}:")
        lines += [f"  - {item}" for item in items]
    return "\n".join(lines)


def format_events(events: Sequence[SessionEvent]) -> str:
    """Under the day of each: a log is read weeks later."""
    if not events:
        return "No events yet."
    lines: list[str] = []
    for day, of_day in groupby(events, key=lambda event: event.happened_at.date()):
        lines.append(f"{day} (UTC)")
        lines += [format_event(event) for event in of_day]
    return "\n".join(lines)


def format_memory(memory: Memory) -> str:
    start = f"{memory.id}  {memory.confidence:.2f}  "
    return f"{start}{_shorten(memory.content, len(start))}"


def format_event(event: SessionEvent) -> str:
    kind = CLIENT if _is_of_client(event) else event.type
    start = f"{event.sequence:>5}  {event.happened_at:%H:%M:%S}  {kind:<15}  "
    text = _describe_event(event)
    if event.erased_at:
        text = "(erased)"
    return f"{start}{_shorten(text, len(start))}"


def _describe_event(event: SessionEvent) -> str:
    """Of a tool what it was given before what it answered; and which subagent it was."""
    step = turns.make_step(event)
    text = find_summary(event.content) if _is_of_client(event) else event.content
    if step.kind == "tool" and event.parts:
        text = f"{step.title} → {_describe_answer(event.content)}"
    elif step.kind in (COMPACTION, REWIND):
        text = " · ".join(filter(None, [step.kind, step.title, event.content]))
    if step.agent:
        text = f"[{step.agent}] {text}"
    return text


def _is_of_client(event: SessionEvent) -> bool:
    return name_speaker(event.type, event.role, event.parts) == CLIENT


def _describe_answer(content: str) -> str:
    printed = parts.find_printed(content)
    if printed is not None:
        return printed
    return parts.find_answer(content) or content


def _shorten(text: str, indent: int) -> str:
    return cut(" ".join(text.split()), find_width() - indent)


def describe_set_change(change: SetChange) -> str:
    if not change.items:
        return f"Cleared {change.set_name}"
    count = plural(len(change.items), "item")
    lines = [f"{change.set_name}: {count}"]
    lines += [f"  + {item}" for item in change.added]
    lines += [f"  - {item}" for item in change.removed]
    return "\n".join(lines)


def describe_resume(
    old: Session,
    session: Session,
    status: SessionStatus,
    text: str,
    last: Sequence[SessionEvent],
) -> str:
    """For a person who returns: which session it is, what it knows, and where it stopped."""
    parts = [f"Session {session.id} is {status.describe()}"]
    if old.id != session.id:
        parts = [f"Session {session.id}\ncontinues {old.id}"]
    if text:
        parts.append(text)
    if last:
        parts.append(f"Last events:\n{format_events(last)}")
    parts.append(f"All of it: holdfast session thread {session.id}")
    return "\n\n".join(parts)


def describe_verification(results: Sequence[Verification]) -> str:
    checked = sum(result.checked for result in results)
    events = plural(checked, "event")
    lines: list[str] = []
    for result in results:
        lines += [f"{result.session_id}: {problem}" for problem in result.damage]
    if not lines:
        sessions = plural(len(results), "session")
        return f"Sound: {events} in {sessions}"
    places = plural(len(lines), "place")
    lines.append(f"Damaged: {places} in {events}")
    return "\n".join(lines)


def describe_hook_failure(failure: dict[str, str | None]) -> str:
    """From codes alone, because that is all a hook may write down."""
    at = failure["at"] or ""
    minute = at[:16].replace("T", " ")
    client = failure["client"] or "unknown client"
    reason = _describe_hook_reason(failure)
    return f"last failure {minute}Z, {client}: {reason}"


def _describe_hook_reason(failure: dict[str, str | None]) -> str | None:
    field = failure["field"]
    if not field:
        return failure["error"]
    return HOOK_REASONS.get(field, f"{field} is wrong")


def describe_waiting(waiting: Elsewhere) -> str:
    """Only a person knows whether that store is another one, or this one at a new place."""
    noun = "event waits" if waiting.events == 1 else "events wait"
    return (
        f"{waiting.events:,} {noun} for another store in {waiting.path}. "
        "To store them there, set HOLDFAST_DATABASE to its URL and run `holdfast status`. "
        "If this is that store and only its place is new, run "
        f"`touch {shlex.quote(waiting.same)}`, then `holdfast status`."
    )


def describe_unreadable(file: Unreadable) -> str:
    """What it holds was accepted, so no command removes it."""
    reason = file.problem or "was put aside because it could not be read"
    problem = f"{file.path} {reason}; events may be in it"
    if not file.put_aside:
        return f"{problem}. Fix it, or move it away."
    folder = os.path.dirname(file.path)
    again = os.path.join(folder, "pending-1.jsonl")
    pieces = "(pieces: pending-2.jsonl and so on)"
    return f"{problem}. Fix it, then rename it to {again} {pieces}; or move it away."


def describe_at_risk(waiting: Waiting) -> str:
    """Until the disk can be written again."""
    events = plural(waiting.at_risk, "event")
    return f"{events} of those spooled may be lost when the machine restarts: the disk took none"


def describe_dropped(waiting: Waiting, counters: Sequence[str]) -> str:
    """How many and when, and where the count is."""
    events = plural(waiting.dropped, "event")
    period = f"from {waiting.first_dropped_at} to {waiting.last_dropped_at}"
    if waiting.first_dropped_at is None:  # its record is damaged
        period = "at an unknown time"
    places = " and ".join(map(shlex.quote, counters))
    return f"{events} of hooks could not be kept {period}: no disk took them. {places} counts them"
