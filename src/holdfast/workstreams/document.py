"""The file of one phase: how its bytes are read, written and merged.

One context per line, sorted, keys sorted, so that git shows what changed and merges most of it alone. What git could
not merge, or merged by keeping both lines, is resolved here by the ids of entries: nothing that one side wrote is
dropped. A file that cannot be understood whole is never written again, only shown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from holdfast.errors import InvalidValueError
from holdfast.ground import canonical
from holdfast.workstreams.model import Key, changed_at

SCHEMA_VERSION = 1
ERRORS_KEPT = 10
MOST_BYTES = 1 << 30  # a file is bounded when it is read
MARKERS = ("<<<<<<<", "|||||||", "=======", ">>>>>>>")

CONFLICT = (
    "has conflict markers. Both sides are shown merged. Delete the marker lines and keep the lines of both sides: "
    "they are merged by id when it is read next"
)
BROKEN = "cannot be read as JSON (line {line}). Mend it, or take an older one: git log -p -- {path}"
NEWER = (
    "was written by a newer version (schema {version}, this program knows {known}). Install that version to change it"
)
NOT_OURS = "is not a context file: {problem}. Move it away to begin a new one"

Context = dict[str, Any]
_DECISION_ID = re.compile(r"D([0-9]{1,9})")


@dataclass(frozen=True)
class Document:
    """All contexts of one phase in one repository."""

    revision: int = 0
    contexts: Mapping[Key, Context] = field(default_factory=dict)
    others: Mapping[str, Any] = field(default_factory=dict)  # top-level fields that we do not know
    problem: str | None = None  # why it may only be read

    def with_context(self, key: Key, fields: Mapping[str, Any]) -> Document:
        contexts = {**self.contexts, key: {**fields, "key": key.to_dict()}}
        return Document(self.revision + 1, contexts, self.others)


class _Unreadable(Exception):
    """With the words for whoever has to mend it."""


# --- bytes -------------------------------------------------------------------------------------------------


def to_bytes(document: Document) -> bytes:
    lines = [_as_line(document.contexts[key]) for key in sorted(document.contexts)]
    # The comma leads, so that a new last line leaves the one before it as it was.
    contexts = "\n,".join(lines)
    top = {**document.others, "revision": document.revision, "schema_version": SCHEMA_VERSION}
    rest = [f"{json.dumps(name)}: {_as_line(value)}" for name, value in sorted(top.items())]
    return ('{"contexts": [\n' + contexts + ("\n" if lines else "") + "],\n" + ",\n".join(rest) + "\n}\n").encode()


def from_bytes(data: bytes, path: str) -> Document:
    """Never raises: whatever stands there is a document, with a `problem` where it must not be written again."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return Document(problem=f"{path} {NOT_OURS.format(problem='it is not UTF-8')}.")
    try:
        if sides := _sides(text):
            merged = _merged_tops([_parsed(side, path) for side in sides])
            return _document(merged, f"{path} {CONFLICT}.")
        return _document(_parsed(text, path))
    except _Unreadable as error:
        return Document(problem=f"{path} {error}.")


def _as_line(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _document(top: dict[str, Any], problem: str | None = None) -> Document:
    contexts: dict[Key, Context] = {}
    for context in top["contexts"]:
        key = _key_of(context)
        contexts[key] = merge_contexts(contexts[key], context) if key in contexts else _numbered(context)
    others = {name: value for name, value in top.items() if name not in ("contexts", "revision", "schema_version")}
    return Document(top["revision"], contexts, others, problem)


def _parsed(text: str, path: str) -> dict[str, Any]:
    try:
        top = canonical.parse_json("file", text)
    except Exception:  # whatever it is, the lines decide
        top = _by_lines(text, path)
    return _checked(top)


def _checked(top: object) -> dict[str, Any]:
    if not isinstance(top, dict):
        raise _Unreadable(NOT_OURS.format(problem="it holds no object"))
    version = top.get("schema_version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise _Unreadable(NOT_OURS.format(problem="it has no schema_version"))
    if version > SCHEMA_VERSION:
        raise _Unreadable(NEWER.format(version=version, known=SCHEMA_VERSION))
    if "contexts" not in top and "key" in top:  # one context alone, as an earlier draft of the format had it
        top = {"contexts": [{name: top[name] for name in top if name != "schema_version"}]}
    contexts, revision = top.get("contexts"), top.get("revision", 0)
    if not isinstance(contexts, list) or not all(map(_is_context, contexts)):
        raise _Unreadable(NOT_OURS.format(problem="`contexts` is no list of contexts"))
    if not isinstance(revision, int) or isinstance(revision, bool) or revision < 0:
        raise _Unreadable(NOT_OURS.format(problem="`revision` is no number"))
    _check_can_be_written(top)
    return {**top, "contexts": contexts, "revision": revision}


def _check_can_be_written(top: dict[str, Any]) -> None:
    """JSON as Python reads it has more than can be written back: halves of pairs, NaN, nesting without end."""
    try:
        canonical.canonical_json("file", top, max_bytes=MOST_BYTES)
    except InvalidValueError as error:
        raise _Unreadable(NOT_OURS.format(problem=f"something in it {error.problem}")) from None


def _is_context(value: object) -> bool:
    """Whether every field that we use has its shape; what we do not know may be anything."""
    return isinstance(value, dict) and isinstance(value.get("key"), dict) and _fits(value, _SHAPE)


def _fits(value: Any, shape: Any) -> bool:
    if isinstance(shape, dict):
        known = isinstance(value, dict) and all(_fits(value[name], shape[name]) for name in shape if name in value)
        return value is None or known
    if isinstance(shape, list):
        return isinstance(value, list) and all(_fits(one, shape[0]) and one is not None for one in value)
    return value is None or isinstance(value, shape)


def _key_of(context: Context) -> Key:
    key = context["key"]
    branch = str(key.get("branch") or "")
    return Key(str(key.get("repo") or ""), branch, str(key.get("workstream_id") or branch))


# --- lines that git put together ----------------------------------------------------------------------------


def _sides(text: str) -> list[str] | None:
    """Both sides of a file with conflict markers, each whole; None where there are none."""
    lines = text.split("\n")
    if not any(line.startswith(MARKERS[0]) for line in lines):
        return None
    ours: list[str] = []
    theirs: list[str] = []
    into = [ours, theirs]
    for line in lines:
        if line.startswith(MARKERS):
            into = {"<": [ours], "|": [], "=": [theirs], ">": [ours, theirs]}[line[0]]
            continue
        for side in into:
            side.append(line)
    return ["\n".join(ours), "\n".join(theirs)]


def _by_lines(text: str, path: str) -> dict[str, Any]:
    """A file whose lines were kept from two sides: each line is known, or the whole is broken."""
    top: dict[str, Any] = {"contexts": []}
    for number, line in enumerate(text.split("\n"), 1):
        bare = line.strip().strip(",").strip()
        if bare in ("", "{", "}", "]", '{"contexts": ['):
            continue
        try:
            value = json.loads(bare if bare.startswith("{") else "{" + bare + "}")
        except (ValueError, RecursionError):
            raise _Unreadable(BROKEN.format(line=number, path=path)) from None
        if "key" in value:
            top["contexts"].append(value)
        else:
            top = _merged_tops([top, {"contexts": [], **value}])
    return top


def _merged_tops(tops: Sequence[dict[str, Any]]) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for top in tops:
        numbers = {
            name: max(top[name], merged.get(name, 0))
            for name in ("revision", "schema_version")
            if isinstance(top.get(name), int)
        }
        contexts = [*merged.get("contexts", []), *top.get("contexts", [])]
        merged = {**merged, **top, **numbers, "contexts": contexts}
    return merged


def merge_bytes(ours: bytes, theirs: bytes, path: str) -> bytes | None:
    """What a merge driver writes: both sides by id, or None where one of them cannot be read."""
    sides = [from_bytes(data, path) for data in (ours, theirs)]
    if any(side.problem for side in sides):
        return None
    merged = dict(sides[0].contexts)
    for key, context in sides[1].contexts.items():
        merged[key] = merge_contexts(merged[key], context) if key in merged else context
    others = {**sides[1].others, **sides[0].others}
    return to_bytes(Document(max(side.revision for side in sides) + 1, merged, others))


# --- two versions of one context ----------------------------------------------------------------------------


def lost(file: Context, kept: Context) -> list[str]:
    """What this machine saved and the file no longer has: `git checkout .` is enough for that."""
    whole = recover(file, kept)
    entries = [
        str(entry.get("id"))
        for name in ("open_decisions", "evidence_ledger")
        for entry in whole.get(name) or []
        if entry not in (file.get(name) or []) and not (entry.get("withdrawn_at") and not _has(file, name, entry))
    ]
    others = [said for name, said in _SAID.items() if whole.get(name) != file.get(name)]
    return [*entries, *others]


def _has(side: Context, name: str, entry: Context) -> bool:
    return entry_identity(entry) in map(entry_identity, side.get(name) or [])


def recover(file: Context, kept: Context) -> Context:
    """What a file has, and what it has lost.

    Unlike a merge these are two moments of one line of work: entries come back by id, and of everything that is
    replaced as a whole the later counts. What somebody edited by hand stays as he left it.
    """
    older, newer = sorted([kept, file], key=_last_change)  # at the same moment the file
    merged = {**older, **newer}
    for name in ("open_decisions", "evidence_ledger", "last_errors"):
        if name in older or name in newer:
            merged[name] = _with_lost(file.get(name) or [], kept.get(name) or [])
    if "last_errors" in merged:
        merged["last_errors"] = merged["last_errors"][-ERRORS_KEPT:]
    summarised = max([file, kept], key=_summarised_at)
    merged |= {name: summarised[name] for name in ("working_summary", "checkpoint") if name in summarised}
    merged |= {name: file.get(name) for name in _FILE_ALONE}
    return _numbered({name: value for name, value in merged.items() if value is not None or name in file})


def merge_contexts(one: Context, other: Context) -> Context:
    """Everything of both; where both say something about the same entry, the later one. The order does not matter."""
    if one == other:
        return _numbered(one)
    older, newer = sorted([one, other], key=lambda side: (_last_change(side), _as_line(side)))
    merged = {**older, **newer}
    for name, merge in _MERGES.items():
        if name in older or name in newer:
            merged[name] = merge(older.get(name), newer.get(name))
    return _numbered(_with_one_summary(merged, older, newer))


def _summarised_at(side: Context) -> str:
    return str((side.get("working_summary") or {}).get("updated_at") or "")


def _with_lost(file: Sequence[Context], kept: Sequence[Context]) -> list[Context]:
    """What was said once more in the same words has taken the earlier one's place, and is not lost."""
    found = {entry_identity(entry): entry for entry in file}
    said = {_words(entry): changed_at(entry) for entry in sorted(file, key=changed_at)}
    for entry in kept:
        known = found.get(entry_identity(entry))
        since = changed_at(known) if known else said.get(_words(entry))
        if since is None or changed_at(entry) > since:
            found[entry_identity(entry)] = entry
    return sorted(found.values(), key=lambda entry: (_entry_time(entry), entry_identity(entry)))


def _with_one_summary(merged: Context, older: Context, newer: Context) -> Context:
    """A summary and the checkpoint that it was written against stay together; the other one is kept beside it."""
    sides = sorted([older, newer], key=_summary_order)
    loser, winner = sides
    text = (loser.get("working_summary") or {}).get("text")
    for name in ("working_summary", "checkpoint"):
        if name in winner and winner.get("working_summary"):
            merged[name] = winner[name]
    if text and text != (winner.get("working_summary") or {}).get("text"):
        merged["other_summaries"] = _union(
            loser.get("other_summaries"), [*(winner.get("other_summaries") or []), loser["working_summary"]]
        )
    return merged


def _summary_order(side: Context) -> tuple[str, str]:
    summary = side.get("working_summary") or {}
    return str(summary.get("updated_at") or ""), _as_line([summary, side.get("checkpoint")])


def _last_change(side: Context) -> str:
    return str(side.get("updated_at") or _summarised_at(side))


def _by_id(older: Sequence[Context] | None, newer: Sequence[Context] | None) -> list[Context]:
    found: dict[str, Context] = {}
    for entry in [*(older or []), *(newer or [])]:
        identity = entry_identity(entry)
        found[identity] = _later(found[identity], entry) if identity in found else entry
    return sorted(found.values(), key=lambda entry: (_entry_time(entry), entry_identity(entry)))


def entry_identity(entry: Mapping[str, Any]) -> str:
    """What makes an entry the same on two sides. A number that both gave out is not it."""
    return str(entry.get("uid") or f"{entry.get('id')} {_words(entry)}")


def _words(entry: Mapping[str, Any]) -> str:
    return str(entry.get("text") or entry.get("claim") or entry.get("error") or "")


def _entry_time(entry: Context) -> str:
    return str(entry.get("created_at") or entry.get("claimed_at") or entry.get("at") or "")


def _later(one: Context, other: Context) -> Context:
    """The later one; what the earlier said of a decision joins what was said before."""
    older, newer = sorted([one, other], key=_entry_order)
    if "status" not in newer:
        return newer
    past = _union(older.get("history"), [*(newer.get("history") or []), past_of(older)])
    past = [one for one in past if one != past_of(newer)]
    return {**newer, "history": past} if past else newer


def _entry_order(entry: Context) -> tuple[str, str, str]:
    """By what it says before what it was: a history grows with a merge, and must not turn the next one around."""
    return str(entry.get("updated_at") or ""), _as_line(past_of(entry)), _as_line(entry)


def past_of(decision: Mapping[str, Any]) -> Context:
    """What a decision is, as it stands in its history once it is something else."""
    return {name: decision[name] for name in ("text", "status", "because", "by", "updated_at") if decision.get(name)}


def _union(older: Iterable[Any] | None, newer: Iterable[Any] | None) -> list[Any]:
    return list({_as_line(value): value for value in [*(older or []), *(newer or [])]}.values())


def _newest_errors(older: Sequence[Context] | None, newer: Sequence[Context] | None) -> list[Context]:
    return sorted(_union(older, newer), key=_entry_time)[-ERRORS_KEPT:]


def _newest_run(older: Context | None, newer: Context | None) -> Context | None:
    return max((run for run in (older, newer) if run), key=_entry_time, default=None)


def _numbered(context: Context) -> Context:
    """Two sides may both have handed out D5: the earlier one keeps it, the later gets the next free number."""
    decisions = context.get("open_decisions")
    if not decisions:
        return context
    taken: set[str] = set()
    renumbered: list[Context] = []
    for entry in sorted(decisions, key=lambda one: (_entry_time(one), entry_identity(one))):
        if entry.get("id") in taken:
            entry = {**entry, "id": next_decision_id([*decisions, *renumbered])}
        taken.add(entry.get("id", ""))
        renumbered.append(entry)
    return {**context, "open_decisions": renumbered}


def next_decision_id(decisions: Iterable[Mapping[str, Any]]) -> str:
    found = [_DECISION_ID.fullmatch(str(entry.get("id", ""))) for entry in decisions]
    return f"D{max((int(match[1]) for match in found if match), default=0) + 1}"


_DECISION = dict.fromkeys(("id", "uid", "text", "status", "because", "by", "created_at", "updated_at"), str)
_CLAIM = dict.fromkeys(("id", "uid", "claim", "kind", "claimed_at", "by"), str)
_RUN = dict.fromkeys(("status", "failed_step", "error", "next_action", "at"), str)
_SUMMARY = dict.fromkeys(("text", "updated_at", "by", "verified_by"), str)
_SHAPE: dict[str, Any] = {
    "feature_request": str,
    "updated_at": str,
    "checkpoint": {"git_head": str, "tracked_files_hash": str, "summary_hash": str},
    "pinned_rules": [str],
    "working_summary": _SUMMARY,
    "other_summaries": [_SUMMARY],
    "open_decisions": [{**_DECISION, "history": [_DECISION], "files": [{"path": str}]}],
    "evidence_ledger": [{**_CLAIM, "files": [{"path": str}], "commands": [{"exit_code": int}]}],
    "checklist": [str],
    "file_pointers": [str],
    "last_run": _RUN,
    "last_errors": [_RUN],
}
_SAID = {"working_summary": "summary", "checklist": "checklist", "file_pointers": "files", "last_run": "last run"}
_FILE_ALONE = ("pinned_rules", "other_summaries")
_MERGES: dict[str, Callable[[Any, Any], Any]] = {
    "open_decisions": _by_id,
    "evidence_ledger": _by_id,
    "checklist": _union,
    "file_pointers": _union,
    "pinned_rules": _union,
    "last_errors": _newest_errors,
    "last_run": _newest_run,
}
