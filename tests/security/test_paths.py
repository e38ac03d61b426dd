"""TS11: no text that comes in ever becomes a path, a module or a command."""

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

MARK = "h0stile"  # in no path of ours, wherever this is checked out
PIECES = (
    "../",
    "..\\",
    "./",
    "/",
    "//",
    "~/",
    "~root/",
    "%2e%2e/",
    "..%2f",
    "..;/",
    "\u2025/",
    "．．／",
    "$HOME/",
    "file:///",
)
ENDS = (
    *(
        "",
        ".json",
        ".sql",
        ".py",
        "/../../x",
        "; touch x",
        "`touch x`",
        "$(touch x)",
        "| touch x",
        " -rf",
        "\n..",
        "\\",
    ),
    *("\u202e", "/.git/config", "/etc/passwd", "?x=1", "#x", ":Zone.Identifier", "CON", "nul.txt"),
)

# One process watches itself: every file it opens to write, every folder it makes, every process it
# starts.
WATCHED = """
import contextlib, io, json, os, sys
from holdfast.clients import CLIENTS, find_client
from holdfast.surfaces import hook
from holdfast.surfaces.cli import main

texts, root, mark = json.load(open(sys.argv[1])), sys.argv[2], sys.argv[3]
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
CHANGING = ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink",
            "os.truncate", "os.chmod")
STARTING = ("subprocess.Popen", "os.exec", "os.system", "os.posix_spawn", "os.fork", "pty.spawn")
outside = []

def watch(event, args):
    if event in STARTING:
        outside.append([event, repr(args)])
    elif event in ("open", "import", "os.listdir", "os.scandir", *CHANGING):
        named = args[:2] if event == "os.rename" else args[:1]
        names = [name for name in named if isinstance(name, (str, bytes))]
        paths = [os.path.abspath(os.fsdecode(name)) for name in names]
        opened = event == "open" and isinstance(args[2], int) and args[2] & WRITING
        writes = event in CHANGING or opened
        for path in paths:
            inside = path == root or path.startswith(root + os.sep) or path == os.devnull
            imported = path.startswith(os.path.expanduser("~/.caco/sessions/"))
            if not inside and (writes or (mark in path and not imported)):
                outside.append([event, path])

def payload(client, event, text):
    return {"hook_event_name": event, "session_id": text, "cwd": text, "prompt": text,
            "prompt_id": text, "last_assistant_message": text, "transcript_path": text,
            "tool_name": text, "tool_input": text,
            "tool_response": text, "timestamp": text}

def try_everything(text):
    main(["session", "start", "--chatmode", text, "--user", text, "--workflow", text,
          "--skill", text,
          "--branch", text, "--name", text])
    main(["session", "show", "--", text])
    main(["context", "set", "--session", text, "--", text, text])
    main(["session", "resume", "--", text])
    main(["forget", "--yes", "--", text])
    main(["forget", "--match", text, "--dry-run"])
    main(["help", "--", text])
    main(["import", "--client", text])
    hook.main([text, text])
    for client, event in (("claude", "PostToolUse"), ("gemini", "BeforeAgent")):
        hook.take_payload(find_client(client), event, payload(client, event, text))
    announced = {**payload("claude", "PreToolUse", text), "tool_use_id": text}
    hook.take_payload(find_client("claude"), "PreToolUse", {**announced, "tool_name": "mcp__a"})
    for name in ("HOLDFAST_WORKSPACE", "HOLDFAST_DEVELOPER"):
        before = os.environ.pop(name, None)
        os.environ[name] = text
        main(["status"])
        del os.environ[name]

with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    try_everything("warm up")
    sys.addaudithook(watch)
    main(["import"])
    for text in texts:
        try_everything(text)
    stored = io.StringIO()
    with contextlib.redirect_stdout(stored):
        main(["status", "--json"])
found = list(outside)
canary = os.path.join(os.path.dirname(root), mark + "-canary")
open(canary, "w").close()
os.remove(canary)
print(json.dumps({"outside": found, "noticed": len(outside) - len(found),
                  "status": json.loads(stored.getvalue())}))
"""


def hostile_texts(count: int, seed: int) -> list[str]:
    chance = random.Random(seed)
    plain = [
        f"{'../' * 8}{MARK}",
        f"/{MARK}",
        f"..\\..\\{MARK}",
        f"~/{MARK}",
        f"{MARK}/../../../{MARK}",
    ]
    made = [
        "".join(chance.choice(PIECES) for _ in range(chance.randrange(1, 9)))
        + MARK
        + chance.choice(ENDS)
        for _ in range(count)
    ]
    return [*plain, *made][:count]


def test_no_field_becomes_a_path_outside_of_the_home(
    tmp_path: Path, home: Path, scale: Callable[[int], int]
):
    """TS11: 500 texts in every field of the commands and of the hooks, watched from inside the
    process.
    """
    texts = hostile_texts(scale(500), seed=11)
    (tmp_path / "texts.json").write_text(json.dumps(texts))
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    for name in texts[:20]:  # names of folders that another program left behind
        folder = home / ".caco" / "sessions" / name.replace("/", "_")[:200]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "meta.json").write_text(json.dumps({"name": name, "context": {"files": [name]}}))
    before = sorted(tmp_path.rglob("*"))

    done = subprocess.run(
        [sys.executable, "-c", WATCHED, tmp_path / "texts.json", tmp_path / "holdfast", MARK],
        cwd=project,
        env={name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )

    assert (done.returncode, done.stderr) == (0, "")
    answer = json.loads(done.stdout)
    assert answer["outside"] == []
    assert answer["noticed"] == 2, "the watch does not see what it is there for"
    assert answer["status"]["sessions"] > len(texts)
    made = [path for path in sorted(tmp_path.rglob("*")) if path not in before]
    assert [path for path in made if (tmp_path / "holdfast") not in (path, *path.parents)] == []
    assert [path for path in made if MARK in path.name] == []
