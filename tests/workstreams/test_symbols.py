"""Where a Python symbol stands, what its shape keeps, and every text that a parser refuses."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.workstreams import symbols
from holdfast.workstreams.effort import Effort
from holdfast.workstreams.file_text import FileText
from holdfast.workstreams.symbols import (
    Lines,
    Symbol,
    UnreadableSource,
)

PACKAGE = Path(symbols.__file__).parents[1]
SOURCE = '''\
import functools
from typing import overload

LIMIT = 10
FIRST, SECOND = 1, 2
NAMES: dict[str, int] = {
    "a": 1,
}


@functools.cache
@staticmethod
def decorated(x):
    return x


async def later():
    def inner():
        return 1

    return inner


class Outer:
    """Words."""

    kind = "outer"

    @property
    def size(self):
        return 1

    @size.setter
    def size(self, value):
        pass

    class Inner:
        def method(self):
            return 2


@overload
def twice(x: int) -> int: ...
@overload
def twice(x: str) -> str: ...
def twice(x):
    return x * 2


if LIMIT:
    def chosen():
        return "a"
else:
    def chosen():
        return "b"

try:
    pass
except ValueError:
    def rescued(): ...

größe = 1
'''


def read_symbol(text: str, path: str, name: str) -> Symbol | UnreadableSource | None:
    return FileText(path, text, Effort()).read_symbol(name)


def list_namesakes(text: str, path: str, name: str) -> list[str]:
    return FileText(path, text, Effort()).list_namesakes(name)


def find_lines(text: str, path: str, name: str) -> Lines | None:
    found = read_symbol(text, path, name)
    return found.lines if isinstance(found, Symbol) else None


def test_many_symbols_of_one_reading_are_those_of_a_reading_each():
    """Looking one up changes nothing for the next, also where they share a condition."""
    names = [name for name, _ in symbols._list_definitions(ast.parse(SOURCE))]
    read_once = FileText("a.py", SOURCE, Effort())

    together = {name: read_once.read_symbol(name) for name in names}

    assert together == {name: read_symbol(SOURCE, "a.py", name) for name in reversed(names)}


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("LIMIT", (4, 4)),
        ("SECOND", (5, 5)),
        ("NAMES", (6, 8)),
        ("decorated", (11, 14)),
        ("later", (17, 21)),
        ("later.inner", (18, 19)),
        ("Outer", (24, 39)),
        ("Outer.kind", (27, 27)),
        ("Outer.size", (29, 35)),
        ("Outer.Inner", (37, 39)),
        ("Outer.Inner.method", (38, 39)),
        ("twice", (42, 47)),
        ("chosen", (50, 55)),
        ("rescued", (60, 60)),
        ("größe", (62, 62)),
        ("gro\u0308ße", (62, 62)),
    ],
)
def test_a_symbol_is_found_with_its_decorators(name: str, lines: tuple[int, int]):
    """Of several definitions it is all, from the condition around the first to the
    end of the last.
    """
    assert find_lines(SOURCE, "src/a.py", name) == lines


@pytest.mark.parametrize(
    "name", ["nothing", "Outer.nothing", "method", "inner", "functools", "Inner", "x", "limit", ""]
)
def test_an_unknown_symbol_is_not_found(name: str):
    assert read_symbol(SOURCE, "src/a.py", name) is None


def test_a_method_named_without_its_class_is_found_by_its_whole_name():
    assert list_namesakes(SOURCE, "a.py", "method") == ["Outer.Inner.method"]
    assert list_namesakes(SOURCE, "a.py", "nothing") == []
    assert list_namesakes("def", "a.py", "nothing") == []


def test_line_numbers_are_those_of_editors_and_git():
    """CRLF, a byte order mark, form feeds and separators that only some programs take for line
    ends.
    """
    text = "\ufeffx = 1\r\n\x0c\r\ns = '\u2028\u0085'\r\ndef f():\r\n    pass\r\n"

    assert find_lines(text, "a.py", "f") == (4, 5)
    assert isinstance(read_symbol("x = 1\ry = 2\n", "a.py", "y"), UnreadableSource)


# --- shape ----------------------------------------------------------------------------------------

PLAIN = '''\
def f(a, b=1):
    """Adds.

    And more.
    """
    return {"k": a + b, "n": [1, 2]}
'''


def shape(text: str, name: str = "f") -> str | None:
    found = read_symbol(text, "a.py", name)
    return found.shape if isinstance(found, Symbol) else None


@pytest.mark.parametrize(
    "text",
    [
        "\n\n" + PLAIN,
        PLAIN.replace("\n", "\r\n"),
        PLAIN.replace('"k"', "'k'").replace("b=1", "b = 1"),
        PLAIN.replace("a, b=1", "\n    a,\n    b=1,\n"),
        PLAIN.replace("    return", "    # why\n    return"),
        PLAIN.replace("    And more.\n    ", "  And   more."),
        PLAIN.replace('{"k"', '({"k"').replace("]}", "]})"),
        PLAIN.replace("1, 2", "0x1, 0b10"),
        PLAIN.replace('"k"', 'u"k"'),
        "if True:\n" + "".join(f"  {line}\n" for line in PLAIN.splitlines()),
    ],
)
def test_reformatting_keeps_the_shape(text: str):
    assert shape(text) == shape(PLAIN) is not None


@pytest.mark.parametrize(
    "text",
    [
        PLAIN.replace("a + b", "a - b"),
        PLAIN.replace("a + b", "b + a"),
        PLAIN.replace("b=1", "b=True"),
        PLAIN.replace("b=1", "b=1.0"),
        PLAIN.replace("b=1", "b='1'"),
        PLAIN.replace("b=1", "*, b=1"),
        PLAIN.replace("Adds", "Subtracts"),
        PLAIN.replace('"k"', 'b"k"'),
        PLAIN.replace('"k"', 'f"k"'),
        PLAIN.replace("[1, 2]", "(1, 2)"),
        PLAIN.replace("[1, 2]", "[[1], 2]"),
        PLAIN.replace("[1, 2]", "[1, [2]]"),
        PLAIN.replace("def f", "async def f"),
        "@cache\n" + PLAIN,
        PLAIN + "    pass\n",
    ],
)
def test_every_other_change_changes_the_shape(text: str):
    assert shape(text) not in (shape(PLAIN), None)


def test_a_shape_is_the_same_for_every_reader():
    """It is committed and compared by colleagues, so it is pinned: another value would turn all
    into `changed`.
    """
    assert shape(PLAIN) == "b527bca7d1c6dd087d8fc01145eabba1192db1d3a8042e1490259242b7853244"


PROPERTY = """\
class Box:
    @property
    def value(self):
        return self._value

    size = 1

    @value.setter
    def value(self, new):
        self._value = new
"""
EITHER = """\
if LIMIT > 1:
    import fast

    def f():
        return 1
elif LIMIT:
    def f():
        return 2
else:
    def f():
        return 3

    def g():
        return 4
"""
FALLBACK = """\
try:
    import fast
    def f(): return fast.run()
    def g(): return 1
except ImportError:
    def f(): return 2
"""
MATCHED = """\
match LIMIT:
    case 1:
        log()
    case 3:
        def f(): return 1
    case _:
        def f(): return 2
"""
OVERLOADS = """\
@overload
def f(x: int) -> int: ...
@overload
def f(x: str) -> str: ...
def f(x): return x * 2
"""
CLASSES = """\
if LIMIT:
    class Box(Small):
        def value(self): return 1
else:
    class Box:
        def value(self): return 2
        def other(self): return 3
"""
AGAIN = """\
def f():
    total = 0
    while more():
        total += 1
    return total
"""


@pytest.mark.parametrize(
    ("text", "name", "old", "new"),
    [
        (PROPERTY, "Box.value", "self._value = new", "self._value = new * 2"),
        (PROPERTY, "Box.value", "return self._value", "return self._value * 2"),
        (PROPERTY, "Box.value", "@value.setter", "@value.deleter"),
        (EITHER, "f", "return 1", "return 10"),
        (EITHER, "f", "return 2", "return 10"),
        (EITHER, "f", "return 3", "return 10"),
        (EITHER, "f", "LIMIT > 1", "LIMIT > 2"),
        (EITHER, "f", "elif LIMIT:", "elif not LIMIT:"),
        (EITHER, "f", "else:", "elif other:"),
        (FALLBACK, "f", "return 2", "return 10"),
        (FALLBACK, "f", "fast.run()", "fast.walk()"),
        (FALLBACK, "f", "except ImportError", "except Exception"),
        (FALLBACK, "f", "import fast", "import faster as fast"),
        (FALLBACK, "f", "except ImportError:", "except OSError: pass\nexcept ImportError:"),
        (MATCHED, "f", "case 1:", "case 2:"),
        (MATCHED, "f", "case 3:", "case _:"),
        (OVERLOADS, "f", "x: int", "x: float"),
        (OVERLOADS, "f", "x * 2", "x * 3"),
        (CLASSES, "Box.value", "return 1", "return 10"),
        (CLASSES, "Box.value", "if LIMIT", "if not LIMIT"),
        (CLASSES, "Box", "return 3", "return 10"),
        (AGAIN, "f.total", "total += 1", "total += 2"),
        (AGAIN, "f.total", "more()", "less()"),
        ("x = 1\nx = 2\n", "x", "x = 1", "x = 3"),
        ("x = 1\nx = 2\n", "x", "x = 1\n", ""),
        ("x = 1\n", "x", "x = 1\n", "x = 1\nx = 1\n"),
        ("def f(): 1\nif a: pass\nelse:\n  def f(): 2\n", "f", "if a: pass\nelse:", "if a:"),
    ],
)
def test_an_edit_of_any_definition_or_of_what_chooses_between_them_changes_the_shape(
    text: str, name: str, old: str, new: str
):
    edited = text.replace(old, new)

    assert edited != text
    assert shape(edited, name) not in (shape(text, name), None)


@pytest.mark.parametrize(
    ("text", "name", "old", "new"),
    [
        (PROPERTY, "Box.value", "size = 1", "size = 2"),
        (PROPERTY, "Box.value", "class Box:", "class Box(Small):"),
        (EITHER, "f", "return 4", "return 10"),
        (EITHER, "f", "    import fast\n", ""),
        (EITHER, "f", "if LIMIT > 1", "new = 1\nif (LIMIT > 1)"),
        (FALLBACK, "f", "def g(): return 1", "def g(): return 10"),
        (MATCHED, "f", "log()", "trace()"),
        (CLASSES, "Box.value", "return 3", "return 10"),
        (AGAIN, "f.total", "return total", "return -total"),
        (
            f"if True:\n  class A:\n    {OVERLOADS.replace(chr(10), chr(10) + '    ')}\n",
            "A.f",
            "if True",
            "if False",
        ),
    ],
)
def test_an_edit_beside_several_definitions_keeps_their_shape(
    text: str, name: str, old: str, new: str
):
    edited = text.replace(old, new)

    assert edited != text
    assert shape(edited, name) == shape(text, name) is not None


def test_the_shape_of_a_single_definition_has_nothing_of_what_is_around_it():
    """Evidence that was noted before a symbol could have several definitions still holds."""
    assert (
        shape("LIMIT = 10\n", "LIMIT")
        == "4b89983baf83794cf729bbdaf93a259f5c5d68162ce3529f9b38fed094c8c76a"
    )
    assert shape("if a:\n    LIMIT = 10\nelse:\n    OTHER = 1\n", "LIMIT") == shape(
        "LIMIT = 10\n", "LIMIT"
    )
    assert shape("A, A = A = 1, 2\n", "A") == shape("\n\nA, A = A = 1, 2\n", "A")


@pytest.mark.unmeasured
@pytest.mark.parametrize(
    "text",
    [
        "x = 1\n" * 50_000,
        "if a:\n  x = 1\n" + "elif b:\n  x = 2\n" * 500,
        "".join(f"{'  ' * n}if a:\n{'  ' * (n + 1)}x = 1\n" for n in range(90)),
    ],
)
def test_a_name_that_is_defined_all_over_a_large_file_is_read(text: str):
    found = read_symbol(text, "a.py", "x")

    assert isinstance(found, symbols.Symbol)
    assert found.lines.last == text.count("\n")


def every_symbol(text: str) -> list[str]:
    return sorted({name for name, _ in symbols._list_definitions(ast.parse(text))})


def test_our_own_code_keeps_its_shapes_when_python_writes_it_anew(record_property):
    """Another layout of every definition in three files, without comments and in other quotes."""
    count = 0
    for path in (PACKAGE / "ground" / name for name in ("canonical.py", "jsonl.py", "text.py")):
        text = path.read_text()
        other = ast.unparse(ast.parse(text))
        for name in every_symbol(text):
            count += 1
            assert shape(text, name) == shape(other, name), f"{path.name}#{name}"
    record_property("N", count)


def test_a_real_formatter_keeps_the_shape():
    """What `ruff format`, and so black, makes of the most cramped layout."""
    text = (PACKAGE / "ground" / "text.py").read_text()
    ugly = ast.unparse(ast.parse(text)).replace("'''", '"""')
    formatted = subprocess.run(
        [sys.executable, "-m", "ruff", "format", "--line-length", "60", "-"],
        input=ugly,
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    assert formatted != ugly
    for name in every_symbol(text):
        assert shape(formatted, name) == shape(text, name), name


# --- what cannot be read --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("def f(:\n", "cannot be read as Python: invalid syntax (line 1)"),
        ("x = 1\n<<<<<<< ours\nx = 2\n", "cannot be read as Python: invalid syntax (line 2)"),
        ("x = 'a\x00b'\n", "cannot be read as Python"),
        ("x = '\udc80'\n", "cannot be read as Python: it is not UTF-8"),
        ("x = " + "(" * 300 + ")" * 300, "cannot be read as Python: too many nested parentheses"),
        ("x = " + "-" * 200_000 + "1", "cannot be read as Python"),
        ("x = " + "+".join(["a"] * 200_000), "cannot be read as Python"),
        ("x = " + "a." * 100_000 + "b", "cannot be read as Python"),
        ("if a:\n  x = 1\n" + "elif b:\n  x = 2\n" * 30_000, "cannot be read as Python"),
        ("x = " + "lambda: " * 50_000 + "1", "cannot be read as Python"),
        ("x = " + "9" * 10_000, "cannot be read as Python"),
        ("x = 1\n" * 200_000, "has more than 1,000,000 characters"),
    ],
)
def test_source_that_cannot_be_parsed_gives_a_reason(text: str, why: str):
    found = read_symbol(text, "a.py", "x")

    assert isinstance(found, UnreadableSource)
    assert found.why.startswith(why)


@pytest.mark.parametrize("path", ["web/app.js", "main.go", "Makefile", "a.py.txt", "py"])
def test_other_languages_are_refused(path: str):
    found = read_symbol("x = 1\n", path, "x")

    assert isinstance(found, UnreadableSource)
    assert "Python only" in found.why


@pytest.mark.parametrize(
    "text", ["x = '\\d'\n", "x = 0x" + "f" * 50_000, "x = 1 is 1\n", "x = " + "[" * 90 + "]" * 90]
)
def test_odd_but_valid_python_is_read_without_a_warning(text: str):
    assert find_lines(text, "a.py", "x") == Lines(1, 1)
    assert shape(text, "x")


@pytest.mark.parametrize("path", ["a.py", "stubs/a.pyi", "a.pyw"])
def test_stubs_and_scripts_are_python_too(path: str):
    assert find_lines("def f() -> int: ...\n", path, "f") == Lines(1, 1)
