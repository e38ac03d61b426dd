"""The keys of what MCP tools answer, from one real call of each operation.

A tool's schema says that `event` is an object and no more; what is inside is what an agent program
reads.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from mcp import Client

from holdfast.app import App
from holdfast.surfaces.mcp.server import make_server
from holdfast.usecases.conversing import begin_conversation

STORY: tuple[tuple[str, dict[str, Any]], ...] = (
    ("session", {"operation": "start", "chatmode": "architect", "name": "Retry"}),
    (
        "session",
        {
            "operation": "append",
            "event_type": "user_message",
            "role": "user",
            "content": "x",
            "parts": {"a": 1},
        },
    ),
    ("session", {"operation": "recent"}),
    ("session", {"operation": "update_state", "scratchpad": {"task": "retry.py"}}),
    ("session", {"operation": "state"}),
    ("set_relevant_context", {"setName": "files", "items": ["src/retry.py"]}),
    ("get_relevant_context", {}),
    ("memory", {"operation": "remember", "content": "Attempts are numbered from one"}),
    ("memory", {"operation": "recall", "query": "How are attempts numbered?"}),
    ("repo_context", {"operation": "decide", "text": "A table holds the retries"}),
    (
        "repo_context",
        {"operation": "claim", "text": "It doubles", "evidence": ["src/retry.py#schedule"]},
    ),
    (
        "repo_context",
        {"operation": "fail", "step": "push", "error": "denied", "next_action": "log in"},
    ),
    (
        "repo_context",
        {"operation": "save", "summary": "Retries double.", "feature_request": "Retry"},
    ),
    ("repo_context", {"operation": "load"}),
    ("repo_context", {"operation": "check"}),
    ("repo_context", {"operation": "bundle"}),
    ("repo_context", {"operation": "round", "step": "start", "topic": "Where?"}),
    ("conversation", {"operation": "list"}),
    ("conversation", {"operation": "search", "query": "retry"}),
    (
        "conversation",
        {"operation": "resume", "conversation_id": "001-debug-retry", "detail": True},
    ),
    ("conversation", {"operation": "save", "summary": "Retries double."}),
    ("conversation", {"operation": "pause"}),
    ("conversation", {"operation": "complete"}),
    ("session", {"operation": "end"}),
)


async def describe_answers(folder: Path) -> dict[str, Any]:
    """By tool and operation: the keys of the data, and of what is inside them."""
    async with App() as app:

        async def app_for(request: object) -> App:
            return app

        server = make_server(app_for, folder=str(folder), exists=os.path.exists)
        await begin_conversation(app, str(folder), "debug", "Retry", None)
        async with Client(server) as client:
            return {name_call(tool, given): await ask(client, tool, given) for tool, given in STORY}


def name_call(tool: str, given: dict[str, Any]) -> str:
    return f"{tool} {given.get('operation', '')}".strip()


async def ask(client: Client, tool: str, given: dict[str, Any]) -> Any:
    answer = await client.call_tool(tool, given)
    assert not answer.is_error, answer
    return keys_of(answer.structured_content)


def keys_of(value: Any) -> Any:
    """Of a list the first entry stands for all."""
    if isinstance(value, dict):
        return {key: keys_of(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [keys_of(inner) for inner in value[:1]]
    return ""
