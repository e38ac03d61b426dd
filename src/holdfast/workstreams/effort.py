"""How much one look at a checkout may cost, counted in bytes of text that it goes through.

A context file may name any number of places in any files, and others can write it. So every look
has a budget. It counts work and not time: the same notes on the same checkout always get the same
verdicts. What is dearer than reading costs more than its bytes.
"""

from __future__ import annotations

CLAIMS = 1_000
LOOK_BYTES = 64 << 20
OPENING = 4 << 10  # a file, also a missing or an empty one
LINE = 8  # beside its bytes
PARSED_CHAR = 24
SEARCHED_LINE = 32
TOKEN = 8


class EffortSpent(Exception):
    """The budget is too small for this, so what was to be compared was not."""


class Effort:
    """What is left of the budget of one look, and how often it was not enough."""

    def __init__(self) -> None:
        self.units = LOOK_BYTES
        self.claims = CLAIMS
        self.refusals = 0

    def spend(self, units: int) -> None:
        """Before the work is done. What is too dear leaves the rest for cheaper work."""
        if units > self.units:
            self.refusals += 1
            raise EffortSpent
        self.units -= units

    def spend_all(self) -> None:
        """After work whose size was not known before."""
        self.spend(self.units)
        self.spend(1)

    def take_claims(self, wanted: int) -> int:
        """How many of so many claims may be checked."""
        taken = min(wanted, self.claims)
        self.claims -= taken
        return taken
