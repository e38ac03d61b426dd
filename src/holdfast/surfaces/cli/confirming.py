"""The question before something that cannot be undone, or that others will see."""

from __future__ import annotations

import click

from holdfast.errors import Action
from holdfast.surfaces.cli.errors import UNCHANGED, DeclinedError, NobodyAnsweredError


def confirm(
    question: str, confirmed: Action, *, default: bool = False, left_undone: str = UNCHANGED
) -> None:
    """Go on after a yes; `left_undone` is what is printed after a no. `confirmed` does the same
    without a question, where nobody answers.
    """
    try:
        is_wanted = click.confirm(question, default=default, err=True)
    except click.Abort as error:
        click.echo(err=True)  # the line of the question was not ended
        if not isinstance(error.__context__, EOFError):  # Ctrl-C
            raise
        raise NobodyAnsweredError(confirmed) from None
    if not is_wanted:
        raise DeclinedError(left_undone)
