"""The verbs on sessions: check by rule, one transaction, return a frozen type."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.errors import InvalidValueError
from holdfast.ground import canonical, clock, settings
from holdfast.sessions import chain, context_sets, rules
from holdfast.sessions.errors import EventNotFoundError, RevisionConflictError
from holdfast.sessions.model import (
    EventSample,
    PatchedSession,
    Session,
    SessionEvent,
    SessionState,
    SetChange,
    Verification,
    get_sequence,
    get_texts,
    make_appended_event,
    make_event,
    make_sample,
    make_session,
    make_state,
)
from holdfast.sessions.store import SessionStore
from holdfast.storage.opening import as_database

if TYPE_CHECKING:
    from holdfast.sessions.rules import CheckedEvent

CONTEXT = "caco.context"
FIRST_PAGE = 64
PAGE = 1000
# Of one event on a page for reading; a click brings the rest.
PREVIEW_CHARS = 4000
PREVIEW_BYTES = 64 << 10


class SessionService:
    """Manages sessions, their events, scratchpads and context sets, for one developer of one
    workspace.

    Takes what `open_database` gives, or a plain `asyncpg.Pool` on a database that was migrated
    before; without an owner it acts for the workspace and developer of the settings.
    """

    def __init__(self, db_pool: Any, *, owner: settings.Owner | None = None):
        self.db = as_database(db_pool)
        self.owner = owner or settings.load_settings().owner
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
        """Start a session with an empty scratchpad; an open session of the same native id is
        returned instead.
        """
        label = rules.check_optional_label
        row = await self.store.create_session(
            chatmode=rules.check_label("chatmode", chatmode),
            user_id=rules.check_label("user_id", user_id),
            workflow=label("workflow", workflow),
            skill=label("skill", skill),
            git_branch=label("git_branch", git_branch),
            client=label("client", client),
            native_id=label("native_id", native_id),
            repo=label("repo", repo),
            worktree=None if worktree is None else rules.check_worktree(worktree),
            metadata=_format_metadata(
                {} if name is None else {"name": rules.check_label("name", name)}
            ),
        )
        return make_session(row)

    async def get_session(self, session_id: str) -> Session:
        return make_session(await self.store.get_session(session_id))

    async def lock_session(self, session_id: str) -> Session:
        """The same, and no other writer changes it before the transaction ends that this is called
        in.
        """
        return make_session(await self.store.lock_session(session_id))

    async def find_session(self, id_or_name: str) -> Session:
        """By id, or the newest one of that name; raises when there is neither."""
        if row := await self.store.find_session(id_or_name):
            return make_session(row)
        name = canonical.check_text("Session", id_or_name, max_bytes=rules.LABEL_BYTES)
        if rows := await self.store.list_named(name, 1):
            return make_session(rows[0])
        return await self.get_session(id_or_name)

    async def list_sessions(self, limit: int = 50, below: str | None = None) -> list[Session]:
        """Newest first; `below` is the last id of the page before."""
        rules.check_count("limit", limit, least=1)
        last = None if below is None else (await self.get_session(below)).id
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
        return make_session(row) if row else None

    async def find_native_session(self, client: str, native_id: str) -> Session | None:
        """The open session that a client calls by this id."""
        checked = rules.check_label("client", client), rules.check_label("native_id", native_id)
        row = await self.store.find_native(*checked)
        return make_session(row) if row else None

    async def find_current_sessions(
        self, worktree: str, client: str | None = None
    ) -> list[Session]:
        """The newest open session of a worktree, and a second one when there are several."""
        rows = await self.store.list_open(
            rules.check_worktree(worktree), rules.check_optional_label("client", client)
        )
        return [make_session(row) for row in rows]

    async def find_unplaced_sessions(self, client: str) -> list[Session]:
        """The newest open session of a client that has neither worktree nor native id, and a second
        one.
        """
        rows = await self.store.list_unplaced(rules.check_label("client", client))
        return [make_session(row) for row in rows]

    async def find_session_to_continue(
        self,
        worktree: str | None = None,
        *,
        client: str | None = None,
        native_id: str | None = None,
    ) -> Session | None:
        """The newest session that says something, open or ended, here or with None anywhere.

        One with context sets or a hint comes before one that has only events; of those, that of the
        asking client itself does not count.
        """
        label = rules.check_optional_label
        row = await self.store.find_to_continue(
            None if worktree is None else rules.check_worktree(worktree),
            label("client", client),
            label("native_id", native_id),
        )
        return make_session(row) if row else None

    async def list_names(self, begun: str = "", limit: int = 50) -> list[str]:
        """Names that begin like this, that of the newest session first; small and large letters of
        ASCII are alike.
        """
        checked = canonical.check_text("begun", begun, max_bytes=rules.LABEL_BYTES)
        return await self.store.list_names(checked, rules.check_count("limit", limit, least=1))

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
        checked = rules.check_meta(changes)
        if expected_revision is not None:
            rules.check_count("expected_revision", expected_revision)

        async def work(store: SessionStore) -> Session:
            session = make_session(await store.lock_session(session_id))
            if expected_revision is not None and session.revision != expected_revision:
                raise RevisionConflictError(session.id, expected_revision, session.revision)
            metadata = {**session.metadata, **checked}
            kept = {key: value for key, value in metadata.items() if value is not None}
            event = None
            if "name" in checked:
                event = OutboxMessage(
                    "session.renamed", _make_name_data(session.id, checked["name"])
                )
            return await _save_metadata(store, session, kept, event)

        return await self.store.in_transaction(work)

    async def replace_metadata(self, session_id: str, metadata: dict[str, Any]) -> Session:
        """All of it at once, already checked; for imports."""

        async def work(store: SessionStore) -> Session:
            session = make_session(await store.lock_session(session_id))
            return await _save_metadata(store, session, metadata, None)

        return await self.store.in_transaction(work)

    async def rename_session(self, session_id: str, name: str) -> Session:
        return await self.update_metadata(session_id, {"name": rules.check_label("name", name)})

    async def resume_session(self, session_id: str) -> Session:
        """An open session as it is; an ended one goes on in a new session with its name, context
        and scratchpad.
        """

        async def work(store: SessionStore) -> Session:
            session = make_session(await store.lock_session(session_id))
            if session.ended_at is not None:
                session = await _start_successor(store, session)
            metadata = {**session.metadata, "lastObservedAt": clock.to_text(clock.now())}
            data = context_sets.make_context_event("resume", session, session.context)
            return await _save_metadata(store, session, metadata, OutboxMessage(CONTEXT, data))

        return await self.store.in_transaction(work)

    async def list_thread(self, session_id: str) -> list[Session]:
        """Every session that this line of work went through, oldest first."""
        session = await self.get_session(session_id)
        return [make_session(row) for row in await self.store.list_thread(session.id)]

    async def read_thread(self, session_id: str) -> AsyncIterator[SessionEvent]:
        """The events of all of them, read as one."""
        for session in await self.list_thread(session_id):
            async for event in self.read_events(session.id):
                yield event

    async def list_thread_events(self, session_id: str) -> list[SessionEvent]:
        return [event async for event in self.read_thread(session_id)]

    async def get_recent_thread_events(self, session_id: str, limit: int) -> list[SessionEvent]:
        """Where a line of work stopped: its last events, however many sessions they are spread
        over.
        """
        rules.check_count("limit", limit)
        found: list[SessionEvent] = []
        for session in reversed(await self.list_thread(session_id)):
            if len(found) >= limit:
                break
            after = max(session.last_sequence - (limit - len(found)), 0)
            found = [event async for event in self.read_events(session.id, after)] + found
        return found

    async def list_named(self, name: str, limit: int = 50) -> list[Session]:
        """The sessions of one name, newest first."""
        checked = rules.check_label("name", name)
        rows = await self.store.list_named(checked, rules.check_count("limit", limit, least=1))
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
        """Append an event; its number follows the last one. The same `event_id` again returns the
        stored event.
        """
        event = rules.check_event(event_type, role, content, parts, event_id)
        [appended] = await self._append(session_id, [event], expected_sequence)
        return appended

    async def append_events(
        self,
        session_id: str,
        events: Sequence[Mapping[str, Any]],
        *,
        expected_sequence: int | None = None,
    ) -> list[SessionEvent]:
        """Append several, all or none: objects with `type`, `role`, `content`, and maybe `parts`,
        `event_id`.
        """
        if checked := rules.check_events(events):
            return await self._append(session_id, checked, expected_sequence)
        await self.store.get_session(session_id)
        return []

    async def get_recent_events(
        self, session_id: str, max_turns: int = 30, max_tokens: int | None = None
    ) -> list[SessionEvent]:
        """The events of the last turns, oldest first; about `max_tokens` at most, the oldest
        dropped first.

        A turn starts at a user message. Events are whole, and the newest is always there.
        """
        rules.check_count("max_turns", max_turns)
        if max_tokens is None:
            rows = await self.store.list_recent_events(
                session_id, max_turns, None, None if max_turns else 1
            )
        else:
            rules.check_count("max_tokens", max_tokens)
            rows = await self._list_recent_within(session_id, max_turns, max_tokens)
        if not rows:
            await self.store.get_session(session_id)
        return [make_event(row) for row in reversed(rows)]

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
        """A page for reading: the events of the last turns below a number, oldest first, with long
        texts cut.
        """
        for field, value in (("max_turns", max_turns), ("max_events", max_events)):
            rules.check_count(field, value, least=1)
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
        return [make_sample(row) for row in rows]

    async def find_first_request(self, session_id: str, max_chars: int = 200) -> str | None:
        """The first words of the first request, if there is one."""
        session = await self.get_session(session_id)
        return await self.store.find_first_request(session.id, max_chars)

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

    async def read_events(self, session_id: str, after: int = 0) -> AsyncIterator[SessionEvent]:
        """All events beyond a number, in order, page by page."""
        rules.check_count("after", after)
        session = await self.get_session(session_id)
        while rows := await self.store.list_events_after(session.id, after, PAGE):
            for row in rows:
                yield make_event(row)
            after = get_sequence(rows[-1])

    async def verify_session(self, session_id: str) -> Verification:
        """Walk the hash chain and name every place where the log was edited, cut, reordered or
        added to.
        """
        newest = await self.store.list_recent_events(
            session_id, 0, None, 1
        )  # first, so that the count can only be ahead
        session = await self.get_session(session_id)
        check, after = chain.ChainCheck(session.id), 0
        while after < session.last_sequence and (
            rows := await self.store.list_events_after(session.id, after, PAGE)
        ):
            if check.misses_tombstones(
                rows
            ):  # asked for after the rows, because somebody may be forgetting right now
                check.tombstones |= await self.store.list_erased_hashes(session.id)
            check.walk(row for row in rows if get_sequence(row) <= session.last_sequence)
            after = get_sequence(rows[-1])
        last_stored = get_sequence(newest[0]) if newest else 0
        check.finish(session.last_sequence, bytes.fromhex(session.head_hash), last_stored)
        return Verification(session.id, check.checked, check.erased, tuple(check.damage))

    # --- forgetting -------------------------------------------------------------------------------

    async def find_events_to_forget(
        self,
        *,
        event_ids: Sequence[str] = (),
        session_id: str | None = None,
        match: str | None = None,
    ) -> list[SessionEvent]:
        """What `forget_events` would erase: by id, of a whole session, or by a piece of text."""
        found = [await self.get_event(event_id) for event_id in event_ids]
        if session_id is not None:
            found += [event async for event in self.read_events(session_id)]
        if match is not None:
            found += [
                make_event(row)
                for row in await self.store.list_matching_events(_check_match(match))
            ]
        unique = {event.id: event for event in found if event.erased_at is None}
        return list(unique.values())

    async def list_sessions_with_text(self, match: str) -> list[str]:
        """Sessions whose scratchpad, name or context sets hold a text: only `forget_session` takes
        it from there.
        """
        return await self.store.list_sessions_with_text(_check_match(match))

    async def forget_events(self, event_ids: Sequence[str], *, reason: str = "asked for") -> int:
        """Erase contents and leave hashes and tombstones, so that the chain still verifies; not to
        be undone.
        """
        checked = [rules.check_event_id(event_id) for event_id in event_ids]
        rules.check_label("reason", reason)
        if (
            len(checked) > rules.EVENTS_PER_CALL
        ):  # more than one transaction, so a missing one has to be found first
            for event_id in checked:
                await self.get_event(event_id)
        await self._erase(checked, reason)
        await self.db.scrub()
        return len(checked)

    async def forget_session(self, session_id: str, *, reason: str = "asked for") -> int:
        """Every event of a session, its scratchpad, its metadata and what listeners were told of
        its context.
        """
        rules.check_label("reason", reason)
        session = await self.get_session(session_id)
        events = await self.find_events_to_forget(session_id=session.id)
        await self._erase([event.id for event in events], reason)
        await self.store.in_transaction(lambda store: _clear_session(store, session))
        await self.db.scrub()
        return len(events)

    # --- the scratchpad ---------------------------------------------------------------------------

    async def get_state(self, session_id: str) -> SessionState:
        return make_state(await self.store.get_state(session_id))

    async def update_state(self, session_id: str, scratchpad: dict[str, Any]) -> SessionState:
        """Merge into the scratchpad: objects merge, null removes a key, everything else replaces."""
        return make_state(
            await self.store.update_state(session_id, rules.check_scratchpad(scratchpad))
        )

    # --- context sets -----------------------------------------------------------------------------

    async def set_relevant_context(
        self, session_id: str, set_name: str, items: Sequence[str], *, mode: str = "replace"
    ) -> SetChange:
        """Change one context set and notify every listener, or change nothing."""

        async def work(store: SessionStore) -> SetChange:
            session = make_session(await store.lock_session(session_id))
            change = context_sets.change_set(session.context, set_name, items, mode)
            data = context_sets.make_context_event("changed", session, change.context, change)
            metadata = {**session.metadata, "context": change.context}
            await _save_metadata(store, session, metadata, OutboxMessage(CONTEXT, data))
            return replace(change, session_id=session.id)

        return await self.store.in_transaction(work)

    async def get_set_change(self, session_id: str, set_name: str) -> SetChange:
        """What a change to this set answers when nothing is left to change."""
        session = await self.get_session(session_id)
        unchanged = context_sets.make_no_change(session.context, set_name)
        return replace(unchanged, session_id=session.id)

    async def replace_context(
        self, session_id: str, context: Mapping[str, Sequence[str]]
    ) -> Session:
        """All context sets at once."""
        checked = context_sets.check_context(context)

        async def work(store: SessionStore) -> Session:
            session = make_session(await store.lock_session(session_id))
            before = {"files": session.context.get("files", [])}
            files = context_sets.change_set(before, "files", checked.get("files", []))
            data = context_sets.make_context_event("changed", session, checked, files)
            metadata = {**session.metadata, "context": checked}
            return await _save_metadata(store, session, metadata, OutboxMessage(CONTEXT, data))

        return await self.store.in_transaction(work)

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
            inside = SessionService(store.database, owner=self.owner)
            warnings: list[str | None] = []
            if metadata:
                await inside.update_metadata(session_id, metadata)
            if context is not None:
                await inside.replace_context(session_id, context)
                warnings += [context_sets.name_warning(name) for name in context]
            if set_context is not None:
                change = await inside.set_relevant_context(session_id, *set_context)
                warnings.append(change.warning)
            if union_context is not None:
                change = await inside.set_relevant_context(session_id, *union_context, mode="merge")
                warnings += [change.warning, context_sets.describe_removed(change)]
            session = await inside.get_session(session_id)
            return PatchedSession(session, tuple(note for note in warnings if note))

        return await self.store.in_transaction(work)

    async def get_relevant_context(
        self, session_id: str, set_name: str | None = None
    ) -> dict[str, list[str]]:
        """All context sets, or one of them, empty when nothing was set."""
        name = None if set_name is None else rules.check_label("setName", set_name)
        context = (await self.get_session(session_id)).context
        return context if name is None else {name: context.get(name, [])}

    async def get_resume_text(
        self, session_id: str, exists: Callable[[str], bool] = os.path.exists
    ) -> str:
        """What a session that continues this one is told; a relative path is looked for in its
        working tree.
        """
        session = await self.get_session(session_id)
        folder = session.worktree or ""
        return context_sets.make_resume_text(
            session.metadata, lambda path: exists(os.path.join(folder, path))
        )

    # --- within -----------------------------------------------------------------------------------

    async def _append(
        self, session_id: str, events: Sequence[CheckedEvent], expected_sequence: int | None
    ) -> list[SessionEvent]:
        rules.check_sequence(expected_sequence)
        distinct = rules.drop_repeated(events)
        answers = await self.store.append_events(session_id, distinct, expected_sequence)
        known = str(session_id).lower()
        stored = {
            event.id: make_appended_event(known, event, answer)
            for event, answer in zip(distinct, answers, strict=True)
        }
        return [stored[event.id] for event in events]

    async def _list_recent_within(
        self, session_id: str, max_turns: int, max_tokens: int
    ) -> list[Any]:
        """Page by page from the newest on, until the tokens are spent: the cost follows the limit,
        not the log.
        """
        kept: list[Any] = []
        used = 0
        page = FIRST_PAGE if max_turns else 1
        below = None
        while rows := await self.store.list_recent_events(session_id, max_turns, below, page):
            costs = [rules.count_event_tokens(*get_texts(row)) for row in rows]
            fitting = rules.fit_tokens(costs, used, max_tokens)
            kept += rows[: fitting if kept else max(fitting, 1)]
            used += sum(costs[:fitting])
            if fitting < len(rows) or not max_turns:
                break
            below = get_sequence(kept[-1])
            page = min(page * 2, PAGE)
        return kept

    async def _erase(self, event_ids: Sequence[str], reason: str) -> None:
        for start in range(0, len(event_ids), rules.EVENTS_PER_CALL):
            await self.store.erase_events(event_ids[start : start + rules.EVENTS_PER_CALL], reason)


# --- in a transaction -----------------------------------------------------------------------------


class OutboxMessage(NamedTuple):
    """What listeners are told of a change, in its transaction."""

    topic: str
    data: Mapping[str, Any]


async def _save_metadata(
    store: SessionStore,
    session: Session,
    metadata: dict[str, Any],
    message: OutboxMessage | None,
) -> Session:
    """Write a locked session's metadata and the message together; where nothing changes, neither."""
    if _with_context(metadata) == _with_context(session.metadata):
        return session
    text = _format_metadata(metadata)
    topic = None if message is None else message.topic
    data = None if message is None else _format_event_data(message.data)
    revision = await store.save_metadata(session.id, text, topic, data)
    return replace(session, metadata=metadata, name=metadata.get("name"), revision=revision)


async def _start_successor(store: SessionStore, old: Session) -> Session:
    """Under the old session's lock: what is forgotten meanwhile must not live on in the new one."""
    scratchpad = await store.get_scratchpad_text(old.id)
    row = await store.create_session(
        chatmode=old.chatmode,
        user_id=old.user_id,
        workflow=old.workflow,
        skill=old.skill,
        git_branch=old.git_branch,
        client=old.client,
        repo=old.repo,
        worktree=old.worktree,
        resumed_from=old.id,
        metadata=_format_metadata(old.metadata),
        scratchpad=scratchpad,
    )
    return make_session(row)


async def _clear_session(store: SessionStore, session: Session) -> None:
    """Erase its own texts, and tell listeners how it stands now: what they were told before is
    erased too.
    """
    await store.clear_session(session.id)
    context = context_sets.make_context_event("changed", session, {})
    for topic, data in ((CONTEXT, context), ("session.renamed", _make_name_data(session.id, None))):
        await store.save_metadata(session.id, _format_metadata({}), topic, _format_event_data(data))


def _make_name_data(session_id: str, name: str | None) -> dict[str, Any]:
    return {"session_id": session_id, "name": name}


def _check_match(match: object) -> str:
    checked = canonical.check_text("match", match, max_bytes=rules.CONTENT_BYTES)
    if not checked.strip():
        raise InvalidValueError("match", checked, "is empty")
    return checked


def _with_context(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """No context and an empty one are the same."""
    return {"context": {}, **metadata}


def _format_metadata(metadata: Mapping[str, Any]) -> str:
    return canonical.canonical_object("metadata", dict(metadata), max_bytes=rules.METADATA_BYTES)


def _format_event_data(data: Mapping[str, Any]) -> str:
    """A full context fits into the metadata; an event names its files once more, and those that
    came and went.
    """
    return canonical.canonical_object("event data", dict(data), max_bytes=2 * rules.METADATA_BYTES)
