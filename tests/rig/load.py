"""Fifty agents at once at one address, as a team has them: each with a token and a connection of
its own and a stream of events, and all of them publish, fetch and look.

Forty-five developers, five of them with two agents and five of them private. What was acknowledged
is looked for afterwards: in the store, and on each stream that may have it.
"""

import asyncio
import random
import ssl
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from holdfast.app import App
from holdfast.ground.settings import Settings
from holdfast.usecases import administration
from tests.rig.http_proxy import PATIENCE_SECONDS
from tests.rig.wire import Answer, Wire, parse

AGENTS, DEVELOPERS, PRIVATE = 50, 45, 5
REPOS, BRANCHES = ("acme/payouts", "acme/ledger"), ("main", "refunds", None)
PUBLISH, GET, STATE, TOOL = "publish", "get_context", "state", "MCP tool `get_context`"
WEIGHTS = {PUBLISH: 3, GET: 3, STATE: 2, TOOL: 2}
MCP_VERSION = "2026-07-28"
MCP_HEADERS = {
    "Accept": "application/json, text/event-stream",
    "MCP_Protocol_Version": MCP_VERSION,
    "Mcp_Method": "tools/call",
    "Mcp_Name": "covibe_session",
}
MCP_CALL = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {
        "name": "covibe_session",
        "arguments": {"operation": "get_context"},
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": MCP_VERSION,
            "io.modelcontextprotocol/clientInfo": {"name": "load", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    },
}


@dataclass(frozen=True)
class Member:
    """An agent's token, and whose it is."""

    handle: str
    token: str
    is_private: bool


@dataclass
class Seen:
    """What the agents saw. Times are seconds of one clock."""

    calls: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    seconds: float = 0.0
    errors: Counter[str] = field(default_factory=Counter)
    acknowledged: dict[str, tuple[Member, float]] = field(default_factory=dict)
    arrivals: list[float] = field(default_factory=list)  # after the acknowledgement
    lost: int = 0
    doubled: int = 0
    overheard: int = 0  # events of private developers on streams of others
    places: int = 0  # of a developer, a repository and a branch that were published for
    active: Counter[int] = field(default_factory=Counter)  # contexts in a place

    @property
    def done(self) -> int:
        return sum(len(times) for times in self.calls.values())


def add_members(settings: Settings) -> list[Member]:
    """The first developers have a second agent, the last ones are private."""

    async def add(app: App) -> list[Member]:
        await administration.add_workspace(app, app.settings.workspace)
        members = []
        for number in range(DEVELOPERS):
            is_private = number >= DEVELOPERS - PRIVATE
            visibility = "private" if is_private else "public"
            handle = f"dev-{number}"
            await administration.add_developer(app, handle, visibility)
            for agent in range(2 if number < AGENTS - DEVELOPERS else 1):
                made = await administration.add_token(app, handle, f"agent-{agent}", ())
                members.append(Member(handle, made.text, is_private))
        return members

    with App(settings) as app:
        return app.run(add(app))


class Agent:
    def __init__(
        self, member: Member, number: int, url: str, context: ssl.SSLContext | None, seen: Seen
    ):
        self.member, self.number, self.seen = member, number, seen
        self.chance = random.Random(number)
        self.wire = Wire(url, member.token, context)
        self.stream = Wire(url, member.token, context)
        self.heard = Counter[str]()
        self.heard_at = dict[str, float]()
        self.is_listening = asyncio.Event()
        self.listening: asyncio.Task[None] | None = None
        self._published = 0
        self._verbs: dict[str, Callable[[], Awaitable[Answer]]] = {
            PUBLISH: self._publish,
            GET: lambda: self.wire.ask("GET", "/api/contexts"),
            STATE: lambda: self.wire.ask("GET", "/api/state"),
            TOOL: lambda: self.wire.ask("POST", "/mcp", MCP_CALL, **MCP_HEADERS),
        }

    def listen(self) -> None:
        self.listening = asyncio.create_task(self._listen())

    async def warm_up(self) -> None:
        for kind in (GET, STATE, TOOL):
            await self._verbs[kind]()

    async def work(self, calls: int, pause_seconds: float) -> None:
        """Call after call, or with pauses that last so long on the average."""
        kinds = self.chance.choices(list(WEIGHTS), weights=list(WEIGHTS.values()), k=calls)
        for kind in kinds:
            await asyncio.sleep(self.chance.uniform(0, 2 * pause_seconds))
            begin = time.perf_counter()
            answer = await self._verbs[kind]()
            now = time.perf_counter()
            if is_good(kind, answer):
                self.seen.calls[kind].append(now - begin)
            else:
                self.seen.errors[f"{kind}: {answer.status}"] += 1
            if kind == PUBLISH and answer.status == 201:
                self.seen.acknowledged[parse(answer)["id"]] = (self.member, now)

    async def list_history(self) -> list[dict[str, Any]]:
        """All that its developer ever published, page by page."""
        path = "/api/contexts?history=true"
        page = parse(await self.wire.ask("GET", path))
        found: list[dict[str, Any]] = page["contexts"]
        while page["below"] is not None:
            page = parse(await self.wire.ask("GET", f"{path}&below={page['below']}"))
            found += page["contexts"]
        return found

    async def leave(self) -> None:
        if self.listening is not None:
            self.listening.cancel()
            with suppress(asyncio.CancelledError):
                await self.listening
        for wire in (self.wire, self.stream):
            await wire.close()

    async def _publish(self) -> Answer:
        self._published += 1
        name = f"agent {self.number}, publication {self._published}"
        body = {
            "title": name,
            "summary": "What is left: the export, and the retry after a timeout of the bank.",
            "files_touched": [f"src/payouts/part{number}.py" for number in range(5)],
            "repo": self.chance.choice(REPOS),
            "branch": self.chance.choice(BRANCHES),
        }
        return await self.wire.ask("POST", "/api/contexts", body, Idempotency_Key=name)

    async def _listen(self) -> None:
        async for event in self.stream.listen("/api/events"):
            now = time.perf_counter()
            self.is_listening.set()
            if event.get("event") == "team.context_published":
                subject = parse(Answer(200, {}, event["data"].encode()))["subject"]
                self.heard[subject] += 1
                self.heard_at.setdefault(subject, now)


def is_good(kind: str, answer: Answer) -> bool:
    if kind == PUBLISH:
        return answer.status == 201
    if kind == TOOL:
        return answer.status == 200 and not parse(answer)["result"].get("isError")
    return answer.status == 200


async def run_agents(
    url: str,
    members: list[Member],
    calls: int,
    *,
    pause_seconds: float = 0.0,
    is_warm: bool = False,
    context: ssl.SSLContext | None = None,
) -> Seen:
    """All of them at once, `calls` each; then a look at what has become of it. To be warm, each has
    asked everything once before.
    """
    seen = Seen()
    agents = [Agent(member, number, url, context, seen) for number, member in enumerate(members)]
    try:
        for agent in agents:
            agent.listen()
        await asyncio.gather(*(agent.is_listening.wait() for agent in agents))
        if is_warm:
            await asyncio.gather(*(agent.warm_up() for agent in agents))
        begin = time.perf_counter()
        await asyncio.gather(*(agent.work(calls, pause_seconds) for agent in agents))
        seen.seconds = time.perf_counter() - begin
        await wait_for_streams(agents, seen)
        check_streams(agents, seen)
        await check_store(agents, seen)
    finally:
        for agent in agents:
            await agent.leave()
    return seen


def may_hear(agent: Agent, publisher: Member) -> bool:
    return not publisher.is_private or publisher.handle == agent.member.handle


async def wait_for_streams(agents: list[Agent], seen: Seen) -> None:
    """Until each has what it may have; a stream that has ended gets nothing more."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        missing = [
            agent
            for agent in agents
            for context_id, (publisher, _) in seen.acknowledged.items()
            if may_hear(agent, publisher) and context_id not in agent.heard
        ]
        if not any(agent.listening and not agent.listening.done() for agent in missing):
            return
        await asyncio.sleep(0.02)


def check_streams(agents: list[Agent], seen: Seen) -> None:
    for agent in agents:
        for context_id, (publisher, acknowledged_at) in seen.acknowledged.items():
            if may_hear(agent, publisher):
                seen.lost += context_id not in agent.heard
                seen.doubled += agent.heard[context_id] > 1
                if context_id in agent.heard_at:
                    late = agent.heard_at[context_id] - acknowledged_at
                    seen.arrivals.append(max(0.0, late))
            else:
                seen.overheard += context_id in agent.heard


async def check_store(agents: list[Agent], seen: Seen) -> None:
    by_handle = {agent.member.handle: agent for agent in agents}
    await asyncio.gather(*(check_developer(agent, seen) for agent in by_handle.values()))


async def check_developer(agent: Agent, seen: Seen) -> None:
    """Every acknowledged publication is stored once, and the newest of a place alone is active."""
    acknowledged = {
        context_id
        for context_id, (publisher, _) in seen.acknowledged.items()
        if publisher.handle == agent.member.handle
    }
    stored = await agent.list_history()
    ids = [context["id"] for context in stored]
    seen.lost += len(acknowledged - set(ids))
    seen.doubled += len(ids) - len(acknowledged & set(ids))
    active = Counter[tuple[str, str]]()
    for context in stored:
        is_active = context["superseded_by"] is None and context["revoked_at"] is None
        active[context["repo"], context["branch"]] += is_active
    seen.places += len(active)
    seen.active.update(active.values())
