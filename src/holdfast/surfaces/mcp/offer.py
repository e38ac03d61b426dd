"""What our server offers, and what that costs a model: read from the recorded first answers."""

from __future__ import annotations

import json
from typing import Any

from holdfast.ground.tokens import tokens
from holdfast.surfaces.mcp.exchange_look import look_for_exchange
from holdfast.surfaces.mcp.front import ANSWERS, HANDSHAKE, TEAM


def list_tools() -> list[str]:
    """Every tool there is: what a client is told once stays right when the exchange is switched on
    or off.
    """
    return [tool["name"] for tool in _read_tools(with_exchange=True)]


def count_tokens() -> int:
    """About what a client adds to each session that loads every tool at once."""
    with_exchange = bool(look_for_exchange())
    shown = [
        {key: tool.get(key) for key in ("name", "description", "inputSchema")}
        for tool in _read_tools(with_exchange)
    ]
    text = json.dumps(shown, ensure_ascii=False, separators=(",", ":"))
    told = _read("initialize 2025-06-18", with_exchange).get("instructions", "")
    return tokens(text + told)


def _read_tools(with_exchange: bool) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = _read("tools/list", with_exchange).get("tools", [])
    return found


def _read(request: str, with_exchange: bool) -> dict[str, Any]:
    name = f"{HANDSHAKE} {request}\t"
    if with_exchange:
        name = TEAM + name
    with open(ANSWERS, encoding="utf-8") as file:
        lines = [line.removeprefix(name) for line in file if line.startswith(name)]
    for line in lines:
        result: dict[str, Any] = json.loads("{" + line)["result"]
        return result
    return {}
