"""Where the transcripts of a session and of a working tree are."""

import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from holdfast.clients import transcript
from holdfast.clients.transcript import TranscriptFile
from tests.clients import golden
from tests.clients.golden import FOLDER, get_reader_of, read_all

if TYPE_CHECKING:
    from holdfast.clients.transcript import TranscriptReader

HOME_FOLDER = "/home/dev/project"  # where the sessions of the samples were
SINCE = 1_794_700_000.0


def put(source: str, target: Path, changed_at: float = SINCE + 1000) -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(FOLDER / source, target)
    os.utime(target, (changed_at, changed_at))
    return target


def list_found(client: str, home: Path, folder: str = HOME_FOLDER) -> list[tuple[str, str]]:
    reader = get_reader_of(FOLDER / client / "tools.jsonl")
    found = list_own(reader, folder, home)
    return [(file.native_id, Path(file.path).name) for file in found]


def list_own(reader: "TranscriptReader", folder: str, home: Path) -> list[TranscriptFile]:
    found = reader.list_transcripts(folder, str(home), SINCE)
    return [file for file in found if reader.identify(file, folder)]


# --- the sources of a session ---------------------------------------------------------------------


def test_the_subagents_of_claude_are_found_beside_the_session():
    path = FOLDER / "claude/subagents.jsonl"
    reader = get_reader_of(path)

    sources = reader.find_sources("79dcaa42", str(path))

    assert [Path(source).name for source in sources] == [
        "subagents.jsonl",
        "agent-a0967fe0db73be9bc.jsonl",
    ]


def test_the_subagents_of_codex_are_found_by_their_first_line(tmp_path: Path):
    native_id = "01a1ea53-ccbc-7141-9d5c-8ba5b55e09e8"
    day, next_day = tmp_path / "sessions/2026/11/17", tmp_path / "sessions/2026/12/01"
    main = put("codex/subagents.jsonl", day / f"rollout-2026-11-17T16-25-22-{native_id}.jsonl")
    child = put("codex/subagent-child.jsonl", day / "rollout-2026-11-17T16-25-23-b.jsonl")
    later = put("codex/subagent-child.jsonl", next_day / "rollout-2026-12-01T08-00-00-c.jsonl")
    put("codex/tools.jsonl", day / "rollout-2026-11-17T16-30-00-d.jsonl")
    put("codex/subagent-child.jsonl", day / "rollout-2026-11-17T09-00-00-e.jsonl")  # older
    reader = get_reader_of(FOLDER / "codex/tools.jsonl")

    sources = reader.find_sources(native_id, str(main))

    assert sources == [str(main), str(child), str(later)]
    assert reader.find_sources(native_id, str(child)) == sources  # a hook of the subagent


def test_a_rewind_of_codex_is_another_file_of_the_same_session(tmp_path: Path):
    day = FOLDER / "codex/sessions/2026/11/17"
    before, after = sorted(day.glob("*.jsonl"))
    native_id = "01a1ea63-fd9a-7883-ab82-ae0cd1ab4319"
    reader = get_reader_of(before)
    shutil.copytree(day, tmp_path / ".codex/sessions/2026/11/17", copy_function=shutil.copyfile)

    assert reader.find_sources(native_id, str(after)) == [str(after), str(before)]
    assert reader.find_sources(native_id, str(before)) == [str(before), str(after)]
    found = list(reader.list_transcripts(HOME_FOLDER, str(tmp_path), 0))
    assert [file.native_id for file in found] == [native_id]


def test_a_resumed_session_of_gemini_is_the_largest_file_with_its_id(tmp_path: Path):
    native_id = "ef3378a9-3b82-4ac8-9745-19ddde341a88"
    stub = put("gemini/stub.jsonl", tmp_path / "session-2026-11-15T19-23-ef3378a9.jsonl")
    whole = put("gemini/hook-context.jsonl", tmp_path / "session-2026-11-15T19-22-ef3378a9.jsonl")
    put("gemini/resume.jsonl", tmp_path / "session-2026-11-15T19-00-ef3378a9.jsonl")  # another id
    child = put("gemini/subagent-child.jsonl", tmp_path / native_id / "child.jsonl")
    reader = get_reader_of(FOLDER / "gemini/tools.jsonl")

    assert reader.find_sources(native_id, str(stub)) == [str(whole), str(child)]
    assert reader.find_sources("other-id", str(stub)) == [str(stub)]


@pytest.mark.parametrize("name", golden.CLIENTS)
def test_a_transcript_that_is_not_there_is_its_own_only_source(name: str, tmp_path: Path):
    reader = get_reader_of(FOLDER / name / "tools.jsonl")
    for path in (str(tmp_path / "2026/11/17/missing.jsonl"), "", "missing", "/", "a\x00b"):
        assert reader.find_sources("some-id", path) == [path]


def test_what_a_subagent_does_is_marked_with_its_name():
    for path in sorted(FOLDER.rglob("*.jsonl")):
        if path.stem == "subagent-child" or path.parent.name == "subagents":
            records, _ = read_all(get_reader_of(path), path, {})
            assert records
            assert all(record.parts and record.parts["agent_id"] for record in records)
            assert all(record.parts and record.parts["agent"] for record in records)


# --- the transcripts of a working tree ------------------------------------------------------------


def test_the_sessions_of_claude_are_found_by_the_folder_that_they_name(tmp_path: Path):
    projects = tmp_path / ".claude/projects"
    put("claude/tools.jsonl", projects / "-home-dev-project/new.jsonl", SINCE + 20)
    put("claude/resume.jsonl", projects / "-home-dev-project/older.jsonl", SINCE + 10)
    put("claude/resume.jsonl", projects / "-home-dev-project/too-old.jsonl", SINCE - 1)
    put("claude/plan-1.jsonl", projects / "-home-dev-project-2/other.jsonl")
    other = projects / "-home-dev-project-2/other.jsonl"
    text = other.read_text().replace(HOME_FOLDER, "/home/dev/project-2")
    other.write_text(text)
    put("claude/plan-1.jsonl", projects / "-home-dev-project/new/subagents/agent-1.jsonl")
    put("claude/plan-1.jsonl", projects / "-home-dev-project/agent-2.jsonl")

    assert list_found("claude", tmp_path) == [("new", "new.jsonl"), ("older", "older.jsonl")]
    assert list_found("claude", tmp_path, "/home/dev/project-2") == [("other", "other.jsonl")]
    assert list_found("claude", tmp_path, "/home/dev/none") == []


def test_the_sessions_of_claude_are_found_in_a_folder_with_any_name(tmp_path: Path):
    """The client writes a dash for each unit of UTF-16: two for an emoji, one for an umlaut."""
    folder = "/home/dev/\N{ROCKET}-m\xfcll"
    path = put("claude/tools.jsonl", tmp_path / ".claude/projects/-home-dev----m-ll/a.jsonl")
    path.write_text(path.read_text().replace(HOME_FOLDER, folder))

    assert list_found("claude", tmp_path, folder) == [("a", "a.jsonl")]


def test_the_sessions_of_codex_are_found_by_their_first_line(tmp_path: Path):
    sessions = tmp_path / ".codex/sessions"
    put("codex/tools.jsonl", sessions / "2026/11/15/rollout-b.jsonl", SINCE + 20)
    put("codex/resume.jsonl", sessions / "2026/11/16/rollout-a.jsonl", SINCE + 10)
    put("codex/subagent-child.jsonl", sessions / "2026/11/16/rollout-c.jsonl")
    put("codex/fork.jsonl", sessions / "2025/01/01/rollout-d.jsonl")  # long before

    assert list_found("codex", tmp_path) == [
        ("01a1e0a5-b761-7cc1-82f6-8ee5f8f358e7", "rollout-b.jsonl"),
        ("01a1e07f-993c-7001-a325-520ed83b21f8", "rollout-a.jsonl"),
    ]
    assert list_found("codex", tmp_path, "/home/dev") != []
    assert list_found("codex", tmp_path, "/home/dev/pro") == []


def test_the_sessions_of_gemini_are_found_by_the_name_of_the_project(tmp_path: Path):
    root = tmp_path / ".gemini"
    chats = root / "tmp/project/chats"
    put("gemini/stub.jsonl", chats / "session-2026-11-15T19-23-ef3378a9.jsonl", SINCE + 30)
    put("gemini/hook-context.jsonl", chats / "session-2026-11-15T19-22-ef3378a9.jsonl", SINCE + 20)
    put("gemini/clear.jsonl", root / "tmp/marked/chats/session-2026-11-15T19-24-x.jsonl", SINCE + 9)
    put("gemini/resume.jsonl", root / "tmp/other/chats/session-2026-11-15T19-25-y.jsonl")
    put("gemini/subagent-child.jsonl", chats / "ef3378a9/child.jsonl")
    (root / "projects.json").write_text(
        '{"projects":{"/home/dev/project":"project","/home/dev/project/..":"../../secret"}}'
    )
    (root / "tmp/marked/.project_root").write_text("/home/dev/project/web\n")

    assert list_found("gemini", tmp_path) == [
        ("ef3378a9-3b82-4ac8-9745-19ddde341a88", "session-2026-11-15T19-22-ef3378a9.jsonl"),
        ("4824663a-a1de-4cb9-a710-4efa79b9e5a1", "session-2026-11-15T19-24-x.jsonl"),
    ]
    reader = get_reader_of(FOLDER / "gemini/tools.jsonl")
    found = list_own(reader, HOME_FOLDER, tmp_path)
    assert [file.cwd for file in found] == [HOME_FOLDER, f"{HOME_FOLDER}/web"]


@pytest.mark.parametrize(
    ("name", "below"),
    [
        ("claude", ".claude/projects/-home-dev-project-web/a.jsonl"),
        ("codex", ".codex/sessions/2026/11/15/rollout-a.jsonl"),
    ],
)
def test_a_transcript_names_the_folder_and_the_branch_that_its_session_began_in(
    name: str, below: str, tmp_path: Path
):
    path = put(f"{name}/tools.jsonl", tmp_path / below)
    inner = f"{HOME_FOLDER}/web"
    text = path.read_text().replace(f'"cwd":"{HOME_FOLDER}"', f'"cwd":"{inner}"')
    path.write_text(text.replace('ranch":"main"', 'ranch":"feat/x"'))
    reader = get_reader_of(FOLDER / name / "tools.jsonl")

    [found] = list_own(reader, HOME_FOLDER, tmp_path)

    assert (found.cwd, found.git_branch) == (inner, "feat/x")


def test_a_folder_is_read_behind_a_first_request_that_is_long(tmp_path: Path):
    long = "x" * 200_000
    path = tmp_path / ".claude/projects/-home-dev-project/a.jsonl"
    path.parent.mkdir(parents=True)
    first = {"type": "user", "message": {"content": long}, "cwd": HOME_FOLDER, "gitBranch": "HEAD"}
    path.write_text(json.dumps(first, separators=(",", ":")) + "\n")
    reader = get_reader_of(FOLDER / "claude/tools.jsonl")

    [found] = list_own(reader, HOME_FOLDER, tmp_path)

    assert (found.cwd, found.git_branch) == (HOME_FOLDER, None)


@pytest.mark.parametrize(
    ("name", "variable", "below"),
    [
        ("claude", "CLAUDE_CONFIG_DIR", "projects/-home-dev-project/a.jsonl"),
        ("codex", "CODEX_HOME", "sessions/2026/11/15/rollout-a.jsonl"),
    ],
)
def test_a_client_that_was_moved_is_found_where_it_is(
    name: str, variable: str, below: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    put(f"{name}/tools.jsonl", tmp_path / "moved" / below)
    monkeypatch.setenv(variable, str(tmp_path / "moved"))

    assert [file for _, file in list_found(name, tmp_path)] == [Path(below).name]


def test_all_are_found_and_no_more_than_their_heads_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for number in range(80):
        at = SINCE + number
        put(
            "claude/tools.jsonl",
            tmp_path / f".claude/projects/-home-dev-project/{number}.jsonl",
            at,
        )
        chats = tmp_path / ".gemini/tmp/project/chats"
        chat = put("gemini/clear.jsonl", chats / f"session-2026-{number}.jsonl", at)
        text = chat.read_text().replace("4824663a-a1de", f"4824663a-{number:04}")
        chat.write_text(text)
        os.utime(chat, (at, at))
        thread = f"01a1e0a5-{number:04}-7cc1-82f6-8ee5f8f358e7"
        rollout = tmp_path / f".codex/sessions/2026/11/15/rollout-2026-{thread}.jsonl"
        put("codex/tools.jsonl", rollout, at)
        text = rollout.read_text().replace("01a1e0a5-b761", f"01a1e0a5-{number:04}")
        rollout.write_text(text)
        os.utime(rollout, (at, at))
    pread = os.pread
    sizes = []

    def count(fd: int, size: int, offset: int) -> bytes:
        data = pread(fd, size, offset)
        sizes.append(len(data))
        return data

    monkeypatch.setattr(transcript.os, "pread", count)
    for name in ("claude", "codex"):
        reader = get_reader_of(FOLDER / name / "tools.jsonl")
        assert len(list(reader.list_transcripts(HOME_FOLDER, str(tmp_path), SINCE))) == 80
    assert sizes == []

    assert len(list_found("claude", tmp_path)) == 80
    assert list_found("claude", tmp_path)[0] == ("79", "79.jsonl")
    assert len(list_found("codex", tmp_path)) == 80
    (tmp_path / ".gemini/tmp/project/.project_root").write_text(HOME_FOLDER)
    assert len(list_found("gemini", tmp_path)) == 80
    assert len(sizes) <= 800


@pytest.mark.parametrize("name", golden.CLIENTS)
def test_a_home_without_the_client_has_no_transcripts(name: str, tmp_path: Path):
    assert list_found(name, tmp_path) == []
    (tmp_path / f".{name}").write_text("a file in the place of a folder")
    assert list_found(name, tmp_path) == []
