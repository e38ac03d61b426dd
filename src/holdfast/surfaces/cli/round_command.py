"""`holdfast round …`: four roles speak about one topic with the same bundle; the chair closes."""

from __future__ import annotations

import click

from holdfast.app import App
from holdfast.bundles.round_service import RoundService
from holdfast.bundles.rounds import ROLES, Round, RoundStep
from holdfast.ground.redaction import describe_masked
from holdfast.surfaces.cli.running import Group, Output, current_folder, prints, run_write

which = click.option(
    "--workstream", "workstream_id", metavar="ID", help="Line of work; default: the branch"
)


@click.group("round", cls=Group)
def command() -> None:
    """Collect the views of four roles on one topic, in turn"""


def _rounds(app: App) -> RoundService:
    return app.rounds(app.workstreams(current_folder()))


@command.command("start")
@click.option("--topic", required=True, metavar="T", help="What it is about")
@which
@prints
def start(app: App, topic: str, workstream_id: str | None) -> Output:
    """Begin a round"""
    step = run_write(
        app, "round.start", lambda _: _rounds(app).start(topic, workstream_id), effect="files"
    )
    return _describe_step(step)


@command.command("next")
@which
@prints
def next_(app: App, workstream_id: str | None) -> Output:
    """Show whose turn it is, and the text for it"""
    step = app.run(_rounds(app).next(workstream_id))
    return _describe_step(step)


@command.command("submit")
@click.option("--role", required=True, metavar="R", help=f"One of {', '.join(ROLES)}")
@click.option("--text", required=True, metavar="T", help="The contribution of the role")
@click.option(
    "--source", "sources", multiple=True, metavar="S", help="repo:PATH, tool:COMMAND or user:WORDS"
)
@which
@prints
def submit(
    app: App, role: str, text: str, sources: tuple[str, ...], workstream_id: str | None
) -> Output:
    """Submit the contribution of a role"""
    step = run_write(
        app,
        "round.submit",
        lambda _: _rounds(app).submit(role, text, sources, workstream_id),
        effect="files",
    )
    return _describe_step(step)


@command.command("close")
@click.option("--decision", "decisions", multiple=True, metavar="D", help="What was decided")
@click.option("--question", "questions", multiple=True, metavar="Q", help="What stays open")
@which
@prints
def close(
    app: App, decisions: tuple[str, ...], questions: tuple[str, ...], workstream_id: str | None
) -> Output:
    """Close it: decisions and questions become context"""
    closed = run_write(
        app,
        "round.close",
        lambda _: _rounds(app).close(decisions, questions, workstream_id),
        effect="files",
    )
    masked = describe_masked({"decisions": decisions, "questions": questions})
    return Output({"round": closed.to_dict()}, "\n".join(_list_results(closed)), masked)


@command.command("abandon")
@which
@prints
def abandon(app: App, workstream_id: str | None) -> Output:
    """End it without a result; submitted texts are kept"""
    ended = run_write(
        app, "round.abandon", lambda _: _rounds(app).abandon(workstream_id), effect="files"
    )
    lines = [f"Abandoned: {ended.topic}", *_list_results(ended)]
    return Output({"round": ended.to_dict()}, "\n".join(lines))


def _list_results(ended: Round) -> list[str]:
    decided = [f"Decided: {text}" for text in ended.decisions]
    still_open = [f"Open: {text}" for text in ended.questions]
    return [*decided, *still_open]


def _describe_step(step: RoundStep) -> Output:
    head = f"Next: {step.role}"
    if step.most_chars:
        head += f", {step.least_chars} to {step.most_chars} characters"
    text = f"{head}\n\n{step.instruction}"
    return Output({"round": step.to_dict()}, text, step.notes)
