"""Where tests put their files: in memory, where a machine offers that.

A test waits for the disk at every commit of a small store and every commit in a small repository,
and shows nothing by it: what was not synced is lost with the power, not with a process. Tests of
crashes and damage stay on a disk, and so do the servers.
"""

import os
import shutil
from pathlib import Path

MEMORY = Path("/dev/shm")
ENOUGH_BYTES = 2 << 30
SETTING = "PYTEST_DEBUG_TEMPROOT"  # pytest's own, for the folder above all that it makes


def keep_files_in_memory() -> None:
    """For this run and its workers, unless the person who runs it has chosen another place."""
    if SETTING not in os.environ and is_usable():
        os.environ[SETTING] = str(MEMORY)


def is_usable() -> bool:
    """Containers often have little of it, and some forbid the programs that tests put there."""
    if not os.access(MEMORY, os.W_OK):
        return False
    is_barred = os.statvfs(MEMORY).f_flag & os.ST_NOEXEC
    return not is_barred and shutil.disk_usage(MEMORY).free >= ENOUGH_BYTES
