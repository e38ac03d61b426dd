"""OpenCode's own record of its sessions: one SQLite file for all of them.

A source is the file and a session in it, `PATH#ses_…`. A message is a row, and each thing in it
another: rows change while the model writes, so only what is finished is read. A cursor stands
behind the last message that nothing can change any more, and names what was read beyond it.
"""

from __future__ import annotations

import os
import time

from holdfast.clients.contract import (
    CONTENT_BYTES,
    LEFT_OUT,
    as_text,
    cut_to_fit,
    describe_agent,
    describe_prompt,
    make_key,
    make_storable,
    make_storable_parts,
)
from holdfast.clients.transcript import (
    CUT_OFF,
    FAILED,
    INTERRUPTED,
    Batch,
    Record,
    TranscriptFile,
    as_object,
    is_inside,
    list_strings,
    make_call,
    make_end,
    parse_line,
)
from holdfast.errors import Unavailable
from holdfast.ground import light_json as json
from holdfast.storage.queries import read_blocks
from holdfast.storage.sqlite import ForeignDatabase

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from holdfast.clients.transcript import Cursor

MOST_MESSAGES = 500
MOST_SOURCES = 1000
MOST_PARTS = 2000  # of a window
MOST_SESSIONS = 10_000
MOST_PROMPTS = 50  # of which it is checked whether the person has taken them back
PART_BYTES = 8 << 20
DENIED = ("The user rejected permission", "The user has specified a rule which prevents")
STOPPED = "Tool execution aborted"
STOPPED_BY_USER = "MessageAbortedError"
QUERIES = os.path.join(os.path.dirname(__file__), "transcript.sql")


def find_sources(native_id: str, path: str) -> list[str]:
    """The session, and those that it started as subagents; a hook names the file alone."""
    file = path.removesuffix(f"#{native_id}")
    try:
        with SessionDatabase(file) as database:
            family = database.run("list_family", native_id, MOST_SOURCES)
    except Unavailable:
        return [path]
    return [f"{file}#{session_id}" for (session_id,) in family] or [path]


def list_transcripts(
    folder: str, home: str, since: float, environment: Mapping[str, str] = os.environ
) -> Iterable[TranscriptFile]:
    file = find_database(home, environment)
    try:
        with SessionDatabase(file) as database:
            rows = database.run("list_sessions", folder, int(since * 1000), MOST_SESSIONS)
    except Unavailable:
        return []
    return [
        TranscriptFile(id_, f"{file}#{id_}", changed / 1000, directory)
        for id_, changed, directory in rows
    ]


def identify(found: TranscriptFile, folder: str) -> bool:
    """All that is known of it was found with it."""
    return is_inside(found.cwd, folder)


def find_database(home: str, environment: Mapping[str, str] = os.environ) -> str:
    data = environment.get("XDG_DATA_HOME") or os.path.join(home, ".local", "share")
    return os.path.join(data, "opencode", environment.get("OPENCODE_DB") or "opencode.db")


def is_planning(payload: Mapping[str, Any]) -> bool:
    """A prompt goes to an agent, and one that plans is there from the start."""
    return payload.get("agent") == "plan"


def read(path: str, cursor: Cursor, most_bytes: int) -> Batch:
    """Nothing of a file that is gone, locked, damaged or of another make."""
    file, _, session_id = path.rpartition("#")
    try:
        with SessionDatabase(file) as database:
            return SessionReading(database, session_id, cursor, most_bytes).run()
    except Unavailable:
        return Batch([], cursor, has_more=False)


def read_end(path: str) -> list[Record]:
    """Of the last message: the calls that are running in it, or why it has none and no answer."""
    file, _, session_id = path.rpartition("#")
    try:
        with SessionDatabase(file) as database:
            found = database.run("find_last_message", session_id)
            message_id = found[0][0] if found else ""
            rows = database.run("list_parts", message_id, PART_BYTES)
    except Unavailable:
        return []
    if not found:
        return []
    _, role, created_at, finished_at, error, reason = found[0]
    if role == "user":
        return []
    at = _format_time(finished_at if isinstance(finished_at, int) else created_at)
    if error == STOPPED_BY_USER:
        records = [make_end(INTERRUPTED, message_id, at)]
    elif error:
        records = [make_end(FAILED, message_id, at, as_text(reason or error))]
    elif finished_at is None:
        records = _list_unfinished(message_id, rows, at)
    else:
        records = []
    return [record for record in records if record is not None]


def list_kept(path: str) -> list[str] | None:
    """The summary, the newest messages before it as far as it names them, and what came since."""
    file, _, session_id = path.rpartition("#")
    try:
        with SessionDatabase(file) as database:
            rows = database.run("list_window", session_id, MOST_PARTS, PART_BYTES)
    except Unavailable:
        return None
    parts = [StoredPart("", as_object(parse_line(data.encode()))) for (data,) in rows]
    return [text for part in parts for text in list_strings(part.shown)] or None


def _list_unfinished(message_id: str, rows: list[Any], at: str | None) -> list[Record | None]:
    values = [(id_, parse_line(data.encode()) or {}) for id_, data, _ in rows if data]
    parts = [StoredPart(id_, value) for id_, value in values]
    running = [part for part in parts if part.kind == "tool" and not part.is_ended]
    if not running and any(part.is_said for part in parts[-1:]):
        return [make_end(CUT_OFF, message_id, at)]
    return [
        make_call(part.id, part.value.get("tool"), part.state.get("input"), at) for part in running
    ]


class SessionDatabase(ForeignDatabase):
    """Runs the statements of `transcript.sql` by their names."""

    def __init__(self, path: str):
        super().__init__(path)
        self.statements = {block.name: block.sql for block in read_blocks(QUERIES)}

    def run(self, name: str, *args: object) -> list[Any]:
        return self.list_rows(self.statements[name], *args)


class StoredMessage:
    """A row of `message`, as far as it matters here."""

    __slots__ = ("created_at", "id", "is_finished", "is_summary", "parent_id", "role")

    def __init__(
        self, id_: str, created_at: int, role: str, finished: Any, summary: Any, parent_id: str
    ):
        self.id = id_
        self.created_at = created_at
        self.role = role
        self.is_finished = finished is not None
        self.is_summary = summary == 1  # of a request it is an object
        self.parent_id = parent_id


class StoredPart:
    """A row of `part`: a text, a call of a tool, or that a summary was asked for."""

    __slots__ = ("id", "kind", "value")

    def __init__(self, id_: str, value: dict[str, Any]):
        self.id = id_
        self.kind = value.get("type")
        self.value = value

    @property
    def text(self) -> str:
        """Empty where it is none."""
        text = self.value.get("text")
        return text if self.kind == "text" and isinstance(text, str) else ""

    @property
    def is_said(self) -> bool:
        """By the person: OpenCode and its plugins add texts of their own."""
        is_added = self.value.get("synthetic") or self.value.get("ignored")
        return bool(self.text) and not is_added

    @property
    def is_ended(self) -> bool:
        if self.kind == "tool":
            return self.state.get("status") in ("completed", "error")
        return as_object(self.value.get("time")).get("end") is not None

    @property
    def ended_at(self) -> int | None:
        """In milliseconds."""
        timed = self.state if self.kind == "tool" else self.value
        end = as_object(timed.get("time")).get("end")
        return end if isinstance(end, int) else None

    @property
    def shown(self) -> object:
        """To the model: OpenCode takes the output of old calls away."""
        if "compacted" in as_object(self.state.get("time")):
            return self.state.get("input")
        return self.state or self.text

    @property
    def state(self) -> dict[str, Any]:
        """Of a call: what it was given, and what came of it."""
        return as_object(self.value.get("state"))


class SessionReading:
    """What is new in one session."""

    def __init__(self, database: SessionDatabase, session_id: str, cursor: Cursor, most_bytes: int):
        self.database = database
        self.session_id = session_id
        self.cursor = cursor
        self.bytes_left = most_bytes
        self.records: list[Record] = []
        self.damaged = 0
        self.has_more = False
        self.agent: dict[str, Any] = {}
        self.seen = set(_list_texts(cursor.get("seen")))  # what was read of unfinished messages
        self.left_seen: list[str] = []  # and still is one
        self.taken: list[str] = []  # of the message that is being read
        self.at = 0  # when that happened which is being read, in milliseconds
        self.prompts = _list_texts(cursor.get("prompts"))

    def run(self) -> Batch:
        found = self.database.run("find_session", self.session_id)
        if not found:
            return Batch([], self.cursor, has_more=False)
        parent_id, agent, created_at, reverted = found[0]
        self.at = created_at
        if parent_id:
            self.agent = describe_agent(self.session_id, agent)
        self._take_removed()
        moment, after = self._take_messages(*self._find_place(created_at))
        if not self.has_more:
            self._take_back(self.prompts[_find_index(self.prompts, reverted) :])
        kept = {
            "seen": self.left_seen,
            "prompts": self.prompts[-MOST_PROMPTS:],
            "forked_from": self._find_origin(created_at),
        }
        known = {name: value for name, value in kept.items() if value}
        cursor = {"time": moment, "after": after, **known}
        return Batch(self.records, cursor, has_more=self.has_more, damaged=self.damaged)

    def _find_place(self, created_at: int) -> tuple[int, str]:
        """A message that is older than its session was copied by a fork, and read where it was."""
        moment, after = self.cursor.get("time"), self.cursor.get("after")
        if isinstance(moment, int) and isinstance(after, str):
            return moment, after
        return created_at, ""

    def _find_origin(self, created_at: int) -> str | None:
        """The session that a fork is a copy of; looked for at its first reading."""
        if self.cursor or self.agent:
            known: str | None = self.cursor.get("forked_from")
            return known
        found = self.database.run("find_origin", self.session_id, created_at)
        return found[0][0] if found else None

    # --- messages ---------------------------------------------------------------------------------

    def _take_messages(self, moment: int, after: str) -> tuple[int, str]:
        """Up to where every message is done."""
        rows = self.database.run("list_messages", self.session_id, moment, after, MOST_MESSAGES)
        messages = [StoredMessage(*row) for row in rows]
        answers = [message for message in messages if message.role != "user"]
        is_behind = True
        for message in messages:
            is_newest = message is messages[-1]
            is_overtaken = message not in answers[-1:]
            is_behind = self._take_message(message, is_newest, is_overtaken) and is_behind
            if is_behind:
                moment, after = message.created_at, message.id
            else:
                self.left_seen += self.taken
            self.taken = []
            is_full = self.bytes_left <= 0 and not is_newest
            if is_full and is_behind:
                self.has_more = True
                return moment, after
        self.has_more = is_behind and len(messages) == MOST_MESSAGES
        return moment, after

    def _take_message(self, message: StoredMessage, is_newest: bool, is_overtaken: bool) -> bool:
        """Whether nothing more can come of it."""
        parts = self._list_parts(message)
        self.at = message.created_at
        if message.role == "user":
            self._take_prompt(message, parts)
            return bool(parts) or not is_newest
        # The person may have written on meanwhile; the model does one thing after the other.
        is_done = message.is_finished or is_overtaken
        if message.is_summary and is_done:
            self._take_summary(message, parts)
        if not message.is_summary:
            self._take_answers(parts, is_done=is_done)
        return is_done

    def _list_parts(self, message: StoredMessage) -> list[StoredPart]:
        parts = []
        for part_id, data, size in self.database.run("list_parts", message.id, PART_BYTES):
            self.bytes_left -= size
            value = parse_line(data.encode()) if data else None
            if value is not None:
                parts.append(StoredPart(part_id, value))
            elif self._is_new(part_id):
                self.damaged += 1
                self._add("damaged", part_id, "system_event", "system", "", {LEFT_OUT: 1})
        return parts

    def _take_prompt(self, message: StoredMessage, parts: list[StoredPart]) -> None:
        texts = [part.text for part in parts if part.is_said]
        if texts and self._is_new(message.id):
            kind = describe_prompt(is_to_agent=bool(self.agent))
            self._add("prompt", message.id, *kind, "\n\n".join(texts))
            if not self.agent:  # nobody goes back in what a subagent was told
                self.prompts.append(message.id)

    def _take_answers(self, parts: list[StoredPart], *, is_done: bool) -> None:
        """A call that has not ended when its message has was cut off: it was made all the same."""
        for part in parts:
            if not (part.is_ended or is_done) or not self._is_new(part.id):
                continue
            self.at = part.ended_at or self.at
            if part.kind == "tool":
                content, outcome = _describe_call(part)
                self._add("tool", part.id, "tool_result", "tool", content, outcome)
            elif part.is_said:
                self._add("answer", part.id, "model_message", "assistant", part.text)

    def _take_summary(self, message: StoredMessage, parts: list[StoredPart]) -> None:
        """The message before it only says that a summary is wanted, and by whom."""
        summary = "\n\n".join(part.text for part in parts if part.text)
        asked = [
            as_object(parse_line(data.encode()))
            for _, data, _ in self.database.run("list_parts", message.parent_id, PART_BYTES)
        ]
        is_auto = any(part.get("auto") for part in asked if part.get("type") == "compaction")
        if summary and self._is_new(message.id):
            parts_kept = {"compaction": "auto" if is_auto else "manual"}
            self._add("compaction", message.id, "system_event", "system", summary, parts_kept)

    def _is_new(self, native: str) -> bool:
        self.taken.append(native)
        return native not in self.seen

    # --- going back -------------------------------------------------------------------------------

    def _take_removed(self) -> None:
        """Going back hides messages; the next prompt removes them."""
        asked = json.dumps(self.prompts)
        left = {id_ for (id_,) in self.database.run("list_left", self.session_id, asked)}
        self._take_back([prompt for prompt in self.prompts if prompt not in left])

    def _take_back(self, gone: list[str]) -> None:
        if not gone:
            return
        keys = [make_key("prompt", prompt) for prompt in gone]
        self._add("rewind", gone[0], "system_event", "system", "", {"rewound": keys})
        self.prompts = [prompt for prompt in self.prompts if prompt not in gone]

    def _add(
        self,
        kind: str,
        native: str,
        event_type: str,
        role: str,
        content: str,
        parts: dict[str, Any] | None = None,
    ) -> None:
        key = make_key(kind, native)
        if key is None:
            self.damaged += 1
            return
        all_parts = make_storable_parts({**(parts or {}), **self.agent})
        kept = cut_to_fit(make_storable(content), CONTENT_BYTES)
        at = _format_time(self.at)
        self.records.append(Record(key, event_type, role, kept, all_parts or None, at))


def _describe_call(part: StoredPart) -> tuple[str, dict[str, Any]]:
    """What a tool answered, and what it was given; of a command the exit code, where it has one."""
    state = part.state
    parts = {"tool": part.value.get("tool"), "input": state.get("input")}
    error = as_text(state.get("error") or "")
    code = as_object(state.get("metadata")).get("exit")
    if error.startswith(DENIED):
        parts["denied"] = "rejected"
    elif not part.is_ended or error == STOPPED:
        parts["status"] = "stopped"
    elif error or state.get("status") == "error":
        parts["is_error"] = True
    elif isinstance(code, int) and not isinstance(code, bool):
        parts["exit_code"] = code
    return error or as_text(state.get("output") or ""), parts


def _format_time(milliseconds: int) -> str | None:
    seconds, rest = divmod(milliseconds, 1000)
    try:
        whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
    except (ValueError, OverflowError, OSError):
        return None
    return f"{whole}.{rest:03d}Z"


def _find_index(values: list[str], value: object) -> int:
    """The end where it is missing."""
    return values.index(value) if value in values else len(values)


def _list_texts(value: object) -> list[str]:
    items = value if isinstance(value, list) else []
    return [item for item in items if isinstance(item, str)]
