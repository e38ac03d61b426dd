"""What the tests of the doors have in common: commands as processes and in process."""

from tests.rig.commands import cli, project, real_limits, run

__all__ = ["cli", "project", "real_limits", "run"]
