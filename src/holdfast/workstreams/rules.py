"""What may be written about a line of work. Pure.

A summary is bound to the contents that it was written against: only saving it again changes that,
whatever else is written meanwhile. A claim is judged by its own evidence, so that one edited file
makes no other claim doubtful.

A rule takes a document and returns the new one together with the entry that it has written.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

from holdfast.errors import InvalidValueError, KeyReusedError, shown
from holdfast.ground import canonical
from holdfast.ground.frozen import dataclass, replace
from holdfast.ground.patterns import compile_later
from holdfast.ground.text import cut
from holdfast.workstreams import errors
from holdfast.workstreams.entries import (
    CLAIM_KINDS,
    DECISION_STATUSES,
    Checkpoint,
    Claim,
    ContextFields,
    Decision,
    NotedRun,
    Pointer,
    Summary,
)
from holdfast.workstreams.evidence import CommandEvidence, Evidence, TreeRuns
from holdfast.workstreams.merging import (
    ERRORS_KEPT,
    NotedEntry,
    next_decision_id,
    restore_context,
)
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
POINTER_CHARS = 400
RULES_CHARS = 350
CHECKLIST_ITEMS = 50
POINTERS = 50
EVIDENCE_PER_CLAIM = 20
DIRTY_FILES_KEPT = 200
FAILING_NAMED = 3
QUOTES = {('"', '"'), ("'", "'"), ("`", "`"), ("“", "”"), ("‘", "’"), ("«", "»")}

_DECISION_ID = compile_later("D[1-9][0-9]{0,5}")


@dataclass(frozen=True)
class Stamp:
    """Who writes and when; `uid` is the entry's own id, `key` the caller's id of its request."""

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
    """Pinned rules; all of them together are bounded."""
    checked = tuple(_check_line("Pinned rule", rule, RULES_CHARS) for rule in rules)
    size = sum(len(rule) for rule in checked)
    if size > RULES_CHARS:
        problem = f"are more than {RULES_CHARS}: they stand in every bundle whole"
        raise InvalidValueError("Pinned rules", f"{size} characters", problem)
    return checked


def check_revision(revision: object) -> None:
    if revision is None:
        return
    is_number = isinstance(revision, int) and not isinstance(revision, bool) and revision >= 0
    if not is_number:
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
    kept: RepoContext | None = None,
) -> ContextChange[Decision]:
    """A new decision, or a change of an existing one, which keeps its past in its history.

    It is named by its id or by its text. Without a text it keeps its own. A number that is in
    `kept` was given out, so it is not given to another decision, even if the file has lost it.
    """
    known = context.fields.open_decisions or ()
    earlier = _find_decision(context, decision_id, text)
    wanted = _check_wording(earlier, text=text, status=status, because=because)
    repeated = _find_repeated(known, stamp)
    if repeated:
        _check_same_request(repeated.text, wanted.text, stamp)
        return ContextChange(context, repeated)
    if earlier and wanted.is_same_as(earlier):
        return ContextChange(context, earlier)
    if earlier:
        past = earlier.history or ()
        entry = replace(earlier, history=(*past, earlier.as_past))
    else:
        given_out = _list_given_out(known, kept)
        new_id = decision_id or next_decision_id(given_out)
        entry = Decision(id=new_id, uid=stamp.uid, created_at=stamp.now)
    entry = replace(
        entry, text=wanted.text, status=wanted.status, by=stamp.by, updated_at=stamp.now
    )
    if wanted.because or (earlier and wanted.status != earlier.status):
        entry = replace(entry, because=wanted.because)  # the old reason was for the old status
    others = [decision for decision in known if decision is not earlier]
    decisions = sorted([*others, entry], key=lambda decision: decision.made_at)
    changed = context.with_fields(open_decisions=tuple(decisions), updated_at=stamp.now)
    return ContextChange(changed, entry, ContextFields(open_decisions=(entry,)))


def _list_given_out(known: Sequence[Decision], kept: RepoContext | None) -> list[Decision]:
    if kept is None:
        return list(known)
    return [*known, *(kept.fields.open_decisions or ())]


@dataclass(frozen=True)
class Wording:
    """What a decision is to say."""

    text: str
    status: str
    because: str | None

    def is_same_as(self, decision: Decision) -> bool:
        is_same_reason = self.because is None or self.because == decision.because
        is_same_text = self.text == decision.text
        return is_same_reason and is_same_text and self.status == decision.status


def _check_wording(
    earlier: Decision | None, *, text: str | None, status: str | None, because: str | None
) -> Wording:
    if text is None and earlier:
        text = earlier.text
    text = _check_line("Decision", text, TEXT_CHARS)
    if because is not None:
        because = _check_line("because", because, TEXT_CHARS)
    if status is not None and status not in DECISION_STATUSES:
        raise InvalidValueError("Status", status, "is unknown", known=DECISION_STATUSES)
    if status == "rejected" and because is None:
        problem = "needs a reason (because): it comes back with the alternative"
        raise InvalidValueError("Status", status, problem)
    earlier_status = earlier.status if earlier else None
    return Wording(text, status or earlier_status or "open", because)


def _find_decision(
    context: RepoContext, decision_id: str | None, text: str | None
) -> Decision | None:
    """By its id, or by the same words: repeating them does not make a second decision."""
    if decision_id is None:
        words = " ".join(text.split()) if isinstance(text, str) else None
        return next((decision for decision in context.decisions if decision.text == words), None)
    if not _DECISION_ID.fullmatch(str(decision_id)):
        raise InvalidValueError("Decision id", decision_id, "is not an id; they are D1, D2, …")
    known = context.fields.open_decisions or ()
    found = next((decision for decision in known if decision.id == decision_id), None)
    if found is None and text is None:
        names = [str(decision.id) for decision in context.decisions]
        raise errors.NoteNotFoundError(decision_id, names)
    if found is not None and found.withdrawn_at:
        problem = "was withdrawn; without an id a new one is made"
        raise InvalidValueError("Decision id", decision_id, problem)
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
    repeated = _find_repeated(known, stamp)
    if repeated:
        _check_same_request(repeated.claim, text, stamp)
        return ContextChange(context, repeated)
    check_evidence(evidence)
    entry = Claim(
        id=f"c-{stamp.uid[-12:]}",
        uid=stamp.uid,
        claim=text,
        kind=_check_kind(text, kind, evidence),
        files=tuple(item for item in evidence if isinstance(item, Evidence)),
        commands=tuple(item for item in evidence if isinstance(item, CommandEvidence)),
        claimed_at=stamp.now,
        by=stamp.by,
    )
    # A repeated claim replaces the earlier one, whose evidence could contradict it.
    others = [each for each in known if each.claim != text]
    changed = context.with_fields(evidence_ledger=(*others, entry), updated_at=stamp.now)
    return ContextChange(changed, entry, ContextFields(evidence_ledger=(entry,)))


def check_evidence(evidence: Sequence[object]) -> None:
    if len(evidence) > EVIDENCE_PER_CLAIM:
        problem = f"is more than {EVIDENCE_PER_CLAIM} pieces"
        raise InvalidValueError("evidence", len(evidence), problem)


def _check_kind(text: str, kind: str | None, evidence: Sequence[Evidence | CommandEvidence]) -> str:
    """A text that says "done" is a completion, whatever kind the caller names."""
    if kind is not None and kind not in CLAIM_KINDS:
        raise InvalidValueError("kind", kind, "is unknown", known=CLAIM_KINDS)
    from holdfast.workstreams.completion import find_completion  # large, and only for saving

    found = find_completion(_remove_unseen(text))
    if not found and kind != "completion":
        return kind or "statement"
    word = found.word if found else None
    _require_evidence(text, word, evidence)
    return "completion"


def _require_evidence(
    text: str, word: str | None, evidence: Sequence[Evidence | CommandEvidence]
) -> None:
    """A command that failed shows that it is not done; a file alone shows that there is a file."""
    commands = [item for item in evidence if isinstance(item, CommandEvidence)]
    for command in commands:
        if command.exit_code != 0 or not command.tree:
            raise errors.ProofFailedError(text, command.text, _describe_end(command))
    files = [item for item in evidence if isinstance(item, Evidence)]
    places = [file for file in files if file.lines or file.symbol]
    if not places and not commands:
        raise errors.EvidenceMissingError(text, word)


def check_still_passes(text: str, command: CommandEvidence, runs: TreeRuns) -> None:
    """A pass that was withdrawn or that a later run contradicts is not evidence any more."""
    doubt = runs.find_doubt(command)
    if doubt and command.exit_code == 0:
        raise errors.ProofFailedError(text, command.text, doubt)


def _describe_end(command: CommandEvidence) -> str:
    if command.exit_code == 0:
        return "ran while files changed"
    return f"ended with exit code {command.exit_code}"


def _remove_unseen(text: str) -> str:
    """The text as a reader sees it: in plain letters, without quotation marks around the whole."""
    plain = unicodedata.normalize("NFKC", text)
    visible = [letter for letter in plain if unicodedata.category(letter) != "Cf"]
    seen = "".join(visible).strip()
    while _is_quoted_whole(seen):
        seen = seen[1:-1].strip()
    return seen


def _is_quoted_whole(text: str) -> bool:
    if len(text) <= 2:
        return False
    marks = (text[0], text[-1])
    has_marks_inside = not set(marks).isdisjoint(text[1:-1])
    return marks in QUOTES and not has_marks_inside


# --- other notes ----------------------------------------------------------------------------------


def withdraw(
    context: RepoContext, note: str, *, by: str, now: str
) -> ContextChange[Decision | Claim]:
    """Withdraw a claim or a decision, by id or words. It is kept, so that no merge restores it."""
    standing: list[Decision | Claim] = [*context.decisions, *context.ledger]
    words = _check_line("Note", note, ERROR_CHARS)
    found = next((entry for entry in standing if _is_named(entry, words)), None)
    if found is None:
        names = [str(entry.id) for entry in standing]
        raise errors.NoteNotFoundError(note, names)
    entry = replace(found, withdrawn_at=now, updated_at=now, withdrawn_by=by)
    fields = context.fields
    changed = context.with_fields(
        open_decisions=_replace_entry(fields.open_decisions, found, entry),
        evidence_ledger=_replace_entry(fields.evidence_ledger, found, entry),
        updated_at=now,
    )
    return ContextChange(changed, entry)


def _is_named(entry: Decision | Claim, words: str) -> bool:
    """By its id or its words; an entry without words cannot be named by them."""
    if words == entry.id:
        return True
    return bool(entry.words) and words == entry.words


def _replace_entry(
    entries: Sequence[Decision | Claim] | None, old: Decision | Claim, new: Decision | Claim
) -> Sequence[Decision | Claim] | None:
    """The old one is known by its identity: an entry that is only equal stays."""
    if entries is None:
        return None
    return tuple(new if entry is old else entry for entry in entries)


def restore(
    context: RepoContext, kept: ContextFields | None, *, now: str
) -> ContextChange[tuple[str, ...]]:
    """Add what this machine saved and the file has lost, and say which number is another now."""
    if kept is None:
        return ContextChange(context, ())
    restored = restore_context(context.fields, kept)
    if restored.fields == context.fields:
        return ContextChange(context, ())
    fields = replace(restored.fields, updated_at=now)
    notes = tuple(_describe_renumbered(old, new) for old, new in restored.renumbered)
    return ContextChange(replace(context, fields=fields, notes=()), notes)


def _describe_renumbered(old: Decision, new: Decision) -> str:
    return f"{shown(new.words)} was {old.id} and is {new.id} now: another decision is {old.id}."


def set_checklist(context: RepoContext, items: Sequence[str], *, now: str) -> ContextChange[None]:
    """What is left to do, as a whole: an item that is not given again is removed."""
    check_checklist(items)
    checked = [_check_line("Checklist item", item, TEXT_CHARS) for item in items]
    steps = tuple(dict.fromkeys(checked))
    changed = context.with_fields(checklist=steps, updated_at=now)
    return ContextChange(changed, None, ContextFields(checklist=steps))


def check_checklist(items: Sequence[object]) -> None:
    if len(items) > CHECKLIST_ITEMS:
        raise InvalidValueError("checklist", len(items), f"has more than {CHECKLIST_ITEMS} items")


def point(context: RepoContext, pointers: Sequence[Pointer], *, now: str) -> ContextChange[None]:
    """Add files that the next reader should look at."""
    texts = [str(pointer) for pointer in pointers]
    lines = [_check_line("Pointer", text, POINTER_CHARS) for text in texts]
    checked = [Pointer.parse(line) for line in lines]
    union = tuple(dict.fromkeys([*context.pointers, *checked]))
    check_pointers(union)
    changed = context.with_fields(file_pointers=union, updated_at=now)
    return ContextChange(changed, None, ContextFields(file_pointers=tuple(checked)))


def check_pointers(pointers: Sequence[object]) -> None:
    if not pointers:
        raise InvalidValueError("pointers", "", "are missing: name a file")
    if len(pointers) > POINTERS:
        raise InvalidValueError("pointers", len(pointers), f"are more than {POINTERS}")


# --- the summary ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Verification:
    """What verified a summary, and the run that failed nevertheless."""

    by: str
    failing: str | None = None


@dataclass(frozen=True)
class SummaryToSave:
    """What is saved, what verified it, and the revision of the document that the caller read."""

    text: str
    feature_request: str | None
    verified: Verification
    expected_revision: int | None


def save(
    context: RepoContext, summary: SummaryToSave, *, checkpoint: Checkpoint, by: str, now: str
) -> ContextChange[None]:
    """The summary, together with the state that it was written against.

    A failure that was noted ends with it, unless a command fails still.
    """
    expected = summary.expected_revision
    if expected is not None and expected != context.revision:
        raise errors.ContextChangedError(expected, context.revision)
    text = check_summary(summary.text)
    saved = Summary(
        text=text,
        updated_at=now,
        by=by,
        verified_by=summary.verified.by,
        failing=summary.verified.failing,
        stale=False,
    )
    fields = replace(
        context.fields,
        working_summary=saved,
        checkpoint=replace(checkpoint, summary_hash=hash_summary(text)),
        other_summaries=None,
        updated_at=now,
    )
    stated = ContextFields(working_summary=saved, checkpoint=fields.checkpoint)
    if summary.feature_request is not None:
        label = _check_line("feature_request", summary.feature_request, LABEL_CHARS)
        fields = replace(fields, feature_request=label)
        stated = replace(stated, feature_request=label)
    if context.failed_run and not summary.verified.failing:
        passed = NotedRun(status="ok", at=now)
        fields = replace(fields, last_run=passed)
        stated = replace(stated, last_run=passed)
    changed = RepoContext(context.key, context.phase, fields, context.revision)
    return ContextChange(changed, None, stated)


def check_summary(summary: str) -> str:
    return _check_text("Summary", summary, SUMMARY_CHARS)


def hash_summary(text: str) -> str:
    return canonical.sha256(text.encode()).hex()


def find_verification(
    *, by_hand: bool, tree: str, is_committed: bool, proofs: Iterable[Proof]
) -> Verification:
    """What verified a summary: a proof on this tree, a commit, or a person; else a refusal.

    While the newest run of any command on this tree failed, only a person verifies. The same
    command in another folder is another one.
    """
    here = [proof for proof in proofs if proof.tree == tree]
    by_time = sorted(here, key=lambda proof: proof.ran_at)
    newest = {(proof.command, proof.folder): proof for proof in by_time}
    failing = [proof for proof in newest.values() if not proof.passed]
    if failing:
        if by_hand:
            return Verification("hand", failing=_list_failing(failing))
        last = failing[-1]
        raise errors.NotVerifiedError(describe_failing(last), last.id)
    passed = next((proof for proof in here if proof.passed), None)
    if passed:
        return Verification(f"proof {passed.id}")
    if is_committed:
        return Verification("commit")
    if by_hand:
        return Verification("hand")
    raise errors.NotVerifiedError()


def _list_failing(failing: Sequence[Proof]) -> str:
    """The newest first; a few are named."""
    named = [describe_failing(proof) for proof in failing[::-1][:FAILING_NAMED]]
    left_out = len(failing) - len(named)
    if left_out:
        named.append(f"{left_out} more")
    return "; ".join(named)


def describe_failing(proof: Proof) -> str:
    command = " ".join(proof.command)
    return f"{command} → exit {proof.exit_code}"


# --- runs -----------------------------------------------------------------------------------------


def fail(
    context: RepoContext, *, step: str, error: str, next_action: str, stamp: Stamp
) -> ContextChange[None]:
    """What stopped a run, and nothing else: a failed run does not change other notes.

    Long texts are shortened and not refused, so that every failure is noted. A repeated error
    replaces the earlier one.
    """
    error = _check_text("error", _cut_middle(error), ERROR_CHARS)
    known = context.fields.last_errors or ()
    repeated = _find_repeated(known, stamp)
    if repeated:
        _check_same_request(repeated.error, error, stamp)
        return ContextChange(context, None)
    failed_step = _check_line("step", _cut_end(step), TEXT_CHARS)
    run = NotedRun(
        status="failed",
        failed_step=failed_step,
        error=error,
        next_action=_check_line("next_action", _cut_end(next_action), TEXT_CHARS),
        at=stamp.now,
        uid=stamp.uid,
    )
    others = [each for each in known if not _is_same_failure(each, run)]
    noted = NotedRun(failed_step=run.failed_step, error=run.error, at=run.at, uid=run.uid)
    kept = (*others, noted)[-ERRORS_KEPT:]
    changed = context.with_fields(last_run=run, last_errors=kept, updated_at=stamp.now)
    return ContextChange(changed, None, ContextFields(last_run=run, last_errors=(noted,)))


def _is_same_failure(first: NotedRun, second: NotedRun) -> bool:
    return first.failed_step == second.failed_step and first.error == second.error


def succeed(context: RepoContext, *, now: str) -> ContextChange[None]:
    """A successful run ends an earlier failure, which stays among the last errors."""
    if context.failed_run is None:
        return ContextChange(context, None)
    passed = NotedRun(status="ok", at=now)
    changed = context.with_fields(last_run=passed, updated_at=now)
    return ContextChange(changed, None, ContextFields(last_run=passed))


def _cut_middle(error: object) -> object:
    """A traceback ends with what happened, and begins with where it came from."""
    if not isinstance(error, str):
        return error
    text = error.replace("\x00", "\\x00").strip()
    if len(text) <= ERROR_CHARS:
        return text
    beginning = text[: ERROR_CHARS // 4]
    end = text[-ERROR_CHARS // 2 :]
    left_out = len(text) - ERROR_CHARS * 3 // 4
    return f"{beginning}\n… {left_out:,} characters are left out here …\n{end}"


def _cut_end(text: object) -> object:
    if not isinstance(text, str):
        return text
    return cut(text.replace("\x00", "\\x00"), TEXT_CHARS)


# --- small pieces ---------------------------------------------------------------------------------


def _find_repeated(entries: Iterable[NotedEntry], stamp: Stamp) -> NotedEntry | None:
    """The entry that the same request has written already."""
    for entry in entries:
        if entry.uid == stamp.uid:
            return entry
    return None


def _check_same_request(earlier: str | None, text: str, stamp: Stamp) -> None:
    """A repeated request finds its entry; the same key for another text is a mistake."""
    if earlier != text:
        raise KeyReusedError(stamp.key or stamp.uid)


def _check_line(name: str, value: object, max_chars: int) -> str:
    """One line: ends of lines and runs of spaces become one space."""
    words = _check_text(name, value, max_chars).split()
    return " ".join(words)


def _check_text(name: str, value: object, max_chars: int) -> str:
    """One limit, in characters: of so few, the bytes fit as well."""
    text = value.strip() if isinstance(value, str) else value
    if isinstance(text, str) and len(text) > max_chars:
        raise InvalidValueError(name, text, f"is longer than {max_chars:,} characters")
    checked = canonical.check_text(name, text, max_bytes=4 * max_chars)
    if not checked:
        raise InvalidValueError(name, value, "is empty")
    return checked
