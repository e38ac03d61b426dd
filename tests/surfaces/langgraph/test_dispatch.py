"""An instruction for an agent that a program starts itself, with LangGraph or without it."""

import os
import subprocess
import sys

import pytest

from holdfast import langgraph as door
from holdfast.langgraph import ContextWriteNode, prefix_instruction
from tests.workstreams.repos import Repo

# As if LangGraph and what it brings were not installed.
WITHOUT_LANGGRAPH = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("langgraph", "langchain_core"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
"""


def without_langgraph(code: str, *arguments: str) -> str:
    command = [sys.executable, "-c", WITHOUT_LANGGRAPH + code, *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=60, env=os.environ.copy()
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_an_instruction_follows_the_bundle_and_what_clients_call_their_sessions(repo: Repo):
    plan = {"metadata": {"cli_sessions": {"codex": "n-1"}}}
    state = {
        "context": {"share_session": True, "repo_path": str(repo.folder), "decisions": ["a table"]},
        "plan": plan,
    }
    ContextWriteNode()(state)

    text = prefix_instruction("Fix the schedule.", folder=str(repo.folder), share=True)

    assert text.startswith("HOLDFAST implementation")
    assert "codex n-1" in text
    assert text.endswith("INSTRUCTION\nFix the schedule.")


def test_without_sharing_it_stays_as_it_was(repo: Repo):
    assert prefix_instruction("Fix the schedule.", folder=str(repo.folder)) == "Fix the schedule."


def test_a_program_without_langgraph_has_it_too(repo: Repo):
    said = without_langgraph(
        "from holdfast.langgraph import prefix_instruction\n"
        "print(prefix_instruction('Fix it.', folder=sys.argv[1], share=True))",
        str(repo.folder),
    )

    assert said.startswith("HOLDFAST implementation")
    assert said.endswith("INSTRUCTION\nFix it.")


@pytest.mark.parametrize("name", sorted(set(door.__all__) - {"prefix_instruction"}))
def test_without_langgraph_the_rest_says_what_to_install(name: str):
    said = without_langgraph(
        "from holdfast.errors import ExtraMissingError\n"
        f"try:\n    from holdfast.langgraph import {name}\n"
        "except ExtraMissingError as error:\n    print(error, *error.next_actions)"
    )

    assert "[langgraph]" in said
    assert "Action('extra.install', {'extra': 'langgraph'})" in said
    assert "\n" not in said


def test_the_names_of_the_door_are_all_there():
    assert set(door.__all__) <= set(dir(door))
    assert all(getattr(door, name) for name in door.__all__)
    with pytest.raises(AttributeError, match="no attribute 'other'"):
        door.other  # noqa: B018
