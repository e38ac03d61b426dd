"""TW2: a store that lives long. One million events, eight agents, restarts at any moment; the soak
only.
"""

import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults import writers
from tests.faults.audit import audit, new_session
from tests.rig.nursery import Child, Nursery

Scale = Callable[[int], int]

AGENTS, ROUNDS = 8, 20
LARGEST_LOG = 64 << 20


@pytest.mark.soak
def test_a_long_life_grows_neither_memory_nor_descriptors_nor_the_log(
    nursery: Nursery, tmp_path: Path, scale: Scale
) -> None:
    """Half of the agents live through it, the others are killed and started again; each has a
    session of its own.
    """
    each, seed = scale(1_000_000) // AGENTS // ROUNDS, random.randrange(1 << 32)
    chance, url = random.Random(seed), f"sqlite:///{tmp_path / 'test.db'}"
    sessions = [new_session(url) for _ in range(AGENTS)]
    agents = [nursery.start(writers.live_long, url, session) for session in sessions]
    acked, seen = [0] * AGENTS, list[list[dict[str, int]]]([[] for _ in agents])
    for _ in range(ROUNDS):
        for agent in agents:
            agent.say(each)
        for number in range(AGENTS):
            if number >= AGENTS // 2 and chance.random() < 0.3:
                agents[number].hear_for(chance.uniform(0, 0.5))
                agents[number] = restart(nursery, agents[number], url, sessions[number])
            else:
                report = agents[number].hear()
                acked[number] += report["acked"]
                seen[number].append(report)
        assert (tmp_path / "test.db-wal").stat().st_size < LARGEST_LOG

    for agent in agents:
        agent.say(0)
        assert agent.wait() == 0
    for number, session_id in enumerate(sessions):
        assert len(audit(url, session_id)) >= acked[number]
    for reports in seen[: AGENTS // 2]:
        early, late = reports[2], reports[-1]
        assert late["descriptors"] == early["descriptors"]
        assert late["kilobytes"] <= early["kilobytes"] * 1.1
        print(f"TW2: {early} → {late}")
    print(
        f"TW2: {sum(acked)} acknowledged, file "
        f"{os.path.getsize(tmp_path / 'test.db') >> 20} MiB, seed {seed}"
    )


def restart(nursery: Nursery, agent: Child, url: str, session_id: str) -> Child:
    agent.kill()
    agent.hear_all()
    agent.wait()
    return nursery.start(writers.live_long, url, session_id)
