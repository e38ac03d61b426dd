"""Developers of one workspace, on both engines."""

from collections.abc import Callable
from typing import Any

import pytest

from holdfast.ground.settings import owner_of
from holdfast.scope import Scope

ScopeOf = Callable[[str], Scope]


@pytest.fixture
def scope_of(database: Any, workspace: str) -> ScopeOf:
    """The rooms as a developer of this workspace has them."""
    return lambda handle: Scope(database, owner_of(workspace, handle))
