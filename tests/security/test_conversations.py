"""Conversations in a repository: TS11, TS12, TS14, TS17. What stands there is data, and what is
written there others can read.
"""

import hashlib
import json
import os
import random
import shutil
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from holdfast.app import App
from holdfast.usecases import conversing, sharing
from tests.rig.commands import Call, cli
from tests.security import test_repo_files as layouts
from tests.security.secret_samples import BY_STRUCTURE, PER_FAMILY, plant, samples
from tests.security.test_paths import MARK, hostile_texts
from tests.security.test_terminal import (
    ATTACKS,
    BIDI,
    CONTROLS,
    OWN,
    TAGS,
    UNSEEN,
    is_forbidden,
    nasty_text,
    seen_on_a_terminal,
)
from tests.workstreams.repos import Repo, with_code

__all__ = ["cli"]  # a fixture

Scale = Callable[[int], int]


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """In which the person wants conversations and what is said in them to be kept."""
    made = with_code(tmp_path / "project")
    home, name = os.environ["HOLDFAST_HOME"], sharing.find_repository_name(str(made.folder))
    assert name is not None
    sharing.set_switch(home, name, conversing.SWITCH, is_on=True)
    sharing.set_switch(home, name, conversing.MESSAGES_SWITCH, is_on=True)
    return made


@pytest.fixture
def project(repo: Repo) -> Path:
    return repo.folder


def begin(cli: Call, title: str = "Webhook retry") -> str:
    made = cli("conversation", "new", "debug", title, "--json").document
    return str(made["conversation"]["id"])


def start(cli: Call) -> str:
    return str(cli("session", "start", "--chatmode", "coder", "--json").document["id"])


def say(cli: Call, session: str, content: str) -> None:
    said = ("--type", "user_message", "--role", "user", "--content", content)
    assert cli("session", "append", session, *said).code == 0


# --- TS11: no text becomes a path -----------------------------------------------------------------

WATCHED = """
import contextlib, io, json, os, sys
from holdfast.surfaces.cli import main

texts, home, project, mark, id_ = (
    json.load(open(sys.argv[1])), sys.argv[2], os.getcwd(), sys.argv[3], sys.argv[4]
)
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
CHANGING = ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink",
            "os.truncate", "os.chmod")
outside = []

def watch(event, args):
    if event in ("open", "import", "os.listdir", "os.scandir", *CHANGING):
        names = [name for name in args[:2] if isinstance(name, (str, bytes))]
        has_folder = event in CHANGING and isinstance(args[-1], int) and args[-1] >= 0
        opened = event == "open" and isinstance(args[2], int) and args[2] & WRITING
        for name in [os.fsdecode(name) for name in names[: 2 if event == "os.rename" else 1]]:
            if has_folder or (event == "open" and "/" not in name and args[1] is None):
                # Inside of an open folder: one step, and never upwards.
                if "/" in name or name in ("..", "."):
                    outside.append([event, name])
                continue
            path = os.path.abspath(name)
            inside = any(path == root or path.startswith(root + os.sep) for root in (home, project))
            is_changed = event in CHANGING or opened
            if not inside and path != os.devnull and (is_changed or mark in path):
                outside.append([event, path])

described = os.path.join(project, "conversations", id_, ".session", "session.json")
messages = os.path.join(project, "conversations", id_, ".session", "messages.jsonl")

def try_everything(text):
    main(["conversation", "new", "--", text, "title"])
    main(["conversation", "new", "--", "debug", text])
    for verb in ("show", "save", "pause", "complete", "archive"):
        main(["conversation", verb, "--", text])
    main(["conversation", "prune", "--yes", "--", text])
    main(["conversation", "save", "--summary", text, id_])
    main(["resume", "--print", "--", text])
    main(["resume", "--list", "--", text])
    main(["resume", "--in", text, "--", id_])
    config = {"command": text, "system_prompt_hash": text, "model": text, "tools": [text]}
    with open(described, "w") as file:
        json.dump({"version": "1.0", "conversation_id": text, "conversation_type": text,
                   "title": text, "session_id": text, "client": text, "git_head": text,
                   "files": [text, "../" + text, "/" + text], "agent_config": config,
                   "context_summary": text, text: text}, file)
    with open(messages, "w") as file:
        json.dump({"id": text, "role": "user", "content": text, "client": text}, file)
    for verb in ("show", "save"):
        main(["conversation", verb, id_])
    main(["resume", "--print", "--in", "claude", id_])
    main(["resume", "--json", "--in", "codex", id_])

with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    try_everything("warm up")
    sys.addaudithook(watch)
    for text in texts:
        try_everything(text)
found = list(outside)
canary = os.path.join(os.path.dirname(home), mark + "-canary")
open(canary, "w").close()
os.remove(canary)
print(json.dumps({"outside": found, "noticed": len(outside) - len(found)}))
"""


def test_no_text_of_a_conversation_becomes_a_path_outside(
    cli: Call, tmp_path: Path, project: Path, scale: Scale, monkeypatch: pytest.MonkeyPatch
):
    """TS11: types, titles, ids, summaries, words, and every field of `session.json`."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("claude", "codex"):
        (programs / name).write_text("#!/bin/sh\n")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    id_ = begin(cli)
    texts = hostile_texts(scale(500), seed=7)
    (tmp_path / "texts.json").write_text(json.dumps(texts))
    around = set(tmp_path.iterdir())

    done = subprocess.run(
        [sys.executable, "-c", WATCHED, tmp_path / "texts.json", tmp_path / "holdfast", MARK, id_],
        cwd=project,
        env={name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )

    assert (done.returncode, done.stderr) == (0, "")
    answer = json.loads(done.stdout)
    assert answer["outside"] == []
    assert answer["noticed"] >= 1
    assert set(tmp_path.iterdir()) == around


# --- TS12: links, pipes and devices ---------------------------------------------------------------

PLACES = {
    "conversations": layouts.link_outside,
    "conversations/{day}": layouts.link_outside,
    "conversations/{id}": layouts.link_outside,
    "conversations/{id}/.session": layouts.link_outside,
}
FILES = ("debug.md", ".session/session.json", ".session/messages.jsonl", ".session/.recovered")
LAYOUTS = [
    *(
        (name, kind)
        for name in PLACES
        for kind in (
            layouts.link_outside,
            layouts.link_nowhere,
            layouts.link_to_itself,
            layouts.pipe,
        )
    ),
    *(
        (f"conversations/{{id}}/{name}", kind)
        for name in FILES
        for kind in (
            layouts.link_to_file,
            layouts.link_nowhere,
            layouts.endless_device,
            layouts.pipe,
            layouts.listening,
            layouts.hard_link,
            layouts.two_gigabytes,
            layouts.folder,
        )
    ),
]


@pytest.mark.parametrize(
    ("name", "make"), LAYOUTS, ids=lambda value: getattr(value, "__name__", str(value))
)
def test_anything_in_place_of_a_conversation_is_refused_or_ignored(
    cli: Call, repo: Repo, tmp_path: Path, name: str, make: Callable[[Path, Path], None]
):
    """TS12: nothing waits, nothing outside is read into an answer, nothing outside is written."""
    outside = tmp_path / "outside"
    (outside / "context").mkdir(parents=True)
    (outside / "secret").write_text("the-secret\n")
    session = start(cli)
    id_ = begin(cli)
    other = begin(cli, "Another one")
    say(cli, session, "Retry webhooks.")
    place = repo.folder / name.format(id=id_, day=id_.partition("/")[0])
    move_away(place, tmp_path / "away")
    make(place, outside)
    before, kind = snapshot(outside), stat.S_IFMT(place.lstat().st_mode)

    answers = [
        cli(*words[:2], "--json", *words[2:])
        for words in (
            ("conversation", "list"),
            ("conversation", "show", id_),
            ("conversation", "save", id_, "--summary", "x"),
            ("conversation", "save", other),
            ("resume", "--list"),
            ("resume", "--list", "webhooks"),
            ("resume", "--print", id_),
            ("conversation", "prune", id_, "--yes"),
            ("forget", "--match", "webhooks", "--yes"),
            ("conversation", "archive", id_),
        )
    ]

    for answer in answers:
        assert answer.code in (0, 2, 3, 5, 6), answer
        assert answer.document.get("code") != "bug"
        assert make is layouts.hard_link or "the-secret" not in answer.out + answer.err
    assert [answers[0].code, answers[4].code, answers[5].code] == [0, 0, 0]
    assert snapshot(outside) == before
    if place.is_symlink() or place.exists():
        assert make is layouts.hard_link or stat.S_IFMT(place.lstat().st_mode) == kind


def test_a_folder_swapped_for_a_link_while_saving_never_leads_out(
    cli: Call, repo: Repo, tmp_path: Path, scale: Scale
):
    """TS12: the folder that was checked is the one that is written into."""
    id_ = begin(cli)
    folder, kept = repo.folder / "conversations" / id_ / ".session", tmp_path / "kept"
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "session.json").write_text('{"title": "the-secret"}')
    before = snapshot(outside)
    is_over = threading.Event()

    def swap() -> None:
        while not is_over.is_set():
            folder.rename(kept)
            with suppress(FileExistsError):  # a save makes a new one where it is missing
                folder.symlink_to(outside)
                folder.unlink()
            while kept.exists():
                shutil.rmtree(folder, ignore_errors=True)
                with suppress(OSError):
                    kept.rename(folder)

    swapping = threading.Thread(target=swap)
    swapping.start()
    try:
        answers = [
            cli("conversation", verb, id_, "--json")
            for _ in range(scale(200))
            for verb in ("show", "save")
        ]
    finally:
        is_over.set()
        swapping.join()

    assert [answer for answer in answers if answer.code not in (0, 5, 6)] == []
    assert not any("the-secret" in answer.out + answer.err for answer in answers)
    assert snapshot(outside) == before


def move_away(place: Path, to: Path) -> None:
    if place.exists():
        place.rename(to)


def snapshot(folder: Path) -> dict[str, object]:
    """Names, kinds and contents of everything, without following anything."""
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        mode = path.lstat().st_mode
        is_small = stat.S_ISREG(mode) and path.lstat().st_size < 1 << 20
        content = hashlib.sha256(path.read_bytes()).hexdigest() if is_small else ""
        found[str(path)] = stat.S_IFMT(mode), content
    return found


# --- TS14: nothing reaches a terminal raw ---------------------------------------------------------


def test_no_text_of_a_conversation_reaches_the_terminal_raw(
    cli: Call, project: Path, tmp_path: Path, scale: Scale
):
    """TS14: titles, summaries, messages, names of files, clients and models, on a terminal."""
    chance = random.Random(17)
    pieces = (*CONTROLS, *BIDI, *TAGS, *UNSEEN, *ATTACKS)
    ids = [begin(cli, f"Topic {number}") for number in range(3)]
    folder = project / "conversations"
    texts = [nasty_text(chance, pieces) for _ in range(scale(500))]
    for number, id_ in enumerate(ids):
        text = texts[number]
        described = {
            **dict.fromkeys(("title", "context_summary", "client", "session_id"), text),
            "version": "1.0",
            "git_head": "a" * 40,
            "files": [text, *texts[:5]],
            "agent_config": {"command": text, "model": text, "tools": texts[:9]},
            text: text,
        }
        (folder / id_ / ".session/session.json").write_text(json.dumps(described))
        (folder / id_ / "debug.md").write_text(f"# {text}\n")
        lines = [json.dumps({"id": t, "role": "user", "content": f"{t} find me"}) for t in texts]
        (folder / id_ / ".session/messages.jsonl").write_text("\n".join(lines) + "\n")
    (folder / ids[2] / ".session/session.json").write_text(f'{{"version": "9{texts[3]!r}"')
    (folder / ids[1] / ".session").rename(tmp_path / "away")
    printers: tuple[tuple[str, ...], ...] = (
        ("conversation", "list"),
        ("conversation", "show", ids[0]),
        ("conversation", "show", ids[2]),
        ("resume", "--list"),
        ("resume", "--list", "find me"),
        ("resume", "--print", "--", ids[0]),
        ("resume", "--print", "--", ids[1]),
        ("conversation", "prune", "--dry-run", ids[0]),
        ("conversation", "archive", "--dry-run", ids[0]),
    )
    once: tuple[tuple[str, ...], ...] = (
        ("resume",),
        ("resume", "--print", "--", ATTACKS[0]),
        ("resume", "--list", "--", ATTACKS[1]),
        ("conversation", "show", "--", ATTACKS[2]),
        ("conversation", "prune", ids[0]),
        ("conversation", "save", ids[0]),
        ("conversation", "complete", ids[0]),
    )
    for arguments in (*printers, *((*printer, "--json") for printer in printers), *once):
        seen = OWN.sub("", seen_on_a_terminal(*arguments, cwd=project, typed="find me\n1\nn\nq\n"))

        assert len(seen) > 10, arguments
        assert "bug in Holdfast" not in seen, arguments
        assert sorted({sign for sign in seen if is_forbidden(sign)}) == [], arguments


# --- TS17: no secret goes into the repository -----------------------------------------------------


def test_no_secret_of_a_known_structure_is_written_into_the_repository(
    repo: Repo, record_property: Callable[[str, object], None]
):
    """TS17: in what was said, in titles, summaries, names of files and of models."""
    wanted = [s for s in samples() if s.family in BY_STRUCTURE]
    planted = [each for sample in wanted for each in plant(sample)]
    record_property("N", len(planted))
    worktree = str(repo.folder)
    with App() as app:
        sessions = app.scope.sessions
        session = app.run(sessions.create_session("coder", "u1", worktree=worktree))
        for start in range(0, len(planted), 200):
            events = [
                {"type": "user_message", "role": "user", "content": f"Use {each.text} now."}
                for each in planted[start : start + 200]
            ]
            app.run(sessions.append_events(session.id, events))
        made = app.run(conversing.begin_conversation(app, worktree, "debug", "First", session))
        app.run(conversing.save_conversation(app, worktree, session, made.id))
        service = conversing.open_conversations(app, worktree)
        history = Path(service.files.find_folder(made.id), ".session/messages.jsonl")
        for sample in wanted[::PER_FAMILY]:
            line = sample.line[:150].replace("\n", " ")
            title = f"About {line}"
            begun = app.run(conversing.begin_conversation(app, worktree, "debug", title, None))
            paths = f"src/{line}.py", "src/kept.py"
            facts = {"summary": f"Use {sample.line[:900]}", "files": paths}
            saved = app.run(service.save_conversation(begun.id, (), **facts))
            assert "src/kept.py" in saved.conversation.files

    written = [path for path in (repo.folder / "conversations").rglob("*") if path.is_file()]
    texts = {path: path.read_text() for path in written}
    assert len(texts) > len(BY_STRUCTURE)
    in_names = [path for path in written for s in wanted if s.secret in str(path)]
    assert in_names == []
    lines = [line for line in texts[history].split("\n") if line]
    assert len(lines) == len(planted)
    each = zip(planted, lines, strict=True)
    left = [(p.sample.family, p.encoding) for p, line in each if p.is_left_in(line)]
    assert left == []
    assert [s.family for s in wanted for text in texts.values() if s.secret in text] == []
