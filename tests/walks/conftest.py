"""Walks start real commands, as people and clients do."""

from tests.rig.commands import cli, project, run

__all__ = ["cli", "project", "run"]
