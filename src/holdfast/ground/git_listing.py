"""Which files git tracks and which are new, and when a file was changed last."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterable, Sequence

from holdfast.ground.errors import GitFailedError
from holdfast.ground.git_process import text
from holdfast.ground.light_typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.ground.git_history import AsksGit

MOST_BYTES = 16 << 20
MOST_ASKED_BYTES = 32 << 10  # less than a pipe holds
NONE_IGNORED = 1  # the exit code; a higher one is an error
NEW = b"? "


class ListedFiles(NamedTuple):
    """New ones that nothing tells git to ignore; of the wanted ones those that git tracks.

    `is_cut`: there are more new ones than git could name.
    """

    new: list[str]
    tracked: frozenset[str]
    is_cut: bool = False


def list_files(
    repository: AsksGit, wanted: Collection[str], limit: int | None = None
) -> ListedFiles:
    """One question for both; git names new files first, and a list that is too long is cut."""
    asked = ("ls-files", "-z", "-t", "--others", "--exclude-standard", "--cached")
    answer = repository.git.run(*asked, most_bytes=MOST_BYTES)
    rows = answer.out.split(b"\0")[:-1]  # the last one is empty, or cut
    new = [row for row in rows[:limit] if row.startswith(NEW)]
    known = {row[len(NEW) :] for row in rows[len(new) :] if not row.startswith(NEW)}
    tracked = [path for path in wanted if path.encode("utf-8", "surrogateescape") in known]
    is_cut = answer.is_cut and len(new) == len(rows)
    return ListedFiles([text(row[len(NEW) :]) for row in new], frozenset(tracked), is_cut)


def list_not_ignored(repository: AsksGit, paths: Sequence[str]) -> list[str]:
    """Those that git tracks, or would list as new, whether they exist yet or not. An error where
    git does not say it of each.
    """
    # `./`: none of them is a pattern, for which this command has no option of its own.
    names = [f"./{path}".encode("utf-8", "surrogateescape") for path in paths]
    asked = b"\0".join(names)
    if not names or len(asked) > MOST_ASKED_BYTES:
        return []
    options = ("--no-literal-pathspecs", "check-ignore", "-z", "--stdin")
    with repository.git.start(*options, talks=True) as running:
        running.say(asked)
        running.end_input()
        answer = running.finish()
    if answer.code > NONE_IGNORED or answer.is_cut:
        raise GitFailedError(repository.git.folder, answer.complaint)
    ignored = set(answer.out.split(b"\0"))
    return [path for path, name in zip(paths, names, strict=True) if name not in ignored]


def read_times(root: str, paths: Iterable[str]) -> dict[str, float]:
    """When regular files were changed last, by their names from the root."""
    times = {}
    for path in paths:
        try:
            found = os.lstat(os.path.join(root, path))
        except (OSError, ValueError):
            continue
        if stat.S_ISREG(found.st_mode):
            times[path] = found.st_mtime
    return times
