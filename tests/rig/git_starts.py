"""Counts the git processes that are started."""

from typing import Any

import pytest

from holdfast.ground.git_process import Git, Running


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The name of each git command that was started."""
    names: list[str] = []
    start = Git.start

    def count(self: Git, *arguments: str, **more: Any) -> Running:
        names.append(arguments[0])
        return start(self, *arguments, **more)

    monkeypatch.setattr(Git, "start", count)
    return names
