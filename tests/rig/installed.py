"""Holdfast as a person has it: a command that is on their path, and on no client's."""

import json
import os
import sys
from typing import Any

from tools.clients.machine import Machine
from tools.clients.sandbox import ROOT

Message = tuple[str, str]
MARKS = {"agent_id", "origin"}


class Installed:
    """`installed("init", "--yes")` returns what the command printed."""

    def __init__(self, machine: Machine):
        self.machine = machine
        self.path = machine.folder / "bin" / "holdfast"
        self.path.parent.mkdir()
        self.path.write_text(
            f'#!/bin/sh\nPYTHONPATH={ROOT / "src"} exec {sys.executable} -m holdfast "$@"\n'
        )
        self.path.chmod(0o755)

    def __call__(self, *words: str) -> str:
        known = self.machine.make_environment()
        path = f"{self.path.parent}{os.pathsep}{known['PATH']}"
        return self.machine.command(str(self.path), *words, environment={**known, "PATH": path})

    def read(self, *words: str) -> Any:
        """What it answered; notes for a person may stand before and after it."""
        lines = self(*words, "--json").splitlines()
        (document,) = [line for line in lines if line.startswith("{")]
        return json.loads(document)

    def remove(self) -> None:
        self.path.unlink()

    def list_sessions(self) -> list[dict[str, Any]]:
        """Oldest first."""
        found: list[dict[str, Any]] = self.read("session", "list")["sessions"]
        return found[::-1]

    def list_messages(self, client: str) -> list[Message]:
        """What was said in a client's sessions, without what is marked as not the person's."""
        sessions = [each for each in self.list_sessions() if each["client"] == client]
        events = [event for each in sessions for event in self.list_events(each["id"])]
        own = [event for event in events if not MARKS & set(event["parts"] or {})]
        roles = {"user_message": "user", "model_message": "assistant"}
        return [(roles[event["type"]], event["content"]) for event in own if event["type"] in roles]

    def list_events(self, session_id: str) -> list[dict[str, Any]]:
        shown = self.read("session", "events", session_id, "--turns", "1000")
        events: list[dict[str, Any]] = shown["events"]
        return events
