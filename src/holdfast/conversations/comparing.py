"""What is different now from when a conversation was active last. Pure.

Told to the person before a client opens and to the agent in its first text, in the same sentences.
"""

from __future__ import annotations

from holdfast.ground.frozen import dataclass
from holdfast.ground.text import plural

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

COMMAND, MODEL, TOOLS, HEAD, UNCOMMITTED, FILES = (
    "command",
    "model",
    "tools",
    "head",
    "uncommitted",
    "files",
)
NAMES_SHOWN = 5
COMMIT_CHARS = 7


@dataclass(frozen=True)
class Change:
    """One thing that is not as it was, and the sentence that says so."""

    about: str
    text: str

    def to_dict(self) -> dict[str, Any]:
        return dict(self.__dict__)


@dataclass(frozen=True)
class CommandState:
    """The command that a conversation began with, as it is installed now."""

    name: str
    hash_then: str
    hash_now: str | None  # None: it is not installed
    client: str  # in which it was looked for, as people call it


@dataclass(frozen=True)
class TreeChanges:
    """How the checkout differs; `commits` is None where the old one is not below HEAD.

    `committed`: the files that came with the commits; `removed`: those of them that are gone.
    """

    head_then: str
    commits: int | None
    uncommitted: Sequence[str] = ()
    committed: Sequence[str] = ()
    removed: Sequence[str] = ()


@dataclass(frozen=True)
class FileChanges:
    total: int
    changed: Sequence[str] = ()
    gone: Sequence[str] = ()


def compare_command(state: CommandState) -> list[Change]:
    if state.hash_now is None:
        text = f"The command {state.name} is not installed in {state.client}: go on without it."
        return [Change(COMMAND, text)]
    if state.hash_then and state.hash_then != state.hash_now:
        text = f"The command {state.name} was edited since; the current one is used."
        return [Change(COMMAND, text)]
    return []


def compare_model(then: str, now: str | None) -> list[Change]:
    """What is not known now is not called changed, but the old one is named."""
    if not then or then == now:
        return []
    if now is None:
        return [Change(MODEL, f"The model was {then}; which one it is now is not known here.")]
    return [Change(MODEL, f"The model was {then}, and is {now} now.")]


def compare_tools(missing: Sequence[str], client: str) -> list[Change]:
    if not missing:
        return []
    return [Change(TOOLS, f"Used then and not set up in {client}: {_list(missing)}.")]


def compare_tree(tree: TreeChanges) -> list[Change]:
    changes = []
    then = tree.head_then[:COMMIT_CHARS]
    if tree.commits is None:
        text = f"The commit {then} of that time is not in the history of this checkout."
        changes.append(Change(HEAD, text))
    elif tree.commits:
        count = plural(tree.commits, "commit")
        changes.append(Change(HEAD, f"{count} since {then}{_describe_committed(tree)}."))
    if tree.uncommitted:
        count = plural(len(tree.uncommitted), "uncommitted file")
        changes.append(Change(UNCOMMITTED, f"{count}: {_list(tree.uncommitted)}."))
    return changes


def _describe_committed(tree: TreeChanges) -> str:
    """What was removed first: whoever goes on may still look for it."""
    changed = [path for path in tree.committed if path not in tree.removed]
    said = [
        f"{verb} {_list(paths)}"
        for verb, paths in (("removed", tree.removed), ("changed", changed))
        if paths
    ]
    return f": {'; '.join(said)}" if said else ""


def compare_files(files: FileChanges) -> list[Change]:
    said = []
    if files.changed:
        said.append(f"{len(files.changed)} changed since: {_list(files.changed)}")
    if files.gone:
        said.append(f"{len(files.gone)} gone: {_list(files.gone)}")
    if not said:
        return []
    return [Change(FILES, f"Of its {plural(files.total, 'file')}, {'; '.join(said)}.")]


def _list(names: Sequence[str]) -> str:
    shown = ", ".join(names[:NAMES_SHOWN])
    more = len(names) - NAMES_SHOWN
    return f"{shown} and {more} more" if more > 0 else shown
