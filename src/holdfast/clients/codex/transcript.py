"""The transcripts of Codex ("rollouts"), checked against 0.166.0.

What has happened is told twice: as items of the model's conversation, and as items of the turn that
were completed. Only the second have exit codes, and only they name what a script of the model ran
inside, so the first are not read, but for the agent's own plan, which is no item. An item's id is
the one that hooks have for a tool; of a prompt they have the id of its turn, in which more may be
said later.

The first line says whose a file is: a subagent has one of its own, in which the parent's messages
may be repeated. A fork's file has what is new only. A rewind begins another file of the same
session, whose first line has the number of the first line of the other that was taken back.
"""

from __future__ import annotations

import os

from holdfast.clients.codex import PATCH, PATCH_TOOL, find_own_words
from holdfast.clients.contract import as_text, describe_agent
from holdfast.clients.transcript import (
    CUT_OFF,
    FAILED,
    INTERRUPTED,
    MOST_LOOKED_AT,
    MOST_SUBAGENTS,
    Batch,
    TranscriptFile,
    TranscriptReading,
    TurnReading,
    as_object,
    find_last_value,
    is_inside,
    join_texts,
    list_changed,
    list_entries,
    list_names,
    list_strings,
    list_tail,
    parse_line,
    read_file,
    read_first_line,
    read_head,
    read_last_turn,
    read_tail,
)
from holdfast.ground import light_json as json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from holdfast.clients.transcript import Cursor, Record

HEAD_BYTES = 250  # of a line, in which its type is found
OWNER_BYTES = 4096  # of a file, in which its session and its folder are named
CWD = b'"cwd":"'
ID_CHARS = 36
FIRST_LINE_BYTES = 1 << 20  # it has the model's instructions
KEPT_TYPES = (b"session_meta", b"compacted", b"")  # or none is found
HISTORY = "replacement_history"  # beside it stand messages that the model does not get
COMPACTED, RESPONSE = b'"type":"compacted"', b'"type":"response_item"'
ITEM_BYTES = 400  # of a line, in which the type of its item is found
PAGE_BYTES, REWIND_PAGES = 4 << 20, 32  # how much of an earlier file a rewind is looked up in
MOST_PROMPTS = 100
SHELL_TOOL = "Bash"  # the name that its hooks give it
DAY_SECONDS = 86_400
PLAN_TOOL, PLAN_CALL = "update_plan", b'"name":"update_plan"'
PLAN_UPDATED = "Plan updated"  # what it answers; in plan mode it refuses
MOST_CALLS = 20  # of it, that wait for a result
MODES = (b'"collaboration_mode":{"mode":"', b'"collaboration_mode_kind":"')
HARNESS_TAGS = (
    "environment_context",
    "user_instructions",
    "skill",
    "subagent_notification",
    "turn_aborted",
)


def find_sources(native_id: str, path: str) -> list[str]:
    """Its own files, of which a rewind begins another, and then those of its subagents.

    A hook of a subagent names the file of that one, with the id of the session.
    """
    rollouts = _list_since(native_id, path)
    own = [other for other in rollouts if native_id in os.path.basename(other)]
    if path in own or not own:
        own = [path, *(other for other in own if other != path)]
    rest = [other for other in rollouts if other not in own]
    children = [other for other in rest[-MOST_LOOKED_AT:] if _is_child(other, native_id)]
    return [*own, *children[-MOST_SUBAGENTS:]]


def _list_since(native_id: str, path: str) -> list[str]:
    """The files of all threads that are not older than this one, in the order of their names."""
    day = os.path.dirname(path)
    sessions = os.path.dirname(os.path.dirname(os.path.dirname(day)))
    try:  # the id of a thread begins with the milliseconds of its first moment
        began_at = int(native_id.replace("-", "")[:12], 16) / 1000
        since = _format_day(began_at - DAY_SECONDS)
    except (ValueError, OverflowError, OSError):
        since = "/".join(day.split("/")[-3:])
    rollouts = [other for folder in _list_days(sessions, since) for other in _list_rollouts(folder)]
    own = [other for other in rollouts if native_id in os.path.basename(other)]
    first = os.path.basename(own[0]) if own else os.path.basename(path)
    return [other for other in rollouts if os.path.basename(other) >= first]


def _format_day(seconds: float) -> str:
    """A folder is named by the local date, so callers go back a day."""
    import time

    return time.strftime("%Y/%m/%d", time.gmtime(max(0.0, seconds)))


def _list_days(sessions: str, since: str) -> list[str]:
    """The folders of each day from this one on, as `2026/11/15`, oldest first."""
    days = [""]
    for _ in range(3):
        days = [os.path.join(day, name) for day in days for name in _list_numbers(sessions, day)]
    return [os.path.join(sessions, day) for day in days if day >= since]


def _list_numbers(sessions: str, below: str) -> list[str]:
    return [name for name in list_names(os.path.join(sessions, below)) if name.isdecimal()]


def _list_rollouts(folder: str) -> list[str]:
    names = [name for name in list_names(folder) if name.startswith("rollout-")]
    return [os.path.join(folder, name) for name in names if name.endswith(".jsonl")]


def _is_child(path: str, native_id: str) -> bool:
    head = read_head(path, OWNER_BYTES)
    session = f'"session_id":"{native_id}"'.encode("utf-8", "replace")
    return session in head and b'"parent_thread_id":"' in head


def list_transcripts(
    folder: str, home: str, since: float, environment: Mapping[str, str] = os.environ
) -> Iterable[TranscriptFile]:
    base = environment.get("CODEX_HOME") or os.path.join(home, ".codex")
    days = _list_days(os.path.join(base, "sessions"), _format_day(since - DAY_SECONDS))
    paths = [path for day in days for path in _list_rollouts(day)]
    found: dict[str, TranscriptFile] = {}
    for changed_at, path in list_changed(paths, since):
        native_id = _read_name(path)
        found.setdefault(native_id, TranscriptFile(native_id, path, changed_at))
    return list(found.values())


def _read_name(path: str) -> str:
    """The id of the thread: `rollout-`, a time, the id, and after a rewind another one."""
    name = os.path.basename(path).removesuffix(".jsonl").partition("_")[0]
    return name[-ID_CHARS:]


def identify(found: TranscriptFile, folder: str) -> bool:
    if not _may_be_about(found.path, folder):
        return False
    owner = as_object(read_first_line(found.path, FIRST_LINE_BYTES).get("payload"))
    native_id, cwd = owner.get("id"), owner.get("cwd")
    if owner.get("parent_thread_id") or not isinstance(native_id, str):
        return False
    if not is_inside(cwd, folder):
        return False
    branch = as_object(owner.get("git")).get("branch")
    found.native_id, found.cwd = native_id, str(cwd)
    found.git_branch = branch if isinstance(branch, str) else None
    return True


def is_planning(payload: Mapping[str, Any]) -> bool:
    """No payload says so; the transcript does with each turn, and before the hooks of that turn."""
    tail = read_tail(payload.get("transcript_path"))
    return find_last_value(tail, *MODES) == b"plan"


def _may_be_about(path: str, folder: str) -> bool:
    """By the first bytes of a first line, which is long: every start of any client asks."""
    head = read_head(path, OWNER_BYTES)
    named = json.dumps(folder, ensure_ascii=False).strip('"').encode("utf-8", "replace")
    return named in head or CWD not in head


def read(path: str, cursor: Cursor, most_bytes: int) -> Batch:
    return read_file(path, cursor, most_bytes, CodexReading)


def read_end(path: str) -> list[Record]:
    return read_last_turn(path, CodexTurn())


class CodexTurn(TurnReading):
    def take(self, entry: dict[str, Any]) -> None:
        payload = as_object(entry.get("payload"))
        if entry.get("type") == "response_item":
            self._take_call(payload, entry.get("timestamp"))
        elif entry.get("type") == "event_msg":
            self._take_event(payload, entry.get("timestamp"))

    def _take_call(self, payload: dict[str, Any], at: object) -> None:
        kind = str(payload.get("type"))
        call_id = payload.get("call_id")
        if kind.endswith("_call_output"):
            self.calls.pop(str(call_id), None)
        elif kind == "function_call":
            given = _parse_arguments(payload.get("arguments"))
            if "cmd" in given:
                self.add_call(call_id, SHELL_TOOL, {"command": given["cmd"]}, at)
            else:
                self.add_call(call_id, payload.get("name"), given, at)
        elif kind == "custom_tool_call":
            name = payload.get("name")
            field = PATCH if name == PATCH_TOOL else "input"
            self.add_call(call_id, name, {field: payload.get("input")}, at)

    def _take_event(self, payload: dict[str, Any], at: object) -> None:
        kind = payload.get("type")
        turn_id = payload.get("turn_id")
        item = as_object(payload.get("item"))
        if kind in ("task_started", "task_complete", "turn_aborted"):
            self.begin()
        if kind == "turn_aborted":
            self.close(INTERRUPTED, turn_id, at)
        elif kind == "task_complete" and payload.get("error"):
            self.close(FAILED, turn_id, at, _find_message(payload["error"]))
        elif kind == "item_completed" and item.get("type") == "AgentMessage":
            self.close(CUT_OFF, item.get("id"), at)
        elif kind == "item_completed":
            self.end = None
            self.calls.pop(str(item.get("id")), None)


def _find_message(error: object) -> str:
    """Of an error, which may hold the answer of a server as it is."""
    text = as_text(as_object(error).get("message") or error)
    answer = parse_line(text.encode("utf-8", "replace")) or {}
    return as_text(as_object(answer.get("error")).get("message") or text)


def _parse_arguments(text: object) -> dict[str, Any]:
    if not isinstance(text, str):
        return {}
    return parse_line(text.encode("utf-8", "replace")) or {"arguments": text}


def list_kept(path: str) -> list[str] | None:
    """A compaction writes down the whole history that takes the place of the old one."""
    entries = list_tail(path, lambda line: COMPACTED in line or RESPONSE in line)
    payloads = [as_object(entry.get("payload")) for entry in entries]
    places = [n for n, each in enumerate(payloads) if HISTORY in each]
    if not places:
        return None
    compacted, *since = payloads[places[-1] :]
    return list_strings([compacted[HISTORY], *since])


class CodexReading(TranscriptReading):
    START = b'{"timestamp":'
    ordinal: object = None  # of the line that is being read

    def is_wanted(self, line: bytes) -> bool:
        envelope = line[:HEAD_BYTES]
        kind = envelope.partition(b'"type":"')[2].partition(b'"')[0]
        if kind == b"event_msg":
            return b'"item_completed"' in envelope
        if kind == b"response_item":
            return self._is_about_plan(line[:ITEM_BYTES])
        return kind in KEPT_TYPES

    def _is_about_plan(self, begin: bytes) -> bool:
        calls = as_object(self.state.get("calls"))
        is_answer = any(call_id.encode("utf-8", "replace") in begin for call_id in calls)
        return PLAN_CALL in begin or is_answer

    def take(self, entry: dict[str, Any], offset: int) -> None:
        kind = entry.get("type")
        payload = as_object(entry.get("payload"))
        self.ordinal = entry.get("ordinal")
        if offset == 0 and kind == "session_meta":
            self._take_owner(payload)
        self.agent = as_object(self.state.get("agent"))
        if isinstance(self.ordinal, int) and self.ordinal < self.state.get("first", 0):
            return
        if kind == "compacted":
            moment = entry.get("timestamp") if self.ordinal is None else self.ordinal
            self.add_compaction(str(moment), as_text(payload.get("message") or ""), None)
        elif payload.get("type") == "item_completed":
            self._take_item(as_object(payload.get("item")), payload.get("turn_id"))
        elif payload.get("type") == "function_call":
            calls = {**as_object(self.state.get("calls")), str(payload.get("call_id")): offset}
            self.state["calls"] = dict(list(calls.items())[-MOST_CALLS:])
        elif payload.get("type") == "function_call_output":
            self._take_plan(payload)

    def _take_plan(self, payload: dict[str, Any]) -> None:
        """The result of a call that was read before, in this page or an earlier one."""
        calls = as_object(self.state.get("calls")).copy()
        offset = calls.pop(str(payload.get("call_id")), None)
        self.state["calls"] = calls
        if not isinstance(offset, int):
            return
        entries = list_entries(self.page.read_line(offset)) or [{}]
        call = as_object(entries[0].get("payload"))
        answer = as_text(payload.get("output") or "")
        outcome = {} if answer.startswith(PLAN_UPDATED) else {"is_error": True}
        given = _parse_arguments(call.get("arguments"))
        self.add_tool(payload.get("call_id"), PLAN_TOOL, given, answer, outcome)

    def _take_owner(self, payload: dict[str, Any]) -> None:
        if not payload.get("parent_thread_id"):
            self._take_rewind(str(payload.get("id")))
            self._take_fork(payload.get("forked_from_id"))
            return
        name = payload.get("agent_role") or payload.get("agent_nickname")
        self.state["agent"] = describe_agent(payload.get("id"), name)
        first = payload.get("subagent_history_start_ordinal")
        if isinstance(first, int):
            self.state["first"] = first

    def _take_rewind(self, native_id: str) -> None:
        """A file that goes on where another one of the same thread was left, before its end."""
        name = os.path.basename(self.path)
        _, separator, own_id = name.removesuffix(".jsonl").partition(f"{native_id}_")
        if not separator or not isinstance(self.ordinal, int):
            return
        rewound: list[str] = []
        for path in _list_since(native_id, self.path):
            if native_id in os.path.basename(path) and os.path.basename(path) < name:
                prompts = _list_prompts(path)
                rewound += [key for ordinal, key in prompts if ordinal >= self.ordinal]
        self.add_rewind(own_id, list(dict.fromkeys(rewound)))

    def _take_fork(self, native_id: object) -> None:
        if isinstance(native_id, str):
            self.state["forked_from"] = native_id

    def _take_item(self, item: dict[str, Any], turn_id: object) -> None:
        kind = item.get("type")
        if kind == "UserMessage":
            self._take_prompt(item, turn_id)
        elif kind == "AgentMessage":
            text = join_texts(item.get("content"))
            if text.strip():
                self.add_message("item", item.get("id"), "assistant", text)
        elif kind == "CommandExecution":
            self._take_command(item)
        elif kind == "FileChange":
            self._take_change(item)
        elif kind == "McpToolCall":
            self._take_mcp(item)
        elif kind == "CollabAgentToolCall":
            given = {"prompt": item.get("prompt")}
            answer = {"agents": item.get("receiver_agents")}
            self.add_tool(item.get("id"), item.get("tool"), given, answer, _describe(item))

    def _take_prompt(self, item: dict[str, Any], turn_id: object) -> None:
        text = find_own_words(join_texts(item.get("content")))
        if not text.strip():
            return
        origin = _find_origin(text)
        parts = {"origin": origin} if origin else None
        name = self.name_said(turn_id, text, item.get("id"))
        if name is None:
            self.add_message("item", item.get("id"), "user", text, parts)
            return
        key = self.add_message("prompt", name, "user", text, parts)
        prompts = [*self.state.get("prompts", []), [self.ordinal, key]]
        self.state["prompts"] = prompts[-MOST_PROMPTS:]

    def _take_command(self, item: dict[str, Any]) -> None:
        outcome = _describe(item)
        code = item.get("exit_code")
        if isinstance(code, int) and code >= 0:  # -1: it was killed
            outcome = {"exit_code": code}
        given: dict[str, Any] = {"command": _join_command(item.get("command"))}
        read = _list_read(item.get("parsed_cmd"))
        if read:
            given["read"] = read
        output = as_text(item.get("aggregated_output") or "")
        self.add_tool(item.get("id"), SHELL_TOOL, given, output, outcome)

    def _take_change(self, item: dict[str, Any]) -> None:
        changes = as_object(item.get("changes"))
        given = {PATCH: _format_patch(changes)}
        printed = [item.get("stdout"), item.get("stderr")]
        output = "".join(text for text in printed if isinstance(text, str))
        self.add_tool(item.get("id"), PATCH_TOOL, given, output, _describe(item))

    def _take_mcp(self, item: dict[str, Any]) -> None:
        tool = f"mcp__{item.get('server')}__{item.get('tool')}"
        result = item.get("result") or item.get("error") or ""
        self.add_tool(item.get("id"), tool, item.get("arguments"), result, _describe(item))


class PromptReading(CodexReading):
    """The prompts of a file and nothing else."""

    def is_wanted(self, line: bytes) -> bool:
        return b'"UserMessage"' in line[:ITEM_BYTES]


def _list_prompts(path: str) -> list[tuple[int, str]]:
    """The last prompts of a file, each with its place in the thread."""
    cursor: Cursor = {}
    for _ in range(REWIND_PAGES):
        batch = read_file(path, cursor, PAGE_BYTES, PromptReading)
        cursor = batch.cursor
        if not batch.has_more:
            break
    prompts = cursor.get("prompts", [])
    return [(ordinal, key) for ordinal, key in prompts if isinstance(ordinal, int)]


def _describe(item: dict[str, Any]) -> dict[str, Any]:
    """How a tool ended, as far as it is told without an exit code."""
    status = item.get("status")
    if status == "completed":
        return {}
    if status == "failed" and item.get("type") != "CommandExecution":
        return {"is_error": True}
    return {"status": status}


def _list_read(parsed: object) -> list[str]:
    """The files that Codex says a command only reads."""
    entries = parsed if isinstance(parsed, list) else []
    reads = [as_object(entry) for entry in entries]
    paths = [read.get("path") for read in reads if read.get("type") == "read"]
    return [path for path in paths if isinstance(path, str)]


def _join_command(words: object) -> object:
    """What the model asked for, without the shell that it was handed to."""
    if isinstance(words, list) and len(words) == 3 and words[1] in ("-lc", "-c"):
        return words[2]
    return words


def _format_patch(changes: dict[str, Any]) -> str:
    """In the form in which hooks get it, with the paths as they are in the transcript."""
    lines = ["*** Begin Patch"]
    for path, value in changes.items():
        change = as_object(value)
        kind = change.get("type")
        title = {"add": "Add", "delete": "Delete"}.get(str(kind), "Update")
        lines.append(f"*** {title} File: {path}")
        if change.get("move_path"):
            lines.append(f"*** Move to: {change['move_path']}")
        if kind == "add":
            added = as_text(change.get("content") or "").splitlines()
            lines += [f"+{line}" for line in added]
        elif kind == "update":
            lines.append(as_text(change.get("unified_diff") or "").rstrip("\n"))
    return "\n".join([*lines, "*** End Patch", ""])


def _find_origin(text: str) -> str | None:
    for tag in HARNESS_TAGS:
        if text.startswith(f"<{tag}>"):
            return tag
    return None
