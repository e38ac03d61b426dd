"""The conversations of a working tree as somebody looks through them: in order, and by words.

For a program that is asked again and again, at every key that is typed. What was read of a
conversation is kept as long as its files are the same, which a look at their times shows. Of what
was said only the words are kept, each once: enough to find by, and a fraction of the text.
"""

from __future__ import annotations

from collections import defaultdict

from holdfast.conversations import finding
from holdfast.conversations.finding import Entry
from holdfast.ground import clock, prose
from holdfast.ground.bounded_map import BoundedMap
from holdfast.ground.frozen import dataclass
from holdfast.ground.off_loop import off_loop
from holdfast.sessions.changing import CONVERSATION
from holdfast.usecases import conversing
from holdfast.usecases.observing import is_observed
from holdfast.usecases.resuming import (
    MOST_CONVERSATIONS,
    MOST_SESSIONS,
    REQUEST_CHARS,
    REQUESTS,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from holdfast.app import App
    from holdfast.conversations.model import Conversation
    from holdfast.conversations.store import ConversationFiles, ConversationPlace, Stamp
    from holdfast.sessions.model import Session
    from holdfast.usecases.resuming import Resumable

    Listed = tuple[ConversationPlace, str]

INDEXED_BYTES = 4 << 20  # at the end of a history
LAST_REQUEST_CHARS, NEWEST_BYTES = 10_000, 64 << 10  # in which the last sentence is looked for


@dataclass(frozen=True)
class ConversationPage:
    """Some conversations, and the id to go on below; `total` is known where all were looked at."""

    conversations: tuple[Conversation, ...]
    older: str | None = None
    total: int | None = None


class ConversationIndex:
    def __init__(self, app: App):
        self._app = app
        self._known: BoundedMap[Listed, tuple[Stamp, Conversation]] = BoundedMap(MOST_CONVERSATIONS)
        self._said: BoundedMap[Listed, tuple[Stamp, str]] = BoundedMap(MOST_CONVERSATIONS)
        self._asked: BoundedMap[str, tuple[int, str]] = BoundedMap(MOST_SESSIONS)

    async def list_page(
        self, worktree: str, *, status: str | None = None, below: str | None = None, limit: int
    ) -> ConversationPage:
        """The last active first, as far as the log knows; else by the days on which they began.

        Only what is on the page is read, and with a status what was left out before.
        """
        files = await self._open(worktree)
        listed = await self._order(worktree, files, await self._list_sessions(worktree))
        ids = [id_ for _, id_ in listed]
        start = ids.index(below) + 1 if below in ids else 0
        return await off_loop(self._read_page, files, listed[start:], status, limit)

    async def search(
        self, worktree: str, words: str, *, status: str | None = None, limit: int
    ) -> ConversationPage:
        """By title, type, summary and what was said, the best first; of very many the newest."""
        files = await self._open(worktree)
        sessions = await self._list_sessions(worktree)
        listed = (await self._order(worktree, files, sessions))[:MOST_CONVERSATIONS]
        asked = {id_: await self._list_asked(of) for id_, of in sessions.items()}
        return await off_loop(self._search, files, listed, asked, words, status, limit)

    async def _open(self, worktree: str) -> ConversationFiles:
        service = await off_loop(conversing.open_conversations, self._app, worktree)
        return service.files

    # --- in order ---------------------------------------------------------------------------------

    async def _list_sessions(self, worktree: str) -> dict[str, list[Session]]:
        """Of those in which something happened last, by the conversation that they belong to."""
        found = await self._app.scope.sessions.list_active_sessions(worktree, MOST_SESSIONS)
        by_conversation = defaultdict(list)
        for session in found:
            linked = session.metadata.get(CONVERSATION)
            if isinstance(linked, str):
                by_conversation[linked].append(session)
        return by_conversation

    async def _order(
        self, worktree: str, files: ConversationFiles, sessions: dict[str, list[Session]]
    ) -> list[Listed]:
        every = [session for some in sessions.values() for session in some]
        moments = await self._app.scope.sessions.find_last_moments(every)
        active = {id_: max(moments[each.id] for each in of) for id_, of in sessions.items()}
        listed = await off_loop(files.list_ids)
        once = {id_: place for place, id_ in reversed(listed)}

        def choose_key(id_: str) -> tuple[str, str]:
            at = active.get(id_)
            return (max(clock.to_text(at), id_) if at else id_), id_

        ordered = sorted(once, key=choose_key, reverse=True)
        return [(once[id_], id_) for id_ in ordered]

    def _read_page(
        self, files: ConversationFiles, listed: Iterable[Listed], status: str | None, limit: int
    ) -> ConversationPage:
        found: list[Conversation] = []
        for each in listed:
            conversation = self._read(files, each)
            if status not in (None, conversation.status):
                continue
            if len(found) == limit:
                return ConversationPage(tuple(found), found[-1].id)
            found.append(conversation)
        return ConversationPage(tuple(found))

    def _read(self, files: ConversationFiles, listed: Listed) -> Conversation:
        stamp, _ = files.find_stamps(*listed)
        known = self._known.find(listed)
        if stamp is not None and known is not None and known[0] == stamp:
            return known[1]
        conversation = files.read_at(*listed)
        self._known.keep(listed, (stamp, conversation))
        return conversation

    # --- by words ---------------------------------------------------------------------------------

    async def _list_asked(self, sessions: Sequence[Session]) -> str:
        """What was asked for lately, which may not have been saved yet."""
        asked = [await self._read_asked(session) for session in sessions]
        return " ".join(asked)

    async def _read_asked(self, session: Session) -> str:
        known = self._asked.find(session.id)
        if known is not None and known[0] == session.last_sequence:
            return known[1]
        requests = await self._app.scope.sessions.list_requests(session.id, REQUESTS, REQUEST_CHARS)
        words = finding.make_vocabulary("\n".join(each.content for each in requests))
        self._asked.keep(session.id, (session.last_sequence, words))
        return words

    def _search(
        self,
        files: ConversationFiles,
        listed: Sequence[Listed],
        asked: dict[str, str],
        words: str,
        status: str | None,
        limit: int,
    ) -> ConversationPage:
        known = {each[1]: self._read(files, each) for each in listed}
        entries = [
            self._make_entry(files, each, known[each[1]], asked.get(each[1], ""))
            for each in listed
            if status in (None, known[each[1]].status)
        ]
        ranked = finding.rank(words, entries)
        found = [known[each.id] for each in ranked[:limit]]
        return ConversationPage(tuple(found), total=len(ranked))

    def _make_entry(
        self, files: ConversationFiles, listed: Listed, conversation: Conversation, asked: str
    ) -> Entry:
        about = f"{conversation.type} {conversation.client or ''} {conversation.context_summary}"
        said = self._read_said(files, listed)
        return Entry(conversation.id, conversation.title, about, f"{said} {asked}")

    def _read_said(self, files: ConversationFiles, listed: Listed) -> str:
        _, stamp = files.find_stamps(*listed)
        if stamp is None:
            return ""
        known = self._said.find(listed)
        if known is not None and known[0] == stamp:
            return known[1]
        newest = files.read_newest_at(*listed, INDEXED_BYTES).messages
        words = finding.make_vocabulary("\n".join(each.content for each in reversed(newest)))
        self._said.keep(listed, (stamp, words))
        return words


# --- what stands on a card ------------------------------------------------------------------------


async def find_last_sentence(app: App, worktree: str, resumable: Resumable) -> str:
    """The last one of the person, as this machine saw it, else as the folder has it."""
    request = await _find_last_request(app, worktree, resumable)
    sentences = await off_loop(prose.list_sentences, request)
    return sentences[-1] if sentences else " ".join(request.split())


async def is_quickly_compared(app: App, resumable: Resumable) -> bool:
    """Whether its edited files are known without a first look at a long log."""
    if resumable.session is None:
        return True
    thread = await app.scope.sessions.list_thread(resumable.session.id)
    return await is_observed(app.scope.sessions, thread)


async def _find_last_request(app: App, worktree: str, resumable: Resumable) -> str:
    session, conversation = resumable.session, resumable.conversation
    if session is not None:
        event = await app.scope.sessions.find_last_request(session.id, LAST_REQUEST_CHARS)
        if event is not None:
            return event.content
    if conversation is None:
        return ""
    service = conversing.open_conversations(app, worktree)
    newest = await service.get_newest_messages(conversation.id, NEWEST_BYTES)
    asked = [message.content for message in newest if message.role == "user"]
    return asked[-1][-LAST_REQUEST_CHARS:] if asked else ""
