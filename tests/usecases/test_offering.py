"""What a prompt is offered, in this process: every known sentence, inside a conversation or not."""

from pathlib import Path
from typing import Any

import pytest

from holdfast.app import App
from holdfast.clients import find_client
from holdfast.storage.resumes import Promise, Promises
from holdfast.surfaces import hook
from holdfast.usecases import conversing
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


def end_turn(work: Work, native_id: str, answer: str, prompt_id: str) -> None:
    client = find_client("claude")
    assert client is not None
    payload: dict[str, Any] = {
        "hook_event_name": "Stop",
        "session_id": native_id,
        "cwd": str(work.root),
        "last_assistant_message": answer,
        "prompt_id": prompt_id,
    }
    hook.take_payload(client, "Stop", payload)


def list_states(work: Work) -> list[tuple[str, int]]:
    with App() as app:
        service = conversing.open_conversations(app, str(work.root))
        found = app.run(service.list_conversations())
    return [(each.status, each.message_count) for each in found]


def test_the_turn_of_a_stop_command_saves_and_pauses_by_code(work: Work):
    say(work, "inside", BEGINNING, "p")
    end_turn(work, "inside", "It hangs in the lock.", "p")
    before = list_states(work)
    say(work, "inside", "/workspace.stop-conversation", "p1")
    end_turn(work, "inside", "We stop here.", "p1")

    say(work, "outside", "/workspace.stop-conversation", "p2")
    end_turn(work, "outside", "We stop here.", "p2")

    assert before == [("active", 0)]
    assert list_states(work) == [("paused", 3)]


def test_a_promise_is_kept_as_the_work_was_left(work: Work):
    say(work, "left", "Look at the retry.", "p")
    client = find_client("claude")
    assert client is not None
    with App() as app:
        left = app.run(app.scope.sessions.find_native_session("claude", "left"))
        assert left is not None
        home = app.settings.home
    promise = Promise("claude", str(work.root), left.id, "next", session=left.id)
    Promises(home).add(promise)
    payload = {
        "hook_event_name": "SessionStart",
        "session_id": "next",
        "cwd": str(work.root),
        "source": "startup",
    }

    text, _, _ = hook.take_payload(client, "SessionStart", payload)

    assert text.startswith("[RESUMED CONVERSATION]")
    assert "Look at the retry." in text
    with App() as app:
        begun = app.run(app.scope.sessions.find_native_session("claude", "next"))
    assert begun is not None
    assert begun.resumed_from == left.id
