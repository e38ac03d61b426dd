"""`holdfast bundle …`: what an agent is handed, within its budget."""

from __future__ import annotations

import click

from holdfast.app import App
from holdfast.bundles.service import BundleService
from holdfast.surfaces.cli.running import Group, Output, current_folder, here, prints
from holdfast.usecases.continuation import build_bundle
from holdfast.workstreams.model import PHASES


@click.group("bundle", cls=Group)
def command() -> None:
    """Show what an agent receives, rebuild and compare it"""


def bundles(app: App) -> BundleService:
    return app.bundles(app.workstreams(current_folder()))


@command.command("show")
@click.option(
    "--phase",
    type=click.Choice(PHASES),
    default="implementation",
    help="For planning or for implementing",
)
@click.option(
    "--workstream", "workstream_id", metavar="ID", help="Line of work; default: the branch"
)
@click.option("--client", metavar="NAME", help="Within this agent program's limit")
@click.option("--limit", type=int, metavar="N", help="At most so many characters")
@prints
def show(
    app: App, phase: str, workstream_id: str | None, client: str | None, limit: int | None
) -> Output:
    """Build a bundle for this working tree"""
    work = app.workstreams(current_folder())
    bundle, warnings = app.run(
        build_bundle(app, work, phase, workstream_id, client=client, limit=limit, worktree=here())
    )
    return Output(bundle.to_dict(), bundle.text, warnings)


@command.command("rebuild")
@click.argument("receipt", metavar="ID")
@prints
def rebuild(app: App, receipt: str) -> Output:
    """Rebuild the same bytes from a receipt"""
    bundle = app.run(bundles(app).rebuild(receipt))
    return Output(bundle.to_dict(), bundle.text)


@command.command("diff")
@click.argument("one", metavar="ID")
@click.argument("other", metavar="ID")
@prints
def diff(app: App, one: str, other: str) -> Output:
    """Show what differs between two bundles"""
    text = app.run(bundles(app).diff(one, other))
    return Output({"diff": text}, text or "They are the same.")
