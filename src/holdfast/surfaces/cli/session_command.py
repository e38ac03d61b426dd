"""`holdfast session …`: parse, one verb, format.

A session may be named by its id, the beginning of it or its name, so a command first finds the
session that is meant. Numbers are checked here too, so that an error names the option as it was
typed.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from holdfast.app import App
from holdfast.ground.canonical import parse_json
from holdfast.sessions.model import Session
from holdfast.sessions.rules import EVENT_TYPES, ROLES, check_count
from holdfast.sessions.status import SessionStatus
from holdfast.surfaces.cli import wording
from holdfast.surfaces.cli.running import (
    Group,
    Output,
    find_session,
    find_session_id,
    here,
    prints,
    run_write,
)
from holdfast.usecases.continuation import hand_over, make_document
from holdfast.usecases.location import locate_branch
from holdfast.usecases.newest_events import fit_events
from holdfast.usecases.session_status import find_statuses
from holdfast.usecases.session_titles import find_titles
from holdfast.usecases.switching import list_off_ids

SHOWN_EVENTS = 6


@click.group("session", cls=Group)
def command() -> None:
    """Start, append to, read, resume and verify sessions

    ID is a session's id, the first 8 characters of it or more, or its name.
    """


command.other_names = {"recent": "events", "update_state": "state"}


@command.command("start")
@click.option("--chatmode", required=True, help="What kind of work, such as architect")
@click.option("--user", help="Namespace of the session; default: the developer")
@click.option("--workflow", help="Workflow that runs")
@click.option("--skill", help="Skill that is used")
@click.option("--branch", help="Git branch; default: the one checked out here")
@click.option("--name", help="Name to find it by")
@prints
def start(app: App, chatmode: str, user: str | None, branch: str | None, **fields: Any) -> Output:
    """Start a session"""
    worktree = here()
    if user is None:
        user = app.settings.developer
    if branch is None:
        branch = locate_branch(worktree)
    fields |= {"user_id": user, "git_branch": branch}
    session = run_write(
        app,
        "session.start",
        lambda scope: scope.sessions.create_session(chatmode, worktree=worktree, **fields),
    )
    warnings = _list_name_warnings(app, session)
    document = app.run(make_document(app, worktree))
    data = {**session.to_dict(), "resume_text": document}
    # A script takes the id from the standard output; a person reads the document as well.
    return Output(data, session.id, warnings, aside=document)


@command.command("append")
@click.argument("session_id", metavar="ID")
@click.option(
    "--type", "event_type", required=True, metavar="TYPE", help=f"One of {', '.join(EVENT_TYPES)}"
)
@click.option("--role", required=True, metavar="ROLE", help=f"One of {', '.join(ROLES)}")
@click.option("--content", required=True, help="Text of the event")
@click.option("--parts", metavar="JSON", help="Structured data, a JSON object")
@click.option("--event-id", metavar="UUID", help="The same id again appends nothing")
@click.option(
    "--expected-sequence", type=int, metavar="N", help="Append only if N is the last number"
)
@prints
def append(app: App, session_id: str, parts: str | None, **fields: Any) -> Output:
    """Append an event"""
    _check_given("--expected-sequence", fields["expected_sequence"])
    found = find_session(app, session_id)
    fields["parts"] = None
    if parts is not None:
        fields["parts"] = parse_json("--parts", parts)
    event = run_write(
        app, "session.append", lambda scope: scope.sessions.append_event(found.id, **fields)
    )
    return Output(event.to_dict(), f"{event.sequence}  {event.id}")


@command.command("show")
@click.argument("session_id", metavar="ID")
@prints
def show(app: App, session_id: str) -> Output:
    """Show a session"""
    session = find_session(app, session_id)
    statuses = _find_statuses(app, [session])
    data = {**session.to_dict(), **statuses[session.id].to_dict()}
    first = app.run(app.scope.sessions.find_first_request(session.id))
    requests = app.run(app.scope.sessions.list_requests(session.id))
    last = requests[0].content if requests else None
    return Output(data, wording.describe_session(session, statuses[session.id], first, last))


@command.command("events")
@click.argument("session_id", metavar="ID")
@click.option("--turns", default=30, show_default=True, metavar="N", help="The last N turns")
@click.option(
    "--tokens", type=int, metavar="N", help="About N tokens at most, the oldest dropped first"
)
@prints
def events(app: App, session_id: str, turns: int, tokens: int | None) -> Output:
    """Show the recent events"""
    _check_given("--turns", turns)
    _check_given("--tokens", tokens)
    found = find_session(app, session_id)
    recent = app.run(app.scope.sessions.get_recent_events(found.id, turns, tokens))
    fitting, notes = fit_events(recent, tokens)
    data = {"events": [event.to_dict() for event in fitting]}
    return Output(data, wording.format_events(fitting), [*recent.warnings, *notes])


@command.command("state")
@click.argument("session_id", metavar="ID")
@click.option("--set", "patch", metavar="JSON", help="Merge this object; null removes a key")
@prints
def state(app: App, session_id: str, patch: str | None) -> Output:
    """Show or change the scratchpad"""
    found = find_session(app, session_id)
    if patch is None:
        result = app.run(app.scope.sessions.get_state(found.id))
    else:
        changes = parse_json("--set", patch)
        result = run_write(
            app,
            "session.update_state",
            lambda scope: scope.sessions.update_state(found.id, changes),
        )
    return Output(result.to_dict(), wording.format_json(result.scratchpad))


@command.command("end")
@click.argument("session_id", metavar="ID")
@prints
def end(app: App, session_id: str) -> Output:
    """End a session; nothing is removed"""
    found = find_session(app, session_id)
    run_write(app, "session.end", lambda scope: scope.sessions.end_session(found.id))
    session = app.run(app.scope.sessions.get_session(found.id))
    had_ended = found.ended_at is not None
    return Output(session.to_dict(), wording.describe_end(session, before=had_ended))


@command.command("list")
@click.option("--limit", default=20, show_default=True, metavar="N", help="At most N")
@click.option("--below", metavar="ID", help="Older than this one")
@prints
def list_(app: App, limit: int, below: str | None) -> Output:
    """List sessions, newest first"""
    _check_given("--limit", limit, least=1)
    last = find_session_id(app, below)
    sessions = app.run(app.scope.sessions.list_sessions(limit, last))
    statuses = _find_statuses(app, sessions)
    off = list_off_ids(app.settings.home, sessions)
    listed = [
        {**session.to_dict(), **statuses[session.id].to_dict(), "is_off": session.id in off}
        for session in sessions
    ]
    data = {"sessions": listed}
    titles = app.run(find_titles(app.scope.sessions, sessions))
    text = wording.format_sessions(sessions, statuses, titles, off)
    if not sessions:
        text = wording.describe_no_sessions(app.settings.developer, app.settings.workspace)
    return Output(data, text)


@command.command("rename")
@click.argument("session_id", metavar="ID")
@click.argument("name")
@prints
def rename(app: App, session_id: str, name: str) -> Output:
    """Give a session a name"""
    found = find_session(app, session_id)
    session = run_write(
        app, "session.rename", lambda scope: scope.sessions.rename_session(found.id, name)
    )
    text = f"{session.id} is now {session.name!r}"
    return Output(session.to_dict(), text, _list_name_warnings(app, session))


@command.command("resume")
@click.argument("session_id", metavar="ID")
@prints
def resume(app: App, session_id: str) -> Output:
    """Continue a session; an ended one continues in a new one"""
    found = find_session(app, session_id)
    warnings = _list_open_successors(app, found)
    session = run_write(
        app, "session.resume", lambda scope: scope.sessions.resume_session(found.id)
    )
    text = app.run(hand_over(app, session, worktree=session.worktree))
    last = app.run(app.scope.sessions.get_recent_thread_events(session.id, SHOWN_EVENTS))
    data = {**session.to_dict(), "resume_text": text}
    status = _find_statuses(app, [session])[session.id]
    described = wording.describe_resume(found, session, status, text, last)
    return Output(data, described, warnings)


def _list_open_successors(app: App, found: Session) -> list[str]:
    if found.ended_at is None:
        return []
    below = {found.id}
    open_ids: list[str] = []
    for session in app.run(app.scope.sessions.list_related_sessions(found.id)):
        if session.resumed_from in below:
            below.add(session.id)
            open_ids += [session.id] if session.ended_at is None else []
    return [f"It went on in {id_} already, which is open; now there are two." for id_ in open_ids]


@command.command("thread")
@click.argument("session_id", metavar="ID")
@prints
def thread(app: App, session_id: str) -> Output:
    """Show one line of work: its sessions, read as one"""
    found = find_session(app, session_id)
    sessions = app.run(app.scope.sessions.list_thread(found.id))
    events = app.run(app.scope.sessions.list_thread_events(found.id))
    data = {
        "sessions": [session.to_dict() for session in sessions],
        "events": [event.to_dict() for event in events],
    }
    statuses = _find_statuses(app, sessions)
    titles = app.run(find_titles(app.scope.sessions, sessions))
    parts = [wording.format_sessions(sessions, statuses, titles), wording.format_events(events)]
    return Output(data, "\n\n".join(parts))


@command.command("verify")
@click.argument("session_id", metavar="[ID]", required=False)
@prints
def verify(app: App, session_id: str | None) -> Output:
    """Check that no event was edited, removed or moved"""
    chosen = _list_chosen(app, session_id)
    is_hidden = not os.isatty(2)
    with click.progressbar(chosen, label="Verifying", file=sys.stderr, hidden=is_hidden) as bar:
        results = [app.run(app.scope.sessions.verify_session(session.id)) for session in bar]
    is_sound = all(result.ok for result in results)
    data = {"ok": is_sound, "sessions": [result.to_dict() for result in results]}
    exit_code = 0 if is_sound else 5
    return Output(data, wording.describe_verification(results), exit_code=exit_code)


def _find_statuses(app: App, sessions: list[Session]) -> dict[str, SessionStatus]:
    return app.run(find_statuses(app.scope, app.settings.home, sessions))


def _list_chosen(app: App, session_id: str | None) -> list[Session]:
    if session_id is not None:
        return [find_session(app, session_id)]
    return app.run(app.scope.sessions.list_all_sessions())


def _check_given(option: str, value: int | None, *, least: int = 0) -> None:
    """The verb checks it too, but reports its own argument's name instead of the option's."""
    if value is not None:
        check_count(option, value, least=least)


def _list_name_warnings(app: App, session: Session) -> list[str]:
    """Names are for people and need not be unique, but a person should know."""
    if session.name is None:
        return []
    found = app.run(app.scope.sessions.list_named(session.name, 2))
    if len(found) < 2:
        return []
    newest, _ = found
    same = f"Another session is called {session.name!r} too."
    return [f"{same} The name means the newest, {newest.id}; use the id for any other."]
