"""An instruction for an agent that a program starts itself."""

from pathlib import Path

from holdfast.langgraph import ContextWriteNode, prefix_instruction
from tests.workstreams.repos import with_code


def test_an_instruction_follows_the_bundle_and_what_clients_call_their_sessions(tmp_path: Path):
    repo = with_code(tmp_path / "payouts")
    plan = {"metadata": {"cli_sessions": {"codex": "n-1"}}}
    state = {"context": {"share_session": True, "repo_path": str(repo.folder), "decisions": ["a table"]}, "plan": plan}
    ContextWriteNode()(state)

    text = prefix_instruction("Fix the schedule.", folder=str(repo.folder), share=True)

    assert text.startswith("HOLDFAST implementation")
    assert "codex n-1" in text
    assert text.endswith("INSTRUCTION\nFix the schedule.")


def test_without_sharing_it_stays_as_it_was(tmp_path: Path):
    repo = with_code(tmp_path / "payouts")

    assert prefix_instruction("Fix the schedule.", folder=str(repo.folder)) == "Fix the schedule."
