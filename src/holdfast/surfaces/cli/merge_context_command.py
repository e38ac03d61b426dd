"""`holdfast merge-context`: what git calls to merge two versions of a context file."""

from __future__ import annotations

import click

from holdfast.ground import files
from holdfast.surfaces.cli.running import Command, Output, answers
from holdfast.workstreams.document import merge_bytes
from holdfast.workstreams.store import FILE_BYTES


@click.command("merge-context", cls=Command, hidden=True, speaks_to_programs=True)
@click.argument("base")
@click.argument("ours")
@click.argument("theirs")
@answers
def command(base: str, ours: str, theirs: str) -> Output:
    """Merge two versions of a context file by the ids of entries

    Git calls it with %O %A %B; the result replaces the second one. Exit code 1 leaves the merge to
    the person.
    """
    our_bytes = files.read_bytes(ours, max_bytes=FILE_BYTES)
    their_bytes = files.read_bytes(theirs, max_bytes=FILE_BYTES)
    merged = merge_bytes(our_bytes, their_bytes, ours)
    if merged is None:
        return Output({"merged": False}, "", exit_code=1)
    files.write_atomic(ours, merged, mode=0o644)
    return Output({"merged": True}, "")
