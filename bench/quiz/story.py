"""What a story is: a repository, three sessions of work on it, and what the next agent has to know.

A story is data. Its steps are what an agent or a person did, in order; its facts are what a
successor needs, each with the patterns that show it; its falsified facts were true when they were
recorded, and the edits at the end make them untrue.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Call:
    """A call of an MCP tool."""

    tool: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True)
class Prove:
    """A command that is run by `holdfast prove`; a claim refers to it as `proof:` and its name."""

    name: str
    command: str
    exit_code: int = 0


@dataclass(frozen=True)
class Checklist:
    items: tuple[str, ...]


@dataclass(frozen=True)
class Point:
    paths: tuple[str, ...]


@dataclass(frozen=True)
class Write:
    path: str
    text: str


@dataclass(frozen=True)
class Replace:
    path: str
    old: str
    new: str


@dataclass(frozen=True)
class Remove:
    path: str


@dataclass(frozen=True)
class Rename:
    path: str
    to: str


@dataclass(frozen=True)
class Commit:
    message: str


Step = Call | Prove | Checklist | Point | Write | Replace | Remove | Rename | Commit


@dataclass(frozen=True)
class Fact:
    """It counts where every pattern is found; case does not matter, and a dot stays in its line."""

    about: str
    patterns: tuple[str, ...]


@dataclass(frozen=True)
class WorkSession:
    """One agent's work, under the name by which its client introduces itself."""

    client: str
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Story:
    name: str
    branch: str
    next_branch: str
    question: str  # what the next agent would ask its memory
    files: Mapping[str, str]
    sessions: tuple[WorkSession, ...]
    edits: tuple[Step, ...]
    facts: tuple[Fact, ...]
    falsified: tuple[Fact, ...]


def fact(about: str, *patterns: str) -> Fact:
    return Fact(about, patterns)


def start(chatmode: str, name: str) -> Call:
    return Call("session", {"operation": "start", "chatmode": chatmode, "name": name})


def ask_for_bundle() -> Call:
    """What the instructions ask an agent to begin with."""
    return Call("repo_context", {"operation": "bundle"})


def append(event_type: str, role: str, content: str) -> Call:
    return Call(
        "session",
        {"operation": "append", "event_type": event_type, "role": role, "content": content},
    )


def request(content: str) -> Call:
    return append("user_message", "user", content)


def reply(content: str) -> Call:
    return append("model_message", "assistant", content)


def leave_note(content: str) -> Call:
    """What the prompt workspace-stop asks for."""
    return append("system_event", "assistant", content)


def decide(text: str, **more: str) -> Call:
    return Call("repo_context", {"operation": "decide", "text": text, **more})


def accept(text: str, because: str | None = None, **more: str) -> Call:
    reason = {"because": because} if because else {}
    return decide(text, decision_status="accepted", **reason, **more)


def reject(text: str, because: str) -> Call:
    return decide(text, decision_status="rejected", because=because)


def claim(text: str, *evidence: str) -> Call:
    return Call("repo_context", {"operation": "claim", "text": text, "evidence": list(evidence)})


def save(summary: str) -> Call:
    return Call("repo_context", {"operation": "save", "summary": summary})


def fail(step: str, error: str, next_action: str) -> Call:
    stopped = {"step": step, "error": error, "next_action": next_action}
    return Call("repo_context", {"operation": "fail", **stopped})


def update_state(**scratchpad: Any) -> Call:
    return Call("session", {"operation": "update_state", "scratchpad": scratchpad})


def end() -> Call:
    return Call("session", {"operation": "end"})


def remember(content: str, category: str) -> Call:
    return Call("memory", {"operation": "remember", "content": content, "category": category})


def set_context(name: str, *items: str) -> Call:
    return Call("set_relevant_context", {"setName": name, "items": list(items)})
