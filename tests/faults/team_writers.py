"""What the processes of the team's races do; each acknowledges after the await has returned."""

import asyncio
import random
import time
from collections.abc import Callable, Coroutine
from datetime import datetime, timedelta
from typing import Any

import holdfast
from holdfast.errors import HoldfastError
from holdfast.ground import clock
from holdfast.ground.settings import owner_of
from holdfast.scope import Scope
from holdfast.team.service import TeamService
from holdfast.usecases import exchange
from tests.rig.nursery import Line

WORKSPACE = "local"
PLACES: tuple[dict[str, Any], ...] = (
    {"repo": "acme/payouts", "branch": None},
    {"repo": "acme/payouts", "branch": ""},
    {"repo": "acme/payouts", "branch": "main"},
    {"repo": "acme/payouts", "branch": "feat/x"},
    {"repo": "acme/payouts", "branch": "Feat/X"},
    {"repo": None, "branch": None},
)
KEYS = 5  # no branch and an empty one are the same place


def with_scope(url: str, handle: str, body: Callable[[Scope], Coroutine[Any, Any, Any]]) -> Any:
    async def work() -> Any:
        async with holdfast.open_database(url) as database:
            return await body(Scope(database, owner_of(WORKSPACE, handle)))

    return asyncio.run(work())


def with_team(
    url: str, handle: str, body: Callable[[TeamService], Coroutine[Any, Any, Any]]
) -> Any:
    return with_scope(url, handle, lambda scope: body(scope.team))


def publish_in_turns(line: Line, url: str, handle: str, name: str, rounds: int) -> None:
    """One publication a round, at the same moment as the other process."""

    async def work(scope: Scope) -> None:
        line.say("open")
        for number in range(rounds):
            line.hear()
            fields = {"title": f"{name}.{number}", "summary": "A race.", "repo": "r", "branch": "b"}
            done = await exchange.publish_context(scope, fields)
            line.say(done.result.id)

    with_scope(url, handle, work)


def publish_and_revoke(line: Line, url: str, handle: str, seed: int, count: int) -> None:
    """Publications in all places, and some of them revoked; says what was acknowledged."""
    chance = random.Random(seed)

    async def work(scope: Scope) -> None:
        line.say("open")
        line.hear()
        for number in range(count):
            place = chance.choice(PLACES)
            fields = {"title": f"{seed}.{number}", "summary": "A race.", **place}
            done = await exchange.publish_context(scope, fields)
            is_revoked = chance.random() < 0.3
            if is_revoked:
                await exchange.revoke_context(scope, done.result.id)
            line.say([done.result.id, is_revoked])

    with_scope(url, handle, work)


def accept_when_told(line: Line, url: str, handle: str) -> None:
    """Accepts each handoff that it is told of; says whether it got it."""

    async def work(scope: Scope) -> None:
        line.say("open")
        while (handoff_id := line.hear()) is not None:
            try:
                await exchange.answer_handoff(scope, "accept", handoff_id)
                line.say("accepted")
            except HoldfastError as error:
                line.say(error.code)

    with_scope(url, handle, work)


def read_when_told(line: Line, url: str, handle: str) -> None:
    """Says each time what it sees: contexts, claims, handoffs and their contexts, events."""

    async def work(scope: Scope) -> None:
        line.say("open")
        while line.hear() is not None:
            state = await exchange.get_state(scope)
            listed = await exchange.get_contexts(scope)
            references = [each.context.id for each in state.handoffs if each.context]
            seen = [context.id for context in (*state.published_contexts, *listed)]
            line.say([*seen, *references])

    with_scope(url, handle, work)


def publish_with_keys(line: Line, url: str, handle: str, keys: int) -> None:
    """Each request with its key, as another process sends it as well; says what came back."""

    async def work(scope: Scope) -> None:
        line.say("open")
        line.hear()
        for number in range(keys):
            fields = {"title": f"request {number}", "summary": "Twice.", "branch": f"b{number}"}
            done = await exchange.publish_context(scope, fields, f"key-{number}")
            line.say([done.result.id, done.is_first])

    with_scope(url, handle, work)


def publish_with_wrong_clock(line: Line, url: str, hours: int) -> None:
    """A program on a machine whose clock is wrong by so many hours."""
    right = time.time_ns
    time.time_ns = lambda: right() + hours * 3_600_000_000_000
    clock.now = lambda: datetime.now(clock.UTC) + timedelta(hours=hours)

    async def work(team: TeamService) -> None:
        published = await team.publish_context(title="t", summary="s", ttl_hours=1)
        seen = await team.get_contexts()
        times = (published.published_at, published.expires_at)
        line.say([*map(clock.to_text, times), [context.id for context in seen]])

    with_team(url, "dev-a", work)


def publish_and_withdraw_when_told(line: Line, url: str, handle: str) -> None:
    """Says the id of what it published, and then that a way to withdraw it was acknowledged."""

    async def work(scope: Scope) -> None:
        team = scope.team
        claimed = await team.claim(["src/retry.py"], "work", repo="github.com/acme/payouts")
        await team.handoff(claimed.id)
        line.say("open")
        while (told := line.hear()) is not None:
            way, fields = told
            if way == "publish":
                await team.set_visibility("public")
                context = await team.publish_context(**fields)
            elif way == "revoke":
                await team.revoke_context(context.id)
            elif way == "supersede":
                await team.publish_context(**{**fields, "title": "newer", "summary": "newer"})
            else:
                await team.set_visibility("private")
            line.say(context.id)

    with_scope(url, handle, work)
