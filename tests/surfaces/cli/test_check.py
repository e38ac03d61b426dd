"""`holdfast check memory`: what a person sees."""

from pathlib import Path

from tests.ground.repositories import Work
from tests.rig.commands import Call


def prepare(project: Path) -> Work:
    (project / ".git").rmdir()
    work = Work(project)
    work.git("init", "--quiet", "--initial-branch=main")
    work.write("src/old.py", "def deliver(): ...\n")
    work.write(
        "CLAUDE.md", "# Notes\n\n- `deliver()` is in `src/old.py` \x1b[31m\n- `src/` has code\n"
    )
    work.commit("begin")
    return work


def test_stale_notes_are_named_worst_first_with_what_to_do(cli: Call, project: Path):
    work = prepare(project)
    work.git("rm", "--quiet", "src/old.py")
    work.write("src/new.py", "x = 1\n")
    commit = work.commit("remove")

    answer = cli("check", "memory")

    first, _, *lines = answer.out.splitlines()
    assert (answer.code, answer.err) == (0, "")
    assert first.startswith("2 notes name files, 1 gone, 1 symbol changed (3 notes in 1 file; ")
    assert lines == [
        "gone     CLAUDE.md:3  CLAUDE.md",
        '  "`deliver()` is in `src/old.py` [31m"',
        "  deliver: deliver is in no file any more",
        f"  src/old.py: deleted in {commit[:7]}",
        "  Correct or remove the note.",
    ]


def test_json_has_the_counts_the_stale_notes_and_the_files(cli: Call, project: Path):
    work = prepare(project)
    work.git("mv", "src/old.py", "src/new.py")
    (project / "GEMINI.md").write_bytes(b"\0")

    answer = cli("check", "memory", "--json")

    document = answer.document
    assert document["counts"]["files_moved"] == 1
    [note] = document["stale"]
    assert (note["line"], note["verdict"], note["advice"]) == (
        3,
        "moved",
        "Write src/new.py there.",
    )
    problems = {Path(file["path"]).name: file["problem"] for file in document["files"]}
    assert problems == {"CLAUDE.md": None, "GEMINI.md": "is not a text"}
    assert "Not read: GEMINI.md is not a text" in answer.err


def test_without_any_memory_and_without_a_repository_it_says_so(cli: Call, project: Path):
    (project / ".git").rmdir()
    answer = cli("check", "memory", "--json")
    assert (answer.code, answer.document["code"]) == (3, "no_repository")

    Work(project).git("init", "--quiet")
    assert cli("check", "memory").out == "No client keeps a memory for this folder.\n"


def test_nothing_is_written(cli: Call, project: Path):
    work = prepare(project)
    before = {path: path.stat().st_mtime_ns for path in project.rglob("*")}

    cli("check", "memory")

    assert {path: path.stat().st_mtime_ns for path in project.rglob("*")} == before
    assert work.git("status", "--porcelain") == ""


def test_a_secret_of_a_memory_file_is_not_printed(cli: Call, project: Path):
    work = prepare(project)
    token = "ghp_" + "a1B2" * 9
    work.write("CLAUDE.md", f"- API_KEY={token} is read in `src/old.py`\n")
    work.git("rm", "--quiet", "-f", "src/old.py")
    work.commit("remove")

    for answer in (cli("check", "memory"), cli("check", "memory", "--json")):
        assert "src/old.py" in answer.out
        assert token not in answer.out
