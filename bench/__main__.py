"""`python -m bench`: run the measurements, print the page, and write docs/benchmarks.md after a
full run.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
import time
import traceback
import warnings
from pathlib import Path

from bench.contestants import CONTESTANTS
from bench.machine import describe_machine
from bench.measurements import MEASUREMENTS, Bench
from bench.page import PAGE, find_section, replace_section, update_page
from bench.place import open_places
from bench.processes import preload
from bench.quiz.report import TITLE as QUIZ
from bench.report import TITLES, describe_run, write_report
from tests.rig.postgres import execute

ROOT = Path(__file__).resolve().parent.parent
NOTES = ROOT / "bench" / "notes.md"


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench", description="Compare session stores side by side"
    )
    parser.add_argument("--quick", action="store_true", help="three short rounds, smaller sessions")
    parser.add_argument(
        "--only",
        action="append",
        choices=MEASUREMENTS,
        metavar="NAME",
        help=f"one of {', '.join(MEASUREMENTS)}",
    )
    parser.add_argument(
        "--contestant",
        action="append",
        metavar="WORDS",
        help="only contestants whose name has these words",
    )
    parser.add_argument(
        "--out", type=Path, help="write the page here, also after a partial or quick run"
    )
    parser.add_argument(
        "--update",
        action="store_true",
        help="write what --only measured into docs/benchmarks.md, with its date",
    )
    options = parser.parse_args(arguments)
    if options.update and (options.quick or options.contestant or not options.only):
        parser.error("--update takes whole measurements, named with --only")
    return options


def pick_contestants(words: list[str] | None) -> list[str]:
    """The bare calls and equal work always run: without them there is no ratio."""
    wanted = [word.lower() for word in ["bare", "equal work", *(words or [""])]]
    return [name for name in CONTESTANTS if any(word in name.lower() for word in wanted)]


def progress() -> object:
    """Lines with the time since the start, on stderr, so that the page alone is on stdout."""
    start = time.monotonic()

    def say(text: str) -> None:
        print(f"{time.monotonic() - start:7.1f} s {text}", file=sys.stderr, flush=True)

    return say


async def run(options: argparse.Namespace, bench: Bench) -> dict[str, list]:
    """The measurements that were asked for, in the order of the page."""
    results = {}
    for name, measurement in MEASUREMENTS.items():
        if name in (options.only or MEASUREMENTS):
            bench.say(name)
            try:
                results[name] = await measurement(bench)
            except Exception:  # what the others measured took minutes and is printed all the same
                traceback.print_exc()
                bench.failed.append(name)
    return results


def main() -> None:
    options = parse()
    # Peers warn about preview features and log every refusal; refusals are counted here.
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    preload()
    with open_places() as places:
        version = execute(places.cluster.dsn(), "show server_version")[0][0]
        bench = Bench(pick_contestants(options.contestant), places, options.quick, progress())
        results = asyncio.run(run(options, bench))
        notes = NOTES.read_text() if NOTES.exists() else ""
        facts = describe_machine(places.folder, version)
        page = write_report(facts, bench.durability, results, notes, options.quick)
    if quiz := find_section(PAGE.read_text(), QUIZ):  # it has no times, and a run of its own
        page = replace_section(page, QUIZ, quiz)
    print(page)
    if bench.failed:
        sys.exit(f"Not measured: {', '.join(bench.failed)}. The page was not written.")
    if options.update:
        titles = [TITLES[name] for name in results]
        remark = describe_run(facts)
        PAGE.write_text(update_page(PAGE.read_text(), page, titles, remark, facts["Date"]))
    whole = not (options.quick or options.only or options.contestant)
    if out := options.out or (PAGE if whole else None):
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(page)


if __name__ == "__main__":
    main()
