"""The question before something that cannot be undone."""

from __future__ import annotations

import click

from holdfast.errors import Action
from holdfast.surfaces.cli.errors import NobodyAnsweredError


def confirm(question: str, confirmed: Action) -> None:
    """Go on after a yes. `confirmed` does the same without a question, where nobody answers."""
    try:
        click.confirm(question, abort=True, err=True)
    except click.Abort as error:
        if error.__context__:  # the line of the question was not ended
            click.echo(err=True)
        if not isinstance(error.__context__, EOFError):  # a no, or Ctrl-C
            raise
        raise NobodyAnsweredError(confirmed) from None
