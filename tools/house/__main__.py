"""Print how open the lines are, how long functions are, and which names to look at. Nothing here
passes or fails.

make house                    figures of the package, and how many names to look at
make house ARGS=--list        with the place of each
make house ARGS=--unused      public names that only tests use, or nothing at all
make house ARGS=PATH          of another folder
"""

from __future__ import annotations

import argparse
from pathlib import Path

from tools.house import lines, names, unused
from tools.house.source import load_files


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make house", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=Path("src/holdfast"))
    parser.add_argument(
        "--list", action="store_true", dest="is_long", help="name the place of each finding"
    )
    parser.add_argument("--unused", action="store_true", help="list public names that nothing uses")
    return parser.parse_args()


def main() -> None:
    arguments = parse_arguments()
    if arguments.unused:
        unused.print_unused(arguments.folder, Path("tests"))
        return
    files = load_files(arguments.folder)
    lines.print_figures(files, arguments.folder)
    lines.print_long(files)
    lines.print_densest(files)
    names.print_names(files, is_long=arguments.is_long)


if __name__ == "__main__":
    main()
