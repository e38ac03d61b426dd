"""The verbs of the exchange, on both engines: what each changes, and who may see it."""

from typing import Any

import pytest

from holdfast.errors import Action, HoldfastError, NotFound
from holdfast.ground import ids
from holdfast.ground.settings import owner_of
from holdfast.scope import Scope
from holdfast.team.errors import (
    ClaimEndedError,
    ClaimNotFoundError,
    ContextNotFoundError,
    DeveloperNotFoundError,
    HandoffNotFoundError,
    HandoffOpenError,
    HandoffStateError,
    HandoffToSelfError,
    PrivateDeveloperError,
)
from holdfast.team.model import Handoff, PublishedContext, Reservation, WorkEvent
from holdfast.team.service import LISTED, TeamService
from holdfast.usecases import exchange
from tests.team.conftest import ScopeOf

WORK = {"title": "Webhook retry", "summary": "Retries eight times, then gives up."}


async def publish(team: TeamService, **fields: Any) -> PublishedContext:
    return await team.publish_context(**{**WORK, **fields})


async def claim(team: TeamService, *paths: str, **fields: Any) -> Reservation:
    return await team.claim(paths or ("src/a.py",), "the retry schedule", **fields)


async def titles(team: TeamService) -> list[str]:
    return [context.title for context in await team.get_contexts()]


@pytest.fixture
async def ana(scope_of: ScopeOf) -> TeamService:
    team = scope_of("dev-a").team
    await team.enter()
    return team


@pytest.fixture
async def bo(scope_of: ScopeOf) -> TeamService:
    team = scope_of("dev-b").team
    await team.enter()
    return team


@pytest.fixture
async def cy(scope_of: ScopeOf) -> TeamService:
    team = scope_of("dev-c").team
    await team.enter()
    return team


# --- published contexts ---------------------------------------------------------------------------


async def test_a_published_context_is_read_whole_by_another_developer(ana, bo):
    session_id = ids.new_id()
    published = await publish(
        ana,
        files_touched=["src/retry.py", "tests/test_retry.py"],
        next_actions=["409 counts as success"],
        blockers=["the sandbox key"],
        task_ids=["PAY-7"],
        repo="acme/payouts",
        branch="feat/retry",
        session_id=session_id,
        ttl_hours=168,
    )

    [found] = await bo.get_contexts("dev-a")

    assert found == published
    assert found.developer.handle == "dev-a"
    assert found.session_id == session_id
    assert (found.repo, found.branch) == ("acme/payouts", "feat/retry")
    assert (found.expires_at - found.published_at).total_seconds() == 168 * 3600


async def test_a_context_ends_after_a_day_unless_it_says_otherwise(ana):
    published = await publish(ana)

    assert (published.expires_at - published.published_at).total_seconds() == 24 * 3600


async def test_publishing_again_supersedes_what_was_active_for_the_same_place(ana, bo):
    first = await publish(ana, repo="r", branch="b", title="first")
    second = await publish(ana, repo="r", branch="b", title="second")

    assert await titles(bo) == ["second"]
    assert (await ana.get_own_context(first.id)).superseded_by == second.id
    assert (await ana.get_own_context(second.id)).superseded_by is None


@pytest.mark.parametrize(
    "other",
    [
        {"repo": "r", "branch": "other"},
        {"repo": "other", "branch": "b"},
        {"repo": "r"},
        {"branch": "b"},
        {},
        {"repo": "r", "branch": "B"},
    ],
)
async def test_contexts_of_different_places_stand_beside_each_other(ana, bo, other):
    await publish(ana, repo="r", branch="b", title="here")
    await publish(ana, **other, title="there")

    assert await titles(bo) == ["there", "here"]


async def test_no_branch_is_one_place_however_it_is_said(ana, bo):
    await publish(ana, title="none")
    await publish(ana, repo="", branch="", title="empty")
    await publish(ana, repo=None, branch=None, title="null")

    assert await titles(bo) == ["null"]


async def test_two_developers_never_supersede_each_other(ana, bo):
    await publish(ana, title="of ana")
    await publish(bo, title="of bo")

    assert await titles(ana) == ["of bo", "of ana"]


async def test_a_revoked_context_is_gone_for_everyone_and_kept_for_its_owner(ana, bo):
    published = await publish(ana)

    revoked = await ana.revoke_context(published.id)

    assert revoked.revoked_at is not None
    assert await bo.get_contexts() == await bo.get_contexts("dev-a") == []
    assert await ana.get_contexts() == []
    assert [context.id for context in await ana.list_own_contexts()] == [published.id]


async def test_a_second_revoke_changes_nothing(ana):
    published = await publish(ana)
    first = await ana.revoke_context(published.id)

    assert await ana.revoke_context(published.id) == first
    assert [event.type for event in (await ana.get_state()).work_events] == [
        "session.context_revoked",
        "session.context_published",
    ]


async def test_a_revoked_context_does_not_bring_back_what_it_superseded(ana, bo):
    await publish(ana, title="first")
    second = await publish(ana, title="second")

    await ana.revoke_context(second.id)

    assert await titles(bo) == []


async def test_one_s_own_history_comes_in_pages_newest_first(ana):
    published = [(await publish(ana, title=str(number))).id for number in range(5)]

    first = await ana.list_own_contexts(limit=2)
    rest = await ana.list_own_contexts(below=first[-1].id, limit=10)

    assert [context.id for context in (*first, *rest)] == published[::-1]


@pytest.mark.parametrize("wanted", ["dev-a", " DEV-A ", "id"])
async def test_a_developer_is_named_by_handle_or_id(ana, bo, wanted):
    published = await publish(ana)
    who = published.developer.id if wanted == "id" else wanted

    assert [context.id for context in await bo.get_contexts(who)] == [published.id]


async def test_a_developer_without_a_context_has_none(ana, bo):
    assert await bo.get_contexts("dev-a") == []


# --- private developers ---------------------------------------------------------------------------


async def see_everything(team: TeamService) -> dict[str, Any]:
    """Whatever one developer may read, as values to compare."""
    state = await team.get_state()
    return {
        "developers": [person.handle for person in state.developers],
        "contexts": [context.id for context in state.published_contexts],
        "claims": [reservation.id for reservation in state.claims],
        "handoffs": [handoff.id for handoff in state.handoffs],
        "events": [(event.type, event.subject) for event in state.work_events],
        "listed": [context.id for context in await team.get_contexts()],
        "stream": await team.store.list_events_after(0, 0, 1000),
        "end": await team.store.read_end(),
    }


async def test_a_private_developer_leaves_nothing_for_others_to_see(ana, bo):
    before = await see_everything(bo)
    await ana.set_visibility("private")
    published = await publish(ana, repo="r")
    own = await claim(ana, "src/**", repo="r")
    await ana.show_presence(ids.new_id(), ["src/x.py"], repo="r")
    await ana.revoke_context((await publish(ana, repo="other")).id)

    after = await see_everything(bo)

    for part in ("contexts", "claims", "handoffs", "events", "listed", "stream", "end"):
        assert after[part] == before[part], part
    assert after["developers"] == ["dev-b"]
    assert [context.id for context in await ana.get_contexts()] == [published.id]
    assert own.id in [reservation.id for reservation in await ana.list_claims()]


async def test_a_switch_to_private_takes_back_what_was_seen_before(ana, bo):
    await publish(ana)
    own = await claim(ana)
    await ana.handoff(own.id, to="dev-b")
    await ana.set_visibility("private")

    after = await see_everything(bo)

    assert {name: len(part) for name, part in after.items() if name != "end"} == {
        "developers": 1,
        "contexts": 0,
        "claims": 0,
        "handoffs": 0,
        "events": 0,
        "listed": 0,
        "stream": 0,
    }
    await ana.set_visibility("public")
    assert len(await bo.get_contexts()) == len((await bo.get_state()).handoffs) == 1


async def test_a_private_developer_sees_the_team(ana, bo):
    await publish(bo)
    await ana.set_visibility("private")

    assert await titles(ana) == ["Webhook retry"]


async def refusal(coroutine: Any) -> tuple[Any, ...]:
    with pytest.raises(HoldfastError) as caught:
        await coroutine
    error = caught.value
    return type(error), error.code, error.next_actions, error.message


async def test_asking_for_a_private_developer_is_asking_for_one_who_does_not_exist(ana, bo):
    published = await publish(ana)
    await ana.set_visibility("private")
    own = await claim(bo)
    nobody = owner_of("elsewhere", "nobody").developer_id
    for private, unknown in (("dev-a", "dev-z"), (published.developer.id, nobody)):
        for ask in (
            lambda who: bo.get_contexts(who),
            lambda who: bo.handoff(own.id, to=who),
        ):
            kind, code, actions, message = await refusal(ask(private))
            assert (kind, code) == (DeveloperNotFoundError, "developer_not_found")
            assert await refusal(ask(unknown)) == (
                kind,
                code,
                actions,
                message.replace(private, unknown),
            )
    assert await refusal(bo.revoke_context(published.id)) == (
        *(await refusal(bo.revoke_context(nobody)))[:3],
        str(ContextNotFoundError(published.id)),
    )


@pytest.mark.parametrize("wrong", ["Private", "", None, 1, "hidden", ["private"]])
async def test_a_visibility_is_public_or_private(ana, wrong):
    with pytest.raises(HoldfastError, match="visibility"):
        await ana.set_visibility(wrong)


async def test_choosing_the_same_visibility_again_changes_nothing(ana):
    await ana.set_visibility("private")
    before = await ana.store.read_end()

    await ana.set_visibility("private")

    assert await ana.store.read_end() == before


async def test_a_developer_may_be_private_from_the_first_moment(scope_of, bo):
    hidden = scope_of("dev-h").team

    await hidden.set_visibility("private")
    await publish(hidden)

    assert [person.handle for person in (await bo.get_state()).developers] == ["dev-b"]


async def test_only_reading_makes_nobody_known(scope_of, bo):
    reader = scope_of("dev-r").team

    await reader.get_state()
    await reader.get_contexts()

    assert [person.handle for person in (await bo.get_state()).developers] == ["dev-b"]


# --- reservations ---------------------------------------------------------------------------------


async def test_a_claim_is_seen_by_others_until_it_is_released(ana, bo):
    own = await claim(ana, "migrations/**", "src/a.py", repo="r", branch="b", ttl_minutes=5)

    assert await bo.list_claims() == [own]
    assert (own.expires_at - own.reserved_at).total_seconds() == 300
    released = await ana.release(own.id)
    assert released.released_at is not None
    assert await bo.list_claims() == []
    assert await ana.release(own.id) == released


async def test_two_developers_may_claim_the_same_path(ana, bo):
    first, second = await claim(ana), await claim(bo)

    assert [reservation.id for reservation in await ana.list_claims()] == [second.id, first.id]


async def test_a_claim_of_another_developer_cannot_be_released(ana, bo):
    own = await claim(ana)

    with pytest.raises(ClaimNotFoundError):
        await bo.release(own.id)
    assert len(await bo.list_claims()) == 1


async def test_the_claims_of_a_session_end_with_it(scope_of, ana, bo):
    scope = scope_of("dev-a")
    session = await scope.sessions.create_session("architect", "u1")
    await claim(ana, "a", session_id=session.id)
    kept = await claim(ana, "b")
    await ana.show_presence(session.id, ["c.py"])
    assert len(await bo.list_claims()) == 3

    await scope.sessions.end_session(session.id)

    assert [reservation.id for reservation in await bo.list_claims()] == [kept.id]
    newest, *_ = (await bo.get_state()).work_events
    assert newest.type == "coordination.released"


async def test_what_a_live_session_has_not_committed_is_a_soft_claim(ana, bo):
    session_id = ids.new_id()
    await ana.show_presence(session_id, ["a.py"], client="claude", repo="r", branch="b")
    await ana.show_presence(session_id, ["a.py", "b.py"], client="claude", repo="r", branch="b2")

    [soft] = await bo.list_claims()

    assert (soft.is_soft, soft.paths, soft.branch, soft.reason) == (
        True,
        ("a.py", "b.py"),
        "b2",
        "",
    )
    person = next(p for p in (await bo.get_state()).developers if p.handle == "dev-a")
    assert (person.is_live, person.repo, person.branch) == (True, "r", "b2")
    await ana.end_presence(session_id)
    assert await bo.list_claims() == []


async def test_who_leaves_is_not_shown_any_more_and_keeps_what_was_reserved(ana, bo):
    own = await claim(ana, "docs", session_id=ids.new_id())
    for developer in (ana, bo):
        await developer.show_presence(ids.new_id(), ["src/a.py"], repo="r", branch="b")
        await developer.show_presence(ids.new_id(), [], repo="r", branch="b")

    await ana.leave()

    claims = await bo.list_claims()
    assert [(each.developer.handle, each.is_soft) for each in claims] == [
        ("dev-a", False),
        ("dev-b", True),
    ]
    assert claims[0].id == own.id
    people = (await bo.get_state()).developers
    assert {each.handle: (each.is_live, each.branch) for each in people} == {
        "dev-a": (False, None),
        "dev-b": (True, "b"),
    }


async def test_claims_of_a_repository_are_found_whatever_else_is_active(scope_of, ana, bo, cy):
    session_id = ids.new_id()
    own = await claim(bo, repo="github.com/acme/payouts")
    short = await claim(bo, repo="Acme/Payouts")
    nowhere = await claim(bo)
    await bo.show_presence(session_id, ["a.py"], repo="github.com/acme/payouts", branch="b")
    for number in range(LISTED):
        await claim(cy, repo=f"acme/other-{number % 2}")

    near = await ana.list_claims_near("acme/payouts")

    assert [each.id for each in near] == [short.id, own.id, session_id]
    assert [each.id for each in await ana.list_claims_near(None)] == [nowhere.id]
    assert await ana.list_claims_near("acme/unknown") == []
    mine = await bo.store.list_own_reservations()
    assert [each.id for each in mine] == [nowhere.id, short.id, own.id, session_id]
    part = await exchange.count_own_part(scope_of("dev-b"))
    assert (part.claims, part.handoffs) == (3, 0)


async def test_what_is_not_committed_is_near_beside_any_number_of_older_claims(ana, bo, cy):
    for _ in range(LISTED):
        await claim(cy, repo="acme/payouts")
    await bo.show_presence(ids.new_id(), ["a.py"], repo="acme/payouts")

    near = await ana.list_claims_near("acme/payouts")

    assert [each.is_soft for each in near] == [*[False] * LISTED, True]


async def test_claims_of_a_private_developer_are_near_nobody(ana, bo):
    await claim(bo, repo="acme/payouts")
    await publish(bo, repo="acme/payouts")
    await bo.set_visibility("private")

    assert await ana.list_claims_near("acme/payouts") == []
    assert await ana.store.list_publishers() == []
    assert await ana.store.list_active_contexts(LISTED, repos=["acme/payouts"]) == []
    assert len(await bo.list_claims_near("acme/payouts")) == 1


async def test_contexts_of_a_repository_are_listed_by_its_names(ana, bo):
    for repo in ("payouts", "acme/payouts", "acme/other", None):
        await publish(ana, repo=repo, title=str(repo))

    found = await bo.store.list_active_contexts(LISTED, repos=["payouts", "acme/payouts"])

    assert [each.title for each in found] == ["acme/payouts", "payouts"]
    me = (await ana.get_me()).id
    assert sorted(await bo.store.list_publishers(), key=str) == [
        (me, "acme/other"),
        (me, "acme/payouts"),
        (me, "payouts"),
        (me, None),
    ]


SECRETS = ("AKIAIOSFODNN7EXAMPLE", f"ghp_{'a1B2' * 9}")


@pytest.mark.parametrize("secret", SECRETS)
async def test_names_that_look_like_secrets_are_not_shown(ana, bo, secret):
    hidden = [
        f"{secret}.txt",
        f"docs/{secret}/a.md",
        "a\nb.py",
        "a\x1b[0m.py",
        "\u202ea.py",
        "../a",
    ]

    await ana.show_presence(
        ids.new_id(), ["a.py", *hidden, "docs/b.md"], repo="acme/payouts", branch=f"feat/{secret}"
    )

    [soft] = await bo.list_claims()
    assert (soft.paths, soft.repo, soft.branch) == (("a.py", "docs/b.md"), "acme/payouts", None)
    [person] = [each for each in (await bo.get_state()).developers if each.handle == "dev-a"]
    assert (person.is_live, person.branch) == (True, None)


async def test_a_session_with_no_name_that_can_be_shown_is_live_and_reserves_nothing(ana, bo):
    await ana.show_presence(ids.new_id(), [f"{SECRETS[0]}.txt"], repo=SECRETS[0], branch="main")

    assert await bo.list_claims() == []
    [person] = [each for each in (await bo.get_state()).developers if each.handle == "dev-a"]
    assert (person.is_live, person.repo, person.branch) == (True, None, "main")


async def test_a_session_that_is_gone_leaves_no_claim(ana, bo):
    session_id = ids.new_id()
    await claim(ana, session_id=session_id)

    await ana.end_presence(session_id)

    assert await bo.list_claims() == []


# --- handoffs -------------------------------------------------------------------------------------


async def test_an_accepted_handoff_makes_the_claim_the_recipient_s(ana, bo, cy):
    own = await claim(ana, "src/**", repo="r", branch="b")
    offered = await ana.handoff(own.id, to="dev-b", note="the schedule is done")

    accepted = await bo.accept(offered.id)

    assert (offered.status, accepted.status) == ("offered", "accepted")
    assert (accepted.giver.handle, accepted.to and accepted.to.handle) == ("dev-a", "dev-b")
    [taken] = await cy.list_claims()
    assert (taken.developer.handle, taken.paths) == ("dev-b", own.paths)
    assert (await ana.get_own_claim(own.id)).released_at is not None
    completed = await bo.complete(offered.id)
    assert completed.status == "completed"
    assert completed.completed_at is not None


async def test_a_claim_that_is_taken_over_has_no_words_of_its_giver(ana, bo, cy):
    own = await claim(ana, repo="r")
    offered = await ana.handoff(own.id, to="dev-b", note="the schedule is done")

    accepted = await bo.accept(offered.id)

    [taken] = await cy.list_claims()
    assert (taken.developer.handle, taken.reason) == ("dev-b", "")
    assert (accepted.reason, accepted.note) == (own.reason, "the schedule is done")


async def test_an_accepted_handoff_names_the_claim_that_its_recipient_holds(ana, bo):
    own = await claim(ana)
    offered = await ana.handoff(own.id, to="dev-b")

    accepted = await bo.accept(offered.id)

    [taken] = await bo.list_claims()
    assert offered.taken_claim_id is None
    assert accepted.taken_claim_id == taken.id != accepted.claim_id == own.id
    assert (await bo.get_state()).handoffs == [accepted]
    assert (await bo.release(taken.id)).released_at is not None


async def test_completing_a_handoff_releases_what_was_taken_over(ana, bo):
    kept = await claim(bo, "other.py")
    own = await claim(ana, repo="r", branch="b")
    accepted = await bo.accept((await ana.handoff(own.id, to="dev-b")).id)
    onward = await bo.handoff(accepted.taken_claim_id)

    completed = await bo.complete(accepted.id)

    assert completed.taken_claim_id == accepted.taken_claim_id
    assert await ana.list_claims() == [kept]
    assert (await ana.get_handoff(onward.id)).status == "cancelled"
    assert [
        (event.type, event.subject) for event in (await ana.get_state()).work_events[2::-1]
    ] == [
        ("coordination.released", accepted.taken_claim_id),
        ("coordination.handoff_cancelled", onward.id),
        ("coordination.handoff_completed", accepted.id),
    ]


async def test_completing_twice_releases_nothing_else(ana, bo):
    own = await claim(ana)
    accepted = await bo.accept((await ana.handoff(own.id, to="dev-b")).id)
    assert accepted.taken_claim_id is not None
    await bo.release(accepted.taken_claim_id)

    first = await bo.complete(accepted.id)
    again = await bo.complete(accepted.id)

    assert first == again
    types = [event.type for event in (await ana.get_state()).work_events]
    assert types.count("coordination.released") == 1


async def test_releasing_a_claim_withdraws_its_open_offer(ana, bo):
    own, other = await claim(ana), await claim(ana, "b")
    offered = await ana.handoff(own.id, to="dev-b")
    kept = await ana.handoff(other.id, to="dev-b")

    await ana.release(own.id)

    assert (await ana.get_handoff(offered.id)).status == "cancelled"
    assert [handoff.id for handoff in (await bo.get_state()).handoffs] == [kept.id]
    with pytest.raises(HandoffStateError, match="only an open offer"):
        await bo.accept(offered.id)
    newest = (await bo.get_state()).work_events[1::-1]
    assert [(event.type, event.subject) for event in newest] == [
        ("coordination.released", own.id),
        ("coordination.handoff_cancelled", offered.id),
    ]


async def test_another_s_release_withdraws_no_offer(ana, bo):
    own = await claim(ana)
    offered = await ana.handoff(own.id, to="dev-b")

    with pytest.raises(ClaimNotFoundError):
        await bo.release(own.id)

    assert (await bo.get_handoff(offered.id)).status == "offered"


async def test_the_offer_of_a_claim_that_ends_with_its_session_stays_open(scope_of, ana, bo):
    session = await scope_of("dev-a").sessions.create_session("architect", "u1")
    own = await claim(ana, session_id=session.id)
    offered = await ana.handoff(own.id, to="dev-b")

    await scope_of("dev-a").sessions.end_session(session.id)

    assert (await bo.accept(offered.id)).status == "accepted"


async def test_a_claim_that_was_taken_over_is_not_said_to_be_offered(ana, bo):
    own = await claim(ana)
    offered = await ana.handoff(own.id, to="dev-b")
    await bo.accept(offered.id)

    with pytest.raises(HandoffStateError, match=r"is accepted, and claim .* taken over") as error:
        await ana.handoff(own.id)
    assert [action.verb for action in error.value.next_actions] == ["team.state"]


async def test_a_handoff_carries_the_giver_s_context_for_the_claim_s_place(ana, bo):
    await publish(ana, repo="r", branch="b", title="the branch")
    await publish(ana, repo="r", branch="x", title="the repo")
    await publish(ana, repo="other", title="the newest")
    for place, title in (
        ({"repo": "r", "branch": "b"}, "the branch"),
        ({"repo": "r", "branch": "y"}, "the repo"),
        ({"repo": "elsewhere"}, "the newest"),
    ):
        own = await claim(ana, **place)
        offered = await ana.handoff(own.id, to="dev-b")
        assert offered.context is not None
        assert offered.context.title == title
        assert (await bo.get_handoff(offered.id)).context == offered.context


async def test_a_handoff_never_shows_a_context_that_is_not_active(ana, bo):
    published = await publish(ana, repo="r")
    own = await claim(ana, repo="r")
    offered = await ana.handoff(own.id, to="dev-b")
    renewed = await publish(ana, repo="r", title="renewed")

    now = await bo.get_handoff(offered.id)
    assert now.context is not None
    assert now.context.id == renewed.id != published.id
    await ana.revoke_context(renewed.id)
    assert (await bo.get_handoff(offered.id)).context is None


async def test_an_offer_to_the_team_goes_to_the_first_who_takes_it(ana, bo, cy):
    own = await claim(ana)
    offered = await ana.handoff(own.id)
    assert [handoff.id for handoff in (await cy.get_state()).handoffs] == [offered.id]

    await bo.accept(offered.id)

    with pytest.raises(HandoffNotFoundError):
        await cy.accept(offered.id)
    assert (await cy.get_state()).handoffs == []
    assert (await bo.accept(offered.id)).status == "accepted"  # again by the same: nothing happens
    assert len(await bo.list_claims()) == 1


async def test_nobody_else_sees_an_offer_to_one_developer(ana, bo, cy):
    own = await claim(ana)
    offered = await ana.handoff(own.id, to="dev-b")

    assert (await cy.get_state()).handoffs == []
    for verb in (cy.get_handoff, cy.accept, cy.decline, cy.complete, cy.cancel):
        with pytest.raises(HandoffNotFoundError):
            await verb(offered.id)


async def test_a_declined_or_cancelled_offer_leaves_the_claim_where_it_is(ana, bo):
    own = await claim(ana)
    declined = await ana.handoff(own.id, to="dev-b")
    assert (await bo.decline(declined.id)).status == "declined"
    cancelled = await ana.handoff(own.id, to="dev-b")
    assert (await ana.cancel(cancelled.id)).status == "cancelled"

    assert [reservation.id for reservation in await bo.list_claims()] == [own.id]
    for handoff in (declined, cancelled):
        with pytest.raises(HandoffStateError):
            await bo.accept(handoff.id)


async def test_a_claim_is_offered_once_at_a_time(ana, bo):
    own = await claim(ana)
    offered = await ana.handoff(own.id, to="dev-b")

    with pytest.raises(HandoffOpenError, match=offered.id):
        await ana.handoff(own.id)


async def test_a_newer_offer_takes_the_place_of_one_that_is_hidden(ana, bo, cy):
    own = await claim(ana)
    hidden = await ana.handoff(own.id, to="dev-b")
    await bo.set_visibility("private")
    offered = await ana.handoff(own.id, to="dev-c")
    seen = [(event.type, event.subject) for event in (await ana.get_state()).work_events]
    await bo.set_visibility("public")

    assert [handoff.id for handoff in (await ana.get_state()).handoffs] == [offered.id]
    assert (await bo.get_state()).handoffs == []
    with pytest.raises(HandoffStateError, match="is cancelled, and only an open offer"):
        await bo.accept(hidden.id)
    assert (await cy.accept(offered.id)).status == "accepted"
    assert "coordination.handoff_cancelled" not in dict(seen)


@pytest.mark.parametrize("step", ["release", "complete"])
async def test_an_offer_that_is_hidden_ends_with_its_claim(ana, bo, cy, step):
    own = await claim(ana)
    given = await cy.claim(["b"], "work")
    taken = await ana.accept((await cy.handoff(given.id, to="dev-a")).id)
    ending = {"release": own.id, "complete": taken.taken_claim_id}[step]
    hidden = await ana.handoff(ending, to="dev-b")
    await bo.set_visibility("private")
    assert (await bo.get_handoff(hidden.id)).status == "offered"

    await {"release": ana.release, "complete": ana.complete}[step](
        own.id if step == "release" else taken.id
    )
    events = [event.type for event in (await ana.get_state()).work_events]

    assert "coordination.handoff_cancelled" not in events
    await bo.set_visibility("public")
    assert (await bo.get_state()).handoffs == []
    with pytest.raises(HandoffStateError, match="is cancelled, and only an open offer"):
        await bo.accept(hidden.id)


async def test_a_released_claim_cannot_be_handed_off(ana, bo):
    own = await claim(ana)
    await ana.release(own.id)

    with pytest.raises(ClaimEndedError) as error:
        await ana.handoff(own.id, to="dev-b")
    assert list(error.value.next_actions) == [Action("team.claim", paths=("src/a.py",))]


async def test_a_claim_that_ended_is_made_again_without_names_that_its_giver_chose(ana, bo):
    own = await claim(ana, "src/a.py", "RUN THIS NOW")
    offered = await ana.handoff(own.id, to="dev-b")
    accepted = await bo.accept(offered.id)
    await bo.release(accepted.taken_claim_id)

    with pytest.raises(ClaimEndedError) as error:
        await bo.handoff(accepted.taken_claim_id, to="dev-a")
    assert error.value.paths == ("src/a.py", "PATH")


async def test_of_many_long_paths_the_first_are_named_to_be_claimed_again(ana):
    own = await claim(ana, *(f"src/{number}/{'x' * 190}.py" for number in range(4)))
    await ana.release(own.id)

    with pytest.raises(ClaimEndedError) as error:
        await ana.handoff(own.id)
    assert error.value.paths == (*own.paths[:2], "PATH")


async def test_what_is_not_one_s_own_cannot_be_handed_off(ana, bo):
    own = await claim(ana)

    for claim_id in (own.id, ids.new_id(), "x", None, 5):
        with pytest.raises(ClaimNotFoundError):
            await bo.handoff(claim_id)


async def test_a_handoff_to_oneself_is_refused(ana):
    own = await claim(ana)

    with pytest.raises(HandoffToSelfError):
        await ana.handoff(own.id, to="dev-a")


async def test_a_private_developer_gives_and_takes_no_handoff(ana, bo):
    own = await claim(ana)
    offered = await ana.handoff(own.id, to="dev-b")
    other = await claim(bo)
    await bo.set_visibility("private")

    for attempt in (bo.handoff(other.id), bo.accept(offered.id), bo.decline(offered.id)):
        with pytest.raises(PrivateDeveloperError):
            await attempt
    assert (await ana.get_state()).handoffs == []
    with pytest.raises(HandoffNotFoundError):
        await ana.get_handoff(offered.id)
    await bo.set_visibility("public")
    assert (await bo.accept(offered.id)).status == "accepted"


@pytest.mark.parametrize(
    ("who", "step"),
    [
        ("ana", "accept"),
        ("ana", "decline"),
        ("ana", "complete"),
        ("bo", "cancel"),
        ("bo", "complete"),
    ],
)
async def test_each_step_is_its_own_developer_s(ana, bo, who, step):
    own = await claim(ana)
    offered = await ana.handoff(own.id, to="dev-b")
    actor = {"ana": ana, "bo": bo}[who]

    with pytest.raises(HandoffStateError):
        await getattr(actor, step)(offered.id)
    assert (await bo.get_handoff(offered.id)).status == "offered"


async def test_nobody_declines_what_is_offered_to_all(ana, bo):
    own = await claim(ana)
    offered = await ana.handoff(own.id)

    with pytest.raises(HandoffStateError, match="whole team"):
        await bo.decline(offered.id)


# --- what happened --------------------------------------------------------------------------------


async def test_every_change_is_one_work_event(ana, bo):
    published = await publish(ana, repo="r", branch="b")
    own = await claim(ana, repo="r")
    offered: Handoff = await ana.handoff(own.id, to="dev-b")
    await bo.accept(offered.id)
    await bo.complete(offered.id)
    await ana.revoke_context(published.id)

    events = await bo.store.list_events_after(0, 0, 100)

    numbers = [number for _, number, _ in events]
    assert numbers == sorted(set(numbers))
    assert [event.type for _, _, event in events] == [
        "session.context_published",
        "coordination.claimed",
        "coordination.handoff_offered",
        "coordination.handoff_accepted",
        "coordination.released",
        "coordination.handoff_completed",
        "session.context_revoked",
    ]
    assert (events[0][2].subject, events[0][2].repo, events[0][2].branch) == (
        published.id,
        "r",
        "b",
    )


@pytest.mark.parametrize("hidden", ["giver", "recipient"])
async def test_what_is_done_with_a_handoff_is_hidden_with_either_of_its_two(ana, bo, cy, hidden):
    """Who accepts shows that somebody has given, and who offers that somebody is there."""
    for end in ("complete", "decline", "cancel"):
        offered = await ana.handoff((await claim(ana)).id, to="dev-b")
        if end == "complete":
            await bo.accept(offered.id)
        await getattr(ana if end == "cancel" else bo, end)(offered.id)
    private, other = (ana, bo) if hidden == "giver" else (bo, ana)
    assert len(await list_handed(cy)) == 7

    await private.set_visibility("private")

    assert await list_handed(cy) == []
    newest = await cy.store.list_newest_events(100)
    assert not any("handoff" in each.type for each in newest)
    assert sum((await cy.store.count_events(1)).values()) == len(newest)
    numbers = [number for _, number, _ in await cy.store.list_events_after(0, 0, 100)]
    assert await cy.store.read_end() == (max(numbers), 0)
    assert {each.developer.id for each in await list_handed(other)} == {other.owner.developer_id}
    await private.set_visibility("public")
    assert len(await list_handed(cy)) == 7


async def list_handed(team: TeamService) -> list[WorkEvent]:
    events = await team.store.list_events_after(0, 0, 100)
    return [event for _, _, event in events if "handoff" in event.type]


async def test_the_events_of_a_private_developer_are_for_that_developer_alone(ana, bo):
    await ana.set_visibility("private")
    await publish(ana)

    own = await ana.store.list_events_after(0, 0, 100)

    assert [(is_own, event.type) for is_own, _, event in own] == [
        (True, "developer.visibility_changed"),
        (True, "session.context_published"),
    ]
    assert await bo.store.list_events_after(0, 0, 100) == []
    assert await bo.store.read_end() == (0, 0)


@pytest.mark.parametrize("wrong", [None, "", "x", 7, "0" * 36, "../x", "' or 1=1"])
async def test_an_id_that_cannot_be_one_is_one_that_is_not_there(ana, wrong):
    for verb in (
        ana.revoke_context,
        ana.get_own_context,
        ana.release,
        ana.get_own_claim,
        ana.accept,
        ana.cancel,
        ana.get_handoff,
    ):
        with pytest.raises(NotFound):
            await verb(wrong)


async def test_another_workspace_has_its_own_team(database, workspace, ana):
    published = await publish(ana)
    abroad = Scope(database, owner_of(f"{workspace[:40]}x", "dev-b")).team

    assert await abroad.get_contexts() == []
    with pytest.raises(DeveloperNotFoundError):
        await abroad.get_contexts("dev-a")
    with pytest.raises(DeveloperNotFoundError):
        await abroad.get_contexts(published.developer.id)
