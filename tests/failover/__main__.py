"""R30: three nodes under load; the primary is killed, switched over, stopped and cut off.

    python -m tests.failover

Prints for each fault how long nothing was acknowledged, and at the end what was lost or doubled.
It runs in a network of its own where one can be made: then nothing of it is left, whatever happens.
"""

import asyncio
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import holdfast
from holdfast.ground.settings import owner_of
from holdfast.storage.migrate import migrate_postgres
from tests.failover.cluster import TTL_SECONDS, Cluster, Node, wait_until
from tests.failover.load import WORKSPACE, write_until_told
from tests.faults.audit import audit_open
from tests.rig import postgres as rig
from tests.rig.nursery import Child, Nursery, hear_as_it_comes, say_to_all
from tools.clients.install import MissingError
from tools.clients.sandbox import find_unshare

WRITERS, DEVELOPERS = 16, 4
CALM_SECONDS = 3.0  # under load before each fault
INSIDE = "--inside"
# The first process of a namespace has to wait for those whose parent has ended. A shell does.
AS_FIRST = ("sh", "-c", '"$@"; exit $?', "sh")
STORED = {
    "event": "select id::text from context.session_events",
    "context": "select title from team.session_contexts",
    "claim": "select reason from team.reservations",
}

Fault = Callable[[Cluster, Node], AbstractContextManager[None]]


class Answers:
    """What the writers were answered, as it comes in."""

    def __init__(self, children: list[Child]):
        self.all: list[tuple[int, dict[str, Any]]] = []
        self.failure: Exception | None = None
        self._children = children
        self._thread = threading.Thread(target=self._collect)
        self._thread.start()

    def _collect(self) -> None:
        try:
            for child, value in hear_as_it_comes(self._children):
                if value != "open":
                    self.all.append((child.pid, value))
        except Exception as error:
            self.failure = error

    def finish(self) -> None:
        self._thread.join()
        if self.failure is not None:
            raise self.failure

    def have_all_gone_on(self, since: float, but: Child | None = None) -> bool:
        """Whether every writer was answered after that time."""
        if self.failure is not None:
            raise self.failure
        gone_on = {pid for pid, value in self.all if value["at"] > since}
        return {child.pid for child in self._children if child is not but} <= gone_on

    def describe_gap(self, begin: float, end: float) -> str:
        """How long none was answered, and how long the slowest request took."""
        known = [value for _, value in self.all if begin - 1 < value["at"] < end]
        times = sorted({begin, *(value["at"] for value in known if value["at"] > begin)})
        gap = max(after - before for before, after in pairwise(times))
        slowest = max(value["took"] for value in known)
        errors = Counter(error for value in known for error in value["errors"])
        told = ", ".join(f"{code} {count}" for code, count in errors.items()) or "none"
        return f"gap {gap:5.1f} s, slowest request {slowest:5.1f} s, errors: {told}"


def main() -> int:
    if INSIDE in sys.argv:
        return run(has_networks=True)
    try:
        unshare = find_unshare()
    except MissingError:
        return run(has_networks=False)
    command = [*unshare, *AS_FIRST, sys.executable, "-m", "tests.failover", INSIDE]
    return subprocess.run(command).returncode


def run(has_networks: bool) -> int:
    cluster = Cluster(Path(tempfile.mkdtemp(prefix="holdfast-failover-")), has_networks)
    try:
        began = time.monotonic()
        cluster.start()
        how = "a network each" if has_networks else "loopback"
        print(f"three nodes with {how} after {time.monotonic() - began:.1f} s, ttl {TTL_SECONDS} s")
        return run_load(cluster)
    finally:
        cluster.remove()


def run_load(cluster: Cluster) -> int:
    databases = rig.Cluster(cluster.superuser_url, "holdfast_failover")
    databases.prepare_roles()
    name = databases.create_database(databases.create_template(migrate_postgres))
    url = databases.dsn(name, rig.APP)
    sessions = [asyncio.run(begin_session(url, handle_of(number))) for number in range(DEVELOPERS)]
    with Nursery(preload=["tests.failover.load"]) as nursery:

        def start_writer(seed: int, network: str | None = None) -> Child:
            session_id = sessions[seed % DEVELOPERS]
            return nursery.start(write_until_told, url, handle_of(seed), session_id, seed, network)

        outside = [start_writer(number) for number in range(WRITERS)]
        beside = {
            node.name: start_writer(WRITERS + number, node.network)
            for number, node in enumerate(cluster.nodes)
            if cluster.has_networks
        }
        children = [*outside, *beside.values()]
        answers = Answers(children)
        wait_until(lambda: answers.have_all_gone_on(0), "all writers")
        for fault in (*FAULTS, *([cut_off_primary] if cluster.has_networks else [])):
            try_fault(cluster, answers, fault, beside)
        say_to_all(children, "stop")
        answers.finish()
        assert [child.wait() for child in children] == [0] * len(children)
    return judge(databases.dsn(name), url, sessions, answers)


def handle_of(number: int) -> str:
    return f"dev-{number % DEVELOPERS}"


async def begin_session(url: str, handle: str) -> str:
    async with holdfast.open_database(url) as database:
        sessions = holdfast.SessionService(database, owner=owner_of(WORKSPACE, handle))
        return (await sessions.create_session("m", "u1")).id


# --- faults ---------------------------------------------------------------------------------------


def try_fault(
    cluster: Cluster, answers: Answers, fault: Fault, beside: Mapping[str, Child]
) -> None:
    """The writers beside a node that is cut off go on when it is joined again."""
    time.sleep(CALM_SECONDS)
    begin, old = time.monotonic(), cluster.primary()
    with fault(cluster, old):
        wait_until(lambda: is_another_primary(cluster, old), "a new primary", cluster.describe)
        now = time.monotonic()
        cut_off = beside.get(old.name) if fault is cut_off_primary else None
        wait_until(lambda: answers.have_all_gone_on(now, cut_off), "writers", cluster.describe)
        end = time.monotonic()
        print(f"{fault.__name__:16} {answers.describe_gap(begin, end)}", flush=True)
    cluster.wait_until_whole()
    whole = time.monotonic()
    wait_until(lambda: answers.have_all_gone_on(whole), "all writers", cluster.describe)


def is_another_primary(cluster: Cluster, old: Node) -> bool:
    return any(
        state["role"] == "primary" for name, state in cluster.roles().items() if name != old.name
    )


@contextmanager
def kill_primary(cluster: Cluster, primary: Node) -> Iterator[None]:
    """PostgreSQL, Patroni and its member of etcd, with SIGKILL."""
    primary.kill()
    yield
    primary.start()


@contextmanager
def switch_over(cluster: Cluster, primary: Node) -> Iterator[None]:
    """As for the maintenance of a node."""
    cluster.switch_over()
    yield


@contextmanager
def stop_primary(cluster: Cluster, primary: Node) -> Iterator[None]:
    """All its processes with SIGSTOP; later it goes on as if nothing had been."""
    primary.freeze()
    yield
    primary.thaw()


@contextmanager
def cut_off_primary(cluster: Cluster, primary: Node) -> Iterator[None]:
    """Its cable is pulled; one writer is on its side."""
    primary.cut_off()
    yield
    primary.join_again()


FAULTS: tuple[Fault, ...] = (kill_primary, switch_over, stop_primary)


# --- what is left ---------------------------------------------------------------------------------


def judge(superuser_url: str, url: str, sessions: Sequence[str], answers: Answers) -> int:
    """0 if everything that was acknowledged is there, and once."""
    faults = 0
    for kind, statement in STORED.items():
        acked = [value["name"] for _, value in answers.all if value["kind"] == kind]
        stored = Counter(row[0] for row in rig.execute(superuser_url, statement))
        lost = sum(name not in stored for name in acked)
        doubled = sum(count > 1 for count in stored.values())
        strange = len(stored.keys() - set(acked))
        faults += lost + doubled + strange
        print(
            f"{kind:8} N = {len(acked)}: {lost} lost, {doubled} doubled, {strange} never asked for"
        )
    for number, session_id in enumerate(sessions):
        events = asyncio.run(audit_session(url, handle_of(number), session_id))
        print(f"session of {handle_of(number)}: {events} events, no gap, the chain holds")
    print("R30 holds" if faults == 0 else "R30 does NOT hold", flush=True)
    return min(faults, 1)


async def audit_session(url: str, handle: str, session_id: str) -> int:
    async with holdfast.open_database(url) as database:
        service = holdfast.SessionService(database, owner=owner_of(WORKSPACE, handle))
        return len(await audit_open(service, session_id))


if __name__ == "__main__":
    sys.exit(main())
