"""Real repositories for the tests, and git's own slow answer to compare ours with."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from holdfast.ground import git

OWN = ("data/context", "docs/context_summary.md")
PERSON = {
    "GIT_AUTHOR_NAME": "dev-b",
    "GIT_AUTHOR_EMAIL": "b@example.org",
    "GIT_COMMITTER_NAME": "dev-b",
    "GIT_COMMITTER_EMAIL": "b@example.org",
}


class Work:
    """A working tree that a test edits as a person would."""

    def __init__(self, root: Path):
        self.root = root

    def git(self, *arguments: str | bytes, check: bool = True, **environment: str) -> str:
        """git as a person runs it; what it says, without the line end."""
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.root,
            env=os.environ | PERSON | environment,
            capture_output=True,
        )
        if check and done.returncode:
            raise AssertionError(done.stderr.decode(errors="replace"))
        return done.stdout.decode("utf-8", "surrogateescape").rstrip("\n")

    def write(self, path: str | bytes, data: str | bytes) -> None:
        place = self.place(path)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "wb") as file:
            file.write(data.encode() if isinstance(data, str) else data)

    def place(self, path: str | bytes) -> bytes:
        return os.path.join(os.fsencode(self.root), os.fsencode(path))

    def commit(self, message: str = "work") -> str:
        """Everything that is there; the id of the commit."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")

    def found(self) -> git.Repository:
        found = git.find_repository(str(self.root))
        assert found
        return found

    def state(self, since: str | None = None, without: Iterable[str] = OWN) -> git.TreeState:
        return git.read_state(self.found(), since=since, without=without)

    def contents(self) -> str:
        return self.state().contents_id

    def slow_contents(self) -> str:
        """The same id by git's own means, in an index and an object store that are discarded."""
        store, aside = self.root.parent / "aside", self.root.parent / "aside-index"
        store.mkdir(exist_ok=True)
        git_dir = Path(self.git("rev-parse", "--absolute-git-dir"))
        common = Path(self.git("rev-parse", "--path-format=absolute", "--git-common-dir"))
        aside.unlink(missing_ok=True)
        if (git_dir / "index").exists():
            shutil.copy2(git_dir / "index", aside)
        elsewhere = {
            "GIT_INDEX_FILE": str(aside),
            "GIT_OBJECT_DIRECTORY": str(store),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(common / "objects"),
        }
        self.git("add", "--update", ".", **elsewhere)
        self.git(
            "rm",
            "-r",
            "--cached",
            "--quiet",
            "--force",
            "--ignore-unmatch",
            "--",
            *OWN,
            **elsewhere,
        )
        return self.git("write-tree", **elsewhere)


def make(root: Path, *options: str) -> Work:
    """A new repository without a commit."""
    root.mkdir(parents=True)
    work = Work(root)
    work.git("init", "--quiet", "--initial-branch=main", *options)
    return work


def make_filled(root: Path, *options: str) -> Work:
    """One with a few folders and one commit."""
    work = make(root, *options)
    work.write("README.md", "read me\n")
    work.write("src/app.py", "print('one')\n")
    work.write("src/deep/er/inner.py", "inner = 1\n")
    work.write("docs/plan.md", "plan\n")
    work.commit("first")
    return work


def clone(source: Work, root: Path, *options: str) -> Work:
    source.git("clone", "--quiet", *options, source.root.as_uri(), str(root))
    return Work(root)
