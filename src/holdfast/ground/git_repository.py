"""Which repository a folder is in, its name, and which of its branches is the default.

The name has to be the same in every clone and working tree, and it must not contain a local path:
it is part of documents that are committed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

from holdfast.errors import InvalidValueError
from holdfast.ground import canonical, git_refs
from holdfast.ground.bounded_map import BoundedMap
from holdfast.ground.errors import GitFailedError
from holdfast.ground.frozen import dataclass, replace
from holdfast.ground.git_process import Git, text
from holdfast.ground.git_refs import GitPlace
from holdfast.ground.git_settings import LISTING, GitSettings
from holdfast.ground.patterns import compile_later
from holdfast.ground.worktree import find_worktree

DETACHED = "HEAD"  # no branch is checked out; git refuses to make a branch of this name
HEAD = "refs/heads/"
USUAL_DEFAULTS = ("main", "master")
NOT_A_BRANCH = ".invalid"  # what HEAD names where refs are not files
SYSTEM = "/etc/gitconfig"
# What this process has read before: settings while their files are the same, and what follows from
# the id of a commit.
SETTINGS: BoundedMap[tuple[str, str, str], GitSettings] = BoundedMap(100)
FIRST_COMMITS: BoundedMap[tuple[str, str], str] = BoundedMap(100)

_COMMIT = compile_later(r"[0-9a-f]{40}|[0-9a-f]{64}")
# The first line of a branch's log: there was no commit before.
NAMELESS = "local-"  # how the name begins of a repository without a remote and a commit
_MADE_AT = compile_later(
    r"0{40,64} [0-9a-f]{40,64} .*> ([0-9]{1,12}) [+-][0-9]{4}\tbranch: Created"
)


@dataclass(frozen=True)
class Repository:
    """A working tree and where its repository is, as they were when they were read.

    `repo` is the same for every clone and working tree: host and path of the remote `origin` (else
    of the first one), or, where that leads nowhere but into this machine, the first commit of the
    default branch, the smallest of several. While there is neither (no commit yet, or a shallow
    clone that cannot see the first one) it is `local-` and a hash of where the repository is: no
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
    # Branches that may be the default, of every remote; the best come first.
    default_names: tuple[str, ...] = ()
    # Whether git keeps its refs in files that can be read without asking git.
    has_plain_refs: bool = False

    @property
    def public_name(self) -> str:
        """As people call it, and what they publish: without one of its own, that of its folder. A
        name that is published has no spaces; those of a remote stay different from other signs.
        """
        if self.repo.startswith(NAMELESS):
            return "-".join(os.path.basename(self.root).split())
        return self.repo.replace(" ", "%20")

    @property
    def git(self) -> Git:
        """Runs with every filter blanked, also one that was named after this was read."""
        if self.settings.is_current:
            return Git(self.root, self.settings)
        return Git(self.root, Git(self.root).read_settings())


@dataclass(frozen=True)
class Branch:
    """A branch by its short name, and the commit that it is at."""

    name: str
    commit: str


def find_repository(folder: str) -> Repository | None:
    """The repository whose working tree a folder is in. A bare one has no tree and is not found.

    Nor is one that says its working tree is somewhere else: what is written there would land in a
    place of its choice.
    """
    root = find_worktree(folder)
    if not os.path.lexists(os.path.join(root, ".git")):
        return None
    place = git_refs.find_place(root)
    found = None
    if place:
        found = _make_repository(root, place, _read_settings(root, place))
    if found is None:
        found = _ask_for_repository(root)
    if found is None:
        return None
    name = found.settings.remote_name or find_first_commit(found) or _local_name(found)
    return replace(found, repo=name)


def _read_settings(root: str, place: GitPlace) -> GitSettings:
    """As they were read before, while none of their files has changed."""
    home = os.environ.get("HOME", "")
    more = os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    known = SETTINGS.find((root, home, more))
    if known and known.is_current:
        return known
    read_at = time.time()
    # Those of the person too, where they are missing or empty now.
    files = (*_name_settings_files(place), f"{home}/.gitconfig", f"{more}/git/config", SYSTEM)
    settings = Git(root).read_settings(own_files=files)
    if settings.is_lasting and settings.is_settled(read_at):
        SETTINGS.keep((root, home, more), settings)
    return settings


def _name_settings_files(place: GitPlace | Repository) -> tuple[str, str]:
    return f"{place.common_dir}/config", f"{place.git_dir}/config.worktree"


def _make_repository(root: str, place: GitPlace, settings: GitSettings) -> Repository | None:
    """From git's own files, where git itself has read its settings there; else None."""
    config = os.path.realpath(f"{place.common_dir}/config")
    has_read_it = config in map(os.path.realpath, settings.own_files)
    if not settings.is_usual or not has_read_it:
        return None
    is_detached = is_commit(place.head)
    is_branch = place.head.startswith(HEAD) and not place.head.endswith(NOT_A_BRANCH)
    if not is_detached and (not is_branch or git_refs.find_target(place.common_dir, place.head)):
        return None
    return Repository(
        root=root,
        git_dir=place.git_dir,
        common_dir=place.common_dir,
        repo="",
        branch=DETACHED if is_detached else place.head.removeprefix(HEAD),
        hash_kind=settings.hash_kind,
        is_shallow=place.is_shallow,
        settings=settings,
        has_plain_refs=True,
    )


def _ask_for_repository(root: str) -> Repository | None:
    git = Git(root)
    with git.start(*LISTING) as listing:
        found = _find_place(git)
        answer = listing.finish()
    if found is None:
        return None
    return replace(found, settings=git.read_settings(answer, _name_settings_files(found)))


def find_default_branch(repository: Repository) -> Branch | None:
    """The remote's own default, else `main` or `master`, a remote's before a local one."""
    remote = _name_remote(repository)
    usual: list[str] = []
    for name in USUAL_DEFAULTS:
        usual += [f"{remote}{name}", f"{HEAD}{name}"]
    if repository.has_plain_refs:
        return _find_first(repository, remote, usual)
    listed = repository.git.ask(
        "for-each-ref", "--format=%(refname)%00%(objectname)%00%(symref)", f"{remote}HEAD", *usual
    )
    lines = text(listed).split("\n")[:-1]
    rows = [line.split("\0") for line in lines]
    pointed = {symref: commit for _, commit, symref in rows if symref}
    plain = {name: commit for name, commit, symref in rows if not symref}
    found = pointed | plain
    for name in (*pointed, *usual):
        if name in found:
            return Branch(_shorten(name, remote), found[name])
    return None


def _find_first(repository: Repository, remote: str, usual: Sequence[str]) -> Branch | None:
    pointed = git_refs.find_target(repository.common_dir, f"{remote}HEAD")
    for name in (pointed, *usual):
        commit = name and git_refs.find_commit(repository.common_dir, name)
        if name and commit:
            return Branch(_shorten(name, remote), commit)
    return None


def _shorten(name: str, remote: str) -> str:
    return name.removeprefix(remote).removeprefix(HEAD)


def _name_remote(repository: Repository) -> str:
    """Where the branches of the remote are, as a prefix of their full names."""
    remote = repository.settings.remote or "origin"
    return f"refs/remotes/{remote}/"


def read_head(repository: Repository) -> str | None:
    """The commit that is checked out, from git's own files; None where only git knows."""
    if not repository.has_plain_refs:
        return None
    head = git_refs.read_small(os.path.join(repository.git_dir, "HEAD"))
    return git_refs.find_commit(repository.common_dir, head.removeprefix("ref: "))


def find_branch_start(repository: Repository) -> int | None:
    """When the branch that is checked out was made here, in seconds; None where git's log of it
    does not begin with that.
    """
    log = os.path.join(repository.common_dir, "logs", f"{HEAD}{repository.branch}")
    found = _MADE_AT.match(git_refs.read_first_line(log))
    return int(found[1]) if found else None


def is_commit(value: object) -> bool:
    return isinstance(value, str) and _COMMIT.fullmatch(value) is not None


def check_commit(value: str) -> str:
    if not is_commit(value):
        raise InvalidValueError("commit", value, "is not the whole id of a commit")
    return value


# --- where it is and what it is called ------------------------------------------------------------

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
    "--glob=refs/remotes/*/[m]ain",
    "--glob=refs/heads/[m]ain",
    "--glob=refs/remotes/*/[m]aster",
    "--glob=refs/heads/[m]aster",
)
NO_REPOSITORY = ("not a git repository", "must be run in a work tree", "bare repository")


def _find_place(git: Git) -> Repository | None:
    """All but the name and the settings. Folders with line breaks are asked for one by one."""
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
    end = len(rest) - 1 - rest[::-1].index(inside)  # the last line that is the mark
    folders = rest[:end]
    ref, *names, _ = rest[end + 1 :]
    if len(folders) != len(_FOLDERS):
        folders = [text(git.ask(*absolute, folder))[:-1] for folder in _FOLDERS]
    git_dir, common_dir = folders
    if answer.code:  # no commit yet
        ref = text(git.ask("symbolic-ref", "HEAD")).rstrip("\n")
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
    """A folder called `.git` may not be git's; a repository that git refuses is an error."""
    if not any(words in complaint for words in NO_REPOSITORY):
        raise GitFailedError(git.folder, complaint)


def list_earlier_names(repository: Repository) -> list[str]:
    """What the same repository was called before it had a remote, and before it had a commit."""
    names = [_local_name(repository)]
    if repository.settings.remote_name and (first := find_first_commit(repository)):
        names.insert(0, first)
    return [name for name in names if name != repository.repo]


def _local_name(repository: Repository) -> str:
    place = repository.common_dir.encode("utf-8", "surrogateescape")
    digest = canonical.new_sha256(place).hexdigest()
    return f"{NAMELESS}{digest[:16]}"


def find_first_commit(repository: Repository) -> str | None:
    """The one that names a repository without a remote; None in a shallow clone."""
    if repository.is_shallow:
        return None
    branch = _find_oldest_branch(repository)
    known = FIRST_COMMITS.find((repository.common_dir, branch))
    if known:
        return known
    answer = repository.git.run("rev-list", "--max-parents=0", branch, "--")
    if answer.code:
        return None
    first_commits = text(answer.out).split()
    first = min(first_commits, default=None)
    if first and is_commit(branch):
        FIRST_COMMITS.keep((repository.common_dir, branch), first)
    return first


def _find_oldest_branch(repository: Repository) -> str:
    """The branch whose first commit names the repository; its commit where that can be read."""
    remote = _name_remote(repository)
    if not repository.has_plain_refs:
        names = [name for name in repository.default_names if name.startswith((remote, HEAD))]
        return next(iter(names), "HEAD")
    names = [f"{remote}HEAD", f"{remote}main", f"{HEAD}main", f"{remote}master", f"{HEAD}master"]
    commits = [git_refs.find_commit(repository.common_dir, name) for name in names]
    found = [commit for commit in commits if commit]
    return next(iter(found), "HEAD")
