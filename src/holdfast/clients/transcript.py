"""What a client has written down itself, as events.

A transcript is the better half of a hook: it has what no hook was told, and it is still there when
our program was not. So at the end of each turn, and at the next start after a crash, everything new
in it is read. A reader is given the cursor that it returned last time and goes on from there; what
a cursor holds is the reader's own business, as long as it is a small JSON object.

Each record has a key that follows from ids in the transcript alone, so that reading it again, or
reading what a hook has reported before, names the same event. Where a client gives its hook and its
transcript no id in common, the key of the hook's event is None, and whoever stores both matches
them by their text.

Three clients write lines of JSON, so how such a file is read is here: whole lines only, no more
than a given number of bytes at a time, and never the same bytes again, however long the file is.
A person waits for it, so lines that only keep a client's books are told by their first bytes.
A crash cuts a line in two, loses its end or leaves a run of zeros, and what is written next follows
in that line: every record in it is read. What cannot be read leaves a record of its place.
"""

from __future__ import annotations

import os

from holdfast.clients.contract import (
    CONTENT_BYTES,
    LEFT_OUT,
    REWOUND,
    as_text,
    cut_to_fit,
    describe_prompt,
    make_key,
    make_storable,
    make_storable_parts,
    name_prompt,
)
from holdfast.errors import InvalidValueError
from holdfast.ground import canonical, files
from holdfast.ground import light_json as json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any, Protocol

    Cursor = dict[str, Any]
    Piece = tuple[int, int, bool]  # where a part of a line begins and ends, and whether it is whole

    class TranscriptReader(Protocol):
        def find_sources(self, native_id: str, path: str) -> list[str]:
            """The transcript that a hook named, and those of the session's subagents."""

        def list_transcripts(
            self, folder: str, home: str, since: float, environment: Mapping[str, str] = ...
        ) -> Iterable[TranscriptFile]:
            """Those that may be of a folder and changed since then (seconds), newest first.

            The environment may say that the client keeps its files elsewhere than at home. Where
            names tell enough, no file is opened: there may be thousands.
            """

        def identify(self, found: TranscriptFile, folder: str) -> bool:
            """Whether it is a session's own and began in that folder or below.

            Changes it: notes where exactly that was, as far as it is written.
            """

        def read(self, path: str, cursor: Cursor, most_bytes: int) -> Batch:
            """What came after the cursor; an empty cursor stands before the first record."""

        def read_end(self, path: str) -> list[Record]:
            """What only its end shows: calls that have no result, and a turn without an answer."""

        def list_kept(self, path: str) -> list[str] | None:
            """The texts that a model has in its window after a compaction, as far as they are
            written down, the newest first; None where the transcript tells of no compaction.
            """

        def is_planning(self, payload: Mapping[str, Any]) -> bool:
            """Whether a hook fired in the client's plan mode, as far as it can be known."""


MARK_BYTES = 512  # before a cursor, by which a file that was replaced is noticed
MOST_JOINTS = 1000  # places in a damaged line at which a whole record may begin
ANY_START = b'{"'
VALUE_FOLLOWS = "[,:"
BYTE_ORDER_MARK = "\ufeff"
MOST_SAID = 30  # messages of which the same words may come again in their turn
MOST_LOOKED_AT = 500
MOST_SUBAGENTS = 200
HEAD_BYTES = 1 << 16
TAIL_BYTES = 4 << 20  # a turn may be long
TURN_BYTES = 1 << 20  # of these, in which a turn without an answer is looked for

# In the parts of an event: how a turn ended that was not answered. Unknown: the model has said
# something, and it is not written whether that was its answer.
TURN = "turn"
CALL_ID = "call_id"
CUT_OFF, INTERRUPTED, FAILED, UNKNOWN = "cut off", "interrupted", "failed", "unknown"


class TranscriptFile:
    """A transcript on the disk, the session that it is about, and where that began."""

    __slots__ = ("changed_at", "cwd", "git_branch", "native_id", "path")

    def __init__(self, native_id: str, path: str, changed_at: float, cwd: str | None = None):
        self.native_id = native_id
        self.path = path
        self.changed_at = changed_at
        self.cwd = cwd
        self.git_branch: str | None = None


class Record:
    """An event as a transcript has it."""

    __slots__ = ("at", "content", "event_type", "key", "parts", "role")

    def __init__(
        self,
        key: str,
        event_type: str,
        role: str,
        content: str,
        parts: dict[str, Any] | None = None,
        at: str | None = None,
    ):
        self.key = key
        self.at = at  # when it happened, in UTC as `2026-11-16T09:04:00.000Z`
        self.event_type = event_type
        self.role = role
        self.content = content
        self.parts = parts


class Batch:
    """Records in their order, where to go on, and whether there is more to read now."""

    __slots__ = ("cursor", "damaged", "forked_from", "has_more", "records")

    def __init__(self, records: list[Record], cursor: Cursor, *, has_more: bool, damaged: int = 0):
        self.records = records
        self.cursor = cursor
        self.has_more = has_more
        self.damaged = damaged  # lines that could not be read
        # The native id of the session that this one began as a copy of. Each cursor has it, because
        # there may be nothing to link yet when it is found.
        self.forked_from: str | None = cursor.get("forked_from")


# --- a page of lines ------------------------------------------------------------------------------


class TranscriptPage:
    """The whole lines after a cursor, as far as a number of bytes reaches.

    A line that has not ended yet waits; one that is longer than a page is skipped.
    """

    def __init__(self, fd: int, cursor: Cursor, most_bytes: int):
        self.fd = fd
        self.most_bytes = most_bytes
        self.state = dict(cursor) if _is_of(fd, cursor) else {}
        self.start: int = self.state.get("position", 0)
        self.data = read_at(fd, self.start, most_bytes)
        self.has_more = self.start + len(self.data) < os.fstat(fd).st_size
        self.first = 0
        self.is_skipping = bool(self.state.pop("skipping", False))
        if self.is_skipping:
            self._find_end_of_skipped()
        self.last = max(self.first, self.data.rfind(b"\n") + 1)
        self.is_too_long = not self.is_skipping and not self.last and len(self.data) == most_bytes
        if self.is_too_long:
            self.is_skipping = True
            self.first = self.last = len(self.data)

    def _find_end_of_skipped(self) -> None:
        end = self.data.find(b"\n")
        self.is_skipping = end < 0
        self.first = len(self.data) if self.is_skipping else end + 1

    def list_lines(self) -> Iterator[tuple[int, bytes]]:
        """Each line, and where in the file it begins."""
        begin = self.first
        while begin < self.last:
            end = self.data.index(b"\n", begin)
            yield self.start + begin, self.data[begin:end]
            begin = end + 1

    def read_line(self, offset: int) -> bytes:
        """A line that was read before."""
        begin = offset - self.start
        if begin < 0:
            return read_at(self.fd, offset, self.most_bytes).partition(b"\n")[0]
        return self.data[begin : self.data.find(b"\n", begin)]

    def make_cursor(self, state: dict[str, Any], position: int | None = None) -> Cursor:
        """Where to go on, with what a reader keeps until then."""
        cursor = dict(state)
        if position is None:
            position = self.start + self.last
            if self.is_skipping:
                cursor["skipping"] = True
        return {**cursor, "position": position, "mark": _mark(self.fd, position)}


class TranscriptReading:
    """What a client's reader makes of a page; it adds `START`, `is_wanted` and `take`."""

    START: bytes  # how the lines begin that matter

    def __init__(self, page: TranscriptPage, path: str):
        self.page = page
        self.path = path
        self.state: dict[str, Any] = page.state
        self.records: list[Record] = []
        self.damaged = 0
        self.offset = 0  # of the line that is being read
        self.agent: dict[str, Any] = {}  # the parts that mark what a subagent did
        self.at: object = None  # when that happened which a line is about

    def is_wanted(self, line: bytes) -> bool:
        """Whether a line is worth parsing, by its bytes."""
        raise NotImplementedError

    def take(self, entry: dict[str, Any], offset: int) -> None:
        """Add the records of a line."""
        raise NotImplementedError

    def keep_state(self) -> None:
        """Put what the next reading needs into `state`, which becomes part of the cursor."""

    def run(self) -> Batch:
        if self.page.is_too_long:
            self.offset = self.page.start
            self.leave_out()
        for offset, line in self.page.list_lines():
            self.take_line(line, offset)
        self.keep_state()
        cursor = self.page.make_cursor(self.state)
        return Batch(self.records, cursor, has_more=self.page.has_more, damaged=self.damaged)

    def take_line(self, line: bytes, offset: int) -> None:
        self.offset = offset
        if self.is_wanted(line) and line.strip():
            entry = parse_line(line)
            if entry is None:
                self._take_pieces(line)
            else:
                self._take_entry(entry)
        elif self.is_joined(line):
            self._take_pieces(line)

    def is_joined(self, line: bytes) -> bool:
        """Whether another record follows in a line that is not wanted itself."""
        return line.find(self.START, 1) > 0

    def _take_pieces(self, line: bytes) -> None:
        """A line that is damaged, or in which several records stand."""
        offset = self.offset
        for begin, end, is_whole in list_pieces(line, self.START):
            piece = line[begin:end]
            self.offset = offset + begin
            if not self.is_wanted(piece):
                continue
            entry = parse_line(piece) if is_whole else None
            if entry is None:
                self.leave_out()
            if entry is None and is_whole:  # some of its bytes are no text
                entry = parse_line(piece.decode("utf-8", "replace").encode())
            if entry is not None:
                self._take_entry(entry)

    def _take_entry(self, entry: dict[str, Any]) -> None:
        self.at = entry.get("timestamp")
        self.take(entry, self.offset)

    def name_said(self, turn_id: object, text: str, native: object) -> str | None:
        """The name that a hook has for a message; with the record's own id, where the same words
        were said in that turn before.
        """
        name = name_prompt(turn_id, text)
        if name is None or not isinstance(native, str):
            return name
        said = {name: native, **as_object(self.state.get("said"))}
        if said[name] != native:
            return f"{name}:{native}"
        self.state["said"] = dict(list(said.items())[:MOST_SAID])
        return name

    def leave_out(self) -> None:
        """Keep the place of what cannot be read, with that of its neighbours."""
        self.damaged += 1
        parts = self.records[-1].parts if self.records else None
        if parts and LEFT_OUT in parts:
            parts[LEFT_OUT] += 1
            return
        name = canonical.sha256(os.path.basename(self.path).encode("utf-8", "replace"))
        native = f"{name.hex()[:8]}:{self.offset}"
        self.add("damaged", native, "system_event", "system", "", {LEFT_OUT: 1})

    def add(
        self,
        kind: str,
        native: object,
        event_type: str,
        role: str,
        content: str,
        parts: dict[str, Any] | None = None,
    ) -> str | None:
        """Keep a record under the client's own id; without one it cannot be told from others."""
        key = make_key(kind, native)
        if key is None:
            self.leave_out()
            return None
        all_parts = make_storable_parts({**(parts or {}), **self.agent})
        kept = cut_to_fit(make_storable(content), CONTENT_BYTES)
        record = Record(key, event_type, role, kept, all_parts or None, as_time(self.at))
        self.records.append(record)
        return key

    def add_message(
        self, kind: str, native: object, role: str, text: str, parts: dict[str, Any] | None = None
    ) -> str | None:
        event_type = "model_message"
        if role == "user":
            event_type, role = describe_prompt(is_to_agent=bool(self.agent))
        return self.add(kind, native, event_type, role, text, parts)

    def add_tool(
        self, native: object, tool: object, given: object, answer: object, outcome: dict[str, Any]
    ) -> None:
        parts = {"tool": tool, "input": given, **outcome}
        self.add("tool", native, "tool_result", "tool", as_text(answer), parts)

    def add_compaction(self, native: object, summary: str, trigger: object) -> None:
        parts = {"compaction": trigger or "unknown"}
        self.add("compaction", native, "system_event", "system", summary, parts)

    def add_rewind(self, native: object, keys: list[str]) -> None:
        """The requests that were taken back, with everything that followed them."""
        if keys:
            self.add("rewind", native, "system_event", "system", "", {REWOUND: keys})


class TurnReading:
    """The last turn of a transcript, line by line; a client's reader adds `take`."""

    def __init__(self) -> None:
        self.calls: dict[str, Record] = {}  # that have no result
        self.end: Record | None = None

    def take(self, entry: dict[str, Any]) -> None:
        raise NotImplementedError

    def list_records(self) -> list[Record]:
        end = [] if self.end is None else [self.end]
        return list(self.calls.values()) or end

    def begin(self) -> None:
        """Nothing is open: a turn begins, or has ended with an answer."""
        self.calls = {}
        self.end = None

    def add_call(self, native: object, tool: object, given: object, at: object) -> None:
        """It stays until it has a result."""
        self.end = None
        record = make_call(native, tool, given, at)
        if record is not None:
            self.calls[str(native)] = record

    def close(self, word: str, native: object, at: object, reason: str = "") -> None:
        """How the turn stands, until a later line says otherwise."""
        self.end = make_end(word, native, at, reason)


def make_call(native: object, tool: object, given: object, at: object) -> Record | None:
    """A call that was running when the transcript ended; its result has the same id in its key."""
    key = make_key("call", native)
    if key is None:
        return None
    parts = {"tool": tool, "input": given, "status": "running", CALL_ID: native}
    return Record(key, "tool_call", "assistant", "", make_storable_parts(parts), as_time(at))


def make_end(word: str, native: object, at: object, reason: str = "") -> Record | None:
    key = make_key("end", native)
    if key is None:
        return None
    content = cut_to_fit(make_storable(reason), CONTENT_BYTES)
    return Record(key, "system_event", "system", content, {TURN: word}, as_time(at))


def as_time(value: object) -> str | None:
    return value if isinstance(value, str) else None


def read_last_turn(path: str, reading: TurnReading) -> list[Record]:
    """A line of which the tail has a part only is not JSON, and left out."""
    tail = read_tail(path)[-TURN_BYTES:]
    for line in filter(None, tail.split(b"\n")):
        for entry in list_entries(line):
            reading.take(entry)
    return reading.list_records()


def read_file(
    path: str,
    cursor: Cursor,
    most_bytes: int,
    reading: Callable[[TranscriptPage, str], TranscriptReading],
) -> Batch:
    """Nothing of a file that is gone or not a regular one: it may be there again next time."""
    nothing = Batch([], cursor, has_more=False)
    try:
        fd = files.open_regular(path, os.O_RDONLY)
    except (OSError, ValueError, InvalidValueError):
        return nothing
    try:
        return reading(TranscriptPage(fd, cursor, max(1, most_bytes)), path).run()
    except OSError:
        return nothing
    finally:
        os.close(fd)


def parse_line(line: bytes) -> dict[str, Any] | None:
    try:
        entry = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(entry, dict):
        return None
    return entry


def list_entries(line: bytes) -> list[dict[str, Any]]:
    """The records of a line: one, unless it is damaged."""
    entry = parse_line(line)
    if entry is not None:
        return [entry]
    pieces = list_pieces(line, ANY_START)
    entries = [parse_line(line[begin:end]) for begin, end, is_whole in pieces if is_whole]
    return [entry for entry in entries if entry is not None]


def list_pieces(line: bytes, start: bytes) -> list[Piece]:
    """What a damaged line consists of: whole objects, and what cannot be read before or after them.

    Behind damage, a record is known by how it begins (`start`), unless it stands where a value
    does: then it may be a part of another one. What was read is not looked at again.
    """
    text = line.decode("utf-8", "surrogateescape")
    mark = start.decode()
    spans: list[Piece] = []
    tries = MOST_JOINTS
    begin = _skip_space(text, 0)
    while begin < len(text):
        is_whole, end = _measure_object(text, begin)
        inner = begin
        if not is_whole:
            end = _find_next(text, mark, begin, end) if tries else len(text)
            inner = _find_last_object(text, mark, begin, end)
            tries -= 1
        if begin < inner:
            spans.append((begin, inner, False))
        if inner < end:
            spans.append((inner, end, True))
        begin = _skip_space(text, end)
    return _measure_bytes(text, spans)


def _skip_space(text: str, at: int) -> int:
    while at < len(text) and (text[at].isspace() or text[at] == BYTE_ORDER_MARK):
        at += 1
    return at


def _measure_object(text: str, begin: int) -> tuple[bool, int]:
    """Whether a whole object begins there, and where it ends, or where it is damaged."""
    if text[begin] != "{":
        return False, begin
    try:
        _, end = json.JSONDecoder().raw_decode(text, begin)
    except json.JSONDecodeError as error:
        return False, error.pos
    except (ValueError, RecursionError):
        return False, len(text)
    return True, end


def _find_next(text: str, mark: str, begin: int, damaged_at: int) -> int:
    """Where the next record begins; the end of the text without one. Between records, any object
    is one.
    """
    if text[begin] != "{":
        mark = ANY_START.decode()
    at = text.find(mark, max(begin + 1, damaged_at - len(mark)))
    while at > 0 and text[at - 1] in VALUE_FOLLOWS:
        at = text.find(mark, at + 1)
    return len(text) if at < 0 else at


def _find_last_object(text: str, mark: str, begin: int, end: int) -> int:
    """Where the object begins that a damaged part ends with, as if it were a value in it; its end
    without one.
    """
    part = text[begin:end].rstrip()
    if end == len(text):
        mark = ANY_START.decode()
    at = len(part)
    for _ in range(MOST_JOINTS):
        at = part.rfind(mark, 0, at)
        if at < 0:
            break
        rest = part[at:]  # an error counts the lines before it
        if _measure_object(rest, 0) == (True, len(rest)):
            return begin + at
    return end


def _measure_bytes(text: str, spans: list[Piece]) -> list[Piece]:
    """The same spans, counted in bytes."""
    pieces = []
    last = at = 0
    for begin, end, is_whole in spans:
        first = at + len(text[last:begin].encode("utf-8", "surrogateescape"))
        at = first + len(text[begin:end].encode("utf-8", "surrogateescape"))
        last = end
        pieces.append((first, at, is_whole))
    return pieces


def read_at(fd: int, offset: int, most_bytes: int) -> bytes:
    """As many bytes as there are; the system may give fewer than it was asked for."""
    parts = []
    left = most_bytes
    while left and (part := os.pread(fd, left, offset)):
        parts.append(part)
        offset += len(part)
        left -= len(part)
    return b"".join(parts)


def _is_of(fd: int, cursor: Cursor) -> bool:
    """Whether a cursor was made of this file, which may have been cut, replaced or written anew."""
    position = cursor.get("position")
    if not isinstance(position, int) or position < 0:
        return False
    return _mark(fd, position) == cursor.get("mark")


def _mark(fd: int, position: int) -> str:
    begin = max(0, position - MARK_BYTES)
    data = read_at(fd, begin, position - begin)
    size = str(len(data)).encode()
    return canonical.sha256(size, data).hex()[:16]


# --- values of any type ---------------------------------------------------------------------------


def as_object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def as_objects(value: object) -> list[dict[str, Any]]:
    items = value if isinstance(value, list) else []
    return [item for item in items if isinstance(item, dict)]


def join_texts(content: object) -> str:
    """A text, or the texts of a list of parts."""
    if isinstance(content, str):
        return content
    texts = [part.get("text") for part in as_objects(content)]
    return "\n\n".join(text for text in texts if isinstance(text, str) and text)


# --- files on the disk ----------------------------------------------------------------------------


def list_names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except (OSError, ValueError):
        return []


def list_changed(paths: Iterable[str], since: float) -> list[tuple[float, str]]:
    """Those that changed since then, newest first."""
    changed = []
    for path in paths:
        try:
            changed_at = os.lstat(path).st_mtime
        except OSError:
            continue
        if changed_at >= since:
            changed.append((changed_at, path))
    changed.sort(reverse=True)
    return changed


def list_newest(folder: str) -> list[str]:
    """The transcripts in a folder of subagents, the oldest first, no more than the newest ones."""
    names = [name for name in list_names(folder) if name.endswith(".jsonl")]
    changed = list_changed((os.path.join(folder, name) for name in names), 0.0)
    return [path for _, path in reversed(changed[:MOST_SUBAGENTS])]


def read_head(path: str, most_bytes: int = HEAD_BYTES) -> bytes:
    """How a file begins; nothing where it is not a regular one."""
    try:
        fd = files.open_regular(path, os.O_RDONLY)
    except (OSError, ValueError, InvalidValueError):
        return b""
    try:
        return read_at(fd, 0, most_bytes)
    except OSError:
        return b""
    finally:
        os.close(fd)


def list_tail(path: str, is_wanted: Callable[[bytes], bool]) -> list[dict[str, Any]]:
    """The records of these lines, as far as the end of a file has them whole."""
    lines = [line for line in read_tail(path).split(b"\n") if is_wanted(line)]
    return [entry for line in lines if (entry := parse_line(line))]


def list_strings(value: object) -> list[str]:
    """Every text in a record, however deep, the last one first."""
    found, waiting = [], [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, str):
            found.append(each)
        elif isinstance(each, dict):
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each
    return found


def read_tail(path: object) -> bytes:
    """How a file ends; nothing where it is not a regular one."""
    if not isinstance(path, str):
        return b""
    try:
        fd = files.open_regular(path, os.O_RDONLY)
    except (OSError, ValueError, InvalidValueError):
        return b""
    try:
        begin = max(0, os.fstat(fd).st_size - TAIL_BYTES)
        return read_at(fd, begin, TAIL_BYTES)
    except OSError:
        return b""
    finally:
        os.close(fd)


def find_last_value(data: bytes, *beginnings: bytes) -> bytes:
    """The text that follows the last of these, up to its quotation mark."""
    ends = [data.rfind(text) + len(text) for text in beginnings if text in data]
    if not ends:
        return b""
    return data[max(ends) :].partition(b'"')[0]


def read_first_line(path: str, most_bytes: int = HEAD_BYTES) -> dict[str, Any]:
    line = read_head(path, most_bytes).partition(b"\n")[0]
    return parse_line(line) or {}


def is_inside(path: object, folder: str) -> bool:
    """Whether a path is a folder or in it."""
    if not isinstance(path, str):
        return False
    return path == folder or path.startswith(folder.rstrip("/") + "/")
