"""`holdfast prove CMD…`: run a command and keep how it ended, bound to the files that it ran on."""

from __future__ import annotations

import os
import sys

import click

from holdfast.app import App
from holdfast.surfaces.cli import workstream_wording as wording
from holdfast.surfaces.cli.running import Command, Output, current_folder, prints, run_write


@click.command("prove", cls=Command, context_settings={"allow_interspersed_args": False})
@click.option("--again", metavar="ID", help="Run an earlier proof once more")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="CMD...")
@prints
def command(app: App, again: str | None, words: tuple[str, ...]) -> Output:
    """Run a command and store its exit code, with the files

    Its exit code becomes ours. What it prints goes through; with --json to stderr. Our own options
    stand before it: whatever follows is part of it.
    """
    if not words and again is None:
        raise click.UsageError(
            "Say what to run: `holdfast prove -- pytest -q`, or `holdfast prove --again ID`"
        )
    context = click.get_current_context()
    place = sys.stderr.buffer if context.meta["json"] else sys.stdout.buffer

    def show(part: bytes) -> None:
        try:
            place.write(part)
            place.flush()
        except BrokenPipeError:
            # A reader that left has seen enough; how the command ends still counts.
            os.dup2(os.open(os.devnull, os.O_WRONLY), place.fileno())

    workstreams = app.workstreams(current_folder())
    proof = run_write(
        app,
        "workstream.prove",
        lambda _: workstreams.prove(words, again=again, show=show),
        effect="files",
    )
    note = f"Proof {wording.describe_proof(proof, proof.tree or '')}"
    return Output({"proof": proof.to_dict()}, "", [note], exit_code=proof.exit_code)
