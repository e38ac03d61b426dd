"""The server fails at each step of each verb, and another one takes over: done, or a clear error,
after which the same request is done once.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest

import holdfast
from holdfast.errors import StoreUnreachableError
from holdfast.ground.ids import named_id
from holdfast.ground.settings import owner_of
from holdfast.scope import Scope
from holdfast.sessions.service import SessionService
from holdfast.storage import postgres
from holdfast.usecases import exchange
from tests.faults.proxy import FailingServer, SilentServer

pytestmark = pytest.mark.own_database

KEY = "one-key"
CONTEXT = {"title": "t", "summary": "s", "repo": "r", "branch": "b"}
CLAIM = {"paths": ["src/a.py"], "reason": "work", "repo": "r"}
MOST_STEPS = 60
PATIENCE_SECONDS = 60.0  # a server that is waited for is waited for without an end

Verb = Callable[[Scope, Any], Awaitable[Any]]


class Case:
    """What is there before, what is done, each with whom: `ana` does it, `bo` is another."""

    def __init__(self, prepare: Callable[[Scope, Scope], Awaitable[Any]], do: Verb):
        self.prepare, self.do = prepare, do


async def nothing(ana: Scope, bo: Scope) -> None:
    """The verb needs nothing."""


async def publish(ana: Scope, bo: Scope) -> str:
    return (await exchange.publish_context(ana, CONTEXT)).result.id


async def claim(ana: Scope, bo: Scope) -> str:
    return (await exchange.claim(ana, CLAIM)).result.id


async def offer(ana: Scope, bo: Scope) -> str:
    return (await exchange.handoff(ana, {"claim_id": await claim(ana, bo)})).result.id


async def take_offer_of_another(ana: Scope, bo: Scope) -> str:
    return await offer(bo, ana)


async def accept_of_another(ana: Scope, bo: Scope) -> str:
    offered = await offer(bo, ana)
    await exchange.answer_handoff(ana, "accept", offered)
    return offered


def answer(operation: str) -> Verb:
    return lambda ana, known: exchange.answer_handoff(ana, operation, known, KEY)


async def begin_session(ana: Scope, bo: Scope) -> str:
    session = await sessions_of(ana).create_session("m", "u1")
    await sessions_of(ana).update_state(session.id, {"task": "old"})
    return session.id


def sessions_of(scope: Scope) -> SessionService:
    return SessionService(scope.database, owner=scope.owner)


async def append_one(ana: Scope, session_id: str) -> None:
    event_id = named_id("event", session_id)
    await sessions_of(ana).append_event(
        session_id, "user_message", "user", "new", event_id=event_id
    )


async def append_several(ana: Scope, session_id: str) -> None:
    events = [
        {
            "type": "user_message",
            "role": "user",
            "content": "new",
            "event_id": named_id(number, session_id),
        }
        for number in ("first", "second")
    ]
    await sessions_of(ana).append_events(session_id, events)


CASES = {
    "publish": Case(nothing, lambda ana, _: exchange.publish_context(ana, CONTEXT, KEY)),
    "revoke": Case(publish, lambda ana, known: exchange.revoke_context(ana, known, KEY)),
    "supersede": Case(publish, lambda ana, _: exchange.publish_context(ana, CONTEXT, KEY)),
    "claim": Case(nothing, lambda ana, _: exchange.claim(ana, CLAIM, KEY)),
    "release": Case(claim, lambda ana, known: exchange.release(ana, known, KEY)),
    "handoff": Case(claim, lambda ana, known: exchange.handoff(ana, {"claim_id": known}, KEY)),
    "accept": Case(take_offer_of_another, answer("accept")),
    "complete": Case(accept_of_another, answer("complete")),
    "cancel": Case(offer, answer("cancel")),
    "visibility": Case(publish, lambda ana, _: exchange.set_visibility(ana, "private", KEY)),
    "append one": Case(begin_session, append_one),
    "append several": Case(begin_session, append_several),
    "update state": Case(
        begin_session, lambda ana, known: sessions_of(ana).update_state(known, {"task": "new"})
    ),
    "set context": Case(
        begin_session,
        lambda ana, known: sessions_of(ana).set_relevant_context(
            known, "files", ["/r/a"], mode="merge"
        ),
    ),
    "end": Case(begin_session, lambda ana, known: sessions_of(ana).end_session(known)),
}


async def see(ana: Scope) -> object:
    """How much of everything there is, without ids and times."""
    state = await exchange.get_state(ana)
    contexts = await ana.team.list_own_contexts()
    found = [
        [(context.revoked_at is None, context.superseded_by is None) for context in contexts],
        [(each.developer.handle, list(each.paths)) for each in await ana.team.list_claims()],
        sorted(handoff.status for handoff in state.handoffs),
        (await ana.team.get_me()).visibility,
    ]
    for session in await sessions_of(ana).list_sessions():
        pad = (await sessions_of(ana).get_state(session.id)).scratchpad
        files = await sessions_of(ana).get_relevant_context(session.id, "files")
        events = [event.content async for event in sessions_of(ana).read_events(session.id)]
        found.append([session.ended_at is None, pad, files, events])
    return found


async def run_undisturbed(url: str, case: Case) -> object:
    async with holdfast.open_database(url) as database:
        ana, bo = scopes(database, "undisturbed")
        known = await case.prepare(ana, bo)
        await case.do(ana, known)
        return await see(ana)


def scopes(database: Any, workspace: str) -> list[Scope]:
    return [Scope(database, owner_of(workspace, handle)) for handle in ("ana", "bo")]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("before", [True, False], ids=["not asked", "not answered"])
async def test_a_server_that_fails_during_a_verb_leaves_it_done_once(
    name: str, before: bool, postgres_url: str, scale: Callable[[int], int]
) -> None:
    """R30: every step in the soak, every third one in the gate."""
    case, expected = CASES[name], await run_undisturbed(postgres_url, CASES[name])
    every = max(1, 4 - scale(3))
    step, tried, told = random.randint(1, every), 0, 0
    while step < MOST_STEPS:
        server = FailingServer(postgres_url, before=before)
        async with server.listening() as failing, open_both(failing, postgres_url) as database:
            ana, bo = scopes(database, f"step-{step}")
            known = await case.prepare(ana, bo)
            server.fails_at = step
            try:
                await case.do(ana, known)
            except StoreUnreachableError:
                told += 1
                await case.do(ana, known)
            if not server.is_gone:
                break
            assert await see(ana) == expected, step
        tried += 1
        step += every
    assert step < MOST_STEPS
    print(f"{name}: failed at {tried} steps, {told} times the caller was told")


@pytest.mark.parametrize("before", [True, False], ids=["not asked", "not answered"])
async def test_a_request_without_a_key_is_never_done_twice(before: bool, postgres_url: str) -> None:
    """R30: where nobody knows whether it was done, it is not repeated for the caller."""
    done, step = [], 0
    is_gone = True
    while is_gone:
        step += 1
        server = FailingServer(postgres_url, before=before)
        async with server.listening() as failing, open_both(failing, postgres_url) as database:
            ana, _ = scopes(database, f"step-{step}")
            server.fails_at = step
            with suppress(StoreUnreachableError):
                await exchange.publish_context(ana, CONTEXT)
            is_gone = server.is_gone
            done.append(len(await ana.team.list_own_contexts()))

    assert set(done) <= {0, 1}
    assert done.count(0) <= 1


@pytest.mark.parametrize("name", ["publish", "append one"])
async def test_a_server_that_is_cut_off_during_a_verb_is_left(
    name: str, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R30: it is neither waited for nor asked to cancel, because it would not hear that."""
    monkeypatch.setattr(postgres, "STATEMENT_SECONDS", 1.0)
    case, expected = CASES[name], await run_undisturbed(postgres_url, CASES[name])
    server = SilentServer(postgres_url, before=False)
    async with server.listening() as failing, open_both(failing, postgres_url) as database:
        ana, bo = scopes(database, "cut-off")
        known = await case.prepare(ana, bo)
        server.fails_at = 1
        async with asyncio.timeout(PATIENCE_SECONDS):
            await case.do(ana, known)
            assert await see(ana) == expected
    assert server.is_gone


def open_both(failing: str, url: str) -> Any:
    """The one that fails is asked first."""
    login, _, rest = url.rpartition("@")
    server, _, database = rest.partition("/")
    host = failing.rpartition("@")[2].partition("/")[0]
    return holdfast.open_database(f"{login}@{host},{server}/{database}?sslmode=disable")
