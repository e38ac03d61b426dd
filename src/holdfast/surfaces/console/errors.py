"""What only the console raises."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.errors import Conflict, shown


class ProofRunningError(Conflict):
    code = "proof_running"

    def __init__(self, command: Sequence[str]):
        self.command = tuple(command)
        super().__init__(
            f"A proof is running already: {shown(' '.join(command))}. "
            "Nothing was started. Wait until it has ended."
        )
