"""How the two files of a conversation's `.session` folder are read and written.

`session.json` has a key per line in the seed's order, so that git shows what changed. What git
could not merge has both sides between markers: the side that was active last counts, readers are
told, and the next save writes one. `messages.jsonl` is only ever added to. Each line has an id, so
that two branches that went on with one conversation are both in the file, whichever way git has
merged them.

A file that is newer, or that cannot be read, is shown and never written. Anyone who may write into
a repository chooses what stands in these files: a path that leads out of it, a commit that is none
and a text that no terminal could show do not get past this page.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from holdfast.conversations.model import (
    ACTIVE,
    BY_RULE,
    STATUSES,
    VERSION,
    AgentConfig,
    Conversation,
    History,
    Message,
)
from holdfast.conversations.rules import clean_title
from holdfast.errors import InvalidValueError
from holdfast.ground import canonical, clock, confined, jsonl
from holdfast.ground.errors import PathOutsideError
from holdfast.ground.frozen import replace
from holdfast.ground.patterns import compile_later

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MARKERS = ("<<<<<<<", "|||||||", "=======", ">>>>>>>")
OURS, BASE, THEIRS = 0, 1, 2
NOT_MERGED = "git could not merge its session.json: the side that was active last counts"
NAME_CHARS, PATH_CHARS = 200, 1_000
MOST_TOOLS, MOST_FILES = 50, 200
ERASED = "erased_at"
ROLES = ("user", "assistant")

_COMMIT = compile_later(r"[0-9a-f]{7,64}")

KNOWN = (
    "version",
    "conversation_id",
    "conversation_type",
    "title",
    "status",
    "created_at",
    "last_active",
    "message_count",
    "token_count",
    "agent_config",
    "context_summary",
    "summary_by",
    "session_id",
    "client",
    "git_head",
    "files",
)


# --- session.json ---------------------------------------------------------------------------------


def to_bytes(conversation: Conversation) -> bytes:
    """A half of a surrogate pair, in a key of another program, is written as JSON escapes it."""
    values = {
        "version": VERSION,
        "conversation_id": conversation.name,
        "conversation_type": conversation.type,
        "title": conversation.title,
        "status": conversation.status,
        "created_at": clock.to_text(conversation.created_at),
        "last_active": clock.to_text(conversation.last_active),
        "message_count": conversation.message_count,
        "token_count": conversation.token_count,
        "agent_config": conversation.agent_config.to_dict(),
        "context_summary": conversation.context_summary,
        "summary_by": conversation.summary_by,
        "session_id": conversation.session_id,
        "client": conversation.client,
        "git_head": conversation.git_head,
        "files": list(conversation.files),
        **conversation.others,
    }
    text = f"{json.dumps(values, indent=2, ensure_ascii=False)}\n"
    return text.encode("utf-8", "backslashreplace")


def from_bytes(
    data: bytes | None, id_: str, *, title: str, changed_at: datetime, is_shared: bool
) -> Conversation:
    """What the file says; the name of the folder counts where it says nothing, or another thing.

    `title` and `changed_at`: for a conversation whose file is missing or cannot be read.
    """
    type_ = id_.rpartition("/")[2].split("-")[1]
    unread = Conversation(id_, type_, title, changed_at, changed_at, is_shared=is_shared)
    if data is None:
        return unread
    try:
        sides = _read_sides(data)
    except ValueError as wrong:
        problem = f"its session.json cannot be read ({wrong}); fix it, or remove it to begin anew"
        return replace(unread, problem=problem)
    for values in sides:
        version = str(values.get("version", VERSION))
        if version.partition(".")[0] != VERSION.partition(".")[0]:
            version = clean_title(version)
            problem = f"its session.json is of version {version}, and this program knows {VERSION}"
            return replace(unread, problem=problem)
    parsed = [_parse(values, unread) for values in sides]
    found = max(parsed, key=lambda each: each.last_active)
    return replace(found, conflict=NOT_MERGED) if _has_markers(data) else found


def _has_markers(data: bytes) -> bool:
    return any(line.startswith(MARKERS[0]) for line in data.decode("utf-8-sig").split("\n"))


def _read_sides(data: bytes) -> list[dict[str, Any]]:
    """Raises ValueError with what is wrong."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8") from None
    sides = _split_sides(text)
    read = []
    problem = ""
    for side in dict.fromkeys(sides):
        try:
            value = canonical.parse_json("session.json", side)
        except InvalidValueError as wrong:
            problem = wrong.problem
            continue
        if isinstance(value, dict):
            read.append(value)
        else:
            problem = "it is not a JSON object"
    if not read:
        raise ValueError(problem)
    return read


def _split_sides(text: str) -> list[str]:
    """The text as each side of a merge has it; twice the same where there are no markers."""
    sides: dict[int, list[str]] = {OURS: [], THEIRS: []}
    at = None
    for line in text.split("\n"):
        if line.startswith(MARKERS):
            at = {"<": OURS, "|": BASE, "=": THEIRS, ">": None}[line[0]]
            continue
        for side, lines in sides.items():
            if at in (None, side):
                lines.append(line)
    return ["\n".join(lines) for lines in sides.values()]


def _parse(values: Mapping[str, Any], unread: Conversation) -> Conversation:
    """A value of the wrong kind counts as missing: it describes, and nothing depends on it."""
    created_at = _find_time(values.get("created_at"), unread.created_at)
    status = values.get("status")
    return Conversation(
        unread.id,
        unread.type,
        clean_title(_find_text(values, "title")) or unread.title,
        created_at,
        _find_time(values.get("last_active"), created_at),
        status=status if status in STATUSES else ACTIVE,
        message_count=_find_count(values.get("message_count")),
        token_count=_find_count(values.get("token_count")),
        agent_config=_parse_config(values.get("agent_config")),
        context_summary=_find_text(values, "context_summary"),
        summary_by=_find_text(values, "summary_by") or BY_RULE,
        session_id=_find_name(values, "session_id") or None,
        client=_find_name(values, "client") or None,
        git_head=_find_commit(values.get("git_head")),
        files=_find_paths(values, "files"),
        is_shared=unread.is_shared,
        others={name: value for name, value in values.items() if name not in KNOWN},
    )


def _parse_config(value: object) -> AgentConfig:
    if not isinstance(value, dict):
        return AgentConfig()
    return AgentConfig(
        _find_name(value, "command"),
        _find_name(value, "system_prompt_hash"),
        _find_name(value, "model"),
        tuple(filter(_is_name, _list_texts(value, "tools")))[:MOST_TOOLS],
    )


def _list_texts(values: Mapping[str, Any], name: str) -> list[str]:
    listed = values.get(name)
    if not isinstance(listed, list):
        return []
    return list(dict.fromkeys(text for text in listed if isinstance(text, str)))


def _find_paths(values: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Only what lies in the repository by its name: the others are not even looked for."""
    return tuple(filter(_is_inside, _list_texts(values, name)))[:MOST_FILES]


def _is_inside(path: str) -> bool:
    if path.startswith("/") or not path.isprintable() or len(path) > PATH_CHARS:
        return False
    try:
        confined.check_steps(path)
    except PathOutsideError:
        return False
    return True


def _find_commit(value: object) -> str | None:
    return value if isinstance(value, str) and _COMMIT.fullmatch(value) else None


def _find_name(values: Mapping[str, Any], name: str) -> str:
    text = values.get(name)
    return text if isinstance(text, str) and _is_name(text) else ""


def _is_name(text: str) -> bool:
    return text.isprintable() and len(text) <= NAME_CHARS


def _find_text(values: Mapping[str, Any], name: str) -> str:
    """Without halves of a surrogate pair, which no door could pass on."""
    value = values.get(name)
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else ""


def _find_count(value: object) -> int:
    is_count = isinstance(value, int) and not isinstance(value, bool) and value > 0
    return int(str(value)) if is_count else 0


def _find_time(value: object, other: datetime) -> datetime:
    if not isinstance(value, str):
        return other
    try:
        found = clock.from_text(value)
    except (ValueError, OverflowError):
        return other
    return found


# --- messages.jsonl -------------------------------------------------------------------------------


def read_history(data: bytes | None) -> History:
    """Every message that can be read, once, in the order in which they were said."""
    contents = jsonl.parse_records(data or b"")
    messages: dict[str, Message] = {}
    damaged = [damage.line_number for damage in contents.damaged]
    erased = set()
    for number, record in zip(contents.line_numbers, contents.records, strict=True):
        message = _parse_message(record, f"line-{number}")
        if record.get(ERASED):
            erased.add(str(record.get("id")))
        elif message is None:
            damaged.append(number)
        else:
            messages.setdefault(message.id, message)
    kept = [message for message in messages.values() if message.id not in erased]
    kept.sort(key=lambda message: message.at)
    return History(tuple(kept), tuple(sorted(damaged)), len(erased))


def find_words(data: bytes, words: Sequence[str]) -> list[str]:
    """Those that were said, all of them in small letters.

    Only lines that hold a word are parsed, because most of what is searched holds none. Lines that
    were erased, and letters that another program has escaped, can be told only by parsing all.
    """
    is_plain = all(word.isascii() for word in words)
    if ERASED.encode() in data or (not is_plain and rb"\u" in data):
        said = "\n".join(message.content for message in read_history(data).messages).casefold()
        return [word for word in words if word in said]
    folded = data.lower()
    if not data.isascii():
        folded = data.decode("utf-8", "replace").casefold().encode()
    near = [word for word in words if word.encode("utf-8", "replace") in folded]
    if not near:
        return []
    lines = list(zip(data.split(b"\n"), folded.split(b"\n"), strict=True))
    return [word for word in near if _is_said(word, lines)]


def _is_said(word: str, lines: Iterable[tuple[bytes, bytes]]) -> bool:
    needle = word.encode("utf-8", "replace")
    near = (line for line, folded in lines if needle in folded)
    return any(
        word in message.content.casefold()
        for line in near
        for message in read_history(line).messages
    )


def list_ids(data: bytes | None) -> set[str]:
    """Of every line, also of those that were erased: these never come back."""
    records = jsonl.parse_records(data or b"").records
    return {str(record["id"]) for record in records if record.get("id")}


def _parse_message(record: Mapping[str, Any], otherwise: str) -> Message | None:
    """None where it is not one. Another program's line may have no id: its place names it."""
    role, content = record.get("role"), record.get("content")
    if role not in ROLES or not isinstance(content, str):
        return None
    at = _find_time(record.get("timestamp"), clock.EPOCH)
    client = _find_name(record, "client") or None
    said = _find_text(record, "content")
    return Message(_find_text(record, "id") or otherwise, str(role), said, at, client)


def add_messages(data: bytes | None, messages: Iterable[Message]) -> bytes:
    """The file with more lines; what was in it stays to the byte, damaged lines too."""
    known = data or b""
    if known and not known.endswith(b"\n"):
        known += b"\n"
    lines = [canonical.format_json(message.to_dict()) for message in messages]
    return known + "".join(f"{line}\n" for line in lines).encode()


def erase_messages(data: bytes, ids: Iterable[str], now: datetime) -> bytes:
    """The file without the contents of some messages; that they were there stays."""
    erased = set(ids)
    mark = clock.to_text(now)
    lines = []
    for line in data.split(b"\n"):
        found = jsonl.parse_records(line).records
        id_ = found[0].get("id") if found else None
        if id_ in erased:
            line = canonical.format_json({ERASED: mark, "id": id_}).encode()
        lines.append(line)
    return b"\n".join(lines)
