"""The only file that turns session verbs into queries.

Rows stay rows here: a hook appends through this file and never loads the dataclasses.
"""

from __future__ import annotations

import json

from holdfast.errors import HoldfastError
from holdfast.ground import ids
from holdfast.sessions import chain, errors, rules
from holdfast.storage.errors import IdTakenError
from holdfast.storage.queries import Room

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from typing import Any

    from holdfast.ground.settings import Owner
    from holdfast.storage.database import Database, Row, Transaction

QUERIES = Room(
    "context",
    __file__,
    functions={"chain_hash": chain.chain_hash, "merge_json": rules.merge_json},
    once={"update_state"},  # somebody may have changed the same key in between
)


class SessionStore:
    def __init__(self, database: Database, owner: Owner):
        self.database = database
        self.owner = owner.workspace_id, owner.developer_id

    # --- sessions ------------------------------------------------------------------------------------------

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
        tx: Transaction | None = None,
    ) -> Row:
        session_id = ids.new_id()
        fields = (user_id, chatmode, workflow, skill, git_branch, client, native_id, repo, worktree, resumed_from)
        write = self.database.write if tx is None else tx.run
        rows = await write(
            QUERIES["create_session"],
            *self.owner,
            session_id,
            *fields,
            metadata,
            scratchpad,
            chain.first_hash(session_id),
        )
        return rows[0]

    async def find_session(self, session_id: object) -> Row | None:
        if (known := ids.parse_id(session_id)) is None:
            return None
        return first(await self.database.read(QUERIES["find_session"], *self.owner, known))

    async def get_session(self, session_id: object) -> Row:
        if (row := await self.find_session(session_id)) is None:
            raise errors.SessionNotFoundError(session_id)
        return row

    async def lock_session(self, tx: Transaction, session_id: object) -> Row:
        known = ids.parse_id(session_id)
        row = first(await tx.run(QUERIES["lock_session"], *self.owner, known)) if known else None
        if row is None:
            raise errors.SessionNotFoundError(session_id)
        return row

    async def find_active(self, chatmode: str, user_id: str) -> Row | None:
        return first(await self.database.read(QUERIES["active_session"], *self.owner, chatmode, user_id))

    async def find_native(self, client: str, native_id: str) -> Row | None:
        return first(await self.database.read(QUERIES["native_session"], *self.owner, client, native_id))

    async def list_open(self, worktree: str, client: str | None) -> list[Row]:
        return await self.database.read(QUERIES["open_sessions"], *self.owner, worktree, client)

    async def list_unplaced(self, client: str) -> list[Row]:
        return await self.database.read(QUERIES["unplaced_sessions"], *self.owner, client)

    async def find_telling(self, worktree: str | None, client: str | None, native_id: str | None) -> Row | None:
        return first(await self.database.read(QUERIES["telling_session"], *self.owner, worktree, client, native_id))

    async def list_names(self, begun: str, limit: int) -> list[str]:
        return [row[0] for row in await self.database.read(QUERIES["session_names"], *self.owner, begun, limit)]

    async def list_sessions(self, below: str | None, limit: int) -> list[Row]:
        return await self.database.read(QUERIES["list_sessions"], *self.owner, below, limit)

    async def list_named(self, name: str, limit: int) -> list[Row]:
        return await self.database.read(QUERIES["named_sessions"], *self.owner, name, limit)

    async def list_thread(self, session_id: str) -> list[Row]:
        return await self.database.read(QUERIES["thread_sessions"], *self.owner, session_id)

    async def end_session(self, session_id: object) -> None:
        known = ids.parse_id(session_id)
        if known is None or not await self.database.write(QUERIES["end_session"], *self.owner, known):
            raise errors.SessionNotFoundError(session_id)

    async def save_metadata(
        self, tx: Transaction, session_id: str, metadata: str, topic: str | None, data: str | None
    ) -> int:
        [row] = await tx.run(QUERIES["save_metadata"], *self.owner, session_id, metadata, topic, data)
        revision: int = row[0]
        return revision

    # --- events --------------------------------------------------------------------------------------------

    async def append_events(
        self, session_id: object, events: Sequence[tuple[Any, ...]], expected_sequence: int | None
    ) -> list[Row]:
        """All of them or none; answers (refused, sequence, created_at, chain_hash, erased_at, …) for each."""
        known = ids.parse_id(session_id)
        if known is None:
            raise errors.SessionNotFoundError(session_id)
        # Each event expects the one before it: a repeated call whose first events are there is checked as well.
        first = expected_sequence
        rows = [(None if first is None else first + position, *event) for position, event in enumerate(events)]
        try:
            answers = await self.database.write_rows(QUERIES["append_events"], (*self.owner, known), rows)
        except IdTakenError:  # by somebody whose rows we cannot see: nobody can tell which one
            raise errors.EventConflictError(*(event[0] for event in events)) from None
        for answer, row in zip(answers, rows, strict=True):
            if answer[0] == "sequence":  # on SQLite its own call may have counted before it was undone
                raise errors.SequenceConflictError(known, row[0], (await self.get_session(known))[16])
            if answer[0] is not None:
                raise _refusal(answer, known, row[1])
        return answers

    async def recent_events(
        self, session_id: object, max_turns: int, below: int | None, limit: int | None
    ) -> list[Row]:
        """Newest first."""
        if (known := ids.parse_id(session_id)) is None:
            return []
        before = max(max_turns - 1, 0)
        return await self.database.read(QUERIES["recent_events"], *self.owner, known, before, below, limit)

    async def events_after(self, session_id: str, after: int, limit: int) -> list[Row]:
        return await self.database.read(QUERIES["events_after"], *self.owner, session_id, after, limit)

    async def turns_below(
        self, session_id: object, below: int | None, turns: int, limit: int, max_chars: int, max_bytes: int
    ) -> list[Row]:
        """Newest first, contents cut to so many characters, and parts left out beyond so many bytes."""
        if (known := ids.parse_id(session_id)) is None:
            return []
        at = known, below, max(turns - 1, 0), limit, max_chars, max_bytes
        return await self.database.read(QUERIES["turns_below"], *self.owner, *at)

    async def sample_events(self, session_id: str, limit: int) -> list[Row]:
        rows = await self.database.read(QUERIES["sample_events"], *self.owner, session_id, limit)
        return sorted(rows, key=lambda row: row[0])

    async def first_request(self, session_id: str, max_chars: int) -> str | None:
        row = first(await self.database.read(QUERIES["first_request"], *self.owner, session_id, max_chars))
        return None if row is None else row[0]

    async def find_event(self, event_id: str) -> Row | None:
        return first(await self.database.read(QUERIES["find_event"], *self.owner, event_id))

    async def matching_events(self, text: str) -> list[Row]:
        escaped = json.dumps(text, ensure_ascii=False)[1:-1]
        return await self.database.read(QUERIES["matching_events"], *self.owner, text, escaped)

    async def sessions_with_text(self, text: str) -> list[str]:
        escaped = json.dumps(text, ensure_ascii=False)[1:-1]
        rows = await self.database.read(QUERIES["sessions_with_text"], *self.owner, escaped)
        return [row[0] for row in rows]

    async def erase_events(self, event_ids: Sequence[str], reason: str) -> None:
        """All of them, or none when one does not exist."""

        async def work(tx: Transaction) -> None:
            for event_id in event_ids:
                if not await tx.run(QUERIES["erase_event"], *self.owner, event_id, reason):
                    raise errors.EventNotFoundError(event_id)

        await self.database.transaction(work)

    async def clear_session(self, tx: Transaction, session_id: str) -> None:
        await tx.run(QUERIES["clear_session"], *self.owner, session_id)

    async def erased_hashes(self, session_id: str) -> dict[str, bytes]:
        rows = await self.database.read(QUERIES["erased_hashes"], *self.owner, session_id)
        return {row[0]: row[1] for row in rows}

    # --- the scratchpad and the accounts -------------------------------------------------------------------

    async def get_state(self, session_id: object, tx: Transaction | None = None) -> Row:
        known = ids.parse_id(session_id)
        read = self.database.read if tx is None else tx.run
        row = first(await read(QUERIES["get_state"], *self.owner, known)) if known else None
        if row is None:
            raise errors.SessionNotFoundError(session_id)
        return row

    async def update_state(self, session_id: object, patch: str) -> Row:
        """ "Missing or ended?" is asked only when the statement touched no row."""
        known = ids.parse_id(session_id)
        row = first(await self.database.write(QUERIES["update_state"], *self.owner, known, patch)) if known else None
        if row is not None:
            return row
        session = await self.get_session(session_id)
        raise errors.SessionEndedError(session[0], moment(session[7]))

    async def count_ends(self) -> Row:
        """Numbers handed out, numbers that the logs end with, sessions: what it costs does not follow the logs."""
        [row] = await self.database.read(QUERIES["count_ends"], *self.owner)
        return row

    async def count_events(self) -> Row:
        [row] = await self.database.read(QUERIES["count_events"], *self.owner)
        return row


def first(rows: Sequence[Row]) -> Row | None:
    return rows[0] if rows else None


def moment(value: str | datetime) -> datetime:
    from holdfast.ground import clock  # only an error needs `datetime`

    return clock.from_text(value) if isinstance(value, str) else value


def _refusal(answer: Row, session_id: str, event_id: str) -> HoldfastError:
    refused, *_, ended_at = answer
    if refused == "missing":
        return errors.SessionNotFoundError(session_id)
    if refused == "ended":
        return errors.SessionEndedError(session_id, moment(ended_at))
    return errors.EventConflictError(event_id)
