"""TS22: whatever the umask, no other user of the machine can read what Holdfast writes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

# Everything that Holdfast leaves on a disk, made by a process whose umask would let every user read
# and write, and looked at while the store is open: that is when its log and its index are there.
MAKE_EVERYTHING = """
import json, os, sys
os.umask(0)
from holdfast.app import App
from holdfast.errors import InvalidValueError
from holdfast.ground import files, jsonl
from holdfast.ground.log import Log
from holdfast.storage import migrate

with App() as app:
    home = app.settings.home
    session = app.run(app.scope.sessions.create_session("architect", "u1"))
    app.run(app.scope.sessions.append_event(session.id, "user_message", "user", "private words"))
    app.spool.add({"event": {"id": "1"}})
    app.spool.reject({"event": {"id": "2"}}, InvalidValueError("event", "x", "is wrong"))
    path = os.path.join(home, "spool", "torn.jsonl")
    with open(path, "wb") as file:
        file.write(b'{"half": ')
    os.chmod(path, 0o600)
    jsonl.append_records(path, [{"whole": True}])
    Log(home)("opened", pid=1)
    files.write_atomic(os.path.join(home, "settings.json"), b"{}")
    migrate._keep_backup(app.database.connection, os.path.join(home, "holdfast.db"), 1, 2)
    modes = {}
    for folder, _, names in os.walk(home):
        for path in (folder, *(os.path.join(folder, name) for name in names)):
            modes[os.path.relpath(path, home)] = oct(os.lstat(path).st_mode & 0o7777)
    print(json.dumps(modes))
"""
EXPECTED = {
    "holdfast.db",
    "holdfast.db-wal",
    "holdfast.db-shm",
    "holdfast.db.lock",
    "holdfast.db.before-2",
    "holdfast.log",
    "settings.json",
    "spool/pending.jsonl",
    "spool/pending.jsonl.lock",
    "spool/rejected.jsonl",
}


def test_every_file_and_folder_belongs_to_one_person(tmp_path: Path):
    """umask 000: folders 0700, files 0600, also those that SQLite makes and those that are there
    for a moment only.
    """
    done = subprocess.run(
        [sys.executable, "-c", MAKE_EVERYTHING],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    modes = json.loads(done.stdout)
    folders = {path for path in modes if (tmp_path / "holdfast" / path).is_dir()}
    assert modes.keys() >= EXPECTED
    assert folders == {".", "spool", "spool/.recovered"}
    assert {
        path: mode
        for path, mode in modes.items()
        if mode != ("0o700" if path in folders else "0o600")
    } == {}


def test_a_hook_leaves_nothing_that_others_can_read(tmp_path: Path):
    """The process that runs most often, started by a client with whatever umask the client has."""
    payload = {
        "hook_event_name": "Stop",
        "session_id": "c-1",
        "cwd": str(tmp_path),
        "last_assistant_message": "Done.",
    }
    subprocess.run(
        [
            sys.executable,
            "-c",
            (
                "import os; os.umask(0); from holdfast.surfaces import hook; "
                "hook.main(['claude', 'Stop'])"
            ),
        ],
        input=json.dumps(payload),
        text=True,
        timeout=60,
        check=True,
    )

    home = tmp_path / "holdfast"
    made = [home, *home.rglob("*")]
    assert home / "holdfast.db" in made
    assert [path for path in made if path.stat().st_mode & 0o077] == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_another_user_of_the_machine_gets_in_nowhere(tmp_path: Path):
    """Another uid, on a machine where every folder above is open to all."""
    subprocess.run(
        [sys.executable, "-c", MAKE_EVERYTHING], capture_output=True, timeout=60, check=True
    )
    home = tmp_path / "holdfast"
    paths = [home, *home.rglob("*")]
    for folder in tmp_path.parents:
        if (
            folder != folder.parent
            and folder.stat().st_uid == 0
            and folder.name.startswith("pytest-")
        ):
            folder.chmod(0o755)
    tmp_path.chmod(0o755)

    script = (
        "import os, sys; os.setgid(65534); os.setuid(65534); "
        "sys.exit(sum(os.access(p, os.R_OK) for p in sys.argv[1:]))"
    )
    done = subprocess.run([sys.executable, "-c", script, *map(str, paths)], timeout=60)

    assert done.returncode == 0
    assert len(paths) > len(EXPECTED)
