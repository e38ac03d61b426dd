"""How clients, their files and their checks are worded, for every command that is about them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import click

from holdfast.clients import probing
from holdfast.clients.installation import ConfigChange
from holdfast.clients.probing import ClientCheck, FoundClient, HookCheck, Report
from holdfast.clients.setup import SetupPlace
from holdfast.ground.frozen import asdict
from holdfast.ground.settings import has_password
from holdfast.ground.text import cut, plural
from holdfast.surfaces.cli.running import wants_json
from holdfast.usecases import setting_up
from holdfast.usecases.setting_up import ClientUse, MissingClient
from holdfast.usecases.switching import SwitchedSession

DIFF_CHARS = 160  # a settings file may be one line, with secrets of its owner in it
NOT_SEEN = "not seen yet"
PASSWORD = (
    "HOLDFAST_DATABASE has a password, so it is not written down, and a client that starts "
    "programs without your environment (Codex) would use the file in the data folder. Put the "
    "password into ~/.pgpass, leave it out of HOLDFAST_DATABASE, and run `holdfast init` again"
)


def shorten_path(path: str) -> str:
    """As a person writes it: `~` for the folder of one's own."""
    own = os.path.join(os.path.expanduser("~"), "")
    return f"~/{path.removeprefix(own)}" if path.startswith(own) else path


def format_diff(changes: Iterable[ConfigChange]) -> str:
    lines = []
    for change in changes:
        lines += _format_change(change.make_diff().splitlines())
    return "\n".join(lines)


def _format_change(lines: Sequence[str]) -> list[str]:
    """What is added is shown whole, as it will be run; what is the person's own may be cut."""
    has_long_line = any(line.startswith("-") and len(line) > DIFF_CHARS for line in lines)
    shown = []
    for line in lines:
        is_ours = line.startswith("+") and not has_long_line
        shown.append(line if is_ours else cut(line, DIFF_CHARS))
    return shown


def describe_use(use: ClientUse) -> list[str]:
    """Lines of `status`: what works, and what a session pays."""
    lines = [f"{use.title}: hooks last fired: {describe_time(use.last_fired_at)}"]
    lines.append(f"  {_describe_setup(use)}")
    if use.last_fired_at:
        lines.append(f"  {describe_hook_price(use)}")
        lines.append(f"  {describe_text_price(use)}")
    return lines


def _describe_setup(use: ClientUse) -> str:
    if not use.is_set_up:
        return "not set up by `holdfast init`"
    tools = "tools set up" if use.is_complete else "settings changed since, see `holdfast doctor`"
    return f"{tools} · {'commands there' if use.has_commands else 'commands missing'}"


def describe_hook_price(use: ClientUse) -> str:
    """What a person waits for."""
    each = f"{plural(use.hook_count, 'hook')} so far, {use.mean_milliseconds:,.0f} ms each"
    if not use.turn_count:
        return each
    turns = plural(use.turn_count, "turn")
    return f"{each}; {turns}, {use.mean_turn_milliseconds:,.0f} ms each"


def describe_text_price(use: ClientUse) -> str:
    """What a model reads of ours before the person's words."""
    if not use.handed_count:
        return "nothing handed over yet"
    times = plural(use.handed_count, "time")
    return (
        f"handed over {times}: {use.mean_chars:,.0f} characters each, "
        f"about {use.mean_tokens:,} tokens"
    )


def describe_found(found: Sequence[FoundClient]) -> str:
    names = ", ".join(client.describe() for client in found)
    return f"Found {names}"


def describe_check(check: ClientCheck, *, is_on: bool = True) -> str:
    """`is_on`: hooks work in this folder."""
    hooks = _describe_hooks(check, is_on=is_on)
    parts = [hooks, _describe_server(check), _describe_commands(check)]
    return f"  {check.title:<12} {' · '.join(parts)}"


def _describe_hooks(check: ClientCheck, *, is_on: bool) -> str:
    silent = check.silent_hooks
    if not silent and not is_on:
        return "hooks answer, and do nothing here"
    if not silent and check.last_fired_at:
        return f"hooks fired {describe_time(check.last_fired_at)}"
    if not silent:
        return "hooks answer, not fired yet"
    if len(silent) == len(check.hooks):
        return "hooks do not answer"
    return f"hooks do not answer: {', '.join(silent)}"


def _describe_server(check: ClientCheck) -> str:
    if check.reaches_server:
        return "tools connected"
    if check.reaches_server is None:
        return "tools unknown, it did not say"
    return "tools not connected"


def _describe_commands(check: ClientCheck) -> str:
    return "commands there" if check.has_commands else "commands missing"


def describe_time(seconds: float | None) -> str:
    if seconds is None:
        return NOT_SEEN
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%MZ}"


def choose_report() -> Report:
    """For a person; nothing where a program reads the answer."""
    return _ignore_check if wants_json() else _report_check


def _ignore_check(check: ClientCheck, waiting: Sequence[str]) -> None:
    return


def _report_check(check: ClientCheck, waiting: Sequence[str]) -> None:
    """While others are tried: some take long, and a person should know which."""
    left = f", waiting for {join_names(waiting)}" if waiting else ""
    click.echo(f"  {check.title} was tried{left}", err=True)


def join_names(names: Sequence[str]) -> str:
    """As in a sentence: "a", "a and b", "a, b and c"."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def describe_missing(client: MissingClient) -> str:
    """What to do about a client that is on this machine and not set up."""
    reason = f": {client.problem.rstrip('.')}" if client.problem else ""
    command = f"holdfast init --client {client.name}"
    return f"{client.title} is on this machine and not set up{reason}. `{command}` sets it up."


def describe_project_checks(checks: Mapping[str, Sequence[HookCheck]]) -> list[str]:
    """Of the hooks in a repository's files, which bring no tools and no commands along."""
    return [_describe_project_check(name, hooks) for name, hooks in checks.items()]


def _describe_project_check(name: str, hooks: Sequence[HookCheck]) -> str:
    silent = [hook.event for hook in hooks if not hook.answers]
    state = f"do not answer: {', '.join(silent)}" if silent else "answer"
    return f"  {setting_up.find_title(name):<12} hooks of this repository {state}"


def describe_server_problems(checks: Iterable[ClientCheck], place: SetupPlace) -> list[str]:
    """Why no client may reach our tools, in the words of the server that they start."""
    if all(check.reaches_server for check in checks):
        return []
    problem = probing.find_server_problem(place)
    return [f"The tools of Holdfast do not start: {problem}"] if problem else []


def describe_password(place: SetupPlace) -> list[str]:
    """That what some clients start would use another store."""
    return [PASSWORD] if has_password(place.environment.get("HOLDFAST_DATABASE", "")) else []


def describe_left(checks: Iterable[ClientCheck]) -> list[str]:
    sentences = [sentence for check in checks for sentence in check.left]
    return [f"Left for you: {sentence}" for sentence in sentences]


def check_to_dict(check: ClientCheck) -> dict[str, Any]:
    return {
        "client": check.name,
        "tools_connected": check.reaches_server,
        "hooks": [asdict(hook) for hook in check.hooks],
        "commands": check.has_commands,
        "left": list(check.left),
    }


def describe_removal(change: ConfigChange) -> str:
    path = shorten_path(change.path)
    return f"Removed {path}" if change.after is None else f"Took Holdfast out of {path}"


def describe_switched(switched: SwitchedSession) -> str:
    title = setting_up.find_title(switched.client)
    session = switched.session
    if session is None:
        return f"{switched.native_id} ({title}, nothing of it is stored)"
    begun = f"begun {session.started_at:%Y-%m-%d %H:%MZ}"
    return f"{session.name or session.id} ({title}, {begun})"


def change_to_dict(change: ConfigChange) -> dict[str, Any]:
    return {
        "path": change.path,
        "is_new": change.before is None,
        "is_removed": change.after is None,
    }
