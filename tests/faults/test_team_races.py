"""Many processes at one exchange: R8, R11, R17 and R18, and who gets a handoff; on both engines."""

from collections.abc import Callable, Sequence
from datetime import timedelta

import pytest

from holdfast.ground import clock
from holdfast.team.model import PublishedContext
from holdfast.team.service import TeamService
from tests.faults import team_writers
from tests.faults.team_writers import KEYS, with_team
from tests.rig.nursery import Nursery, hear_as_it_comes, hear_from_all, say_to_all

pytestmark = pytest.mark.own_database

Scale = Callable[[int], int]


def read_all(url: str, handle: str) -> list[PublishedContext]:
    """All that a developer ever published, newest first."""

    async def work(team: TeamService) -> list[PublishedContext]:
        found: list[PublishedContext] = []
        while page := await team.list_own_contexts(found[-1].id if found else None):
            found += page
        return found

    return with_team(url, handle, work)


def check_chains(contexts: Sequence[PublishedContext]) -> dict[str, int]:
    """How many are active in each place. Each that was superseded leads to the newest of its place,
    without a circle.
    """
    by_id = {context.id: context for context in contexts}
    active: dict[str, int] = {}
    for context in contexts:
        seen = set()
        last = context
        while last.superseded_by is not None:
            assert last.id not in seen
            seen.add(last.id)
            after = by_id[last.superseded_by]
            assert (after.repo, after.branch) == (last.repo, last.branch)
            last = after
        place = f"{context.repo} {context.branch}"
        is_active = context.superseded_by is None and context.revoked_at is None
        active[place] = active.get(place, 0) + is_active
    return active


def test_of_two_publications_at_once_exactly_one_stays_active(
    nursery: Nursery, database_url: str, scale: Scale
) -> None:
    """R8: two processes of one developer, 1,000 rounds, no error."""
    rounds = scale(1000)
    children = [
        nursery.start(team_writers.publish_in_turns, database_url, "dev-a", name, rounds)
        for name in ("x", "y")
    ]
    assert hear_from_all(children) == ["open"] * 2
    acked = set()
    for _ in range(rounds):
        say_to_all(children)
        acked |= set(hear_from_all(children))

    assert [child.wait() for child in children] == [0, 0]
    contexts = read_all(database_url, "dev-a")
    assert {context.id for context in contexts} == acked
    assert len(acked) == 2 * rounds
    assert check_chains(contexts) == {"r b": 1}


def test_eight_writers_leave_one_active_context_in_each_place(
    nursery: Nursery, database_url: str, scale: Scale
) -> None:
    """R8: 8 processes × 250 publications in six spellings of five places, three of ten revoked."""
    count = scale(250)
    children = [
        nursery.start(team_writers.publish_and_revoke, database_url, "dev-a", seed, count)
        for seed in range(8)
    ]
    assert hear_from_all(children) == ["open"] * 8
    say_to_all(children)
    acked = dict(value for _, value in hear_as_it_comes(children))

    assert [child.wait() for child in children] == [0] * 8
    contexts = read_all(database_url, "dev-a")
    assert {context.id for context in contexts} == set(acked)
    assert all(context.revoked_at for context in contexts if acked[context.id])
    active = check_chains(contexts)
    assert len(active) == KEYS
    assert set(active.values()) <= {0, 1}


def test_a_read_that_begins_after_a_revoke_never_returns_the_context(
    nursery: Nursery, database_url: str, scale: Scale
) -> None:
    """R18: also not in a handoff; after a switch to private neither; 1,000 rounds."""
    rounds = scale(1000)
    reader = nursery.start(team_writers.read_when_told, database_url, "dev-b")
    assert reader.hear() == "open"

    async def work(team: TeamService) -> None:
        claim = await team.claim(["src/a.py"], "work")
        await team.handoff(claim.id)
        for number in range(rounds):
            context = await team.publish_context(title="t", summary="s")
            reader.say("read")
            assert context.id in reader.hear()
            await _take_back(team, context, number)
            reader.say("read")
            assert context.id not in reader.hear(), number
            await team.set_visibility("public")

    with_team(database_url, "dev-a", work)
    reader.say(None)
    assert reader.wait() == 0


async def _take_back(team: TeamService, context: PublishedContext, number: int) -> None:
    if number % 3 == 0:
        await team.revoke_context(context.id)
    elif number % 3 == 1:
        await team.publish_context(title="newer", summary="s")
    else:
        await team.set_visibility("private")


def test_an_offer_to_the_team_is_accepted_once(
    nursery: Nursery, database_url: str, scale: Scale
) -> None:
    """T8: five developers reach for each of 200 offers; one gets it, and with it the claim."""
    handles = [f"dev-{letter}" for letter in "bcdef"]
    children = [
        nursery.start(team_writers.accept_when_told, database_url, handle) for handle in handles
    ]
    assert hear_from_all(children) == ["open"] * len(children)
    rounds = scale(200)

    async def work(team: TeamService) -> None:
        for _ in range(rounds):
            claim = await team.claim(["src/a.py"], "work")
            offered = await team.handoff(claim.id)
            say_to_all(children, offered.id)
            answers = hear_from_all(children)
            assert answers.count("accepted") == 1, answers
            assert set(answers) <= {"accepted", "handoff_not_found", "handoff_state"}
            assert (await team.get_own_claim(claim.id)).released_at is not None
        claims = await team.list_claims()
        assert len(claims) == rounds
        assert "dev-a" not in {claim.developer.handle for claim in claims}

    with_team(database_url, "dev-a", work)
    say_to_all(children, None)
    assert [child.wait() for child in children] == [0] * len(children)


def test_a_request_that_is_sent_twice_has_one_effect(
    nursery: Nursery, database_url: str, scale: Scale
) -> None:
    """R11: 500 requests, each from two processes at once; both get the same context."""
    keys = scale(500)
    children = [
        nursery.start(team_writers.publish_with_keys, database_url, "dev-a", keys) for _ in range(2)
    ]
    assert hear_from_all(children) == ["open"] * 2
    say_to_all(children)
    heard = [value for _, value in hear_as_it_comes(children)]

    assert [child.wait() for child in children] == [0, 0]
    stored = read_all(database_url, "dev-a")
    assert len(stored) == keys
    assert {context_id for context_id, _ in heard} == {context.id for context in stored}
    assert sum(is_first for _, is_first in heard) == keys


@pytest.mark.parametrize("hours", [-48, -1, 1, 48])
def test_a_program_with_a_wrong_clock_changes_no_end_on_postgres(
    nursery: Nursery, postgres_url: str, hours: int
):
    """R17: the clock of the database decides alone."""
    child = nursery.start(team_writers.publish_with_wrong_clock, postgres_url, hours)
    published_at, expires_at, seen = child.hear()
    assert child.wait() == 0

    async def read(team: TeamService) -> list[str]:
        return [context.id for context in await team.get_contexts()]

    assert with_team(postgres_url, "dev-b", read) == seen
    assert len(seen) == 1
    lasts = clock.from_text(expires_at) - clock.from_text(published_at)
    assert lasts == timedelta(hours=1)
    assert abs(clock.from_text(published_at) - clock.now()) < timedelta(minutes=30)
