"""What code has seen in a session, for its card: how checks ended, what was said, done and left.

The newest first, each with the event that shows it. Whether a file changed after a check had passed
is looked at now, and only inside of the folders shown here; elsewhere the log says what it can.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from holdfast.bundles.seen import list_changed_since
from holdfast.bundles.seen_sections import SAID_TO, choose_output
from holdfast.ground.confined import ConfinedRoot
from holdfast.ground.frozen import dataclass
from holdfast.observations.digest import Decided, Digest, SeenCommit, SeenRun, SeenSaying, Source
from holdfast.observations.tasks import Task
from holdfast.sessions.model import Session
from holdfast.surfaces.console import links
from holdfast.surfaces.console.card import CardItem, make_file_item


@dataclass(frozen=True)
class ShownRun:
    """A check, the lines that say why it failed, and what changed after it had passed."""

    run: SeenRun
    why: tuple[str, ...] = ()
    changed: tuple[str, ...] | None = None  # None where that is not known


@dataclass(frozen=True)
class ShownQuote:
    """Words of the user; in answer to something, or to something that was tried."""

    text: str
    source: Source
    about: str = ""

    @property
    def part(self) -> str:
        """Where in its turn it is shown: an answer in a step, anything else as the request."""
        return "step" if self.about else "turn"


@dataclass(frozen=True)
class ShownFile:
    item: CardItem
    source: Source


@dataclass(frozen=True)
class SeenView:
    failing: tuple[ShownRun, ...]
    others: tuple[ShownRun, ...]  # the last check if its end is not known, and the last pass
    said: tuple[ShownQuote, ...]
    tasks: tuple[Task, ...]
    more_tasks: int  # that are open, and only counted
    tasks_done: int
    tasks_source: Source | None
    files: tuple[ShownFile, ...]
    commits: tuple[SeenCommit, ...]

    @property
    def has_tasks(self) -> bool:
        return bool(self.tasks or self.tasks_done)

    @property
    def is_empty(self) -> bool:
        runs = self.failing or self.others
        return not (runs or self.said or self.has_tasks or self.files or self.commits)


def make_seen_view(session: Session, digest: Digest, roots: Sequence[ConfinedRoot]) -> SeenView:
    tasks = sorted(digest.tasks.open, key=lambda task: task.status != "in_progress")
    return SeenView(
        failing=tuple(_show_failing(run) for run in digest.list_failing()),
        others=tuple(_show_others(session, digest, roots)),
        said=tuple(_list_quotes(digest)),
        tasks=tuple(tasks),
        more_tasks=digest.tasks.more_open,
        tasks_done=digest.tasks.done,
        tasks_source=digest.tasks_source,
        files=tuple(_show_files(session, digest, roots)),
        commits=digest.commits[::-1],
    )


# --- checks ---------------------------------------------------------------------------------------


def _show_failing(run: SeenRun) -> ShownRun:
    lines = [line for line in run.output if line.strip()]
    return ShownRun(run, why=tuple(choose_output(lines)))


def _show_others(session: Session, digest: Digest, roots: Sequence[ConfinedRoot]) -> list[ShownRun]:
    unclear = digest.find_unclear()
    shown = [ShownRun(unclear)] if unclear else []
    for last_pass in digest.list_working()[:1]:
        changed = _list_changed(session, digest, last_pass, roots)
        shown.append(ShownRun(last_pass, changed=changed))
    return shown


def _list_changed(
    session: Session, digest: Digest, last_pass: SeenRun, roots: Sequence[ConfinedRoot]
) -> tuple[str, ...] | None:
    """The checkout as it is now; where it is not shown here, only what was edited later."""
    if session.worktree and _is_shown(session.worktree, roots):
        paths = [file.path for file in digest.files[::-1]]
        return list_changed_since(paths, last_pass, session.worktree)
    passed_at = last_pass.source.sequence
    later = [file.path for file in reversed(digest.files) if file.source.sequence > passed_at]
    return tuple(links.short_path(path, session.worktree) for path in later) or None


def _is_shown(folder: str, roots: Sequence[ConfinedRoot]) -> bool:
    """Whether what lies in it does: a root holds what is below it, and not itself."""
    any_file = os.path.join(os.path.realpath(folder), "file")
    return any(root.holds(any_file) for root in roots)


# --- the rest -------------------------------------------------------------------------------------


def _list_quotes(digest: Digest) -> list[ShownQuote]:
    quotes = [_quote_saying(said) for said in digest.said]
    quotes += [_quote_decided(decided) for decided in digest.decided]
    return sorted(quotes, key=lambda quote: quote.source.sequence, reverse=True)


def _quote_saying(said: SeenSaying) -> ShownQuote:
    return ShownQuote(said.saying.text, said.source)


def _quote_decided(decided: Decided) -> ShownQuote:
    decision = decided.decision
    kind = SAID_TO.get(decision.kind, decision.kind)
    return ShownQuote(decision.answer, decided.source, f"{kind}: {decision.about}")


def _show_files(session: Session, digest: Digest, roots: Sequence[ConfinedRoot]) -> list[ShownFile]:
    files = reversed(digest.files)
    return [ShownFile(make_file_item(session, file.path, roots), file.source) for file in files]
