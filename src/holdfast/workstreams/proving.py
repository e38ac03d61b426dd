"""Run a command to show something, and keep how it ended.

The output of the command is passed on at once, so that a person sees the tests run; a hash of all
of it and its last lines are kept. The command is a list of arguments and never a line for a shell.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Sequence
from itertools import islice

from holdfast.errors import Action, InvalidValueError
from holdfast.ground import canonical, redaction
from holdfast.ground.frozen import dataclass

TAIL_BYTES = 4_000
ARGUMENTS_BYTES = 16_000
NOT_FOUND, NOT_RUNNABLE = 127, 126  # as in shells
BY_SIGNAL = 128


@dataclass(frozen=True)
class CommandRun:
    exit_code: int
    duration_ms: int
    output_hash: str
    output_tail: str


def check_command(command: Sequence[str]) -> tuple[str, ...]:
    if not command or not command[0]:
        raise InvalidValueError("Command", "", "is missing", next_actions=[Action("prove")])
    checked = tuple(
        canonical.check_text("Command", part, max_bytes=ARGUMENTS_BYTES) for part in command
    )
    if sum(map(len, checked)) > ARGUMENTS_BYTES:
        raise InvalidValueError(
            "Command", command[0], f"has more than {ARGUMENTS_BYTES:,} characters"
        )
    return checked


def mask_command(command: Sequence[str], key: bytes) -> tuple[str, ...]:
    """Without secrets: in each argument, and in the whole line, where `--password` is before one.

    A secret that spans arguments makes them one.
    """
    parts = [redaction.redact(part, key=key).text for part in command]
    line = redaction.redact(" ".join(parts), key=key).text
    words = line.split(" ")
    counts = [part.count(" ") + 1 for part in parts]
    if len(words) != sum(counts):
        return (line,)
    following = iter(words)
    return tuple(" ".join(islice(following, count)) for count in counts)


def run_command(command: Sequence[str], folder: str, show: Callable[[bytes], object]) -> CommandRun:
    """Until it ends; its output is shown at once."""
    import subprocess  # with all that it loads, only where a command is run

    began = time.monotonic()
    digest = canonical.new_sha256()
    tail = b""
    try:
        process = subprocess.Popen(
            command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
    except OSError as error:
        return _report_not_started(command, error, show)
    assert process.stdout is not None
    with _ChildDecidesAboutInterrupts():
        while part := os.read(process.stdout.fileno(), 1 << 16):
            show(part)
            digest.update(part)
            tail = (tail + part)[-TAIL_BYTES:]
        code = process.wait()
    process.stdout.close()
    if code < 0:
        code = BY_SIGNAL - code
    seconds = time.monotonic() - began
    return CommandRun(
        exit_code=code,
        duration_ms=int(seconds * 1000),
        output_hash=digest.hexdigest(),
        output_tail=tail.decode(errors="replace"),
    )


def _report_not_started(
    command: Sequence[str], error: OSError, show: Callable[[bytes], object]
) -> CommandRun:
    """A command that cannot be run counts as one that failed, with the message as its output."""
    code = NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_RUNNABLE
    message = f"{command[0]}: {error.strerror}\n".encode()
    show(message)
    return CommandRun(
        exit_code=code,
        duration_ms=0,
        output_hash=canonical.new_sha256(message).hexdigest(),
        output_tail=message.decode(errors="replace"),
    )


class _ChildDecidesAboutInterrupts:
    """Ctrl-C reaches the command as well; we wait until it ends, and keep its exit code."""

    def __enter__(self) -> None:
        try:
            self._before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        except ValueError:  # not in the main thread, which alone gets the signal
            self._before = None

    def __exit__(self, *exception: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
