"""TS5: a developer who is private, who does not exist or who is in another workspace is one and the
same, at every door: the same bytes, after the same statements.

Compared is all that a caller receives, in both forms of an answer; only the name or id that the
caller gave is taken out.
"""

import asyncio
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from holdfast.ground.settings import owner_of
from holdfast.team.model import PRIVATE, PUBLIC
from holdfast.team.service import LISTED, TeamService
from holdfast.usecases.events import Events
from tests.rig.postgres import new_workspace
from tests.rig.statements import record_statements
from tests.surfaces import exchange_doors
from tests.surfaces.exchange_doors import (
    CLI,
    HTTP,
    MCP_HTTP,
    PLACE,
    CliDoor,
    Door,
    HttpDoor,
    McpDoor,
    Team,
)
from tests.team.ending import end_all

READER, OTHER, FOURTH = "dev-a", "dev-b", "dev-d"
HIDDEN, ABSENT, FOREIGN = "dev-p", "dev-q", "dev-r"
UNKNOWN = "01a1f0cc-0e83-7d1e-81a3-78f55b18d2f5"
WORDS = {"title": "A title", "summary": "A summary."}
PATHS = ["src/retry.py"]
REPO = PLACE["repo"]
ANSWERS = ("accept", "decline", "complete", "cancel")

Received = tuple[tuple[str, ...], Sequence[str]]


@pytest.fixture(autouse=True)
def statements() -> Iterator[list[str]]:
    with record_statements() as found:
        yield found


@pytest.fixture(params=[MCP_HTTP, HTTP, CLI])
def team(
    request: pytest.FixtureRequest,
    database_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Team:
    monkeypatch.setenv("HOLDFAST_DATABASE", database_url)
    folder = exchange_doors.make_project(tmp_path / "project", monkeypatch)
    return Team(request.param, folder, monkeypatch)


@pytest.fixture
def elsewhere() -> str:
    """Another workspace of the same store."""
    return new_workspace()


async def compare(
    door: Door, statements: list[str], operation: str, questions: Sequence[dict[str, Any]]
) -> set[Received]:
    """The different answers to one question about different things; the last value of each is
    what it is about.
    """
    found = set()
    for asked in questions:
        told = await _receive(door, statements, operation, asked)
        about = str(list(asked.values())[-1])
        received = tuple(part.replace(about, "ASKED") for part in told[0])
        found.add((received, tuple(told[1])))
    return found


async def _receive(
    door: Door, statements: list[str], operation: str, asked: dict[str, Any]
) -> Received:
    statements.clear()
    received = (await door.ask(operation, **asked)).received
    if isinstance(door, CliDoor):  # what a person reads, too
        received += (await door.ask_as_person(operation, **asked)).received
    return received, list(statements)


# --- by developer ---------------------------------------------------------------------------------


async def test_a_private_an_absent_and_a_foreign_developer_are_answered_alike(
    team: Team, elsewhere: str, statements: list[str]
):
    """By handle and by id, for reading and as the recipient of a handoff."""
    async with team.inside(FOREIGN, elsewhere) as app:
        await app.scope.team.publish_context(**WORDS)
    async with team.inside(HIDDEN) as app:
        await app.scope.team.publish_context(**WORDS)
        await app.scope.team.set_visibility(PRIVATE)
    async with team.enter(READER) as [door], team.inside(READER) as app:
        claim = await app.scope.team.claim(PATHS, "work", repo=REPO)
        await door.ask("get_context", developer="dev-w")
        for write in (str, lambda handle: owner_of(team.workspace, handle).developer_id):
            named = [write(handle) for handle in (HIDDEN, ABSENT, FOREIGN)]
            named.append(owner_of(elsewhere, FOREIGN).developer_id if write is not str else "dev-s")
            for operation, questions in (
                ("get_context", [{"developer": who} for who in named]),
                ("handoff", [{"claim_id": claim.id, "note": "n", "to": who} for who in named]),
                ("handoff", [{"claim_id": UNKNOWN, "to": who} for who in named]),
            ):
                [(received, ran)] = await compare(door, statements, operation, questions)
                assert "developer_not_found" in "".join(received)
                assert len(ran) > 1
        visible = await compare(door, statements, "get_context", [{"developer": READER}])

    assert "developer_not_found" not in str(visible)


# --- by id ----------------------------------------------------------------------------------------


async def make_things(team: TeamService, to: str | None = None) -> dict[str, list[str]]:
    """One context, one claim and one handoff each: active, and ended by their owner."""
    active = await team.publish_context(**WORDS, branch="one")
    superseded = await team.publish_context(**WORDS, branch="two")
    revoked = await team.publish_context(**WORDS, branch="two")
    await team.revoke_context(revoked.id)
    claims = [await team.claim(PATHS, "work", repo=REPO) for _ in range(3)]
    offers = [await team.handoff(claim.id, to=to) for claim in claims]
    await team.cancel(offers[-1].id)
    await team.release(claims[-1].id)
    return {
        "context_id": [active.id, superseded.id, revoked.id],
        "claim_id": [claim.id for claim in claims],
        "handoff_id": [offer.id for offer in offers],
    }


@pytest.mark.own_database
async def test_an_id_of_a_private_or_foreign_developer_is_one_that_does_not_exist(
    team: Team, elsewhere: str, statements: list[str], request: pytest.FixtureRequest
):
    """Also an id of a visible developer: active, revoked, superseded, released and expired."""
    made = []
    async with team.inside(FOURTH) as app:
        await app.scope.team.enter()
    async with team.inside(OTHER) as app:
        made.append(await make_things(app.scope.team, FOURTH))
        await end_all(request, app.database.engine, seconds=-1)
        made.append(await make_things(app.scope.team, FOURTH))
    async with team.inside(FOREIGN, elsewhere) as app:
        made.append(await make_things(app.scope.team))
    async with team.enter(READER) as [door]:
        for to in (READER, None):
            async with team.inside(HIDDEN) as app:
                await app.scope.team.set_visibility(PUBLIC)
                made.append(await make_things(app.scope.team, to))
                await app.scope.team.set_visibility(PRIVATE)
        await door.ask("revoke_context", context_id="not-an-id")
        for operation, name in (
            ("revoke_context", "context_id"),
            ("release", "claim_id"),
            ("handoff", "claim_id"),
            *((answer, "handoff_id") for answer in ANSWERS),
        ):
            ids = [UNKNOWN, *(each for things in made for each in things[name])]
            questions = [{name: each} for each in ids]
            [(received, ran)] = await compare(door, statements, operation, questions)
            assert f"{name.removesuffix('_id')}_not_found" in "".join(received)
            assert len(ran) > 1

    async with team.inside(OTHER) as app:
        own = await app.scope.team.get_own_context(made[1]["context_id"][0])
    assert own.revoked_at is None


async def test_a_history_is_not_read_from_an_id_of_another(team: Team, statements: list[str]):
    if team.door == MCP_HTTP:
        return  # it has no history
    async with team.inside(HIDDEN) as app:
        hidden = await make_things(app.scope.team)
        await app.scope.team.set_visibility(PRIVATE)
    async with team.enter(READER) as [door]:
        found = set()
        for each in (UNKNOWN, UNKNOWN, *hidden["context_id"]):
            statements.clear()
            if isinstance(door, CliDoor):
                answer = await door.run("team", "contexts", "--history", "--below", each)
                text = f"{answer.code} {answer.out} {answer.err}"
            else:
                assert isinstance(door, HttpDoor)
                asked = {"history": "true", "below": each}
                text = (await door.client.get("/api/contexts", params=asked)).text
            found.add((text.replace(each, "ASKED"), tuple(statements)))

    assert len({text for text, _ in found}) == 1
    assert len(found) <= 2  # the first call of a program opens its store


# --- what is listed -------------------------------------------------------------------------------

MOVING = re.compile(
    r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b[0-9a-f]{32}\b"
    r"|\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?Z?|\d\d:\d\dZ|content-length: \d+"
)


async def read_everything(team: Team, door: Door) -> dict[str, str]:
    """All that a developer is shown at a door without naming anyone."""
    found = {name: (await door.ask(name)).text for name in ("get_context", "state")}
    if isinstance(door, McpDoor):
        read = await door.client.read_resource("holdfast://contexts")
        found["resource"] = read.contents[0].text
        assert (read.ttl_ms, read.cache_scope) == (0, "private")
        found["tools"] = str([tool.name for tool in (await door.client.list_tools()).tools])
    elif isinstance(door, HttpDoor):
        for path in ("/api/claims", "/api/handoffs", "/api/contexts?history=true"):
            found[path] = (await door.client.get(path)).text
    elif isinstance(door, CliDoor):
        for words in (("team", "state"), ("team", "contexts"), ("status",), ("status", "--json")):
            answer = await door.run(*words)
            found[" ".join(words)] = answer.out + answer.err
        found["tab"] = await asyncio.to_thread(complete_by_tab, door)
    async with team.inside(READER) as app:
        found["cursor"] = await Events(app.scope).end()
        found["on"] = str(await app.scope.team.is_used())
    return {name: MOVING.sub("·", text) for name, text in found.items()}


async def find_overlaps(door: Door) -> str:
    claimed = await door.ask("claim", paths=PATHS, reason="work", **PLACE)
    await door.ask("release", claim_id=claimed.data["claim"]["id"])
    return MOVING.sub("·", claimed.text)


def complete_by_tab(door: CliDoor) -> str:
    from click.shell_completion import ShellComplete

    from holdfast.surfaces.cli.root import root

    door.monkeypatch.setenv("HOLDFAST_DEVELOPER", door.handle)
    found = []
    for words in (["team", "contexts"], ["team", "accept"]):
        completing = ShellComplete(root, {}, "holdfast", "_HOLDFAST_COMPLETE")
        found += [each.value for each in completing.get_completions(words, "")]
    return str(found)


async def test_a_private_developer_changes_no_byte_of_what_others_read(
    team: Team, statements: list[str]
):
    """Nor a count, a limit, an order, an overlap or a cursor, and the same statements run."""
    async with team.enter(READER, OTHER) as (door, _), team.inside(OTHER) as other:
        for number in range(3):
            await other.scope.team.publish_context(**WORDS, branch=f"b{number}")
        offered = await other.scope.team.claim(PATHS, "work", repo=REPO)
        await other.scope.team.handoff(offered.id)
        overlaps_before = await find_overlaps(door)
        await read_everything(team, door)
        statements.clear()
        before = await read_everything(team, door)
        ran_before = list(statements)
        async with team.inside(HIDDEN) as app:
            await do_much(app.scope.team)
        assert HIDDEN in str(await read_everything(team, door))
        async with team.inside(HIDDEN) as app:
            await app.scope.team.set_visibility(PRIVATE)
            await app.scope.team.publish_context(**WORDS, branch="private")
        statements.clear()
        after = await read_everything(team, door)
        ran_after = list(statements)
        overlaps_after = await find_overlaps(door)

    assert after == before
    assert ran_after == ran_before
    assert overlaps_after == overlaps_before
    assert OTHER in overlaps_after or team.door == HTTP


async def do_much(team: TeamService) -> None:
    await team.set_visibility(PUBLIC)
    for number in range(LISTED + 1):
        await team.publish_context(**WORDS, branch=f"p{number}")
    for to in (READER, OTHER, None):
        claim = await team.claim(PATHS, "work", repo=REPO)
        await team.handoff(claim.id, to=to)
    await team.show_presence(UNKNOWN, PATHS, repo=REPO)


async def test_a_listener_hears_nothing_again_of_a_developer_who_became_private(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HOLDFAST_DATABASE", database_url)
    team = Team(HTTP, tmp_path, monkeypatch)
    async with team.inside(READER) as reader, team.inside(HIDDEN) as hidden:
        await reader.scope.team.enter()
        events = Events(reader.scope)
        before = await events.end()
        await hidden.scope.team.publish_context(**WORDS)
        heard = await events.read(before)
        await hidden.scope.team.set_visibility(PRIVATE)

        assert [event.topic for event in heard] == ["team.context_published"]
        assert await events.read(before) == []
        assert await events.end() == before


# --- what one had to do with a developer before ---------------------------------------------------


async def test_an_offer_to_a_developer_who_became_private_was_never_made(team: Team):
    """Its giver neither sees it nor is hindered by it, and its claim is taken over once."""
    async with team.inside(HIDDEN) as hidden, team.inside(OTHER) as other:
        await other.scope.team.enter()
        async with team.enter(READER, HIDDEN) as (door, _):
            claim = (await door.ask("claim", paths=PATHS, reason="work", **PLACE)).data["claim"]
            first = (await door.ask("handoff", claim_id=claim["id"], to=HIDDEN)).data["handoff"]
            await hidden.scope.team.set_visibility(PRIVATE)

            assert (await door.ask("cancel", handoff_id=first["id"])).code == "handoff_not_found"
            again = await door.ask("handoff", claim_id=claim["id"], to=OTHER)
            assert again.code is None, again
            await other.scope.team.accept(again.data["handoff"]["id"])
            await hidden.scope.team.set_visibility(PUBLIC)

        with pytest.raises(Exception, match="is cancelled, and only an open offer"):
            await hidden.scope.team.accept(first["id"])
        holders = [each.developer.handle for each in await other.scope.team.list_claims()]
        assert holders == [OTHER]
