"""One working tree, opened once per verb: its repository, its settings and its files.

The flag is checked before git is started, and again when the repository is known. Paths come from
callers and from files that others may write, so they are read inside the tree only, and never from
git's own folder.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Mapping, Sequence

from holdfast.errors import HoldfastError, InvalidValueError
from holdfast.ground import confined, git, git_repository
from holdfast.ground.confined import ConfinedRoot
from holdfast.ground.errors import FileMissingError, PathOutsideError
from holdfast.ground.frozen import dataclass, field, replace
from holdfast.ground.user_settings import NAME, UserSettings, load_user_settings
from holdfast.ground.worktree import find_worktree
from holdfast.workstreams import errors, evidence, file_text, flag, rules
from holdfast.workstreams.effort import LOOK_BYTES, OPENING, Effort, EffortSpent
from holdfast.workstreams.entries import Pointer
from holdfast.workstreams.evidence import Evidence
from holdfast.workstreams.file_text import FileText
from holdfast.workstreams.model import Key
from holdfast.workstreams.store import CONFIG_PATH, WorkstreamFiles, make_relative

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


FILE_BYTES = 16 << 20
GIT_FOLDER = ".git"
TOO_MUCH = f"is more than one call reads, which is {LOOK_BYTES >> 20} MiB; give fewer at once"
ASKS = f"{CONFIG_PATH} asks for it, which a file in the repository cannot do."


@dataclass(frozen=True)
class Checkout:
    repository: git.Repository
    files: WorkstreamFiles
    settings: UserSettings
    folder: str
    effort: Effort = field(default_factory=Effort)
    # What was read, by path: a verb sees each file as it was when it first looked.
    texts: dict[str, FileText | None] = field(default_factory=dict)
    states: dict[str | None, git.TreeState] = field(default_factory=dict)
    begun: dict[str | None, git.Comparison] = field(default_factory=dict)

    def key(self, workstream_id: str | None) -> Key:
        """On the branch that is checked out; a workstream without a name has the branch's."""
        branch = self.repository.branch
        name = branch
        if workstream_id is not None:
            name = rules.check_workstream_id(workstream_id)
        return Key(self.repository.repo, branch, name)

    def read_file(self, path: str) -> FileText | None:
        """A file's text as evidence compares it; None where it is not a file of the checkout."""
        if path not in self.texts:
            self.texts[path] = self._read_file(path)
        return self.texts[path]

    def _read_file(self, path: str) -> FileText | None:
        # Git's own files are not contents, and may hold a password.
        if GIT_FOLDER in path.casefold().split("/"):
            return None
        self.effort.spend(OPENING)
        most_bytes = min(FILE_BYTES, self.effort.units)
        try:
            found = ConfinedRoot(self.repository.root).read(path, max_bytes=most_bytes)
        except InvalidValueError:
            if most_bytes < FILE_BYTES:
                self.effort.spend_all()
            return None
        except HoldfastError:
            return None
        self.effort.spend(len(found.data))
        return FileText(path, file_text.decode_text(found.data), self.effort)

    def find_path(self, path: str) -> str:
        """A path from the top, given relative to the caller's folder or to the top."""
        here = make_relative(path, self.repository.root, self.folder)
        if self.read_file(here) is None:
            return path
        return here

    def take_evidence(self, shown: str | Mapping[str, Any]) -> Evidence:
        """A place that a caller names, with the hashes of its text now."""
        named = self._parse_evidence(shown)
        try:
            return self._take_evidence(named)
        except EffortSpent:
            raise InvalidValueError("evidence", str(named), TOO_MUCH) from None

    def _take_evidence(self, named: Evidence) -> Evidence:
        path = self.find_path(named.path)
        return evidence.take_evidence(replace(named, path=path), self.read_file(path))

    def _parse_evidence(self, shown: str | Mapping[str, Any]) -> Evidence:
        if not isinstance(shown, str):
            return evidence.parse_place(shown)
        if shown.startswith(("./", "../")):
            shown = make_relative(shown, self.repository.root, self.folder)
        return evidence.parse_evidence(shown)

    def parse_pointers(self, paths: Sequence[str]) -> list[Pointer]:
        return [self._parse_pointer(path) for path in paths]

    def _parse_pointer(self, path: str) -> Pointer:
        named = Pointer.parse(path)
        try:
            inside = self.find_path(named.path)
            found = self.read_file(inside)
            if found is None:
                raise FileMissingError(path)
            self._check_symbol(path, named.symbol, found)
        except EffortSpent:
            raise InvalidValueError("Pointer", path, TOO_MUCH) from None
        return replace(named, path=inside)

    def _check_symbol(self, path: str, name: str | None, file: FileText) -> None:
        """In a file whose language we do not read, any name may be right."""
        if name is not None and file.read_symbol(name) is None:
            problem = evidence.describe_missing_symbol(name, file)
            raise InvalidValueError("Pointer", path, f"was not found: {problem}")

    def find_head(self) -> str | None:
        """The commit that is checked out, from git's own files where they say it."""
        return git_repository.read_head(self.repository) or git.find_head(self.repository)

    def find_state(self, since: str | None = None) -> git.TreeState:
        """As it was when this verb first looked."""
        if since not in self.states:
            self.states[since] = self._read_state(since, self.begun.pop(since, None))
        return self.states[since]

    def begin_state(self, since: str | None = None) -> None:
        """Look now; git goes on while the verb does something else."""
        if since not in self.states and since not in self.begun:
            self.begun[since] = git.Comparison(self.repository, since)

    def abandon(self) -> None:
        """End what was begun and not asked for."""
        while self.begun:
            _, comparison = self.begun.popitem()
            comparison.abandon()

    def read_state(self, since: str | None = None) -> git.TreeState:
        """As it is now."""
        return self._read_state(since, None)

    def _read_state(self, since: str | None, begun: git.Comparison | None) -> git.TreeState:
        own = self.files.list_own_paths()
        return git.read_state(self.repository, since=since, without=own, begun=begun)

    def hash_contents(self, path: str) -> str | None:
        """Of a noted file, whatever its line ends are; None where there is no such file."""
        file = self.read_file(path)
        if file is None:
            return None
        return file.hash


def open_checkout(
    home: str, folder: str, share: bool | None, environment: Mapping[str, str]
) -> Checkout:
    """The checkout, or a refusal; where sharing is off, git is not started."""
    user = load_user_settings(home)
    settings_file = os.path.join(home, NAME)
    variable = environment.get(flag.NAME)
    place = os.path.realpath(folder)
    chosen = user.shares_anything()
    if not flag.is_shared(asked=share, environment=variable, chosen=chosen, repository_says=None):
        says = ASKS if _is_asked_for(place, user) else ""
        raise errors.SharedContextOffError(settings_file, says=says)
    repository = git.find_repository(place)
    if repository is None:
        raise errors.NoRepositoryError(folder)
    _check_excludes(repository)
    own = WorkstreamFiles(repository.root, _check_folder(user.context_folder))
    configured = flag.find_flag(own.load_config())
    chosen = user.shares(repository.repo)
    if not flag.is_shared(
        asked=share, environment=variable, chosen=chosen, repository_says=configured.is_on
    ):
        raise errors.SharedContextOffError(
            settings_file,
            repo=repository.repo,
            says=ASKS if configured.is_on else "",
            refused=_describe_refusal(configured),
        )
    return Checkout(repository, own, user, place)


def _describe_refusal(configured: flag.ConfiguredFlag) -> str:
    if not configured.reason:
        return ""
    return f"{CONFIG_PATH} {configured.reason}."


def _is_asked_for(folder: str, user: UserSettings) -> bool:
    """Whether a file in the repository asks for what only a person can allow."""
    files = WorkstreamFiles(find_worktree(folder), user.context_folder)
    return flag.find_flag(files.load_config()).is_on is True


def _check_excludes(repository: git.Repository) -> None:
    """git reads this file in every command, and would wait for the other end of a pipe."""
    path = os.path.join(repository.common_dir, "info", "exclude")
    with contextlib.suppress(OSError):
        found = os.stat(path)
        is_file = stat.S_ISREG(found.st_mode)
        if not is_file or found.st_size > FILE_BYTES:
            raise PathOutsideError(path, "is not a file that git can read", "Remove it.")


def _check_folder(folder: str) -> str:
    """The context folder in a canonical form, because what is below it is left out of hashes."""
    try:
        steps = confined.check_steps(folder.rstrip("/"))
    except PathOutsideError as error:
        raise InvalidValueError("context_folder", folder, error.problem) from None
    if GIT_FOLDER in map(str.casefold, steps):
        problem = "is in git's own folder; name another in settings.json"
        raise InvalidValueError("context_folder", folder, problem)
    return "/".join(steps)
