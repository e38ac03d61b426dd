"""The `repo_context` tool: what was noted about this line of work, checked on this checkout, and what to add to it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from holdfast.bundles.errors import RoundNotFoundError
from holdfast.errors import InvalidValueError
from holdfast.surfaces.mcp.answer import Answer
from holdfast.surfaces.mcp.sessions import repeated
from holdfast.surfaces.mcp.tool import IDEMPOTENCY_KEY, SESSION_ID, Operation, Schema, Tool

if TYPE_CHECKING:
    from holdfast.app import App
    from holdfast.surfaces.mcp.call import Call
    from holdfast.surfaces.which_session import Caller
    from holdfast.workstreams.model import JudgedContext
    from holdfast.workstreams.service import WorkstreamService

ABOUT = ("phase", "workstream_id")
STEPS = ("start", "next", "submit", "close", "abandon")
STALE = "The summary is stale. Read the files that changed before you rely on it, then save it again."


async def load(call: Call) -> Answer:
    judged = await _work(call).load(**_about(call))
    return Answer({"context": judged.to_dict()}, _notes(judged))


async def check(call: Call) -> Answer:
    judged = await _work(call).load(**_about(call))
    claims = [claim.to_dict() for claim in judged.claims]
    return Answer({"claims": claims, "context": judged.to_dict()}, _notes(judged))


async def bundle(call: Call) -> Answer:
    """The frozen bytes of the session that the caller is in; a bundle of the moment where there is none."""
    about = _about(call)
    choice = await call.find_session()
    built = await call.app.bundles(_work(call)).build(
        about["phase"],
        about["workstream_id"],
        client=_known_client(call),
        session_id=choice.session.id if choice.session else None,
        worktree=call.caller.worktree,
    )
    return Answer({"bundle": built.to_dict()}, choice.warnings)


async def decide(call: Call) -> Answer:
    given, work = call.arguments, _work(call)

    async def effect(request_id: str | None) -> str:
        entry = await work.decide(
            given["text"],
            decision_id=given.get("id"),
            status=given.get("decision_status"),
            because=given.get("because"),
            request_id=request_id,
            **_about(call),
        )
        return str(entry["uid"])

    uid, notes = await _once(call, effect)
    context = await _context(work, call)
    found: dict[str, Any] = next((one for one in context["open_decisions"] if one.get("uid") == uid), {})
    return Answer({"decision": found, "context": context}, notes)


async def claim(call: Call) -> Answer:
    given, work, evidence = call.arguments, _work(call), _listed(call, "evidence")

    async def effect(request_id: str | None) -> str:
        judged = await work.claim(
            given["text"], evidence, kind=given.get("kind"), request_id=request_id, **_about(call)
        )
        return judged.id

    claim_id, notes = await _once(call, effect)
    claims = (await work.load(**_about(call))).claims
    return Answer({"claims": [one.to_dict() for one in claims if one.id == claim_id]}, notes)


async def save(call: Call) -> Answer:
    work = _work(call)
    more: dict[str, Any] = {name: call.arguments.get(name) for name in ("feature_request", "expected_revision")}
    told: list[str] = []

    async def effect(_: str | None) -> str:
        saved = await work.save(call.arguments["summary"], **more, **_about(call))
        told[:] = saved.notes
        return ""

    _, notes = await _once(call, effect)
    return Answer({"context": await _context(work, call)}, [*told, *notes])


async def fail(call: Call) -> Answer:
    work = _work(call)
    said = {name: call.arguments[name] for name in ("step", "error", "next_action")}

    async def effect(request_id: str | None) -> str:
        await work.fail(**said, **_about(call), request_id=request_id)
        return ""

    _, notes = await _once(call, effect)
    return Answer({"context": await _context(work, call)}, notes)


async def round_(call: Call) -> Answer:
    """One step of a role round; what a step needs is checked by the round itself."""
    done: list[dict[str, Any]] = []

    async def effect(_: str | None) -> str:
        done[:] = [await _step(call)]
        return str(done[0]["started_at"])

    started_at, notes = await _once(call, effect)
    told = done[0] if done else await _round_now(call, started_at)
    return Answer({"round": told}, [*told.get("notes", ()), *notes])


async def _step(call: Call) -> dict[str, Any]:
    given = call.arguments
    rounds, which = call.app.rounds(_work(call)), given.get("workstream_id")
    match given["step"]:
        case "start":
            done: Any = await rounds.start(given.get("topic", ""), which)
        case "next":
            done = await rounds.next(which)
        case "submit":
            sources = _listed(call, "sources")
            done = await rounds.submit(given.get("role", ""), given.get("text", ""), sources, which)
        case "close":
            done = await rounds.close(_listed(call, "decisions"), _listed(call, "questions"), which)
        case "abandon":
            done = await rounds.abandon(which)
        case unknown:
            raise InvalidValueError("step", unknown, "is unknown", known=STEPS)
    result: dict[str, Any] = done.to_dict()
    return result


async def _round_now(call: Call, started_at: str) -> dict[str, Any]:
    """For a step that was done before: how its round ended, else whose turn it is; nothing where it was forgotten."""
    rounds, which = call.app.rounds(_work(call)), call.arguments.get("workstream_id")
    if ended := await rounds.find_ended(started_at, which):
        return ended.to_dict()
    try:
        return (await rounds.next(which)).to_dict()
    except RoundNotFoundError:
        return {}


# --- within ------------------------------------------------------------------------------------------------


def _work(call: Call) -> WorkstreamService:
    return work_of(call.app, call.caller)


def work_of(app: App, caller: Caller) -> WorkstreamService:
    """In the client's working tree; over HTTP in the one that the server was started for."""
    return app.workstreams(caller.worktree) if caller.worktree else app.served_work()


def _about(call: Call) -> dict[str, Any]:
    return {
        "phase": call.arguments.get("phase", "implementation"),
        "workstream_id": call.arguments.get("workstream_id"),
    }


def _notes(judged: JudgedContext) -> list[str]:
    why = [judged.context.read_only] if judged.context.read_only else []
    return [*why, *judged.context.notes, *([STALE] if judged.staleness.stale else ())]


def _listed(call: Call, name: str) -> list[Any]:
    given = call.arguments.get(name, [])
    if not isinstance(given, list):  # a text has parts too, and each letter would count as one
        raise InvalidValueError(name, given, 'is not a list; write it as ["…"]')
    return given


async def _once(call: Call, effect: Callable[[str | None], Awaitable[str]]) -> tuple[str, list[str]]:
    """What the request is about, and what to tell. With a key that was used before, nothing is done again.

    A file is no part of the store's transaction, so the key is kept after the effect. Between the two a program may
    die: what is asked again then finds its own entry by the id that follows from the key.
    """
    key = call.arguments.get("idempotency_key")
    if key is None:
        return await effect(None), []
    keys, request = call.app.idempotency, {"arguments": call.arguments, "caller": call.caller.to_list()}
    done: list[str] = []

    async def known(_: object) -> str:
        if not done:
            raise _NewKeyError
        return done[0]

    with suppress(_NewKeyError):
        return (await keys.do_once(f"mcp.{call.name}", key, request, known))[0], list(repeated(is_first=False))
    done.append(await effect(key))
    await keys.do_once(f"mcp.{call.name}", key, request, known)
    return done[0], []


class _NewKeyError(Exception):
    """Nothing was asked with this key before."""


async def _context(work: WorkstreamService, call: Call) -> dict[str, Any]:
    return (await work.load(**_about(call))).to_dict()


def _known_client(call: Call) -> str | None:
    from holdfast.clients import CLIENTS

    return call.caller.client if call.caller.client in CLIENTS else None


def _properties() -> dict[str, Schema]:
    from holdfast.bundles.rounds import ROLES
    from holdfast.workstreams.model import DECISION_STATUSES, PHASES

    texts: Schema = {"type": "array", "items": {"type": "string"}}
    return {
        "session_id": SESSION_ID,
        "phase": {"type": "string", "enum": list(PHASES), "default": "implementation", "description": "Whose document"},
        "workstream_id": {"type": "string", "description": "Line of work; the branch without it"},
        "text": {"type": "string", "description": "decide, claim, round submit: one statement; what the role says"},
        "id": {"type": "string", "description": "decide: change this decision, such as D2"},
        "decision_status": {
            "type": "string",
            "enum": list(DECISION_STATUSES),
            "description": "decide: open by default",
        },
        "because": {"type": "string", "description": "decide: the reason, needed to reject"},
        "evidence": {
            **texts,
            "description": "claim: PATH:L1-L2, PATH#SYMBOL, PATH, or proof:ID, from the repository's top",
        },
        "kind": {"type": "string", "description": "claim: completion, when it says that something is done"},
        "summary": {"type": "string", "description": "save: where the work stands, for whoever continues"},
        "feature_request": {"type": "string", "description": "save: what it is about, as a label"},
        "expected_revision": {"type": "integer", "description": "save: refuse if somebody wrote since this revision"},
        "step": {"type": "string", "description": f"fail: what was being done; round: {', '.join(STEPS)}"},
        "error": {"type": "string", "description": "fail: what went wrong"},
        "next_action": {"type": "string", "description": "fail: what to try next"},
        "topic": {"type": "string", "description": "round start: what it is about"},
        "role": {"type": "string", "description": f"round submit: {', '.join(ROLES)}"},
        "sources": {**texts, "description": "round submit: repo:PATH, tool:COMMAND, user:WORDS"},
        "decisions": {**texts, "description": "round close: what was decided"},
        "questions": {**texts, "description": "round close: what stays open"},
        "idempotency_key": IDEMPOTENCY_KEY,
    }


def _object() -> Schema:
    return {"type": "object"}


TOOLS = (
    Tool(
        "repo_context",
        "What was noted about this line of work, checked here",
        (
            Operation("load", load, takes=ABOUT),
            Operation("bundle", bundle, takes=ABOUT),
            Operation("check", check, takes=ABOUT),
            Operation(
                "decide", decide, needs=("text",), takes=(*ABOUT, "id", "decision_status", "because"), writes=True
            ),
            Operation("claim", claim, needs=("text",), takes=(*ABOUT, "evidence", "kind"), writes=True),
            Operation(
                "save", save, needs=("summary",), takes=(*ABOUT, "feature_request", "expected_revision"), writes=True
            ),
            Operation("fail", fail, needs=("step", "error", "next_action"), takes=ABOUT, writes=True),
            Operation(
                "round",
                round_,
                needs=("step",),
                takes=(*ABOUT, "topic", "role", "text", "sources", "decisions", "questions"),
                writes=True,
            ),
        ),
        _properties,
        data={
            "context": _object(),
            "bundle": _object(),
            "decision": _object(),
            "claims": {"type": "array", "items": _object()},
            "round": _object(),
        },
        # `save` replaces a summary; the files are in git, and everything that was saved is in the journal.
        hints={"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": False},
    ),
)
