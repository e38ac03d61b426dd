"""Plays a story: a real repository, real processes, and the next agent's view in each situation."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import singledispatchmethod
from pathlib import Path
from typing import Any

from bench.quiz import story as steps
from bench.quiz.door import HOLDFAST, Door, Reply, open_door, run_command
from bench.quiz.story import Story

NEXT_AGENT = "some-agent"
SAME_BRANCH, NEW_BRANCH, COMPACTED = (
    "Next session, same branch",
    "After the merge, new branch",
    "After compaction, same session",
)
IN_CLIENT = "Next session, same branch, in each client"
# As they introduce themselves: our name, and which half of an answer they hand to their model.
CLIENTS = {
    "claude-code": ("claude", "structured"),
    "codex-mcp-client": ("codex", "structured"),
    "gemini-cli-mcp-client": ("gemini", "text"),
    "opencode": ("opencode", "text"),
}
OFFERED = re.compile(r"operation=load workstream_id=(\S+)")
VARIABLE = re.compile(r"receipt \S+|b-[0-9a-f]+|\d{4}-\d\d-\d\d|\d\d-\d\d \d\d:\d\d|\d\d:\d\dZ?")


@dataclass(frozen=True)
class View:
    """What an agent got: two bundles, `load` (also as the bundle offers it), and other calls."""

    situation: str
    client: str
    bundle: Reply
    planning: Reply
    loads: tuple[Reply, ...]
    others: tuple[Reply, ...]
    has_same_bytes: bool


class Player:
    def __init__(self, story: Story, folder: Path):
        self.story = story
        self.home = folder / "home"
        self.repository = folder / "repository"
        self.proofs: dict[str, str] = {}
        self.door: Door | None = None

    def play(self, clients: Iterable[str] = CLIENTS) -> Iterator[View]:
        """All sessions, and the views of the agents that come after them."""
        self.make_repository()
        *earlier, last = self.story.sessions
        for session in earlier:
            with self.enter(session.client):
                self.do_all(session.steps)
        with self.enter(last.client) as door:
            self.do_all(last.steps)
            self.do_all(self.story.edits)
            yield self.look(door, COMPACTED, last.client)
        yield self.look_anew(SAME_BRANCH, NEXT_AGENT)
        for client in clients:
            yield self.look_anew(IN_CLIENT, client)
        self.merge()
        yield self.look_anew(NEW_BRANCH, NEXT_AGENT)

    def look_anew(self, situation: str, client: str) -> View:
        with self.enter(client) as door:
            return self.look(door, situation, client)

    def look(self, door: Door, situation: str, client: str) -> View:
        bundle = door.call("repo_context", operation="bundle")
        planning = door.call("repo_context", operation="bundle", phase="planning")
        loads = tuple(self.load(door, bundle))
        others = self.look_around(door)
        again = self.ask_again(door, situation, client)
        is_same = hide_variable(bundle) == hide_variable(again)
        return View(situation, client, bundle, planning, loads, others, is_same)

    def load(self, door: Door, bundle: Reply) -> Iterator[Reply]:
        """This line of work, and the one whose notes the bundle says that it shows."""
        yield door.call("repo_context", operation="load")
        for workstream_id in set(OFFERED.findall(bundle.bundle_text)):
            yield door.call("repo_context", operation="load", workstream_id=workstream_id)

    def look_around(self, door: Door) -> tuple[Reply, ...]:
        return (
            door.call("repo_context", operation="load", phase="planning"),
            door.call("session", operation="recent"),
            door.call("session", operation="state"),
            door.call("get_relevant_context"),
            door.call("memory", operation="recall", query=self.story.question),
            door.get_prompt("workspace-resume"),
        )

    def ask_again(self, door: Door, situation: str, client: str) -> Reply:
        """The same session asks again; a caller without a session is a new process."""
        if situation == COMPACTED:
            return door.call("repo_context", operation="bundle")
        with open_door(self.home, self.repository, client) as another:
            return another.call("repo_context", operation="bundle")

    # --- the repository ---------------------------------------------------------------------------

    def make_repository(self) -> None:
        self.repository.mkdir(parents=True)
        self.home.mkdir()
        name = self.story.name.replace(" ", "-")
        self.git("init", "--quiet", "--initial-branch=main")
        self.git("remote", "add", "origin", f"https://example.org/acme/{name}.git")
        for path, text in self.story.files.items():
            self.do(steps.Write(path, text))
        self.do(steps.Commit("Begin"))
        self.git("switch", "--quiet", "--create", self.story.branch)

    def merge(self) -> None:
        """The work is committed and merged, its branch is removed, and another one begins."""
        self.do(steps.Commit("Finish"))
        self.git("switch", "--quiet", "main")
        self.git("merge", "--quiet", "--no-ff", "-m", "Merge", self.story.branch)
        self.git("branch", "--quiet", "--delete", self.story.branch)
        self.git("switch", "--quiet", "--create", self.story.next_branch)

    def git(self, *command: str) -> None:
        run_command(self.home, self.repository, "git", *command)

    # --- steps ------------------------------------------------------------------------------------

    @contextmanager
    def enter(self, client: str) -> Iterator[Door]:
        with open_door(self.home, self.repository, client) as door:
            self.door = door
            yield door

    def do_all(self, wanted: tuple[steps.Step, ...]) -> None:
        for step in wanted:
            self.do(step)

    @singledispatchmethod
    def do(self, step: steps.Step) -> None:
        raise TypeError(step)

    @do.register
    def _(self, step: steps.Call) -> None:
        assert self.door
        self.door.call(step.tool, **self.name_proofs(step.arguments))

    @do.register
    def _(self, step: steps.Prove) -> None:
        done = self.run_holdfast(
            "prove", "--json", "--", *step.command.split(), exit_code=step.exit_code
        )
        self.proofs[f"proof:{step.name}"] = f"proof:{json.loads(done)['proof']['id']}"

    @do.register
    def _(self, step: steps.Checklist) -> None:
        self.note("checklist", "items", step.items)

    @do.register
    def _(self, step: steps.Point) -> None:
        self.note("point", "paths", step.paths)

    @do.register
    def _(self, step: steps.Write) -> None:
        place = self.repository / step.path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(step.text)

    @do.register
    def _(self, step: steps.Replace) -> None:
        place = self.repository / step.path
        before = place.read_text()
        if before.count(step.old) != 1:
            raise ValueError(f"{step.old!r} is not exactly once in {step.path}")
        place.write_text(before.replace(step.old, step.new))

    @do.register
    def _(self, step: steps.Remove) -> None:
        (self.repository / step.path).unlink()

    @do.register
    def _(self, step: steps.Rename) -> None:
        (self.repository / step.path).rename(self.repository / step.to)

    @do.register
    def _(self, step: steps.Commit) -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", step.message)

    def note(self, operation: str, argument: str, texts: tuple[str, ...]) -> None:
        """By the tool where it has the operation, else by the command."""
        assert self.door
        if self.door.offers("repo_context", operation):
            self.door.call("repo_context", operation=operation, **{argument: list(texts)})
        else:
            self.run_holdfast("workstream", operation, *texts)

    def run_holdfast(self, *arguments: str, exit_code: int = 0) -> str:
        return run_command(self.home, self.repository, *HOLDFAST, *arguments, exit_code=exit_code)

    def name_proofs(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        if "evidence" not in arguments:
            return dict(arguments)
        named = [self.proofs.get(place, place) for place in arguments["evidence"]]
        return {**arguments, "evidence": named}


def hide_variable(reply: Reply) -> str:
    """Without times and the receipt's id."""
    return VARIABLE.sub("…", reply.text)
