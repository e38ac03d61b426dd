"""TS22: whatever the umask, no other user of the machine can read what Holdfast writes."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.errors import InvalidValueError
from holdfast.ground.fence import fence_key
from holdfast.ground.user_settings import UserSettings, load_user_settings
from holdfast.surfaces.http.token import load_or_make

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


NOBODY = 65534
HELD = {"token": "x" * 43, "fence.key": "ab" * 32, "settings.json": "{}"}
READERS: dict[str, Callable[[str], object]] = {
    "token": load_or_make,
    "fence.key": fence_key,
    "settings.json": load_user_settings,
}


def plant(home: Path, name: str, mode: int) -> Path:
    path = home / name
    path.write_text(HELD[name])
    path.chmod(mode)
    return path


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
@pytest.mark.parametrize("name", READERS)
def test_a_file_of_another_user_is_refused(tmp_path: Path, name: str):
    """TS26: its maker knows the token in it, or has chosen the rules."""
    path = plant(tmp_path, name, 0o600)
    os.chown(path, NOBODY, NOBODY)

    with pytest.raises(InvalidValueError, match=rf"another user \(uid {NOBODY}\); remove it"):
        READERS[name](str(tmp_path))
    assert path.read_text() == HELD[name]


@pytest.mark.parametrize(
    ("name", "mode"),
    [
        ("token", 0o644),
        ("token", 0o660),
        ("fence.key", 0o604),
        ("settings.json", 0o666),
        ("settings.json", 0o620),
    ],
)
def test_a_file_that_is_open_to_other_users_is_refused(tmp_path: Path, name: str, mode: int):
    """TS26: a token that others could read, and rules that others could write."""
    path = plant(tmp_path, name, mode)

    with pytest.raises(InvalidValueError, match=f"mode {mode:04o}.*chmod 600"):
        READERS[name](str(tmp_path))
    path.chmod(0o600)
    READERS[name](str(tmp_path))


@pytest.mark.parametrize("name", READERS)
def test_a_link_in_place_of_a_file_is_refused(tmp_path: Path, name: str):
    plant(tmp_path, name, 0o600).rename(tmp_path / "elsewhere")
    (tmp_path / name).symlink_to("elsewhere")

    with pytest.raises(InvalidValueError, match="symbolic link"):
        READERS[name](str(tmp_path))


def test_settings_that_others_can_read_are_accepted(tmp_path: Path):
    """A person writes them with an editor."""
    plant(tmp_path, "settings.json", 0o644)

    assert load_user_settings(str(tmp_path)) == UserSettings()
