"""What the tests of the team's part in hooks have in common: teammates on the same store."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from holdfast.app import App
from holdfast.ground import ids
from holdfast.ground.settings import load_settings, owner_of
from holdfast.scope import Scope
from holdfast.team.model import Publication, Reservation
from holdfast.team.service import LISTED, TeamService
from tests.workstreams.repos import Repo, with_code

T = TypeVar("T")

REPO = "github.com/acme/payouts"


def as_developer(handle: str, verb: Callable[[TeamService], Awaitable[T]]) -> T:
    """One call of another developer of this workspace, in the store of this test."""
    settings = load_settings()
    with App(settings) as app:
        team = Scope(app.database, owner_of(settings.workspace, handle)).team

        async def call() -> T:
            return await verb(team)

        return app.run(call())


def publish(handle: str, branch: str = "feat/409", repo: str = REPO, files: str = "") -> str:
    """Returns the id of the context, with words in all of its free fields.

    Past the rules: an older program, or another one, may have stored what they refuse now.
    """
    publication = Publication(
        title="WORDS of a title",
        summary="WORDS of a summary",
        next_actions=["WORDS of a step"],
        blockers=["WORDS of a blocker"],
        files_touched=files.split(),
        repo=repo,
        branch=branch,
    )

    async def store(team: TeamService) -> str:
        await team.enter()
        context_id = ids.new_id()
        await team.store.publish(context_id, publication)
        return context_id

    return as_developer(handle, store)


def claim(handle: str, *paths: str, repo: str = REPO, session_id: str | None = None) -> str:
    """Returns the id of the reservation; past the rules as well."""

    async def store(team: TeamService) -> str:
        await team.enter()
        place: dict[str, Any] = {"repo": repo, "branch": None, "session_id": session_id}
        claim_id = ids.new_id()
        await team.store.reserve(claim_id, paths, "WORDS of a reason", 60, **place)
        return claim_id

    return as_developer(handle, store)


def reserve_many(handle: str, count: int, paths: Sequence[str]) -> None:
    """Past the rules as well."""

    async def store(team: TeamService) -> None:
        await team.enter()
        place: dict[str, Any] = {"repo": REPO, "branch": None, "session_id": None}
        for _ in range(count):
            await team.store.reserve(ids.new_id(), paths, "WORDS", 60, **place)

    as_developer(handle, store)


def crowd(handle: str, count: int = LISTED, repo: str = "acme/other") -> None:
    """More than a list shows: claims and contexts of another repository."""

    async def store(team: TeamService) -> None:
        await team.enter()
        for number in range(count):
            place: dict[str, Any] = {"repo": repo, "branch": None, "session_id": None}
            await team.store.reserve(ids.new_id(), ["src/**"], "WORDS", 60, **place)
            publication = Publication("WORDS", "WORDS", repo=repo, branch=f"b{number}")
            await team.store.publish(ids.new_id(), publication)

    as_developer(handle, store)


def show(handle: str, *paths: str, branch: str = "feat/409") -> None:
    """What a live session of a developer has not committed; past the rules as well."""
    session_id = ids.named_id("session", handle)

    async def store(team: TeamService) -> None:
        await team.enter()
        place = {"client": None, "repo": REPO, "branch": branch}
        await team.store.show_presence(session_id, paths, **place)

    as_developer(handle, store)


def offer(handle: str, to: str | None = None) -> str:
    claimed = claim(handle, "README.md")
    if to is not None:
        as_developer(to, lambda team: team.enter())
    return as_developer(
        handle, lambda team: team.handoff(claimed, to=to, note="WORDS of a note")
    ).id


def set_visibility(handle: str, visibility: str) -> None:
    as_developer(handle, lambda team: team.set_visibility(visibility))


def list_claims(handle: str = "dev-z") -> list[Reservation]:
    """As another developer sees them."""
    return list(as_developer(handle, lambda team: team.list_claims()))


def make_repo(folder: Path) -> Repo:
    repo = with_code(folder)
    repo.git("remote", "add", "origin", f"https://{REPO}.git")
    return repo
