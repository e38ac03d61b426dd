"""What may be written about a line of work, and what a checkout says about it. Pure.

A summary is bound to the contents that it was written against: only saving it again moves that, whatever else is
written meanwhile. A claim is judged by its own evidence, so that one edited file makes nothing else doubtful.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from holdfast.errors import InvalidValueError, KeyReusedError
from holdfast.ground import canonical
from holdfast.ground.text import cut
from holdfast.workstreams import errors
from holdfast.workstreams.completion import claims_completion
from holdfast.workstreams.document import ERRORS_KEPT, next_decision_id, past_of, recover
from holdfast.workstreams.model import (
    CLAIM_KINDS,
    DECISION_STATUSES,
    PHASES,
    NotedChange,
    Proof,
    RepoContext,
    Staleness,
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


# --- which -----------------------------------------------------------------------------------------------


def check_phase(phase: str) -> str:
    if phase not in PHASES:
        raise InvalidValueError("Phase", phase, "is unknown", known=PHASES)
    return phase


def check_workstream_id(workstream_id: str) -> str:
    return _line("workstream_id", workstream_id, LABEL_CHARS)


def check_rules(rules: Iterable[str]) -> tuple[str, ...]:
    checked = tuple(_line("Pinned rule", rule, RULES_CHARS) for rule in rules)
    if (size := sum(map(len, checked))) > RULES_CHARS:
        raise InvalidValueError(
            "Pinned rules", f"{size} characters", f"are more than {RULES_CHARS}: they stand in every bundle whole"
        )
    return checked


# --- what is written ----------------------------------------------------------------------------------------


def decide(
    context: RepoContext,
    text: str | None,
    *,
    decision_id: str | None,
    status: str | None,
    because: str | None,
    by: str,
    uid: str,
    now: str,
    key: str | None = None,
) -> tuple[RepoContext, dict[str, Any]]:
    """A new decision, or a change of one that is there; what it was before stays in its history.

    It is named by its id or by its text. Without a text it keeps the one that it has.
    """
    known = context.entries("open_decisions")
    earlier = _find_decision(context, decision_id, text)
    text = _line("Decision", text if text is not None else (earlier or {}).get("text"), TEXT_CHARS)
    if repeated := _repeated(known, uid, "text", text, key):
        return context, repeated
    because = _line("because", because, TEXT_CHARS) if because is not None else None
    if status is not None and status not in DECISION_STATUSES:
        raise InvalidValueError("Status", status, "is unknown", known=DECISION_STATUSES)
    if status == "rejected" and because is None:
        raise InvalidValueError("Status", status, "needs a reason (because): it comes back with the alternative")
    said = {"text": text, "status": status or (earlier or {}).get("status") or "open"}
    said |= {"because": because} if because else {}
    if earlier is None:
        number = decision_id or next_decision_id(known)
        entry: dict[str, Any] = {"id": number, "uid": uid, "created_at": now}
    elif said.items() <= earlier.items():
        return context, earlier  # said once more, which changes nothing
    else:
        entry = {**earlier, "history": [*earlier.get("history", []), past_of(earlier)]}
    entry |= {**said, "by": by, "updated_at": now}
    others = [one for one in known if one is not earlier]
    changed = sorted([*others, entry], key=lambda one: str(one.get("created_at") or ""))
    return context.with_fields(open_decisions=changed, updated_at=now), entry


def claim(
    context: RepoContext,
    text: str,
    evidence: Sequence[Mapping[str, Any]],
    *,
    kind: str | None,
    by: str,
    uid: str,
    now: str,
    key: str | None = None,
) -> tuple[RepoContext, dict[str, Any]]:
    """A claim that something is done needs something that shows it."""
    text = _line("Claim", text, TEXT_CHARS)
    if repeated := _repeated(context.entries("evidence_ledger"), uid, "claim", text, key):
        return context, repeated
    check_evidence(evidence)
    if kind is not None and kind not in CLAIM_KINDS:
        raise InvalidValueError("kind", kind, "is unknown", known=CLAIM_KINDS)
    found = claims_completion(_as_seen(text))
    if found or kind == "completion":
        _check_shown(text, found.word if found else None, evidence)
    entry = {
        "id": f"c-{uid[-12:]}",
        "uid": uid,
        "claim": text,
        "kind": "completion" if found or kind == "completion" else (kind or "statement"),
        "files": [dict(one) for one in evidence if one.get("path")],
        "commands": [dict(one) for one in evidence if one.get("command")],
        "claimed_at": now,
        "by": by,
    }
    # Claimed once more it is the same claim with newer evidence, and not a second one that contradicts the first.
    others = [one for one in context.entries("evidence_ledger") if one.get("claim") != text]
    return context.with_fields(evidence_ledger=[*others, entry], updated_at=now), entry


def withdraw(context: RepoContext, note: str, *, by: str, now: str) -> tuple[RepoContext, dict[str, Any]]:
    """A claim or a decision, by id or words, that was a mistake: shown no more.

    Its place is kept, so that no merge brings it back.
    """
    standing = [*context.decisions, *context.ledger]
    words, names = " ".join(note.split()), ("id", "text", "claim")
    found = next((one for one in standing if words in [one.get(name) for name in names]), None)
    if found is None:
        raise errors.NoteNotFoundError(note, [str(one.get("id")) for one in standing])
    entry = {**found, "withdrawn_at": now, "updated_at": now, "withdrawn_by": by}
    changes = {
        name: [entry if one is found else one for one in context.entries(name)]
        for name in ("open_decisions", "evidence_ledger")
    }
    return context.with_fields(**{name: kept for name, kept in changes.items() if kept}, updated_at=now), entry


def restore(context: RepoContext, kept: RepoContext | None, *, now: str) -> RepoContext:
    """With what this machine saved and the file has lost."""
    fields = recover(dict(context.fields), dict(kept.fields)) if kept else context.fields
    return context if fields == context.fields else replace(context, fields={**fields, "updated_at": now}, notes=())


def set_checklist(context: RepoContext, items: Sequence[str], *, now: str) -> RepoContext:
    if len(items) > CHECKLIST_ITEMS:
        raise InvalidValueError("checklist", len(items), f"has more than {CHECKLIST_ITEMS} items")
    checked = [_line("Checklist item", item, TEXT_CHARS) for item in items]
    return context.with_fields(checklist=list(dict.fromkeys(checked)), updated_at=now)


def point(context: RepoContext, pointers: Sequence[str], *, now: str) -> RepoContext:
    union = list(dict.fromkeys([*context.pointers, *(_line("Pointer", one, LABEL_CHARS * 2) for one in pointers)]))
    if len(union) > POINTERS:
        raise InvalidValueError("pointers", len(union), f"are more than {POINTERS}")
    return context.with_fields(file_pointers=union, updated_at=now)


def save(
    context: RepoContext,
    summary: str,
    *,
    checkpoint: Mapping[str, Any],
    feature_request: str | None,
    verified_by: str,
    by: str,
    now: str,
) -> RepoContext:
    """The summary, together with the state that it was written against."""
    text = check_summary(summary)
    changes: dict[str, Any] = {
        "working_summary": {"text": text, "updated_at": now, "by": by, "verified_by": verified_by, "stale": False},
        "checkpoint": {**checkpoint, "summary_hash": summary_hash(text)},
        "updated_at": now,
    }
    if feature_request is not None:
        changes["feature_request"] = _line("feature_request", feature_request, LABEL_CHARS)
    if (context.last_run or {}).get("status") == "failed":
        changes["last_run"] = {"status": "ok", "at": now}
    fields = {name: value for name, value in context.fields.items() if name != "other_summaries"}
    return RepoContext(context.key, context.phase, {**fields, **changes}, context.revision)


def fail(
    context: RepoContext, *, step: str, error: str, next_action: str, uid: str, now: str, key: str | None = None
) -> RepoContext:
    """What stopped a run, and nothing else: a failed run has no say in what is true.

    Long texts are cut and not refused: of a failure that nobody noted nobody learns. The same error once more is the
    same one, as it happened last.
    """
    error = _text("error", _middle_cut(error), ERROR_CHARS)
    if _repeated(context.entries("last_errors"), uid, "error", error, key):
        return context
    run = {
        "status": "failed",
        "failed_step": _line("step", _cut(step), TEXT_CHARS),
        "error": error,
        "next_action": _line("next_action", _cut(next_action), TEXT_CHARS),
        "at": now,
        "uid": uid,
    }
    same = ("failed_step", "error")
    others = [one for one in context.entries("last_errors") if any(one.get(name) != run[name] for name in same)]
    kept = [*others, {name: run[name] for name in (*same, "at", "uid")}]
    return context.with_fields(last_run=run, last_errors=kept[-ERRORS_KEPT:], updated_at=now)


def succeed(context: RepoContext, *, now: str) -> RepoContext:
    """A run that got through ends the failure of an earlier one; that stays among the last errors."""
    if (context.last_run or {}).get("status") != "failed":
        return context
    return context.with_fields(last_run={"status": "ok", "at": now}, updated_at=now)


def _middle_cut(error: object) -> object:
    """A traceback says at its end what happened, and at its beginning where it came from."""
    if not isinstance(error, str):
        return error
    text = error.replace("\x00", "\\x00").strip()
    if len(text) <= ERROR_CHARS:
        return text
    left_out = f"\n… {len(text) - ERROR_CHARS * 3 // 4:,} characters are left out here …\n"
    return text[: ERROR_CHARS // 4] + left_out + text[-ERROR_CHARS // 2 :]


def _cut(text: object) -> object:
    return cut(text.replace("\x00", "\\x00"), TEXT_CHARS) if isinstance(text, str) else text


def check_evidence(evidence: Sequence[object]) -> None:
    if len(evidence) > EVIDENCE_PER_CLAIM:
        raise InvalidValueError("evidence", len(evidence), f"is more than {EVIDENCE_PER_CLAIM} pieces")


def check_revision(revision: object) -> None:
    if revision is not None and (not isinstance(revision, int) or isinstance(revision, bool) or revision < 0):
        raise InvalidValueError("expected_revision", revision, "is not a number from 0 on")


def check_summary(summary: str) -> str:
    return _text("Summary", summary, SUMMARY_CHARS)


def summary_hash(text: str) -> str:
    return canonical.sha256(text.encode()).hex()


def verified_by(*, by_hand: bool, tree: str, is_committed: bool, proofs: Iterable[Proof]) -> str:
    """What stands behind a summary, or a refusal: a proof on this tree, a commit, or a person who says so."""
    if passed := next((proof for proof in proofs if proof.passed and proof.tree == tree), None):
        return f"proof {passed.id}"
    if is_committed:
        return "commit"
    if by_hand:
        return "hand"
    raise errors.NotVerifiedError()


# --- what the checkout says ---------------------------------------------------------------------------------


def judge_staleness(
    context: RepoContext,
    *,
    tree: str,
    changed: Iterable[str] | None,
    noted: Sequence[NotedChange],
    commits: int | None,
    uncommitted: int,
) -> Staleness:
    """`changed` are all paths that differ from the checkpoint; None where its state is no longer known."""
    summary, checkpoint = context.summary, context.checkpoint
    if summary is None:
        return Staleness(stale=False, uncommitted=uncommitted)
    names = set(context.noted_files())
    reasons = []
    if checkpoint.get("tracked_files_hash") != tree or any(change.what == "changed" for change in noted):
        reasons.append("files")  # also of a file that git was told not to look at
    if checkpoint.get("summary_hash") != summary_hash(summary["text"]):
        reasons.append("summary")  # edited or merged without a checkpoint of its own
    if not reasons:  # a new head with the same contents makes nothing stale
        return Staleness(stale=False, noted=len(names), changed=tuple(noted), commits=commits, uncommitted=uncommitted)
    others = None if changed is None else len(set(changed) - names)
    return Staleness(
        stale=True,
        reasons=tuple(reasons),
        noted=len(names),
        changed=tuple(noted),
        others=others,
        commits=commits,
        uncommitted=uncommitted,
    )


def _repeated(
    entries: Iterable[dict[str, Any]], uid: str, name: str, text: str, key: str | None
) -> dict[str, Any] | None:
    """The entry of a request that is made once more; the same `key` for another text is a mistake."""
    found = next((one for one in entries if one.get("uid") == uid), None)
    if found is not None and found.get(name) != text:
        raise KeyReusedError(key or uid)
    return found


def _as_seen(text: str) -> str:
    """What a reader sees: without unseen characters, in plain letters; marks around the whole quote nobody."""
    plain = unicodedata.normalize("NFKC", text)
    seen = "".join(character for character in plain if unicodedata.category(character) != "Cf").strip()
    while len(seen) > 2 and (seen[0], seen[-1]) in QUOTES and not {seen[0], seen[-1]} & set(seen[1:-1]):
        seen = seen[1:-1].strip()
    return seen


def _check_shown(text: str, word: str | None, evidence: Sequence[Mapping[str, Any]]) -> None:
    """A command that failed shows that it is not done; a file alone shows that there is a file."""
    for one in evidence:
        if one.get("command") and not (one.get("exit_code") == 0 and one.get("tree")):
            raise errors.ProofFailedError(text, " ".join(map(str, one["command"])), one.get("exit_code"))
    if not any(one.get("lines") or one.get("symbol") or one.get("command") for one in evidence):
        raise errors.EvidenceMissingError(text, word)


def _find_decision(context: RepoContext, decision_id: str | None, text: str | None) -> dict[str, Any] | None:
    """By its id, or by the very same words: to say them once more is not to decide twice."""
    if decision_id is None:
        words = " ".join(text.split()) if isinstance(text, str) else None
        return next((one for one in context.decisions if one.get("text") == words), None)
    if not _is_free_id(decision_id):
        raise InvalidValueError("Decision id", decision_id, "is no id; they are D1, D2, …")
    found = next((one for one in context.entries("open_decisions") if one.get("id") == decision_id), None)
    if found is None and text is None:
        raise errors.NoteNotFoundError(decision_id, [str(one.get("id")) for one in context.decisions])
    if found is not None and found.get("withdrawn_at"):
        raise InvalidValueError("Decision id", decision_id, "was withdrawn; without an id a new one is made")
    return found


def _is_free_id(decision_id: object) -> bool:
    return isinstance(decision_id, str) and re.fullmatch("D[1-9][0-9]{0,5}", decision_id) is not None


def _line(name: str, value: object, max_chars: int) -> str:
    """One line: ends of lines and runs of spaces become one space."""
    return " ".join(_text(name, value, max_chars).split())


def _text(name: str, value: object, max_chars: int) -> str:
    text = canonical.check_text(name, value, max_bytes=4 * max_chars).strip()
    if not text:
        raise InvalidValueError(name, value, "is empty")
    if len(text) > max_chars:
        raise InvalidValueError(name, text, f"is longer than {max_chars:,} characters")
    return text
