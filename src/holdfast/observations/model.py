"""What is seen in a session's log: turns, their steps, files and commands."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from holdfast.ground.frozen import dataclass

# Kinds of steps that a client's log has beside tools and notes.
COMPACTION, REWIND = "compaction", "rewind"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal, Protocol

    from holdfast.observations.commits import MadeCommit

    Verdict = Literal["passed", "failed", "unknown"]

    class Answered(Protocol):
        """What a tool answered, and what is known of the tool."""

        @property
        def content(self) -> str: ...
        @property
        def parts(self) -> Mapping[str, Any] | None: ...

    class LoggedEvent(Answered, Protocol):
        """What is read of an event; a session's events are such."""

        @property
        def id(self) -> str: ...
        @property
        def sequence(self) -> int: ...
        @property
        def type(self) -> str: ...
        @property
        def happened_at(self) -> datetime: ...


@dataclass(frozen=True)
class TouchedFile:
    """A file that a tool was given."""

    path: str
    is_edit: bool
    agent: str = ""  # the subagent that did it, none for the agent itself


@dataclass(frozen=True)
class GradedCommand:
    """A command that was run, whether it worked, and how that is known."""

    text: str
    verdict: Verdict
    because: str
    sequence: int
    agent: str = ""


@dataclass(frozen=True)
class TurnStep:
    """One entry between a request and its answer: a tool with its result, a gate, or a note.

    What a subagent was told and what it answered are such entries too.
    """

    event: LoggedEvent
    title: str
    kind: str
    verdict: Verdict | None = None
    result: LoggedEvent | None = None
    agent: str = ""


@dataclass(frozen=True)
class SessionTurn:
    """From one request to the next; without one it is the rest of a turn, or the beginning."""

    first: int
    last: int
    started_at: datetime
    ended_at: datetime
    request: LoggedEvent | None
    steps: tuple[TurnStep, ...]
    answers: tuple[LoggedEvent, ...]
    files: tuple[TouchedFile, ...]
    commands: tuple[GradedCommand, ...]
    commits: tuple[MadeCommit, ...] = ()

    @property
    def events(self) -> int:
        return self.last - self.first + 1

    @property
    def work(self) -> tuple[TurnStep, ...]:
        return tuple(step for step in self.steps if step.kind != COMPACTION)

    @property
    def compactions(self) -> tuple[TurnStep, ...]:
        return tuple(step for step in self.steps if step.kind == COMPACTION)

    @property
    def edited(self) -> tuple[TouchedFile, ...]:
        return tuple(file for file in self.files if file.is_edit)

    @property
    def read(self) -> tuple[TouchedFile, ...]:
        return tuple(file for file in self.files if not file.is_edit)
