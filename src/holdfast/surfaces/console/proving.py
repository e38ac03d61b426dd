"""One proof at a time, run again from a page, on a thread of its own.

The thread opens the store by itself, as a command in a terminal would, and nothing waits for it: a
server can stop while the tests of a proof still run.
"""

from __future__ import annotations

import threading
from datetime import datetime

from holdfast.app import App
from holdfast.errors import HoldfastError
from holdfast.ground import clock
from holdfast.ground.frozen import dataclass, replace
from holdfast.ground.settings import Settings
from holdfast.surfaces.console.errors import ProofRunningError
from holdfast.workstreams.model import Proof


@dataclass(frozen=True)
class Proving:
    """A run that was started here; `done` is its result, `problem` why there is none."""

    proof: Proof
    started_at: datetime
    done: Proof | None = None
    problem: str = ""

    @property
    def is_running(self) -> bool:
        return self.done is None and not self.problem

    @property
    def mark(self) -> str:
        """Differs between any two states, so that a page is sent only what it has not shown."""
        started_at = clock.to_text(self.started_at)
        if self.done:
            return f"{started_at} {self.done.id}"
        if self.problem:
            return f"{started_at} no"
        return started_at


class Prover:
    def __init__(self, settings: Settings):
        self._settings = settings
        self._lock = threading.Lock()
        self.last: Proving | None = None

    def start(self, folder: str, proof: Proof) -> Proving:
        with self._lock:
            if self.last is not None and self.last.is_running:
                raise ProofRunningError(self.last.proof.command)
            started = self.last = Proving(proof, clock.now())
        thread = threading.Thread(
            target=self._run, args=(folder, started), name="holdfast-proof", daemon=True
        )
        thread.start()
        return started

    def _run(self, folder: str, started: Proving) -> None:
        """It always records an end; otherwise no other proof could be started."""
        try:
            with App(self._settings) as app:
                done = app.run(app.workstreams(folder).prove([], again=started.proof.id))
            self.last = replace(started, done=done)
        except HoldfastError as error:
            self.last = replace(started, problem=str(error))
        except Exception as error:  # its message may hold private text
            self.last = replace(started, problem=f"It could not be run ({type(error).__name__}).")
