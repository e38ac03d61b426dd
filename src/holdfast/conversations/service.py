"""The verbs of conversations. Their effect is in files, so each of them can be repeated."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence

from holdfast.conversations import rules
from holdfast.conversations.errors import AmbiguousConversationError, ConversationNotFoundError
from holdfast.conversations.finding import Entry, choose, list_words, rank
from holdfast.conversations.model import COMPLETED, Conversation, History, Message, Saved
from holdfast.ground import clock
from holdfast.ground.frozen import replace
from holdfast.ground.off_loop import off_loop
from holdfast.ground.text import cut

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.conversations.store import ConversationFiles
    from holdfast.ground.masking import Mask

LIST_LIMIT = 50
NEAREST = 5


class ConversationService:
    """`mask` takes secrets out of what is written, because these files go into git."""

    def __init__(self, files: ConversationFiles, mask: Mask):
        self.files, self.mask = files, mask

    async def create_conversation(self, type_: str, title: str, **facts: Any) -> Conversation:
        """A folder with its document. `facts`: the session, its client and its configuration."""
        now = clock.now()
        rules.check_title(title)
        checked = rules.clean_title(self.mask.mask_text(title))  # a mask may be longer
        new = Conversation("", rules.check_type(type_), checked, now, now, **facts)
        text = f"# {checked}\n\n{new.type}, {now:%Y-%m-%d}\n"
        return await off_loop(self.files.create, new, text)

    async def list_conversations(
        self, *, status: str | None = None, limit: int = LIST_LIMIT
    ) -> list[Conversation]:
        """The newest first."""
        wanted = None if status is None else rules.check_status(status)
        return await off_loop(self._list, wanted, limit)

    def _list(self, status: str | None, limit: int) -> list[Conversation]:
        found: list[Conversation] = []
        for place, id_ in self.files.list_ids():
            if len(found) == limit:
                break
            conversation = self.files.read_at(place, id_)
            if status in (None, conversation.status):
                found.append(conversation)
        return found

    async def get_conversation(self, wanted: str) -> Conversation:
        """By its id, or by the name of its folder, which is the seed's `conversation_id`."""
        return await off_loop(self._get, wanted)

    def _get(self, wanted: str) -> Conversation:
        ids = [id_ for _, id_ in self.files.list_ids()]
        matching = sorted({id_ for id_ in ids if wanted in (id_, id_.rpartition("/")[2])})
        if len(matching) > 1:
            raise AmbiguousConversationError(wanted, matching[:NEAREST])
        if not matching:
            nearest = rank(wanted, [Entry(id_, id_) for id_ in ids])
            raise ConversationNotFoundError(wanted, [found.id for found in nearest[:NEAREST]])
        return self.files.read(matching[0])

    async def search_conversations(
        self, query: str, *, limit: int = LIST_LIMIT
    ) -> list[Conversation]:
        """By title, type, summary and what was said, the best first."""
        entries = await off_loop(self._list_entries, query)
        found = await off_loop(rank, query, entries)
        return [self.files.read(each.id) for each in found[:limit]]

    def _list_entries(self, query: str) -> list[Entry]:
        said, _ = self.files.find_said(list_words(query))
        entries = []
        for place, id_ in self.files.list_ids():
            conversation = self.files.read_at(place, id_)
            about = f"{conversation.type} {conversation.context_summary}"
            words = " ".join(said.get(id_, ()))
            entries.append(Entry(id_, conversation.title, about, words))
        return entries

    async def find_said(self, query: str) -> tuple[dict[str, list[str]], int]:
        """Which words of a query were said where, and in how many nothing was looked for."""
        return await off_loop(self.files.find_said, list_words(query))

    async def choose_conversation(self, words: str) -> Conversation:
        """The one that is meant by id or by words; never a guess."""
        entries = await off_loop(self._list_entries, words)
        found = [Entry(entry.id, entry.id) for entry in entries if words == entry.id]
        ranked = rank(words, found or entries)
        chosen = choose(ranked)
        if chosen is None and ranked:
            raise AmbiguousConversationError(words, [each.id for each in ranked[:NEAREST]])
        if chosen is None:
            raise ConversationNotFoundError(words)
        return self.files.read(chosen)

    async def get_history(self, id_: str) -> History:
        return await off_loop(self.files.read_history, id_)

    async def get_newest_messages(self, id_: str, max_bytes: int) -> tuple[Message, ...]:
        """Those that are in the last bytes of the history, however long it is."""
        history = await off_loop(self.files.read_newest, id_, max_bytes)
        return history.messages

    async def save_conversation(
        self, id_: str, messages: Sequence[Message], *, summary: str | None = None, **facts: Any
    ) -> Saved:
        """Add what is new to the history and describe it. `facts` that are None stay as they are.

        Secrets are masked.
        """
        written = None
        if summary is not None:
            masked_summary = self.mask.mask_text(rules.check_summary(summary))
            written = cut(masked_summary, rules.SUMMARY_CHARS)  # a mask may be longer
        masked = [self._mask_message(message) for message in messages]
        known = {name: value for name, value in facts.items() if value is not None}
        if "files" in known:  # one that is masked names no file any more
            known["files"] = tuple(filter(self._is_harmless, known["files"]))

        def change(
            before: Conversation, history: History
        ) -> tuple[Conversation, Sequence[Message]]:
            together = rules.merge_messages(history.messages, masked)
            after = rules.update(before, together, summary=written)
            return replace(after, **known), masked

        return await off_loop(self.files.update, id_, change)

    def _is_harmless(self, name: str) -> bool:
        return self.mask.mask_text(name) == name

    def _mask_message(self, message: Message) -> Message:
        return replace(message, content=self.mask.mask_text(message.content))

    async def archive_conversation(self, id_: str) -> str:
        return await off_loop(self.files.archive, id_)

    async def list_prunable(self, wanted: str | None = None) -> list[Conversation]:
        """Those that have a history and are completed, or the one that is named."""
        found = [await self.get_conversation(wanted)] if wanted is not None else None
        if found is None:
            found = await self.list_conversations(status=COMPLETED, limit=sys.maxsize)
        return [each for each in found if self.files.has_history(each.id)]

    async def prune_conversation(self, id_: str) -> None:
        await off_loop(self.files.prune, id_)

    async def forget_messages(self, message_ids: Collection[str]) -> list[str]:
        """Erase them wherever they were saved; returns the files of repositories that held them."""
        return await off_loop(self.files.erase, message_ids, clock.now())
