"""The processes above this one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.ground import process_tree

ASK = "from holdfast.ground import process_tree as t; print({})"


def ask(question: str, shell: str = "") -> str:
    """What a child process answers, behind a shell that does not become the child itself."""
    words = [sys.executable, "-c", ASK.format(question)]
    if shell:
        words = ["sh", "-c", f'{shell} "$0" -c "$1"; true', sys.executable, words[2]]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.parametrize("shell", ["", "env -u NOTHING"])
def test_the_client_is_the_first_ancestor_that_is_not_a_shell(shell: str):
    assert ask("t.find_client_process()", shell) == process_tree.find_own_process()


def test_ancestors_are_listed_nearest_first():
    above = [process_tree.find_own_process(), *process_tree.list_ancestors()]

    assert ask("t.list_ancestors()") == str(above)


def test_a_command_may_be_called_anything(tmp_path: Path):
    """Blanks and brackets in its name do not move the columns."""
    program = tmp_path / "a) b (c"
    os.symlink(sys.executable, program)
    code = (
        "import subprocess, sys; "
        f"subprocess.run([{sys.executable!r}, '-c', {ASK.format('t.list_ancestors()')!r}])"
    )
    done = subprocess.run([str(program), "-c", code], capture_output=True, text=True, check=True)

    assert process_tree.find_own_process() in eval(done.stdout)


def test_a_process_that_has_ended_does_not_run():
    own = process_tree.find_own_process()
    assert own is not None
    child = ask("t.find_own_process()")

    assert process_tree.is_running(own)
    assert not process_tree.is_running(child)
    assert not process_tree.is_running(own + "0")


def test_where_there_is_no_proc_nothing_is_known(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(process_tree, "BOOT_ID", "/nowhere")

    assert process_tree.find_client_process() is None
    assert process_tree.find_own_process() is None
    assert process_tree.list_ancestors() == []


def test_an_orphan_has_no_client(monkeypatch: pytest.MonkeyPatch):
    """Its parent is the first process, which is above every other program too."""
    above = process_tree._read_stat(os.getppid())
    assert above is not None
    monkeypatch.setattr(process_tree, "INITS", {above[0]})

    assert process_tree.find_client_process() is None
