"""R13: files and store diverge in every order that two people find; what one of them noted is never
lost.
"""

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.ground.settings import load_settings
from holdfast.memories.errors import ExportRefusedError
from holdfast.memories.jsonl_store import export_memories, import_memories
from holdfast.memories.service import MemoryService
from holdfast.storage.database import drive
from holdfast.workstreams.document import from_bytes
from holdfast.workstreams.errors import ContextChangedError, ReadOnlyContextError
from tests.workstreams.repos import Repo, service_in, with_code

CONTEXT = "data/context/implementation_context.json"
ACTIONS = [
    "decide",
    "decide",
    "remember",
    "export",
    "sync",
    "sync",
    "lose_store",
    "touch",
    "visit_old_branch",
]
MEMORIES = "data/memory/vectorstore/memories.jsonl"
PARTS = 10  # so that several workers share them


class Person:
    """One clone and one store; both can go wrong."""

    def __init__(self, folder: Path, name: str):
        self.repo, self.store = Repo(folder / name, begin=False), folder / f"{name}.db"
        self.decided: set[str] = set()
        self.remembered: set[str] = set()

    def act(self, action: str, name: str) -> None:
        if action == "decide" and self.decide(name):
            self.decided.add(name)
        elif action == "remember":
            self.remember(f"memory {name}")
            self.export()
            self.remembered.add(f"memory {name}")
        elif action != "decide":
            getattr(self, action)()

    def opened(self, work: Callable[[Any], Any]) -> Any:
        async def within() -> Any:
            async with holdfast.open_database(f"sqlite:///{self.store}") as database:
                return await work(database)

        return drive(within())

    def decide(self, text: str) -> bool:
        try:
            self.opened(lambda database: service_in(self.repo, database).decide(text))
        except (ReadOnlyContextError, ContextChangedError):
            return False
        return True

    def remember(self, text: str) -> None:
        self.opened(lambda database: self._memories(database).remember(text))

    def export(self) -> None:
        try:
            self.opened(lambda database: export_memories(self._memories(database), self._file))
        except ExportRefusedError:
            self.opened(lambda database: import_memories(self._memories(database), self._file))
            self.opened(lambda database: export_memories(self._memories(database), self._file))

    def sync(self) -> None:
        """Commit, pull, resolve by keeping both sides' lines, push; as a person without a merge
        driver does.
        """
        git = self.repo.git
        self.commit("notes")
        git("merge", "-q", "--no-edit", "origin/main", check=False)
        if (self.repo.folder / ".git/MERGE_HEAD").exists():
            self.keep_both_sides()
            self.commit("merged")
        git("merge-base", "--is-ancestor", "origin/main", "main")  # or the push would be refused
        git("update-ref", "refs/remotes/origin/main", "main")

    def keep_both_sides(self) -> None:
        for path in (CONTEXT, MEMORIES):
            place = self.repo.folder / path
            if place.exists():
                marks = (b"<<<<<<<", b"=======", b">>>>>>>", b"|||||||")
                lines = place.read_bytes().splitlines(keepends=True)
                place.write_bytes(b"".join(line for line in lines if not line.startswith(marks)))

    def commit(self, message: str) -> None:
        self.repo.git("add", "-A")
        self.repo.git("commit", "-qm", message, "--allow-empty")

    def lose_store(self) -> None:
        for path in self.store.parent.glob(f"{self.store.name}*"):
            os.unlink(path)

    def touch(self) -> None:
        for path in (CONTEXT, MEMORIES):
            if (self.repo.folder / path).exists():
                os.utime(self.repo.folder / path, (0, 0))

    def visit_old_branch(self) -> None:
        self.commit("before a visit")
        self.repo.git("checkout", "-q", "--detach", "HEAD~1", check=False)
        self.repo.git("checkout", "-q", "main")

    def decisions(self) -> set[str]:
        place = self.repo.folder / CONTEXT
        found = from_bytes(place.read_bytes(), CONTEXT) if place.exists() else None
        contexts = found.contexts.values() if found else ()
        return {entry.text for fields in contexts for entry in fields.open_decisions or ()}

    def memories(self) -> set[str]:
        place = self.repo.folder / MEMORIES
        return (
            {line.split('"content":"')[1].split('"')[0] for line in place.read_text().splitlines()}
            if place.exists()
            else set()
        )

    @property
    def _file(self) -> str:
        return str(self.repo.folder / MEMORIES)

    @staticmethod
    def _memories(database: Any) -> MemoryService:
        return MemoryService(
            database, owner=load_settings({**os.environ, "HOLDFAST_DEVELOPER": "ana"}).owner
        )


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("part", range(PARTS))
def test_no_entry_is_lost_when_two_clones_diverge_at_random(
    tmp_path_factory: pytest.TempPathFactory, scale: Callable[[int], int], part: int
) -> None:
    """Ids only grow: by hand, over merges, with stores that were lost or emptied, with times that
    mean nothing.
    """
    place = tmp_path_factory.mktemp("clones")  # nothing is killed here, so it may be in memory
    each, beginning, folder = scale(2_000 // PARTS), place / "beginning", place / "work"
    make_clones(beginning)
    for seed in range(part * each, (part + 1) * each):
        shutil.copytree(beginning, folder, symlinks=True)
        play(folder, seed)
        shutil.rmtree(folder)


def make_clones(folder: Path) -> None:
    """Two clones that share the objects and the branches of their origin.

    So a pull is a merge, and a push names a commit. What git does to bring objects from one folder
    to another would take most of the time, and is not what is tested.
    """
    origin = with_code(folder / "origin")
    for name in ("ana", "bo"):
        origin.git("clone", "-q", "--template=", ".", f"../{name}")
        share(folder / "origin/.git/objects", folder / name / ".git/objects")
        share(folder / "origin/.git/refs/heads", folder / name / ".git/refs/remotes/origin")
        (folder / name / ".git/packed-refs").unlink(missing_ok=True)


def share(theirs: Path, ours: Path) -> None:
    """Relative, so that the folder of both can be copied."""
    shutil.rmtree(ours)
    ours.symlink_to(os.path.relpath(theirs, ours.parent))


def play(folder: Path, seed: int) -> None:
    chance = random.Random(seed)
    people = [Person(folder, name) for name in ("ana", "bo")]
    for step in range(12):
        person = chance.choice(people)
        person.act(chance.choice(ACTIONS), f"{seed}.{step}")
        assert person.decisions() >= person.decided, (seed, step)
        assert person.memories() >= person.remembered, (seed, step)
    for person in (*people, *people):
        person.sync()
    ana, bo = people
    for person in people:
        assert person.decisions() == ana.decided | bo.decided, seed
        assert person.memories() == ana.remembered | bo.remembered, seed
