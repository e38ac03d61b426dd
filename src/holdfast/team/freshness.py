"""Which files of a published context are the same on the reader's own checkout. Pure.

A context names the files that it is about, with git's id of each as it was published. So a reader
sees what of it holds here before reading it, and nothing of the contents has to be sent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from holdfast.ground.frozen import dataclass
from holdfast.ground.git_remote import normalise_remote

SAME, DIFFERS, MISSING, UNKNOWN = "same", "differs", "missing here", "unknown"
# Where the publisher's commit is: here, on top of what is here, below it, on another line of work.
AHEAD, BEHIND, APART, UNKNOWN_HERE = "ahead", "behind", "diverged", "unknown here"
COMMITS = {
    SAME: "its commit is checked out here",
    AHEAD: "its commit is ahead of what is checked out here",
    BEHIND: "its commit is part of what is checked out here",
    APART: "its commit is on another line of work than what is checked out here",
}
MOST_FILES = 100
LONGEST_REPO = 500

_HEX = frozenset("0123456789abcdef")


@dataclass(frozen=True)
class Freshness:
    """What became of each file, and where the publisher's commit is, seen from here."""

    files: Mapping[str, str]
    head: str = UNKNOWN_HERE

    def count(self, state: str) -> int:
        return sum(found == state for found in self.files.values())

    def to_dict(self) -> dict[str, object]:
        states = (SAME, DIFFERS, MISSING, UNKNOWN)
        counts = {state.replace(" ", "_"): self.count(state) for state in states}
        return {"head": self.head, "files": dict(self.files), **counts}


def describe_freshness(freshness: Freshness) -> str:
    total = len(freshness.files)
    differs, missing = freshness.count(DIFFERS), freshness.count(MISSING)
    unknown = freshness.count(UNKNOWN)
    if unknown == total:
        return "not compared"
    if freshness.count(SAME) == total:
        return "all as here"
    parts = []
    if differs:
        verb = "differs" if differs == 1 else "differ"
        parts.append(f"{differs} of {total} {verb} here")
    if missing:
        parts.append(f"{missing} missing here" if parts else f"{missing} of {total} missing here")
    if not parts:
        parts.append(f"{freshness.count(SAME)} of {total} as here")
    if unknown:
        parts.append(f"{unknown} not compared")
    return ", ".join(parts)


def describe_checkout(freshness: Freshness) -> str:
    """The files, and where the publisher's commit is, as far as that is known."""
    parts = [describe_freshness(freshness), COMMITS.get(freshness.head)]
    return "; ".join(part for part in parts if part)


def is_id(value: object) -> bool:
    """Whether it can be git's id of anything; a hook asks, and loads no patterns for it."""
    return isinstance(value, str) and len(value) in (40, 64) and _HEX.issuperset(value)


def kind_of_id(value: str) -> str:
    return "sha1" if len(value) == 40 else "sha256"


def is_same_repo(context_repo: object, my_repo: object) -> bool:
    """By their names, also where one is an address, or leaves the host out: `acme/payouts`."""
    theirs, mine = _list_steps(context_repo), _list_steps(my_repo)
    if not theirs or not mine:
        return False
    shorter = min(len(theirs), len(mine))
    has_hosts = _names_host(theirs) and _names_host(mine)
    if shorter == 1 or has_hosts:
        return theirs == mine
    return theirs[-shorter:] == mine[-shorter:]


def is_listed_as(listed: str, read: str) -> bool:
    """Whether the name that was read from a checkout's remote is one on a person's list: host and
    path, with nothing completed. A name without both is that of a folder or of a commit.
    """
    return "/" in read and fold_case(read) == listed


def list_meant(listed: Sequence[str], typed: str) -> list[str]:
    """Those on a person's list that a typed name can mean. It may leave the host out; an address
    does not, however short its host is.
    """
    name = name_repo(typed)
    if "/" not in name:
        return []
    if name in listed:
        return [name]
    if _names_host(name.split("/")) or normalise_remote(typed) is not None:
        return []
    return [each for each in listed if each.partition("/")[2] == name]


def name_repo(repo: str) -> str:
    """The one form in which a name is stored: so what is written in two ways is one repository."""
    return "/".join(_list_steps(repo))


def fold_case(name: str) -> str:
    """Of the letters that hosts fold in names, and of no others: some of those become these."""
    return name.encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")


def _list_steps(repo: object) -> list[str]:
    """The case makes no difference: no two repositories of a host differ in nothing else."""
    if not isinstance(repo, str) or not 0 < len(repo) <= LONGEST_REPO:
        return []
    address = None if _names_port(repo) else normalise_remote(repo)
    name = address or repo.strip().removesuffix(".git")
    return [fold_case(step) for step in name.split("/") if step]


def _names_port(repo: str) -> bool:
    """Host, port and path are what an address becomes: to git these would be a host and a path."""
    end = repo.find("]") + 1 if repo.startswith("[") else 0
    host, _, rest = repo[end:].partition(":")
    return "@" not in host and rest.partition("/")[0].isdigit()


def _names_host(steps: list[str]) -> bool:
    return len(steps) > 1 and ("." in steps[0] or ":" in steps[0])
