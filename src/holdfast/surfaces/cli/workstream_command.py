"""`holdfast workstream …`: what was noted about a line of work, judged on this checkout.

The notes are files in the repository, so every write has the effect "files". All commands take the
same two options, which say which document is meant.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from holdfast.app import App
from holdfast.ground.redaction import describe_masked
from holdfast.ground.text import plural
from holdfast.surfaces.cli import workstream_wording as wording
from holdfast.surfaces.cli.running import Group, Output, current_folder, prints, run_write
from holdfast.workstreams.entries import DECISION_STATUSES, NotedRun
from holdfast.workstreams.model import PHASES, JudgedDecision
from holdfast.workstreams.service import WorkstreamService

KEPT_BY_CHECK = ("key", "phase", "stale", "staleness", "claims", "read_only")


@click.group("workstream", cls=Group)
def command() -> None:
    """Keep context in the repository, checked on every read

    Off until SHARED_CONTEXT_ENABLED=true or your settings say so.
    """


command.other_names = {"load": "show"}


def about(function: Callable[..., Any]) -> Callable[..., Any]:
    """Which document is meant."""
    phase = click.option(
        "--phase",
        type=click.Choice(PHASES),
        default="implementation",
        help="Which of the two documents",
    )
    which = click.option(
        "--workstream", "workstream_id", metavar="ID", help="Line of work; default: the branch"
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
    text = wording.describe_context(judged)
    return Output(judged.to_dict(), text, wording.list_notes(judged))


@command.command("check")
@about
@prints
def check(app: App, phase: str, workstream_id: str | None) -> Output:
    """Show which notes and claims still hold here"""
    judged = app.run(_service(app).load(phase, workstream_id))
    known = judged.to_dict()
    data = {name: known[name] for name in KEPT_BY_CHECK}
    data["claims"] = [claim.to_dict() for claim in judged.all_claims]
    text = wording.describe_check(judged)
    return Output(data, text, wording.list_notes(judged))


@command.command("decide")
@click.argument("text", required=False)
@click.option(
    "--id",
    "decision_id",
    metavar="D",
    help="Id of the decision; a new decision gets this id",
)
@click.option("--status", type=click.Choice(DECISION_STATUSES), help="Its status; default: open")
@click.option("--because", metavar="WHY", help="The reason; needed to reject")
@about
@prints
def decide(app: App, text: str | None, **fields: Any) -> Output:
    """Record a decision, or change one

    With --id TEXT may be left out: the decision keeps its words.
    """
    if text is None and fields["decision_id"] is None:
        raise click.MissingParameter(param_hint="'TEXT'", param_type="argument")
    workstreams = _service(app)
    decision = run_write(
        app, "workstream.decide", lambda _: workstreams.decide(text, **fields), effect="files"
    )
    described = wording.describe_decision(JudgedDecision(decision))
    masked = describe_masked({"text": text, "because": fields["because"]})
    return Output({"decision": decision.to_dict()}, described, masked)


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
def claim(app: App, text: str, evidence: tuple[str, ...], **document: Any) -> Output:
    """Claim something about the code, with evidence"""
    workstreams = _service(app)
    judged = run_write(
        app,
        "workstream.claim",
        lambda _: workstreams.claim(text, evidence, **document),
        effect="files",
    )
    masked = describe_masked({"text": text})
    return Output({"claim": judged.to_dict()}, wording.describe_claim(judged), masked)


@command.command("withdraw")
@click.argument("note", metavar="ID|TEXT")
@about
@prints
def withdraw(app: App, note: str, **document: Any) -> Output:
    """Withdraw a claim or a decision that was a mistake"""
    workstreams = _service(app)
    entry = run_write(
        app, "workstream.withdraw", lambda _: workstreams.withdraw(note, **document), effect="files"
    )
    return Output({"withdrawn": entry.to_dict()}, f"Withdrawn: {wording.name_entry(entry)}")


@command.command("restore")
@about
@prints
def restore(app: App, **document: Any) -> Output:
    """Restore saved notes that are missing in the file"""
    workstreams = _service(app)
    context = run_write(
        app, "workstream.restore", lambda _: workstreams.restore(**document), effect="files"
    )
    decisions = plural(len(context.decisions), "decision")
    counts = f"{decisions}, {plural(len(context.ledger), 'claim')}"
    text = f"In the file now: {counts}."
    return Output({"context": context.to_dict()}, text, context.notes)


@command.command("checklist")
@click.argument("items", nargs=-1, metavar="[TEXT]...")
@about
@prints
def checklist(app: App, items: tuple[str, ...], **document: Any) -> Output:
    """Set the next steps; none clears them"""
    workstreams = _service(app)
    context = run_write(
        app,
        "workstream.checklist",
        lambda _: workstreams.set_checklist(items, **document),
        effect="files",
    )
    text = wording.describe_checklist(context.checklist)
    return Output({"checklist": context.checklist}, text, describe_masked({"items": items}))


@command.command("point")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@about
@prints
def point(app: App, paths: tuple[str, ...], **document: Any) -> Output:
    """Name files that the next session should look at"""
    workstreams = _service(app)
    context = run_write(
        app, "workstream.point", lambda _: workstreams.point(paths, **document), effect="files"
    )
    pointers = [str(pointer) for pointer in context.pointers]
    return Output({"file_pointers": pointers}, "\n".join(pointers))


@command.command("save")
@click.option("--summary", required=True, metavar="TEXT", help="State of the work")
@click.option("--feature-request", metavar="T", help="What it is about, as a label")
@click.option(
    "--expected-revision",
    type=int,
    metavar="N",
    help="Refuse if it was changed after this revision",
)
@about
@prints
def save(app: App, summary: str, **fields: Any) -> Output:
    """Save the summary against the files as they are now"""
    workstreams = _service(app)
    context = run_write(
        app,
        "workstream.save",
        lambda _: workstreams.save(summary, by_hand=True, **fields),
        effect="files",
    )
    text = wording.describe_save(context)
    masked = describe_masked({"summary": summary, "feature_request": fields["feature_request"]})
    return Output({"context": context.to_dict()}, text, (*context.notes, *masked))


@command.command("fail")
@click.option("--step", required=True, metavar="S", help="What was being done")
@click.option("--error", required=True, metavar="E", help="What went wrong")
@click.option("--next", "next_action", required=True, metavar="N", help="What to try next")
@about
@prints
def fail(app: App, **fields: Any) -> Output:
    """Record a failed run; the summary does not change"""
    workstreams = _service(app)
    context = run_write(
        app, "workstream.fail", lambda _: workstreams.fail(**fields), effect="files"
    )
    run = context.last_run or NotedRun()
    text = wording.describe_failure(run)
    masked = describe_masked({name: fields[name] for name in ("step", "error", "next_action")})
    return Output({"last_run": run.to_dict()}, text, masked)
