"""The same text in every field of what a bundle is made of."""

from dataclasses import replace
from datetime import UTC, datetime

from holdfast.bundles.model import (
    Gathered,
    LastAnswer,
    LastRequest,
    LastSession,
    RecalledMemory,
    Seen,
    WorkingNotes,
)
from holdfast.observations.changes import KnownFile
from holdfast.observations.decisions import SeenDecision
from holdfast.observations.digest import Decided, SeenRun, SeenSaying, Source
from holdfast.observations.sayings import Saying
from holdfast.observations.tasks import Task
from holdfast.workstreams.entries import ContextFields, Decision
from holdfast.workstreams.model import (
    Inherited,
    JudgedClaim,
    JudgedContext,
    JudgedDecision,
    JudgedEvidence,
    Key,
    NotedChange,
    NotedStep,
    Proof,
    RepoContext,
    Staleness,
)
from tests.bundles.situations import NOW

LEARNED = datetime(2026, 10, 2, tzinfo=UTC)


def fill_seen(text: str) -> Seen:
    """With another ending than elsewhere: a request that is quoted is not shown twice."""
    source = Source(text, 1, NOW)
    failed = SeenRun(text, text, (text,), text, "failed", "reported", text, (text,) * 5, source)
    passed = replace(failed, verdict="passed", instead_of=f"{text}2", is_missing=True)
    decision = SeenDecision("answered", text, text, 1, NOW)
    return Seen(
        failing=(failed, replace(failed, by="exit")),
        unclear=replace(failed, verdict="unknown"),
        last_pass=passed,
        changed_since=(text,) * 5,
        working=(passed,) * 3,
        said=(SeenSaying(Saying(f"{text}2", "refusal", 3), source),),
        decided=(Decided(decision, source), Decided(replace(decision, kind="denied"), source)),
        tasks=(Task(f"{text}2", "pending", 1), Task(text, "blocked", 1)),
        more_tasks=3,
        tasks_source=source,
        files=(KnownFile(f"{text}2", "edited", source),),
        read=(KnownFile(f"{text}3", "read", source),),
    )


def fill_every_field(
    phase: str,
    text: str,
    *,
    stale: bool = True,
    status: str = "rejected",
    is_own: bool = True,
    is_inherited: bool = False,
) -> Gathered:
    """The text in every field that another person or an agent can fill."""
    entry = Decision(id=text, text=text, status=status, because=text, by=text, updated_at=text)
    run = {"status": "failed", "failed_step": text, "error": text, "next_action": text, "at": text}
    context = RepoContext(
        Key(text, text, f"{text}2"),
        phase,
        ContextFields.from_dict(
            {
                "feature_request": text,
                "working_summary": {
                    "text": f"Goal: {text}\n{text}\nNext: {text}",
                    "updated_at": text,
                    "by": text,
                    "failing": text,
                },
                "checkpoint": {"git_head": text},
                "checklist": [text] * 5,
                "file_pointers": [text] * 5,
                "last_run": run,
                "last_errors": [run] * 3,
            }
        ),
        read_only=text,
        notes=(text,),
    )
    places = tuple(JudgedEvidence(text, verdict, text, (1, 2)) for verdict in ("ok", "moved"))
    claims = tuple(
        JudgedClaim(text, text, text, text, shown, is_own=is_own)
        for shown in (
            places,
            (JudgedEvidence(text, "changed", text),),
            (JudgedEvidence(text, "changed"),),
            (),
        )
    )
    change = NotedChange(text, text, 1, 1, True, text, text)
    ran = (
        Proof(text, (text, command), code, 1, text, text, "now", text, text, text, text, text)
        for command, code in ((text, 1), (f"{text}2", 1), (f"{text}3", 0))
    )
    decisions = tuple(
        JudgedDecision(replace(entry, status=each), is_own=is_own)
        for each in (status, "open", "accepted")
    )
    inherited = Inherited()
    if is_inherited:
        inherited = Inherited(
            decisions=tuple(replace(each, of=f"{text}2") for each in decisions),
            claims=tuple(replace(each, of=f"{text}2") for each in claims),
            steps=(NotedStep(text, of=f"{text}2", is_own=is_own),),
            branches=(text, f"{text}2"),
        )
    judged = JudgedContext(
        context=context,
        staleness=Staleness(stale, ("files",) if stale else (), 5, (change,) * 5, 9, 9, 9),
        claims=claims,
        decisions=decisions,
        head=text,
        tree="now",
        shared_decisions=(JudgedDecision(entry, of=text, is_own=is_own),),
        proofs=tuple(ran),
        inherited=inherited,
        of_others=ContextFields() if is_own else context.fields,
    )
    return Gathered(
        now=NOW,
        phase=phase,
        receipt="b-7f3a",
        repo=text,
        branch=text,
        judged=judged,
        rules=(text[:100],),
        context_sets={text: [text] * 3},
        context_source=text,
        request=LastRequest(text, text, NOW, text),
        before=LastRequest(text, text, NOW),
        question=LastAnswer(text, text, NOW),
        answer=LastAnswer(text, text, NOW),
        earlier=(LastRequest(text, text, NOW, text, event_id="1"),),
        unfinished=(LastRequest(text, text, NOW, text, event_id="2"),),
        last_session=LastSession(text, NOW, "cut off at", f"{text}2", text),
        notes=WorkingNotes(text, text, *[(text, text)] * 6),
        seen=fill_seen(text),
        missing=frozenset([text]),
        fence_key=b"key",
        recalled=tuple(
            RecalledMemory(text, text, text, LEARNED, category) for category in ("", "rule")
        ),
    )
