"""Setting up the clients of a machine, and removing it again: plan, apply, check.

A plan is made first and shown, because these are a person's own settings. Each client is set up
whole or not at all, and one that cannot be is no reason to leave out the others.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from holdfast.clients import CLIENTS, find_client, probing, shim
from holdfast.clients.contract import PROMPT
from holdfast.clients.errors import NoClientError, ProgramMissingError
from holdfast.clients.installation import ConfigChange, Installation
from holdfast.clients.probing import ClientCheck, FoundClient, HookCheck, Report
from holdfast.clients.setup import (
    ClientSetup,
    ConfigEdit,
    SetupPlace,
    find_setup,
    list_hook_commands,
    make_recorded_edits,
)
from holdfast.errors import HoldfastError
from holdfast.ground.frozen import dataclass, field, replace
from holdfast.ground.settings import Settings, has_password, load_settings
from holdfast.ground.tokens import tokens_of
from holdfast.ground.user_settings import load_user_settings
from holdfast.sessions import rules
from holdfast.storage.enrolment import Enrolment
from holdfast.storage.off_sessions import OffSessions


@dataclass(frozen=True)
class ClientPlan:
    """What a client's set-up would change; `problem` says why it is left out."""

    client: FoundClient
    edits: Sequence[ConfigEdit] = ()
    changes: Sequence[ConfigChange] = ()
    problem: str | None = None


@dataclass(frozen=True)
class SetupPlan:
    place: SetupPlace
    home: str
    clients: Sequence[ClientPlan]
    in_project: bool
    is_enrolled: bool
    program: str
    settings_problems: Sequence[str] = ()

    @property
    def usable(self) -> list[ClientPlan]:
        return [plan for plan in self.clients if plan.problem is None]

    @property
    def changes(self) -> list[ConfigChange]:
        return [change for plan in self.usable for change in plan.changes]

    @property
    def approving(self) -> list[str]:
        """The titles of the clients that are told not to ask before each call of our tools."""
        changed = [plan.client for plan in self.usable if plan.changes and not self.in_project]
        return [client.title for client in changed if find_setup(client.name).APPROVES_TOOLS]


@dataclass(frozen=True)
class SetupResult:
    """Which clients were set up, what failed, and whether each really reaches us."""

    done: Sequence[ClientPlan]
    failed: Sequence[ClientPlan]
    checks: Sequence[ClientCheck] = field(default=())


def make_place(
    settings: Settings, worktree: str, tools: Sequence[str], environment: Mapping[str, str]
) -> SetupPlace:
    return SetupPlace(
        user_folder=os.path.expanduser("~"),
        environment=environment,
        worktree=worktree,
        shim=shim.find_shim(settings.home),
        tools=tuple(tools),
    )


def make_plan(
    settings: Settings, place: SetupPlace, names: Sequence[str] = (), *, in_project: bool = False
) -> SetupPlan:
    """Of the named clients, or of all that are found; nothing is written."""
    rules.check_worktree(place.worktree)  # of another one no hook could store anything
    program = shim.find_program(settings.home, place.environment.get("PATH"))
    if program is None:
        raise ProgramMissingError()
    found = probing.find_clients(names or CLIENTS, place.environment)
    missing = [name for name in names if name not in [client.name for client in found]]
    if missing or not found:
        raise NoClientError(missing or CLIENTS)
    installation = _open_installation(settings.home, place, in_project=in_project)
    return SetupPlan(
        place=place,
        home=settings.home,
        clients=[_plan_client(installation, client, place) for client in found],
        in_project=in_project,
        is_enrolled=_is_enrolled(settings.home, place.worktree),
        program=program,
        settings_problems=list_settings_problems(settings.home),
    )


def _plan_client(installation: Installation, client: FoundClient, place: SetupPlace) -> ClientPlan:
    problem = client.problem or _find_moved_problem(client.name, place)
    if problem:
        return ClientPlan(client, problem=problem)
    edits = _list_edits(find_setup(client.name), place, in_project=installation.inside is not None)
    try:
        return ClientPlan(client, edits, installation.plan(edits))
    except HoldfastError as error:
        return ClientPlan(client, edits, problem=error.message)


def _find_moved_problem(name: str, place: SetupPlace) -> str | None:
    relative = _list_relative(name, place)
    if not relative:
        return None
    named = " and ".join(f"{key}={place.environment[key]}" for key in relative)
    return f"{named} means another folder wherever it is started; set it to an absolute path"


def _list_relative(name: str, place: SetupPlace) -> list[str]:
    """Variables that would lead into whatever folder the client is started in."""
    moved = _find_moved(name, place)
    return [key for key, value in moved.items() if not os.path.isabs(value)]


def _list_edits(setup: ClientSetup, place: SetupPlace, *, in_project: bool) -> list[ConfigEdit]:
    return setup.list_project_edits(place) if in_project else setup.list_edits(place)


def _open_installation(home: str, place: SetupPlace, *, in_project: bool) -> Installation:
    return Installation(home, inside=place.worktree if in_project else None)


def _is_enrolled(home: str, worktree: str) -> bool:
    enrolment = Enrolment(home)
    return enrolment.list_folders() is not None and enrolment.find(worktree) is not None


def apply_plan(plan: SetupPlan, report: Report) -> SetupResult:
    """Write it; a client whose files cannot be written is as it was."""
    python = shim.find_python(plan.program)
    shim.write_shim(plan.home, plan.program, _list_settings(plan), python)
    installation = _open_installation(plan.home, plan.place, in_project=plan.in_project)
    done, failed = [], [client for client in plan.clients if client.problem]
    for client in plan.usable:
        if not client.edits:  # it takes nothing from a repository
            continue
        try:
            moved = _find_moved(client.client.name, plan.place)
            changes = installation.install(client.client.name, client.edits, moved)
            done.append(ClientPlan(client.client, client.edits, changes))
        except HoldfastError as error:
            failed.append(ClientPlan(client.client, problem=error.message))
    if done:
        Enrolment(plan.home).add(plan.place.worktree)
    checks: Sequence[ClientCheck] = ()
    if not plan.in_project:
        tried = [client.client.name for client in plan.clients]
        installed = list_installed_clients(plan.home)
        installation.set_wanted(list(dict.fromkeys([*installed, *tried])))
        found = [client.client for client in done]
        checks = check_clients(plan.home, plan.place, found, report)
    return SetupResult(done, failed, checks)


def check_clients(
    home: str, place: SetupPlace, found: Sequence[FoundClient], report: Report
) -> list[ClientCheck]:
    """Each with the settings that were written."""
    places = {client.name: find_place(home, client.name, place) for client in found}
    return probing.check_clients(found, places, home, report)


def list_carried(plan: SetupPlan) -> list[str]:
    """Which of our variables what a client starts is told, whatever environment it gets."""
    settings = _list_settings(plan)
    return [name for name in shim.CARRIED if settings.get(name)]


def _list_settings(plan: SetupPlan) -> dict[str, str]:
    """Ours of this environment, and a data folder that does not follow from HOME alone. A password
    is not written anywhere.
    """
    settings = dict(plan.place.environment)
    if has_password(settings.get("HOLDFAST_DATABASE", "")):
        del settings["HOLDFAST_DATABASE"]
    settings.pop("HOLDFAST_HOME", None)
    if plan.home != load_settings({"HOME": plan.place.user_folder}).home:
        settings["HOLDFAST_HOME"] = plan.home
    return settings


# --- removing -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RemovalResult:
    changes: Sequence[ConfigChange]
    problems: Sequence[str]
    absent: Sequence[str] = ()  # files of a repository that another branch of it has


def remove_everything(settings: Settings, place: SetupPlace) -> RemovalResult:
    """Out of every client's files, wherever something was put; the data stays.

    The consent goes in any case. The installed command goes last, and only when no file that could
    not be changed names it: until then every hook that is still there finds it.
    """
    changes: list[ConfigChange] = []
    problems: list[str] = []
    for name in CLIENTS:
        for installation, edits in _list_installed(settings.home, name, place):
            try:
                changes += installation.remove(edits)
            except HoldfastError as error:
                problems.append(error.message)
    if os.path.isdir(settings.home):
        Installation(settings.home).set_wanted(())
        Enrolment(settings.home).clear()
    if not problems:
        shim.remove_shim(settings.home)
    recorded = Installation(settings.home).list_files()
    absent = [path for path, entry in recorded.items() if _is_absent(path, entry)]
    return RemovalResult(changes, problems, absent)


def _is_absent(path: str, entry: Mapping[str, Any]) -> bool:
    return bool(entry.get("worktree")) and not os.path.lexists(path)


def _list_installed(
    home: str, name: str, place: SetupPlace
) -> list[tuple[Installation, list[ConfigEdit]]]:
    """In the person's own files, and in those of each repository that something was put into."""
    setup = find_setup(name)
    found = [(Installation(home), setup.list_edits(own)) for own in _list_places(home, name, place)]
    for worktree in list_project_worktrees(home):
        there = SetupPlace(place.user_folder, place.environment, worktree, place.shim, place.tools)
        found.append((Installation(home, inside=worktree), setup.list_project_edits(there)))
    known = {edit.path for _, edits in found for edit in edits}
    for path, entry in Installation(home).list_files().items():
        if entry.get("client") == name and path not in known:  # another version has put it there
            edits = make_recorded_edits(path, entry.get("parts", ()))
            found.append((Installation(home, inside=entry.get("worktree")), edits))
    return found


def _find_moved(name: str, place: SetupPlace) -> dict[str, str]:
    """What of the environment says where a client keeps its files."""
    moved_by = find_setup(name).MOVED_BY
    return {key: place.environment[key] for key in moved_by if place.environment.get(key)}


def _list_places(home: str, name: str, place: SetupPlace) -> list[SetupPlace]:
    """Where a client was set up, wherever it would keep its files now."""
    unique = _list_recorded_moves(home, name)
    known = [_move_place(name, place, moved) for moved in unique]
    if known:
        return known
    relative = _list_relative(name, place)
    today = _find_moved(name, place).items()
    return [_move_place(name, place, {key: to for key, to in today if key not in relative})]


def _list_recorded_moves(home: str, name: str) -> list[dict[str, str]]:
    """The variables that led to a client's files when these were written, each set of them once."""
    recorded = [
        entry.get("environment", {})
        for entry in Installation(home).list_files().values()
        if entry.get("client") == name and not entry.get("worktree")
    ]
    return [moved for at, moved in enumerate(recorded) if moved not in recorded[:at]]


def _move_place(name: str, place: SetupPlace, moved: Mapping[str, str]) -> SetupPlace:
    moved_by = find_setup(name).MOVED_BY
    rest = {key: value for key, value in place.environment.items() if key not in moved_by}
    return replace(place, environment={**rest, **moved})


def find_place(home: str, name: str, place: SetupPlace) -> SetupPlace:
    """Where a client is set up: where it keeps its files now, else where it kept them then."""
    places = _list_places(home, name, place)
    return place if is_set_up_here(home, name, place) else places[0]


def is_set_up_here(home: str, name: str, place: SetupPlace) -> bool:
    """Whether a client that is started with today's variables finds what was written."""
    return _find_moved(name, place) in _list_recorded_moves(home, name)


def describe_moved(home: str, name: str, place: SetupPlace) -> str:
    """The variables that a client was set up with, as a person would write them."""
    moved = _find_moved(name, find_place(home, name, place))
    return " ".join(f"{key}={value}" for key, value in moved.items())


def list_project_worktrees(home: str) -> list[str]:
    recorded = Installation(home).list_files().values()
    return sorted({entry["worktree"] for entry in recorded if entry.get("worktree")})


def list_installed_clients(home: str) -> list[str]:
    """The clients that `init` has set up for the person, in their usual order."""
    entries = Installation(home).list_files().values()
    recorded = {entry.get("client") for entry in entries if not entry.get("worktree")}
    return [name for name in CLIENTS if name in recorded]


def list_project_clients(home: str, worktree: str) -> list[str]:
    """Those whose hooks `init --project` has put into the files of a repository."""
    entries = Installation(home).list_files().items()
    here = [(path, entry) for path, entry in entries if entry.get("worktree") == worktree]
    recorded = {entry.get("client") for path, entry in here if not _is_absent(path, entry)}
    return [name for name in CLIENTS if name in recorded]


def check_project(home: str, place: SetupPlace) -> dict[str, list[HookCheck]]:
    """Whether the hooks in a repository's files answer, by the client's name."""
    found = {}
    for name in list_project_clients(home, place.worktree):
        commands = list_hook_commands(find_setup(name).list_project_edits(place))
        found[name] = probing.check_hooks(name, commands, place, home)
    return found


# --- looking --------------------------------------------------------------------------------------


def list_settings_problems(home: str) -> list[str]:
    """The files of the data folder, in which choices of the person are, that cannot be read."""
    checks: Sequence[Callable[[], object]] = (
        lambda: load_user_settings(home),
        OffSessions(home).list_newest,
        Enrolment(home).check,
    )
    problems = []
    for check in checks:
        try:
            check()
        except HoldfastError as error:
            problems.append(error.message)
    return problems


@dataclass(frozen=True)
class MissingClient:
    """A client on this machine that is not set up."""

    name: str
    title: str
    is_wanted: bool  # `init` was to set it up
    problem: str | None  # why it could not, where that is still so


def list_missing_clients(
    home: str, place: SetupPlace, found: Sequence[FoundClient]
) -> list[MissingClient]:
    installation = Installation(home)
    installed, wanted = list_installed_clients(home), installation.list_wanted()
    plans = [
        _plan_client(installation, client, place)
        for client in found
        if client.name not in installed
    ]
    return [
        MissingClient(plan.client.name, plan.client.title, plan.client.name in wanted, plan.problem)
        for plan in plans
    ]


def find_lost_parts(home: str, name: str, place: SetupPlace) -> list[str]:
    """The files of a client in which something of ours is missing, or that cannot be read."""
    installation = Installation(home)
    problems = []
    where = find_place(home, name, place)
    for edit in find_setup(name).list_edits(where):
        try:
            if installation.plan([edit]):
                problems.append(f"{edit.path} has lost something that Holdfast needs")
        except HoldfastError as error:
            problems.append(error.message)
    return problems


@dataclass(frozen=True)
class ClientUse:
    """A client whose hooks are set up or have fired: what is there, and what sessions have paid."""

    name: str
    title: str
    is_set_up: bool  # by `init`; else its hooks were wired by hand, or are no more
    last_fired_at: float | None
    is_complete: bool  # nothing of ours is missing in its settings
    has_commands: bool
    hook_count: int  # without ends, which also come where no session was
    turn_count: int
    handed_count: int  # how often something was handed over
    mean_milliseconds: float  # of a hook
    mean_turn_milliseconds: float  # of all hooks of a turn
    mean_chars: float  # each time that something was handed over

    @property
    def mean_tokens(self) -> int:
        return tokens_of(int(self.mean_chars))


def list_uses(home: str, place: SetupPlace) -> list[ClientUse]:
    """Of every client that is set up or has fired, from files alone: nothing is started."""
    installed = list_installed_clients(home)
    uses = [_describe_use(home, name, place, is_set_up=name in installed) for name in CLIENTS]
    is_on_somewhere = Enrolment(home).list_folders() != {}  # not so after `uninstall`
    return [use for use in uses if use.is_set_up or (use.last_fired_at and is_on_somewhere)]


def _describe_use(home: str, name: str, place: SetupPlace, *, is_set_up: bool) -> ClientUse:
    setup, client = find_setup(name), find_client(name)
    assert client is not None
    where = find_place(home, name, place)
    marks = probing.find_marks(home, name)
    paid = probing.list_session_marks(name, marks)
    prompts = [event for event, moment in client.MOMENTS.items() if moment == PROMPT]
    hook_count, handed_count = _add_up(paid, "count"), _add_up(paid, "handed")
    turn_count = _add_up([marks.get(event, {}) for event in prompts], "count")
    milliseconds = _add_up(paid, "milliseconds")
    return ClientUse(
        name=name,
        title=client.TITLE,
        is_set_up=is_set_up,
        last_fired_at=probing.find_last_fired(name, marks),
        is_complete=is_set_up and not find_lost_parts(home, name, place),
        has_commands=all(map(os.path.exists, setup.list_commands(where))),
        hook_count=int(hook_count),
        turn_count=int(turn_count),
        handed_count=int(handed_count),
        mean_milliseconds=milliseconds / max(hook_count, 1),
        mean_turn_milliseconds=milliseconds / max(turn_count, 1),
        mean_chars=_add_up(paid, "chars") / max(handed_count, 1),
    )


def _add_up(marks: Sequence[Mapping[str, Any]], key: str) -> float:
    return sum(float(mark.get(key, 0)) for mark in marks)


def find_title(name: str) -> str:
    client = find_client(name)
    return client.TITLE if client else name


def is_program_found(place: SetupPlace) -> bool:
    """Whether the installed command leads to a program, from an environment of next to nothing."""
    return probing.starts(place)
