"""What stands first in a bundle: the rules, the line of work, and the repository's state. Pure.

Where HEAD is and whether these notes are stale is pinned, and what changed comes before what was
noted. Only the worst three changes are shown, because a reader who meets ten warnings reads none.
"""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.bundles.cuts import hold_back, list_section, list_shortened
from holdfast.bundles.model import LINE_CHARS, STALE_SHOWN, Gathered, Item, Section, WorkingNotes
from holdfast.bundles.quoting import (
    LABEL_CHARS,
    NAME_CHARS,
    PROSE_CHARS,
    TEXT_CHARS,
    WORD_CHARS,
    format_moment,
    join_parts,
    quote,
    quote_commit,
    write_line,
)
from holdfast.ground.frozen import replace
from holdfast.ground.text import plural
from holdfast.workstreams.model import JudgedContext, NotedChange, Staleness

CONTEXT = "repo context"
CHANGED_PATH_CHARS = 150  # so that what happened to it fits into its line

CHANGES_SHOWN = 10
PATHS_SHOWN = 5
AS_COMMITTED = "tracked files as committed"

_WORST_FIRST = ("gone", "changed", "new")


def write_notice(gathered: Gathered) -> str:
    """How far the bundle was checked."""
    last_session = _describe_last_session(gathered)
    if gathered.judged is None and gathered.local is None:
        return f"Kept on this machine; not checked against any checkout.{last_session}"
    if gathered.judged is None:
        return f"From the log of this machine; the checkout wins.{last_session}"
    return f"Checked here; the checkout wins.{last_session}"


def _describe_last_session(gathered: Gathered) -> str:
    last = gathered.last_session
    if last is None:
        return ""
    if last.is_own:
        return " This session, before its compaction."
    client = quote(last.client, WORD_CHARS)
    on = ""
    if last.branch and last.branch not in _list_named_branches(gathered):
        on = f" on {quote(last.branch, NAME_CHARS)}"
    end = "live"
    if not last.is_live:
        end = f"{last.end} {format_moment(last.ends_at, gathered.now)}"
    cause = f' "{quote(last.cause, LABEL_CHARS)}"' if last.cause else ""
    live = " · ".join(quote(name, WORD_CHARS) for name in last.also_live)
    others = f" Also live here: {live}." if live else ""
    return f" Last session: {client}{on}, {end}{last.outcome}{cause}.{others}"


def _list_named_branches(gathered: Gathered) -> list[str]:
    """This branch, and the one whose notes it begins with: other lines name them."""
    inherited = gathered.judged.inherited.branches[:1] if gathered.judged else ()
    return [gathered.branch, *inherited]


def make_rules(rules: Sequence[str]) -> Section:
    items = []
    for rule in rules:
        text = quote(rule, PROSE_CHARS)
        items.append(Item(f"- {text}", "pinned rule"))
    return list_section("rules", "RULES", items, pinned=True)


def make_about(judged: JudgedContext) -> Section:
    """Which line of work it is, and the problems of its notes."""
    context = judged.context
    items = []
    work = _name_work(judged)
    if work:
        items.append(Item(work, CONTEXT))
    notes = [note for note in (context.read_only, *context.notes) if note]
    for note in notes:
        line = write_line("NOTE: ", quote(note, TEXT_CHARS))
        items.append(Item(line, CONTEXT, is_prose=True))
    label = judged.own_label
    long_label = list_shortened("about", [label], CONTEXT, LABEL_CHARS)
    long_notes = list_shortened("about", notes, CONTEXT, TEXT_CHARS)
    return Section("about", "", tuple(items), gone=(*long_label, *long_notes))


def _name_work(judged: JudgedContext) -> str:
    """Empty where the name of the branch is all there is to say."""
    key = judged.context.key
    label = quote(judged.own_label, LABEL_CHARS)
    name = ""
    if key.workstream_id != key.branch:
        name = quote(key.workstream_id, NAME_CHARS)
    if not name and not label:
        return ""
    work = f"WORKSTREAM {name}".rstrip()
    if label:
        work += f': "{label}"'
    return work


def make_repo(judged: JudgedContext) -> Section:
    head = "no commit yet"
    if judged.head:
        head = f"HEAD {quote_commit(judged.head)}"
    where = join_parts(head, _describe_since(judged))
    uncommitted = _describe_uncommitted(judged.staleness)
    text = f"REPO {where}; {uncommitted}."
    if judged.staleness.changed:
        text += f" {_describe_stale(judged.staleness)}"
    elif judged.staleness.others:
        others = plural(judged.staleness.others, "other file")
        text += f" {others} changed; none is noted here."
    return Section("repo", text, pinned=True)


def make_local_repo(gathered: Gathered) -> Section:
    """Where the checkout is, how far it is from the session before, and what is not committed."""
    local = gathered.local
    if local is None:
        return Section("repo", "")
    if not local.head:
        return Section("repo", "REPO no commit yet.", pinned=True)
    since = ""
    if local.commits_since:
        moment = format_moment(local.since, gathered.now)
        since = f"{plural(local.commits_since, 'commit')} since {moment}"
    uncommitted = f"{len(local.changed):,} uncommitted" if local.changed else AS_COMMITTED
    new = sum(file.is_new for file in gathered.seen.files)
    end = f"; {join_parts(uncommitted, f'{new:,} new' if new else '')}."
    where = join_parts(f"HEAD {quote_commit(local.head)}", since)
    paths = _name_paths_since(gathered, LINE_CHARS - len(f"REPO {where}{end}"))
    return Section("repo", f"REPO {where}{paths}{end}", pinned=True)


def _name_paths_since(gathered: Gathered, room: int) -> str:
    """What commits since the session before changed of the files that sessions worked with."""
    changed = gathered.local.paths_since if gathered.local else ()
    known = {file.path for file in (*gathered.seen.files, *gathered.seen.read)}
    paths = [quote(path, CHANGED_PATH_CHARS) for path in changed if path in known]
    for count in range(min(len(paths), PATHS_SHOWN), 0, -1):
        more = f" +{len(paths) - count} more" if count < len(paths) else ""
        text = f", in {', '.join(paths[:count])}{more}"
        if len(text) <= room:
            return text
    return ""


def make_local_changes(gathered: Gathered) -> Section:
    """What differs from HEAD, then what sessions made and git does not know yet."""
    if gathered.local is None:
        return Section("changed", "")
    quoted = [quote(path, CHANGED_PATH_CHARS) for path in gathered.local.changed]
    items = _name_folders_once([Item(path, "git") for path in quoted if path])
    new = [file.path for file in gathered.seen.files if file.is_new]
    items += [Item(f"{quote(path, CHANGED_PATH_CHARS)} (new)", "git") for path in new]
    why = f"only {CHANGES_SHOWN} are shown"
    held = hold_back("changed", items[CHANGES_SHOWN:], why)
    shown = items[:CHANGES_SHOWN]
    return list_section("changed", "UNCOMMITTED", shown, held=held, lead=" ", joined=" · ")


def _describe_stale(staleness: Staleness) -> str:
    """Only where a noted file changed."""
    mark = "STALE IN PART"
    if len(staleness.changed) == staleness.noted:
        mark = "STALE"
    counts = f"{len(staleness.changed):,} of {plural(staleness.noted, 'noted file')}"
    if staleness.others:
        counts += f", +{plural(staleness.others, 'other')}"
    return f"{mark}: {counts}."


def _describe_since(judged: JudgedContext) -> str:
    """How far HEAD is from the commit that the notes were written at."""
    commits = judged.staleness.commits
    context = judged.context
    if not judged.head:
        return ""
    noted_at = context.head
    if context.summary:
        noted_at = context.checkpoint.git_head
    if context.summary and commits is None:
        return f"noted at {quote_commit(noted_at) or 'no commit'}, which is not known here"
    if not commits:
        return ""
    return f"{plural(commits, 'commit')} after these notes ({quote_commit(noted_at)})"


def _describe_uncommitted(staleness: Staleness) -> str:
    """Of tracked files, because only these are compared."""
    if not staleness.uncommitted:
        return AS_COMMITTED
    return f"{staleness.uncommitted:,} uncommitted"


def make_changed(judged: JudgedContext, notes: WorkingNotes) -> Section:
    """The noted files that are no longer as they were: those in work first, then the worst."""
    own = judged.own_changes
    worst_first = sorted(own, key=_weigh)
    worst_first.sort(key=lambda change: change.path not in notes.in_progress)
    others = [change for change in judged.staleness.changed if change not in own]
    items = _name_folders_once([_write_change(change) for change in worst_first])
    why = f"only {STALE_SHOWN} are shown"
    long_paths = list_shortened(
        "changed", [change.path for change in worst_first], "git", CHANGED_PATH_CHARS
    )
    return list_section(
        "changed",
        "CHANGED",
        items[:STALE_SHOWN],
        held=hold_back("changed", items[STALE_SHOWN:], why),
        gone=(*hold_back("changed", map(_write_change, others), "noted by others"), *long_paths),
        lead=" ",
        joined=" · ",
    )


def _weigh(change: NotedChange) -> tuple[int, int, str]:
    kind = len(_WORST_FIRST)
    if change.what in _WORST_FIRST:
        kind = _WORST_FIRST.index(change.what)
    added, removed = change.added or 0, change.removed or 0
    return kind, -(added + removed), change.path


def _name_folders_once(items: Sequence[Item]) -> list[Item]:
    """Of files in the same folder that follow each other, only the first with its folder."""
    named = []
    before = ""
    for item in items:
        path, _, _ = item.text.partition(" ")
        folder, slash, _ = path.rpartition("/")
        if folder and folder == before:
            item = replace(item, text=item.text.removeprefix(folder + slash))
        named.append(item)
        before = folder
    return named


def _write_change(change: NotedChange) -> Item:
    return Item(_describe_change(change), "git")


def _describe_counts(change: NotedChange) -> str:
    """The lines that were added and removed, without what is none."""
    counts = []
    if change.added:
        counts.append(f"+{change.added}")
    if change.removed:
        counts.append(f"-{change.removed}")
    return " ".join(counts)


def _describe_change(change: NotedChange) -> str:
    """With who changed it; what nobody committed yet is without a name."""
    path = quote(change.path, CHANGED_PATH_CHARS)
    what = quote(change.what, WORD_CHARS)
    has_lines = change.added is not None or change.removed is not None
    if has_lines and change.what == "changed":
        what = _describe_counts(change) or what
    text = f"{path} {what}"
    if not change.is_committed:
        return f"{text}, uncommitted" if change.what == "new" else text
    author = quote(change.author, WORD_CHARS)
    by = join_parts(quote_commit(change.commit), author)
    if by and len(f"CHANGED {text} ({by})") <= LINE_CHARS:
        text += f" ({by})"
    return text
