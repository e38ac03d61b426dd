"""Which memory files the clients load, and how they are read."""

import json
import os
from pathlib import Path

import pytest

from holdfast.clients import memory_files
from holdfast.clients.memory_files import MemoryFile, MemoryPlace, read_memory


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "my repo"
    (root / ".git").mkdir(parents=True)
    (root / "api").mkdir()
    return root


def write(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def read(home: Path, root: Path, folder: str = "", **environment: str) -> dict[str, MemoryFile]:
    place = MemoryPlace(
        user_folder=str(home),
        environment=environment,
        folder=os.path.join(root, folder) if folder else str(root),
        worktree=str(root),
        main_worktree=str(root),
    )
    return {os.path.relpath(file.path, root.parent): file for file in read_memory(place)}


def test_each_client_loads_its_own_files_and_a_shared_one_is_read_once(home: Path, root: Path):
    name = "".join(char if char.isalnum() else "-" for char in str(root))
    write(home / ".claude/projects" / name / "memory/MEMORY.md", "- a")
    write(home / ".claude/projects" / name / "memory/topic.md", "- b")
    write(home / ".claude/CLAUDE.md", "- of the person")
    write(root / "CLAUDE.md", "- c")
    write(root / "AGENTS.md", "- d")
    write(root / "api/AGENTS.md", "- e")
    write(home / ".codex/memories/MEMORY.md", "- f")
    write(home / ".codex/memories/raw_memories.md", "- not loaded")
    write(home / ".gemini/GEMINI.md", "## Gemini Added Memories\n- g")
    write(root / "GEMINI.md", "- h")

    found = read(home, root, "api")

    loaded = {path: (file.title, file.loaded_by) for path, file in found.items()}
    memory = f"home/.claude/projects/{name}/memory"
    assert loaded == {
        f"{memory}/MEMORY.md": ("Claude's memory", ("claude",)),
        f"{memory}/topic.md": ("Claude's memory", ("claude",)),
        "home/.claude/CLAUDE.md": ("CLAUDE.md of the user", ("claude", "opencode")),
        "my repo/CLAUDE.md": ("CLAUDE.md", ("claude",)),
        "my repo/api/AGENTS.md": ("AGENTS.md", ("claude", "codex", "opencode")),
        "my repo/AGENTS.md": ("AGENTS.md", ("codex", "opencode")),
        "home/.codex/memories/MEMORY.md": ("Codex's memory", ("codex",)),
        "home/.gemini/GEMINI.md": ("GEMINI.md of the user", ("gemini",)),
        "my repo/GEMINI.md": ("GEMINI.md", ("gemini",)),
    }


def test_variables_move_the_files_of_a_client(home: Path, root: Path, tmp_path: Path):
    write(tmp_path / "c/CLAUDE.md", "- c")
    write(tmp_path / "x/AGENTS.override.md", "- x")
    write(tmp_path / "x/AGENTS.md", "- not loaded")
    write(tmp_path / "g/.gemini/GEMINI.md", "- g")
    write(tmp_path / "o/opencode/AGENTS.md", "- o")

    found = read(
        home,
        root,
        CLAUDE_CONFIG_DIR=str(tmp_path / "c"),
        CODEX_HOME=str(tmp_path / "x"),
        GEMINI_CLI_HOME=str(tmp_path / "g"),
        XDG_CONFIG_HOME=str(tmp_path / "o"),
    )

    assert [*found] == [
        "c/CLAUDE.md",
        "x/AGENTS.override.md",
        "g/.gemini/GEMINI.md",
        "o/opencode/AGENTS.md",
    ]


def test_settings_name_other_files(home: Path, root: Path):
    settings = {"context": {"fileName": ["AGENTS.md", "../../etc/passwd"]}}
    write(home / ".gemini/settings.json", json.dumps(settings))
    write(home / ".gemini/projects.json", json.dumps({"projects": {str(root): "payouts"}}))
    write(home / ".gemini/tmp/payouts/memory/MEMORY.md", "- private")
    write(home / ".claude/settings.json", '{"autoMemoryDirectory": "~/notes"}')
    write(home / "notes/MEMORY.md", "- elsewhere")
    write(root / "opencode.json", '{"instructions": ["docs/rules.md", "https://x", "a/*.md"]}')
    write(root / "docs/rules.md", "- rules")
    write(root / "AGENTS.md", "- agents")

    found = read(home, root)

    titles = {path: file.title for path, file in found.items()}
    assert titles == {
        "home/notes/MEMORY.md": "Claude's memory",
        "my repo/AGENTS.md": "AGENTS.md",
        "home/.gemini/tmp/payouts/memory/MEMORY.md": "Gemini's memory",
        "my repo/docs/rules.md": "OpenCode's instructions",
    }
    assert found["my repo/AGENTS.md"].loaded_by == ("claude", "codex", "gemini", "opencode")


def test_imports_are_followed_once_and_not_out_of_the_repository(home: Path, root: Path):
    secret = write(home.parent / "secret.md", "- a secret")
    text = "See @docs/a.md, me@docs/b.md and `@docs/b.md`.\n```\n@docs/b.md\n```\n@../secret.md\n"
    write(root / "CLAUDE.md", text)
    write(root / "docs/a.md", "@../CLAUDE.md @c.md")
    write(root / "docs/b.md", "- not imported")
    write(root / "docs/c.md", "- c")

    found = read(home, root)

    assert [*found] == ["my repo/CLAUDE.md", "my repo/docs/a.md", "my repo/docs/c.md", "secret.md"]
    assert found["secret.md"].text == ""
    assert "leads out of" in found["secret.md"].problem
    assert secret.read_text() == "- a secret"


def test_a_link_is_followed_inside_and_not_out(home: Path, root: Path):
    write(root / "AGENTS.md", "- one")
    (root / "CLAUDE.md").symlink_to("AGENTS.md")
    (root / "GEMINI.md").symlink_to("/etc/passwd")

    found = read(home, root)

    assert found["my repo/CLAUDE.md"].loaded_by == ("claude", "codex", "opencode")
    assert (found["my repo/GEMINI.md"].text, found["my repo/GEMINI.md"].problem) == (
        "",
        f"leads out of {root}",
    )


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"x" * (10 << 20), memory_files.TOO_LARGE),
        (b"\x7fELF\0\0\1", memory_files.NOT_A_TEXT),
    ],
)
def test_a_file_that_is_no_text_is_named_and_the_others_are_read(home, root, data, problem):
    write(root / "CLAUDE.md", data)
    write(root / "GEMINI.md", "- h")

    found = read(home, root)

    assert found["my repo/CLAUDE.md"].problem == problem
    assert found["my repo/GEMINI.md"].text == "- h"


def test_a_pipe_and_a_folder_in_a_files_place_stop_nothing(home: Path, root: Path):
    os.mkfifo(root / "CLAUDE.md")
    (root / "GEMINI.md").mkdir()
    write(root / "AGENTS.md", b"\xef\xbb\xbf- \xff latin")

    found = read(home, root)

    assert "not a regular file" in found["my repo/CLAUDE.md"].problem
    assert "my repo/GEMINI.md" not in found
    assert found["my repo/AGENTS.md"].text == "- \ufffd latin"


def test_the_number_of_files_is_limited_and_the_rest_is_named(home: Path, root: Path):
    for number in range(130):
        write(root / f".claude/rules/{number:03}.md", f"- rule {number}")

    found = read(home, root).values()

    assert len([file for file in found if file.text]) == memory_files.MOST_FILES
    assert len([file for file in found if file.problem == memory_files.TOO_MUCH]) == 30


def test_a_long_path_is_found_by_its_beginning_and_rules_are_read(home: Path, tmp_path: Path):
    root = tmp_path / ("a" * 120) / ("b" * 120)
    root.mkdir(parents=True)
    name = "".join(char if char.isalnum() else "-" for char in str(root))
    assert read(home, root) == {}
    write(home / ".claude/projects" / f"{name[:200]}-1x2y" / "memory/MEMORY.md", "- long")
    write(home / ".claude/rules/style.md", "- rule")

    assert [file.text for file in read(home, root).values()] == ["- long", "- rule"]
