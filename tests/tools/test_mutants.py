"""The tool that asks whether tests notice a change: what it changes, and what it reports."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house import source
from tools.mutants import targets
from tools.mutants.generate import choose_sample, find_mutants
from tools.mutants.reach import Reach
from tools.mutants.source import Source

RULES = Path("sessions/rules.py")


def list_changes(code: str) -> list[str]:
    return [f"{mutant.old} → {mutant.new}" for mutant in find_mutants(RULES, code.encode())]


@pytest.mark.parametrize(
    ("code", "changes"),
    [
        ("x = a < b", ["< → <=", "< → >="]),
        ("x = a not  in b", ["not  in → in"]),
        ("x = a == b is c", ["== → !=", "is → is not"]),
        ("x = a < b and c", ["and → or", "c → not (c)", "< → <=", "< → >="]),
        ("x = not a", ["not  → "]),
        ("x = a[-b:]", ["- → "]),
        ("x = a // b", ["// → *"]),
        ("x += a", ["+= → -="]),
        ("x = 9, True, '', b'a'", ["9 → 10", "True → False", "'' → '~'", "b'a' → b'a~'"]),
        ("def f(): return a", ["a → None"]),
        ("def f(a=3): pass", ["3 → 4"]),
        ("if a: pass", ["a → True", "a → False"]),
        ("if a := b: pass", ["a := b → (a := b) or True", "a := b → (a := b) and False"]),
        ("while a: pass", ["a → False"]),
        ("x = [a for a in b if c]", ["c → True"]),
        ("raise NotFound(a, code='gone')", ["'gone' → 'gone~'"]),
        ("raise NotFound('Gone.', [Action('start')])", ["'start' → 'start~'"]),
    ],
)
def test_each_kind_of_slip_is_a_change_of_its_own(code: str, changes: list[str]):
    assert list_changes(code) == changes


@pytest.mark.parametrize(
    "code",
    [
        '"""A docstring."""',
        "def f(a: 'int') -> Literal['x']: pass",
        "if TYPE_CHECKING:\n    x = 1",
        "TYPE_CHECKING = False",
        "__slots__ = ('a', 'b')",
        "@dataclass(frozen=True)\nclass A: pass",
        "raise InvalidValueError('mode', mode, 'is unknown')",
        "log('http_bug', type='x')",
        "x = f'{a + 1} of {b}'",
        "Mode = Literal['merge', 'replace']",
    ],
)
def test_code_that_no_test_should_notice_is_not_changed(code: str):
    assert list_changes(code) == []


def test_a_mutant_is_valid_code_and_differs_only_in_its_span():
    """Of a real file, with everything that people write: comments in expressions, umlauts, long
    lines.
    """
    data = (source.ROOT / targets.PACKAGE / RULES).read_bytes()
    code = Source("# äöü\n".encode() + data)
    tree = ast.dump(code.tree)

    mutants = find_mutants(RULES, code.data)

    assert len(mutants) > 100
    for mutant in mutants:
        changed = code.replace(mutant.span, mutant.new)
        start, end = mutant.span
        assert ast.dump(ast.parse(changed)) != tree
        assert changed == code.data[:start] + mutant.new.encode() + code.data[end:]
        assert code.data[start:end].decode() == mutant.old


def test_a_sample_has_the_same_mutants_for_the_same_seed_and_as_many_of_each_room():
    mutants = [
        mutant
        for room in ("memories", "sessions")
        for mutant in find_mutants(Path(room, "rules.py"), b"x = [1, 2, 3, 4]")
    ]

    sample = choose_sample(mutants, 4, seed=1)

    assert sample == choose_sample(mutants, 4, seed=1)
    assert sample != choose_sample(mutants, 4, seed=2)
    assert sorted(targets.room_of(mutant.path) for mutant in sample) == [
        "memories",
        "memories",
        "sessions",
        "sessions",
    ]


def test_only_tests_that_run_the_change_are_asked_the_nearest_and_quickest_first():
    near, quick, slow, other = (
        "tests/sessions/test_rules.py::a",
        "tests/sessions/test_x.py::b",
        "tests/sessions/test_x.py::c",
        "tests/sessions/test_x.py::d",
    )
    lines = {test: {str(RULES): [2]} for test in (near, quick, slow)}
    seconds = {near: 0.9, slow: 0.5, quick: 0.1, other: 0.1}
    reach = Reach(source.ROOT, [{"seconds": seconds, "lines": lines}])
    [mutant] = find_mutants(RULES, b"def f():\n    g(1)\n    g()")

    assert reach.choose_tests(mutant) == [near, quick, slow]


# --- a whole run ---------------------------------------------------------------------------------


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A package with a limit and a test of what is above it, but not of the limit itself."""
    files = {
        "src/holdfast/__init__.py": "",
        "src/holdfast/sessions/__init__.py": "",
        "src/holdfast/sessions/rules.py": "LIMIT = 10\n\ndef is_full(n):\n    return n > LIMIT\n",
        "tests/sessions/test_rules.py": (
            "import pytest\nfrom holdfast.sessions.rules import LIMIT, is_full\n\n\n"
            '@pytest.mark.parametrize("number", [LIMIT + 2])\n'
            "def test_more_is_full(number):\n    assert is_full(number)\n"
        ),
    }
    write_files(tmp_path / "checkout", files)
    return tmp_path / "checkout"


def write_files(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def try_mutants(checkout: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "tools.mutants"],
        cwd=checkout,
        env={**os.environ, "PYTHONPATH": str(source.ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stderr == ""
    return done.stdout


def test_survivors_are_reported_and_what_was_noticed_is_counted(checkout: Path):
    rules = checkout / targets.PACKAGE / RULES
    before = rules.read_bytes()

    report = try_mutants(checkout)

    assert "sessions                4        2   50.0 %" in report
    *_, survived = report.partition("Survived: 2\n")
    assert survived.splitlines() == [
        "  src/holdfast/sessions/rules.py:1  10 → 11",
        "      1 of tests/sessions/test_rules.py",
        "  src/holdfast/sessions/rules.py:4  > → >=",
        "      1 of tests/sessions/test_rules.py",
    ]
    assert rules.read_bytes() == before


def test_a_test_whose_coverage_is_not_measured_is_asked_too(checkout: Path):
    """As property tests are: `conftest.py` stops the tracing while they run."""
    files = {
        "tests/conftest.py": (
            "import sys\nimport pytest\n\n\n"
            "@pytest.hookimpl(wrapper=True, trylast=True)\n"
            "def pytest_runtest_call(item):\n"
            "    sys.settrace(None)\n    return (yield)\n"
        ),
        "tests/bundles/test_limit.py": (
            "from holdfast.sessions.rules import is_full\n\n\n"
            "def test_ten_is_not_full():\n    assert not is_full(10)\n"
        ),
    }
    write_files(checkout, files)

    assert "sessions                4        3   75.0 %" in try_mutants(checkout)
