"""What a client's file answers, and what all of them have in common.

So far a client says what its hook payloads mean. Three of the four programs share the shape of those payloads,
so the shape is here and each file only names its events.
"""

from __future__ import annotations

import json

from holdfast.ground import ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Protocol

    class Client(Protocol):
        NAME: str
        TITLE: str

        def parse(self, event_name: str, payload: Mapping[str, Any]) -> HookEvent | None:
            """What the payload means, or None when it is nothing to keep or not this client's."""


class HookEvent:
    """Something that happened in a client's session, ready to be kept."""

    __slots__ = ("client", "content", "cwd", "event_id", "event_type", "native_id", "parts", "role")

    def __init__(
        self,
        *,
        client: str,
        native_id: str,
        cwd: str,
        event_id: str,
        event_type: str,
        role: str,
        content: str,
        parts: dict[str, Any] | None = None,
    ):
        self.client, self.native_id, self.cwd, self.event_id = client, native_id, cwd, event_id
        self.event_type, self.role, self.content, self.parts = event_type, role, content, parts


def parse_common(
    client: str,
    event_name: str,
    payload: Mapping[str, Any],
    *,
    messages: Mapping[str, tuple[str, str, str]],
    tool_event: str,
) -> HookEvent | None:
    """A message event (type, role, payload key) or the event after a tool ran."""
    native_id, cwd = payload.get("session_id"), payload.get("cwd")
    if payload.get("hook_event_name") != event_name or not isinstance(native_id, str) or not isinstance(cwd, str):
        return None
    parts: dict[str, Any] | None = None
    if event_name in messages:
        event_type, role, key = messages[event_name]
        content = payload.get(key)
    elif event_name == tool_event:
        event_type, role, content = "tool_result", "tool", _as_text(payload.get("tool_response"))
        parts = {"tool": payload.get("tool_name"), "input": payload.get("tool_input")}
    else:
        return None
    if not isinstance(content, str) or not content:
        return None
    return HookEvent(
        client=client,
        native_id=native_id,
        cwd=cwd,
        event_id=_event_id(client, native_id, event_name, payload, content),
        event_type=event_type,
        role=role,
        content=storable(content),
        parts=_storable_parts(parts),
    )


def storable(text: str) -> str:
    """Characters that no store keeps become visible: a hook never refuses what an agent really said."""
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode()


def _storable_parts(parts: dict[str, Any] | None) -> dict[str, Any] | None:
    return parts and json.loads(storable(json.dumps(parts, ensure_ascii=False).replace("\\u0000", "\ufffd")))


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _event_id(client: str, native_id: str, event_name: str, payload: Mapping[str, Any], content: str) -> str:
    """The same id when a client fires the same hook twice; a new one when it gives nothing to tell them apart."""
    marks = [payload.get(key) for key in ("prompt_id", "turn_id", "timestamp", "tool_use_id")]
    if not any(marks):
        return ids.new_id()
    return ids.named_id(client, native_id, event_name, *map(str, marks), storable(content))
