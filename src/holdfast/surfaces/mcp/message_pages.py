"""What was said in a conversation, in pages: the newest first, each in the order of time. Pure.

A cursor names the message before which its page ends. So it stays right while more is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from holdfast.errors import InvalidValueError
from holdfast.ground import canonical, clock, fence, ids
from holdfast.ground.frozen import dataclass
from holdfast.ground.patterns import compile_later
from holdfast.surfaces.mcp.answer import READ_CHARS, count_chars, count_fitting

if TYPE_CHECKING:
    from holdfast.conversations.model import Message

AROUND_PAGE = 900  # the envelope, the cursor twice, and the call for the next page
PART_CHARS = 3_000  # as JSON; a longer message is shown in parts
HASH_CHARS = 12

_CURSOR = compile_later(rf"[0-9a-f]{{{2 * HASH_CHARS}}}")


@dataclass(frozen=True)
class MessagePage:
    messages: Sequence[dict[str, Any]]
    cursor: str | None
    left: int  # parts of messages before these

    def to_dict(self) -> dict[str, Any]:
        page: dict[str, Any] = {"messages": list(self.messages)}
        if self.cursor is not None:
            page |= {"cursor": self.cursor, "left": self.left}
        return page


def make_page(id_: str, messages: Sequence[Message], cursor: object, key: bytes) -> MessagePage:
    """The last page of a conversation, or the one before a cursor.

    `key`: of the markers around what others have said.
    """
    parts = [part for message in messages for part in _split(message, key)]
    end = len(parts)
    if cursor is not None:
        end = _find_position(id_, parts, cursor)
    costs = (count_chars(part) + 2 for part in reversed(parts[:end]))
    begin = max(end - count_fitting(costs, READ_CHARS - AROUND_PAGE), 0)
    following = _write_cursor(id_, parts[begin]) if begin else None
    return MessagePage(parts[begin:end], following, begin)


def _split(message: Message, key: bytes) -> Iterator[dict[str, Any]]:
    """As one, or as several parts with numbers."""
    content = message.content
    length = len(content)
    if count_chars(content) > PART_CHARS:
        length = max(PART_CHARS * len(content) // count_chars(content), 1)
    starts = range(0, len(content), length) if content else [0]
    for number, start in enumerate(starts, 1):
        part = {
            "id": message.id if message.is_own else ids.parse_id(message.id) or _hash(message.id),
            "role": message.role,
            "at": clock.to_text(message.at),
            "content": _write(content[start : start + length], message, key),
        }
        if len(starts) > 1:
            part["part"] = f"{number} of {len(starts)}"
        yield part


def _write(content: str, message: Message, key: bytes) -> str:
    if message.is_own:
        return content
    lines = fence.quote_lines(content)
    first, last = fence.mark_others(key, [lines], fence.SAID)
    return f"{first}\n{lines}\n{last}"


# --- cursors --------------------------------------------------------------------------------------


def _write_cursor(id_: str, part: dict[str, Any]) -> str:
    return f"{_hash(id_)}{_hash_part(part)}"


def _find_position(id_: str, parts: Sequence[dict[str, Any]], cursor: object) -> int:
    if not isinstance(cursor, str) or not _CURSOR.fullmatch(cursor):
        problem = "is not a cursor; leave it out for the last page"
        raise InvalidValueError("cursor", cursor, problem)
    if cursor[:HASH_CHARS] != _hash(id_):
        raise InvalidValueError("cursor", cursor, "is of another conversation")
    for position, part in enumerate(parts):
        if _hash_part(part) == cursor[HASH_CHARS:]:
            return position
    problem = "is outdated, because its message was erased; leave it out for the last page"
    raise InvalidValueError("cursor", cursor, problem)


def _hash_part(part: dict[str, Any]) -> str:
    return _hash(f"{part.get('part', '')} {part['id']}")


def _hash(text: str) -> str:
    return canonical.sha256(text.encode("utf-8", "surrogatepass")).hex()[:HASH_CHARS]
