"""A notice reaches the model of each real client, with the request that follows."""

import re

import pytest

from tests.rig.installed import Installed
from tools.clients.machine import Machine, Started
from tools.clients.programs.codex import CodexProgram
from tools.clients.programs.contract import Program

pytestmark = [pytest.mark.clients, pytest.mark.unmeasured]

EDITS = "gpt-5.5"
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
