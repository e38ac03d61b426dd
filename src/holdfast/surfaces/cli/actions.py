"""What to do next at the command line: a command, and a sentence around it for a person.

The console and LangGraph use these words too: their readers have a terminal.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from holdfast.errors import Action

COMMANDS = {
    "admin.developer.add": ("holdfast admin developer add {handle}", "{} adds them."),
    "admin.token.list": ("holdfast admin token list HANDLE", "{} shows the ids."),
    "admin.workspace.add": ("holdfast admin workspace add {workspace}", "{} adds it."),
    "bundle.show": ("holdfast bundle show", "{} builds a bundle and its receipt."),
    "context.clear": ("holdfast context set NAME", "{} without items clears one."),
    "context.show": ("holdfast context show", "{} lists them."),
    "conversation.list": ("holdfast conversation list", "{} lists them."),
    "conversation.new": ("holdfast conversation new TYPE TITLE", "{} begins one."),
    "conversation.prune": (
        "holdfast conversation prune {selection}",
        "Add --yes to remove without a question: {}.",
    ),
    "database.migrate": (
        "holdfast admin migrate",
        "Run {} with HOLDFAST_DATABASE set to the owner's URL.",
    ),
    "database.run": ("{statement}", "Run {} in PostgreSQL."),
    "doctor": ("holdfast doctor", "{} says whether hooks work here."),
    "extra.install": (
        "pip install '.[{extra}]'",
        "Install it in the folder of Holdfast's source: {}.",
    ),
    "forget.confirmed": (
        "holdfast forget {selection} --yes",
        "Add --yes to erase without a question: {}.",
    ),
    "git.commit": ("git commit", "Commit the changes with {}."),
    "git.init": ("git init", "Change into one, or begin one with {}."),
    "git.status": ("git status", "{} there says what is wrong."),
    "init.confirmed": ("holdfast init --yes", "{} applies the safe answers."),
    "init.look": ("holdfast init --dry-run", "{} shows what would be changed."),
    "memory.export": ("holdfast memory export FILE", "{} writes them to a file."),
    "memory.import": ("holdfast memory import {path}", "{} brings it in."),
    "memory.list": ("holdfast memory list", "{} shows the ids."),
    "program.install": ("pipx install holdfast", "Install it as a command: {}."),
    "proof.list": ("holdfast workstream show --json", "{} lists the last ones."),
    "prove": ("holdfast prove -- COMMAND", "Prove it with {}."),
    "prune.confirmed": (
        "holdfast admin prune --before {before} --yes",
        "Add --yes to erase without a question: {}.",
    ),
    "publish.confirmed": (
        "holdfast team publish {selection}",
        "Add --yes to publish without a question: {}.",
    ),
    "repository.name": (
        "SHARED_CONTEXT_ENABLED=true holdfast workstream show",
        "{} prints this repository's name.",
    ),
    "resume.list": ("holdfast resume --list", "{} lists what there is."),
    "resume.print": ("holdfast resume --print", "{} prints what its agent would be handed."),
    "round.abandon": ("holdfast round abandon", "{} ends it without a result."),
    "round.close": ("holdfast round close", "{} ends it with its results."),
    "round.next": ("holdfast round next", "{} says whose turn it is."),
    "round.start": ("holdfast round start --topic TOPIC", "Start one: {}."),
    "round.submit": (
        "holdfast round submit --role ROLE --text TEXT --source repo:PATH",
        "Submit it again as in {}.",
    ),
    "serve.port": ("holdfast serve --port PORT", "Choose another one: {}."),
    "serve.root": ("holdfast serve --root DIR", "{} names the folders that are shown."),
    "server.stop": ("kill {pid}", "{} stops it."),
    "session.event_ids": ("holdfast session events ID --json", "{} shows the ids of a session."),
    "session.events": ("holdfast session events {session_id}", "{} shows them."),
    "session.list": ("holdfast session list", "{} shows the ones that do."),
    "session.on": ("holdfast on", "{} takes it in again."),
    "session.resume": ("holdfast session resume {session_id}", "Continue it with {}."),
    "session.start": ("holdfast session start --chatmode MODE", "{} starts one."),
    "session.look": ("holdfast session list", "{} shows the sessions that are stored."),
    "session.switch_off": ("holdfast off ID", "Name one of them: {}; the client's own id will do."),
    "session.switch_on": ("holdfast on ID", "Name one of them: {}; the client's own id will do."),
    "session.verify": ("holdfast session verify", "{} says where they are missing."),
    "shared_context.try": (
        "SHARED_CONTEXT_ENABLED=true holdfast workstream show",
        "{} tries it for one command.",
    ),
    "sqlite.upgrade": ("pip install --upgrade apsw", "Install it with {}."),
    "status": ("holdfast status", "{} counts what waits until then."),
    "team.cancel": ("holdfast team cancel {handoff_id}", "{} withdraws the offer."),
    "team.claim": ("holdfast team claim {paths} --reason REASON", "{} claims them again."),
    "team.contexts": ("holdfast team contexts --history", "{} shows the ids of yours."),
    "team.join": ("holdfast team join {server}", "Run {}."),
    "team.leave": ("holdfast team leave", "Run {}."),
    "team.state": ("holdfast team state", "{} shows who and what can be seen."),
    "team.visibility": ("holdfast team visibility {visibility}", "{} changes that."),
    "upgrade": ("pipx upgrade holdfast", "Upgrade Holdfast: {}."),
    "workstream.show": ("holdfast workstream show", "{} shows it as it is now."),
    "workstream.other": (
        "holdfast workstream decide TEXT --workstream ID",
        "{} notes it in another one.",
    ),
    "workstream.claim": (
        "holdfast workstream claim TEXT --evidence PATH:L1-L2",
        "Name lines or a symbol as in {}.",
    ),
    "workstream.withdraw": (
        "holdfast workstream withdraw {proof_id}",
        "{} takes a mistaken run back.",
    ),
}
NOT_QUOTED = ("selection", "statement")  # several words of a command, or no command of a shell


def word_actions(actions: Iterable[Action]) -> list[str]:
    """For a program: the commands alone."""
    return [_format_command(action) for action in actions]


def advise(message: str, actions: Iterable[Action]) -> str:
    """For a person: what is wrong, then a sentence for each command."""
    sentences = [_format_sentence(action) for action in actions]
    return " ".join([message, *sentences])


def _format_sentence(action: Action) -> str:
    _, sentence = COMMANDS[action.verb]
    command = _format_command(action)
    return sentence.format(f"`{command}`")


def _format_command(action: Action) -> str:
    command, _ = COMMANDS[action.verb]
    words = {name: _quote(name, value) for name, value in action.arguments.items()}
    return command.format(**words)


def _quote(name: str, value: object) -> str:
    if name in NOT_QUOTED:
        return str(value)
    words = value if isinstance(value, tuple) else (value,)
    return shlex.join(map(str, words))
