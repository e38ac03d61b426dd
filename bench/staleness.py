"""What it costs to know whether anything changed, against the usual question: `git status`.

Repositories of a thousand to a hundred thousand files, as they are and with ten files edited. The
first lane of a case is git's own answer; then ours with everything that a new process has to find
out, and ours when the same process looks again and nothing has moved. They have a remote, as most
do: without one its name is the first commit, for which history has to be walked.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from bench.measure import Block, Lane
from holdfast.app import App
from holdfast.ground import git, git_repository, git_state
from holdfast.ground.off_loop import run_in_thread
from holdfast.ground.settings import Settings

SIZES = (1_000, 20_000, 100_000)
FILES_PER_FOLDER = 50
EDITED = 10
OWN = ("data/context", "docs/context_summary.md")
STATUS, WHOLE, AGAIN = (
    "`git status --untracked-files=no`",
    "find the repository and read its state",
    "the same process looks again",
)
BUNDLE = "build a bundle with everything on"
OFF = "build a bundle while the flag is off"
REMOTE = "remote add origin https://example.org/acme/payouts.git"
PERSON = {
    "GIT_AUTHOR_NAME": "b",
    "GIT_AUTHOR_EMAIL": "b@b",
    "GIT_COMMITTER_NAME": "b",
    "GIT_COMMITTER_EMAIL": "b@b",
}


def staleness_lanes(folder: Path, sizes: tuple[int, ...]) -> list[Lane]:
    return [
        lane
        for files in sizes
        for edited in (0, EDITED)
        for lane in lanes_of(folder, files, edited)
    ]


def lanes_of(folder: Path, files: int, edited: int) -> list[Lane]:
    root = str(make_repository(folder / f"repository-{files}-{edited}", files, edited))
    calls = {
        STATUS: lambda: ask_status(root),
        WHOLE: lambda: read_state_anew(root, edited),
        AGAIN: lambda: read_state(git.find_repository(root), edited),
    }
    if not edited:
        run_in_thread(note_something, root, folder)
        calls |= {
            BUNDLE: lambda: build_bundle(root, folder, True),
            OFF: lambda: build_bundle(root, folder, False),
        }
    return [
        Lane(name, "git", case_of(files, edited), time_calls(call), most=200)
        for name, call in calls.items()
    ]


def case_of(files: int, edited: int) -> str:
    return f"{files:,} files, {edited or 'none'} edited"


def make_repository(root: Path, files: int, edited: int) -> Path:
    """Folders in folders, with our own files in their places, refreshed so that git need not look
    twice.
    """
    names = [
        root / f"top{n // 2500}" / f"inner{n // FILES_PER_FOLDER}" / f"file{n}.py"
        for n in range(files)
    ]
    for number, name in enumerate([*names, root / OWN[0] / "planning_context.json", root / OWN[1]]):
        name.parent.mkdir(parents=True, exist_ok=True)
        name.write_text(f"value = {number}\n")
    for command in (
        "init --quiet",
        "add --all",
        "commit --quiet -m files",
        "repack -a -d --quiet",
        REMOTE,
        "status",
    ):
        subprocess.run(
            ["git", *command.split()],
            cwd=root,
            env=os.environ | PERSON,
            check=True,
            capture_output=True,
        )
    for name in names[:: files // EDITED][:edited]:
        name.write_text("edited = True\n")
    return root


def ask_status(root: str) -> None:
    argv = ["git", "--no-optional-locks", "status", "--porcelain", "--untracked-files=no"]
    subprocess.run(argv, cwd=root, check=True, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)


def read_state_anew(root: str, edited: int) -> None:
    """As a process does that has not looked before."""
    git_repository.SETTINGS.clear()
    git_state.TREES.clear()
    git_state.CONTENTS.clear()
    read_state(git.find_repository(root), edited)


def read_state(repository: git.Repository | None, edited: int) -> None:
    assert repository
    found = len(git.read_state(repository, without=OWN).changed)
    if found != edited:
        raise ValueError(f"{found} files were found to have changed, {edited} were edited")


def settings_in(folder: Path) -> Settings:
    home = str(folder / "bundles")
    return Settings(
        home=home, database=f"sqlite:///{home}/holdfast.db", workspace="local", developer="bench"
    )


def note_something(root: str, folder: Path) -> None:
    """A summary, decisions and claims with evidence in ten files."""
    with App(settings_in(folder)) as app:
        work = app.workstreams(root, share=True)
        for number in range(10):
            app.run(work.decide(f"decision {number}"))
            path = f"top0/inner{number}/file{number * FILES_PER_FOLDER}.py"
            app.run(work.claim(f"file {number} is done", [f"{path}:1"]))
        app.run(work.save("Where the work stands.", by_hand=True))


def build_bundle(root: str, folder: Path, share: bool) -> None:
    """As a command does it: the store is opened, asked and closed."""
    with App(settings_in(folder)) as app:
        bundle = app.run(
            app.bundles(app.workstreams(root, share=share)).build("implementation", worktree=root)
        )
    if ("CLAIMS" in bundle.text) != share:
        raise ValueError("the bundle is not what it should be")


def time_calls(call: Callable[[], None]) -> Callable[[int], Awaitable[Block]]:
    def run(calls: int) -> Block:
        start = time.perf_counter()
        for _ in range(calls):
            call()
        return Block(calls, time.perf_counter() - start)

    async def in_a_thread(calls: int) -> Block:
        return await asyncio.to_thread(run, calls)

    return in_a_thread
