"""What we need to know of a repository's settings, and no more: other settings may hold passwords.

Settings come from several files, and a file may name others. Code that keeps what was read has to
notice when one of those files changes, because a filter that was named in the meantime would run.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress

from holdfast.ground.frozen import dataclass
from holdfast.ground.git_remote import normalise_remote, rewrite
from holdfast.ground.patterns import compile_later

LISTING = ("config", "--list", "--show-scope", "--show-origin", "-z")
# Comes back with the listing, unless this git is too old to look for settings in its environment.
MARK = ("holdfast.asks", "1")
SETTLED_SECONDS = 2.0  # the coarsest clock of a file system

_FILTER = compile_later(r"filter\.(.*)\.[^.]+", re.DOTALL)
_REMOTE = compile_later(r"remote\.(.*)\.url", re.DOTALL)
_REWRITE = compile_later(r"url\.(.*)\.insteadof", re.DOTALL)


@dataclass(frozen=True)
class GitSettings:
    """`remote` is `origin` or the first one, `remote_name` the repository that it leads to."""

    filters: tuple[str, ...] = ()
    remote: str | None = None
    remote_name: str | None = None
    names_others: bool = False
    # Whether git's own files are where and as they usually are, and which file says so.
    is_usual: bool = True
    own_files: tuple[str, ...] = ()
    hash_kind: str = "sha1"
    # Whether the answer follows from these files alone, so that it can be used again.
    is_lasting: bool = True
    files: tuple[str, ...] = ()
    stamps: tuple[tuple[int, ...], ...] = ()

    @property
    def is_current(self) -> bool:
        """No file changed since. False where other files are included: they may be new."""
        return not self.names_others and self.stamps == read_stamps(self.files)

    def is_settled(self, read_at: float) -> bool:
        """Whether a later change of a file must show in its stamp.

        Two changes within one step of the file system's clock have the same time. So a file that
        had just been changed when it was read is not known by its stamp.
        """
        changed_at = max((stamp[-1] for stamp in self.stamps if stamp), default=0)
        return changed_at < (read_at - SETTLED_SECONDS) * 1e9


@dataclass(frozen=True)
class SettingLine:
    """One setting: `scope` distinguishes the repository's own from the person's."""

    scope: str
    origin: str
    key: str
    value: str


def parse_listing(listing: bytes) -> list[SettingLine]:
    """Key and value are separated by the first line break; a key cannot contain one."""
    parts = listing.decode("utf-8", "surrogateescape").split("\0")
    scopes, origins, settings = parts[::3], parts[1::3], parts[2::3]
    rows = zip(scopes, origins, settings, strict=False)
    return [_parse_setting(scope, origin, setting) for scope, origin, setting in rows]


def _parse_setting(scope: str, origin: str, setting: str) -> SettingLine:
    key, _, value = setting.partition("\n")
    return SettingLine(scope, origin, key, value)


def is_understood(lines: Iterable[SettingLine]) -> bool:
    """Whether this git has read the settings that its environment gave it."""
    return any((line.key, line.value) == MARK for line in lines)


def make_settings(
    lines: Sequence[SettingLine], folder: str, own_files: Iterable[str] = ()
) -> GitSettings:
    """`own_files`: looked at later as well, because a missing one may be created."""
    in_files = [line for line in lines if line.origin.startswith("file:")]
    others = [os.path.join(folder, name) for name in own_files]
    files = tuple(sorted({*(_find_path(line, folder) for line in in_files), *others}))
    filters = {name for name, _ in _list_matches(_FILTER, lines)}
    remote = _find_remote(lines)
    return GitSettings(
        filters=tuple(sorted(filters)),
        remote=remote,
        remote_name=_find_remote_name(remote, lines),
        names_others=any(map(_names_other_file, lines)),
        is_usual=not any(map(_is_unusual, lines)),
        own_files=tuple(sorted({_find_path(line, folder) for line in lines if _is_own(line)})),
        hash_kind=_find_last(lines, "extensions.objectformat") or "sha1",
        is_lasting=not any(line.key.startswith("include") for line in lines),
        files=files,
        stamps=read_stamps(files),
    )


def _names_other_file(line: SettingLine) -> bool:
    return _is_own(line) and line.key.startswith("include")


def _is_own(line: SettingLine) -> bool:
    return line.scope in ("local", "worktree")


def _is_unusual(line: SettingLine) -> bool:
    """A working tree that is elsewhere or missing, refs that are not files, objects elsewhere."""
    if line.key == "core.bare":
        return line.value != "false"
    if line.key == "extensions.refstorage":
        return line.value != "files"
    return line.key == "core.worktree" or line.key.endswith((".promisor", ".partialclone"))


def _find_path(line: SettingLine, folder: str) -> str:
    return os.path.join(folder, line.origin.removeprefix("file:"))


def _find_last(lines: Iterable[SettingLine], key: str) -> str | None:
    values = [line.value for line in lines if line.key == key]
    return values[-1] if values else None


def read_stamps(files: Iterable[str]) -> tuple[tuple[int, ...], ...]:
    return tuple(_read_stamp(path) for path in files)


def _find_remote(lines: Iterable[SettingLine]) -> str | None:
    names = [name for name, _ in _list_matches(_REMOTE, lines)]
    if "origin" in names:
        return "origin"
    return next(iter(names), None)


def _find_remote_name(remote: str | None, lines: Sequence[SettingLine]) -> str | None:
    remotes = _list_matches(_REMOTE, lines)
    addresses = [value for name, value in remotes if name == remote]
    address = next(iter(addresses), "")
    rules = _list_matches(_REWRITE, lines)
    return normalise_remote(rewrite(address, rules))


def _list_matches(pattern: re.Pattern[str], lines: Iterable[SettingLine]) -> list[tuple[str, str]]:
    """What the pattern finds in a key, and the value, of each setting whose key fits."""
    matches: list[tuple[str, str]] = []
    for line in lines:
        match = pattern.fullmatch(line.key)
        if match:
            matches.append((match.group(1), line.value))
    return matches


def _read_stamp(path: str) -> tuple[int, ...]:
    with suppress(OSError):
        found = os.stat(path)
        return (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    return ()
