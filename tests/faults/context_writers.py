"""What the processes at one repository's context files do."""

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import holdfast
from holdfast.storage.database import drive
from holdfast.workstreams.errors import ContextChangedError
from holdfast.workstreams.service import WorkstreamService
from holdfast.workstreams.store import WorkstreamFiles
from tests.rig.nursery import Line
from tests.workstreams.repos import Repo, service_in


def open_service(folder: str, url: str) -> WorkstreamService:
    database = drive(holdfast.open_database(url).__aenter__())
    return service_in(Repo(Path(folder), begin=False), database)


def decide(folder: str, url: str, text: str) -> None:
    drive(open_service(folder, url).decide(text))


def decide_many(line: Line, folder: str, url: str, phase: str, writer: int, count: int) -> None:
    work = open_service(folder, url)
    line.say("open")
    line.hear()
    for number in range(count):
        text = f"{writer}.{number}"
        drive(work.decide(text, phase=phase))
        line.say(text)


def decide_until_killed(line: Line, folder: str, url: str, writer: int) -> None:
    work = open_service(folder, url)
    number = 0
    while True:
        number += 1
        text = f"{writer}.{number}"
        drive(work.decide(text))
        line.say(text)


def read_until_stopped(line: Line, folder: str, phase: str) -> None:
    files = WorkstreamFiles(folder, "data/context")
    line.say("open")
    count = 0
    while not line.is_called():
        assert files.load(phase).problem is None
        count += 1
    line.hear()
    line.say(count)


def save_what_was_read(line: Line, folder: str, url: str) -> None:
    work = open_service(folder, url)
    line.say("open")
    while line.hear() == "read":
        revision = drive(work.load("implementation")).context.revision
        line.say(revision)
        line.hear()
        line.say(_save(work, revision))
        line.hear()
        line.say(_save(work, drive(work.load("implementation")).context.revision))


def _save(work: WorkstreamService, revision: int) -> str:
    try:
        drive(work.save("what I had in mind", by_hand=True, expected_revision=revision))
    except ContextChangedError as error:
        return error.code
    return "saved"


@contextlib.contextmanager
def failing_at(number: int, name: str) -> Iterator[None]:
    """The n-th of the calls that touch the files fails with this error."""
    left = [number]
    names = ("open", "write", "fsync", "rename", "mkdir", "stat")
    real = {call_name: getattr(os, call_name) for call_name in names}

    def failing(call_name: str) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            if "dir_fd" in kwargs or "src_dir_fd" in kwargs or call_name in ("write", "fsync"):
                left[0] -= 1
                if left[0] == 0:
                    raise OSError(getattr(errno, name), os.strerror(getattr(errno, name)))
            return real[call_name](*args, **kwargs)

        return call

    with contextlib.ExitStack() as stack:
        for call_name in names:
            stack.enter_context(mock.patch.object(os, call_name, failing(call_name)))
        yield
