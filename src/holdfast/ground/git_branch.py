"""What a branch has on top of its base: its commits with what they say, and their files."""

from __future__ import annotations

import os
from collections.abc import Sequence

from holdfast.ground import git_refs
from holdfast.ground.git_history import QUIET_DIFF
from holdfast.ground.git_process import text
from holdfast.ground.git_refs import find_forbidden_part
from holdfast.ground.git_repository import (
    DETACHED,
    HEAD,
    Branch,
    Repository,
    find_default_branch,
    is_commit,
)
from holdfast.ground.light_typing import NamedTuple

COMMITS_READ = 500
LOG_BYTES = 4 << 20
NEWEST_LOOKED_AT = 200  # for one of the person's own
REBASED = ("rebase-merge/head-name", "rebase-apply/head-name")

_COMMIT, _SUBJECT = "\x01", "\x02"


class BranchCommit(NamedTuple):
    """Its files are those of the first parent, in git's order; a very long log ends early."""

    id: str
    subject: str
    files: Sequence[str]


def find_branch(repository: Repository) -> str | None:
    """The one that is checked out. While one is rebased, HEAD is at none, and git says that one."""
    if repository.branch != DETACHED:
        return repository.branch
    names = [git_refs.read_small(os.path.join(repository.git_dir, path)) for path in REBASED]
    rebased = [name.removeprefix(HEAD) for name in names if name.startswith(HEAD)]
    usable = [name for name in rebased if name.isprintable() and not find_forbidden_part(name)]
    return next(iter(usable), None)


def find_base(repository: Repository, tip: str = "HEAD") -> Branch | None:
    """The default branch, where the tip has a commit in common with it that is here."""
    default = find_default_branch(repository)
    if default is None:
        return None
    answer = repository.git.run("merge-base", default.commit, tip)
    return default if answer.code == 0 else None


def list_branch_commits(
    repository: Repository, base: Branch, tip: str = "HEAD"
) -> list[BranchCommit]:
    """What the tip has and the base has not, the newest first, without merges; no more than are
    read.

    A branch that began at commits of the local base which were not pushed does not have them.
    """
    bases = [base.commit]
    if base.name not in (repository.branch, tip.removeprefix(HEAD)):
        local = git_refs.find_commit(repository.common_dir, f"{HEAD}{base.name}")
        bases += [local] if local else []
    answer = repository.git.run(
        "log", "--no-merges", f"--max-count={COMMITS_READ}", "-z", "--name-only", *QUIET_DIFF,
        "--encoding=UTF-8", "--format=%x01%H%x02%s", tip, "--not", *bases, "--",
        most_bytes=LOG_BYTES,
    )  # fmt: skip
    return _parse_log(text(answer.out).split("\0")[:-1]) if answer.code == 0 else []


def find_own_subject(repository: Repository, tip: str = "HEAD") -> str:
    """Of the newest commit that the person has made, as their settings name them; else empty."""
    answer = repository.git.run("config", "--get", "user.email")
    own = text(answer.out).strip()
    if not own:
        return ""
    listing = ("log", "--no-merges", f"--max-count={NEWEST_LOOKED_AT}", "--encoding=UTF-8")
    answer = repository.git.run(*listing, "--format=%ae%x02%s", tip, "--")
    rows = [line.partition(_SUBJECT) for line in text(answer.out).split("\n")]
    return next((subject for email, _, subject in rows if email == own), "")


def _parse_log(rows: list[str]) -> list[BranchCommit]:
    """`\\x01ID\\x02SUBJECT`, then its files, the first of them after a line end."""
    commits: list[BranchCommit] = []
    files: list[str] = []
    for row in rows:
        commit, _, subject = row.removeprefix(_COMMIT).partition(_SUBJECT)
        if row.startswith(_COMMIT) and is_commit(commit):
            files = []
            commits.append(BranchCommit(commit, subject, files))
        elif row:
            files.append(row.removeprefix("\n"))
    return commits
