"""P and R9 for a whole team: fifty agents at once publish, fetch, look and listen, at one server
process and at two behind one address. The bench measures how long they wait; here it is counted
what became of what was acknowledged.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from holdfast.ground.settings import load_settings
from tests.rig.commands import require_programs
from tests.rig.load import AGENTS, Seen, add_members, run_agents
from tests.rig.postgres import pick_port
from tests.rig.proxies import NAME, run_proxy
from tests.surfaces.http.server import environment, run_server

pytestmark = pytest.mark.own_database

Scale = Callable[[int], int]


def play(url: str, folder: Path, processes: int, calls: int) -> Seen:
    """Two processes are behind nginx, with TLS."""
    port = pick_port()
    with ExitStack() as stack:
        servers = [
            stack.enter_context(
                run_server(folder / f"{number}", url, HOLDFAST_SERVER_NAMES=f"{NAME}:{port}")
            )
            for number in range(processes)
        ]
        members = add_members(load_settings(environment(folder / "0", url)))
        assert len(members) == AGENTS
        if processes == 1:
            return asyncio.run(run_agents(servers[0].url, members, calls))
        proxy = stack.enter_context(run_proxy("nginx", port, [one.port for one in servers]))
        return asyncio.run(run_agents(proxy.url, members, calls, context=proxy.make_context()))


@pytest.mark.parametrize("processes", [1, 2])
def test_fifty_agents_at_once_lose_nothing_and_meet_no_error(
    postgres_url: str, tmp_path: Path, scale: Scale, processes: int
):
    if processes == 2:
        require_programs("nginx", "openssl")

    calls = scale(20)
    seen = play(postgres_url, tmp_path, processes, calls)

    assert seen.errors == Counter()
    assert seen.done == AGENTS * calls
    assert seen.acknowledged
    assert (seen.lost, seen.doubled, seen.overheard) == (0, 0, 0)
    assert seen.active == Counter({1: seen.places})
