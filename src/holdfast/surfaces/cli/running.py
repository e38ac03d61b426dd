"""How a command runs: its output, its errors and its exit code, the same for all of them.

Data goes to stdout, notes to stderr. With `--json` one JSON document goes to stdout and nothing
else. Stored text is made safe for a terminal here, in one place.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import sys
import warnings
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from io import TextIOWrapper
from typing import Any, TypeVar

import click

from holdfast.app import App
from holdfast.errors import HoldfastError, InvalidValueError, bug_message, shown
from holdfast.ground.text import term_safe
from holdfast.ground.user_settings import load_user_settings
from holdfast.ground.worktree import find_worktree
from holdfast.scope import Scope
from holdfast.sessions.errors import SessionNotFoundError
from holdfast.sessions.model import Session
from holdfast.surfaces.cli.actions import advise, word_actions
from holdfast.surfaces.cli.errors import UNCHANGED, DeclinedError
from holdfast.write import Effect, Request, write

R = TypeVar("R")

PROGRAM = "holdfast"
REPORT_IT = "Tell us what you ran, and this line."
ERROR = "Error: "
ABORTED_LATER = "Stopped. What was done before that stays."
ID_CHARACTERS = frozenset("0123456789abcdef-")
SHORTEST_BEGINNING = 8
SHOWN_IDS = 5
READ_SETTINGS = ("status", "workstream", "prove", "bundle", "why", "round", "forget")


@dataclass(frozen=True)
class Output:
    """What a command answers: data for `--json`, text for a person, warnings for both."""

    data: Any
    text: str
    warnings: Sequence[str] = ()
    exit_code: int = 0
    error: HoldfastError | None = None  # why the answer is not whole; `data` has it too
    aside: str = ""  # for a person to read, where the text is what a script takes


@dataclass
class OutputMode:
    """How a command's errors are printed, as far as its words were understood."""

    for_json: bool = False


class _CommandWithHelp(click.Command):
    """Its own line on `--help`, in the wording of all the others."""

    def get_help_option(self, context: click.Context) -> click.Option | None:
        option = super().get_help_option(context)
        if option is not None:
            option.help = "Show this help"
        return option


class Command(_CommandWithHelp):
    """A command that takes `--json`, after its name or before it.

    One that `speaks_to_programs` takes it too, because every command does, and ignores it.
    """

    def __init__(self, *args: Any, speaks_to_programs: bool = False, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.params.append(
            click.Option(
                ["--json"],
                is_flag=True,
                expose_value=False,
                callback=_set_output_mode,
                hidden=speaks_to_programs,
                help="Print one JSON document",
            )
        )


def _set_output_mode(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    context.meta["json"] = value or context.meta.get("json", False)
    if isinstance(context.obj, OutputMode):
        context.obj.for_json = context.meta["json"]


class Group(Command, click.Group):
    command_class = Command
    hidden_commands: Sequence[str] = ()
    other_names: Mapping[str, str] = {}  # what agents call a command, where that differs

    def list_commands(self, context: click.Context) -> list[str]:
        """In the order in which they are used, which is the order of their definition."""
        return list(self.commands)

    def resolve_command(self, context: click.Context, args: list[str]) -> Any:
        given = args[0]
        known = self.list_commands(context)
        is_known = given in known or given in self.hidden_commands
        # The Tab key asks about words that are not finished.
        if is_known or context.resilient_parsing:
            return super().resolve_command(context, args)
        raise _make_unknown_command_error(context, self.other_names.get(given, given), given, known)


def _make_unknown_command_error(
    context: click.Context, wanted: str, given: str, known: Sequence[str]
) -> click.UsageError:
    above = context.command_path.removeprefix(PROGRAM).lstrip()
    typed = f"{above} {given}".lstrip()
    problem = f"There is no command {typed!r}."
    name = _find_similar(context, wanted, known)
    if name:
        meant = f"{above} {name}".lstrip()
        problem += f" Did you mean {meant!r}?"
    return click.UsageError(problem, context)


def _find_similar(context: click.Context, wanted: str, known: Sequence[str]) -> str | None:
    """An option of that name, else the most similar command; one with the same letters first."""
    from difflib import get_close_matches

    options = [name for option in context.command.params for name in option.opts]
    if f"--{wanted}" in options:
        return f"--{wanted}"
    similar = get_close_matches(wanted, known)
    similar.sort(key=lambda name: sorted(name) != sorted(wanted))
    return next(iter(similar), None)


def answers(function: Callable[..., Output]) -> Callable[..., int]:
    """Print what a command answers."""

    @click.pass_context
    @functools.wraps(function)
    def command(context: click.Context, *args: Any, **kwargs: Any) -> int:
        output = function(*args, **kwargs)
        show(output, as_json=context.meta["json"])
        if output.error is not None and not context.meta["json"]:
            _refuse(output.error, as_json=False)
        return output.exit_code

    return command


def prints(function: Callable[..., Output]) -> Callable[..., int]:
    """Give a command the app, print what it answers, and close the store."""

    @answers
    @functools.wraps(function)
    def command(*args: Any, **kwargs: Any) -> Output:
        with App() as app:
            _note_ignored_settings(app)
            _drain_spool(app)
            return function(app, *args, **kwargs)

    return command


def run_write(
    app: App, operation: str, verb: Callable[[Scope], Awaitable[R]], *, effect: Effect = "store"
) -> R:
    """A write of a command: typed once by a person, so it has neither a key nor a condition."""
    request: Request[R] = Request(operation, effect=effect)
    return app.run(write(app.scope, request, verb)).result


def here() -> str:
    """The working tree in which the command was typed."""
    return find_worktree(current_folder())


def current_folder() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:
        raise InvalidValueError(
            "The current folder", ".", "was removed; change to one that is there"
        ) from None


def find_session(app: App, given: str) -> Session:
    """By id, by name, or by the beginning of an id: a person may copy only a part of it."""
    try:
        return app.run(app.scope.sessions.find_session(given))
    except SessionNotFoundError:
        found = _find_ids_by_prefix(app, given.casefold())
        if not found:
            raise
    if len(found) > 1:
        problem = f"is the beginning of {len(found):,} ids"
        raise InvalidValueError("Session", given, problem, known=found[:SHOWN_IDS])
    [session_id] = found
    return app.run(app.scope.sessions.get_session(session_id))


def find_session_id(app: App, given: str | None) -> str | None:
    """The whole id of a session that a person has named, or None where no session was named."""
    if given is None:
        return None
    return find_session(app, given).id


def _find_ids_by_prefix(app: App, prefix: str) -> list[str]:
    """Reads every session, which happens only where no session has that name."""
    if len(prefix) < SHORTEST_BEGINNING or not ID_CHARACTERS.issuperset(prefix):
        return []
    sessions = app.run(app.scope.sessions.list_all_sessions())
    return [session.id for session in sessions if session.id.startswith(prefix)]


def _note_ignored_settings(app: App) -> None:
    """A typo in the settings. A file that cannot be used at all is reported where it is needed."""
    typed = click.get_current_context().command_path
    _, name, *_ = typed.split()
    if name not in READ_SETTINGS:
        return
    with contextlib.suppress(HoldfastError):
        for note in load_user_settings(app.settings.home).ignored:
            click.echo(f"Note: {term_safe(note)}", err=True)


def _drain_spool(app: App) -> None:
    """Spooled events belong to every answer; those that must wait on are named in a note."""
    try:
        app.drain_spool()
        is_done = app.spool.is_empty()
    except HoldfastError:
        is_done = False
    if not is_done:
        note = f"Note: {_describe_waiting(app)} until the store can be used"
        click.echo(term_safe(note), err=True)


def _describe_waiting(app: App) -> str:
    try:
        waiting = app.spool.count_spooled()
        places = app.spool.list_places()
    except HoldfastError:  # the command that was typed does not depend on the count
        return f"Whatever waits stays in {app.spool.folder}"
    noun = "event waits" if waiting == 1 else "events wait"
    return f"{waiting:,} {noun} in {' and '.join(places)}"


def wants_json() -> bool:
    return bool(click.get_current_context().meta["json"])


def show(output: Output, *, as_json: bool) -> None:
    text = format_json(output.data) if as_json else term_safe(output.text)
    try:
        if text:
            click.echo(text)
    except OSError as error:
        # The interpreter must not complain about it once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if not isinstance(error, BrokenPipeError):  # a reader that left has seen enough
            raise
    for warning in output.warnings:
        click.echo(f"Note: {term_safe(warning)}", err=True)
    if output.aside and not as_json:
        click.echo(term_safe(output.aside), err=True)


def format_json(data: Any) -> str:
    """One JSON document; escaped where it holds what a terminal must not be sent."""
    text = json.dumps(data, ensure_ascii=False, sort_keys=True)
    if text == term_safe(text) and _can_print(text):
        return text
    return json.dumps(data, sort_keys=True)


def _can_print(text: str) -> bool:
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


def run(command: click.Command, arguments: list[str]) -> int:
    """Every way out of a command: its own exit code, a clear error, or a bug that says so."""
    mode = OutputMode()
    asks_for_json = "--json" in _cut_at_separator(arguments)
    _prepare_streams()
    try:
        result = command.main(arguments, prog_name=PROGRAM, standalone_mode=False, obj=mode)
        return result if isinstance(result, int) else 0
    except DeclinedError as error:
        return _fail(error.code, error.message, [], 1, as_json=mode.for_json, label="")
    except HoldfastError as error:
        return _refuse(error, as_json=mode.for_json)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.ctx.get_help())
        return 2
    except click.UsageError as error:
        return _refuse_usage(error, as_json=asks_for_json)
    except click.Abort as error:
        message = ABORTED_LATER if error.__cause__ else UNCHANGED
        return _fail("aborted", message, [], 1, as_json=mode.for_json)
    except OSError as error:
        is_stdout = error.filename is None  # then nothing can be printed there
        message = _describe_os_error(error)
        return _fail("unavailable", message, [], 6, as_json=mode.for_json and not is_stdout)
    except Exception as error:  # no stack trace at a door
        return _fail("bug", f"{bug_message(error)} {REPORT_IT}", [], 1, as_json=mode.for_json)


def _prepare_streams() -> None:
    warnings.showwarning = _show_warning
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # A terminal that cannot show `…` is not a reason to fail.
            stream.reconfigure(errors="backslashreplace")


def _refuse_usage(error: click.UsageError, *, as_json: bool) -> int:
    help_command = f"{_find_command_path(error)} --help"
    words = _describe_usage_problem(error).split()  # a list of choices comes on several lines
    problem = " ".join(words)
    if not problem.endswith((".", "?")):
        problem += "."
    message = f"{problem} See `{help_command}`."
    return _fail("usage", message, [help_command], 2, as_json=as_json)


def _find_command_path(error: click.UsageError) -> str:
    if error.ctx is None:
        return PROGRAM
    return error.ctx.command_path


def _describe_usage_problem(error: click.UsageError) -> str:
    """Of several options that look alike the nearest is enough."""
    if isinstance(error, click.NoSuchOption) and error.possibilities:
        return f"No such option {error.option_name!r}. Did you mean {error.possibilities[0]!r}?"
    return error.format_message()


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    """A warning from below is a note here, without the file and the line that raised it."""
    click.echo(f"Note: {term_safe(str(message))}", err=True)


def _describe_os_error(error: OSError) -> str:
    what = "The output"
    if error.filename:
        what = shown(error.filename)
    reason = error.strerror or str(error)
    return f"{what} cannot be used: {reason.lower()}."


def _cut_at_separator(arguments: Sequence[str]) -> Sequence[str]:
    if "--" not in arguments:
        return arguments
    return arguments[: arguments.index("--")]


def _refuse(error: HoldfastError, *, as_json: bool) -> int:
    commands = word_actions(error.next_actions)
    message = error.message
    if not as_json:
        message = advise(error.message, error.next_actions)
    return _fail(error.code, message, commands, error.exit_code, as_json=as_json)


def describe_error(error: HoldfastError) -> dict[str, Any]:
    """An error as the document that `--json` prints."""
    commands = word_actions(error.next_actions)
    return {"code": error.code, "message": error.message, "next_actions": list(commands)}


def _fail(
    code: str,
    message: str,
    next_actions: Sequence[str],
    exit_code: int,
    *,
    as_json: bool,
    label: str = ERROR,
) -> int:
    if as_json:
        data = {"code": code, "message": message, "next_actions": list(next_actions)}
        click.echo(format_json(data))
    else:
        click.echo(click.style(label, fg="red") + term_safe(message), err=True)
    return exit_code
