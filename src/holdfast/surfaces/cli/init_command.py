"""`holdfast init`: set up the clients of this machine, with a look before it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

import click

from holdfast.clients import CLIENTS
from holdfast.errors import HoldfastError
from holdfast.ground.settings import Settings, hide_password, is_sqlite, load_settings
from holdfast.ground.text import term_safe
from holdfast.surfaces.cli import client_wording as words
from holdfast.surfaces.cli.errors import UNCHANGED, DeclinedError, UnconfirmedError
from holdfast.surfaces.cli.running import Command, Output, answers, here, wants_json
from holdfast.surfaces.cli.terminal import is_terminal
from holdfast.surfaces.mcp import offer
from holdfast.usecases import setting_up, sharing
from holdfast.usecases.setting_up import ClientPlan, SetupPlan, SetupResult

USER_SCOPE = "Changes your user settings only; nothing in this {}"
PROJECT_SCOPE = "Changes files of this {}, for everybody who pulls it"
DIFF = " (d = diff)"
NOTES = "Share notes (decisions, claims, next steps) through git?"
NOTHING_SHARED = (
    "{} has no hooks that a repository can bring along without asking each colleague; "
    "`holdfast init` sets it up for you"
)
TWICE = "{} has the hooks in your user settings too, so here each of them fires twice"
CARRIED = "What clients start uses {} of this terminal"
NO_MODEL = "Model calls made by Holdfast: 0"
LOOKING = "Looking for the agent programs of this machine …"
WRITING = "Writing, then trying whether each client reaches Holdfast …"
TRYING = "Trying whether each client reaches Holdfast …"
APPROVED = "Lets the tools of Holdfast run without a question in {}"
SWITCHED_ON = "Hooks are switched on in {}"
NEXT = "Next: start a client here      Undo: holdfast uninstall"
NEWER = "{} is newer than what Holdfast was checked with; `holdfast doctor` says whether it works"


@click.command("init", cls=Command)
@click.option(
    "--client",
    "names",
    multiple=True,
    type=click.Choice(CLIENTS),
    help="Only these; default: every one that is found",
)
@click.option("--project", is_flag=True, help="Hooks in this repository's files instead")
@click.option(
    "--shared-context/--no-shared-context",
    default=None,
    help="Keep notes in this repository, or not",
)
@click.option("--yes", is_flag=True, help="Do not ask; notes stay off")
@click.option("--dry-run", is_flag=True, help="Only show what would be changed")
@answers
def command(
    names: tuple[str, ...], project: bool, shared_context: bool | None, yes: bool, dry_run: bool
) -> Output:
    """Set up the agent programs of this machine

    Puts hooks, the MCP server and two commands into the settings of each client that is found, and
    switches hooks on for this folder. Where a client would ask each time, it is told to let the
    tools of Holdfast run without a question; nothing else is approved.
    """
    settings = load_settings()
    place = setting_up.make_place(settings, here(), offer.list_tools(), os.environ)
    if not wants_json():
        click.echo(LOOKING, err=True)
    plan = setting_up.make_plan(settings, place, names, in_project=project)
    is_asked = not (yes or dry_run)
    about = _describe_plan(plan, settings, is_asked=is_asked)
    if dry_run:
        diff = words.format_diff(plan.changes)
        return Output(_plan_to_dict(plan), f"{about}\n{diff}".rstrip(), _list_notes(plan))
    if is_asked:
        shared_context = _ask(plan, about, shared_context)
    elif not wants_json():
        click.echo(term_safe(about))
    if not wants_json():
        click.echo(WRITING if plan.changes else TRYING, err=True)
    result = setting_up.apply_plan(plan, words.choose_report())
    shared = _set_sharing(settings.home, place.worktree, shared_context)
    data = {**_plan_to_dict(plan), **_result_to_dict(result), "shared_context": shared}
    problems = words.describe_server_problems(result.checks, place)
    checks = [words.describe_check(check) for check in result.checks]
    if project:
        checks = words.describe_project_checks(setting_up.check_project(settings.home, place))
    text = _describe_result(plan, result, checks, problems)
    notes = [*_list_notes(plan), *_list_failures(plan, result)]
    return Output(data, text, notes, exit_code=5 if result.failed and not result.done else 0)


# --- questions ------------------------------------------------------------------------------------


def _ask(plan: SetupPlan, about: str, shared_context: bool | None) -> bool | None:
    if wants_json() or not is_terminal(sys.stdin):
        raise UnconfirmedError
    click.echo(term_safe(about), err=True)
    if shared_context is None and _can_share(plan):
        shared_context = _ask_or_show_diff(plan, f"{NOTES} [y/N]", "n") or None
    if not _ask_or_show_diff(plan, "Apply? [Y/n/d]", "y"):
        raise DeclinedError(UNCHANGED)
    return shared_context


def _ask_or_show_diff(plan: SetupPlan, question: str, default: str) -> bool:
    """Whether the answer is a yes; the diff is shown as often as it is asked for."""
    while (answer := _prompt(question, default)) in ("d", "diff"):
        click.echo(term_safe(words.format_diff(plan.changes) or "Nothing to change."), err=True)
    return answer.startswith("y")


def _prompt(question: str, default: str) -> str:
    answer: str = click.prompt(
        question,
        default=default,
        show_default=False,
        show_choices=False,
        type=click.Choice(["y", "n", "d", "yes", "no", "diff"], case_sensitive=False),
        err=True,
    )
    return answer


def _can_share(plan: SetupPlan) -> bool:
    """Whether there is something to choose: a repository whose notes are not on already."""
    repository = _find_repository_name(plan.place.worktree)
    return repository is not None and not sharing.is_shared(plan.home, repository)


def _set_sharing(home: str, worktree: str, chosen: bool | None) -> bool | None:
    """Only where the person has chosen; a folder without a repository has nothing to share."""
    repository = _find_repository_name(worktree) if chosen is not None else None
    if repository is None:
        return None
    sharing.set_sharing(home, repository, is_on=bool(chosen))
    return chosen


def _find_repository_name(worktree: str) -> str | None:
    try:
        return sharing.find_repository_name(worktree)
    except HoldfastError:  # git is missing, or does not like this one
        return None


# --- what is shown --------------------------------------------------------------------------------


def _describe_plan(plan: SetupPlan, settings: Settings, *, is_asked: bool) -> str:
    lines = [words.describe_found([client.client for client in plan.clients])]
    is_repository = os.path.exists(os.path.join(plan.place.worktree, ".git"))
    scope = PROJECT_SCOPE if plan.in_project else USER_SCOPE
    where = scope.format("repository" if is_repository else "folder")
    lines.append(where + (DIFF if is_asked else ""))
    lines += [f"  {words.shorten_path(change.path)}" for change in plan.changes]
    if plan.usable and not plan.changes:
        lines.append(f"  {_describe_no_change(plan)}")
    if plan.approving:
        lines.append(APPROVED.format(words.join_names(plan.approving)))
    lines.append(f"{_describe_data(settings)} {NO_MODEL}")
    carried = setting_up.list_carried(plan)
    if carried:
        lines.append(CARRIED.format(words.join_names(carried)))
    return "\n".join(lines)


def _describe_no_change(plan: SetupPlan) -> str:
    if plan.is_enrolled:
        return "Nothing to change: all of it is there already"
    return (
        f"Nothing to change there; switches hooks on for {words.shorten_path(plan.place.worktree)}"
    )


def _describe_data(settings: Settings) -> str:
    if not is_sqlite(settings.database):
        return f"Data goes to {hide_password(settings.database)}."
    return "Data stays on this machine."


def _describe_result(
    plan: SetupPlan, result: SetupResult, checks: Sequence[str], problems: Sequence[str]
) -> str:
    titles = [client.client.title for client in result.done]
    lines = [f"Set up: {', '.join(titles)}" if titles else "Nothing was set up"]
    lines += checks
    if result.done and not plan.is_enrolled:
        lines.append(SWITCHED_ON.format(words.shorten_path(plan.place.worktree)))
    lines += words.describe_left(result.checks)
    lines += [f"Problem: {problem}" for problem in problems]
    lines.append(NEXT)
    return "\n".join(lines)


def _list_notes(plan: SetupPlan) -> list[str]:
    notes = [
        f"{client.client.title} is left as it is: {client.problem}"
        for client in plan.clients
        if client.problem
    ]
    notes += [NEWER.format(c.client.describe()) for c in plan.usable if c.client.is_newer]
    notes += plan.settings_problems
    notes += words.describe_password(plan.place)
    if plan.in_project:
        notes += [NOTHING_SHARED.format(c.client.title) for c in plan.usable if not c.edits]
        notes += [TWICE.format(title) for title in _list_wired_twice(plan)]
    return notes


def _list_wired_twice(plan: SetupPlan) -> list[str]:
    wired = setting_up.list_installed_clients(plan.home)
    brought = [client.client for client in plan.usable if client.edits]
    return [client.title for client in brought if client.name in wired]


def _list_failures(plan: SetupPlan, result: SetupResult) -> list[str]:
    """What went wrong while it was written, and was not known before."""
    known = [client.client.name for client in plan.clients if client.problem]
    return [
        f"{client.client.title} is left as it is: {client.problem}"
        for client in result.failed
        if client.client.name not in known
    ]


def _plan_to_dict(plan: SetupPlan) -> dict[str, Any]:
    return {
        "worktree": plan.place.worktree,
        "command": plan.place.shim,
        "program": plan.program,
        "in_project": plan.in_project,
        "clients": [_client_to_dict(client) for client in plan.clients],
    }


def _client_to_dict(client: ClientPlan) -> dict[str, Any]:
    return {
        "client": client.client.name,
        "version": client.client.version,
        "problem": client.problem,
        "changes": [words.change_to_dict(change) for change in client.changes],
        "diff": words.format_diff(client.changes),
    }


def _result_to_dict(result: SetupResult) -> dict[str, Any]:
    return {
        "done": [client.client.name for client in result.done],
        "failed": [
            {"client": client.client.name, "problem": client.problem} for client in result.failed
        ],
        "checks": [words.check_to_dict(check) for check in result.checks],
    }
