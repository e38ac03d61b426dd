"""`holdfast team …`: what one works on, shown to others, and what they show.

Every call is counted, also one that is refused here. Nothing but a publication, a claim or becoming
visible switches the exchange on.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import click

from holdfast.app import App
from holdfast.errors import Action, HoldfastError, InvalidValueError, Unavailable
from holdfast.ground.fence import fence_key
from holdfast.ground.settings import load_settings
from holdfast.ground.text import term_safe
from holdfast.surfaces.cli import team_wording as words
from holdfast.surfaces.cli.confirming import confirm
from holdfast.surfaces.cli.errors import UndraftedError, UnpublishedError
from holdfast.surfaces.cli.joining_command import join, leave
from holdfast.surfaces.cli.running import (
    Command,
    Group,
    Output,
    current_folder,
    describe_error,
    here,
    prints,
    show,
    wants_json,
)
from holdfast.surfaces.cli.terminal import is_terminal
from holdfast.team import publishing_rules
from holdfast.team.errors import (
    ChangeTakenBackError,
    ChangeWaitsError,
    InvalidFieldError,
    NotMetadataError,
    SecretFoundError,
)
from holdfast.team.model import ACCEPTED, PRIVATE, PUBLIC, VISIBILITIES, Handoff, Publication
from holdfast.team.service import ENDS, ENDS_OF_ALL, may_be_cut
from holdfast.team.waiting import Outbox
from holdfast.usecases import exchange, exchange_place, sharing
from holdfast.usecases.exchange_place import Place
from holdfast.usecases.overlaps import list_overlaps
from holdfast.usecases.which_session import Caller, find_session, find_session_to_read
from holdfast.write import count_call

PUBLISH = f"{exchange.SESSION}.publish_context"
GET, REVOKE = f"{exchange.SESSION}.get_context", f"{exchange.SESSION}.revoke_context"
STATE, VISIBILITY = f"{exchange.TEAM}.state", f"{exchange.TEAM}.visibility"
QUESTION, UNPUBLISHED = "Publish?", "Nothing was published."
FieldError = InvalidFieldError | InvalidValueError | NotMetadataError | SecretFoundError
FIELD_ERRORS = (InvalidFieldError, InvalidValueError, NotMetadataError, SecretFoundError)


class CountedCommand(Command):
    """A call of the exchange. One whose words cannot be used is refused, and counted as that."""

    def __init__(self, *args: Any, usage: str, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.usage = usage

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(context, args)
        except click.UsageError:
            if not context.resilient_parsing:
                _count_misuse(self.usage)
            raise

    def invoke(self, context: click.Context) -> Any:
        try:
            return super().invoke(context)
        except FIELD_ERRORS as error:
            _name_as_typed(error, context)
            raise
        except (ChangeWaitsError, ChangeTakenBackError) as error:
            data = {"waiting": {"receipt": error.receipt, "code": error.code}}
            show(Output(data, error.message), as_json=context.meta["json"])
            return 0
        finally:
            _report_refused()


def _report_refused() -> None:
    """What waited for the server, and what it did not take when it was sent: said once."""
    with suppress(HoldfastError):
        outbox = Outbox(load_settings().home)
        refused = outbox.list_refused()
        for note in words.describe_refused(refused):
            click.echo(f"Note: {term_safe(note)}", err=True)
        if refused:
            outbox.forget_refused()


def _name_as_typed(error: FieldError, context: click.Context) -> None:
    """A rule names a field; a person typed an option, perhaps several times."""
    name, _, number = error.field.rstrip("]").partition("[")
    typed = {each.name: each for each in context.command.params}.get(name)
    if typed is None:
        return
    option = typed.opts[-1] if isinstance(typed, click.Option) else name.removesuffix("s").upper()
    if number and len(context.params[name]) > 1:
        option += f" number {int(number) + 1}"
    error.message = option + error.message.removeprefix(error.field)


def _count_misuse(usage: str) -> None:
    with suppress(HoldfastError), App() as app:
        app.run(count_call(app.scope, usage, "usage"))


@contextmanager
def _counted(app: App, usage: str) -> Iterator[None]:
    """What is refused before the call is made."""
    try:
        yield
    except HoldfastError as error:
        app.run(count_call(app.scope, usage, error.code))
        raise


# --- the Tab key ----------------------------------------------------------------------------------


def _complete(
    find: Callable[[App], Sequence[str]],
) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """Candidates from the store; none where it does not answer."""

    def complete(context: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
        with suppress(HoldfastError), App() as app:
            return [found for found in find(app) if found.startswith(begun)]
        return []

    return complete


@_complete
def complete_developer(app: App) -> Sequence[str]:
    return [each.handle for each in app.run(app.scope.team.get_state()).developers]


@_complete
def complete_context(app: App) -> Sequence[str]:
    return [each.id for each in app.run(app.scope.team.look_near()).own_contexts]


@_complete
def complete_claim(app: App) -> Sequence[str]:
    known = app.run(app.scope.team.look_near()).own_claims
    return [each.id for each in known if not each.is_soft]


@_complete
def complete_handoff(app: App) -> Sequence[str]:
    return [each.id for each in app.run(app.scope.team.look_near()).handoffs]


# --- published contexts ---------------------------------------------------------------------------


@click.group("team", cls=Group)
def command() -> None:
    """Show others what you work on, and see what they do

    Others are the developers of one workspace, who share a store. Metadata only: never prompts,
    code, diffs or the contents of files.
    """


@command.command("publish", cls=CountedCommand, usage=PUBLISH)
@click.option("--title", metavar="T", help="What it is about, in a line")
@click.option("--summary", metavar="S", help="What is done, and what was decided")
@click.option("--file", "files_touched", metavar="P", multiple=True, help="A file that it is about")
@click.option("--next", "next_actions", metavar="A", multiple=True, help="What comes next")
@click.option("--blocker", "blockers", metavar="B", multiple=True, help="What stands in the way")
@click.option("--task", "task_ids", metavar="ID", multiple=True, help="A ticket")
@click.option("--repo", metavar="R", help="Another repository than the one here")
@click.option("--branch", metavar="B", help="Another branch than the one here")
@click.option("--ttl-hours", metavar="H", type=int, help="When it expires: 1 to 168; default 24")
@click.option("--yes", is_flag=True, help="Do not ask")
@prints
def publish(app: App, yes: bool, **given: Any) -> Output:
    """Publish what you work on, drafted from git and notes

    What is not given is drafted, and shown before it is sent. What is published again for the same
    repository and branch replaces the one before.
    """
    from holdfast.team.drafting import Given
    from holdfast.usecases.publishing import draft_publication

    stated = {name: value for name, value in given.items() if value not in (None, ())}
    worktree = here()
    was_on = app.run(exchange.is_exchange_on(app))
    with _counted(app, PUBLISH):
        _allow(app, exchange_place.find_place(worktree))
        session_id = _find_session_id(app, worktree)
        wanted = Given(**stated | _name_files(worktree, stated))
        drafting = draft_publication(app, worktree, session_id=session_id, given=wanted)
        draft = app.run(drafting)
        _require_words(draft.publication, stated)
        fields = {**draft.publication.__dict__}
        basis = fields.pop("basis")
        publication = publishing_rules.check_publication(**fields, basis=basis)
        me = app.run(app.scope.team.get_me())
    if not yes:
        workspace = app.scope.team.owner.workspace_id
        is_known = not app.scope.team.is_out_of_reach
        about = words.describe_publication(publication, me, workspace, is_known=is_known)
        refusal = _ask(app, about, publication, draft.notes, stated)
        if refusal is not None:
            return refusal
    published = app.run(exchange.publish_context(app.scope, fields, basis=basis)).result
    notes = [*(draft.notes if yes else ()), *_switch_on(app, was_on=was_on)]
    if me.visibility == PRIVATE:
        notes.append(words.ONLY_YOU)
    text = words.describe_published(published, app.scope.team.now())
    return Output({"context": published.to_dict()}, text, notes)


def _allow(app: App, place: Place | None) -> None:
    """Whatever is named: where a repository stays on this machine, nothing is said from there."""
    if place is not None:
        app.scope.team.allow(place.repo)


def _name_files(worktree: str, stated: dict[str, Any]) -> dict[str, Any]:
    """Of another repository the folder that one is in says nothing."""
    place = exchange_place.find_place(worktree)
    repo, files = stated.get("repo"), stated.get("files_touched", ())
    if place is not None and repo is not None and not place.is_meant_by(repo):
        place = None
    return {"files_touched": _find_typed(place, files)} if files else {}


def _find_typed(place: Place | None, paths: Sequence[str]) -> list[str]:
    folder = current_folder()
    return [exchange_place.find_typed(place, folder, path) for path in paths]


def _require_words(drafted: Publication, stated: dict[str, Any]) -> None:
    """A text that was given and is wrong is the rules' to refuse."""
    texts = {"title": drafted.title, "summary": drafted.summary}
    absent = [name for name, text in texts.items() if not text and name not in stated]
    if absent:
        raise UndraftedError([f"--{name} {name[0].upper()}" for name in absent])


def _ask(
    app: App,
    about: str,
    publication: Publication,
    notes: Sequence[str],
    stated: dict[str, Any],
) -> Output | None:
    """None after a yes; what is printed instead where nobody can be asked."""
    confirmed = Action("publish.confirmed", selection=_repeat_options(stated))
    if not wants_json() and is_terminal(sys.stdin, sys.stderr):
        click.echo(term_safe(about), err=True)
        for note in notes:
            click.echo(f"Note: {term_safe(note)}", err=True)
        confirm(QUESTION, confirmed, default=True, left_undone=UNPUBLISHED)
        return None
    error = UnpublishedError(confirmed)
    app.run(count_call(app.scope, PUBLISH, error.code))
    draft = _publication_to_dict(publication)
    data = {**describe_error(error), "draft": draft, "notes": list(notes)}
    shown = () if wants_json() else notes
    return Output(data, about, shown, exit_code=error.exit_code, error=error)


def _repeat_options(stated: dict[str, Any]) -> str:
    """The options that were given, and the one that is missing."""
    parameters = {each.name: each.opts[-1] for each in publish.params}
    found = []
    for name, value in stated.items():
        values = value if isinstance(value, tuple) else (value,)
        for each in values:
            found += [parameters[name], shlex.quote(str(each))]
    return " ".join([*found, "--yes"])


def _publication_to_dict(publication: Publication) -> dict[str, Any]:
    lists = ("files_touched", "next_actions", "blockers", "task_ids")
    found = {name: list(getattr(publication, name)) for name in lists}
    basis = publication.basis
    return {**publication.__dict__, **found, "basis": basis.to_dict() if basis else None}


def _find_session_id(app: App, worktree: str) -> str | None:
    caller = Caller(worktree=worktree, is_person=True)
    return app.run(find_session_to_read(app.scope, None, caller)).session_id


def _find_open_session_id(app: App, worktree: str) -> str | None:
    """What is claimed ends with the session that is at work here; without one, at its time."""
    caller = Caller(worktree=worktree, is_person=True)
    return app.run(find_session(app.scope, None, caller)).session_id


def _switch_on(app: App, *, was_on: bool) -> list[str]:
    if was_on:
        return []
    sharing.set_exchange(app.settings.home, is_on=True)
    return [words.SWITCHED_ON]


@command.command("contexts", cls=CountedCommand, usage=GET)
@click.argument(
    "developer", metavar="[DEVELOPER]", required=False, shell_complete=complete_developer
)
@click.option("--history", is_flag=True, help="Your own, also those that have ended")
@click.option("--below", metavar="ID", help="With --history: those before this one")
@prints
def contexts(app: App, developer: str | None, history: bool, below: str | None) -> Output:
    """Show what developers have published

    For every file it says whether it is the same in this checkout.
    """
    if history or below is not None:
        return _show_history(app, developer, below, is_asked=history)
    worktree = here()
    all_found = app.run(exchange.get_contexts(app.scope, developer))
    now = app.scope.team.now()
    is_here = exchange_place.find_here(worktree)
    found = sorted(all_found, key=lambda each: not is_here(each))
    fresh = exchange_place.compare_with(worktree, found)
    data = {
        "contexts": [context.to_dict() for context in found],
        "freshness": {context_id: each.to_dict() for context_id, each in fresh.items()},
    }
    key = fence_key(app.settings.home)
    own_id = app.scope.team.owner.developer_id
    parts = [
        words.describe_context(
            context,
            fresh.get(context.id),
            is_own=context.developer.id == own_id,
            key=key,
            now=now,
        )
        for context in found
    ]
    notes = [ENDS_OF_ALL] if may_be_cut(found) else []
    return Output(data, "\n\n".join(parts) or words.NO_CONTEXTS, notes)


def _show_history(app: App, developer: str | None, below: str | None, *, is_asked: bool) -> Output:
    with _counted(app, GET):
        if developer is not None:
            problem = "cannot be given with --history, which shows only your own"
            raise InvalidValueError("DEVELOPER", developer, problem)
        if not is_asked:
            raise InvalidValueError("--below", below, "is given without --history")
    found = app.run(exchange.list_own_contexts(app.scope, below))
    data = {"contexts": [context.to_dict() for context in found]}
    return Output(data, words.describe_history(found, app.scope.team.now()))


@command.command("revoke", cls=CountedCommand, usage=REVOKE)
@click.argument("context_id", metavar="ID", shell_complete=complete_context)
@prints
def revoke(app: App, context_id: str) -> Output:
    """Withdraw what you have published, at once"""
    revoked = app.run(exchange.revoke_context(app.scope, context_id)).result
    text = f"Revoked {revoked.id}. What others have fetched before is out of reach."
    return Output({"context": revoked.to_dict()}, text)


@command.command("state", cls=CountedCommand, usage=STATE)
@prints
def state(app: App) -> Output:
    """Show developers, contexts, claims and handoffs"""
    try:
        found = app.run(exchange.get_state(app.scope))
    except Unavailable as error:
        return _show_waiting(app, error)
    data = {
        "developers": [each.to_dict() for each in found.developers],
        "published_contexts": [each.to_dict() for each in found.published_contexts],
        "claims": [each.to_dict() for each in found.claims],
        "handoffs": [each.to_dict() for each in found.handoffs],
    }
    team = app.scope.team
    text = words.describe_state(found, team.owner.workspace_id, team.now())
    lists = (found.developers, found.published_contexts, found.claims, found.handoffs)
    notes = [ENDS] if may_be_cut(*lists) else []
    if found.me.seen_at and not app.run(exchange.is_exchange_on(app)):
        notes.append(words.IS_OFF)
    return Output(data, text, notes)


def _show_waiting(app: App, error: Unavailable) -> Output:
    """What is known without the server: what waits for it."""
    waiting = words.list_waiting(app.settings.home)
    if not waiting:
        raise error
    data = {**describe_error(error), "waiting": [entry.to_dict() for entry in waiting]}
    text = words.describe_waiting(waiting)
    return Output(data, text, exit_code=error.exit_code, error=error)


# --- claims ---------------------------------------------------------------------------------------


@command.command("claim", cls=CountedCommand, usage=f"{exchange.COORDINATION}.claim")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--reason", metavar="R", required=True, help="What you do there")
@click.option("--ttl-minutes", metavar="M", type=int, help="When it expires: 1 to 1440; default 60")
@prints
def claim(app: App, paths: tuple[str, ...], reason: str, ttl_minutes: int | None) -> Output:
    """Say that you work on paths; nobody is kept out

    Paths from the folder you are in, patterns as `migrations/**`, or symbols as `src/a.py#name`.
    """
    was_on = app.run(exchange.is_exchange_on(app))
    worktree = here()
    place = exchange_place.find_place(worktree)
    _allow(app, place)
    fields = {
        "paths": _find_typed(place, paths),
        "reason": reason,
        "repo": place.repo if place else None,
        "branch": place.branch if place else None,
        "ttl_minutes": ttl_minutes,
    }
    seen = {"session_id": _find_open_session_id(app, worktree)}
    claimed = app.run(exchange.claim(app.scope, fields, seen=seen)).result
    near = app.run(exchange.list_claims_near(app.scope, claimed.repo))
    overlaps = list_overlaps(claimed, near)
    me = app.run(app.scope.team.get_me())
    notes = _switch_on(app, was_on=was_on)
    if me.visibility == PRIVATE:
        notes.append(words.ONLY_YOU)
    data = {"claim": claimed.to_dict(), "overlaps": [each.other.to_dict() for each in overlaps]}
    now = app.scope.team.now()
    return Output(data, words.describe_claimed(claimed, overlaps, me.person, now), notes)


@command.command("release", cls=CountedCommand, usage=f"{exchange.COORDINATION}.release")
@click.argument("claim_id", metavar="ID", shell_complete=complete_claim)
@prints
def release(app: App, claim_id: str) -> Output:
    """End a claim of yours"""
    released = app.run(exchange.release(app.scope, claim_id)).result
    return Output({"claim": released.to_dict()}, f"Released {released.id}")


# --- handoffs -------------------------------------------------------------------------------------


@command.command("handoff", cls=CountedCommand, usage=f"{exchange.COORDINATION}.handoff")
@click.argument("claim_id", metavar="CLAIM", shell_complete=complete_claim)
@click.option("--to", metavar="DEV", help="To whom; else to whoever accepts")
@click.option("--note", metavar="N", help="What the next one should know")
@prints
def handoff(app: App, claim_id: str, to: str | None, note: str | None) -> Output:
    """Offer a claim of yours to others"""
    fields = {"claim_id": claim_id, "to": to, "note": note}
    offered = app.run(exchange.handoff(app.scope, fields)).result
    return _show_handoff(
        app, "Offered", offered, f"To withdraw it: holdfast team cancel {offered.id}"
    )


@command.command("accept", cls=CountedCommand, usage=f"{exchange.COORDINATION}.accept")
@click.argument("handoff_id", metavar="ID", shell_complete=complete_handoff)
@prints
def accept(app: App, handoff_id: str) -> Output:
    """Take over what was offered; its claim is yours then"""
    session_id = _find_open_session_id(app, here())
    answering = exchange.answer_handoff(app.scope, "accept", handoff_id, session_id=session_id)
    accepted = app.run(answering).result
    return _show_handoff(
        app, "Accepted", accepted, f"When it is done: holdfast team complete {accepted.id}"
    )


@command.command("decline", cls=CountedCommand, usage=f"{exchange.COORDINATION}.decline")
@click.argument("handoff_id", metavar="ID", shell_complete=complete_handoff)
@prints
def decline(app: App, handoff_id: str) -> Output:
    """Refuse what was offered to you"""
    declined = app.run(exchange.answer_handoff(app.scope, "decline", handoff_id)).result
    return _show_handoff(app, "Declined", declined)


@command.command("complete", cls=CountedCommand, usage=f"{exchange.COORDINATION}.complete")
@click.argument("handoff_id", metavar="ID", shell_complete=complete_handoff)
@prints
def complete(app: App, handoff_id: str) -> Output:
    """Say that what you took over is done"""
    completed = app.run(exchange.answer_handoff(app.scope, "complete", handoff_id)).result
    return _show_handoff(app, "Completed", completed)


@command.command("cancel", cls=CountedCommand, usage=f"{exchange.COORDINATION}.cancel")
@click.argument("handoff_id", metavar="ID", shell_complete=complete_handoff)
@prints
def cancel(app: App, handoff_id: str) -> Output:
    """Withdraw an offer of yours"""
    cancelled = app.run(exchange.answer_handoff(app.scope, "cancel", handoff_id)).result
    return _show_handoff(app, "Cancelled", cancelled)


def _show_handoff(app: App, done: str, found: Handoff, hint: str = "") -> Output:
    me = app.run(app.scope.team.get_me())
    now = app.scope.team.now()
    lines = [f"{done} {found.id}", words.describe_handoff(found, me.person, now)]
    data = found.to_dict()
    if found.status == ACCEPTED:
        lines += words.describe_taken(data)
    if hint:
        lines.append(hint)
    return Output({"handoff": data}, "\n".join(lines))


# --- oneself --------------------------------------------------------------------------------------


@command.command("visibility", cls=CountedCommand, usage=VISIBILITY)
@click.argument("visibility", metavar="public|private", type=click.Choice(VISIBILITIES))
@prints
def visibility(app: App, visibility: str) -> Output:
    """Let others see you, or be as one who does not exist"""
    was_on = app.run(exchange.is_exchange_on(app))
    me = app.run(exchange.set_visibility(app.scope, visibility))
    notes = _switch_on(app, was_on=was_on) if visibility == PUBLIC else []
    workspace = app.scope.team.owner.workspace_id
    lines = [f"{me.handle} is {me.visibility} in workspace {workspace}"]
    if visibility == PUBLIC:
        near = app.run(app.scope.team.look_near())
        claims = [each for each in near.own_claims if not each.is_soft]
        lines += words.describe_now_seen(near.own_contexts, claims)
    return Output({"developer": me.to_dict()}, "\n".join(lines), notes)


command.add_command(join)
command.add_command(leave)
