"""Which working tree a folder belongs to, found without starting git."""

from __future__ import annotations

import os


def find_worktree(folder: str) -> str:
    """The nearest folder above that holds `.git`, else the folder itself; links resolved."""
    start = os.path.realpath(folder)
    at = start
    while not os.path.exists(os.path.join(at, ".git")):
        above = os.path.dirname(at)
        if above == at:
            return start
        at = above
    return at
