"""What stands first in a bundle: the rules, which line of work it is, and what the repository says.
Pure.

Where HEAD is and whether these notes are stale is pinned, and what changed comes before what was
noted. Of what went stale only the worst three are shown, because a reader who meets ten warnings
reads none.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from holdfast.bundles.cuts import hold_back, list_shortened
from holdfast.bundles.model import Gathered, Item, Section
from holdfast.bundles.quoting import (
    LABEL_CHARS,
    NAME_CHARS,
    PATH_CHARS,
    PROSE_CHARS,
    TEXT_CHARS,
    WORD_CHARS,
    format_moment,
    join_parts,
    quote,
    quote_commit,
)
from holdfast.ground.text import plural
from holdfast.workstreams.model import JudgedContext, NotedChange, Staleness
from holdfast.workstreams.staleness import (
    EDITED,
    describe_changed,
    describe_noted,
    describe_others,
    describe_staleness,
)

STALE_SHOWN = 3
CONTEXT = "repo context"

_WORST_FIRST = ("gone", "changed", "new")


def write_notice(gathered: Gathered) -> str:
    """How far the bundle was checked."""
    if gathered.judged is None:
        return "Kept on this machine; not checked against any checkout." + _describe_last_session(
            gathered
        )
    if gathered.phase == "planning":
        return "Earlier sessions' notes, checked against this checkout just now. The checkout wins."
    return "Checked against this checkout; the checkout wins." + _describe_last_session(gathered)


def _describe_last_session(gathered: Gathered) -> str:
    last = gathered.last_session
    if last is None:
        return ""
    client, ended_at = quote(last.client, WORD_CHARS), format_moment(last.ends_at, gathered.now)
    how = "" if last.is_answered else " without a final answer"
    return f" Last session: {client}; its log ends {ended_at}{how}."


def make_rules(rules: Sequence[str]) -> Section:
    items = [Item(f"- {quote(rule, PROSE_CHARS)}", "pinned rule") for rule in rules]
    return Section("rules", "RULES" if items else "", tuple(items), pinned=True)


def make_about(judged: JudgedContext) -> Section:
    """Which line of work it is, and what is wrong with its notes."""
    context = judged.context
    label = context.fields.feature_request
    notes = [note for note in (context.read_only, *context.notes) if note]
    work = _name_work(judged)
    items = [Item(work, CONTEXT)] if work else []
    items += [Item(f"NOTE: {quote(note, TEXT_CHARS)}", CONTEXT) for note in notes]
    long_label = list_shortened("about", [(label, CONTEXT)], LABEL_CHARS)
    long_notes = list_shortened("about", [(note, CONTEXT) for note in notes], TEXT_CHARS)
    return Section("about", "", tuple(items), gone=(*long_label, *long_notes))


def _name_work(judged: JudgedContext) -> str:
    """Nothing where the branch says it all."""
    key = judged.context.key
    label = quote(judged.context.fields.feature_request, LABEL_CHARS)
    name = "" if key.workstream_id == key.branch else quote(key.workstream_id, NAME_CHARS)
    if not name and not label:
        return ""
    work = f"WORKSTREAM {name}".rstrip()
    return f'{work}: "{label}"' if label else work


def make_repo(judged: JudgedContext) -> Section:
    head = f"HEAD {quote_commit(judged.head)}" if judged.head else "no commit yet"
    where = join_parts(head, _describe_since(judged))
    uncommitted = _describe_uncommitted(judged.staleness)
    return Section(
        "repo", f"REPO: {where}; {uncommitted}.{_describe_freshness(judged)}", pinned=True
    )


def _describe_freshness(judged: JudgedContext) -> str:
    if judged.context.summary is None:
        return " No summary was saved yet."
    return "" if judged.staleness.stale else " Fresh: the contents are those of these notes."


def _describe_since(judged: JudgedContext) -> str:
    """How far HEAD is from the commit that the notes were written at."""
    commits = judged.staleness.commits
    if judged.context.summary is None or not judged.head:
        return ""
    written_at = quote_commit(judged.context.checkpoint.git_head)
    if commits is None:
        return f"these notes were written at {written_at or 'no commit'}, which is not known here"
    if not commits:
        return "where these notes were written"
    return f"{plural(commits, 'commit')} after these notes ({written_at})"


def _describe_uncommitted(staleness: Staleness) -> str:
    number = staleness.uncommitted
    return f"{plural(number, 'file')} uncommitted" if number else "nothing uncommitted"


def make_stale(judged: JudgedContext) -> Section:
    """For a plan; nothing where the notes are fresh."""
    staleness = judged.staleness
    if not staleness.stale:
        return Section("stale", "", pinned=True)
    mark = _mark_stale(staleness) if "files" in staleness.reasons else "STALE"
    return Section("stale", f"{mark}: {describe_staleness(staleness)}.", pinned=True)


def make_stale_since(judged: JudgedContext, now: datetime) -> Section:
    """The same with what it is measured against, in one line."""
    staleness, summary = judged.staleness, judged.context.summary
    saved_at = format_moment(summary.updated_at if summary else None, now)
    at = join_parts(saved_at, quote_commit(judged.context.checkpoint.git_head))
    is_edited = "files" not in staleness.reasons
    what = EDITED if is_edited else describe_noted(len(staleness.changed), staleness.noted)
    parts = [
        f"{_mark_stale(staleness)}, {what}",
        _describe_head(judged),
        _describe_uncommitted(staleness),
    ]
    return Section("stale", f"CHANGED since these notes ({at}): {'; '.join(parts)}", pinned=True)


def _describe_head(judged: JudgedContext) -> str:
    commits, head = judged.staleness.commits, quote_commit(judged.head)
    if commits is None:
        return f"HEAD {head}"
    return f"HEAD {head}, {plural(commits, 'commit')} later" if commits else "HEAD unchanged"


def _mark_stale(staleness: Staleness) -> str:
    changed = len(staleness.changed)
    if changed == staleness.noted:
        return "STALE"
    return "STALE IN PART" if changed else "STALE ELSEWHERE"


def make_changed(judged: JudgedContext) -> Section:
    """The worst first: what is gone, then what changed most. That these notes are stale is said
    before it.
    """
    staleness = judged.staleness
    items = [
        Item(_describe_change(change), "git") for change in sorted(staleness.changed, key=_weigh)
    ]
    others = describe_others(staleness) if staleness.stale else ""
    if not items:
        return Section("changed", "", (Item(others, "git"),) if others else (), indent="  ")
    title = "" if staleness.stale else f"CHANGED: {describe_changed(len(items), staleness.noted)}."
    held = hold_back("changed", items[STALE_SHOWN:], f"only the worst {STALE_SHOWN} are shown")
    tail = f"  {others}" if others else ""
    return Section("changed", title, tuple(items[:STALE_SHOWN]), tail=tail, indent="  ", held=held)


def _weigh(change: NotedChange) -> tuple[int, int, str]:
    kind = _WORST_FIRST.index(change.what) if change.what in _WORST_FIRST else len(_WORST_FIRST)
    lines = (change.added or 0) + (change.removed or 0)
    return kind, -lines, change.path


def _describe_change(change: NotedChange) -> str:
    what = f" {quote(change.what, WORD_CHARS)}"
    has_lines = change.added is not None or change.removed is not None
    if has_lines and change.what == "changed":
        what = f" +{change.added or 0} -{change.removed or 0}"
    path = quote(change.path, PATH_CHARS)
    if not change.is_committed:
        return f"{path}{what}, uncommitted"
    by = join_parts(quote_commit(change.commit), quote(change.author, WORD_CHARS))
    return f"{path}{what} ({by})" if by else f"{path}{what}"
