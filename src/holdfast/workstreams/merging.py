"""Two versions of one context: two sides of a merge, or a file and what this machine has saved.

Entries are distinguished by their ids, so nothing that one side wrote is dropped. The order of the
two does not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from holdfast.errors import shown
from holdfast.ground import light_json as json
from holdfast.ground.frozen import dataclass, fields, replace
from holdfast.ground.light_typing import TypeVar
from holdfast.ground.patterns import compile_later
from holdfast.workstreams.entries import (
    PAST_NAMES,
    Claim,
    ContextFields,
    Decision,
    NotedRun,
    Summary,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


ERRORS_KEPT = 10

_DECISION_ID = compile_later(r"D(?P<number>[0-9]{1,9})")
# What is replaced as a whole, and its name for people.
_WHOLE = {
    "working_summary": "summary",
    "checklist": "checklist",
    "file_pointers": "files",
    "last_run": "last run",
}

_BY_ENTRY = ("open_decisions", "evidence_ledger", "last_errors")

StandingEntry = TypeVar("StandingEntry", Decision, Claim)
NotedEntry = TypeVar("NotedEntry", Decision, Claim, NotedRun)
Value = TypeVar("Value")


def merge_all(versions: Sequence[ContextFields]) -> ContextFields:
    """In pairs, then the pairs in pairs: merged one by one, the first would be merged each time."""
    level = list(versions)
    while len(level) > 1:
        pairs = zip(level[::2], level[1::2], strict=False)
        merged = [merge_contexts(first, second) for first, second in pairs]
        left_over = level[len(merged) * 2 :]
        level = [*merged, *left_over]
    return renumber(level[0])


def merge_contexts(first: ContextFields, second: ContextFields) -> ContextFields:
    """Everything of both; of an entry that both have, the later version."""
    if first == second:
        return renumber(first)
    older, newer = sorted([first, second], key=_rank_side)
    whole = _overlay(older, newer)
    merged = replace(
        whole,
        open_decisions=_merge_lists(older.open_decisions, newer.open_decisions, _merge_decisions),
        evidence_ledger=_merge_lists(older.evidence_ledger, newer.evidence_ledger, _merge_claims),
        checklist=_merge_lists(older.checklist, newer.checklist, _unite),
        file_pointers=_merge_lists(older.file_pointers, newer.file_pointers, _unite),
        pinned_rules=_merge_lists(older.pinned_rules, newer.pinned_rules, _unite),
        last_errors=_merge_lists(older.last_errors, newer.last_errors, _merge_errors),
        last_run=_find_newest_run(older.last_run, newer.last_run),
    )
    return renumber(_choose_summary(merged, older, newer))


def recover_context(file: ContextFields, kept: ContextFields) -> ContextFields:
    """What a file has, and what it has lost.

    Unlike a merge these are two moments of one line of work: entries come back by id, and of
    everything that is replaced as a whole the later counts. What was edited by hand stays as it is.
    Each decision has the number that it was given, so that two may have the same.
    """
    # At the same moment the file counts as the newer one.
    older, newer = sorted([kept, file], key=lambda side: side.changed_at)
    summarised = max([file, kept], key=lambda side: side.summarised_at)
    whole = _overlay(older, newer)
    errors = _merge_lists(file.last_errors, kept.last_errors, _add_lost_errors)
    return replace(
        whole,
        open_decisions=_merge_lists(file.open_decisions, kept.open_decisions, _add_lost),
        evidence_ledger=_merge_lists(file.evidence_ledger, kept.evidence_ledger, _add_lost),
        last_errors=errors,
        working_summary=summarised.working_summary or whole.working_summary,
        checkpoint=summarised.checkpoint or whole.checkpoint,
        pinned_rules=file.pinned_rules,
        other_summaries=file.other_summaries,
    )


@dataclass(frozen=True)
class RestoredContext:
    """What a file gets back; where its number was given out again, what a decision was before."""

    fields: ContextFields
    renumbered: tuple[tuple[Decision, Decision], ...] = ()


def restore_context(file: ContextFields, kept: ContextFields) -> RestoredContext:
    """The same to be written: the decisions in the file keep their numbers, which people know."""
    whole = recover_context(file, kept)
    if not whole.open_decisions:
        return RestoredContext(whole)
    numbers = {decision.identity: decision.id for decision in file.open_decisions or ()}
    own = [known for known in whole.open_decisions if known.identity in numbers]
    lost = [known for known in whole.open_decisions if known.identity not in numbers]
    before = [replace(decision, id=numbers[decision.identity]) for decision in own] + lost
    after = _give_numbers(before)
    pairs = zip(before, after, strict=True)
    renumbered = tuple((old, new) for old, new in pairs if old.id != new.id)
    return RestoredContext(replace(whole, open_decisions=_sort_entries(after)), renumbered)


def list_lost(file: ContextFields, kept: ContextFields) -> list[str]:
    """The names of what this machine saved and the file has lost (by `git checkout .`, say)."""
    whole = recover_context(file, kept)
    lost = _list_lost_entries(file.open_decisions, whole.open_decisions)
    lost += _list_lost_entries(file.evidence_ledger, whole.evidence_ledger)
    for name, word in _WHOLE.items():
        if getattr(whole, name) != getattr(file, name):
            lost.append(word)
    return lost


def leave_out_known(kept: ContextFields, file: ContextFields) -> ContextFields:
    """What this machine saved, without what the file has as well.

    A write that replaces what it found loses nothing, whatever time the clock shows.
    """
    values: dict[str, Any] = {}
    for each in fields(ContextFields):
        known = getattr(file, each.name)
        if each.name in _BY_ENTRY:
            values[each.name] = _leave_out(getattr(kept, each.name) or (), known or ())
        elif each.name != "extra" and getattr(kept, each.name) == known:
            values[each.name] = None
    return replace(kept, **values)


def _leave_out(entries: Iterable[Value], known: Iterable[Value]) -> tuple[Value, ...] | None:
    lines = _index_values(known)
    left = tuple(entry for entry in entries if _write_union_key(entry) not in lines)
    return left or None


def renumber(context: ContextFields) -> ContextFields:
    """Where both sides gave out D5, the earlier one keeps it and the later gets a new number."""
    decisions = context.open_decisions
    if not decisions:
        return context
    numbered = _give_numbers(_sort_entries(decisions))
    return replace(context, open_decisions=tuple(numbered))


def _give_numbers(decisions: Sequence[Decision]) -> list[Decision]:
    """Of several with one number the first keeps it; the others get new ones."""
    highest = _find_highest_number(decisions)
    taken: set[str | None] = set()
    numbered: list[Decision] = []
    for decision in decisions:
        if decision.id in taken:
            highest += 1
            decision = replace(decision, id=f"D{highest}")
        taken.add(decision.id)
        numbered.append(decision)
    return numbered


def next_decision_id(decisions: Iterable[Decision]) -> str:
    """One more than the highest."""
    return f"D{_find_highest_number(decisions) + 1}"


def is_decision_id(value: str | None) -> bool:
    return _DECISION_ID.fullmatch(value or "") is not None


def _find_highest_number(decisions: Iterable[Decision]) -> int:
    """Ids that a person wrote in another form do not count."""
    highest = 0
    for decision in decisions:
        found = _DECISION_ID.fullmatch(decision.id or "")
        if found:
            highest = max(highest, int(found["number"]))
    return highest


def to_line(value: object) -> str:
    """One line of JSON that is the same for equal values."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


# --- whole contexts -------------------------------------------------------------------------------


def _rank_side(side: ContextFields) -> tuple[str, str]:
    """By time; at the same moment by contents, so that the order of the two does not matter."""
    return side.changed_at, to_line(side.to_dict())


def _overlay(older: ContextFields, newer: ContextFields) -> ContextFields:
    """The newer one; what it does not have is taken from the older."""
    values: dict[str, Any] = {}
    for each in fields(ContextFields):
        value = getattr(newer, each.name)
        if value is None:
            value = getattr(older, each.name)
        values[each.name] = value
    values["extra"] = {**older.extra, **newer.extra}
    return ContextFields(**values)


def _merge_lists(
    older: tuple[Value, ...] | None,
    newer: tuple[Value, ...] | None,
    merge: Callable[[Sequence[Value], Sequence[Value]], tuple[Value, ...]],
) -> tuple[Value, ...] | None:
    """An empty list differs from a missing one: it was cleared."""
    if older is None and newer is None:
        return None
    return merge(older or (), newer or ())


def _choose_summary(
    merged: ContextFields, older: ContextFields, newer: ContextFields
) -> ContextFields:
    """A summary stays with the checkpoint that it was written against; the other is kept beside."""
    loser, winner = sorted([older, newer], key=_rank_summary)
    if winner.working_summary:
        checkpoint = winner.checkpoint or merged.checkpoint
        merged = replace(merged, working_summary=winner.working_summary, checkpoint=checkpoint)
    lost = loser.working_summary
    if not lost or not lost.text or lost.text == _find_summary_text(winner):
        return merged
    others_of_winner = winner.other_summaries or ()
    others = _unite(loser.other_summaries or (), [*others_of_winner, lost])
    return replace(merged, other_summaries=others)


def _find_summary_text(side: ContextFields) -> str | None:
    summary = side.working_summary or Summary()
    return summary.text


def _rank_summary(side: ContextFields) -> tuple[str, str]:
    summary = side.working_summary or Summary()
    checkpoint = side.checkpoint.to_dict() if side.checkpoint else None
    return side.summarised_at, to_line([summary.to_dict(), checkpoint])


def _find_newest_run(older: NotedRun | None, newer: NotedRun | None) -> NotedRun | None:
    """At the same moment the one of the older side."""
    if older is None or newer is None:
        return older or newer
    if newer.made_at > older.made_at:
        return newer
    return older


# --- entries --------------------------------------------------------------------------------------


def _merge_decisions(older: Sequence[Decision], newer: Sequence[Decision]) -> tuple[Decision, ...]:
    return _merge_entries([*older, *newer], _join_decisions)


def _merge_claims(older: Sequence[Claim], newer: Sequence[Claim]) -> tuple[Claim, ...]:
    return _merge_entries([*older, *newer], _choose_latest_claim)


def _choose_latest_claim(versions: Sequence[Claim]) -> Claim:
    return max(versions, key=_rank_entry)


def _merge_errors(older: Sequence[NotedRun], newer: Sequence[NotedRun]) -> tuple[NotedRun, ...]:
    """The last ones of both."""
    runs = _unite(older, newer)
    by_time = sorted(runs, key=lambda run: run.made_at)
    return tuple(by_time[-ERRORS_KEPT:])


def _merge_entries(
    entries: Iterable[NotedEntry], choose: Callable[[Sequence[NotedEntry]], NotedEntry]
) -> tuple[NotedEntry, ...]:
    """Each once; `choose` makes one entry of its versions."""
    found: dict[str, list[NotedEntry]] = {}
    for entry in entries:
        found.setdefault(entry.identity, []).append(entry)
    chosen = []
    for versions in found.values():
        entry = versions[0] if len(versions) == 1 else choose(versions)
        chosen.append(entry)
    return _sort_entries(chosen)


def _join_decisions(versions: Sequence[Decision]) -> Decision:
    """The latest one; what the earlier ones were is added to the history."""
    older, *later = sorted(versions, key=_rank_entry)
    past = _index_values(older.history or ())
    for newer in later:
        if newer.status is None:
            past = _index_values(newer.history or ())
        else:
            past |= _index_values([*(newer.history or ()), older.as_past])
            past.pop(_write_union_key(newer.as_past), None)
        older = newer
    if not past:
        return older
    return replace(older, history=tuple(past.values()))


def _add_lost(file: Sequence[NotedEntry], kept: Sequence[NotedEntry]) -> tuple[NotedEntry, ...]:
    """An entry that a later one with the same words has replaced is not lost."""
    found = {entry.identity: entry for entry in file}
    by_time = sorted(file, key=lambda entry: entry.changed_at)
    last_written = {entry.words: entry.changed_at for entry in by_time}
    for entry in kept:
        since = last_written.get(entry.words)
        if entry.identity in found:
            since = found[entry.identity].changed_at
        if since is None or entry.changed_at > since:
            found[entry.identity] = entry
    return _sort_entries(found.values())


def _add_lost_errors(file: Sequence[NotedRun], kept: Sequence[NotedRun]) -> tuple[NotedRun, ...]:
    return _add_lost(file, kept)[-ERRORS_KEPT:]


def _list_lost_entries(
    file: Sequence[StandingEntry] | None, whole: Sequence[StandingEntry] | None
) -> list[str]:
    """By number and words. A withdrawn entry that is not in the file is not lost."""
    known = {entry.identity: entry for entry in file or ()}
    missing = [entry for entry in whole or () if entry != known.get(entry.identity)]
    lost = [entry for entry in missing if entry.identity in known or not entry.withdrawn_at]
    return [f"{entry.id} {shown(entry.words)}" for entry in lost]


def _sort_entries(entries: Iterable[NotedEntry]) -> tuple[NotedEntry, ...]:
    return tuple(sorted(entries, key=lambda entry: (entry.made_at, entry.identity)))


def _rank_entry(entry: Decision | Claim) -> tuple[str, str, str]:
    """By its words before its history, which grows with a merge and must not decide the next."""
    known = entry.to_dict()
    words = {name: known[name] for name in PAST_NAMES if known.get(name)}
    return entry.updated_at or "", to_line(words), to_line(known)


def _unite(older: Iterable[Value], newer: Iterable[Value]) -> tuple[Value, ...]:
    """Each once, at the place of the first and with the value of the last."""
    by_key = _index_values([*older, *newer])
    return tuple(by_key.values())


def _index_values(values: Iterable[Value]) -> dict[str, Value]:
    """By what makes two of them the same."""
    return {_write_union_key(value): value for value in values}


def _write_union_key(value: Any) -> str:
    if hasattr(value, "to_dict"):
        return to_line(value.to_dict())
    return to_line(str(value))
