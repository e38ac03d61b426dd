"""`holdfast team join` and `leave`: a machine and the server of a team."""

from __future__ import annotations

import json
import signal
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
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
from holdfast.team.errors import TokenRefusedError
from holdfast.team.joined import Known
from holdfast.team.model import PUBLIC
from holdfast.team.remote import RemoteTeam
from holdfast.usecases import capture, joining, setting_up, sharing, team_at_hooks
from holdfast.usecases.joining import Folder, Shown

MACHINE_CHARS = 60
LEAVES = """\
What leaves this machine, for the repositories on your list and for no others:
  the name of the repository, the branch, and the paths of files that are not
  committed, while an agent runs there; which program it is, and when it ends
  the texts that you or your agents publish, claim and hand off, with their
  paths; of what is published also the commit, and git's ids of its files
Never: prompts, code, diffs, commands, transcripts, memories, contents of files
(The login has told the server the name of this machine, {machine}.)"""
NONE_LISTED = "none yet; run this command again in a repository to add it"
NO_REMOTE = (
    "This folder has no remote that others know (a path of this machine is none), so nothing of it "
    "reaches the server. `git remote add origin URL` gives it one; then run this command again."
)
NOTHING_FIRST = "Of this folder nothing is sent: it has no remote that others know."
REPOSITORY = "Let the server know of {remote}?"
NEEDS_INIT = "None is sent before `holdfast init` has set up an agent program here; then:"
VISIBLE = "Visible to the team?"
FOR_ALL = "The next answer holds for all your machines."
SEEN_ALREADY = "You have joined with another machine: you stay {} there and here."
AN_AGENT = "the agent program"
NEXT = "Next: holdfast publish, or start an agent here"
NEXT_INIT = "Next: holdfast init, so that agents take part; then holdfast publish"
STILL_SEEN = "Not withdrawn, because the server did not take it: {}. It stays until it expires."
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
        team = RemoteTeam(joined)
        remotes = _choose_remotes(app, team, folder, listed, is_agreed=yes)
        sharing.set_server(app.settings.home, str(origin), remotes)
        return _describe_joined(app, team, remotes, folder, is_new=False)
    with _ended_by_signals():
        token = _log_in(app.settings, origin)
        team = joining.open_team(app.settings.home, origin, token, listed)
        try:
            return _agree(app, team, folder, listed, is_agreed=yes)
        except BaseException:
            joining.give_up(team)
            raise


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """A terminal that is closed ends it like Ctrl-C, so that no token is left at the server."""

    def end(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    ours = {number: signal.signal(number, end) for number in (signal.SIGHUP, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, before in ours.items():
            signal.signal(number, before)


def _log_in(settings: Settings, origin: Origin) -> str:
    login = joining.begin_login(settings.home, origin, _name_machine())
    click.echo(f"Open {login.url}", err=True)
    click.echo(f"and say yes where it shows the code {login.user_code}. Waiting …", err=True)
    return joining.wait_for_token(settings.home, origin, login)


def _name_machine() -> str:
    return one_line(socket.gethostname(), MACHINE_CHARS) or "a machine"


def _agree(
    app: App, team: RemoteTeam, folder: Folder, listed: Sequence[str], *, is_agreed: bool
) -> Output:
    """Everything that the person has to know, before anything is stored or sent."""
    known = team.ask_known()
    _say(f"You are {known.me.handle} in workspace {known.workspace} of {team.server}.")
    remotes = _choose_remotes(app, team, folder, listed, is_agreed=is_agreed)
    _say(f"Repositories: {', '.join(remotes) or NONE_LISTED}")
    joined = joining.open_team(app.settings.home, team.joined.origin, team.joined.token, remotes)
    is_visible = _choose_visibility(joined, known, is_agreed=is_agreed)
    app.run(joining.join(app.settings, joined, is_visible=is_visible))
    return _describe_joined(app, joined, remotes, folder, is_new=True)


def _choose_visibility(team: RemoteTeam, known: Known, *, is_agreed: bool) -> bool | None:
    """Asked with the first machine; None with the next ones, because it holds for all of them."""
    if team.count_other_machines():
        _say(SEEN_ALREADY.format(known.me.visibility))
        return None
    if is_agreed or not _may_ask():
        return False
    _say(FOR_ALL)
    return _ask(VISIBLE)


def _choose_remotes(
    app: App, team: RemoteTeam, folder: Folder, listed: Sequence[str], *, is_agreed: bool
) -> list[str]:
    """With what would leave before the question about each repository."""
    remote = folder.remote
    _say(LEAVES.format(machine=_name_machine()))
    if remote is None or remote in listed:
        _say(_describe_first_message(app, team, folder, listed))
        return list(listed)
    _say(_describe_first_message(app, team, folder, [*listed, remote]))
    if is_agreed or (_may_ask() and _ask(REPOSITORY.format(remote=remote))):
        return [*listed, remote]
    return list(listed)


def _describe_first_message(
    app: App, team: RemoteTeam, folder: Folder, remotes: Sequence[str]
) -> str:
    if folder.remote is None:
        return NOTHING_FIRST
    listed = joining.open_team(app.settings.home, team.joined.origin, team.joined.token, remotes)
    client = next(iter(setting_up.list_installed_clients(app.settings.home)), None)
    message = joining.make_first_message(listed, folder, client or AN_AGENT)
    shown = json.dumps(message, ensure_ascii=False, indent=2)
    lines = ["The first message, in full (PUT /api/team/presence/ID-OF-THE-SESSION):", shown]
    return "\n".join(lines if client else [NEEDS_INIT, *lines])


def _describe_joined(
    app: App, team: RemoteTeam, remotes: Sequence[str], folder: Folder, *, is_new: bool
) -> Output:
    known = team.joined.known or team.ask_known()
    me = known.me
    seen = "visible to the team" if me.visibility == PUBLIC else "not visible to the team"
    verb = "Joined" if is_new else "Joined before:"
    has_clients = bool(setting_up.list_installed_clients(app.settings.home))
    lines = [
        f"{verb} {team.server} as {me.handle} in workspace {known.workspace}: {seen}",
        f"Repositories: {', '.join(remotes) or NONE_LISTED}",
        NEXT if has_clients else NEXT_INIT,
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
            lines[0] = f"Left {team.server}. {lines[0]}"
            notes += _take_leave(app, team, lines, data)
    except HoldfastError as error:
        notes += [error.message]
    waited = joining.forget_server(app.settings.home)
    if waited:
        notes.append(f"{plural(waited, 'change')} that waited here will not be sent.")
    if app.settings.server:
        notes.append("HOLDFAST_SERVER is still set in this environment: unset it, too.")
    return Output(data, "\n".join(lines), [note for note in notes if note])


def _take_leave(app: App, team: RemoteTeam, lines: list[str], data: dict[str, Any]) -> list[str]:
    """Each step as far as the server takes it, and the end of the token whatever came before."""
    notes = []
    try:
        still_seen = joining.send_withdrawals(app.settings.home, team)
        notes += [STILL_SEEN.format(each) for each in still_seen]
        lines += _end_what_is_shown(app, team, data)
    except HoldfastError as error:
        notes.append(error.message)
    try:
        team.end_token()
    except TokenRefusedError:
        return notes
    except HoldfastError:
        return [*notes, _describe_token(team)]
    lines.append(f"{team.server} does not take the token of this machine any more.")
    return notes


def _end_what_is_shown(app: App, team: RemoteTeam, data: dict[str, Any]) -> list[str]:
    leaving = joining.leave_waiting(team)
    shown = app.run(joining.find_shown(leaving))
    lines = []
    if _wants_to_withdraw(shown):
        app.run(joining.withdraw(leaving, shown))
        data["withdrawn"] = True
        lines.append(f"Withdrawn: {_count(shown)}.")
    else:
        stays = [(each.id, each.expires_at, each.title) for each in shown.contexts]
        stays += [(each.id, each.expires_at, each.reason) for each in shown.claims]
        data["stays"] = [
            {"id": each, "expires_at": to_text(until), "text": text} for each, until, text in stays
        ]
        lines += [
            f"Stays until {format_time(until)}: {text!r}, {each}" for each, until, text in stays
        ]
        lines += ["Another machine of yours, or the console, withdraws it."] if stays else []
    app.run(joining.end_sessions(app, leaving))
    return lines


def _wants_to_withdraw(shown: Shown) -> bool:
    if not shown.contexts and not shown.claims:
        return False
    return _may_ask() and _ask(WITHDRAW.format(what=_count(shown)))


def _count(shown: Shown) -> str:
    counts = [(len(shown.contexts), "context"), (len(shown.claims), "claim")]
    return " and ".join(plural(number, noun) for number, noun in counts if number)


def _describe_token(team: RemoteTeam) -> str:
    """A token that could not be ended; who runs the server ends it by its id."""
    known = team.joined.known
    if known is None or known.token_id is None:
        return "The token of this machine may still count there: an administrator ends it."
    return (
        f"The token of this machine may still count there: an administrator ends it with "
        f"`holdfast admin token revoke {known.token_id}`."
    )
