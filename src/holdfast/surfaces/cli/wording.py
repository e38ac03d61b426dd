"""How sessions read in a terminal."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Sequence
from datetime import datetime
from itertools import groupby
from typing import Any

from holdfast.ground.text import cut
from holdfast.ground.text import plural as plural
from holdfast.memories.model import Memory
from holdfast.sessions.model import Session, SessionEvent, SetChange, Verification
from holdfast.storage.spool import Elsewhere, Unreadable

LINE_CHARS = 100


def format_time(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M}Z"


def format_json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True)


def format_session(session: Session) -> str:
    state = "ended" if session.ended_at else "open "
    name = session.name or session.chatmode
    return f"{session.id}  {session.started_at:%m-%d %H:%M}  {state}  {session.last_sequence:>5,}  {name}"


def format_sessions(sessions: Sequence[Session]) -> str:
    """Narrow enough for a terminal of eighty columns and a name of some length."""
    return "\n".join(map(format_session, sessions))


def describe_no_sessions(developer: str, workspace: str) -> str:
    """Names the owner, because a changed one is the usual reason why sessions seem to be gone."""
    first = f"No sessions of {developer!r} in workspace {workspace!r} yet."
    return f"{first} Start one with `holdfast session start --chatmode architect`."


def describe_end(session: Session, *, before: bool) -> str:
    first = f"Session {session.id} had ended already." if before else f"Ended {session.id}."
    return f"{first}\nTo continue: holdfast session resume {session.id}"


def describe_session(session: Session) -> str:
    """The facts that are there, one per line."""
    facts = {
        "Session": session.id,
        "Name": session.name,
        "Chatmode": session.chatmode,
        "User": session.user_id,
        "Workflow": session.workflow,
        "Skill": session.skill,
        "Branch": session.git_branch,
        "Client": session.client,
        "Worktree": session.worktree,
        "Started": format_time(session.started_at),
        "Ended": format_time(session.ended_at) if session.ended_at else None,
        "Events": f"{session.last_sequence:,}",
        "Resumed from": session.resumed_from,
        "Intent": session.metadata.get("currentIntent"),
    }
    sheet = [f"{label:<13} {value}" for label, value in facts.items() if value is not None]
    return "\n".join(sheet + ([format_context_sets(session.context)] if session.context else []))


def format_context_sets(context: dict[str, list[str]], name: str | None = None) -> str:
    if not context and name is not None:
        return f"{name!r} is not set. `holdfast context show` lists the sets that are."
    if not context:
        return "No context is set. Set some with `holdfast context set files PATH…`."
    return "\n".join(
        "\n".join([f"{name}:", *(f"  - {item}" for item in items)])
        for name, items in context.items()
    )


def format_events(events: Sequence[SessionEvent]) -> str:
    """Under the day of each: a log is read weeks later."""
    if not events:
        return "No events yet."
    days = groupby(events, key=lambda event: event.created_at.date())
    return "\n".join(
        "\n".join([f"{day} (UTC)", *map(format_event, of_day)]) for day, of_day in days
    )


def format_memory(memory: Memory) -> str:
    return (
        f"{memory.id}  {memory.confidence:.2f}  {cut(' '.join(memory.content.split()), LINE_CHARS)}"
    )


def format_event(event: SessionEvent) -> str:
    text = "(erased)" if event.erased_at else cut(" ".join(event.content.split()), LINE_CHARS)
    return f"{event.sequence:>5}  {event.created_at:%H:%M:%S}  {event.type:<15}  {text}"


def describe_set_change(change: SetChange) -> str:
    if not change.items:
        return f"Cleared {change.set_name}"
    lines = [f"{change.set_name}: {plural(len(change.items), 'item')}"]
    lines += [f"  + {item}" for item in change.added] + [f"  - {item}" for item in change.removed]
    return "\n".join(lines)


def describe_resume(
    old: Session,
    session: Session,
    text: str,
    scratchpad: dict[str, Any],
    last: Sequence[SessionEvent],
) -> str:
    """What a person who comes back wants to see: which session it is, what it knows, and where it
    stopped.
    """
    new = old.id != session.id
    parts = [
        f"Session {session.id}\ncontinues {old.id}"
        if new
        else f"Session {session.id} is still open"
    ]
    parts += [text] if text else []
    parts += [f"Scratchpad:\n{format_json(scratchpad)}"] if scratchpad else []
    parts += [f"Last events:\n{format_events(last)}"] if last else []
    parts += [f"All of it: holdfast session thread {session.id}"]
    return "\n\n".join(parts)


def describe_verification(results: Sequence[Verification]) -> str:
    checked = sum(result.checked for result in results)
    lines = [f"{result.session_id}: {problem}" for result in results for problem in result.damage]
    if not lines:
        return f"Sound: {plural(checked, 'event')} in {plural(len(results), 'session')}"
    return "\n".join(
        [*lines, f"Damaged: {plural(len(lines), 'place')} in {plural(checked, 'event')}"]
    )


def describe_hook_failure(failure: dict[str, str | None]) -> str:
    """From codes alone, because that is all a hook may write down."""
    reasons = {
        "hook": "it is not wired to a client that is known",
        "payload": "what came on stdin cannot be used",
    }
    field, at = failure["field"] or "", (failure["at"] or "")[:16].replace("T", " ")
    reason = reasons.get(field) or (f"{field} is wrong" if field else failure["error"])
    return f"last failure {at}Z, {failure['client'] or 'unknown client'}: {reason}"


def describe_waiting(waiting: Elsewhere) -> str:
    """What to do depends on what only a person knows: whether that store is another one or this
    one, moved.
    """
    noun = "event waits" if waiting.events == 1 else "events wait"
    return (
        f"{waiting.events:,} {noun} for another store in {waiting.path}. To store them there, set HOLDFAST_DATABASE to "
        f"its URL and run `holdfast status`. If this is that store and only its place is new, run "
        f"`touch {shlex.quote(waiting.same)}`, then `holdfast status`."
    )


def describe_unreadable(file: Unreadable) -> str:
    """Whatever it holds was accepted, so it is never removed by us."""
    problem = f"{file.path} {file.problem or 'was put aside because it could not be read'}; events may be in it"
    if not file.put_aside:
        return f"{problem}. Mend it, or move it away."
    again = os.path.join(os.path.dirname(file.path), "pending-1.jsonl")
    return f"{problem}. Mend it, then rename it to {again} (pieces: pending-2.jsonl and so on); or move it away."
