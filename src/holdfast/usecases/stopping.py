"""Whether a person's last prompt was our command to stop; asked at the end of each turn in a
conversation, so it loads little. What saves and pauses is in `conversing`.
"""

from __future__ import annotations

from holdfast.sessions import requests
from holdfast.sessions.model import make_event
from holdfast.sessions.reading import BEYOND_ALL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

    from holdfast.app import App
    from holdfast.clients.contract import HookOrigin

LAST_PROMPTS, PROMPT_CHARS = 10, 200  # a few notifications may have come since


async def find_stop(app: App, origin: HookOrigin) -> datetime | None:
    """When the person asked to stop, if they have said nothing since."""
    store = app.scope.session_store
    session_id = await store.find_native_id(origin.client, origin.native_id)
    if session_id is None:
        return None
    rows = await store.list_newest_user_messages(session_id, BEYOND_ALL, LAST_PROMPTS, PROMPT_CHARS)
    for event in map(make_event, rows):
        if not requests.name_speaker(event.type, event.role, event.parts):
            return event.happened_at if requests.is_stop(event.content) else None
    return None
