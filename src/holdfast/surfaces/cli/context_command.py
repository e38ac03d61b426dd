"""`holdfast context …`: what the next session is reminded of."""

from __future__ import annotations

import os
from typing import Any

import click

from holdfast.app import App
from holdfast.scope import Scope
from holdfast.sessions.model import Session, SetChange
from holdfast.surfaces.cli import wording
from holdfast.surfaces.cli.running import (
    Group,
    Output,
    current_folder,
    find_session_id,
    here,
    prints,
)
from holdfast.usecases import which_session
from holdfast.usecases.which_session import Caller, SessionChoice
from holdfast.write import Request

ANOTHER = "Choose another with --session"


@click.group("context", cls=Group)
def command() -> None:
    """Set what the next session is reminded of

    Without --session this is the newest session of the working tree; to set, the newest open one.
    """


@command.command("set")
@click.argument("name")
@click.argument("items", nargs=-1, metavar="[ITEM]...")
@click.option("--merge", is_flag=True, help="Add to what is there")
@click.option("--session", "session_id", metavar="ID", help="Session's id or name")
@prints
def set_(
    app: App, name: str, items: tuple[str, ...], merge: bool, session_id: str | None
) -> Output:
    """Set, merge or clear a context set; no items clears it"""
    kept = _make_absolute(name, items)
    mode = "merge" if merge else "replace"

    async def verb(scope: Scope, session: Session) -> SetChange:
        return await scope.sessions.set_relevant_context(session.id, name, kept, mode=mode)

    request: Request[SetChange] = Request("context.set")
    done, choice = app.run(
        which_session.write_in_session(
            app.scope,
            request,
            verb,
            session_id=find_session_id(app, session_id),
            caller=Caller(worktree=here(), is_person=True),
            settings=app.settings,
        )
    )
    change = done.result
    data = {**change.to_dict(), "session_id": change.session_id}
    warnings = _describe_changes(change, choice, kept)
    return Output(data, wording.describe_set_change(change), warnings)


@command.command("show")
@click.argument("name", required=False)
@click.option("--session", "session_id", metavar="ID", help="Session's id or name")
@prints
def show(app: App, name: str | None, session_id: str | None) -> Output:
    """Show all context sets, or one of them"""
    given = find_session_id(app, session_id)
    caller = Caller(worktree=here(), is_person=True)
    choice = app.run(which_session.find_session_to_read(app.scope, given, caller))
    data: dict[str, Any] = {"context": {}, "session_id": None}
    if choice.session is not None:
        found_id = choice.session.id
        context = app.run(app.scope.sessions.get_relevant_context(found_id, name))
        data = {"context": context, "session_id": found_id}
    filled = {key: items for key, items in data["context"].items() if items}
    text = wording.format_context_sets(filled, name)
    return Output(data, text, choice.describe(ANOTHER))


def _describe_changes(
    change: SetChange, choice: SessionChoice, items: tuple[str, ...]
) -> list[str]:
    warnings = list(choice.describe(ANOTHER))
    if choice.session is None:
        warnings.append(f"Started session {change.session_id}, because none was open here.")
    if change.warning:
        warnings.append(change.warning)
    missing = [item for item in items if not os.path.exists(item)]
    if change.set_name == "files" and missing:
        listed = ", ".join(missing)
        warnings.append(f"Kept, and not there now: {listed}")
    return warnings


def _make_absolute(name: str, items: tuple[str, ...]) -> tuple[str, ...]:
    """Files as absolute paths: the session that is reminded of them may be in another folder."""
    if name != "files":
        return items
    folder = current_folder()
    return tuple(_join_path(folder, item) for item in items)


def _join_path(folder: str, item: str) -> str:
    if not item.strip():
        return item  # the verb refuses it, as it was typed
    return os.path.normpath(os.path.join(folder, item))
