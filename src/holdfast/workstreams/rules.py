"""What may be written about a line of work. Pure.

A summary is bound to the contents that it was written against: only saving it again moves that,
whatever else is written meanwhile. A claim is judged by its own evidence, so that one edited file
makes nothing else doubtful.

A rule takes a document and returns the new one together with the entry that it was asked for.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from holdfast.errors import InvalidValueError, KeyReusedError
from holdfast.ground import canonical
from holdfast.ground.text import cut
from holdfast.workstreams import errors
from holdfast.workstreams.completion import find_completion
from holdfast.workstreams.entries import (
    CLAIM_KINDS,
    DECISION_STATUSES,
    Checkpoint,
    Claim,
    Decision,
    NotedRun,
    Pointer,
    Summary,
)
from holdfast.workstreams.evidence import CommandEvidence, Evidence
from holdfast.workstreams.merging import ERRORS_KEPT, next_decision_id, recover_context
from holdfast.workstreams.model import (
    PHASES,
    ContextChange,
    Proof,
    RepoContext,
)

SUMMARY_CHARS = 8_000
TEXT_CHARS = 1_000
ERROR_CHARS = 4_000
LABEL_CHARS = 200
RULES_CHARS = 350
CHECKLIST_ITEMS = 50
POINTERS = 50
EVIDENCE_PER_CLAIM = 20
DIRTY_FILES_KEPT = 200
QUOTES = {('"', '"'), ("'", "'"), ("`", "`"), ("“", "”"), ("‘", "’"), ("«", "»")}

_DECISION_ID = re.compile("D[1-9][0-9]{0,5}")


@dataclass(frozen=True)
class Stamp:
    """Who writes and when; `uid` is the entry's own id, and `key` the one that a caller named its
    request by.
    """

    by: str
    uid: str
    now: str
    key: str | None = None


# --- which ----------------------------------------------------------------------------------------


def check_phase(phase: str) -> str:
    if phase not in PHASES:
        raise InvalidValueError("Phase", phase, "is unknown", known=PHASES)
    return phase


def check_workstream_id(workstream_id: str) -> str:
    return _check_line("workstream_id", workstream_id, LABEL_CHARS)


def check_rules(rules: Iterable[str]) -> tuple[str, ...]:
    checked = tuple(_check_line("Pinned rule", rule, RULES_CHARS) for rule in rules)
    size = sum(map(len, checked))
    if size > RULES_CHARS:
        raise InvalidValueError(
            "Pinned rules",
            f"{size} characters",
            f"are more than {RULES_CHARS}: they stand in every bundle whole",
        )
    return checked


def check_revision(revision: object) -> None:
    is_number = isinstance(revision, int) and not isinstance(revision, bool) and revision >= 0
    if revision is not None and not is_number:
        raise InvalidValueError("expected_revision", revision, "is not a number from 0 on")


# --- decisions ------------------------------------------------------------------------------------


def decide(
    context: RepoContext,
    text: str | None,
    *,
    decision_id: str | None,
    status: str | None,
    because: str | None,
    stamp: Stamp,
) -> ContextChange[Decision]:
    """A new decision, or a change of one that is there; what it was before stays in its history.

    It is named by its id or by its text. Without a text it keeps the one that it has.
    """
    known = context.fields.open_decisions or ()
    earlier = _find_decision(context, decision_id, text)
    wanted = _check_wording(earlier, text, status, because)
    repeated = next((decision for decision in known if decision.uid == stamp.uid), None)
    if repeated:
        _check_same_request(repeated.text, wanted.text, stamp)
        return ContextChange(context, repeated)
    if earlier and wanted.is_same_as(earlier):
        return ContextChange(context, earlier)
    entry = earlier or Decision(
        id=decision_id or next_decision_id(known), uid=stamp.uid, created_at=stamp.now
    )
    if earlier:
        entry = replace(entry, history=(*(earlier.history or ()), earlier.as_past))
    entry = replace(
        entry, text=wanted.text, status=wanted.status, by=stamp.by, updated_at=stamp.now
    )
    if wanted.because:
        entry = replace(entry, because=wanted.because)
    others = [decision for decision in known if decision is not earlier]
    changed = sorted([*others, entry], key=lambda decision: decision.made_at)
    return ContextChange(
        context.with_fields(open_decisions=tuple(changed), updated_at=stamp.now), entry
    )


@dataclass(frozen=True)
class Wording:
    """What a decision is to say."""

    text: str
    status: str
    because: str | None

    def is_same_as(self, decision: Decision) -> bool:
        has_reason = self.because is None or self.because == decision.because
        return has_reason and (self.text, self.status) == (decision.text, decision.status)


def _check_wording(
    earlier: Decision | None, text: str | None, status: str | None, because: str | None
) -> Wording:
    if text is None and earlier:
        text = earlier.text
    text = _check_line("Decision", text, TEXT_CHARS)
    if because is not None:
        because = _check_line("because", because, TEXT_CHARS)
    if status is not None and status not in DECISION_STATUSES:
        raise InvalidValueError("Status", status, "is unknown", known=DECISION_STATUSES)
    if status == "rejected" and because is None:
        raise InvalidValueError(
            "Status", status, "needs a reason (because): it comes back with the alternative"
        )
    earlier_status = earlier.status if earlier else None
    return Wording(text, status or earlier_status or "open", because)


def _find_decision(
    context: RepoContext, decision_id: str | None, text: str | None
) -> Decision | None:
    """By its id, or by the very same words: to say them once more is not to decide twice."""
    if decision_id is None:
        words = " ".join(text.split()) if isinstance(text, str) else None
        return next((decision for decision in context.decisions if decision.text == words), None)
    if not _DECISION_ID.fullmatch(str(decision_id)):
        raise InvalidValueError("Decision id", decision_id, "is no id; they are D1, D2, …")
    known = context.fields.open_decisions or ()
    found = next((decision for decision in known if decision.id == decision_id), None)
    if found is None and text is None:
        raise errors.NoteNotFoundError(
            decision_id, [str(decision.id) for decision in context.decisions]
        )
    if found is not None and found.withdrawn_at:
        raise InvalidValueError(
            "Decision id", decision_id, "was withdrawn; without an id a new one is made"
        )
    return found


# --- claims ---------------------------------------------------------------------------------------


def claim(
    context: RepoContext,
    text: str,
    evidence: Sequence[Evidence | CommandEvidence],
    *,
    kind: str | None,
    stamp: Stamp,
) -> ContextChange[Claim]:
    """A claim that something is done needs something that shows it."""
    text = _check_line("Claim", text, TEXT_CHARS)
    known = context.fields.evidence_ledger or ()
    repeated = next((each for each in known if each.uid == stamp.uid), None)
    if repeated:
        _check_same_request(repeated.claim, text, stamp)
        return ContextChange(context, repeated)
    check_evidence(evidence)
    entry = Claim(
        id=f"c-{stamp.uid[-12:]}",
        uid=stamp.uid,
        claim=text,
        kind=_check_kind(text, kind, evidence),
        files=tuple(shown for shown in evidence if isinstance(shown, Evidence)),
        commands=tuple(shown for shown in evidence if isinstance(shown, CommandEvidence)),
        claimed_at=stamp.now,
        by=stamp.by,
    )
    # Claimed once more it is the same claim with newer evidence, and not a second one that
    # contradicts the first.
    others = [each for each in known if each.claim != text]
    return ContextChange(
        context.with_fields(evidence_ledger=(*others, entry), updated_at=stamp.now), entry
    )


def check_evidence(evidence: Sequence[object]) -> None:
    if len(evidence) > EVIDENCE_PER_CLAIM:
        raise InvalidValueError(
            "evidence", len(evidence), f"is more than {EVIDENCE_PER_CLAIM} pieces"
        )


def _check_kind(text: str, kind: str | None, evidence: Sequence[Evidence | CommandEvidence]) -> str:
    """Words that say it is done make it a completion, whatever the caller calls it."""
    if kind is not None and kind not in CLAIM_KINDS:
        raise InvalidValueError("kind", kind, "is unknown", known=CLAIM_KINDS)
    found = find_completion(_remove_unseen(text))
    if not found and kind != "completion":
        return kind or "statement"
    _check_shown(text, found.word if found else None, evidence)
    return "completion"


def _check_shown(
    text: str, word: str | None, evidence: Sequence[Evidence | CommandEvidence]
) -> None:
    """A command that failed shows that it is not done; a file alone shows that there is a file."""
    commands = [shown for shown in evidence if isinstance(shown, CommandEvidence)]
    for command in commands:
        if command.exit_code != 0 or not command.tree:
            raise errors.ProofFailedError(text, command.text, command.exit_code)
    places = [
        shown for shown in evidence if isinstance(shown, Evidence) and (shown.lines or shown.symbol)
    ]
    if not places and not commands:
        raise errors.EvidenceMissingError(text, word)


def _remove_unseen(text: str) -> str:
    """What a reader sees: without unseen characters, in plain letters; marks around the whole quote
    nobody.
    """
    plain = unicodedata.normalize("NFKC", text)
    seen = "".join(
        character for character in plain if unicodedata.category(character) != "Cf"
    ).strip()
    while (
        len(seen) > 2
        and (seen[0], seen[-1]) in QUOTES
        and not {seen[0], seen[-1]} & set(seen[1:-1])
    ):
        seen = seen[1:-1].strip()
    return seen


# --- other notes ----------------------------------------------------------------------------------


def withdraw(
    context: RepoContext, note: str, *, by: str, now: str
) -> ContextChange[Decision | Claim]:
    """A claim or a decision, by id or words, that was a mistake: shown no more.

    Its place is kept, so that no merge brings it back.
    """
    standing: list[Decision | Claim] = [*context.decisions, *context.ledger]
    words = " ".join(note.split())
    found = next((entry for entry in standing if words in (entry.id, entry.words or None)), None)
    if found is None:
        raise errors.NoteNotFoundError(note, [str(entry.id) for entry in standing])
    entry = replace(found, withdrawn_at=now, updated_at=now, withdrawn_by=by)
    fields = context.fields
    decisions = tuple(entry if each is found else each for each in fields.open_decisions or ())
    claims = tuple(entry if each is found else each for each in fields.evidence_ledger or ())
    changed = context.with_fields(
        open_decisions=decisions or fields.open_decisions,
        evidence_ledger=claims or fields.evidence_ledger,
        updated_at=now,
    )
    return ContextChange(changed, entry)


def restore(context: RepoContext, kept: RepoContext | None, *, now: str) -> ContextChange[None]:
    """With what this machine saved and the file has lost."""
    fields = recover_context(context.fields, kept.fields) if kept else context.fields
    if fields == context.fields:
        return ContextChange(context, None)
    return ContextChange(replace(context, fields=replace(fields, updated_at=now), notes=()), None)


def set_checklist(context: RepoContext, items: Sequence[str], *, now: str) -> ContextChange[None]:
    if len(items) > CHECKLIST_ITEMS:
        raise InvalidValueError("checklist", len(items), f"has more than {CHECKLIST_ITEMS} items")
    checked = [_check_line("Checklist item", item, TEXT_CHARS) for item in items]
    steps = tuple(dict.fromkeys(checked))
    return ContextChange(context.with_fields(checklist=steps, updated_at=now), None)


def point(context: RepoContext, pointers: Sequence[Pointer], *, now: str) -> ContextChange[None]:
    checked = [
        Pointer.parse(_check_line("Pointer", str(pointer), LABEL_CHARS * 2)) for pointer in pointers
    ]
    union = tuple(dict.fromkeys([*context.pointers, *checked]))
    if len(union) > POINTERS:
        raise InvalidValueError("pointers", len(union), f"are more than {POINTERS}")
    return ContextChange(context.with_fields(file_pointers=union, updated_at=now), None)


# --- the summary ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class SummaryToSave:
    """What is saved, what stands behind it, and the revision of the document that its writer had
    read.
    """

    text: str
    feature_request: str | None
    verified_by: str
    expected_revision: int | None


def save(
    context: RepoContext, summary: SummaryToSave, *, checkpoint: Checkpoint, by: str, now: str
) -> ContextChange[None]:
    """The summary, together with the state that it was written against."""
    expected = summary.expected_revision
    if expected is not None and expected != context.revision:
        raise errors.ContextChangedError(expected, context.revision)
    text = check_summary(summary.text)
    fields = replace(
        context.fields,
        working_summary=Summary(
            text=text, updated_at=now, by=by, verified_by=summary.verified_by, stale=False
        ),
        checkpoint=replace(checkpoint, summary_hash=hash_summary(text)),
        other_summaries=None,
        updated_at=now,
    )
    if summary.feature_request is not None:
        label = _check_line("feature_request", summary.feature_request, LABEL_CHARS)
        fields = replace(fields, feature_request=label)
    if context.failed_run:
        fields = replace(fields, last_run=NotedRun(status="ok", at=now))
    return ContextChange(RepoContext(context.key, context.phase, fields, context.revision), None)


def check_summary(summary: str) -> str:
    return _check_text("Summary", summary, SUMMARY_CHARS)


def hash_summary(text: str) -> str:
    return canonical.sha256(text.encode()).hex()


def find_verification(
    *, by_hand: bool, tree: str, is_committed: bool, proofs: Iterable[Proof]
) -> str:
    """What stands behind a summary, or a refusal: a proof on this tree, a commit, or a person who
    says so.
    """
    passed = next((proof for proof in proofs if proof.passed and proof.tree == tree), None)
    if passed:
        return f"proof {passed.id}"
    if is_committed:
        return "commit"
    if by_hand:
        return "hand"
    raise errors.NotVerifiedError()


# --- runs -----------------------------------------------------------------------------------------


def fail(
    context: RepoContext, *, step: str, error: str, next_action: str, stamp: Stamp
) -> ContextChange[None]:
    """What stopped a run, and nothing else: a failed run has no say in what is true.

    Long texts are cut and not refused: of a failure that nobody noted nobody learns. The same error
    once more is the same one, as it happened last.
    """
    error = _check_text("error", _cut_middle(error), ERROR_CHARS)
    known = context.fields.last_errors or ()
    repeated = next((run for run in known if run.uid == stamp.uid), None)
    if repeated:
        _check_same_request(repeated.error, error, stamp)
        return ContextChange(context, None)
    run = NotedRun(
        status="failed",
        failed_step=_check_line("step", _cut_end(step), TEXT_CHARS),
        error=error,
        next_action=_check_line("next_action", _cut_end(next_action), TEXT_CHARS),
        at=stamp.now,
        uid=stamp.uid,
    )
    others = [
        each for each in known if (each.failed_step, each.error) != (run.failed_step, run.error)
    ]
    kept = (*others, NotedRun(failed_step=run.failed_step, error=run.error, at=run.at, uid=run.uid))
    changed = context.with_fields(
        last_run=run, last_errors=kept[-ERRORS_KEPT:], updated_at=stamp.now
    )
    return ContextChange(changed, None)


def succeed(context: RepoContext, *, now: str) -> ContextChange[None]:
    """A run that got through ends the failure of an earlier one; that stays among the last errors."""
    if context.failed_run is None:
        return ContextChange(context, None)
    passed = NotedRun(status="ok", at=now)
    return ContextChange(context.with_fields(last_run=passed, updated_at=now), None)


def _cut_middle(error: object) -> object:
    """A traceback says at its end what happened, and at its beginning where it came from."""
    if not isinstance(error, str):
        return error
    text = error.replace("\x00", "\\x00").strip()
    if len(text) <= ERROR_CHARS:
        return text
    left_out = f"\n… {len(text) - ERROR_CHARS * 3 // 4:,} characters are left out here …\n"
    return text[: ERROR_CHARS // 4] + left_out + text[-ERROR_CHARS // 2 :]


def _cut_end(text: object) -> object:
    return cut(text.replace("\x00", "\\x00"), TEXT_CHARS) if isinstance(text, str) else text


# --- small pieces ---------------------------------------------------------------------------------


def _check_same_request(earlier: str | None, text: str, stamp: Stamp) -> None:
    """A request that is made once more finds its entry; the same key for another text is a mistake."""
    if earlier != text:
        raise KeyReusedError(stamp.key or stamp.uid)


def _check_line(name: str, value: object, max_chars: int) -> str:
    """One line: ends of lines and runs of spaces become one space."""
    return " ".join(_check_text(name, value, max_chars).split())


def _check_text(name: str, value: object, max_chars: int) -> str:
    text = canonical.check_text(name, value, max_bytes=4 * max_chars).strip()
    if not text:
        raise InvalidValueError(name, value, "is empty")
    if len(text) > max_chars:
        raise InvalidValueError(name, text, f"is longer than {max_chars:,} characters")
    return text
