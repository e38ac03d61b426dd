"""What every fault test may use besides the common fixtures."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.disks import NOBODY, mount_small_disk
from tests.rig.nursery import Nursery

# What a child would otherwise import by itself.
PRELOAD = [
    "tests.faults.writers",
    "holdfast.storage.sqlite",
    "holdfast.storage.group_commit",
    "holdfast.storage.postgres",
]


@pytest.fixture
def tmp_path(disk_path: Path) -> Path:
    """What is left after a kill was written to a disk."""
    return disk_path


@pytest.fixture(scope="session")
def whole_nursery() -> Iterator[Nursery]:
    with Nursery(preload=PRELOAD) as opened:
        yield opened


@pytest.fixture
def nursery(whole_nursery: Nursery) -> Iterator[Nursery]:
    """Where real processes come from; none of them outlives its test."""
    yield whole_nursery
    whole_nursery.end_children()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with mount_small_disk(tmp_path / "disk") as folder:
        yield folder


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that another user can reach."""
    with tempfile.TemporaryDirectory(prefix="holdfast-test-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o755)
        if os.geteuid() == 0:
            os.chown(folder, NOBODY, NOBODY)
        yield folder
        folder.chmod(0o755)
