"""How a client's memory file is split into notes, and what a note names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.workstreams.note_text import ClientNote, split_notes

SAMPLE = """---
name: testing
type: project
---
# How to test

Run the tests with `make test`,
never alone. <!-- hidden `src/hidden.py` -->

- first item
  goes on here
* second `a.py`
1. third
> quoted

| file | what |
| --- | --- |
| `src/b.py` | reads |

```bash
$ FAST=1 npm run build && ./scripts/x.sh
```
```python
import never_a_command
```
"""


def list_texts(note: str) -> list[tuple[str, str]]:
    return [(name.kind, name.text) for name in ClientNote(note, 1, 1).list_names()]


def test_a_file_is_split_into_what_a_reader_takes_for_one_statement():
    notes = [(note.first, note.last, note.kind, note.text) for note in split_notes(SAMPLE, 100)]

    assert notes == [
        (5, 5, "prose", "How to test"),
        (7, 8, "prose", "Run the tests with `make test`, never alone."),
        (10, 11, "prose", "first item goes on here"),
        (12, 12, "prose", "second `a.py`"),
        (13, 14, "prose", "third quoted"),
        (16, 16, "prose", "file · what"),
        (18, 18, "prose", "`src/b.py` · reads"),
        (21, 21, "code", "$ FAST=1 npm run build && ./scripts/x.sh"),
    ]


def test_commands_of_a_block_count_and_its_words_do_not():
    [*_, code] = split_notes(SAMPLE, 100)

    names = [(name.kind, name.text) for name in code.list_names()]

    assert names == [
        ("command", "npm run build"),
        ("command", "./scripts/x.sh"),
        ("path", "scripts/x.sh"),
    ]


@pytest.mark.parametrize(
    ("note", "names"),
    [
        ("see `src/a.py`", [("path", "src/a.py")]),
        ("see src/a.py.", [("path", "src/a.py")]),
        ("see [it](docs/my%20file.md#top)", [("path", "docs/my file.md")]),
        ("see `docs/my file.md`", [
            ("path", "docs/my file.md"),
            ("command", "docs/my file.md"),
            ("path", "docs/my"),
        ]),
        ("`src/a.py:10-20`", [("path", "src/a.py"), ("place", "src/a.py:10-20")]),
        ("`src/a.py#L7`", [("path", "src/a.py"), ("place", "src/a.py:7-7")]),
        ("`src/a.py#Hook.send`", [("path", "src/a.py"), ("place", "src/a.py#Hook.send")]),
        ("call deliver() or `Hook.send(x)`", [("symbol", "Hook.send"), ("symbol", "deliver")]),
        ("`MAX_RETRIES`", [("symbol", "MAX_RETRIES")]),
        ("`settings.json` and `os`", [("path", "settings.json")]),
        ("`make -j test`", [("command", "make -j test")]),
        ("Größe: `größe_prüfen()` in `src/größe.py`", [
            ("symbol", "größe_prüfen"),
            ("path", "src/größe.py"),
        ]),
        ("`src/**/*.py`, `<name>.py`, `$HOME/x`, https://a.b/c.py, `--flag`, 1.5, e.g. this", []),
    ],
)  # fmt: skip
def test_what_a_note_names(note: str, names: list[tuple[str, str]]):
    assert list_texts(note) == names


def test_there_are_at_most_so_many_notes_and_names():
    text = "".join(f"- note {number}\n" for number in range(10_000))

    assert len(split_notes(text, 500)) == 500
    assert len(list_texts(" ".join(f"`f{n}.py`" for n in range(500)))) == 40


@given(st.text(alphabet="`#-*|<>!~:/. \n\tab1()[]", max_size=400))
def test_any_text_is_split_and_its_lines_are_in_it(text: str):
    for note in split_notes(text, 50):
        assert 1 <= note.first <= note.last <= text.count("\n") + 1
        assert note.text.strip()
        note.list_names()


@pytest.mark.parametrize("piece", ["# " + " " * 20, "`" * 7, "| - ", "a/", "[x](", "(", "> "])
def test_a_long_hostile_line_is_cut_before_it_is_looked_at(piece: str):
    [*notes] = split_notes(piece * 30_000, 10)

    assert all(len(note.text) <= 2_000 for note in notes)
    for note in notes:
        note.list_names()
