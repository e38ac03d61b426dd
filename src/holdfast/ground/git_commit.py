"""A commit of certain paths, with the person's own git: its hooks, its signature, its settings.

Everywhere else git is only asked, and nothing of a repository runs. Here a person has asked for a
commit, and means the one that they would make themselves.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence

from holdfast.ground.errors import CommitFailedError, GitMissingError


def commit_paths(root: str, paths: Sequence[str], message: str) -> str | None:
    """The new commit with exactly these paths; None where nothing in them has changed.

    What else is staged stays staged.
    """
    there = [path for path in paths if os.path.lexists(os.path.join(root, path))]
    if not there:
        return None
    if _run(root, "ls-files", "--unmerged", "--", *there).strip():
        # `add` would call it merged, with the marks of the conflict in it.
        raise CommitFailedError("a merge is not finished, and some of these files are part of it")
    _run(root, "add", "--", *there)
    if not _run(root, "status", "--porcelain", "--", *there).strip():
        return None
    _run(root, "commit", "--quiet", "--only", f"--message={message}", "--", *there)
    return _run(root, "rev-parse", "HEAD").strip()


def _run(root: str, *arguments: str) -> str:
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=root, capture_output=True, text=True, errors="replace"
        )
    except FileNotFoundError:
        raise GitMissingError("is not installed") from None
    if done.returncode:
        told = done.stderr.strip() or done.stdout.strip()
        raise CommitFailedError(told)
    return done.stdout
