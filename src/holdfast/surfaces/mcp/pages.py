"""All notes about a line of work, in pages: each once, without hashes, the newest first. Pure.

A cursor says which document its page was of, and which entries that had: over another document, or
over one that has changed, a place in the list means nothing, and the caller is told so.
"""

from __future__ import annotations

import base64
import binascii
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from holdfast.errors import InvalidValueError
from holdfast.ground import canonical, fence
from holdfast.ground.frozen import dataclass, replace
from holdfast.ground.patterns import compile_later
from holdfast.surfaces.mcp.answer import READ_CHARS, count_chars, count_fitting, shorten
from holdfast.surfaces.mcp.wording import quote_sections, write_sections

if TYPE_CHECKING:
    from holdfast.workstreams.entries import NotedRun
    from holdfast.workstreams.model import (
        JudgedClaim,
        JudgedContext,
        JudgedDecision,
        NotedChange,
        NotedStep,
    )

PIECE_CHARS = 2_000  # of one piece of evidence
ENTRY_CHARS = 3_000  # what is longer follows in entries of its own
LABEL_CHARS = 200
CHANGED_FILES = 20
ALWAYS = ("open_decisions", "claims", "checklist")  # there on the first page, even where empty
# The texts of an entry, by section; the first one names it.
TEXTS = {
    "working_summary": ("text",),
    "other_summaries": ("text",),
    "last_run": ("error", "failed_step", "next_action"),
    "last_errors": ("error", "failed_step", "next_action"),
    "open_decisions": ("text", "because"),
    "shared_decisions": ("text", "because"),
    "claims": ("claim",),
    "proofs": ("command",),
}
SINGLE = ("working_summary", "last_run")

_COMMIT = compile_later("[0-9a-f]{40,64}")
_CURSOR = compile_later("([0-9a-f]{16})([0-9a-f]{16})([0-9]{1,9})")


@dataclass(frozen=True)
class PageEntry:
    section: str
    value: Any
    is_own: bool = True  # written on this machine

    @property
    def chars(self) -> int:
        """What it adds to a page at most, in JSON or as prose."""
        if not self.is_own:  # quoted, as one text
            return count_chars("\n".join(quote_sections(self._alone())))
        as_text = sum(len(line) + 1 for line in write_sections(self._alone()))
        return max(count_chars(self._alone()), as_text)

    @property
    def is_continued(self) -> bool:
        return isinstance(self.value, Mapping) and bool(self.value.get("continued"))

    def _alone(self) -> dict[str, Any]:
        return {self.section: self.value if self.section in SINGLE else [self.value]}


@dataclass(frozen=True)
class Page:
    head: Mapping[str, Any]
    entries: Sequence[PageEntry]
    cursor: str | None
    left: int  # entries that follow

    def collect(self, fence_key: bytes) -> dict[str, Any]:
        """One's own entries by section, and those of others as one text between two markers."""
        entries = _join_parts(self.entries)
        sections = dict(self.head)
        _add_entries(sections, [entry for entry in entries if entry.is_own])
        others: dict[str, Any] = {}
        _add_entries(others, [entry for entry in entries if not entry.is_own])
        if others:
            lines = list(quote_sections(others))
            first, last = fence.mark_others(fence_key, lines)
            sections["others"] = "\n".join([first, *lines, last])
        return sections


def _add_entries(sections: dict[str, Any], entries: Sequence[PageEntry]) -> None:
    for entry in entries:
        if entry.section in SINGLE:
            sections[entry.section] = entry.value
        else:
            sections[entry.section] = [*sections.get(entry.section, ()), entry.value]


def make_page(
    judged: JudgedContext, entries: Sequence[PageEntry], cursor: object, *, spent: int | None
) -> Page:
    """The page at a cursor, or the first one. `spent` are the characters of what is around it;
    with None it has no limit.
    """
    about = _name_document(judged)
    listed = _hash(*(f"{entry.section} {_identify(entry.value)}" for entry in entries))
    start = 0 if cursor is None else _read_cursor(cursor, about, listed, len(entries))
    head = {} if start else _make_head(judged)
    end = len(entries)
    if spent is not None:
        room = READ_CHARS - spent - count_chars(head)
        end = start + count_fitting((entry.chars for entry in entries[start:]), room)
    left = len(entries) - end
    following = _write_cursor(about, listed, end) if left else None
    return Page(head, entries[start:end], following, left)


def list_entries(judged: JudgedContext) -> list[PageEntry]:
    """Everything that is noted: what to go on with first, then the newest."""
    return [part for entry in _list_noted(judged) for part in _split_entry(entry)]


def list_claims(judged: JudgedContext) -> list[PageEntry]:
    """Those that no longer hold first, then the newest."""
    doubtful_first = sorted(_list_newest_claims(judged), key=lambda claim: claim.holds)
    return [part for claim in doubtful_first for part in _split_entry(_enter_claim(claim))]


# --- what is told ---------------------------------------------------------------------------------


def _make_head(judged: JudgedContext) -> dict[str, Any]:
    context = judged.context
    changed = [_describe_change(change) for change in judged.own_changes[:CHANGED_FILES]]
    left_out = len(judged.staleness.changed) - len(changed)
    if left_out > 0:
        changed.append(f"+{left_out:,} more")
    head: dict[str, Any] = {
        "key": context.key._replace(repo=_name_repo(context.key.repo)).to_dict(),
        "phase": context.phase,
        "revision": context.revision,
        "feature_request": judged.own_label,
        "updated_at": context.fields.updated_at,
        "stale": judged.staleness.stale,
        "staleness": {
            "reasons": list(judged.staleness.reasons),
            "changed": changed,
            "text": _describe_staleness(judged),
        },
        "working_summary": None,
        **{name: [] for name in ALWAYS},
    }
    return dict(shorten(fence_value(head), LABEL_CHARS, entries=CHANGED_FILES + 1))


def _describe_staleness(judged: JudgedContext) -> str:
    from holdfast.workstreams.staleness import describe_staleness

    if not judged.staleness.stale:
        return "fresh"
    return describe_staleness(judged.staleness)


def _name_repo(repo: str) -> str:
    """A repository without a remote is known by its first commit: the beginning is enough here."""
    return repo[:12] if _COMMIT.fullmatch(repo) else repo


def _describe_change(change: NotedChange) -> str:
    text = f"{change.path} {change.what}"
    if change.added is not None:
        text += f" +{change.added} -{change.removed}"
    return text


def _list_noted(judged: JudgedContext) -> Iterator[PageEntry]:
    context = judged.context
    foreign = judged.foreign
    label = judged.of_others.feature_request
    if label:  # one's own is in the head
        yield PageEntry("about", label, is_own=False)
    summary = context.summary
    if summary:
        told = {**_pick_summary(summary), "stale": judged.staleness.stale}
        yield PageEntry("working_summary", told, "working_summary" not in foreign)
    if context.last_run:
        yield PageEntry("last_run", make_run(context.last_run), "last_run" not in foreign)
    for step in judged.all_steps:
        yield PageEntry("checklist", _write_step(step), step.is_own)
    for section, decisions in (
        ("open_decisions", judged.decisions),
        ("shared_decisions", judged.decisions_elsewhere),
    ):
        for decision in sorted(decisions, key=lambda each: each.changed_at)[::-1]:
            yield PageEntry(section, make_decision(decision), decision.is_own)
    yield from map(_enter_claim, _list_newest_claims(judged))
    yield from [PageEntry("file_pointers", str(pointer)) for pointer in judged.own_pointers]
    for pointer in judged.of_others.file_pointers or ():
        yield PageEntry("file_pointers", str(pointer), is_own=False)
    yield from [PageEntry("pinned_rules", rule) for rule in judged.rules]
    yield from _list_history(judged)


def _list_history(judged: JudgedContext) -> Iterator[PageEntry]:
    """What was noted before, and what was run."""
    context = judged.context
    for other in context.fields.other_summaries or ():
        if other.text:
            yield PageEntry("other_summaries", _pick_summary(other), judged.is_own(other))
    failed = context.failed_run
    earlier = [run for run in context.last_errors if failed is None or run.uid != failed.uid]
    for run in reversed(earlier):
        yield PageEntry("last_errors", make_run(run), judged.is_own(run))
    for proof in judged.proofs:
        short = proof.to_short_dict(judged.tree)
        yield PageEntry("proofs", {**short, "command": shlex.join(proof.command)})


def _enter_claim(judged: JudgedClaim) -> PageEntry:
    return PageEntry("claims", make_claim(judged), judged.is_own)


def _write_step(step: NotedStep) -> str:
    return f"({step.of}) {step.text}" if step.of else step.text


def _list_newest_claims(judged: JudgedContext) -> list[JudgedClaim]:
    return sorted(judged.all_claims, key=lambda claim: claim.claimed_at)[::-1]


def make_decision(judged: JudgedDecision) -> dict[str, Any]:
    names = ("id", "text", "status", "because", "by", "updated_at", "of")
    return _pick(judged.to_dict(), *names)


def make_claim(judged: JudgedClaim) -> dict[str, Any]:
    """A claim with its verdict; of its evidence what a reader needs."""
    known = ("id", "claim", "kind", "verdict", "holds", "claimed_at", "of")
    claim = _pick(judged.to_dict(), *known)
    names = ("text", "verdict", "why")
    pieces = []
    for evidence in judged.evidence:
        piece = _pick(evidence.to_dict(), *names)
        if evidence.verdict == "moved":
            piece["lines"] = evidence.lines_text
        pieces.append(piece)
    return {**claim, "evidence": pieces}


def make_run(run: NotedRun) -> dict[str, Any]:
    return _pick(run.to_dict(), "status", "failed_step", "error", "next_action", "at")


def _pick_summary(summary: Any) -> dict[str, Any]:
    return _pick(summary.to_dict(), "text", "updated_at", "by", "verified_by")


def _pick(values: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: values[name] for name in names if values.get(name) not in (None, "")}


def fence_value(value: Any) -> Any:
    """A JSON value with no text in it that could pass for a client's words or a speaker's."""
    if isinstance(value, str):
        return fence.clean(value)
    if isinstance(value, Mapping):
        return {name: fence_value(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [fence_value(inner) for inner in value]
    return value


# --- entries that are too long for a page ---------------------------------------------------------


def _split_entry(entry: PageEntry) -> Iterator[PageEntry]:
    """In parts of a bounded size; nearly always it is one."""
    value = fence_value(entry.value)
    if isinstance(value, Mapping):
        value = _shorten_labels(value, TEXTS[entry.section])
    yield from _split(replace(entry, value=value))


def _shorten_labels(value: Mapping[str, Any], texts: Sequence[str]) -> dict[str, Any]:
    """What was not written to be read, such as a name: only an edit by hand makes it long."""
    short = {name: shorten(inner, LABEL_CHARS, 20) for name, inner in value.items()}
    short |= {name: value[name] for name in texts if name in value}
    if "evidence" in value:
        short["evidence"] = [shorten(piece, PIECE_CHARS, 20) for piece in value["evidence"]]
    return short


def _split(entry: PageEntry) -> Iterator[PageEntry]:
    halves = None
    if entry.chars > ENTRY_CHARS:
        halves = _halve(entry)
    if halves is None:
        yield entry
        return
    for half in halves:
        yield from _split(replace(entry, value=half))


def _halve(entry: PageEntry) -> tuple[Any, Any] | None:
    """Without the second half of its longest part, and that half; None where nothing is long."""
    value = entry.value
    if isinstance(value, str):
        middle = _find_middle(value)
        return (value[:middle], value[middle:]) if middle else None
    title, *_ = texts = TEXTS[entry.section]
    parts = [name for name in (*texts, "evidence") if len(value.get(name) or ()) > 1]
    if not parts:
        return None
    longest = max(parts, key=lambda name: count_chars(value[name]))
    whole = value[longest]
    middle = _find_middle(whole)
    rest = {**_pick(value, "id"), title: "", longest: whole[middle:], "continued": True}
    return {**value, longest: whole[:middle]}, rest


def _find_middle(whole: str | list[Any]) -> int:
    """Of a text, after a word."""
    middle = len(whole) // 2
    if isinstance(whole, str):
        return whole.rfind(" ", middle // 2, middle) + 1 or middle
    return middle


def _join_parts(entries: Sequence[PageEntry]) -> list[PageEntry]:
    """Parts of one entry that came to the same page are one again."""
    joined: list[PageEntry] = []
    for entry in entries:
        if joined and entry.is_continued and joined[-1].section == entry.section:
            before = joined.pop()
            entry = replace(entry, value=_join(before.value, entry.value))
        joined.append(entry)
    return joined


def _join(value: Mapping[str, Any], rest: Mapping[str, Any]) -> dict[str, Any]:
    joined = dict(value)
    for name, part in rest.items():
        if name != "id" and isinstance(part, str | list):
            joined[name] = value.get(name, type(part)()) + part
    return joined


# --- cursors --------------------------------------------------------------------------------------


def _write_cursor(about: str, listed: str, position: int) -> str:
    plain = f"{about}{listed}{position}"
    return base64.urlsafe_b64encode(plain.encode()).decode().rstrip("=")


def _read_cursor(cursor: object, about: str, listed: str, count: int) -> int:
    found = _CURSOR.fullmatch(_decode_cursor(cursor))
    if found is None:
        raise InvalidValueError(
            "cursor", cursor, "is not a cursor; leave it out for the first page"
        )
    if found[1] != about:
        raise InvalidValueError("cursor", cursor, "is of another workstream or phase")
    position = int(found[3])
    if found[2] != listed or position >= count:
        problem = "is outdated, because the notes have changed; leave it out for the first page"
        raise InvalidValueError("cursor", cursor, problem)
    return position


def _decode_cursor(cursor: object) -> str:
    if not isinstance(cursor, str) or len(cursor) > LABEL_CHARS:
        return ""
    padded = cursor + "=" * (-len(cursor) % 4)
    try:
        return base64.urlsafe_b64decode(padded.encode()).decode("ascii")
    except (ValueError, binascii.Error):
        return ""


def _name_document(judged: JudgedContext) -> str:
    return _hash(*judged.context.key, judged.context.phase)


def _identify(value: Any) -> str:
    """By what it says, and not by its verdict, which may change from page to page."""
    if isinstance(value, str):
        return value
    return str([value.get(name) for name in ("id", "text", "claim", "error", "at")])


def _hash(*texts: str) -> str:
    joined = "\0".join(texts).encode(errors="surrogatepass")
    return canonical.sha256(joined).hex()[:16]
