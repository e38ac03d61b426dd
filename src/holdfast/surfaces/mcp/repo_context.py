"""The `repo_context` tool: notes about this line of work, checked here, and what to add to them.

The notes are files, so a write keeps its key after its effect. A verb that adds an entry is given
the key as well: sent again after a crash between the two, it finds its own entry.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

from holdfast.bundles.errors import RoundNotFoundError
from holdfast.errors import InvalidValueError
from holdfast.ground.fence import fence_key
from holdfast.ground.frozen import dataclass, field
from holdfast.ground.off_loop import off_loop
from holdfast.ground.redaction import describe_masked
from holdfast.surfaces.mcp import pages, wording
from holdfast.surfaces.mcp.answer import Answer, make_write_answer, shorten
from holdfast.surfaces.mcp.call import describe_choice, describe_repeated
from holdfast.surfaces.mcp.cuts import describe_cuts
from holdfast.surfaces.mcp.tool import (
    DETAIL,
    IDEMPOTENCY_KEY,
    TEXT,
    TEXTS,
    Operation,
    Schema,
    Tool,
    make_list_schema,
    make_text_schema,
)
from holdfast.usecases.continuation import build_bundle

if TYPE_CHECKING:
    from holdfast.bundles.model import Bundle
    from holdfast.bundles.round_service import RoundService
    from holdfast.scope import Scope
    from holdfast.surfaces.mcp.call import Call
    from holdfast.workstreams.entries import Claim, Decision
    from holdfast.workstreams.model import JudgedClaim, JudgedContext, JudgedDecision, RepoContext
    from holdfast.workstreams.service import WorkstreamService
    from holdfast.write import Done

ABOUT = ("phase", "workstream_id")
NOTES = 10
NOTE_CHARS = 300
AROUND_PAGE = 600  # the cursor twice, and the call for the next page
MASKED = (  # the arguments whose texts are written to files
    *("text", "because", "summary", "feature_request", "step", "error", "next_action"),
    "items",
)
STEPS = ("start", "next", "submit", "close", "abandon")
ROUND = (
    "A round has the steps start (with topic), then for each role next, which gives its text, and "
    "submit (with role, text, sources), then close (with decisions, questions); abandon ends it "
    "without a result"
)
NO_RECEIPT = "No receipt was kept, because the store is busy."
STALE = (
    "The summary is stale. Read the files that changed before you rely on it, then save it again."
)


async def load(call: Call) -> Answer:
    """Page by page; the notes about the document are on the first one."""
    judged = await _open_work(call).load(**_pick_document(call))
    cursor = call.arguments.get("cursor")
    notes = [] if cursor is not None else _list_notes(judged)
    return await off_loop(_make_loaded, call, judged, cursor, notes)


async def check(call: Call) -> Answer:
    judged = await _open_work(call).load(**_pick_document(call))
    cursor = call.arguments.get("cursor")
    notes = [] if cursor is not None else _list_notes(judged)
    return await off_loop(_make_checked, call, judged, cursor, notes)


async def bundle(call: Call) -> Answer:
    """The frozen bytes of the caller's session; without a session, a bundle built now."""
    about = _pick_document(call)
    choice = await call.find_session()
    built, notes = await build_bundle(
        call.app,
        _open_work(call),
        **about,
        client=_find_known_client(call),
        session_id=choice.session_id,
        worktree=call.caller.worktree,
    )
    warnings = [*describe_choice(choice), *notes]
    brief: dict[str, Any] = {"id": built.id, "text": built.text}
    if not _has_receipt(built):
        brief["id"] = None
        warnings.append(NO_RECEIPT)
    if not call.wants_detail:
        return Answer({"bundle": brief}, warnings, text=built.text)
    text = describe_cuts(built, fence_key(call.app.settings.home))
    return Answer({"bundle": built.to_dict()}, warnings, text=text)


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
    context = await _get_noted(work, call)
    judged = _find_decision(context, done.result.subject)
    entry = {}
    if judged is not None:
        entry = judged.to_dict() if call.wants_detail else pages.make_decision(judged)
    return _answer_write(call, done, context, decision=entry)


async def claim(call: Call) -> Answer:
    given = call.arguments
    work = _open_work(call)
    evidence = _get_list(call, "evidence")

    async def verb(scope: Scope) -> NotedWork:
        judged = await work.claim(
            given["text"],
            evidence,
            kind=given.get("kind"),
            request_id=given.get("idempotency_key"),
            **_pick_document(call),
        )
        return NotedWork(judged.id, claim=judged)

    done = await call.write(verb, _repeat_noted, effect="files")
    found = done.result.claim
    if found is None:
        found = await work.find_claim(done.result.subject, **_pick_document(call))
    entries = []
    if found is not None:
        entries.append(found.to_dict() if call.wants_detail else pages.make_claim(found))
    return _answer_write(call, done, await _get_noted(work, call), claims=entries)


async def save(call: Call) -> Answer:
    from holdfast.usecases.verifying import find_seen_pass

    given = call.arguments
    work = _open_work(call)

    async def find_pass(own_paths: Sequence[str]) -> str | None:
        return await find_seen_pass(call.app, work.folder, own_paths)

    async def verb(scope: Scope) -> NotedWork:
        saved = await work.save(
            given["summary"],
            feature_request=given.get("feature_request"),
            expected_revision=given.get("expected_revision"),
            find_pass=find_pass,
            **_pick_document(call),
        )
        return NotedWork("", notes=tuple(saved.notes))

    done = await call.write(verb, _repeat_noted, effect="files")
    context = await _get_noted(work, call)
    return _answer_write(call, done, context, "working_summary")


async def fail(call: Call) -> Answer:
    run = call.pick("step", "error", "next_action")
    request_id = call.arguments.get("idempotency_key")
    return await _write_part(call, "last_run", _open_work(call).fail, **run, request_id=request_id)


async def checklist(call: Call) -> Answer:
    items = _get_list(call, "items")
    return await _write_part(call, "checklist", _open_work(call).set_checklist, items=items)


async def point(call: Call) -> Answer:
    paths = _get_list(call, "paths")
    return await _write_part(call, "file_pointers", _open_work(call).point, paths=paths)


async def withdraw(call: Call) -> Answer:
    work = _open_work(call)

    async def verb(scope: Scope) -> NotedWork:
        entry = await work.withdraw(call.arguments["id"], **_pick_document(call))
        return NotedWork(str(entry.id), answer={"id": entry.id, "text": entry.words})

    done = await call.write(verb, _repeat_noted, effect="files")
    context = await _get_noted(work, call)
    withdrawn = done.result.answer or _find_withdrawn(context, done.result.subject)
    return _answer_write(call, done, context, withdrawn=withdrawn)


async def restore(call: Call) -> Answer:
    work = _open_work(call)

    async def verb(scope: Scope) -> NotedWork:
        restored = await work.restore(**_pick_document(call))
        return NotedWork("", notes=tuple(restored.notes))

    done = await call.write(verb, _repeat_noted, effect="files")
    return _answer_write(call, done, await _get_noted(work, call), "decisions", "claims")


async def round_(call: Call) -> Answer:
    """One step of a role round; what a step needs is checked by the round itself."""

    async def verb(scope: Scope) -> NotedWork:
        step = await _run_step(call)
        return NotedWork(str(step["started_at"]), answer=step)

    async def read_again(scope: Scope, started_at: str) -> NotedWork:
        step = await _load_round(call, started_at)
        return NotedWork(started_at, answer=step)

    done = await call.write(verb, read_again, effect="files")
    step = dict(done.result.answer)
    notes = step.pop("notes", ())
    masked = describe_masked(call.pick("decisions", "questions"))
    warnings = [*notes, *masked, *describe_repeated(done)]
    if "instruction" in step:  # the text for a role is what was asked for
        return Answer({"round": step}, warnings, text=wording.describe_round({"round": step}))
    if not call.wants_detail:
        step.pop("submissions", None)
    return make_write_answer(
        {"round": step}, wording.describe_round, warnings, detail=call.wants_detail
    )


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
            raise InvalidValueError("step", unknown, f"is unknown. {ROUND}", known=STEPS)
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
    short: list[str] = shorten(notes, text_chars=NOTE_CHARS, entries=NOTES)
    return short


def _make_loaded(call: Call, judged: JudgedContext, cursor: object, notes: list[str]) -> Answer:
    page = pages.make_page(
        judged, pages.list_entries(judged), cursor, spent=_count_around(call, notes)
    )
    context = page.collect(fence_key(call.app.settings.home))
    data = {"context": context, **_name_next(page)}
    return Answer(data, notes, _list_next(call, page), text=wording.describe_page(data))


def _make_checked(call: Call, judged: JudgedContext, cursor: object, notes: list[str]) -> Answer:
    page = pages.make_page(
        judged, pages.list_claims(judged), cursor, spent=_count_around(call, notes)
    )
    context = page.collect(fence_key(call.app.settings.home))
    names = ("key", "phase", "revision", "stale", "staleness", "others")
    head = {name: context[name] for name in names if name in context}
    data = {"claims": context.get("claims", []), "context": head, **_name_next(page)}
    return Answer(data, notes, _list_next(call, page), text=wording.describe_check(data))


def _count_around(call: Call, notes: list[str]) -> int | None:
    """Of an answer without its page: the envelope, the notes and the way to the next page."""
    if call.wants_detail:
        return None
    return AROUND_PAGE + Answer(warnings=notes).chars


def _name_next(page: pages.Page) -> dict[str, Any]:
    if page.cursor is None:
        return {}
    return {"cursor": page.cursor, "left": page.left}


def _list_next(call: Call, page: pages.Page) -> list[str]:
    """The call for the next page, with what this one was about."""
    if page.cursor is None:
        return []
    operation = call.name.rpartition(".")[2]
    words = [f"repo_context operation={operation}"]
    words += [f"{name}={value}" for name, value in call.pick(*ABOUT).items()]
    return [" ".join([*words, f"cursor={page.cursor}"])]


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
    claim: JudgedClaim | None = None
    answer: dict[str, Any] = field(default_factory=dict)


async def _write(call: Call, verb: Callable[[], Awaitable[str]]) -> Done[NotedWork]:
    """For verbs that return the id of their entry: the answer is read from the notes afterwards."""

    async def run(scope: Scope) -> NotedWork:
        return NotedWork(await verb())

    return await call.write(run, _repeat_noted, effect="files")


async def _write_part(
    call: Call, part: str, set_part: Callable[..., Awaitable[Any]], **given: Any
) -> Answer:
    """For verbs that write one part of the document, which is then the answer."""

    async def verb() -> str:
        await set_part(**given, **_pick_document(call))
        return ""

    done = await _write(call, verb)
    return _answer_write(call, done, await _get_noted(_open_work(call), call), part)


async def _repeat_noted(scope: Scope, subject: str) -> NotedWork:
    return NotedWork(subject)


async def _get_noted(work: WorkstreamService, call: Call) -> RepoContext:
    return await work.get_noted(**_pick_document(call))


def _answer_write(
    call: Call, done: Done[NotedWork], context: RepoContext, *parts: str, **entries: Any
) -> Answer:
    """What was written, and the revision after it; `parts` are those of the document."""
    noted = {"phase": context.phase, "revision": context.revision, **_pick_parts(context, parts)}
    masked = describe_masked(call.pick(*MASKED))
    warnings = [*done.result.notes, *masked, *describe_repeated(done)]
    return make_write_answer(
        {**entries, "context": noted}, wording.describe_written, warnings, detail=call.wants_detail
    )


def _pick_parts(context: RepoContext, parts: Collection[str]) -> dict[str, Any]:
    summary = context.summary
    run = context.last_run
    known: dict[str, Any] = {
        "working_summary": summary and summary.to_dict(),
        "last_run": run and pages.make_run(run),
        "checklist": context.checklist,
        "file_pointers": [str(pointer) for pointer in context.pointers],
        "decisions": len(context.decisions),
        "claims": len(context.ledger),
    }
    return {name: known[name] for name in parts}


def _find_decision(context: RepoContext, uid: str) -> JudgedDecision | None:
    """None where it is no longer among the decisions that stand."""
    from holdfast.workstreams.model import JudgedDecision

    for decision in context.decisions:
        if decision.uid == uid:
            return JudgedDecision(decision)
    return None


def _find_withdrawn(context: RepoContext, entry_id: str) -> dict[str, str]:
    decisions, claims = context.fields.open_decisions, context.fields.evidence_ledger
    entries: list[Decision | Claim] = [*(decisions or ()), *(claims or ())]
    for entry in entries:
        if entry.id == entry_id:
            return {"id": entry_id, "text": entry.words}
    return {"id": entry_id, "text": entry_id}


def _has_receipt(built: Bundle) -> bool:
    from holdfast.bundles.service import NOT_KEPT

    head, _, _ = built.text.partition("\n")
    return NOT_KEPT not in head


def _find_known_client(call: Call) -> str | None:
    from holdfast.clients import CLIENTS

    client = call.caller.client
    return client if client in CLIENTS else None


def _make_properties() -> dict[str, Schema]:
    from holdfast.workstreams.entries import DECISION_STATUSES
    from holdfast.workstreams.model import PHASES

    return {
        "phase": {"type": "string", "enum": list(PHASES), "default": "implementation"},
        "workstream_id": make_text_schema("Default: the branch"),
        "text": TEXT,
        "id": TEXT,
        "decision_status": {"type": "string", "enum": list(DECISION_STATUSES)},
        "because": make_text_schema("The reason; needed to reject"),
        "evidence": make_list_schema("PATH:L1-L2, PATH#SYMBOL or proof:ID"),
        "items": make_list_schema("All that is left to do"),
        "paths": TEXTS,
        "summary": TEXT,
        **dict.fromkeys(("step", "error", "next_action"), TEXT),
        **dict.fromkeys(("cursor", "kind", "feature_request"), TEXT),
        "expected_revision": {"type": "integer"},
        "detail": DETAIL,
        **dict.fromkeys(("topic", "role"), TEXT),
        **dict.fromkeys(("sources", "decisions", "questions"), TEXTS),
        "session_id": TEXT,
        "idempotency_key": IDEMPOTENCY_KEY,
    }


WRITE = (*ABOUT, "detail")
TOOLS = (
    Tool(
        "repo_context",
        "What was noted about this line of work, checked here",
        (
            Operation("bundle", bundle, takes=(*ABOUT, "detail")),
            Operation("load", load, takes=(*ABOUT, "cursor", "detail")),
            Operation("check", check, takes=(*ABOUT, "cursor", "detail")),
            Operation(
                "decide",
                decide,
                needs=("text",),
                takes=(*WRITE, "id", "decision_status", "because"),
                writes=True,
            ),
            Operation(
                "claim", claim, needs=("text",), takes=(*WRITE, "evidence", "kind"), writes=True
            ),
            Operation("checklist", checklist, needs=("items",), takes=WRITE, writes=True),
            Operation("point", point, needs=("paths",), takes=WRITE, writes=True),
            Operation(
                "save",
                save,
                needs=("summary",),
                takes=(*WRITE, "feature_request", "expected_revision"),
                writes=True,
            ),
            Operation(
                "fail", fail, needs=("step", "error", "next_action"), takes=WRITE, writes=True
            ),
            Operation("withdraw", withdraw, needs=("id",), takes=WRITE, writes=True),
            Operation("restore", restore, takes=WRITE, writes=True),
            Operation(
                "round",
                round_,
                needs=("step",),
                takes=(*WRITE, "topic", "role", "text", "sources", "decisions", "questions"),
                writes=True,
                explained=ROUND,
            ),
        ),
        _make_properties,
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
