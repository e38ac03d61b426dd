"""The sandbox that real clients run in."""

import pytest

from tools.clients.machine import Machine
from tools.clients.sandbox import Sandbox

pytestmark = [pytest.mark.clients, pytest.mark.unmeasured]


def test_only_loopback_is_reached_from_a_sandbox(sandbox: Sandbox, tmp_path):
    machine = Machine(sandbox, tmp_path / "machine")

    devices = machine.command("sh", "-c", "tail -n +3 /proc/net/dev | cut -d: -f1")

    assert devices.split() == ["lo"]


def test_a_command_sees_nothing_of_the_person_who_runs_the_tests(
    sandbox: Sandbox, tmp_path, monkeypatch
):
    monkeypatch.setenv("A_SECRET", "of theirs")
    machine = Machine(sandbox, tmp_path / "machine")

    seen = machine.command("env").split()

    assert f"HOME={machine.home}" in seen
    assert not [name for name in seen if name.startswith(("A_SECRET", "HOLDFAST", "PYTHON"))]


def test_what_was_started_ends_with_the_sandbox(tmp_path):
    (tmp_path / "models").mkdir()
    opened = Sandbox(tmp_path / "models")
    machine = Machine(opened, tmp_path / "machine")
    pipe = tmp_path / "alive"
    machine.command("mkfifo", str(pipe))
    machine.command("sh", "-c", f"setsid sh -c 'exec sleep 1000 >{pipe}' </dev/null >&2 &")
    with open(pipe) as alive:
        opened.close()

        assert alive.read() == ""  # its last writer is gone
