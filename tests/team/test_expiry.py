"""When a context, a claim and an offer end: by the clock of the store, at the microsecond (R17)."""

from datetime import timedelta
from typing import Any

import pytest

from holdfast.errors import HoldfastError
from holdfast.ground.settings import owner_of
from holdfast.scope import Scope
from holdfast.team.service import TeamService
from tests.team.ending import end_all

pytestmark = pytest.mark.own_database


@pytest.fixture
def ana(database: Any) -> TeamService:
    return Scope(database, owner_of("local", "dev-a")).team


@pytest.fixture
def bo(database: Any) -> TeamService:
    return Scope(database, owner_of("local", "dev-b")).team


async def publish_all(ana: TeamService, bo: TeamService) -> str:
    await bo.enter()
    await ana.publish_context(title="t", summary="s", repo="r")
    claim = await ana.claim(["a.py"], "work", repo="r")
    offered = await ana.handoff(claim.id, to="dev-b")
    return offered.id


async def count_seen(team: TeamService) -> tuple[int, int, int]:
    state = await team.get_state()
    return len(state.published_contexts), len(state.claims), len(state.handoffs)


@pytest.mark.parametrize("seconds", [-0.000001, -3600, -86400 * 400])
async def test_what_has_ended_is_gone_from_every_read_and_stays_for_its_owner(
    request: pytest.FixtureRequest, database: Any, ana: TeamService, bo: TeamService, seconds: float
):
    handoff_id = await publish_all(ana, bo)
    assert await count_seen(bo) == (1, 1, 1)

    await end_all(request, database.engine, seconds)

    assert await count_seen(bo) == await count_seen(ana) == (0, 0, 0)
    assert await bo.get_contexts("dev-a") == []
    assert len(await ana.list_own_contexts()) == 1
    assert (await ana.get_handoff(handoff_id)).status == "expired"
    assert (await ana.get_handoff(handoff_id)).context is None


async def test_what_has_not_ended_is_seen(
    request: pytest.FixtureRequest, database: Any, ana: TeamService, bo: TeamService
):
    await publish_all(ana, bo)

    await end_all(request, database.engine, 3600)

    assert await count_seen(bo) == (1, 1, 1)


async def test_an_expired_context_is_superseded_and_an_expired_offer_made_anew(
    request: pytest.FixtureRequest, database: Any, ana: TeamService, bo: TeamService
):
    await publish_all(ana, bo)
    await end_all(request, database.engine, -1)

    renewed = await ana.publish_context(title="again", summary="s", repo="r")

    [newest, old] = await ana.list_own_contexts()
    assert (newest.id, old.superseded_by) == (renewed.id, renewed.id)
    assert [context.title for context in await bo.get_contexts()] == ["again"]


async def test_an_offer_that_has_ended_cannot_be_accepted(
    request: pytest.FixtureRequest, database: Any, ana: TeamService, bo: TeamService
):
    handoff_id = await publish_all(ana, bo)
    await end_all(request, database.engine, -1)

    with pytest.raises(HoldfastError, match="expired"):
        await bo.accept(handoff_id)


@pytest.mark.parametrize("ttl_hours", [1, 24, 168])
async def test_a_context_lasts_exactly_as_long_as_it_says(ana: TeamService, ttl_hours: int):
    """Whatever a change to summer time does in between: times are in UTC."""
    published = await ana.publish_context(title="t", summary="s", ttl_hours=ttl_hours)

    assert published.expires_at - published.published_at == timedelta(hours=ttl_hours)
