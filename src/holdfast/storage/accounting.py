"""Accounts: accepted = stored + spooled + rejected.

"Accepted" counts the numbers that were given out and what was added to the spool; "stored" counts
the rows in the store, or, for a server that is asked all the time, goes by the last row of each
log. The two come from different places, so a difference is a loss and not a rounding. The spool has
a list of what has to be in it; what is missing there was accepted as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Accounting:
    accepted: int
    stored: int
    spooled: int
    rejected: int
    sessions: int

    @property
    def lost(self) -> int:
        return self.accepted - self.stored - self.spooled - self.rejected

    def to_dict(self) -> dict[str, Any]:
        return {**self.__dict__, "lost": self.lost}
