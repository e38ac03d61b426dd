"""From sessions and memories: the last request verbatim, what blocks, sets, memories. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from holdfast.bundles.cuts import list_cut_lines, list_section, list_shortened
from holdfast.bundles.model import (
    CONTINUED,
    CUT_OFF,
    FILES,
    LINE_CHARS,
    Cut,
    Gathered,
    Item,
    LastAnswer,
    LastRequest,
    RecalledMemory,
    Section,
)
from holdfast.bundles.note_sections import (
    describe_age,
    list_noted_paths,
    list_set_files,
    list_shortened_set_files,
)
from holdfast.bundles.quotation import BROKEN, SAME_LINE, quote_end, quote_pieces
from holdfast.bundles.quoting import (
    NAME_CHARS,
    PROSE_CHARS,
    TEXT_CHARS,
    WORD_CHARS,
    format_day,
    format_moment,
    join_parts,
    quote,
    write_line,
    write_path,
)
from holdfast.bundles.seen_sections import list_seen_files
from holdfast.ground.frozen import replace

BLOCKED = "BLOCKED "  # stands on the line of the first item
RULE_CATEGORIES = ("rule", "rules", "constraint", "constraints", "convention", "preference")


def make_request(gathered: Gathered) -> Section:
    """To whom, where that is another agent which is at work on it."""
    request, last = gathered.request, gathered.last_session
    if request and last and last.is_live and not last.is_own and not request.to:
        request = replace(request, to=last.client)
    return _quote_request("request", "LAST REQUEST", request, gathered.now)


def make_before(gathered: Gathered) -> Section:
    """What a request goes on with that says little by itself."""
    title = "BEFORE IT" if gathered.request else "BEFORE THE LAST REQUEST"
    return _quote_request("before", title, gathered.before, gathered.now)


def _quote_request(name: str, title: str, request: LastRequest | None, now: datetime) -> Section:
    if request is None:
        return Section(name, "")
    items = quote_pieces(request)
    to = f" to {quote(request.to, WORD_CHARS)}" if request.to else ""
    has_broken_line = any(item.text.startswith(SAME_LINE) for item in items)
    broken = BROKEN if has_broken_line else ""
    said = f"user{to}, {format_moment(request.said_at, now)}{broken}"
    return list_section(name, f"{title} ({said})", items, verbatim=True)


def make_question(gathered: Gathered) -> Section:
    """How the message ends that a request replies to which says little by itself."""
    title = "IT REPLIES TO" if gathered.request else "THE LAST REQUEST REPLIES TO"
    return _quote_answer("question", title, gathered.question, gathered.now)


def make_answer(gathered: Gathered) -> Section:
    """How the answer ends that the session was left with, or what was said before it worked on."""
    return _quote_answer("answer", _name_answer(gathered), gathered.answer, gathered.now)


def _name_answer(gathered: Gathered) -> str:
    """What was said before a turn was cut off answers nothing, even if nothing followed it."""
    is_cut_off = bool(gathered.last_session and gathered.last_session.end == CUT_OFF)
    if gathered.answer and (is_cut_off or not gathered.answer.is_answer):
        return "LAST WORDS"
    return "ITS ANSWER" if gathered.request else "LAST ANSWER"


def _quote_answer(name: str, title: str, answer: LastAnswer | None, now: datetime) -> Section:
    if answer is None or not quote(answer.text, PROSE_CHARS):
        return Section(name, "")
    said = f"agent said, {format_moment(answer.said_at, now)}"
    items = quote_end(answer)
    return list_section(name, f"{title} ({said})", items, verbatim=True, ends_first=True)


def make_unfinished(gathered: Gathered) -> Section:
    """What was asked for in other sessions and not answered, a line each."""
    return _list_requests("unfinished", "UNANSWERED", gathered.unfinished, gathered.now)


def make_earlier(gathered: Gathered) -> Section:
    """What was asked for before, a line each, the newest first."""
    told = {request.event_id for request in gathered.unfinished}
    others = [each for each in gathered.earlier if each.event_id not in told]
    said = [each.saying.text for each in gathered.seen.said]
    others = [each for each in others if _says_more(each.text, said)]
    others = [replace(each, branch=_name_other(each.branch, gathered)) for each in others]
    return _list_requests("earlier", "ASKED BEFORE", others, gathered.now)


def _name_other(branch: str, gathered: Gathered) -> str:
    """Empty for the branch that the head names."""
    return "" if branch == gathered.branch else branch


def _says_more(text: str, said: Sequence[str]) -> bool:
    """Whether a request has anything beside the sentences that are quoted of it."""
    rest = " ".join(text.split())
    for sentence in said:
        rest = rest.replace(sentence, "")
    return bool(rest.strip())


def _list_requests(
    name: str, title: str, requests: Sequence[LastRequest], now: datetime
) -> Section:
    noted = []
    for request in requests:
        to = f" to {quote(request.to, WORD_CHARS)}" if request.to else ""
        on = f" on {quote(request.branch, NAME_CHARS)}" if request.branch else ""
        lead = f"- {format_moment(request.said_at, now)}{to}{on}: "
        text = quote(request.text, PROSE_CHARS)
        noted.append((text, Item(write_line(lead, text), request.source)))
    items = [item for _, item in noted]
    gone = list_cut_lines(name, noted)
    return list_section(name, title, items, gone=gone)


def make_blocked(gathered: Gathered) -> Section:
    notes = gathered.notes
    quoted = [quote(text, PROSE_CHARS) for text in notes.blockers]
    texts = [text for text in quoted if text]
    age = describe_age(gathered)
    lines = [write_line("", text, keep=len(BLOCKED + age)) for text in texts]
    items = [Item.with_end(line, age, notes.source) for line in lines]
    gone = list_cut_lines("blocked", zip(texts, items, strict=True))
    return list_section("blocked", BLOCKED.strip(), items, lead=" ", joined=CONTINUED, gone=gone)


def make_environment(gathered: Gathered) -> Section:
    last = gathered.last_session
    if last is None or not last.environment:
        return Section("environment", "")
    item = Item(write_line("ENVIRONMENT ", quote(last.environment, PROSE_CHARS)), "session")
    gone = list_cut_lines("environment", [(last.environment, item)])
    return Section("environment", "", (item,), gone=gone)


def make_noted_files(gathered: Gathered) -> Section:
    """Where there are no notes in the repository: the set, then what was noted and seen."""
    notes = gathered.notes
    items = list_set_files(gathered)
    files = list_noted_paths(gathered)
    noted = [Item(file.text, notes.source) for file in files]
    gone = list_cut_lines("files", zip([file.path for file in files], noted, strict=True))
    items += noted
    items += list_seen_files(gathered, {file.path for file in files})
    cut = (*list_shortened_set_files(gathered), *gone)
    return list_section("files", "FILES", items, lead=" ", joined=" · ", gone=cut)


def make_other_notes(gathered: Gathered) -> Section:
    """What a scratchpad holds beside the names that have a place of their own."""
    notes = gathered.notes
    lines = [write_line("| ", quote(text, PROSE_CHARS)) for text in notes.others]
    items = [Item(line, notes.source) for line in lines]
    gone = list_cut_lines("notes", zip(notes.others, items, strict=True))
    return list_section("notes", "SCRATCHPAD", items, gone=gone)


def make_context_sets(gathered: Gathered) -> Section:
    """Each set on a line of its own, but for that of files; what is not text is not shown."""
    items = []
    gone: tuple[Cut, ...] = ()
    names = [name for name in gathered.context_sets if name != FILES]
    for name in sorted(names):
        entries = gathered.context_sets[name]
        item = Item(_write_set(gathered, name, entries), gathered.context_source)
        if item.text:
            items.append(item)
            gone += list_cut_lines("context_sets", [(entry, item) for entry in entries])
    return Section("context_sets", "", tuple(items), gone=gone)


def _write_set(gathered: Gathered, name: str, entries: Sequence[object]) -> str:
    texts = [write_path(gathered, entry) for entry in entries if isinstance(entry, str)]
    shown = [text for text in texts if text]
    if not shown:
        return ""
    lead = f"SET {quote(name, WORD_CHARS)}:"
    left_out = 0
    while shown[1:] and len(_join_set(lead, shown, left_out)) > LINE_CHARS:
        shown.pop()
        left_out += 1
    return _join_set(lead, shown, left_out)


def _join_set(lead: str, texts: Sequence[str], left_out: int) -> str:
    more = [f"+{left_out} more"] if left_out else []
    return f"{lead} {' · '.join([*texts, *more])}"


# --- memories -------------------------------------------------------------------------------------


def make_remembered_rules(gathered: Gathered) -> Section:
    """Memories that say how to work, which count more than facts."""
    return _make_recalled(gathered, "remembered_rules", "REMEMBERED", is_rule=True)


def make_recalled(gathered: Gathered) -> Section:
    return _make_recalled(gathered, "recalled", "RECALLED", is_rule=False)


def _make_recalled(gathered: Gathered, name: str, title: str, *, is_rule: bool) -> Section:
    found = [memory for memory in gathered.recalled if _is_rule(memory) == is_rule]
    items = [_write_memory(memory, gathered.now) for memory in found]
    gone = [
        cut
        for memory in found
        for cut in list_shortened(name, [memory.text], memory.source, TEXT_CHARS)
    ]
    return list_section(name, title, items, gone=tuple(gone))


def _is_rule(memory: RecalledMemory) -> bool:
    return memory.category.casefold() in RULE_CATEGORIES


def _write_memory(memory: RecalledMemory, now: datetime) -> Item:
    day = format_day(memory.learned_at, now)
    verdict = memory.verdict
    mark = f" [{verdict}] {join_parts(quote(memory.by, WORD_CHARS), day)}"
    line = write_line("- ", quote(memory.text, PROSE_CHARS), keep=len(mark))
    return Item.with_end(line, mark, memory.source, verdict)
