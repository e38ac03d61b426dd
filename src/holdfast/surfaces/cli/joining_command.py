"""`holdfast team join` and `leave`: a machine and the server of a team."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Sequence
from typing import Any

import click

from holdfast.app import App
from holdfast.errors import HoldfastError
from holdfast.ground.clock import to_text
from holdfast.ground.fence import one_line
from holdfast.ground.origin import Origin, parse_origin
from holdfast.ground.settings import Settings, load_settings
from holdfast.ground.text import plural, term_safe
from holdfast.surfaces.cli.running import Command, Output, answers, here, prints, wants_json
from holdfast.surfaces.cli.team_wording import STILL_SHOWN
from holdfast.surfaces.cli.terminal import is_terminal
from holdfast.surfaces.cli.wording import format_time
from holdfast.team.model import PUBLIC
from holdfast.team.remote import RemoteTeam
from holdfast.usecases import capture, joining, setting_up, sharing, team_at_hooks
from holdfast.usecases.joining import Folder, Shown

MACHINE_CHARS = 60
LEAVES = """\
What leaves this machine, for the repositories on your list and for no others:
  the name of the repository, the branch, and the paths of files that are not
  committed, while an agent runs there; which program it is, and when it ends
  the texts that you or your agents publish, claim and hand off, with their paths
Never: prompts, code, diffs, commands, transcripts, memories, contents of files"""
NONE_LISTED = "none yet; run this command again in a repository to add it"
NO_REMOTE = "This folder has no remote, so nothing of it reaches the server."
NOTHING_FIRST = "The first message: none, because no repository is on the list."
REPOSITORY = "Let the server know of {remote}?"
VISIBLE = "Visible to the team?"
WITHDRAW = "Withdraw {what} before you leave?"
LEFT = """\
The exchange is off: agents are not offered it, and sessions show nothing of it.
What you have published stays until it expires; `holdfast team revoke ID`
withdraws it. Any of these switches the exchange on again: `holdfast publish`,
`holdfast team claim`, `holdfast team visibility public`"""
LEFT_BEFORE = "The exchange is off already."


# --- join -----------------------------------------------------------------------------------------


@click.command("join", cls=Command)
@click.argument("url", metavar="URL")
@click.option("--yes", is_flag=True, help="Do not ask: this repository, not visible")
@prints
def join(app: App, url: str, yes: bool) -> Output:
    """Join the server of a team, or add this repository

    A person approves it in a browser. Then it says what leaves this machine, and asks. Without a
    terminal you are not visible, and the repository is added with --yes only.
    """
    origin = parse_origin("URL", url)
    folder = joining.look_at_folder(here())
    listed = joining.list_remotes(app.settings)
    joined = joining.find_joined(app.settings, origin)
    if joined is not None:
        remotes = _choose_remotes(listed, folder, is_agreed=yes)
        sharing.set_server(app.settings.home, str(origin), remotes)
        return _describe_joined(RemoteTeam(joined), remotes, folder, is_new=False)
    token = _log_in(app.settings, origin)
    team = joining.open_team(app.settings.home, origin, token, listed)
    try:
        return _agree(app, team, folder, listed, is_agreed=yes)
    except BaseException:
        joining.give_up(team)
        raise


def _log_in(settings: Settings, origin: Origin) -> str:
    machine = one_line(socket.gethostname(), MACHINE_CHARS) or "a machine"
    login = joining.begin_login(settings.home, origin, machine)
    click.echo(f"Open {login.url}", err=True)
    click.echo(f"and say yes where it shows the code {login.user_code}. Waiting …", err=True)
    return joining.wait_for_token(settings.home, origin, login)


def _agree(
    app: App, team: RemoteTeam, folder: Folder, listed: Sequence[str], *, is_agreed: bool
) -> Output:
    """Everything that the person has to know, before anything is stored or sent."""
    known = team.ask_known()
    _say(f"You are {known.me.handle} in workspace {known.workspace} of {team.server}.")
    _say(LEAVES)
    remotes = _choose_remotes(listed, folder, is_agreed=is_agreed)
    team = joining.open_team(app.settings.home, team.joined.origin, team.joined.token, remotes)
    _say(f"Repositories: {', '.join(remotes) or NONE_LISTED}")
    _say(_describe_first_message(app, team, folder))
    is_visible = _may_ask() and not is_agreed and _ask(VISIBLE)
    app.run(joining.join(app.settings, team, is_visible=is_visible))
    return _describe_joined(team, remotes, folder, is_new=True)


def _choose_remotes(listed: Sequence[str], folder: Folder, *, is_agreed: bool) -> list[str]:
    remote = folder.remote
    if remote is None or remote in listed:
        return list(listed)
    if is_agreed or (_may_ask() and _ask(REPOSITORY.format(remote=remote))):
        return [*listed, remote]
    return list(listed)


def _describe_first_message(app: App, team: RemoteTeam, folder: Folder) -> str:
    if team.joined.find_listed(folder.remote) is None:
        return NOTHING_FIRST
    clients = setting_up.list_installed_clients(app.settings.home)
    message = joining.make_first_message(team, folder, next(iter(clients), None))
    shown = json.dumps(message, ensure_ascii=False, indent=2)
    return f"The first message, in full (PUT /api/team/presence/ID-OF-THE-SESSION):\n{shown}"


def _describe_joined(
    team: RemoteTeam, remotes: Sequence[str], folder: Folder, *, is_new: bool
) -> Output:
    known = team.joined.known or team.ask_known()
    me = known.me
    seen = "visible to the team" if me.visibility == PUBLIC else "not visible to the team"
    verb = "Joined" if is_new else "Joined before:"
    lines = [
        f"{verb} {team.server} as {me.handle} in workspace {known.workspace}: {seen}",
        f"Repositories: {', '.join(remotes) or NONE_LISTED}",
        "To change that you are seen: holdfast team visibility public|private",
        "To undo all of it: holdfast team leave",
    ]
    data = {
        "server": team.server,
        "workspace": known.workspace,
        "developer": me.handle,
        "visibility": me.visibility,
        "remotes": list(remotes),
    }
    notes = [NO_REMOTE] if folder.remote is None else []
    return Output(data, "\n".join(lines), notes)


def _may_ask() -> bool:
    return not wants_json() and is_terminal(sys.stdin, sys.stderr)


def _ask(question: str) -> bool:
    return click.confirm(question, default=False, err=True)


def _say(text: str) -> None:
    click.echo(term_safe(text), err=True)


# --- leave ----------------------------------------------------------------------------------------


@click.command("leave", cls=Command)
@answers
def leave() -> Output:
    """Leave the server, or switch the exchange off here

    Sessions are not shown any more, and the token of this machine ends. What you have published
    ends at its time, unless you withdraw it.
    """
    settings = load_settings()
    if capture.has_server(settings):
        with App(settings) as app:
            return _leave_server(app)
    is_changed = sharing.set_exchange(settings.home, is_on=False)
    notes = []
    try:
        if team_at_hooks.has_store(settings):
            with App(settings) as app:
                app.run(app.scope.own_team.leave())
    except HoldfastError as error:
        notes = [STILL_SHOWN.format(error.message)]
    return Output({"team": False}, LEFT if is_changed else LEFT_BEFORE, notes)


def _leave_server(app: App) -> Output:
    notes: list[str] = []
    lines = ["The exchange is off on this machine, and nothing is sent any more."]
    data: dict[str, Any] = {"team": False, "server": None, "stays": [], "withdrawn": False}
    try:
        team = app.find_remote_team()
        if team is not None:
            data["server"] = team.server
            lines += _take_leave(app, team, data)
    except HoldfastError as error:
        notes += [error.message, _describe_token(app)]
    waited = joining.forget_server(app.settings.home)
    if waited:
        notes.append(f"{plural(waited, 'change')} that waited here will not be sent.")
    if app.settings.server:
        notes.append("HOLDFAST_SERVER is still set in this environment: unset it, too.")
    return Output(data, "\n".join(lines), [note for note in notes if note])


def _take_leave(app: App, team: RemoteTeam, data: dict[str, Any]) -> list[str]:
    shown = app.run(joining.find_shown(team))
    lines = []
    if _wants_to_withdraw(shown):
        app.run(joining.withdraw(team, shown))
        data["withdrawn"] = True
        lines.append(f"Withdrawn: {_count(shown)}.")
    else:
        stays = [(each.id, each.expires_at) for each in shown.contexts]
        stays += [(each.id, each.expires_at) for each in shown.claims]
        data["stays"] = [{"id": each, "expires_at": to_text(until)} for each, until in stays]
        lines += [f"Stays until {format_time(until)}: {each}" for each, until in stays]
        lines += ["Another machine of yours, or the console, withdraws it."] if stays else []
    app.run(joining.end_sessions(app, team))
    team.end_token()
    lines.append(f"{team.server} does not take the token of this machine any more.")
    return lines


def _wants_to_withdraw(shown: Shown) -> bool:
    if not shown.contexts and not shown.claims:
        return False
    return _may_ask() and _ask(WITHDRAW.format(what=_count(shown)))


def _count(shown: Shown) -> str:
    counts = [(len(shown.contexts), "context"), (len(shown.claims), "claim")]
    return " and ".join(plural(number, noun) for number, noun in counts if number)


def _describe_token(app: App) -> str:
    """A token that could not be ended; who runs the server ends it by its id."""
    try:
        team = app.find_remote_team()
    except HoldfastError:
        return ""
    known = team.joined.known if team else None
    if known is None or known.token_id is None:
        return "The token of this machine may still count there: an administrator ends it."
    return (
        f"The token of this machine may still count there: an administrator ends it with "
        f"`holdfast admin token revoke {known.token_id}`."
    )
