"""`holdfast conversation …`: what was said about one topic, as a folder."""

from __future__ import annotations

import sys

import click

from holdfast.app import App
from holdfast.conversations.model import COMPLETED, PAUSED, STATUSES, TYPES, Conversation, Saved
from holdfast.errors import Action
from holdfast.ground.text import cut, plural, term_safe
from holdfast.sessions.model import Session
from holdfast.surfaces.cli.confirming import confirm
from holdfast.surfaces.cli.running import Group, Output, here, prints, run_write, wants_json
from holdfast.surfaces.cli.terminal import is_terminal
from holdfast.usecases import conversing, resuming, sharing
from holdfast.usecases.which_session import Caller, find_session_to_read

IN_REPOSITORY = "Keep conversations in this repository, as files for git?"
WITH_MESSAGES = "Let git keep what is said in them too? Whoever reads the repository can read it."
NO_CONVERSATIONS = "No conversations here yet. `holdfast conversation new TYPE TITLE` begins one."
NOTHING_TO_PRUNE = "Nothing to remove: no completed conversation here has a saved history."
NOTHING_REMOVED = "Nothing was removed."
NOTHING_MOVED = "Nothing was moved."
IN_GIT = "What git has committed of them stays in its history."
NOT_MERGED = "git had not merged its session.json. Both sides of it are kept in {}"
NOTHING_TO_COMMIT = "Nothing new to commit"
PRIVATE = "It is kept in the data folder, not in this repository, so git has nothing of it."
LINE_CHARS = 60

which = click.argument("wanted", required=False, metavar="[ID]")


@click.group("conversation", cls=Group)
def command() -> None:
    """Keep what was said about a topic as a folder

    Without an ID this is the conversation of the newest session of the working tree.
    """


@command.command("new")
@click.argument("type_", metavar="TYPE")
@click.argument("title")
@prints
def new(app: App, type_: str, title: str) -> Output:
    """Begin a conversation of a type"""
    worktree = here()
    _ask_where(app, worktree)
    session = _find_open_session(app, worktree)
    made = run_write(
        app,
        "conversation.new",
        lambda _: conversing.begin_conversation(app, worktree, type_, title, session),
        effect="files",
    )
    folder = conversing.open_conversations(app, worktree).files.find_folder(made.id)
    notes = [] if type_ in TYPES else [f"A type of your own; known: {', '.join(TYPES)}."]
    text = f"{made.id}\n{folder}"
    return Output({"conversation": made.to_dict(), "folder": folder}, text, notes)


@command.command("list")
@click.option("--status", metavar="S", help=f"Only these: {', '.join(STATUSES)}")
@click.option("--limit", type=click.IntRange(1, 1000), default=50, help="At most; default 50")
@prints
def list_(app: App, status: str | None, limit: int) -> Output:
    """List the conversations of this repository"""
    service = conversing.open_conversations(app, here())
    found = app.run(service.list_conversations(status=status, limit=limit))
    data = {"conversations": [each.to_dict() for each in found]}
    lines = [_describe_line(each) for each in found]
    return Output(data, "\n".join(lines) or NO_CONVERSATIONS)


@command.command("show")
@click.argument("wanted", metavar="ID")
@prints
def show(app: App, wanted: str) -> Output:
    """Show one with everything that was said"""
    worktree = here()
    service = conversing.open_conversations(app, worktree)
    found = app.run(service.get_conversation(wanted))
    history = app.run(service.get_history(found.id))
    resumable = app.run(resuming.describe_conversation(app, worktree, found))
    messages = app.run(resuming.gather_messages(app, worktree, resumable))
    data = {
        "conversation": found.to_dict(),
        "messages": [message.to_dict() for message in messages],
        "damaged_lines": list(history.damaged_lines),
    }
    said = [
        f"{message.at:%Y-%m-%d %H:%M}Z {message.role}\n{message.content}" for message in messages
    ]
    warnings = [each for each in (found.problem, found.conflict) if each]
    if history.damaged_lines:
        count = plural(len(history.damaged_lines), "line")
        warnings.append(f"{count} of messages.jsonl cannot be read; they are left as they are")
    return Output(data, "\n\n".join([_describe(found), *said]), warnings)


@command.command("save")
@which
@click.option("--summary", metavar="T", help="What it is about now, in a sentence")
@click.option("--commit", is_flag=True, help="Commit its files, and no others")
@prints
def save(app: App, wanted: str | None, summary: str | None, commit: bool) -> Output:
    """Write what was said into its folder"""
    saved = _save(app, wanted, summary=summary)
    data, text = _to_data(saved), _describe_saved(saved)
    notes = _list_notes(saved)
    if commit:
        made = conversing.commit_conversation(here(), saved)
        data["commit"] = made
        text += f"\nCommitted {made[:7]}" if made else f"\n{NOTHING_TO_COMMIT}"
        if not saved.conversation.is_shared:
            notes = [*notes, PRIVATE]
    return Output(data, text, notes)


@command.command("pause")
@which
@click.option("--summary", metavar="T", help="What it is about now, in a sentence")
@prints
def pause(app: App, wanted: str | None, summary: str | None) -> Output:
    """Save it and mark it as paused"""
    saved = _save(app, wanted, summary=summary, status=PAUSED)
    text = f"{_describe_saved(saved)}\nTo continue: holdfast resume {saved.conversation.id}"
    return Output(_to_data(saved), text, _list_notes(saved))


@command.command("complete")
@which
@prints
def complete(app: App, wanted: str | None) -> Output:
    """Save it and mark it as completed"""
    saved = _save(app, wanted, status=COMPLETED)
    return Output(_to_data(saved), _describe_saved(saved), _list_notes(saved))


@command.command("prune")
@which
@click.option("--dry-run", is_flag=True, help="Only show which it would be")
@click.option("--yes", is_flag=True, help="Do not ask")
@prints
def prune(app: App, wanted: str | None, dry_run: bool, yes: bool) -> Output:
    """Remove the saved histories of completed ones

    Without an ID those of all completed conversations here. Documents and summaries stay, and so
    does what git has committed. `holdfast forget` erases what was said from the log as well.
    """
    service = conversing.open_conversations(app, here())
    found = app.run(service.list_prunable(wanted))
    lines = [_describe_line(each) for each in found]
    ids = [each.id for each in found]
    if not found:
        return Output({"pruned": [], "is_dry_run": dry_run}, NOTHING_TO_PRUNE)
    if dry_run:
        return Output({"pruned": ids, "is_dry_run": True}, "\n".join([*lines, NOTHING_REMOVED]))
    if not yes:
        click.echo(term_safe("\n".join(lines)), err=True)
        question = f"Remove what was said in {plural(len(ids), 'conversation')}?"
        selection = f"{ids[0]} --yes" if wanted is not None else "--yes"
        confirm(question, Action("conversation.prune", selection=selection))
    for id_ in ids:
        app.run(conversing.record_change(app, id_, "pruned"))
        app.run(service.prune_conversation(id_))
    notes = [IN_GIT] if any(each.is_shared for each in found) else []
    text = f"Removed the histories of {plural(len(ids), 'conversation')}"
    return Output({"pruned": ids, "is_dry_run": False}, text, notes)


@command.command("archive")
@click.argument("wanted", metavar="ID")
@click.option("--dry-run", is_flag=True, help="Only show which one it would be")
@prints
def archive(app: App, wanted: str, dry_run: bool) -> Output:
    """Move one out of the lists, into the folder archive

    Nothing is removed: a folder that is moved back is listed again.
    """
    service = conversing.open_conversations(app, here())
    found = app.run(service.get_conversation(wanted))
    if dry_run:
        data = {"id": found.id, "is_dry_run": True}
        return Output(data, f"{_describe_line(found)}\n{NOTHING_MOVED}")
    app.run(conversing.record_change(app, found.id, "archived"))
    folder = app.run(service.archive_conversation(found.id))
    return Output({"id": found.id, "folder": folder}, f"Archived {found.id}\n{folder}")


# --- inside ---------------------------------------------------------------------------------------


def _save(app: App, wanted: str | None, **given: str | None) -> Saved:
    worktree = here()
    caller = Caller(worktree=worktree, is_person=True)
    session = app.run(find_session_to_read(app.scope, None, caller)).session
    return run_write(
        app,
        "conversation.save",
        lambda _: conversing.save_conversation(app, worktree, session, wanted, **given),  # type: ignore[arg-type]
        effect="files",
    )


def _find_open_session(app: App, worktree: str) -> Session | None:
    """The newest one here: what a person types is about that."""
    return next(iter(app.run(app.scope.sessions.find_current_sessions(worktree))), None)


def _ask_where(app: App, worktree: str) -> None:
    """Once for a repository; where nobody can be asked, the data folder is the answer for now."""
    home = app.settings.home
    repository = sharing.find_repository_name(worktree)
    if repository is None or sharing.find_switch(home, repository, conversing.SWITCH) is not None:
        return
    if wants_json() or not is_terminal(sys.stdin):
        return
    is_in = click.confirm(IN_REPOSITORY, default=False, err=True)
    sharing.set_switch(home, repository, conversing.SWITCH, is_on=is_in)
    if is_in:
        tracks = click.confirm(WITH_MESSAGES, default=False, err=True)
        sharing.set_switch(home, repository, conversing.MESSAGES_SWITCH, is_on=tracks)


def _to_data(saved: Saved) -> dict[str, object]:
    return {
        "conversation": saved.conversation.to_dict(),
        "added": saved.added,
        "paths": list(saved.paths),
    }


def _list_notes(saved: Saved) -> list[str]:
    return [] if saved.kept is None else [NOT_MERGED.format(saved.kept)]


def _describe_line(found: Conversation) -> str:
    mark = f"{found.status:<9}"
    title = cut(found.title, LINE_CHARS)
    return f"{found.last_active:%Y-%m-%d %H:%M}Z  {mark}  {found.id}  {title}"


def _describe(found: Conversation) -> str:
    lines = [
        f"{found.type} / {found.title}",
        f"{found.status}, last active {found.last_active:%Y-%m-%d %H:%M}Z",
        f"{plural(found.message_count, 'message')}, about {plural(found.token_count, 'token')}",
    ]
    if found.context_summary:
        lines.append(found.context_summary)
    return "\n".join(lines)


def _describe_saved(saved: Saved) -> str:
    found = saved.conversation
    count = plural(found.message_count, "message")
    return f"Saved {found.id}: {count}, {saved.added:,} new, {found.status}"
