"""The transcripts of Codex ("rollouts"), checked against 0.166.0.

What has happened is told twice: as items of the model's conversation, and as items of the turn that
were completed. Only the second have exit codes, and only they name what a script of the model ran
inside, so the first are never read. An item's id is the one that hooks have for a tool; of a prompt
they have the id of its turn, in which more may be said later.

The first line says whose a file is: a subagent has one of its own, in which the parent's messages
may be repeated. A fork's file has what is new only.
"""

from __future__ import annotations

import os

from holdfast.clients.codex import PATCH, PATCH_TOOL
from holdfast.clients.contract import as_text, describe_agent, make_key
from holdfast.clients.transcript import (
    MOST_FOUND,
    MOST_LOOKED_AT,
    MOST_SUBAGENTS,
    Batch,
    TranscriptFile,
    TranscriptReading,
    as_object,
    is_inside,
    join_texts,
    list_changed,
    list_names,
    read_file,
    read_first_line,
    read_head,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from holdfast.clients.transcript import Cursor

HEAD_BYTES = 250  # of a line, in which its type is found
OWNER_BYTES = 4096  # of a file, in which its session is named
FIRST_LINE_BYTES = 1 << 20  # it has the model's instructions
MOST_PROMPTS = 100
DAY_SECONDS = 86_400
HARNESS_TAGS = (
    "environment_context",
    "user_instructions",
    "skill",
    "subagent_notification",
    "turn_aborted",
)


def find_sources(native_id: str, path: str) -> list[str]:
    """Those of subagents are in the folders of the day or a later one, and younger than it."""
    name = os.path.basename(path)
    day = os.path.dirname(path)
    sessions = os.path.dirname(os.path.dirname(os.path.dirname(day)))
    days = _list_days(sessions, "/".join(day.split("/")[-3:]))
    younger = [other for folder in days for other in _list_rollouts(folder)]
    candidates = [other for other in younger if os.path.basename(other) > name]
    newest = candidates[-MOST_LOOKED_AT:]
    children = [other for other in newest if _is_child(other, native_id)]
    return [path, *children[-MOST_SUBAGENTS:]]


def _list_days(sessions: str, since: str) -> list[str]:
    """The folders of each day from this one on, as `2026/11/15`, oldest first."""
    paths = [""]
    for _ in range(3):
        paths = [
            os.path.join(path, name)
            for path in paths
            for name in _list_later(sessions, path, since)
        ]
    return [os.path.join(sessions, path) for path in paths]


def _list_later(sessions: str, path: str, since: str) -> list[str]:
    names = [name for name in list_names(os.path.join(sessions, path)) if name.isdecimal()]
    return [
        name for name in names if os.path.join(path, name) >= since[: len(os.path.join(path, name))]
    ]


def _list_rollouts(folder: str) -> list[str]:
    names = [name for name in list_names(folder) if name.startswith("rollout-")]
    return [os.path.join(folder, name) for name in names if name.endswith(".jsonl")]


def _is_child(path: str, native_id: str) -> bool:
    head = read_head(path, OWNER_BYTES)
    session = f'"session_id":"{native_id}"'.encode("utf-8", "replace")
    return session in head and b'"parent_thread_id":"' in head


def list_transcripts(folder: str, home: str, since: float) -> Iterable[TranscriptFile]:
    import time

    base = os.environ.get("CODEX_HOME") or os.path.join(home, ".codex")
    # A day earlier: folders are named by the local date.
    first_day = time.strftime("%Y/%m/%d", time.gmtime(max(0.0, since - DAY_SECONDS)))
    days = _list_days(os.path.join(base, "sessions"), first_day)
    paths = [path for day in days for path in _list_rollouts(day)]
    found: list[TranscriptFile] = []
    for changed_at, path in list_changed(paths, since):
        if len(found) == MOST_FOUND:
            break
        owner = as_object(read_first_line(path, FIRST_LINE_BYTES).get("payload"))
        native_id = owner.get("id")
        is_main = not owner.get("parent_thread_id") and isinstance(native_id, str)
        if is_main and is_inside(owner.get("cwd"), folder):
            found.append(TranscriptFile(str(native_id), path, changed_at))
    return found


def read(path: str, cursor: Cursor, most_bytes: int) -> Batch:
    return read_file(path, cursor, most_bytes, CodexReading)


class CodexReading(TranscriptReading):
    def is_wanted(self, line: bytes) -> bool:
        envelope = line[:HEAD_BYTES]
        if b'"type":"event_msg"' in envelope:
            return b'"item_completed"' in envelope or b'"thread_rolled_back"' in envelope
        return b'"type":"response_item"' not in envelope

    def take(self, entry: dict[str, Any], offset: int) -> None:
        kind = entry.get("type")
        payload = as_object(entry.get("payload"))
        if offset == 0 and kind == "session_meta":
            self._take_owner(payload)
        self.agent = as_object(self.state.get("agent"))
        ordinal = entry.get("ordinal")
        if isinstance(ordinal, int) and ordinal < self.state.get("first", 0):
            return
        moment = str(ordinal if ordinal is not None else entry.get("timestamp"))
        if kind == "compacted":
            self.add_compaction(moment, as_text(payload.get("message") or ""), None)
        elif payload.get("type") == "thread_rolled_back":
            self._take_rollback(moment, payload.get("num_turns"))
        elif payload.get("type") == "item_completed":
            self._take_item(as_object(payload.get("item")), payload.get("turn_id"))

    def _take_owner(self, payload: dict[str, Any]) -> None:
        if not payload.get("parent_thread_id"):
            return
        name = payload.get("agent_role") or payload.get("agent_nickname")
        self.state["agent"] = describe_agent(payload.get("id"), name)
        first = payload.get("subagent_history_start_ordinal")
        if isinstance(first, int):
            self.state["first"] = first

    def _take_rollback(self, moment: str, turns: object) -> None:
        prompts = list(self.state.get("prompts", []))
        if not isinstance(turns, int) or turns <= 0:
            return
        self.add_rewind(moment, prompts[-turns:])
        self.state["prompts"] = prompts[:-turns]

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
        """The first one of a turn is the one that a hook was told of with the turn's id."""
        text = join_texts(item.get("content"))
        if not text.strip():
            return
        kind, native = "item", item.get("id")
        if make_key("prompt", turn_id) and turn_id != self.state.get("turn"):
            kind, native = "prompt", turn_id
            self.state["turn"] = turn_id
        origin = _find_origin(text)
        parts = {"origin": origin} if origin else None
        key = self.add_message(kind, native, "user", text, parts)
        if kind == "prompt":
            prompts = [*self.state.get("prompts", []), key]
            self.state["prompts"] = prompts[-MOST_PROMPTS:]

    def _take_command(self, item: dict[str, Any]) -> None:
        outcome = _describe(item)
        code = item.get("exit_code")
        if isinstance(code, int) and code >= 0:  # -1: it was killed
            outcome = {"exit_code": code}
        given = {"command": _join_command(item.get("command"))}
        output = as_text(item.get("aggregated_output") or "")
        self.add_tool(item.get("id"), "Bash", given, output, outcome)

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


def _describe(item: dict[str, Any]) -> dict[str, Any]:
    """How a tool ended, as far as it is told without an exit code."""
    status = item.get("status")
    if status == "completed":
        return {}
    if status == "failed" and item.get("type") != "CommandExecution":
        return {"is_error": True}
    return {"status": status}


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
