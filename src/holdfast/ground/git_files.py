"""What files that differ from a commit hold now, hashed as git would store them.

Small plain files are hashed here, without starting git. What git might store otherwise (other line
ends, an encoding, an id to fill in) is asked of git, which does what attributes say and runs
no filter: a file under a filter counts as it is on disk. Nothing is waited for: a pipe or a device
in a file's place counts by what it is, a file that may not be read by the reason, one of more than
half a gigabyte by its size and time.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from itertools import islice

from holdfast.ground.errors import GitFailedError
from holdfast.ground.frozen import dataclass
from holdfast.ground.git_process import Git
from holdfast.ground.git_tree import TreeEntry, hash_object
from holdfast.ground.patterns import compile_later

READ_BYTES = 8 * 1024 * 1024  # git reads what is larger
LARGEST_BYTES = 512 * 1024 * 1024
PATHS_AT_ONCE = 200

_SUBMODULE = b"160000"
_OLD = compile_later(rb"i/(crlf|mixed) ")
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


@dataclass(frozen=True)
class Difference:
    """One line of git's comparison. `new` is None where git has not looked into the file."""

    path: bytes
    status: str
    old: TreeEntry | None
    new: TreeEntry | None
    mode: bytes


def parse_differences(listed: bytes, limit: int | None = None) -> list[Difference]:
    """`:100644 100644 OLD NEW M`, then the path, each ended by a NUL; the first of them."""
    parts = listed.split(b"\0")
    pairs = zip(parts[::2], parts[1::2], strict=False)
    return [_parse_difference(head, path) for head, path in islice(pairs, limit)]


def _parse_difference(head: bytes, path: bytes) -> Difference:
    old_mode, mode, old, new, status = head.removeprefix(b":").split(b" ")
    is_new_file = int(old_mode) == 0
    is_unread = not new.strip(b"0")
    before = None if is_new_file else TreeEntry(old_mode, _parse_hex(old))
    after = None if is_unread else TreeEntry(mode, _parse_hex(new))
    letter = status[:1].decode()
    return Difference(path, letter, before, after, mode)


def _parse_hex(digits: bytes) -> bytes:
    return bytes.fromhex(digits.decode())


def read_current(git: Git, found: list[Difference], kind: str) -> dict[bytes, TreeEntry | None]:
    """What each path holds now. git is asked about files that it would not store unchanged."""
    now: dict[bytes, TreeEntry | None] = {}
    unsure: dict[bytes, TreeEntry] = {}
    for difference in found:
        entry, is_sure = _read_current(git, difference, kind)
        now[difference.path] = entry
        if entry and not is_sure:
            unsure[difference.path] = entry
    if unsure:
        now |= _hash_as_stored(git, unsure)
    return now


def _read_current(git: Git, each: Difference, kind: str) -> tuple[TreeEntry | None, bool]:
    """And whether that is what git would store."""
    if each.new or each.status == "D":
        return each.new, True
    if each.mode == _SUBMODULE:
        commit = _find_submodule_commit(git, each.path, kind)
        return TreeEntry(each.mode, commit), True
    path = os.path.join(os.fsencode(git.folder), each.path)
    try:
        blob, is_sure = _hash_file(path, kind)
    except FileNotFoundError:
        return None, True
    except OSError as error:
        reason = hash_object(f"unreadable {error.errno}", b"", kind)
        return TreeEntry(each.mode, reason), True
    return TreeEntry(each.mode, blob), is_sure


def _hash_file(path: bytes, kind: str) -> tuple[bytes, bool]:
    """Never waits: a pipe or a device counts by its kind, a huge file by its size and time."""
    try:
        fd = os.open(path, _FILE)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        target = os.readlink(path)
        return hash_object("blob", target, kind), True
    with os.fdopen(fd, "rb") as file:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            file_type = stat.S_IFMT(found.st_mode)
            return hash_object(f"special {file_type}", b"", kind), True
        if found.st_size > LARGEST_BYTES:
            version = f"{found.st_mtime_ns} {found.st_size}"
            return hash_object(f"large {version}", b"", kind), True
        data = file.read(READ_BYTES + 1)
    is_sure = len(data) <= READ_BYTES and is_stored_as_it_is(data)
    return hash_object("blob", data, kind), is_sure


def is_stored_as_it_is(data: bytes) -> bool:
    """Whether no attribute can make git store other bytes: no CRLF, no id, no encoding."""
    if b"\r\n" in data or b"$Id" in data or b"\0" in data:
        return False
    with suppress(UnicodeDecodeError):
        data.decode()
        return True
    return False


def _hash_as_stored(git: Git, unsure: Mapping[bytes, TreeEntry]) -> dict[bytes, TreeEntry | None]:
    """The ids that git would give these files, after line ends and encodings are converted.

    `hash-object` does not look at the index, and so does not know that git leaves line ends alone
    in a file that has CRLF there already, unless an attribute insists. `ls-files --eol` says which
    files those are.
    """
    old, auto = _find_old_line_ends(git, unsure)
    others = [path for path in unsure if path not in old]
    found = _hash_with_git(git, others)
    found |= _hash_with_git(git, list(old - auto), "-c", "core.autocrlf=false")
    stored: dict[bytes, TreeEntry | None] = {}
    for path, entry in unsure.items():
        stored[path] = entry._replace(id=found.get(path, entry.id))
    return stored


def _hash_with_git(git: Git, paths: list[bytes], *options: str) -> dict[bytes, bytes]:
    found: dict[bytes, bytes] = {}
    # A file that went away meanwhile ends it; the next look will see that.
    with (
        git.start(*options, "hash-object", "--stdin-paths", talks=True) as hashing,
        suppress(GitFailedError),
    ):
        for path in paths:
            hashing.say(quote_path(path) + b"\n")
            found[path] = _parse_hex(hashing.hear_line())
    return found


def _find_old_line_ends(git: Git, paths: Iterable[bytes]) -> tuple[set[bytes], set[bytes]]:
    """Files whose CRLF stays because the index has it, and those of them with `text=auto`."""
    names = [os.fsdecode(path) for path in paths]
    old: set[bytes] = set()
    auto: set[bytes] = set()
    for start in range(0, len(names), PATHS_AT_ONCE):
        some = names[start : start + PATHS_AT_ONCE]
        listed = git.ask("ls-files", "--eol", "-z", "--", *some)
        for row in listed.split(b"\0")[:-1]:
            facts, _, path = row.partition(b"\t")
            if not _OLD.match(facts):
                continue
            if b"attr/text " not in facts:
                old.add(path)
            if b"attr/text=auto" in facts:
                auto.add(path)
    return old, auto


def quote_path(path: bytes) -> bytes:
    """In git's own quotes, so that no byte of a name ends the line."""
    escaped = [b"\\%03o" % byte for byte in path]
    return b'"' + b"".join(escaped) + b'"'


def _find_submodule_commit(git: Git, path: bytes, kind: str) -> bytes:
    """A submodule's commit; without a repository there, git would answer for the outer one."""
    folder = os.path.join(git.folder, os.fsdecode(path))
    unreadable = hash_object("unreadable submodule", b"", kind)
    if not os.path.lexists(os.path.join(folder, ".git")):
        return unreadable
    answer = Git(folder).run("rev-parse", "--verify", "--quiet", "HEAD")
    if answer.code:
        return unreadable
    return _parse_hex(answer.out.strip())
