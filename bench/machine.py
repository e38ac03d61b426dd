"""What the figures were taken on, so that other figures can be compared with them."""

from __future__ import annotations

import os
import platform
import sqlite3
import statistics
import tempfile
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import apsw

PACKAGES = (
    "holdfast",
    "apsw",
    "asyncpg",
    "google-adk",
    "openai-agents",
    "langgraph",
    "langgraph-checkpoint-sqlite",
    "langgraph-checkpoint-postgres",
    "sqlalchemy",
    "aiosqlite",
    "psycopg",
)


def describe_machine(folder: Path, server_version: str) -> dict[str, str]:
    """Facts in the order of the report."""
    return {
        "Date": time.strftime("%Y-%m-%d", time.gmtime()),
        "Cores": f"{os.cpu_count()} ({platform.machine()})",
        "Load": f"{os.getloadavg()[1]:.1f} in the last five minutes, this run included",
        "System": f"{platform.system()} {platform.release()}",
        "File system": (
            f"{file_system(folder)}; a 4 kB write with "
            f"fsync: {fsync_microseconds(folder):.0f} "
            "µs (median)"
        ),
        "Python": platform.python_version(),
        "PostgreSQL": f"{server_version} over TCP on loopback, fsync on",
        "SQLite": (
            f"{apsw.sqlite_lib_version()} in apsw, {sqlite3.sqlite_version} in the standard library"
        ),
        "Packages": ", ".join(f"{name} {package_version(name)}" for name in PACKAGES),
    }


def package_version(name: str) -> str:
    """A missing package is a fact of the run too."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "(not installed)"


def file_system(folder: Path) -> str:
    """The type of the mount that the folder is on; tmpfs would make every sync free."""
    try:
        mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    except OSError:
        return "unknown"
    under = [mount for mount in mounts if folder.resolve().is_relative_to(mount[1])]
    return max(under, key=lambda mount: len(mount[1]))[2] if under else "unknown"


def fsync_microseconds(folder: Path, tries: int = 50) -> float:
    """How much an honest commit costs here at least."""
    times = []
    with tempfile.TemporaryFile(dir=folder) as file:
        for _ in range(tries):
            start = time.perf_counter()
            file.write(bytes(4096))
            file.flush()
            os.fsync(file.fileno())
            times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e6
