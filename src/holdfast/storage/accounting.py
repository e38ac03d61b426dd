"""Accounts: accepted = stored + spooled + rejected.

"Accepted" counts the numbers that were given out and what was added to the spool; "stored" counts
the rows in the store, or, beyond the newest of them, goes by the last row of each log. The two come
from different places, so a difference is a loss and not a rounding. The spool has a list of what
has to be in it; what is missing there was accepted as well.

Both are about the newest sessions, where a loss would happen: to count all of them takes longer
with every session, and `holdfast session verify` does more than that.

"Dropped" is what a hook was given and no disk took: it was never accepted, but it is gone.
"""

from __future__ import annotations

from typing import Any

from holdfast.ground.frozen import dataclass


@dataclass(frozen=True)
class Waiting:
    """What is not in the store; known also when the store cannot be opened."""

    spooled: int = 0
    at_risk: int = 0  # of those: in a folder that does not outlive the machine's restart
    dropped: int = 0
    first_dropped_at: str | None = None
    last_dropped_at: str | None = None


@dataclass(frozen=True)
class Accounting(Waiting):
    accepted: int = 0
    stored: int = 0
    rejected: int = 0
    sessions: int = 0
    has_older_sessions: bool = False  # which were not counted

    @property
    def lost(self) -> int:
        return self.accepted - self.stored - self.spooled - self.rejected

    def to_dict(self) -> dict[str, Any]:
        return {**self.__dict__, "lost": self.lost}
