"""What a prompt is offered, in this process: every known sentence, inside a conversation or not."""

from pathlib import Path
from typing import Any

import pytest

from holdfast.app import App
from holdfast.clients import find_client
from holdfast.surfaces import hook
from tests.conversations.test_pausing import OTHERS, SIGNALS
from tests.ground.repositories import Work, make_filled

BEGINNING = "/workspace.debug the retry hangs"


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return make_filled(tmp_path / "work")


def say(work: Work, native_id: str, words: str, prompt_id: str) -> tuple[str, str, str]:
    client = find_client("claude")
    assert client is not None
    payload: dict[str, Any] = {
        "hook_event_name": "UserPromptSubmit",
        "session_id": native_id,
        "cwd": str(work.root),
        "prompt": words,
        "prompt_id": prompt_id,
    }
    return hook.take_payload(client, "UserPromptSubmit", payload)


def test_no_signal_is_ever_offered_a_save_outside_a_conversation(work: Work, record_property: Any):
    say(work, "inside", BEGINNING, "p")
    say(work, "outside", "Look at the retry.", "p")

    found = [say(work, "outside", words, f"p{at}") for at, words in enumerate(SIGNALS)]

    record_property("N", len(found))
    assert set(found) == {("", "", "")}
    assert say(work, "inside", SIGNALS[0], "p1")[2]


def test_no_other_sentence_is_offered_a_save_inside_one(work: Work, record_property: Any):
    """Under twenty at a time, because long work is reminded of."""
    found = set()
    for at, words in enumerate(OTHERS):
        native_id = f"s{at // 15}"
        if at % 15 == 0:
            say(work, native_id, BEGINNING, "p")
        found.add(say(work, native_id, words, f"p{at}"))

    record_property("N", len(OTHERS))
    assert found == {("", "", "")}
    with App() as app:
        sessions = app.run(app.scope.sessions.list_all_sessions())
    assert all("conversation_saving" not in session.metadata for session in sessions)
