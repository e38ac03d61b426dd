"""The command line: a thin door over the services, loaded one command at a time."""

from __future__ import annotations

from collections.abc import Sequence


def main(arguments: Sequence[str]) -> int:
    """Run one command; the answer is its exit code."""
    from holdfast.surfaces.cli.root import root
    from holdfast.surfaces.cli.running import run

    return run(root, list(arguments))
