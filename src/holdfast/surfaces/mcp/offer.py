"""What our server offers, and what that costs a model: read from the recorded first answers."""

from __future__ import annotations

import json
from typing import Any

from holdfast.ground.tokens import tokens
from holdfast.surfaces.mcp.front import ANSWERS, HANDSHAKE


def list_tools() -> list[str]:
    return [tool["name"] for tool in _read_tools()]


def count_tokens() -> int:
    """About what a client adds to each session that loads every tool at once."""
    shown = [
        {key: tool.get(key) for key in ("name", "description", "inputSchema")}
        for tool in _read_tools()
    ]
    text = json.dumps(shown, ensure_ascii=False, separators=(",", ":"))
    return tokens(text + _read("initialize 2025-06-18").get("instructions", ""))


def _read_tools() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = _read("tools/list").get("tools", [])
    return found


def _read(request: str) -> dict[str, Any]:
    name = f"{HANDSHAKE} {request}\t"
    with open(ANSWERS, encoding="utf-8") as file:
        lines = [line.removeprefix(name) for line in file if line.startswith(name)]
    for line in lines:
        result: dict[str, Any] = json.loads("{" + line)["result"]
        return result
    return {}
