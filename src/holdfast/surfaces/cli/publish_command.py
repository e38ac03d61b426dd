"""`holdfast publish`: the same as `holdfast team publish`, for it is typed every day."""

from __future__ import annotations

from holdfast.surfaces.cli.team_command import publish as command

__all__ = ["command"]
