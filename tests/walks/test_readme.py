"""The README's examples, typed line by line: what it shows is what is printed."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.rig.commands import run_process

README = Path(__file__).parents[2] / "README.md"
CHANGES = re.compile(
    r"(?P<id>[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12})"
    r"|(?P<short>\b[0-9a-f]{8}-[0-9a-f]{4}\b)"
    r"|(?P<claim>\bc-[0-9a-f]{12}\b)|(?P<commit>\b(?:[0-9a-f]{40}|[0-9a-f]{7})\b)|\bb-(?P<receipt>[0-9a-f]{4})\b"
    r"|(?P<day>\b(?:\d{4}-)?\d{2}-\d{2}\b)|(?P<time>\b\d{2}:\d{2}(?::\d{2})?(?=Z|\b))"
)


def lines_of(title: str) -> list[str]:
    """The lines of a section's blocks, as they look in a terminal."""
    section = README.read_text().partition(f"## {title}\n")[2].partition("\n## ")[0]
    blocks = re.findall(r"^   ```\n(.*?)^   ```$", section, re.MULTILINE | re.DOTALL)
    return [line.removeprefix("   ") for block in blocks for line in block.splitlines()]


def typed_again(lines: list[str], home: Path, folder: Path) -> Iterator[str]:
    """The same commands as real processes, each with what it prints."""
    for line in lines:
        if line.startswith("$ "):
            program, *arguments = shlex.split(line.removeprefix("$ "))
            answer = run_process(*arguments, cwd=folder)
            assert (program, answer.code, answer.err) == ("holdfast", 0, ""), line
            yield line
            yield from answer.out.replace(str(home), "/home/dev").splitlines()


def without_what_changes(lines: list[str]) -> list[str]:
    """Times as their shape, and ids by their turn, so that the same one is the same one in both."""
    turns: dict[str, int] = {}

    def name(found: re.Match[str]) -> str:
        if found["id"]:
            return f"ID-{turns.setdefault(found['id'], len(turns))}"
        if found["short"]:
            return "ID"
        if found["claim"]:
            return "CLAIM"
        if found["commit"] or found["receipt"]:
            return "COMMIT" if found["commit"] else "RECEIPT"
        return re.sub(r"\d", "0", found[0])

    return [CHANGES.sub(name, line) for line in lines]


@pytest.mark.skipif(sys.platform != "linux", reason="the README shows where Linux keeps data")
def test_the_readme_shows_what_is_printed(home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("HOLDFAST_HOME")
    (home / ".gitconfig").write_text("[user]\n\temail = dev@example.org\n")
    folder = home / "payouts"
    subprocess.run(["git", "init", "--quiet", "--initial-branch=main", folder], check=True)
    (folder / "README.md").touch()
    shown = lines_of("Sessions by hand")

    printed = list(typed_again(shown, home, folder))

    assert len([line for line in shown if line.startswith("$ holdfast ")]) > 10
    assert without_what_changes(printed) == without_what_changes(shown)


@pytest.mark.skipif(sys.platform != "linux", reason="the README shows where Linux keeps data")
def test_the_readme_shows_what_is_printed_about_notes(home: Path, monkeypatch: pytest.MonkeyPatch):
    """In one shell, as a person types it; whatever is printed, on either stream, is shown."""
    monkeypatch.delenv("HOLDFAST_HOME")
    (home / ".gitconfig").write_text(
        "[user]\n\temail = dev@example.org\n\tname = dev\n[init]\n\tdefaultBranch = main\n"
    )
    folder = home / "payouts"
    folder.mkdir()
    (folder / "retry.py").write_text("def schedule(attempt):\n    return 30 * 2**attempt\n")
    shown = lines_of("Notes in the repository")
    script = ["git init -q; git add -A; git commit -qm begin", "exec 2>&1"]
    for line in shown:
        if line.startswith("$ "):
            script += [f"printf '%s\\n' {shlex.quote(line)}", line.removeprefix("$ ")]
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"

    done = subprocess.run(
        ["bash", "-c", "\n".join(script)],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
    )

    assert without_what_changes(done.stdout.splitlines()) == without_what_changes(shown)
