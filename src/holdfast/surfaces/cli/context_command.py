"""`holdfast context …`: what the next session is reminded of."""

from __future__ import annotations

import os

import click

from holdfast.app import App
from holdfast.lifecycle import branch_of
from holdfast.sessions.context_sets import change_set
from holdfast.sessions.model import Session
from holdfast.surfaces.cli import wording
from holdfast.surfaces.cli.running import Group, Output, current_folder, find_session, here, prints


@click.group("context", cls=Group)
def command() -> None:
    """Set what the next session is reminded of

    Without --session the newest open session of this working tree is meant.
    """


@command.command("set")
@click.argument("name")
@click.argument("items", nargs=-1, metavar="[ITEM]...")
@click.option("--merge", is_flag=True, help="Add to what is there")
@click.option("--session", "session_id", metavar="ID", help="Session's id or name")
@prints
def set_(app: App, name: str, items: tuple[str, ...], merge: bool, session_id: str | None) -> Output:
    """Set, merge or clear a context set; no items clears it"""
    session, warnings = _chosen(app, session_id)
    mode, kept = "merge" if merge else "replace", _as_kept(name, items)
    if session is None:
        change_set({}, name, kept, mode)  # what will be refused must not leave a session behind
        session = _started(app)
        warnings.append(f"Started session {session.id}, because none was open here.")
    change = app.run(app.sessions.set_relevant_context(session.id, name, kept, mode=mode))
    if change.warning:
        warnings.append(change.warning)
    if missing := [item for item in kept if name == "files" and not os.path.exists(item)]:
        warnings.append(f"Kept, and not there now: {', '.join(missing)}")
    return Output({**change.to_dict(), "session_id": session.id}, wording.changed(change), warnings)


@command.command("show")
@click.argument("name", required=False)
@click.option("--session", "session_id", metavar="ID", help="Session's id or name")
@prints
def show(app: App, name: str | None, session_id: str | None) -> Output:
    """Show all context sets, or one of them"""
    session, warnings = _chosen(app, session_id)
    context = app.run(app.sessions.get_relevant_context(session.id, name)) if session else {}
    shown = {key: items for key, items in context.items() if items}
    data = {"context": context, "session_id": session.id if session else None}
    return Output(data, wording.context_sets(shown, name), warnings)


def _chosen(app: App, session_id: str | None) -> tuple[Session | None, list[str]]:
    """The session that is meant, and a note when that was a choice."""
    if session_id is not None:
        return find_session(app, session_id), []
    found = app.run(app.sessions.find_current_sessions(here()))
    if len(found) < 2:
        return (found[0] if found else None), []
    note = f"Several sessions are open here; the newest is meant: {found[0].id}. Choose another with --session."
    return found[0], [note]


def _as_kept(name: str, items: tuple[str, ...]) -> tuple[str, ...]:
    """Files as absolute paths: whoever is reminded of them may stand in another folder."""
    if name != "files":
        return items
    folder = current_folder()
    return tuple(os.path.normpath(os.path.join(folder, item)) if item.strip() else item for item in items)


def _started(app: App) -> Session:
    worktree, user_id = here(), app.settings.developer
    branch = branch_of(worktree)
    return app.run(app.sessions.create_session("cli", user_id, git_branch=branch, client="cli", worktree=worktree))
