"""What developers of a team show each other, as prose.

Names, times and counts are lines of ours. What another developer wrote stands in one fence for each
author's text. Paths, branches and repositories are words of their developer too: on a line of ours
stands one that is plain, else a word of ours, and the fence has it whole. One's own text is not
fenced: it is indented, and called "yours".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.ground import clock
from holdfast.ground.fence import fence, one_line
from holdfast.surfaces.mcp.exchange_data import Reader, count_parts, describe_counts, find_author

if TYPE_CHECKING:
    from holdfast.team.freshness import Freshness

Data = Mapping[str, Any]

FENCE_CHARS = 1 << 30  # what has to be short was cut before
_MORE = r"\+[\d,]+ more"  # ours, at the end of a list that was cut


# --- published contexts ---------------------------------------------------------------------------


def write_context(
    reader: Reader, context: Data, counts: Mapping[str, int], fresh: Freshness | None = None
) -> str:
    """One context in full; `counts` are those of the whole, where the context was shortened."""
    lines = [
        _write_head(reader, context, "context", context["developer"]),
        _write_times(context, counts, fresh),
        *_list_files(reader, context, fresh),
    ]
    body = "\n".join([_write_body(context), *_list_hidden(reader, context)])
    return "\n".join([*lines, _enclose(reader, context, body)])


def _write_head(reader: Reader, record: Data, what: str, person: Data) -> str:
    who = _name_person(person) if reader.is_of_other(person) else "yours"
    place = _list_place(reader, record)
    return " · ".join([who, *place, f"{what} {record['id']}"])


def _write_times(context: Data, counts: Mapping[str, int], fresh: Freshness | None) -> str:
    from holdfast.team.freshness import describe_checkout

    parts = [
        f"published {write_minute(context['published_at'])}",
        _write_standing(context),
        describe_counts(counts),
    ]
    if fresh is not None:
        parts.append(describe_checkout(fresh))
    return " · ".join(parts)


def _write_standing(context: Data) -> str:
    """A repeated request is answered with a context that may have ended meanwhile."""
    if context.get("revoked_at"):
        return f"revoked {write_minute(context['revoked_at'])}"
    if context.get("superseded_by"):
        return f"superseded by {context['superseded_by']}"
    return _write_end(context["expires_at"], "expires")


def _write_end(expires_at: str, word: str) -> str:
    has_ended = clock.from_text(expires_at) <= clock.now()
    return f"{'expired' if has_ended else word} {write_minute(expires_at)}"


def _list_files(reader: Reader, context: Data, fresh: Freshness | None) -> Iterator[str]:
    states = (
        {} if fresh is None else {one_line(path, 500): fresh.files[path] for path in fresh.files}
    )
    files = context.get("files_touched", ())
    for path, shown in zip(files, list_shown_paths(reader, context, files), strict=True):
        state = states.get(path)
        yield f"- {shown} ({state})" if state else f"- {shown}"


def _write_body(context: Data) -> str:
    lines = [context["title"]]
    if context.get("summary"):
        lines += ["", context["summary"]]
    for name, title in (("next_actions", "Next actions"), ("blockers", "Blockers")):
        items = context.get(name) or ()
        if items:
            lines += [f"{title}:", *(f"- {_indent(item)}" for item in items)]
    if context.get("task_ids"):
        lines.append(f"Tasks: {', '.join(context['task_ids'])}")
    return "\n".join(lines)


def _enclose(reader: Reader, context: Data, body: str) -> str:
    person = context["developer"]
    source = f"published context {context['id']}"
    return quote(reader, person, body, source=source, at=context["published_at"])


def write_titled_line(reader: Reader, context: Data) -> str:
    """One of which there is only the title, which stands with the words of its author."""
    head = _write_head(reader, context, "context", context["developer"])
    published = f"published {write_minute(context['published_at'])}"
    return " · ".join([head, published, describe_counts(count_parts(context))])


# --- names that another chose ---------------------------------------------------------------------


def _name_person(person: Data) -> str:
    from holdfast.team.reach import show_handle

    return show_handle(person["handle"])


def _list_place(reader: Reader, record: Data) -> list[str]:
    from holdfast.team.reach import shorten_repo, show_place

    repo, branch = record.get("repo"), record.get("branch")
    if find_author(reader, record) is not None:
        return show_place(repo, branch)
    return [part for part in (shorten_repo(repo or ""), branch) if part]


def list_shown_paths(reader: Reader, record: Data, paths: Sequence[str]) -> list[str]:
    from holdfast.team.reach import show_paths

    if find_author(reader, record) is None:
        return list(paths)
    named, more = _split_more(paths)
    return [*show_paths(named, _get_word(record)), *more]


def _list_hidden(reader: Reader, record: Data) -> list[str]:
    """What lines of ours call by a word of ours, for the fence of who wrote it."""
    from holdfast.team.reach import list_hidden

    if find_author(reader, record) is None:
        return []
    named, _ = _split_more(record.get("files_touched") or record.get("paths") or ())
    return list_hidden(record.get("repo"), record.get("branch"), named, _get_word(record))


def _get_word(record: Data) -> str:
    return "path" if "paths" in record else "file"


def _split_more(paths: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    if paths and re.fullmatch(_MORE, paths[-1]):
        return paths[:-1], paths[-1:]
    return paths, ()


# --- the state of a team --------------------------------------------------------------------------


def describe_state(reader: Reader, data: Data) -> str:
    """Facts by kind, as far as they are on this page, then what each developer wrote."""
    sections = {
        "developers": ("Developers", _write_developer),
        "published_contexts": ("Published contexts", _write_brief),
        "claims": ("Claims", write_claim_line),
        "handoffs": ("Handoffs", write_handoff_line),
    }
    parts = [
        _write_section(title, [write(reader, each) for each in data[name]])
        for name, (title, write) in sections.items()
        if name in data
    ]
    return "\n".join([*parts, *write_words(reader, _list_words(reader, data))])


def _write_section(title: str, rows: Sequence[str]) -> str:
    if not rows:
        return f"{title}: none."
    return "\n".join([f"{title}:", *(f"- {row}" for row in rows)])


def _write_developer(reader: Reader, developer: Data) -> str:
    who = _name_person(developer)
    if not reader.is_of_other(developer):
        who = f"{who} (you, {developer['visibility']})"
    place = _list_place(reader, developer)
    seen = "live" if developer["is_live"] else None
    if seen is None and developer.get("seen_at"):
        seen = f"seen {write_minute(developer['seen_at'])}"
    return " · ".join([who, *([seen] if seen else []), *place])


def _write_brief(reader: Reader, context: Data) -> str:
    head = _write_head(reader, context, "context", context["developer"])
    return f"{head} · {_write_times(context, count_parts(context), None)}"


def write_claim_line(reader: Reader, claim: Data) -> str:
    what = "uncommitted in session" if claim.get("is_soft") else "claim"
    parts = [_write_head(reader, claim, what, claim["developer"])]
    if claim.get("released_at"):
        parts.append(f"released {write_minute(claim['released_at'])}")
    elif not claim.get("is_soft"):
        parts.append(_write_end(claim["expires_at"], "until"))
    return f"{' · '.join(parts)}: {', '.join(list_shown_paths(reader, claim, claim['paths']))}"


def write_handoff_line(reader: Reader, handoff: Data) -> str:
    parts = [
        _write_head(reader, handoff, "handoff", handoff["giver"]),
        handoff["status"],
        f"to {_name(reader, handoff['to'])}",
        f"claim {handoff['claim_id']}",
    ]
    if handoff["status"] == "offered":
        parts.append(f"until {write_minute(handoff['expires_at'])}")
    if handoff.get("taken_claim_id"):
        parts.append(f"taken over as claim {handoff['taken_claim_id']}")
    if handoff.get("context"):
        parts.append(f"context {handoff['context']['id']}")
    return f"{' · '.join(parts)}: {', '.join(list_shown_paths(reader, handoff, handoff['paths']))}"


def _name(reader: Reader, person: Data | None) -> str:
    if person is None:
        return "anyone"
    return _name_person(person) if reader.is_of_other(person) else "you"


class Words(NamedTuple):
    """Who wrote it, the text with the name of what it is about, and when."""

    author: Data
    text: str
    at: str


def _list_words(reader: Reader, data: Data) -> Iterator[Words]:
    for developer in data.get("developers", ()):
        hidden = _list_hidden(reader, developer)
        if hidden:
            text = _join_lines(f"developer {developer['id']}", hidden)
            yield Words(developer, text, developer.get("seen_at") or "")
    for context in data.get("published_contexts", ()):
        yield make_title_words(reader, context)
    for claim in data.get("claims", ()):
        yield from make_claim_words(reader, claim)
    for handoff in data.get("handoffs", ()):
        yield make_handoff_words(reader, handoff)


def make_title_words(reader: Reader, context: Data) -> Words:
    text = _join_lines(write_title(context), _list_hidden(reader, context))
    return Words(context["developer"], text, context["published_at"])


def make_claim_words(reader: Reader, claim: Data) -> Iterator[Words]:
    """None where there is no reason, as in a claim that was taken over, and all names are plain."""
    hidden = _list_hidden(reader, claim)
    if not claim["reason"] and not hidden:
        return
    head = f"claim {claim['id']}: {_indent(claim['reason'])}".rstrip(": ")
    author = find_author(reader, claim) or claim["developer"]
    yield Words(author, _join_lines(head, hidden), claim["reserved_at"])


def write_title(context: Data) -> str:
    text = f"context {context['id']}: {context['title']}"
    if context.get("summary"):
        text += f"\n  {_indent(context['summary'])}"
    return text


def make_handoff_words(reader: Reader, handoff: Data) -> Words:
    lines = []
    if handoff.get("note"):
        lines.append(f"Note: {_indent(handoff['note'])}")
    lines += _list_hidden(reader, handoff)
    context = handoff.get("context")
    if context:
        lines.append(write_title(context).replace("\n", "\n  "))
    head = f"handoff {handoff['id']}: {_indent(handoff.get('reason') or '')}".rstrip(": ")
    return Words(handoff["giver"], _join_lines(head, lines), handoff["offered_at"])


def _join_lines(head: str, lines: Iterable[str]) -> str:
    return "\n".join([head, *(f"  {line}" for line in lines)])


def write_words(reader: Reader, words: Iterable[Words]) -> Iterator[str]:
    """One block for each author, one's own first."""
    by_author: dict[str, list[Words]] = {}
    for each in words:
        by_author.setdefault(each.author["id"], []).append(each)
    own_first = sorted(by_author.values(), key=lambda each: reader.is_of_other(each[0].author))
    for of_author in own_first:
        author = of_author[0].author
        body = "\n".join(each.text for each in of_author)
        if not reader.is_of_other(author):
            yield "You wrote:"
        newest = max(each.at for each in of_author)
        yield quote(reader, author, body, source="team exchange", at=newest)


def quote(reader: Reader, person: Data, body: str, *, source: str, at: str) -> str:
    """Another's words in a fence; one's own indented."""
    if not reader.is_of_other(person):
        return f"  {_indent(body)}"
    return fence(
        body,
        author=person["handle"],
        source=source,
        at=at,
        key=reader.key,
        max_chars=FENCE_CHARS,
    )


# --- small pieces ---------------------------------------------------------------------------------


def write_minute(moment: str) -> str:
    return f"{moment[:16].replace('T', ' ')}Z"


def _indent(text: str) -> str:
    return text.replace("\n", "\n  ")
