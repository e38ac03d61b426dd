"""What to do next, in the grammar of an agent: a tool call.

What no tool offers is worded as what the agent can do itself or ask of the person; None leaves it
out, where the message already says enough or the error does not reach an agent.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from holdfast.errors import Action

SWITCH_ON = "ask the person to switch shared context on"
PROVE = (
    "run `holdfast prove -- COMMAND` in the repository, then repeat this call; "
    'evidence=["proof:ID"] supports a claim'
)
CALLS = {
    "admin.developer.add": None,
    "admin.token.list": None,
    "admin.workspace.add": None,
    "bundle.show": "repo_context operation=bundle",
    "context.clear": "set_relevant_context setName=NAME items=[]",
    "context.show": "get_relevant_context",
    "conversation.list": "conversation operation=list",
    "conversation.new": "ask the person to begin one, such as with `/workspace.debug TOPIC`",
    "conversation.prune": None,
    "database.migrate": (
        "ask the person to run `holdfast admin migrate` as the owner of the database"
    ),
    "database.run": "ask the person to run this in PostgreSQL: {statement}",
    "doctor": None,
    "extra.install": None,
    "forget.confirmed": None,
    "git.commit": "commit the changed files",
    "git.init": None,
    "git.status": "look at the state of that repository with git",
    "init.confirmed": None,
    "init.look": None,
    "memory.export": "ask the person who runs the server to run `holdfast memory export FILE`",
    "memory.import": None,
    "memory.list": "memory operation=list",
    "program.install": None,
    "resume.list": "conversation operation=list",
    "resume.print": None,
    "proof.list": "repo_context operation=load",
    "prove": PROVE,
    "prune.confirmed": None,
    "publish.confirmed": None,
    "repository.name": SWITCH_ON,
    "round.abandon": "repo_context operation=round step=abandon",
    "round.close": 'repo_context operation=round step=close decisions=["TEXT"]',
    "round.next": "repo_context operation=round step=next",
    "round.start": "repo_context operation=round step=start topic=TOPIC",
    "round.submit": (
        'repo_context operation=round step=submit role=ROLE text=TEXT sources=["repo:PATH"]'
    ),
    "serve.port": None,
    "serve.root": None,
    "server.stop": None,
    "session.event_ids": "session operation=recent session_id=ID",
    "session.events": "session operation=recent session_id={session_id}",
    "session.list": (
        "session operation=recent, without session_id: it uses the session that is open here"
    ),
    "session.on": "go on without storing; only the person switches it on, with `holdfast on`",
    "session.resume": "session operation=start session_id={session_id}",
    "session.start": "session operation=start chatmode=MODE, which answers with a session_id",
    "session.look": None,
    "session.switch_off": None,
    "session.switch_on": None,
    "session.verify": "ask the person to run `holdfast session verify`",
    "shared_context.try": SWITCH_ON,
    "sqlite.upgrade": "ask the person to upgrade the Python package apsw",
    "status": "ask the person to run `holdfast status`",
    "team.cancel": "covibe_coordination operation=cancel handoff_id={handoff_id}",
    "team.claim": "covibe_coordination operation=claim paths={paths} reason=REASON",
    "team.contexts": "covibe_session operation=get_context",
    "team.join": "ask the person to run `holdfast team join {server}`",
    "team.leave": None,
    "team.state": "covibe_team operation=state",
    "team.visibility": "ask the person to run `holdfast team visibility public`",
    "upgrade": "ask the person to upgrade Holdfast",
    "workstream.show": "repo_context operation=load",
    "workstream.other": "repo_context operation=decide text=TEXT workstream_id=ID",
    "workstream.claim": 'repo_context operation=claim text=TEXT evidence=["PATH:L1-L2"]',
    "workstream.withdraw": "repo_context operation=withdraw id={proof_id}",
}


def word_actions(actions: Iterable[Action]) -> list[str]:
    worded = []
    for action in actions:
        call = CALLS[action.verb]
        if call:
            arguments = {name: _word(value) for name, value in action.arguments.items()}
            worded.append(call.format(**arguments))
    return worded


def _word(value: object) -> object:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, tuple) else value


def word_sets_call(session_id: str) -> str:
    return f"get_relevant_context session_id={session_id}"
