"""The verbs on sessions: check by rule, one transaction, return a frozen type.

Appending events and reading the last turns is what agents do most, so neither reads the session
first: whether it is missing or ended is asked only when a statement found no row.
"""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from datetime import datetime

from holdfast.errors import InvalidValueError
from holdfast.ground import canonical, clock, ids, settings
from holdfast.ground.frozen import replace
from holdfast.ground.groups import in_groups
from holdfast.sessions import changing, context_sets, reading, rules
from holdfast.sessions.errors import EventNotFoundError, SessionNotFoundError
from holdfast.sessions.model import (
    EventSample,
    EventWindow,
    PatchedSession,
    Session,
    SessionEvent,
    SessionNotes,
    SessionState,
    SetChange,
    Verification,
    choose_moment,
    get_sequence,
    make_appended_event,
    make_event,
    make_notes,
    make_sample,
    make_session,
    make_state,
)
from holdfast.sessions.reading import PAGE
from holdfast.sessions.store import SessionStore
from holdfast.storage.opening import as_database, find_owner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.ground.masking import Mask
    from holdfast.sessions.rules import CheckedEvent
    from holdfast.storage.database import Row

# Of the newest sessions with a name, and of those that follow in the alphabet, how many are looked
# at to complete a name, or to find the nearest to one that was mistyped.
NAMES_COMPARED = 1000

# Sessions whose scratchpads are read to continue from.
SESSIONS_WITH_NOTES = 10

# Sessions of a thread in which its last request and its last event are looked for.
THREAD_LOOKED_BACK = 10

# Of one event on a page for reading; a click brings the rest.
PREVIEW_CHARS = 4000
PREVIEW_BYTES = 64 << 10


class SessionService:
    """The sessions of one developer: their events, scratchpads and context sets.

    Takes what `open_database` gives, or a plain `asyncpg.Pool` on a database that was migrated
    before; without an owner it acts for the workspace and developer of the settings, and with a
    plain pool for the developer `service` unless `HOLDFAST_DEVELOPER` is set.

    What is stored is masked where a mask is given, as every door of Holdfast does. A program that
    makes its own service has what it stores as it gave it.
    """

    def __init__(
        self, db_pool: Any, *, owner: settings.Owner | None = None, mask: Mask | None = None
    ):
        self.db = as_database(db_pool)
        self.owner = owner or find_owner(db_pool)
        self.mask = mask
        self.store = SessionStore(self.db, self.owner)

    # --- sessions ---------------------------------------------------------------------------------

    async def create_session(
        self,
        chatmode: str,
        user_id: str,
        workflow: str | None = None,
        skill: str | None = None,
        git_branch: str | None = None,
        *,
        name: str | None = None,
        client: str | None = None,
        native_id: str | None = None,
        repo: str | None = None,
        worktree: str | None = None,
    ) -> Session:
        """Start one with an empty scratchpad, or return the open one of the same native id.

        After the end of the last one with that native id, the new one continues it.
        """
        label = rules.check_optional_label
        fields: dict[str, Any] = {
            "chatmode": rules.check_label("chatmode", chatmode),
            "user_id": rules.check_label("user_id", user_id),
            "workflow": label("workflow", workflow),
            "skill": label("skill", skill),
            "git_branch": label("git_branch", git_branch),
            "client": label("client", client),
            "native_id": label("native_id", native_id),
            "repo": label("repo", repo),
            "worktree": rules.check_optional_worktree(worktree),
        }
        metadata = self._mask_value(_make_first_metadata(name))
        if client is not None and native_id is not None:
            return await self.store.in_transaction(
                lambda store: changing.start_native(store, fields, metadata)
            )
        row = await self.store.create_session(**fields, metadata=changing.format_metadata(metadata))
        return make_session(row)

    async def get_session(self, session_id: str) -> Session:
        row = await self.store.get_session(session_id)
        return make_session(row)

    async def lock_session(self, session_id: str) -> Session:
        """The same; no other writer changes it until the caller's transaction ends."""
        row = await self.store.lock_session(session_id)
        return make_session(row)

    async def find_session(self, id_or_name: str) -> Session:
        """By id, or the newest one of that name, at best as it is written; raises otherwise."""
        row = await self.store.find_session(id_or_name)
        if row:
            return make_session(row)
        name = canonical.check_text("Session", id_or_name, max_bytes=rules.LABEL_BYTES)
        named = await self.store.list_named(name, 1)
        if named:
            return make_session(named[0])
        if ids.parse_id(name) is not None:
            raise SessionNotFoundError(name)
        return await self._find_similar(name)

    async def _find_similar(self, name: str) -> Session:
        """One whose name differs in case; else the refusal offers the nearest name."""
        # Both lists of the query whole: the name itself comes first in the alphabet.
        begun = await self.list_names(name, 2 * NAMES_COMPARED)
        newest = await self.list_names("", NAMES_COMPARED)
        similar, is_same = rules.find_similar(name, [*begun, *newest])
        if not is_same:
            raise SessionNotFoundError(name, similar)
        [row] = await self.store.list_named(similar or "", 1)
        return make_session(row)

    async def list_sessions(self, limit: int = 50, below: str | None = None) -> list[Session]:
        """Newest first; `below` is the last id of the page before."""
        rules.check_count("limit", limit, least=1)
        last = None
        if below is not None:
            newer = await self.get_session(below)
            last = newer.id
        rows = await self.store.list_sessions(last, limit)
        return [make_session(row) for row in rows]

    async def list_all_sessions(self) -> list[Session]:
        """Every one of them, page by page."""
        sessions = page = await self.list_sessions(PAGE)
        while len(page) == PAGE:
            page = await self.list_sessions(PAGE, page[-1].id)
            sessions += page
        return sessions

    async def get_active_session(self, chatmode: str, user_id: str) -> Session | None:
        """The newest session of a chatmode that has not ended."""
        row = await self.store.find_active(
            rules.check_label("chatmode", chatmode), rules.check_label("user_id", user_id)
        )
        return _make_optional_session(row)

    async def find_native_session(self, client: str, native_id: str) -> Session | None:
        """The open session that a client calls by this id."""
        row = await self.store.find_native(
            rules.check_label("client", client), rules.check_label("native_id", native_id)
        )
        return _make_optional_session(row)

    async def find_current_sessions(self, worktree: str) -> list[Session]:
        """The newest open session of a worktree, and a second one when there are several."""
        rows = await self.store.list_open(rules.check_worktree(worktree))
        return [make_session(row) for row in rows]

    async def find_newest_sessions(self, worktree: str) -> list[Session]:
        """The newest session of a worktree, open or ended, and a second one."""
        rows = await self.store.list_newest(rules.check_worktree(worktree))
        return [make_session(row) for row in rows]

    async def find_last_moments(self, sessions: Sequence[Session]) -> dict[str, datetime]:
        """When something last happened in each session, by its id."""
        rows = await self.store.list_last_event_times([session.id for session in sessions])
        moments = {session.id: session.started_at for session in sessions}
        for session_id, created_at, happened_at in rows:
            moments[session_id] = choose_moment(clock.parse(created_at), happened_at)
        return moments

    async def find_last_session(
        self,
        worktree: str | None = None,
        excluded: str | None = None,
        *,
        until: datetime | None = None,
    ) -> Session | None:
        """The session to continue from: the one with the last event, note on its scratchpad or
        resume, open or ended; with None, anywhere.

        Where there is none, the newest with context sets or a hint. The excluded one is that of
        the caller itself; one that began after `until` goes on beside it and is not its past.
        """
        place = rules.check_optional_worktree(worktree)
        row = await self.store.find_last(place, excluded, _format_time(until))
        if row is not None:
            return make_session(row)
        found = await self.find_session_with_context(place)
        if found is None or found.id == excluded:
            return None
        if until is not None and found.started_at > until:
            return None
        return found

    async def list_active_sessions(self, worktree: str, limit: int = 10) -> list[Session]:
        """Those of a worktree in which something happened last, to the minute."""
        rules.check_count("limit", limit, least=1)
        rows = await self.store.list_by_activity(rules.check_worktree(worktree), limit)
        return [make_session(row) for row in rows]

    async def find_session_with_context(self, worktree: str | None = None) -> Session | None:
        """The newest with context sets or a hint, open or ended; with None, anywhere."""
        row = await self.store.find_with_context(rules.check_optional_worktree(worktree))
        return _make_optional_session(row)

    async def list_names(self, begun: str = "", limit: int = 50) -> list[str]:
        """Names that begin like this, of the newest session first; ASCII case does not matter.

        Of very many, those of the newest sessions and those that come first in the alphabet.
        """
        checked = canonical.check_text("begun", begun, max_bytes=rules.LABEL_BYTES)
        rules.check_count("limit", limit, least=1)
        return await self.store.list_names(checked, limit, NAMES_COMPARED)

    async def end_session(self, session_id: str) -> None:
        """End it; ending it again does nothing, and nothing of it is removed."""
        await self.store.end_session(session_id)

    async def update_metadata(
        self,
        session_id: str,
        changes: Mapping[str, object],
        *,
        expected_revision: int | None = None,
    ) -> Session:
        """Change name, intent, hint or times; None removes one."""
        checked = self._mask_value(rules.check_meta(changes))
        if expected_revision is not None:
            rules.check_count("expected_revision", expected_revision)

        return await self.store.in_transaction(
            lambda store: changing.update_metadata(store, session_id, checked, expected_revision)
        )

    async def replace_metadata(self, session_id: str, metadata: dict[str, Any]) -> Session:
        """All of it at once, already checked; for imports."""
        masked = self._mask_value({**metadata, "context": None})
        masked.pop("context")
        if "context" in metadata:
            masked["context"] = self._mask_context(metadata["context"])
        return await self.store.in_transaction(
            lambda store: changing.replace_metadata(store, session_id, masked)
        )

    async def link_conversation(self, session_id: str, conversation_id: str) -> Session:
        """Say which conversation it belongs to; a session that continues it belongs to the same."""
        link = {changing.CONVERSATION: rules.check_label("conversation_id", conversation_id)}
        return await self.store.in_transaction(
            lambda store: changing.update_metadata(store, session_id, link, None)
        )

    async def note_saving(self, session_id: str, before: object, after: Mapping[str, str]) -> bool:
        """Keep when its conversation was saved, offered and declined, on top of what was known.

        False where another process was faster.
        """
        return await self.store.in_transaction(
            lambda store: changing.note_saving(store, session_id, before, after)
        )

    async def rename_session(self, session_id: str, name: str) -> Session:
        checked = rules.check_label("name", name)
        return await self.update_metadata(session_id, {"name": checked})

    async def resume_session(
        self,
        session_id: str,
        *,
        client: str | None = None,
        native_id: str | None = None,
        apart: bool = False,
    ) -> Session:
        """An open session as it is; an ended one continues in a new session, with its name, context
        and scratchpad, which is the client's who continues it.

        `apart`: an open one too, because it is not the caller's.
        """
        label = rules.check_optional_label("client", client)
        native_label = rules.check_optional_label("native_id", native_id)
        return await self.store.in_transaction(
            lambda store: changing.resume_session(store, session_id, label, native_label, apart)
        )

    async def continue_in(self, session_id: str, left_id: str) -> Session:
        """A session that is open goes on with what another left: it is resumed, and gets the
        other's context sets and scratchpad where its own are empty.

        With twice the same id, listeners are notified and nothing else happens.
        """
        session = await self.get_session(session_id)
        left = await self.get_session(left_id)
        return await self.store.in_transaction(
            lambda store: changing.continue_in(store, session.id, left.id)
        )

    async def list_thread(self, session_id: str) -> list[Session]:
        """Every session that this line of work went through, oldest first.

        Where one of them was resumed twice, two lines begin; beyond the given session it is the
        newest.
        """
        session = await self.get_session(session_id)
        rows = await self.store.list_thread(session.id, all_branches=False)
        return [make_session(row) for row in rows]

    async def list_related_sessions(self, session_id: str) -> list[Session]:
        """Every session of every line that has the same first one, oldest first."""
        session = await self.get_session(session_id)
        rows = await self.store.list_thread(session.id, all_branches=True)
        return [make_session(row) for row in rows]

    async def read_thread(self, session_id: str) -> AsyncIterator[SessionEvent]:
        """The events of all of them, read as one."""
        for session in await self.list_thread(session_id):
            async for event in self.read_events(session.id):
                yield event

    async def list_thread_events(self, session_id: str) -> list[SessionEvent]:
        return [event async for event in self.read_thread(session_id)]

    async def get_recent_thread_events(self, session_id: str, limit: int) -> list[SessionEvent]:
        """Where a line of work stopped: its last events, over as many sessions as needed."""
        rules.check_count("limit", limit)
        found: list[SessionEvent] = []
        thread = await self.list_thread(session_id)
        for session in reversed(thread):
            wanted = limit - len(found)
            if wanted <= 0:
                break
            after = max(session.last_sequence - wanted, 0)
            events = [event async for event in self.read_events(session.id, after)]
            found = events + found
        return found

    async def list_named(self, name: str, limit: int = 50) -> list[Session]:
        """The sessions of one name, newest first."""
        checked = rules.check_label("name", name)
        rules.check_count("limit", limit, least=1)
        rows = await self.store.list_named(checked, limit)
        return [make_session(row) for row in rows]

    # --- events -----------------------------------------------------------------------------------

    async def append_event(
        self,
        session_id: str,
        event_type: str,
        role: str,
        content: str,
        parts: dict[str, Any] | None = None,
        *,
        event_id: str | None = None,
        expected_sequence: int | None = None,
    ) -> SessionEvent:
        """Append an event with the next number; a repeated `event_id` returns the stored one."""
        rules.check_sequence(expected_sequence)
        checked = rules.check_event(event_type, role, content, parts, event_id)
        event = self._mask_event(checked, parts)
        [answer] = await self.store.append_events(session_id, [event], expected_sequence)
        return make_appended_event(str(session_id).lower(), event, answer)

    async def append_events(
        self,
        session_id: str,
        events: Sequence[Mapping[str, Any]],
        *,
        expected_sequence: int | None = None,
    ) -> list[SessionEvent]:
        """All or none: objects with `type`, `role`, `content`, and maybe `parts`, `event_id`."""
        checked = [
            self._mask_event(event, given.get("parts"))
            for event, given in zip(rules.check_events(events), events, strict=True)
        ]
        if not checked:
            await self.store.get_session(session_id)
            return []
        return await self._append(session_id, checked, expected_sequence)

    async def get_recent_events(
        self, session_id: str, max_turns: int = 30, max_tokens: int | None = None
    ) -> EventWindow:
        """The events of the last turns, oldest first; of these the newest, about `max_tokens`.

        A turn starts at a user message. Events are whole, and the newest is always there. Of more
        than 1,000 the oldest are left out, but not the request that begins the first turn.
        """
        rules.check_count("max_turns", max_turns)
        if max_tokens is not None:
            rules.check_count("max_tokens", max_tokens)
        window = await reading.read_window(self.store, session_id, max_turns, max_tokens)
        if not window:
            await self.store.get_session(session_id)
        return window

    async def find_turn_start(self, session_id: str, below: int) -> SessionEvent | None:
        """The request of the turn that the event of this number belongs to, if that is older."""
        rules.check_count("below", below)
        row = await self.store.find_turn_start(session_id, below)
        if row is None:
            return None
        return make_event(row)

    async def list_turn_events(
        self,
        session_id: str,
        below: int | None = None,
        *,
        max_turns: int = 20,
        max_events: int = 400,
        max_chars: int = PREVIEW_CHARS,
        max_bytes: int = PREVIEW_BYTES,
    ) -> list[SessionEvent]:
        """A page of the last turns below a number, oldest first, with long texts cut."""
        rules.check_count("max_turns", max_turns, least=1)
        rules.check_count("max_events", max_events, least=1)
        if below is not None:
            rules.check_count("below", below)
        rows = await self.store.list_turns_below(
            session_id, below, max_turns, max_events, max_chars, max_bytes
        )
        if not rows:
            await self.store.get_session(session_id)
        return [make_event(row) for row in reversed(rows)]

    async def sample_events(self, session_id: str, limit: int = 24) -> list[EventSample]:
        """Events spread evenly over the log, first and last included: all of them, or so many."""
        rules.check_count("limit", limit, least=1)
        session = await self.get_session(session_id)
        rows = await self.store.sample_events(session.id, limit)
        samples = [make_sample(row) for row in rows]
        samples.sort(key=lambda sample: sample.sequence)
        return samples

    async def find_first_request(self, session_id: str, max_chars: int = 200) -> str | None:
        """The first words of the first request, if there is one."""
        session = await self.get_session(session_id)
        found = await reading.find_first_request(self.store, session.id, max_chars)
        if found is None:
            return None
        return found.content

    async def list_requests(
        self, session_id: str, limit: int = 1, max_chars: int = PREVIEW_CHARS
    ) -> list[SessionEvent]:
        """What the person asked for last, newest first, however long the turns are."""
        rules.check_count("limit", limit, least=1)
        session = await self.get_session(session_id)
        return await reading.list_requests(self.store, session, limit, max_chars)

    async def find_last_request(
        self, session_id: str, max_chars: int = PREVIEW_CHARS
    ) -> SessionEvent | None:
        """The last one of the session, else of those that it continues."""
        async for session in self._read_thread_back(session_id):
            found = await reading.list_requests(self.store, session, 1, max_chars)
            if found:
                return found[0]
        return None

    async def find_session_with_events(self, session_id: str) -> Session | None:
        """The session, or the newest of those that it continues, where it has no events yet."""
        async for session in self._read_thread_back(session_id):
            if session.last_sequence:
                return session
        return None

    async def list_events(
        self, session_id: str, after: int = 0, limit: int = PAGE
    ) -> list[SessionEvent]:
        """The next events beyond a number, oldest first."""
        rules.check_count("after", after)
        rules.check_count("limit", limit, least=1)
        session = await self.get_session(session_id)
        rows = await self.store.list_events_after(session.id, after, limit)
        return [make_event(row) for row in rows]

    async def get_event(self, event_id: str) -> SessionEvent:
        row = await self.store.find_event(rules.check_event_id(event_id))
        if row is None:
            raise EventNotFoundError(event_id)
        return make_event(row)

    async def find_events(self, names: Iterable[str]) -> dict[str, SessionEvent]:
        """Those of this log among names that anyone could have written."""
        known = {name: event_id for name in names if (event_id := ids.parse_id(name))}
        wanted = list(dict.fromkeys(known.values()))
        pages = [wanted[start : start + PAGE] for start in range(0, len(wanted), PAGE)]
        rows = [row for page in pages for row in await self.store.list_events(page)]
        events = {event.id: event for event in map(make_event, rows)}
        return {name: events[event_id] for name, event_id in known.items() if event_id in events}

    async def read_events(self, session_id: str, after: int = 0) -> AsyncIterator[SessionEvent]:
        """All events beyond a number, in order, page by page."""
        rules.check_count("after", after)
        session = await self.get_session(session_id)
        while rows := await self.store.list_events_after(session.id, after, PAGE):
            for row in rows:
                yield make_event(row)
            after = get_sequence(rows[-1])

    async def verify_session(self, session_id: str) -> Verification:
        """Walk the hash chain; name each place where the log was edited, cut or added to."""
        return await reading.verify_chain(self.store, session_id)

    # --- forgetting -------------------------------------------------------------------------------

    async def find_events_to_forget(
        self,
        *,
        event_ids: Sequence[str] = (),
        session_id: str | None = None,
        match: str | None = None,
    ) -> list[SessionEvent]:
        """What `forget_events` would erase: by id, of a whole session, or by a piece of text."""
        found = {}
        async for event in self.read_events_to_forget(
            event_ids=event_ids, session_id=session_id, match=match
        ):
            found[event.id] = event
        return list(found.values())

    async def read_events_to_forget(
        self,
        *,
        event_ids: Sequence[str] = (),
        session_id: str | None = None,
        match: str | None = None,
    ) -> AsyncIterator[SessionEvent]:
        """The same page by page; what is erased meanwhile puts nothing out of step."""
        for event_id in event_ids:
            event = await self.get_event(event_id)
            if event.erased_at is None:
                yield event
        if session_id is not None:
            async for event in self.read_events(session_id):
                if event.erased_at is None:
                    yield event
        if match is not None:
            async for event in self._read_matching_events(_check_match(match)):
                yield event

    async def read_sessions_with_text(self, match: str) -> AsyncIterator[str]:
        """Ids of those whose scratchpad, name or context sets hold a text, page by page.

        `forget_text` erases it there, also while they are read.
        """
        text, after = _check_match(match), ids.BEFORE_ALL
        while page := await self.store.list_sessions_with_text(text, after, PAGE):
            for session_id in page:
                yield session_id
            after = page[-1]

    async def forget_text(self, session_id: str, match: str) -> None:
        """Erase what holds a text in a session's scratchpad, name and context sets."""
        text = _check_match(match)
        await self.store.in_transaction(lambda store: changing.erase_text(store, session_id, text))
        await self.db.scrub()

    async def forget_events(self, event_ids: Sequence[str], *, reason: str = "asked for") -> int:
        """Erase contents for good; hashes and tombstones stay, so that the chain still verifies."""
        checked = [rules.check_event_id(event_id) for event_id in event_ids]
        rules.check_label("reason", reason)
        if len(checked) > rules.EVENTS_PER_CALL:
            # More than one transaction, so a missing event has to be found first.
            for event_id in checked:
                await self.get_event(event_id)
        await self._erase(checked, reason)
        await self.db.scrub()
        return len(checked)

    async def forget_session(self, session_id: str, *, reason: str = "asked for") -> int:
        """Erase its events, scratchpad and metadata, and what listeners received of its context."""
        rules.check_label("reason", reason)
        session = await self.get_session(session_id)
        events = self.read_events_to_forget(session_id=session.id)
        erased = 0
        async for group in in_groups(events, rules.EVENTS_PER_CALL):
            await self._erase([event.id for event in group], reason)
            erased += len(group)
        await self.store.in_transaction(lambda store: changing.clear_session(store, session))
        await self.db.scrub()
        return erased

    async def read_sessions_to_prune(self, before: datetime) -> AsyncIterator[str]:
        """Ids of those that ended before a time and have contents, also while they are erased."""
        moment, after = clock.to_text(before), ids.BEFORE_ALL
        while page := await self.store.list_sessions_to_prune(moment, after, PAGE):
            for session_id in page:
                yield session_id
            after = page[-1]

    # --- the scratchpad ---------------------------------------------------------------------------

    async def get_state(self, session_id: str) -> SessionState:
        row = await self.store.get_state(session_id)
        return make_state(row)

    async def update_state(self, session_id: str, scratchpad: dict[str, Any]) -> SessionState:
        """Merge into the scratchpad: objects merge, null removes a key, the rest replaces."""
        patch = rules.check_scratchpad(scratchpad)
        if self.mask is not None:
            patch = rules.check_scratchpad(self.mask.mask_value(scratchpad))
        cleared = rules.name_cleared(scratchpad)
        row = await self.store.update_state(session_id, patch, cleared)
        return make_state(row)

    async def list_notes(
        self,
        worktree: str | None,
        first: Sequence[str] = (),
        *,
        until: datetime | None = None,
    ) -> list[SessionNotes]:
        """What these sessions noted, then what others of a worktree did, the newest first.

        Those others that began after `until` are left out.
        """
        place = rules.check_optional_worktree(worktree)
        rows = await self.store.list_notes(place, first, SESSIONS_WITH_NOTES, _format_time(until))
        notes: dict[str, SessionNotes] = {}
        for row in rows:
            found = make_notes(row)
            notes.setdefault(found.session_id, found)
        return list(notes.values())

    # --- context sets -----------------------------------------------------------------------------

    async def set_relevant_context(
        self, session_id: str, set_name: str, items: Sequence[str], *, mode: str = "replace"
    ) -> SetChange:
        """Change one context set and notify every listener, or change nothing."""
        checked = context_sets.check_items(items)
        masked = self._mask_items(set_name, checked)
        return await self.store.in_transaction(
            lambda store: changing.change_set(store, session_id, set_name, masked, mode)
        )

    async def get_set_change(self, session_id: str, set_name: str) -> SetChange:
        """What a change to this set answers when nothing is left to change."""
        session = await self.get_session(session_id)
        unchanged = context_sets.make_no_change(session.context, set_name)
        return replace(unchanged, session_id=session.id)

    async def replace_context(
        self, session_id: str, context: Mapping[str, Sequence[str]]
    ) -> Session:
        """All context sets at once."""
        checked = self._mask_context(context_sets.check_context(context))
        return await self.store.in_transaction(
            lambda store: changing.replace_context(store, session_id, checked)
        )

    async def patch_session(
        self,
        session_id: str,
        *,
        metadata: Mapping[str, object] | None = None,
        context: Mapping[str, Sequence[str]] | None = None,
        set_context: tuple[str, Sequence[str]] | None = None,
        union_context: tuple[str, Sequence[str]] | None = None,
    ) -> PatchedSession:
        """Any of these together, all or none."""

        async def work(store: SessionStore) -> PatchedSession:
            inside = SessionService(store.database, owner=self.owner, mask=self.mask)
            warnings: list[str | None] = []
            if metadata:
                await inside.update_metadata(session_id, metadata)
            if context is not None:
                await inside.replace_context(session_id, context)
                warnings += [
                    context_sets.name_warning(name, kept=bool(items))
                    for name, items in context.items()
                ]
            if set_context is not None:
                change = await inside.set_relevant_context(session_id, *set_context)
                warnings.append(change.warning)
            if union_context is not None:
                change = await inside.set_relevant_context(session_id, *union_context, mode="merge")
                warnings += [change.warning, context_sets.describe_removed(change)]
            session = await inside.get_session(session_id)
            given = [warning for warning in warnings if warning]
            return PatchedSession(session, tuple(given))

        return await self.store.in_transaction(work)

    async def get_relevant_context(
        self, session_id: str, set_name: str | None = None
    ) -> dict[str, list[str]]:
        """All context sets, or one of them, empty when nothing was set."""
        name = rules.check_optional_label("setName", set_name)
        session = await self.get_session(session_id)
        if name is None:
            return session.context
        return {name: session.context.get(name, [])}

    async def get_resume_text(
        self, session_id: str, exists: Callable[[str], bool] = os.path.exists
    ) -> str:
        """For a session that continues this one; relative paths are looked up in its worktree."""
        text, _ = await self.fit_resume_text(session_id, exists)
        return text

    async def fit_resume_text(
        self,
        session_id: str,
        exists: Callable[[str], bool] = os.path.exists,
        max_chars: int = sys.maxsize,
    ) -> tuple[str, int]:
        """The same within so many characters, and how many items were left out."""
        session = await self.get_session(session_id)
        folder = session.worktree or ""
        return context_sets.fit_resume_text(
            session.metadata, lambda path: exists(os.path.join(folder, path)), max_chars
        )

    # --- within -----------------------------------------------------------------------------------

    def _mask_event(self, event: CheckedEvent, parts: object) -> CheckedEvent:
        if self.mask is None:
            return event
        masked = self.mask.mask_text(event.content)
        masked_parts = self.mask.mask_value(parts)
        if masked == event.content and masked_parts == parts:
            return event
        return rules.check_event(event.type, event.role, masked, masked_parts, event.id)

    def _mask_value(self, value: dict[str, Any]) -> dict[str, Any]:
        if self.mask is None:
            return value
        masked: dict[str, Any] = self.mask.mask_value(value)
        return masked

    def _mask_context(self, context: Mapping[str, list[str]]) -> dict[str, list[str]]:
        return {name: self._mask_items(name, items) for name, items in context.items()}

    def _mask_items(self, set_name: str, items: list[str]) -> list[str]:
        """The name of a file is the file's: another name would not be found."""
        if self.mask is None or set_name in context_sets.SETS_OF_FILES:
            return items
        return [self.mask.mask_text(item) for item in items]

    async def _read_thread_back(self, session_id: str) -> AsyncIterator[Session]:
        """A session and those that it continues, the newest first; so many at most."""
        next_id: str | None = session_id
        for _ in range(THREAD_LOOKED_BACK):
            if next_id is None:
                break
            session = await self.get_session(next_id)
            yield session
            next_id = session.resumed_from

    async def _append(
        self, session_id: str, events: Sequence[CheckedEvent], expected_sequence: int | None
    ) -> list[SessionEvent]:
        rules.check_sequence(expected_sequence)
        distinct = rules.drop_repeated(events)
        answers = await self.store.append_events(session_id, distinct, expected_sequence)
        known = str(session_id).lower()
        stored = {}
        for event, answer in zip(distinct, answers, strict=True):
            stored[event.id] = make_appended_event(known, event, answer)
        return [stored[event.id] for event in events]

    async def _read_matching_events(self, text: str) -> AsyncIterator[SessionEvent]:
        place = ids.BEFORE_ALL, 0
        while rows := await self.store.list_matching_events(text, *place, PAGE):
            for row in rows:
                event = make_event(row)
                yield event
            place = event.session_id, event.sequence

    async def _erase(self, event_ids: Sequence[str], reason: str) -> None:
        size = rules.EVENTS_PER_CALL
        for start in range(0, len(event_ids), size):
            group = event_ids[start : start + size]
            await self.store.erase_events(group, reason)


def _make_first_metadata(name: str | None) -> dict[str, str]:
    if name is None:
        return {}
    return {"name": rules.check_label("name", name)}


def _make_optional_session(row: Row | None) -> Session | None:
    if row is None:
        return None
    return make_session(row)


def _format_time(moment: datetime | None) -> str | None:
    if moment is None:
        return None
    return clock.to_text(moment)


def _check_match(match: object) -> str:
    checked = canonical.check_text("match", match, max_bytes=rules.CONTENT_BYTES)
    if not checked.strip():
        raise InvalidValueError("match", checked, "is empty")
    return checked
