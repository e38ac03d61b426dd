"""The exchange as doors and use cases know it: in this store, or at a server that was joined."""

from __future__ import annotations

from typing import Any, Protocol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from holdfast.ground.settings import Owner
    from holdfast.team.model import (
        Developer,
        Handoff,
        ListPlace,
        PublishedContext,
        Reservation,
        TeamState,
    )
    from holdfast.team.nearby import Nearby


class Team(Protocol):
    """`owner` is who the caller is there, and `now` what time it is there. `allow` refuses a
    repository that nobody there may be told of. `is_out_of_reach`: it did not answer a moment ago.
    """

    @property
    def owner(self) -> Owner: ...

    @property
    def is_out_of_reach(self) -> bool: ...

    def now(self) -> datetime: ...

    def allow(self, repo: str | None) -> None: ...

    async def get_me(self) -> Developer: ...

    async def is_used(self) -> bool: ...

    async def set_visibility(self, visibility: object) -> Developer: ...

    async def publish_context(self, **fields: Any) -> PublishedContext: ...

    async def get_contexts(
        self, developer: object = None, below: ListPlace | None = None
    ) -> Sequence[PublishedContext]: ...

    async def list_own_contexts(self, below: object = None) -> Sequence[PublishedContext]: ...

    async def revoke_context(self, context_id: object) -> PublishedContext: ...

    async def claim(
        self,
        paths: object,
        reason: object,
        *,
        repo: object = None,
        branch: object = None,
        ttl_minutes: object = None,
        session_id: object = None,
    ) -> Reservation: ...

    async def release(self, claim_id: object) -> Reservation: ...

    async def list_claims(self, below: ListPlace | None = None) -> Sequence[Reservation]: ...

    async def list_claims_near(self, repo: str | None) -> Sequence[Reservation]: ...

    async def show_presence(
        self,
        session_id: str,
        paths: Sequence[str],
        *,
        client: str | None = None,
        repo: str | None = None,
        branch: str | None = None,
    ) -> None: ...

    async def end_presence(self, session_id: str) -> None: ...

    async def look_near(self, repo: str | None = None) -> Nearby: ...

    async def handoff(
        self, claim_id: object, *, to: object = None, note: object = None
    ) -> Handoff: ...

    async def accept(self, handoff_id: object, *, session_id: object = None) -> Handoff: ...

    async def decline(self, handoff_id: object) -> Handoff: ...

    async def complete(self, handoff_id: object) -> Handoff: ...

    async def cancel(self, handoff_id: object) -> Handoff: ...

    async def get_state(
        self,
        *,
        contexts_below: ListPlace | None = None,
        claims_below: ListPlace | None = None,
    ) -> TeamState: ...

    def is_offered_to(self, handoff: Handoff, me: Developer) -> bool: ...
