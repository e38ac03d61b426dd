"""How a command runs: its output, its errors and its exit code, the same for all of them.

Data goes to stdout, notes to stderr. With `--json` one JSON document goes to stdout and nothing else. Whatever was
stored by somebody is made safe for a terminal here, in one place.
"""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import click

from holdfast.app import App
from holdfast.errors import HoldfastError
from holdfast.ground.text import term_safe

PROGRAM = "holdfast"


@dataclass(frozen=True)
class Output:
    """What a command answers: data for `--json`, text for a person, warnings for both."""

    data: Any
    text: str
    warnings: Sequence[str] = ()
    exit_code: int = 0


class Command(click.Command):
    """A command that takes `--json`."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.params.append(
            click.Option(
                ["--json"], is_flag=True, expose_value=False, callback=_remember, help="Print one JSON document"
            )
        )


def _remember(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    context.meta["json"] = value


class Group(click.Group):
    command_class = Command


def prints(function: Callable[..., Output]) -> Callable[..., int]:
    """Give a command the app, print what it answers, and close the store."""

    @click.pass_context
    @functools.wraps(function)
    def command(context: click.Context, *args: Any, **kwargs: Any) -> int:
        with App() as app:
            output = function(app, *args, **kwargs)
        show(output, as_json=context.meta["json"])
        return output.exit_code

    return command


def show(output: Output, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(output.data, ensure_ascii=False, sort_keys=True))
    elif output.text:
        click.echo(term_safe(output.text))
    for warning in output.warnings:
        click.echo(f"Note: {term_safe(warning)}", err=True)


def run(command: click.Command, arguments: list[str]) -> int:
    """Every way out of a command: its own exit code, a clear error, or a bug that says so."""
    as_json = "--json" in _before_separator(arguments)
    try:
        result = command.main(arguments, prog_name=PROGRAM, standalone_mode=False)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except HoldfastError as error:
        return _fail(error.code, error.message, error.next_actions, error.exit_code, as_json=as_json)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.ctx.get_help())
        return 2
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx else PROGRAM
        problem = error.format_message()
        message = f"{problem}{'' if problem[-1:] in '.?' else '.'} `{where} --help` shows how it is called."
        return _fail("usage", message, [f"{where} --help"], 2, as_json=as_json)
    except (click.Abort, KeyboardInterrupt):
        return _fail("aborted", "Aborted. Nothing was changed.", [], 1, as_json=as_json)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the reader left; the interpreter must not complain about it
        return 0
    except click.ClickException as error:
        return _fail("invalid", error.format_message(), [], 2, as_json=as_json)
    except Exception as error:  # no stack trace at a door
        return _fail("bug", _bug(error), [], 1, as_json=as_json)


def _bug(error: Exception) -> str:
    """One line that says what happened and where, without anything of the person's own text."""
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    place = f"{os.path.basename(frame.tb_frame.f_code.co_filename)}:{frame.tb_lineno}" if frame else "unknown"
    return f"This is a bug in Holdfast: {type(error).__name__} at {place}. Tell us what you ran, and this line."


def _before_separator(arguments: Sequence[str]) -> Sequence[str]:
    return arguments[: arguments.index("--")] if "--" in arguments else arguments


def _fail(code: str, message: str, next_actions: Sequence[str], exit_code: int, *, as_json: bool) -> int:
    if as_json:
        document = {"code": code, "message": message, "next_actions": list(next_actions)}
        click.echo(json.dumps(document, ensure_ascii=False, sort_keys=True))
    else:
        click.echo(click.style("Error: ", fg="red") + term_safe(message), err=True)
    return exit_code
