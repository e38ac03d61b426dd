"""`holdfast memory …`: statements that are kept, and found again by a question.

The commands to import and export load the module for JSON lines only when they run.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import click

from holdfast.app import App
from holdfast.ground import clock
from holdfast.ground.text import cut
from holdfast.memories import rules
from holdfast.memories.model import Memory, MemoryMatch
from holdfast.surfaces.cli import wording
from holdfast.surfaces.cli.running import Group, Output, here, prints, run_write
from holdfast.usecases.client_memory import NoteMatch

NOTE_CHARS = 200
NOTHING = "Nothing that answers this is remembered."
NONE = "Nothing is remembered yet. Keep a statement with `holdfast memory remember TEXT`."


def of_kind(function: Callable[..., Any]) -> Callable[..., Any]:
    """Which memories are meant."""
    category = click.option("--category", metavar="C", help="Only of this category")
    namespace = click.option("--namespace", metavar="N", help="Only of this namespace")
    return category(namespace(function))


@click.group("memory", cls=Group)
def command() -> None:
    """Remember statements and recall them by a question

    `holdfast forget ID` erases one permanently.
    """


@command.command("remember")
@click.argument("text")
@click.option("--category", metavar="C", help="What kind of statement it is")
@click.option(
    "--source", default="explicit", show_default=True, metavar="S", help="Where it comes from"
)
@click.option("--ttl-days", type=int, metavar="N", help="Let it expire after so many days")
@prints
def remember(
    app: App, text: str, category: str | None, source: str, ttl_days: int | None
) -> Output:
    """Store a statement; a known one is corroborated"""
    kept = run_write(
        app,
        "memory.remember",
        lambda scope: scope.memories.remember(
            text,
            category=category,
            source_type=source,
            ttl_days=ttl_days,
            user_id=app.settings.developer,
        ),
    )
    done = "Remembered" if kept.is_new else "Known already"
    text = wording.format_memory(kept.memory)
    return Output(kept.to_dict(), f"{done}:\n{text}")


@command.command("recall")
@click.argument("words", nargs=-1, required=True)
@click.option(
    "--limit", default=rules.LIMIT, show_default=True, metavar="N", help="At most so many"
)
@click.option(
    "--min-relevance",
    default=rules.MIN_RELEVANCE,
    show_default=True,
    metavar="X",
    help="Least share of words, 0 to 1",
)
@of_kind
@prints
def recall(
    app: App,
    words: tuple[str, ...],
    limit: int,
    min_relevance: float,
    category: str | None,
    namespace: str | None,
) -> Output:
    """Show what answers a question, best first"""
    question = " ".join(words)
    found = app.run(
        app.recall(
            question,
            worktree=here(),
            limit=limit,
            min_relevance=min_relevance,
            namespace=namespace,
            category=category,
        )
    )
    data = {"memories": [match.to_dict() for match in found]}
    lines = [_describe_match(match) for match in found]
    return Output(data, "\n".join(lines) or NOTHING)


@command.command("list")
@click.option("--limit", default=20, show_default=True, metavar="N", help="At most N")
@click.option("--below", metavar="ID", help="Older than this one")
@of_kind
@prints
def list_(
    app: App, limit: int, below: str | None, category: str | None, namespace: str | None
) -> Output:
    """List what is remembered, newest first"""
    found = app.run(
        app.scope.memories.list_memories(limit, below, namespace=namespace, category=category)
    )
    now = clock.now()
    data = [{**memory.to_dict(), "expired": memory.is_expired(now)} for memory in found]
    lines = [_describe_listed(memory, now) for memory in found]
    return Output({"memories": data}, "\n".join(lines) or _describe_none(namespace, category))


def _describe_none(namespace: str | None, category: str | None) -> str:
    kinds = {"namespace": namespace, "category": category}
    given = [f"{name} {value}" for name, value in kinds.items() if value is not None]
    if not given:
        return NONE
    return f"Nothing is remembered in {' and '.join(given)}."


@command.command("corroborate")
@click.argument("memory_id", metavar="ID")
@prints
def corroborate(app: App, memory_id: str) -> Output:
    """Raise its confidence"""
    memory = run_write(
        app, "memory.corroborate", lambda scope: scope.memories.corroborate(memory_id)
    )
    return _describe_memory("Believed more now", memory)


@command.command("contradict")
@click.argument("memory_id", metavar="ID")
@prints
def contradict(app: App, memory_id: str) -> Output:
    """Lower its confidence"""
    memory = run_write(app, "memory.contradict", lambda scope: scope.memories.contradict(memory_id))
    return _describe_memory("Believed less now", memory)


@command.command("expire")
@click.argument("memory_id", metavar="ID")
@prints
def expire(app: App, memory_id: str) -> Output:
    """Stop recalling it; nothing is removed"""
    memory = run_write(app, "memory.expire", lambda scope: scope.memories.expire(memory_id))
    return _describe_memory("Recalled no more", memory)


@command.command("import")
@click.argument("file")
@prints
def import_(app: App, file: str) -> Output:
    """Import a file of JSON lines; repeating changes nothing"""
    from holdfast.memories.jsonl_store import import_memories

    report = run_write(app, "memory.import", lambda scope: import_memories(scope.memories, file))
    rest = f"{report.known:,} known already, {report.forgotten:,} stay forgotten"
    text = f"Imported {report.imported:,}; {rest}."
    return Output(report.to_dict(), text, report.problems)


@command.command("export")
@click.argument("file")
@prints
def export(app: App, file: str) -> Output:
    """Write all memories into a file of JSON lines"""
    from holdfast.memories.jsonl_store import export_memories

    count = app.run(export_memories(app.scope.memories, file))
    return Output({"exported": count, "file": file}, f"Exported {count:,} to {file}.")


def _describe_match(match: MemoryMatch | NoteMatch) -> str:
    """A note of a client's own memory has no id: it is said where it stands."""
    text = wording.format_memory(match.memory)
    if isinstance(match, NoteMatch):
        day = f"{match.memory.created_at:%Y-%m-%d}"
        text = f"[said] by {match.by}, {day}  {cut(match.memory.content, NOTE_CHARS)}"
    return f"{text}  ({match.relevance:.0%})"


def _describe_listed(memory: Memory, now: datetime) -> str:
    text = wording.format_memory(memory)
    if memory.is_expired(now):
        text += "  (expired)"
    return text


def _describe_memory(done: str, memory: Memory) -> Output:
    text = wording.format_memory(memory)
    return Output(memory.to_dict(), f"{done}:\n{text}")
