"""`python -m bench.quiz`: play the stories, list what was missed, write the tables of the page."""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from bench.page import PAGE, replace_section
from bench.quiz.marking import Mark, mark
from bench.quiz.play import Player
from bench.quiz.report import TITLE, list_missed, write_section
from bench.quiz.stories import STORIES
from bench.quiz.story import Story


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.quiz", description=__doc__)
    names = [story.name for story in STORIES]
    parser.add_argument("--story", choices=names, help="only this one; the page is not written")
    parser.add_argument("--json", action="store_true", help="print the marks as one JSON document")
    return parser.parse_args()


def mark_story(story: Story) -> Iterator[Mark]:
    with tempfile.TemporaryDirectory(prefix="holdfast-quiz-") as folder:
        for view in Player(story, Path(folder)).play():
            yield mark(story, view)


def main() -> None:
    options = parse()
    wanted = [story for story in STORIES if options.story in (None, story.name)]
    marks = [found for story in wanted for found in mark_story(story)]
    section = write_section(marks)
    if options.story is None:
        PAGE.write_text(replace_section(PAGE.read_text(), TITLE, section))
    if options.json:
        print(json.dumps([asdict(found) for found in marks], ensure_ascii=False, indent=2))
    else:
        print(section, *list_missed(marks), sep="\n")


if __name__ == "__main__":
    main()
