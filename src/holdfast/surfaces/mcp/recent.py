"""The newest events of a session, within what the caller wants to pay for.

The limit counts what is delivered: the envelope or the prose, whichever is longer. Events are whole
and the oldest are left out, but not the request of the turn that they are of. Only an event that no
answer of this size could hold is cut, with a note of its length: it hides neither itself nor what
was before it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from holdfast.ground.fence import one_line
from holdfast.ground.tokens import CHARS_PER_TOKEN
from holdfast.sessions.requests import REWOUND, list_taken_back, name_speaker
from holdfast.surfaces.mcp import wording
from holdfast.surfaces.mcp.answer import SHORTER, Answer, count_chars, count_fitting, shorten

if TYPE_CHECKING:
    from holdfast.sessions.model import Session, SessionEvent
    from holdfast.sessions.service import SessionService

MAX_TURNS = 30
MAX_TOKENS = 2_000
MOST_EVENTS = 1_000
PAGE_EVENTS = 64
LEAST_CHARS = 1_200  # of an answer with one event, however small the limit
FEW_TOKENS = f"An answer takes up to {LEAST_CHARS // CHARS_PER_TOKEN} tokens: fewer count as those."
WHO_CHARS = 60
EVENT_FIELDS = ("id", "sequence", "type", "role", "content", "created_at")


async def make_recent(
    sessions: SessionService,
    session: Session,
    warnings: Sequence[str],
    *,
    max_turns: int = MAX_TURNS,
    max_tokens: int = MAX_TOKENS,
    whole: bool = False,
) -> Answer:
    """`whole`: with all fields of each event."""
    session_id = session.id
    rewound = session.metadata.get(REWOUND, ())
    notes = list(warnings)
    if max_tokens * CHARS_PER_TOKEN < LEAST_CHARS:
        notes.append(FEW_TOKENS)
    around = _make_answer(session_id, [], notes, older=10**9, max_tokens=max_tokens)
    room = max(max_tokens * CHARS_PER_TOKEN, LEAST_CHARS) - around.chars
    newest_first = await _read_newest(sessions, session_id, max_turns, room)
    taken_back = list_taken_back(reversed(newest_first), rewound)
    read = [_write_fields(event, taken_back, whole=whole) for event in newest_first]
    events = [_drop_unknown_parts(event) for event in read]
    fitting = [_cut_event(event, room) for event in events]
    count = count_fitting(map(_count_event, fitting), room)
    shown = fitting[:count]
    if max_turns:
        start = await _find_start(sessions, session_id, shown)
        if start is not None:
            fields = _write_fields(start, list_taken_back([start], rewound), whole=whole)
            shown = _put_start(shown, _cut_event(fields, room // 2), room)
    for event in shown:
        if "chars" in event:
            known = await sessions.get_event(event["id"])
            event["chars"] = len(known.content)
    older = shown[0]["sequence"] - len(shown) if shown else 0
    return _make_answer(session_id, shown[::-1], notes, older=older, max_tokens=max_tokens)


async def _find_start(
    sessions: SessionService, session_id: str, shown: Sequence[dict[str, Any]]
) -> SessionEvent | None:
    """The request of the oldest turn that is shown, where it is left out."""
    if not shown or shown[-1]["type"] == "user_message":
        return None
    return await sessions.find_turn_start(session_id, shown[-1]["sequence"])


def _put_start(
    newest_first: list[dict[str, Any]], start: dict[str, Any], room: int
) -> list[dict[str, Any]]:
    """In the place of the oldest ones; the newest event stays, and is worth more than it."""
    left = room - _count_event(start)
    count = count_fitting(map(_count_event, newest_first), left)
    kept = newest_first[:count]
    if sum(map(_count_event, kept)) > left:
        return newest_first
    return [*kept, start]


async def _read_newest(
    sessions: SessionService, session_id: str, max_turns: int, room: int
) -> list[SessionEvent]:
    """Newest first, until the room is spent: neither the log nor an event makes it cost more."""
    found: list[SessionEvent] = []
    below, turns = None, max(max_turns, 1)
    most = MOST_EVENTS if max_turns else 1
    while turns > 0 and len(found) < most and sum(len(event.content) for event in found) < room:
        page = await sessions.list_turn_events(
            session_id,
            below,
            max_turns=turns,
            max_events=min(PAGE_EVENTS, most - len(found)),
            max_chars=room,
            max_bytes=room,
        )
        found += reversed(page)
        if len(page) < PAGE_EVENTS:
            break
        below = page[0].sequence
        turns -= sum(event.type == "user_message" for event in page)
    return found


def _write_fields(
    event: SessionEvent, taken_back: Collection[str], *, whole: bool
) -> dict[str, Any]:
    """With who speaks in front of the words, where its role alone would mislead."""
    fields = event.to_dict() if whole else make_brief_event(event)
    speaker = name_speaker(
        event.type, event.role, event.parts, is_taken_back=event.id in taken_back
    )
    return {"who": one_line(speaker, WHO_CHARS), **fields} if speaker else fields


def make_brief_event(event: SessionEvent) -> dict[str, Any]:
    known = event.to_dict()
    optional = [name for name in ("parts", "erased_at") if known[name] is not None]
    return {name: known[name] for name in (*EVENT_FIELDS, *optional)}


def _drop_unknown_parts(event: dict[str, Any]) -> dict[str, Any]:
    """Of parts that are too large to read, the store gives the known names, which may be empty."""
    parts = event.get("parts")
    if not parts or parts.get("cut") is not True:
        return event
    path = (parts.get("input") or {}).get("file_path")
    known = {"tool": parts.get("tool"), "input": {"file_path": path} if path else None}
    kept = {name: value for name, value in known.items() if value}
    return {**event, "parts": {**kept, "cut": True}}


def _cut_event(event: dict[str, Any], room: int) -> dict[str, Any]:
    """The event, or what fits of one that could not be sent whole; its length is filled in."""
    if _count_event(event) <= room:
        return event
    for text_chars, entries in SHORTER:
        brief: dict[str, Any] = shorten(event, min(text_chars, room // 3), entries)
        if _count_event(brief) <= room // 2:
            break
    return {**brief, "chars": len(event["content"])}


def _count_event(event: dict[str, Any]) -> int:
    return max(count_chars(event), len(wording.write_event(event))) + 2


def _make_answer(
    session_id: str,
    events: Sequence[dict[str, Any]],
    warnings: Sequence[str],
    *,
    older: int,
    max_tokens: int,
) -> Answer:
    data = {"events": list(events), "session_id": session_id, "older": older}
    actions = []
    if older:
        more = f"max_tokens={max_tokens * 4} max_turns={MOST_EVENTS}"
        actions.append(f"session operation=recent session_id={session_id} {more}")
    return Answer(data, warnings, actions, text=wording.describe_events(data))
