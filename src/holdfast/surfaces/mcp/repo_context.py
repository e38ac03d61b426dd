"""The `repo_context` tool: notes about this line of work, checked here, and what to add to them.

The notes are files, so a write keeps its key after its effect. A verb that adds an entry is given
the key as well: sent again after a crash between the two, it finds its own entry.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from holdfast.bundles.errors import RoundNotFoundError
from holdfast.errors import InvalidValueError
from holdfast.ground.off_loop import off_loop
from holdfast.surfaces.mcp.answer import Answer
from holdfast.surfaces.mcp.call import describe_choice, describe_repeated
from holdfast.surfaces.mcp.tool import (
    IDEMPOTENCY_KEY,
    SESSION_ID,
    Operation,
    Schema,
    Tool,
    make_list_schema,
    make_text_schema,
)

if TYPE_CHECKING:
    from holdfast.bundles.round_service import RoundService
    from holdfast.scope import Scope
    from holdfast.surfaces.mcp.call import Call
    from holdfast.workstreams.model import JudgedContext
    from holdfast.workstreams.service import WorkstreamService
    from holdfast.write import Done

ABOUT = ("phase", "workstream_id")
OBJECT: Schema = {"type": "object"}
STEPS = ("start", "next", "submit", "close", "abandon")
STALE = (
    "The summary is stale. Read the files that changed before you rely on it, then save it again."
)


async def load(call: Call) -> Answer:
    work = _open_work(call)
    judged = await work.load(**_pick_document(call))
    return Answer({"context": await off_loop(judged.to_dict)}, _list_notes(judged))


async def check(call: Call) -> Answer:
    work = _open_work(call)
    judged = await work.load(**_pick_document(call))
    context = await off_loop(judged.to_dict)
    return Answer({"claims": context["claims"], "context": context}, _list_notes(judged))


async def bundle(call: Call) -> Answer:
    """The frozen bytes of the caller's session; without a session, a bundle built now."""
    about = _pick_document(call)
    choice = await call.find_session()
    bundles = call.app.bundles(_open_work(call))
    built = await bundles.build(
        about["phase"],
        about["workstream_id"],
        client=_find_known_client(call),
        session_id=choice.session_id,
        worktree=call.caller.worktree,
    )
    return Answer({"bundle": built.to_dict()}, describe_choice(choice))


async def decide(call: Call) -> Answer:
    given = call.arguments
    work = _open_work(call)

    async def verb() -> str:
        entry = await work.decide(
            given["text"],
            decision_id=given.get("id"),
            status=given.get("decision_status"),
            because=given.get("because"),
            request_id=given.get("idempotency_key"),
            **_pick_document(call),
        )
        return str(entry.uid)

    done = await _write(call, verb)
    context = await _load_context(work, call)
    decision = _find_decision(context, done.result.subject)
    return Answer({"decision": decision, "context": context}, describe_repeated(done))


async def claim(call: Call) -> Answer:
    given = call.arguments
    work = _open_work(call)
    evidence = _get_list(call, "evidence")

    async def verb() -> str:
        judged = await work.claim(
            given["text"],
            evidence,
            kind=given.get("kind"),
            request_id=given.get("idempotency_key"),
            **_pick_document(call),
        )
        return judged.id

    done = await _write(call, verb)
    claim_id = done.result.subject
    context = await work.load(**_pick_document(call))
    claims = [entry.to_dict() for entry in context.claims if entry.id == claim_id]
    return Answer({"claims": claims}, describe_repeated(done))


async def save(call: Call) -> Answer:
    given = call.arguments
    work = _open_work(call)

    async def verb(scope: Scope) -> NotedWork:
        saved = await work.save(
            given["summary"],
            feature_request=given.get("feature_request"),
            expected_revision=given.get("expected_revision"),
            **_pick_document(call),
        )
        return NotedWork("", notes=tuple(saved.notes))

    done = await call.write(verb, _get_noted, effect="files")
    context = await _load_context(work, call)
    return Answer({"context": context}, [*done.result.notes, *describe_repeated(done)])


async def fail(call: Call) -> Answer:
    work = _open_work(call)
    run = call.pick("step", "error", "next_action")

    async def verb() -> str:
        await work.fail(
            **run, **_pick_document(call), request_id=call.arguments.get("idempotency_key")
        )
        return ""

    done = await _write(call, verb)
    context = await _load_context(work, call)
    return Answer({"context": context}, describe_repeated(done))


async def round_(call: Call) -> Answer:
    """One step of a role round; what a step needs is checked by the round itself."""

    async def verb(scope: Scope) -> NotedWork:
        step = await _run_step(call)
        return NotedWork(str(step["started_at"]), answer=step)

    async def read_again(scope: Scope, started_at: str) -> NotedWork:
        step = await _load_round(call, started_at)
        return NotedWork(started_at, answer=step)

    done = await call.write(verb, read_again, effect="files")
    step = done.result.answer
    notes = step.get("notes", ())
    return Answer({"round": step}, [*notes, *describe_repeated(done)])


async def _run_step(call: Call) -> dict[str, Any]:
    given = call.arguments
    rounds = _open_rounds(call)
    which = given.get("workstream_id")
    match given["step"]:
        case "start":
            done: Any = await rounds.start(given.get("topic", ""), which)
        case "next":
            done = await rounds.next(which)
        case "submit":
            sources = _get_list(call, "sources")
            done = await rounds.submit(given.get("role", ""), given.get("text", ""), sources, which)
        case "close":
            decisions = _get_list(call, "decisions")
            questions = _get_list(call, "questions")
            done = await rounds.close(decisions, questions, which)
        case "abandon":
            done = await rounds.abandon(which)
        case unknown:
            raise InvalidValueError("step", unknown, "is unknown", known=STEPS)
    result: dict[str, Any] = done.to_dict()
    return result


async def _load_round(call: Call, started_at: str) -> dict[str, Any]:
    """After a repeated step: how its round ended, else whose turn it is; empty if forgotten."""
    rounds = _open_rounds(call)
    which = call.arguments.get("workstream_id")
    ended = await rounds.find_ended(started_at, which)
    if ended is not None:
        return ended.to_dict()
    try:
        step = await rounds.next(which)
    except RoundNotFoundError:
        return {}
    return step.to_dict()


# --- within ---------------------------------------------------------------------------------------


def _open_work(call: Call) -> WorkstreamService:
    return call.app.work_in(call.caller.worktree)


def _open_rounds(call: Call) -> RoundService:
    return call.app.rounds(_open_work(call))


def _pick_document(call: Call) -> dict[str, Any]:
    return {
        "phase": call.arguments.get("phase", "implementation"),
        "workstream_id": call.arguments.get("workstream_id"),
    }


def _list_notes(judged: JudgedContext) -> list[str]:
    notes = list(judged.context.notes)
    if judged.context.read_only:
        notes.insert(0, judged.context.read_only)
    if judged.staleness.stale:
        notes.append(STALE)
    return notes


def _get_list(call: Call, name: str) -> list[Any]:
    given = call.arguments.get(name, [])
    if not isinstance(given, list):  # a text has parts too, and each letter would count as one
        raise InvalidValueError(name, given, 'is not a list; write it as ["…"]')
    return given


@dataclass(frozen=True)
class NotedWork:
    """What a write was about, and what its answer needs that cannot be read from the notes."""

    subject: str
    notes: tuple[str, ...] = ()
    answer: dict[str, Any] = field(default_factory=dict)


async def _write(call: Call, verb: Callable[[], Awaitable[str]]) -> Done[NotedWork]:
    """For verbs that return the id of their entry: the answer is read from the notes afterwards."""

    async def run(scope: Scope) -> NotedWork:
        return NotedWork(await verb())

    return await call.write(run, _get_noted, effect="files")


async def _get_noted(scope: Scope, subject: str) -> NotedWork:
    return NotedWork(subject)


async def _load_context(work: WorkstreamService, call: Call) -> dict[str, Any]:
    judged = await work.load(**_pick_document(call))
    return await off_loop(judged.to_dict)


def _find_decision(context: Mapping[str, Any], uid: str) -> dict[str, Any]:
    """Empty where it is no longer among the decisions that stand."""
    for decision in context["open_decisions"]:
        if decision.get("uid") == uid:
            return dict(decision)
    return {}


def _find_known_client(call: Call) -> str | None:
    from holdfast.clients import CLIENTS

    client = call.caller.client
    return client if client in CLIENTS else None


def _make_properties() -> dict[str, Schema]:
    from holdfast.workstreams.model import PHASES

    return {
        "session_id": SESSION_ID,
        "phase": {
            "type": "string",
            "enum": list(PHASES),
            "default": "implementation",
            "description": "Whose document",
        },
        "workstream_id": make_text_schema("Line of work; default: the branch"),
        "text": make_text_schema("decide, claim, round submit: one statement; what the role says"),
        **_make_note_properties(),
        **_make_run_properties(),
        **_make_round_properties(),
        "idempotency_key": IDEMPOTENCY_KEY,
    }


def _make_note_properties() -> dict[str, Schema]:
    """Of decisions and claims."""
    from holdfast.workstreams.entries import DECISION_STATUSES

    return {
        "id": make_text_schema("decide: change this decision, such as D2"),
        "decision_status": {
            "type": "string",
            "enum": list(DECISION_STATUSES),
            "description": "decide: open by default",
        },
        "because": make_text_schema("decide: the reason, needed to reject"),
        "evidence": make_list_schema(
            "claim: PATH:L1-L2, PATH#SYMBOL, PATH, or proof:ID, from the repository's top"
        ),
        "kind": make_text_schema("claim: completion, when it says that something is done"),
    }


def _make_run_properties() -> dict[str, Schema]:
    """Of summaries, failed runs and the steps of a round."""
    steps = ", ".join(STEPS)
    return {
        "summary": make_text_schema("save: the state of the work, for the next session"),
        "feature_request": make_text_schema("save: what it is about, as a label"),
        "expected_revision": {
            "type": "integer",
            "description": "save: refuse if it was changed after this revision",
        },
        "step": make_text_schema(f"fail: what was being done; round: {steps}"),
        "error": make_text_schema("fail: what went wrong"),
        "next_action": make_text_schema("fail: what to try next"),
    }


def _make_round_properties() -> dict[str, Schema]:
    from holdfast.bundles.rounds import ROLES

    roles = ", ".join(ROLES)
    return {
        "topic": make_text_schema("round start: what it is about"),
        "role": make_text_schema(f"round submit: {roles}"),
        "sources": make_list_schema("round submit: repo:PATH, tool:COMMAND, user:WORDS"),
        "decisions": make_list_schema("round close: what was decided"),
        "questions": make_list_schema("round close: what stays open"),
    }


TOOLS = (
    Tool(
        "repo_context",
        "What was noted about this line of work, checked here",
        (
            Operation("load", load, takes=ABOUT),
            Operation("bundle", bundle, takes=ABOUT),
            Operation("check", check, takes=ABOUT),
            Operation(
                "decide",
                decide,
                needs=("text",),
                takes=(*ABOUT, "id", "decision_status", "because"),
                writes=True,
            ),
            Operation(
                "claim", claim, needs=("text",), takes=(*ABOUT, "evidence", "kind"), writes=True
            ),
            Operation(
                "save",
                save,
                needs=("summary",),
                takes=(*ABOUT, "feature_request", "expected_revision"),
                writes=True,
            ),
            Operation(
                "fail", fail, needs=("step", "error", "next_action"), takes=ABOUT, writes=True
            ),
            Operation(
                "round",
                round_,
                needs=("step",),
                takes=(*ABOUT, "topic", "role", "text", "sources", "decisions", "questions"),
                writes=True,
            ),
        ),
        _make_properties,
        data={
            "context": OBJECT,
            "bundle": OBJECT,
            "decision": OBJECT,
            "claims": {"type": "array", "items": OBJECT},
            "round": OBJECT,
        },
        # `save` replaces a summary; the files are in git, and everything that was saved is in the
        # journal.
        hints={
            "readOnlyHint": False,
            "destructiveHint": True,
            "idempotentHint": False,
            "openWorldHint": False,
        },
    ),
)
