"""A team to look at: other developers on the store of a server, each as a program of its own."""

from collections.abc import Awaitable, Callable
from typing import Any

from holdfast.app import App
from holdfast.ground.settings import Settings, load_settings
from holdfast.team.model import Handoff, PublishedContext, Reservation
from holdfast.usecases import exchange
from holdfast.usecases.freshness import make_basis
from tests.surfaces.console.story import run_in_own_thread
from tests.surfaces.http.server import Server, environment

REPO = "github.com/acme/payouts"
SUMMARY = "Jobs are retried with a delay."


def settings_as(server: Server, handle: str) -> Settings:
    return load_settings(environment(server.home, server.database_url, HOLDFAST_DEVELOPER=handle))


def act_as(server: Server, handle: str, work: Callable[[App], Awaitable[Any]]) -> Any:
    """Call `work(app)` as a program of this developer would."""

    async def run() -> Any:
        async with App(settings_as(server, handle)) as app:
            return await work(app)

    return run_in_own_thread(run())


def publish(server: Server, handle: str, title: str, **fields: Any) -> PublishedContext:
    folder = fields.pop("folder", None)
    given = {"title": title, "summary": SUMMARY, "repo": REPO, "branch": "main", **fields}

    async def work(app: App) -> Any:
        basis = make_basis(str(folder), given.get("files_touched", ())) if folder else None
        return (await exchange.publish_context(app.scope, given, basis=basis)).result

    published: PublishedContext = act_as(server, handle, work)
    return published


def revoke(server: Server, handle: str, context_id: str) -> None:
    act_as(server, handle, lambda app: exchange.revoke_context(app.scope, context_id))


def claim(server: Server, handle: str, *paths: str, **fields: Any) -> Reservation:
    given = {"paths": list(paths), "reason": "The queue gets a delay", "repo": REPO, **fields}

    async def work(app: App) -> Any:
        return (await exchange.claim(app.scope, given)).result

    reserved: Reservation = act_as(server, handle, work)
    return reserved


def offer(server: Server, handle: str, claim_id: str, **fields: Any) -> Handoff:
    given = {"claim_id": claim_id, **fields}

    async def work(app: App) -> Any:
        return (await exchange.handoff(app.scope, given)).result

    offered: Handoff = act_as(server, handle, work)
    return offered


def become(server: Server, handle: str, visibility: str) -> None:
    act_as(server, handle, lambda app: exchange.set_visibility(app.scope, visibility))


def show_live(
    server: Server, handle: str, session_id: str, *paths: str, branch: str | None = "main"
) -> None:
    """What the hooks of a session report."""
    act_as(
        server,
        handle,
        lambda app: app.scope.team.show_presence(
            session_id, paths, client="codex", repo=REPO, branch=branch
        ),
    )
