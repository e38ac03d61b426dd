"""What conversations are about: folders in git, and what their `session.json` says.

The names in that file are the seed's. What another version has added to it is kept, so that two
programs can share a repository.
"""

from __future__ import annotations

from datetime import datetime

from holdfast.ground import clock
from holdfast.ground.frozen import dataclass, field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

VERSION = "1.0"
TYPES = ("brainstorm", "debug", "plan", "learn", "meeting", "review", "projectmanage")
ACTIVE, PAUSED, COMPLETED = "active", "paused", "completed"
STATUSES = (ACTIVE, PAUSED, COMPLETED)
BY_RULE, WRITTEN = "rule", "written"  # whose words a summary is


@dataclass(frozen=True)
class AgentConfig:
    """What made the conversation possible: compared with what there is when it is resumed."""

    command: str = ""
    system_prompt_hash: str = ""
    model: str = ""
    tools: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {**self.__dict__, "tools": list(self.tools)}


@dataclass(frozen=True)
class Conversation:
    """One folder: `<date>/<nnn>-<type>-<slug>`, which is also its id."""

    id: str
    type: str
    title: str
    created_at: datetime
    last_active: datetime
    status: str = ACTIVE
    message_count: int = 0
    token_count: int = 0
    agent_config: AgentConfig = AgentConfig()
    context_summary: str = ""
    summary_by: str = BY_RULE
    session_id: str | None = None
    client: str | None = None  # in which it was active last
    git_head: str | None = None  # that was checked out then
    files: tuple[str, ...] = ()  # that were edited in it
    is_shared: bool = False  # in the repository, not in the data folder
    others: Mapping[str, Any] = field(default_factory=dict)  # keys that we do not know
    problem: str | None = None  # why it may only be read
    conflict: str | None = None  # what git could not merge, and how it is read until it is saved

    @property
    def subject(self) -> str:
        return self.id

    @property
    def name(self) -> str:
        """What the seed calls `conversation_id`: the name of the folder."""
        return self.id.rpartition("/")[2]

    @property
    def document(self) -> str:
        return f"{self.type}.md"

    def to_dict(self) -> dict[str, Any]:
        shown = {name: value for name, value in self.__dict__.items() if name != "others"}
        return {
            **shown,
            "created_at": clock.to_text(self.created_at),
            "last_active": clock.to_text(self.last_active),
            "agent_config": self.agent_config.to_dict(),
            "files": list(self.files),
        }


@dataclass(frozen=True)
class Message:
    """One line of a history. The id is that of the event it was made from, in every clone."""

    id: str
    role: str
    content: str
    at: datetime
    client: str | None = None
    is_own: bool = True  # False: it came with the repository, and this machine has no log of it

    def to_dict(self) -> dict[str, Any]:
        line = {
            "content": self.content,
            "id": self.id,
            "role": self.role,
            "timestamp": clock.to_text(self.at),
        }
        if self.client:
            line["client"] = self.client
        return line


@dataclass(frozen=True)
class History:
    """The messages of a conversation as its file has them, and what of it cannot be read."""

    messages: tuple[Message, ...] = ()
    damaged_lines: tuple[int, ...] = ()
    erased: int = 0


@dataclass(frozen=True)
class Saved:
    """What a save has written, and which paths a commit of it would have."""

    conversation: Conversation
    added: int
    paths: tuple[str, ...]
    kept: str | None = None  # where both sides are that git could not merge

    @property
    def subject(self) -> str:
        return self.conversation.id
