"""Evidence: how it is named, what is noted when it is given, and the verdict on it
after any edit.
"""

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import HoldfastError, InvalidValueError
from holdfast.workstreams import evidence
from holdfast.workstreams.effort import Effort
from holdfast.workstreams.errors import EvidenceNotThereError
from holdfast.workstreams.evidence import (
    CommandEvidence,
    Evidence,
    EvidenceJudgement,
    TreeRuns,
    judge_command,
    parse_evidence,
)
from holdfast.workstreams.file_text import FileText, decode_text
from holdfast.workstreams.line_runs import split_lines
from holdfast.workstreams.symbols import Lines
from tests.workstreams import edits

TEXT = "import os\n\n\ndef deliver(event):\n    return post(event)\n\n\nLIMIT = 10\n"


def make_file(path: str, text: str | None) -> FileText | None:
    return None if text is None else FileText(path, text, Effort())


def take(named: str, text: str | None = TEXT) -> Evidence:
    place = parse_evidence(named)
    return evidence.take_evidence(place, make_file(place.path, text))


def judge_evidence(noted: Evidence, text: str | None) -> EvidenceJudgement:
    return evidence.judge_evidence(noted, make_file(noted.path, text))


# --- naming ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "path", "lines", "symbol"),
    [
        ("src/a.py", "src/a.py", None, None),
        ("src/a.py:10-20", "src/a.py", (10, 20), None),
        ("src/a.py:L10-L20", "src/a.py", (10, 20), None),
        ("src/a.py:L10-20", "src/a.py", (10, 20), None),
        ("src/a.py:10", "src/a.py", (10, 10), None),
        ("src/a.py:L10", "src/a.py", (10, 10), None),
        ("src/a.py#L10-L20", "src/a.py", (10, 20), None),
        ("src/a.py#name", "src/a.py", None, "name"),
        ("src/a.py#Class.method", "src/a.py", None, "Class.method"),
        ("src/a.py#größe", "src/a.py", None, "größe"),
        ("a:b/c:1-2.py", "a:b/c:1-2.py", None, None),
        ("a:b/c.py:3-4", "a:b/c.py", (3, 4), None),
        ("a:1:2", "a:1", (2, 2), None),
        ("a#b/c.py#name", "a#b/c.py", None, "name"),
        ("docs/c#notes.md:1-4", "docs/c#notes.md", (1, 4), None),
        ("issue#10", "issue#10", None, None),
        ("a file.py:1", "a file.py", (1, 1), None),
        (".github/x.yml:7", ".github/x.yml", (7, 7), None),
        ("src/..a/b..py", "src/..a/b..py", None, None),
    ],
)
def test_a_place_is_read_from_its_text(
    text: str, path: str, lines: tuple[int, int] | None, symbol: str | None
):
    found = parse_evidence(text)

    assert (found.path, found.lines, found.symbol) == (path, lines, symbol)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "names no file"),
        ("   ", "names no file"),
        ("/etc/passwd", "absolute path"),
        ("/etc/passwd:1", "absolute path"),
        ("../a.py:1", "leads through"),
        ("src/../../a.py", "leads through"),
        ("./a.py", "leads through"),
        ("src//a.py", "leads through"),
        ("src/..", "leads through"),
        ("src/", "is a folder"),
        ("src\\a.py:3", "backslash"),
        ("C:\\a.py", "backslash"),
        ("a\x00b", "NUL"),
        ("a\udc80b", "not UTF-8"),
        ("a.py:0", "count from 1"),
        ("a.py:9-3", "end before they begin"),
        ("x" * 5000, "longer than"),
    ],
)
def test_evidence_that_names_no_place_in_the_repository_is_refused_with_what_to_write(
    text: str, problem: str
):
    with pytest.raises(InvalidValueError, match=problem):
        parse_evidence(text)


@given(st.text(max_size=40) | st.from_regex(r"[a/.:#L\\0-9-]{1,20}", fullmatch=True))
def test_every_parsed_path_stays_inside_the_repository(text: str):
    try:
        found = parse_evidence(text)
    except HoldfastError:
        return
    assert not found.path.startswith("/")
    assert not {"", ".", ".."} & set(found.path.split("/"))
    assert "\\" not in found.path
    assert found.lines is None or 1 <= found.lines.first <= found.lines.last


# --- as JSON --------------------------------------------------------------------------------------


def test_evidence_is_stored_in_the_shape_of_the_seed():
    kept = take("src/a.py:4-5").to_dict()

    assert (kept["path"], kept["lines"]) == ("src/a.py", "L4-L5")
    assert "symbol" not in kept
    assert Evidence.from_dict(kept) == take("src/a.py:4-5")


def test_fields_of_a_later_version_are_kept():
    kept = {**take("src/a.py#deliver").to_dict(), "colour": ["green"], "weight": None}

    assert Evidence.from_dict(kept).to_dict() == kept


def test_lines_of_the_seed_alone_are_read_and_never_believed():
    """Without a hash it is unknown what was there."""
    found = Evidence.from_dict({"path": "src/a.py", "lines": "L10-L40"})

    assert found.lines == (10, 40)
    assert judge_evidence(found, "x\n" * 50).verdict == "changed"
    assert judge_evidence(found, None).verdict == "gone"


@pytest.mark.parametrize(
    "value",
    [
        None,
        "src/a.py",
        {},
        {"path": None},
        {"path": "../a.py"},
        {"path": "/a.py"},
        {"path": "a.py", "lines": [1, 2]},
        {"path": "a.py", "lines": "L2-L1"},
        {"path": "a.py", "lines": "all"},
        {"path": "a.py", "lines": 7},
        {"path": "a.py", "symbol": "a b"},
        {"path": "a.py", "symbol": 1},
        {"path": "a.py", "text_hash": 5},
        {"path": "a.py", "run_hash": "zz"},
        {"path": "a.py", "copies": True},
        {"path": "a.py", "copies": 0},
    ],
)
def test_evidence_in_an_edited_file_is_checked_like_any_input(value: Any):
    with pytest.raises(InvalidValueError):
        Evidence.from_dict(value)


def test_lines_without_end_in_the_file_cost_nothing():
    kept = {**take("src/a.py:4-5").to_dict(), "lines": "L1-L999999999"}

    assert judge_evidence(Evidence.from_dict(kept), TEXT + "x\n").verdict == "changed"


# --- taking ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("named", "text", "problem"),
    [
        ("src/a.py", None, "there is no such file"),
        ("src/a.py:4", None, "there is no such file"),
        ("src/a.py:9", TEXT, "the file has 8 lines"),
        ("src/a.py:4-400", TEXT, "the file has 8 lines"),
        ("src/a.py:1", "", "the file has 0 lines"),
        ("src/a.py:2-3", TEXT, "these lines are blank"),
        ("src/a.py#nothing", TEXT, "the file has no symbol nothing"),
        ("src/a.py#run", "class Job:\n    def run(self): ...\n", "no symbol run; it has Job.run"),
        ("src/a.py#x", "def (", "cannot be read as Python.*give lines"),
        ("web/a.js#x", "x = 1", "symbols are known in Python only; give lines"),
    ],
)
def test_missing_evidence_is_refused_with_what_is_missing(
    named: str, text: str | None, problem: str
):
    with pytest.raises(EvidenceNotThereError, match=problem):
        take(named, text)


def test_a_symbol_is_noted_with_the_lines_where_it_stands():
    assert take("src/a.py#deliver").lines == (4, 5)
    assert take("src/a.py#LIMIT").lines == (8, 8)
    assert str(take("src/a.py#LIMIT")) == "src/a.py#LIMIT"
    assert str(take("src/a.py:8")) == "src/a.py:L8-L8"


def test_the_text_itself_is_never_kept():
    assert "post" not in str(take("src/a.py:5").to_dict())


def test_an_empty_file_can_be_evidence_that_it_exists():
    assert judge_evidence(take("src/pkg/__init__.py", ""), "").verdict == "ok"
    assert judge_evidence(take("src/pkg/__init__.py", ""), "x = 1\n").verdict == "changed"


# --- lines ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        ("\n", [""]),
        ("a", ["a"]),
        ("a\n", ["a"]),
        ("a\n\n", ["a", ""]),
        ("a\r\nb", ["a", "b"]),
        ("a\rb\nc", ["a\rb", "c"]),
        ("a\x0cb\x0bc\x1cd\x85e\u2028f\u2029g\n", ["a\x0cb\x0bc\x1cd\x85e\u2028f\u2029g"]),
        ("\ufeffa\n", ["a"]),
    ],
)
def test_lines_are_counted_as_git_and_editors_do(text: str, lines: list[str]):
    assert split_lines(text) == lines


def test_files_that_differ_only_in_invalid_bytes_give_different_texts():
    """Two files that differ only in broken bytes are two texts, and both can be noted."""
    texts = [
        decode_text(data)
        for data in (
            b"caf\xe9 is open today\n",
            b"caf\xe8 is open today\n",
            "café is open today\n".encode(),
        )
    ]
    first = take("menu.txt:1", texts[0])

    assert [judge_evidence(first, text).verdict for text in texts] == ["ok", "changed", "changed"]


def test_five_megabytes_are_judged_and_a_long_run_is_found_elsewhere():
    text = "".join(f"value_{n} = compute({n}, {n * 7})  # and some words\n" for n in range(110_000))
    noted = take("data.txt:50000-90000", text)

    assert len(text) > 5_000_000
    assert judge_evidence(noted, text).verdict == "ok"
    assert judge_evidence(noted, "new\n" + text) == EvidenceJudgement("moved", Lines(50001, 90001))
    assert (
        judge_evidence(noted, "new\n" + text.replace("value_60000 ", "value_x ")).verdict
        == "changed"
    )


def test_a_file_of_equal_lines_is_judged_without_comparing_each_run():
    text = "the same line in all places\n" * 100_000
    noted = take("data.txt:20000-70000", text)

    assert judge_evidence(noted, text + "x\n").verdict == "ok"
    assert judge_evidence(noted, "x\n" * 30_000 + text).verdict == "moved"
    assert judge_evidence(noted, "x\n" * 30_000 + text[: len(text) // 2]).verdict == "changed"


# --- judging --------------------------------------------------------------------------------------


def test_two_hundred_edits_have_the_right_verdict_each_time(scale):
    """Every kind of file with every kind of edit, for lines, symbols and whole files; the table
    says what is right.
    """
    wrong: list[str] = []
    for seed in range(1 + scale(2000) // (len(edits.KINDS) * len(edits.EDITS))):
        for kind in edits.KINDS:
            file = edits.make_file(kind, seed)
            wrong += [
                wrong_verdict
                for name in edits.EDITS
                for wrong_verdict in wrong_verdicts(file, name, seed)
            ]

    assert wrong == []


def wrong_verdicts(file: edits.File, name: str, seed: int) -> list[str]:
    """Each piece of evidence whose verdict or place is not what the table says."""
    edit, *expected = edits.EDITS[name]
    edited = edit(file, random.Random(seed)) if edit else None
    first, last = file.place
    names = [
        f"{file.path}:{first}-{last}",
        f"{file.path}#{file.symbol}" if file.symbol else "",
        file.path,
    ]
    answers = []
    for named, verdict in zip(names, expected, strict=True):
        if named:
            judged = judge_evidence(take(named, file.text), edited.text if edited else None)
            right = (verdict, right_place(file, edited, named, verdict))
            found = (judged.verdict, judged.lines_now if verdict in ("ok", "moved") else None)
            answers += [f"{name}, {named}: {found} instead of {right}"] if found != right else []
    return answers


def right_place(
    file: edits.File, edited: edits.File | None, named: str, verdict: str
) -> tuple[int, int] | None:
    if named == file.path or edited is None or verdict not in ("ok", "moved"):
        return None
    return file.place if verdict == "ok" else edited.place


def test_every_edit_really_edits_and_leaves_python_that_can_be_read():
    """The table itself: an edit that does nothing, or breaks the file, would prove nothing."""
    for kind in edits.KINDS:
        file = edits.make_file(kind, 1)
        for name, (edit, *_) in edits.EDITS.items():
            edited = edit(file, random.Random(1)) if edit else None
            assert edited is None or edited.text != file.text, (kind, name)
            if file.symbol and edited:
                assert take(f"{file.path}#TAIL", edited.text).lines, (kind, name)


@pytest.mark.parametrize("line", ["}", "});", "# ---"])
def test_a_line_that_is_too_common_is_not_found_elsewhere(line: str):
    noted = take("a.js:2", f"first()\n{line}\nsecond()\n")

    assert judge_evidence(noted, f"new()\nfirst()\n{line}\nsecond()\n").verdict == "changed"
    assert judge_evidence(noted, f"other()\n{line}\n").verdict == "ok"


@pytest.mark.parametrize(
    "lines", ["def g():\n    return 2", "    else:", "    return None", "pass", "x"]
)
def test_short_lines_that_stood_once_and_stand_once_have_moved(lines: str):
    count = lines.count("\n") + 1
    noted = take(f"a.py:2-{1 + count}", f"first()\n{lines}\nlast()\n")

    assert judge_evidence(noted, f"new()\nfirst()\n{lines}\nlast()\n") == EvidenceJudgement(
        "moved", Lines(3, 2 + count)
    )
    assert judge_evidence(noted, f"new()\nfirst()\n{lines}\n{lines}\n").verdict == "changed"
    assert judge_evidence(noted, "new()\nfirst()\nlast()\n").verdict == "changed"


def test_short_lines_that_stood_twice_are_not_found_elsewhere():
    text = "a()\nreturn None\nb()\nreturn None\n"

    assert judge_evidence(take("a.py:2", text), f"new()\n{text}").verdict == "changed"


def test_the_nearest_of_several_places_is_named():
    block = "retry_schedule = [30, 60, 120]\n"
    noted = take("a.txt:10", "x\n" * 9 + block)

    assert judge_evidence(
        noted, block + "y\n" * 11 + block + "z\n" * 50 + block
    ) == EvidenceJudgement("moved", Lines(13, 13))


def test_an_older_copy_does_not_replace_lines_that_were_removed():
    block = "retry_schedule = [30, 60, 120]\n"
    noted = take("a.txt:1", f"{block}between\n{block}")

    assert noted.copies == 2
    assert judge_evidence(noted, f"between\n{block}").verdict == "changed"
    assert judge_evidence(noted, f"new\n{block}between\n{block}").verdict == "moved"
    assert Evidence.from_dict(noted.to_dict()) == noted


def test_a_symbol_in_a_file_that_is_broken_now_is_not_believed():
    judged = judge_evidence(take("src/a.py#deliver"), TEXT + "def (:\n")

    assert judged.verdict == "changed"
    assert "cannot be read as Python" in judged.why


PROPERTY = """\
class Box:
    @property
    def value(self):
        return self.kept

    @value.setter
    def value(self, new):
        self.kept = new
"""
EITHER = """\
if LIMIT:
    def cond():
        return 1
else:
    def cond():
        return 2
"""


@pytest.mark.parametrize(
    ("named", "text", "old", "new"),
    [
        ("a.py#Box.value", PROPERTY, "self.kept = new", "self.kept = new * 2"),
        ("a.py#Box.value", PROPERTY, "return self.kept", "return 0"),
        ("a.py#cond", EITHER, "return 1", "return 10"),
        ("a.py#cond", EITHER, "if LIMIT", "if not LIMIT"),
    ],
)
def test_every_definition_of_a_symbol_is_looked_at(named: str, text: str, old: str, new: str):
    noted = take(named, text)

    assert judge_evidence(noted, text.replace(old, new)).verdict == "changed"
    assert judge_evidence(noted, f"# new\n{text.replace(old, new)}").verdict == "changed"
    assert judge_evidence(noted, f"{text}# new\n").verdict == "ok"
    moved = Lines(noted.lines.first + 1, noted.lines.last + 1) if noted.lines else None
    assert judge_evidence(noted, f"# new\n{text}") == EvidenceJudgement("moved", moved)


def test_evidence_of_the_last_of_two_definitions_is_judged_changed():
    """As an earlier version did: it is unknown what the other definitions were."""
    last = take(
        "a.py#cond",
        EITHER.partition("else:\n")[2].replace("    ", "", 1).replace("        ", "    "),
    )

    assert judge_evidence(last, EITHER).verdict == "changed"
    assert judge_evidence(last, EITHER.replace("return 1", "return 10")).verdict == "changed"


def test_a_method_that_goes_to_another_class_is_gone():
    text = "class A:\n    def run(self):\n        return work(1)\n\n\nclass B:\n    pass\n"
    noted = take("a.py#A.run", text)

    assert judge_evidence(noted, text.replace("class A", "class C")).verdict == "gone"


FEW = st.lists(
    st.sampled_from(["alpha alpha alpha", "beta beta beta", "gamma gamma gamma", "x", "}", ""]),
    max_size=9,
)


@given(FEW, FEW, st.data())
def test_the_verdict_on_lines_is_what_comparing_the_texts_gives(
    old: list[str], new: list[str], data: st.DataObject
):
    """A second, plain implementation that has the text and compares it at every place."""
    starts = [n for n, line in enumerate(old) if line]
    if not starts:
        return
    start = data.draw(st.sampled_from(starts))
    end = data.draw(st.integers(start + 1, len(old)))
    run = old[start:end]

    judged = judge_evidence(
        take(f"a.txt:{start + 1}-{end}", "\n".join(old) + "\n"), "\n".join(new) + "\n"
    )

    assert judged.verdict == plain_verdict(old, new, run, start)
    if judged.lines_now:
        assert new[judged.lines_now.first - 1 : judged.lines_now.last] == run


def plain_verdict(old: list[str], new: list[str], run: list[str], start: int) -> str:
    if new[start : start + len(run)] == run:
        return "ok"
    before, now = (
        sum(lines[n : n + len(run)] == run for n in range(len(lines))) for lines in (old, new)
    )
    is_telling = any(len(line) > 10 for line in run) or (now == before == 1 and "x" in run)
    return "moved" if now >= before and is_telling else "changed"


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_file_is_judged_and_the_same_file_is_ok(old: str, new: str):
    lines = split_lines(old)
    names = ["a.txt", *(f"a.txt:{n}" for n, line in enumerate(lines, 1) if line.strip())]
    for named in names:
        noted = take(named, old)
        assert judge_evidence(noted, old).verdict == "ok"
        assert judge_evidence(noted, new).verdict in ("ok", "moved", "changed")
        assert Evidence.from_dict(noted.to_dict()) == noted


# --- commands -------------------------------------------------------------------------------------

RAN = {"command": "pytest -q", "exit_code": 0, "tree": "abc", "ran_at": "2026-11-16T12:58:00Z"}


@pytest.mark.parametrize(
    ("change", "tree", "verdict"),
    [
        ({}, "abc", "ok"),
        ({}, "abd", "changed"),
        ({}, None, "changed"),
        ({"tree": None}, None, "changed"),
        ({"tree": ""}, "", "changed"),
        ({"exit_code": 1}, "abc", "changed"),
        ({"exit_code": -9}, "abc", "changed"),
        ({"exit_code": None}, "abc", "changed"),
        ({"exit_code": "0"}, "abc", "changed"),
        ({"exit_code": False}, "abc", "changed"),
        ({"exit_code": 0.0}, "abc", "changed"),
    ],
)
def test_a_command_holds_only_if_it_passed_on_these_contents(
    change: dict[str, Any], tree: str | None, verdict: str
):
    judged = judge_command(CommandEvidence.from_dict({**RAN, **change}), TreeRuns(tree))

    assert judged.verdict == verdict
    assert bool(judged.why) == (verdict != "ok")


def test_a_command_without_an_outcome_never_reads_as_passed():
    ran = CommandEvidence(command="pytest -q", tree="abc")

    assert judge_command(ran, TreeRuns("abc")).verdict == "changed"


@pytest.mark.parametrize(
    ("line", "withdrawn", "why"),
    [
        (("pytest -q", ""), "p2", "it failed when it was run again"),
        (("pytest -q", "src"), "p1", "it was withdrawn"),
        (("pytest -q", "src"), "p2", ""),
        (("pytest", ""), "p2", ""),
    ],
)
def test_a_pass_shows_nothing_once_it_was_withdrawn_or_a_later_run_failed(
    line: tuple[str, str], withdrawn: str, why: str
):
    ran = CommandEvidence.from_dict({**RAN, "proof": "p1"})
    now = TreeRuns("abc", failed=frozenset([line]), withdrawn=frozenset([withdrawn]))

    judged = judge_command(ran, now)

    assert judged.why == why
    assert judged.verdict == ("changed" if why else "ok")
