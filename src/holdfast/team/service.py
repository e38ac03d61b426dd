"""The verbs of the exchange: check by rule, use the store of its scope, return a frozen type.

Nothing here knows who is private. A row that the caller may not see does not come out of the store,
so it is missing, and what is missing has one answer.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence, Sized
from typing import Any

from holdfast.errors import InvalidValueError
from holdfast.ground import clock, ids
from holdfast.ground.handles import parse_developer
from holdfast.storage.errors import IdTakenError
from holdfast.storage.in_transaction import in_transaction
from holdfast.storage.opening import as_database
from holdfast.storage.prunings import Prunings
from holdfast.team import overlap, publishing_rules, reach
from holdfast.team.errors import (
    ClaimEndedError,
    ClaimNotFoundError,
    ContextNotFoundError,
    DeveloperNotFoundError,
    HandoffNotFoundError,
    HandoffOpenError,
    HandoffStateError,
    HandoffToSelfError,
    PrivateDeveloperError,
)
from holdfast.team.freshness import name_repo
from holdfast.team.model import (
    ACCEPTED,
    DECLINED,
    OFFERED,
    PRIVATE,
    PUBLIC,
    TOP,
    VISIBILITIES,
    Developer,
    Handoff,
    ListPlace,
    PublishedContext,
    Reservation,
    TeamState,
    UsageEvent,
)
from holdfast.team.nearby import Nearby, look_near
from holdfast.team.path_rules import find_name_objection
from holdfast.team.store import TeamStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

    from holdfast.ground.settings import Owner

LISTED = 200  # contexts, reservations, people and handoffs of one answer
EVENTS_LISTED = 50
ENDS = f"A list ends after {LISTED} entries, the newest first."
ENDS_OF_ALL = f"{ENDS} Name a developer to see all of theirs."


def may_be_cut(*lists: Sized) -> bool:
    """Whether there may be more than an answer lists."""
    return any(len(each) >= LISTED for each in lists)


def _keep_name(name: str | None) -> str | None:
    return None if name is None or find_name_objection(name) else name


class TeamService:
    """What one developer does in the exchange of one workspace."""

    def __init__(self, db_pool: Any, *, owner: Owner):
        self.db = as_database(db_pool)
        self.owner = owner
        self.store = TeamStore(self.db, owner)

    @property
    def is_out_of_reach(self) -> bool:
        return False

    def now(self) -> datetime:
        return clock.now()

    def allow(self, repo: str | None) -> None:
        """In a store of one's own every repository may be named."""

    # --- the developer who asks -------------------------------------------------------------------

    async def enter(self, visibility: str = PUBLIC) -> Developer:
        """Who asks; known to the workspace from the first call on."""
        known = await self.store.find_me()
        if known is None:
            known = await self.store.enter(self.owner.handle, visibility)
        return known

    async def set_visibility(self, visibility: object) -> Developer:
        if not isinstance(visibility, str) or visibility not in VISIBILITIES:
            raise InvalidValueError("visibility", visibility, "is unknown", known=VISIBILITIES)
        me = await self.enter(visibility)
        if me.visibility == visibility:
            return me
        return await self.store.set_visibility(visibility)

    async def note_usage(self, operation: str, outcome: str) -> None:
        await self.store.note_usage(operation, outcome)

    async def is_used(self) -> bool:
        """Whether this workspace has developers who use the exchange."""
        return await self.store.is_used()

    # --- published contexts -----------------------------------------------------------------------

    async def publish_context(self, **fields: Any) -> PublishedContext:
        """Publish, instead of what was active for the same repo and branch."""
        publication = publishing_rules.check_publication(**fields)
        await self.enter()
        published = await self.store.publish(ids.new_id(), publication)
        if published is None:
            raise IdTakenError
        return published

    async def get_contexts(
        self, developer: object = None, below: ListPlace | None = None
    ) -> Sequence[PublishedContext]:
        """The active contexts of everyone, or of one developer, by handle or id; `below` is where
        the page before ended.
        """
        who = None
        if developer is not None:
            who = (await self.get_developer(developer)).id
        if below is not None:
            return await self.store.list_contexts_below(below, who, LISTED)
        if who is None:
            return await self.store.list_active_contexts(LISTED)
        return await self.store.list_contexts_of(who, LISTED)

    async def get_developer(self, who: object, *, field: str = "developer") -> Developer:
        parsed = parse_developer(who, field=field)
        found = await self.store.find_developer(parsed)
        if found is None:
            raise DeveloperNotFoundError(parsed)
        return found

    async def get_own_context(self, context_id: object) -> PublishedContext:
        """Active or not: for the answer to a repeated request, and for the audit."""
        parsed = ids.parse_id(context_id)
        found = parsed and await self.store.find_own_context(parsed)
        if not found:
            raise ContextNotFoundError(context_id)
        return found

    async def list_own_contexts(
        self, below: object = None, limit: int = LISTED
    ) -> Sequence[PublishedContext]:
        """All that this developer ever published, newest first."""
        edge = None
        if below is not None:
            edge = (await self.get_own_context(below)).id
        return await self.store.list_own_contexts(edge, limit)

    async def revoke_context(self, context_id: object) -> PublishedContext:
        """Withdraw one's own context at once; done twice it stays as it is."""
        parsed = ids.parse_id(context_id)
        revoked = parsed and await self.store.revoke(parsed)
        if not revoked:
            raise ContextNotFoundError(context_id)
        return revoked

    # --- reservations -----------------------------------------------------------------------------

    async def claim(
        self,
        paths: object,
        reason: object,
        *,
        repo: object = None,
        branch: object = None,
        ttl_minutes: object = None,
        session_id: object = None,
    ) -> Reservation:
        """Reserve paths for a time. Nobody is kept out: others are told."""
        checked_paths = overlap.check_paths(paths)
        checked_reason = overlap.check_reason(reason)
        minutes = overlap.check_ttl_minutes(ttl_minutes)
        place = publishing_rules.check_place(repo, branch, session_id)
        await self.enter()
        reserved = await self.store.reserve(
            ids.new_id(),
            checked_paths,
            checked_reason,
            minutes,
            repo=place.repo,
            branch=place.branch,
            session_id=place.session_id,
        )
        if reserved is None:
            raise IdTakenError
        return reserved

    async def get_own_claim(self, claim_id: object) -> Reservation:
        parsed = ids.parse_id(claim_id)
        found = parsed and await self.store.find_own_reservation(parsed)
        if not found:
            raise ClaimNotFoundError(claim_id)
        return found

    async def release(self, claim_id: object) -> Reservation:
        parsed = ids.parse_id(claim_id)
        released = parsed and await self.store.release(parsed)
        if not released:
            raise ClaimNotFoundError(claim_id)
        return released

    async def list_claims(self, below: ListPlace | None = None) -> Sequence[Reservation]:
        """Those of everyone who can be seen, and what live sessions have not committed; `below` is
        where the page before ended.
        """
        return await self.store.list_reservations_below(below or TOP, LISTED)

    async def list_claims_near(self, repo: str | None) -> Sequence[Reservation]:
        """Also the older ones of a repository, to be compared with what is claimed there."""
        return await self.store.list_reservations_near(repo)

    async def show_presence(
        self,
        session_id: str,
        paths: Sequence[str],
        *,
        client: str | None = None,
        repo: str | None = None,
        branch: str | None = None,
    ) -> None:
        """A session is live, with these paths not committed; called by code, never by a model.

        A name that looks like a secret or cannot be shown is left out, as in a draft.
        """
        await self.enter()
        name = _keep_name(repo)
        await self.store.show_presence(
            session_id,
            [path for path in paths if not find_name_objection(path)],
            client=client,
            repo=name_repo(name) if name else None,
            branch=_keep_name(branch),
        )

    async def has_presence(self, session_id: str) -> bool:
        """Whether a session of this developer is shown, wherever it is stored."""
        return await self.store.has_presence(session_id)

    async def end_presence(self, session_id: str) -> None:
        await self.store.end_presence(session_id)

    async def leave(self) -> None:
        """No session of this developer is shown any more, until one shows itself again."""
        await self.store.leave()

    async def look_near(self, repo: str | None = None) -> Nearby:
        """What is one's own and what is offered; with a repository also what others do there."""
        return await look_near(self.store, self.owner.developer_id, repo)

    # --- handoffs ---------------------------------------------------------------------------------

    async def handoff(self, claim_id: object, *, to: object = None, note: object = None) -> Handoff:
        """Offer a reservation of one's own to a developer, or to whoever takes it."""
        checked_note = overlap.check_note(note)
        me = await self.enter()
        if me.visibility == PRIVATE:
            raise PrivateDeveloperError
        recipient = None
        if to is not None:
            recipient = (await self.get_developer(to, field="to")).id
            if recipient == me.id:
                raise HandoffToSelfError
        claim = await self.get_own_claim(claim_id)
        handoff_id = ids.new_id()
        if not await self.store.offer(handoff_id, claim.id, recipient, checked_note):
            await self._raise_not_offered(claim, to)
        return await self.get_handoff(handoff_id)

    async def _raise_not_offered(self, claim: Reservation, to: object) -> None:
        """Why it was not offered: the claim ended, is offered, or a developer became private."""
        known = await self.store.find_handoff_of(claim.id)
        if known is not None and known.status == OFFERED:
            raise HandoffOpenError(claim.id, known.id)
        if known is not None:
            problem = f"claim {claim.id} was taken over with it"
            raise HandoffStateError(known.id, known.status, problem)
        me = await self.enter()
        if me.visibility == PRIVATE:
            raise PrivateDeveloperError
        if to is not None:
            await self.get_developer(to)
        raise ClaimEndedError(claim.id, reach.name_paths(claim))

    async def accept(self, handoff_id: object, *, session_id: object = None) -> Handoff:
        """Take over what was offered: the reservation is the recipient's from now on."""
        place = publishing_rules.check_place(None, None, session_id)
        return await self._answer(handoff_id, ACCEPTED, place.session_id)

    async def decline(self, handoff_id: object) -> Handoff:
        return await self._answer(handoff_id, DECLINED)

    async def _answer(
        self, handoff_id: object, status: str, session_id: str | None = None
    ) -> Handoff:
        me = await self.enter()
        known = await self.get_handoff(handoff_id)
        if known.giver.id == me.id:
            raise HandoffStateError(known.id, known.status, "its giver can only cancel it")
        if me.visibility == PRIVATE:
            raise PrivateDeveloperError
        if status == DECLINED and known.to is None:
            problem = "it is offered to the whole team, so there is nothing to decline"
            raise HandoffStateError(known.id, known.status, problem)
        if not await self.store.answer(known.id, status, ids.new_id(), session_id):
            now = await self.get_handoff(known.id)
            if now.status == status and now.to is not None and now.to.id == me.id:
                return now
            problem = f"only an open offer can be {status}"
            if now.status == OFFERED:
                problem = "its claim has been released or has expired"
            raise HandoffStateError(now.id, now.status, problem)
        return await self.get_handoff(known.id)

    async def complete(self, handoff_id: object) -> Handoff:
        me = await self.enter()
        known = await self.get_handoff(handoff_id)
        is_done = known.status == "completed" and known.to is not None and known.to.id == me.id
        if not await self.store.complete(known.id) and not is_done:
            problem = "only who accepted it can complete it"
            raise HandoffStateError(known.id, known.status, problem)
        return await self.get_handoff(known.id)

    async def cancel(self, handoff_id: object) -> Handoff:
        me = await self.enter()
        known = await self.get_handoff(handoff_id)
        is_done = known.status == "cancelled" and known.giver.id == me.id
        if not await self.store.cancel(known.id) and not is_done:
            problem = "only its giver can cancel it, as long as it is offered"
            raise HandoffStateError(known.id, known.status, problem)
        return await self.get_handoff(known.id)

    async def get_handoff(self, handoff_id: object) -> Handoff:
        parsed = ids.parse_id(handoff_id)
        found = parsed and await self.store.find_handoff(parsed)
        if not found:
            raise HandoffNotFoundError(handoff_id)
        return found

    # --- the whole --------------------------------------------------------------------------------

    async def get_me(self) -> Developer:
        """Who asks; a developer who only reads does not become known by it."""
        known = await self.store.find_me()
        if known is None:
            own = self.owner
            known = Developer(own.developer_id, own.handle, own.handle, PUBLIC, seen_at=None)
        return known

    async def get_state(
        self,
        *,
        contexts_below: ListPlace | None = None,
        claims_below: ListPlace | None = None,
    ) -> TeamState:
        """The whole, or with contexts or claims from where a page of them has ended."""
        me = await self.get_me()
        return TeamState(
            me=me,
            developers=await self.store.list_developers(LISTED),
            published_contexts=await self.get_contexts(below=contexts_below),
            claims=await self.list_claims(claims_below),
            handoffs=await self.store.list_handoffs(LISTED),
            work_events=await self.store.list_newest_events(EVENTS_LISTED),
        )

    async def count_events_by_hour(self, hours: int) -> list[int]:
        """How much happened in each of the last hours, the oldest first."""
        counts = await self.store.count_events(hours)
        return [counts.get(hours_ago, 0) for hours_ago in reversed(range(hours))]

    def is_offered_to(self, handoff: Handoff, me: Developer) -> bool:
        """Whether a developer may accept it."""
        return handoff.status == OFFERED and handoff.giver.id != me.id

    # --- the audit --------------------------------------------------------------------------------

    async def list_stored_contexts(self, limit: int) -> Sequence[PublishedContext]:
        """All of the workspace for who owns the file; on PostgreSQL only one's own."""
        return await self.store.list_stored_contexts(limit)

    async def list_usage(self, limit: int) -> Sequence[UsageEvent]:
        """The calls, newest first; of whom as above."""
        return await self.store.list_usage(limit)

    # --- erasing ----------------------------------------------------------------------------------

    async def find_words(self, entry_id: object) -> tuple[str, bool] | None:
        """Which kind of one's own has this id, and whether it has not been emptied."""
        parsed = ids.parse_id(entry_id)
        return await self.store.find_words(parsed) if parsed else None

    async def read_words_with_text(self, text: str) -> AsyncIterator[tuple[str, str]]:
        """Ids and kinds of what of one's own holds a text, also while it is erased."""
        after = ids.BEFORE_ALL
        while page := await self.store.list_with_text(text, after, LISTED):
            for entry_id, kind in page:
                yield entry_id, kind
            after = page[-1][0]

    async def forget_words(self, entry_id: str, kind: str) -> None:
        """Empty what is one's own, with an audit row; what is active ends first, for all to see."""
        await in_transaction(
            self.db, lambda tx: TeamService(tx, owner=self.owner)._end_and_erase(entry_id, kind)
        )

    async def _end_and_erase(self, entry_id: str, kind: str) -> None:
        if kind == "context":
            context = await self.store.find_own_context(entry_id)
            if context is not None and context.is_active(self.now()):
                await self.store.revoke(entry_id)
        if kind == "claim":
            await self.store.release(entry_id)
        if kind == "handoff":
            await self.store.cancel(entry_id)
        await Prunings(self.db, self.owner).allow(entry_id, kind)
        await self.store.erase_words(entry_id)
