"""Which files sessions have changed, and which they read: how that is decided, in one place.

An edit tool names its file. A shell names none, so git and the disk are asked when the list is
read: a file that is not committed was changed by a shell if its time lies in a turn in which
commands were run and no edit tool named it. What was changed between two turns is the person's.
What a session has committed counts as well.

Git wins: a file that a tool named leaves the list where it is as in HEAD, HEAD has moved since to
commits of the sessions only, and none of them has the file. Where git says less than that, what a
tool named stays.

Pure: paths are named from the top of the checkout, and times are given.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from holdfast.ground.frozen import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from holdfast.observations.digest import SeenCommand, SeenCommit, SeenFile, Source

    class HeadMove(Protocol):
        """When HEAD has moved, in seconds, and to which commit."""

        @property
        def at(self) -> int: ...
        @property
        def commit(self) -> str: ...


EDITED, COMMITTED, RAN, READ = "edited", "committed", "changed while commands ran", "read"
SESSIONS_READ_IN = 2
CLIENT_CLOCK = timedelta(milliseconds=1)  # clients write no smaller parts of a second


@dataclass(frozen=True)
class KnownFile:
    path: str
    how: str
    source: Source
    is_new: bool = False  # git does not know it yet


@dataclass(frozen=True)
class CheckoutFiles:
    """What git and the disk say about a checkout; moves of HEAD are None where git keeps no log."""

    uncommitted: Collection[str]  # tracked files that differ from HEAD
    tracked: Collection[str]  # of the files that tools have named
    times: Mapping[str, float]  # of files that are not committed, new ones too
    moves: Sequence[HeadMove] | None = None
    new: Collection[str] = ()  # that git does not know, and does not ignore


def list_changed(
    edited: Iterable[SeenFile],
    commits: Sequence[SeenCommit],
    commands: Sequence[SeenCommand],
    found: CheckoutFiles | None,
) -> list[KnownFile]:
    """Each once, the one that was changed last comes last."""
    tools = [file for file in edited if not (found and _is_undone(file, commits, found))]
    known = {file.path: file for file in _list_ran(commands, found.times if found else {})}
    for made in commits:
        known |= {path: KnownFile(path, COMMITTED, made.source) for path in made.files or ()}
    known |= {file.path: KnownFile(file.path, EDITED, file.source) for file in tools}
    return sorted(known.values(), key=lambda file: (file.source.at, file.path))


def _list_ran(commands: Sequence[SeenCommand], times: Mapping[str, float]) -> list[KnownFile]:
    found = []
    for path, seconds in times.items():
        command = _find_command(commands, seconds)
        if command:
            found.append(KnownFile(path, RAN, command.source))
    return found


def _find_command(commands: Sequence[SeenCommand], seconds: float) -> SeenCommand | None:
    """The one that ended next after a file was changed, or after which the turn ended."""
    try:
        at = datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return None
    around = [each for each in commands if each.since <= at < each.until + CLIENT_CLOCK]
    return min(around, key=lambda each: each.until, default=None)


def _is_undone(file: SeenFile, commits: Sequence[SeenCommit], found: CheckoutFiles) -> bool:
    if file.path in found.uncommitted or file.path not in found.tracked or not found.moves:
        return False
    since = int(file.source.at.timestamp())
    if found.moves[0].at > since:
        return False  # the log of HEAD begins later
    moves = [move for move in found.moves if move.at >= since]
    return all(_leaves_alone(move, file.path, commits) for move in moves)


def _leaves_alone(move: HeadMove, path: str, commits: Sequence[SeenCommit]) -> bool:
    """Whether HEAD has moved to a commit of a session that does not have a file."""
    made = next((each for each in commits if move.commit.startswith(each.commit.id)), None)
    return made is not None and made.has_all_files and path not in (made.files or ())


def list_read(sessions: Iterable[Iterable[SeenFile]]) -> list[KnownFile]:
    """The files that several sessions have read, the one that was read last comes last."""
    counts: Counter[str] = Counter()
    newest: dict[str, SeenFile] = {}
    for files in sessions:
        read = {file.path: file for file in files}
        counts.update(read.keys())
        for path, file in read.items():
            if path not in newest or newest[path].source.at <= file.source.at:
                newest[path] = file
    often = [file for file in newest.values() if counts[file.path] >= SESSIONS_READ_IN]
    often.sort(key=lambda file: (file.source.at, file.path))
    return [KnownFile(file.path, READ, file.source) for file in often]
