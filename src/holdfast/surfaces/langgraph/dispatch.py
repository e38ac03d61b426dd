"""For programs that start agents themselves: an instruction with the bundle before it."""

from __future__ import annotations

from holdfast.ground.off_loop import run_in_thread
from holdfast.ground.settings import Settings
from holdfast.surfaces.langgraph.sharing import open_work, parse_share


def prefix_instruction(
    instruction: str,
    *,
    folder: str | None = None,
    phase: str = "implementation",
    workstream_id: str | None = None,
    share: bool | None = None,
    settings: Settings | None = None,
) -> str:
    """The instruction unchanged where sharing is off. It needs no LangGraph."""

    def add_prefix() -> str:
        with open_work(folder, parse_share(share), settings) as place:
            if place is None:
                return instruction
            app, work = place
            return app.run(app.bundles(work).prefix(instruction, phase, workstream_id))

    return run_in_thread(add_prefix)
