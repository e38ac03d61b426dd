"""The transcripts of Gemini CLI, checked against 0.61.0.

It is a log of changes to a list of messages. A message is written again, whole, when its tools have
ended, and only the last one ever is; so which parts of the last one were given already is all that
a reader needs to know. A change of the whole list repeats what was said before, partly under new
ids, and is read for one thing only: the summary that a compression begins with.

Prompts and answers have ids here and none in hooks.
"""

from __future__ import annotations

import os

from holdfast.clients.contract import describe_agent, make_key
from holdfast.clients.gemini import SESSION_CONTEXT, describe_outcome, find_typed, join_text
from holdfast.clients.transcript import (
    FAILED,
    INTERRUPTED,
    UNKNOWN,
    Batch,
    TranscriptFile,
    TranscriptReading,
    TurnReading,
    as_object,
    as_objects,
    is_inside,
    join_texts,
    list_changed,
    list_names,
    list_newest,
    list_strings,
    list_tail,
    parse_line,
    read_file,
    read_first_line,
    read_head,
    read_last_turn,
    read_tail,
)
from holdfast.ground import canonical
from holdfast.ground import light_json as json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from holdfast.clients.transcript import Cursor, Record

HEAD_BYTES = 300  # of a line, in which its type is found
MOST_PROMPTS = 100
MOST_GIVEN = 200
ENDED = ("success", "error", "cancelled")
ENTER_PLAN, EXIT_PLAN, PLAN_MODE = "enter_plan_mode", "exit_plan_mode", b"_plan_mode"
APPROVED = "Plan approved"
SNAPSHOT = "<state_snapshot>"
UPDATE = b'{"$set":{"lastUpdated":'
HARNESS = "System: "  # what the client tells its model in the place of a prompt
PROJECTS_BYTES = 1 << 20
CANCELLED = "Request cancelled"  # what the client shows to the person then


def find_sources(native_id: str, path: str) -> list[str]:
    """A resumed session is announced with a new file, but goes on in the old one: the largest."""
    folder = os.path.dirname(path)
    paths = [
        os.path.join(folder, name) for name in list_names(folder) if _is_named(name, native_id)
    ]
    own = [other for other in paths if read_first_line(other).get("sessionId") == native_id]
    main = max(own, key=_measure, default=path)
    below = os.path.join(folder, os.path.basename(native_id).strip(".") or "-")
    return [main, *list_newest(below)]


def _is_named(name: str, native_id: str) -> bool:
    return name.startswith("session-") and name.endswith(f"-{native_id[:8]}.jsonl")


def _measure(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0


def list_transcripts(
    folder: str, home: str, since: float, environment: Mapping[str, str] = os.environ
) -> Iterable[TranscriptFile]:
    base = environment.get("GEMINI_CLI_HOME") or home
    root = os.path.join(base, ".gemini")
    began_in = {}
    for project, cwd in _list_projects(root, folder):
        chats = os.path.join(root, "tmp", project, "chats")
        names = [name for name in list_names(chats) if name.startswith("session-")]
        paths = [os.path.join(chats, name) for name in names if name.endswith(".jsonl")]
        began_in.update(dict.fromkeys(paths, cwd))
    found: dict[str, TranscriptFile] = {}
    for changed_at, path in list_changed(began_in, since):
        native_id = read_first_line(path).get("sessionId")
        if not isinstance(native_id, str):
            continue
        known = found.get(native_id)
        if known is None:
            found[native_id] = TranscriptFile(native_id, path, changed_at, began_in[path])
        elif _measure(path) > _measure(known.path):
            known.path = path
    return list(found.values())


def identify(found: TranscriptFile, folder: str) -> bool:
    """Its project was looked up when it was found."""
    return is_inside(found.cwd, folder)


def _list_projects(root: str, folder: str) -> list[tuple[str, str]]:
    """The names that the client has given to a working tree and the folders in it, and these."""
    data = read_head(os.path.join(root, "projects.json"), PROJECTS_BYTES)
    try:
        known = as_object(as_object(json.loads(data)).get("projects"))
    except (ValueError, RecursionError):
        known = {}
    folders = {str(name): path for path, name in known.items()}
    for name in list_names(os.path.join(root, "tmp")):
        marker = read_head(os.path.join(root, "tmp", name, ".project_root"))
        if marker:
            folders[name] = marker.decode("utf-8", "replace").strip()
    return sorted(
        (name, path)
        for name, path in folders.items()
        if is_inside(path, folder) and os.path.basename(name) == name
    )


def is_planning(payload: Mapping[str, Any]) -> bool:
    """Known by the tools that enter and leave it; a client that was started in it does not say."""
    tail = read_tail(payload.get("transcript_path"))
    lines = [parse_line(line) for line in tail.split(b"\n") if PLAN_MODE in line]
    calls = [call for line in lines if line for call in as_objects(line.get("toolCalls"))]
    changes = [change for call in calls if (change := _find_mode_change(call))]
    return changes[-1:] == [ENTER_PLAN]


def _find_mode_change(call: dict[str, Any]) -> str | None:
    """The tool that entered or left plan mode: to leave it, the person must approve of a plan."""
    name = call.get("name")
    output, _ = _find_output(call)
    if name == ENTER_PLAN and call.get("status") == "success":
        return ENTER_PLAN
    if name == EXIT_PLAN and output.startswith(APPROVED):
        return EXIT_PLAN
    return None


def read(path: str, cursor: Cursor, most_bytes: int) -> Batch:
    return read_file(path, cursor, most_bytes, GeminiReading)


def read_end(path: str) -> list[Record]:
    return read_last_turn(path, GeminiTurn())


class GeminiTurn(TurnReading):
    """A call is written when it has ended, so nothing tells an answer from words before a call."""

    def take(self, entry: dict[str, Any]) -> None:
        kind = entry.get("type")
        native, at = entry.get("id"), entry.get("timestamp")
        text = join_text(entry.get("content") or "")
        if kind == "user" or entry.get("toolCalls"):
            self.begin()
        elif kind == "gemini":
            self.close(UNKNOWN, native, at)
        elif kind == "error":
            self.close(FAILED, native, at, text)
        elif kind == "info" and text.startswith(CANCELLED):
            self.close(INTERRUPTED, native, at)


def list_kept(path: str) -> list[str] | None:
    """A compression writes down the whole list of messages that is left, which begins with a
    summary, and so does a session that is resumed after one.
    """
    lists = SNAPSHOT.encode()
    entries = list_tail(path, lambda line: lists in line or not line.startswith(b'{"$set":'))
    places = [n for n, entry in enumerate(entries) if _is_list(entry)]
    return list_strings(entries[places[-1] :]) if places else None


def _is_list(entry: dict[str, Any]) -> bool:
    return "messages" in as_object(entry.get("$set"))


class GeminiReading(TranscriptReading):
    START = b'{"id":'

    def is_wanted(self, line: bytes) -> bool:
        if line.startswith(b'{"$set":'):
            return SNAPSHOT.encode() in line
        envelope, _, content = line[:HEAD_BYTES].partition(b'"content":')
        return b'"type":"info"' not in envelope and not content.startswith(b'[{"functionResponse"')

    def is_joined(self, line: bytes) -> bool:
        """By what stands before its beginning: other lines have messages inside of them."""
        if line.startswith(UPDATE):
            return line.count(b'{"') > UPDATE.count(b'{"')
        at = line.find(self.START, 1)
        while at > 0 and line[at - 1 : at] in b"[,:":
            at = line.find(self.START, at + 1)
        return at > 0

    def take(self, entry: dict[str, Any], offset: int) -> None:
        if entry.get("kind") == "subagent" and "sessionId" in entry:
            self.state["agent"] = describe_agent(entry["sessionId"], "subagent")
        self.agent = as_object(self.state.get("agent"))
        if "$rewindTo" in entry:
            self._take_rewind(entry["$rewindTo"])
        elif "$set" in entry:
            self._take_list(as_object(entry["$set"]).get("messages"))
        elif entry.get("type") == "user":
            self._take_prompt(entry)
        elif entry.get("type") == "gemini":
            self._take_answer(entry)

    def _take_list(self, messages: object) -> None:
        for message in as_objects(messages):
            text = find_typed(message.get("content") or "")
            if message.get("type") == "user" and text.startswith(SNAPSHOT):
                self._take_snapshot(message.get("id"), text)

    def _take_snapshot(self, message_id: object, text: str) -> None:
        """Once: with each resume the list is written again as it was."""
        mark = _mark_text(text)
        if mark != self.state.get("snapshot"):
            self.state["snapshot"] = mark
            self.add_compaction(message_id, text, None)

    def _take_prompt(self, message: dict[str, Any]) -> None:
        text = find_typed(message.get("content") or "")
        if not text.strip():
            return
        said = _mark_text(text)
        if _has_session_context(message) and said == self.state.get("said"):
            return  # written again after it was cancelled
        parts = {"origin": "system"} if text.startswith(HARNESS) else None
        key = self._add_once("prompt", message.get("id"), "user", text, parts)
        if key and parts is None:
            prompts = [*self.state.get("prompts", []), key]
            self.state["prompts"] = prompts[-MOST_PROMPTS:]
            self.state["said"] = said

    def _take_answer(self, message: dict[str, Any]) -> None:
        text = join_texts(message.get("content"))
        self._begin(message.get("id"))
        if text.strip():
            self._add_once("answer", message.get("id"), "assistant", text, None)
        for call in as_objects(message.get("toolCalls")):
            self._take_tool(call)

    def _take_tool(self, call: dict[str, Any]) -> None:
        key = make_key("tool", call.get("id"))
        status = call.get("status")
        if status not in ENDED or key in self._list_given():
            return
        self.at = call.get("timestamp") or self.at
        output, is_error = _find_output(call)
        if status == "cancelled":
            outcome = {"denied": status}
        elif status == "error" or is_error:
            outcome = {"is_error": True}
        else:
            outcome = describe_outcome(call.get("name"), output)
        self.add_tool(call.get("id"), call.get("name"), call.get("args"), output, outcome)
        self._note_given(key)

    def _add_once(
        self, kind: str, native: object, role: str, text: str, parts: dict[str, Any] | None
    ) -> str | None:
        """A record, unless this message was written before and gave it then."""
        self._begin(native)
        if make_key(kind, native) in self._list_given():
            return None
        key = self.add_message(kind, native, role, text, parts)
        self._note_given(key)
        return key

    def _begin(self, message_id: object) -> None:
        message = make_key("message", message_id)
        if message != self.state.get("message"):
            self.state["message"] = message
            self.state["given"] = []

    def _list_given(self) -> list[str | None]:
        return self.state.get("given") or []

    def _note_given(self, key: str | None) -> None:
        given = [*self._list_given(), key]
        self.state["given"] = given[-MOST_GIVEN:]

    def _take_rewind(self, message_id: object) -> None:
        """That message and all that came after it are taken back."""
        key = make_key("prompt", message_id)
        prompts = list(self.state.get("prompts", []))
        if key not in prompts:
            return
        place = prompts.index(key)
        self.add_rewind(message_id, prompts[place:])
        self.state["prompts"] = prompts[:place]


def _mark_text(text: str) -> str:
    return canonical.sha256(text.encode("utf-8", "replace")).hex()[:16]


def _find_output(call: dict[str, Any]) -> tuple[str, bool]:
    """What the model was handed for a call, and whether it is an error."""
    for part in as_objects(call.get("result")):
        response = as_object(as_object(part.get("functionResponse")).get("response"))
        if "error" in response:
            return join_text(response["error"]), True
        if "output" in response:
            return join_text(response["output"]), False
    return "", False


def _has_session_context(message: dict[str, Any]) -> bool:
    texts = [part.get("text") for part in as_objects(message.get("content"))]
    return any(str(text).startswith(SESSION_CONTEXT) for text in texts)
