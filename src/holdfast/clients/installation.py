"""Writing what is planned: all files of a client or none, and all of it comes out again.

The files belong to somebody else, who may write them at any moment. So what is written follows from
the bytes that are there, and is planned anew when these have changed. What a file was before is
kept in the data folder, with a record of what was made of it: while a file has the bytes that were
written, taking ours out gives the old ones back; after that only what is ours leaves it.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import Any

from holdfast.clients.errors import SettingsFileBusyError, SettingsFileError
from holdfast.clients.recorded import RECORD, RECORD_BYTES
from holdfast.clients.setup import MAX_BYTES, ConfigEdit, list_parts, make_recorded_edits
from holdfast.errors import HoldfastError
from holdfast.ground import files
from holdfast.ground.frozen import dataclass

BACKUPS = "backups"
TRIES = 5
OWN_FILE, SHARED_FILE = 0o600, 0o644


@dataclass(frozen=True)
class ConfigChange:
    """What a file is and what it becomes; None where there is no file."""

    edit: ConfigEdit
    target: str  # where the path leads: a manager of settings may have put a link there
    before: bytes | None
    after: bytes | None

    @property
    def path(self) -> str:
        return self.edit.path

    def make_diff(self) -> str:
        old, new = _decode_to_show(self.before), _decode_to_show(self.after)
        was = os.devnull if self.before is None else self.path
        becomes = os.devnull if self.after is None else self.path
        lines = difflib.unified_diff(old, new, was, becomes, n=2)
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


class _WrittenMeanwhile(Exception):
    def __init__(self, path: str):
        self.path = path


class Installation:
    """What was put into the files of clients from one data folder.

    `inside` is for files of a repository: whoever may write there could lead a path out of it.
    """

    def __init__(self, home: str, *, inside: str | None = None):
        self.home, self.inside = home, inside
        self.record_path = os.path.join(home, RECORD)

    def plan(self, edits: Sequence[ConfigEdit]) -> list[ConfigChange]:
        """What `install` would change; nothing where all of it is in already."""
        planned = [self._plan(edit) for edit in edits]
        return [change for change in planned if change.after != change.before]

    def plan_removal(self, edits: Sequence[ConfigEdit]) -> list[ConfigChange]:
        known = self._load()
        planned = [self._plan_removal(edit, known.get(edit.path)) for edit in edits]
        return [change for change in planned if change.after != change.before]

    def install(
        self,
        client: str,
        edits: Sequence[ConfigEdit],
        environment: Mapping[str, str] = MappingProxyType({}),
    ) -> list[ConfigChange]:
        """Put everything in, or nothing; what was changed.

        `environment` has led to these files, and is kept so that they are found without it.
        """
        files.private_folder(self.home)
        path = self.record_path
        with files.Lock(path):
            self._sweep(edits)
            for _ in range(TRIES):
                changes = self.plan(edits)
                known = self._load()
                try:
                    # First the record: what is in a file without one would stay there for ever.
                    described = self._describe(client, changes, known)
                    for entry in described.values():
                        entry["environment"] = dict(environment)
                    self._save({**known, **described})
                    self._write_all(changes)
                except _WrittenMeanwhile as meanwhile:
                    path = meanwhile.path
                    self._save(known)
                    continue
                except BaseException:
                    self._save(known)
                    raise
                return changes
        raise SettingsFileBusyError(path)

    def remove(self, edits: Sequence[ConfigEdit]) -> list[ConfigChange]:
        """Take everything out, or nothing; what was changed."""
        if not os.path.isdir(self.home):
            return []
        path = self.record_path
        with files.Lock(path):
            self._sweep(edits)
            for _ in range(TRIES):
                changes = self.plan_removal(edits)
                known = self._load()
                present = [edit for edit in edits if not self._is_on_another_branch(edit.path)]
                try:
                    self._write_all(changes)
                except _WrittenMeanwhile as meanwhile:
                    path = meanwhile.path
                    continue
                self._forget(present, known)
                return changes
        raise SettingsFileBusyError(path)

    def list_files(self) -> dict[str, dict[str, Any]]:
        """What is recorded of each file that something of ours is in."""
        return self._load()

    def list_wanted(self) -> list[str]:
        """The clients that the last `init` was about, whether it could set them up or not."""
        wanted = self._load_record().get("wanted")
        return [str(name) for name in wanted] if isinstance(wanted, list) else []

    def set_wanted(self, names: Sequence[str]) -> None:
        if not os.path.isdir(self.home):
            return
        with files.Lock(self.record_path):
            self._save(self._load(), wanted=names)

    def is_unchanged(self, path: str) -> bool:
        """Whether a file still has the bytes that were written."""
        entry = self._load().get(path, {})
        return bool(_hash(_read(path, os.path.realpath(path))) == entry.get("after"))

    # --- planning ---------------------------------------------------------------------------------

    def _plan(self, edit: ConfigEdit) -> ConfigChange:
        target = self._find_target(edit.path)
        before = _read(edit.path, target)
        after = edit.put_in(_decode(edit.path, before))
        return ConfigChange(edit, target, before, after.encode())

    def _plan_removal(self, edit: ConfigEdit, entry: dict[str, Any] | None) -> ConfigChange:
        """A file that nothing was put into may be as broken as it is."""
        try:
            return self._plan_known_removal(edit, entry)
        except SettingsFileError:
            if entry is not None or self._is_record_lost():
                raise
            return ConfigChange(edit, edit.path, None, None)

    def _plan_known_removal(self, edit: ConfigEdit, entry: dict[str, Any] | None) -> ConfigChange:
        target = self._find_target(edit.path)
        now = _read(edit.path, target)
        if now is None:
            return ConfigChange(edit, target, None, None)
        is_known, original = self._find_original(entry)
        if entry and is_known and _hash(now) == entry.get("after"):
            return ConfigChange(edit, target, now, original)
        left = _take_out(edit, entry, now, original)
        return ConfigChange(edit, target, now, left)

    def _find_target(self, path: str) -> str:
        target = os.path.realpath(path)
        if self.inside and os.path.commonpath([self.inside, target]) != self.inside:
            raise SettingsFileError(path, f"it leads out of this repository, to {target}")
        return target

    # --- the record -------------------------------------------------------------------------------

    def _describe(
        self, client: str, changes: Sequence[ConfigChange], known: dict[str, Any]
    ) -> dict[str, Any]:
        return {
            change.path: self._describe_change(client, change, known.get(change.path))
            for change in changes
        }

    def _describe_change(
        self, client: str, change: ConfigChange, entry: dict[str, Any] | None
    ) -> dict[str, Any]:
        original = change.before
        folders = _list_missing(os.path.dirname(change.target))
        parts = list_parts(change.edit)
        if entry:
            folders += [folder for folder in entry["folders"] if folder not in folders]
            parts += [part for part in entry.get("parts", ()) if part not in parts]
            _, original = self._find_original(entry)
            if _hash(change.before) != entry["after"] and change.before is not None:
                # Somebody wrote since: what is theirs now is the file without ours.
                original = _take_out(change.edit, entry, change.before, original)
        return {
            "client": client,
            "backup": self._back_up(change.path, original),
            "after": _hash(change.after),
            "parts": parts,
            "folders": folders,
            "worktree": self.inside,
        }

    def _back_up(self, path: str, data: bytes | None) -> str | None:
        if data is None:
            return None
        name = f"{_name_backup(data)}-{os.path.basename(path)}"
        folder = os.path.join(self.home, BACKUPS)
        files.private_folder(folder)
        files.write_atomic(os.path.join(folder, name), data)
        return name

    def _find_original(self, entry: dict[str, Any] | None) -> tuple[bool, bytes | None]:
        """What a file was, and whether that is known: a backup may have been lost or changed."""
        if not entry or entry.get("backup") is None:
            return entry is not None, None
        path = os.path.join(self.home, BACKUPS, os.path.basename(entry["backup"]))
        data = files.find_bytes(path, max_bytes=MAX_BYTES)
        is_whole = data is not None and entry["backup"].startswith(_name_backup(data))
        return is_whole, data if is_whole else None

    def _load(self) -> dict[str, Any]:
        """Nothing where it cannot be read: then only what is ours is taken out of a file."""
        found = self._load_record().get("files")
        return found if isinstance(found, dict) else {}

    def _load_record(self) -> dict[str, Any]:
        data = files.find_bytes(self.record_path, max_bytes=RECORD_BYTES)
        try:
            record = json.loads(data or b"{}")
        except (ValueError, RecursionError):
            return {}
        return record if isinstance(record, dict) else {}

    def _is_record_lost(self) -> bool:
        return os.path.exists(self.record_path) and not self._load_record()

    def _save(self, known: dict[str, Any], *, wanted: Sequence[str] | None = None) -> None:
        record = {"files": known, "wanted": list(self.list_wanted() if wanted is None else wanted)}
        if known or wanted or os.path.exists(self.record_path):
            text = json.dumps(record, indent=1, sort_keys=True)
            files.write_atomic(self.record_path, f"{text}\n".encode())

    def _is_on_another_branch(self, path: str) -> bool:
        """A file of a repository that is missing there now comes back with its branch."""
        is_missing = not os.path.lexists(path)
        return self.inside is not None and os.path.isdir(self.inside) and is_missing

    def _forget(self, edits: Sequence[ConfigEdit], known: dict[str, Any]) -> None:
        for edit in edits:
            entry = known.pop(edit.path, None)
            for folder in entry["folders"] if entry else ():
                with suppress(OSError):  # not empty: somebody uses it now
                    os.rmdir(folder)
        self._save(known)

    def _sweep(self, edits: Sequence[ConfigEdit]) -> None:
        """What an earlier run has left that was killed while it wrote."""
        for edit in edits:
            with suppress(OSError):
                os.unlink(_name_draft(os.path.realpath(edit.path)))

    # --- writing ----------------------------------------------------------------------------------

    def _write_all(self, changes: Sequence[ConfigChange]) -> None:
        done: list[ConfigChange] = []
        try:
            for change in changes:
                self._write(change.path, change.target, change.before, change.after)
                done.append(change)
        except BaseException:
            for change in reversed(done):
                with suppress(_WrittenMeanwhile, HoldfastError):
                    self._write(change.path, change.target, change.after, change.before)
                    self._remove_folders(change)
            raise

    def _remove_folders(self, change: ConfigChange) -> None:
        if change.before is None:
            for folder in self._load().get(change.path, {}).get("folders", ()):
                with suppress(OSError):
                    os.rmdir(folder)

    def _write(self, path: str, target: str, old: bytes | None, new: bytes | None) -> None:
        """Everything slow is done before the bytes are compared, so that hardly a moment is left
        in which somebody else could write.
        """
        draft = None
        try:
            _check_writable(path, target)
            if new is not None:
                draft = self._write_draft(target, new)
            if _read(path, target) != old:
                raise _WrittenMeanwhile(path)
            if draft is None:
                os.unlink(target)
            else:
                os.rename(draft, target)
            _sync_folder(os.path.dirname(target))
        except OSError as error:
            raise SettingsFileError(path, (error.strerror or str(error)).lower()) from None
        finally:
            if draft is not None:
                with suppress(FileNotFoundError):
                    os.unlink(draft)

    def _write_draft(self, target: str, data: bytes) -> str:
        """Beside the file, with its owner and mode."""
        folder = os.path.dirname(target)
        for missing in reversed(_list_missing(folder)):
            os.mkdir(missing, 0o755 if self.inside else 0o700)
        draft = _name_draft(target)
        fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            mode = SHARED_FILE if self.inside else OWN_FILE
            with suppress(FileNotFoundError):
                mode = _take_owner(fd, os.stat(target))
            os.fchmod(fd, mode)
            files.write_all(fd, data)
            os.fsync(fd)
        except BaseException:
            os.unlink(draft)
            raise
        finally:
            os.close(fd)
        return draft


def _take_owner(fd: int, found: os.stat_result) -> int:
    """Give a draft the owner of the file that it replaces; returns its mode.

    A person gives no file to a group that they are not in: their own then may do what all may.
    """
    mode = stat.S_IMODE(found.st_mode)
    try:
        os.fchown(fd, found.st_uid, found.st_gid)
    except PermissionError:
        if found.st_uid != os.geteuid():
            raise
        for_all = mode & stat.S_IRWXO
        mode = mode & ~stat.S_IRWXG | for_all << 3
    return mode


def _name_draft(target: str) -> str:
    """The same one each time, because only the holder of the lock writes it."""
    folder, name = os.path.split(target)
    return os.path.join(folder, f".{name}.holdfast-draft")


def _sync_folder(folder: str) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        files.sync_folder(fd)
    finally:
        os.close(fd)


def _check_writable(path: str, target: str) -> None:
    """A rename would replace a read-only file, which somebody has made so on purpose."""
    folder = os.path.dirname(target)
    for place in (target, folder):
        with suppress(FileNotFoundError):
            found = os.stat(place)
            if not found.st_mode & 0o222:
                what = "it" if place == target else f"its folder {folder}"
                raise SettingsFileError(path, f"{what} is read-only")
            is_foreign = place == target and found.st_uid != os.geteuid()
            if is_foreign and os.geteuid() != 0:
                raise SettingsFileError(path, "it belongs to another user")


def _list_missing(folder: str) -> list[str]:
    """The folders that have to be made, the innermost first."""
    missing = []
    while not os.path.isdir(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    return missing


def _read(path: str, target: str) -> bytes | None:
    try:
        return files.find_bytes(target, max_bytes=MAX_BYTES)
    except HoldfastError as error:
        raise SettingsFileError(path, error.message.rstrip(".")) from None


def _decode(path: str, data: bytes | None) -> str | None:
    try:
        return None if data is None else data.decode()
    except UnicodeDecodeError:
        raise SettingsFileError(path, "it is not a text in UTF-8") from None


def _decode_to_show(data: bytes | None) -> list[str]:
    return (data or b"").decode(errors="replace").splitlines(keepends=True)


def _take_out(
    edit: ConfigEdit, entry: Mapping[str, Any] | None, data: bytes, original: bytes | None
) -> bytes | None:
    """What is left of a file without ours, also without what another version has put in."""
    recorded = make_recorded_edits(edit.path, entry.get("parts", ())) if entry else []
    left = _decode(edit.path, data)
    before = _decode(edit.path, original)
    for each in (*recorded, edit):
        if left is not None:
            left = each.take_out(left, before)
    return None if left is None else left.encode()


def _name_backup(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def _hash(data: bytes | None) -> str | None:
    return None if data is None else hashlib.sha256(data).hexdigest()
