"""Hold every room to its own line coverage.

One figure for the whole package lets a well-tested room hide a neglected one, so each folder of the
package is counted alone, and what is missing is named by file and line.
"""

import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from coverage import Coverage

PACKAGE = Path("src/holdfast").resolve()
BESIDE_THE_ROOMS = "(package root)"
LEAST = 95.0
LEAST_OF = {"sessions": 100.0}

Counts = tuple[Path, int, list[int]]


def count_files(coverage: Coverage) -> Iterator[Counts]:
    """Each file with its number of statements and the lines that no test reached."""
    for path in sorted(PACKAGE.rglob("*.py")):
        _, statements, _, missing, _ = coverage.analysis2(str(path))
        if statements:
            yield path.relative_to(PACKAGE), len(statements), missing


def group_rooms(counts: Iterator[Counts]) -> dict[str, list[Counts]]:
    """A file's room is its first folder; files beside the rooms count as one more."""
    rooms: dict[str, list[Counts]] = defaultdict(list)
    for path, statements, missing in counts:
        rooms[path.parts[0] if len(path.parts) > 1 else BESIDE_THE_ROOMS].append(
            (path, statements, missing)
        )
    return dict(rooms)


def covered_percent(files: list[Counts]) -> float:
    statements = sum(count for _, count, _ in files)
    return 100.0 * (statements - sum(len(missing) for _, _, missing in files)) / statements


def join_lines(lines: list[int]) -> str:
    """4, 5, 6, 9 as `4-6, 9`."""
    runs: list[list[int]] = []
    for line in lines:
        if runs and line == runs[-1][1] + 1:
            runs[-1][1] = line
        else:
            runs.append([line, line])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def report_room(room: str, files: list[Counts]) -> bool:
    """Print the room's line, and when it is under its threshold every missing line of it."""
    percent, least = covered_percent(files), LEAST_OF.get(room, LEAST)
    held = percent >= least
    print(f"{room:<16} {percent:6.2f} %  (at least {least:g} %){'' if held else '  TOO LOW'}")
    if not held:
        for path, _, missing in files:
            if missing:
                print(f"    {PACKAGE.name}/{path}: {join_lines(missing)}")
    return held


def main() -> int:
    coverage = Coverage()
    coverage.load()
    print("Lines covered, room by room")
    held = [
        report_room(room, files)
        for room, files in sorted(group_rooms(count_files(coverage)).items())
    ]
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
