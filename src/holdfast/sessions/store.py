"""The only file that turns session verbs into queries.

Rows stay rows here: a hook appends through this file and never loads the types.
"""

from __future__ import annotations

from holdfast.errors import HoldfastError
from holdfast.ground import ids
from holdfast.ground import light_json as json
from holdfast.sessions import chain, errors, rules
from holdfast.storage.errors import IdTakenError
from holdfast.storage.queries import Room

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from datetime import datetime
    from typing import Any, TypeVar

    from holdfast.ground.settings import Owner
    from holdfast.sessions.rules import CheckedEvent
    from holdfast.storage.database import Database, Row

    T = TypeVar("T")

METADATA_COLUMN = 8  # of a session's row
OBSERVED_SECONDS = 1.0  # a reader waits for another writer so long

QUERIES = Room(
    "context",
    __file__,
    functions={"chain_hash": chain.chain_hash, "merge_json": rules.merge_json},
    once={"update_state"},  # another process may have changed the same key in between
)


class SessionStore:
    def __init__(self, database: Database, owner: Owner):
        self.database = database
        self._owner = owner
        self.owner = owner.workspace_id, owner.developer_id

    async def in_transaction(self, work: Callable[[SessionStore], Awaitable[T]]) -> T:
        """Several queries, all or none, on a store like this one."""
        from holdfast.storage.in_transaction import in_transaction  # an event alone needs none

        return await in_transaction(
            self.database, lambda database: work(SessionStore(database, self._owner))
        )

    # --- sessions ---------------------------------------------------------------------------------

    async def create_session(
        self,
        *,
        user_id: str,
        chatmode: str,
        workflow: str | None = None,
        skill: str | None = None,
        git_branch: str | None = None,
        client: str | None = None,
        native_id: str | None = None,
        repo: str | None = None,
        worktree: str | None = None,
        resumed_from: str | None = None,
        metadata: str = "{}",
        scratchpad: str = "{}",
    ) -> Row:
        session_id = ids.new_id()
        [row] = await self.database.write(
            QUERIES["create_session"],
            *self.owner,
            session_id,
            user_id,
            chatmode,
            workflow,
            skill,
            git_branch,
            client,
            native_id,
            repo,
            worktree,
            resumed_from,
            metadata,
            scratchpad,
            chain.first_hash(session_id),
        )
        return row

    async def find_session(self, session_id: object) -> Row | None:
        known = ids.parse_id(session_id)
        if known is None:
            return None
        rows = await self.database.read(QUERIES["find_session"], *self.owner, known)
        return get_first(rows)

    async def get_session(self, session_id: object) -> Row:
        row = await self.find_session(session_id)
        if row is None:
            raise errors.SessionNotFoundError(session_id)
        return row

    async def lock_session(self, session_id: object) -> Row:
        """Only in a transaction: no other writer changes it before that ends."""
        known = check_session_id(session_id)
        rows = await self.database.write(QUERIES["lock_session"], *self.owner, known)
        return _require_first(rows, session_id)

    async def find_active(self, chatmode: str, user_id: str) -> Row | None:
        query = QUERIES["active_session"]
        rows = await self.database.read(query, *self.owner, chatmode, user_id)
        return get_first(rows)

    async def find_native(self, client: str, native_id: str) -> Row | None:
        query = QUERIES["native_session"]
        rows = await self.database.read(query, *self.owner, client, native_id)
        return get_first(rows)

    async def find_native_id(self, client: str, native_id: str) -> str | None:
        """The id of the open session that a client calls by its own id."""
        row = await self.find_native(client, native_id)
        if row is None:
            return None
        return _get_id(row)

    async def start_session(self, **fields: Any) -> str:
        """Create a session and return its id."""
        row = await self.create_session(**fields)
        return _get_id(row)

    async def find_last_native(self, client: str, native_id: str) -> Row | None:
        query = QUERIES["last_native_session"]
        rows = await self.database.read(query, *self.owner, client, native_id)
        return get_first(rows)

    async def find_last_native_id(self, client: str, native_id: str) -> str | None:
        """The id of the last session that a client calls by its own id, open or not."""
        row = await self.find_last_native(client, native_id)
        if row is None:
            return None
        return _get_id(row)

    async def find_last_metadata(self, client: str, native_id: str) -> str | None:
        """Of that session, as a text."""
        row = await self.find_last_native(client, native_id)
        return None if row is None else _get_metadata(row)

    async def list_open(self, worktree: str) -> list[Row]:
        return await self.database.read(QUERIES["open_sessions"], *self.owner, worktree)

    async def list_newest(self, worktree: str) -> list[Row]:
        return await self.database.read(QUERIES["newest_sessions"], *self.owner, worktree)

    async def list_last_event_times(self, session_ids: Sequence[str]) -> list[Row]:
        query = QUERIES["last_event_times"]
        return await self.database.read(query, *self.owner, json.dumps(list(session_ids)))

    async def find_last(
        self, worktree: str | None, excluded: str | None, until: str | None
    ) -> Row | None:
        query = QUERIES["last_session"]
        rows = await self.database.read(query, *self.owner, worktree, excluded, until)
        return get_first(rows)

    async def list_by_activity(self, worktree: str, limit: int) -> list[Row]:
        query = QUERIES["sessions_by_activity"]
        return await self.database.read(query, *self.owner, worktree, limit)

    async def find_with_context(self, worktree: str | None) -> Row | None:
        rows = await self.database.read(QUERIES["session_with_context"], *self.owner, worktree)
        return get_first(rows)

    async def list_names(self, begun: str, limit: int, among: int) -> list[str]:
        query = QUERIES["session_names"]
        rows = await self.database.read(query, *self.owner, begun, limit, among)
        return [name for (name,) in rows]

    async def list_sessions(self, below: str | None, limit: int) -> list[Row]:
        return await self.database.read(QUERIES["list_sessions"], *self.owner, below, limit)

    async def list_named(self, name: str, limit: int) -> list[Row]:
        return await self.database.read(QUERIES["named_sessions"], *self.owner, name, limit)

    async def list_thread(self, session_id: str, *, all_branches: bool) -> list[Row]:
        query = QUERIES["thread_sessions"]
        return await self.database.read(query, *self.owner, session_id, all_branches)

    async def end_session(self, session_id: object) -> None:
        known = check_session_id(session_id)
        rows = await self.database.write(QUERIES["end_session"], *self.owner, known)
        _require_first(rows, session_id)

    async def mark_active(self, session_id: str, at: str | None = None) -> None:
        """Now, or at a time in the past."""
        await self.database.write(QUERIES["mark_active"], *self.owner, session_id, at)

    async def link_fork(self, session_id: str, native_id: str) -> str | None:
        """The session of another native id that this one continues now; None if it did before."""
        rows = await self.database.write(QUERIES["link_fork"], *self.owner, session_id, native_id)
        row = get_first(rows)
        return None if row is None else row[0]

    async def hide_session(self, client: str, native_id: str) -> None:
        await self.database.write(QUERIES["hide_session"], *self.owner, client, native_id)

    async def show_session(self, client: str, native_id: str) -> None:
        await self.database.write(QUERIES["show_session"], *self.owner, client, native_id)

    async def save_metadata(
        self, session_id: str, metadata: str, topic: str | None, data: str | None
    ) -> int:
        """Write it with the event for listeners; returns the new revision."""
        query = QUERIES["save_metadata"]
        rows = await self.database.write(query, *self.owner, session_id, metadata, topic, data)
        [(revision,)] = rows
        return int(revision)

    # --- events -----------------------------------------------------------------------------------

    async def append_events(
        self, session_id: object, events: Sequence[CheckedEvent], expected_sequence: int | None
    ) -> list[Row]:
        """All or none; of each (refused, sequence, created_at, chain_hash, erased_at, …)."""
        known = check_session_id(session_id)
        # Each event expects the one before it, so a repeated call that was partly stored is checked
        # as well.
        expected = _expect_sequences(expected_sequence, len(events))
        rows = [(number, *event.to_row()) for number, event in zip(expected, events, strict=True)]
        head = (*self.owner, known)
        try:
            answers = await self.database.write_rows(QUERIES["append_events"], head, rows)
        except IdTakenError:  # by a developer whose rows are hidden: which id it was is unknown
            event_ids = [event.id for event in events]
            raise errors.EventConflictError(*event_ids) from None
        for answer, event, number in zip(answers, events, expected, strict=True):
            refused, *_, ended_at = answer
            if refused is not None:
                raise await self._make_refusal(refused, known, event, number, ended_at)
        return answers

    async def _make_refusal(
        self,
        refused: str,
        session_id: str,
        event: CheckedEvent,
        expected: int | None,
        ended_at: Any,
    ) -> HoldfastError:
        if refused == "sequence":
            # Read again: on SQLite the call may have counted before it was undone.
            row = await self.get_session(session_id)
            actual = _get_last_sequence(row)
            return errors.SequenceConflictError(session_id, expected, actual)
        if refused == "missing":
            return errors.SessionNotFoundError(session_id)
        if refused == "ended":
            return errors.SessionEndedError(session_id, parse_moment(ended_at))
        elsewhere = await self._find_elsewhere(session_id, event)
        return errors.EventConflictError(event.id, elsewhere=elsewhere)

    async def _find_elsewhere(self, session_id: str, event: CheckedEvent) -> str | None:
        """The other session that has this very event."""
        row = await self.find_event(event.id)
        if row is None:
            return None
        _id, found_in, *_, content_hash, _chain_hash, _erased_at = row
        is_same = content_hash == event.content_hash and found_in != session_id
        return str(found_in) if is_same else None

    async def list_recent_events(
        self, session_id: object, max_turns: int, below: int | None, limit: int
    ) -> list[Row]:
        """Newest first."""
        known = ids.parse_id(session_id)
        if known is None:
            return []
        before = max(max_turns - 1, 0)
        return await self.database.read(
            QUERIES["recent_events"], *self.owner, known, before, below, limit
        )

    async def find_turn_start(self, session_id: str, below: int) -> Row | None:
        query = QUERIES["turn_start"]
        rows = await self.database.read(query, *self.owner, session_id, below)
        return get_first(rows)

    async def list_events_after(self, session_id: str, after: int, limit: int) -> list[Row]:
        return await self.database.read(
            QUERIES["events_after"], *self.owner, session_id, after, limit
        )

    async def list_turns_below(
        self,
        session_id: object,
        below: int | None,
        turns: int,
        limit: int,
        max_chars: int,
        max_bytes: int,
    ) -> list[Row]:
        """Newest first, contents cut to `max_chars`, and parts over `max_bytes` left out."""
        known = ids.parse_id(session_id)
        if known is None:
            return []
        before = max(turns - 1, 0)
        return await self.database.read(
            QUERIES["turns_below"],
            *self.owner,
            known,
            below,
            before,
            limit,
            max_chars,
            max_bytes,
        )

    async def sample_events(self, session_id: str, limit: int) -> list[Row]:
        """In no order: the query looks for several numbers at once."""
        query = QUERIES["sample_events"]
        return await self.database.read(query, *self.owner, session_id, limit)

    async def list_newest_user_messages(
        self, session_id: str, below: int, limit: int, max_chars: int
    ) -> list[Row]:
        query = QUERIES["newest_user_messages"]
        return await self.database.read(query, *self.owner, session_id, below, limit, max_chars)

    async def list_first_user_messages(
        self, session_id: str, limit: int, max_chars: int
    ) -> list[Row]:
        query = QUERIES["first_user_messages"]
        return await self.database.read(query, *self.owner, session_id, limit, max_chars)

    async def find_event(self, event_id: str) -> Row | None:
        query = QUERIES["find_event"]
        rows = await self.database.read(query, *self.owner, event_id)
        return get_first(rows)

    async def list_events(self, event_ids: Sequence[str]) -> list[Row]:
        """Those of them that are in the log, in any order."""
        query = QUERIES["listed_events"]
        return await self.database.read(query, *self.owner, json.dumps(list(event_ids)))

    async def has_event(self, event_id: str) -> bool:
        """Whether an event was stored, also where it was erased since."""
        return await self.find_event(event_id) is not None

    async def list_matching_events(
        self, text: str, session_id: str, after: int, limit: int
    ) -> list[Row]:
        """From one session to the next, beyond an event of the first."""
        query = QUERIES["matching_events"]
        escaped = _escape(text)
        return await self.database.read(query, *self.owner, text, escaped, session_id, after, limit)

    async def list_sessions_with_text(self, text: str, after: str, limit: int) -> list[str]:
        """In the order of their ids, beyond one of them."""
        query = QUERIES["sessions_with_text"]
        rows = await self.database.read(query, *self.owner, _escape(text), after, limit)
        return [session_id for (session_id,) in rows]

    async def list_sessions_to_prune(self, before: str, after: str, limit: int) -> list[str]:
        """Those that ended before a time and have contents, in the order of their ids."""
        query = QUERIES["sessions_to_prune"]
        rows = await self.database.read(query, *self.owner, before, after, limit)
        return [session_id for (session_id,) in rows]

    async def erase_events(self, event_ids: Sequence[str], reason: str) -> None:
        """All of them, or none when an id does not exist."""
        await self.in_transaction(lambda store: store._erase_each(event_ids, reason))

    async def _erase_each(self, event_ids: Sequence[str], reason: str) -> None:
        query = QUERIES["erase_event"]
        for event_id in event_ids:
            rows = await self.database.write(query, *self.owner, event_id, reason)
            if not rows:
                raise errors.EventNotFoundError(event_id)

    async def rewrite_session(self, session_id: str, metadata: str, scratchpad: str) -> None:
        query = QUERIES["rewrite_session"]
        await self.database.write(query, *self.owner, session_id, metadata, scratchpad)

    async def list_erased_hashes(self, session_id: str) -> dict[str, bytes]:
        rows = await self.database.read(QUERIES["erased_hashes"], *self.owner, session_id)
        return {event_id: content_hash for event_id, content_hash in rows}  # noqa: C416  # a row is not a pair to mypy

    # --- the scratchpad and the accounts ----------------------------------------------------------

    async def get_state(self, session_id: object) -> Row:
        known = check_session_id(session_id)
        rows = await self.database.read(QUERIES["get_state"], *self.owner, known)
        return _require_first(rows, session_id)

    async def get_scratchpad_text(self, session_id: str) -> str:
        """As it is stored, however large it has grown."""
        _, text, _ = await self.get_state(session_id)
        return str(text)

    async def list_notes(
        self, worktree: str | None, session_ids: Sequence[str], limit: int, until: str | None
    ) -> list[Row]:
        """Of the named sessions, then of those in a worktree that noted something last."""
        query = QUERIES["session_notes"]
        named = json.dumps(list(session_ids))
        return await self.database.read(query, *self.owner, worktree, named, limit, until)

    async def update_state(self, session_id: object, patch: str, cleared: str) -> Row:
        """Whether it is missing or ended is asked only when the statement touched no row."""
        known = check_session_id(session_id)
        query = QUERIES["update_state"]
        rows = await self.database.write(query, *self.owner, known, patch, cleared)
        row = get_first(rows)
        if row is None:
            session = await self.get_session(session_id)
            raise _make_ended_error(session)
        return row

    # --- what a client's transcripts were read up to ----------------------------------------------

    async def find_capture(
        self, client: str, native_id: str, source: str = ""
    ) -> tuple[dict[str, Any], int]:
        """The state of a client's session or of one of its transcripts, and its revision.

        Empty and 0 where nothing was captured yet.
        """
        query = QUERIES["find_capture"]
        rows = await self.database.read(query, *self.owner, client, native_id, source)
        row = get_first(rows)
        if row is None:
            return {}, 0
        text, revision = row
        return json.loads(text), int(revision)

    async def list_captures(
        self, client: str, native_ids: Sequence[str]
    ) -> dict[str, dict[str, Any]]:
        """The states of those of a client's sessions of which one was saved, by native id."""
        query = QUERIES["list_captures"]
        rows = await self.database.read(query, *self.owner, client, json.dumps(list(native_ids)))
        return {native_id: json.loads(text) for native_id, text in rows}

    async def save_capture(
        self,
        client: str,
        native_id: str,
        state: dict[str, Any],
        expected_revision: int,
        source: str = "",
    ) -> bool:
        """Whether it was saved: not where another process has saved it since it was read."""
        text = json.dumps(state, ensure_ascii=True)
        query = QUERIES["save_capture"]
        head = (*self.owner, client, native_id, source)
        return bool(await self.database.write(query, *head, text, expected_revision))

    # --- what was seen in a session's log ---------------------------------------------------------

    async def list_observed(
        self, session_ids: Sequence[str]
    ) -> dict[str, tuple[dict[str, Any], int]]:
        """What was seen in those of the sessions that were looked at, each with its revision."""
        query = QUERIES["list_observed"]
        rows = await self.database.read(query, *self.owner, json.dumps(list(session_ids)))
        return {str(row[0]): (json.loads(row[1]), int(row[2])) for row in rows}

    async def save_observed(
        self, session_id: str, observed: dict[str, Any], expected_revision: int
    ) -> bool:
        """Whether it was saved: not where another process has saved it since it was read.

        A store that stays busy is an error and not worth the wait.
        """
        text = json.dumps(observed, ensure_ascii=True)
        values = (*self.owner, session_id, text, expected_revision)
        rows = await self.database.try_transaction(
            lambda tx: tx.run(QUERIES["save_observed"], *values), OBSERVED_SECONDS
        )
        return bool(rows)

    async def count_events(self, max_sessions: int, max_rows: int) -> Row:
        """Of the newest sessions: numbers given out, rows, sessions, and whether there are older
        ones; at a cost that the two limits bound.
        """
        query = QUERIES["count_events"]
        [row] = await self.database.read(query, *self.owner, max_sessions, max_rows)
        return row


def check_session_id(session_id: object) -> str:
    known = ids.parse_id(session_id)
    if known is None:
        raise errors.SessionNotFoundError(session_id)
    return known


def get_first(rows: Sequence[Row]) -> Row | None:
    if not rows:
        return None
    return rows[0]


def _require_first(rows: Sequence[Row], session_id: object) -> Row:
    if not rows:
        raise errors.SessionNotFoundError(session_id)
    return rows[0]


def _escape(text: str) -> str:
    """As it stands inside a JSON text."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


def parse_moment(value: str | datetime) -> datetime:
    from holdfast.ground import clock  # only an error needs `datetime`

    if isinstance(value, str):
        return clock.from_text(value)
    return value


def _expect_sequences(first_expected: int | None, count: int) -> list[int | None]:
    if first_expected is None:
        return [None] * count
    end = first_expected + count
    return list(range(first_expected, end))


# --- columns of a session's row, where making a `Session` would cost a hook too much --------------


def _get_id(row: Row) -> str:
    session_id, *_ = row
    return str(session_id)


def _get_metadata(row: Row) -> str:
    return str(row[METADATA_COLUMN])


def _get_last_sequence(row: Row) -> int:
    *_, last_sequence, _head_hash = row
    return int(last_sequence)


def _make_ended_error(row: Row) -> errors.SessionEndedError:
    (
        session_id,
        _user,
        _chatmode,
        _workflow,
        _skill,
        _branch,
        _started_at,
        ended_at,
        *_,
    ) = row
    moment = parse_moment(ended_at)
    return errors.SessionEndedError(str(session_id), moment)
