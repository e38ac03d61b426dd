"""What may be written about a line of work, and what a checkout says about it. Pure.

A summary is bound to the contents that it was written against: only saving it again moves that, whatever else is
written meanwhile. A claim is judged by its own evidence, so that one edited file makes nothing else doubtful.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from holdfast import errors
from holdfast.ground import canonical
from holdfast.workstreams.completion import claims_completion
from holdfast.workstreams.document import ERRORS_KEPT, next_decision_id
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
ON, OFF = ("true", "1", "yes", "on"), ("false", "0", "no", "off")


# --- whether, and which -------------------------------------------------------------------------------------


def is_shared(*, asked: bool | None, environment: str | None, chosen: bool, repository_says: bool | None) -> bool:
    """The flag: what the program says, then the environment, then the person's settings.

    A file in the repository can only take consent away: whoever can change a file must not be able to switch it on.
    """
    if asked is not None:
        return asked
    if environment:
        word = environment.strip().casefold()
        if word not in ON + OFF:
            raise errors.InvalidValueError("SHARED_CONTEXT_ENABLED", environment, "is neither true nor false")
        return word in ON
    return chosen and repository_says is not False


def flag_in_config(text: str) -> bool | None:
    """What a repository's graph configuration says about sharing; anything but a plain true or false says nothing."""
    said: bool | None = None
    inside = False
    for line in text.splitlines():
        name, _, value = line.partition("#")[0].partition(":")
        if line[:1].strip():
            inside = name.strip() == "shared_context"
        if name.strip() in ("shared_context", "shared_context_enabled", "share_session") or (
            inside and name.strip() == "enabled"
        ):
            word = value.strip().strip("\"'").casefold()
            said = word in ON if word in ON + OFF else said
    return said


def check_phase(phase: str) -> str:
    if phase not in PHASES:
        raise errors.InvalidValueError("Phase", phase, "is unknown", known=PHASES)
    return phase


def check_workstream_id(workstream_id: str) -> str:
    return _line("workstream_id", workstream_id, LABEL_CHARS)


def check_rules(rules: Iterable[str]) -> tuple[str, ...]:
    checked = tuple(_line("Pinned rule", rule, RULES_CHARS) for rule in rules)
    if (size := sum(map(len, checked))) > RULES_CHARS:
        raise errors.InvalidValueError(
            "Pinned rules", f"{size} characters", f"are more than {RULES_CHARS}: they stand in every bundle whole"
        )
    return checked


# --- what is written ----------------------------------------------------------------------------------------


def decide(
    context: RepoContext,
    text: str,
    *,
    decision_id: str | None,
    status: str | None,
    because: str | None,
    by: str,
    uid: str,
    now: str,
    key: str | None = None,
) -> tuple[RepoContext, dict[str, Any]]:
    """A new decision, or a change of one that is there; what it was before stays in its history."""
    text = _line("Decision", text, TEXT_CHARS)
    if repeated := _repeated(context.decisions, uid, "text", text, key):
        return context, repeated
    because = _line("because", because, TEXT_CHARS) if because is not None else None
    if status is not None and status not in DECISION_STATUSES:
        raise errors.InvalidValueError("Status", status, "is unknown", known=DECISION_STATUSES)
    if status == "rejected" and because is None:
        raise errors.InvalidValueError("because", "", "is missing: a rejected alternative comes back with its reason")
    earlier = next((one for one in context.decisions if one.get("id") == decision_id), None)
    if decision_id is not None and earlier is None and not _is_free_id(decision_id):
        raise errors.InvalidValueError("Decision id", decision_id, "is none; ids are D1, D2, …")
    if earlier is None:
        number = decision_id or next_decision_id(context.decisions)
        entry: dict[str, Any] = {"id": number, "uid": uid, "created_at": now}
    else:
        was = {name: earlier[name] for name in ("text", "status", "because", "by", "updated_at") if earlier.get(name)}
        entry = {**earlier, "history": [*earlier.get("history", []), was]}
    entry |= {"text": text, "status": status or (earlier or {}).get("status") or "open", "by": by, "updated_at": now}
    entry |= {"because": because} if because else {}
    others = [one for one in context.decisions if one.get("id") != entry["id"]]
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
    if repeated := _repeated(context.ledger, uid, "claim", text, key):
        return context, repeated
    check_evidence(evidence)
    if kind is not None and kind not in CLAIM_KINDS:
        raise errors.InvalidValueError("kind", kind, "is unknown", known=CLAIM_KINDS)
    found = claims_completion(_as_seen(text))
    if (found or kind == "completion") and not any(map(_shows_something, evidence)):
        raise errors.EvidenceMissingError(text, found.word if found else None)
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
    others = [one for one in context.ledger if one.get("claim") != text]
    return context.with_fields(evidence_ledger=[*others, entry], updated_at=now), entry


def set_checklist(context: RepoContext, items: Sequence[str], *, now: str) -> RepoContext:
    if len(items) > CHECKLIST_ITEMS:
        raise errors.InvalidValueError("checklist", len(items), f"has more than {CHECKLIST_ITEMS} items")
    checked = [_line("Checklist item", item, TEXT_CHARS) for item in items]
    return context.with_fields(checklist=list(dict.fromkeys(checked)), updated_at=now)


def point(context: RepoContext, pointers: Sequence[str], *, now: str) -> RepoContext:
    union = list(dict.fromkeys([*context.pointers, *(_line("Pointer", one, LABEL_CHARS * 2) for one in pointers)]))
    if len(union) > POINTERS:
        raise errors.InvalidValueError("pointers", len(union), f"are more than {POINTERS}")
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
    """What stopped a run, and nothing else: a failed run has no say in what is true."""
    if _repeated(context.entries("last_errors"), uid, "error", _text("error", error, ERROR_CHARS), key):
        return context
    run = {
        "status": "failed",
        "failed_step": _line("step", step, TEXT_CHARS),
        "error": _text("error", error, ERROR_CHARS),
        "next_action": _line("next_action", next_action, TEXT_CHARS),
        "at": now,
        "uid": uid,
    }
    kept = [*context.entries("last_errors"), {name: run[name] for name in ("failed_step", "error", "at", "uid")}]
    return context.with_fields(last_run=run, last_errors=kept[-ERRORS_KEPT:], updated_at=now)


def check_evidence(evidence: Sequence[object]) -> None:
    if len(evidence) > EVIDENCE_PER_CLAIM:
        raise errors.InvalidValueError("evidence", len(evidence), f"is more than {EVIDENCE_PER_CLAIM} pieces")


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
    if checkpoint.get("tracked_files_hash") != tree:
        reasons.append("files")
    if checkpoint.get("summary_hash") != summary_hash(summary["text"]):
        reasons.append("summary")  # edited or merged without a checkpoint of its own
    if not reasons:  # a new head with the same contents, or a file that is tracked nowhere, makes nothing stale
        noted = [change for change in noted if change.what != "changed"]
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
        raise errors.KeyReusedError(key or uid)
    return found


def _as_seen(text: str) -> str:
    """What a reader sees: without unseen characters, in plain letters; marks around the whole quote nobody."""
    plain = unicodedata.normalize("NFKC", text)
    seen = "".join(character for character in plain if unicodedata.category(character) != "Cf").strip()
    while len(seen) > 2 and (seen[0], seen[-1]) in QUOTES and not {seen[0], seen[-1]} & set(seen[1:-1]):
        seen = seen[1:-1].strip()
    return seen


def _shows_something(evidence: Mapping[str, Any]) -> bool:
    """A file alone shows that there is a file."""
    return bool(evidence.get("lines") or evidence.get("symbol") or evidence.get("command"))


def _is_free_id(decision_id: object) -> bool:
    return isinstance(decision_id, str) and re.fullmatch("D[1-9][0-9]{0,5}", decision_id) is not None


def _line(name: str, value: object, max_chars: int) -> str:
    """One line: ends of lines and runs of spaces become one space."""
    return " ".join(_text(name, value, max_chars).split())


def _text(name: str, value: object, max_chars: int) -> str:
    text = canonical.check_text(name, value, max_bytes=4 * max_chars).strip()
    if not text:
        raise errors.InvalidValueError(name, value, "is empty")
    if len(text) > max_chars:
        raise errors.InvalidValueError(name, text, f"is longer than {max_chars:,} characters")
    return text
