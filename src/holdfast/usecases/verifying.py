"""Whether the log shows a check that passed on the files as they are now.

An agent that ran the tests need not run them again by `prove` before it saves a summary. A pass
counts only as long as nothing that could be compared has changed since, and no check fails.
"""

from __future__ import annotations

from holdfast.bundles.gathering import SESSIONS_SEEN
from holdfast.bundles.local_state import read_local_state
from holdfast.bundles.seen import Uncommitted, choose_seen
from holdfast.ground.off_loop import off_loop
from holdfast.usecases.catching_up import catch_up_for_reader
from holdfast.usecases.observing import observe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.app import App


async def find_seen_pass(app: App, worktree: str, own_paths: Sequence[str]) -> str | None:
    """The command and when it passed; None where the log does not show all that it would need.

    `own_paths`: where our notes are, which no check is about.
    """
    if not await catch_up_for_reader(app, worktree):
        return None
    sessions = app.scope.sessions
    active = await sessions.list_active_sessions(worktree, SESSIONS_SEEN)
    oldest_first = sorted(active, key=lambda session: session.started_at)
    digests = await observe(sessions, oldest_first, worktree)
    pairs = zip(oldest_first, digests, strict=True)
    local = await off_loop(read_local_state, worktree, None)
    if local is None or any(digest.sequence < each.last_sequence for each, digest in pairs):
        return None
    own = tuple(f"{path}/" for path in own_paths)
    changed = tuple(path for path in local.changed if not f"{path}/".startswith(own))
    uncommitted = Uncommitted(changed, tuple(own_paths))
    seen = await off_loop(choose_seen, digests, worktree, local.branch or "", uncommitted)
    passed = seen.last_pass
    if passed is None or seen.failing or seen.unclear or seen.changed_since:
        return None
    return f"{passed.command} ({passed.source.at:%Y-%m-%d %H:%M}Z)"
