"""A session takes over a conversation that another one was in.

The log has what was said in every session, the folder has what was saved. When a session that is
not of the same thread goes on, the folder is given what only the log has, and the name of that
session: otherwise whoever comes third would not find what the second one said.
"""

from __future__ import annotations

from holdfast.conversations.errors import ReadOnlyConversationError
from holdfast.ground.errors import PathOutsideError
from holdfast.usecases import conversing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.app import App
    from holdfast.sessions.model import Session
    from holdfast.usecases.resuming import Resumable


async def take_over(
    app: App, worktree: str, resumable: Resumable, session: Session
) -> tuple[str, ...]:
    """Name the session in the folder; returns why that was not possible, if it was not."""
    conversation, left = resumable.conversation, resumable.session
    if conversation is None or conversation.session_id == session.id:
        return ()
    if left is not None and await _is_of_thread(app, left, session):
        return ()
    said = await conversing.gather_messages(app, left, conversation.id) if left else []
    service = conversing.open_conversations(app, worktree)
    try:
        await service.save_conversation(
            conversation.id, said, session_id=session.id, client=session.client
        )
    except (ReadOnlyConversationError, PathOutsideError) as error:
        return (error.message,)
    return ()


async def _is_of_thread(app: App, left: Session, session: Session) -> bool:
    thread = await app.scope.sessions.list_thread(left.id)
    return any(each.id == session.id for each in thread)
