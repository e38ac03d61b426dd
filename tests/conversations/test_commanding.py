"""Which requests begin a conversation, in the form of each client."""

import pytest

from holdfast.conversations.commanding import RESUMED, BegunConversation, find_begun
from holdfast.conversations.rules import TITLE_CHARS
from holdfast.sessions.requests import is_request

MARK = "<!-- Written by holdfast init; without this line the file is yours -->"


@pytest.mark.parametrize(
    "request_",
    [
        "/workspace.debug the retry hangs",
        "$workspace-debug the  retry hangs",
        "Conversation of type debug, kept by Holdfast: the retry hangs\n\nIf no topic is given",
        f"{MARK}\n\nConversation of type debug, kept by Holdfast: the retry hangs\n",
    ],
)
def test_a_command_of_a_type_begins_one(request_: str):
    assert find_begun(request_) == BegunConversation("debug", "the retry hangs")


def test_without_a_topic_it_is_called_by_its_type_and_a_long_one_is_cut():
    assert find_begun("/workspace.plan") == BegunConversation("plan", "plan")
    begun = find_begun(f"/workspace.own_type {'word ' * 100}")
    assert begun is not None
    assert begun.type == "own_type"
    assert len(begun.title) <= TITLE_CHARS


@pytest.mark.parametrize(
    "request_",
    [
        "/workspace.resume webhooks",
        "/workspace.stop-conversation",
        "$workspace-stop",
        f"/workspace.debug {RESUMED}",
        f"Conversation of type debug, kept by Holdfast: {RESUMED}\n",
        "/workspace.",
        "/workspace.Debug x",
        f"/workspace.{'x' * 40} y",
        "please /workspace.debug this",
        "debug the retry",
        "",
    ],
)
def test_other_requests_begin_none(request_: str):
    assert find_begun(request_) is None


@pytest.mark.parametrize(
    "words",
    [
        RESUMED,
        f"/workspace.debug {RESUMED}",
        f"$workspace-debug {RESUMED}",
        f"Conversation of type debug, kept by Holdfast: {RESUMED}\n\nIf no topic",
    ],
)
def test_what_a_client_is_opened_with_is_no_request_of_the_person(words: str):
    assert not is_request(words)
    assert is_request("/workspace.debug the retry hangs")
