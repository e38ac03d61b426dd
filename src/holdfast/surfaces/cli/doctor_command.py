"""`holdfast doctor`: whether everything that `init` has set up still works, tried for real."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

import click

from holdfast.app import App
from holdfast.clients import CLIENTS, probing
from holdfast.clients.probing import ClientCheck, FoundClient, HookCheck
from holdfast.clients.setup import SetupPlace
from holdfast.errors import HoldfastError
from holdfast.ground import files
from holdfast.ground.frozen import asdict, dataclass
from holdfast.ground.settings import Settings, load_settings
from holdfast.ground.text import plural
from holdfast.storage.enrolment import Enrolment
from holdfast.storage.health import check_health
from holdfast.surfaces import hook_log
from holdfast.surfaces.cli import client_wording as words
from holdfast.surfaces.cli import wording
from holdfast.surfaces.cli.running import Command, Output, answers, here, wants_json
from holdfast.surfaces.mcp import offer
from holdfast.usecases import setting_up
from holdfast.usecases.exchange import look_at_server
from holdfast.usecases.setting_up import MissingClient

NOT_SET_UP = "No client is set up. Run `holdfast init` in a repository."
PROGRAM_LOST = "{} finds no program any more. Run `holdfast init` again."
SWITCHED_OFF = "Hooks do nothing in {}. Run `holdfast init` there to switch them on."
TRYING = "Starting each client that is set up, and running its hooks as it would …"
WELL, PARTLY_WELL = "All is well.", "What is set up works."
MOVED = "{} was set up with {}; started without it, it has nothing of Holdfast."
NEWER = "{} is newer than what Holdfast was checked with."
WAITING = "{} could not be stored yet. The next hook tries again; `holdfast status` counts them."
NOT_SENT = "{} not sent to the team's server yet; `holdfast team state` lists them."
PROBE, PROBE_BYTES = ".holdfast-doctor", 1 << 16
STORE_SECONDS = 2.0


@dataclass(frozen=True)
class Diagnosis:
    checks: Sequence[ClientCheck]
    problems: Sequence[str]
    notes: Sequence[str]
    project: Sequence[str] = ()  # about the hooks in this repository's files
    missing: Sequence[MissingClient] = ()
    is_on: bool = True  # in this folder

    @property
    def left(self) -> list[str]:
        return [sentence for check in self.checks for sentence in check.left]

    @property
    def is_well(self) -> bool:
        return not self.problems and not self.left


@click.command("doctor", cls=Command)
@answers
def command() -> Output:
    """Try whether every client reaches Holdfast

    Starts each client that is set up, and runs its hooks. Exits with 5 where something is wrong or
    left to do: also where `init` could not set up a client. One that `init` was never asked to set
    up is only named.
    """
    settings = load_settings()
    place = setting_up.make_place(settings, here(), offer.list_tools(), os.environ)
    if not wants_json():
        click.echo(TRYING, err=True)
    found = diagnose(settings, place)
    data = {
        "ok": found.is_well,
        "clients": [words.check_to_dict(check) for check in found.checks],
        "problems": [*found.problems, *found.left],
        "not_set_up": [asdict(client) for client in found.missing],
        "is_on_here": found.is_on,
        "notes": list(found.notes),
    }
    text = "\n".join(_describe(found, place))
    return Output(data, text, found.notes, exit_code=0 if found.is_well else 5)


def _describe(found: Diagnosis, place: SetupPlace) -> Iterator[str]:
    yield from (words.describe_check(check, is_on=found.is_on) for check in found.checks)
    yield from found.project
    yield from words.describe_left(found.checks)
    yield from (f"Problem: {problem}" for problem in found.problems)
    others = [client for client in found.missing if not client.is_wanted]
    yield from map(words.describe_missing, others)
    if not found.is_on:
        yield SWITCHED_OFF.format(words.shorten_path(place.worktree))
    if found.is_well:
        yield WELL if found.is_on and not others else PARTLY_WELL


def diagnose(settings: Settings, place: SetupPlace) -> Diagnosis:
    problems = [*_find_home_problems(settings.home), *_find_store_problems(settings)]
    problems += _find_server_problems(settings)
    installed = setting_up.list_installed_clients(settings.home)
    in_project = setting_up.check_project(settings.home, place)
    if not installed and not in_project:
        return Diagnosis((), [*problems, NOT_SET_UP], ())
    if not setting_up.is_program_found(place):
        problems.append(PROGRAM_LOST.format(words.shorten_path(place.shim)))
    # Of one that was not set up it only matters where hooks are the person's, not a repository's.
    looked_for = CLIENTS if installed else ()
    found = {client.name: client for client in probing.find_clients(looked_for, os.environ)}
    for name in installed:
        problems += _find_client_problems(settings.home, name, found.get(name), place)
    usable = [found[name] for name in installed if name in found and not found[name].problem]
    checks = setting_up.check_clients(settings.home, place, usable, words.choose_report())
    for check in checks:
        problems += _find_check_problems(check)
    problems += words.describe_server_problems(checks, place)
    problems += _find_project_problems(in_project)
    missing = setting_up.list_missing_clients(settings.home, place, list(found.values()))
    problems += [words.describe_missing(client) for client in missing if client.is_wanted]
    return Diagnosis(
        checks,
        problems,
        notes=[*_list_notes(settings, place, usable)],
        project=words.describe_project_checks(in_project),
        missing=missing,
        is_on=Enrolment(settings.home).find(place.worktree) is not None,
    )


def _find_project_problems(in_project: Mapping[str, Sequence[HookCheck]]) -> list[str]:
    silent = [name for name, hooks in in_project.items() if not all(hook.answers for hook in hooks)]
    titles = map(setting_up.find_title, silent)
    return [f"{title}: hooks of this repository do not answer." for title in titles]


def _find_home_problems(home: str) -> Iterator[str]:
    try:
        files.private_folder(home)
        files.write_atomic(os.path.join(home, PROBE), bytes(PROBE_BYTES))
        os.unlink(os.path.join(home, PROBE))
    except HoldfastError as error:
        yield error.message
        return
    yield from setting_up.list_settings_problems(home)


def _find_store_problems(settings: Settings) -> Iterator[str]:
    """Whether a write and a read really work, and whether anything waits for that."""
    try:
        with App(settings, wait_seconds=STORE_SECONDS) as app:
            app.run(check_health(app.database, settings.owner))
            waiting = app.count().spooled
    except HoldfastError as error:
        yield error.message
        return
    if waiting:
        yield WAITING.format(plural(waiting, "event"))


def _find_server_problems(settings: Settings) -> Iterator[str]:
    """Whether the team's server takes the token of this machine, where it has joined one."""
    try:
        with App(settings) as app:
            state = look_at_server(app)
    except HoldfastError:  # the settings, which are reported as a problem of the data folder
        return
    if state is not None and state.problem:
        yield state.problem
    if state is not None and state.waiting:
        yield NOT_SENT.format(plural(len(state.waiting), "change"))


def _find_client_problems(
    home: str, name: str, client: FoundClient | None, place: SetupPlace
) -> list[str]:
    title = setting_up.find_title(name)
    if client is None:
        return [f"{title} was set up and is not on the PATH any more."]
    if client.problem:
        return [f"{title}: {client.problem}."]
    lost = setting_up.find_lost_parts(home, name, place)
    return [f"{title}: {problem}. Run `holdfast init` again." for problem in lost]


def _find_check_problems(check: ClientCheck) -> Iterator[str]:
    if check.silent_hooks:
        yield f"{check.title}: hooks do not answer: {', '.join(check.silent_hooks)}."
    if check.reaches_server is False and not check.left:
        yield f"{check.title} does not reach the tools of Holdfast."
    if not check.has_commands:
        yield f"{check.title} has no /workspace commands. Run `holdfast init` again."


def _list_notes(
    settings: Settings, place: SetupPlace, usable: Sequence[FoundClient]
) -> Iterator[str]:
    for client in usable:
        if not setting_up.is_set_up_here(settings.home, client.name, place):
            moved = setting_up.describe_moved(settings.home, client.name, place)
            yield MOVED.format(client.title, moved or "none of the variables that are set now")
    yield from (NEWER.format(client.describe()) for client in usable if client.is_newer)
    yield from words.describe_password(place)
    failure = hook_log.find_last_failure(settings.home)
    if failure:
        yield wording.describe_hook_failure(failure)
