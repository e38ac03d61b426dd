"""What a client does with a server and hooks that a person wrote into its files."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.rig.installed import Installed
from tools.clients.machine import Machine
from tools.clients.programs.contract import Program, make_recorder

pytestmark = [pytest.mark.clients, pytest.mark.unmeasured]

SAID_BY_THE_MODEL = {
    "operation": "append",
    "event_type": "user_message",
    "role": "user",
    "content": "Kept by a tool.",
}
SCRIPT = [
    {
        "answers": [
            {"calls": [{"tool": "holdfast_session", "arguments": SAID_BY_THE_MODEL}]},
            {"text": "It is kept."},
        ]
    }
]


def read_payloads(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text().split("\n") if line.strip()]


def wire(program: Program, machine: Machine, holdfast: Installed) -> Path:
    """Every hook is recorded and handed on to ours; returns the record."""
    log = machine.folder / "hooks.jsonl"
    hooks = {
        event: make_recorder(log, [str(holdfast.path), "hook", program.client, event])
        for event in program.hooks
    }
    program.wire(machine.home, [str(holdfast.path), "mcp"], hooks)
    return log


def test_our_tools_are_called_and_each_hook_fires(
    program: Program, machine: Machine, holdfast: Installed
):
    log = wire(program, machine, holdfast)

    run = machine.run(program, "Keep a word for me.", SCRIPT)

    last = run.requests[-1]
    results = [text for role, text in last["texts"] if role == "tool"]
    assert "holdfast_session" in last["tools"]
    assert "Kept by a tool." in results[-1]
    assert "It is kept." in run.output.read_text()
    payloads = read_payloads(log)
    fired = dict.fromkeys(payload["hook_event_name"] for payload in payloads)
    assert list(fired) == list(program.hooks)
    assert {payload["session_id"] for payload in payloads} == {program.find_native_id(machine.home)}
