"""Every call of the exchange is counted once: reads, refused ones and repeated ones too (T6)."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from holdfast.errors import HoldfastError, KeyReusedError
from holdfast.ground import ids
from holdfast.scope import Scope
from holdfast.storage.postgres import PostgresDatabase
from holdfast.usecases import exchange
from holdfast.write import count_call
from tests.team.conftest import ScopeOf

WORK = {"title": "Webhook retry", "summary": "Retries eight times, then gives up."}


async def list_calls(scope: Scope) -> list[tuple[str, str]]:
    """Of this developer, sorted: two calls of one millisecond have no order in the audit."""
    usage = await scope.team.list_usage(1000)
    own = scope.owner.developer_id
    return sorted((each.operation, each.outcome) for each in usage if each.developer_id == own)


async def claim_one(scope: Scope) -> str:
    claimed = await scope.team.claim(["src/a.py"], "the schedule")
    return claimed.id


async def test_every_call_is_counted_under_its_name(scope_of: ScopeOf):
    ana, bo = scope_of("dev-a"), scope_of("dev-b")
    await bo.team.enter()
    published = await exchange.publish_context(ana, WORK)
    await exchange.get_contexts(ana)
    await exchange.get_contexts(ana, "dev-b")
    await exchange.get_state(ana)
    await exchange.revoke_context(ana, published.result.id)
    claim = await exchange.claim(ana, {"paths": ["src/a.py"], "reason": "work"})
    offered = await exchange.handoff(ana, {"claim_id": claim.result.id, "to": "dev-b"})
    await exchange.answer_handoff(ana, "cancel", offered.result.id)
    again = await exchange.handoff(ana, {"claim_id": claim.result.id, "to": "dev-b"})
    await exchange.answer_handoff(bo, "accept", again.result.id)
    await exchange.answer_handoff(bo, "complete", again.result.id)
    await exchange.release(ana, await claim_one(ana))
    await exchange.set_visibility(ana, "private")

    assert await list_calls(ana) == [
        ("covibe_coordination.cancel", "ok"),
        ("covibe_coordination.claim", "ok"),
        ("covibe_coordination.handoff", "ok"),
        ("covibe_coordination.handoff", "ok"),
        ("covibe_coordination.release", "ok"),
        ("covibe_session.get_context", "ok"),
        ("covibe_session.get_context", "ok"),
        ("covibe_session.publish_context", "ok"),
        ("covibe_session.revoke_context", "ok"),
        ("covibe_team.state", "ok"),
        ("covibe_team.visibility", "ok"),
    ]
    assert await list_calls(bo) == [
        ("covibe_coordination.accept", "ok"),
        ("covibe_coordination.complete", "ok"),
    ]


Call = Callable[[Scope], Awaitable[Any]]
REFUSED: dict[str, tuple[Call, str, str]] = {
    "publish": (
        lambda scope: exchange.publish_context(scope, {**WORK, "ttl_hours": 0}),
        "covibe_session.publish_context",
        "invalid_field",
    ),
    "get": (
        lambda scope: exchange.get_contexts(scope, "dev-z"),
        "covibe_session.get_context",
        "developer_not_found",
    ),
    "revoke": (
        lambda scope: exchange.revoke_context(scope, ids.new_id()),
        "covibe_session.revoke_context",
        "context_not_found",
    ),
    "claim": (
        lambda scope: exchange.claim(scope, {"paths": [], "reason": "work"}),
        "covibe_coordination.claim",
        "invalid_field",
    ),
    "release": (
        lambda scope: exchange.release(scope, ids.new_id()),
        "covibe_coordination.release",
        "claim_not_found",
    ),
    "handoff": (
        lambda scope: exchange.handoff(scope, {"claim_id": ids.new_id()}),
        "covibe_coordination.handoff",
        "claim_not_found",
    ),
    "accept": (
        lambda scope: exchange.answer_handoff(scope, "accept", ids.new_id()),
        "covibe_coordination.accept",
        "handoff_not_found",
    ),
    "visibility": (
        lambda scope: exchange.set_visibility(scope, "hidden"),
        "covibe_team.visibility",
        "invalid_value",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
async def test_a_refused_call_is_counted_and_changes_nothing(scope_of: ScopeOf, name: str):
    call, operation, outcome = REFUSED[name]
    ana = scope_of("dev-a")
    await ana.team.enter()
    before = await ana.team.get_state()

    with pytest.raises(HoldfastError):
        await call(ana)

    assert await list_calls(ana) == [(operation, outcome)]
    assert await ana.team.get_state() == before


async def test_a_repeated_request_has_one_effect_and_is_counted_again(scope_of: ScopeOf):
    ana = scope_of("dev-a")
    first = await exchange.publish_context(ana, WORK, "key-1")

    second = await exchange.publish_context(ana, WORK, "key-1")

    assert (first.is_first, second.is_first) == (True, False)
    assert second.result == first.result
    assert len(await ana.team.list_own_contexts()) == 1
    assert [outcome for _, outcome in await list_calls(ana)] == ["ok", "repeated"]


async def test_a_key_with_another_body_is_refused_and_counted(scope_of: ScopeOf):
    ana = scope_of("dev-a")
    await exchange.publish_context(ana, WORK, "key-1")

    with pytest.raises(KeyReusedError):
        await exchange.publish_context(ana, {**WORK, "title": "Other"}, "key-1")

    assert [outcome for _, outcome in await list_calls(ana)] == ["idempotency_key_reused", "ok"]


async def test_the_key_of_another_developer_means_nothing(scope_of: ScopeOf):
    ana, bo = scope_of("dev-a"), scope_of("dev-b")
    first = await exchange.publish_context(ana, WORK, "key-1")

    second = await exchange.publish_context(bo, WORK, "key-1")

    assert second.is_first
    assert second.result.id != first.result.id


async def test_the_count_says_nothing_of_what_was_said(scope_of: ScopeOf):
    ana = scope_of("dev-a")
    await exchange.publish_context(ana, WORK)

    [usage] = await ana.team.list_usage(10)

    assert set(usage.to_dict()) == {
        "developer_id",
        "handle",
        "operation",
        "outcome",
        "created_at",
    }
    assert "Webhook" not in str(usage)


async def test_a_developer_s_calls_are_hidden_from_others_on_postgres(scope_of: ScopeOf):
    """On SQLite the person who owns the file reads all; only the audit shows them."""
    ana, bo = scope_of("dev-a"), scope_of("dev-b")
    await exchange.get_state(ana)

    seen = await bo.team.list_usage(10)

    is_postgres = isinstance(bo.database, PostgresDatabase)
    assert len(seen) == (0 if is_postgres else 1)


async def test_a_call_that_a_door_refused_is_counted_too(scope_of: ScopeOf):
    ana = scope_of("dev-a")

    await count_call(ana, "covibe_session.unknown", "invalid_value")

    assert await list_calls(ana) == [("covibe_session.unknown", "invalid_value")]
