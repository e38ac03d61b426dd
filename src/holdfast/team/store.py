"""The only file that turns verbs of the exchange into queries.

JSON and times are passed as text, the same to both engines. Who may see a row is decided by the
queries (SQLite) and by the policies (PostgreSQL), never here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from operator import attrgetter

from holdfast.ground import clock, ids
from holdfast.ground import light_json as json
from holdfast.storage.queries import Room
from holdfast.team import reach
from holdfast.team.model import (
    Basis,
    ContextReference,
    Developer,
    Handoff,
    ListPlace,
    Person,
    Publication,
    PublishedContext,
    Reservation,
    UsageEvent,
    WorkEvent,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.ground.settings import Owner
    from holdfast.storage.database import Database, Row

MOST_NEAR = 2_000  # reservations of one repository, or of one developer, that are compared


def add_minutes(moment: str, minutes: int) -> str:
    """For statements of SQLite, whose own functions lose the microseconds."""
    later = clock.from_text(moment) + timedelta(minutes=minutes)
    return clock.to_text(later)


QUERIES = Room("team", __file__, functions={"minutes_after": add_minutes})


class TeamStore:
    def __init__(self, database: Database, owner: Owner):
        self.database = database
        self.owner = owner.workspace_id, owner.developer_id

    # --- developers -------------------------------------------------------------------------------

    async def find_me(self) -> Developer | None:
        return _first_developer(await self.database.read(QUERIES["find_me"], *self.owner))

    async def enter(self, handle: str, visibility: str) -> Developer:
        rows = await self.database.write(QUERIES["enter"], *self.owner, handle, visibility)
        return _make_developer(rows[0])

    async def set_visibility(self, visibility: str) -> Developer:
        rows = await self.database.write(QUERIES["set_visibility"], *self.owner, visibility)
        return _make_developer(rows[0])

    async def find_developer(self, who: str) -> Developer | None:
        return _first_developer(
            await self.database.read(QUERIES["find_developer"], *self.owner, who)
        )

    async def list_developers(self, limit: int) -> list[Developer]:
        rows = await self.database.read(QUERIES["list_developers"], *self.owner, limit)
        return [_make_developer(row) for row in rows]

    async def note_usage(self, operation: str, outcome: str) -> None:
        await self.database.write(
            QUERIES["note_usage"], *self.owner, ids.new_id(), operation, outcome
        )

    async def is_used(self) -> bool:
        [(is_used,)] = await self.database.read(QUERIES["find_exchange"], *self.owner)
        return bool(is_used)

    # --- published contexts -----------------------------------------------------------------------

    async def publish(self, context_id: str, publication: Publication) -> PublishedContext | None:
        """None where the id is another developer's."""
        basis = publication.basis
        rows = await self.database.write(
            QUERIES["publish_context"],
            *self.owner,
            context_id,
            publication.session_id,
            publication.repo,
            publication.branch,
            publication.title,
            publication.summary,
            _as_json(publication.files_touched),
            _as_json(publication.next_actions),
            _as_json(publication.blockers),
            _as_json(publication.task_ids),
            json.dumps(basis.to_dict(), ensure_ascii=False) if basis else None,
            publication.ttl_hours,
        )
        return _first_context(rows)

    async def find_own_context(self, context_id: str) -> PublishedContext | None:
        query = QUERIES["find_own_context"]
        return _first_context(await self.database.read(query, *self.owner, context_id))

    async def list_own_contexts(self, below: str | None, limit: int) -> list[PublishedContext]:
        query = QUERIES["list_own_contexts"]
        return _make_contexts(await self.database.read(query, *self.owner, below, limit))

    async def list_publishers(self) -> list[tuple[str, str | None]]:
        """Each developer with the repository of an active context."""
        rows = await self.database.read(QUERIES["list_publishers"], *self.owner)
        return [(developer_id, repo) for developer_id, repo in rows]

    async def list_active_contexts(
        self, limit: int, *, repos: Sequence[str] | None = None
    ) -> list[PublishedContext]:
        query = QUERIES["list_active_contexts"]
        names = None if repos is None else _as_json(repos)
        return _make_contexts(await self.database.read(query, *self.owner, names, limit))

    async def list_contexts_of(self, developer_id: str, limit: int) -> list[PublishedContext]:
        query = QUERIES["list_contexts_of"]
        return _make_contexts(await self.database.read(query, *self.owner, developer_id, limit))

    async def list_contexts_below(
        self, place: ListPlace, developer_id: str | None, limit: int
    ) -> list[PublishedContext]:
        query = QUERIES["list_contexts_below"]
        asked = (developer_id, place.at, place.id, limit)
        return _make_contexts(await self.database.read(query, *self.owner, *asked))

    async def revoke(self, context_id: str) -> PublishedContext | None:
        query = QUERIES["revoke_context"]
        return _first_context(await self.database.write(query, *self.owner, context_id))

    # --- reservations -----------------------------------------------------------------------------

    async def reserve(
        self,
        claim_id: str,
        paths: Sequence[str],
        reason: str,
        ttl_minutes: int,
        *,
        repo: str | None,
        branch: str | None,
        session_id: str | None,
    ) -> Reservation | None:
        """None where the id is another developer's."""
        rows = await self.database.write(
            QUERIES["reserve"],
            *self.owner,
            claim_id,
            session_id,
            repo,
            branch,
            _as_json(paths),
            reason,
            ttl_minutes,
        )
        return _first_reservation(rows)

    async def find_own_reservation(self, claim_id: str) -> Reservation | None:
        query = QUERIES["find_own_reservation"]
        return _first_reservation(await self.database.read(query, *self.owner, claim_id))

    async def list_reservations(
        self, limit: int, *, of: str | None = None, repos: Sequence[str] | None = None
    ) -> list[Reservation]:
        """The newest; those that a person made come first."""
        query = QUERIES["list_reservations"]
        names = None if repos is None else _as_json(repos)
        rows = await self.database.read(query, *self.owner, of, names, limit)
        return sorted(map(_make_reservation, rows), key=attrgetter("is_soft"))

    async def list_own_reservations(self) -> list[Reservation]:
        _, me = self.owner
        return await self.list_reservations(MOST_NEAR, of=me)

    async def list_reservations_near(self, repo: str | None) -> list[Reservation]:
        """Those of a repository, whatever else is active, and of others whose names end alike."""
        known = await self.database.read(QUERIES["list_reserved_repos"], *self.owner)
        step = reach.find_last_step(repo)
        names = [name for (name,) in known if reach.find_last_step(name) == step]
        if not names:
            return []
        return await self.list_reservations(MOST_NEAR, repos=names)

    async def list_reservations_below(self, place: ListPlace, limit: int) -> list[Reservation]:
        query = QUERIES["list_reservations_below"]
        asked = (place.is_soft, place.at, place.id, limit)
        rows = await self.database.read(query, *self.owner, *asked)
        return [_make_reservation(row) for row in rows]

    async def release(self, claim_id: str) -> Reservation | None:
        query = QUERIES["release"]
        return _first_reservation(await self.database.write(query, *self.owner, claim_id))

    async def show_presence(
        self,
        session_id: str,
        paths: Iterable[str],
        *,
        client: str | None,
        repo: str | None,
        branch: str | None,
    ) -> None:
        query = QUERIES["show_presence"]
        place = (session_id, client, repo, branch)
        await self.database.write(query, *self.owner, *place, _as_json(paths))

    async def has_presence(self, session_id: str) -> bool:
        return bool(await self.database.read(QUERIES["find_presence"], *self.owner, session_id))

    async def end_presence(self, session_id: str) -> None:
        await self.database.write(QUERIES["end_presence"], *self.owner, session_id)

    async def leave(self) -> None:
        await self.database.write(QUERIES["leave"], *self.owner)

    # --- handoffs ---------------------------------------------------------------------------------

    async def offer(self, handoff_id: str, claim_id: str, to: str | None, note: str) -> bool:
        query = QUERIES["offer_handoff"]
        return bool(await self.database.write(query, *self.owner, handoff_id, claim_id, to, note))

    async def answer(
        self, handoff_id: str, status: str, claim_id: str, session_id: str | None
    ) -> bool:
        answer = (handoff_id, status, claim_id, session_id)
        return bool(await self.database.write(QUERIES["answer_handoff"], *self.owner, *answer))

    async def complete(self, handoff_id: str) -> bool:
        query = QUERIES["complete_handoff"]
        return bool(await self.database.write(query, *self.owner, handoff_id))

    async def cancel(self, handoff_id: str) -> bool:
        query = QUERIES["cancel_handoff"]
        return bool(await self.database.write(query, *self.owner, handoff_id))

    async def find_handoff(self, handoff_id: str) -> Handoff | None:
        rows = await self.database.read(QUERIES["find_handoff"], *self.owner, handoff_id)
        if not rows:
            return None
        return _make_handoff(rows[0])

    async def find_handoff_of(self, claim_id: str) -> Handoff | None:
        rows = await self.database.read(QUERIES["find_handoff_of"], *self.owner, claim_id)
        if not rows:
            return None
        return await self.find_handoff(rows[0][0])

    async def list_handoffs(self, limit: int) -> list[Handoff]:
        rows = await self.database.read(QUERIES["list_handoffs"], *self.owner, limit)
        return [_make_handoff(row) for row in rows]

    # --- what happened ----------------------------------------------------------------------------

    async def list_newest_events(self, limit: int) -> list[WorkEvent]:
        rows = await self.database.read(QUERIES["newest_work_events"], *self.owner, limit)
        return [_make_work_event(row) for row in rows]

    async def count_events(self, hours: int) -> dict[int, int]:
        """By how many whole hours ago they happened."""
        rows = await self.database.read(QUERIES["count_work_events"], *self.owner, hours)
        return {int(hours_ago): int(events) for hours_ago, events in rows}

    async def list_events_after(
        self, team: int, own: int, limit: int
    ) -> list[tuple[bool, int, WorkEvent]]:
        """Each with its stream and its number there."""
        query = QUERIES["work_events_after"]
        rows = await self.database.read(query, *self.owner, team, own, limit)
        return [(bool(row[0]), int(row[1]), _make_work_event(row)) for row in rows]

    async def read_end(self) -> tuple[int, int]:
        """The last number of the team's stream, and of the developer's own."""
        [(team, own)] = await self.database.read(QUERIES["work_events_end"], *self.owner)
        return int(team), int(own)

    # --- the audit --------------------------------------------------------------------------------

    async def list_stored_contexts(self, limit: int) -> list[PublishedContext]:
        query = QUERIES["list_stored_contexts"]
        return _make_contexts(await self.database.read(query, *self.owner, limit))

    async def list_usage(self, limit: int) -> list[UsageEvent]:
        rows = await self.database.read(QUERIES["list_usage"], *self.owner, limit)
        return [_make_usage_event(row) for row in rows]

    # --- retention --------------------------------------------------------------------------------

    async def count_ended(self, before: str) -> tuple[int, int, int, int]:
        """Contexts, claims, handoffs and presence of sessions that ended before a time and still
        have words or paths.
        """
        rows = await self.database.read(QUERIES["count_ended"], *self.owner, before)
        [(contexts, claims, handoffs, presences)] = rows
        return int(contexts), int(claims), int(handoffs), int(presences)

    async def erase_ended(self, before: str) -> None:
        await self.database.write(QUERIES["erase_ended"], *self.owner, before)

    # --- erasing ----------------------------------------------------------------------------------

    async def find_words(self, entry_id: str) -> tuple[str, bool] | None:
        """Which kind of one's own has this id, and whether it still has words."""
        rows = await self.database.read(QUERIES["find_words"], *self.owner, entry_id)
        if not rows:
            return None
        _, kind, has_words = rows[0]
        return kind, bool(has_words)

    async def list_with_text(self, text: str, after: str, limit: int) -> list[tuple[str, str]]:
        """Ids and kinds of what is one's own and holds a text, in the order of their ids."""
        escaped = json.dumps(text, ensure_ascii=False)[1:-1]
        query = QUERIES["words_with_text"]
        rows = await self.database.read(query, *self.owner, text, escaped, after, limit)
        return [(entry_id, kind) for entry_id, kind in rows]

    async def erase_words(self, entry_id: str) -> None:
        await self.database.write(QUERIES["erase_words"], *self.owner, entry_id)


# --- rows ---------------------------------------------------------------------------------------


def _first_developer(rows: Sequence[Row]) -> Developer | None:
    return _make_developer(rows[0]) if rows else None


def _first_context(rows: Sequence[Row]) -> PublishedContext | None:
    return _make_context(rows[0]) if rows else None


def _first_reservation(rows: Sequence[Row]) -> Reservation | None:
    return _make_reservation(rows[0]) if rows else None


def _make_contexts(rows: Sequence[Row]) -> list[PublishedContext]:
    return [_make_context(row) for row in rows]


def _make_developer(row: Row) -> Developer:
    developer_id, handle, name, visibility, seen_at, is_live, repo, branch = row
    seen = clock.parse_optional(seen_at)
    return Developer(developer_id, handle, name, visibility, seen, bool(is_live), repo, branch)


def _make_context(row: Row) -> PublishedContext:
    context_id, developer_id, handle, name, title, summary, files, actions, blockers, tasks = row[
        :10
    ]
    repo, branch, session_id, basis, published_at, expires_at, superseded_by, revoked_at = row[10:]
    return PublishedContext(
        id=context_id,
        developer=Person(developer_id, handle, name),
        title=title,
        summary=summary,
        files_touched=tuple(json.loads(files)),
        next_actions=tuple(json.loads(actions)),
        blockers=tuple(json.loads(blockers)),
        task_ids=tuple(json.loads(tasks)),
        repo=repo,
        branch=branch,
        session_id=session_id,
        basis=_make_basis(basis),
        published_at=clock.parse(published_at),
        expires_at=clock.parse(expires_at),
        superseded_by=superseded_by,
        revoked_at=clock.parse_optional(revoked_at),
    )


def _make_basis(text: str | None) -> Basis | None:
    if text is None:
        return None
    values = json.loads(text)
    return Basis(values["head"], values["files"])


def _make_reservation(row: Row) -> Reservation:
    claim_id, developer_id, handle, name, repo, branch, paths, reason, session_id = row[:9]
    reserved_at, expires_at, released_at, is_soft = row[9:]
    return Reservation(
        id=claim_id,
        developer=Person(developer_id, handle, name),
        repo=repo,
        branch=branch,
        paths=tuple(json.loads(paths)),
        reason=reason,
        session_id=session_id,
        reserved_at=clock.parse(reserved_at),
        expires_at=clock.parse(expires_at),
        released_at=clock.parse_optional(released_at),
        is_soft=bool(is_soft),
    )


def _make_handoff(row: Row) -> Handoff:
    handoff_id, *people, claim_id, repo, branch, paths, reason, note, status = row[:14]
    context_id, context_title, context_summary = row[14:17]
    offered_at, expires_at, answered_at, completed_at, taken_claim_id = row[17:]
    giver, to = people[:3], people[3:]
    context = None
    if context_id is not None:
        context = ContextReference(context_id, context_title, context_summary)
    return Handoff(
        id=handoff_id,
        giver=Person(*giver),
        to=Person(*to) if to[0] is not None else None,
        claim_id=claim_id,
        repo=repo,
        branch=branch,
        paths=tuple(json.loads(paths)),
        reason=reason,
        note=note,
        status=status,
        context=context,
        offered_at=clock.parse(offered_at),
        expires_at=clock.parse(expires_at),
        answered_at=clock.parse_optional(answered_at),
        completed_at=clock.parse_optional(completed_at),
        taken_claim_id=taken_claim_id,
    )


def _make_work_event(row: Row) -> WorkEvent:
    _, _, event_type, developer_id, handle, name, subject, repo, branch, created_at = row
    person = Person(developer_id, handle, name)
    return WorkEvent(event_type, person, subject, repo, branch, clock.parse(created_at))


def _make_usage_event(row: Row) -> UsageEvent:
    developer_id, handle, operation, outcome, created_at = row
    return UsageEvent(developer_id, handle, operation, outcome, clock.parse(created_at))


def _as_json(texts: Iterable[str]) -> str:
    return json.dumps(list(texts), ensure_ascii=False)
