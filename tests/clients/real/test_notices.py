"""A notice reaches the model of each real client, with the request that follows."""

import re

import pytest

from tests.rig.installed import Installed
from tools.clients.machine import Machine, Started
from tools.clients.programs.codex import CodexProgram
from tools.clients.programs.contract import Program

pytestmark = [pytest.mark.clients, pytest.mark.unmeasured]

EDITS = "gpt-5.5"
MEMORY_FILES = ("CLAUDE.md", "AGENTS.md", "GEMINI.md")
STALE = r"stale note (?:CLAUDE|AGENTS|GEMINI)\.md:1 says jobs\.py: deleted in "
BECAUSE, CLUSTER = "ops will not run another Redis", "one more cluster"


def find_notices(run: Started, number: int, words: str) -> list[str]:
    """What the model was given, without the document that was handed over at the start."""
    texts = [text for _, text in run.requests[number]["texts"]]
    return [text for text in texts if re.search(rf'{words}\\?" \(user\):', text)]


def test_a_notice_of_a_prompt_and_one_of_an_edit_arrive(
    program: Program, machine: Machine, holdfast: Installed, monkeypatch: pytest.MonkeyPatch
):
    # Only a model that it knows is given a tool that edits.
    monkeypatch.setattr(CodexProgram, "model", EDITS)
    holdfast("init", "--yes", "--shared-context")
    for text, because in (("Redis streams", BECAUSE), ("Kafka", CLUSTER)):
        holdfast("workstream", "decide", text, "--status", "rejected", "--because", because)
    edit = program.make_write_call(machine.project / "jobs.py", "from kafka import KafkaProducer\n")
    script = [{"answers": [{"calls": [edit]}, {"text": "It is written."}]}]

    run = machine.run(program, "Let us use redis streams for the jobs.", script)

    assert find_notices(run, 0, BECAUSE)
    assert not find_notices(run, 0, CLUSTER)
    assert find_notices(run, -1, CLUSTER)
    assert (machine.project / "jobs.py").exists()
    notices = holdfast.read("why")["notices"]
    assert [(each["entry"], each["moment"]) for each in notices] == [
        ("D2", "edit"),
        ("D1", "prompt"),
    ]


def test_a_stale_note_of_the_memory_that_a_client_loads_arrives_once(
    program: Program, machine: Machine, holdfast: Installed, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(CodexProgram, "model", EDITS)
    holdfast("init", "--yes")
    (machine.project / "jobs.py").write_text("JOBS = 1\n")
    for name in MEMORY_FILES:
        (machine.project / name).write_text("- all jobs are in `jobs.py`\n")
    machine.commit("Note")
    (machine.project / "jobs.py").unlink()
    machine.commit("Remove")
    edits = [
        program.make_write_call(machine.project / "jobs.py", "JOBS = 2\n"),
        program.make_write_call(machine.project / "more.md", "See jobs.py.\n"),
    ]
    answers = [*({"calls": [edit]} for edit in edits), {"text": "It is written."}]

    run = machine.run(program, "Write the jobs.", [{"answers": answers}])

    texts = ["\n".join(text for _, text in each["texts"]) for each in run.requests]
    assert [len(re.findall(STALE, text)) for text in texts] == [0, 1, 1]
    assert (machine.project / "more.md").exists()
    [notice] = holdfast.read("why")["notices"]
    assert (notice["kind"], notice["moment"]) == ("stale", "edit")
    assert notice["why"] == "it names the file jobs.py"
