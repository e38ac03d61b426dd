"""The verbs of conversations: found by words and never by a guess, written without secrets."""

import random
import string
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from holdfast.conversations.errors import (
    AmbiguousConversationError,
    ConversationNotFoundError,
    ReadOnlyConversationError,
)
from holdfast.conversations.model import COMPLETED, PAUSED, WRITTEN, Message
from holdfast.conversations.rules import SUMMARY_CHARS, TITLE_CHARS
from holdfast.conversations.service import ConversationService
from holdfast.conversations.store import FOLDER, ConversationFiles, ConversationPlace
from holdfast.errors import InvalidValueError
from holdfast.ground.masking import Mask

AT = datetime(2026, 11, 18, 9, 4, tzinfo=UTC)
# Never a literal, so that no scanner finds a secret in this file.
SECRET = "ghp_" + "".join(random.Random(7).choices(string.ascii_letters + string.digits, k=36))


def say(number: int, content: str, role: str = "user") -> Message:
    return Message(f"e{number}", role, content, AT + timedelta(minutes=number))


@pytest.fixture
def service(tmp_path: Path) -> ConversationService:
    files = ConversationFiles(
        [ConversationPlace(str(tmp_path), FOLDER, is_shared=True)], tracks_messages=True
    )
    return ConversationService(files, Mask(str(tmp_path / "home")))


def read_everything(folder: Path) -> str:
    return "\n".join(path.read_text() for path in folder.rglob("*") if path.is_file())


# --- listing and finding --------------------------------------------------------------------------


async def test_the_newest_are_listed_first_and_no_more_than_were_asked_for(
    service: ConversationService,
):
    titles = ["one", "two", "three"]
    for title in titles:
        await service.create_conversation("debug", title)

    assert [each.title for each in await service.list_conversations()] == titles[::-1]
    assert [each.title for each in await service.list_conversations(limit=2)] == ["three", "two"]


async def test_a_list_can_be_of_one_status_only(service: ConversationService):
    paused = await service.create_conversation("debug", "one")
    await service.create_conversation("debug", "two")
    await service.save_conversation(paused.id, (), status=PAUSED)

    assert [each.title for each in await service.list_conversations(status=PAUSED)] == ["one"]
    assert await service.list_conversations(status=COMPLETED) == []
    with pytest.raises(InvalidValueError, match="is not a status"):
        await service.list_conversations(status="open")


async def test_a_conversation_is_found_by_its_id_and_by_the_name_of_its_folder(
    service: ConversationService,
):
    made = await service.create_conversation("debug", "Webhook retry")

    assert await service.get_conversation(made.id) == made
    assert await service.get_conversation("001-debug-webhook-retry") == made


async def test_an_unknown_id_is_answered_with_the_nearest(service: ConversationService):
    made = await service.create_conversation("debug", "Webhook retry")

    with pytest.raises(ConversationNotFoundError) as caught:
        await service.get_conversation("webhok")

    assert caught.value.nearest == (made.id,)


async def test_a_name_that_two_days_have_is_not_guessed(
    service: ConversationService, tmp_path: Path
):
    made = await service.create_conversation("debug", "Webhook retry")
    (tmp_path / FOLDER / "2020-01-01" / made.name).mkdir(parents=True)

    with pytest.raises(AmbiguousConversationError) as caught:
        await service.get_conversation(made.name)

    assert caught.value.candidates == (f"2020-01-01/{made.name}", made.id)


async def test_a_search_looks_at_titles_types_summaries_and_what_was_said(
    service: ConversationService,
):
    titled = await service.create_conversation("debug", "Webhook retry")
    summed = await service.create_conversation("plan", "Second")
    said = await service.create_conversation("learn", "Third")
    await service.save_conversation(summed.id, (), summary="The webhook is called twice")
    await service.save_conversation(said.id, [say(1, "the webhook times out", "assistant")])

    found = await service.search_conversations("webhook")

    assert [each.id for each in found] == [titled.id, summed.id, said.id]
    assert [each.id for each in await service.search_conversations("learn")] == [said.id]
    assert len(await service.search_conversations("webhook", limit=1)) == 1
    assert await service.search_conversations("nothing like it") == []


@pytest.mark.parametrize("query", ["", "  ", "\"' OR 1=1 --", "* ( ) : ^", "🙂", "x" * 10_000])
async def test_a_search_for_anything_is_answered(service: ConversationService, query: str):
    await service.create_conversation("debug", "Webhook retry")

    assert await service.search_conversations(query) == []


async def test_words_choose_the_one_that_fits_best(service: ConversationService):
    retry = await service.create_conversation("debug", "Webhook retry")
    await service.create_conversation("debug", "Parser")

    assert (await service.choose_conversation("webhook")).id == retry.id
    assert (await service.choose_conversation(retry.id)).id == retry.id


async def test_words_that_fit_two_equally_or_none_choose_nothing(service: ConversationService):
    ids = {(await service.create_conversation("debug", f"Webhook {name}")).id for name in "ab"}

    with pytest.raises(AmbiguousConversationError) as caught:
        await service.choose_conversation("webhook")
    assert set(caught.value.candidates) == ids
    with pytest.raises(ConversationNotFoundError):
        await service.choose_conversation("parser")


# --- writing --------------------------------------------------------------------------------------


@pytest.mark.parametrize("type_", ["", "De Bug", "../x", "x" * 31])
async def test_a_type_that_cannot_name_a_folder_is_refused_and_makes_none(
    service: ConversationService, tmp_path: Path, type_: str
):
    with pytest.raises(InvalidValueError):
        await service.create_conversation(type_, "title")
    assert not (tmp_path / FOLDER).exists()


async def test_no_secret_is_written_wherever_it_stands(
    service: ConversationService, tmp_path: Path
):
    made = await service.create_conversation("debug", f"Why {SECRET} fails")
    messages = [say(1, f"use {SECRET}"), say(2, f"I used {SECRET}", "assistant")]
    by_rule = await service.save_conversation(made.id, messages)
    written = await service.save_conversation(made.id, (), summary=f"About {SECRET}")

    assert SECRET not in read_everything(tmp_path)
    assert SECRET not in made.title
    assert by_rule.conversation.context_summary.startswith("use ")
    assert written.conversation.context_summary.startswith("About ")
    assert written.conversation.summary_by == WRITTEN


async def test_a_text_of_full_length_with_a_secret_is_kept_although_its_mask_is_longer(
    service: ConversationService,
):
    short = "AKIA" + "".join(random.Random(7).choices(string.ascii_uppercase, k=16))
    title = f"{short} " + "x" * (TITLE_CHARS - len(short) - 1)
    summary = f"{short} " + "y" * (SUMMARY_CHARS - len(short) - 1)

    made = await service.create_conversation("debug", title)
    saved = await service.save_conversation(made.id, (), summary=summary)

    assert len(made.title) == TITLE_CHARS
    assert len(saved.conversation.context_summary) == SUMMARY_CHARS
    assert short not in made.title + saved.conversation.context_summary


async def test_a_second_save_adds_what_is_new_and_keeps_what_it_is_not_told(
    service: ConversationService,
):
    made = await service.create_conversation("debug", "Webhook retry", client="claude")
    first = await service.save_conversation(made.id, [say(1, "one")], session_id="S1")
    second = await service.save_conversation(made.id, [say(1, "one"), say(2, "two")], client=None)

    assert (first.added, second.added) == (1, 1)
    assert second.subject == made.id
    assert (second.conversation.client, second.conversation.session_id) == ("claude", "S1")
    assert second.conversation.message_count == 2
    assert second.conversation.context_summary == "one Last: two"
    history = await service.get_history(made.id)
    assert [message.content for message in history.messages] == ["one", "two"]


async def test_a_summary_that_was_written_outlasts_the_next_save(service: ConversationService):
    made = await service.create_conversation("debug", "Webhook retry")
    await service.save_conversation(made.id, (), summary="Ours")
    saved = await service.save_conversation(made.id, [say(1, "one")])

    assert saved.conversation.context_summary == "Ours"
    with pytest.raises(InvalidValueError, match="is longer than"):
        await service.save_conversation(made.id, (), summary="x" * 1_001)


async def test_a_newer_file_is_shown_and_not_written(service: ConversationService, tmp_path: Path):
    made = await service.create_conversation("debug", "Webhook retry")
    path = tmp_path / FOLDER / made.id / ".session/session.json"
    path.write_text('{"version": "2.0", "title": "Other"}')

    with pytest.raises(ReadOnlyConversationError, match=r"version 2\.0"):
        await service.save_conversation(made.id, [say(1, "one")])

    assert path.read_text() == '{"version": "2.0", "title": "Other"}'
    assert (await service.get_conversation(made.id)).title == "Webhook retry"


async def test_an_archived_conversation_is_listed_no_more_and_a_pruned_one_has_no_history(
    service: ConversationService,
):
    kept = await service.create_conversation("debug", "one")
    gone = await service.create_conversation("debug", "two")
    await service.save_conversation(kept.id, [say(1, "one")])
    await service.prune_conversation(kept.id)
    where = await service.archive_conversation(gone.id)

    assert [each.id for each in await service.list_conversations()] == [kept.id]
    assert (await service.get_history(kept.id)).messages == ()
    assert (Path(where) / "debug.md").is_file()


# --- forgetting -----------------------------------------------------------------------------------


async def test_forgotten_messages_are_erased_in_every_conversation_that_has_them(
    service: ConversationService, tmp_path: Path
):
    ids = [(await service.create_conversation("debug", name)).id for name in ("a", "b", "c")]
    for id_ in ids[:2]:
        await service.save_conversation(id_, [say(1, "the pin is 4711"), say(2, "go on")])
    await service.save_conversation(ids[2], [say(3, "another")])

    held = await service.forget_messages(["e1"])

    files = [tmp_path / FOLDER / id_ / ".session/messages.jsonl" for id_ in ids[:2]]
    assert sorted(held) == [str(path) for path in files]
    assert "4711" not in read_everything(tmp_path)
    after = await service.get_conversation(ids[0])
    assert (after.message_count, after.context_summary) == (1, "go on")
    assert (await service.get_history(ids[2])).messages == (say(3, "another"),)


async def test_forgetting_passes_by_links_and_leaves_a_newer_session_file(
    service: ConversationService, tmp_path: Path
):
    newer = await service.create_conversation("debug", "newer")
    linked = await service.create_conversation("debug", "linked")
    empty = await service.create_conversation("debug", "empty")
    await service.save_conversation(newer.id, [say(1, "the pin is 4711")])
    described = tmp_path / FOLDER / newer.id / ".session/session.json"
    described.write_text('{"version": "2.0"}')
    for conversation, target in ((linked, tmp_path), (empty, None)):
        session = tmp_path / FOLDER / conversation.id / ".session"
        (session / "session.json").unlink()
        session.rmdir()
        if target:
            session.symlink_to(target)

    held = await service.forget_messages(["e1"])

    assert len(held) == 1
    assert described.read_text() == '{"version": "2.0"}'
    assert "4711" not in (described.parent / "messages.jsonl").read_text()


@pytest.mark.parametrize("is_link", [True, False])
async def test_something_else_in_the_place_of_the_folder_holds_no_conversations(
    tmp_path: Path, is_link: bool
):
    """A repository may have a file of that name, and the data folder still has its own."""
    root = tmp_path / "repository"
    root.mkdir()
    if is_link:
        (root / FOLDER).symlink_to(tmp_path)
    else:
        (root / FOLDER).write_text("a file")
    private = ConversationPlace(str(tmp_path / "home"), f"{FOLDER}/abc", is_shared=False)
    places = [private, ConversationPlace(str(root), FOLDER, is_shared=True)]
    service = ConversationService(ConversationFiles(places), Mask(str(tmp_path / "home")))

    made = await service.create_conversation("debug", "Webhook retry")

    assert await service.list_conversations() == [made]
    assert await service.get_conversation(made.id) == made
