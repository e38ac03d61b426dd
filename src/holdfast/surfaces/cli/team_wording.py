"""How the exchange reads in a terminal.

An agent may read it there too. So what another developer wrote stands in a fence, or on one line
in quotes behind its author; one's own texts are marked as one's own. Of another's paths, branches
and repositories only plain ones stand on lines of ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from textwrap import indent
from typing import Any

from holdfast.ground.fence import fence, one_line
from holdfast.ground.text import cut, plural
from holdfast.surfaces.cli.wording import format_time
from holdfast.team.freshness import Freshness, describe_checkout
from holdfast.team.model import (
    OFFERED,
    PRIVATE,
    Basis,
    ContextReference,
    Developer,
    Handoff,
    Person,
    Publication,
    PublishedContext,
    Reservation,
    TeamState,
    UsageEvent,
)
from holdfast.team.reach import list_hidden, shorten_repo, show_paths, show_place
from holdfast.team.waiting import Outbox, Waiting
from holdfast.usecases.exchange import OwnPart, ServerState
from holdfast.usecases.overlaps import SHOWN as SHOWN_OVERLAPS
from holdfast.usecases.overlaps import Overlap

HANDLE_CHARS = 39
LABEL_CHARS, PLACE_CHARS, PATH_CHARS, QUOTE_CHARS, SHOWN_PATHS = 11, 200, 500, 120, 6
ID_CHARS = 12
FENCED_CHARS = 90_000  # more than a publication may have
YOURS = "yours"
A_FILE, A_PATH = "file", "path"
DETAILS = "Details: holdfast team contexts DEVELOPER"
PUBLISH = "To show others what you work on: holdfast publish"
NO_CONTEXTS = "No active context can be seen here."
NO_HISTORY = "You have published nothing yet."
NOT_SEEN = "Others do not see you before you publish or claim something, or start an agent"
NOT_ASKED = ", as it was when the server was reached last; it cannot be reached now"
ONLY_YOU = "You are private in this workspace, so no one else sees it."
SWITCHED_ON = (
    "The exchange is on now: agents are offered it. `holdfast team leave` switches it off."
)
IS_OFF = "The exchange is off on this machine: no agent here is offered it or told of it."
STILL_SHOWN = "What your sessions have not committed may be shown for up to ten minutes: {}"


# --- a draft --------------------------------------------------------------------------------------


def describe_publication(
    publication: Publication, me: Developer, workspace: str, *, is_known: bool
) -> str:
    """Exactly what would be sent, and who would see it, as far as that is known now."""
    place = _join(publication.repo, publication.branch)
    hours = plural(publication.ttl_hours, "hour")
    lines = [
        _label("Title", publication.title),
        _label("Summary", publication.summary),
        *_list("Files", publication.files_touched),
        *_list("Next", publication.next_actions),
        *_list("Blockers", publication.blockers),
        *_list("Tasks", publication.task_ids),
        _label("Where", place or "no repository"),
        *_describe_basis(publication.basis),
        _label("Expires", f"{hours} after it is published"),
        _label("Session", publication.session_id or "none"),
        _label("Seen by", _describe_readers(me, workspace) + ("" if is_known else NOT_ASKED)),
    ]
    return "\n".join(lines)


def describe_now_seen(
    contexts: Sequence[PublishedContext], claims: Sequence[Reservation]
) -> list[str]:
    """What was published while nobody saw it."""
    seen = [f"  {each.title!r}, withdrawn by: holdfast team revoke {each.id}" for each in contexts]
    seen += [f"  {each.reason!r}, ended by: holdfast team release {each.id}" for each in claims]
    return ["Others see now:", *seen] if seen else []


def _describe_basis(basis: Basis | None) -> list[str]:
    """For readers who compare: the commit, and ids of files, from which nothing can be read."""
    if basis is None or basis.head is None:
        return []
    ids = ", and git's ids of these files" if basis.files else ""
    return [_label("Basis", f"commit {basis.head[:ID_CHARS]}{ids}")]


def _describe_readers(me: Developer, workspace: str) -> str:
    if me.visibility == PRIVATE:
        return "only you: you are private"
    return f"every developer of workspace {workspace}"


def _label(label: str, text: str) -> str:
    rest = indent(text, " " * LABEL_CHARS)
    return f"{label:<{LABEL_CHARS}}{rest.lstrip()}"


def _list(label: str, texts: Sequence[str]) -> list[str]:
    return [_label(label, "\n".join(texts))] if texts else []


# --- contexts -------------------------------------------------------------------------------------


def describe_published(context: PublishedContext, now: datetime) -> str:
    counts = [
        plural(len(context.files_touched), "file"),
        plural(len(context.next_actions), "next action"),
        plural(len(context.blockers), "blocker"),
    ]
    return "\n".join(
        [
            f"Published {context.id}",
            f"  {context.title} · {', '.join(counts)}",
            f"  expires {_until(context.expires_at, now)}",
            f"To withdraw it: holdfast team revoke {context.id}",
        ]
    )


def describe_context(
    context: PublishedContext,
    freshness: Freshness | None,
    *,
    is_own: bool,
    key: bytes,
    now: datetime,
) -> str:
    place = _show_place(context.repo, context.branch, is_own=is_own)
    who = _show_handle(context.developer)
    if is_own:
        who += f" ({YOURS})"
    lines = [
        f"{who} · published {format_time(context.published_at)}",
        *_indent(place, "  "),
        f"  {context.id} · {describe_standing(context, now)}",
        _describe_words(context, is_own=is_own, key=key),
    ]
    if context.files_touched:
        count = plural(len(context.files_touched), "file")
        if freshness is not None:
            count += f", {describe_checkout(freshness)}"
        lines.append(f"  {count}")
        states = freshness.files if freshness is not None else {}
        lines += _describe_files(context.files_touched, states, is_own=is_own)
    return "\n".join(lines)


def _describe_words(context: PublishedContext, *, is_own: bool, key: bytes) -> str:
    """All that was written by hand: one's own as it is, another's in one fence."""
    parts = [context.title, context.summary]
    parts += [f"Next: {text}" for text in context.next_actions]
    parts += [f"Blocked: {text}" for text in context.blockers]
    if context.task_ids:
        parts.append(f"Tasks: {', '.join(context.task_ids)}")
    if is_own:
        return indent("\n".join(parts), "  ")
    parts += list_hidden(context.repo, context.branch, context.files_touched, A_FILE)
    return fence(
        "\n".join(parts),
        author=context.developer.handle,
        source=f"published context {context.id}",
        at=format_time(context.published_at),
        key=key,
        max_chars=FENCED_CHARS,
    )


def _describe_files(paths: Sequence[str], states: Mapping[str, str], *, is_own: bool) -> list[str]:
    width = max((len(state) for state in states.values()), default=0)
    shown = _show_paths(paths, is_own=is_own, word=A_FILE)
    return [
        f"    {states.get(path, ''):<{width}}  {name}"
        for path, name in zip(paths, shown, strict=True)
    ]


def describe_standing(context: PublishedContext, now: datetime) -> str:
    if context.revoked_at is not None:
        return f"revoked {format_time(context.revoked_at)}"
    if context.superseded_by is not None:
        return f"superseded by {context.superseded_by}"
    if context.expires_at <= now:
        return f"expired {format_time(context.expires_at)}"
    return f"expires {_until(context.expires_at, now)}"


def describe_history(contexts: Sequence[PublishedContext], now: datetime) -> str:
    lines = []
    for context in contexts:
        lines.append(f"{context.id}  published {format_time(context.published_at)}")
        lines.append(f"  {describe_standing(context, now)}")
        lines += _indent(_join(context.repo, context.branch), "  ")
        lines.append(f"  {cut(context.title, QUOTE_CHARS)}")
    return "\n".join(lines) or NO_HISTORY


def describe_audit(
    contexts: Sequence[PublishedContext], usage: Sequence[UsageEvent], now: datetime
) -> str:
    """What a person looks up afterwards: who showed what until when, and who called what."""
    published = [
        f"  {context.id}  {_show_handle(context.developer)} · {format_time(context.published_at)}"
        f" · {describe_standing(context, now)}\n    {_quote_stored(context)}"
        for context in contexts
    ]
    calls = [
        f"  {event.created_at:%Y-%m-%d %H:%M:%S}Z  {event.handle or event.developer_id}"
        f"  {event.operation}  {event.outcome}"
        for event in usage
    ]
    return "\n".join([*_section("Published contexts", published), *_section("Calls", calls)])


def _quote_stored(context: PublishedContext) -> str:
    if not context.title:  # another developer has revoked it
        return "its words were withdrawn"
    return repr(one_line(context.title, QUOTE_CHARS))


# --- reservations and handoffs --------------------------------------------------------------------


def describe_claim(claim: Reservation, me: Person, now: datetime) -> str:
    paths = _describe_paths(claim.paths, is_own=_is_named_by(claim, me))
    return _describe_claim(claim, paths, me, now)


def _is_named_by(claim: Reservation, me: Person) -> bool:
    """A claim that was taken over has no reason; its giver chose the names."""
    return claim.developer.id == me.id and (claim.is_soft or claim.reason != "")


def _describe_claim(claim: Reservation, paths: str, me: Person, now: datetime) -> str:
    who = YOURS if claim.developer.id == me.id else _show_handle(claim.developer)
    until = f"until {_until(claim.expires_at, now)}"
    if claim.is_soft:
        until = "not committed yet"
    place = _show_place(claim.repo, claim.branch, is_own=_is_named_by(claim, me))
    lines = [f"  {claim.id}  {who}", *_indent(place), f"    {paths}, {until}"]
    if claim.reason:
        lines.append(f"    {_quote(claim.developer, me, claim.reason)}")
    return "\n".join(lines)


def describe_claimed(
    claim: Reservation, overlaps: Sequence[Overlap], me: Person, now: datetime
) -> str:
    lines = [
        f"Claimed {claim.id}",
        f"  {_describe_paths(claim.paths, is_own=True)} until {_until(claim.expires_at, now)}",
    ]
    if overlaps:
        lines.append("Also there:")
        lines += [_describe_overlap(each, me, now) for each in overlaps[:SHOWN_OVERLAPS]]
    if len(overlaps) > SHOWN_OVERLAPS:
        lines.append(f"{len(overlaps) - SHOWN_OVERLAPS:,} more: holdfast team state")
    lines.append(f"To release it: holdfast team release {claim.id}")
    return "\n".join(lines)


def _describe_overlap(overlap: Overlap, me: Person, now: datetime) -> str:
    """What both of them name: as the other did where that is plain, else as one did oneself."""
    names = _describe_paths(overlap.list_names(), is_own=True)
    return _describe_claim(overlap.other, names, me, now)


def describe_handoff(handoff: Handoff, me: Person, now: datetime) -> str:
    """One that concerns the reader: given, offered to this developer, or to all."""
    is_own = handoff.giver.id == me.id
    to = _name(handoff.to, me) if handoff.to else "whoever accepts"
    place = _show_place(handoff.repo, handoff.branch, is_own=is_own)
    lines = [
        f"  {handoff.id}  {_name(handoff.giver, me)} → {to}",
        *_indent(place),
        f"    {_describe_paths(handoff.paths, is_own=is_own)}",
        f"    {_describe_status(handoff, now)}",
    ]
    for text in (handoff.reason, handoff.note):
        if text:
            lines.append(f"    {_quote(handoff.giver, me, text)}")
    if handoff.context:
        lines += _describe_reference(handoff.giver, handoff.context, me)
    if handoff.status == OFFERED and not is_own:
        lines.append(f"    To take it over: holdfast team accept {handoff.id}")
    return "\n".join(lines)


def _describe_status(handoff: Handoff, now: datetime) -> str:
    if handoff.status != OFFERED:
        return handoff.status
    return f"{handoff.status}, open until {_until(handoff.expires_at, now)}"


def describe_taken(handoff: Mapping[str, Any]) -> list[str]:
    """The claim that its recipient has since the handoff was accepted."""
    taken = handoff.get("taken_claim_id")
    if not taken:
        return []
    return [f"It is your claim {taken} now", f"To release it: holdfast team release {taken}"]


def _describe_reference(giver: Person, context: ContextReference, me: Person) -> list[str]:
    whose = "your context" if giver.id == me.id else "context"
    lines = [f"    with {whose} {context.id}", f"    {_quote(giver, me, context.title)}"]
    if giver.id != me.id:
        lines.append(f"    All of it: holdfast team contexts {_show_handle(giver)}")
    return lines


# --- the whole ------------------------------------------------------------------------------------


def describe_state(state: TeamState, workspace: str, now: datetime) -> str:
    me = state.me
    sections = [f"Workspace {workspace} · you are {me.handle}, {me.visibility}"]
    if not me.seen_at:
        sections.append(NOT_SEEN)
    developers = [_describe_developer(each, me) for each in state.developers]
    contexts = [_describe_briefly(each, me.person, now) for each in state.published_contexts]
    claims = [describe_claim(each, me.person, now) for each in state.claims]
    handoffs = [describe_handoff(each, me.person, now) for each in state.handoffs]
    sections += _section("Developers", developers)
    sections += _section("Published contexts", contexts)
    sections += _section("Claims", claims)
    sections += _section("Handoffs", handoffs)
    sections.append(DETAILS if contexts else PUBLISH)
    return "\n".join(sections)


def _section(title: str, entries: Sequence[str]) -> list[str]:
    return [title, *entries] if entries else [f"{title}: none"]


def _describe_developer(developer: Developer, me: Developer) -> str:
    about = [_show_handle(developer)]
    if developer.id == me.id:
        about[0] += " (you)"
    if developer.is_live:
        about.append("live")
        is_own = developer.id == me.id
        about.append(_show_place(developer.repo, developer.branch, is_own=is_own))
    if developer.seen_at:
        about.append(f"seen {format_time(developer.seen_at)}")
    return f"  {' · '.join(part for part in about if part)}"


def _describe_briefly(context: PublishedContext, me: Person, now: datetime) -> str:
    place = _show_place(context.repo, context.branch, is_own=context.developer.id == me.id)
    published, end = format_time(context.published_at), _until(context.expires_at, now)
    lines = [
        f"  {context.id}  {_name(context.developer, me)}",
        *_indent(place),
        f"    {_quote(context.developer, me, context.title)}",
        f"    published {published}, expires {end}",
    ]
    return "\n".join(lines)


def describe_own_part(part: OwnPart) -> str:
    """A line of `holdfast status`."""
    seen = "only you see it" if part.me.visibility == PRIVATE else "visible to the team"
    counts = [plural(part.contexts, "context"), plural(part.claims, "claim")]
    text = f"Team       {part.me.visibility}: {seen} · {' · '.join(counts)}"
    if part.handoffs:
        text += f" · {plural(part.handoffs, 'handoff')} offered to you (`holdfast team state`)"
    return text


def own_part_to_dict(part: OwnPart) -> dict[str, Any]:
    return {
        "visibility": part.me.visibility,
        "contexts": part.contexts,
        "claims": part.claims,
        "handoffs_offered": part.handoffs,
    }


# --- what waits for a server ----------------------------------------------------------------------


def list_waiting(home: str) -> list[Waiting]:
    outbox = Outbox(home)
    return [] if outbox.is_empty() else outbox.list_all()


def describe_server(state: ServerState) -> str:
    """A line of `holdfast status`."""
    text = f"Server     {state.server or 'of the team'}"
    if state.known is not None:
        repos = ", ".join(map(shorten_repo, state.remotes)) or "no repository listed"
        text += f" · {state.known.me.handle} in {state.known.workspace} · {repos}"
    if state.problem:
        text = f"Server     {state.problem}"
    if state.waiting:
        text += f" · {plural(len(state.waiting), 'change')} waiting to be sent"
    return text


def describe_waiting(waiting: Sequence[Waiting]) -> str:
    return "\n".join(_section("Waiting to be sent", [_describe_entry(each) for each in waiting]))


def _describe_entry(entry: Waiting) -> str:
    text = f"  {entry.receipt}  {entry.what}, made {entry.at[:16].replace('T', ' ')}Z"
    return f"{text}\n    {_quote_waiting(entry)}" if entry.body else text


def _quote_waiting(entry: Waiting) -> str:
    body = entry.body or {}
    return repr(one_line(str(body.get("title") or body.get("reason") or ""), QUOTE_CHARS))


def describe_refused(refused: Sequence[Waiting]) -> list[str]:
    """Of what was sent later: a note for each that the server did not take."""
    return [
        f"{each.what} that waited since {each.at[:16].replace('T', ' ')}Z was not taken: "
        f"{each.reason} {_quote_waiting(each) if each.body else ''}".rstrip()
        for each in refused
    ]


# --- pieces ---------------------------------------------------------------------------------------


def describe_wait(wait: timedelta) -> str:
    """In the largest unit that there are at least two of: in 90 min, in 3 h, in 6 days."""
    minutes = max(round(wait.total_seconds() / 60), 0)
    if minutes >= 2 * 24 * 60:
        return f"in {minutes // (24 * 60)} days"
    if minutes >= 2 * 60:
        return f"in {minutes // 60} h"
    return f"in {minutes} min"


def _until(moment: datetime, now: datetime) -> str:
    return f"{format_time(moment)} ({describe_wait(moment - now)})"


def _name(person: Person, me: Person) -> str:
    return "you" if person.id == me.id else _show_handle(person)


def _show_handle(person: Person | Developer) -> str:
    return one_line(person.handle, HANDLE_CHARS)


def _quote(author: Person, me: Person, text: str) -> str:
    """Short words on one line, behind the name of who wrote them."""
    return f'{_name(author, me)}: "{one_line(text, QUOTE_CHARS)}"'


def _indent(place: str, indentation: str = " " * 4) -> list[str]:
    """A line of its own: behind an id it would not fit into 80 columns."""
    return [indentation + place] if place else []


def _join(repo: str | None, branch: str | None) -> str:
    return _join_parts(shorten_repo(repo or ""), branch)


def _join_parts(*parts: str | None) -> str:
    return " · ".join(part for part in parts if part)


def _show_place(repo: str | None, branch: str | None, *, is_own: bool) -> str:
    if not is_own:
        return _join_parts(*show_place(repo, branch))
    return one_line(_join(repo, branch), PLACE_CHARS)


def _show_paths(paths: Sequence[str], *, is_own: bool, word: str) -> list[str]:
    if not is_own:
        return show_paths(paths, word)
    return [one_line(path, PATH_CHARS) for path in paths]


def _describe_paths(paths: Sequence[str], *, is_own: bool) -> str:
    shown = _show_paths(paths[:SHOWN_PATHS], is_own=is_own, word=A_PATH)
    if len(paths) > SHOWN_PATHS:
        shown.append(f"{len(paths) - SHOWN_PATHS:,} more")
    return ", ".join(shown)
