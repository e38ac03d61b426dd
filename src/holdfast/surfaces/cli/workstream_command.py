"""`holdfast workstream …`: what was noted about a line of work, judged on this checkout."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from holdfast.app import App
from holdfast.surfaces.cli import workstream_wording as wording
from holdfast.surfaces.cli.running import Group, Output, current_folder, prints
from holdfast.workstreams.entries import DECISION_STATUSES, NotedRun
from holdfast.workstreams.model import PHASES, JudgedDecision
from holdfast.workstreams.service import WorkstreamService


@click.group("workstream", cls=Group)
def command() -> None:
    """Keep context in the repository, checked on every read

    Off until SHARED_CONTEXT_ENABLED=true or your settings say so.
    """


def about(function: Callable[..., Any]) -> Callable[..., Any]:
    """Which document is meant."""
    phase = click.option(
        "--phase",
        type=click.Choice(PHASES),
        default="implementation",
        help="Whose document is meant",
    )
    which = click.option(
        "--workstream", "workstream_id", metavar="ID", help="Line of work; the branch without it"
    )
    return phase(which(function))


def _service(app: App) -> WorkstreamService:
    return app.workstreams(current_folder())


@command.command("show")
@about
@prints
def show(app: App, phase: str, workstream_id: str | None) -> Output:
    """Show what was noted, with this checkout's verdict"""
    judged = app.run(_service(app).load(phase, workstream_id))
    return Output(judged.to_dict(), wording.describe_context(judged), wording.list_notes(judged))


@command.command("check")
@about
@prints
def check(app: App, phase: str, workstream_id: str | None) -> Output:
    """Tell which notes and claims still hold here"""
    judged = app.run(_service(app).load(phase, workstream_id))
    known = judged.to_dict()
    data = {
        name: known[name] for name in ("key", "phase", "stale", "staleness", "claims", "read_only")
    }
    return Output(data, wording.describe_check(judged), wording.list_notes(judged))


@command.command("decide")
@click.argument("text", required=False)
@click.option(
    "--id",
    "decision_id",
    metavar="D",
    help="Which decision; one that is not there yet gets this id",
)
@click.option(
    "--status", type=click.Choice(DECISION_STATUSES), help="What became of it; open without it"
)
@click.option("--because", metavar="WHY", help="The reason; needed to reject")
@about
@prints
def decide(
    app: App, text: str | None, phase: str, workstream_id: str | None, **about_it: str | None
) -> Output:
    """Note a decision, or change one

    With --id TEXT may be left out: the decision keeps its words.
    """
    if text is None and about_it["decision_id"] is None:
        raise click.MissingParameter(param_hint="'TEXT'", param_type="argument")
    decision = app.run(
        _service(app).decide(text, phase=phase, workstream_id=workstream_id, **about_it)
    )
    return Output(
        {"decision": decision.to_dict()}, wording.describe_decision(JudgedDecision(decision))
    )


@command.command("claim")
@click.argument("text")
@click.option(
    "--evidence",
    multiple=True,
    metavar="PATH[:L1-L2|#SYMBOL]",
    help="What shows it; proof:ID for a proof",
)
@about
@prints
def claim(
    app: App, text: str, evidence: tuple[str, ...], phase: str, workstream_id: str | None
) -> Output:
    """Claim something about the code, with evidence"""
    judged = app.run(_service(app).claim(text, evidence, phase=phase, workstream_id=workstream_id))
    return Output({"claim": judged.to_dict()}, wording.describe_claim(judged))


@command.command("withdraw")
@click.argument("note", metavar="ID|TEXT")
@about
@prints
def withdraw(app: App, note: str, phase: str, workstream_id: str | None) -> Output:
    """Take back a claim or a decision that was a mistake"""
    entry = app.run(_service(app).withdraw(note, phase=phase, workstream_id=workstream_id))
    return Output({"withdrawn": entry.to_dict()}, f"Withdrawn: {entry.words}")


@command.command("restore")
@about
@prints
def restore(app: App, phase: str, workstream_id: str | None) -> Output:
    """Put back saved notes that the file has lost"""
    context = app.run(_service(app).restore(phase=phase, workstream_id=workstream_id))
    counts = f"{len(context.decisions)} decisions, {len(context.ledger)} claims"
    return Output({"context": context.to_dict()}, f"In the file now: {counts}.")


@command.command("checklist")
@click.argument("items", nargs=-1, metavar="[TEXT]...")
@about
@prints
def checklist(app: App, items: tuple[str, ...], phase: str, workstream_id: str | None) -> Output:
    """Set the next steps; none clears them"""
    context = app.run(_service(app).set_checklist(items, phase=phase, workstream_id=workstream_id))
    return Output({"checklist": context.checklist}, wording.describe_checklist(context.checklist))


@command.command("point")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@about
@prints
def point(app: App, paths: tuple[str, ...], phase: str, workstream_id: str | None) -> Output:
    """Name files that whoever continues should look at"""
    context = app.run(_service(app).point(paths, phase=phase, workstream_id=workstream_id))
    pointers = [str(pointer) for pointer in context.pointers]
    return Output({"file_pointers": pointers}, "\n".join(pointers))


@command.command("save")
@click.option("--summary", required=True, metavar="TEXT", help="Where the work stands")
@click.option("--feature-request", metavar="T", help="What it is about, as a label")
@click.option(
    "--expected-revision",
    type=int,
    metavar="N",
    help="Refuse if somebody wrote since this revision",
)
@about
@prints
def save(app: App, summary: str, phase: str, workstream_id: str | None, **about_it: Any) -> Output:
    """Save the summary against the files as they are now"""
    verb = _service(app).save(
        summary, phase=phase, workstream_id=workstream_id, by_hand=True, **about_it
    )
    context = app.run(verb)
    return Output({"context": context.to_dict()}, wording.describe_save(context), context.notes)


@command.command("fail")
@click.option("--step", required=True, metavar="S", help="What was being done")
@click.option("--error", required=True, metavar="E", help="What went wrong")
@click.option("--next", "next_action", required=True, metavar="N", help="What to try next")
@about
@prints
def fail(
    app: App, step: str, error: str, next_action: str, phase: str, workstream_id: str | None
) -> Output:
    """Note a failed run; the summary stays as it is"""
    verb = _service(app).fail(
        step=step, error=error, next_action=next_action, phase=phase, workstream_id=workstream_id
    )
    context = app.run(verb)
    run = context.last_run or NotedRun()
    return Output({"last_run": run.to_dict()}, wording.describe_failure(run))
