"""What the design of the team exchange promises, told once and tried at every door: as an MCP tool
over stdio and over HTTP, in the HTTP API and as a command, on both engines.

docs/exchange.md lists the promises, and the tests here that show them.
"""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from holdfast.ground import clock
from holdfast.ground.settings import owner_of
from tests.surfaces import exchange_doors
from tests.surfaces.exchange_doors import (
    CLI,
    COORDINATION,
    HTTP,
    OPTIONS,
    PLACE,
    SESSION,
    TEAM,
    Door,
    Team,
)
from tests.team.ending import end_all

A, B, C, NOBODY = "dev-a", "dev-b", "dev-c", "dev-x"
WORDS = {"title": "Retry payouts", "summary": "Delays double, because the bank throttles."}
PUBLISHED = {
    **WORDS,
    "files_touched": ["src/retry.py", "docs/retry.md"],
    "next_actions": ["Write the docs"],
    "blockers": ["Staging is down"],
    "task_ids": ["PAY-1"],
    **PLACE,
}
CLAIM = {"paths": ["src/retry.py"], "reason": "Rework", **PLACE}
UNKNOWN = "01a1f0cc-0e83-7d1e-81a3-78f55b18d2f5"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return exchange_doors.make_project(tmp_path / "project", monkeypatch)


@pytest.fixture(params=exchange_doors.DOORS)
def team(
    request: pytest.FixtureRequest,
    database_url: str,
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Team:
    """Developers of one store who all come in by one door."""
    monkeypatch.setenv("HOLDFAST_DATABASE", database_url)
    return Team(request.param, project, monkeypatch)


async def ask(door: Door, operation: str, **given: Any) -> dict[str, Any]:
    told = await door.ask(operation, **given)
    assert told.code is None, told
    return told.data


async def is_refused(door: Door, code: str, operation: str, **given: Any) -> bool:
    told = await door.ask(operation, **given)
    assert told.code == code, told
    return True


async def publish(door: Door, **changed: Any) -> dict[str, Any]:
    made: dict[str, Any] = (await ask(door, "publish_context", **{**PUBLISHED, **changed}))[
        "context"
    ]
    return made


async def list_ids(door: Door, **asked: Any) -> list[str]:
    return [each["id"] for each in (await ask(door, "get_context", **asked))["contexts"]]


async def list_in_state(door: Door) -> list[str]:
    return [each["id"] for each in (await ask(door, "state"))["published_contexts"]]


# --- published contexts ---------------------------------------------------------------------------


async def test_a_context_is_read_as_it_was_published(team: Team):
    async with team.enter(A, B, C) as (ana, ben, cyd):
        made, other = await publish(ana), await publish(cyd, title="Another")

        [by_handle] = (await ask(ben, "get_context", developer=A))["contexts"]
        who = owner_of(team.workspace, A).developer_id
        [by_id] = (await ask(ben, "get_context", developer=who))["contexts"]

        assert {name: by_handle[name] for name in PUBLISHED} == PUBLISHED
        assert by_handle["developer"]["handle"] == A
        assert by_handle == by_id
        assert set(by_handle) == {
            *PUBLISHED,
            *("id", "developer", "session_id", "basis"),
            *("published_at", "expires_at", "superseded_by", "revoked_at"),
        }
        assert await list_ids(ben) == [other["id"], made["id"]]
        assert await list_ids(ben, developer=B) == []


MORE_THAN_METADATA = {
    "a diff": {"summary": "diff --git a/x.py b/x.py\n@@ -1,2 +1,2 @@\n-old = 1\n+new = 2\n"},
    "a file": {"summary": "```python\ndef pay(amount):\n    return bank.send(amount)\n```"},
    "a transcript": {"summary": "User: make it work\nAssistant: I will look at the file first."},
    "a path of a machine": {"files_touched": ["/srv/build/project/src/retry.py"]},
    "a way out": {"files_touched": ["../other/secret.py"]},
    "a secret": {"blockers": ["The key is ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"]},
}


async def test_more_than_metadata_is_refused_and_not_stored(team: Team):
    async with team.enter(A, B) as (ana, ben):
        kept = await publish(ana)

        for name, fields in MORE_THAN_METADATA.items():
            told = await ana.ask("publish_context", **{**PUBLISHED, **fields})
            assert told.code is not None, name
            [field] = fields
            assert field in told.text or OPTIONS.get(field, field) in told.text, told

        assert await list_ids(ben) == [kept["id"]]


async def test_a_newer_context_of_the_same_place_replaces_the_older(team: Team):
    async with team.enter(A, B) as (ana, ben):
        first = await publish(ana)
        elsewhere = await publish(ana, branch="other")
        second = await publish(ana, title="Second")

        assert await list_ids(ben) == await list_in_state(ben) == [second["id"], elsewhere["id"]]
        async with team.inside(A) as app:
            stored = await app.scope.team.get_own_context(first["id"])
        assert stored.superseded_by == second["id"]


async def test_only_its_owner_revokes_a_context_and_it_is_gone_at_once(team: Team):
    async with team.enter(A, B) as (ana, ben):
        made = await publish(ana)

        assert await is_refused(ben, "context_not_found", "revoke_context", context_id=made["id"])
        assert await list_ids(ben) == [made["id"]]
        revoked = await ask(ana, "revoke_context", context_id=made["id"])

        assert revoked["context"]["revoked_at"]
        for door in (ana, ben):
            assert await list_ids(door) == await list_in_state(door) == []
            assert await list_ids(door, developer=A) == []


async def test_a_context_lasts_a_day_or_as_long_as_was_asked(team: Team):
    async with team.enter(A) as [ana]:
        lengths = []
        for asked in ({}, {"ttl_hours": 1}, {"ttl_hours": 168}):
            made = await publish(ana, **asked)
            began, ends = clock.from_text(made["published_at"]), clock.from_text(made["expires_at"])
            lengths.append((ends - began) / timedelta(hours=1))
        for wrong in (0, -1, 169):
            told = await ana.ask("publish_context", **PUBLISHED, ttl_hours=wrong)
            assert told.code is not None
            assert "ttl" in told.text

        assert lengths == [24, 1, 168]
        assert await list_ids(ana) == [made["id"]]


@pytest.mark.own_database
async def test_an_expired_context_is_read_no_more_and_stays_for_the_audit(
    team: Team, request: pytest.FixtureRequest
):
    async with team.enter(A, B) as (ana, ben):
        made = await publish(ana)
        claim = (await ask(ana, "claim", **CLAIM))["claim"]
        await ask(ana, "handoff", claim_id=claim["id"])
        async with team.inside(A) as app:
            await end_all(request, app.database.engine, seconds=-1)

        for door in (ana, ben):
            assert await list_ids(door) == await list_ids(door, developer=A) == []
            state = await ask(door, "state")
            assert [state[name] for name in ("published_contexts", "claims", "handoffs")] == [
                []
            ] * 3
        async with team.inside(A) as app:
            [stored] = await app.scope.team.list_stored_contexts(10)
        assert stored.id == made["id"]


# --- what is recorded -----------------------------------------------------------------------------


async def test_every_call_is_counted_and_every_change_is_an_event(team: Team):
    async with team.enter(A, B) as (ana, ben):
        made = await publish(ana)
        await ask(ana, "get_context")
        await is_refused(ana, "developer_not_found", "get_context", developer=NOBODY)
        await ask(ana, "state")
        await is_refused(ana, "context_not_found", "revoke_context", context_id=UNKNOWN)
        await ask(ana, "revoke_context", context_id=made["id"])
        claim = (await ask(ana, "claim", **CLAIM))["claim"]
        offered = (await ask(ana, "handoff", claim_id=claim["id"]))["handoff"]
        await ask(ben, "accept", handoff_id=offered["id"])
        [taken] = (await ask(ana, "state"))["claims"]
        await ask(ben, "complete", handoff_id=offered["id"])
        await ask(ana, "release", claim_id=claim["id"])

        assert await team.list_usage(A) == [
            (f"{SESSION}.publish_context", "ok"),
            (f"{SESSION}.get_context", "ok"),
            (f"{SESSION}.get_context", "developer_not_found"),
            (f"{TEAM}.state", "ok"),
            (f"{SESSION}.revoke_context", "context_not_found"),
            (f"{SESSION}.revoke_context", "ok"),
            (f"{COORDINATION}.claim", "ok"),
            (f"{COORDINATION}.handoff", "ok"),
            (f"{TEAM}.state", "ok"),
            (f"{COORDINATION}.release", "ok"),
        ]
        assert await team.list_usage(B) == [
            (f"{COORDINATION}.accept", "ok"),
            (f"{COORDINATION}.complete", "ok"),
        ]
        assert await team.list_work(B) == [
            ("session.context_published", A, made["id"]),
            ("session.context_revoked", A, made["id"]),
            ("coordination.claimed", A, claim["id"]),
            ("coordination.handoff_offered", A, offered["id"]),
            ("coordination.handoff_accepted", B, offered["id"]),
            ("coordination.released", B, taken["id"]),
            ("coordination.handoff_completed", B, offered["id"]),
        ]


# --- who is seen ----------------------------------------------------------------------------------


async def test_a_private_developer_is_nobody_to_others_and_sees_its_own(team: Team):
    async with team.enter(A, B) as (ana, ben):
        made, mine = await publish(ana), await publish(ben)
        claim = (await ask(ana, "claim", **CLAIM))["claim"]
        assert [A in (await ben.ask(name)).text for name in ("get_context", "state")] == [True] * 2
        await team.become(A, "private")
        later = await publish(ana, branch="later")

        for operation in ("get_context", "state"):
            told = await ben.ask(operation)
            assert told.code is None
            found = [
                trace for trace in (A, made["id"], later["id"], claim["id"]) if trace in told.text
            ]
            assert found == [], operation
        assert await list_ids(ben) == await list_in_state(ben) == [mine["id"]]
        for name in (A, owner_of(team.workspace, A).developer_id):
            assert await is_refused(ben, "developer_not_found", "get_context", developer=name)
        assert set(await list_ids(ana)) == {later["id"], made["id"], mine["id"]}
        assert await list_ids(ana, developer=A) == [later["id"], made["id"]]
        assert claim["id"] in [each["id"] for each in (await ask(ana, "state"))["claims"]]


# --- state and handoffs ---------------------------------------------------------------------------


async def test_the_state_names_what_is_published_and_where_to_read_it(team: Team):
    async with team.enter(A, B) as (ana, ben):
        made = await publish(ana)

        told = await ben.ask("state")

        [shown] = told.data["published_contexts"]
        names = ("id", "title", "repo", "branch", "published_at", "expires_at")
        assert {name: shown[name] for name in names} == {name: made[name] for name in names}
        assert (shown["developer"]["handle"], shown["summary"]) == (A, WORDS["summary"])
        if team.door not in (HTTP, CLI):
            assert f"{SESSION} operation=get_context developer={A}" in told.text


async def test_a_handoff_carries_the_context_of_its_claim(team: Team):
    """The one that its giver published for the claim's repository, before a newer one."""
    async with team.enter(A, B) as (ana, ben):
        claim = (await ask(ana, "claim", **CLAIM))["claim"]
        bare = (await ask(ana, "handoff", claim_id=claim["id"], to=B))["handoff"]
        await ask(ben, "decline", handoff_id=bare["id"])
        made = await publish(ana)
        await publish(ana, repo="github.com/acme/other", title="Newer, of another repository")
        reference = {name: made[name] for name in ("id", *WORDS)}

        offered = (await ask(ana, "handoff", claim_id=claim["id"], to=B, note="Tests are missing"))[
            "handoff"
        ]
        [waiting] = (await ask(ben, "state"))["handoffs"]
        accepted = (await ask(ben, "accept", handoff_id=offered["id"]))["handoff"]
        await ask(ana, "revoke_context", context_id=made["id"])
        [held] = (await ask(ben, "state"))["handoffs"]

        assert bare.get("context") is None
        assert offered["context"] == waiting["context"] == accepted["context"] == reference
        assert waiting["note"] == "Tests are missing"
        assert made["id"] not in str(held)


async def test_a_handoff_goes_from_the_offer_to_its_end(team: Team):
    async with team.enter(A, B) as (ana, ben):
        claim = (await ask(ana, "claim", **CLAIM))["claim"]
        about = {"claim_id": claim["id"]}

        first = (await ask(ana, "handoff", **about, to=B))["handoff"]
        declined = (await ask(ben, "decline", handoff_id=first["id"]))["handoff"]
        second = (await ask(ana, "handoff", **about, to=B))["handoff"]
        cancelled = (await ask(ana, "cancel", handoff_id=second["id"]))["handoff"]
        third = (await ask(ana, "handoff", **about, to=B))["handoff"]
        accepted = (await ask(ben, "accept", handoff_id=third["id"]))["handoff"]
        [taken] = (await ask(ana, "state"))["claims"]
        assert await is_refused(ana, "handoff_state", "cancel", handoff_id=third["id"])
        completed = (await ask(ben, "complete", handoff_id=third["id"]))["handoff"]
        assert await is_refused(ana, "handoff_to_self", "handoff", claim_id=taken["id"], to=A)
        released = (await ask(ben, "release", claim_id=taken["id"]))["claim"]

        ends = [each["status"] for each in (declined, cancelled, accepted, completed)]
        assert ends == ["declined", "cancelled", "accepted", "completed"]
        assert (taken["developer"]["handle"], taken["paths"]) == (B, CLAIM["paths"])
        assert released["released_at"]
        state = await ask(ana, "state")
        assert (state["claims"], state["handoffs"]) == ([], [])
