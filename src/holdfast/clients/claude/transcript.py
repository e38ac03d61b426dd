"""The transcripts of Claude Code, checked against 2.1.325.

A line has its own id (`uuid`), the line that it follows (`parentUuid`), and, where it is of a turn,
the id of that (`promptId`), which hooks have too. A tool's call and its result are two lines. What
the person says while the model works is an attachment, told to hooks with the id of the same turn.
A subagent has a file of its own beside the session's, and another with what it is.

A fork is a copy: the same lines with the same ids in a new file of a new session. What gives it
away is that the client marks all turns that it copies with the id of the first new one. So what
comes before the last turn that has the id of the first is left out: the other session has it. That
one is found by the last copied turn, which keeps its own id there.

A rewind leaves no line of its own: the next prompt follows a line that is not the last one. So does
one of a second program that was started with the same session. Those go on side by side: once a
turn goes on that seemed to be taken back, nothing was, and no rewind is seen in that file again.
"""

from __future__ import annotations

import os

from holdfast.clients.claude import NOTIFICATION, describe_outcome, name_project
from holdfast.clients.contract import RESTORED, describe_agent, make_key
from holdfast.clients.transcript import (
    CUT_OFF,
    INTERRUPTED,
    UNKNOWN,
    Batch,
    TranscriptFile,
    TranscriptReading,
    TurnReading,
    as_object,
    as_objects,
    find_last_value,
    is_inside,
    join_texts,
    list_changed,
    list_entries,
    list_names,
    list_newest,
    list_strings,
    list_tail,
    parse_line,
    read_at,
    read_file,
    read_first_line,
    read_head,
    read_last_turn,
    read_tail,
)
from holdfast.ground import light_json as json
from holdfast.ground.patterns import compile_later

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from holdfast.clients.transcript import Cursor, Record, TranscriptPage

HEAD_BYTES = 400  # of a line, in which its type is found
TRIGGER_CHARS = 40
BOUNDARY = "compact_boundary"
MOST_CALLS = 100  # that wait for a result
MOST_PROMPTS = 100  # that a rewind can take back
MOST_STEPS = 50  # from a line up to one that has the id of its turn
FIRST_LOOK_BYTES = 1 << 14  # how far back the line is looked for that a prompt follows
REWIND_BYTES = 8 << 20  # and how far at most
PROBE_BYTES = 4 << 20  # of a file, in which its first prompt is looked for, and its folder
MOST_ORIGINS = 50  # files in which the original of a fork is looked for
ORIGIN_BYTES = 32 << 20  # of another file, in which the last turn that a fork copied is looked for
CWD, BRANCH = b'"cwd":"', b'"gitBranch":"'
DETACHED = "HEAD"  # in the place of a branch
MODE = b'"permissionMode":"'
TURN = b'"turnPosition"'  # in a line that begins a turn
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
    "<user-prompt-submit-hook>",
    "<ide_",
    "[Request interrupted by user",
)
STOPPED_BY_USER = PRINTED[-1]
TEAMMATE = "<teammate-message"  # another agent says it
REMINDER, REMINDER_END = "<system-reminder>", "</system-reminder>"
NOT_YET_STOPPED = {"tool_use": CUT_OFF, None: UNKNOWN}  # why a model stopped speaking

# What an editor or a hook puts before the words of the person.
_ADDED = compile_later(
    r"(?s)<(ide_[a-z_]{1,40}|system-reminder|user-prompt-submit-hook)>.*?</\1>\s*"
)


def find_sources(native_id: str, path: str) -> list[str]:
    return [path, *list_newest(os.path.join(path.removesuffix(".jsonl"), "subagents"))]


def list_transcripts(
    folder: str, home: str, since: float, environment: Mapping[str, str] = os.environ
) -> Iterable[TranscriptFile]:
    base = environment.get("CLAUDE_CONFIG_DIR") or os.path.join(home, ".claude")
    projects = os.path.join(base, "projects")
    name = name_project(folder)
    paths = []
    for other in list_names(projects):
        if other.startswith(name[:FOLDER_CHARS]):
            paths += _list_main(os.path.join(projects, other))
    return [
        TranscriptFile(os.path.basename(path).removesuffix(".jsonl"), path, changed_at)
        for changed_at, path in list_changed(paths, since)
    ]


def identify(found: TranscriptFile, folder: str) -> bool:
    """By the folder that the file names; other paths have the same name once it is simplified.

    A long first request comes before that, and a file without it has nothing that was said.
    """
    head = read_head(found.path)
    if CWD not in head:
        head = read_head(found.path, PROBE_BYTES)
    _, _, rest = head.partition(CWD)
    cwd = _read_text(rest)
    if cwd is None or not (is_inside(cwd, folder) or is_inside(os.path.realpath(cwd), folder)):
        return False
    found.cwd = cwd
    _, _, named = rest.partition(b"\n")[0].partition(BRANCH)
    branch = _read_text(named)
    found.git_branch = None if branch == DETACHED else branch
    return True


def _list_main(folder: str) -> list[str]:
    names = [name for name in list_names(folder) if name.endswith(".jsonl")]
    return [os.path.join(folder, name) for name in names if not name.startswith("agent-")]


def _read_text(data: bytes) -> str | None:
    """The rest of a JSON text, up to its quotation mark."""
    text = '"' + data.decode("utf-8", "replace")
    try:
        value, _ = json.JSONDecoder().raw_decode(text)
    except ValueError:
        return None
    return str(value) or None


def is_planning(payload: Mapping[str, Any]) -> bool:
    """A hook at a start is not told; the transcript has it with each prompt and each change."""
    mode = payload.get("permission_mode")
    if mode is None:
        tail = read_tail(payload.get("transcript_path"))
        mode = find_last_value(tail, MODE).decode("utf-8", "replace")
    return bool(mode == "plan")


def read(path: str, cursor: Cursor, most_bytes: int) -> Batch:
    return read_file(path, cursor, most_bytes, ClaudeReading)


def read_end(path: str) -> list[Record]:
    return read_last_turn(path, ClaudeTurn())


class ClaudeTurn(TurnReading):
    def take(self, entry: dict[str, Any]) -> None:
        message = as_object(entry.get("message"))
        if entry.get("isSidechain") is True or entry.get("isMeta") is True:
            return
        if entry.get("type") == "user":
            self._take_user(entry, message.get("content"))
        elif entry.get("type") == "assistant":
            self._take_answer(entry, message)

    def _take_user(self, entry: dict[str, Any], content: object) -> None:
        self.end = None
        for block in as_objects(content):
            self.calls.pop(str(block.get("tool_use_id")), None)
        text = join_texts(content)
        if text.startswith(STOPPED_BY_USER):
            self.begin()
            self.close(INTERRUPTED, entry.get("uuid"), entry.get("timestamp"))
        elif _begins_turn(entry):
            self.begin()

    def _take_answer(self, entry: dict[str, Any], message: dict[str, Any]) -> None:
        reason = message.get("stop_reason")
        if reason not in NOT_YET_STOPPED:
            self.begin()
            return
        at = entry.get("timestamp")
        for block in as_objects(message.get("content")):
            if block.get("type") == "tool_use":
                self.add_call(block.get("id"), block.get("name"), block.get("input"), at)
            else:
                self.close(NOT_YET_STOPPED[reason], entry.get("uuid"), at)


def list_kept(path: str) -> list[str] | None:
    """What a compaction keeps is written down behind the hook that tells of it. Until then it is
    everything from the model's last message on, unless that is its only one, as in every one that
    was recorded.
    """
    entries = list_tail(path, is_conversation)
    places = [n for n, entry in enumerate(entries) if entry.get("subtype") == BOUNDARY]
    boundary = places[-1] if places else -1
    since = entries[boundary + 1 :]
    if boundary >= 0 and not _find_answers(since):
        metadata = as_object(entries[boundary].get("compactMetadata"))
        uuids = list_strings(as_object(metadata.get("preservedMessages")).get("uuids"))
        kept = [entry for entry in entries if entry.get("uuid") in uuids]
        return list_strings([_get_said(entry) for entry in (*kept, *since)])
    answers = _find_answers(entries)
    last = [entry for entry in answers if _get_message_id(entry) == _get_message_id(answers[-1])]
    if last == answers:
        return []
    begin = entries.index(last[0])
    return list_strings([_get_said(entry) for entry in entries[begin:]])


def _find_answers(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [entry for entry in entries if entry.get("type") == "assistant"]


def _get_message_id(entry: dict[str, Any]) -> object:
    """Each thing that a model says or calls in one message is a line of its own."""
    return as_object(entry.get("message")).get("id") or entry.get("uuid")


def _get_said(entry: dict[str, Any]) -> object:
    said = as_object(entry.get("message")).get("content")
    return said or as_object(entry.get("attachment")).get("prompt")


def is_conversation(line: bytes) -> bool:
    """By its first bytes, whether a line is of what was said and done."""
    head = line[:HEAD_BYTES]
    if head.startswith(b'{"type":"'):
        return head[9:].partition(b'"')[0] in KEPT_TYPES
    envelope = head.partition(b'"message":{')[0]
    if b'"attachment":{' in envelope:
        return b'"queued_command"' in envelope
    if b'"type":"system"' in envelope:
        return b'"compact_boundary"' in envelope
    return True


class ClaudeReading(TranscriptReading):
    START = b'{"parentUuid":'

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
            return Batch([], self.page.make_cursor(self.state), has_more=self.page.has_more)
        origin = self._find_origin(own) if own else None
        self.state = {"own": own, "forked_from": origin} if origin else {"own": own}
        if own < self.page.start:
            return Batch([], self.page.make_cursor(self.state, own), has_more=True)
        self.page.first = max(self.page.first, own - self.page.start)
        return super().run()

    def _find_own_start(self) -> int | None:
        """Where the copied part of a fork ends; 0 without one, None where it may go on.

        Nothing is known as long as no message is written: a fork begins with other lines.
        """
        known = as_object(self.state.get("probe"))
        own: int = known.get("own", 0)
        first = known.get("first")
        has_begun = bool(known.get("has_begun"))
        for offset, line in self.page.list_lines():
            has_begun = has_begun or self.is_wanted(line)
            turn = self._find_turn(line)
            first = first or turn
            if turn and first and turn[0] != first[0]:
                return own
            if turn and turn != first:  # another turn with the same id
                own = offset
        may_go_on = first is not None or self.page.start < PROBE_BYTES
        if not has_begun or (may_go_on and self.page.has_more):
            self.state["probe"] = {"first": first, "own": own, "has_begun": has_begun}
            return None
        return own

    def _find_origin(self, own: int) -> str | None:
        """The session that a fork is a copy of: there, its last copied turn is no copy."""
        begin = max(0, own - REWIND_BYTES)
        copied = read_at(self.page.fd, begin, own - begin).splitlines()
        turns = (line for line in reversed(copied) if self._find_turn(line))
        last = parse_line(next(turns, b"")) or {}
        others = [path for path in _list_main(os.path.dirname(self.path)) if path != self.path]
        for _, path in list_changed(others, 0.0)[:MOST_ORIGINS]:
            if _is_own_turn(path, _make_needle(last.get("uuid"))):
                return os.path.basename(path).removesuffix(".jsonl")
        return None

    def _find_turn(self, line: bytes) -> list[Any] | None:
        """The id of the turn that a line begins, and its place in the conversation."""
        if TURN not in line or not self.is_wanted(line):
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
        return is_conversation(line)

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
        elif entry.get("subtype") == BOUNDARY:
            trigger = as_object(entry.get("compactMetadata")).get("trigger")
            self.state["compaction"] = str(trigger)[:TRIGGER_CHARS]

    # --- what was said ----------------------------------------------------------------------------

    def _take_user(self, entry: dict[str, Any], offset: int) -> None:
        content = as_object(entry.get("message")).get("content")
        if make_key("turn", entry.get("promptId")):
            self.state["turn"] = entry["promptId"]
            self._restore(entry["promptId"], entry.get("uuid"))
        for block in as_objects(content):
            if block.get("type") == "tool_result":
                self._take_result(entry, block)
        text = _find_own_words(join_texts(content))
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
        name = None
        if _begins_turn(entry) and not self.agent:
            name = self.name_said(entry.get("promptId"), command or text, entry.get("uuid"))
        key = make_key("prompt", name)
        if key is None:
            self.add_message("record", entry.get("uuid"), "user", command or text, parts)
            return
        rewound = self._list_rewound(entry, offset)
        self.add_rewind(entry.get("uuid"), rewound)
        self.state["gone"] = [*self.state.get("gone", []), *rewound][-MOST_PROMPTS:]
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
        text = _find_own_words(join_texts(queued.get("prompt")))
        if queued.get("type") != "queued_command" or not text.strip():
            return
        name = None
        if not self.agent:
            name = self.name_said(self.state.get("turn"), text, entry.get("uuid"))
        origin = _find_origin(queued, text, is_command=False)
        mode = queued.get("commandMode")
        if mode not in (None, "prompt"):
            origin = origin or str(mode)
        parts = {"origin": origin} if origin else None
        if name is None:
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
        entries = list_entries(self.page.read_line(offset))
        for entry in entries[:1]:
            for block in as_objects(as_object(entry.get("message")).get("content")):
                if block.get("id") == call_id:
                    return block
        return {}

    # --- what was taken back ----------------------------------------------------------------------

    def _list_rewound(self, entry: dict[str, Any], offset: int) -> list[str]:
        """The keys of the prompts that come after the line that this one follows."""
        parent = entry.get("parentUuid")
        if self.state.get("gone"):
            self._restore(self._find_turn_of(parent, offset), entry.get("uuid"))
        if not self.prompts or self.state.get("is_shared"):
            return []
        place = self._find_line(parent, offset)
        if place is None:
            return []
        return [key for begin, key in self.prompts if begin > place]

    def _restore(self, turn_id: object, native: object) -> None:
        """Where a turn goes on that seemed to be taken back: two programs write this file."""
        gone = self.state.get("gone", [])
        if any(key.startswith(f"prompt:{turn_id}:") for key in gone):
            self.add("restore", native, "system_event", "system", "", {RESTORED: gone})
            self.state["gone"] = []
            self.state["is_shared"] = True

    def _find_turn_of(self, uuid: object, end: int) -> object:
        """The id of the turn that a line belongs to."""
        for _ in range(MOST_STEPS):
            place = self._find_line(uuid, end)
            if place is None or place < 0:
                return None
            entry = parse_line(self.page.read_line(self._find_begin(place))) or {}
            if entry.get("promptId") or entry.get("uuid") != uuid:
                return entry.get("promptId")
            uuid, end = entry.get("parentUuid"), place
        return None

    def _find_begin(self, place: int) -> int:
        """Where the line begins that something stands in."""
        begin = max(0, place - REWIND_BYTES)
        return begin + read_at(self.page.fd, begin, place - begin).rfind(b"\n") + 1

    def _find_line(self, uuid: object, end: int) -> int | None:
        """Where the line with an id is, looked for backwards: it nearly always is the last one."""
        if uuid is None:
            return -1  # nothing: the conversation begins again
        needle = _make_needle(uuid)
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


def _make_needle(uuid: object) -> bytes:
    """What the line with an id has, and no other."""
    return b'"uuid":"' + str(uuid).encode("utf-8", "replace") + b'"'


def _is_own_turn(path: str, needle: bytes) -> bool:
    """Whether a file has that turn, and no turn with the same id comes after it."""
    before, found, rest = read_head(path, ORIGIN_BYTES).partition(needle)
    if not found:
        return False
    end, *later = rest.split(b"\n")
    entry = parse_line(before.rpartition(b"\n")[2] + found + end) or {}
    same = f'"promptId":"{entry.get("promptId")}"'.encode("utf-8", "replace")
    return not any(TURN in line and same in line for line in later)


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


def _find_own_words(text: str) -> str:
    """Without what an editor or a hook has put beside the words of the person, which hooks are
    given alone; all of it where there are no others.
    """
    own = text.strip()
    while own.startswith("<") and (added := _ADDED.match(own)):
        own = own[added.end() :]
    while own.endswith(REMINDER_END) and REMINDER in own:
        own = own[: own.rindex(REMINDER)].rstrip()
    return text if len(own) in (0, len(text.strip())) else own


def _find_origin(entry: dict[str, Any], text: str, is_command: bool) -> str | None:
    """Who wrote a message, where it was not the person to the agent."""
    kind = as_object(entry.get("origin")).get("kind")
    if isinstance(kind, str) and kind != "human":
        return kind
    if text.startswith(f"<{NOTIFICATION}>"):
        return NOTIFICATION
    if entry.get("promptSource") == "system":
        return "system"
    if text.startswith(TEAMMATE):
        return "teammate"
    if is_command and not _begins_turn(entry):
        return "command"
    return None


def _begins_turn(entry: dict[str, Any]) -> bool:
    """Whether the client has told hooks of a message; a command of the project has no source."""
    return "promptSource" in entry or "turnOrigin" in entry
