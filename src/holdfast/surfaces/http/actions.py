"""What to do next, in the grammar of the API: a route.

A caller of a server has no terminal there: what no route offers is asked of the person who runs the
server, or left out (None) where the message already says enough or the error does not reach a
caller.
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import quote

from holdfast.errors import Action

ASK = "ask the person who runs this server to "
ROUTES = {
    "admin.developer.add": None,
    "admin.token.list": ASK + "run `holdfast admin token list HANDLE`",
    "admin.workspace.add": None,
    "bundle.show": "GET /api/bundle",
    "context.clear": "PATCH /api/sessions/ID with setContext",
    "context.show": "GET /api/sessions/ID",
    "conversation.list": "GET /api/conversations",
    "conversation.new": None,
    "conversation.prune": None,
    "database.migrate": ASK + "run `holdfast admin migrate`",
    "database.run": None,
    "doctor": None,
    "extra.install": None,
    "forget.confirmed": None,
    "git.commit": None,
    "git.init": None,
    "git.status": None,
    "init.confirmed": None,
    "init.look": None,
    "memory.export": ASK + "run `holdfast memory export FILE`",
    "memory.import": None,
    "memory.list": "GET /api/memories",
    "program.install": None,
    "proof.list": "GET /api/workstreams",
    "prove": None,
    "prune.confirmed": None,
    "publish.confirmed": None,
    "repository.name": None,
    "resume.list": "GET /api/conversations",
    "resume.print": None,
    "round.abandon": None,
    "round.close": None,
    "round.next": None,
    "round.start": None,
    "round.submit": None,
    "serve.port": None,
    "serve.root": ASK + "name the folder with `holdfast serve --root DIR`",
    "server.stop": None,
    "session.event_ids": "GET /api/sessions/ID/events",
    "session.events": "GET /api/sessions/{session_id}/events",
    "session.list": "GET /api/sessions",
    "session.start": "POST /api/sessions",
    "session.on": ASK + "run `holdfast on`",
    "session.resume": "POST /api/sessions/{session_id}/resume",
    "session.look": None,
    "session.switch_off": None,
    "session.switch_on": None,
    "session.verify": ASK + "run `holdfast session verify`",
    "shared_context.try": None,
    "sqlite.upgrade": ASK + "upgrade the Python package apsw",
    "status": "GET /api/health",
    "team.cancel": "POST /api/handoffs/{handoff_id}/cancel",
    "team.claim": "POST /api/claims",
    "team.contexts": "GET /api/contexts",
    "team.join": None,
    "team.leave": None,
    "team.state": "GET /api/state",
    "team.visibility": "PUT /api/team/visibility",
    "upgrade": ASK + "upgrade Holdfast",
    "workstream.show": "GET /api/workstreams",
    "workstream.other": None,
    "workstream.claim": None,
    "workstream.withdraw": None,
}


def word_actions(actions: Iterable[Action]) -> list[str]:
    worded = []
    for action in actions:
        route = ROUTES[action.verb]
        if route:
            worded.append(_fill(route, action.arguments))
    return worded


def _fill(route: str, arguments: dict[str, object]) -> str:
    quoted = {name: quote(str(value), safe="") for name, value in arguments.items()}
    return route.format(**quoted)
