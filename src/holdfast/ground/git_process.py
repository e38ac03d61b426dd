"""git, started so that nothing a repository configures can run.

A repository that was zipped, shared or edited by an agent can name programs in its configuration:
file monitors, hooks, filters, diff drivers, transports. Every one that a command of ours could run
is overridden with the highest rank there is, the environment of a command: it reaches each process
that git starts itself and carries names that a command line cannot. Filters
have names of the repository's choice, so its settings are read first, by a command that runs
nothing. What git finds in our own environment about where to look is taken away, and no command
asks, pages, locks, fetches, waits for ever or answers without end.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress

from holdfast.ground import git_settings
from holdfast.ground.errors import GitFailedError, GitMissingError
from holdfast.ground.frozen import dataclass
from holdfast.ground.git_settings import GitSettings

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess

SECONDS = 30.0
MOST_BYTES = 256 * 1024 * 1024
PART_BYTES = 64 * 1024
_F_GETPATH, _PATH_BYTES = 50, 1024

OPTIONS = ("--no-optional-locks", "--no-replace-objects", "--literal-pathspecs", "--no-pager")
ENVIRONMENT = {
    "LC_ALL": "C",
    "GIT_TERMINAL_PROMPT": "0",
    # a missing object would be fetched by any program that the remote's address names
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
}
OVERRIDES = (
    ("core.fsmonitor", "false"),
    ("core.hooksPath", os.devnull),
    ("core.pager", "cat"),
    ("core.sshCommand", "false"),
    ("core.alternateRefsCommand", "false"),
    ("credential.helper", ""),
    ("log.showSignature", "false"),
    ("protocol.allow", "never"),
    ("safe.bareRepository", "explicit"),
)


@dataclass(frozen=True)
class GitAnswer:
    """What git wrote before it ended, or until it had written enough."""

    code: int
    out: bytes
    complaint: str
    is_cut: bool = False


class Git:
    """git in one folder; `git_dir`: with the repository of this descriptor, wherever it is.

    `inherited`: another descriptor, where the folder's path is made of one.
    """

    def __init__(
        self,
        folder: str,
        settings: GitSettings | None = None,
        *,
        git_dir: int | None = None,
        inherited: tuple[int, ...] = (),
    ):
        self.folder, self.settings = folder, settings or GitSettings()
        self.git_dir, self.inherited = git_dir, inherited

    def run(self, *arguments: str, most_bytes: int = MOST_BYTES) -> GitAnswer:
        return self.start(*arguments).finish(most_bytes)

    def ask(self, *arguments: str) -> bytes:
        """What git answers, where anything but an answer is an error."""
        answer = self.run(*arguments)
        if answer.code or answer.is_cut:
            complaint = answer.complaint or f"more than {MOST_BYTES:,} bytes came back"
            raise GitFailedError(self.folder, complaint)
        return answer.out

    def start(self, *arguments: str, talks: bool = False) -> Running:
        """`talks`: it reads lines and answers each; every other command has nothing to read."""
        import subprocess

        argv = [find_git(os.environ), *OPTIONS, "-C", self.folder, *arguments]
        anew = [*OVERRIDES, git_settings.MARK, *blank_filters(self.settings.filters)]
        where = clean_environment(os.environ) | make_environment(anew)
        inherited = self.inherited
        if self.git_dir is not None:
            # The working tree is where git already is, so that it looks up no name to get there.
            where |= {"GIT_DIR": name_open_folder(self.git_dir), "GIT_WORK_TREE": "."}
            inherited = (self.git_dir, *inherited)
        stdin = subprocess.PIPE if talks else subprocess.DEVNULL
        pipe = subprocess.PIPE
        # From the root, because a relative name would be looked up in the repository; in a session
        # of its own, so that there is no terminal to ask at, and all that git started ends with it.
        process = subprocess.Popen(
            argv,
            cwd="/",
            env=where,
            stdin=stdin,
            stdout=pipe,
            stderr=pipe,
            bufsize=0,
            start_new_session=True,
            pass_fds=inherited,
        )
        return Running(process, self.folder)

    def read_settings(
        self, answer: GitAnswer | None = None, own_files: Iterable[str] = ()
    ) -> GitSettings:
        """From the answer to the listing, or asked for now."""
        answer = answer or self.run(*git_settings.LISTING)
        lines = git_settings.parse_listing(answer.out)
        if answer.code:
            raise GitFailedError(self.folder, answer.complaint)
        if not git_settings.is_understood(lines):
            raise GitMissingError("is older than 2.31")
        return git_settings.make_settings(lines, self.folder, own_files)


class TimeLimit:
    """All git commands within it get so long together: for a program that is waited for, with
    nothing else at work in it.
    """

    ends_at = float("inf")

    def __init__(self, seconds: float):
        self.seconds = seconds

    def __enter__(self) -> None:
        self.before = TimeLimit.ends_at
        TimeLimit.ends_at = min(self.before, time.monotonic() + self.seconds)

    def __exit__(self, *_: object) -> None:
        TimeLimit.ends_at = self.before


class Running:
    """A git process that was started; it ends with its `with` block, or when finished."""

    def __init__(self, process: subprocess.Popen[bytes], folder: str):
        assert process.stdout
        assert process.stderr
        self.process, self.folder = process, folder
        self.deadline = min(time.monotonic() + SECONDS, TimeLimit.ends_at)
        self.out = bytearray()
        self.complaint = bytearray()
        self.streams = {
            process.stdout.fileno(): self.out,
            process.stderr.fileno(): self.complaint,
        }
        self.poll = select.poll()
        for stream in self.streams:
            self.poll.register(stream, select.POLLIN)

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream:
                stream.close()
        self.process.wait()

    def finish(self, most_bytes: int = MOST_BYTES) -> GitAnswer:
        with self:
            while self.streams and len(self.out) <= most_bytes:
                self._read()
            is_cut = len(self.out) > most_bytes
            code = 0 if is_cut else self.process.wait()
        return GitAnswer(
            code=code,
            out=bytes(self.out[:most_bytes]),
            complaint=find_message(self.complaint),
            is_cut=is_cut,
        )

    def say(self, line: bytes) -> None:
        """A few kilobytes between two answers: more than a pipe holds would block for ever."""
        assert self.process.stdin
        with suppress(BrokenPipeError):  # the next answer says why
            self.process.stdin.write(line)

    def end_input(self) -> None:
        assert self.process.stdin
        with suppress(BrokenPipeError):
            self.process.stdin.close()

    def hear_line(self) -> bytes:
        line = self._take(lambda: self.out.find(b"\n") + 1)
        return line[:-1]

    def hear(self, size: int) -> bytes:
        def find_end() -> int:
            if len(self.out) < size:
                return 0
            return size

        return self._take(find_end)

    def _take(self, find_end: Callable[[], int]) -> bytes:
        """What was written up to an end, which is 0 until it is known."""
        while not (size := find_end()):
            if self.process.stdout and self.process.stdout.fileno() not in self.streams:
                complaint = find_message(self.complaint) or "it ended before it had answered"
                raise GitFailedError(self.folder, complaint)
            self._read()
        taken = bytes(self.out[:size])
        del self.out[:size]
        return taken

    def _read(self) -> None:
        seconds_left = max(0.0, self.deadline - time.monotonic())
        ready = self.poll.poll(seconds_left * 1000)
        if not ready:
            raise GitFailedError(self.folder, "no answer came in time")
        for stream, _ in ready:
            part = os.read(stream, PART_BYTES)
            self.streams[stream] += part
            if not part:
                self.poll.unregister(stream)
                del self.streams[stream]


def find_git(environment: Mapping[str, str]) -> str:
    """The first one on the search path; relative folders in it do not count."""
    for folder in _list_absolute(environment.get("PATH", os.defpath)):
        path = os.path.join(folder, "git")
        if os.access(path, os.X_OK) and os.path.isfile(path):
            return path
    raise GitMissingError("is not installed, or not on the PATH")


def clean_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Ours without anything that tells git where to look or what to run."""
    harmless = [name for name in environment if not name.startswith(("GIT_", "LC_"))]
    kept = {name: environment[name] for name in harmless}
    folders = _list_absolute(environment.get("PATH", os.defpath))
    search_path = os.pathsep.join(folders)
    return {**kept, **ENVIRONMENT, "PATH": search_path}


def make_environment(settings: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Settings in the form that outranks every file; unlike `-c`, a name may hold an `=`."""
    environment = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (key, value) in enumerate(settings):
        environment[f"GIT_CONFIG_KEY_{number}"] = key
        environment[f"GIT_CONFIG_VALUE_{number}"] = value
    return environment


def blank_filters(filters: Iterable[str]) -> list[tuple[str, str]]:
    """Settings with which each of these filters does nothing, without an error."""
    lines = (("clean", ""), ("smudge", ""), ("process", ""), ("required", "false"))
    settings: list[tuple[str, str]] = []
    for name in filters:
        settings += [(f"filter.{name}.{key}", value) for key, value in lines]
    return settings


def name_open_folder(fd: int) -> str:
    """A path that leads to an open folder, in a process that inherits it."""
    if os.path.isdir("/proc/self/fd"):
        return f"/proc/self/fd/{fd}"
    import fcntl  # without such paths, as on macOS: where the folder is at this moment

    found = fcntl.fcntl(fd, _F_GETPATH, bytes(_PATH_BYTES))
    return os.fsdecode(found.rstrip(b"\0"))


def text(data: bytes | bytearray) -> str:
    return data.decode("utf-8", "surrogateescape")


def find_message(complaint: bytes | bytearray) -> str:
    """The line of git's error output that says what is wrong."""
    lines = complaint.decode("utf-8", "replace").splitlines()
    for line in lines:
        if line.startswith(("fatal:", "error:")):
            return line
    return next(iter(lines), "")


def _list_absolute(search_path: str) -> list[str]:
    return [folder for folder in search_path.split(os.pathsep) if os.path.isabs(folder)]
