"""Which repository a folder is in, what it is called everywhere, and which of its branches is the
default.

The name has to be the same in every clone and working tree, and it must not tell where somebody
keeps his files: it stands in documents that are committed.
"""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass, replace

from holdfast.errors import InvalidValueError
from holdfast.ground.errors import GitFailedError
from holdfast.ground.git_process import Git, text
from holdfast.ground.git_settings import LISTING, GitSettings
from holdfast.ground.worktree import find_worktree

DETACHED = "HEAD"  # no branch is checked out; git refuses to make a branch of this name
HEAD = "refs/heads/"
USUAL_DEFAULTS = ("main", "master")

_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


@dataclass(frozen=True)
class Repository:
    """A working tree and where its repository lies, as they were when somebody looked.

    `repo` is the same for every clone and working tree: host and path of the remote `origin` (else
    of the first one), or, where that leads nowhere but into this machine, the first commit of the
    default branch, the smallest of several. While there is neither (no commit yet, or a shallow
    clone that cannot see the first one) it is `local-` and a hash of where the repository lies: no
    two of them are taken for one, and it does not tell the place.
    """

    root: str
    git_dir: str
    common_dir: str
    repo: str
    branch: str
    hash_kind: str
    is_shallow: bool
    settings: GitSettings
    default_names: tuple[
        str, ...
    ] = ()  # branches that may be the default, of every remote; the best come first

    @property
    def git(self) -> Git:
        """Asks with every filter blanked, also one that was named after this repository was found."""
        settings = self.settings
        return Git(self.root, settings if settings.is_current else Git(self.root).read_settings())


@dataclass(frozen=True)
class Branch:
    """A branch by its short name, and the commit that it is at."""

    name: str
    commit: str


def find_repository(folder: str) -> Repository | None:
    """The repository whose working tree a folder is in. A bare one has none, so it is not found.

    Nor is one that says its working tree is somewhere else: what is written there would land in a
    place of its choice.
    """
    root = find_worktree(folder)
    if not os.path.lexists(os.path.join(root, ".git")):
        return None
    git = Git(root)
    with git.start(*LISTING) as listing:
        found = _find_place(git)
        answer = listing.finish()
    if found is None:
        return None
    own_files = (f"{found.common_dir}/config", f"{found.git_dir}/config.worktree")
    found = replace(found, settings=git.read_settings(answer, own_files))
    return replace(
        found, repo=found.settings.remote_name or _first_commit(found) or _local_name(found)
    )


def find_default_branch(repository: Repository) -> Branch | None:
    """What the remote calls its default, else `main` or `master`, the remote's before one's own."""
    remote = f"refs/remotes/{repository.settings.remote or 'origin'}/"
    usual = [f"{place}{name}" for name in USUAL_DEFAULTS for place in (remote, HEAD)]
    listed = repository.git.ask(
        "for-each-ref", "--format=%(refname)%00%(objectname)%00%(symref)", f"{remote}HEAD", *usual
    )
    rows = [line.split("\0") for line in text(listed).split("\n")[:-1]]
    found = {
        symref or name: commit for name, commit, symref in sorted(rows, key=lambda row: not row[2])
    }
    pointed = [symref for _, _, symref in rows if symref]
    best = next((name for name in [*pointed, *usual] if name in found), None)
    return Branch(best.removeprefix(remote).removeprefix(HEAD), found[best]) if best else None


def is_commit(value: object) -> bool:
    return isinstance(value, str) and _COMMIT.fullmatch(value) is not None


def check_commit(value: str) -> str:
    if not is_commit(value):
        raise InvalidValueError("commit", value, "is not the whole id of a commit")
    return value


# --- where it lies and what it is called ----------------------------------------------------------

_QUESTIONS = (
    "--is-inside-work-tree",
    "--show-cdup",
    "--is-shallow-repository",
    "--show-object-format",
)
_FOLDERS = ("--git-dir", "--git-common-dir")
# A line that no name of a branch is, between the folders, whose names may have line breaks, and the
# branches.
_END = "--is-inside-work-tree"
# A bracket makes a pattern of a name: without one, everything below the name would be meant.
_DEFAULTS = (
    "--glob=refs/remotes/*/[H]EAD",
    *(
        f"--glob={place}[{name[0]}]{name[1:]}"
        for name in USUAL_DEFAULTS
        for place in ("refs/remotes/*/", HEAD)
    ),
)
_NONE = ("not a git repository", "must be run in a work tree", "bare repository")


def _find_place(git: Git) -> Repository | None:
    """All but the key and the settings. Folders whose names have line breaks are asked for one by
    one.
    """
    absolute = ("rev-parse", "--path-format=absolute")
    answer = git.run(
        *absolute, *_QUESTIONS, *_FOLDERS, _END, "--symbolic-full-name", "HEAD", *_DEFAULTS
    )
    lines = text(answer.out).split("\n")
    if len(lines) < len(_QUESTIONS) + len(_FOLDERS):
        _refuse_unless_missing(git, answer.complaint)
        return None
    inside, way_up, shallow, hash_kind, *rest = lines
    if inside != "true" or way_up:
        return None
    end = len(rest) - 1 - rest[::-1].index(inside)
    folders, (ref, *names, _) = rest[:end], rest[end + 1 :]
    if len(folders) != len(_FOLDERS):
        folders = [text(git.ask(*absolute, folder))[:-1] for folder in _FOLDERS]
    git_dir, common_dir = folders
    ref = (
        text(git.ask("symbolic-ref", "HEAD")).rstrip("\n") if answer.code else ref
    )  # no commit yet
    branch = ref.removeprefix(HEAD) if ref.startswith(HEAD) else DETACHED
    return Repository(
        root=git.folder,
        git_dir=git_dir,
        common_dir=common_dir,
        repo="",
        branch=branch,
        hash_kind=hash_kind,
        is_shallow=shallow == "true",
        settings=GitSettings(),
        default_names=tuple(names),
    )


def _refuse_unless_missing(git: Git, complaint: str) -> None:
    """A folder called `.git` is not always one of git's. A repository that git refuses to read is
    another matter.
    """
    if not any(words in complaint for words in _NONE):
        raise GitFailedError(git.folder, complaint)


def _local_name(repository: Repository) -> str:
    place = repository.common_dir.encode("utf-8", "surrogateescape")
    return f"local-{hashlib.sha256(place).hexdigest()[:16]}"


def _first_commit(repository: Repository) -> str | None:
    if repository.is_shallow:
        return None
    places = (f"refs/remotes/{repository.settings.remote or 'origin'}/", HEAD)
    names = [name for name in repository.default_names if name.startswith(places)]
    answer = repository.git.run("rev-list", "--max-parents=0", names[0] if names else "HEAD", "--")
    return min(text(answer.out).split(), default=None) if answer.code == 0 else None
