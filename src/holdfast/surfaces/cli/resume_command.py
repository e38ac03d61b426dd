"""`holdfast resume`: go on with a conversation or a session, in any client."""

from __future__ import annotations

import os
import shlex
import sys

import click

from holdfast.app import App
from holdfast.clients import CLIENTS
from holdfast.conversations.errors import AmbiguousConversationError
from holdfast.conversations.resuming import describe_age
from holdfast.ground import clock
from holdfast.ground.text import cut, plural, term_safe
from holdfast.surfaces.cli.errors import DeclinedError
from holdfast.surfaces.cli.running import Command, Output, here, prints, wants_json
from holdfast.surfaces.cli.terminal import is_terminal
from holdfast.usecases import opening, resuming, setting_up
from holdfast.usecases.catching_up import catch_up_for_reader
from holdfast.usecases.opening import Start
from holdfast.usecases.resuming import Resumable, Resume

NOTHING = "Nothing to resume here yet: no agent has worked in this working tree."
NOT_RESUMED = "Nothing was resumed."
PICK = "Number, words to search, or q"
NO_HOOKS = (
    "{} is not set up, so nothing hands the text over: `holdfast init --client {}` sets it up."
)
LEFT_OUT = "What was said in {} was not looked at: there is too much of it."
SHOWN = 10
TITLE_CHARS, PREVIEW_CHARS, QUERY_CHARS = 48, 1_500, 80


@click.command("resume", cls=Command)
@click.argument("words", nargs=-1, metavar="[WORDS or ID]")
@click.option("--in", "client", metavar="CLIENT", help=f"Open this one: {', '.join(CLIENTS)}")
@click.option("--print", "is_printed", is_flag=True, help="Print what the agent would be handed")
@click.option("--list", "is_listed", is_flag=True, help="List what can be resumed here")
@prints
def command(
    app: App, words: tuple[str, ...], client: str | None, is_printed: bool, is_listed: bool
) -> Output:
    """Go on with earlier work, in any client

    WORDS are looked for in titles, types, summaries, in what you asked and in saved conversations.
    Without any, you choose from a list. The same client goes on with its own session as long as it
    has it.
    """
    worktree = here()
    query = " ".join(words).strip()
    app.run(catch_up_for_reader(app, worktree))  # a client that was killed has reported nothing
    if is_listed:
        return _list(app, worktree, query)
    found = _choose(app, worktree, query)
    if found is None:
        return Output({"resume": None}, NOTHING)
    place = setting_up.make_place(app.settings, worktree, (), os.environ)
    if is_printed:
        chosen = opening.choose_client(found, client, os.environ) if client else None
        resume = app.run(resuming.prepare(app, worktree, found, chosen, place=place))
        return Output(_to_data(resume, None), resume.text, found.notes)
    target = opening.choose_client(found, client, os.environ)
    head = app.run(resuming.find_head(app, found))
    start = opening.plan_start(app.settings.home, place, found, target, head)
    resume = app.run(
        resuming.prepare(
            app,
            worktree,
            found,
            target,
            place=place,
            is_own=start.is_own,
            is_preview=start.has_hooks,  # the hook writes it again when the client asks for it
        )
    )
    return _open(app, start, resume)


def _list(app: App, worktree: str, query: str) -> Output:
    if not query:
        known = app.run(resuming.list_resumables(app, worktree))
        return _show_list(known, NOTHING, [])
    found = app.run(resuming.look_for(app, worktree, query))
    notes = [LEFT_OUT.format(plural(found.left_out, "conversation"))] if found.left_out else []
    return _show_list(found.resumables, f"Nothing here has {cut(query, QUERY_CHARS)!r}.", notes)


def _show_list(listed: list[Resumable], otherwise: str, notes: list[str]) -> Output:
    data = {"resumables": [describe(each) for each in listed]}
    text = "\n".join(_describe_line(each) for each in listed)
    return Output(data, text or otherwise, notes)


# --- choosing -------------------------------------------------------------------------------------


def _choose(app: App, worktree: str, query: str) -> Resumable | None:
    """By words, else by a person who is shown a list; None where there is nothing."""
    is_asked = is_terminal(sys.stdin, sys.stderr) and not wants_json()
    if not query:
        known = app.run(resuming.list_resumables(app, worktree))
        if not known or not is_asked:
            return known[0] if known else None
        return _pick(app, worktree, known)
    try:
        return app.run(resuming.choose(app, worktree, query))
    except AmbiguousConversationError:
        if not is_asked:
            raise
        return _pick(app, worktree, app.run(resuming.search(app, worktree, query)))


def _pick(app: App, worktree: str, known: list[Resumable]) -> Resumable:
    """A list with numbers; words make it shorter, a number shows a preview and asks once more."""
    shown = known
    while True:
        for number, each in enumerate(shown[:SHOWN], 1):
            click.echo(term_safe(f"{number:>3}  {_describe_line(each)}"), err=True)
        if len(shown) > SHOWN:
            click.echo(f"     {len(shown) - SHOWN} more; type words to find them", err=True)
        typed = click.prompt(PICK, default="1", err=True).strip()
        if typed == "q":
            raise DeclinedError(NOT_RESUMED)
        if typed.isdecimal() and 1 <= int(typed) <= len(shown[:SHOWN]):
            chosen = shown[int(typed) - 1]
            preview = app.run(resuming.prepare(app, worktree, chosen, None, is_preview=True)).text
            click.echo(term_safe(cut(preview, PREVIEW_CHARS)), err=True)
            if _confirm():
                return chosen
            continue
        if typed.isdecimal():
            click.echo(f"There is no number {typed[:4]} in the list.", err=True)
            continue
        found = app.run(resuming.search(app, worktree, typed))
        if not found:
            click.echo(f"Nothing here has {cut(typed, QUERY_CHARS)!r}.", err=True)
        shown = found or known


def _confirm() -> bool:
    typed: str = click.prompt(
        "Go on with this one? [Y/n/q]",
        default="y",
        type=click.Choice(["y", "n", "q"], case_sensitive=False),
        show_choices=False,
        show_default=False,
        err=True,
    )
    if typed == "q":
        raise DeclinedError(NOT_RESUMED)
    return typed == "y"


# --- opening --------------------------------------------------------------------------------------


def _open(app: App, start: Start, resume: Resume) -> Output:
    title = start.client.TITLE
    typed = shlex.join(start.arguments)
    data, notes = _to_data(resume, start), resume.of.notes
    came_from = resume.of.subject.client
    way = title if came_from in (None, title) else f"{came_from} → {title}"
    about = f"{cut(resume.of.title, TITLE_CHARS)} ({resume.of.subject.type})"
    lines = [about, *(change.text for change in resume.changes)]
    said = f"{way}. {plural(len(resume.text), 'character')}."
    if start.is_own:
        said = f"{way}, in its own session."
    if not start.has_hooks:
        warning = NO_HOOKS.format(title, start.client.NAME)
        return Output(data, "\n".join([*lines, said, "", resume.text]), [warning, *notes])
    opening.promise(app.settings.home, start)
    if wants_json() or not is_terminal(sys.stdin, sys.stdout):
        return Output(data, "\n".join([*lines, f"{said} Within ten minutes, type:", typed]), notes)
    click.echo(term_safe("\n".join([*notes, *lines, f"{said} Opening …"])), err=True)
    _become(start)
    return Output(data, "")  # pragma: no cover - the client has taken this process


def _become(start: Start) -> None:
    """The client in the place of this process: its terminal, its signals, its exit code."""
    os.chdir(start.folder)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os.execvp(start.arguments[0], start.arguments)


# --- wording --------------------------------------------------------------------------------------


def describe(each: Resumable) -> dict[str, object]:
    return {
        "id": each.id,
        "type": each.subject.type,
        "title": each.title,
        "status": each.status,
        "last_active": clock.to_text(each.subject.last_active),
        "client": each.client,
        "summary": each.subject.summary,
        "session_id": each.session.id if each.session else None,
    }


def _describe_line(each: Resumable) -> str:
    age = describe_age(clock.now() - each.subject.last_active)
    title = cut(" ".join(each.title.split()), TITLE_CHARS)
    where = each.subject.client or ""
    kind = f"{each.subject.type}, {each.status}"
    return f"{title:<{TITLE_CHARS}}  {where:<11}  {age:<14}  {kind}"


def _to_data(resume: Resume, start: Start | None) -> dict[str, object]:
    data: dict[str, object] = {
        "resume": {
            **describe(resume.of),
            "text": resume.text,
            "chars": len(resume.text),
            "changes": [change.to_dict() for change in resume.changes],
        }
    }
    if start is not None:
        data["start"] = {
            "client": start.client.NAME,
            "arguments": list(start.arguments),
            "folder": start.folder,
            "is_own": start.is_own,
            "has_hooks": start.has_hooks,
        }
    return data
