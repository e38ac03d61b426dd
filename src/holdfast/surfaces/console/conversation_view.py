"""What the conversations screen shows: cards, and of the one that is chosen the text with which an
agent goes on, what has changed since, and a command for each client.

A page costs what it shows: of the other conversations only the names of their folders are read.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from holdfast.conversations.errors import ConversationNotFoundError
from holdfast.conversations.model import STATUSES, Conversation
from holdfast.ground.frozen import dataclass
from holdfast.ground.off_loop import off_loop
from holdfast.ground.text import cut, plural
from holdfast.usecases import conversing, opening, resuming, setting_up
from holdfast.usecases.conversation_index import (
    ConversationIndex,
    find_last_sentence,
    is_quickly_compared,
)
from holdfast.usecases.resuming import Resumable

if TYPE_CHECKING:
    from holdfast.app import App
    from holdfast.clients.contract import Client
    from holdfast.clients.setup import SetupPlace
    from holdfast.conversations.comparing import Change, FileChanges

CARDS_PER_PAGE = 30
MOST_CARDS = 300  # what is fetched at once; a longer list is left as it is
SENTENCE_CHARS = 240


@dataclass(frozen=True)
class Card:
    resumable: Resumable
    conversation: Conversation
    said: str  # the last sentence of the person
    files: str | None  # None: to be asked for later, because it takes a while

    @property
    def command(self) -> str:
        return word_command(self.conversation.id)


@dataclass(frozen=True)
class Cards:
    """Some of the conversations; `total` is known where words were looked for."""

    cards: tuple[Card, ...]
    older: str | None
    total: int | None
    words: str
    status: str

    @property
    def more(self) -> int:
        """How many were found that are not shown."""
        return (self.total or 0) - len(self.cards) if self.words else 0


@dataclass(frozen=True)
class Way:
    """One client that can go on with it: what is typed, and what is otherwise there."""

    client: Client
    command: str  # without its option, which is shown in one piece
    is_own: bool  # it has the session still, and goes on in it
    has_hooks: bool  # that hand the text over
    changes: tuple[Change, ...]

    @property
    def option(self) -> str:
        return f"--in {self.client.NAME}"


@dataclass(frozen=True)
class Preview:
    """The chosen one: the text exactly as `holdfast resume --print` makes it, and the ways on."""

    resumable: Resumable
    conversation: Conversation
    text: str
    changes: tuple[Change, ...]
    ways: tuple[Way, ...]
    folder: str

    @property
    def command(self) -> str:
        return word_command(self.conversation.id)

    @property
    def print_command(self) -> str:
        return f"{self.command} --print"


def word_command(id_: str) -> str:
    """An id has no character that a shell would read."""
    return f"holdfast resume {id_}"


# --- cards ----------------------------------------------------------------------------------------


async def load_cards(
    app: App,
    index: ConversationIndex,
    worktree: str,
    *,
    words: str = "",
    status: str = "",
    below: str | None = None,
    limit: int = CARDS_PER_PAGE,
) -> Cards:
    """The best for some words; without any all of them, a page each."""
    chosen = status if status in STATUSES else None
    if words:
        page = await index.search(worktree, words, status=chosen, limit=limit)
    else:
        page = await index.list_page(worktree, status=chosen, below=below, limit=limit)
    made = await asyncio.gather(*(_find_card(app, worktree, each) for each in page.conversations))
    cards = tuple(card for card in made if card)
    return Cards(cards, page.older, page.total, words, chosen or "")


async def _find_card(app: App, worktree: str, conversation: Conversation) -> Card | None:
    """None where its folder has gone since it was listed, as with another branch."""
    try:
        return await _make_card(app, worktree, conversation)
    except ConversationNotFoundError:
        return None


async def _make_card(app: App, worktree: str, conversation: Conversation) -> Card:
    resumable = await resuming.describe_conversation(app, worktree, conversation)
    said = await find_last_sentence(app, worktree, resumable)
    files = None
    if await is_quickly_compared(app, resumable):
        files = describe_files(await resuming.compare_edited(app, worktree, resumable))
    return Card(resumable, conversation, cut(said, SENTENCE_CHARS), files)


async def count_files(app: App, worktree: str, id_: str) -> str:
    """For a card whose log had not been looked at yet."""
    service = await off_loop(conversing.open_conversations, app, worktree)
    conversation = await off_loop(service.files.read, id_)
    resumable = await resuming.describe_conversation(app, worktree, conversation)
    return describe_files(await resuming.compare_edited(app, worktree, resumable))


def describe_files(edited: FileChanges) -> str:
    """4 files, 2 changed since"""
    if not edited.total:
        return ""
    words = [plural(edited.total, "file")]
    if edited.changed:
        words.append(f"{len(edited.changed):,} changed since")
    if edited.gone:
        words.append(f"{len(edited.gone):,} gone")
    if len(words) == 1:
        words.append("unchanged since")
    return ", ".join(words)


# --- the chosen one -------------------------------------------------------------------------------


async def load_preview(app: App, worktree: str, id_: str) -> Preview:
    service = await off_loop(conversing.open_conversations, app, worktree)
    conversation = await off_loop(service.files.read, id_)
    resumable = await resuming.describe_conversation(app, worktree, conversation)
    place = setting_up.make_place(app.settings, worktree, (), os.environ)
    resume = await resuming.prepare(app, worktree, resumable, None, place=place, is_preview=True)
    return Preview(
        resumable=resumable,
        conversation=conversation,
        text=resume.text,
        changes=tuple(resume.changes),
        ways=await _list_ways(app, resumable, place),
        folder=await off_loop(service.files.find_folder, id_),
    )


async def _list_ways(app: App, resumable: Resumable, place: SetupPlace) -> tuple[Way, ...]:
    """That of the client that it was in comes first."""
    installed = await off_loop(opening.list_installed, place.environment)
    ordered = sorted(installed, key=lambda client: resumable.client != client.NAME)
    return tuple([await _make_way(app, resumable, client, place) for client in ordered])


async def _make_way(app: App, resumable: Resumable, client: Client, place: SetupPlace) -> Way:
    start = await off_loop(opening.plan_start, app.settings.home, place, resumable, client)
    changes: Sequence[Change] = ()
    if not start.is_own:
        changes = await resuming.compare_client(app, resumable, client, place)
    return Way(
        client=client,
        command=word_command(resumable.id),
        is_own=start.is_own,
        has_hooks=start.has_hooks,
        changes=tuple(changes),
    )
