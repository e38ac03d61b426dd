"""`holdfast forget …`: erasure, with a look before it.

What to erase and where it may still be is decided by `usecases.forget`. Here a person is shown what
was found and asked, because erasing cannot be undone; afterwards the files are listed that may
still hold it.
"""

from __future__ import annotations

from collections.abc import Sequence

import click

from holdfast.app import App
from holdfast.errors import Action
from holdfast.ground.text import plural, term_safe
from holdfast.surfaces.cli import wording
from holdfast.surfaces.cli.confirming import confirm
from holdfast.surfaces.cli.running import Command, Output, find_session_id, here, prints, run_write
from holdfast.usecases import forget
from holdfast.usecases.forget import Erasable, Erased, Remains, ToForget

NOTHING = "Nothing to erase: nothing that is stored here matches."
AT_SERVER = (
    "What was sent to the team's server is not erased by this. `holdfast team revoke ID` and "
    "`holdfast team release ID` end it there; its operator erases it, with forget or prune."
)
DOCUMENT_NAMES = {
    "repo_context": "saved context",
    "proof": "proof",
    "receipt": "receipt",
    "round": "round step",
    "context": "published context",
    "claim": "claim",
    "handoff": "handoff",
    "presence": "shown session",
}
LABELS_STAY = (
    "The session's chatmode, user, workflow, skill, branch and working tree stay: "
    "labels cannot be erased."
)


@click.command("forget", cls=Command)
@click.argument("event_ids", nargs=-1, metavar="[ID]...")
@click.option("--session", "session_id", metavar="ID", help="Everything a session holds")
@click.option(
    "--match", metavar="TEXT", help="Everything with this text, upper and lower case as given"
)
@click.option("--dry-run", is_flag=True, help="Only show what would be erased")
@click.option("--yes", is_flag=True, help="Do not ask")
@prints
def command(
    app: App,
    event_ids: tuple[str, ...],
    session_id: str | None,
    match: str | None,
    dry_run: bool,
    yes: bool,
) -> Output:
    """Erase what should never have been stored

    Contents go, numbers and hashes stay, so that the log still verifies. This cannot be undone.
    """
    given = [bool(event_ids), session_id is not None, match is not None]
    if sum(given) != 1:
        raise click.UsageError(
            "Say what to forget: ids of events, memories, documents, contexts, claims or handoffs, "
            "--session or --match, one of the three"
        )
    session = find_session_id(app, session_id)
    wanted = ToForget(event_ids, session, match)
    found = app.run(forget.find_erasable(app.scope, wanted))
    if dry_run:
        remains = app.run(forget.find_remains(app, wanted, here()))
        return _make_output(app, wanted, found, remains, erased=None, held=[])
    if not yes and (session or not found.is_empty):
        _ask(wanted, found)
    held = app.run(forget.erase_messages(app, wanted, here()))
    erased = run_write(app, "forget", lambda scope: forget.erase(scope, wanted))
    forget.clear_notices(app)
    # Only now: while the question was open, the session may have been resumed.
    remains = app.run(forget.find_remains(app, wanted, here()))
    return _make_output(app, wanted, found, remains, erased=erased, held=held)


def _ask(wanted: ToForget, found: Erasable) -> None:
    click.echo(term_safe(_describe_found(found, wanted.session_id)), err=True)
    confirmed = Action("forget.confirmed", selection=_describe_selection(wanted))
    confirm("Erase this permanently?", confirmed)


def _describe_selection(wanted: ToForget) -> str:
    """Without the text: it is what should not be shown again."""
    if wanted.match is not None:
        return "--match TEXT"
    if wanted.session_id is not None:
        return f"--session {wanted.session_id}"
    return "ID…"


# --- what is shown --------------------------------------------------------------------------------


def _describe_found(found: Erasable, session_id: str | None) -> str:
    lines: list[str] = []
    if found.events:
        count = plural(found.event_count, "event")
        lines += [f"{count}:", wording.format_events(found.events)]
    left_out = found.event_count - len(found.events)
    if left_out > 0:
        lines.append(f"       … and {left_out:,} more")
    if found.memories:
        lines.append(f"{forget.count_memories(found.memory_count)}:")
        lines += [wording.format_memory(memory) for memory in found.memories]
    lines += _count_documents(found)
    if found.session_count:
        count = plural(found.session_count, "session")
        lines.append(f"What holds it in the scratchpad, name and context sets of {count}")
    if session_id:
        lines.append("The session's scratchpad, name and context sets")
    return "\n".join(lines)


def _count_documents(found: Erasable) -> list[str]:
    counts = {**found.document_counts, **found.shared_counts}
    present = [kind for kind in DOCUMENT_NAMES if kind in counts]
    return [plural(counts[kind], DOCUMENT_NAMES[kind]) for kind in present]


def _make_output(
    app: App,
    wanted: ToForget,
    found: Erasable,
    remains: Remains,
    *,
    erased: Erased | None,
    held: Sequence[str],
) -> Output:
    data = {
        "dry_run": erased is None,
        "erased": erased.events if erased else 0,
        "events": found.event_count,
        "event_ids": list(found.event_ids),
        "memory_ids": list(found.memory_ids),
        "document_ids": list(found.document_ids),
        "shared_ids": list(found.shared_ids),
        "session_ids": list(found.session_ids),
        "backups": list(remains.backups),
        "elsewhere": [*remains.sessions, *remains.files, *held],
    }
    warnings = [
        f"Session {session_id} of the same thread may hold it too: "
        f"`holdfast forget --session {session_id}`"
        for session_id in remains.sessions
    ]
    if app.has_server:
        warnings.append(AT_SERVER)
    lines = _describe_result(wanted, found, remains, erased)
    if held:
        lines += ["Erased from these files too; git may still hold what they were:"]
        lines += [f"  {path}" for path in held]
    return Output(data, "\n".join(lines), warnings)


def _describe_result(
    wanted: ToForget, found: Erasable, remains: Remains, erased: Erased | None
) -> list[str]:
    if found.is_empty and wanted.session_id is None:
        # Copies of the whole store matter only where there was something to erase.
        return [NOTHING, *_list_files(remains.files)]
    if erased is None:
        lines = _describe_preview(wanted, found)
    else:
        lines = _describe_erased(wanted, found, erased)
    lines += _list_files([*remains.backups, *remains.files])
    lines.append("Backups that you made yourself still hold it.")
    return lines


def _list_files(paths: Sequence[str]) -> list[str]:
    if not paths:
        return []
    return ["These files may still hold it:", *(f"  {path}" for path in paths)]


def _describe_preview(wanted: ToForget, found: Erasable) -> list[str]:
    lines = ["Would erase:", _describe_found(found, wanted.session_id)]
    if wanted.session_id:
        lines.append(LABELS_STAY)
    return lines


def _describe_erased(wanted: ToForget, found: Erasable, erased: Erased) -> list[str]:
    others = _count_documents(found)
    if erased.memories:
        others = [forget.count_memories(erased.memories), *others]
    if found.session_count:
        count = plural(erased.sessions, "session")
        others.append(f"what held it in the scratchpad, name and context sets of {count}")
    counts = others
    if erased.events or not others:
        counts = [plural(erased.events, "event"), *others]
    listed = " and ".join(counts)
    line = f"Erased {listed}"
    if wanted.session_id is None:
        return [f"{line}."]
    return [f"{line} and the session's scratchpad, name and context sets.", LABELS_STAY]
