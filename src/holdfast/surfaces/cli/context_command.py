"""`holdfast context …`: what the next session is reminded of."""

from __future__ import annotations

import os

import click

from holdfast.app import App
from holdfast.scope import Scope
from holdfast.sessions.model import Session, SetChange
from holdfast.surfaces.cli import wording
from holdfast.surfaces.cli.running import (
    Group,
    Output,
    current_folder,
    find_session,
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

    Without --session this is the newest open session of the working tree.
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
            session_id=_find_id(app, session_id),
            caller=Caller(worktree=here()),
            user_id=app.settings.developer,
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
    chosen = which_session.find_session(
        app.scope, _find_id(app, session_id), Caller(worktree=here())
    )
    choice = app.run(chosen)
    session = choice.session
    context = {}
    if session is not None:
        context = app.run(app.scope.sessions.get_relevant_context(session.id, name))
    shown = {key: items for key, items in context.items() if items}
    data = {"context": context, "session_id": session.id if session else None}
    return Output(data, wording.format_context_sets(shown, name), choice.describe(ANOTHER))


def _find_id(app: App, session_id: str | None) -> str | None:
    """The whole id of a session that a person has named."""
    return None if session_id is None else find_session(app, session_id).id


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
        warnings.append(f"Kept, and not there now: {', '.join(missing)}")
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
