"""The table of situations for stale notes, through a real repository and real memory files."""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.noise import DOMAINS, MOST, Author
from holdfast.clients import find_client
from holdfast.clients.contract import HookMoment, parse_origin
from holdfast.ground.settings import load_settings
from holdfast.notices import stale
from holdfast.notices.model import Edit, Entries, NoticeIndex
from holdfast.usecases import noticing, stale_index
from tests.ground.repositories import Work
from tests.notices.situations import (
    FILES_NOW,
    FILES_THEN,
    KEPT,
    MEMORY_FILES,
    OF_THE_USER,
    OWN_MEMORY,
    RENAMED_SINCE,
    STALE_SILENT,
    STALE_SPEAK,
    StaleSituation,
)

SETTLED = 1_700_000_000


def make_repository(root: Path, files: Mapping[str, str]) -> Work:
    root.mkdir()
    work = Work(root)
    work.git("init", "--quiet", "--initial-branch=main")
    for path, text in files.items():
        work.write(path, text)
    work.commit("begin")
    return work


def settle(work: Work) -> None:
    """As if all of it had been so for long: an index that is made now is used on."""
    for folder in (work.root, Path(os.environ["HOME"])):
        for path in (path for path in folder.rglob("*") if path.is_file()):
            os.utime(path, (SETTLED, SETTLED))


def find_own_memory(work: Work) -> Path:
    name = "".join(char if char.isalnum() else "-" for char in str(work.root))
    return Path(os.environ["HOME"], ".claude/projects", name, "memory")


@pytest.fixture
def work(tmp_path: Path) -> Work:
    """What changed since its notes were written."""
    work = make_repository(tmp_path / "payouts", {**FILES_THEN, **MEMORY_FILES})
    (work.root / "deploy").mkdir()
    for old, new in RENAMED_SINCE.items():
        work.git("mv", old, new)
    work.git("rm", "--quiet", *(path for path in FILES_THEN if path not in KEPT))
    for path, text in FILES_NOW.items():
        work.write(path, text)
    work.commit("change")
    own = find_own_memory(work)
    own.mkdir(parents=True)
    (own / "MEMORY.md").write_text(OWN_MEMORY)
    (own.parents[2] / "CLAUDE.md").write_text(OF_THE_USER)
    settle(work)
    return work


def ask(
    work: Work,
    path: str,
    new: str,
    old: str = "",
    *,
    session: str = "s1",
    client_name: str = "claude",
    make: Callable[..., NoticeIndex | None] = stale_index.make_index,
) -> str:
    """What the hook of an edit does, in this process; nobody shares notes."""
    client = find_client(client_name)
    assert client is not None
    given_input = {"file_path": str(work.root / path), "old_string": old, "new_string": new}
    payload: dict[str, Any] = {
        "hook_event_name": "PreToolUse",
        "session_id": session,
        "cwd": str(work.root),
        "tool_name": "Edit",
        "tool_input": given_input,
    }
    origin = parse_origin(client, "PreToolUse", payload)
    assert origin is not None
    moment = HookMoment(client, "PreToolUse", payload, origin)
    return noticing.make_notice(load_settings(), moment, None, lambda *_: None, make)


def list_places(told: str) -> tuple[str, ...]:
    lines = told.splitlines()
    return tuple(line.removeprefix("stale note ").partition(" says ")[0] for line in lines)


@pytest.mark.parametrize("situation", STALE_SPEAK, ids=lambda situation: situation.what)
def test_a_stale_note_that_concerns_exactly_this_edit_is_told(
    situation: StaleSituation, work: Work
):
    told = ask(work, situation.path, situation.new, situation.old)

    assert list_places(told) == situation.told
    assert 0 < len(told) <= 300


def test_no_other_edit_is_told_of_one(work: Work):
    told = {each.what: ask(work, each.path, each.new, each.old) for each in STALE_SILENT}

    assert {what: text for what, text in told.items() if text} == {}


def test_there_are_at_least_twelve_of_each():
    assert min(len(STALE_SPEAK), len(STALE_SILENT)) >= 12
    assert all(situation.told for situation in STALE_SPEAK)
    assert not any(situation.told for situation in STALE_SILENT)


def test_it_says_where_the_note_is_what_it_names_and_what_is_true_now(work: Work):
    commit = work.git("rev-parse", "--short=7", "HEAD")

    assert ask(work, "src/old.py", "x = 1\n") == (
        f"stale note CLAUDE.md:1 says src/old.py: deleted in {commit}"
    )
    assert ask(work, "src/schedule.py", "x = 1\n") == (
        "stale note CLAUDE.md:2 says src/retry.py: renamed to src/schedule.py"
    )
    assert ask(work, "src/c.py", "forget_me()\n") == (
        "stale note CLAUDE.md:7 says forget_me: forget_me is in no file any more"
    )


def test_each_client_is_told_of_the_files_that_it_loads(work: Work):
    for client, path, place in (
        ("gemini", "src/gem.py", "GEMINI.md:1"),
        ("codex", "src/agents.py", "AGENTS.md:1"),
        ("opencode", "src/agents.py", "AGENTS.md:1"),
    ):
        told = ask(work, path, "x = 1\n", client_name=client)
        assert list_places(told) == (place,), client
        assert ask(work, "src/old.py", "x = 1\n", client_name=client) == ""


# --- the index ------------------------------------------------------------------------------------


class Counting:
    """Makes the index, and counts how often."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, *given: Any) -> NoticeIndex | None:
        self.count += 1
        return stale_index.make_index(*given)


def test_it_is_made_again_when_a_memory_file_or_head_changes_and_not_else(work: Work):
    make = Counting()

    def touch(path: str) -> str:
        return ask(work, path, "x = 1\n", make=make)

    assert touch("src/kept.py") == touch("src/other.py") == ""
    assert make.count == 1

    (work.root / "CLAUDE.md").write_text("- nothing is named here\n")
    assert touch("src/old.py") == ""
    assert make.count == 2

    (find_own_memory(work) / "MEMORY.md").write_text("- see `src/kept.py`\n")
    settle(work)
    assert touch("src/kept.py") == ""
    work.git("rm", "--quiet", "src/kept.py")
    work.commit("remove")
    assert list_places(touch("src/kept.py")) == ("Claude's memory, MEMORY.md:1",)


def test_a_file_that_came_back_or_moved_on_since_is_not_told(work: Work):
    ask(work, "src/kept.py", "x = 1\n")
    work.write("src/old.py", "back = 1\n")
    (work.root / "src/schedule.py").rename(work.root / "src/later.py")

    assert ask(work, "docs/x.md", "See src/old.py.\n") == ""
    assert ask(work, "docs/x.md", "See src/retry.py.\n") == ""


def test_an_edit_that_was_made_already_is_told_of_what_it_made_again(work: Work):
    """The hook of some clients comes after the edit, and may be the first of all."""
    work.write("src/old.py", "x = 1\n")

    assert list_places(ask(work, "src/old.py", "x = 1\n")) == ("CLAUDE.md:1",)
    assert ask(work, "src/old.py", "y = 1\n", "x = 1\n", session="s2") == ""


def test_a_look_that_is_given_up_is_not_tried_again_at_the_next_edit(
    work: Work, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    starts = tmp_path / "starts"
    (tmp_path / "bin").mkdir()
    git = tmp_path / "bin" / "git"
    git.write_text(f"#!/bin/sh\necho x >> {starts}\nexit 128\n")
    git.chmod(0o755)
    path = os.environ["PATH"]
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))

    def fail_quietly(*given: Any) -> NoticeIndex | None:
        """As the hook does."""
        with pytest.raises(Exception, match="git"):
            stale_index.make_index(*given)
        return None

    assert ask(work, "src/old.py", "x = 1\n", make=fail_quietly) == ""
    tried = starts.read_text()
    monkeypatch.setenv("PATH", path)
    work.git("commit", "--quiet", "--allow-empty", "-m", "go on")

    assert ask(work, "src/old.py", "x = 1\n") == ""
    assert starts.read_text() == tried


def test_outside_of_a_repository_nothing_is_told(tmp_path: Path):
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "CLAUDE.md").write_text("- `src/old.py`\n")

    assert ask(Work(tmp_path / "plain"), "src/old.py", "x = 1\n") == ""


@given(st.text(max_size=300), st.sampled_from(["src/a.py", "a.md", "web/b.ts"]))
def test_any_edit_can_be_read_and_the_first_look_leaves_nothing_out(text: str, path: str):
    name = {"term": "src/old.py", "text": "", "gone": "src/old.py", "now": "lib/old.py"}
    lost = {"term": "A.run", "text": "", "gone": "", "now": "", "was_in": "b.py", "symbol": "A.run"}
    names = [{**name, "was_in": "", "symbol": ""}, lost]
    entry = {"identity": "n", "id": "C:1", "kind": "stale", "file": "C", "names": names}
    keys = {key: [0] for key in stale.list_lookups(entry)}
    index = NoticeIndex(keys, Entries([json.dumps(entry).encode()]))
    for words in (text, f"{text} old.py {text}", f"{text} src/old.py", f"A.run({text})"):
        edit = Edit(path, words, frozenset(words.split("\n")))

        found = stale.match_stale([edit], index)

        assert not found or index.may_be_about(edit)


# --- noise ----------------------------------------------------------------------------------------


def test_at_most_one_in_fifty_unrelated_edits_is_told_of_a_stale_note(tmp_path: Path):
    """200 notes, of which 40 are stale, in the words of the same domains as the edits."""
    gone = [
        f"src/{domain.folder}/{part.split()[-1]}.py" for domain in DOMAINS for part in domain.parts
    ][:32]
    kept = [f"src/{DOMAINS[number % 8].folder}/kept_{number}.py" for number in range(160)]
    lost = [f"{domain.things[0].split()[0]}_{domain.folder}" for domain in DOMAINS]
    code = "".join(f"def {name}():\n    return 1\n\n\n" for name in lost)
    named = [f"- `{path}` comes first" for path in (*gone, *kept)]
    notes = "\n".join([*named, *(f"- call `{name}()` last" for name in lost)])
    files = {path: f"VALUE_{number} = 1\n" for number, path in enumerate((*gone, *kept))}
    work = make_repository(
        tmp_path / "work", {**files, "src/names.py": code, "CLAUDE.md": f"{notes}\n"}
    )
    work.git("rm", "--quiet", *gone, "src/names.py")
    work.commit("change")
    settle(work)
    make = Counting()

    edits = list(Author().list_edits())
    spoken = [
        path
        for number, (path, old, new) in enumerate(edits)
        if ask(work, path, new, old, session=f"s{number}", make=make)
    ]
    first = [ask(work, path, "x = 1\n", session="one", make=make) for path in gone]
    first += [ask(work, "src/x.py", f"{name}()\n", session="one", make=make) for name in lost]
    again = [ask(work, path, "x = 1\n", session="one", make=make) for path in gone]
    again += [ask(work, "src/x.py", f"{name}()\n", session="one", make=make) for name in lost]

    assert (len(named) + len(lost), len(edits)) == (200, 500)
    assert len(spoken) <= MOST * len(edits), spoken
    assert len(list(filter(None, first))) == 40
    assert list(filter(None, again)) == []
    assert make.count == 1
