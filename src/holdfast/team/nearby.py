"""What concerns a session that works in one repository: one look at the exchange."""

from __future__ import annotations

from holdfast.ground.frozen import dataclass
from holdfast.team.freshness import is_same_repo

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.team.model import Handoff, PublishedContext, Reservation
    from holdfast.team.store import TeamStore

LISTED = 200  # contexts and handoffs


@dataclass(frozen=True)
class Nearby:
    """`contexts` and `claims` are those of the repository, also one's own; `elsewhere` counts the
    developers whose contexts are all of other repositories.
    """

    own_contexts: Sequence[PublishedContext]
    own_claims: Sequence[Reservation]
    handoffs: Sequence[Handoff]
    contexts: Sequence[PublishedContext] = ()
    claims: Sequence[Reservation] = ()
    elsewhere: int = 0
    has_more: bool = False


async def look_near(store: TeamStore, me: str, repo: str | None) -> Nearby:
    """Without a repository only what is one's own, and the handoffs that concern one."""
    own_contexts = await store.list_contexts_of(me, LISTED)
    own_claims = await store.list_own_reservations()
    handoffs = await store.list_handoffs(LISTED)
    if repo is None:
        return Nearby(own_contexts, own_claims, handoffs)
    publishers = await store.list_publishers()
    names = {name for _, name in publishers if name and is_same_repo(name, repo)}
    contexts = await store.list_active_contexts(LISTED, repos=sorted(names)) if names else []
    return Nearby(
        own_contexts=own_contexts,
        own_claims=own_claims,
        handoffs=handoffs,
        contexts=contexts,
        claims=await store.list_reservations_near(repo),
        elsewhere=_count_elsewhere(publishers, names, me),
        has_more=len(contexts) >= LISTED,
    )


def _count_elsewhere(publishers: Sequence[tuple[str, str | None]], names: set[str], me: str) -> int:
    here = {developer_id for developer_id, repo in publishers if repo in names}
    return len({developer_id for developer_id, _ in publishers} - here - {me})
