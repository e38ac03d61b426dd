"""For programs that start agents themselves: an instruction with the bundle before it."""

from __future__ import annotations

import os

from holdfast.app import App
from holdfast.ground.off_loop import apart
from holdfast.ground.settings import Settings


def prefix_instruction(
    instruction: str,
    *,
    folder: str | None = None,
    phase: str = "implementation",
    workstream_id: str | None = None,
    share: bool | None = None,
    settings: Settings | None = None,
) -> str:
    """The instruction as it was where nobody has agreed to sharing."""

    def prefixed() -> str:
        with App(settings) as app:
            work = app.workstreams(folder or os.getcwd(), share=share)
            return app.run(app.bundles(work).prefix(instruction, phase, workstream_id)) if work.is_on() else instruction

    return apart(prefixed)
