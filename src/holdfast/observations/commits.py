"""Which commits a session made: git printed an id, or HEAD had moved when a turn ended. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.ground.frozen import dataclass
from holdfast.observations import grading, parts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.observations.model import LoggedEvent

MOVED = "head"  # in the parts of a system event: what is checked out now, and what was before


@dataclass(frozen=True)
class MadeCommit:
    """git prints the beginning of the id and the subject; where HEAD has moved, it is whole."""

    id: str
    subject: str = ""

    def is_same(self, other: MadeCommit) -> bool:
        return self.id.startswith(other.id) or other.id.startswith(self.id)


def find_commit(event: LoggedEvent) -> MadeCommit | None:
    """The commit that an event shows."""
    if event.type == "system_event":
        return _find_moved(event)
    command = parts.get_command(parts.get_input(event.parts))
    if event.type != "tool_result" or "commit" not in command:
        return None
    use = grading.describe_command(command, grading.read_output(event))
    return MadeCommit(use.commit_id, use.subject) if use.commit_id else None


def find_branch(event: LoggedEvent) -> str | None:
    """The branch that HEAD has moved to; None for any other event."""
    moved = parts.find_value(event.parts, [MOVED])
    is_note = event.type == "system_event" and isinstance(moved, Mapping)
    return parts.as_text(parts.find_value(moved, ["branch"])) if is_note else None


def _find_moved(event: LoggedEvent) -> MadeCommit | None:
    """On the same branch: else another one was checked out."""
    moved = parts.find_value(event.parts, [MOVED])
    head = parts.as_text(parts.find_value(moved, ["id"]))
    before = parts.find_value(parts.find_value(moved, ["before"]), ["branch"])
    is_on_branch = before is not None and parts.as_text(before) == find_branch(event)
    return MadeCommit(head) if head and is_on_branch else None
