"""Disks that take nothing more, and a user without rights."""

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

MEGABYTE = 1 << 20
NOBODY = 65534


@contextlib.contextmanager
def mount_small_disk(folder: Path) -> Iterator[Path]:
    """A file system of three megabytes, where we may mount one."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={3 * MEGABYTE}", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True).returncode != 0:
        pytest.skip(
            "only root may mount a small disk; the limit on a file's size is tried by another test"
        )
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def remount(folder: Path, option: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{option}", str(folder)], check=True)


def fill(path: Path) -> None:
    with open(path, "wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))
