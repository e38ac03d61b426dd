"""Files as people write them, one block of each marked, and the edits that people make to them.

Each edit says what it must do to evidence about the marked block, from what the edit is and not
from how evidence is judged: a reader of the table can see whether it is right.
"""

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class File:
    """Chunks of lines; one of them is the block that evidence is about."""

    path: str
    chunks: tuple[tuple[str, ...], ...]
    at: int
    symbol: str | None
    line_end: str = "\n"
    last_newline: bool = True
    mark: str = ""

    @property
    def block(self) -> tuple[str, ...]:
        return self.chunks[self.at]

    @property
    def place(self) -> tuple[int, int]:
        first = sum(map(len, self.chunks[: self.at])) + 1
        return first, first + len(self.block) - 1

    @property
    def text(self) -> str:
        lines = [line for chunk in self.chunks for line in chunk]
        return self.mark + self.line_end.join(lines) + (self.line_end if self.last_newline else "")

    def with_block(self, *lines: str) -> "File":
        return replace(self, chunks=(*self.chunks[: self.at], lines, *self.chunks[self.at + 1 :]))


# --- files ----------------------------------------------------------------------------------------

WORDS = [
    "order",
    "invoice",
    "payment",
    "session",
    "ledger",
    "cursor",
    "bundle",
    "packet",
    "window",
    "worker",
    "filter",
    "ticket",
]
BLANK = ("", "")


def python_function(name: str, n: int, indent: str = "") -> tuple[str, ...]:
    lines = (
        f"def {name}(value, limit={n}):",
        f'    """Return what {name} makes of a value."""',
        "    if value is None:",
        f"        return 'none {n}'",
        f"    result = compute(value, 'with {n}')",
        "    return result[:limit]",
    )
    return tuple(indent + line for line in lines)


def python_class(name: str, n: int) -> tuple[str, ...]:
    method = python_function(f"run_{n}", n, "    ")
    return (f"class {name.title()}:", f"    kind = 'a {name}'", "", *method)


def python_table(name: str, n: int) -> tuple[str, ...]:
    return (
        f"{name.upper()}_LIMITS = {{",
        f"    'least': {n},",
        f"    'most': compute({n}, 'most'),",
        "}",
    )


def python_file(kind: str, names: list[str], random_: random.Random) -> File:
    """Functions, classes, coroutines, decorated functions, methods or tables, with others of their
    kind around.
    """
    numbers = random_.sample(range(100, 999), len(names))
    made = [_python_block(kind, name, n) for name, n in zip(names, numbers, strict=True)]
    blocks = [block for block, _ in made]
    header = ('"""A module."""', "", "import json", f"VERSION = {numbers[0]}", "")
    if kind == "method":
        header = (*header, "class Store:", "    kind = 'store'", "")
    chunks = [
        header,
        *(part for block in blocks for part in (block, ("",) if kind == "method" else BLANK)),
    ]
    chosen = random_.randrange(len(names) - 1)
    footer = ("TAIL = 'the end'",)
    return File(f"src/{names[0]}.py", (*chunks, footer), 1 + 2 * chosen, made[chosen][1])


def _python_block(kind: str, name: str, n: int) -> tuple[tuple[str, ...], str]:
    function = python_function(name, n)
    if kind == "class":
        return python_class(name, n), name.title()
    if kind == "table":
        return python_table(name, n), f"{name.upper()}_LIMITS"
    if kind == "method":
        return python_function(name, n, "    "), f"Store.{name}"
    if kind == "coroutine":
        return (f"async {function[0]}", *function[1:]), name
    if kind == "decorated":
        return ("@functools.cache", f"@traced(label='{name}')", *function), name
    return function, name


# NAME, LOW and HIGH are filled in.
OTHERS = {
    "web/app.js": """\
export function NAME(value) {
  if (!value) {
    return 'none LOW';
  }
  return compute(value, HIGH);
}""",
    "cmd/main.go": """\
func NAME(value int) (int, error) {
\tif value == 0 {
\t\treturn LOW, errors.New('zero')
\t}
\treturn compute(value, HIGH), nil
}""",
    "sql/schema.sql": """\
create table NAME (
  id integer primary key,
  amount integer not null default LOW,
  note text default 'none' check (compute(note) < HIGH)
);""",
    "docs/guide.md": """\
## The NAME

Every value below LOW is kept for a day,
and at most HIGH of them are shown 'as they are', as compute(x, y) says.""",
    "settings.toml": """\
[NAME]
retries = LOW
label = 'compute(limit, HIGH)'""",
    "deploy/Jobfile": """\
job NAME:
\trun 'step LOW' --limit compute(all, HIGH)
\tnotify owner""",
}


def other_file(path: str, names: list[str], random_: random.Random) -> File:
    blocks = []
    for name in names:
        low, high = random_.sample(range(100, 999), 2)
        filled = (
            OTHERS[path].replace("NAME", name).replace("LOW", str(low)).replace("HIGH", str(high))
        )
        blocks.append(tuple(filled.split("\n")))
    chunks = [
        ("top of the file", ""),
        *(part for block in blocks for part in (block, ("",))),
        ("end of the file",),
    ]
    return File(path, tuple(chunks), 1 + 2 * random_.randrange(len(names) - 1), None)


PYTHON = ("function", "class", "table", "method", "coroutine", "decorated")
KINDS = (*PYTHON, *OTHERS)


def make_file(kind: str, seed: int) -> File:
    random_ = random.Random(seed)
    names = random_.sample(WORDS, random_.randint(3, 6))
    return python_file(kind, names, random_) if kind in PYTHON else other_file(kind, names, random_)


# --- edits ----------------------------------------------------------------------------------------


def indent_of(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def inside(file: File, line: str) -> File:
    """One more line before the last, which is inside in every language."""
    last = file.block[-1] if file.symbol and "LIMITS" not in file.symbol else file.block[-2]
    return file.with_block(*file.block[:-1], indent_of(last) + line, file.block[-1])


def insert_above(file: File, random_: random.Random) -> File:
    new = tuple(f"# a new line {n}" for n in range(random_.randint(1, 30)))
    return replace(file, chunks=(new, *file.chunks), at=file.at + 1)


def remove_above(file: File, random_: random.Random) -> File:
    return replace(file, chunks=(file.chunks[0][:-1], *file.chunks[1:]))


def insert_inside(file: File, random_: random.Random) -> File:
    is_table = bool(file.symbol and "LIMITS" in file.symbol)
    return inside(
        file, f"'extra': {random_.random()}," if is_table else f"extra = {random_.random()}"
    )


def move_block(file: File, random_: random.Random) -> File:
    """The block and the next one of its kind change places."""
    chunks = list(file.chunks)
    chunks[file.at], chunks[file.at + 2] = chunks[file.at + 2], chunks[file.at]
    return replace(file, chunks=tuple(chunks), at=file.at + 2)


def rename_symbol(file: File, random_: random.Random) -> File:
    name = (file.symbol or file.block[0]).rpartition(".")[2]
    word = name if file.symbol else max(re.findall(r"\w+", file.block[0]), key=len)
    return file.with_block(
        *(re.sub(rf"\b{re.escape(word)}\b", f"{word}_renamed", line) for line in file.block)
    )


def change_inside(file: File, random_: random.Random) -> File:
    return file.with_block(*(re.sub(r"\b\d{3}\b", "7", line) for line in file.block))


def delete_block(file: File, random_: random.Random) -> File:
    return replace(file, chunks=(*file.chunks[: file.at], *file.chunks[file.at + 1 :]))


def reformat_quotes(file: File, random_: random.Random) -> File:
    return file.with_block(*(line.replace("'", '"') for line in file.block))


def reformat_over_lines(file: File, random_: random.Random) -> File:
    """What a formatter does to a line that became too long."""
    lines = []
    for line in file.block:
        if found := re.fullmatch(r"(\s*)(.*compute\()(.*)(\).*)", line):
            space, start, arguments, end = found.groups()
            lines += [
                space + start,
                *(f"{space}    {part.strip()}," for part in arguments.split(",")),
                space + end,
            ]
        else:
            lines.append(line)
    return file.with_block(*lines)


def comment_inside(file: File, random_: random.Random) -> File:
    return inside(file, "# a word of explanation")


def change_below(file: File, random_: random.Random) -> File:
    return replace(file, chunks=(*file.chunks, ("", "MORE = 1")))


def change_above(file: File, random_: random.Random) -> File:
    first = ('"""Another module."""' if file.symbol else "another top", *file.chunks[0][1:])
    return replace(file, chunks=(first, *file.chunks[1:]))


def duplicate_below(file: File, random_: random.Random) -> File:
    """A copy after the next neighbour: the lines are where they were, the symbol has a second
    definition.
    """
    chunks = (*file.chunks[: file.at + 3], ("",), file.block, *file.chunks[file.at + 3 :])
    return replace(file, chunks=chunks, at=file.at + 4)


def trailing_space(file: File, random_: random.Random) -> File:
    return file.with_block(*(line + "  " for line in file.block))


def to_crlf(file: File, random_: random.Random) -> File:
    return replace(file, line_end="\r\n")


def drop_last_newline(file: File, random_: random.Random) -> File:
    return replace(file, last_newline=False)


def add_mark(file: File, random_: random.Random) -> File:
    return replace(file, mark="\ufeff")


def to_crlf_and_insert_above(file: File, random_: random.Random) -> File:
    return replace(insert_above(file, random_), line_end="\r\n")


Edit = Callable[[File, random.Random], File]

# The edit, and the right verdict on evidence that is the block's lines, its symbol, or the whole
# file.
EDITS: dict[str, tuple[Edit | None, str, str, str]] = {
    "insert above": (insert_above, "moved", "moved", "changed"),
    "remove above": (remove_above, "moved", "moved", "changed"),
    "insert inside": (insert_inside, "changed", "changed", "changed"),
    "move the block": (move_block, "moved", "moved", "changed"),
    "rename the symbol": (rename_symbol, "changed", "gone", "changed"),
    "change inside": (change_inside, "changed", "changed", "changed"),
    "delete the block": (delete_block, "changed", "gone", "changed"),
    "delete the file": (None, "gone", "gone", "gone"),
    "reformat, other quotes": (reformat_quotes, "changed", "ok", "changed"),
    "reformat, more lines": (reformat_over_lines, "changed", "moved", "changed"),
    "comment inside": (comment_inside, "changed", "moved", "changed"),
    "change only below": (change_below, "ok", "ok", "changed"),
    "change only above": (change_above, "ok", "ok", "changed"),
    "duplicate the block": (duplicate_below, "ok", "changed", "changed"),
    "trailing whitespace": (trailing_space, "changed", "ok", "changed"),
    "CRLF": (to_crlf, "ok", "ok", "ok"),
    "CRLF and insert above": (to_crlf_and_insert_above, "moved", "moved", "changed"),
    "no last newline": (drop_last_newline, "ok", "ok", "ok"),
    "byte order mark": (add_mark, "ok", "ok", "ok"),
}
