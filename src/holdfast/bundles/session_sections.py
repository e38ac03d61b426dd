"""From sessions and memories: the last request verbatim, context sets, recalled memories. Pure."""

from __future__ import annotations

from datetime import datetime

from holdfast.bundles.cuts import hold_back, list_section, list_shortened
from holdfast.bundles.model import Cut, Gathered, Item, RecalledMemory, Section
from holdfast.bundles.quoting import (
    PATH_CHARS,
    TEXT_CHARS,
    WORD_CHARS,
    end_sentence,
    format_day,
    format_moment,
    join_parts,
    quote,
    quote_lines,
)

PROSE_LINES = 40


def make_request(gathered: Gathered) -> Section:
    request = gathered.request
    if request is None:
        return Section("request", "")
    lines = quote_lines(request.text)
    items = [Item(f"> {line}", request.source, is_prose=True) for line in lines]
    why = f"only the first {PROSE_LINES} lines are shown"
    said_at = format_moment(request.said_at, gathered.now)
    return list_section(
        "request",
        f"LAST REQUEST (user, {said_at}, verbatim)",
        items[:PROSE_LINES],
        held=hold_back("request", items[PROSE_LINES:], why),
    )


def make_context_sets(gathered: Gathered) -> list[Section]:
    """Each set on a line of its own; what is not text is not shown."""
    return [_make_context_set(gathered, name) for name in sorted(gathered.context_sets)]


def _make_context_set(gathered: Gathered, name: str) -> Section:
    entries = gathered.context_sets[name]
    source = gathered.context_source
    texts = [quote(entry, PATH_CHARS) for entry in entries]
    return list_section(
        "context_sets",
        f"SET {quote(name, WORD_CHARS)}:",
        [Item(text, source) for text in texts if text],
        lead=" ",
        joined=" · ",
        gone=list_shortened("context_sets", entries, source, PATH_CHARS),
    )


def make_recalled(gathered: Gathered) -> Section:
    items: list[Item] = []
    cuts: list[Cut] = []
    for memory in gathered.recalled:
        items.append(_write_memory(memory, gathered.now))
        cuts += list_shortened("recalled", [memory.text], memory.source, TEXT_CHARS)
    title = f"RECALLED ({len(items)} passed the relevance gate)"
    return list_section("recalled", title, items, gone=tuple(cuts))


def _write_memory(memory: RecalledMemory, now: datetime) -> Item:
    day = format_day(memory.learned_at, now)
    by = join_parts(quote(memory.by, WORD_CHARS), day)
    verdict = memory.verdict
    mark = f" [{verdict}] {by}"
    text = end_sentence(quote(memory.text, TEXT_CHARS))
    return Item.with_end(f"- {text}", mark, memory.source, verdict)
