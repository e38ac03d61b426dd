"""The transcripts of Claude Code, checked against 2.1.325.

A line has its own id (`uuid`), the line that it follows (`parentUuid`), and, where it is of a turn,
the id of that (`promptId`), which hooks have too. A tool's call and its result are two lines. What
the person says while the model works is an attachment, told to hooks with the id of the same turn.
A subagent has a file of its own beside the session's, and another with what it is.

A fork is a copy: the same lines with the same ids in a new file of a new session. What gives it
away is that the client marks all turns that it copies with the id of the first new one. So what
comes before the last turn that has the id of the first is left out: the other session has it.

A rewind leaves no line of its own: the next prompt follows a line that is not the last one.
"""

from __future__ import annotations

import json
import os

from holdfast.clients.claude import NOTIFICATION, describe_outcome
from holdfast.clients.contract import describe_agent, make_key, name_prompt
from holdfast.clients.transcript import (
    MOST_FOUND,
    Batch,
    TranscriptFile,
    TranscriptReading,
    as_object,
    as_objects,
    is_inside,
    join_texts,
    list_changed,
    list_names,
    list_newest,
    parse_line,
    read_at,
    read_file,
    read_first_line,
    read_head,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from holdfast.clients.transcript import Cursor, TranscriptPage

HEAD_BYTES = 400  # of a line, in which its type is found
TRIGGER_CHARS = 40
MOST_CALLS = 100  # that wait for a result
MOST_PROMPTS = 100  # that a rewind can take back
FIRST_LOOK_BYTES = 1 << 14  # how far back the line is looked for that a prompt follows
REWIND_BYTES = 8 << 20  # and how far at most
PROBE_BYTES = 4 << 20  # of a file, in which its first prompt is looked for
CWD = b'"cwd":"'
FOLDER_CHARS = 200  # a longer name is cut, and a hash follows
KEPT_TYPES = (b"user", b"assistant", b"system", b"attachment")
# What the client shows to the person and hands to its model; no one has said it.
PRINTED = (
    "<local-command-caveat>",
    "<local-command-stdout>",
    "<local-command-stderr>",
    "<bash-stdout>",
    "<bash-stderr>",
    "<system-reminder>",
    "[Request interrupted by user",
)


def find_sources(native_id: str, path: str) -> list[str]:
    return [path, *list_newest(os.path.join(path.removesuffix(".jsonl"), "subagents"))]


def list_transcripts(folder: str, home: str, since: float) -> Iterable[TranscriptFile]:
    base = os.environ.get("CLAUDE_CONFIG_DIR") or os.path.join(home, ".claude")
    projects = os.path.join(base, "projects")
    name = "".join(char if char.isascii() and char.isalnum() else "-" for char in folder)
    paths = []
    for other in list_names(projects):
        if other.startswith(name[:FOLDER_CHARS]):
            paths += _list_main(os.path.join(projects, other))
    found: list[TranscriptFile] = []
    for changed_at, path in list_changed(paths, since):
        if len(found) < MOST_FOUND and _is_about(path, folder, name):
            native_id = os.path.basename(path).removesuffix(".jsonl")
            found.append(TranscriptFile(native_id, path, changed_at))
    return found


def _list_main(folder: str) -> list[str]:
    names = [name for name in list_names(folder) if name.endswith(".jsonl")]
    return [os.path.join(folder, name) for name in names if not name.startswith("agent-")]


def _is_about(path: str, folder: str, name: str) -> bool:
    """By the folder that the file names; other paths have the same name once it is simplified."""
    head = read_head(path)
    at = head.find(CWD)
    if at < 0:
        return os.path.basename(os.path.dirname(path)) == name
    text = head[at + len(CWD) - 1 :].decode("utf-8", "replace")
    try:
        cwd, _ = json.JSONDecoder().raw_decode(text)
    except ValueError:
        return False
    return is_inside(cwd, folder) or is_inside(os.path.realpath(cwd), folder)


def read(path: str, cursor: Cursor, most_bytes: int) -> Batch:
    return read_file(path, cursor, most_bytes, ClaudeReading)


class ClaudeReading(TranscriptReading):
    def __init__(self, page: TranscriptPage, path: str):
        super().__init__(page, path)
        self.calls: dict[str, int] = as_object(self.state.get("calls")).copy()
        self.prompts: list[list[Any]] = list(self.state.get("prompts", []))
        self.given: dict[str, dict[str, Any]] = {}  # the calls of this page
        self.agent_type: object = None
        if os.path.basename(os.path.dirname(path)) == "subagents":
            about = read_first_line(f"{path.removesuffix('.jsonl')}.meta.json")
            self.agent_type = about.get("agentType")
            self.state["own"] = 0

    def run(self) -> Batch:
        """What is in it; first, once, it is looked through for the end of what a fork copied."""
        if "own" in self.state:
            return super().run()
        own = self._find_own_start()
        if own is None:
            return Batch([], self.page.make_cursor(self.state), has_more=True)
        self.state = {"own": own}
        if own < self.page.start:
            return Batch([], self.page.make_cursor(self.state, own), has_more=True)
        self.page.first = max(self.page.first, own - self.page.start)
        return super().run()

    def _find_own_start(self) -> int | None:
        """Where the copied part of a fork ends; 0 without one, None where it may go on."""
        known = as_object(self.state.get("probe"))
        own: int = known.get("own", 0)
        first = known.get("first")
        for offset, line in self.page.list_lines():
            turn = self._find_turn(line)
            first = first or turn
            if turn and first and turn[0] != first[0]:
                return own
            if turn and turn != first:  # another turn with the same id
                own = offset
        may_go_on = first is not None or self.page.start < PROBE_BYTES
        if may_go_on and self.page.has_more:
            self.state["probe"] = {"first": first, "own": own}
            return None
        return own

    def _find_turn(self, line: bytes) -> list[Any] | None:
        """The id of the turn that a line begins, and its place in the conversation."""
        if b'"turnPosition"' not in line or not self.is_wanted(line):
            return None
        entry = parse_line(line) or {}
        key = make_key("turn", entry.get("promptId"))
        position = as_object(entry.get("turnPosition")).get("turnIndex")
        if key is None or entry.get("isCompactSummary") is True or not isinstance(position, int):
            return None
        return [key, position]

    def keep_state(self) -> None:
        self.state["calls"] = dict(list(self.calls.items())[-MOST_CALLS:])
        self.state["prompts"] = self.prompts[-MOST_PROMPTS:]

    def is_wanted(self, line: bytes) -> bool:
        head = line[:HEAD_BYTES]
        if head.startswith(b'{"type":"'):
            return head[9:].partition(b'"')[0] in KEPT_TYPES
        envelope = head.partition(b'"message":{')[0]
        if b'"attachment":{' in envelope:
            return b'"queued_command"' in envelope
        if b'"type":"system"' in envelope:
            return b'"compact_boundary"' in envelope
        return True

    def take(self, entry: dict[str, Any], offset: int) -> None:
        kind = entry.get("type")
        self.agent = describe_agent(entry.get("agentId"), self.agent_type)
        if entry.get("isSidechain") is True and not self.agent:
            self.agent = {"agent_id": "sidechain"}
        if kind == "user":
            self._take_user(entry, offset)
        elif kind == "assistant":
            self._take_answer(entry, offset)
        elif kind == "attachment":
            self._take_queued(entry)
        elif entry.get("subtype") == "compact_boundary":
            trigger = as_object(entry.get("compactMetadata")).get("trigger")
            self.state["compaction"] = str(trigger)[:TRIGGER_CHARS]

    # --- what was said ----------------------------------------------------------------------------

    def _take_user(self, entry: dict[str, Any], offset: int) -> None:
        content = as_object(entry.get("message")).get("content")
        if make_key("turn", entry.get("promptId")):
            self.state["turn"] = entry["promptId"]
        for block in as_objects(content):
            if block.get("type") == "tool_result":
                self._take_result(entry, block)
        text = join_texts(content)
        if not text.strip() or entry.get("isMeta") is True or text.startswith(PRINTED):
            return
        if entry.get("isCompactSummary") is True:
            trigger = self.state.pop("compaction", None)
            self.add_compaction(entry.get("uuid"), text, trigger)
            return
        self._take_prompt(entry, text, offset)

    def _take_prompt(self, entry: dict[str, Any], text: str, offset: int) -> None:
        command = _find_command(text)
        origin = _find_origin(entry, text, bool(command))
        parts = {"origin": origin} if origin else None
        name = name_prompt(entry.get("promptId"), command or text)
        key = make_key("prompt", name)
        if key is None or not _begins_turn(entry) or self.agent:
            self.add_message("record", entry.get("uuid"), "user", command or text, parts)
            return
        rewound = self._list_rewound(entry.get("parentUuid"), offset)
        self.add_rewind(entry.get("uuid"), rewound)
        self.prompts = [prompt for prompt in self.prompts if prompt[1] not in rewound]
        self.prompts.append([offset, key])
        self.add_message("prompt", name, "user", command or text, parts)

    def _take_answer(self, entry: dict[str, Any], offset: int) -> None:
        message = as_object(entry.get("message"))
        blocks = as_objects(message.get("content"))
        texts = [block for block in blocks if block.get("type") == "text"]
        text = join_texts(texts)
        parts = None
        if message.get("model") == "<synthetic>" or entry.get("isApiErrorMessage") is True:
            parts = {"origin": "client"}
        if text.strip():
            self.add_message("record", entry.get("uuid"), "assistant", text, parts)
        for block in blocks:
            call_id = block.get("id")
            if block.get("type") == "tool_use" and make_key("tool", call_id):
                self.calls[str(call_id)] = offset
                self.given[str(call_id)] = block

    def _take_queued(self, entry: dict[str, Any]) -> None:
        """What the person said while the model was at work."""
        queued = as_object(entry.get("attachment"))
        text = join_texts(queued.get("prompt"))
        if queued.get("type") != "queued_command" or not text.strip():
            return
        name = name_prompt(self.state.get("turn"), text)
        origin = _find_origin(queued, text, is_command=False)
        mode = queued.get("commandMode")
        if mode not in (None, "prompt"):
            origin = origin or str(mode)
        parts = {"origin": origin} if origin else None
        if name is None or self.agent:
            self.add_message("record", entry.get("uuid"), "user", text, parts)
        else:
            self.add_message("prompt", name, "user", text, parts)

    # --- tools ------------------------------------------------------------------------------------

    def _take_result(self, entry: dict[str, Any], block: dict[str, Any]) -> None:
        call_id = block.get("tool_use_id")
        call = self._find_call(str(call_id))
        answer: object = join_texts(block.get("content"))
        if entry.get("toolDenialKind"):
            outcome = {"denied": entry["toolDenialKind"]}
        elif block.get("is_error") is True:
            outcome = {"is_error": True}
        else:
            answer = entry.get("toolUseResult") or answer
            outcome = describe_outcome(call.get("name"), entry.get("toolUseResult"))
        self.add_tool(call_id, call.get("name"), call.get("input"), answer, outcome)

    def _find_call(self, call_id: str) -> dict[str, Any]:
        """The call of a result; one that an earlier page had is read again."""
        offset = self.calls.pop(call_id, None)
        call = self.given.pop(call_id, None)
        if call is not None:
            return call
        if not isinstance(offset, int):
            return {}
        entry = parse_line(self.page.read_line(offset)) or {}
        for block in as_objects(as_object(entry.get("message")).get("content")):
            if block.get("id") == call_id:
                return block
        return {}

    # --- what was taken back ----------------------------------------------------------------------

    def _list_rewound(self, parent: object, offset: int) -> list[str]:
        """The keys of the prompts that come after the line that this one follows."""
        if not self.prompts:
            return []
        place = self._find_line(parent, offset)
        if place is None:
            return []
        return [key for begin, key in self.prompts if begin > place]

    def _find_line(self, uuid: object, end: int) -> int | None:
        """Where the line with an id is, looked for backwards: it nearly always is the last one."""
        if uuid is None:
            return -1  # nothing: the conversation begins again
        needle = b'"uuid":"' + str(uuid).encode("utf-8", "replace") + b'"'
        stop = max(0, end - REWIND_BYTES)
        size = FIRST_LOOK_BYTES
        while end > stop:
            begin = max(stop, end - size)
            data = read_at(self.page.fd, begin, end - begin + len(needle))
            place = data.rfind(needle)
            if place >= 0:
                return begin + place
            end, size = begin, 2 * size
        return None


def _find_command(text: str) -> str:
    """What was typed, where the client has put it into tags."""
    if text.startswith("<bash-input>"):
        return "!" + _find_between(text, "<bash-input>", "</bash-input>")
    if not text.startswith("<command-"):
        return ""
    name = _find_between(text, "<command-name>", "</command-name>")
    arguments = _find_between(text, "<command-args>", "</command-args>")
    return f"{name} {arguments}".strip()


def _find_between(text: str, opening: str, closing: str) -> str:
    return text.partition(opening)[2].partition(closing)[0]


def _find_origin(entry: dict[str, Any], text: str, is_command: bool) -> str | None:
    """Who wrote a message, where it was not the person to the agent."""
    kind = as_object(entry.get("origin")).get("kind")
    if isinstance(kind, str) and kind != "human":
        return kind
    if text.startswith(f"<{NOTIFICATION}>"):
        return NOTIFICATION
    if entry.get("promptSource") == "system":
        return "system"
    if is_command and not _begins_turn(entry):
        return "command"
    return None


def _begins_turn(entry: dict[str, Any]) -> bool:
    """Whether the client has told hooks of a message; a command of the project has no source."""
    return "promptSource" in entry or "turnOrigin" in entry
