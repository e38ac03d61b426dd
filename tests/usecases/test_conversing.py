"""Conversations and their sessions: what is saved of a thread, where, and what is not."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from holdfast.app import App
from holdfast.conversations.errors import ConversationNotFoundError, NoConversationError
from holdfast.conversations.model import PAUSED
from holdfast.sessions.changing import CONVERSATION, mark_rewound
from holdfast.sessions.model import Session
from holdfast.usecases import conversing, sharing
from tests.ground.repositories import Work, make, make_filled

REMOTE = "https://github.com/acme/payouts.git"


@pytest.fixture
async def app() -> AsyncIterator[App]:
    async with App() as opened:
        yield opened


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return make_filled(tmp_path / "work")


def choose(app: App, work: Work, *, messages: bool = False) -> None:
    """The person has said yes for this repository."""
    name = sharing.find_repository_name(str(work.root))
    assert name is not None
    sharing.set_switch(app.settings.home, name, conversing.SWITCH, is_on=True)
    sharing.set_switch(app.settings.home, name, conversing.MESSAGES_SWITCH, is_on=messages)


async def start(app: App, work: Work) -> Session:
    return await app.scope.sessions.create_session(
        "coder", "ada", client="claude", worktree=str(work.root)
    )


async def say(app: App, session: Session, content: str, **parts: str) -> str:
    event = await app.scope.sessions.append_event(
        session.id, "user_message", "user", content, parts or None
    )
    return event.id


async def answer(app: App, session: Session, content: str, **parts: str) -> str:
    event = await app.scope.sessions.append_event(
        session.id, "model_message", "assistant", content, parts or None
    )
    return event.id


async def list_said(app: App, work: Work, id_: str) -> list[str]:
    history = await conversing.open_conversations(app, str(work.root)).get_history(id_)
    return [message.content for message in history.messages]


# --- what is saved --------------------------------------------------------------------------------


async def test_a_conversation_that_begins_in_a_session_knows_it(app: App, work: Work):
    session = await start(app, work)
    await app.scope.sessions.append_event(session.id, "tool_result", "tool", "ok", {"tool": "Bash"})

    made = await conversing.begin_conversation(app, str(work.root), "debug", "Retry", session)

    assert (made.session_id, made.client) == (session.id, "claude")
    assert made.agent_config.command == "/workspace.debug"
    assert made.agent_config.tools == ("Bash",)
    service = conversing.open_conversations(app, str(work.root))
    linked = await app.scope.sessions.get_session(session.id)
    assert linked.metadata[CONVERSATION] == made.id
    assert await conversing.find_conversation(app, service, linked) == made


async def test_the_files_that_were_edited_are_named_from_the_top_of_the_tree(app: App, work: Work):
    """As clients report them, by whole paths; what lies elsewhere is not of this repository."""
    session = await start(app, work)
    made = await conversing.begin_conversation(app, str(work.root), "debug", "Retry", session)
    for path in (f"{work.root}/src/a.py", "b.py", "/elsewhere/c.py", f"{work.root}/../d.py"):
        parts = {"tool": "Edit", "input": {"file_path": path, "old_string": "", "new_string": "x"}}
        await app.scope.sessions.append_event(session.id, "tool_result", "tool", "ok", parts)

    saved = await conversing.save_conversation(app, str(work.root), session, made.id)

    assert saved.conversation.files == ("b.py", "src/a.py")


async def test_a_conversation_can_begin_without_a_session(app: App, work: Work):
    made = await conversing.begin_conversation(app, str(work.root), "debug", "Retry", None)
    saved = await conversing.save_conversation(app, str(work.root), None, made.id, summary="Later")

    assert made.session_id is None
    assert (saved.added, saved.conversation.context_summary) == (0, "Later")


async def test_only_what_the_person_and_the_agent_said_to_each_other_is_saved(app: App, work: Work):
    session = await start(app, work)
    made = await conversing.begin_conversation(app, str(work.root), "debug", "Retry", session)
    await say(app, session, "/workspace.resume")
    await say(app, session, "Why is it called twice?")
    await say(app, session, "look for callers", agent_id="a1", agent="explore")
    await answer(app, session, "three callers", agent_id="a1", agent="explore")
    await app.scope.sessions.append_event(session.id, "tool_result", "tool", "x", {"tool": "Bash"})
    await answer(app, session, "")
    await answer(app, session, "Because of the retry.")
    taken_back = await say(app, session, "Delete it")
    await answer(app, session, "Deleted.")
    erased = await say(app, session, "my pin is 4711")
    await say(app, session, "Fix it")
    await app.scope.sessions.forget_events([erased])
    await app.scope.sessions.store.in_transaction(
        lambda store: mark_rewound(store, session.id, [taken_back], True)
    )

    saved = await conversing.save_conversation(app, str(work.root), session)

    said = ["Why is it called twice?", "Because of the retry.", "Fix it"]
    assert await list_said(app, work, made.id) == said
    assert saved.added == saved.conversation.message_count == 3
    assert saved.conversation.agent_config.tools == ("Bash",)
    assert saved.conversation.git_head == work.git("rev-parse", "HEAD")


async def test_every_session_of_the_thread_is_saved_and_the_next_save_adds_what_is_new(
    app: App, work: Work
):
    first = await start(app, work)
    made = await conversing.begin_conversation(app, str(work.root), "debug", "Retry", first)
    await say(app, first, "one")
    saved = [await conversing.save_conversation(app, str(work.root), first)]
    await app.scope.sessions.end_session(first.id)
    second = await app.scope.sessions.resume_session(first.id, client="codex")
    await say(app, second, "two")
    for status in (PAUSED, "active"):
        saved.append(await conversing.save_conversation(app, str(work.root), second, status=status))

    assert [each.added for each in saved] == [1, 1, 0]
    assert [each.conversation.status for each in saved] == ["active", PAUSED, "active"]
    assert await list_said(app, work, made.id) == ["one", "two"]
    assert (saved[1].conversation.client, saved[1].conversation.session_id) == ("codex", second.id)


async def test_a_conversation_that_is_named_is_saved_from_its_own_session(app: App, work: Work):
    mine, other = await start(app, work), await start(app, work)
    made = await conversing.begin_conversation(app, str(work.root), "debug", "Retry", mine)
    await say(app, mine, "mine")
    await say(app, other, "other")

    await conversing.save_conversation(app, str(work.root), other, made.id)

    assert await list_said(app, work, made.id) == ["mine"]


async def test_a_second_conversation_in_a_session_is_the_one_that_goes_on(app: App, work: Work):
    session = await start(app, work)
    for title in ("One", "Two"):
        await conversing.begin_conversation(app, str(work.root), "debug", title, session)

    saved = await conversing.save_conversation(
        app, str(work.root), await app.scope.sessions.get_session(session.id)
    )

    assert saved.conversation.title == "Two"


async def test_a_session_without_a_conversation_is_told_so(app: App, work: Work):
    session = await start(app, work)

    for given in (session, None):
        with pytest.raises(NoConversationError):
            await conversing.save_conversation(app, str(work.root), given)
    with pytest.raises(ConversationNotFoundError):
        await conversing.save_conversation(app, str(work.root), session, "001-debug-x")


async def test_a_folder_that_was_removed_leaves_its_session_without_a_conversation(
    app: App, work: Work
):
    session = await start(app, work)
    made = await conversing.begin_conversation(app, str(work.root), "debug", "Retry", session)
    service = conversing.open_conversations(app, str(work.root))
    await service.archive_conversation(made.id)

    with pytest.raises(NoConversationError):
        await conversing.save_conversation(app, str(work.root), session)


async def test_a_conversation_of_another_machine_is_saved_as_it_is(app: App, work: Work):
    """Its session is not in this store."""
    service = conversing.open_conversations(app, str(work.root))
    made = await service.create_conversation("debug", "Retry", session_id="S-elsewhere")

    saved = await conversing.save_conversation(app, str(work.root), None, made.id, status=PAUSED)

    assert (saved.added, saved.conversation.status) == (0, PAUSED)
    assert saved.conversation.session_id == "S-elsewhere"


# --- where it is saved ----------------------------------------------------------------------------


async def test_without_a_yes_nothing_is_written_into_the_repository(app: App, work: Work):
    session = await start(app, work)
    made = await conversing.begin_conversation(app, str(work.root), "debug", "Retry", session)
    await say(app, session, "one")
    saved = await conversing.save_conversation(app, str(work.root), session)

    assert not made.is_shared
    assert saved.paths == ()
    assert work.git("status", "--porcelain", "--ignored") == ""
    folder = conversing.open_conversations(app, str(work.root)).files.find_folder(made.id)
    assert folder.startswith(app.settings.home)
    assert conversing.commit_conversation(str(work.root), saved) is None


@pytest.mark.parametrize("messages", [True, False])
async def test_after_a_yes_it_is_in_the_repository_and_git_keeps_what_was_agreed(
    app: App, work: Work, messages: bool
):
    choose(app, work, messages=messages)
    session = await start(app, work)
    made = await conversing.begin_conversation(app, str(work.root), "debug", "Retry", session)
    await say(app, session, "one")
    saved = await conversing.save_conversation(app, str(work.root), session)

    work.git("add", *saved.paths)
    tracked = work.git("diff", "--cached", "--name-only").splitlines()
    folder = f"conversations/{made.id}"
    assert made.is_shared
    assert f"{folder}/debug.md" in tracked
    assert (f"{folder}/.session/messages.jsonl" in tracked) is messages


async def test_clones_of_one_remote_share_the_data_folder_and_other_repositories_do_not(
    app: App, tmp_path: Path
):
    works = [make(tmp_path / name) for name in ("a", "b", "other")]
    for work in works[:2]:
        work.git("remote", "add", "origin", REMOTE)
    for work in works:
        work.commit()
    made = await conversing.begin_conversation(app, str(works[0].root), "debug", "Retry", None)

    listed = [
        [each.id for each in await service.list_conversations()]
        for service in (conversing.open_conversations(app, str(work.root)) for work in works)
    ]

    assert listed == [[made.id], [made.id], []]


async def test_outside_of_a_repository_the_folder_is_what_counts(app: App, tmp_path: Path):
    folders = [tmp_path / name for name in ("a", "b")]
    for folder in folders:
        folder.mkdir()
    made = await conversing.begin_conversation(app, str(folders[0]), "debug", "Retry", None)

    here, there = (conversing.open_conversations(app, str(folder)) for folder in folders)

    assert await here.list_conversations() == [made]
    assert await there.list_conversations() == []
    assert list(folders[0].iterdir()) == []


async def test_what_was_in_the_data_folder_before_the_yes_is_still_found(app: App, work: Work):
    before = await conversing.begin_conversation(app, str(work.root), "debug", "Before", None)
    choose(app, work)
    after = await conversing.begin_conversation(app, str(work.root), "debug", "After", None)

    found = await conversing.open_conversations(app, str(work.root)).list_conversations()

    assert {each.id: each.is_shared for each in found} == {before.id: False, after.id: True}


async def test_session_json_says_what_a_reader_without_this_program_needs(app: App, work: Work):
    choose(app, work, messages=True)
    session = await start(app, work)
    made = await conversing.begin_conversation(app, str(work.root), "debug", "Retry", session)
    await say(app, session, "Why is it called twice?")
    await conversing.save_conversation(app, str(work.root), session)

    path = work.root / "conversations" / made.id / ".session/session.json"
    described = json.loads(path.read_text())

    assert described["session_id"] == session.id
    assert described["client"] == "claude"
    assert described["message_count"] == 1
    assert described["token_count"] > 0
    assert described["context_summary"] == "Why is it called twice?"
    assert described["git_head"] == work.git("rev-parse", "HEAD")
