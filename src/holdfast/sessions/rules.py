"""What may be written to a session, and which of its events a window shows.

Pure, and light enough for a hook: everything from outside is checked here, once, before any engine
sees it.
"""

from __future__ import annotations

from holdfast.errors import InvalidValueError
from holdfast.ground import canonical, ids
from holdfast.ground import light_json as json
from holdfast.sessions import chain
from holdfast.sessions.errors import EventConflictError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

EVENT_TYPES = (
    "user_message",
    "model_message",
    "tool_call",
    "tool_result",
    "validation_gate",
    "memory_recall",
    "system_event",
)
ROLES = ("user", "assistant", "tool", "system")

CONTENT_BYTES = 4 << 20
SCRATCHPAD_BYTES = 1 << 20
METADATA_BYTES = 256 << 10
LABEL_BYTES = 400
WORKTREE_BYTES = 2000
LARGEST_LIMIT = (1 << 31) - 1  # PostgreSQL counts rows in 32 bits
EVENTS_PER_CALL = 1000
CALL_BYTES = 64 << 20

_CONTROL = frozenset(map(chr, [*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029]))

# In the parts of an event that was read from a transcript: when it happened.
HAPPENED_AT = "happened_at"
EVENT_FIELDS = ("type", "role", "content", "parts", "event_id")


class CheckedEvent:
    """An event as it is stored. Not a dataclass: a hook could not afford the import."""

    __slots__ = ("content", "content_hash", "id", "parts_text", "role", "type")

    def __init__(
        self, event_id: str, event_type: str, role: str, content: str, parts_text: str | None
    ):
        self.id = event_id
        self.type = event_type
        self.role = role
        self.content = content
        self.parts_text = parts_text
        self.content_hash = chain.content_hash(event_type, role, content, parts_text)

    def to_row(self) -> tuple[str, str, str, str, str | None, bytes]:
        """Its columns in the order in which the query takes them."""
        return (
            self.id,
            self.type,
            self.role,
            self.content,
            self.parts_text,
            self.content_hash,
        )


def check_event(
    event_type: object, role: object, content: object, parts: object, event_id: object
) -> CheckedEvent:
    if event_type not in EVENT_TYPES:
        raise InvalidValueError("Event type", event_type, "is unknown", known=EVENT_TYPES)
    if role not in ROLES:
        raise InvalidValueError("Role", role, "is unknown", known=ROLES)
    checked = canonical.check_text("content", content, max_bytes=CONTENT_BYTES)
    parts_text = None
    if parts is not None:
        parts_text = canonical.canonical_object("parts", parts, max_bytes=CONTENT_BYTES)
    checked_id = ids.new_id() if event_id is None else check_event_id(event_id)
    return CheckedEvent(checked_id, str(event_type), str(role), checked, parts_text)


def check_event_id(event_id: object) -> str:
    checked = ids.parse_id(event_id)
    if checked is None:
        raise InvalidValueError("event_id", event_id, "is not a UUID")
    return checked


def check_events(events: object) -> list[CheckedEvent]:
    if not isinstance(events, list | tuple):
        raise InvalidValueError("events", events, "is not a list of events")
    if len(events) > EVENTS_PER_CALL:
        problem = f"are more than {EVENTS_PER_CALL} in one call"
        raise InvalidValueError("events", len(events), problem)
    checked = [_check_fields_and_event(event) for event in events]
    sizes = [len(event.content) + len(event.parts_text or "") for event in checked]
    if sum(sizes) > CALL_BYTES:
        problem = f"hold more than {CALL_BYTES:,} characters in one call"
        raise InvalidValueError("events", len(checked), problem)
    return checked


def _check_fields_and_event(given: object) -> CheckedEvent:
    event = check_event_fields(given)
    return check_event(
        event_type=event["type"],
        role=event["role"],
        content=event["content"],
        parts=event.get("parts"),
        event_id=event.get("event_id"),
    )


def check_event_fields(event: object) -> dict[str, Any]:
    """An object with known keys only, so that a typo is not silently dropped."""
    if not isinstance(event, dict):
        raise InvalidValueError("events", event, "holds something that is not an object")
    for key in event:
        if key not in EVENT_FIELDS:
            raise InvalidValueError("Event field", key, "is unknown", known=EVENT_FIELDS)
    for key in ("type", "role", "content"):
        if key not in event:
            raise InvalidValueError("Event", sorted(map(str, event)), f"has no {key}")
    return event


def drop_repeated(events: Sequence[CheckedEvent]) -> list[CheckedEvent]:
    """A repeated event is written once; the same id with other content is refused."""
    known: dict[str, CheckedEvent] = {}
    for event in events:
        first = known.setdefault(event.id, event)
        if first.to_row() != event.to_row():
            raise EventConflictError(event.id)
    return list(known.values())


def check_label(field: str, value: object, *, max_bytes: int = LABEL_BYTES) -> str:
    """A short text such as a chatmode: one line, not empty."""
    checked = canonical.check_text(field, value, max_bytes=max_bytes)
    if not checked.strip():
        raise InvalidValueError(field, checked, "is empty")
    if not _CONTROL.isdisjoint(checked):
        problem = "contains a line break or another control character"
        raise InvalidValueError(field, checked, problem)
    return checked


def check_optional_label(field: str, value: object) -> str | None:
    if value is None:
        return None
    return check_label(field, value)


def check_worktree(folder: object) -> str:
    """A folder's name may be long, but PostgreSQL's index takes 2,704 bytes at most."""
    return check_label("worktree", folder, max_bytes=WORKTREE_BYTES)


def check_optional_worktree(folder: object) -> str | None:
    if folder is None:
        return None
    return check_worktree(folder)


def check_count(field: str, value: object, *, least: int = 0) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidValueError(field, value, "is not a whole number")
    if not least <= value <= LARGEST_LIMIT:
        raise InvalidValueError(field, value, f"is not between {least} and {LARGEST_LIMIT}")
    return value


def check_sequence(value: object) -> int | None:
    if value is None:
        return None
    return check_count("expected_sequence", value)


def fit_tokens(costs: list[int], used: int, max_tokens: int) -> int:
    """How many of these events, newest first, still fit; the caller has spent `used` already."""
    for position, cost in enumerate(costs):
        used += cost
        if used > max_tokens:
            return position
    return len(costs)


def count_event_tokens(content: str, parts_text: str | None) -> int:
    from holdfast.ground.tokens import tokens  # what only appends needs none

    if not parts_text:
        return tokens(content)
    return tokens(content) + tokens(parts_text)


# --- the scratchpad -------------------------------------------------------------------------------

HANDOFF = "handoff_context"
NEXT_STEPS = ("next_steps", "next_step", "next_actions", "next_action", "next", "todo", "todos")
# What a session hands on, as groups of names that mean the same.
NOTED_FIELDS = (
    ("current_task",),
    NEXT_STEPS,
    ("blockers",),
    ("files_in_progress",),
    ("spec_file",),
    (HANDOFF,),
)
NOTED_NAMES = frozenset(name for names in NOTED_FIELDS for name in names)


def check_scratchpad(scratchpad: object) -> str:
    return canonical.canonical_object("scratchpad", scratchpad, max_bytes=SCRATCHPAD_BYTES)


def name_cleared(patch: Mapping[str, object]) -> str:
    """The fields that a patch sets to null, which a merge would leave no trace of."""
    cleared = [name for name in NOTED_NAMES if patch.get(name, "") is None]
    return canonical.format_json(dict.fromkeys(cleared, True))


def find_similar(name: str, names: Sequence[str]) -> tuple[str | None, bool]:
    """The first name that differs in case alone, and True; else the nearest one, if any is near."""
    from difflib import get_close_matches

    folded: dict[str, str] = {}
    for each in names:
        folded.setdefault(each.casefold(), each)
    wanted = name.casefold()
    if wanted in folded:
        return folded[wanted], True
    near = get_close_matches(wanted, folded, n=1)
    nearest = folded[near[0]] if near else None
    return nearest, False


def merge(target: object, patch: object) -> object:
    """RFC 7396, the same on both engines: objects merge, null removes a key, the rest replaces."""
    if not isinstance(patch, dict):
        return patch
    merged: dict[Any, object] = {}
    if isinstance(target, dict):
        merged = dict(target)
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge(merged.get(key), value)
    return merged


def merge_json(target: str, patch: str) -> str:
    """The same on canonical texts; SQLite calls it inside its statement."""
    return canonical.format_json(merge(json.loads(target), json.loads(patch)))


# --- metadata -------------------------------------------------------------------------------------

META_TIMES = ("lastObservedAt", "lastIdleAt")
META_FIELDS = ("name", *META_TIMES, "currentIntent", "envHint")


def check_meta(changes: object) -> dict[str, str | None]:
    """Changes to a session's metadata: known fields, one line each; None removes one."""
    if not isinstance(changes, dict):
        raise InvalidValueError("metadata", changes, "is not a JSON object")
    for field in changes:
        if field not in META_FIELDS:
            raise InvalidValueError("Metadata field", field, "is unknown", known=META_FIELDS)
    checked = {field: check_optional_label(field, value) for field, value in changes.items()}
    for field in META_TIMES:
        if checked.get(field) is not None:
            _check_moment(field, str(checked[field]))
    return checked


def _check_moment(field: str, text: str) -> None:
    from holdfast.ground import clock  # a hook never gets here

    try:
        clock.from_text(text)
    except (ValueError, OverflowError):
        raise InvalidValueError(field, text, "is not a time such as 2026-11-16T09:04:00Z") from None
